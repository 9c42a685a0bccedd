//! What is taken of the fields of an HTTP request, and what is refused in which words.

use mcplink::schema::{ProtocolVersion, Tool};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, Server};
use serde_json::{Value, json};

use crate::http_server::Socket;
use crate::web::{Web, field, initialize, modern};

fn server() -> Server {
    Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .build()
        .unwrap()
}

fn owned(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = fields.iter();
    owned
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

// L-HTTP-S-02, M-HTTP-S-02, M-HDR-S-40: a proxy on the way may have read the other one.
#[test]
fn fields_that_decide_may_be_there_twice_only_with_one_value() {
    let web = Web::with(
        &server(),
        HttpOptions::new().allowed_origins(["https://app.example"]),
    );
    let session = web.session(ProtocolVersion::V2025_11_25);
    let legacy = [
        ("Host", "localhost:8080"),
        ("Origin", "https://app.example"),
        ("Authorization", "Bearer x"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", session.id.as_str()),
        ("MCP-Protocol-Version", "2025-11-25"),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Name", "x"),
        ("Last-Event-ID", "x"),
    ];
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    for (place, (name, value)) in legacy.iter().enumerate() {
        let with = |other: &str, first: bool| {
            let mut fields = owned(&legacy);
            let at = if first { place } else { legacy.len() };
            fields.insert(at, (name.to_lowercase(), other.to_owned()));
            fields
        };
        for first in [true, false] {
            let post = |other: &str, message: &Value| {
                web.send_exactly("POST", "/mcp", with(other, first), message.to_string())
            };
            assert_eq!(post(value, &list).status(), 200, "{name} twice");
            assert_eq!(post(value, &note).status(), 202, "{name} twice");
            for message in [&list, &note] {
                let answer = post("other", message);
                let text = answer.message()["error"]["message"].to_string();
                assert_eq!(answer.status(), 400, "{name}: {text}");
                assert!(text.contains(name), "{name}: {text}");
            }
            for method in ["GET", "HEAD", "DELETE"] {
                let answer = web.send_exactly(method, "/mcp", with("other", first), "");
                assert_eq!(answer.status(), 400, "{method} {name}");
            }
        }
    }
    assert_eq!(session.request("ping", json!({})).status(), 200);
}

// M-HDR-S-03, M-HDR-S-07, M-HDR-S-40, AMB-01
#[test]
fn fields_that_repeat_a_modern_request_may_be_there_twice_only_with_one_value() {
    let web = Web::new(&server());
    let params = json!({"name": "echo"});
    let (message, right) = modern(7, "tools/call", params, json!({}));
    let mut all = owned(&[
        ("Host", "localhost:8080"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ]);
    all.extend(
        right
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone())),
    );
    for (name, value) in &right {
        let post = |other: &str| {
            let mut fields = all.clone();
            fields.push(((*name).to_owned(), other.to_owned()));
            web.send_exactly("POST", "/mcp", fields, message.to_string())
        };
        assert_eq!(post(value).status(), 200, "{name}");
        let answer = post("other");
        assert_eq!((answer.status(), answer.error_code()), (400, -32020));
        let message = answer.message();
        assert_eq!(message["id"], 7);
        let text = message["error"]["message"].as_str().unwrap();
        assert!(text.contains(name), "{text}");
    }
}

// AMB-07
#[test]
fn what_a_client_does_not_take_is_not_sent() {
    let web = Web::new(&server());
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let session = web.session(ProtocolVersion::V2025_11_25);
    let post = |accept: &str| {
        let mut fields = session.fields();
        fields.push(("Accept", accept));
        web.post(&fields, &list).status()
    };
    for accept in [
        "application/json;q=0, text/event-stream;q=0",
        "*/*;q=0",
        "application/*;q=0.0, text/*; q=0.000",
        "text/html, application/json;q=0",
    ] {
        assert_eq!(post(accept), 406, "{accept}");
    }
    for accept in ["application/json;q=0.1", "text/event-stream;q=0, */*"] {
        assert_eq!(post(accept), 200, "{accept}");
    }
    for method in ["GET", "HEAD"] {
        let mut fields = session.fields();
        fields.push(("Accept", "*/*, text/event-stream;q=0"));
        assert_eq!(web.send(method, "/mcp", &fields, "").status(), 406);
    }
}

// AMB-07; RFC 9110, section 15.5.16
#[test]
fn a_body_in_a_coding_is_refused_and_identity_is_none() {
    let web = Web::with(&server(), HttpOptions::new().old_paths("/sse", "/messages"));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let session = web.session(ProtocolVersion::V2025_11_25);
    let post = |coding: &str| {
        let mut fields = session.fields();
        fields.push(("Content-Encoding", coding));
        web.post(&fields, &list)
    };
    for coding in ["identity", "Identity", "identity, identity"] {
        assert_eq!(post(coding).status(), 200, "{coding}");
    }
    for coding in ["gzip", "br", "identity, gzip", "x-unknown"] {
        let answer = post(coding);
        assert_eq!(answer.status(), 415, "{coding}");
        assert_eq!(field(&answer.head(), "Accept-Encoding"), Some("identity"));
        let text = answer.message()["error"]["message"].to_string();
        assert!(text.contains("Content-Encoding"), "{text}");
    }
    let stream = web.send("GET", "/sse", &[("Accept", "text/event-stream")], "");
    let endpoint = stream.event().expect("an event").data;
    let coded = [("Content-Encoding", "gzip")];
    assert_eq!(web.send("POST", &endpoint, &coded, "x").status(), 415);
}

// L-HTTP-S-25, M-HTTP-S-26; RFC 9110, section 9.3.2
#[test]
fn head_is_answered_as_get_without_a_stream() {
    let options = HttpOptions::new().old_paths("/sse", "/messages");
    let server = server();
    let web = Web::with(&server, options);
    let session = web.session(ProtocolVersion::V2025_11_25);
    let head = |behind: &str| {
        let mut fields = session.fields();
        fields.extend([("Accept", "text/event-stream"), ("Last-Event-ID", behind)]);
        web.send("HEAD", "/mcp", &fields, "")
    };
    let stream = session.get(None);
    assert_eq!(stream.status(), 200);
    let answer = head("");
    assert_eq!((answer.status(), answer.body()), (200, String::new()));
    assert_eq!(
        field(&answer.head(), "Content-Type"),
        Some("text/event-stream")
    );
    assert_eq!(head("9-9").status(), 400);
    // It is no reader: what is said goes to the one that there is.
    let tool = Tool::new("new");
    server.add_tool(tool, |_: Value, _: &Context| "").unwrap();
    assert!(stream.event().is_some());
    assert_eq!(web.send("HEAD", "/mcp", &[], "").status(), 400);
    let unknown = [("Mcp-Session-Id", "unknown")];
    assert_eq!(web.send("HEAD", "/mcp", &unknown, "").status(), 404);
    let sessions = web.service.sessions();
    assert_eq!(web.send("HEAD", "/sse", &[], "").status(), 200);
    assert_eq!(web.service.sessions(), sessions);
    let stateless = Web::with(&server, HttpOptions::new().sessions(false));
    assert_eq!(stateless.send("HEAD", "/mcp", &[], "").status(), 405);
}

// RFC 9110, section 9.3.2
#[test]
fn behind_head_the_connection_goes_on() {
    let options = HttpOptions::new();
    let server = server().listen_http("127.0.0.1:0", options).unwrap();
    let mut socket = Socket::open(&server);
    let opening = initialize(1, ProtocolVersion::V2025_11_25, json!({}));
    socket.send("POST", &[], &opening.to_string());
    let (head, _) = socket.message();
    let id = head.field("Mcp-Session-Id").unwrap().to_owned();
    let fields = [("Mcp-Session-Id", id.as_str())];
    for (behind, status) in [("0-0", 200), ("9-9", 400)] {
        socket.send("HEAD", &[fields[0], ("Last-Event-ID", behind)], "");
        assert_eq!(socket.head().status, status);
    }
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    socket.send("POST", &fields, &list.to_string());
    assert_eq!(socket.message().1["id"], 2);
}

// M-HTTP-S-01, L-HTTP-S-01
#[test]
fn a_slash_behind_the_path_makes_no_difference() {
    let opening = initialize(1, ProtocolVersion::V2025_11_25, json!({})).to_string();
    for path in ["/mcp", "/mcp/"] {
        let options = HttpOptions::new().path(path).old_paths("/sse", "/messages");
        let web = Web::with(&server(), options);
        for target in ["/mcp", "/mcp/", "/mcp/?a=b"] {
            let answer = web.send("POST", target, &[], opening.as_str());
            assert_eq!(answer.status(), 200, "{target}");
            let id = field(&answer.head(), "Mcp-Session-Id").unwrap().to_owned();
            let fields = [("Mcp-Session-Id", id.as_str())];
            assert_eq!(web.send("GET", target, &fields, "").status(), 200);
            assert_eq!(web.send("DELETE", target, &fields, "").status(), 200);
        }
        for target in ["/mcp//", "/mcp/x", "/"] {
            let answer = web.send("POST", target, &[], opening.as_str());
            assert_eq!(answer.status(), 404, "{target}");
        }
        assert_eq!(web.send("GET", "/sse/", &[], "").status(), 200);
    }
}
