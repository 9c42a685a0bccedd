//! Dispatch of requests by method.

use std::borrow::Cow;
#[cfg(feature = "http-server")]
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Inner;
use super::asking::{InputRequester, Rerun, TextSpan};
use super::call::ToolCall;
use super::catalogue::{Catalogue, Listed, Paging};
use super::context::Context;
use super::events::{Attendance, Session, SessionTransport};
use super::guard::{GuardedRequest, Primitive};
use super::input_requests::PendingInputs;
use super::paging::{Cursor, List, UNCACHED};
use super::session_state::{ClientContext, SessionState, is_modern, unsupported_version};
use super::subscriptions::{ConnectionSubscribers, SessionStream};
use super::tasks::Start;
use super::tools::{Entry, OutputCheck, Work};
use crate::error::{ErrorCode, Excerpt, RpcError};
use crate::jsonrpc::raw_object::read_beside;
use crate::jsonrpc::{Request, is_empty_array, typed};
use crate::protocol::principal::Principal;
use crate::protocol::{Handlers, Peer, Responder};
use crate::schema::tree;
use crate::schema::{
    DiscoverResult, EmptyResult, FitTo, InitializeRequestParams, InitializeResult, InputResponses,
    JsonObject, PaginatedRequestParams, PromptsCapability, ProtocolVersion, RequestMetaObject,
    RequestParams, ResourcesCapability, ResultMetaObject, ServerCapabilities,
    SetLevelRequestParams, TASKS_EXTENSION, TaskMetadata, TasksCapability, ToolsCapability, method,
};
use crate::shares::Client;

/// A function that serves one request. The function may keep the request and answer later.
pub(super) type Serve = fn(Arc<Conversation>, Request, Responder);

/// Returns the conversation of a server's connection.
pub(super) fn conversation_of(peer: &Peer) -> Arc<Conversation> {
    peer.core().local().expect(OPENED_WITH_ONE)
}

/// Returns the conversation that a request belongs to.
pub(super) fn conversation_for(responder: &Responder) -> Arc<Conversation> {
    responder.core().local().expect(OPENED_WITH_ONE)
}

const OPENED_WITH_ONE: &str = "a server's connections are opened with one";

/// Returns the connection number and principal of a request whose method the host handles itself.
#[cfg(feature = "cffi")]
pub(crate) fn origin_of(responder: &Responder) -> (u64, Option<Principal>) {
    let conversation = conversation_for(responder);
    (
        conversation.number,
        conversation.identity_of(responder).cloned(),
    )
}

/// Returns the request handlers for all connections of a server.
pub(super) fn handlers(server: &Inner) -> Handlers {
    let unguarded = server.guards.is_empty();
    let tasks = server.tasks.iter().flat_map(|tasks| tasks.methods());
    let skills = server.skill_methods.iter().copied();
    QUICK
        .into_iter()
        .map(|(method, serve)| (method, true, serve))
        .chain(LOOKUPS.map(|(method, serve)| (method, unguarded, serve)))
        .chain(
            tasks
                .chain(skills)
                .map(|(method, serve)| (method, unguarded, serve)),
        )
        .chain(WORK.map(|(method, serve)| (method, false, serve)))
        .fold(server.methods.clone(), |methods, (method, quick, serve)| {
            methods.owned_request(method, quick, move |request, responder| {
                serve(conversation_for(&responder), request, responder);
            })
        })
        .quick_notification(method::NOTIFICATIONS_INITIALIZED, |peer, _| {
            conversation_of(peer).initialized(peer);
        })
        .farewell(|peer| {
            let conversation = conversation_of(peer);
            conversation.leave();
            if let Some(attendance) = &conversation.attendance {
                attendance.end(peer);
            }
            conversation.server.pages.forget(peer);
        })
}

/// A method and its handler.
pub(super) type Row = (&'static str, Serve);

/// The methods that run no code of the host. Requests of these methods are served on the reading
/// thread.
const QUICK: [Row; 5] = [
    (method::INITIALIZE, |this, request, responder| {
        send(this.agree(&request, &responder), responder);
    }),
    (method::PING, |this, request, responder| {
        send(this.pong(&request), responder);
    }),
    (method::SERVER_DISCOVER, |this, request, responder| {
        send(this.describe(&request, &responder), responder);
    }),
    (method::LOGGING_SET_LEVEL, |this, request, responder| {
        send(this.set_level(&request, &responder), responder);
    }),
    (method::RESOURCES_UNSUBSCRIBE, serve_resources),
];

/// The methods that run no code of the host except guards. If the server has no guards, requests of
/// these methods are served on the reading thread.
const LOOKUPS: [Row; 6] = [
    (method::TOOLS_LIST, serve_tools),
    (method::RESOURCES_LIST, serve_resources),
    (method::RESOURCES_TEMPLATES_LIST, serve_resources),
    (method::PROMPTS_LIST, serve_prompts),
    (method::SUBSCRIPTIONS_LISTEN, |this, request, responder| {
        this.listen(request, responder);
    }),
    (method::RESOURCES_SUBSCRIBE, serve_resources),
];

/// The methods that run handlers of the host. Requests of these methods are served on worker
/// threads.
const WORK: [Row; 4] = [
    (method::TOOLS_CALL, serve_tools),
    (method::RESOURCES_READ, serve_resources),
    (method::PROMPTS_GET, serve_prompts),
    (method::COMPLETION_COMPLETE, |this, request, responder| {
        hand_on(this.server.completers.serve(), this, request, responder);
    }),
];

fn serve_tools(conversation: Arc<Conversation>, request: Request, responder: Responder) {
    hand_on(
        conversation.server.tools.serve(),
        conversation,
        request,
        responder,
    );
}

fn serve_prompts(conversation: Arc<Conversation>, request: Request, responder: Responder) {
    hand_on(
        conversation.server.prompts.serve(),
        conversation,
        request,
        responder,
    );
}

/// Serves a request about resources or resource templates. Since one capability covers both kinds
/// of items, the request is served if either kind is declared.
fn serve_resources(conversation: Arc<Conversation>, request: Request, responder: Responder) {
    let server = &conversation.server;
    let serve = server.resources.serve();
    hand_on(
        serve.or_else(|| server.templates.serve()),
        conversation,
        request,
        responder,
    );
}

/// Serves a request, or answers "method not found" if the capability is not declared.
#[inline]
fn hand_on(
    serve: Option<Serve>,
    conversation: Arc<Conversation>,
    request: Request,
    responder: Responder,
) {
    match serve {
        Some(serve) => serve(conversation, request, responder),
        None => {
            let error = RpcError::method_not_found(request.method());
            send::<()>(Err(error), responder);
        }
    }
}

/// The params of `tools/call`, apart from `arguments` and `_meta`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default, deserialize_with = "tree::optional")]
    input_responses: Option<InputResponses>,
    request_state: Option<String>,
    task: Option<TaskMetadata>,
}

/// The parsed params of `tools/call`, and the texts of `arguments` and `_meta`. The two texts are
/// not parsed here, since they may be large. Also, the parsed form of an equal `_meta` may be
/// cached.
type Call<'a> = (CallParams<'a>, [Option<&'a str>; 2]);

fn read_call(request: &Request) -> Result<Call<'_>, RpcError> {
    if let Some(call) = plain_call(request) {
        return Ok(call);
    }
    let read = tree::read_with(|| read_beside(request.members(), ["arguments", "_meta"]));
    read.map_err(|error| unfit(request, &error))
}

/// Reads a call that has only a name, arguments and `_meta`, and no escapes in the name. This is
/// the fast path for nearly every call. Returns `None` for any other call.
fn plain_call(request: &Request) -> Option<Call<'_>> {
    let [mut name, mut arguments, mut meta] = [None; 3];
    for (key, value) in request.members() {
        let slot = match &*key {
            "name" => &mut name,
            "arguments" => &mut arguments,
            "_meta" => &mut meta,
            _ => return None,
        };
        if slot.replace(value).is_some() {
            return None;
        }
    }
    let name = name?.strip_prefix('"')?.strip_suffix('"')?;
    let params = CallParams {
        name: Cow::Borrowed(Some(name).filter(|name| !name.contains('\\'))?),
        input_responses: None,
        request_state: None,
        task: None,
    };
    Some((params, [arguments, meta]))
}

/// A tool call that was looked up and admitted.
struct AdmittedCall {
    entry: Arc<Entry>,
    name: TextSpan,
    input_responses: Option<InputResponses>,
    request_state: Option<String>,
    arguments: Option<TextSpan>,
    meta: Option<Arc<RequestMetaObject>>,
    terms: Arc<ClientContext>,
    start: Option<Start>,
}

pub(super) fn send<T: Serialize>(answer: Result<T, RpcError>, responder: Responder) {
    let sent = match answer {
        Ok(result) => responder.respond(&result),
        Err(error) => responder.reject(&error),
    };
    // Answering fails when the client no longer waits. Then nothing is left to do.
    drop(sent);
}

pub(super) fn read<T: DeserializeOwned>(request: &Request) -> Result<T, RpcError> {
    tree::read(request.params()).map_err(|error| unfit(request, &error))
}

fn unfit(request: &Request, error: &serde_json::Error) -> RpcError {
    let (method, what) = (
        Excerpt(request.method()),
        typed::reason(request.params(), error),
    );
    RpcError::invalid_params(format!("params of {method}: {}", Excerpt(&what)))
}

/// A conversation of a server with one client. The exception is HTTP without a session: all modern
/// clients share one conversation, and so do all legacy clients of a revision.
pub(super) struct Conversation {
    pub(super) server: Arc<Inner>,
    /// The principal of the client, if all requests of the conversation have the same principal.
    pub(super) principal: Option<Principal>,
    /// Whether the client is connected over HTTP. Over HTTP, unknown scopes count as no scopes.
    pub(super) is_over_http: bool,
    /// The unique number of the conversation.
    pub(super) number: u64,
    pub(super) state: SessionState,
    pub(super) audience: Arc<ConnectionSubscribers>,
    /// The stream for messages that belong to no request. Unset if the connection itself sends
    /// these messages.
    #[cfg(feature = "http-server")]
    session_stream: OnceLock<Weak<dyn SessionStream>>,
    pub(super) waiting: PendingInputs,
    /// The tracker of the session, which reports to the host. `None` without a session hook.
    attendance: Option<Arc<Attendance>>,
}

impl Conversation {
    /// Creates the conversation of a new connection.
    pub(super) fn new(server: &Arc<Inner>, principal: Option<Principal>) -> Arc<Self> {
        let attendance = server.on_session.clone().map(Attendance::new);
        Self::with(
            server,
            principal,
            false,
            SessionState::default(),
            attendance,
        )
    }

    /// Creates the conversation of an HTTP session. The principal comes with each request.
    #[cfg(feature = "http-server")]
    pub(super) fn of_session(server: &Arc<Inner>) -> Arc<Self> {
        let attendance = server.on_session.clone().map(Attendance::new);
        Self::with(server, None, true, SessionState::default(), attendance)
    }

    /// Creates a conversation with all HTTP clients that have no session.
    #[cfg(feature = "http-server")]
    pub(super) fn over_http(server: &Arc<Inner>) -> Arc<Self> {
        Self::with(server, None, true, SessionState::default(), None)
    }

    /// Creates the conversation with legacy clients that have no session. Only their revision is
    /// known.
    #[cfg(feature = "http-server")]
    pub(super) fn agreed(server: &Arc<Inner>, revision: ProtocolVersion) -> Arc<Self> {
        Self::with(server, None, true, SessionState::agreed_on(revision), None)
    }

    fn with(
        server: &Arc<Inner>,
        principal: Option<Principal>,
        is_over_http: bool,
        state: SessionState,
        attendance: Option<Arc<Attendance>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: Arc::clone(server),
            principal,
            is_over_http,
            number: server.connections.fetch_add(1, Ordering::Relaxed),
            state,
            audience: Arc::default(),
            #[cfg(feature = "http-server")]
            session_stream: OnceLock::new(),
            waiting: PendingInputs::default(),
            attendance,
        })
    }

    /// Sets the stream for messages that belong to no request.
    #[cfg(feature = "http-server")]
    pub(super) fn tell_on(&self, session_stream: Weak<dyn SessionStream>) {
        // The stream is set once, when the session is opened.
        _ = self.session_stream.set(session_stream);
    }

    /// Returns the stream for messages that belong to no request, or `None` if the connection
    /// itself sends these messages.
    pub(super) fn session_stream(&self) -> Option<Weak<dyn SessionStream>> {
        #[cfg(feature = "http-server")]
        return self.session_stream.get().cloned();
        #[cfg(not(feature = "http-server"))]
        return None;
    }

    fn agree(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<InitializeResult, RpcError> {
        if responder.is_batched() {
            return Err(RpcError::invalid_request(
                "initialize must not be part of a batch",
            ));
        }
        self.refuse_modern(request)?;
        let params: InitializeRequestParams = read(request)?;
        let (served, latest) = (&self.server.revisions, &self.server.latest_terms);
        let revision = self.state.agree(params, served, latest)?;
        self.terms(responder, None)?;
        responder
            .peer()
            .core()
            .allow_batches(revision.has_batches());
        let known = self.principal_of(responder).is_some();
        let tells = responder.peer().can_be_asked();
        let capabilities = self.server.capabilities(revision, known, tells);
        self.audience.declare(&capabilities);
        let mut result = InitializeResult::new(revision, capabilities, self.server.info.clone());
        result.instructions.clone_from(&self.server.instructions);
        result.fit_to(revision);
        Ok(result)
    }

    fn pong(&self, request: &Request) -> Result<EmptyResult, RpcError> {
        self.refuse_modern(request)?;
        Ok(EmptyResult::default())
    }

    fn set_level(&self, request: &Request, responder: &Responder) -> Result<EmptyResult, RpcError> {
        self.refuse_modern(request)?;
        self.need(request, self.server.logging)?;
        let mut params: SetLevelRequestParams = read(request)?;
        self.terms(responder, params.meta.as_mut())?;
        // Clients without a session share this level, so none of them may set it.
        if responder.peer().can_be_asked() {
            self.state.set_log_level(params.level);
        }
        Ok(EmptyResult::default())
    }

    /// Refuses a modern request whose method exists only in the legacy era. The revision of the
    /// request decides which methods exist.
    // AMB-02
    pub(super) fn refuse_modern(&self, request: &Request) -> Result<(), RpcError> {
        let RequestParams { meta, .. } = read(request)?;
        if !is_modern(meta.as_ref()) {
            return Ok(());
        }
        let requested = meta
            .and_then(|meta| meta.protocol_version)
            .unwrap_or_default();
        let mut error = unsupported_version(&requested, &self.server.revisions);
        error.code = ErrorCode::METHOD_NOT_FOUND;
        let names: Vec<&str> = self
            .server
            .revisions
            .iter()
            .map(|revision| revision.as_str())
            .collect();
        error.message = format!(
            "{} is not a method of this revision; supported: {}",
            request.method(),
            names.join(", ")
        );
        Err(error)
    }

    fn describe(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<DiscoverResult, RpcError> {
        // A client that probes should not distinguish this server from a server that was written
        // before the modern era.
        let unknown = || RpcError::method_not_found(request.method());
        if !self
            .server
            .revisions
            .iter()
            .any(|revision| revision.is_modern())
        {
            return Err(unknown());
        }
        let RequestParams { mut meta, .. } = read(request)?;
        let revision = self.terms(responder, meta.as_mut())?.revision;
        if revision.is_legacy() {
            return Err(unknown());
        }
        let mut result = DiscoverResult::new(
            &self.server.revisions,
            self.server.capabilities(revision, false, true),
        );
        result.instructions.clone_from(&self.server.instructions);
        result.meta = self.server.result_meta(revision);
        result.fit_to(revision);
        Ok(result)
    }

    pub(super) fn serve_tools(self: Arc<Self>, request: Request, responder: Responder) {
        match request.method() {
            method::TOOLS_LIST => self.list(&request, responder, List::Tools, &self.server.tools),
            _ => self.call_tool(request, responder),
        }
    }

    /// Answers a request for a page of a list.
    pub(super) fn list<T: Listed, H>(
        &self,
        request: &Request,
        responder: Responder,
        list: List,
        catalogue: &Catalogue<T, H>,
    ) {
        let page = self.page(request, &responder, list, catalogue);
        send(page.as_deref().map_err(Clone::clone), responder);
    }

    fn page<T: Listed, H>(
        &self,
        request: &Request,
        responder: &Responder,
        list: List,
        catalogue: &Catalogue<T, H>,
    ) -> Result<Arc<RawValue>, RpcError> {
        let PaginatedRequestParams {
            mut meta, cursor, ..
        } = read(request)?;
        let terms = self.terms(responder, meta.as_mut())?;
        let revision = terms.revision;
        let mut paging = Paging {
            size: self.server.page_size,
            hint: self.server.hints.get(&list).unwrap_or(&UNCACHED),
            server_info: self
                .server
                .sends_server_info_to(revision)
                .then_some(&self.server.info),
        };
        let start = || Cursor::read(list.into(), cursor.as_deref());
        if self.server.guards.is_empty() {
            return catalogue.page(revision, start()?, &paging);
        }
        let access = self.access(request, responder, None, &terms, meta.as_ref());
        self.admit(&access)?;
        let private = paging.hint.private();
        paging.hint = &private;
        catalogue.page_for(revision, start()?, &paging, |item: &T| {
            self.shows(&access.about(item.primitive()))
        })
    }

    /// Returns the [`GuardedRequest`] that describes a request to the guards.
    pub(super) fn access<'a>(
        &'a self,
        request: &'a Request,
        responder: &'a Responder,
        primitive: Option<Primitive<'a>>,
        terms: &'a ClientContext,
        meta: Option<&'a RequestMetaObject>,
    ) -> GuardedRequest<'a> {
        GuardedRequest {
            method: request.method(),
            params: request.params(),
            primitive,
            terms,
            meta,
            conversation: self,
            responder,
        }
    }

    fn call_tool(self: Arc<Self>, request: Request, responder: Responder) {
        match self.find_tool(&request, &responder) {
            Err(error) => send::<()>(Err(error), responder),
            Ok(found) => {
                let AdmittedCall {
                    entry,
                    name,
                    input_responses,
                    request_state,
                    arguments,
                    meta,
                    terms,
                    start,
                } = found;
                let text = arguments.as_ref().map_or("{}", |part| part.text(&request));
                let fit = entry.handler.check_arguments(text);
                let Some(context) = Context::new(self, request, responder, terms, meta) else {
                    return;
                };
                if let Err(error) = fit {
                    let fail = move |context| {
                        ToolCall::new(context, OutputCheck::Nothing).fail_arguments(&error);
                    };
                    // In the legacy era, a client that requests a task must get a task.
                    return match start {
                        Some(start) if context.terms().revision.is_legacy() => {
                            start.begin(context, fail);
                        }
                        _ => fail(context),
                    };
                }
                let asker = InputRequester {
                    target: name,
                    arguments,
                    again: entry,
                };
                asker.begin(context, request_state.as_deref(), input_responses, start);
            }
        }
    }

    fn find_tool(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<AdmittedCall, RpcError> {
        let (params, aside) = read_call(request)?;
        let says_nothing = |text: &&str| *text == "null" || is_empty_array(text);
        let [arguments, meta] = aside.map(|text| text.filter(|text| !says_nothing(text)));
        let (meta, terms) = match meta {
            None => (None, self.terms(responder, None)?),
            Some(text) => {
                let read = self.state.read_terms(text, &self.server.revisions);
                let (meta, terms) = read.map_err(|error| unfit(request, &error))??;
                self.attend(responder, &terms);
                (Some(meta), terms)
            }
        };
        if arguments.is_some_and(|arguments| !arguments.starts_with('{')) {
            return Err(RpcError::invalid_params("arguments must be an object"));
        }
        let tool = Primitive::Tool(&params.name);
        self.admit(&self.access(request, responder, Some(tool), &terms, meta.as_deref()))?;
        let Some(entry) = self.server.tools.find(&params.name) else {
            return Err(tool.unknown());
        };
        if let Some(objection) = responder.objection() {
            return Err(objection.clone());
        }
        let start = match &self.server.tasks {
            Some(tasks) => tasks.decide(&entry.item, &terms, params.task.as_ref())?,
            None => None,
        };
        Ok(AdmittedCall {
            entry,
            name: match params.name {
                Cow::Borrowed(name) => TextSpan::of(request, name),
                Cow::Owned(name) => TextSpan::Written(name.into()),
            },
            input_responses: params.input_responses,
            request_state: params.request_state,
            arguments: arguments.map(|text| TextSpan::of(request, text)),
            meta,
            terms,
            start,
        })
    }

    /// Returns the name of the principal of a request, if known.
    pub(super) fn principal_of<'a>(&'a self, responder: &'a Responder) -> Option<&'a str> {
        self.identity_of(responder).map(Principal::name)
    }

    /// Returns the client that a request counts for in shared limits: the principal if known,
    /// otherwise the session or address of the request, otherwise the connection.
    pub(super) fn client_of(&self, responder: &Responder) -> Client {
        let principal = self.identity_of(responder).map(Principal::client);
        if let Some(client) = principal.or_else(|| responder.client().cloned()) {
            return client;
        }
        #[cfg(feature = "http-server")]
        if let Some(session) = self.session_stream.get().and_then(Weak::upgrade) {
            return session.client().session(self.number);
        }
        Client::Connection(self.number)
    }

    /// Returns the principal of a request with its granted scopes, if known.
    pub(super) fn identity_of<'a>(&'a self, responder: &'a Responder) -> Option<&'a Principal> {
        responder.identity().or(self.principal.as_ref())
    }

    /// Returns the error "method not found" if `has` is false. `has` tells whether the server
    /// declares the capability of the request's method.
    pub(super) fn need(&self, request: &Request, has: bool) -> Result<(), RpcError> {
        if has {
            return Ok(());
        }
        Err(RpcError::method_not_found(request.method()))
    }

    /// Adds the server's name and version to the `_meta` of a modern result. Adds nothing if the
    /// host has switched off [`send_server_info`](super::ServerBuilder::send_server_info).
    pub(super) fn finish(&self, meta: &mut Option<ResultMetaObject>, terms: &ClientContext) {
        if self.server.sends_server_info_to(terms.revision) {
            meta.get_or_insert_default().server_info = Some(self.server.info.clone());
        }
    }

    /// Returns the client info of a request. If this is the first valid request of the session,
    /// begins the session.
    pub(super) fn terms(
        &self,
        responder: &Responder,
        meta: Option<&mut RequestMetaObject>,
    ) -> Result<Arc<ClientContext>, RpcError> {
        let terms = self.state.terms(meta, &self.server.revisions)?;
        self.attend(responder, &terms);
        Ok(terms)
    }

    fn attend(&self, responder: &Responder, terms: &Arc<ClientContext>) {
        if let Some(attendance) = &self.attendance {
            let peer = responder.peer();
            attendance.begin(&peer, terms, |terms| Session {
                connection: self.number,
                transport: match self.is_over_http {
                    true => SessionTransport::Http,
                    false => SessionTransport::Stream,
                },
                peer: peer.name(),
                revision: terms.revision,
                client: terms.client_info.clone(),
                principal: self.identity_of(responder).cloned(),
            });
        }
    }
}

impl Rerun for Entry {
    fn run(self: Arc<Self>, context: Context) {
        let Work {
            handler,
            output_check,
            ..
        } = &self.handler;
        handler(ToolCall::new(context, output_check.clone()));
    }
}

impl Inner {
    /// Returns the capabilities that the server declares to a client. `known` tells whether the
    /// client has a principal, which is needed to list tasks. `tells` tells whether the client can
    /// get change notifications.
    fn capabilities(
        &self,
        revision: ProtocolVersion,
        known: bool,
        tells: bool,
    ) -> ServerCapabilities {
        let mut capabilities = self.own_capabilities.clone();
        let changes = tells && self.list_changes;
        if self.has(List::Tools) {
            capabilities.tools = Some(ToolsCapability::default().list_changed(changes));
        }
        if self.has(List::Resources) {
            let mut resources = ResourcesCapability::default().list_changed(changes);
            resources.subscribe = (self.resource_updates && tells).then_some(true);
            capabilities.resources = Some(resources);
        }
        if self.has(List::Prompts) {
            capabilities.prompts = Some(PromptsCapability::default().list_changed(changes));
        }
        if self.completers.serve().is_some() {
            capabilities.completions = Some(JsonObject::new());
        }
        if self.logging {
            capabilities.logging = Some(JsonObject::new());
        }
        if !self.extensions.is_empty() {
            capabilities.extensions = Some(self.extensions.clone());
        }
        if self.tasks.is_some() && revision.is_modern() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.insert(TASKS_EXTENSION.to_owned(), JsonObject::new().into());
        } else if self.tasks.is_some() && revision.has_core_tasks() {
            let mut tasks = TasksCapability::default().with_request(method::TOOLS_CALL);
            tasks.cancel = Some(JsonObject::new());
            tasks.list = known.then(JsonObject::new);
            capabilities.tasks = Some(tasks);
        }
        capabilities
    }

    /// Returns whether the server declares the capability of a list. The list may be empty at the
    /// moment.
    pub(super) fn has(&self, list: List) -> bool {
        match list {
            List::Tools => self.tools.serve().is_some(),
            List::Prompts => self.prompts.serve().is_some(),
            List::Resources | List::ResourceTemplates => {
                self.resources.serve().is_some() || self.templates.serve().is_some()
            }
            List::Skills => self.skills.is_some(),
        }
    }

    fn sends_server_info_to(&self, revision: ProtocolVersion) -> bool {
        revision.is_modern() && self.send_server_info
    }

    /// Returns the `_meta` that the server adds to each result.
    pub(super) fn result_meta(&self, revision: ProtocolVersion) -> Option<ResultMetaObject> {
        let named = self.sends_server_info_to(revision);
        named.then(|| ResultMetaObject::default().server_info(self.info.clone()))
    }

    /// Returns the `_meta` that the server adds to each result, as JSON text. The text is cached.
    pub(super) fn written_meta(&self, revision: ProtocolVersion) -> Option<&str> {
        if !self.sends_server_info_to(revision) {
            return None;
        }
        let written = self.meta_text.get_or_init(|| {
            let meta = self.result_meta(revision);
            serde_json::to_string(&meta).expect("texts are JSON").into()
        });
        Some(written)
    }
}
