//! Recording a connection and playing it back to each side.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::protocol::Connection;
use mcplink::schema::{ProtocolVersion, Tool};
use mcplink::server::Server;
use mcplink::transport::{Transport, memory};
use mcplink::{ErrorKind, Result};
use mcplink_testing::trace::{Recorder, Replay};
use serde_json::{Value, json};

use crate::common::{LONG, within};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn server() -> Server {
    let tool = |args: Value, _: &_| args["say"].as_str().unwrap_or_default().to_owned();
    let builder = Server::builder("echo", "1.0");
    builder.tool_with(Tool::new("echo"), tool).build().unwrap()
}

fn connect(transport: impl Transport + 'static, revision: ProtocolVersion) -> Result<Client> {
    let builder = Client::builder("test", "1.0").revisions(&[revision]);
    builder.connect(transport)
}

/// What is recorded on one side, and what each test does.
fn record(revision: ProtocolVersion, on_the_server: bool) -> String {
    let buffer = Buffer::default();
    let recorder = Recorder::new(buffer.clone());
    let (here, there) = memory::pair();
    let (serving, client): (Connection, Client) = if on_the_server {
        let serving = server().open(recorder.tap(there)).unwrap();
        (serving, connect(here, revision).unwrap())
    } else {
        let serving = server().open(there).unwrap();
        (serving, connect(recorder.tap(here), revision).unwrap())
    };
    assert_eq!(say(&client, "one").unwrap(), "one");
    client.list_tools().unwrap();
    client.close();
    serving.close();
    recorder.finish().unwrap();
    buffer.text()
}

fn say(client: &Client, what: &str) -> Result<String> {
    let result = client.call_tool("echo", &json!({"say": what}))?;
    Ok(result.content[0].as_text().unwrap().to_owned())
}

const REVISIONS: [ProtocolVersion; 2] =
    [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

#[test]
fn a_client_sees_the_recorded_server_again() {
    for revision in REVISIONS {
        let trace = record(revision, false);
        let replay = Replay::read(&trace).unwrap();
        let played = replay.played();
        let client = connect(replay, revision).unwrap();
        assert_eq!(say(&client, "params are not compared").unwrap(), "one");
        assert!(played.finish().is_err());
        assert_eq!(client.list_tools().unwrap()[0].name, "echo");
        played.finish().unwrap();
        within(LONG, move || client.close());
    }
}

#[test]
fn a_server_sees_the_recorded_client_again() {
    for revision in REVISIONS {
        let replay = Replay::read(&record(revision, true)).unwrap();
        let played = replay.played();
        let serving = server().open(replay).unwrap();
        played.wait(LONG).unwrap();
        serving.close();
    }
}

#[test]
fn ids_may_be_others_than_in_the_trace() {
    let trace = record(ProtocolVersion::V2026_07_28, false);
    let trace = trace.replace(r#""id":2,"#, r#""id":"recorded","#);
    assert!(trace.contains(r#""id":"recorded""#));
    let client = connect(Replay::read(&trace).unwrap(), ProtocolVersion::V2026_07_28).unwrap();
    assert_eq!(say(&client, "").unwrap(), "one");
}

#[test]
fn a_mismatch_ends_the_connection_and_names_the_line() {
    let trace = record(ProtocolVersion::V2026_07_28, false);
    let replay = Replay::read(&trace).unwrap();
    let played = replay.played();
    let client = connect(replay, ProtocolVersion::V2026_07_28).unwrap();
    let error = within(LONG, move || client.list_tools().unwrap_err());
    let text = "trace line 3 expects the request tools/call, but the request tools/list was sent";
    assert!(error.to_string().contains(text), "{error:?}");
    let error = played.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn nothing_can_be_sent_when_the_trace_is_over() {
    let trace = record(ProtocolVersion::V2026_07_28, false);
    let client = connect(Replay::read(&trace).unwrap(), ProtocolVersion::V2026_07_28).unwrap();
    say(&client, "").unwrap();
    client.list_tools().unwrap();
    let error = within(LONG, move || say(&client, "").unwrap_err());
    assert!(
        error.to_string().contains("expects nothing more"),
        "{error:?}"
    );
}

#[test]
fn a_recorded_silence_is_a_silence() {
    let trace = record(ProtocolVersion::V2026_07_28, false);
    let trace: Vec<&str> = trace.lines().take(3).collect();
    let replay = Replay::read(&trace.join("\n")).unwrap();
    let client = connect(replay, ProtocolVersion::V2026_07_28).unwrap();
    let options = CallOptions::new().timeout(Duration::from_millis(50));
    let error = client
        .call_tool_with("echo", &json!({}), options)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}
