//! Clients that write beside the letter of the specification, where that can mean one thing only.

use std::sync::mpsc;

use mcplink::protocol::Connection;
use mcplink::schema::{JsonSchema, Prompt, PromptArgument, ProtocolVersion, Tool};
use mcplink::server::{Context, Server};
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::scripted::{LONG, ScriptedClient, Wire, modern_meta, take};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

fn server() -> Server {
    Server::builder("s", "1")
        .tool_with(Tool::new("show"), |arguments: Value, _: &Context| {
            arguments.to_string()
        })
        .build()
        .unwrap()
}

/// A legacy client that writes each message itself.
fn open(server: &Server) -> (Connection, Wire) {
    let (here, there) = memory::pair();
    let connection = server.open(there).unwrap();
    let mut wire = Wire::open(here);
    let client = r#"{"name":"php","version":"1"}"#;
    wire.send(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":{client},"_meta":[]}}}}"#
    ));
    assert!(wire.receive().unwrap().contains("\"result\""));
    wire.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}"#);
    (connection, wire)
}

fn answer(wire: &mut Wire, id: &str, method: &str, params: &str) -> String {
    wire.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
    ));
    wire.receive().unwrap()
}

#[test]
fn params_without_anything_in_them_are_absent() {
    let server = server();
    let (_connection, mut wire) = open(&server);
    for params in ["null", "[]", "[ ]", "{}"] {
        for method in ["ping", "tools/list"] {
            let text = answer(&mut wire, "7", method, params);
            assert!(text.contains("\"result\""), "{method} {params}: {text}");
        }
    }
    for params in ["[1]", "\"\"", "0", "false", "[null]"] {
        let text = answer(&mut wire, "7", "tools/list", params);
        assert!(text.contains("-32602"), "{params}: {text}");
    }
}

#[test]
fn an_empty_array_is_an_empty_object() {
    let server = server();
    let (_connection, mut wire) = open(&server);
    for params in [
        r#"{"name":"show","arguments":[]}"#,
        r#"{"name":"show","arguments":[ ],"_meta":[]}"#,
        r#"{"_meta":[],"name":"show","arguments":null}"#,
    ] {
        let text = answer(&mut wire, "7", "tools/call", params);
        assert!(text.contains(r#""text":"{}""#), "{params}: {text}");
    }
    let text = answer(&mut wire, "7", "tools/list", r#"{"_meta":[]}"#);
    assert!(text.contains("\"tools\""), "{text}");
    for params in [
        r#"{"name":"show","arguments":[1]}"#,
        r#"{"name":"show","arguments":""}"#,
        r#"{"name":[]}"#,
        r#"{"name":"show","_meta":[1]}"#,
    ] {
        let text = answer(&mut wire, "7", "tools/call", params);
        assert!(text.contains("-32602"), "{params}: {text}");
    }
}

#[test]
fn a_prompt_without_arguments_may_say_so_with_an_array() {
    let prompt = Prompt::new("p").argument(PromptArgument::new("a"));
    let server = Server::builder("s", "1")
        .prompt(prompt, |arguments: Value, _: &Context| {
            arguments.to_string()
        })
        .build()
        .unwrap();
    let (_connection, mut wire) = open(&server);
    let text = answer(
        &mut wire,
        "7",
        "prompts/get",
        r#"{"name":"p","arguments":[]}"#,
    );
    assert!(text.contains(r#""text":"{}""#), "{text}");
}

#[test]
fn a_modern_client_may_write_its_capabilities_as_an_array() {
    let mut client = ScriptedClient::of(&server());
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!([]);
    let answer = client.ask("tools/list", json!({ "_meta": meta }));
    assert!(answer.get("result").is_some(), "{answer}");
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!([{}]);
    let answer = client.ask("tools/list", json!({ "_meta": meta }));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn what_a_client_has_to_say_of_itself_is_still_asked_for() {
    let server = server();
    for client in [json!({ "name": "c" }), json!({ "version": "1" }), json!([])] {
        let mut scripted = ScriptedClient::of(&server);
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client,
        });
        let answer = scripted.ask("initialize", params);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

// M-BASE-S-06, L-BASE-B-06, M-BASE-S-12
#[test]
fn an_integer_id_comes_back_as_it_was_written() {
    let server = server();
    let (_connection, mut wire) = open(&server);
    for id in [
        "1.0",
        "1e0",
        "10e-1",
        "-0",
        "-2.50e1",
        "1E+3",
        "9007199254740993.0",
    ] {
        for method in ["ping", "no/such"] {
            let text = answer(&mut wire, id, method, "{}");
            let echoed =
                text.contains(&format!("\"id\":{id},")) || text.contains(&format!("\"id\":{id}}}"));
            assert!(echoed, "{id}: {text}");
        }
    }
    for id in ["1.50", "15e-1", "1e-1"] {
        let text = answer(&mut wire, id, "ping", "{}");
        assert!(
            text.contains("-32600") && !text.contains("\"id\""),
            "{text}"
        );
    }
}

#[test]
fn a_request_is_cancelled_in_another_spelling_of_its_id() {
    let (began, begun) = mpsc::channel();
    let (ended, is_cancelled) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            began.send(()).unwrap();
            ended.send(context.cancel_token().wait(LONG)).unwrap();
        })
        .build()
        .unwrap();
    let (_connection, mut wire) = open(&server);
    wire.send(r#"{"jsonrpc":"2.0","id":5.0,"method":"tools/call","params":{"name":"wait"}}"#);
    take(&begun);
    wire.send(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":50e-1}}"#,
    );
    assert!(take(&is_cancelled));
    // Nothing is sent for it.
    let text = answer(&mut wire, "6", "ping", "{}");
    assert!(text.contains("\"id\":6"), "{text}");
}

#[test]
fn every_tool_says_that_it_has_properties() {
    fn check(schema: &str, expected: &str) {
        let tool = Tool::new("t").input_schema(JsonSchema::parse(schema).unwrap());
        let server = Server::builder("s", "1")
            .tool_with(tool, |_: Value, _: &Context| "")
            .build()
            .unwrap();
        let (_connection, mut wire) = open(&server);
        let text = answer(&mut wire, "7", "tools/list", "{}");
        let expected = format!("\"inputSchema\":{expected}");
        assert!(text.contains(&expected), "{schema}: {text}");
    }
    let bare = r#"{"type":"object","properties":{}}"#;
    assert_eq!(Tool::new("t").input_schema.as_str(), bare);
    check(r#"{"type":"object"}"#, bare);
    check(
        r#"{ "type": "object" }"#,
        r#"{ "type": "object","properties":{}}"#,
    );
    check(
        r#"{"additionalProperties":false,"type":"object"}"#,
        r#"{"additionalProperties":false,"type":"object","properties":{}}"#,
    );
    // What its author wrote stays as it is.
    let own = r#"{"z":1.50,"properties":{"a":{"type":"string"}},"type":"object"}"#;
    check(own, own);
    let nested = r#"{"type":"object","$defs":{"properties":{"type":"object"}}}"#;
    check(
        nested,
        r#"{"type":"object","$defs":{"properties":{"type":"object"}},"properties":{}}"#,
    );
}
