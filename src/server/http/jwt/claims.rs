//! The parts of a JWT, and its claims.
//!
//! Spec: RFC 7515, section 3.1; RFC 7519, section 4.1.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::schema::JsonObject;

/// The claims that are read from a token.
#[derive(Deserialize)]
pub(super) struct Claims {
    pub(super) iss: Option<String>,
    pub(super) sub: Option<String>,
    #[serde(default)]
    pub(super) aud: Many,
    pub(super) exp: Option<f64>,
    pub(super) nbf: Option<f64>,
    #[serde(default)]
    pub(super) scope: Many,
    #[serde(default)]
    pub(super) scp: Many,
    pub(super) cnf: Option<JsonObject>,
}

#[derive(Default, Deserialize)]
#[serde(untagged)]
pub(super) enum Many {
    #[default]
    None,
    One(String),
    Some(Vec<String>),
}

impl Many {
    pub(super) fn all(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Some(some) => some,
        }
    }
}

/// A JWT in parts: the decoded header and claims, the signed text, and the signature.
pub(super) struct Parts<'a> {
    pub(super) header: Vec<u8>,
    pub(super) claims: Vec<u8>,
    pub(super) signed: &'a [u8],
    pub(super) signature: Vec<u8>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(jwt: &'a str) -> Option<Self> {
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let (signed, signature) = jwt.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        Some(Self {
            header: decode(header)?,
            claims: decode(claims)?,
            signed: signed.as_bytes(),
            signature: decode(signature)?,
        })
    }
}
