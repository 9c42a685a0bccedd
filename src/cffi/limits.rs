//! Upper bounds of a connection, by number.

use super::entry::Outcome;
use crate::error::{Error, ErrorKind};
use crate::transport::Limits;

/// An upper bound of a connection. Each has a default, and a defined answer when it is hit.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_limit {
    /// Longest message that is accepted, in bytes: 16 MiB. A longer one is dropped, and whoever waits for it is told.
    MCPLINK_LIMIT_MESSAGE_BYTES = 1,
    /// How deep arrays and objects may be nested in a message: 128.
    MCPLINK_LIMIT_DEPTH = 2,
    /// How many bytes may wait for a peer that does not read: 16 MiB. Callers that would exceed it wait until their deadline.
    MCPLINK_LIMIT_QUEUED_BYTES = 3,
    /// How many calls may be in flight: 10 000. The next one fails with MCPLINK_E_BUSY.
    MCPLINK_LIMIT_CALLS = 4,
    /// How many requests of the peer may be in hand: 256. The next one is answered with a "busy" error.
    MCPLINK_LIMIT_REQUESTS = 5,
    /// How many calls may wait for answers of a client to what they ask: 1 024. The next one fails.
    MCPLINK_LIMIT_QUESTIONS = 6,
    /// How many handlers may run at once: 64.
    MCPLINK_LIMIT_WORKERS = 7,
    /// How many notifications may wait to be handed out: 1 024. The next one is dropped and counted.
    MCPLINK_LIMIT_NOTIFICATIONS = 8,
    /// How many subscriptions one client may have: 1 024. The next one is refused.
    MCPLINK_LIMIT_SUBSCRIPTIONS = 9,
    /// How many change notifications may wait for a subscriber that does not read: 1 024. The next one ends the subscription.
    MCPLINK_LIMIT_BACKLOG = 10,
    /// How many progress messages may wait for one call: 1 024. Past it they are merged, the newest wins.
    MCPLINK_LIMIT_CALL_EVENTS = 11,
    /// How many responses a client keeps, of those that servers let be kept: 1 024. 0 keeps none.
    MCPLINK_LIMIT_CACHED_RESPONSES = 12,
    /// How many bytes the kept responses may have: 16 MiB. 0 keeps none.
    MCPLINK_LIMIT_CACHED_BYTES = 13,
}

use mcplink_limit as Limit;

/// Sets the bound with this number.
pub(super) fn set_limit(limits: &mut Limits, limit: i32, value: usize) -> Outcome<()> {
    const ALL: [Limit; 13] = [
        Limit::MCPLINK_LIMIT_MESSAGE_BYTES,
        Limit::MCPLINK_LIMIT_DEPTH,
        Limit::MCPLINK_LIMIT_QUEUED_BYTES,
        Limit::MCPLINK_LIMIT_CALLS,
        Limit::MCPLINK_LIMIT_REQUESTS,
        Limit::MCPLINK_LIMIT_QUESTIONS,
        Limit::MCPLINK_LIMIT_WORKERS,
        Limit::MCPLINK_LIMIT_NOTIFICATIONS,
        Limit::MCPLINK_LIMIT_SUBSCRIPTIONS,
        Limit::MCPLINK_LIMIT_BACKLOG,
        Limit::MCPLINK_LIMIT_CALL_EVENTS,
        Limit::MCPLINK_LIMIT_CACHED_RESPONSES,
        Limit::MCPLINK_LIMIT_CACHED_BYTES,
    ];
    let known = ALL.into_iter().find(|known| *known as i32 == limit);
    let Some(known) = known else {
        let text = format!("there is no limit {limit}: see enum mcplink_limit");
        return Err(Error::new(ErrorKind::Invalid, text).into());
    };
    let place = match known {
        Limit::MCPLINK_LIMIT_MESSAGE_BYTES => &mut limits.max_message_bytes,
        Limit::MCPLINK_LIMIT_DEPTH => &mut limits.max_depth,
        Limit::MCPLINK_LIMIT_QUEUED_BYTES => &mut limits.max_queued_bytes,
        Limit::MCPLINK_LIMIT_CALLS => &mut limits.max_calls,
        Limit::MCPLINK_LIMIT_REQUESTS => &mut limits.max_requests,
        Limit::MCPLINK_LIMIT_QUESTIONS => &mut limits.max_questions,
        Limit::MCPLINK_LIMIT_WORKERS => &mut limits.max_workers,
        Limit::MCPLINK_LIMIT_NOTIFICATIONS => &mut limits.max_notifications,
        Limit::MCPLINK_LIMIT_SUBSCRIPTIONS => &mut limits.max_subscriptions,
        Limit::MCPLINK_LIMIT_BACKLOG => &mut limits.max_backlog,
        Limit::MCPLINK_LIMIT_CALL_EVENTS => &mut limits.max_call_events,
        Limit::MCPLINK_LIMIT_CACHED_RESPONSES => &mut limits.max_cached_responses,
        Limit::MCPLINK_LIMIT_CACHED_BYTES => &mut limits.max_cached_bytes,
    };
    *place = value;
    Ok(())
}
