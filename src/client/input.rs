//! Input requests: requests of a server to its client.
//!
//! The handlers of input requests are registered once and serve both eras.
//!
//! In the legacy era the server sends its own requests. Since 2026-07-28 the server answers a call
//! with its input requests, and the client repeats the call with the answers. In both cases one
//! handler gets the input request.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::input_round::InputRound;
use super::misfits;
use super::open_pages::OpenPages;
use super::requester::Requester;
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result, RpcError, without_position};
use crate::jsonrpc::Request;
use crate::protocol::{CancelToken, Handlers, LogLevel, Peer, Responder};
use crate::schema::tree;
use crate::schema::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestURLParams, ElicitResult, ElicitSchema, ElicitationMode,
    FitTo, Implementation, InputResponse, InputResponses, ListRootsRequestParams, ListRootsResult,
    ProtocolVersion, Root, method,
};
use crate::transport::Threads;

type FormFn = dyn Fn(&ElicitRequestFormParams, &Requester) -> ElicitResult + Send + Sync;
type UrlFn = dyn Fn(&ElicitRequestURLParams, &Requester) -> ElicitResult + Send + Sync;
type SampleFn = dyn Fn(&CreateMessageRequestParams, &Requester) -> Result<CreateMessageResult, RpcError>
    + Send
    + Sync;
type RootsFn = dyn Fn(&Requester) -> Result<Vec<Root>, RpcError> + Send + Sync;

/// The name, description and revision of the server, for the input handlers.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) revision: ProtocolVersion,
    pub(super) info: Option<Implementation>,
}

/// The input requests in one answer of the server, by the keys that the server gave them.
pub(super) type Questions = BTreeMap<String, Question>;

/// An input request with unparsed params. The handler of the method parses the params.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Question {
    method: String,
    /// The params as received. An explicit `null` is preserved, because a strict client refuses
    /// `null`.
    #[serde(default, deserialize_with = "present")]
    params: Option<Box<RawValue>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

impl Question {
    fn params(&self) -> Option<&str> {
        self.params.as_deref().map(RawValue::get)
    }
}

/// A function that parses the params of an input request, and returns a function that answers the
/// request.
///
/// The parser is registered together with the handler. So a program without a handler is linked
/// without the parser.
type Read = fn(Params<'_>) -> serde_json::Result<Box<Answering>>;

/// The unparsed params of an input request, and whether parsing is strict.
#[derive(Clone, Copy)]
struct Params<'a> {
    /// The JSON text of the params; `None` if the input request has no params.
    text: Option<&'a str>,
    /// Whether params that deviate from the specification are refused.
    is_strict: bool,
}

impl Params<'_> {
    fn read<T: DeserializeOwned>(self) -> serde_json::Result<T> {
        let text = self.text.unwrap_or("null");
        match self.is_strict {
            true => tree::read_strictly(text),
            false => tree::read(text),
        }
    }

    /// Checks the params of a request that needs no params. A strict client refuses invalid params.
    /// Any other client ignores them.
    fn check_optional<T: DeserializeOwned>(self) -> serde_json::Result<()> {
        match self.text {
            Some(_) if self.is_strict => self.read::<T>().map(drop),
            _ => Ok(()),
        }
    }
}

type Answering = dyn FnOnce(&InputHandlers, &Asking) -> Result<InputResponse, RpcError> + Send;

/// The input handlers of a client.
#[derive(Clone, Default)]
pub(super) struct InputHandlers {
    form: Option<Arc<FormFn>>,
    url: Option<Arc<UrlFn>>,
    sample: Option<Arc<SampleFn>>,
    pub(super) sampling_tools: bool,
    pub(super) sampling_context: bool,
    roots: Option<Arc<RootsFn>>,
    /// The methods that have handlers, with the parsers of their params.
    kinds: Vec<(&'static str, Read)>,
    pub(super) pages: OpenPages,
    /// The maximum number of handlers that run at the same time for one call of the modern era.
    pub(super) max_at_once: MaxAtOnce,
    /// The description of the server. Set once, when the connection is open.
    pub(super) server: Arc<OnceLock<Known>>,
}

/// The value of [`max_concurrent_inputs`](super::ClientBuilder::max_concurrent_inputs).
#[derive(Clone, Copy)]
pub(super) struct MaxAtOnce(pub(super) usize);

impl Default for MaxAtOnce {
    fn default() -> Self {
        Self(4)
    }
}

/// The context of an input request: the connection and the description of the requesting server.
#[derive(Clone)]
struct Asking {
    peer: Peer,
    by: Requester,
    /// In the legacy era: the revision of the server, to which the answer is adapted. In the modern
    /// era: `None`, because the answer is a part of the repeated call and needs no adaptation.
    revision: Option<ProtocolVersion>,
}

impl InputHandlers {
    pub(super) fn on_form(&mut self, handler: Arc<FormFn>) {
        self.form = Some(handler);
        self.answer(method::ELICITATION_CREATE, read_elicit);
    }

    pub(super) fn on_url(&mut self, handler: Arc<UrlFn>) {
        self.url = Some(handler);
        self.answer(method::ELICITATION_CREATE, read_elicit);
    }

    pub(super) fn on_sample(&mut self, handler: Arc<SampleFn>) {
        self.sample = Some(handler);
        self.answer(method::SAMPLING_CREATE_MESSAGE, read_sample);
    }

    pub(super) fn on_roots(&mut self, handler: Arc<RootsFn>) {
        self.roots = Some(handler);
        self.answer(method::ROOTS_LIST, |params| {
            params.check_optional::<ListRootsRequestParams>()?;
            Ok(Box::new(|this, asking| {
                respond(this.list_roots(asking)?, asking)
            }))
        });
    }

    fn answer(&mut self, method: &'static str, read: Read) {
        if self.reader_of(method).is_none() {
            self.kinds.push((method, read));
        }
    }

    fn reader_of(&self, method: &str) -> Option<Read> {
        let kind = self.kinds.iter().find(|(known, _)| *known == method);
        kind.map(|(_, read)| *read)
    }

    pub(super) fn has_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Creates a copy of the handlers for another connection, whose server is not known yet.
    pub(super) fn for_one_server(&self) -> Self {
        Self {
            server: Arc::default(),
            ..self.clone()
        }
    }

    /// Adds the capabilities of the handlers to the client's declared capabilities.
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

    /// Adds the handlers that answer the input requests of a legacy server.
    pub(super) fn serve(&self, handlers: Handlers) -> Handlers {
        let handlers = self.pages.listen_in(handlers);
        self.kinds
            .iter()
            .fold(handlers, |handlers, (method, read)| {
                let (this, method, read) = (self.clone(), *method, *read);
                handlers.request(method, move |request: &Request, responder: Responder| {
                    let peer = responder.peer();
                    let params = Params {
                        text: Some(request.params()),
                        is_strict: peer.core().is_strict(),
                    };
                    let answering = read(params).map_err(|error| {
                        let what = without_position(&error);
                        RpcError::invalid_params(format!("params of {method}: {what}"))
                    });
                    if answering.is_ok() {
                        misfits::log_halves(&peer, method, request.params());
                    }
                    let mut asking = this.asking(&peer, responder.cancel_token());
                    asking.revision = this.server.get().map(|server| server.revision);
                    let asked = peer.core().person_asked();
                    let answer = answering.and_then(|answer| answer(&this, &asking));
                    drop(asked);
                    let sent = match answer {
                        Ok(result) => responder.respond(&result),
                        Err(error) => responder.refuse(&error),
                    };
                    // Sending fails if the server has gone, and then no server waits for the
                    // answer.
                    drop(sent);
                })
            })
    }

    fn asking(&self, peer: &Peer, cancel: &CancelToken) -> Asking {
        let info = self.server.get().and_then(|server| server.info.clone());
        let by = Requester::new(peer.name(), info, cancel.clone());
        Asking {
            peer: peer.clone(),
            by,
            revision: None,
        }
    }

    /// Runs the handlers of all input requests in one answer of the server, and returns their
    /// answers. All input requests are parsed before any handler runs. Up to
    /// `max_at_once` handlers run at the same time. If an input request can't
    /// be answered, the other handlers are told to end, the call fails, and the server is not
    /// notified.
    pub(super) fn fulfil(
        &self,
        questions: &[(&String, &Question)],
        peer: &Peer,
        cancel: &CancelToken,
        tag: Option<u64>,
        threads: &Threads,
    ) -> Result<InputResponses> {
        let stop = CancelToken::new();
        let (this, mut asking) = (Arc::new(self.clone()), self.asking(peer, &stop));
        asking.by = asking.by.with_tag(tag);
        let read = questions.iter().map(|(key, question)| {
            let shown = Excerpt(key).to_string();
            let method = Excerpt(&question.method).to_string();
            let refused = move |refusal: RpcError| refused(&shown, &method, &refusal);
            let Some(read) = self.reader_of(&question.method) else {
                return Err(refused(RpcError::method_not_found(&question.method)));
            };
            let params = Params {
                text: question.params(),
                is_strict: peer.core().is_strict(),
            };
            let answering = read(params).map_err(|error| {
                let text = format!(
                    "the server's question '{}' ({}) can't be read: {error}",
                    Excerpt(key),
                    question.method
                );
                Error::new(ErrorKind::Protocol, text).sent(true)
            })?;
            misfits::log_halves(
                peer,
                &question.method,
                question.params().unwrap_or_default(),
            );
            let (this, asking) = (Arc::clone(&this), asking.clone());
            let run = move || answering(&this, &asking).map_err(refused);
            Ok((key.to_string(), Box::new(run) as _))
        });
        let read: Vec<_> = read.collect::<Result<_>>()?;
        let _cancelled = cancel.on_trigger({
            let (cancel, stop) = (cancel.clone(), stop.clone());
            move || match cancel.reason() {
                Some(reason) => stop.trigger_because(reason),
                None => stop.cancel(),
            }
        });
        let round = InputRound::new(read, stop);
        round.run(self.max_at_once.0, threads)
    }

    fn elicit(
        &self,
        params: &ElicitRequestParams,
        asking: &Asking,
    ) -> Result<ElicitResult, RpcError> {
        match (params, &self.form, &self.url) {
            (ElicitRequestParams::Form(params), Some(form), _) => {
                let mut result = form(params, &asking.by);
                // Input that the user discarded must not be sent (M-ELIC-C-04).
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
        asking: &Asking,
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

    fn list_roots(&self, asking: &Asking) -> Result<ListRootsResult, RpcError> {
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

/// Returns the error of a call whose input request was not answered.
fn refused(key: &str, method: &str, refusal: &RpcError) -> Error {
    let kind = match refusal.code {
        ErrorCode::USER_REJECTED => ErrorKind::Cancelled,
        _ => ErrorKind::Unsupported,
    };
    let text = format!("the server's question '{key}' ({method}) was not answered: {refusal}");
    Error::new(kind, text).sent(true)
}

fn read_elicit(params: Params<'_>) -> serde_json::Result<Box<Answering>> {
    let params: ElicitRequestParams = params.read()?;
    Ok(Box::new(move |this, asking| {
        respond(this.elicit(&params, asking)?, asking)
    }))
}

fn read_sample(params: Params<'_>) -> serde_json::Result<Box<Answering>> {
    let params: CreateMessageRequestParams = params.read()?;
    Ok(Box::new(move |this, asking| {
        respond(this.sample(&params, asking)?, asking)
    }))
}

fn respond(mut result: impl Serialize + FitTo, asking: &Asking) -> Result<InputResponse, RpcError> {
    if let Some(revision) = asking.revision {
        result.fit_to(revision);
    }
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
        handlers.on_form(Arc::new(|_, _| ElicitResult::decline()));
        handlers.on_sample(Arc::new(|_, _| Err(RpcError::internal("no model"))));
        handlers.on_roots(Arc::new(|_| Ok(Vec::new())));
        assert_eq!(
            declared(&handlers),
            r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{}}}"#
        );
        handlers.on_url(Arc::new(|_, _| ElicitResult::decline()));
        (handlers.sampling_tools, handlers.sampling_context) = (true, true);
        assert_eq!(
            declared(&handlers),
            r#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#
        );
    }
}
