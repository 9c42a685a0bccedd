//! A request of ours, from the caller's side: how long it waits, and how it reads while it waits.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::cancel::CancelToken;
use super::core::{Core, Stint};
use super::deadline::{Bound, Deadline};
use super::outbox::Full;
use super::outgoing::{Found, Outcome, Progress, Slot};
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::{RawResult, RequestId};
use crate::schema::{JsonObject, LoggingLevel, meta_key};
use crate::transport::SessionMessage;

/// How long a caller reads for everybody before it leaves that to a thread of the connection.
const STINT: Duration = Duration::from_millis(10);
/// How long a caller writes before it leaves the rest to such a thread, so that it can be cancelled meanwhile.
const TURN: Duration = Duration::from_millis(20);

/// How one call waits. The default waits 60 s for a sign of life and 10 min in all.
#[must_use]
pub struct CallOptions<'a> {
    timeout: Option<Duration>,
    max_timeout: Option<Duration>,
    cancel: Option<CancelToken>,
    on_progress: Option<Box<dyn FnMut(Progress) + 'a>>,
    may_cancel: bool,
    meta: JsonObject,
}

impl Default for CallOptions<'_> {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(60)),
            max_timeout: Some(Duration::from_secs(600)),
            cancel: None,
            on_progress: None,
            may_cancel: true,
            meta: JsonObject::new(),
        }
    }
}

impl<'a> CallOptions<'a> {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long to wait for the answer, or for progress, which starts the time anew. Defaults to 60 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long to wait in all, however much progress there is. Defaults to 10 min.
    pub fn max_timeout(mut self, max_timeout: Duration) -> Self {
        self.max_timeout = Some(max_timeout);
        self
    }

    /// Waits without end. The call still returns when it is cancelled or the connection closes.
    pub fn no_timeout(mut self) -> Self {
        (self.timeout, self.max_timeout) = (None, None);
        self
    }

    /// Ends the call when the token is triggered.
    pub fn cancel_with(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    /// Runs `callback` for each progress message: on the calling thread, in the order of the wire, before the call returns.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + 'a) -> Self {
        self.on_progress = Some(Box::new(callback));
        self
    }

    /// Sends a member of `_meta` along, for example a trace context. Members that the library writes itself can't be replaced: the
    /// progress token, and since 2026-07-28 revision, capabilities and name of the client.
    ///
    /// A [`Client`](crate::client::Client) does so; [`Peer::request`](super::Peer::request) sends its params as they are.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Asks for log messages of this level and more severe ones while the call runs. Defaults to none. Since 2026-07-28: a server of an
    /// earlier revision is not sent it, see [`Client::set_log_level`](crate::client::Client::set_log_level).
    ///
    /// Spec: Server Features, Utilities, "Logging" (2026-07-28; deprecated there).
    pub fn log_level(self, level: LoggingLevel) -> Self {
        self.meta(meta_key::LOG_LEVEL, level.as_str())
    }

    /// What was set with [`meta`](Self::meta).
    pub(crate) fn take_meta(&mut self) -> JsonObject {
        std::mem::take(&mut self.meta)
    }

    /// How long to wait for an answer, and what ends the wait early.
    pub(crate) fn patience(&self) -> (Option<Duration>, Option<CancelToken>) {
        (self.timeout, self.cancel.clone())
    }

    /// The same options for one of several calls.
    pub(crate) fn for_one(&mut self) -> CallOptions<'_> {
        CallOptions {
            timeout: self.timeout,
            max_timeout: self.max_timeout,
            cancel: self.cancel.clone(),
            on_progress: match &mut self.on_progress {
                Some(callback) => Some(Box::new(callback)),
                None => None,
            },
            may_cancel: self.may_cancel,
            meta: self.meta.clone(),
        }
    }

    /// Never tells the peer that nobody waits any more: for `initialize`, which must not be cancelled.
    pub(crate) fn without_cancelling(mut self) -> Self {
        self.may_cancel = false;
        self
    }
}

impl fmt::Debug for CallOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("max_timeout", &self.max_timeout)
            .field("cancel", &self.cancel)
            .field("on_progress", &self.on_progress.is_some())
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}

/// A call in flight. Dropped before it is done, it is given up, and the peer told.
struct Call<'c> {
    core: &'c Arc<Core>,
    method: &'c str,
    id: i64,
    slot: Arc<Slot>,
    deadline: Deadline,
    may_cancel: bool,
    /// Why the caller stops waiting, for the peer.
    reason: &'static str,
}

/// Sends a request and waits for its answer.
pub(super) fn request(
    core: &Arc<Core>,
    method: &str,
    write: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
    mut options: CallOptions<'_>,
) -> Result<RawResult> {
    let deadline = Deadline::new(Instant::now(), options.timeout, options.max_timeout);
    if options
        .cancel
        .as_ref()
        .is_some_and(CancelToken::is_triggered)
    {
        return Err(Error::new(
            ErrorKind::Cancelled,
            format!("{method} was cancelled before it was sent"),
        ));
    }
    let (id, slot) = core.calls.register()?;
    let may_cancel = options.may_cancel;
    let mut call = Call {
        core,
        method,
        id,
        slot,
        deadline,
        may_cancel,
        reason: "the caller no longer waits",
    };
    let text = write_request(id, method, write).map_err(|error| {
        call.forget();
        Error::new(
            ErrorKind::Invalid,
            format!("params of {method} can't be written as JSON: {error}"),
        )
    })?;
    call.send(text)?;
    let slot = Arc::clone(&call.slot);
    let _nudge = options
        .cancel
        .as_ref()
        .map(|token| token.on_trigger(move || _ = slot.nudge()));
    let _place = core.leave_worker();
    let outcome = call.wait(&mut options)?;
    judge(&core.peer(), method, outcome)
}

fn write_request(
    id: i64,
    method: &str,
    write: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.serialize(&mut serde_json::Serializer::new(&mut text))?;
    text.extend_from_slice(b",\"method\":");
    method.serialize(&mut serde_json::Serializer::new(&mut text))?;
    text.extend_from_slice(b",\"params\":");
    write(id, &mut text)?;
    text.push(b'}');
    Ok(text)
}

impl Call<'_> {
    fn send(&mut self, text: Vec<u8>) -> Result<()> {
        let message = SessionMessage::new(text).related_to(RequestId::from(self.id));
        let full = Full::WaitUntil(self.deadline.at());
        if let Err(error) = self.core.outbox.push(message, full) {
            self.forget();
            return Err(match error.kind() {
                ErrorKind::Timeout => error.context(format_args!(
                    "{} to '{}' was not sent",
                    self.method,
                    self.core.peer()
                )),
                _ => error.sent(false),
            });
        }
        let turn = Instant::now() + TURN;
        self.core.flush_until(Some(
            self.deadline
                .at()
                .map_or(turn, |deadline| deadline.min(turn)),
        ));
        Ok(())
    }

    /// The request never left: there is nobody to tell.
    fn forget(&mut self) {
        self.may_cancel = false;
        self.core.calls.give_up(self.id);
    }

    fn wait(&mut self, options: &mut CallOptions<'_>) -> Result<Outcome> {
        let mut may_lead = self.core.patient;
        loop {
            while let Some(found) = self.slot.take() {
                match found {
                    Found::Outcome(outcome) => return Ok(outcome),
                    Found::Progress(progress) => {
                        self.deadline.extend(Instant::now());
                        if let Some(callback) = &mut options.on_progress {
                            callback(progress);
                        }
                    }
                }
            }
            if options
                .cancel
                .as_ref()
                .is_some_and(CancelToken::is_triggered)
            {
                self.reason = "the caller cancelled the request";
                let text = format!("{} to '{}' was cancelled", self.method, self.core.peer());
                return Err(Error::new(ErrorKind::Cancelled, text).sent(true));
            }
            if let Some(bound) = self.deadline.passed(Instant::now()) {
                self.reason = "timed out";
                return Err(self.timed_out(bound, options));
            }
            let receiver = if may_lead {
                self.core.crew.take_or_stand_by(self.id, &self.slot)
            } else {
                None
            };
            match receiver {
                Some(receiver) => {
                    let until = Instant::now() + STINT;
                    let until = self
                        .deadline
                        .at()
                        .map_or(until, |deadline| until.min(deadline));
                    may_lead = match self.core.read_for_caller(receiver, &self.slot, until) {
                        Stint::Found => true,
                        Stint::Quiet | Stint::Ended => false,
                    };
                }
                None => {
                    self.slot.wait(self.deadline.at());
                    may_lead = self.core.patient;
                }
            }
        }
    }

    fn timed_out(&self, bound: Bound, options: &CallOptions<'_>) -> Error {
        let (setting, span) = match bound {
            Bound::Timeout => ("timeout", options.timeout),
            Bound::Cap => ("max_timeout", options.max_timeout),
        };
        let (method, peer) = (self.method, self.core.peer());
        let elapsed = Span(self.deadline.elapsed(Instant::now()));
        let setting = format!("{setting} is {}", Span(span.unwrap_or_default()));
        Error::new(
            ErrorKind::Timeout,
            format!("no answer to {method} from '{peer}' after {elapsed} ({setting})"),
        )
        .sent(true)
    }
}

/// What an outcome means for who asked.
fn judge(peer: &str, method: &str, outcome: Outcome) -> Result<RawResult> {
    match outcome {
        Outcome::Response(response) => response
            .into_result()
            .map_err(|rpc| Error::peer(peer, method, rpc)),
        Outcome::Malformed(malformed) => {
            let text = format!(
                "'{peer}' answered {method} with a message that is invalid: {}",
                malformed.error.message
            );
            Err(Error::new(ErrorKind::Protocol, text).sent(true))
        }
        Outcome::Failed(error) => Err(error.context(format_args!("no answer to {method}"))),
        Outcome::Withdrawn => {
            let text = format!("'{peer}' ended {method} without an answer");
            Err(Error::new(ErrorKind::Cancelled, text).sent(true))
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.core.crew.stand_down(self.id);
        if self.core.calls.give_up(self.id) && self.may_cancel {
            self.core.send_cancelled(self.id, self.reason);
        }
    }
}

/// A request that was sent and that nobody waits for. Dropped before it has ended, it is given up, and the peer told.
pub(crate) struct Started {
    core: Arc<Core>,
    id: i64,
    /// Nobody minds how it goes on.
    left: bool,
}

/// Sends a request; `on_end` gets its one outcome, unless the request is given up.
///
/// `on_end` runs where the outcome is found, often on the reading thread: it must neither block nor run user code.
pub(super) fn start(
    core: &Arc<Core>,
    method: &str,
    write: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
    send_by: Option<Instant>,
    on_end: impl FnOnce(Result<RawResult>) + Send + 'static,
) -> Result<Started> {
    let (peer, name) = (core.peer(), method.to_owned());
    let hook = Box::new(move |outcome| on_end(judge(&peer, &name, outcome)));
    let id = core.calls.register_started(hook)?;
    let started = Started {
        core: Arc::clone(core),
        id,
        left: false,
    };
    let text = write_request(id, method, write).map_err(|error| {
        core.calls.give_up(id);
        Error::new(
            ErrorKind::Invalid,
            format!("params of {method} can't be written as JSON: {error}"),
        )
    })?;
    let message = SessionMessage::new(text).related_to(RequestId::from(id));
    match core.outbox.push(message, Full::WaitUntil(send_by)) {
        Ok(()) => core.flush_until(send_by),
        // It never left, so there is nobody to tell; unless the hook was told of the end first.
        Err(error) if core.calls.give_up(id) => return Err(error.sent(false)),
        Err(_) => {}
    }
    Ok(started)
}

impl Started {
    /// Lets the request go on by itself.
    pub(crate) fn leave(mut self) {
        self.left = true;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.left && self.core.calls.give_up(self.id) {
            self.core
                .send_cancelled(self.id, "nobody waits for it any more");
        }
    }
}
