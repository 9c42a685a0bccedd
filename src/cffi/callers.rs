//! The threads of started calls.
//!
//! A started call blocks a thread, just as a blocking call blocks the thread of its caller.

use std::collections::VecDeque;
use std::sync::Arc;

use super::user::Inside;
use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::transport::{PoolWork, ThreadPool, Threads};

/// The setting that limits the threads of one handle.
const MAX_STARTED: &str = "mcplink_client_options_set_max_started";

/// The threads of one handle. Clones share the threads.
#[derive(Clone)]
pub(super) struct Callers {
    /// The number of the handle that owns the threads.
    number: u64,
    pool: ThreadPool,
    in_order: Arc<InOrder>,
}

/// The work that was started in order and has not begun. Each item begins when the item before it
/// has ended. `None` while no thread runs such work.
///
/// Invariant: a thread that finds no more work stores `None` under the same lock. Otherwise work
/// could be queued without a thread.
type InOrder = Mutex<Option<VecDeque<PoolWork>>>;

impl Callers {
    /// Makes the threads of the handle with the number `number`. At most `most` calls run at once.
    pub(super) fn new(number: u64, most: usize, threads: Threads) -> Self {
        Self {
            number,
            pool: ThreadPool::new("call", Some((most, MAX_STARTED)), threads),
            in_order: Arc::default(),
        }
    }

    /// Runs `work` on a thread of its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::error::ErrorKind::Busy) when the limit of calls is reached,
    /// `Closed` after [`finish`](Self::finish), `Io` when the system can't start a thread.
    pub(super) fn start(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        self.try_start(work).map_err(|(error, _work)| error)
    }

    fn try_start(&self, work: impl FnOnce() + Send + 'static) -> Result<(), (Error, PoolWork)> {
        let number = self.number;
        self.pool.start(Box::new(move || {
            // Closing the handle waits for this thread. So a callback that runs here must not wait
            // for the handle to close; this mark lets `free_handle` detect that.
            let _inside = Inside::of(number);
            work();
        }))
    }

    /// Runs `work` after all work that was started with this function before. One thread runs all
    /// such work. The number of work items that wait is limited to the maximum number of threads.
    ///
    /// # Errors
    ///
    /// See [`start`](Self::start).
    pub(super) fn start_in_order(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut in_order = self.in_order.lock();
        let refused = match &mut *in_order {
            Some(queued) => match self.pool.refusal(queued.len()) {
                None => {
                    queued.push_back(Box::new(work));
                    return Ok(());
                }
                Some(refusal) => (refusal, Box::new(work) as PoolWork),
            },
            None => {
                let queue = Arc::clone(&self.in_order);
                let started = self.try_start(move || {
                    work();
                    while let Some(work) = next_of(&queue) {
                        work();
                    }
                });
                match started {
                    Ok(()) => {
                        *in_order = Some(VecDeque::new());
                        return Ok(());
                    }
                    Err(refused) => refused,
                }
            }
        };
        drop(in_order);
        // The work is dropped after the lock.
        let (error, _work) = refused;
        Err(error)
    }

    /// Refuses new calls, and blocks until all running calls have ended. On a thread of a call,
    /// does not wait for that call.
    pub(super) fn finish(&self) {
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
