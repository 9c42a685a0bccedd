//! The worker pool of a connection (leader/follower), and the reading role that its threads pass
//! on.
//!
//! The thread that owns the receiver reads. Before this thread runs user code or writes, it *parks*
//! the receiver. Afterwards the thread takes the receiver back and continues to read, so that a
//! quick handler costs no context switch. If the thread does not return within a tick, the
//! *watchdog* takes the parked receiver and reads instead. The watchdog is an idle thread of the
//! pool.
//!
//! ```text
//!             park                    taken back by the same thread: it was quick
//!   held ───────────▶ parked ───────▶ held
//!                        │  ╲──────▶ held by a caller that reads while it waits for its answer
//!                        ╰─ a tick ─▶ held by the watchdog
//! ```
//!
//! On the client side, a calling thread that waits for its answer also takes the parked receiver,
//! and reads for all callers. When its answer has arrived, the calling thread parks the receiver.
//! Another waiting caller or the watchdog then continues. When many callers wait, a thread of the
//! pool reads for all of them. Otherwise the reading role would change threads for every answer.
//!
//! **Invariant:** the receiver is either in the state or owned by one thread. While the receiver is
//! parked, a watchdog ticks, or a thread has been started that will become the watchdog. So input
//! is never left unread. A thread that takes work checks whether more work is left, and wakes or
//! starts another thread for that work. So no work waits while a thread could run it.
//!
//! **Threads** are started on demand, when there is work that no idle thread can take. Idle threads
//! exit after a while. The watchdog ticks only while the receiver changes hands, so an idle
//! connection costs no CPU time.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call_channel::{CallChannel, CallMessage};
use super::work_queue::WorkQueue;
use crate::shares::Client;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// The watchdog's tick. A handler may run on the reading thread for one to two ticks before another
/// thread takes over reading.
const TICK: Duration = Duration::from_micros(450);
/// The number of ticks without a change after which the watchdog sleeps. A calling thread needs a
/// system call to wake a sleeping watchdog, so the watchdog does not sleep earlier.
const ALERT: u32 = 1000;
/// How long a pool thread stays idle before it exits.
const IDLE: Duration = Duration::from_secs(5);
/// The number of waiting callers at which a pool thread starts to read for all of them. The thread
/// reads until fewer than [`FEW`] callers wait.
const CROWD: usize = 4;
const FEW: usize = 2;
/// The number of consecutive slow handlers after which new handlers start on other threads. A
/// handler is slow if it blocks the reading thread for a whole tick. A faster handler resets the
/// count.
const SLOW_STREAK: u32 = 2;

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The next task of a pool thread.
pub(crate) enum PoolTask<R, W> {
    /// Run a handler, then call [`WorkerPool::work_done`].
    Run(W),
    /// Run a notification handler or a callback, then call [`WorkerPool::serial_done`]. Only one
    /// serial task runs at a time, in the order of the queue.
    Serial(Job),
    /// Run an internal job, which needs no worker permit.
    Own(Job),
    /// Write the queued messages.
    Flush,
    /// Take the reading role.
    Lead(R),
    /// Exit, because the pool no longer needs the thread.
    Leave,
}

/// Whether the caller has to start a pool thread. The pool already counts that thread.
#[must_use = "a thread that is counted has to be started"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spawn {
    No,
    One,
}

/// The worker pool of a connection. `R` is the type of the receiver, and `W` of a queued handler.
pub(crate) struct WorkerPool<R, W> {
    // Not held while user code runs, nor while a thread reads or writes. A change that creates work
    // calls `call_for_worker` or wakes the watchdog under this lock, unless the same thread calls
    // `next_duty` next. So no work is left without a thread.
    state: Mutex<State<R, W>>,
    /// The condition variable that is notified when there is work for idle threads.
    work: Condvar,
    /// The condition variable that is notified when there is work for the watchdog, or when the
    /// receiver is parked while the watchdog sleeps.
    watch: Condvar,
    /// The condition variable that is notified when a thread has exited or a handler has returned.
    quieter: Condvar,
    max_workers: usize,
}

struct State<R, W> {
    // The parked receiver: no thread reads. `None` while a thread reads, and after reading has
    // ended.
    receiver: Option<R>,
    /// The number of times that the receiver was parked. After each parking, the new value
    /// identifies that parking.
    parks: u64,
    /// Whether a pool thread should take the parked receiver and read immediately.
    hand_over: bool,
    /// The callers that wait on their channels and could take the reading role.
    standby: BTreeMap<i64, Arc<CallChannel>>,
    queued: WorkQueue<W>,
    serial: VecDeque<Serial>,
    serial_busy: bool,
    /// The number of serial callbacks that were queued so far.
    serial_queued: u64,
    own: VecDeque<Job>,
    flush: bool,
    /// Whether the watchdog should request a flush when a tick has passed.
    flush_soon: bool,
    /// The number of handlers that run and do not wait for the peer. Each of these handlers holds a
    /// worker permit.
    running: usize,
    /// The number of handlers that run or wait for the peer.
    handlers: usize,
    slow_streak: u32,
    threads: usize,
    /// Whether a thread was requested that has not begun to run. The new thread chooses its task
    /// later, so one starting thread at a time is enough.
    starting: bool,
    idle: usize,
    watchdog: Watchdog,
    /// Whether reading has ended.
    over: bool,
    /// Whether the pool has stopped. A stopped pool runs only callbacks that must run.
    stopped: bool,
}

/// A callback that runs in order with the other serial callbacks.
struct Serial {
    job: Job,
    /// Whether the callback must run even if the connection ends first.
    owed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Watchdog {
    Absent,
    Ticking,
    /// The watchdog sleeps without a timeout, until it is notified.
    Asleep,
}

impl<R, W> WorkerPool<R, W> {
    /// Creates the pool of a connection with a single client.
    pub(crate) fn new(max_workers: usize) -> Self {
        Self::with(max_workers.max(1), WorkQueue::Single(VecDeque::new()))
    }

    /// Creates the pool of a connection that clients share.
    ///
    /// Beyond `max_workers`, `reserve` handlers may run for clients that have few running handlers.
    /// A client that uses the reserve may have at most `part` running handlers.
    pub(crate) fn shared(max_workers: usize, part: usize, reserve: usize) -> Self {
        let max_workers = max_workers.max(1);
        Self::with(max_workers, WorkQueue::shared(max_workers, part, reserve))
    }

    fn with(max_workers: usize, queued: WorkQueue<W>) -> Self {
        let state = State {
            receiver: None,
            parks: 0,
            hand_over: false,
            standby: BTreeMap::new(),
            queued,
            serial: VecDeque::new(),
            serial_busy: false,
            serial_queued: 0,
            own: VecDeque::new(),
            flush: false,
            flush_soon: false,
            running: 0,
            handlers: 0,
            slow_streak: 0,
            threads: 0,
            starting: false,
            idle: 0,
            watchdog: Watchdog::Absent,
            over: false,
            stopped: false,
        };
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            watch: Condvar::new(),
            quieter: Condvar::new(),
            max_workers,
        }
    }

    /// Blocks until a pool thread has a task, and returns the task. Returns [`PoolTask::Leave`]
    /// when the thread was idle too long or the connection has ended.
    ///
    /// `has_come` is true on the first call of a newly started thread.
    pub(crate) fn next_duty(&self, has_come: bool) -> (PoolTask<R, W>, Spawn) {
        let mut state = self.state.lock();
        state.starting &= !has_come;
        let mut idle_until = None;
        loop {
            if let Some(duty) = state.pick(self.max_workers) {
                let spawn = self.call_for_worker(&mut state);
                return (duty, spawn);
            }
            if state.over {
                return (PoolTask::Leave, Spawn::No);
            }
            if state.watchdog == Watchdog::Absent {
                state.watchdog = Watchdog::Ticking;
                state = self.keep_watch(state);
                state.watchdog = Watchdog::Absent;
                continue;
            }
            let until = *idle_until.get_or_insert_with(|| Instant::now() + IDLE);
            if Instant::now() >= until {
                return (PoolTask::Leave, Spawn::No);
            }
            state.idle += 1;
            state = self.work.wait_until(state, Some(until));
            state.idle -= 1;
        }
    }

    /// Runs the watchdog. Returns when there is work, or when the receiver was parked for a whole
    /// tick.
    fn keep_watch<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<R, W>>,
    ) -> MutexGuard<'a, State<R, W>> {
        let mut calm = 0;
        while !state.has_work(self.max_workers) && !state.over {
            let (parks, tick) = (state.parks, Instant::now() + TICK);
            let has_to_flush = std::mem::take(&mut state.flush_soon);
            state = self.watch.wait_until(state, Some(tick));
            if has_to_flush {
                // A flush before the tick is over is early, but harmless.
                state.flush = true;
            }
            if state.has_work(self.max_workers)
                || state.over
                || state.parks != parks
                || Instant::now() < tick
            {
                calm = 0;
                continue;
            }
            calm += 1;
            if state.receiver.is_some() {
                state.hand_over = true;
                if state.running > 0 {
                    state.slow_streak += 1;
                }
            } else if !state.flush_soon && (state.running == 0 || calm >= ALERT) {
                state.watchdog = Watchdog::Asleep;
                state = self.watch.wait(state);
                state.watchdog = Watchdog::Ticking;
            }
        }
        state
    }

    /// Ensures that a thread will take the pending work. Wakes an idle thread or the watchdog, or
    /// tells the caller to start a new thread.
    fn call_for_worker(&self, state: &mut State<R, W>) -> Spawn {
        let is_needed = state.receiver.is_some() || state.flush_soon;
        let unwatched = is_needed && state.watchdog == Watchdog::Absent;
        if !unwatched && !state.has_work(self.max_workers) {
            return Spawn::No;
        }
        if state.idle > 0 {
            self.work.notify_one();
        } else if state.watchdog != Watchdog::Absent {
            self.watch.notify_one();
        } else if !state.stopped && !state.starting {
            state.threads += 1;
            state.starting = true;
            return Spawn::One;
        }
        Spawn::No
    }

    /// Parks the receiver. This thread or another thread can later take the receiver and read.
    pub(crate) fn park(&self, receiver: R) -> Spawn {
        let mut receiver = Some(receiver);
        self.park_locked(&mut self.state.lock(), &mut receiver)
    }

    /// Parks the receiver under the lock of the caller. If reading has ended, leaves the receiver
    /// in its `Option`. The caller then drops the receiver outside of the lock.
    fn park_locked(&self, state: &mut State<R, W>, receiver: &mut Option<R>) -> Spawn {
        if state.over {
            return Spawn::No;
        }
        debug_assert!(state.receiver.is_none(), "there is one receiver");
        state.receiver = receiver.take();
        state.parks += 1;
        match state.watchdog {
            Watchdog::Asleep => self.watch.notify_one(),
            Watchdog::Ticking => {}
            Watchdog::Absent => return self.call_for_worker(state),
        }
        Spawn::No
    }

    /// Releases the reading role. Wakes one waiting caller, which continues to read, or leaves the
    /// receiver to the watchdog after a tick. With many waiting callers a pool thread continues at
    /// once.
    pub(crate) fn release_reader(&self, receiver: R) -> Spawn {
        let mut state = self.state.lock();
        if state.standby.len() >= CROWD {
            drop(state);
            return self.hand_over(receiver);
        }
        let mut receiver = Some(receiver);
        let spawn = self.park_locked(&mut state, &mut receiver);
        state.wake_reader();
        spawn
    }

    /// Parks the receiver, and makes a pool thread take it at once and read.
    pub(crate) fn hand_over(&self, receiver: R) -> Spawn {
        let mut state = self.state.lock();
        if state.over {
            return Spawn::No;
        }
        state.receiver = Some(receiver);
        state.parks += 1;
        state.hand_over = true;
        self.call_for_worker(&mut state)
    }

    /// Takes the receiver if it is parked.
    pub(crate) fn take(&self) -> Option<R> {
        self.state.lock().take()
    }

    /// Takes the receiver if it is parked; otherwise registers the caller as a possible reader.
    // Both happen under one lock: a reader that releases the role later sees the registration and
    // wakes this caller.
    pub(crate) fn take_or_stand_by(&self, id: i64, channel: &Arc<CallChannel>) -> Option<R> {
        let mut state = self.state.lock();
        let receiver = state.take();
        if receiver.is_some() {
            state.standby.remove(&id);
        } else if !state.over {
            state.standby.insert(id, Arc::clone(channel));
        }
        receiver
    }

    /// Whether many callers wait, so that a pool thread should continue to read for them.
    pub(crate) fn is_crowded(&self) -> bool {
        self.state.lock().standby.len() >= FEW
    }

    /// Unregisters a caller that no longer waits. If the caller was woken to take the reading role
    /// and has not tried to take it, the next caller is woken instead.
    ///
    /// `is_woken` is true if the caller has taken a wakeup from its channel since it last tried.
    // Wakeups are sent under this lock. So the wakeup of a caller that is not registered has been
    // taken, or is in the channel. A message of another kind in the channel wakes one caller too
    // many, which does no harm.
    pub(crate) fn stand_down(&self, id: i64, channel: &CallChannel, is_woken: bool) {
        let mut state = self.state.lock();
        let is_waiting = state.standby.remove(&id).is_some();
        if !is_waiting
            && (is_woken || !channel.is_empty())
            && state.receiver.is_some()
            && !state.hand_over
        {
            state.wake_reader();
        }
    }

    /// Prepares to run a handler on this thread, which is reading. Parks the receiver, so that
    /// another thread can continue to read. If the handler should run on another thread, returns
    /// the receiver instead.
    pub(crate) fn begin_inline(&self, receiver: R) -> Result<(u64, Spawn), R> {
        let mut state = self.state.lock();
        if state.running >= self.max_workers
            || state.slow_streak >= SLOW_STREAK
            || !state.queued.is_empty()
            || state.over
        {
            return Err(receiver);
        }
        state.running += 1;
        state.handlers += 1;
        let spawn = self.park_locked(&mut state, &mut Some(receiver));
        Ok((state.parks, spawn))
    }

    /// Ends an inline handler. Takes the receiver back unless another thread has taken it. A
    /// waiting handler gets the worker permit of the ended handler.
    pub(crate) fn end_inline(&self, park: u64) -> (Option<R>, Spawn) {
        let mut state = self.state.lock();
        state.running -= 1;
        state.handlers -= 1;
        if state.parks == park && state.receiver.is_some() {
            state.slow_streak = 0;
        }
        self.quieter.notify_all();
        let receiver = state.take();
        (receiver, self.call_for_worker(&mut state))
    }

    /// Queues a handler of this client that another thread will run.
    pub(crate) fn push_work(&self, client: Option<&Client>, work: W) -> Spawn {
        let mut state = self.state.lock();
        if state.stopped {
            return Spawn::No;
        }
        state.queued.push(client, work);
        self.call_for_worker(&mut state)
    }

    /// Queues an internal job. The job needs no worker permit and does not wait for handlers.
    pub(crate) fn push_own(&self, job: Job) -> Spawn {
        let mut state = self.state.lock();
        if state.stopped {
            return Spawn::No;
        }
        state.own.push_back(job);
        self.call_for_worker(&mut state)
    }

    /// Records that a queued handler of this client has returned. The calling thread calls
    /// [`next_duty`](Self::next_duty) next, which runs a waiting handler.
    pub(crate) fn work_done(&self, client: Option<&Client>, took: Duration) {
        let mut state = self.state.lock();
        state.running -= 1;
        state.queued.release(client);
        state.handlers -= 1;
        if took < TICK {
            state.slow_streak = 0;
        }
        self.quieter.notify_all();
    }

    /// Queues a serial callback. Returns the callback if `max` callbacks are already queued, or if
    /// the pool has stopped.
    pub(crate) fn push_serial(&self, job: Job, max: usize) -> Result<Spawn, Job> {
        let mut state = self.state.lock();
        if state.serial.len() >= max || state.stopped {
            return Err(job);
        }
        state.queue_serial(job, false);
        Ok(self.call_for_worker(&mut state))
    }

    /// Queues a serial callback that must run. This queue has no limit. Returns the callback if the
    /// pool has stopped.
    pub(crate) fn push_owed(&self, job: Job) -> Result<Spawn, Job> {
        let mut state = self.state.lock();
        if state.stopped {
            return Err(job);
        }
        state.queue_serial(job, true);
        Ok(self.call_for_worker(&mut state))
    }

    pub(crate) fn serial_done(&self) {
        self.state.lock().serial_busy = false;
        self.quieter.notify_all();
    }

    /// Requests that a pool thread writes the messages queued in the writer.
    pub(crate) fn want_flush(&self) -> Spawn {
        let mut state = self.state.lock();
        state.flush = true;
        self.call_for_worker(&mut state)
    }

    /// Requests that a pool thread writes the messages queued in the writer after a tick or two.
    pub(crate) fn want_flush_soon(&self) -> Spawn {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.flush_soon, true) {
            return Spawn::No;
        }
        match state.watchdog {
            Watchdog::Asleep => self.watch.notify_one(),
            Watchdog::Ticking => {}
            Watchdog::Absent => return self.call_for_worker(&mut state),
        }
        Spawn::No
    }

    /// Releases the worker permit of a handler that starts to wait for an answer of the peer.
    pub(crate) fn blocked(&self, client: Option<&Client>) -> Spawn {
        let mut state = self.state.lock();
        state.running -= 1;
        state.queued.release(client);
        self.call_for_worker(&mut state)
    }

    /// Takes a worker permit again when the handler continues. The number of permits may exceed
    /// `max_workers` for a while.
    pub(crate) fn unblocked(&self, client: Option<&Client>) {
        let mut state = self.state.lock();
        state.running += 1;
        state.queued.take_back(client);
    }

    /// Ends reading: drops a parked receiver and wakes all threads.
    pub(crate) fn end_reading(&self) {
        let mut state = self.state.lock();
        state.over = true;
        state.standby.clear();
        let receiver = state.receiver.take();
        drop(state);
        drop(receiver);
        self.work.notify_all();
        self.watch.notify_all();
        self.quieter.notify_all();
    }

    /// Stops the pool: discards queued work, except callbacks that must run. A pool thread exits
    /// when its current task has ended.
    ///
    /// The remaining callbacks run after the current callback returns. If the pool has no thread
    /// left, this function returns the callbacks.
    pub(crate) fn stop(&self) -> Vec<Job> {
        let mut state = self.state.lock();
        (state.over, state.stopped, state.flush) = (true, true, false);
        let (mut owed, unwanted): (VecDeque<Serial>, VecDeque<Serial>) =
            std::mem::take(&mut state.serial)
                .into_iter()
                .partition(|serial| serial.owed);
        if state.threads > 0 {
            state.serial.append(&mut owed);
        }
        let forgotten = (
            state.queued.drain(),
            unwanted,
            std::mem::take(&mut state.own),
            state.receiver.take(),
        );
        state.standby.clear();
        drop(state);
        drop(forgotten);
        self.work.notify_all();
        self.watch.notify_all();
        self.quieter.notify_all();
        owed.into_iter().map(|serial| serial.job).collect()
    }

    /// Blocks until at most `own` handlers and callbacks run and none is queued, or until the
    /// deadline. Returns false if the deadline has passed.
    pub(crate) fn wait_for_handlers(&self, own: usize, deadline: Instant) -> bool {
        self.wait_for(deadline, |state| {
            state.handlers + usize::from(state.serial_busy) <= own
                && state.queued.is_empty()
                && state.serial.is_empty()
        })
    }

    /// Blocks until the serial callbacks that were queued before this call have returned or were
    /// discarded, or until the deadline. Returns false if the deadline has passed.
    pub(crate) fn wait_for_serial(&self, deadline: Instant) -> bool {
        let queued = self.state.lock().serial_queued;
        self.wait_for(deadline, |state| state.serial_ended() >= queued)
    }

    /// Blocks until at most `own` threads are left, or until the deadline. Returns false if the
    /// deadline has passed.
    pub(crate) fn wait_for_threads(&self, own: usize, deadline: Instant) -> bool {
        self.wait_for(deadline, |state| state.threads <= own)
    }

    fn wait_for(&self, deadline: Instant, is_so: impl Fn(&State<R, W>) -> bool) -> bool {
        let mut state = self.state.lock();
        while !is_so(&state) {
            if Instant::now() >= deadline {
                return false;
            }
            state = self.quieter.wait_until(state, Some(deadline));
        }
        true
    }

    /// Records that a thread has exited.
    pub(crate) fn thread_left(&self) {
        self.state.lock().threads -= 1;
        self.quieter.notify_all();
    }

    /// Removes a thread from the count of threads, because the thread could not be started.
    pub(crate) fn thread_failed(&self) {
        self.state.lock().starting = false;
        self.thread_left();
    }

    /// Returns the numbers of handlers and of callbacks that wait for a thread.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.queued.len(), state.serial.len())
    }

    pub(crate) fn threads(&self) -> usize {
        self.state.lock().threads
    }
}

impl<R, W> State<R, W> {
    fn take(&mut self) -> Option<R> {
        self.hand_over = false;
        self.receiver.take()
    }

    /// Wakes one registered caller, so that it takes the reading role.
    // A caller whose channel is not empty is not blocked. It takes the parked receiver by itself if
    // it waits on.
    fn wake_reader(&mut self) {
        while let Some((_, channel)) = self.standby.pop_first() {
            if channel.is_empty() {
                return channel.send(CallMessage::Wake);
            }
        }
    }

    fn queue_serial(&mut self, job: Job, owed: bool) {
        self.serial.push_back(Serial { job, owed });
        self.serial_queued += 1;
    }

    /// Returns the number of serial callbacks that have returned or were discarded.
    fn serial_ended(&self) -> u64 {
        let left = self.serial.len() + usize::from(self.serial_busy);
        self.serial_queued - left as u64
    }

    fn can_run(&self, max_workers: usize) -> bool {
        self.queued.can_run(self.running, max_workers)
    }

    fn has_work(&self, max_workers: usize) -> bool {
        self.flush
            || !self.own.is_empty()
            || self.can_run(max_workers)
            || (!self.serial.is_empty() && !self.serial_busy)
            || (self.hand_over && self.receiver.is_some())
    }

    fn pick(&mut self, max_workers: usize) -> Option<PoolTask<R, W>> {
        if std::mem::take(&mut self.flush) {
            return Some(PoolTask::Flush);
        }
        if self.hand_over
            && let Some(receiver) = self.take()
        {
            return Some(PoolTask::Lead(receiver));
        }
        if let Some(job) = self.own.pop_front() {
            return Some(PoolTask::Own(job));
        }
        if let Some(work) = self.queued.pop(self.running, max_workers) {
            self.running += 1;
            self.handlers += 1;
            return Some(PoolTask::Run(work));
        }
        if !self.serial_busy && !self.serial.is_empty() {
            self.serial_busy = true;
            let serial = self.serial.pop_front();
            return serial.map(|serial| PoolTask::Serial(serial.job));
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A leftover wakeup would end the caller's next read turn at once, again and again.
    #[test]
    fn a_caller_that_reads_is_not_asked_to() {
        let (pool, channel) = (WorkerPool::<u32, ()>::new(4), CallChannel::new());
        assert_eq!(pool.take_or_stand_by(1, &channel), None);
        let _ = pool.park(7);
        assert_eq!(pool.take_or_stand_by(1, &channel), Some(7));
        let _ = pool.release_reader(7);
        assert!(channel.is_empty());
    }

    /// A caller that was woken to read but ends instead passes the role on. Without that the role
    /// would wait for the watchdog's tick.
    #[test]
    fn a_caller_that_ends_passes_the_role_on() {
        let pool = WorkerPool::<u32, ()>::new(4);
        let channels = [CallChannel::new(), CallChannel::new()];
        for (id, channel) in (0..).zip(&channels) {
            assert_eq!(pool.take_or_stand_by(id, channel), None);
        }
        let _ = pool.release_reader(7);
        assert!(!channels[0].is_empty() && channels[1].is_empty());
        pool.stand_down(0, &channels[0], false);
        assert!(!channels[1].is_empty());
    }

    /// A caller that has read and released the role wakes one caller, not two.
    #[test]
    fn a_caller_that_has_read_wakes_one_caller() {
        let pool = WorkerPool::<u32, ()>::new(4);
        let channels = [(); 3].map(|()| CallChannel::new());
        let _ = pool.park(7);
        assert_eq!(pool.take_or_stand_by(0, &channels[0]), Some(7));
        for id in [1, 2] {
            assert_eq!(pool.take_or_stand_by(id, &channels[id as usize]), None);
        }
        let _ = pool.release_reader(7);
        pool.stand_down(0, &channels[0], false);
        assert!(!channels[1].is_empty() && channels[2].is_empty());
    }

    /// With few waiting callers, a caller passes the reading role to another caller. With many
    /// waiting callers, a pool thread starts to read at once.
    #[test]
    fn a_thread_of_the_pool_reads_for_many_callers() {
        let pool = WorkerPool::<u32, ()>::new(4);
        let channels: Vec<_> = (0..CROWD).map(|_| CallChannel::new()).collect();
        for (id, channel) in (0..).zip(&channels) {
            assert_eq!(pool.is_crowded(), id >= FEW as i64);
            assert_eq!(pool.take_or_stand_by(id, channel), None);
        }
        assert_eq!(pool.release_reader(7), Spawn::One);
        assert!(channels.iter().all(|channel| channel.is_empty()));
        assert!(matches!(pool.next_duty(true), (PoolTask::Lead(7), _)));
        for (id, channel) in (0..).zip(&channels).skip(1) {
            pool.stand_down(id, channel, false);
        }
        assert!(!pool.is_crowded());
        let _ = pool.release_reader(7);
        assert!(!channels[0].is_empty());
    }

    /// A request whose write may be delayed is written although no thread waits for its answer.
    #[test]
    fn a_flush_that_may_wait_comes_after_a_tick() {
        let pool = WorkerPool::<u32, ()>::new(4);
        assert_eq!(pool.want_flush_soon(), Spawn::One);
        assert_eq!(pool.want_flush_soon(), Spawn::No);
        assert!(matches!(pool.next_duty(true), (PoolTask::Flush, _)));
    }

    #[test]
    fn one_thread_is_called_at_a_time() {
        let pool = WorkerPool::<u32, ()>::new(4);
        assert_eq!(pool.push_work(None, ()), Spawn::One);
        assert_eq!(pool.push_work(None, ()), Spawn::No);
        assert!(matches!(
            pool.next_duty(true),
            (PoolTask::Run(_), Spawn::One)
        ));
        assert!(matches!(
            pool.next_duty(true),
            (PoolTask::Run(_), Spawn::No)
        ));
    }

    /// While a thread runs a handler inline, another thread takes the receiver and parks it again.
    /// The first thread then takes the receiver, and a queued handler gets the free permit.
    #[test]
    fn a_place_that_is_left_is_offered_to_who_waits_for_it() {
        let pool = WorkerPool::<u32, ()>::new(1);
        let Ok((park, Spawn::One)) = pool.begin_inline(7) else {
            panic!("there is a place, and nobody watches")
        };
        pool.state.lock().starting = false;
        assert_eq!(pool.take(), Some(7));
        assert_eq!(pool.push_work(None, ()), Spawn::No);
        let _ = pool.park(7);
        pool.state.lock().starting = false;
        assert_eq!(pool.end_inline(park), (Some(7), Spawn::One));
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
