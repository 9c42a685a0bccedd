//! The state of a multi round-trip request: input requests, answers and remembered values. Both
//! eras use this state. This module does no I/O.
//!
//! A handler makes an input request under a key, and returns early when the answer is missing. The
//! input request is recorded in this state too, not only in the handler's error. So it is sent even
//! if the handler ignores the error. When the answers have come, the handler is run again from the
//! start, and gets the answers from this state. No thread waits for the answers.
//!
//! ```text
//!  run ──▶ asked nothing ──▶ answered
//!   ▲   ╲▶ asked ──▶ [modern: input_required, state sealed │ legacy: requests] ──▶ answers ──╮
//!   ╰──────────────────────────────────────────────────────────────────────────────────────╯
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::context::Context;
use super::debug_fields::debug_fields;
use super::input_rules::{Asked, check_answer};
use crate::error::{Error, Excerpt, Result, RpcError};
use crate::jsonrpc::Request;
use crate::schema::json::from_bytes;
use crate::schema::{
    ElicitRequestParams, ElicitSchema, InputRequest, InputRequests, InputResponse, InputResponses,
};
use crate::skills::Digest;

/// The maximum number of round trips for input requests in one call. A call that needs more round
/// trips fails.
pub(super) const MAX_ROUND_TRIPS: u32 = 10;

/// A call whose handler may make input requests: its target, its arguments, and the function that
/// runs the handler.
pub(super) struct InputRequester {
    /// The target of the call: the name of a tool or prompt, or the URI of a resource.
    pub(super) target: TextSpan,
    /// The arguments of the call as JSON text. `None` means `{}`.
    pub(super) arguments: Option<TextSpan>,
    pub(super) again: Arc<dyn Rerun>,
}

/// A text of a request: either a range within the request's params, or a copy. A range avoids
/// copying a large text.
pub(super) enum TextSpan {
    /// A range in the params of the request.
    Within(Range<usize>),
    Written(Box<str>),
}

/// The function that runs the handler of a call from its start: for the first time, and again each
/// time answers have come.
pub(super) trait Rerun: Send + Sync {
    fn run(self: Arc<Self>, context: Context);
}

impl TextSpan {
    /// Creates the span of `text`. `text` must be borrowed from the params of the request.
    pub(super) fn of(request: &Request, text: &str) -> Self {
        let start = text.as_ptr() as usize - request.params().as_ptr() as usize;
        Self::Within(start..start + text.len())
    }

    pub(super) fn text<'a>(&'a self, request: &'a Request) -> &'a str {
        match self {
            Self::Within(range) => &request.params()[range.clone()],
            Self::Written(text) => text,
        }
    }
}

impl InputRequester {
    /// Returns the arguments of the request as JSON text.
    pub(super) fn arguments<'a>(&'a self, request: &'a Request) -> &'a str {
        let arguments = self.arguments.as_ref();
        arguments.map_or("{}", |part| part.text(request))
    }

    /// Returns the target of the call: the name of a tool or prompt, or the URI of a resource.
    pub(super) fn target<'a>(&'a self, request: &'a Request) -> &'a str {
        self.target.text(request)
    }
}

debug_fields!(InputRequester);

/// The input requests, answers and remembered values of one call.
#[derive(Debug, Default)]
pub(super) struct MrtrState {
    /// The recorded data. It is allocated at the first use, since most calls make no input request.
    notes: Option<Box<Notes>>,
    /// Whether this run of the handler wants to continue as a task.
    wants_task: bool,
    inquire: Option<Inquire>,
}

/// A function that sends the input requests of a handler. Only the functions that make input
/// requests store this pointer. So a program whose handlers make no input requests is linked
/// without the code for sending them.
pub(super) type Inquire = fn(Context) -> Result<()>;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Notes<A = InputRequests> {
    /// The number of round trips for input requests so far.
    #[serde(rename = "r")]
    round_trips: u32,
    #[serde(rename = "a")]
    answers: BTreeMap<String, Answer>,
    #[serde(rename = "m")]
    memory: BTreeMap<String, Box<RawValue>>,
    /// The input requests of this run that have no answer yet.
    #[serde(rename = "q")]
    asked: A,
}

/// The content of a sealed state before encryption. A modern client stores the sealed state while
/// it answers input requests. `asked` has the digests of the input requests that are sent together
/// with this state, by key.
type Content = Notes<BTreeMap<String, String>>;

/// An answer of the client, with the digest of the input request that was sent. The answer is not
/// used for any other input request.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    #[serde(rename = "q")]
    question: String,
    #[serde(rename = "a", skip_serializing_if = "Option::is_none")]
    response: Option<InputResponse>,
    /// The error with which the client refused to answer. Only legacy clients can refuse.
    #[serde(rename = "e", skip_serializing_if = "Option::is_none")]
    refusal: Option<RpcError>,
    /// The error because of which no answer came, such as a closed connection. Since it occurs only
    /// in the legacy era, it is never part of a sealed state.
    #[serde(skip)]
    failure: Option<Error>,
}

impl Answer {
    /// Returns whether an accepted answer has the fields that the form of the input request
    /// requires. If not, the form is sent again.
    fn fits(&self, question: &InputRequest) -> bool {
        let (InputRequest::Elicit(request), Some(response)) = (question, &self.response) else {
            return true;
        };
        let ElicitRequestParams::Form(form) = &request.params else {
            return true;
        };
        let Ok(answer) = response.elicit_result() else {
            return false;
        };
        // Some clients leave out the content of a form without required fields.
        let needs_none = || {
            let fields = ElicitSchema::of(&form.requested_schema);
            answer.content.is_none() && fields.is_ok_and(|fields| fields.required.is_empty())
        };
        !answer.is_accepted() || form.check_answer(&answer).is_ok() || needs_none()
    }
}

impl MrtrState {
    /// Sets the function that sends the input requests.
    pub(super) fn with(&mut self, inquire: Inquire) -> &mut Self {
        self.inquire = Some(inquire);
        self
    }

    fn notes(&mut self) -> &mut Notes {
        self.notes.get_or_insert_default()
    }

    /// Returns whether this run of the handler made an input request that has no answer yet.
    fn has_asked(&self) -> bool {
        let notes = self.notes.as_ref();
        notes.is_some_and(|notes| !notes.asked.is_empty())
    }

    /// Returns the answer to an input request. If there is no answer yet, records the input request
    /// and returns `None`.
    pub(super) fn ask(
        &mut self,
        key: &str,
        question: &InputRequest,
    ) -> Result<Option<Result<InputResponse, RpcError>>> {
        let digest = digest(question)?;
        let notes = self.notes();
        let answer = notes
            .answers
            .get(key)
            .filter(|answer| answer.question == digest && answer.fits(question));
        if let Some(Answer {
            response,
            refusal,
            failure,
            ..
        }) = answer
        {
            if let Some(failure) = failure {
                return Err(failure.clone());
            }
            return Ok(match (response, refusal) {
                (Some(response), _) => Some(Ok(response.clone())),
                (None, refusal) => refusal.clone().map(Err),
            });
        }
        if let Some(other) = notes.asked.get(key)
            && self::digest(other)? != digest
        {
            return Err(Error::invalid(format!(
                "two different questions were asked under the key '{key}': give each its own"
            )));
        }
        notes.asked.insert(key.to_owned(), question.clone());
        Ok(None)
    }

    /// Returns the value that was remembered under a key, or `None` if there is no value.
    pub(super) fn recall<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let memory = self.notes.as_ref().map(|notes| &notes.memory);
        let Some(value) = memory.and_then(|memory| memory.get(key)) else {
            return Ok(None);
        };
        serde_json::from_str(value.get())
            .map(Some)
            .map_err(|error| {
                Error::invalid(format!(
                    "what is remembered under '{key}' is of another type: {error}"
                ))
            })
    }

    /// Remembers a value under a key, for later runs of the handler.
    pub(super) fn remember(&mut self, key: &str, value: &impl Serialize) -> Result<()> {
        let value = serde_json::value::to_raw_value(value).map_err(|error| {
            Error::invalid(format!("'{key}' can't be remembered as JSON: {error}"))
        })?;
        self.notes().memory.insert(key.to_owned(), value);
        Ok(())
    }

    /// Returns whether the handler has to be run again: to get answers, or as a task.
    pub(super) fn needs_input(&self) -> bool {
        self.wants_task || self.has_asked()
    }

    /// Returns the function that sends the input requests, if the handler has to be run again.
    pub(super) fn inquiry(&self) -> Option<Inquire> {
        self.inquire.filter(|_| self.needs_input())
    }

    /// Records that the handler wants to continue as a task.
    pub(super) fn want_task(&mut self) {
        self.wants_task = true;
    }

    /// Returns whether the call becomes a task now, and clears the handler's wish for a task. If
    /// this run made input requests, returns false, since the input requests are sent first.
    pub(super) fn take_wish_for_task(&mut self) -> bool {
        std::mem::take(&mut self.wants_task) && !self.has_asked()
    }

    /// Begins the next round trip. Returns the input requests to send, or `None` after too many
    /// round trips.
    pub(super) fn next(&mut self) -> Option<InputRequests> {
        let notes = self.notes();
        notes.round_trips += 1;
        let asked = std::mem::take(&mut notes.asked);
        (notes.round_trips <= MAX_ROUND_TRIPS).then_some(asked)
    }

    /// Returns the state of the call as JSON. The client gets this state, sealed, together with the
    /// input requests `asked`.
    pub(super) fn to_content(&self, asked: &InputRequests) -> Result<Vec<u8>> {
        let digests = asked
            .iter()
            .map(|(key, question)| Ok((key.clone(), digest(question)?)));
        let notes = self.notes.as_deref().cloned().unwrap_or_default();
        let content = Content {
            round_trips: notes.round_trips,
            answers: notes.answers,
            memory: notes.memory,
            asked: digests.collect::<Result<_>>()?,
        };
        serde_json::to_vec(&content).map_err(|error| not_json(&error))
    }

    /// Restores the state of a call from `content`, and adds the client's new answers. Ignores
    /// answers to input requests that were not sent with this state.
    pub(super) fn resume(content: &[u8], responses: InputResponses) -> Result<Self, Unusable> {
        let Content {
            round_trips,
            mut answers,
            memory,
            asked,
        } = from_bytes(content).map_err(|_| Unusable::Content)?;
        for (key, response) in responses {
            if let Some(question) = asked.get(&key) {
                let kind = kind_of(question).ok_or(Unusable::Content)?;
                check_answer(kind, &response).map_err(|error| {
                    let (key, what) = (Excerpt(&key), error.to_string());
                    let text = format!("inputResponses: '{key}' is no answer to {kind}: {what}");
                    Unusable::Answer(text)
                })?;
                let answer = Answer {
                    question: question.clone(),
                    response: Some(response),
                    refusal: None,
                    failure: None,
                };
                answers.insert(key, answer);
            }
        }
        let notes = Notes {
            round_trips,
            answers,
            memory,
            asked: InputRequests::new(),
        };
        Ok(Self {
            notes: Some(Box::new(notes)),
            ..Self::default()
        })
    }

    /// Records the response to an input request of the legacy era.
    pub(super) fn answer(
        &mut self,
        key: String,
        question: &InputRequest,
        answer: Result<InputResponse>,
    ) -> Result<()> {
        let question = digest(question)?;
        let (response, refusal, failure) = match answer {
            Ok(response) => (Some(response), None, None),
            Err(error) => match error.rpc() {
                Some(refusal) => (None, Some(refusal.clone()), None),
                None => (None, None, Some(error)),
            },
        };
        self.notes().answers.insert(
            key,
            Answer {
                question,
                response,
                refusal,
                failure,
            },
        );
        Ok(())
    }
}

/// The reason why a call can't be restored from its state and the client's answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The content of the state can't be parsed.
    Content,
    /// The client's answer does not fit the input request. The text describes the problem to the
    /// client.
    Answer(String),
}

/// Returns the digest of an input request: a letter for its kind, and the beginning of a hash.
fn digest(question: &InputRequest) -> Result<String> {
    let kind = Asked::of(question)
        .ok_or_else(|| Error::invalid("this is nothing that a client can be asked"))?;
    let text = serde_json::to_vec(question).map_err(|error| not_json(&error))?;
    let hash = STANDARD_NO_PAD.encode(&Digest::of(&text).as_bytes()[..16]);
    Ok(format!("{}{hash}", kind.letter()))
}

fn kind_of(digest: &str) -> Option<Asked> {
    digest.chars().next().and_then(Asked::of_letter)
}

fn not_json(error: &serde_json::Error) -> Error {
    Error::invalid(format!("the question can't be written as JSON: {error}"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::schema::{ElicitResult, JsonSchema};

    fn question(text: &str) -> InputRequest {
        ElicitRequestParams::form(text, JsonSchema::any_object()).into()
    }

    fn response() -> InputResponse {
        InputResponse::new(&ElicitResult::decline()).expect("JSON")
    }

    fn is_answered(mrtr: &mut MrtrState, key: &str, text: &str) -> bool {
        mrtr.ask(key, &question(text))
            .expect("a question")
            .is_some()
    }

    /// Returns the state of the client's next request in the modern era, with answers under these
    /// keys.
    fn again(mrtr: &mut MrtrState, keys: &[&str]) -> MrtrState {
        let asked = mrtr.next().expect("not too many");
        let content = mrtr.to_content(&asked).expect("JSON");
        let responses = keys
            .iter()
            .map(|key| ((*key).to_owned(), response()))
            .collect();
        MrtrState::resume(&content, responses).expect("our own content")
    }

    // Must not happen: answers of earlier round trips are lost; independent input requests take a
    // round trip each.
    // M-MRTR-S-27, M-MRTR-S-28
    #[test]
    fn answers_of_all_rounds_are_kept_and_missing_ones_asked_again() {
        let mut mrtr = MrtrState::default();
        assert!(!is_answered(&mut mrtr, "a", "A?"));
        assert!(!is_answered(&mut mrtr, "b", "B?"));
        let mut mrtr = again(&mut mrtr, &["a", "unasked"]);
        assert!(is_answered(&mut mrtr, "a", "A?"));
        assert!(!is_answered(&mut mrtr, "b", "B?"));
        assert!(!is_answered(&mut mrtr, "unasked", "C?"));
        let mut mrtr = again(&mut mrtr, &["b", "unasked"]);
        for (key, text) in [("a", "A?"), ("b", "B?"), ("unasked", "C?")] {
            assert!(is_answered(&mut mrtr, key, text), "{key}");
        }
        assert!(!mrtr.needs_input());
    }

    // M-MRTR-S-25
    #[test]
    fn an_answer_that_is_none_to_its_question_is_not_taken() {
        let mut mrtr = MrtrState::default();
        is_answered(&mut mrtr, "form", "A?");
        let roots = mrtr.ask("roots", &InputRequest::list_roots());
        assert!(roots.expect("a question").is_none());
        let asked = mrtr.next().expect("not too many");
        let content = mrtr.to_content(&asked).expect("JSON");
        let resume = |key: &str, answer: &str| {
            let answer = serde_json::from_str(answer).expect("JSON");
            MrtrState::resume(&content, [(key.to_owned(), answer)].into()).map(drop)
        };
        for (key, answer) in [
            ("form", "7"),
            ("form", r#"{"action":"shrug"}"#),
            ("form", r#"{"action":"accept","content":{"a":{"b":1}}}"#),
            ("form", r#"{"action":"accept","content":{"a":[1]}}"#),
            ("form", r#"{"action":"accept","content":[1]}"#),
            ("form", r#"{"roots":[]}"#),
            ("roots", r#"{"action":"decline"}"#),
        ] {
            match resume(key, answer) {
                Err(Unusable::Answer(text)) => assert!(text.contains(key), "{text}"),
                other => panic!("{answer}: {other:?}"),
            }
        }
        for (key, answer) in [
            ("unasked", "7"),
            ("roots", r#"{"roots":[]}"#),
            (
                "form",
                r#"{"action":"accept","content":{"a":["x"],"b":1.5,"c":true,"d":""}}"#,
            ),
        ] {
            assert_eq!(resume(key, answer), Ok(()), "{answer}");
        }
        assert_eq!(
            MrtrState::resume(b"{}", InputResponses::new()).map(drop),
            Err(Unusable::Content)
        );
    }

    // Must not happen: an answer is used for an input request that has changed.
    #[test]
    fn an_answer_to_another_question_is_none() {
        let mut mrtr = MrtrState::default();
        is_answered(&mut mrtr, "a", "Delete the file?");
        let mut mrtr = again(&mut mrtr, &["a"]);
        assert!(!is_answered(&mut mrtr, "a", "Delete the disk?"));
        assert!(mrtr.needs_input());
    }

    // M-MRTR-S-03
    #[test]
    fn two_questions_under_one_key_are_refused() {
        let mut mrtr = MrtrState::default();
        assert!(!is_answered(&mut mrtr, "a", "one"));
        assert!(!is_answered(&mut mrtr, "a", "one"));
        assert_eq!(
            mrtr.ask("a", &question("other"))
                .expect_err("refused")
                .kind(),
            ErrorKind::Invalid
        );
    }

    // Seen in other SDKs: round trips never end, or follow without a pause.
    #[test]
    fn the_rounds_are_bounded() {
        let mut mrtr = MrtrState::default();
        for round_trip in 0..MAX_ROUND_TRIPS {
            is_answered(&mut mrtr, &round_trip.to_string(), "more?");
            mrtr = again(&mut mrtr, &[&round_trip.to_string()]);
        }
        is_answered(&mut mrtr, "last", "more?");
        assert!(mrtr.next().is_none());
    }

    // Seen in other SDKs: code before an input request runs twice, a payment too.
    #[test]
    fn what_is_remembered_travels_along() {
        let mut mrtr = MrtrState::default();
        mrtr.remember("paid", &7).expect("JSON");
        is_answered(&mut mrtr, "a", "A?");
        let mrtr = again(&mut mrtr, &[]);
        assert_eq!(mrtr.recall::<u32>("paid").expect("a number"), Some(7));
        assert_eq!(mrtr.recall::<u32>("other").expect("nothing"), None);
        assert!(mrtr.recall::<String>("paid").is_err());
    }

    #[test]
    fn a_refusal_is_an_answer_too() {
        let mut mrtr = MrtrState::default();
        is_answered(&mut mrtr, "a", "A?");
        let asked = mrtr.next().expect("one");
        for (key, question) in &asked {
            mrtr.answer(
                key.clone(),
                question,
                Err(Error::peer(
                    "the client",
                    "elicitation/create",
                    RpcError::invalid_params("no"),
                )),
            )
            .expect("JSON");
        }
        assert!(
            mrtr.ask("a", &question("A?"))
                .expect("a question")
                .expect("answered")
                .is_err()
        );
    }
}
