//! Who waits for whom.

use std::fmt;
use std::thread::Thread;
use std::time::Duration;

use crate::error::{Excerpt, Span};
use crate::jsonrpc::RequestId;

/// What a connection is busy with at one moment: who waits for whom, and for how long. Its text is for people who look for what hangs.
///
/// See [`Client::activity`](crate::client::Client::activity), [`Connection::activity`](super::Connection::activity) and
/// [`Peer::activity`](super::Peer::activity), which may be called from any thread at any time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Activity {
    /// What the peer is called.
    pub peer: String,
    /// Whether the connection has ended.
    pub has_ended: bool,
    /// Requests of ours without an outcome, the oldest first: calls, questions to a client of the legacy era, open subscriptions.
    pub calls: Vec<PendingCall>,
    /// Requests of the peer without an answer, and handlers that run, the oldest first. Streams of change notifications are not among them.
    pub requests: Vec<OpenRequest>,
    /// The thread that writes to the peer at the moment.
    pub writing: Option<Running>,
    /// Threads that wait until the peer has read enough for them to go on, since so many bytes are queued.
    pub waiting_to_write: usize,
    /// Bytes that wait to be written.
    pub queued_bytes: usize,
    /// Handlers that wait for a thread.
    pub waiting_handlers: usize,
    /// Callbacks that wait for the one thread that runs them in order.
    pub waiting_callbacks: usize,
    /// Threads of the connection.
    pub threads: usize,
}

/// A request of ours that waits for its outcome.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PendingCall {
    /// The id of the request.
    pub id: i64,
    /// What was asked.
    pub method: String,
    /// How long ago.
    pub age: Duration,
    /// The thread that waits; none when the outcome goes to a callback.
    pub thread: Option<String>,
}

/// A request of the peer that is in hand, or the handler of a notification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenRequest {
    /// The id of the request; none for a notification.
    pub id: Option<RequestId>,
    /// What is asked.
    pub method: String,
    /// How long ago it came.
    pub age: Duration,
    /// Its handler, if one runs. If none does it waits for a thread, for an answer of the peer, or for whoever keeps the right to answer.
    pub running: Option<Running>,
}

/// A thread at work.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Running {
    /// For how long.
    pub span: Duration,
    /// The name of the thread, and its number.
    pub thread: String,
}

/// What a thread is called.
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

impl fmt::Display for PendingCall {
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
