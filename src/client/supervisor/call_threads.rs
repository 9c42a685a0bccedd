//! The threads of started calls: of calls over HTTP, and of calls that continue after their first
//! response.

use std::time::{Duration, Instant};

use super::{Phase, Supervisor};
use crate::error::Result;

/// How long a close waits for the threads of started calls.
const CALL_WAIT: Duration = Duration::from_secs(2);

impl Supervisor {
    /// Runs a started call, or the rest of the call, on a thread. A close of the client joins the
    /// thread.
    ///
    /// # Errors
    ///
    /// `Busy` if `max_calls` of these threads run, `Io` if the system can't start a thread, and the
    /// reason why the client is over.
    pub(in crate::client) fn start_call_thread(
        &self,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let started = self.call_threads.start(Box::new(work));
        started.map_err(|(error, _work)| match &self.state.lock().phase {
            Phase::Over(reason) => reason.clone(),
            Phase::Up | Phase::Down(_) => error,
        })
    }

    /// Joins the threads of started calls. The calls have already failed, so the threads end soon.
    /// If a handler of the host does not return, this function gives up after [`CALL_WAIT`].
    pub(super) fn join_calls(&self) {
        self.call_threads.close(Some(Instant::now() + CALL_WAIT));
    }
}
