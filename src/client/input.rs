//! What a server asks of its client, answered by handlers that are registered once and serve both eras.
//!
//! In the legacy era the server sends requests of its own; since 2026-07-28 it answers a call with what it needs, and the call is sent again
//! with the answers. Either way the same handler gets the same question.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result, RpcError, without_position};
use crate::jsonrpc::Request;
use crate::protocol::{Handlers, Responder};
use crate::schema::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestURLParams, ElicitResult, ElicitationMode, InputRequest,
    InputRequests, InputResponse, InputResponses, ListRootsResult, Root, RootsCapability, method,
};

type FormFn = dyn Fn(&ElicitRequestFormParams) -> ElicitResult + Send + Sync;
type UrlFn = dyn Fn(&ElicitRequestURLParams) -> ElicitResult + Send + Sync;
type SampleFn =
    dyn Fn(&CreateMessageRequestParams) -> Result<CreateMessageResult, RpcError> + Send + Sync;
type RootsFn = dyn Fn() -> Vec<Root> + Send + Sync;

/// The handlers that a client has.
#[derive(Clone, Default)]
pub(super) struct InputHandlers {
    pub(super) form: Option<Arc<FormFn>>,
    pub(super) url: Option<Arc<UrlFn>>,
    pub(super) sample: Option<Arc<SampleFn>>,
    pub(super) sampling_tools: bool,
    pub(super) roots: Option<Arc<RootsFn>>,
}

impl InputHandlers {
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
            let sampling = capabilities.sampling.take().unwrap_or_default();
            capabilities.sampling = Some(if self.sampling_tools {
                sampling.with_tools()
            } else {
                sampling
            });
        }
        if self.roots.is_some() {
            capabilities
                .roots
                .get_or_insert_with(RootsCapability::default);
        }
    }

    /// Serves the requests by which a legacy server asks.
    pub(super) fn serve(&self, handlers: Handlers) -> Handlers {
        let mut handlers = handlers;
        if self.form.is_some() || self.url.is_some() {
            handlers = self.serve_one(handlers, method::ELICITATION_CREATE, |this, params| {
                this.elicit(&params)
            });
        }
        if self.sample.is_some() {
            handlers = self.serve_one(handlers, method::SAMPLING_CREATE_MESSAGE, |this, params| {
                this.sample(&params)
            });
        }
        if self.roots.is_some() {
            handlers = self.serve_one(
                handlers,
                method::ROOTS_LIST,
                |this, _: serde_json::Value| this.list_roots(),
            );
        }
        handlers
    }

    fn serve_one<P: DeserializeOwned + 'static, R: Serialize + 'static>(
        &self,
        handlers: Handlers,
        method: &'static str,
        answer: fn(&Self, P) -> Result<R, RpcError>,
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
            let asked = responder.peer().core().person_asked();
            let answer = params.and_then(|params| answer(&this, params));
            drop(asked);
            let sent = match answer {
                Ok(result) => responder.respond(&result),
                Err(error) => responder.refuse(&error),
            };
            // It fails when the server has gone, and then nobody waits for it.
            drop(sent);
        })
    }

    /// Answers all that a modern server needs for a call, or none of it.
    pub(super) fn fulfil(&self, requests: &InputRequests) -> Result<InputResponses> {
        let answers = requests.iter().map(|(key, request)| {
            let answer = self.answer(request).map_err(|refusal| {
                let text = format!(
                    "the server's question '{key}' ({}) was not answered: {refusal}",
                    request.method()
                );
                Error::new(ErrorKind::Unsupported, text).sent(true)
            })?;
            Ok((key.clone(), answer))
        });
        answers.collect()
    }

    fn answer(&self, request: &InputRequest) -> Result<InputResponse, RpcError> {
        match request {
            InputRequest::Elicit(request) => respond(self.elicit(&request.params)?),
            InputRequest::CreateMessage(request) => respond(self.sample(&request.params)?),
            InputRequest::ListRoots(_) => respond(self.list_roots()?),
            other => Err(RpcError::method_not_found(other.method())),
        }
    }

    fn elicit(&self, params: &ElicitRequestParams) -> Result<ElicitResult, RpcError> {
        match (params, &self.form, &self.url) {
            (ElicitRequestParams::Form(params), Some(form), _) => Ok(form(params)),
            (ElicitRequestParams::Url(params), _, Some(url)) => Ok(url(params)),
            _ => Err(RpcError::invalid_params(
                "this client does not carry out elicitations of this mode",
            )),
        }
    }

    fn sample(&self, params: &CreateMessageRequestParams) -> Result<CreateMessageResult, RpcError> {
        let asks_for_tools = params.tools.is_some() || params.tool_choice.is_some();
        match &self.sample {
            Some(_) if asks_for_tools && !self.sampling_tools => Err(RpcError::invalid_params(
                "this client does not let the model use tools (sampling.tools)",
            )),
            Some(sample) => sample(params),
            None => Err(RpcError::method_not_found(method::SAMPLING_CREATE_MESSAGE)),
        }
    }

    fn list_roots(&self) -> Result<ListRootsResult, RpcError> {
        match &self.roots {
            Some(roots) => Ok(ListRootsResult::new(roots())),
            None => Err(RpcError::method_not_found(method::ROOTS_LIST)),
        }
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
    use crate::schema::{JsonSchema, SamplingMessage, Tool};

    fn form() -> InputRequest {
        ElicitRequestParams::form("Name?", JsonSchema::any_object()).into()
    }

    fn url() -> InputRequest {
        ElicitRequestParams::url("Sign in", "https://example.com").into()
    }

    fn requests(asked: impl IntoIterator<Item = InputRequest>) -> InputRequests {
        asked
            .into_iter()
            .enumerate()
            .map(|(number, request)| (number.to_string(), request))
            .collect()
    }

    fn handlers() -> InputHandlers {
        InputHandlers {
            form: Some(Arc::new(|_| ElicitResult::decline())),
            roots: Some(Arc::new(|| vec![Root::new("file:///a")])),
            ..InputHandlers::default()
        }
    }

    // M-MRTR-C-16
    #[test]
    fn all_questions_are_answered_or_none() {
        let answers = handlers()
            .fulfil(&requests([form(), InputRequest::list_roots()]))
            .expect("both");
        assert_eq!(answers["0"].as_str(), r#"{"action":"decline"}"#);
        assert_eq!(answers["1"].as_str(), r#"{"roots":[{"uri":"file:///a"}]}"#);
        let error = handlers()
            .fulfil(&requests([form(), url()]))
            .expect_err("no handler for pages");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains("'1' (elicitation/create)"),
            "{error}"
        );
    }

    #[test]
    fn what_has_a_handler_is_declared() {
        let mut capabilities = ClientCapabilities::default();
        InputHandlers::default().declare(&mut capabilities);
        assert_eq!(capabilities, ClientCapabilities::default());
        let mut with_sampling = handlers();
        with_sampling.sample = Some(Arc::new(|_| Err(RpcError::internal("no model"))));
        with_sampling.declare(&mut capabilities);
        assert!(capabilities.supports_elicitation(ElicitationMode::Form));
        assert!(!capabilities.supports_elicitation(ElicitationMode::Url));
        assert!(capabilities.roots.is_some() && capabilities.sampling.is_some());
        assert!(!capabilities.supports_sampling_tools());
    }

    // AMB-15
    #[test]
    fn a_model_gets_tools_only_if_that_was_declared() {
        let mut handlers = handlers();
        handlers.sample = Some(Arc::new(|_| {
            Ok(CreateMessageResult::new(
                "m",
                SamplingMessage::user("hi").content,
            ))
        }));
        let plain = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10);
        let with_tools = plain.clone().tools([Tool::new("t")]);
        assert!(handlers.sample(&plain).is_ok());
        assert!(handlers.sample(&with_tools).is_err());
        handlers.sampling_tools = true;
        assert!(handlers.sample(&with_tools).is_ok());
    }
}
