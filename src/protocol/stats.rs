//! Counters of a connection.

use std::sync::atomic::{AtomicU64, Ordering};

/// A snapshot of a connection's counters. The counts start at its opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls of ours that wait for an answer.
    pub calls_in_flight: usize,
    /// Active requests of the peer.
    pub requests_in_hand: usize,
    /// Bytes that wait to be written.
    pub queued_bytes: usize,
    /// Threads of the connection.
    pub threads: usize,
    /// Answers that arrived after their caller had given up.
    pub late_responses: u64,
    /// Answers to ids that were never used.
    pub unknown_responses: u64,
    /// Lines that are not JSON, such as banners and stray output of the peer.
    pub noise: u64,
    /// Messages that are JSON but not valid messages.
    pub malformed: u64,
    /// Messages that exceeded
    /// [`Limits::max_message_bytes`](crate::transport::Limits::max_message_bytes).
    pub too_long: u64,
    /// Requests answered "busy".
    pub refused_busy: u64,
    /// Notifications dropped because too many were queued.
    pub dropped_notifications: u64,
    /// Progress messages replaced by newer ones.
    pub merged_progress: u64,
    /// Responses currently in a client's cache, including those of other clients that share its
    /// [`ResponseCache`](crate::client::ResponseCache).
    pub cached_responses: usize,
    /// Bytes of these responses and their requests.
    pub cached_bytes: usize,
    /// Requests of a client answered from the cache.
    pub cache_hits: u64,
    /// Requests of a client that could have been answered from the cache, but had no usable entry
    /// or bypassed it.
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
