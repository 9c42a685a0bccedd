//! A client and a modern server over HTTP: what is sent, and how answers are read.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Event;
use mcplink::protocol::CancelToken;
use mcplink::schema::{ElicitResult, SubscriptionFilter};
use mcplink::transport::{Direction, Limits, Tap};
use mcplink_testing::Faults;
use serde_json::{Value, json};

use crate::common::{LONG, Witness};
use crate::stub::{
    Out, Seen, Stub, asker, call, call_with, discovered, initialized, progress, text,
};

// M-HTTP-C-06, M-HTTP-C-07, M-HTTP-C-08, M-HTTP-C-09, M-HTTP-C-35, M-HDR-C-01, M-HDR-C-02, M-HDR-C-05, M-HDR-C-06
#[test]
fn each_message_is_a_post_that_says_in_its_header_what_it_is() {
    let stub = Stub::modern(|seen, out| {
        match &*seen.asks() {
        "tools/call" => out.result(seen, text("done")),
        "prompts/get" => out.result(seen, json!({ "resultType": "complete", "messages": [] })),
        "resources/read" => out.result(
            seen,
            json!({ "resultType": "complete", "contents": [], "ttlMs": 0, "cacheScope": "private" }),
        ),
        _ => out.result(
            seen,
            json!({ "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private" }),
        ),
    }
    });
    let client = stub.connect();
    assert_eq!(call(&client, "süd").unwrap(), "done");
    client.get_prompt("my-prompt", &[]).unwrap();
    client.read_resource("file:///a%20b ").unwrap();
    client.list_tools().unwrap();
    let seen = stub.seen();
    let expected = [
        ("server/discover", None),
        ("tools/call", Some("=?base64?c8O8ZA==?=")),
        ("prompts/get", Some("my-prompt")),
        // M-HDR-C-08
        ("resources/read", Some("=?base64?ZmlsZTovLy9hJTIwYiA=?=")),
        ("tools/list", None),
    ];
    assert_eq!(seen.len(), expected.len());
    for (seen, (method, name)) in seen.iter().zip(expected) {
        assert_eq!((&*seen.method, &*seen.target), ("POST", "/mcp"));
        assert_eq!(seen.asks(), method);
        assert_eq!(seen.header("mcp-method"), Some(method));
        assert_eq!(seen.header("mcp-name"), name);
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
        let meta = &seen.body()["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        assert_eq!(
            seen.header("accept"),
            Some("application/json, text/event-stream")
        );
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("mcp-session-id"), None);
    }
    // One call after the other goes by one connection.
    assert!(seen.iter().all(|seen| seen.connection == 0));
}

// M-HTTP-C-14, M-HTTP-C-19
#[test]
fn answers_are_json_or_an_event_stream() {
    let stub = Stub::modern(|seen, out| {
        out.stream();
        out.piece(":\r\n");
        out.piece(": ping\n\ndata:\n\nevent: message\nid: 1\r\n");
        out.event(&progress(seen, 1));
        out.event(&progress(seen, 2));
        let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": text("done") });
        // One event in pieces, and on two lines.
        let answer = answer.to_string();
        let (left, right) = answer.split_at(answer.find(',').unwrap() + 1);
        out.piece(&format!("data: {left}\ndata:"));
        out.piece(&format!(" {right}\n"));
        out.piece("\n");
        out.end();
    });
    let client = stub.connect();
    for _ in 0..3 {
        let here = std::thread::current().id();
        let mut steps = Vec::new();
        let options = CallOptions::new().on_progress(|step| {
            assert_eq!(std::thread::current().id(), here);
            steps.push(step.progress);
        });
        assert_eq!(call_with(&client, "slow", options).unwrap(), "done");
        assert_eq!(steps, [1.0, 2.0]);
    }
    // Streams are read to their end, so their connection is used again.
    assert!(stub.seen().iter().all(|seen| seen.connection == 0));
    assert_eq!(client.stats().threads, 0);
}

#[test]
fn interim_responses_pass_by() {
    let stub = Stub::modern(|seen, out| {
        out.raw("HTTP/1.1 100 Continue\r\n\r\n");
        out.raw("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n");
        out.result(seen, text("done"));
    });
    let client = stub.connect();
    for _ in 0..2 {
        assert_eq!(call(&client, "x").unwrap(), "done");
    }
}

// M-CANC-C-06, M-CANC-C-01, M-HTTP-C-10
#[test]
fn cancelling_closes_the_stream_at_once() {
    let (asked, called) = mpsc::channel();
    let (closed, was_closed) = mpsc::channel();
    let stub = Stub::modern(move |_, out| {
        out.stream();
        asked.send(()).unwrap();
        out.expect_close();
        closed.send(()).unwrap();
    });
    let client = stub.connect();
    let token = CancelToken::new();
    std::thread::scope(|scope| {
        let call =
            scope.spawn(|| call_with(&client, "silent", CallOptions::new().cancel_with(&token)));
        called.recv_timeout(LONG).unwrap();
        let witness = Witness::start();
        token.cancel();
        let error = call.join().unwrap().unwrap_err();
        witness.expect_at_once();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.was_sent());
    });
    was_closed.recv_timeout(LONG).unwrap();
    client.close();
    // Nothing else was posted.
    assert_eq!(stub.seen().len(), 2);
}

// Seen in other SDKs: a call to a silent, stopped or unreading peer never returns.
// M-CANC-B-18, M-CANC-B-19, M-CANC-B-20
#[test]
fn deadlines_hold_for_the_head_and_for_the_body() {
    let stub = Stub::modern(|seen, out| match seen.body()["params"]["name"].as_str() {
        Some("head") => out.expect_close(),
        Some("body") => {
            out.raw(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
            );
            out.expect_close();
        }
        _ => {
            out.stream();
            out.event(&progress(seen, 1));
            out.expect_close();
        }
    });
    let client = stub.connect();
    for tool in ["head", "body", "stream"] {
        let timeout = Duration::from_millis(150);
        let started = Instant::now();
        let error = call_with(&client, tool, CallOptions::new().timeout(timeout)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{tool}: {error}");
        assert!(error.was_sent());
        assert!(started.elapsed() >= timeout, "{tool}");
        assert!(error.to_string().contains("timeout is 150 ms"), "{error}");
    }
}

#[test]
fn progress_extends_the_deadline_up_to_the_cap() {
    let stub = Stub::modern(|seen, out| {
        out.stream();
        for step in 1.. {
            out.event(&progress(seen, step));
            // The pace of the server, not a wait for anybody.
            std::thread::sleep(Duration::from_millis(20));
            if step == 20 && seen.body()["params"]["name"] == "ends" {
                out.event_result(seen, text("done"));
                return out.end();
            }
            if step == 100 {
                return out.expect_close();
            }
        }
    });
    let client = stub.connect();
    let patient = || CallOptions::new().timeout(Duration::from_millis(200));
    assert_eq!(call_with(&client, "ends", patient()).unwrap(), "done");
    // M-CANC-B-21
    let capped = patient().max_timeout(Duration::from_millis(300));
    let error = call_with(&client, "endless", capped).unwrap_err();
    assert!(error.to_string().contains("max_timeout"), "{error}");
}

// Seen in other SDKs: a call waits for ever once its HTTP stream has ended without the response.
// M-HTTP-C-22
#[test]
fn a_stream_that_ends_without_its_response_is_an_error() {
    let stub = Stub::modern(|seen, out| {
        out.stream();
        out.piece("id: 7\ndata:\n\n");
        match seen.body()["params"]["name"].as_str() {
            Some("ended") => out.end(),
            _ => out.cut(),
        }
    });
    let client = stub.connect();
    for tool in ["ended", "cut"] {
        let error = call(&client, tool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert!(error.was_sent());
        assert!(error.to_string().contains("outcome unknown"), "{error}");
    }
    // Nothing was resumed or sent again by itself; sent again by the host it is a new request.
    let seen = stub.seen_asking("tools/call");
    assert_eq!(stub.seen().len(), 3);
    assert_ne!(seen[0].id(), seen[1].id());
    assert!(
        seen.iter()
            .all(|seen| seen.header("last-event-id").is_none())
    );
    assert!(!client.is_closed());
}

// M-HTTP-C-34, M-HTTP-C-25, M-HDR-X-48
#[test]
fn errors_come_with_any_status() {
    let stub = Stub::modern(|seen, out| {
        let error = |code: i64, id: Value| {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no" } })
                .to_string()
        };
        let json = [("content-type", "application/json")];
        match seen.body()["params"]["name"].as_str() {
            Some("404") => out.respond("404 Not Found", &json, &error(-32601, seen.id())),
            Some("400") => out.respond("400 Bad Request", &json, &error(-32602, seen.id())),
            Some("no id") => out.respond("400 Bad Request", &json, &error(-32600, Value::Null)),
            Some("200 no id") => out.respond("200 OK", &json, &error(-32600, Value::Null)),
            Some("bare 404") => out.respond("404 Not Found", &[], ""),
            Some("bare 400") => out.respond(
                "400 Bad Request",
                &[("content-type", "text/html")],
                "<h1>proxy</h1>",
            ),
            Some("503") => out.respond("503 Service Unavailable", &[], "later"),
            Some("html") => {
                out.respond("200 OK", &[("content-type", "text/html")], "<h1>hello</h1>")
            }
            Some("202") => out.accept(),
            Some("no json") => out.respond("200 OK", &json, "{\"jsonrpc\":"),
            Some("other") => {
                out.respond("200 OK", &json, r#"{"jsonrpc":"2.0","id":99,"result":{}}"#)
            }
            _ => out.raw("SMTP ready\r\n\r\n"),
        }
    });
    let client = stub.connect();
    for (tool, code) in [
        ("404", -32601),
        ("400", -32602),
        ("no id", -32600),
        ("200 no id", -32600),
    ] {
        let error = call(&client, tool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Peer, "{tool}: {error}");
        assert_eq!(error.rpc().unwrap().code.value(), code, "{tool}");
        assert!(error.to_string().contains("refused tools/call"), "{error}");
    }
    for (tool, kind, status, text) in [
        ("bare 404", ErrorKind::Http, Some(404), "404 Not Found"),
        ("bare 400", ErrorKind::Http, Some(400), "proxy"),
        ("503", ErrorKind::Http, Some(503), "later"),
        ("html", ErrorKind::Protocol, None, "text/html"),
        ("202", ErrorKind::Protocol, None, "202"),
        ("no json", ErrorKind::Protocol, None, "not the response"),
        ("other", ErrorKind::Protocol, None, "not the response"),
        ("junk", ErrorKind::Protocol, None, "not HTTP"),
    ] {
        let error = call(&client, tool).unwrap_err();
        assert_eq!(error.kind(), kind, "{tool}: {error}");
        assert_eq!(error.http_status(), status, "{tool}");
        assert!(error.to_string().contains(text), "{tool}: {error}");
    }
}

// M-BASE-S-06: JSON can't tell `1.0` from `1`.
#[test]
fn the_clients_own_id_is_known_in_other_spellings_over_http() {
    let answer = |seen: &Seen, out: &mut Out| {
        let Some(id) = seen.id().as_f64() else {
            return out.respond("405 Method Not Allowed", &[], "");
        };
        // After a status 404 a client looks whether the server knows its session.
        if seen.asks() == "ping" {
            return out.result(seen, json!({}));
        }
        assert!(json!(id).to_string().ends_with(".0"), "{id}");
        let result = json!({ "jsonrpc": "2.0", "id": id, "result": text("done") });
        let error = json!({ "code": -32003, "message": "told" });
        let error = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        let json = [("content-type", "application/json")];
        let events = [("content-type", "text/event-stream")];
        let event = |body: &Value| format!("data: {body}\n\n");
        match seen.body()["params"]["name"].as_str().unwrap_or_default() {
            "json" => out.json(&result),
            "events" => {
                out.stream();
                // The stream has no end: the client has to find its answer on it.
                out.event(&result);
            }
            "200 json" => out.json(&error),
            "200 events" => out.respond("200 OK", &events, &event(&error)),
            "400 json" => out.respond("400 Bad Request", &json, &error.to_string()),
            "400 events" => out.respond("400 Bad Request", &events, &event(&error)),
            "404 json" => out.respond("404 Not Found", &json, &error.to_string()),
            "404 events" => out.respond("404 Not Found", &events, &event(&error)),
            other => unreachable!("{other}"),
        }
    };
    for stub in [Stub::modern(answer), Stub::legacy("2025-11-25", answer)] {
        let client = stub.connect();
        for tool in [
            "json",
            "200 json",
            "400 json",
            "400 events",
            "404 json",
            "404 events",
            "200 events",
        ] {
            match (tool, call(&client, tool)) {
                ("json", done) => assert_eq!(done.unwrap(), "done"),
                (_, refused) => {
                    let error = refused.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Peer, "{tool}: {error}");
                    let rpc = error.rpc().unwrap();
                    assert_eq!(
                        (rpc.code.value(), &*rpc.message),
                        (-32003, "told"),
                        "{tool}"
                    );
                }
            }
        }
        assert_eq!(call(&client, "events").unwrap(), "done");
        assert_eq!(stub.seen_asking("tools/call").len(), 8);
        assert!(
            stub.seen_asking("initialize").len() <= 1,
            "the session was not lost"
        );
    }
}

#[test]
fn answers_are_bounded() {
    let stub = Stub::modern(|seen, out| {
        let long = "x".repeat(5000);
        match seen.body()["params"]["name"].as_str() {
            Some("json") => out.result(seen, text(&long)),
            Some("stream") => {
                out.stream();
                out.event_result(seen, text(&long));
                out.end();
            }
            _ => out.result(seen, text("short")),
        }
    });
    let mut limits = Limits::default();
    limits.max_message_bytes = 2000;
    let client = stub.connect_as(asker().limits(limits)).unwrap();
    for tool in ["json", "stream"] {
        let error = call(&client, tool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(
            error.to_string().contains("max_message_bytes (2000)"),
            "{error}"
        );
    }
    assert_eq!(call(&client, "short").unwrap(), "short");
}

#[test]
fn calls_of_many_threads_go_side_by_side() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let (asked, called) = mpsc::channel();
    let stub = Stub::modern(move |seen, out| {
        if seen.body()["params"]["name"] == "held" {
            asked.send(()).unwrap();
            held.lock().unwrap().recv_timeout(LONG).unwrap();
        }
        out.result(seen, text("done"));
    });
    let client = stub.connect();
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| assert_eq!(call(&client, "held").unwrap(), "done"));
        }
        for _ in 0..10 {
            called.recv_timeout(LONG).unwrap();
        }
        assert_eq!(call(&client, "free").unwrap(), "done");
        for _ in 0..10 {
            release.send(()).unwrap();
        }
    });
    assert_eq!(client.stats().calls_in_flight, 0);
}

// Seen in other SDKs: waiting calls sleep on after the end of file; closing waits for a handler that itself waits for the peer that is
// gone.
#[test]
fn closing_ends_calls_and_streams_at_once() {
    let (asked, called) = mpsc::channel();
    let stub = Stub::modern(move |_, out| {
        out.stream();
        asked.send(()).unwrap();
        out.expect_close();
    });
    let client = stub.connect();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..5)
            .map(|_| scope.spawn(|| call(&client, "silent")))
            .collect();
        for _ in 0..5 {
            called.recv_timeout(LONG).unwrap();
        }
        let witness = Witness::start();
        client.close();
        for call in calls {
            let error = call.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        }
        witness.expect_at_once();
    });
    let error = call(&client, "again").unwrap_err();
    assert!(error.kind() == ErrorKind::Closed && !error.was_sent());
    client.close();
}

// Must not happen: a callback that calls or closes its own client deadlocks.
#[test]
fn a_callback_may_use_the_client() {
    let stub = Stub::modern(|seen, out| {
        if seen.body()["params"]["name"] == "outer" {
            out.stream();
            out.event(&progress(seen, 1));
            out.event_result(seen, text("outer"));
            return out.end();
        }
        out.result(seen, text("inner"));
    });
    let client = stub.connect();
    let mut inner = None;
    let options = CallOptions::new().on_progress(|_| inner = Some(call(&client, "inner").unwrap()));
    assert_eq!(call_with(&client, "outer", options).unwrap(), "outer");
    assert_eq!(inner.as_deref(), Some("inner"));
}

// Must not happen: a callback that calls or closes its own client deadlocks.
#[test]
fn a_callback_may_close_the_client() {
    let stub = Stub::modern(|seen, out| {
        out.stream();
        out.event(&progress(seen, 1));
        out.expect_close();
    });
    let client = stub.connect();
    let witness = Witness::start();
    let options = CallOptions::new().on_progress(|_| client.close());
    let error = call_with(&client, "x", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    witness.expect_at_once();
}

// M-SUB-C-11, M-CANC-C-06
#[test]
fn a_subscription_is_a_stream_of_its_own() {
    let (closed, was_closed) = mpsc::channel();
    let stub = Stub::modern(move |seen, out| {
        if seen.asks() != "subscriptions/listen" {
            return out.result(seen, text("meanwhile"));
        }
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.id() });
        let filter = seen.body()["params"]["notifications"].clone();
        let send = |method: &str| json!({ "jsonrpc": "2.0", "method": method, "params": { "_meta": meta, "notifications": filter } });
        out.stream();
        out.event(&send("notifications/subscriptions/acknowledged"));
        out.event(&send("notifications/tools/list_changed"));
        if filter["promptsListChanged"] == true {
            out.expect_close();
            closed.send(()).unwrap();
        } else {
            out.event_result(seen, json!({ "resultType": "complete", "_meta": meta }));
            out.end();
        }
    });
    let client = stub.connect();
    let subscribe = |filter: SubscriptionFilter| {
        let (told, events) = mpsc::channel();
        let subscription = client
            .subscribe(filter.tools_list_changed(true), move |event| {
                _ = told.send(event);
            })
            .unwrap();
        (subscription, events)
    };
    let (kept, events) = subscribe(SubscriptionFilter::default().prompts_list_changed(true));
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
    assert_eq!(call(&client, "x").unwrap(), "meanwhile");
    let (ended, events) = subscribe(SubscriptionFilter::default());
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
    assert!(matches!(
        events.recv_timeout(LONG),
        Ok(Event::Ended { clean: true, .. })
    ));
    assert!(ended.has_ended() && !kept.has_ended());
    drop(kept);
    was_closed.recv_timeout(LONG).unwrap();
    client.close();
    assert!(stub.seen_asking("notifications/cancelled").is_empty());
    let listens = stub.seen_asking("subscriptions/listen");
    assert_eq!(
        listens[0].header("mcp-method"),
        Some("subscriptions/listen")
    );
}

// Seen in other SDKs: proxies cut idle event streams.
#[test]
fn a_stream_that_sent_keep_alives_and_then_nothing_has_stalled() {
    let stub = Stub::modern(|_, out| {
        out.stream();
        out.piece(": keep-alive\n\n");
        out.expect_close();
    });
    let http = stub.http().stall_timeout(Duration::from_millis(200));
    let client = asker().connect(http).unwrap();
    let error = call_with(&client, "x", CallOptions::new().no_timeout()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.to_string().contains("stalled"), "{error}");
    assert!(error.to_string().contains("stall_timeout"), "{error}");
}

#[test]
fn questions_are_answered_with_another_request() {
    let stub = Stub::modern(|seen, out| {
        let params = &seen.body()["params"];
        if params["inputResponses"].is_null() {
            let question = json!({ "method": "elicitation/create", "params": {
                "message": "?", "requestedSchema": { "type": "object", "properties": {} } } });
            return out.result(
                seen,
                json!({ "resultType": "input_required", "inputRequests": { "k": question }, "requestState": "s" }),
            );
        }
        assert_eq!(params["requestState"], "s");
        out.result(seen, text("done"));
    });
    let builder = asker().on_elicit(|_, _| ElicitResult::accept(&json!({})).unwrap());
    let client = stub.connect_as(builder).unwrap();
    assert_eq!(call(&client, "ask").unwrap(), "done");
    let seen = stub.seen_asking("tools/call");
    assert_ne!(seen[0].id(), seen[1].id());
    assert_eq!(seen[1].header("mcp-name"), Some("ask"));
}

// M-HTTP-C-10, AMB-06
#[test]
fn a_modern_client_posts_neither_notifications_nor_responses() {
    let stub = Stub::modern(|seen, out| {
        out.stream();
        out.event(&json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" }));
        out.event_result(seen, text("done"));
        out.end();
    });
    let client = stub.connect();
    assert_eq!(call(&client, "x").unwrap(), "done");
    let error = client.notify("notifications/x", &json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    client.close();
    assert_eq!(stub.seen().len(), 2);
}

#[test]
fn a_tap_sees_what_goes_over_http_and_faults_need_a_stream() {
    let stub = Stub::modern(|seen, out| out.result(seen, text("done")));
    let seen: Arc<Mutex<Vec<(Direction, u64)>>> = Arc::default();
    let shown = Arc::clone(&seen);
    let tap = Tap::new(stub.http(), move |message| {
        shown
            .lock()
            .unwrap()
            .push((message.direction, message.number));
    });
    let client = asker().connect(tap).unwrap();
    call(&client, "x").unwrap();
    let expected = [
        (Direction::Outgoing, 1),
        (Direction::Incoming, 1),
        (Direction::Outgoing, 2),
        (Direction::Incoming, 2),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    let error = asker().connect(Faults::new(stub.http())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

/// A server that answers one request by each connection, and closes it at the next, without having
/// said so.
fn one_by_connection(opening: fn(&Seen, &mut Out)) -> Stub {
    let served = Mutex::new(HashSet::new());
    Stub::start(move |seen, out| {
        if !served.lock().unwrap().insert(seen.connection) {
            return out.cut();
        }
        match &*seen.asks() {
            "tools/list" => out.result(seen, json!({ "resultType": "complete", "tools": [] })),
            "tools/call" => out.result(seen, text("done")),
            _ => opening(seen, out),
        }
    })
}

fn open_legacy(seen: &Seen, out: &mut Out) {
    match &*seen.asks() {
        "initialize" => out.result(seen, initialized("2025-11-25")),
        "notifications/initialized" => out.accept(),
        "server/discover" => out.respond("400 Bad Request", &[], "no"),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    }
}

// Must not happen: a call is sent twice.
#[test]
fn requests_without_effect_outlive_the_close_of_a_reused_connection() {
    let modern = one_by_connection(|seen, out| out.result(seen, discovered()));
    let legacy = one_by_connection(open_legacy);
    for (stub, opening) in [(modern, 0), (legacy, 2)] {
        let client = stub.connect();
        assert_eq!(stub.seen_asking("initialize").len(), opening);
        let notifications = stub.seen_asking("notifications/initialized");
        assert_eq!(notifications.len(), opening);
        for count in [2, 4] {
            assert!(client.list_tools().unwrap().is_empty());
            assert_eq!(stub.seen_asking("tools/list").len(), count);
        }
        let error = call(&client, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        assert!(error.was_sent());
        assert_eq!(stub.seen_asking("tools/call").len(), 1);
    }
}

#[test]
fn a_request_is_repeated_once() {
    let stub = Stub::modern(|_, out| out.cut());
    let client = stub.connect();
    let error = client.list_tools().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    assert!(error.was_sent());
    let seen = stub.seen_asking("tools/list");
    assert_eq!(seen.len(), 2);
    assert_ne!(seen[0].connection, seen[1].connection);
}

#[test]
fn a_missing_scope_is_told_in_words() {
    for (challenge, words) in [
        (
            r#"Bearer error="insufficient_scope", scope="items:delete""#,
            ": tools/call needs the scope items:delete",
        ),
        (
            r#"Bearer error="insufficient_scope", scope="b a", resource_metadata="https://a.example/""#,
            ": tools/call needs the scopes a b",
        ),
        (
            r#"DPoP error="insufficient_scope""#,
            ": tools/call needs scopes that the token lacks",
        ),
        (
            r#"Bearer error="invalid_token", scope="a""#,
            r#"; WWW-Authenticate: Bearer error="invalid_token", scope="a""#,
        ),
    ] {
        let stub = Stub::modern(move |_, out| {
            out.respond("403 Forbidden", &[("www-authenticate", challenge)], "");
        });
        let error = call(&stub.connect(), "x").unwrap_err();
        let text = error.to_string();
        assert_eq!(error.http_challenge(), Some(challenge));
        assert!(text.ends_with(&format!("403 Forbidden{words}")), "{text}");
    }
}

// RFC 9110, section 10.2.3
#[test]
fn the_wait_that_a_server_demands_is_told() {
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (status, fields, expected) in [
        (
            "429 Too Many Requests",
            &[("retry-after", "120")][..],
            Some("120 s"),
        ),
        (
            "503 Service Unavailable",
            &[("retry-after", " 1")],
            Some("1 s"),
        ),
        (
            "503 Service Unavailable",
            &[
                ("date", DATE),
                ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
            ],
            Some("30 s"),
        ),
        ("503 Service Unavailable", &[("retry-after", DATE)], None),
        ("503 Service Unavailable", &[("retry-after", "soon")], None),
        ("503 Service Unavailable", &[("retry-after", "0")], None),
        ("503 Service Unavailable", &[], None),
    ] {
        let stub = Stub::modern(move |_, out| out.respond(status, fields, "busy"));
        let text = call(&stub.connect(), "x").unwrap_err().to_string();
        let told = text.split_once("try again in ").map(|(_, wait)| wait);
        assert_eq!(told, expected, "{text}");
    }
}
