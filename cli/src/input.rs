//! Reads lines from standard input, for one waiter at a time.
//!
//! A wait ends when its cancel token is triggered. A line that arrives later goes to the next
//! waiter.
//!
//! **Threads.** `input`, started by the first wait, because a blocking read can't be interrupted.
//! It reads only when a waiter has set `is_wanted`. It runs until the process ends; no thread joins
//! it.

use std::io::{self, BufRead as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use mcplink::protocol::CancelToken;

/// The reason why there is no line.
#[derive(Debug)]
pub(crate) enum NoLine {
    /// The input has ended, or can't be read.
    Ended,
    /// A cancel token was triggered.
    Cancelled,
    NotText,
}

struct State {
    is_started: bool,
    is_wanted: bool,
    line: Option<Result<String, NoLine>>,
}

// Guards the hand-over of a line: a waiter sets `is_wanted`, and the thread stores `line` and
// clears `is_wanted`. `CHANGED` is notified after each change, under the lock.
static STATE: Mutex<State> = Mutex::new(State {
    is_started: false,
    is_wanted: false,
    line: None,
});
static CHANGED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the thread reads for a waiter that has gone: the next line goes to [`line`], and nobody
/// else may read.
pub(crate) fn is_reading() -> bool {
    state().is_wanted
}

/// Waits for a line; the result includes its line end.
pub(crate) fn line(tokens: &[&CancelToken]) -> Result<String, NoLine> {
    // No lost wakeup: a trigger sets the token's flag first, then notifies under the lock. A waiter
    // checks the flag under the lock before it waits, so it sees the flag or gets the notification.
    // Register before taking the lock: the callback of a triggered token runs at once, and locks.
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

/// The body of the thread: reads one line whenever `is_wanted` is set.
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
