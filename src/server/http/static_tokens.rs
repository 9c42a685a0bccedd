//! Fixed access tokens.

use std::collections::HashMap;
use std::fmt;

use super::denied::{BEARER, Denied};
use crate::protocol::principal::Principal;
use crate::skills::Digest;
use crate::transport::http::HttpRequest;

/// A fixed set of access tokens (API keys), for servers without an authorization server.
///
/// A client sends its token as `Authorization: Bearer TOKEN` (RFC 6750, section 2.1). Pass
/// [`check`](Self::check) to [`HttpOptions::authenticate`](super::HttpOptions::authenticate). The
/// set stores only SHA-256 digests of the tokens. A token should be at least 128 random bits, and
/// should come from a file or the environment, not from the source.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::{HttpOptions, StaticTokens};
///
/// # let from_environment = "f0f4a1b5c8d7e6";
/// let tokens = StaticTokens::new().token(from_environment, "ada");
/// let options = HttpOptions::new().authenticate(move |request| tokens.check(request));
/// ```
#[derive(Clone, Default)]
pub struct StaticTokens {
    /// The principals of the tokens, by the digest of the token. A lookup by digest takes a time
    /// that tells nothing about the tokens.
    principals: HashMap<Digest, Principal>,
}

impl StaticTokens {
    /// Makes a set without tokens. An empty set refuses every request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a token, and the principal that requests with this token have. A second principal for
    /// the same token replaces the first one.
    ///
    /// An empty token is not added: an unset variable must not let everybody in. Nor is a token
    /// with other characters than visible ASCII: no client can send it. White space around the
    /// token is removed.
    pub fn token(mut self, token: impl AsRef<[u8]>, principal: impl Into<Principal>) -> Self {
        let token = token.as_ref().trim_ascii();
        if Self::can_be_sent(token) {
            self.principals.insert(Digest::of(token), principal.into());
        }
        self
    }

    /// Whether a client can send a token in the field `Authorization`: the token has one or more
    /// visible ASCII characters.
    pub(crate) fn can_be_sent(token: &[u8]) -> bool {
        !token.is_empty() && token.iter().all(u8::is_ascii_graphic)
    }

    /// Returns the principal of a request.
    ///
    /// # Errors
    ///
    /// A [`Denied`] that is answered with status 401, when the request has no token, more than one
    /// `Authorization` field, or a token that is not in the set.
    pub fn check(&self, request: &HttpRequest<'_>) -> Result<Principal, Denied> {
        let mut fields = request.values("Authorization");
        let (Some(field), None) = (fields.next(), fields.next()) else {
            return Err(Denied::unauthorized(BEARER));
        };
        let token = field
            .split_at_checked(BEARER.len())
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(BEARER.as_bytes()))
            .and_then(|(_, rest)| rest.strip_prefix(b" "));
        let Some(token) = token else {
            return Err(Denied::unauthorized(BEARER));
        };
        let principal = self.principals.get(&Digest::of(token.trim_ascii()));
        principal
            .cloned()
            .ok_or_else(|| Denied::invalid_token("it is not a token of this server"))
    }
}

/// Shows the number of tokens, and no token.
impl fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticTokens")
            .field("count", &self.principals.len())
            .finish()
    }
}
