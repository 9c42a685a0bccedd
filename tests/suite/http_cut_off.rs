//! Calls in flight when their session ends, or their server: each gets an answer.

use std::num::NonZeroUsize;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::protocol::Responder;
use mcplink::schema::{ProtocolVersion, TaskSupport, Tool};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, Server, ServerBuilder, TaskOptions};
use serde_json::{Value, json};

use crate::common::{Gate, LONG, wait_until};
use crate::http_server::Socket;
use crate::tasks_server::tool;
use crate::web::{LegacySession, Web, initialize};

/// Its tools wait at the gate, and do not look whether they are cancelled; "tell" says something
/// before.
fn stubborn(gate: &Gate) -> ServerBuilder {
    let [at_gate, behind_gate] = [gate.clone(), gate.clone()];
    Server::builder("s", "1")
        .tool_with(Tool::new("wait"), move |_: Value, _: &Context| {
            at_gate.pass();
            "done"
        })
        .tool_with(Tool::new("tell"), move |_: Value, context: &Context| {
            context.progress(1.0, None, None);
            behind_gate.pass();
            "done"
        })
}

fn call(id: usize, tool: &str) -> Value {
    let params = json!({"name": tool, "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

// L-SESS-S-06
#[test]
fn the_end_of_a_session_answers_all_its_calls_and_waits_for_none() {
    let gate = Gate::default();
    let server = stubborn(&gate).build().unwrap();
    let options = HttpOptions::new();
    let server = server.listen_http("127.0.0.1:0", options).unwrap();
    let mut socket = Socket::open(&server);
    let opening = initialize(1, ProtocolVersion::V2025_11_25, json!({}));
    socket.send("POST", &[], &opening.to_string());
    let (head, _) = socket.message();
    let id = head.field("Mcp-Session-Id").unwrap().to_owned();
    let fields = [("Mcp-Session-Id", &*id)];
    let mut stream = Socket::open(&server);
    stream.send("GET", &fields, "");
    assert_eq!(stream.head().status, 200);
    let mut calls: Vec<_> = (0..90)
        .map(|number| {
            let mut socket = Socket::open(&server);
            socket.send("POST", &fields, &call(number, "wait").to_string());
            socket
        })
        .collect();
    gate.wait_for(64);
    let until = Instant::now() + LONG;
    while server.stats().waiting < 26 {
        assert!(Instant::now() < until, "{:?}", server.stats());
        thread::yield_now();
    }
    socket.send("DELETE", &fields, "");
    assert_eq!(socket.head().status, 200);
    assert_eq!(stream.piece(), "", "the end of the stream");
    let (mut cut_off, mut refused) = (0, 0);
    for (number, call) in calls.iter_mut().enumerate() {
        let (head, message) = call.message();
        match head.status {
            200 => {
                cut_off += 1;
                assert_eq!(message["id"], number);
                assert_eq!(message["error"]["code"], -32603);
                let text = message["error"]["message"].as_str().unwrap();
                assert!(text.contains("ended its session"), "{text}");
            }
            status => {
                refused += 1;
                assert_eq!((status, &message["id"]), (404, &json!(number)), "{message}");
                let text = message["error"]["message"].as_str().unwrap();
                assert!(text.contains("no such session"), "{text}");
            }
        }
    }
    assert_eq!((cut_off, refused), (64, 26));
    gate.open();
}

// Must not happen: calls that nobody waits for block the client that made them.
#[test]
fn calls_whose_clients_have_gone_leave_room_for_their_session() {
    let gate = Gate::default();
    let server = stubborn(&gate).tool_with(Tool::new("echo"), |_: Value, _: &Context| "echo");
    let server = server.build().unwrap();
    let server = server
        .listen_http("127.0.0.1:0", HttpOptions::new())
        .unwrap();
    let mut socket = Socket::open(&server);
    let opening = initialize(1, ProtocolVersion::V2025_11_25, json!({}));
    socket.send("POST", &[], &opening.to_string());
    let (head, _) = socket.message();
    let id = head.field("Mcp-Session-Id").unwrap().to_owned();
    let fields = [("Mcp-Session-Id", &*id)];
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let mut socket = Socket::open(&server);
            socket.send("POST", &fields, &call(number, "wait").to_string());
            socket
        })
        .collect();
    gate.wait_for(64);
    wait_until("the other calls wait", || server.stats().waiting >= 136);
    drop(calls);
    socket.send("POST", &fields, &call(1000, "echo").to_string());
    let (head, message) = socket.message();
    assert_eq!((head.status, &message["id"]), (200, &json!(1000)));
    gate.open();
}

// M-HTTP-S-13, L-HTTP-S-18
#[test]
fn the_end_of_the_server_answers_what_has_not_finished() {
    let gate = Gate::default();
    let server = stubborn(&gate).drain(Duration::from_millis(50)).build();
    let options = HttpOptions::new();
    let server = server.unwrap().listen_http("127.0.0.1:0", options).unwrap();
    let mut socket = Socket::open(&server);
    let opening = initialize(1, ProtocolVersion::V2025_11_25, json!({}));
    socket.send("POST", &[], &opening.to_string());
    let (head, _) = socket.message();
    let id = head.field("Mcp-Session-Id").unwrap().to_owned();
    let fields = [("Mcp-Session-Id", &*id)];
    let mut legacy = ["wait", "tell"].map(|tool| {
        let mut socket = Socket::open(&server);
        let id = if tool == "wait" { 7 } else { 8 };
        socket.send("POST", &fields, &call(id, tool).to_string());
        gate.wait_for(id - 6);
        socket
    });
    let mut modern = ["wait", "tell"].map(|tool| {
        let mut socket = Socket::open(&server);
        let params = json!({"name": tool, "_meta": {"progressToken": 1}});
        socket.modern("tools/call", params);
        gate.wait_for(if tool == "wait" { 3 } else { 4 });
        socket
    });
    server.close();
    for ([plain, stream], ids) in [(&mut legacy, [7, 8]), (&mut modern, [1, 1])] {
        let (head, message) = plain.message();
        assert_eq!((head.status, &message["id"]), (200, &json!(ids[0])));
        assert_eq!(message["error"]["code"], -32603);
        let text = message["error"]["message"].as_str().unwrap();
        assert!(text.contains("server is closing"), "{text}");
        assert_eq!(stream.head().status, 200);
        let mut pieces = String::new();
        loop {
            let piece = stream.piece();
            if piece.is_empty() {
                break;
            }
            pieces += &piece;
        }
        let last = pieces.rsplit("data: ").next().unwrap();
        let message: Value = serde_json::from_str(last).unwrap();
        assert_eq!(message["id"], ids[1], "{pieces}");
        assert_eq!(message["error"]["code"], -32603);
    }
    gate.open();
}

// L-BATCH-B-10
#[test]
fn of_a_batch_that_is_cut_off_each_request_is_answered() {
    let gate = Gate::default();
    let web = Web::new(&stubborn(&gate).build().unwrap());
    let session = web.session(ProtocolVersion::V2025_03_26);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let answer = session.post(&json!([ping, call(2, "wait"), call(3, "wait")]));
    gate.wait_for(2);
    assert_eq!(session.delete().status(), 200);
    let responses = answer.message();
    let mut told: Vec<_> = responses.as_array().unwrap().iter().collect();
    told.sort_by_key(|response| response["id"].as_i64());
    assert_eq!(told.len(), 3, "{responses}");
    assert_eq!(told[0]["result"], json!({}));
    for response in &told[1..] {
        assert_eq!(response["error"]["code"], -32603, "{responses}");
    }
    gate.open();
}

// Promise 3: a call that is kept is answered once, by whatever comes first.
#[test]
fn kept_calls_are_answered_when_their_service_closes() {
    let (keep, kept) = mpsc::channel();
    let server = Server::builder("s", "1")
        .method("x/keep", move |_, responder| keep.send(responder).unwrap())
        .build()
        .unwrap();
    let web = Web::new(&server);
    let stateless = Web::with(&server, HttpOptions::new().sessions(false));
    let session = web.session(ProtocolVersion::V2025_06_18);
    let version = [("MCP-Protocol-Version", "2025-06-18")];
    let request = json!({"jsonrpc": "2.0", "id": 5, "method": "x/keep"});
    let answers = [
        web.modern("x/keep", json!({})),
        session.request("x/keep", json!({})),
        stateless.post(&version, &request),
    ];
    let kept: Vec<Responder> = answers
        .iter()
        .map(|_| kept.recv_timeout(LONG).unwrap())
        .collect();
    web.service.close();
    stateless.service.close();
    for answer in answers {
        let message = answer.message();
        assert_eq!(answer.status(), 200);
        assert!(message["id"].is_i64());
        assert_eq!(message["error"]["code"], -32603);
    }
    for responder in kept {
        let late = responder.respond(&json!({})).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Closed);
    }
}

// L-TASK-B-25: tasks outlive their session, and what is over gives way.
#[test]
fn finished_tasks_of_a_session_that_has_ended_take_no_place_from_others() {
    let options = TaskOptions::default().max_tasks(NonZeroUsize::new(8).unwrap());
    let server = Server::builder("s", "1").tasks(options).tool_with(
        tool("must", TaskSupport::Required),
        |_: Value, _: &Context| "done",
    );
    let web = Web::new(&server.build().unwrap());
    let start = |session: &LegacySession<'_>| {
        let call = json!({"name": "must", "task": {"ttl": 86_400_000}});
        let created = session.request("tools/call", call).result();
        let task = json!({"taskId": created["task"]["taskId"]});
        let get = || session.request("tasks/get", task.clone()).result();
        wait_until("it is over", || get()["status"] == "completed");
        task
    };
    let first = web.session(ProtocolVersion::V2025_11_25);
    (0..8).for_each(|_| _ = start(&first));
    assert_eq!(first.delete().status(), 200);
    let second = web.session(ProtocolVersion::V2025_11_25);
    let mut tasks: Vec<Value> = (0..16).map(|_| start(&second)).collect();
    // A client may displace what belongs to others up to its part.
    for task in tasks.split_off(12) {
        let result = second.request("tasks/result", task).result();
        assert_eq!(result["content"][0]["text"], "done");
    }
    // And in the other era.
    let able = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for _ in 0..16 {
        let ask = |method: &str, params: Value| {
            let answer = web.modern_as(method, params, able.clone(), &[]);
            answer.result()
        };
        let created = ask("tools/call", json!({"name": "must"}));
        let task = json!({"taskId": created["taskId"]});
        let get = || ask("tasks/get", task.clone());
        wait_until("it is over", || get()["status"] == "completed");
    }
}
