//! The threads that serve requests: called on demand, up to a limit, and gone again after a while.
//!
//! When all of them are busy, one more comes, the reserve. It looks at jobs that nobody has looked at, does those that take no time, and puts
//! the others where only the others take them. So what must not wait for handlers, such as their cancellation, does not.
//!
//! **Invariant:** while jobs wait, an idle thread was woken for each of them, or a thread is on its way that looks for them, or as many
//! threads as allowed are busy, and the reserve looks at those that nobody has looked at, or was called for that. A thread that takes a job
//! looks whether more wait, and calls another one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::round::Round;
use crate::sync::{Condvar, Mutex};

/// How long an idle thread stays.
const IDLE: Duration = Duration::from_secs(3);

/// Whether the caller has to start a thread, which is counted already.
#[must_use = "a thread that is counted has to be started"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Hands {
    #[default]
    Enough,
    StartOne,
    StartReserve,
}

/// Jobs and the threads that take them.
#[derive(Debug)]
pub(super) struct Crew<J> {
    state: Mutex<State<J>>,
    /// How many jobs wait, to be looked at without the lock.
    waiting: AtomicUsize,
    /// A thread has left.
    fewer: Condvar,
    /// There is something to look at for the reserve.
    look: Condvar,
    max_workers: usize,
    max_waiting: usize,
}

/// Guarded by [`Crew::state`], which is held for moments only and inside of which no other lock is taken.
#[derive(Debug)]
struct State<J> {
    jobs: VecDeque<J>,
    /// Those that the reserve has looked at: they take time.
    long: VecDeque<J>,
    /// Whether the reserve is there, or on its way.
    has_reserve: bool,
    /// Idle threads that nobody has woken yet. The last one is woken first, so that those which are not needed leave.
    idle: Vec<Arc<Seat>>,
    threads: usize,
    /// A thread was called that has not come yet.
    starting: bool,
    stopped: bool,
}

/// Where an idle thread waits.
#[derive(Debug)]
pub(super) enum Seat {
    /// For jobs only.
    Idle(Condvar),
    /// For other things too, with this to be woken by.
    Busy(Arc<Round>),
}

impl Seat {
    fn wake(&self) {
        match self {
            Self::Idle(woken) => woken.notify_one(),
            Self::Busy(round) => round.wake.fire(),
        }
    }
}

impl<J> State<J> {
    fn waiting(&self) -> usize {
        self.jobs.len() + self.long.len()
    }

    fn drain(&mut self) -> Vec<J> {
        self.long.drain(..).chain(self.jobs.drain(..)).collect()
    }

    fn has(&self, seat: &Arc<Seat>) -> bool {
        self.idle.iter().any(|other| Arc::ptr_eq(other, seat))
    }

    /// The last one who sat down, but first of all one who stays with connections: they come together there.
    fn pop_idle(&mut self) -> Option<Arc<Seat>> {
        let busy = |seat: &Arc<Seat>| matches!(**seat, Seat::Busy(_));
        match self.idle.iter().rposition(busy) {
            Some(place) => Some(self.idle.remove(place)),
            None => self.idle.pop(),
        }
    }

    /// Returns whether nobody had woken the one who sat there.
    fn leave(&mut self, seat: &Arc<Seat>) -> bool {
        let place = self.idle.iter().position(|other| Arc::ptr_eq(other, seat));
        place.map(|place| self.idle.remove(place)).is_some()
    }
}

impl<J> Crew<J> {
    pub(super) fn new(max_workers: usize, max_waiting: usize) -> Self {
        Self {
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                long: VecDeque::new(),
                has_reserve: false,
                idle: Vec::new(),
                threads: 0,
                starting: false,
                stopped: false,
            }),
            waiting: AtomicUsize::new(0),
            fewer: Condvar::new(),
            look: Condvar::new(),
            max_workers: max_workers.max(1),
            max_waiting,
        }
    }

    /// Has a thread take the job. Gives it back when too many wait already, or when the threads were stopped.
    pub(super) fn push(&self, job: J) -> Result<Hands, J> {
        self.push_within(job, self.max_waiting)
    }

    /// The same for a job that must not be refused.
    pub(super) fn push_again(&self, job: J) -> Result<Hands, J> {
        self.push_within(job, usize::MAX)
    }

    fn push_within(&self, job: J, max_waiting: usize) -> Result<Hands, J> {
        let mut state = self.state.lock();
        let may_start = state.threads < self.max_workers;
        // Who is on the way to an idle thread does not wait.
        if state.stopped || (state.jobs.len() >= max_waiting && state.idle.is_empty() && !may_start)
        {
            return Err(job);
        }
        state.jobs.push_back(job);
        Ok(self.provide(&mut state))
    }

    /// The same for a job that takes time, of the reserve.
    pub(super) fn push_long(&self, job: J) -> Result<Hands, J> {
        let mut state = self.state.lock();
        if state.stopped || state.long.len() >= self.max_waiting {
            return Err(job);
        }
        state.long.push_back(job);
        Ok(self.provide(&mut state))
    }

    /// There is a job more.
    fn provide(&self, state: &mut State<J>) -> Hands {
        self.waiting.store(state.waiting(), Ordering::Relaxed);
        if let Some(seat) = state.pop_idle() {
            seat.wake();
            return Hands::Enough;
        }
        self.call(state)
    }

    /// One thread is called at a time: quick jobs need no more.
    fn call(&self, state: &mut State<J>) -> Hands {
        if state.waiting() == 0 || state.starting {
            return Hands::Enough;
        }
        if state.threads < self.max_workers {
            state.starting = true;
            state.threads += 1;
            return Hands::StartOne;
        }
        if state.jobs.is_empty() {
            return Hands::Enough;
        }
        if std::mem::replace(&mut state.has_reserve, true) {
            self.look.notify_one();
            return Hands::Enough;
        }
        Hands::StartReserve
    }

    /// Jobs that were found to take time may take none any more: the reserve looks at them again.
    pub(super) fn look_again(&self) -> Hands {
        let mut state = self.state.lock();
        for job in std::mem::take(&mut state.long).into_iter().rev() {
            state.jobs.push_front(job);
        }
        self.call(&mut state)
    }

    /// A thread that was called has come.
    pub(super) fn arrived(&self) {
        self.state.lock().starting = false;
    }

    /// A thread that was called could not be started. Returns the jobs that nobody is there to take.
    pub(super) fn failed(&self) -> Vec<J> {
        let mut state = self.state.lock();
        state.starting = false;
        state.threads -= 1;
        self.fewer.notify_all();
        if state.threads > 0 {
            return Vec::new();
        }
        self.waiting.store(0, Ordering::Relaxed);
        state.drain()
    }

    /// The reserve could not be started, or leaves.
    pub(super) fn without_reserve(&self) {
        self.state.lock().has_reserve = false;
        self.fewer.notify_all();
    }

    /// Waits for a job that nobody has looked at, while all others are busy. `None` tells the reserve to leave; it is no longer counted then.
    pub(super) fn next_to_look_at(&self) -> Option<J> {
        let deadline = Instant::now() + IDLE;
        let mut state = self.state.lock();
        while !state.stopped {
            if let Some(job) = state.jobs.pop_front() {
                self.waiting.store(state.waiting(), Ordering::Relaxed);
                return Some(job);
            }
            if Instant::now() >= deadline {
                break;
            }
            state = self.look.wait_until(state, Some(deadline));
        }
        state.has_reserve = false;
        self.fewer.notify_all();
        None
    }

    /// Waits for a job. `None` tells the calling thread to leave; it is no longer counted then.
    pub(super) fn next(&self) -> Option<(J, Hands)> {
        let mut state = self.state.lock();
        let mut seat = None;
        loop {
            if state.stopped {
                break;
            }
            if let Some(taken) = self.take(&mut state) {
                return Some(taken);
            }
            let seat = Arc::clone(seat.get_or_insert_with(|| Arc::new(Seat::Idle(Condvar::new()))));
            let Seat::Idle(woken) = &*seat else {
                break;
            };
            let deadline = Instant::now() + IDLE;
            state.idle.push(Arc::clone(&seat));
            while state.has(&seat) && !state.stopped {
                state = woken.wait_until(state, Some(deadline));
                if Instant::now() >= deadline {
                    break;
                }
            }
            if state.leave(&seat) {
                break;
            }
        }
        state.threads -= 1;
        self.fewer.notify_all();
        None
    }

    /// Takes a job if one waits. Otherwise the thread may be woken for one from now on, in its own seat.
    pub(super) fn sit(&self, seat: &Arc<Seat>) -> Option<(J, Hands)> {
        let mut state = self.state.lock();
        let taken = self.take(&mut state);
        if taken.is_none() && !state.stopped {
            state.idle.push(Arc::clone(seat));
        }
        taken
    }

    /// The thread waits no longer, and takes a job if there is one.
    pub(super) fn rise(&self, seat: &Arc<Seat>) -> Option<(J, Hands)> {
        let mut state = self.state.lock();
        state.leave(seat);
        self.take(&mut state)
    }

    fn take(&self, state: &mut State<J>) -> Option<(J, Hands)> {
        let job = state.long.pop_front().or_else(|| state.jobs.pop_front())?;
        self.waiting.store(state.waiting(), Ordering::Relaxed);
        // Those who were woken for the rest are on their way.
        let hands = match state.idle.is_empty() {
            true => self.call(state),
            false => Hands::Enough,
        };
        Some((job, hands))
    }

    /// Whether jobs wait. May be a moment behind.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn threads(&self) -> usize {
        self.state.lock().threads
    }

    /// Has all threads leave when they are done with what they do. Returns the jobs that are left.
    pub(super) fn stop(&self) -> Vec<J> {
        let mut state = self.state.lock();
        state.stopped = true;
        for seat in state.idle.drain(..) {
            seat.wake();
        }
        self.look.notify_all();
        self.waiting.store(0, Ordering::Relaxed);
        state.drain()
    }

    /// Waits until no more than `own` threads are left, or until the deadline. Returns whether it is so.
    pub(super) fn wait_for_threads(&self, own: usize, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        let threads = |state: &State<J>| state.threads + usize::from(state.has_reserve);
        while threads(&state) > own && Instant::now() < deadline {
            state = self.fewer.wait_until(state, Some(deadline));
        }
        threads(&state) <= own
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn jobs_over_the_bound_are_given_back() {
        let crew = Crew::new(1, 1);
        assert_eq!(crew.push(1), Ok(Hands::StartOne));
        crew.arrived();
        assert_eq!(crew.push(2), Err(2));
        assert_eq!(crew.next(), Some((1, Hands::Enough)));
        assert_eq!(crew.push(3), Ok(Hands::StartReserve));
        assert_eq!(crew.push(4), Err(4));
        assert_eq!(crew.push_again(5), Ok(Hands::Enough));
    }

    #[test]
    fn who_takes_a_job_calls_another_thread_for_the_next() {
        let crew = Crew::new(2, 9);
        assert_eq!(crew.push(1), Ok(Hands::StartOne));
        assert_eq!(crew.push(2), Ok(Hands::Enough));
        crew.arrived();
        assert_eq!(crew.next(), Some((1, Hands::StartOne)));
        assert_eq!(crew.threads(), 2);
    }

    #[test]
    fn the_reserve_looks_at_each_job_once() {
        let crew = Crew::new(1, 2);
        assert_eq!(crew.push(1), Ok(Hands::StartOne));
        crew.arrived();
        assert_eq!(crew.next(), Some((1, Hands::Enough)));
        assert_eq!(crew.push(2), Ok(Hands::StartReserve));
        assert_eq!(crew.push(3), Ok(Hands::Enough));
        assert_eq!(crew.next_to_look_at(), Some(2));
        assert_eq!(crew.push_long(2), Ok(Hands::Enough));
        assert_eq!(crew.next_to_look_at(), Some(3));
        assert_eq!(crew.push_long(3), Ok(Hands::Enough));
        // No more than may wait, and beside them what nobody has looked at.
        assert_eq!(crew.push_long(4), Err(4));
        assert_eq!(crew.push(4), Ok(Hands::Enough));
        assert_eq!(crew.waiting(), 3);
        // In the order in which they came.
        let taken = [2, 3, 4].map(|_| crew.next().map(|(job, _)| job));
        assert_eq!(taken, [2, 3, 4].map(Some));
        assert!(crew.stop().is_empty());
        assert!(!crew.wait_for_threads(1, Instant::now()));
        assert_eq!(crew.next_to_look_at(), None);
        assert!(crew.wait_for_threads(1, Instant::now()));
    }

    #[test]
    fn without_any_thread_the_jobs_are_given_back() {
        let crew = Crew::new(2, 9);
        assert_eq!(crew.push(1), Ok(Hands::StartOne));
        assert_eq!(crew.push(2), Ok(Hands::Enough));
        assert_eq!(crew.failed(), [1, 2]);
        assert_eq!(crew.push(3), Ok(Hands::StartOne));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    /// Two jobs are pushed while the only thread goes idle: it is woken, and both are taken.
    #[test]
    fn loom_a_job_is_never_left_lying() {
        loom::model(|| {
            let crew = Arc::new(Crew::new(1, 9));
            assert_eq!(crew.push(0), Ok(Hands::StartOne));
            let worker = {
                let crew = Arc::clone(&crew);
                loom::thread::spawn(move || {
                    crew.arrived();
                    (0..3)
                        .filter_map(|_| crew.next())
                        .map(|(job, _)| job)
                        .sum::<u32>()
                })
            };
            assert!(crew.push(1).is_ok() && crew.push(2).is_ok());
            assert_eq!(worker.join().expect("no panic"), 3);
        });
    }

    /// A job is pushed while a thread that has other things to wait for sits down and rises again: it is taken once, and the seat is left.
    #[test]
    fn loom_who_sits_down_and_rises_misses_no_job() {
        loom::model(|| {
            let crew = Arc::new(Crew::new(1, 9));
            assert_eq!(crew.push(0), Ok(Hands::StartOne));
            let worker = {
                let crew = Arc::clone(&crew);
                loom::thread::spawn(move || {
                    crew.arrived();
                    let seat = Arc::new(Seat::Idle(Condvar::new()));
                    let mut taken = Vec::new();
                    for _ in 0..2 {
                        let found = crew.sit(&seat).or_else(|| crew.rise(&seat));
                        taken.extend(found.map(|(job, _)| job));
                    }
                    assert!(!crew.state.lock().has(&seat));
                    taken
                })
            };
            assert!(crew.push(1).is_ok());
            let mut taken = worker.join().expect("no panic");
            taken.extend(crew.stop());
            assert_eq!(taken, [0, 1]);
        });
    }

    /// A job is pushed while the only thread is busy or goes idle, and the reserve looks at it and puts it back: it is taken once.
    #[test]
    fn loom_what_the_reserve_puts_back_is_taken() {
        loom::model(|| {
            let crew = Arc::new(Crew::new(1, 9));
            assert_eq!(crew.push(0), Ok(Hands::StartOne));
            let (one, other) = (Arc::clone(&crew), Arc::clone(&crew));
            let worker = loom::thread::spawn(move || {
                one.arrived();
                [one.next(), one.next()].map(|taken| taken.map(|(job, _)| job))
            });
            let reserve = loom::thread::spawn(move || {
                while let Some(job) = other.next_to_look_at() {
                    assert!(other.push_long(job).is_ok());
                }
            });
            assert!(crew.push(1).is_ok());
            let mut taken = worker.join().expect("no panic");
            taken.sort_unstable();
            assert_eq!(taken, [Some(0), Some(1)]);
            assert!(crew.stop().is_empty());
            reserve.join().expect("no panic");
        });
    }

    /// Stopping while a thread goes idle: it leaves.
    #[test]
    fn loom_stopping_reaches_every_thread() {
        loom::model(|| {
            let crew = Arc::new(Crew::<u32>::new(1, 9));
            assert_eq!(crew.push(0), Ok(Hands::StartOne));
            let worker = {
                let crew = Arc::clone(&crew);
                loom::thread::spawn(move || while crew.next().is_some() {})
            };
            let _ = crew.stop();
            worker.join().expect("no panic");
            assert_eq!(crew.threads(), 0);
        });
    }
}
