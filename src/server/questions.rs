//! Questions to a client of the legacy era: requests of ours, for which nobody waits.

use std::sync::Arc;

use super::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::RawResult;
use crate::protocol::OnTrigger;
use crate::schema::{
    ElicitRequestParams, FitTo, InputRequest, InputRequests, InputResponse, ProtocolVersion, method,
};
use crate::sync::Mutex;

/// Sends one round of questions. The last answer has the handler run again.
pub(super) fn send(context: Context, asked: InputRequests) {
    let (asking, revision) = (context.asking_client(), context.terms().revision);
    let cancel = context.cancel_token().clone();
    let gathering = Arc::new(Gathering(Mutex::new(Some(Gathered {
        context,
        answers: Vec::new(),
        left: asked.len(),
        guard: None,
    }))));
    let mut started = Vec::new();
    for (key, mut question) in asked {
        prepare(&mut question, &key, revision);
        let (gatherer, asked_key, asked_question) =
            (Arc::clone(&gathering), key.clone(), question.clone());
        let sent = asking.start(
            method_of(&question),
            |_, text| write_params(&question, text),
            move |answer| gatherer.take(asked_key, asked_question, answer),
        );
        match sent {
            Ok(call) => started.push(call),
            Err(error) => gathering.take(key, question, Err(error)),
        }
    }
    // A client that cancels its call does not want to be asked for it any more. Without the guard nobody would be told.
    let guard = cancel.on_trigger(move || {
        for call in &started {
            call.cancel("the request that it was asked for is cancelled");
        }
    });
    gathering.hold(guard);
}

/// The answers to one round of questions, as they come.
struct Gathering(Mutex<Option<Gathered>>);

struct Gathered {
    context: Context,
    answers: Vec<Gained>,
    left: usize,
    /// Keeps the client's cancellation registered.
    guard: Option<OnTrigger>,
}

/// A question by its key, and what came of it.
type Gained = (String, InputRequest, Result<InputResponse>);

impl Gathering {
    fn take(&self, key: String, question: InputRequest, answer: Result<RawResult>) {
        let answer = answer.and_then(|result| read_response(&result));
        let mut state = self.0.lock();
        let Some(gathered) = state.as_mut() else {
            return;
        };
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

    fn hold(&self, guard: OnTrigger) {
        if let Some(gathered) = self.0.lock().as_mut() {
            gathered.guard = Some(guard);
        }
    }
}

fn read_response(result: &str) -> Result<InputResponse> {
    serde_json::from_str(result).map_err(|error| {
        let text = format!("the answer can't be read: {error}");
        Error::new(ErrorKind::Protocol, text).sent(true)
    })
}

fn run_again(context: Context, answers: Vec<Gained>) {
    for (key, question, answer) in answers {
        if let Err(error) = context.rounds().lock().answer(key, &question, answer) {
            context
                .peer()
                .core()
                .log(|| format!("an answer of '{}' is lost: {error}", context.peer().name()));
        }
    }
    let Some(again) = context.asker().map(|asker| Arc::clone(&asker.again)) else {
        return;
    };
    let core = Arc::clone(context.peer().core());
    core.run_later(Box::new(move || again.run(context)));
}

/// Makes a question fit for a request of ours. What 2025-11-25 wants of a page that the user is sent to, no other revision does.
fn prepare(question: &mut InputRequest, key: &str, revision: ProtocolVersion) {
    match question {
        InputRequest::Elicit(request) => {
            request.params.fit_to(revision);
            if let ElicitRequestParams::Url(params) = &mut request.params
                && revision == ProtocolVersion::V2025_11_25
            {
                params.elicitation_id.get_or_insert_with(|| key.to_owned());
            }
        }
        InputRequest::CreateMessage(request) => request.params.fit_to(revision),
        _ => {}
    }
}

fn method_of(question: &InputRequest) -> &'static str {
    match question {
        InputRequest::Elicit(_) => method::ELICITATION_CREATE,
        InputRequest::CreateMessage(_) => method::SAMPLING_CREATE_MESSAGE,
        _ => method::ROOTS_LIST,
    }
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
