//! Pings of a peer that says nothing.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::protocol::KeepAlive;
use mcplink::schema::ProtocolVersion;
use mcplink::server::Server;
use mcplink::transport::Stream;
use serde_json::json;

use crate::common::wait_until;
use crate::raw::Raw;
use crate::rawserver::{LONG, connect, connect_with};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

fn often() -> KeepAlive {
    KeepAlive::every(Duration::from_millis(2)).timeout(LONG)
}

/// What a client sends to ask whether the server is there.
fn ping_of(revision: ProtocolVersion) -> &'static str {
    if revision.is_modern() {
        // The modern era has no ping.
        "server/discover"
    } else {
        "ping"
    }
}

// L-PING-B-02, L-PING-B-03
#[test]
fn a_silent_server_is_pinged_again_and_again() {
    for revision in [LEGACY, MODERN] {
        let builder = Client::builder("test", "1").keep_alive(often());
        let (client, mut server) = connect_with(builder, revision, &json!({}));
        for _ in 0..5 {
            let ping = server.asked(ping_of(revision));
            let params = &ping["params"];
            if revision.is_modern() {
                // M-META-C-07
                let meta = &params["_meta"];
                assert_eq!(
                    meta["io.modelcontextprotocol/protocolVersion"],
                    "2026-07-28"
                );
            }
            // A refusal is a sign of life too.
            server.refuse(&ping, -32601, "no");
        }
        assert!(!client.is_closed());
    }
}

// L-PING-B-05
#[test]
fn nobody_is_pinged_who_was_not_asked_to() {
    for revision in [LEGACY, MODERN] {
        let (client, mut server) = connect(revision, &json!({}));
        let silence = server.receive_within(Duration::from_millis(30));
        assert_eq!(silence, None);
        drop(client);
    }
}

// L-PING-B-04, L-PING-B-06, L-PING-B-07
#[test]
fn a_server_that_does_not_answer_is_given_up_with_a_clear_error() {
    for revision in [LEGACY, MODERN] {
        let (log, logged) = mpsc::channel();
        let keep_alive = KeepAlive::every(Duration::from_millis(1))
            .timeout(Duration::from_millis(20))
            .max_failures(2);
        let builder = Client::builder("test", "1")
            .keep_alive(keep_alive)
            .on_log(move |record| _ = log.send(record.text.to_owned()));
        let (client, mut server) = connect_with(builder, revision, &json!({}));
        let options = CallOptions::new().timeout(LONG);
        let error = client.request("test/hang", &(), options).unwrap_err();
        assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, true));
        let text = error.to_string();
        let expected =
            "has not answered 2 pings (keep_alive: every 1 ms, timeout 20 ms, max_failures 2)";
        assert!(text.contains(expected), "{text}");
        assert!(client.is_closed());
        let mut pings = 0;
        // The server sees the end, although nobody closes here.
        while let Some(message) = server.next() {
            pings += usize::from(message["method"] == ping_of(revision));
        }
        assert_eq!(pings, 2);
        for failures in [1, 2] {
            let line = logged.recv_timeout(LONG).unwrap();
            assert!(
                line.contains(&format!("not answered {failures} pings")),
                "{line}"
            );
        }
    }
}

// L-PING-B-02, L-PING-B-06
#[test]
fn a_server_pings_its_legacy_clients_and_no_others() {
    let quick = KeepAlive::every(Duration::from_millis(1))
        .timeout(Duration::from_millis(200))
        .max_failures(2);
    let server = Server::builder("pinging", "1")
        .keep_alive(quick)
        .build()
        .unwrap();
    let mut legacy = Raw::open(&server, LEGACY);
    for _ in 0..3 {
        let ping = legacy.next();
        assert_eq!(ping["method"], "ping");
        legacy.send(json!({ "jsonrpc": "2.0", "id": ping["id"], "result": {} }));
    }
    assert!(!legacy.connection.peer().is_closed());
    legacy.reads_to_the_end();
    assert!(legacy.connection.peer().is_closed());

    let mut modern = Raw::open(&server, MODERN);
    let until = Instant::now() + Duration::from_millis(50);
    while Instant::now() < until {
        let answer = modern.result("server/discover", json!({}));
        assert_eq!(answer["resultType"], "complete");
    }
    assert_eq!(modern.connection.peer().stats().calls_in_flight, 0);
}

#[test]
fn a_transport_that_can_not_wait_with_a_bound_is_refused() {
    let stream = Stream::new(std::io::empty(), std::io::sink());
    let error = Client::builder("test", "1")
        .keep_alive(often())
        .connect(stream)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("keep_alive"), "{error}");
}

#[test]
fn pings_that_nobody_answers_fill_no_table() {
    let keep_alive = KeepAlive::every(Duration::from_millis(1))
        .timeout(Duration::from_millis(1))
        .max_failures(u32::MAX);
    let builder = Client::builder("test", "1").keep_alive(keep_alive);
    let (client, mut server) = connect_with(builder, LEGACY, &json!({}));
    for _ in 0..20 {
        server.asked("ping");
    }
    wait_until("the last one alone is waited for", || {
        client.stats().calls_in_flight <= 1
    });
}
