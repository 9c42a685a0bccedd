//! The one place where threads start.
//!
//! **Threads.** Whoever starts one joins it or says why not. Each is named, so that a debugger shows whose it is, and takes no signal
//! of the host's (see [`signal::block_all`]), so that the host's handlers never run on a stack they don't expect.

use std::cell::Cell;
use std::thread::{Builder, JoinHandle};

use super::signal;
use crate::error::{Error, Result};
use crate::sync::Mutex;

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

/// Threads that come and go with the work, and that are joined when it ends.
///
/// **Invariant:** the lock is held while a thread is started, so whoever has seen what it did finds it in the list.
#[derive(Debug, Default)]
pub(crate) struct Started(Mutex<Vec<JoinHandle<()>>>);

impl Started {
    /// The same as [`start`], for a thread that [`join`](Self::join) waits for.
    pub(crate) fn start(
        &self,
        name: &str,
        stack: Stack,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let mut threads = self.0.lock();
        let thread = start(name, stack, work)?;
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }

    /// Waits until all have ended, and with them what they were given. The calling thread, if it is one of them, is left for the next who
    /// calls.
    pub(crate) fn join(&self) {
        let here = std::thread::current().id();
        let mut threads = self.0.lock();
        let (own, others) = std::mem::take(&mut *threads)
            .into_iter()
            .partition(|thread| thread.thread().id() == here);
        *threads = own;
        drop(threads);
        for thread in others {
            // Its panics were caught and told; it has nothing else to say.
            _ = thread.join();
        }
    }
}
