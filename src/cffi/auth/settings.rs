//! What the host says of how tokens are come by.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use super::kept::Kept;
use super::made::Made;
use super::registered::{Registered, mcplink_oauth_client_t};
use super::ways::Way;
use crate::cffi::entry::{Outcome, ffi, free, value};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::log::{self, mcplink_log_fn};
use crate::cffi::refusal::{self, Refusal, taken};
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{filled, filled_measured, name, optional};
use crate::cffi::user::{UserData, mcplink_destroy_fn};
use crate::error::{Error, ErrorKind, Result};

/// How a client comes by access tokens for servers over HTTP that want them (OAuth), and keeps them good. By default a person logs in, in the
/// system's browser; everything else is found out from the server.
///
/// Clients that are given the same settings, unchanged in between, share tokens and logins. One thread at a time uses the settings; clients
/// that have them keep them.
pub struct mcplink_oauth_t {
    made: Arc<Made>,
    refusal: Refusal,
}

impl refusal::Settings for mcplink_oauth_t {
    const NAME: &'static str = "oauth";
    const TARGET: &'static str = "auth";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    fn log(&self) -> Option<Arc<log::Hook>> {
        self.made.settings().log.clone()
    }
}

/// All that is said. Copies share the functions in it.
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
    pub(super) dpop: mcplink_dpop,
    pub(super) kept: Kept,
    pub(super) step_timeout: Option<Duration>,
    pub(super) login_timeout: Option<Duration>,
    pub(super) everywhere: bool,
    pub(super) proxy: Option<String>,
    /// PEM text.
    pub(super) roots: Option<Vec<u8>>,
    pub(super) log: Option<Arc<log::Hook>>,
}

/// Whether tokens are bound to a key, so that whoever steals one can't use it (DPoP, RFC 9449).
#[repr(i32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum mcplink_dpop {
    /// When the other side asks for it: a client binds tokens when the server wants it, a server takes those that are bound and those that are not. What
    /// clients do without more.
    #[default]
    MCPLINK_DPOP_WHEN_ASKED = 0,
    /// Never. What servers do without more: they refuse tokens that are bound, which they could not check.
    MCPLINK_DPOP_NEVER = 1,
    /// Always: a token that is not bound is refused.
    MCPLINK_DPOP_ALWAYS = 2,
}

impl mcplink_dpop {
    /// What a host means by a number.
    pub(in crate::cffi) fn of(number: i32) -> Result<Self> {
        let all = [
            Self::MCPLINK_DPOP_WHEN_ASKED,
            Self::MCPLINK_DPOP_NEVER,
            Self::MCPLINK_DPOP_ALWAYS,
        ];
        let known = all.into_iter().find(|known| *known as i32 == number);
        known.ok_or_else(|| {
            invalid(format!(
                "there is no use {number} of DPoP: use one of enum mcplink_dpop"
            ))
        })
    }
}

impl mcplink_oauth_t {
    /// For a client that is given the settings.
    pub(in crate::cffi) fn made(&self) -> Arc<Made> {
        Arc::clone(&self.made)
    }
}

/// Changes settings, as all setters do. Clients that have them keep what they have.
///
/// # Safety
///
/// `oauth` is NULL or settings that live, and are used by this thread alone.
pub(super) unsafe fn set(
    oauth: *mut mcplink_oauth_t,
    setter: &str,
    change: impl FnOnce(&mut Settings) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the caller promises the same.
    unsafe {
        refusal::set(oauth, setter, |oauth| {
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

/// Makes settings with the defaults, for mcplink_client_options_set_oauth.
///
/// Returns: the settings, the caller's to free. Threads: any; one at a time uses them. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_oauth_new() -> *mut mcplink_oauth_t {
    value(std::ptr::null_mut(), || {
        Box::into_raw(Box::new(mcplink_oauth_t {
            made: Made::of(Settings::default()),
            refusal: Refusal::default(),
        }))
    })
}

/// Frees settings. Clients and options that were given them keep them. The last of all to go waits for functions of the host's that still run
/// for a login nobody waits for any more: see mcplink_login_is_over.
///
/// oauth: NULL is fine. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_free(oauth: *mut mcplink_oauth_t) {
    // SAFETY: the header says that they are settings of ours, freed once.
    unsafe { free(oauth) }
}

/// Adds a client that was registered with an authorization server beforehand. It is used with that server only. Once one is added, no other
/// authorization server is gone to, and no client registers by itself. The first one is what a machine is: see
/// mcplink_oauth_set_client_credentials.
///
/// oauth: the settings.
/// client: copied; it stays the caller's. One of which a setter was refused is refused.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_add_client(
    oauth: *mut mcplink_oauth_t,
    client: *const mcplink_oauth_client_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings and a client of ours.
    unsafe {
        set(oauth, "mcplink_oauth_add_client", |settings| {
            let client = taken(client, "client")?.registered.clone();
            settings.clients.push(client);
            Ok(())
        })
    }
}

/// Says what the client is called where it registers by itself, which authorization servers may let anybody do; people are shown it.
///
/// oauth: the settings.
/// client_name: "mcplink" without this; NULL for that.
/// page: the URL of a page about the client; NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_client_name(
    oauth: *mut mcplink_oauth_t,
    client_name: *const c_char,
    page: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours and texts that end in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_client_name", |settings| {
            let client_name = optional(client_name, "client_name")?;
            let page = optional(page, "page")?;
            settings.client_name = client_name.map(str::to_owned);
            settings.client_uri = page.map(str::to_owned);
            Ok(())
        })
    }
}

/// Says where the client publishes a document about itself (Client ID Metadata Document), which is its id with authorization servers that read
/// such documents.
///
/// oauth: the settings.
/// url: https with a path; NULL for none. What is wrong with it is found out when a client is opened.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_client_document(
    oauth: *mut mcplink_oauth_t,
    url: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours and text that ends in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_client_document", |settings| {
            settings.document = optional(url, "url")?.map(str::to_owned);
            Ok(())
        })
    }
}

/// Says which scopes to ask for. Without this, those that the server says it has. What a server asks for at the time is asked for in any case,
/// and what was asked for before.
///
/// oauth: the settings.
/// scopes: their names, a blank between two; "" for none. NULL is refused: see mcplink_oauth_use_default_scopes.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_scopes(
    oauth: *mut mcplink_oauth_t,
    scopes: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours and text that ends in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_scopes", |settings| {
            let names = name(scopes, "scopes")?.split_ascii_whitespace();
            settings.scopes = Some(names.map(str::to_owned).collect());
            Ok(())
        })
    }
}

/// Asks for the scopes that the server says it has, as without mcplink_oauth_set_scopes.
///
/// oauth: the settings.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_use_default_scopes(
    oauth: *mut mcplink_oauth_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_use_default_scopes", |settings| {
            settings.scopes = None;
            Ok(())
        })
    }
}

/// Says whether to ask for leave to act while the person is away (offline_access), where the authorization server has that: with it, logins are
/// rarer. Yes without this.
///
/// oauth: the settings.
/// asks: whether.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_offline_access(
    oauth: *mut mcplink_oauth_t,
    asks: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_set_offline_access", |settings| {
            settings.asks_offline = Some(asks);
            Ok(())
        })
    }
}

/// Says whether tokens are bound to a key, which is made when it is needed and kept with the tokens.
///
/// oauth: the settings.
/// dpop: one of enum mcplink_dpop; MCPLINK_DPOP_WHEN_ASKED without this.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_dpop(
    oauth: *mut mcplink_oauth_t,
    dpop: i32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_set_dpop", |settings| {
            settings.dpop = mcplink_dpop::of(dpop)?;
            Ok(())
        })
    }
}

/// Says how long one request to an authorization server may take: 10 s without this.
///
/// oauth: the settings.
/// milliseconds: more than an hour is an hour.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_step_timeout_ms(
    oauth: *mut mcplink_oauth_t,
    milliseconds: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_set_step_timeout_ms", |settings| {
            let span = Duration::from_millis(milliseconds.min(3_600_000).into());
            settings.step_timeout = Some(span);
            Ok(())
        })
    }
}

/// Says how long a login may take, from the first step to the last: 5 min without this. While a person is asked the time of the calls that wait
/// does not run, up to what mcplink_call_options_set_max_timeout_ms and mcplink_client_options_set_max_timeout_ms say.
///
/// oauth: the settings.
/// milliseconds: more than a day is a day.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_login_timeout_ms(
    oauth: *mut mcplink_oauth_t,
    milliseconds: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_set_login_timeout_ms", |settings| {
            let span = Duration::from_millis(milliseconds.min(86_400_000).into());
            settings.login_timeout = Some(span);
            Ok(())
        })
    }
}

/// Says whether metadata and tokens may be asked for at addresses on this machine and in private networks when the server is elsewhere. No
/// without this: a server could have its clients knock at doors that only they can reach.
///
/// oauth: the settings.
/// allowed: whether.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_private_addresses(
    oauth: *mut mcplink_oauth_t,
    allowed: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_set_private_addresses", |settings| {
            settings.everywhere = allowed;
            Ok(())
        })
    }
}

/// Goes to authorization servers through a proxy. Defaults to none, whatever the environment says.
///
/// oauth: the settings.
/// url: as for mcplink_client_options_set_proxy, "environment" too. NULL is refused: see mcplink_oauth_clear_proxy.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_proxy(
    oauth: *mut mcplink_oauth_t,
    url: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours and text that ends in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_proxy", |settings| {
            settings.proxy = Some(filled(url, "url")?.to_owned());
            Ok(())
        })
    }
}

/// Goes to authorization servers without a proxy, as without mcplink_oauth_set_proxy.
///
/// oauth: the settings.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_clear_proxy(
    oauth: *mut mcplink_oauth_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_clear_proxy", |settings| {
            settings.proxy = None;
            Ok(())
        })
    }
}

/// Trusts the servers over HTTPS whose certificates these authorities issued, and no others: a company's own, for example. Mozilla's list without
/// this. It counts for all that is asked for tokens: metadata, which the MCP server has too, and the tokens themselves. Where the authorization
/// server is not the company's, the text needs the authorities of both, as the bundle of a system has them. What
/// mcplink_client_options_set_root_certificates says counts for requests to the MCP server alone.
///
/// oauth: the settings.
/// pem, len: PEM text with all of them, one or more; other things in it are skipped. MCPLINK_NUL measures it. It is copied, and has the place of
/// what was set before. NULL and text without anything are refused: see mcplink_oauth_use_default_roots. That there is no certificate in it, or one that can't be read, is found out when a client is
/// opened, with MCPLINK_E_INVALID; in a build without OAuth (feature auth) that fails with MCPLINK_E_UNSUPPORTED.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_root_certificates(
    oauth: *mut mcplink_oauth_t,
    pem: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours and text with its length.
    unsafe {
        set(oauth, "mcplink_oauth_set_root_certificates", |settings| {
            settings.roots = Some(filled_measured(pem, len, "the PEM text")?.to_vec());
            Ok(())
        })
    }
}

/// Trusts Mozilla's list of authorities, as without mcplink_oauth_set_root_certificates.
///
/// oauth: the settings.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_use_default_roots(
    oauth: *mut mcplink_oauth_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_use_default_roots", |settings| {
            settings.roots = None;
            Ok(())
        })
    }
}

/// Sets what takes what there is to say about authorizations, instead of what mcplink_set_log was given. No secrets are in it.
///
/// oauth: the settings.
/// level: the least severe level that is wanted, one of enum mcplink_log_level.
/// callback: NULL for none. Runs on any thread, and has to be quick.
/// user, destroy: passed to callback, and ended when another function is set, or when settings, options and clients that have it are freed.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_log(
    oauth: *mut mcplink_oauth_t,
    level: i32,
    callback: mcplink_log_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_set_log", |settings| {
            settings.log = log::Hook::new(level, callback, user)?;
            Ok(())
        })
    }
}

/// Forgets the tokens for a server, here and where they are kept: the next request to it has to be authorized anew. It does not revoke them.
///
/// oauth: the settings, which clients may be using.
/// url: the URL of the server, as mcplink_client_options_set_url was given it.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, when there were none too; MCPLINK_E_INVALID or MCPLINK_E_AUTH when it is no such URL; MCPLINK_E_UNSUPPORTED in a build
/// without OAuth; what the store says. Threads: any, while nobody changes the settings. Blocks: as long as the store. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_forget(
    oauth: *const mcplink_oauth_t,
    url: *const c_char,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours, text that ends in NUL and a place that can be written to.
    unsafe {
        ffi(err, || {
            let made = taken(oauth, "oauth")?.made();
            made.forget(name(url, "url")?)?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}
