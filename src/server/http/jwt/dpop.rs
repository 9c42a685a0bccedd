//! DPoP: access tokens that are bound to a key of the client.
//!
//! Spec: RFC 9449, sections 7 to 9 and 11; DPoP profile of MCP (draft, SEP-1932).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::jwk::ALGORITHMS;
use super::proof::{Proof, Purpose};
use super::seen::{Seen, Unusable};
use crate::error::{Error, Result};
use crate::schema::json::millis;
use crate::server::StateKey;
use crate::server::debug_fields::debug_fields;
use crate::server::http::denied::{Denied, Why};
use crate::server::http::verifier::ProofCheck;
use crate::server::state::KeyRing;
use crate::shares::Client;
use crate::sync::Mutex;
use crate::transport::Limits;
use crate::transport::http::HttpRequest;

/// The default and maximum tolerance for the difference between the clocks of client and server.
const WINDOW: Duration = Duration::from_secs(5 * 60);
/// The minimum lifetime of a nonce. With a shorter lifetime, a nonce could expire before the client
/// has used it.
const SHORTEST: Duration = Duration::from_secs(1);
const MAX_PROOFS: usize = 100_000;
/// The data that sealed nonces are bound to, so that no other sealed text is accepted as a nonce.
const BINDING: &[u8] = b"DPoP-Nonce";

/// Settings for tokens that are bound to a key of the client (DPoP). A thief can't use a bound
/// token without the key.
///
/// A bound token comes as `Authorization: DPoP`, with a proof of the key in the field `DPoP`. The
/// proof is signed for the method and URL of the request, for the token, and for the present time.
/// Each proof is accepted once. The signature algorithms are `ES256`, `ES384`, `EdDSA`, `PS256` to
/// `PS512` and `RS256` to `RS512`. An invalid proof is answered with status 401 and `DPoP
/// error="invalid_dpop_proof"`.
///
/// Replicas of a server don't share the used proofs. So a stolen proof can be used once with each
/// other replica, but only for the request that it was made for, and only within
/// [`window`](Self::window). [`nonces`](Self::nonces) shorten this time.
///
/// Spec: RFC 9449; DPoP profile of MCP (draft, SEP-1932).
///
/// # Examples
///
/// ```
/// use mcplink::server::http::{Dpop, HttpOptions, JwtVerifier, ResourceServer};
///
/// let issuer = "https://login.example";
/// let verifier = JwtVerifier::new(issuer);
/// let server = ResourceServer::new("https://files.example/mcp", [issuer], verifier)?
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
    /// The settings for the clients' shares of `max_proofs`.
    limits: Limits,
    /// The proofs that clients have used. The lock guards nothing else, and is held only briefly.
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
    /// Creates settings that accept both unbound tokens and tokens that are bound to a key. A
    /// request with a bound token must have a proof of the key.
    pub fn new() -> Self {
        Self {
            is_required: false,
            window: WINDOW,
            nonces: None,
            max_proofs: 0,
            limits: Limits::default(),
            seen: Mutex::new(Seen::new(0, 0)),
        }
        .max_proofs(MAX_PROOFS)
    }

    /// Sets that tokens that are not bound to a key are refused. The metadata and the challenges
    /// then tell clients that a key is required.
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Sets the tolerated difference between the time in a proof and the present, in both
    /// directions. Defaults to 5 min, which is also the maximum: larger values are reduced to it.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window.min(WINDOW);
        self
    }

    /// Sets the maximum number of proofs that are remembered. A remembered proof is not accepted a
    /// second time.
    ///
    /// The limit is for all clients together. A proof is remembered as long as it could be
    /// accepted. Defaults to 100,000 proofs, which take about 25 MB. That is enough for 330
    /// requests a second of clients with correct clocks. With 0, replays are not detected.
    ///
    /// Above the limit, the oldest proofs of the client with most proofs are dropped. After that, a
    /// proof of this client is refused if it is not newer than a dropped proof. Other clients are
    /// not affected.
    pub fn max_proofs(mut self, max: usize) -> Self {
        self.max_proofs = max;
        self.seen = Mutex::new(Seen::new(max, self.limits.part_of(max)));
        self
    }

    /// Sets the share of [`max_proofs`](Self::max_proofs) up to which a client displaces proofs of
    /// clients with more proofs, in percent. Defaults to 50. Above this share a client displaces
    /// its own proofs. A single client may use all of `max_proofs`.
    pub fn part_percent(mut self, percent: usize) -> Self {
        self.limits.part_percent = percent;
        let max = self.max_proofs;
        self.max_proofs(max)
    }

    /// Sets that each proof must contain a nonce of this server, so that no proof can be made in
    /// advance.
    ///
    /// If a proof has no valid nonce, the request is refused with a new nonce (`use_dpop_nonce`),
    /// and the client retries. A nonce is valid for `life`, but at least for a second. The first
    /// key seals the nonces, and every key can open them. Replicas must share their keys. By
    /// default no nonces are required.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when there is no key.
    pub fn nonces(mut self, keys: &[StateKey], life: Duration) -> Result<Self> {
        let keys = KeyRing::new(keys.to_vec())
            .ok_or_else(|| Error::invalid("nonces need a key to be sealed with (Dpop::nonces)"))?;
        self.nonces = Some(Nonces { keys, life });
        Ok(self)
    }

    /// Checks that a proof was not used before, and remembers the proof. If the proof was or may
    /// have been used, returns an error text for the client.
    fn check_replay(&self, client: &Client, proof: &Proof, now: f64) -> Result<(), &'static str> {
        if self.max_proofs == 0 {
            return Ok(());
        }
        // One second more, because the fractions of proof times are not stored.
        let until = (now - self.window.as_secs_f64() - 1.0).max(0.0) as u64;
        let mut seen = self.seen.lock();
        let noted = seen.note(client, proof.id(), proof.made(), until);
        drop(seen);
        noted.map_err(|unusable| match unusable {
            Unusable::Shown => "it was shown before (jti)",
            Unusable::TooOld => "it is older than all proofs of this client that are remembered",
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

debug_fields!(Dpop, is_required, window, max_proofs);
