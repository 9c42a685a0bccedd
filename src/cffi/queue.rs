//! The callback queue: callbacks that wait until the host dispatches its pump, or until a
//! dispatcher thread of this library runs them.
//!
//! **Invariants.** Jobs of one handle run one at a time, in the order in which they were posted.
//! There is one exception: while a callback makes a blocking call, `serve_questions` runs the
//! handle's jobs of the kind `Question`, before older jobs. A thread removes a job under the lock,
//! so that each job runs once. The thread runs the job without the lock, so that the job may post
//! other jobs. The wakeup descriptor is signalled under the lock when the queue becomes non-empty,
//! and cleared under the lock when the queue is empty. So the descriptor is never clear while a job
//! waits.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

#[cfg(loom)]
use loom::thread::{self, ThreadId};
#[cfg(not(loom))]
use std::thread::{self, ThreadId};

use super::user::{Callback, Hook, mcplink_notify_fn};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::fd::Wake;

/// The kind of a callback. The kind decides in which order callbacks run, and whether a callback
/// may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An event of a handle. At most [`MAX_EVENTS`] events of one handle are queued; further events
    /// are dropped.
    Event,
    /// A handler of a request from the peer. The peer waits for the answer.
    Question,
    /// A callback that is never dropped: the end or progress of a call, or a handler.
    Call,
}

/// The maximum number of queued events of one handle. Further events are dropped.
const MAX_EVENTS: usize = 1024;

struct Job {
    owner: u64,
    kind: Kind,
    run: Box<dyn FnOnce() + Send>,
}

/// A callback queue: callbacks in the order in which they were posted.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Notified under the lock when a job was added, when a job has ended, and by `look_again`.
    changed: Condvar,
    /// The wakeup descriptor of a queue that a host polls: readable while jobs wait.
    wakeup: Option<Wake>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// The thread that dispatches the queue at the moment.
    dispatcher: Option<ThreadId>,
    /// The thread to which the queue belongs: the last thread that dispatched the queue or, before
    /// the first dispatch, the last thread that [claimed](Queue::claim) the queue.
    home: Option<ThreadId>,
    /// Whether the queue was dispatched.
    is_dispatched: bool,
    /// The number of the handle whose job the dispatching thread runs.
    running: Option<u64>,
    notify: Option<Arc<Notify>>,
    closed: bool,
}

/// The host's function that is called when the queue has to be dispatched.
type Notify = Hook<Callback<mcplink_notify_fn>>;

fn call(notify: &Notify) {
    // SAFETY: the header requires valid arguments.
    let run = || unsafe { (notify.callback)(notify.user.ptr()) };
    // A panic in the callback can't be reported to a caller.
    _ = catch_unwind(AssertUnwindSafe(run));
}

impl Queue {
    /// Makes a queue that a host dispatches. The queue has a wakeup descriptor.
    pub(super) fn with_wakeup() -> Result<Arc<Self>> {
        let wakeup = Wake::new().map_err(|error| Error::io("making a pump", error))?;
        let queue = Self::new(Some(wakeup));
        queue.claim();
        Ok(Arc::new(queue))
    }

    /// Makes the current thread the thread of the queue, until the first dispatch sets the real
    /// thread. Most hosts dispatch on the thread that made the pump, or that asks for its
    /// descriptor, or that waits for it.
    pub(super) fn claim(&self) {
        let mut state = self.state.lock();
        if !state.is_dispatched {
            state.home = Some(thread::current().id());
        }
    }

    /// Makes a queue for a dispatcher thread of this library. The queue has no wakeup descriptor.
    pub(super) fn without_wakeup() -> Arc<Self> {
        Arc::new(Self::new(None))
    }

    fn new(wakeup: Option<Wake>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            wakeup,
        }
    }

    pub(super) fn wakeup(&self) -> Option<&Wake> {
        self.wakeup.as_ref()
    }

    /// Queues a callback. If the callback is an event and [`MAX_EVENTS`] events of the handle are
    /// queued already, the callback is dropped.
    pub(super) fn post(&self, owner: u64, kind: Kind, run: impl FnOnce() + Send + 'static) {
        let run = Box::new(run);
        let mut state = self.state.lock();
        if kind == Kind::Event && state.events_of(owner) >= MAX_EVENTS {
            drop(state);
            return;
        }
        let was_empty = state.jobs.is_empty();
        state.jobs.push_back(Job { owner, kind, run });
        self.changed.notify_all();
        if was_empty {
            if let Some(wakeup) = &self.wakeup {
                wakeup.fire();
            }
            let notify = state.notify.clone();
            drop(state);
            if let Some(notify) = notify {
                call(&notify);
            }
        }
    }

    /// Runs at most `most` queued callbacks, and returns how many ran.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::State`] when the queue is being dispatched already, by another thread or by a
    /// callback of this queue.
    pub(super) fn dispatch(&self, most: usize) -> Result<usize> {
        let mut state = self.state.lock();
        if state.dispatcher.is_some() {
            let text = "the pump is being dispatched already";
            return Err(Error::new(ErrorKind::State, text));
        }
        let me = thread::current().id();
        (state.dispatcher, state.home, state.is_dispatched) = (Some(me), Some(me), true);
        let mut count = 0;
        while count < most
            && let Some(job) = state.jobs.pop_front()
        {
            state.running = Some(job.owner);
            drop(state);
            (job.run)();
            count += 1;
            state = self.state.lock();
            state.running = None;
            self.changed.notify_all();
        }
        state.dispatcher = None;
        self.quieten(&state);
        // A host that only uses the notify function would not dispatch the remaining jobs
        // otherwise.
        let notify = state.notify.clone().filter(|_| !state.jobs.is_empty());
        drop(state);
        if let Some(notify) = notify {
            call(&notify);
        }
        Ok(count)
    }

    fn quieten(&self, state: &State) {
        if let Some(wakeup) = self.wakeup.as_ref().filter(|_| state.jobs.is_empty()) {
            wakeup.clear();
        }
    }

    /// The loop of a dispatcher thread: waits for jobs and runs them until [`close`](Self::close).
    pub(super) fn run(&self) {
        loop {
            let mut state = self.state.lock();
            while state.jobs.is_empty() && !state.closed {
                state = self.changed.wait(state);
            }
            if state.jobs.is_empty() {
                return;
            }
            drop(state);
            // Dispatching can't fail, because only this thread dispatches the queue.
            _ = self.dispatch(usize::MAX);
        }
    }

    /// Makes [`run`](Self::run) return once the queue is empty.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        self.changed.notify_all();
    }

    /// Returns whether the current thread is the last thread that dispatched the queue. If the
    /// queue belongs to a pump that was never dispatched, returns whether the current thread was
    /// the last to [claim](Self::claim) the queue.
    pub(super) fn is_home(&self) -> bool {
        self.state.lock().home == Some(thread::current().id())
    }

    /// Waits until `done` returns true or until the deadline, and meanwhile runs the jobs of kind
    /// [`Kind::Question`] of the handle `owner`, as long as no other thread dispatches the queue.
    /// After changing the state that `done` reads, a thread must call
    /// [`look_again`](Self::look_again). That function takes the lock. Otherwise the change could
    /// fall between the check of `done` and the wait, and the wakeup would be lost.
    pub(super) fn serve_questions(
        &self,
        owner: u64,
        deadline: Option<Instant>,
        done: impl Fn() -> bool,
    ) {
        let me = thread::current().id();
        let mut state = self.state.lock();
        loop {
            let is_home = state.home == Some(me);
            let question =
                state.take(|job| is_home && job.owner == owner && job.kind == Kind::Question);
            if let Some(job) = question {
                drop(state);
                (job.run)();
                state = self.state.lock();
                continue;
            }
            if done() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.quieten(&state);
                return;
            }
            state = self.changed.wait_until(state, deadline);
        }
    }

    /// Wakes the waiting threads, so that they check their conditions again.
    pub(super) fn look_again(&self) {
        let _state = self.state.lock();
        self.changed.notify_all();
    }

    /// Runs all queued jobs of a handle that is being closed, on this thread. If a job of the
    /// handle runs on another thread, first waits until that job has ended.
    pub(super) fn finish(&self, owner: u64) {
        let mut state = self.state.lock();
        loop {
            let elsewhere = state.dispatcher != Some(thread::current().id());
            if elsewhere && state.running == Some(owner) {
                state = self.changed.wait(state);
                continue;
            }
            let (left, others) = std::mem::take(&mut state.jobs)
                .into_iter()
                .partition::<VecDeque<Job>, _>(|job| job.owner == owner);
            state.jobs = others;
            self.quieten(&state);
            if left.is_empty() {
                return;
            }
            drop(state);
            for job in left {
                (job.run)();
            }
            state = self.state.lock();
        }
    }

    /// Waits until a job is queued or until the deadline. Returns the number of queued jobs.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Result<usize> {
        self.claim();
        if let Some(wakeup) = &self.wakeup {
            let waited = wakeup.wait(deadline);
            waited.map_err(|error| Error::io("waiting for a pump", error))?;
        }
        let state = self.state.lock();
        self.quieten(&state);
        Ok(state.jobs.len())
    }

    pub(super) fn set_notify(&self, notify: Option<Arc<Notify>>) {
        let mut state = self.state.lock();
        let now = notify.clone().filter(|_| !state.jobs.is_empty());
        let before = std::mem::replace(&mut state.notify, notify);
        drop(state);
        // The host's `destroy` must run without a lock of this library.
        drop(before);
        if let Some(notify) = now {
            call(&notify);
        }
    }
}

impl State {
    fn events_of(&self, owner: u64) -> usize {
        let events = self.jobs.iter();
        events
            .filter(|job| job.owner == owner && job.kind == Kind::Event)
            .count()
    }

    fn take(&mut self, wanted: impl Fn(&Job) -> bool) -> Option<Job> {
        let at = self.jobs.iter().position(wanted)?;
        self.jobs.remove(at)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("waiting", &self.state.lock().jobs.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn counting(count: &Arc<AtomicUsize>) -> impl FnOnce() + Send + 'static {
        let count = Arc::clone(count);
        move || _ = count.fetch_add(1, Ordering::SeqCst)
    }

    /// One thread closes a handle while another thread dispatches the queue. Each callback runs
    /// once, and no callback runs after the handle was closed.
    #[test]
    fn loom_a_callback_runs_once_and_not_after_the_end() {
        loom::model(|| {
            let queue = Queue::without_wakeup();
            let (mine, others) = (Arc::default(), Arc::default());
            queue.post(1, Kind::Call, counting(&mine));
            queue.post(2, Kind::Call, counting(&others));
            let dispatching = Arc::clone(&queue);
            let dispatcher = thread::spawn(move || dispatching.dispatch(1).is_ok());
            queue.finish(1);
            assert_eq!(mine.load(Ordering::SeqCst), 1, "it has run");
            assert!(dispatcher.join().expect("no panic"));
            assert_eq!(mine.load(Ordering::SeqCst), 1, "once");
            queue.dispatch(usize::MAX).expect("nobody else dispatches");
            assert_eq!(others.load(Ordering::SeqCst), 1);
        });
    }

    /// A dispatcher thread runs all posted jobs, and ends when the queue is closed.
    #[test]
    fn loom_the_dispatcher_runs_all_and_ends() {
        loom::model(|| {
            let queue = Queue::without_wakeup();
            let count = Arc::default();
            let running = Arc::clone(&queue);
            let dispatcher = thread::spawn(move || running.run());
            queue.post(1, Kind::Call, counting(&count));
            queue.close();
            dispatcher.join().expect("no panic");
            assert_eq!(count.load(Ordering::SeqCst), 1);
        });
    }
}
