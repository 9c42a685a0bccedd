//! The one place where threads start.
//!
//! **Threads.** Whoever starts one joins it or says why not. Each is named, so that a debugger shows whose it is, and takes no signal
//! of the host's (see [`signal::block_all`]), so that the host's handlers never run on a stack they don't expect.

use std::cell::Cell;
use std::thread::{Builder, JoinHandle};

use super::signal;
use crate::error::{Error, Result};

/// How much stack a thread gets. It is address space, not memory: untouched pages cost nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stack {
    /// 256 KiB: only code of ours runs there.
    Small,
    /// 8 MiB: code of the host may run there.
    Large,
}

thread_local! {
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// Starts a thread named `name`, which should begin with `mcplink-` and have at most 15 characters.
///
/// # Errors
///
/// When the system has no thread to give.
pub(crate) fn start(
    name: &str,
    stack: Stack,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>> {
    let bytes = match stack {
        Stack::Small => 256 << 10,
        Stack::Large => 8 << 20,
    };
    // The mask is inherited at creation: set afterwards, a signal could slip in between.
    let _restored_here = signal::block_all();
    Builder::new()
        .name(name.to_owned())
        .stack_size(bytes)
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
