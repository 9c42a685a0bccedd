//! How tokens are come by.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::login::mcplink_login_t;
use super::registered::{Registered, mcplink_oauth_client_t};
use super::settings::{invalid, mcplink_oauth_t, set};
use crate::cffi::client::{mcplink_bearer_fn, mcplink_token_t};
use crate::cffi::refusal::taken;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{filled, mcplink_str_t, missing, optional};
use crate::cffi::user::{Hook, UserData, mcplink_destroy_fn};

/// Has a person log in: has mcplink_login_url opened, and sees to it that mcplink_login_answer is called with where that led, before it returns
/// or, if it keeps the login, later. Runs on a thread of the library's own, also with a pump; it may take its time.
pub type mcplink_visit_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, login: *mut mcplink_login_t)>;

/// Gives a signed statement (JWT) about this workload for an audience, with mcplink_token_set. audience: the URL of the token endpoint, valid
/// until it returns. Returns: MCPLINK_OK; anything else fails the calls that wait with MCPLINK_E_AUTH. It is asked each time that a token is
/// needed, on a thread of the library's.
pub type mcplink_statement_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        audience: mcplink_str_t,
        token: *mut mcplink_token_t,
    ) -> mcplink_status_t,
>;

pub(super) type VisitFn = unsafe extern "C-unwind" fn(*mut c_void, *mut mcplink_login_t);
pub(super) type StatementFn = unsafe extern "C-unwind" fn(
    *mut c_void,
    mcplink_str_t,
    *mut mcplink_token_t,
) -> mcplink_status_t;
pub(super) type SubjectFn =
    unsafe extern "C-unwind" fn(*mut c_void, *mut mcplink_token_t) -> mcplink_status_t;

/// Who acts, and how that is proved.
#[derive(Clone)]
pub(super) enum Way {
    /// A person, in a browser.
    Browser {
        port: u16,
        program: Option<String>,
        page: Option<String>,
        show: Option<Arc<Hook<VisitFn>>>,
    },
    /// A person, whom the host asks.
    Visitor {
        redirect: String,
        hook: Arc<Hook<VisitFn>>,
    },
    /// A machine, as the first client that was added.
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

/// What an identity provider gave when the user signed on.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_subject {
    /// An ID token of OpenID Connect.
    MCPLINK_SUBJECT_ID_TOKEN = 1,
    /// A refresh token of the identity provider.
    MCPLINK_SUBJECT_REFRESH_TOKEN = 2,
    /// A SAML 2.0 assertion.
    MCPLINK_SUBJECT_SAML2 = 3,
}

/// Has a person log in in a browser; the library listens at 127.0.0.1 for where that leads, while somebody waits for it. This is the default, with
/// 0 and NULL for everything.
///
/// oauth: the settings.
/// port: to listen at, for clients that were registered with one; 0 for one that is free.
/// program: opens URLs, and is given one as its one argument, without a shell; NULL for what the system has (xdg-open, open), "" for nothing: what
/// callback does is all.
/// page: what the person sees at the end: HTML without scripts. NULL for a sentence.
/// callback: called before the browser is opened, to say what goes on and where to go by hand; a browser that can't be opened is no error then.
/// It does not answer the login. NULL for none.
/// user, destroy: passed to callback, and ended when another way is set, or when settings, options and clients that have it are freed.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when neither a program nor callback tells the person anything. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_browser(
    oauth: *mut mcplink_oauth_t,
    port: u16,
    program: *const c_char,
    page: *const c_char,
    callback: mcplink_visit_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are settings of ours and texts that end in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_browser", |settings| {
            let program = optional(program, "program")?;
            if program == Some("") && callback.is_none() {
                let text = "without a program callback has to tell the person where to go";
                return Err(invalid(text).into());
            }
            settings.way = Way::Browser {
                port,
                program: program.map(str::to_owned),
                page: optional(page, "page")?.map(str::to_owned),
                show: Hook::new(callback, user),
            };
            Ok(())
        })
    }
}

/// Sets the host and the path of the redirect URI of a login in the browser: where the
/// authorization server sends the browser back to. Some authorization servers accept only one
/// spelling. The port is a parameter of mcplink_oauth_set_browser. Only this machine can reach the
/// redirect URI in any case.
///
/// oauth: the settings.
/// host: "127.0.0.1", which is the default, or "localhost": then the library listens at 127.0.0.1
/// and, if the system has it, at ::1. NULL for the default.
/// path: begins with '/', or is empty; without a query. NULL for the default, "/callback". A host
/// or path that can't be used is an error (MCPLINK_E_INVALID) when a client is opened.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_redirect(
    oauth: *mut mcplink_oauth_t,
    host: *const c_char,
    path: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours and texts that end in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_redirect", |settings| {
            let host = optional(host, "host")?;
            let path = optional(path, "path")?;
            settings.redirect_host = host.map(str::to_owned);
            settings.redirect_path = path.map(str::to_owned);
            Ok(())
        })
    }
}

/// Has a person log in by a function of the host's: for hosts that have a way of their own to show a page and see where it leads.
///
/// oauth: the settings.
/// redirect_uri: where the authorization server sends the browser back to: https, or on this machine.
/// callback: see mcplink_visit_fn.
/// user, destroy: passed to callback, and ended when another way is set, or when settings, options and clients that have it are freed.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_visitor(
    oauth: *mut mcplink_oauth_t,
    redirect_uri: *const c_char,
    callback: mcplink_visit_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are settings of ours and text that ends in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_visitor", |settings| {
            let redirect = filled(redirect_uri, "redirect_uri")?.to_owned();
            let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
            settings.way = Way::Visitor { redirect, hook };
            Ok(())
        })
    }
}

/// Has a machine act in its own name: as the first client of mcplink_oauth_add_client, which proves itself by a key or a secret.
///
/// oauth: the settings.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. That there is no such client is found out when a client is opened. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_client_credentials(
    oauth: *mut mcplink_oauth_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_set_client_credentials", |settings| {
            settings.way = Way::Machine;
            Ok(())
        })
    }
}

/// Has a workload act for which its platform vouches (workload identity).
///
/// oauth: the settings.
/// client_id: goes along if the authorization server wants one; NULL for none.
/// callback: see mcplink_statement_fn.
/// user, destroy: passed to callback, and ended when another way is set, or when settings, options and clients that have it are freed.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_workload(
    oauth: *mut mcplink_oauth_t,
    client_id: *const c_char,
    callback: mcplink_statement_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are settings of ours and text that ends in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_workload", |settings| {
            let client_id = optional(client_id, "client_id")?.map(str::to_owned);
            let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
            settings.way = Way::Workload { client_id, hook };
            Ok(())
        })
    }
}

/// Has a user act whose organisation decides what for: its identity provider vouches for the user. The registration of this client with the
/// authorization server of the MCP server is the first client of mcplink_oauth_add_client.
///
/// oauth: the settings.
/// token_endpoint: the URL of the identity provider's token endpoint.
/// client: the registration of this client with the identity provider; copied, it stays the caller's.
/// subject: what callback gives, one of enum mcplink_subject.
/// callback: gives what the user signed on with, as mcplink_bearer_fn gives tokens; on a thread of the library's, each time that it is needed. The
/// host sees to the signing on, and to state, nonce and PKCE in it.
/// user, destroy: passed to callback, and ended when another way is set, or when settings, options and clients that have it are freed.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_enterprise(
    oauth: *mut mcplink_oauth_t,
    token_endpoint: *const c_char,
    client: *const mcplink_oauth_client_t,
    subject: i32,
    callback: mcplink_bearer_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    use mcplink_subject as Subject;
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are settings and a client of ours and text that ends in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_enterprise", |settings| {
            let endpoint = filled(token_endpoint, "token_endpoint")?.to_owned();
            let client = Box::new(taken(client, "client")?.registered.clone());
            let all = [
                Subject::MCPLINK_SUBJECT_ID_TOKEN,
                Subject::MCPLINK_SUBJECT_REFRESH_TOKEN,
                Subject::MCPLINK_SUBJECT_SAML2,
            ];
            let Some(kind) = all.into_iter().find(|known| *known as i32 == subject) else {
                let text =
                    format!("there is no subject {subject}: use one of enum mcplink_subject");
                return Err(invalid(text).into());
            };
            let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
            settings.way = Way::Enterprise {
                endpoint,
                client,
                kind,
                hook,
            };
            Ok(())
        })
    }
}
