//! Calls: how a caller sends a request, waits for the answer, and reads messages meanwhile.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::call_channel::{CallMessage, Outcome};
use super::cancel::CancelToken;
use super::core::{Core, ReadTurn, Reading};
use super::deadline::{Bound, Deadline};
use super::outgoing::{CallEvent, CallInfo, OnEnd, Waiter};
use super::peer::Peer;
use super::request_options::RequestOptions;
use super::responder::Asking;
use super::writer::{SendDeadline, When};
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::{RawResult, RequestId};
use crate::sync::Mutex;
use crate::transport::SessionMessage;
use crate::transport::clock::about_now;
use crate::transport::exchange_transport::{CancelHandle, ExchangeOutcome, NextCheck};
use crate::transport::message::RequestKind;

/// The maximum time for which a calling thread reads messages for all callers while it waits for
/// its own answer. After this time a thread of the connection reads.
const STINT: Duration = Duration::from_millis(10);

/// A call in flight. If the call is dropped without an outcome, it is given up and the peer is
/// notified.
pub(crate) struct Call {
    pub(super) core: Arc<Core>,
    pub(super) method: Arc<str>,
    pub(super) waiter: Waiter,
    /// The request, until it is sent. On an exchange transport the waiting thread sends it.
    pub(super) unsent: Option<SessionMessage>,
    /// The start of the call. If the caller waits at once, the first timeout check uses this time
    /// instead of reading the clock.
    began: Option<Instant>,
    pub(super) time: CallTime,
    pub(super) may_cancel: bool,
    /// Whether callbacks get the outcome. If so, dropping this value does not give up the call.
    pub(super) is_watched: bool,
    /// The reason for a cancellation of the call, which is sent to the peer.
    reason: Cow<'static, str>,
}

/// The state of a thread that waits for its call.
struct WaitState {
    /// Whether the thread may take the reading role.
    may_lead: bool,
    /// Whether the thread has written the queued requests since it last read.
    has_flushed: bool,
}

impl Peer {
    /// Sends a request and blocks until its result arrives.
    ///
    /// The function also returns when the timeout passes, the call is cancelled or the connection
    /// closes. While the calling thread waits, it may read messages for the other callers of the
    /// connection.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Timeout`]: no answer in time; the peer is notified.
    /// - [`ErrorKind::Peer`]: the peer answered with an error.
    /// - [`ErrorKind::Protocol`]: the answer is invalid.
    /// - [`ErrorKind::Closed`]: the connection has ended.
    /// - [`ErrorKind::Cancelled`]: the call was cancelled.
    /// - [`ErrorKind::Busy`]: [`max_calls`](crate::transport::Limits::max_calls) calls are in
    ///   flight.
    /// - [`ErrorKind::Limit`]: the answer was too long.
    pub fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        mut options: RequestOptions<'_>,
    ) -> Result<RawResult> {
        self.request_with(
            method,
            RequestKind::default(),
            |_, text| serde_json::to_writer(text, params),
            &mut options,
        )
    }

    /// Sends a request as [`request`](Self::request) does. The function `write_params` gets the
    /// request id and serializes the params.
    pub(crate) fn request_with(
        &self,
        method: &str,
        kind: RequestKind,
        write_params: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        options: &mut RequestOptions<'_>,
    ) -> Result<RawResult> {
        self.start(method, kind, write_params, options, When::Now)?
            .finish(options)
    }

    /// Starts a call: sends its request. On an exchange transport, the function that waits for the
    /// outcome sends the request. The function `write_params` gets the request id and serializes
    /// the params.
    ///
    /// Blocks only while the outgoing queue has no room, and at most until the call's deadline.
    pub(crate) fn start(
        &self,
        method: &str,
        kind: RequestKind,
        write_params: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        options: &RequestOptions<'_>,
        when: When,
    ) -> Result<Call> {
        let core = self.core();
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
        let method: Arc<str> = method.into();
        let about = CallInfo {
            method: Arc::clone(&method),
            since: now,
            thread: Some(std::thread::current()),
        };
        let waiter = core.engine().calls.register(about)?;
        let id = waiter.id;
        let mut call = Call {
            core: Arc::clone(core),
            method,
            waiter,
            unsent: None,
            began: Some(now),
            time: CallTime {
                deadline,
                user_time: core.user_time(now),
            },
            may_cancel: options.may_cancel,
            is_watched: false,
            reason: Cow::Borrowed("the caller no longer waits"),
        };
        let text = write_request(id, &call.method, write_params).map_err(|error| {
            call.forget();
            let method = &call.method;
            Error::new(
                ErrorKind::Invalid,
                format!("params of {method} can't be written as JSON: {error}"),
            )
        })?;
        let mut message = SessionMessage::new(text).related_to(RequestId::from(id));
        if core.exchange_transport().is_some() {
            message.kind = kind;
            call.unsent = Some(message);
            return Ok(call);
        }
        let deadline = SendDeadline::OfCall(call.time.deadline.at(), options.cancel.as_ref());
        let sent = core.send(message, when, deadline);
        sent.map_err(|error| call.not_sent(error, options))?;
        Ok(call)
    }

    /// Sends a request without waiting for its outcome. See [`start_request`].
    ///
    /// `on_end` runs on the thread that receives the outcome, often the reading thread. The
    /// callback must neither block nor run user code.
    pub(crate) fn start_quick_request(
        &self,
        method: &'static str,
        kind: RequestKind,
        write_params: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        on_end: impl FnOnce(Result<RawResult>) + Send + 'static,
    ) -> Result<StartedCall> {
        let core = self.core();
        let cancel_handle = core.exchange_transport().map(|_| CancelHandle::until(None));
        let send = |mut message: SessionMessage| {
            message.kind = kind;
            match &cancel_handle {
                Some(cancel_handle) => {
                    let (failing, id) = (Arc::clone(core), message.related.clone());
                    core.start_exchange(message, cancel_handle, move |carried| {
                        // This has no effect if the call was given up, or was answered in another
                        // way.
                        if let (Err(error), Some(id)) = (carried, id) {
                            failing.complete(&id, Outcome::Failed(error));
                        }
                    })
                }
                None => core.send_started(message, None),
            }
        };
        let started = start_request(core, method, write_params, OnEnd::Quick, on_end, send)?;
        Ok(StartedCall {
            cancel_handle,
            ..started
        })
    }
}

impl Asking {
    /// Sends a request whose outcome goes to a callback. The callback runs in order with
    /// notification handlers. See [`start_request`].
    pub(crate) fn start(
        &self,
        method: &'static str,
        write_params: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        on_end: impl FnOnce(Result<RawResult>) + Send + 'static,
    ) -> Result<StartedCall> {
        let send = |message| self.core.send_started(message, Some(&self.request));
        start_request(
            &self.core,
            method,
            write_params,
            OnEnd::InOrder,
            on_end,
            send,
        )
    }
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

impl Call {
    pub(crate) fn id(&self) -> i64 {
        self.waiter.id
    }

    /// Blocks until the call has an outcome, is cancelled or times out. Returns the result of the
    /// call.
    ///
    /// `options` are the options with which the call was started.
    pub(crate) fn finish(mut self, options: &mut RequestOptions<'_>) -> Result<RawResult> {
        let outcome = match self.unsent.take() {
            Some(message) => self.carry(message, options),
            None => {
                let _place = Core::leave_worker();
                self.wait(options)
            }
        };
        judge(&self.core, &self.method, outcome?)
    }

    /// Waits as [`finish`](Self::finish) does, but at most until the time `until`. Returns `None`
    /// if the call has not ended by then. On an exchange transport always returns `None` at once,
    /// because the wait for an exchange cannot be interrupted.
    pub(crate) fn finish_until(
        &mut self,
        until: Instant,
        options: &mut RequestOptions<'_>,
    ) -> Option<Result<RawResult>> {
        if self.unsent.is_some() {
            return None;
        }
        self.began = None;
        let _place = Core::leave_worker();
        let outcome = match self.wait_until(Some(until), options) {
            Ok(outcome) => outcome?,
            Err(error) => return Some(Err(error)),
        };
        Some(judge(&self.core, &self.method, outcome))
    }

    /// Cancels the call and notifies the peer. Returns the error of the call; `None` if its outcome
    /// has already arrived.
    pub(crate) fn cancel(&mut self, reason: &str) -> Option<Error> {
        if !self.give_up() {
            return None;
        }
        if self.may_cancel && self.unsent.is_none() {
            self.core.send_cancelled(self.waiter.id, reason);
        }
        Some(cancelled_error(&self.core, &self.method).sent(self.unsent.is_none()))
    }

    /// Gives up the call, because its request could not be sent. Returns the error for the caller.
    fn not_sent(&mut self, error: Error, options: &RequestOptions<'_>) -> Error {
        self.forget();
        let (method, peer) = (&self.method, self.core.peer());
        match error.kind() {
            ErrorKind::Timeout => {
                let bound = self.time.deadline.passed(Instant::now());
                let time = self.time_text(bound.unwrap_or(Bound::Timeout), options);
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
    }

    /// Removes the call of a request that was never sent. The peer is not notified.
    fn forget(&mut self) {
        self.may_cancel = false;
        self.give_up();
    }

    /// Unregisters this thread as a candidate for the reading role.
    fn stand_down(&self) {
        let Waiter {
            id,
            channel,
            is_woken,
            ..
        } = &self.waiter;
        self.core.engine().pool.stand_down(*id, channel, *is_woken);
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

    fn wait(&mut self, options: &mut RequestOptions<'_>) -> Result<Outcome> {
        let outcome = self.wait_until(None, options)?;
        Ok(outcome.expect("without a time, the wait ends with the call"))
    }

    /// Blocks until the outcome arrives. Fails if the call is cancelled or times out. Returns
    /// `None` if neither has happened by `until`.
    fn wait_until(
        &mut self,
        until: Option<Instant>,
        options: &mut RequestOptions<'_>,
    ) -> Result<Option<Outcome>> {
        let _nudge = options.cancel.as_ref().map(|token| {
            let channel = Arc::clone(&self.waiter.channel);
            token.on_trigger(move || channel.send(CallMessage::Wake))
        });
        let mut wait = WaitState {
            may_lead: self.core.reading == Reading::Shared,
            has_flushed: false,
        };
        let mut received = None;
        loop {
            // This also skips leftover wakeups, which would end each read turn before it began.
            let found = received.take().or_else(|| self.waiter.take());
            let now = match self.take_events(found, options)? {
                ControlFlow::Break(outcome) => return Ok(Some(outcome)),
                ControlFlow::Continue(now) => now,
            };
            if let Some(error) = self.over(now, options) {
                return Err(error);
            }
            if until.is_some_and(|until| now >= until) {
                self.core.flush_requests(until);
                self.stand_down();
                return Ok(None);
            }
            let end = self.time.deadline.at().into_iter().chain(until).min();
            received = self.block(&mut wait, now, end);
        }
    }

    /// Runs the progress callback for the events that have arrived, beginning with `found`. Returns
    /// the outcome if it has arrived, and otherwise the current time.
    fn take_events(
        &mut self,
        mut found: Option<CallEvent>,
        options: &mut RequestOptions<'_>,
    ) -> Result<ControlFlow<Outcome, Instant>> {
        if let Some(CallEvent::Outcome(outcome)) = found {
            return Ok(ControlFlow::Break(outcome));
        }
        let mut now = self.began.take().unwrap_or_else(Instant::now);
        let mut looked_at = None;
        while let Some(here) = found {
            let progress = match here {
                CallEvent::Outcome(outcome) => return Ok(ControlFlow::Break(outcome)),
                CallEvent::Progress(progress) => progress,
            };
            self.time.deadline.extend(now);
            if let Some(callback) = &mut options.on_progress {
                callback(progress);
                now = about_now();
                // The callback's run time does not count as waiting. Messages may have arrived
                // meanwhile.
                self.time.deadline.extend(now);
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
        Ok(ControlFlow::Continue(now))
    }

    /// Reads messages for all callers, or blocks until a message arrives in the channel. Blocks at
    /// most until `end`.
    fn block(
        &mut self,
        wait: &mut WaitState,
        now: Instant,
        end: Option<Instant>,
    ) -> Option<CallEvent> {
        let (core, pool) = (&self.core, &self.core.engine().pool);
        let receiver = wait
            .may_lead
            .then(|| {
                self.waiter.is_woken = false;
                pool.take_or_stand_by(self.waiter.id, &self.waiter.channel)
            })
            .flatten();
        let Some(receiver) = receiver else {
            core.flush_requests(end);
            wait.may_lead = core.reading == Reading::Shared;
            return self.waiter.wait(end);
        };
        // Other threads of a server may have left messages to the thread that takes the receiver.
        let has_to_flush = core.settings.serving || !receiver.has_message();
        if !wait.has_flushed && has_to_flush && core.is_flush_due(false, true) {
            // A write may block, so the receiver is parked for another thread meanwhile.
            core.spawn_if_needed(pool.park(receiver));
            core.flush_of_call(end);
            wait.has_flushed = true;
            return None;
        }
        if core.settings.serving && wait.has_flushed {
            // Since then, another thread may have held the receiver and promised to flush.
            core.engine().writer.will_flush(false);
            core.write_soon();
        }
        let turn = now + STINT;
        let turn = end.map_or(turn, |end| turn.min(end));
        let turn = core.read_for_caller(receiver, &mut self.waiter, now, turn);
        wait.has_flushed = false;
        wait.may_lead = turn == ReadTurn::Found;
        None
    }

    /// Returns an error if the call is cancelled or past its deadline. The error ends the call.
    fn over(&mut self, now: Instant, options: &RequestOptions<'_>) -> Option<Error> {
        self.cancelled(options).or_else(|| self.late(now, options))
    }

    fn late(&mut self, now: Instant, options: &RequestOptions<'_>) -> Option<Error> {
        let bound = self.time.passed(&self.core, now)?;
        self.reason = Cow::Borrowed("timed out");
        Some(self.timed_out(bound, options))
    }

    fn cancelled(&mut self, options: &RequestOptions<'_>) -> Option<Error> {
        let token = options.cancel.as_ref()?;
        if !token.is_triggered() {
            return None;
        }
        self.reason = reason_of(Some(token));
        Some(cancelled_error(&self.core, &self.method))
    }

    /// Sends the request over its own exchange, and processes the messages of the exchange on this
    /// thread.
    fn carry(
        &mut self,
        message: SessionMessage,
        options: &mut RequestOptions<'_>,
    ) -> Result<Outcome> {
        let core = Arc::clone(&self.core);
        let exchange_transport = core
            .exchange_transport()
            .expect("only exchange transports leave a request unsent");
        let patience = Patience::of(self);
        let looked_at = Arc::clone(&patience);
        let cancel_handle = CancelHandle::new(move |now, held| looked_at.look(now, held));
        let ending = Arc::clone(&cancel_handle);
        let token = options.cancel.as_ref();
        let _ended = token.map(|token| token.on_trigger(move || ending.end()));
        let _place = Core::leave_worker();
        let (waiter, on_progress) = (&mut self.waiter, &mut options.on_progress);
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
                            patience.time.lock().deadline.extend(now);
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
        let carried = exchange_transport.exchange(&message, &cancel_handle, &mut |received| {
            core.take_carried(received, Some(waiter));
            outcome = take(waiter);
            match outcome {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        // The outcome may also have arrived in another way, such as the end of the connection.
        let outcome = outcome.or_else(|| take(waiter));
        self.time = *patience.time.lock();
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

    /// Returns the error that a caller gets when the exchange of its request ended without an
    /// outcome.
    fn not_carried(&mut self, error: Error, options: &RequestOptions<'_>) -> Error {
        if !error.was_sent() {
            self.forget();
        }
        if let Some(cancelled) = self.cancelled(options) {
            return cancelled.sent(error.was_sent());
        }
        if let Some(bound) = self.time.deadline.passed(Instant::now()) {
            self.reason = Cow::Borrowed("timed out");
            return self.timed_out(bound, options).sent(error.was_sent());
        }
        self.forget();
        let (method, peer) = (&self.method, self.core.peer());
        match error.rpc() {
            Some(_) => error.refusing(peer, method),
            None => error.context(format_args!("no answer to {method}")),
        }
    }

    fn timed_out(&self, bound: Bound, options: &RequestOptions<'_>) -> Error {
        timed_out(&self.core, &self.method, &self.time_text(bound, options))
    }

    /// Returns a text for errors: how long the call took, and the setting that limits the time.
    fn time_text(&self, bound: Bound, options: &RequestOptions<'_>) -> String {
        time_text(
            &self.time.deadline,
            bound,
            (options.timeout, options.max_timeout),
        )
    }
}

pub(super) fn timed_out(core: &Core, method: &str, time: &str) -> Error {
    let text = format!("no answer to {method} from '{}' after {time}", core.peer());
    Error::new(ErrorKind::Timeout, text).sent(true)
}

pub(super) fn cancelled_error(core: &Core, method: &str) -> Error {
    let text = format!("{method} to '{}' was cancelled", core.peer());
    Error::new(ErrorKind::Cancelled, text).sent(true)
}

/// Returns the reason of a cancellation, for the peer.
pub(super) fn reason_of(token: Option<&CancelToken>) -> Cow<'static, str> {
    match token.and_then(CancelToken::reason) {
        Some(reason) => Cow::Owned(reason),
        None => Cow::Borrowed("the caller cancelled the request"),
    }
}

/// Returns how long a call took, and the setting that limits the time. `spans` are the timeout and
/// the maximum timeout of the call.
pub(super) fn time_text(
    deadline: &Deadline,
    bound: Bound,
    spans: (Option<Duration>, Option<Duration>),
) -> String {
    let (setting, span) = match bound {
        Bound::Timeout => ("timeout", spans.0),
        Bound::Cap => ("max_timeout", spans.1),
    };
    let elapsed = Span::measured(deadline.elapsed(Instant::now()));
    format!(
        "{elapsed} ({setting} is {})",
        Span(span.unwrap_or_default())
    )
}

/// The deadline of a call, without the time that users spend on the peer's input requests.
#[derive(Clone, Copy)]
pub(super) struct CallTime {
    pub(super) deadline: Deadline,
    /// The total time that users had spent on the peer's input requests when the call began.
    user_time: Duration,
}

impl CallTime {
    /// Returns the bound that the call has passed at the time `now`.
    fn passed(&mut self, core: &Core, now: Instant) -> Option<Bound> {
        self.deadline.passed(now)?;
        if let Some(seen) = core.user_seen(now) {
            self.deadline.extend(seen);
            let took = core.user_time(now);
            self.deadline.hold(took.saturating_sub(self.user_time));
        }
        self.deadline.passed(now)
    }
}

/// The deadline of a call. The calling thread and the thread that checks deadlines share it.
pub(super) struct Patience {
    core: Arc<Core>,
    // Guards the changes by the caller and the checks by the deadline thread. Held only for a
    // moment.
    pub(super) time: Mutex<CallTime>,
    /// Whether the caller's progress callback is running. The run time of the callback does not
    /// count as waiting.
    is_busy: AtomicBool,
}

impl Patience {
    pub(super) fn of(call: &Call) -> Arc<Self> {
        Arc::new(Self {
            core: Arc::clone(&call.core),
            time: Mutex::new(call.time),
            is_busy: AtomicBool::new(false),
        })
    }

    pub(super) fn look(&self, now: Instant, is_held: bool) -> NextCheck {
        let mut time = self.time.lock();
        if is_held || self.is_busy.load(Ordering::SeqCst) {
            time.deadline.extend(now);
        }
        match (time.passed(&self.core, now), time.deadline.at()) {
            (Some(_), _) => NextCheck::Over,
            (None, Some(at)) => NextCheck::At(at),
            (None, None) => NextCheck::Never,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let id = self.waiter.id;
        self.stand_down();
        if !self.is_watched && self.give_up() && self.may_cancel && self.unsent.is_none() {
            self.core.send_cancelled(id, &self.reason);
        }
    }
}

/// Converts the outcome of a request into the result for the caller.
pub(super) fn judge(core: &Core, method: &str, outcome: Outcome) -> Result<RawResult> {
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
        Outcome::Over(error) => Err(error),
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
    cancel_handle: Option<Arc<CancelHandle>>,
}

impl StartedCall {
    pub(super) fn id(&self) -> i64 {
        self.id
    }

    /// Discards the outcome of the request. Drops the callback without notifying the peer.
    pub(crate) fn forget(self) {
        self.core.engine().calls.give_up(self.id);
    }

    /// Cancels the request: notifies the peer and drops the callback. If the outcome has already
    /// arrived, nothing happens.
    pub(crate) fn cancel(&self, reason: &str) {
        if self.core.engine().calls.give_up(self.id) {
            if let Some(cancel_handle) = &self.cancel_handle {
                cancel_handle.end();
            }
            self.core.send_cancelled(self.id, reason);
        }
    }
}

/// Sends a request whose outcome goes to a callback, exactly once.
///
/// The request has no timeout. Only the peer, [`StartedCall::cancel`] and the end of the connection
/// end the request. The caller is responsible for a deadline. `on_end_kind` says on which thread
/// `on_end` runs.
pub(super) fn start_request(
    core: &Arc<Core>,
    method: &'static str,
    write: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
    on_end_kind: fn(Box<dyn FnOnce(Outcome) + Send>) -> OnEnd,
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
    let calls = &core.engine().calls;
    let id = calls.register_callback(about, on_end_kind(on_end))?;
    let started = StartedCall {
        core: Arc::clone(core),
        id,
        cancel_handle: None,
    };
    let text = write_request(id, method, write).map_err(|error| {
        core.engine().calls.give_up(id);
        Error::new(
            ErrorKind::Invalid,
            format!("params of {method} can't be written as JSON: {error}"),
        )
    })?;
    let message = SessionMessage::new(text).related_to(RequestId::from(id));
    // The connection may have ended meanwhile. Then the callback has the outcome.
    match send(message) {
        Err(error) if core.engine().calls.give_up(id) => Err(error),
        _ => Ok(started),
    }
}
