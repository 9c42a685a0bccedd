//! Denied requests, and the reason.
//!
//! Spec: Base Protocol, Authorization, "Error Handling" (2025-03-26 and later); RFC 6750, section
//! 3; RFC 9449, section 7.1.

use std::collections::BTreeSet;

use crate::protocol::LogLevel;
use crate::protocol::principal::scope_set;

/// The authentication scheme of an access token alone.
pub(super) const BEARER: &str = "Bearer";
/// The authentication scheme of an access token that comes with a proof of the token's key.
pub(super) const DPOP: &str = "DPoP";

/// The reason why a request is refused. The reason decides the HTTP response.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::{Denied, HttpOptions, StaticTokens};
///
/// let tokens = StaticTokens::new().token("f0f4a1b5", "ada").token("00c3d2e1", "eve");
/// let options = HttpOptions::new().authenticate(move |request| match tokens.check(request)? {
///     locked if locked.name() == "eve" => Err(Denied::forbidden()),
///     principal => Ok(principal),
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Denied(pub(super) Why);

#[derive(Clone, Debug)]
pub(super) enum Why {
    /// The request has no access token.
    NoToken,
    /// The reason why the credentials can't be parsed.
    Malformed(String),
    InvalidToken(String),
    /// The reason why the proof of the token's key is invalid.
    #[cfg_attr(not(feature = "jwt"), expect(dead_code, reason = "proofs"))]
    Proof(String),
    /// The nonce that the proof must contain when the client repeats the request.
    #[cfg_attr(not(feature = "jwt"), expect(dead_code, reason = "proofs"))]
    Nonce(String),
    Scopes(BTreeSet<String>),
    Challenge(String),
    Forbidden,
    Unavailable(String),
}

impl Denied {
    /// Denies an unknown sender: responds with status 401, and with this challenge in
    /// `WWW-Authenticate` (RFC 9110, section 11.6.1).
    pub fn unauthorized(challenge: impl Into<String>) -> Self {
        Self(Why::Challenge(challenge.into()))
    }

    /// Denies a sender that is known but not allowed: responds with status 403.
    pub fn forbidden() -> Self {
        Self(Why::Forbidden)
    }

    /// Denies an invalid access token: responds with status 401, so that the client obtains a new
    /// token.
    ///
    /// The reason is sent to the client and to
    /// [`ServerBuilder::on_log`](crate::server::ServerBuilder::on_log), so it must not quote the
    /// token. Example: "it has expired".
    pub fn invalid_token(why: impl Into<String>) -> Self {
        Self(Why::InvalidToken(why.into()))
    }

    /// Denies a request whose token lacks one of these required scopes: responds with status 403.
    /// The client can then request the scopes from its user.
    pub fn insufficient_scope<S: AsRef<str>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self(Why::Scopes(scope_set(scopes)))
    }

    /// Denies a request whose authorization can't be checked at the moment: responds with status
    /// 503. The client keeps its token. The reason is logged for the host, and is not sent to the
    /// client.
    pub fn unavailable(why: impl Into<String>) -> Self {
        Self(Why::Unavailable(why.into()))
    }

    /// Returns the log message for the host. Returns `None` if nothing has to be logged.
    pub(super) fn for_host(&self) -> Option<(LogLevel, String)> {
        let level = match &self.0 {
            Why::InvalidToken(_) | Why::Proof(_) => LogLevel::Info,
            Why::Unavailable(_) => LogLevel::Error,
            _ => LogLevel::Debug,
        };
        let text = match &self.0 {
            Why::InvalidToken(why) => format!("an access token was refused: {why}"),
            Why::Proof(why) => format!("a proof of a token's key was refused: {why}"),
            Why::Unavailable(why) => format!("access can't be checked: {why}"),
            Why::Malformed(why) => format!("credentials can't be read: {why}"),
            Why::Scopes(_) => "a user lacks scopes that every request needs".to_owned(),
            Why::Challenge(_) | Why::Forbidden => "a request was not authorized".to_owned(),
            // Clients normally get these answers while they discover the requirements of the
            // server.
            Why::NoToken | Why::Nonce(_) => return None,
        };
        Some((level, text))
    }
}
