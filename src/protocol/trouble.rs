//! Trouble with a peer, by kind: for hosts that count it, raise an alarm, or shut somebody out.

use std::sync::Arc;

/// What a [`ServerEvent`](crate::server::ServerEvent) tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerEventKind {
    /// A message was none: no JSON, no JSON-RPC, or nested too deeply. It was answered with an error where it can be.
    Malformed,
    /// A message exceeded [`Limits::max_message_bytes`](crate::transport::Limits::max_message_bytes), or the system had no memory for it. It was
    /// refused. Over HTTP the listener does that, and counts it: [`HttpStats::refused`](crate::transport::http::HttpStats::refused).
    TooLong,
    /// A request was refused, since too many are in hand ([`Limits::max_requests`](crate::transport::Limits::max_requests),
    /// [`HttpOptions::max_requests`](crate::server::http::HttpOptions::max_requests)) or too many sessions are open
    /// ([`HttpOptions::max_sessions`](crate::server::http::HttpOptions::max_sessions)).
    Busy,
    /// A handler panicked, gave no answer, failed in a way that is none of the client's business, or broke its promise. The client got an
    /// internal error.
    HandlerFailed,
    /// A request over HTTP was not let in: its host or origin is not one of the server's, or its credentials were refused. A request
    /// without any is the usual way of a client to learn what it needs, and is not told.
    Denied,
}

/// Trouble, as the connection sees it that has it.
pub(crate) struct Trouble<'a> {
    pub(crate) kind: ServerEventKind,
    pub(crate) peer: String,
    /// Of the request, if it is about one.
    pub(crate) method: Option<&'a str>,
    pub(crate) text: String,
}

/// Takes it, on any thread.
pub(crate) type TroubleHook = Arc<dyn Fn(Trouble<'_>) + Send + Sync>;
