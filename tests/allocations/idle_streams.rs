//! The memory of event streams on which nothing happens.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;

use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, Server};
use serde_json::{Value, json};

use super::{Alone, LIVE, LONG};

const STREAMS: usize = 400;

/// Opens a stream on a connection of its own.
type Open = fn(SocketAddr) -> TcpStream;

// The figures are those of docs/performance.md ("Memory") and a part of the buffers of threads and
// of the tables, which grow in steps. `benches/fanout` measures the resident memory.
#[test]
fn an_idle_stream_takes_little_memory() {
    let alone = Alone::begin(usize::MAX);
    for (open, most) in [(open_modern as Open, 1100), (open_legacy as Open, 2340)] {
        let server = Server::builder("idle", "1")
            .tool("nothing", "Does nothing", |_: Value, _: &Context| "")
            .build()
            .unwrap();
        let http = server.listen_http("0", HttpOptions::new()).unwrap();
        let address = http.local_addr().unwrap();
        // The first streams make threads and buffers.
        let first: Vec<_> = (0..50).map(|_| open(address)).collect();
        let before = LIVE.load(Ordering::Relaxed);
        let streams: Vec<_> = (0..STREAMS).map(|_| open(address)).collect();
        let each = LIVE.load(Ordering::Relaxed).wrapping_sub(before) / STREAMS;
        assert!((200..=most).contains(&each), "{each} bytes, at most {most}");
        drop((first, streams));
        http.close();
    }
    drop(alone);
}

fn open_modern(address: SocketAddr) -> TcpStream {
    let mut stream = connect(address);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let listen = json!({
        "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": { "notifications": { "toolsListChanged": true }, "_meta": meta },
    });
    let fields = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    post(&mut stream, fields, &listen);
    read_to(&mut stream, "\n\n");
    stream
}

fn open_legacy(address: SocketAddr) -> TcpStream {
    let mut stream = connect(address);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "idle", "version": "1" },
    });
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    post(&mut stream, "", &opening);
    let answer = read_to(&mut stream, "}}");
    let id = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then_some(value)
    });
    let id = id.unwrap();
    let fields = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    post(&mut stream, &fields, &ready);
    read_to(&mut stream, "\r\n\r\n");
    let get = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{fields}\r\n"
    );
    stream.write_all(get.as_bytes()).unwrap();
    read_to(&mut stream, "\r\n\r\n");
    stream
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

fn post(stream: &mut TcpStream, fields: &str, message: &Value) {
    let body = message.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{fields}\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
}

/// Reads until the text contains `end`.
fn read_to(stream: &mut TcpStream, end: &str) -> String {
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while !text.contains(end) {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the stream has ended: {text}");
        text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
    }
    text
}
