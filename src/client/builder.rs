//! The builder of a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Client;
use super::cache::ResponseCache;
use super::connect_cancel;
use super::era::{Era, EraMemory};
use super::input::MaxAtOnce;
use super::requester::Requester;
use super::restart::{ConnectionEvent, Restart};
use super::settings::ClientSettings;
use super::supervisor::Supervisor;
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::jsonrpc::{Notification, Request};
use crate::protocol::{CancelToken, KeepAlive, LogLevel, LogRecord, Peer, Responder};
use crate::schema::tree;
use crate::schema::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, Implementation, JsonObject,
    LoggingMessageNotificationParams, ProtocolVersion, Root, SKILLS_EXTENSION, TASKS_EXTENSION,
    TraceContext, check_extension_id, method,
};
use crate::transport::{Limits, Threads, Transport};
use crate::validation::Validator;

/// A builder that configures and connects a client.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// use mcplink::client::Client;
/// use mcplink::schema::Root;
/// use mcplink::transport::Child;
///
/// let client = Client::builder("my-editor", "2.1")
///     .on_list_roots(|_| Ok(vec![Root::new("file:///home/ada/project")]))
///     .call_timeout(Duration::from_secs(20))
///     .connect(Child::new("weather-server"))?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a client that is not connected does nothing"]
pub struct ClientBuilder {
    pub(super) settings: ClientSettings,
    cancel: Option<CancelToken>,
}

impl Client {
    /// Creates a builder for a client with this name and version. The name is for programs, not for
    /// display.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            settings: ClientSettings::new(Implementation::new(name, version)),
            cancel: None,
        }
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
}

impl ClientBuilder {
    /// Sets the client's description of itself: title, description, icons, website. The description
    /// also replaces the client's name and version.
    pub fn info(mut self, info: Implementation) -> Self {
        self.settings.info = info;
        self
    }

    /// Sets whether requests contain the client's name and version. Defaults to yes. The setting
    /// applies since 2026-07-28. In the legacy era the name and version are required.
    pub fn send_client_info(mut self, send_client_info: bool) -> Self {
        self.settings.send_client_info = send_client_info;
        self
    }

    /// Sets the handler for elicitation by form (`elicitation/create`), and declares the
    /// capability.
    ///
    /// The handler decides how to show the form. The handler should show the name of the
    /// [requesting server](Requester::server_name) and a way to decline.
    /// [`ElicitSchema::defaults`](crate::schema::ElicitSchema::defaults) returns the initial values
    /// of the form. The handler may block, because the timeout of the call does not run while the
    /// handler runs. In the modern era the handler runs on the thread of the call that needs the
    /// answer; if the server requests several inputs at once, the others run on further threads at
    /// the same time ([`max_concurrent_inputs`](Self::max_concurrent_inputs)). In the legacy era
    /// the handler runs on a thread of the connection.
    ///
    /// Spec: Client Features, "Elicitation" (since 2025-06-18).
    pub fn on_elicit(
        mut self,
        handler: impl Fn(&ElicitRequestFormParams, &Requester) -> ElicitResult + Send + Sync + 'static,
    ) -> Self {
        self.settings.inputs.on_form(Arc::new(handler));
        self
    }

    /// Sets the handler for elicitation by URL (`elicitation/create` with a URL), and declares the
    /// capability. Since 2025-11-25.
    ///
    /// The library neither opens nor resolves the URL. The handler must show the whole URL, with
    /// its [host name](ElicitRequestURLParams::host) and its [suspicious
    /// parts](ElicitRequestURLParams::doubts), and ask the user before it opens the URL. The URL
    /// must be opened in a browser that neither the client nor the model can inspect. Accepting
    /// means that the user agreed to open the URL, not that the interaction is complete. The
    /// handler runs on the same threads as the handler of [`on_elicit`](Self::on_elicit), and
    /// pauses the timeout in the same way.
    ///
    /// Spec: Client Features, "Elicitation", "Safe URL Handling" (since 2025-11-25).
    pub fn on_elicit_url(
        mut self,
        handler: impl Fn(&ElicitRequestURLParams, &Requester) -> ElicitResult + Send + Sync + 'static,
    ) -> Self {
        self.settings.inputs.on_url(Arc::new(handler));
        self
    }

    /// Sets a handler for completed URL elicitations. The handler receives the `elicitation_id`.
    /// The handler runs for one elicitation at a time, on a thread of the connection. Defaults to
    /// no handler.
    ///
    /// The notification exists only in 2025-11-25, and servers need not send it. A notification is
    /// ignored if this client never received the elicitation, or if the elicitation is already
    /// complete. A URL may arrive in [`on_elicit_url`](Self::on_elicit_url) or in an error that
    /// [requires](crate::schema::URLElicitationRequiredError) an elicitation. After such an error,
    /// this handler can repeat the call.
    pub fn on_elicitation_complete(
        mut self,
        handler: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        self.settings.inputs.pages.on_complete = Some(Arc::new(handler));
        self
    }

    /// Sets the handler for sampling requests (`sampling/createMessage`), and declares the
    /// capability. The handler runs on the same threads as the handler of
    /// [`on_elicit`](Self::on_elicit), and pauses the timeout in the same way.
    ///
    /// If the tool uses and the tool results in a request do not match, the request is refused
    /// before the handler runs.
    /// [`ModelPreferences::choose`](crate::schema::ModelPreferences::choose) selects a suitable
    /// model. An error of the handler refuses the request. A legacy server receives the error. A
    /// call of the modern era fails with [`ErrorKind::Cancelled`] for [`RpcError::user_rejected`],
    /// otherwise with [`ErrorKind::Unsupported`].
    ///
    /// Deprecated by the protocol in 2026-07-28.
    ///
    /// Spec: Client Features, "Sampling" (every revision).
    pub fn on_sample(
        mut self,
        handler: impl Fn(
            &CreateMessageRequestParams,
            &Requester,
        ) -> Result<CreateMessageResult, RpcError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.settings.inputs.on_sample(Arc::new(handler));
        self
    }

    /// Sets whether sampling requests may contain tools for the model. If so, the client declares
    /// this capability. Defaults to no. Requires [`on_sample`](Self::on_sample). Since 2025-11-25.
    pub fn sampling_tools(mut self, allowed: bool) -> Self {
        self.settings.inputs.sampling_tools = allowed;
        self
    }

    /// Sets whether the handler of [`on_sample`](Self::on_sample) adds the requested context
    /// (`includeContext`). If so, the client declares this capability. Defaults to no. Since
    /// 2025-11-25; deprecated by the protocol.
    pub fn sampling_context(mut self, honoured: bool) -> Self {
        self.settings.inputs.sampling_context = honoured;
        self
    }

    /// Sets the handler for requests for roots (`roots/list`), and declares the capability. Roots
    /// are the files and directories that the server may work in. The handler runs on the same
    /// threads as the handler of [`on_elicit`](Self::on_elicit).
    ///
    /// The handler runs for each request, so that it can return the roots that the user currently
    /// shares. After a change, [`Client::roots_changed`] notifies a legacy server. If
    /// [`Root::check`] rejects a root, the request is refused and no root is sent. An error of the
    /// handler refuses the request, as for [`on_sample`](Self::on_sample).
    ///
    /// Deprecated by the protocol in 2026-07-28.
    ///
    /// Spec: Client Features, "Roots" (every revision).
    pub fn on_list_roots(
        mut self,
        handler: impl Fn(&Requester) -> Result<Vec<Root>, RpcError> + Send + Sync + 'static,
    ) -> Self {
        self.settings.inputs.on_roots(Arc::new(handler));
        self
    }

    /// Sets how many handlers of input requests run at the same time for one call, when a server of
    /// the modern era requests several inputs at once. Defaults to 4. With 1, they run one after
    /// the other on the thread of the call, in the order of their keys.
    ///
    /// Further input requests wait until a handler has returned. When a handler refuses or panics,
    /// or the call is cancelled, no further handler starts, the others see
    /// [`Requester::is_withdrawn`], and the call ends when they have returned. Choose 1 for a user
    /// interface that can show one question only.
    ///
    /// Spec: Base Protocol, Patterns, "Multi Round-Trip Requests" (2026-07-28).
    pub fn max_concurrent_inputs(mut self, max: usize) -> Self {
        self.settings.inputs.max_at_once = MaxAtOnce(max);
        self
    }

    /// Sets capabilities that the client declares in addition to those of its handlers. Defaults to
    /// no additional capabilities. Each capability that is declared here needs its handler: see
    /// [`on_request`](Self::on_request). With `roots.listChanged` set to false, the client does not
    /// promise to report changes of its roots.
    pub fn capabilities(mut self, capabilities: ClientCapabilities) -> Self {
        self.settings.capabilities = capabilities;
        self
    }

    /// Sets whether the client declares the capabilities of its handlers of input requests.
    /// Defaults to yes. With `false`, it declares only [`capabilities`](Self::capabilities), and
    /// may declare more for single calls: see
    /// [`CallOptions::client_capabilities`](super::CallOptions::client_capabilities).
    pub fn declare_handlers(mut self, declare: bool) -> Self {
        self.settings.declares_handlers = declare;
        self
    }

    /// Declares a protocol extension with its settings, in addition to the
    /// [`capabilities`](Self::capabilities) set before.
    ///
    /// The messages of the extension are handled with [`on_request`](Self::on_request) and
    /// [`on_notification`](Self::on_notification), and sent with [`Client::request`]. A server
    /// might not support the extension: see [`Client::require_extension`].
    ///
    /// Spec: Base Protocol, "Versioning", "Extensions" (2026-07-28; sent to earlier servers too).
    pub fn extension(mut self, id: impl Into<String>, settings: JsonObject) -> Self {
        let extensions = self
            .settings
            .capabilities
            .extensions
            .get_or_insert_default();
        extensions.insert(id.into(), settings.into());
        self
    }

    /// Allows servers to answer a tool call with a task. [`Client::call_tool`] then polls the task
    /// until its result is available. Declares the extension `io.modelcontextprotocol/tasks`.
    /// Defaults to no.
    ///
    /// Since 2026-07-28. In 2025-11-25 a client decides for each call: see
    /// [`Client::call_tool_as_task`].
    pub fn tasks(self) -> Self {
        self.extension(TASKS_EXTENSION, JsonObject::new())
    }

    /// Declares the extension `io.modelcontextprotocol/skills`. Defaults to no. Servers answer
    /// requests about skills without this declaration too: see [`Client::list_skills`].
    pub fn skills(self) -> Self {
        self.extension(SKILLS_EXTENSION, JsonObject::new())
    }

    /// Sets the allowed revisions. Defaults to all revisions. The client uses the newest allowed
    /// revision that the server supports.
    pub fn revisions(mut self, revisions: &[ProtocolVersion]) -> Self {
        self.settings.revisions = revisions.to_vec();
        self
    }

    /// Sets the era of the server, as [`Client::era`] returned it for an earlier connection. By
    /// default the client detects the era.
    ///
    /// With this setting the client sends no probe (`server/discover`). The era is only a hint: if
    /// the server names other revisions, or refuses over HTTP, the client uses the era that the
    /// server supports.
    pub fn era(mut self, era: Era) -> Self {
        self.settings.era = Some(era);
        self
    }

    /// Sets the store in which the client remembers the eras of servers. The next connection to a
    /// remembered server uses the remembered era. By default no era is remembered.
    pub fn era_memory(mut self, memory: &EraMemory) -> Self {
        self.settings.memory = Some(memory.clone());
        self
    }

    /// Limits how long a server may take to answer the probe after it has read the probe. The probe
    /// is the `server/discover` request with which the client detects the era. A server that does
    /// not answer in time is treated as a legacy server. Defaults to 5 s.
    ///
    /// The probe may use at most half of the remaining connect time, with three exceptions. A child
    /// process that has read nothing is still starting, and may use all of the connect time. An
    /// HTTP server may also use all of the connect time. If no legacy revision is allowed, only
    /// this timeout limits the probe. If the transport cannot report whether the probe was read,
    /// the timeout starts when the probe is sent.
    ///
    /// A discovery result that arrives later, during initialization, still counts. If the client
    /// concluded the era only from a missing answer, the era is not [remembered](Self::era_memory).
    pub fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.settings.probe_timeout = timeout;
        self
    }

    /// Limits the total time of connecting. This includes every message and every start of the
    /// server, but not the time that a user takes for a login. Defaults to 60 s. After this time
    /// connecting fails with [`ErrorKind::Timeout`].
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// Sets a handler for requests of the server. Only legacy servers send requests. The handler
    /// runs on a thread of the connection.
    pub fn on_request(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Request, Responder) + Send + Sync + 'static,
    ) -> Self {
        self.settings.handlers = self.settings.handlers.request(method, handler);
        self
    }

    /// Sets a handler for notifications that belong to no call. The handler runs on a thread of the
    /// connection, for one notification at a time and in order.
    pub fn on_notification(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Peer, &Notification) + Send + Sync + 'static,
    ) -> Self {
        self.settings.handlers = self.settings.handlers.notification(method, handler);
        self
    }

    /// Sets a handler for log messages of the server. The handler runs on a thread of the
    /// connection, for one message at a time and in order. The handler replaces a handler of
    /// `notifications/message`.
    ///
    /// A log message that cannot be parsed is reported to [`on_log`](Self::on_log), which receives
    /// the log records of this library. [`Client::set_log_level`] and
    /// [`CallOptions::log_level`](super::CallOptions::log_level) select the messages that
    /// the server sends.
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

    /// Sets the limits of the connection, such as the maximum length of a message.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Sets properties of the threads of the client and its transport. Defaults to
    /// [`Threads::new`].
    ///
    /// Two threads may outlast a close. A [cancelled](Self::cancel_connecting_with) connect that
    /// cannot be interrupted keeps its thread. A login (feature `auth`) keeps its thread, because
    /// other connections may wait for the login.
    pub fn threads(mut self, threads: &Threads) -> Self {
        self.settings.threads = threads.clone();
        self
    }

    /// Sets the response cache of the client. Several clients can share a cache. By default each
    /// client has its own cache, within the client's [`limits`](Self::limits). To disable caching,
    /// set [`max_cached_responses`](Limits::max_cached_responses) to 0.
    pub fn cache(mut self, cache: &ResponseCache) -> Self {
        self.settings.cache = Some(cache.clone());
        self
    }

    /// Sets whether messages that deviate from the exact wording of the specification are refused.
    /// Defaults to no.
    ///
    /// By default an unambiguous deviation is accepted. An invalid entry of a result is left out
    /// and logged to [`on_log`](Self::on_log). The `misfits` methods of results, such as
    /// [`CallToolResult::misfits`](crate::schema::CallToolResult::misfits), return these entries.
    /// In strict mode an answer that deviates is an error of kind
    /// [`Protocol`](ErrorKind::Protocol). An input request of the server (elicitation, sampling,
    /// roots) that deviates then reaches no handler. A legacy server gets an error, and a call of
    /// the modern era fails. `docs/compatibility.md` lists all accepted deviations.
    pub fn strict(mut self, strict: bool) -> Self {
        self.settings.strict = strict;
        self
    }

    /// Sets whether calls are sent although the server did not declare the required capability.
    /// Defaults to no: such a call fails at once with [`ErrorKind::Unsupported`].
    ///
    /// Some servers have tools but do not declare the capability `tools`. With this setting, a
    /// server without tools answers a tool call with its own error.
    pub fn assume_capabilities(mut self, assume: bool) -> Self {
        self.settings.assumes_capabilities = assume;
        self
    }

    /// Sets the timeout of calls whose options do not set one. Defaults to 60 s. See
    /// [`CallOptions::timeout`](super::CallOptions::timeout).
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeouts.timeout = Some(timeout);
        self
    }

    /// Sets the maximum timeout of calls whose options do not set one. Defaults to 10 min. See
    /// [`CallOptions::max_timeout`](super::CallOptions::max_timeout).
    pub fn max_call_timeout(mut self, max_timeout: Duration) -> Self {
        self.settings.timeouts.max_timeout = Some(max_timeout);
        self
    }

    /// Limits the number of pages of one list. Defaults to 10 000. A request for a page above the
    /// limit fails with [`ErrorKind::Limit`].
    pub fn max_list_pages(mut self, max_list_pages: usize) -> Self {
        self.settings.list_bounds.max_list_pages = max_list_pages;
        self
    }

    /// Limits the number of items of a list that is read as a whole. Defaults to 100 000. Reading a
    /// longer list fails with [`ErrorKind::Limit`]. There is no such limit for a list that is read
    /// page by page.
    pub fn max_list_items(mut self, max_list_items: usize) -> Self {
        self.settings.list_bounds.max_list_items = max_list_items;
        self
    }

    /// Sets the validator that checks structured tool results against the listed output schemas.
    /// `None` disables the check. Defaults to [`Validator::json_schema`] with the feature
    /// `validation`, otherwise to `None`.
    ///
    /// A schema is known after [`list_tools`](Client::list_tools) or
    /// [`tool_pages`](Client::tool_pages) has returned it. The schema becomes unknown when the
    /// server announces that its tools have changed, or when the connection to the server ends. If
    /// the output schema of a tool is unusable, a call of the tool fails before it is sent. A
    /// result that does not match the schema, or lacks structured content, fails with
    /// [`ErrorKind::Protocol`]. [`Error::result`] returns the failed result. Results that report a
    /// tool error are not checked.
    ///
    /// Spec: Server Features, Tools, "Output Schema" (since 2025-06-18).
    pub fn validator(mut self, validator: impl Into<Option<Validator>>) -> Self {
        self.settings.validator = validator.into();
        self
    }

    /// Sets the hook that receives the library's log records. The hook runs on any thread, for one
    /// record at a time, and should return quickly. Defaults to no hook.
    pub fn on_log(mut self, hook: impl Fn(&LogRecord<'_>) + Send + Sync + 'static) -> Self {
        self.settings.log = Some(Arc::new(hook));
        self
    }

    /// Sets the policy by which the client restarts the server and negotiates again, when the
    /// connection ends unexpectedly, for example because the child process crashed. Defaults to no
    /// restart. Requires a transport that can create [another](Transport::again) transport with the
    /// same settings, such as a child process.
    ///
    /// Calls that are in flight when the connection ends fail with [`ErrorKind::Closed`].
    /// [`Error::was_sent`] shows whether such a call may have had an effect. Calls that were not
    /// sent wait for the restarted server, within their deadline.
    /// [Subscriptions](super::Subscription) are renewed and receive
    /// [`Event::EverythingChanged`](super::Event::EverythingChanged). [`Client::capabilities`] and
    /// similar methods then return the values of the restarted server.
    ///
    /// Spec: Transports, stdio, "Unexpected Termination" (2026-07-28).
    pub fn restart(mut self, restart: Restart) -> Self {
        self.settings.restart = Some(restart);
        self
    }

    /// Sets a hook for connection events. Defaults to no hook; the events are then logged.
    ///
    /// With [`restart`](Self::restart) the hook runs on the restarting thread, which waits until
    /// the hook returns. Events are reported one at a time and in order. Without restarts, the
    /// unexpected end of the connection is reported as [`ConnectionEvent::GivenUp`], on a thread of
    /// the connection. A close by the client itself is not reported.
    ///
    /// If the hook calls the server while the server is not connected, the call fails at once.
    pub fn on_connection_event(
        mut self,
        hook: impl Fn(ConnectionEvent) + Send + Sync + 'static,
    ) -> Self {
        self.settings.on_connection_event = Some(Arc::new(hook));
        self.settings.logs_connection_events = false;
        self
    }

    /// Sets that connection events are logged although there is a hook, because the hook does not
    /// pass them to the host.
    #[cfg(feature = "cffi")]
    pub(crate) fn log_connection_events(mut self) -> Self {
        self.settings.logs_connection_events = true;
        self
    }

    /// Sets that the client pings a silent server. If the server does not answer, the connection is
    /// closed, or the server is [restarted](Self::restart). Defaults to no pings: the end of a
    /// child process, or of a socket, is detected without pings.
    ///
    /// Since 2026-07-28 there is no `ping`. A modern server gets `server/discover`, which every
    /// modern server supports. The setting requires a transport whose receiver can wait with a time
    /// limit ([`Receiver::is_patient`](crate::transport::Receiver::is_patient)).
    ///
    /// Spec: Base Protocol, Utilities, "Ping" (up to 2025-11-25).
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.settings.keep_alive = Some(keep_alive);
        self
    }

    /// Sets the run time after which a handler of this client counts as slow and is logged: see
    /// [`ConnectionBuilder::slow_handler`](crate::protocol::ConnectionBuilder::slow_handler).
    /// Defaults to 30 s.
    pub fn slow_handler(mut self, slow_handler: Duration) -> Self {
        self.settings.slow_handler = slow_handler;
        self
    }

    /// Sets a hook that returns the trace context of each request. The hook runs on the calling
    /// thread. Defaults to no hook.
    ///
    /// A trace context that is set with
    /// [`CallOptions::trace_context`](super::CallOptions::trace_context) takes
    /// precedence.
    ///
    /// Spec: Base Protocol, "`_meta`" (2026-07-28). The trace context is sent to servers of earlier
    /// revisions too.
    pub fn trace_context(
        mut self,
        hook: impl Fn() -> TraceContext + Send + Sync + 'static,
    ) -> Self {
        self.settings.trace_context = Some(Arc::new(hook));
        self
    }

    /// Sets the token with which any thread can cancel connecting. When the token is cancelled,
    /// [`connect`](Self::connect) fails with [`ErrorKind::Cancelled`], in the worst case after a
    /// second or two. By default connecting cannot be cancelled.
    ///
    /// A started server is ended before `connect` returns. There is one exception: some steps, for
    /// example a DNS lookup or a TCP connect, cannot be interrupted. Then `connect` returns first,
    /// and the connection is closed as soon as it is open. With a token, connecting uses its own
    /// thread, which may continue after `connect` has returned. The token has no effect once the
    /// client is connected.
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
    /// std::thread::spawn(move || escape.cancel());
    ///
    /// // No server answers at the other end.
    /// let (here, _there) = memory::pair();
    /// let builder = Client::builder("patient", "1.0").cancel_connecting_with(&cancel);
    /// let error = builder.connect(here).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Cancelled);
    /// ```
    pub fn cancel_connecting_with(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    /// Connects: opens the transport, detects the era, and negotiates a revision.
    ///
    /// Blocks until the client is connected, at most for
    /// [`connect_timeout`](Self::connect_timeout). If a child process exits, hangs or refuses
    /// `initialize` after it has read the probe, the process is started once more. The new process
    /// gets `initialize` as its first message. If an HTTP server refuses `initialize` after a
    /// probe, `initialize` is sent once more on new connections. If connecting fails, the error
    /// describes each start.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Spawn`]: the child process cannot be started.
    /// - [`ErrorKind::Closed`]: the server has gone; the error quotes the last output of the
    ///   server.
    /// - [`ErrorKind::Timeout`]: the server did not answer.
    /// - [`ErrorKind::Unsupported`]: there is no common revision.
    /// - [`ErrorKind::Peer`] or [`ErrorKind::Protocol`]: the server refuses, or its answer is
    ///   invalid.
    /// - [`ErrorKind::Io`], [`ErrorKind::Auth`] or [`ErrorKind::Http`] over HTTP: the server cannot
    ///   be reached, requires other credentials, or answered with another status.
    /// - [`ErrorKind::Invalid`]: settings contradict each other, no revision is allowed, or the id
    ///   of an [extension](Self::extension) is invalid.
    /// - [`ErrorKind::Cancelled`]: [the token](Self::cancel_connecting_with) was cancelled.
    ///
    /// On an error the server is ended and not [restarted](Self::restart): only a server that was
    /// once connected is restarted.
    pub fn connect(mut self, transport: impl Transport + 'static) -> Result<Client> {
        if self.settings.revisions.is_empty() {
            return Err(Error::new(
                ErrorKind::Invalid,
                "a client needs at least one revision",
            ));
        }
        let extensions = self.settings.capabilities.extensions.iter();
        for id in extensions.flat_map(JsonObject::keys) {
            check_extension_id(id)?;
        }
        let transport = Box::new(transport);
        match self.cancel.take() {
            Some(token) => connect_cancel::connect(self.settings, transport, &token),
            None => Supervisor::open(self.settings, transport, None).map(Client::new),
        }
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("info", &self.settings.info)
            .field("revisions", &self.settings.revisions)
            .finish_non_exhaustive()
    }
}
