//! The limits and the statistics of a listener.

use std::time::Duration;

use crate::transport::Threads;
use crate::transport::http::Network;

/// Limits of a listener. Each has a defined answer when it is reached. A refused connection gets an
/// HTTP error and is closed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpLimits {
    /// How many connections may be open. Defaults to 24 000, and never exceeds seven eighths of the
    /// process's descriptor limit.
    ///
    /// Clients that have few connections may exceed it a little: see
    /// [`reserve_percent`](Self::reserve_percent). At the limit, a connection without a request in
    /// flight is closed to make room. It is one of the client that has most: first those without a
    /// byte, then those idle longest. If none can be closed, the new connection is answered with
    /// 503.
    pub max_connections: usize,
    /// How many requests may be served at once, each on its own thread. Defaults to 64.
    ///
    /// One client alone may use all of them. Clients that hold few threads may exceed the limit a
    /// little: see [`reserve_percent`](Self::reserve_percent). Further requests wait; the client
    /// that holds fewest threads is served first. Requests that the service calls
    /// [quick](crate::transport::http::Service::is_quick) don't wait: one extra thread serves them.
    /// Responses that are kept open after the service has returned do not count.
    pub max_workers: usize,
    /// How many requests may wait for a thread. Defaults to 256. At the limit, the newest request
    /// of the client that has most of them waiting is answered with 503.
    pub max_waiting: usize,
    /// How much of a shared resource one client may hold while others want some, in percent:
    /// connections, threads and sessions. Defaults to 50.
    ///
    /// Up to its part, a client may displace the idle resources of others. Beyond it, only its own.
    pub part_percent: usize,
    /// A reserve beyond the limits for clients that hold little, in percent of each limit. Defaults
    /// to 12; 0 means no reserve.
    ///
    /// It applies to connections, threads and bytes of unfinished bodies. Unless it is 0, it has at
    /// least two threads, and space for two bodies. A client that uses the reserve holds no more
    /// than is left free of it, and no more than its part.
    pub reserve_percent: usize,
    /// The reverse proxies whose `Forwarded` (RFC 7239) or `X-Forwarded-For` fields are trusted.
    /// Defaults to none: then a proxy counts as one client.
    ///
    /// The client is the last address that is not one of these proxies. If the field can't be
    /// parsed, the client is the proxy. Threads and sessions are shared by that client address;
    /// connections are counted for the proxy.
    pub trusted_proxies: Vec<Network>,
    /// The longest request line with its header fields, in bytes. Defaults to 32 KiB. A longer head
    /// is answered with 431, or with 414 if the request line alone is too long.
    pub max_head_bytes: usize,
    /// How many header fields a request may have. Defaults to 128; values above 256 act as 256. A
    /// request with more is answered with 431.
    pub max_fields: usize,
    /// The longest body, in bytes without its transfer coding. Defaults to 16 MiB. A longer one is
    /// answered with 413.
    ///
    /// All unfinished bodies together may take [`max_workers`](Self::max_workers) times this.
    /// Beyond that, large ones are answered with 503, except those of clients that hold little: see
    /// [`reserve_percent`](Self::reserve_percent).
    pub max_body_bytes: usize,
    /// How many bytes of a streamed body may wait for a client that does not read. Defaults to
    /// 256 KiB. At the limit, writes wait or report that there is no room.
    ///
    /// One piece is always accepted, whatever its size. So is a whole response; see
    /// [`max_unsent_bytes`](Self::max_unsent_bytes).
    pub max_stream_bytes: usize,
    /// How many bytes may wait for all clients together that do not read, whole responses included.
    /// Defaults to 256 MiB.
    ///
    /// Beyond it, connections are reset: first those with the most unread bytes that have read
    /// nothing for longest.
    pub max_unsent_bytes: usize,
    /// How long a new connection may take until its first byte. Defaults to 10 s, and never exceeds
    /// [`keep_alive`](Self::keep_alive) unless that disables keep-alive. Then it is closed.
    pub first_byte_timeout: Duration,
    /// How long a head may take from its first byte. Defaults to 10 s. A slower one is answered
    /// with 408.
    pub head_timeout: Duration,
    /// How long a body may arrive more slowly than [`min_body_rate`](Self::min_body_rate), or not
    /// at all. Defaults to 10 s. A slower one is answered with 408, however fast it was before.
    pub body_timeout: Duration,
    /// The slowest rate of a body, in bytes per second. Defaults to 1 024; 0 acts as 1. See
    /// [`body_timeout`](Self::body_timeout).
    pub min_body_rate: usize,
    /// How long a client may read nothing of the bytes that wait for it. Defaults to 30 s. Then its
    /// connection is reset.
    pub write_timeout: Duration,
    /// How long a connection may stay idle between requests. Defaults to 75 s. Then it is closed.
    ///
    /// Some clients do not retry when this close crosses their next request. For them, choose a
    /// time longer than the clients' own idle timeout, which is often 4 to 5 s.
    ///
    /// Below 10 ms, keep-alive is disabled: each response has `Connection: close`, so no client
    /// sends a request on a connection that is being closed.
    pub keep_alive: Duration,
    /// Stack size, names and hooks of the listener's threads. The listener of a
    /// [server](crate::server::Server) uses those of the server.
    pub threads: Threads,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: 24_000,
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

/// The shortest [`keep_alive`](HttpLimits::keep_alive) with which connections are kept.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_millis(10);

impl HttpLimits {
    /// Whether a connection may serve more than one request.
    pub(super) fn keeps_connections(&self) -> bool {
        self.keep_alive >= SHORTEST_KEEP_ALIVE
    }

    /// Returns how long a connection may stay silent before its first request.
    pub(super) fn until_first_byte(&self) -> Duration {
        if self.keeps_connections() {
            self.first_byte_timeout.min(self.keep_alive)
        } else {
            self.first_byte_timeout
        }
    }

    /// Returns `part_percent` of a limit: at least 1.
    pub(crate) fn part_of(&self, bound: usize) -> usize {
        percent_of(self.part_percent, bound).max(1)
    }

    /// Returns `reserve_percent` of a limit.
    pub(super) fn reserve_of(&self, bound: usize) -> usize {
        percent_of(self.reserve_percent, bound)
    }
}

/// Returns `percent` percent of `bound`, rounded up.
fn percent_of(percent: usize, bound: usize) -> usize {
    let part = bound as u128 * percent as u128;
    usize::try_from(part.div_ceil(100)).unwrap_or(usize::MAX)
}

/// Current counts of a listener, and totals since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpStats {
    /// Open connections, including those in lingering close.
    pub connections: usize,
    /// Connections without a request in flight.
    pub idle: usize,
    /// Connections with a request in flight: it is being served, or its response is open or not yet
    /// read completely.
    pub in_hand: usize,
    /// Connections in `in_hand` whose response is a stream that has begun.
    pub streams: usize,
    /// Bytes that wait because clients have not read them yet.
    pub unsent: usize,
    /// Connections with input, and requests, that wait for a thread.
    pub waiting: usize,
    /// Worker threads, busy or idle. The extra priority worker, which only reads while all others
    /// run handlers, does not count.
    pub workers: usize,
    /// Connections accepted so far.
    pub accepted: u64,
    /// Connections and requests refused so far because they were malformed or exceeded a limit.
    pub refused: u64,
    /// Connections without a request in flight that were closed so far to make room for others.
    pub displaced_connections: u64,
    /// Waiting requests that were answered with 503 so far to make room for those of other clients.
    /// They also count as refused.
    pub displaced_requests: u64,
    /// Idle sessions that were ended so far to make room for others. Only for a
    /// [server](crate::server::http::HttpServer).
    pub displaced_sessions: u64,
}
