//! DPoP: tokens that are bound to a key. Each request proves that its sender has the key.
//!
//! Spec: RFC 9449; DPoP profile of MCP (draft, SEP-1932).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::http_url::HttpUrl;
use super::key::{Signer, SigningKey, sign_jwt};
use super::random;
use super::secret::Secret;
use crate::error::Result;
use crate::sync::Mutex;

/// The cases in which tokens are bound to a key (DPoP). A thief can't use a bound token without the
/// key.
///
/// Spec: DPoP profile of MCP (draft, SEP-1932); RFC 9449.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopUse {
    /// Tokens are never bound to a key.
    Never,
    /// Tokens are bound to a key if the MCP server requires bound tokens. This is the default.
    #[default]
    WhenAsked,
    /// Tokens are always bound to a key. Tokens that are not bound are refused, and stored tokens
    /// that are not bound are not used.
    Always,
}

/// The maximum number of nonces that are stored. At the limit, all stored nonces are dropped.
const MAX_NONCES: usize = 256;

/// A key that tokens are bound to.
#[derive(Clone)]
pub(super) struct Dpop {
    signer: Arc<dyn Signer>,
    /// The private key that this library generated. `None` if the host application provides the
    /// key.
    kept: Option<Secret>,
}

impl Dpop {
    /// Generates a new key.
    pub(super) fn generate() -> Result<Self> {
        let (key, kept) = SigningKey::generate()?;
        Ok(Self {
            signer: Arc::new(key),
            kept: Some(kept),
        })
    }

    pub(super) fn from_kept(kept: &Secret) -> Result<Self> {
        Ok(Self {
            signer: Arc::new(SigningKey::from_kept(kept)?),
            kept: Some(kept.clone()),
        })
    }

    pub(super) fn with(signer: Arc<dyn Signer>) -> Self {
        Self { signer, kept: None }
    }

    pub(super) fn kept(&self) -> Option<&Secret> {
        self.kept.as_ref()
    }

    pub(super) fn algorithm(&self) -> &str {
        self.signer.algorithm()
    }

    /// Makes the DPoP proof for one request. A proof can be used only once.
    pub(super) fn proof(
        &self,
        method: &str,
        url: &HttpUrl,
        token: Option<&Secret>,
        nonce: Option<&str>,
    ) -> Result<Secret> {
        let jwk: Value = serde_json::from_str(&self.signer.public_jwk()).unwrap_or_default();
        let header = json!({ "typ": "dpop+jwt", "jwk": jwk });
        let target = url.text().split(['?', '#']).next().unwrap_or_default();
        let mut claims = json!({
            "jti": random::text()?, "htm": method, "htu": target, "iat": now_seconds(),
        });
        if let Some(token) = token {
            claims["ath"] = random::digest(token.reveal()).into();
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
        sign_jwt(&*self.signer, header, &claims)
    }
}

/// The nonces for the next DPoP proofs. The key of the map is the origin of an MCP server, or the
/// URL of a token endpoint. The endpoint is not identified by its origin, because both servers may
/// have the same origin.
#[derive(Default)]
pub(super) struct Nonces(Mutex<HashMap<String, String>>);

impl Nonces {
    pub(super) fn of(&self, place: &str) -> Option<String> {
        self.0.lock().get(place).cloned()
    }

    pub(super) fn note(&self, place: String, nonce: &str) {
        let mut nonces = self.0.lock();
        if nonces.len() >= MAX_NONCES {
            nonces.clear();
        }
        nonces.insert(place, nonce.to_owned());
    }
}

/// Returns the current time in seconds since 1970.
pub(super) fn now_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
