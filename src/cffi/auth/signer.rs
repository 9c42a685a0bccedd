//! Signers: keys that the host's device or service holds.

use std::ffi::c_void;
use std::sync::Arc;

use crate::cffi::arg::invalid;
use crate::cffi::output::mcplink_output_t;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::missing;
use crate::cffi::user::{Callback, Hook, UserData};
use crate::error::Result;
use crate::schema::JsonObject;

/// Signs data with a key that can't be exported from its device or service. The function runs on
/// threads that make calls and on threads that log in, possibly on several threads at once.
///
/// data, len: the data; valid until the callback returns.
/// signature: receives the signature by mcplink_output_set, in the format of JWS for the algorithm
/// of the key (RFC 7518, section 3). For ES256 these are the two numbers r and s, 32 bytes each.
/// Returns: MCPLINK_OK. Any other status means that the key can't be used: the call that needs the
/// signature fails with MCPLINK_E_AUTH.
pub type mcplink_sign_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        data: *const c_void,
        len: usize,
        signature: *mut mcplink_output_t,
    ) -> mcplink_status_t,
>;

/// A key that the host's device or service holds. Copies share the callback.
#[derive(Clone)]
pub(super) struct HostKey {
    pub(super) algorithm: String,
    /// The public key, as JSON text. Empty if only the algorithm and the key id are needed.
    pub(super) public_jwk: String,
    pub(super) id: Option<String>,
    pub(super) hook: Arc<Hook<Callback<mcplink_sign_fn>>>,
}

impl HostKey {
    /// Makes a key without a public key and an id. Fails if the callback is missing, or if the
    /// algorithm is not asymmetric.
    pub(super) fn new(algorithm: &str, callback: mcplink_sign_fn, user: UserData) -> Result<Self> {
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        #[cfg(feature = "auth")]
        if !crate::auth::is_asymmetric(algorithm) {
            let text = format!("a key for '{algorithm}' can't be used: only asymmetric keys are");
            return Err(invalid(text));
        }
        Ok(Self {
            algorithm: algorithm.to_owned(),
            public_jwk: String::new(),
            id: None,
            hook,
        })
    }
}

/// Returns the text of a public key in JWK format. Fails if the key has private members, which
/// would be sent to servers.
pub(super) fn public_jwk(key: &JsonObject) -> Result<String> {
    const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
    if !key.contains_key("kty") {
        return Err(invalid("public_jwk is no key: it has no member \"kty\""));
    }
    if PRIVATE.iter().any(|name| key.contains_key(*name)) {
        return Err(invalid("public_jwk has private members"));
    }
    Ok(serde_json::to_string(key).expect("JSON is written as JSON"))
}
