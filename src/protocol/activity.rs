//! Introspection: a snapshot that shows which thread waits for which request.

use std::fmt;
use std::thread::Thread;
use std::time::Duration;

use crate::error::{Excerpt, Span};
use crate::jsonrpc::RequestId;

/// A snapshot of a connection's activity: the pending calls and the active requests, with their
/// durations. The text of the snapshot helps to find a hang.
///
/// [`Client::activity`](crate::client::Client::activity),
/// [`Connection::activity`](super::Connection::activity) and
/// [`Peer::activity`](super::Peer::activity) return a snapshot. They may be called from any thread
/// at any time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Activity {
    /// The name of the peer.
    pub peer: String,
    /// Whether the connection has ended.
    pub has_ended: bool,
    /// Requests of this side without an outcome, oldest first. These are calls, requests to a
    /// client of the legacy era, and open subscriptions.
    pub calls: Vec<OpenCall>,
    /// Requests of the peer without an answer, and running handlers, oldest first. Subscription
    /// streams are not included.
    pub requests: Vec<OpenRequest>,
    /// The thread that is writing messages to the peer; `None` if no thread is writing.
    pub writing: Option<Running>,
    /// The number of threads that wait for space in the outgoing queue, because the peer reads too
    /// slowly.
    pub waiting_to_write: usize,
    /// The number of bytes that wait to be written.
    pub queued_bytes: usize,
    /// The number of handlers that wait for a thread.
    pub waiting_handlers: usize,
    /// The number of callbacks that wait for the thread that runs callbacks in order.
    pub waiting_callbacks: usize,
    /// The number of threads of the connection.
    pub threads: usize,
}

/// A request of this side that waits for its outcome.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenCall {
    /// The id of the request.
    pub id: i64,
    /// The method of the request.
    pub method: String,
    /// The time since the request was sent.
    pub age: Duration,
    /// The name of the waiting thread; `None` if a callback receives the outcome.
    pub thread: Option<String>,
}

/// An active request of the peer, or the handler of a notification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenRequest {
    /// The id of the request; `None` for a notification.
    pub id: Option<RequestId>,
    /// The method of the message.
    pub method: String,
    /// The time since the message arrived.
    pub age: Duration,
    /// The thread that runs the handler of the request.
    ///
    /// `None` while no thread runs the handler. The request then waits for a thread, for an answer
    /// of the peer, or for an answer from code that stored its [`Responder`](super::Responder).
    pub running: Option<Running>,
}

/// A thread that runs a handler or writes messages, and how long it has been doing so.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Running {
    /// How long the thread has been running the handler or writing.
    pub span: Duration,
    /// The name and number of the thread.
    pub thread: String,
}

/// Returns the display name of a thread.
pub(super) fn thread_name(thread: &Thread) -> String {
    format!("{} {:?}", thread.name().unwrap_or("unnamed"), thread.id())
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = if self.has_ended {
            ", which has ended"
        } else {
            ""
        };
        writeln!(f, "connection to '{}'{ended}", self.peer)?;
        for call in &self.calls {
            writeln!(f, "  {call}")?;
        }
        for request in &self.requests {
            writeln!(f, "  {request}")?;
        }
        if let Some(writing) = &self.writing {
            writeln!(
                f,
                "  {} has been writing for {}",
                writing.thread,
                Span(writing.span)
            )?;
        }
        let Self {
            waiting_to_write,
            queued_bytes,
            waiting_handlers,
            waiting_callbacks,
            threads,
            ..
        } = self;
        write!(
            f,
            "  {threads} threads; waiting: {waiting_handlers} handlers, {waiting_callbacks} callbacks, {queued_bytes} bytes to be \
             written, {waiting_to_write} threads to write"
        )
    }
}

impl fmt::Display for OpenCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            method,
            age,
            thread,
        } = self;
        let who = thread.as_deref().unwrap_or("a callback");
        let (method, age) = (Excerpt(method), Span(*age));
        write!(
            f,
            "{who} has been waiting for the answer to {method} (request {id}) for {age}"
        )
    }
}

impl fmt::Display for OpenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, age) = (Excerpt(&self.method), Span(self.age));
        match &self.id {
            Some(id) => write!(
                f,
                "the peer has been waiting for {method} (request {id}) for {age}: "
            )?,
            None => write!(f, "the notification {method} came {age} ago: ")?,
        }
        match &self.running {
            Some(running) => {
                let span = Span(running.span);
                write!(
                    f,
                    "its handler has been running on {} for {span}",
                    running.thread
                )
            }
            None => f.write_str("no handler runs"),
        }
    }
}
