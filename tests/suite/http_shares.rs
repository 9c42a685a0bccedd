//! What clients of an HTTP server share is divided among them: connections, threads, places to wait
//! in, sessions.
//!
//! Clients are told apart by their addresses: the greedy one is at 127.0.0.1, others at 127.0.0.2
//! and above.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use mcplink::schema::{ProtocolVersion, Resource, TaskSupport, Tool};
use mcplink::server::http::{Denied, HttpOptions, HttpServer};
use mcplink::server::{Context, Principal, Server, TaskOptions};
use mcplink::transport::Limits;
use mcplink::transport::http::{HttpLimits, HttpListener, ResponseHead};
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::common::run_alone;
use crate::common::{Gate, LONG, wait_until};
use crate::listening::{Client, limits, listen_to_all, listen_with, say, service};
use crate::tasks_server::tool;

pub(crate) fn from(last: u8, listener: &HttpListener) -> Client {
    Client::from(last, listener.local_addr().unwrap())
}

/// Waits until so many connections have given way. They are counted after others have been served.
fn wait_for_displaced(listener: &HttpListener, count: u64) {
    wait_until("connections have given way", || {
        listener.stats().displaced_connections == count
    });
}

/// Waits until no worker has a connection any more: what has come of requests was read, and no
/// worker opens a descriptor.
fn wait_for_rest(listener: &HttpListener) {
    wait_until("workers have left", || listener.stats().workers == 0);
}

#[test]
fn connections_without_a_byte_give_way_first_then_the_longest_idle() {
    let (listener, _gate, _kept) = listen_to_all(limits(|limits| {
        limits.max_connections = 8;
        limits.reserve_percent = 0;
    }));
    let mut used: Vec<_> = (0..6).map(|_| from(1, &listener)).collect();
    used.iter_mut().for_each(Client::expect_service);
    used[0].expect_service();
    let mut silent: Vec<_> = (0..2).map(|_| from(1, &listener)).collect();
    // The system may pass on connections in another order than that in which they were made.
    wait_until("all are open", || listener.stats().connections == 8);
    let mut others: Vec<_> = (0..2).map(|_| from(2, &listener)).collect();
    others.iter_mut().for_each(Client::expect_service);
    silent.iter_mut().for_each(Client::expect_end);
    others.extend([from(2, &listener), from(2, &listener)]);
    others.iter_mut().for_each(Client::expect_service);
    wait_for_displaced(&listener, 4);
    // Both have half of them now, and displace their own only.
    others.push(from(2, &listener));
    others[4].expect_service();
    wait_for_displaced(&listener, 5);
    wait_until("no more than allowed", || listener.stats().connections == 8);
    let served = used.iter_mut().filter_map(|client| {
        client.stream.set_nonblocking(true).unwrap();
        let is_closed = matches!(client.stream.peek(&mut [0]), Ok(0));
        client.stream.set_nonblocking(false).unwrap();
        (!is_closed).then(|| client.expect_service())
    });
    assert_eq!(served.count(), 4);
    assert_eq!(listener.stats().refused, 0);
}

/// A connection that its worker stays with after a response is idle, and gives way at once.
#[test]
fn connections_that_workers_stay_with_give_way() {
    for _ in 0..20 {
        let (listener, _gate, _kept) = listen_to_all(limits(|limits| {
            limits.max_connections = 4;
            limits.reserve_percent = 0;
        }));
        let mut greedy: Vec<_> = (0..4).map(|_| from(1, &listener)).collect();
        greedy.iter_mut().for_each(Client::expect_service);
        let mut others = [2, 3].map(|last| from(last, &listener));
        others.iter_mut().for_each(Client::expect_service);
        wait_for_displaced(&listener, 2);
        assert_eq!(listener.stats().refused, 0);
        wait_until("no more than allowed", || listener.stats().connections == 4);
        others.iter_mut().for_each(Client::expect_service);
    }
}

/// Heads and bodies that do not come give way as well, and are told why.
#[test]
fn connections_with_unfinished_requests_give_way_and_those_in_hand_do_not() {
    let (listener, _gate, kept) = listen_to_all(limits(|limits| {
        limits.max_connections = 4;
        limits.reserve_percent = 25;
    }));
    let mut greedy: Vec<_> = (0..4).map(|_| from(1, &listener)).collect();
    let mut in_hand = Vec::new();
    for client in &mut greedy[..3] {
        client.get("/keep");
        in_hand.push(kept.recv_timeout(LONG).unwrap());
    }
    greedy[3].send("POST / HT");
    wait_for_rest(&listener);
    // One more of another client is within the reserve.
    from(2, &listener).expect_service();
    wait_until("it has gone", || listener.stats().connections == 4);
    let mut others = [from(2, &listener), from(3, &listener)];
    others.iter_mut().for_each(Client::expect_service);
    assert_eq!(greedy[3].receive().status, 503);
    wait_for_displaced(&listener, 1);
    // All of the greedy client's are in flight.
    let mut one_more = from(1, &listener);
    assert_eq!(one_more.receive().status, 503);
    for (client, response) in greedy.iter_mut().zip(&mut in_hand) {
        response.respond(&ResponseHead::new(200), b"late").unwrap();
        assert_eq!(client.receive().body, "late");
    }
}

/// Promise 11, connections: one client opens them as fast as it can and says nothing, or one thing;
/// another one is served each time.
#[test]
fn a_client_that_opens_connections_without_end_shuts_nobody_out() {
    let listener = listen_with(
        limits(|limits| limits.max_connections = 32),
        service(|request, response| say(&request, response)),
    );
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let greedy = scope.spawn(|| {
            let mut open = std::collections::VecDeque::new();
            while !over.load(Ordering::SeqCst) {
                let mut client = from(1, &listener);
                if open.len() % 2 == 0 {
                    // It may have been displaced already.
                    _ = std::io::Write::write(
                        &mut client.stream,
                        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                    );
                }
                open.push_back(client);
                if open.len() > 200 {
                    open.pop_front();
                }
            }
        });
        wait_until("it has displaced its own", || {
            listener.stats().displaced_connections > 0
        });
        let mut kept = from(2, &listener);
        for _ in 0..50 {
            from(2, &listener).expect_service();
            kept.expect_service();
        }
        over.store(true, Ordering::SeqCst);
        greedy.join().unwrap();
    });
}

#[test]
fn a_new_connection_has_a_while_for_its_first_byte() {
    let (listener, _gate, _kept) = listen_to_all(limits(|limits| {
        limits.first_byte_timeout = Duration::from_millis(300);
    }));
    let mut used = Client::to(&listener);
    used.expect_service();
    let mut silent = Client::to(&listener);
    let mut blank = Client::to(&listener);
    blank.send("\r\n");
    silent.expect_end();
    blank.expect_end();
    used.expect_service();
}

#[cfg(target_os = "linux")] // Descriptors are bounded by `setrlimit`.
#[test]
fn without_a_descriptor_an_idle_connection_gives_way() {
    run_alone("http_shares::few_descriptors");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "bounds the descriptors of its process: run by the test above"]
fn few_descriptors() {
    let (listener, _gate, _kept) = listen_to_all(limits(|_| {}));
    let mut clients: Vec<_> = (0..20).map(|_| from(1, &listener)).collect();
    clients.iter_mut().for_each(Client::expect_service);
    wait_for_rest(&listener);
    let used = std::fs::read_dir("/proc/self/fd").unwrap().count() as libc::rlim_t;
    // The listing has one itself: one is left, for the client.
    let limit = libc::rlimit {
        rlim_cur: used,
        rlim_max: used,
    };
    // SAFETY: the limit is one.
    let failed = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    assert_eq!(failed, 0);
    let mut another = from(2, &listener);
    another.expect_service();
    assert!(listener.stats().displaced_connections >= 1);
}

/// Promise 11, threads: while all of them run handlers of one client, others are served.
#[test]
fn slow_handlers_of_one_client_delay_no_other() {
    let (listener, gate, _kept) = listen_to_all(limits(|limits| limits.max_workers = 8));
    let mut blocked: Vec<_> = (0..24).map(|_| from(1, &listener)).collect();
    blocked.iter_mut().for_each(|client| client.get("/block"));
    gate.wait_for(8);
    wait_until("the others wait", || listener.stats().waiting == 16);
    for last in 2..6 {
        let mut other = from(last, &listener);
        (0..20).for_each(|_| other.expect_service());
    }
    // Another one that blocks what it gets leaves a place to a third.
    let mut second: Vec<_> = (0..4).map(|_| from(2, &listener)).collect();
    second.iter_mut().for_each(|client| client.get("/block"));
    gate.wait_for(9);
    (0..20).for_each(|_| from(3, &listener).expect_service());
    gate.open();
    for client in blocked.iter_mut().chain(&mut second) {
        assert_eq!(client.receive().status, 200);
    }
}

#[test]
fn of_the_requests_that_wait_too_many_of_one_client_give_way() {
    let (listener, gate, _kept) = listen_to_all(limits(|limits| {
        limits.max_workers = 1;
        limits.max_waiting = 3;
    }));
    let mut greedy: Vec<_> = (0..4)
        .map(|number| {
            let mut client = from(1, &listener);
            client.get("/block");
            wait_until("it runs or waits", || listener.stats().waiting == number);
            client
        })
        .collect();
    gate.wait_for(1);
    // A request that is not read yet counts as waiting, too. One worker reads, so an answer to input
    // that came later shows that all requests were read.
    let mut later = from(1, &listener);
    later.send("garbage\n");
    assert_eq!(later.receive().status, 400);
    let mut other = [from(2, &listener), from(2, &listener)];
    other[0].get("/block");
    gate.wait_for(2);
    other[1].get("/block");
    assert_eq!(greedy[3].receive().status, 503);
    let stats = listener.stats();
    assert_eq!((stats.displaced_requests, stats.refused), (1, 2));
    gate.open();
    for client in greedy[..3].iter_mut().chain(&mut other) {
        assert_eq!(client.receive().status, 200);
    }
}

/// Promise 11, memory: one client leaves large bodies unfinished, and another one's arrives.
#[test]
fn unfinished_bodies_of_one_client_refuse_none_of_another() {
    let listener = listen_with(
        limits(|limits| {
            limits.max_workers = 2;
            limits.max_body_bytes = 1 << 20;
        }),
        service(|request, response| say(&request, response)),
    );
    let begin = |last: u8, bytes: usize| {
        let mut client = from(last, &listener);
        let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n";
        let text = head.to_owned() + &"x".repeat(bytes);
        // A server that refuses may not read on.
        _ = std::io::Write::write_all(&mut client.stream, text.as_bytes());
        client
    };
    let _greedy: Vec<_> = (0..10).map(|_| begin(1, (1 << 20) - 1)).collect();
    wait_until("no more is taken", || listener.stats().refused >= 8);
    for last in 2..5 {
        // The body before is let go of a moment after its response.
        wait_until("there is room for it", || {
            begin(last, 1 << 20).receive().status == 200
        });
    }
}

#[test]
fn a_trusted_proxy_tells_its_clients_apart() {
    for (is_trusted, field) in [
        (true, "Forwarded: for=192.0.2."),
        (true, "X-Forwarded-For: 198.51.100.1, 192.0.2."),
        (false, "X-Forwarded-For: 192.0.2."),
    ] {
        let (listener, gate, _kept) = listen_to_all(limits(|limits| {
            limits.max_workers = 2;
            if is_trusted {
                limits.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
            }
        }));
        let ask = |last: u8, target: &str| {
            let mut client = from(1, &listener);
            client.send(format!(
                "GET {target} HTTP/1.1\r\nHost: here\r\n{field}{last}\r\n\r\n"
            ));
            client
        };
        let mut blocked = [ask(1, "/block"), ask(1, "/block")];
        gate.wait_for(2);
        let mut waiting = ask(1, "/wait");
        wait_until("it waits", || listener.stats().waiting == 1);
        let mut other = ask(2, "/fine");
        if is_trusted {
            assert_eq!(other.receive().status, 200);
        } else {
            wait_until("it waits, too", || listener.stats().waiting == 2);
        }
        gate.open();
        for client in blocked.iter_mut().chain([&mut waiting]) {
            assert_eq!(client.receive().status, 200);
        }
        if !is_trusted {
            assert_eq!(other.receive().status, 200);
        }
    }
}

/// Its tool "block" waits for the gate, "echo" does not.
fn server(gate: &Gate) -> Server {
    let gate = gate.clone();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |_: Value, _: &Context| "echo")
        .tool_with(Tool::new("block"), move |_: Value, _: &Context| {
            gate.pass();
            "block"
        });
    server.build().unwrap()
}

fn options(change: impl FnOnce(&mut HttpLimits)) -> HttpOptions {
    HttpOptions::new().limits(limits(change))
}

/// Has principals told by the names in their requests.
fn by_name(options: HttpOptions) -> HttpOptions {
    options.authenticate(|request| {
        let name = request
            .value("Authorization")
            .ok_or_else(Denied::forbidden)?;
        Ok(Principal::new(String::from_utf8_lossy(name)))
    })
}

/// A client that writes its requests itself, on one connection.
pub(crate) struct Raw {
    pub(crate) client: Client,
    pub(crate) fields: String,
}

/// Connections of one session must not use an id twice.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Raw {
    pub(crate) fn from(last: u8, server: &HttpServer, fields: &str) -> Self {
        Self {
            client: Client::from(last, server.local_addr().unwrap()),
            fields: fields.to_owned(),
        }
    }

    pub(crate) fn post(&mut self, method: &str, params: &Value) {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let (body, fields) = (body.to_string(), &self.fields);
        self.client.send(format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{fields}\r\n{body}",
            body.len()
        ));
    }

    /// Opens a session, and speaks in it from now on. Returns the status.
    pub(crate) fn initialize(&mut self) -> u16 {
        let version = ProtocolVersion::V2025_11_25.as_str();
        self.post(
            "initialize",
            &json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
        );
        let response = self.client.receive();
        let id = |line: &String| Some(line.strip_prefix("Mcp-Session-Id: ")?.to_owned());
        if let Some(id) = response.fields.iter().find_map(id) {
            self.fields += &format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {version}\r\n");
        }
        response.status
    }

    /// Opens a connection and sends a request of a client without a session.
    pub(crate) fn modern(last: u8, server: &HttpServer, method: &str, params: Value) -> Self {
        let able = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let (message, fields) = crate::web::modern(1, method, params, able);
        let field = |(name, value): (&str, String)| format!("{name}: {value}\r\n");
        let fields: String = fields.into_iter().map(field).collect();
        let mut client = Self::from(last, server, &fields);
        client.post(method, &message["params"]);
        client
    }

    /// Opens a connection and subscribes to changes of the list of tools. `None` when that is
    /// refused for the number of subscriptions.
    pub(crate) fn subscribe(last: u8, server: &HttpServer) -> Option<Self> {
        let params = json!({"notifications": {"toolsListChanged": true}});
        let mut client = Self::modern(last, server, "subscriptions/listen", params);
        let head = client.client.head();
        let length = |line: &String| line.strip_prefix("Content-Length: ")?.parse().ok();
        if let Some(length) = head.fields.iter().find_map(length) {
            let body = client.client.exactly(length);
            assert!(
                body.contains("as many subscriptions as it may"),
                "{head:?} {body}"
            );
            return None;
        }
        client.hear("notifications/subscriptions/acknowledged");
        Some(client)
    }

    /// Reads its stream until it tells of this.
    pub(crate) fn hear(&mut self, method: &str) {
        while !self.client.line().contains(method) {}
    }

    pub(crate) fn begin_call(&mut self, tool: &str) {
        self.post("tools/call", &json!({"name": tool, "arguments": {}}));
    }

    /// Calls a tool in its session, and returns what it says.
    pub(crate) fn call(&mut self, tool: &str) -> String {
        self.begin_call(tool);
        self.answer()
    }

    pub(crate) fn answer(&mut self) -> String {
        let result = self.result();
        result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{result}"))
            .to_owned()
    }

    pub(crate) fn result(&mut self) -> Value {
        let response = self.client.receive();
        assert_eq!(response.status, 200, "{response:?}");
        let mut message: Value = serde_json::from_str(&response.body).unwrap();
        assert!(message.get("error").is_none(), "{message}");
        message["result"].take()
    }

    /// Waits until nothing of the last request is left: the next one on its connection is served
    /// after that.
    pub(crate) fn settle(&mut self) {
        self.client.get("/nowhere");
        assert_eq!(self.client.receive().status, 404);
    }

    /// Another connection that speaks in the same session.
    pub(crate) fn beside(&self, last: u8, server: &HttpServer) -> Self {
        Self::from(last, server, &self.fields)
    }
}

/// Promise 11, threads: calls whose client has gone still hold them, and another session at the
/// same address is served.
#[test]
fn abandoned_calls_of_one_session_delay_no_other() {
    let gate = Gate::default();
    let server = server(&gate);
    let http = server
        .listen_http("0", options(|limits| limits.max_workers = 8))
        .unwrap();
    let mut greedy = Raw::from(1, &http, "");
    assert_eq!(greedy.initialize(), 200);
    let mut ordinary = Raw::from(1, &http, "");
    assert_eq!(ordinary.initialize(), 200);
    for _ in 0..40 {
        greedy.beside(1, &http).begin_call("block");
    }
    gate.wait_for(8);
    wait_until("the others wait", || http.stats().waiting == 32);
    for _ in 0..20 {
        assert_eq!(ordinary.call("echo"), "echo");
    }
    // One at another address as well, even if many sessions hold what is left.
    let mut sessions: Vec<_> = (0..10).map(|_| Raw::from(1, &http, "")).collect();
    for session in &mut sessions {
        assert_eq!(session.initialize(), 200);
        session.begin_call("block");
    }
    wait_until("some wait", || http.stats().waiting > 32);
    let mut elsewhere = Raw::from(2, &http, "");
    assert_eq!(elsewhere.initialize(), 200);
    assert_eq!(elsewhere.call("echo"), "echo");
    gate.open();
}

/// Promise 11, threads: tasks of all modern clients run on the threads of one connection. One client
/// starts more than they can run, and tasks of another one run meanwhile.
#[test]
fn tasks_of_one_address_delay_no_other() {
    let gate = Gate::default();
    let (at_gate, begun) = (gate.clone(), Arc::new(AtomicU64::new(0)));
    let begin = Arc::clone(&begun);
    let mut limits = Limits::default();
    limits.max_workers = 4;
    let server = Server::builder("s", "1")
        .limits(limits)
        .tasks(TaskOptions::default())
        .tool_with(
            tool("quick", TaskSupport::Required),
            |_: Value, _: &Context| "quick",
        )
        .tool_with(
            tool("block", TaskSupport::Required),
            move |_: Value, _: &Context| {
                begin.fetch_add(1, Ordering::SeqCst);
                at_gate.pass();
                "block"
            },
        );
    let server = server.build().unwrap();
    let http = server.listen_http("0", HttpOptions::new()).unwrap();
    let ask = |last, method, params| Raw::modern(last, &http, method, params).result();
    let start = |last, tool: &str| ask(last, "tools/call", json!({"name": tool, "arguments": {}}));
    let is_done = |last, task: &Value| {
        let task = ask(last, "tasks/get", json!({"taskId": task["taskId"]}));
        task["status"] == "completed"
    };
    let greedy: Vec<Value> = (0..80).map(|_| start(1, "block")).collect();
    gate.wait_for(4);
    for last in [2, 3, 2] {
        let task = start(last, "quick");
        wait_until("it has run", || is_done(last, &task));
    }
    // The greedy client has all threads but the reserve.
    assert_eq!(begun.load(Ordering::SeqCst), 4);
    gate.open();
    for task in &greedy {
        wait_until("it has run as well", || is_done(1, task));
    }
}

#[test]
fn slow_calls_of_one_principal_delay_no_other() {
    let gate = Gate::default();
    let server = server(&gate);
    let options = options(|limits| limits.max_workers = 2);
    let http = server.listen_http("0", by_name(options)).unwrap();
    let [mut ada, mut bob] = ["ada", "bob"].map(|name| {
        let mut client = Raw::from(1, &http, &format!("Authorization: {name}\r\n"));
        assert_eq!(client.initialize(), 200);
        client
    });
    // The same principal in other sessions and at other addresses is the same client.
    let mut blocked: Vec<_> = (0..6)
        .map(|number| {
            let mut client = Raw::from(1 + number, &http, "Authorization: ada\r\n");
            assert_eq!(client.initialize(), 200);
            client.begin_call("block");
            client
        })
        .collect();
    gate.wait_for(2);
    wait_until("the others wait", || http.stats().waiting == 4);
    (0..20).for_each(|_| assert_eq!(bob.call("echo"), "echo"));
    ada.begin_call("echo");
    wait_until("it waits as well", || http.stats().waiting == 5);
    gate.open();
    assert_eq!(ada.answer(), "echo");
    for client in &mut blocked {
        assert_eq!(client.answer(), "block");
    }
}

/// Promise 11, sessions: one client opens them as fast as it can, and others keep theirs and get
/// new ones.
#[test]
fn a_client_that_opens_sessions_without_end_shuts_nobody_out() {
    let gate = Gate::default();
    let server = server(&gate);
    let http = server
        .listen_http("0", HttpOptions::new().max_sessions(10))
        .unwrap();
    let mut ordinary = Raw::from(2, &http, "");
    assert_eq!(ordinary.initialize(), 200);
    let mut greedy = Raw::from(1, &http, "");
    for _ in 0..50 {
        greedy.fields.clear();
        assert_eq!(greedy.initialize(), 200);
    }
    assert_eq!(http.sessions(), 10);
    assert_eq!(ordinary.call("echo"), "echo");
    for number in 3..8 {
        let mut another = Raw::from(number, &http, "");
        assert_eq!(another.initialize(), 200);
        assert_eq!(another.call("echo"), "echo");
    }
    assert_eq!(
        (greedy.call("echo"), ordinary.call("echo")),
        ("echo".into(), "echo".into())
    );
    assert_eq!(http.sessions(), 10);
    assert_eq!(http.stats().displaced_sessions, 46);
}

#[test]
fn a_session_that_was_never_used_gives_way_first_and_one_in_use_never() {
    let gate = Gate::default();
    let server = server(&gate);
    let http = server
        .listen_http("0", HttpOptions::new().max_sessions(3))
        .unwrap();
    let [mut busy, mut used, mut fresh] = [(); 3].map(|()| Raw::from(1, &http, ""));
    assert_eq!(busy.initialize(), 200);
    assert_eq!(used.initialize(), 200);
    busy.begin_call("block");
    gate.wait_for(1);
    assert_eq!(used.call("echo"), "echo");
    assert_eq!(fresh.initialize(), 200);
    fresh.settle();
    let mut next = Raw::from(1, &http, "");
    assert_eq!(next.initialize(), 200);
    assert_eq!(used.call("echo"), "echo");
    fresh.begin_call("echo");
    assert_eq!(fresh.client.receive().status, 404);
    assert_eq!(next.call("echo"), "echo");
    used.settle();
    next.settle();
    // Of those that were used, the one that is idle for longest.
    let mut last = Raw::from(2, &http, "");
    assert_eq!(last.initialize(), 200);
    used.begin_call("echo");
    assert_eq!(used.client.receive().status, 404);
    gate.open();
    assert_eq!(busy.answer(), "block");
}

/// A client that ends its side after the request has said all it had to say, and gets its answer.
#[test]
fn a_half_closed_connection_gets_the_answer_of_its_call() {
    let (begin, begun) = mpsc::channel();
    let begin = Mutex::new(begin);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("slow"), move |_: Value, context: &Context| {
            begin.lock().unwrap().send(()).unwrap();
            match context.cancel_token().wait(Duration::from_millis(300)) {
                true => "cancelled",
                false => "done",
            }
        })
        .build()
        .unwrap();
    let http = server.listen_http("0", HttpOptions::new()).unwrap();
    let mut legacy = Raw::from(1, &http, "");
    assert_eq!(legacy.initialize(), 200);
    legacy.begin_call("slow");
    let params = json!({"name": "slow", "arguments": {}});
    let mut modern = Raw::modern(1, &http, "tools/call", params);
    for client in [&mut legacy, &mut modern] {
        client.client.end_own_side();
    }
    (0..2).for_each(|_| begun.recv_timeout(LONG).unwrap());
    assert_eq!(legacy.answer(), "done");
    assert_eq!(modern.answer(), "done");
    legacy.client.expect_end();
    modern.client.expect_end();
}

/// Promise 11, subscriptions: one client opens streams as fast as it can and keeps them; others
/// open theirs, and hear of changes.
// M-SUB-S-05
#[test]
fn a_client_that_subscribes_without_end_shuts_nobody_out() {
    let gate = Gate::default();
    let server = server(&gate);
    let http = server
        .listen_http("0", HttpOptions::new().max_streams(16))
        .unwrap();
    let (over, refused) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let greedy = scope.spawn(|| {
            let mut open = Vec::new();
            while !over.load(Ordering::SeqCst) {
                match Raw::subscribe(1, &http) {
                    Some(stream) => open.push(stream),
                    None => _ = refused.fetch_add(1, Ordering::SeqCst),
                }
            }
            open
        });
        wait_until("it may open no more", || refused.load(Ordering::SeqCst) > 0);
        let ordinary = [2, 3].map(|last| Raw::subscribe(last, &http));
        let [mut second, mut third] = ordinary.map(|stream| stream.expect("a place"));
        for _ in 0..20 {
            let params = json!({"name": "echo", "arguments": {}});
            let mut call = Raw::modern(2, &http, "tools/call", params);
            assert_eq!(call.answer(), "echo");
        }
        server
            .add_tool(Tool::new("new"), |_: Value, _: &Context| "new")
            .unwrap();
        second.hear("notifications/tools/list_changed");
        third.hear("notifications/tools/list_changed");
        over.store(true, Ordering::SeqCst);
        let mut open = greedy.join().unwrap();
        assert_eq!(open.len(), 14, "all but the reserve");
        open[0].hear("notifications/tools/list_changed");
    });
    // They have been given back: another one gets as many.
    let mut open = Vec::new();
    wait_until("it has all but the reserve", || {
        open.extend(Raw::subscribe(4, &http));
        open.len() == 14
    });
    assert!(Raw::subscribe(4, &http).is_none());
}

#[test]
fn the_part_and_the_reserve_of_subscriptions_are_settings() {
    let mut limits = Limits::default();
    (limits.part_percent, limits.reserve_percent) = (20, 40);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |_: Value, _: &Context| "echo")
        .limits(limits)
        .build()
        .unwrap();
    let http = server
        .listen_http("0", HttpOptions::new().max_streams(10))
        .unwrap();
    let open = |last| -> Vec<_> { (0..10).map_while(|_| Raw::subscribe(last, &http)).collect() };
    let (first, second, third) = (open(1), open(2), open(3));
    assert_eq!((first.len(), second.len(), third.len()), (6, 2, 1));
}

/// Promise 11, memory: one principal subscribes to resources in many sessions, and another one can
/// subscribe as well.
#[test]
fn resources_that_one_principal_subscribes_to_leave_room_for_others() {
    let mut limits = Limits::default();
    limits.max_subscriptions = 64;
    let server = Server::builder("s", "1")
        .limits(limits)
        .resource(Resource::new("test://a", "a"), |_, _| "a")
        .build()
        .unwrap();
    let http = server
        .listen_http("0", by_name(HttpOptions::new()))
        .unwrap();
    let uri = format!("test://{}", "x".repeat(63 << 10));
    // Each in a session of its own, which stays when its connection ends.
    let subscribe = |name: &str| {
        let mut client = Raw::from(1, &http, &format!("Authorization: {name}\r\n"));
        assert_eq!(client.initialize(), 200);
        client.post("resources/subscribe", &json!({ "uri": uri }));
        let response = client.client.receive();
        let message: Value = serde_json::from_str(&response.body).unwrap();
        if let Some(error) = message["error"]["message"].as_str() {
            assert!(error.contains("as many resources as they may"), "{error}");
        }
        message.get("result").is_some()
    };
    let count = (0..300).take_while(|_| subscribe("ada")).count();
    assert!((200..260).contains(&count), "{count}");
    assert!(subscribe("bob"));
    assert!(!subscribe("ada"));
}
