//! Servers that take access tokens: whose, for what, and where clients get them.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use super::super::mcplink_server_t;
use super::options::mcplink_http_options_t;
use super::request::{AuthenticateFn, Check, mcplink_authenticate_fn};
use crate::cffi::auth::mcplink_dpop;
use crate::cffi::entry::free;
use crate::cffi::json::json_payload;
use crate::cffi::refusal::{Refusal, Settings, constructed, set, taken};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{bytes, filled, filled_measured, missing, name, optional};
use crate::cffi::user::{Hook, UserData, mcplink_destroy_fn};
use crate::error::{Error, ErrorKind, Result};
use crate::server::StateKey;
use crate::server::http::ResourceServer;

/// A server over HTTP to which clients authorize themselves with access tokens of an authorization server (OAuth). One thread at a time uses it;
/// the settings that it is given to copy it.
///
/// Each request is served only with a token in its field Authorization that is good, was issued for this server and has not expired. Others are
/// answered with status 401 and a challenge that says where tokens are to be had; what lacks a scope with 403 and the scopes that are needed. The
/// metadata that this refers to is served to everybody.
#[derive(Clone)]
pub struct mcplink_resource_server_t {
    resource: String,
    /// The first one's keys sign tokens, unless there is another check.
    issuers: Vec<String>,
    check: Checked,
    /// To the issuer's keys.
    proxy: Option<String>,
    /// PEM text: whom to trust on the way there.
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

/// What the nonces of proofs are made with, and for how long they are good.
#[derive(Clone)]
#[cfg_attr(not(feature = "jwt"), allow(dead_code, reason = "no proofs"))]
struct Nonces {
    keys: Vec<StateKey>,
    life: Duration,
}

/// How tokens are checked.
#[derive(Clone)]
enum Checked {
    /// By the keys that the issuer's metadata names.
    Discovered,
    /// By the keys at an address.
    At(String),
    /// By these keys.
    With(String),
    /// By the host.
    Host(Arc<Hook<AuthenticateFn>>),
}

impl Settings for mcplink_resource_server_t {
    const NAME: &'static str = "server";
    const TARGET: &'static str = "http";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_resource_server_new");

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl mcplink_resource_server_t {
    /// A check of another kind than there is: neither takes the place of the other, so that none goes without a word.
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

    /// What a Rust program would have made, for a server.
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
        if let Some(name) = name {
            made = made.name(name);
        }
        if let Some(documentation) = documentation {
            made = made.documentation(documentation);
        }
        if let Some(url) = metadata_url {
            made = made.metadata_at(url)?;
        }
        bound(made, *dpop, nonces.as_ref())
    }
}

/// How keys are fetched.
#[cfg_attr(not(feature = "jwt"), allow(dead_code, reason = "nobody goes there"))]
struct Way<'a> {
    proxy: Option<&'a str>,
    roots: Option<&'a [u8]>,
}

/// Where the keys of an issuer are.
#[cfg_attr(not(feature = "jwt"), allow(dead_code, reason = "nobody looks there"))]
enum Keys<'a> {
    Discovered(&'a str),
    At(&'a str, &'a str),
    With(&'a str, &'a str),
}

/// For tokens that are JWTs.
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

/// Takes tokens that are bound to keys, if that is wanted.
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

/// Describes a server that takes access tokens. Without more they are JWTs that its authorization server has signed, checked by the keys that the
/// issuer's metadata names: signature, issuer, times; the principal is sub, scopes are those of scope or scp.
///
/// resource: the address that clients use, for example "https://files.example/mcp", not the one that the process listens at.
/// issuer: the authorization server, by its issuer identifier, for example "https://login.example". It is compared with what tokens and metadata
/// say character by character (RFC 9068, section 4; RFC 8414, section 3.3), so a "/" at the end makes another issuer.
/// Returns: the description, the caller's to free; NULL for a bad argument and in a build without HTTP. What is wrong with the addresses is found
/// out when something serves with it. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_new(
    resource: *const c_char,
    issuer: *const c_char,
) -> *mut mcplink_resource_server_t {
    constructed("mcplink_resource_server_new", "http", || {
        // SAFETY: the header says that they are texts that end in NUL.
        let (resource, issuer) =
            unsafe { (filled(resource, "resource")?, filled(issuer, "issuer")?) };
        Ok(Box::into_raw(Box::new(mcplink_resource_server_t {
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
        })))
    })
}

/// Names another authorization server that clients may get tokens from. Its tokens are good only for a function that checks them: see
/// mcplink_resource_server_set_verifier.
///
/// server: the description.
/// issuer: its issuer identifier.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_add_issuer(
    server: *mut mcplink_resource_server_t,
    issuer: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text that ends in NUL.
    unsafe {
        set(server, "mcplink_resource_server_add_issuer", |server| {
            server.issuers.push(filled(issuer, "issuer")?.to_owned());
            Ok(())
        })
    }
}

/// Says where the issuer's keys are, for one whose metadata does not say so.
///
/// server: the description.
/// url: of its key set (RFC 7517): https, except on this machine. NULL is refused: see mcplink_resource_server_use_default_keys.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there are keys or a function that checks tokens already. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_keys_url(
    server: *mut mcplink_resource_server_t,
    url: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text that ends in NUL.
    unsafe {
        set(server, "mcplink_resource_server_set_keys_url", |server| {
            let url = filled(url, "url")?;
            server.need_check(|check| matches!(check, Checked::At(_)))?;
            server.check = Checked::At(url.to_owned());
            Ok(())
        })
    }
}

/// Gives the issuer's keys, which are not fetched then.
///
/// server: the description.
/// json, len: the key set (RFC 7517), {"keys":[...]}; MCPLINK_NUL measures it. It has the place of the address of keys.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there is a function that checks tokens already. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_keys(
    server: *mut mcplink_resource_server_t,
    json: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text with its length.
    unsafe {
        set(server, "mcplink_resource_server_set_keys", |server| {
            let keys = json_payload(json, len, "json")?;
            server.need_check(|check| !matches!(check, Checked::Host(_)))?;
            server.check = Checked::With(keys.get().to_owned());
            Ok(())
        })
    }
}

/// Fetches the issuer's metadata and keys through a proxy. Defaults to none, whatever the environment says.
///
/// server: the description.
/// url: as for mcplink_client_options_set_proxy, "environment" too. NULL is refused: see mcplink_resource_server_clear_proxy.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_proxy(
    server: *mut mcplink_resource_server_t,
    url: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text that ends in NUL.
    unsafe {
        set(server, "mcplink_resource_server_set_proxy", |server| {
            server.proxy = Some(filled(url, "url")?.to_owned());
            Ok(())
        })
    }
}

/// Fetches the issuer's metadata and keys without a proxy, as without mcplink_resource_server_set_proxy.
///
/// server: the description.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_clear_proxy(
    server: *mut mcplink_resource_server_t,
) -> mcplink_status_t {
    // SAFETY: the header says that it is a description of ours.
    unsafe {
        set(server, "mcplink_resource_server_clear_proxy", |server| {
            server.proxy = None;
            Ok(())
        })
    }
}

/// Trusts the servers over HTTPS whose certificates these authorities issued, and no others, where the issuer's metadata and keys are fetched.
/// Mozilla's list without this.
///
/// server: the description.
/// pem, len: PEM text with all of them, one or more; other things in it are skipped. MCPLINK_NUL measures it. It is copied, and has the place of
/// what was set before. NULL and text without anything are refused: see mcplink_resource_server_use_default_roots. That there is no certificate in it, or one that can't be read, is found out when something serves
/// with it, with MCPLINK_E_INVALID; in a build that does not check tokens by itself (feature jwt) that fails with MCPLINK_E_UNSUPPORTED. It is not
/// looked at where a function of the host's checks tokens.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_root_certificates(
    server: *mut mcplink_resource_server_t,
    pem: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text with its length.
    unsafe {
        set(
            server,
            "mcplink_resource_server_set_root_certificates",
            |server| {
                server.roots = Some(filled_measured(pem, len, "the PEM text")?.to_vec());
                Ok(())
            },
        )
    }
}

/// Trusts Mozilla's list of authorities, as without mcplink_resource_server_set_root_certificates.
///
/// server: the description.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_use_default_roots(
    server: *mut mcplink_resource_server_t,
) -> mcplink_status_t {
    // SAFETY: the header says that it is a description of ours.
    unsafe {
        set(
            server,
            "mcplink_resource_server_use_default_roots",
            |server| {
                server.roots = None;
                Ok(())
            },
        )
    }
}

/// Has a function of the host's check tokens, of any kind.
///
/// server: the description.
/// callback: called for each token, which is all that is known of the request (mcplink_http_request_token); ends with mcplink_http_request_admit
/// and mcplink_http_request_add_audience, or refuses. For whom the token was issued and whether it has expired is checked besides. Runs where
/// mcplink_http_options_on_authenticate says; never hand the token on. NULL is refused: see mcplink_resource_server_use_default_keys.
/// user, destroy: passed to callback; ended when another function is set, when it is refused or taken away, or when all that has the description, and serves with it, has ended.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there are keys already. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_verifier(
    server: *mut mcplink_resource_server_t,
    callback: mcplink_authenticate_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that it is a description of ours.
    unsafe {
        set(server, "mcplink_resource_server_set_verifier", |server| {
            let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
            server.need_check(|check| matches!(check, Checked::Host(_)))?;
            server.check = Checked::Host(hook);
            Ok(())
        })
    }
}

/// Has tokens checked by the keys that the issuer's metadata names, as without mcplink_resource_server_set_keys,
/// mcplink_resource_server_set_keys_url and mcplink_resource_server_set_verifier: what they were given is taken away.
///
/// server: the description.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_use_default_keys(
    server: *mut mcplink_resource_server_t,
) -> mcplink_status_t {
    // SAFETY: the header says that it is a description of ours.
    unsafe {
        set(
            server,
            "mcplink_resource_server_use_default_keys",
            |server| {
                server.check = Checked::Discovered;
                Ok(())
            },
        )
    }
}

/// Says which scopes every request needs; what one operation needs besides says mcplink_server_require_scopes. Clients are told with the first
/// challenge. None without this.
///
/// server: the description.
/// scopes: their names, a blank between two. NULL and text without a name are refused: see mcplink_resource_server_clear_required_scopes.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_required_scopes(
    server: *mut mcplink_resource_server_t,
    scopes: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text that ends in NUL.
    unsafe {
        set(
            server,
            "mcplink_resource_server_set_required_scopes",
            |server| {
                filled(scopes, "scopes")?.clone_into(&mut server.required);
                Ok(())
            },
        )
    }
}

/// Has requests need no scopes but those of single operations, as without mcplink_resource_server_set_required_scopes.
///
/// server: the description.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_clear_required_scopes(
    server: *mut mcplink_resource_server_t,
) -> mcplink_status_t {
    // SAFETY: the header says that it is a description of ours.
    unsafe {
        set(
            server,
            "mcplink_resource_server_clear_required_scopes",
            |server| {
                server.required.clear();
                Ok(())
            },
        )
    }
}

/// Says which scopes there are, as the metadata shows them: those that a client needs for the usual, since some ask for all of them at once.
/// Without this, those that every request needs.
///
/// server: the description.
/// scopes: their names, a blank between two.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_scopes_supported(
    server: *mut mcplink_resource_server_t,
    scopes: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text that ends in NUL.
    unsafe {
        set(
            server,
            "mcplink_resource_server_set_scopes_supported",
            |server| {
                name(scopes, "scopes")?.clone_into(&mut server.supported);
                Ok(())
            },
        )
    }
}

/// Says that whoever was granted a broad scope has narrower ones too, and what they imply.
///
/// server: the description.
/// broad: the scope.
/// narrow: the others, a blank between two.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_add_implied(
    server: *mut mcplink_resource_server_t,
    broad: *const c_char,
    narrow: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and texts that end in NUL.
    unsafe {
        set(server, "mcplink_resource_server_add_implied", |server| {
            let (broad, narrow) = (filled(broad, "broad")?, filled(narrow, "narrow")?);
            server.implied.push((broad.to_owned(), narrow.to_owned()));
            Ok(())
        })
    }
}

/// Adds another name of this server in the audience of tokens, for authorization servers that don't write its address there.
///
/// server: the description.
/// audience: the name.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_add_audience(
    server: *mut mcplink_resource_server_t,
    audience: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text that ends in NUL.
    unsafe {
        set(server, "mcplink_resource_server_add_audience", |server| {
            let audience = filled(audience, "audience")?;
            server.audiences.push(audience.to_owned());
            Ok(())
        })
    }
}

/// Says what the server is called where people are asked to grant something, and where developers read about it.
///
/// server: the description.
/// title: NULL for none.
/// documentation: the URL of a page; NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_info(
    server: *mut mcplink_resource_server_t,
    title: *const c_char,
    documentation: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and texts that end in NUL.
    unsafe {
        set(server, "mcplink_resource_server_set_info", |server| {
            let title = optional(title, "title")?;
            let documentation = optional(documentation, "documentation")?;
            server.name = title.map(str::to_owned);
            server.documentation = documentation.map(str::to_owned);
            Ok(())
        })
    }
}

/// Says where clients find the metadata, if a proxy brings only some paths here: it is served there too. Without this it is at the place that
/// follows from the server's address: https://host/.well-known/oauth-protected-resource/mcp for https://host/mcp.
///
/// server: the description.
/// url: NULL for the default.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_metadata_url(
    server: *mut mcplink_resource_server_t,
    url: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and text that ends in NUL.
    unsafe {
        set(
            server,
            "mcplink_resource_server_set_metadata_url",
            |server| {
                server.metadata_url = optional(url, "url")?.map(str::to_owned);
                Ok(())
            },
        )
    }
}

/// Says whether tokens are taken that are bound to a key of the client (DPoP, RFC 9449), so that whoever steals one can't use it. They come with a
/// proof of the key, which is checked: signature, method and address of the request, token, time within five minutes; each is taken once. Clients
/// learn of it from the metadata and from challenges.
///
/// server: the description.
/// dpop: one of enum mcplink_dpop; MCPLINK_DPOP_NEVER without this.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. In a build without signed tokens, serving with it fails with MCPLINK_E_UNSUPPORTED. Blocks: no.
/// Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_dpop(
    server: *mut mcplink_resource_server_t,
    dpop: i32,
) -> mcplink_status_t {
    // SAFETY: the header says that it is a description of ours.
    unsafe {
        set(server, "mcplink_resource_server_set_dpop", |server| {
            server.dpop = mcplink_dpop::of(dpop)?;
            Ok(())
        })
    }
}

/// Wants a nonce of this server in each proof of a key, so that none can be made in advance. A client that has none is given one with the refusal
/// and tries again. Without this no nonce is wanted.
///
/// server: the description.
/// keys, len: keys of 32 secret random bytes each, one behind the other. Nonces are sealed with the first one, and good if sealed with any:
/// replicas share their keys. They are copied.
/// lifetime_ms: for how long a nonce is good, in milliseconds; at least a second.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_nonces(
    server: *mut mcplink_resource_server_t,
    keys: *const u8,
    len: usize,
    lifetime_ms: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a description of ours and bytes with their length.
    unsafe {
        set(server, "mcplink_resource_server_set_nonces", |server| {
            let (keys, rest) = bytes(keys.cast(), len, "keys")?.as_chunks::<32>();
            if keys.is_empty() || !rest.is_empty() {
                let text = format!("keys have 32 bytes each, not {len} in all");
                return Err(Error::new(ErrorKind::Invalid, text).into());
            }
            server.nonces = Some(Nonces {
                keys: keys.iter().copied().map(StateKey::new).collect(),
                life: Duration::from_millis(lifetime_ms.into()),
            });
            Ok(())
        })
    }
}

/// Frees a description. Settings that it was given to keep theirs.
///
/// server: NULL is fine. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_free(server: *mut mcplink_resource_server_t) {
    // SAFETY: the header says that it is a description of ours, freed once.
    unsafe { free(server) }
}

/// Serves only requests that carry an access token for this server, and tells clients where tokens are to be had. A function of
/// mcplink_http_options_on_authenticate is for anything else than tokens: settings that have one refuse this.
///
/// Handlers learn who asks from mcplink_request_principal, and what that one may do from mcplink_request_has_scope.
///
/// options: the settings.
/// server: copied; it stays the caller's. NULL, and one of which a setter was refused, are refused: see
/// mcplink_http_options_clear_resource_server. What else is wrong with it is found out when something serves with the settings, which fails with
/// MCPLINK_E_UNSUPPORTED where tokens are JWTs in a build without them.
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or what the setter was refused with. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_resource_server(
    options: *mut mcplink_http_options_t,
    server: *const mcplink_resource_server_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options and a description of ours.
    unsafe {
        set(
            options,
            "mcplink_http_options_set_resource_server",
            |options| options.set_tokens(taken(server, "server")?.clone()),
        )
    }
}

/// Takes what mcplink_http_options_set_resource_server was given away. Without another check everybody is let in.
///
/// options: the settings.
/// Returns: MCPLINK_OK, also when there is none, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_clear_resource_server(
    options: *mut mcplink_http_options_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_http_options_clear_resource_server",
            |options| {
                options.clear_tokens();
                Ok(())
            },
        )
    }
}
