//! The connection pool. Each connection carries one exchange at a time, so that ending one exchange
//! does not end another.
//!
//! An exchange takes a connection from the pool, and returns it when the body was read to its end.
//! To end an exchange from another thread, its connection is shut down. A blocked read notices the
//! shutdown at once. A connection that was shut down is not returned to the pool.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ureq::config::Config;
use ureq::http::{Method, Request, Response, Uri};
#[cfg(feature = "tls")]
use ureq::tls::TlsConfig;
use ureq::unversioned::transport::ShutdownHandle;
use ureq::{Agent, Error, Proxy};

use super::dial::Dialing;
use super::exchange::{BUFFER, HttpConnection, is_end};
#[cfg(feature = "tls")]
use super::tls;
use crate::sync::Mutex;
use crate::transport::clock::about_now;
use crate::transport::http::http_client::{self, HttpClient, wrapped};
use crate::transport::http::shutdown::Shutdown;

/// The maximum number of idle connections in the pool. At the limit, the connection that was idle
/// for longest is closed. This limit is rarely reached: even if this many threads make calls at
/// once, only a few connections are idle at a time.
const KEPT: usize = 32;
/// The maximum idle time of a connection that is reused. Many servers close a connection after 5 s.
/// If a request is sent at that moment, it is lost.
const IDLE: Duration = Duration::from_secs(4);
/// The beginning of the standard library's error text for a failed name resolution. These errors
/// have no kind of their own, so the text is compared.
const LOOKUP_FAILED: &str = "failed to lookup address information";
/// The value of the `User-Agent` field for servers and proxies.
pub(super) const USER_AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

/// The settings for connections to the server: the timeout, the proxy and the TLS settings.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) connect_timeout: Duration,
    /// The path of the server's Unix socket, if it has one.
    pub(super) socket: Option<Arc<Path>>,
    pub(super) proxy: Option<Proxy>,
    #[cfg(feature = "tls")]
    pub(super) tls: TlsConfig,
}

/// The error of a request that got no response.
pub(super) struct Failed {
    pub(super) error: Error,
    /// Whether the server may have received the request, so that it might have had an effect.
    pub(super) sent: bool,
}

impl Failed {
    /// Whether the server had closed the connection, or closed it during the request.
    pub(super) fn is_loss(&self) -> bool {
        match &self.error {
            Error::Io(error) => is_end(error) || error.kind() == io::ErrorKind::BrokenPipe,
            _ => false,
        }
    }
}

/// The connection pool for one server.
pub(super) struct Pool {
    /// The HTTP client of the host, which sends the requests if there is one. Then the pool stays
    /// empty.
    client: Option<Arc<dyn HttpClient>>,
    /// Idle connections with the time of their last use. The connection used last is at the back.
    /// The connections are boxed because they are large and often moved. The lock is not held while
    /// a connection is closed, because closing may block.
    free: Mutex<VecDeque<(Box<PoolSlot>, Instant)>>,
    connect_timeout: Duration,
    dialing: Arc<Dialing>,
}

/// A slot of the pool: a connection to the server, with its buffer and its shutdown handle.
pub(super) struct PoolSlot {
    pub(super) line: HttpConnection,
    brake: Arc<Shutdown>,
    pub(super) buffer: Vec<u8>,
    /// Whether the request of the current exchange is a POST.
    is_post: bool,
    /// Whether a part of the body of the current request has been sent.
    has_sent: bool,
}

impl Pool {
    /// Whether a poller can wait for the connections of this pool.
    pub(super) fn is_pollable(&self) -> bool {
        self.client.is_none() && !self.dialing.uses_socks()
    }

    pub(super) fn new(route: Route, client: Option<Arc<dyn HttpClient>>) -> Self {
        let (connect_timeout, socket) = (route.connect_timeout, route.socket.clone());
        Self {
            client,
            free: Mutex::default(),
            connect_timeout,
            dialing: Arc::new(Dialing::new(route.config(), socket)),
        }
    }

    pub(super) fn take(&self) -> Box<PoolSlot> {
        let last = self.free.lock().pop_back();
        let Some((mut lane, since)) = last else {
            return Box::new(PoolSlot {
                line: HttpConnection::default(),
                brake: Arc::default(),
                buffer: vec![0; BUFFER],
                is_post: false,
                has_sent: false,
            });
        };
        if about_now().saturating_duration_since(since) > IDLE {
            lane.line.close();
        }
        lane
    }

    pub(super) fn has_idle(&self) -> bool {
        !self.free.lock().is_empty()
    }

    /// Returns a connection to the pool, after its response was read to the end. Closes at most one
    /// other connection that was idle for too long or exceeds the limit.
    pub(super) fn put(&self, lane: Box<PoolSlot>) {
        if self.client.is_some() {
            return;
        }
        lane.line.set_polled(false);
        let now = about_now();
        let mut free = self.free.lock();
        free.push_back((lane, now));
        let is_old =
            |(_, since): &(Box<PoolSlot>, Instant)| now.saturating_duration_since(*since) > IDLE;
        let has_surplus = free.len() > KEPT || free.front().is_some_and(is_old);
        let surplus = if has_surplus { free.pop_front() } else { None };
        drop(free);
        drop(surplus);
    }

    pub(super) fn clear(&self) {
        let free = std::mem::take(&mut *self.free.lock());
        drop(free);
    }

    /// Sends a request. Connects to the server first, unless `is_open`. Connecting takes at most
    /// `connect_timeout`, and ends at `deadline` at the latest. If the host has an HTTP client,
    /// that client sends the request, and the head of the response has arrived on return.
    pub(super) fn send(
        &self,
        lane: &mut PoolSlot,
        request: Request<()>,
        text: &[u8],
        deadline: Option<Instant>,
        is_open: bool,
    ) -> Result<(), Failed> {
        if let Some(client) = &self.client {
            return lane.send_with(&**client, request, text, deadline);
        }
        lane.is_post = request.method() == Method::POST;
        lane.has_sent = false;
        let connected = match is_open {
            true => Ok(()),
            false => self.connect(lane, request.uri(), deadline),
        };
        let sent = connected.and_then(|()| lane.line.send(request, text, &mut lane.has_sent));
        sent.map_err(|error| lane.failed(error))
    }

    /// Replaces the connection by a new connection to the server.
    fn connect(
        &self,
        lane: &mut PoolSlot,
        uri: &Uri,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        lane.line.close();
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // The wait ends a little later than the deadline, so that the deadline counts as passed
        // then.
        let left = left.map(|left| left + Duration::from_millis(5));
        let span = left.map_or(self.connect_timeout, |left| left.min(self.connect_timeout));
        let brake = Arc::clone(&lane.brake);
        let hold = Arc::new(move |connection: Weak<dyn ShutdownHandle>| {
            let held = brake.hold(Box::new(move || {
                if let Some(connection) = connection.upgrade() {
                    connection.shutdown();
                }
            }));
            held.map_err(|_| io::Error::from(io::ErrorKind::NotConnected).into())
        });
        lane.line.lead_by(self.dialing.dial(uri, span, hold)?);
        Ok(())
    }
}

impl Route {
    fn config(self) -> Config {
        let config = Agent::config_builder()
            .proxy(self.proxy)
            .no_delay(true)
            .user_agent(USER_AGENT)
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER);
        #[cfg(feature = "tls")]
        let config = config.tls_config(self.tls);
        config.build()
    }
}

impl PoolSlot {
    /// Returns a function that another thread can call to end the exchange.
    pub(super) fn brake(&self) -> impl FnOnce() + Send + 'static {
        let brake = Arc::clone(&self.brake);
        move || brake.pull()
    }

    /// Sends a request with the HTTP client of the host.
    fn send_with(
        &mut self,
        client: &dyn HttpClient,
        request: Request<()>,
        text: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Failed> {
        let sent = http_client::send(client, request.map(|()| text), deadline, &self.brake, None);
        let response = sent.map_err(|error| Failed {
            sent: !error.says_not_sent(),
            error: wrapped(error),
        })?;
        self.line.read_from(response);
        Ok(())
    }

    /// Returns the head of the response to the request that was sent. Returns `None` if the head
    /// has not arrived and the connection is polled; otherwise blocks.
    pub(super) fn head(&mut self) -> Result<Option<Response<()>>, Failed> {
        match self.line.head() {
            Ok(response) => Ok(Some(response)),
            Err(Error::Io(error)) if self.line.has_to_wait(&error) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn failed(&self, error: Error) -> Failed {
        Failed {
            sent: match self.is_post {
                // A request without its body has no effect.
                true => self.has_sent && !is_refused(&error),
                false => !is_before_sending(&error),
            },
            error,
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("free", &self.free.lock().len())
            .finish_non_exhaustive()
    }
}

/// Whether the server refused the TLS connection before it read any bytes of the request.
fn is_refused(error: &Error) -> bool {
    match error {
        #[cfg(feature = "tls")]
        Error::Io(error) => matches!(tls::fault(error), Some(tls::Fault::Refused(_))),
        _ => false,
    }
}

/// Whether an error proves that a request without a body was not sent.
fn is_before_sending(error: &Error) -> bool {
    use io::ErrorKind as Io;
    use ureq::Timeout;
    match error {
        Error::HostNotFound
        | Error::ConnectionFailed
        | Error::ConnectProxyFailed(_)
        | Error::InvalidProxyUrl
        | Error::BadUri(_)
        | Error::Tls(_)
        | Error::TlsRequired
        | Error::Http(_)
        | Error::Timeout(Timeout::Resolve | Timeout::Connect) => true,
        #[cfg(feature = "tls")]
        Error::Io(error) if tls::fault(error).is_some() => true,
        Error::Io(error) => {
            matches!(
                error.kind(),
                Io::ConnectionRefused
                    | Io::HostUnreachable
                    | Io::NetworkUnreachable
                    | Io::NetworkDown
                    | Io::AddrNotAvailable
                    | Io::NotConnected
                    // Of a Unix socket.
                    | Io::NotFound
                    | Io::PermissionDenied
            ) || error.to_string().starts_with(LOOKUP_FAILED)
        }
        _ => false,
    }
}
