//! Verification of access tokens.

use std::time::{Duration, SystemTime};

use super::denied::Denied;
use crate::protocol::principal::Principal;
use crate::shares::Client;
use crate::transport::http::HttpRequest;

/// The tolerated difference between the clock of this machine and the clock of the issuer.
pub(super) const LEEWAY: Duration = Duration::from_secs(60);

/// Returns whether a time lies in the past by at least the tolerated difference between clocks.
pub(super) fn has_passed(when: SystemTime) -> bool {
    when.checked_add(LEEWAY)
        .is_some_and(|latest| latest <= SystemTime::now())
}

/// A verifier of access tokens. A closure that takes the token is a verifier too.
///
/// `JwtVerifier` (feature `jwt`) verifies signed tokens. For other tokens, query the authorization
/// server (RFC 7662) and cache its answer for a moment. The
/// [`ResourceServer`](super::ResourceServer) checks the audience and the expiry.
///
/// Never pass the token on: it was issued for this server only. For other services, the server must
/// obtain tokens of its own.
// M-AUTH-S-43
pub trait TokenVerifier: Send + Sync {
    /// Verifies a token. The verifier runs on the thread that read the request. Several threads may
    /// call `verify` at once. If the verifier panics, the request is answered with status 503 and
    /// the panic is logged.
    ///
    /// # Errors
    ///
    /// [`Denied::invalid_token`] for an invalid token, [`Denied::unavailable`] when the token can't
    /// be verified now.
    fn verify(&self, token: &str) -> Result<Grant, Denied>;
}

impl<F> TokenVerifier for F
where
    F: Fn(&str) -> Result<Grant, Denied> + Send + Sync,
{
    fn verify(&self, token: &str) -> Result<Grant, Denied> {
        self(token)
    }
}

/// The rights that a valid access token grants.
///
/// # Examples
///
/// ```
/// use mcplink::server::Principal;
/// use mcplink::server::http::{Denied, Grant, TokenVerifier};
///
/// // A verifier may also ask the authorization server.
/// let verifier = |token: &str| match token {
///     "k7Zq" => Ok(Grant::new(Principal::new("ada"), ["https://files.example/mcp"])),
///     _ => Err(Denied::invalid_token("it is unknown")),
/// };
/// let grant: Grant = verifier.verify("k7Zq").expect("the token is known");
/// assert_eq!(grant.principal().name(), "ada");
/// ```
#[derive(Clone, Debug)]
pub struct Grant {
    pub(super) principal: Principal,
    pub(super) audience: Vec<String>,
    /// The thumbprint of the key that the token is bound to. `None` if the token is not bound to a
    /// key.
    pub(super) key: Option<String>,
}

impl Grant {
    /// Creates the grant of a token that was issued to `principal`, for the servers in `audience`.
    ///
    /// The token is refused unless this server's URL is in `audience`. A verifier that checks the
    /// audience in another way must add that URL itself.
    pub fn new<S: Into<String>>(
        principal: Principal,
        audience: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            principal,
            audience: audience.into_iter().map(Into::into).collect(),
            key: None,
        }
    }

    /// Binds the token to a key of the client (DPoP). `thumbprint` identifies the key: the token or
    /// the authorization server gives it as `cnf.jkt` (RFC 7638).
    ///
    /// The token is then valid only with a proof of that key. Without `ResourceServer::dpop`
    /// (feature `jwt`) the token is refused. If a verifier omits the thumbprint of a bound token, a
    /// thief can use the token without the key.
    ///
    /// Spec: RFC 9449, section 6.
    pub fn bound_to(mut self, thumbprint: impl Into<String>) -> Self {
        self.key = Some(thumbprint.into());
        self
    }

    /// Returns the principal that the token was issued to.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the servers that the token was issued for.
    pub fn audience(&self) -> &[String] {
        &self.audience
    }

    /// Returns the thumbprint of the key that the token is bound to, if any.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// A check that the sender of a token has the key that the token is bound to.
pub(super) trait ProofCheck: Send + Sync {
    /// Returns whether tokens that are not bound to a key are refused.
    fn is_required(&self) -> bool;

    /// Returns the accepted signature algorithms of proofs.
    fn algorithms(&self) -> &'static [&'static str];

    /// Checks that a request to the URL `target` has a valid proof for its token. The proof must be
    /// made for this request and this token, with the key whose thumbprint is `thumbprint`. A valid
    /// proof is remembered as a proof of `client`, and is not accepted again.
    fn check(
        &self,
        request: &HttpRequest<'_>,
        target: &str,
        token: &str,
        thumbprint: &str,
        client: &Client,
    ) -> Result<(), Denied>;
}
