//! Random texts that can't be guessed, and PKCE.
//!
//! Spec: RFC 7636 (PKCE), sections 4.1 and 4.2; OAuth 2.1, section 7.5.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion::hazardous::hash::sha2::sha256::Sha256;

use super::secret::Secret;
use crate::error::Result;
use crate::transport::sys::random;

/// Returns 256 random bits in base64url: 43 characters.
pub(super) fn text() -> Result<String> {
    let mut bytes = [0; 32];
    random::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the SHA-256 of a text, in base64url.
pub(super) fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes()).expect("texts are shorter than 2 EiB");
    URL_SAFE_NO_PAD.encode(digest.as_ref())
}

/// The PKCE code verifier. Its hash is sent in the authorization request. The verifier itself is
/// sent when the authorization code is redeemed.
pub(super) struct Verifier(Secret);

impl Verifier {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(Secret::new(text()?)))
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.0
    }

    /// Returns the `code_challenge` of the verifier, by the method S256.
    pub(super) fn challenge(&self) -> String {
        digest(self.0.reveal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-ASEC-C-09, M-ASEC-C-11
    #[test]
    fn challenges_are_those_of_the_rfc() {
        let verifier = Verifier(Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        assert_eq!(
            verifier.challenge(),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        let new = || Verifier::new().expect("randomness");
        let (one, other) = (new(), new());
        assert_eq!(one.secret().reveal().len(), 43);
        assert!(one.secret() != other.secret());
    }
}
