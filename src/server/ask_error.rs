//! The error of an input request without an answer.

use std::error::Error as StdError;
use std::fmt;

use crate::error::{Error, RpcError};

/// The reason why an input request has no answer.
#[derive(Clone, Debug)]
pub struct AskError(Reason);

#[derive(Clone, Debug)]
enum Reason {
    Needed,
    Refused(RpcError),
    Failed(Error),
}

impl AskError {
    pub(super) fn pending() -> Self {
        Self(Reason::Needed)
    }

    pub(super) fn refused(refusal: RpcError) -> Self {
        Self(Reason::Refused(refusal))
    }

    /// Returns whether the answer to the input request has not come yet. If true, the handler
    /// should return. The handler is run again when the answer has come.
    pub fn is_pending(&self) -> bool {
        matches!(self.0, Reason::Needed)
    }

    /// Returns whether the input request has failed, so that no answer will come. A refusal by the
    /// client is not a failure: see [`refusal`](Self::refusal).
    ///
    /// For example, an input request fails when it is forbidden, when its answer can't be read, or
    /// when the connection has closed. The errors of [`recall`](super::Context::recall) and similar
    /// functions are failures too. The reason is logged for the host only.
    pub fn is_failure(&self) -> bool {
        matches!(self.0, Reason::Failed(_))
    }

    /// Returns the error if the input request failed: see [`is_failure`](Self::is_failure).
    pub fn failure(&self) -> Option<&Error> {
        match &self.0 {
            Reason::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error with which the client refused to answer. Only legacy clients can send such
    /// an error.
    pub fn refusal(&self) -> Option<&RpcError> {
        match &self.0 {
            Reason::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Needed => f.write_str("input of the client is needed first"),
            Reason::Refused(refusal) => write!(f, "the client refused to answer: {refusal}"),
            Reason::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl StdError for AskError {}

impl From<Error> for AskError {
    fn from(error: Error) -> Self {
        Self(Reason::Failed(error))
    }
}
