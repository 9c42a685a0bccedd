//! Why a handler can't give what was asked for.

use std::any::Any;
use std::collections::BTreeSet;
use std::error::Error as StdError;

use serde_json::json;

use crate::error::{ErrorCode, RpcError};
use crate::protocol::principal::scope_set;
use crate::schema::ProtocolVersion;

/// Why a resource can't be read, a prompt not be given, an argument not be completed or, by a [guard](super::Guard), a request not be
/// admitted.
///
/// Unlike tools, these have no way to fail but with an error of the protocol. An [`RpcError`] taken in with `?` goes to the client as it
/// is. Any other error becomes an internal error, and its text is for the host: see
/// [`ServerBuilder::on_log`](super::ServerBuilder::on_log).
#[derive(Debug)]
pub struct HandlerError(pub(super) Failure);

#[derive(Debug)]
pub(super) enum Failure {
    NotFound,
    /// These were not granted, or not all of them.
    Scopes(BTreeSet<String>),
    Protocol(RpcError),
    Inner(String),
}

impl HandlerError {
    /// What was asked for does not exist. For a resource the client is told so in the way of its revision.
    pub fn not_found() -> Self {
        Self(Failure::NotFound)
    }

    /// What was asked for needs these scopes, all of them: also those that were granted. Over HTTP the client is told so with status 403, and
    /// can have its user grant them. See [`Access::need_scopes`](super::Access::need_scopes).
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

/// A resource that does not exist, told in the way of the legacy revisions. See `for_revision`.
pub(super) fn resource_not_found(uri: &str) -> RpcError {
    let error = RpcError::new(ErrorCode::RESOURCE_NOT_FOUND, "resource not found");
    error
        .clone()
        .with_data(&json!({ "uri": uri }))
        .unwrap_or(error)
}

/// The modern era knows the code of missing resources no more, wherever an error comes from.
pub(super) fn for_revision(mut error: RpcError, revision: ProtocolVersion) -> RpcError {
    if revision.is_modern() && error.code == ErrorCode::RESOURCE_NOT_FOUND {
        error.code = ErrorCode::INVALID_PARAMS;
    }
    error
}
