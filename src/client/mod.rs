//! A client: connects to a server of any revision, and calls it.
//!
//! [`connect`](Client::connect) detects the era of the server, negotiates a revision, and remembers
//! the server's capabilities. If a call needs a capability that the server did not declare, the
//! call fails at once. The error names the missing capability, and no message is sent.
//!
//! **Threads.** A call blocks the calling thread. Any number of threads may make calls at once. A
//! thread of the connection reads when no caller reads. Other threads are started for the server's
//! requests and notifications.

mod builder;
mod cache;
mod call_options;
mod calls;
mod config;
mod connect;
mod connect_cancel;
mod era;
mod fetch;
mod group;
mod handshake;
mod header_params;
mod idempotency;
mod input;
mod input_round;
mod misfits;
mod mrtr;
mod notify;
mod open_pages;
mod output_schemas;
mod paging;
mod pending_call;
mod request_meta;
mod requester;
mod restart;
mod session;
pub mod skills;
mod subscriber;
mod subscription;
mod subscriptions;
mod supervisor;
mod tasks;

use std::fmt;
use std::sync::Arc;

pub use self::builder::ClientBuilder;
pub use self::cache::ResponseCache;
pub use self::call_options::CallOptions;
#[cfg(feature = "cffi")]
pub(crate) use self::calls::tool_params;
#[cfg(fuzzing)]
pub use self::config::fuzzing;
pub use self::config::{Config, ConfigInput, ConfigWarning, ServerConfig};
pub use self::era::{Era, EraMemory};
pub use self::group::listing::{GroupItem, GroupList};
pub use self::group::{Group, GroupEvent, GroupFailure, GroupNames, GroupSubscription};
pub use self::paging::{Items, ListPage, Pages};
pub use self::pending_call::{CallEvent, PendingCall};
pub use self::requester::Requester;
pub use self::restart::{ConnectionEvent, Restart};
pub use self::subscription::{Event, Subscription};
use self::supervisor::Supervisor;
#[cfg(feature = "cffi")]
pub(crate) use self::tasks::RawToolAnswer;
pub use self::tasks::{TaskHandle, ToolAnswer};
use crate::error::Result;
use crate::protocol::{Activity, Stats};
pub use crate::protocol::{CancelToken, Progress};
use crate::schema::{Implementation, ProtocolVersion, ServerCapabilities};
use crate::transport::Transport;

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
pub struct Client(Arc<Inner>);

struct Inner {
    supervisor: Arc<Supervisor>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.supervisor.close();
    }
}

/// The server's description of itself, received when the connection was opened.
#[derive(Clone, Debug, PartialEq)]
struct ServerDescription {
    revision: ProtocolVersion,
    info: Option<Implementation>,
    capabilities: ServerCapabilities,
    instructions: Option<String>,
}

impl Client {
    /// Creates a builder for a client with this name and version. The name is for programs, not for
    /// display.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(Implementation::new(name, version))
    }

    /// Connects to a server with default settings. The server gets the name of this library as the
    /// client's name.
    ///
    /// # Errors
    ///
    /// The errors of [`ClientBuilder::connect`].
    pub fn connect(transport: impl Transport + 'static) -> Result<Self> {
        Self::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).connect(transport)
    }

    /// Returns the negotiated revision.
    pub fn revision(&self) -> ProtocolVersion {
        self.description().revision
    }

    /// Returns the era of the server. A host can store the era and pass it to
    /// [`ClientBuilder::era`] for the next connection.
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

    /// Returns the counters of the connection. After a [restart](ClientBuilder::restart) the
    /// counters belong to the new connection.
    pub fn stats(&self) -> Stats {
        let mut stats = self.0.supervisor.generation().peer.stats();
        self.0.supervisor.cache.count_in(&mut stats);
        stats
    }

    /// Removes all cached responses of this server. Responses to requests that are in flight will
    /// not be cached either.
    pub fn clear_cache(&self) {
        self.0.supervisor.cache.empty();
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
        self.0.supervisor.generation().peer.activity()
    }

    /// Whether the server has gone or the connection was closed. Returns false while a lost server
    /// is being [restarted](ClientBuilder::restart).
    pub fn is_closed(&self) -> bool {
        self.0.supervisor.is_over()
    }

    /// Closes the connection, and ends the server if it is a child process. Idempotent and bounded
    /// in time: see [`Connection::close`](crate::protocol::Connection::close). A pending restart is
    /// cancelled.
    pub fn close(&self) {
        self.0.supervisor.close();
    }

    fn description(&self) -> &ServerDescription {
        self.0.supervisor.description()
    }

    /// Returns the name of the server for log records and errors.
    fn server_name(&self) -> String {
        match self.server_info() {
            Some(info) if !info.name.is_empty() => info.name.clone(),
            _ => self.0.supervisor.generation().peer.name(),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", self.description())
            .field("peer", &self.0.supervisor.generation().peer)
            .finish()
    }
}
