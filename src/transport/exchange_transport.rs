//! Exchange transports: each request has its own way to the peer and back, such as an HTTP request
//! and its response.
//!
//! They have no common stream to read. The thread that sends a request also receives the messages
//! for it, and delivers them. So an [`ExchangeTransport`] takes the place of
//! [`Receiver`](super::Receiver) and, for requests, of [`Sender`](super::Sender).

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::message::{Received, SessionMessage};
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex};

/// Receives the messages of an exchange, on the thread that waits for them. Returns `Break` when it
/// needs no more.
pub(crate) type Deliver<'a> = dyn FnMut(Received) -> ControlFlow<()> + 'a;

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeOutcome {
    /// The receiver of the messages needs no more.
    Answered,
    /// The request was sent; its messages arrive on another stream.
    Elsewhere,
}

/// An event of the stream for messages that belong to no request.
#[derive(Debug)]
#[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
pub(crate) enum Listening {
    /// The peer has answered whether it offers such a stream. May be reported more than once.
    Settled,
    /// The stream is not available now, and will be requested again.
    Refused {
        error: Error,
        /// Whether this is the first refusal in a row.
        is_new: bool,
        /// Whether a stream was open before in this session.
        was_open: bool,
    },
    /// The stream is open again. Messages may have been lost in between.
    Back,
}

/// A transport of request and response exchanges.
pub(crate) trait ExchangeTransport: Send + Sync + fmt::Debug {
    /// Sends a request and delivers the messages for it until the receiver needs no more. Blocks.
    ///
    /// # Errors
    ///
    /// The failure, and whether the request had been sent. The error has no meaning when `ticket`
    /// is over.
    fn exchange(
        &self,
        request: &SessionMessage,
        ticket: &Arc<CancelHandle>,
        deliver: &mut Deliver<'_>,
    ) -> Result<ExchangeOutcome>;

    /// Sends a message that has no answer. Blocks until `deadline` at most.
    ///
    /// # Errors
    ///
    /// An error when the peer did not accept it.
    fn post(&self, message: &SessionMessage, deadline: Option<Instant>) -> Result<()>;

    /// Sets the protocol revision for the header field of later requests; `None` sends none.
    fn agree(&self, revision: Option<&str>);

    /// Delivers the messages that belong to no request, and reports events to `news`. Blocks until
    /// the peer offers no such stream, the session changes, or the transport stops.
    ///
    /// # Errors
    ///
    /// An error when the peer refused the stream for a permanent reason.
    fn listen(&self, news: &mut dyn FnMut(Listening), deliver: &mut Deliver<'_>) -> Result<()>;

    /// Uses the oldest transport of this kind, where all messages of the peer arrive on one stream.
    /// Opens the stream, calls `settled` when the peer has named its endpoint for messages, and
    /// delivers until the stream ends. Blocks.
    ///
    /// # Errors
    ///
    /// An error when the peer does not support it, and when the stream has ended.
    fn fall_back(
        &self,
        ticket: &Arc<CancelHandle>,
        settled: &mut dyn FnMut(),
        deliver: &mut Deliver<'_>,
    ) -> Result<()>;

    /// Returns the number of the current session, `None` without a session. A higher number means
    /// that the earlier session was lost.
    fn session(&self) -> Option<u64>;

    /// Ends all exchanges; messages without an answer are still sent.
    fn stop(&self);

    /// Whether [`stop`](Self::stop) was called.
    fn has_stopped(&self) -> bool;

    /// Returns a number that changes whenever the identity or the scope of the credentials may have
    /// changed.
    fn authorization(&self) -> u64;

    /// Returns for how long users were asked in all while requests waited, for example to log in.
    /// This time is not to count against the timeouts of other calls.
    fn people_took(&self) -> Duration;
}

/// The time of the next check of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextCheck {
    Never,
    At(Instant),
    /// The exchange is over: no thread waits for it any more.
    Over,
}

/// The cancel handle of an exchange: it can end the exchange's wait from any thread, at once.
pub(crate) struct CancelHandle {
    look: Box<LookHook>,
    /// Guards whether the wait is over and how to interrupt it.
    ///
    /// Invariant: a waiter checks `over` and stores its shutdown handle under one lock, before it
    /// blocks. [`end`](Self::end) sets `over` and takes the handle under the lock, then uses it. So
    /// a waiter either does not block or is interrupted; no cancellation is lost. Neither the hook
    /// nor the shutdown handle is called with the lock held, since both may use this handle.
    state: Mutex<State>,
    changed: Condvar,
}

/// Gets the time, and whether a user is being asked. Returns when to check again.
type LookHook = dyn Fn(Instant, bool) -> NextCheck + Send + Sync;

#[derive(Default)]
struct State {
    over: bool,
    /// The shutdown handle: interrupts the call in which the waiting thread blocks.
    brake: Option<Box<dyn FnOnce() + Send>>,
    /// Since when a user is being asked.
    held: Option<Instant>,
    /// For how long users were asked before that.
    held_for: Duration,
}

impl CancelHandle {
    /// Creates a cancel handle. `look` returns how long the exchange may go on; it may run on any
    /// thread. Its second argument is whether a user is being asked.
    pub(crate) fn new(
        look: impl Fn(Instant, bool) -> NextCheck + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            look: Box::new(look),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Creates a cancel handle that ends at `deadline`, if there is one.
    pub(crate) fn until(deadline: Option<Instant>) -> Arc<Self> {
        Self::new(move |now, _| match deadline {
            None => NextCheck::Never,
            Some(deadline) if now < deadline => NextCheck::At(deadline),
            Some(_) => NextCheck::Over,
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().over
    }

    /// Ends the wait, and interrupts the waiting thread.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.over = true;
        let brake = state.brake.take();
        drop(state);
        self.changed.notify_all();
        if let Some(brake) = brake {
            brake();
        }
    }

    /// Interrupts the call in which the waiting thread blocks, but does not end the wait.
    pub(crate) fn pull(&self) {
        let brake = self.state.lock().brake.take();
        if let Some(brake) = brake {
            brake();
        }
    }

    /// Returns when to check again. Ends the wait when its time has come.
    pub(crate) fn look(&self, now: Instant) -> NextCheck {
        if self.is_over() {
            return NextCheck::Over;
        }
        let held = self.state.lock().held.is_some();
        let look = (self.look)(now, held);
        if look == NextCheck::Over {
            self.end();
        }
        look
    }

    /// Notes that a user is being asked from now on, or no longer.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn hold(&self, is_held: bool, now: Instant) {
        if self.state.lock().held.is_some() == is_held {
            return;
        }
        // Check before the change: the time until now does not count against the exchange.
        self.look(now);
        let mut state = self.state.lock();
        match state.held.take() {
            Some(since) => state.held_for += now.saturating_duration_since(since),
            None => state.held = Some(now),
        }
    }

    /// Returns for how long users were asked in all.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn held_for(&self) -> Duration {
        self.state.lock().held_for
    }

    /// Stores the shutdown handle of a thread that is about to block. Another thread may call it to
    /// interrupt that. Returns false, and stores nothing, when the wait is over.
    pub(crate) fn engage(&self, brake: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.state.lock();
        if !state.over {
            state.brake = Some(Box::new(brake));
        }
        !state.over
    }

    /// Removes the shutdown handle: the thread no longer blocks. Returns false when another thread
    /// has taken it meanwhile; the resource that it ends may be cut at any moment then.
    pub(crate) fn release(&self) -> bool {
        self.state.lock().brake.take().is_some()
    }

    /// Blocks until a point in time. Returns false when the wait ended before.
    pub(crate) fn pause(&self, until: Instant) -> bool {
        loop {
            let now = Instant::now();
            let next = match self.look(now) {
                NextCheck::Over => return false,
                NextCheck::At(at) => at.min(until),
                NextCheck::Never => until,
            };
            let state = self.state.lock();
            if now >= until || state.over {
                return !state.over;
            }
            drop(self.changed.wait_until(state, Some(next)));
        }
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}
