//! The threads of a connection, and the one role that they share: reading.
//!
//! Whoever holds the receiver reads. Before it runs user code, or writes, the holder *parks* the receiver; when it comes back it takes
//! the receiver again and reads on, so that a quick handler costs no change of threads. If the holder does not come back within a tick,
//! the *watchdog*, one idle thread of the crew, takes the parked receiver and reads on in its place.
//!
//! ```text
//!             park                    taken again by the same thread: it was quick
//!   held ───────────▶ parked ───────▶ held
//!                        │  ╲──────▶ held by a caller that waits for an answer, and reads meanwhile
//!                        ╰─ a tick ─▶ held by the watchdog
//! ```
//!
//! A client's calling thread that waits for its answer takes the parked receiver too and reads for everybody; when its answer has come it
//! parks the receiver, and another waiting caller or the watchdog goes on. When many callers wait, a thread of the crew reads for all of them:
//! the role would change hands for every answer.
//!
//! **Invariant:** the receiver is in the state or owned by one thread; while it is parked there is a watchdog that ticks, or a thread on
//! its way to become one. A thread that takes work looks whether more is left, and calls another one.
//!
//! **Threads** are started on demand, when work comes that no idle thread can take; idle ones leave after a while. The watchdog ticks
//! only while the receiver changes hands, so an idle connection costs no time.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::handlers::Place;
use super::outgoing::Slot;
use super::responder::Responder;
use crate::jsonrpc::Request;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// How long user code may run where it was read before another thread reads on: between one and two ticks.
const TICK: Duration = Duration::from_micros(450);
/// So many ticks without a change the watchdog goes on ticking while a handler runs, before it sleeps: the next call need not wake it.
const ALERT: u32 = 1000;
/// How long an idle thread stays.
const IDLE: Duration = Duration::from_secs(5);
/// When so many callers wait, a thread of the crew reads for all of them, until fewer than [`FEW`] do.
const CROWD: usize = 4;
const FEW: usize = 2;
/// After so many handlers in a row that outlasted their tick, the next ones go to other threads at once.
const SLOW_STREAK: u32 = 2;

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// A handler that is to run.
pub(crate) struct Work {
    pub(crate) run: Run,
    /// Under which it is seen among what is in hand, if it is.
    pub(crate) key: Option<u64>,
}

/// What runs.
pub(crate) enum Run {
    /// The handler of a request.
    Serve(Place, Request, Responder),
    Job(Job),
}

/// What a thread of the crew does next.
pub(crate) enum Duty<R> {
    /// A handler; to be ended with [`Crew::work_done`].
    Run(Work),
    /// A notification or callback, one at a time and in order; to be ended with [`Crew::serial_done`].
    Serial(Job),
    /// A job of ours, which needs no worker's place.
    Own(Job),
    /// Write what is queued.
    Flush,
    /// Read.
    Lead(R),
    /// The thread is no longer needed.
    Leave,
}

/// Whether the caller has to start a thread, which is counted already.
#[must_use = "a thread that is counted has to be started"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hands {
    Enough,
    StartOne,
}

/// The threads of one connection. `R` is the receiver.
pub(crate) struct Crew<R> {
    state: Mutex<State<R>>,
    /// For idle threads: there is work.
    work: Condvar,
    /// For the watchdog: there is work, or the receiver was parked while it slept.
    watch: Condvar,
    /// A thread has left, or a handler has ended.
    quieter: Condvar,
    max_workers: usize,
}

struct State<R> {
    receiver: Option<R>,
    /// Counts how often the receiver was parked: tells one parking from the next.
    parks: u64,
    /// The parked receiver is to be taken at once.
    hand_over: bool,
    /// Callers that wait in their slot and could read instead.
    standby: BTreeMap<i64, Arc<Slot>>,
    queued: VecDeque<Work>,
    serial: VecDeque<Serial>,
    serial_busy: bool,
    own: VecDeque<Job>,
    flush: bool,
    /// Handlers that run and do not wait for the peer.
    running: usize,
    /// Handlers that run or wait.
    handlers: usize,
    slow_streak: u32,
    threads: usize,
    /// A thread was called that has not come yet. It looks what there is to do when it comes: one at a time is enough.
    starting: bool,
    idle: usize,
    watchdog: Watchdog,
    /// Nobody reads any more.
    over: bool,
    /// Nothing is run any more either.
    stopped: bool,
}

/// A callback that runs in order with others of its kind.
struct Serial {
    job: Job,
    /// It is owed to somebody, and runs even if the connection has ended meanwhile.
    owed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Watchdog {
    Absent,
    Ticking,
    /// Sleeps without end.
    Asleep,
}

impl<R> Crew<R> {
    pub(crate) fn new(max_workers: usize) -> Self {
        let state = State {
            receiver: None,
            parks: 0,
            hand_over: false,
            standby: BTreeMap::new(),
            queued: VecDeque::new(),
            serial: VecDeque::new(),
            serial_busy: false,
            own: VecDeque::new(),
            flush: false,
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
            max_workers: max_workers.max(1),
        }
    }

    /// Waits for something to do. For threads of the crew; ends when there is something, the thread idled too long, or all is over.
    /// `has_come` tells that the thread was called and comes for the first time.
    pub(crate) fn next_duty(&self, has_come: bool) -> (Duty<R>, Hands) {
        let mut state = self.state.lock();
        state.starting &= !has_come;
        let mut idle_until = None;
        loop {
            if let Some(duty) = state.pick(self.max_workers) {
                let hands = self.call_hands(&mut state);
                return (duty, hands);
            }
            if state.over {
                return (Duty::Leave, Hands::Enough);
            }
            if state.watchdog == Watchdog::Absent {
                state.watchdog = Watchdog::Ticking;
                state = self.keep_watch(state);
                state.watchdog = Watchdog::Absent;
                continue;
            }
            let until = *idle_until.get_or_insert_with(|| Instant::now() + IDLE);
            if Instant::now() >= until {
                return (Duty::Leave, Hands::Enough);
            }
            state.idle += 1;
            state = self.work.wait_until(state, Some(until));
            state.idle -= 1;
        }
    }

    /// Returns when there is work, or a receiver was parked for a whole tick.
    fn keep_watch<'a>(&'a self, mut state: MutexGuard<'a, State<R>>) -> MutexGuard<'a, State<R>> {
        let mut calm = 0;
        while !state.has_work(self.max_workers) && !state.over {
            let (parks, tick) = (state.parks, Instant::now() + TICK);
            state = self.watch.wait_until(state, Some(tick));
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
            } else if state.running == 0 || calm >= ALERT {
                state.watchdog = Watchdog::Asleep;
                state = self.watch.wait(state);
                state.watchdog = Watchdog::Ticking;
            }
        }
        state
    }

    /// Makes sure that somebody comes for what is there.
    fn call_hands(&self, state: &mut State<R>) -> Hands {
        let unwatched = state.receiver.is_some() && state.watchdog == Watchdog::Absent;
        if !unwatched && !state.has_work(self.max_workers) {
            return Hands::Enough;
        }
        if state.idle > 0 {
            self.work.notify_one();
        } else if state.watchdog != Watchdog::Absent {
            self.watch.notify_one();
        } else if !state.stopped && !state.starting {
            state.threads += 1;
            state.starting = true;
            return Hands::StartOne;
        }
        Hands::Enough
    }

    /// Gives the receiver up for a while, or for good: whoever comes next may take it.
    pub(crate) fn park(&self, receiver: R) -> Hands {
        let mut receiver = Some(receiver);
        self.park_locked(&mut self.state.lock(), &mut receiver)
    }

    /// Leaves the receiver where it is when nobody reads any more: it is dropped outside of the lock.
    fn park_locked(&self, state: &mut State<R>, receiver: &mut Option<R>) -> Hands {
        if state.over {
            return Hands::Enough;
        }
        debug_assert!(state.receiver.is_none(), "there is one receiver");
        state.receiver = receiver.take();
        state.parks += 1;
        match state.watchdog {
            Watchdog::Asleep => self.watch.notify_one(),
            Watchdog::Ticking => {}
            Watchdog::Absent => return self.call_hands(state),
        }
        Hands::Enough
    }

    /// Parks the receiver for good: a waiting caller goes on if there is one, the crew after a tick; at once when many callers wait.
    pub(crate) fn pass_on(&self, receiver: R) -> Hands {
        let mut state = self.state.lock();
        if state.standby.len() >= CROWD {
            drop(state);
            return self.hand_over(receiver);
        }
        let mut receiver = Some(receiver);
        let hands = self.park_locked(&mut state, &mut receiver);
        while let Some((_, slot)) = state.standby.pop_first() {
            if slot.nudge() {
                break;
            }
        }
        hands
    }

    /// Parks the receiver for a thread of the crew to take at once.
    pub(crate) fn hand_over(&self, receiver: R) -> Hands {
        let mut state = self.state.lock();
        if state.over {
            return Hands::Enough;
        }
        state.receiver = Some(receiver);
        state.parks += 1;
        state.hand_over = true;
        self.call_hands(&mut state)
    }

    /// Takes the receiver if it is parked.
    pub(crate) fn take(&self) -> Option<R> {
        self.state.lock().take()
    }

    /// Takes the receiver if it is parked; if not, remembers the caller as one who could.
    pub(crate) fn take_or_stand_by(&self, id: i64, slot: &Arc<Slot>) -> Option<R> {
        let mut state = self.state.lock();
        let receiver = state.take();
        if receiver.is_some() {
            state.standby.remove(&id);
        } else if !state.over {
            state.standby.insert(id, Arc::clone(slot));
        }
        receiver
    }

    /// Whether more than a few callers wait, so that a thread of the crew had better go on reading for them.
    pub(crate) fn is_crowded(&self) -> bool {
        self.state.lock().standby.len() >= FEW
    }

    /// The caller no longer waits.
    pub(crate) fn stand_down(&self, id: i64) {
        self.state.lock().standby.remove(&id);
    }

    /// Parks the receiver to run a handler on this thread, or gives it back when the handler had better run elsewhere.
    pub(crate) fn begin_inline(&self, receiver: R) -> Result<(u64, Hands), R> {
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
        let hands = self.park_locked(&mut state, &mut Some(receiver));
        Ok((state.parks, hands))
    }

    /// Whether the receiver is still parked since `park`: nobody reads.
    pub(crate) fn is_parked(&self, park: u64) -> bool {
        let state = self.state.lock();
        state.receiver.is_some() && state.parks == park
    }

    /// The handler is done: takes the receiver back, unless somebody reads. A handler that waited for its place has it now.
    pub(crate) fn end_inline(&self, park: u64) -> (Option<R>, Hands) {
        let mut state = self.state.lock();
        state.running -= 1;
        state.handlers -= 1;
        if state.parks == park && state.receiver.is_some() {
            state.slow_streak = 0;
        }
        self.quieter.notify_all();
        let receiver = state.take();
        (receiver, self.call_hands(&mut state))
    }

    /// Queues a handler for another thread.
    pub(crate) fn push_work(&self, work: Work) -> Hands {
        let mut state = self.state.lock();
        if state.stopped {
            return Hands::Enough;
        }
        state.queued.push_back(work);
        self.call_hands(&mut state)
    }

    /// Queues a job of ours, which waits for no handler and is no handler.
    pub(crate) fn push_own(&self, job: Job) -> Hands {
        let mut state = self.state.lock();
        if state.stopped {
            return Hands::Enough;
        }
        state.own.push_back(job);
        self.call_hands(&mut state)
    }

    /// A handler that was queued has ended.
    pub(crate) fn work_done(&self, took: Duration) {
        let mut state = self.state.lock();
        state.running -= 1;
        state.handlers -= 1;
        if took < TICK {
            state.slow_streak = 0;
        }
        self.quieter.notify_all();
    }

    /// Queues a callback that runs in order with others of its kind. Refused when so many wait already.
    pub(crate) fn push_serial(&self, job: Job, max: usize) -> Result<Hands, Job> {
        let mut state = self.state.lock();
        if state.serial.len() >= max || state.stopped {
            return Err(job);
        }
        state.serial.push_back(Serial { job, owed: false });
        Ok(self.call_hands(&mut state))
    }

    /// The same for one that has to run, however many wait. Given back when nothing is run any more.
    pub(crate) fn push_owed(&self, job: Job) -> Result<Hands, Job> {
        let mut state = self.state.lock();
        if state.stopped {
            return Err(job);
        }
        state.serial.push_back(Serial { job, owed: true });
        Ok(self.call_hands(&mut state))
    }

    pub(crate) fn serial_done(&self) {
        self.state.lock().serial_busy = false;
        self.quieter.notify_all();
    }

    /// Has a thread of the crew write what is queued.
    pub(crate) fn want_flush(&self) -> Hands {
        let mut state = self.state.lock();
        state.flush = true;
        self.call_hands(&mut state)
    }

    /// A handler starts to wait for an answer of the peer: its place is free for another one.
    pub(crate) fn blocked(&self) -> Hands {
        let mut state = self.state.lock();
        state.running -= 1;
        self.call_hands(&mut state)
    }

    /// The handler goes on.
    pub(crate) fn unblocked(&self) {
        self.state.lock().running += 1;
    }

    /// Nobody reads any more; a parked receiver is dropped.
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

    /// Forgets what is queued, but for callbacks that are owed: they run when the one before them returns, or are given back when there is
    /// no thread for that. Threads leave when they have ended what they do.
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
            std::mem::take(&mut state.queued),
            unwanted,
            std::mem::take(&mut state.own),
            state.receiver.take(),
        );
        state.standby.clear();
        drop(state);
        drop(forgotten);
        self.work.notify_all();
        self.watch.notify_all();
        owed.into_iter().map(|serial| serial.job).collect()
    }

    /// Waits until no more than `own` handlers and callbacks run and none is queued, or until the deadline. Returns whether it is so.
    pub(crate) fn wait_for_handlers(&self, own: usize, deadline: Instant) -> bool {
        self.wait_for(deadline, |state| {
            state.handlers + usize::from(state.serial_busy) <= own
                && state.queued.is_empty()
                && state.serial.is_empty()
        })
    }

    /// Waits until no more than `own` threads are left, or until the deadline. Returns whether it is so.
    pub(crate) fn wait_for_threads(&self, own: usize, deadline: Instant) -> bool {
        self.wait_for(deadline, |state| state.threads <= own)
    }

    fn wait_for(&self, deadline: Instant, is_so: impl Fn(&State<R>) -> bool) -> bool {
        let mut state = self.state.lock();
        while !is_so(&state) {
            if Instant::now() >= deadline {
                return false;
            }
            state = self.quieter.wait_until(state, Some(deadline));
        }
        true
    }

    /// A thread has left.
    pub(crate) fn thread_left(&self) {
        self.state.lock().threads -= 1;
        self.quieter.notify_all();
    }

    /// A thread that was called could not be started.
    pub(crate) fn thread_failed(&self) {
        self.state.lock().starting = false;
        self.thread_left();
    }

    /// How many handlers and callbacks wait for a thread.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.queued.len(), state.serial.len())
    }

    pub(crate) fn threads(&self) -> usize {
        self.state.lock().threads
    }
}

impl<R> State<R> {
    fn take(&mut self) -> Option<R> {
        self.hand_over = false;
        self.receiver.take()
    }

    fn can_run(&self, max_workers: usize) -> bool {
        !self.queued.is_empty() && self.running < max_workers
    }

    fn has_work(&self, max_workers: usize) -> bool {
        self.flush
            || !self.own.is_empty()
            || self.can_run(max_workers)
            || (!self.serial.is_empty() && !self.serial_busy)
            || (self.hand_over && self.receiver.is_some())
    }

    fn pick(&mut self, max_workers: usize) -> Option<Duty<R>> {
        if std::mem::take(&mut self.flush) {
            return Some(Duty::Flush);
        }
        if self.hand_over
            && let Some(receiver) = self.take()
        {
            return Some(Duty::Lead(receiver));
        }
        if let Some(job) = self.own.pop_front() {
            return Some(Duty::Own(job));
        }
        if self.can_run(max_workers) {
            self.running += 1;
            self.handlers += 1;
            return self.queued.pop_front().map(Duty::Run);
        }
        if !self.serial_busy && !self.serial.is_empty() {
            self.serial_busy = true;
            let serial = self.serial.pop_front();
            return serial.map(|serial| Duty::Serial(serial.job));
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::outgoing::There;
    use super::*;

    fn slot() -> Arc<Slot> {
        Arc::new(Slot::new(&Arc::default(), 0))
    }

    fn nothing() -> Work {
        Work {
            run: Run::Job(Box::new(|| {})),
            key: None,
        }
    }

    /// Left over, such a nudge would end the caller's next turn of reading before it began, again and again.
    #[test]
    fn a_caller_that_reads_is_not_asked_to() {
        let (crew, slot) = (Crew::<u32>::new(4), slot());
        assert_eq!(crew.take_or_stand_by(1, &slot), None);
        let _ = crew.park(7);
        assert_eq!(crew.take_or_stand_by(1, &slot), Some(7));
        let _ = crew.pass_on(7);
        assert_eq!(slot.look(), There::Nothing);
        slot.nudge();
        slot.look_up();
        assert_eq!(slot.look(), There::Nothing);
    }

    /// One caller asks another one to go on; of many, none is asked, and a thread of the crew goes on at once.
    #[test]
    fn a_thread_of_the_crew_reads_for_many_callers() {
        let crew = Crew::<u32>::new(4);
        let slots: Vec<Arc<Slot>> = (0..CROWD).map(|_| slot()).collect();
        for (id, slot) in (0..).zip(&slots) {
            assert_eq!(crew.is_crowded(), id >= FEW as i64);
            assert_eq!(crew.take_or_stand_by(id, slot), None);
        }
        assert_eq!(crew.pass_on(7), Hands::StartOne);
        assert!(slots.iter().all(|slot| slot.look() == There::Nothing));
        assert!(matches!(crew.next_duty(true), (Duty::Lead(7), _)));
        (1..CROWD as i64).for_each(|id| crew.stand_down(id));
        assert!(!crew.is_crowded());
        let _ = crew.pass_on(7);
        assert_eq!(slots[0].look(), There::Nudge);
    }

    #[test]
    fn one_thread_is_called_at_a_time() {
        let crew = Crew::<u32>::new(4);
        assert_eq!(crew.push_work(nothing()), Hands::StartOne);
        assert_eq!(crew.push_work(nothing()), Hands::Enough);
        assert!(matches!(
            crew.next_duty(true),
            (Duty::Run(_), Hands::StartOne)
        ));
        assert!(matches!(
            crew.next_duty(true),
            (Duty::Run(_), Hands::Enough)
        ));
    }

    /// The thread that read it parks the receiver, the one that ran meanwhile takes it, and a handler waits for the place left.
    #[test]
    fn a_place_that_is_left_is_offered_to_who_waits_for_it() {
        let crew = Crew::<u32>::new(1);
        let Ok((park, Hands::StartOne)) = crew.begin_inline(7) else {
            panic!("there is a place, and nobody watches")
        };
        crew.state.lock().starting = false;
        assert_eq!(crew.take(), Some(7));
        assert_eq!(crew.push_work(nothing()), Hands::Enough);
        let _ = crew.park(7);
        crew.state.lock().starting = false;
        assert_eq!(crew.end_inline(park), (Some(7), Hands::StartOne));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::super::outgoing::There;
    use super::*;

    fn slot() -> Arc<Slot> {
        Arc::new(Slot::new(&Arc::default(), 0))
    }

    /// The leader runs a handler inline while the watchdog comes by: one of them reads on, never both, never none.
    #[test]
    fn loom_the_receiver_has_one_holder() {
        loom::model(|| {
            let crew = Arc::new(Crew::<u32>::new(4));
            let thief = {
                let crew = Arc::clone(&crew);
                loom::thread::spawn(move || crew.take())
            };
            let inline = crew.begin_inline(7);
            let kept = match inline {
                Ok((park, hands)) => {
                    assert_eq!(hands, Hands::StartOne);
                    crew.end_inline(park).0
                }
                Err(receiver) => Some(receiver),
            };
            let stolen = thief.join().expect("no panic");
            assert!(
                kept.is_some() != stolen.is_some(),
                "{kept:?} and {stolen:?}"
            );
        });
    }

    /// A caller that stands by while the reading caller leaves is nudged, or finds the receiver.
    #[test]
    fn loom_a_waiting_caller_is_not_forgotten() {
        loom::model(|| {
            let crew = Arc::new(Crew::<u32>::new(4));
            let slot = slot();
            let leaving = {
                let crew = Arc::clone(&crew);
                loom::thread::spawn(move || crew.pass_on(7))
            };
            let mut receiver = crew.take_or_stand_by(1, &slot);
            while receiver.is_none() {
                if slot.look() == There::Nothing {
                    // Without the nudge this wait, and so the model, would never end: but a thread that is not yet waiting is
                    // covered by the watchdog's tick, which has no model here.
                    loom::thread::yield_now();
                }
                receiver = crew.take();
            }
            assert_eq!(receiver, Some(7));
            let _ = leaving.join().expect("no panic");
        });
    }

    /// Closing while the receiver is parked and taken: it is dropped once, and nobody holds it after the end.
    #[test]
    fn loom_the_end_takes_the_receiver() {
        loom::model(|| {
            let crew = Arc::new(Crew::<Arc<()>>::new(4));
            let receiver = Arc::new(());
            let watch = Arc::clone(&receiver);
            let parking = {
                let crew = Arc::clone(&crew);
                loom::thread::spawn(move || {
                    let _ = crew.park(receiver);
                    drop(crew.take());
                })
            };
            crew.end_reading();
            parking.join().expect("no panic");
            assert_eq!(Arc::strong_count(&watch), 1);
        });
    }
}
