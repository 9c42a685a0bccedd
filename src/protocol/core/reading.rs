//! The work of a connection's threads: they read messages, and run the handlers and jobs in the
//! queues of the worker pool.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::log::LogLevel;
use super::super::outgoing::{OutcomeBatch, Waiter};
use super::super::worker_pool::{PoolTask, Run, Spawn, Work};
use super::routing::Routed;
use super::{Core, IN_HANDLER, OWN_CORE, PERMIT_OF, POOL_OF, ReadTurn, THREAD_ROLE, ThreadRole};
use crate::error::Result;
use crate::transport::{Receiver, Stack};

/// The maximum number of messages that a reading thread processes in a row.
///
/// After this number of messages, a pool thread that reads for many callers writes the queued
/// messages. A calling thread that reads makes the pool write them, and checks its deadline.
const BURST: usize = 64;

/// The interval at which the reading thread checks its timers while it reads no input, because too
/// many requests are deferred.
const MOMENT: Duration = Duration::from_millis(100);

/// The reading thread's knowledge of the outgoing queue, between two flush checks.
#[derive(Default)]
struct FlushState {
    /// The argument with which `Outbox::is_due` was last called, if nothing was queued since then.
    /// A second check with this argument is skipped.
    checked: Option<bool>,
    /// Whether this thread had promised to flush the queue and has just withdrawn the promise.
    /// Senders may have relied on the promise, so the queue is checked once more, including
    /// messages whose write may be delayed.
    is_promised: bool,
}

impl Core {
    /// Starts a thread if the pool requests one.
    pub(in crate::protocol) fn spawn_if_needed(self: &Arc<Self>, spawn: Spawn) {
        if spawn == Spawn::No {
            return;
        }
        let core = Arc::clone(self);
        let (kind, serve) = (&self.settings.threads, move || core.serve_duties());
        if let Err(error) = self
            .engine()
            .threads
            .start(kind, "worker", Stack::Large, serve)
        {
            self.engine().pool.thread_failed();
            self.log(LogLevel::Error, || {
                format!("a thread could not be started: {error}")
            });
            if self.engine().pool.threads() == 0 {
                self.end(&error);
            }
        }
    }

    pub(super) fn serve_duties(self: Arc<Self>) {
        POOL_OF.set(self.address());
        OWN_CORE.set(Some(Arc::clone(&self)));
        let mut has_come = true;
        loop {
            let (duty, spawn) = self.engine().pool.next_duty(std::mem::take(&mut has_come));
            self.spawn_if_needed(spawn);
            match duty {
                PoolTask::Leave => break,
                PoolTask::Lead(receiver) => self.lead(receiver),
                PoolTask::Own(job) => self.run_guarded(job),
                PoolTask::Flush => self.flush_until(None),
                PoolTask::Run(mut work) => {
                    PERMIT_OF.set(work.client.take());
                    let started = Instant::now();
                    if let Some(key) = work.key {
                        self.engine().in_hand.begin_run(key, started);
                    }
                    self.run(work);
                    let (client, took) = (PERMIT_OF.take(), started.elapsed());
                    self.engine().pool.work_done(client.as_ref(), took);
                }
                PoolTask::Serial(job) => {
                    self.run_guarded(job);
                    self.engine().pool.serial_done();
                }
            }
        }
        OWN_CORE.set(None);
        self.engine().pool.thread_left();
    }

    /// Runs a handler. The handler may release its worker permit while it waits for the peer.
    fn run(self: &Arc<Self>, work: Work) {
        IN_HANDLER.set(true);
        self.run_seen(work);
        IN_HANDLER.set(false);
    }

    /// Runs a handler. Before the call, the start of the handler must be recorded in the table of
    /// active requests.
    pub(super) fn run_seen(self: &Arc<Self>, work: Work) {
        let _run = work.key.map(|key| self.running(key));
        match work.run {
            Run::Serve(place, request, responder) => {
                self.run_guarded(|| self.handlers.serve(place, request, responder));
            }
            Run::Job(job) => self.run_guarded(job),
        }
    }

    /// Queues a handler for another thread. Changes the record of the handler in the table of
    /// active requests from "running" to "waiting for a thread".
    pub(super) fn run_elsewhere(self: &Arc<Self>, work: Work) {
        if let Some(key) = work.key {
            self.engine().in_hand.wait(key);
        }
        let spawn = self.engine().pool.push_work(work);
        self.spawn_if_needed(spawn);
    }

    pub(super) fn run_guarded(self: &Arc<Self>, job: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
            self.log(LogLevel::Error, || {
                format!(
                    "a handler of messages of '{}' panicked: {}",
                    self.peer(),
                    panic_text(&*panic)
                )
            });
        }
    }

    /// Releases the worker permit of the handler on this thread, until the guard is dropped.
    pub(in crate::protocol) fn leave_worker(&self) -> WorkerPlace {
        let core = IN_HANDLER
            .take()
            .then(|| OWN_CORE.with_borrow(Clone::clone))
            .flatten();
        if let Some(core) = &core {
            let pool = &core.engine().pool;
            let spawn = PERMIT_OF.with_borrow(|client| pool.blocked(client.as_ref()));
            core.spawn_if_needed(spawn);
        }
        WorkerPlace(core)
    }

    /// Reads messages until another thread takes the reading role or the connection ends.
    pub(super) fn lead(self: &Arc<Self>, mut receiver: Box<dyn Receiver>) {
        let mut flushing = FlushState::default();
        loop {
            if self.is_flush_due(&*receiver, std::mem::take(&mut flushing)) {
                match self.flush_aside(receiver) {
                    Some(taken_back) => receiver = taken_back,
                    None => return,
                }
            }
            let patience = self.run_timers();
            if self.take_no_more_input(patience) {
                continue;
            }
            let received = self.receive(&mut *receiver, patience);
            // Invariant: this thread does not block while wakeups are deferred. Otherwise completed
            // callers would stay asleep.
            let gathering = (!self.settings.inline && self.engine().pool.is_crowded())
                .then(|| self.engine().calls.gather());
            let work = match received.map(|received| self.take_received(received)) {
                Ok(Some(Routed::Work(work))) => work,
                Ok(Some(Routed::Delivered)) if !self.settings.inline => {
                    let Some(gathering) = gathering else {
                        // The answered caller may send its next request at once, and then reads for
                        // itself.
                        let spawn = self.engine().pool.release_reader(receiver);
                        return self.spawn_if_needed(spawn);
                    };
                    if let Err(error) = self.read_for_crowd(&mut *receiver, gathering) {
                        drop(receiver);
                        return self.end(&error);
                    }
                    flushing.is_promised = true;
                    continue;
                }
                Ok(Some(taken)) => {
                    self.dispatch(taken, None);
                    continue;
                }
                Ok(None) => continue,
                Err(error) => {
                    drop(receiver);
                    return self.end(&error);
                }
            };
            if !self.settings.inline {
                self.run_elsewhere(work);
                continue;
            }
            let more = receiver.has_message();
            match self.engine().pool.begin_inline(receiver) {
                Ok((park, spawn)) => {
                    self.spawn_if_needed(spawn);
                    self.run_inline(work, park);
                    // The receiver is parked, so a blocking write does not stop reading. The flush
                    // comes after the handler, when its messages are queued.
                    if !more || self.engine().outbox.is_due(more) {
                        self.flush_until(None);
                    }
                    let (taken_back, spawn) = self.engine().pool.end_inline(park);
                    self.spawn_if_needed(spawn);
                    match taken_back {
                        Some(taken_back) => {
                            receiver = taken_back;
                            flushing.checked = Some(more);
                        }
                        None => {
                            self.flush_until(None);
                            return;
                        }
                    }
                }
                Err(given_back) => {
                    receiver = given_back;
                    self.run_elsewhere(work);
                }
            }
        }
    }

    /// Whether the reading thread has to flush the queue before it receives the next message.
    fn is_flush_due(&self, receiver: &dyn Receiver, flushing: FlushState) -> bool {
        let more = !flushing.is_promised && receiver.has_message();
        let outbox = &self.engine().outbox;
        flushing.checked != Some(more) && outbox.is_due(more)
            || flushing.is_promised && outbox.has_soon()
    }

    /// If the deferred requests have reached `max_queued_bytes`, blocks for a moment instead of
    /// reading more input. Returns whether the thread has blocked.
    fn take_no_more_input(&self, patience: Option<Duration>) -> bool {
        let max = self.settings.limits.max_queued_bytes;
        if !self.held_back.is_full(max) {
            return false;
        }
        let moment = patience.map_or(MOMENT, |patience| patience.min(MOMENT));
        self.held_back.wait_until_less(max, Instant::now() + moment);
        true
    }

    /// Processes the available messages for many callers. Afterwards the callers queue their next
    /// requests, and leave the writing to this thread. So these requests are sent in one write.
    fn read_for_crowd(
        self: &Arc<Self>,
        receiver: &mut dyn Receiver,
        gathering: OutcomeBatch<'_>,
    ) -> Result<()> {
        let outbox = &self.engine().outbox;
        outbox.will_flush(true);
        let mut read = Ok(());
        for _ in 0..BURST {
            if read.is_err() || !receiver.has_message() {
                break;
            }
            read = self.receive_one(receiver, None).map(|taken| {
                if let Some(taken) = taken {
                    self.dispatch(taken, None);
                }
            });
        }
        // Order: wake the callers, let them queue their requests, then clear the flag for flushing.
        // The caller of this function checks the queue afterwards.
        drop(gathering);
        std::thread::yield_now();
        outbox.will_flush(false);
        read
    }

    pub(super) fn run_inline(self: &Arc<Self>, work: Work, park: u64) {
        let outer = THREAD_ROLE.replace(ThreadRole::Inline(self.address(), park));
        self.run(work);
        THREAD_ROLE.set(outer);
    }

    /// Writes the queued messages while the receiver is parked. So another thread can read, even if
    /// the peer reads nothing and this thread blocks.
    ///
    /// Returns the receiver, or `None` if another thread has taken the receiver.
    pub(super) fn flush_aside(
        self: &Arc<Self>,
        receiver: Box<dyn Receiver>,
    ) -> Option<Box<dyn Receiver>> {
        let spawn = self.engine().pool.park(receiver);
        self.spawn_if_needed(spawn);
        self.flush_until(None);
        self.engine().pool.take()
    }

    /// Reads messages for all callers, on the thread of the caller `reader`. Ends when an outcome
    /// or progress for `reader` arrives, or at `until`.
    pub(in crate::protocol) fn read_for_caller(
        self: &Arc<Self>,
        mut receiver: Box<dyn Receiver>,
        reader: &mut Waiter,
        mut now: Instant,
        until: Instant,
    ) -> ReadTurn {
        let mut patience = until.saturating_duration_since(now);
        let mut unseen = 0;
        loop {
            let kept = reader.kept();
            // After an outcome nothing is read, because an outcome may change the meaning of the
            // next message.
            if !reader.channel.is_empty()
                // Messages that arrived together are processed together. So the reading role
                // changes threads only once.
                || kept > 0 && (kept >= self.settings.limits.max_call_events || !receiver.has_message())
            {
                break;
            }
            match self.receive_one(&mut *receiver, Some(patience)) {
                Ok(Some(mut taken)) => {
                    if let Routed::Progress(.., memory) = &mut taken {
                        receiver.reclaim(std::mem::take(memory));
                    }
                    self.dispatch(taken, Some(reader));
                }
                Ok(None) => {}
                Err(error) => {
                    drop(receiver);
                    self.end(&error);
                    return ReadTurn::Ended;
                }
            }
            // Messages for other callers must not keep this caller past its deadline, and answers
            // to these messages must be written in time. So the clock and the queue are checked
            // when no input is left, and after every `BURST` messages, because a flooding peer
            // always sends more.
            unseen += 1;
            let has_found = reader.kept() > 0 || !reader.channel.is_empty();
            if unseen == BURST || !(has_found || receiver.has_message()) {
                unseen = 0;
                self.have_written();
                now = Instant::now();
                patience = until.saturating_duration_since(now);
            }
            if now >= until && !has_found {
                let spawn = self.engine().pool.hand_over(receiver);
                self.spawn_if_needed(spawn);
                return ReadTurn::Quiet;
            }
        }
        if unseen > 0 {
            self.have_written();
        }
        let spawn = self.engine().pool.release_reader(receiver);
        self.spawn_if_needed(spawn);
        ReadTurn::Found
    }

    /// Makes a thread of the pool write the messages that the reading thread has queued.
    fn have_written(self: &Arc<Self>) {
        if self.engine().outbox.is_due(false) {
            let spawn = self.engine().pool.want_flush();
            self.spawn_if_needed(spawn);
        }
    }
}

pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

/// A guard for a worker permit that a handler has released. Dropping the guard takes the permit
/// again.
pub(in crate::protocol) struct WorkerPlace(Option<Arc<Core>>);

impl Drop for WorkerPlace {
    fn drop(&mut self) {
        if let Some(core) = self.0.take() {
            let pool = &core.engine().pool;
            PERMIT_OF.with_borrow(|client| pool.unblocked(client.as_ref()));
            IN_HANDLER.set(true);
        }
    }
}
