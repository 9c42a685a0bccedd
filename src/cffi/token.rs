//! Tokens and other secrets that functions of the host provide.

use std::ffi::{c_char, c_void};

use super::actions::actions;
use super::entry::needing_mut;
use super::handle::{Kind as ObjectKind, Object};
use super::status::mcplink_status_t;
use super::text::payload;

/// An output parameter: receives a token or another secret from a function of the host. See
/// mcplink_token_set.
pub struct mcplink_token_t {
    pub(super) text: Option<String>,
}

impl Object for mcplink_token_t {
    const KIND: ObjectKind = ObjectKind::Token;
}

/// Provides the token for one request. The function runs on the thread that sends the request,
/// possibly on several threads at once. The function should not wait for the server, because the
/// request waits for the function.
///
/// token: receives the token by mcplink_token_set.
/// Returns: MCPLINK_OK. With any other status the request is not sent, and fails with
/// MCPLINK_E_AUTH.
pub type mcplink_bearer_fn = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, token: *mut mcplink_token_t) -> mcplink_status_t,
>;

actions! {
    needing_mut(token: mcplink_token_t);

    /// Sets the token or other secret that a function of the host provides: see for example
    /// mcplink_client_options_set_bearer_hook.
    ///
    /// token: the parameter token of the function of the host; valid until that function returns.
    /// text, len: the secret, which is copied; len may be MCPLINK_NUL for text that ends in NUL.
    /// Threads: the thread that runs the function.
    fn mcplink_token_set(text: *const c_char, len: usize) {
        token.text = Some(payload(text, len, "text")?.to_owned());
    }
}
