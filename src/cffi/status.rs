//! Status codes: the results of the exported functions.

use std::ffi::{CStr, c_char};

use crate::error::ErrorKind;

/// The result of a function: 0 is success, a negative number is a failure. A positive number is
/// success with a condition to check.
///
/// Codes are never renumbered and never reused. Treat an unknown negative code as failure.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_status {
    /// Success.
    MCPLINK_OK = 0,
    /// The tool ran and failed: the result contains the reason, for the model to read.
    MCPLINK_TOOL_ERROR = 1,
    /// The answer has not arrived yet.
    MCPLINK_PENDING = 2,
    /// An argument is invalid. A repeated call with the same argument fails too.
    MCPLINK_E_INVALID = -1,
    /// The function may not be called in the current state of the object.
    MCPLINK_E_STATE = -2,
    /// The connection or the handle is closed, or the peer has disconnected.
    MCPLINK_E_CLOSED = -3,
    /// No answer came before the deadline.
    MCPLINK_E_TIMEOUT = -4,
    /// The call was cancelled.
    MCPLINK_E_CANCELLED = -5,
    /// The peer answered with a JSON-RPC error: see mcplink_error_rpc_code.
    MCPLINK_E_PEER = -6,
    /// The peer violated the protocol.
    MCPLINK_E_PROTOCOL = -7,
    /// The operating system reported an error: see mcplink_error_os_code.
    MCPLINK_E_IO = -8,
    /// The child process could not be started.
    MCPLINK_E_SPAWN = -9,
    /// The server answered with an HTTP error status, without a JSON-RPC error: see
    /// mcplink_error_http_status.
    MCPLINK_E_HTTP = -10,
    /// The server requires other credentials, or rejected the credentials that were sent.
    MCPLINK_E_AUTH = -11,
    /// The peer, its protocol revision or this build of the library does not support the function.
    MCPLINK_E_UNSUPPORTED = -12,
    /// A size or count limit was reached, or the system has no memory for data from a peer.
    MCPLINK_E_LIMIT = -13,
    /// Too many requests are in flight. Nothing was sent.
    MCPLINK_E_BUSY = -14,
    /// The handle was made by the parent process before a fork. In the child the handle can't be
    /// used, and freeing it does nothing.
    MCPLINK_E_FORKED = -15,
    /// A bug in this library: the library panicked.
    MCPLINK_E_PANIC = -16,
    /// A failure of the host. Callbacks may return this status, and no function of the library
    /// returns it.
    MCPLINK_E_USER = -17,
}

use mcplink_status as Status;

/// A value of enum mcplink_status, or a value that a newer version of the library added.
pub type mcplink_status_t = i32;

impl Status {
    pub(super) const fn code(self) -> mcplink_status_t {
        self as mcplink_status_t
    }

    const ALL: [(Self, &'static CStr); 20] = [
        (Self::MCPLINK_OK, c"MCPLINK_OK"),
        (Self::MCPLINK_TOOL_ERROR, c"MCPLINK_TOOL_ERROR"),
        (Self::MCPLINK_PENDING, c"MCPLINK_PENDING"),
        (Self::MCPLINK_E_INVALID, c"MCPLINK_E_INVALID"),
        (Self::MCPLINK_E_STATE, c"MCPLINK_E_STATE"),
        (Self::MCPLINK_E_CLOSED, c"MCPLINK_E_CLOSED"),
        (Self::MCPLINK_E_TIMEOUT, c"MCPLINK_E_TIMEOUT"),
        (Self::MCPLINK_E_CANCELLED, c"MCPLINK_E_CANCELLED"),
        (Self::MCPLINK_E_PEER, c"MCPLINK_E_PEER"),
        (Self::MCPLINK_E_PROTOCOL, c"MCPLINK_E_PROTOCOL"),
        (Self::MCPLINK_E_IO, c"MCPLINK_E_IO"),
        (Self::MCPLINK_E_SPAWN, c"MCPLINK_E_SPAWN"),
        (Self::MCPLINK_E_HTTP, c"MCPLINK_E_HTTP"),
        (Self::MCPLINK_E_AUTH, c"MCPLINK_E_AUTH"),
        (Self::MCPLINK_E_UNSUPPORTED, c"MCPLINK_E_UNSUPPORTED"),
        (Self::MCPLINK_E_LIMIT, c"MCPLINK_E_LIMIT"),
        (Self::MCPLINK_E_BUSY, c"MCPLINK_E_BUSY"),
        (Self::MCPLINK_E_FORKED, c"MCPLINK_E_FORKED"),
        (Self::MCPLINK_E_PANIC, c"MCPLINK_E_PANIC"),
        (Self::MCPLINK_E_USER, c"MCPLINK_E_USER"),
    ];
}

impl From<ErrorKind> for Status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Auth => Self::MCPLINK_E_AUTH,
            ErrorKind::Busy => Self::MCPLINK_E_BUSY,
            ErrorKind::Cancelled => Self::MCPLINK_E_CANCELLED,
            ErrorKind::Closed => Self::MCPLINK_E_CLOSED,
            ErrorKind::Http => Self::MCPLINK_E_HTTP,
            ErrorKind::Invalid => Self::MCPLINK_E_INVALID,
            ErrorKind::Io => Self::MCPLINK_E_IO,
            ErrorKind::Limit => Self::MCPLINK_E_LIMIT,
            ErrorKind::Peer => Self::MCPLINK_E_PEER,
            ErrorKind::Protocol => Self::MCPLINK_E_PROTOCOL,
            ErrorKind::Spawn => Self::MCPLINK_E_SPAWN,
            ErrorKind::State => Self::MCPLINK_E_STATE,
            ErrorKind::Timeout => Self::MCPLINK_E_TIMEOUT,
            ErrorKind::Unsupported => Self::MCPLINK_E_UNSUPPORTED,
        }
    }
}

/// Returns the name of a status, for example "MCPLINK_E_TIMEOUT".
///
/// status: any number.
/// Returns: a static string that ends in NUL; "unknown status" for a number that this library does
/// not know. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_status_name(status: mcplink_status_t) -> *const c_char {
    let known = Status::ALL.iter().find(|(known, _)| known.code() == status);
    known.map_or(c"unknown status", |(_, name)| name).as_ptr()
}
