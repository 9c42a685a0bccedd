//! Calls: how a caller sends a request, waits for the answer, and reads messages meanwhile.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::call_channel::{CallMessage, Outcome, Progress};
use super::cancel::CancelToken;
use super::core::{Core, ReadTurn, Reading};
use super::deadline::{Bound, Deadline};
use super::outgoing::{CallEvent, CallInfo, OnEnd, Waiter};
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::{RawResult, RequestId};
use crate::schema::{JsonObject, LoggingLevel, TraceContext, meta_key};
use crate::sync::Mutex;
use crate::transport::SessionMessage;
use crate::transport::clock::about_now;
use crate::transport::exchange_transport::{
    CancelHandle, ExchangeOutcome, ExchangeTransport, NextCheck,
};
use crate::transport::message::RequestKind;

/// How long a calling thread that waits for its answer reads for all callers. After this time a
/// thread of the connection reads.
const STINT: Duration = Duration::from_millis(10);

/// The options of one call. By default a call waits 60 s for an answer or progress, and at most 10
/// min.
#[must_use]
pub struct CallOptions<'a> {
    timeout: Option<Duration>,
    max_timeout: Option<Duration>,
    cancel: Option<CancelToken>,
    on_progress: Option<Box<dyn FnMut(Progress) + 'a>>,
    may_cancel: bool,
    bypass_cache: bool,
    meta: JsonObject,
    manner: RequestKind,
}

impl Default for CallOptions<'_> {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(60)),
            max_timeout: Some(Duration::from_secs(600)),
            cancel: None,
            on_progress: None,
            may_cancel: true,
            bypass_cache: false,
            meta: JsonObject::new(),
            manner: RequestKind::default(),
        }
    }
}

impl<'a> CallOptions<'a> {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits how long to wait for the answer. Each progress message restarts the time. Defaults to
    /// 60 s. When the time is over, the call fails with `Timeout`.
    ///
    /// The time does not run while a handler of a [`Client`](crate::client::Client) answers an
    /// input request of the server.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Limits how long the whole call may take, even if progress arrives. Defaults to 10 min. When
    /// the time is over, the call fails with `Timeout`.
    ///
    /// The limit covers every part of the call: multi round-trip requests, a task, and the wait for
    /// a server that is restarted. The time does not run while a handler answers an input request
    /// of the server.
    pub fn max_timeout(mut self, max_timeout: Duration) -> Self {
        self.max_timeout = Some(max_timeout);
        self
    }

    /// Waits without a timeout. The call still returns when it is cancelled or the connection
    /// closes.
    pub fn no_timeout(mut self) -> Self {
        (self.timeout, self.max_timeout) = (None, None);
        self
    }

    /// Ends the call when the token is cancelled.
    pub fn cancel_with(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    /// Runs `callback` for each progress message of the call. The callback runs on the calling
    /// thread, in the order of arrival, before the call returns.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + 'a) -> Self {
        self.on_progress = Some(Box::new(callback));
        self
    }

    /// Returns the timeout without the extensions by progress and by input requests to users.
    pub(crate) fn timeout_of_call(&self) -> Option<Duration> {
        self.timeout
    }

    /// Waits for the duration `span`, or until the call is cancelled. Returns whether it is
    /// cancelled.
    pub(crate) fn pause(&self, span: Duration) -> bool {
        self.cancel_token().wait(span)
    }

    /// Returns the token that cancels the call, or a new token if none was set.
    pub(crate) fn cancel_token(&self) -> CancelToken {
        self.cancel.clone().unwrap_or_default()
    }

    /// Adds a member to `_meta`, for example a trace context.
    ///
    /// The library's own members cannot be replaced. These are the progress token and, since
    /// 2026-07-28, the protocol version, the client capabilities and the client info.
    ///
    /// Only a [`Client`](crate::client::Client) uses this option.
    /// [`Peer::request`](super::Peer::request) sends its params unchanged.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Requests log messages of at least this level while the call runs. By default no log messages
    /// are requested.
    ///
    /// Servers of revisions before 2026-07-28 do not receive this option. For them use
    /// [`Client::set_log_level`](crate::client::Client::set_log_level).
    ///
    /// Spec: Server Features, Utilities, "Logging" (2026-07-28; deprecated there).
    pub fn log_level(self, level: LoggingLevel) -> Self {
        self.meta(meta_key::LOG_LEVEL, level.as_str())
    }

    /// Sends a trace context with the call. A `_meta` member that the trace context lacks stays
    /// unchanged.
    ///
    /// Spec: Base Protocol, "`_meta`" (2026-07-28). The trace context is sent to peers of earlier
    /// revisions too.
    pub fn trace_context(mut self, trace: &TraceContext) -> Self {
        for (key, value) in trace.members() {
            self.meta.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Sends the request even if a fresh response is cached. The new response replaces the cached
    /// one. By default the cache is used.
    ///
    /// For a list, the option applies to every page. So no page of the list is older than the call.
    /// Only a [`Client`](crate::client::Client) has a cache: see
    /// [`ResponseCache`](crate::client::ResponseCache).
    pub fn bypass_cache(mut self) -> Self {
        self.bypass_cache = true;
        self
    }

    /// Whether the call bypasses the response cache.
    pub(crate) fn bypasses_cache(&self) -> bool {
        self.bypass_cache
    }

    /// Returns the `_meta` members that were set with [`meta`](Self::meta).
    pub(crate) fn own_meta(&self) -> &JsonObject {
        &self.meta
    }

    /// Returns the timeout of the call and the token that cancels the call.
    pub(crate) fn patience(&self) -> (Option<Duration>, Option<CancelToken>) {
        (self.timeout, self.cancel.clone())
    }

    /// Returns the shorter of timeout and maximum timeout. A call without progress ends after this
    /// time.
    pub(crate) fn shorter_bound(&self) -> Option<Duration> {
        self.timeout.into_iter().chain(self.max_timeout).min()
    }

    /// Returns the maximum timeout of the whole call.
    pub(crate) fn in_all(&self) -> Option<Duration> {
        self.max_timeout
    }

    /// Returns a copy of these options for one request, if the call needs several requests.
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
            bypass_cache: self.bypass_cache,
            meta: self.meta.clone(),
            manner: self.manner.clone(),
        }
    }

    /// Returns the options for the rest of a call.
    ///
    /// Subtracts `waited` from the timeout, and `elapsed` from the maximum timeout of the whole
    /// call.
    pub(crate) fn after(&mut self, waited: Duration, elapsed: Duration) -> CallOptions<'_> {
        let mut options = self.for_one();
        options.timeout = options.timeout.map(|span| span.saturating_sub(waited));
        options.max_timeout = options.max_timeout.map(|span| span.saturating_sub(elapsed));
        options
    }

    /// Sets the request kind of the next request. The kind includes header fields, for transports
    /// that have header fields.
    pub(crate) fn set_manner(&mut self, manner: RequestKind) {
        self.manner = manner;
    }

    /// Makes the call send no cancellation. The request `initialize` needs this, because it must
    /// not be cancelled.
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

/// A call in flight. If the call is dropped without an outcome, it is given up and the peer is
/// notified.
struct Call<'c> {
    core: &'c Arc<Core>,
    method: &'c str,
    waiter: Waiter,
    /// The start of the call. The first timeout check uses it as the current time.
    began: Option<Instant>,
    deadline: Deadline,
    /// The total time that users had spent on the peer's input requests when the call began.
    people_took: Duration,
    may_cancel: bool,
    /// The reason of the cancellation. The reason is sent to the peer.
    reason: Cow<'static, str>,
}

/// Sends a request and blocks until its answer arrives.
pub(super) fn request(
    core: &Arc<Core>,
    method: &str,
    write: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
    options: &mut CallOptions<'_>,
) -> Result<RawResult> {
    let now = Instant::now();
    let deadline = Deadline::new(now, options.timeout, options.max_timeout);
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
    if !core.settings.asks {
        let text = format!(
            "'{}' can't be sent {method}: ask during a call, with Context::ask",
            core.peer()
        );
        return Err(Error::new(ErrorKind::State, text).sent(false));
    }
    let about = CallInfo {
        method: method.into(),
        since: now,
        thread: Some(std::thread::current()),
    };
    let waiter = core.engine().calls.register(about)?;
    let id = waiter.id;
    let may_cancel = options.may_cancel;
    let mut call = Call {
        core,
        method,
        waiter,
        began: Some(now),
        deadline,
        people_took: core.people_took(now),
        may_cancel,
        reason: Cow::Borrowed("the caller no longer waits"),
    };
    let text = write_request(id, method, write).map_err(|error| {
        call.forget();
        Error::new(
            ErrorKind::Invalid,
            format!("params of {method} can't be written as JSON: {error}"),
        )
    })?;
    let message = SessionMessage::new(text).related_to(RequestId::from(id));
    if let Some(carrier) = core.carrier() {
        let outcome = call.carry(carrier, message, options)?;
        return judge(core, method, outcome);
    }
    call.send(message, options)?;
    let _place = core.leave_worker();
    let outcome = call.wait(options)?;
    judge(core, method, outcome)
}

fn write_request(
    id: i64,
    method: &str,
    write: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(512);
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
    fn send(&mut self, message: SessionMessage, options: &CallOptions<'_>) -> Result<()> {
        let sent = self
            .core
            .send_request(message, self.deadline.at(), options.cancel.as_ref());
        sent.map_err(|error| {
            self.forget();
            let (method, peer) = (self.method, self.core.peer());
            match error.kind() {
                ErrorKind::Timeout => {
                    let bound = self.deadline.passed(Instant::now());
                    let time = self.time(bound.unwrap_or(Bound::Timeout), options);
                    error.context(format_args!(
                        "{method} to '{peer}' was not sent after {time}"
                    ))
                }
                ErrorKind::Cancelled => Error::new(
                    ErrorKind::Cancelled,
                    format!("{method} to '{peer}' was cancelled before it was sent"),
                ),
                _ => error.sent(false),
            }
        })
    }

    /// Removes the call of a request that was never sent. The peer is not notified.
    fn forget(&mut self) {
        self.may_cancel = false;
        self.give_up();
    }

    /// Removes the call from the table. Returns whether the peer has to be notified; false if the
    /// outcome has already arrived.
    fn give_up(&mut self) -> bool {
        let given_up = self.core.engine().calls.give_up(self.waiter.id);
        if given_up {
            self.waiter.gave_up();
        }
        given_up
    }

    fn wait(&mut self, options: &mut CallOptions<'_>) -> Result<Outcome> {
        let _nudge = options.cancel.as_ref().map(|token| {
            let channel = Arc::clone(&self.waiter.channel);
            token.on_trigger(move || channel.send(CallMessage::Wake))
        });
        let mut may_lead = self.core.reading == Reading::Shared;
        let mut received = None;
        loop {
            // This also skips leftover wakeups, which would end each read turn before it began.
            let mut found = received.take().or_else(|| self.waiter.take());
            if let Some(CallEvent::Outcome(outcome)) = found {
                return Ok(outcome);
            }
            let mut now = self.began.take().unwrap_or_else(Instant::now);
            let mut looked_at = None;
            while let Some(here) = found {
                let progress = match here {
                    CallEvent::Outcome(outcome) => return Ok(outcome),
                    CallEvent::Progress(progress) => progress,
                };
                self.deadline.extend(now);
                if let Some(callback) = &mut options.on_progress {
                    callback(progress);
                    now = about_now();
                    // The callback's run time does not count as waiting. Messages may have arrived
                    // meanwhile.
                    self.deadline.extend(now);
                }
                // Endless progress must not keep the caller from checking its deadline and token.
                if let Some(error) = self.cancelled(options) {
                    return Err(error);
                }
                if looked_at.replace(now) != Some(now)
                    && let Some(error) = self.late(now, options)
                {
                    return Err(error);
                }
                found = self.waiter.take();
            }
            if looked_at.is_some() {
                now = Instant::now();
            }
            if let Some(error) = self.over(now, options) {
                return Err(error);
            }
            let receiver = if may_lead {
                self.core
                    .engine()
                    .crew
                    .take_or_stand_by(self.waiter.id, &self.waiter.channel)
            } else {
                None
            };
            match receiver {
                Some(receiver) => {
                    let until = now + STINT;
                    let until = self
                        .deadline
                        .at()
                        .map_or(until, |deadline| until.min(deadline));
                    may_lead =
                        match self
                            .core
                            .read_for_caller(receiver, &mut self.waiter, now, until)
                        {
                            ReadTurn::Found => true,
                            ReadTurn::Quiet | ReadTurn::Ended => false,
                        };
                }
                None => {
                    received = self.waiter.wait(self.deadline.at());
                    may_lead = self.core.reading == Reading::Shared;
                }
            }
        }
    }

    /// Returns the error that ends the call if the call is cancelled or past its deadline.
    fn over(&mut self, now: Instant, options: &CallOptions<'_>) -> Option<Error> {
        self.cancelled(options).or_else(|| self.late(now, options))
    }

    fn late(&mut self, now: Instant, options: &CallOptions<'_>) -> Option<Error> {
        self.deadline.passed(now)?;
        if let Some(seen) = self.core.person_seen(now) {
            self.deadline.extend(seen);
            let took = self.core.people_took(now);
            self.deadline.hold(took.saturating_sub(self.people_took));
        }
        let bound = self.deadline.passed(now)?;
        self.reason = Cow::Borrowed("timed out");
        Some(self.timed_out(bound, options))
    }

    fn cancelled(&mut self, options: &CallOptions<'_>) -> Option<Error> {
        let token = options.cancel.as_ref()?;
        if !token.is_triggered() {
            return None;
        }
        self.reason = match token.reason() {
            Some(reason) => Cow::Owned(reason),
            None => Cow::Borrowed("the caller cancelled the request"),
        };
        let text = format!("{} to '{}' was cancelled", self.method, self.core.peer());
        Some(Error::new(ErrorKind::Cancelled, text).sent(true))
    }

    /// Sends the request over its own exchange, and processes the messages of the exchange on this
    /// thread.
    fn carry(
        &mut self,
        carrier: &Arc<dyn ExchangeTransport>,
        mut message: SessionMessage,
        options: &mut CallOptions<'_>,
    ) -> Result<Outcome> {
        message.manner = std::mem::take(&mut options.manner);
        let patience = Arc::new(Patience {
            core: Arc::clone(self.core),
            deadline: Mutex::new(self.deadline),
            people_took: self.people_took,
            is_busy: AtomicBool::new(false),
        });
        let looked_at = Arc::clone(&patience);
        let ticket = CancelHandle::new(move |now, held| looked_at.look(now, held));
        let ending = Arc::clone(&ticket);
        let token = options.cancel.as_ref();
        let _ended = token.map(|token| token.on_trigger(move || ending.end()));
        let _place = self.core.leave_worker();
        let (core, waiter, on_progress) = (self.core, &mut self.waiter, &mut options.on_progress);
        let mut seen = None;
        // Takes the available items, up to the outcome.
        let mut take = |waiter: &mut Waiter| {
            while let Some(found) = waiter.take() {
                match found {
                    CallEvent::Outcome(outcome) => return Some(outcome),
                    CallEvent::Progress(progress) => {
                        let told = on_progress.as_mut().map(|callback| {
                            patience.is_busy.store(true, Ordering::SeqCst);
                            callback(progress);
                        });
                        let now = about_now();
                        if seen.replace(now) != Some(now) {
                            patience.deadline.lock().extend(now);
                        }
                        if told.is_some() {
                            patience.is_busy.store(false, Ordering::SeqCst);
                        }
                    }
                }
            }
            None
        };
        let mut outcome = None;
        let carried = carrier.exchange(&message, &ticket, &mut |received| {
            core.take_carried(received, Some(waiter));
            outcome = take(waiter);
            match outcome {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        // The outcome may also have arrived in another way, such as the end of the connection.
        let outcome = outcome.or_else(|| take(waiter));
        self.deadline = *patience.deadline.lock();
        match (outcome, carried) {
            (Some(outcome), _) => Ok(outcome),
            (None, Ok(ExchangeOutcome::Elsewhere)) => self.wait(options),
            (None, Ok(ExchangeOutcome::Answered)) => {
                let text = "nothing that came was the answer";
                Err(self.not_carried(Error::new(ErrorKind::Protocol, text).sent(true), options))
            }
            (None, Err(error)) => Err(self.not_carried(error, options)),
        }
    }

    /// Returns the error for the caller when the exchange ended without an outcome.
    fn not_carried(&mut self, error: Error, options: &CallOptions<'_>) -> Error {
        if !error.was_sent() {
            self.forget();
        }
        if let Some(cancelled) = self.cancelled(options) {
            return cancelled.sent(error.was_sent());
        }
        if let Some(bound) = self.deadline.passed(Instant::now()) {
            self.reason = Cow::Borrowed("timed out");
            return self.timed_out(bound, options).sent(error.was_sent());
        }
        self.forget();
        let (method, peer) = (self.method, self.core.peer());
        match error.rpc() {
            Some(_) => error.refusing(peer, method),
            None => error.context(format_args!("no answer to {method}")),
        }
    }

    fn timed_out(&self, bound: Bound, options: &CallOptions<'_>) -> Error {
        let (method, peer) = (self.method, self.core.peer());
        let time = self.time(bound, options);
        Error::new(
            ErrorKind::Timeout,
            format!("no answer to {method} from '{peer}' after {time}"),
        )
        .sent(true)
    }

    /// Returns a text for a timeout error: how long the call took, and the setting that limits the
    /// time.
    fn time(&self, bound: Bound, options: &CallOptions<'_>) -> String {
        let (setting, span) = match bound {
            Bound::Timeout => ("timeout", options.timeout),
            Bound::Cap => ("max_timeout", options.max_timeout),
        };
        let elapsed = Span(self.deadline.elapsed(Instant::now()));
        format!(
            "{elapsed} ({setting} is {})",
            Span(span.unwrap_or_default())
        )
    }
}

/// The deadline of a call. The calling thread and the thread that checks deadlines share it.
struct Patience {
    core: Arc<Core>,
    // Guards the changes by the caller and the checks by the deadline thread. Held only for a
    // moment.
    deadline: Mutex<Deadline>,
    people_took: Duration,
    /// Whether the caller's progress callback is running. The run time of the callback does not
    /// count as waiting.
    is_busy: AtomicBool,
}

impl Patience {
    fn look(&self, now: Instant, is_held: bool) -> NextCheck {
        let mut deadline = self.deadline.lock();
        if is_held || self.is_busy.load(Ordering::SeqCst) {
            deadline.extend(now);
        }
        if deadline.passed(now).is_some()
            && let Some(seen) = self.core.person_seen(now)
        {
            deadline.extend(seen);
            let took = self.core.people_took(now);
            deadline.hold(took.saturating_sub(self.people_took));
        }
        match (deadline.passed(now), deadline.at()) {
            (Some(_), _) => NextCheck::Over,
            (None, Some(at)) => NextCheck::At(at),
            (None, None) => NextCheck::Never,
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let id = self.waiter.id;
        self.core.engine().crew.stand_down(id);
        if self.give_up() && self.may_cancel {
            self.core.send_cancelled(id, &self.reason);
        }
    }
}

/// Converts the outcome of a request into the result for the caller.
fn judge(core: &Core, method: &str, outcome: Outcome) -> Result<RawResult> {
    match outcome {
        Outcome::Response(response) => response
            .into_result()
            .map_err(|rpc| Error::peer(core.peer(), method, rpc)),
        Outcome::Malformed(malformed) if malformed.is_no_memory() => {
            let (peer, why) = (core.peer(), malformed.error.message);
            let text = format!("the answer of '{peer}' to {method} was dropped: {why}");
            Err(Error::new(ErrorKind::Limit, text).sent(true))
        }
        Outcome::Malformed(malformed) => {
            let (peer, why) = (core.peer(), malformed.error.message);
            let text = format!("'{peer}' answered {method} with a message that is invalid: {why}");
            Err(Error::new(ErrorKind::Protocol, text).sent(true))
        }
        Outcome::Failed(error) if error.rpc().is_some() => Err(error.refusing(core.peer(), method)),
        Outcome::Failed(error) => Err(error.context(format_args!("no answer to {method}"))),
        Outcome::Withdrawn => {
            let text = format!("'{}' ended {method} without an answer", core.peer());
            Err(Error::new(ErrorKind::Cancelled, text).sent(true))
        }
    }
}

/// A request whose outcome goes to a callback. No caller waits for it.
pub(crate) struct StartedCall {
    core: Arc<Core>,
    id: i64,
    /// A handle that ends the exchange of the request, if the transport has exchanges.
    ticket: Option<Arc<CancelHandle>>,
}

impl StartedCall {
    /// Sets the exchange handle. A cancellation of the request then also ends the exchange.
    pub(super) fn carried_by(mut self, ticket: Option<Arc<CancelHandle>>) -> Self {
        self.ticket = ticket;
        self
    }

    /// Discards the outcome of the request. Drops the callback without notifying the peer.
    pub(crate) fn forget(self) {
        self.core.engine().calls.give_up(self.id);
    }

    /// Cancels the request: notifies the peer and drops the callback. If the outcome has already
    /// arrived, nothing happens.
    pub(crate) fn cancel(&self, reason: &str) {
        if self.core.engine().calls.give_up(self.id) {
            if let Some(ticket) = &self.ticket {
                ticket.end();
            }
            self.core.send_cancelled(self.id, reason);
        }
    }
}

/// The thread on which the callback of a request runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallbackPlace {
    /// The callback runs on the connection's thread for notifications, in order with the
    /// notification handlers.
    InOrder,
    /// The callback runs on the thread that receives the outcome, before the next message is read.
    /// Internal callbacks use this variant: they never block and run no user code.
    Quick,
}

/// Sends a request whose outcome goes to a callback, exactly once.
///
/// The request has no timeout. Only the peer, [`StartedCall::cancel`] and the end of the connection
/// end the request. The caller is responsible for a deadline.
pub(super) fn start_request(
    core: &Arc<Core>,
    method: &'static str,
    write: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
    turn: CallbackPlace,
    on_end: impl FnOnce(Result<RawResult>) + Send + 'static,
    send: impl FnOnce(SessionMessage) -> Result<()>,
) -> Result<StartedCall> {
    let judging = Arc::clone(core);
    let on_end = Box::new(move |outcome| on_end(judge(&judging, method, outcome)));
    let about = CallInfo {
        method: method.into(),
        since: Instant::now(),
        thread: None,
    };
    let on_end = match turn {
        CallbackPlace::InOrder => OnEnd::InOrder(on_end),
        CallbackPlace::Quick => OnEnd::Quick(on_end),
    };
    let id = core.engine().calls.register_callback(about, on_end)?;
    let started = StartedCall {
        core: Arc::clone(core),
        id,
        ticket: None,
    };
    let text = write_request(id, method, write).map_err(|error| {
        core.engine().calls.give_up(id);
        Error::new(
            ErrorKind::Invalid,
            format!("params of {method} can't be written as JSON: {error}"),
        )
    })?;
    let message = SessionMessage::new(text).related_to(RequestId::from(id));
    send(message).inspect_err(|_| _ = core.engine().calls.give_up(id))?;
    Ok(started)
}
