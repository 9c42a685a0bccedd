//! JSON-RPC messages. Each message is read in one pass; `params` and `result` stay raw JSON text.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::id::RequestId;
use super::lenient::{Reading, is_empty_array};
use super::malformed::{Form, Malformed, not_json};
use super::message_members::MessageMembers;
use super::raw_object::{MemberRanges, RawObject};
use crate::error::{ErrorCode, Excerpt, RpcError, without_position};
use crate::fallible;

/// The maximum number of messages in a batch. A batch member can be as short as two bytes. The
/// parsed member, its error and its answer take a hundred times as much memory.
const MAX_BATCH: usize = 1024;

/// The maximum length of an id, in bytes. An id is stored in several places while its request is in
/// flight, and is repeated in each message about the request.
const MAX_ID_BYTES: usize = 1024;

/// A message that owns its text. Therefore its `params` or `result` can be read later, or relayed,
/// without a copy.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON-RPC has these three and will have no other"
)]
pub enum Message {
    /// A request: expects one response.
    Request(Request),
    /// A notification: expects no response.
    Notification(Notification),
    /// A response to a request.
    Response(Response),
}

/// A request that was received.
#[derive(Debug)]
pub struct Request {
    id: RequestId,
    /// The content of the request. It is boxed because a request is moved between many functions
    /// and threads.
    call: Box<Call>,
}

/// A notification that was received.
#[derive(Debug)]
pub struct Notification {
    call: Call,
}

/// A response that was received.
#[derive(Debug)]
pub struct Response {
    id: Option<RequestId>,
    text: String,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Result(Range<usize>),
    Error(RpcError),
}

#[derive(Debug)]
struct Call {
    text: String,
    method: Method,
    params: Option<Range<usize>>,
    /// The ranges, in the message text, of the members of `params`.
    member_ranges: MemberRanges,
}

#[derive(Debug)]
enum Method {
    Span(Range<usize>),
    /// The decoded method name, for a name that was written with escapes, or for a message that the
    /// scanner did not accept.
    Decoded(Box<str>),
}

/// The result of parsing one text: a line, or a body over HTTP.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a text is one message or several")]
pub enum Parsed {
    /// One message.
    Single(Result<Message, Malformed>),
    /// An array of messages (batch), which only revision 2025-03-26 allows. It has 1 to 1 024
    /// members.
    Batch(Vec<Result<Message, Malformed>>),
}

impl Parsed {
    /// Reads a message or an array of messages. A text that is nested deeper than `max_depth` is an
    /// error.
    ///
    /// Reading is lenient and accepts five deviations from the specification: `null` for an absent
    /// member, an empty array for an empty object, an integer id written as `1.0`, an error without
    /// a message, and an error code written as `-32601.0` or as a text.
    pub fn read(bytes: Vec<u8>, max_depth: usize) -> Self {
        Self::read_with(bytes, max_depth, Reading::Lenient)
    }

    /// Reads like [`read`](Self::read), but treats all deviations from the specification as errors.
    pub fn read_strictly(bytes: Vec<u8>, max_depth: usize) -> Self {
        Self::read_with(bytes, max_depth, Reading::Strict)
    }

    fn read_with(bytes: Vec<u8>, max_depth: usize, reading: Reading) -> Self {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let index = error.utf8_error().valid_up_to();
                return Self::Single(Err(Malformed::unreadable(
                    error.as_bytes(),
                    ErrorCode::PARSE_ERROR,
                    format!("message is not UTF-8 at byte {index}"),
                )));
            }
        };
        if let Some(envelope) = MessageMembers::scan(&text, max_depth) {
            return Self::Single(Message::of(text, envelope, reading));
        }
        if super::nesting::exceeds(&text, max_depth) {
            return Self::Single(Err(Malformed::unreadable(
                text.as_bytes(),
                ErrorCode::INVALID_REQUEST,
                format!("message is nested deeper than {max_depth} levels"),
            )));
        }
        if text.trim_ascii_start().starts_with('[') {
            Self::read_batch(&text, reading)
        } else {
            Self::Single(Message::read_with(text, reading))
        }
    }

    fn read_batch(text: &str, reading: Reading) -> Self {
        let refuse = |text: String| {
            Self::Single(Err(Malformed {
                error: RpcError::invalid_request(text),
                id: None,
                form: Form::Request,
                excerpt: None,
            }))
        };
        match serde_json::from_str(text) {
            Ok(BatchMembers(members)) if members.is_empty() => {
                refuse("a batch must not be empty".to_owned())
            }
            Ok(BatchMembers(members)) if members.len() > MAX_BATCH => {
                refuse(format!("a batch has at most {MAX_BATCH} messages"))
            }
            Ok(BatchMembers(members)) => Self::Batch(
                members
                    .into_iter()
                    .map(|member| {
                        let text = member.get();
                        let copy = fallible::copy_text(text);
                        Message::read_with(copy.map_err(|_| Malformed::no_memory(text))?, reading)
                    })
                    .collect(),
            ),
            Err(error) => Self::Single(Err(Malformed::unreadable(
                text.as_bytes(),
                ErrorCode::PARSE_ERROR,
                not_json(&error),
            ))),
        }
    }
}

/// The members of a batch. For a batch that is too long, this type stores one member more than the
/// maximum, so that the excess is detected.
struct BatchMembers<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for BatchMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NotTooMany;

        impl<'de> Visitor<'de> for NotTooMany {
            type Value = BatchMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = seq.next_element()? {
                    if members.len() <= MAX_BATCH {
                        members.push(member);
                    }
                }
                Ok(BatchMembers(members))
            }
        }

        deserializer.deserialize_seq(NotTooMany)
    }
}

impl Message {
    /// Reads one message.
    ///
    /// # Errors
    ///
    /// [`Malformed`]: the error to answer with, and the id if the id could be read.
    pub fn read(text: String) -> Result<Self, Malformed> {
        Self::read_with(text, Reading::Lenient)
    }

    fn read_with(text: String, reading: Reading) -> Result<Self, Malformed> {
        if let Some(envelope) = MessageMembers::scan(&text, usize::MAX) {
            return Self::of(text, envelope, reading);
        }
        match MessageMembers::read(&text) {
            Ok(envelope) => Self::of(text, envelope, reading),
            Err(error) => Err(Malformed::from_serde(&text, &error)),
        }
    }

    /// Makes a message from its text and the ranges of its members.
    fn of(text: String, mut envelope: MessageMembers, reading: Reading) -> Result<Self, Malformed> {
        if reading == Reading::Lenient {
            envelope.forgive(&text);
        }
        let envelope = envelope;
        let refuse = |message: String, id: Option<RequestId>| Malformed {
            error: RpcError::invalid_request(message),
            id,
            form: match (
                envelope.method.is_some(),
                envelope.id.is_some(),
                envelope.result.is_some() || envelope.error.is_some(),
            ) {
                (true, false, false) => Form::Notification,
                (false, _, true) => Form::Response,
                _ => Form::Request,
            },
            excerpt: None,
        };
        let written = |range: &Option<Range<usize>>| range.clone().map(|range| &text[range]);
        let id = match written(&envelope.id).map(|raw| (raw, RequestId::from_json(raw))) {
            None => None,
            Some((raw, _)) if raw.len() > MAX_ID_BYTES => {
                let text = format!("id has {} bytes, more than {MAX_ID_BYTES}", raw.len());
                return Err(refuse(text, None));
            }
            Some((_, Some(id))) if reading == Reading::Lenient || id.is_plain() => Some(id),
            Some(("null", None)) if envelope.error.is_some() => None,
            Some((raw, _)) => {
                let text = format!("id must be a string or an integer, not {}", Excerpt(raw));
                return Err(refuse(text, None));
            }
        };
        match written(&envelope.jsonrpc) {
            Some("\"2.0\"") => {}
            Some(other) => {
                return Err(refuse(
                    format!("jsonrpc must be \"2.0\", not {}", Excerpt(other)),
                    id,
                ));
            }
            None => {
                return Err(refuse(
                    "jsonrpc is missing: it must be \"2.0\"".to_owned(),
                    id,
                ));
            }
        }
        match (&envelope.method, &envelope.result, &envelope.error) {
            (Some(range), None, None) => {
                let Some(method) = read_method(&text, range, envelope.has_plain_method) else {
                    let found = Excerpt(&text[range.clone()]);
                    return Err(refuse(format!("method must be a string, not {found}"), id));
                };
                let params = envelope.params.clone();
                if params
                    .as_ref()
                    .is_some_and(|range| !text[range.start..].starts_with('{'))
                {
                    let mut malformed = refuse("params must be an object".to_owned(), id);
                    malformed.error.code = ErrorCode::INVALID_PARAMS;
                    return Err(malformed);
                }
                let call = Call {
                    text,
                    method,
                    params,
                    member_ranges: envelope.member_ranges,
                };
                Ok(match id {
                    Some(id) => {
                        let call = Box::new(call);
                        Self::Request(Request { id, call })
                    }
                    None => Self::Notification(Notification { call }),
                })
            }
            (None, Some(result), None) => {
                if id.is_none() {
                    return Err(refuse(
                        "a result needs the id of its request".to_owned(),
                        id,
                    ));
                }
                if reading == Reading::Lenient && is_empty_array(&text[result.clone()]) {
                    let (text, outcome) = ("{}".to_owned(), Outcome::Result(0.."{}".len()));
                    return Ok(Self::Response(Response { id, text, outcome }));
                }
                let outcome = Outcome::Result(result.clone());
                Ok(Self::Response(Response { id, text, outcome }))
            }
            (None, None, Some(error)) => match reading.error(&text[error.clone()]) {
                Ok(error) => Ok(Self::Response(Response {
                    id,
                    text,
                    outcome: Outcome::Error(error),
                })),
                Err(fault) => {
                    let found = Excerpt(&text[error.clone()]);
                    let fault = without_position(&fault);
                    let fault = Excerpt(&fault);
                    Err(refuse(
                        format!("error needs an integer code and a message: {fault}: {found}"),
                        id,
                    ))
                }
            },
            (None, None, None) => Err(refuse(
                "method, result and error are all missing".to_owned(),
                id,
            )),
            (None, Some(_), Some(_)) => Err(refuse(
                "a response has either result or error, not both".to_owned(),
                id,
            )),
            (Some(_), ..) => Err(refuse(
                "method stands beside result or error".to_owned(),
                id,
            )),
        }
    }
}

/// Whether a text is a request whose method is not in `methods`. Also returns true if the scanner
/// does not accept the text.
#[cfg(feature = "http-server")]
pub(crate) fn asks_for_more_than(methods: &[&str], text: &[u8], max_depth: usize) -> bool {
    let text = std::str::from_utf8(text).ok();
    let Some((text, envelope)) =
        text.and_then(|text| Some((text, MessageMembers::scan(text, max_depth)?)))
    else {
        return true;
    };
    match envelope.method.filter(|_| envelope.id.is_some()) {
        Some(range) => {
            let method = text[range].trim_matches('"');
            !methods.contains(&method)
        }
        None => false,
    }
}

fn read_method(text: &str, range: &Range<usize>, is_plain: bool) -> Option<Method> {
    if is_plain {
        return Some(Method::Span(range.start + 1..range.end - 1));
    }
    let method: Option<Box<str>> = serde_json::from_str(&text[range.clone()]).ok();
    method.map(Method::Decoded)
}

impl Call {
    fn method(&self) -> &str {
        match &self.method {
            Method::Span(span) => &self.text[span.clone()],
            Method::Decoded(method) => method,
        }
    }

    fn params(&self) -> &str {
        self.params
            .as_ref()
            .map_or("{}", |span| &self.text[span.clone()])
    }

    fn members(&self) -> RawObject<'_> {
        match &self.params {
            Some(span) => self.member_ranges.members(&self.text, span),
            None => RawObject::of("{}"),
        }
    }
}

impl Request {
    /// Returns the id of the request, which its response has to repeat.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the name of the request's method.
    pub fn method(&self) -> &str {
        self.call.method()
    }

    /// Returns `params` as JSON text; `{}` if the request has no params.
    pub fn params(&self) -> &str {
        self.call.params()
    }

    /// Returns the members of `params`.
    pub(crate) fn members(&self) -> RawObject<'_> {
        self.call.members()
    }

    /// Returns the length of the message, in bytes.
    pub(crate) fn text_len(&self) -> usize {
        self.call.text.len()
    }

    /// Returns the buffer of the message, which can be reused.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.call.text.into_bytes()
    }
}

impl Notification {
    /// Returns the name of the notification's method.
    pub fn method(&self) -> &str {
        self.call.method()
    }

    /// Returns `params` as JSON text; `{}` if the notification has no params.
    pub fn params(&self) -> &str {
        self.call.params()
    }

    /// Returns the members of `params`.
    pub(crate) fn members(&self) -> RawObject<'_> {
        self.call.members()
    }
}

impl Response {
    /// Returns the id of the answered request. Returns `None` for an error about a message whose id
    /// the peer couldn't read.
    pub fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Returns `result` as JSON text, or the error object.
    pub fn outcome(&self) -> Result<&str, &RpcError> {
        match &self.outcome {
            Outcome::Result(span) => Ok(&self.text[span.clone()]),
            Outcome::Error(error) => Err(error),
        }
    }

    /// Returns `result` together with the message text that contains it.
    ///
    /// # Errors
    ///
    /// The error object, if the response is an error.
    pub fn into_result(self) -> Result<RawResult, RpcError> {
        match self.outcome {
            Outcome::Result(span) => Ok(RawResult {
                text: self.text,
                span,
            }),
            Outcome::Error(error) => Err(error),
        }
    }
}

/// The `result` of a response: JSON text as received. This type owns the whole message text.
#[derive(Clone)]
pub struct RawResult {
    text: String,
    span: Range<usize>,
}

impl RawResult {
    /// Returns the result as JSON text.
    pub fn as_str(&self) -> &str {
        &self.text[self.span.clone()]
    }

    /// Returns the message text, and the range of the result in this text.
    #[cfg(feature = "cffi")]
    pub(crate) fn into_parts(self) -> (String, Range<usize>) {
        (self.text, self.span)
    }

    /// Turns the result into the response to the request `id`. `beginning` replaces the first
    /// `replaced` bytes of the result. Reuses the memory, so that a large result is not copied.
    pub(crate) fn into_response(self, id: &RequestId, beginning: &str, replaced: usize) -> Vec<u8> {
        let mut head = super::write::result_head(id);
        head.extend_from_slice(beginning.as_bytes());
        let mut text = self.text.into_bytes();
        text.truncate(self.span.end);
        text.push(b'}');
        text.splice(..self.span.start + replaced, head);
        text
    }

    /// Makes a result that was not received in a response.
    pub(crate) fn alone(text: impl Into<String>) -> Self {
        let text = text.into();
        let span = 0..text.len();
        Self { text, span }
    }
}

impl std::ops::Deref for RawResult {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for RawResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn malformed(text: &str) -> Malformed {
        match Parsed::read(text.as_bytes().to_vec(), 128) {
            Parsed::Single(Err(malformed)) => malformed,
            other => panic!("{text} was read as {other:?}"),
        }
    }

    fn check(text: &str, code: ErrorCode, id: Option<&str>, form: Form) {
        let malformed = malformed(text);
        assert_eq!(
            (malformed.error.code, malformed.form),
            (code, form),
            "{text}: {}",
            malformed.error
        );
        assert_eq!(malformed.id, id.and_then(RequestId::from_json), "{text}");
        let message = &malformed.error.message;
        // M-BASE-B-17, L-BASE-B-14
        assert!(
            !message.is_empty() && message.len() <= 200 && !message.contains('\n'),
            "{message}"
        );
    }

    // M-BASE-S-18, M-BASE-B-02, L-BASE-B-02, M-BASE-C-04, L-BASE-B-04, M-BASE-C-03
    #[test]
    fn each_kind_of_bad_message_has_its_code_and_its_id() {
        use ErrorCode as E;
        check("", E::PARSE_ERROR, None, Form::NotJson);
        check(
            "Server listening on port 8000",
            E::PARSE_ERROR,
            None,
            Form::NotJson,
        );
        check(
            r#"{"jsonrpc":"2.0","id":3,"method":"ping""#,
            E::PARSE_ERROR,
            Some("3"),
            Form::Request,
        );
        check(
            r#"{"jsonrpc":"2.0","id":3,"result":{"a":1},"x""#,
            E::PARSE_ERROR,
            Some("3"),
            Form::Response,
        );
        check("5", E::INVALID_REQUEST, None, Form::Request);
        check("null", E::INVALID_REQUEST, None, Form::Request);
        check("[]", E::INVALID_REQUEST, None, Form::Request);
        check("{}", E::INVALID_REQUEST, None, Form::Request);
        check(
            r#"{"id":4,"method":"ping"}"#,
            E::INVALID_REQUEST,
            Some("4"),
            Form::Request,
        );
        check(
            r#"{"jsonrpc":2.0,"id":4,"method":"ping"}"#,
            E::INVALID_REQUEST,
            Some("4"),
            Form::Request,
        );
        check(
            r#"{"jsonrpc":"2.0","id":4,"id":5,"method":"ping"}"#,
            E::INVALID_REQUEST,
            None,
            Form::Request,
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            E::INVALID_REQUEST,
            None,
            Form::Request,
        );
        check(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            E::INVALID_REQUEST,
            None,
            Form::Request,
        );
        check(
            r#"{"jsonrpc":"2.0","id":4,"method":7}"#,
            E::INVALID_REQUEST,
            Some("4"),
            Form::Request,
        );
        check(
            r#"{"jsonrpc":"2.0","id":4,"method":"x","params":[1]}"#,
            E::INVALID_PARAMS,
            Some("4"),
            Form::Request,
        );
        check(
            r#"{"jsonrpc":"2.0","id":4,"method":"x","params":"null"}"#,
            E::INVALID_PARAMS,
            Some("4"),
            Form::Request,
        );
        check(
            r#"{"jsonrpc":"2.0","method":"x","params":[1]}"#,
            E::INVALID_PARAMS,
            None,
            Form::Notification,
        );
        check(
            r#"{"jsonrpc":"2.0","result":{}}"#,
            E::INVALID_REQUEST,
            None,
            Form::Response,
        );
    }

    // M-BASE-B-21, L-BASE-B-08, M-BASE-B-14, L-BASE-B-11, M-BASE-S-07
    #[test]
    fn a_response_has_one_outcome_with_an_integer_code() {
        use ErrorCode as E;
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
            E::INVALID_REQUEST,
            Some("1"),
            Form::Response,
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}"#,
            E::INVALID_REQUEST,
            Some("1"),
            Form::Response,
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}"#,
            E::INVALID_REQUEST,
            Some("1"),
            Form::Response,
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}"#,
            E::INVALID_REQUEST,
            Some("1"),
            Form::Response,
        );
        check(
            r#"{"jsonrpc":"2.0","id":1}"#,
            E::INVALID_REQUEST,
            Some("1"),
            Form::Request,
        );
    }

    // M-BASE-C-22, L-BASE-B-09
    #[test]
    fn an_error_without_an_id_is_read() {
        for text in [
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
        ] {
            let Ok(Message::Response(response)) = Message::read(text.to_owned()) else {
                panic!("{text}")
            };
            assert_eq!(response.id(), None);
            assert_eq!(
                response.outcome().expect_err("an error").code,
                ErrorCode::PARSE_ERROR
            );
        }
    }

    // M-BASE-B-16, L-BASE-B-13
    #[test]
    fn members_come_in_any_order_and_unknown_ones_are_skipped() {
        let text =
            r#"{"params":{"a":[1,2]},"extra":{"id":9},"method":"a\/b","id":"q","jsonrpc":"2.0"}"#;
        let Ok(Message::Request(request)) = Message::read(text.to_owned()) else {
            panic!("a request")
        };
        assert_eq!(
            (request.method(), request.params()),
            ("a/b", r#"{"a":[1,2]}"#)
        );
        assert_eq!(request.id(), &RequestId::from("q"));
        let Ok(Message::Notification(note)) =
            Message::read(r#"{"jsonrpc":"2.0","method":"n"}"#.to_owned())
        else {
            panic!("a notification")
        };
        assert_eq!((note.method(), note.params()), ("n", "{}"));
    }

    #[test]
    fn a_null_result_is_a_result() {
        let text = r#"{"jsonrpc":"2.0","id":1,"result":null}"#;
        let Ok(Message::Response(response)) = Message::read(text.to_owned()) else {
            panic!("a response")
        };
        assert_eq!(response.outcome().expect("a result"), "null");
    }

    // L-BATCH-B-10
    #[test]
    fn batches_are_split_and_their_bad_members_told() {
        let text = br#" [{"jsonrpc":"2.0","id":1,"method":"a"},5,{"jsonrpc":"2.0","method":"n"}]"#;
        let Parsed::Batch(members) = Parsed::read(text.to_vec(), 128) else {
            panic!("a batch")
        };
        assert_eq!(members.len(), 3);
        assert!(matches!(members[0], Ok(Message::Request(_))));
        assert!(members[1].is_err());
        assert!(matches!(members[2], Ok(Message::Notification(_))));
    }

    // Promise 6: 16 MB of `1,1,1…` must not become millions of errors, even in a revision without
    // batches.
    #[test]
    fn a_batch_of_very_many_messages_is_one_invalid_request() {
        let batch = |count: usize| format!("[{}1]", "1,".repeat(count - 1)).into_bytes();
        let Parsed::Batch(members) = Parsed::read(batch(MAX_BATCH), 128) else {
            panic!("a batch")
        };
        assert_eq!(members.len(), MAX_BATCH);
        let Parsed::Single(Err(malformed)) = Parsed::read(batch(MAX_BATCH + 1), 128) else {
            panic!("refused")
        };
        assert_eq!(malformed.error.code, ErrorCode::INVALID_REQUEST);
        assert_eq!((malformed.id, malformed.form), (None, Form::Request));
        // The rest of a batch that is too long is still parsed.
        let mut open = batch(2 * MAX_BATCH);
        open.pop();
        let Parsed::Single(Err(malformed)) = Parsed::read(open, 128) else {
            panic!("refused")
        };
        assert_eq!(malformed.error.code, ErrorCode::PARSE_ERROR);
    }

    // M-TRAN-B-01, L-STDIO-B-01
    #[test]
    fn bytes_that_are_not_utf8_are_refused_with_their_id() {
        let Parsed::Single(Err(malformed)) =
            Parsed::read(b"{\"id\":6,\"method\":\"\xff\"}".to_vec(), 128)
        else {
            panic!("refused")
        };
        assert_eq!(malformed.error.code, ErrorCode::PARSE_ERROR);
        assert_eq!(malformed.id, Some(RequestId::from(6)));
    }

    #[test]
    fn nesting_is_bounded_and_keeps_the_id() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":6,"method":"x","params":{{"a":{}{}}}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        let malformed = malformed(&deep);
        assert_eq!(
            (malformed.error.code, malformed.id),
            (ErrorCode::INVALID_REQUEST, Some(RequestId::from(6)))
        );
        assert!(malformed.error.message.contains("128 levels"));
    }

    // M-BASE-B-16: a written message has no id exactly if it is a notification.
}
