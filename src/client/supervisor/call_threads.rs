//! The threads of started calls: of calls over HTTP, and of calls that continue after their first
//! response.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Supervisor;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::Stack;

/// How long a close waits for the threads of started calls.
const CALL_WAIT: Duration = Duration::from_secs(2);

thread_local! {
    /// On the thread of a started call, the address of the client's supervisor; on other threads,
    /// 0. If this thread closes the client, the close must not wait for the thread itself.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

impl Supervisor {
    /// Starts a thread that runs a started call, or the rest of the call. A close of the client
    /// joins the thread.
    ///
    /// # Errors
    ///
    /// `Busy` if `max_calls` of these threads run, `Io` if the system can't start a thread.
    pub(in crate::client) fn start_call_thread(
        self: &Arc<Self>,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let running = RunningCall(Arc::clone(self));
        let max = self.settings.limits.max_calls;
        if self.running_calls.fetch_add(1, Ordering::AcqRel) >= max {
            let text = format!("{max} started calls have threads already (Limits::max_calls)");
            return Err(Error::new(ErrorKind::Busy, text));
        }
        let threads = &self.settings.threads;
        self.call_threads
            .start(threads, "call", Stack::Large, move || {
                CALLS.set(running.0.id());
                let _running = running;
                work();
            })
    }

    /// Joins the threads of started calls. The calls have already failed, so the threads end soon.
    /// If a handler of the host does not return, this function gives up after [`CALL_WAIT`].
    pub(super) fn join_calls(&self) {
        let own = usize::from(CALLS.get() == self.id());
        let until = Instant::now() + CALL_WAIT;
        let mut state = self.state.lock();
        while self.running_calls.load(Ordering::Acquire) > own {
            if Instant::now() >= until {
                return;
            }
            state = self.changed.wait_until(state, Some(until));
        }
        drop(state);
        self.call_threads.join();
    }
}

/// A guard that counts the thread of a started call.
struct RunningCall(Arc<Supervisor>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.running_calls.fetch_sub(1, Ordering::AcqRel);
        // The lock is taken so that the wakeup cannot fall between a waiter's check and its wait.
        drop(self.0.state.lock());
        self.0.changed.notify_all();
    }
}
