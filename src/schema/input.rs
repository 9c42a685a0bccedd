//! What a server needs before it can answer, and the client's answers.
//!
//! Spec: Base Protocol, Patterns, "Multi Round-Trip Requests" (2026-07-28).

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use super::elicitation::{ElicitRequestParams, ElicitResult};
use super::json::{Extra, raw, read_raw};
use super::meta::ResultMetaObject;
use super::method;
use super::result::ResultType;
use super::roots::{ListRootsRequestParams, ListRootsResult};
use super::sampling::{CreateMessageRequestParams, CreateMessageResult};
use super::version::{FitTo, ProtocolVersion};
use crate::error::Result;

/// What a server needs, by a key of its choice.
pub type InputRequests = BTreeMap<String, InputRequest>;

/// The client's answers, each under the key of its question.
pub type InputResponses = BTreeMap<String, InputResponse>;

/// One thing that a server needs: a question with the method that it would have been a request of before 2026-07-28.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum InputRequest {
    /// Something of the user: `elicitation/create`.
    Elicit(Box<ElicitRequest>),
    /// Something of the model: `sampling/createMessage`.
    CreateMessage(Box<CreateMessageRequest>),
    /// The roots: `roots/list`.
    ListRoots(Box<ListRootsRequest>),
    /// A question that this library doesn't know.
    Other {
        /// Its method.
        method: String,
        /// The whole object, method included.
        raw: Box<RawValue>,
    },
}

impl InputRequest {
    /// Asks for the roots.
    pub fn list_roots() -> Self {
        Self::ListRoots(Box::default())
    }

    /// The method.
    pub fn method(&self) -> &str {
        match self {
            Self::Elicit(_) => method::ELICITATION_CREATE,
            Self::CreateMessage(_) => method::SAMPLING_CREATE_MESSAGE,
            Self::ListRoots(_) => method::ROOTS_LIST,
            Self::Other { method, .. } => method,
        }
    }
}

/// Of a page, what only some revisions tell is taken away; that it needs an id in 2025-11-25 is for the one who asks to see.
impl FitTo for InputRequest {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        match self {
            Self::Elicit(request) => request.params.fit_to(revision),
            Self::CreateMessage(request) => request.params.fit_to(revision),
            Self::ListRoots(_) | Self::Other { .. } => {}
        }
    }
}

literal!(ElicitMethod = "elicitation/create");
literal!(CreateMessageMethod = "sampling/createMessage");
literal!(ListRootsMethod = "roots/list");

/// Asks the user.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ElicitRequest {
    method: ElicitMethod,
    /// What is asked.
    pub params: ElicitRequestParams,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ElicitRequest {
    method,
    params,
    ..extra
});

/// Asks the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreateMessageRequest {
    method: CreateMessageMethod,
    /// What is asked.
    pub params: CreateMessageRequestParams,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(CreateMessageRequest {
    method,
    params,
    ..extra
});

/// Asks for the roots.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListRootsRequest {
    method: ListRootsMethod,
    /// What travels with the question.
    pub params: Option<ListRootsRequestParams>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ListRootsRequest {
    method,
    params,
    ..extra
});

impl From<ElicitRequestParams> for InputRequest {
    fn from(params: ElicitRequestParams) -> Self {
        Self::Elicit(Box::new(ElicitRequest {
            method: ElicitMethod,
            params,
            extra: Extra::new(),
        }))
    }
}

impl From<CreateMessageRequestParams> for InputRequest {
    fn from(params: CreateMessageRequestParams) -> Self {
        Self::CreateMessage(Box::new(CreateMessageRequest {
            method: CreateMessageMethod,
            params,
            extra: Extra::new(),
        }))
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Elicit(request) => request.serialize(serializer),
            Self::CreateMessage(request) => request.serialize(serializer),
            Self::ListRoots(request) => request.serialize(serializer),
            Self::Other { raw, .. } => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            method: String,
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let Head { method } = serde_json::from_str(text).map_err(de::Error::custom)?;
        match method.as_str() {
            method::ELICITATION_CREATE => serde_json::from_str(text).map(Self::Elicit),
            method::SAMPLING_CREATE_MESSAGE => serde_json::from_str(text).map(Self::CreateMessage),
            method::ROOTS_LIST => serde_json::from_str(text).map(Self::ListRoots),
            _ => Ok(Self::Other { method, raw }),
        }
        .map_err(de::Error::custom)
    }
}

/// One answer of the client's, as raw JSON: what it is says the question under the same key, never its own form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputResponse(Box<RawValue>);

impl InputResponse {
    /// Makes an answer of a result.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it can't be written as JSON.
    pub fn new(result: &impl Serialize) -> Result<Self> {
        raw("input response", result).map(Self)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Reads the answer to `elicitation/create`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it is not one.
    pub fn elicit_result(&self) -> Result<ElicitResult> {
        self.read()
    }

    /// Reads the answer to `sampling/createMessage`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it is not one.
    pub fn create_message_result(&self) -> Result<CreateMessageResult> {
        self.read()
    }

    /// Reads the answer to `roots/list`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it is not one.
    pub fn list_roots_result(&self) -> Result<ListRootsResult> {
        self.read()
    }

    /// Reads the answer as a type.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it doesn't have that form.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        read_raw("input response", &self.0)
    }
}

/// Says what a server needs before it can answer. Since 2026-07-28.
///
/// Only `resultType` tells it from other results ([`ResultType::of`]).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputRequiredResult {
    /// Which kind of result it is.
    pub result_type: ResultType,
    /// What is needed, by key.
    pub input_requests: Option<InputRequests>,
    /// What the server wants back with the answers, unchanged.
    pub request_state: Option<String>,
    /// What travels beside the result.
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(InputRequiredResult {
    result_type = "resultType",
    input_requests = "inputRequests",
    request_state = "requestState",
    meta = "_meta",
    ..extra
});

impl InputRequiredResult {
    /// Asks for nothing yet.
    pub fn new() -> Self {
        Self {
            result_type: ResultType::InputRequired,
            input_requests: None,
            request_state: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Asks for one thing more.
    pub fn ask(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        let requests = self.input_requests.get_or_insert_default();
        requests.insert(key.into(), request.into());
        self
    }

    setters! {
        /// Asks for all these things.
        input_requests: InputRequests,
        /// Sets what comes back with the answers.
        request_state: String,
        /// Sets what travels beside the result.
        meta: ResultMetaObject,
    }

    /// Whether there is something to answer or to give back, as there has to be.
    pub fn is_valid(&self) -> bool {
        self.result_type == ResultType::InputRequired
            && (self.input_requests.is_some() || self.request_state.is_some())
    }
}

impl Default for InputRequiredResult {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-MRTR-B-24
    #[test]
    fn questions_are_told_apart_by_method() {
        fn check(json: &str) {
            let request: InputRequest = serde_json::from_str(json).expect(json);
            assert!(json.contains(request.method()));
            assert_eq!(serde_json::to_string(&request).expect("JSON"), json);
        }
        check(r#"{"method":"roots/list"}"#);
        check(r#"{"method":"roots/list","id":"left over"}"#);
        check(r#"{"method":"roots/list","params":{}}"#);
        check(r#"{"method":"weather/ask","params":{"z":1,"a":1e400}}"#);
        check(r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}"#);
        check(r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#);
        let form = r#"{"method":"elicitation/create"}"#;
        assert!(serde_json::from_str::<InputRequest>(form).is_err());
    }

    #[test]
    fn a_result_without_question_and_state_is_invalid() {
        assert!(!InputRequiredResult::new().is_valid());
        assert!(InputRequiredResult::new().request_state("").is_valid());
        let asking = InputRequiredResult::new().ask("k", InputRequest::list_roots());
        assert!(asking.is_valid());
        assert_eq!(
            serde_json::to_string(&asking).expect("JSON"),
            r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}"#
        );
    }

    #[test]
    fn answers_are_read_as_what_was_asked() {
        let answer = InputResponse::new(&ElicitResult::decline()).expect("JSON");
        assert_eq!(answer.as_str(), r#"{"action":"decline"}"#);
        assert!(!answer.elicit_result().expect("elicited").is_accepted());
        assert!(answer.list_roots_result().is_err());
    }
}
