//! What went wrong, as C sees it.

use std::ffi::c_char;
use std::fmt;

use super::entry::{free, get};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{Text, mcplink_str_t, view_or_empty};
use crate::error::{Error, ErrorKind};

/// What went wrong: who failed, and what to do. Made by a function that fails; the caller's to free.
pub struct mcplink_error_t {
    status: mcplink_status,
    message: Text,
    method: Option<Text>,
    data: Option<Text>,
    stderr: Option<Text>,
    challenge: Option<Text>,
    oauth_code: Option<Text>,
    error: Error,
}

/// Why a function of the interface fails.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: mcplink_status,
    method: Option<String>,
    error: Error,
}

impl Failure {
    /// One that the Rust side has no kind for.
    pub(super) fn new(status: mcplink_status, text: impl Into<String>) -> Self {
        Self {
            status,
            method: None,
            error: Error::new(ErrorKind::State, text),
        }
    }

    /// Says which method it was.
    pub(super) fn of(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Puts before the text what was being done.
    pub(super) fn context(mut self, doing: impl fmt::Display) -> Self {
        self.error = self.error.context(doing);
        self
    }

    /// For who goes on in Rust.
    pub(super) fn into_error(self) -> Error {
        self.error
    }

    /// Where nothing but the status is told.
    pub(super) fn code(&self) -> mcplink_status_t {
        self.status.code()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            status: error.kind().into(),
            method: None,
            error,
        }
    }
}

impl From<Failure> for mcplink_error_t {
    fn from(failure: Failure) -> Self {
        let Failure {
            status,
            method,
            error,
        } = failure;
        let data = error.rpc().and_then(|rpc| rpc.data.as_deref());
        Self {
            status,
            message: error.to_string().into(),
            method: method.map(Text::from),
            data: data.map(|data| data.get().into()),
            stderr: error.stderr_tail().map(Text::from),
            challenge: error.http_challenge().map(Text::from),
            oauth_code: error.oauth_code().map(Text::from),
            error,
        }
    }
}

/// Frees an error.
///
/// error: NULL is fine. Views of it end here. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_free(error: *mut mcplink_error_t) {
    // SAFETY: the header says that it is an error of ours, freed once.
    unsafe { free(error) }
}

/// The status that the failed call returned.
///
/// error: NULL for MCPLINK_OK.
/// Returns: one of MCPLINK_E_*. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_status(error: *const mcplink_error_t) -> mcplink_status_t {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    error.map_or(mcplink_status::MCPLINK_OK.code(), |error| {
        error.status.code()
    })
}

/// What went wrong, in one sentence that says what to do, on one line. The last words of a child that died: mcplink_error_peer_stderr.
///
/// error: NULL for "".
/// Returns: text that ends in NUL, valid as long as the error; never NULL. It is for people: tell failures apart by their status. Threads:
/// any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_message(error: *const mcplink_error_t) -> *const c_char {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    error.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// The method of the request that failed, for example "tools/call".
///
/// error: NULL for none.
/// Returns: valid as long as the error; empty when it was no request. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_method(error: *const mcplink_error_t) -> mcplink_str_t {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.method.as_ref()))
}

/// The code of the peer's error (JSON-RPC), for example -32602.
///
/// error: NULL for 0.
/// Returns: 0 when it is not the peer that refused. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_rpc_code(error: *const mcplink_error_t) -> i64 {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    let rpc = error.and_then(|error| error.error.rpc());
    rpc.map_or(0, |rpc| rpc.code.value())
}

/// The data of the peer's error, as JSON text.
///
/// error: NULL for none.
/// Returns: valid as long as the error; empty when there is none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_data(error: *const mcplink_error_t) -> mcplink_str_t {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.data.as_ref()))
}

/// The operating system's error number (errno).
///
/// error: NULL for 0.
/// Returns: 0 when it is not the system that refused. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_os_code(error: *const mcplink_error_t) -> i32 {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    error
        .and_then(|error| error.error.os_code())
        .unwrap_or_default()
}

/// The HTTP status that a server answered with, if it was another one than success.
///
/// error: NULL for 0.
/// Returns: 0 when there was none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_http_status(error: *const mcplink_error_t) -> i32 {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    let status = error.and_then(|error| error.error.http_status());
    status.unwrap_or_default().into()
}

/// What an HTTP server asks for before it lets anybody in: the field WWW-Authenticate of its answer.
///
/// error: NULL for none.
/// Returns: valid as long as the error; empty when there is none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_http_challenge(
    error: *const mcplink_error_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.challenge.as_ref()))
}

/// The error code of OAuth with which an authorization server refused a login or a token, for example "access_denied" or "invalid_grant".
///
/// error: NULL for none.
/// Returns: valid as long as the error; empty when there is none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_oauth_code(error: *const mcplink_error_t) -> mcplink_str_t {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.oauth_code.as_ref()))
}

/// The last words of a child process: the last lines that it wrote to its standard error after its last answer.
///
/// error: NULL for none.
/// Returns: valid as long as the error; empty when there are none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_peer_stderr(error: *const mcplink_error_t) -> mcplink_str_t {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.stderr.as_ref()))
}

/// Whether the same call may work later, and can't have had an effect yet: nothing was sent, or the peer said that it has no time.
///
/// error: NULL for false.
/// Returns: true if so. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_is_retryable(error: *const mcplink_error_t) -> bool {
    // SAFETY: the header says that it is an error of ours.
    let error = unsafe { get(error) };
    error.is_some_and(|error| error.error.is_retryable())
}
