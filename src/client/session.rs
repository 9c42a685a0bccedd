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

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::call_options::CallOptions;
use super::connect::{finish_opening, initialize};
use super::connection::{ClientConnection, RecoveryLock, Reopening};
use super::server_state::ServerState;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::{CancelToken, LogLevel, Peer, RequestOptions};
use crate::schema::{JsonObject, LoggingLevel, SetLevelRequestParams, method};
use crate::transport::message::RequestKind;

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
            404 if error.is_vague() || code == Some(ErrorCode::INVALID_REQUEST) => {
                Some(Self::Certain)
            }
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

impl ClientConnection {
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
        server: &ServerState,
    ) -> Result<bool> {
        match Loss::of(refusal) {
            Some(loss) => self.recover(session, loss, options, server),
            None => Ok(false),
        }
    }

    /// Whether the client may be able to resolve the reason for a refusal: a lost session, or
    /// header fields that no longer match a tool.
    pub(super) fn may_recover(&self, refusal: &Error) -> bool {
        let code = refusal.rpc().map(|rpc| rpc.code);
        self.peer.core().exchange_transport().is_some()
            && (Loss::of(refusal).is_some() || code == Some(ErrorCode::HEADER_MISMATCH))
    }

    /// Checks the session after the server refused the stream for messages outside of calls. If the
    /// session is lost, opens a new session.
    pub(super) fn look_after_session(&self, refusal: &Error, server: &ServerState) {
        if Loss::of(refusal).is_none() {
            return;
        }
        let session = self.session();
        let recovered = self.recover(session, Loss::Possible, &CallOptions::new(), server);
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
        server: &ServerState,
    ) -> Result<bool> {
        let (Some(_), Some(reopening)) = (session, &self.reopening) else {
            return Ok(false);
        };
        let refused = Instant::now();
        let (_, cancel) = options.request.patience();
        let in_all = options.request.shorter_bound();
        let deadline = in_all.and_then(|in_all| refused.checked_add(in_all));
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
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let in_all = left.map_or(reopening.patience, |left| left.min(reopening.patience));
        let bound = Bound::new(&self.peer, in_all, cancel.as_ref());
        if loss == Loss::Possible {
            let asked = Instant::now();
            match self.prove(&bound) {
                Proof::Known => {
                    recovery.state.lock().last_proved = Some(asked);
                    return Ok(false);
                }
                Proof::Neither => return Ok(false),
                Proof::Lost => {}
            }
        }
        self.initialize_again(reopening, &bound, server)
            .map(|()| true)
            .map_err(|error| {
                error
                    .context("the server knows the session no more, and opening another one failed")
            })
    }

    /// Checks whether the server knows the session.
    fn prove(&self, bound: &Bound<'_>) -> Proof {
        let left = bound.left();
        let mut options = RequestOptions::new().timeout(left).max_timeout(left);
        if let Some(token) = bound.cancel {
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

    /// Opens a new session within the bound of the call that found the loss.
    ///
    /// After `initialize` other calls use the session too. So the session is completed even if the
    /// bound has passed by then: the remaining messages are sent without waiting.
    fn initialize_again(
        &self,
        reopening: &Reopening,
        bound: &Bound<'_>,
        server: &ServerState,
    ) -> Result<()> {
        let result = initialize(&self.peer, &reopening.params, bound.left(), bound.cancel)?;
        let revision = self.revision;
        if result.protocol_version != revision.as_str() {
            let text = format!("it speaks another revision now, not {revision}: connect again");
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        }
        let (left, cancel) = (bound.left(), bound.cancel);
        let opened = finish_opening(&self.peer, revision, left, Duration::ZERO, cancel);
        if opened.is_err() {
            self.peer.core().listen(Duration::ZERO, None);
        }
        let subscriptions = &server.subscriptions;
        subscriptions.subscribe_again(&self.peer, self.number);
        server.missed_changes(&self.peer, self.number);
        let level = server.log_level.lock().clone();
        if let Some(level) = level {
            self.set_log_level_again(level, bound);
        }
        opened?;
        self.peer.core().log_as("client", LogLevel::Info, || {
            let peer = self.peer.name();
            format!("'{peer}' knew the session no more: another one was opened")
        });
        Ok(())
    }

    /// Sets the log level of the new session. Waits for the answer within the bound, so that the
    /// level applies to the call that is sent again. A refusal is only logged.
    fn set_log_level_again(&self, level: LoggingLevel, bound: &Bound<'_>) {
        let (answered, wait) = mpsc::channel();
        let waker = answered.clone();
        let _on_cancel = bound
            .cancel
            .map(|token| token.on_trigger(move || _ = waker.send(())));
        let params = SetLevelRequestParams::new(level);
        let peer = self.peer.clone();
        // Sending fails only if the server has gone.
        _ = self.peer.start_quick_request(
            method::LOGGING_SET_LEVEL,
            RequestKind::default(),
            |_, text| serde_json::to_writer(text, &params),
            move |outcome| {
                if let Err(error) = outcome {
                    peer.core().log_as("client", LogLevel::Warning, || {
                        format!("the log level was not set in the new session: {error}")
                    });
                }
                _ = answered.send(());
            },
        );
        _ = wait.recv_timeout(bound.left());
    }
}

/// The time limit and the cancel token of one recovery. The time that users spend on logins does
/// not count.
struct Bound<'a> {
    peer: &'a Peer,
    in_all: Duration,
    started: Instant,
    /// The time that users had spent on logins before the recovery.
    user_time: Duration,
    cancel: Option<&'a CancelToken>,
}

impl<'a> Bound<'a> {
    fn new(peer: &'a Peer, in_all: Duration, cancel: Option<&'a CancelToken>) -> Self {
        Self {
            peer,
            in_all,
            started: Instant::now(),
            user_time: user_time(peer),
            cancel,
        }
    }

    fn left(&self) -> Duration {
        let of_users = user_time(self.peer).saturating_sub(self.user_time);
        let spent = self.started.elapsed().saturating_sub(of_users);
        self.in_all.saturating_sub(spent)
    }
}

fn user_time(peer: &Peer) -> Duration {
    let exchange_transport = peer.core().exchange_transport();
    exchange_transport.map_or(Duration::ZERO, |transport| transport.user_time())
}

/// A guard for the recovery lock. Dropping the guard releases the lock and wakes the waiters.
struct RecoveryGuard<'a>(&'a RecoveryLock);

impl Drop for RecoveryGuard<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_held = false;
        self.0.changed.notify_all();
    }
}
