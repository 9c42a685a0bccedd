//! JWTs: access tokens, DPoP proofs and key sets.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::jwt;
use mcplink::server::http::JwtVerifier;

/// The key of RFC 8037, appendix A.2.
const KEYS: &str =
    r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

static VERIFIER: LazyLock<JwtVerifier> =
    LazyLock::new(|| JwtVerifier::with_keys("https://issuer.example", || Ok(KEYS.to_owned())));

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // The private key was never used for a token of this issuer.
    assert!(
        VERIFIER.claims(text).is_err(),
        "a token without a right signature was accepted"
    );
    if let Some(count) = jwt::keys(text) {
        let read: serde_json::Value = serde_json::from_str(text).expect("a key set is JSON");
        assert!(count <= read["keys"].as_array().map_or(0, Vec::len));
    }
    jwt::is_proof(text);
});
