//! Responses on which nothing is said for long: they begin as streams of events, so that nobody on
//! the way takes their connection for dead.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcplink::protocol::Responder;
use mcplink::schema::{
    ElicitRequestParams, ElicitSchema, ProtocolVersion, TaskSupport, Tool, ToolExecution,
};
use mcplink::server::http::{EventLog, EventStore, HttpOptions, HttpServer};
use mcplink::server::{Context, HandlerError, Server, ServerBuilder, TaskOptions};
use mcplink::{Result, RpcError};
use serde_json::{Value, json};

use crate::common::{Gate, LONG};
use crate::http_server::Socket;
use crate::web::{Web, field, initialize};

const SOON: Duration = Duration::from_millis(20);

/// Its tool "wait" says nothing until the gate is open.
fn waiting(gate: &Gate) -> ServerBuilder {
    let gate = gate.clone();
    Server::builder("s", "1").tool_with(Tool::new("wait"), move |_: Value, _: &Context| {
        gate.pass();
        "done"
    })
}

fn listen(server: &Server, options: HttpOptions) -> HttpServer {
    let options = options.keep_alive(SOON);
    server.listen_http("127.0.0.1:0", options).unwrap()
}

fn session(server: &HttpServer, revision: ProtocolVersion) -> String {
    let mut socket = Socket::open(server);
    socket.send("POST", &[], &initialize(1, revision, json!({})).to_string());
    let (head, _) = socket.message();
    head.field("Mcp-Session-Id").unwrap().to_owned()
}

fn call(id: i64) -> String {
    let params = json!({"name": "wait"});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// What comes next that is no comment.
fn event(socket: &mut Socket) -> String {
    loop {
        let piece = socket.piece();
        if !piece.starts_with(':') {
            return piece;
        }
    }
}

// L-HTTP-S-12, L-HTTP-S-14, M-HTTP-S-13, M-HTTP-S-18, M-HTTP-S-20, M-HTTP-S-21
#[test]
fn a_silent_call_begins_as_a_stream_and_is_kept_open() {
    for revision in [
        ProtocolVersion::V2025_03_26,
        ProtocolVersion::V2025_06_18,
        ProtocolVersion::V2025_11_25,
        ProtocolVersion::LATEST,
    ] {
        for sessions in [true, false] {
            let gate = Gate::default();
            let server = waiting(&gate).build().unwrap();
            let server = listen(&server, HttpOptions::new().sessions(sessions));
            let mut socket = Socket::open(&server);
            let version = ("MCP-Protocol-Version", revision.as_str());
            if revision.is_modern() {
                socket.modern("tools/call", json!({"name": "wait"}));
            } else if sessions {
                let session = session(&server, revision);
                socket.send("POST", &[("Mcp-Session-Id", &session), version], &call(2));
            } else {
                socket.send("POST", &[version], &call(2));
            }
            let head = socket.head();
            assert_eq!(head.status, 200);
            assert_eq!(head.field("Content-Type"), Some("text/event-stream"));
            assert_eq!(head.field("X-Accel-Buffering"), Some("no"));
            let first = socket.piece();
            if sessions && revision == ProtocolVersion::V2025_11_25 {
                assert_eq!(first, "id: 2-1\ndata: \n\n");
            } else {
                assert_eq!(first, ": keep-alive\n\n", "{revision:?}");
            }
            for _ in 0..2 {
                assert_eq!(socket.piece(), ": keep-alive\n\n");
            }
            gate.open();
            let last = event(&mut socket);
            let data = last.split_once("data: ").expect("an event").1;
            let message: Value = serde_json::from_str(data).unwrap();
            assert_eq!(message["result"]["content"][0]["text"], "done");
            assert_eq!(event(&mut socket), "", "the end of the body");
        }
    }
}

// AMB-07
#[test]
fn a_client_that_takes_no_events_waits_for_its_answer() {
    for accept in [
        "application/json",
        "application/json, text/event-stream;q=0",
        "*/*, text/*;q=0.0",
    ] {
        let gate = Gate::default();
        let server = waiting(&gate).build().unwrap();
        let server = listen(&server, HttpOptions::new());
        let mut plain = Socket::open(&server);
        let body = call(7);
        let session = session(&server, ProtocolVersion::V2025_11_25);
        plain.send_exactly(
            "POST",
            &[
                ("Accept", accept),
                ("Content-Type", "application/json"),
                ("Mcp-Session-Id", &session),
            ],
            &body,
        );
        gate.wait_for(1);
        let mut other = Socket::open(&server);
        other.send("POST", &[("Mcp-Session-Id", &session)], &call(8));
        other.head();
        for _ in 0..4 {
            other.piece();
        }
        gate.open();
        let (head, message) = plain.message();
        assert_eq!(head.field("Content-Type"), Some("application/json"));
        assert_eq!(message["id"], 7, "{accept}");
    }
}

// L-HTTP-S-22, L-SSE-S-05
#[test]
fn a_client_that_is_lost_before_anything_was_said_gets_its_answer() {
    let gate = Gate::default();
    let server = waiting(&gate).build().unwrap();
    let server = listen(&server, HttpOptions::new());
    let session = session(&server, ProtocolVersion::V2025_11_25);
    let mut socket = Socket::open(&server);
    socket.send("POST", &[("Mcp-Session-Id", &session)], &call(2));
    socket.head();
    let mark = socket.piece();
    let id = mark.lines().next().unwrap().strip_prefix("id: ").unwrap();
    drop(socket);
    let resume = |id: &str| {
        let mut socket = Socket::open(&server);
        socket.send(
            "GET",
            &[("Mcp-Session-Id", &session), ("Last-Event-ID", id)],
            "",
        );
        assert_eq!(socket.head().status, 200);
        socket
    };
    // It may come back before the answer is there, and after.
    let mut early = resume(id);
    gate.open();
    let answer = event(&mut early);
    assert!(answer.contains(r#""text":"done""#), "{answer}");
    assert_eq!(event(&mut early), "");
    assert_eq!(event(&mut resume(id)), answer);
}

/// A server that keeps the requests of a method of its own.
fn keeping() -> (Web, Receiver<Responder>) {
    let (keep, kept) = mpsc::channel();
    let server = Server::builder("s", "1")
        .method("x/keep", move |_, responder| keep.send(responder).unwrap())
        .build()
        .unwrap();
    (Web::new(&server), kept)
}

// M-HTTP-S-24, M-HTTP-S-33: the status is out already.
#[test]
fn an_error_behind_the_beginning_goes_on_the_stream() {
    let (web, kept) = keeping();
    let session = web.session(ProtocolVersion::V2025_11_25);
    for modern in [true, false] {
        let answer = match modern {
            true => web.modern("x/keep", json!({})),
            false => session.request("x/keep", json!({})),
        };
        let responder = kept.recv_timeout(LONG).unwrap();
        answer.is_silent();
        let head = answer.head();
        assert_eq!(head.status, 200);
        assert_eq!(field(&head, "Content-Type"), Some("text/event-stream"));
        let error = RpcError::invalid_request("no");
        responder.refuse(&error).unwrap();
        let messages = answer.messages();
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0]["error"]["code"], -32600);
        assert!(messages[0]["id"].is_i64());
    }
}

// L-BATCH-B-10
#[test]
fn a_silent_batch_begins_as_a_stream_too() {
    let (web, kept) = keeping();
    let session = web.session(ProtocolVersion::V2025_03_26);
    let request = |id: i64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method});
    let answer = session.post(&json!([request(1, "ping"), request(2, "x/keep")]));
    let responder = kept.recv_timeout(LONG).unwrap();
    answer.is_silent();
    responder.respond(&json!({})).unwrap();
    let messages = answer.messages();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].as_array().map(Vec::len), Some(2));
}

// L-TASK-B-05
#[test]
fn a_result_of_a_task_that_is_waited_for_begins_as_a_stream_too() {
    let gate = Gate::default();
    let at_gate = gate.clone();
    let execution = ToolExecution::default().task_support(TaskSupport::Optional);
    let server = Server::builder("s", "1").tasks(TaskOptions::default());
    let tool = Tool::new("task").execution(execution);
    let server = server.tool_with(tool, move |_: Value, _: &Context| {
        at_gate.pass();
        "done"
    });
    let web = Web::new(&server.build().unwrap());
    let session = web.session(ProtocolVersion::V2025_11_25);
    let created = session.request("tools/call", json!({"name": "task", "task": {}}));
    let id = created.result()["task"]["taskId"].clone();
    let answer = session.request("tasks/result", json!({"taskId": id}));
    answer.is_silent();
    let mark = answer.event().expect("an event");
    assert_eq!(mark.data, "");
    gate.open();
    let messages = answer.messages();
    assert_eq!(messages[0]["result"]["content"][0]["text"], "done");
    let again = session.get(mark.id.as_deref()).messages();
    assert_eq!(again, messages);
}

/// Events in a map, by their number on their stream.
#[derive(Clone, Default)]
struct Map(Arc<Mutex<BTreeMap<u64, Vec<u8>>>>);

impl EventStore for Map {
    fn open(&self, _: &str, _: u64) -> Box<dyn EventLog> {
        Box::new(self.clone())
    }
}

impl EventLog for Map {
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()> {
        self.0.lock().unwrap().insert(number, event.to_vec());
        Ok(())
    }

    fn replay_after(
        &mut self,
        number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        for (number, event) in self.0.lock().unwrap().range(number + 1..) {
            if send(*number, event).is_break() {
                break;
            }
        }
        Ok(())
    }
}

// L-SSE-S-05: the thread that keeps the time runs no code of the host's.
#[test]
fn a_store_keeps_the_beginning_of_a_silent_stream_with_what_comes_next() {
    let (keep, kept) = mpsc::channel();
    let server = Server::builder("s", "1")
        .method("x/keep", move |_, responder| keep.send(responder).unwrap())
        .build()
        .unwrap();
    let map = Map::default();
    let web = Web::with(&server, HttpOptions::new().event_store(map.clone()));
    let session = web.session(ProtocolVersion::V2025_11_25);
    let answer = session.request("x/keep", json!({}));
    let responder: Responder = kept.recv_timeout(LONG).unwrap();
    answer.is_silent();
    let mark = answer.event().expect("an event");
    assert!(map.0.lock().unwrap().is_empty());
    // Lost, and read from the mark by another one before anything is kept.
    answer.leave();
    let early = session.get(mark.id.as_deref());
    assert_eq!(early.status(), 200);
    responder.respond(&json!({"a": 1})).unwrap();
    assert_eq!(early.messages().len(), 1);
    let numbers: Vec<_> = map.0.lock().unwrap().keys().copied().collect();
    assert_eq!(numbers, [1, 2]);
    let late = session.get(mark.id.as_deref()).messages();
    assert_eq!(late[0]["result"]["a"], 1);
}

/// Its tool asks for a name, at once or in a task.
fn asking() -> Server {
    let ask = |_: Value, context: &Context| {
        let form = ElicitSchema::default().to_schema()?;
        context.elicit("name", ElicitRequestParams::form("Name?", form))?;
        Ok::<_, HandlerError>("done")
    };
    let server = Server::builder("s", "1").tasks(TaskOptions::default());
    let may = ToolExecution::default().task_support(TaskSupport::Optional);
    let server = server.tool_with(Tool::new("ask").execution(may), ask);
    server.build().unwrap()
}

// L-HTTP-S-10, L-HTTP-S-12: somebody may think for minutes before a form is sent.
#[test]
fn a_question_that_waits_for_its_answer_is_kept_open_by_comments() {
    let server = asking();
    for (revision, in_task) in [
        (ProtocolVersion::V2025_06_18, false),
        (ProtocolVersion::V2025_11_25, false),
        (ProtocolVersion::V2025_11_25, true),
    ] {
        let server = listen(&server, HttpOptions::new());
        let mut other = Socket::open(&server);
        let opening = initialize(1, revision, json!({ "elicitation": {} }));
        other.send("POST", &[], &opening.to_string());
        let id = other
            .message()
            .0
            .field("Mcp-Session-Id")
            .unwrap()
            .to_owned();
        let fields = [
            ("Mcp-Session-Id", id.as_str()),
            ("MCP-Protocol-Version", revision.as_str()),
        ];
        let mut socket = Socket::open(&server);
        let mut ask = |id: i64, method: &str, params: Value| {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            socket.send("POST", &fields, &request.to_string());
        };
        if in_task {
            let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask", "task": {}}});
            other.send("POST", &fields, &call.to_string());
            let created = other.message().1;
            let task = &created["result"]["task"]["taskId"];
            ask(3, "tasks/result", json!({ "taskId": task }));
        } else {
            ask(3, "tools/call", json!({ "name": "ask" }));
        }
        let head = socket.head();
        assert_eq!(head.status, 200);
        assert_eq!(head.field("Content-Type"), Some("text/event-stream"));
        let question = loop {
            // What to resume from comes first, if there is such a thing.
            let piece = event(&mut socket);
            if let Some((_, data)) = piece.split_once("data: {") {
                break serde_json::from_str::<Value>(&format!("{{{data}")).unwrap();
            }
        };
        assert_eq!(question["method"], "elicitation/create", "{question}");
        for _ in 0..3 {
            assert_eq!(socket.piece(), ": keep-alive\n\n", "{revision:?}");
        }
        let accepted = json!({ "action": "accept", "content": {} });
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": accepted});
        other.send("POST", &fields, &answer.to_string());
        assert_eq!(other.message().0.status, 202);
        let last = event(&mut socket);
        assert!(last.contains(r#""text":"done""#), "{last}");
        assert_eq!(event(&mut socket), "", "the end of the body");
    }
}

// M-MRTR-S-01: a modern server does not wait for an answer, so nothing is silent.
#[test]
fn a_modern_question_is_an_answer_and_no_stream() {
    let server = listen(&asking(), HttpOptions::new());
    let mut socket = Socket::open(&server);
    let able = json!({ "elicitation": {} });
    let (message, fields) = crate::web::modern(1, "tools/call", json!({ "name": "ask" }), able);
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    socket.send("POST", &fields, &message.to_string());
    let (head, message) = socket.message();
    assert_eq!(head.field("Content-Type"), Some("application/json"));
    assert_eq!(
        message["result"]["resultType"], "input_required",
        "{message}"
    );
}
