//! Threads that make calls for those who don't wait for them.
//!
//! A call that was started blocks a thread like any other call; here is that thread. Threads come on demand, up to a bound, and go when
//! they had nothing to do for a while.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::user::Inside;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};
use crate::transport::{Stack, Threads};

/// How long a thread waits for the next call.
const LINGER: Duration = Duration::from_secs(1);

type Work = Box<dyn FnOnce() + Send>;

/// The threads of one handle.
#[derive(Clone)]
pub(super) struct Callers(Arc<Inner>);

struct Inner {
    /// Of the handle.
    number: u64,
    state: Mutex<State>,
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
    closed: bool,
}

impl Callers {
    /// Those of the handle with this number. At most so many calls go on at once.
    pub(super) fn new(number: u64, most: usize, threads: Threads) -> Self {
        Self(Arc::new(Inner {
            number,
            state: Mutex::default(),
            changed: Condvar::new(),
            most,
            threads,
        }))
    }

    /// Has a thread do it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] when too many calls go on, [`ErrorKind::Closed`] after [`finish`](Self::finish), [`ErrorKind::Io`] when the system has no
    /// thread to give.
    pub(super) fn start(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut state = self.0.state.lock();
        if state.closed {
            return Err(Error::new(ErrorKind::Closed, "the handle is being closed"));
        }
        if state.idle > state.waiting.len() {
            state.waiting.push_back(Box::new(work));
            self.0.changed.notify_one();
            return Ok(());
        }
        if state.count >= self.0.most {
            let text = format!(
                "{} started calls are going on: wait for one to end",
                self.0.most
            );
            return Err(Error::new(ErrorKind::Busy, text));
        }
        let inner = Arc::clone(&self.0);
        let first: Work = Box::new(work);
        let threads = &self.0.threads;
        let thread = threads.start("call", Stack::Large, move || inner.run(first))?;
        state.count += 1;
        state.threads.retain(|thread| !thread.is_finished());
        state.threads.push(thread);
        Ok(())
    }

    /// Waits until all calls have ended, and lets none start any more. Not for one of these threads.
    pub(super) fn finish(&self) {
        let mut state = self.0.state.lock();
        state.closed = true;
        self.0.changed.notify_all();
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        for thread in threads {
            // It ends without a panic: each call is contained.
            _ = thread.join();
        }
    }
}

impl Inner {
    fn run(&self, first: Work) {
        // The end of the handle waits for this thread: whatever is called back here must not wait for that end.
        let _inside = Inside::of(self.number);
        first();
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
