//! Grant types: how a client obtains access tokens.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::login::mcplink_login_t;
use super::registered::{Registered, mcplink_oauth_client_t};
use super::settings::{invalid, mcplink_oauth_t, set};
use crate::cffi::actions::actions;
use crate::cffi::arg;
use crate::cffi::arg::enumeration;
use crate::cffi::client::{mcplink_bearer_fn, mcplink_token_t};
use crate::cffi::refusal::taken;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{filled, mcplink_str_t, missing, optional};
use crate::cffi::user::Callback;
use crate::cffi::user::Hook;

/// Lets a person log in: opens the URL that mcplink_login_url returns, and passes the redirect URL
/// to mcplink_login_answer. The callback may answer the login before it returns. A callback that
/// keeps the login with mcplink_login_keep may answer later. The callback runs on a thread of the
/// library, even if the client has a pump, and may block.
pub type mcplink_visit_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, login: *mut mcplink_login_t)>;

/// Provides a signed statement (JWT) about this workload for an audience, with mcplink_token_set.
/// The callback runs whenever an access token has to be obtained, on a thread of the library.
///
/// audience: the URL of the token endpoint, valid until the callback returns.
/// Returns: MCPLINK_OK; any other status fails the waiting calls with MCPLINK_E_AUTH.
pub type mcplink_statement_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        audience: mcplink_str_t,
        token: *mut mcplink_token_t,
    ) -> mcplink_status_t,
>;

pub(super) type VisitFn = Callback<mcplink_visit_fn>;
pub(super) type StatementFn = Callback<mcplink_statement_fn>;
pub(super) type SubjectFn = Callback<mcplink_bearer_fn>;

/// The grant type: how the client obtains access tokens.
#[derive(Clone)]
pub(super) enum Way {
    /// A person logs in with a browser.
    Browser {
        port: u16,
        program: Option<String>,
        page: Option<String>,
        show: Option<Arc<Hook<VisitFn>>>,
    },
    /// A person logs in through a function of the host.
    UserAgent {
        redirect: String,
        hook: Arc<Hook<VisitFn>>,
    },
    /// The client credentials grant: a machine authenticates as the first of the settings'
    /// registered clients.
    Machine,
    Workload {
        client_id: Option<String>,
        hook: Arc<Hook<StatementFn>>,
    },
    Enterprise {
        endpoint: String,
        client: Box<Registered>,
        kind: mcplink_subject,
        hook: Arc<Hook<SubjectFn>>,
    },
}

impl Default for Way {
    fn default() -> Self {
        Self::Browser {
            port: 0,
            program: None,
            page: None,
            show: None,
        }
    }
}

enumeration! {
    /// The kind of a credential that an identity provider issued when the user signed on.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum mcplink_subject {
        /// An OpenID Connect ID token.
        MCPLINK_SUBJECT_ID_TOKEN = 1601,
        /// A refresh token of the identity provider.
        MCPLINK_SUBJECT_REFRESH_TOKEN = 1602,
        /// A SAML 2.0 assertion.
        MCPLINK_SUBJECT_SAML2 = 1603,
    }
}

actions! {
    /// oauth: the settings.
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
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
    fn mcplink_oauth_set_redirect(host: *const c_char, path: *const c_char) {
        let host = optional(host, "host")?;
        let path = optional(path, "path")?;
        oauth.redirect_host = host.map(str::to_owned);
        oauth.redirect_path = path.map(str::to_owned);
    }
}

actions! {
    /// oauth: the settings.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
    set(oauth: mcplink_oauth_t);

    /// Sets the client credentials grant: a machine acts on its own behalf, as the first client
    /// that was added with mcplink_oauth_add_client. The client authenticates with a key or a
    /// secret.
    ///
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. A missing client is reported when a client is
    /// opened. Blocks: no. Since 0.1.
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
    /// Blocks: no. Since 0.1.
    fn mcplink_oauth_set_browser(
        port: u16,
        program: *const c_char,
        page: *const c_char,
        callback: mcplink_visit_fn; user
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
    /// callback: see mcplink_visit_fn.
    /// user, destroy: passed to callback; destroy runs when another grant type is set, or when all
    /// settings, options and clients that use callback are freed.
    fn mcplink_oauth_set_visitor(redirect_uri: *const c_char, callback: mcplink_visit_fn; user) {
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
    /// subject: the kind of credential that callback provides, one of enum mcplink_subject.
    /// callback: provides the credential of the user with mcplink_token_set, like
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
