//! Resource servers (OAuth): servers that require access tokens.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use super::super::mcplink_server_t;
use super::request::{AuthenticateFn, Check, mcplink_authenticate_fn};
use crate::cffi::arg;
use crate::cffi::arg::set_given;
use crate::cffi::auth::mcplink_dpop;
use crate::cffi::entry::{free, own};
use crate::cffi::json::json_payload;
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::text::{bytes, filled, filled_measured, missing, name, optional};
use crate::cffi::user::Hook;
use crate::error::{Error, ErrorKind, Result};
use crate::server::StateKey;
use crate::server::http::ResourceServer;

/// The description of an OAuth resource server: a server over HTTP that requires access tokens,
/// which an authorization server issues. One thread at a time may use the description. HTTP options
/// store a copy of the description: see mcplink_http_options_set_resource_server.
///
/// Each request must have a token in its header field Authorization. The token must be valid,
/// issued for this server, and not expired. Other requests are answered with status 401 and a
/// challenge that says where to obtain tokens. A request whose token lacks a required scope is
/// answered with status 403 and the required scopes. The challenge contains the URL of the server's
/// metadata, which clients can fetch without a token.
#[derive(Clone)]
pub struct mcplink_resource_server_t {
    resource: String,
    /// The issuer identifiers of the authorization servers. Tokens are signed with the keys of the
    /// first issuer, unless a function of the host verifies tokens.
    issuers: Vec<String>,
    check: Checked,
    /// The proxy for fetching the issuer's keys.
    proxy: Option<String>,
    /// The trusted certificate authorities for fetching the issuer's keys, as PEM text.
    roots: Option<Vec<u8>>,
    required: String,
    supported: String,
    implied: Vec<(String, String)>,
    audiences: Vec<String>,
    name: Option<String>,
    documentation: Option<String>,
    metadata_url: Option<String>,
    dpop: mcplink_dpop,
    nonces: Option<Nonces>,
    refusal: Refusal,
}

object!(mcplink_resource_server_t is ResourceServer);

/// The keys and the lifetime of nonces for DPoP proofs.
#[derive(Clone)]
#[cfg_attr(not(feature = "jwt"), allow(dead_code, reason = "no proofs"))]
struct Nonces {
    keys: Vec<StateKey>,
    life: Duration,
}

/// How tokens are verified.
#[derive(Clone)]
enum Checked {
    /// The token is verified with the keys that the issuer's metadata names.
    Discovered,
    /// The token is verified with the keys at this URL.
    At(String),
    /// The token is verified with the keys in this JSON text.
    With(String),
    /// A function of the host verifies the token.
    Host(Arc<Hook<AuthenticateFn>>),
}

impl Settings for mcplink_resource_server_t {
    const TARGET: &'static str = "http";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_resource_server_new");

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl mcplink_resource_server_t {
    /// Fails if another verification of tokens is set already, so that no setter silently replaces
    /// the current verification. `fits` returns whether the current verification may be replaced.
    fn need_check(&self, fits: impl FnOnce(&Checked) -> bool) -> Result<()> {
        if fits(&self.check) {
            return Ok(());
        }
        let other = match &self.check {
            Checked::Discovered => return Ok(()),
            Checked::At(_) => "mcplink_resource_server_set_keys_url",
            Checked::With(_) => "mcplink_resource_server_set_keys",
            Checked::Host(_) => "mcplink_resource_server_set_verifier",
        };
        let text = format!(
            "tokens are checked by {other} already: take that away first (mcplink_resource_server_use_default_keys)"
        );
        Err(Error::new(ErrorKind::Invalid, text))
    }

    /// Builds the resource server of the Rust API for a server.
    pub(super) fn for_server(&self, server: &mcplink_server_t) -> Result<ResourceServer> {
        let Self {
            resource,
            issuers,
            check,
            proxy,
            roots,
            required,
            supported,
            implied,
            audiences,
            name,
            documentation,
            metadata_url,
            dpop,
            nonces,
            refusal: _,
        } = self;
        let issuer = &issuers[0];
        let way = Way {
            proxy: proxy.as_deref(),
            roots: roots.as_deref(),
        };
        let mut made = match check {
            Checked::Host(hook) => {
                let check = Check::new(hook, server);
                let verifier = move |token: &str| check.verify(token);
                ResourceServer::new(resource, issuers.iter(), verifier)?
            }
            Checked::Discovered => signed(resource, issuers, &way, Keys::Discovered(issuer))?,
            Checked::At(url) => signed(resource, issuers, &way, Keys::At(issuer, url))?,
            Checked::With(keys) => signed(resource, issuers, &way, Keys::With(issuer, keys))?,
        };
        made = made
            .required_scopes([required])
            .scopes_supported([supported]);
        for (broad, narrow) in implied {
            made = made.implies(broad, [narrow]);
        }
        for audience in audiences {
            made = made.audience(audience);
        }
        made = set_given(made, name.as_ref(), ResourceServer::name);
        made = set_given(made, documentation.as_ref(), ResourceServer::documentation);
        if let Some(url) = metadata_url {
            made = made.metadata_at(url)?;
        }
        bound(made, *dpop, nonces.as_ref())
    }
}

/// The proxy and the trusted certificates for fetching the keys of an issuer.
#[cfg_attr(not(feature = "jwt"), allow(dead_code, reason = "nobody goes there"))]
struct Way<'a> {
    proxy: Option<&'a str>,
    roots: Option<&'a [u8]>,
}

/// The source of the keys of an issuer.
#[cfg_attr(not(feature = "jwt"), allow(dead_code, reason = "nobody looks there"))]
enum Keys<'a> {
    Discovered(&'a str),
    At(&'a str, &'a str),
    With(&'a str, &'a str),
}

/// Makes a resource server that accepts JWTs as access tokens.
#[cfg(feature = "jwt")]
fn signed(
    resource: &str,
    issuers: &[String],
    way: &Way<'_>,
    keys: Keys<'_>,
) -> Result<ResourceServer> {
    use crate::server::http::JwtVerifier;

    let mut verifier = match keys {
        Keys::Discovered(issuer) => JwtVerifier::new(issuer),
        Keys::At(issuer, url) => JwtVerifier::with_jwks_url(issuer, url),
        Keys::With(issuer, keys) => {
            let keys = keys.to_owned();
            JwtVerifier::with_keys(issuer, move || Ok(keys.clone()))
        }
    };
    if let Some(pem) = way.roots {
        verifier = verifier.root_certificates(pem)?;
    }
    verifier = match way.proxy {
        None => verifier,
        Some("environment") => verifier.proxy_from_environment(),
        Some(url) => verifier.proxy(url)?,
    };
    ResourceServer::new(resource, issuers.iter(), verifier)
}

#[cfg(not(feature = "jwt"))]
fn signed(_: &str, _: &[String], _: &Way<'_>, _: Keys<'_>) -> Result<ResourceServer> {
    let text = "this library was built without signed tokens (feature 'jwt'): check tokens with mcplink_resource_server_set_verifier";
    Err(Error::new(ErrorKind::Unsupported, text))
}

/// Enables tokens that are bound to a key of the client (DPoP), unless `dpop` excludes them.
#[cfg(feature = "jwt")]
fn bound(
    server: ResourceServer,
    dpop: mcplink_dpop,
    nonces: Option<&Nonces>,
) -> Result<ResourceServer> {
    use crate::server::http::Dpop;

    let mut made = match dpop {
        mcplink_dpop::MCPLINK_DPOP_NEVER => return Ok(server),
        mcplink_dpop::MCPLINK_DPOP_WHEN_ASKED => Dpop::new(),
        mcplink_dpop::MCPLINK_DPOP_ALWAYS => Dpop::new().required(),
    };
    if let Some(nonces) = nonces {
        made = made.nonces(&nonces.keys, nonces.life)?;
    }
    Ok(server.dpop(made))
}

#[cfg(not(feature = "jwt"))]
fn bound(server: ResourceServer, dpop: mcplink_dpop, _: Option<&Nonces>) -> Result<ResourceServer> {
    if dpop == mcplink_dpop::MCPLINK_DPOP_NEVER {
        return Ok(server);
    }
    let text = "this library was built without tokens that are bound to keys (feature 'jwt')";
    Err(Error::new(ErrorKind::Unsupported, text))
}

/// Makes the description of a resource server. By default the access tokens are JWTs. The
/// authorization server signs them with the keys that its metadata names. Signature, issuer and
/// times are verified. The claim sub names the principal, and the claim scope or scp contains the
/// granted scopes.
///
/// resource: the URL that clients use, for example "https://files.example/mcp", not the address at
/// which the process listens.
/// issuer: the issuer identifier of the authorization server, for example "https://login.example".
/// It is compared exactly with tokens and metadata (RFC 9068, section 4; RFC 8414, section 3.3). An
/// identifier with a "/" at the end and the same identifier without the "/" name two different
/// issuers.
/// Returns: the description. The caller owns it and frees it with mcplink_resource_server_free.
/// NULL for an invalid argument. Invalid URLs are reported when a listener or endpoint is made with
/// the description.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_new(
    resource: *const c_char,
    issuer: *const c_char,
) -> *mut mcplink_resource_server_t {
    constructed("mcplink_resource_server_new", "http", || {
        // SAFETY: the header requires texts that end in NUL.
        let (resource, issuer) =
            unsafe { (filled(resource, "resource")?, filled(issuer, "issuer")?) };
        Ok(own(mcplink_resource_server_t {
            resource: resource.to_owned(),
            issuers: vec![issuer.to_owned()],
            check: Checked::Discovered,
            proxy: None,
            roots: None,
            required: String::new(),
            supported: String::new(),
            implied: Vec::new(),
            audiences: Vec::new(),
            name: None,
            documentation: None,
            metadata_url: None,
            dpop: mcplink_dpop::MCPLINK_DPOP_NEVER,
            nonces: None,
            refusal: Refusal::default(),
        }))
    })
}

actions! {
    set(server: mcplink_resource_server_t);

    /// Adds another authorization server. The library itself cannot verify the tokens of this
    /// authorization server, so a function of the host has to verify them: see
    /// mcplink_resource_server_set_verifier.
    ///
    /// issuer: the issuer identifier of the authorization server.
    fn mcplink_resource_server_add_issuer(issuer: *const c_char) {
        server.issuers.push(filled(issuer, "issuer")?.to_owned());
    }

    /// Sets the URL of the issuer's keys, for an issuer whose metadata does not contain the URL.
    ///
    /// url: the URL of the key set (RFC 7517): https, except on this machine. NULL is refused: see
    /// mcplink_resource_server_use_default_keys.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when keys or a verifier are set already.
    fn mcplink_resource_server_set_keys_url(url: *const c_char) {
        let url = filled(url, "url")?;
        server.need_check(|check| matches!(check, Checked::At(_)))?;
        server.check = Checked::At(url.to_owned());
    }

    /// Sets the issuer's keys, so that the library does not fetch them.
    ///
    /// json, len: the key set (RFC 7517), {"keys":[...]}; len may be MCPLINK_NUL for text that ends
    /// in NUL. The key set replaces a URL that was set with mcplink_resource_server_set_keys_url.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when a verifier is set already.
    fn mcplink_resource_server_set_keys(json: *const c_char, len: usize) {
        let keys = json_payload(json, len, "json")?;
        server.need_check(|check| !matches!(check, Checked::Host(_)))?;
        server.check = Checked::With(keys.get().to_owned());
    }

    /// Sets the proxy through which the issuer's metadata and keys are fetched. Default: no proxy,
    /// regardless of the environment.
    ///
    /// url: as for mcplink_client_options_set_proxy, also "environment". NULL is refused: see
    /// mcplink_resource_server_clear_proxy.
    fn mcplink_resource_server_set_proxy(url: *const c_char) {
        server.proxy = Some(filled(url, "url")?.to_owned());
    }

    /// Undoes mcplink_resource_server_set_proxy: the issuer's metadata and keys are fetched without
    /// a proxy.
    fn mcplink_resource_server_clear_proxy() {
        server.proxy = None
    }

    /// Sets the certificate authorities that are trusted when the issuer's metadata and keys are
    /// fetched over HTTPS. No other authorities are trusted. Default: Mozilla's list.
    ///
    /// pem, len: PEM text with one or more certificates, which is copied; other contents are
    /// skipped. len may be MCPLINK_NUL for text that ends in NUL. The text replaces earlier
    /// certificates. NULL and blank text are refused: see
    /// mcplink_resource_server_use_default_roots. If the text contains no valid certificate, making
    /// a listener or endpoint with the description fails with MCPLINK_E_INVALID. In a build without
    /// signed tokens (feature jwt), making a listener or endpoint fails with MCPLINK_E_UNSUPPORTED.
    /// The certificates are not used with mcplink_resource_server_set_verifier.
    fn mcplink_resource_server_set_root_certificates(pem: *const c_char, len: usize) {
        server.roots = Some(filled_measured(pem, len, "the PEM text")?.to_vec());
    }

    /// Undoes mcplink_resource_server_set_root_certificates: Mozilla's list of certificate
    /// authorities is trusted.
    fn mcplink_resource_server_use_default_roots() {
        server.roots = None
    }
}

actions! {
    set(server: mcplink_resource_server_t);

    /// Undoes mcplink_resource_server_set_keys, mcplink_resource_server_set_keys_url and
    /// mcplink_resource_server_set_verifier. Tokens are then verified with the keys that the
    /// issuer's metadata names.
    fn mcplink_resource_server_use_default_keys() {
        server.check = Checked::Discovered
    }

    /// Sets the scopes that every request requires. The first challenge names these scopes to the
    /// client. mcplink_server_require_scopes sets further scopes for single tools, prompts,
    /// resources and templates. Default: no scopes.
    ///
    /// scopes: the names of the scopes, separated by spaces. NULL and blank text are refused: see
    /// mcplink_resource_server_clear_required_scopes.
    fn mcplink_resource_server_set_required_scopes(scopes: *const c_char) {
        filled(scopes, "scopes")?.clone_into(&mut server.required);
    }

    /// Undoes mcplink_resource_server_set_required_scopes. Then only the scopes that were set with
    /// mcplink_server_require_scopes are required.
    fn mcplink_resource_server_clear_required_scopes() {
        server.required.clear()
    }

    /// Sets the supported scopes that the metadata lists. List only the scopes for ordinary use,
    /// because some clients request all listed scopes at once. Default: the scopes that every
    /// request requires.
    ///
    /// scopes: the names of the scopes, separated by spaces.
    fn mcplink_resource_server_set_scopes_supported(scopes: *const c_char) {
        name(scopes, "scopes")?.clone_into(&mut server.supported);
    }

    /// Declares that a broad scope implies narrower scopes. If a narrower scope implies further
    /// scopes, the broad scope implies these scopes too.
    ///
    /// broad: the broad scope.
    /// narrow: the implied scopes, separated by spaces.
    fn mcplink_resource_server_add_implied(broad: *const c_char, narrow: *const c_char) {
        let (broad, narrow) = (filled(broad, "broad")?, filled(narrow, "narrow")?);
        server.implied.push((broad.to_owned(), narrow.to_owned()));
    }

    /// Adds an accepted audience: another name by which tokens may refer to this server. Some
    /// authorization servers do not use the URL of the server as the audience.
    ///
    /// audience: the name.
    fn mcplink_resource_server_add_audience(audience: *const c_char) {
        let audience = filled(audience, "audience")?;
        server.audiences.push(audience.to_owned());
    }

    /// Sets the name of the server for consent pages, and the URL of its documentation for
    /// developers.
    ///
    /// title: the name; NULL for no name.
    /// documentation: the URL of the documentation; NULL for no documentation.
    fn mcplink_resource_server_set_info(title: *const c_char, documentation: *const c_char) {
        server.name = optional(title, "title")?.map(str::to_owned);
        server.documentation = optional(documentation, "documentation")?.map(str::to_owned);
    }

    /// Sets the URL of the metadata, for a server behind a proxy that forwards only some paths. The
    /// server then serves the metadata also at this URL. Default: the well-known location of the
    /// server's URL: https://host/.well-known/oauth-protected-resource/mcp for https://host/mcp.
    ///
    /// url: the URL; NULL for the default.
    fn mcplink_resource_server_set_metadata_url(url: *const c_char) {
        server.metadata_url = optional(url, "url")?.map(str::to_owned);
    }

    /// Sets whether tokens that are bound to a key of the client are accepted (DPoP, RFC 9449). A
    /// stolen bound token can't be used, because each request also needs a proof of the key. The
    /// signature, method, URL, token, and time (within five minutes) of the proof are verified, and
    /// each proof is accepted once. Metadata and challenges announce the setting to clients.
    ///
    /// dpop: when access tokens are bound to a key of the client. Default: MCPLINK_DPOP_NEVER.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. In a build without signed tokens, making a
    /// listener or endpoint with the description fails with MCPLINK_E_UNSUPPORTED.
    fn mcplink_resource_server_set_dpop(dpop: arg::mcplink_dpop) {
        server.dpop = mcplink_dpop::read(dpop, "use of DPoP")?;
    }

    /// Sets the keys for nonces. Each DPoP proof must then contain a nonce of this server, so that
    /// proofs can't be made in advance. A client without a nonce is refused, gets a nonce with the
    /// refusal, and retries. Default: no nonce is required.
    ///
    /// keys, len: one or more keys of 32 secret random bytes each, concatenated and copied. The
    /// first key encrypts nonces; nonces of any key are accepted. Replicas share their keys.
    /// lifetime_ms: how long a nonce is valid, in milliseconds; at least 1000.
    fn mcplink_resource_server_set_nonces(keys: *const c_void, len: usize, lifetime_ms: u32) {
        let (keys, rest) = bytes(keys, len, "keys")?.as_chunks::<32>();
        if keys.is_empty() || !rest.is_empty() {
            let text = format!("keys have 32 bytes each, not {len} in all");
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        server.nonces = Some(Nonces {
            keys: keys.iter().copied().map(StateKey::new).collect(),
            life: Duration::from_millis(lifetime_ms.into()),
        });
    }

    /// Sets a function of the host that verifies tokens of any kind.
    ///
    /// callback: called for each token. The callback sees only the token of the request
    /// (mcplink_http_request_token), and must not pass the token on. The callback calls
    /// mcplink_http_request_admit and mcplink_http_request_add_audience, or refuses the token. Then
    /// the library checks the audience and the expiry. For threads see
    /// mcplink_http_options_on_authenticate. NULL is refused: see
    /// mcplink_resource_server_use_default_keys.
    /// user, destroy: passed to callback; destroy runs when the function is replaced, refused or
    /// cleared, or when all objects that use the description are freed.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when keys are set already.
    fn mcplink_resource_server_set_verifier(callback: mcplink_authenticate_fn; user) {
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        server.need_check(|check| matches!(check, Checked::Host(_)))?;
        server.check = Checked::Host(hook);
    }
}

/// Frees the description of a resource server. HTTP options that use it keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_free(server: *mut mcplink_resource_server_t) {
    // SAFETY: the header requires a description of this library, freed once.
    unsafe { free(server) }
}
