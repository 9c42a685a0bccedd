//! Clients that an authorization server knows beforehand.

use std::ffi::c_char;

use super::Hidden;
use crate::cffi::entry::free;
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{filled, filled_measured, optional, payload};

/// A client that was registered with an authorization server beforehand. One thread at a time uses it.
pub struct mcplink_oauth_client_t {
    pub(super) registered: Registered,
    refusal: Refusal,
}

impl Settings for mcplink_oauth_client_t {
    const NAME: &'static str = "client";
    const TARGET: &'static str = "auth";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_oauth_client_new");

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl mcplink_oauth_client_t {
    fn new(issuer: Option<&str>, id: &str) -> *mut Self {
        Box::into_raw(Box::new(Self {
            registered: Registered {
                issuer: issuer.map(str::to_owned),
                id: id.to_owned(),
                proof: Proof::None,
                audience: None,
            },
            refusal: Refusal::default(),
        }))
    }
}

#[derive(Clone)]
pub(super) struct Registered {
    /// `None`: the one that the server names first.
    pub(super) issuer: Option<String>,
    pub(super) id: String,
    pub(super) proof: Proof,
    pub(super) audience: Option<String>,
}

/// How it proves who it is.
#[derive(Clone)]
pub(super) enum Proof {
    None,
    Secret(Hidden),
    Key {
        pem: Hidden,
        id: Option<String>,
        pss: bool,
    },
}

/// Describes a client as an authorization server knows it.
///
/// issuer: the issuer identifier of the authorization server, for example "https://login.example". NULL and text without anything are refused: see
/// mcplink_oauth_client_new_for_any.
/// client_id: the id.
/// Returns: the client, the caller's to free; NULL for a bad argument. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_new(
    issuer: *const c_char,
    client_id: *const c_char,
) -> *mut mcplink_oauth_client_t {
    constructed("mcplink_oauth_client_new", "auth", || {
        // SAFETY: the header says that they are texts that end in NUL.
        let (issuer, id) = unsafe { (filled(issuer, "issuer")?, filled(client_id, "client_id")?) };
        Ok(mcplink_oauth_client_t::new(Some(issuer), id))
    })
}

/// Describes a client for the authorization server that the MCP server names first, which decides then who sees the credentials: where the issuer is
/// known, use mcplink_oauth_client_new.
///
/// client_id: the id.
/// Returns: the client, the caller's to free; NULL for a bad argument. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_new_for_any(
    client_id: *const c_char,
) -> *mut mcplink_oauth_client_t {
    constructed("mcplink_oauth_client_new_for_any", "auth", || {
        // SAFETY: the header says that it is text that ends in NUL.
        let id = unsafe { filled(client_id, "client_id") }?;
        Ok(mcplink_oauth_client_t::new(None, id))
    })
}

/// Has the client prove itself by a secret. It appears in no error and no log, and goes to the token endpoint only.
///
/// client: the client.
/// secret: NULL and text without anything are refused; a client that proves nothing is one without this. It has the place of a key.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_set_secret(
    client: *mut mcplink_oauth_client_t,
    secret: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a client of ours and text that ends in NUL.
    unsafe {
        set(client, "mcplink_oauth_client_set_secret", |client| {
            let secret = filled(secret, "secret")?;
            client.registered.proof = Proof::Secret(secret.into());
            Ok(())
        })
    }
}

/// Has the client prove itself by a private key (private_key_jwt), which is never sent: better than a secret.
///
/// client: the client.
/// pem, len: PEM text with the key: PKCS #8 of the kinds P-256, P-384, Ed25519 and RSA, or "RSA PRIVATE KEY". MCPLINK_NUL measures it. It is
/// copied, and never quoted.
/// key_id: as the authorization server knows the key (kid); NULL for none.
/// pss: whether an RSA key signs with PS256 instead of RS256.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no such key in it. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_set_key(
    client: *mut mcplink_oauth_client_t,
    pem: *const c_char,
    len: usize,
    key_id: *const c_char,
    pss: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a client of ours, text with its length and text that ends in NUL.
    unsafe {
        set(client, "mcplink_oauth_client_set_key", |client| {
            filled_measured(pem, len, "pem")?;
            let pem = payload(pem, len, "pem")?;
            let (pem, id) = (Hidden::from(pem), optional(key_id, "key_id")?);
            #[cfg(feature = "auth")]
            crate::auth::SigningKey::from_pem(&pem)?;
            client.registered.proof = Proof::Key {
                pem,
                id: id.map(str::to_owned),
                pss,
            };
            Ok(())
        })
    }
}

/// Says for whom the proof by a key is (aud). The issuer without this; some authorization servers want the URL of their token endpoint.
///
/// client: the client.
/// audience: NULL and text without anything are refused.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_set_audience(
    client: *mut mcplink_oauth_client_t,
    audience: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a client of ours and text that ends in NUL.
    unsafe {
        set(client, "mcplink_oauth_client_set_audience", |client| {
            let audience = filled(audience, "audience")?;
            client.registered.audience = Some(audience.to_owned());
            Ok(())
        })
    }
}

/// Frees a client. Settings that it was added to keep it.
///
/// client: NULL is fine. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_free(client: *mut mcplink_oauth_client_t) {
    // SAFETY: the header says that it is a client of ours, freed once.
    unsafe { free(client) }
}
