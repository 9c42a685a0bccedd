//! Limits of a connection, as numbers for C.

use crate::cffi::arg::{invalid, span};
use crate::error::Result;
use crate::protocol::KeepAlive;
use crate::transport::Limits;

enumeration! {
    /// A limit of each connection of a client or server. The comment of each limit names its
    /// default, and what happens when the limit is reached.
    #[repr(C)]
    pub enum mcplink_limit {
        /// The maximum length of a message, in bytes. Default: 16 MiB. A longer message is dropped:
        /// a request is answered with an error, and a response fails its call.
        MCPLINK_LIMIT_MESSAGE_BYTES = 901,
        /// The maximum nesting depth of arrays and objects in a message. Default: 128. A message
        /// that is nested deeper is answered with an error.
        MCPLINK_LIMIT_DEPTH = 902,
        /// The maximum number of bytes that wait to be sent while a peer does not read. Default: 16
        /// MiB. A caller whose message would exceed the limit blocks until its deadline.
        MCPLINK_LIMIT_QUEUED_BYTES = 903,
        /// The maximum number of calls to the peer in flight. Default: 10000. The next call fails
        /// with MCPLINK_E_BUSY.
        MCPLINK_LIMIT_CALLS = 904,
        /// The maximum number of requests from the peer in flight. Default: 1024. The next request
        /// is answered with a "busy" error. While the peer does not read the answers, further
        /// requests are deferred instead.
        MCPLINK_LIMIT_REQUESTS = 905,
        /// The maximum number of calls that wait for input from a client of a revision before
        /// 2026-07-28. Default: 1024. The next call that needs input fails.
        MCPLINK_LIMIT_QUESTIONS = 906,
        /// The maximum number of handlers that run at once. Default: 64. Each handler runs on its
        /// own thread, and further requests wait for a free thread. The client with the fewest
        /// running handlers gets the next free thread. One client may use all threads; other
        /// clients then use reserved threads beyond this limit: see MCPLINK_LIMIT_RESERVE_PERCENT.
        /// All HTTP clients without a session share these threads for their tasks.
        MCPLINK_LIMIT_WORKERS = 907,
        /// The maximum number of notifications from the peer that wait to be delivered. Default:
        /// 1024. The next notification is dropped.
        MCPLINK_LIMIT_NOTIFICATIONS = 908,
        /// The maximum number of subscriptions of one client. Default: 1024. The next subscription
        /// is refused.
        MCPLINK_LIMIT_SUBSCRIPTIONS = 909,
        /// The maximum number of log messages outside of calls that wait for one client of a
        /// revision before 2026-07-28. Default: 1024. The next log message for that client is
        /// dropped. Change notifications need no limit, because waiting change notifications are
        /// merged.
        MCPLINK_LIMIT_BACKLOG = 910,
        /// The maximum number of progress and log messages of one call that wait for its callback.
        /// Default: 1024. Above the limit, progress messages are merged.
        MCPLINK_LIMIT_CALL_EVENTS = 911,
        /// The maximum number of responses in the cache of a client. Only responses that the server
        /// allows to be cached are stored. Default: 1024. The least recently used responses are
        /// evicted.
        MCPLINK_LIMIT_CACHED_RESPONSES = 912,
        /// The maximum number of bytes in the cache of a client. Default: 16 MiB. The least
        /// recently used responses are evicted.
        MCPLINK_LIMIT_CACHED_BYTES = 913,
        /// The maximum share, in percent, of requests, subscriptions, tasks and memory that one
        /// client of a server may use while other clients need them too. Default: 50. A client that
        /// is alone may use everything except the reserved percentage: see
        /// MCPLINK_LIMIT_RESERVE_PERCENT. For connections, threads of requests and sessions see
        /// MCPLINK_HTTP_LIMIT_PART_PERCENT.
        MCPLINK_LIMIT_PART_PERCENT = 914,
        /// The percentage of the requests, subscriptions, tasks and memory that is reserved for
        /// clients that use little of them. Default: 12. With 0, nothing is reserved.
        MCPLINK_LIMIT_RESERVE_PERCENT = 915,
    }
}

/// Reads when a silent peer is pinged. Fails if a time is 0.
pub(super) fn keep_alive(
    interval_ms: u32,
    timeout_ms: u32,
    max_failures: u32,
) -> Result<KeepAlive> {
    if interval_ms == 0 || timeout_ms == 0 {
        return Err(invalid("pings need an interval and a timeout"));
    }
    Ok(KeepAlive::every(span(interval_ms))
        .timeout(span(timeout_ms))
        .max_failures(max_failures))
}

/// Sets the limit with the number `limit`, one of [`mcplink_limit`]. Fails for an unknown number.
pub(super) fn set(limits: &mut Limits, limit: i32, value: usize) -> Result<()> {
    use mcplink_limit as Limit;
    let field = match Limit::read(limit, "limit")? {
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
        Limit::MCPLINK_LIMIT_PART_PERCENT => &mut limits.part_percent,
        Limit::MCPLINK_LIMIT_RESERVE_PERCENT => &mut limits.reserve_percent,
    };
    *field = value;
    Ok(())
}
