//! A client that says what it is told, against a real server.

use std::collections::HashMap;

use mcplink::protocol::Connection;
use mcplink::schema::ProtocolVersion;
use mcplink::server::Server;
use mcplink::transport::memory;
use serde_json::{Value, json};

use super::{Wire, check, modern};

/// A client at the other end of a [`Server`].
#[derive(Debug)]
pub(crate) struct ScriptedClient {
    wire: Wire,
    /// What was asked and in which revision, by the id as it was written.
    asked: HashMap<String, (String, ProtocolVersion)>,
    agreed: Option<ProtocolVersion>,
    last_id: u64,
    pub(crate) connection: Connection,
}

impl ScriptedClient {
    /// Connects to a server, and says nothing yet.
    pub(crate) fn of(server: &Server) -> Self {
        let (here, there) = memory::pair();
        Self {
            wire: Wire::open(here),
            asked: HashMap::new(),
            agreed: None,
            last_id: 0,
            connection: server.open(there).unwrap(),
        }
    }

    /// Connects and opens the conversation as the legacy era does.
    pub(crate) fn legacy(server: &Server, revision: ProtocolVersion) -> Self {
        let mut client = Self::of(server);
        let result = client.initialize(revision.as_str());
        assert_eq!(result["result"]["protocolVersion"], revision.as_str());
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Connects; in the legacy era, it opens the conversation.
    pub(crate) fn speaking(server: &Server, revision: ProtocolVersion) -> Self {
        if revision.is_modern() {
            Self::of(server)
        } else {
            Self::legacy(server, revision)
        }
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        self.ask("initialize", initialize(version))
    }

    /// Sends a text as it is. Whoever sends a request this way says how its answer has to be checked.
    pub(crate) fn send_text(&mut self, text: &str) {
        self.wire.send(text);
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &Value) {
        self.note(message);
        self.wire.send(&message.to_string());
    }

    /// Sends several in one array.
    pub(crate) fn send_batch(&mut self, members: &[Value]) {
        members.iter().for_each(|member| self.note(member));
        self.wire.send(&Value::from(members).to_string());
    }

    fn note(&mut self, message: &Value) {
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            return;
        };
        let named = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let revision = match self.agreed {
            _ if named.is_string() => ProtocolVersion::LATEST,
            Some(agreed) => agreed,
            None => ProtocolVersion::LATEST_LEGACY,
        };
        let asked = (method.to_owned(), revision);
        self.asked.insert(id.to_string(), asked);
    }

    /// Sends a request with an id of its own, which is returned.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and gives its answer, which has to be the next message.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The same with the envelope of the modern era.
    pub(crate) fn ask_modern(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, modern(params))
    }

    /// Asks with the envelope of the era that this client speaks.
    pub(crate) fn ask_fitting(&mut self, method: &str, params: Value) -> Value {
        if self.agreed.is_some() {
            self.ask(method, params)
        } else {
            self.ask_modern(method, params)
        }
    }

    /// Calls a tool in the era that this client speaks, and gives the whole answer.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        self.ask_fitting("tools/call", params)
    }

    /// The error code of an answer to a text that is sent as it is.
    pub(crate) fn refused(&mut self, text: &str) -> (Value, i64) {
        self.send_text(text);
        let answer = self.receive();
        let code = answer["error"]["code"].as_i64().expect("an error");
        (answer, code)
    }

    /// The next message; it fits the schema of its revision.
    pub(crate) fn receive(&mut self) -> Value {
        self.receive_text().1
    }

    /// The same with its text.
    pub(crate) fn receive_text(&mut self) -> (String, Value) {
        let text = self.wire.receive().expect("the server is still there");
        let message: Value = serde_json::from_str(&text).unwrap();
        match &message {
            Value::Array(members) => {
                assert_eq!(self.agreed, Some(ProtocolVersion::V2025_03_26));
                check::fits(
                    ProtocolVersion::V2025_03_26,
                    "JSONRPCBatchResponse",
                    &message,
                );
                members.iter().for_each(|member| self.check(member));
            }
            _ => self.check(&message),
        }
        (text, message)
    }

    /// The next message, whatever it is.
    pub(crate) fn receive_unchecked(&mut self) -> Value {
        let text = self.wire.receive().expect("the server is still there");
        serde_json::from_str(&text).unwrap()
    }

    fn check(&mut self, message: &Value) {
        let current = self.agreed.unwrap_or(ProtocolVersion::LATEST);
        if message.get("method").is_some() {
            // M-PAT-S-01, M-STDIO-S-07, M-CANC-S-03: no requests, and nothing to cancel.
            assert!(message.get("id").is_none(), "{message}");
            assert_eq!(message["method"], "notifications/progress", "{message}");
            return check::call(current, message);
        }
        let asked = message.get("id").map(Value::to_string);
        let asked = asked.and_then(|id| self.asked.remove(&id));
        let Some((method, revision)) = asked else {
            return check::answer(current, "", message);
        };
        let version = message["result"]["protocolVersion"].as_str();
        match version.and_then(|version| version.parse().ok()) {
            Some(version) if method == "initialize" => {
                self.agreed = Some(version);
                check::answer(version, &method, message);
            }
            _ => check::answer(revision, &method, message),
        }
    }

    /// Makes sure that nothing is on its way: what comes next is the answer to what is asked now.
    pub(crate) fn expect_silence(&mut self) {
        let answer = match self.agreed {
            Some(_) => self.ask("ping", json!({})),
            None => self.ask_modern("server/discover", json!({})),
        };
        assert!(answer.get("result").is_some(), "{answer}");
    }

    /// Says that it will say no more, and waits for the server to end the connection.
    pub(crate) fn leave(self) {
        drop(self.wire);
        super::in_time(move || self.connection.wait());
    }
}

/// The params of `initialize`.
pub(crate) fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "scripted", "version": "1" },
    })
}
