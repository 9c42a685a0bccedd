//! A session that a legacy server keeps for its client, and what to do when the server has lost it.
//!
//! A server that knows a session no more answers 404 and has done nothing: the client opens another one, once for all callers that wait,
//! and sends the request again.
//!
//! Spec: Transports, "Session Management" (2025-03-26 to 2025-11-25).

use std::time::{Duration, Instant};

use super::connect::{finish_opening, initialize};
use super::link::{Generation, Link};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::CallOptions;
use crate::schema::{InitializeRequestParams, SetLevelRequestParams, method};
use crate::sync::{Condvar, Mutex};

/// How a session is opened anew.
#[derive(Debug)]
pub(super) struct Reopening {
    pub(super) params: InitializeRequestParams,
    pub(super) patience: Duration,
    /// A caller is at it.
    busy: Mutex<bool>,
    done: Condvar,
}

impl Reopening {
    pub(super) fn new(params: InitializeRequestParams, patience: Duration) -> Self {
        Self {
            params,
            patience,
            busy: Mutex::new(false),
            done: Condvar::new(),
        }
    }
}

impl Generation {
    /// The session that the next request will be sent in.
    pub(super) fn session(&self) -> Option<u64> {
        self.peer.core().carrier()?.session()
    }

    /// Whether a request was refused because its session is known no more.
    pub(super) fn has_lost(&self, session: Option<u64>, error: &Error) -> bool {
        let is_about_method = error
            .rpc()
            .is_some_and(|rpc| rpc.code == ErrorCode::METHOD_NOT_FOUND);
        session.is_some() && error.http_status() == Some(404) && !is_about_method
    }

    /// Opens another session in the place of this one, unless that was done already; one caller does it for all.
    pub(super) fn reopen(
        &self,
        lost: Option<u64>,
        options: &CallOptions<'_>,
        link: &Link,
    ) -> Result<()> {
        let Some(reopening) = &self.reopening else {
            return Ok(());
        };
        let (timeout, _) = options.patience();
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut busy = reopening.busy.lock();
        loop {
            if self.session() != lost {
                return Ok(());
            }
            if !*busy {
                break;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let text = "another session was not opened in time";
                return Err(Error::new(ErrorKind::Timeout, text));
            }
            busy = reopening.done.wait_until(busy, deadline);
        }
        *busy = true;
        drop(busy);
        let _done = Done(reopening);
        let patience = timeout.map_or(reopening.patience, |timeout| {
            timeout.min(reopening.patience)
        });
        self.initialize_again(reopening, patience, link)
            .map_err(|error| {
                error
                    .context("the server knows the session no more, and opening another one failed")
            })
    }

    fn initialize_again(
        &self,
        reopening: &Reopening,
        patience: Duration,
        link: &Link,
    ) -> Result<()> {
        let result = initialize(&self.peer, &reopening.params, patience, None)?;
        let revision = self.revision;
        if result.protocol_version != revision.as_str() {
            let text = format!("it speaks another revision now, not {revision}: connect again");
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        }
        finish_opening(&self.peer, revision, patience, Duration::ZERO, None)?;
        link.subscriptions.subscribe_again(&self.peer, self.number);
        let level = link.log_level.lock().clone();
        if let Some(level) = level {
            let options = CallOptions::new().timeout(patience);
            let params = SetLevelRequestParams::new(level);
            self.peer
                .request(method::LOGGING_SET_LEVEL, &params, options)?;
        }
        Ok(())
    }
}

/// Lets the others go on, however opening went.
struct Done<'a>(&'a Reopening);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        *self.0.busy.lock() = false;
        self.0.done.notify_all();
    }
}
