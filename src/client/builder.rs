//! How a client is described.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Client;
use super::asked_by::AskedBy;
use super::cache::ResponseCache;
use super::cancelling;
use super::era::{Era, EraMemory};
use super::input::InputHandlers;
use super::link::{EventHook, Link};
use super::paging::ListBounds;
use super::restart::{ConnectionEvent, Restart};
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::jsonrpc::{Notification, Request};
use crate::protocol::{
    CancelToken, Handlers, KeepAlive, LogHook, LogLevel, LogRecord, Peer, Responder,
};
use crate::schema::tree;
use crate::schema::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, Implementation, JsonObject,
    LoggingMessageNotificationParams, ProtocolVersion, Root, TASKS_EXTENSION, TraceContext,
    check_extension_id, method,
};
use crate::transport::{Limits, Threads, Transport};
use crate::validation::Validator;

/// Describes a client, then connects it.
#[derive(Clone)]
#[must_use = "a client that is not connected does nothing"]
pub struct ClientBuilder {
    pub(super) info: Implementation,
    pub(super) names_itself: bool,
    pub(super) capabilities: ClientCapabilities,
    pub(super) revisions: Vec<ProtocolVersion>,
    pub(super) era: Option<Era>,
    pub(super) memory: Option<EraMemory>,
    pub(super) probe_timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) handlers: Handlers,
    pub(super) inputs: InputHandlers,
    pub(super) limits: Limits,
    pub(super) threads: Threads,
    pub(super) log: Option<LogHook>,
    pub(super) list_bounds: ListBounds,
    pub(super) restart: Option<Restart>,
    pub(super) on_connection_event: Option<EventHook>,
    pub(super) keep_alive: Option<KeepAlive>,
    pub(super) slow_handler: Duration,
    pub(super) trace_context: Option<TraceHook>,
    pub(super) validator: Option<Validator>,
    pub(super) cache: Option<ResponseCache>,
    pub(super) strict: bool,
    pub(super) assumes_capabilities: bool,
    cancel: Option<CancelToken>,
}

/// Tells in which trace a call happens.
type TraceHook = Arc<dyn Fn() -> TraceContext + Send + Sync>;

impl ClientBuilder {
    pub(super) fn new(info: Implementation) -> Self {
        Self {
            info,
            names_itself: true,
            capabilities: ClientCapabilities::default(),
            revisions: ProtocolVersion::ALL.to_vec(),
            era: None,
            memory: None,
            probe_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(60),
            handlers: Handlers::new(),
            inputs: InputHandlers::default(),
            limits: Limits::default(),
            threads: Threads::default(),
            log: None,
            list_bounds: ListBounds::default(),
            restart: None,
            on_connection_event: None,
            keep_alive: None,
            slow_handler: Duration::from_secs(30),
            trace_context: None,
            validator: Validator::for_schemas_of_peers(),
            cache: None,
            strict: false,
            assumes_capabilities: false,
            cancel: None,
        }
    }

    /// Says who the client is: title, description, icons, home page. Replaces name and version too.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Whether requests name the client, since 2026-07-28. Defaults to yes; the legacy era requires it.
    pub fn names_itself(mut self, names_itself: bool) -> Self {
        self.names_itself = names_itself;
        self
    }

    /// Answers questions to the user that a form can ask (`elicitation/create`), and declares that it does.
    ///
    /// The handler decides how the form is shown, with the name of the [server that asks](AskedBy::server_name) and a way to decline; what
    /// the form is filled in with first is [`ElicitSchema::defaults`](crate::schema::ElicitSchema::defaults). It may take its time, no
    /// deadline runs meanwhile. It runs on the thread of the call that is asked for, or, in the legacy era, on a thread of the connection.
    ///
    /// Spec: Client Features, "Elicitation" (since 2025-06-18).
    pub fn on_elicit(
        mut self,
        handler: impl Fn(&ElicitRequestFormParams, &AskedBy) -> ElicitResult + Send + Sync + 'static,
    ) -> Self {
        self.inputs.on_form(Arc::new(handler));
        self
    }

    /// Opens pages that the server wants the user to see (`elicitation/create` with a URL), and declares that it does. Since 2025-11-25.
    ///
    /// The library opens nothing and looks nothing up. The handler has to show the whole URL, with its
    /// [host](ElicitRequestURLParams::host) and what is [odd](ElicitRequestURLParams::doubts) about it, and to ask before it opens it, in a
    /// browser that neither the client nor the model can look into. Accepting means that the user agreed to open it, not that what is to
    /// be done there is done. Threads and time as for [`on_elicit`](Self::on_elicit).
    ///
    /// Spec: Client Features, "Elicitation", "Safe URL Handling" (since 2025-11-25).
    pub fn on_elicit_url(
        mut self,
        handler: impl Fn(&ElicitRequestURLParams, &AskedBy) -> ElicitResult + Send + Sync + 'static,
    ) -> Self {
        self.inputs.on_url(Arc::new(handler));
        self
    }

    /// Is told the `elicitation_id` of each page on which the user has done what was to be done, one at a time, on a thread of the
    /// connection. Defaults to nobody. 2025-11-25 only: servers need not tell, and later ones don't.
    ///
    /// Ids of pages that this client was not sent to, or that are done, are ignored. A page may come by
    /// [`on_elicit_url`](Self::on_elicit_url), or by an error that
    /// [demands](crate::schema::URLElicitationRequiredError) it; then this is the moment to call again.
    pub fn on_elicitation_complete(
        mut self,
        handler: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        self.inputs.pages.on_complete = Some(Arc::new(handler));
        self
    }

    /// Lets the server use the client's model (`sampling/createMessage`), and declares that it does. Threads and time as for
    /// [`on_elicit`](Self::on_elicit).
    ///
    /// A question in which uses and results of tools don't match is refused before the handler sees it. Which model suits the server is
    /// told by [`ModelPreferences::choose`](crate::schema::ModelPreferences::choose). An error refuses: a legacy server is told, a call of the
    /// modern era fails with [`ErrorKind::Cancelled`] for [`RpcError::user_rejected`], else with [`ErrorKind::Unsupported`].
    ///
    /// Deprecated by the protocol in 2026-07-28.
    ///
    /// Spec: Client Features, "Sampling" (every revision).
    pub fn on_sample(
        mut self,
        handler: impl Fn(&CreateMessageRequestParams, &AskedBy) -> Result<CreateMessageResult, RpcError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.inputs.on_sample(Arc::new(handler));
        self
    }

    /// Whether the model may use tools that the server names, and declares so. Defaults to no; needs [`on_sample`](Self::on_sample).
    /// Since 2025-11-25.
    pub fn sampling_tools(mut self, allowed: bool) -> Self {
        self.inputs.sampling_tools = allowed;
        self
    }

    /// Whether the handler of [`on_sample`](Self::on_sample) adds the context that a server wishes (`includeContext`), and declares so.
    /// Defaults to no. Since 2025-11-25; deprecated by the protocol.
    pub fn sampling_context(mut self, honoured: bool) -> Self {
        self.inputs.sampling_context = honoured;
        self
    }

    /// Tells the server which places it may work in (`roots/list`), and declares that it does. Threads as for
    /// [`on_elicit`](Self::on_elicit).
    ///
    /// The handler is asked each time, so that it can say which places the user may and wants to share at the moment; when they change,
    /// [`Client::roots_changed`] tells a legacy server. Roots that [`Root::check`] refuses are not told, and neither are the others then.
    /// An error refuses, as for [`on_sample`](Self::on_sample).
    ///
    /// Deprecated by the protocol in 2026-07-28.
    ///
    /// Spec: Client Features, "Roots" (every revision).
    pub fn on_list_roots(
        mut self,
        handler: impl Fn(&AskedBy) -> Result<Vec<Root>, RpcError> + Send + Sync + 'static,
    ) -> Self {
        self.inputs.on_roots(Arc::new(handler));
        self
    }

    /// What the client can do beyond what it has handlers for. Defaults to nothing; what is declared here needs its handler, see
    /// [`on_request`](Self::on_request).
    pub fn capabilities(mut self, capabilities: ClientCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Declares an extension of the protocol, with its settings, beside the [`capabilities`](Self::capabilities) that were set before. What
    /// it adds is handled with [`on_request`](Self::on_request) and [`on_notification`](Self::on_notification), and asked for with
    /// [`Client::request`].
    ///
    /// A server may not know it: see [`Client::need_extension`].
    ///
    /// Spec: Base Protocol, "Versioning", "Extensions" (2026-07-28; earlier servers are told too).
    pub fn extension(mut self, id: impl Into<String>, settings: JsonObject) -> Self {
        let extensions = self.capabilities.extensions.get_or_insert_default();
        extensions.insert(id.into(), settings.into());
        self
    }

    /// Takes results that are fetched later: servers may answer a call of a tool with a task, which
    /// [`Client::call_tool`] follows up to its result. Declares the extension `io.modelcontextprotocol/tasks`. Defaults to no.
    ///
    /// Since 2026-07-28. In 2025-11-25 a client decides call by call: see [`Client::call_tool_as_task`].
    pub fn tasks(self) -> Self {
        self.extension(TASKS_EXTENSION, JsonObject::new())
    }

    /// The revisions that may be spoken. Defaults to all of them; the newest that the server knows too is chosen.
    pub fn revisions(mut self, revisions: &[ProtocolVersion]) -> Self {
        self.revisions = revisions.to_vec();
        self
    }

    /// The era that the server is known to be of, from [`Client::era`] of an earlier connection. Defaults to finding out. It saves the
    /// probe, and is no pin: a server that proves to be of the other era, by naming its revisions or over HTTP, is spoken to in that.
    pub fn era(mut self, era: Era) -> Self {
        self.era = Some(era);
        self
    }

    /// Remembers what was found out about each server, and uses it for the next connection to the same one. Defaults to no memory.
    pub fn era_memory(mut self, memory: &EraMemory) -> Self {
        self.memory = Some(memory.clone());
        self
    }

    /// How long a server may take to answer the probe before it is taken for a legacy one, once it has read the probe. Defaults to 5 s, and
    /// is at most half of the time that is left for connecting. A child process that has read nothing is still starting: it has all the
    /// time for connecting, and so has a server over HTTP. On a transport that can't tell what was read the time begins with sending.
    ///
    /// An answer that comes later, while the server is initialized, still counts. An era that only silence speaks for is not
    /// [remembered](Self::era_memory).
    pub fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.probe_timeout = timeout;
        self
    }

    /// How long connecting may take in all, with all that it sends and every start of the server. Defaults to 60 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Handles requests of the server, which only the legacy era knows. It runs on a thread of the connection.
    pub fn on_request(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Request, Responder) + Send + Sync + 'static,
    ) -> Self {
        self.handlers = self.handlers.request(method, handler);
        self
    }

    /// Handles notifications of the server that belong to no call: one at a time, in order, on a thread of the connection.
    pub fn on_notification(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Peer, &Notification) + Send + Sync + 'static,
    ) -> Self {
        self.handlers = self.handlers.notification(method, handler);
        self
    }

    /// Takes the log messages of the server: one at a time, in order, on a thread of the connection. One that can't be read is told to
    /// [`on_log`](Self::on_log), which takes what this library has to say. Replaces a handler of `notifications/message`.
    ///
    /// A server says which messages it sends: see [`Client::set_log_level`] and
    /// [`CallOptions::log_level`](crate::protocol::CallOptions::log_level).
    ///
    /// Spec: Server Features, Utilities, "Logging" (every revision; deprecated in 2026-07-28).
    pub fn on_log_message(
        self,
        handler: impl Fn(&LoggingMessageNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.on_notification(method::NOTIFICATIONS_MESSAGE, move |peer, notification| {
            match tree::read(notification.params()) {
                Ok(params) => handler(&params),
                Err(error) => peer.core().log_as("client", LogLevel::Warning, || {
                    format!("a log message of '{}' can't be read: {error}", peer.name())
                }),
            }
        })
    }

    /// Upper bounds of the connection.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What the threads of the client are like, those of its transport included. Defaults to [`Threads::new`].
    ///
    /// Two threads may outlast closing: the one of a [cancelled](Self::cancel_connecting_with) connecting that can't be interrupted, and the
    /// one of a login (feature `auth`) that somebody else may wait for too.
    pub fn threads(mut self, threads: &Threads) -> Self {
        self.threads = threads.clone();
        self
    }

    /// Keeps responses in this cache, with other clients. Defaults to a cache of the client's own, within its
    /// [`limits`](Self::limits); to keep none, set [`max_cached_responses`](Limits::max_cached_responses) to 0.
    pub fn cache(mut self, cache: &ResponseCache) -> Self {
        self.cache = Some(cache.clone());
        self
    }

    /// Whether what servers write beside the letter of the specification is refused. Defaults to no: what can mean one thing only is
    /// understood, and what does not fit into a result is left out of it, told to [`on_log`](Self::on_log) and given by the methods
    /// `misfits` of results, such as [`CallToolResult::misfits`](crate::schema::CallToolResult::misfits).
    ///
    /// With it such an answer is an error of the kind [`Protocol`](ErrorKind::Protocol), and a question of the server (elicitation, sampling,
    /// roots) that is not exact reaches no handler: its request is refused, or the call that it belongs to fails. All that is understood is
    /// listed in `docs/compatibility.md`.
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Whether calls are sent that need a capability which the server did not declare. Defaults to no: they fail at once, with
    /// [`ErrorKind::Unsupported`].
    ///
    /// Some servers declare nothing, and have tools all the same. One that has not answers with an error of its own.
    pub fn assume_capabilities(mut self, assume: bool) -> Self {
        self.assumes_capabilities = assume;
        self
    }

    /// How many pages one list may have. Defaults to 10 000. Reading more fails with [`ErrorKind::Limit`].
    pub fn max_list_pages(mut self, max_list_pages: usize) -> Self {
        self.list_bounds.max_list_pages = max_list_pages;
        self
    }

    /// How many items a list that is read as a whole may have. Defaults to 100 000. More fail with [`ErrorKind::Limit`]; a list of any
    /// length can be read page by page.
    pub fn max_list_items(mut self, max_list_items: usize) -> Self {
        self.list_bounds.max_list_items = max_list_items;
        self
    }

    /// What checks structured results of tools against the output schemas that were listed. Defaults to [`Validator::json_schema`] with the
    /// feature `validation`, and to none without it. `None` switches it off.
    ///
    /// A schema is known when [`list_tools`](Client::list_tools) or [`tool_pages`](Client::tool_pages) has shown it, and until the server
    /// tells that its tools have changed, or is lost. A call whose output schema can't be used fails before it is sent; a result that doesn't fit, or has no
    /// structured content though a schema promises it, fails with [`ErrorKind::Protocol`] and stays with the error: see
    /// [`Error::result`]. What a tool says of its own failure is not checked.
    ///
    /// Spec: Server Features, Tools, "Output Schema" (since 2025-06-18).
    pub fn validator(mut self, validator: impl Into<Option<Validator>>) -> Self {
        self.validator = validator.into();
        self
    }

    /// Takes what the library has to say to its host, a record at a time, on any thread; it should be quick. Defaults to nobody.
    pub fn on_log(mut self, hook: impl Fn(&LogRecord<'_>) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(hook));
        self
    }

    /// Starts the server again when it was lost, and negotiates anew. Defaults to not at all. Needs a transport that can be made
    /// [again](Transport::again), such as a child process.
    ///
    /// Calls that are in flight when the server is lost fail with [`ErrorKind::Closed`], and [`Error::was_sent`] tells whether they may have
    /// had an effect; calls that were not sent wait for the new server, within their deadline. [Subscriptions](super::Subscription) are made
    /// anew, and told [`Event::EverythingChanged`](super::Event::EverythingChanged). What the client knows of the server, such as
    /// [`Client::capabilities`], is what the new one says.
    ///
    /// Spec: Transports, stdio, "Unexpected Termination" (2026-07-28).
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = Some(restart);
        self
    }

    /// Takes what becomes of the connection when the client [restarts](Self::restart) its server: one at a time, in order, on the thread that
    /// restarts, which goes on when this returns. A client that does not is told [`ConnectionEvent::GivenUp`] when the server was lost, on a
    /// thread of the connection. The log has it too. That the client itself closes the connection is not told. Defaults to nobody.
    ///
    /// Calls made here while the server is away do not wait for it, and fail at once.
    pub fn on_connection_event(
        mut self,
        hook: impl Fn(ConnectionEvent) + Send + Sync + 'static,
    ) -> Self {
        self.on_connection_event = Some(Arc::new(hook));
        self
    }

    /// Pings a server that has said nothing for a while, and closes the connection when it does not answer, or
    /// [restarts](Self::restart) the server. Defaults to no pings: the end of a child process, or of a socket, is noticed without.
    ///
    /// Since 2026-07-28 there is no `ping`: a modern server is sent `server/discover`, which every one knows. Needs a transport that can wait
    /// with a bound ([`Receiver::is_patient`](crate::transport::Receiver::is_patient)).
    ///
    /// Spec: Base Protocol, Utilities, "Ping" (up to 2025-11-25).
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.keep_alive = Some(keep_alive);
        self
    }

    /// From when on a handler of this client runs long, which is told to the log: see
    /// [`ConnectionBuilder::slow_handler`](crate::protocol::ConnectionBuilder::slow_handler). Defaults to 30 s.
    pub fn slow_handler(mut self, slow_handler: Duration) -> Self {
        self.slow_handler = slow_handler;
        self
    }

    /// Tells in which trace calls happen: asked for each request, on the thread that calls. What a call brings along with
    /// [`CallOptions::trace_context`](crate::protocol::CallOptions::trace_context) goes before it. Defaults to none.
    ///
    /// Spec: Base Protocol, "`_meta`" (2026-07-28). Servers of earlier revisions are told too.
    pub fn trace_context(
        mut self,
        hook: impl Fn() -> TraceContext + Send + Sync + 'static,
    ) -> Self {
        self.trace_context = Some(Arc::new(hook));
        self
    }

    /// Gives connecting up when `token` is triggered, from any thread: [`connect`](Self::connect) fails then with
    /// [`ErrorKind::Cancelled`], within a second or two in the worst case, whatever it waits for. Defaults to no token.
    ///
    /// A server that was started is ended before that, except where a transport can't be interrupted, as while the name of a host is
    /// looked up or a TCP connection made: what still comes of that is closed when it is there. Connecting has a thread of its own
    /// meanwhile, since it may be left behind. Once the client is there the token means nothing to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::ErrorKind;
    /// use mcplink::client::Client;
    /// use mcplink::protocol::CancelToken;
    /// use mcplink::transport::memory;
    ///
    /// let cancel = CancelToken::new();
    /// let escape = cancel.clone();
    /// std::thread::spawn(move || escape.trigger());
    ///
    /// // Nobody answers at the other end.
    /// let (here, _there) = memory::pair();
    /// let builder = Client::builder("patient", "1.0").cancel_connecting_with(&cancel);
    /// let error = builder.connect(here).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Cancelled);
    /// ```
    pub fn cancel_connecting_with(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    /// Connects: opens the transport, finds out the era, agrees on a revision.
    ///
    /// Blocks until that is done, at most for [`connect_timeout`](Self::connect_timeout). A child process that dies of the probe, hangs after
    /// it, or refuses `initialize` behind it, is started once more, and `initialize` is the first message then; over HTTP a server that
    /// refuses `initialize` behind a probe is asked once more by fresh connections. The error tells of each start.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Spawn`] when the child can't be started; [`ErrorKind::Closed`] when the server left, with its last words;
    /// [`ErrorKind::Timeout`] when it said nothing; [`ErrorKind::Unsupported`] when there is no common revision;
    /// [`ErrorKind::Peer`] or [`ErrorKind::Protocol`] when it refuses, or answers what is no answer; over HTTP [`ErrorKind::Io`] when it
    /// can't be reached, [`ErrorKind::Auth`] when it wants other credentials, [`ErrorKind::Http`] for another status; [`ErrorKind::Invalid`] when settings
    /// contradict each other, there is no revision to speak, or an [extension](Self::extension) has no valid id;
    /// [`ErrorKind::Cancelled`] when [its token](Self::cancel_connecting_with) was triggered. The server is ended then, and
    /// not [restarted](Self::restart): only one that was there is.
    pub fn connect(mut self, transport: impl Transport + 'static) -> Result<Client> {
        if self.revisions.is_empty() {
            return Err(Error::new(
                ErrorKind::Invalid,
                "a client needs at least one revision",
            ));
        }
        let extensions = self.capabilities.extensions.iter();
        for id in extensions.flat_map(JsonObject::keys) {
            check_extension_id(id)?;
        }
        let transport = Box::new(transport);
        match self.cancel.take() {
            Some(token) => cancelling::connect(self, transport, &token),
            None => Link::open(self, transport, None).map(Client::new),
        }
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("info", &self.info)
            .field("revisions", &self.revisions)
            .finish_non_exhaustive()
    }
}
