//! The functions of the server builder that add tools and typed forms.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::ServerBuilder;
use crate::schema::Tool;
use crate::server::call::ToolCall;
use crate::server::context::Context;
#[cfg(feature = "schemars")]
use crate::server::forms;
use crate::server::output::ToolOutput;
use crate::server::tools::{self, NewTool};

impl ServerBuilder {
    /// Adds a tool whose handler takes its arguments as `A`. The JSON Schemas of `A` and of a
    /// [`Json`](crate::server::Json) result are derived from their types. The handler of a tool
    /// without arguments takes `()`.
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
    ///     /// The name to greet.
    ///     name: String,
    /// }
    ///
    /// let server = Server::builder("hello", "1.0")
    ///     .tool("greet", "Greets someone", |args: Greeting, _| format!("Hello, {}!", args.name))
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    ///
    /// A handler owns what its closure captures, and several threads may run it at the same time.
    /// Handlers share a database or a cache through a clone of an `Arc` each:
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use mcplink::server::Server;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Note {
    ///     text: String,
    /// }
    ///
    /// let notes = Arc::new(Mutex::new(Vec::new()));
    /// let shared = notes.clone();
    /// let server = Server::builder("notes", "1.0")
    ///     .tool("add", "Adds a note", move |note: Note, _| {
    ///         notes.lock().unwrap().push(note.text);
    ///     })
    ///     .tool("count", "Counts the notes", move |(), _| shared.lock().unwrap().len())
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
        self.tool_with(Tool::new(name).description(description), handler)
    }

    /// Adds a tool with a title, hints, icons or a schema of its own. The JSON Schemas of `A` and
    /// of a [`Json`](crate::server::Json) result are derived from their types, unless `tool` has
    /// schemas.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::Tool;
    /// use mcplink::server::{Context, Server};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Target {
    ///     path: String,
    /// }
    ///
    /// let remove = Tool::new("remove").title("Remove a file").destructive();
    /// let server = Server::builder("files", "1.0")
    ///     .tool_with(remove, |target: Target, _: &Context| format!("removed {}", target.path))
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[cfg(feature = "schemars")]
    pub fn tool_with<A, R>(
        self,
        tool: Tool,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + schemars::JsonSchema,
        R: ToolOutput,
    {
        match tools::typed_tool(tool, handler) {
            Ok(tool) => self.with_tool(tool),
            Err(error) => self.noting(Err(error)),
        }
    }

    /// Adds a tool whose schemas are given, because its types derive none. See
    /// [`Server::add_tool_with_schema`](crate::server::Server::add_tool_with_schema).
    pub fn tool_with_schema<A, R>(
        self,
        tool: Tool,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        R: ToolOutput,
    {
        self.with_tool(NewTool::new(tool, tools::answering(handler)))
    }

    /// Adds a tool whose handler may keep the call and answer later, from any thread. See
    /// [`Server::add_deferred_tool`](crate::server::Server::add_deferred_tool).
    pub fn deferred_tool(
        self,
        tool: Tool,
        handler: impl Fn(ToolCall) + Send + Sync + 'static,
    ) -> Self {
        self.with_tool(NewTool::new(tool, Arc::new(handler)))
    }

    /// Adds a check that handlers can ask the user for a `T` with
    /// [`Context::elicit_as`](Context::elicit_as). [`build`](Self::build) fails if no form can be
    /// derived from `T`.
    #[cfg(feature = "schemars")]
    pub fn form<T: schemars::JsonSchema>(self) -> Self {
        self.noting(forms::check::<T>())
    }
}
