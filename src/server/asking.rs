//! Asking the client during a call, in one way for both eras.
//!
//! See `rounds` for how a handler comes to be run again. Here is what a handler calls, and what happens with its questions when it has
//! returned: since 2026-07-28 they go out as an `input_required` result that ends the request, and the client's retry brings the answers;
//! in the legacy era they go out as `questions`.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::context::Context;
use super::question_rules::{self, missing_capabilities};
use super::questions;
use super::rounds::{MAX_ROUNDS, Rounds, Unusable};
use super::state::{Opened, Refused};
use super::tasks::Start;
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::LogLevel;
use crate::schema::json::millis;
use crate::schema::tree::{self, Tree};
use crate::schema::{
    CallToolResult, ClientCapabilities, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, FitTo, InputRequest, InputRequests, InputRequiredResult,
    InputResponse, InputResponses, ListRootsResult, method,
};

/// A state larger than this is not sent.
const MAX_STATE_BYTES: usize = 64 << 10;

/// What a request is about whose handler may ask, and how to run that again.
pub(super) struct Asker {
    /// The name or URI of what is called.
    pub(super) target: Part,
    /// The arguments as JSON text; none are the same as `{}`.
    pub(super) arguments: Option<Part>,
    pub(super) again: Arc<dyn Again>,
}

/// Where something that a request says stands. It may be large, and is not copied without need.
pub(super) enum Part {
    /// In its params.
    Within(Range<usize>),
    Written(Box<str>),
}

/// Runs a handler from its start.
pub(super) trait Again: Send + Sync {
    fn run(self: Arc<Self>, context: Context);
}

impl Part {
    /// That which this text is of the params of a request.
    pub(super) fn of(request: &Request, text: &str) -> Self {
        let start = text.as_ptr() as usize - request.params().as_ptr() as usize;
        Self::Within(start..start + text.len())
    }

    pub(super) fn text<'a>(&'a self, request: &'a Request) -> &'a str {
        match self {
            Self::Within(place) => &request.params()[place.clone()],
            Self::Written(text) => text,
        }
    }
}

impl Asker {
    /// The arguments of the request as JSON text.
    pub(super) fn arguments<'a>(&'a self, request: &'a Request) -> &'a str {
        let arguments = self.arguments.as_ref();
        arguments.map_or("{}", |part| part.text(request))
    }

    /// The name or URI of what is called.
    pub(super) fn target<'a>(&'a self, request: &'a Request) -> &'a str {
        self.target.text(request)
    }

    /// Goes on where the state left off; a request without one starts anew.
    ///
    /// What is wrong with a state is for the log; the client is told one thing. What is wrong with its answers it is told.
    fn resume(
        &self,
        context: &Context,
        state: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<Rounds, RpcError> {
        let Some(state) = state else {
            return Ok(Rounds::default());
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
        let server = context.server();
        let opened = server.keys.open(state, &self.binding(context), now());
        let opened = opened.map_err(|why| refused(&why))?;
        let rounds = match Rounds::resume(&opened.content, responses.unwrap_or_default()) {
            Ok(rounds) => rounds,
            Err(Unusable::Content) => return Err(refused(&"its content can't be read")),
            Err(Unusable::Answer(text)) => return Err(RpcError::invalid_params(text)),
        };
        match claim(context, &opened) {
            Ok(true) => Ok(rounds),
            Ok(false) => Err(refused(&Refused::Used)),
            Err(error) => Err(refused(&error)),
        }
    }

    /// Runs the handler for the first time in this process, with the answers that the request brings.
    pub(super) fn begin(
        self,
        context: Context,
        state: Option<&str>,
        responses: Option<InputResponses>,
        start: Option<Start>,
    ) {
        let again = Arc::clone(&self.again);
        match self.resume(&context, state, responses) {
            Ok(rounds) => {
                let context = context.asking(self, rounds);
                match start {
                    Some(start) => start.begin(context, move |context| again.run(context)),
                    None => again.run(context),
                }
            }
            // It fails when nobody waits any more, and then there is nothing left to do.
            Err(error) => _ = context.refuse(error),
        }
    }

    fn seal(&self, context: &Context, asked: &InputRequests) -> Result<String> {
        let server = context.server();
        let content = context.rounds().lock().to_content(asked)?;
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

    /// What a state is good for: this server, principal, method, target and these arguments, however they are written.
    fn binding(&self, context: &Context) -> Vec<u8> {
        let text = self.arguments(context.request());
        let arguments = tree::read(text).map(|Tree(value)| value).map_err(|_| text);
        let parts = (
            &context.server().info.name,
            context.method(),
            self.target(context.request()),
            context.principal(),
            arguments,
        );
        serde_json::to_vec(&parts).expect("texts and JSON are JSON")
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").finish_non_exhaustive()
    }
}

/// Whether a state may be used: always, unless the server has a store that knows it.
fn claim(context: &Context, opened: &Opened) -> Result<bool> {
    let server = context.server();
    let Some(store) = &server.state_store else {
        return Ok(true);
    };
    let left = opened.expiry.saturating_sub(now());
    let client = context.client().to_string();
    store.claim_for(&client, &opened.id, Duration::from_millis(left))
}

/// In milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, millis)
}

/// Why a question has no answer.
#[derive(Clone, Debug)]
pub struct AskError(Reason);

#[derive(Clone, Debug)]
enum Reason {
    Needed,
    Refused(RpcError),
    Failed(Error),
}

impl AskError {
    /// Whether the answer is not there *yet*: the handler should return, and is run again when it is.
    pub fn is_pending(&self) -> bool {
        matches!(self.0, Reason::Needed)
    }

    /// Whether the answer will never be there for a reason that is neither the client's nor its user's: the question is one that must not be
    /// asked, the answer could not be read, what is remembered is of another type, or the connection has gone. The log of the host has the reason; clients are not told.
    pub fn is_failure(&self) -> bool {
        matches!(self.0, Reason::Failed(_))
    }

    /// What failed, if it [is a failure](Self::is_failure).
    pub fn failure(&self) -> Option<&Error> {
        match &self.0 {
            Reason::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// What the client said when it refused to answer, which it can in the legacy era.
    pub fn refusal(&self) -> Option<&RpcError> {
        match &self.0 {
            Reason::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Needed => f.write_str("input of the client is needed first"),
            Reason::Refused(refusal) => write!(f, "the client refused to answer: {refusal}"),
            Reason::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl StdError for AskError {}

impl From<Error> for AskError {
    fn from(error: Error) -> Self {
        Self(Reason::Failed(error))
    }
}

/// Asking.
///
/// A handler that asks is run again from its start when the answers have come, in every revision: what it does before its last question is
/// done once a round. Side effects belong behind the questions, or into [`once`](Self::once).
impl Context {
    /// Gives the answer to a question, or notes that it has to be asked.
    ///
    /// `key` names the question among those of the call. If the answer is not there yet the error is
    /// [pending](AskError::is_pending): leave the handler, with `?` for example; whatever it returns then is not sent. To ask several
    /// questions in one round, ask them all before returning. An answer belongs to the very question that was shown: a handler that asks
    /// something else under the same key asks anew.
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
        let answer = question_rules::check(&question, self.terms().revision)
            .and_then(|()| self.rounds().lock().with(ask_client).ask(key, &question));
        match answer {
            Ok(Some(Ok(response))) => Ok(response),
            Ok(Some(Err(refusal))) => Err(AskError(Reason::Refused(refusal))),
            Ok(None) => {
                for doubt in question_rules::doubts(&question) {
                    self.tell_host(LogLevel::Warning, || format!("'{}': {doubt}", Excerpt(key)));
                }
                Err(AskError(Reason::Needed))
            }
            Err(error) => Err(self.unable(key, error)),
        }
    }

    /// Has the call become a task here, if the client takes tasks: its request is answered with the task, and the handler is run again from
    /// its start, as after an answer. To be called with `?` behind the questions that have to be answered before.
    ///
    /// Since 2026-07-28, where the server decides what becomes a task. In other revisions, for clients that did not declare the extension
    /// `io.modelcontextprotocol/tasks`, and on a server without [`tasks`](super::ServerBuilder::tasks), it does nothing, and the handler
    /// goes on with the call; so it does in a call that is a task already.
    ///
    /// # Errors
    ///
    /// One that is [pending](AskError::is_pending), when the handler has to return.
    pub fn become_task(&self) -> Result<(), AskError> {
        if !self.can_become_task() {
            return Ok(());
        }
        self.rounds().lock().with(ask_client).want_task();
        Err(AskError(Reason::Needed))
    }

    /// What failed is for the host; the handler learns it too.
    pub(super) fn unable(&self, key: &str, error: Error) -> AskError {
        self.tell_host(LogLevel::Error, || {
            format!("'{}' has no answer: {error}", Excerpt(key))
        });
        error.into()
    }

    /// Asks the user. See [`ask`](Self::ask).
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

    /// Asks the client's model. See [`ask`](Self::ask).
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

    /// Asks for the places the server may work in. See [`ask`](Self::ask).
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

/// Sends what the handler asked, instead of what it returned.
fn ask_client(context: Context) -> Result<()> {
    if context.asker().is_none() {
        let error = Error::new(ErrorKind::State, "this request can't ask for input");
        return give_up(context, error);
    }
    if context.is_cancelled() {
        // Nothing is sent: it says why not.
        return context.refuse(RpcError::internal("cancelled"));
    }
    if context.rounds().lock().take_wish_for_task() {
        context.go_on_as_task();
        return Ok(());
    }
    let asked = context.rounds().lock().next();
    let Some(asked) = asked else {
        return fail(
            context,
            &format!("the call asked for input in more than {MAX_ROUNDS} rounds"),
        );
    };
    let missing = missing_capabilities(&asked, context.terms());
    if missing != ClientCapabilities::default() {
        return refuse_for_lack_of(context, &missing);
    }
    if context.terms().revision.is_legacy() {
        return questions::send(context, asked);
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
                question.fit_to(context.terms().revision);
            }
            let mut result = InputRequiredResult::new().input_requests(asked);
            result.request_state = state;
            result.meta = context.result_meta();
            context.give(&result)
        }
        Err(error) => give_up(context, error),
    }
}

/// Why nothing can be asked is for the host.
pub(super) fn give_up(context: Context, error: Error) -> Result<()> {
    let peer = context.peer();
    peer.core().log_as("server", LogLevel::Error, || {
        format!("'{}' can't be asked: {error}", peer.name())
    });
    context.refuse(RpcError::internal("internal error"))?;
    Err(error)
}

/// Fails the call in the way that its method has for it.
pub(super) fn fail(context: Context, text: &str) -> Result<()> {
    if context.method() == method::TOOLS_CALL {
        let mut result = CallToolResult::error(text);
        result.meta = context.result_meta();
        result.fit_to(context.terms().revision);
        context.give(&result)
    } else {
        context.refuse(RpcError::invalid_request(text))
    }
}

fn refuse_for_lack_of(context: Context, missing: &ClientCapabilities) -> Result<()> {
    let names = serde_json::to_value(missing).unwrap_or_default();
    let names = names
        .as_object()
        .map(|names| names.keys().cloned().collect::<Vec<_>>().join(", "));
    let names = names.unwrap_or_default();
    if context.terms().revision.is_legacy() {
        let text = if context.peer().can_be_asked() {
            format!("the call needs input, for which the client has to declare: {names}")
        } else {
            format!(
                "the call needs input ({names}), for which there is no way back to the client: the server has to be served with sessions \
                 (HttpOptions::sessions), or the client to speak 2026-07-28"
            )
        };
        return fail(context, &text);
    }
    let text = format!("the call needs input, for which the client has to declare: {names}");
    let error = RpcError::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, text);
    let error = error.with_data(&serde_json::json!({ "requiredCapabilities": missing }))?;
    context.refuse(error)
}
