//! The one place where threads start, for [`Threads`](crate::transport::Threads).
//!
//! **Threads.** Whoever starts one joins it or says why not. Each is named, so that a debugger shows whose it is, and takes no signal
//! of the host's (see [`signal::block_all`]), so that the host's handlers never run on a stack they don't expect.

use std::cell::Cell;
use std::thread::{Builder, JoinHandle};

use super::signal;
use crate::error::{Error, Result};

thread_local! {
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// Starts a thread with this name, which holds no NUL, and so many bytes of stack.
///
/// # Errors
///
/// When the system has no thread to give.
pub(crate) fn start(
    name: &str,
    stack_size: usize,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>> {
    // The mask is inherited at creation: set afterwards, a signal could slip in between.
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

/// Whether the current thread was started by [`start`], and so blocks SIGPIPE.
pub(crate) fn is_ours() -> bool {
    // While thread-locals are being torn down nobody knows; "no" is the careful answer.
    OURS.try_with(Cell::get).unwrap_or(false)
}
