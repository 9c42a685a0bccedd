//! The client's side of HTTP: reaching a server at its URL.
//!
//! Each message of ours is a POST of its own. The thread that makes a call sends its request and reads the answer itself, JSON or an event
//! stream up to its response; calls of several threads go over connections of their own.
//!
//! ```text
//!  wire         what is sent with which header fields, and what the answer means
//!  stream       event streams: up to the response of a call, beside all calls, the one of 2024-11-05
//!  location     addresses that a server names, and where they lead
//!  proxies      which proxy requests go through
//!  cookies      what the server wants to be shown again
//!  credentials  who gives them, and what happens when the server wants others
//!  refusal      what went wrong, in words
//!  tls          whom to trust over HTTPS
//!  lane         one HTTP connection for one exchange at a time
//!  dial         making connections
//!  exchange     one request and its response by a connection
//!  watch        one thread that ends exchanges whose time has come
//! ```
//!
//! **Threads.** One for deadlines, when a call has one; one of the connection's for each stream on which the server tells what belongs to no
//! call. Closing ends them all.
//!
//! Spec: Transports, "Streamable HTTP" (2025-03-26 and later), "HTTP with SSE" (2024-11-05).

mod cookies;
mod credentials;
mod dial;
mod exchange;
mod lane;
pub(crate) mod location;
pub(crate) mod proxies;
mod refusal;
mod stream;
#[cfg(feature = "tls")]
pub(crate) mod tls;
mod watch;
mod wire;

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use ureq::Proxy;
use ureq::http::header::AUTHORIZATION;
use ureq::http::uri::Scheme;
use ureq::http::{HeaderName, HeaderValue, Uri};

use self::lane::Route;
use self::proxies::Proxies;
use self::wire::Wire;
#[cfg(feature = "auth")]
pub(crate) use self::wire::foreign_encoding;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::transport::http::authorizer::{Authorizer, Bearer};
use crate::transport::{Halves, Limits, Transport};

/// The transport to a server that is reached over HTTP.
///
/// Redirects to the same origin that keep the method are [followed](Self::follow_redirects), others
/// never. Cookies are kept in memory for the connection, and sent to the origin that set them only:
/// load balancers find the server of a session by them. No proxy is used unless one is set. The
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
    url: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    authorizer: Option<Arc<dyn Authorizer>>,
    proxy: Proxies,
    connect_timeout: Duration,
    stall_timeout: Duration,
    close_timeout: Duration,
    follows: bool,
    #[cfg(feature = "tls")]
    tls: tls::Tls,
    /// What is wrong with the settings.
    fault: Option<Error>,
}

/// Fields that the library writes itself.
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
    /// Names the server by its URL, `http` or `https`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when it is no such URL, or has a user name or password in it: credentials belong into a header field.
    /// [`ErrorKind::Unsupported`] for `https` in a build without the feature `tls`.
    pub fn new(url: &str) -> Result<Self> {
        let invalid = |why: &str| Err(Error::new(ErrorKind::Invalid, format!("the URL {why}")));
        let Ok(uri) = url.parse::<Uri>() else {
            return invalid("can't be read: expected http://host:port/path");
        };
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return invalid("begins neither with http:// nor with https://"),
        };
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
        if secure && cfg!(not(feature = "tls")) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "https needs the feature 'tls', which this build was made without",
            ));
        }
        Ok(Self {
            url: uri,
            headers: Vec::new(),
            authorizer: None,
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

    /// Sends a header field with every request. Its value is kept to itself.
    ///
    /// A name or value that HTTP does not allow, or a field that the library writes itself, fails the connecting with
    /// [`ErrorKind::Invalid`].
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

    /// Sends a token with every request (`Authorization: Bearer …`, RFC 6750).
    pub fn bearer(self, token: impl Into<String>) -> Self {
        let token = token.into();
        self.bearer_with(move || Ok(token.clone()))
    }

    /// The same, asking for the token each time: `token` runs on the thread that sends, and should not wait for the server. Its error fails
    /// the request, which is not sent then.
    pub fn bearer_with(self, token: impl Fn() -> Result<String> + Send + Sync + 'static) -> Self {
        self.authorizer(Bearer(token))
    }

    /// Gets the credentials of each request from `authorizer`, which is also told when the server wants others. It takes the place of an
    /// earlier one, and of a token. A field `Authorization` of [`header`](Self::header)'s beside it fails the connecting with
    /// [`ErrorKind::Invalid`].
    pub fn authorizer(mut self, authorizer: impl Authorizer + 'static) -> Self {
        self.authorizer = Some(Arc::new(authorizer));
        self
    }

    /// Goes through a proxy: `http://`, `https://`, `socks4://`, `socks4a://`, `socks5://` or `socks5h://` with host and port. With `socks4`
    /// and `socks5` the server's name is looked up here, with the others by the proxy. Defaults to none, whatever the environment says. One
    /// that can't be read fails the connecting with [`ErrorKind::Invalid`].
    pub fn proxy(mut self, url: &str) -> Self {
        match Proxy::new(url) {
            Ok(proxy) => {
                self.proxy = Proxies::One(proxy);
                self
            }
            Err(_) => self.with_fault("the URL of the proxy can't be read".to_owned()),
        }
    }

    /// Goes through the proxy that the environment names for the URL, if it names one.
    ///
    /// For `http` that is `HTTP_PROXY`, for `https` it is `HTTPS_PROXY`, and `ALL_PROXY` stands for
    /// either. `NO_PROXY` lists hosts, domains and networks (`10.0.0.0/8`) that are reached
    /// without, or `*` for all. Each may be written in lower case, which goes first. They are read
    /// when the transport is opened; one that can't be read fails the connecting with
    /// [`ErrorKind::Invalid`].
    pub fn proxy_from_environment(mut self) -> Self {
        self.proxy = Proxies::Environment;
        self
    }

    /// Trusts the servers whose certificates these authorities issued, and no others: instead of Mozilla's list, which is what is trusted
    /// otherwise. Called again, it adds to them. `pem` is PEM text with one or more certificates; other things in it are skipped.
    ///
    /// One without a certificate, or with one that can't be read, fails the connecting with [`ErrorKind::Invalid`].
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        match self.tls.roots.trust(pem.as_ref()) {
            Ok(()) => self,
            Err(why) => self.with_fault(format!("the root certificates {why}")),
        }
    }

    /// Shows a certificate of our own to servers that ask for one. `chain` is PEM text: the certificate, and behind it those that lead to
    /// an authority that the server knows; `key` is its private key as PEM text, unencrypted (PKCS #8, PKCS #1 or SEC 1). Both may be the same
    /// text. The key appears in no error, log line or debug output.
    ///
    /// What can't be read or doesn't fit together fails the connecting with [`ErrorKind::Invalid`].
    #[cfg(feature = "tls")]
    pub fn client_certificate(mut self, chain: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        match self.tls.present(chain.as_ref(), key.as_ref()) {
            Ok(()) => self,
            Err(why) => self.with_fault(format!("the client's certificates {why}")),
        }
    }

    /// How long reaching the server may take: looking up its name, connecting, and agreeing on encryption. Defaults to 10 s; the deadline
    /// of a call holds too.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// After how much silence an event stream is given up whose server sent keep-alives before. Defaults to 60 s.
    pub fn stall_timeout(mut self, timeout: Duration) -> Self {
        self.stall_timeout = timeout;
        self
    }

    /// How long closing may take to tell the server that the session has ended. Defaults to 1 s.
    pub fn close_timeout(mut self, timeout: Duration) -> Self {
        self.close_timeout = timeout;
        self
    }

    /// Whether redirects to the same origin that keep the method (307, 308) are followed, at most
    /// five in a row. Defaults to yes. One to another origin is an error that names it, always:
    /// credentials are not sent elsewhere.
    pub fn follow_redirects(mut self, follows: bool) -> Self {
        self.follows = follows;
        self
    }

    fn with_fault(mut self, text: String) -> Self {
        self.fault
            .get_or_insert_with(|| Error::new(ErrorKind::Invalid, text));
        self
    }
}

impl Transport for Http {
    fn open(self: Box<Self>, limits: &Limits) -> Result<Halves> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.authorizer.is_some() && self.headers.iter().any(|(name, _)| name == AUTHORIZATION) {
            let text = "header(\"Authorization\", …) contradicts bearer(…) or authorizer(…)";
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let proxy = self.proxy.of(&self.url);
        let route = Route {
            connect_timeout: self.connect_timeout,
            proxy: proxy.map_err(|why| Error::new(ErrorKind::Invalid, why))?,
            #[cfg(feature = "tls")]
            tls: self.tls.config(),
        };
        let wire = Arc::new(Wire::new(*self, route, limits));
        Ok(Halves::carried(Arc::clone(&wire) as _, wire))
    }

    /// The same server, by connections of its own.
    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }

    /// The URL; a query, which may hold secrets, is told from others only.
    fn address(&self) -> Option<String> {
        let Some(query) = self.url.query() else {
            return Some(shown(&self.url));
        };
        let mut hasher = DefaultHasher::new();
        query.hash(&mut hasher);
        Some(format!("{}?{:x}", shown(&self.url), hasher.finish()))
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.iter().map(|(name, _)| name.as_str());
        f.debug_struct("Http")
            .field("url", &shown(&self.url))
            .field("headers", &names.collect::<Vec<_>>())
            .field("has_authorizer", &self.authorizer.is_some())
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}

fn origin(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or_default();
    let host = url.host().unwrap_or_default().to_ascii_lowercase();
    match url.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}

/// A URL for messages: the query, which may hold secrets, is left out.
fn shown(url: &Uri) -> String {
    format!("{}{}", origin(url), url.path())
}
