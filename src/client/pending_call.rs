//! Calls for which the caller does not wait at once.
//!
//! ```text
//!            start              events                    outcome              take, wait
//!  (none) ──────────▶ sent ───────────────▶ watched ─────────────────▶ ended ─────────────▶ taken
//!                      │ ╲ wait: the calling thread reads for itself ────▲
//!                      │
//!                      └─ cancel, drop: the server is notified
//! ```
//!
//! No thread belongs to a *sent* call. If the first response to a *watched* call is its result, the
//! thread that reads the response ends the call. Otherwise the call is a multi round-trip request,
//! becomes a task, or is retried on the next connection, and a thread of the client continues the
//! call. Calls over HTTP are watched from the start.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use serde::Serialize;

use super::Client;
use super::call_options::{CallOptions, OwnedCallOptions};
use super::calls::tool_params;
use super::connection::ClientConnection;
use super::mrtr::{FirstAnswer, FirstRequest};
use super::prepared_call::{Finish, FirstStep, PreparedCall};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::RawResult;
use crate::protocol::{Call, CancelToken, OnCancel, Progress, WatchedCall, When};
use crate::schema::{CallToolResult, GetPromptResult, ReadResourceResult, ResultType, method};
use crate::sync::{Condvar, Mutex};
use crate::transport::clock::after;

/// An event of a [`PendingCall`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallEvent {
    /// The server reported progress.
    Progress(Progress),
    /// The call has ended. [`PendingCall::try_take`] returns its result. No event follows.
    Done,
}

/// A call in flight, for which no thread has to wait.
///
/// The methods of [`Client`] whose names begin with `start` return this type. One thread may have
/// many calls in flight, on many clients. The thread can wait for one call ([`wait`](Self::wait)),
/// or for the next event of any call ([`events`](Self::events)).
///
/// Dropping the handle cancels the call. The handle keeps its client connected.
///
/// **Time limits.** The timeouts of [`CallOptions`] count from the start of the call. They are
/// enforced while a method waits for the call, and always after the first use of `events`.
///
/// # Examples
///
/// ```
/// use mcplink::client::Client;
/// use mcplink::client::CallOptions;
/// use mcplink::server::Server;
/// use mcplink::transport::memory;
/// use serde_json::json;
///
/// let server = Server::builder("hello", "1.0")
///     .tool_with(mcplink::schema::Tool::new("greet"), |_: serde_json::Value, _| "Hello!")
///     .build()?;
/// let (here, there) = memory::pair();
/// let serving = server.open(there)?;
/// let client = Client::connect(here)?;
/// let first = client.start_tool("greet", &json!({}), CallOptions::new())?;
/// let second = client.start_tool("greet", &json!({}), CallOptions::new())?;
/// assert_eq!(second.wait()?.content[0].as_text(), Some("Hello!"));
/// assert_eq!(first.wait()?.content[0].as_text(), Some("Hello!"));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[must_use = "dropping it cancels the call"]
pub struct PendingCall<T> {
    client: Client,
    state: State<T>,
}

enum State<T> {
    /// A call whose request was sent, while no thread waits for its outcome.
    Sent(Box<Sent<T>>),
    Watched(Box<Watched<T>>),
    Ended(Result<T>),
    /// A call whose result was taken. No further event arrives on the channel.
    Taken(Receiver<CallEvent>),
}

/// A call whose request was sent.
struct Sent<T> {
    connection: Arc<ClientConnection>,
    call: Call,
    rest: Rest<T>,
}

/// The request and the options of a call, and the function that completes the call.
struct Rest<T> {
    method: Cow<'static, str>,
    params: String,
    options: OwnedCallOptions,
    started: Instant,
    may_block: bool,
    finish: Finish<T>,
}

impl<T> Rest<T> {
    fn new(prepared: PreparedCall<T>, options: OwnedCallOptions) -> (FirstStep, Self) {
        let rest = Self {
            method: prepared.method,
            params: prepared.params,
            options,
            started: Instant::now(),
            may_block: prepared.may_block,
            finish: prepared.finish,
        };
        (prepared.first, rest)
    }

    fn options(&self) -> CallOptions<'static> {
        self.options.after(self.started.elapsed())
    }

    fn finish(self, client: &Client, first: FirstRequest) -> Result<T> {
        let options = self.options();
        self.finish_with(client, options, first)
    }

    fn finish_with(
        self,
        client: &Client,
        options: CallOptions<'_>,
        first: FirstRequest,
    ) -> Result<T> {
        (self.finish)(client, self.params, options, first)
    }

    /// Completes the call. A panic in code of the host becomes the error of the call.
    fn finish_caught(
        self,
        client: &Client,
        options: CallOptions<'_>,
        first: FirstRequest,
    ) -> Result<T> {
        let method = self.method.clone();
        let finish = AssertUnwindSafe(|| self.finish_with(client, options, first));
        catch_unwind(finish).unwrap_or_else(|_| {
            let text = format!("code of the host panicked during {method}");
            Err(Error::new(ErrorKind::Io, text).sent(true))
        })
    }
}

/// Receives the progress and the outcome of a call for which no thread waits.
///
/// The functions run on the thread that receives the message or detects the failure. They must not
/// block.
pub(crate) trait CallListener<T>: Send + Sync {
    /// Passes on progress. Returns whether this progress replaced progress that nobody has seen.
    fn report(&self, progress: Progress) -> bool;

    /// Passes on the outcome of the call. The function runs exactly once, after all progress.
    fn end(&self, outcome: Result<T>);

    /// Marks the current thread as working for the call, until the returned value is dropped.
    fn enter(&self) -> Box<dyn Any>;
}

/// The receiver of the progress and the outcome of a watched call.
enum Listener<T> {
    /// The handle of the call. The thread that takes the result reads the response.
    Handle(Arc<Shared<T>>),
    Callbacks(Arc<dyn CallListener<T>>),
}

impl<T> Clone for Listener<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Handle(shared) => Self::Handle(Arc::clone(shared)),
            Self::Callbacks(callbacks) => Self::Callbacks(Arc::clone(callbacks)),
        }
    }
}

impl<T: Send + 'static> Listener<T> {
    fn report(&self, progress: Progress) -> bool {
        match self {
            Self::Handle(shared) => shared.report(progress),
            Self::Callbacks(callbacks) => callbacks.report(progress),
        }
    }

    fn end(&self, outcome: Result<T>) {
        match self {
            Self::Handle(shared) => shared.end(SharedState::Ended(outcome)),
            Self::Callbacks(callbacks) => callbacks.end(outcome),
        }
    }

    fn enter(&self) -> Option<Box<dyn Any>> {
        match self {
            Self::Handle(_) => None,
            Self::Callbacks(callbacks) => Some(callbacks.enter()),
        }
    }

    /// Handles the outcome of the first request, on the thread that received the response or
    /// detected the failure. Does not block.
    fn end_first(self, client: &Client, answer: FirstAnswer, rest: Rest<T>) {
        if is_final(client, &answer) {
            match &self {
                Self::Handle(shared) => return shared.end(SharedState::Answered(answer, rest)),
                Self::Callbacks(callbacks) if !rest.may_block && answer.is_short() => {
                    let (options, first) = (rest.options(), FirstRequest::Answered(answer));
                    return callbacks.end(rest.finish_caught(client, options, first));
                }
                Self::Callbacks(_) => {}
            }
        }
        let first = FirstRequest::Answered(answer);
        if let Err(error) = client.run_on_thread(rest, first, self.clone()) {
            self.end(Err(error));
        }
    }
}

/// A call whose events go to a channel.
struct Watched<T> {
    shared: Arc<Shared<T>>,
    events: Receiver<CallEvent>,
    cancel: CancelToken,
    id: Option<i64>,
    /// The first request, whose outcome goes to a callback. `None` if a thread of the client runs
    /// the call.
    _first: Option<WatchedCall>,
    /// The callback that cancels the call when the caller's token is cancelled.
    _on_cancel: Option<OnCancel>,
}

struct Shared<T> {
    // The outcome is stored under this lock before `Done` is sent and `ended` is notified. A waiter
    // checks the outcome under this lock. So no wakeup is lost.
    state: Mutex<SharedState<T>>,
    ended: Condvar,
    events: Sender<CallEvent>,
    /// The receiving end of `events`. It is used to remove the oldest progress when the channel is
    /// full.
    oldest: Receiver<CallEvent>,
    max_events: usize,
}

#[expect(
    clippy::large_enum_variant,
    reason = "each call has one; a box would cost each call an allocation"
)]
enum SharedState<T> {
    Waiting,
    /// The response to the first request, which is the result of the call. The thread that takes
    /// the result decodes the response.
    Answered(FirstAnswer, Rest<T>),
    Ended(Result<T>),
    Taken,
}

impl<T> Shared<T> {
    fn new(max_events: usize) -> (Arc<Self>, Receiver<CallEvent>) {
        let (events, receiver) = crossbeam_channel::unbounded();
        let shared = Self {
            state: Mutex::new(SharedState::Waiting),
            ended: Condvar::new(),
            events,
            oldest: receiver.clone(),
            max_events: max_events.max(1),
        };
        (Arc::new(shared), receiver)
    }

    /// Sends a progress event. If the channel is full, removes the oldest event first. Returns
    /// whether an event was removed.
    fn report(&self, progress: Progress) -> bool {
        let is_full = self.events.len() >= self.max_events;
        let merged = is_full && self.oldest.try_recv().is_ok();
        // Fails when the handle was dropped.
        _ = self.events.send(CallEvent::Progress(progress));
        merged
    }

    fn end(&self, ended: SharedState<T>) {
        *self.state.lock() = ended;
        self.ended.notify_all();
        _ = self.events.send(CallEvent::Done);
    }

    /// Takes the outcome if there is one. Blocks until `until` at most.
    fn take(&self, until: Option<Instant>) -> Option<SharedState<T>> {
        let mut state = self.state.lock();
        while matches!(*state, SharedState::Waiting) {
            if until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            state = self.ended.wait_until(state, until);
        }
        Some(std::mem::replace(&mut *state, SharedState::Taken))
    }
}

impl<T: Send + 'static> PendingCall<T> {
    /// Blocks until the call has ended, and returns its result. The thread may read messages for
    /// the other callers of the connection while it waits.
    ///
    /// # Errors
    ///
    /// The errors of the blocking form of the call, such as [`Client::call_tool_with`].
    /// [`ErrorKind::State`] if the result was taken before.
    pub fn wait(mut self) -> Result<T> {
        match std::mem::replace(&mut self.state, taken()) {
            State::Sent(sent) => {
                let first = FirstRequest::Sent(sent.connection, sent.call);
                sent.rest.finish(&self.client, first)
            }
            State::Watched(watched) => {
                let ended = watched.shared.take(None);
                self.settle(ended).unwrap_or_else(|| Err(was_taken()))
            }
            State::Ended(result) => result,
            State::Taken(_) => Err(was_taken()),
        }
    }

    /// Blocks until the call has ended, at most for `timeout`, and takes the result. Returns `None`
    /// while the call goes on, and after the result was taken.
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait).
    pub fn wait_timeout(&mut self, timeout: Duration) -> Option<Result<T>> {
        let until = after(timeout);
        if let State::Sent(sent) = &mut self.state {
            let mut options = sent.rest.options();
            let result = sent.call.finish_until(until, &mut options.request)?;
            let State::Sent(sent) = std::mem::replace(&mut self.state, taken()) else {
                return None;
            };
            let answer = FirstAnswer {
                session: sent.connection.session(),
                connection: sent.connection,
                result,
            };
            if is_final(&self.client, &answer) {
                let first = FirstRequest::Answered(answer);
                return Some(sent.rest.finish(&self.client, first));
            }
            let first = FirstRequest::Answered(answer);
            match self.client.continue_on_thread(sent.rest, first) {
                Ok(watched) => self.state = State::Watched(Box::new(watched)),
                Err(error) => return Some(Err(error)),
            }
        }
        match &mut self.state {
            State::Watched(watched) => {
                let ended = watched.shared.take(Some(until))?;
                self.settle(Some(ended))
            }
            State::Ended(_) => match std::mem::replace(&mut self.state, taken()) {
                State::Ended(result) => Some(result),
                _ => None,
            },
            State::Sent(_) | State::Taken(_) => None,
        }
    }

    /// Takes the result if the call has ended. Never blocks for the server. Returns `None` while
    /// the call goes on, and after the result was taken.
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait).
    pub fn try_take(&mut self) -> Option<Result<T>> {
        self.wait_timeout(Duration::ZERO)
    }

    fn settle(&self, ended: Option<SharedState<T>>) -> Option<Result<T>> {
        match ended? {
            SharedState::Answered(answer, rest) => {
                Some(rest.finish(&self.client, FirstRequest::Answered(answer)))
            }
            SharedState::Ended(result) => Some(result),
            SharedState::Waiting | SharedState::Taken => None,
        }
    }

    /// Cancels the call: the server is notified, and the call ends with [`ErrorKind::Cancelled`].
    /// Does nothing if the call has ended.
    pub fn cancel(&mut self) {
        match &mut self.state {
            State::Sent(sent) => {
                if let Some(error) = sent.call.cancel("the caller cancelled the request") {
                    self.state = State::Ended(Err(error));
                }
            }
            State::Watched(watched) => watched.cancel.cancel(),
            State::Ended(_) | State::Taken(_) => {}
        }
    }

    /// Returns the id of the call's first request. Returns `None` if a thread of the client runs
    /// the call: a call that becomes a task, and a call that was started while the server was being
    /// restarted. The id may also be `None` after the call has ended.
    pub fn id(&self) -> Option<i64> {
        match &self.state {
            State::Sent(sent) => Some(sent.call.id()),
            State::Watched(watched) => watched.id,
            State::Ended(_) | State::Taken(_) => None,
        }
    }

    /// Returns the channel of the call's events: each progress event, then [`CallEvent::Done`].
    ///
    /// With `crossbeam_channel::select!` or `Select` a thread can wait at once for the events of
    /// several calls, for timers and for other channels. From the first use of this method, the
    /// threads of the connection read for this call, and its time limits are enforced although no
    /// thread waits for it.
    ///
    /// The channel stores at most [`max_call_events`](crate::transport::Limits::max_call_events)
    /// progress events. At the limit, the oldest event is removed for each new event.
    pub fn events(&mut self) -> &Receiver<CallEvent> {
        if matches!(self.state, State::Sent(_) | State::Ended(_)) {
            let state = std::mem::replace(&mut self.state, taken());
            self.state = State::Watched(Box::new(self.client.watch(state)));
        }
        match &self.state {
            State::Watched(watched) => &watched.events,
            State::Taken(events) => events,
            State::Sent(_) | State::Ended(_) => unreachable!("replaced above"),
        }
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        // A call that has ended ignores this.
        self.cancel.cancel();
    }
}

impl<T> fmt::Debug for PendingCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Sent(_) => "sent",
            State::Watched(_) => "watched",
            State::Ended(_) => "ended",
            State::Taken(_) => "taken",
        };
        f.debug_struct("PendingCall")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

fn taken<T>() -> State<T> {
    State::Taken(crossbeam_channel::never())
}

fn was_taken() -> Error {
    Error::new(
        ErrorKind::State,
        "the result of this call was already taken",
    )
}

/// Whether the response to the first request is the result of the call.
fn is_final(client: &Client, answer: &FirstAnswer) -> bool {
    let connection = &answer.connection;
    match &answer.result {
        Err(error) => !client.0.supervisor.may_retry(error) && !connection.may_recover(error),
        Ok(_) if connection.revision.is_legacy() => true,
        Ok(result) => ResultType::of(result).is_ok_and(|kind| kind == ResultType::Complete),
    }
}

/// Replaces the token of the options by a token of the call's own, which is cancelled together with
/// the caller's token.
fn own_token(options: &mut OwnedCallOptions) -> (CancelToken, Option<OnCancel>) {
    let own = CancelToken::new();
    let theirs = options.request.cancel.replace(own.clone());
    let on_cancel = theirs.map(|token| {
        let (own, reason) = (own.clone(), token.clone());
        token.on_trigger(move || match reason.reason() {
            Some(reason) => own.trigger_because(reason),
            None => own.cancel(),
        })
    });
    (own, on_cancel)
}

impl Client {
    /// Starts a tool call without waiting for its result: the non-blocking form of
    /// [`call_tool_with`](Self::call_tool_with).
    ///
    /// Blocks only while the server does not read and the outgoing queue is full.
    ///
    /// # Errors
    ///
    /// The errors of [`call_tool`](Self::call_tool) that are found before the request is sent.
    /// [`ErrorKind::Invalid`] if the options have a progress callback: progress is an
    /// [event](PendingCall::events) of the call. [`ErrorKind::Busy`] if too many calls are in
    /// flight.
    pub fn start_tool(
        &self,
        name: &str,
        arguments: &impl Serialize,
        mut options: CallOptions<'_>,
    ) -> Result<PendingCall<CallToolResult>> {
        self.need_tools()?;
        let params = tool_params(name, arguments)?;
        let read = |client: &Self, name: &str, check, result: RawResult| {
            client.read_tool_result(name, check, &result)
        };
        let prepared = self.prepare_tool_with(name, params, &mut options, read)?;
        self.start(prepared, options)
    }

    /// Starts to read a resource: the non-blocking form of
    /// [`read_resource_with`](Self::read_resource_with). If a fresh response is cached, no request
    /// is sent.
    ///
    /// # Errors
    ///
    /// The errors of [`start_tool`](Self::start_tool).
    pub fn start_resource(
        &self,
        uri: &str,
        options: CallOptions<'_>,
    ) -> Result<PendingCall<ReadResourceResult>> {
        let read = |client: &Self, answer| client.decode_and_keep(method::RESOURCES_READ, answer);
        self.start(self.prepare_resource_with(uri, &options, read)?, options)
    }

    /// Starts to get a prompt: the non-blocking form of
    /// [`get_prompt_with`](Self::get_prompt_with).
    ///
    /// # Errors
    ///
    /// The errors of [`start_tool`](Self::start_tool).
    pub fn start_prompt(
        &self,
        name: &str,
        arguments: &[(&str, &str)],
        options: CallOptions<'_>,
    ) -> Result<PendingCall<GetPromptResult>> {
        let read = |client: &Self, result: RawResult| client.decode(method::PROMPTS_GET, &result);
        self.start(self.prepare_prompt(name, arguments, read)?, options)
    }

    /// Starts a request of any method: the non-blocking form of [`request`](Self::request).
    ///
    /// # Errors
    ///
    /// The errors of [`start_tool`](Self::start_tool), except that capabilities are not checked.
    pub fn start_request(
        &self,
        method: &str,
        params: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<PendingCall<RawResult>> {
        self.start(
            self.prepare_request(method, params, |_, result| Ok(result))?,
            options,
        )
    }

    /// Starts a call.
    pub(super) fn start<T: Send + 'static>(
        &self,
        prepared: PreparedCall<T>,
        mut options: CallOptions<'_>,
    ) -> Result<PendingCall<T>> {
        options.apply_defaults(self.0.supervisor.settings().timeouts);
        let Some(owned) = options.to_owned_options() else {
            let text = "a started call reports progress with PendingCall::events, not with CallOptions::on_progress";
            return Err(Error::new(ErrorKind::Invalid, text));
        };
        let (first, rest) = Rest::new(prepared, owned);
        let state = match self.ready_for(first) {
            Some(connection) => {
                let call = self.send(&connection, &rest, When::Soon)?;
                let has_exchanges = connection.peer.core().exchange_transport().is_some();
                let sent = State::Sent(Box::new(Sent {
                    connection,
                    call,
                    rest,
                }));
                match has_exchanges {
                    true => State::Watched(Box::new(self.watch(sent))),
                    false => sent,
                }
            }
            None if first == FirstStep::Cached => {
                State::Ended(rest.finish(self, FirstRequest::Unsent))
            }
            None => {
                let watched = self.continue_on_thread(rest, FirstRequest::Unsent)?;
                State::Watched(Box::new(watched))
            }
        };
        Ok(PendingCall {
            client: self.clone(),
            state,
        })
    }

    /// Starts a call whose progress and outcome go to `listener`. Does not block. The call ends
    /// when its time is over. Dropping the returned value cancels the call. `None` is returned for
    /// a call that a thread of the client makes; such a call can be cancelled with the token of the
    /// options.
    ///
    /// # Errors
    ///
    /// The call was not started, and the listener is not used.
    #[cfg(feature = "cffi")]
    pub(crate) fn start_listened<T: Send + 'static>(
        &self,
        prepared: PreparedCall<T>,
        mut options: CallOptions<'static>,
        listener: Arc<dyn CallListener<T>>,
    ) -> Result<Option<WatchedCall>> {
        options.apply_defaults(self.0.supervisor.settings().timeouts);
        let owned = options.to_owned_options();
        let owned = owned.expect("options with a static lifetime were made without a callback");
        let (first, rest) = Rest::new(prepared, owned);
        let listener = Listener::Callbacks(listener);
        if first == FirstStep::Cached && !rest.may_block {
            let options = rest.options();
            listener.end(rest.finish_caught(self, options, FirstRequest::Unsent));
            return Ok(None);
        }
        if let Some(connection) = self.ready_for(first) {
            match self.send(&connection, &rest, When::Elsewhere) {
                Ok(call) => return self.listen(connection, call, rest, listener).map(Some),
                // The queue of outgoing messages is full. A thread waits for room.
                Err(error) if error.kind() == ErrorKind::Limit => {}
                Err(error) => return Err(error),
            }
        }
        self.run_on_thread(rest, FirstRequest::Unsent, listener)?;
        Ok(None)
    }

    /// Returns the connection on which the first request of a call can be sent at once. Returns
    /// `None` for a call whose first step is not a request, and while the server is restarted.
    fn ready_for(&self, first: FirstStep) -> Option<Arc<ClientConnection>> {
        let is_request = first == FirstStep::Request;
        is_request.then(|| self.0.supervisor.ready_now()).flatten()
    }

    /// Sends the first request of a call.
    fn send<T>(&self, connection: &ClientConnection, rest: &Rest<T>, when: When) -> Result<Call> {
        let options = rest.options();
        let meta = self.0.supervisor.own_meta(connection.revision, &options)?;
        let kind = connection.request_kind(&rest.method, &rest.params)?;
        let write =
            |id, text: &mut Vec<u8>| connection.envelope.write(id, &rest.params, &meta, text);
        let peer = &connection.peer;
        peer.start(&rest.method, kind, write, &options.request, when)
    }

    /// Passes the progress and the outcome of a call that was sent to `listener`.
    fn listen<T: Send + 'static>(
        &self,
        connection: Arc<ClientConnection>,
        call: Call,
        rest: Rest<T>,
        listener: Listener<T>,
    ) -> Result<WatchedCall> {
        let options = rest.options();
        let (client, reporting) = (self.clone(), listener.clone());
        let session = connection.session();
        let on_end = move |result| {
            let answer = FirstAnswer {
                connection,
                session,
                result,
            };
            listener.end_first(&client, answer, rest);
        };
        call.watch(
            &options.request,
            move |progress| reporting.report(progress),
            on_end,
        )
    }

    fn max_events(&self) -> usize {
        self.0.supervisor.settings().limits.max_call_events
    }

    /// Runs the rest of a call on a thread of the client.
    fn continue_on_thread<T: Send + 'static>(
        &self,
        mut rest: Rest<T>,
        first: FirstRequest,
    ) -> Result<Watched<T>> {
        let (cancel, on_cancel) = own_token(&mut rest.options);
        let (shared, events) = Shared::new(self.max_events());
        self.run_on_thread(rest, first, Listener::Handle(Arc::clone(&shared)))?;
        Ok(Watched {
            shared,
            events,
            cancel,
            id: None,
            _first: None,
            _on_cancel: on_cancel,
        })
    }

    /// Runs the rest of a call on a thread of the client.
    fn run_on_thread<T: Send + 'static>(
        &self,
        rest: Rest<T>,
        first: FirstRequest,
        listener: Listener<T>,
    ) -> Result<()> {
        let client = self.clone();
        self.0.supervisor.start_call_thread(move || {
            let _inside = listener.enter();
            let reporting = listener.clone();
            let options = rest
                .options()
                .on_progress(move |progress| _ = reporting.report(progress));
            let result = rest.finish_caught(&client, options, first);
            // The handle of the client is dropped first: the receiver of the result may rely on
            // the last handle being its own.
            drop(client);
            listener.end(result);
        })
    }

    /// Turns a call that was sent or has ended into a watched call.
    fn watch<T: Send + 'static>(&self, state: State<T>) -> Watched<T> {
        let (shared, events) = Shared::new(self.max_events());
        match state {
            State::Sent(sent) => {
                let Sent {
                    connection,
                    call,
                    mut rest,
                } = *sent;
                let (cancel, on_cancel) = own_token(&mut rest.options);
                let id = call.id();
                let listener = Listener::Handle(Arc::clone(&shared));
                let first = self
                    .listen(connection, call, rest, listener)
                    .inspect_err(|error| shared.end(SharedState::Ended(Err(error.clone()))))
                    .ok();
                Watched {
                    shared,
                    events,
                    cancel,
                    id: Some(id),
                    _first: first,
                    _on_cancel: on_cancel,
                }
            }
            State::Ended(result) => {
                shared.end(SharedState::Ended(result));
                Watched {
                    shared,
                    events,
                    cancel: CancelToken::new(),
                    id: None,
                    _first: None,
                    _on_cancel: None,
                }
            }
            State::Watched(_) | State::Taken(_) => unreachable!("not called for these"),
        }
    }
}
