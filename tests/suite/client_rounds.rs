//! What a client sends when a server of the modern era asks, message by message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::protocol::CancelToken;
use mcplink::schema::{ElicitResult, ProtocolVersion};
use mcplink::{ErrorKind, RpcError};
use serde_json::{Value, json};

use crate::rawserver::{LONG, RawServer, connect_with};

fn answering() -> ClientBuilder {
    Client::builder("test", "1")
        .on_elicit(|params, _| ElicitResult::accept(&json!({ "answer": params.message })).unwrap())
}

fn connect(builder: ClientBuilder) -> (Client, RawServer) {
    let capabilities = json!({ "tools": {}, "prompts": {}, "resources": {} });
    connect_with(builder, ProtocolVersion::V2026_07_28, &capabilities)
}

fn question(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn asks(requests: Option<Value>, state: Option<&str>) -> Value {
    let mut result = json!({ "resultType": "input_required" });
    if let Some(requests) = requests {
        result["inputRequests"] = requests;
    }
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    result
}

fn done() -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": "done" }] })
}

fn call(client: &Client, name: &str) -> mcplink::Result<mcplink::schema::CallToolResult> {
    let options = CallOptions::new().timeout(LONG);
    client.call_tool_with(name, &json!({ "x": 1 }), options)
}

// M-MRTR-C-16, M-MRTR-C-18, M-MRTR-C-19, M-MRTR-C-20, M-MRTR-C-21, M-MRTR-C-23, M-META-C-07
#[test]
fn a_retry_is_the_request_with_the_answers_and_the_state_of_that_round() {
    let (client, mut server) = connect(answering());
    let state = format!("\u{1f980} \"quoted\" \\ {}", "x".repeat(64 << 10));
    let result = server.serve(
        || call(&client, "t").unwrap(),
        |server| {
            let first = server.asked("tools/call");
            let both = json!({ "a": question("A?"), "b": question("B?") });
            server.answer(&first, asks(Some(both), Some(&state)));

            let second = server.asked("tools/call");
            assert_ne!(second["id"], first["id"]);
            let params = &second["params"];
            assert_eq!(params["requestState"], *state);
            assert_eq!(
                params["inputResponses"],
                json!({
                    "a": { "action": "accept", "content": { "answer": "A?" } },
                    "b": { "action": "accept", "content": { "answer": "B?" } },
                })
            );
            for member in ["name", "arguments"] {
                assert_eq!(params[member], first["params"][member]);
            }
            let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(*version, "2026-07-28");
            server.answer(&second, asks(Some(json!({ "c": question("C?") })), None));

            let third = server.asked("tools/call");
            assert!(
                third["params"].get("requestState").is_none(),
                "a stale state"
            );
            let keys = third["params"]["inputResponses"].as_object().unwrap();
            assert_eq!(keys.keys().collect::<Vec<_>>(), ["c"]);
            server.answer(&third, done());
        },
    );
    assert_eq!(result.content[0].as_text(), Some("done"));
}

// M-MRTR-C-17
#[test]
fn a_state_alone_is_given_back() {
    let (client, mut server) = connect(answering());
    server.serve(
        || call(&client, "t").unwrap(),
        |server| {
            let first = server.asked("tools/call");
            server.answer(&first, asks(None, Some("later")));
            let second = server.asked("tools/call");
            assert_eq!(second["params"]["requestState"], "later");
            assert!(second["params"].get("inputResponses").is_none());
            server.answer(&second, done());
        },
    );
}

// A server that needs time is not asked again at once.
#[test]
fn rounds_that_carry_only_a_state_are_paced() {
    let (client, mut server) = connect(answering());
    let started = std::time::Instant::now();
    server.serve(
        || call(&client, "t").unwrap(),
        |server| {
            for _ in 0..3 {
                let request = server.asked("tools/call");
                server.answer(&request, asks(None, Some("later")));
            }
            let last = server.asked("tools/call");
            server.answer(&last, done());
        },
    );
    // 50, 100 and 200 ms.
    assert!(started.elapsed() >= std::time::Duration::from_millis(350));
}

// M-MRTR-C-22
#[test]
fn answers_go_to_their_own_request_only() {
    let (client, mut server) = connect(answering());
    let other = client.clone();
    server.serve(
        || {
            thread::scope(|scope| {
                let asked = scope.spawn(|| call(&client, "asks").unwrap());
                let plain = scope.spawn(|| call(&other, "plain").unwrap());
                asked.join().unwrap();
                plain.join().unwrap();
            });
        },
        |server| {
            let mut calls = [server.asked("tools/call"), server.asked("tools/call")];
            calls.sort_by_key(|call| call["params"]["name"].to_string());
            server.answer(
                &calls[0],
                asks(Some(json!({ "k": question("K?") })), Some("s")),
            );
            let retry = server.asked("tools/call");
            assert_eq!(retry["params"]["name"], "asks");
            assert!(retry["params"].get("inputResponses").is_some());
            let plain = &calls[1]["params"];
            assert!(plain.get("inputResponses").is_none() && plain.get("requestState").is_none());
            server.answer(&retry, done());
            server.answer(&calls[1], done());
        },
    );
}

// M-MRTR-S-02, M-MRTR-S-04, M-MRTR-S-05 from the other side: what a server must not send is not taken.
#[test]
fn questions_out_of_place_are_refused() {
    for (method, requests, expected) in [
        (
            "tools/list",
            json!({ "k": question("K?") }),
            ErrorKind::Protocol,
        ),
        (
            "tools/call",
            json!({ "k": { "method": "tools/call" } }),
            ErrorKind::Unsupported,
        ),
        (
            "tools/call",
            json!({ "k": { "method": "roots/list" } }),
            ErrorKind::Unsupported,
        ),
        ("tools/call", json!("questions"), ErrorKind::Protocol),
    ] {
        let (client, mut server) = connect(answering());
        let error = server.serve(
            || match method {
                "tools/list" => client.list_tools().map(drop),
                _ => call(&client, "t").map(drop),
            },
            |server| {
                let request = server.asked(method);
                server.answer(&request, asks(Some(requests), None));
            },
        );
        let error = error.unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
        assert!(error.to_string().contains(method), "{error}");
        server.has_heard_nothing(&client);
    }
}

// No deadline runs while a person answers.
#[test]
fn a_person_may_take_longer_than_the_deadline() {
    let (begun, asked) = std::sync::mpsc::channel();
    let enough = CancelToken::new();
    let answered = enough.clone();
    let slow = Client::builder("test", "1").on_elicit(move |_, _| {
        begun.send(()).unwrap();
        assert!(answered.wait(LONG), "nobody let the person answer");
        ElicitResult::decline()
    });
    let (client, mut server) = connect(slow);
    let timeout = std::time::Duration::from_millis(200);
    server.serve(
        || {
            thread::scope(|scope| {
                let (asked, enough) = (asked, &enough);
                scope.spawn(move || {
                    asked.recv_timeout(LONG).unwrap();
                    // Not to synchronise: the person is slower than the call's deadline.
                    CancelToken::new().wait(2 * timeout);
                    enough.cancel();
                });
                let options = CallOptions::new().timeout(timeout);
                client.call_tool_with("t", &json!({}), options).unwrap();
            });
        },
        |server| {
            let first = server.asked("tools/call");
            server.answer(&first, asks(Some(json!({ "k": question("K?") })), None));
            let second = server.asked("tools/call");
            assert_eq!(second["params"]["inputResponses"]["k"]["action"], "decline");
            server.answer(&second, done());
        },
    );
}

/// Counts handlers that run, and the most that ran at the same time.
#[derive(Default)]
struct Crowd {
    /// Those that run now, the most, and all that have begun.
    counts: Mutex<(usize, usize, usize)>,
    changed: Condvar,
}

impl Crowd {
    /// Returns when so many handlers run at the same time, or all the others have begun already.
    fn gather(&self, wanted: usize, all: usize) {
        let mut counts = self.counts.lock().unwrap();
        counts.0 += 1;
        counts.1 = counts.1.max(counts.0);
        counts.2 += 1;
        self.changed.notify_all();
        let lonely = |counts: &mut (usize, usize, usize)| counts.1 < wanted && counts.2 < all;
        let (mut counts, timeout) = self
            .changed
            .wait_timeout_while(counts, LONG, lonely)
            .unwrap();
        assert!(!timeout.timed_out(), "{counts:?} of {wanted}");
        counts.0 -= 1;
    }
}

fn many(count: usize) -> Value {
    let keyed = (0..count).map(|number| (format!("k{number}"), question(&number.to_string())));
    Value::Object(keyed.collect())
}

/// Serves one call that is answered with `count` questions, and returns the responses to them.
fn ask_many(client: &Client, server: &mut RawServer, count: usize) -> Value {
    let mut responses = Value::Null;
    server.serve(
        || call(client, "t").unwrap(),
        |server| {
            let first = server.asked("tools/call");
            server.answer(&first, asks(Some(many(count)), None));
            let second = server.asked("tools/call");
            responses = second["params"]["inputResponses"].clone();
            server.answer(&second, done());
        },
    );
    responses
}

// Within the bound of the host; the answers belong to their keys, whichever came first.
#[test]
fn questions_of_one_round_are_asked_at_once() {
    for (max, count, at_once) in [
        (None, 3, 3),
        (None, 9, 4),
        (Some(2), 5, 2),
        (Some(64), 9, 9),
    ] {
        let crowd = Arc::new(Crowd::default());
        let seen = Arc::clone(&crowd);
        let mut builder = Client::builder("test", "1").on_elicit(move |params, _| {
            seen.gather(at_once, count);
            ElicitResult::accept(&json!({ "answer": params.message })).unwrap()
        });
        if let Some(max) = max {
            builder = builder.max_concurrent_inputs(max);
        }
        let (client, mut server) = connect(builder);
        let responses = ask_many(&client, &mut server, count);
        assert_eq!(crowd.counts.lock().unwrap().1, at_once);
        for number in 0..count {
            let response = &responses[format!("k{number}")];
            assert_eq!(response["content"]["answer"], number.to_string());
        }
    }
}

#[test]
fn a_bound_of_one_asks_one_after_the_other_on_the_thread_of_the_call() {
    let asked: Arc<Mutex<Vec<(String, ThreadId)>>> = Arc::default();
    let seen = Arc::clone(&asked);
    for max in [0, 1] {
        asked.lock().unwrap().clear();
        let seen = Arc::clone(&seen);
        let builder = Client::builder("test", "1").on_elicit(move |params, _| {
            let mut seen = seen.lock().unwrap();
            seen.push((params.message.clone(), thread::current().id()));
            ElicitResult::decline()
        });
        let (client, mut server) = connect(builder.max_concurrent_inputs(max));
        let responses = ask_many(&client, &mut server, 3);
        assert_eq!(responses["k2"]["action"], "decline");
        let asked = asked.lock().unwrap();
        let messages: Vec<&str> = asked.iter().map(|(message, _)| &**message).collect();
        assert_eq!(messages, ["0", "1", "2"]);
        assert!(asked.iter().all(|(_, thread)| *thread == asked[0].1));
    }
}

/// A client whose user waits until the question is withdrawn, and whose model does `sample`.
fn waiting(sample: impl Fn() + Send + Sync + 'static) -> (ClientBuilder, Arc<Mutex<usize>>) {
    let withdrawn: Arc<Mutex<usize>> = Arc::default();
    let count = Arc::clone(&withdrawn);
    let builder = Client::builder("test", "1")
        .on_elicit(move |_, by| {
            assert!(by.cancel_token().wait(LONG), "nobody withdrew the question");
            *count.lock().unwrap() += 1;
            ElicitResult::cancel()
        })
        .on_sample(move |_, _| {
            sample();
            Err(RpcError::user_rejected("no model today"))
        });
    (builder, withdrawn)
}

fn sampling() -> Value {
    json!({ "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 1 } })
}

#[test]
fn a_refusal_withdraws_the_other_questions_and_ends_the_call() {
    let (builder, withdrawn) = waiting(|| {});
    let (client, mut server) = connect(builder);
    let error = server.serve(
        || call(&client, "t").unwrap_err(),
        |server| {
            let request = server.asked("tools/call");
            let both = json!({ "a": question("A?"), "b": question("B?"), "c": sampling() });
            server.answer(&request, asks(Some(both), None));
        },
    );
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert!(
        error.to_string().contains("'c' (sampling/createMessage)"),
        "{error}"
    );
    assert!(error.was_sent());
    assert_eq!(*withdrawn.lock().unwrap(), 2);
    server.has_heard_nothing(&client);
}

#[test]
fn a_cancelled_call_withdraws_all_its_questions() {
    let crowd = Arc::new(Crowd::default());
    let token = CancelToken::new();
    let (seen, cancel) = (Arc::clone(&crowd), token.clone());
    let builder = Client::builder("test", "1").on_elicit(move |params, by| {
        seen.gather(3, 3);
        if params.message == "2" {
            cancel.trigger_because("the user left");
        }
        assert!(by.cancel_token().wait(LONG), "nobody withdrew the question");
        assert_eq!(by.cancel_token().reason().as_deref(), Some("the user left"));
        ElicitResult::cancel()
    });
    let (client, mut server) = connect(builder.max_concurrent_inputs(3));
    let error = server.serve(
        || {
            let options = CallOptions::new().cancel_with(&token);
            client.call_tool_with("t", &json!({}), options).unwrap_err()
        },
        |server| {
            let request = server.asked("tools/call");
            // The fourth is never asked.
            server.answer(&request, asks(Some(many(4)), None));
        },
    );
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert_eq!(crowd.counts.lock().unwrap().2, 3);
    server.has_heard_nothing(&client);
}

#[test]
fn a_panic_of_one_handler_goes_on_in_the_call() {
    let (builder, withdrawn) = waiting(|| panic!("on purpose"));
    let (client, mut server) = connect(builder);
    server.serve(
        || {
            let panic = catch_unwind(AssertUnwindSafe(|| call(&client, "t"))).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
        },
        |server| {
            let request = server.asked("tools/call");
            let both = json!({ "a": question("A?"), "b": sampling() });
            server.answer(&request, asks(Some(both), None));
        },
    );
    assert_eq!(*withdrawn.lock().unwrap(), 1);
}
