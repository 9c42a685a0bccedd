//! Lanes: each carries one exchange at a time, so that ending one ends nothing else.
//!
//! A lane is an HTTP agent with one kept connection. An exchange takes one from the free list; it goes back when the body was read to its
//! end. To end an exchange from another thread its lane is shut down, which a blocked read notices at once, and the lane is forgotten.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ureq::http::{Request, Response, Uri};
use ureq::{Agent, AsSendBody, Body, Proxy};

use crate::transport::lock;

/// So many lanes are kept.
const KEPT: usize = 8;
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
    /// The name of the host has to be looked up.
    pub(super) is_name: bool,
}

pub(super) struct Lanes {
    free: Mutex<Vec<Lane>>,
    route: Route,
}

pub(super) struct Lane {
    agent: Agent,
    pub(super) buffer: Vec<u8>,
}

impl Lanes {
    pub(super) fn new(route: Route) -> Self {
        Self {
            free: Mutex::default(),
            route,
        }
    }

    pub(super) fn take(&self) -> Lane {
        lock(&self.free).pop().unwrap_or_else(|| self.build())
    }

    /// The last exchange was read to its end: another one may follow.
    pub(super) fn put(&self, lane: Lane) {
        let mut free = lock(&self.free);
        if free.len() < KEPT {
            free.push(lane);
        }
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
            .build();
        Lane {
            agent: Agent::new_with_config(config),
            buffer: vec![0; BUFFER],
        }
    }

    /// Sends a request on a lane and waits for the head of the response. Connecting may take until `deadline`, at most as long as is set.
    pub(super) fn run(
        &self,
        lane: &Lane,
        request: Request<impl AsSendBody>,
        deadline: Option<Instant>,
    ) -> Result<Response<Body>, ureq::Error> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let span = left.map_or(self.route.connect_timeout, |left| {
            // A little later: whose time has passed then is clear.
            (left + Duration::from_millis(5)).min(self.route.connect_timeout)
        });
        let request = lane
            .agent
            .configure_request(request)
            .timeout_connect(Some(span))
            // Looking up costs a thread when it is bounded; for an address nothing is looked up.
            .timeout_resolve(self.route.is_name.then_some(span))
            .build();
        lane.agent.run(request)
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

/// Whether a request can't have been sent when this went wrong.
pub(super) fn is_before_sending(error: &ureq::Error) -> bool {
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
