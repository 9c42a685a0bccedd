//! What a server makes of odd messages: envelopes, ids, versions, and what is no message at all.

use mcplink::schema::ProtocolVersion;
use mcplink::server::Server;
use serde_json::{Value, json};

use crate::scripted::{ScriptedClient, greeter, modern, modern_meta};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn server() -> Server {
    greeter().build().unwrap()
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut meta = modern_meta();
    change(&mut meta);
    json!({ "_meta": meta })
}

fn without(key: &str) -> Value {
    with(|meta| drop(meta.as_object_mut().unwrap().remove(key)))
}

// M-META-S-08, M-PROG-C-01, M-BASE-S-18, M-BASE-S-12, M-BASE-S-13
#[test]
fn a_broken_envelope_is_refused() {
    let mut client = ScriptedClient::of(&server());
    let broken = [
        json!({}),
        json!({ "_meta": {} }),
        json!({ "_meta": null }),
        json!({ "_meta": [] }),
        json!({ "_meta": [1] }),
        json!({ "_meta": "x" }),
        without(VERSION),
        without(CAPABILITIES),
        with(|meta| meta[VERSION] = json!(null)),
        with(|meta| meta[VERSION] = json!(20_260_728)),
        with(|meta| meta[CAPABILITIES] = json!(null)),
        with(|meta| meta[CAPABILITIES] = json!([1])),
        with(|meta| meta[CAPABILITIES] = json!("all")),
        with(|meta| meta["progressToken"] = json!(true)),
        with(|meta| meta["progressToken"] = json!(1.5)),
        with(|meta| meta["progressToken"] = json!({})),
    ];
    for method in ["server/discover", "tools/list", "tools/call"] {
        for params in &broken {
            let mut params = params.clone();
            params["name"] = json!("greet");
            params["arguments"] = json!({ "name": "x" });
            let answer = client.ask(method, params.clone());
            assert_eq!(answer["error"]["code"], -32602, "{method} {params}");
        }
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":null}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":"x"}"#,
    ] {
        let (answer, code) = client.refused(text);
        assert_eq!((&answer["id"], code), (&json!("a"), -32602), "{text}");
    }
    client.expect_silence();
}

// M-VER-S-01, M-DISC-S-05, M-ERR-S-11, M-ERR-B-05, AMB-03
#[test]
fn an_unsupported_version_is_refused_with_what_is_supported() {
    let mut client = ScriptedClient::of(&server());
    for version in ["1900-01-01", "2025-11-25", "2099-01-01", "", "x\ny"] {
        for method in ["server/discover", "tools/list", "tools/call"] {
            let mut params = with(|meta| meta[VERSION] = json!(version));
            params["name"] = json!("greet");
            let answer = client.ask(method, params);
            let error = &answer["error"];
            assert_eq!(error["code"], -32022, "{answer}");
            assert_eq!(error["data"]["requested"], version);
            assert_eq!(
                error["data"]["supported"],
                json!([
                    "2026-07-28",
                    "2025-11-25",
                    "2025-06-18",
                    "2025-03-26",
                    "2024-11-05"
                ])
            );
        }
    }
}

// M-META-B-01, M-BASE-B-20, L-META-B-01
#[test]
fn unknown_members_are_tolerated_everywhere() {
    let mut client = ScriptedClient::of(&server());
    let mut params = with(|meta| {
        meta["io.modelcontextprotocol/later"] = json!([1, { "a": null }]);
        meta["com.example/x"] = json!(false);
        meta["traceparent"] = json!(7);
        meta[CAPABILITIES] = json!({ "telepathy": {}, "extensions": { "com.example/e": {} } });
        meta["io.modelcontextprotocol/clientInfo"]["mood"] = json!("good");
    });
    params["later"] = json!({});
    let id =
        json!({ "jsonrpc": "2.0", "id": "u", "method": "tools/list", "params": params, "x": 1 });
    client.send(&id);
    let answer = client.receive();
    assert_eq!(answer["result"]["tools"][0]["name"], "greet", "{answer}");
}

// M-BASE-S-06, L-BASE-B-06, L-BASE-B-03
#[test]
fn ids_come_back_as_they_were() {
    let mut client = ScriptedClient::of(&server());
    let params = modern(json!({ "name": "greet", "arguments": { "name": "x" } }));
    for id in [
        "1",
        "\"1\"",
        "0",
        "-5",
        "9007199254740993",
        "-9223372036854775808",
        "\"\"",
        "\"ä\\n\\\"\"",
    ] {
        for method in ["server/discover", "tools/call", "no/such"] {
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
            client.send_text(&text);
            let (answer, value) = client.receive_text();
            let echoed: Value = serde_json::from_str(id).unwrap();
            assert_eq!(value["id"], echoed, "{answer}");
            let written: std::collections::HashMap<String, &serde_json::value::RawValue> =
                serde_json::from_str(&answer).unwrap();
            assert_eq!(written["id"].get(), id);
        }
    }
}

// M-BASE-S-18, M-BASE-S-12, M-BASE-S-13, M-BASE-C-03, M-BASE-C-04, M-BASE-B-02, M-BASE-B-21, M-ERR-B-02, M-STDIO-B-02, L-BASE-B-02, L-BASE-B-04,
// Seen in other SDKs: one odd message ends the server.
// L-BASE-B-09, L-BASE-B-10, AMB-19
#[test]
fn what_is_no_request_is_refused_and_the_next_one_served() {
    let cases = [
        ("{", None, -32700),
        ("nonsense", None, -32700),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping""#,
            Some(7),
            -32700,
        ),
        ("null", None, -32600),
        ("1", None, -32600),
        ("[]", None, -32600),
        (
            r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#,
            None,
            -32600,
        ),
        ("{}", None, -32600),
        (r#"{"id":7,"method":"ping"}"#, Some(7), -32600),
        (
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            Some(7),
            -32600,
        ),
        (r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, Some(7), -32600),
        (r#"{"jsonrpc":"2.0","id":7}"#, Some(7), -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, Some(7), -32600),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            None,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            None,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            None,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None, -32600),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"x"}}"#,
            Some(7),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}"#,
            Some(7),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#,
            Some(7),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#,
            Some(7),
            -32601,
        ),
    ];
    for (text, id, expected) in cases {
        let mut client = ScriptedClient::of(&server());
        let (answer, code) = client.refused(text);
        assert_eq!(code, expected, "{text}");
        assert_eq!(answer.get("id"), id.map(Value::from).as_ref(), "{text}");
        client.expect_silence();
    }
}

// M-BASE-B-15, L-BASE-B-12, M-CANC-B-17, L-CANC-B-09, AMB-74
#[test]
fn notifications_are_never_answered() {
    for revision in [ProtocolVersion::LATEST_LEGACY, ProtocolVersion::LATEST] {
        let mut client = ScriptedClient::speaking(&server(), revision);
        for text in [
            r#"{"jsonrpc":"2.0","method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"greet"}}"#,
            r#"{"jsonrpc":"2.0","method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/later","params":{"_meta":{}}}"#,
            r#"{"jsonrpc":"2.0","method":"no/such","params":[1]}"#,
            r#"{"jsonrpc":"1.0","method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        ] {
            client.send_text(text);
        }
        client.expect_silence();
    }
}

// Must not happen: late answers are errors, or end the connection.
// M-PAT-S-01
#[test]
fn answers_that_nobody_waits_for_are_dropped() {
    let mut client = ScriptedClient::of(&server());
    client.send_text(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    client.send_text(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}"#);
    client.send_text(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#);
    client.send_text(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#);
    client.expect_silence();
}

// M-BASE-S-19, L-BASE-B-16, M-ERR-B-02, M-ERR-B-04
#[test]
fn unknown_methods_are_told_apart_in_every_revision() {
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server(), revision);
        for method in [
            "foo/bar",
            "",
            "prompts/list",
            "resources/read",
            "logging/setLevel",
            "completion/complete",
            "sampling/createMessage",
            &"x".repeat(5000),
        ] {
            let answer = client.ask_fitting(method, json!({}));
            assert_eq!(answer["error"]["code"], -32601, "{revision} {method}");
        }
    }
}

// Seen in other SDKs: a repeated request id overwrites the request in flight.
// AMB-33
#[test]
fn an_id_in_use_is_refused_without_disturbing_its_first_request() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let (started, starts) = std::sync::mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(mcplink::schema::Tool::new("wait"), move |_: Value, _| {
            started.send(()).unwrap();
            crate::scripted::take(&released.lock().unwrap());
            "done"
        })
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let call = json!({
        "jsonrpc": "2.0", "id": "same", "method": "tools/call",
        "params": modern(json!({ "name": "wait" })),
    });
    client.send(&call);
    crate::scripted::take(&starts);
    client.send(&call);
    let answer = client.receive();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("same"), &json!(-32600))
    );
    client.send(&json!({ "jsonrpc": "2.0", "method": "nothing" }));
    release.send(()).unwrap();
    let (_, answer) = client.receive_text();
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    client.expect_silence();
}

/// A member in which there is nothing but objects with one member each, which take a hundred times their text.
fn many_objects(len: usize) -> String {
    let count = len / 7;
    format!("\"x\":[{}]", vec!["{\"\":0}"; count].join(","))
}

// Promise 6: what is kept of a message as a tree is bounded.
#[test]
fn members_with_too_many_parts_are_refused() {
    let mut client = ScriptedClient::of(&server());
    let meta = modern_meta().to_string();
    let meta = meta.strip_prefix('{').unwrap();
    let many = many_objects(1 << 20);
    for (id, inside) in [
        format!("\"_meta\":{{{many},{meta}"),
        format!(
            "\"_meta\":{{{}",
            meta.replacen(
                "Capabilities\":{",
                &format!("Capabilities\":{{\"experimental\":{{{many}}},"),
                1
            )
            .replacen(",}", "}", 1)
        ),
    ]
    .iter()
    .enumerate()
    {
        let params = format!("{{{inside},\"name\":\"greet\",\"arguments\":{{\"name\":\"you\"}}}}");
        for method in ["tools/call", "tools/list"] {
            let text = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}"
            );
            let (answer, code) = client.refused(&text);
            assert_eq!(code, -32602, "{answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(
                message.contains("too many parts: more than 64 MiB"),
                "{message}"
            );
        }
    }
}

#[test]
fn members_with_tens_of_thousands_of_parts_are_not() {
    let mut client = ScriptedClient::of(&server());
    let objects: Value = serde_json::from_str(&format!("{{{}}}", many_objects(600 << 10))).unwrap();
    let mut meta = modern_meta();
    meta["x"] = objects["x"].clone();
    let params = json!({ "name": "greet", "arguments": { "name": "you" }, "_meta": meta });
    let answer = client.ask("tools/call", params);
    assert!(answer["result"].is_object(), "{answer}");
    // What is no tree is not counted.
    let params = json!({ "name": "greet", "arguments": { "name": "you", "x": objects["x"] } });
    let mut params = modern(params);
    params["y"] = objects["x"].clone();
    let answer = client.ask("tools/call", params);
    assert!(answer["result"].is_object(), "{answer}");
}
