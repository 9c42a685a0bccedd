//! The OAuth settings of a client.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use super::authorizer::Made;
use super::grant_type::Way;
use super::registered::{Registered, mcplink_oauth_client_t};
use super::token_store::TokenStore;
use crate::cffi::actions::actions;
use crate::cffi::arg;
use crate::cffi::arg::enumeration;
use crate::cffi::entry::{Outcome, free, own, value};
use crate::cffi::fallible::fallible;
use crate::cffi::handle::{Kind as ObjectKind, Object};
use crate::cffi::log::{self, mcplink_log_fn};
use crate::cffi::refusal::{self, Refusal, taken};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{filled, filled_measured, name, optional};
use crate::error::{Error, ErrorKind};

/// OAuth settings: how a client obtains and renews access tokens for servers over HTTP. By default
/// a person logs in with the browser of the system, and everything else is discovered from the
/// server.
///
/// Clients that are opened with the same settings object share tokens and logins, if the settings
/// did not change in between. One thread at a time may use the settings object. Clients hold a
/// reference to the settings object.
pub struct mcplink_oauth_t {
    made: Arc<Made>,
    refusal: Refusal,
}

impl Object for mcplink_oauth_t {
    const KIND: ObjectKind = ObjectKind::OAuth;
}

impl refusal::Settings for mcplink_oauth_t {
    const TARGET: &'static str = "auth";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    fn log(&self) -> Option<Arc<log::Hook>> {
        self.made.settings().log.clone()
    }
}

/// All OAuth settings. Copies share the callbacks.
#[derive(Clone, Default)]
pub(super) struct Settings {
    pub(super) way: Way,
    pub(super) redirect_host: Option<String>,
    pub(super) redirect_path: Option<String>,
    pub(super) clients: Vec<Registered>,
    pub(super) client_name: Option<String>,
    pub(super) client_uri: Option<String>,
    pub(super) document: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) asks_offline: Option<bool>,
    /// Further parameters of the authorization request, with their names.
    pub(super) params: Vec<(String, String)>,
    pub(super) dpop: mcplink_dpop,
    pub(super) store: TokenStore,
    pub(super) step_timeout: Option<Duration>,
    pub(super) login_timeout: Option<Duration>,
    pub(super) everywhere: bool,
    pub(super) proxy: Option<String>,
    /// The trusted certificate authorities for OAuth over HTTPS, as PEM text.
    pub(super) roots: Option<Vec<u8>>,
    pub(super) log: Option<Arc<log::Hook>>,
}

enumeration! {
    /// Whether access tokens are bound to a key, so that a stolen token can't be used (DPoP, RFC
    /// 9449).
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum mcplink_dpop {
        /// Tokens are bound on request: a client binds tokens if the server requires bound tokens;
        /// a server accepts bound and unbound tokens. This mode is the default of clients.
        #[default]
        MCPLINK_DPOP_WHEN_ASKED = 400,
        /// Tokens are never bound. This mode is the default of servers: such a server refuses bound
        /// tokens, because the server could not check the key.
        MCPLINK_DPOP_NEVER = 401,
        /// Tokens are always bound: an unbound token is refused.
        MCPLINK_DPOP_ALWAYS = 402,
    }
}

impl mcplink_oauth_t {
    /// Returns the settings together with their authorizer. Clients of unchanged settings share the
    /// returned object.
    pub(in crate::cffi) fn made(&self) -> Arc<Made> {
        Arc::clone(&self.made)
    }
}

/// Changes OAuth settings. All setters of OAuth settings call this function. Clients keep the
/// settings with which they were opened.
///
/// # Safety
///
/// `oauth` is NULL or live settings that only this thread uses.
pub(super) unsafe fn set(
    oauth: *mut mcplink_oauth_t,
    what: &str,
    setter: &str,
    change: impl FnOnce(&mut Settings) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    unsafe {
        refusal::set(oauth, what, setter, |oauth| {
            let mut settings = oauth.made.settings().clone();
            change(&mut settings)?;
            oauth.made = Made::of(settings);
            Ok(())
        })
    }
}

pub(super) fn invalid(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

/// Makes OAuth settings with the default values, for mcplink_client_options_set_oauth.
///
/// Returns: the settings. The caller owns them and frees them with mcplink_oauth_free. Threads:
/// any; one thread at a time may use the settings. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_oauth_new() -> *mut mcplink_oauth_t {
    value(std::ptr::null_mut(), || {
        own(mcplink_oauth_t {
            made: Made::of(Settings::default()),
            refusal: Refusal::default(),
        })
    })
}

/// Frees OAuth settings. Clients and options that use the settings keep a reference. Releasing the
/// last reference blocks until host callbacks of an abandoned login have returned: see
/// mcplink_login_is_over.
///
/// oauth: the settings; may be NULL. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_free(oauth: *mut mcplink_oauth_t) {
    // SAFETY: the header requires settings of this library, freed once.
    unsafe { free(oauth) }
}

actions! {
    /// oauth: the settings.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
    set(oauth: mcplink_oauth_t);

    /// Adds an OAuth client that was registered with an authorization server beforehand. The client
    /// is used with that authorization server only. Once a client is added, no other authorization
    /// server is used, and there is no dynamic registration. The first client is also used by
    /// mcplink_oauth_set_client_credentials.
    ///
    /// client: the client. The settings copy the client, which remains the caller's. If a setter of
    /// the client was refused, the client is refused too.
    fn mcplink_oauth_add_client(client: *const mcplink_oauth_client_t) {
        let client = taken(client, "client")?.registered.clone();
        oauth.clients.push(client);
    }

    /// Sets the client name for dynamic client registration, which the user sees during the login.
    ///
    /// client_name: the name; NULL for the default, "mcplink".
    /// page: the URL of a page about the client; NULL for no page.
    fn mcplink_oauth_set_client_name(client_name: *const c_char, page: *const c_char) {
        let client_name = optional(client_name, "client_name")?;
        let page = optional(page, "page")?;
        oauth.client_name = client_name.map(str::to_owned);
        oauth.client_uri = page.map(str::to_owned);
    }

    /// Sets the URL of the client's metadata document (Client ID Metadata Document). Authorization
    /// servers that support such documents use the URL as the client id.
    ///
    /// url: an https URL with a path; NULL for no document. An invalid URL is reported when a
    /// client is opened.
    fn mcplink_oauth_set_client_document(url: *const c_char) {
        oauth.document = optional(url, "url")?.map(str::to_owned);
    }

    /// Sets the scopes to request. Default: the scopes that the server supports. Scopes that the
    /// server requires for the current request, and scopes that were requested before, are always
    /// included.
    ///
    /// scopes: the names of the scopes, separated by spaces; "" for no scopes. NULL is refused: see
    /// mcplink_oauth_use_default_scopes.
    fn mcplink_oauth_set_scopes(scopes: *const c_char) {
        let names = name(scopes, "scopes")?.split_ascii_whitespace();
        oauth.scopes = Some(names.map(str::to_owned).collect());
    }

    /// Undoes mcplink_oauth_set_scopes: clients request the scopes that the server supports.
    fn mcplink_oauth_use_default_scopes() {
        oauth.scopes = None
    }

    /// Sets whether to request offline access (offline_access), if the authorization server
    /// supports it. With offline access, fewer logins are needed. Default: true.
    ///
    /// asks: true to request offline access.
    fn mcplink_oauth_set_offline_access(asks: bool) {
        oauth.asks_offline = Some(asks)
    }

    /// Sets a further parameter of the authorization request, such as "access_type" ("offline"),
    /// "audience" or "prompt". Default: none. A later call with the same name replaces the value.
    /// The user's browser gets the parameters, so they are not secret.
    ///
    /// "prompt" replaces the value "consent", which is sent with the scope offline_access. The
    /// other parameters of the library can't be replaced, and "response_mode", "request" and
    /// "request_uri" can't be set: opening a client with such a name fails with MCPLINK_E_INVALID.
    /// So does opening a client that logs in without a person.
    ///
    /// param: the name of the parameter.
    /// value: the value; "" omits the parameter.
    fn mcplink_oauth_set_authorization_param(param: *const c_char, value: *const c_char) {
        let (param, value) = (filled(param, "param")?, name(value, "value")?);
        oauth.params.push((param.to_owned(), value.to_owned()));
    }

    /// Sets whether tokens are bound to a key (DPoP). The key is generated when needed, and saved
    /// with the tokens.
    ///
    /// dpop: one of enum mcplink_dpop. Default: MCPLINK_DPOP_WHEN_ASKED.
    fn mcplink_oauth_set_dpop(dpop: arg::mcplink_dpop) {
        oauth.dpop = mcplink_dpop::read(dpop, "use of DPoP")?
    }

    /// Sets how long one request to an authorization server may take. Default: 10 s.
    ///
    /// milliseconds: the timeout; more than an hour counts as an hour.
    fn mcplink_oauth_set_step_timeout_ms(milliseconds: u32) {
        let span = Duration::from_millis(milliseconds.min(3_600_000).into());
        oauth.step_timeout = Some(span);
    }

    /// Sets how long a complete login may take. Default: 5 minutes. While a person logs in, the
    /// timeout of waiting calls is paused. The total timeout of these calls is not paused: see
    /// mcplink_call_options_set_max_timeout_ms and mcplink_client_options_set_max_timeout_ms.
    ///
    /// milliseconds: the timeout; more than a day counts as a day.
    fn mcplink_oauth_set_login_timeout_ms(milliseconds: u32) {
        let span = Duration::from_millis(milliseconds.min(86_400_000).into());
        oauth.login_timeout = Some(span);
    }

    /// Sets whether metadata and tokens may be requested from loopback and private addresses when
    /// the server itself has a public address. Default: false, to prevent server-side request
    /// forgery (SSRF). Otherwise a server could make its clients send requests into their private
    /// networks.
    ///
    /// allowed: true to allow these addresses.
    fn mcplink_oauth_set_private_addresses(allowed: bool) {
        oauth.everywhere = allowed
    }

    /// Sets the proxy for connections to authorization servers. Default: no proxy, regardless of
    /// the environment.
    ///
    /// url: the URL of the proxy, or "environment": see mcplink_client_options_set_proxy. NULL is
    /// refused: see mcplink_oauth_clear_proxy.
    fn mcplink_oauth_set_proxy(url: *const c_char) {
        oauth.proxy = Some(filled(url, "url")?.to_owned());
    }

    /// Undoes mcplink_oauth_set_proxy: clients connect to authorization servers without a proxy.
    fn mcplink_oauth_clear_proxy() {
        oauth.proxy = None
    }

    /// Sets the certificate authorities that are trusted for OAuth over HTTPS, for example those of
    /// a company. No other authorities are trusted. Default: Mozilla's list.
    ///
    /// The authorities apply to all OAuth requests: requests for tokens, and requests for metadata,
    /// including the metadata of the MCP server. If the authorization server and the MCP server
    /// have certificates from different authorities, pem must contain both authorities. The
    /// certificate bundle of a system usually contains all needed authorities.
    /// mcplink_client_options_set_root_certificates applies only to requests to the MCP server.
    ///
    /// pem, len: PEM text with one or more certificates, which is copied; other contents are
    /// skipped. len may be MCPLINK_NUL for text that ends in NUL. The text replaces earlier
    /// certificates. NULL and blank text are refused: see mcplink_oauth_use_default_roots. Text
    /// without a valid certificate is reported when a client is opened, with MCPLINK_E_INVALID. In
    /// a build without OAuth (feature auth) opening fails with MCPLINK_E_UNSUPPORTED.
    fn mcplink_oauth_set_root_certificates(pem: *const c_char, len: usize) {
        oauth.roots = Some(filled_measured(pem, len, "the PEM text")?.to_vec());
    }

    /// Undoes mcplink_oauth_set_root_certificates: Mozilla's list of certificate authorities is
    /// trusted.
    fn mcplink_oauth_use_default_roots() {
        oauth.roots = None
    }

    /// Sets the log hook of authorizations. For authorizations, this hook replaces the process-wide
    /// hook that was set with mcplink_set_log. Log records contain no secrets.
    ///
    /// level: the least severe level to report, one of enum mcplink_log_level.
    /// callback: the function; NULL for no function. It runs on any thread, and must be quick.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when all
    /// settings, options and clients that use callback are freed.
    fn mcplink_oauth_set_log(level: arg::mcplink_log_level, callback: mcplink_log_fn; user) {
        oauth.log = log::Hook::new(level, callback, user)?;
    }
}

fallible! {
    /// oauth: the settings, which clients may be using.
    /// err: receives the error on failure; the caller frees it. May be NULL.
    taken(oauth: *const mcplink_oauth_t);

    /// Removes the tokens for a server from memory and from the token store. The next request to
    /// the server must be authorized again. The tokens are not revoked at the authorization server.
    ///
    /// url: the URL of the server, as passed to mcplink_client_options_set_url.
    /// Returns: MCPLINK_OK, also if no tokens are stored; MCPLINK_E_INVALID or MCPLINK_E_AUTH for
    /// an invalid URL; MCPLINK_E_UNSUPPORTED in a build without OAuth; or the error of the token
    /// store. Threads: any, while no thread changes the settings. Blocks: while the token store
    /// removes the tokens. Since 0.1.
    fn mcplink_oauth_forget(url: *const c_char) {
        oauth.made.forget(name(url, "url")?)?;
    }
}
