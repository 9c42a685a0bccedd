//! The core of a connection: the state that the connection's threads share for reading, routing,
//! sending and closing.

mod ending;
mod exchanges;
mod progress;
mod reading;
mod routing;
mod sending;
mod timers;

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

pub(super) use self::exchanges::Posting;
#[cfg(feature = "http-server")]
pub(super) use self::routing::Routed;
use super::active_requests::ActiveRequests;
use super::handlers::{Handlers, Work};
use super::held_back::HeldBack;
use super::incident::{Incident, IncidentHook, ServerEventKind};
use super::keepalive::{KeepAlive, Pulse};
use super::log::{LogHook, LogLevel, tell};
use super::outgoing::Calls;
use super::stats::{Counters, Stats};
use super::worker_pool::WorkerPool;
use super::writer::Writer;
use crate::error::Error;
use crate::shares::{Admission, Client, Shares};
use crate::sync::{Condvar, Mutex};
use crate::transport::deadlines::Deadlines;
use crate::transport::exchange_transport::ExchangeTransport;
use crate::transport::{Control, Limits, Receiver, Sender, Started, Threads};

const CANCELLED: &str = "notifications/cancelled";
const PROGRESS: &str = "notifications/progress";

/// How long a closing connection continues to read after the peer stopped accepting messages.
const FAREWELL: Duration = Duration::from_millis(300);

/// The maximum time for which one thread writes. Then another thread continues the writing.
const WRITE_TURN: Duration = Duration::from_secs(5);

/// The maximum time for which the thread of a call writes. Then a thread of the connection writes
/// the rest, and the call can be cancelled in the meantime.
const CALL_TURN: Duration = Duration::from_millis(20);

/// The shared state of a connection.
pub(crate) struct Core {
    /// The parts of the connection that are created on first use. An HTTP session whose client only
    /// listens does not need them.
    engine: OnceLock<Box<Engine>>,
    /// The sender of the transport. `None` once the engine has been created, because the engine
    /// takes the sender.
    sender: Mutex<Option<Box<dyn Sender>>>,
    pub(super) requests: ActiveRequests,
    pub(super) held_back: HeldBack,
    /// The part of `max_requests` that each client uses, if several clients share the connection.
    /// Created with the first request.
    // No other lock is taken while this one is held.
    shares: OnceLock<Box<Mutex<Shares<()>>>>,
    pulse: Option<Box<Pulse>>,
    pub(super) reading: Reading,
    pub(super) settings: Arc<Settings>,
    trouble: Option<IncidentHook>,
    pub(super) handlers: Arc<Handlers>,
    /// The data set with [`ConnectionBuilder::local`](super::ConnectionBuilder::local).
    local: Option<Arc<dyn Any + Send + Sync>>,
    /// The exchange transport, such as HTTP; `None` for a transport with one stream. On an exchange
    /// transport each request has its own exchange, and no thread reads for the connection.
    exchange_transport: Option<Arc<dyn ExchangeTransport>>,
    control: Arc<dyn Control>,
    /// Whether the negotiated revision has batches.
    batches: AtomicBool,
    /// Whether this side answers requests of the peer. A client of the modern era answers no
    /// requests.
    answers: AtomicBool,
    /// The JSON text of the `_meta` of the notifications that the engine sends; not set if they
    /// have none.
    notification_meta: OnceLock<Box<RawValue>>,
    /// The first line from the peer that was not a message. Error texts quote this line.
    noise: OnceLock<Box<str>>,
    /// Whether a thread may be waiting for the last active request to end.
    // Set before `life.ended`, and before any waiter reads the count of active requests. See
    // `request_ended`.
    ending: AtomicBool,
    /// Whether more messages were available when the last message was received.
    has_more_input: AtomicBool,
    // `life_changed` signals changes. The lock is not held while user code runs, or while a thread
    // waits for another event.
    life: Mutex<Life>,
    life_changed: Condvar,
}

/// The way in which the peer's messages reach the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Threads of the pool read, and callers read while they wait for their answers.
    Shared,
    /// Only threads of the pool read, because the receiver cannot wait with a time limit. On an
    /// exchange transport no thread reads.
    Alone,
    /// No thread reads. Messages are passed to the connection with `feed`.
    Fed,
}

/// A guard that counts one request towards its client's share of `max_requests`, until the guard is
/// dropped.
pub(super) struct Share {
    core: Arc<Core>,
    /// `None` once the request itself gives the share back.
    client: Option<Client>,
}

impl Share {
    /// Leaves the share to the request, which gives it back with [`Core::give_back_share`].
    pub(super) fn keep(mut self) {
        self.client = None;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(client) = &self.client {
            self.core.give_back_share(client);
        }
    }
}

/// The parts of a connection that are created on first use.
pub(super) struct Engine {
    pub(super) pool: WorkerPool<Box<dyn Receiver>, Work>,
    pub(super) calls: Calls,
    pub(super) writer: Writer,
    counters: Counters,
    user_waits: Mutex<UserWaits>,
    /// Whether a user was ever asked for input on this connection; never cleared. While the flag is
    /// false, no call needs the lock of `user_waits`.
    people_are_asked: AtomicBool,
    threads: Started,
    /// The deadline thread. It ends calls for which no thread waits, when their time is over.
    pub(super) deadlines: Deadlines,
}

impl Engine {
    /// Refuses new messages with the error `reason`, and ends the deadline thread.
    pub(super) fn release(&self, reason: &Error) {
        self.writer.close(reason);
        self.deadlines.stop();
    }
}

/// The settings of a connection, which differ between clients and servers. All connections of a
/// server share one set of settings.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Whether this side is a server: it runs handlers on the thread that read the request, answers
    /// malformed messages, and lets active requests finish when the peer's input ends.
    pub(crate) serving: bool,
    /// How long handlers may continue when the connection ends.
    pub(crate) drain: Duration,
    /// How long the peer may leave messages unread. After this time the connection is closed.
    pub(crate) write_timeout: Duration,
    /// Whether this side can send requests that belong to no request of the peer.
    pub(crate) asks: bool,
    /// Whether several clients share the connection.
    pub(crate) is_shared: bool,
    /// The run time after which a handler counts as slow.
    pub(crate) slow_handler: Duration,
    pub(crate) keep_alive: Option<KeepAlive>,
    /// Whether this side refuses messages that deviate from the exact wording of the specification.
    pub(crate) strict: bool,
    pub(crate) log: Option<LogHook>,
    pub(crate) threads: Threads,
    pub(crate) limits: Limits,
}

/// The state of a connection in its life cycle: open, ended, closing or closed.
#[derive(Debug, Default)]
struct Life {
    /// The reason why reading has ended; `None` while the connection is open.
    ended: Option<Error>,
    closing: bool,
    closed: bool,
    /// The thread that is closing the connection.
    closer: Option<ThreadId>,
    closed_by_own_thread: bool,
}

/// How much time the peer gets when the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    InOrder,
    /// The peer gets only a moment to end, because no session was established.
    AtOnce,
}

/// The times in which users answer input requests of the peer. Calls do not time out during these
/// times.
#[derive(Debug, Default)]
struct UserWaits {
    asked: usize,
    /// When a user last answered an input request of the peer.
    answered: Option<Instant>,
    /// When the number of open input requests last rose from zero; `None` if no input request is
    /// open.
    since: Option<Instant>,
    /// The total time in which at least one input request was open, without the current period,
    /// which began at `since`.
    took: Duration,
}

/// A guard that exists while a user answers an input request of the peer.
pub(crate) struct PersonAsked(Arc<Core>);

impl Drop for PersonAsked {
    fn drop(&mut self) {
        let mut user_waits = self.0.engine().user_waits.lock();
        user_waits.asked -= 1;
        let now = Instant::now();
        user_waits.answered = Some(now);
        if user_waits.asked == 0
            && let Some(since) = user_waits.since.take()
        {
            user_waits.took += now.saturating_duration_since(since);
        }
    }
}

/// The reason why a caller's read turn ended. In a read turn a caller reads messages for all
/// callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadTurn {
    /// An outcome or progress arrived for the call of the reading caller itself.
    Found,
    /// The time of the read turn is over, and nothing arrived for the call of the reading caller
    /// itself. The worker pool continues to read.
    Quiet,
    /// The connection has ended.
    Ended,
}

/// The state of a thread of a worker pool: its connection, and the handler that it runs.
struct PoolThread {
    core: Arc<Core>,
    /// Whether the thread runs a handler that has not released its worker permit.
    is_in_handler: bool,
    /// The client whose worker permit the handler holds.
    client: Option<Client>,
}

thread_local! {
    /// The state of this thread; `None` on threads that belong to no pool. A pool thread clears the
    /// value before it exits, so that no core is dropped during thread exit.
    static POOL_THREAD: RefCell<Option<PoolThread>> = const { RefCell::new(None) };
}

impl Core {
    #[expect(
        clippy::too_many_arguments,
        reason = "called once, with the parts of an open transport and of a builder"
    )]
    pub(super) fn new(
        sender: Box<dyn Sender>,
        control: Arc<dyn Control>,
        exchange_transport: Option<Arc<dyn ExchangeTransport>>,
        reading: Reading,
        handlers: Arc<Handlers>,
        local: Option<Arc<dyn Any + Send + Sync>>,
        settings: Arc<Settings>,
        trouble: Option<IncidentHook>,
    ) -> Arc<Self> {
        Arc::new(Self {
            engine: OnceLock::new(),
            requests: ActiveRequests::new(settings.limits.max_requests, settings.slow_handler),
            held_back: HeldBack::default(),
            sender: Mutex::new(Some(sender)),
            shares: OnceLock::new(),
            pulse: settings
                .keep_alive
                .map(|settings| Box::new(Pulse::new(settings, Instant::now()))),
            reading,
            settings,
            trouble,
            handlers,
            local,
            control,
            exchange_transport,
            batches: AtomicBool::new(false),
            answers: AtomicBool::new(true),
            notification_meta: OnceLock::new(),
            noise: OnceLock::new(),
            ending: AtomicBool::new(false),
            has_more_input: AtomicBool::new(false),
            life: Mutex::new(Life::default()),
            life_changed: Condvar::new(),
        })
    }

    pub(super) fn engine(&self) -> &Engine {
        self.engine.get_or_init(|| {
            let (settings, limits) = (&self.settings, &self.settings.limits);
            let sender = self.sender.lock().take().expect("the engine is made once");
            let max = limits.max_workers;
            let pool = match settings.is_shared {
                false => WorkerPool::new(max),
                true => WorkerPool::shared(max, limits.part_of(max), limits.reserve_beyond(max)),
            };
            if self.reading == Reading::Fed {
                pool.end_reading();
            }
            Box::new(Engine {
                pool,
                calls: Calls::new(limits.max_calls, limits.max_call_events),
                writer: Writer::new(sender, limits.max_queued_bytes),
                counters: Counters::default(),
                user_waits: Mutex::default(),
                people_are_asked: AtomicBool::new(false),
                threads: Started::default(),
                deadlines: Deadlines::new(Duration::MAX, &settings.threads),
            })
        })
    }

    /// Returns the clients' shares of the active requests on this connection.
    fn shares(&self) -> &Mutex<Shares<()>> {
        self.shares.get_or_init(|| {
            let limits = &self.settings.limits;
            let max = limits.max_requests;
            let shares = Shares::new(max, limits.part_of(max), limits.reserve_of(max));
            Box::new(Mutex::new(shares))
        })
    }

    /// Counts a request towards the share of a client, if several clients share the connection.
    /// Returns `None` when the client has used up its share.
    pub(super) fn take_share(self: &Arc<Self>, client: Client) -> Option<Share> {
        let mut shares = self.shares().lock();
        if shares.admit(&client, 1) != Admission::Granted {
            return None;
        }
        shares.take(&client, 1);
        drop(shares);
        let core = Arc::clone(self);
        Some(Share {
            core,
            client: Some(client),
        })
    }

    /// Subtracts a request from the share of a client.
    pub(super) fn give_back_share(&self, client: &Client) {
        self.shares().lock().give_back(client, 1);
    }

    /// Returns the data set with [`ConnectionBuilder::local`](super::ConnectionBuilder::local).
    pub(crate) fn local<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(self.local.as_ref()?).downcast().ok()
    }

    pub(crate) fn peer(&self) -> String {
        self.control.peer()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub(super) fn log(&self, level: LogLevel, text: impl FnOnce() -> String) {
        self.log_as("protocol", level, text);
    }

    /// Whether this side refuses messages that deviate from the exact wording of the specification.
    pub(crate) fn is_strict(&self) -> bool {
        self.settings.strict
    }

    /// Logs a record under the target of a layer above the protocol, such as the server.
    pub(crate) fn log_as(
        &self,
        target: &'static str,
        level: LogLevel,
        text: impl FnOnce() -> String,
    ) {
        tell(self.settings.log.as_ref(), level, target, text);
    }

    /// Reports a server event of this kind to the host's hook. Does not log the event.
    pub(crate) fn trouble(
        &self,
        kind: ServerEventKind,
        method: Option<&str>,
        text: impl FnOnce() -> String,
    ) {
        if let Some(hook) = &self.trouble {
            hook(Incident {
                kind,
                peer: self.peer(),
                method,
                text: text(),
            });
        }
    }

    pub(crate) fn allow_batches(&self, allowed: bool) {
        self.batches.store(allowed, Ordering::Release);
    }

    /// Sets the `_meta` of the notifications that the engine sends. Only the first call has an
    /// effect.
    pub(crate) fn set_notification_meta(&self, meta: Box<RawValue>) {
        _ = self.notification_meta.set(meta);
    }

    pub(crate) fn answer_requests(&self, answers: bool) {
        self.answers.store(answers, Ordering::Release);
    }

    /// Records that a user is answering an input request of the peer, until the guard is dropped.
    ///
    /// No call times out in the meantime. Any call may depend on the input request, because an
    /// input request does not name its call.
    pub(crate) fn person_asked(self: &Arc<Self>) -> PersonAsked {
        self.engine().people_are_asked.store(true, Ordering::SeqCst);
        let mut user_waits = self.engine().user_waits.lock();
        user_waits.asked += 1;
        user_waits.since.get_or_insert_with(Instant::now);
        drop(user_waits);
        PersonAsked(Arc::clone(self))
    }

    /// Returns the last time at which a user was busy with an input request of the peer. Returns
    /// `None` if no user was ever asked.
    pub(super) fn user_seen(&self, now: Instant) -> Option<Instant> {
        let user_waits = self.engine().user_waits.lock();
        if user_waits.asked > 0 {
            Some(now)
        } else {
            user_waits.answered
        }
    }

    /// Returns the total time that users have spent on input requests of the peer.
    pub(super) fn user_time(&self, now: Instant) -> Duration {
        if !self.engine().people_are_asked.load(Ordering::Relaxed) {
            return Duration::ZERO;
        }
        let user_waits = self.engine().user_waits.lock();
        let lately = user_waits
            .since
            .map(|since| now.saturating_duration_since(since));
        user_waits.took + lately.unwrap_or_default()
    }

    /// Returns the first line from the peer that was not a message. The error of a failed connect
    /// quotes this line.
    pub(crate) fn first_noise(&self) -> Option<&str> {
        self.noise.get().map(|line| &**line)
    }

    /// Returns the peer's latest output outside of the protocol, for example on its standard error.
    pub(crate) fn last_words(&self) -> Option<String> {
        self.control.last_words()
    }

    /// Whether the peer has not yet read all messages that were sent to it; `None` if the transport
    /// cannot detect this.
    pub(crate) fn has_unread(&self) -> Option<bool> {
        // The queue is checked first. So the transport sees a message that is written in between.
        let has_written_all = self.has_written_all();
        let unread = self.control.has_unread()?;
        Some(unread || !has_written_all)
    }

    pub(super) fn stats(&self) -> Stats {
        let requests_in_flight = self.requests.counted();
        let Some(engine) = self.engine.get() else {
            return Stats {
                requests_in_flight,
                ..Stats::default()
            };
        };
        Stats {
            calls_in_flight: engine.calls.in_flight(),
            requests_in_flight,
            queued_bytes: engine.writer.queued_bytes(),
            threads: engine.pool.threads(),
            ..engine.counters.snapshot()
        }
    }

    /// Whether all queued messages have been written.
    fn has_written_all(&self) -> bool {
        let engine = self.engine.get();
        engine.is_none_or(|engine| engine.writer.is_empty())
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("peer", &self.peer())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
