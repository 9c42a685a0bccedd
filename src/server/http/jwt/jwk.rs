//! Public keys (JWK) and the verification of signatures.
//!
//! Spec: RFC 7517; RFC 7518; RFC 8037.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    self as algorithms, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::skills::Digest;

/// The maximum number of keys of an issuer. Further keys are ignored.
const MAX_KEYS: usize = 100;

/// A public key that verifies signatures.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) id: Option<String>,
    /// The only algorithm that the key may be used with. `None` if the key names no algorithm.
    algorithm: Option<String>,
    point: Point,
}

#[derive(Debug)]
enum Point {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point on the named curve.
    Curve(&'static str, Vec<u8>),
}

/// A key in its JSON form.
#[derive(Deserialize)]
pub(super) struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    /// The private part of the key, which must not be present in a public key.
    d: Option<IgnoredAny>,
}

impl Jwk {
    /// Returns whether the key contains its private part.
    pub(super) fn is_private(&self) -> bool {
        self.d.is_some()
    }

    /// Returns the thumbprint of the key (RFC 7638). Returns `None` for an unsupported kind of key.
    pub(super) fn thumbprint(&self) -> Option<String> {
        let text = |value: &Option<String>| value.clone();
        let members = match &*self.kty {
            "EC" => format!(
                r#"{{"crv":"{}","kty":"EC","x":"{}","y":"{}"}}"#,
                text(&self.crv)?,
                text(&self.x)?,
                text(&self.y)?
            ),
            "OKP" => format!(
                r#"{{"crv":"{}","kty":"OKP","x":"{}"}}"#,
                text(&self.crv)?,
                text(&self.x)?
            ),
            "RSA" => format!(
                r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#,
                text(&self.e)?,
                text(&self.n)?
            ),
            _ => return None,
        };
        Some(URL_SAFE_NO_PAD.encode(Digest::of(members.as_bytes()).as_bytes()))
    }
}

/// Parses a key set. Ignores keys of unknown kinds, and keys that are not for signatures.
pub(super) fn read_keys(text: &str) -> Result<Vec<Key>> {
    #[derive(Deserialize)]
    struct Set<'a> {
        #[serde(borrow)]
        keys: Vec<&'a RawValue>,
    }
    let set: Set<'_> = serde_json::from_str(text).map_err(|error| {
        let text = format!("the issuer's keys are no key set (RFC 7517): {error}");
        Error::invalid(text)
    })?;
    let keys = set.keys.iter().take(MAX_KEYS);
    Ok(keys
        .filter_map(|key| Key::of(serde_json::from_str(key.get()).ok()?))
        .collect())
}

impl Key {
    pub(super) fn of(jwk: Jwk) -> Option<Self> {
        if jwk.used_for.is_some_and(|used_for| used_for != "sig") {
            return None;
        }
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let point = match (&*jwk.kty, jwk.crv.as_deref()) {
            ("RSA", _) => Point::Rsa {
                n: bytes(jwk.n)?,
                e: bytes(jwk.e)?,
            },
            ("EC", Some("P-256")) => {
                Point::Curve("P-256", uncompressed(bytes(jwk.x)?, bytes(jwk.y)?, 32)?)
            }
            ("EC", Some("P-384")) => {
                Point::Curve("P-384", uncompressed(bytes(jwk.x)?, bytes(jwk.y)?, 48)?)
            }
            ("OKP", Some("Ed25519")) => Point::Curve("Ed25519", bytes(jwk.x)?),
            _ => return None,
        };
        Some(Self {
            id: jwk.kid,
            algorithm: jwk.alg,
            point,
        })
    }

    /// Returns whether `signature` is a signature of `signed` by this key, with this algorithm.
    /// Symmetric algorithms are always refused.
    pub(super) fn confirms(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> bool {
        let own = self.algorithm.as_deref();
        if own.is_some_and(|own| own != algorithm) {
            return false;
        }
        match &self.point {
            Point::Rsa { n, e } => rsa(algorithm).is_some_and(|parameters| {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(parameters, signed, signature).is_ok()
            }),
            Point::Curve(name, point) => on_curve(algorithm).is_some_and(|(curve, verifier)| {
                let key = UnparsedPublicKey::new(verifier, point);
                curve == *name && key.verify(signed, signature).is_ok()
            }),
        }
    }
}

/// The supported signature algorithms, all of them asymmetric.
pub(super) const ALGORITHMS: [&str; 10] = [
    "ES256", "ES384", "EdDSA", "Ed25519", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512",
];

pub(super) fn is_known(algorithm: &str) -> bool {
    ALGORITHMS.contains(&algorithm)
}

fn rsa(algorithm: &str) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        "RS256" => &algorithms::RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &algorithms::RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &algorithms::RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &algorithms::RSA_PSS_2048_8192_SHA256,
        "PS384" => &algorithms::RSA_PSS_2048_8192_SHA384,
        "PS512" => &algorithms::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

/// Returns the curve of an algorithm, and the algorithm itself.
fn on_curve(algorithm: &str) -> Option<(&'static str, &'static dyn VerificationAlgorithm)> {
    Some(match algorithm {
        "ES256" => ("P-256", &algorithms::ECDSA_P256_SHA256_FIXED),
        "ES384" => ("P-384", &algorithms::ECDSA_P384_SHA384_FIXED),
        "EdDSA" | "Ed25519" => ("Ed25519", &algorithms::ED25519),
        _ => return None,
    })
}

/// Encodes a point of an elliptic curve in uncompressed form. Returns `None` unless both
/// coordinates have `length` bytes.
fn uncompressed(x: Vec<u8>, y: Vec<u8>, length: usize) -> Option<Vec<u8>> {
    (x.len() == length && y.len() == length).then(|| [vec![4], x, y].concat())
}
