//! Upper bounds of a listener, and what it says of itself.

use std::time::Duration;

use crate::transport::Threads;
use crate::transport::http::Network;

/// Upper bounds of a listener. Each has a defined answer when it is hit; a connection that is refused is told why and closed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpLimits {
    /// How many connections may be open. Defaults to 24 000, and never more than seven eighths of
    /// the descriptors that the process may have. Clients that hold few connections may have some
    /// more: see [`reserve_percent`](Self::reserve_percent). When all are taken, a connection
    /// without a request in hand is closed to make room: one of the client that has most, those
    /// without a byte first, then those that are idle for longest. When none gives way, the next
    /// connection is answered with 503.
    pub max_connections: usize,
    /// How many requests may be served at once, each on a thread of its own. Defaults to 64. One
    /// client alone may have all of them; clients that hold few threads may have some more: see
    /// [`reserve_percent`](Self::reserve_percent). The next requests wait, and the client that has
    /// fewest threads is the next to get one. Requests that the service calls
    /// [quick](crate::transport::http::Service::is_quick) don't wait: one more thread serves these
    /// meanwhile. Responses that were kept to be ended later do not count.
    pub max_workers: usize,
    /// How many requests may wait for a thread. Defaults to 256. Beyond that the last request of
    /// the client that has most of them waiting is answered with 503.
    pub max_waiting: usize,
    /// How much of what clients share one of them may hold while others want some: connections,
    /// threads and sessions, in percent. Defaults to 50. A client displaces what others have left
    /// idle only up to its part; beyond it, only what is its own.
    pub part_percent: usize,
    /// How many connections, threads and bytes of unfinished bodies there may be beyond the bounds
    /// of these, in percent of the bounds, for clients that hold few. Defaults to 12; zero for
    /// none. Otherwise there are at least two threads, and room for two bodies. A client that uses
    /// the reserve holds no more than is free of it, and no more than its part.
    pub reserve_percent: usize,
    /// The proxies that are believed when they tell for which address a request is, in the field
    /// `Forwarded` (RFC 7239) or `X-Forwarded-For`. Defaults to none: then a proxy is one client.
    /// The client is the last address that is not one of these proxies; where it can't be
    /// understood, it is the proxy. Threads and sessions are divided by it; connections are those
    /// of the proxy.
    pub trusted_proxies: Vec<Network>,
    /// Longest request line with its header fields, in bytes. Defaults to 32 KiB. A longer one is
    /// answered with 431, or with 414 when the request line alone exceeds it.
    pub max_head_bytes: usize,
    /// How many header fields a request may have. Defaults to 128; more than 256 are never taken.
    /// More are answered with 431.
    pub max_fields: usize,
    /// Longest body, in bytes and without its transfer coding. Defaults to 16 MiB. A longer one is
    /// answered with 413. Bodies that are not whole yet may take so much for each of
    /// [`max_workers`](Self::max_workers) together; beyond that large ones are answered with 503,
    /// but for those of clients that hold little: see [`reserve_percent`](Self::reserve_percent).
    pub max_body_bytes: usize,
    /// How many bytes of a body that comes in pieces may wait for a client that does not read. Defaults to 256 KiB. One piece is always
    /// taken, whatever its size, and so is a whole response; see [`max_unsent_bytes`](Self::max_unsent_bytes).
    pub max_stream_bytes: usize,
    /// How many bytes may wait for all clients that do not read, whole responses included. Defaults to 256 MiB. Beyond that connections are
    /// broken off, those first for which most waits and which have read nothing of it for longest.
    pub max_unsent_bytes: usize,
    /// How long a new connection may take until its first byte. Defaults to 10 s, and never longer
    /// than a [`keep_alive`](Self::keep_alive) that keeps connections. Then it is closed.
    pub first_byte_timeout: Duration,
    /// How long a head may take from its first byte. Defaults to 10 s. A slower one is answered with 408.
    pub head_timeout: Duration,
    /// How long a body may come slower than [`min_body_rate`](Self::min_body_rate), or not at all. Defaults to 10 s. One that does so for
    /// longer is answered with 408, however fast it came before.
    pub body_timeout: Duration,
    /// How fast a body has to come, in bytes a second. Defaults to 1 024; zero is taken for one.
    pub min_body_rate: usize,
    /// How long a client may read nothing of what waits for it. Defaults to 30 s. Then its connection is broken off.
    pub write_timeout: Duration,
    /// How long a connection may stay without a request. Defaults to 75 s. Then it is closed. Clients that don't try again when that
    /// crosses their next request want it longer than they keep connections themselves, often 4 to 5 s.
    /// Below 10 ms connections are not kept: each response says `Connection: close`, so that no
    /// client sends a request into a connection that is being closed.
    pub keep_alive: Duration,
    /// What the threads of the listener are like. A [server](crate::server::Server)'s listener has those of the server.
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
    /// Whether a connection may serve a second request.
    pub(super) fn keeps_connections(&self) -> bool {
        self.keep_alive >= SHORTEST_KEEP_ALIVE
    }

    /// How long a connection that has had no request may stay silent.
    pub(super) fn until_first_byte(&self) -> Duration {
        if self.keeps_connections() {
            self.first_byte_timeout.min(self.keep_alive)
        } else {
            self.first_byte_timeout
        }
    }

    /// So many percent of a bound, as they are set for parts: at least one.
    pub(crate) fn part_of(&self, bound: usize) -> usize {
        percent_of(self.part_percent, bound).max(1)
    }

    /// What there is beyond a bound for clients that hold few.
    pub(super) fn reserve_of(&self, bound: usize) -> usize {
        percent_of(self.reserve_percent, bound)
    }
}

/// So many percent, rounded up.
fn percent_of(percent: usize, bound: usize) -> usize {
    let part = bound as u128 * percent as u128;
    usize::try_from(part.div_ceil(100)).unwrap_or(usize::MAX)
}

/// What a listener has to do at the moment, and what it has refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpStats {
    /// Open connections, those included that are only being closed.
    pub connections: usize,
    /// Connections without a request in hand.
    pub idle: usize,
    /// Connections with a request in hand: being served, or with a response that was kept or is not yet read.
    pub in_hand: usize,
    /// Those of them whose response comes in pieces and has begun.
    pub streams: usize,
    /// How many bytes wait for clients that have not read them yet.
    pub unsent: usize,
    /// Connections with something to read, and requests, that wait for a thread.
    pub waiting: usize,
    /// Threads that serve requests, or would. One that only reads while all others serve does not
    /// count.
    pub workers: usize,
    /// Connections accepted so far.
    pub accepted: u64,
    /// Connections and requests that were refused because they are malformed or hit a limit.
    pub refused: u64,
    /// Connections without a request in hand that were closed so far to make room for others.
    pub displaced_connections: u64,
    /// Requests that waited and were answered with 503 so far to make room for those of other
    /// clients. They count as refused, too.
    pub displaced_requests: u64,
    /// Idle sessions that were ended so far to make room for others. Of a
    /// [server](crate::server::http::HttpServer) only.
    pub displaced_sessions: u64,
}
