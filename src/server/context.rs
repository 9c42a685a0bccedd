//! The context of a call, through which a handler reads the request and sends messages.

use std::sync::{Arc, LazyLock};

use serde::Serialize;
use serde_json::{Value, json};

use super::call_task::CallTask;
use super::conversation::{CallServices, Conversation, InputPermit};
use super::debug_fields::debug_fields;
use super::error_map::{Failure, HandlerError, for_revision, missing_scopes, reveal};
use super::guard::GuardedResult;
use super::in_progress::InProgress;
use super::memory_budget::{EACH_CALL, Reservation, is_large, weight_of};
use super::mrtr::{InputRequester, MrtrState};
use super::progress::{Budget, Pace};
use super::raw_result;
use super::session_state::ClientContext;
use crate::buffer_cache;
use crate::error::{ErrorCode, Excerpt, Result, RpcError};
use crate::jsonrpc::{RawResult, Request};
use crate::protocol::principal::{Principal, scope_set};
use crate::protocol::{CancelToken, LogLevel, Peer, Progress, Responder};
use crate::schema::{
    ElicitationMode, FitTo, LoggingLevel, LoggingMessageNotificationParams, NotificationMetaObject,
    ProgressNotificationParams, ProtocolVersion, RequestMetaObject, ResultMetaObject, TraceContext,
    demanded_pages, meta_key, method,
};
use crate::shares::Client;
use crate::sync::Mutex;
use crate::transport::clock::about_now;

/// The maximum size, in bytes, of a request buffer that is reused for the answer.
const SMALL_REQUEST: usize = 1 << 10;

/// The context of a call: its request and client, and the functions that send messages to the
/// client.
///
/// The context is a single pointer, because many functions pass it on by value.
pub struct Context(Box<Call>);

struct Call {
    request: Request,
    responder: Responder,
    terms: Arc<ClientContext>,
    meta: Option<Arc<RequestMetaObject>>,
    conversation: Arc<Conversation>,
    pace: Mutex<Pace>,
    /// The rate limit of the call's log messages.
    logs: Mutex<Budget>,
    mrtr: Mutex<MrtrState>,
    effects: InProgress,
    /// The target, arguments and handler of a call that may make input requests. `None` if the
    /// handler must not make input requests.
    asker: Option<InputRequester>,
    /// The task that the call has become. `None` if the call has not become a task.
    task: Option<Arc<dyn CallTask>>,
    /// Whether the call can no longer become a task. Set when no task could be created.
    never_a_task: bool,
    /// The call's reservation in the memory budget, if the call is large or waits for input.
    hold: Option<Reservation>,
}

impl Context {
    /// Creates a context. If the request is large and the memory budget has no space for it,
    /// refuses the request and returns `None`.
    pub(super) fn new(
        conversation: &Arc<Conversation>,
        request: Request,
        responder: Responder,
        terms: Arc<ClientContext>,
        meta: Option<Arc<RequestMetaObject>>,
    ) -> Option<Self> {
        let mut hold = None;
        if is_large(&request) {
            let max = conversation.services.max_held();
            let client = conversation.client_of(&responder);
            let (held, limits) = (&conversation.services.held, &conversation.services.limits);
            hold = held.take(client, weight_of(&request), max, limits);
            if hold.is_none() {
                // Answering fails when the client no longer waits. Then nothing is left to do.
                _ = responder.refuse(&no_room(max));
                return None;
            }
        }
        Some(Self(Box::new(Call {
            request,
            responder,
            terms,
            meta,
            conversation: Arc::clone(conversation),
            pace: Mutex::new(Pace::new()),
            logs: Mutex::new(Budget::new()),
            mrtr: Mutex::default(),
            effects: InProgress::default(),
            asker: None,
            task: None,
            never_a_task: false,
            hold,
        })))
    }

    /// Reserves memory for this call in the memory budget, unless the call has a reservation. Fails
    /// when the budget is used up.
    pub(super) fn hold(&mut self) -> Result<(), RpcError> {
        if self.0.hold.is_some() {
            return Ok(());
        }
        let (server, weight) = (self.services(), weight_of(self.request()));
        let max = server.max_held();
        let bytes = EACH_CALL + weight;
        let client = self.accounted_client();
        let hold = server.held.take(client, bytes, max, &server.limits);
        self.0.hold = Some(hold.ok_or_else(|| no_room(max))?);
        Ok(())
    }

    /// Adds bytes to the call's reservation in the memory budget. Does nothing if the call has no
    /// reservation. Fails when the memory budget is used up.
    pub(super) fn hold_more(&mut self, bytes: usize) -> Result<(), RpcError> {
        let Call {
            conversation, hold, ..
        } = &mut *self.0;
        let (max, limits) = (
            conversation.services.max_held(),
            &conversation.services.limits,
        );
        let hold = hold.as_mut();
        if hold.is_none_or(|hold| hold.grow(bytes, max, limits)) {
            return Ok(());
        }
        Err(no_room(max))
    }

    /// Enables input requests for the call. `mrtr` contains the answers to earlier input
    /// requests.
    pub(super) fn asking(mut self, asker: InputRequester, mrtr: MrtrState) -> Self {
        self.0.asker = Some(asker);
        self.0.mrtr = Mutex::new(mrtr);
        self
    }

    /// Redirects later messages and the answer of the call to a task. Returns the responder of the
    /// client's request, or `None` when the connection is closing.
    pub(super) fn turn_into(&mut self, task: Arc<dyn CallTask>) -> Option<Responder> {
        let sink = Arc::clone(&task).sink(self.peer(), self.services().max_held());
        let (detached, work) = self.0.responder.detach(sink)?;
        task.hold(work);
        self.0.task = Some(task);
        Some(std::mem::replace(&mut self.0.responder, detached))
    }

    /// Records that the call can no longer become a task.
    pub(super) fn never_become_task(&mut self) {
        self.0.never_a_task = true;
    }

    pub(super) fn may_become_task(&self) -> bool {
        !self.0.never_a_task
    }

    /// Returns the client of the call. The call counts against this client's shares of the server's
    /// limits.
    pub(super) fn accounted_client(&self) -> Client {
        self.0.conversation.client_of(&self.0.responder)
    }

    pub(super) fn task(&self) -> Option<&Arc<dyn CallTask>> {
        self.0.task.as_ref()
    }

    /// Returns the `_meta` entry that links a message to the call's task. Returns `None` if the
    /// call is not a task, or if the task belongs to the modern era.
    fn related_task(&self) -> Option<(String, Value)> {
        let task = self.0.task.as_ref().filter(|task| !task.is_modern())?;
        let related = json!({ "taskId": task.id() });
        Some((meta_key::RELATED_TASK.to_owned(), related))
    }

    /// Returns the right to answer the call.
    pub(super) fn responder(&self) -> &Responder {
        &self.0.responder
    }

    pub(super) fn responder_mut(&mut self) -> &mut Responder {
        &mut self.0.responder
    }

    pub(super) fn mrtr(&self) -> &Mutex<MrtrState> {
        &self.0.mrtr
    }

    /// Returns the MRTR state of the call. Takes no lock, since the caller has the only reference.
    pub(super) fn mrtr_mut(&mut self) -> &mut MrtrState {
        self.0.mrtr.get_mut()
    }

    pub(super) fn effects(&self) -> &InProgress {
        &self.0.effects
    }

    /// Returns a permit to wait for input of the client, or `None` when `max` calls wait.
    pub(super) fn input_permit(&self, max: usize) -> Option<InputPermit> {
        InputPermit::take(&self.0.conversation, max)
    }

    /// Logs a text about the call for the host only.
    pub(crate) fn tell_host(&self, level: LogLevel, text: impl FnOnce() -> String) {
        self.peer().core().log_as("server", level, || {
            let (method, text) = (self.method(), text());
            match &self.0.asker {
                Some(asker) => format!(
                    "{method} '{}': {text}",
                    Excerpt(asker.target(self.request()))
                ),
                None => text,
            }
        });
    }

    pub(super) fn request(&self) -> &Request {
        &self.0.request
    }

    pub(super) fn asker(&self) -> Option<&InputRequester> {
        self.0.asker.as_ref()
    }

    /// Returns the method of the request, such as `tools/call`.
    pub fn method(&self) -> &str {
        self.0.request.method()
    }

    /// Returns the params of the request as unchanged JSON text. After a modern client has answered
    /// input requests, these are the params of its latest request, with the answers.
    pub fn params(&self) -> &str {
        self.0.request.params()
    }

    /// Returns the client info of the request: its revision, and the client's capabilities and
    /// name.
    pub fn client(&self) -> &ClientContext {
        &self.0.terms
    }

    /// Returns the client info as a pointer that outlives the call.
    #[cfg(feature = "cffi")]
    pub(crate) fn shared_terms(&self) -> &Arc<ClientContext> {
        &self.0.terms
    }

    /// Returns the number of the connection, which is unique within this server. Over HTTP, all
    /// clients of the modern era share one number.
    pub fn connection(&self) -> u64 {
        self.0.conversation.number
    }

    /// Returns the `_meta` of the params, without the members that are part of
    /// [`client`](Self::client).
    pub fn meta(&self) -> &RequestMetaObject {
        static NONE: LazyLock<RequestMetaObject> = LazyLock::new(RequestMetaObject::default);
        self.0.meta.as_deref().unwrap_or_else(|| &NONE)
    }

    /// Returns the trace context of the call, for the host's spans and for calls of other services.
    /// Input requests to legacy clients contain the trace context too.
    ///
    /// Spec: Base Protocol, "`_meta`" (2026-07-28).
    pub fn trace_context(&self) -> TraceContext {
        self.meta().trace_context()
    }

    /// Returns an error unless the client declared this extension. Return the error with `?`. If
    /// possible, work without the extension instead.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY`] with the missing capability, or
    /// [`ErrorCode::INVALID_REQUEST`] before 2026-07-28, where there is no such code.
    pub fn require_extension(&self, id: &str) -> Result<(), RpcError> {
        if self.0.terms.capabilities.extension(id).is_some() {
            return Ok(());
        }
        Err(missing_extension(id, &self.0.terms))
    }

    /// Returns whether the client cancelled the call or has gone. The check is cheap: poll it in
    /// long work, and return from the handler when the result is true.
    pub fn is_cancelled(&self) -> bool {
        self.0.responder.is_cancelled()
    }

    /// Returns an error if no message of the call can be sent any more, because the call was
    /// answered or cancelled, or its connection has closed.
    #[cfg(feature = "cffi")]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.0.responder.check_open()
    }

    /// Sends a notification that belongs to the call, before its answer.
    #[cfg(feature = "cffi")]
    pub(crate) fn notify(&self, method: &str, params: &impl Serialize) -> Result<()> {
        self.0.responder.notify(method, params)
    }

    /// Returns the token that is cancelled when the client cancels the call or has gone. A handler
    /// can wait for the cancellation, or pass the token on.
    pub fn cancel_token(&self) -> &CancelToken {
        self.0.responder.cancel_token()
    }

    /// Returns the name of the principal on whose behalf the client acts, if known. Over HTTP, the
    /// principal is determined by the access check of each request. On other transports, the host
    /// passes the principal to [`Server::open_for`](super::Server::open_for).
    pub fn principal(&self) -> Option<&str> {
        self.0.conversation.principal_of(&self.0.responder)
    }

    /// Returns the principal with its granted scopes, if known: see [`principal`](Self::principal).
    pub fn identity(&self) -> Option<&Principal> {
        self.0.conversation.identity_of(&self.0.responder)
    }

    /// Returns an error unless all these scopes were granted. Return the error with `?`. Use this
    /// function if the required scopes are known only at run time.
    ///
    /// Call this function before the handler sends any message, since the HTTP response head
    /// contains the challenge. If the granted scopes are not known, they count as no scopes over
    /// HTTP. On other transports, the function then returns no error.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::INVALID_REQUEST`] with the required scopes. Over HTTP, also status 403 and the
    /// challenge with which clients request more scopes from their users.
    pub fn require_scopes(&self, scopes: &[&str]) -> Result<(), RpcError> {
        let needed = scope_set(scopes);
        if self.0.conversation.grants(&self.0.responder, &needed) {
            return Ok(());
        }
        self.0.responder.demand(&needed);
        Err(missing_scopes(&needed))
    }

    /// Returns the peer of the connection: the client.
    pub fn peer(&self) -> Peer {
        self.0.responder.peer()
    }

    /// Runs a function with the call on a worker of the connection. The function counts as work
    /// for the client of the call.
    pub(super) fn run_later(self, run: impl FnOnce(Self) + Send + 'static) {
        let (peer, active) = (self.peer(), self.0.responder.active());
        let sharer = self.0.responder.sharer();
        let run = Box::new(move || run(self));
        peer.core().run_later(sharer, Some(active), run);
    }

    /// Sends the client a progress notification, if the client requested progress.
    ///
    /// `progress` must be larger than in the previous notification of the call; any other value is
    /// dropped. The rate is limited, but the last value is always sent. Does nothing once the call
    /// is answered or cancelled.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if self.meta().progress_token.is_none() {
            return;
        }
        let mut progress = Progress::new(progress);
        // JSON can't express infinities and NaN.
        progress.total = total.filter(|total| total.is_finite());
        progress.message = message.map(str::to_owned);
        // Invariant: the lock is held until the message is sent. Otherwise a thread could send a
        // smaller value after another thread's larger one.
        let mut pace = self.0.pace.lock();
        if let Some(progress) = pace.admit(progress, about_now()) {
            self.send(progress);
        }
    }

    /// Ends the HTTP response of this call and lets the client reconnect after `retry`.
    ///
    /// Use this function for long work, so that no connection is kept open during the work.
    /// Messages that are sent before the client reconnects are stored, up to
    /// [`HttpOptions::kept_events`](super::http::HttpOptions::kept_events).
    ///
    /// Does nothing where a client can't reconnect: on other transports, and in revisions other
    /// than 2025-11-25.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) or
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) when the call is over.
    ///
    /// Spec: Transports, "Streamable HTTP", "Sending Messages to the Server" (2025-11-25).
    #[cfg(feature = "http-server")]
    pub fn close_stream_and_retry(&self, retry: std::time::Duration) -> Result<()> {
        self.0.responder.close_stream_and_retry(retry)
    }

    /// Sends the client a log message, if the client wants messages of this level.
    ///
    /// A modern client sets the minimum level in the request, and otherwise gets no log messages. A
    /// legacy client sets the minimum level with `logging/setLevel`; the default is *info*.
    ///
    /// `logger` is the name of the part of the server that logs. Use the same name in all messages
    /// of a part. `data` is any JSON value with the details of the message. It must not contain
    /// secrets of the server. Guards see each message before it is sent: see
    /// [`Guard::release`](super::Guard::release). The rate is limited: after a first burst, about a
    /// thousand messages a second for each call are sent.
    ///
    /// Does nothing if the server was built without
    /// [`ServerBuilder::logging`](super::ServerBuilder::logging), if `data` can't be written as
    /// JSON, or if the client has gone.
    ///
    /// The protocol deprecates log messages to clients since 2026-07-28: new servers should write
    /// to standard error or use OpenTelemetry.
    ///
    /// Spec: Server Features, Utilities, "Logging" (every revision).
    // M-LOG-S-07
    pub fn log(&self, level: LoggingLevel, logger: Option<&str>, data: impl Serialize) {
        if !self.wants_log(&level) || !self.0.logs.lock().take(about_now()) {
            return;
        }
        let Ok(mut params) = LoggingMessageNotificationParams::new(level, &data) else {
            return;
        };
        params.logger = logger.map(str::to_owned);
        params.meta = self.notification_meta();
        self.release(GuardedResult::Log(&mut params));
        // Sending fails when the call is over: answered, cancelled or closed.
        let responder = &self.0.responder;
        _ = responder.notify(method::NOTIFICATIONS_MESSAGE, &params);
    }

    fn wants_log(&self, level: &LoggingLevel) -> bool {
        let asked = if self.0.terms.revision.is_modern() {
            let minimum = self.meta().log_level.as_ref();
            minimum.is_some_and(|minimum| level.is_at_least(minimum))
        } else {
            self.0.conversation.state.wants_log(level)
        };
        // The schema allows only the eight levels.
        asked && self.services().logging && level.severity().is_some()
    }

    fn send(&self, progress: Progress) {
        let Some(token) = &self.meta().progress_token else {
            return;
        };
        let mut params = ProgressNotificationParams::new(token.clone(), progress.progress);
        (params.total, params.message) = (progress.total, progress.message);
        params.meta = self.notification_meta();
        params.fit_to(self.0.terms.revision);
        // Sending fails when the call is over: answered, cancelled or closed.
        let responder = &self.0.responder;
        _ = responder.notify(method::NOTIFICATIONS_PROGRESS, &params);
    }

    pub(super) fn services(&self) -> &Arc<CallServices> {
        &self.0.conversation.services
    }

    /// Returns the `_meta` of notifications about the call.
    fn notification_meta(&self) -> Option<NotificationMetaObject> {
        let (key, related) = self.related_task()?;
        let mut meta = NotificationMetaObject::default();
        meta.extra.insert(key, related);
        Some(meta)
    }

    /// Adds the members of the server's `_meta` to the `_meta` of a result.
    pub(super) fn mark(&self, meta: &mut Option<ResultMetaObject>) {
        if let Some(ours) = self.result_meta() {
            let own = meta.get_or_insert_default();
            own.server_info = ours.server_info;
            own.extra.extend(ours.extra);
        }
    }

    /// Maps the error of a handler to the error that is sent to the client. The details are logged
    /// for the host only.
    pub(super) fn reveal(&self, error: HandlerError, noun: &str, name: &str) -> RpcError {
        if self.mrtr().lock().needs_input() {
            // The handler returned early because input is missing. That is not a failure, and this
            // error is not sent.
            return RpcError::internal("internal error");
        }
        if let Failure::Scopes(scopes) = &error.0 {
            self.0.responder.demand(scopes);
        }
        let (peer, method) = (self.peer(), self.method());
        reveal(&peer, method, error.0, (noun, name))
    }

    /// Returns the `_meta` that the server adds to each result.
    pub(super) fn result_meta(&self) -> Option<ResultMetaObject> {
        let mut meta = self.services().result_meta(self.0.terms.revision);
        if let Some((key, related)) = self.related_task() {
            meta.get_or_insert_default().extra.insert(key, related);
        }
        meta
    }

    /// Answers the call with a result or an error. If the handler has to be run again, sends the
    /// handler's input requests instead.
    pub(super) fn conclude(self, answer: Result<impl Serialize, RpcError>) -> Result<()> {
        self.conclude_with(answer, |result, _, buffer| {
            serde_json::to_writer(buffer, result)
        })
    }

    /// Answers the call with a result that `append` writes, or with an error. If the handler has to
    /// be run again, sends the handler's input requests instead. `append` also gets the `_meta` of
    /// the server as text.
    pub(super) fn conclude_with<R>(
        mut self,
        answer: Result<R, RpcError>,
        append: impl FnOnce(&R, Option<&str>, &mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<()> {
        if let Some(inquire) = self.mrtr_mut().inquiry() {
            return inquire(self);
        }
        match answer {
            Ok(result) => {
                self.finish_progress();
                let Call {
                    request,
                    responder,
                    conversation,
                    terms,
                    ..
                } = *self.0;
                // The answer may reuse the request's memory. A large buffer goes back to the cache,
                // so that a short answer in the queue does not hold it.
                let mut memory = request.into_memory();
                if memory.capacity() > SMALL_REQUEST {
                    buffer_cache::give(std::mem::replace(&mut memory, Vec::with_capacity(256)));
                }
                let meta = conversation.services.written_meta(terms.revision);
                responder.respond_with(memory, |buffer| append(&result, meta, buffer))
            }
            Err(error) => self.refuse(error),
        }
    }

    /// Whether a result of `revision` can be sent to the client of this call unparsed: the client's
    /// revision is not older, no guard may change the result, and the client reads nothing in it
    /// that the server's revision does not define. `is_cacheable` tells whether the result needs a
    /// cache hint since 2026-07-28.
    pub(super) fn may_stay_raw(
        &self,
        result: &RawResult,
        revision: ProtocolVersion,
        is_cacheable: bool,
    ) -> bool {
        let (guards, ours) = (&self.services().guards, self.client().revision);
        revision <= ours
            && !guards.iter().any(|guard| guard.changes_results())
            && (revision.is_modern() == ours.is_modern()
                || !is_cacheable && !raw_result::has_type(result))
    }

    /// Answers the call with the text of a result. The text gets its `resultType` if the client's
    /// revision requires one.
    pub(super) fn conclude_raw(mut self, result: RawResult) -> Result<()> {
        if let Some(inquire) = self.mrtr_mut().inquiry() {
            return inquire(self);
        }
        self.finish_progress();
        let is_modern = self.client().revision.is_modern();
        let (beginning, replaced) = raw_result::beginning(&result, is_modern);
        self.0.responder.respond_raw(result, beginning, replaced)
    }

    pub(super) fn give(mut self, result: &impl Serialize) -> Result<()> {
        self.finish_progress();
        self.0.responder.respond(result)
    }

    pub(super) fn refuse(mut self, error: RpcError) -> Result<()> {
        self.finish_progress();
        let error = match error.code {
            ErrorCode::URL_ELICITATION_REQUIRED => self.demand_pages(error),
            _ => for_revision(error, self.0.terms.revision),
        };
        self.0.responder.refuse(&error)
    }

    /// Checks an error `URL_ELICITATION_REQUIRED` before it is sent, and remembers its
    /// elicitations. Returns the error unchanged for a client of 2025-11-25 that supports URL mode
    /// elicitation. Other clients don't know this error: for them, returns the error "invalid
    /// request". Returns an internal error if an elicitation in the error is invalid.
    fn demand_pages(&self, error: RpcError) -> RpcError {
        let terms = &self.0.terms;
        let opens_pages = terms
            .capabilities
            .supports_elicitation(ElicitationMode::Url);
        if terms.revision != ProtocolVersion::V2025_11_25 || !opens_pages {
            let text = "the call needs pages to be visited first, of which this client can't be told by an error";
            return RpcError::invalid_request(text);
        }
        let Some(pages) = demanded_pages(&error) else {
            self.tell_host(LogLevel::Error, || "an error demands pages, but names none properly: make it with URLElicitationRequiredError".to_owned());
            return RpcError::internal("internal error");
        };
        for id in pages {
            let (peer, client) = (self.peer(), self.accounted_client());
            self.services().pages.add(&id, &peer, &client);
        }
        error
    }

    fn finish_progress(&mut self) {
        if let Some(progress) = self.0.pace.get_mut().finish() {
            self.send(progress);
        }
    }
}

debug_fields!(
    Context,
    responder = |it| &it.0.responder,
    terms = |it| &it.0.terms
);

/// Returns the error for a used-up memory budget.
fn no_room(max: usize) -> RpcError {
    let text = format!(
        "busy: large requests and calls that wait hold as much memory as they may ({max} bytes); \
         try again later"
    );
    RpcError::internal(text).with_json(&json!({ "busy": true, "maxHeldBytes": max }))
}

/// Returns the error for a client that did not declare a required extension.
pub(super) fn missing_extension(id: &str, terms: &ClientContext) -> RpcError {
    let text = format!("the request needs the extension '{id}', which the client did not declare");
    if terms.revision.is_legacy() {
        return RpcError::invalid_request(text);
    }
    let error = RpcError::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, text);
    error.with_json(&json!({ "requiredCapabilities": { "extensions": { id: {} } } }))
}
