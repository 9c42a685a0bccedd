//! A client that only moves messages: it holds every one that it receives against the JSON Schema of its revision.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mcplink::jsonrpc::RequestId;
use mcplink::protocol::Connection;
use mcplink::schema::ProtocolVersion;
use mcplink::server::Server;
use mcplink::transport::{Limits, Received, SessionMessage, Transport, TransportParts, memory};
use serde_json::{Value, json};

use crate::schema_examples::{problems, validator};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Raw {
    pub(crate) connection: Connection,
    pub(crate) revision: ProtocolVersion,
    halves: TransportParts,
    /// What came while something else was waited for.
    heard: VecDeque<Value>,
    /// Which request each log message was sent for, as the transport learns it.
    pub(crate) logged_for: Vec<Option<RequestId>>,
    sent: i64,
    checks: bool,
    /// The answer to `initialize`, or to `server/discover`.
    pub(crate) greeting: Value,
}

impl Raw {
    /// Connects and opens the conversation as the revision wants it.
    pub(crate) fn open(server: &Server, revision: ProtocolVersion) -> Self {
        let mut raw = Self::silent(server, revision);
        raw.begin();
        raw
    }

    /// The same over another transport, whose other end the connection has.
    #[cfg(unix)]
    pub(crate) fn over(
        revision: ProtocolVersion,
        ours: impl Transport,
        connection: Connection,
    ) -> Self {
        let halves = Box::new(ours).open(&Limits::default()).unwrap();
        let mut raw = Self::on(revision, halves, connection);
        raw.begin();
        raw
    }

    /// Opens the conversation.
    pub(crate) fn begin(&mut self) {
        if self.revision.is_modern() {
            self.greeting = self.result("server/discover", json!({}));
        } else {
            self.initialize();
            self.notify("notifications/initialized", json!({}));
            // The notification has been handled when this is answered or soon after: see `settle`.
        }
    }

    /// Connects and says nothing.
    pub(crate) fn silent(server: &Server, revision: ProtocolVersion) -> Self {
        Self::silent_on(revision, |theirs| server.open(theirs).unwrap())
    }

    /// The same on a connection that the test opens.
    pub(crate) fn silent_on(
        revision: ProtocolVersion,
        open: impl FnOnce(memory::Memory) -> Connection,
    ) -> Self {
        let (ours, theirs) = memory::pair();
        let halves = Box::new(ours).open(&Limits::default()).unwrap();
        Self::on(revision, halves, open(theirs))
    }

    fn on(revision: ProtocolVersion, halves: TransportParts, connection: Connection) -> Self {
        Self {
            connection,
            revision,
            halves,
            heard: VecDeque::new(),
            logged_for: Vec::new(),
            sent: 0,
            checks: true,
            greeting: Value::Null,
        }
    }

    /// Whether messages are held against the schema: too slow for a flood.
    pub(crate) fn check_messages(&mut self, checks: bool) {
        self.checks = checks;
    }

    pub(crate) fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": self.revision.as_str(),
            "capabilities": {},
            "clientInfo": { "name": "raw", "version": "1" },
        });
        self.greeting = self.result("initialize", params);
    }

    pub(crate) fn capabilities(&self) -> &Value {
        &self.greeting["capabilities"]
    }

    /// Sends a request and waits for its result.
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends a request and waits for its refusal.
    pub(crate) fn error(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].clone()
    }

    pub(crate) fn code(&mut self, method: &str, params: Value) -> i64 {
        self.error(method, params)["code"].as_i64().unwrap()
    }

    /// Sends a request and waits for its answer, a result or a refusal.
    pub(crate) fn answer(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let id = json!(self.sent);
        self.request(id.clone(), method, params);
        self.answer_to(&id, Some(method))
    }

    /// Sends a request and does not wait.
    pub(crate) fn request(&mut self, id: Value, method: &str, mut params: Value) {
        if self.revision.is_modern() {
            let meta = params
                .as_object_mut()
                .unwrap()
                .entry("_meta")
                .or_insert(json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!(self.revision.as_str());
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Reads what is left, until the other side has closed; fails when it does not.
    pub(crate) fn reads_to_the_end(&mut self) {
        while let Ok(received) = self.halves.receiver.receive(Some(PATIENCE)) {
            assert!(
                matches!(received, Received::Message(_)),
                "the connection should end: {received:?}"
            );
        }
    }

    pub(crate) fn send(&mut self, message: Value) {
        let mut queue = VecDeque::from([SessionMessage::new(message.to_string().into_bytes())]);
        let deadline = Instant::now() + PATIENCE;
        self.halves.sender.send(&mut queue, deadline).unwrap();
    }

    /// Waits for the answer to a request; what comes before it is kept for [`next`](Self::next).
    pub(crate) fn answer_to(&mut self, id: &Value, method: Option<&str>) -> Value {
        let is_answer = |message: &Value| message.get("method").is_none() && message["id"] == *id;
        let answer = match self.heard.iter().position(is_answer) {
            Some(at) => self.heard.remove(at).unwrap(),
            None => loop {
                let message = self.receive(PATIENCE).expect("an answer");
                if is_answer(&message) {
                    break message;
                }
                self.heard.push_back(message);
            },
        };
        if let (Some(name), Some(result)) = (method.and_then(result_of), answer.get("result")) {
            self.check(name, result);
        }
        answer
    }

    /// The next message that is not an answer waited for elsewhere.
    pub(crate) fn next(&mut self) -> Value {
        let heard = self.heard.pop_front();
        heard.unwrap_or_else(|| self.receive(PATIENCE).expect("a message"))
    }

    /// Makes sure that nothing has come, and that nothing comes that was sent before now.
    pub(crate) fn expect_silence(&mut self) {
        self.settle();
        assert!(self.heard.is_empty(), "{:?}", self.heard);
    }

    /// Waits until everything sent so far has been taken in.
    pub(crate) fn settle(&mut self) {
        let answer = if self.revision.is_modern() {
            self.answer("server/discover", json!({}))
        } else {
            self.answer("ping", json!({}))
        };
        assert!(answer.get("result").is_some(), "{answer}");
    }

    /// Leaves without a word.
    pub(crate) fn hang_up(&self) {
        self.halves.control.close();
    }

    /// How many messages have come while something else was waited for.
    pub(crate) fn heard(&self) -> usize {
        self.heard.len()
    }

    pub(crate) fn receive(&mut self, patience: Duration) -> Option<Value> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            match self.halves.receiver.receive(Some(patience)) {
                Ok(Received::Message(message)) => {
                    let related = message.related;
                    let message: Value = serde_json::from_slice(&message.text).unwrap();
                    if message["method"] == "notifications/message" {
                        self.logged_for.push(related);
                    }
                    if let Some(name) = message["method"].as_str().and_then(notification) {
                        self.check(name, &message);
                    }
                    return Some(message);
                }
                Ok(_) => {}
                Err(_) => return None,
            }
        }
        None
    }

    fn check(&self, name: &str, value: &Value) {
        if !self.checks {
            return;
        }
        let problems = problems(&validator(self.revision, name), value);
        assert!(
            problems.is_empty(),
            "{name} in {}: {problems:?}\n{value}",
            self.revision
        );
    }
}

/// The type of a method's result.
fn result_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "initialize" => "InitializeResult",
        "server/discover" => "DiscoverResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "subscriptions/listen" => "SubscriptionsListenResult",
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => "Result",
        _ => return None,
    })
}

/// The type of a notification.
fn notification(method: &str) -> Option<&'static str> {
    Some(match method {
        "notifications/message" => "LoggingMessageNotification",
        "notifications/progress" => "ProgressNotification",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/tools/list_changed" => "ToolListChangedNotification",
        "notifications/prompts/list_changed" => "PromptListChangedNotification",
        "notifications/resources/list_changed" => "ResourceListChangedNotification",
        "notifications/resources/updated" => "ResourceUpdatedNotification",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
        _ => return None,
    })
}
