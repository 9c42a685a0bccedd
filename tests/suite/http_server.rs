//! A server that listens for HTTP clients by itself, seen through real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::schema::{ProtocolVersion, Tool};
use mcplink::server::http::{HttpOptions, HttpServer};
use mcplink::server::{Context, Endpoint, Server};
use serde_json::{Value, json};

use crate::common::LONG;
use crate::web::{initialize, modern};

/// One connection to a server, as a client would have it.
pub(crate) struct Socket {
    pub(crate) stream: BufReader<TcpStream>,
    host: String,
}

pub(crate) struct Head {
    pub(crate) status: u16,
    fields: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

impl Socket {
    pub(crate) fn open(server: &HttpServer) -> Self {
        let stream = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self {
            stream: BufReader::new(stream),
            host: server.local_addr().unwrap().to_string(),
        }
    }

    pub(crate) fn send(&mut self, method: &str, fields: &[(&str, &str)], body: &str) {
        let mut all = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        all.extend(fields);
        self.send_exactly(method, &all, body);
    }

    /// The same without the usual fields.
    pub(crate) fn send_exactly(&mut self, method: &str, fields: &[(&str, &str)], body: &str) {
        let mut text = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n",
            self.host,
            body.len()
        );
        for (name, value) in fields {
            text += &format!("{name}: {value}\r\n");
        }
        text += "\r\n";
        text += body;
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn modern(&mut self, method: &str, params: Value) {
        let (message, fields) = modern(1, method, params, json!({}));
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        self.send("POST", &fields, &message.to_string());
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn head(&mut self) -> Head {
        let status = self.line();
        let status = status
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut fields = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            fields.push((name.to_owned(), value.to_owned()));
        }
        Head {
            status: status.expect("a status"),
            fields,
        }
    }

    /// A whole response.
    pub(crate) fn message(&mut self) -> (Head, Value) {
        let head = self.head();
        let length = head
            .field("Content-Length")
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (head, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// The next piece of a body; empty at its end.
    pub(crate) fn piece(&mut self) -> String {
        let size = self.line();
        let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("no size: {size}"));
        let mut piece = vec![0; size + 2];
        self.stream.read_exact(&mut piece).unwrap();
        piece.truncate(size);
        String::from_utf8(piece).unwrap()
    }

    pub(crate) fn is_over(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0) | Err(_))
    }
}

fn listen(server: &Server) -> HttpServer {
    server
        .listen_http("127.0.0.1:0", HttpOptions::new())
        .unwrap()
}

fn echo() -> Server {
    Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .build()
        .unwrap()
}

// M-HTTP-S-01, L-HTTP-S-01
#[test]
fn both_eras_are_served_on_one_address_and_connection() {
    let server = listen(&echo());
    assert_eq!(
        server.url(),
        format!("http://{}/mcp", server.local_addr().unwrap())
    );
    let mut socket = Socket::open(&server);
    socket.modern("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
    let (head, message) = socket.message();
    assert_eq!(
        (
            head.status,
            message["result"]["content"][0]["text"].as_str()
        ),
        (200, Some(r#"{"a":1}"#))
    );
    let opening = initialize(2, ProtocolVersion::V2025_11_25, json!({}));
    socket.send("POST", &[], &opening.to_string());
    let (head, message) = socket.message();
    assert_eq!(message["result"]["protocolVersion"], "2025-11-25");
    let session = head.field("Mcp-Session-Id").expect("a session").to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}).to_string();
    socket.send("POST", &[("Mcp-Session-Id", &session)], &list);
    assert_eq!(socket.message().1["result"]["tools"][0]["name"], "echo");
    assert_eq!((server.sessions(), server.stats().connections), (1, 1));
}

// M-HTTP-S-04, L-HTTP-S-04
#[test]
fn a_port_alone_is_one_of_the_loopback_address() {
    for port in ["0", ":0"] {
        let server = echo().listen_http(port, HttpOptions::new()).unwrap();
        assert!(server.local_addr().unwrap().ip().is_loopback(), "{port}");
    }
}

#[test]
fn an_address_to_listen_on_has_a_port() {
    for address in [
        "no such place",
        "",
        ":",
        "70000",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:http",
        "localhost:70000",
        "http://127.0.0.1:80/",
    ] {
        let refused = echo().listen_http(address, HttpOptions::new());
        let error = refused.expect_err(address);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    let other = "192.0.2.1:8080";
    let error = echo()
        .listen_http(other, HttpOptions::new())
        .expect_err("of another machine");
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}

#[test]
fn hosts_and_origins_that_no_request_can_have_are_refused() {
    let is_refused = |options: HttpOptions, what: &str| {
        let error = echo().listen_http("0", options).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    };
    for host in [
        "",
        "*",
        "*.example.com",
        "http://",
        "http://example.com",
        "example.com/",
        "example.com:80",
        "user@example.com",
        "exam ple.com",
        "::1",
        "a\r\nb",
    ] {
        is_refused(HttpOptions::new().allowed_hosts([host]), "is no host name");
    }
    for origin in [
        "",
        "*",
        "https://*.example.com",
        "example.com",
        "http://",
        "https://example.com/",
        "https://example.com:443",
        "http://example.com:80",
        "https://user@example.com",
        "https://example.com?x",
        "https://exam ple.com",
    ] {
        is_refused(HttpOptions::new().allowed_origins([origin]), "is no origin");
    }
    let options = HttpOptions::new()
        .allowed_hosts([
            "mcp.example.com",
            "localhost",
            "192.0.2.1",
            "[2001:db8::1]",
            "MCP",
        ])
        .allowed_origins([
            "https://example.com",
            "http://example.com:8080",
            "http://[::1]:8080",
            "chrome-extension://abcdefgh",
            "null",
        ]);
    options.check().expect("they can be sent");
}

// M-HTTP-S-36, 16.4
#[test]
fn names_of_other_machines_are_refused_on_loopback() {
    let server = listen(&echo());
    let mut socket = Socket::open(&server);
    socket.host = "evil.example".to_owned();
    socket.modern("tools/list", json!({}));
    let (head, message) = socket.message();
    assert_eq!(head.status, 403);
    let text = message["error"]["message"].as_str().expect("a text");
    assert!(
        text.contains("evil.example") && text.contains("allowed host name"),
        "{text}"
    );
}

/// A server with a tool that says when it begins, and whether it was cancelled within a while.
fn waiting(patience: Duration) -> (Server, mpsc::Receiver<()>, mpsc::Receiver<(bool, Duration)>) {
    let (entered, has_entered) = mpsc::channel();
    let (seen, was_seen) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            entered.send(()).unwrap();
            let began = Instant::now();
            let cancelled = context.cancel_token().wait(patience);
            seen.send((cancelled, began.elapsed())).unwrap();
            "done"
        })
        .build()
        .unwrap();
    (server, has_entered, was_seen)
}

// M-CANC-S-04, 16.3
#[test]
fn a_modern_client_that_goes_away_cancels_its_call_soon() {
    let (server, has_entered, was_seen) = waiting(LONG);
    let server = listen(&server);
    let mut socket = Socket::open(&server);
    socket.modern("tools/call", json!({"name": "wait"}));
    has_entered.recv_timeout(LONG).unwrap();
    drop(socket);
    let (cancelled, _) = was_seen.recv_timeout(LONG).unwrap();
    assert!(cancelled);
}

// L-HTTP-S-22, L-CANC-S-10, 16.3
#[test]
fn a_legacy_client_that_goes_away_does_not() {
    let (server, has_entered, was_seen) = waiting(Duration::from_millis(1500));
    let server = listen(&server);
    let mut socket = Socket::open(&server);
    let opening = initialize(2, ProtocolVersion::V2025_11_25, json!({}));
    socket.send("POST", &[], &opening.to_string());
    let session = socket
        .message()
        .0
        .field("Mcp-Session-Id")
        .unwrap()
        .to_owned();
    let call =
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "wait"}});
    socket.send("POST", &[("Mcp-Session-Id", &session)], &call.to_string());
    has_entered.recv_timeout(LONG).unwrap();
    drop(socket);
    let (cancelled, _) = was_seen.recv_timeout(LONG).unwrap();
    assert!(!cancelled);
}

// M-HTTP-S-20, 16.2
#[test]
fn a_quiet_stream_is_kept_open() {
    let options = HttpOptions::new().keep_alive(Duration::from_millis(50));
    let server = echo().listen_http("127.0.0.1:0", options).unwrap();
    let mut socket = Socket::open(&server);
    socket.modern(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    assert_eq!(
        socket.head().field("Content-Type"),
        Some("text/event-stream")
    );
    assert!(socket.piece().contains("acknowledged"));
    for _ in 0..2 {
        assert!(socket.piece().starts_with(':'));
    }
}

// 16.6
#[test]
fn closing_ends_streams_in_order_and_lets_calls_finish() {
    let (go, may_go) = mpsc::channel::<()>();
    let (entered, has_entered) = mpsc::channel();
    let may_go = Mutex::new(may_go);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("slow"), move |_: Value, _: &Context| {
            entered.send(()).unwrap();
            may_go.lock().unwrap().recv_timeout(LONG).unwrap();
            "done"
        })
        .drain(LONG)
        .build()
        .unwrap();
    let server = Arc::new(listen(&server));
    let mut stream = Socket::open(&server);
    stream.modern(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    stream.head();
    assert!(stream.piece().contains("acknowledged"));
    let mut caller = Socket::open(&server);
    caller.modern("tools/call", json!({"name": "slow"}));
    has_entered.recv_timeout(LONG).unwrap();
    let closing = thread::spawn({
        let server = Arc::clone(&server);
        move || server.close()
    });
    let last = stream.piece();
    assert!(last.contains("resultType"), "{last}");
    assert_eq!(stream.piece(), "");
    assert!(stream.is_over());
    go.send(()).unwrap();
    assert_eq!(caller.message().1["result"]["content"][0]["text"], "done");
    closing.join().unwrap();
    assert!(caller.is_over());
    assert!(TcpStream::connect(server.local_addr().unwrap()).is_err());
    server.close();
}

#[test]
fn the_state_of_a_server_names_its_listeners_and_the_failed_ones() {
    let server = echo();
    assert_eq!(server.state().to_string(), "");
    let (first, second) = (listen(&server), listen(&server));
    let mut socket = Socket::open(&second);
    socket.modern("tools/list", json!({}));
    socket.message();
    let urls = [first.url(), second.url()];
    let expected = format!(
        "{}: 0 connections, 0 sessions\n{}: 1 connection, 0 sessions\n",
        urls[0], urls[1]
    );
    assert_eq!(server.state().to_string(), expected);

    // A port that is taken is remembered once.
    let port = first.local_addr().unwrap().port().to_string();
    for _ in 0..2 {
        let error = server.listen_http(&port, HttpOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        let state = server.state();
        assert_eq!(state.endpoints.len(), 2);
        let [failure] = &*state.failures else {
            panic!("{state:?}");
        };
        assert_eq!(failure.address, port);
        assert_eq!(failure.error.to_string(), error.to_string());
        let line = format!("\n{port}: failed: {error}\n");
        assert!(state.to_string().ends_with(&line), "{state}");
    }
    first.close();
    let state = server.state();
    assert!(matches!(&*state.endpoints, [Endpoint::Http { url, .. }] if *url == urls[1]));
    drop(second);
    assert!(server.state().endpoints.is_empty());

    // Only the latest failures are remembered.
    for number in 0..20 {
        let address = format!("no address {number}");
        server
            .listen_http(&address, HttpOptions::new())
            .unwrap_err();
    }
    let failures = server.state().failures;
    assert_eq!(failures.len(), 16);
    assert_eq!(failures[0].address, "no address 4");
    assert_eq!(failures[15].address, "no address 19");
}

/// Opens a stream that reports changes of the list of tools.
fn listening_for_tools(server: &HttpServer) -> Socket {
    let mut stream = Socket::open(server);
    stream.modern(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    assert_eq!(stream.head().status, 200);
    assert!(stream.piece().contains("acknowledged"));
    stream
}

/// Reads a stream to its end: the result of its request is its last message.
fn read_result(stream: &mut Socket) {
    let last = stream.piece();
    assert!(last.contains("resultType"), "{last}");
    assert_eq!(stream.piece(), "");
}

#[test]
fn draining_ends_streams_one_after_the_other_and_serves_on() {
    let server = echo();
    let options = HttpOptions::new().health("/healthz");
    let listening = server.listen_http("127.0.0.1:0", options).unwrap();
    let mut idle = Socket::open(&listening);
    idle.modern("tools/list", json!({}));
    assert_eq!(idle.message().0.field("Connection"), None);
    let mut streams: Vec<_> = (0..3).map(|_| listening_for_tools(&listening)).collect();
    thread::scope(|scope| {
        // The second stream would end after twenty minutes.
        let draining = scope.spawn(|| listening.drain(Duration::from_secs(3600)));
        read_result(&mut streams[0]);
        let mut probe = Socket::open(&listening);
        let host = listening.local_addr().unwrap();
        let text = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
        probe.stream.get_mut().write_all(text.as_bytes()).unwrap();
        assert_eq!(probe.head().status, 503);
        // A request is served on a new connection and on an old one. It is the last one of both.
        for mut socket in [idle, Socket::open(&listening)] {
            socket.modern("tools/list", json!({}));
            let (head, message) = socket.message();
            assert!(message["result"]["tools"].is_array(), "{message}");
            assert_eq!(head.field("Connection"), Some("close"));
            assert!(socket.is_over());
        }
        let mut late = listening_for_tools(&listening);
        let new = |_: Value, _: &Context| "";
        server.add_tool(Tool::new("new"), new).unwrap();
        for stream in streams[1..].iter_mut().chain([&mut late]) {
            assert!(stream.piece().contains("tools/list_changed"));
        }
        listening.close();
        draining.join().unwrap();
        for stream in streams[1..].iter_mut().chain([&mut late]) {
            read_result(stream);
        }
    });
}

#[test]
fn a_drained_server_has_no_streams_left() {
    let listening = listen(&echo());
    let mut streams: Vec<_> = (0..20).map(|_| listening_for_tools(&listening)).collect();
    // A client that is gone is no reason to wait.
    drop(streams.pop());
    listening.drain(Duration::from_millis(100));
    for stream in &mut streams {
        read_result(stream);
    }
    listening.drain(Duration::ZERO);
    listening.close();
    listening.drain(Duration::MAX);
}

// 6.2
#[test]
fn a_handler_may_close_its_server() {
    let held: Arc<Mutex<Option<HttpServer>>> = Arc::default();
    let handle = Arc::clone(&held);
    let (closed, has_closed) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("close"), move |_: Value, _: &Context| {
            let server = handle.lock().unwrap().take();
            drop(server);
            closed.send(()).unwrap();
            "closed"
        })
        .drain(Duration::ZERO)
        .build()
        .unwrap();
    let server = listen(&server);
    let mut socket = Socket::open(&server);
    *held.lock().unwrap() = Some(server);
    socket.modern("tools/call", json!({"name": "close"}));
    has_closed.recv_timeout(LONG).unwrap();
}

// 15.4, M-HTTP-S-20
#[test]
fn many_streams_cost_no_threads_and_all_are_told() {
    let server = echo();
    let listening = listen(&server);
    let mut sockets: Vec<Socket> = (0..200).map(|_| Socket::open(&listening)).collect();
    for socket in &mut sockets {
        socket.modern(
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        );
        socket.head();
        assert!(socket.piece().contains("acknowledged"));
    }
    let stats = listening.stats();
    assert_eq!(stats.streams, 200);
    assert_eq!((stats.accepted, listening.sessions()), (200, 0));
    assert!(stats.workers <= 64, "{stats:?}");
    // One that does not read any more keeps nobody waiting.
    sockets[0]
        .stream
        .get_ref()
        .shutdown(Shutdown::Write)
        .unwrap();
    server
        .add_tool(Tool::new("new"), |_: Value, _: &Context| "")
        .unwrap();
    for socket in &mut sockets[1..] {
        assert!(socket.piece().contains("tools/list_changed"));
    }
}
