//! What a server asks of its client, answered by handlers that are registered once and serve both eras.
//!
//! In the legacy era the server sends requests of its own; since 2026-07-28 it answers a call with what it needs, and the call is sent again
//! with the answers. Either way the same handler gets the same question.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::asked_by::AskedBy;
use super::open_pages::OpenPages;
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result, RpcError, without_position};
use crate::jsonrpc::Request;
use crate::protocol::{CancelToken, Handlers, LogLevel, Peer, Responder};
use crate::schema::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestURLParams, ElicitResult, ElicitSchema, ElicitationMode,
    FitTo, Implementation, InputRequest, InputRequests, InputResponse, InputResponses,
    ListRootsResult, ProtocolVersion, Root, method,
};

type FormFn = dyn Fn(&ElicitRequestFormParams, &AskedBy) -> ElicitResult + Send + Sync;
type UrlFn = dyn Fn(&ElicitRequestURLParams, &AskedBy) -> ElicitResult + Send + Sync;
type SampleFn = dyn Fn(&CreateMessageRequestParams, &AskedBy) -> Result<CreateMessageResult, RpcError>
    + Send
    + Sync;
type RootsFn = dyn Fn(&AskedBy) -> Result<Vec<Root>, RpcError> + Send + Sync;

/// What is known of the server when it asks.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) revision: ProtocolVersion,
    pub(super) info: Option<Implementation>,
}

/// The handlers that a client has.
#[derive(Clone, Default)]
pub(super) struct InputHandlers {
    pub(super) form: Option<Arc<FormFn>>,
    pub(super) url: Option<Arc<UrlFn>>,
    pub(super) sample: Option<Arc<SampleFn>>,
    pub(super) sampling_tools: bool,
    pub(super) sampling_context: bool,
    pub(super) roots: Option<Arc<RootsFn>>,
    pub(super) pages: OpenPages,
    /// Set when the connection is open.
    pub(super) server: Arc<OnceLock<Known>>,
}

/// One question, as it came.
struct Asking<'a> {
    peer: &'a Peer,
    by: AskedBy,
}

impl InputHandlers {
    /// The same handlers for another connection, whose server is not known yet.
    pub(super) fn for_one_server(&self) -> Self {
        Self {
            server: Arc::default(),
            ..self.clone()
        }
    }

    /// Declares what there are handlers for, beside what was declared by hand.
    pub(super) fn declare(&self, capabilities: &mut ClientCapabilities) {
        let mut modes = Vec::new();
        modes.extend(self.form.is_some().then_some(ElicitationMode::Form));
        modes.extend(self.url.is_some().then_some(ElicitationMode::Url));
        for mode in modes {
            let elicitation = capabilities.elicitation.take();
            let elicitation = elicitation.unwrap_or_default();
            capabilities.elicitation = Some(elicitation.with(mode));
        }
        if self.sample.is_some() {
            let mut sampling = capabilities.sampling.take().unwrap_or_default();
            if self.sampling_tools {
                sampling = sampling.with_tools();
            }
            if self.sampling_context {
                sampling = sampling.with_context();
            }
            capabilities.sampling = Some(sampling);
        }
        if self.roots.is_some() {
            let roots = capabilities.roots.take();
            let roots = roots.unwrap_or_default();
            capabilities.roots = Some(roots.list_changed(true));
        }
    }

    /// Serves the requests by which a legacy server asks.
    pub(super) fn serve(&self, handlers: Handlers) -> Handlers {
        let mut handlers = self.pages.listen_in(handlers);
        if self.form.is_some() || self.url.is_some() {
            handlers = self.serve_one(handlers, method::ELICITATION_CREATE, |this, params, by| {
                this.elicit(&params, by)
            });
        }
        if self.sample.is_some() {
            handlers = self.serve_one(
                handlers,
                method::SAMPLING_CREATE_MESSAGE,
                |this, params, by| this.sample(&params, by),
            );
        }
        if self.roots.is_some() {
            handlers = self.serve_one(
                handlers,
                method::ROOTS_LIST,
                |this, _: serde_json::Value, by| this.list_roots(by),
            );
        }
        handlers
    }

    fn serve_one<P: DeserializeOwned + 'static, R: Serialize + FitTo + 'static>(
        &self,
        handlers: Handlers,
        method: &'static str,
        answer: fn(&Self, P, &Asking<'_>) -> Result<R, RpcError>,
    ) -> Handlers {
        let this = self.clone();
        handlers.request(method, move |request: &Request, responder: Responder| {
            let params = serde_json::from_str::<P>(request.params());
            let params = params.map_err(|error| {
                RpcError::invalid_params(format!(
                    "params of {method}: {}",
                    without_position(&error)
                ))
            });
            let peer = responder.peer();
            let asking = this.asking(&peer, responder.cancel_token());
            let asked = peer.core().person_asked();
            let answer = params.and_then(|params| answer(&this, params, &asking));
            drop(asked);
            let sent = match answer {
                Ok(mut result) => {
                    if let Some(server) = this.server.get() {
                        result.fit_to(server.revision);
                    }
                    responder.respond(&result)
                }
                Err(error) => responder.refuse(&error),
            };
            // It fails when the server has gone, and then nobody waits for it.
            drop(sent);
        })
    }

    fn asking<'a>(&self, peer: &'a Peer, cancel: &CancelToken) -> Asking<'a> {
        let info = self.server.get().and_then(|server| server.info.clone());
        let by = AskedBy::new(peer.name(), info, cancel.clone());
        Asking { peer, by }
    }

    /// Answers all that a modern server needs for a call, or none of it: it is never told why.
    pub(super) fn fulfil(
        &self,
        requests: &InputRequests,
        peer: &Peer,
        cancel: &CancelToken,
    ) -> Result<InputResponses> {
        let asking = self.asking(peer, cancel);
        let answers = requests.iter().map(|(key, request)| {
            let answer = self.answer(request, &asking).map_err(|refusal| {
                let kind = match refusal.code {
                    ErrorCode::USER_REJECTED => ErrorKind::Cancelled,
                    _ => ErrorKind::Unsupported,
                };
                let text = format!(
                    "the server's question '{}' ({}) was not answered: {refusal}",
                    Excerpt(key),
                    Excerpt(request.method())
                );
                Error::new(kind, text).sent(true)
            })?;
            Ok((key.clone(), answer))
        });
        answers.collect()
    }

    fn answer(
        &self,
        request: &InputRequest,
        asking: &Asking<'_>,
    ) -> Result<InputResponse, RpcError> {
        match request {
            InputRequest::Elicit(request) => respond(self.elicit(&request.params, asking)?),
            InputRequest::CreateMessage(request) => respond(self.sample(&request.params, asking)?),
            InputRequest::ListRoots(_) => respond(self.list_roots(asking)?),
            other => Err(RpcError::method_not_found(other.method())),
        }
    }

    fn elicit(
        &self,
        params: &ElicitRequestParams,
        asking: &Asking<'_>,
    ) -> Result<ElicitResult, RpcError> {
        match (params, &self.form, &self.url) {
            (ElicitRequestParams::Form(params), Some(form), _) => {
                let mut result = form(params, &asking.by);
                // What a user typed and then took back is nobody's business (M-ELIC-C-04).
                if !result.is_accepted() {
                    result.content = None;
                } else if ElicitSchema::of(&params.requested_schema).is_ok() {
                    params.check_answer(&result).map_err(|error| {
                        let (core, name) = (asking.peer.core(), asking.peer.name());
                        core.log_as("client", LogLevel::Error, || {
                            format!("'{name}' is not sent what was filled in: {error}")
                        });
                        RpcError::internal("what was filled in does not fit the form")
                    })?;
                }
                Ok(result)
            }
            (ElicitRequestParams::Url(params), _, Some(url)) => {
                let id = params.elicitation_id.as_deref();
                if let Some(id) = id {
                    self.pages.add(id);
                }
                let mut result = url(params, &asking.by);
                result.content = None;
                if let Some(id) = id.filter(|_| !result.is_accepted()) {
                    self.pages.remove(id);
                }
                Ok(result)
            }
            _ => Err(RpcError::invalid_params(
                "this client does not carry out elicitations of this mode",
            )),
        }
    }

    fn sample(
        &self,
        params: &CreateMessageRequestParams,
        asking: &Asking<'_>,
    ) -> Result<CreateMessageResult, RpcError> {
        let Some(sample) = &self.sample else {
            return Err(RpcError::method_not_found(method::SAMPLING_CREATE_MESSAGE));
        };
        if (params.tools.is_some() || params.tool_choice.is_some()) && !self.sampling_tools {
            return Err(RpcError::invalid_params(
                "this client does not let the model use tools (sampling.tools)",
            ));
        }
        params
            .check()
            .map_err(|error| RpcError::invalid_params(error.to_string()))?;
        sample(params, &asking.by)
    }

    fn list_roots(&self, asking: &Asking<'_>) -> Result<ListRootsResult, RpcError> {
        let Some(roots) = &self.roots else {
            return Err(RpcError::method_not_found(method::ROOTS_LIST));
        };
        let roots = roots(&asking.by)?;
        for root in &roots {
            root.check().map_err(|error| {
                let (core, name) = (asking.peer.core(), asking.peer.name());
                core.log_as("client", LogLevel::Error, || {
                    format!("'{name}' is not told the roots: {error}")
                });
                RpcError::internal("the roots can't be told")
            })?;
        }
        Ok(ListRootsResult::new(roots))
    }
}

fn respond(result: impl Serialize) -> Result<InputResponse, RpcError> {
    InputResponse::new(&result).map_err(|error| RpcError::internal(error.to_string()))
}

impl fmt::Debug for InputHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputHandlers")
            .field("form", &self.form.is_some())
            .field("url", &self.url.is_some())
            .field("sample", &self.sample.is_some())
            .field("roots", &self.roots.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_handler_is_declared() {
        let declared = |handlers: &InputHandlers| {
            let mut capabilities = ClientCapabilities::default();
            handlers.declare(&mut capabilities);
            serde_json::to_string(&capabilities).expect("JSON")
        };
        let mut handlers = InputHandlers::default();
        assert_eq!(declared(&handlers), "{}");
        handlers.form = Some(Arc::new(|_, _| ElicitResult::decline()));
        handlers.sample = Some(Arc::new(|_, _| Err(RpcError::internal("no model"))));
        handlers.roots = Some(Arc::new(|_| Ok(Vec::new())));
        assert_eq!(
            declared(&handlers),
            r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{}}}"#
        );
        handlers.url = Some(Arc::new(|_, _| ElicitResult::decline()));
        (handlers.sampling_tools, handlers.sampling_context) = (true, true);
        assert_eq!(
            declared(&handlers),
            r#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#
        );
    }
}
