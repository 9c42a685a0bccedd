//! The thread that starts a child that the system must kill when this process ends.
//!
//! Linux sends the death signal (`PR_SET_PDEATHSIG`) when the *thread* that started the child ends.
//! The thread that opens a connection may end long before the child. So a separate thread starts
//! the child.
//!
//! **Threads.** Each such child has a thread `mcplink-parent`. The thread starts the child, and
//! runs until the child has ended. Closing joins the thread.

use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use crate::transport::sys::process::Process;
use crate::transport::{Stack, Threads};

/// The thread that started a child. Drop this value only when the child has ended, because dropping
/// it ends the thread, and the system then kills the child.
#[derive(Debug)]
pub(super) struct Parent {
    /// A sender that never sends. The thread runs until this sender is dropped.
    hold: Mutex<Option<Sender<()>>>,
    /// The handle of the thread, until the thread is joined. The lock is held while joining. So if
    /// several threads close the connection, none returns before this thread has ended.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Parent {
    /// Starts a child on a new thread, by calling `spawn` there.
    ///
    /// # Errors
    ///
    /// The error of `spawn`, or an error if no thread can be started.
    pub(super) fn start(
        spawn: impl FnOnce() -> Result<Process> + Send + 'static,
        threads: &Threads,
    ) -> Result<(Process, Self)> {
        let (hold, held) = mpsc::channel::<()>();
        let (started, outcome) = mpsc::channel();
        let thread = threads.start("parent", Stack::Small, move || {
            if started.send(spawn()).is_ok() {
                // `recv` fails when the sender is dropped, which is the signal to end.
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

    /// Ends and joins the thread after the child has ended. Later calls do nothing.
    pub(super) fn finish(&self) {
        drop(self.hold.lock().take());
        if let Some(thread) = self.thread.lock().take() {
            // The thread does not panic.
            drop(thread.join());
        }
    }
}
