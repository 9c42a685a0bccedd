//! What finds out what an access token is good for.

use std::time::{Duration, SystemTime};

use super::denied::Denied;
use crate::protocol::principal::Principal;

/// So far the clocks of two machines may be apart.
pub(super) const LEEWAY: Duration = Duration::from_secs(60);

/// Whether a time has passed, by a clock that may be slow.
pub(super) fn has_passed(when: SystemTime) -> bool {
    when.checked_add(LEEWAY)
        .is_some_and(|latest| latest <= SystemTime::now())
}

/// Finds out what access tokens are good for. A closure that takes the token is one.
///
/// `JwtVerifier` (feature `jwt`) is one for tokens that are signed; for others ask the authorization server (RFC 7662), and remember its answer
/// for a moment. Whom the token was issued for, and until when it is good, is checked by the [`ResourceServer`](super::ResourceServer).
///
/// Never hand the token on: it was issued for this server only. What a server needs elsewhere it gets a token of its own for.
// M-AUTH-S-43
pub trait TokenVerifier: Send + Sync {
    /// Finds out what a token is good for. Runs on the thread that read the request, many at once. When it panics the request is answered with
    /// status 503, and the log is told.
    ///
    /// # Errors
    ///
    /// [`Denied::invalid_token`] for one that is not good, [`Denied::unavailable`] when that can't be found out.
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

/// What an access token is good for.
#[derive(Clone, Debug)]
pub struct Grant {
    pub(super) principal: Principal,
    pub(super) audience: Vec<String>,
    /// The thumbprint of the key that it is bound to.
    pub(super) key: Option<String>,
}

impl Grant {
    /// A token with which `principal` acts, issued for the servers in `audience`: the address of this server is one of them, or else the token
    /// is refused. A verifier that makes sure of that in another way names that address itself.
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

    /// A token that is bound to a key of the client, by the thumbprint that the token, or the authorization server, gives (`cnf.jkt`; RFC 7638).
    /// It is good only together with a proof of that key: see `ResourceServer::dpop` (feature `jwt`), without which it is refused.
    ///
    /// A verifier that leaves this out lets whoever stole such a token use it.
    ///
    /// Spec: RFC 9449, section 6.
    pub fn bound_to(mut self, thumbprint: impl Into<String>) -> Self {
        self.key = Some(thumbprint.into());
        self
    }

    /// Who acts with it.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// For which servers it was issued.
    pub fn audience(&self) -> &[String] {
        &self.audience
    }

    /// The thumbprint of the key that it is bound to, if it is.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}
