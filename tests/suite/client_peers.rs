//! What a client does with what it did not ask for, and does not ask for.

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::schema::ProtocolVersion;
use serde_json::{Value, json};

use crate::scripted::{ScriptedServer, asker, connect, discovered, initialized, script};

fn done(server: &mut ScriptedServer) {
    let call = server.expect("tools/call");
    server.answer(&call, json!({ "content": [] }));
}

fn request(id: impl Into<Value>, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": {} })
}

// M-STDIO-C-06, M-PAT-S-01
#[test]
fn a_modern_client_writes_no_response() {
    let (transport, script) = script(|server| {
        server.open_modern();
        for (id, method) in [(1, "ping"), (2, "sampling/createMessage"), (3, "mine/own")] {
            server.send(&request(id, method));
        }
        server.send_text(r#"{"jsonrpc":"2.0","id":4,"method":5}"#);
        server.send_text(r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#);
        server.send_text(r#"[{"jsonrpc":"2.0","id":4,"method":"ping"}]"#);
        // The next that comes is a call.
        done(server);
        server.expect_end();
    });
    let client = asker().on_request("mine/own", |_, responder| {
        drop(responder.respond(&json!({})));
    });
    let client = connect(client, transport).unwrap();
    client.call_tool("t", &json!({})).unwrap();
    drop(client);
    script.end();
}

// L-PING-B-01, L-BASE-B-16, L-BASE-B-06
#[test]
fn a_legacy_client_answers_pings_and_refuses_what_it_does_not_know() {
    for &revision in ProtocolVersion::LEGACY {
        let (transport, script) = script(move |server| {
            server.open_legacy(revision);
            for id in [json!(0), json!("0"), json!("")] {
                server.send(&request(id.clone(), "ping"));
                let answer = server.next().unwrap();
                assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
                server.send(&request(id.clone(), "sampling/createMessage"));
                let answer = server.next().unwrap();
                assert_eq!(
                    (&answer["id"], &answer["error"]["code"]),
                    (&id, &json!(-32601))
                );
            }
            server.send(&request("own", "mine/own"));
            assert_eq!(server.next().unwrap()["result"]["mine"], 1);
        });
        let client = asker().on_request("mine/own", move |_, responder| {
            responder.respond(&json!({ "mine": 1 })).unwrap();
        });
        let client = connect(client, transport).unwrap();
        script.end();
        drop(client);
    }
}

// L-PING-B-01, L-INIT-C-05
#[test]
fn pings_are_answered_while_the_conversation_is_opened() {
    let (transport, script) = script(|server| {
        let opening = server.expect("initialize");
        server.send(&request("early", "ping"));
        let pong = server.next_unchecked();
        assert_eq!(pong, r#"{"jsonrpc":"2.0","id":"early","result":{}}"#);
        server.agreed_on(ProtocolVersion::V2025_11_25);
        server.answer(&opening, initialized("2025-11-25"));
        server.expect("notifications/initialized");
    });
    let client = asker().revisions(ProtocolVersion::LEGACY);
    let client = connect(client, transport).unwrap();
    script.end();
    drop(client);
}

// Must not happen: late answers are errors, or end the connection.
// M-BASE-S-07, L-BASE-B-07, L-BASE-B-08, M-CANC-C-13
#[test]
fn answers_that_fit_no_call_are_counted_and_dropped() {
    let (transport, script) = script(|server| {
        server.open_modern();
        let call = server.expect("tools/call");
        for id in [
            json!(99),
            json!(format!("0{}", call["id"])),
            json!(""),
            json!(-1),
        ] {
            let result = json!({ "content": [{ "type": "text", "text": "stray" }] });
            server.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        }
        server.answer(&call, json!({ "content": [] }));
        server.answer(&call, json!({ "content": [] }));
        done(server);
        // One that has neither result nor error, and one that has both, end their calls.
        let call = server.expect("tools/call");
        let error = json!({ "code": 1, "message": "x" });
        server.send(&json!({ "jsonrpc": "2.0", "id": call["id"], "result": {}, "error": error }));
        server.expect_end();
    });
    let client = connect(asker(), transport).unwrap();
    assert!(
        client
            .call_tool("t", &json!({}))
            .unwrap()
            .content
            .is_empty()
    );
    client.call_tool("t", &json!({})).unwrap();
    let error = client.call_tool("t", &json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    let stats = client.stats();
    assert!(stats.unknown_responses >= 3, "{stats:?}");
    drop(client);
    script.end();
}

// L-INIT-B-16, L-INIT-B-22, M-STATE-C-04
#[test]
fn what_the_server_did_not_advertise_is_not_asked_for() {
    for modern in [true, false] {
        let (transport, script) = script(move |server| {
            let probe = server.expect("server/discover");
            if modern {
                let mut result = discovered(&["2026-07-28"]);
                result["capabilities"] = json!({ "prompts": {} });
                server.answer(&probe, result);
            } else {
                server.refuse(&probe, json!({ "code": -32601, "message": "no" }));
                let request = server.expect("initialize");
                let mut result = initialized("2025-06-18");
                result["capabilities"] = json!({ "prompts": {} });
                server.agreed_on(ProtocolVersion::V2025_06_18);
                server.answer(&request, result);
                server.expect("notifications/initialized");
            }
            server.expect_end();
        });
        let client = connect(asker(), transport).unwrap();
        let listing = client.list_tools().unwrap_err();
        let calling = client.call_tool("t", &json!({})).unwrap_err();
        for (error, method) in [(listing, "tools/list"), (calling, "tools/call")] {
            assert_eq!(
                (error.kind(), error.was_sent()),
                (ErrorKind::Unsupported, false)
            );
            let text = error.to_string();
            for part in [method, "'tools'", "'scripted'"] {
                assert!(text.contains(part), "{text}");
            }
        }
        drop(client);
        script.end();
    }
}

#[test]
fn what_is_no_object_is_not_sent() {
    let (transport, script) = script(|server| {
        server.open_modern();
        let call = server.expect("tools/call");
        assert!(call["params"].get("arguments").is_none(), "{call}");
        server.answer(&call, json!({ "content": [] }));
        server.expect_end();
    });
    let client = connect(asker(), transport).unwrap();
    client.call_tool("t", &()).unwrap();
    let error = client.call_tool("t", &[1]).unwrap_err();
    assert_eq!(
        (error.kind(), error.was_sent()),
        (ErrorKind::Invalid, false)
    );
    let error = client
        .request("x", &"text", CallOptions::new())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.was_sent()),
        (ErrorKind::Invalid, false)
    );
    drop(client);
    script.end();
}

// M-STATE-C-04, M-BASE-C-05, M-PROG-C-02, L-PROG-B-02, L-BASE-B-05
#[test]
fn one_client_serves_many_callers_at_once() {
    const CALLERS: usize = 50;
    let (transport, script) = script(|server| {
        server.open_modern();
        let mut open: Vec<Value> = (0..CALLERS).map(|_| server.expect("tools/call")).collect();
        let mut tokens: Vec<String> = open
            .iter()
            .map(|call| {
                format!(
                    "{} {}",
                    call["id"], call["params"]["_meta"]["progressToken"]
                )
            })
            .collect();
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), CALLERS);
        open.reverse();
        for call in open {
            let text = &call["params"]["arguments"]["n"].to_string();
            server.answer(
                &call,
                json!({ "content": [{ "type": "text", "text": text }] }),
            );
        }
        server.expect_end();
    });
    let client = connect(asker(), transport).unwrap();
    let calls = (0..CALLERS).map(|n| {
        let client = client.clone();
        std::thread::spawn(move || {
            let result = client.call_tool("t", &json!({ "n": n })).unwrap();
            assert_eq!(result.content[0].as_text(), Some(&*n.to_string()));
        })
    });
    let calls: Vec<_> = calls.collect();
    calls.into_iter().for_each(|call| call.join().unwrap());
    drop(client);
    script.end();
}

// Seen in other SDKs: waiting calls sleep on after the end of file.
// Must not happen: the error of a lost child tells neither its last words nor its exit status.
// M-STDIO-C-10
#[test]
fn calls_end_when_the_server_goes() {
    let (transport, script) = script(|server| {
        server.open_modern();
        for _ in 0..20 {
            server.expect("tools/call");
        }
    });
    let client = connect(asker(), transport).unwrap();
    let calls = (0..20).map(|_| {
        let client = client.clone();
        std::thread::spawn(move || client.call_tool("t", &json!({})).unwrap_err())
    });
    let calls: Vec<_> = calls.collect();
    for call in calls {
        let error = call.join().unwrap();
        assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, true));
        let text = error.to_string();
        assert!(
            text.contains("tools/call") && text.contains("has closed"),
            "{text}"
        );
    }
    let error = client.call_tool("t", &json!({})).unwrap_err();
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, false));
    assert!(client.is_closed());
    script.end();
}

// L-BATCH-B-09
#[test]
fn arrays_of_answers_are_read_in_the_revision_that_has_them() {
    let (transport, script) = script(|server| {
        server.open_legacy(ProtocolVersion::V2025_03_26);
        let calls = [server.expect("tools/call"), server.expect("tools/call")];
        let answers = calls
            .each_ref()
            .map(|call| json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "content": [] } }));
        let ping = request("p", "ping");
        server.send(&json!([answers[0], ping, answers[1]]));
        let pong = server.next_unchecked();
        assert_eq!(pong, r#"[{"jsonrpc":"2.0","id":"p","result":{}}]"#);
        server.expect_end();
    });
    let client = connect(asker(), transport).unwrap();
    let other = client.clone();
    let calling = std::thread::spawn(move || other.call_tool("t", &json!({})).unwrap());
    client.call_tool("t", &json!({})).unwrap();
    calling.join().unwrap();
    drop(client);
    script.end();
}
