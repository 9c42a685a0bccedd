//! A server at the other end of a client in memory, played by the test message by message.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::client::{Client, ClientBuilder};
use mcplink::schema::ProtocolVersion;
use mcplink::transport::{Limits, Received, SessionMessage, Transport, TransportParts, memory};
use serde_json::{Value, json};

/// Bounds every wait that is expected to be short.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) struct RawServer(TransportParts);

/// Connects to a server that speaks `revision` and advertises `capabilities`.
pub(crate) fn connect(revision: ProtocolVersion, capabilities: &Value) -> (Client, RawServer) {
    connect_with(Client::builder("test", "1"), revision, capabilities)
}

pub(crate) fn connect_with(
    builder: ClientBuilder,
    revision: ProtocolVersion,
    capabilities: &Value,
) -> (Client, RawServer) {
    let (here, there) = memory::pair();
    connect_over(here, there, builder, revision, capabilities, &raw_info())
}

/// Connects over a transport of the test's own to a server that says `info` of itself.
pub(crate) fn connect_over(
    here: impl Transport + 'static,
    there: impl Transport,
    builder: ClientBuilder,
    revision: ProtocolVersion,
    capabilities: &Value,
    info: &Value,
) -> (Client, RawServer) {
    let mut server = RawServer::open(there);
    let connecting = thread::spawn(move || builder.revisions(&[revision]).connect(here).unwrap());
    server.open_saying(revision, capabilities, info);
    (connecting.join().unwrap(), server)
}

fn raw_info() -> Value {
    json!({ "name": "raw", "version": "1" })
}

impl RawServer {
    pub(crate) fn open(transport: impl Transport) -> Self {
        Self(Box::new(transport).open(&Limits::default()).unwrap())
    }

    /// Opens the conversation as a server that speaks only this revision.
    pub(crate) fn open_as(&mut self, revision: ProtocolVersion, capabilities: &Value) {
        self.open_saying(revision, capabilities, &raw_info());
    }

    /// The same for a server that says `info` of itself.
    pub(crate) fn open_saying(
        &mut self,
        revision: ProtocolVersion,
        capabilities: &Value,
        info: &Value,
    ) {
        let opening = self.receive();
        if revision.is_modern() {
            assert_eq!(opening["method"], "server/discover", "{opening}");
            let result = json!({
                "resultType": "complete", "supportedVersions": [revision], "capabilities": capabilities,
                "ttlMs": 0, "cacheScope": "private", "_meta": { "io.modelcontextprotocol/serverInfo": info },
            });
            self.answer(&opening, result);
        } else {
            assert_eq!(opening["method"], "initialize", "{opening}");
            let result = json!({ "protocolVersion": revision, "capabilities": capabilities, "serverInfo": info });
            self.answer(&opening, result);
            assert_eq!(self.receive()["method"], "notifications/initialized");
        }
    }

    pub(crate) fn receive(&mut self) -> Value {
        self.receive_within(LONG).expect("a message in time")
    }

    pub(crate) fn receive_within(&mut self, time: Duration) -> Option<Value> {
        match self.0.receiver.receive(Some(time)).unwrap() {
            Received::Message(message) => Some(serde_json::from_slice(&message.text).unwrap()),
            Received::Nothing => None,
            other => panic!("expected a message: {other:?}"),
        }
    }

    /// The next message, or `None` when the client has closed.
    pub(crate) fn next(&mut self) -> Option<Value> {
        match self.0.receiver.receive(Some(LONG)) {
            Ok(Received::Message(message)) => Some(serde_json::from_slice(&message.text).unwrap()),
            Ok(other) => panic!("expected a message or the end: {other:?}"),
            Err(_) => None,
        }
    }

    /// Receives a request of this method.
    pub(crate) fn asked(&mut self, method: &str) -> Value {
        let request = self.receive();
        assert_eq!(request["method"], method, "{request}");
        request
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    /// Sends a text as it is.
    pub(crate) fn send_text(&mut self, text: &str) {
        let mut queue = VecDeque::from([SessionMessage::new(text.into())]);
        self.0
            .sender
            .send(&mut queue, Instant::now() + LONG)
            .unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(crate) fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    pub(crate) fn refuse(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }));
    }

    /// Plays the server while a client calls.
    pub(crate) fn serve<T>(
        &mut self,
        call: impl FnOnce() -> T,
        play: impl FnOnce(&mut Self) + Send,
    ) -> T {
        thread::scope(|scope| {
            let playing = scope.spawn(|| play(self));
            let outcome = call();
            playing.join().unwrap();
            outcome
        })
    }

    /// Checks that nothing was sent: a request that follows is the next thing to come.
    pub(crate) fn has_heard_nothing(&mut self, client: &Client) {
        self.serve(
            || {
                client
                    .request(
                        "test/next",
                        &(),
                        mcplink::client::CallOptions::new().timeout(LONG),
                    )
                    .unwrap()
            },
            |server| {
                let request = server.asked("test/next");
                server.answer(&request, json!({ "resultType": "complete" }));
            },
        );
    }
}
