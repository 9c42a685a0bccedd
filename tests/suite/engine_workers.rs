//! Handlers that block: the connection goes on around them.

use std::sync::mpsc;
use std::thread;

use mcplink::protocol::{Connection, Handlers, RequestOptions};
use mcplink::server::Server;
use mcplink::transport::{Limits, memory};
use serde_json::json;

use crate::common::{Gate, LONG, Script, Witness, handlers, play, rounds, within};

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

// Seen in other SDKs: a slow handler holds up pings and cancellations.
// L-PING-B-01, M-CANC-S-09
#[test]
fn ping_and_cancel_are_heeded_while_every_worker_is_blocked() {
    let (ours, theirs) = memory::pair();
    let (gate, (sender, cancelled)) = (Gate::default(), mpsc::channel());
    let blocking = gate.clone();
    let server = Server::builder("test", "1")
        .limits(limits(|limits| limits.max_workers = 3))
        .method("block", move |_, _responder| blocking.pass())
        .method("work", move |_, responder| {
            sender.send(false).unwrap();
            sender.send(responder.cancel_token().wait(LONG)).unwrap();
        });
    let _connection = server.build().unwrap().open(ours).unwrap();
    let mut script = Script::open(theirs);
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    script.request_with("open", "initialize", &params);
    script.receive();
    script.request("work", "work");
    cancelled.recv_timeout(LONG).unwrap();
    for id in 0..10 {
        script.request(id, "block");
    }
    gate.wait_for(2);
    let witness = Witness::start();
    for id in 100..110 {
        script.request(id, "ping");
        assert_eq!(
            script.receive(),
            json!({"jsonrpc": "2.0", "id": id, "result": {}})
        );
    }
    script.cancel("work");
    assert!(cancelled.recv_timeout(LONG).unwrap());
    witness.expect_at_once();
    gate.open();
}

// Must not happen: requests above the limit queue silently instead of failing as busy; limits and counters are spread over many places.
#[test]
fn one_request_too_many_is_answered_busy_at_once() {
    let gate = Gate::default();
    let limits = limits(|limits| (limits.max_workers, limits.max_requests) = (2, 5));
    let connection = Connection::server()
        .handlers(handlers(&gate))
        .limits(limits);
    let (connection, mut script) = play(connection);
    for id in 0..5 {
        script.request(id, "block");
    }
    script.expect_silence();
    script.request(5, "block");
    let busy = script.receive();
    assert_eq!(busy["id"], 5);
    assert_eq!(
        busy["error"]["data"],
        json!({"busy": true, "maxRequests": 5})
    );
    let stats = connection.peer().stats();
    assert_eq!((stats.requests_in_flight, stats.refused_busy), (5, 1));
    gate.open();
    for _ in 0..5 {
        assert_eq!(script.receive()["result"], json!({"blocked": true}));
    }
    script.expect_service(5);
}

/// A peer that keeps to the limit is never told that it is one too many.
// Must not happen: requests above the limit queue silently instead of failing as busy.
#[test]
fn a_request_is_in_hand_no_longer_when_its_answer_is_there() {
    for connection in [Connection::server(), Connection::client()] {
        let limits = limits(|limits| limits.max_requests = 1);
        let (connection, mut script) = play(
            connection
                .handlers(handlers(&Gate::default()))
                .limits(limits),
        );
        for id in 0..rounds("MCPLINK_RACES", 5_000) {
            script.expect_service(id);
        }
        assert_eq!(connection.peer().stats().refused_busy, 0);
    }
}

/// Both sides ask each other, deeper than there are workers, each handler waiting for the answer of the next one.
// Seen in other SDKs: a thread pool waits for itself.
#[test]
fn nested_handlers_need_no_more_workers_than_there_are() {
    const WORKERS: usize = 2;
    let nest = || {
        Handlers::new().request("nest", |request, responder| {
            let depth: u64 = serde_json::from_str(request.params())
                .map(|params: serde_json::Value| params["depth"].as_u64().unwrap())
                .unwrap();
            let result = if depth == 0 {
                json!(0)
            } else {
                let params = json!({"depth": depth - 1});
                let below = responder
                    .peer()
                    .request("nest", &params, RequestOptions::new())
                    .unwrap();
                json!(below.as_str().parse::<u64>().unwrap() + 1)
            };
            responder.respond(&result).unwrap();
        })
    };
    let (ours, theirs) = memory::pair();
    let few = limits(|limits| limits.max_workers = WORKERS);
    let client = Connection::client()
        .handlers(nest())
        .limits(few.clone())
        .open(ours)
        .unwrap();
    let _server = Connection::server()
        .handlers(nest())
        .limits(few)
        .open(theirs)
        .unwrap();
    let depth = 20;
    let peer = client.peer();
    let found = within(LONG, move || {
        peer.request("nest", &json!({"depth": depth}), RequestOptions::new())
            .unwrap()
    });
    assert_eq!(found.as_str(), depth.to_string());
    let callers: Vec<_> = (0..=WORKERS)
        .map(|_| {
            let peer = client.peer();
            thread::spawn(move || {
                for _ in 0..20 {
                    peer.request("nest", &json!({"depth": 5}), RequestOptions::new())
                        .unwrap();
                }
            })
        })
        .collect();
    within(LONG, || {
        callers
            .into_iter()
            .for_each(|caller| caller.join().unwrap())
    });
}

/// The answer of one handler comes from another one, which starts only because the first gave its place up.
// Seen in other SDKs: a thread pool waits for itself.
#[test]
fn a_handler_that_waits_for_the_peer_leaves_its_place_to_the_one_it_waits_for() {
    const WORKERS: usize = 3;
    for connection in [Connection::server(), Connection::client()] {
        let handlers = handlers(&Gate::default()).request("ask", |_, responder| {
            responder
                .peer()
                .request("question", &json!({}), RequestOptions::new())
                .unwrap();
            responder.respond(&json!({})).unwrap();
        });
        let few = limits(|limits| limits.max_workers = WORKERS);
        let (_connection, mut script) = play(connection.handlers(handlers).limits(few));
        for id in 0..=WORKERS {
            script.request(id, "ask");
        }
        let questions: Vec<_> = (0..=WORKERS)
            .map(|_| script.receive_request("question"))
            .collect();
        script.expect_service("served meanwhile");
        for question in &questions {
            script.answer(question, &json!({}));
        }
        for _ in 0..=WORKERS {
            assert_eq!(script.receive()["result"], json!({}));
        }
    }
}

/// Requests that come in one piece with a slow one are answered while it runs.
// Seen in other SDKs: a slow handler holds up pings and cancellations.
#[test]
fn a_slow_handler_keeps_neither_answers_before_it_nor_requests_behind_it() {
    let (_connection, mut script, gate) = crate::common::serve();
    for round in 0..20 {
        for id in 0..3 {
            script.request(json!(format!("before {round} {id}")), "echo");
        }
        script.request(json!(format!("slow {round}")), "block");
        for id in 0..3 {
            script.request(json!(format!("behind {round} {id}")), "echo");
        }
        for _ in 0..6 {
            let answer = script.receive();
            assert!(
                !answer["id"].as_str().unwrap().starts_with("slow"),
                "{answer}"
            );
        }
    }
    gate.open();
    for _ in 0..20 {
        assert_eq!(script.receive()["result"], json!({"blocked": true}));
    }
}

/// With one worker, a handler that was queued behind a slow one starts when that one ends.
#[test]
fn a_queued_handler_starts_when_a_place_is_free() {
    for round in 0..20 {
        let gate = Gate::default();
        let one = limits(|limits| limits.max_workers = 1);
        let connection = Connection::server().handlers(handlers(&gate)).limits(one);
        let (_connection, mut script) = play(connection);
        script.request(1, "block");
        gate.wait_for(1);
        for id in 2..5 {
            script.request(id, "echo");
        }
        if round % 2 == 0 {
            script.expect_silence();
        }
        gate.open();
        for _ in 1..5 {
            assert!(script.receive().get("result").is_some());
        }
    }
}
