//! A client of any revision, played by hand against a server under test.

use mcplink::protocol::Connection;
use mcplink::schema::ProtocolVersion;
use mcplink::server::Server;
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::common::Script;

pub(crate) struct PlayedClient {
    pub(crate) script: Script,
    pub(crate) serving: Connection,
    revision: ProtocolVersion,
    capabilities: Value,
    last_id: u64,
}

/// Connects a client that declares `capabilities`.
pub(crate) fn play_client(
    server: &Server,
    revision: ProtocolVersion,
    capabilities: Value,
) -> PlayedClient {
    let (ours, theirs) = memory::pair();
    let serving = server.open(ours).unwrap();
    play_on(serving, Script::open(theirs), revision, capabilities)
}

/// The same on a connection that is there already.
pub(crate) fn play_on(
    serving: Connection,
    mut script: Script,
    revision: ProtocolVersion,
    capabilities: Value,
) -> PlayedClient {
    if revision.is_legacy() {
        let params = json!({
            "protocolVersion": revision, "capabilities": capabilities,
            "clientInfo": { "name": "played", "version": "1" },
        });
        script.request_with("open", "initialize", &params);
        assert_eq!(
            script.receive()["result"]["protocolVersion"],
            json!(revision)
        );
        script.notify("notifications/initialized", &json!({}));
    }
    PlayedClient {
        script,
        serving,
        revision,
        capabilities,
        last_id: 0,
    }
}

impl PlayedClient {
    /// Sends a request in the words of the revision. Returns its id.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.last_id += 1;
        if self.revision.is_modern() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        self.script.request_with(self.last_id, method, &params);
        self.last_id
    }

    /// Calls a tool and returns what comes next: the answer, or a question of the legacy era.
    pub(crate) fn call(&mut self, tool: &str) -> Value {
        self.request("tools/call", json!({ "name": tool }));
        self.script.receive()
    }

    /// Calls a tool and returns its one question, as `{method, params}`, whatever the era.
    pub(crate) fn question_of(&mut self, tool: &str) -> Value {
        let message = self.call(tool);
        if self.revision.is_legacy() {
            assert!(message.get("id").is_some(), "{message}");
            return json!({ "method": message["method"], "params": message["params"] });
        }
        let requests = message["result"]["inputRequests"].as_object();
        let requests = requests.unwrap_or_else(|| panic!("no question: {message}"));
        assert_eq!(requests.len(), 1, "{message}");
        requests.values().next().unwrap().clone()
    }

    /// Sends the call again with answers and the state of a result that asked.
    pub(crate) fn retry(&mut self, tool: &str, asked: &Value, answers: Value) -> Value {
        let params = json!({
            "name": tool, "inputResponses": answers, "requestState": asked["result"]["requestState"],
        });
        self.request("tools/call", params);
        self.script.receive()
    }
}
