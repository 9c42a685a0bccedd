//! The handle of a connected client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::connection::ServerDescription;
use super::era::Era;
use super::supervisor::Supervisor;
use crate::protocol::{Activity, Stats};
use crate::schema::{Implementation, ProtocolVersion, ServerCapabilities};
use crate::transport::RaisedLimit;
use crate::transport::clock::after;

/// A connected client; thread-safe.
///
/// Clones are handles to the same connection. Dropping the last handle closes the connection.
///
/// # Examples
///
/// ```
/// use mcplink::client::Client;
/// use mcplink::server::Server;
/// use mcplink::transport::memory;
/// use serde_json::json;
///
/// let server = Server::builder("hello", "1.0")
///     .tool_with(mcplink::schema::Tool::new("greet"), |_: serde_json::Value, _| "Hello!")
///     .build()?;
/// let (here, there) = memory::pair();
/// let serving = server.open(there)?;
/// let client = Client::connect(here)?;
/// let result = client.call_tool("greet", &json!({}))?;
/// assert_eq!(result.content[0].as_text(), Some("Hello!"));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct Client(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) supervisor: Arc<Supervisor>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.supervisor.close();
    }
}

impl Client {
    pub(super) fn new(supervisor: Arc<Supervisor>) -> Self {
        Self(Arc::new(Inner { supervisor }))
    }

    /// Returns the negotiated revision.
    pub fn revision(&self) -> ProtocolVersion {
        self.description().revision
    }

    /// Returns the era of the server. A host can store the era and pass it to
    /// [`ClientBuilder::era`](super::ClientBuilder::era) for the next connection.
    pub fn era(&self) -> Era {
        Era::of(self.revision())
    }

    /// Returns the server's name and version, for display and logging. Since 2026-07-28 a server
    /// may omit this information.
    pub fn server_info(&self) -> Option<&Implementation> {
        self.description().info.as_ref()
    }

    /// Returns the capabilities that the server declared.
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.description().capabilities
    }

    /// Returns the server's instructions for a model.
    pub fn instructions(&self) -> Option<&str> {
        self.description().instructions.as_deref()
    }

    /// Returns the counters of the connection. After a [restart](super::ClientBuilder::restart) the
    /// counters belong to the new connection.
    pub fn stats(&self) -> Stats {
        let mut stats = self.0.supervisor.connection().peer.stats();
        self.0.supervisor.server.cache.count_in(&mut stats);
        stats
    }

    /// Removes all cached responses of this server. Responses to requests that are in flight will
    /// not be cached either.
    pub fn clear_cache(&self) {
        self.0.supervisor.server.cache.empty();
    }

    /// Returns a snapshot of calls, active requests of the server, and the writing thread. Print
    /// the snapshot to diagnose a hang.
    ///
    /// This function may be called from any thread at any time, even after the client was closed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use mcplink::client::Client;
    /// # fn f(client: &Client) {
    /// eprintln!("{}", client.activity());
    /// # }
    /// ```
    pub fn activity(&self) -> Activity {
        self.0.supervisor.connection().peer.activity()
    }

    /// Whether the server has gone or the connection was closed. Returns false while a lost server
    /// is being [restarted](super::ClientBuilder::restart).
    pub fn is_closed(&self) -> bool {
        self.0.supervisor.is_over()
    }

    /// Closes the connection, and ends the server if it is a child process. Idempotent and bounded
    /// in time: see [`Connection::close`](crate::protocol::Connection::close). A pending restart is
    /// cancelled.
    pub fn close(&self) {
        self.0.supervisor.close();
    }

    /// Blocks until the handlers of all notifications received so far have returned, at most for
    /// `timeout`. Returns false if the timeout has passed.
    ///
    /// Handlers of notifications run on a thread of the connection. So a call may return before the
    /// handler of a log message that the server sent during the call. Call this function after the
    /// call if the order matters. It then covers each notification that arrived before the response
    /// on the same stream. Progress needs no such wait: see
    /// [`CallOptions::on_progress`](super::CallOptions::on_progress).
    ///
    /// The handler of a notification must not call this function, because the function would wait
    /// for that handler until the timeout.
    pub fn wait_for_notifications(&self, timeout: Duration) -> bool {
        let connection = self.0.supervisor.connection();
        connection.peer.wait_for_notifications(after(timeout))
    }

    /// Accepts messages of the server of up to `bytes` bytes, until the returned guard is dropped.
    /// Has no effect if [`max_message_bytes`](crate::transport::Limits::max_message_bytes) is as
    /// large.
    ///
    /// Hold the guard during a call whose response is known to be long, for example the read of a
    /// large resource. The limit holds for the connection, so other calls may receive longer
    /// messages too. Several guards add up.
    pub fn raise_max_message_bytes(&self, bytes: usize) -> RaisedLimit {
        let limits = &self.0.supervisor.settings().limits;
        let more = bytes.saturating_sub(limits.max_message_bytes);
        limits.allowance.raise(more)
    }

    pub(super) fn description(&self) -> &ServerDescription {
        self.0.supervisor.description()
    }

    /// Returns the name of the server for log records and errors.
    pub(super) fn server_name(&self) -> String {
        match self.server_info() {
            Some(info) if !info.name.is_empty() => info.name.clone(),
            _ => self.0.supervisor.connection().peer.name(),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", self.description())
            .field("peer", &self.0.supervisor.connection().peer)
            .finish()
    }
}
