//! An MCP server: the tools, resources and prompts that it offers to clients of every revision.
//!
//! A [`Server`] serves any number of connections at once, each with [`serve`](Server::serve) or
//! [`open`](Server::open). Tools, resources and prompts can be added and removed while clients are
//! connected, from any thread. A handler is written once for all revisions. A handler that needs
//! the client's revision reads it from its [`Context`].
//!
//! **Change notifications** are sent to clients automatically when a list changes.
//! [`Server::resource_updated`] reports the change of one resource. A legacy client gets change
//! notifications on its connection, a modern client on its `subscriptions/listen` streams. The
//! notifications are queued, so no thread waits for a client to read.
//!
//! **Threads.** Handlers run on the worker threads of the connection that the call came from, up to
//! [`max_workers`](crate::transport::Limits::max_workers) at once. A handler may keep its call
//! ([`ToolCall`], [`ResourceCall`], [`PromptCall`], [`CompletionCall`]) and return; the pending
//! call then occupies no worker. New connections never wait for a handler. Requests for lists wait
//! for a worker only if the server has guards, since guards are code of the host.

mod ask_error;
mod asking;
mod builder;
mod call;
mod call_task;
mod catalogue;
mod completion;
mod context;
mod conversation;
mod debug_fields;
#[cfg(feature = "schemars")]
mod derived;
mod dispatch;
mod endpoints;
mod error_map;
mod event_bus;
mod events;
mod folder;
mod forms;
#[cfg(fuzzing)]
pub mod fuzzing;
mod guard;
#[cfg(feature = "http-server")]
pub mod http;
mod in_progress;
mod inner;
mod input_requests;
mod input_rules;
#[cfg(unix)]
mod local_event_bus;
mod memory_budget;
mod mrtr;
mod output;
mod output_check;
mod pages;
mod paging;
mod primitive;
mod progress;
mod prompt_arguments;
mod prompts;
mod publish;
mod rate;
mod raw_result;
mod records;
mod remember;
mod resources;
mod scopes;
mod session_state;
mod session_stream;
pub mod skills;
mod state;
mod store;
mod subscriptions;
mod tasks;
mod tools;
mod uri;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::ask_error::AskError;
pub use self::builder::ServerBuilder;
#[cfg(feature = "cffi")]
pub(crate) use self::builder::replica_name;
pub use self::call::ToolCall;
pub use self::completion::{CompletionCall, CompletionOutput, CompletionRequest};
pub use self::context::Context;
use self::debug_fields::debug_fields;
pub use self::endpoints::{Endpoint, EndpointFailure, ServerState};
pub use self::error_map::HandlerError;
use self::event_bus::Change;
pub use self::event_bus::{Deliver, EventBus, MemoryEventBus};
pub use self::events::{ServerEvent, ServerEventKind, Session, SessionEvent, SessionTransport};
pub use self::folder::Folder;
pub use self::forms::Elicited;
pub use self::guard::{Guard, GuardedRequest, GuardedResult};
#[cfg(feature = "cffi")]
pub(crate) use self::inner::origin_of;
use self::inner::{Inner, ServerConnection};
#[cfg(unix)]
pub use self::local_event_bus::LocalEventBus;
pub use self::output::{Json, ToolOutput};
pub use self::paging::List;
pub use self::primitive::Primitive;
pub use self::prompts::{PromptCall, PromptOutput};
pub use self::publish::{Publication, Publish};
pub use self::rate::{MemoryRateStore, RateLimit, RateStore};
pub use self::records::{MemoryRecordStore, Record, RecordStore};
pub use self::resources::{Cached, ResourceCall, ResourceOutput, ResourceRead};
pub use self::session_state::ClientContext;
pub use self::state::StateKey;
pub use self::store::{MemoryStateStore, StateStore};
pub use self::tasks::TaskOptions;
use self::tools::NewTool;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::ConnectionBuilder;
pub use crate::protocol::principal::Principal;
use crate::protocol::principal::scope_set;
pub use crate::protocol::{CancelToken, Connection, LogLevel, LogRecord, Progress, RequestOptions};
use crate::schema::{
    self, CompletionReference, LoggingLevel, LoggingMessageNotificationParams, Prompt, Resource,
    ResourceTemplate, Tool,
};
use crate::transport::{Stdio, Transport};

/// An MCP server. Cloning is cheap, and all clones share the state of the server.
///
/// # Examples
///
/// ```
/// use mcplink::client::Client;
/// use mcplink::schema::Resource;
/// use mcplink::server::Server;
/// # use mcplink::transport::memory;
///
/// let server = Server::builder("notes", "1.0").build()?;
/// # let (here, there) = memory::pair();
/// let connection = server.open(there)?; // to a client
/// server.add_resource(Resource::new("notes://today", "today"), |_, _| "Buy milk.")?;
/// let result = Client::connect(here)?.read_resource("notes://today")?;
/// assert_eq!(result.contents[0].as_text(), Some("Buy milk."));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct Server(Arc<Inner>);

impl Server {
    /// Adds a tool while the server runs. The JSON Schemas of `A` and of a [`Json`] result are
    /// derived from their types, unless `tool` has schemas.
    ///
    /// # Errors
    ///
    /// The errors of [`add_tool_with_schema`](Self::add_tool_with_schema).
    #[cfg(feature = "schemars")]
    pub fn add_tool<A, R>(
        &self,
        tool: Tool,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()>
    where
        A: DeserializeOwned + schemars::JsonSchema,
        R: ToolOutput,
    {
        self.0.add_tool(tools::typed_tool(tool, handler)?)
    }

    /// Adds a tool whose schemas are given. The handler takes the arguments of a call as `A`, and
    /// returns the result.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] in these cases:
    ///
    /// - Another tool has the name, or the name is not a valid tool name.
    /// - The tool has no input schema, or the input schema does not describe an object.
    /// - The tool may run as a task, but the server has no [`tasks`](ServerBuilder::tasks).
    ///
    /// Unless validation is [disabled](ServerBuilder::validator), also the errors of
    /// [`Validator::compile`](crate::validation::Validator::compile) for both schemas.
    pub fn add_tool_with_schema<A, R>(
        &self,
        tool: Tool,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()>
    where
        A: DeserializeOwned,
        R: ToolOutput,
    {
        self.0
            .add_tool(NewTool::new(tool, tools::answering(handler)))
    }

    /// Adds a tool whose handler may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// The errors of [`add_tool_with_schema`](Self::add_tool_with_schema).
    pub fn add_deferred_tool(
        &self,
        tool: Tool,
        handler: impl Fn(ToolCall) + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.add_tool(NewTool::new(tool, Arc::new(handler)))
    }

    /// Removes a tool and returns whether it existed. Running calls of the tool continue.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.after_removal(self.0.tools.remove(name), Change::Tools)
    }

    /// Notifies the clients of a list that an entry was removed, if there was one.
    fn after_removal(&self, is_removed: bool, change: Change<'_>) -> bool {
        if is_removed {
            self.0.subscriptions.publish(change);
        }
        is_removed
    }

    /// Adds a resource. See [`ServerBuilder::resource`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when another resource or a file of a skill has the URI, or when the
    /// URI (RFC 3986) or the annotations are not valid.
    pub fn add_resource<R: ResourceOutput>(
        &self,
        resource: Resource,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.add_resource(resource, resources::reading(handler))
    }

    /// Adds a resource whose handler may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// The errors of [`add_resource`](Self::add_resource).
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::Resource;
    /// use mcplink::server::{ResourceCall, Server};
    ///
    /// let (sender, reads) = std::sync::mpsc::channel::<ResourceCall>();
    /// let server = Server::builder("sensor", "1.0").build()?;
    /// server.add_deferred_resource(Resource::new("sensor:temperature", "now"), move |call| {
    ///     // If the thread has ended, the call is dropped and the client gets an internal error.
    ///     _ = sender.send(call);
    /// })?;
    /// std::thread::spawn(move || {
    ///     for call in reads {
    ///         _ = call.respond("21.5");
    ///     }
    /// });
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn add_deferred_resource(
        &self,
        resource: Resource,
        handler: impl Fn(ResourceCall) + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.add_resource(resource, Arc::new(handler))
    }

    /// Removes a resource and returns whether it existed.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.after_removal(self.0.resources.remove(uri), Change::Resources)
    }

    /// Adds resources whose URIs follow a template. See [`ServerBuilder::template`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the server has the template already, or when the template or its
    /// annotations are not valid.
    pub fn add_template<R: ResourceOutput>(
        &self,
        template: ResourceTemplate,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.add_template(template, resources::reading(handler))
    }

    /// Adds resources whose URIs follow a template. The handler may keep the call and answer later,
    /// from any thread.
    ///
    /// # Errors
    ///
    /// The errors of [`add_template`](Self::add_template).
    pub fn add_deferred_template(
        &self,
        template: ResourceTemplate,
        handler: impl Fn(ResourceCall) + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.add_template(template, Arc::new(handler))
    }

    /// Removes a template and returns whether it existed.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        let is_removed = self.0.templates.remove(uri_template);
        self.after_removal(is_removed, Change::Resources)
    }

    /// Adds a prompt while the server runs. The arguments are derived from the struct `A`, unless
    /// `prompt` declares arguments. See [`ServerBuilder::prompt`].
    ///
    /// # Errors
    ///
    /// The errors of [`add_prompt_with_arguments`](Self::add_prompt_with_arguments).
    /// [`ErrorKind::Invalid`] when no arguments can be derived from `A`, or when `prompt` declares
    /// arguments, but not each argument that `A` takes.
    #[cfg(feature = "schemars")]
    pub fn add_prompt<A, R>(
        &self,
        prompt: Prompt,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()>
    where
        A: DeserializeOwned + schemars::JsonSchema,
        R: PromptOutput,
    {
        let prompt = prompt_arguments::typed_prompt::<A>(prompt)?;
        self.add_prompt_with_arguments(prompt, handler)
    }

    /// Adds a prompt whose arguments are given. The handler takes the arguments of a call as `A`.
    ///
    /// A request without a required argument, or with an undeclared argument, is refused before the
    /// handler runs. A prompt that declares no arguments accepts any arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when another prompt has the name, the name is empty, or two arguments
    /// of the prompt have the same name.
    pub fn add_prompt_with_arguments<A: DeserializeOwned, R: PromptOutput>(
        &self,
        prompt: Prompt,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.add_prompt(prompt, prompts::prompting(handler))
    }

    /// Adds a prompt whose handler may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// The errors of [`add_prompt_with_arguments`](Self::add_prompt_with_arguments).
    pub fn add_deferred_prompt(
        &self,
        prompt: Prompt,
        handler: impl Fn(PromptCall) + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.add_prompt(prompt, Arc::new(handler))
    }

    /// Removes a prompt and returns whether it existed.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.after_removal(self.0.prompts.remove(name), Change::Prompts)
    }

    /// Adds a completer. See [`ServerBuilder::completer`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when there is already a completer for the argument.
    pub fn add_completer<R: CompletionOutput>(
        &self,
        reference: &CompletionReference,
        argument: &str,
        handler: impl Fn(&CompletionRequest, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()> {
        self.0
            .add_completer(reference, argument, completion::completing(handler))
    }

    /// Adds a completer that may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// The errors of [`add_completer`](Self::add_completer).
    pub fn add_deferred_completer(
        &self,
        reference: &CompletionReference,
        argument: &str,
        handler: impl Fn(CompletionCall) + Send + Sync + 'static,
    ) -> Result<()> {
        self.0.add_completer(reference, argument, Arc::new(handler))
    }

    /// Sets that from now on a client needs all these scopes to use an item.
    ///
    /// See [`ServerBuilder::require_scopes`]. The requirement stays when the item is removed. It
    /// then applies to a new item with the same name. Requests that come between adding the item
    /// and this call are not checked. To avoid unchecked requests, call this function before the
    /// server serves clients, or let the handler check the scopes ([`Context::require_scopes`]).
    ///
    /// [`ServerBuilder::require_scopes`]: crate::server::ServerBuilder::require_scopes
    /// [`Context::require_scopes`]: crate::server::Context::require_scopes
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the server has no such item.
    pub fn require_scopes<S: AsRef<str>>(
        &self,
        of: Primitive<'_>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Result<()> {
        self.0.check_known(of)?;
        self.0.requirements.add(of, scope_set(scopes));
        Ok(())
    }

    /// Sends a change notification for a resource to all clients that subscribed to the resource.
    ///
    /// `uri` may be any spelling of the resource's URI. Each subscriber gets the spelling of its
    /// subscription.
    ///
    /// The notifications are only queued, so this function never waits for a client. It may be
    /// called from any thread. A change after a pause is sent at once. Changes in quick succession
    /// are merged, and are sent at most every 10 ms.
    pub fn resource_updated(&self, uri: &str) {
        self.0.subscriptions.publish(Change::of_resource(uri));
    }

    /// Takes an event of another process: see [`EventBus`].
    #[cfg(feature = "cffi")]
    pub(crate) fn deliver(&self, event: Option<&str>) {
        self.0.subscriptions.deliver(event);
    }

    /// Sends a log message to all clients of the legacy era. The message belongs to no call.
    ///
    /// A legacy client sets its minimum level with `logging/setLevel`; the default is *info*. The
    /// client gets the messages at or above this level. A modern client gets only the log messages
    /// of its calls: see [`Context::log`].
    ///
    /// Does nothing unless the server was built with [`logging`](ServerBuilder::logging). The
    /// message is only queued, and may be sent from any thread. If a client does not read, at most
    /// [`max_backlog`](crate::transport::Limits::max_backlog) messages are queued for it, and
    /// further messages are dropped.
    ///
    /// Spec: Server Features, Utilities, "Logging" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `data` can't be written as JSON, or when the specification does
    /// not define the level.
    pub fn log(
        &self,
        level: LoggingLevel,
        logger: Option<&str>,
        data: impl Serialize,
    ) -> Result<()> {
        if level.severity().is_none() {
            let text = "there are eight levels of log messages: see LoggingLevel";
            return Err(Error::invalid(text));
        }
        let mut params = LoggingMessageNotificationParams::new(level, &data)?;
        params.logger = logger.map(str::to_owned);
        if self.0.services.logging {
            self.0.subscriptions.log(&params);
        }
        Ok(())
    }

    /// Ends all `subscriptions/listen` streams with their result, so that clients know that the end
    /// is intended. Connections and calls continue.
    pub fn end_subscriptions(&self) {
        self.0.subscriptions.end_streams();
    }

    /// Starts to serve a client on threads of the new connection, and returns at once. Dropping the
    /// returned connection closes it.
    ///
    /// # Errors
    ///
    /// An error when the transport can't be opened.
    pub fn open(&self, transport: impl Transport + 'static) -> Result<Connection> {
        self.open_link(None, transport)
    }

    /// Starts to serve a client that acts on behalf of an authenticated user, and returns at once.
    ///
    /// The host may know the user from the credentials of a Unix socket, from a certificate, or
    /// because the user has started the client. Guards and handlers see the principal. The sealed
    /// state of a call is valid only for the principal that it was made for. Scopes are checked
    /// only if the principal lists its granted scopes ([`Principal::scopes`]).
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub fn open_for(
        &self,
        principal: impl Into<Principal>,
        transport: impl Transport + 'static,
    ) -> Result<Connection> {
        self.open_link(Some(principal.into()), transport)
    }

    /// Returns the number of a connection that this server [opened](Self::open), or `None` for any
    /// other connection.
    ///
    /// The calls of a connection have this number too ([`Context::connection`]), and so do its
    /// session events ([`ServerBuilder::on_session`]).
    pub fn number_of(&self, connection: &Connection) -> Option<u64> {
        let connection = connection.peer().core().local::<ServerConnection>()?;
        Arc::ptr_eq(&connection.server, &self.0).then_some(connection.conversation().number)
    }

    fn open_link(
        &self,
        principal: Option<Principal>,
        transport: impl Transport + 'static,
    ) -> Result<Connection> {
        let connection = ServerConnection::new(&self.0, principal);
        Self::connection(&connection).open(transport)
    }

    /// Returns a connection builder with the settings of the server.
    fn connection(connection: &Arc<ServerConnection>) -> ConnectionBuilder {
        let inner = &connection.server;
        let begun = inner.beginning.get_or_init(|| {
            let connection = Connection::server()
                .handlers(dispatch::handlers(inner))
                .limits(inner.services.limits.clone())
                .threads(&inner.threads)
                .drain(inner.drain)
                .slow_handler(inner.slow_handler)
                .keep_alive(inner.keep_alive);
            match &inner.log {
                Some(log) => connection.log(Arc::clone(log)),
                None => connection,
            }
        });
        let number = connection.conversation().number;
        let local: Arc<ServerConnection> = Arc::clone(connection);
        let connection = begun.clone().local(local);
        match inner.on_event.clone() {
            Some(hook) => connection.on_incident(Arc::new(move |trouble| {
                ServerEvent::new(trouble, Some(number)).tell(&hook);
            })),
            None => connection,
        }
    }

    /// Notifies the client that a URL mode elicitation is complete. Returns whether a notification
    /// was sent.
    ///
    /// `elicitation_id` is the unique id that the handler gave the elicitation
    /// ([`ElicitRequestURLParams::elicitation_id`](crate::schema::ElicitRequestURLParams::elicitation_id)).
    /// Only the client that got the elicitation is notified, and only once. Only revision
    /// 2025-11-25 has this notification. In other revisions nothing is sent, and the client retries
    /// by itself. This function may be called from any thread, for example that of a web server.
    ///
    /// Spec: Client Features, "Elicitation", "Completion Notifications for URL Mode Elicitation"
    /// (2025-11-25).
    ///
    /// # Errors
    ///
    /// The errors of [`Peer::notify`](crate::protocol::Peer::notify).
    pub fn elicitation_complete(&self, elicitation_id: &str) -> Result<bool> {
        let Some(peer) = self.0.services.pages.remove(elicitation_id) else {
            return Ok(false);
        };
        let params = schema::ElicitationCompleteNotificationParams::new(elicitation_id);
        peer.notify(schema::method::NOTIFICATIONS_ELICITATION_COMPLETE, &params)?;
        Ok(true)
    }

    /// Serves a client and blocks until the connection has ended.
    ///
    /// When the client closes its side, or the host calls [`ShutdownHandle::shutdown`], active
    /// calls may finish within [`ServerBuilder::drain`].
    ///
    /// # Errors
    ///
    /// An error when the transport can't be opened or fails. If the client closes the connection or
    /// the server is shut down, the function returns `Ok`.
    pub fn serve(&self, transport: impl Transport + 'static) -> Result<()> {
        let connection = self.open(transport)?;
        let core = Arc::clone(connection.peer().core());
        let _shutdown = self.0.shutdown.on_trigger(move || {
            core.end(&Error::new(ErrorKind::Closed, "the server is shut down"));
        });
        let error = connection.wait();
        if error.kind() == ErrorKind::Closed {
            Ok(())
        } else {
            Err(error)
        }
    }

    /// Returns where clients reach the server, how many they are, and which addresses could not be
    /// opened. A program shows the state to a person, for example on a settings page.
    ///
    /// Connections that the host opens itself ([`open`](Self::open), [`serve`](Self::serve)) and an
    /// `HttpService` in the host's own web server are not part of the state.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::server::{Endpoint, Publish, Server};
    ///
    /// # let name = format!("state-{}", std::process::id());
    /// # let name = &*name;
    /// let server = Server::builder("editor", "4.2").build()?;
    /// let publication = server.publish(name, Publish::new().title("scene.blend"))?;
    /// let state = server.state();
    /// assert!(matches!(state.endpoints[0], Endpoint::Published { clients: 0, .. }));
    /// assert_eq!(state.to_string(), format!("published as {name} (scene.blend): 0 clients\n"));
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn state(&self) -> ServerState {
        self.0.endpoints.state()
    }

    /// Returns a handle that ends [`serve`](Self::serve) and [`serve_stdio`](Self::serve_stdio)
    /// from another thread, for example when a signal arrives.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use mcplink::server::Server;
    ///
    /// let server = Server::builder("clock", "1.0").build()?;
    /// let shutdown = server.shutdown_handle();
    /// std::thread::spawn(move || {
    ///     // Wait for a signal here.
    ///     shutdown.shutdown();
    /// });
    /// server.serve_stdio()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        ShutdownHandle(self.0.shutdown.clone())
    }

    /// Serves the parent process over the standard streams. Blocks until the parent process closes
    /// the streams.
    ///
    /// # Errors
    ///
    /// The errors of [`serve`](Self::serve), and [`ErrorKind::State`] when the standard streams are
    /// in use already.
    pub fn serve_stdio(&self) -> Result<()> {
        self.serve(Stdio::new())
    }
}

/// A handle that ends [`Server::serve`] and [`Server::serve_stdio`], from any thread. See
/// [`Server::shutdown_handle`].
#[derive(Clone, Debug)]
pub struct ShutdownHandle(CancelToken);

impl ShutdownHandle {
    /// Shuts the server down. The server reads no more messages, and lets active calls finish
    /// within [`ServerBuilder::drain`]. In the legacy era a call that waits for an answer of the
    /// client fails, because the answer is not read any more. Then the functions that serve return
    /// `Ok`, and a later call of these functions returns at once.
    ///
    /// This function does not block. Further calls have no effect. Connections that the host has
    /// [opened](Server::open) itself and HTTP servers are not ended: close them with
    /// [`Connection::close`] and `HttpServer::close`.
    pub fn shutdown(&self) {
        self.0.cancel();
    }
}

debug_fields!(
    Server,
    info = |it| &it.0.services.info,
    tools = |it| &it.0.tools,
    prompts = |it| &it.0.prompts,
    resources = |it| &it.0.resources,
    templates = |it| &it.0.templates
);

/// Returns a new id of a session or a task, which can't be guessed. The id begins with the name of
/// the replica, if there is one.
#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_replica_is_short_and_plain() {
        let build = |name: &str| Server::builder("s", "1").replica(name).build();
        for name in ["r1", "A-z_09", &"x".repeat(32)] {
            assert!(build(name).is_ok(), "{name}");
        }
        for name in ["", "a b", "a.b", "ä", "a/b", &"x".repeat(33)] {
            let error = build(name).expect_err("no name");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
        }
    }
}
