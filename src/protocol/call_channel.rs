//! The channel of a call: everything that arrives for the call, in the order of arrival.
//!
//! The table of calls sends, and the caller receives. Both hold the whole channel in an [`Arc`], so
//! the channel is never disconnected.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::error::Error;
use crate::jsonrpc::{Malformed, Response};
use crate::sync::AtomicUsize;

/// The number of idle channels that a thread keeps for its next calls. A model of `loom` keeps
/// none, because a channel must not outlive the model that made it.
const KEPT: usize = if cfg!(loom) { 0 } else { 4 };

thread_local! {
    /// The idle channels of this thread. All of them are empty.
    static IDLE: RefCell<Vec<Arc<CallChannel>>> = const { RefCell::new(Vec::new()) };
}

/// The outcome of a call, as the caller or a callback gets it.
#[derive(Debug)]
pub(crate) enum Outcome {
    Response(Response),
    /// The peer sent a response that cannot be parsed.
    Malformed(Malformed),
    Failed(Error),
    /// The call was ended on this side: it was cancelled, or its time is over.
    Over(Error),
    /// The peer announced that it will not answer the request. Only callbacks get this outcome.
    Withdrawn,
}

/// Progress of a request, as the peer reported it.
///
/// # Examples
///
/// ```
/// use mcplink::client::{CallOptions, Progress};
///
/// fn percent(progress: &Progress) -> Option<f64> {
///     Some(100.0 * progress.progress / progress.total?)
/// }
/// let options = CallOptions::new().on_progress(|progress| println!("{:?}", percent(&progress)));
///
/// let mut progress = Progress::new(3.0); // in a test of the function
/// progress.total = Some(12.0);
/// assert_eq!(percent(&progress), Some(25.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The progress so far. The value increases with each message, and may be a fraction.
    pub progress: f64,
    /// The value of `progress` at completion, if known.
    pub total: Option<f64>,
    /// A description of the current step for users (since 2025-03-26).
    pub message: Option<String>,
}

impl Progress {
    /// Creates progress without a total and without a message.
    pub fn new(progress: f64) -> Self {
        Self {
            progress,
            total: None,
            message: None,
        }
    }
}

/// A message in the channel of a call.
#[derive(Debug)]
pub(crate) enum CallMessage {
    Progress(Progress),
    /// The outcome of the call. It is sent at most once, after all progress.
    Outcome(Outcome),
    /// A wakeup. The caller then checks its token and its deadline, and may take the reading role.
    Wake,
}

/// A channel for the messages of one call. The next call of the thread can reuse the channel.
#[derive(Debug)]
pub(crate) struct CallChannel {
    channel: imp::Channel<CallMessage>,
    /// The number of progress messages that the caller stores outside of the channel. They count
    /// towards the limit of progress messages.
    kept: AtomicUsize,
}

impl CallChannel {
    /// Returns an empty channel: an idle channel of this thread, or a new channel.
    pub(crate) fn take() -> Arc<Self> {
        let idle = IDLE.try_with(|idle| idle.borrow_mut().pop());
        idle.ok().flatten().unwrap_or_else(Self::new)
    }

    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            channel: imp::Channel::new(),
            kept: AtomicUsize::new(0),
        })
    }

    /// Keeps a channel for the next call of this thread.
    ///
    /// The caller guarantees that no outcome can still arrive in the channel. A late
    /// [`CallMessage::Wake`] is harmless.
    pub(crate) fn keep(self: &Arc<Self>) {
        // Fails on a thread that is exiting. The channel is then freed.
        _ = IDLE.try_with(|idle| {
            let mut idle = idle.borrow_mut();
            if idle.len() < KEPT {
                while self.channel.try_receive().is_some() {}
                self.set_kept(0);
                idle.push(Arc::clone(self));
            }
        });
    }

    pub(crate) fn send(&self, message: CallMessage) {
        self.channel.send(message);
    }

    /// Sends progress. At most `max` messages wait in the channel: if the channel is full, the
    /// oldest message is discarded. Returns whether a message was discarded.
    ///
    /// Only one thread at a time may call this function, or more than `max` messages may wait.
    pub(crate) fn send_progress(&self, progress: Progress, max: usize) -> bool {
        // The removed message may be `Wake`. The caller is woken by the progress instead.
        let max = max.saturating_sub(self.kept.load(Ordering::Relaxed)).max(1);
        let is_full = self.channel.len() >= max;
        let merged = is_full && self.channel.try_receive().is_some();
        self.channel.send(CallMessage::Progress(progress));
        merged
    }

    /// Takes the next message if the channel is not empty.
    pub(crate) fn try_receive(&self) -> Option<CallMessage> {
        self.channel.try_receive()
    }

    /// Blocks until there is a message, and takes it. Returns `None` at `deadline`.
    pub(crate) fn receive(&self, deadline: Option<Instant>) -> Option<CallMessage> {
        self.channel.receive(deadline)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.channel.is_empty()
    }

    /// Sets the number of progress messages that the caller stores outside of the channel.
    pub(crate) fn set_kept(&self, kept: usize) {
        self.kept.store(kept, Ordering::Relaxed);
    }
}

#[cfg(not(loom))]
mod imp {
    use super::Instant;

    /// How often a receiver lets other threads run before it blocks.
    ///
    /// A channel of crossbeam spins before it blocks. With many callers on few processors, that
    /// time is taken from the thread that reads the answers. To yield is also cheaper than to block
    /// and to be woken: 64 calling threads make 1.7 times as many calls on one processor.
    const YIELDS: usize = 4;

    /// A channel of crossbeam, with both ends.
    #[derive(Debug)]
    pub(super) struct Channel<T> {
        sender: crossbeam_channel::Sender<T>,
        receiver: crossbeam_channel::Receiver<T>,
    }

    impl<T> Channel<T> {
        pub(super) fn new() -> Self {
            let (sender, receiver) = crossbeam_channel::unbounded();
            Self { sender, receiver }
        }

        pub(super) fn send(&self, message: T) {
            let sent = self.sender.send(message);
            debug_assert!(sent.is_ok(), "this channel holds both ends");
        }

        pub(super) fn try_receive(&self) -> Option<T> {
            self.receiver.try_recv().ok()
        }

        pub(super) fn receive(&self, deadline: Option<Instant>) -> Option<T> {
            for _ in 0..YIELDS {
                std::thread::yield_now();
                if let Some(message) = self.try_receive() {
                    return Some(message);
                }
            }
            match deadline {
                Some(deadline) => self.receiver.recv_deadline(deadline).ok(),
                None => self.receiver.recv().ok(),
            }
        }

        pub(super) fn len(&self) -> usize {
            self.receiver.len()
        }

        pub(super) fn is_empty(&self) -> bool {
            self.receiver.is_empty()
        }
    }
}

/// `loom` cannot look into the channels of crossbeam. Its models run with this channel instead.
#[cfg(loom)]
mod imp {
    use std::collections::VecDeque;

    use super::Instant;
    use crate::sync::{Condvar, Mutex};

    #[derive(Debug)]
    pub(super) struct Channel<T> {
        queue: Mutex<VecDeque<T>>,
        sent: Condvar,
    }

    impl<T> Channel<T> {
        pub(super) fn new() -> Self {
            Self {
                queue: Mutex::new(VecDeque::new()),
                sent: Condvar::new(),
            }
        }

        pub(super) fn send(&self, message: T) {
            self.queue.lock().push_back(message);
            self.sent.notify_all();
        }

        pub(super) fn try_receive(&self) -> Option<T> {
            self.queue.lock().pop_front()
        }

        pub(super) fn receive(&self, deadline: Option<Instant>) -> Option<T> {
            let mut queue = self.queue.lock();
            loop {
                if let Some(message) = queue.pop_front() {
                    return Some(message);
                }
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return None;
                }
                queue = self.sent.wait_until(queue, deadline);
            }
        }

        pub(super) fn len(&self) -> usize {
            self.queue.lock().len()
        }

        pub(super) fn is_empty(&self) -> bool {
            self.queue.lock().is_empty()
        }
    }
}
