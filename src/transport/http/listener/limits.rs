//! The limits and the statistics of a listener.

use std::time::Duration;

use crate::transport::Threads;
use crate::transport::http::Network;

/// The limits of a listener. The documentation of each limit says what happens when the limit is
/// exceeded. A refused connection gets an HTTP error and is closed.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::HttpOptions;
/// use mcplink::transport::http::HttpLimits;
///
/// let mut limits = HttpLimits::default();
/// limits.max_body_bytes = 1 << 20;
/// let options = HttpOptions::new().limits(limits);
/// options.check()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpLimits {
    /// The maximum number of open connections. Defaults to 24 000. The number never exceeds seven
    /// eighths of the process's descriptor limit. A server with larger limits for streams or
    /// sessions raises the default: see `HttpOptions::limits`.
    ///
    /// Clients that have few connections may exceed the limit a little: see
    /// [`reserve_percent`](Self::reserve_percent). At the limit, a connection without a request in
    /// flight is closed to make space. The client with the most connections loses one. Connections
    /// that have sent no byte are closed first, then those that were idle longest. If no connection
    /// can be closed, the new connection is answered with 503.
    pub max_connections: usize,
    /// The maximum number of requests that are served at once, each on its own thread. Defaults to
    /// 64.
    ///
    /// A single client may use all of these threads. Clients that hold few threads may exceed the
    /// limit a little: see [`reserve_percent`](Self::reserve_percent). Further requests wait; the
    /// client that holds the fewest threads is served first. Requests that the service calls
    /// [quick](crate::transport::http::Service::is_quick) don't wait: one extra thread serves them.
    /// Responses that are kept open after the service has returned do not count. Requests whose
    /// clients have gone count separately: up to [`max_waiting`](Self::max_waiting) of them may be
    /// served at once, until the service returns.
    pub max_workers: usize,
    /// The maximum number of requests that may wait for a thread. Defaults to 256. At the limit,
    /// the newest request of the client with the most waiting requests is answered with 503.
    pub max_waiting: usize,
    /// The maximum share of a resource that one client may hold while other clients need some of
    /// it. The share is in percent of the resource's limit, and defaults to 50. The shared
    /// resources are connections, threads and sessions.
    ///
    /// A client below its share may displace idle resources of other clients. A client that has
    /// reached its share can displace only its own resources.
    pub part_percent: usize,
    /// The size of a reserve beyond each limit, in percent of the limit. The reserve is for clients
    /// that hold little of a resource. Defaults to 12; 0 means no reserve.
    ///
    /// The reserve applies to connections, threads and bytes of unfinished bodies. Unless the
    /// setting is 0, the reserve has at least two threads, and space for two bodies. A client may
    /// use the reserve only as long as it holds no more of the resource than is free. Even then it
    /// may hold at most its share ([`part_percent`](Self::part_percent)).
    pub reserve_percent: usize,
    /// The reverse proxies whose `Forwarded` (RFC 7239) or `X-Forwarded-For` fields are trusted. By
    /// default no proxy is trusted: then all clients behind a proxy count as one client.
    ///
    /// The client is the last address that is not a trusted proxy. If the field can't be parsed,
    /// the client is the proxy. Threads and sessions are shared by this client address. Connections
    /// are counted for the proxy.
    pub trusted_proxies: Vec<Network>,
    /// The maximum length of the request line with its header fields, in bytes. Defaults to 32 KiB.
    /// A longer head is answered with 431, or with 414 if the request line alone is too long.
    pub max_head_bytes: usize,
    /// The maximum number of header fields of a request. Defaults to 128; values above 256 act as
    /// 256. A request with more fields is answered with 431.
    pub max_fields: usize,
    /// The maximum length of a request body, in bytes without its transfer coding. Defaults to 16
    /// MiB. A request with a longer body is answered with 413.
    ///
    /// All unfinished bodies together may take [`max_workers`](Self::max_workers) times this limit.
    /// Beyond that, requests with large bodies are answered with 503. Clients that hold little may
    /// use a reserve: see [`reserve_percent`](Self::reserve_percent).
    pub max_body_bytes: usize,
    /// The maximum number of bytes of a streamed body that may wait until the client reads.
    /// Defaults to 256 KiB. At the limit, writes block, or report that there is no space.
    ///
    /// If no bytes wait, one piece of any size is accepted. A whole response of any size is
    /// accepted too: see [`max_unsent_bytes`](Self::max_unsent_bytes).
    pub max_stream_bytes: usize,
    /// The maximum number of bytes that may wait, for all clients together, until the clients read.
    /// Bytes of whole responses count too. Defaults to 256 MiB.
    ///
    /// Beyond this limit, connections are reset. Each connection has a cost: its unread bytes times
    /// the time since the client last read. The address whose connections cost most together loses
    /// connections first, and among them the connections with the highest cost first.
    pub max_unsent_bytes: usize,
    /// The maximum time from the start of a connection to its first byte. After that the connection
    /// is closed. Defaults to 10 s. The time never exceeds [`keep_alive`](Self::keep_alive), unless
    /// that setting disables keep-alive.
    pub first_byte_timeout: Duration,
    /// The maximum time from the first byte of a head to its end. Defaults to 10 s. A request with
    /// a slower head is answered with 408.
    pub head_timeout: Duration,
    /// The maximum time during which a body may arrive more slowly than
    /// [`min_body_rate`](Self::min_body_rate), or not at all. Defaults to 10 s. A request with a
    /// slower body is answered with 408, even if an earlier part of the body arrived faster.
    pub body_timeout: Duration,
    /// The minimum rate at which a request body arrives, in bytes per second. Defaults to 1 024; 0
    /// acts as 1. [`body_timeout`](Self::body_timeout) limits the time below this rate.
    pub min_body_rate: usize,
    /// The maximum time during which a client reads none of the bytes that wait for it. Defaults to
    /// 30 s. After that the client's connection is reset.
    pub write_timeout: Duration,
    /// The maximum idle time of a connection between requests. Defaults to 75 s. After that the
    /// connection is closed.
    ///
    /// Some clients do not retry a request that they send while the connection is being closed. For
    /// these clients, choose a time longer than the idle timeout of the clients, which is often 4
    /// to 5 s.
    ///
    /// A time below 10 ms disables keep-alive: each response has `Connection: close`. Therefore no
    /// client sends a request on a connection that is being closed.
    pub keep_alive: Duration,
    /// The stack size, names and hooks of the listener's threads. The listener of a
    /// [server](crate::server::Server) uses the thread settings of the server.
    pub threads: Threads,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: Self::DEFAULT_CONNECTIONS,
            max_workers: 64,
            max_waiting: 256,
            part_percent: 50,
            reserve_percent: 12,
            trusted_proxies: Vec::new(),
            max_head_bytes: 32 << 10,
            max_fields: 128,
            max_body_bytes: 16 << 20,
            max_stream_bytes: 256 << 10,
            max_unsent_bytes: 256 << 20,
            first_byte_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(10),
            min_body_rate: 1024,
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(75),
            threads: Threads::default(),
        }
    }
}

/// The minimum of [`keep_alive`](HttpLimits::keep_alive). A shorter time disables keep-alive.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_millis(10);

impl HttpLimits {
    /// The default of [`max_connections`](Self::max_connections).
    pub(crate) const DEFAULT_CONNECTIONS: usize = 24_000;

    /// Whether a connection may serve more than one request.
    pub(super) fn keeps_connections(&self) -> bool {
        self.keep_alive >= SHORTEST_KEEP_ALIVE
    }

    /// Returns the maximum time from the start of a connection to its first byte.
    pub(super) fn until_first_byte(&self) -> Duration {
        if self.keeps_connections() {
            self.first_byte_timeout.min(self.keep_alive)
        } else {
            self.first_byte_timeout
        }
    }

    /// Returns a client's share (`part_percent`) of a limit, but at least 1.
    pub(crate) fn part_of(&self, bound: usize) -> usize {
        percent_of(self.part_percent, bound).max(1)
    }

    /// Returns the reserve (`reserve_percent`) beyond a limit.
    pub(super) fn reserve_of(&self, bound: usize) -> usize {
        percent_of(self.reserve_percent, bound)
    }
}

/// Returns `percent` percent of `bound`, rounded up.
fn percent_of(percent: usize, bound: usize) -> usize {
    let part = bound as u128 * percent as u128;
    usize::try_from(part.div_ceil(100)).unwrap_or(usize::MAX)
}

/// The current counts of a listener, and its totals since the listener was opened.
///
/// # Examples
///
/// ```
/// use mcplink::server::Server;
/// use mcplink::server::http::HttpOptions;
///
/// let server = Server::builder("clock", "1.0").build()?;
/// let listening = server.listen_http("127.0.0.1:0", HttpOptions::new())?;
/// let stats = listening.stats();
/// assert_eq!((stats.connections, stats.refused), (0, 0));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpStats {
    /// The number of open connections, including connections in lingering close.
    pub connections: usize,
    /// The number of connections without a request in flight.
    pub idle: usize,
    /// The number of connections with a request in flight. A request is in flight while it is
    /// served, and until the client has read its complete response.
    pub in_hand: usize,
    /// The number of connections with a request in flight whose response is a stream that has
    /// begun.
    pub streams: usize,
    /// The number of bytes that wait in memory because clients have not read them yet.
    pub unsent: usize,
    /// The number of connections that wait for a thread, which has to read their input or serve
    /// their request.
    pub waiting: usize,
    /// The number of worker threads, busy or idle. One extra worker thread is not counted: the
    /// priority worker, which reads input while all other workers run handlers.
    pub workers: usize,
    /// The number of connections accepted so far.
    pub accepted: u64,
    /// The number of refused connections and requests so far. A connection is refused at a limit. A
    /// request is refused if it is malformed or too slow, or at a limit. Connections that were
    /// reset because of [`max_unsent_bytes`](HttpLimits::max_unsent_bytes) count too.
    pub refused: u64,
    /// The number of connections that were closed so far to make space for other connections. Only
    /// connections without a request in flight are closed.
    pub displaced_connections: u64,
    /// The number of waiting requests that were answered with 503 so far to make space for requests
    /// of other clients. These requests also count as refused.
    pub displaced_requests: u64,
    /// The number of idle sessions that were ended so far to make space for other sessions. Only a
    /// [server](crate::server::http::HttpServer) has sessions.
    pub displaced_sessions: u64,
}
