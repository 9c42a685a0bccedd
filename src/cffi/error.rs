//! The error object of the C interface.

use std::ffi::c_char;

use super::entry::{free, get};
pub(super) use super::failure::{Failure, mcplink_error_t};
use super::status::mcplink_status_t;
use super::text::mcplink_str_t;

/// Frees an error.
///
/// error: the error; may be NULL. Text that belongs to the error is invalid afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_free(error: *mut mcplink_error_t) {
    // SAFETY: the header requires an error of this library, freed once.
    unsafe { free(error) }
}

getters! {
    get(error: mcplink_error_t);

    /// Returns the status that the failed function returned.
    ///
    /// error: the error; for NULL the function returns MCPLINK_OK.
    /// Returns: one of MCPLINK_E_*.
    fn mcplink_error_status() -> mcplink_status_t {
        error.status.code()
    }

    /// Returns the method of the request that failed, for example "tools/call".
    ///
    /// Returns: text that is valid as long as the error; empty when no request failed.
    fn mcplink_error_method() -> mcplink_str_t {
        error.method.as_ref()?.view()
    }

    /// Returns the JSON-RPC code of the peer's error, for example -32602.
    ///
    /// Returns: 0 when the error did not come from the peer.
    fn mcplink_error_rpc_code() -> i64 {
        error.error.rpc()?.code.value()
    }

    /// Returns the data of the peer's JSON-RPC error, as JSON text.
    ///
    /// Returns: text that is valid as long as the error; empty when the error has no data.
    fn mcplink_error_data() -> mcplink_str_t {
        error.data.as_ref()?.view()
    }

    /// Returns the operating system's error number (errno).
    ///
    /// Returns: 0 when the error did not come from the system.
    fn mcplink_error_os_code() -> i32 {
        error.error.os_code()?
    }

    /// Returns the HTTP status of the server's answer, if the status was an error.
    ///
    /// Returns: 0 when the error has no HTTP status.
    fn mcplink_error_http_status() -> i32 {
        error.error.http_status()?.into()
    }

    /// Returns the authentication challenge of an HTTP server: the header field WWW-Authenticate of
    /// the server's answer.
    ///
    /// Returns: text that is valid as long as the error; empty when the answer has no challenge.
    fn mcplink_error_http_challenge() -> mcplink_str_t {
        error.challenge.as_ref()?.view()
    }

    /// Returns the OAuth error code with which an authorization server refused a login or a token,
    /// for example "access_denied" or "invalid_grant".
    ///
    /// Returns: text that is valid as long as the error; empty when the error has no such code.
    fn mcplink_error_oauth_code() -> mcplink_str_t {
        error.oauth_code.as_ref()?.view()
    }

    /// Returns the last lines that a child process wrote to its standard error after its last
    /// answer.
    ///
    /// Returns: text that is valid as long as the error; empty when there are no such lines.
    fn mcplink_error_peer_stderr() -> mcplink_str_t {
        error.stderr.as_ref()?.view()
    }

    /// Checks whether the request that failed may have had an effect on the server: whether a part
    /// of it may have been sent. If not, the same call can be made again without doing anything
    /// twice.
    ///
    /// Returns: true if the request may have been sent.
    fn mcplink_error_was_sent() -> bool {
        error.error.was_sent()
    }

    /// Checks whether the call can be retried. A call can be retried if nothing was sent, or if the
    /// peer answered that the peer is busy. In both cases the call had no effect, and may succeed
    /// later.
    ///
    /// Returns: true if the call can be retried.
    fn mcplink_error_is_retryable() -> bool {
        error.error.is_retryable()
    }
}

/// Returns the message: one line that says what failed and what to do. See
/// mcplink_error_peer_stderr for the last output of a child process.
///
/// Returns: text that ends in NUL, valid as long as the error; never NULL. The text is for users.
/// To distinguish failures, compare their status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_error_message(error: *const mcplink_error_t) -> *const c_char {
    // SAFETY: the header requires an error of this library.
    let error = unsafe { get(error, "mcplink_error_message") };
    error.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}
