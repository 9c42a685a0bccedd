//! What a client makes of the answers to its calls, and of their absence.

use std::num::NonZeroU32;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::protocol::CancelToken;
use mcplink::schema::{LoggingLevel, ProtocolVersion, Tool};
use mcplink::server::{Context, RateLimit, Server};
use mcplink::transport::{Limits, memory};
use serde_json::{Value, json};

use crate::scripted::{LONG, Scripted, ScriptedServer, asker, connect, in_time, script, take};

/// A client of the newest revision whose server goes on with a script.
fn modern<T: Send + 'static>(
    then: impl FnOnce(&mut ScriptedServer) -> T + Send + 'static,
) -> (Client, Scripted<T>) {
    speaking(ProtocolVersion::LATEST, then)
}

fn speaking<T: Send + 'static>(
    revision: ProtocolVersion,
    then: impl FnOnce(&mut ScriptedServer) -> T + Send + 'static,
) -> (Client, Scripted<T>) {
    let (transport, script) = script(move |server| {
        if revision.is_modern() {
            server.open_modern();
        } else {
            server.open_legacy(revision);
        }
        then(server)
    });
    (connect(asker(), transport).unwrap(), script)
}

/// Answers the next request with each of the results.
fn answering(results: Vec<Value>) -> impl FnOnce(&mut ScriptedServer) -> Vec<Value> + Send {
    move |server| {
        let answered = results.into_iter().map(|result| {
            let request = server.next().expect("a request");
            server.answer(&request, result);
            request
        });
        answered.collect()
    }
}

fn page(names: &[&str], next: Option<Value>) -> Value {
    let tools: Vec<Value> = names
        .iter()
        .map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }))
        .collect();
    let mut page =
        json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" });
    if let Some(next) = next {
        page["nextCursor"] = next;
    }
    page
}

// M-PAGE-C-01, M-PAGE-C-04, M-PAGE-C-05, M-PAGE-C-06, M-PAGE-C-07, L-PAGE-C-01, L-PAGE-C-03, L-PAGE-C-04
#[test]
fn pages_are_followed_whatever_their_size_and_cursor() {
    let odd = "a\"\\\u{2028} \t=?";
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::V2024_11_05] {
        for end in [None, Some(json!(null))] {
            let pages = vec![
                page(&["a"], Some(json!(""))),
                page(&["b", "c", "d", "e", "f", "g", "h"], Some(json!(odd))),
                page(&[], Some(json!("0"))),
                page(&["i"], end),
            ];
            let (client, script) = speaking(revision, answering(pages));
            let names: String = client
                .list_tools()
                .unwrap()
                .into_iter()
                .map(|tool| tool.name)
                .collect();
            assert_eq!(names, "abcdefghi");
            let cursors: Vec<Value> = script
                .end()
                .iter()
                .map(|request| request["params"]["cursor"].clone())
                .collect();
            assert_eq!(cursors, [json!(null), json!(""), json!(odd), json!("0")]);
        }
    }
}

// M-BASE-C-09, M-BASE-C-10, M-BASE-C-11, M-MRTR-S-05
#[test]
fn a_result_is_taken_only_when_its_type_is_understood() {
    let result = |kind: Option<Value>| {
        let mut result = json!({ "content": [{ "type": "text", "text": "secret" }] });
        if let Some(kind) = kind {
            result["resultType"] = kind;
        }
        result
    };
    for (kind, expected) in [
        (None, None),
        (Some(json!("complete")), None),
        (Some(json!("zzz")), Some(ErrorKind::Protocol)),
        (Some(json!("task")), Some(ErrorKind::Protocol)),
        (Some(json!("Complete")), Some(ErrorKind::Protocol)),
        (Some(json!("")), Some(ErrorKind::Protocol)),
        (Some(json!(1)), Some(ErrorKind::Protocol)),
        (Some(json!(null)), None),
        // It names no input.
        (Some(json!("input_required")), Some(ErrorKind::Protocol)),
    ] {
        let (client, script) = modern(answering(vec![result(kind.clone())]));
        let called = client.call_tool("t", &json!({}));
        match (&called, expected) {
            (Ok(result), None) => assert_eq!(result.content[0].as_text(), Some("secret")),
            (Err(error), Some(expected)) => {
                assert_eq!(error.kind(), expected, "{error}");
                assert!(error.was_sent());
                let text = error.to_string();
                assert!(
                    text.contains("tools/call") && !text.contains("secret"),
                    "{text}"
                );
            }
            other => panic!("{kind:?}: {other:?}"),
        }
        script.end();
    }
    // The legacy era has no such member, so that it means nothing there.
    let (client, script) = speaking(
        ProtocolVersion::V2025_11_25,
        answering(vec![result(Some(json!("zzz")))]),
    );
    client.call_tool("t", &json!({})).unwrap();
    script.end();
}

// Seen in other SDKs: a result is read as the wrong type because its shape fits; unknown members vanish in a round trip.
// M-BASE-B-20, M-META-B-01, M-TOOL-B-36
#[test]
fn results_are_read_as_their_methods_say_and_keep_what_is_unknown() {
    // Each is a superset of the other's.
    let everything = json!({
        "resultType": "complete",
        "content": [{ "type": "text", "text": "a", "later": [1] }],
        "structuredContent": null,
        "tools": [{ "name": "t", "inputSchema": { "type": "object", "$defs": {} }, "later": {} }],
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "nextCursor": null,
        "ttlMs": 5,
        "cacheScope": "public",
        "later": { "a": null },
        "_meta": { "com.example/a": 1, "io.modelcontextprotocol/later": [] },
    });
    let (client, script) = modern(answering(vec![everything.clone(); 2]));
    let tools = client.list_tools().unwrap();
    assert_eq!(serde_json::to_value(&tools).unwrap(), everything["tools"]);
    let result = client.call_tool("t", &json!({})).unwrap();
    let mut written = serde_json::to_value(&result).unwrap();
    for member in everything.as_object().unwrap().keys() {
        let kept = written.as_object_mut().unwrap().remove(member);
        if member != "nextCursor" {
            assert_eq!(kept.as_ref(), Some(&everything[member]), "{member}");
        }
    }
    assert!(!result.is_error());
    script.end();
}

#[test]
fn results_of_another_shape_are_errors_of_the_protocol() {
    for result in [json!([1]), json!(null), json!("x"), json!({ "content": 7 })] {
        let (client, script) = modern(answering(vec![result]));
        let error = client.call_tool("t", &json!({})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        let text = error.to_string();
        assert!(
            text.contains("tools/call") && text.contains("'scripted'"),
            "{text}"
        );
        script.end();
    }
}

// M-TOOL-C-26, L-TOOL-C-16, M-TOOL-B-36
#[test]
fn that_a_tool_failed_is_a_result() {
    let failed = json!({ "content": [{ "type": "text", "text": "no disk" }], "isError": true });
    let (client, script) = modern(answering(vec![failed]));
    let result = client.call_tool("t", &json!({})).unwrap();
    assert!(result.is_error());
    assert_eq!(result.content[0].as_text(), Some("no disk"));
    script.end();
}

// M-ERR-B-03, M-ERR-B-10
#[test]
fn refusals_keep_their_code_and_are_no_local_failures() {
    for code in [-32000, -32001, -32002, -32003, -32004, -32602, -32042, 7] {
        let (client, script) = modern(move |server| {
            let call = server.expect("tools/call");
            server.refuse(
                &call,
                json!({ "code": code, "message": "timed out", "data": [1] }),
            );
        });
        let error = client.call_tool("t", &json!({})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Peer);
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code.value(), code);
        assert_eq!(rpc.data.as_ref().unwrap().get(), "[1]");
        script.end();
    }
}

// M-CANC-C-01, M-CANC-C-05, M-CANC-C-13, M-CANC-B-18, M-CANC-B-19, M-CANC-B-20, M-ERR-B-10, M-TOOL-C-34, L-CANC-B-01, L-CANC-B-05, L-INIT-B-18,
// Must not happen: the peer of a call that timed out works on, untold; a time-out error names neither method nor setting.
// L-INIT-B-19, L-INIT-B-20
#[test]
fn a_call_that_times_out_tells_the_server_and_its_late_answer_is_dropped() {
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::V2024_11_05] {
        let (client, script) = speaking(revision, |server| {
            let slow = server.expect("tools/call");
            let cancelled = server.expect("notifications/cancelled");
            assert_eq!(cancelled["params"]["requestId"], slow["id"]);
            assert!(cancelled["params"]["reason"].is_string());
            assert_eq!(cancelled["params"].get("_meta"), era_meta(&slow).as_ref());
            server.answer(
                &slow,
                json!({ "content": [{ "type": "text", "text": "late" }] }),
            );
            let next = server.expect("tools/call");
            assert_ne!(next["id"], slow["id"]);
            server.answer(
                &next,
                json!({ "content": [{ "type": "text", "text": "next" }] }),
            );
            server.expect_end();
        });
        let options = CallOptions::new().timeout(Duration::from_millis(50));
        let error = client
            .call_tool_with("slow", &json!({}), options)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(error.was_sent() && error.rpc().is_none());
        let text = error.to_string();
        for part in ["tools/call", "the in-memory peer", "timeout is 50 ms"] {
            assert!(text.contains(part), "{text}");
        }
        let result = client.call_tool("next", &json!({})).unwrap();
        assert_eq!(result.content[0].as_text(), Some("next"));
        assert_eq!(client.stats().late_responses, 1);
        drop(client);
        script.end();
    }
}

/// The `_meta` of notifications of the client that sent this request.
fn era_meta(request: &Value) -> Option<Value> {
    let mut meta = request["params"]["_meta"].clone();
    meta.as_object_mut()?.remove("progressToken");
    meta.as_object()
        .is_some_and(|meta| !meta.is_empty())
        .then_some(meta)
}

// A server of both eras may tell them apart by the `_meta` of each message.
#[test]
fn notifications_of_the_modern_era_have_its_meta() {
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::V2024_11_05] {
        let (client, script) = speaking(revision, |server| {
            let call = server.expect("tools/call");
            server.answer(&call, json!({ "content": [] }));
            let era = era_meta(&call);
            let plain = server.expect("notifications/x");
            assert_eq!(plain["params"].get("_meta"), era.as_ref());
            let own = server.expect("notifications/x");
            let mut expected = era.unwrap_or_else(|| json!({}));
            expected["own"] = json!(1);
            assert_eq!(own["params"], json!({ "_meta": expected, "a": [1] }));
        });
        client.call_tool("t", &json!({})).unwrap();
        client.notify("notifications/x", &()).unwrap();
        let params = json!({ "_meta": { "own": 1 }, "a": [1] });
        client.notify("notifications/x", &params).unwrap();
        let error = client.notify("notifications/x", &[1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        drop(client);
        script.end();
    }
}

// M-CANC-C-05, M-CANC-C-07, L-CANC-B-01
#[test]
fn only_calls_in_flight_are_cancelled() {
    let (called, calls) = mpsc::channel();
    let (client, script) = modern(move |server| {
        let call = server.expect("tools/call");
        called.send(()).unwrap();
        let cancelled = server.expect("notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], call["id"]);
        let done = server.expect("tools/call");
        server.answer(&done, json!({ "content": [] }));
        server.expect_end();
    });
    let token = CancelToken::new();
    let calling = {
        let (client, token) = (client.clone(), token.clone());
        std::thread::spawn(move || {
            let options = CallOptions::new().cancel_with(&token);
            client.call_tool_with("t", &json!({}), options)
        })
    };
    take(&calls);
    token.cancel();
    let error = in_time(move || calling.join().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let token = CancelToken::new();
    let options = CallOptions::new().cancel_with(&token);
    client.call_tool_with("t", &json!({}), options).unwrap();
    token.cancel();
    // Cancelled before it is sent, it is not sent.
    let options = CallOptions::new().cancel_with(&token);
    let error = client.call_tool_with("t", &json!({}), options).unwrap_err();
    assert_eq!(
        (error.kind(), error.was_sent()),
        (ErrorKind::Cancelled, false)
    );
    drop(client);
    script.end();
}

// Seen in other SDKs: a long tool that reports progress runs into the time-out; progress comes out of order, or after the result; callbacks
// of a call come after it returned.
// M-PROG-B-06, M-PROG-B-09, L-PROG-B-09, M-CANC-B-21, L-INIT-B-21
#[test]
fn progress_reaches_its_call_and_extends_it_up_to_a_cap() {
    let (step, steps) = mpsc::channel::<()>();
    let (client, script) = modern(move |server| {
        let call = server.expect("tools/call");
        let token = &call["params"]["_meta"]["progressToken"];
        let progress = |token: &Value, progress: f64| {
            let params = json!({ "progressToken": token, "progress": progress, "total": 1.5, "message": "m" });
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
        };
        server.send(&progress(&json!("stranger"), 9.0));
        server.send(&progress(&json!(null), 9.0));
        for value in [0.25, 0.5, 1.0] {
            server.send(&progress(token, value));
        }
        server.answer(&call, json!({ "content": [] }));
        server.send(&progress(token, 1.25));
        // A call whose progress never ends.
        let endless = server.expect("tools/call");
        let token = &endless["params"]["_meta"]["progressToken"];
        let mut value = 0.0;
        while steps.recv_timeout(LONG).is_ok() {
            value += 1.0;
            server.send(&progress(token, value));
        }
        server.expect("notifications/cancelled");
    });
    let mut seen = Vec::new();
    let options = CallOptions::new().on_progress(|progress| {
        assert_eq!(
            (progress.total, progress.message.as_deref()),
            (Some(1.5), Some("m"))
        );
        seen.push(progress.progress);
    });
    client.call_tool_with("t", &json!({}), options).unwrap();
    assert_eq!(seen, [0.25, 0.5, 1.0]);
    step.send(()).unwrap();
    let options = CallOptions::new()
        .timeout(Duration::from_secs(20))
        .max_timeout(Duration::from_millis(200))
        .on_progress(|_| _ = step.send(()));
    let error = client.call_tool_with("t", &json!({}), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(
        error.to_string().contains("max_timeout is 200 ms"),
        "{error}"
    );
    drop(step);
    script.end();
    drop(client);
}

#[test]
fn what_may_be_tried_again_is_told() {
    let busy = |data: Value| {
        modern(move |server| {
            let call = server.next().expect("a call");
            let error = json!({ "code": -32603, "message": "no", "data": data });
            server.send(&json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }));
        })
    };
    for (data, may) in [
        (json!({ "busy": true, "retryAfterMs": 5 }), true),
        (json!({ "busy": false }), false),
        (json!({ "busy": 1 }), false),
        (json!([true]), false),
        (Value::Null, false),
    ] {
        let (client, script) = busy(data.clone());
        let error = client.call_tool("t", &json!({})).unwrap_err();
        assert_eq!(
            (error.kind(), error.is_retryable()),
            (ErrorKind::Peer, may),
            "{data}"
        );
        script.end();
    }
    // What may have been done already is not done again.
    let (client, script) = modern(|server| drop(server.next()));
    let options = CallOptions::new().timeout(Duration::from_millis(20));
    let error = client.call_tool_with("t", &json!({}), options).unwrap_err();
    assert!(error.was_sent() && !error.is_retryable(), "{error}");
    client.close();
    let error = client.call_tool("t", &json!({})).unwrap_err();
    assert!(!error.was_sent() && error.is_retryable(), "{error}");
    drop(script);
}

#[test]
fn servers_of_this_library_say_when_they_are_busy() {
    let mut limits = Limits::default();
    limits.max_requests = 0;
    let say = |_: Value, _: &Context| "said";
    let one = NonZeroU32::MIN;
    let hourly = RateLimit::new(one, Duration::from_secs(3600)).on(&["tools/call"]);
    for server in [
        Server::builder("s", "1").limits(limits),
        Server::builder("s", "1").guard(hourly),
    ] {
        let server = server.tool_with(Tool::new("say"), say).build().unwrap();
        let (here, there) = memory::pair();
        let _serving = server.open(there).unwrap();
        let client = Client::builder("c", "1").connect(here).unwrap();
        let error = (0..2).find_map(|_| client.call_tool("say", &json!({})).err());
        let error = error.expect("one call too many");
        assert!(error.is_retryable(), "{error}");
    }
}

#[test]
fn the_handlers_of_log_messages_can_be_awaited() {
    let logs = |_: Value, context: &Context| {
        for number in 1..=3 {
            context.log(LoggingLevel::Info, None, number);
        }
        "logged"
    };
    let server = Server::builder("logs", "1.0").logging(true);
    let server = server.tool_with(Tool::new("logs"), logs).build().unwrap();
    let (here, there) = memory::pair();
    let _serving = server.open(there).unwrap();
    let (proceed, may_proceed) = mpsc::channel();
    let (sender, handled) = mpsc::channel();
    let may_proceed = Mutex::new(may_proceed);
    let client = Client::builder("test", "1.0").on_log_message(move |message| {
        may_proceed.lock().unwrap().recv_timeout(LONG).unwrap();
        sender.send(message.data.get().to_owned()).unwrap();
    });
    let client = client.connect(here).unwrap();
    assert!(client.wait_for_notifications(Duration::ZERO));
    let options = CallOptions::new().log_level(LoggingLevel::Info);
    client.call_tool_with("logs", &json!({}), options).unwrap();
    // The call has returned, and the handler of the first message still runs.
    assert!(!client.wait_for_notifications(Duration::from_millis(1)));
    for _ in 0..3 {
        proceed.send(()).unwrap();
    }
    assert!(client.wait_for_notifications(LONG));
    let texts: Vec<String> = handled.try_iter().collect();
    assert_eq!(texts, ["1", "2", "3"]);
    // Nothing is awaited when the connection is closed.
    client.close();
    assert!(client.wait_for_notifications(Duration::ZERO));
}
