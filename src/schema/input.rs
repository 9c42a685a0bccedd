//! Input requests: a server asks the client for input before it can answer.
//!
//! Spec: Base Protocol, Patterns, "Multi Round-Trip Requests" (2026-07-28).

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use super::elicitation::{ElicitRequestParams, ElicitResult};
use super::json::{raw, read_raw};
use super::meta::ResultMetaObject;
use super::method;
use super::result::ResultType;
use super::roots::{ListRootsRequestParams, ListRootsResult};
use super::sampling::{CreateMessageRequestParams, CreateMessageResult};
use super::version::{FitTo, ProtocolVersion};
use crate::error::Result;

/// The input requests of a server, each under a key that the server chooses.
pub type InputRequests = BTreeMap<String, InputRequest>;

/// The client's answers to input requests, each under the key of its request.
pub type InputResponses = BTreeMap<String, InputResponse>;

/// An input request: a method and its params. Before 2026-07-28 the server sends it as a separate
/// JSON-RPC request.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{ElicitRequestParams, InputRequest};
/// use mcplink::server::{AskError, Context};
///
/// fn page(context: &Context) -> Result<bool, AskError> {
///     let question = ElicitRequestParams::url("Please sign in", "https://example.com/sign-in");
///     let request = InputRequest::from(question);
///     assert_eq!(request.method(), "elicitation/create");
///     Ok(context.ask("sign-in", request)?.elicit_result()?.is_accepted())
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum InputRequest {
    /// A request for input from the user: `elicitation/create`.
    Elicit(Box<ElicitRequest>),
    /// A request for an answer from the model: `sampling/createMessage`.
    CreateMessage(Box<CreateMessageRequest>),
    /// A request for the client's roots: `roots/list`.
    ListRoots(Box<ListRootsRequest>),
    /// A request of a method that this library doesn't know.
    Other {
        /// The name of the method.
        method: String,
        /// The whole JSON object of the request, including the method.
        raw: Box<RawValue>,
    },
}

impl InputRequest {
    /// Makes a request for the client's roots.
    pub fn list_roots() -> Self {
        Self::ListRoots(Box::default())
    }

    /// Returns the name of the method.
    pub fn method(&self) -> &str {
        match self {
            Self::Elicit(_) => method::ELICITATION_CREATE,
            Self::CreateMessage(_) => method::SAMPLING_CREATE_MESSAGE,
            Self::ListRoots(_) => method::ROOTS_LIST,
            Self::Other { method, .. } => method,
        }
    }
}

/// Adapts the input request to a revision. Removes members that the revision does not know. The
/// caller has to set the `elicitation_id` that a URL mode elicitation needs in 2025-11-25.
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

object! {
    /// An input request for input from the user.
    #[derive(Clone, Debug)]
    pub struct ElicitRequest {
        method: ElicitMethod,
        /// The params of the request.
        pub params: ElicitRequestParams,
        ..extra
    }

    fn new(params: ElicitRequestParams);
}

object! {
    /// An input request for an answer from the client's model.
    #[derive(Clone, Debug)]
    pub struct CreateMessageRequest {
        method: CreateMessageMethod,
        /// The params of the request.
        pub params: CreateMessageRequestParams,
        ..extra
    }

    fn new(params: CreateMessageRequestParams);
}

object! {
    /// An input request for the client's roots.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{InputRequest, ListRootsRequest};
    /// use serde_json::json;
    ///
    /// let request = InputRequest::ListRoots(Box::new(ListRootsRequest::default()));
    /// assert_eq!(json!(request), json!({ "method": "roots/list" }));
    /// assert_eq!(json!(InputRequest::list_roots()), json!(request));
    /// ```
    #[derive(Clone, Debug, Default)]
    pub struct ListRootsRequest {
        method: ListRootsMethod,
        /// The params of the request: only metadata (`_meta`).
        pub params: Option<ListRootsRequestParams>,
        ..extra
    }
}

impl From<ElicitRequestParams> for InputRequest {
    fn from(params: ElicitRequestParams) -> Self {
        Self::Elicit(Box::new(ElicitRequest::new(params)))
    }
}

impl From<CreateMessageRequestParams> for InputRequest {
    fn from(params: CreateMessageRequestParams) -> Self {
        Self::CreateMessage(Box::new(CreateMessageRequest::new(params)))
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

/// A client's answer to an input request, as raw JSON. The type of the answer follows from the
/// request under the same key, never from the content of the answer.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{CallToolRequestParams, ElicitResult, InputResponse, InputResponses};
/// use serde_json::json;
///
/// // The client repeats the call with the answers, each under the key of its request.
/// let answer = InputResponse::new(&ElicitResult::accept(&json!({ "color": "blue" }))?)?;
/// let answers = InputResponses::from([("color".to_owned(), answer)]);
/// let params = CallToolRequestParams::new("paint").input_responses(answers);
/// assert_eq!(json!(params)["inputResponses"]["color"]["content"]["color"], "blue");
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputResponse(Box<RawValue>);

impl InputResponse {
    /// Makes an answer from the result of an input request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the result can't be written as JSON.
    pub fn new(result: &impl Serialize) -> Result<Self> {
        raw("input response", result).map(Self)
    }

    /// Returns the answer as JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Deserializes the answer to `elicitation/create`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the answer is not a valid result of
    /// `elicitation/create`.
    pub fn elicit_result(&self) -> Result<ElicitResult> {
        self.read()
    }

    /// Deserializes the answer to `sampling/createMessage`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the answer is not a valid result of
    /// `sampling/createMessage`.
    pub fn create_message_result(&self) -> Result<CreateMessageResult> {
        self.read()
    }

    /// Deserializes the answer to `roots/list`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the answer is not a valid result of
    /// `roots/list`.
    pub fn list_roots_result(&self) -> Result<ListRootsResult> {
        self.read()
    }

    /// Deserializes the answer as a type.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the answer does not fit the type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        read_raw("input response", &self.0)
    }
}

object! {
    /// The result of a server that requests input before it can answer. Since 2026-07-28.
    ///
    /// Only `resultType` distinguishes this result from other results ([`ResultType::of`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{InputRequest, InputRequiredResult};
    /// use serde_json::json;
    ///
    /// // By hand. Handlers of a `Server` ask with `Context::ask` and the like.
    /// let result = InputRequiredResult::new()
    ///     .ask("roots", InputRequest::list_roots())
    ///     .request_state("3f");
    /// assert!(result.is_valid());
    /// assert_eq!(json!(result)["inputRequests"]["roots"]["method"], "roots/list");
    /// ```
    #[derive(Clone, Debug)]
    pub struct InputRequiredResult {
        /// The kind of result.
        pub result_type: ResultType = "resultType",
        /// The input requests, by key.
        pub input_requests?: InputRequests = "inputRequests",
        /// The server's state, which is opaque to the client. The client sends the state back
        /// unchanged, together with the answers.
        pub request_state?: String = "requestState",
        /// Metadata of the result (`_meta`).
        pub meta?: ResultMetaObject = "_meta",
        ..extra
    }

    fn of_type(result_type: ResultType);
}

impl InputRequiredResult {
    /// Makes a result without input requests.
    pub fn new() -> Self {
        Self::of_type(ResultType::InputRequired)
    }

    /// Adds an input request.
    pub fn ask(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        let requests = self.input_requests.get_or_insert_default();
        requests.insert(key.into(), request.into());
        self
    }

    /// Whether the result is valid: it has input requests or a request state.
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
