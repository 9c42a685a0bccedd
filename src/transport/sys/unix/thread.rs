//! Starts all threads of the library, for [`Threads`](crate::transport::Threads).
//!
//! **Threads.** The code that starts a thread joins it, or has a comment that says why not. Each
//! thread has a name for debuggers. Each thread blocks all signals of the host (see
//! [`signal::block_all`]). So the host's signal handlers never run on a stack that they don't
//! expect.

use std::cell::Cell;
use std::thread::{Builder, JoinHandle};

use super::signal;
use crate::error::{Error, Result};

thread_local! {
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// Starts a thread with this name and a stack of `stack_size` bytes. The name must not contain NUL.
///
/// # Errors
///
/// An error when the system has no thread left.
pub(crate) fn start(
    name: &str,
    stack_size: usize,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>> {
    // A thread inherits the signal mask when it is created. A mask set later would leave a gap in
    // which a signal could arrive.
    let _restored_here = signal::block_all();
    Builder::new()
        .name(name.to_owned())
        .stack_size(stack_size)
        .spawn(move || {
            OURS.set(true);
            work();
        })
        .map_err(|error| Error::io(format_args!("starting thread '{name}'"), error))
}

/// Whether the current thread was started by [`start`], and therefore blocks SIGPIPE.
pub(crate) fn is_ours() -> bool {
    // While thread-locals are being destroyed, the answer is unknown. Then "no" is the safe answer.
    OURS.try_with(Cell::get).unwrap_or(false)
}
