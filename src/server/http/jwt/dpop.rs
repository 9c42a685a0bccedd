//! Tokens that are bound to a key of the client, and what they have to come with.
//!
//! Spec: RFC 9449, sections 7 to 9 and 11; DPoP profile of MCP (draft, SEP-1932).

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::jwk::ALGORITHMS;
use super::proof::{Proof, Purpose};
use super::seen::{Seen, Unusable};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::json::millis;
use crate::server::StateKey;
use crate::server::http::denied::{Denied, Why};
use crate::server::http::resource_server::ProofCheck;
use crate::server::state::KeyRing;
use crate::shares::Client;
use crate::sync::Mutex;
use crate::transport::http::HttpRequest;

/// So far the clock of a client may be off.
const WINDOW: Duration = Duration::from_secs(5 * 60);
/// A client has to come back with a nonce before it is over.
const SHORTEST: Duration = Duration::from_secs(1);
const MAX_PROOFS: usize = 100_000;
/// What nonces are sealed for, so that nothing else passes for one.
const BINDING: &[u8] = b"DPoP-Nonce";

/// How tokens are taken that are bound to a key of the client (DPoP), so that whoever steals one can't use it.
///
/// Such a token comes as `Authorization: DPoP`, and with it a proof of the key in the field `DPoP`: signed for the method and address of this request,
/// for this token, and just now. A proof is taken once. Proofs are signed with `ES256`, `ES384`, `EdDSA`, `PS256` to `PS512` or `RS256` to
/// `RS512`. What is wrong with one is answered with status 401 and `DPoP error="invalid_dpop_proof"`.
///
/// Replicas of a server do not know which proofs the others have seen: one that is stolen on its way is good at each other replica for as long as
/// [`window`](Self::window) says, for the same request. [`nonces`](Self::nonces) make that shorter.
///
/// Spec: RFC 9449; DPoP profile of MCP (draft, SEP-1932).
///
/// # Examples
///
/// ```
/// use mcplink::server::http::{Dpop, HttpOptions, JwtVerifier, ResourceServer};
///
/// let issuer = "https://login.example";
/// let server = ResourceServer::new("https://files.example/mcp", [issuer], JwtVerifier::new(issuer))?
///     .dpop(Dpop::new().required());
/// let options = HttpOptions::new().authorization(server);
/// # Ok::<(), mcplink::Error>(())
/// ```
#[must_use]
pub struct Dpop {
    is_required: bool,
    window: Duration,
    nonces: Option<Nonces>,
    max_proofs: usize,
    /// Guards nothing else, and is held for moments.
    seen: Mutex<Seen>,
}

struct Nonces {
    keys: KeyRing,
    life: Duration,
}

impl Default for Dpop {
    fn default() -> Self {
        Self::new()
    }
}

impl Dpop {
    /// Takes both tokens that are bound to a key, with a proof, and tokens that are not bound.
    pub fn new() -> Self {
        Self {
            is_required: false,
            window: WINDOW,
            nonces: None,
            max_proofs: MAX_PROOFS,
            seen: Mutex::new(Seen::new(MAX_PROOFS)),
        }
    }

    /// Refuses tokens that are not bound to a key. Clients are told by the metadata, and by challenges that name no other way.
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// So far the time in a proof may be from the present, either way. Defaults to 5 min, and is never more.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window.min(WINDOW);
        self
    }

    /// How many proofs are remembered, so that none is taken twice: those of all clients, each for
    /// as long as it could be taken. Defaults to 100 000, which is some 25 MB, and 330 requests a
    /// second of clients whose clocks are right. 0: none is remembered.
    ///
    /// When there are more, the oldest of the client that has most are forgotten. Proofs of that
    /// client that are as old as those are refused from then on; those of others are taken.
    pub fn max_proofs(mut self, max: usize) -> Self {
        self.max_proofs = max;
        self.seen = Mutex::new(Seen::new(max));
        self
    }

    /// Wants a nonce of this server in each proof, so that none can be made in advance. A client that has none is given one with the refusal
    /// (`use_dpop_nonce`) and tries again; each is good for `life`, at least a second. Nonces are sealed by the first of the keys, and good if sealed by any of
    /// them: replicas share their keys. Defaults to no nonces.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when there is no key.
    pub fn nonces(mut self, keys: &[StateKey], life: Duration) -> Result<Self> {
        let keys = KeyRing::new(keys.to_vec()).ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                "nonces need a key to be sealed with (Dpop::nonces)",
            )
        })?;
        self.nonces = Some(Nonces { keys, life });
        Ok(self)
    }

    /// Each proof is taken once.
    fn check_replay(&self, client: &Client, proof: &Proof, now: f64) -> Result<(), &'static str> {
        if self.max_proofs == 0 {
            return Ok(());
        }
        // A second more, since times of proofs have fractions that are not remembered.
        let until = (now - self.window.as_secs_f64() - 1.0).max(0.0) as u64;
        let mut seen = self.seen.lock();
        let noted = seen.note(client, proof.id(), proof.made(), until);
        drop(seen);
        noted.map_err(|unusable| match unusable {
            Unusable::Shown => "it was shown before (jti)",
            Unusable::TooOld => {
                "it is older than all of this client that are remembered (Dpop::max_proofs)"
            }
        })
    }
}

impl Nonces {
    fn check(&self, proof: &Proof, now: f64) -> Result<(), Denied> {
        let now = (now * 1000.0) as u64;
        let opened = proof
            .nonce()
            .map(|nonce| self.keys.open(nonce, BINDING, now));
        if let Some(Ok(_)) = opened {
            return Ok(());
        }
        let expiry = now.saturating_add(millis(self.life.max(SHORTEST)));
        match self.keys.seal(&[], BINDING, expiry) {
            Ok(next) => Err(Denied(Why::Nonce(next))),
            Err(error) => Err(Denied::unavailable(error.to_string())),
        }
    }
}

impl ProofCheck for Dpop {
    fn is_required(&self) -> bool {
        self.is_required
    }

    fn algorithms(&self) -> &'static [&'static str] {
        &ALGORITHMS
    }

    fn check(
        &self,
        request: &HttpRequest<'_>,
        target: &str,
        token: &str,
        thumbprint: &str,
        client: &Client,
    ) -> Result<(), Denied> {
        let refuse = |why: &str| Denied(Why::Proof(why.to_owned()));
        let mut fields = request.values("DPoP");
        let (Some(field), None) = (fields.next(), fields.next()) else {
            return Err(refuse("there has to be one in the field DPoP, and no more"));
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_or(0.0, |since| since.as_secs_f64());
        let text = std::str::from_utf8(field).unwrap_or_default();
        let proof = Proof::read(text).map_err(refuse)?;
        let purpose = Purpose {
            method: request.method,
            target,
            token,
            thumbprint,
            now,
            window: self.window,
        };
        proof.check(&purpose).map_err(refuse)?;
        if let Some(nonces) = &self.nonces {
            nonces.check(&proof, now)?;
        }
        self.check_replay(client, &proof, now).map_err(refuse)
    }
}

impl fmt::Debug for Dpop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dpop")
            .field("is_required", &self.is_required)
            .field("window", &self.window)
            .field("max_proofs", &self.max_proofs)
            .finish_non_exhaustive()
    }
}
