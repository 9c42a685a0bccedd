//! What a host says before there is an [`OAuth`].

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ureq::Proxy;

use super::client::{RegisteredClient, check_document_url};
use super::dpop::Nonces;
use super::enterprise::{ByEnterprise, IdentityProvider};
use super::errand::{Grant, LogHook, Settings};
use super::key::{Signer, is_asymmetric};
use super::login::{ByLogin, UserAgent};
use super::machine::{ByCredentials, ByWorkload};
use super::oauth::OAuth;
use super::secret::Secret;
use super::store::{MemoryStore, Store};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::http::proxies::Proxies;
use crate::transport::http::tls::Roots;

/// Whether tokens are bound to a key, so that whoever steals one can't use it (DPoP).
///
/// Spec: DPoP profile of MCP (draft, SEP-1932); RFC 9449.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopUse {
    /// Never.
    Never,
    /// When the server asks for it. The default.
    #[default]
    WhenAsked,
    /// Always; a token that is not bound is refused, and one that was kept is not used.
    Always,
}

/// How tokens are come by, and what for.
#[must_use]
pub struct OAuthBuilder {
    grant: Box<dyn Grant>,
    client_name: String,
    client_uri: Option<String>,
    registered: Vec<RegisteredClient>,
    document: Option<String>,
    scopes: Option<BTreeSet<String>>,
    asks_offline: bool,
    dpop: DpopUse,
    signer: Option<Arc<dyn Signer>>,
    store: Box<dyn Store>,
    step_timeout: Duration,
    login_timeout: Duration,
    everywhere: bool,
    proxy: Proxies,
    roots: Roots,
    log: Option<LogHook>,
    fault: Option<Error>,
}

impl OAuth {
    /// A person logs in, shown by `agent` where: with [`Browser`](super::Browser), or a function in a [`Visitor`](super::Visitor).
    pub fn login(agent: impl UserAgent + 'static) -> OAuthBuilder {
        OAuthBuilder::with(ByLogin(agent))
    }

    /// A machine acts in its own name, as a client that was registered beforehand and proves itself by a key, or else by a secret.
    ///
    /// Spec: `io.modelcontextprotocol/oauth-client-credentials` (draft).
    pub fn client_credentials(client: RegisteredClient) -> OAuthBuilder {
        let has_proof = client.has_proof();
        let mut builder = OAuthBuilder::with(ByCredentials([client]));
        if !has_proof {
            builder.refuse("a client without key and secret proves nothing (RegisteredClient)");
        }
        builder
    }

    /// A workload acts, for which its platform vouches: `statement` gives the signed JWT for an audience, the URL of the token endpoint.
    /// It is asked each time a token is needed, on the thread that gets it. `client_id` goes along if the authorization server wants one.
    ///
    /// Spec: workload identity federation (draft, SEP-1933).
    pub fn workload(
        client_id: Option<&str>,
        statement: impl Fn(&str) -> Result<Secret> + Send + Sync + 'static,
    ) -> OAuthBuilder {
        OAuthBuilder::with(ByWorkload {
            statement: Box::new(statement),
            client_id: client_id.map(str::to_owned),
        })
    }

    /// A user acts whose organisation decides what for: `provider` vouches for the user, and `client` is this client's registration with
    /// the authorization server of the MCP server.
    ///
    /// Spec: `io.modelcontextprotocol/enterprise-managed-authorization` (stable).
    pub fn enterprise(provider: IdentityProvider, client: RegisteredClient) -> OAuthBuilder {
        OAuthBuilder::with(ByEnterprise {
            provider,
            client: [client],
        })
    }
}

impl OAuthBuilder {
    fn with(grant: impl Grant + 'static) -> Self {
        Self {
            grant: Box::new(grant),
            client_name: env!("CARGO_PKG_NAME").to_owned(),
            client_uri: None,
            registered: Vec::new(),
            document: None,
            scopes: None,
            asks_offline: true,
            dpop: DpopUse::default(),
            signer: None,
            store: Box::new(MemoryStore::new()),
            step_timeout: Duration::from_secs(10),
            login_timeout: Duration::from_secs(300),
            everywhere: false,
            proxy: Proxies::None,
            roots: Roots::default(),
            log: None,
            fault: None,
        }
    }

    fn refuse(&mut self, text: &str) {
        self.fault
            .get_or_insert_with(|| Error::new(ErrorKind::Invalid, text));
    }

    /// What the client is called where it registers by itself; people are shown it. Defaults to the name of this library.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// A page about the client, for people.
    pub fn client_uri(mut self, uri: impl Into<String>) -> Self {
        self.client_uri = Some(uri.into());
        self
    }

    /// Adds a client that was registered with an authorization server beforehand. Where one is named, no client registers by itself: a
    /// server that names another authorization server is refused.
    pub fn registered(mut self, client: RegisteredClient) -> Self {
        self.registered.push(client);
        self
    }

    /// The URL of the document in which the client says who it is, `https` with a path: used with authorization servers that read such
    /// documents ([`ClientDocument`](super::ClientDocument) makes one).
    pub fn client_document(mut self, url: &str) -> Self {
        if let Err(error) = check_document_url(url) {
            self.fault.get_or_insert(error);
        }
        self.document = Some(url.to_owned());
        self
    }

    /// Which scopes to ask for. Defaults to those that the server says it has. What a server asks for at the time is asked for in any case,
    /// and what was asked for before.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Whether to ask for leave to act while the user is away (`offline_access`), where the authorization server has that: with it, logins
    /// are rarer. Defaults to yes.
    pub fn ask_offline_access(mut self, asks: bool) -> Self {
        self.asks_offline = asks;
        self
    }

    /// Whether tokens are bound to a key. Defaults to [`DpopUse::WhenAsked`]. The key is made when it is needed, and kept with the tokens.
    pub fn dpop(mut self, dpop: DpopUse) -> Self {
        self.dpop = dpop;
        self
    }

    /// Binds tokens to this key instead: one of a device or service that never gives it out, with an asymmetric algorithm.
    pub fn dpop_key(mut self, signer: impl Signer + 'static) -> Self {
        if !is_asymmetric(signer.algorithm()) {
            self.refuse("tokens are bound to keys of asymmetric algorithms only (dpop_key)");
        }
        self.signer = Some(Arc::new(signer));
        self
    }

    /// Where tokens and registrations are kept. Defaults to a [`MemoryStore`]; [`FileStore`](super::FileStore) keeps them for the next time.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.store = Box::new(store);
        self
    }

    /// How long one request to an authorization server may take. Defaults to 10 s.
    pub fn step_timeout(mut self, timeout: Duration) -> Self {
        self.step_timeout = timeout;
        self
    }

    /// How long a login may take, from the first step to the last. Defaults to 5 min. The time in which a person is asked is not that of
    /// the calls that wait, up to their [`max_timeout`](crate::protocol::CallOptions::max_timeout).
    pub fn login_timeout(mut self, timeout: Duration) -> Self {
        self.login_timeout = timeout;
        self
    }

    /// Whether metadata and tokens may be asked for at addresses on this machine and in private networks, when the server is elsewhere.
    /// Defaults to no: a server could have its clients knock at doors that only they can reach. Where the server itself stands on this
    /// machine or at a private address, its neighbours may be asked in any case.
    pub fn allow_private_addresses(mut self, allowed: bool) -> Self {
        self.everywhere = allowed;
        self
    }

    /// Goes through a proxy: `http://`, `https://`, `socks4://`, `socks4a://`, `socks5://` or `socks5h://` with host and port. Defaults to
    /// none. Proxies that look up names by themselves, all but `socks4` and `socks5`, are trusted to keep to what
    /// [`allow_private_addresses`](Self::allow_private_addresses) says.
    pub fn proxy(mut self, url: &str) -> Self {
        match Proxy::new(url) {
            Ok(proxy) => self.proxy = Proxies::One(proxy),
            Err(_) => self.refuse("the URL of the proxy can't be read"),
        }
        self
    }

    /// Goes through the proxy that the environment names for each URL, if it names one, as
    /// [`Http::proxy_from_environment`](crate::transport::http::Http::proxy_from_environment) does.
    pub fn proxy_from_environment(mut self) -> Self {
        self.proxy = Proxies::Environment;
        self
    }

    /// Trusts the servers whose certificates these authorities issued, and no others: instead of Mozilla's list, which is what is trusted
    /// otherwise. Called again, it adds to them. `pem` is PEM text with one or more certificates; other things in it are skipped.
    ///
    /// They count for all that is asked here: for metadata, which the MCP server has too, and for tokens. What
    /// [`Http::root_certificates`](crate::transport::http::Http::root_certificates) is told counts for requests to the MCP server alone, since
    /// authorization servers are often somebody else's: where one is a company's and the other is not, name the authorities of both, as the
    /// bundle of a system does (`/etc/ssl/certs/ca-certificates.crt`).
    ///
    /// One without a certificate, or with one that can't be read, fails [`build`](Self::build) with [`ErrorKind::Invalid`].
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        if let Err(why) = self.roots.trust(pem.as_ref()) {
            self.refuse(&format!(
                "the root certificates of the authorization {why} (OAuthBuilder::root_certificates)"
            ));
        }
        self
    }

    /// Takes lines about what is odd and no error, such as tokens that can't be kept. No secret is in them. It runs on the thread that gets
    /// tokens, and must not wait for the server.
    pub fn on_log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(log));
        self
    }

    /// Makes the authorizer. Nothing is asked of anybody before a server refuses a request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when a setting is none.
    pub fn build(self) -> Result<OAuth> {
        let Self {
            grant,
            client_name,
            client_uri,
            registered,
            document,
            scopes,
            asks_offline,
            dpop,
            signer,
            store,
            step_timeout,
            login_timeout,
            everywhere,
            proxy,
            roots,
            log,
            fault,
        } = self;
        if let Some(fault) = fault {
            return Err(fault);
        }
        Ok(OAuth::with(Settings {
            grant,
            client_name,
            client_uri,
            registered,
            document,
            scopes,
            asks_offline,
            dpop,
            signer,
            store,
            step_timeout,
            login_timeout,
            everywhere,
            proxy,
            roots,
            log,
            nonces: Nonces::default(),
            first_issuers: std::sync::Mutex::default(),
            registering: std::sync::Mutex::default(),
        }))
    }
}

impl fmt::Debug for OAuthBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthBuilder")
            .field("client_name", &self.client_name)
            .field("registered", &self.registered)
            .field("document", &self.document)
            .field("scopes", &self.scopes)
            .field("dpop", &self.dpop)
            .finish_non_exhaustive()
    }
}
