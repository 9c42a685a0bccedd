//! The HTTP service, which checks each request and passes it to the connection that serves it.

mod admission;
mod clients;
mod header;
mod old;
mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use self::header::{Version, header_version, names_no_revision, session_id};
use super::super::Server;
use super::super::events::{ServerEvent, ServerEventKind};
use super::super::inner::{Inner, ServerConnection};
use super::challenge::{Challenger, Demand, Era};
use super::cors::{self, ForReader};
use super::expiring::bounded;
use super::guard;
use super::modern::{self, ParamMembers};
use super::options::HttpOptions;
use super::pages::HttpPage;
use super::paths::{self, OldPath, methods_at, old_path};
use super::refusal::{
    MIRRORING, Refusal, accepts, check_media, contradicted, contradiction, no_session,
    refuse_malformed, refuse_request, unknown_session, unknown_version,
};
use super::reply::Reply;
use super::session::{RequestStream, Session, Sessions, check_opening, peer_name};
use super::verified::Verified;
use crate::error::{ErrorCode, Result, RpcError};
use crate::jsonrpc::{Form, Malformed, Message, Parsed, Request, asks_for_more_than};
use crate::protocol::incident::Incident;
use crate::protocol::principal::Principal;
use crate::protocol::{CancelToken, Connection, LogLevel, Origin, ResponseSink, tell};
use crate::schema::{ProtocolVersion, method};
use crate::server::debug_fields::debug_fields;
use crate::transport::http::event::EVENT_STREAM;
use crate::transport::http::{ClientKey, HttpRequest, ResponseHead, ResponseWriter, Service};
use crate::transport::{Control, Sender, SessionMessage};

/// The error for a request that names a session which is not there.
struct UnknownSession;

/// A service that answers HTTP requests for a server. Clones are cheap, and share all sessions.
///
/// # Examples
///
/// ```
/// use mcplink::server::Server;
/// use mcplink::server::http::{HttpOptions, HttpService};
/// use mcplink::transport::http::{HttpRequest, ResponseWriter, Service as _};
///
/// // The web server of the host passes on the requests for the path of the options.
/// fn pass_on(service: &HttpService, request: HttpRequest<'_>, response: Box<dyn ResponseWriter>) {
///     service.serve(request, response);
/// }
/// let server = Server::builder("clock", "1.0").build()?;
/// let service = server.http_service(HttpOptions::new().path("/clock"));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct HttpService(Arc<Served>);

pub(super) struct Served {
    server: Arc<Inner>,
    pub(super) options: HttpOptions,
    /// The connection that all modern clients share.
    modern: Connection,
    modern_clients: Arc<ServerConnection>,
    /// The shared connections of legacy clients without a session, one for each revision.
    sessionless: Vec<(ProtocolVersion, Connection)>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) verified: Verified,
    challenger: Arc<Challenger>,
    closing: AtomicBool,
    /// Is cancelled when the service begins to close.
    end_drain: CancelToken,
    /// The path and the page of the server card.
    card: Option<(String, HttpPage)>,
    /// Whether the health page tells load balancers to send no requests, before the server closes.
    is_draining: AtomicBool,
}

/// The outcome of a request. If the request is refused, the caller must write the refusal.
type Handled<T = ()> = Result<T, Refusal>;

/// The client of a request, and the response until a handler takes it.
struct Exchange {
    principal: Option<Principal>,
    response: Option<Box<dyn ResponseWriter>>,
}

impl Exchange {
    /// Returns the name of the principal.
    fn name(&self) -> Option<&str> {
        self.principal.as_ref().map(Principal::name)
    }

    /// Takes the response. The caller must answer the request.
    fn take(&mut self) -> Box<dyn ResponseWriter> {
        self.response
            .take()
            .expect("each way to an answer takes the response once")
    }

    /// Answers a message that needs no answer of its own.
    fn accept(&mut self) {
        _ = self.take().respond(&ResponseHead::new(202), b"");
    }
}

impl Server {
    /// Returns a service that answers HTTP requests for this server. Mount it in a web server of
    /// your own.
    pub fn http_service(&self, options: HttpOptions) -> HttpService {
        HttpService::new(self, options)
    }
}

impl HttpService {
    pub(super) fn new(server: &Server, options: HttpOptions) -> Self {
        let inner = &server.0;
        let shared = |served: &Arc<ServerConnection>, peer: &str| {
            let mut limits = inner.services.limits.clone();
            limits.max_requests = options.max_requests;
            limits.max_subscriptions = options.max_streams;
            Server::connection(served)
                .limits(limits)
                .never_asking()
                .shared_by_clients()
                .open_fed(Box::new(Nowhere), Arc::new(Everybody(peer.to_owned())))
        };
        let modern_clients = ServerConnection::over_http(inner);
        let modern = shared(&modern_clients, "HTTP clients");
        let legacy = inner
            .revisions
            .iter()
            .filter(|revision| revision.is_legacy() && !options.sessions);
        let sessionless = legacy.map(|revision| {
            let served = ServerConnection::agreed(inner, *revision);
            (*revision, shared(&served, "HTTP clients without a session"))
        });
        Self(Arc::new(Served {
            server: Arc::clone(inner),
            modern,
            modern_clients,
            closing: AtomicBool::new(false),
            end_drain: CancelToken::new(),
            is_draining: AtomicBool::new(false),
            card: served_card(inner, &options),
            sessionless: sessionless.collect(),
            sessions: Arc::new(Sessions::new(&options)),
            verified: Verified::default(),
            challenger: Arc::new(Challenger::new(options.access.clone())),
            options,
        }))
    }

    /// Moves clients to other replicas, before [`close`](Self::close). See
    /// [`HttpServer::drain`](super::HttpServer::drain).
    pub fn drain(&self, span: Duration) {
        self.0.is_draining.store(true, Ordering::SeqCst);
        let subscribers = &self.0.modern_clients.subscribers;
        subscribers.end_streams_over(span, &self.0.end_drain);
    }

    /// Returns the number of open sessions of legacy clients.
    pub fn sessions(&self) -> usize {
        self.0.sessions.len()
    }

    /// Returns the number of idle sessions that were ended to make room for other sessions.
    pub(super) fn displaced_sessions(&self) -> u64 {
        self.0.sessions.displaced()
    }

    /// Ends open streams with their result, so that clients know that the end is intended. New
    /// requests are refused, and active ones continue.
    pub(super) fn end_streams(&self) {
        self.0.closing.store(true, Ordering::SeqCst);
        self.0.end_drain.cancel();
        self.0.modern_clients.end_streams();
        self.0.sessions.end_streams();
    }

    /// Ends every session, stream and request; idempotent. Active requests are answered with an
    /// error, and new requests are refused. Blocks for a bounded time.
    pub fn close(&self) {
        self.end_streams();
        let why = "the server is closing";
        let legacy = self.0.sessionless.iter().map(|(_, connection)| connection);
        let shared: Vec<_> = legacy.chain([&self.0.modern]).collect();
        for connection in &shared {
            connection.peer().core().close_soon(why);
        }
        self.0.sessions.close(why);
        for connection in shared {
            connection.close();
        }
    }
}

impl Service for HttpService {
    fn serve(&self, mut request: HttpRequest<'_>, response: Box<dyn ResponseWriter>) {
        let served = &self.0;
        let mut exchange = Exchange {
            principal: None,
            response: Some(response),
        };
        let done = match served.admit(&request, &mut exchange) {
            Err(refusal) => Err(refusal),
            Ok(()) => match (request.method, old_path(&served.options, &request)) {
                (_, Some(OldPath::Stream(post))) => served.open_old(&request, post, &mut exchange),
                (_, Some(OldPath::Post)) => served.post_old(&mut request, &mut exchange),
                ("POST", None) => served.post(&mut request, &mut exchange),
                ("GET", None) => served.get(&request, &mut exchange),
                ("HEAD", None) => served.head(&request, &mut exchange),
                ("DELETE", None) => Err(served
                    .delete(&request, exchange.name())
                    .unwrap_or_else(|refusal| refusal)),
                _ => Err(served.not_allowed()),
            },
        };
        if let (Err(refusal), Some(mut response)) = (done, exchange.response) {
            // An error means that the client has disconnected.
            _ = response.respond(&refusal.head, &refusal.body);
        }
    }

    fn is_quick(&self, request: &HttpRequest<'_>) -> bool {
        self.0.is_quick(request)
    }

    fn client(&self, request: &HttpRequest<'_>, address: ClientKey) -> ClientKey {
        self.0.client(request, address)
    }
}

debug_fields!(
    HttpService,
    options = |it| &it.0.options,
    sessions = |it| it.sessions()
);

/// Returns the path and the page of the server card. A card that breaks a rule is logged.
fn served_card(server: &Inner, options: &HttpOptions) -> Option<(String, HttpPage)> {
    let log = |level, text| tell(server.log.as_ref(), level, "http", || text);
    let card = options.card.as_ref()?;
    match card.page(&server.services.info, &server.revisions) {
        Ok((page, warnings)) => {
            for warning in warnings {
                log(LogLevel::Warning, warning);
            }
            Some((options.card_path()?, page))
        }
        Err(error) => {
            log(
                LogLevel::Error,
                format!("no server card is served: {error}"),
            );
            None
        }
    }
}

/// The methods that the server answers without a handler of the host. The HTTP listener serves
/// these requests, and all notifications and responses, even if handlers hold all permits. So a
/// cancellation does not wait behind the request that it cancels.
const QUICK: [&str; 5] = [
    method::PING,
    method::INITIALIZE,
    method::SERVER_DISCOVER,
    method::TASKS_GET,
    method::TASKS_CANCEL,
];

impl Served {
    fn is_quick(&self, request: &HttpRequest<'_>) -> bool {
        let depth = self.server.services.limits.max_depth;
        match request.method {
            "POST" => self.is_refused(request) || !asks_for_more_than(&QUICK, &request.body, depth),
            _ => true,
        }
    }

    /// Returns whether a request will certainly be refused, because the server is closing or the
    /// session does not exist.
    fn is_refused(&self, request: &HttpRequest<'_>) -> bool {
        let session = session_id(request).filter(|_| self.options.sessions);
        let has_gone = session.is_some_and(|id| !self.sessions.has(id));
        has_gone || self.closing.load(Ordering::SeqCst)
    }

    /// Lets a request in, and sets its principal. Fails with the answer to a request that is
    /// refused, or that is served without a principal, such as one for a page.
    fn admit(&self, request: &HttpRequest<'_>, exchange: &mut Exchange) -> Handled {
        if let Some(answer) = self.public_answer(request) {
            return Err(answer);
        }
        let reader = guard::reader(&self.options, request);
        let is_readable = reader.is_some();
        if let Some(origin) = reader {
            let inner = exchange.take();
            exchange.response = Some(Box::new(ForReader { inner, origin }));
        }
        if let Some(page) = paths::wanted(&self.options, request) {
            return Err(self.page(page, request));
        }
        exchange.principal = self.let_in(request)?;
        if let Some(principal) = &exchange.principal {
            self.verified.remember(request, principal);
        }
        if request.method == "OPTIONS" && is_readable {
            let head = cors::preflight(request, methods_at(&self.options, request));
            return Err(Refusal::empty(head));
        }
        Ok(())
    }

    fn post(&self, request: &mut HttpRequest<'_>, exchange: &mut Exchange) -> Handled {
        check_media(request)?;
        let parsed = Parsed::read(message_of(request), self.server.services.limits.max_depth);
        let session = self.session_of(request, exchange.name());
        let session = session.map_err(|UnknownSession| {
            unknown_session(match &parsed {
                Parsed::Single(Ok(Message::Request(message))) => Some(message.id()),
                _ => None,
            })
        })?;
        let parsed = match parsed {
            Parsed::Single(Ok(Message::Request(message))) => {
                return self.serve_request(request, message, session, exchange);
            }
            other => other,
        };
        if let Some(name) = contradicted(request, &MIRRORING) {
            return Err(Refusal::text(400, contradiction(name)));
        }
        let names_none = session.is_some() && names_no_revision(request);
        match parsed {
            Parsed::Single(Err(malformed)) => {
                self.trouble_with(&malformed, request);
                Err(refuse_malformed(&malformed))
            }
            // A modern notification has no effect here, whatever its fields say (AMB-06).
            _ if names_none => Err(unknown_version(request)),
            Parsed::Single(Ok(message)) => self.take(request, message, session, exchange),
            Parsed::Batch(members) => self.serve_batch(request, members, session, exchange),
        }
    }

    /// Returns the session that a request names with its session id.
    fn session_of(
        &self,
        request: &HttpRequest<'_>,
        principal: Option<&str>,
    ) -> Result<Option<Arc<Session>>, UnknownSession> {
        let Some(id) = session_id(request).filter(|_| self.options.sessions) else {
            return Ok(None);
        };
        self.sessions
            .find(id, principal)
            .map(Some)
            .ok_or(UnknownSession)
    }

    fn serve_request(
        &self,
        http: &HttpRequest<'_>,
        request: Request,
        session: Option<Arc<Session>>,
        exchange: &mut Exchange,
    ) -> Handled {
        let header = header_version(http);
        let takes_events = accepts(http, EVENT_STREAM);
        let checked = self.check_if_modern(http, &request, &header);
        if let Some(name) = contradicted(http, &MIRRORING) {
            let code = match checked {
                Some(_) => ErrorCode::HEADER_MISMATCH,
                None => ErrorCode::INVALID_REQUEST,
            };
            let error = RpcError::new(code, contradiction(name));
            return Err(refuse_request(&request, &error));
        }
        if let Some(checked) = checked {
            return match checked {
                Ok(_) if request.method() == method::SUBSCRIPTIONS_LISTEN && !takes_events => {
                    let text = "Accept has to name text/event-stream";
                    Err(Refusal::text(406, text))
                }
                Ok(objection) => {
                    if request.method() == method::SUBSCRIPTIONS_LISTEN {
                        let response = bounded(exchange.take(), exchange.principal.as_ref());
                        exchange.response = Some(response);
                    }
                    let origin = Origin {
                        objection,
                        ..self.apart(http, exchange, Era::Modern, takes_events)
                    };
                    self.modern.feed(Message::Request(request), &origin);
                    Ok(())
                }
                Err(error) => Err(refuse_request(&request, &error)),
            };
        }
        if request.method() == method::INITIALIZE {
            return self.initialize(http, request, exchange);
        }
        if let Some(session) = session {
            self.feed_in_session(&session, request, exchange, takes_events);
            return Ok(());
        }
        let connection = self.sessionless(&header)?;
        let origin = self.apart(http, exchange, Era::Legacy, takes_events);
        connection.feed(Message::Request(request), &origin);
        Ok(())
    }

    /// Checks a modern request: compares its header fields with its body, see [`modern::check`].
    /// Returns `None` for a legacy request.
    fn check_if_modern(
        &self,
        http: &HttpRequest<'_>,
        request: &Request,
        header: &Version,
    ) -> Option<Result<Option<Box<RpcError>>, RpcError>> {
        let envelope = ParamMembers::of(request.members());
        let meta = envelope.meta();
        let may_be_legacy = !matches!(header, Version::Other) && meta.version().is_none();
        if may_be_legacy && self.serves_legacy() {
            return None;
        }
        if request.method() == method::INITIALIZE && matches!(header, Version::None) {
            // An older client gets the list of supported revisions (M-VER-S-11).
            return Some(Ok(None));
        }
        Some(modern::check(&self.server, http, request, &envelope, &meta))
    }

    /// Opens a session for an `initialize` request, even if the request contains a session id.
    /// Bridges send the `initialize` of a new client with the session id of an earlier client.
    ///
    /// The response head contains the session id, so the response never begins before the answer is
    /// known.
    // L-INIT-S-24
    fn initialize(
        &self,
        http: &HttpRequest<'_>,
        request: Request,
        exchange: &mut Exchange,
    ) -> Handled {
        if !self.options.sessions {
            // The client repeats the negotiated revision in each later request.
            let served = ServerConnection::over_http(&self.server);
            let connection = Server::connection(&served).never_asking().open_fed(
                Box::new(Nowhere),
                Arc::new(Everybody(peer_name(http.remote))),
            );
            let origin = self.apart(http, exchange, Era::Legacy, false);
            connection.feed(Message::Request(request), &origin);
            return Ok(());
        }
        check_opening(&request).map_err(|error| refuse_request(&request, &error))?;
        let bytes = request.params().len();
        let session = self.open_session(http, exchange.principal.clone(), false, bytes)?;
        self.feed_in_session(&session, request, exchange, false);
        Ok(())
    }

    fn open_session(
        &self,
        http: &HttpRequest<'_>,
        principal: Option<Principal>,
        on_one_stream: bool,
        bytes: usize,
    ) -> Handled<Arc<Session>> {
        let owner = self.owner(http, principal.as_ref());
        let Some(slot) = self.sessions.reserve_slot(owner, bytes) else {
            return Err(self.no_room(http));
        };
        Session::open(
            &self.server,
            &self.options,
            &self.sessions,
            principal,
            http.remote,
            on_one_stream,
            slot,
        )
        .map_err(|error| {
            self.log(LogLevel::Error, || {
                format!("a session can't be opened: {error}")
            });
            Refusal::new(500, &RpcError::internal("internal error"))
        })
    }

    /// Returns the refusal of an `initialize` request when there is no room for another session, or
    /// for the params of the request.
    fn no_room(&self, http: &HttpRequest<'_>) -> Refusal {
        let max = self.options.max_sessions;
        let text = format!(
            "as many sessions are in use as there may be ({max}, with 2 KiB each of what clients say of themselves)"
        );
        let told = format!("{text}: see HttpOptions::max_sessions");
        self.trouble(ServerEventKind::Busy, http, &told);
        Refusal::text(503, format!("{text}; try again later")).header("Retry-After", "30")
    }

    /// Handles a notification or a response from a client. Neither gets an answer: the HTTP
    /// response is status 202.
    fn take(
        &self,
        http: &HttpRequest<'_>,
        message: Message,
        session: Option<Arc<Session>>,
        exchange: &mut Exchange,
    ) -> Handled {
        if let Some(session) = session {
            let origin = Origin {
                principal: exchange.principal.take(),
                ..Origin::default()
            };
            session.connection().feed(message, &origin);
        } else if matches!(message, Message::Response(_)) {
            let text = "a response belongs to a session: send Mcp-Session-Id";
            return Err(Refusal::text(400, text));
        } else if self.options.sessions && matches!(header_version(http), Version::Legacy(_)) {
            return Err(no_session());
        }
        // A notification of a modern client has no effect, and is accepted (AMB-06).
        exchange.accept();
        Ok(())
    }

    fn serve_batch(
        &self,
        http: &HttpRequest<'_>,
        members: Vec<Result<Message, Malformed>>,
        session: Option<Arc<Session>>,
        exchange: &mut Exchange,
    ) -> Handled {
        let knows =
            |session: &Arc<Session>| session.revision().is_some_and(ProtocolVersion::has_batches);
        let Some(session) = session.filter(knows) else {
            let text = "an array of messages is known to revision 2025-03-26 only";
            return Err(Refusal::text(400, text));
        };
        let is_response =
            |member: &Result<Message, Malformed>| matches!(member, Ok(Message::Response(_)));
        let responses = members.iter().filter(|member| is_response(member)).count();
        if responses > 0 && responses < members.len() {
            let text = "requests and responses don't go into one batch";
            return Err(Refusal::text(400, text));
        }
        // A malformed notification or response is refused here, as it is outside of a batch.
        let is_refused = |member: &Result<Message, Malformed>| {
            let form = member.as_ref().err().map(|malformed| malformed.form);
            matches!(form, Some(Form::Notification | Form::Response))
        };
        if let Some(Err(malformed)) = members.first()
            && members.iter().all(is_refused)
        {
            self.trouble_with(malformed, http);
            return Err(refuse_malformed(malformed));
        }
        let answered = members.iter().any(|member| match member {
            Ok(message) => matches!(message, Message::Request(_)),
            Err(malformed) => malformed.form != Form::Notification,
        });
        let sink = answered.then(|| {
            let takes_events = accepts(http, EVENT_STREAM);
            self.stream_in(&session, exchange.take(), takes_events)
        });
        let origin = Origin {
            sink,
            principal: exchange.principal.take(),
            ..Origin::default()
        };
        session.connection().feed_batch(members, &origin);
        if !answered {
            exchange.accept();
        }
        Ok(())
    }

    fn named_session(
        &self,
        request: &HttpRequest<'_>,
        principal: Option<&str>,
    ) -> Handled<Arc<Session>> {
        if let Some(name) = contradicted(request, &MIRRORING) {
            return Err(Refusal::text(400, contradiction(name)));
        }
        if names_no_revision(request) {
            return Err(unknown_version(request));
        }
        self.session_of(request, principal)
            .map_err(|UnknownSession| unknown_session(None))?
            .ok_or_else(no_session)
    }

    /// Returns the connection that serves legacy requests without a session.
    fn sessionless(&self, header: &Version) -> Handled<&Connection> {
        if self.options.sessions {
            return Err(no_session());
        }
        let revision = match header {
            Version::Legacy(revision) => *revision,
            // Spec: "Protocol Version Header".
            _ => ProtocolVersion::V2025_03_26,
        };
        let mut all = self.sessionless.iter();
        let found = all.find(|(served, _)| *served == revision);
        found.map(|(_, connection)| connection).ok_or_else(|| {
            Refusal::text(400, format!("revision {} is not served", revision.as_str()))
        })
    }

    fn serves_legacy(&self) -> bool {
        self.server.serves(ProtocolVersion::is_legacy)
    }

    /// Creates the stream for the answers to a request or to a batch in a session.
    fn stream_in(
        &self,
        session: &Arc<Session>,
        response: Box<dyn ResponseWriter>,
        takes_events: bool,
    ) -> Arc<dyn ResponseSink> {
        let demand = Demand::new(&self.challenger, Era::Legacy);
        let stream = session.stream_for(response);
        Arc::new(RequestStream::new(stream, demand, takes_events))
    }

    /// Passes a request to its session. The answer is sent on the request's own stream.
    fn feed_in_session(
        &self,
        session: &Arc<Session>,
        request: Request,
        exchange: &mut Exchange,
        takes_events: bool,
    ) {
        let origin = Origin {
            sink: Some(self.stream_in(session, exchange.take(), takes_events)),
            principal: exchange.principal.take(),
            ..Origin::default()
        };
        session
            .connection()
            .feed(Message::Request(request), &origin);
    }

    /// Returns the [`Origin`] of a request on a shared connection: its client, principal and
    /// response sink. The id of the request is unique only among the requests of its client.
    fn apart(
        &self,
        http: &HttpRequest<'_>,
        exchange: &mut Exchange,
        era: Era,
        takes_events: bool,
    ) -> Origin {
        let demand = Demand::new(&self.challenger, era);
        let response = exchange.take();
        Origin {
            client: Some(self.owner(http, exchange.principal.as_ref())),
            sink: Some(Reply::new(
                response,
                demand,
                self.options.keep_alive,
                takes_events,
            )),
            apart: true,
            principal: exchange.principal.take(),
            ..Origin::default()
        }
    }

    fn not_allowed(&self) -> Refusal {
        let allowed = if self.options.sessions && self.serves_legacy() {
            "POST, GET, HEAD, DELETE"
        } else {
            "POST"
        };
        Refusal::text(405, format!("allowed here: {allowed}")).header("Allow", allowed)
    }

    fn trouble_with(&self, malformed: &Malformed, request: &HttpRequest<'_>) {
        let text = format!("a message is none: {}", malformed.error.message);
        self.trouble(ServerEventKind::Malformed, request, &text);
    }

    /// Reports an incident with a request that reached no connection.
    fn trouble(&self, kind: ServerEventKind, request: &HttpRequest<'_>, text: &str) {
        if let Some(hook) = &self.server.on_event {
            let trouble = Incident {
                kind,
                peer: peer_name(request.remote),
                method: None,
                text: text.to_owned(),
            };
            ServerEvent::new(trouble, None).tell(hook);
        }
    }

    fn log(&self, level: LogLevel, text: impl FnOnce() -> String) {
        tell(self.server.log.as_ref(), level, "http", text);
    }
}

/// Takes the message out of a request: its body, without a byte order mark.
///
/// Spec: RFC 8259, section 8.1.
fn message_of(request: &mut HttpRequest<'_>) -> Vec<u8> {
    let mut body = std::mem::take(&mut request.body);
    if body.starts_with(b"\xef\xbb\xbf") {
        body.drain(..3);
    }
    body
}

/// A sender that discards messages which belong to no request, since no client would read them.
#[derive(Debug)]
struct Nowhere;

impl Sender for Nowhere {
    fn send(
        &mut self,
        queue: &mut std::collections::VecDeque<SessionMessage>,
        _deadline: Instant,
    ) -> Result<()> {
        queue.clear();
        Ok(())
    }
}

/// The [`Control`] of a connection that many clients share.
#[derive(Debug)]
struct Everybody(String);

impl Control for Everybody {
    fn peer(&self) -> String {
        self.0.clone()
    }

    fn close(&self) {}
}
