//! The threads that serve requests: called on demand, up to a limit, and gone again after a while.
//!
//! **Invariant:** while jobs wait, an idle thread was woken for each of them, or a thread is on its way that looks for them, or as many
//! threads as allowed are busy. A thread that takes a job looks whether more wait, and calls another one.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hands {
    Enough,
    StartOne,
}

/// Jobs and the threads that take them.
#[derive(Debug)]
pub(super) struct Crew<J> {
    state: Mutex<State<J>>,
    /// How many jobs wait, to be looked at without the lock.
    waiting: AtomicUsize,
    /// A thread has left.
    fewer: Condvar,
    max_workers: usize,
    max_waiting: usize,
}

/// Guarded by [`Crew::state`], which is held for moments only and inside of which no other lock is taken.
#[derive(Debug)]
struct State<J> {
    jobs: VecDeque<J>,
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
                idle: Vec::new(),
                threads: 0,
                starting: false,
                stopped: false,
            }),
            waiting: AtomicUsize::new(0),
            fewer: Condvar::new(),
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
        self.waiting.store(state.jobs.len(), Ordering::Relaxed);
        if let Some(seat) = state.pop_idle() {
            seat.wake();
            return Ok(Hands::Enough);
        }
        Ok(self.call(&mut state))
    }

    /// One thread is called at a time: quick jobs need no more.
    fn call(&self, state: &mut State<J>) -> Hands {
        if state.jobs.is_empty() || state.starting || state.threads >= self.max_workers {
            return Hands::Enough;
        }
        state.starting = true;
        state.threads += 1;
        Hands::StartOne
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
        state.jobs.drain(..).collect()
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
        let job = state.jobs.pop_front()?;
        self.waiting.store(state.jobs.len(), Ordering::Relaxed);
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
        self.waiting.store(0, Ordering::Relaxed);
        state.jobs.drain(..).collect()
    }

    /// Waits until no more than `own` threads are left, or until the deadline. Returns whether it is so.
    pub(super) fn wait_for_threads(&self, own: usize, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        while state.threads > own && Instant::now() < deadline {
            state = self.fewer.wait_until(state, Some(deadline));
        }
        state.threads <= own
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
        assert_eq!(crew.push(3), Ok(Hands::Enough));
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
            assert_eq!(crew.push(1), Ok(Hands::Enough));
            assert_eq!(crew.push(2), Ok(Hands::Enough));
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
            assert_eq!(crew.push(1), Ok(Hands::Enough));
            let mut taken = worker.join().expect("no panic");
            taken.extend(crew.stop());
            assert_eq!(taken, [0, 1]);
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
