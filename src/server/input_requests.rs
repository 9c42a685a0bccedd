//! Input requests to a client of the legacy era, sent as requests of the server. No thread waits
//! for the answers.
//!
//! A call with pending input requests is not active: it occupies no worker, so slow users don't
//! delay other calls. [`max_questions`](crate::transport::Limits::max_questions) limits the calls
//! of a connection that wait for input.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::context::Context;
use super::conversation::InputPermit;
use super::input_rules::{Asked, check_answer};
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::jsonrpc::RawResult;
use crate::protocol::{LogLevel, OnCancel};
use crate::schema::json::from_bytes;
use crate::schema::tree;
use crate::schema::{
    CallToolResult, ElicitRequestParams, FitTo, InputRequest, InputRequests, InputResponse,
    JsonObject, ProtocolVersion, RelatedTaskMetadata, TraceContext, meta_key, method,
};
use crate::sync::Mutex;
use crate::transport::sys::random;

/// Sends the input requests of a handler to the client. When the last answer has come, the handler
/// is run again.
pub(super) fn send(mut context: Context, asked: InputRequests) -> Result<()> {
    let (peer, revision) = (context.peer(), context.client().revision);
    let asking = context.responder().asking();
    let max = peer.core().limits().max_questions;
    let Some(permit) = context.input_permit(max) else {
        let text = format!("busy: {max} calls wait for answers already; try again later");
        return fail(context, &text);
    };
    if let Err(error) = context.hold() {
        return fail(context, &error.message);
    }
    let prepared = asked.values().map(|question| prepare(question, revision));
    let prepared = match prepared.collect::<Result<Vec<_>>>() {
        Ok(prepared) => prepared,
        Err(error) => return give_up(context, error),
    };
    context.responder_mut().stand_aside();
    let task = context.task().cloned();
    if let Some(task) = &task {
        task.needs_input();
    }
    let (cancel, trace) = (context.cancel_token().clone(), context.trace_context());
    let client = context.accounted_client();
    let server = Arc::clone(context.services());
    let gathering = Arc::new(AnswerCollector(Mutex::new(Some(Gathered {
        context,
        answers: Vec::new(),
        left: asked.len(),
        guard: None,
        _permit: permit,
    }))));
    let mut started = Vec::new();
    for ((key, question), shown) in asked.into_iter().zip(prepared) {
        if let Some(id) = elicitation_id(&shown) {
            server.pages.add(id, &peer, &client);
        }
        // An answer belongs to the input request as the handler made it, not to the changed copy
        // that is sent.
        let gatherer = Arc::clone(&gathering);
        let (asked_key, asked_question) = (key.clone(), question.clone());
        // The trace context is added to the sent copy only. The answer is valid whatever the trace
        // is.
        let traced = with_trace(shown.clone(), &trace);
        let sent = asking.start(
            method_of(&shown),
            |_, text| match &task {
                Some(task) => write_related(&traced, task.id(), text),
                None => write_params(&traced, text),
            },
            move |answer| gatherer.take(asked_key, asked_question, answer),
        );
        match sent {
            Ok(call) => started.push(call),
            Err(error) => gathering.take(key, question, Err(error)),
        }
    }
    // When the client cancels the call, the pending input requests of the call are cancelled too.
    // The guard keeps the callback registered.
    let guard = cancel.on_trigger(move || {
        for call in &started {
            call.cancel("the request that it was asked for is cancelled");
        }
    });
    gathering.hold(guard);
    Ok(())
}

/// A collector of the answers to input requests that were sent together.
struct AnswerCollector(Mutex<Option<Gathered>>);

struct Gathered {
    context: Context,
    answers: Vec<Gained>,
    left: usize,
    /// The registration of the callback that runs when the client cancels the call.
    guard: Option<OnCancel>,
    _permit: InputPermit,
}

/// The key of an input request, the input request itself, and its answer or error.
pub(super) type Gained = (String, InputRequest, Result<InputResponse>);

impl AnswerCollector {
    fn take(&self, key: String, question: InputRequest, answer: Result<RawResult>) {
        let answer = answer.and_then(|result| read_response(&question, &result));
        let mut state = self.0.lock();
        let Some(gathered) = state.as_mut() else {
            return;
        };
        let answer = answer.and_then(|response| {
            let reserved = gathered.context.hold_more(response.as_str().len());
            let no_room = |error: RpcError| Error::new(ErrorKind::Limit, error.message).sent(true);
            reserved.map(|()| response).map_err(no_room)
        });
        gathered.answers.push((key, question, answer));
        gathered.left -= 1;
        let complete = if gathered.left == 0 {
            state.take()
        } else {
            None
        };
        drop(state);
        if let Some(Gathered {
            context, answers, ..
        }) = complete
        {
            run_again(context, answers);
        }
    }

    fn hold(&self, guard: OnCancel) {
        if let Some(gathered) = self.0.lock().as_mut() {
            gathered.guard = Some(guard);
        }
    }
}

fn read_response(question: &InputRequest, result: &str) -> Result<InputResponse> {
    let broken = |what: &dyn fmt::Display| {
        let text = format!(
            "the answer to {} can't be read: {what}",
            method_of(question)
        );
        Error::new(ErrorKind::Protocol, text).sent(true)
    };
    let response = tree::read(result).map_err(|error| broken(&error))?;
    let kind = Asked::of(question).ok_or_else(|| broken(&"nobody knows the question"))?;
    check_answer(kind, &response).map_err(|error| broken(&error))?;
    Ok(response)
}

/// Runs the handler of a call again, with the answers of the client.
pub(super) fn run_again(mut context: Context, answers: Vec<Gained>) {
    context.responder_mut().come_back();
    if let Some(task) = context.task() {
        task.goes_on();
    }
    for (key, question, answer) in answers {
        if let Err(error) = context.mrtr().lock().answer(key, &question, answer) {
            context.peer().core().log_as("server", LogLevel::Error, || {
                format!("an answer of '{}' is lost: {error}", context.peer().name())
            });
        }
    }
    let Some(again) = context.asker().map(|asker| Arc::clone(&asker.again)) else {
        return;
    };
    context.run_later(|context| again.run(context));
}

/// Returns the copy of an input request that is sent to the client. Adds the unique id that a URL
/// mode elicitation needs in 2025-11-25.
fn prepare(question: &InputRequest, revision: ProtocolVersion) -> Result<InputRequest> {
    let mut question = question.clone();
    question.fit_to(revision);
    if let InputRequest::Elicit(request) = &mut question
        && let ElicitRequestParams::Url(page) = &mut request.params
        && page.elicitation_id.is_none()
    {
        let mut bytes = [0; 16];
        random::fill(&mut bytes)?;
        page.elicitation_id = Some(URL_SAFE_NO_PAD.encode(bytes));
    }
    Ok(question)
}

fn elicitation_id(question: &InputRequest) -> Option<&str> {
    if let InputRequest::Elicit(request) = question
        && let ElicitRequestParams::Url(page) = &request.params
    {
        return page.elicitation_id.as_deref();
    }
    None
}

fn with_trace(mut question: InputRequest, trace: &TraceContext) -> InputRequest {
    if trace.is_empty() {
        return question;
    }
    let meta = match &mut question {
        InputRequest::Elicit(request) => match &mut request.params {
            ElicitRequestParams::Form(params) => &mut params.meta,
            ElicitRequestParams::Url(params) => &mut params.meta,
        },
        InputRequest::CreateMessage(request) => &mut request.params.meta,
        InputRequest::ListRoots(request) => &mut request.params.get_or_insert_default().meta,
        _ => return question,
    };
    meta.get_or_insert_default().add_trace_context(trace);
    question
}

fn method_of(question: &InputRequest) -> &'static str {
    Asked::of(question).map_or(method::ROOTS_LIST, Asked::method)
}

/// Writes the params of an input request that belongs to a task. The params contain the task's id.
fn write_related(
    question: &InputRequest,
    task: &str,
    text: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let mut params = Vec::new();
    write_params(question, &mut params)?;
    let mut params: JsonObject = from_bytes(&params)?;
    let meta = params
        .entry("_meta")
        .or_insert_with(|| JsonObject::new().into());
    if let Some(meta) = meta.as_object_mut() {
        let related = serde_json::to_value(RelatedTaskMetadata::new(task))?;
        meta.insert(meta_key::RELATED_TASK.to_owned(), related);
    }
    serde_json::to_writer(text, &params)
}

fn write_params(question: &InputRequest, text: &mut Vec<u8>) -> serde_json::Result<()> {
    match question {
        InputRequest::Elicit(request) => serde_json::to_writer(text, &request.params),
        InputRequest::CreateMessage(request) => serde_json::to_writer(text, &request.params),
        InputRequest::ListRoots(request) => match &request.params {
            Some(params) => serde_json::to_writer(text, params),
            None => serde_json::to_writer(text, &serde_json::Map::new()),
        },
        other => serde_json::to_writer(text, other),
    }
}

/// Logs for the host why the input requests can't be sent. Answers the call with an internal error.
pub(super) fn give_up(context: Context, error: Error) -> Result<()> {
    let peer = context.peer();
    peer.core().log_as("server", LogLevel::Error, || {
        format!("'{}' can't be asked: {error}", peer.name())
    });
    context.refuse(RpcError::internal("internal error"))?;
    Err(error)
}

/// Answers a call with a failure. A tool call gets a result with `isError`, any other call gets a
/// protocol error.
pub(super) fn fail(context: Context, text: &str) -> Result<()> {
    if context.method() == method::TOOLS_CALL {
        let mut result = CallToolResult::error(text);
        result.meta = context.result_meta();
        result.fit_to(context.client().revision);
        context.give(&result)
    } else {
        context.refuse(RpcError::invalid_request(text))
    }
}
