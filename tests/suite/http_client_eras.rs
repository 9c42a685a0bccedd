//! Which era a server is of that is reached over HTTP, and what is not taken for an answer to that.

use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Era, EraMemory};
use mcplink::schema::ProtocolVersion;
use mcplink::transport::http::Http;
use serde_json::{Value, json};

use crate::common::LONG;
use crate::stub::{
    Out, Seen, Stub, asker, call, call_with, discovered, initialized, progress, text,
};

fn refuse(out: &mut Out, status: &str, id: Value, code: i64, data: Value) {
    let error = json!({ "code": code, "message": "no", "data": data });
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    out.respond(status, &[("content-type", "application/json")], &body);
}

/// A legacy server that answers the probe in its own way.
fn legacy_after(probe: impl Fn(&Seen, &mut Out) + Send + Sync + 'static) {
    let stub = Stub::start(move |seen, out| match &*seen.asks() {
        "server/discover" => probe(seen, out),
        "initialize" => out.result(seen, initialized("2025-06-18")),
        "notifications/initialized" => out.accept(),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    });
    let client = stub.connect();
    assert_eq!(client.revision(), ProtocolVersion::V2025_06_18);
    client.close();
    assert_eq!(stub.seen_asking("initialize").len(), 1);
    assert!(stub.seen_by("DELETE").is_empty());
}

// M-HTTP-C-29, M-VER-C-14, AMB-43
#[test]
fn any_other_answer_to_the_probe_means_legacy() {
    legacy_after(|_, out| out.respond("400 Bad Request", &[], ""));
    legacy_after(|_, out| {
        out.respond(
            "400 Bad Request",
            &[("content-type", "text/html")],
            "<h1>no</h1>",
        )
    });
    legacy_after(|_, out| refuse(out, "400 Bad Request", Value::Null, -32000, Value::Null));
    legacy_after(|_, out| {
        refuse(
            out,
            "400 Bad Request",
            json!("server-error"),
            -32600,
            Value::Null,
        )
    });
    legacy_after(|seen, out| refuse(out, "404 Not Found", seen.id(), -32601, Value::Null));
    legacy_after(|seen, out| refuse(out, "200 OK", seen.id(), -32601, Value::Null));
    legacy_after(|seen, out| refuse(out, "200 OK", seen.id(), -32602, json!("")));
    legacy_after(|_, out| out.respond("404 Not Found", &[], ""));
    legacy_after(|_, out| out.respond("422 Unprocessable Content", &[], ""));
    legacy_after(|_, out| {
        out.respond("200 OK", &[("content-type", "text/html")], "<h1>hello</h1>")
    });
    legacy_after(|_, out| out.accept());
    legacy_after(|seen, out| out.result(seen, json!({ "tools": [] })));
    legacy_after(|_, out| {
        let stream = [("content-type", "text/event-stream")];
        out.respond("200 OK", &stream, "");
    });
    legacy_after(|seen, out| {
        let stream = [("content-type", "text/event-stream")];
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
        let other = json!({ "jsonrpc": "2.0", "id": format!("not {}", seen.id()), "result": {} });
        let body = format!("data: {notification}\n\ndata: {other}\n\n");
        out.respond("200 OK", &stream, &body);
    });
    for data in [Value::Null, json!({})] {
        legacy_after(move |seen, out| {
            refuse(out, "400 Bad Request", seen.id(), -32022, data.clone());
        });
    }
    for status in [
        "402 Payment Required",
        "403 Forbidden",
        "408 Request Timeout",
        "421 Misdirected Request",
        "500 Internal Server Error",
        "501 Not Implemented",
        "502 Bad Gateway",
        "504 Gateway Timeout",
    ] {
        legacy_after(move |_, out| out.respond(status, &[], ""));
        legacy_after(move |seen, out| refuse(out, status, seen.id(), -32603, Value::Null));
    }
}

// M-VER-C-09: what stands between may have answered.
#[test]
fn an_error_of_a_server_proves_no_era() {
    for (status, entries) in [("400 Bad Request", 1), ("502 Bad Gateway", 0)] {
        let memory = EraMemory::new();
        let stub = Stub::start(move |seen, out| match &*seen.asks() {
            "server/discover" => out.respond(status, &[], ""),
            "initialize" => out.result(seen, initialized("2025-11-25")),
            "notifications/initialized" => out.accept(),
            _ => out.respond("405 Method Not Allowed", &[], ""),
        });
        let client = stub.connect_as(asker().era_memory(&memory)).unwrap();
        assert_eq!(client.era(), Era::Legacy);
        assert_eq!(memory.entries().len(), entries, "{status}");
    }
}

// Promise 9
#[test]
fn when_probe_and_initialize_fail_both_errors_are_told() {
    let stub = Stub::start(|seen, out| match &*seen.asks() {
        "server/discover" => out.respond("500 Internal Server Error", &[], "no such tenant"),
        _ => refuse(out, "400 Bad Request", seen.id(), -32600, Value::Null),
    });
    let error = stub.connect_as(asker()).unwrap_err();
    assert_eq!(error.rpc().unwrap().code.value(), -32600);
    let text = error.to_string();
    for part in [
        "no such tenant",
        "500",
        "server/discover",
        "initialize",
        "-32600",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

// M-VER-C-14, M-VER-C-09
#[test]
fn a_server_that_the_probe_spoils_is_opened_afresh_with_initialize_first() {
    for (status, has_rpc) in [
        ("400 Bad Request", true),
        ("409 Conflict", false),
        ("500 Internal Server Error", false),
    ] {
        let spoilt = Mutex::new(None);
        let stub = Stub::start(move |seen, out| match &*seen.asks() {
            "server/discover" => {
                *spoilt.lock().unwrap() = Some(seen.connection);
                refuse(out, "400 Bad Request", Value::Null, -32000, Value::Null);
            }
            // It opens a session for each connection, at the first message.
            "initialize" if *spoilt.lock().unwrap() == Some(seen.connection) => match has_rpc {
                true => refuse(out, status, Value::Null, -32600, Value::Null),
                false => out.respond(status, &[], "already initialized"),
            },
            "initialize" => out.result(seen, initialized("2025-11-25")),
            "notifications/initialized" => out.accept(),
            _ => out.respond("405 Method Not Allowed", &[], ""),
        });
        let memory = EraMemory::new();
        for _ in 0..2 {
            let client = stub.connect_as(asker().era_memory(&memory)).unwrap();
            assert_eq!(client.era(), Era::Legacy);
        }
        assert_eq!(memory.entries().len(), 1);
        assert_eq!(stub.seen_asking("server/discover").len(), 1);
        assert_eq!(stub.seen_asking("initialize").len(), 3);
    }
}

// L-INIT-C-04, L-INIT-B-18
#[test]
fn what_comes_of_saying_that_it_is_initialized_fails_no_connection() {
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "404 Not Found",
        "500 Internal Server Error",
    ] {
        let stub = Stub::start(move |seen, out| match &*seen.asks() {
            "initialize" => out.result(seen, initialized("2025-11-25")),
            "notifications/initialized" => out.respond(status, &[], "no"),
            "tools/call" => out.result(seen, text("done")),
            _ => out.respond("405 Method Not Allowed", &[], ""),
        });
        let client = stub.connect();
        assert_eq!(call(&client, "x").unwrap(), "done", "{status}");
    }
    let stub = Stub::start(|seen, out| match &*seen.asks() {
        "initialize" => out.result(seen, initialized("2025-11-25")),
        "notifications/initialized" => out.expect_close(),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    });
    let time = Duration::from_millis(400);
    let error = stub.connect_as(asker().connect_timeout(time)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(
        error.to_string().contains("notifications/initialized"),
        "{error}"
    );
}

/// A server whose answer to the probe is the end.
fn given_up(probe: impl Fn(&Seen, &mut Out) + Send + Sync + 'static) -> mcplink::Error {
    let stub = Stub::start(probe);
    let builder = asker()
        .connect_timeout(Duration::from_secs(2))
        .probe_timeout(Duration::from_millis(100));
    let error = stub.connect_as(builder).unwrap_err();
    assert!(stub.seen_asking("initialize").is_empty(), "{error}");
    assert!(stub.seen_by("GET").is_empty());
    assert!(error.to_string().contains(&stub.url()), "{error}");
    error
}

// Seen in other SDKs: an auth wall or an outage is taken for an old server.
// AMB-44
#[test]
fn what_says_nothing_of_the_era_decides_nothing() {
    let challenge = r#"Bearer resource_metadata="https://a.example/x""#;
    let error = given_up(move |_, out| {
        out.respond("401 Unauthorized", &[("www-authenticate", challenge)], "")
    });
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert_eq!(error.http_status(), Some(401));
    assert_eq!(error.http_challenge(), Some(challenge));
    assert!(error.to_string().contains(challenge), "{error}");
    let error = given_up(move |_, out| {
        out.respond("403 Forbidden", &[("www-authenticate", challenge)], "")
    });
    assert_eq!(error.kind(), ErrorKind::Auth);
    for status in ["503 Service Unavailable", "429 Too Many Requests"] {
        let error = given_up(move |_, out| out.respond(status, &[], ""));
        assert_eq!(error.kind(), ErrorKind::Http, "{error}");
        assert!(error.to_string().contains(status), "{error}");
        let error = given_up(move |seen, out| refuse(out, status, seen.id(), -32000, Value::Null));
        assert_eq!(
            error.http_status().map(|it| it.to_string()).as_deref(),
            status.get(..3)
        );
    }
    assert_eq!(
        given_up(|_, out| out.expect_close()).kind(),
        ErrorKind::Timeout
    );
    assert_eq!(given_up(|_, out| out.cut()).kind(), ErrorKind::Closed);
}

// Seen in other SDKs: an auth wall or an outage is taken for an old server.
// Must not happen: an error does not tell whether the call may have had an effect.
#[test]
fn a_server_that_is_not_there_was_never_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let error = asker().connect(Http::new(&url).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(!error.was_sent());
    assert!(error.os_code().is_some());
    assert!(error.to_string().contains("can't be reached"), "{error}");
}

// M-VER-C-13, M-HTTP-C-29, M-VER-C-02
#[test]
fn modern_errors_prove_a_modern_server() {
    for code in [-32020, -32021] {
        let error =
            given_up(move |seen, out| refuse(out, "400 Bad Request", seen.id(), code, Value::Null));
        assert_eq!(error.rpc().unwrap().code.value(), code);
    }
    let data = json!({ "supported": ["2099-01-01"], "requested": "2026-07-28" });
    let error =
        given_up(move |seen, out| refuse(out, "400 Bad Request", seen.id(), -32022, data.clone()));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let data = json!({ "supported": ["2026-07-28"], "requested": "2026-07-28" });
    let refused = AtomicBool::new(false);
    let stub = Stub::start(move |seen, out| {
        if refused.swap(true, Ordering::SeqCst) {
            return out.result(seen, discovered());
        }
        refuse(out, "400 Bad Request", seen.id(), -32022, data.clone());
    });
    let client = stub.connect();
    assert_eq!(client.era(), Era::Modern);
    let seen = stub.seen();
    assert_eq!(seen.len(), 2);
    assert_ne!(seen[0].id(), seen[1].id());
}

// Must not happen: the verdict on a server outlives its upgrade.
// M-VER-C-09, M-VER-C-10
#[test]
fn the_era_is_remembered_for_the_origin_and_found_out_anew() {
    let memory = EraMemory::new();
    let upgraded = Arc::new(AtomicBool::new(false));
    let modern = Arc::clone(&upgraded);
    let stub = Stub::start(move |seen, out| match &*seen.asks() {
        "server/discover" if modern.load(Ordering::SeqCst) => out.result(seen, discovered()),
        "initialize" if !modern.load(Ordering::SeqCst) => {
            out.result(seen, initialized("2025-11-25"));
        }
        "initialize" => refuse(out, "404 Not Found", seen.id(), -32601, Value::Null),
        "notifications/initialized" => out.accept(),
        "server/discover" => out.respond("400 Bad Request", &[], ""),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    });
    let connect = |era: Era| {
        let client = stub.connect_as(asker().era_memory(&memory)).unwrap();
        assert_eq!(client.era(), era);
    };
    connect(Era::Legacy);
    let origin = format!("http://{}", stub.address());
    assert_eq!(memory.recall(&origin), Some(Era::Legacy));
    connect(Era::Legacy);
    assert_eq!(stub.seen_asking("server/discover").len(), 1);
    upgraded.store(true, Ordering::SeqCst);
    connect(Era::Modern);
    assert_eq!(memory.recall(&origin), Some(Era::Modern));
    upgraded.store(false, Ordering::SeqCst);
    connect(Era::Legacy);
}

/// A server of the first transport: a stream by GET, and another address for messages.
fn first_transport(refusal: &'static str, endpoint: &'static str) -> Stub {
    let (keep, kept) = mpsc::channel::<Out>();
    let (keep, kept) = (Mutex::new(keep), Mutex::new(kept));
    let stream: Mutex<Option<Out>> = Mutex::default();
    Stub::start(move |seen, out| {
        match (
            &*seen.method,
            seen.target.split('?').next().unwrap_or_default(),
        ) {
            ("GET", "/mcp") => {
                out.stream();
                out.piece(&format!("event: endpoint\r\ndata: {endpoint}\r\n\r\n"));
                keep.lock().unwrap().send(out.keep()).unwrap();
            }
            ("POST", "/messages") => {
                out.accept();
                let mut stream = stream.lock().unwrap();
                let stream =
                    stream.get_or_insert_with(|| kept.lock().unwrap().recv_timeout(LONG).unwrap());
                match &*seen.asks() {
                    "initialize" => stream.event_result(seen, initialized("2024-11-05")),
                    "tools/call" if seen.body()["params"]["name"] == "end" => stream.cut(),
                    "tools/call" if seen.body()["params"]["name"] == "silent" => {}
                    "tools/call" if seen.body()["params"]["name"] == "progress" => {
                        for step in 1..=3 {
                            stream.event(&progress(seen, step));
                        }
                        stream.event_result(seen, text("done"));
                    }
                    "tools/call" => {
                        stream.piece("event: message\n");
                        stream.event_result(seen, text("done"));
                    }
                    _ => {}
                }
            }
            ("POST", _) => out.respond(refusal, &[], ""),
            _ => out.respond("404 Not Found", &[], ""),
        }
    })
}

// M-HTTP-C-30, L-HTTP-C-32, L-OLD-C-03
#[test]
fn the_first_transport_is_fallen_back_to() {
    for refusal in ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"] {
        let stub = first_transport(refusal, "/messages?id=1");
        let client = stub.connect();
        assert_eq!(client.revision(), ProtocolVersion::V2024_11_05);
        for _ in 0..3 {
            assert_eq!(call(&client, "x").unwrap(), "done");
        }
        let seen = stub.seen();
        assert_eq!(seen.iter().filter(|seen| seen.method == "GET").count(), 1);
        let get = seen.iter().position(|seen| seen.method == "GET").unwrap();
        for post in &seen[get + 1..] {
            assert_eq!((&*post.method, &*post.target), ("POST", "/messages?id=1"));
        }
        // The end of the stream is that of the connection.
        let error = call(&client, "end").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error:?}");
        assert!(client.is_closed());
    }
}

// Seen in other SDKs: progress comes out of order, or after the result.
#[test]
fn calls_on_the_first_transport_have_progress() {
    let stub = first_transport("404 Not Found", "messages");
    let client = stub.connect();
    let mut steps = Vec::new();
    let options = CallOptions::new().on_progress(|step| steps.push(step.progress));
    assert_eq!(call_with(&client, "progress", options).unwrap(), "done");
    assert_eq!(steps, [1.0, 2.0, 3.0]);
}

#[test]
fn calls_on_the_first_transport_have_deadlines_and_end_with_it() {
    let stub = first_transport("404 Not Found", "messages");
    let client = stub.connect();
    let timeout = Duration::from_millis(100);
    let options = CallOptions::new().timeout(timeout);
    let error = call_with(&client, "silent", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| call(&client, "silent"));
        while client.stats().calls_in_flight == 0 {
            std::thread::yield_now();
        }
        client.close();
        assert_eq!(call.join().unwrap().unwrap_err().kind(), ErrorKind::Closed);
    });
}

// L-OLD-C-05
#[test]
fn an_endpoint_of_another_origin_is_refused() {
    for endpoint in [
        "http://evil.example/messages",
        "https://127.0.0.1/messages",
        "//evil.example/m",
        "http://",
    ] {
        let stub = first_transport("405 Method Not Allowed", endpoint);
        let error = stub.connect_as(asker()).unwrap_err();
        assert!(
            error.to_string().contains("endpoint"),
            "{endpoint}: {error}"
        );
    }
}

// M-HTTP-C-30
#[test]
fn an_error_of_the_protocol_leads_to_no_other_transport() {
    let stub = Stub::start(|seen, out| match &*seen.asks() {
        "initialize" => refuse(
            out,
            "405 Method Not Allowed",
            seen.id(),
            -32600,
            Value::Null,
        ),
        _ => out.respond("400 Bad Request", &[], ""),
    });
    let error = stub.connect_as(asker()).unwrap_err();
    assert_eq!(error.rpc().unwrap().code.value(), -32600);
    assert!(stub.seen_by("GET").is_empty());
    // Nor does one that says nothing of the transport.
    let stub = Stub::start(|seen, out| match &*seen.asks() {
        "initialize" => out.respond("500 Internal Server Error", &[], ""),
        _ => out.respond("400 Bad Request", &[], ""),
    });
    let error = stub.connect_as(asker()).unwrap_err();
    assert_eq!(error.http_status(), Some(500));
    assert!(stub.seen_by("GET").is_empty());
}

// Must not happen: a modern server that refuses `initialize` is given up.
#[test]
fn a_refused_initialize_leads_back_to_the_modern_era_once() {
    let probes = AtomicBool::new(false);
    let stub = Stub::start(move |seen, out| match &*seen.asks() {
        "server/discover" if !probes.swap(true, Ordering::SeqCst) => {
            out.respond("404 Not Found", &[], "")
        }
        "server/discover" => out.result(seen, discovered()),
        _ => {
            let data = json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" });
            refuse(out, "400 Bad Request", seen.id(), -32022, data);
        }
    });
    let client = stub.connect();
    assert_eq!(client.era(), Era::Modern);
    assert_eq!(stub.seen_asking("initialize").len(), 1);
}
