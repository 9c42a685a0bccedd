//! Callbacks that wait for a thread to run them: the host's, which dispatches a pump, or one of ours.
//!
//! **Invariants.** Jobs of one handle run in the order in which they were posted, one at a time. Whoever runs a job has it taken out of the
//! queue before, under the lock, and holds no lock while it runs. The bell is rung while jobs wait, and a little longer at most.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

#[cfg(loom)]
use loom::thread::{self, ThreadId};
#[cfg(not(loom))]
use std::thread::{self, ThreadId};

use super::user::UserData;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::fd::Wake;

/// What a callback is for, as far as the order of things cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something to know. Of one handle so many wait at most: see [`MAX_EVENTS`].
    Event,
    /// Something that somebody waits for.
    Question,
    /// What must not get lost: the end of a call, its progress, a handler's turn.
    Call,
}

/// So many events of one handle wait at most; the next one is dropped.
const MAX_EVENTS: usize = 1024;

struct Job {
    owner: u64,
    kind: Kind,
    run: Box<dyn FnOnce() + Send>,
}

/// Callbacks in the order in which they came.
pub(super) struct Queue {
    state: Mutex<State>,
    /// A job was added, one has ended, or somebody should look again.
    changed: Condvar,
    /// Readable while jobs wait, for queues that a host polls.
    bell: Option<Wake>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Who dispatches at the moment.
    dispatcher: Option<ThreadId>,
    /// Who dispatched last, or, before that, made a queue that is polled: the thread whose queue this is.
    home: Option<ThreadId>,
    /// Whose job the dispatcher runs.
    running: Option<u64>,
    notify: Option<Arc<Notify>>,
    closed: bool,
}

type NotifyFn = Option<unsafe extern "C-unwind" fn(user: *mut std::ffi::c_void)>;

/// What the host wants to be called when there is something to dispatch.
pub(super) struct Notify {
    callback: NotifyFn,
    user: UserData,
}

impl Notify {
    pub(super) fn new(callback: NotifyFn, user: UserData) -> Self {
        Self { callback, user }
    }

    fn ring(&self) {
        if let Some(callback) = self.callback {
            // SAFETY: the header says what it is given.
            let run = || unsafe { callback(self.user.ptr()) };
            // Whatever comes out of it, there is nobody to tell.
            _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        }
    }
}

impl Queue {
    /// A queue that a host polls.
    pub(super) fn with_bell() -> Result<Arc<Self>> {
        let bell = Wake::new().map_err(|error| Error::io("making a pump", error))?;
        let queue = Self::new(Some(bell));
        // Most hosts make it where they dispatch it; the first dispatch tells.
        queue.state.lock().home = Some(thread::current().id());
        Ok(Arc::new(queue))
    }

    /// A queue that a thread of ours waits for.
    pub(super) fn without_bell() -> Arc<Self> {
        Arc::new(Self::new(None))
    }

    fn new(bell: Option<Wake>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            bell,
        }
    }

    pub(super) fn bell(&self) -> Option<&Wake> {
        self.bell.as_ref()
    }

    /// Has a callback run. Dropped unrun when it is an event too many.
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
            if let Some(bell) = &self.bell {
                bell.fire();
            }
            let notify = state.notify.clone();
            drop(state);
            if let Some(notify) = notify {
                notify.ring();
            }
        }
    }

    /// Runs what waits, at most so many. Tells how many ran.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::State`] when somebody dispatches already: another thread, or this one, further up.
    pub(super) fn dispatch(&self, most: usize) -> Result<usize> {
        let mut state = self.state.lock();
        if state.dispatcher.is_some() {
            let text = "the pump is being dispatched already";
            return Err(Error::new(ErrorKind::State, text));
        }
        let me = thread::current().id();
        (state.dispatcher, state.home) = (Some(me), Some(me));
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
        // Whoever is told in no other way would not come back for what is left.
        let notify = state.notify.clone().filter(|_| !state.jobs.is_empty());
        drop(state);
        if let Some(notify) = notify {
            notify.ring();
        }
        Ok(count)
    }

    fn quieten(&self, state: &State) {
        if let Some(bell) = self.bell.as_ref().filter(|_| state.jobs.is_empty()) {
            bell.clear();
        }
    }

    /// Waits for jobs and runs them until [`close`](Self::close): the work of a thread of ours.
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
            // Nobody else dispatches it.
            _ = self.dispatch(usize::MAX);
        }
    }

    /// Ends [`run`](Self::run) when nothing waits any more.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        self.changed.notify_all();
    }

    /// Whether this thread is the one that runs the callbacks: it dispatches, or did so last.
    pub(super) fn is_home(&self) -> bool {
        self.state.lock().home == Some(thread::current().id())
    }

    /// Waits, and runs the questions of a handle meanwhile, until `done` says so. Whoever changes what `done` looks at calls
    /// [`look_again`](Self::look_again). Ends at the deadline too.
    pub(super) fn serve_questions(
        &self,
        owner: u64,
        deadline: Option<Instant>,
        done: impl Fn() -> bool,
    ) {
        let mut state = self.state.lock();
        loop {
            let question = state.take(|job| job.owner == owner && job.kind == Kind::Question);
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

    /// Has whoever waits look again.
    pub(super) fn look_again(&self) {
        let _state = self.state.lock();
        self.changed.notify_all();
    }

    /// Runs all that waits of a handle which ends, here, behind the job of it that another thread runs.
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

    /// Waits until something waits to be dispatched, or until the deadline. Tells how much waits.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Result<usize> {
        if let Some(bell) = &self.bell {
            let rung = bell.wait(deadline);
            rung.map_err(|error| Error::io("waiting for a pump", error))?;
        }
        let state = self.state.lock();
        self.quieten(&state);
        Ok(state.jobs.len())
    }

    pub(super) fn set_notify(&self, notify: Option<Notify>) {
        let notify = notify.map(Arc::new);
        let mut state = self.state.lock();
        let now = notify.clone().filter(|_| !state.jobs.is_empty());
        let before = std::mem::replace(&mut state.notify, notify);
        drop(state);
        // The host's `destroy` runs without a lock of ours.
        drop(before);
        if let Some(notify) = now {
            notify.ring();
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

    /// The end of a handle and a dispatch race: each callback runs once, and none when the end has come.
    #[test]
    fn loom_a_callback_runs_once_and_not_after_the_end() {
        loom::model(|| {
            let queue = Queue::without_bell();
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

    /// A thread of ours runs what is posted, and ends when it is told to.
    #[test]
    fn loom_the_dispatcher_runs_all_and_ends() {
        loom::model(|| {
            let queue = Queue::without_bell();
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
