//! What a server sends for a call before its answer, and after it was cancelled: progress, and nothing.

use std::sync::mpsc;

use mcplink::ErrorKind;
use mcplink::schema::{JsonSchema, ProtocolVersion, Tool};
use mcplink::server::{Context, Server, ToolCall};
use serde_json::{Value, json};

use crate::scripted::{LONG, ScriptedClient, modern, take};

/// A server whose tool `keep` gives its calls to the test.
fn keeper() -> (Server, mpsc::Receiver<ToolCall>) {
    let (keep, kept) = mpsc::channel();
    let server = Server::builder("s", "1")
        .deferred_tool(
            Tool::new("keep").input_schema(JsonSchema::any_object()),
            move |call| drop(keep.send(call)),
        )
        .build()
        .unwrap();
    (server, kept)
}

fn keep(client: &mut ScriptedClient, revision: ProtocolVersion, token: &Value) -> u64 {
    let mut params = json!({ "name": "keep" });
    if !token.is_null() {
        params["_meta"] = json!({ "progressToken": token });
    }
    if revision.is_modern() {
        params = modern(params);
    }
    client.begin("tools/call", params)
}

// M-PROG-S-03, M-PROG-S-04, M-PROG-S-05, M-PROG-B-09, M-PROG-C-01, M-PAT-S-01, L-PROG-B-01, L-PROG-B-03, L-PROG-B-04, L-PROG-B-05, AMB-20
#[test]
fn progress_carries_the_token_as_it_was_and_grows() {
    for &revision in ProtocolVersion::ALL {
        let (server, kept) = keeper();
        let mut client = ScriptedClient::speaking(&server, revision);
        for token in [
            json!(0),
            json!(9_007_199_254_740_993_i64),
            json!(""),
            json!("7"),
        ] {
            let id = keep(&mut client, revision, &token);
            let call = take(&kept);
            let context = call.context();
            context.progress(0.2, Some(1.0), Some("half way"));
            for stale in [0.2, 0.1, -5.0, f64::NAN, f64::INFINITY] {
                context.progress(stale, None, None);
            }
            context.progress(7.0, None, None);
            call.respond("done").unwrap();
            let first = client.receive();
            let mut expected = json!({ "progressToken": token, "progress": 0.2, "total": 1 });
            if revision > ProtocolVersion::V2024_11_05 {
                expected["message"] = json!("half way");
            }
            assert_eq!(first["params"], expected, "{revision}");
            let second = client.receive();
            let expected = json!({ "progressToken": token, "progress": 7 });
            assert_eq!(second["params"], expected, "{revision}");
            assert_eq!(client.receive()["id"], id);
        }
    }
}

// M-PROG-S-05, L-PROG-B-05
#[test]
fn nobody_is_told_who_did_not_ask() {
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
        let (server, kept) = keeper();
        let mut client = ScriptedClient::speaking(&server, revision);
        let id = keep(&mut client, revision, &Value::Null);
        let call = take(&kept);
        call.context().progress(1.0, None, None);
        call.respond("done").unwrap();
        assert_eq!(client.receive()["id"], id);
    }
}

// M-PROG-S-03, M-PROG-S-08, M-PROG-B-07, L-PROG-B-03, L-PROG-B-11
#[test]
fn a_flood_grows_and_its_last_value_comes_before_the_answer() {
    const STEPS: u32 = 50_000;
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("flood"), |_: Value, context: &Context| {
            let flood = || (0..=STEPS).for_each(|step| context.progress(step.into(), None, None));
            std::thread::scope(|scope| {
                scope.spawn(flood);
                scope.spawn(flood);
            });
        })
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let params = json!({ "name": "flood", "_meta": { "progressToken": "f" } });
    let id = client.begin("tools/call", modern(params));
    let (mut last, mut count) = (-1.0, 0);
    loop {
        let message = client.receive();
        if message["id"] == id {
            break;
        }
        let progress = message["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{progress} after {last}");
        (last, count) = (progress, count + 1);
    }
    assert_eq!(last, f64::from(STEPS));
    assert!(count < STEPS, "{count} messages for {STEPS} steps");
    client.expect_silence();
}

// Seen in other SDKs: cancelled requests are answered.
// M-CANC-S-09, M-CANC-S-10, M-CANC-S-11, M-CANC-S-12, M-CANC-B-15, L-CANC-B-04, L-CANC-B-07
#[test]
fn a_cancelled_call_knows_why_and_says_nothing_more() {
    for &revision in ProtocolVersion::ALL {
        let (keep_it, kept) = mpsc::channel();
        let (log, logged) = mpsc::channel();
        let server = Server::builder("s", "1")
            .deferred_tool(
                Tool::new("keep").input_schema(JsonSchema::any_object()),
                move |call| drop(keep_it.send(call)),
            )
            .on_log(move |record| drop(log.send(record.text.to_owned())))
            .build()
            .unwrap();
        let mut client = ScriptedClient::speaking(&server, revision);
        let id = keep(&mut client, revision, &json!("t"));
        let call: ToolCall = take(&kept);
        let (fired, fires) = mpsc::channel();
        let token = call.context().cancel_token().clone();
        let _guard = token.on_trigger(move || fired.send(()).unwrap());
        assert!(!call.context().is_cancelled());
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": id, "reason": "changed my mind" },
        }));
        take(&fires);
        assert!(call.context().is_cancelled() && token.wait(LONG));
        assert_eq!(token.reason().as_deref(), Some("changed my mind"));
        assert_eq!(client.connection.peer().stats().requests_in_flight, 1);
        call.context().progress(1.0, None, None);
        let error = call.respond("too late").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        client.expect_silence();
        assert_eq!(client.connection.peer().stats().requests_in_flight, 0);
        let lines: Vec<String> = logged.try_iter().collect();
        let told = |line: &String| line.contains("changed my mind");
        assert!(lines.iter().any(told), "{lines:?}");
        // A second cancellation, and one after the end, are nobody's business.
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
        }));
        client.expect_silence();
    }
}

// M-CANC-S-11, L-CANC-B-04
#[test]
fn a_cancelled_call_that_panics_or_is_dropped_is_not_answered() {
    let (server, kept) = keeper();
    let mut client = ScriptedClient::of(&server);
    let id = keep(&mut client, ProtocolVersion::LATEST, &Value::Null);
    let call = take(&kept);
    let params = json!({ "requestId": id });
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    assert!(call.context().cancel_token().wait(LONG));
    drop(call);
    client.expect_silence();
}

// M-CANC-B-17, L-CANC-B-09, M-CANC-B-14, L-CANC-B-06
#[test]
fn cancelling_what_is_no_call_in_hand_changes_nothing() {
    let (server, kept) = keeper();
    let mut client = ScriptedClient::of(&server);
    let id = keep(&mut client, ProtocolVersion::LATEST, &Value::Null);
    let call = take(&kept);
    for other in [
        json!(id.to_string()),
        json!(id + 1),
        json!(""),
        json!(null),
        json!(-1),
    ] {
        let params = json!({ "requestId": other });
        client.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
        );
    }
    client.expect_silence();
    assert!(!call.context().is_cancelled());
    call.respond("done").unwrap();
    assert_eq!(client.receive()["id"], id);
}

// Seen in other SDKs: cancelled requests are answered.
// M-CANC-B-14, L-CANC-B-06
#[test]
fn answers_and_cancellations_race_to_at_most_one_response() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("quick"), |_: Value, _: &Context| "done")
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let mut answers = std::collections::BTreeMap::<u64, u32>::new();
    for _ in 0..50 {
        for _ in 0..20 {
            let id = client.begin("tools/call", modern(json!({ "name": "quick" })));
            let params = json!({ "requestId": id });
            client.send(
                &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
            );
        }
        let probe = client.begin("tools/list", modern(json!({})));
        loop {
            let id = client.receive()["id"].as_u64().unwrap();
            if id == probe {
                break;
            }
            *answers.entry(id).or_default() += 1;
        }
    }
    let id = client.begin("tools/call", modern(json!({ "name": "quick" })));
    loop {
        let answer = client.receive();
        if answer["id"] == id {
            break;
        }
        *answers.entry(answer["id"].as_u64().unwrap()).or_default() += 1;
    }
    assert!(answers.values().all(|count| *count == 1), "{answers:?}");
}

// Seen in other SDKs: closing waits for a handler that itself waits for the peer that is gone.
#[test]
fn the_end_of_the_connection_cancels_calls_in_hand() {
    let (keep_it, kept) = mpsc::channel();
    let server = Server::builder("s", "1")
        .deferred_tool(
            Tool::new("keep").input_schema(JsonSchema::any_object()),
            move |call| drop(keep_it.send(call)),
        )
        .drain(std::time::Duration::from_millis(50))
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    keep(&mut client, ProtocolVersion::LATEST, &json!(1));
    let call: ToolCall = take(&kept);
    let ending = std::thread::spawn(move || client.leave());
    assert!(call.context().cancel_token().wait(LONG));
    call.context().progress(1.0, None, None);
    assert_eq!(call.respond("x").unwrap_err().kind(), ErrorKind::Closed);
    ending.join().unwrap();
}
