//! Handles INT, TERM and HUP, and Ctrl+C on Windows: the first signal cancels the current work, the
//! next one ends the program at once.
//!
//! **Threads.** `signals`, started by [`watch`]: it waits for signals until the process ends, and
//! triggers the token of the current work. No thread joins it.

use std::process;
use std::sync::{Mutex, PoisonError};
use std::thread;

use mcplink::protocol::CancelToken;

use crate::failure::INTERRUPTED;

/// The token of the current work, which a signal triggers; `None` before the first [`begin`].
static IN_HAND: Mutex<Option<CancelToken>> = Mutex::new(None);

/// Makes the signals cancel instead of kill. A signal that the process was started to ignore, by
/// `nohup` for example, stays ignored.
pub(crate) fn watch() {
    begin();
    // If the handlers can't be installed, the signals kill the program, as by default.
    let Some(mut wait) = system::install() else {
        return;
    };
    let watched = thread::Builder::new().name("signals".to_owned());
    let watched = watched.spawn(move || {
        while wait() {
            let token = token();
            if token.is_triggered() {
                process::exit(INTERRUPTED.into());
            }
            token.trigger_because("the user interrupted it");
        }
    });
    drop(watched);
}

/// Begins a new piece of work with a new token: the next signal cancels it.
pub(crate) fn begin() {
    let mut in_hand = IN_HAND.lock().unwrap_or_else(PoisonError::into_inner);
    *in_hand = Some(CancelToken::new());
}

/// Returns the token of the current work.
pub(crate) fn token() -> CancelToken {
    let mut in_hand = IN_HAND.lock().unwrap_or_else(PoisonError::into_inner);
    in_hand.get_or_insert_default().clone()
}

/// Whether a signal interrupted the current work.
pub(crate) fn has_come() -> bool {
    token().is_triggered()
}

#[cfg(unix)]
mod system {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    /// Installs the handlers. Returns a function that blocks until the next signal; the function
    /// returns false when no signal can come any more.
    pub(super) fn install() -> Option<impl FnMut() -> bool> {
        let signals = [SIGINT, SIGTERM, SIGHUP];
        let ignored = ignored();
        let wanted = signals.iter().filter(|signal| !ignored.contains(signal));
        let mut signals = Signals::new(wanted).ok()?;
        Some(move || signals.forever().next().is_some())
    }

    /// Returns the signals that this process ignores, on systems with `/proc`; elsewhere none.
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
}

#[cfg(windows)]
mod system {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use signal_hook::consts::{SIGINT, SIGTERM};

    /// The interval between two checks of the flag that a signal sets.
    const LOOK: Duration = Duration::from_millis(50);

    /// Installs the handlers. Returns a function that blocks until the next signal, and returns
    /// true.
    pub(super) fn install() -> Option<impl FnMut() -> bool> {
        let has_come = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&has_come)).ok()?;
        }
        Some(move || {
            while !has_come.swap(false, Ordering::SeqCst) {
                thread::sleep(LOOK);
            }
            true
        })
    }
}
