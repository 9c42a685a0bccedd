//! Transports on which each request has a way of its own to the peer and back, such as an HTTP request and its response.
//!
//! There is no stream to be read for everybody: the thread that sends a request waits for what comes for it, and hands that on. So a
//! [`Carrier`] stands in the place of [`Receiver`](super::Receiver) and, for requests, of [`Sender`](super::Sender).

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Control, Halves, Received, Receiver, Sender, SessionMessage, lock};
use crate::error::{Error, ErrorKind, Result};

/// A header field.
pub(crate) type Field = (Cow<'static, str>, Cow<'static, str>);

/// How a message relates to the state that a peer may keep between messages.
#[derive(Clone, Debug, Default)]
pub(crate) enum Manner {
    /// It belongs to the session, if there is one.
    #[default]
    InSession,
    /// It opens one.
    OpensSession,
    /// It stands alone, and carries these header fields.
    Stateless(Vec<Field>),
}

/// Takes what comes, on the thread that waits for it; says when it was enough.
pub(crate) type Deliver<'a> = dyn FnMut(Received) -> ControlFlow<()> + 'a;

/// How an exchange went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// What came was enough.
    Answered,
    /// It was sent; what belongs to it comes by another way.
    Elsewhere,
}

/// How listening to what belongs to no request goes.
#[derive(Debug)]
#[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
pub(crate) enum Listening {
    /// It is clear whether there is something to listen to. May be told more than once.
    Settled,
    /// The stream can't be had at the moment, and may be asked for again.
    Refused {
        error: Error,
        /// Whether this is the first refusal in a row.
        is_new: bool,
        /// Whether there was a stream in this session before.
        was_open: bool,
    },
    /// The stream is there again. What was sent meanwhile may have been missed.
    Back,
}

/// Carries each request and what comes for it.
pub(crate) trait Carrier: Send + Sync + fmt::Debug {
    /// Sends a request and delivers what comes for it, until that is enough.
    ///
    /// # Errors
    ///
    /// What went wrong, and whether the request had been sent. When `ticket` is over, the error says nothing.
    fn exchange(
        &self,
        request: &SessionMessage,
        ticket: &Arc<Ticket>,
        deliver: &mut Deliver<'_>,
    ) -> Result<Carried>;

    /// Sends what has no answer, until `deadline`.
    ///
    /// # Errors
    ///
    /// When the peer did not take it.
    fn post(&self, message: &SessionMessage, deadline: Option<Instant>) -> Result<()>;

    /// From now on the header names this revision, if one is given.
    fn agree(&self, revision: Option<&str>);

    /// Delivers what belongs to no request, until the peer offers nothing of the kind, the session
    /// is another one, or all is over. Tells `news` how that goes.
    ///
    /// # Errors
    ///
    /// When the peer turned it down for a reason that will not pass.
    fn listen(&self, news: &mut dyn FnMut(Listening), deliver: &mut Deliver<'_>) -> Result<()>;

    /// Speaks the first transport of this kind, on which everything that the peer sends comes by one stream: opens it, calls `settled` when
    /// the peer has said where messages go, and delivers until the stream ends.
    ///
    /// # Errors
    ///
    /// When the peer does not know it, and when the stream has ended.
    fn fall_back(
        &self,
        ticket: &Arc<Ticket>,
        settled: &mut dyn FnMut(),
        deliver: &mut Deliver<'_>,
    ) -> Result<()>;

    /// Which session this is, counted; a later one means that it was lost. `None` when there is none.
    fn session(&self) -> Option<u64>;

    /// Ends all exchanges; what is posted still goes out.
    fn stop(&self);

    /// Whether that was asked for: the connection ends.
    fn has_stopped(&self) -> bool;

    /// Another number whenever requests may be let in as somebody else, or to something else, than before.
    fn authorization(&self) -> u64;

    /// How long people were asked in all while requests waited, for example to log in: nobody else's time is to be counted by that.
    fn people_took(&self) -> Duration;
}

impl Halves {
    /// An open transport on which each request has a way of its own. Its halves for streams are never asked.
    pub(crate) fn carried(carrier: Arc<dyn Carrier>, control: Arc<dyn Control>) -> Self {
        Self {
            receiver: Box::new(NoStream),
            sender: Box::new(NoStream),
            control,
            carrier: Some(carrier),
        }
    }
}

/// In the place of the halves that a carrier does without.
#[derive(Debug)]
struct NoStream;

impl NoStream {
    fn refuse() -> Error {
        let text = "this transport has no stream: each request has a way of its own";
        Error::new(ErrorKind::Unsupported, text)
    }
}

impl Receiver for NoStream {
    fn receive(&mut self, _: Option<Duration>) -> Result<Received> {
        Err(Self::refuse())
    }
}

impl Sender for NoStream {
    fn send(&mut self, _: &mut VecDeque<SessionMessage>, _: Instant) -> Result<()> {
        Err(Self::refuse())
    }
}

/// When an exchange is to be looked after again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Never,
    At(Instant),
    /// Nobody waits any more.
    Over,
}

/// The right to wait for an exchange, which can be taken away from any thread: the wait ends at once then.
pub(crate) struct Ticket {
    look: Box<LookHook>,
    state: Mutex<State>,
    changed: Condvar,
}

/// Told the time, and whether a person is being asked meanwhile.
type LookHook = dyn Fn(Instant, bool) -> Look + Send + Sync;

#[derive(Default)]
struct State {
    over: bool,
    /// Ends what the waiting thread is blocked in.
    brake: Option<Box<dyn FnOnce() + Send>>,
    /// Since when a person is being asked.
    held: Option<Instant>,
    /// How long people were asked before.
    held_for: Duration,
}

impl Ticket {
    /// `look` is asked, on any thread, until when the exchange may go on. It is told whether a person is being asked at the time.
    pub(crate) fn new(look: impl Fn(Instant, bool) -> Look + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            look: Box::new(look),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Ends at a point in time, if there is one.
    pub(crate) fn until(deadline: Option<Instant>) -> Arc<Self> {
        Self::new(move |now, _| match deadline {
            None => Look::Never,
            Some(deadline) if now < deadline => Look::At(deadline),
            Some(_) => Look::Over,
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        lock(&self.state).over
    }

    /// Nobody waits any more.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.state);
        state.over = true;
        let brake = state.brake.take();
        drop(state);
        self.changed.notify_all();
        if let Some(brake) = brake {
            brake();
        }
    }

    /// Ends what the waiting thread is blocked in, but not the wait.
    pub(crate) fn pull(&self) {
        let brake = lock(&self.state).brake.take();
        if let Some(brake) = brake {
            brake();
        }
    }

    /// Asks when to look again, and ends the ticket when its time has come.
    pub(crate) fn look(&self, now: Instant) -> Look {
        if self.is_over() {
            return Look::Over;
        }
        let held = lock(&self.state).held.is_some();
        let look = (self.look)(now, held);
        if look == Look::Over {
            self.end();
        }
        look
    }

    /// A person is asked from now on, or no longer.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn hold(&self, is_held: bool, now: Instant) {
        if lock(&self.state).held.is_some() == is_held {
            return;
        }
        // While it is still held: the time until now does not count.
        self.look(now);
        let mut state = lock(&self.state);
        match state.held.take() {
            Some(since) => state.held_for += now.saturating_duration_since(since),
            None => state.held = Some(now),
        }
    }

    /// How long people were asked in all.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn held_for(&self) -> Duration {
        lock(&self.state).held_for
    }

    /// The waiting thread is about to block; `brake` ends that, from another thread. Returns false, and forgets it, when nobody waits any
    /// more.
    pub(crate) fn engage(&self, brake: impl FnOnce() + Send + 'static) -> bool {
        let mut state = lock(&self.state);
        if !state.over {
            state.brake = Some(Box::new(brake));
        }
        !state.over
    }

    /// The waiting thread no longer blocks. Returns false when the brake was taken meanwhile: what it ends may end any moment.
    pub(crate) fn release(&self) -> bool {
        lock(&self.state).brake.take().is_some()
    }

    /// Waits until a point in time; returns false when the ticket ended before.
    pub(crate) fn pause(&self, until: Instant) -> bool {
        loop {
            let now = Instant::now();
            let next = match self.look(now) {
                Look::Over => return false,
                Look::At(at) => at.min(until),
                Look::Never => until,
            };
            let state = lock(&self.state);
            if now >= until || state.over {
                return !state.over;
            }
            let span = next.saturating_duration_since(now);
            let waited = self.changed.wait_timeout(state, span);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}
