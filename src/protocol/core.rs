//! What the threads of a connection share: reading, routing, sending, and the end.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cancel::{Callback, CancelToken};
use super::crew::{Crew, Duty, Hands, Job};
use super::handlers::{Handlers, RequestHandler};
use super::incoming::{Batch, Exchange, Exchanges, Refusal};
use super::outbox::{Flush, Outbox};
use super::outgoing::{Calls, Delivery, Due, OnEnd, Outcome, Progress, Slot};
use super::peer::Peer;
use super::responder::{Responder, response_of};
use super::stats::{Counters, Stats, count};
use crate::error::{Error, ErrorCode, ErrorKind, Result, RpcError};
use crate::jsonrpc::{
    self, Form, Malformed, Message, Notification, Parsed, Request, RequestId, TooLong,
};
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::thread::{self, Stack};
use crate::transport::{Control, Halves, Limits, Received, Receiver, SessionMessage};

const CANCELLED: &str = "notifications/cancelled";
const PROGRESS: &str = "notifications/progress";

/// How long a peer that no longer takes anything may still be read.
const FAREWELL: Duration = Duration::from_millis(300);

/// How long a thread tries to write before another one goes on for it.
const WRITE_TURN: Duration = Duration::from_secs(5);

/// How long a caller writes before it leaves the rest to a thread of the connection, so that it can be cancelled meanwhile.
const CALL_TURN: Duration = Duration::from_millis(20);

pub(crate) struct Core {
    pub(super) crew: Crew<Box<dyn Receiver>>,
    pub(super) calls: Calls,
    pub(super) exchanges: Exchanges,
    pub(super) outbox: Outbox,
    pub(super) admitted: AtomicUsize,
    /// Whether callers may read for themselves.
    pub(super) patient: bool,
    pub(super) settings: Settings,
    handlers: Handlers,
    control: Arc<dyn Control>,
    limits: Limits,
    counters: Counters,
    /// Whether batches are part of the revision spoken.
    batches: AtomicBool,
    people: Mutex<People>,
    /// Whether requests of the peer are answered: a client of the modern era answers none.
    answers: AtomicBool,
    /// The first line that was no message.
    noise: OnceLock<Box<str>>,
    /// Set before `life` says so, for those who end a request.
    ending: AtomicBool,
    life: Mutex<Life>,
    life_changed: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What makes a connection a client's or a server's.
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
    pub(crate) log: Option<LogHook>,
}

/// Takes what the library has to say to its host, a line at a time, on any thread.
pub type LogHook = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Debug, Default)]
struct Life {
    /// Why nothing is read any more.
    ended: Option<Error>,
    closing: bool,
    closed: bool,
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
}

/// A question of the peer is before a person.
pub(crate) struct PersonAsked(Arc<Core>);

impl Drop for PersonAsked {
    fn drop(&mut self) {
        let mut people = self.0.people.lock();
        people.asked -= 1;
        people.answered = Some(Instant::now());
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
    /// The connection whose handler runs on this thread.
    static HANDLER_OF: RefCell<Option<Arc<Core>>> = const { RefCell::new(None) };
    /// The connection to which this thread belongs.
    static CREW_OF: Cell<usize> = const { Cell::new(0) };
}

impl Core {
    pub(super) fn new(
        halves: Halves,
        limits: Limits,
        handlers: Handlers,
        settings: Settings,
    ) -> (Arc<Self>, Box<dyn Receiver>) {
        let Halves {
            receiver,
            sender,
            control,
        } = halves;
        let core = Self {
            crew: Crew::new(limits.max_workers),
            calls: Calls::new(limits.max_calls, limits.max_call_events),
            exchanges: Exchanges::default(),
            outbox: Outbox::new(sender, limits.max_queued_bytes),
            admitted: AtomicUsize::new(0),
            patient: receiver.is_patient(),
            settings,
            handlers,
            control,
            limits,
            counters: Counters::default(),
            batches: AtomicBool::new(false),
            people: Mutex::default(),
            answers: AtomicBool::new(true),
            noise: OnceLock::new(),
            ending: AtomicBool::new(false),
            life: Mutex::new(Life::default()),
            life_changed: Condvar::new(),
            threads: Mutex::new(Vec::new()),
        };
        (Arc::new(core), receiver)
    }

    fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self) as usize
    }

    pub(crate) fn peer(&self) -> String {
        self.control.peer()
    }

    pub(crate) fn log(&self, message: impl FnOnce() -> String) {
        if let Some(log) = &self.settings.log {
            // A panic of the host's must not end reading, nor the process when it comes while another one unwinds.
            _ = catch_unwind(AssertUnwindSafe(|| log(&message())));
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
        self.people.lock().asked += 1;
        PersonAsked(Arc::clone(self))
    }

    /// When a person was last busy with a question of the peer.
    pub(super) fn person_seen(&self, now: Instant) -> Option<Instant> {
        let people = self.people.lock();
        if people.asked > 0 {
            Some(now)
        } else {
            people.answered
        }
    }

    /// The first line that was no message, for the error when connecting fails.
    pub(crate) fn first_noise(&self) -> Option<&str> {
        self.noise.get().map(|line| &**line)
    }

    /// What the peer said outside of the protocol of late.
    pub(crate) fn last_words(&self) -> Option<String> {
        self.control.last_words()
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            calls_in_flight: self.calls.in_flight(),
            requests_in_hand: self.admitted.load(Ordering::Acquire),
            queued_bytes: self.outbox.queued_bytes(),
            threads: self.crew.threads(),
            ..self.counters.snapshot()
        }
    }
}

/// Threads and reading.
impl Core {
    /// Starts the thread that the crew asked for.
    pub(super) fn provide(self: &Arc<Self>, hands: Hands) {
        if hands == Hands::Enough {
            return;
        }
        let core = Arc::clone(self);
        match thread::start("mcplink-crew", Stack::Large, move || core.serve_duties()) {
            Ok(handle) => {
                let mut threads = self.threads.lock();
                threads.retain(|thread| !thread.is_finished());
                threads.push(handle);
            }
            Err(error) => {
                self.crew.thread_failed();
                self.log(|| format!("a thread could not be started: {error}"));
                if self.crew.threads() == 0 {
                    self.end(&error);
                }
            }
        }
    }

    fn serve_duties(self: Arc<Self>) {
        CREW_OF.set(self.address());
        let mut has_come = true;
        loop {
            let (duty, hands) = self.crew.next_duty(std::mem::take(&mut has_come));
            self.provide(hands);
            match duty {
                Duty::Leave => break,
                Duty::Lead(receiver) => self.lead(receiver),
                Duty::Own(job) => self.run_guarded(job),
                Duty::Flush => self.flush_until(Instant::now().checked_add(WRITE_TURN)),
                Duty::Run(job) => {
                    let started = Instant::now();
                    self.run(job);
                    self.crew.job_done(started.elapsed());
                }
                Duty::Serial(job) => {
                    self.run_guarded(job);
                    self.crew.serial_done();
                }
            }
        }
        self.crew.thread_left();
    }

    /// Runs a handler, which may give its place up while it waits for the peer.
    fn run(self: &Arc<Self>, job: Job) {
        let outer = HANDLER_OF.replace(Some(Arc::clone(self)));
        self.run_guarded(job);
        HANDLER_OF.set(outer);
    }

    fn run_guarded(self: &Arc<Self>, job: Job) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
            self.log(|| {
                format!(
                    "a handler of messages of '{}' panicked: {}",
                    self.peer(),
                    panic_text(&*panic)
                )
            });
        }
    }

    /// Frees the worker's place of the handler that runs on this thread, until the guard is dropped.
    pub(super) fn leave_worker(&self) -> WorkerPlace {
        let core = HANDLER_OF.take();
        if let Some(core) = &core {
            let hands = core.crew.blocked();
            core.provide(hands);
        }
        WorkerPlace(core)
    }

    /// Holds the reading role until it is lost or the connection ends.
    fn lead(self: &Arc<Self>, mut receiver: Box<dyn Receiver>) {
        loop {
            if self.outbox.is_due(receiver.has_message()) {
                match self.flush_aside(receiver) {
                    Some(taken_back) => receiver = taken_back,
                    None => return,
                }
            }
            let job = match self.receive_one(&mut *receiver, None) {
                Ok(Some(Taken::Job(job))) => job,
                Ok(Some(Taken::Delivered)) if !self.settings.inline => {
                    // Its caller may call again at once, and then better reads for itself.
                    let hands = self.crew.pass_on(receiver);
                    return self.provide(hands);
                }
                Ok(_) => continue,
                Err(error) => {
                    drop(receiver);
                    return self.end(&error);
                }
            };
            if !self.settings.inline {
                let hands = self.crew.push_job(job);
                self.provide(hands);
                continue;
            }
            let more = receiver.has_message();
            match self.crew.begin_inline(receiver) {
                Ok((park, hands)) => {
                    self.provide(hands);
                    self.run_inline(job, park);
                    if self.outbox.is_due(more) {
                        self.flush_until(Instant::now().checked_add(WRITE_TURN));
                    }
                    let (taken_back, hands) = self.crew.end_inline(park);
                    self.provide(hands);
                    match taken_back {
                        Some(taken_back) => receiver = taken_back,
                        None => {
                            self.flush_until(Instant::now().checked_add(WRITE_TURN));
                            return;
                        }
                    }
                }
                Err(given_back) => {
                    receiver = given_back;
                    let hands = self.crew.push_job(job);
                    self.provide(hands);
                }
            }
        }
    }

    fn run_inline(self: &Arc<Self>, job: Job, park: u64) {
        let outer = STANDING.replace(Standing::Inline(self.address(), park));
        self.run(job);
        STANDING.set(outer);
    }

    /// Writes what is queued, with the receiver parked: a peer that does not read must not keep us from reading.
    fn flush_aside(self: &Arc<Self>, receiver: Box<dyn Receiver>) -> Option<Box<dyn Receiver>> {
        let hands = self.crew.park(receiver);
        self.provide(hands);
        self.flush_until(Instant::now().checked_add(WRITE_TURN));
        self.crew.take()
    }

    /// A caller reads for everybody, until something comes for itself or `until`.
    pub(super) fn read_for_caller(
        self: &Arc<Self>,
        mut receiver: Box<dyn Receiver>,
        slot: &Slot,
        until: Instant,
    ) -> Stint {
        while !slot.has_something() {
            let patience = until.saturating_duration_since(Instant::now());
            match self.receive_one(&mut *receiver, Some(patience)) {
                Ok(Some(Taken::Job(job))) => {
                    let hands = self.crew.push_job(job);
                    self.provide(hands);
                }
                Ok(_) => {}
                Err(error) => {
                    drop(receiver);
                    self.end(&error);
                    return Stint::Ended;
                }
            }
            if self.outbox.is_due(false) {
                let hands = self.crew.want_flush();
                self.provide(hands);
            }
            // Messages for others, however many, must not keep the caller past its time.
            if Instant::now() >= until && !slot.has_something() {
                let hands = self.crew.hand_over(receiver);
                self.provide(hands);
                return Stint::Quiet;
            }
        }
        let hands = self.crew.pass_on(receiver);
        self.provide(hands);
        Stint::Found
    }
}

/// What became of a message.
enum Taken {
    /// It is done with.
    Done,
    /// It was an answer that a caller waits for.
    Delivered,
    /// A handler has to run.
    Job(Job),
}

/// Routing: runs on the reading thread, waits for nothing, and runs no user code.
impl Core {
    /// Receives and routes one message; `None` when none came in time.
    fn receive_one(
        self: &Arc<Self>,
        receiver: &mut dyn Receiver,
        patience: Option<Duration>,
    ) -> Result<Option<Taken>> {
        // A transport may be the host's. When it panics, the connection ends like for any other failure.
        let received = catch_unwind(AssertUnwindSafe(|| receiver.receive(patience)))
            .unwrap_or_else(|panic| {
                let text = format!("the transport panicked: {}", panic_text(&*panic));
                Err(Error::new(ErrorKind::Io, text))
            })?;
        let outer = STANDING.replace(Standing::Reading(self.address()));
        let taken = match received {
            Received::Message(message) => Some(self.take_in(message)),
            Received::TooLong(long) => {
                self.refuse_too_long(&long);
                Some(Taken::Done)
            }
            Received::Nothing => None,
        };
        STANDING.set(outer);
        Ok(taken)
    }

    fn take_in(self: &Arc<Self>, message: SessionMessage) -> Taken {
        match Parsed::read(message.text, self.limits.max_depth) {
            Parsed::Single(Ok(message)) => self.route(message, None),
            Parsed::Single(Err(malformed)) => {
                self.refuse_malformed(malformed, None);
                Taken::Done
            }
            Parsed::Batch(_) if !self.batches.load(Ordering::Acquire) => {
                let error = RpcError::invalid_request(
                    "an array of messages is known to revision 2025-03-26 only",
                );
                self.refuse_malformed(
                    Malformed {
                        error,
                        id: None,
                        form: Form::Request,
                        excerpt: None,
                    },
                    None,
                );
                Taken::Done
            }
            Parsed::Batch(members) => {
                self.take_batch(members);
                Taken::Done
            }
        }
    }

    fn take_batch(self: &Arc<Self>, members: Vec<Result<Message, Malformed>>) {
        let is_answered = |member: &Result<Message, Malformed>| match member {
            Ok(message) => matches!(message, Message::Request(_)),
            Err(malformed) => malformed.form != Form::Notification,
        };
        let batch = Arc::new(Batch::new(
            members.iter().filter(|member| is_answered(member)).count(),
        ));
        for member in members {
            match member {
                Ok(message) => {
                    if let Taken::Job(job) = self.route(message, Some(&batch)) {
                        let hands = self.crew.push_job(job);
                        self.provide(hands);
                    }
                }
                Err(malformed) => self.refuse_malformed(malformed, Some(&batch)),
            }
        }
    }

    fn route(self: &Arc<Self>, message: Message, batch: Option<&Arc<Batch>>) -> Taken {
        match message {
            Message::Request(request) => self.accept(request, batch),
            Message::Notification(notification) => {
                self.notified(notification);
                Taken::Done
            }
            Message::Response(response) => match response.id().cloned() {
                Some(id) => self.deliver(&id, Outcome::Response(response)),
                None => {
                    let error = response
                        .outcome()
                        .expect_err("only errors may lack an id")
                        .clone();
                    self.log(|| format!("'{}' could not read a message: {error}", self.peer()));
                    Taken::Done
                }
            },
        }
    }

    fn deliver(self: &Arc<Self>, id: &RequestId, outcome: Outcome) -> Taken {
        match self.complete(id, outcome) {
            Delivery::Delivered => return Taken::Delivered,
            Delivery::Late => count(&self.counters.late_responses),
            Delivery::Unknown => {
                count(&self.counters.unknown_responses);
                self.log(|| {
                    format!(
                        "'{}' answered request {id}, which was never sent",
                        self.peer()
                    )
                });
            }
        }
        Taken::Done
    }

    fn complete(self: &Arc<Self>, id: &RequestId, outcome: Outcome) -> Delivery {
        let (delivery, due) = self.calls.complete(id, outcome);
        self.settle(due);
        delivery
    }

    /// Has callbacks run that are owed an outcome: none of them is ever dropped.
    fn settle(self: &Arc<Self>, due: impl IntoIterator<Item = Due>) {
        for (callback, outcome) in due {
            match callback {
                OnEnd::Quick(on_end) => self.run_guarded(Box::new(move || on_end(outcome))),
                OnEnd::InOrder(on_end) => self.push_owed(Box::new(move || on_end(outcome))),
            }
        }
    }

    fn accept(self: &Arc<Self>, request: Request, batch: Option<&Arc<Batch>>) -> Taken {
        let refuse = |error: RpcError| {
            self.reply(Some(request.id()), &error, batch);
            Taken::Done
        };
        if !self.answers.load(Ordering::Acquire) {
            count(&self.counters.malformed);
            self.log(|| {
                format!(
                    "'{}' sent a request ({}), which its revision forbids",
                    self.peer(),
                    request.method()
                )
            });
            self.end_batch_member(batch);
            return Taken::Done;
        }
        let Some(RequestHandler { call, quick }) = self.handlers.for_request(request.method())
        else {
            return refuse(RpcError::method_not_found(request.method()));
        };
        if !quick && self.admitted.load(Ordering::Acquire) >= self.limits.max_requests {
            count(&self.counters.refused_busy);
            return refuse(busy(self.limits.max_requests));
        }
        let exchange = match self.exchanges.open(request.id(), batch.map(Arc::clone)) {
            Ok(exchange) => exchange,
            Err(Refusal::InUse) => {
                return refuse(RpcError::invalid_request(format!(
                    "id {} is in use by a request that is not answered yet",
                    request.id()
                )));
            }
            Err(Refusal::Closed) => return Taken::Done,
        };
        self.admitted.fetch_add(1, Ordering::AcqRel);
        let responder = Responder::new(Arc::clone(self), exchange, request.method());
        let call = Arc::clone(call);
        let job: Job = Box::new(move || call(&request, responder));
        if *quick {
            self.run_guarded(job);
            return Taken::Done;
        }
        Taken::Job(job)
    }

    fn notified(self: &Arc<Self>, notification: Notification) {
        match notification.method() {
            CANCELLED => self.cancelled(&notification),
            PROGRESS => self.progressed(&notification),
            method => {
                let peer = Peer::new(Arc::clone(self));
                if let Some(quick) = self.handlers.for_quick_notification(method) {
                    quick(&peer, &notification);
                }
                if let Some(handler) = self.handlers.for_notification(method) {
                    let handler = Arc::clone(handler);
                    self.push_serial(Box::new(move || handler(&peer, &notification)));
                }
            }
        }
    }

    fn cancelled(self: &Arc<Self>, notification: &Notification) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: RequestId,
            #[serde(default)]
            reason: Option<String>,
        }
        let Ok(Params { request_id, reason }) = serde_json::from_str(notification.params()) else {
            count(&self.counters.malformed);
            return;
        };
        let why = reason.clone();
        let Some((exchange, callbacks)) = self.exchanges.cancel(&request_id, reason) else {
            // A peer that sends no requests can only mean one of ours.
            if !self.answers.load(Ordering::Acquire) {
                self.settle(self.calls.withdraw(&request_id));
            }
            return;
        };
        self.log(|| {
            format!(
                "'{}' cancelled request {request_id}: {}",
                self.peer(),
                why.as_deref().unwrap_or("no reason given")
            )
        });
        self.push_callbacks(callbacks);
        self.end_batch_member(exchange.batch.as_ref());
    }

    fn progressed(&self, notification: &Notification) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            progress_token: RequestId,
            progress: f64,
            #[serde(default)]
            total: Option<f64>,
            #[serde(default)]
            message: Option<String>,
        }
        let Ok(Params {
            progress_token,
            progress,
            total,
            message,
        }) = serde_json::from_str(notification.params())
        else {
            count(&self.counters.malformed);
            return;
        };
        let (_, merged) = self.calls.report(
            &progress_token,
            Progress {
                progress,
                total,
                message,
            },
        );
        if merged {
            count(&self.counters.merged_progress);
        }
    }

    /// Runs a handler, which was left before, on a thread of the connection.
    pub(crate) fn run_later(self: &Arc<Self>, handler: Job) {
        let hands = self.crew.push_job(handler);
        self.provide(hands);
    }

    /// What handlers want to have run when their request is cancelled: in order with notifications, but never dropped.
    fn push_callbacks(self: &Arc<Self>, callbacks: Vec<Callback>) {
        for callback in callbacks {
            if let Ok(hands) = self.crew.push_serial(callback, usize::MAX) {
                self.provide(hands);
            }
        }
    }

    fn push_serial(self: &Arc<Self>, job: Job) {
        match self.crew.push_serial(job, self.limits.max_notifications) {
            Ok(hands) => self.provide(hands),
            Err(_) => count(&self.counters.dropped_notifications),
        }
    }

    /// Queues what must not be lost, however much waits: there is no more of it than there are calls.
    pub(super) fn push_owed(self: &Arc<Self>, job: Job) {
        match self.crew.push_serial(job, usize::MAX) {
            Ok(hands) => self.provide(hands),
            // Nobody is left to run it, but it must know that it is over.
            Err(job) => self.run_guarded(job),
        }
    }

    fn refuse_malformed(self: &Arc<Self>, malformed: Malformed, batch: Option<&Arc<Batch>>) {
        let Malformed { form, .. } = malformed;
        count(if form == Form::Noise {
            &self.counters.noise
        } else {
            &self.counters.malformed
        });
        if let Some(excerpt) = &malformed.excerpt {
            _ = self.noise.set(excerpt.clone());
        }
        self.log(|| {
            format!(
                "'{}' sent a message that is none: {}",
                self.peer(),
                malformed.error.message
            )
        });
        let answerable = match form {
            Form::Notification => return,
            Form::Request => {
                self.settings.serving
                    || (malformed.id.is_some() && self.answers.load(Ordering::Acquire))
            }
            Form::Noise => self.settings.serving,
            Form::Response => {
                let delivered = malformed.id.clone().is_some_and(|id| {
                    self.complete(&id, Outcome::Malformed(malformed.clone())) == Delivery::Delivered
                });
                !delivered && self.settings.serving
            }
        };
        if answerable {
            self.reply(malformed.id.as_ref(), &malformed.error, batch);
        } else {
            self.end_batch_member(batch);
        }
    }

    fn refuse_too_long(self: &Arc<Self>, long: &TooLong) {
        count(&self.counters.too_long);
        let max = self.limits.max_message_bytes;
        let text = format!(
            "message of {} bytes exceeds max_message_bytes ({max})",
            long.bytes
        );
        self.log(|| format!("from '{}': {text}", self.peer()));
        match (&long.id, long.is_response) {
            (Some(id), true) => {
                let text = format!("the answer of '{}' is too long: {text}", self.peer());
                let error = Error::new(ErrorKind::Limit, text).sent(true);
                self.deliver(id, Outcome::Failed(error));
            }
            (None, true) => {}
            (id, false) if self.settings.serving || id.is_some() => {
                self.reply(id.as_ref(), &RpcError::invalid_request(text), None);
            }
            (_, false) => {}
        }
    }

    /// Answers what has no exchange.
    fn reply(
        self: &Arc<Self>,
        id: Option<&RequestId>,
        error: &RpcError,
        batch: Option<&Arc<Batch>>,
    ) {
        let text = jsonrpc::write_error(id, error);
        let text = match batch {
            Some(batch) => batch.end_one(Some(text)),
            None => Some(text),
        };
        let Some(text) = text else { return };
        let mut message = SessionMessage::new(text);
        message.related = id.cloned();
        match self.queue(message) {
            Ok(()) => self.write_answers(),
            Err(error) => self.log(|| format!("an error answer could not be sent: {error}")),
        }
    }
}

fn turn_of_call(deadline: Option<Instant>) -> Option<Instant> {
    let turn = Instant::now() + CALL_TURN;
    Some(deadline.map_or(turn, |deadline| deadline.min(turn)))
}

fn busy(max: usize) -> RpcError {
    let text = format!("busy: {max} requests are in hand already (max_requests); try again later");
    let error = RpcError::new(ErrorCode::INTERNAL_ERROR, text);
    error
        .clone()
        .with_data(&serde_json::json!({ "busy": true, "maxRequests": max }))
        .unwrap_or(error)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

/// Sending.
impl Core {
    /// Queues the answer of an exchange, which the caller has the right to. It is written by [`write_answers`](Self::write_answers).
    pub(super) fn queue_response(
        self: &Arc<Self>,
        exchange: &Exchange,
        text: Vec<u8>,
    ) -> Result<()> {
        let text = match &exchange.batch {
            Some(batch) => batch.end_one(Some(text)),
            None => Some(text),
        };
        match text {
            Some(text) => self.queue(response_of(exchange, text)),
            None => Ok(()),
        }
    }

    /// A message gets no answer: if it was the last of its batch, the answers of the others go out.
    fn end_batch_member(self: &Arc<Self>, batch: Option<&Arc<Batch>>) {
        let Some(text) = batch.and_then(|batch| batch.end_one(None)) else {
            return;
        };
        match self.queue(SessionMessage::new(text)) {
            Ok(()) => self.write_answers(),
            Err(error) => self.log(|| format!("the answer of a batch could not be sent: {error}")),
        }
    }

    /// Sends a notification of an exchange, unless it was answered or cancelled.
    pub(super) fn send_while_open(
        self: &Arc<Self>,
        exchange: &Exchange,
        text: Vec<u8>,
    ) -> Result<()> {
        let deadline = self.write_deadline();
        // Waiting for room happens outside of the exchange's lock: a cancellation must not wait for a peer that does not read.
        self.push(response_of(exchange, text), deadline, None, |message| {
            exchange.while_open(|| self.outbox.try_push(message))
        })?;
        if !self.is_written_later() {
            self.flush_until(deadline);
        }
        Ok(())
    }

    /// Whether what a handler on this thread has just queued can wait for a few more: whoever has the receiver next writes it, this
    /// thread when the handler returns, or the watchdog after a tick.
    fn is_written_later(self: &Arc<Self>) -> bool {
        match STANDING.get() {
            Standing::Inline(address, park) if address == self.address() => {
                self.outbox.is_short() && self.crew.is_parked(park)
            }
            _ => false,
        }
    }

    /// Queues a request that nobody waits for, and has it written.
    pub(super) fn send_started(self: &Arc<Self>, message: SessionMessage) -> Result<()> {
        self.outbox.push_over(message)?;
        let hands = self.crew.want_flush();
        self.provide(hands);
        Ok(())
    }

    /// Queues a message with `try_push` when there is room; until then it waits, at most until the deadline or for the token.
    fn push(
        self: &Arc<Self>,
        message: SessionMessage,
        deadline: Option<Instant>,
        cancel: Option<&CancelToken>,
        try_push: impl Fn(&mut Option<SessionMessage>) -> Result<()>,
    ) -> Result<()> {
        let mut message = Some(message);
        loop {
            try_push(&mut message)?;
            let Some(message) = &message else {
                return Ok(());
            };
            if cancel.is_some_and(CancelToken::is_triggered) {
                return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
            }
            let turn = if cancel.is_some() {
                turn_of_call(deadline)
            } else {
                deadline
            };
            // What fills the queue may wait for a thread that is about to write it, but runs a handler first.
            self.flush_until(turn);
            match self.outbox.wait_for_room(message.text.len(), turn) {
                Err(error) if error.kind() == ErrorKind::Timeout && turn != deadline => {}
                waited => waited?,
            }
        }
    }

    /// Sends a request: queues it, waiting for room until the deadline or for the token, and writes it.
    pub(super) fn send_request(
        self: &Arc<Self>,
        message: SessionMessage,
        deadline: Option<Instant>,
        cancel: Option<&CancelToken>,
    ) -> Result<()> {
        self.push(message, deadline, cancel, |message| {
            self.outbox.try_push(message)
        })?;
        self.flush_until(turn_of_call(deadline));
        Ok(())
    }

    fn push_until(
        self: &Arc<Self>,
        message: SessionMessage,
        deadline: Option<Instant>,
    ) -> Result<()> {
        self.push(message, deadline, None, |message| {
            self.outbox.try_push(message)
        })
    }

    pub(super) fn send_notification(self: &Arc<Self>, text: Vec<u8>) -> Result<()> {
        let deadline = self.write_deadline();
        self.push_until(SessionMessage::new(text), deadline)?;
        self.flush_until(deadline);
        Ok(())
    }

    /// Queues a change notification without waiting; `false` when too many wait for the subscriber already. Nothing is written before
    /// [`write_soon`](Self::write_soon).
    pub(crate) fn post(
        &self,
        exchange: Option<&Exchange>,
        text: Vec<u8>,
        backlog: &Arc<()>,
    ) -> Result<bool> {
        // One is held by the subscriber itself.
        if Arc::strong_count(backlog) > self.limits.max_backlog {
            return Ok(false);
        }
        let mut message = SessionMessage::new(text);
        message.backlog = Some(Arc::clone(backlog));
        message.related = exchange.map(|exchange| exchange.id.clone());
        let mut message = Some(message);
        match exchange {
            Some(exchange) => exchange.while_open(|| self.outbox.try_push(&mut message))?,
            None => self.outbox.try_push(&mut message)?,
        }
        Ok(message.is_none())
    }

    /// Queues what ends a request, without waiting.
    pub(super) fn post_last(&self, exchange: &Exchange, text: Vec<u8>) -> Result<()> {
        self.outbox.push_over(response_of(exchange, text))
    }

    /// Has what was posted written by a thread of the connection: the one that reads if this is it, else one of the crew.
    pub(crate) fn write_soon(self: &Arc<Self>) {
        let reads = STANDING.get() == Standing::Reading(self.address());
        if !reads && !self.is_written_later() {
            let hands = self.crew.want_flush();
            self.provide(hands);
        }
    }

    /// Gives a peer up that does not read what it subscribed to.
    pub(crate) fn give_up(self: &Arc<Self>) {
        let max = self.limits.max_backlog;
        let text = format!(
            "'{}' does not read: {max} change notifications wait (max_backlog)",
            self.peer()
        );
        self.log(|| text.clone());
        self.end(&Error::new(ErrorKind::Closed, text));
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Tells the peer that nobody waits for a request any more, without waiting for that message to be written.
    pub(super) fn send_cancelled(self: &Arc<Self>, id: i64, reason: &str) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            request_id: i64,
            reason: &'a str,
        }
        let text = jsonrpc::write_notification(
            CANCELLED,
            &Params {
                request_id: id,
                reason,
            },
        )
        .expect("a number and a string");
        let message = SessionMessage::new(text).related_to(RequestId::from(id));
        match self.outbox.push_over(message) {
            Ok(()) => {
                let hands = self.crew.want_flush();
                self.provide(hands);
            }
            Err(error) => self.log(|| {
                format!(
                    "'{}' could not be told that request {id} is cancelled: {error}",
                    self.peer()
                )
            }),
        }
    }

    /// Queues an answer. It is written by [`write_answers`](Self::write_answers).
    fn queue(self: &Arc<Self>, message: SessionMessage) -> Result<()> {
        let pushed = match STANDING.get() {
            Standing::Reading(address) if address == self.address() => {
                self.outbox.push_over(message)
            }
            _ => self.push_until(message, self.write_deadline()),
        };
        if let Err(error) = &pushed
            && matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Limit)
        {
            // An answer must not get lost while the connection lives on.
            self.end(&error.clone().with_kind(ErrorKind::Closed));
        }
        pushed
    }

    /// Writes what is queued, unless this thread has to read or will write soon.
    pub(super) fn write_answers(self: &Arc<Self>) {
        let here = self.address();
        if !matches!(STANDING.get(), Standing::Reading(address) | Standing::Inline(address, _) if address == here)
        {
            self.flush_until(self.write_deadline());
        }
    }

    fn write_deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.settings.write_timeout)
    }

    /// Writes what is queued; what is left at the deadline the crew writes.
    pub(super) fn flush_until(self: &Arc<Self>, deadline: Option<Instant>) {
        let turn = Instant::now() + WRITE_TURN;
        match self
            .outbox
            .flush(deadline.map_or(turn, |deadline| deadline.min(turn)))
        {
            Flush::Done => {}
            Flush::Unfinished => {
                let hands = self.crew.want_flush();
                self.provide(hands);
            }
            Flush::Failed(error) => self.end_by_writing(error.context("writing failed")),
        }
    }
}

/// The end.
impl Core {
    /// Nothing is read any more, for this reason. Wakes every caller; requests in hand may finish if this side serves.
    pub(super) fn end(self: &Arc<Self>, error: &Error) {
        self.ending.store(true, Ordering::SeqCst);
        let mut life = self.life.lock();
        if life.ended.is_some() {
            return;
        }
        life.ended = Some(error.clone());
        drop(life);
        self.fail_calls(error);
        self.crew.end_reading();
        if !self.settings.serving {
            self.cancel_requests();
        }
        self.life_changed.notify_all();
    }

    fn fail_calls(self: &Arc<Self>, error: &Error) {
        self.settle(self.calls.close(error));
        self.handlers.say_farewell(&Peer::new(Arc::clone(self)));
    }

    /// Nothing can be written any more. A peer that has gone may have left an answer, or its last words: they are read first.
    fn end_by_writing(self: &Arc<Self>, error: Error) {
        if self.settings.serving || error.kind() != ErrorKind::Closed {
            return self.end(&error);
        }
        let core = Arc::clone(self);
        let hands = self.crew.push_own(Box::new(move || {
            let until = Instant::now() + FAREWELL;
            let mut life = core.life.lock();
            while life.ended.is_none() && Instant::now() < until {
                life = core.life_changed.wait_until(life, Some(until));
            }
            drop(life);
            core.end(&error);
        }));
        self.provide(hands);
    }

    fn cancel_requests(self: &Arc<Self>) {
        self.push_callbacks(self.exchanges.close());
    }

    /// A request in hand has ended, and is no longer counted: somebody may wait for the last one.
    ///
    /// The waiter has set `ending` before it looks at the count, and looks holding `life`: so it either sees the new count, or is told.
    pub(super) fn request_ended(&self) {
        if self.ending.load(Ordering::SeqCst) {
            drop(self.life.lock());
            self.life_changed.notify_all();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.life.lock().ended.is_some()
    }

    /// Waits until the peer has gone or the connection is closed, then gives requests in hand their time, and closes.
    pub(super) fn wait_and_close(self: &Arc<Self>) -> Error {
        let mut life = self.life.lock();
        while life.ended.is_none() {
            life = self.life_changed.wait(life);
        }
        let drained = Instant::now() + self.settings.drain;
        while self.admitted.load(Ordering::SeqCst) > 0 && !life.closing && Instant::now() < drained
        {
            life = self.life_changed.wait_until(life, Some(drained));
        }
        let error = life.ended.clone().expect("the wait ended with it");
        let closing = life.closing;
        drop(life);
        if !closing {
            self.outbox.drain(drained);
        }
        self.close(Ending::InOrder);
        error
    }

    /// Ends everything in order; idempotent and bounded in time. See the module's page.
    pub(super) fn close(self: &Arc<Self>, how: Ending) {
        let own_thread = usize::from(CREW_OF.get() == self.address());
        let own_handler = usize::from(
            HANDLER_OF
                .with_borrow(|core| core.as_ref().is_some_and(|core| Arc::ptr_eq(core, self))),
        );
        let patience = self.settings.drain + Duration::from_secs(8);
        let mut life = self.life.lock();
        if life.closing {
            // Somebody is at it. A thread that this somebody waits for must not wait in turn.
            let until = Instant::now() + patience;
            while !life.closed && own_thread == 0 && Instant::now() < until {
                life = self.life_changed.wait_until(life, Some(until));
            }
            return;
        }
        life.closing = true;
        drop(life);
        let reason = Error::new(
            ErrorKind::Closed,
            format!("the connection to '{}' was closed", self.peer()),
        );
        self.fail_calls(&reason);
        self.cancel_requests();
        self.crew.wait_for_handlers(
            own_handler.max(own_thread),
            Instant::now() + self.settings.drain.min(Duration::from_secs(1)),
        );
        self.outbox
            .drain(Instant::now() + Duration::from_millis(500));
        match how {
            Ending::InOrder => self.control.close(),
            Ending::AtOnce => self.control.close_at_once(),
        }
        self.end(&reason);
        self.outbox.close(&reason);
        self.crew.stop();
        if self
            .crew
            .wait_for_threads(own_thread, Instant::now() + Duration::from_secs(2))
        {
            self.join_threads();
        } else {
            self.log(|| {
                format!(
                    "a handler for '{}' still runs although the connection is closed",
                    self.peer()
                )
            });
        }
        self.life.lock().closed = true;
        self.life_changed.notify_all();
    }

    fn join_threads(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        let here = std::thread::current().id();
        for thread in threads
            .into_iter()
            .filter(|thread| thread.thread().id() != here)
        {
            // Its panics were caught and told; it has nothing else to say.
            _ = thread.join();
        }
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

/// Takes the worker's place of a handler back, when it is dropped.
pub(super) struct WorkerPlace(Option<Arc<Core>>);

impl Drop for WorkerPlace {
    fn drop(&mut self) {
        if let Some(core) = self.0.take() {
            core.crew.unblocked();
            HANDLER_OF.set(Some(core));
        }
    }
}
