//! A server with its own HTTP listener.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::Server;
use super::options::HttpOptions;
use super::service::HttpService;
use crate::error::{Error, Excerpt, Result};
use crate::protocol::{LogLevel, tell};
use crate::server::debug_fields::debug_fields;
use crate::server::endpoints::{Endpoint, Reachable};
use crate::sync::{Condvar, Mutex};
use crate::transport::http::unix_url;
use crate::transport::http::{HttpLimits, HttpListener, HttpStats, Service};

/// The maximum time that a closing server waits for clients to read the ends of their responses.
const FAREWELL: Duration = Duration::from_millis(500);

/// An HTTP server that listens for clients of a [`Server`]. Dropping the `HttpServer` calls
/// [`close`](Self::close).
///
/// # Examples
///
/// ```
/// use mcplink::server::Server;
/// use mcplink::server::http::{HttpOptions, HttpServer};
///
/// let server = Server::builder("clock", "1.0").build()?;
/// let listening: HttpServer = server.listen_http("127.0.0.1:0", HttpOptions::new())?;
/// println!("clients reach the server at {}", listening.url());
/// listening.close();
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct HttpServer(Arc<Listening>);

struct Listening {
    server: Server,
    service: HttpService,
    listener: HttpListener,
    path: String,
    drain: Duration,
    closed: Mutex<bool>,
    has_closed: Condvar,
}

impl Server {
    /// Listens for HTTP clients on an address such as `192.0.2.1:8080`, on a port of the loopback
    /// address such as `8080`, or on a Unix socket such as `unix:/run/shop.sock`. If the port is 0,
    /// the system chooses a port.
    ///
    /// Every client that can reach an address can send requests. Pass only a port, unless other
    /// machines must connect. If other machines must connect, authenticate clients with
    /// [`HttpOptions::authorization`] or [`HttpOptions::authenticate`]. To a Unix socket only
    /// processes of the same user can connect: see [`HttpListener::bind_unix`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when `address` is neither a port, nor an
    /// address with a port, nor `unix:` with a path. [`ErrorKind::Io`](crate::ErrorKind::Io) when
    /// the address can't be bound, or when the system has no descriptor or thread to spare. The
    /// errors of [`HttpOptions::check`] and of [`HttpListener::bind_unix`].
    pub fn listen_http(&self, address: &str, options: HttpOptions) -> Result<HttpServer> {
        self.open_http(address, || self.listening(address, options))
    }

    fn listening(&self, address: &str, options: HttpOptions) -> Result<Listening> {
        if let Some(path) = address.strip_prefix("unix:") {
            return Listening::with(self, options, |service, limits| {
                HttpListener::bind_unix(path, service, limits)
            });
        }
        let (host, port) = address.rsplit_once(':').unwrap_or(("", address));
        let Ok(port) = port.parse::<u16>() else {
            return Err(Error::invalid(format!(
                "'{}' is no address to listen on: expected a port such as '8080', an address with a port such as '192.0.2.1:8080', or a Unix socket such as 'unix:/run/shop.sock'",
                Excerpt(address)
            )));
        };
        Listening::with(self, options, |service, limits| match host {
            "" => HttpListener::bind((Ipv4Addr::LOCALHOST, port), service, limits),
            _ => HttpListener::bind(address, service, limits),
        })
    }

    /// Accepts HTTP clients on a socket that listens already, for example a socket from systemd.
    ///
    /// # Errors
    ///
    /// The errors of [`listen_http`](Self::listen_http).
    pub fn listen_http_on(
        &self,
        listener: TcpListener,
        options: HttpOptions,
    ) -> Result<HttpServer> {
        let address = listener.local_addr();
        let address = address.map_or_else(|_| "socket".to_owned(), |it| it.to_string());
        self.open_http(&address, || {
            Listening::with(self, options, |service, limits| {
                HttpListener::on(listener, service, limits)
            })
        })
    }

    fn open_http(
        &self,
        address: &str,
        open: impl FnOnce() -> Result<Listening>,
    ) -> Result<HttpServer> {
        self.0.endpoints.open(address, || {
            let listening = Arc::new(open()?);
            let object = Arc::downgrade(&listening);
            Ok((HttpServer(listening), object))
        })
    }
}

impl Listening {
    fn with(
        server: &Server,
        options: HttpOptions,
        listen: impl FnOnce(Arc<dyn Service>, HttpLimits) -> Result<HttpListener>,
    ) -> Result<Self> {
        options.check()?;
        if let Some(card) = &options.card {
            card.page(&server.0.services.info, &server.0.revisions)?;
        }
        let path = options.path.clone();
        let mut limits = options.limits.clone();
        limits.max_body_bytes = server.0.services.limits.max_message_bytes;
        limits.max_connections = options.max_connections();
        if let Some(text) = options.contradiction() {
            tell(server.0.log.as_ref(), LogLevel::Info, "http", || text);
        }
        limits.threads = server.0.threads.clone();
        limits.trusted_proxies = options.proxies().to_vec();
        let service = HttpService::new(server, options);
        let listener = listen(Arc::new(service.clone()), limits)?;
        Ok(Self {
            server: server.clone(),
            service,
            listener,
            path,
            drain: server.0.drain,
            closed: Mutex::new(false),
            has_closed: Condvar::new(),
        })
    }

    fn url(&self) -> String {
        let Some(mut address) = self.listener.local_addr() else {
            let socket = self.listener.socket_path().unwrap_or_else(|| Path::new(""));
            return unix_url::written(socket, &self.path);
        };
        // A server that listens on all addresses can be reached at the loopback address.
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("http://{address}{}", self.path)
    }
}

impl Reachable for Listening {
    fn endpoint(&self) -> Option<Endpoint> {
        let is_open = !*self.closed.lock();
        is_open.then(|| Endpoint::Http {
            url: self.url(),
            connections: self.listener.stats().connections,
            sessions: self.service.sessions(),
        })
    }
}

impl HttpServer {
    /// Returns the address on which the server listens. If port 0 was requested, the address has
    /// the port that the system chose. Returns `None` for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.0.listener.local_addr()
    }

    /// Returns the URL of the endpoint, for clients on this machine. For a Unix socket, this is an
    /// `http+unix` URL, which [`Http::new`](crate::transport::http::Http::new) accepts.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Returns the listener's current load, and counters of refused requests.
    pub fn stats(&self) -> HttpStats {
        let mut stats = self.0.listener.stats();
        stats.displaced_sessions = self.0.service.displaced_sessions();
        stats
    }

    /// Returns the number of open sessions of legacy clients.
    pub fn sessions(&self) -> usize {
        self.0.service.sessions()
    }

    /// Moves clients to other replicas; then call [`close`](Self::close).
    ///
    /// The [health page](HttpOptions::health) answers with status 503 from now on, so a load
    /// balancer sends no new requests. The open `subscriptions/listen` streams end one after the
    /// other over `span`, each with its result, so that their clients do not reconnect all at once.
    /// Each connection closes after its next response. Everything else is served as before.
    /// Sessions of legacy clients belong to this process, and end when the server is closed.
    ///
    /// Blocks for `span`, or until another thread closes the server. `span` should be several times
    /// as long as the interval at which the load balancer requests the health page.
    pub fn drain(&self, span: Duration) {
        self.0.listener.end_keep_alive();
        self.0.service.drain(span);
    }

    /// Blocks until another thread has closed the server.
    pub fn wait(&self) {
        let mut closed = self.0.closed.lock();
        while !*closed {
            closed = self.0.has_closed.wait(closed);
        }
    }

    /// Closes the server; idempotent.
    ///
    /// The server first stops accepting connections, and ends subscriptions with their result.
    /// Active calls may finish within
    /// [`ServerBuilder::drain`](crate::server::ServerBuilder::drain). Then the server ends
    /// sessions, answers the remaining calls with an error, and closes connections.
    ///
    /// Blocks for at most the drain time and a few seconds. A handler that has not returned
    /// continues to occupy its thread, but nothing else.
    pub fn close(&self) {
        self.0.service.end_streams();
        self.0.listener.drain(self.0.drain);
        self.0.service.close();
        self.0.listener.shutdown(FAREWELL);
        *self.0.closed.lock() = true;
        self.0.has_closed.notify_all();
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.close();
    }
}

debug_fields!(
    HttpServer,
    server = |it| it.0.server.clone(),
    url = |it| it.url()
);
