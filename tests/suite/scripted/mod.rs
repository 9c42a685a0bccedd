//! Peers that do exactly what a test says: one end of a connection, opened by hand, that sends text and receives with a deadline.
//!
//! Whatever the library sends to one of them is held against the JSON Schema of its revision, see `check`.

pub(crate) mod check;
mod client;
mod server;

use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use mcplink::client::{Client, ClientBuilder};
use mcplink::schema::{JsonSchema, Tool};
use mcplink::server::{Context, Server, ServerBuilder};
use mcplink::transport::memory::Memory;
use mcplink::transport::{Limits, Received, SessionMessage, Transport, TransportParts};
use serde_json::{Value, json};

pub(crate) use self::client::{ScriptedClient, initialize};
pub(crate) use self::server::{Scripted, ScriptedServer, discovered, initialized, script};

/// Bounds every wait that is expected to be short.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Wire(TransportParts);

impl Wire {
    pub(crate) fn open(end: Memory) -> Self {
        Self(Box::new(end).open(&Limits::default()).unwrap())
    }

    /// Sends a text as it is; whether the other side is still there is not the sender's business.
    pub(crate) fn send(&mut self, text: &str) {
        let mut queue = VecDeque::from([SessionMessage::new(text.into())]);
        drop(self.0.sender.send(&mut queue, Instant::now() + LONG));
    }

    /// The next message, or `None` when the other side has closed.
    pub(crate) fn receive(&mut self) -> Option<String> {
        match self.0.receiver.receive(Some(LONG)) {
            Ok(Received::Message(message)) => {
                let text = String::from_utf8(message.text).expect("UTF-8");
                // M-STDIO-B-01, L-STDIO-B-03: whatever it says, it is one line.
                assert!(!text.contains(['\n', '\r']), "a line break in {text}");
                Some(text)
            }
            Ok(other) => panic!("expected a message or the end within {LONG:?}: {other:?}"),
            Err(_) => None,
        }
    }
}

/// A server with the tool `greet`, which takes a name.
pub(crate) fn greeter() -> ServerBuilder {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
    let tool = Tool::new("greet").input_schema(JsonSchema::parse(schema).unwrap());
    Server::builder("greeter", "1.0").tool_with_schema(tool, |args: Greeting, _: &Context| {
        format!("Hello, {}!", args.name)
    })
}

#[derive(serde::Deserialize)]
struct Greeting {
    name: String,
}

/// The `_meta` of a modern request.
pub(crate) fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "scripted", "version": "1" },
    })
}

/// `params` with the `_meta` of a modern request.
pub(crate) fn modern(mut params: Value) -> Value {
    let mut meta = modern_meta();
    if let Some(Value::Object(own)) = params.get("_meta") {
        meta.as_object_mut().unwrap().extend(own.clone());
    }
    params["_meta"] = meta;
    params
}

/// Connects, with a bound.
pub(crate) fn connect(
    client: ClientBuilder,
    transport: impl Transport + 'static,
) -> mcplink::Result<Client> {
    in_time(move || client.connect(transport))
}

/// A client with a name.
pub(crate) fn asker() -> ClientBuilder {
    Client::builder("asker", "1.0")
}

/// Waits for a value that another thread sends.
pub(crate) fn take<T>(receiver: &mpsc::Receiver<T>) -> T {
    receiver
        .recv_timeout(LONG)
        .expect("another thread says so in time")
}

/// Calls a function on a thread of its own, and gives up on it when it takes too long.
pub(crate) fn in_time<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let value = call();
        drop(sender.send(value));
    });
    match receiver.recv_timeout(LONG) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it took longer than {LONG:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
    }
}
