//! Server events: incidents with a peer, by kind. Hosts use server events to count incidents, to
//! raise an alarm, or to block a client.

use std::sync::Arc;

/// The kind of a [`ServerEvent`](crate::server::ServerEvent).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerEventKind {
    /// A message was malformed: not JSON, not JSON-RPC, or nested too deeply. The message was
    /// answered with an error where possible.
    Malformed,
    /// A message exceeded
    /// [`Limits::max_message_bytes`](crate::transport::Limits::max_message_bytes), or the system
    /// had no memory for the message. The message was refused. Over HTTP the listener refuses the
    /// message and counts it in [`HttpStats::refused`](crate::transport::http::HttpStats::refused)
    /// instead.
    TooLong,
    /// A request was refused because of a limit: too many active requests
    /// ([`Limits::max_requests`](crate::transport::Limits::max_requests),
    /// [`HttpOptions::max_requests`](crate::server::http::HttpOptions::max_requests)), or too many
    /// sessions ([`HttpOptions::max_sessions`](crate::server::http::HttpOptions::max_sessions)).
    Busy,
    /// A handler panicked, gave no answer, failed with an error that is not for the client, or
    /// returned an invalid result. The client got an internal error.
    HandlerFailed,
    /// An HTTP request was denied: its `Host` or `Origin` is not allowed, or its credentials were
    /// refused. A request without credentials is not reported, because clients send such requests
    /// to find out which credentials they need.
    Denied,
}

/// A server event, as a connection passes it to the hook.
pub(crate) struct Incident<'a> {
    pub(crate) kind: ServerEventKind,
    pub(crate) peer: String,
    /// The method of the request, if the event concerns a request.
    pub(crate) method: Option<&'a str>,
    pub(crate) text: String,
}

/// A hook that receives server events. The hook may be called on any thread.
pub(crate) type IncidentHook = Arc<dyn Fn(Incident<'_>) + Send + Sync>;
