//! Requests of the peer: each has one answer, or none when it was cancelled.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use mcplink::protocol::{Connection, Handlers, LogRecord, Responder};
use mcplink::transport::Limits;
use mcplink::{ErrorCode, ErrorKind, RpcError};
use serde::ser::{Error as _, Serializer};
use serde_json::{Value, json};

use crate::common::{Gate, LONG, at_once, play, rounds, serve, within};

/// Something that is no JSON.
struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("secret number 1742"))
    }
}

type Log = Arc<Mutex<Vec<String>>>;

fn log() -> (Log, mcplink::protocol::LogHook) {
    let log = Log::default();
    let lines = Arc::clone(&log);
    (
        log,
        Arc::new(move |record: &LogRecord<'_>| lines.lock().unwrap().push(record.text.to_owned())),
    )
}

// Seen in other SDKs: a handler that panics or gives no answer leaves its caller waiting.
// Must not happen: panic messages and paths leak to the peer.
// M-BASE-S-12, M-BASE-S-18, L-BASE-B-06
#[test]
fn a_handler_that_gives_no_answer_is_answered_for_and_why_stays_here() {
    let handlers = Handlers::new()
        .request("panic", |_, _| panic!("secret number 1742"))
        .request("panic later", |_, responder| {
            thread::spawn(move || {
                let _owned = responder;
                panic!("secret number 1742");
            });
        })
        .request("drop", |_, responder| drop(responder))
        .request("unwritable", |_, responder| {
            let error = responder.respond(&Unwritable).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
        });
    for connection in [Connection::server(), Connection::client()] {
        let (log, hook) = log();
        let (connection, mut script) = play(connection.handlers(handlers.clone()).log(hook));
        for (id, method) in ["panic", "panic later", "drop", "unwritable"]
            .into_iter()
            .enumerate()
        {
            script.request(id, method);
            let error = json!({"code": -32603, "message": "internal error"});
            assert_eq!(
                script.receive(),
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            );
            script.expect_silence();
            assert!(
                log.lock()
                    .unwrap()
                    .iter()
                    .any(|line| line.contains(&format!("({method})")))
            );
        }
        assert!(
            log.lock()
                .unwrap()
                .iter()
                .any(|line| line.contains("secret number 1742"))
        );
        crate::common::wait_until("nothing is in hand", || {
            connection.peer().stats().requests_in_flight == 0
        });
    }
}

// Seen in other SDKs: a handler that panics or gives no answer leaves its caller waiting.
#[test]
fn a_log_hook_that_panics_harms_nothing() {
    let handlers = Handlers::new()
        .request("echo", |_, responder| {
            responder.respond(&json!({})).unwrap()
        })
        .request("panic", |_, _| panic!("as the test wants"));
    let hook: mcplink::protocol::LogHook = Arc::new(|_| panic!("as the test wants, in the hook"));
    let (_connection, mut script) = play(Connection::server().handlers(handlers).log(hook));
    script.request(1, "panic");
    assert_eq!(script.receive()["error"]["code"], -32603);
    script.send_bytes(b"noise".to_vec());
    assert_eq!(script.receive()["error"]["code"], -32700);
    script.expect_service(2);
}

// Seen in other SDKs: a handler that panics or gives no answer leaves its caller waiting.
// Must not happen: a late answer occupies a worker until it comes.
#[test]
fn an_answer_may_come_from_another_thread_after_the_handler_returned() {
    let (sender, kept) = mpsc::channel();
    let mut limits = Limits::default();
    limits.max_workers = 1;
    let handlers = crate::common::handlers(&Gate::default())
        .request("keep", move |_, responder| sender.send(responder).unwrap());
    let (_connection, mut script) = play(Connection::server().handlers(handlers).limits(limits));
    for id in 0..100 {
        script.request(id, "keep");
    }
    // The only worker is free.
    script.expect_service("meanwhile");
    let mut responders: Vec<Responder> = kept.iter().take(100).collect();
    let refused = RpcError::new(ErrorCode::application(5).unwrap(), "no");
    while let Some(responder) = responders.pop() {
        let id = responder.id().as_i64().unwrap();
        if id % 2 == 0 {
            responder.respond(&json!({"of": id})).unwrap();
            assert_eq!(
                script.receive(),
                json!({"jsonrpc": "2.0", "id": id, "result": {"of": id}})
            );
        } else {
            responder.refuse(&refused).unwrap();
            assert_eq!(
                script.receive()["error"],
                json!({"code": 5, "message": "no"})
            );
        }
    }
    script.expect_silence();
}

// Seen in other SDKs: cancelled requests are answered.
// M-CANC-S-09, M-CANC-S-11, M-CANC-S-12, M-CANC-B-15, M-PROG-S-08, L-CANC-B-04, L-CANC-B-07, L-PROG-B-11
#[test]
fn nothing_is_sent_for_a_request_that_was_cancelled() {
    let (sender, outcomes) = mpsc::channel();
    let handlers = Handlers::new().request("work", move |_, responder| {
        responder
            .notify("notifications/progress", &json!({"n": 1}))
            .unwrap();
        assert!(responder.cancel_token().wait(LONG) && responder.is_cancelled());
        let reason = responder.cancel_token().reason();
        let late = responder.notify("notifications/progress", &json!({"n": 2}));
        let answer = responder.respond(&json!({}));
        sender
            .send((reason, late.unwrap_err().kind(), answer.unwrap_err().kind()))
            .unwrap();
    });
    let (log, hook) = log();
    let (connection, mut script) = play(Connection::server().handlers(handlers).log(hook));
    script.request("w", "work");
    script.receive_request("notifications/progress");
    script.cancel("w");
    let outcome = outcomes.recv_timeout(LONG).unwrap();
    assert_eq!(
        outcome,
        (
            Some("enough".to_owned()),
            ErrorKind::Cancelled,
            ErrorKind::Cancelled
        )
    );
    script.expect_silence();
    assert!(
        log.lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("\"w\": enough"))
    );
    crate::common::wait_until("nothing is in hand", || {
        connection.peer().stats().requests_in_flight == 0
    });
}

// M-CANC-B-17, L-CANC-B-09, L-CANC-B-01
#[test]
fn a_cancel_names_one_request_and_no_other() {
    let (connection, mut script, gate) = serve();
    script.request(1, "block");
    gate.wait_for(1);
    script.cancel("1");
    script.cancel(2);
    script.expect_silence();
    gate.open();
    assert_eq!(script.receive()["result"], json!({"blocked": true}));
    // It is answered: too late.
    script.cancel(1);
    script.expect_service(1);
    assert_eq!(connection.peer().stats().malformed, 0);
}

// Seen in other SDKs: a repeated request id overwrites the request in flight.
#[test]
fn an_id_in_flight_is_refused_and_the_first_request_undisturbed() {
    let (_connection, mut script, gate) = serve();
    script.request(1, "block");
    gate.wait_for(1);
    script.request(1, "echo");
    let refusal = script.receive();
    assert_eq!(
        (&refusal["id"], &refusal["error"]["code"]),
        (&json!(1), &json!(-32600))
    );
    script.request("1", "echo");
    assert_eq!(script.receive()["id"], "1");
    gate.open();
    assert_eq!(
        script.receive(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"blocked": true}})
    );
    script.expect_service(1);
}

#[test]
fn an_answer_after_the_end_says_so() {
    let (sender, kept) = mpsc::channel();
    let handlers =
        Handlers::new().request("keep", move |_, responder| sender.send(responder).unwrap());
    let (connection, mut script) = play(Connection::server().handlers(handlers));
    script.request(1, "keep");
    let responder = kept.recv_timeout(LONG).unwrap();
    at_once(move || connection.close());
    assert!(responder.is_cancelled());
    let error = responder.respond(&json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(script.receive()["error"]["code"], -32603);
    assert_eq!(script.next(), None);
}

/// Each request is answered by one thread while another one cancels it, and the peer counts what it gets.
// Seen in other SDKs: cancelled requests are answered.
// M-CANC-B-14, M-CANC-S-11, L-CANC-B-06
#[test]
fn cancel_and_answer_race_without_a_second_answer_or_a_lost_one() {
    let count = rounds("MCPLINK_RACES", 5_000);
    let answered = Arc::new(AtomicU64::new(0));
    let (sender, kept) = mpsc::channel::<Responder>();
    let handlers =
        Handlers::new().request("race", move |_, responder| sender.send(responder).unwrap());
    let mut limits = Limits::default();
    limits.max_requests = usize::MAX;
    let connection = Connection::server().handlers(handlers).limits(limits);
    let (connection, mut script) = play(connection);
    let counter = Arc::clone(&answered);
    let answering = thread::spawn(move || {
        for responder in kept.iter().take(usize::try_from(count).unwrap()) {
            match responder.respond(&json!({})) {
                Ok(()) => _ = counter.fetch_add(1, Ordering::Relaxed),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
            }
        }
    });
    let mut received: Vec<Value> = Vec::new();
    for id in 0..count {
        script.request(id, "race");
        if id % 3 > 0 {
            // A little later, so that each side wins now and then.
            script.notify("notifications/none", &json!({}));
        }
        script.cancel(id);
        if id % 100 == 99 {
            received.append(&mut script.receive_all());
        }
    }
    within(LONG, || answering.join().unwrap());
    received.append(&mut script.receive_all());
    let mut ids: Vec<u64> = received
        .iter()
        .map(|answer| answer["id"].as_u64().unwrap())
        .collect();
    let answers = u64::try_from(ids.len()).unwrap();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(u64::try_from(ids.len()).unwrap(), answers, "answered twice");
    assert_eq!(answers, answered.load(Ordering::Relaxed));
    assert!(
        received.iter().all(|answer| answer.get("result").is_some()),
        "{received:?}"
    );
    assert_eq!(connection.peer().stats().requests_in_flight, 0);
}
