//! The HTTP client: a transport to a server at a URL.
//!
//! Each message is a POST of its own. The answer is JSON, or an event stream up to the response. A
//! thread that waits for its call sends the request and reads the answer itself. For a started call
//! no thread waits: see `parking`. Calls under way use separate HTTP connections.
//!
//! ```text
//!  exchanges    the transport as the protocol uses it
//!  parking      exchanges for which no thread waits
//!  carry        the exchange of one JSON-RPC request
//!  stream       event streams: of one call, for messages of no call, and of HTTP+SSE
//!  ask          one HTTP request up to the head of its response: redirects, logins
//!  request      the description of a request, and its header fields
//!  transport    the state of the transport: settings, connections, the session
//!  location     URLs that a server sends, and their origin
//!  proxies      the proxy of a request
//!  cookies      the cookies of the server
//!  credentials  calls of the authorizer
//!  refusal      error texts
//!  tls          trusted certificates, client certificates
//!  pool         pooled connections, one exchange at a time on each; or the host's HTTP client
//!  dial         making connections
//!  tcp          sockets whose reads can be made non-blocking
//!  exchange     one request and its response on a connection
//!  deadlines    the deadline thread, which ends exchanges in time
//! ```
//!
//! **Threads.** The first call with a deadline starts the deadline thread. The stream of messages
//! that belong to no call has a thread in the legacy era. The first started call starts the reader
//! thread. Closing the transport ends these threads.
//!
//! Spec: Transports, "Streamable HTTP" (2025-03-26 and later), "HTTP with SSE" (2024-11-05).

mod ask;
mod carry;
#[cfg_attr(
    not(feature = "auth"),
    allow(dead_code, reason = "logins read more of it")
)]
pub(crate) mod challenge;
mod content;
mod cookies;
mod credentials;
mod dial;
mod exchange;
mod exchanges;
pub(crate) mod location;
mod parking;
mod pool;
pub(crate) mod proxies;
mod refusal;
mod request;
mod retry_after;
mod stream;
mod tcp;
#[cfg(feature = "tls")]
pub(crate) mod tls;
mod transport;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ureq::Proxy;
use ureq::http::uri::Scheme;
use ureq::http::{HeaderName, HeaderValue, Uri};

#[cfg(feature = "auth")]
pub(crate) use self::content::foreign_encoding;
use self::proxies::Proxies;
#[cfg(feature = "auth")]
pub(crate) use self::retry_after::tell_wait;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::transport::http::authorizer::{Authorizer, Bearer};
use crate::transport::http::http_client::HttpClient;
use crate::transport::http::unix_url;

/// The transport to a server that is reached over HTTP.
///
/// A redirect is [followed](Self::follow_redirects) only if it keeps the method and the origin.
/// Cookies are kept in memory for the connection, and sent only to the origin that set them. Load
/// balancers use cookies to find the server of a session. No proxy is used unless one is set. The
/// values of header fields, tokens and cookies appear in no error, log line or debug output.
///
/// Spec: Transports, "Streamable HTTP" (2025-03-26 and later), "HTTP with SSE" (2024-11-05).
///
/// # Examples
///
/// ```no_run
/// use mcplink::client::Client;
/// use mcplink::transport::http::Http;
///
/// # fn main() -> mcplink::Result<()> {
/// let client = Client::connect(Http::new("http://127.0.0.1:8080/mcp")?)?;
/// println!("{:?}", client.list_tools()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Http {
    /// The server's URL. For a server on a Unix socket, its host is `localhost`.
    url: Uri,
    socket: Option<Arc<Path>>,
    headers: Vec<(HeaderName, HeaderValue)>,
    authorizer: Option<Arc<dyn Authorizer>>,
    client: Option<Arc<dyn HttpClient>>,
    proxy: Proxies,
    connect_timeout: Duration,
    stall_timeout: Duration,
    close_timeout: Duration,
    follows: bool,
    #[cfg(feature = "tls")]
    tls: tls::Tls,
    /// The error of the first invalid setting. Opening the transport returns this error.
    fault: Option<Error>,
}

/// The names of the header fields that only the library may set. The host application must not set
/// these fields.
const OURS: [&str; 10] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

impl Http {
    /// Creates the transport to the server at an `http` or `https` URL, or to a server on a Unix
    /// socket. The URL of such a server is `http+unix://`, the percent-encoded path of the socket,
    /// and the path of the endpoint: `http+unix://%2Frun%2Fshop.sock/mcp`. Its requests have the
    /// host name `localhost`. They use no proxy and can't be combined with a login (OAuth).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `url` is not an HTTP URL, or contains a user name or password:
    /// credentials belong in a header field.
    ///
    /// Connecting fails with [`ErrorKind::Unsupported`] on Windows for an `http+unix` URL, and in a
    /// build without the feature `tls` for an `https` URL, unless
    /// [`http_client`](Self::http_client) is set.
    pub fn new(url: &str) -> Result<Self> {
        let invalid = |why: &str| Err(Error::new(ErrorKind::Invalid, format!("the URL {why}")));
        let unix = unix_url::parsed(url);
        if unix.as_ref().is_some_and(|(socket, _)| !socket.has_root()) {
            return invalid(
                "names no Unix socket: expected http+unix://, the percent-encoded absolute path of the socket, and the path of the endpoint",
            );
        }
        let on_localhost = unix
            .as_ref()
            .map(|(_, rest)| format!("http://localhost{rest}"));
        let Ok(uri) = on_localhost.as_deref().unwrap_or(url).parse::<Uri>() else {
            return invalid("can't be read: expected http://host:port/path");
        };
        if uri.scheme() != Some(&Scheme::HTTP) && uri.scheme() != Some(&Scheme::HTTPS) {
            return invalid("begins neither with http:// nor with https://");
        }
        if url.contains('#') {
            return invalid("has a fragment ('#'), which is never sent");
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return invalid("has credentials in it: use header(\"Authorization\", …) or bearer(…)");
        }
        if uri.host().is_none_or(str::is_empty) {
            return invalid("names no host");
        }
        Ok(Self {
            url: uri,
            socket: unix.map(|(socket, _)| socket.into()),
            headers: Vec::new(),
            authorizer: None,
            client: None,
            proxy: Proxies::None,
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(60),
            close_timeout: Duration::from_secs(1),
            follows: true,
            #[cfg(feature = "tls")]
            tls: tls::Tls::default(),
            fault: None,
        })
    }

    /// Adds a header field that is sent with every request. Errors, log lines and debug output do
    /// not show the value.
    ///
    /// Connecting fails with [`ErrorKind::Invalid`] for a name or value that HTTP does not allow,
    /// and for a field that only the library may set.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        if OURS.contains(&&*lower) || lower.starts_with("mcp-param-") {
            return self.with_fault(format!("header field '{name}' is written by the library"));
        }
        match (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(value),
        ) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                self.headers.push((name, value));
                self
            }
            (Err(_), _) => self.with_fault(format!(
                "'{}' can't be the name of a header field",
                Excerpt(name)
            )),
            (_, Err(_)) => self.with_fault(format!(
                "the value of header field '{name}' has characters that HTTP does not allow"
            )),
        }
    }

    /// Sets a bearer token that is sent with every request, in the field `Authorization: Bearer …`
    /// (RFC 6750).
    pub fn bearer(self, token: impl Into<String>) -> Self {
        let token = token.into();
        self.bearer_with(move || Ok(token.clone()))
    }

    /// Sets a function that returns the bearer token of each request. The function is called for
    /// each request.
    ///
    /// `token` runs on the thread that sends the request, and should not wait for the server. If
    /// `token` fails, the request is not sent and fails with the same error.
    pub fn bearer_with(self, token: impl Fn() -> Result<String> + Send + Sync + 'static) -> Self {
        self.authorizer(Bearer(token))
    }

    /// Sets the authorizer, which provides the credentials of each request and reacts when the
    /// server refuses them. An earlier authorizer or token is replaced. Connecting fails with
    /// [`ErrorKind::Invalid`] if [`header`](Self::header) sets `Authorization`, too.
    pub fn authorizer(mut self, authorizer: impl Authorizer + 'static) -> Self {
        self.authorizer = Some(Arc::new(authorizer));
        self
    }

    /// Sets an HTTP client of the host, which sends all requests to the server. By default the
    /// library makes its own connections. Pass an [`Arc`] to share a client.
    ///
    /// The client decides how servers are reached, and which servers are trusted. So connecting
    /// fails with [`ErrorKind::Invalid`] if a proxy, root certificates or a client certificate are
    /// set, too. [`connect_timeout`](Self::connect_timeout) has no effect. Logins have their own
    /// setting, `OAuthBuilder::http_client` (feature `auth`).
    pub fn http_client(mut self, client: impl HttpClient + 'static) -> Self {
        self.client = Some(Arc::new(client));
        self
    }

    /// Sets the URL of the proxy: `http://`, `https://`, `socks4://`, `socks4a://`, `socks5://` or
    /// `socks5h://` with host and port. By default no proxy is used, and the environment is
    /// ignored.
    ///
    /// With `socks4` and `socks5`, this library resolves the server's name. With the other schemes,
    /// the proxy resolves the name. Connecting fails with [`ErrorKind::Invalid`] if the URL can't
    /// be parsed.
    pub fn proxy(mut self, url: &str) -> Self {
        match Proxy::new(url) {
            Ok(proxy) => {
                self.proxy = Proxies::One(proxy);
                self
            }
            Err(_) => self.with_fault("the URL of the proxy can't be read".to_owned()),
        }
    }

    /// Sets that requests use the proxy that the environment variables name for the server's URL,
    /// if they name one.
    ///
    /// `HTTP_PROXY` is for `http`, `HTTPS_PROXY` for `https`, and `ALL_PROXY` for both. `NO_PROXY`
    /// lists hosts, domains and networks (`10.0.0.0/8`) that are reached directly, or `*` for all.
    /// Each variable may be written in lower case, which takes precedence. The variables are read
    /// when the transport is opened. Connecting fails with [`ErrorKind::Invalid`] if a variable
    /// can't be parsed.
    pub fn proxy_from_environment(mut self) -> Self {
        self.proxy = Proxies::Environment;
        self
    }

    /// Sets the certificate authorities that the client trusts for servers. Defaults to Mozilla's
    /// list. Further calls add more authorities. `pem` is PEM text with one or more certificates;
    /// other sections are skipped.
    ///
    /// Connecting fails with [`ErrorKind::Invalid`] if `pem` contains no certificate, or an invalid
    /// one.
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        match self.tls.roots.trust(pem.as_ref()) {
            Ok(()) => self,
            Err(why) => self.with_fault(format!("the root certificates {why}")),
        }
    }

    /// Sets the client certificate for servers that request one.
    ///
    /// `chain` is PEM text: the certificate, then the certificates that lead to an authority that
    /// the server knows. `key` is the certificate's private key as PEM text, unencrypted (PKCS #8,
    /// PKCS #1 or SEC 1). `chain` and `key` may be the same text. The key appears in no error, log
    /// line or debug output.
    ///
    /// Connecting fails with [`ErrorKind::Invalid`] if `chain` or `key` is invalid, or if the key
    /// does not belong to the certificate.
    #[cfg(feature = "tls")]
    pub fn client_certificate(mut self, chain: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        match self.tls.present(chain.as_ref(), key.as_ref()) {
            Ok(()) => self,
            Err(why) => self.with_fault(format!("the client's certificates {why}")),
        }
    }

    /// Sets the maximum time to reach the server: name resolution, connecting and the TLS
    /// handshake. Defaults to 10 s. After that the call fails. If the deadline of the call is
    /// earlier, it applies. Has no effect with [`http_client`](Self::http_client).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the maximum silence of an event stream whose server has sent keep-alives. Defaults to
    /// 60 s. After a longer silence, the client closes the stream as broken.
    pub fn stall_timeout(mut self, timeout: Duration) -> Self {
        self.stall_timeout = timeout;
        self
    }

    /// Sets the maximum time that closing the transport takes to end the session at the server.
    /// Defaults to 1 s. After that the transport closes without an answer of the server.
    pub fn close_timeout(mut self, timeout: Duration) -> Self {
        self.close_timeout = timeout;
        self
    }

    /// Sets whether the client follows redirects. Defaults to true. Only redirects that keep the
    /// method (307, 308) and the origin are followed, at most five in a row. A redirect to another
    /// origin is always an error. Credentials are never sent to the other origin.
    pub fn follow_redirects(mut self, follows: bool) -> Self {
        self.follows = follows;
        self
    }

    /// Returns a setting for the library's own connections, if one is set that an HTTP client of
    /// the host would ignore.
    fn connection_setting(&self) -> Option<&'static str> {
        #[cfg(feature = "tls")]
        if let Some(setting) = self.tls.setting() {
            return Some(setting);
        }
        let is_proxied = !matches!(self.proxy, Proxies::None);
        is_proxied.then_some("Http::proxy")
    }

    /// Returns the text of a URL of this server, with its query.
    fn url_text(&self, url: &Uri) -> String {
        match &self.socket {
            Some(socket) => {
                let rest = url.path_and_query().map_or("/", |rest| rest.as_str());
                unix_url::written(socket, rest)
            }
            None => url.to_string(),
        }
    }

    /// Returns the server's URL, as texts show it.
    fn shown(&self) -> String {
        match &self.socket {
            Some(socket) => unix_url::written(socket, self.url.path()),
            None => location::shown(&self.url),
        }
    }

    fn with_fault(mut self, text: String) -> Self {
        self.fault
            .get_or_insert_with(|| Error::new(ErrorKind::Invalid, text));
        self
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.iter().map(|(name, _)| name.as_str());
        f.debug_struct("Http")
            .field("url", &self.shown())
            .field("headers", &names.collect::<Vec<_>>())
            .field("has_authorizer", &self.authorizer.is_some())
            .field("has_http_client", &self.client.is_some())
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}
