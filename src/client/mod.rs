//! A client: connects to a server of any revision, and calls it.
//!
//! [`connect`](Client::connect) finds out which era the server is of, agrees on a revision, and remembers what the server can do; a call
//! that the server did not advertise fails at once, with an error that names the missing capability, and nothing is sent.
//!
//! **Threads.** Calls block the thread that makes them, and may be made from any number of threads at once. The connection has a thread of
//! its own that reads when no caller does; others are started for what the server asks.

mod asked_by;
mod builder;
mod cache;
mod calls;
mod cancelling;
mod connect;
mod envelope;
mod era;
mod handshake;
mod harmless;
mod input;
mod link;
mod mirror;
mod misfits;
mod open_pages;
mod outputs;
mod paging;
mod restart;
mod rounds;
mod session;
mod subscription;
mod subscriptions;
mod tasks;

use std::fmt;
use std::sync::Arc;

pub use self::asked_by::AskedBy;
pub use self::builder::ClientBuilder;
pub use self::cache::ResponseCache;
#[cfg(feature = "cffi")]
pub(crate) use self::calls::tool_params;
pub use self::era::{Era, EraMemory};
use self::link::Link;
pub use self::paging::{Items, ListPage, Pages};
pub use self::restart::{ConnectionEvent, Restart};
pub use self::subscription::{Event, Subscription};
pub use self::tasks::{TaskHandle, ToolAnswer};
use crate::error::Result;
use crate::protocol::{Activity, Stats};
use crate::schema::{Implementation, ProtocolVersion, ServerCapabilities};
use crate::transport::Transport;

/// A connected client.
///
/// Clones share the connection; dropping the last one closes it.
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
    link: Arc<Link>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.link.close();
    }
}

/// What the server said of itself when the connection was opened.
#[derive(Clone, Debug, PartialEq)]
struct ServerDescription {
    revision: ProtocolVersion,
    info: Option<Implementation>,
    capabilities: ServerCapabilities,
    instructions: Option<String>,
}

impl Client {
    /// Starts to describe a client with a name, for programs, and a version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(Implementation::new(name, version))
    }

    /// Connects with the defaults, under the name of this library.
    ///
    /// # Errors
    ///
    /// As [`ClientBuilder::connect`].
    pub fn connect(transport: impl Transport + 'static) -> Result<Self> {
        Self::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).connect(transport)
    }

    /// The revision that both sides speak.
    pub fn revision(&self) -> ProtocolVersion {
        self.description().revision
    }

    /// The era of the server: to be remembered and given to [`ClientBuilder::era`] next time.
    pub fn era(&self) -> Era {
        Era::of(self.revision())
    }

    /// Who the server says it is: for showing and logging. Since 2026-07-28 a server may keep it to itself.
    pub fn server_info(&self) -> Option<&Implementation> {
        self.description().info.as_ref()
    }

    /// What the server can do.
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.description().capabilities
    }

    /// How to use the server, for a model.
    pub fn instructions(&self) -> Option<&str> {
        self.description().instructions.as_deref()
    }

    /// What happened on the connection so far, counted; after a [restart](ClientBuilder::restart) on the new one.
    pub fn stats(&self) -> Stats {
        let mut stats = self.0.link.generation().peer.stats();
        self.0.link.cache.count_in(&mut stats);
        stats
    }

    /// Drops the responses of this server that are kept, and keeps none of those that are on their way: all will be asked for again.
    pub fn clear_cache(&self) {
        self.0.link.cache.empty();
    }

    /// Who waits for whom at the moment: calls that wait, on what and for how long, what of the server's is in hand, who writes. Print it when
    /// something hangs. It may be called from any thread at any time, and after the end.
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
        self.0.link.generation().peer.activity()
    }

    /// Whether the server has gone or the connection was closed. While a server is being [restarted](ClientBuilder::restart) it is not so.
    pub fn is_closed(&self) -> bool {
        self.0.link.is_over()
    }

    /// Closes the connection, and ends the server if it is a child process. Idempotent and bounded in time: see
    /// [`Connection::close`](crate::protocol::Connection::close). A restart that waits is not waited for.
    pub fn close(&self) {
        self.0.link.close();
    }

    fn description(&self) -> &ServerDescription {
        self.0.link.description()
    }

    /// What the server is called in messages.
    fn server_name(&self) -> String {
        match self.server_info() {
            Some(info) if !info.name.is_empty() => info.name.clone(),
            _ => self.0.link.generation().peer.name(),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", self.description())
            .field("peer", &self.0.link.generation().peer)
            .finish()
    }
}
