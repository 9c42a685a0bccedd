//! Fixed access tokens of HTTP servers.

use std::ffi::c_char;

use super::options::mcplink_http_options_t;
use crate::cffi::refusal::set;
use crate::cffi::text::filled;

actions! {
    set(options: mcplink_http_options_t);

    /// Adds a fixed access token (API key): a client is accepted if it sends one of the added
    /// tokens as Authorization: Bearer TOKEN. Other requests get status 401. The library stores and
    /// looks up only digests of the tokens, so the time of a look-up reveals nothing about a token.
    /// If clients are authenticated in another way already (mcplink_http_options_on_authenticate,
    /// mcplink_http_options_set_resource_server), this call fails.
    ///
    /// token: the token, which should be at least 128 random bits, from a file or the environment.
    /// NULL and blank text are refused: an unset variable must not let everybody in. So is a token
    /// with other characters than visible ASCII, which no client can send.
    /// principal: the name of the client, for the handlers.
    fn mcplink_http_options_add_token(token: *const c_char, principal: *const c_char) {
        options.add_token(filled(token, "token")?, filled(principal, "principal")?)?;
    }
}
