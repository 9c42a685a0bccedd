//! How a conversation with a server begins, in both eras, one after the other and at once.

use mcplink::schema::ProtocolVersion;
use mcplink::server::Server;
use serde_json::{Value, json};

use crate::scripted::{ScriptedClient, greeter, initialize, modern};

fn server() -> Server {
    greeter().instructions("Be polite.").build().unwrap()
}

fn supported(answer: &Value) -> (i64, &Value) {
    let error = &answer["error"];
    (error["code"].as_i64().unwrap(), &error["data"]["supported"])
}

// M-VER-S-03, M-DISC-S-01, M-DISC-S-02, M-DISC-S-03, M-DISC-S-07, M-META-S-15, M-BASE-S-08, M-CACHE-S-01, M-CACHE-S-09, M-TOOL-S-03, AMB-03,
// AMB-17, AMB-30
#[test]
fn discover_says_what_the_server_is_and_can() {
    let mut client = ScriptedClient::of(&server());
    let answer = client.ask_modern("server/discover", json!({}));
    let info = json!({ "name": "greeter", "version": "1.0" });
    assert_eq!(
        answer["result"],
        json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": { "tools": { "listChanged": true } },
            "instructions": "Be polite.",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": info },
        })
    );
}

// M-VER-S-03, M-DISC-S-03, M-BASE-S-19
#[test]
fn a_server_without_features_is_discovered_and_has_none() {
    let server = Server::builder("empty", "1").build().unwrap();
    let mut client = ScriptedClient::of(&server);
    let answer = client.ask_modern("server/discover", json!({}));
    assert_eq!(answer["result"]["capabilities"], json!({}));
    for method in ["tools/list", "tools/call", "prompts/list", "resources/list"] {
        let answer = client.ask_modern(method, json!({ "name": "x" }));
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
}

// M-META-S-15
#[test]
fn a_server_may_keep_its_name_to_itself() {
    let server = greeter().send_server_info(false).build().unwrap();
    let mut client = ScriptedClient::of(&server);
    for answer in [
        client.ask_modern("server/discover", json!({})),
        client.ask_modern("tools/list", json!({})),
        client.call("greet", json!({ "name": "x" })),
    ] {
        assert!(!answer.to_string().contains("serverInfo"), "{answer}");
    }
    // The legacy era requires it.
    let answer = client.initialize("2025-11-25");
    assert_eq!(answer["result"]["serverInfo"]["name"], "greeter");
}

// L-INIT-S-03, L-INIT-S-09, L-INIT-B-15, L-INIT-B-23, L-BASE-B-01, L-BASE-B-07, L-TOOL-S-03, L-PING-B-01
#[test]
fn initialize_opens_every_legacy_revision() {
    for &revision in ProtocolVersion::LEGACY {
        let mut client = ScriptedClient::of(&server());
        let answer = client.initialize(revision.as_str());
        assert_eq!(
            answer["result"],
            json!({
                "protocolVersion": revision,
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "greeter", "version": "1.0" },
                "instructions": "Be polite.",
            })
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
        let called = client.call("greet", json!({ "name": "you" }));
        assert_eq!(
            called["result"],
            json!({ "content": [{ "type": "text", "text": "Hello, you!" }] })
        );
    }
}

// L-INIT-S-10, L-INIT-S-11, L-INIT-S-25, AMB-60
#[test]
fn initialize_with_an_unknown_revision_is_answered_with_the_latest_legacy_one() {
    for asked in ["1900-01-01", "2026-07-28", "2099-01-01", ""] {
        let mut client = ScriptedClient::of(&server());
        let answer = client.initialize(asked);
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{asked:?}"
        );
    }
}

// L-INIT-S-24: on a stream; over HTTP it opens another session.
#[test]
fn a_second_initialize_is_refused_and_changes_nothing() {
    let mut client = ScriptedClient::legacy(&server(), ProtocolVersion::V2024_11_05);
    let answer = client.initialize("2025-11-25");
    assert_eq!(answer["error"]["code"], -32600);
    let listed = client.ask("tools/list", json!({}));
    assert!(listed["result"].get("_meta").is_none(), "{listed}");
}

// L-INIT-S-03, M-BASE-S-18
#[test]
fn initialize_of_a_wrong_shape_is_refused_and_may_be_tried_again() {
    let mut client = ScriptedClient::of(&server());
    let without = |member: &str| {
        let mut params = initialize("2025-11-25");
        params.as_object_mut().unwrap().remove(member);
        params
    };
    let mut wrong_type = initialize("2025-11-25");
    wrong_type["protocolVersion"] = json!(2025);
    for params in [json!({}), without("protocolVersion"), wrong_type] {
        let answer = client.ask("initialize", params);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert!(client.initialize("2025-11-25").get("result").is_some());
}

// L-INIT-B-01, M-META-S-08
#[test]
fn nothing_is_served_before_the_terms_are_known() {
    let mut client = ScriptedClient::of(&server());
    for method in ["tools/list", "tools/call", "server/discover"] {
        let answer = client.ask(method, json!({ "name": "greet" }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(
            text.contains("protocolVersion") && text.contains("initialize"),
            "{text}"
        );
    }
}

// Seen in other SDKs: requests before `notifications/initialized` end the connection.
// L-PING-B-01
#[test]
fn the_order_of_opening_is_not_insisted_on() {
    let mut client = ScriptedClient::of(&server());
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client.initialize("2025-06-18");
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    // Still before notifications/initialized.
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "greet");
    let called = client.call("greet", json!({ "name": "you" }));
    assert_eq!(called["result"]["content"][0]["text"], "Hello, you!");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client.expect_silence();
}

// M-VER-C-04, M-STATE-S-01
#[test]
fn any_modern_request_may_be_the_first() {
    for (method, params) in [
        (
            "tools/call",
            json!({ "name": "greet", "arguments": { "name": "x" } }),
        ),
        ("tools/list", json!({})),
        ("server/discover", json!({})),
    ] {
        let mut client = ScriptedClient::of(&server());
        let answer = client.ask_modern(method, params);
        assert!(answer.get("result").is_some(), "{answer}");
    }
}

// AMB-02, M-BASE-S-19, M-VER-S-15
#[test]
fn legacy_methods_in_a_modern_envelope_are_unknown() {
    let mut client = ScriptedClient::of(&server());
    let opening = modern(initialize("2025-11-25"));
    for (method, params) in [("initialize", opening.clone()), ("ping", modern(json!({})))] {
        let answer = client.ask(method, params);
        let (code, names) = supported(&answer);
        assert_eq!(
            (code, &names[0]),
            (-32601, &json!("2026-07-28")),
            "{answer}"
        );
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains("2026-07-28"), "{text}");
    }
    // It opened nothing, and stays unknown when something is open.
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32602);
    client.initialize("2025-11-25");
    assert_eq!(client.ask("initialize", opening)["error"]["code"], -32601);
    let answer = client.ask("server/discover", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

// M-STATE-S-01, M-STATE-S-02, M-STATE-S-06, M-VER-S-15, M-VER-S-16, M-VER-B-17, L-BASE-B-15
#[test]
fn both_eras_live_on_one_connection_and_do_not_mix() {
    let mut client = ScriptedClient::of(&server());
    let modern_works = |client: &mut ScriptedClient| {
        let answer = client.ask_modern("tools/list", json!({}));
        assert_eq!(answer["result"]["resultType"], "complete");
        let info = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["name"], "greeter");
    };
    modern_works(&mut client);
    let answer = client.ask("tools/list", json!({}));
    assert_eq!(answer["error"]["code"], -32602, "nothing is remembered");
    client.initialize("2024-11-05");
    for _ in 0..3 {
        let legacy = client.ask("tools/list", json!({}));
        assert!(legacy["result"].get("resultType").is_none(), "{legacy}");
        modern_works(&mut client);
    }
    // Many at once, in any order.
    let params = json!({ "name": "greet", "arguments": { "name": "x" } });
    let mut open: std::collections::BTreeMap<u64, bool> = (0..50)
        .map(|turn| {
            let is_modern = turn % 2 == 0;
            let params = if is_modern {
                modern(params.clone())
            } else {
                params.clone()
            };
            (client.begin("tools/call", params), is_modern)
        })
        .collect();
    while !open.is_empty() {
        let answer = client.receive();
        let is_modern = open.remove(&answer["id"].as_u64().unwrap()).unwrap();
        assert_eq!(answer["result"].get("resultType").is_some(), is_modern);
        assert_eq!(answer["result"]["content"][0]["text"], "Hello, x!");
    }
}

// M-STATE-S-01, M-META-S-08, M-META-S-11, AMB-29
#[test]
fn each_modern_request_is_judged_by_itself() {
    let mut client = ScriptedClient::of(&server());
    client.ask_modern("server/discover", json!({}));
    let mut meta = modern(json!({}));
    meta["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(client.ask("tools/list", meta)["error"]["code"], -32602);
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32602);
    let mut nameless = modern(json!({}));
    nameless["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientInfo");
    assert!(client.ask("tools/list", nameless).get("result").is_some());
}

// M-VER-S-01, M-VER-S-11, M-ERR-S-11, M-ERR-B-05, M-VER-B-17
#[test]
fn a_modern_server_refuses_initialize_and_names_what_it_speaks() {
    let server = greeter()
        .revisions(&[ProtocolVersion::V2026_07_28])
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let answer = client.initialize("2025-11-25");
    assert_eq!(supported(&answer), (-32022, &json!(["2026-07-28"])));
    assert_eq!(answer["error"]["data"]["requested"], "2025-11-25");
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(text.contains("2026-07-28"), "{text}");
    let discovered = client.ask_modern("server/discover", json!({}));
    assert_eq!(
        discovered["result"]["supportedVersions"],
        json!(["2026-07-28"])
    );
}

// M-VER-S-01, M-VER-B-17, L-INIT-S-09, L-INIT-S-11
#[test]
fn a_legacy_server_is_not_to_be_discovered() {
    let server = greeter()
        .revisions(&[ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_06_18])
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let answer = client.ask_modern("server/discover", json!({}));
    assert_eq!(answer["error"]["code"], -32601);
    let answer = client.ask_modern("tools/list", json!({}));
    let expected = json!(["2025-06-18", "2024-11-05"]);
    assert_eq!(supported(&answer), (-32022, &expected), "switched off");
    assert_eq!(answer["error"]["data"]["requested"], "2026-07-28");
    let answer = client.initialize("2025-11-25");
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert!(client.ask("tools/list", json!({})).get("result").is_some());
}

#[test]
fn a_server_needs_a_revision() {
    let error = greeter().revisions(&[]).build().unwrap_err();
    assert_eq!(error.kind(), mcplink::ErrorKind::Invalid);
}
