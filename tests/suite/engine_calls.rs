//! Calls of ours: each has one outcome, in time, whatever the peer does.

use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::protocol::{CancelToken, Connection, Peer, RequestOptions};
use mcplink::transport::{Limits, Stream, Transport, memory};
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::common::{LONG, Script, call_aside, over, play, socket_pair, within};

const SHORT: Duration = Duration::from_millis(100);

fn timed_out_call(peer: &Peer, params: &Value) -> Error {
    let started = Instant::now();
    let error = peer
        .request("tools/call", params, RequestOptions::new().timeout(SHORT))
        .unwrap_err();
    let took = started.elapsed();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(took >= SHORT, "{took:?}");
    error
}

// Seen in other SDKs: a call to a silent, stopped or unreading peer never returns.
// Must not happen: the peer of a call that timed out works on, untold; a time-out error names neither method nor setting.
// M-CANC-C-01, M-CANC-C-05, M-CANC-B-18, M-CANC-B-19, M-CANC-B-20, M-BASE-B-02, M-BASE-C-03
#[test]
fn a_silent_peer_ends_a_call_at_its_timeout_and_is_told() {
    let (connection, mut script) = play(Connection::client());
    let error = timed_out_call(&connection.peer(), &json!({})).to_string();
    for part in [
        "tools/call",
        "'the in-memory peer'",
        "after ",
        "(timeout is 100 ms)",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let request = script.receive_request("tools/call");
    assert!(
        request["id"].is_i64() && request["jsonrpc"] == "2.0",
        "{request}"
    );
    let cancelled = script.receive_request("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert_eq!(cancelled["params"]["reason"], "timed out");
    assert!(cancelled.get("id").is_none(), "{cancelled}");
}

// Must not happen: late answers are errors, or end the connection.
// M-CANC-C-13, L-CANC-B-05
#[test]
fn a_late_answer_is_dropped_and_one_to_nothing_reported() {
    let (connection, mut script) = play(Connection::client());
    let peer = connection.peer();
    timed_out_call(&peer, &json!({}));
    let late = script.receive_request("tools/call");
    script.receive_request("notifications/cancelled");
    let next = call_aside(&connection, "next", LONG);
    let request = script.receive_request("next");
    script.answer(&late, &json!({"late": true}));
    script.answer(&json!({"id": 4711}), &json!({"unknown": true}));
    // A text that is no spelling of the id.
    let text = format!("0{}", request["id"]);
    script.answer(&json!({"id": text}), &json!({"text": true}));
    script.answer(&request, &json!({"right": true}));
    assert_eq!(next.join().unwrap().unwrap(), r#"{"right":true}"#);
    let stats = peer.stats();
    assert_eq!((stats.late_responses, stats.unknown_responses), (1, 2));
    assert_eq!(stats.calls_in_flight, 0);
}

// Seen in other SDKs: a call to a silent, stopped or unreading peer never returns.
// Must not happen: a call hangs in writing, since the deadline covers only the wait for the answer; the peer of a call that timed out works
// on, untold.
#[test]
fn a_peer_that_reads_nothing_ends_calls_at_their_timeout() {
    let large = json!({"argument": "x".repeat(8 << 20)});
    // Kept open and never read.
    let (ours, _theirs) = memory::pair();
    never_read(ours, &large);
    let (ours, _theirs) = socket_pair();
    never_read(over(ours), &large);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (_theirs, _) = listener.accept().unwrap();
    never_read(Stream::tcp(ours).unwrap(), &large);
}

fn never_read(transport: impl Transport + 'static, large: &Value) {
    let connection = Connection::client().open(transport).unwrap();
    let peer = connection.peer();
    let text = serde_json::value::to_raw_value(large).unwrap();
    for params in [Some(&text), None, Some(&text)] {
        let options = RequestOptions::new().timeout(SHORT);
        let error = peer.request("upload", &params, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert!(error.to_string().contains("upload"), "{error}");
    }
    within(Duration::from_secs(2), move || connection.close());
}

// Seen in other SDKs: a call to a silent, stopped or unreading peer never returns.
// Must not happen: a time-out error names neither method nor setting.
#[test]
fn a_call_that_found_no_room_says_so() {
    let mut limits = Limits::default();
    limits.max_queued_bytes = 100;
    let (connection, _script) = play(Connection::client().limits(limits));
    let peer = connection.peer();
    let text = json!({"text": "x".repeat(90)});
    // One on the wire, one in the queue.
    timed_out_call(&peer, &text);
    timed_out_call(&peer, &text);
    let error = timed_out_call(&peer, &text);
    assert!(!error.was_sent(), "{error}");
    for part in [
        "tools/call to 'the in-memory peer' was not sent after",
        "timeout is 100 ms",
        "max_queued_bytes",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn the_peer_is_told_why_a_call_was_cancelled() {
    let (connection, mut script) = play(Connection::client());
    let token = CancelToken::new();
    let calling = {
        let (peer, token) = (connection.peer(), token.clone());
        thread::spawn(move || {
            let options = RequestOptions::new().cancel_with(&token);
            peer.request("tools/call", &json!({}), options).unwrap_err()
        })
    };
    script.receive_request("tools/call");
    token.trigger_because("the user pressed Escape");
    let error = within(LONG, move || calling.join().unwrap());
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let cancelled = script.receive_request("notifications/cancelled");
    assert_eq!(cancelled["params"]["reason"], "the user pressed Escape");
}

// M-CANC-C-05
#[test]
fn a_cancelled_call_returns_at_once_and_the_peer_is_told() {
    let (connection, mut script) = play(Connection::client());
    let token = CancelToken::new();
    let calling = {
        let (peer, token) = (connection.peer(), token.clone());
        thread::spawn(move || {
            let options = RequestOptions::new().cancel_with(&token);
            peer.request("tools/call", &json!({}), options).unwrap_err()
        })
    };
    let request = script.receive_request("tools/call");
    token.cancel();
    let error = within(LONG, move || calling.join().unwrap());
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let cancelled = script.receive_request("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    let options = RequestOptions::new().cancel_with(&token);
    let again = connection.peer().request("again", &json!({}), options);
    assert!(!again.unwrap_err().was_sent());
    script.expect_silence();
}

#[test]
fn a_call_that_waits_for_a_peer_that_does_not_read_can_be_cancelled() {
    for room in [1, 16 << 20] {
        let mut limits = Limits::default();
        limits.max_queued_bytes = room;
        let (ours, _theirs) = socket_pair();
        let connection = Connection::client()
            .limits(limits)
            .open(over(ours))
            .unwrap();
        let token = CancelToken::new();
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let (peer, token) = (connection.peer(), token.clone());
                thread::spawn(move || {
                    let params = json!({"text": "x".repeat(1 << 20)});
                    let options = RequestOptions::new().cancel_with(&token);
                    peer.request("upload", &params, options).unwrap_err().kind()
                })
            })
            .collect();
        crate::common::wait_until("the calls are there", || {
            connection.peer().stats().calls_in_flight == 3
        });
        token.cancel();
        let kinds = within(LONG, move || {
            calls
                .into_iter()
                .map(|call| call.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert_eq!(kinds, [ErrorKind::Cancelled; 3]);
    }
}

#[test]
fn one_call_too_many_fails_at_once() {
    let mut limits = Limits::default();
    limits.max_calls = 1;
    let (connection, mut script) = play(Connection::client().limits(limits));
    let first = call_aside(&connection, "first", LONG);
    let request = script.receive_request("first");
    let second = connection
        .peer()
        .request("second", &json!({}), RequestOptions::new());
    let error = second.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Busy && !error.was_sent(),
        "{error}"
    );
    script.answer(&request, &json!({}));
    first.join().unwrap().unwrap();
}

// Must not happen: a response with both `result` and `error` is accepted.
// M-BASE-B-14, M-BASE-S-07, M-BASE-B-21, L-BASE-B-08
#[test]
fn an_answer_that_is_none_fails_its_call() {
    let (connection, mut script) = play(Connection::client());
    for broken in [
        r#""result":{},"error":{"code":1,"message":"x"}"#,
        r#""error":{"code":"x","message":"x"}"#,
        r#""error":{"code":1.5,"message":"x"}"#,
        r#""error":{"message":"x"}"#,
        r#""error":null"#,
    ] {
        let call = call_aside(&connection, "call", LONG);
        let request = script.receive_request("call");
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},{broken}}}"#, request["id"]);
        script.send_bytes(text.into_bytes());
        let error = call.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{broken}: {error}");
        assert!(error.to_string().contains("call"), "{error}");
    }
    assert_eq!(connection.peer().stats().malformed, 5);
}

// M-BASE-C-22
#[test]
fn an_error_without_an_id_is_nobodys_answer() {
    let (connection, mut script) = play(Connection::client());
    let call = call_aside(&connection, "call", LONG);
    let request = script.receive_request("call");
    let error = json!({"code": -32700, "message": "x"});
    script.send(&json!({"jsonrpc": "2.0", "error": error}));
    script.send(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
    script.answer(&request, &json!({}));
    call.join().unwrap().unwrap();
}

// M-BASE-C-05, L-BASE-B-05, M-STATE-S-02
#[test]
fn calls_side_by_side_get_their_own_answers_in_any_order() {
    let (connection, mut script) = play(Connection::client());
    let calls: Vec<_> = (0..50)
        .map(|_| call_aside(&connection, "call", LONG))
        .collect();
    let mut requests: Vec<Value> = (0..50).map(|_| script.receive_request("call")).collect();
    requests.sort_by_key(|request| request["id"].as_i64());
    requests.dedup_by_key(|request| request["id"].as_i64());
    assert_eq!(requests.len(), 50);
    for request in requests.iter().rev() {
        script.answer(request, &json!(request["id"]));
    }
    let mut answers: Vec<String> = calls
        .into_iter()
        .map(|call| call.join().unwrap().unwrap())
        .collect();
    answers.sort();
    let mut ids: Vec<String> = requests
        .iter()
        .map(|request| request["id"].to_string())
        .collect();
    ids.sort();
    assert_eq!(answers, ids);
}

/// Messages for others, one after the other without a gap, come while a caller reads.
#[test]
fn a_flood_of_other_messages_does_not_keep_a_call_past_its_timeout() {
    let (ours, theirs) = memory::pair();
    let mut script = Script::open(theirs);
    let connection = Connection::client().open(ours).unwrap();
    let (stop, stopped) = mpsc::channel::<()>();
    let flood = thread::spawn(move || {
        while stopped.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
            for _ in 0..100 {
                script.notify("notifications/other", &json!({}));
            }
        }
    });
    for _ in 0..3 {
        timed_out_call(&connection.peer(), &json!({}));
    }
    drop(stop);
    flood.join().unwrap();
}
