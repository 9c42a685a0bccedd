//! Upper bounds by number.

use crate::error::{Error, ErrorKind, Result};
use crate::transport::Limits;

/// An upper bound of each connection of a client or server. What happens when it is hit is said of each.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_limit {
    /// Longest message, in bytes: 16 MiB. A longer one is dropped: a request is answered with an error, a call fails.
    MCPLINK_LIMIT_MESSAGE_BYTES = 1,
    /// How deep arrays and objects may be nested in a message: 128. A deeper one is answered with an error.
    MCPLINK_LIMIT_DEPTH = 2,
    /// How many bytes may wait for a peer that does not read: 16 MiB. Who would exceed it waits.
    MCPLINK_LIMIT_QUEUED_BYTES = 3,
    /// How many calls may be in flight: 10000. The next one fails with MCPLINK_E_BUSY.
    MCPLINK_LIMIT_CALLS = 4,
    /// How many requests of the peer may be in flight: 1024. The next one is answered with a "busy" error; while the peer does not read its answers, requests are held back instead.
    MCPLINK_LIMIT_REQUESTS = 5,
    /// How many calls may wait for what they ask a client of revisions before 2026-07-28: 1024. The next one fails.
    MCPLINK_LIMIT_QUESTIONS = 6,
    /// How many handlers may run at once: 64. The next ones wait.
    MCPLINK_LIMIT_WORKERS = 7,
    /// How many notifications of the peer may wait for the thread that hands them out: 1024. The next one is dropped.
    MCPLINK_LIMIT_NOTIFICATIONS = 8,
    /// How many subscriptions one client may have: 1024. The next one is refused.
    MCPLINK_LIMIT_SUBSCRIPTIONS = 9,
    /// How many log messages that belong to no call may wait for one client of revisions before 2026-07-28: 1024. The next one is dropped for
    /// that client. Change notifications that wait merge, and need no limit.
    MCPLINK_LIMIT_BACKLOG = 10,
    /// How many progress and log messages of one call may wait for its callback: 1024. Past it progress is merged.
    MCPLINK_LIMIT_CALL_EVENTS = 11,
    /// How many responses a client keeps, of those that servers let be kept: 1024.
    MCPLINK_LIMIT_CACHED_RESPONSES = 12,
    /// How many bytes the kept responses may have: 16 MiB.
    MCPLINK_LIMIT_CACHED_BYTES = 13,
    /// How much of what the clients of a server share one of them may hold while others want some, in percent: 50. Alone it may hold all but
    /// the reserve. For connections, threads and sessions see MCPLINK_HTTP_LIMIT_PART_PERCENT.
    MCPLINK_LIMIT_PART_PERCENT = 14,
    /// How much of it is kept free for clients that hold little, in percent: 12. 0 for none.
    MCPLINK_LIMIT_RESERVE_PERCENT = 15,
}

/// Sets the bound with this number.
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
