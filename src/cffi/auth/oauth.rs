//! The OAuth settings object of a client, and its setters.

use std::ffi::{CStr, c_char};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::authorizer::Made;
use super::bearer::mcplink_bearer_fn;
use super::grant_type::{Way, mcplink_login_fn, mcplink_statement_fn, mcplink_subject};
use super::registered::mcplink_oauth_client_t;
use super::settings::{Settings, mcplink_dpop};
use super::signer::{self, HostKey, mcplink_sign_fn};
use super::token_store::{
    Functions, TokenStore, mcplink_store_load_fn, mcplink_store_remove_fn, mcplink_store_save_fn,
};
use crate::cffi::arg;
use crate::cffi::arg::invalid;
use crate::cffi::entry::{Outcome, free, own, value};
use crate::cffi::fetch::mcplink_fetch_fn;
use crate::cffi::json::typed;
use crate::cffi::log::{self, mcplink_log_fn};
use crate::cffi::refusal::{self, Refusal, taken};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{filled, filled_measured, missing, name, optional};
use crate::cffi::user::Hook;
use crate::transport::sys::command::text_from_c;

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

object!(mcplink_oauth_t is OAuth);

impl refusal::Settings for mcplink_oauth_t {
    const TARGET: &'static str = "auth";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    fn log(&self) -> Option<Arc<log::Hook>> {
        self.made.settings().log.clone()
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
unsafe fn set(
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

/// Makes OAuth settings with the default values, for mcplink_client_options_set_oauth.
///
/// Returns: the settings. The caller owns them and frees them with mcplink_oauth_free.
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
/// mcplink_login_is_done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_free(oauth: *mut mcplink_oauth_t) {
    // SAFETY: the header requires settings of this library, freed once.
    unsafe { free(oauth) }
}

actions! {
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
    /// name: the name; NULL for the default, "mcplink".
    /// uri: the URL of a page about the client; NULL for no page.
    fn mcplink_oauth_set_client_name(name: *const c_char, uri: *const c_char) {
        oauth.client_name = optional(name, "name")?.map(str::to_owned);
        oauth.client_uri = optional(uri, "uri")?.map(str::to_owned);
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
    /// enabled: true to request offline access.
    fn mcplink_oauth_set_offline_access(enabled: bool) {
        oauth.asks_offline = Some(enabled)
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

    /// Sets whether tokens are bound to a key (DPoP), so that a stolen token is of no use. The key
    /// is generated when needed, and saved with the tokens, unless mcplink_oauth_set_dpop_signer
    /// sets another one.
    ///
    /// dpop: when access tokens are bound to a key of the client. Default: MCPLINK_DPOP_WHEN_ASKED.
    fn mcplink_oauth_set_dpop(dpop: arg::mcplink_dpop) {
        oauth.dpop = mcplink_dpop::read(dpop, "use of DPoP")?
    }

    /// Sets the key that tokens are bound to (DPoP): a key that a device or service of the host
    /// holds, instead of a generated key. It has no effect with MCPLINK_DPOP_NEVER.
    ///
    /// algorithm: the name of the JWS algorithm, for example "ES256". Only asymmetric algorithms
    /// are accepted.
    /// public_jwk, len: the public key as a JWK (RFC 7517): a JSON object with the members that RFC
    /// 7638 requires for its thumbprint; len may be MCPLINK_NUL for text that ends in NUL. A key
    /// with private members is refused.
    /// callback: see mcplink_sign_fn. NULL is refused.
    /// user, destroy: passed to callback; destroy runs when another key is set, or when all
    /// settings, options and clients that use the key are freed.
    fn mcplink_oauth_set_dpop_signer(
        algorithm: *const c_char,
        public_jwk: *const c_char,
        len: usize,
        callback: mcplink_sign_fn; user
    ) {
        let algorithm = filled(algorithm, "algorithm")?;
        let jwk = typed(public_jwk, len, "public_jwk")?.ok_or_else(|| missing("public_jwk"))?;
        let mut key = HostKey::new(algorithm, callback, user)?;
        key.public_jwk = signer::public_jwk(&jwk)?;
        oauth.dpop_key = Some(key);
    }

    /// Sets how long one request to an authorization server may take, so that a login fails soon if
    /// that server does not answer. Default: 10 s.
    ///
    /// milliseconds: the timeout; more than an hour counts as an hour.
    fn mcplink_oauth_set_step_timeout_ms(milliseconds: u32) {
        let span = Duration::from_millis(milliseconds.min(3_600_000).into());
        oauth.step_timeout = Some(span);
    }

    /// Sets how long a complete login may take, because a user may have closed the browser.
    /// Default: 5 minutes. While a person logs in, the timeout of waiting calls is paused. The
    /// total timeout of these calls is not paused: see mcplink_call_options_set_max_timeout_ms and
    /// mcplink_client_options_set_max_timeout_ms.
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
    /// enabled: true to allow these addresses.
    fn mcplink_oauth_set_private_addresses(enabled: bool) {
        oauth.everywhere = enabled
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

    /// Sets the HTTP client of the host, which sends all requests for authorization instead of the
    /// library: requests for tokens, and requests for metadata, including the metadata of the MCP
    /// server. The client has to ask mcplink_fetch_allows_address. A request ends after the time
    /// that was set with mcplink_oauth_set_step_timeout_ms. The client decides how servers are
    /// reached, and which servers are trusted. So opening fails with MCPLINK_E_INVALID if a proxy
    /// or root certificates are set, too. mcplink_client_options_set_http_client applies only to
    /// requests to the MCP server.
    ///
    /// callback: see mcplink_fetch_fn. NULL is refused.
    /// user, destroy: passed to callback; destroy runs when the client is replaced, or when all
    /// settings, options and clients that use callback are freed.
    fn mcplink_oauth_set_http_client(callback: mcplink_fetch_fn; user) {
        oauth.fetch = Some(Hook::new(callback, user).ok_or_else(|| missing("callback"))?);
    }

    /// Sets the log hook of authorizations. For authorizations, this hook replaces the process-wide
    /// hook that was set with mcplink_set_log. Log records contain no secrets.
    ///
    /// level: the least severe level to report.
    /// callback: the function; NULL for no function. It runs on any thread, and must be quick.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when all
    /// settings, options and clients that use callback are freed.
    fn mcplink_oauth_on_log(level: arg::mcplink_log_level, callback: mcplink_log_fn; user) {
        oauth.log = log::Hook::new(level, callback, user)?;
    }
}

fallible! {
    taken(oauth: *const mcplink_oauth_t);

    /// Removes the tokens for a server from memory and from the token store. The next request to
    /// the server must be authorized again. The tokens are not revoked at the authorization server.
    ///
    /// oauth: the settings, which clients may be using.
    /// url: the URL of the server, as passed to mcplink_client_options_set_url.
    /// Returns: MCPLINK_OK, also if no tokens are stored; MCPLINK_E_INVALID or MCPLINK_E_AUTH for
    /// an invalid URL; MCPLINK_E_UNSUPPORTED in a build without OAuth; or the error of the token
    /// store.
    /// Threads: any, while no thread changes the settings. Blocks: while the token store removes
    /// the tokens.
    fn mcplink_oauth_forget(url: *const c_char) {
        oauth.made.forget(name(url, "url")?)?;
    }
}

actions! {
    set(oauth: mcplink_oauth_t);

    /// Sets the host name and the path of the redirect URI for logins with a browser. The
    /// authorization server sends the browser to the redirect URI at the end of the login. Some
    /// authorization servers accept only one spelling of the redirect URI. The port is a parameter
    /// of mcplink_oauth_set_browser. In any case only this machine can reach the redirect URI.
    ///
    /// host: "127.0.0.1" or "localhost"; NULL for the default, "127.0.0.1". With "localhost" the
    /// library listens at 127.0.0.1, and also at ::1 if the system has that address.
    /// path: the path, without a query; it is empty or begins with '/'. NULL for the default,
    /// "/callback". An invalid host name or path is reported when a client is opened, with
    /// MCPLINK_E_INVALID.
    fn mcplink_oauth_set_redirect(host: *const c_char, path: *const c_char) {
        oauth.redirect_host = optional(host, "host")?.map(str::to_owned);
        oauth.redirect_path = optional(path, "path")?.map(str::to_owned);
    }
}

actions! {
    set(oauth: mcplink_oauth_t);

    /// Sets the client credentials grant: a machine acts on its own behalf, as the first client
    /// that was added with mcplink_oauth_add_client. The client authenticates with a key or a
    /// secret.
    ///
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. A missing client is reported when a client is
    /// opened.
    fn mcplink_oauth_set_client_credentials() {
        oauth.way = Way::Machine
    }

    /// Sets the grant type: a person logs in with a browser. The library listens at 127.0.0.1 for
    /// the redirect while calls wait. This grant type is the default, with 0 for the port and NULL
    /// for the other parameters.
    ///
    /// port: the port to listen at, for clients that were registered with a fixed port; 0 for a
    /// free port.
    /// program: the program that opens URLs. The URL is its only argument, and no shell is
    /// involved. NULL for the program of the system (xdg-open, open). With "" no program is run,
    /// and only callback shows the login.
    /// page: the HTML page, without scripts, that the person sees after the login. NULL for a page
    /// with one sentence.
    /// callback: called before the browser is opened, to show the person the login and its URL. If
    /// callback is set, a failure to open the browser is not an error. The callback must not answer
    /// the login. NULL for no callback.
    /// user, destroy: passed to callback; destroy runs when another grant type is set, or when all
    /// settings, options and clients that use callback are freed.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also if neither a program nor a callback is used.
    fn mcplink_oauth_set_browser(
        port: u16,
        program: *const c_char,
        page: *const c_char,
        callback: mcplink_login_fn; user
    ) {
        let program = optional(program, "program")?;
        if program == Some("") && callback.is_none() {
            let text = "without a program callback has to tell the person where to go";
            return Err(invalid(text).into());
        }
        oauth.way = Way::Browser {
            port,
            program: program.map(str::to_owned),
            page: optional(page, "page")?.map(str::to_owned),
            show: Hook::new(callback, user),
        };
    }

    /// Sets the grant type: a person logs in through a function of the host. This grant type is for
    /// hosts that can show a web page and observe the redirects.
    ///
    /// redirect_uri: the redirect URI: an https URL, or an http URL of this machine.
    /// callback: see mcplink_login_fn.
    /// user, destroy: passed to callback; destroy runs when another grant type is set, or when all
    /// settings, options and clients that use callback are freed.
    fn mcplink_oauth_set_user_agent(redirect_uri: *const c_char, callback: mcplink_login_fn; user) {
        let redirect = filled(redirect_uri, "redirect_uri")?.to_owned();
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        oauth.way = Way::UserAgent { redirect, hook };
    }

    /// Sets workload identity as the grant type: the platform on which the workload runs vouches
    /// for the workload.
    ///
    /// client_id: the client id, if the authorization server requires one; NULL for no client id.
    /// callback: see mcplink_statement_fn.
    /// user, destroy: passed to callback; destroy runs when another grant type is set, or when all
    /// settings, options and clients that use callback are freed.
    fn mcplink_oauth_set_workload(client_id: *const c_char, callback: mcplink_statement_fn; user) {
        let client_id = optional(client_id, "client_id")?.map(str::to_owned);
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        oauth.way = Way::Workload { client_id, hook };
    }

    /// Sets enterprise-managed authorization as the grant type: the identity provider of an
    /// organization vouches for the user. The client is registered twice: with the identity
    /// provider, and with the authorization server of the MCP server. Pass the registration with
    /// the identity provider in client. Add the registration with the authorization server with
    /// mcplink_oauth_add_client, as the first client.
    ///
    /// token_endpoint: the URL of the identity provider's token endpoint.
    /// client: the registration of this client with the identity provider. The settings copy the
    /// registration, which remains the caller's.
    /// subject: the kind of credential that callback provides.
    /// callback: provides the credential of the user with mcplink_output_set, like
    /// mcplink_bearer_fn. The callback runs on a thread of the library, each time the credential is
    /// needed. The host is responsible for the sign-on, including its state, nonce and PKCE.
    /// user, destroy: passed to callback; destroy runs when another grant type is set, or when all
    /// settings, options and clients that use callback are freed.
    fn mcplink_oauth_set_enterprise(
        token_endpoint: *const c_char,
        client: *const mcplink_oauth_client_t,
        subject: arg::mcplink_subject,
        callback: mcplink_bearer_fn; user
    ) {
        let endpoint = filled(token_endpoint, "token_endpoint")?.to_owned();
        let client = Box::new(taken(client, "client")?.registered.clone());
        let kind = mcplink_subject::read(subject, "subject")?;
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        oauth.way = Way::Enterprise {
            endpoint,
            client,
            kind,
            hook,
        };
    }
}

actions! {
    set(oauth: mcplink_oauth_t);

    /// Sets the folder in which tokens and registrations are saved, in files that only their owner
    /// may read. Processes that share a folder renew tokens one after the other. Default: tokens
    /// are stored in memory only.
    ///
    /// folder: the path of the folder, in UTF-8 on Windows. The folder is created with mode 0700
    /// when a client is opened. Opening fails if the folder belongs to another user, or if other
    /// users may write to it. NULL to store tokens in memory.
    fn mcplink_oauth_set_store_folder(folder: *const c_char) {
        oauth.store = if folder.is_null() {
            TokenStore::Memory
        } else {
            let path = text_from_c(CStr::from_ptr(folder).to_bytes());
            let path = path.ok_or_else(|| invalid("folder is no UTF-8"))?;
            TokenStore::Folder(PathBuf::from(path))
        };
    }

    /// Sets the functions of the host that save and load tokens and registrations, for example in
    /// the key chain of the system. Default: tokens are stored in memory only.
    ///
    /// load, save, remove: all three functions; or NULL for all three, to store tokens in memory.
    /// user, destroy: passed to the functions; destroy runs when the store is replaced, or when all
    /// settings, options and clients that use the store are freed.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when only some of the functions are set.
    fn mcplink_oauth_set_store(
        load: mcplink_store_load_fn,
        save: mcplink_store_save_fn,
        remove: mcplink_store_remove_fn; user
    ) {
        let functions = match (load, save, remove) {
            (None, None, None) => None,
            (Some(load), Some(save), Some(remove)) => Some(Functions { load, save, remove }),
            _ => {
                return Err(
                    invalid("load, save and remove go together: all of them or none").into(),
                );
            }
        };
        oauth.store = Hook::new(functions, user).map_or(TokenStore::Memory, TokenStore::Host);
    }
}
