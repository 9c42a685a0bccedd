//! Where the callbacks of a handle run: on the host's thread, through a pump, or on a thread of the handle's own, which starts with the
//! first callback.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use super::queue::{Kind, Queue};
use crate::sync::Mutex;
use crate::transport::{Stack, Threads};

/// Where the callbacks of one handle run.
#[derive(Debug)]
pub(super) struct Stage {
    owner: u64,
    queue: Arc<Queue>,
    /// For a queue that no host dispatches.
    dispatcher: Option<Mutex<Option<JoinHandle<()>>>>,
    threads: Threads,
}

impl Stage {
    /// The callbacks of the handle with this number run where the pump is dispatched; without one, on a thread of their own.
    pub(super) fn new(owner: u64, pump: Option<Arc<Queue>>, threads: Threads) -> Self {
        match pump {
            Some(queue) => Self {
                owner,
                queue,
                dispatcher: None,
                threads,
            },
            None => Self {
                owner,
                queue: Queue::without_bell(),
                dispatcher: Some(Mutex::default()),
                threads,
            },
        }
    }

    /// Whether a host dispatches the callbacks.
    pub(super) fn is_pumped(&self) -> bool {
        self.dispatcher.is_none()
    }

    /// Has a callback run.
    pub(super) fn post(&self, kind: Kind, run: impl FnOnce() + Send + 'static) {
        self.queue.post(self.owner, kind, run);
        let Some(dispatcher) = &self.dispatcher else {
            return;
        };
        let mut dispatcher = dispatcher.lock();
        if dispatcher.is_none() {
            let queue = Arc::clone(&self.queue);
            // Without a thread to be had, the next post tries again, and the end of the handle runs what waits.
            let thread = self
                .threads
                .start("dispatch", Stack::Large, move || queue.run());
            *dispatcher = thread.ok();
        }
    }

    /// Whether this thread is the one that runs the callbacks.
    pub(super) fn is_home(&self) -> bool {
        self.queue.is_home()
    }

    /// Waits on the thread that runs the callbacks, and answers what the handle is asked meanwhile. Whoever changes what `done` looks at calls
    /// [`look_again`](Self::look_again). Ends at the deadline too.
    pub(super) fn serve_questions(&self, deadline: Option<Instant>, done: impl Fn() -> bool) {
        self.queue.serve_questions(self.owner, deadline, done);
    }

    pub(super) fn look_again(&self) {
        self.queue.look_again();
    }

    /// Runs what waits, and lets nobody run anything any more. The handle is closed: nothing is posted behind this.
    pub(super) fn finish(&self) {
        self.queue.finish(self.owner);
        let Some(dispatcher) = &self.dispatcher else {
            return;
        };
        self.queue.close();
        let thread = dispatcher.lock().take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // It ends without a panic: each callback is contained.
            _ = thread.join();
        }
    }
}
