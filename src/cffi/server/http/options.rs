//! HTTP options of a server.

use std::ffi::{c_char, c_void};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::event_store::{
    self, HostStore, mcplink_event_append_fn, mcplink_event_forget_fn, mcplink_event_replay_fn,
};
use super::request::{AuthenticateFn, Check, mcplink_authenticate_fn};
use super::resource_server::mcplink_resource_server_t;
use crate::cffi::arg;
use crate::cffi::entry::{Outcome, free, own, value};
use crate::cffi::refusal::{Refusal, Settings, set, taken};
use crate::cffi::server::mcplink_server_t;
use crate::cffi::text::{filled, measured, missing, name, optional};
use crate::cffi::user::Hook;
use crate::error::{Error, ErrorKind, Result};
use crate::server::http::{HttpOptions, HttpPage, StaticTokens};
use crate::transport::http::{HttpLimits, Network};

/// HTTP options of a server. The defaults suit a server for clients on this machine. One thread at
/// a time may use the options. Listeners and endpoints copy the options with which they are made.
#[derive(Default)]
pub struct mcplink_http_options_t {
    /// The options of the Rust API, without access, limits and lists.
    http: HttpOptions,
    hosts: Vec<String>,
    origins: Vec<String>,
    trusted_proxies: Vec<Network>,
    limits: HttpLimits,
    access: Access,
    /// Sets the event store of the host for the server with this number. Only its setter has the
    /// code, so that a program without such a store is linked without it.
    event_store: Option<SetStore>,
    refusal: Refusal,
}

object!(mcplink_http_options_t is HttpOptions);

type SetStore = Box<dyn Fn(HttpOptions, u64) -> HttpOptions>;

/// How clients are authenticated.
#[derive(Default)]
enum Access {
    /// All clients are accepted without authentication.
    #[default]
    Open,
    Host(Arc<Hook<AuthenticateFn>>),
    Fixed(StaticTokens),
    Tokens(Box<mcplink_resource_server_t>),
}

impl Settings for mcplink_http_options_t {
    const TARGET: &'static str = "http";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl mcplink_http_options_t {
    /// Changes the options of the Rust API.
    fn change(&mut self, change: impl FnOnce(HttpOptions) -> HttpOptions) {
        self.http = change(mem::take(&mut self.http));
    }

    /// Builds the HTTP options of the Rust API for a server.
    ///
    /// # Errors
    ///
    /// Fails if a setter of the options failed, or if the resource server is invalid.
    pub(super) fn for_server(&self, server: &mcplink_server_t) -> Outcome<HttpOptions> {
        self.refusal.check()?;
        let mut options = self
            .http
            .clone()
            .allowed_origins(self.origins.clone())
            .trusted_proxies(self.trusted_proxies.iter().copied())
            .limits(self.limits.clone());
        if !self.hosts.is_empty() {
            options = options.allowed_hosts(self.hosts.clone());
        }
        if let Some(set) = &self.event_store {
            options = set(options, server.gate.number());
        }
        let options = match &self.access {
            Access::Open => options,
            Access::Host(hook) => {
                let check = Check::new(hook, server);
                options.authenticate(move |request| check.ask(request))
            }
            Access::Fixed(tokens) => {
                let tokens = tokens.clone();
                options.authenticate(move |request| tokens.check(request))
            }
            Access::Tokens(tokens) => options.authorization(tokens.for_server(server)?),
        };
        options.check()?;
        Ok(options)
    }

    /// Adds a fixed access token. Fails if clients are authenticated in another way already.
    pub(super) fn add_token(&mut self, token: &str, principal: &str) -> Outcome<()> {
        self.access.check("mcplink_http_options_add_token")?;
        let tokens = match mem::take(&mut self.access) {
            Access::Fixed(tokens) => tokens,
            _ => StaticTokens::new(),
        };
        if !StaticTokens::can_be_sent(token.trim_ascii().as_bytes()) {
            let text = "a token has visible ASCII characters only: no client can send this one";
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        self.access = Access::Fixed(tokens.token(token, principal));
        Ok(())
    }
}

impl Access {
    /// Fails if another setter than `setter` was used, so that no setter silently replaces another
    /// kind of authentication.
    fn check(&self, setter: &str) -> Outcome<()> {
        let other = match self {
            Self::Open => return Ok(()),
            Self::Host(_) => "mcplink_http_options_on_authenticate",
            Self::Fixed(_) => "mcplink_http_options_add_token",
            Self::Tokens(_) => "mcplink_http_options_set_resource_server",
        };
        if other == setter {
            return Ok(());
        }
        let text = format!(
            "the settings have {other} already: take that away first (mcplink_http_options_clear_...)"
        );
        Err(Error::new(ErrorKind::Invalid, text).into())
    }
}

/// Makes HTTP options with the default values.
///
/// Returns: the options. The caller owns them and frees them with mcplink_http_options_free.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_http_options_new() -> *mut mcplink_http_options_t {
    value(std::ptr::null_mut(), || own(Default::default()))
}

/// Frees HTTP options. Listeners and endpoints made with them keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_free(options: *mut mcplink_http_options_t) {
    // SAFETY: the header requires options of this library, freed once.
    unsafe { free(options) }
}

actions! {
    set(options: mcplink_http_options_t);

    /// Sets the path of the endpoint, for a host with several endpoints at one address. Default:
    /// "/mcp". Requests for other paths are answered with status 404.
    ///
    /// path: the path, which begins with "/".
    fn mcplink_http_options_set_path(path: *const c_char) {
        let path = name(path, "path")?;
        if !path.starts_with('/') {
            let text = format!("the path '{path}' does not begin with '/'");
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        options.change(|http| http.path(path));
    }

    /// Adds an allowed host name. A request is refused if the host name in its header field Host is
    /// not allowed, which prevents DNS rebinding. Ports are not compared. Behind a proxy, add the
    /// host name that the proxy sends. Default: on a loopback address, localhost, 127.0.0.1 and
    /// `[::1]`; on other addresses, all host names.
    ///
    /// host: the host name, for example "mcp.example.com", without scheme, port and wildcard.
    fn mcplink_http_options_add_host(host: *const c_char) {
        let host = filled(host, "host")?;
        HttpOptions::new().allowed_hosts([host]).check()?;
        options.hosts.push(host.to_owned());
    }

    /// Adds an allowed origin: a web site whose pages may call the server. By default only pages
    /// under the server's own host name may call the server. The server's own host name must be an
    /// allowed host name (mcplink_http_options_add_host), an IP address or a name of this machine,
    /// because the owner of any other name could make the name resolve to the server (DNS
    /// rebinding).
    ///
    /// origin: scheme and host name, and the port unless it is the default port, for example
    /// "https://example.com", without path and wildcard.
    fn mcplink_http_options_add_origin(origin: *const c_char) {
        let origin = filled(origin, "origin")?;
        HttpOptions::new().allowed_origins([origin]).check()?;
        options.origins.push(origin.to_owned());
    }

    /// Adds a trusted proxy, or a network of trusted proxies. The library reads the address of the
    /// client from the header field Forwarded (RFC 7239) or X-Forwarded-For that a trusted proxy
    /// sends. The client's address is the last address in the field that does not belong to a
    /// trusted proxy. If the field is invalid, the proxy counts as the client. Without trusted
    /// proxies all requests through a proxy share the limits of one client.
    ///
    /// network: an address such as "192.0.2.1", or a network such as "10.0.0.0/8".
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for an invalid network.
    fn mcplink_http_options_add_trusted_proxy(network: *const c_char) {
        let network = filled(network, "network")?;
        options.trusted_proxies.push(network.parse()?);
    }

    /// Sets whether clients of revisions before 2026-07-28 get sessions. Without sessions any
    /// replica can answer any request, but clients of these revisions get no input requests and no
    /// change notifications. Default: true.
    ///
    /// enabled: true to give these clients sessions.
    fn mcplink_http_options_set_sessions(enabled: bool) {
        options.change(|http| http.sessions(enabled));
    }

    /// Sets the idle timeout of sessions, because clients often leave without ending theirs. A
    /// session ends when it has had no request, no answer and no open stream for this time.
    /// Default: 30 minutes.
    ///
    /// milliseconds: the idle timeout, in milliseconds.
    fn mcplink_http_options_set_session_idle_ms(milliseconds: u32) {
        let idle = Duration::from_millis(milliseconds.into());
        options.change(|http| http.session_idle(idle));
    }

    /// Sets the two paths of the HTTP+SSE transport, so that clients of revision 2024-11-05 are
    /// served. Default: these clients are not served.
    ///
    /// stream: the path of the SSE stream.
    /// post: the path to which the client posts messages.
    fn mcplink_http_options_set_old_paths(stream: *const c_char, post: *const c_char) {
        let (stream, post) = (name(stream, "stream")?, name(post, "post")?);
        options.change(|http| http.old_paths(stream, post));
    }

    /// Serves a page that tells the health of the server, for load balancers. By default there is
    /// none.
    ///
    /// The page answers GET and HEAD with status 200, and with 503 once the server is closing or
    /// mcplink_listener_drain was called. It needs neither a session nor credentials. The
    /// field Host must have an allowed name or an IP address. A listener or endpoint is refused if
    /// the path is that of the endpoint, of its metadata or of a page.
    ///
    /// path: the path, for example "/healthz".
    fn mcplink_http_options_set_health(path: *const c_char) {
        let path = name(path, "path")?;
        options.change(|http| http.health(path));
    }

    /// Adds a static page of the host, with an ETag that is made from its content.
    ///
    /// The page answers GET and HEAD, and status 304 to a request whose field If-None-Match has the
    /// ETag. It is public: it needs neither a session nor credentials. The field Host must have an
    /// allowed name. A listener or endpoint is refused if the path is that of the endpoint, of its
    /// metadata or of another page.
    ///
    /// path: the path as it stands in requests, percent-encoded, for example "/robots.txt".
    /// media_type: the media type, for example "text/plain".
    /// body, len: the content, which is copied; len may be MCPLINK_NUL for text that ends in NUL.
    /// cache_control: the value of the field Cache-Control; NULL for "no-cache".
    fn mcplink_http_options_add_page(
        path: *const c_char,
        media_type: *const c_char,
        body: *const c_void,
        len: usize,
        cache_control: *const c_char,
    ) {
        let (path, media) = (name(path, "path")?, name(media_type, "media_type")?);
        let mut page = HttpPage::new(media.to_owned(), measured(body.cast(), len, "body")?);
        if let Some(value) = optional(cache_control, "cache_control")? {
            page = page.cache_control(value.to_owned());
        }
        options.change(|http| http.page(path, page));
    }

    /// Sets the limits for the stored events of each stream of a session. A client that reconnects
    /// receives the stored events. Beyond the limits, the oldest events are dropped. Default: 256
    /// events and 1 MiB. See also MCPLINK_HTTP_LIMIT_KEPT_BYTES. The limits don't apply to a store
    /// that was set with mcplink_http_options_set_event_store.
    ///
    /// events: the maximum number of events.
    /// bytes: the maximum number of bytes of the events.
    fn mcplink_http_options_set_kept_events(events: usize, bytes: usize) {
        options.change(|http| http.kept_events(events, bytes));
    }

    /// Sets the functions of the host that store the events of sessions, for example to store more
    /// events than fit into memory. A client that lost its connection gets the missed events from
    /// them. A store can't move sessions to another process: all requests of a session must reach
    /// the process that opened the session. Default: events are stored in memory.
    ///
    /// append, replay, forget: all three functions: see mcplink_event_append_fn,
    /// mcplink_event_replay_fn and mcplink_event_forget_fn. Or NULL for all three, to store events
    /// in memory.
    /// user, destroy: passed to the functions; destroy runs when the store is replaced, or when the
    /// options, all listeners and endpoints made with them, and their sessions have ended.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when only some of the functions are set.
    fn mcplink_http_options_set_event_store(
        append: mcplink_event_append_fn,
        replay: mcplink_event_replay_fn,
        forget: mcplink_event_forget_fn; user
    ) {
        let hook = event_store::hook(append, replay, forget, user)?;
        options.event_store = hook.map(|hook| -> SetStore {
            Box::new(move |http, owner| http.event_store(HostStore::new(&hook, owner)))
        });
    }

    /// Sets the keep-alive interval of event streams, so that proxies do not drop idle connections.
    /// After this time without data, a comment is written to a stream. A response that has not
    /// begun after this time begins as an event stream, unless the client accepts no event stream.
    /// Default: 15 s.
    ///
    /// milliseconds: the interval in milliseconds, at least 1.
    fn mcplink_http_options_set_keep_alive_ms(milliseconds: u32) {
        let interval = Duration::from_millis(milliseconds.max(1).into());
        options.change(|http| http.keep_alive(interval));
    }
}

enumeration! {
    /// A limit of a server over HTTP. The comment of each limit states the default and the effect
    /// at the limit.
    #[repr(C)]
    pub enum mcplink_http_limit {
        /// The maximum number of sessions. Default: 10000. At the limit, an idle session of the
        /// client with the most sessions ends to make room. If no session is idle, the next client
        /// is refused with status 503.
        MCPLINK_HTTP_LIMIT_SESSIONS = 701,
        /// The maximum number of requests in flight, of all clients of revisions since 2026-07-28.
        /// Default: 1024. The next request is answered with a "busy" error.
        MCPLINK_HTTP_LIMIT_REQUESTS = 702,
        /// The maximum number of streams of change notifications, for all clients of revisions
        /// since 2026-07-28. Each resource and task in the filter of a stream counts too. Default:
        /// 10000. The next stream is refused with a "busy" error. Some streams are reserved for
        /// clients that have few streams: see MCPLINK_LIMIT_RESERVE_PERCENT.
        MCPLINK_HTTP_LIMIT_STREAMS = 703,
        /// The maximum number of open connections. Default: 24000, and never more than seven
        /// eighths of the process's descriptor limit. If MCPLINK_HTTP_LIMIT_STREAMS or
        /// MCPLINK_HTTP_LIMIT_SESSIONS is larger than its default, the default rises to their sum
        /// and 4000. Another number stays. If the streams and sessions that are set need more
        /// connections, that is logged. At the limit, an idle connection of the client with the
        /// most connections is closed to make room. If no connection is idle, the next connection
        /// is answered with status 503.
        MCPLINK_HTTP_LIMIT_CONNECTIONS = 704,
        /// The maximum number of requests that are served at once, each on its own thread. Default:
        /// 64. Further requests wait, unless they need no handler, such as pings and cancellations.
        /// The client with the fewest threads gets the next free thread.
        MCPLINK_HTTP_LIMIT_WORKERS = 705,
        /// The maximum number of requests that wait for a thread. Default: 256. Above the limit,
        /// the newest request of the client with the most waiting requests is answered with status
        /// 503.
        MCPLINK_HTTP_LIMIT_WAITING = 706,
        /// The maximum length of a request line with its header fields, in bytes. Default: 32 KiB.
        /// A longer request head is answered with status 431 or 414.
        MCPLINK_HTTP_LIMIT_HEAD_BYTES = 707,
        /// The maximum number of header fields of a request. Default: 128; values above 256 act as
        /// 256. A request with more fields is answered with status 431.
        MCPLINK_HTTP_LIMIT_FIELDS = 708,
        /// The maximum number of bytes of one stream that wait until the client reads them.
        /// Default: 256 KiB. At the limit, nothing more is written to the stream until the client
        /// reads.
        MCPLINK_HTTP_LIMIT_STREAM_BYTES = 709,
        /// The maximum time to receive a request head, in milliseconds. Default: 10000. After that
        /// the request is answered with status 408.
        MCPLINK_HTTP_LIMIT_HEAD_MS = 710,
        /// The maximum time that a request body may be slower than MCPLINK_HTTP_LIMIT_BODY_RATE, in
        /// milliseconds. Default: 10000. After that the request is answered with status 408.
        MCPLINK_HTTP_LIMIT_BODY_MS = 711,
        /// The minimum rate of a request body, in bytes per second. Default: 1024. See
        /// MCPLINK_HTTP_LIMIT_BODY_MS.
        MCPLINK_HTTP_LIMIT_BODY_RATE = 712,
        /// The maximum time that a client may read nothing while data for the client waits, in
        /// milliseconds. Default: 30000. After that the connection of the client is aborted.
        MCPLINK_HTTP_LIMIT_WRITE_MS = 713,
        /// The maximum time that a connection may be idle, in milliseconds. Default: 75000. After
        /// that the connection is closed.
        MCPLINK_HTTP_LIMIT_IDLE_MS = 714,
        /// The maximum number of bytes of all stored events of all sessions. Default: 256 MiB.
        /// Above the limit, the oldest events of the stream with the most stored bytes are dropped.
        MCPLINK_HTTP_LIMIT_KEPT_BYTES = 715,
        /// The maximum number of bytes that wait until clients read them, of all clients together.
        /// Default: 256 MiB. Above the limit, connections are aborted, first those with the highest
        /// product of waiting bytes and time without reading.
        MCPLINK_HTTP_LIMIT_UNSENT_BYTES = 716,
        /// The maximum time until the first byte of a new connection, in milliseconds. Default:
        /// 10000. After that the connection is closed.
        MCPLINK_HTTP_LIMIT_FIRST_BYTE_MS = 717,
        /// The maximum share, in percent, of connections, threads and sessions that one client may
        /// use while other clients need them too. Default: 50. While no other client needs them,
        /// one client may use all of them.
        MCPLINK_HTTP_LIMIT_PART_PERCENT = 718,
        /// The number of reserved connections and threads beyond the limits, in percent of the
        /// limits. Only clients that use few connections and threads may use the reserved ones.
        /// Default: 12. With 0, nothing is reserved.
        MCPLINK_HTTP_LIMIT_RESERVE_PERCENT = 719,
    }
}

impl mcplink_http_options_t {
    fn set_limit(&mut self, limit: i32, bound: usize) -> Result<()> {
        use mcplink_http_limit as Limit;
        let limits = &mut self.limits;
        let time = Duration::from_millis(bound.try_into().unwrap_or(u64::MAX));
        match Limit::read(limit, "limit")? {
            Limit::MCPLINK_HTTP_LIMIT_SESSIONS => self.change(|http| http.max_sessions(bound)),
            Limit::MCPLINK_HTTP_LIMIT_REQUESTS => self.change(|http| http.max_requests(bound)),
            Limit::MCPLINK_HTTP_LIMIT_STREAMS => self.change(|http| http.max_streams(bound)),
            Limit::MCPLINK_HTTP_LIMIT_CONNECTIONS => limits.max_connections = bound,
            Limit::MCPLINK_HTTP_LIMIT_WORKERS => limits.max_workers = bound,
            Limit::MCPLINK_HTTP_LIMIT_WAITING => limits.max_waiting = bound,
            Limit::MCPLINK_HTTP_LIMIT_HEAD_BYTES => limits.max_head_bytes = bound,
            Limit::MCPLINK_HTTP_LIMIT_FIELDS => limits.max_fields = bound,
            Limit::MCPLINK_HTTP_LIMIT_STREAM_BYTES => limits.max_stream_bytes = bound,
            Limit::MCPLINK_HTTP_LIMIT_HEAD_MS => limits.head_timeout = time,
            Limit::MCPLINK_HTTP_LIMIT_BODY_MS => limits.body_timeout = time,
            Limit::MCPLINK_HTTP_LIMIT_BODY_RATE => limits.min_body_rate = bound,
            Limit::MCPLINK_HTTP_LIMIT_WRITE_MS => limits.write_timeout = time,
            Limit::MCPLINK_HTTP_LIMIT_IDLE_MS => limits.keep_alive = time,
            Limit::MCPLINK_HTTP_LIMIT_KEPT_BYTES => self.change(|http| http.max_kept_bytes(bound)),
            Limit::MCPLINK_HTTP_LIMIT_UNSENT_BYTES => limits.max_unsent_bytes = bound,
            Limit::MCPLINK_HTTP_LIMIT_FIRST_BYTE_MS => limits.first_byte_timeout = time,
            Limit::MCPLINK_HTTP_LIMIT_PART_PERCENT => limits.part_percent = bound,
            Limit::MCPLINK_HTTP_LIMIT_RESERVE_PERCENT => limits.reserve_percent = bound,
        }
        Ok(())
    }
}

actions! {
    set(options: mcplink_http_options_t);

    /// Sets a limit of a server over HTTP. The length of a body is limited by
    /// MCPLINK_LIMIT_MESSAGE_BYTES of the server instead: see mcplink_server_options_set_limit.
    ///
    /// limit: the limit.
    /// value: the new value of the limit.
    fn mcplink_http_options_set_limit(limit: arg::mcplink_http_limit, value: usize) {
        options.set_limit(limit, value)?;
    }
}

actions! {
    set(options: mcplink_http_options_t);

    /// Removes the function that was set with mcplink_http_options_on_authenticate, and the tokens
    /// of mcplink_http_options_add_token. If no resource server is set, all clients are then
    /// accepted without authentication.
    ///
    /// Returns: MCPLINK_OK, also when neither is set, or MCPLINK_E_INVALID.
    fn mcplink_http_options_clear_authenticate() {
        if matches!(options.access, Access::Host(_) | Access::Fixed(_)) {
            options.access = Access::Open;
        }
    }

    /// Sets a resource server: each request must then have an access token for this server, and
    /// clients are informed where they can obtain a token. If a function was set with
    /// mcplink_http_options_on_authenticate, this call fails, because that function checks other
    /// credentials.
    ///
    /// Handlers read the principal with mcplink_request_principal, and check the scopes of the
    /// principal with mcplink_request_has_scope.
    ///
    /// server: the description of the resource server. The description is copied, and remains the
    /// caller's. NULL is refused: see mcplink_http_options_clear_resource_server. If a setter of
    /// the description failed, this call fails with the status of that setter. Other faults are
    /// reported when a listener or endpoint is made with the options. In a build without JWTs,
    /// making a listener or endpoint that needs JWTs fails with MCPLINK_E_UNSUPPORTED.
    /// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or the status of the setter that failed.
    fn mcplink_http_options_set_resource_server(server: *const mcplink_resource_server_t) {
        let tokens = taken(server, "server")?.clone();
        let setter = "mcplink_http_options_set_resource_server";
        options.access.check(setter)?;
        options.access = Access::Tokens(Box::new(tokens));
    }

    /// Removes the resource server that was set with mcplink_http_options_set_resource_server. If
    /// no function was set with mcplink_http_options_on_authenticate, all clients are then accepted
    /// without authentication.
    ///
    /// Returns: MCPLINK_OK, also when no resource server is set, or MCPLINK_E_INVALID.
    fn mcplink_http_options_clear_resource_server() {
        if matches!(options.access, Access::Tokens(_)) {
            options.access = Access::Open;
        }
    }

    /// Sets a function that authenticates each request before the request is processed. By default
    /// all clients are accepted without authentication. If clients are authenticated in another way
    /// already (mcplink_http_options_set_resource_server, mcplink_http_options_add_token), this
    /// call fails.
    ///
    /// callback: see mcplink_authenticate_fn. Without a pump, it runs on the threads that read
    /// requests, on several at once. With a pump, it runs on the thread that dispatches the pump.
    /// NULL is refused: see mcplink_http_options_clear_authenticate.
    /// user, destroy: passed to callback; destroy runs when the function is replaced, refused or
    /// cleared, or when the options and all listeners and endpoints made with them are freed.
    fn mcplink_http_options_on_authenticate(callback: mcplink_authenticate_fn; user) {
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        let setter = "mcplink_http_options_on_authenticate";
        options.access.check(setter)?;
        options.access = Access::Host(hook);
    }
}
