//! The work of a connection's threads: they read messages, and run the handlers and jobs in the
//! queues of the worker pool.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::handlers::{Run, Work};
use super::super::log::{LogLevel, panic_text};
use super::super::outgoing::{OutcomeBatch, Waiter};
use super::super::worker_pool::{PoolTask, Spawn};
use super::routing::Routed;
use super::{Core, POOL_THREAD, PoolThread, ReadTurn};
use crate::error::Result;
use crate::shares::Client;
use crate::transport::{Receiver, Stack};

/// The maximum number of messages that a reading thread processes in a row.
///
/// After this number of messages, a pool thread writes the queued messages. A calling thread that
/// reads checks its deadline.
const BURST: usize = 64;

/// The interval at which the reading thread checks its timers while it reads no input, because too
/// many requests are deferred.
const MOMENT: Duration = Duration::from_millis(100);

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
        POOL_THREAD.set(Some(PoolThread {
            core: Arc::clone(&self),
            is_in_handler: false,
            client: None,
        }));
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
                    let started = Instant::now();
                    if let Some(request) = &work.request {
                        self.requests.begin_run(request, started);
                    }
                    set_handler(true, work.client.take());
                    self.run(work);
                    let client = set_handler(false, None);
                    let took = started.elapsed();
                    self.engine().pool.work_done(client.as_ref(), took);
                }
                PoolTask::Serial(job) => {
                    self.run_guarded(job);
                    self.engine().pool.serial_done();
                }
            }
        }
        POOL_THREAD.set(None);
        self.engine().pool.thread_left();
    }

    /// Runs a job on a thread of the connection. Starts a thread if no thread is idle.
    pub(crate) fn run_own(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) {
        let spawn = self.engine().pool.push_own(Box::new(job));
        self.spawn_if_needed(spawn);
    }

    /// Whether the current thread belongs to the worker pool of this connection.
    pub(super) fn is_own_thread(self: &Arc<Self>) -> bool {
        POOL_THREAD.with_borrow(|thread| {
            let thread = thread.as_ref();
            thread.is_some_and(|thread| Arc::ptr_eq(&thread.core, self))
        })
    }

    /// Runs a handler. Before the call, the start of the handler must be recorded in the table of
    /// active requests. A panic of the handler is logged.
    pub(in crate::protocol) fn run(self: &Arc<Self>, work: Work) {
        let _run = work.request.as_ref().map(|request| self.running(request));
        let ran = catch_unwind(AssertUnwindSafe(|| match work.run {
            Run::Serve(handler, request, responder) => handler(request, responder),
            Run::Job(job) => job(),
        }));
        if let Err(panic) = ran {
            self.log_panic(&*panic);
        }
    }

    /// Queues a handler for another thread. Changes the record of the handler in the table of
    /// active requests from "running" to "waiting for a thread".
    pub(super) fn run_elsewhere(self: &Arc<Self>, work: Work) {
        if let Some(request) = &work.request {
            self.requests.wait(request);
        }
        let spawn = self.engine().pool.push_work(None, work);
        self.spawn_if_needed(spawn);
    }

    pub(super) fn run_guarded(self: &Arc<Self>, job: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
            self.log_panic(&*panic);
        }
    }

    fn log_panic(&self, panic: &(dyn Any + Send)) {
        self.log(LogLevel::Error, || {
            format!(
                "a handler of messages of '{}' panicked: {}",
                self.peer(),
                panic_text(panic)
            )
        });
    }

    /// Releases the worker permit of the handler on this thread, until the guard is dropped.
    pub(in crate::protocol) fn leave_worker() -> WorkerPlace {
        let left = POOL_THREAD.with_borrow_mut(|thread| {
            let thread = thread.as_mut()?;
            let was_in_handler = std::mem::take(&mut thread.is_in_handler);
            was_in_handler.then(|| (Arc::clone(&thread.core), thread.client.clone()))
        });
        if let Some((core, client)) = &left {
            core.spawn_if_needed(core.engine().pool.blocked(client.as_ref()));
        }
        WorkerPlace(left)
    }

    /// Reads messages until another thread takes the reading role or the connection ends.
    ///
    /// The reading thread of a server promises to write what is queued while it processes a
    /// message: see [`Writer::will_flush`](super::super::writer::Writer::will_flush).
    pub(super) fn lead(self: &Arc<Self>, mut receiver: Box<dyn Receiver>) {
        let (pool, inline) = (&self.engine().pool, self.settings.serving);
        let (mut has_promised, mut unseen) = (false, 0);
        let read = loop {
            // A client's promise is withdrawn already, so the flush must not wait for more input.
            // A server's promise ends after some messages, because a flooding peer always sends
            // more.
            let more = receiver.has_message()
                && !self.held_back.is_full(self.max_held_back())
                && (inline || !has_promised)
                && unseen < BURST;
            unseen = if more { unseen + 1 } else { 0 };
            if self.is_flush_due(more, has_promised) {
                match self.flush_aside(receiver) {
                    Some(taken_back) => receiver = taken_back,
                    None => break Ok(()),
                }
            }
            has_promised &= more;
            let patience = self.run_timers();
            if self.take_no_more_input(patience) {
                continue;
            }
            let received = match self.receive(&mut *receiver, patience) {
                Ok(received) => received,
                Err(error) => break Err(error),
            };
            // Invariant: this thread does not block while wakeups are deferred. Otherwise completed
            // callers would stay asleep.
            let gathering = (!inline && pool.is_crowded()).then(|| self.engine().calls.gather());
            if inline {
                self.engine().writer.will_flush(true);
                has_promised = true;
            }
            let Some(taken) = self.take(received) else {
                continue;
            };
            match taken {
                Routed::Work(work) if inline => match self.run_inline(work, receiver) {
                    Some(taken_back) => receiver = taken_back,
                    None => break Ok(()),
                },
                Routed::Delivered if !inline => {
                    let Some(gathering) = gathering else {
                        // The answered caller may send its next request at once, and then reads for
                        // itself.
                        self.spawn_if_needed(pool.release_reader(receiver));
                        break Ok(());
                    };
                    if let Err(error) = self.read_for_crowd(&mut *receiver, gathering) {
                        break Err(error);
                    }
                    has_promised = true;
                }
                taken => self.dispatch(taken, None),
            }
        };
        // The end comes before the flush, because a peer that does not read delays the flush.
        if let Err(error) = read {
            self.end(&error);
        }
        if inline {
            // Senders may have relied on this thread.
            self.engine().writer.will_flush(false);
            self.flush_until(None);
        }
    }

    /// Whether the current thread, which holds the receiver, has to flush the queue before it
    /// receives the next message. If it would block for the message, withdraws its promise.
    ///
    /// With `and_soon`, messages whose write may be delayed are due too: the thread has promised to
    /// flush, or waits for an answer.
    pub(in crate::protocol) fn is_flush_due(&self, more: bool, and_soon: bool) -> bool {
        let writer = &self.engine().writer;
        if more {
            return writer.is_due(true);
        }
        writer.will_flush(false);
        writer.is_due(false) || and_soon && writer.has_soon()
    }

    fn max_held_back(&self) -> usize {
        self.settings.limits.max_queued_bytes
    }

    /// If the deferred requests have reached `max_queued_bytes`, blocks for a moment instead of
    /// reading more input. Returns whether the thread has blocked.
    fn take_no_more_input(&self, patience: Option<Duration>) -> bool {
        let max = self.max_held_back();
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
        let writer = &self.engine().writer;
        writer.will_flush(true);
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
        writer.will_flush(false);
        read
    }

    /// Runs a handler on this thread, which is reading, while the receiver is parked. If the
    /// handler should run on another thread, queues the handler.
    ///
    /// Returns the receiver, or `None` if another thread has taken the receiver.
    fn run_inline(
        self: &Arc<Self>,
        mut work: Work,
        receiver: Box<dyn Receiver>,
    ) -> Option<Box<dyn Receiver>> {
        let (pool, more) = (&self.engine().pool, receiver.has_message());
        let park = match pool.begin_inline(receiver) {
            Ok((park, spawn)) => {
                self.spawn_if_needed(spawn);
                park
            }
            Err(given_back) => {
                self.run_elsewhere(work);
                return Some(given_back);
            }
        };
        // The handler may release its worker permit while it waits for the peer.
        set_handler(true, work.client.take());
        self.run(work);
        set_handler(false, None);
        // The receiver is parked, so a blocking write does not stop reading. The flush comes after
        // the handler, when its messages are queued.
        if !more || self.engine().writer.is_due(more) {
            self.flush_until(None);
        }
        let (taken_back, spawn) = pool.end_inline(park);
        self.spawn_if_needed(spawn);
        taken_back
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
        let taken_back = self.engine().pool.take()?;
        // Meanwhile another thread may have held the receiver, and promised to flush.
        self.engine().writer.will_flush(false);
        self.write_soon();
        Some(taken_back)
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
            // Messages for other callers must not keep this caller past its deadline. So the clock
            // is checked when no input is left, and after every `BURST` messages, because a
            // flooding peer always sends more.
            unseen += 1;
            let has_found = reader.kept() > 0 || !reader.channel.is_empty();
            if unseen == BURST || !(has_found || receiver.has_message()) {
                unseen = 0;
                now = Instant::now();
                patience = until.saturating_duration_since(now);
            }
            if now >= until && !has_found {
                let spawn = self.engine().pool.hand_over(receiver);
                self.spawn_if_needed(spawn);
                return ReadTurn::Quiet;
            }
        }
        let spawn = self.engine().pool.release_reader(receiver);
        self.spawn_if_needed(spawn);
        ReadTurn::Found
    }
}

/// Records whether this thread of the pool runs a handler, and the client of the handler. Returns
/// the client that was recorded before.
fn set_handler(is_in_handler: bool, client: Option<Client>) -> Option<Client> {
    POOL_THREAD.with_borrow_mut(|thread| {
        let thread = thread.as_mut()?;
        thread.is_in_handler = is_in_handler;
        std::mem::replace(&mut thread.client, client)
    })
}

/// A guard for a worker permit that a handler has released. Dropping the guard takes the permit
/// again.
pub(in crate::protocol) struct WorkerPlace(Option<(Arc<Core>, Option<Client>)>);

impl Drop for WorkerPlace {
    fn drop(&mut self) {
        if let Some((core, client)) = self.0.take() {
            core.engine().pool.unblocked(client.as_ref());
            set_handler(true, client);
        }
    }
}
