//! The callback executor of a handle. With a pump, callbacks run on the host's thread. Without a
//! pump, they run on a dispatcher thread of the handle, which starts with the first callback.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use super::queue::{Kind, Queue};
use crate::sync::Mutex;
use crate::transport::{Stack, Threads};

/// The callback executor of one handle.
#[derive(Debug)]
pub(super) struct CallbackExecutor {
    owner: u64,
    queue: Arc<Queue>,
    /// The dispatcher thread of an executor without a pump; `None` if the executor has a pump.
    dispatcher: Option<Mutex<Option<JoinHandle<()>>>>,
    threads: Threads,
}

impl CallbackExecutor {
    /// Makes the callback executor of the handle with the number `owner`. Callbacks run on the
    /// thread that dispatches the pump. Without a pump, callbacks run on a thread of the handle.
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
                queue: Queue::without_wakeup(),
                dispatcher: Some(Mutex::default()),
                threads,
            },
        }
    }

    /// Returns whether the host dispatches the callbacks itself, through a pump.
    pub(super) fn is_pumped(&self) -> bool {
        self.dispatcher.is_none()
    }

    /// Queues a callback, and starts the dispatcher thread if needed.
    pub(super) fn post(&self, kind: Kind, run: impl FnOnce() + Send + 'static) {
        self.queue.post(self.owner, kind, run);
        let Some(dispatcher) = &self.dispatcher else {
            return;
        };
        let mut dispatcher = dispatcher.lock();
        if dispatcher.is_none() {
            let queue = Arc::clone(&self.queue);
            // If no thread can be started, the next post tries again, and [`finish`](Self::finish)
            // runs the queued callbacks.
            let thread = self
                .threads
                .start("dispatch", Stack::Large, move || queue.run());
            *dispatcher = thread.ok();
        }
    }

    /// Returns whether the current thread is the thread that runs the callbacks.
    pub(super) fn is_home(&self) -> bool {
        self.queue.is_home()
    }

    /// Waits until `done` returns true or until the deadline, and meanwhile runs handlers of
    /// requests from the peer. Must be called on the thread that runs the callbacks. After changing
    /// the state that `done` reads, a thread must call [`look_again`](Self::look_again).
    pub(super) fn serve_questions(&self, deadline: Option<Instant>, done: impl Fn() -> bool) {
        self.queue.serve_questions(self.owner, deadline, done);
    }

    pub(super) fn look_again(&self) {
        self.queue.look_again();
    }

    /// Runs the queued callbacks, and stops the dispatcher thread. The caller has closed the
    /// handle, so no callback is posted afterwards.
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
            // The thread does not panic: each callback catches panics.
            _ = thread.join();
        }
    }
}
