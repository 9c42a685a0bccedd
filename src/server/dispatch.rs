//! From a method to what the server does for it.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Inner;
use super::asking::{Again, Asker};
use super::context::{Context, ToolCall};
use super::conversation::{Conversation, Terms, is_modern, unsupported_version};
use super::registry::Entry;
use crate::error::{ErrorCode, Excerpt, RpcError, without_position};
use crate::jsonrpc::Request;
use crate::protocol::{Handlers, Responder};
use crate::schema::{
    CallToolRequestParams, DiscoverResult, EmptyResult, FitTo, InitializeRequestParams,
    InitializeResult, PaginatedRequestParams, ProtocolVersion, RequestMetaObject, RequestParams,
    ResultMetaObject, ServerCapabilities, ToolsCapability, method,
};

/// The handlers of one connection.
pub(super) fn handlers(server: &Arc<Inner>) -> Handlers {
    let link = Link {
        server: Arc::clone(server),
        conversation: Arc::default(),
    };
    let on = |handle: fn(&Link, &Request, Responder)| {
        let link = link.clone();
        move |request: &Request, responder: Responder| handle(&link, request, responder)
    };
    let methods = server.methods.clone();
    methods
        .quick_request(
            method::INITIALIZE,
            on(|link, request, responder| send(link.agree(request, &responder), responder)),
        )
        .quick_request(
            method::PING,
            on(|link, request, responder| send(link.pong(request), responder)),
        )
        .quick_request(
            method::SERVER_DISCOVER,
            on(|link, request, responder| send(link.describe(request), responder)),
        )
        .quick_request(
            method::TOOLS_LIST,
            on(|link, request, responder| {
                let listing = link.list_tools(request);
                send(listing.as_deref().map_err(Clone::clone), responder);
            }),
        )
        .request(method::TOOLS_CALL, on(Link::call_tool))
}

fn send<T: Serialize>(answer: Result<T, RpcError>, responder: Responder) {
    let sent = match answer {
        Ok(result) => responder.respond(&result),
        Err(error) => responder.refuse(&error),
    };
    // It fails when nobody waits any more, and then there is nothing left to do.
    drop(sent);
}

fn read<T: DeserializeOwned>(request: &Request) -> Result<T, RpcError> {
    serde_json::from_str(request.params()).map_err(|error| {
        let (method, what) = (Excerpt(request.method()), without_position(&error));
        RpcError::invalid_params(format!("params of {method}: {}", Excerpt(&what)))
    })
}

/// A server in one of its conversations.
#[derive(Clone)]
struct Link {
    server: Arc<Inner>,
    conversation: Arc<Conversation>,
}

impl Link {
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
        let revision = self.conversation.agree(params, &self.server.revisions)?;
        responder
            .peer()
            .core()
            .allow_batches(revision.has_batches());
        let mut result = InitializeResult::new(
            revision,
            self.server.capabilities(),
            self.server.info.clone(),
        );
        result.instructions.clone_from(&self.server.instructions);
        result.fit_to(revision);
        Ok(result)
    }

    fn pong(&self, request: &Request) -> Result<EmptyResult, RpcError> {
        self.refuse_modern(request)?;
        Ok(EmptyResult::default())
    }

    /// Whether a method of the legacy era comes in a modern envelope: the envelope wins, and there the method is unknown (AMB-02).
    fn refuse_modern(&self, request: &Request) -> Result<(), RpcError> {
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

    fn describe(&self, request: &Request) -> Result<DiscoverResult, RpcError> {
        // To a client that probes, a server without the modern era looks like one that was written before it.
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
        let revision = self.terms(meta.as_mut())?.revision;
        if revision.is_legacy() {
            return Err(unknown());
        }
        let mut result = DiscoverResult::new(&self.server.revisions, self.server.capabilities());
        result.instructions.clone_from(&self.server.instructions);
        result.meta = self.server.result_meta(revision);
        result.fit_to(revision);
        Ok(result)
    }

    fn list_tools(&self, request: &Request) -> Result<Arc<RawValue>, RpcError> {
        self.need_tools(request)?;
        let PaginatedRequestParams {
            mut meta, cursor, ..
        } = read(request)?;
        let revision = self.terms(meta.as_mut())?.revision;
        if cursor.is_some() {
            return Err(RpcError::invalid_params(
                "cursor is not one of this server's: the list has one page",
            ));
        }
        let info = self
            .server
            .names_itself_to(revision)
            .then_some(&self.server.info);
        self.server
            .registry
            .listing(revision, info)
            .map_err(|_| RpcError::internal("internal error"))
    }

    fn call_tool(&self, request: &Request, responder: Responder) {
        let found = self
            .find_tool(request)
            .and_then(|(entry, mut params, terms)| {
                let asker = Asker {
                    server: Arc::clone(&self.server),
                    method: method::TOOLS_CALL,
                    target: params.name,
                    arguments: params.arguments,
                    again: Arc::clone(&entry) as Arc<dyn Again>,
                };
                let log = |line: String| responder.peer().core().log(|| line);
                let rounds = asker.resume(
                    params.request_state.as_deref(),
                    params.input_responses.take(),
                    log,
                )?;
                Ok((entry, params.meta.unwrap_or_default(), terms, asker, rounds))
            });
        match found {
            Err(error) => send::<()>(Err(error), responder),
            Ok((entry, meta, terms, asker, rounds)) => {
                let context = Context::new(Arc::clone(&self.server), responder, terms, meta);
                entry.run(context.asking(asker, rounds));
            }
        }
    }

    fn find_tool(
        &self,
        request: &Request,
    ) -> Result<(Arc<Entry>, CallToolRequestParams, Arc<Terms>), RpcError> {
        self.need_tools(request)?;
        let mut params: CallToolRequestParams = read(request)?;
        let terms = self.terms(params.meta.as_mut())?;
        if params
            .arguments
            .as_ref()
            .is_some_and(|arguments| !arguments.get().starts_with('{'))
        {
            return Err(RpcError::invalid_params("arguments must be an object"));
        }
        match self.server.registry.find(&params.name) {
            Some(entry) => Ok((entry, params, terms)),
            None => Err(RpcError::invalid_params(format!(
                "unknown tool: {}",
                Excerpt(&params.name)
            ))),
        }
    }

    /// A method whose capability is not advertised is not there.
    fn need_tools(&self, request: &Request) -> Result<(), RpcError> {
        if self.server.registry.is_offered() {
            return Ok(());
        }
        Err(RpcError::method_not_found(request.method()))
    }

    fn terms(&self, meta: Option<&mut RequestMetaObject>) -> Result<Arc<Terms>, RpcError> {
        self.conversation.terms(meta, &self.server.revisions)
    }
}

impl Again for Entry {
    fn run(&self, context: Context) {
        (self.handler)(ToolCall::new(context));
    }
}

impl Inner {
    fn capabilities(&self) -> ServerCapabilities {
        let capabilities = ServerCapabilities::default();
        if self.registry.is_offered() {
            capabilities.tools(ToolsCapability::default())
        } else {
            capabilities
        }
    }

    fn names_itself_to(&self, revision: ProtocolVersion) -> bool {
        revision.is_modern() && self.names_itself
    }

    /// What travels beside each result.
    pub(super) fn result_meta(&self, revision: ProtocolVersion) -> Option<ResultMetaObject> {
        let named = self.names_itself_to(revision);
        named.then(|| ResultMetaObject::default().server_info(self.info.clone()))
    }
}
