//! The end of a connection: everybody who waits is woken, and closing takes its time and no more.

use std::io::Read;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::protocol::{Connection, Handlers, RequestOptions};
#[cfg(unix)]
use mcplink::transport::Limits;
use serde_json::json;

use crate::common::{Gate, LONG, Witness, at_once, over, play, socket_pair, within};

const SHORT: Duration = Duration::from_millis(100);

// Seen in other SDKs: waiting calls sleep on after the end of file.
#[test]
fn the_end_of_the_peer_wakes_a_thousand_waiting_calls() {
    let gate = Gate::default();
    let (connection, mut script) =
        play(Connection::client().handlers(crate::common::handlers(&gate)));
    let (sender, ended) = mpsc::channel();
    for _ in 0..1000 {
        let (peer, sender) = (connection.peer(), sender.clone());
        let call = move || {
            let error = peer
                .request("wait", &json!({}), RequestOptions::new())
                .unwrap_err();
            sender.send((error.kind(), error.was_sent())).unwrap();
        };
        thread::Builder::new()
            .stack_size(128 << 10)
            .spawn(call)
            .unwrap();
    }
    for _ in 0..1000 {
        script.receive_request("wait");
    }
    script.request(1, "block");
    script.request(2, "block");
    gate.wait_for(2);
    let witness = Witness::start();
    script.leave();
    for _ in 0..1000 {
        let (kind, sent) = ended.recv_timeout(LONG).unwrap();
        assert!(kind == ErrorKind::Closed && sent);
    }
    // A thousand threads that wake have work to do, which takes its time on a busy machine.
    witness.expect_within(Duration::from_secs(1));
    gate.open();
}

// Seen in other SDKs: closing waits for a handler that itself waits for the peer that is gone.
#[test]
fn closing_fails_the_question_of_a_handler_before_it_waits_for_the_handler() {
    let (sender, outcome) = mpsc::channel();
    let handlers = Handlers::new().request("ask", move |_, responder| {
        let options = RequestOptions::new().no_timeout();
        let answer = responder.peer().request("question", &json!({}), options);
        sender.send(answer.unwrap_err().kind()).unwrap();
    });
    let (connection, mut script) = play(Connection::server().handlers(handlers).drain(LONG));
    script.request(1, "ask");
    script.receive_request("question");
    at_once(move || connection.close());
    assert_eq!(outcome.recv_timeout(LONG).unwrap(), ErrorKind::Closed);
}

// Seen in other SDKs: closing waits for a handler that itself waits for the peer that is gone.
#[test]
fn the_end_of_the_peer_fails_the_question_of_a_handler() {
    let handlers = Handlers::new().request("ask", move |_, responder| {
        let options = RequestOptions::new().no_timeout();
        let answer = responder.peer().request("question", &json!({}), options);
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Closed);
    });
    let (connection, mut script) = play(Connection::server().handlers(handlers).drain(LONG));
    script.request(1, "ask");
    script.receive_request("question");
    script.leave();
    let error = at_once(move || connection.wait());
    assert_eq!(error.kind(), ErrorKind::Closed);
}

/// Nobody waits for the end of the connection here.
// Seen in other SDKs: closing waits for a handler that itself waits for the peer that is gone.
#[test]
fn a_request_in_hand_is_cancelled_when_the_peer_has_gone_for_long_enough() {
    let (sender, kept) = mpsc::channel();
    let handlers =
        Handlers::new().request("later", move |_, responder| sender.send(responder).unwrap());
    let (connection, mut script) = play(Connection::server().handlers(handlers).drain(SHORT));
    script.request(1, "later");
    let responder = kept.recv_timeout(LONG).unwrap();
    script.leave();
    assert!(responder.cancel_token().wait(LONG));
    let error = responder.respond(&json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    within(LONG, move || connection.close());
}

// Seen in other SDKs: closing waits for a handler that itself waits for the peer that is gone.
#[test]
fn closing_does_not_wait_until_requests_in_hand_have_had_their_time() {
    let (sender, kept) = mpsc::channel();
    let handlers =
        Handlers::new().request("later", move |_, responder| sender.send(responder).unwrap());
    let (connection, mut script) = play(Connection::server().handlers(handlers).drain(LONG));
    script.request(1, "later");
    let responder = kept.recv_timeout(LONG).unwrap();
    script.leave();
    crate::common::wait_until("the end", || connection.peer().is_closed());
    assert!(!responder.is_cancelled());
    at_once(move || connection.close());
    assert!(responder.is_cancelled());
}

// Must not happen: connecting, probing, closing and token requests have no deadline.
#[test]
fn closing_is_bounded_although_a_handler_never_returns() {
    let (connection, mut script, gate) = crate::common::serve();
    script.request(1, "block");
    gate.wait_for(1);
    let again = connection.clone();
    within(Duration::from_secs(4), move || connection.close());
    at_once(move || again.close());
    assert_eq!(script.receive()["error"]["code"], -32603);
    assert_eq!(script.next(), None);
    gate.open();
}

#[test]
fn what_handlers_hold_is_let_go_of_although_one_of_them_has_closed() {
    for round in 0..300 {
        let held = Arc::new(());
        let here = Arc::clone(&held);
        let (give, take) = mpsc::channel::<Connection>();
        let take = Mutex::new(take);
        let (done, is_done) = mpsc::channel();
        let handlers = Handlers::new().request("close", move |_, _| {
            let connection = take.lock().unwrap().recv_timeout(LONG).unwrap();
            connection.close();
            drop(connection);
            done.send(Arc::strong_count(&here)).unwrap();
        });
        let (connection, mut script) = play(Connection::client().handlers(handlers));
        give.send(connection.clone()).unwrap();
        script.request(1, "close");
        is_done.recv_timeout(LONG).unwrap();
        connection.close();
        drop(connection);
        assert_eq!(Arc::strong_count(&held), 1, "round {round}");
    }
}

// Must not happen: connecting, probing, closing and token requests have no deadline.
#[test]
fn closing_is_bounded_although_the_peer_does_not_read() {
    let (ours, theirs) = socket_pair();
    let connection = Connection::server().open(over(ours)).unwrap();
    let peer = connection.peer();
    thread::spawn(move || peer.notify("large", &json!("x".repeat(10 << 20))));
    crate::common::wait_until("it is written", || {
        connection.peer().stats().queued_bytes > 0
    });
    within(Duration::from_secs(2), move || connection.close());
    drop(theirs);
}

#[test]
fn what_another_thread_is_writing_gets_out_before_the_connection_ends() {
    const LENGTH: usize = 10 << 20;
    let (ours, mut theirs) = socket_pair();
    let handlers = Handlers::new().request("large", |_, responder| {
        thread::spawn(move || responder.respond(&json!("x".repeat(LENGTH))));
    });
    let connection = Connection::server()
        .handlers(handlers)
        .drain(LONG)
        .open(over(ours))
        .unwrap();
    let peer = connection.peer();
    std::io::Write::write_all(
        &mut theirs,
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"large\"}\n",
    )
    .unwrap();
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    let waiting = thread::spawn(move || connection.wait());
    crate::common::wait_until("it is written", || {
        peer.stats().queued_bytes > 0 && peer.is_closed()
    });
    let mut text = String::new();
    theirs.read_to_string(&mut text).unwrap();
    assert!(
        text.len() > LENGTH && text.ends_with("}\n"),
        "{} bytes",
        text.len()
    );
    waiting.join().unwrap();
}

// Seen in other SDKs: waiting calls sleep on after the end of file.
#[cfg(unix)] // A peer can't say over TCP that it no longer reads.
#[test]
fn a_peer_that_no_longer_reads_ends_calls_whatever_handlers_are_doing() {
    let (ours, mut theirs) = socket_pair();
    let gate = Gate::default();
    let mut limits = Limits::default();
    limits.max_workers = 1;
    let connection = Connection::client()
        .handlers(crate::common::handlers(&gate))
        .limits(limits)
        .open(over(ours))
        .unwrap();
    std::io::Write::write_all(
        &mut theirs,
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"block\"}\n",
    )
    .unwrap();
    gate.wait_for(1);
    theirs.shutdown(std::net::Shutdown::Read).unwrap();
    let peer = connection.peer();
    let error = at_once(move || {
        peer.request("wait", &json!({}), RequestOptions::new())
            .unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    gate.open();
}
