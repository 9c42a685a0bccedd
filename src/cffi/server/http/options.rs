//! How a server is served over HTTP.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use super::request::{AuthenticateFn, Check, mcplink_authenticate_fn};
use super::resource_server::mcplink_resource_server_t;
use crate::cffi::entry::{Outcome, free, value};
use crate::cffi::error::Failure;
use crate::cffi::refusal::{Refusal, Settings, set};
use crate::cffi::server::mcplink_server_t;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{filled, missing, name};
use crate::cffi::user::{Hook, UserData, mcplink_destroy_fn};
use crate::error::{Error, ErrorKind, Result};
use crate::server::http::HttpOptions;
use crate::transport::http::{HttpLimits, Network};

/// How a server is served over HTTP. The defaults suit a server for clients on the same machine. One thread at a time uses it; what serves
/// copies it.
pub struct mcplink_http_options_t {
    path: Option<String>,
    hosts: Vec<String>,
    origins: Vec<String>,
    sessions: bool,
    max_sessions: Option<usize>,
    session_idle: Option<Duration>,
    old_paths: Option<(String, String)>,
    max_requests: Option<usize>,
    max_streams: Option<usize>,
    kept_events: Option<(usize, usize)>,
    max_kept_bytes: Option<usize>,
    keep_alive: Option<Duration>,
    trusted_proxies: Vec<Network>,
    limits: HttpLimits,
    access: Access,
    refusal: Refusal,
}

/// Who is let in.
#[derive(Default)]
enum Access {
    /// Everybody.
    #[default]
    Open,
    Host(Arc<Hook<AuthenticateFn>>),
    Tokens(Box<mcplink_resource_server_t>),
}

impl Default for mcplink_http_options_t {
    fn default() -> Self {
        Self {
            path: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            sessions: true,
            max_sessions: None,
            session_idle: None,
            old_paths: None,
            max_requests: None,
            max_streams: None,
            kept_events: None,
            max_kept_bytes: None,
            keep_alive: None,
            trusted_proxies: Vec::new(),
            limits: HttpLimits::default(),
            access: Access::Open,
            refusal: Refusal::default(),
        }
    }
}

impl Settings for mcplink_http_options_t {
    const NAME: &'static str = "options";
    const TARGET: &'static str = "http";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl mcplink_http_options_t {
    /// The settings for a server.
    ///
    /// # Errors
    ///
    /// When a setter was refused, of the settings or of the server, or the description of a server that takes tokens is none.
    pub(super) fn for_server(&self, server: &mcplink_server_t) -> Outcome<HttpOptions> {
        self.refusal.check()?;
        let mut options = HttpOptions::new()
            .sessions(self.sessions)
            .allowed_origins(self.origins.clone())
            .trusted_proxies(self.trusted_proxies.iter().copied())
            .limits(self.limits.clone());
        if let Some(path) = &self.path {
            options = options.path(path);
        }
        if !self.hosts.is_empty() {
            options = options.allowed_hosts(self.hosts.clone());
        }
        if let Some(max) = self.max_sessions {
            options = options.max_sessions(max);
        }
        if let Some(idle) = self.session_idle {
            options = options.session_idle(idle);
        }
        if let Some((stream, post)) = &self.old_paths {
            options = options.old_paths(stream, post);
        }
        if let Some(max) = self.max_requests {
            options = options.max_requests(max);
        }
        if let Some(max) = self.max_streams {
            options = options.max_streams(max);
        }
        if let Some((events, bytes)) = self.kept_events {
            options = options.kept_events(events, bytes);
        }
        if let Some(bytes) = self.max_kept_bytes {
            options = options.max_kept_bytes(bytes);
        }
        if let Some(interval) = self.keep_alive {
            options = options.keep_alive(interval);
        }
        Ok(match &self.access {
            Access::Open => options,
            Access::Host(hook) => {
                let check = Check::new(hook, server);
                options.authenticate(move |request| check.ask(request))
            }
            Access::Tokens(tokens) => options.authorization(tokens.for_server(server)?),
        })
    }

    /// Has tokens checked.
    pub(super) fn set_tokens(&mut self, tokens: mcplink_resource_server_t) -> Outcome<()> {
        if matches!(self.access, Access::Host(_)) {
            return Err(both("mcplink_http_options_on_authenticate"));
        }
        self.access = Access::Tokens(Box::new(tokens));
        Ok(())
    }

    /// Has nobody show tokens any more.
    pub(super) fn clear_tokens(&mut self) {
        if matches!(self.access, Access::Tokens(_)) {
            self.access = Access::Open;
        }
    }
}

/// One check does not take the place of the other, so that none goes without a word.
fn both(other: &str) -> Failure {
    let text = format!(
        "the settings have {other} already: take that away first (mcplink_http_options_clear_...)"
    );
    Error::new(ErrorKind::Invalid, text).into()
}

/// Makes settings with their defaults.
///
/// Returns: the settings, the caller's to free. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_http_options_new() -> *mut mcplink_http_options_t {
    value(std::ptr::null_mut(), || Box::into_raw(Box::default()))
}

/// Frees settings. What serves with them keeps its own.
///
/// options: NULL is fine. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_free(options: *mut mcplink_http_options_t) {
    // SAFETY: the header says that they are options of ours, freed once.
    unsafe { free(options) }
}

/// Sets the path of the endpoint: "/mcp" without this. Others are answered with status 404.
///
/// options: the settings.
/// path: begins with "/".
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_path(
    options: *mut mcplink_http_options_t,
    path: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_http_options_set_path", |options| {
            let path = name(path, "path")?;
            if !path.starts_with('/') {
                let text = format!("the path '{path}' does not begin with '/'");
                return Err(Error::new(ErrorKind::Invalid, text).into());
            }
            options.path = Some(path.to_owned());
            Ok(())
        })
    }
}

/// Adds a name under which the server is reached, compared with the field Host without its port. Behind a proxy, name what the proxy sends. Without any, a server on a loopback address is reached as localhost, 127.0.0.1 and [::1], others under all names.
///
/// options: the settings.
/// host: for example "mcp.example.com".
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_add_host(
    options: *mut mcplink_http_options_t,
    host: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_http_options_add_host", |options| {
            let host = filled(host, "host")?;
            options.hosts.push(host.to_owned());
            Ok(())
        })
    }
}

/// Adds a web site whose pages may call the server. Without any, pages of the server's own host may, if that is one of those that were added
/// with mcplink_http_options_add_host, an address or this machine: any other name its owner could have lead here.
///
/// options: the settings.
/// origin: scheme, host, and port where it is not the usual one, for example "https://example.com".
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_add_origin(
    options: *mut mcplink_http_options_t,
    origin: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_http_options_add_origin", |options| {
            let origin = filled(origin, "origin")?;
            options.origins.push(origin.to_owned());
            Ok(())
        })
    }
}

/// Adds a proxy, or a network of proxies, that is believed when it tells for which client a request
/// is, in the field Forwarded (RFC 7239) or X-Forwarded-For. Without any, all requests that come
/// through a proxy share what one client may have. The client is the last address that is not one
/// of these proxies. Where the field can't be understood, the client is the proxy.
///
/// options: the settings. network: an address such as "192.0.2.1", or a network such as
/// "10.0.0.0/8". Returns: MCPLINK_OK, or MCPLINK_E_INVALID: then nothing is added. Threads: one at
/// a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_add_trusted_proxy(
    options: *mut mcplink_http_options_t,
    network: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(
            options,
            "mcplink_http_options_add_trusted_proxy",
            |options| {
                let network = filled(network, "network")?;
                options.trusted_proxies.push(network.parse()?);
                Ok(())
            },
        )
    }
}

/// Says whether clients of revisions before 2026-07-28 get sessions. Without them any replica can answer any request; but such clients can't be asked anything, nor be told of changes.
///
/// options: the settings.
/// sessions: whether so; true without this.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_sessions(
    options: *mut mcplink_http_options_t,
    sessions: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_http_options_set_sessions", |options| {
            options.sessions = sessions;
            Ok(())
        })
    }
}

/// Sets after how long without a request a session ends that has no open stream: 30 minutes without this.
///
/// options: the settings.
/// idle_ms: in milliseconds.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_session_idle_ms(
    options: *mut mcplink_http_options_t,
    idle_ms: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_http_options_set_session_idle_ms",
            |options| {
                options.session_idle = Some(Duration::from_millis(idle_ms.into()));
                Ok(())
            },
        )
    }
}

/// Serves clients of 2024-11-05 too, on the two paths that its HTTP transport has.
///
/// options: the settings.
/// stream: the path of the stream.
/// post: the path of what the client posts.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_old_paths(
    options: *mut mcplink_http_options_t,
    stream: *const c_char,
    post: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and texts that end in NUL.
    unsafe {
        set(options, "mcplink_http_options_set_old_paths", |options| {
            let (stream, post) = (name(stream, "stream")?, name(post, "post")?);
            options.old_paths = Some((stream.to_owned(), post.to_owned()));
            Ok(())
        })
    }
}

/// Sets how much of each stream of a session is kept for a client that comes back for it: 256 events and 1 MiB without this. See also
/// MCPLINK_HTTP_LIMIT_KEPT_BYTES.
///
/// options: the settings.
/// events: how many events.
/// bytes: how many bytes of them.
/// Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_kept_events(
    options: *mut mcplink_http_options_t,
    events: usize,
    bytes: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_http_options_set_kept_events", |options| {
            options.kept_events = Some((events, bytes));
            Ok(())
        })
    }
}

/// Sets how often something is written on a quiet stream, and after how long a response on which
/// nothing was said begins as a stream, if the client accepts one: so that nobody on the way takes
/// the connection for dead. 15 seconds without this.
///
/// options: the settings.
/// interval_ms: in milliseconds, at least 1.
/// Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_keep_alive_ms(
    options: *mut mcplink_http_options_t,
    interval_ms: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_http_options_set_keep_alive_ms",
            |options| {
                options.keep_alive = Some(Duration::from_millis(interval_ms.max(1).into()));
                Ok(())
            },
        )
    }
}

/// An upper bound of a server over HTTP.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_http_limit {
    /// How many sessions there may be: 10000. When all are taken, an idle session of the client
    /// that has most sessions ends to make room. When all are in use, the next client is refused
    /// with status 503.
    MCPLINK_HTTP_LIMIT_SESSIONS = 1,
    /// How many requests of clients of revisions since 2026-07-28 may be in hand: 1024. The next one is answered with a "busy" error.
    MCPLINK_HTTP_LIMIT_REQUESTS = 2,
    /// How many streams of change notifications such clients may have together: 10000. The next one is answered with a "busy" error. Some are
    /// for clients that have few: see MCPLINK_LIMIT_RESERVE_PERCENT.
    MCPLINK_HTTP_LIMIT_STREAMS = 3,
    /// How many connections may be open: 24000, and never more than seven eighths of the
    /// descriptors that the process may have. When all are taken, a connection without a request in
    /// hand is closed to make room, of the client that has most. When all have a request in hand or
    /// an open stream, the next one is answered with status 503.
    MCPLINK_HTTP_LIMIT_CONNECTIONS = 4,
    /// How many requests may be served at once, each on a thread of its own: 64. The next ones
    /// wait, but for pings, cancellations and other requests that need no handler. The client that
    /// has fewest threads is the next to get one.
    MCPLINK_HTTP_LIMIT_WORKERS = 5,
    /// How many requests may wait for a thread: 256. Beyond that the last request of the client
    /// that has most of them waiting is answered with status 503.
    MCPLINK_HTTP_LIMIT_WAITING = 6,
    /// Longest request line with its header fields, in bytes: 32 KiB.
    MCPLINK_HTTP_LIMIT_HEAD_BYTES = 7,
    /// How many header fields a request may have: 128, at most 256.
    MCPLINK_HTTP_LIMIT_FIELDS = 8,
    /// How many bytes of a stream may wait for a client that does not read: 256 KiB.
    MCPLINK_HTTP_LIMIT_STREAM_BYTES = 9,
    /// How long a head may take, in milliseconds: 10000. A slower one is answered with status 408.
    MCPLINK_HTTP_LIMIT_HEAD_MS = 10,
    /// How long a body may come slower than it has to, or not at all, in milliseconds: 10000. Then it is answered with status 408.
    MCPLINK_HTTP_LIMIT_BODY_MS = 11,
    /// How fast a body has to come, in bytes a second: 1024.
    MCPLINK_HTTP_LIMIT_BODY_RATE = 12,
    /// How long a client may read nothing of what waits for it, in milliseconds: 30000. Then its connection is broken off.
    MCPLINK_HTTP_LIMIT_WRITE_MS = 13,
    /// How long a connection may stay without a request, in milliseconds: 75000.
    MCPLINK_HTTP_LIMIT_IDLE_MS = 14,
    /// How many bytes the events kept of all streams of all sessions may take: 256 MiB. Then the oldest of a stream that has most are dropped.
    MCPLINK_HTTP_LIMIT_KEPT_BYTES = 15,
    /// How many bytes may wait for all clients that do not read: 256 MiB. Then connections are broken off for which most waits for longest.
    MCPLINK_HTTP_LIMIT_UNSENT_BYTES = 16,
    /// How long a new connection may take until its first byte, in milliseconds: 10000. Then it is
    /// closed.
    MCPLINK_HTTP_LIMIT_FIRST_BYTE_MS = 17,
    /// The most that one client may hold of connections, threads and sessions while others want
    /// some, in percent: 50. Alone it may hold all.
    MCPLINK_HTTP_LIMIT_PART_PERCENT = 18,
    /// How many connections and threads there are beyond their limits for clients that hold few, in
    /// percent of these limits: 12. 0 for none.
    MCPLINK_HTTP_LIMIT_RESERVE_PERCENT = 19,
}

impl mcplink_http_options_t {
    fn set_limit(&mut self, limit: i32, bound: usize) -> Result<()> {
        use mcplink_http_limit as Limit;
        let limits = &mut self.limits;
        let time = Duration::from_millis(bound.try_into().unwrap_or(u64::MAX));
        match limit {
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_SESSIONS as i32 => {
                self.max_sessions = Some(bound)
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_REQUESTS as i32 => {
                self.max_requests = Some(bound)
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_STREAMS as i32 => {
                self.max_streams = Some(bound)
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_CONNECTIONS as i32 => {
                limits.max_connections = bound
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_WORKERS as i32 => limits.max_workers = bound,
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_WAITING as i32 => limits.max_waiting = bound,
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_HEAD_BYTES as i32 => {
                limits.max_head_bytes = bound
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_FIELDS as i32 => limits.max_fields = bound,
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_STREAM_BYTES as i32 => {
                limits.max_stream_bytes = bound
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_HEAD_MS as i32 => limits.head_timeout = time,
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_BODY_MS as i32 => limits.body_timeout = time,
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_BODY_RATE as i32 => {
                limits.min_body_rate = bound
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_WRITE_MS as i32 => limits.write_timeout = time,
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_IDLE_MS as i32 => limits.keep_alive = time,
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_KEPT_BYTES as i32 => {
                self.max_kept_bytes = Some(bound)
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_UNSENT_BYTES as i32 => {
                limits.max_unsent_bytes = bound
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_FIRST_BYTE_MS as i32 => {
                limits.first_byte_timeout = time
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_PART_PERCENT as i32 => {
                limits.part_percent = bound
            }
            _ if limit == Limit::MCPLINK_HTTP_LIMIT_RESERVE_PERCENT as i32 => {
                limits.reserve_percent = bound
            }
            _ => {
                let text = format!("there is no limit {limit}: use one of enum mcplink_http_limit");
                return Err(Error::new(ErrorKind::Invalid, text));
            }
        }
        Ok(())
    }
}

/// Sets an upper bound. How long a body may be is said by MCPLINK_LIMIT_MESSAGE_BYTES of the server.
///
/// options: the settings.
/// which: one of enum mcplink_http_limit.
/// bound: the most there may be.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_limit(
    options: *mut mcplink_http_options_t,
    which: i32,
    bound: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_http_options_set_limit", |options| {
            options.set_limit(which, bound)?;
            Ok(())
        })
    }
}

/// Has a function find out who sends each request, before anything else is done for it. Everybody is let in without this and without
/// mcplink_http_options_set_resource_server; settings that have that already refuse this.
///
/// options: the settings.
/// callback: see mcplink_authenticate_fn. Called on the thread that read the request, several at once, or where the pump of the server is
/// dispatched. NULL is refused: see mcplink_http_options_clear_authenticate.
/// user, destroy: passed to callback; ended when another function is set, when it is refused or cleared, or when the settings and all that serves
/// with them have ended.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_on_authenticate(
    options: *mut mcplink_http_options_t,
    callback: mcplink_authenticate_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_http_options_on_authenticate", |options| {
            let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
            if matches!(options.access, Access::Tokens(_)) {
                return Err(both("mcplink_http_options_set_resource_server"));
            }
            options.access = Access::Host(hook);
            Ok(())
        })
    }
}

/// Takes the function of mcplink_http_options_on_authenticate away. Without another check everybody is let in.
///
/// options: the settings.
/// Returns: MCPLINK_OK, also when there is none, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_clear_authenticate(
    options: *mut mcplink_http_options_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_http_options_clear_authenticate",
            |options| {
                if matches!(options.access, Access::Host(_)) {
                    options.access = Access::Open;
                }
                Ok(())
            },
        )
    }
}
