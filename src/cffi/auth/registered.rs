//! OAuth clients that are registered with an authorization server beforehand.

use std::ffi::c_char;

use super::Hidden;
use super::signer::{HostKey, mcplink_sign_fn};
use crate::cffi::entry::{free, own};
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::text::{filled, filled_measured, optional, payload};

/// An OAuth client that was registered with an authorization server beforehand. Only one thread at
/// a time may use the object.
pub struct mcplink_oauth_client_t {
    pub(super) registered: Registered,
    refusal: Refusal,
}

object!(mcplink_oauth_client_t is OAuthClient);

impl Settings for mcplink_oauth_client_t {
    const TARGET: &'static str = "auth";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_oauth_client_new");

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl mcplink_oauth_client_t {
    fn new(issuer: Option<&str>, id: &str) -> *mut Self {
        own(Self {
            registered: Registered {
                issuer: issuer.map(str::to_owned),
                id: id.to_owned(),
                proof: Proof::None,
                audience: None,
            },
            refusal: Refusal::default(),
        })
    }
}

#[derive(Clone)]
pub(super) struct Registered {
    /// The issuer identifier of the authorization server. `None` means the first authorization
    /// server that the MCP server names.
    pub(super) issuer: Option<String>,
    pub(super) id: String,
    pub(super) proof: Proof,
    pub(super) audience: Option<String>,
}

/// How the client authenticates to the authorization server.
#[derive(Clone)]
pub(super) enum Proof {
    None,
    Secret(Hidden),
    Key {
        pem: Hidden,
        id: Option<String>,
        pss: bool,
    },
    Signer(HostKey),
}

/// Makes a registered OAuth client.
///
/// issuer: the issuer identifier of the authorization server, for example "https://login.example".
/// NULL and blank text are refused: see mcplink_oauth_client_new_for_any.
/// client_id: the client id.
/// Returns: the client. The caller owns it and frees it with mcplink_oauth_client_free. NULL for an
/// invalid argument.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_new(
    issuer: *const c_char,
    client_id: *const c_char,
) -> *mut mcplink_oauth_client_t {
    constructed("mcplink_oauth_client_new", "auth", || {
        // SAFETY: the header requires texts that end in NUL.
        let (issuer, id) = unsafe { (filled(issuer, "issuer")?, filled(client_id, "client_id")?) };
        Ok(mcplink_oauth_client_t::new(Some(issuer), id))
    })
}

/// Makes a registered OAuth client for the authorization server that the MCP server names first.
/// The MCP server then decides which authorization server receives the credentials, so use
/// mcplink_oauth_client_new if the issuer is known.
///
/// client_id: the id of the client.
/// Returns: the client. The caller owns it and frees it with mcplink_oauth_client_free. NULL for an
/// invalid argument.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_new_for_any(
    client_id: *const c_char,
) -> *mut mcplink_oauth_client_t {
    constructed("mcplink_oauth_client_new_for_any", "auth", || {
        // SAFETY: the header requires text that ends in NUL.
        let id = unsafe { filled(client_id, "client_id") }?;
        Ok(mcplink_oauth_client_t::new(None, id))
    })
}

actions! {
    set(client: mcplink_oauth_client_t);

    /// Sets a client secret, with which the client authenticates. The secret does not appear in
    /// errors or logs, and is sent to the token endpoint only.
    ///
    /// secret: the secret. NULL and blank text are refused; for a public client, do not call this
    /// function. The secret replaces a key that was set before.
    fn mcplink_oauth_client_set_secret(secret: *const c_char) {
        let secret = filled(secret, "secret")?;
        client.registered.proof = Proof::Secret(secret.into());
    }

    /// Sets a private key, with which the client authenticates (private_key_jwt). The key is never
    /// sent, so it is safer than a secret. A key that can't be read is set with
    /// mcplink_oauth_client_set_signer.
    ///
    /// pem, len: PEM text with the key: PKCS #8 with P-256, P-384, Ed25519 or RSA, or "RSA PRIVATE
    /// KEY". len may be MCPLINK_NUL for text that ends in NUL. The text is copied, and appears in
    /// no error and no log.
    /// key_id: the key id by which the authorization server knows the key (kid); NULL for no key
    /// id.
    /// pss: true if an RSA key signs with PS256 instead of RS256.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for text without a supported key.
    fn mcplink_oauth_client_set_key(
        pem: *const c_char,
        len: usize,
        key_id: *const c_char,
        pss: bool,
    ) {
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
    }

    /// Sets a private key that a device or service of the host holds, with which the client
    /// authenticates (private_key_jwt). The key replaces a secret or key that was set before.
    ///
    /// algorithm: the name of the JWS algorithm, for example "ES256". Only asymmetric algorithms
    /// are accepted.
    /// key_id: the key id by which the authorization server knows the key (kid); NULL for no key
    /// id.
    /// callback: see mcplink_sign_fn. NULL is refused.
    /// user, destroy: passed to callback; destroy runs when the key is replaced, or when the client
    /// and all settings, options and clients that use the key are freed.
    fn mcplink_oauth_client_set_signer(
        algorithm: *const c_char,
        key_id: *const c_char,
        callback: mcplink_sign_fn; user
    ) {
        let (algorithm, id) = (filled(algorithm, "algorithm")?, optional(key_id, "key_id")?);
        let mut key = HostKey::new(algorithm, callback, user)?;
        key.id = id.map(str::to_owned);
        client.registered.proof = Proof::Signer(key);
    }

    /// Sets the audience (aud) of the signed statement (JWT) with which a client with a private key
    /// authenticates. Default: the issuer. Some authorization servers require the URL of their
    /// token endpoint.
    ///
    /// audience: the audience. NULL and blank text are refused.
    fn mcplink_oauth_client_set_audience(audience: *const c_char) {
        let audience = filled(audience, "audience")?;
        client.registered.audience = Some(audience.to_owned());
    }
}

/// Frees an OAuth client. Settings to which the client was added keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_client_free(client: *mut mcplink_oauth_client_t) {
    // SAFETY: the header requires a client of this library, freed once.
    unsafe { free(client) }
}
