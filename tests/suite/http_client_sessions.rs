//! A client and a legacy server over HTTP: sessions, the stream beside calls, streams that go on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Era, Event};
use mcplink::protocol::CancelToken;
use mcplink::schema::{ElicitResult, LoggingLevel, ProtocolVersion, SubscriptionFilter};
use serde_json::json;

use crate::common::{LONG, Witness};
use crate::stub::{Out, Seen, Stub, asker, call, call_with, initialized, progress, text};

const REVISION: &str = "2025-11-25";

fn no_stream(out: &mut Out) {
    out.respond("405 Method Not Allowed", &[("allow", "POST")], "");
}

/// A server without a stream beside calls, which answers all calls alike.
fn simple(revision: &'static str) -> Stub {
    Stub::legacy(revision, |seen, out| match &*seen.method {
        "POST" if seen.body()["id"].is_null() => out.accept(),
        "POST" => out.result(seen, text("done")),
        _ => no_stream(out),
    })
}

// L-HTTP-C-06, L-HTTP-C-07, L-HTTP-C-08, L-HTTP-C-09, L-HTTP-C-24, L-HTTP-C-31, L-SESS-C-04, L-SESS-C-08, L-SESS-C-09, L-PVH-C-01, L-PVH-C-02, L-INIT-C-14
#[test]
fn a_session_is_named_in_every_later_request() {
    let stub = simple(REVISION);
    let client = stub.connect();
    assert_eq!(client.era(), Era::Legacy);
    assert_eq!(call(&client, "x").unwrap(), "done");
    client
        .notify("notifications/roots/list_changed", &json!({}))
        .unwrap();
    client.close();
    let seen = stub.seen();
    let shown: Vec<String> = seen
        .iter()
        .map(|seen| format!("{} {}", seen.method, seen.asks()))
        .collect();
    let expected = [
        "POST server/discover",
        "POST initialize",
        "POST notifications/initialized",
        "GET ",
        "POST tools/call",
        "POST notifications/roots/list_changed",
        "DELETE ",
    ];
    assert_eq!(shown, expected);
    assert_eq!(seen[1].header("mcp-session-id"), None);
    assert_eq!(seen[1].header("mcp-protocol-version"), None);
    for later in &seen[2..] {
        assert_eq!(later.header("mcp-session-id"), Some("session-1"));
        assert_eq!(later.header("mcp-protocol-version"), Some(REVISION));
        // What only the modern era has.
        assert_eq!(later.header("mcp-method"), None);
        let accept = match &*later.method {
            "GET" => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        assert_eq!(later.header("accept"), Some(accept));
    }
    for post in seen.iter().filter(|seen| seen.method == "POST") {
        assert!(post.body().is_object());
    }
}

#[test]
fn earlier_revisions_have_no_header_for_themselves() {
    for (revision, has_field) in [("2025-03-26", false), ("2025-06-18", true)] {
        let stub = simple(revision);
        let client = stub.connect();
        call(&client, "x").unwrap();
        let seen = stub.seen_asking("tools/call").pop().unwrap();
        assert_eq!(
            seen.header("mcp-protocol-version"),
            has_field.then_some(revision)
        );
        assert_eq!(seen.header("mcp-session-id"), Some("session-1"));
    }
}

#[test]
fn a_session_id_with_other_characters_is_refused() {
    let stub = Stub::start(|seen, out| match &*seen.asks() {
        "initialize" => out.json_with(
            &[("mcp-session-id", "a b")],
            &json!({ "jsonrpc": "2.0", "id": seen.id(), "result": initialized(REVISION) }),
        ),
        _ => out.respond("400 Bad Request", &[], ""),
    });
    let error = stub.connect_as(asker()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.to_string().contains("session id"), "{error}");
}

// L-HTTP-C-13
#[test]
fn answers_and_acceptances_of_every_form_are_taken() {
    for accepted in ["202 Accepted", "200 OK", "204 No Content"] {
        let stub = Stub::start(move |seen, out| match (&*seen.method, &*seen.asks()) {
            (_, "server/discover") => out.respond("400 Bad Request", &[], ""),
            (_, "initialize") => {
                out.stream();
                out.event_result(seen, initialized(REVISION));
                out.end();
            }
            (_, "notifications/initialized") if accepted.starts_with("204") => {
                out.raw("HTTP/1.1 204 No Content\r\n\r\n");
            }
            (_, "notifications/initialized") => {
                out.respond(accepted, &[("content-type", "application/json")], "{}");
            }
            ("POST", _) => {
                out.stream();
                out.event_result(seen, text("done"));
                out.end();
            }
            _ => out.respond(
                "404 Not Found",
                &[("content-type", "text/html")],
                "<h1>no</h1>",
            ),
        });
        let client = stub.connect();
        assert_eq!(call(&client, "x").unwrap(), "done", "{accepted}");
    }
}

// L-HTTP-C-23
#[test]
fn cancelling_is_said_with_a_notification() {
    let (asked, called) = mpsc::channel();
    let (posted, was_posted) = mpsc::channel();
    let stub = Stub::legacy(REVISION, move |seen, out| match &*seen.asks() {
        "tools/call" => {
            out.stream();
            asked.send(()).unwrap();
            out.expect_close();
        }
        "notifications/cancelled" => {
            out.accept();
            posted.send(seen.clone()).unwrap();
        }
        _ => no_stream(out),
    });
    let client = stub.connect();
    let token = CancelToken::new();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| call_with(&client, "x", CallOptions::new().cancel_with(&token)));
        called.recv_timeout(LONG).unwrap();
        token.cancel();
        let error = call.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    });
    let cancelled = was_posted.recv_timeout(LONG).unwrap();
    let id = stub.seen_asking("tools/call")[0].id();
    assert_eq!(cancelled.body()["params"]["requestId"], id);
    assert_eq!(cancelled.header("mcp-session-id"), Some("session-1"));
}

// The clock of a call stands while a person answers. Questions come on the stream of a call or beside it; answers are posted.
#[test]
fn the_server_asks_on_either_stream() {
    let (beside, take_beside) = mpsc::channel::<Out>();
    let take_beside = Mutex::new(take_beside);
    let (answered, answers) = mpsc::channel();
    let answers = Mutex::new(answers);
    let beside = Mutex::new(beside);
    let question = |id: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {
            "message": "?", "requestedSchema": { "type": "object", "properties": {} } } })
    };
    let stub = Stub::legacy(REVISION, move |seen, out| {
        match (&*seen.method, &*seen.asks()) {
            ("GET", _) => {
                out.stream();
                let kept = out.keep();
                beside.lock().unwrap().send(kept).unwrap();
            }
            ("POST", "tools/call") => {
                out.stream();
                let wait = || answers.lock().unwrap().recv_timeout(LONG).unwrap();
                out.event(&question("on its own"));
                assert_eq!(wait(), "on its own");
                let mut other = take_beside.lock().unwrap().recv_timeout(LONG).unwrap();
                other.event(&question("beside"));
                assert_eq!(wait(), "beside");
                out.event_result(seen, text("done"));
                out.end();
                other.cut();
            }
            ("POST", _) => {
                out.accept();
                assert_eq!(seen.body()["result"]["action"], "accept");
                assert_eq!(seen.header("mcp-session-id"), Some("session-1"));
                answered
                    .send(seen.id().as_str().unwrap().to_owned())
                    .unwrap();
            }
            _ => out.respond("200 OK", &[], ""),
        }
    });
    // Longer than the call waits for an answer: the clock stands still meanwhile.
    let asked = AtomicUsize::new(0);
    let builder = asker().on_elicit(move |_, _| {
        asked.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(400));
        ElicitResult::accept(&json!({})).unwrap()
    });
    let client = stub.connect_as(builder).unwrap();
    let options = CallOptions::new().timeout(Duration::from_millis(300));
    assert_eq!(call_with(&client, "ask", options).unwrap(), "done");
}

/// What a client is told of a call that a server answers with `play`, on the stream of the call, the first, and on the one beside it. `play` may
/// wait until the client has taken in all of the latter: the server ends it with a log message then, and a hook says that it has come.
fn told(
    play: impl Fn(&Seen, &mut Out, &mut Out, &dyn Fn(&mut Out)) + Send + Sync + 'static,
) -> (String, Vec<f64>) {
    let (beside, take_beside) = mpsc::channel::<Out>();
    let (beside, take_beside) = (Mutex::new(beside), Mutex::new(take_beside));
    let (logged, log) = mpsc::channel();
    let (logged, log) = (Mutex::new(logged), Mutex::new(log));
    let stub = Stub::legacy(REVISION, move |seen, out| {
        match (&*seen.method, &*seen.asks()) {
            ("GET", _) => {
                out.stream();
                beside.lock().unwrap().send(out.keep()).unwrap();
            }
            ("POST", "tools/call") => {
                let mut other = take_beside.lock().unwrap().recv_timeout(LONG).unwrap();
                play(seen, out, &mut other, &|other| {
                    let params = json!({ "level": "info", "data": "all of it" });
                    other.event(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }));
                    log.lock().unwrap().recv_timeout(LONG).unwrap();
                });
                out.end();
                other.cut();
            }
            _ => out.respond("200 OK", &[], ""),
        }
    });
    let builder = asker().on_log_message(move |_| logged.lock().unwrap().send(()).unwrap());
    let client = stub.connect_as(builder).unwrap();
    let mut steps = Vec::new();
    let options = CallOptions::new().on_progress(|step| steps.push(step.progress));
    let answer = call_with(&client, "x", options).unwrap();
    (answer, steps)
}

// Seen in other SDKs: progress comes out of order, or after the result.
#[test]
fn progress_by_several_streams_comes_in_the_order_in_which_it_came() {
    let (answer, steps) = told(|seen, out, other, wait_for| {
        other.event(&progress(seen, 1));
        other.event(&progress(seen, 2));
        wait_for(other);
        out.stream();
        out.event(&progress(seen, 3));
        out.event(&progress(seen, 4));
        out.event_result(seen, text("done"));
    });
    assert_eq!(answer, "done");
    assert_eq!(steps, [1.0, 2.0, 3.0, 4.0]);
}

// Seen in other SDKs: progress comes out of order, or after the result.
#[test]
fn progress_before_an_answer_by_another_stream_is_handed_out() {
    let (answer, steps) = told(|seen, out, other, wait_for| {
        other.event(&progress(seen, 1));
        other.event(&progress(seen, 2));
        other.event_result(seen, text("done"));
        wait_for(other);
        out.stream();
    });
    assert_eq!(answer, "done");
    assert_eq!(steps, [1.0, 2.0]);
}

// L-HTTP-C-15, L-HTTP-C-17, L-SSE-C-03
#[test]
fn a_stream_that_was_closed_goes_on_where_it_was() {
    let ended = Arc::new(Mutex::new(None));
    let end = Arc::clone(&ended);
    let asked = Mutex::new(None);
    let stub = Stub::legacy(REVISION, move |seen, out| {
        match (&*seen.method, &*seen.asks()) {
            ("POST", "tools/call") => {
                out.stream();
                out.piece("id: e-1\nretry: 300\ndata:\n\n");
                out.event(&progress(seen, 1));
                out.piece("id: e-2\ndata:\n\n");
                *asked.lock().unwrap() = Some(seen.clone());
                *end.lock().unwrap() = Some(Instant::now());
                out.end();
            }
            ("GET", _) if seen.header("last-event-id") == Some("e-2") => {
                let asked = asked.lock().unwrap().clone().unwrap();
                let waited = end.lock().unwrap().unwrap().elapsed();
                assert!(waited >= Duration::from_millis(300), "{waited:?}");
                out.stream();
                out.piece("id: e-3\n");
                out.event(&progress(&asked, 2));
                // What belongs to another request, and was answered long ago.
                out.event(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
                out.event_result(&asked, text("done"));
                // It stays open.
                out.expect_close();
            }
            _ => no_stream(out),
        }
    });
    let client = stub.connect();
    let mut steps = Vec::new();
    let options = CallOptions::new().on_progress(|step| steps.push(step.progress));
    assert_eq!(call_with(&client, "x", options).unwrap(), "done");
    assert_eq!(steps, [1.0, 2.0]);
    assert!(ended.lock().unwrap().is_some());
}

#[test]
fn a_stream_that_can_not_go_on_is_an_error() {
    let stub = Stub::legacy(REVISION, |seen, out| match (&*seen.method, &*seen.asks()) {
        ("POST", "tools/call") => {
            out.stream();
            out.piece("id: e-1\nretry: 1\ndata:\n\n");
            out.cut();
        }
        _ => no_stream(out),
    });
    let client = stub.connect();
    let error = call(&client, "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.was_sent());
    let said = error.to_string();
    assert!(
        said.contains("outcome unknown") && said.contains("405"),
        "{said}"
    );
    // While it waits to go on, it can be cancelled, and its deadline holds.
    let stub = Stub::legacy(REVISION, |seen, out| match (&*seen.method, &*seen.asks()) {
        ("POST", "tools/call") => {
            out.stream();
            out.piece("id: e-1\nretry: 60000\ndata:\n\n");
            out.end();
        }
        ("POST", _) => out.accept(),
        _ => no_stream(out),
    });
    let client = stub.connect();
    let timeout = Duration::from_millis(200);
    let error = call_with(&client, "x", CallOptions::new().timeout(timeout)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

/// A server that forgets its sessions when it is told to.
struct Forgetful {
    stub: Stub,
    valid: Arc<AtomicUsize>,
    broken: Arc<AtomicBool>,
}

fn forgetful() -> Forgetful {
    let valid = Arc::new(AtomicUsize::new(0));
    let broken = Arc::new(AtomicBool::new(false));
    let (current, fails) = (Arc::clone(&valid), Arc::clone(&broken));
    let stub = Stub::start(move |seen, out| {
        if seen.asks() == "server/discover" {
            return out.respond("400 Bad Request", &[], "");
        }
        if seen.asks() == "initialize" {
            assert_eq!(seen.header("mcp-session-id"), None);
            if fails.load(Ordering::SeqCst) {
                return out.respond("503 Service Unavailable", &[], "");
            }
            let number = current.fetch_add(1, Ordering::SeqCst) + 1;
            let id = format!("s{number}");
            let spelling = ["Mcp-Session-Id", "MCP-Session-Id"][number % 2];
            return out.json_with(
                &[(spelling, &id)],
                &json!({ "jsonrpc": "2.0", "id": seen.id(), "result": initialized(REVISION) }),
            );
        }
        let id = format!("s{}", current.load(Ordering::SeqCst));
        if seen.header("mcp-session-id") != Some(&id) {
            let error = json!({ "code": -32001, "message": "session not found" });
            let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
            return out.respond(
                "404 Not Found",
                &[("content-type", "application/json")],
                &body.to_string(),
            );
        }
        match &*seen.method {
            "POST" if seen.body()["id"].is_null() => out.accept(),
            "POST" => out.result(seen, text("done")),
            "DELETE" => out.respond("200 OK", &[], ""),
            _ => no_stream(out),
        }
    });
    Forgetful {
        stub,
        valid,
        broken,
    }
}

// Seen in other SDKs: clients are stranded once a restarted server forgets their session; an automatic retry runs a side effect twice.
// L-SESS-C-07, L-SESS-B-10
#[test]
fn a_lost_session_is_opened_anew_once_for_all_callers() {
    let Forgetful { stub, valid, .. } = forgetful();
    let client = stub.connect();
    assert_eq!(call(&client, "x").unwrap(), "done");
    let _subscription = client
        .subscribe(
            SubscriptionFilter::default().resource_subscriptions(vec!["file:///a".to_owned()]),
            |_: Event| {},
        )
        .unwrap();
    client.set_log_level(LoggingLevel::Info).unwrap();
    // The server was started anew.
    valid.fetch_add(10, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| call(&client, "x"))).collect();
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap(), "done");
        }
    });
    assert_eq!(stub.seen_asking("initialize").len(), 2);
    assert_eq!(stub.seen_asking("notifications/initialized").len(), 2);
    // What was refused was sent again, in the new session.
    let calls = stub.seen_asking("tools/call");
    let done = calls
        .iter()
        .filter(|seen| seen.header("mcp-session-id") == Some("s12"));
    assert_eq!(done.count(), 8);
    let subscribed_again = || {
        let mut subscribed = stub.seen_asking("resources/subscribe");
        subscribed.retain(|seen| seen.header("mcp-session-id") == Some("s12"));
        subscribed.len()
    };
    let until = Instant::now() + LONG;
    while subscribed_again() == 0 && Instant::now() < until {
        std::thread::yield_now();
    }
    assert_eq!(subscribed_again(), 1);
    let levels = stub.seen_asking("logging/setLevel");
    assert_eq!(levels.len(), 2);
    assert_eq!(levels[1].body()["params"]["level"], "info");
    // A notification finds it out too.
    valid.fetch_add(10, Ordering::SeqCst);
    client.notify("notifications/x", &json!({})).unwrap();
    assert_eq!(stub.seen_asking("initialize").len(), 3);
    client.close();
    let deleted = stub.seen_by("DELETE");
    assert_eq!(deleted[0].header("mcp-session-id"), Some("s23"));
}

#[test]
fn a_session_that_can_not_be_opened_anew_is_an_error_and_may_be_later() {
    let Forgetful {
        stub,
        valid,
        broken,
    } = forgetful();
    let client = stub.connect();
    valid.fetch_add(10, Ordering::SeqCst);
    broken.store(true, Ordering::SeqCst);
    let error = call(&client, "x").unwrap_err();
    assert_eq!(error.http_status(), Some(503));
    assert!(
        error.to_string().contains("opening another one failed"),
        "{error}"
    );
    broken.store(false, Ordering::SeqCst);
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(stub.seen_asking("tools/call").len(), 3);
}

// L-SESS-C-03
#[test]
fn the_session_id_is_shown_nowhere() {
    let stub = Stub::legacy(REVISION, |seen, out| match &*seen.method {
        "POST" => out.respond("500 Internal Server Error", &[], "session-1 has failed"),
        _ => no_stream(out),
    });
    let client = stub.connect();
    let error = call(&client, "x").unwrap_err();
    assert!(error.to_string().contains("has failed"), "{error}");
    for shown in [format!("{error:?}"), format!("{client:?}")] {
        assert!(!shown.contains("session-1"), "{shown}");
    }
}

// L-BATCH-C-08, L-BATCH-C-03, L-BATCH-B-01
#[test]
fn batches_are_read_in_the_revision_that_has_them() {
    let batch = |seen: &Seen| json!([progress(seen, 1), { "jsonrpc": "2.0", "id": seen.id(), "result": text("done") }]);
    let answer = move |seen: &Seen, out: &mut Out| match seen.body()["params"]["name"].as_str() {
        Some("json") => out.json(&batch(seen)),
        Some(_) => {
            out.stream();
            out.event(&batch(seen));
            out.end();
        }
        None => no_stream(out),
    };
    let stub = Stub::legacy("2025-03-26", answer);
    let client = stub.connect();
    for tool in ["json", "stream"] {
        let mut steps = 0;
        let options = CallOptions::new().on_progress(|_| steps += 1);
        assert_eq!(call_with(&client, tool, options).unwrap(), "done");
        assert_eq!(steps, 1);
    }
    assert!(
        stub.seen_by("POST")
            .iter()
            .all(|seen| seen.body().is_object())
    );
    // L-BATCH-B-09
    let stub = Stub::legacy("2025-06-18", answer);
    let client = stub.connect();
    for tool in ["json", "stream"] {
        call(&client, tool).unwrap_err();
    }
}

// L-HTTP-C-15, L-SSE-C-03
#[test]
fn the_stream_beside_calls_is_opened_again() {
    let gets = AtomicUsize::new(0);
    let (told, events) = mpsc::channel();
    let stub = Stub::legacy(REVISION, move |seen, out| {
        if seen.method != "GET" {
            return out.accept();
        }
        let number = gets.fetch_add(1, Ordering::SeqCst);
        assert_eq!(seen.header("last-event-id").is_some(), number > 0);
        out.stream();
        out.piece(&format!("id: g-{number}\nretry: 1\ndata: {}\n\n", json!({
            "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": number } })));
        if number < 2 {
            out.cut()
        } else {
            out.expect_close()
        }
    });
    let builder =
        asker().on_log_message(move |message| _ = told.send(message.data.get().to_owned()));
    let client = stub.connect_as(builder).unwrap();
    for number in ["0", "1", "2"] {
        assert_eq!(events.recv_timeout(LONG).unwrap(), number);
    }
    let witness = Witness::start();
    client.close();
    witness.expect_at_once();
}

#[test]
fn closing_does_not_wait_for_a_server_that_does_not_answer() {
    let stub = Stub::legacy(REVISION, |seen, out| match &*seen.method {
        "DELETE" => out.expect_close(),
        "POST" => out.accept(),
        _ => no_stream(out),
    });
    let time = Duration::from_millis(100);
    let http = stub.http().close_timeout(time);
    let client = asker()
        .revisions(&[ProtocolVersion::V2025_11_25])
        .connect(http)
        .unwrap();
    let witness = Witness::start();
    client.close();
    witness.expect_within(time);
    assert_eq!(stub.seen_by("DELETE").len(), 1);
    assert!(stub.seen_asking("server/discover").is_empty());
}
