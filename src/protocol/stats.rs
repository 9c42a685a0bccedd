//! What happened on a connection, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// A snapshot of a connection's counters. The counts start at its opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls of ours that wait for an answer.
    pub calls_in_flight: usize,
    /// Requests of the peer that are in hand.
    pub requests_in_hand: usize,
    /// Bytes that wait to be written.
    pub queued_bytes: usize,
    /// Threads of the connection.
    pub threads: usize,
    /// Answers that came after their caller had given up.
    pub late_responses: u64,
    /// Answers to ids that were never used.
    pub unknown_responses: u64,
    /// Lines that are no JSON: banners and stray prints of the peer.
    pub noise: u64,
    /// Messages that are JSON and yet no message.
    pub malformed: u64,
    /// Messages that exceeded [`Limits::max_message_bytes`](crate::transport::Limits::max_message_bytes).
    pub too_long: u64,
    /// Requests answered "busy".
    pub refused_busy: u64,
    /// Notifications dropped because too many waited.
    pub dropped_notifications: u64,
    /// Progress messages that gave way to newer ones.
    pub merged_progress: u64,
    /// Responses that a client keeps at the moment, with all that share its [`ResponseCache`](crate::client::ResponseCache).
    pub cached_responses: usize,
    /// Bytes of these responses and their requests.
    pub cached_bytes: usize,
    /// Requests of a client that a kept response answered.
    pub cache_hits: u64,
    /// Requests of a client whose response could have been kept, and was not there or not wanted.
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
