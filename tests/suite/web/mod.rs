//! A web server of a host's own, played by hand: it hands requests to an HTTP service and records what is written.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mcplink::schema::ProtocolVersion;
use mcplink::server::Server;
use mcplink::server::http::{HttpOptions, HttpService};
use mcplink::transport::http::{HttpRequest, ResponseHead, ResponseWriter, Service};
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::LONG;

/// What a browser-less client on the same machine sends with each POST.
const USUAL: [(&str, &str); 3] = [
    ("Host", "localhost:8080"),
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];

pub(crate) struct Web {
    pub(crate) service: HttpService,
    calls: Mutex<Vec<JoinHandle<()>>>,
    next_id: Mutex<i64>,
    /// The address from which the requests come.
    remote: Mutex<Option<SocketAddr>>,
}

impl Drop for Web {
    fn drop(&mut self) {
        self.service.close();
        for call in self.calls.lock().unwrap().drain(..) {
            call.join().unwrap();
        }
    }
}

impl Web {
    pub(crate) fn new(server: &Server) -> Self {
        Self::with(server, HttpOptions::new())
    }

    pub(crate) fn with(server: &Server, options: HttpOptions) -> Self {
        Self {
            service: server.http_service(options),
            calls: Mutex::default(),
            next_id: Mutex::new(0),
            remote: Mutex::default(),
        }
    }

    /// Has the next requests come from an address.
    pub(crate) fn come_from(&self, address: &str) {
        *self.remote.lock().unwrap() = Some(address.parse().unwrap());
    }

    pub(crate) fn id(&self) -> i64 {
        let mut next = self.next_id.lock().unwrap();
        *next += 1;
        *next
    }

    /// Hands a request over, on a thread of its own. Later fields replace the usual ones; an empty value takes one away.
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        fields: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let mut all: Vec<(String, String)> = Vec::new();
        for (name, value) in USUAL.iter().chain(fields) {
            all.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
            if !value.is_empty() {
                all.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        self.send_exactly(method, target, all, body)
    }

    /// The same with these fields and no others, in their order.
    pub(crate) fn send_exactly(
        &self,
        method: &str,
        target: &str,
        all: Vec<(String, String)>,
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let answer = Answer::default();
        let writer: Box<dyn ResponseWriter> = Box::new(Recorder(Arc::clone(&answer.0)));
        let (method, target, body) = (method.to_owned(), target.to_owned(), body.into());
        let service = self.service.clone();
        let remote = *self.remote.lock().unwrap();
        let call = thread::spawn(move || {
            let headers: Vec<(&str, &[u8])> = all
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_bytes()))
                .collect();
            let local = "127.0.0.1:8080".parse().ok();
            let request = HttpRequest::new(&method, &target)
                .headers(&headers)
                .body(body)
                .addresses(local, remote);
            service.serve(request, writer);
        });
        self.calls.lock().unwrap().push(call);
        answer
    }

    /// Posts a message as it is.
    pub(crate) fn post(&self, fields: &[(&str, &str)], message: &Value) -> Answer {
        self.send("POST", "/mcp", fields, message.to_string())
    }

    /// A modern request with everything that belongs to it.
    pub(crate) fn modern(&self, method: &str, params: Value) -> Answer {
        self.modern_as(method, params, json!({}), &[])
    }

    /// The same with these capabilities, and fields in place of the right ones.
    pub(crate) fn modern_as(
        &self,
        method: &str,
        params: Value,
        capabilities: Value,
        fields: &[(&str, &str)],
    ) -> Answer {
        let (message, right) = modern(self.id(), method, params, capabilities);
        let right = right.iter().map(|(name, value)| (*name, value.as_str()));
        let all: Vec<_> = right.chain(fields.iter().copied()).collect();
        self.post(&all, &message)
    }

    /// Opens a legacy session.
    pub(crate) fn session(&self, revision: ProtocolVersion) -> LegacySession<'_> {
        self.session_with(revision, json!({}), &[])
    }

    pub(crate) fn session_with(
        &self,
        revision: ProtocolVersion,
        capabilities: Value,
        fields: &[(&str, &str)],
    ) -> LegacySession<'_> {
        let answer = self.post(fields, &initialize(self.id(), revision, capabilities));
        let (head, message) = (answer.head(), answer.message());
        assert_eq!(head.status, 200, "{message}");
        let id = field(&head, "Mcp-Session-Id")
            .expect("a session")
            .to_owned();
        let mut fields: Vec<(String, String)> = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        fields.push(("Mcp-Session-Id".to_owned(), id.clone()));
        if revision >= ProtocolVersion::V2025_06_18 {
            let version = revision.as_str().to_owned();
            fields.push(("MCP-Protocol-Version".to_owned(), version));
        }
        let session = LegacySession {
            web: self,
            id,
            fields,
            greeting: message,
        };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&ready).head().status, 202);
        session
    }
}

pub(crate) fn initialize(id: i64, revision: ProtocolVersion, capabilities: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": revision.as_str(), "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"},
    }})
}

/// A modern request, and the header fields that repeat it.
pub(crate) fn modern(
    id: i64,
    method: &str,
    mut params: Value,
    capabilities: Value,
) -> (Value, Vec<(&'static str, String)>) {
    let version = ProtocolVersion::LATEST.as_str();
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    let mut fields = vec![
        ("MCP-Protocol-Version", version.to_owned()),
        ("Mcp-Method", method.to_owned()),
    ];
    let named = ["name", "uri", "taskId"];
    let name = named.iter().find_map(|name| params.get(name));
    if let Some(name) = name.and_then(Value::as_str) {
        fields.push(("Mcp-Name", name.to_owned()));
    }
    let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    (message, fields)
}

pub(crate) struct LegacySession<'w> {
    pub(crate) web: &'w Web,
    pub(crate) id: String,
    fields: Vec<(String, String)>,
    pub(crate) greeting: Value,
}

impl LegacySession<'_> {
    pub(crate) fn fields(&self) -> Vec<(&str, &str)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    pub(crate) fn post(&self, message: &Value) -> Answer {
        self.web.post(&self.fields(), message)
    }

    pub(crate) fn request(&self, method: &str, params: Value) -> Answer {
        let id = self.web.id();
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Opens the stream for what belongs to no request, or goes on behind an event.
    pub(crate) fn get(&self, behind: Option<&str>) -> Answer {
        let mut fields = self.fields();
        fields.push(("Accept", "text/event-stream"));
        fields.push(("Last-Event-ID", behind.unwrap_or_default()));
        self.web.send("GET", "/mcp", &fields, "")
    }

    pub(crate) fn delete(&self) -> Answer {
        self.web.send("DELETE", "/mcp", &self.fields(), "")
    }
}

pub(crate) fn field<'h>(head: &'h ResponseHead, name: &str) -> Option<&'h str> {
    let mut fields = head.headers.iter();
    fields
        .find(|(other, _)| other.eq_ignore_ascii_case(name))
        .map(|(_, value)| &**value)
}

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| panic!("no message: {self:?}"))
    }
}

/// What was written of a response so far.
#[derive(Clone, Default)]
pub(crate) struct Answer(Arc<Record>);

#[derive(Default)]
struct Record {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    head: Option<ResponseHead>,
    body: Vec<u8>,
    /// How much of the body was taken as events.
    read: usize,
    /// The sizes of the pieces that were written, since somebody last asked.
    pieces: Vec<usize>,
    finished: bool,
    dropped: bool,
    gone: bool,
    /// The client takes nothing more.
    stalled: bool,
    on_gone: Option<Box<dyn FnOnce() + Send>>,
    on_silence: Option<Box<dyn FnOnce() + Send>>,
}

impl Answer {
    fn wait<T>(&self, what: &str, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        let until = Instant::now() + LONG;
        let mut state = self.0.state.lock().unwrap();
        loop {
            if let Some(found) = look(&mut state) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "no {what} in time; {}",
                String::from_utf8_lossy(&state.body)
            );
            state = self.0.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    pub(crate) fn head(&self) -> ResponseHead {
        self.wait("head", |state| state.head.clone())
    }

    pub(crate) fn status(&self) -> u16 {
        self.head().status
    }

    /// The whole body, when the response has ended in order.
    pub(crate) fn body(&self) -> String {
        self.wait("end", |state| {
            assert!(
                state.finished || !state.dropped,
                "the response was broken off"
            );
            state
                .finished
                .then(|| String::from_utf8(state.body.clone()).unwrap())
        })
    }

    /// Whether the response ended without its end.
    pub(crate) fn is_broken_off(&self) -> bool {
        self.wait("end", |state| state.dropped.then_some(!state.finished))
    }

    /// The one message that the response is.
    pub(crate) fn message(&self) -> Value {
        let (head, body) = (self.head(), self.body());
        assert_eq!(
            field(&head, "Content-Type"),
            Some("application/json"),
            "{body}"
        );
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("no message: {body}"))
    }

    pub(crate) fn result(&self) -> Value {
        let message = self.message();
        assert!(message["error"].is_null(), "{message}");
        message["result"].clone()
    }

    pub(crate) fn error_code(&self) -> i64 {
        self.message()["error"]["code"].as_i64().expect("an error")
    }

    /// The next event; `None` when the stream has ended in order.
    pub(crate) fn event(&self) -> Option<Event> {
        self.wait("event", |state| {
            let rest = &state.body[state.read..];
            let end = rest.windows(2).position(|pair| pair == b"\n\n");
            let Some(end) = end else {
                assert!(
                    state.finished || !state.dropped,
                    "the stream was broken off"
                );
                return state.finished.then_some(None);
            };
            let text = String::from_utf8(rest[..end].to_vec()).unwrap();
            state.read += end + 2;
            let mut event = Event::default();
            for line in text.lines() {
                let (name, value) = line.split_once(':').expect("a field");
                let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
                match name {
                    "id" => event.id = Some(value),
                    "event" => event.event = Some(value),
                    "retry" => event.retry = value.parse().ok(),
                    "data" => event.data = value,
                    _ => panic!("unexpected line {line}"),
                }
            }
            Some(Some(event))
        })
    }

    /// The messages of a stream up to its end.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(event) = self.event() {
            if !event.data.is_empty() {
                messages.push(event.message());
            }
        }
        messages
    }

    /// The client goes away.
    pub(crate) fn leave(&self) {
        let callback = {
            let mut state = self.0.state.lock().unwrap();
            state.gone = true;
            state.on_gone.take()
        };
        if let Some(callback) = callback {
            callback();
        }
    }

    /// The response has been silent for long. Waits until somebody is there to be told, unless
    /// nobody ever is.
    pub(crate) fn is_silent(&self) {
        let callback = self.wait("service", |state| state.on_silence.take());
        callback();
    }

    /// Takes the sizes of the pieces that were written since the last call.
    pub(crate) fn pieces(&self) -> Vec<usize> {
        std::mem::take(&mut self.0.state.lock().unwrap().pieces)
    }

    /// The client stops reading.
    pub(crate) fn stall(&self) {
        self.0.state.lock().unwrap().stalled = true;
    }

    /// The client reads again.
    pub(crate) fn go_on(&self) {
        self.0.state.lock().unwrap().stalled = false;
    }
}

struct Recorder(Arc<Record>);

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    fn change(&self, change: impl FnOnce(&mut State)) -> Result<()> {
        let mut state = self.0.state.lock().unwrap();
        if state.gone {
            return Err(Error::new(ErrorKind::Closed, "the client has gone"));
        }
        change(&mut state);
        self.0.changed.notify_all();
        Ok(())
    }
}

impl ResponseWriter for Recorder {
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()> {
        self.change(|state| {
            assert!(state.head.is_none(), "two responses");
            state.head = Some(head.clone());
            state.body.extend_from_slice(body);
            state.finished = true;
            state.on_gone = None;
        })
    }

    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()> {
        self.change(|state| {
            assert!(state.head.is_none(), "two responses");
            state.head = Some(head.clone());
            state.body.extend_from_slice(first);
        })
    }

    fn write(&mut self, piece: &[u8], deadline: Option<Instant>) -> Result<bool> {
        if self.0.state.lock().unwrap().stalled {
            return match deadline {
                Some(_) => Err(Error::new(ErrorKind::Timeout, "the client does not read")),
                None => Ok(false),
            };
        }
        self.change(|state| {
            state.body.extend_from_slice(piece);
            state.pieces.push(piece.len());
        })
        .map(|()| true)
    }

    fn finish(&mut self) -> Result<()> {
        self.change(|state| {
            state.finished = true;
            state.on_gone = None;
        })
    }

    fn on_gone(&mut self, callback: Box<dyn FnOnce() + Send>) {
        let mut state = self.0.state.lock().unwrap();
        if state.gone {
            drop(state);
            callback();
        } else {
            state.on_gone = Some(callback);
        }
    }

    fn on_silence(&mut self, _: Duration, callback: Box<dyn FnOnce() + Send>) {
        self.0.state.lock().unwrap().on_silence = Some(callback);
        self.0.changed.notify_all();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap();
        state.dropped = true;
        state.on_gone = None;
        state.on_silence = None;
        self.0.changed.notify_all();
    }
}
