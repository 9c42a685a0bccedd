//! Limits of a connection, as numbers for C.

use crate::error::{Error, ErrorKind, Result};
use crate::transport::Limits;

/// A limit of each connection of a client or server. Each constant says its default, and what
/// happens when the limit is reached.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_limit {
    /// Longest message, in bytes. Default: 16 MiB. A longer message is dropped: a request is
    /// answered with an error, and a response fails its call.
    MCPLINK_LIMIT_MESSAGE_BYTES = 1,
    /// Nesting depth of arrays and objects in a message. Default: 128. A deeper message is answered
    /// with an error.
    MCPLINK_LIMIT_DEPTH = 2,
    /// Bytes that may wait for a peer that does not read. Default: 16 MiB. A caller that would
    /// exceed it blocks until its deadline.
    MCPLINK_LIMIT_QUEUED_BYTES = 3,
    /// Calls in flight. Default: 10000. The next call fails with MCPLINK_E_BUSY.
    MCPLINK_LIMIT_CALLS = 4,
    /// Requests of the peer in flight. Default: 1024. The next request is answered with a "busy"
    /// error. While the peer does not read its answers, requests are held back instead.
    MCPLINK_LIMIT_REQUESTS = 5,
    /// Calls that wait for input from a client of a revision before 2026-07-28. Default: 1024. The
    /// next call that needs input fails.
    MCPLINK_LIMIT_QUESTIONS = 6,
    /// Handlers that run at once. Default: 64. Further requests wait. Clients over HTTP without a
    /// session share these threads for tasks. The client with fewest running handlers gets the next
    /// free thread. One client may use all threads; others then use the reserve beyond this limit:
    /// see MCPLINK_LIMIT_RESERVE_PERCENT.
    MCPLINK_LIMIT_WORKERS = 7,
    /// Notifications of the peer that wait to be delivered. Default: 1024. The next one is dropped.
    MCPLINK_LIMIT_NOTIFICATIONS = 8,
    /// Subscriptions of one client. Default: 1024. The next one is refused.
    MCPLINK_LIMIT_SUBSCRIPTIONS = 9,
    /// Log messages outside of calls that wait for one client of a revision before 2026-07-28.
    /// Default: 1024. The next one is dropped for that client. Change notifications need no limit,
    /// because waiting ones are merged.
    MCPLINK_LIMIT_BACKLOG = 10,
    /// Progress and log messages of one call that wait for its callback. Default: 1024. Above the
    /// limit, progress is merged.
    MCPLINK_LIMIT_CALL_EVENTS = 11,
    /// Responses in the cache of a client, of those that servers allow to be cached. Default: 1024.
    /// The longest unused ones are evicted.
    MCPLINK_LIMIT_CACHED_RESPONSES = 12,
    /// Bytes in the cache of a client. Default: 16 MiB.
    MCPLINK_LIMIT_CACHED_BYTES = 13,
    /// How much of what the clients of a server share one of them may hold while others want some, in percent: 50. Alone it may hold all but
    /// the reserve. For connections, threads of requests and sessions see MCPLINK_HTTP_LIMIT_PART_PERCENT.
    MCPLINK_LIMIT_PART_PERCENT = 14,
    /// How much of it is kept free for clients that hold little, in percent: 12. 0 for none.
    MCPLINK_LIMIT_RESERVE_PERCENT = 15,
}

/// Sets the limit with this number.
pub(super) fn set(limits: &mut Limits, limit: i32, value: usize) -> Result<()> {
    use mcplink_limit as Limit;
    let places = [
        (
            Limit::MCPLINK_LIMIT_MESSAGE_BYTES,
            &mut limits.max_message_bytes,
        ),
        (Limit::MCPLINK_LIMIT_DEPTH, &mut limits.max_depth),
        (
            Limit::MCPLINK_LIMIT_QUEUED_BYTES,
            &mut limits.max_queued_bytes,
        ),
        (Limit::MCPLINK_LIMIT_CALLS, &mut limits.max_calls),
        (Limit::MCPLINK_LIMIT_REQUESTS, &mut limits.max_requests),
        (Limit::MCPLINK_LIMIT_QUESTIONS, &mut limits.max_questions),
        (Limit::MCPLINK_LIMIT_WORKERS, &mut limits.max_workers),
        (
            Limit::MCPLINK_LIMIT_NOTIFICATIONS,
            &mut limits.max_notifications,
        ),
        (
            Limit::MCPLINK_LIMIT_SUBSCRIPTIONS,
            &mut limits.max_subscriptions,
        ),
        (Limit::MCPLINK_LIMIT_BACKLOG, &mut limits.max_backlog),
        (
            Limit::MCPLINK_LIMIT_CALL_EVENTS,
            &mut limits.max_call_events,
        ),
        (
            Limit::MCPLINK_LIMIT_CACHED_RESPONSES,
            &mut limits.max_cached_responses,
        ),
        (
            Limit::MCPLINK_LIMIT_CACHED_BYTES,
            &mut limits.max_cached_bytes,
        ),
        (Limit::MCPLINK_LIMIT_PART_PERCENT, &mut limits.part_percent),
        (
            Limit::MCPLINK_LIMIT_RESERVE_PERCENT,
            &mut limits.reserve_percent,
        ),
    ];
    let mut places = places.into_iter();
    match places.find(|(known, _)| *known as i32 == limit) {
        Some((_, place)) => *place = value,
        None => {
            let text = format!("there is no limit {limit}: use one of enum mcplink_limit");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
    }
    Ok(())
}
