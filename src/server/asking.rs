//! Input requests during a call. Handlers make input requests in the same way in both eras.
//!
//! The module `mrtr` describes how a handler is run again. This file has the functions with which a
//! handler makes input requests, and sends these input requests when the handler has returned.
//! Since 2026-07-28, an `input_required` result contains the input requests and ends the client's
//! request. The client then sends a new request with the answers. In the legacy era, each input
//! request is sent as a request of the server: see the module `input_requests`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::ask_error::AskError;
use super::call_task::Start;
use super::context::Context;
use super::conversation::Conversation;
use super::input_requests::{self, fail, give_up};
use super::input_rules::{self, missing_capabilities};
use super::mrtr::{InputRequester, MAX_ROUND_TRIPS, MrtrState, Unusable};
use super::session_state::ClientContext;
use super::state::{Opened, Refused};
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::{LogLevel, Responder};
use crate::schema::json::millis;
use crate::schema::tree::{self, Tree};
use crate::schema::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, FitTo, InputRequest, InputRequests, InputRequiredResult, InputResponse,
    InputResponses, ListRootsResult, RequestMetaObject,
};

/// The maximum size of a sealed state, in bytes. If the state of a call is larger, the client gets
/// an internal error.
const MAX_STATE_BYTES: usize = 64 << 10;

/// A request whose handler is known, and which the guards have admitted.
pub(super) struct AdmittedRequest {
    pub(super) asker: InputRequester,
    pub(super) terms: Arc<ClientContext>,
    pub(super) meta: Option<Arc<RequestMetaObject>>,
    /// The sealed state in the request.
    pub(super) request_state: Option<String>,
    pub(super) input_responses: Option<InputResponses>,
    /// If set, the call becomes a task if possible.
    pub(super) start: Option<Start>,
}

impl AdmittedRequest {
    /// Runs the handler of a newly received call, with the answers in the client's request. Refuses
    /// the call if its sealed state or an answer is invalid.
    pub(super) fn begin(
        self,
        conversation: &Arc<Conversation>,
        request: Request,
        responder: Responder,
    ) {
        let (asker, terms) = (self.asker, self.terms);
        let context = Context::new(conversation, request, responder, terms, self.meta);
        let Some(context) = context else { return };
        let again = Arc::clone(&asker.again);
        match asker.resume(
            &context,
            self.request_state.as_deref(),
            self.input_responses,
        ) {
            Ok(mrtr) => {
                let context = context.asking(asker, mrtr);
                match self.start {
                    Some(start) => start.begin(context, move |context| again.run(context)),
                    None => again.run(context),
                }
            }
            // Answering fails when the client no longer waits. Then nothing is left to do.
            Err(error) => _ = context.refuse(error),
        }
    }
}

impl InputRequester {
    /// Restores the MRTR state of a call from the sealed state in the client's request. Without a
    /// sealed state, returns an empty MRTR state.
    ///
    /// If the sealed state is refused, the reason is logged for the host only, and the client gets
    /// a fixed text. If an answer is refused, the client gets the reason.
    fn resume(
        &self,
        context: &Context,
        state: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<MrtrState, RpcError> {
        let Some(state) = state else {
            return Ok(MrtrState::default());
        };
        let refused = |why: &dyn fmt::Display| {
            context
                .peer()
                .core()
                .log_as("server", LogLevel::Warning, || {
                    let target = Excerpt(self.target(context.request()));
                    let method = context.method();
                    format!("requestState of {method} '{target}' was refused: {why}")
                });
            RpcError::invalid_params(
                "requestState is not valid (any more): send the request anew, without it",
            )
        };
        let server = context.services();
        let opened = server.keys.open(state, &self.binding(context), now());
        let opened = opened.map_err(|why| refused(&why))?;
        let mrtr = match MrtrState::resume(&opened.content, responses.unwrap_or_default()) {
            Ok(mrtr) => mrtr,
            Err(Unusable::Content) => return Err(refused(&"its content can't be read")),
            Err(Unusable::Answer(text)) => return Err(RpcError::invalid_params(text)),
        };
        match claim(context, &opened) {
            Ok(true) => Ok(mrtr),
            Ok(false) => Err(refused(&Refused::Used)),
            Err(error) => Err(refused(&error)),
        }
    }

    fn seal(&self, context: &Context, asked: &InputRequests) -> Result<String> {
        let server = context.services();
        let content = context.mrtr().lock().to_content(asked)?;
        let expiry = now().saturating_add(millis(server.state_lifetime));
        let state = server.keys.seal(&content, &self.binding(context), expiry)?;
        if state.len() > MAX_STATE_BYTES {
            let text = format!(
                "the state of {} '{}' has {} bytes, more than {MAX_STATE_BYTES}: ask and remember less",
                context.method(),
                self.target(context.request()),
                state.len()
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(state)
    }

    /// Returns the data that the sealed state of this call is bound to: the server, principal,
    /// method, target and arguments. The arguments are parsed first, so that white space does not
    /// matter.
    fn binding(&self, context: &Context) -> Vec<u8> {
        let text = self.arguments(context.request());
        let arguments = tree::read(text).map(|Tree(value)| value).map_err(|_| text);
        let parts = (
            &context.services().info.name,
            context.method(),
            self.target(context.request()),
            context.principal(),
            arguments,
        );
        serde_json::to_vec(&parts).expect("texts and JSON are JSON")
    }
}

/// Records in the state store that a client presents a sealed state. Returns whether the state is
/// presented for the first time. Without a store, returns true for every state.
fn claim(context: &Context, opened: &Opened) -> Result<bool> {
    let server = context.services();
    let Some(store) = &server.state_store else {
        return Ok(true);
    };
    let left = opened.expiry.saturating_sub(now());
    let client = context.accounted_client().to_string();
    store.claim_for(&client, &opened.id, Duration::from_millis(left))
}

/// Returns the current time in milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, millis)
}

/// Input requests of a handler to the client or its user.
///
/// In every revision, a handler that makes an input request is run again from its start when the
/// answers have come. So the code before the last input request runs several times. Put side
/// effects after the last input request, or into [`once`](Self::once).
impl Context {
    /// Returns the answer to an input request. If there is no answer yet, records that the input
    /// request has to be sent to the client.
    ///
    /// `key` names the input request within the call. If the answer is missing, the error is
    /// [pending](AskError::is_pending): leave the handler, for example with `?`. The return value
    /// of the handler is then not sent. To send several input requests at once, make them all
    /// before the handler returns.
    ///
    /// An answer is used only for the exact input request that was sent. If the handler later makes
    /// a different input request under the same key, this input request is sent to the client too.
    ///
    /// # Errors
    ///
    /// See [`AskError`].
    pub fn ask(
        &self,
        key: &str,
        question: impl Into<InputRequest>,
    ) -> Result<InputResponse, AskError> {
        let question = question.into();
        let answer = input_rules::check(&question, self.client().revision)
            .and_then(|()| self.mrtr().lock().with(ask_client).ask(key, &question));
        match answer {
            Ok(Some(Ok(response))) => Ok(response),
            Ok(Some(Err(refusal))) => Err(AskError::refused(refusal)),
            Ok(None) => {
                for doubt in input_rules::doubts(&question) {
                    self.tell_host(LogLevel::Warning, || format!("'{}': {doubt}", Excerpt(key)));
                }
                Err(AskError::pending())
            }
            Err(error) => Err(self.unable(key, error)),
        }
    }

    /// Makes the call a task, if the client supports tasks.
    ///
    /// The client's request is answered with the task. Then the handler is run again from its
    /// start, as it is after an answer to an input request. If input requests must be answered
    /// before the call becomes a task, make them before calling this function. Call this function
    /// with `?`.
    ///
    /// Since 2026-07-28 the server decides which calls become tasks. In these cases this function
    /// does nothing, and the handler continues with the call:
    ///
    /// - the revision is older than 2026-07-28,
    /// - the client did not declare the extension `io.modelcontextprotocol/tasks`,
    /// - the server has no [`tasks`](super::ServerBuilder::tasks),
    /// - the call is a task already, or is not a tool call,
    /// - an earlier attempt to make this call a task failed, because the server had no slot for a
    ///   task.
    ///
    /// # Errors
    ///
    /// A [pending](AskError::is_pending) error when the handler has to return.
    pub fn become_task(&self) -> Result<(), AskError> {
        if !self.can_become_task() {
            return Ok(());
        }
        self.mrtr().lock().with(ask_client).want_task();
        Err(AskError::pending())
    }

    /// Logs for the host why an input request has failed. Returns the failure as an error for the
    /// handler.
    pub(super) fn unable(&self, key: &str, error: Error) -> AskError {
        self.tell_host(LogLevel::Error, || {
            format!("'{}' has no answer: {error}", Excerpt(key))
        });
        error.into()
    }

    /// Asks the user for input (`elicitation/create`). See [`ask`](Self::ask).
    ///
    /// # Errors
    ///
    /// See [`AskError`].
    pub fn elicit(
        &self,
        key: &str,
        question: ElicitRequestParams,
    ) -> Result<ElicitResult, AskError> {
        let of_form = matches!(question, ElicitRequestParams::Form(_));
        let answer = self.ask(key, question)?;
        let mut result = answer
            .elicit_result()
            .map_err(|error| self.unable(key, error))?;
        if !(of_form && result.is_accepted()) {
            result.content = None;
        }
        Ok(result)
    }

    /// Requests a completion from the client's model (`sampling/createMessage`). See
    /// [`ask`](Self::ask).
    ///
    /// # Errors
    ///
    /// See [`AskError`].
    pub fn sample(
        &self,
        key: &str,
        question: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, AskError> {
        let answer = self.ask(key, question)?;
        let result = answer.create_message_result();
        result.map_err(|error| self.unable(key, error))
    }

    /// Requests the client's roots (`roots/list`). See [`ask`](Self::ask).
    ///
    /// # Errors
    ///
    /// See [`AskError`].
    pub fn list_roots(&self, key: &str) -> Result<ListRootsResult, AskError> {
        let answer = self.ask(key, InputRequest::list_roots())?;
        let result = answer.list_roots_result();
        result.map_err(|error| self.unable(key, error))
    }
}

/// Sends the input requests of a handler to the client, instead of the handler's return value.
fn ask_client(context: Context) -> Result<()> {
    if context.asker().is_none() {
        let error = Error::new(ErrorKind::State, "this request can't ask for input");
        return give_up(context, error);
    }
    if context.is_cancelled() {
        // The call is cancelled, so `refuse` sends nothing and returns an error.
        return context.refuse(RpcError::internal("cancelled"));
    }
    if context.mrtr().lock().take_wish_for_task() {
        context.go_on_as_task();
        return Ok(());
    }
    let asked = context.mrtr().lock().next();
    let Some(asked) = asked else {
        return fail(
            context,
            &format!("the call asked for input in more than {MAX_ROUND_TRIPS} rounds"),
        );
    };
    let missing = missing_capabilities(&asked, context.client());
    if missing != ClientCapabilities::default() {
        return refuse_for_lack_of(context, &missing);
    }
    if context.client().revision.is_legacy() {
        if !context.responder().takes_messages() {
            let text = "the call needs input, for which the client has to accept text/event-stream";
            return fail(context, text);
        }
        return input_requests::send(context, asked);
    }
    if let Some(task) = context.task().cloned() {
        task.ask(context, asked);
        return Ok(());
    }
    let sealed = context.asker().map(|asker| asker.seal(&context, &asked));
    match sealed.transpose() {
        Ok(state) => {
            let mut asked = asked;
            for question in asked.values_mut() {
                question.fit_to(context.client().revision);
            }
            let mut result = InputRequiredResult::new().input_requests(asked);
            result.request_state = state;
            result.meta = context.result_meta();
            context.give(&result)
        }
        Err(error) => give_up(context, error),
    }
}

fn refuse_for_lack_of(context: Context, missing: &ClientCapabilities) -> Result<()> {
    let names = serde_json::to_value(missing).unwrap_or_default();
    let names = names
        .as_object()
        .map(|names| names.keys().cloned().collect::<Vec<_>>().join(", "));
    let names = names.unwrap_or_default();
    if context.client().revision.is_legacy() {
        let text = if context.peer().can_be_asked() {
            format!("the call needs input, for which the client has to declare: {names}")
        } else {
            format!(
                "the call needs input ({names}), for which there is no way back to the client: the server has to be served with sessions, \
                 or the client to speak 2026-07-28"
            )
        };
        return fail(context, &text);
    }
    let text = format!("the call needs input, for which the client has to declare: {names}");
    let error = RpcError::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, text);
    let missing = serde_json::json!({ "requiredCapabilities": missing });
    context.refuse(error.with_json(&missing))
}
