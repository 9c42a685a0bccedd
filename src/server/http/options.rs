//! The options of a server over HTTP.

use std::sync::Arc;
use std::time::Duration;

use super::card::{self, ServerCard};
use super::denied::Denied;
use super::events::EventStore;
use super::pages::HttpPage;
use super::refusal::without_slash;
use super::resource_server::ResourceServer;
use crate::protocol::principal::Principal;
use crate::server::debug_fields::debug_fields;
use crate::transport::http::{HttpLimits, HttpRequest, Network};

/// The default of [`HttpOptions::max_sessions`].
const DEFAULT_SESSIONS: usize = 10_000;

/// The default of [`HttpOptions::max_streams`].
const DEFAULT_STREAMS: usize = 10_000;

/// The number of connections for requests, in addition to one for each stream and each session.
const CONNECTIONS_FOR_REQUESTS: usize =
    HttpLimits::DEFAULT_CONNECTIONS - DEFAULT_STREAMS - DEFAULT_SESSIONS;

/// A function of the host that authenticates a request, before the body of the request is parsed.
type Authenticate = Arc<dyn Fn(&HttpRequest<'_>) -> Result<Principal, Denied> + Send + Sync>;

/// The way in which a server authenticates requests.
#[derive(Clone)]
pub(super) enum Access {
    /// Requests are not authenticated.
    Open,
    /// A function of the host authenticates each request.
    Checked(Authenticate),
    /// Each request needs an access token.
    Tokens(Arc<ResourceServer>),
}

/// The options of a server over HTTP. The defaults suit a server for clients on this machine.
///
/// # Examples
///
/// ```
/// use mcplink::server::Server;
/// use mcplink::server::http::HttpOptions;
///
/// // Behind a reverse proxy that serves `https://example.com/tools`.
/// let options = HttpOptions::new()
///     .path("/tools")
///     .allowed_hosts(["example.com"])
///     .health("/healthz");
/// options.check()?;
/// let listening = Server::builder("clock", "1.0").build()?.listen_http("127.0.0.1:0", options)?;
/// # Ok::<(), mcplink::Error>(())
/// ```
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
    pub(super) health: Option<String>,
    /// Pages of the host by their paths.
    pub(super) pages: Vec<(String, HttpPage)>,
    pub(super) card: Option<ServerCard>,
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
            max_sessions: DEFAULT_SESSIONS,
            session_idle: Duration::from_secs(30 * 60),
            old_paths: None,
            max_requests: 1024,
            max_streams: DEFAULT_STREAMS,
            max_events: 256,
            max_event_bytes: 1 << 20,
            max_kept_bytes: 256 << 20,
            event_store: None,
            keep_alive: Duration::from_secs(15),
            limits: HttpLimits::default(),
            health: None,
            pages: Vec::new(),
            card: None,
            trusted_proxies: None,
        }
    }
}

impl HttpOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the path of the endpoint. Defaults to `/mcp`. Requests to other paths get status 404.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = rooted(path.into());
        self
    }

    /// Sets the host names of the server. The `Host` field of a request must have one of these
    /// names; a port in the field is ignored. Other requests get status 403. Behind a proxy, use
    /// the names that the proxy sends. A name has neither scheme nor port nor wildcard: see
    /// [`check`](Self::check).
    ///
    /// By default, requests that arrive at a loopback address must use `localhost`, `127.0.0.1` or
    /// `[::1]`. Other requests may use any name.
    pub fn allowed_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.allowed_hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the origins whose pages may call the server, such as `https://example.com`: scheme,
    /// host, and port unless it is the default port. An origin has neither path nor wildcard: see
    /// [`check`](Self::check).
    ///
    /// Responses to these pages have the CORS fields that browsers require. By default only pages
    /// of the server's own host may call the server. The server's own host must be one of
    /// [`allowed_hosts`](Self::allowed_hosts), an IP address or a name of this machine. The owner
    /// of any other name could let that name resolve to this server (DNS rebinding).
    pub fn allowed_origins<S: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = S>,
    ) -> Self {
        self.allowed_origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Sets that each request needs an access token for this server. The token is checked before
    /// the body of the request is parsed. The response to a request without a token says where to
    /// get tokens. Replaces [`authenticate`](Self::authenticate), which is for other credentials.
    ///
    /// Spec: Base Protocol, "Authorization" (2025-06-18 and later).
    pub fn authorization(mut self, server: ResourceServer) -> Self {
        self.access = Access::Tokens(Arc::new(server));
        self
    }

    /// Sets the function that authenticates each request, before the body of the request is parsed.
    /// Preflight requests are not authenticated, since browsers send no credentials with them.
    /// Handlers get the resulting principal from
    /// [`Context::principal`](crate::server::Context::principal).
    ///
    /// The function runs on the thread that read the request. If the function panics, the request
    /// is answered with status 503 and the panic is logged. Replaces
    /// [`authorization`](Self::authorization). By default requests have no principal.
    pub fn authenticate(
        mut self,
        check: impl Fn(&HttpRequest<'_>) -> Result<Principal, Denied> + Send + Sync + 'static,
    ) -> Self {
        self.access = Access::Checked(Arc::new(check));
        self
    }

    /// Sets whether legacy clients get sessions. Defaults to `true`. Modern clients need no
    /// session.
    ///
    /// Without sessions, any replica can answer any request. But legacy clients then get neither
    /// input requests nor change notifications.
    pub fn sessions(mut self, sessions: bool) -> Self {
        self.sessions = sessions;
        self
    }

    /// Sets the maximum number of sessions. Defaults to 10,000.
    ///
    /// At the limit, an idle session is ended to make room. A session is idle if it has neither an
    /// open stream nor an active request. The ended session belongs to the principal or address
    /// with most sessions. Sessions that were never used are ended first, then the sessions with
    /// the longest idle time. If no session can be ended, the client gets status 503.
    ///
    /// A client can displace sessions of other clients only until it has its share of all sessions
    /// ([`HttpLimits::part_percent`]). It can displace its own sessions, and sessions of clients
    /// that have more sessions.
    ///
    /// The client info of all sessions together is limited too: to 2 KiB for each possible session,
    /// but at least 1 MiB. The params of one `initialize` are limited to 256 KiB.
    pub fn max_sessions(mut self, max: usize) -> Self {
        self.max_sessions = max;
        self
    }

    /// Sets the idle timeout of a session. A session ends if it has no request, no answer and no
    /// open stream for this time. Defaults to 30 min. The server looks for idle sessions only when
    /// requests arrive, so a session may end later.
    pub fn session_idle(mut self, idle: Duration) -> Self {
        self.session_idle = idle;
        self
    }

    /// Sets two paths for clients of revision 2024-11-05, whose HTTP transport needs them. These
    /// clients open the event stream at `stream`, and post messages to `post`. By default these
    /// clients are not served. Newer clients don't use these paths.
    ///
    /// Spec: Transports, "HTTP with SSE" (2024-11-05).
    pub fn old_paths(mut self, stream: impl Into<String>, post: impl Into<String>) -> Self {
        self.old_paths = Some((rooted(stream.into()), rooted(post.into())));
        self
    }

    /// Sets the maximum number of active requests of all modern clients together. Defaults to
    /// 1,024. Further requests get a "busy" error. For legacy clients,
    /// [`Limits::max_requests`](crate::transport::Limits::max_requests) applies to each client.
    pub fn max_requests(mut self, max: usize) -> Self {
        self.max_requests = max;
        self
    }

    /// Sets a limit for the subscriptions of all modern clients together. Each
    /// `subscriptions/listen` stream counts as one, and so does each resource and task in its
    /// filter. A long URI counts one more for each full KiB of its length. Defaults to 10,000.
    ///
    /// Further streams get a "busy" error. A part of the limit is reserved for principals and
    /// addresses with few streams
    /// ([`Limits::reserve_percent`](crate::transport::Limits::reserve_percent)).
    pub fn max_streams(mut self, max: usize) -> Self {
        self.max_streams = max;
        self
    }

    /// Sets the maximum number of events that are stored for each stream of a legacy session, and
    /// the maximum size of these events in bytes. Above a maximum, the oldest events of the stream
    /// are dropped. Clients that reconnect get the stored events. Defaults to 256 events and 1 MiB.
    /// A custom event store does not use these settings.
    pub fn kept_events(mut self, events: usize, bytes: usize) -> Self {
        (self.max_events, self.max_event_bytes) = (events, bytes);
        self
    }

    /// Sets the maximum size of the stored events of all legacy sessions together, in bytes.
    /// Defaults to 256 MiB.
    ///
    /// Above the limit, the client whose sessions store most loses events: the oldest events of the
    /// largest stream of its largest session. A client is a principal or an address. A client that
    /// wants to resume from before a dropped event gets status 400.
    pub fn max_kept_bytes(mut self, bytes: usize) -> Self {
        self.max_kept_bytes = bytes;
        self
    }

    /// Sets a custom store for the events of legacy sessions, for example to store more events. By
    /// default events are stored in memory, within [`kept_events`](Self::kept_events) and
    /// [`max_kept_bytes`](Self::max_kept_bytes).
    pub fn event_store(mut self, store: impl EventStore + 'static) -> Self {
        self.event_store = Some(Arc::new(store));
        self
    }

    /// Sets the interval of keep-alive comments on a quiet stream, so that intermediaries don't
    /// drop the connection. Defaults to 15 s.
    ///
    /// If a response has no data for this time, it begins as an event stream, provided that the
    /// client accepts event streams.
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// Sets the proxies whose information about the client's address is trusted. Defaults to
    /// [`HttpLimits::trusted_proxies`], which is empty by default.
    pub fn trusted_proxies(mut self, proxies: impl IntoIterator<Item = Network>) -> Self {
        self.trusted_proxies = Some(proxies.into_iter().collect());
        self
    }

    pub(super) fn proxies(&self) -> &[Network] {
        let own = self.trusted_proxies.as_deref();
        own.unwrap_or(&self.limits.trusted_proxies)
    }

    /// Sets the path of a page that tells the health of the server, for load balancers, such as
    /// `/healthz`. By default there is none.
    ///
    /// The page answers GET and HEAD with status 200, and with 503 as soon as the server is closing
    /// or [`drain`](super::HttpServer::drain) was called. It needs neither a session
    /// nor credentials. Its `Host` must be allowed ([`allowed_hosts`](Self::allowed_hosts)) or be
    /// an IP address, which probes use.
    pub fn health(mut self, path: impl Into<String>) -> Self {
        self.health = Some(rooted(path.into()));
        self
    }

    /// Adds a static page of the host at a path, for example an `index.html` or `robots.txt`.
    ///
    /// A page is public: it needs neither a session nor credentials. `Host` is checked as for the
    /// endpoint. The path is compared as it stands in requests, so it has to be percent-encoded.
    /// The paths of the endpoint and of the metadata are not available: see [`check`](Self::check).
    pub fn page(mut self, path: impl Into<String>, page: HttpPage) -> Self {
        self.pages.push((rooted(path.into()), page));
        self
    }

    /// Serves a card of the server at `{path}/server-card`. By default there is none.
    ///
    /// **Unstable**: the shape of cards is experimental, and may change in any release.
    ///
    /// The card says where the server is, for clients that are not connected. It is public: pages
    /// of every site may read it, and no credentials are needed. `Host` is checked. In production,
    /// serve it over TLS. Title, version, icons, website and revisions are those of the server.
    /// [`Server::listen_http`](crate::server::Server::listen_http) fails if the card breaks a rule;
    /// [`Server::http_service`](crate::server::Server::http_service) then logs it and serves no
    /// card.
    ///
    /// Spec: Extensions, "Server Cards" (SEP-2127).
    // E-CARD-S-01
    pub fn unstable_server_card(mut self, card: ServerCard) -> Self {
        self.card = Some(card);
        self
    }

    /// Returns the path of the server card, if there is a card.
    pub(super) fn card_path(&self) -> Option<String> {
        let path = without_slash(&self.path);
        self.card.as_ref().map(|_| format!("{path}{}", card::PATH))
    }

    /// Whether the metadata of the protected resource is served at a path.
    pub(super) fn serves_metadata_at(&self, path: &str) -> bool {
        match &self.access {
            Access::Tokens(server) => server.serves_metadata_at(&self.path, path),
            _ => false,
        }
    }

    /// Sets the limits of the listener. The maximum body size is
    /// [`Limits::max_message_bytes`](crate::transport::Limits::max_message_bytes).
    ///
    /// Each stream of a modern client needs a connection, and each session needs one for its
    /// stream. If [`HttpLimits::max_connections`] has its default, and
    /// [`max_streams`](Self::max_streams) or [`max_sessions`](Self::max_sessions) is larger than
    /// its default, then the number of connections is raised: to the sum of both and 4,000 for
    /// requests. Any other value of `max_connections` is used as it is. If that value is too small
    /// for the streams and sessions that are set, this is logged with
    /// [`ServerBuilder::on_log`](crate::server::ServerBuilder::on_log).
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the maximum number of connections. Unless the number was set, it is large enough for
    /// all streams and sessions.
    pub(super) fn max_connections(&self) -> usize {
        let max = self.limits.max_connections;
        if max != HttpLimits::DEFAULT_CONNECTIONS {
            return max;
        }
        let sessions = if self.sessions { self.max_sessions } else { 0 };
        let streams = self.max_streams.saturating_add(sessions);
        max.max(streams.saturating_add(CONNECTIONS_FOR_REQUESTS))
    }

    /// Returns a text for the log if the maximum number of connections is too small for the streams
    /// and sessions that are set.
    pub(super) fn contradiction(&self) -> Option<String> {
        let set = |max: usize, default: usize| if max == default { 0 } else { max };
        let streams = set(self.max_streams, DEFAULT_STREAMS);
        let sessions = match self.sessions {
            true => set(self.max_sessions, DEFAULT_SESSIONS),
            false => 0,
        };
        let max = self.max_connections();
        let needed = streams.saturating_add(sessions);
        (max < needed).then(|| {
            let (streams, sessions) = (self.max_streams, self.max_sessions);
            let allowed = match self.sessions {
                true => format!("HttpOptions::max_streams ({streams}) and HttpOptions::max_sessions ({sessions}) allow"),
                false => format!("HttpOptions::max_streams ({streams}) allows"),
            };
            format!(
                "HttpLimits::max_connections is {max}, but {allowed} more streams: the connections are the \
                 limit"
            )
        })
    }
}

/// Returns the path with a slash at its beginning. The slash is added if it is missing.
fn rooted(path: String) -> String {
    if path.starts_with('/') {
        path
    } else {
        format!("/{path}")
    }
}

debug_fields!(
    HttpOptions,
    path,
    allowed_hosts,
    allowed_origins,
    is_open = |it| matches!(it.access, Access::Open),
    sessions
);

#[cfg(test)]
mod tests {
    use super::*;

    fn with(max_connections: usize) -> HttpOptions {
        let limits = HttpLimits {
            max_connections,
            ..HttpLimits::default()
        };
        HttpOptions::new().limits(limits)
    }

    #[test]
    fn the_default_number_of_connections_fits_streams_and_sessions() {
        let options = HttpOptions::new();
        let default = HttpLimits::default().max_connections;
        assert_eq!(options.max_connections(), default);
        assert!(default >= options.max_streams + options.max_sessions + 4_000);

        let more = HttpOptions::new().max_streams(50_000).max_sessions(30_000);
        assert_eq!(more.max_connections(), 84_000);
        assert_eq!(more.contradiction(), None);
        assert_eq!(more.sessions(false).max_connections(), 54_000);
        let fewer = HttpOptions::new().max_streams(5).max_sessions(5);
        assert_eq!(fewer.max_connections(), default);
        let most = HttpOptions::new().max_streams(usize::MAX);
        assert_eq!(most.max_connections(), usize::MAX);
    }

    #[test]
    fn a_number_of_connections_that_was_set_stays_and_contradictions_are_found() {
        assert_eq!(with(100).max_connections(), 100);
        assert_eq!(with(100).contradiction(), None, "the others were not set");
        assert_eq!(
            with(100).max_streams(60).max_sessions(40).contradiction(),
            None
        );
        let too_few = with(100).max_streams(60).max_sessions(50);
        assert_eq!(too_few.max_connections(), 100);
        let text = too_few.contradiction().expect("a contradiction");
        assert!(
            text.contains("100") && text.contains("60") && text.contains("50"),
            "{text}"
        );
        assert_eq!(too_few.sessions(false).contradiction(), None);
    }
}
