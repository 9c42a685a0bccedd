//! DPoP proofs. A proof is a small JWT in the field `DPoP`, which proves that the sender of a
//! request has a key.
//!
//! Spec: RFC 9449, sections 4.2 and 4.3.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::claims::Parts;
use super::jwk::{self, Jwk, Key};
use super::seen::ProofId;
use crate::skills::Digest;

/// The maximum length of a DPoP proof, in bytes.
const MAX_PROOF: usize = 8 << 10;

#[derive(Deserialize)]
struct Header {
    typ: String,
    alg: String,
    jwk: Jwk,
    crit: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims {
    jti: String,
    htm: String,
    htu: String,
    iat: f64,
    ath: Option<String>,
    nonce: Option<String>,
}

/// A DPoP proof whose signature was verified with the key in the proof.
pub(super) struct Proof {
    claims: Claims,
    thumbprint: String,
}

/// The request that a DPoP proof must be made for.
pub(super) struct Purpose<'a> {
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) token: &'a str,
    /// The thumbprint of the key that the token is bound to.
    pub(super) thumbprint: &'a str,
    /// The present time, in seconds since 1970.
    pub(super) now: f64,
    /// The tolerated difference between the clocks of client and server, in both directions.
    pub(super) window: Duration,
}

impl Proof {
    /// Parses a DPoP proof, and checks everything that does not depend on the request.
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        let no_proof = "it is no JWT with typ, alg, jwk, jti, htm, htu and iat";
        let parts = Some(text).filter(|text| text.len() <= MAX_PROOF);
        let parts = parts.and_then(Parts::of).ok_or(no_proof)?;
        let header: Header = serde_json::from_slice(&parts.header).map_err(|_| no_proof)?;
        let claims: Claims = serde_json::from_slice(&parts.claims).map_err(|_| no_proof)?;
        if header.typ != "dpop+jwt" {
            return Err("it is another thing than a proof (typ)");
        }
        if !jwk::is_known(&header.alg) || header.crit.is_some() {
            return Err("it is signed in a way that is not taken here");
        }
        if header.jwk.is_private() {
            return Err("it gives its private key away");
        }
        let thumbprint = header.jwk.thumbprint();
        let (Some(thumbprint), Some(key)) = (thumbprint, Key::of(header.jwk)) else {
            return Err("its key is of a kind that is not taken here");
        };
        if !key.confirms(&header.alg, parts.signed, &parts.signature) {
            return Err("its signature is wrong");
        }
        Ok(Self { claims, thumbprint })
    }

    /// Checks that the proof was made for this request, and within the tolerated time.
    pub(super) fn check(&self, purpose: &Purpose<'_>) -> Result<(), &'static str> {
        let Claims { htm, htu, iat, .. } = &self.claims;
        if self.thumbprint != purpose.thumbprint {
            return Err("its key is another one than the token is bound to");
        }
        if htm != purpose.method {
            return Err("it was made for another method (htm)");
        }
        if normalized(htu) != normalized(purpose.target) {
            return Err("it was made for another address (htu)");
        }
        let off = (iat - purpose.now).abs();
        if off > purpose.window.as_secs_f64() {
            return Err("it was not made just now (iat)");
        }
        if self.claims.ath.as_deref() != Some(&*digest(purpose.token)) {
            return Err("it was made for another token (ath)");
        }
        if self.claims.jti.is_empty() {
            return Err("it has no id (jti)");
        }
        Ok(())
    }

    pub(super) fn nonce(&self) -> Option<&str> {
        self.claims.nonce.as_deref()
    }

    /// Returns when the proof was made, in seconds since 1970.
    pub(super) fn made(&self) -> u64 {
        self.claims.iat as u64
    }

    /// Returns the unique id of the proof. The id is made from the key and `jti`, since `jti` is
    /// unique only for each key.
    pub(super) fn id(&self) -> ProofId {
        let text = format!("{} {}", self.thumbprint, self.claims.jti);
        *Digest::of(text.as_bytes()).as_bytes()
    }
}

fn digest(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Digest::of(text.as_bytes()).as_bytes())
}

/// Normalizes a URL for comparison: without query, fragment and default port, with scheme and host
/// in lower case.
fn normalized(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.to_ascii_lowercase();
    let usual = match &*scheme {
        "https" => ":443",
        "http" => ":80",
        _ => "",
    };
    let host = host.strip_suffix(usual).unwrap_or(&host);
    let path = if path.is_empty() { "/" } else { path };
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 9449, section 4.3, with the normalisation of RFC 3986, section 6.2.3
    #[test]
    fn addresses_are_compared_without_what_means_nothing() {
        for (one, other) in [
            ("https://h/mcp?x=y#z", "HTTPS://H:443/mcp"),
            ("http://h:80", "http://h/"),
            ("https://h:8443/a", "https://h:8443/a#b"),
        ] {
            assert_eq!(normalized(one), normalized(other));
        }
        for other in [
            "https://h/MCP",
            "https://h/mcp/",
            "http://h/mcp",
            "https://h:80/mcp",
            "https://h.evil/mcp",
            "https://h",
            "/mcp",
            "",
        ] {
            assert_ne!(normalized("https://h/mcp"), normalized(other));
        }
    }

    // The examples of RFC 7638, section 3.1, and RFC 9449, section 6.1 (with the key of section
    // 4.1).
    #[test]
    fn thumbprints_are_those_of_the_rfcs() {
        for (jwk, expected) in [
            (
                r#"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}"#,
                "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
            ),
            (
                r#"{"kty":"EC","x":"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs","y":"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA","crv":"P-256"}"#,
                "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I",
            ),
        ] {
            let jwk: Jwk = serde_json::from_str(jwk).expect("a key");
            assert_eq!(jwk.thumbprint().as_deref(), Some(expected));
        }
    }
}
