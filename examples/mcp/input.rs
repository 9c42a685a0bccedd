//! Lines from standard input, for one at a time. A wait for a line ends when the work in hand is
//! interrupted; the line goes to the next one.
//!
//! **Threads.** `input`, started with the first line that is asked for: a read that waits can't be
//! ended. It reads only when somebody waits.

use std::io::{self, BufRead as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use mcplink::protocol::CancelToken;

/// Why there is no line.
#[derive(Debug)]
pub(crate) enum NoLine {
    /// The input has ended, or can't be read.
    Ended,
    /// Nobody wants it any more.
    Cancelled,
    NotText,
}

struct State {
    is_started: bool,
    is_wanted: bool,
    line: Option<Result<String, NoLine>>,
}

static STATE: Mutex<State> = Mutex::new(State {
    is_started: false,
    is_wanted: false,
    line: None,
});
static CHANGED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a line, with its end.
pub(crate) fn line(tokens: &[&CancelToken]) -> Result<String, NoLine> {
    // Who triggers has set its flag before; with the lock no waiter misses it.
    let wake = Arc::new(|| {
        let _state = state();
        CHANGED.notify_all();
    });
    let _woken: Vec<_> = tokens
        .iter()
        .map(|token| {
            let wake = Arc::clone(&wake);
            token.on_trigger(move || wake())
        })
        .collect();
    let mut state = state();
    loop {
        if let Some(line) = state.line.take() {
            return line;
        }
        if tokens.iter().any(|token| token.is_triggered()) {
            return Err(NoLine::Cancelled);
        }
        if !state.is_started {
            let reader = thread::Builder::new().name("input".to_owned());
            if reader.spawn(read).is_err() {
                return Err(NoLine::Ended);
            }
            state.is_started = true;
        }
        if !state.is_wanted {
            state.is_wanted = true;
            CHANGED.notify_all();
        }
        state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Reads a line each time that one is wanted.
fn read() {
    loop {
        let is_idle = |state: &mut State| !state.is_wanted;
        let wanted = CHANGED.wait_while(state(), is_idle);
        drop(wanted.unwrap_or_else(PoisonError::into_inner));
        let mut bytes = Vec::new();
        let line = match io::stdin().lock().read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => Err(NoLine::Ended),
            Ok(_) => String::from_utf8(bytes).map_err(|_| NoLine::NotText),
        };
        let mut state = state();
        state.line = Some(line);
        state.is_wanted = false;
        CHANGED.notify_all();
    }
}
