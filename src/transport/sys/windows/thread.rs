//! Starts all threads of the library, for [`Threads`](crate::transport::Threads).
//!
//! **Threads.** The code that starts a thread joins it, or has a comment that says why not. Each
//! thread has a name for debuggers.

use std::thread::{Builder, JoinHandle};

use crate::error::{Error, Result};

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
    Builder::new()
        .name(name.to_owned())
        .stack_size(stack_size)
        .spawn(work)
        .map_err(|error| Error::io(format_args!("starting thread '{name}'"), error))
}
