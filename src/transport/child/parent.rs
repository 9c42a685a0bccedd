//! The thread that a child is bound to, which ends with its parent.
//!
//! Linux sends the signal that tells of a parent's death (`PR_SET_PDEATHSIG`) when the *thread* ends that started the child. The thread that
//! opens a connection may end long before the child, so another one starts it.
//!
//! **Threads.** `mcplink-parent`, for one child. It starts the child, waits until the child has ended, and is joined by closing.

use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use crate::error::{Error, ErrorKind, Result};
use crate::transport::sys::process::Process;
use crate::transport::{Stack, Threads, lock};

/// The thread that started a child. It ends when this is dropped: only when the child has ended.
#[derive(Debug)]
pub(super) struct Parent {
    /// While there is one the thread stays.
    hold: Mutex<Option<Sender<()>>>,
    /// Taken by the thread that joins.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Parent {
    /// Starts a child on a thread of its own.
    ///
    /// # Errors
    ///
    /// What `spawn` says, or that there is no thread.
    pub(super) fn start(
        spawn: impl FnOnce() -> Result<Process> + Send + 'static,
        threads: &Threads,
    ) -> Result<(Process, Self)> {
        let (hold, held) = mpsc::channel::<()>();
        let (started, outcome) = mpsc::channel();
        let thread = threads.start("parent", Stack::Small, move || {
            if started.send(spawn()).is_ok() {
                // It fails when the holder lets go, which is what is waited for.
                _ = held.recv();
            }
        })?;
        let parent = Self {
            hold: Mutex::new(Some(hold)),
            thread: Mutex::new(Some(thread)),
        };
        let lost = |_| {
            Error::new(
                ErrorKind::Spawn,
                "the thread that starts the child has ended",
            )
        };
        match outcome.recv().map_err(lost).flatten() {
            Ok(process) => Ok((process, parent)),
            Err(error) => {
                parent.finish();
                Err(error)
            }
        }
    }

    /// Ends the thread: the child has ended. Idempotent.
    pub(super) fn finish(&self) {
        drop(lock(&self.hold).take());
        if let Some(thread) = lock(&self.thread).take() {
            // Nothing in it panics.
            drop(thread.join());
        }
    }
}
