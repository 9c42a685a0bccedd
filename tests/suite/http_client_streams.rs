//! Event streams that a legacy server refuses, breaks off and gives back: that of a call, and the
//! one beside all calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Event;
use mcplink::protocol::LogLevel;
use mcplink::schema::SubscriptionFilter;
use serde_json::json;

use crate::common::LONG;
use crate::stub::{Stub, asker, call, call_with, progress, text};

const REVISION: &str = "2025-11-25";

// L-HTTP-C-15, L-HTTP-C-17
#[test]
fn the_stream_beside_calls_comes_back_after_refusals() {
    const REFUSALS: [&str; 6] = [
        "409 Conflict",
        "400 Bad Request",
        "409 Conflict",
        "429 Too Many Requests",
        "502 Bad Gateway",
        "400 Bad Request",
    ];
    let gets = AtomicUsize::new(0);
    let (came, times) = mpsc::channel();
    let stub = Stub::legacy(REVISION, move |seen, out| match &*seen.method {
        "GET" => {
            _ = came.send(Instant::now());
            let number = gets.fetch_add(1, Ordering::SeqCst);
            match number.checked_sub(1).map(|number| REFUSALS.get(number)) {
                Some(Some(status)) => out.respond(status, &[], "later"),
                first => {
                    out.stream();
                    out.piece("retry: 10\n\n");
                    if first.is_none() {
                        return out.cut();
                    }
                    let changed = "notifications/tools/list_changed";
                    out.event(&json!({ "jsonrpc": "2.0", "method": changed }));
                    out.expect_close();
                }
            }
        }
        // It knows its session.
        "POST" if seen.asks() == "ping" => out.result(seen, json!({})),
        _ => out.accept(),
    });
    let (logged, log) = mpsc::channel();
    let builder = asker().on_log(move |record| {
        _ = logged.send((record.level, record.to_string()));
    });
    let client = stub.connect_as(builder).unwrap();
    let (told, events) = mpsc::channel();
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let _subscription = client
        .subscribe(filter, move |event| _ = told.send(event))
        .unwrap();
    let times: Vec<Instant> = (0..8).map(|_| times.recv_timeout(LONG).unwrap()).collect();
    let pauses = times.windows(2).map(|pair| pair[1] - pair[0]);
    // No sooner than that; how much later depends on the machine.
    let least = [10, 10, 20, 40, 80, 160, 320].map(Duration::from_millis);
    for (pause, least) in pauses.zip(least) {
        assert!(pause >= least, "{pause:?} after {least:?}");
    }
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::EverythingChanged);
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
    let log: Vec<_> = log.try_iter().collect();
    let of = |level| {
        log.iter()
            .filter(move |line| line.0 == level)
            .map(|line| &line.1)
    };
    let warnings: Vec<_> = of(LogLevel::Warning).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("409 Conflict"), "{warnings:?}");
    assert!(of(LogLevel::Info).any(|line| line.contains("is back")));
    assert_eq!(stub.seen_asking("initialize").len(), 1);
}

#[test]
fn a_server_that_offers_no_stream_is_asked_once() {
    for status in [
        "404 Not Found",
        "405 Method Not Allowed",
        "410 Gone",
        "501 Not Implemented",
    ] {
        let (logged, log) = mpsc::channel();
        let stub = Stub::legacy(REVISION, move |seen, out| match &*seen.method {
            "GET" => out.respond(status, &[], ""),
            _ => out.result(seen, text("done")),
        });
        let builder = asker().on_log(move |record| _ = logged.send(record.to_string()));
        let client = stub.connect_as(builder).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done");
        client.close();
        assert_eq!(stub.seen_by("GET").len(), 1);
        assert!(stub.seen_asking("ping").is_empty());
        assert_eq!(log.try_iter().collect::<Vec<_>>(), [""; 0]);
    }
}

#[test]
fn going_on_with_a_stream_is_bounded_by_the_deadline_only() {
    const REFUSALS: usize = 14;
    let (gets, asked) = (AtomicUsize::new(0), Mutex::new(None));
    let stub = Stub::legacy(REVISION, move |seen, out| {
        match (&*seen.method, &*seen.asks()) {
            ("POST", "tools/call") => {
                *asked.lock().unwrap() = Some(seen.clone());
                out.stream();
                out.piece("id: e-1\nretry: 1\ndata:\n\n");
                out.cut();
            }
            ("GET", _) if seen.header("last-event-id") == Some("e-1") => {
                let number = gets.fetch_add(1, Ordering::SeqCst);
                let asked = asked.lock().unwrap().clone().unwrap();
                if number < REFUSALS {
                    // A stream that brings something is not asked for in vain: the pauses stay
                    // short.
                    match number % 3 {
                        0 => return out.respond("409 Conflict", &[], ""),
                        1 => return out.cut(),
                        _ => {
                            out.stream();
                            out.event(&progress(&asked, number as u32));
                            return out.cut();
                        }
                    }
                }
                out.stream();
                out.event_result(&asked, text("done"));
                out.end();
            }
            ("GET", _) => out.respond("405 Method Not Allowed", &[], ""),
            _ => out.accept(),
        }
    });
    let client = stub.connect();
    assert_eq!(call(&client, "x").unwrap(), "done");
    // More than any count, without anything that comes.
    let stub = Stub::legacy(REVISION, move |seen, out| {
        match (&*seen.method, &*seen.asks()) {
            ("POST", "tools/call") => {
                out.stream();
                out.piece("id: e-1\nretry: 1\ndata:\n\n");
                out.cut();
            }
            ("GET", _) if seen.header("last-event-id").is_some() => {
                out.respond("503 Service Unavailable", &[], "");
            }
            ("GET", _) => out.respond("405 Method Not Allowed", &[], ""),
            _ => out.accept(),
        }
    });
    let client = stub.connect();
    let options = CallOptions::new().timeout(Duration::from_millis(1500));
    let error = call_with(&client, "x", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    let resumed = stub.seen_by("GET").into_iter();
    let resumed = resumed.filter(|seen| seen.header("last-event-id").is_some());
    // 1 + 1 + 2 + 4 + … ms: each is asked for after the double time.
    assert!((9..=12).contains(&resumed.count()));
}
