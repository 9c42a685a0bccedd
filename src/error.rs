//! Errors: [`Error`] for callers of the library, [`RpcError`] for messages.
//!
//! The [`ErrorKind`] of an [`Error`] is the cause. The text of an [`Error`] is one sentence, with
//! the remedy. An [`RpcError`] is the `error` object of a JSON-RPC response. A handler returns an
//! [`RpcError`] to refuse a request. [`Error::rpc`] returns the [`RpcError`] with which the peer
//! refused a request of this side.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A result whose error is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of a failed call of this library.
///
/// Match on the [`kind`](Self::kind) of the error. The error text names the object, the peer, the
/// number and the setting concerned. The type is one pointer wide, so it is cheap to move.
///
/// # Examples
///
/// ```
/// use mcplink::{Error, ErrorKind};
///
/// // The error of a function of the host, such as one for `Http::bearer_with`.
/// let error = Error::new(ErrorKind::Auth, "the vault is locked");
/// assert_eq!(error.kind(), ErrorKind::Auth);
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    rpc: Option<RpcError>,
    /// Whether the request was sent. `None` if nobody has said so.
    sent: Option<bool>,
    not_found: bool,
    os_code: Option<i32>,
    stderr_tail: Option<String>,
    result: Option<Arc<String>>,
    http: Option<Box<HttpAnswer>>,
    oauth_code: Option<Box<str>>,
    skill_fault: Option<SkillFault>,
}

/// The HTTP response of a server that sent no JSON-RPC result.
#[derive(Clone)]
struct HttpAnswer {
    status: u16,
    challenge: Option<String>,
    /// Whether the HTTP response may refuse the whole session instead of the request.
    is_vague: bool,
}

/// The cause of an [`Error`]. Each variant describes the remedy, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Authentication or authorization failed. Either the server refused the credentials of the
    /// client, or the client could not obtain credentials.
    ///
    /// A server refuses with the HTTP status 401 or 403, or with a certificate alert in the TLS
    /// handshake. [`Error::http_challenge`] returns the authentication that the server requires.
    /// The client obtains no credentials if the login was refused, or if the authorization server
    /// is not trusted.
    Auth,
    /// Too many requests are in flight. Nothing was sent. Wait for a request to finish and try
    /// again.
    Busy,
    /// This side cancelled the call, or the user refused the input that the call needs. If a
    /// request was in flight, the peer has been notified.
    Cancelled,
    /// The connection is closed or the peer has gone. Connect again. [`Error::was_sent`] is true if
    /// the request may have had an effect.
    Closed,
    /// The server, or a proxy in front of it, answered with an unexpected HTTP response that
    /// contains no JSON-RPC error, for example with status 500: see [`Error::http_status`]. After a
    /// status of 500 or above a retry may succeed.
    Http,
    /// An argument is wrong. A retry with the same value fails again.
    Invalid,
    /// The operating system refused an operation; [`Error::os_code`] returns its error number. This
    /// kind is also used when no trusted TLS connection could be made; nothing was sent then.
    Io,
    /// A size or count limit was reached, or the system has no memory for data from a peer. If a
    /// limit was reached, the error text names the setting to raise. If there was no memory, the
    /// text names the data.
    Limit,
    /// The peer answered with an error: see [`Error::rpc`].
    Peer,
    /// The peer violated the protocol, so its answer can't be used.
    Protocol,
    /// The child process could not be started.
    Spawn,
    /// The call is not allowed in the present state, for example a second claim of the standard
    /// streams.
    State,
    /// No answer arrived in time. If [`Error::was_sent`] is true, the peer has been notified that
    /// the call is cancelled, and the outcome of the request is unknown.
    Timeout,
    /// The peer, its revision, this side or this build does not support the call.
    /// [`Error::was_sent`] is false if the call was refused before it was sent, which is the usual
    /// case.
    Unsupported,
}

/// The way in which the content of a skill differs from the entry of the skill: see
/// [`Error::skill_fault`].
///
/// Each fault has two possible causes: the skill has changed since its entry was received, or the
/// content was tampered with. In both cases the content must not be used. A host gets the new entry
/// of the skill and asks its user for a new approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillFault {
    /// The file is not in the manifest of the skill. Nothing was sent.
    Unlisted,
    /// The length of the content differs from the size in the manifest.
    Size,
    /// The SHA-256 digest of the content differs from the digest in the manifest.
    Digest,
    /// The front matter of `SKILL.md` differs from the front matter in the entry, or can't be
    /// parsed.
    FrontMatter,
}

impl Error {
    /// Makes an error, for custom transports and for code that wraps calls of this library.
    /// `message` is one sentence in lower case. It describes the event, the object concerned, and
    /// the remedy.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
            rpc: None,
            sent: None,
            not_found: false,
            os_code: None,
            stderr_tail: None,
            result: None,
            http: None,
            oauth_code: None,
            skill_fault: None,
        }))
    }

    /// Makes an [`ErrorKind::Invalid`] error.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Makes an [`ErrorKind::Io`] error. `doing` describes the operation that failed.
    pub(crate) fn io(doing: impl fmt::Display, error: std::io::Error) -> Self {
        Self::from(error).context(doing)
    }

    /// Makes an [`ErrorKind::Peer`] error, for a request that the peer refused.
    pub(crate) fn peer(peer: impl fmt::Display, method: &str, rpc: RpcError) -> Self {
        let mut this = Self::new(ErrorKind::Peer, format!("'{peer}' refused {method}: {rpc}"));
        // Since 2026-07-28 a missing resource is an invalid param; older revisions have a code for
        // it.
        this.0.not_found = rpc.code == ErrorCode::RESOURCE_NOT_FOUND
            || (rpc.code == ErrorCode::INVALID_PARAMS && method == "resources/read");
        this.0.rpc = Some(rpc);
        this.0.sent = Some(true);
        this
    }

    pub(crate) fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Replaces the [`kind`](Self::kind), and leaves the rest of the error unchanged. For a caller
    /// who knows the cause better: an invalid argument that a peer has sent is
    /// [`ErrorKind::Protocol`].
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    pub(crate) fn with_stderr_tail(mut self, tail: Option<String>) -> Self {
        self.0.stderr_tail = tail;
        self
    }

    /// Stores a copy of the peer's unusable result in the error, if there is memory for the copy.
    pub(crate) fn with_result(mut self, result: &str) -> Self {
        let mut copy = String::new();
        if copy.try_reserve_exact(result.len()).is_ok() {
            copy.push_str(result);
            self.0.result = Some(Arc::new(copy));
        }
        self
    }

    /// Sets whether the request was passed to the transport: see [`was_sent`](Self::was_sent).
    /// Defaults to false. Without this setting, the library assumes that an HTTP client of the host
    /// has sent the request.
    pub fn sent(mut self, sent: bool) -> Self {
        self.0.sent = Some(sent);
        self
    }

    /// Puts a description of the failed operation, or of the object concerned, before the error
    /// text.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Protocol, "the content is not UTF-8");
    /// let error = error.context("'skill://a/x' of 'github'").remark("get it again");
    /// assert_eq!(
    ///     error.to_string(),
    ///     "'skill://a/x' of 'github': the content is not UTF-8; get it again"
    /// );
    /// ```
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.0.message = format!("{doing}: {}", self.0.message);
        self
    }

    /// Appends a remark to the error text, for example the remedy.
    pub fn remark(mut self, remark: impl fmt::Display) -> Self {
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

    /// Sets whether the HTTP response may refuse the whole session instead of the request. A
    /// response may refuse the session in two cases: its body is not a JSON-RPC error with the
    /// request's id, or the error is about the session.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn vague(mut self, is_vague: bool) -> Self {
        if let Some(http) = &mut self.0.http {
            http.is_vague = is_vague;
        }
        self
    }

    /// Sets the OAuth error code of the authorization server. Ignores a text that has more than 64
    /// characters, or characters that error codes can't have.
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

    /// Sets the [`skill_fault`](Self::skill_fault), for a program that verifies the content of
    /// skills itself.
    pub fn with_skill_fault(mut self, fault: SkillFault) -> Self {
        self.0.skill_fault = Some(fault);
        self
    }

    /// Copies the HTTP response from `other`, which is the server's refusal of the same request.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn answered_like(mut self, other: &Self) -> Self {
        self.0.http.clone_from(&other.0.http);
        self
    }

    /// Whether the HTTP response may refuse the whole session instead of the request.
    pub(crate) fn is_vague(&self) -> bool {
        self.0.http.as_ref().is_some_and(|http| http.is_vague)
    }

    /// Adds the peer's error object. The error text does not name the request yet: see
    /// [`refusing`](Self::refusing).
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn with_rpc(mut self, rpc: RpcError) -> Self {
        self.0.rpc = Some(rpc);
        self
    }

    /// Turns an error that contains the peer's error object into the [`ErrorKind::Peer`] error of
    /// this request. Returns other errors unchanged.
    pub(crate) fn refusing(self, peer: impl fmt::Display, method: &str) -> Self {
        let Some(rpc) = self.0.rpc.clone() else {
            return self;
        };
        let mut this = Self::peer(peer, method, rpc);
        this.0.http = self.0.http;
        this
    }

    /// Returns the cause of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the error object of the peer, if the peer refused the request.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.rpc.as_ref()
    }

    /// Whether the peer answered that the resource does not exist. The code is -32002, or -32602 in
    /// answer to `resources/read`.
    pub fn is_not_found(&self) -> bool {
        self.0.not_found
    }

    /// Whether the request was passed to the transport, so that the request may have had an effect
    /// on the peer.
    pub fn was_sent(&self) -> bool {
        self.0.sent == Some(true)
    }

    /// Whether the error says that the request was not sent. False for an error whose maker has not
    /// called [`sent`](Self::sent).
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "HTTP"))]
    pub(crate) fn says_not_sent(&self) -> bool {
        self.0.sent == Some(false)
    }

    /// Whether a retry of the call may succeed, and the call can't have had an effect yet.
    ///
    /// True in two cases. In the first case the request was not sent: too many requests were in
    /// flight, or a timeout or a failed connection prevented the sending. In the second case the
    /// peer was busy: it answered with HTTP status 429 or 503, or its error has `"busy": true` in
    /// the [data](RpcError::data), as errors of servers of this library have.
    pub fn is_retryable(&self) -> bool {
        match self.0.kind {
            ErrorKind::Busy => true,
            ErrorKind::Timeout | ErrorKind::Closed | ErrorKind::Io => !self.was_sent(),
            ErrorKind::Http | ErrorKind::Peer => {
                matches!(self.http_status(), Some(429 | 503))
                    || self.rpc().is_some_and(RpcError::says_busy)
            }
            _ => false,
        }
    }

    /// Returns the operating system's error number (`errno`), if the operating system refused an
    /// operation.
    pub fn os_code(&self) -> Option<i32> {
        self.0.os_code
    }

    /// Returns the JSON text of a result that was received but can't be used. The result violates
    /// the specification, or does not fit the schema that the peer advertised. In the second case
    /// the text can be read as [`CallToolResult`](crate::schema::CallToolResult).
    pub fn result(&self) -> Option<&str> {
        self.0.result.as_ref().map(|result| result.as_str())
    }

    /// Returns the HTTP status of the response that caused the error. The status is 200 if the
    /// response was a success that had no answer to the request.
    pub fn http_status(&self) -> Option<u16> {
        self.0.http.as_ref().map(|answer| answer.status)
    }

    /// Returns the header field `WWW-Authenticate` of the server's response: the authentication
    /// that the server requires.
    pub fn http_challenge(&self) -> Option<&str> {
        self.0.http.as_ref()?.challenge.as_deref()
    }

    /// Returns the OAuth error code of a refusal by an authorization server, for example
    /// `access_denied` (OAuth 2.1, sections 3.2.4 and 4.1.2.1).
    pub fn oauth_code(&self) -> Option<&str> {
        self.0.oauth_code.as_deref()
    }

    /// Returns the way in which the content of a skill failed its verification; `None` for other
    /// errors.
    ///
    /// Spec: Extensions, Skills, "Integrity and Verification" (2026-07-28).
    pub fn skill_fault(&self) -> Option<SkillFault> {
        self.0.skill_fault
    }

    /// Returns the last lines that a child process wrote to its standard error, after its last
    /// answer. The format `{:#}` of the error includes them.
    pub fn stderr_tail(&self) -> Option<&str> {
        self.0.stderr_tail.as_deref()
    }
}

/// Converts an error of the operating system, so that `?` works in functions that return
/// [`Result`]. The kind is [`ErrorKind::Io`].
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let os_code = error.raw_os_error();
        let mut this = Self::new(ErrorKind::Io, error.to_string()).with_source(error);
        this.0.os_code = os_code;
        this
    }
}

/// Writes the error text as one line; control characters in a peer's text are escaped. `{:#}`
/// appends the [last stderr lines](Error::stderr_tail) of a child process, each as a separate line.
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
///
/// # Examples
///
/// ```
/// use mcplink::{ErrorCode, RpcError};
///
/// let locked = ErrorCode::application(1001)?; // refuses the reserved codes
/// let error = RpcError::new(locked, "the account is locked").with_data(&["ada"])?;
/// assert_eq!(error.to_string(), "the account is locked (1001)");
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RpcError {
    /// The code, which identifies the kind of error.
    pub code: ErrorCode,
    /// The error message: one short sentence.
    pub message: String,
    /// Additional information about the error, as raw JSON.
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

    /// Whether `data` has `"busy": true`: the peer is busy, and may accept a retry.
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

    /// Makes the error that answers a message if this side has no memory to handle the message. The
    /// error has `"busy": true`, so that the sender may try again.
    pub(crate) fn no_memory(message: impl Into<String>) -> Self {
        let mut error = Self::internal(message);
        error.data = RawValue::from_string(r#"{"busy":true,"noMemory":true}"#.to_owned()).ok();
        error
    }

    /// Adds `data` to the error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `data` can't be written as JSON.
    pub fn with_data(mut self, data: &impl Serialize) -> Result<Self> {
        let raw = serde_json::value::to_raw_value(data)
            .map_err(|error| Error::invalid(format!("error data is not JSON: {error}")))?;
        self.data = Some(raw);
        Ok(self)
    }

    /// Adds `data` that is JSON already.
    pub(crate) fn with_json(mut self, data: &Value) -> Self {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }

    /// Makes *invalid params* (-32602): the params do not fit the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// Makes *method not found* (-32601): the receiver does not serve the method.
    pub fn method_not_found(method: &str) -> Self {
        let text = format!("method not found: {}", Excerpt(method));
        Self::new(ErrorCode::METHOD_NOT_FOUND, text)
    }

    /// Makes *invalid request* (-32600): the message is valid JSON but not a request.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// Makes the error *user rejected* (code -1): the user does not allow the server to use the
    /// model or to see the roots.
    pub fn user_rejected(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::USER_REJECTED, message)
    }

    /// Makes *internal error* (-32603). The peer sees this message: do not include paths or
    /// secrets.
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
/// Spec: Base Protocol, "Error Codes" (2026-07-28). Codes from -32768 to -32000 are reserved;
/// [`application`](Self::application) refuses them.
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
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// An internal error of the receiver.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The user refused, for example the use of the model.
    pub const USER_REJECTED: Self = Self(-1);
    /// A resource does not exist. Only legacy revisions use this code; later revisions use
    /// [`INVALID_PARAMS`](Self::INVALID_PARAMS).
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// HTTP headers and body disagree (since 2026-07-28).
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The request needs a capability that the client did not declare (since 2026-07-28).
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The server does not support the requested revision (since 2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);
    /// A URL elicitation has to be completed first (2025-11-25 only).
    pub const URL_ELICITATION_REQUIRED: Self = Self(-32042);

    /// Makes an error code of the application.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for a code from -32768 to -32000, which JSON-RPC and MCP reserve.
    pub fn application(code: i32) -> Result<Self> {
        if (-32768..=-32000).contains(&code) {
            return Err(Error::invalid(format!(
                "error code {code} is reserved: choose one outside -32768 to -32000"
            )));
        }
        Ok(Self(code.into()))
    }

    /// Makes an error code from the integer that a peer sent.
    pub(crate) const fn of(code: i64) -> Self {
        Self(code)
    }

    /// Returns the code as an integer.
    pub const fn value(self) -> i64 {
        self.0
    }
}

/// Displays at most 80 characters of a peer's text on one line, for error texts.
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

/// Writes text on one line. Escapes control characters, Unicode line and paragraph separators, and
/// characters that change the direction of the text after them.
fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let steers = |c: char| {
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
    };
    for piece in text.split_inclusive(steers) {
        match piece.char_indices().next_back() {
            Some((at, c)) if steers(c) => write!(f, "{}{}", &piece[..at], c.escape_default())?,
            _ => f.write_str(piece)?,
        }
    }
    Ok(())
}

/// Displays the beginning of a JSON value on one line, for error texts. For a large array or object
/// it displays only the size.
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

/// Returns serde's error text without the position. The position refers to a text that the reader
/// of the error does not see.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => what.to_owned(),
        None => text,
    }
}

/// Displays a duration with its unit, for example `250 ms` or `60 s`.
pub(crate) struct Span(pub(crate) Duration);

impl Span {
    /// Returns a measured duration, rounded to a tenth of a second from one second on. A timeout of
    /// 3 s that is noticed a millisecond late is reported as `3 s`.
    pub(crate) fn measured(duration: Duration) -> Self {
        const TENTH: u128 = 100;
        let millis = duration.as_millis();
        if millis < 1000 {
            return Self(duration);
        }
        let tenths = (millis + TENTH / 2) / TENTH;
        Self(Duration::from_millis(
            u64::try_from(tenths * TENTH).unwrap_or(u64::MAX),
        ))
    }
}

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

    // Promise 9: an error is one line in a log, whatever text a peer sends.
    #[test]
    fn the_text_of_an_error_is_one_line() {
        let rpc = RpcError::new(
            ErrorCode::INTERNAL_ERROR,
            "first\r\nsecond\u{2028}\u{85}\u{7f}\u{202e}\u{2066}ö",
        );
        let error = Error::peer("p", "tools/call", rpc).with_stderr_tail(Some("a\nb".to_owned()));
        let text = r"'p' refused tools/call: first\r\nsecond\u{2028}\u{85}\u{7f}\u{202e}\u{2066}ö (-32603)";
        assert_eq!(error.to_string(), text);
        let whole = format!("{text}; its last words on standard error:\na\nb");
        assert_eq!(format!("{error:#}"), whole);
        assert_eq!(format!("{error:?}"), format!("Peer: {whole}"));
        assert_eq!(error.stderr_tail(), Some("a\nb"));
    }

    #[test]
    fn durations_have_a_unit_and_measured_ones_few_digits() {
        for (millis, set, measured) in [
            (0, "0 s", "0 s"),
            (250, "250 ms", "250 ms"),
            (999, "999 ms", "999 ms"),
            (1000, "1 s", "1 s"),
            (1500, "1500 ms", "1500 ms"),
            (2996, "2996 ms", "3 s"),
            (3000, "3 s", "3 s"),
            (3001, "3001 ms", "3 s"),
            (3070, "3070 ms", "3100 ms"),
            (60_004, "60 s", "60 s"),
        ] {
            let span = Duration::from_millis(millis);
            assert_eq!(Span(span).to_string(), set);
            assert_eq!(Span::measured(span).to_string(), measured);
        }
        assert!(Span::measured(Duration::MAX).to_string().ends_with(" s"));
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
