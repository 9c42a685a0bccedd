//! How a server is described.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::context::{Context, ToolCall};
use super::output::{self, ToolOutput};
use super::registry::Registry;
use super::state::{KeyRing, StateKey};
use super::{Inner, Server};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::Request;
use crate::protocol::{Handlers, Responder};
use crate::schema::{Implementation, ProtocolVersion, Tool};
use crate::transport::Limits;

/// Describes a server. What is wrong is said at the end, by [`build`](Self::build) or [`serve_stdio`](Self::serve_stdio).
#[must_use = "a server that is not built serves nobody"]
pub struct ServerBuilder {
    inner: Inner,
    fault: Option<Error>,
}

impl ServerBuilder {
    pub(super) fn new(info: Implementation) -> Self {
        let (keys, fault) = match StateKey::random() {
            Ok(key) => (vec![key], None),
            // It is never used: building says what is wrong.
            Err(error) => (vec![StateKey::new([0; 32])], Some(error)),
        };
        let inner = Inner {
            info,
            instructions: None,
            revisions: ProtocolVersion::ALL.iter().rev().copied().collect(),
            names_itself: true,
            registry: Registry::default(),
            methods: Handlers::new(),
            limits: Limits::default(),
            drain: Duration::from_secs(5),
            log: None,
            keys: KeyRing::new(keys).expect("there is one key"),
            state_lifetime: Duration::from_secs(600),
        };
        Self { inner, fault }
    }

    /// Says who the server is: title, description, icons, home page. Replaces name and version too.
    pub fn info(mut self, info: Implementation) -> Self {
        self.inner.info = info;
        self
    }

    /// Says how to use the server, for a model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.inner.instructions = Some(instructions.into());
        self
    }

    /// The revisions to serve. Defaults to all of them.
    pub fn revisions(mut self, revisions: &[ProtocolVersion]) -> Self {
        if revisions.is_empty() {
            return self.noting(Err(Error::new(
                ErrorKind::Invalid,
                "a server needs at least one revision",
            )));
        }
        self.inner.revisions = revisions.to_vec();
        self.inner
            .revisions
            .sort_unstable_by(|one, other| other.cmp(one));
        self.inner.revisions.dedup();
        self
    }

    /// Whether results name the server, since 2026-07-28. Defaults to yes.
    pub fn names_itself(mut self, names_itself: bool) -> Self {
        self.inner.names_itself = names_itself;
        self
    }

    /// Upper bounds of each connection.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.inner.limits = limits;
        self
    }

    /// How long calls in hand may go on when the peer's input has ended. Defaults to 5 s.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.inner.drain = drain;
        self
    }

    /// The keys that seal what a call knows between the rounds of the modern era: the first one seals, all of them open. Defaults to one
    /// that is made for this server.
    ///
    /// Replicas that serve the same clients need the same keys. To change the key, put the new one in front, and take the old one out when
    /// the states that it sealed have expired.
    pub fn state_keys(mut self, keys: &[StateKey]) -> Self {
        match KeyRing::new(keys.to_vec()) {
            Some(keys) => self.inner.keys = keys,
            None => {
                return self.noting(Err(Error::new(
                    ErrorKind::Invalid,
                    "a server needs at least one state key",
                )));
            }
        }
        self
    }

    /// How long a client may take to answer what a call asks, since 2026-07-28. Defaults to 10 minutes.
    ///
    /// Within this time a sealed state can be presented again; what must not happen twice has to be guarded by the server itself.
    pub fn state_lifetime(mut self, lifetime: Duration) -> Self {
        self.inner.state_lifetime = lifetime;
        self
    }

    /// Takes what the library has to say to its host, a line at a time, on any thread. Defaults to nobody.
    pub fn on_log(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.inner.log = Some(Arc::new(hook));
        self
    }

    /// Adds a tool that takes its arguments as `A`, whose JSON Schema is derived, and so is that of a [`Json`](super::Json) result.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::server::Server;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Greeting {
    ///     /// Who is greeted.
    ///     name: String,
    /// }
    ///
    /// let server = Server::builder("hello", "1.0")
    ///     .tool("greet", "Greets someone", |args: Greeting, _| format!("Hello, {}!", args.name))
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[cfg(feature = "schemars")]
    pub fn tool<A, R>(
        self,
        name: &str,
        description: &str,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + schemars::JsonSchema,
        R: ToolOutput,
    {
        match output::schema_of::<A>() {
            Ok(schema) => {
                let mut tool = Tool::new(name)
                    .description(description)
                    .input_schema(schema);
                tool.output_schema = R::output_schema();
                self.tool_with(tool, handler)
            }
            Err(error) => self.noting(Err(error)),
        }
    }

    /// Adds a tool that was described by hand. See [`Server::add_tool`].
    pub fn tool_with<A, R>(
        self,
        tool: Tool,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        R: ToolOutput,
    {
        let added = self.inner.registry.add(tool, output::answering(handler));
        self.noting(added)
    }

    /// Adds a tool whose handler may keep the call and answer later, from any thread. See [`Server::add_deferred_tool`].
    pub fn deferred_tool(
        self,
        tool: Tool,
        handler: impl Fn(ToolCall) + Send + Sync + 'static,
    ) -> Self {
        let added = self.inner.registry.add(tool, Arc::new(handler));
        self.noting(added)
    }

    /// Handles requests of a method of one's own. Methods that the server handles itself stay its own.
    pub fn method(
        mut self,
        name: impl Into<String>,
        handler: impl Fn(&Request, Responder) + Send + Sync + 'static,
    ) -> Self {
        self.inner.methods = self.inner.methods.request(name, handler);
        self
    }

    /// Makes the server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] with the first thing that was wrong in its description.
    pub fn build(self) -> Result<Server> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(Server(Arc::new(self.inner))),
        }
    }

    /// Makes the server and serves over the standard streams: [`build`](Self::build), then [`Server::serve_stdio`].
    ///
    /// # Errors
    ///
    /// As both say.
    pub fn serve_stdio(self) -> Result<()> {
        self.build()?.serve_stdio()
    }

    /// Keeps the first fault.
    fn noting(mut self, done: Result<()>) -> Self {
        if let Err(error) = done {
            self.fault.get_or_insert(error);
        }
        self
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("info", &self.inner.info)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
