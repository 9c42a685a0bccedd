//! The failure of a function of the C interface, and the error object that is made of it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::handle::{Fault, Object};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{Text, missing};
use super::wording::for_c;
use crate::error::{Error, ErrorKind};
use crate::protocol::LogLevel;

/// An error: what failed, and what to do about it. A function that fails returns an error through
/// its parameter err. The caller owns the error and frees it with mcplink_error_free.
///
/// A function sets *err to NULL first, and never reads or frees the old value. So free an error
/// before its variable is passed to the next function. When 1000 errors are not freed, a warning is
/// logged: see mcplink_set_log.
pub struct mcplink_error_t {
    _live: Live,
    pub(super) status: mcplink_status,
    pub(super) message: Text,
    pub(super) method: Option<Text>,
    pub(super) data: Option<Text>,
    pub(super) stderr: Option<Text>,
    pub(super) challenge: Option<Text>,
    pub(super) oauth_code: Option<Text>,
    pub(super) error: Error,
}

/// The number of errors that are not freed.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Counts an error until it is freed.
struct Live;

impl Live {
    fn new() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

/// Returns the number of errors that are not freed.
pub(super) fn live_errors() -> usize {
    LIVE.load(Ordering::Relaxed)
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

object!(mcplink_error_t is Error);

/// The error type of the C interface: a status for C, and the Rust error.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: mcplink_status,
    method: Option<String>,
    error: Error,
    /// Whether an argument was an object of another kind, or one that was freed.
    is_wrong_object: bool,
}

impl Failure {
    /// Makes a failure whose status has no [`ErrorKind`].
    pub(super) fn new(status: mcplink_status, text: impl Into<String>) -> Self {
        Self {
            status,
            method: None,
            error: Error::new(ErrorKind::State, text),
            is_wrong_object: false,
        }
    }

    /// Makes the failure of a function whose parameter `what` must be a `T`. `fault` is the reason
    /// why the argument is no `T`.
    pub(super) fn object<T: Object>(fault: Fault, what: &str) -> Self {
        let expected = T::KIND.name();
        let (kind, text) = match fault {
            Fault::Null => return missing(what).into(),
            Fault::Other(found) => (
                ErrorKind::Invalid,
                format!("{what} must be a {expected}, but is a {}", found.name()),
            ),
            Fault::Stale => (
                ErrorKind::State,
                format!(
                    "{what} is no longer valid: this {expected} was freed, or the callback that \
                     borrowed it has returned"
                ),
            ),
            Fault::Borrowed => (
                ErrorKind::State,
                format!("{what} is borrowed: the library frees this {expected}"),
            ),
            Fault::Unknown => (
                ErrorKind::Invalid,
                format!("{what} is no {expected}, or one that was freed"),
            ),
        };
        Self {
            is_wrong_object: true,
            ..Error::new(kind, text).into()
        }
    }

    /// Adds the method of the failed request to the failure.
    pub(super) fn of(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Puts the name of the failed operation in front of the message.
    pub(super) fn context(mut self, doing: impl fmt::Display) -> Self {
        self.error = self.error.context(doing);
        self
    }

    /// Returns the text for the log if the failure of a C function is a mistake of the host.
    pub(super) fn as_mistake(&self, function: &str) -> Option<String> {
        use mcplink_status as Status;
        let is_mistake = matches!(
            self.status,
            Status::MCPLINK_E_INVALID | Status::MCPLINK_E_STATE | Status::MCPLINK_E_UNSUPPORTED
        );
        is_mistake.then(|| self.clone().context(function).to_string())
    }

    /// Returns the level at which a mistake of the host is logged. An object of another kind is a
    /// bug of the host.
    pub(super) fn level(&self) -> LogLevel {
        match self.is_wrong_object {
            true => LogLevel::Error,
            false => LogLevel::Warning,
        }
    }

    /// Returns the Rust error, without the C status.
    pub(super) fn into_error(self) -> Error {
        self.error
    }

    /// Returns the status of the failure, for functions that have no parameter `err`.
    pub(super) fn code(&self) -> mcplink_status_t {
        self.status.code()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&for_c(&self.error.to_string()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            status: error.kind().into(),
            method: None,
            error,
            is_wrong_object: false,
        }
    }
}

impl From<Failure> for mcplink_error_t {
    fn from(failure: Failure) -> Self {
        let error = failure.error;
        let data = error.rpc().and_then(|rpc| rpc.data.as_deref());
        Self {
            _live: Live::new(),
            status: failure.status,
            message: for_c(&error.to_string()).as_ref().into(),
            method: failure.method.map(Text::from),
            data: data.map(|data| data.get().into()),
            stderr: error.stderr_tail().map(Text::from),
            challenge: error.http_challenge().map(Text::from),
            oauth_code: error.oauth_code().map(Text::from),
            error,
        }
    }
}
