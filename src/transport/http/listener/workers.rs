//! The worker pool of a listener: threads are started on demand, up to a limit, and end when idle.
//!
//! A worker takes a connection that has input; the addresses of the clients are served in turn
//! (round robin). To run the handler of a complete request, the worker needs a
//! [permit](super::permits). A request that gets no permit is queued until its client can have one.
//! A released permit goes to the waiting client that holds the fewest permits. Quick requests need
//! no permit.
//!
//! A handler may run on after its client has gone. Its permit then becomes an orphan: the client
//! can have another permit, and the handler counts towards a limit of its own.
//!
//! Therefore one worker more than there are permits is enough. This *priority worker* reads input
//! while all other workers run handlers. It serves the quick requests, such as cancellations.
//!
//! **Invariant** (no lost wakeup): while a job is ready, at least one of three conditions holds. An
//! idle worker has been woken for the job; or a worker is being started; or the pool is full, and
//! at least one of its workers runs no handler. A worker that takes a job checks, under the same
//! lock, whether more jobs are ready. If so, it wakes or starts another worker.
//!
//! **Invariant:** a request waits for a permit only while its client can't have one. This condition
//! is checked under the lock when the request begins to wait, and again when a permit is released.
//! So a permit that is released in between is not missed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::permits::{Permit, Permits};
use crate::fair_queue::FairQueue;
use crate::shares::Client;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::transport::http::ClientKey;
use crate::transport::sys::fd::SocketWake;

/// The maximum time that a worker stays idle. After that the worker ends.
const IDLE: Duration = Duration::from_secs(3);

/// Whether the caller has to start a worker thread. The pool has already counted that thread.
#[must_use = "a thread that is counted has to be started"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Spawn {
    #[default]
    No,
    One,
}

/// The limits of the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The maximum number of handlers that run at once. One client may use all of them.
    pub(super) max_workers: usize,
    /// The number of handlers beyond `max_workers` that may run for clients that hold few permits.
    pub(super) reserve: usize,
    /// The maximum number of permits of one client, once only the permits of the reserve are left.
    pub(super) part: usize,
    /// The maximum number of requests that wait for a permit. At the limit, a request is refused.
    /// At most as many permits are orphans.
    pub(super) max_waiting: usize,
}

/// The worker pool of a listener: connections that have input, requests that wait, and the idle
/// workers.
#[derive(Debug)]
pub(super) struct Workers<J> {
    state: Mutex<State<J>>,
    /// The number of ready jobs. The number is a hint: it is read without the lock and may be
    /// outdated. It is stored under the lock after each change. A decision that must be right is
    /// made under the lock.
    ready: AtomicUsize,
    /// The number of permits in use. The number is a hint that may be outdated.
    held: AtomicUsize,
    /// The condition variable that is notified when a worker has ended.
    fewer: Condvar,
    sizes: Sizes,
}

/// The state of the pool, guarded by [`Workers::state`]. The lock is held briefly only. While it is
/// held, no other lock is taken.
#[derive(Debug)]
struct State<J> {
    /// The connections that have input, grouped by the address of their client.
    jobs: FairQueue<Client, J>,
    /// The requests that wait for a permit.
    ///
    /// Invariant: none of the waiting clients can have another permit. Otherwise
    /// [`grant`](Self::grant) would have taken the request out under this lock.
    waiting: FairQueue<ClientKey, J>,
    /// The requests that waited for a permit and now have one.
    granted: VecDeque<(J, Arc<Permit>)>,
    permits: Permits,
    /// The number of permits whose clients have gone. They are not in `permits`.
    orphans: usize,
    /// The slots of the idle workers that have not been woken.
    ///
    /// Invariant: a waker removes a slot under the lock before it wakes the worker. A worker that
    /// finds its slot removed looks for a job before it sleeps or ends. So each wakeup is used. The
    /// newest slot is woken first, so that surplus workers end after their idle time.
    idle: Vec<Arc<IdleSlot>>,
    threads: usize,
    /// Whether a worker thread was requested but has not started yet. [`Spawn::One`] sets the flag;
    /// [`Workers::arrived`] and [`Workers::failed`] clear it.
    starting: bool,
    stopped: bool,
}

/// A job that a worker has taken.
#[derive(Debug)]
pub(super) struct Assignment<J> {
    pub(super) job: J,
    /// The permit of the job, if it has one. [`Workers::release`] returns the permit to the pool.
    pub(super) permit: Option<Arc<Permit>>,
    pub(super) spawn: Spawn,
}

/// The slot of an idle worker. Other threads wake the worker through its slot.
#[derive(Debug)]
pub(super) enum IdleSlot {
    /// The worker waits for jobs only.
    Idle(Condvar),
    /// The worker waits for jobs and for connections of its ready set. The wakeup of the set ends
    /// the wait.
    Busy(Arc<SocketWake>),
}

impl IdleSlot {
    fn wake(&self) {
        match self {
            Self::Idle(woken) => woken.notify_one(),
            Self::Busy(wake) => wake.fire(),
        }
    }
}

impl<J> State<J> {
    fn ready(&self) -> usize {
        self.jobs.len() + self.granted.len()
    }

    fn drain(&mut self) -> Vec<J> {
        let granted = self.granted.drain(..).map(|(job, permit)| {
            self.permits.give_back(&permit.key);
            job
        });
        let granted: Vec<J> = granted.collect();
        let rest = self.waiting.drain().chain(self.jobs.drain());
        granted.into_iter().chain(rest).collect()
    }

    fn has(&self, slot: &Arc<IdleSlot>) -> bool {
        self.idle.iter().any(|other| Arc::ptr_eq(other, slot))
    }

    /// Removes and returns the slot of the idle worker to wake. Prefers a worker that waits on its
    /// ready set, and among equals the newest slot. So connections gather at few workers.
    fn pop_idle(&mut self) -> Option<Arc<IdleSlot>> {
        let busy = |slot: &Arc<IdleSlot>| matches!(**slot, IdleSlot::Busy(_));
        match self.idle.iter().rposition(busy) {
            Some(place) => Some(self.idle.remove(place)),
            None => self.idle.pop(),
        }
    }

    /// Removes a slot from the idle list. Returns true if the worker had not been woken.
    fn leave(&mut self, slot: &Arc<IdleSlot>) -> bool {
        let place = self.idle.iter().position(|other| Arc::ptr_eq(other, slot));
        place.map(|place| self.idle.remove(place)).is_some()
    }

    /// Gives free permits to waiting requests. Each permit goes to the waiting client that holds
    /// the fewest permits. Returns whether any permit was given.
    fn grant(&mut self) -> bool {
        let mut has_granted = false;
        loop {
            let may_take = |(key, _): &(&ClientKey, usize)| self.permits.may_take(key);
            let next = self.waiting.clients().filter(may_take);
            // Several clients may hold equally few permits. `min_by_key` returns the first of them,
            // which is the next one in turn.
            let Some((key, _)) = next.min_by_key(|(key, _)| self.permits.held_by(key)) else {
                return has_granted;
            };
            let key = key.clone();
            let Some(job) = self.waiting.pop_of(&key) else {
                return has_granted;
            };
            has_granted |= self.permits.take(&key);
            self.granted.push_back((job, Permit::new(key)));
        }
    }

    /// Returns the client whose newest waiting request is displaced by a new request of the client
    /// `key`. The returned client, or its group, has at least two more waiting requests than `key`.
    /// Returns `None` if no client has so many.
    fn gives_way_to(&self, key: &ClientKey) -> Option<ClientKey> {
        let mut groups: HashMap<&Client, usize> = HashMap::new();
        for (other, queued) in self.waiting.clients() {
            *groups.entry(other.group()).or_default() += queued;
        }
        let own = groups.get(key.group()).copied().unwrap_or(0);
        let (largest, amount) = groups.into_iter().max_by_key(|(_, amount)| *amount)?;
        let of_group = self.waiting.clients();
        let of_group = of_group.filter(|(other, _)| other.group() == largest);
        let (other, queued) = of_group.max_by_key(|(_, queued)| *queued)?;
        let is_same = largest == key.group();
        let gives_way = match is_same {
            true => queued > self.waiting.queued(key) + 1,
            false => amount > own + 1,
        };
        gives_way.then(|| other.clone())
    }
}

impl<J> Workers<J> {
    pub(super) fn new(sizes: Sizes) -> Self {
        let sizes = Sizes {
            max_workers: sizes.max_workers.max(1),
            ..sizes
        };
        Self {
            state: Mutex::new(State {
                jobs: FairQueue::new(),
                waiting: FairQueue::new(),
                granted: VecDeque::new(),
                permits: Permits::new(sizes.max_workers, sizes.part, sizes.reserve),
                orphans: 0,
                idle: Vec::new(),
                threads: 0,
                starting: false,
                stopped: false,
            }),
            ready: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            fewer: Condvar::new(),
            sizes,
        }
    }

    /// Queues a connection that has input. Returns the connection when the pool was stopped.
    pub(super) fn push(&self, job: J, client: &Client) -> Result<Spawn, J> {
        let mut state = self.state.lock();
        if state.stopped {
            return Err(job);
        }
        state.jobs.push(client, job);
        Ok(self.spawn_if_needed(&mut state))
    }

    /// Takes a permit for a client. Returns `None` if the client can't have a permit now. The
    /// calling worker runs a handler next, so another worker may be needed to read.
    pub(super) fn permit(&self, key: &ClientKey) -> Option<(Arc<Permit>, Spawn)> {
        let mut state = self.state.lock();
        if !state.permits.take(key) {
            return None;
        }
        self.publish(&state);
        Some((Permit::new(key.clone()), self.call_for_rest(&mut state)))
    }

    /// Queues a request until its client can have a permit. If a request of another client is
    /// displaced, also returns the displaced request. Returns the new request as the error if the
    /// queue is full and no request can be displaced, or if the pool was stopped.
    pub(super) fn wait(&self, job: J, key: ClientKey) -> Result<(Spawn, Option<J>), J> {
        let mut state = self.state.lock();
        if state.stopped {
            return Err(job);
        }
        let mut displaced = None;
        // A permit may have been released since the caller failed to take one.
        if state.permits.take(&key) {
            state.granted.push_back((job, Permit::new(key)));
        } else {
            if state.waiting.len() >= self.sizes.max_waiting {
                let Some(other) = state.gives_way_to(&key) else {
                    return Err(job);
                };
                displaced = state.waiting.pop_last_of(&other);
            }
            state.waiting.push(&key, job);
        }
        Ok((self.spawn_if_needed(&mut state), displaced))
    }

    /// Returns a permit to the pool, and gives free permits to waiting requests.
    pub(super) fn release(&self, permit: &Permit) -> Spawn {
        let mut state = self.state.lock();
        match permit.state.swap(Permit::OVER, Ordering::Relaxed) {
            Permit::HELD => state.permits.give_back(&permit.key),
            Permit::ORPHAN => state.orphans -= 1,
            _ => {}
        }
        self.grant(state)
    }

    /// Makes the permit of a running handler an orphan, because the client of its request has gone.
    /// If there are too many orphans already, or if the permit was released, does nothing.
    pub(super) fn orphan(&self, permit: &Permit) -> Spawn {
        let mut state = self.state.lock();
        let is_held = permit.state.load(Ordering::Relaxed) == Permit::HELD;
        if !is_held || state.orphans >= self.sizes.max_waiting {
            return Spawn::No;
        }
        permit.state.store(Permit::ORPHAN, Ordering::Relaxed);
        state.permits.give_back(&permit.key);
        state.orphans += 1;
        self.grant(state)
    }

    fn grant(&self, mut state: MutexGuard<'_, State<J>>) -> Spawn {
        match state.grant() {
            true => self.spawn_if_needed(&mut state),
            false => {
                self.publish(&state);
                Spawn::No
            }
        }
    }

    /// Stores the hints that other threads read without the lock.
    fn publish(&self, state: &State<J>) {
        self.ready.store(state.ready(), Ordering::Relaxed);
        self.held.store(state.permits.held(), Ordering::Relaxed);
    }

    /// Wakes an idle worker, or requests a new worker, if a job is ready.
    fn spawn_if_needed(&self, state: &mut State<J>) -> Spawn {
        self.publish(state);
        if state.ready() == 0 {
            return Spawn::No;
        }
        if let Some(slot) = state.pop_idle() {
            slot.wake();
            return Spawn::No;
        }
        self.call(state)
    }

    /// Requests a new worker if a job is ready and the pool may grow.
    ///
    /// At most one worker is starting at a time. More would not help, because quick jobs are soon
    /// done. When all workers may be running handlers, one worker beyond the limit is allowed: the
    /// priority worker.
    fn call(&self, state: &mut State<J>) -> Spawn {
        if state.ready() == 0 || state.starting {
            return Spawn::No;
        }
        let orphans = state.orphans;
        if state.threads < self.sizes.max_workers + orphans
            || state.threads <= state.permits.held() + orphans
        {
            state.starting = true;
            state.threads += 1;
            return Spawn::One;
        }
        Spawn::No
    }

    /// Requests a new worker for the jobs that are still ready, unless a worker is idle.
    fn call_for_rest(&self, state: &mut State<J>) -> Spawn {
        match state.idle.is_empty() {
            true => self.call(state),
            false => Spawn::No,
        }
    }

    /// Moves all waiting requests back to the ready queue, so that a worker checks them again. A
    /// request whose session has ended needs no permit any more. The worker queues the other
    /// requests again.
    pub(super) fn look_again(&self) -> Spawn {
        let mut state = self.state.lock();
        let keys: Vec<ClientKey> = state
            .waiting
            .clients()
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            while let Some(job) = state.waiting.pop_of(&key) {
                state.jobs.push(key.group(), job);
            }
        }
        self.spawn_if_needed(&mut state)
    }

    /// Records that the requested worker has started. Each new worker calls this method first.
    pub(super) fn arrived(&self) {
        self.state.lock().starting = false;
    }

    /// Records that the requested worker could not be started. Returns all queued jobs if no worker
    /// is left.
    pub(super) fn failed(&self) -> Vec<J> {
        let mut state = self.state.lock();
        state.starting = false;
        state.threads -= 1;
        self.fewer.notify_all();
        if state.threads > 0 {
            return Vec::new();
        }
        let left = state.drain();
        self.publish(&state);
        left
    }

    /// Takes a job. Blocks until there is a job. Returns `None` when the worker has to end; the
    /// worker is then no longer counted.
    pub(super) fn next(&self) -> Option<Assignment<J>> {
        let mut state = self.state.lock();
        let mut slot = None;
        loop {
            if state.stopped {
                break;
            }
            if let Some(taken) = self.take(&mut state) {
                return Some(taken);
            }
            let slot =
                Arc::clone(slot.get_or_insert_with(|| Arc::new(IdleSlot::Idle(Condvar::new()))));
            let IdleSlot::Idle(woken) = &*slot else {
                break;
            };
            let deadline = Instant::now() + IDLE;
            state.idle.push(Arc::clone(&slot));
            while state.has(&slot) && !state.stopped {
                state = woken.wait_until(state, Some(deadline));
                if Instant::now() >= deadline {
                    break;
                }
            }
            if state.leave(&slot) {
                break;
            }
        }
        state.threads -= 1;
        self.fewer.notify_all();
        None
    }

    /// Takes a job, or registers the worker's slot as idle if there is no job.
    ///
    /// Both steps happen under one lock: a job that is queued later finds the slot and wakes the
    /// worker. The caller waits after this method returns. A wakeup before that wait is not lost,
    /// because the slot's wakeup stays set.
    pub(super) fn take_or_idle(&self, slot: &Arc<IdleSlot>) -> Option<Assignment<J>> {
        let mut state = self.state.lock();
        let taken = self.take(&mut state);
        if taken.is_none() && !state.stopped {
            state.idle.push(Arc::clone(slot));
        }
        taken
    }

    /// Removes the worker's slot from the idle list, and takes a job if there is one. The worker
    /// may have been woken for that job.
    pub(super) fn leave_idle(&self, slot: &Arc<IdleSlot>) -> Option<Assignment<J>> {
        let mut state = self.state.lock();
        state.leave(slot);
        self.take(&mut state)
    }

    fn take(&self, state: &mut State<J>) -> Option<Assignment<J>> {
        let (job, permit) = match state.granted.pop_front() {
            Some((job, permit)) => (job, Some(permit)),
            None => (state.jobs.pop()?, None),
        };
        self.publish(state);
        let spawn = self.call_for_rest(state);
        Some(Assignment { job, permit, spawn })
    }

    /// Whether jobs are ready. The answer is a hint that may be outdated.
    pub(super) fn has_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed) > 0
    }

    /// Whether as many handlers run as `max_workers` allows. In this state, a worker that runs no
    /// handler may be the only one that reads, so it keeps no connection. The answer is a hint that
    /// may be outdated.
    pub(super) fn is_saturated(&self) -> bool {
        self.held.load(Ordering::Relaxed) >= self.sizes.max_workers
    }

    /// Returns the number of queued jobs, including jobs that have a permit already.
    pub(super) fn waiting(&self) -> usize {
        let state = self.state.lock();
        state.ready() + state.waiting.len()
    }

    /// Returns the number of workers without the priority worker.
    pub(super) fn threads(&self) -> usize {
        let state = self.state.lock();
        let most = self.sizes.max_workers.max(state.permits.held());
        state.threads.min(most + state.orphans)
    }

    /// Stops the pool. Idle workers are woken and end; busy workers end after their job. Returns
    /// the queued jobs.
    pub(super) fn stop(&self) -> Vec<J> {
        let mut state = self.state.lock();
        state.stopped = true;
        for slot in state.idle.drain(..) {
            slot.wake();
        }
        let left = state.drain();
        self.publish(&state);
        left
    }

    /// Blocks until at most `own` workers are left, or until the deadline. Returns false if the
    /// deadline passes first.
    pub(super) fn wait_for_threads(&self, own: usize, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        while state.threads > own && Instant::now() < deadline {
            state = self.fewer.wait_until(state, Some(deadline));
        }
        state.threads <= own
    }
}

#[cfg(test)]
fn sizes(max_workers: usize, max_waiting: usize) -> Sizes {
    Sizes {
        max_workers,
        reserve: 2,
        part: (max_workers / 2).max(1),
        max_waiting,
    }
}

#[cfg(test)]
fn key(last: u8) -> ClientKey {
    ClientKey::address(Some([192, 0, 2, last].into()))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn workers(max_workers: usize, max_waiting: usize) -> Workers<u32> {
        Workers::new(sizes(max_workers, max_waiting))
    }

    fn permit(workers: &Workers<u32>, last: u8) -> Option<Arc<Permit>> {
        workers.permit(&key(last)).map(|(permit, _)| permit)
    }

    fn taken(workers: &Workers<u32>, last: u8) -> Arc<Permit> {
        permit(workers, last).expect("a permit")
    }

    fn push(workers: &Workers<u32>, job: u32, last: u8) -> Spawn {
        workers.push(job, key(last).own()).expect("not stopped")
    }

    fn next(workers: &Workers<u32>) -> (u32, Option<ClientKey>, Spawn) {
        let taken = workers.next().expect("a job");
        let key = taken.permit.map(|permit| permit.key.clone());
        (taken.job, key, taken.spawn)
    }

    #[test]
    fn who_takes_a_job_calls_another_thread_for_the_next() {
        let workers = workers(2, 9);
        assert_eq!(push(&workers, 1, 1), Spawn::One);
        assert_eq!(push(&workers, 2, 1), Spawn::No);
        workers.arrived();
        assert_eq!(next(&workers), (1, None, Spawn::One));
        assert_eq!(workers.threads(), 2);
    }

    #[test]
    fn while_all_run_handlers_one_more_reads() {
        let workers = workers(1, 9);
        assert_eq!(push(&workers, 1, 1), Spawn::One);
        workers.arrived();
        assert_eq!(next(&workers), (1, None, Spawn::No));
        assert_eq!(push(&workers, 2, 1), Spawn::No, "it may come back at once");
        let spawn = workers.permit(&key(1)).map(|(_, spawn)| spawn);
        assert_eq!(spawn, Some(Spawn::One));
        assert!(workers.is_saturated());
        workers.arrived();
        assert_eq!(next(&workers), (2, None, Spawn::No));
        assert_eq!(push(&workers, 3, 1), Spawn::No, "it may come back at once");
        assert_eq!(workers.threads(), 1, "one only reads");
    }

    #[test]
    fn requests_wait_for_permits_by_clients_and_are_refused_beyond_the_bound() {
        let workers = workers(2, 2);
        let keys = [1, 2, 3].map(key);
        let first = [taken(&workers, 1), taken(&workers, 1)];
        assert!(permit(&workers, 1).is_none(), "the reserve is for others");
        assert!(workers.wait(1, keys[0].clone()).is_ok());
        assert!(workers.wait(2, keys[0].clone()).is_ok());
        assert_eq!(workers.wait(3, keys[0].clone()), Err(3));
        let (second, third) = (taken(&workers, 2), taken(&workers, 3));
        let gave_way = workers.wait(4, keys[1].clone()).expect("a place");
        assert_eq!(gave_way.1, Some(2), "the last one of whom most wait");
        assert_eq!(workers.wait(5, keys[2].clone()), Err(5), "all have as many");
        assert_eq!((workers.waiting(), workers.has_ready()), (2, false));
        // Two of the four permits are released, but the reserve stays free.
        assert_eq!(workers.release(&third), Spawn::No);
        assert_eq!(workers.release(&first[0]), Spawn::No);
        assert!(!workers.has_ready());
        assert_eq!(workers.release(&second), Spawn::One);
        workers.arrived();
        let next_one = workers.next().expect("a job");
        let permit = next_one.permit.expect("a permit");
        assert_eq!((next_one.job, &permit.key), (4, &keys[1]));
        _ = workers.release(&permit);
        assert_eq!(next(&workers).0, 1);
    }

    #[test]
    fn a_permit_that_is_given_back_goes_to_who_holds_least() {
        let workers = workers(4, 9);
        let [busy, quick] = [1, 2].map(key);
        let held = [(); 4].map(|()| taken(&workers, 1));
        let reserved = taken(&workers, 2);
        assert!(workers.wait(1, busy.clone()).is_ok());
        assert!(workers.wait(2, busy.clone()).is_ok());
        _ = workers.release(&reserved);
        assert!(!workers.has_ready(), "it was of the reserve");
        assert!(permit(&workers, 2).is_some() && permit(&workers, 2).is_none());
        assert!(workers.wait(3, quick.clone()).is_ok());
        // The permit goes to this client, although the other client's requests have waited longer.
        _ = workers.release(&held[0]);
        let (job, key, _) = next(&workers);
        assert_eq!((job, key), (3, Some(quick)));
    }

    #[test]
    fn a_permit_whose_client_has_gone_makes_room_for_another() {
        let workers = workers(1, 2);
        assert_eq!(push(&workers, 0, 1), Spawn::One);
        workers.arrived();
        assert_eq!(next(&workers).0, 0);
        let first = taken(&workers, 1);
        assert!(workers.wait(1, key(1)).is_ok());
        assert_eq!(
            workers.orphan(&first),
            Spawn::One,
            "all threads run handlers"
        );
        workers.arrived();
        assert_eq!(workers.orphan(&first), Spawn::No, "only once");
        let second = workers.next().expect("a job").permit.expect("a permit");
        _ = workers.orphan(&second);
        let third = taken(&workers, 1);
        // There may be as many as may wait.
        _ = workers.orphan(&third);
        assert!(permit(&workers, 1).is_none());
        _ = workers.release(&third);
        _ = workers.release(&first);
        let fourth = taken(&workers, 1);
        _ = workers.release(&fourth);
        assert_eq!(workers.orphan(&fourth), Spawn::No);
        _ = workers.release(&second);
        let state = workers.state.lock();
        assert_eq!((state.orphans, state.permits.held()), (0, 0));
    }

    #[test]
    fn connections_are_taken_in_turn_over_the_addresses() {
        let workers = workers(1, 9);
        for (job, last) in [(1, 1), (2, 1), (3, 1), (4, 2)] {
            _ = push(&workers, job, last);
        }
        let taken = [(); 4].map(|()| next(&workers).0);
        assert_eq!(taken, [1, 4, 2, 3]);
    }

    #[test]
    fn without_any_thread_the_jobs_are_given_back() {
        let workers = workers(2, 9);
        assert_eq!(push(&workers, 1, 1), Spawn::One);
        assert_eq!(push(&workers, 2, 1), Spawn::No);
        assert_eq!(workers.failed(), [1, 2]);
        assert_eq!(push(&workers, 3, 1), Spawn::One);
        assert_eq!(workers.stop(), [3]);
        assert_eq!(workers.push(4, key(1).own()), Err(4));
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
