//! Counters of a connection.

use std::sync::atomic::{AtomicU64, Ordering};

/// A snapshot of a connection's counters. All counters start at 0 when the connection is opened.
///
/// # Examples
///
/// ```
/// use mcplink::client::{CallOptions, Client};
/// # use mcplink::server::Server;
/// # use mcplink::transport::memory;
///
/// # let server = Server::builder("quiet", "1.0").build()?;
/// # let (here, there) = memory::pair();
/// # let connection = server.open(there)?;
/// # let client = Client::connect(here)?;
/// client.ping(CallOptions::new())?;
/// let stats = client.stats();
/// assert_eq!((stats.calls_in_flight, stats.late_responses, stats.noise), (0, 0, 0));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of calls of this side that wait for an answer.
    pub calls_in_flight: usize,
    /// The number of active requests of the peer.
    pub requests_in_flight: usize,
    /// The number of bytes that wait to be written.
    pub queued_bytes: usize,
    /// The number of threads of the connection.
    pub threads: usize,
    /// The number of answers that arrived after their caller had given up.
    pub late_responses: u64,
    /// The number of answers to request ids that were never used.
    pub unknown_responses: u64,
    /// The number of lines that are not JSON, such as banners and stray output of the peer.
    pub noise: u64,
    /// The number of messages that are JSON but not valid messages.
    pub malformed: u64,
    /// The number of messages that exceeded
    /// [`Limits::max_message_bytes`](crate::transport::Limits::max_message_bytes).
    pub too_long: u64,
    /// The number of requests that were answered with the error "busy".
    pub refused_busy: u64,
    /// The number of notifications that were dropped because too many were queued.
    pub dropped_notifications: u64,
    /// The number of progress messages that were replaced by newer ones.
    pub merged_progress: u64,
    /// The number of responses that are currently in a client's cache. Responses of other clients
    /// with the same [`ResponseCache`](crate::client::ResponseCache) are included.
    pub cached_responses: usize,
    /// The number of bytes of all cached responses and their requests.
    pub cached_bytes: usize,
    /// The number of a client's requests that were answered from the cache.
    pub cache_hits: u64,
    /// The number of a client's cacheable requests that were not answered from the cache. Either
    /// the cache had no usable entry, or the call bypassed the cache.
    pub cache_misses: u64,
}

macro_rules! counters {
    ($($name:ident),*) => {
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: AtomicU64),* }

        impl Counters {
            pub(crate) fn snapshot(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed),)* ..Stats::default() }
            }
        }
    };
}

counters!(
    late_responses,
    unknown_responses,
    noise,
    malformed,
    too_long,
    refused_busy,
    dropped_notifications,
    merged_progress
);

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
