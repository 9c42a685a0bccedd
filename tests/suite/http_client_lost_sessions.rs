//! A client whose legacy server over HTTP has lost the session, in all the ways in which servers
//! say so.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, Event};
use mcplink::protocol::CancelToken;
use mcplink::schema::{LoggingLevel, SubscriptionFilter};
use serde_json::{Value, json};

use crate::common::{LONG, wait_until};
use crate::stub::{Out, Seen, Stub, asker, call, call_with, initialized, text};

const REVISION: &str = "2025-11-25";
/// A server whose sessions can be lost.
struct Server {
    stub: Stub,
    /// The number of the one session that it knows.
    known: Arc<AtomicUsize>,
}

impl Server {
    /// Refuses what it does not know with `refuse`, and answers other requests with `answer`.
    fn start(
        refuse: impl Fn(&Seen, &mut Out) + Send + Sync + 'static,
        answer: impl Fn(&Seen, &mut Out) + Send + Sync + 'static,
    ) -> Self {
        let known = Arc::new(AtomicUsize::new(0));
        let current = Arc::clone(&known);
        let stub = Stub::start(move |seen, out| {
            if seen.asks() == "server/discover" {
                return out.respond("400 Bad Request", &[], "");
            }
            if seen.asks() == "initialize" {
                assert_eq!(seen.header("mcp-session-id"), None);
                let id = format!("s{}", current.fetch_add(1, Ordering::SeqCst) + 1);
                let result = initialized(REVISION);
                let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": result });
                return out.json_with(&[("mcp-session-id", &id)], &answer);
            }
            let id = format!("s{}", current.load(Ordering::SeqCst));
            if seen.header("mcp-session-id") != Some(&id) {
                return refuse(seen, out);
            }
            answer(seen, out);
        });
        Self { stub, known }
    }

    /// The same, of a server that answers all calls alike and has no stream.
    fn simple(refuse: impl Fn(&Seen, &mut Out) + Send + Sync + 'static) -> Self {
        Self::start(refuse, plainly)
    }

    fn connect(&self) -> Client {
        self.stub.connect()
    }

    /// Forgets the session, as if it was started anew.
    fn forget(&self) {
        self.known.fetch_add(10, Ordering::SeqCst);
    }

    fn count(&self, method: &str) -> usize {
        self.stub.seen_asking(method).len()
    }
}

fn plainly(seen: &Seen, out: &mut Out) {
    match &*seen.method {
        "POST" if seen.body()["id"].is_null() => out.accept(),
        "POST" if seen.asks() == "ping" => out.result(seen, json!({})),
        "POST" => out.result(seen, text("done")),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    }
}

/// Refuses with a JSON-RPC error.
fn refuse(out: &mut Out, status: &str, id: &Value, code: i64, message: &str) {
    let error = json!({ "code": code, "message": message });
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    let fields = [("content-type", "application/json")];
    out.respond(status, &fields, &body.to_string());
}

/// The id of a request with a fraction of zero.
fn spelled(seen: &Seen) -> Value {
    let id = json!(seen.id().as_f64().unwrap());
    assert!(id.to_string().ends_with(".0"), "{id}");
    id
}

type Refuse = fn(&Seen, &mut Out);

/// What refuses a request without naming it.
const REFUSAL: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}"#;

/// Ways in which servers say that they don't know a session.
const WAYS: [Refuse; 12] = [
    |_, out| {
        refuse(
            out,
            "400 Bad Request",
            &Value::Null,
            -32000,
            "Bad Request: No valid session ID provided",
        )
    },
    |_, out| {
        refuse(
            out,
            "400 Bad Request",
            &Value::Null,
            -32600,
            "Mcp-Session-Id header is required",
        )
    },
    |_, out| {
        refuse(
            out,
            "400 Bad Request",
            &json!("server-error"),
            -32600,
            "Bad Request: Missing session ID",
        )
    },
    |seen, out| {
        refuse(
            out,
            "400 Bad Request",
            &seen.id(),
            -32000,
            "Server not initialized",
        )
    },
    |seen, out| {
        refuse(
            out,
            "404 Not Found",
            &seen.id(),
            -32001,
            "Session not found",
        )
    },
    |_, out| refuse(out, "409 Conflict", &Value::Null, -32000, "another session"),
    |_, out| {
        out.respond(
            "410 Gone",
            &[("content-type", "text/plain")],
            "session is gone",
        )
    },
    |_, out| {
        out.respond(
            "404 Not Found",
            &[("content-type", "text/html")],
            "<h1>no such session</h1>",
        )
    },
    |_, out| {
        out.respond(
            "400 Bad Request",
            &[("content-type", "application/json")],
            "{\"error\":\"unknown session\"}",
        )
    },
    |_, out| out.respond("422 Unprocessable Content", &[], ""),
    |_, out| {
        let body = &format!("event: message\ndata: {REFUSAL}\n\n");
        out.respond(
            "400 Bad Request",
            &[("content-type", "text/event-stream")],
            body,
        );
    },
    // The stream stays open.
    |_, out| {
        out.raw("HTTP/1.1 400 Bad Request\r\ntransfer-encoding: chunked\r\n");
        out.raw("content-type: text/event-stream\r\n\r\n");
        out.piece(&format!(": hello\n\ndata: {REFUSAL}\n\n"));
        out.expect_close();
    },
];

// L-SESS-C-07
#[test]
fn a_lost_session_is_noticed_however_the_server_says_it() {
    for (number, way) in WAYS.into_iter().enumerate() {
        let server = Server::simple(way);
        let client = server.connect();
        assert_eq!(call(&client, "x").unwrap(), "done");
        server.forget();
        assert_eq!(call(&client, "x").unwrap(), "done", "{number}");
        assert_eq!(server.count("initialize"), 2, "{number}");
        assert_eq!(server.count("tools/call"), 3, "{number}");
        assert!(server.count("ping") <= 1, "{number}");
        // A notification finds it out too, and a subscription.
        server.forget();
        client.notify("notifications/x", &json!({})).unwrap();
        assert_eq!(server.count("initialize"), 3, "{number}");
        server.forget();
        let filter = SubscriptionFilter::default().resource_subscriptions(vec!["a:b".to_owned()]);
        let subscription = client.subscribe(filter, |_| {}).unwrap();
        assert_eq!(server.count("initialize"), 4, "{number}");
        let last = server
            .stub
            .seen_asking("resources/subscribe")
            .pop()
            .unwrap();
        let session = format!("s{}", server.known.load(Ordering::SeqCst));
        assert_eq!(last.header("mcp-session-id"), Some(&*session));
        drop(subscription);
        // Closing does not open another one.
        server.forget();
        client.close();
        assert_eq!(server.count("initialize"), 4, "{number}");
    }
}

#[test]
fn a_session_that_is_lost_before_its_first_call_is_opened_anew() {
    let server = Server::simple(WAYS[0]);
    let client = server.connect();
    server.forget();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(server.count("initialize"), 2);
}

#[test]
fn callers_at_the_same_time_share_one_new_session() {
    let meeting = Arc::new(Barrier::new(8));
    let meet = Arc::clone(&meeting);
    let server = Server::simple(move |seen, out| {
        if seen.asks() == "tools/call" {
            meet.wait();
        }
        WAYS[0](seen, out);
    });
    let client = server.connect();
    server.forget();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| call(&client, "x"))).collect();
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap(), "done");
        }
    });
    assert_eq!(server.count("initialize"), 2);
    assert_eq!(server.count("ping"), 1);
    assert_eq!(server.count("tools/call"), 16);
}

#[test]
fn what_a_server_refuses_in_a_good_session_is_told_as_it_is() {
    let ways: [(Refuse, ErrorKind, u16, usize); 15] = [
        (
            |_, out| refuse(out, "400 Bad Request", &Value::Null, -32000, "told"),
            ErrorKind::Peer,
            400,
            1,
        ),
        (
            |_, out| out.respond("400 Bad Request", &[], "told"),
            ErrorKind::Http,
            400,
            1,
        ),
        (
            |_, out| out.respond("413 Content Too Large", &[], "told"),
            ErrorKind::Http,
            413,
            1,
        ),
        (
            |seen, out| refuse(out, "404 Not Found", &seen.id(), -32002, "told"),
            ErrorKind::Peer,
            404,
            1,
        ),
        // It says what it is about.
        (
            |seen, out| refuse(out, "400 Bad Request", &seen.id(), -32602, "told"),
            ErrorKind::Peer,
            400,
            0,
        ),
        (
            |seen, out| refuse(out, "404 Not Found", &seen.id(), -32601, "told"),
            ErrorKind::Peer,
            404,
            0,
        ),
        // The id may be spelled in another way, in JSON and in an event stream.
        (
            |seen, out| refuse(out, "400 Bad Request", &spelled(seen), -32003, "told"),
            ErrorKind::Peer,
            400,
            0,
        ),
        (
            |seen, out| {
                let error = json!({ "code": -32003, "message": "told" });
                let body = json!({ "jsonrpc": "2.0", "id": spelled(seen), "error": error });
                let fields = [("content-type", "text/event-stream")];
                out.respond("400 Bad Request", &fields, &format!("data: {body}\n\n"));
            },
            ErrorKind::Peer,
            400,
            0,
        ),
        (
            |seen, out| refuse(out, "404 Not Found", &spelled(seen), -32003, "told"),
            ErrorKind::Peer,
            404,
            1,
        ),
        (
            |_, out| refuse(out, "404 Not Found", &Value::Null, -32601, "told"),
            ErrorKind::Peer,
            404,
            0,
        ),
        // What is never about a session.
        (
            |_, out| out.respond("401 Unauthorized", &[], "told"),
            ErrorKind::Auth,
            401,
            0,
        ),
        (
            |_, out| out.respond("403 Forbidden", &[], "told"),
            ErrorKind::Auth,
            403,
            0,
        ),
        (
            |_, out| refuse(out, "429 Too Many Requests", &Value::Null, -32000, "told"),
            ErrorKind::Peer,
            429,
            0,
        ),
        (
            |_, out| out.respond("503 Service Unavailable", &[], "told"),
            ErrorKind::Http,
            503,
            0,
        ),
        (
            |_, out| {
                refuse(
                    out,
                    "500 Internal Server Error",
                    &Value::Null,
                    -32000,
                    "told",
                )
            },
            ErrorKind::Peer,
            500,
            0,
        ),
    ];
    for (way, kind, status, pings) in ways {
        let server = Server::start(
            |_, _| unreachable!("the session is known"),
            move |seen, out| match &*seen.asks() {
                "tools/call" => way(seen, out),
                _ => plainly(seen, out),
            },
        );
        let client = server.connect();
        let error = call(&client, "x").unwrap_err();
        assert_eq!(
            (error.kind(), error.http_status()),
            (kind, Some(status)),
            "{error}"
        );
        assert!(error.to_string().contains("told"), "{error}");
        assert_eq!(server.count("initialize"), 1, "{error}");
        assert_eq!(server.count("tools/call"), 1, "{error}");
        assert_eq!(server.count("ping"), pings, "{error}");
    }
}

#[test]
fn a_server_that_has_no_ping_knows_its_session_all_the_same() {
    for by_status in [true, false] {
        let server = Server::start(
            |_, _| unreachable!("the session is known"),
            move |seen, out| match &*seen.asks() {
                "tools/call" => out.respond("400 Bad Request", &[], "told"),
                "ping" if by_status => {
                    refuse(out, "404 Not Found", &seen.id(), -32601, "Method not found");
                }
                "ping" => refuse(out, "200 OK", &seen.id(), -32601, "Method not found"),
                _ => plainly(seen, out),
            },
        );
        let error = call(&server.connect(), "x").unwrap_err();
        assert_eq!(error.http_status(), Some(400));
        assert_eq!(server.count("initialize"), 1);
    }
}

#[test]
fn a_look_that_shows_nothing_opens_no_other_session() {
    for (status, answer) in [
        ("401 Unauthorized", true),
        ("503 Service Unavailable", true),
        ("", false),
    ] {
        let server = Server::start(
            |_, _| unreachable!("the session is known"),
            move |seen, out| match &*seen.asks() {
                "tools/call" => out.respond("400 Bad Request", &[], "told"),
                "ping" if answer => out.respond(status, &[], ""),
                "ping" => out.expect_close(),
                _ => plainly(seen, out),
            },
        );
        let client = server.connect();
        let timeout = Duration::from_millis(500);
        let error = call_with(&client, "x", CallOptions::new().timeout(timeout)).unwrap_err();
        assert_eq!(error.http_status(), Some(400), "{error}");
        assert_eq!(server.count("initialize"), 1);
    }
}

#[test]
fn a_server_that_refuses_everything_is_asked_once_more_only() {
    let refuses = Arc::new(AtomicBool::new(false));
    let refusing = Arc::clone(&refuses);
    let server = Server::start(WAYS[0], move |seen, out| {
        if refusing.load(Ordering::SeqCst) && seen.method == "POST" && !seen.id().is_null() {
            return WAYS[0](seen, out);
        }
        plainly(seen, out);
    });
    let client = server.connect();
    assert_eq!(call(&client, "x").unwrap(), "done");
    refuses.store(true, Ordering::SeqCst);
    let error = call(&client, "x").unwrap_err();
    assert_eq!(error.http_status(), Some(400), "{error}");
    assert_eq!(server.count("initialize"), 2);
    assert_eq!(server.count("tools/call"), 3);
    assert_eq!(server.count("ping"), 1);
    // It may be well later.
    refuses.store(false, Ordering::SeqCst);
    assert_eq!(call(&client, "x").unwrap(), "done");
}

#[test]
fn opening_another_session_keeps_to_the_time_of_the_call() {
    let (entered, has_entered) = mpsc::channel();
    let server = Server::simple(move |seen, out| match &*seen.asks() {
        "ping" => {
            _ = entered.send(());
            out.expect_close();
        }
        _ => WAYS[0](seen, out),
    });
    let client = server.connect();
    server.forget();
    let token = CancelToken::new();
    std::thread::scope(|scope| {
        // One looks, and the other waits for it.
        let calls: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| call_with(&client, "x", CallOptions::new().cancel_with(&token)))
            })
            .collect();
        has_entered.recv_timeout(LONG).unwrap();
        token.cancel();
        for call in calls {
            call.join().unwrap().unwrap_err();
        }
    });
    assert_eq!(server.count("initialize"), 1);
}

/// A server that never answers the first of these messages in its second session.
fn hanging_at(method: &'static str) -> (Server, mpsc::Receiver<()>) {
    let (entered, has_entered) = mpsc::channel();
    let sessions = AtomicUsize::new(0);
    let has_hung = AtomicBool::new(false);
    let server = Server::start(WAYS[7], move |seen, out| {
        let number = match &*seen.asks() {
            "notifications/initialized" => sessions.fetch_add(1, Ordering::SeqCst) + 1,
            _ => sessions.load(Ordering::SeqCst),
        };
        if number == 2 && seen.asks() == method && !has_hung.swap(true, Ordering::SeqCst) {
            _ = entered.send(());
            return out.expect_close();
        }
        plainly(seen, out);
    });
    (server, has_entered)
}

#[test]
fn one_deadline_bounds_all_that_opening_another_session_sends() {
    for method in [
        "notifications/initialized",
        "logging/setLevel",
        "tools/call",
    ] {
        let (server, _entered) = hanging_at(method);
        let client = server.connect();
        client.set_log_level(LoggingLevel::Info).unwrap();
        server.forget();
        let timeout = Duration::from_millis(600);
        let error = call_with(&client, "x", CallOptions::new().timeout(timeout)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{method}: {error}");
        // Other calls use the session, which has its log level.
        assert_eq!(call(&client, "y").unwrap(), "done", "{method}");
        assert_eq!(server.count("initialize"), 2, "{method}");
        wait_until("the log level is set", || {
            server.count("logging/setLevel") == 2
        });
    }
}

#[test]
fn a_cancelled_call_does_not_wait_for_another_session() {
    for method in ["notifications/initialized", "logging/setLevel"] {
        let (server, entered) = hanging_at(method);
        let client = server.connect();
        client.set_log_level(LoggingLevel::Info).unwrap();
        server.forget();
        let token = CancelToken::new();
        std::thread::scope(|scope| {
            let call =
                scope.spawn(|| call_with(&client, "x", CallOptions::new().cancel_with(&token)));
            entered.recv_timeout(LONG).unwrap();
            token.cancel();
            let error = call.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{method}: {error}");
        });
        assert_eq!(call(&client, "y").unwrap(), "done", "{method}");
        assert_eq!(server.count("initialize"), 2, "{method}");
    }
}

#[test]
fn a_new_session_is_good_though_the_server_refuses_the_log_level() {
    let sets = AtomicUsize::new(0);
    let server = Server::start(WAYS[7], move |seen, out| match &*seen.asks() {
        "logging/setLevel" if sets.fetch_add(1, Ordering::SeqCst) > 0 => {
            refuse(out, "200 OK", &seen.id(), -32603, "not now");
        }
        _ => plainly(seen, out),
    });
    let (logged, log) = mpsc::channel();
    let builder = asker().on_log(move |record| _ = logged.send(record.to_string()));
    let client = server.stub.connect_as(builder).unwrap();
    client.set_log_level(LoggingLevel::Info).unwrap();
    server.forget();
    assert_eq!(call(&client, "x").unwrap(), "done");
    let refused = |line: String| line.contains("the log level was not set");
    while !refused(log.recv_timeout(LONG).unwrap()) {}
}

#[test]
fn a_subscriber_learns_that_changes_may_have_been_missed() {
    let server = Server::simple(WAYS[0]);
    let (told, events) = mpsc::channel();
    let client = server.connect();
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let _subscription = client
        .subscribe(filter, move |event| _ = told.send(event))
        .unwrap();
    server.forget();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::EverythingChanged);
}

#[test]
fn a_session_that_was_lost_while_nobody_called_is_found_out_by_the_stream() {
    for way in [WAYS[0], WAYS[6], WAYS[7]] {
        let (opened, streams) = mpsc::channel();
        let server = Server::start(way, move |seen, out| match &*seen.method {
            "GET" => {
                out.stream();
                out.piece("retry: 1\n\n");
                _ = opened.send(out.keep());
            }
            _ => plainly(seen, out),
        });
        let (told, events) = mpsc::channel();
        let (logged, log) = mpsc::channel();
        let builder = asker().on_log(move |record| _ = logged.send(record.to_string()));
        let client = server.stub.connect_as(builder).unwrap();
        let filter = SubscriptionFilter::default().resource_subscriptions(vec!["a:b".to_owned()]);
        let _subscription = client
            .subscribe(filter, move |event| _ = told.send(event))
            .unwrap();
        let mut stream = streams.recv_timeout(LONG).unwrap();
        server.forget();
        stream.cut();
        assert_eq!(events.recv_timeout(LONG).unwrap(), Event::EverythingChanged);
        // There is another stream, and what was subscribed to is told on it.
        let mut stream = streams.recv_timeout(LONG).unwrap();
        let params = json!({ "uri": "a:b" });
        let updated = "notifications/resources/updated";
        stream.event(&json!({ "jsonrpc": "2.0", "method": updated, "params": params }));
        let updated = Event::ResourceUpdated("a:b".to_owned());
        assert_eq!(events.recv_timeout(LONG).unwrap(), updated);
        assert_eq!(server.count("initialize"), 2);
        // The line is written by another thread.
        let opened = |line: String| line.contains("another one was opened");
        while !opened(log.recv_timeout(LONG).unwrap()) {}
        client.close();
    }
}
