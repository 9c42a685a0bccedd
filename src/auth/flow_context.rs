//! The context of one authorization flow for one MCP server: settings, HTTP client, deadline.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::address_policy::AddressPolicy;
use super::client::RegisteredClient;
use super::discovered::Discovered;
use super::dpop::{Dpop, DpopUse, Nonces};
use super::fetch::Fetcher;
use super::http_url::HttpUrl;
use super::key::Signer;
use super::metadata::is_same_issuer;
use super::store::Store;
use super::token::Tokens;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use crate::transport::http::proxies::Proxies;
use crate::transport::http::tls::Roots;
use crate::transport::http::{CredentialWait, HttpClient};

/// An OAuth grant: a way to obtain tokens.
pub(super) trait Grant: Send + Sync {
    /// Obtains tokens for the requested scopes.
    fn obtain(&self, errand: &FlowContext<'_>, wish: &TokenRequest<'_>) -> Result<Tokens>;

    /// Returns the registered clients that belong to the grant.
    fn registered(&self) -> &[RegisteredClient] {
        &[]
    }

    /// Returns the network host that the host application configured for this grant. Secrets may be
    /// sent to that host.
    fn trusted_host(&self) -> Option<String> {
        None
    }

    /// Whether the grant acts for a user. Only then the scope `offline_access` is requested.
    fn is_for_a_person(&self) -> bool {
        false
    }
}

/// The parameters of a token request: the tokens that a grant has to obtain.
pub(super) struct TokenRequest<'a> {
    pub(super) found: &'a Discovered,
    pub(super) scopes: &'a BTreeSet<String>,
    pub(super) dpop: Option<&'a Dpop>,
}

/// A hook that receives lines for the host's log.
pub(super) type LogHook = Arc<dyn Fn(&str) + Send + Sync>;

/// The settings of an [`OAuth`](super::OAuth).
pub(super) struct Settings {
    pub(super) grant: Box<dyn Grant>,
    pub(super) client_name: String,
    pub(super) client_uri: Option<String>,
    pub(super) registered: Vec<RegisteredClient>,
    pub(super) document: Option<String>,
    pub(super) scopes: Option<BTreeSet<String>>,
    pub(super) asks_offline: bool,
    /// The host application's parameters of the authorization request.
    pub(super) authorization_params: BTreeMap<String, String>,
    pub(super) dpop: DpopUse,
    pub(super) signer: Option<Arc<dyn Signer>>,
    pub(super) store: Box<dyn Store>,
    pub(super) step_timeout: Duration,
    pub(super) login_timeout: Duration,
    pub(super) everywhere: bool,
    pub(super) proxy: Proxies,
    pub(super) roots: Roots,
    /// The HTTP client of the host, which sends all requests if there is one.
    pub(super) client: Option<Arc<dyn HttpClient>>,
    pub(super) log: Option<LogHook>,
    pub(super) nonces: Nonces,
    /// The first issuer that each MCP server named, for clients without a fixed issuer.
    pub(super) first_issuers: Mutex<HashMap<String, String>>,
    /// Serializes changes of the stored registrations. Invariant: the lock is held from reading the
    /// registrations until they are saved. Otherwise one thread could overwrite the change of
    /// another thread.
    pub(super) registering: Mutex<()>,
}

impl Settings {
    /// Loads the tokens that are stored under `name`. If all tokens have to be bound to a key,
    /// tokens that are not bound are ignored.
    pub(super) fn kept(&self, name: &str) -> Result<Option<Tokens>> {
        let kept = self.store.load(name)?;
        let kept = kept.as_ref().and_then(Tokens::read);
        Ok(kept.filter(|kept| kept.is_bound || self.dpop != DpopUse::Always))
    }
}

/// The context of one authorization flow.
pub(super) struct FlowContext<'a> {
    pub(super) settings: &'a Settings,
    pub(super) server: &'a HttpUrl,
    pub(super) fetcher: Fetcher,
    /// The deadline of the flow.
    pub(super) ends_at: Instant,
    /// A function that is called with true before the user is asked to log in, and with false
    /// afterwards.
    pub(super) on_person: &'a dyn Fn(bool),
    /// Whether the credentials of a registered client were refused.
    pub(super) is_refused: Cell<bool>,
}

impl<'a> FlowContext<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        server: &'a HttpUrl,
        waiting: CredentialWait,
        ends_at: Instant,
        on_person: &'a dyn Fn(bool),
    ) -> Self {
        let reach = AddressPolicy::of(server, settings.everywhere, settings.grant.trusted_host());
        let (proxy, client) = (settings.proxy.clone(), settings.client.clone());
        let (roots, timeout) = (&settings.roots, settings.step_timeout);
        Self {
            settings,
            server,
            fetcher: Fetcher::new(reach, proxy, roots, client, timeout, waiting),
            ends_at,
            on_person,
            is_refused: Cell::new(false),
        }
    }

    pub(super) fn log(&self, line: &str) {
        if let Some(log) = &self.settings.log {
            log(line);
        }
    }

    /// Returns all clients that were registered beforehand by the host application.
    pub(super) fn registered(&self) -> impl Iterator<Item = &RegisteredClient> {
        let granted = self.settings.grant.registered();
        self.settings.registered.iter().chain(granted)
    }

    pub(super) fn is_registered_with(&self, issuer: &str) -> bool {
        let mut issuers = self.registered().filter_map(|it| it.issuer.as_deref());
        issuers.any(|own| is_same_issuer(own, issuer))
    }

    /// Whether this client can use an authorization server. Returns true if no client was
    /// registered beforehand. Otherwise returns true only for the issuers of the registered
    /// clients. A client without a fixed issuer can use any server until its first issuer is
    /// stored.
    pub(super) fn may_be_asked(&self, issuer: &str) -> Result<bool> {
        if self.registered().next().is_none() || self.is_registered_with(issuer) {
            return Ok(true);
        }
        if self.registered().all(|client| client.issuer.is_some()) {
            return Ok(false);
        }
        let first = self.kept_first_issuer(&self.name_of_first_issuer())?;
        Ok(first.is_none_or(|first| is_same_issuer(&first, issuer)))
    }

    /// Returns the client that was registered with an issuer beforehand. Returns `None` if no
    /// client was registered at all.
    ///
    /// # Errors
    ///
    /// Fails when clients were registered only with other issuers. Their credentials must not be
    /// sent to `issuer`.
    pub(super) fn registered_client(&self, issuer: &str) -> Result<Option<&RegisteredClient>> {
        let mut all = self.registered().peekable();
        if all.peek().is_none() {
            return Ok(None);
        }
        let mut known = Vec::new();
        for client in all {
            match client.issuer.as_deref() {
                Some(own) if is_same_issuer(own, issuer) => return Ok(Some(client)),
                Some(own) => known.push(own.to_owned()),
                None => {
                    let first = self.first_issuer(issuer)?;
                    if is_same_issuer(&first, issuer) {
                        return Ok(Some(client));
                    }
                    known.push(first);
                }
            }
        }
        let text = format!(
            "'{}' is authorized by '{issuer}', but the client is registered with {} only: its credentials are not used elsewhere \
             (RegisteredClient)",
            self.server.shown(),
            known.join(", ")
        );
        Err(Error::new(ErrorKind::Auth, text))
    }

    fn name_of_first_issuer(&self) -> String {
        format!("issuer {}", self.server.canonical())
    }

    /// Returns the first issuer that this MCP server ever named. Returns `None` if no issuer is
    /// stored.
    fn kept_first_issuer(&self, name: &str) -> Result<Option<String>> {
        if let Some(first) = self.settings.first_issuers.lock().get(name) {
            return Ok(Some(first.clone()));
        }
        let Some(kept) = self.settings.store.load(name)? else {
            return Ok(None);
        };
        let first = kept.reveal().to_owned();
        self.settings
            .first_issuers
            .lock()
            .insert(name.to_owned(), first.clone());
        Ok(Some(first))
    }

    /// Returns the first issuer that this MCP server ever named. If no issuer is stored, stores
    /// `named` as the first issuer.
    fn first_issuer(&self, named: &str) -> Result<String> {
        let name = self.name_of_first_issuer();
        if let Some(first) = self.kept_first_issuer(&name)? {
            return Ok(first);
        }
        if let Err(error) = self.settings.store.save(&name, &named.into()) {
            self.log(&format!("the issuer is remembered in memory only: {error}"));
        }
        self.settings
            .first_issuers
            .lock()
            .insert(name, named.to_owned());
        Ok(named.to_owned())
    }
}
