//! The builder of a server.

// In the order in which users need the methods, which rustdoc keeps.
mod tools;

mod resources;

mod prompts;

mod scopes;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use super::Server;
use super::conversation::CallServices;
use super::debug_fields::debug_fields;
use super::event_bus::EventBus;
use super::events::{ServerEvent, SessionEvent};
use super::guard::Guard;
use super::inner::{Declared, Inner};
use super::pages::Pages;
use super::paging::List;
use super::records::RecordStore;
use super::scopes::Requirements;
use super::session_state::LatestContext;
use super::state::{KeyRing, StateKey};
use super::store::StateStore;
use super::subscriptions::Subscriptions;
use super::tasks::{self, TaskOptions, Tasks};
use super::tools::{NewTool, Tools};
use crate::error::{Error, Excerpt, Result};
use crate::jsonrpc::Request;
use crate::protocol::{CancelToken, Handlers, KeepAlive, LogRecord, Responder};
use crate::schema::{
    CacheHint, Implementation, JsonObject, ProtocolVersion, ServerCapabilities, check_extension_id,
};
use crate::transport::{Limits, Threads};
use crate::validation::Validator;

/// A builder for a [`Server`]. Invalid settings are reported only when the server is created, by
/// [`build`](Self::build) or [`serve_stdio`](Self::serve_stdio).
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "schemars")]
/// # fn main() -> mcplink::Result<()> {
/// use mcplink::schema::Resource;
/// use mcplink::server::Server;
/// use serde_json::Value;
///
/// let server = Server::builder("notes", "1.0")
///     .instructions("Notes are in English.")
///     .tool("add", "Adds a note", |note: Value, _| format!("added {note}"))
///     .resource(Resource::new("notes://today", "today"), |_, _| "Buy milk.")
///     .build()?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "schemars"))]
/// # fn main() {}
/// ```
#[must_use = "a server that is not built serves nobody"]
pub struct ServerBuilder {
    pub(super) inner: Inner,
    /// The tools to add. [`build`](Self::build) adds them, since adding a tool needs the validator.
    tools: Vec<NewTool>,
    /// Steps that need all settings. [`build`](Self::build) runs them in order.
    finishing: Vec<Finish>,
    event_bus: Option<Arc<dyn EventBus>>,
    record_store: Option<Arc<dyn RecordStore>>,
    lease: Duration,
    /// Whether the host has set the state keys.
    has_state_keys: bool,
    fault: Option<Error>,
}

type Finish = Box<dyn FnOnce(&mut Inner) -> Result<()> + Send + Sync>;

impl ServerBuilder {
    pub(super) fn new(info: Implementation) -> Self {
        let (keys, fault) = match StateKey::random() {
            Ok(key) => (vec![key], None),
            // This key is never used: `build` returns the error.
            Err(error) => (vec![StateKey::new([0; 32])], Some(error)),
        };
        let keys = KeyRing::new(keys).expect("there is one key");
        let inner = Inner {
            services: Arc::new(CallServices::new(info, keys)),
            instructions: None,
            revisions: ProtocolVersion::ALL.iter().rev().copied().collect(),
            tools: Tools::default(),
            prompts: Default::default(),
            resources: Default::default(),
            templates: Default::default(),
            unlisted_resources: None,
            completers: Default::default(),
            declared: Declared::default(),
            requirements: Requirements::default(),
            own_capabilities: ServerCapabilities::default(),
            extensions: JsonObject::new(),
            resource_updates: true,
            list_changes: true,
            subscriptions: Default::default(),
            event_delivery: None,
            subscribed: Default::default(),
            page_size: None,
            hints: HashMap::new(),
            methods: Handlers::new(),
            beginning: Default::default(),
            threads: Threads::default(),
            drain: Duration::from_secs(5),
            slow_handler: Duration::from_secs(30),
            keep_alive: None,
            log: None,
            on_session: None,
            on_event: None,
            replica: None,
            tasks: None,
            skills: None,
            feature_methods: Vec::new(),
            validator: Some(Validator::for_own_schemas()),
            latest_terms: LatestContext::default(),
            connections: Default::default(),
            endpoints: Default::default(),
            shutdown: CancelToken::new(),
        };
        Self {
            inner,
            tools: Vec::new(),
            finishing: Vec::new(),
            event_bus: None,
            record_store: None,
            lease: Duration::from_secs(15),
            has_state_keys: false,
            fault,
        }
    }

    /// Sets the server's title, description, icons and home page. Also replaces the server's name
    /// and version.
    pub fn info(mut self, info: Implementation) -> Self {
        self.services().info = info;
        self
    }

    /// Sets instructions for models on how to use the server.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.inner.instructions = Some(instructions.into());
        self
    }

    /// Sets the revisions to serve. Defaults to all revisions.
    pub fn revisions(mut self, revisions: &[ProtocolVersion]) -> Self {
        if revisions.is_empty() {
            return self.noting(Err(Error::invalid("a server needs at least one revision")));
        }
        let newest_first = ProtocolVersion::ALL.iter().rev();
        let chosen = newest_first.filter(|revision| revisions.contains(revision));
        self.inner.revisions = chosen.copied().collect();
        self
    }

    /// Sets whether results contain the server's name and version (since 2026-07-28). Defaults to
    /// yes.
    pub fn send_server_info(mut self, send_server_info: bool) -> Self {
        self.services().send_server_info = send_server_info;
        self
    }

    /// Sets the limits of each connection. Defaults to [`Limits::default`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.services().limits = limits;
        self
    }

    /// Sets the properties of the threads that serve the server's connections and listeners.
    /// Defaults to [`Threads::new`].
    pub fn threads(mut self, threads: &Threads) -> Self {
        self.inner.threads = threads.clone();
        self
    }

    /// Sets how long active calls may continue after the client has closed its side of the
    /// connection. Defaults to 5 s.
    ///
    /// Requests without an answer are then answered with an error (-32603), and their handlers are
    /// cancelled.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.inner.drain = drain;
        self
    }

    /// Sets the time after which a handler is logged as slow: see
    /// [`ConnectionBuilder::slow_handler`](crate::protocol::ConnectionBuilder::slow_handler).
    /// Defaults to 30 s.
    pub fn slow_handler(mut self, slow_handler: Duration) -> Self {
        self.inner.slow_handler = slow_handler;
        self
    }

    /// Sets when legacy clients that are silent get pings, and when the connection of a client that
    /// does not answer is closed.
    ///
    /// By default no pings are sent. Modern clients never get pings, since no server may send
    /// requests to them. The transport must support timeouts
    /// ([`Receiver::is_patient`](crate::transport::Receiver::is_patient)).
    ///
    /// Spec: Base Protocol, Utilities, "Ping" (up to 2025-11-25).
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.inner.keep_alive = Some(keep_alive);
        self
    }

    /// Sets the name of this replica, for servers that several processes serve: at most 32 ASCII
    /// letters, digits, `-` and `_`. By default a server has no name.
    ///
    /// The ids of HTTP sessions and of tasks then begin with the name and a dot, as in `r1.x7Qk`.
    /// Only the process that created a session or a task knows it. By the name, a proxy finds this
    /// process: the header field `Mcp-Session-Id` has the id of the session, and the field
    /// `Mcp-Name` has the id of the task (since 2026-07-28). Clients see the name.
    /// [`build`](Self::build) fails if the name is invalid.
    pub fn replica(mut self, name: impl Into<String>) -> Self {
        match replica_name(&name.into()) {
            Ok(name) => self.inner.replica = Some(name),
            Err(error) => return self.noting(Err(error)),
        }
        self
    }

    /// Sets the keys that seal (encrypt and authenticate) the state of a call. The client keeps the
    /// sealed state while it answers input requests (since 2026-07-28). The first key seals states.
    /// Every key can open states. Defaults to a random key for this server.
    ///
    /// If several replicas serve the same clients, give all replicas the same keys. To change the
    /// key, put the new key first. Remove the old key when all states that it has sealed have
    /// expired.
    pub fn state_keys(mut self, keys: &[StateKey]) -> Self {
        match KeyRing::new(keys.to_vec()) {
            Some(keys) => {
                self.services().keys = keys;
                self.has_state_keys = true;
            }
            None => {
                return self.noting(Err(Error::invalid("a server needs at least one state key")));
            }
        }
        self
    }

    /// Sets how long a client may take to answer input requests (since 2026-07-28). Defaults to 10
    /// minutes. Zero is an error.
    ///
    /// With its answers, the client sends back the sealed state of the call. Within this time the
    /// client can send the same state more than once, unless there is a
    /// [`state_store`](Self::state_store).
    pub fn state_lifetime(mut self, lifetime: Duration) -> Self {
        if lifetime.is_zero() {
            let text = "a client needs time to answer: ServerBuilder::state_lifetime is nothing";
            return self.noting(Err(Error::invalid(text)));
        }
        self.services().state_lifetime = lifetime;
        self
    }

    /// Sets the store that makes each sealed state usable only once: it remembers the states that
    /// clients have presented (since 2026-07-28). Defaults to no store.
    ///
    /// Without a store, a client that sends its answers twice makes the handler run twice, with its
    /// side effects. The repetition helps a client whose connection broke, and is harmless for most
    /// tools. Use a store for effects that must not happen twice, such as a payment. With a store,
    /// a client whose connection broke must start the call anew.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::server::{MemoryStateStore, Server};
    ///
    /// let server = Server::builder("shop", "1.0")
    ///     .state_store(MemoryStateStore::default())
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn state_store(mut self, store: impl StateStore + 'static) -> Self {
        self.services().state_store = Some(Arc::new(store));
        self
    }

    /// Sets the bus by which the processes of this server tell each other of changes. Defaults to
    /// no bus: then only the clients of this process are notified of its changes.
    ///
    /// Shared are [`resource_updated`](Server::resource_updated) and the changes of lists. All
    /// processes are expected to offer the same lists, so a change in one of them is announced to
    /// the clients of all. Changes of tasks are shared too, if the processes share a
    /// [`record_store`](Self::record_store). Log messages are not shared.
    ///
    /// # Examples
    ///
    /// See [`MemoryEventBus`](super::MemoryEventBus).
    pub fn event_bus(mut self, bus: impl EventBus + 'static) -> Self {
        self.event_bus = Some(Arc::new(bus));
        self
    }

    /// Sets the store by which the processes of this server share [`tasks`](Self::tasks) (since
    /// 2026-07-28). Defaults to no store: then a task is known to the process that created it only.
    ///
    /// A task still runs in the process that created it. The other processes answer requests about
    /// the task from the store: they show its state and its result, pass on answers to its input
    /// requests, and cancel it. When the process ends, its working tasks fail (see
    /// [`lease`](Self::lease)). The results of the others stay until the end of their lifetime.
    ///
    /// All processes need the same [`state_keys`](Self::state_keys), which encrypt what is stored.
    /// Without an [`event_bus`](Self::event_bus), a process notices only after a third of the lease
    /// that another process has changed a task.
    ///
    /// While the store fails, calls that require a task are refused as "busy", other calls run
    /// without a task, and each process still knows its own tasks. [`build`](Self::build) fails
    /// without state keys.
    ///
    /// # Examples
    ///
    /// See [`MemoryRecordStore`](super::MemoryRecordStore).
    pub fn record_store(mut self, store: impl RecordStore + 'static) -> Self {
        self.record_store = Some(Arc::new(store));
        self
    }

    /// Sets after which time a process that no longer writes to the
    /// [`record_store`](Self::record_store) counts as ended, at least a second. Defaults to 15
    /// seconds. Its working tasks then fail.
    ///
    /// Each process with tasks renews its lease every third of this time. A process that is
    /// suspended or separated from the store for longer loses its working tasks.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
        self
    }

    /// Enables tasks: a client gets a task at once, and fetches the result of the call later. By
    /// default there are no tasks.
    ///
    /// [`Tool::execution`](crate::schema::Tool::execution) says which tools may, or must, run as
    /// tasks. By default, a tool may not run as a task. A client of 2025-11-25 requests a task with
    /// each call. Since 2026-07-28 the server decides: each call of a tool with optional or
    /// required tasks becomes a task, if the client declares the extension
    /// `io.modelcontextprotocol/tasks`.
    ///
    /// Clients that don't request a task, or don't declare the extension, get the result directly
    /// from a tool with optional tasks. A tool that requires tasks refuses the calls of these
    /// clients, but not the calls of clients whose revision has no tasks. Handlers need no change.
    /// A handler can also decide for each call: see
    /// [`Context::become_task`](crate::server::Context::become_task).
    ///
    /// The id of a task is 192 random bits. A task is visible to the principal that made the call.
    /// Without a principal, every client that knows the id can see and cancel the task, and tasks
    /// can't be listed.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{TaskSupport, Tool, ToolExecution};
    /// use mcplink::server::{Server, TaskOptions};
    ///
    /// let optional = ToolExecution::default().task_support(TaskSupport::Optional);
    /// let tool = Tool::new("render").execution(optional);
    /// let server = Server::builder("studio", "1.0")
    ///     .tasks(TaskOptions::default())
    ///     .tool_with(tool, |_: serde_json::Value, _| "a picture")
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    // L-TASK-B-24
    pub fn tasks(mut self, options: TaskOptions) -> Self {
        self.inner.tasks = Some(Tasks::new(options));
        self.inner.feature_methods.extend(tasks::METHODS);
        self.services().begin_task = Some(tasks::begin);
        self
    }

    /// Sets the JSON Schema validator for tools. Defaults to [`Validator::json_schema`] with the
    /// feature `validation`. Without the feature, the default checks the common keywords of schemas
    /// that were not derived from a type: types, choices, bounds, lengths, required and other
    /// members, and items. `None` disables validation.
    ///
    /// The validator checks arguments before handlers run, and structured results before they are
    /// sent. It also checks both schemas of a tool when the tool is added.
    ///
    /// If arguments are invalid, the client gets a result with `isError` and the position of the
    /// fault, so that the model can correct them. If a result is invalid, the client gets an
    /// internal error, and the details are logged ([`on_log`](Self::on_log)). Even without a
    /// validator, arguments must be an object and must match the handler's type.
    ///
    /// Spec: Server Features, Tools, "Security Considerations" and "Output Schema".
    pub fn validator(mut self, validator: impl Into<Option<Validator>>) -> Self {
        self.inner.validator = validator.into();
        self
    }

    /// Sets the hook for log records of the library. The hook is called for one record at a time,
    /// on any thread. It should be quick.
    ///
    /// By default records are discarded. But if the client gets no more than "internal error" for
    /// the failure of a handler, the first such failure is written to standard error, unless a hook
    /// for events ([`on_event`](Self::on_event)) or a logger of the crate `log` gets it.
    pub fn on_log(mut self, hook: impl Fn(&LogRecord<'_>) + Send + Sync + 'static) -> Self {
        self.inner.log = Some(Arc::new(hook));
        self
    }

    /// Sets the hook for sessions that begin and end. By default there is no hook.
    ///
    /// A session begins with `initialize` or with the first request of the modern era. It ends with
    /// its connection, or with its HTTP session. The hook is called on a thread of the connection,
    /// one event at a time and in order for each session. The hook may run at the same time as the
    /// session's first requests. It should be quick.
    ///
    /// HTTP clients without a session are not reported. Modern HTTP clients never have a session.
    /// Closing a connection blocks until the hook was called for the session's end. It does not
    /// block if the hook itself closes the connection.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::server::{Server, SessionEvent};
    ///
    /// let server = Server::builder("hello", "1.0")
    ///     .on_session(|event| match event {
    ///         SessionEvent::Began { session, .. } => {
    ///             println!("{} speaks {}", session.peer, session.revision);
    ///         }
    ///         SessionEvent::Ended { session, .. } => println!("{} has gone", session.peer),
    ///         _ => {}
    ///     })
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn on_session(mut self, hook: impl Fn(SessionEvent) + Send + Sync + 'static) -> Self {
        self.inner.on_session = Some(Arc::new(hook));
        self
    }

    /// Sets the hook for incidents with clients, for hosts that count them, raise alarms or block
    /// clients. By default there is no hook.
    ///
    /// An incident is a failed handler or a refused request. A refused request is malformed, too
    /// long, above a limit, or not allowed. The hook may be called on any thread, and on several
    /// threads at once. It should be quick.
    ///
    /// [`ServerEvent::kind`] distinguishes the kinds of incidents, so a program need not parse the
    /// text. Most incidents also appear in the [log](Self::on_log).
    pub fn on_event(mut self, hook: impl Fn(&ServerEvent) + Send + Sync + 'static) -> Self {
        self.inner.on_event = Some(Arc::new(hook));
        self
    }

    /// Adds a guard, which decides which clients may see and use which items, and checks outgoing
    /// results. Without guards, every client that reaches the server may use all items.
    ///
    /// With guards, lists may differ from user to user. So lists are sent as private, even if
    /// [`cache_list`](Self::cache_list) has set another hint.
    pub fn guard(mut self, guard: impl Guard + 'static) -> Self {
        self.services().guards.push(Arc::new(guard));
        self
    }

    /// Declares an extension of the protocol, with its settings. Handle its methods with
    /// [`method`](Self::method).
    ///
    /// Some clients may not support the extension. So a handler should check
    /// [`ClientCapabilities::extension`](crate::schema::ClientCapabilities::extension) in the
    /// [client info](crate::server::Context::client) of a call. If the client lacks the extension,
    /// the handler should work without the extension if possible, or refuse the call with
    /// [`Context::require_extension`](crate::server::Context::require_extension). The documentation
    /// of an extension should describe what happens with clients that lack the extension.
    ///
    /// Ids begin with the reversed domain of their owner. A change that breaks clients needs a new
    /// extension with a new id. Announce smaller changes in the settings.
    ///
    /// Spec: Base Protocol, "Versioning", "Extensions" (2026-07-28). The declaration is also sent
    /// to clients of earlier revisions.
    // M-VER-B-07, E-EXT-X-08, E-EXT-X-10, E-EXT-B-03, E-EXT-X-04, E-EXT-X-05
    pub fn extension(mut self, id: impl Into<String>, settings: JsonObject) -> Self {
        let id = id.into();
        let checked = check_extension_id(&id);
        self.inner.extensions.insert(id, settings.into());
        self.noting(checked)
    }

    /// Declares a capability that this library does not know, with its settings. Clients find it
    /// in [`ServerCapabilities::extra`](crate::schema::ServerCapabilities::extra), or, with the
    /// name `experimental`, in
    /// [`ServerCapabilities::experimental`](crate::schema::ServerCapabilities::experimental).
    /// Handle its methods with [`method`](Self::method).
    ///
    /// Use this function for a part of a later revision, or of a draft. A feature that will not
    /// become a part of the protocol should be an [`extension`](Self::extension).
    ///
    /// The names of the other capabilities of the specification are refused: the server declares
    /// them by what it offers. So is an empty name. [`build`](Self::build) then fails with
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid).
    ///
    /// Spec: Lifecycle, "Capability Negotiation" (every revision).
    pub fn capability(mut self, name: impl Into<String>, settings: JsonObject) -> Self {
        let name = name.into();
        let own = &mut self.inner.own_capabilities;
        let why = match &*name {
            "experimental" => {
                own.experimental = Some(settings);
                return self;
            }
            "" => "the name of a capability is empty".to_owned(),
            "extensions" => "extensions are declared one by one, with extension".to_owned(),
            "completions" | "logging" | "prompts" | "resources" | "tasks" | "tools" => {
                format!("the server declares the capability '{name}' by what it offers")
            }
            _ => {
                own.extra.insert(name, settings.into());
                return self;
            }
        };
        self.noting(Err(Error::invalid(why)))
    }

    /// Declares the capability of a list even if no item is registered yet. So a client that
    /// connects early knows that items may be added later. If items are registered already, their
    /// capability is declared automatically.
    pub fn declare_capability(self, list: List) -> Self {
        match list {
            List::Tools => self.inner.declare_tools(),
            List::Prompts => self.inner.declare_prompts(),
            List::Resources | List::ResourceTemplates => self.inner.declare_resources(),
            List::Skills => return self.with_skills(),
        }
        self
    }

    /// Sets whether clients may subscribe to changes of single resources: see
    /// [`Server::resource_updated`]. Defaults to yes.
    pub fn resource_updates(mut self, resource_updates: bool) -> Self {
        self.inner.resource_updates = resource_updates;
        self
    }

    /// Sets whether clients are notified when the lists of tools, prompts and resources change.
    ///
    /// Defaults to yes: `listChanged` is declared. With `false`, clients may cache the lists
    /// forever, and get no notifications. Later changes still take effect for requests.
    pub fn list_changes(mut self, list_changes: bool) -> Self {
        self.inner.list_changes = list_changes;
        self
    }

    /// Sets whether handlers may send log messages to clients with
    /// [`Context::log`](crate::server::Context::log). Defaults to no.
    ///
    /// The protocol deprecates log messages to clients since 2026-07-28: new servers should write
    /// to standard error or use OpenTelemetry.
    // M-LOG-X-14, M-LOG-X-15
    pub fn logging(mut self, logging: bool) -> Self {
        self.services().logging = logging;
        self
    }

    /// Sets the maximum number of items on a page of a list. By default all items are on one page.
    pub fn page_size(mut self, size: NonZeroUsize) -> Self {
        self.inner.page_size = Some(size);
        self
    }

    /// Sets how long and for whom the pages of a list may be cached (since 2026-07-28). Defaults to
    /// no caching.
    ///
    /// Shared caches may give a public list to other users: see [`Cached`](super::Cached).
    pub fn cache_list(mut self, list: List, hint: CacheHint) -> Self {
        self.inner.hints.insert(list, hint);
        self
    }

    /// Adds a handler for a custom method. Methods of the protocol can't be replaced.
    ///
    /// The handler's result is sent unchanged. Since 2026-07-28 the result must contain its
    /// `resultType`.
    pub fn method(
        mut self,
        name: impl Into<String>,
        handler: impl Fn(&Request, Responder) + Send + Sync + 'static,
    ) -> Self {
        self.inner.methods = self.inner.methods.request(name, handler);
        self
    }

    /// Creates the server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for the first invalid setting.
    pub fn build(mut self) -> Result<Server> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let pages = Pages::new(&self.inner.services.limits);
        self.services().pages = pages;
        let mut inner = self.inner;
        let subscriptions =
            Subscriptions::new(&inner.services.limits, &inner.threads, inner.log.clone());
        inner.subscriptions = Arc::new(subscriptions);
        if let Some(tasks) = &inner.tasks {
            tasks.share_by(&inner.services.limits);
        }
        if let Some(store) = self.record_store {
            if !self.has_state_keys {
                let text = "a server with a record store needs the state keys of its processes";
                return Err(Error::invalid(text));
            }
            if let Some(tasks) = &inner.tasks {
                let (keys, log) = (inner.services.keys.clone(), inner.log.clone());
                let records = tasks::Records::new(store, keys, log);
                let (subscriptions, threads) = (&inner.subscriptions, inner.threads.clone());
                tasks.share(records, self.lease, subscriptions, threads)?;
            }
        }
        for tool in self.tools {
            inner.add_tool(tool)?;
        }
        for finish in self.finishing {
            finish(&mut inner)?;
        }
        inner.check_requirements()?;
        // Last, because what was added so far is no change.
        if let Some(bus) = self.event_bus {
            let delivery = inner.subscriptions.connect(bus, inner.log.clone())?;
            inner.event_delivery = Some(delivery);
        }
        Ok(Server(Arc::new(inner)))
    }

    /// Creates the server and serves the standard streams: [`build`](Self::build), then
    /// [`Server::serve_stdio`].
    ///
    /// # Errors
    ///
    /// The errors of both functions.
    pub fn serve_stdio(self) -> Result<()> {
        self.build()?.serve_stdio()
    }

    /// Returns what calls will need of the server. Only the builder holds it before `build`.
    fn services(&mut self) -> &mut CallServices {
        Arc::get_mut(&mut self.inner.services).expect("a builder shares nothing")
    }

    fn with_tool(mut self, tool: NewTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a step that [`build`](Self::build) runs when all settings are known and the tools are
    /// added.
    pub(super) fn finishing(
        mut self,
        step: impl FnOnce(&mut Inner) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.finishing.push(Box::new(step));
        self
    }

    /// Records the error if `done` is an error, unless an earlier error is recorded already.
    fn noting(mut self, done: Result<()>) -> Self {
        if let Err(error) = done {
            self.fault.get_or_insert(error);
        }
        self
    }
}

/// Checks the name of a replica, which becomes a part of ids.
pub(crate) fn replica_name(name: &str) -> Result<Box<str>> {
    let is_fine = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    if !(1..=32).contains(&name.len()) || !name.bytes().all(is_fine) {
        let text = format!("'{}' can't be the name of a replica", Excerpt(name));
        return Err(Error::invalid(text));
    }
    Ok(name.into())
}

debug_fields!(ServerBuilder, info = |it| &it.inner.services.info, fault);

impl Server {
    /// Returns a builder for a server. The name is for programs; a title for users is set with
    /// [`info`](ServerBuilder::info).
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(Implementation::new(name, version))
    }
}
