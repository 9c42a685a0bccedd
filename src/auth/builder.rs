//! The builder of an [`OAuth`], with its settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ureq::Proxy;

use super::client::{RegisteredClient, check_document_url};
use super::client_credentials::{ByCredentials, ByWorkload};
use super::dpop::{DpopUse, Nonces};
use super::enterprise::{ByEnterprise, IdentityProvider};
use super::flow_context::{Grant, LogHook, Settings};
use super::key::{Signer, is_asymmetric};
use super::login::{ByLogin, OWN_PARAMS, UserAgent};
use super::oauth::OAuth;
use super::secret::Secret;
use super::store::{MemoryStore, Store};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::sync::Mutex;
use crate::transport::http::HttpClient;
use crate::transport::http::proxies::Proxies;
use crate::transport::http::tls::Roots;

/// A builder for an [`OAuth`]: the grant, the registration of the client, and limits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink::auth::{Browser, OAuth};
///
/// let oauth = OAuth::login(Browser::new())
///     .client_name("My editor")
///     .scopes(["files:read"])
///     .login_timeout(Duration::from_secs(120))
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[must_use]
pub struct OAuthBuilder {
    grant: Box<dyn Grant>,
    client_name: String,
    client_uri: Option<String>,
    registered: Vec<RegisteredClient>,
    document: Option<String>,
    scopes: Option<BTreeSet<String>>,
    asks_offline: bool,
    authorization_params: BTreeMap<String, String>,
    dpop: DpopUse,
    signer: Option<Arc<dyn Signer>>,
    store: Box<dyn Store>,
    step_timeout: Duration,
    login_timeout: Duration,
    everywhere: bool,
    proxy: Proxies,
    roots: Roots,
    client: Option<Arc<dyn HttpClient>>,
    log: Option<LogHook>,
    fault: Option<Error>,
}

impl OAuth {
    /// Makes a builder for tokens that a user obtains by a login (authorization code grant).
    /// `agent` opens the login page for the user. It is a [`Browser`](super::Browser), or a
    /// [`CallbackUserAgent`](super::CallbackUserAgent) made from a function.
    pub fn login(agent: impl UserAgent + 'static) -> OAuthBuilder {
        OAuthBuilder::with(ByLogin(agent))
    }

    /// Makes a builder for tokens of a machine that acts in its own name (client credentials
    /// grant). The client was registered beforehand, and authenticates by a key or a secret.
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

    /// Makes a builder for tokens of a workload. The workload authenticates by a signed JWT of its
    /// platform (JWT bearer grant).
    ///
    /// `statement` returns the JWT for an audience, which is the URL of the token endpoint.
    /// `statement` runs each time a token is needed, on the thread that requests the token. Pass
    /// `client_id` if the authorization server requires a client id.
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

    /// Makes a builder for tokens of a user whose access is managed by an organization. `provider`
    /// is the organization's identity provider. `client` is the registration of this client with
    /// the MCP server's authorization server.
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
            authorization_params: BTreeMap::new(),
            dpop: DpopUse::default(),
            signer: None,
            store: Box::new(MemoryStore::new()),
            step_timeout: Duration::from_secs(10),
            login_timeout: Duration::from_secs(300),
            everywhere: false,
            proxy: Proxies::None,
            roots: Roots::default(),
            client: None,
            log: None,
            fault: None,
        }
    }

    fn refuse(&mut self, text: &str) {
        self.fault
            .get_or_insert_with(|| Error::new(ErrorKind::Invalid, text));
    }

    /// Sets the name with which the client registers itself. Users see this name. Defaults to the
    /// name of this library.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// Sets the URL of a web page about the client.
    pub fn client_uri(mut self, uri: impl Into<String>) -> Self {
        self.client_uri = Some(uri.into());
        self
    }

    /// Adds a client that was registered with an authorization server beforehand. Then no client is
    /// registered automatically. If the MCP server names another authorization server, calls fail.
    pub fn registered(mut self, client: RegisteredClient) -> Self {
        self.registered.push(client);
        self
    }

    /// Sets the URL of the client ID metadata document: `https` with a path. The document is used
    /// with authorization servers that support client ID metadata documents.
    /// [`ClientDocument`](super::ClientDocument) makes the document.
    pub fn client_document(mut self, url: &str) -> Self {
        if let Err(error) = check_document_url(url) {
            self.fault.get_or_insert(error);
        }
        self.document = Some(url.to_owned());
        self
    }

    /// Sets the scopes to request. Defaults to all scopes that the MCP server lists. Scopes that
    /// the server demands in a refusal, and scopes that were requested before, are always added.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Sets whether to request the scope `offline_access`, if the authorization server supports it.
    /// With this scope, users have to log in less often. Defaults to true.
    pub fn ask_offline_access(mut self, asks: bool) -> Self {
        self.asks_offline = asks;
        self
    }

    /// Sets a further parameter of the authorization request, such as `access_type` (`offline`),
    /// `audience` or `prompt`. Defaults to none. A later call with the same name replaces the
    /// value, and an empty value omits the parameter. The user's browser gets the parameters, so
    /// they are not secret.
    ///
    /// `prompt` replaces the value `consent`, which is sent with the scope `offline_access`. The
    /// other parameters of this library can't be replaced. `response_mode`, `request` and
    /// `request_uri` can't be set, because they could change those parameters. Such a name, an
    /// empty name, or a grant without a login makes [`build`](Self::build) fail with
    /// [`ErrorKind::Invalid`].
    pub fn authorization_param(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let name = name.into();
        if name.is_empty() || OWN_PARAMS.contains(&&*name) {
            self.refuse(&format!(
                "'{}' is no parameter that can be set (OAuthBuilder::authorization_param)",
                Excerpt(&name)
            ));
        }
        if !self.grant.is_for_a_person() {
            self.refuse(
                "only logins have parameters of their own (OAuthBuilder::authorization_param)",
            );
        }
        self.authorization_params.insert(name, value.into());
        self
    }

    /// Sets whether tokens are bound to a key. Defaults to [`DpopUse::WhenAsked`]. The key is
    /// generated when the first bound token is requested, and stored with the tokens.
    pub fn dpop(mut self, dpop: DpopUse) -> Self {
        self.dpop = dpop;
        self
    }

    /// Sets the key that tokens are bound to, instead of a generated key. The key can be in a
    /// hardware token, for example. Only asymmetric algorithms are allowed.
    pub fn dpop_key(mut self, signer: impl Signer + 'static) -> Self {
        if !is_asymmetric(signer.algorithm()) {
            self.refuse(
                "tokens are bound to keys of asymmetric algorithms only (OAuthBuilder::dpop_key)",
            );
        }
        self.signer = Some(Arc::new(signer));
        self
    }

    /// Sets the store of tokens and registrations. Defaults to a [`MemoryStore`], whose content is
    /// lost when the process ends. A [`FileStore`](super::FileStore) preserves its content.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.store = Box::new(store);
        self
    }

    /// Sets the timeout of one request to an authorization server. Defaults to 10 s, and is at most
    /// one day. A request that takes longer fails.
    pub fn step_timeout(mut self, timeout: Duration) -> Self {
        self.step_timeout = timeout;
        self
    }

    /// Sets the timeout of a whole login. Defaults to 5 min, and is at most one day. A login that
    /// takes longer fails. While the user logs in, the timeout of the waiting calls is paused.
    /// Their [`max_timeout`](crate::client::CallOptions::max_timeout) is not paused.
    pub fn login_timeout(mut self, timeout: Duration) -> Self {
        self.login_timeout = timeout;
        self
    }

    /// Sets whether requests for metadata and tokens may be sent to this machine and private
    /// networks. Defaults to false, as protection against server-side request forgery (SSRF): an
    /// MCP server could otherwise reach hosts that only its clients can reach. If the MCP server
    /// itself is at a loopback or private address, addresses of the same kind are always allowed.
    pub fn allow_private_addresses(mut self, allowed: bool) -> Self {
        self.everywhere = allowed;
        self
    }

    /// Sets the URL of a proxy: `http://`, `https://`, `socks4://`, `socks4a://`, `socks5://` or
    /// `socks5h://` with host and port. Defaults to no proxy. A `socks4` or `socks5` proxy gets an
    /// address that this library resolved. Other proxies resolve names themselves, and are trusted
    /// to enforce [`allow_private_addresses`](Self::allow_private_addresses).
    pub fn proxy(mut self, url: &str) -> Self {
        match Proxy::new(url) {
            Ok(proxy) => self.proxy = Proxies::One(proxy),
            Err(_) => self.refuse("the URL of the proxy can't be read"),
        }
        self
    }

    /// Sets that a request uses the proxy that the environment variables name for its URL, if they
    /// name one. The variables are described at
    /// [`Http::proxy_from_environment`](crate::transport::http::Http::proxy_from_environment).
    pub fn proxy_from_environment(mut self) -> Self {
        self.proxy = Proxies::Environment;
        self
    }

    /// Sets the trusted certificate authorities, instead of Mozilla's list. Further calls add more
    /// authorities. `pem` is PEM text with one or more certificates; other PEM blocks are skipped.
    ///
    /// These authorities apply to all requests for authorization: for tokens and for metadata,
    /// including the metadata of the MCP server. The authorities of
    /// [`Http::root_certificates`](crate::transport::http::Http::root_certificates) apply only to
    /// requests to the MCP server. If the MCP server and the authorization server have certificates
    /// of different authorities, add both authorities here. To trust all public authorities as
    /// well, add the system's own list, for example `/etc/ssl/certs/ca-certificates.crt`.
    ///
    /// A text without a certificate, or with an invalid one, makes [`build`](Self::build) fail with
    /// [`ErrorKind::Invalid`].
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        if let Err(why) = self.roots.trust(pem.as_ref()) {
            self.refuse(&format!(
                "the root certificates of the authorization {why} (OAuthBuilder::root_certificates)"
            ));
        }
        self
    }

    /// Sets an HTTP client of the host, which sends all requests for authorization: for tokens and
    /// for metadata, including the metadata of the MCP server. By default the library makes its own
    /// connections. Pass an [`Arc`] to share a client, for example with
    /// [`Http::http_client`](crate::transport::http::Http::http_client).
    ///
    /// The client must ask
    /// [`HttpClientRequest::allows_address`](crate::transport::http::HttpClientRequest::allows_address)
    /// for each address to which it connects: otherwise
    /// [`allow_private_addresses`](Self::allow_private_addresses) has an effect only on URLs with a
    /// literal address. A request ends after [`step_timeout`](Self::step_timeout).
    ///
    /// The client decides how servers are reached, and which servers are trusted. So
    /// [`build`](Self::build) fails with [`ErrorKind::Invalid`] if a proxy or root certificates are
    /// set, too.
    pub fn http_client(mut self, client: impl HttpClient + 'static) -> Self {
        self.client = Some(Arc::new(client));
        self
    }

    /// Sets a hook for log lines about problems that are not errors, for example tokens that can't
    /// be stored. The lines contain no secrets. The hook runs on the thread that requests tokens,
    /// and must not wait for the MCP server.
    pub fn on_log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(log));
        self
    }

    /// Refuses settings for the library's own connections, which an HTTP client of the host would
    /// ignore.
    fn refuse_connection_settings(&mut self) {
        let contradicts = "contradicts OAuthBuilder::http_client: set it in that client";
        if !matches!(self.proxy, Proxies::None) {
            self.refuse(&format!("OAuthBuilder::proxy {contradicts}"));
        }
        if !self.roots.is_empty() {
            self.refuse(&format!("OAuthBuilder::root_certificates {contradicts}"));
        }
    }

    /// Makes the authorizer. The authorizer sends no request until an MCP server refuses a request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when a setting is invalid, or contradicts another one.
    pub fn build(mut self) -> Result<OAuth> {
        if self.client.is_some() {
            self.refuse_connection_settings();
        }
        let Self {
            grant,
            client_name,
            client_uri,
            registered,
            document,
            scopes,
            asks_offline,
            authorization_params,
            dpop,
            signer,
            store,
            step_timeout,
            login_timeout,
            everywhere,
            proxy,
            roots,
            client,
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
            authorization_params,
            dpop,
            signer,
            store,
            step_timeout,
            login_timeout,
            everywhere,
            proxy,
            roots,
            client,
            log,
            nonces: Nonces::default(),
            first_issuers: Mutex::default(),
            registering: Mutex::default(),
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
