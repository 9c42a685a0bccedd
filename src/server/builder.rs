//! How a server is described.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::call::ToolCall;
use super::completion::{self, Completing, CompletionCall, CompletionOutput};
use super::context::Context;
use super::conversation::LatestTerms;
use super::events::{ServerEvent, SessionEvent};
use super::guard::Guard;
use super::hub::Hub;
use super::output::{self, ToolOutput};
use super::paging::List;
use super::prompts::{self, PromptCall, PromptOutput};
use super::resources::{self, ResourceCall, ResourceOutput, ResourceRead};
use super::scopes::Requirements;
use super::state::{KeyRing, StateKey};
use super::store::StateStore;
use super::tasks::{TaskOptions, Tasks};
use super::tools::{ToolHandler, Tools};
use super::{Inner, Server};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::Request;
use crate::protocol::{Handlers, KeepAlive, LogRecord, Responder};
use crate::schema::{
    CacheHint, CompletionReference, Implementation, JsonObject, Prompt, ProtocolVersion, Resource,
    ResourceTemplate, Tool, check_extension_id,
};
use crate::transport::{Limits, Threads};
use crate::validation::Validator;

/// Describes a server. What is wrong is said at the end, by [`build`](Self::build) or [`serve_stdio`](Self::serve_stdio).
#[must_use = "a server that is not built serves nobody"]
pub struct ServerBuilder {
    pub(super) inner: Inner,
    /// Added at the end, when it is known what checks them.
    tools: Vec<(Tool, ToolHandler)>,
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
            meta_text: OnceLock::new(),
            instructions: None,
            revisions: ProtocolVersion::ALL.iter().rev().copied().collect(),
            names_itself: true,
            tools: Tools::default(),
            prompts: Default::default(),
            resources: Default::default(),
            templates: Default::default(),
            completers: Default::default(),
            requirements: Requirements::default(),
            guards: Vec::new(),
            extensions: JsonObject::new(),
            logging: false,
            resource_updates: true,
            list_changes: true,
            hub: Default::default(),
            held: Default::default(),
            subscribed: Default::default(),
            page_size: None,
            hints: HashMap::new(),
            methods: Handlers::new(),
            beginning: Default::default(),
            limits: Limits::default(),
            threads: Threads::default(),
            drain: Duration::from_secs(5),
            slow_handler: Duration::from_secs(30),
            keep_alive: None,
            log: None,
            on_session: None,
            on_event: None,
            keys: KeyRing::new(keys).expect("there is one key"),
            state_lifetime: Duration::from_secs(600),
            state_store: None,
            pages: Default::default(),
            tasks: None,
            validator: Validator::for_own_schemas(),
            embeds_undeclared: AtomicBool::new(false),
            latest_terms: LatestTerms::default(),
            connections: Default::default(),
        };
        Self {
            inner,
            tools: Vec::new(),
            fault,
        }
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
        let newest_first = ProtocolVersion::ALL.iter().rev();
        let chosen = newest_first.filter(|revision| revisions.contains(revision));
        self.inner.revisions = chosen.copied().collect();
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

    /// What the threads of the server are like: those of its connections and of its listeners. Defaults to [`Threads::new`].
    pub fn threads(mut self, threads: &Threads) -> Self {
        self.inner.threads = threads.clone();
        self
    }

    /// How long calls in hand may go on when the peer's input has ended. Defaults to 5 s.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.inner.drain = drain;
        self
    }

    /// From when on a handler runs long, which is told to the log: see
    /// [`ConnectionBuilder::slow_handler`](crate::protocol::ConnectionBuilder::slow_handler). Defaults to 30 s.
    pub fn slow_handler(mut self, slow_handler: Duration) -> Self {
        self.inner.slow_handler = slow_handler;
        self
    }

    /// Pings clients of the legacy era that have said nothing for a while, and closes the connection of one that does not answer. Defaults to
    /// no pings; a modern client, which no server may ask anything, is never sent one. Needs a transport that can wait with a bound
    /// ([`Receiver::is_patient`](crate::transport::Receiver::is_patient)).
    ///
    /// Spec: Base Protocol, Utilities, "Ping" (up to 2025-11-25).
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.inner.keep_alive = Some(keep_alive);
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

    /// How long a client may take to answer what a call asks, since 2026-07-28. Defaults to 10 minutes; nothing at all is refused when the
    /// server is built.
    ///
    /// Within this time a sealed state can be presented again, unless there is a [`state_store`](Self::state_store).
    pub fn state_lifetime(mut self, lifetime: Duration) -> Self {
        if lifetime.is_zero() {
            let text = "a client needs time to answer: state_lifetime is nothing";
            return self.noting(Err(Error::new(ErrorKind::Invalid, text)));
        }
        self.inner.state_lifetime = lifetime;
        self
    }

    /// Has each state of a call taken once: `store` remembers which ones were presented. Since 2026-07-28; defaults to none.
    ///
    /// Without it a client that repeats a round has the handler go through that round again, and with it what the handler does there. That
    /// helps a client whose connection broke, and is fine for most; what must not happen twice even then, such as a payment that the answers
    /// of that round allow, needs a store. With it such a client has to begin the call anew.
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
        self.inner.state_store = Some(Arc::new(store));
        self
    }

    /// Lets calls of tools become tasks: the client gets the task at once, and fetches the result when it is there. Defaults to no tasks.
    ///
    /// Which tools may, or must, be run like this says their [`Tool::execution`]; by default none is. A client of 2025-11-25 then asks for it
    /// with each call; since 2026-07-28 the server decides, and makes a task of each call of such a tool by a client that declares the
    /// extension `io.modelcontextprotocol/tasks`. A tool that may be run as a task serves other clients as ever; one that must refuses them,
    /// but for those of revisions that know no tasks. The handler is the same, and see [`Context::become_task`] for tools that decide call by
    /// call.
    ///
    /// Ids of tasks are 192 random bits. A task is shown to the principal that made the call; without one, whoever knows the id can see and cancel it,
    /// and there is no list of tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{TaskSupport, Tool, ToolExecution};
    /// use mcplink::server::{Server, TaskOptions};
    ///
    /// let tool = Tool::new("render").execution(ToolExecution::default().task_support(TaskSupport::Optional));
    /// let server = Server::builder("studio", "1.0")
    ///     .tasks(TaskOptions::default())
    ///     .tool_with(tool, |_: serde_json::Value, _| "a picture")
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    // L-TASK-B-24
    pub fn tasks(mut self, options: TaskOptions) -> Self {
        self.inner.tasks = Some(Tasks::new(options));
        self
    }

    /// What checks arguments of tools before their handlers run, and structured results before they are sent; it checks the schemas when
    /// a tool is added. Defaults to [`Validator::json_schema`] with the feature `validation`, and to none without it. `None` switches it off.
    ///
    /// Arguments that don't fit are the tool's failure, so that the model can mend them: a result with `isError` that says where they don't.
    /// A result that doesn't fit is the server's: the client gets an internal error, [`on_log`](Self::on_log) what is wrong. With or without
    /// a validator arguments have to be an object, and what the handler's type can't be read from is refused.
    ///
    /// Spec: Server Features, Tools, "Security Considerations" and "Output Schema".
    pub fn validator(mut self, validator: impl Into<Option<Validator>>) -> Self {
        self.inner.validator = validator.into();
        self
    }

    /// Takes what the library has to say to its host, a record at a time, on any thread; it should be quick. Defaults to nobody.
    pub fn on_log(mut self, hook: impl Fn(&LogRecord<'_>) + Send + Sync + 'static) -> Self {
        self.inner.log = Some(Arc::new(hook));
        self
    }

    /// Takes who comes and who goes: each client that has said who it is, by `initialize` or by its first request of the modern era, and the
    /// end of its connection, or of its session over HTTP. One at a time and in order for each, on a thread of the connection; it may run
    /// beside the first requests, and should be quick. Defaults to nobody.
    ///
    /// Clients over HTTP that keep no session, as all do since 2026-07-28, come and go with each request: they are not told. The end is told
    /// before closing the connection returns, unless that is done within this very hook.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::server::{Server, SessionEvent};
    ///
    /// let server = Server::builder("hello", "1.0")
    ///     .on_session(|event| match event {
    ///         SessionEvent::Began { session, .. } => println!("{} speaks {}", session.peer, session.revision),
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

    /// Takes trouble with clients, for hosts that count it, raise an alarm or shut somebody out: what is refused because it is malformed, too
    /// long, too much or not allowed, and handlers that fail. On any thread, also on several at once; it should be quick. Defaults to nobody.
    ///
    /// These are few kinds, to be told apart without reading text. The [log](Self::on_log) has a line for most of them too, and for much else.
    pub fn on_event(mut self, hook: impl Fn(&ServerEvent) + Send + Sync + 'static) -> Self {
        self.inner.on_event = Some(Arc::new(hook));
        self
    }

    /// Adds a tool that takes its arguments as `A`, whose JSON Schema is derived, and so is that of a [`Json`](super::Json) result. One that
    /// needs none takes `()`.
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
        match output::schema_of_arguments::<A>() {
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
        self.with_tool(tool, output::answering(handler))
    }

    /// Adds a tool whose handler may keep the call and answer later, from any thread. See [`Server::add_deferred_tool`].
    pub fn deferred_tool(
        self,
        tool: Tool,
        handler: impl Fn(ToolCall) + Send + Sync + 'static,
    ) -> Self {
        self.with_tool(tool, Arc::new(handler))
    }

    /// Adds a resource: something to read, at an address of its own.
    ///
    /// Use a scheme that says what kind of thing it is, one of your own if there is none; `https:` only for what the client can as well
    /// fetch by itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::Resource;
    /// use mcplink::server::Server;
    ///
    /// let manual = Resource::new("manual:///start", "start").mime_type("text/markdown");
    /// let server = Server::builder("manual", "1.0")
    ///     .resource(manual, |_, _| "# First steps")
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    // M-RES-S-05, M-RES-S-06, L-RES-S-03, L-RES-S-04
    pub fn resource<R: ResourceOutput>(
        self,
        resource: Resource,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let added = resources::add(&self.inner.resources, resource, resources::reading(handler));
        self.noting(added)
    }

    /// Adds a resource whose handler may keep the call and answer later, from any thread. See [`Server::add_deferred_resource`].
    pub fn deferred_resource(
        self,
        resource: Resource,
        handler: impl Fn(ResourceCall) + Send + Sync + 'static,
    ) -> Self {
        let added = resources::add(&self.inner.resources, resource, Arc::new(handler));
        self.noting(added)
    }

    /// Adds resources whose addresses follow a template (RFC 6570).
    ///
    /// Understood are `{var}`, `{+path}`, `{/var}`, `{.ext}` and, at the end, `{?a,b}`. A resource with exactly the address that is read
    /// goes before templates, and templates go in the order in which they were added.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::ResourceTemplate;
    /// use mcplink::server::Server;
    ///
    /// let server = Server::builder("users", "1.0")
    ///     .template(ResourceTemplate::new("users://{id}", "user"), |read, _| {
    ///         let id = read.variable("id")?;
    ///         (id == "1").then(|| "the first one".to_owned())
    ///     })
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn template<R: ResourceOutput>(
        self,
        template: ResourceTemplate,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let added =
            resources::add_template(&self.inner.templates, template, resources::reading(handler));
        self.noting(added)
    }

    /// Adds resources whose handler may keep the call and answer later, from any thread. See [`Server::add_deferred_template`].
    pub fn deferred_template(
        self,
        template: ResourceTemplate,
        handler: impl Fn(ResourceCall) + Send + Sync + 'static,
    ) -> Self {
        let added = resources::add_template(&self.inner.templates, template, Arc::new(handler));
        self.noting(added)
    }

    /// Adds a prompt that takes its arguments, which are all texts, as `A`: a struct of strings, a map, or `()` for none.
    ///
    /// Required arguments that are missing, and such that the prompt does not declare, are refused before the handler is called; a prompt
    /// that declares no arguments takes any.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Prompt, PromptArgument};
    /// use mcplink::server::Server;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize)]
    /// struct Review {
    ///     code: String,
    /// }
    ///
    /// let prompt = Prompt::new("review").argument(PromptArgument::new("code").required(true));
    /// let server = Server::builder("review", "1.0")
    ///     .prompt(prompt, |args: Review, _| format!("Please review:\n{}", args.code))
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn prompt<A: DeserializeOwned, R: PromptOutput>(
        self,
        prompt: Prompt,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let added = prompts::add(&self.inner.prompts, prompt, prompts::prompting(handler));
        self.noting(added)
    }

    /// Adds a prompt whose handler may keep the call and answer later, from any thread. See [`Server::add_deferred_prompt`].
    pub fn deferred_prompt(
        self,
        prompt: Prompt,
        handler: impl Fn(PromptCall) + Send + Sync + 'static,
    ) -> Self {
        let added = prompts::add(&self.inner.prompts, prompt, Arc::new(handler));
        self.noting(added)
    }

    /// Completes an argument of a prompt, or a variable of a template, while the user types it.
    ///
    /// The prompt or template may be added later. The best values come first, and 100 of them are sent at most;
    /// [`Completing::best_of`] matches loosely, for people who mistype.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use mcplink::schema::{CompletionReference, Prompt, PromptArgument};
    /// use mcplink::server::Server;
    ///
    /// let prompt = Prompt::new("review").argument(PromptArgument::new("language"));
    /// let server = Server::builder("review", "1.0")
    ///     .prompt(prompt, |_: BTreeMap<String, String>, _| "Please review.")
    ///     .completer(&CompletionReference::prompt("review"), "language", |typed, _| {
    ///         typed.best_of(["c", "c++", "rust"])
    ///     })
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn completer<R: CompletionOutput>(
        self,
        reference: &CompletionReference,
        argument: &str,
        handler: impl Fn(&Completing, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let handler = completion::completing(handler);
        let added = self.inner.completers.add(reference, argument, handler);
        self.noting(added)
    }

    /// Adds a completer that may keep the call and answer later, from any thread. See [`Server::add_deferred_completer`].
    pub fn deferred_completer(
        self,
        reference: &CompletionReference,
        argument: &str,
        handler: impl Fn(CompletionCall) + Send + Sync + 'static,
    ) -> Self {
        let handler = Arc::new(handler);
        let added = self.inner.completers.add(reference, argument, handler);
        self.noting(added)
    }

    /// Adds a guard: it decides who may see and use what, and looks at what leaves the server. Defaults to none: everybody who can reach
    /// the server may use all of it.
    ///
    /// Lists of a server with guards are sent as private, whatever [`cache_list`](Self::cache_list) says: they may differ from user to
    /// user.
    pub fn guard(mut self, guard: impl Guard + 'static) -> Self {
        self.inner.guards.push(Arc::new(guard));
        self
    }

    /// Declares an extension of the protocol, with its settings. The methods that it adds are handled with [`method`](Self::method).
    ///
    /// A client may not know it: look with [`ClientCapabilities::extension`](crate::schema::ClientCapabilities::extension) at the
    /// [terms](Context::terms) of a call, and do without it, or refuse with [`Context::need_extension`]. Say in the documentation of an
    /// extension what happens without it, and have it fall back to that where it can.
    ///
    /// Ids begin with a domain of yours, reversed. What would break clients of an extension is another one, with another id;
    /// lesser changes show in the settings.
    ///
    /// Spec: Base Protocol, "Versioning", "Extensions" (2026-07-28; earlier clients are told too).
    // M-VER-B-07, E-EXT-X-08, E-EXT-X-10, E-EXT-B-03, E-EXT-X-04, E-EXT-X-05
    pub fn extension(mut self, id: impl Into<String>, settings: JsonObject) -> Self {
        let id = id.into();
        let checked = check_extension_id(&id);
        self.inner.extensions.insert(id, settings.into());
        self.noting(checked)
    }

    /// Says that the server has such things although none is there yet, so that clients that connect before the first one is added know
    /// that some may come. What is added before needs no saying.
    pub fn offers(self, list: List) -> Self {
        match list {
            List::Tools => self.inner.tools.declare(),
            List::Prompts => self.inner.prompts.declare(),
            List::Resources => self.inner.resources.declare(),
            List::ResourceTemplates => self.inner.templates.declare(),
        }
        self
    }

    /// Whether clients may subscribe to changes of single resources, which [`Server::resource_updated`] tells. Defaults to yes.
    pub fn resource_updates(mut self, resource_updates: bool) -> Self {
        self.inner.resource_updates = resource_updates;
        self
    }

    /// Whether the lists of tools, prompts and resources may change while the server runs. Defaults
    /// to yes: clients are told so (`listChanged`) and told of each change. With no they are told
    /// of none, so that a client can keep a list and need not listen; what is added or removed
    /// later is served all the same.
    pub fn list_changes(mut self, list_changes: bool) -> Self {
        self.inner.list_changes = list_changes;
        self
    }

    /// Whether handlers may send log messages to clients, with [`Context::log`]. Defaults to no.
    ///
    /// The protocol deprecates this in 2026-07-28: new servers had better write to standard error, or use OpenTelemetry.
    // M-LOG-X-14, M-LOG-X-15
    pub fn logging(mut self, logging: bool) -> Self {
        self.inner.logging = logging;
        self
    }

    /// How many items each page of a list has. Defaults to all of them on one page.
    pub fn page_size(mut self, size: NonZeroUsize) -> Self {
        self.inner.page_size = Some(size);
        self
    }

    /// How long and by whom the pages of a list may be kept, the same for all of them. Since 2026-07-28; defaults to not at all.
    ///
    /// What is public may be given to other users by whoever stands between: see [`Cached`](super::Cached).
    pub fn cache_list(mut self, list: List, hint: CacheHint) -> Self {
        self.inner.hints.insert(list, hint);
        self
    }

    /// Handles requests of a method of one's own. Methods that the server handles itself stay its own.
    ///
    /// What the handler gives is sent as it is: since 2026-07-28 a result has to bring its `resultType` along.
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
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut inner = self.inner;
        let hub = Hub::new(&inner.limits, &inner.threads, inner.log.clone());
        inner.hub = Arc::new(hub);
        for (tool, handler) in self.tools {
            inner.add_tool(tool, handler)?;
        }
        inner.requirements.check(&inner)?;
        Ok(Server(Arc::new(inner)))
    }

    /// Makes the server and serves over the standard streams: [`build`](Self::build), then [`Server::serve_stdio`].
    ///
    /// # Errors
    ///
    /// As both say.
    pub fn serve_stdio(self) -> Result<()> {
        self.build()?.serve_stdio()
    }

    fn with_tool(mut self, tool: Tool, handler: ToolHandler) -> Self {
        self.tools.push((tool, handler));
        self
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
