//! The HTTP client transport: makes the header fields of requests, and interprets the answers.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ureq::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};

use super::Http;
use super::content::{content_type, foreign_encoding, is_of};
use super::cookies::Cookies;
use super::location::{self, is_same_origin, shown};
use super::pool::{Failed, Pool, PoolSlot, Route, USER_AGENT};
use super::retry_after::tell_wait;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::fallible;
use crate::jsonrpc::raw_object::RawObject;
use crate::jsonrpc::{Message, RequestId, TooLong};
use crate::schema::method;
use crate::sync::Mutex;
use crate::transport::clock::after;
use crate::transport::deadlines::{Deadlines, Watched};
use crate::transport::exchange_transport::{
    CancelHandle, Deliver, ExchangeOutcome, ExchangeTransport, Listening, NextCheck,
};
use crate::transport::http::authorizer::{Credentials, ResponseFields};
use crate::transport::message::RequestKind;
use crate::transport::{
    Allowance, Control, Limits, Received, SessionMessage, Threads, Transport, TransportParts,
};

static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The limits for reading the rest of a stream after the response: the number of bytes, and the
/// time. If one limit is exceeded, the connection is closed instead of reused.
const REST: (usize, Duration) = (64 << 10, Duration::from_millis(50));
const MAX_REDIRECTS: usize = 5;
/// The initial capacity for header fields of a request: enough for the fields of the library and a
/// few more.
const FIELDS: usize = 12;

/// Reads and discards the rest of a response body. Returns whether the body ended within `most`
/// bytes.
fn ends_within(most: usize, lane: &mut PoolSlot) -> bool {
    let mut len = 0;
    while len < most {
        match lane.line.read(&mut lane.buffer) {
            Ok(0) => return true,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    false
}

fn refused(error: impl fmt::Display) -> Error {
    let text = format!("a header field of the request can't be sent: {error}");
    Error::new(ErrorKind::Invalid, text)
}

fn value_of(text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(refused)
}

fn add_field(fields: &mut HeaderMap, name: &str, value: HeaderValue) -> Result<()> {
    // The names of the usual fields are not parsed for each request.
    let known = [&VERSION, &METHOD, &NAME];
    let name = match known.into_iter().find(|known| *known == name) {
        Some(known) => known.clone(),
        None => HeaderName::from_bytes(name.as_bytes()).map_err(refused)?,
    };
    fields.append(name, value);
    Ok(())
}

/// The HTTP client transport to one server.
pub(super) struct ClientTransport {
    pub(super) http: Http,
    pub(super) lanes: Pool,
    pub(super) watch: Deadlines,
    /// The state of the session. The lock is held briefly only, never during I/O.
    pub(super) state: Mutex<State>,
    pub(super) cookies: Cookies,
    max_message_bytes: usize,
    allowance: Allowance,
    pub(super) threads: Threads,
    /// Whether the server keeps its streams open after the response. If so, the client does not
    /// wait for the end of a stream. The flag is a hint: an outdated value costs only time.
    ends_late: AtomicBool,
    /// The total time during which requests waited for a login of the user, in milliseconds.
    user_time: AtomicU64,
    /// Whether the transport was stopped. The flag is set before the calls are ended, so that a
    /// call that fails because of the stop finds the flag set.
    stopped: AtomicBool,
}

/// The state of the session that later requests refer to, such as the session id.
#[derive(Default)]
pub(super) struct State {
    pub(super) session: Option<HeaderValue>,
    /// The number of sessions that were opened so far.
    sessions: u64,
    /// The agreed protocol revision, if requests have to contain it in a header field.
    version: Option<HeaderValue>,
    /// The URL to which the client posts its messages, if the server uses the oldest HTTP
    /// transport.
    pub(super) endpoint: Option<Uri>,
    /// The cancel handle of the stream for messages that belong to no call, in the current session.
    pub(super) listening: Option<Arc<CancelHandle>>,
    pub(super) closed: bool,
}

/// The description of one HTTP request to the server.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) uri: &'a Uri,
    pub(super) body: &'a [u8],
    pub(super) kind: &'a RequestKind,
    pub(super) last_event_id: Option<&'a str>,
    /// The id of the JSON-RPC request in the body, if there is one.
    pub(super) id: Option<&'a RequestId>,
}

impl Ask<'_> {
    /// Returns the JSON-RPC method of the message in the body. `None` for a response, a batch, and
    /// a request without a body.
    pub(super) fn method_name(&self) -> Option<&str> {
        let text = std::str::from_utf8(self.body).ok()?;
        let (_, value) = RawObject::of(text).find(|(name, _)| name == "method")?;
        serde_json::from_str(value).ok()
    }

    /// Whether the request may be sent once more after a failure: the server can't have received
    /// it, or a repetition has no further effect.
    fn may_repeat(&self, failed: &Failed) -> bool {
        let is_harmless = |name: &str| {
            method::IDEMPOTENT.contains(&name)
                || [method::INITIALIZE, method::NOTIFICATIONS_INITIALIZED].contains(&name)
        };
        !failed.sent || self.method != Method::POST || self.method_name().is_some_and(is_harmless)
    }
}

/// A successful response of the server, and the connection with its unread body.
pub(super) struct Answer {
    pub(super) lane: Box<PoolSlot>,
    /// The URL that the response came from. After a redirect it differs from the requested URL.
    pub(super) uri: Uri,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

impl Answer {
    pub(super) fn content_type(&self) -> &str {
        content_type(&self.headers)
    }

    /// Whether the body has the given media type. Parameters of the type are ignored.
    pub(super) fn is_of(&self, media_type: &str) -> bool {
        is_of(&self.headers, media_type)
    }
}

impl ClientTransport {
    pub(super) fn new(http: Http, route: Route, limits: &Limits) -> Self {
        Self {
            lanes: Pool::new(route, http.client.clone()),
            watch: Deadlines::new(http.stall_timeout, &limits.threads),
            state: Mutex::default(),
            cookies: Cookies::default(),
            max_message_bytes: limits.max_message_bytes,
            allowance: limits.allowance.clone(),
            threads: limits.threads.clone(),
            ends_late: AtomicBool::new(false),
            user_time: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            http,
        }
    }

    /// Sends a request, and blocks until the head of the response has arrived. Any status except
    /// success is an error. `cancel_handle` can end the exchange as soon as the request begins.
    pub(super) fn ask(
        &self,
        ask: &Ask<'_>,
        cancel_handle: &Arc<CancelHandle>,
        watched: &Watched,
    ) -> Result<Answer> {
        let mut uri = ask.uri.clone();
        let (mut redirects, mut attempt) = (0, 0);
        // The failure of the first attempt, if the server had closed the reused connection.
        let mut lost: Option<Failed> = None;
        loop {
            let credentials = self.credentials(ask, &uri, attempt, cancel_handle)?;
            let request = self.request(ask, &uri, &credentials)?;
            let sent = self.send(ask, request, &mut lost, cancel_handle, watched)?;
            let Some((mut lane, response)) = sent else {
                continue;
            };
            let status = response.status();
            self.cookies.take(&uri, response.headers());
            if status.is_success() {
                let (head, ()) = response.into_parts();
                self.was_accepted(ask, &uri, &head, &credentials);
                return Ok(Answer {
                    lane,
                    uri,
                    status,
                    headers: head.headers,
                });
            }
            match self.redirect(&uri, &response) {
                Some(next) => {
                    let ends = ends_within(REST.0, &mut lane);
                    if cancel_handle.release() && ends {
                        self.lanes.put(lane);
                    }
                    redirects += 1;
                    if redirects > MAX_REDIRECTS {
                        let text = format!(
                            "'{}' redirects without end: more than {MAX_REDIRECTS} times",
                            self.peer()
                        );
                        return Err(Error::new(ErrorKind::Http, text).sent(true));
                    }
                    uri = next;
                }
                _ => {
                    let (error, fields) =
                        self.refusal(ask, lane, cancel_handle, response, &credentials);
                    let error = tell_wait(error, &fields);
                    let response = ResponseFields {
                        status: status.as_u16(),
                        fields: &fields,
                        mark: credentials.mark(),
                    };
                    if !self.tries_again(ask, &uri, attempt, &response, &error, cancel_handle)? {
                        return Err(error);
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Sends a request once, and blocks until the head of the response has arrived. Returns `None`
    /// if the request has to be sent once more, on a new connection, and stores the failure in
    /// `lost`.
    fn send(
        &self,
        ask: &Ask<'_>,
        request: Request<()>,
        lost: &mut Option<Failed>,
        cancel_handle: &CancelHandle,
        watched: &Watched,
    ) -> Result<Option<(Box<PoolSlot>, Response<()>)>> {
        let was_sent = lost.as_ref().is_some_and(|lost| lost.sent);
        let deadline = match cancel_handle.look(Instant::now()) {
            NextCheck::Never => None,
            NextCheck::At(deadline) => Some(deadline),
            NextCheck::Over => return Err(self.nobody_waits().sent(was_sent)),
        };
        let mut lane = self.lanes.take();
        if lost.is_some() {
            lane.line.close();
        }
        if !cancel_handle.engage(lane.brake()) {
            return Err(self.nobody_waits().sent(was_sent));
        }
        let is_reused = lane.line.is_open();
        match self.lanes.run(&mut lane, request, ask.body, deadline) {
            Ok(response) => Ok(Some((lane, response))),
            Err(failed) if is_reused && failed.is_loss() && ask.may_repeat(&failed) => {
                cancel_handle.release();
                *lost = Some(failed);
                Ok(None)
            }
            Err(mut failed) => {
                failed.sent |= was_sent;
                Err(self.failure(failed, cancel_handle, watched))
            }
        }
    }

    fn request(&self, ask: &Ask<'_>, uri: &Uri, credentials: &Credentials) -> Result<Request<()>> {
        let accept = match ask.method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let mut request = Request::new(());
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = uri.clone();
        let fields = request.headers_mut();
        fields.reserve(FIELDS);
        fields.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if ask.method == Method::POST {
            let json = HeaderValue::from_static("application/json");
            fields.insert(header::CONTENT_TYPE, json);
        }
        for (name, value) in self.http.headers.iter().chain(&credentials.fields) {
            fields.append(name, value.clone());
        }
        self.cookies.give(uri, fields);
        // The library decodes no content encoding.
        let encoding = fields.entry(header::ACCEPT_ENCODING);
        encoding.or_insert(HeaderValue::from_static("identity"));
        let agent = fields.entry(header::USER_AGENT);
        agent.or_insert(HeaderValue::from_static(USER_AGENT));
        match ask.kind {
            RequestKind::OpensSession => {}
            RequestKind::InSession => {
                let state = self.state.lock();
                if let Some(session) = &state.session {
                    fields.append(&SESSION, session.clone());
                }
                if let Some(version) = &state.version {
                    fields.append(&VERSION, version.clone());
                }
            }
            RequestKind::Stateless(own) => {
                for (name, value) in own {
                    let value = match value {
                        // The text is one of the library's own texts.
                        Cow::Borrowed(text) => HeaderValue::from_static(text),
                        Cow::Owned(text) => value_of(text)?,
                    };
                    add_field(fields, name, value)?;
                }
            }
        }
        if let Some(id) = ask.last_event_id {
            add_field(fields, "last-event-id", value_of(id)?)?;
        }
        if ask.method == Method::POST {
            fields.insert(header::CONTENT_LENGTH, HeaderValue::from(ask.body.len()));
        }
        Ok(request)
    }

    /// Returns the target of a redirect. Returns `None` if the client must not follow the redirect.
    fn redirect(&self, from: &Uri, response: &Response<()>) -> Option<Uri> {
        let keeps_method = matches!(response.status().as_u16(), 307 | 308);
        if !(self.http.follows && keeps_method) {
            return None;
        }
        let target = response.headers().get(header::LOCATION)?.to_str().ok()?;
        let target = location::resolve(from, target)?;
        is_same_origin(from, &target).then_some(target)
    }

    /// Fails if the response body has a content encoding, because the client decodes none.
    pub(super) fn check_encoding(&self, answer: &Answer) -> Result<()> {
        let Some(encoding) = foreign_encoding(&answer.headers) else {
            return Ok(());
        };
        let text = format!(
            "'{}' answered with content encoding '{}', which was not asked for: expected identity",
            self.peer(),
            Excerpt(&encoding)
        );
        Err(Error::new(ErrorKind::Protocol, text)
            .sent(true)
            .with_http(answer.status.as_u16(), None))
    }

    /// Reads the rest of the body after a response, so that the connection can be reused. Closes
    /// the connection if the rest is too long or takes too long.
    pub(super) fn finish(&self, mut lane: Box<PoolSlot>, cancel_handle: &CancelHandle) {
        if !cancel_handle.release() || self.ends_late.load(Ordering::Relaxed) {
            return;
        }
        let rest = CancelHandle::until(Some(Instant::now() + REST.1));
        let Ok(_watched) = self.watch.add(&rest, false) else {
            return;
        };
        if !rest.engage(lane.brake()) {
            return;
        }
        let ends = ends_within(REST.0, &mut lane);
        let pulled = !rest.release();
        if ends && !pulled {
            self.lanes.put(lane);
        } else {
            self.ends_late.store(pulled, Ordering::Relaxed);
        }
    }

    /// Returns the maximum length of a message that is accepted at the moment, in bytes.
    pub(super) fn longest_message(&self) -> usize {
        self.allowance.above(self.max_message_bytes)
    }

    /// Reads a whole response body. Returns `None` when the body is longer than the maximum length
    /// of a message.
    fn read_body(
        &self,
        answer: Answer,
        cancel_handle: &CancelHandle,
        watched: &Watched,
    ) -> Result<Option<Vec<u8>>> {
        let Answer {
            mut lane, headers, ..
        } = answer;
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| {
            let text = value.to_str().ok()?;
            text.parse::<usize>().ok()
        });
        let max = self.longest_message();
        let room = length.unwrap_or(1024).min(max.min(1 << 20));
        let mut text = fallible::with_capacity(room).map_err(|_| self.no_memory(room))?;
        let read = fallible::read_to_end(&mut lane.line, &mut text, max.saturating_add(1));
        read.map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => self.no_memory(text.len().max(length.unwrap_or(0))),
            _ => self.broken_off(error, cancel_handle, watched),
        })?;
        if text.len() > max {
            return Ok(None);
        }
        if cancel_handle.release() {
            self.lanes.put(lane);
        }
        Ok(Some(text))
    }

    /// Stores the session that the server opened with its answer.
    fn enter_session(&self, headers: &HeaderMap) -> Result<()> {
        // Servers without sessions may send an empty field.
        let session = headers.get(&SESSION).filter(|session| !session.is_empty());
        let session = session.cloned();
        if let Some(session) = &session
            && !session.as_bytes().iter().all(u8::is_ascii_graphic)
        {
            let text = format!(
                "'{}' gave a session id with other characters than visible ASCII",
                self.peer()
            );
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        }
        let mut state = self.state.lock();
        state.session = session.map(|mut session| {
            session.set_sensitive(true);
            session
        });
        state.sessions += 1;
        let listening = state.listening.take();
        drop(state);
        if let Some(cancel_handle) = listening {
            cancel_handle.end();
        }
        Ok(())
    }

    /// Sends a message to which the server sends no answer on the same exchange.
    pub(super) fn deposit(
        &self,
        message: &SessionMessage,
        cancel_handle: &Arc<CancelHandle>,
        watched: &Watched,
    ) -> Result<()> {
        let endpoint = self.state.lock().endpoint.clone();
        let ask = Ask {
            method: Method::POST,
            uri: endpoint.as_ref().unwrap_or(&self.http.url),
            body: &message.text,
            kind: &message.kind,
            last_event_id: None,
            id: message.related.as_ref(),
        };
        let answer = self.ask(&ask, cancel_handle, watched)?;
        self.finish(answer.lane, cancel_handle);
        Ok(())
    }

    /// Returns the error for an answer of at least `bytes` bytes for which there is no memory.
    fn no_memory(&self, bytes: usize) -> Error {
        let peer = self.peer();
        let what = format_args!("the answer of '{peer}', of at least {bytes} bytes");
        fallible::no_memory(what).sent(true)
    }

    fn empty(&self, status: u16) -> Error {
        let peer = self.peer();
        let text = format!("'{peer}' answered a request with {status} and nothing else");
        Error::new(ErrorKind::Protocol, text).sent(true)
    }

    fn too_long(&self, request: &SessionMessage) -> Received {
        Received::TooLong(TooLong {
            bytes: self.longest_message() + 1,
            id: request.related.clone(),
            is_response: true,
            no_memory: false,
        })
    }

    /// Delivers an answer whose body is JSON.
    fn take_json(
        &self,
        request: &SessionMessage,
        answer: Answer,
        cancel_handle: &CancelHandle,
        watched: &Watched,
        deliver: &mut Deliver<'_>,
    ) -> Result<ExchangeOutcome> {
        let status = answer.status.as_u16();
        let Some(mut text) = self.read_body(answer, cancel_handle, watched)? else {
            _ = deliver(self.too_long(request));
            return Ok(ExchangeOutcome::Answered);
        };
        if text.trim_ascii().is_empty() {
            return Err(self.empty(status));
        }
        // RFC 8259, section 8.1: a reader may ignore a byte order mark.
        if text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        // An error without an id can only be about this request.
        if let Ok(text) = std::str::from_utf8(&text)
            && text.contains("\"error\"")
        {
            let copy = fallible::copy_text(text).map_err(|_| self.no_memory(text.len()))?;
            if let Ok(Message::Response(response)) = Message::read(copy)
                && response.id().is_none()
                && let Err(rpc) = response.outcome()
            {
                let error = Error::new(ErrorKind::Peer, rpc.message.clone());
                return Err(error.sent(true).with_rpc(rpc.clone()));
            }
        }
        match deliver(Received::Message(SessionMessage::new(text))) {
            ControlFlow::Break(()) => Ok(ExchangeOutcome::Answered),
            ControlFlow::Continue(()) => {
                let text = format!(
                    "'{}' answered with JSON that is not the response to the request",
                    self.peer()
                );
                Err(Error::new(ErrorKind::Protocol, text).sent(true))
            }
        }
    }

    /// Sends a request, and delivers the messages of the server's answer. Blocks until the answer
    /// is complete.
    fn carry(
        &self,
        request: &SessionMessage,
        cancel_handle: &Arc<CancelHandle>,
        deliver: &mut Deliver<'_>,
    ) -> Result<ExchangeOutcome> {
        let watched = self.watch.add(cancel_handle, true)?;
        let _released = Released(cancel_handle);
        if self.state.lock().endpoint.is_some() {
            self.deposit(request, cancel_handle, &watched)?;
            return Ok(ExchangeOutcome::Elsewhere);
        }
        let ask = Ask {
            method: Method::POST,
            uri: &self.http.url,
            body: &request.text,
            kind: &request.kind,
            last_event_id: None,
            id: request.related.as_ref(),
        };
        let answer = self.ask(&ask, cancel_handle, &watched)?;
        self.check_encoding(&answer)?;
        if let RequestKind::OpensSession = request.kind {
            self.enter_session(&answer.headers)?;
        }
        // Some servers leave out the content type of their JSON.
        let is_untyped = answer.content_type().is_empty() && answer.status == StatusCode::OK;
        if is_untyped || answer.is_of("application/json") {
            return self.take_json(request, answer, cancel_handle, &watched, deliver);
        }
        if answer.is_of("text/event-stream") {
            return self.take_stream(request, answer, cancel_handle, &watched, deliver);
        }
        let kind = answer.content_type();
        if kind.is_empty() {
            return Err(self.empty(answer.status.as_u16()));
        }
        let text = format!(
            "'{}' answered a request with content type '{}': expected application/json or text/event-stream",
            self.peer(),
            Excerpt(kind)
        );
        Err(Error::new(ErrorKind::Protocol, text).sent(true))
    }
}

impl ExchangeTransport for ClientTransport {
    fn exchange(
        &self,
        request: &SessionMessage,
        cancel_handle: &Arc<CancelHandle>,
        deliver: &mut Deliver<'_>,
    ) -> Result<ExchangeOutcome> {
        let carried = self.carry(request, cancel_handle, deliver);
        let millis = u64::try_from(cancel_handle.held_for().as_millis()).unwrap_or(u64::MAX);
        self.user_time.fetch_add(millis, Ordering::Relaxed);
        carried
    }

    fn post(&self, message: &SessionMessage, cancel_handle: &Arc<CancelHandle>) -> Result<()> {
        let watched = self.watch.add(cancel_handle, false)?;
        self.deposit(message, cancel_handle, &watched)
            .map_err(|error| match cancel_handle.is_over() {
                true if self.state.lock().closed => error.with_kind(ErrorKind::Closed),
                true => error.with_kind(ErrorKind::Timeout),
                false => error,
            })
    }

    fn agree(&self, revision: Option<&str>) {
        let version = revision.and_then(|revision| HeaderValue::from_str(revision).ok());
        self.state.lock().version = version;
    }

    fn listen(&self, on_event: &mut dyn FnMut(Listening), deliver: &mut Deliver<'_>) -> Result<()> {
        if self.state.lock().endpoint.is_some() {
            // All messages arrive on one stream already.
            on_event(Listening::Settled);
            return Ok(());
        }
        self.hear(on_event, deliver)
    }

    fn fall_back(
        &self,
        cancel_handle: &Arc<CancelHandle>,
        settled: &mut dyn FnMut(),
        deliver: &mut Deliver<'_>,
    ) -> Result<()> {
        self.hear_everything(cancel_handle, settled, deliver)
    }

    fn session(&self) -> Option<u64> {
        let state = self.state.lock();
        state.session.as_ref().map(|_| state.sessions)
    }

    fn stop(&self) {
        // The order matters: a call that fails because of the stop has to find the flag set.
        self.stopped.store(true, Ordering::Release);
        self.watch.end_calls();
    }

    fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn authorization(&self) -> u64 {
        let authorizer = self.http.authorizer.as_ref();
        authorizer.map_or(0, |authorizer| {
            authorizer.generation(&self.http.url.to_string())
        })
    }

    fn user_time(&self) -> Duration {
        Duration::from_millis(self.user_time.load(Ordering::Relaxed))
    }
}

/// A guard that removes the shutdown handle from a cancel handle when the guard is dropped.
pub(super) struct Released<'a>(pub(super) &'a CancelHandle);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl ClientTransport {
    /// Ends the session at the server, and then ends all exchanges. Ending the session takes at
    /// most `patience`.
    fn leave(&self, patience: Duration) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.closed, true) {
            return;
        }
        let has_session = state.session.is_some();
        drop(state);
        self.watch.end_calls();
        if has_session && !patience.is_zero() {
            let cancel_handle = CancelHandle::until(Some(after(patience)));
            let ask = Ask {
                method: Method::DELETE,
                uri: &self.http.url,
                body: &[],
                kind: &RequestKind::InSession,
                last_event_id: None,
                id: None,
            };
            if let Ok(watched) = self.watch.add(&cancel_handle, false) {
                // A server may refuse the request (405). A server that is gone needs no notice.
                drop(self.ask(&ask, &cancel_handle, &watched));
            }
        }
        self.watch.stop();
        self.lanes.clear();
    }
}

impl Control for ClientTransport {
    fn peer(&self) -> String {
        shown(&self.http.url)
    }

    fn close(&self) {
        self.leave(self.http.close_timeout);
    }

    fn close_at_once(&self) {
        self.leave(self.http.close_timeout.min(Duration::from_millis(200)));
    }
}

impl fmt::Debug for ClientTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("ClientTransport")
            .field("peer", &shown(&self.http.url))
            .field("lanes", &self.lanes)
            .field("has_session", &state.session.is_some())
            .finish_non_exhaustive()
    }
}

impl Transport for Http {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.authorizer.is_some()
            && self
                .headers
                .iter()
                .any(|(name, _)| name == header::AUTHORIZATION)
        {
            let text = "header(\"Authorization\", …) contradicts bearer(…) or authorizer(…)";
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        if let (Some(_), Some(setting)) = (&self.client, self.connection_setting()) {
            let text = format!("{setting} contradicts Http::http_client: set it in that client");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let is_https = self.url.scheme_str() == Some("https");
        if is_https && self.client.is_none() && cfg!(not(feature = "tls")) {
            let text = "https needs the feature 'tls', which this build was made without";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let proxy = self.proxy.of(&self.url);
        let route = Route {
            connect_timeout: self.connect_timeout,
            proxy: proxy.map_err(|why| Error::new(ErrorKind::Invalid, why))?,
            #[cfg(feature = "tls")]
            tls: self.tls.config(),
        };
        let wire = Arc::new(ClientTransport::new(*self, route, limits));
        Ok(TransportParts::over_exchanges(Arc::clone(&wire) as _, wire))
    }

    /// Creates another transport with the same settings. The new transport makes its own
    /// connections.
    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }

    /// Returns the server's URL. A query may contain secrets, so the URL contains only a hash of
    /// the query.
    fn address(&self) -> Option<String> {
        let Some(query) = self.url.query() else {
            return Some(shown(&self.url));
        };
        let mut hasher = DefaultHasher::new();
        query.hash(&mut hasher);
        Some(format!("{}?{:x}", shown(&self.url), hasher.finish()))
    }
}
