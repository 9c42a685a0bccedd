//! What a handler knows of the call that it serves, and can do for it.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use serde_json::{Value, json};

use super::Inner;
use super::asking::Asker;
use super::conversation::Terms;
use super::dispatch::Link;
use super::failure::{Failure, HandlerError, for_revision};
use super::guard::Outgoing;
use super::held::{EACH_CALL, Hold, is_large, weight_of};
use super::once::Turns;
use super::progress::{Budget, Pace};
use super::questions::Waiting;
use super::rounds::Rounds;
use super::scopes;
use super::tasks::Task;
use crate::error::{ErrorCode, Excerpt, Result, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::principal::{Principal, scope_set};
use crate::protocol::{Asking, CancelToken, LogLevel, Peer, Progress, Responder};
use crate::schema::{
    ElicitationMode, FitTo, LoggingLevel, LoggingMessageNotificationParams, NotificationMetaObject,
    ProgressNotificationParams, ProtocolVersion, RequestMetaObject, ResultMetaObject, TraceContext,
    demanded_pages, meta_key, method,
};
use crate::shares::Client;
use crate::spare;
use crate::sync::Mutex;
use crate::transport::clock::about_now;

/// The memory of a request up to this size becomes that of its answer.
const SMALL_REQUEST: usize = 1 << 10;

/// The call that a handler serves.
///
/// It goes through many hands, so it is one pointer.
pub struct Context(Box<Call>);

struct Call {
    request: Request,
    responder: Responder,
    terms: Arc<Terms>,
    meta: Option<Arc<RequestMetaObject>>,
    link: Arc<Link>,
    pace: Mutex<Pace>,
    /// How many more log messages the call may send.
    logs: Mutex<Budget>,
    rounds: Mutex<Rounds>,
    turns: Turns,
    /// `None` for a request that must not ask.
    asker: Option<Asker>,
    /// The task that the call has become.
    task: Option<Arc<Task>>,
    /// There was no place for a task: the call goes on as it is.
    never_a_task: bool,
    /// What it counts for, if it is large or has to wait.
    hold: Option<Hold>,
}

impl Context {
    /// `None` when there is no room for a request so large, which is answered then.
    pub(super) fn new(
        link: Arc<Link>,
        request: Request,
        responder: Responder,
        terms: Arc<Terms>,
        meta: Option<Arc<RequestMetaObject>>,
    ) -> Option<Self> {
        let mut hold = None;
        if is_large(&request) {
            let max = link.server.max_held();
            let client = link.client_of(&responder);
            let (held, limits) = (&link.server.held, &link.server.limits);
            hold = held.take(client, weight_of(&request), max, limits);
            if hold.is_none() {
                // It fails when nobody waits any more, and then there is nothing left to do.
                _ = responder.refuse(&no_room(max));
                return None;
            }
        }
        Some(Self(Box::new(Call {
            request,
            responder,
            terms,
            meta,
            link,
            pace: Mutex::new(Pace::new()),
            logs: Mutex::new(Budget::new()),
            rounds: Mutex::default(),
            turns: Turns::default(),
            asker: None,
            task: None,
            never_a_task: false,
            hold,
        })))
    }

    /// Counts the call as one that no thread works on. Fails when there is no room for it.
    pub(super) fn hold(&mut self) -> Result<(), RpcError> {
        if self.0.hold.is_some() {
            return Ok(());
        }
        let (server, weight) = (self.server(), weight_of(self.request()));
        let max = server.max_held();
        let bytes = EACH_CALL + weight;
        let hold = server.held.take(self.client(), bytes, max, &server.limits);
        self.0.hold = Some(hold.ok_or_else(|| no_room(max))?);
        Ok(())
    }

    /// Counts so much more for a call that is [held](Self::hold).
    pub(super) fn hold_more(&mut self, bytes: usize) -> Result<(), RpcError> {
        let Call { link, hold, .. } = &mut *self.0;
        let (max, limits) = (link.server.max_held(), &link.server.limits);
        let hold = hold.as_mut();
        if hold.is_none_or(|hold| hold.grow(bytes, max, limits)) {
            return Ok(());
        }
        Err(no_room(max))
    }

    /// Lets the handler ask, and gives it the answers of earlier rounds.
    pub(super) fn asking(mut self, asker: Asker, rounds: Rounds) -> Self {
        self.0.asker = Some(asker);
        self.0.rounds = Mutex::new(rounds);
        self
    }

    /// Has what the call says from now on kept in a task; gives the right to answer the client's request. `None` when the connection closes.
    pub(super) fn turn_into(&mut self, task: &Arc<Task>) -> Option<Responder> {
        let (detached, work) = self.0.responder.detach(task.outlet(self.peer()))?;
        task.hold(work);
        self.0.task = Some(Arc::clone(task));
        Some(std::mem::replace(&mut self.0.responder, detached))
    }

    /// From now on the call does not become a task.
    pub(super) fn never_become_task(&mut self) {
        self.0.never_a_task = true;
    }

    pub(super) fn may_become_task(&self) -> bool {
        !self.0.never_a_task
    }

    /// The client that shares are counted for.
    pub(super) fn client(&self) -> Client {
        self.0.link.client_of(&self.0.responder)
    }

    pub(super) fn task(&self) -> Option<&Arc<Task>> {
        self.0.task.as_ref()
    }

    /// What messages of a legacy task say of it.
    fn related_task(&self) -> Option<(String, Value)> {
        let task = self.0.task.as_ref().filter(|task| !task.is_modern())?;
        let related = json!({ "taskId": task.id() });
        Some((meta_key::RELATED_TASK.to_owned(), related))
    }

    /// What sends the client questions of this call.
    pub(super) fn asking_client(&self) -> Asking {
        self.0.responder.asking()
    }

    pub(super) fn rounds(&self) -> &Mutex<Rounds> {
        &self.0.rounds
    }

    /// The same for who has the call for itself alone.
    pub(super) fn rounds_mut(&mut self) -> &mut Rounds {
        self.0.rounds.get_mut()
    }

    pub(super) fn turns(&self) -> &Turns {
        &self.0.turns
    }

    /// The calls of the connection that wait for answers.
    pub(super) fn waiting(&self) -> &Waiting {
        &self.0.link.waiting
    }

    /// The call waits for answers: it is not one in hand.
    pub(super) fn stand_aside(&mut self) {
        self.0.responder.stand_aside();
    }

    /// The call has its answers.
    pub(super) fn come_back(&mut self) {
        self.0.responder.come_back();
    }

    /// Tells the host something about the call that is nobody else's business.
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

    pub(super) fn asker(&self) -> Option<&Asker> {
        self.0.asker.as_ref()
    }

    /// The method of the request, such as `tools/call`.
    pub fn method(&self) -> &str {
        self.0.request.method()
    }

    /// The params of the request, as JSON text and as they came. When a client has answered questions these are the params of its latest
    /// request, with the answers.
    pub fn params(&self) -> &str {
        self.0.request.params()
    }

    /// Who asks, in which revision, and what the client can do.
    pub fn terms(&self) -> &Terms {
        &self.0.terms
    }

    /// The same for who keeps them longer than the call.
    #[cfg(feature = "cffi")]
    pub(crate) fn shared_terms(&self) -> &Arc<Terms> {
        &self.0.terms
    }

    /// A number that no other connection of this server has. Over HTTP, all clients of the modern era share one.
    pub fn connection(&self) -> u64 {
        self.0.link.number
    }

    /// What travels beside the params, without what [`terms`](Self::terms) says.
    pub fn meta(&self) -> &RequestMetaObject {
        static NONE: LazyLock<RequestMetaObject> = LazyLock::new(RequestMetaObject::default);
        self.0.meta.as_deref().unwrap_or_else(|| &NONE)
    }

    /// In which trace the call happens: for spans of one's own, and to be handed on. Questions that the call asks a client of the legacy era
    /// carry it.
    ///
    /// Spec: Base Protocol, "`_meta`" (2026-07-28).
    pub fn trace_context(&self) -> TraceContext {
        self.meta().trace_context()
    }

    /// Refuses the call unless the client declared this extension: to be given on with `?`. What can be done without the extension is
    /// better done without it.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY`], with the capability that is missing; [`ErrorCode::INVALID_REQUEST`] before
    /// 2026-07-28, where there is no such code.
    pub fn need_extension(&self, id: &str) -> Result<(), RpcError> {
        if self.0.terms.capabilities.extension(id).is_some() {
            return Ok(());
        }
        Err(missing_extension(id, &self.0.terms))
    }

    /// Whether the client cancelled the call, or has gone. Cheap: poll it in long work, and return when it is so.
    pub fn is_cancelled(&self) -> bool {
        self.0.responder.is_cancelled()
    }

    /// Why nothing can be told about the call any more, if it is so.
    #[cfg(feature = "cffi")]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.0.responder.check_open()
    }

    /// The token that is triggered when the client cancels the call, or has gone: to wait on, or to hand on.
    pub fn cancel_token(&self) -> &CancelToken {
        self.0.responder.cancel_token()
    }

    /// On whose behalf the client acts, if that is known: over HTTP, what the server's check of the request said; elsewhere what was given to
    /// [`Server::open_for`](super::Server::open_for).
    pub fn principal(&self) -> Option<&str> {
        self.0.link.principal_of(&self.0.responder)
    }

    /// Who asks and what that one may do, if that was found out: see [`principal`](Self::principal).
    pub fn identity(&self) -> Option<&Principal> {
        self.0.link.identity_of(&self.0.responder)
    }

    /// Refuses the call unless all these scopes were granted: to be given on with `?`, by a handler that finds out what it needs only when it
    /// runs. Do so before anything else: over HTTP the client is told in the head of the response, which has gone when something was said.
    ///
    /// Where nothing is known of scopes nothing is refused, except over HTTP, where that is to have none.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::INVALID_REQUEST`], with the scopes that are needed; over HTTP also status 403 and the challenge that has clients ask their
    /// users for more.
    pub fn need_scopes(&self, scopes: &[&str]) -> Result<(), RpcError> {
        let needed = scope_set(scopes);
        if self.0.link.grants(&self.0.responder, &needed) {
            return Ok(());
        }
        self.0.responder.demand(&needed);
        Err(scopes::missing(&needed))
    }

    /// The client's side of the connection.
    pub fn peer(&self) -> Peer {
        self.0.responder.peer()
    }

    /// Under which the request is seen among what is in hand.
    pub(super) fn key(&self) -> Option<u64> {
        self.0.responder.key()
    }

    /// Tells the client how far the call is, if it wants to know.
    ///
    /// `progress` has to grow from message to message; one that doesn't is dropped. Of a flood only some are sent, the last one always.
    /// Does nothing once the call is answered or cancelled.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if self.meta().progress_token.is_none() {
            return;
        }
        let mut progress = Progress::new(progress);
        // JSON has no other numbers.
        progress.total = total.filter(|total| total.is_finite());
        progress.message = message.map(str::to_owned);
        // The lock is held while the message is sent, so that those of several threads go out in growing order.
        let mut pace = self.0.pace.lock();
        if let Some(progress) = pace.admit(progress, about_now()) {
            self.send(progress);
        }
    }

    /// Ends the HTTP response that this call is being answered with, and has the client come back for the rest of it after `retry`: in long
    /// work, so that no connection is kept open meanwhile. What is sent before it comes back is kept for it, up to
    /// [`HttpOptions::kept_events`](super::http::HttpOptions::kept_events).
    ///
    /// Does nothing where a client can't come back: on other transports, and in revisions other than 2025-11-25.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) or [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) when the call is over.
    ///
    /// Spec: Transports, "Streamable HTTP", "Sending Messages to the Server" (2025-11-25).
    #[cfg(feature = "http-server")]
    pub fn send_away(&self, retry: std::time::Duration) -> Result<()> {
        self.0.responder.send_away(retry)
    }

    /// Sends the client a log message, if it wants one.
    ///
    /// A modern client says so in each request, and gets none otherwise; a legacy client gets those at or above the level it set with
    /// `logging/setLevel`, or *info* when it set none. `logger` names the part of the server that it comes from, always in the same
    /// way; `data` is any JSON: put what belongs to the message there, and nothing that the client must not know. Guards see
    /// each message before it leaves: see [`Guard::release`](super::Guard::release). A flood is cut: about a thousand a second and call go
    /// out after the first ones.
    ///
    /// Does nothing unless the server was built with [`ServerBuilder::logging`](super::ServerBuilder::logging), when `data` can't be
    /// written as JSON, or when the client has gone.
    ///
    /// Deprecated by the protocol in 2026-07-28: new servers had better write to standard error, or use OpenTelemetry.
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
        self.release(Outgoing::Log(&mut params));
        // It fails when nobody wants to know any more: answered, cancelled, closed.
        _ = self
            .0
            .responder
            .notify(method::NOTIFICATIONS_MESSAGE, &params);
    }

    fn wants_log(&self, level: &LoggingLevel) -> bool {
        let asked = if self.0.terms.revision.is_modern() {
            let minimum = self.meta().log_level.as_ref();
            minimum.is_some_and(|minimum| level.is_at_least(minimum))
        } else {
            self.0.link.conversation.wants_log(level)
        };
        // The schema knows the eight levels only.
        asked && self.0.link.server.logging && level.severity().is_some()
    }

    fn send(&self, progress: Progress) {
        let Some(token) = &self.meta().progress_token else {
            return;
        };
        let mut params = ProgressNotificationParams::new(token.clone(), progress.progress);
        (params.total, params.message) = (progress.total, progress.message);
        params.meta = self.notification_meta();
        params.fit_to(self.0.terms.revision);
        // It fails when nobody wants to know any more: answered, cancelled, closed.
        _ = self
            .0
            .responder
            .notify(method::NOTIFICATIONS_PROGRESS, &params);
    }

    pub(super) fn server(&self) -> &Arc<Inner> {
        &self.0.link.server
    }

    /// What travels beside notifications of the call.
    fn notification_meta(&self) -> Option<NotificationMetaObject> {
        let (key, related) = self.related_task()?;
        let mut meta = NotificationMetaObject::default();
        meta.extra.insert(key, related);
        Some(meta)
    }

    /// Puts beside a result what travels beside each.
    pub(super) fn mark(&self, meta: &mut Option<ResultMetaObject>) {
        if let Some(ours) = self.result_meta() {
            let own = meta.get_or_insert_default();
            own.server_info = ours.server_info;
            own.extra.extend(ours.extra);
        }
    }

    /// What the client learns of a failure; the rest is for the host.
    pub(super) fn reveal(&self, error: HandlerError, noun: &str, name: &str) -> RpcError {
        if self.rounds().lock().needs_input() {
            // It is no failure that the handler was left early, and nothing of this is sent.
            return RpcError::internal("internal error");
        }
        if let Failure::Scopes(scopes) = &error.0 {
            self.0.responder.demand(scopes);
        }
        self.0
            .link
            .reveal(&self.peer(), self.method(), error.0, noun, name)
    }

    /// What travels beside each result.
    pub(super) fn result_meta(&self) -> Option<ResultMetaObject> {
        let mut meta = self.server().result_meta(self.0.terms.revision);
        if let Some((key, related)) = self.related_task() {
            meta.get_or_insert_default().extra.insert(key, related);
        }
        meta
    }

    /// Answers with a result, unless the handler has to be run again first.
    pub(super) fn conclude(self, answer: Result<impl Serialize, RpcError>) -> Result<()> {
        self.conclude_with(answer, |result, _, buffer| {
            serde_json::to_writer(buffer, result)
        })
    }

    /// The same with a result that is appended to the answer by a function, which is also given what travels beside each result, as text.
    pub(super) fn conclude_with<R>(
        mut self,
        answer: Result<R, RpcError>,
        append: impl FnOnce(&R, Option<&str>, &mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<()> {
        if let Some(inquire) = self.rounds_mut().inquiry() {
            return inquire(self);
        }
        match answer {
            Ok(result) => {
                self.finish_progress();
                let Call {
                    request,
                    responder,
                    link,
                    terms,
                    ..
                } = *self.0;
                // The answer can have its memory, if it does not keep much of it while it waits to be written.
                let mut memory = request.into_memory();
                if memory.capacity() > SMALL_REQUEST {
                    spare::give(std::mem::replace(&mut memory, Vec::with_capacity(256)));
                }
                let meta = link.server.written_meta(terms.revision);
                responder.respond_with(memory, |buffer| append(&result, meta, buffer))
            }
            Err(error) => self.refuse(error),
        }
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

    /// What a client is told that has to visit pages first: only 2025-11-25 has an error for it, and only for clients that open pages.
    fn demand_pages(&self, error: RpcError) -> RpcError {
        let knows = self.0.terms.revision == ProtocolVersion::V2025_11_25;
        if !knows
            || !self
                .0
                .terms
                .capabilities
                .supports_elicitation(ElicitationMode::Url)
        {
            let text = "the call needs pages to be visited first, of which this client can't be told by an error";
            return RpcError::invalid_request(text);
        }
        let Some(pages) = demanded_pages(&error) else {
            self.tell_host(LogLevel::Error, || "an error demands pages, but names none properly: make it with URLElicitationRequiredError".to_owned());
            return RpcError::internal("internal error");
        };
        for id in pages {
            self.server().pages.add(&id, &self.peer());
        }
        error
    }

    fn finish_progress(&mut self) {
        if let Some(progress) = self.0.pace.get_mut().finish() {
            self.send(progress);
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("responder", &self.0.responder)
            .field("terms", &self.0.terms)
            .finish_non_exhaustive()
    }
}

/// There is no room for what a call has to keep.
fn no_room(max: usize) -> RpcError {
    let text = format!(
        "busy: large requests and calls that wait hold as much memory as they may ({max} bytes: max_workers times max_message_bytes, or 16 MiB); \
         try again later"
    );
    let error = RpcError::new(ErrorCode::INTERNAL_ERROR, text);
    let data = json!({ "busy": true, "maxHeldBytes": max });
    error.clone().with_data(&data).unwrap_or(error)
}

/// What a client is told that did not declare an extension.
pub(super) fn missing_extension(id: &str, terms: &Terms) -> RpcError {
    let text = format!("the request needs the extension '{id}', which the client did not declare");
    if terms.revision.is_legacy() {
        return RpcError::invalid_request(text);
    }
    let error = RpcError::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, text);
    let missing = json!({ "requiredCapabilities": { "extensions": { id: {} } } });
    error.clone().with_data(&missing).unwrap_or(error)
}
