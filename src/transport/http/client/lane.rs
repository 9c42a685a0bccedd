//! Lanes: each carries one exchange at a time, so that ending one ends nothing else.
//!
//! A lane is an HTTP agent with one kept connection. An exchange takes one from the free list; it goes back when the body was read to its
//! end. To end an exchange from another thread its lane is shut down, which a blocked read notices at once, and the lane is forgotten.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ureq::http::{HeaderValue, Method, Request, Response, Uri};
#[cfg(feature = "tls")]
use ureq::tls::TlsConfig;
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, AsSendBody, Body, Proxy, SendBody};

use super::gather::Gathering;
use super::lookup::{Dialing, Later};
#[cfg(feature = "tls")]
use super::tls;
use crate::transport::clock::about_now;
use crate::transport::lock;

/// So many lanes are kept. When as many threads call at once as there are lanes, a few are free at a time.
const KEPT: usize = 32;
/// A connection that was quiet for longer is not used again: many servers close one after 5 s, and a request that meets that is lost.
const IDLE: Duration = Duration::from_secs(4);
/// How the standard library's error begins when a name can't be looked up; it has no kind of its own.
const LOOKUP_FAILED: &str = "failed to lookup address information";
/// Of each buffer of a connection.
const BUFFER: usize = 16 << 10;

/// How lanes reach the server.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) connect_timeout: Duration,
    pub(super) proxy: Option<Proxy>,
    #[cfg(feature = "tls")]
    pub(super) tls: TlsConfig,
}

/// Why a request has no response.
pub(super) struct Failed {
    pub(super) error: ureq::Error,
    /// Whether the request can have had an effect.
    pub(super) sent: bool,
}

pub(super) struct Lanes {
    /// The one that was used last stands last; and when that was.
    free: Mutex<VecDeque<(Lane, Instant)>>,
    route: Route,
    connector: Arc<DefaultConnector>,
}

pub(super) struct Lane {
    agent: Agent,
    /// Whether something of the current request has left.
    has_sent: Arc<AtomicBool>,
    pub(super) buffer: Vec<u8>,
}

impl Lanes {
    pub(super) fn new(route: Route) -> Self {
        Self {
            free: Mutex::default(),
            route,
            connector: Arc::default(),
        }
    }

    pub(super) fn take(&self) -> Lane {
        let last = lock(&self.free).pop_back();
        last.map_or_else(|| self.build(), |(lane, _)| lane)
    }

    /// The last exchange was read to its end: another one may follow. What was not needed for long is let go of meanwhile.
    pub(super) fn put(&self, lane: Lane) {
        let now = about_now();
        let mut free = lock(&self.free);
        free.push_back((lane, now));
        let is_old = |(_, since): &(Lane, Instant)| now.saturating_duration_since(*since) > IDLE;
        let has_surplus = free.len() > KEPT || free.front().is_some_and(is_old);
        let surplus = if has_surplus { free.pop_front() } else { None };
        drop(free);
        drop(surplus);
    }

    pub(super) fn clear(&self) {
        let free = std::mem::take(&mut *lock(&self.free));
        drop(free);
    }

    fn build(&self) -> Lane {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(self.route.proxy.clone())
            .no_delay(true)
            .accept_encoding("")
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .max_response_header_size(64 << 10)
            .max_idle_connections(1)
            .max_idle_connections_per_host(1)
            .max_idle_age(IDLE)
            .timeout_connect(Some(self.route.connect_timeout));
        #[cfg(feature = "tls")]
        let config = config.tls_config(self.route.tls.clone());
        let has_sent = Arc::default();
        let connector = Dialing::new(&self.connector).chain(Gathering {
            has_sent: Arc::clone(&has_sent),
            has_proxy: self.route.proxy.is_some(),
        });
        Lane {
            agent: Agent::with_parts(config.build(), connector, Later),
            has_sent,
            buffer: vec![0; BUFFER],
        }
    }

    /// Sends a request on a lane and waits for the head of the response. Connecting may take until `deadline`, at most as long as is set.
    pub(super) fn run(
        &self,
        lane: &Lane,
        request: Request<&[u8]>,
        deadline: Option<Instant>,
    ) -> Result<Response<Body>, Failed> {
        let (mut head, text) = request.into_parts();
        if head.method != Method::POST {
            let done = self.carry(lane, Request::from_parts(head, ()), deadline);
            return done.map_err(|error| Failed {
                sent: !is_before_sending(&error),
                error,
            });
        }
        head.headers
            .insert("content-length", HeaderValue::from(text.len()));
        let mut text = Text {
            rest: text,
            is_taken: false,
        };
        let body = SendBody::from_reader(&mut text);
        lane.has_sent.store(false, Ordering::Relaxed);
        let done = self.carry(lane, Request::from_parts(head, body), deadline);
        done.map_err(|error| Failed {
            // Without its body a request is none.
            sent: text.is_taken && lane.has_sent.load(Ordering::Relaxed) && !is_refused(&error),
            error,
        })
    }

    fn carry(
        &self,
        lane: &Lane,
        request: Request<impl AsSendBody>,
        deadline: Option<Instant>,
    ) -> Result<Response<Body>, ureq::Error> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // A little later: whose time has passed then is clear.
        let span = left.map(|left| left + Duration::from_millis(5));
        let Some(span) = span.filter(|span| *span < self.route.connect_timeout) else {
            return lane.agent.run(request);
        };
        let request = lane.agent.configure_request(request);
        lane.agent.run(request.timeout_connect(Some(span)).build())
    }
}

/// The body of a request, which is taken when there is a connection and the head has been sent.
struct Text<'a> {
    rest: &'a [u8],
    is_taken: bool,
}

impl Read for Text<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_taken = true;
        self.rest.read(buffer)
    }
}

impl Lane {
    /// What ends the exchange on this lane from another thread.
    pub(super) fn brake(&self) -> impl FnOnce() + Send + 'static {
        let agent = self.agent.clone();
        move || agent.shutdown()
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes")
            .field("free", &lock(&self.free).len())
            .finish_non_exhaustive()
    }
}

/// Whether two addresses have the same scheme, host and port.
pub(super) fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| {
        let usual = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        uri.port_u16().unwrap_or(usual)
    };
    let host = |uri: &Uri| uri.host().unwrap_or_default().to_ascii_lowercase();
    one.scheme_str() == other.scheme_str() && host(one) == host(other) && port(one) == port(other)
}

/// Whether the server refused the connection before it read anything.
fn is_refused(error: &ureq::Error) -> bool {
    match error {
        #[cfg(feature = "tls")]
        ureq::Error::Io(error) => matches!(tls::fault(error), Some(tls::Fault::Refused(_))),
        _ => false,
    }
}

/// Whether a request without a body can't have been sent when this went wrong.
fn is_before_sending(error: &ureq::Error) -> bool {
    use std::io::ErrorKind as Io;
    use ureq::{Error, Timeout};
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
            ) || error.to_string().starts_with(LOOKUP_FAILED)
        }
        _ => false,
    }
}
