//! Conversations with a server, message by message: over stdio, and over HTTP.

use std::collections::VecDeque;
use std::io::{BufReader, Read as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::schema::{ProtocolVersion, read_json};
use mcplink::transport::{Child, Limits, Received, SessionMessage, Transport as _, TransportParts};
use serde_json::{Map, Value, json};
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::{Verdict, client_info, excerpt, excerpt_of};
use crate::interrupt;

/// The largest answer over HTTP, in bytes.
const MAX_BODY: u64 = 32 << 20;
/// The interval at which a wait for a message checks for a signal.
const LOOK: Duration = Duration::from_millis(50);
/// The most pages of a list.
const MAX_PAGES: usize = 1000;

/// One conversation.
pub(super) struct Conn {
    pub(super) revision: ProtocolVersion,
    patience: Duration,
    way: Way,
    last_id: u64,
    /// The result of `initialize` or `server/discover`.
    pub(super) opening: Value,
    /// Whether the server has answered the first request with a result.
    pub(super) is_opened: bool,
    /// Notifications and requests of the server.
    pub(super) others: Vec<Value>,
    /// Lines on standard output that are no messages.
    pub(super) noise: Vec<String>,
}

enum Way {
    Stdio(TransportParts),
    Web(Web),
}

/// A server at a URL.
#[derive(Clone)]
pub(super) struct Web {
    agent: Agent,
    pub(super) url: String,
    fields: Vec<(String, String)>,
    pub(super) session: Option<String>,
}

/// A response of a server over HTTP.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) session: Option<String>,
    pub(super) text: String,
    /// The messages in the body: of JSON, or of the events.
    pub(super) messages: Vec<Value>,
}

impl Web {
    pub(super) fn new(
        url: &str,
        fields: Vec<(String, String)>,
        pem: Option<&[u8]>,
    ) -> Result<Self, String> {
        mcplink::transport::http::Http::new(url).map_err(|error| error.to_string())?;
        if url.to_ascii_lowercase().starts_with("http+unix:") {
            let text = "check can't reach Unix sockets: let the server listen on a port for it";
            return Err(text.to_owned());
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        if let Some(pem) = pem {
            let certificates: Vec<Certificate<'static>> = parse_pem(pem)
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                })
                .collect();
            let tls = TlsConfig::builder().root_certs(RootCerts::from(certificates));
            config = config.tls_config(tls.build());
        }
        Ok(Self {
            agent: config.build().new_agent(),
            url: url.to_owned(),
            fields,
            session: None,
        })
    }

    /// Posts a message. Fields with an empty value are left out.
    pub(super) fn post(
        &self,
        revision: ProtocolVersion,
        message: &Value,
        fields: &[(&str, &str)],
        patience: Duration,
    ) -> Result<Answer, String> {
        let mut all = fields_of(revision, message);
        for (name, value) in fields {
            all.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
            all.push(((*name).to_owned(), (*value).to_owned()));
        }
        let body = message.to_string();
        self.send("POST", Some(&body), &all, message.get("id"), patience)
    }

    /// Whether the server is on this machine.
    pub(super) fn is_local(&self) -> bool {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        authority.starts_with("127.")
            || authority.starts_with("localhost")
            || authority.starts_with("[::1]")
    }

    /// Sends one request, and reads the response until the message with this id, or its end. A
    /// signal ends the wait.
    ///
    /// **Threads.** The exchange has a thread of its own, because no signal interrupts it. After a
    /// signal the thread is not joined: the exchange ends within `patience`, or with the process.
    pub(super) fn send(
        &self,
        method: &str,
        body: Option<&str>,
        fields: &[(String, String)],
        id: Option<&Value>,
        patience: Duration,
    ) -> Result<Answer, String> {
        let (web, method) = (self.clone(), method.to_owned());
        let (body, fields, id) = (body.map(str::to_owned), fields.to_vec(), id.cloned());
        let (answered, wait) = mpsc::channel();
        let waker = answered.clone();
        let _woken = interrupt::token().on_trigger(move || _ = waker.send(Err(interrupted())));
        let exchange = thread::Builder::new().spawn(move || {
            let answer = web.exchange(&method, body.as_deref(), &fields, id.as_ref(), patience);
            // Sending fails if a signal has ended the wait.
            _ = answered.send(answer);
        });
        exchange.map_err(|error| format!("no thread can be started: {error}"))?;
        wait.recv().unwrap_or_else(|_| Err(interrupted()))
    }

    fn exchange(
        &self,
        method: &str,
        body: Option<&str>,
        fields: &[(String, String)],
        id: Option<&Value>,
        patience: Duration,
    ) -> Result<Answer, String> {
        let mut request = ureq::http::Request::builder().method(method).uri(&self.url);
        let session = self.session.iter();
        let session = session.map(|id| ("Mcp-Session-Id".to_owned(), id.clone()));
        let mut all: Vec<(String, String)> = vec![
            (
                "Accept".to_owned(),
                "application/json, text/event-stream".to_owned(),
            ),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        for field in self
            .fields
            .iter()
            .cloned()
            .chain(session)
            .chain(fields.iter().cloned())
        {
            // What a check sends takes the place of what is usual.
            all.retain(|(name, _)| !name.eq_ignore_ascii_case(&field.0));
            all.push(field);
        }
        for (name, value) in all.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(name, value);
        }
        let unreachable = |error: ureq::Error| format!("the server can't be reached: {error}");
        let agent = &self.agent;
        let run = |request| {
            let request = agent.configure_request(request);
            request.timeout_global(Some(patience)).build()
        };
        let wrong = |error: ureq::http::Error| format!("the request can't be sent: {error}");
        let response = match body {
            Some(body) => {
                let request = request.body(body.to_owned()).map_err(wrong)?;
                agent.run(run(request))
            }
            None => {
                let request = request.body(()).map_err(wrong)?;
                let request = agent.configure_request(request);
                agent.run(request.timeout_global(Some(patience)).build())
            }
        };
        let mut response = response.map_err(unreachable)?;
        let field = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().unwrap_or("(no text)").to_owned())
        };
        let content_type = field("content-type").unwrap_or_default();
        let mut answer = Answer {
            status: response.status().as_u16(),
            session: field("mcp-session-id"),
            text: String::new(),
            messages: Vec::new(),
            content_type,
        };
        let reader = response.body_mut().as_reader();
        if answer.content_type.starts_with("text/event-stream") {
            // A stream without an end is no failure of its own: the check looks at the messages.
            answer.read_events(BufReader::new(reader.take(MAX_BODY)), id);
        } else {
            let mut bytes = Vec::new();
            // A body that breaks off is seen as incomplete JSON.
            _ = reader.take(MAX_BODY).read_to_end(&mut bytes);
            answer.text = String::from_utf8_lossy(&bytes).into_owned();
            match read_json(&answer.text) {
                Ok(Value::Array(messages)) => answer.messages = messages,
                Ok(message) => answer.messages.push(message),
                Err(_) => {}
            }
        }
        Ok(answer)
    }
}

impl Answer {
    fn read_events(&mut self, reader: impl std::io::BufRead, id: Option<&Value>) {
        let mut data = String::new();
        for line in reader.lines() {
            let Ok(line) = line else {
                return;
            };
            self.text.push_str(&line);
            self.text.push('\n');
            if let Some(part) = line.strip_prefix("data:") {
                data.push_str(part.strip_prefix(' ').unwrap_or(part));
                data.push('\n');
            } else if line.is_empty() && !data.is_empty() {
                if let Ok(message) = read_json::<Value>(&data) {
                    let is_last = id.is_some() && is_response(&message, id);
                    self.messages.push(message);
                    if is_last {
                        return;
                    }
                }
                data.clear();
            }
        }
    }
}

/// Returns the header fields that a revision requires for a message.
fn fields_of(revision: ProtocolVersion, message: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut add = |name: &str, value: &str| fields.push((name.to_owned(), value.to_owned()));
    let method = message["method"].as_str().unwrap_or_default();
    if revision.is_modern() || method != "initialize" {
        add("MCP-Protocol-Version", revision.as_str());
    }
    if revision.is_modern() && !method.is_empty() {
        add("Mcp-Method", method);
        let name = match method {
            "resources/read" => message["params"]["uri"].as_str(),
            "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
            _ => None,
        };
        if let Some(name) = name {
            add("Mcp-Name", name);
        }
    }
    fields
}

/// Whether a message is the response with this id.
fn is_response(message: &Value, id: Option<&Value>) -> bool {
    message.get("method").is_none() && message.get("id") == id
}

impl Conn {
    pub(super) fn start(
        child: &Child,
        revision: ProtocolVersion,
        patience: Duration,
    ) -> Result<Self, Verdict> {
        let child = Box::new(child.clone());
        let parts = child.open(&Limits::default());
        let parts = parts.map_err(|error| format!("the server can't be started: {error:#}"))?;
        Ok(Self::over(Way::Stdio(parts), revision, patience))
    }

    pub(super) fn web(web: Web, revision: ProtocolVersion, patience: Duration) -> Self {
        Self::over(Way::Web(web), revision, patience)
    }

    fn over(way: Way, revision: ProtocolVersion, patience: Duration) -> Self {
        Self {
            revision,
            patience,
            way,
            last_id: 0,
            opening: Value::Null,
            is_opened: false,
            others: Vec::new(),
            noise: Vec::new(),
        }
    }

    /// Begins another check on this connection.
    pub(super) fn begin(&mut self, patience: Duration) {
        self.patience = patience;
        self.others.clear();
        self.noise.clear();
    }

    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    pub(super) fn is_web(&self) -> bool {
        matches!(self.way, Way::Web(_))
    }

    /// Returns the HTTP side of the conversation, with its session.
    pub(super) fn as_web(&self) -> Option<&Web> {
        match &self.way {
            Way::Web(web) => Some(web),
            Way::Stdio(_) => None,
        }
    }

    /// Ends the conversation: a child process sees the end of its input.
    pub(super) fn close(self) {
        match self.way {
            Way::Stdio(parts) => parts.control.close(),
            Way::Web(web) if web.session.is_some() => {
                // A server need not let clients end sessions. The request is sent after a signal
                // too.
                _ = web.exchange("DELETE", None, &[], None, Duration::from_secs(2));
            }
            Way::Web(_) => {}
        }
    }

    /// Says `initialize` in a legacy revision; asks for the capabilities in a modern one.
    pub(super) fn initialize(&mut self) -> Result<(), Verdict> {
        if self.revision.is_modern() {
            let response = self.request("server/discover", json!({}))?;
            self.is_opened = response.get("result").is_some();
            self.opening = result_of("server/discover", &response)?.clone();
            return Ok(());
        }
        let response = self.request("initialize", initialize_params(self.revision.as_str()))?;
        self.is_opened = response.get("result").is_some();
        let result = result_of("initialize", &response)?;
        let spoken = result["protocolVersion"].as_str().unwrap_or_default();
        let revision = spoken.parse();
        self.revision = revision.map_err(|_| {
            let spoken = excerpt(spoken);
            format!("initialize is answered with the unknown revision '{spoken}'")
        })?;
        self.opening = result.clone();
        self.notify("notifications/initialized", json!({}))?;
        Ok(())
    }

    /// Asks a modern server what it supports.
    pub(super) fn discover(&mut self) -> Result<Value, Verdict> {
        let response = self.request("server/discover", json!({}))?;
        Ok(result_of("server/discover", &response)?.clone())
    }

    pub(super) fn capabilities(&self) -> Map<String, Value> {
        let capabilities = self.opening["capabilities"].as_object();
        capabilities.cloned().unwrap_or_default()
    }

    /// Returns all items of a list, such as `tools`.
    pub(super) fn list(&mut self, name: &str) -> Result<Vec<Value>, Verdict> {
        let mut items = Vec::new();
        let mut cursor = Value::Null;
        for _ in 0..MAX_PAGES {
            let mut params = json!({});
            if !cursor.is_null() {
                params["cursor"] = cursor.clone();
            }
            let method = format!("{name}/list");
            let response = self.request(&method, params)?;
            let result = result_of(&method, &response)?;
            let Some(page) = result[name].as_array() else {
                let text = format!("the result of {method} has no array '{name}'");
                return Err(text.into());
            };
            items.extend(page.iter().cloned());
            match &result["nextCursor"] {
                Value::Null => return Ok(items),
                next if *next == cursor => {
                    return Err(format!("{method} gives the same cursor again").into());
                }
                next => cursor = next.clone(),
            }
        }
        Err(format!("{name}/list has more than {MAX_PAGES} pages").into())
    }

    /// Makes the members that each request of this conversation has.
    fn with_meta(&self, mut params: Value) -> Value {
        if self.revision.is_modern() && params.is_object() && params.get("_meta").is_none() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision.as_str(),
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": client_info(),
            });
        }
        params
    }

    pub(super) fn next_id(&mut self) -> Value {
        self.last_id += 1;
        json!(self.last_id)
    }

    /// Sends a request, and waits for its response.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value, Verdict> {
        let id = self.next_id();
        self.request_as(id, method, params)
    }

    /// Makes a request.
    pub(super) fn message(&self, id: &Value, method: &str, params: Value) -> Value {
        let params = self.with_meta(params);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    /// Sends a request with an id of its own.
    pub(super) fn request_as(
        &mut self,
        id: Value,
        method: &str,
        params: Value,
    ) -> Result<Value, Verdict> {
        let message = self.message(&id, method, params);
        let response = self.exchange(&message, Some(&id));
        response.map_err(|why| Verdict::Failed(format!("{method}: {why}")))
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) -> Result<(), Verdict> {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        match &self.way {
            Way::Stdio(_) => self.send_text(&message.to_string())?,
            Way::Web(_) => {
                let answer = self.post(&message, &[])?;
                if answer.status >= 300 {
                    let status = answer.status;
                    return Err(format!("{method} is answered with status {status}").into());
                }
            }
        }
        Ok(())
    }

    /// Sends a request without waiting, over stdio.
    pub(super) fn send_request(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Result<(), Verdict> {
        let message = self.message(id, method, params);
        Ok(self.send_text(&message.to_string())?)
    }

    /// Sends a line, over stdio.
    pub(super) fn send_text(&mut self, text: &str) -> Result<(), String> {
        let Way::Stdio(parts) = &mut self.way else {
            return Err("the server has no standard input".to_owned());
        };
        let mut queue = VecDeque::from([SessionMessage::new(text.as_bytes().to_vec())]);
        let deadline = Instant::now() + self.patience;
        let sent = parts.sender.send(&mut queue, deadline);
        sent.map_err(|error| format!("the server does not read: {error}"))
    }

    /// Posts a message, over HTTP. Fields with an empty value are left out.
    pub(super) fn post(&self, message: &Value, fields: &[(&str, &str)]) -> Result<Answer, String> {
        let Way::Web(web) = &self.way else {
            return Err("the server is not reached over HTTP".to_owned());
        };
        web.post(self.revision, message, fields, self.patience)
    }
    /// Sends a message, and waits for the response with this id.
    fn exchange(&mut self, message: &Value, id: Option<&Value>) -> Result<Value, String> {
        if !self.is_web() {
            self.send_text(&message.to_string())?;
            let deadline = Instant::now() + self.patience;
            loop {
                let message = self.receive(deadline)?;
                let Some(message) = message else {
                    let seconds = self.patience.as_secs_f64();
                    return Err(format!("no response within {seconds} s"));
                };
                if is_response(&message, id) {
                    return Ok(message);
                }
                self.others.push(message);
            }
        }
        let answer = self.post(message, &[])?;
        if let (Way::Web(web), Some(session)) = (&mut self.way, answer.session)
            && web.session.is_none()
        {
            web.session = Some(session);
        }
        for message in answer.messages {
            if is_response(&message, id) {
                return Ok(message);
            }
            self.others.push(message);
        }
        let (status, text) = (answer.status, excerpt(&answer.text));
        Err(format!(
            "no response with its id, but status {status}: {text}"
        ))
    }

    /// Waits for a message over stdio; `None` when the deadline passes. A signal ends the wait. A
    /// request of the server is answered.
    pub(super) fn receive(&mut self, deadline: Instant) -> Result<Option<Value>, String> {
        loop {
            if interrupt::has_come() {
                return Err(interrupted());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let Way::Stdio(parts) = &mut self.way else {
                return Err("the server has no standard output".to_owned());
            };
            let text = match parts.receiver.receive(Some(left.min(LOOK))) {
                Ok(Received::Message(message)) => message.text,
                Ok(Received::TooLong(_)) => {
                    return Err("a message is longer than 16 MiB".to_owned());
                }
                Ok(_) => continue,
                Err(error) if error.kind() == ErrorKind::Closed => {
                    return Err(format!("the server has ended: {error:#}"));
                }
                Err(error) => return Err(format!("the server can't be read: {error:#}")),
            };
            let message = str::from_utf8(&text)
                .ok()
                .and_then(|text| read_json::<Value>(text).ok());
            let Some(message) = message.filter(|message| message["jsonrpc"] == "2.0") else {
                self.noise.push(excerpt(&String::from_utf8_lossy(&text)));
                continue;
            };
            if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
                let answer = match method {
                    "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
                    _ => json!({
                        "jsonrpc": "2.0", "id": id,
                        "error": { "code": -32601, "message": "not supported by this check" },
                    }),
                };
                self.send_text(&answer.to_string())?;
            }
            return Ok(Some(message));
        }
    }
}

fn interrupted() -> String {
    "interrupted".to_owned()
}

pub(super) fn initialize_params(revision: &str) -> Value {
    json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client_info() })
}

/// Returns the result of a response, or the failure that it is an error.
pub(super) fn result_of<'a>(method: &str, response: &'a Value) -> Result<&'a Value, Verdict> {
    match response.get("result") {
        Some(result) if result.is_object() => Ok(result),
        Some(_) => Err(format!("the result of {method} is no object").into()),
        None => Err(format!("{method} is refused: {}", refusal(response)?).into()),
    }
}

/// Returns the error of a response as text. An error that is not of the form that the specification
/// gives it is a failure.
pub(super) fn refusal(response: &Value) -> Result<String, Verdict> {
    let error = &response["error"];
    let text = excerpt_of(error);
    if error["code"].is_i64() && error["message"].is_string() {
        return Ok(text);
    }
    Err(format!("expected an error with an integer code and a message: {text}").into())
}

/// Returns the code of an error response; `None` for a result.
pub(super) fn code_of(response: &Value) -> Option<i64> {
    response["error"]["code"].as_i64()
}
