//! One way to an authorization server and back, on behalf of one server.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::client::RegisteredClient;
use super::discovery::Discovered;
use super::dpop::{Dpop, Nonces};
use super::fetch::Fetcher;
use super::guard::Reach;
use super::key::Signer;
use super::metadata::is_same_issuer;
use super::store::Store;
use super::token::Tokens;
use super::url::Url;
use super::{DpopUse, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::http::Waiting;
use crate::transport::http::proxies::Proxies;
use crate::transport::http::tls::Roots;

/// How tokens are come by.
pub(super) trait Grant: Send + Sync {
    /// Gets tokens that allow `scopes`.
    fn obtain(&self, errand: &Errand<'_>, wish: &Wish<'_>) -> Result<Tokens>;

    /// The client that renews tokens, or that a machine is.
    fn registered(&self) -> &[RegisteredClient] {
        &[]
    }

    /// A host that secrets are sent to because the user of the library said so.
    fn trusted_host(&self) -> Option<String> {
        None
    }

    /// Whether it acts for a person, and so may ask to act while that one is away.
    fn is_for_a_person(&self) -> bool {
        false
    }
}

/// The tokens that are wanted.
pub(super) struct Wish<'a> {
    pub(super) found: &'a Discovered,
    pub(super) scopes: &'a BTreeSet<String>,
    pub(super) dpop: Option<&'a Dpop>,
}

/// A hook that takes lines for the host's log.
pub(super) type LogHook = Arc<dyn Fn(&str) + Send + Sync>;

/// What the host set.
pub(super) struct Settings {
    pub(super) grant: Box<dyn Grant>,
    pub(super) client_name: String,
    pub(super) client_uri: Option<String>,
    pub(super) registered: Vec<RegisteredClient>,
    pub(super) document: Option<String>,
    pub(super) scopes: Option<BTreeSet<String>>,
    pub(super) asks_offline: bool,
    pub(super) dpop: DpopUse,
    pub(super) signer: Option<Arc<dyn Signer>>,
    pub(super) store: Box<dyn Store>,
    pub(super) step_timeout: Duration,
    pub(super) login_timeout: Duration,
    pub(super) everywhere: bool,
    pub(super) proxy: Proxies,
    pub(super) roots: Roots,
    pub(super) log: Option<LogHook>,
    pub(super) nonces: Nonces,
    /// The issuer to which clients of no fixed one belong, by server.
    pub(super) first_issuers: Mutex<HashMap<String, String>>,
    /// Held while what is kept of registrations is changed.
    pub(super) registering: Mutex<()>,
}

impl Settings {
    /// The tokens that are kept under a name. Those that are not bound are as good as none where all have to be.
    pub(super) fn kept(&self, name: &str) -> Result<Option<Tokens>> {
        let kept = self.store.load(name)?;
        let kept = kept.as_ref().and_then(Tokens::read);
        Ok(kept.filter(|kept| kept.is_bound || self.dpop != DpopUse::Always))
    }
}

/// One errand: what it needs to know, and how it fetches.
pub(super) struct Errand<'a> {
    pub(super) settings: &'a Settings,
    pub(super) server: &'a Url,
    pub(super) fetcher: Fetcher,
    /// When it ends at the latest.
    pub(super) ends_at: Instant,
    /// Told when a person is asked, and when no longer.
    pub(super) on_person: &'a dyn Fn(bool),
    /// The credentials of a client that was registered beforehand were refused.
    pub(super) is_refused: Cell<bool>,
}

impl<'a> Errand<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        server: &'a Url,
        waiting: Waiting,
        ends_at: Instant,
        on_person: &'a dyn Fn(bool),
    ) -> Self {
        let reach = Reach::of(server, settings.everywhere, settings.grant.trusted_host());
        let (proxy, timeout) = (settings.proxy.clone(), settings.step_timeout);
        Self {
            settings,
            server,
            fetcher: Fetcher::new(reach, proxy, &settings.roots, timeout, waiting),
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

    /// All clients that were registered beforehand.
    pub(super) fn registered(&self) -> impl Iterator<Item = &RegisteredClient> {
        let granted = self.settings.grant.registered();
        self.settings.registered.iter().chain(granted)
    }

    pub(super) fn is_registered_with(&self, issuer: &str) -> bool {
        let mut issuers = self.registered().filter_map(|it| it.issuer.as_deref());
        issuers.any(|own| is_same_issuer(own, issuer))
    }

    /// Whether an authorization server can be the one of this client: any, unless clients were
    /// registered beforehand, whose credentials are for their issuers only.
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

    /// The client that was registered with an issuer beforehand, if there is any such client at all.
    ///
    /// # Errors
    ///
    /// When there are clients, but none for this issuer: another one's credentials are not for it.
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

    /// The issuer that this server named first, if it named any before.
    fn kept_first_issuer(&self, name: &str) -> Result<Option<String>> {
        if let Some(first) = lock(&self.settings.first_issuers).get(name) {
            return Ok(Some(first.clone()));
        }
        let Some(kept) = self.settings.store.load(name)? else {
            return Ok(None);
        };
        let first = kept.reveal().to_owned();
        lock(&self.settings.first_issuers).insert(name.to_owned(), first.clone());
        Ok(Some(first))
    }

    /// The issuer that this server named first: `named`, if it named none before.
    fn first_issuer(&self, named: &str) -> Result<String> {
        let name = self.name_of_first_issuer();
        if let Some(first) = self.kept_first_issuer(&name)? {
            return Ok(first);
        }
        if let Err(error) = self.settings.store.save(&name, &named.into()) {
            self.log(&format!("the issuer is remembered in memory only: {error}"));
        }
        lock(&self.settings.first_issuers).insert(name, named.to_owned());
        Ok(named.to_owned())
    }
}
