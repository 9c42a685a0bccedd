//! Lanes: each carries one exchange at a time, so that ending one ends nothing else.
//!
//! A lane is a kept connection. An exchange takes one from the free list; it goes back when the body was read to its end. To end an exchange
//! from another thread its lane is shut down, which a blocked read notices at once, and the lane is forgotten.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use ureq::config::Config;
use ureq::http::{Method, Request, Response, Uri};
#[cfg(feature = "tls")]
use ureq::tls::TlsConfig;
use ureq::unversioned::transport::ShutdownHandle;
use ureq::{Agent, Error, Proxy};

use super::dial::Dialing;
use super::exchange::{BUFFER, Line};
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
/// Who we are, to servers and proxies.
pub(super) const USER_AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

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
    pub(super) error: Error,
    /// Whether the request can have had an effect.
    pub(super) sent: bool,
}

pub(super) struct Lanes {
    /// The one that was used last stands last; and when that was. Each is large, and handed on often.
    free: Mutex<VecDeque<(Box<Lane>, Instant)>>,
    connect_timeout: Duration,
    dialing: Arc<Dialing>,
}

pub(super) struct Lane {
    pub(super) line: Line,
    brake: Arc<Brake>,
    pub(super) buffer: Vec<u8>,
}

/// What ends the exchange on a lane.
///
/// Once it was pulled, nobody gets a connection for the lane any more: both happens under the lock.
#[derive(Default)]
struct Brake(Mutex<Held>);

#[derive(Default)]
struct Held {
    was_pulled: bool,
    connection: Option<Weak<dyn ShutdownHandle>>,
}

impl Brake {
    fn hold(&self, connection: Weak<dyn ShutdownHandle>) -> Result<(), Error> {
        let mut held = lock(&self.0);
        if held.was_pulled {
            return Err(io::Error::from(io::ErrorKind::NotConnected).into());
        }
        held.connection = Some(connection);
        Ok(())
    }

    fn pull(&self) {
        let mut held = lock(&self.0);
        held.was_pulled = true;
        let connection = held.connection.take();
        drop(held);
        if let Some(connection) = connection.and_then(|connection| connection.upgrade()) {
            connection.shutdown();
        }
    }
}

impl Lanes {
    pub(super) fn new(route: Route) -> Self {
        let connect_timeout = route.connect_timeout;
        Self {
            free: Mutex::default(),
            connect_timeout,
            dialing: Arc::new(Dialing::new(route.config())),
        }
    }

    pub(super) fn take(&self) -> Box<Lane> {
        let last = lock(&self.free).pop_back();
        let Some((mut lane, since)) = last else {
            return Box::new(Lane {
                line: Line::default(),
                brake: Arc::default(),
                buffer: vec![0; BUFFER],
            });
        };
        if about_now().saturating_duration_since(since) > IDLE {
            lane.line.close();
        }
        lane
    }

    /// The last exchange was read to its end: another one may follow. What was not needed for long is let go of meanwhile.
    pub(super) fn put(&self, lane: Box<Lane>) {
        let now = about_now();
        let mut free = lock(&self.free);
        free.push_back((lane, now));
        let is_old =
            |(_, since): &(Box<Lane>, Instant)| now.saturating_duration_since(*since) > IDLE;
        let has_surplus = free.len() > KEPT || free.front().is_some_and(is_old);
        let surplus = if has_surplus { free.pop_front() } else { None };
        drop(free);
        drop(surplus);
    }

    pub(super) fn clear(&self) {
        let free = std::mem::take(&mut *lock(&self.free));
        drop(free);
    }

    /// Sends a request on a lane and waits for the head of the response. Connecting may take until `deadline`, at most as long as is set.
    pub(super) fn run(
        &self,
        lane: &mut Lane,
        request: Request<()>,
        text: &[u8],
        deadline: Option<Instant>,
    ) -> Result<Response<()>, Failed> {
        let is_post = request.method() == Method::POST;
        let mut has_sent = false;
        let connected = self.connect(lane, request.uri(), deadline);
        let done = connected.and_then(|()| lane.line.ask(request, text, &mut has_sent));
        done.map_err(|error| Failed {
            sent: match is_post {
                // Without its body a request is none.
                true => has_sent && !is_refused(&error),
                false => !is_before_sending(&error),
            },
            error,
        })
    }

    /// Sees to it that a lane leads to the server.
    fn connect(&self, lane: &mut Lane, uri: &Uri, deadline: Option<Instant>) -> Result<(), Error> {
        if lane.line.is_open() {
            return Ok(());
        }
        lane.line.close();
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // A little later: whose time has passed then is clear.
        let left = left.map(|left| left + Duration::from_millis(5));
        let span = left.map_or(self.connect_timeout, |left| left.min(self.connect_timeout));
        let brake = Arc::clone(&lane.brake);
        let hold = Arc::new(move |connection| brake.hold(connection));
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

impl Lane {
    /// What ends the exchange on this lane from another thread.
    pub(super) fn brake(&self) -> impl FnOnce() + Send + 'static {
        let brake = Arc::clone(&self.brake);
        move || brake.pull()
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes")
            .field("free", &lock(&self.free).len())
            .finish_non_exhaustive()
    }
}

/// Whether the server refused the connection before it read anything.
fn is_refused(error: &Error) -> bool {
    match error {
        #[cfg(feature = "tls")]
        Error::Io(error) => matches!(tls::fault(error), Some(tls::Fault::Refused(_))),
        _ => false,
    }
}

/// Whether a request without a body can't have been sent when this went wrong.
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
            ) || error.to_string().starts_with(LOOKUP_FAILED)
        }
        _ => false,
    }
}
