//! A server: tools that a peer can list and call, in every revision.
//!
//! A [`Server`] is a set of tools with a name. It serves any number of connections at once, each with
//! [`serve`](Server::serve) or [`open`](Server::open); the set can change meanwhile, from any thread. Handlers are written once: which
//! revision a client speaks, and how, is seen only by those who ask their [`Context`].
//!
//! **Threads.** Handlers run on the threads of the connection that the call came from, many at once, up to
//! [`max_workers`](crate::transport::Limits::max_workers); a handler that keeps its [`ToolCall`] and returns occupies none. Listing and
//! opening never wait for a handler.

mod asking;
mod builder;
mod context;
mod conversation;
mod dispatch;
mod output;
mod progress;
mod questions;
mod registry;
mod rounds;
mod state;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

pub use self::asking::AskError;
pub use self::builder::ServerBuilder;
pub use self::context::{Context, ToolCall};
pub use self::conversation::Terms;
pub use self::output::{Json, ToolError, ToolOutput};
use self::registry::Registry;
use self::state::KeyRing;
pub use self::state::StateKey;
use crate::error::{ErrorKind, Result};
use crate::protocol::{Connection, Handlers, LogHook};
use crate::schema::{Implementation, ProtocolVersion, Tool};
use crate::transport::{Limits, Stdio, Transport};

/// A server. Cheap to clone; clones share the tools.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    info: Implementation,
    instructions: Option<String>,
    /// Newest first.
    revisions: Vec<ProtocolVersion>,
    names_itself: bool,
    registry: Registry,
    methods: Handlers,
    limits: Limits,
    drain: Duration,
    log: Option<LogHook>,
    /// Seal what calls know between rounds.
    keys: KeyRing,
    state_lifetime: Duration,
}

impl Server {
    /// Starts to describe a server with a name, for programs, and a version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(Implementation::new(name, version))
    }

    /// Adds a tool whose handler takes its arguments as `A` and gives its result before it returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the name is taken or not a tool name, or the input schema is not one of an object.
    pub fn add_tool<A, R>(
        &self,
        tool: Tool,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()>
    where
        A: DeserializeOwned,
        R: ToolOutput,
    {
        self.0.registry.add(tool, output::answering(handler))
    }

    /// Adds a tool whose handler may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// As [`add_tool`](Self::add_tool).
    pub fn add_deferred_tool(
        &self,
        tool: Tool,
        handler: impl Fn(ToolCall) + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.registry.add(tool, Arc::new(handler))
    }

    /// Takes a tool away; calls of it that run go on. Returns whether there was one of that name.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.0.registry.remove(name)
    }

    /// Serves a peer on threads of the connection, and returns at once. The connection ends when it is dropped.
    ///
    /// # Errors
    ///
    /// When the transport can't be opened.
    pub fn open(&self, transport: impl Transport + 'static) -> Result<Connection> {
        let mut connection = Connection::serving()
            .handlers(dispatch::handlers(&self.0))
            .limits(self.0.limits.clone())
            .drain(self.0.drain);
        if let Some(log) = &self.0.log {
            connection = connection.log(Arc::clone(log));
        }
        connection.open(transport)
    }

    /// Serves a peer until it has gone.
    ///
    /// When its input ends, calls in hand may finish for as long as [`ServerBuilder::drain`] says.
    ///
    /// # Errors
    ///
    /// When the transport can't be opened, or fails. That the peer leaves is no error.
    pub fn serve(&self, transport: impl Transport + 'static) -> Result<()> {
        let error = self.open(transport)?.wait();
        if error.kind() == ErrorKind::Closed {
            Ok(())
        } else {
            Err(error)
        }
    }

    /// Serves the process that started this one, over the standard streams, until it closes them.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve); [`ErrorKind::State`] when the standard streams are claimed already.
    pub fn serve_stdio(&self) -> Result<()> {
        self.serve(Stdio::new())
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("info", &self.0.info)
            .field("tools", &self.0.registry)
            .finish_non_exhaustive()
    }
}
