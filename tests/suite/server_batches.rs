//! Several messages in one array, which one revision has.

use mcplink::schema::{JsonSchema, ProtocolVersion, Tool};
use mcplink::server::{Server, ToolCall};
use serde_json::{Value, json};

use crate::scripted::{ScriptedClient, greeter, initialize, take};

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn server() -> Server {
    greeter().build().unwrap()
}

fn sorted_ids(batch: &Value) -> Vec<String> {
    let mut ids: Vec<String> = batch
        .as_array()
        .expect("an array")
        .iter()
        .map(|response| response["id"].to_string())
        .collect();
    ids.sort();
    ids
}

// L-BATCH-B-01, AMB-71
#[test]
fn an_array_is_answered_with_an_array() {
    let mut client = ScriptedClient::legacy(&server(), ProtocolVersion::V2025_03_26);
    let greet = json!({ "name": "greet", "arguments": { "name": "you" } });
    client.send_batch(&[
        request("a", "ping", json!({})),
        notification("notifications/later", json!({})),
        request("b", "tools/call", greet),
        request(3, "no/such", json!({})),
    ]);
    let answer = client.receive();
    assert_eq!(sorted_ids(&answer), ["\"a\"", "\"b\"", "3"]);
    client.send_batch(&[request("only", "ping", json!({}))]);
    assert_eq!(sorted_ids(&client.receive()), ["\"only\""]);
    client.expect_silence();
}

// L-BATCH-B-10
#[test]
fn an_array_of_notifications_is_not_answered_and_an_empty_one_is_an_error() {
    let mut client = ScriptedClient::legacy(&server(), ProtocolVersion::V2025_03_26);
    client.send_batch(&[notification("a", json!({})), notification("b", json!({}))]);
    client.expect_silence();
    let (answer, code) = client.refused("[]");
    assert_eq!((code, answer.get("id")), (-32600, None), "{answer}");
    client.expect_silence();
}

// L-BATCH-B-10, L-BASE-B-12
#[test]
fn odd_members_of_an_array_are_answered_one_by_one() {
    let mut client = ScriptedClient::legacy(&server(), ProtocolVersion::V2025_03_26);
    client.send_batch(&[
        json!(1),
        json!({ "jsonrpc": "2.0", "id": 5 }),
        json!({ "jsonrpc": "2.0", "id": 7, "result": {} }),
        json!({ "jsonrpc": "2.0", "method": "x", "params": [] }),
        request(6, "ping", json!({})),
    ]);
    // The schema has no form for an error without an id, so this is read as it came.
    let answer = client.receive_unchecked();
    assert_eq!(sorted_ids(&answer), ["5", "6", "null"]);
    client.expect_silence();
}

// L-BATCH-C-02
#[test]
fn initialize_must_not_come_in_an_array() {
    let mut client = ScriptedClient::of(&server());
    let opening = request(1, "initialize", initialize("2025-03-26"));
    let (answer, code) = client.refused(&json!([opening]).to_string());
    assert_eq!(code, -32600, "{answer}");
    let answer = client.ask("tools/list", json!({}));
    assert_eq!(answer["error"]["code"], -32602, "it opened nothing");
    client.initialize("2025-03-26");
    client.send_batch(&[opening]);
    assert_eq!(client.receive()[0]["error"]["code"], -32600);
}

// L-BATCH-B-09, M-BASE-B-21, M-STDIO-B-02
#[test]
fn other_revisions_know_no_arrays() {
    for &revision in ProtocolVersion::ALL {
        if revision == ProtocolVersion::V2025_03_26 {
            continue;
        }
        let mut client = ScriptedClient::speaking(&server(), revision);
        let pings = json!([request(1, "ping", json!({})), request(2, "ping", json!({}))]);
        let (answer, code) = client.refused(&pings.to_string());
        assert_eq!((code, answer.get("id")), (-32600, None), "{revision}");
        client.expect_silence();
    }
}

// L-BATCH-B-01, L-CANC-B-04
#[test]
fn a_cancelled_member_holds_up_no_array() {
    let (keep, kept) = std::sync::mpsc::channel();
    let server = Server::builder("s", "1")
        .deferred_tool(
            Tool::new("keep").input_schema(JsonSchema::any_object()),
            move |call: ToolCall| drop(keep.send(call)),
        )
        .build()
        .unwrap();
    let mut client = ScriptedClient::legacy(&server, ProtocolVersion::V2025_03_26);
    let call = |id: &str| {
        let params = json!({ "name": "keep", "arguments": { "id": id } });
        request(id, "tools/call", params)
    };
    client.send_batch(&[call("a"), call("b")]);
    // Handlers run side by side, so the second may be first.
    let (mut first, mut second) = (take(&kept), take(&kept));
    if first.raw_arguments().contains("\"b\"") {
        std::mem::swap(&mut first, &mut second);
    }
    let cancel = |id: &str| notification("notifications/cancelled", json!({ "requestId": id }));
    client.expect_silence();
    client.send(&cancel("a"));
    assert!(first.context().cancel_token().wait(crate::scripted::LONG));
    client.expect_silence();
    second.respond("done").unwrap();
    assert_eq!(sorted_ids(&client.receive()), ["\"b\""]);
    // Nothing is left to answer.
    client.send_batch(&[call("c")]);
    let third = take(&kept);
    client.send(&cancel("c"));
    assert!(third.context().cancel_token().wait(crate::scripted::LONG));
    client.expect_silence();
}
