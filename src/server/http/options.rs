//! How a server is served over HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::denied::Denied;
use super::events::EventStore;
use super::resource_server::ResourceServer;
use crate::protocol::principal::Principal;
use crate::transport::http::{HttpLimits, HttpRequest, Network};

/// Looks at a request before anything else is done for it.
type Authenticate = Arc<dyn Fn(&HttpRequest<'_>) -> Result<Principal, Denied> + Send + Sync>;

/// How it is found out who sends a request.
#[derive(Clone)]
pub(super) enum Access {
    /// It isn't.
    Open,
    /// In a way of the host's.
    Checked(Authenticate),
    /// By an access token.
    Tokens(Arc<ResourceServer>),
}

/// How a server is served over HTTP. The defaults suit a server for clients on the same machine.
#[derive(Clone)]
pub struct HttpOptions {
    pub(super) path: String,
    pub(super) allowed_hosts: Option<Vec<String>>,
    pub(super) allowed_origins: Vec<String>,
    pub(super) access: Access,
    pub(super) sessions: bool,
    pub(super) max_sessions: usize,
    pub(super) session_idle: Duration,
    pub(super) old_paths: Option<(String, String)>,
    pub(super) max_requests: usize,
    pub(super) max_streams: usize,
    pub(super) max_events: usize,
    pub(super) max_event_bytes: usize,
    pub(super) max_kept_bytes: usize,
    pub(super) event_store: Option<Arc<dyn EventStore>>,
    pub(super) keep_alive: Duration,
    pub(super) limits: HttpLimits,
    trusted_proxies: Option<Vec<Network>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            allowed_hosts: None,
            allowed_origins: Vec::new(),
            access: Access::Open,
            sessions: true,
            max_sessions: 10_000,
            session_idle: Duration::from_secs(30 * 60),
            old_paths: None,
            max_requests: 1024,
            max_streams: 10_000,
            max_events: 256,
            max_event_bytes: 1 << 20,
            max_kept_bytes: 256 << 20,
            event_store: None,
            keep_alive: Duration::from_secs(15),
            limits: HttpLimits::default(),
            trusted_proxies: None,
        }
    }
}

impl HttpOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The path of the endpoint. Defaults to `/mcp`; others are answered with 404.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = rooted(path.into());
        self
    }

    /// The names under which the server is reached, compared with the `Host` field without its port. Behind a proxy, name what the proxy
    /// sends. Defaults to `localhost`, `127.0.0.1` and `[::1]` for requests that come in on a loopback address, and to all for others.
    pub fn allowed_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.allowed_hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// The web sites whose pages may call the server, as `https://example.com`: scheme, host, and port where it is not the usual one.
    /// Pages of these also get the fields of CORS that browsers ask for. Defaults to pages of the server's own host, if that is one of
    /// [`allowed_hosts`](Self::allowed_hosts), an address or this machine: any other name its owner could have lead here.
    pub fn allowed_origins<S: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = S>,
    ) -> Self {
        self.allowed_origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Serves only requests that carry an access token for this server, checks it before anything else is done, and tells clients where tokens
    /// are to be had. Takes the place of [`authenticate`](Self::authenticate), which is for anything else than tokens.
    ///
    /// Spec: Base Protocol, "Authorization" (2025-06-18 and later).
    pub fn authorization(mut self, server: ResourceServer) -> Self {
        self.access = Access::Tokens(Arc::new(server));
        self
    }

    /// Finds out who sends each request, before anything else is done for it. Handlers learn it from
    /// [`Context::principal`](crate::server::Context::principal). Runs on the thread that read the request; when it panics the request is answered
    /// with status 503, and the log is told. Takes the place of
    /// [`authorization`](Self::authorization). Defaults to nobody in particular.
    pub fn authenticate(
        mut self,
        check: impl Fn(&HttpRequest<'_>) -> Result<Principal, Denied> + Send + Sync + 'static,
    ) -> Self {
        self.access = Access::Checked(Arc::new(check));
        self
    }

    /// Whether legacy clients get sessions. Without them any replica can answer any request; but such clients can't be asked questions,
    /// nor be told of changes. Defaults to yes. Modern clients need none.
    pub fn sessions(mut self, sessions: bool) -> Self {
        self.sessions = sessions;
        self
    }

    /// How many sessions there may be. Defaults to 10 000. When all are taken, an idle session ends
    /// to make room: one without an open stream and without a request in hand, of the principal or
    /// address that has most sessions, one that was never used first, then the one that is idle for
    /// longest. When none gives way, the next client is refused with status 503. A client displaces
    /// sessions of others only up to its part ([`HttpLimits::part_percent`]), and only of those
    /// that have more than it has.
    ///
    /// What clients say of themselves is bounded likewise: by 2 KiB for each session that there may
    /// be, and 1 MiB at least. More than 256 KiB are never taken.
    pub fn max_sessions(mut self, max: usize) -> Self {
        self.max_sessions = max;
        self
    }

    /// After how long a session ends without a request, an answer or an open stream. Defaults to 30 min. It is looked for when requests come.
    pub fn session_idle(mut self, idle: Duration) -> Self {
        self.session_idle = idle;
        self
    }

    /// Serves clients of 2024-11-05 too, on the two paths that its HTTP transport has: one for the stream, one for what the client posts.
    /// Defaults to no; new clients need neither.
    ///
    /// Spec: Transports, "HTTP with SSE" (2024-11-05).
    pub fn old_paths(mut self, stream: impl Into<String>, post: impl Into<String>) -> Self {
        self.old_paths = Some((rooted(stream.into()), rooted(post.into())));
        self
    }

    /// How many requests of modern clients may be in hand, of all clients together. Defaults to 1 024; the next one is answered with a
    /// "busy" error. For legacy clients [`Limits::max_requests`](crate::transport::Limits::max_requests) counts for each.
    pub fn max_requests(mut self, max: usize) -> Self {
        self.max_requests = max;
        self
    }

    /// How many `subscriptions/listen` streams, and resources subscribed to on them, there may be, of all modern clients together.
    /// Defaults to 10 000; the next one is answered with a "busy" error. Some of them are for principals and addresses that have few
    /// ([`Limits::reserve_percent`](crate::transport::Limits::reserve_percent)).
    pub fn max_streams(mut self, max: usize) -> Self {
        self.max_streams = max;
        self
    }

    /// How many events of each stream of a legacy session are kept for a client that comes back for them, and how many bytes of them.
    /// Defaults to 256 events and 1 MiB. A store of one's own has its own bounds.
    pub fn kept_events(mut self, events: usize, bytes: usize) -> Self {
        (self.max_events, self.max_event_bytes) = (events, bytes);
        self
    }

    /// How many bytes the kept events of all streams of all legacy sessions may take together. Defaults to 256 MiB. Beyond that the oldest
    /// ones of a stream that has most are dropped: a client that comes back for one of them gets status 400,
    /// as for any that is no longer kept.
    pub fn max_kept_bytes(mut self, bytes: usize) -> Self {
        self.max_kept_bytes = bytes;
        self
    }

    /// Keeps the events of the streams of legacy sessions elsewhere, or more of them. Defaults to memory, within
    /// [`kept_events`](Self::kept_events) and [`max_kept_bytes`](Self::max_kept_bytes).
    pub fn event_store(mut self, store: impl EventStore + 'static) -> Self {
        self.event_store = Some(Arc::new(store));
        self
    }

    /// How often something is written on a quiet stream, and after how long a response on which
    /// nothing was said begins as a stream, if the client accepts one: so that nobody on the way
    /// takes the connection for dead. Defaults to 15 s.
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// The proxies that are believed when they tell for which client a request is. Defaults to
    /// [`HttpLimits::trusted_proxies`], which says more and defaults to none.
    pub fn trusted_proxies(mut self, proxies: impl IntoIterator<Item = Network>) -> Self {
        self.trusted_proxies = Some(proxies.into_iter().collect());
        self
    }

    pub(super) fn proxies(&self) -> &[Network] {
        let own = self.trusted_proxies.as_deref();
        own.unwrap_or(&self.limits.trusted_proxies)
    }

    /// Upper bounds of the listener. How long a body may be is said by
    /// [`Limits::max_message_bytes`](crate::transport::Limits::max_message_bytes).
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// A path as requests have it: with the slash that it begins with.
fn rooted(path: String) -> String {
    if path.starts_with('/') {
        path
    } else {
        format!("/{path}")
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("path", &self.path)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("allowed_origins", &self.allowed_origins)
            .field("is_open", &matches!(self.access, Access::Open))
            .field("sessions", &self.sessions)
            .finish_non_exhaustive()
    }
}
