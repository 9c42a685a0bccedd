//! What the threads of a connection share: reading, routing, sending, and the end.

mod carrying;
mod ending;
mod looking;
mod progress;
mod reading;
mod routing;
mod sending;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use self::carrying::Posting;
use super::crew::Crew;
use super::handlers::Handlers;
use super::held_back::HeldBack;
use super::in_hand::InHand;
use super::incoming::Exchanges;
use super::keepalive::{KeepAlive, Pulse};
use super::log::{LogHook, LogLevel, tell};
use super::outbox::Outbox;
use super::outgoing::Calls;
use super::stats::{Counters, Stats};
use super::trouble::{ServerEventKind, Trouble, TroubleHook};
use crate::error::Error;
use crate::shares::{Admission, Client, Shares};
use crate::sync::{Condvar, Mutex};
use crate::transport::carrier::Carrier;
use crate::transport::{Control, Limits, Receiver, Sender, Started, Threads};

const CANCELLED: &str = "notifications/cancelled";
const PROGRESS: &str = "notifications/progress";

/// How long a peer that no longer takes anything may still be read.
const FAREWELL: Duration = Duration::from_millis(300);

/// How long a thread tries to write before another one goes on for it.
const WRITE_TURN: Duration = Duration::from_secs(5);

/// How long a caller writes before it leaves the rest to a thread of the connection, so that it can be cancelled meanwhile.
const CALL_TURN: Duration = Duration::from_millis(20);

pub(crate) struct Core {
    /// Made when it is first needed: a session over HTTP whose client only listens does without.
    engine: OnceLock<Box<Engine>>,
    /// Until then.
    sender: Mutex<Option<Box<dyn Sender>>>,
    pub(super) exchanges: Exchanges,
    pub(super) held_back: HeldBack,
    /// How many requests are in hand.
    pub(super) admitted: AtomicUsize,
    /// How many of those are being answered at the moment: a peer that has read the answer may send its next request before this one is
    /// counted out, and finds room.
    pub(super) answering: AtomicUsize,
    /// How many of those in hand go on behind their answer, as tasks do. Their number is bounded
    /// elsewhere: they take no place from other requests.
    pub(super) detached: AtomicUsize,
    /// What each client has of `max_requests`, where many use the connection; made with the first
    /// of their requests. No other lock is taken inside.
    shares: OnceLock<Box<Mutex<Shares<()>>>>,
    pulse: Option<Box<Pulse>>,
    pub(super) reading: Reading,
    pub(super) settings: Arc<Settings>,
    trouble: Option<TroubleHook>,
    pub(super) handlers: Arc<Handlers>,
    /// What the side that handles the requests knows of this connection.
    local: Option<Arc<dyn Any + Send + Sync>>,
    /// Where each request has a way of its own. Nobody reads then.
    carrier: Option<Arc<dyn Carrier>>,
    control: Arc<dyn Control>,
    /// Whether batches are part of the revision spoken.
    batches: AtomicBool,
    /// Whether requests of the peer are answered: a client of the modern era answers none.
    answers: AtomicBool,
    /// The first line that was no message.
    noise: OnceLock<Box<str>>,
    /// Set before `life` says so, for those who end a request.
    ending: AtomicBool,
    life: Mutex<Life>,
    life_changed: Condvar,
}

/// Who reads what the peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The crew, and callers while they wait.
    Shared,
    /// The crew alone, since the receiver can't wait with a bound; or nobody, where each request has a way of its own.
    Alone,
    /// Nobody: what came is fed to the connection.
    Fed,
}

/// What a request takes of its client's share of the connection, until it is dropped.
pub(super) struct Share {
    core: Arc<Core>,
    client: Client,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.core.shares().lock().give_back(&self.client, 1);
    }
}

/// What works for a connection.
pub(super) struct Engine {
    pub(super) crew: Crew<Box<dyn Receiver>>,
    pub(super) calls: Calls,
    pub(super) in_hand: InHand,
    pub(super) outbox: Outbox,
    counters: Counters,
    people: Mutex<People>,
    /// Set for good when the first person is asked: until then no call has to look at `people`.
    people_are_asked: AtomicBool,
    threads: Started,
}

/// What makes a connection a client's or a server's. All connections of a server share it.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Handlers run on the thread that read the request as long as they are quick.
    pub(crate) inline: bool,
    /// Messages that are none are answered, and requests in hand finish when the peer's input ends.
    pub(crate) serving: bool,
    /// How long handlers get at the end.
    pub(crate) drain: Duration,
    /// How long a peer may not read before the connection is given up.
    pub(crate) write_timeout: Duration,
    /// Requests of ours reach the peer at any time.
    pub(crate) asks: bool,
    /// From when on a handler runs long.
    pub(crate) slow_handler: Duration,
    pub(crate) keep_alive: Option<KeepAlive>,
    /// Messages that differ from the letter of the specification are refused.
    pub(crate) strict: bool,
    pub(crate) log: Option<LogHook>,
    pub(crate) threads: Threads,
    pub(crate) limits: Limits,
}

#[derive(Debug, Default)]
struct Life {
    /// Why nothing is read any more.
    ended: Option<Error>,
    closing: bool,
    closed: bool,
    /// Who closes.
    closer: Option<ThreadId>,
    closed_by_own_thread: bool,
}

/// How much time the peer gets at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    InOrder,
    /// No conversation came about.
    AtOnce,
}

/// Questions of the peer that are before a person.
#[derive(Debug, Default)]
struct People {
    asked: usize,
    /// When the last one was answered.
    answered: Option<Instant>,
    /// Since when there is one.
    since: Option<Instant>,
    /// How long there was one before that, in all.
    took: Duration,
}

/// A question of the peer is before a person.
pub(crate) struct PersonAsked(Arc<Core>);

impl Drop for PersonAsked {
    fn drop(&mut self) {
        let mut people = self.0.engine().people.lock();
        people.asked -= 1;
        let now = Instant::now();
        people.answered = Some(now);
        if people.asked == 0
            && let Some(since) = people.since.take()
        {
            people.took += now.saturating_duration_since(since);
        }
    }
}

/// How a caller's turn of reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stint {
    /// Something came for the caller.
    Found,
    /// Nothing came for a while: the crew reads on.
    Quiet,
    /// The connection has ended.
    Ended,
}

/// What the current thread is doing for the connection whose core has this address.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    Elsewhere,
    /// Reading: it may wait for nothing and leaves writing for later.
    Reading(usize),
    /// Running a handler where it was read, with the receiver parked under this number: what it sends is written when it has returned,
    /// or by the thread that takes the receiver meanwhile.
    Inline(usize, u64),
}

thread_local! {
    static STANDING: Cell<Standing> = const { Cell::new(Standing::Elsewhere) };
    /// The connection to which this thread belongs, by the address of its core.
    static CREW_OF: Cell<usize> = const { Cell::new(0) };
    /// Whether a handler of that connection runs on this thread.
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
    /// The core itself. Only looked at in a handler: other threads, which may be ending, have nothing to drop.
    static OWN_CORE: RefCell<Option<Arc<Core>>> = const { RefCell::new(None) };
}

impl Core {
    #[expect(
        clippy::too_many_arguments,
        reason = "called once, with the parts of an open transport and of a builder"
    )]
    pub(super) fn new(
        sender: Box<dyn Sender>,
        control: Arc<dyn Control>,
        carrier: Option<Arc<dyn Carrier>>,
        reading: Reading,
        handlers: Arc<Handlers>,
        local: Option<Arc<dyn Any + Send + Sync>>,
        settings: Arc<Settings>,
        trouble: Option<TroubleHook>,
    ) -> Arc<Self> {
        let sender = match &carrier {
            Some(carrier) => Box::new(Posting {
                carrier: Arc::clone(carrier),
                patience: settings.write_timeout,
                log: settings.log.clone(),
            }),
            None => sender,
        };
        Arc::new(Self {
            engine: OnceLock::new(),
            exchanges: Exchanges::default(),
            held_back: HeldBack::default(),
            sender: Mutex::new(Some(sender)),
            admitted: AtomicUsize::new(0),
            answering: AtomicUsize::new(0),
            detached: AtomicUsize::new(0),
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
            carrier,
            batches: AtomicBool::new(false),
            answers: AtomicBool::new(true),
            noise: OnceLock::new(),
            ending: AtomicBool::new(false),
            life: Mutex::new(Life::default()),
            life_changed: Condvar::new(),
        })
    }

    pub(super) fn engine(&self) -> &Engine {
        self.engine.get_or_init(|| {
            let (settings, limits) = (&self.settings, &self.settings.limits);
            let sender = self.sender.lock().take().expect("the engine is made once");
            let crew = Crew::new(limits.max_workers);
            if self.reading == Reading::Fed {
                crew.end_reading();
            }
            Box::new(Engine {
                crew,
                calls: Calls::new(limits.max_calls, limits.max_call_events),
                in_hand: InHand::new(
                    settings.slow_handler,
                    Arc::clone(&self.handlers),
                    Instant::now(),
                ),
                outbox: Outbox::new(sender, limits.max_queued_bytes),
                counters: Counters::default(),
                people: Mutex::default(),
                people_are_asked: AtomicBool::new(false),
                threads: Started::default(),
            })
        })
    }

    /// What each client has of the requests that may be in hand.
    fn shares(&self) -> &Mutex<Shares<()>> {
        self.shares.get_or_init(|| {
            let limits = &self.settings.limits;
            let max = limits.max_requests;
            let shares = Shares::new(max, limits.part_of(max), limits.reserve_of(max));
            Box::new(Mutex::new(shares))
        })
    }

    /// Counts a request of one of many clients of the connection. `None` when the client has its
    /// share already.
    pub(super) fn take_share(self: &Arc<Self>, client: Client) -> Option<Share> {
        let mut shares = self.shares().lock();
        if shares.admit(&client, 1) != Admission::Granted {
            return None;
        }
        shares.take(&client, 1);
        drop(shares);
        let core = Arc::clone(self);
        Some(Share { core, client })
    }

    /// What was given to [`ConnectionBuilder::local`](super::ConnectionBuilder::local).
    pub(crate) fn local<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(self.local.as_ref()?).downcast().ok()
    }

    fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self) as usize
    }

    pub(crate) fn peer(&self) -> String {
        self.control.peer()
    }

    pub(super) fn log(&self, level: LogLevel, text: impl FnOnce() -> String) {
        self.log_as("protocol", level, text);
    }

    /// Whether messages that differ from the letter of the specification are refused.
    pub(crate) fn is_strict(&self) -> bool {
        self.settings.strict
    }

    /// Says something for a layer above.
    pub(crate) fn log_as(
        &self,
        target: &'static str,
        level: LogLevel,
        text: impl FnOnce() -> String,
    ) {
        tell(self.settings.log.as_ref(), level, target, text);
    }

    /// Tells who wants to know trouble by its kind; the log is told apart.
    pub(crate) fn trouble(
        &self,
        kind: ServerEventKind,
        method: Option<&str>,
        text: impl FnOnce() -> String,
    ) {
        if let Some(hook) = &self.trouble {
            hook(Trouble {
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

    pub(crate) fn answer_requests(&self, answers: bool) {
        self.answers.store(answers, Ordering::Release);
    }

    /// Until the guard is dropped a person answers a question of the peer. It does not say for which call it asks: no call times out.
    pub(crate) fn person_asked(self: &Arc<Self>) -> PersonAsked {
        self.engine().people_are_asked.store(true, Ordering::SeqCst);
        let mut people = self.engine().people.lock();
        people.asked += 1;
        people.since.get_or_insert_with(Instant::now);
        drop(people);
        PersonAsked(Arc::clone(self))
    }

    /// When a person was last busy with a question of the peer.
    pub(super) fn person_seen(&self, now: Instant) -> Option<Instant> {
        let people = self.engine().people.lock();
        if people.asked > 0 {
            Some(now)
        } else {
            people.answered
        }
    }

    /// How long people have been busy with questions of the peer so far.
    pub(super) fn people_took(&self, now: Instant) -> Duration {
        if !self.engine().people_are_asked.load(Ordering::Relaxed) {
            return Duration::ZERO;
        }
        let people = self.engine().people.lock();
        let lately = people
            .since
            .map(|since| now.saturating_duration_since(since));
        people.took + lately.unwrap_or_default()
    }

    /// The first line that was no message, for the error when connecting fails.
    pub(crate) fn first_noise(&self) -> Option<&str> {
        self.noise.get().map(|line| &**line)
    }

    /// What the peer said outside of the protocol of late.
    pub(crate) fn last_words(&self) -> Option<String> {
        self.control.last_words()
    }

    /// Whether the peer has yet to read something that was sent to it, where the transport can tell.
    pub(crate) fn has_unread(&self) -> Option<bool> {
        // First: what is written in between is then seen by the transport.
        let has_written_all = self.has_written_all();
        let unread = self.control.has_unread()?;
        Some(unread || !has_written_all)
    }

    pub(super) fn stats(&self) -> Stats {
        let requests_in_hand = self.admitted.load(Ordering::Acquire);
        let Some(engine) = self.engine.get() else {
            return Stats {
                requests_in_hand,
                ..Stats::default()
            };
        };
        Stats {
            calls_in_flight: engine.calls.in_flight(),
            requests_in_hand,
            queued_bytes: engine.outbox.queued_bytes(),
            threads: engine.crew.threads(),
            ..engine.counters.snapshot()
        }
    }

    /// Whether nothing was ever queued, or all of it is written.
    fn has_written_all(&self) -> bool {
        let engine = self.engine.get();
        engine.is_none_or(|engine| engine.outbox.is_empty())
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
