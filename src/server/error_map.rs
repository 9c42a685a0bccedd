//! Errors of handlers, and their mapping to protocol errors.

use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fmt;

use serde_json::json;

use super::ask_error::AskError;
use super::events::ServerEventKind;
use crate::error::{Error, ErrorCode, Excerpt, RpcError};
use crate::protocol::principal::scope_set;
use crate::protocol::{LogLevel, Peer};
use crate::schema::ProtocolVersion;

/// The error of a handler: of a tool, a resource, a prompt or a completer. A
/// [guard](super::Guard) that refuses a request returns such an error too.
///
/// The operator `?` converts every error that is `Send`, `Sync` and `'static`, also `String`,
/// `&str`, `Box<dyn Error + Send + Sync>` and the errors of `anyhow`. The kind of the error decides
/// which text the client gets:
///
/// | error | of a tool | of another handler |
/// |---|---|---|
/// | [`HandlerError::new`] | `isError` with the text | an internal error with the text |
/// | [`RpcError`] | this error | this error |
/// | [`mcplink::Error`](crate::Error) | an internal error | an internal error |
/// | any other error | `isError` with its text | an internal error |
///
/// `isError` marks the result of a tool that failed. The model can read its text and react to it.
/// Where the client gets an internal error without the text, the text is for the host: see
/// [`ServerBuilder::on_log`](super::ServerBuilder::on_log).
///
/// An [`AskError`] for which [`is_failure`](AskError::is_failure) returns true becomes an internal
/// error.
///
/// # Examples
///
/// ```
/// use mcplink::server::{Context, HandlerError};
///
/// fn add(numbers: Vec<String>, _: &Context) -> Result<String, HandlerError> {
///     let mut sum = 0_i64;
///     for number in numbers {
///         sum += number.parse::<i64>()?;
///     }
///     if sum > 1000 {
///         return Err(HandlerError::new("the sum is too large"));
///     }
///     Ok(sum.to_string())
/// }
/// ```
///
/// Spec: Server Features, Tools, "Error Handling".
#[derive(Debug)]
pub struct HandlerError(pub(super) Failure);

#[derive(Debug)]
pub(super) enum Failure {
    NotFound,
    /// The scopes that the request needs. At least one of them was not granted.
    Scopes(BTreeSet<String>),
    Protocol(RpcError),
    /// A text that the handler wrote for the client.
    Message(String),
    /// The text of an error from outside this library. The client gets the text only if the handler
    /// of a tool returned the error.
    Foreign(String),
    /// The text of a failure of the server. The text is for the host only.
    Inner(String),
    /// The reason why the return value of a tool handler can't be written as JSON. `respond`
    /// returns this error to the handler.
    Unwritable(Error),
}

impl HandlerError {
    /// Creates an error with a text for the client. If the handler of a tool returns the error, the
    /// model can read the text and react to it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Failure::Message(text.into()))
    }

    /// Returns the error for a requested item that does not exist. The handler of a
    /// [resource template](super::ServerBuilder::template) returns it for a URI that matches the
    /// template but has no resource. The client then gets the error code that its revision defines
    /// for a missing resource.
    pub fn not_found() -> Self {
        Self(Failure::NotFound)
    }

    /// Returns the error for a request that lacks a required scope. `scopes` must contain all
    /// required scopes, including scopes that are granted already.
    ///
    /// Over HTTP, the client gets status 403 with the scopes. The client can then ask its user to
    /// grant the scopes. See
    /// [`GuardedRequest::require_scopes`](super::GuardedRequest::require_scopes).
    pub fn insufficient_scope<S: AsRef<str>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self(Failure::Scopes(scope_set(scopes)))
    }
}

// `HandlerError` does not implement the trait `Error`. If it did, this conversion would overlap
// with the conversion of a type into itself.
impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let error: Box<dyn StdError + Send + Sync> = error.into();
        let ask_failed = error.downcast_ref().is_some_and(AskError::is_failure);
        if let Some(error) = error.downcast_ref::<RpcError>() {
            Self(Failure::Protocol(error.clone()))
        } else if let Some(error) = error.downcast_ref::<Error>() {
            Self(Failure::Inner(error.to_string()))
        } else if ask_failed {
            // The error was logged when the handler made the input request.
            Self(Failure::Protocol(RpcError::internal("internal error")))
        } else {
            Self(Failure::Foreign(error.to_string()))
        }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Message(text) | Failure::Foreign(text) => f.write_str(text),
            Failure::Protocol(error) => write!(f, "{error}"),
            Failure::NotFound => f.write_str("not found"),
            Failure::Scopes(scopes) => write!(f, "{}", missing_scopes(scopes)),
            Failure::Inner(_) | Failure::Unwritable(_) => f.write_str("internal error"),
        }
    }
}

/// Maps a handler's failure to the error that is sent to the client. The details are logged for the
/// host.
pub(super) fn reveal(
    peer: &Peer,
    method: &str,
    failure: Failure,
    (noun, name): (&str, &str),
) -> RpcError {
    let text = match failure {
        Failure::Protocol(error) => return error,
        Failure::NotFound => return RpcError::invalid_params(format!("{noun} not found")),
        Failure::Scopes(scopes) => return missing_scopes(&scopes),
        Failure::Message(text) => return RpcError::internal(text),
        Failure::Unwritable(error) => error.to_string(),
        Failure::Foreign(text) | Failure::Inner(text) => text,
    };
    let text = || format!("{noun} '{}' failed: {text}", Excerpt(name));
    let core = peer.core();
    core.log_as("server", LogLevel::Error, text);
    core.trouble(ServerEventKind::HandlerFailed, Some(method), text);
    RpcError::internal("internal error")
}

/// Returns the error for a client that lacks at least one of these scopes.
pub(super) fn missing_scopes(scopes: &BTreeSet<String>) -> RpcError {
    let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let text = format!("these scopes have to be granted first: {}", names.join(" "));
    RpcError::invalid_request(text)
}

/// Returns the error of a missing resource, with the code of the legacy revisions. `for_revision`
/// replaces the code for modern clients.
pub(super) fn resource_not_found(uri: &str) -> RpcError {
    let error = RpcError::new(ErrorCode::RESOURCE_NOT_FOUND, "resource not found");
    error.with_json(&json!({ "uri": uri }))
}

/// Returns an error in the form that the client's revision defines. The modern era has no special
/// error code for missing resources.
pub(super) fn for_revision(mut error: RpcError, revision: ProtocolVersion) -> RpcError {
    if revision.is_modern() && error.code == ErrorCode::RESOURCE_NOT_FOUND {
        error.code = ErrorCode::INVALID_PARAMS;
    }
    error
}
