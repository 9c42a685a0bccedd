//! Log messages, to clients of every revision.

use mcplink::jsonrpc::RequestId;
use mcplink::schema::*;
use mcplink::server::{Context, Server};
use serde_json::{Value, json};

use crate::common::Gate;
use crate::raw::Raw;

const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

fn server(logging: bool) -> Server {
    Server::builder("s", "1")
        .tool_with(Tool::new("all"), |_: Value, context: &Context| {
            for level in LEVELS {
                context.log(level.into(), Some("test"), json!({ "at": level }));
            }
            context.log("loud".into(), None, "unknown");
        })
        .tool_with(Tool::new("flood"), |_: Value, context: &Context| {
            for n in 0..100_000 {
                context.log(LoggingLevel::Error, None, n);
            }
        })
        .logging(logging)
        .build()
        .unwrap()
}

/// Calls the tool and tells the levels of the messages that came before its result.
fn levels(client: &mut Raw, meta: Value) -> Vec<String> {
    client.result("tools/call", json!({ "name": "all", "_meta": meta }));
    let mut levels = Vec::new();
    while client.heard() > 0 {
        let message = client.next();
        assert_eq!(message["method"], "notifications/message");
        assert_eq!(message["params"]["logger"], "test");
        assert_eq!(message["params"]["data"]["at"], message["params"]["level"]);
        levels.push(message["params"]["level"].as_str().unwrap().to_owned());
    }
    levels
}

// M-LOG-S-01, M-LOG-S-02, M-LOG-S-03
#[test]
fn modern_clients_get_what_each_request_asks_for() {
    let mut client = Raw::open(&server(true), ProtocolVersion::LATEST);
    assert!(client.capabilities()["logging"].is_object());
    assert!(levels(&mut client, json!({})).is_empty());
    for (at, level) in LEVELS.iter().enumerate() {
        let meta = json!({ "io.modelcontextprotocol/logLevel": level });
        assert_eq!(levels(&mut client, meta), LEVELS[at..]);
    }
    assert!(levels(&mut client, json!({})).is_empty());
}

// M-LOG-S-05
#[test]
fn a_level_that_does_not_exist_is_refused() {
    let mut client = Raw::open(&server(true), ProtocolVersion::LATEST);
    let meta = json!({ "io.modelcontextprotocol/logLevel": "loud" });
    assert_eq!(
        client.code("tools/call", json!({ "name": "all", "_meta": meta })),
        -32602
    );
    assert_eq!(
        client.code("logging/setLevel", json!({ "level": "info" })),
        -32601
    );
}

// L-LOG-S-01, L-LOG-S-02, L-LOG-S-06
#[test]
fn legacy_clients_set_a_level_for_their_connection() {
    let server = server(true);
    for &revision in ProtocolVersion::LEGACY {
        let mut client = Raw::open(&server, revision);
        assert!(client.capabilities()["logging"].is_object());
        assert_eq!(
            levels(&mut client, json!({})),
            LEVELS[1..],
            "info unless it is set"
        );
        for (at, level) in LEVELS.iter().enumerate() {
            client.result("logging/setLevel", json!({ "level": level }));
            assert_eq!(levels(&mut client, json!({})), LEVELS[at..]);
        }
        for params in [json!({ "level": "loud" }), json!({}), json!({ "level": 3 })] {
            assert_eq!(client.code("logging/setLevel", params), -32602);
        }
        assert_eq!(levels(&mut client, json!({})), ["emergency"]);
        let mut other = Raw::open(&server, revision);
        assert_eq!(levels(&mut other, json!({})), LEVELS[1..]);
    }
}

// L-LOG-S-07, M-LOG-S-01
#[test]
fn a_server_without_logging_is_silent() {
    let server = server(false);
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        assert!(client.capabilities().get("logging").is_none());
        let meta = json!({ "io.modelcontextprotocol/logLevel": "debug" });
        assert!(levels(&mut client, meta).is_empty());
        assert_eq!(
            client.code("logging/setLevel", json!({ "level": "info" })),
            -32601
        );
    }
}

// M-LOG-S-06, L-LOG-S-03
#[test]
fn a_flood_of_messages_is_bounded() {
    let mut client = Raw::open(&server(true), ProtocolVersion::LATEST);
    let meta = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    client.check_messages(false);
    client.result("tools/call", json!({ "name": "flood", "_meta": meta }));
    assert!(
        (16_000..60_000).contains(&client.heard()),
        "{}",
        client.heard()
    );
}

// M-LOG-S-02, M-LOG-S-04
#[test]
fn a_message_goes_to_nobody_but_the_call_that_wants_it() {
    let gate = Gate::default();
    let waiting = gate.clone();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), move |args: Value, context: &Context| {
            waiting.pass();
            context.log(LoggingLevel::Error, None, &args["who"]);
        })
        .logging(true)
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let everything = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a:b"] });
    client.request(
        json!("stream"),
        "subscriptions/listen",
        json!({ "notifications": everything }),
    );
    let acknowledged = client.next();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    let mut other = Raw::open(&server, ProtocolVersion::LATEST);
    let wants = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    for (who, meta) in [("wants", &wants), ("does not", &json!({}))] {
        let params = json!({ "name": "t", "arguments": { "who": who }, "_meta": meta });
        client.request(json!(who), "tools/call", params.clone());
        other.request(json!(who), "tools/call", params);
    }
    // All four run at the same time.
    gate.wait_for(4);
    gate.open();
    for client in [&mut client, &mut other] {
        for who in ["wants", "does not"] {
            client.answer_to(&json!(who), Some("tools/call"));
        }
        let message = client.next();
        assert_eq!(message["method"], "notifications/message");
        assert_eq!(message["params"]["data"], "wants");
        // Not on the stream, nor for the other call: by this a transport chooses where it goes.
        assert_eq!(client.logged_for, [Some(RequestId::from("wants"))]);
        assert!(message["params"].get("_meta").is_none(), "{message}");
        client.expect_silence();
    }
}

#[test]
fn messages_without_a_call_reach_legacy_clients_that_want_them() {
    for &revision in ProtocolVersion::LEGACY {
        let server = server(true);
        let mut usual = Raw::open(&server, revision);
        let mut quiet = Raw::open(&server, revision);
        quiet.result("logging/setLevel", json!({ "level": "error" }));
        server.log(LoggingLevel::Debug, None, "fine").unwrap();
        server
            .log(LoggingLevel::Warning, Some("disk"), json!({ "left": 7 }))
            .unwrap();
        server.log(LoggingLevel::Alert, None, "full").unwrap();
        let heard = usual.next();
        assert_eq!(heard["method"], "notifications/message");
        let expected = json!({ "level": "warning", "logger": "disk", "data": { "left": 7 } });
        assert_eq!(heard["params"], expected, "{revision}");
        for client in [&mut usual, &mut quiet] {
            assert_eq!(client.next()["params"]["level"], "alert");
        }
        let unknown = server.log("loud".into(), None, 1).unwrap_err();
        assert_eq!(unknown.kind(), mcplink::ErrorKind::Invalid);
    }
}

#[test]
fn messages_without_a_call_reach_nobody_who_did_not_ask() {
    let silent = server(false);
    let mut legacy = Raw::open(&silent, ProtocolVersion::LATEST_LEGACY);
    silent.log(LoggingLevel::Error, None, "unheard").unwrap();
    let server = server(true);
    let mut modern = Raw::open(&server, ProtocolVersion::LATEST);
    server.log(LoggingLevel::Error, None, "unheard").unwrap();
    for client in [&mut legacy, &mut modern] {
        client.result("tools/list", json!({}));
        assert_eq!(client.heard(), 0);
    }
}
