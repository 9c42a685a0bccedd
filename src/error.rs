//! What can go wrong: [`Error`] for the caller, [`RpcError`] for the wire.
//!
//! An [`Error`] tells *who* failed by its [`ErrorKind`] and what to do in one sentence. An [`RpcError`] is the `error` object of a
//! JSON-RPC response: what a handler returns to refuse a request, and what [`Error::rpc`] hands out when the peer refused ours.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fallible;

/// A result whose error is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call of this library failed.
///
/// The [`kind`](Self::kind) can be matched on; the text names the thing, the peer, the number and the setting. The type is one word
/// wide and cheap to move.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    rpc: Option<RpcError>,
    sent: bool,
    not_found: bool,
    os_code: Option<i32>,
    stderr_tail: Option<String>,
    result: Option<Arc<String>>,
    http: Option<Box<HttpAnswer>>,
    oauth_code: Option<Box<str>>,
}

/// How an HTTP server answered instead of with a result.
#[derive(Clone)]
struct HttpAnswer {
    status: u16,
    challenge: Option<String>,
    /// It does not say that it is about this request.
    is_vague: bool,
}

/// Who failed, and so what the caller may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server wants other credentials, or refuses these (HTTP status 401 or 403, or a word about certificates in the handshake of TLS), or
    /// none could be had: a login that was refused, an authorization server that is not to be trusted. [`Error::http_challenge`] has what the
    /// server asks for.
    Auth,
    /// Too many requests are in flight. Nothing was sent: wait for one to finish and try again.
    Busy,
    /// The call was cancelled by this side. The peer has been told.
    Cancelled,
    /// The connection is closed or its peer has gone. Connect again; [`Error::was_sent`] tells whether the request can have had an effect.
    Closed,
    /// The server, or something on the way to it, answered with an HTTP status that stands for no JSON-RPC error: [`Error::http_status`]
    /// has it. After a status of 500 and above it may help to try again.
    Http,
    /// An argument is wrong. Trying again with the same value fails again.
    Invalid,
    /// The operating system refused an operation; [`Error::os_code`] has its number. Or no connection came about that can be trusted (TLS):
    /// nothing was sent.
    Io,
    /// A size or count limit was hit: the text names the setting to raise. Or the system has no memory for what a peer sent: the text names that.
    Limit,
    /// The peer answered with an error: [`Error::rpc`] has it.
    Peer,
    /// The peer broke the protocol, so its answer can't be used.
    Protocol,
    /// The child process could not be started.
    Spawn,
    /// The right call at the wrong moment, for example a second claim of the standard streams.
    State,
    /// No answer came in time. The peer has been told that nobody waits any more; the outcome is unknown if [`Error::was_sent`].
    Timeout,
    /// The peer, its revision or this build can't do it. Nothing was sent.
    Unsupported,
}

impl Error {
    /// Makes an error, for a transport of one's own: in one sentence, in lower case, what happened to whom and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
            rpc: None,
            sent: false,
            not_found: false,
            os_code: None,
            stderr_tail: None,
            result: None,
            http: None,
            oauth_code: None,
        }))
    }

    /// An operating system failure, with what was being done.
    pub(crate) fn io(doing: impl fmt::Display, error: std::io::Error) -> Self {
        let os_code = error.raw_os_error();
        let mut this = Self::new(ErrorKind::Io, format!("{doing}: {error}")).with_source(error);
        this.0.os_code = os_code;
        this
    }

    /// The peer's refusal of a request of ours.
    pub(crate) fn peer(peer: impl fmt::Display, method: &str, rpc: RpcError) -> Self {
        let mut this = Self::new(ErrorKind::Peer, format!("'{peer}' refused {method}: {rpc}"));
        // Since 2026-07-28 a resource that does not exist is an invalid param; older servers have a code of its own.
        this.0.not_found = rpc.code == ErrorCode::RESOURCE_NOT_FOUND
            || (rpc.code == ErrorCode::INVALID_PARAMS && method == "resources/read");
        this.0.rpc = Some(rpc);
        this.0.sent = true;
        this
    }

    pub(crate) fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    pub(crate) fn with_stderr_tail(mut self, tail: Option<String>) -> Self {
        self.0.stderr_tail = tail;
        self
    }

    /// Puts a copy of the result in, if there is memory for it.
    pub(crate) fn with_result(mut self, result: &str) -> Self {
        self.0.result = fallible::copy_text(result).ok().map(Arc::new);
        self
    }

    pub(crate) fn sent(mut self, sent: bool) -> Self {
        self.0.sent = sent;
        self
    }

    /// Puts what was being done in front of the text.
    pub(crate) fn context(mut self, doing: impl fmt::Display) -> Self {
        self.0.message = format!("{doing}: {}", self.0.message);
        self
    }

    /// Puts something worth knowing behind the text.
    pub(crate) fn remark(mut self, remark: impl fmt::Display) -> Self {
        self.0.message = format!("{}; {remark}", self.0.message);
        self
    }

    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn with_http(mut self, status: u16, challenge: Option<String>) -> Self {
        self.0.http = Some(Box::new(HttpAnswer {
            status,
            challenge,
            is_vague: false,
        }));
        self
    }

    /// Says that the HTTP answer does not name the request: it may be about the session.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn vague(mut self, is_vague: bool) -> Self {
        if let Some(http) = &mut self.0.http {
            http.is_vague = is_vague;
        }
        self
    }

    /// Puts in the code with which an authorization server refused, if it is one by its characters.
    #[cfg_attr(not(feature = "auth"), expect(dead_code, reason = "OAuth"))]
    pub(crate) fn with_oauth_code(mut self, code: &str) -> Self {
        let is_code = !code.is_empty()
            && code.len() <= 64
            && code
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
        self.0.oauth_code = is_code.then(|| code.into());
        self
    }

    /// Puts in how the server answered the request that this is about.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn answered_like(mut self, other: &Self) -> Self {
        self.0.http.clone_from(&other.0.http);
        self
    }

    /// Whether an HTTP answer is a refusal that may be about the session, not about the request.
    pub(crate) fn is_vague(&self) -> bool {
        self.0.http.as_ref().is_some_and(|http| http.is_vague)
    }

    /// Puts the peer's own error in, for who knows later which request it refuses.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn with_rpc(mut self, rpc: RpcError) -> Self {
        self.0.rpc = Some(rpc);
        self
    }

    /// An error that has the peer's refusal in it is said of the request that was refused.
    pub(crate) fn refusing(self, peer: impl fmt::Display, method: &str) -> Self {
        let Some(rpc) = self.0.rpc.clone() else {
            return self;
        };
        let mut this = Self::peer(peer, method, rpc);
        this.0.http = self.0.http;
        this
    }

    /// Tells who failed.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the peer said, when it is the peer who said no.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.rpc.as_ref()
    }

    /// Whether the peer said that the resource asked for does not exist: -32002, or -32602 in answer to `resources/read`.
    pub fn is_not_found(&self) -> bool {
        self.0.not_found
    }

    /// Whether the request had been handed to the transport, so that it can have had an effect on the peer.
    pub fn was_sent(&self) -> bool {
        self.0.sent
    }

    /// Whether the same call may succeed later and can't have had an effect yet: nothing was sent when it failed for want of time, room or a
    /// connection, or the peer said that it has no time: with status 429 or 503 over HTTP, or, as servers of this library do, with `"busy": true`
    /// in the [data](RpcError::data) of its error.
    pub fn is_retryable(&self) -> bool {
        match self.0.kind {
            ErrorKind::Busy => true,
            ErrorKind::Timeout | ErrorKind::Closed | ErrorKind::Io => !self.0.sent,
            ErrorKind::Http | ErrorKind::Peer => {
                matches!(self.http_status(), Some(429 | 503))
                    || self.rpc().is_some_and(RpcError::says_busy)
            }
            _ => false,
        }
    }

    /// The operating system's error number (`errno`), when it is the system that refused.
    pub fn os_code(&self) -> Option<i32> {
        self.0.os_code
    }

    /// The result that came, as JSON, when it can't be used: it is not what the specification says, or it does not fit the schema that the peer
    /// had advertised. In the second case it can be read as [`CallToolResult`](crate::schema::CallToolResult).
    pub fn result(&self) -> Option<&str> {
        self.0.result.as_ref().map(|result| result.as_str())
    }

    /// The HTTP status that the server answered with, if it was another one than success.
    pub fn http_status(&self) -> Option<u16> {
        self.0.http.as_ref().map(|answer| answer.status)
    }

    /// What the server asks for before it lets anybody in: the field `WWW-Authenticate` of its answer.
    pub fn http_challenge(&self) -> Option<&str> {
        self.0.http.as_ref()?.challenge.as_deref()
    }

    /// The error code of OAuth with which an authorization server refused, for example `access_denied` (OAuth 2.1, sections 3.2.4 and 4.1.2.1).
    pub fn oauth_code(&self) -> Option<&str> {
        self.0.oauth_code.as_deref()
    }

    /// The last words of a child process: the last lines that it wrote to its standard error after its last answer. The text of the error
    /// has them too when it is written with `{:#}`.
    pub fn stderr_tail(&self) -> Option<&str> {
        self.0.stderr_tail.as_deref()
    }
}

/// One line: control characters of a peer's text are escaped. `{:#}` adds the [last words](Error::stderr_tail) of a child process, on lines
/// of their own.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, &self.0.message)?;
        match &self.0.stderr_tail {
            Some(tail) if f.alternate() => {
                write!(f, "; its last words on standard error:\n{tail}")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self:#}", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// The `error` object of a JSON-RPC response.
///
/// Spec: Base Protocol, "Error Responses" (every revision).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RpcError {
    /// What kind of error it is.
    pub code: ErrorCode,
    /// One short sentence.
    pub message: String,
    /// More about it, as raw JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// Makes an error with a code and one short sentence.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Whether its sender refused for want of room or time, and may not the next time.
    fn says_busy(&self) -> bool {
        #[derive(Deserialize)]
        struct Data<'a> {
            #[serde(borrow)]
            busy: &'a RawValue,
        }
        let Some(data) = &self.data else { return false };
        let read = serde_json::from_str::<Data<'_>>(data.get());
        data.get().starts_with('{') && read.is_ok_and(|data| data.busy.get() == "true")
    }

    /// The system has no memory for a message. Its sender may try again.
    pub(crate) fn no_memory(message: impl Into<String>) -> Self {
        let mut error = Self::internal(message);
        error.data = RawValue::from_string(r#"{"busy":true,"noMemory":true}"#.to_owned()).ok();
        error
    }

    /// Adds `data`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `data` can't be written as JSON.
    pub fn with_data(mut self, data: &impl Serialize) -> Result<Self> {
        let raw = serde_json::value::to_raw_value(data).map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("error data is not JSON: {error}"),
            )
        })?;
        self.data = Some(raw);
        Ok(self)
    }

    /// `params` are not what the method takes (-32602).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// The method is not served here (-32601).
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("method not found: {}", Excerpt(method)),
        )
    }

    /// The message is JSON but not a request (-32600).
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// The user said no to a request of the server for its model or its roots (-1).
    pub fn user_rejected(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::USER_REJECTED, message)
    }

    /// Something failed inside (-32603). The message is all the peer learns: put no paths or secrets in it.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.value())
    }
}

impl StdError for RpcError {}

/// The code of an [`RpcError`]: an integer.
///
/// Spec: Base Protocol, "Error Codes" (2026-07-28): codes from -32768 to -32000 are reserved, so codes of an application's own are made
/// with [`application`](Self::application), which refuses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCode(i64);

impl ErrorCode {
    /// Invalid JSON was received.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The JSON is not a valid request.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The method does not exist or its capability was not advertised.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The parameters are not what the method takes.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// Something failed inside the receiver.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The user said no, for example to a use of the model.
    pub const USER_REJECTED: Self = Self(-1);
    /// A resource does not exist: legacy revisions only, later ones say [`INVALID_PARAMS`](Self::INVALID_PARAMS).
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// HTTP headers and body disagree (since 2026-07-28).
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The request needs a capability that the client did not declare (since 2026-07-28).
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The requested revision is not served (since 2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);
    /// A URL elicitation has to be completed first (2025-11-25 only).
    pub const URL_ELICITATION_REQUIRED: Self = Self(-32042);

    /// Makes a code of the application's own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for a code from -32768 to -32000, which JSON-RPC and MCP reserve.
    pub fn application(code: i32) -> Result<Self> {
        if (-32768..=-32000).contains(&code) {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("error code {code} is reserved: choose one outside -32768 to -32000"),
            ));
        }
        Ok(Self(code.into()))
    }

    /// The code that a peer sent.
    pub(crate) const fn of(code: i64) -> Self {
        Self(code)
    }

    /// The integer as it stands on the wire.
    pub const fn value(self) -> i64 {
        self.0
    }
}

/// At most 80 characters of foreign text, on one line, for messages.
pub(crate) struct Excerpt<'a>(pub(crate) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(80) {
            Some((end, _)) => {
                write_escaped(f, &self.0[..end])?;
                f.write_str("…")
            }
            None => write_escaped(f, self.0),
        }
    }
}

/// Writes text on one line: control characters are escaped, and so are the separators of lines and paragraphs.
fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    for piece in text.split_inclusive(breaks) {
        match piece.char_indices().next_back() {
            Some((at, c)) if breaks(c) => write!(f, "{}{}", &piece[..at], c.escape_default())?,
            _ => f.write_str(piece)?,
        }
    }
    Ok(())
}

/// The beginning of a JSON value, on one line, for messages. Of a large one only the size is told.
pub(crate) struct Quote<'a>(pub(crate) &'a Value);

impl fmt::Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Array(items) if items.len() > 20 => write!(f, "an array of {}", items.len()),
            Value::Object(members) if members.len() > 10 => {
                write!(f, "an object of {} members", members.len())
            }
            Value::Array(items) => write_nested(f, ('[', ']'), items.iter().map(|it| (None, it))),
            Value::Object(members) => write_nested(
                f,
                ('{', '}'),
                members.iter().map(|(name, it)| (Some(name.as_str()), it)),
            ),
            Value::String(text) => write_text(f, text),
            other => write!(f, "{other}"),
        }
    }
}

fn write_nested<'a>(
    f: &mut fmt::Formatter<'_>,
    brackets: (char, char),
    members: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
) -> fmt::Result {
    write!(f, "{}", brackets.0)?;
    for (number, (name, value)) in members.enumerate() {
        f.write_str(if number == 0 { "" } else { "," })?;
        if let Some(name) = name {
            write_text(f, name)?;
            f.write_str(":")?;
        }
        match value {
            Value::Array(items) if !items.is_empty() => f.write_str("[…]")?,
            Value::Object(members) if !members.is_empty() => f.write_str("{…}")?,
            plain => write!(f, "{}", Quote(plain))?,
        }
    }
    write!(f, "{}", brackets.1)
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "\"{}\"", Excerpt(text))
}

/// What serde says is wrong, without its position in a text that the reader never sees as such.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => what.to_owned(),
        None => text,
    }
}

/// A duration as people write it: `250 ms`, `60 s`.
pub(crate) struct Span(pub(crate) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        match millis {
            0..10_000 if !millis.is_multiple_of(1000) => write!(f, "{millis} ms"),
            _ => write!(f, "{} s", (millis + 500) / 1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-ERR-B-01, M-ERR-B-04, M-ERR-B-09
    #[test]
    fn application_codes_keep_out_of_the_reserved_range() {
        for reserved in [-32768, -32700, -32020, -32019, -32000] {
            assert_eq!(
                ErrorCode::application(reserved)
                    .expect_err("reserved")
                    .kind(),
                ErrorKind::Invalid
            );
        }
        for free in [-32769, -31999, -1, 0, 7] {
            assert_eq!(
                ErrorCode::application(free).expect("free").value(),
                i64::from(free)
            );
        }
    }

    // Promise 9: whatever a peer says, an error is one line of a log.
    #[test]
    fn the_text_of_an_error_is_one_line() {
        let rpc = RpcError::new(
            ErrorCode::INTERNAL_ERROR,
            "first\r\nsecond\u{2028}\u{85}\u{7f}ö",
        );
        let error = Error::peer("p", "tools/call", rpc).with_stderr_tail(Some("a\nb".to_owned()));
        let text = r"'p' refused tools/call: first\r\nsecond\u{2028}\u{85}\u{7f}ö (-32603)";
        assert_eq!(error.to_string(), text);
        let whole = format!("{text}; its last words on standard error:\na\nb");
        assert_eq!(format!("{error:#}"), whole);
        assert_eq!(format!("{error:?}"), format!("Peer: {whole}"));
        assert_eq!(error.stderr_tail(), Some("a\nb"));
    }

    #[test]
    fn foreign_text_is_cut_and_kept_on_one_line() {
        assert_eq!(Excerpt("a\nb").to_string(), "a\\nb");
        assert_eq!(Excerpt(&"x".repeat(200)).to_string().chars().count(), 81);
        let value = serde_json::json!({"a": ["b\n", [1]], "c": null});
        assert_eq!(Quote(&value).to_string(), r#"{"a":[…],"c":null}"#);
        assert_eq!(Quote(&value["a"]).to_string(), r#"["b\n",[…]]"#);
        let large = Value::from(vec![0; 1000]);
        assert_eq!(Quote(&large).to_string(), "an array of 1000");
    }
}
