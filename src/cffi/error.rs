//! The error object of the C interface.

use std::ffi::c_char;

use super::entry::{free, get};
pub(super) use super::failure::{Failure, mcplink_error_t};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{mcplink_str_t, view_or_empty};

/// Frees an error.
///
/// error: the error; may be NULL. Text that belongs to the error is invalid afterwards. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_free(error: *mut mcplink_error_t) {
    // SAFETY: the header requires an error of this library, freed once.
    unsafe { free(error) }
}

/// Returns the status that the failed function returned.
///
/// error: the error; for NULL the function returns MCPLINK_OK.
/// Returns: one of MCPLINK_E_*. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_status(error: *const mcplink_error_t) -> mcplink_status_t {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    error.map_or(mcplink_status::MCPLINK_OK.code(), |error| {
        error.status.code()
    })
}

/// Returns the message: one line that says what failed and what to do. See
/// mcplink_error_peer_stderr for the last output of a child process.
///
/// error: the error; for NULL the function returns "".
/// Returns: text that ends in NUL, valid as long as the error; never NULL. The text is for users.
/// To distinguish failures, compare their status. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_message(error: *const mcplink_error_t) -> *const c_char {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    error.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Returns the method of the request that failed, for example "tools/call".
///
/// error: the error; for NULL the function returns empty text.
/// Returns: text that is valid as long as the error; empty when no request failed. Threads: any.
/// Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_method(error: *const mcplink_error_t) -> mcplink_str_t {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.method.as_ref()))
}

/// Returns the JSON-RPC code of the peer's error, for example -32602.
///
/// error: the error; for NULL the function returns 0.
/// Returns: 0 when the error did not come from the peer. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_rpc_code(error: *const mcplink_error_t) -> i64 {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    let rpc = error.and_then(|error| error.error.rpc());
    rpc.map_or(0, |rpc| rpc.code.value())
}

/// Returns the data of the peer's JSON-RPC error, as JSON text.
///
/// error: the error; for NULL the function returns empty text.
/// Returns: text that is valid as long as the error; empty when the error has no data. Threads:
/// any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_data(error: *const mcplink_error_t) -> mcplink_str_t {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.data.as_ref()))
}

/// Returns the operating system's error number (errno).
///
/// error: the error; for NULL the function returns 0.
/// Returns: 0 when the error did not come from the system. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_os_code(error: *const mcplink_error_t) -> i32 {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    error
        .and_then(|error| error.error.os_code())
        .unwrap_or_default()
}

/// Returns the HTTP status of the server's answer, if the status was an error.
///
/// error: the error; for NULL the function returns 0.
/// Returns: 0 when the error has no HTTP status. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_http_status(error: *const mcplink_error_t) -> i32 {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    let status = error.and_then(|error| error.error.http_status());
    status.unwrap_or_default().into()
}

/// Returns the authentication challenge of an HTTP server: the header field WWW-Authenticate of the
/// server's answer.
///
/// error: the error; for NULL the function returns empty text.
/// Returns: text that is valid as long as the error; empty when the answer has no challenge.
/// Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_http_challenge(
    error: *const mcplink_error_t,
) -> mcplink_str_t {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.challenge.as_ref()))
}

/// Returns the OAuth error code with which an authorization server refused a login or a token, for
/// example "access_denied" or "invalid_grant".
///
/// error: the error; for NULL the function returns empty text.
/// Returns: text that is valid as long as the error; empty when the error has no such code.
/// Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_oauth_code(error: *const mcplink_error_t) -> mcplink_str_t {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.oauth_code.as_ref()))
}

/// Returns the last lines that a child process wrote to its standard error after its last answer.
///
/// error: the error; for NULL the function returns empty text.
/// Returns: text that is valid as long as the error; empty when there are no such lines. Threads:
/// any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_peer_stderr(error: *const mcplink_error_t) -> mcplink_str_t {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    view_or_empty(error.and_then(|error| error.stderr.as_ref()))
}

/// Checks whether the request that failed may have had an effect on the server: whether a part of
/// it may have been sent. If not, the same call can be made again without doing anything twice.
///
/// error: the error; for NULL the function returns false.
/// Returns: true if the request may have been sent. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_was_sent(error: *const mcplink_error_t) -> bool {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    error.is_some_and(|error| error.error.was_sent())
}

/// Checks whether the call can be retried. A call can be retried if nothing was sent, or if the
/// peer answered that the peer is busy. In both cases the call had no effect, and may succeed
/// later.
///
/// error: the error; for NULL the function returns false.
/// Returns: true if the call can be retried. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_is_retryable(error: *const mcplink_error_t) -> bool {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error) };
    error.is_some_and(|error| error.error.is_retryable())
}
