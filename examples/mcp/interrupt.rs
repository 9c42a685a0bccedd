//! What INT, TERM and HUP do: the first one cancels what is going on, the next one ends the program
//! at once.
//!
//! **Threads.** `signals`, started at the beginning: it waits for signals as long as the program
//! runs, and triggers the token of the work in hand. Nobody joins it.

use std::process;
use std::sync::{Mutex, PoisonError};
use std::thread;

use mcplink::protocol::CancelToken;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::INTERRUPTED;

/// What a signal cancels; `None` before the first [`begin`].
static IN_HAND: Mutex<Option<CancelToken>> = Mutex::new(None);

/// Has signals cancel instead of kill, except those that are ignored already, as `nohup` has it.
pub(crate) fn watch() {
    begin();
    let signals = [SIGINT, SIGTERM, SIGHUP];
    let ignored = ignored();
    let wanted = signals.iter().filter(|signal| !ignored.contains(signal));
    // Without this they kill, as they do in other programs.
    let Ok(mut signals) = Signals::new(wanted) else {
        return;
    };
    let watched = thread::Builder::new().name("signals".to_owned());
    let watched = watched.spawn(move || {
        for _ in signals.forever() {
            let token = token();
            if token.is_triggered() {
                process::exit(INTERRUPTED.into());
            }
            token.trigger_because("the user interrupted it");
        }
    });
    drop(watched);
}

/// Begins a piece of work of its own: the next signal cancels it.
pub(crate) fn begin() {
    let mut in_hand = IN_HAND.lock().unwrap_or_else(PoisonError::into_inner);
    *in_hand = Some(CancelToken::new());
}

/// The token of the work in hand.
pub(crate) fn token() -> CancelToken {
    let mut in_hand = IN_HAND.lock().unwrap_or_else(PoisonError::into_inner);
    in_hand.get_or_insert_default().clone()
}

/// Whether the work in hand was interrupted.
pub(crate) fn has_come() -> bool {
    token().is_triggered()
}

/// The signals that this process was started to ignore, where the system tells.
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    (1..64)
        .filter(|signal| mask >> (signal - 1) & 1 == 1)
        .collect()
}
