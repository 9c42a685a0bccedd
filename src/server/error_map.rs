//! Errors of handlers, and their mapping to protocol errors.

use std::any::Any;
use std::collections::BTreeSet;
use std::error::Error as StdError;

use serde_json::json;

use crate::error::{ErrorCode, RpcError};
use crate::protocol::principal::scope_set;
use crate::schema::ProtocolVersion;

/// The error of a handler that reads a resource, gets a prompt or completes an argument. A
/// [guard](super::Guard) that refuses a request returns such an error too.
///
/// Unlike tools, these handlers can fail only with a protocol error. An [`RpcError`] converted with
/// `?` is sent to the client unchanged. Any other error becomes an internal error. The text of that
/// error is for the host: see [`ServerBuilder::on_log`](super::ServerBuilder::on_log).
#[derive(Debug)]
pub struct HandlerError(pub(super) Failure);

#[derive(Debug)]
pub(super) enum Failure {
    NotFound,
    /// The request needs all these scopes, and at least one of them was not granted.
    Scopes(BTreeSet<String>),
    Protocol(RpcError),
    Inner(String),
}

impl HandlerError {
    /// Returns the error for a requested item that does not exist. If the item is a resource, the
    /// client gets the error code that the client's revision defines for a missing resource.
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

impl<E: StdError + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        match any.downcast_ref::<RpcError>() {
            Some(error) => Self(Failure::Protocol(error.clone())),
            None => Self(Failure::Inner(error.to_string())),
        }
    }
}

/// Returns the error of a missing resource, with the code of the legacy revisions. `for_revision`
/// replaces the code for modern clients.
pub(super) fn resource_not_found(uri: &str) -> RpcError {
    let error = RpcError::new(ErrorCode::RESOURCE_NOT_FOUND, "resource not found");
    error
        .clone()
        .with_data(&json!({ "uri": uri }))
        .unwrap_or(error)
}

/// Changes an error into its form in the client's revision. The modern era has no special error
/// code for missing resources.
pub(super) fn for_revision(mut error: RpcError, revision: ProtocolVersion) -> RpcError {
    if revision.is_modern() && error.code == ErrorCode::RESOURCE_NOT_FOUND {
        error.code = ErrorCode::INVALID_PARAMS;
    }
    error
}
