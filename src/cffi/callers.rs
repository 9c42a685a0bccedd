//! A thread pool for started calls.
//!
//! A started call blocks a thread of this pool, just as a blocking call blocks the thread of its
//! caller. Threads start on demand, up to a limit, and end after a while without work.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::user::Inside;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};
use crate::transport::{Stack, Threads};

/// How long an idle thread waits for the next call before it ends.
const LINGER: Duration = Duration::from_secs(1);

type Work = Box<dyn FnOnce() + Send>;

/// The thread pool of one handle.
#[derive(Clone)]
pub(super) struct Callers(Arc<Inner>);

struct Inner {
    /// The number of the handle that owns the pool.
    number: u64,
    /// Invariant: there are at least as many idle threads and threads that are starting as queued
    /// work items, so each queued item has a thread. A thread whose idle time is over checks the
    /// queue under this lock before it ends. Otherwise work that was queued at that moment would
    /// never run.
    state: Mutex<State>,
    /// Notified under the lock when work is queued, and when the pool closes.
    changed: Condvar,
    most: usize,
    threads: Threads,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    idle: usize,
    count: usize,
    threads: Vec<JoinHandle<()>>,
    /// The work that was started in order and has not begun. Each item begins when the item before
    /// it has ended.
    in_order: VecDeque<Work>,
    /// Whether a thread runs the work that was started in order.
    ///
    /// Invariant: `in_order` is empty unless this is true. A thread that finds `in_order` empty
    /// resets this flag under the same lock. Otherwise work could be queued without a thread.
    runs_in_order: bool,
    closed: bool,
}

impl Callers {
    /// Makes the thread pool of the handle with the number `number`. At most `most` calls run at
    /// once.
    pub(super) fn new(number: u64, most: usize, threads: Threads) -> Self {
        Self(Arc::new(Inner {
            number,
            state: Mutex::default(),
            changed: Condvar::new(),
            most,
            threads,
        }))
    }

    /// Runs `work` on a thread of the pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] when the limit of calls is reached, [`ErrorKind::Closed`] after
    /// [`finish`](Self::finish), [`ErrorKind::Io`] when the system can't start a thread.
    pub(super) fn start(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut state = self.0.state.lock();
        let started = self.start_locked(&mut state, Box::new(work));
        drop(state);
        unlocked(started)
    }

    /// Runs `work` on a thread of the pool, after all work that was started with this function
    /// before. One thread of the pool runs all such work. The number of work items that wait is
    /// limited to the maximum number of threads.
    ///
    /// # Errors
    ///
    /// See [`start`](Self::start).
    pub(super) fn start_in_order(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut state = self.0.state.lock();
        if !state.runs_in_order {
            let inner = Arc::clone(&self.0);
            let run = move || inner.run_in_order(work);
            let started = self.start_locked(&mut state, Box::new(run));
            state.runs_in_order = started.is_ok();
            drop(state);
            return unlocked(started);
        }
        if state.closed || state.in_order.len() >= self.0.most {
            return Err(self.refusal(&state));
        }
        state.in_order.push_back(Box::new(work));
        Ok(())
    }

    /// Queues work, and starts a thread if no idle thread is left for the work. A failure returns
    /// the work too. The caller drops the work after releasing the lock, because the drop may run
    /// code of the host.
    fn start_locked(&self, state: &mut State, work: Work) -> Result<(), (Error, Work)> {
        if state.closed {
            return Err((self.refusal(state), work));
        }
        if state.idle <= state.waiting.len() {
            if state.count >= self.0.most {
                return Err((self.refusal(state), work));
            }
            let inner = Arc::clone(&self.0);
            let threads = &self.0.threads;
            let thread = match threads.start("call", Stack::Large, move || inner.run()) {
                Ok(thread) => thread,
                Err(error) => return Err((error, work)),
            };
            state.count += 1;
            state.threads.retain(|thread| !thread.is_finished());
            state.threads.push(thread);
        }
        state.waiting.push_back(work);
        self.0.changed.notify_one();
        Ok(())
    }

    /// Returns the reason why no work can be started.
    fn refusal(&self, state: &State) -> Error {
        if state.closed {
            return Error::new(ErrorKind::Closed, "the handle is being closed");
        }
        let most = self.0.most;
        let text = format!("{most} started calls are going on: wait for one to end");
        Error::new(ErrorKind::Busy, text)
    }

    /// Refuses new calls, and blocks until all running calls have ended. Must not be called on a
    /// thread of the pool, because the thread would join itself.
    pub(super) fn finish(&self) {
        let mut state = self.0.state.lock();
        state.closed = true;
        self.0.changed.notify_all();
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        for thread in threads {
            // A thread does not panic: each call catches panics.
            _ = thread.join();
        }
    }
}

/// Drops work that was not started, after the lock was released.
fn unlocked(started: Result<(), (Error, Work)>) -> Result<()> {
    started.map_err(|(error, work)| {
        drop(work);
        error
    })
}

impl Inner {
    /// Runs `first`, and then the work that was started in order meanwhile.
    fn run_in_order(&self, first: impl FnOnce()) {
        first();
        loop {
            let mut state = self.state.lock();
            let Some(work) = state.in_order.pop_front() else {
                state.runs_in_order = false;
                return;
            };
            drop(state);
            work();
        }
    }

    fn run(&self) {
        // Closing the handle waits for this thread. So a callback that runs here must not wait for
        // the handle to close; this mark lets `free_handle` detect that.
        let _inside = Inside::of(self.number);
        let mut state = self.state.lock();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                drop(state);
                work();
                state = self.state.lock();
                continue;
            }
            if state.closed {
                break;
            }
            let until = Instant::now() + LINGER;
            state.idle += 1;
            state = self.changed.wait_until(state, Some(until));
            state.idle -= 1;
            if state.waiting.is_empty() && Instant::now() >= until {
                break;
            }
        }
        state.count -= 1;
    }
}

impl fmt::Debug for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callers")
            .field("threads", &self.0.state.lock().count)
            .finish_non_exhaustive()
    }
}
