//! Upper bounds of a listener, and what it says of itself.

use std::time::Duration;

use crate::transport::Threads;

/// Upper bounds of a listener. Each has a defined answer when it is hit; a connection that is refused is told why and closed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpLimits {
    /// How many connections may be open. Defaults to 1 024. The next one is answered with 503.
    pub max_connections: usize,
    /// How many requests may be served at once, each on a thread of its own. Defaults to 64. The next ones wait, but for those that the
    /// service calls [quick](crate::transport::http::Service::is_quick): one more thread serves these meanwhile. Responses that were kept to be
    /// ended later do not count.
    pub max_workers: usize,
    /// How many connections with something to read may wait for a thread, and as many again whose request is known to wait for one of
    /// [`max_workers`](Self::max_workers). Defaults to 256. The next one is answered with 503.
    pub max_waiting: usize,
    /// Longest request line with its header fields, in bytes. Defaults to 16 KiB. A longer one is answered with 431, or with 414 when the
    /// request line alone exceeds it.
    pub max_head_bytes: usize,
    /// How many header fields a request may have. Defaults to 64; more than 256 are never taken. More are answered with 431.
    pub max_fields: usize,
    /// Longest body, in bytes and without its transfer coding. Defaults to 16 MiB. A longer one is answered with 413. Bodies that are not
    /// whole yet may take so much for each of [`max_workers`](Self::max_workers) together; beyond that large ones are answered with 503.
    pub max_body_bytes: usize,
    /// How many bytes of a body that comes in pieces may wait for a client that does not read. Defaults to 256 KiB. One piece is always
    /// taken, whatever its size, and so is a whole response; see [`max_unsent_bytes`](Self::max_unsent_bytes).
    pub max_stream_bytes: usize,
    /// How many bytes may wait for all clients that do not read, whole responses included. Defaults to 256 MiB. Beyond that connections are
    /// broken off, those first for which most waits and which have read nothing of it for longest.
    pub max_unsent_bytes: usize,
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
    pub keep_alive: Duration,
    /// What the threads of the listener are like. A [server](crate::server::Server)'s listener has those of the server.
    pub threads: Threads,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_workers: 64,
            max_waiting: 256,
            max_head_bytes: 16 << 10,
            max_fields: 64,
            max_body_bytes: 16 << 20,
            max_stream_bytes: 256 << 10,
            max_unsent_bytes: 256 << 20,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(10),
            min_body_rate: 1024,
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(75),
            threads: Threads::default(),
        }
    }
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
    /// Connections with something to read that wait for a thread.
    pub waiting: usize,
    /// Threads that serve requests, or would.
    pub workers: usize,
    /// Connections accepted so far.
    pub accepted: u64,
    /// Connections and requests that were refused because they are malformed or hit a limit.
    pub refused: u64,
}
