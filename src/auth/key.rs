//! Signing keys, and signed JWTs that prove possession of a key.
//!
//! Spec: RFC 7515, RFC 7517, RFC 7518, RFC 7519, RFC 8037.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::secret::Secret;
use crate::error::{Error, ErrorKind, Result};

/// A key that makes signatures. Implement this trait for a key that can't be exported from its
/// device or service. For other keys use [`SigningKey`].
///
/// Spec: DPoP profile, "Key Storage"; RFC 7518, section 3.1.
pub trait Signer: Send + Sync {
    /// Returns the name of the JWS algorithm, for example `ES256`. Only asymmetric algorithms are
    /// allowed.
    fn algorithm(&self) -> &str;

    /// Returns the public key as a JWK: a JSON object with the members that RFC 7638 requires for
    /// its thumbprint, and without private members.
    fn public_jwk(&self) -> String;

    /// Signs `data`. The signature has the format of JWS for the algorithm.
    ///
    /// # Errors
    ///
    /// Fails when the key can't be used. The request that needs the signature fails with the same
    /// error.
    fn sign(&self, data: &[u8]) -> Result<Vec<u8>>;

    /// Returns the key id (`kid`), if the key has one.
    fn key_id(&self) -> Option<&str> {
        None
    }
}

/// A private key in memory. `Debug` does not show the key.
///
/// # Examples
///
/// ```no_run
/// use mcplink::auth::{OAuth, RegisteredClient, Secret, SigningKey};
///
/// let pem = Secret::new(std::fs::read_to_string("/etc/report/key.pem")?);
/// let key = SigningKey::from_pem(&pem)?.id("2026-05");
/// let client = RegisteredClient::new("https://login.example", "nightly-report").key(key);
/// let oauth = OAuth::client_credentials(client).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SigningKey {
    pair: Pair,
    id: Option<String>,
}

enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa { pair: RsaKeyPair, is_pss: bool },
}

impl SigningKey {
    /// Reads a private key from PEM text: `PRIVATE KEY` (PKCS #8) with a P-256, P-384, Ed25519 or
    /// RSA key, or `RSA PRIVATE KEY`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the text has no private key, or a key of another kind. Error
    /// texts do not quote the PEM text.
    pub fn from_pem(pem: &Secret) -> Result<Self> {
        let invalid = |why: &str| Error::new(ErrorKind::Invalid, format!("the private key {why}"));
        let (label, der) = read_pem(pem.reveal())
            .ok_or_else(|| invalid("is no PEM text of a PRIVATE KEY (PKCS #8)"))?;
        let pair = match label {
            "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der).ok().map(Pair::rsa),
            _ => Pair::from_pkcs8(&der),
        };
        let pair = pair.ok_or_else(|| {
            invalid(
                "is of no kind that is known: P-256, P-384, Ed25519 or RSA (2048 bits and more)",
            )
        })?;
        Ok(Self { pair, id: None })
    }

    /// Generates a P-256 key for `ES256`. Returns the key and its PKCS #8 encoding.
    pub(super) fn generate() -> Result<(Self, Secret)> {
        let failed = |_| Error::new(ErrorKind::Io, "the system has no randomness for a key");
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(failed)?;
        let kept = Secret::new(STANDARD.encode(pkcs8.as_ref()));
        Ok((Self::from_kept(&kept)?, kept))
    }

    /// Reads a key in the PKCS #8 encoding that [`generate`](Self::generate) returned.
    pub(super) fn from_kept(kept: &Secret) -> Result<Self> {
        let der = STANDARD.decode(kept.reveal()).map(Zeroizing::new).ok();
        let pair = der.and_then(|der| Pair::from_pkcs8(&der));
        let pair = pair.ok_or_else(|| Error::new(ErrorKind::Invalid, "the kept key is none"))?;
        Ok(Self { pair, id: None })
    }

    /// Sets the key id (`kid`) by which the authorization server knows the key.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets that an RSA key signs with RSASSA-PSS (`PS256`) instead of `RS256`. Has no effect on
    /// keys of other kinds.
    pub fn pss(mut self) -> Self {
        if let Pair::Rsa { is_pss, .. } = &mut self.pair {
            *is_pss = true;
        }
        self
    }
}

impl Pair {
    fn rsa(pair: RsaKeyPair) -> Self {
        Self::Rsa {
            pair,
            is_pss: false,
        }
    }

    fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, der, &random).ok();
        ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map(Self::P256)
            .or_else(|| ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING).map(Self::P384))
            .or_else(|| {
                let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der);
                pair.ok().map(Self::Ed25519)
            })
            .or_else(|| RsaKeyPair::from_pkcs8(der).ok().map(Self::rsa))
    }
}

impl Signer for SigningKey {
    fn algorithm(&self) -> &str {
        match &self.pair {
            Pair::P256(_) => "ES256",
            Pair::P384(_) => "ES384",
            Pair::Ed25519(_) => "EdDSA",
            Pair::Rsa { is_pss: false, .. } => "RS256",
            Pair::Rsa { is_pss: true, .. } => "PS256",
        }
    }

    fn public_jwk(&self) -> String {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let curve = |name: &str, point: &[u8]| {
            // An uncompressed point: 4, x, y.
            let (x, y) = point[1..].split_at((point.len() - 1) / 2);
            json!({ "crv": name, "kty": "EC", "x": text(x), "y": text(y) })
        };
        let jwk = match &self.pair {
            Pair::P256(pair) => curve("P-256", pair.public_key().as_ref()),
            Pair::P384(pair) => curve("P-384", pair.public_key().as_ref()),
            Pair::Ed25519(pair) => {
                json!({ "crv": "Ed25519", "kty": "OKP", "x": text(pair.public_key().as_ref()) })
            }
            Pair::Rsa { pair, .. } => {
                let parts = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "e": text(&parts.e), "kty": "RSA", "n": text(&parts.n) })
            }
        };
        jwk.to_string()
    }

    fn sign(&self, data: &[u8]) -> Result<Vec<u8>> {
        let random = SystemRandom::new();
        let signed = match &self.pair {
            Pair::P256(pair) | Pair::P384(pair) => pair
                .sign(&random, data)
                .map(|signature| signature.as_ref().to_vec()),
            Pair::Ed25519(pair) => Ok(pair.sign(data).as_ref().to_vec()),
            Pair::Rsa { pair, is_pss } => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let encoding: &dyn ring::signature::RsaEncoding = if *is_pss {
                    &RSA_PSS_SHA256
                } else {
                    &RSA_PKCS1_SHA256
                };
                pair.sign(encoding, &random, data, &mut signature)
                    .map(|()| signature)
            }
        };
        signed.map_err(|_| Error::new(ErrorKind::Io, "the private key can't sign"))
    }

    fn key_id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

/// Returns the label and content of the first private key in PEM text.
fn read_pem(text: &str) -> Option<(&str, Zeroizing<Vec<u8>>)> {
    let mut rest = text;
    loop {
        let (_, begun) = rest.split_once("-----BEGIN ")?;
        let (label, body) = begun.split_once("-----")?;
        let (body, after) = body.split_once("-----END ")?;
        if matches!(label, "PRIVATE KEY" | "RSA PRIVATE KEY") {
            let packed: Zeroizing<String> = Zeroizing::new(body.split_ascii_whitespace().collect());
            let der = STANDARD.decode(&**packed).ok()?;
            return Some((label, Zeroizing::new(der)));
        }
        rest = after;
    }
}

/// Makes a signed JWT from its header and claims.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] for an algorithm that is not asymmetric. Errors of [`Signer::sign`] are
/// returned unchanged.
pub(super) fn sign_jwt(signer: &dyn Signer, mut header: Value, claims: &Value) -> Result<Secret> {
    let algorithm = signer.algorithm();
    if !is_asymmetric(algorithm) {
        let text = format!("a key for '{algorithm}' can't be used: only asymmetric keys are");
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    header["alg"] = algorithm.into();
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(signer.sign(signed.as_bytes())?);
    Ok(Secret::new(format!("{signed}.{signature}")))
}

/// Whether a signature algorithm is asymmetric: its signatures are verified with a public key.
pub(crate) fn is_asymmetric(algorithm: &str) -> bool {
    matches!(
        algorithm,
        "ES256" | "ES384" | "ES512" | "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512"
    ) || matches!(algorithm, "EdDSA" | "Ed25519" | "Ed448" | "ES256K")
}

/// Returns the claims of a JWT without verifying its signature.
pub(super) fn read_claims(jwt: &str) -> Option<Value> {
    let mut parts = jwt.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}
