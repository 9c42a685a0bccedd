//! A tap between a client and a server.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use mcplink::client::Client;
#[cfg(unix)]
use mcplink::client::EraMemory;
use mcplink::protocol::Connection;
use mcplink::schema::Tool;
use mcplink::server::Server;
#[cfg(unix)]
use mcplink::transport::{Child, Transport};
use mcplink::transport::{Direction, Tap, memory};
use serde_json::{Value, json};

#[cfg(unix)]
use crate::common::LONG;

/// Serves a tool that says its argument.
fn serve() -> (memory::Memory, Connection) {
    let tool = |args: Value, _: &_| args["say"].as_str().unwrap_or_default().to_owned();
    let server = Server::builder("echo", "1.0")
        .tool_with(Tool::new("echo"), tool)
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    (here, server.open(there).unwrap())
}

#[test]
fn every_message_is_shown_with_its_request_first() {
    let (here, _serving) = serve();
    let (seen, shown) = mpsc::channel();
    let client = Client::connect(Tap::new(here, move |message| {
        let text: Value = serde_json::from_slice(message.text).unwrap();
        seen.send((message.direction, message.number, text))
            .unwrap();
    }))
    .unwrap();
    client.call_tool("echo", &json!({"say": "hello"})).unwrap();
    let shown: Vec<_> = shown.try_iter().collect();
    let ways: Vec<_> = shown
        .iter()
        .map(|(way, number, _)| (*way, *number))
        .collect();
    let (out, back) = (Direction::Outgoing, Direction::Incoming);
    assert_eq!(ways, [(out, 1), (back, 1), (out, 2), (back, 2)]);
    assert_eq!(shown[2].2["method"], "tools/call");
    assert_eq!(shown[3].2["id"], shown[2].2["id"]);
}

#[test]
fn callers_at_once_are_all_shown_in_order() {
    let (here, _serving) = serve();
    let numbers = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let seen = Arc::clone(&numbers);
    let client = Client::connect(Tap::new(here, move |message| {
        let mut seen = seen.lock().unwrap();
        match message.direction {
            Direction::Incoming => seen.0.push(message.number),
            Direction::Outgoing => seen.1.push(message.number),
        }
    }))
    .unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    client.call_tool("echo", &json!({"say": "x"})).unwrap();
                }
            });
        }
    });
    let (incoming, outgoing) = &*numbers.lock().unwrap();
    assert_eq!(*incoming, (1..=161).collect::<Vec<_>>());
    assert_eq!(*outgoing, (1..=161).collect::<Vec<_>>());
}

#[test]
fn a_hook_that_panics_leaves_the_connection_alone() {
    let (here, _serving) = serve();
    let client = Client::connect(Tap::new(here, |_| {
        std::panic::resume_unwind(Box::new("of the hook"));
    }))
    .unwrap();
    let result = client
        .call_tool("echo", &json!({"say": "still here"}))
        .unwrap();
    assert_eq!(result.content[0].as_text(), Some("still here"));
}

/// A server that dies of the probe is started once more, and both are seen.
#[cfg(unix)] // The child is a shell.
#[test]
fn a_second_start_is_tapped_too() {
    let script = r#"
        read -r line
        case $line in *initialize*) ;; *) exit 0 ;; esac
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}'
        while read -r line; do :; done"#;
    let child = Child::new("sh").args(["-c", script]);
    let (seen, shown) = mpsc::channel();
    let tap = Tap::new(child.clone(), move |message| {
        _ = seen.send(message.text_lossy().into_owned());
    });
    assert_eq!(tap.address(), child.address());
    let memory = EraMemory::default();
    let builder = Client::builder("test", "1.0").era_memory(&memory);
    let client = builder.connect(tap).unwrap();
    let next = || shown.recv_timeout(LONG).unwrap();
    assert!(next().contains("server/discover"));
    assert!(next().contains("\"initialize\""));
    assert!(next().contains("\"old\""));
    client.close();
}
