//! Access of the fuzz targets to keys and DPoP proofs.
#![cfg(fuzzing)]

use std::time::Duration;

use super::jwk;
use super::proof::{Proof, Purpose};

/// Returns the number of usable keys in a key set.
pub fn keys(text: &str) -> Option<usize> {
    jwk::read_keys(text).ok().map(|keys| keys.len())
}

/// Whether a DPoP proof is well-formed and signed by its own key. Checks such a proof against a
/// request that it can't be made for.
///
/// # Panics
///
/// If the proof is accepted for that request.
pub fn is_proof(text: &str) -> bool {
    let Ok(proof) = Proof::read(text) else {
        return false;
    };
    let purpose = Purpose {
        method: "POST",
        target: "https://mcp.example/",
        token: "token",
        thumbprint: "no thumbprint",
        now: 1e9,
        window: Duration::from_secs(60),
    };
    assert!(proof.check(&purpose).is_err());
    true
}
