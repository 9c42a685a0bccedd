//! A server that says what it is told, against a real client.

use std::sync::mpsc;
use std::thread;

use mcplink::schema::ProtocolVersion;
use mcplink::transport::memory::{self, Memory};
use serde_json::{Value, json};

use super::{LONG, Wire, check};

/// What a script that runs on a thread of its own will have found.
#[derive(Debug)]
pub(crate) struct Scripted<T>(mpsc::Receiver<T>, thread::JoinHandle<()>);

impl<T> Scripted<T> {
    /// Waits for the script to end.
    pub(crate) fn end(self) -> T {
        match self.0.recv_timeout(LONG) {
            Ok(found) => found,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the script did not end in time"),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                std::panic::resume_unwind(self.1.join().unwrap_err())
            }
        }
    }
}

/// Runs a script as the server of the transport that is returned.
pub(crate) fn script<T: Send + 'static>(
    script: impl FnOnce(&mut ScriptedServer) -> T + Send + 'static,
) -> (Memory, Scripted<T>) {
    let (theirs, ours) = memory::pair();
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let mut server = ScriptedServer {
            wire: Wire::open(ours),
            agreed: None,
        };
        let found = script(&mut server);
        drop(server);
        drop(sender.send(found));
    });
    (theirs, Scripted(receiver, thread))
}

/// A server at the other end of a client.
#[derive(Debug)]
pub(crate) struct ScriptedServer {
    wire: Wire,
    agreed: Option<ProtocolVersion>,
}

impl ScriptedServer {
    /// The next message, which fits the schema of its revision; `None` when the client has gone.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let text = self.wire.receive()?;
        let message: Value = serde_json::from_str(&text).unwrap();
        // M-STDIO-C-05, L-STDIO-C-06: all of it is messages; M-STDIO-C-06, M-PAT-S-01: none of them is a response, in the modern era.
        let revision = match message["method"].as_str() {
            None => {
                let agreed = self.agreed.expect("no response in the modern era");
                check::answer(agreed, "", &message);
                return Some(message);
            }
            Some("initialize") => message["params"]["protocolVersion"]
                .as_str()
                .and_then(|version| version.parse().ok())
                .expect("a revision that is known"),
            Some("notifications/initialized") => {
                self.agreed.expect("initialize was answered before this")
            }
            Some(_) => self.agreed.unwrap_or(ProtocolVersion::LATEST),
        };
        check::call(revision, &message);
        if revision.is_modern() && message.get("id").is_some() {
            // M-META-C-07
            let meta = &message["params"]["_meta"];
            assert_eq!(
                meta["io.modelcontextprotocol/protocolVersion"],
                "2026-07-28"
            );
            assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
        }
        Some(message)
    }

    /// The next message, which has to be of this method.
    pub(crate) fn expect(&mut self, method: &str) -> Value {
        let message = self.next().expect("the client is still there");
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// The next message as it came, whatever it is.
    pub(crate) fn next_unchecked(&mut self) -> String {
        self.wire.receive().expect("the client is still there")
    }

    /// Takes note of a revision that a script agrees on by itself.
    pub(crate) fn agreed_on(&mut self, revision: ProtocolVersion) {
        self.agreed = Some(revision);
    }

    /// The client says nothing more and leaves.
    pub(crate) fn expect_end(&mut self) {
        let next = self.next();
        assert!(next.is_none(), "the client should have left: {next:?}");
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.wire.send(text);
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.wire.send(&message.to_string());
    }

    /// Answers with a result.
    pub(crate) fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// Answers with an error.
    pub(crate) fn refuse(&mut self, request: &Value, error: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }));
    }

    /// Answers the probe as a modern server that has tools.
    pub(crate) fn open_modern(&mut self) -> Value {
        let probe = self.expect("server/discover");
        self.answer(&probe, discovered(&["2026-07-28"]));
        probe
    }

    /// Answers `initialize`, which has to come next, as a server that has tools.
    pub(crate) fn agree(&mut self, revision: ProtocolVersion) -> Value {
        let request = self.expect("initialize");
        self.agreed = Some(revision);
        self.answer(&request, initialized(revision.as_str()));
        request
    }

    /// Refuses the probe, and opens the conversation as the legacy era does.
    pub(crate) fn open_legacy(&mut self, revision: ProtocolVersion) {
        let probe = self.expect("server/discover");
        self.refuse(
            &probe,
            json!({ "code": -32601, "message": "method not found" }),
        );
        self.agree(revision);
        self.expect("notifications/initialized");
    }
}

/// A result of `server/discover`.
pub(crate) fn discovered(versions: &[&str]) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": { "tools": {} },
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "scripted", "version": "1" } },
    })
}

/// A result of `initialize`.
pub(crate) fn initialized(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "scripted", "version": "1" },
    })
}
