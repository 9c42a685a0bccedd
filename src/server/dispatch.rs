//! Dispatch of requests by method.

mod completion;
mod guards;
mod prompts;
mod resources;
mod tools;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::catalogue::{Catalogue, Listed, Paging};
use super::events::{Session, SessionTransport};
use super::inner::{
    Declared, Inner, Methods, Row, ServerConnection, connection_for, connection_of,
};
use super::paging::{Cursor, List, UNCACHED};
use super::session_state::{ClientContext, is_modern, unsupported_version};
use crate::error::{ErrorCode, Excerpt, RpcError};
use crate::jsonrpc::{Request, typed};
use crate::protocol::{Handlers, Responder};
use crate::schema::tree;
use crate::schema::{
    DiscoverResult, EmptyResult, FitTo, InitializeRequestParams, InitializeResult, JsonObject,
    PaginatedRequestParams, PromptsCapability, ProtocolVersion, RequestMetaObject, RequestParams,
    ResourcesCapability, ServerCapabilities, SetLevelRequestParams, TASKS_EXTENSION,
    TasksCapability, ToolsCapability, method,
};

/// The code of the host that a method runs. Without such code, requests of the method are served on
/// the reading thread.
#[derive(Clone, Copy)]
enum Runs {
    Nothing,
    Guards,
    Handlers,
}

/// The methods that every server has. They run no code of the host.
const QUICK: [Row; 4] = [
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
];

/// Selects the methods of a capability.
type Capability = fn(&Declared) -> &Methods;

/// The methods that a server has if it declares their capability.
const OF_CAPABILITIES: [(&str, Runs, Capability); 10] = [
    (method::TOOLS_LIST, Runs::Guards, |it| &it.tools),
    (method::TOOLS_CALL, Runs::Handlers, |it| &it.tools),
    (method::PROMPTS_LIST, Runs::Guards, |it| &it.prompts),
    (method::PROMPTS_GET, Runs::Handlers, |it| &it.prompts),
    (method::RESOURCES_LIST, Runs::Guards, |it| &it.resources),
    (method::RESOURCES_TEMPLATES_LIST, Runs::Guards, |it| {
        &it.resources
    }),
    (method::RESOURCES_READ, Runs::Handlers, |it| &it.resources),
    (method::RESOURCES_SUBSCRIBE, Runs::Guards, |it| {
        &it.resources
    }),
    (method::RESOURCES_UNSUBSCRIBE, Runs::Nothing, |it| {
        &it.resources
    }),
    (method::COMPLETION_COMPLETE, Runs::Handlers, |it| {
        &it.completions
    }),
];

/// Returns the request handlers for all connections of a server.
pub(super) fn handlers(server: &Inner) -> Handlers {
    let is_quick = |runs| match runs {
        Runs::Nothing => true,
        Runs::Guards => server.services.guards.is_empty(),
        Runs::Handlers => false,
    };
    let listen: Row = (method::SUBSCRIPTIONS_LISTEN, ServerConnection::listen);
    let features = server.feature_methods.iter().copied().chain([listen]);
    let always = QUICK.into_iter().map(|row| (row, Runs::Nothing));
    let tasks = match &server.tasks {
        // The store of the host may be slow.
        Some(tasks) if tasks.are_shared() => Runs::Handlers,
        _ => Runs::Guards,
    };
    let always = always.chain(features.map(|row| (row, tasks)));
    let methods = server.methods.clone();
    let methods = always.fold(methods, |methods, ((method, serve), runs)| {
        methods.owned_request(method, is_quick(runs), move |request, responder| {
            serve(connection_for(&responder), request, responder);
        })
    });
    OF_CAPABILITIES
        .into_iter()
        .fold(methods, |methods, (method, runs, capability)| {
            methods.owned_request(method, is_quick(runs), move |request, responder| {
                let connection = connection_for(&responder);
                let rows = capability(&connection.server.declared).get();
                let row = rows.and_then(|rows| rows.iter().find(|(name, _)| *name == method));
                match row.map(|(_, serve)| *serve) {
                    Some(serve) => serve(connection, request, responder),
                    None => send::<()>(Err(RpcError::method_not_found(method)), responder),
                }
            })
        })
        .quick_notification(method::NOTIFICATIONS_INITIALIZED, |peer, _| {
            connection_of(peer).initialized(peer);
        })
        .farewell(|peer| {
            let connection = connection_of(peer);
            connection.leave();
            if let Some(attendance) = &connection.attendance {
                attendance.end(peer);
            }
            connection.server.services.pages.forget(peer);
        })
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

impl ServerConnection {
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
        let revision = self.conversation().state.agree(params, served, latest)?;
        self.terms(responder, None)?;
        responder
            .peer()
            .core()
            .allow_batches(revision.has_batches());
        let known = self.conversation().principal_of(responder).is_some();
        let tells = responder.peer().can_be_asked();
        let capabilities = self.server.capabilities(revision, known, tells);
        self.declare(&capabilities, &responder.peer());
        let mut result =
            InitializeResult::new(revision, capabilities, self.server.services.info.clone());
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
        self.need(request, self.server.services.logging)?;
        let mut params: SetLevelRequestParams = read(request)?;
        self.terms(responder, params.meta.as_mut())?;
        // Clients without a session share this level, so none of them may set it.
        if responder.peer().can_be_asked() {
            self.conversation().state.set_log_level(&params.level);
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
        let served = self.server.revisions.iter();
        let served: Vec<&str> = served.map(|revision| revision.as_str()).collect();
        let (method, served) = (request.method(), served.join(", "));
        error.message = format!("{method} is not a method of this revision; supported: {served}");
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
        if !self.server.serves(ProtocolVersion::is_modern) {
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
        result.meta = self.server.services.result_meta(revision);
        result.fit_to(revision);
        Ok(result)
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
        let services = &self.server.services;
        let is_named = services.sends_server_info_to(revision);
        let mut paging = Paging {
            size: self.server.page_size,
            hint: self.server.hints.get(&list).unwrap_or(&UNCACHED),
            server_info: is_named.then_some(&services.info),
        };
        let start = || Cursor::read(list.into(), cursor.as_deref());
        if self.server.services.guards.is_empty() {
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

    /// Returns the error "method not found" if `has` is false. `has` tells whether the server
    /// declares the capability of the request's method.
    pub(super) fn need(&self, request: &Request, has: bool) -> Result<(), RpcError> {
        if has {
            return Ok(());
        }
        Err(RpcError::method_not_found(request.method()))
    }

    /// Returns the client info of a request. If this is the first valid request of the session,
    /// begins the session.
    pub(super) fn terms(
        &self,
        responder: &Responder,
        meta: Option<&mut RequestMetaObject>,
    ) -> Result<Arc<ClientContext>, RpcError> {
        let state = &self.conversation().state;
        let terms = state.terms(meta, &self.server.revisions)?;
        self.attend(responder, &terms);
        Ok(terms)
    }

    fn attend(&self, responder: &Responder, terms: &Arc<ClientContext>) {
        if let Some(attendance) = &self.attendance {
            let peer = responder.peer();
            attendance.begin(&peer, terms, |terms| Session {
                connection: self.conversation().number,
                transport: match self.conversation().is_over_http {
                    true => SessionTransport::Http,
                    false => SessionTransport::Stream,
                },
                peer: peer.name(),
                revision: terms.revision,
                client: terms.client_info.clone(),
                principal: self.conversation().identity_of(responder).cloned(),
            });
        }
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
        if self.declared.completions.get().is_some() {
            capabilities.completions = Some(JsonObject::new());
        }
        if self.services.logging {
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
}
