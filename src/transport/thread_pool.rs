//! A pool of threads for work that blocks.
//!
//! Each piece of work has a thread of its own while it runs. Threads start on demand, up to a
//! limit if there is one, and end after a while without work.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{Stack, Threads};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};

/// How long an idle thread waits for work before it ends.
const LINGER: Duration = Duration::from_secs(1);

pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// A pool of threads. Clones share the threads.
#[derive(Clone)]
pub(crate) struct ThreadPool(Arc<Inner>);

struct Inner {
    /// Invariant: there are at least as many idle threads and threads that are starting as queued
    /// pieces of work, so each piece has a thread. A thread whose idle time is over checks the
    /// queue under this lock before it ends. Otherwise work that was queued at that moment would
    /// never run.
    state: Mutex<State>,
    /// Notified under the lock when work is queued, when the pool closes, and when a thread of a
    /// closed pool ends.
    changed: Condvar,
    role: &'static str,
    /// The maximum number of threads, and the name of the setting for error texts.
    limit: Option<(usize, &'static str)>,
    threads: Threads,
}

#[derive(Default)]
struct State {
    queued: VecDeque<Work>,
    idle: usize,
    /// The number of threads that run, are idle, or are starting.
    count: usize,
    started: Vec<JoinHandle<()>>,
    is_closed: bool,
}

impl ThreadPool {
    /// Makes a pool without threads. `role` becomes a part of the threads' names. `limit` is the
    /// number of pieces of work that run at once, and the name of the setting of this limit.
    pub(crate) fn new(
        role: &'static str,
        limit: Option<(usize, &'static str)>,
        threads: Threads,
    ) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::default(),
            changed: Condvar::new(),
            role,
            limit,
            threads,
        }))
    }

    /// Runs `work` on a thread of the pool. Does not block.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] when all threads have work, [`ErrorKind::Closed`] after
    /// [`close`](Self::close), [`ErrorKind::Io`] when the system can't start a thread. The error
    /// comes with the work, because dropping the work may run code of the host: the caller drops it
    /// without holding a lock.
    pub(crate) fn start(&self, work: Work) -> Result<(), (Error, Work)> {
        let mut state = self.0.state.lock();
        if let Err(error) = self.ensure_thread(&mut state) {
            return Err((error, work));
        }
        state.queued.push_back(work);
        self.0.changed.notify_one();
        Ok(())
    }

    /// Starts a thread, unless an idle thread is left for one more piece of work.
    fn ensure_thread(&self, state: &mut State) -> Result<()> {
        let is_left = state.idle > state.queued.len();
        let busy = if is_left { 0 } else { state.count };
        if let Some(error) = self.0.refusal(state, busy) {
            return Err(error);
        }
        if is_left {
            return Ok(());
        }
        let inner = Arc::clone(&self.0);
        let run = move || inner.run();
        let thread = self.0.threads.start(self.0.role, Stack::Large, run)?;
        state.count += 1;
        state.started.retain(|thread| !thread.is_finished());
        state.started.push(thread);
        Ok(())
    }

    /// Refuses new work, and blocks until all work is done and the threads have ended. Gives up at
    /// the time `until`. On a thread of the pool, does not wait for the thread itself.
    pub(crate) fn close(&self, until: Option<Instant>) {
        let here = thread::current().id();
        let is_own = |thread: &JoinHandle<()>| thread.thread().id() == here;
        let mut state = self.0.state.lock();
        state.is_closed = true;
        self.0.changed.notify_all();
        let own = usize::from(state.started.iter().any(is_own));
        while state.count > own {
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            state = self.0.changed.wait_until(state, until);
        }
        let (own, ended) = std::mem::take(&mut state.started)
            .into_iter()
            .partition::<Vec<_>, _>(is_own);
        state.started = own;
        drop(state);
        for thread in ended {
            // Only a hook of the host can have panicked, which was reported.
            _ = thread.join();
        }
    }
}

impl Inner {
    /// Returns why work is refused while `busy` others run or wait.
    fn refusal(&self, state: &State, busy: usize) -> Option<Error> {
        if state.is_closed {
            let text = "the handle is being closed";
            return Some(Error::new(ErrorKind::Closed, text));
        }
        let (most, setting) = self.limit?;
        (busy >= most).then(|| {
            let text =
                format!("{most} started calls are going on ({setting}): wait for one to end");
            Error::new(ErrorKind::Busy, text)
        })
    }

    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(work) = state.queued.pop_front() {
                drop(state);
                // Work that has a result catches its own panics.
                _ = catch_unwind(AssertUnwindSafe(work));
                state = self.state.lock();
                continue;
            }
            if state.is_closed {
                break;
            }
            let until = Instant::now() + LINGER;
            state.idle += 1;
            state = self.changed.wait_until(state, Some(until));
            state.idle -= 1;
            if state.queued.is_empty() && Instant::now() >= until {
                break;
            }
        }
        state.count -= 1;
        if state.is_closed {
            self.changed.notify_all();
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("threads", &self.0.state.lock().count)
            .finish_non_exhaustive()
    }
}
