//! A session that a legacy server keeps for its client, and what to do when the server has lost it.
//!
//! A server that knows a session no more says 404, or refuses a request without naming it, and has
//! done nothing. After 404 the client opens another session at once, after another refusal when a
//! `ping` is refused alike; then it sends the request again. One caller does this for all that
//! wait.
//!
//! ```text
//!  refused ─┬─ 404 ───────────────────────────────▶ initialize ──▶ once more
//!           ├─ a 4xx that names no request ─▶ ping ──╯ refused alike
//!           │                                  ╰─ answered, or silence ──╮
//!           ╰─ anything else, also 401, 403, 407, 429 ───────────────────┴▶ the refusal stands
//! ```
//!
//! Spec: Transports, "Session Management" (2025-03-26 to 2025-11-25).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connect::{finish_opening, initialize};
use super::link::{Generation, Link};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::{CallOptions, CancelToken, LogLevel};
use crate::schema::{InitializeRequestParams, JsonObject, SetLevelRequestParams, method};
use crate::sync::{Condvar, Mutex};

/// How a session is opened anew.
#[derive(Debug)]
pub(super) struct Reopening {
    pub(super) params: InitializeRequestParams,
    pub(super) patience: Duration,
    turn: Arc<Turn>,
}

/// The right to look after the session: one caller has it at a time.
#[derive(Debug, Default)]
struct Turn {
    state: Mutex<TurnState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct TurnState {
    /// A caller is at it.
    is_taken: bool,
    /// When the session was asked last that proved to be known.
    was_good: Option<Instant>,
}

/// What the refusal of a request says of its session.
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

/// What a session proved to be when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    Known,
    Lost,
    /// There was no answer, or one that says nothing of it.
    Neither,
}

impl Reopening {
    pub(super) fn new(params: InitializeRequestParams, patience: Duration) -> Self {
        Self {
            params,
            patience,
            turn: Arc::default(),
        }
    }
}

impl Turn {
    /// Has who waits here look up.
    fn wake(&self) {
        // With the lock, so that it does not fall between the look and the wait.
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}

impl Generation {
    /// The session that the next request will be sent in.
    pub(super) fn session(&self) -> Option<u64> {
        self.peer.core().carrier()?.session()
    }

    /// Whether a request that was refused is to be sent once more, since its session was lost and
    /// there is another one by now. Opens that, unless it was done already.
    ///
    /// # Errors
    ///
    /// When another session could not be opened.
    pub(super) fn has_recovered(
        &self,
        session: Option<u64>,
        refusal: &Error,
        options: &CallOptions<'_>,
        link: &Link,
    ) -> Result<bool> {
        match Loss::of(refusal) {
            Some(loss) => self.recover(session, loss, options, link),
            None => Ok(false),
        }
    }

    /// The stream beside calls was refused: looks whether the session is known, and opens another
    /// one if not. Nobody waits for that.
    pub(super) fn look_after_session(&self, refusal: &Error, link: &Link) {
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
        link: &Link,
    ) -> Result<bool> {
        let (Some(_), Some(reopening)) = (session, &self.reopening) else {
            return Ok(false);
        };
        let refused = Instant::now();
        let (timeout, cancel) = options.patience();
        let deadline = timeout.and_then(|timeout| refused.checked_add(timeout));
        let patience = || {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            left.map_or(reopening.patience, |left| left.min(reopening.patience))
        };
        let turn = &reopening.turn;
        let _nudge = cancel.as_ref().map(|token| {
            let turn = Arc::clone(turn);
            token.on_trigger(move || turn.wake())
        });
        let mut state = turn.state.lock();
        loop {
            if self.session() != session {
                return Ok(true);
            }
            // Somebody asked after this refusal.
            if loss == Loss::Possible && state.was_good.is_some_and(|at| at >= refused) {
                return Ok(false);
            }
            if !state.is_taken {
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
            state = turn.changed.wait_until(state, deadline);
        }
        state.is_taken = true;
        drop(state);
        let _taken = Taken(turn);
        if loss == Loss::Possible {
            let asked = Instant::now();
            match self.prove(patience(), cancel.as_ref()) {
                Proof::Known => {
                    turn.state.lock().was_good = Some(asked);
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

    /// Asks whether the server knows the session.
    fn prove(&self, patience: Duration, cancel: Option<&CancelToken>) -> Proof {
        let mut options = CallOptions::new().timeout(patience).max_timeout(patience);
        if let Some(token) = cancel {
            options = options.cancel_with(token);
        }
        let answer = self.peer.request_with(
            method::PING,
            |id, text| self.envelope.write(id, "{}", &JsonObject::new(), text),
            &mut options,
        );
        match answer {
            Ok(_) => Proof::Known,
            Err(error) if Loss::of(&error).is_some() => Proof::Lost,
            // It has read the request, whatever it makes of it.
            Err(error) if error.rpc().is_some() && !error.is_vague() => Proof::Known,
            Err(_) => Proof::Neither,
        }
    }

    fn initialize_again(
        &self,
        reopening: &Reopening,
        patience: Duration,
        cancel: Option<&CancelToken>,
        link: &Link,
    ) -> Result<()> {
        let result = initialize(&self.peer, &reopening.params, patience, cancel)?;
        let revision = self.revision;
        if result.protocol_version != revision.as_str() {
            let text = format!("it speaks another revision now, not {revision}: connect again");
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        }
        finish_opening(&self.peer, revision, patience, Duration::ZERO, None)?;
        link.subscriptions.subscribe_again(&self.peer, self.number);
        link.missed_changes(&self.peer, self.number);
        let level = link.log_level.lock().clone();
        if let Some(level) = level {
            let options = CallOptions::new().timeout(patience);
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

/// Lets the others go on, however it went.
struct Taken<'a>(&'a Turn);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_taken = false;
        self.0.changed.notify_all();
    }
}
