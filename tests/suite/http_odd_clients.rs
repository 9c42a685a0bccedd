//! Clients over raw sockets whose requests are unusual, or almost valid. In both eras such a client
//! gets its responses, and its connection stays open.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Instant;

use mcplink::schema::{
    ElicitRequestParams, ElicitSchema, JsonSchema, Prompt, ProtocolVersion, Resource, Tool,
};
use mcplink::server::http::{HttpOptions, HttpServer};
use mcplink::server::{Context, HandlerError, ResourceRead, Server};
use serde_json::{Value, json};

use crate::common::{Gate, LONG};
use crate::http_server::Socket;
use crate::web::{initialize, modern};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

/// Its tool "wait" waits for the gate, "talk" tells of its progress, "big" returns a long text, and
/// "ask" asks.
fn server(gate: &Gate) -> Server {
    let gate = gate.clone();
    let server = Server::builder("s", "1")
        .page_size(1.try_into().unwrap())
        .tool_with(
            Tool::new("echo").input_schema(JsonSchema::any_object()),
            |args: Value, _: &Context| args.to_string(),
        )
        .tool_with(Tool::new("wait"), move |_: Value, _: &Context| {
            gate.pass();
            "done"
        })
        .tool_with(Tool::new("talk"), |_: Value, context: &Context| {
            context.progress(1.0, None, None);
            "talked"
        })
        .tool_with(Tool::new("big"), |_: Value, _: &Context| {
            "x".repeat(8 << 20)
        })
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| {
            let schema = ElicitSchema::default().to_schema()?;
            context.elicit("name", ElicitRequestParams::form("Name?", schema))?;
            Ok::<_, HandlerError>("done")
        })
        .prompt(Prompt::new("p"), |(): (), _: &Context| "p")
        .prompt(Prompt::new("q"), |(): (), _: &Context| "q")
        .resource(
            Resource::new("r:1", "r"),
            |_: &ResourceRead, _: &Context| "r",
        );
    server.build().unwrap()
}

fn listen(server: &Server) -> HttpServer {
    server
        .listen_http("127.0.0.1:0", HttpOptions::new())
        .unwrap()
}

/// The fields of a new legacy session.
fn session(server: &HttpServer) -> String {
    let mut socket = Socket::open(server);
    let opening = initialize(1, LEGACY, json!({ "elicitation": {} }));
    socket.send("POST", &[], &opening.to_string());
    let (head, _) = socket.message();
    let id = head.field("Mcp-Session-Id").unwrap();
    let version = LEGACY.as_str();
    let fields = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {version}\r\n");
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(ask(&mut socket, &post(&fields, ready)).0, 202);
    fields
}

const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

fn head(method: &str, fields: &str, length: usize) -> String {
    format!(
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{fields}\r\n"
    )
}

/// A POST of a body as it is, with these fields of a session.
fn post(fields: &str, body: &str) -> String {
    head("POST", &format!("{ACCEPT}{fields}"), body.len()) + body
}

/// A legacy request; `id` and `params` are JSON texts.
fn request(fields: &str, id: &str, method: &str, params: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
    post(fields, &body)
}

/// A modern request whose `id` is this JSON text, with other fields for `Accept`.
fn modern_request(id: &str, method: &str, params: Value, accept: &str) -> String {
    let (message, fields) = modern(4711, method, params, json!({}));
    let body = message.to_string().replace("4711", id);
    let fields: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    head("POST", &format!("{accept}{fields}"), body.len()) + &body
}

fn write(socket: &mut Socket, text: &str) {
    socket.stream.get_mut().write_all(text.as_bytes()).unwrap();
}

/// Sends a text, and reads the status and the body as a text.
fn ask(socket: &mut Socket, text: &str) -> (u16, String) {
    write(socket, text);
    answer(socket)
}

fn answer(socket: &mut Socket) -> (u16, String) {
    let head = socket.head();
    let length = head.field("Content-Length").unwrap_or("0");
    let mut body = vec![0; length.parse().unwrap()];
    socket.stream.read_exact(&mut body).unwrap();
    (head.status, String::from_utf8(body).unwrap())
}

/// Reads a stream up to the piece that has this text.
fn until(stream: &mut Socket, text: &str) -> String {
    let deadline = Instant::now() + LONG;
    loop {
        let piece = stream.piece();
        assert!(!piece.is_empty(), "the stream ended without {text}");
        assert!(Instant::now() < deadline, "no {text} in time");
        if piece.contains(text) {
            return piece;
        }
    }
}

fn end_own_side(socket: &Socket) {
    socket.stream.get_ref().shutdown(Shutdown::Write).unwrap();
}

// M-BASE-S-06, L-BASE-B-06, M-BASE-S-12: an id is echoed as it came, if it is one.
#[test]
fn ids_come_back_in_their_own_spelling_or_are_refused_in_words() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let mut socket = Socket::open(&server);
    let each = |socket: &mut Socket, id: &str| {
        [
            ask(socket, &request(&fields, id, "ping", "{}")),
            ask(
                socket,
                &modern_request(id, "server/discover", json!({}), ACCEPT),
            ),
        ]
    };
    for id in [
        "0",
        "-0",
        "-0.0",
        "1.0",
        "1e0",
        "1E2",
        "10e-1",
        "0.1e1",
        "-7",
        "9007199254740993",
        "123456789012345678901234567890",
        r#""""#,
        r#""1""#,
        r#""\u0000""#,
        r#""é\n""#,
    ] {
        for (status, body) in each(&mut socket, id) {
            assert_eq!(status, 200, "{id}: {body}");
            assert!(body.contains(&format!(r#""id":{id},"#)), "{id}: {body}");
        }
    }
    for id in ["1.5", "1e-1", "1e400", "null", "true", "[]", "{}"] {
        for (status, body) in each(&mut socket, id) {
            assert_eq!(status, 400, "{id}: {body}");
            assert!(body.contains("id must be a string or an integer"), "{body}");
        }
    }
}

/// Intermediaries may join fields of one name (RFC 9110, section 5.3).
#[test]
fn equal_values_that_were_joined_are_one_value() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let mut socket = Socket::open(&server);
    let joined = |fields: &str, name: &str, with: Option<&str>| {
        let lines = fields.split_inclusive("\r\n");
        let lines = lines.map(|line| match line.split_once(": ") {
            Some((other, value)) if other.eq_ignore_ascii_case(name) => {
                let value = value.trim_end();
                format!("{name}: {value}, {}\r\n", with.unwrap_or(value))
            }
            _ => line.to_owned(),
        });
        lines.collect::<String>()
    };
    let refusal = |name: &str| format!("header field {name} is there more than once");
    for name in ["Mcp-Session-Id", "MCP-Protocol-Version"] {
        let twice = joined(&fields, name, None);
        assert!(twice.contains(", "), "{twice}");
        let (status, body) = ask(&mut socket, &request(&twice, "1", "ping", "{}"));
        assert_eq!(status, 200, "{name}: {body}");
        let other = joined(&fields, name, Some("2025-06-18"));
        let (status, body) = ask(&mut socket, &request(&other, "1", "ping", "{}"));
        assert_eq!(status, 400, "{name}: {body}");
        assert!(body.contains(&refusal(name)), "{body}");
    }
    let plain = modern_request("1", "tools/list", json!({}), ACCEPT);
    let (head, body) = plain.split_once("\r\n\r\n").unwrap();
    for name in ["Mcp-Method", "MCP-Protocol-Version"] {
        let twice = joined(&format!("{head}\r\n"), name, None);
        let (status, said) = ask(&mut socket, &format!("{twice}\r\n{body}"));
        assert_eq!(status, 200, "{name}: {said}");
        let other = joined(&format!("{head}\r\n"), name, Some("tools/call"));
        let (status, said) = ask(&mut socket, &format!("{other}\r\n{body}"));
        assert_eq!(status, 400, "{name}: {said}");
        assert!(said.contains(&refusal(name)), "{said}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_message() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let mut socket = Socket::open(&server);
    let ping = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    let (status, body) = ask(&mut socket, &post(&fields, ping));
    assert_eq!(status, 200, "{body}");
    let (status, _) = ask(&mut socket, &post(&fields, &format!("\u{feff}{ping}")));
    assert_eq!(status, 400, "two of them are one too many");
}

#[test]
fn a_revision_that_nobody_knows_is_told_as_such() {
    let server = listen(&server(&Gate::default()));
    let mut socket = Socket::open(&server);
    let opening = initialize(1, LEGACY, json!({})).to_string();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for body in [&*opening, list] {
        let unknown = post("MCP-Protocol-Version: 2099-01-01\r\n", body);
        let (status, said) = ask(&mut socket, &unknown);
        assert_eq!(status, 400, "{said}");
        assert!(said.contains("unsupported protocol version"), "{said}");
        assert!(said.contains(r#""requested":"2099-01-01""#), "{said}");
    }
}

#[test]
fn what_is_no_request_is_refused_in_words_of_the_protocol() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let mut socket = Socket::open(&server);
    for (body, said) in [
        ("null", "expected an object"),
        ("7", "expected an object"),
        (r#""ping""#, "expected an object"),
        ("", "not valid JSON"),
        ("[]", "must not be empty"),
        (r#"{"id":1,"method":"ping"}"#, "jsonrpc is missing"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
            "method must be",
        ),
        (r#"{"jsonrpc":"2.0","id":1}"#, "are all missing"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{}"#,
            "trailing characters",
        ),
    ] {
        let (status, text) = ask(&mut socket, &post(&fields, body));
        assert_eq!(status, 400, "{body}: {text}");
        assert!(text.contains(said), "{body}: {text}");
        assert!(!text.contains("struct"), "{body}: {text}");
    }
    assert_eq!(
        ask(&mut socket, &request(&fields, "1", "ping", "{}")).0,
        200
    );
}

// M-PAGE-S-03, L-PAGE-S-05
#[test]
fn members_that_are_null_are_absent_and_cursors_are_taken_as_they_were_given() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let mut socket = Socket::open(&server);
    let mut result = |method: &str, params: Value, is_modern: bool| {
        let text = match is_modern {
            true => modern_request("5", method, params, ACCEPT),
            false => request(&fields, "5", method, &params.to_string()),
        };
        let (status, body) = ask(&mut socket, &text);
        assert_eq!(status, 200, "{method}: {body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    for is_modern in [false, true] {
        let first = result("tools/list", json!({}), is_modern)["result"].take();
        for cursor in [Value::Null, json!("")] {
            let again = result("tools/list", json!({ "cursor": cursor }), is_modern);
            assert_eq!(again["result"], first);
        }
        let cursor = first["nextCursor"].as_str().unwrap().to_owned();
        let next = result("tools/list", json!({ "cursor": cursor }), is_modern);
        assert_ne!(next["result"]["tools"], first["tools"]);
        let foreign = result("prompts/list", json!({}), is_modern)["result"].take();
        let foreign = foreign["nextCursor"].as_str().unwrap().to_owned();
        for other in [
            foreign,
            cursor.to_lowercase(),
            format!("{cursor}="),
            format!(" {cursor}"),
            cursor[1..].to_owned(),
            "x".repeat(5000),
        ] {
            let refused = result("tools/list", json!({ "cursor": other }), is_modern);
            assert_eq!(refused["error"]["code"], -32602, "{other}: {refused}");
        }
        for params in [
            json!({ "name": "echo", "arguments": null }),
            json!({ "name": "echo", "task": null }),
            json!({ "name": "echo", "inputResponses": null, "requestState": null }),
        ] {
            let told = result("tools/call", params, is_modern);
            assert_eq!(told["result"]["content"][0]["text"], "{}", "{told}");
        }
        let told = result(
            "prompts/get",
            json!({ "name": "p", "arguments": null }),
            is_modern,
        );
        assert!(told.get("error").is_none(), "{told}");
    }
    let (status, _) = ask(&mut socket, &request(&fields, "5", "tools/list", "null"));
    assert_eq!(status, 200);
}

// AMB-07
#[test]
fn accept_is_read_as_http_says_it() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let mut socket = Socket::open(&server);
    for (accept, status) in [
        ("", 200),
        ("Accept:\r\n", 200),
        ("Accept: ,\r\n", 200),
        ("accept:*/*\r\n", 200),
        ("Accept: Application/JSON\r\n", 200),
        ("Accept: application/*, text/*;q=0.1\r\n", 200),
        ("Accept: application/json,,text/event-stream\r\n", 200),
        ("Accept: application/json; charset=utf-8\r\n", 200),
        ("Accept: application/json; q=0.001\r\n", 200),
        ("Accept: text/event-stream\r\n", 200),
        ("Accept: */*\r\nACCEPT: */*\r\n", 200),
        ("Accept: */*\r\nAccept: text/event-stream\r\n", 400),
        ("Accept: text/html\r\n", 406),
        ("Accept: *\r\n", 406),
        ("Accept: application/json;q=0\r\n", 406),
        ("Accept: */*; q=0.000\r\n", 406),
        ("Accept: application/json text/event-stream\r\n", 406),
    ] {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let legacy = head("POST", &format!("{accept}{fields}"), body.len()) + body;
        let modern = modern_request("1", "tools/list", json!({}), accept);
        for text in [legacy, modern] {
            let (got, body) = ask(&mut socket, &text);
            assert_eq!(got, status, "{accept:?}: {body}");
        }
    }
}

// L-HTTP-S-25, M-HTTP-S-26
#[test]
fn behind_every_refusal_the_connection_goes_on() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let ping = request(&fields, "7", "ping", "{}");
    let not_found = head("POST", &fields, 2).replace("/mcp", "/other") + "{}";
    let wrong_type = head("POST", &fields, 2).replace("application/json", "text/plain") + "{}";
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/x","params":null}"#;
    let mut table = vec![
        (not_found, 404),
        (wrong_type, 415),
        (request(&fields, "7", "ping", "7"), 400),
        (post(&fields, notification), 202),
        (ping.clone() + "\r\n", 200),
    ];
    for method in ["OPTIONS", "PUT", "PATCH", "TRACE", "get", "FOO"] {
        table.push((head(method, &fields, 0), 405));
    }
    // All at once, and what comes is in order.
    let mut socket = Socket::open(&server);
    let all: String = table.iter().map(|(text, _)| text.clone() + &ping).collect();
    write(&mut socket, &all);
    for (text, status) in &table {
        let head = socket.head();
        assert_eq!(head.status, *status, "{text}");
        if *status == 405 {
            assert_eq!(head.field("Allow"), Some("POST, GET, HEAD, DELETE"));
        }
        let length = head.field("Content-Length").unwrap().parse().unwrap();
        socket.stream.read_exact(&mut vec![0; length]).unwrap();
        let (status, body) = answer(&mut socket);
        assert_eq!((status, body.contains(r#""id":7"#)), (200, true), "{text}");
    }
    // A response to HEAD has no body, whatever is asked for.
    for (target, status) in [("/mcp", 200), ("/other", 404), ("/mcp?a", 200)] {
        let text = head("HEAD", &format!("Accept: text/event-stream\r\n{fields}"), 0);
        write(&mut socket, &text.replace("/mcp", target));
        assert_eq!(socket.head().status, status, "{target}");
        assert_eq!(ask(&mut socket, &ping).0, 200);
    }
}

// M-HTTP-S-18: the end of a client's own side says that it sends no more, not that it has left.
#[test]
fn a_half_closed_connection_gets_everything_that_it_asked_for() {
    let gate = Gate::default();
    let mcp = server(&gate);
    let server = listen(&mcp);
    let fields = session(&server);
    let call = |id: &str, tool: &str| {
        let params = format!(r#"{{"name":"{tool}","_meta":{{"progressToken":1}}}}"#);
        request(&fields, id, "tools/call", &params)
    };
    // Two calls behind each other, and the beginning of a third one.
    let mut calls = Socket::open(&server);
    let beginning = &call("4", "wait")[..40];
    write(
        &mut calls,
        &(call("2", "wait") + &call("3", "echo") + beginning),
    );
    gate.wait_for(1);
    end_own_side(&calls);
    let mut question = Socket::open(&server);
    write(&mut question, &call("5", "ask"));
    end_own_side(&question);
    let listening = json!({ "notifications": { "toolsListChanged": true } });
    let listening = modern_request("6", "subscriptions/listen", listening, ACCEPT);
    let get = head("GET", &format!("Accept: text/event-stream\r\n{fields}"), 0);
    let mut streams = [listening, get].map(|text| {
        let mut socket = Socket::open(&server);
        write(&mut socket, &text);
        end_own_side(&socket);
        assert_eq!(socket.head().status, 200);
        socket
    });
    until(&mut streams[0], "acknowledged");
    gate.open();
    for text in ["done", "{}"] {
        let (status, body) = answer(&mut calls);
        assert_eq!(status, 200);
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["result"]["content"][0]["text"], text);
    }
    assert!(calls.is_over());
    mcp.add_tool(Tool::new("new"), |_: Value, _: &Context| "")
        .unwrap();
    for stream in &mut streams {
        until(stream, "tools/list_changed");
    }
    assert_eq!(question.head().status, 200);
    let asked = until(&mut question, "elicitation/create");
    let (_, asked) = asked.split_once("data: {").expect("a question");
    let asked: Value = serde_json::from_str(&format!("{{{asked}")).unwrap();
    let accepted = json!({ "action": "accept", "content": {} });
    let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted });
    let mut other = Socket::open(&server);
    assert_eq!(ask(&mut other, &post(&fields, &reply.to_string())).0, 202);
    until(&mut question, r#""text":"done""#);
}

// RFC 9112, section 9.3: such a client knows no chunks, and reads until the end.
#[test]
fn a_client_of_http_1_0_gets_answers_and_streams_without_chunks() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let params = r#"{"name":"talk","_meta":{"progressToken":1}}"#;
    for (text, said) in [
        (request(&fields, "2", "ping", "{}"), r#""result":{}"#),
        (request(&fields, "3", "tools/call", params), "talked"),
    ] {
        let mut socket = Socket::open(&server);
        write(&mut socket, &text.replace("HTTP/1.1", "HTTP/1.0"));
        let head = socket.head();
        assert_eq!(head.status, 200);
        assert_eq!(head.field("Transfer-Encoding"), None);
        let mut body = String::new();
        socket.stream.read_to_string(&mut body).unwrap();
        assert!(body.contains(said), "{body}");
    }
}

// Must not happen: a client that does not read delays others.
#[test]
fn a_client_that_reads_late_delays_nobody_and_gets_all() {
    let server = listen(&server(&Gate::default()));
    let fields = session(&server);
    let big = |id: &str| request(&fields, id, "tools/call", r#"{"name":"big"}"#);
    let mut late = Socket::open(&server);
    write(&mut late, &(big("2") + &big("3")));
    // The first response is larger than what the system holds for it.
    late.stream.get_ref().peek(&mut [0]).unwrap();
    let mut other = Socket::open(&server);
    for _ in 0..20 {
        assert_eq!(ask(&mut other, &request(&fields, "9", "ping", "{}")).0, 200);
    }
    for _ in 0..2 {
        let (status, body) = answer(&mut late);
        assert_eq!((status, body.len() > 8 << 20), (200, true));
    }
}

#[test]
fn who_takes_json_only_gets_no_stream_and_is_not_asked() {
    let server = listen(&server(&Gate::default()));
    let session = session(&server);
    let meta = json!({ "progressToken": "t" });
    let call = |tool: &str| json!({ "name": tool, "arguments": {}, "_meta": meta });
    for accept in [
        "Accept: application/json\r\n",
        "Accept: application/json, text/event-stream;q=0\r\n",
    ] {
        let legacy = |tool: &str| {
            let message = json!({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call(tool),
            });
            let body = message.to_string();
            head("POST", &format!("{accept}{session}"), body.len()) + &body
        };
        let mut socket = Socket::open(&server);
        let modern = modern_request("1", "tools/call", call("talk"), accept);
        for request in [legacy("talk"), modern] {
            let (status, text) = ask(&mut socket, &request);
            assert_eq!(status, 200, "{accept}{text}");
            let answer: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(answer["result"]["content"][0]["text"], "talked", "{text}");
        }
        let (status, text) = ask(&mut socket, &legacy("ask"));
        assert_eq!(status, 200, "{text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["result"]["isError"], true, "{text}");
        assert!(text.contains("accept text/event-stream"), "{text}");
        let listen = json!({ "filter": { "toolsListChanged": true } });
        let request = modern_request("1", "subscriptions/listen", listen, accept);
        let (status, text) = ask(&mut socket, &request);
        assert_eq!(status, 406, "{text}");
        assert!(text.contains("text/event-stream"), "{text}");
    }
}

// Seen in the field: a hosted client gives each of its requests the id 1.
#[test]
fn requests_of_a_session_with_one_id_are_all_answered() {
    let gate = Gate::default();
    let server = listen(&server(&gate));
    let session = session(&server);
    let call = |tool: &str| {
        let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
        request(&session, "1", "tools/call", &params)
    };
    let mut waiting = Vec::from([0; 4].map(|_| {
        let mut socket = Socket::open(&server);
        write(&mut socket, &call("wait"));
        socket
    }));
    gate.wait_for(4);
    // The connection of one of them is lost, and its handler runs on.
    drop(waiting.pop());
    let mut socket = Socket::open(&server);
    let (status, text) = ask(&mut socket, &call("echo"));
    assert_eq!(status, 200);
    assert!(text.contains(r#""id":1,"result""#), "{text}");
    gate.open();
    for socket in &mut waiting {
        let (status, text) = answer(socket);
        assert_eq!(status, 200);
        assert!(text.contains(r#""id":1,"result""#), "{text}");
        assert!(text.contains("done"), "{text}");
    }
}

// L-CANC-B-04
#[test]
fn a_cancellation_ends_the_newest_request_with_its_id() {
    let gate = Gate::default();
    let server = listen(&server(&gate));
    let session = session(&server);
    let mut older = Socket::open(&server);
    let wait = r#"{"name":"wait","arguments":{}}"#;
    write(&mut older, &request(&session, "1", "tools/call", wait));
    gate.wait_for(1);
    let mut newer = Socket::open(&server);
    write(&mut newer, &request(&session, "1", "tools/call", wait));
    gate.wait_for(2);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let mut socket = Socket::open(&server);
    assert_eq!(ask(&mut socket, &post(&session, cancel)).0, 202);
    gate.open();
    let (_, text) = answer(&mut older);
    assert!(text.contains("done"), "{text}");
    let (_, text) = answer(&mut newer);
    assert!(!text.contains("done"), "{text}");
}
