//! Session recovery: what a client does when a legacy server has lost its session.
//!
//! A server that does not know a session answers with 404, or refuses the request in a response
//! that does not contain the request's id. In both cases the server has not processed the request.
//! After a 404 without the request's id the client opens a new session at once. After another such
//! refusal the client first sends a `ping`, and opens a new session if the `ping` is refused too.
//! Then the client sends the request again. One caller recovers the session for all waiting
//! callers.
//!
//! ```text
//!  refused ─┬─ 404 that names no request ────────────▶ initialize ──▶ once more
//!           ├─ another 404, or another 4xx
//!           │  that names no request ──────────▶ ping ──╯ refused alike
//!           │                                     ╰─ answered, or silence ──╮
//!           ╰─ anything else, also 401, 403, 407, 429 ──────────────────────┴▶ the refusal stands
//! ```
//!
//! Spec: Transports, "Session Management" (2025-03-26 to 2025-11-25).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call_options::CallOptions;
use super::connect::{finish_opening, initialize};
use super::supervisor::{ClientConnection, Supervisor};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::{CancelToken, LogLevel, RequestOptions};
use crate::schema::{InitializeRequestParams, JsonObject, SetLevelRequestParams, method};
use crate::sync::{Condvar, Mutex};
use crate::transport::message::RequestKind;

/// The params and the timeout for opening a new session of the server.
#[derive(Debug)]
pub(super) struct Reopening {
    pub(super) params: InitializeRequestParams,
    pub(super) patience: Duration,
    recovery: Arc<RecoveryLock>,
}

/// The lock for recovering the session. Only one caller at a time holds the lock.
#[derive(Debug, Default)]
struct RecoveryLock {
    // Guards the right to recover, not the session, and is not held during requests. Waiters check
    // the session's number and `is_held` under this mutex.
    state: Mutex<RecoveryState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct RecoveryState {
    /// Whether a caller holds the recovery lock.
    is_held: bool,
    /// The last time at which the server proved that it knows the session.
    last_proved: Option<Instant>,
}

/// Whether the refusal of a request proves that the session of the request is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Certain,
    Possible,
}

impl Loss {
    fn of(error: &Error) -> Option<Self> {
        let code = error.rpc().map(|rpc| rpc.code);
        match error.http_status()? {
            _ if code == Some(ErrorCode::METHOD_NOT_FOUND) => None,
            404 if error.is_vague() => Some(Self::Certain),
            404 => Some(Self::Possible),
            401 | 403 | 407 | 429 => None,
            400..=499 if error.is_vague() => Some(Self::Possible),
            _ => None,
        }
    }
}

/// The result of checking whether the server still knows the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    Known,
    Lost,
    /// No proof: either there was no answer, or the answer does not show whether the server knows
    /// the session.
    Neither,
}

impl Reopening {
    pub(super) fn new(params: InitializeRequestParams, patience: Duration) -> Self {
        Self {
            params,
            patience,
            recovery: Arc::default(),
        }
    }
}

impl RecoveryLock {
    /// Wakes the callers that wait for the recovery lock.
    fn wake(&self) {
        // The mutex is locked so that the wakeup cannot fall between a waiter's check and its wait.
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}

impl ClientConnection {
    /// Returns the number of the session that the next request uses; `None` without sessions.
    pub(super) fn session(&self) -> Option<u64> {
        self.peer.core().exchange_transport()?.session()
    }

    /// Recovers from the refusal of a request. If the session of the request was lost, opens a new
    /// session, unless another caller has opened one. Returns whether to repeat the request.
    ///
    /// # Errors
    ///
    /// Fails if the new session cannot be opened.
    pub(super) fn has_recovered(
        &self,
        session: Option<u64>,
        refusal: &Error,
        options: &CallOptions<'_>,
        link: &Supervisor,
    ) -> Result<bool> {
        match Loss::of(refusal) {
            Some(loss) => self.recover(session, loss, options, link),
            None => Ok(false),
        }
    }

    /// Checks the session after the server refused the stream for messages outside of calls. If the
    /// session is lost, opens a new session.
    pub(super) fn look_after_session(&self, refusal: &Error, link: &Supervisor) {
        if Loss::of(refusal).is_none() {
            return;
        }
        let session = self.session();
        let recovered = self.recover(session, Loss::Possible, &CallOptions::new(), link);
        if let Err(error) = recovered
            && !self.peer.is_closed()
        {
            self.peer
                .core()
                .log_as("client", LogLevel::Warning, || error.to_string());
        }
    }

    fn recover(
        &self,
        session: Option<u64>,
        loss: Loss,
        options: &CallOptions<'_>,
        link: &Supervisor,
    ) -> Result<bool> {
        let (Some(_), Some(reopening)) = (session, &self.reopening) else {
            return Ok(false);
        };
        let refused = Instant::now();
        let (timeout, cancel) = options.request.patience();
        let deadline = timeout.and_then(|timeout| refused.checked_add(timeout));
        let patience = || {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            left.map_or(reopening.patience, |left| left.min(reopening.patience))
        };
        let recovery = &reopening.recovery;
        let _nudge = cancel.as_ref().map(|token| {
            let recovery = Arc::clone(recovery);
            token.on_trigger(move || recovery.wake())
        });
        let mut state = recovery.state.lock();
        loop {
            if self.session() != session {
                return Ok(true);
            }
            // Another caller has checked the session after this refusal.
            if loss == Loss::Possible && state.last_proved.is_some_and(|at| at >= refused) {
                return Ok(false);
            }
            if !state.is_held {
                break;
            }
            if cancel.as_ref().is_some_and(CancelToken::is_triggered) {
                let text = "cancelled while another session was opened";
                return Err(Error::new(ErrorKind::Cancelled, text));
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let text = "another session was not opened in time";
                return Err(Error::new(ErrorKind::Timeout, text));
            }
            state = recovery.changed.wait_until(state, deadline);
        }
        state.is_held = true;
        drop(state);
        let _guard = RecoveryGuard(recovery);
        if loss == Loss::Possible {
            let asked = Instant::now();
            match self.prove(patience(), cancel.as_ref()) {
                Proof::Known => {
                    recovery.state.lock().last_proved = Some(asked);
                    return Ok(false);
                }
                Proof::Neither => return Ok(false),
                Proof::Lost => {}
            }
        }
        self.initialize_again(reopening, patience(), cancel.as_ref(), link)
            .map(|()| true)
            .map_err(|error| {
                error
                    .context("the server knows the session no more, and opening another one failed")
            })
    }

    /// Checks whether the server knows the session.
    fn prove(&self, patience: Duration, cancel: Option<&CancelToken>) -> Proof {
        let mut options = RequestOptions::new()
            .timeout(patience)
            .max_timeout(patience);
        if let Some(token) = cancel {
            options = options.cancel_with(token);
        }
        let answer = self.peer.request_with(
            method::PING,
            RequestKind::default(),
            |id, text| self.envelope.write(id, "{}", &JsonObject::new(), text),
            &mut options,
        );
        match answer {
            Ok(_) => Proof::Known,
            Err(error) if Loss::of(&error).is_some() => Proof::Lost,
            // The server has read the request, so it knows the session.
            Err(error) if error.rpc().is_some() && !error.is_vague() => Proof::Known,
            Err(_) => Proof::Neither,
        }
    }

    /// Opens a new session. `patience` and `cancel` are those of the call that found the loss, and
    /// end only `initialize`: other calls use the session too, so it must not stay half open.
    fn initialize_again(
        &self,
        reopening: &Reopening,
        patience: Duration,
        cancel: Option<&CancelToken>,
        link: &Supervisor,
    ) -> Result<()> {
        let result = initialize(&self.peer, &reopening.params, patience, cancel)?;
        let revision = self.revision;
        if result.protocol_version != revision.as_str() {
            let text = format!("it speaks another revision now, not {revision}: connect again");
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        }
        let patience = reopening.patience;
        finish_opening(&self.peer, revision, patience, Duration::ZERO, None)?;
        link.subscriptions.subscribe_again(&self.peer, self.number);
        link.missed_changes(&self.peer, self.number);
        let level = link.log_level.lock().clone();
        if let Some(level) = level {
            let options = RequestOptions::new()
                .timeout(patience)
                .max_timeout(patience);
            let params = SetLevelRequestParams::new(level);
            self.peer
                .request(method::LOGGING_SET_LEVEL, &params, options)?;
        }
        self.peer.core().log_as("client", LogLevel::Info, || {
            let peer = self.peer.name();
            format!("'{peer}' knew the session no more: another one was opened")
        });
        Ok(())
    }
}

/// A guard for the recovery lock. Dropping the guard releases the lock and wakes the waiters.
struct RecoveryGuard<'a>(&'a RecoveryLock);

impl Drop for RecoveryGuard<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_held = false;
        self.0.changed.notify_all();
    }
}
