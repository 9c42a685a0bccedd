//! The callback that provides bearer tokens.

use std::ffi::c_void;

use crate::cffi::output::mcplink_output_t;
use crate::cffi::status::mcplink_status_t;

/// Provides the token for one request. The function runs on the thread that sends the request,
/// possibly on several threads at once. The function should not wait for the server, because the
/// request waits for the function.
///
/// token: receives the token by mcplink_output_set.
/// Returns: MCPLINK_OK. With any other status the request is not sent, and fails with
/// MCPLINK_E_AUTH.
pub type mcplink_bearer_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        token: *mut mcplink_output_t,
    ) -> mcplink_status_t,
>;
