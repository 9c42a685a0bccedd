//! The OAuth settings of a client.

use std::sync::Arc;
use std::time::Duration;

use super::grant_type::Way;
use super::registered::Registered;
use super::signer::HostKey;
use super::token_store::TokenStore;
use crate::cffi::fetch::FetchFn;
use crate::cffi::log;
use crate::cffi::user::Hook;

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
    /// The key that tokens are bound to; `None` for a generated key.
    pub(super) dpop_key: Option<HostKey>,
    pub(super) store: TokenStore,
    pub(super) step_timeout: Option<Duration>,
    pub(super) login_timeout: Option<Duration>,
    pub(super) everywhere: bool,
    pub(super) proxy: Option<String>,
    /// The trusted certificate authorities for OAuth over HTTPS, as PEM text.
    pub(super) roots: Option<Vec<u8>>,
    pub(super) fetch: Option<Arc<Hook<FetchFn>>>,
    pub(super) log: Option<Arc<log::Hook>>,
}

enumeration! {
    /// Whether access tokens are bound to a key, so that a stolen token can't be used (DPoP, RFC
    /// 9449).
    #[repr(C)]
    #[derive(Default)]
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
