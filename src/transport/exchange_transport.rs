//! Exchange transports. In an exchange transport each request has its own exchange, such as an HTTP
//! request and its response.
//!
//! Exchanges have no common stream from which a reader thread could read. The thread that sends a
//! request also receives the messages for that request, and delivers them. So an
//! [`ExchangeTransport`] replaces [`Receiver`](super::Receiver) and, for requests,
//! [`Sender`](super::Sender).

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::message::{Received, SessionMessage};
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex};

/// The callback that receives the messages of an exchange. It runs on the thread that waits for the
/// messages. It returns `Break` when no more messages are needed.
pub(crate) type Deliver<'a> = dyn FnMut(Received) -> ControlFlow<()> + 'a;

/// A request that is sent without a thread that waits for its messages.
pub(crate) struct StartedExchange {
    pub(crate) request: SessionMessage,
    pub(crate) cancel_handle: Arc<CancelHandle>,
    /// Gets the messages, on one thread at a time. Must neither block nor run code of the host that
    /// blocks.
    pub(crate) deliver: Box<dyn FnMut(Received) -> ControlFlow<()> + Send>,
    /// Gets the outcome that [`ExchangeTransport::exchange`] returns. Runs exactly once, and not
    /// before [`ExchangeTransport::start`] has returned or on another thread.
    pub(crate) on_end: Box<dyn FnOnce(Result<ExchangeOutcome>) + Send>,
}

/// The way in which an exchange ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeOutcome {
    /// The response was delivered, and the callback needs no more messages.
    Answered,
    /// The request was sent, and its messages arrive on another stream.
    Elsewhere,
}

/// An event of the listening stream, on which messages arrive that belong to no request.
#[derive(Debug)]
#[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
pub(crate) enum Listening {
    /// The peer has answered the request for the listening stream, with the stream or with a
    /// refusal. The event may be reported more than once.
    Settled,
    /// The peer does not provide the listening stream now. The stream will be requested again.
    Refused {
        error: Error,
        /// Whether this refusal is the first of a series.
        is_new: bool,
        /// Whether the stream was open before in this session.
        was_open: bool,
    },
    /// The listening stream is open again after an interruption. Messages may have been lost
    /// meanwhile.
    Back,
}

/// A transport in which each request is an exchange of its own.
pub(crate) trait ExchangeTransport: Send + Sync + fmt::Debug {
    /// Sends a request and passes the messages for it to `deliver`, until `deliver` returns
    /// `Break`. Blocks.
    ///
    /// # Errors
    ///
    /// An error that tells whether the request was sent. When the wait for the exchange was ended
    /// through `cancel_handle`, the error has no meaning.
    fn exchange(
        &self,
        request: &SessionMessage,
        cancel_handle: &Arc<CancelHandle>,
        deliver: &mut Deliver<'_>,
    ) -> Result<ExchangeOutcome>;

    /// Starts an exchange. Blocks at most for a moment.
    ///
    /// # Errors
    ///
    /// An error if the exchange could not begin. The callbacks of the exchange are then dropped.
    fn start(self: Arc<Self>, exchange: StartedExchange) -> Result<()>;

    /// Sends a message that has no answer. Blocks until the peer has accepted or refused the
    /// message, at most until the wait is ended through `cancel_handle`.
    ///
    /// # Errors
    ///
    /// An error when the peer did not accept the message; `Timeout` when the wait was ended.
    fn post(&self, message: &SessionMessage, cancel_handle: &Arc<CancelHandle>) -> Result<()>;

    /// Sets the protocol revision that the header of later requests contains. With `None`, the
    /// header contains no revision.
    fn agree(&self, revision: Option<&str>);

    /// Opens the listening stream. Passes its messages to `deliver`, and its events to `on_event`.
    /// The messages on this stream belong to no request. Blocks until the peer offers no such
    /// stream, the session changes, or the transport stops.
    ///
    /// # Errors
    ///
    /// An error when the peer refused the stream for a permanent reason.
    fn listen(&self, on_event: &mut dyn FnMut(Listening), deliver: &mut Deliver<'_>) -> Result<()>;

    /// Falls back to the transport of the oldest revision (HTTP+SSE), in which all messages of the
    /// peer arrive on one stream. Opens the stream, calls `settled` when the peer has sent the
    /// endpoint for messages, and delivers messages until the stream ends. Blocks.
    ///
    /// # Errors
    ///
    /// An error when the peer does not support this transport, and when the stream has ended.
    fn fall_back(
        &self,
        cancel_handle: &Arc<CancelHandle>,
        settled: &mut dyn FnMut(),
        deliver: &mut Deliver<'_>,
    ) -> Result<()>;

    /// Returns the number of the current session, or `None` without a session. A higher number than
    /// before means that the earlier session was lost.
    fn session(&self) -> Option<u64>;

    /// Ends all exchanges. Messages that have no answer can still be sent.
    fn stop(&self);

    /// Whether [`stop`](Self::stop) was called.
    fn has_stopped(&self) -> bool;

    /// Returns a number that changes whenever the identity or the scope of the credentials might
    /// have changed.
    fn authorization(&self) -> u64;

    /// Returns the total time during which requests waited for a user, for example for a login. If
    /// the caller sends several requests with one timeout, this time must not count against the
    /// timeout.
    fn user_time(&self) -> Duration;
}

/// The time of the next check of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextCheck {
    Never,
    At(Instant),
    /// The exchange is over: no thread waits for it any more.
    Over,
}

/// The cancel handle of an exchange. Any thread can use the handle to end the wait for the exchange
/// at once.
pub(crate) struct CancelHandle {
    look: Box<LookHook>,
    /// The state of the wait for the exchange: whether the wait is over, and how to interrupt it.
    ///
    /// Invariant: a waiter checks `over` and stores its shutdown handle under one lock, before it
    /// blocks. [`end`](Self::end) sets `over` and takes the handle under the lock, then uses it. So
    /// a waiter either does not block or is interrupted; no cancellation is lost. Neither the hook
    /// nor the shutdown handle is called with the lock held, since both may use this handle.
    state: Mutex<State>,
    changed: Condvar,
}

/// The callback that checks whether an exchange may go on. It gets the current time, and whether a
/// user is being asked. It returns the time of the next check.
type LookHook = dyn Fn(Instant, bool) -> NextCheck + Send + Sync;

#[derive(Default)]
struct State {
    over: bool,
    /// The shutdown handle of the waiting thread. Another thread uses the handle to interrupt the
    /// system call in which the waiting thread blocks.
    brake: Option<Box<dyn FnOnce() + Send>>,
    /// The time since which a user is being asked, for example to log in. `None` while no user is
    /// asked.
    held: Option<Instant>,
    /// The total time for which users were asked, without the current period since `held`.
    held_for: Duration,
}

impl CancelHandle {
    /// Creates a cancel handle. `look` checks whether the exchange may go on, and may run on any
    /// thread. The second argument of `look` is whether a user is being asked.
    pub(crate) fn new(
        look: impl Fn(Instant, bool) -> NextCheck + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            look: Box::new(look),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Creates a cancel handle that ends the wait at `deadline`. If `deadline` is `None`, the wait
    /// has no time limit.
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

    /// Ends the wait for the exchange, and interrupts the waiting thread.
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

    /// Interrupts the system call in which the waiting thread blocks, but does not end the wait.
    pub(crate) fn pull(&self) {
        let brake = self.state.lock().brake.take();
        if let Some(brake) = brake {
            brake();
        }
    }

    /// Calls the callback that checks whether the exchange may go on. If the exchange may not go
    /// on, ends the wait. Returns the time of the next check.
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

    /// Records that a user is being asked (`is_held`), or that no user is asked any more.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn hold(&self, is_held: bool, now: Instant) {
        if self.state.lock().held.is_some() == is_held {
            return;
        }
        // The check comes before the change, so that the time until now counts with the old state.
        self.look(now);
        let mut state = self.state.lock();
        match state.held.take() {
            Some(since) => state.held_for += now.saturating_duration_since(since),
            None => state.held = Some(now),
        }
    }

    /// Returns the total time during which users were asked.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn held_for(&self) -> Duration {
        self.state.lock().held_for
    }

    /// Stores the shutdown handle of a thread that is about to block. Another thread may use the
    /// handle to interrupt the system call that blocks. If the wait is already over, stores nothing
    /// and returns false.
    pub(crate) fn engage(&self, brake: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.state.lock();
        if !state.over {
            state.brake = Some(Box::new(brake));
        }
        !state.over
    }

    /// Removes the shutdown handle, because the thread no longer blocks. Returns false when another
    /// thread has taken the handle meanwhile. That thread may use the handle at any moment.
    pub(crate) fn release(&self) -> bool {
        self.state.lock().brake.take().is_some()
    }

    /// Blocks until the time `until`. Returns false when the wait was ended earlier.
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
        f.debug_struct("CancelHandle")
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}
