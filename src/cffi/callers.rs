//! The started calls of a handle: their number, and the threads of those that need one.
//!
//! A call needs no thread while the server works on its first request. Calls that wait for other
//! events, such as waits for tasks, block a thread.

use std::collections::VecDeque;
use std::sync::Arc;

use super::user::Inside;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};
use crate::transport::{PoolWork, ThreadPool, Threads};

/// The setting that limits the started calls of one handle.
const MAX_STARTED: &str = "mcplink_client_options_set_max_started";

/// The started calls of one handle. Clones share the calls.
#[derive(Clone)]
pub(super) struct Callers {
    /// The number of the handle that owns the calls.
    number: u64,
    most: usize,
    under_way: Arc<UnderWay>,
    pool: ThreadPool,
    in_order: Arc<InOrder>,
}

/// The number of calls that have not ended.
#[derive(Default)]
struct UnderWay {
    state: Mutex<State>,
    /// Notified under the lock when no call is under way any more.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    count: usize,
    is_closed: bool,
}

/// The permission to make one started call. Dropping it ends the call.
pub(super) struct Admission(Arc<UnderWay>);

impl Drop for Admission {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.count -= 1;
        if state.count == 0 {
            self.0.ended.notify_all();
        }
    }
}

/// The work that was started in order and has not begun. Each item begins when the item before it
/// has ended. `None` while no thread runs such work.
///
/// Invariant: a thread that finds no more work stores `None` under the same lock. Otherwise work
/// could be queued without a thread.
type InOrder = Mutex<Option<VecDeque<PoolWork>>>;

impl Callers {
    /// Makes the calls of the handle with the number `number`. At most `most` calls are under way
    /// at once.
    pub(super) fn new(number: u64, most: usize, threads: Threads) -> Self {
        Self {
            number,
            most,
            under_way: Arc::default(),
            pool: ThreadPool::new("call", None, threads),
            in_order: Arc::default(),
        }
    }

    /// Counts one more call, until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::error::ErrorKind::Busy) when the limit of calls is reached,
    /// `Closed` after [`finish`](Self::finish).
    pub(super) fn admit(&self) -> Result<Admission> {
        let mut state = self.under_way.state.lock();
        if state.is_closed {
            let text = "the handle is being closed";
            return Err(Error::new(ErrorKind::Closed, text));
        }
        if state.count >= self.most {
            let most = self.most;
            let text =
                format!("{most} started calls are going on ({MAX_STARTED}): wait for one to end");
            return Err(Error::new(ErrorKind::Busy, text));
        }
        state.count += 1;
        Ok(Admission(Arc::clone(&self.under_way)))
    }

    /// Runs `work` on a thread of its own.
    ///
    /// # Errors
    ///
    /// See [`admit`](Self::admit). `Io` when the system can't start a thread.
    pub(super) fn start(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let work = self.admitted(work)?;
        self.run(work).map_err(|(error, _work)| error)
    }

    /// Counts one more call until `work` has run.
    fn admitted(&self, work: impl FnOnce() + Send + 'static) -> Result<PoolWork> {
        let admission = self.admit()?;
        Ok(Box::new(move || {
            work();
            drop(admission);
        }))
    }

    fn run(&self, work: impl FnOnce() + Send + 'static) -> Result<(), (Error, PoolWork)> {
        let number = self.number;
        self.pool.start(Box::new(move || {
            // Closing the handle waits for this thread. So a callback that runs here must not wait
            // for the handle to close; this mark lets `free_handle` detect that.
            let _inside = Inside::of(number);
            work();
        }))
    }

    /// Runs `work` after all work that was started with this function before. One thread runs all
    /// such work.
    ///
    /// # Errors
    ///
    /// See [`start`](Self::start).
    pub(super) fn start_in_order(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let work = self.admitted(work)?;
        let mut in_order = self.in_order.lock();
        if let Some(queued) = &mut *in_order {
            queued.push_back(work);
            return Ok(());
        }
        let queue = Arc::clone(&self.in_order);
        let started = self.run(move || {
            work();
            while let Some(work) = next_of(&queue) {
                work();
            }
        });
        if started.is_ok() {
            *in_order = Some(VecDeque::new());
        }
        drop(in_order);
        // If the work was refused, it is dropped after the lock.
        started.map_err(|(error, _work)| error)
    }

    /// Refuses new calls, and blocks until all calls have ended. Must not be called on the thread
    /// of a call.
    pub(super) fn finish(&self) {
        let mut state = self.under_way.state.lock();
        state.is_closed = true;
        while state.count > 0 {
            state = self.under_way.ended.wait(state);
        }
        drop(state);
        self.pool.close(None);
    }
}

/// Takes the next work that was started in order.
fn next_of(in_order: &InOrder) -> Option<PoolWork> {
    let mut in_order = in_order.lock();
    let next = in_order.as_mut().and_then(VecDeque::pop_front);
    if next.is_none() {
        *in_order = None;
    }
    next
}
