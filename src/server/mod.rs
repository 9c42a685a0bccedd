//! A server: tools, resources and prompts that a peer can list and use, in every revision.
//!
//! A [`Server`] is a set of tools, resources and prompts with a name. It serves any number of connections at once, each with
//! [`serve`](Server::serve) or [`open`](Server::open); the set can change meanwhile, from any thread. Handlers are written once: which
//! revision a client speaks, and how, is seen only by those who ask their [`Context`].
//!
//! **Changes** of what a server has are told to its clients by themselves, and [`Server::resource_updated`] tells that of a resource; on
//! the connection of a legacy client, on the `subscriptions/listen` streams of a modern one. Nobody waits for a client to read them.
//!
//! **Threads.** Handlers run on the threads of the connection that the call came from, many at once, up to
//! [`max_workers`](crate::transport::Limits::max_workers); a handler that keeps its call ([`ToolCall`],
//! [`ResourceCall`], [`PromptCall`], [`CompletionCall`]) and returns occupies none. Listing and
//! opening never wait for a handler.

mod asking;
mod builder;
mod call;
mod catalogue;
mod completion;
mod context;
mod conversation;
mod dispatch;
mod events;
mod failure;
mod folder;
mod guard;
mod held;
#[cfg(feature = "http-server")]
pub mod http;
mod hub;
mod once;
mod output;
mod pages;
mod paging;
mod progress;
mod prompts;
mod question_rules;
mod questions;
mod rate;
mod resources;
mod rounds;
mod scopes;
mod state;
mod store;
mod tasks;
mod tools;
mod uri;

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::asking::AskError;
pub use self::builder::ServerBuilder;
pub use self::call::ToolCall;
use self::completion::{Completers, CompletionHandler};
pub use self::completion::{Completing, CompletionCall, CompletionOutput};
pub use self::context::Context;
use self::conversation::LatestTerms;
pub use self::conversation::Terms;
use self::dispatch::Link;
#[cfg(feature = "cffi")]
pub(crate) use self::dispatch::origin_of;
use self::events::{EventHook, SessionHook};
pub use self::events::{ServerEvent, ServerEventKind, Session, SessionEvent, SessionTransport};
pub use self::failure::HandlerError;
pub use self::folder::Folder;
use self::guard::Guards;
pub use self::guard::{Access, Guard, Outgoing, Primitive};
use self::held::Room;
use self::hub::{Event, Hub};
pub use self::output::{Json, ToolError, ToolOutput};
use self::pages::Pages;
pub use self::paging::List;
pub use self::prompts::{PromptCall, PromptOutput};
use self::prompts::{PromptHandler, Prompts};
pub use self::rate::RateLimit;
pub use self::resources::{Cached, ResourceCall, ResourceOutput, ResourceRead};
use self::resources::{ReadHandler, Resources, Templates};
use self::scopes::Requirements;
use self::state::KeyRing;
pub use self::state::StateKey;
pub use self::store::{MemoryStateStore, StateStore};
pub use self::tasks::TaskOptions;
use self::tasks::Tasks;
use self::tools::{ToolHandler, Tools};
use crate::error::{Error, ErrorKind, Result};
pub use crate::protocol::principal::Principal;
use crate::protocol::{Connection, ConnectionBuilder, Handlers, KeepAlive, LogHook};
use crate::schema::{
    CacheHint, CompletionReference, Implementation, JsonObject, LoggingLevel,
    LoggingMessageNotificationParams, Prompt, ProtocolVersion, Resource, ResourceTemplate, Tool,
};
use crate::transport::{Limits, Stdio, Threads, Transport};
use crate::validation::Validator;

/// A server. Cheap to clone; clones share what it has.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    info: Implementation,
    /// What travels beside each result of the modern era.
    meta_text: OnceLock<Box<str>>,
    instructions: Option<String>,
    /// Newest first.
    revisions: Vec<ProtocolVersion>,
    names_itself: bool,
    tools: Tools,
    prompts: Prompts,
    resources: Resources,
    templates: Templates,
    completers: Completers,
    requirements: Requirements,
    guards: Guards,
    /// By their ids, with their settings.
    extensions: JsonObject,
    logging: bool,
    resource_updates: bool,
    list_changes: bool,
    hub: Arc<Hub>,
    /// What calls hold, of all connections together.
    held: Room,
    /// The same for the addresses that legacy clients have subscribed to.
    subscribed: Room,
    page_size: Option<NonZeroUsize>,
    hints: HashMap<List, CacheHint>,
    /// What the host handles itself.
    methods: Handlers,
    /// All that is handled, made for the first connection.
    /// How each connection begins.
    beginning: OnceLock<ConnectionBuilder>,
    limits: Limits,
    threads: Threads,
    drain: Duration,
    slow_handler: Duration,
    keep_alive: Option<KeepAlive>,
    log: Option<LogHook>,
    on_session: Option<SessionHook>,
    on_event: Option<EventHook>,
    /// Seal what calls know between rounds.
    keys: KeyRing,
    state_lifetime: Duration,
    /// Has each state taken once.
    state_store: Option<Arc<dyn StateStore>>,
    pages: Pages,
    /// Switched on by the host.
    tasks: Option<Tasks>,
    /// What checks arguments and structured results of tools.
    validator: Option<Validator>,
    /// The host was told that a tool embeds resources though the server has none.
    embeds_undeclared: AtomicBool,
    /// How many connections there were.
    connections: AtomicU64,
    latest_terms: LatestTerms,
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
    /// [`ErrorKind::Invalid`] when the name is taken or not a tool name, or the input schema is not one of an object. With a
    /// [`validator`](ServerBuilder::validator) also as [`Validator::compile`] says, of both schemas.
    pub fn add_tool<A, R>(
        &self,
        tool: Tool,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()>
    where
        A: DeserializeOwned,
        R: ToolOutput,
    {
        self.add(tool, output::answering(handler))
    }

    fn add(&self, tool: Tool, handler: ToolHandler) -> Result<()> {
        self.0.add_tool(tool, handler)?;
        self.0.hub.publish(Event::ToolsChanged);
        Ok(())
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
        self.add(tool, Arc::new(handler))
    }

    /// Takes a tool away; calls of it that run go on. Returns whether there was one of that name.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.0.tools.remove(name);
        if removed {
            self.0.hub.publish(Event::ToolsChanged);
        }
        removed
    }

    /// Adds a resource. See [`ServerBuilder::resource`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the address is taken or not an address (RFC 3986).
    pub fn add_resource<R: ResourceOutput>(
        &self,
        resource: Resource,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()> {
        self.add_reading(resource, resources::reading(handler))
    }

    fn add_reading(&self, resource: Resource, handler: ReadHandler) -> Result<()> {
        resources::add(&self.0.resources, resource, handler)?;
        self.0.hub.publish(Event::ResourcesChanged);
        Ok(())
    }

    /// Adds a resource whose handler may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// As [`add_resource`](Self::add_resource).
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
    ///     // Without anyone to answer it is dropped, and the client told that the server failed.
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
        self.add_reading(resource, Arc::new(handler))
    }

    /// Takes a resource away. Returns whether there was one of that address.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.0.resources.remove(uri);
        if removed {
            self.0.hub.publish(Event::ResourcesChanged);
        }
        removed
    }

    /// Adds resources whose addresses follow a template. See [`ServerBuilder::template`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the template is there already, or is not one that can be told apart.
    pub fn add_template<R: ResourceOutput>(
        &self,
        template: ResourceTemplate,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()> {
        self.add_pattern(template, resources::reading(handler))
    }

    fn add_pattern(&self, template: ResourceTemplate, handler: ReadHandler) -> Result<()> {
        resources::add_template(&self.0.templates, template, handler)?;
        self.0.hub.publish(Event::ResourcesChanged);
        Ok(())
    }

    /// Adds resources whose addresses follow a template, and whose handler may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// As [`add_template`](Self::add_template).
    pub fn add_deferred_template(
        &self,
        template: ResourceTemplate,
        handler: impl Fn(ResourceCall) + Send + Sync + 'static,
    ) -> Result<()> {
        self.add_pattern(template, Arc::new(handler))
    }

    /// Takes a template away. Returns whether there was this one.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        let removed = self.0.templates.remove(uri_template);
        if removed {
            self.0.hub.publish(Event::ResourcesChanged);
        }
        removed
    }

    /// Adds a prompt. See [`ServerBuilder::prompt`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the name is taken or empty, or two arguments have the same one.
    pub fn add_prompt<A: DeserializeOwned, R: PromptOutput>(
        &self,
        prompt: Prompt,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()> {
        self.add_prompting(prompt, prompts::prompting(handler))
    }

    fn add_prompting(&self, prompt: Prompt, handler: PromptHandler) -> Result<()> {
        prompts::add(&self.0.prompts, prompt, handler)?;
        self.0.hub.publish(Event::PromptsChanged);
        Ok(())
    }

    /// Adds a prompt whose handler may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// As [`add_prompt`](Self::add_prompt).
    pub fn add_deferred_prompt(
        &self,
        prompt: Prompt,
        handler: impl Fn(PromptCall) + Send + Sync + 'static,
    ) -> Result<()> {
        self.add_prompting(prompt, Arc::new(handler))
    }

    /// Takes a prompt away. Returns whether there was one of that name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.0.prompts.remove(name);
        if removed {
            self.0.hub.publish(Event::PromptsChanged);
        }
        removed
    }

    /// Adds a completer. See [`ServerBuilder::completer`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the argument has one already.
    pub fn add_completer<R: CompletionOutput>(
        &self,
        reference: &CompletionReference,
        argument: &str,
        handler: impl Fn(&Completing, &Context) -> R + Send + Sync + 'static,
    ) -> Result<()> {
        let handler = completion::completing(handler);
        self.0.completers.add(reference, argument, handler)
    }

    /// Adds a completer that may keep the call and answer later, from any thread.
    ///
    /// # Errors
    ///
    /// As [`add_completer`](Self::add_completer).
    pub fn add_deferred_completer(
        &self,
        reference: &CompletionReference,
        argument: &str,
        handler: impl Fn(CompletionCall) + Send + Sync + 'static,
    ) -> Result<()> {
        let handler: CompletionHandler = Arc::new(handler);
        self.0.completers.add(reference, argument, handler)
    }

    /// Tells everybody who subscribed to a resource that it changed: legacy clients and modern ones alike.
    ///
    /// Only queues, from any thread: a client that does not read delays nobody. Changes that wait merge: a client is told at once of a change
    /// that comes alone, and of many in a row that the resource changed, at most every 10 ms.
    pub fn resource_updated(&self, uri: &str) {
        self.0.hub.publish(Event::Updated(uri));
    }

    /// Sends a log message that belongs to no call to every client of the legacy era that wants it: those at or above the level that it set
    /// with `logging/setLevel`, or *info*. A modern client gets only those of its calls: see [`Context::log`].
    ///
    /// Does nothing unless the server was built with [`logging`](ServerBuilder::logging). Only queues, from any thread; a client that does not
    /// read misses what exceeds [`max_backlog`](crate::transport::Limits::max_backlog).
    ///
    /// Spec: Server Features, Utilities, "Logging" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `data` can't be written as JSON, or the level is not one of the specification's.
    pub fn log(
        &self,
        level: LoggingLevel,
        logger: Option<&str>,
        data: impl Serialize,
    ) -> Result<()> {
        if level.severity().is_none() {
            let text = "there are eight levels of log messages: see LoggingLevel";
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let mut params = LoggingMessageNotificationParams::new(level, &data)?;
        params.logger = logger.map(str::to_owned);
        if self.0.logging {
            self.0.hub.publish(Event::Log(&params));
        }
        Ok(())
    }

    /// Ends all `subscriptions/listen` streams in order, so that clients know it was on purpose. Connections and calls go on.
    pub fn end_subscriptions(&self) {
        self.0.hub.end_streams();
    }

    /// Serves a peer on threads of the connection, and returns at once. The connection ends when it is dropped.
    ///
    /// # Errors
    ///
    /// When the transport can't be opened.
    pub fn open(&self, transport: impl Transport + 'static) -> Result<Connection> {
        self.open_link(None, transport)
    }

    /// The same for a peer that acts on behalf of a user whom the host has made sure of: by the credentials of a Unix socket, by a
    /// certificate, or because the user started it. Guards and handlers see the principal, and what the client keeps between the rounds of a call is
    /// worth nothing in other hands. Scopes that tools need count only for a principal that says what was granted
    /// ([`Principal::scopes`]).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_for(
        &self,
        principal: impl Into<Principal>,
        transport: impl Transport + 'static,
    ) -> Result<Connection> {
        self.open_link(Some(principal.into()), transport)
    }

    /// The number of a connection that this server was [opened](Self::open) with, which its calls ([`Context::connection`]) and what is told of
    /// its session ([`ServerBuilder::on_session`]) have too. `None` for another connection.
    pub fn number_of(&self, connection: &Connection) -> Option<u64> {
        let link = connection.peer().core().local::<Link>()?;
        Arc::ptr_eq(&link.server, &self.0).then_some(link.number)
    }

    fn open_link(
        &self,
        principal: Option<Principal>,
        transport: impl Transport + 'static,
    ) -> Result<Connection> {
        let link = Link::new(&self.0, principal);
        Self::connection(&link).open(transport)
    }

    /// A connection with the settings of a server.
    fn connection(link: &Arc<Link>) -> ConnectionBuilder {
        let inner = &link.server;
        let begun = inner.beginning.get_or_init(|| {
            let connection = Connection::serving()
                .handlers(dispatch::handlers(inner))
                .limits(inner.limits.clone())
                .threads(&inner.threads)
                .drain(inner.drain)
                .slow_handler(inner.slow_handler)
                .keep_alive(inner.keep_alive);
            match &inner.log {
                Some(log) => connection.log(Arc::clone(log)),
                None => connection,
            }
        });
        let link: Arc<Link> = Arc::clone(link);
        let number = link.number;
        let connection = begun.clone().local(link);
        match inner.on_event.clone() {
            Some(hook) => connection.on_trouble(Arc::new(move |trouble| {
                ServerEvent::new(trouble, Some(number)).tell(&hook);
            })),
            None => connection,
        }
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
            .field("tools", &self.0.tools)
            .field("prompts", &self.0.prompts)
            .field("resources", &self.0.resources)
            .field("templates", &self.0.templates)
            .finish_non_exhaustive()
    }
}
