//! Messages that are none, or are too long: answered as they should be, and the connection lives on.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::protocol::{Connection, Handlers};
use mcplink::server::Server;
use mcplink::transport::Limits;
use serde_json::{Value, json};

use crate::common::{
    Gate, LONG, Script, call_aside, handlers, over, play, rounds, serve, socket_pair,
};

/// Sends one odd message first thing, and expects these error codes and ids in answer.
fn check(odd: &str, expected: &[(i64, Value)]) {
    let (connection, mut script, _gate) = serve();
    script.send_bytes(odd.as_bytes().to_vec());
    let answers = script.receive_all();
    let answers: Vec<(i64, Value)> = answers
        .iter()
        .map(|answer| {
            assert!(answer["error"]["message"].is_string(), "{answer}");
            assert_eq!(answer["jsonrpc"], "2.0");
            let id = answer.get("id").cloned().unwrap_or_else(none);
            (answer["error"]["code"].as_i64().unwrap(), id)
        })
        .collect();
    assert_eq!(answers, expected, "{odd}");
    script.expect_service("after it");
    assert!(!connection.peer().is_closed());
}

fn none() -> Value {
    json!("none")
}

// Seen in other SDKs: one odd message ends the server.
// M-BASE-S-12, M-BASE-S-18, M-BASE-C-04, M-BASE-S-13, L-BASE-B-09, L-BASE-B-04, L-BASE-B-02
#[test]
fn what_is_no_message_is_answered() {
    for (odd, code) in [
        ("not JSON", -32700),
        ("\u{1}\u{2}", -32700),
        ("{\"jsonrpc\"", -32700),
        ("null", -32600),
        ("17", -32600),
        ("\"text\"", -32600),
        ("{}", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"echo"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"echo"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"echo"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"echo"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"echo"}"#, -32600),
    ] {
        check(odd, &[(code, none())]);
    }
}

// Seen in other SDKs: one odd message ends the server.
// M-BASE-S-18, M-BASE-B-02, M-BASE-S-19, L-BASE-B-16
#[test]
fn a_wrong_request_is_answered_under_its_id() {
    for (odd, code) in [
        (r#"{"id":7,"method":"echo"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":7,"method":"echo"}"#, -32600),
        (r#"{"jsonrpc":2.0,"id":7,"method":"echo"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"echo","result":{}}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"echo","params":[1]}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"echo","params":0}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"echo","params":"x"}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tests/none"}"#, -32601),
    ] {
        check(odd, &[(code, json!(7))]);
    }
}

// Seen in other SDKs: one odd message ends the server.
// M-BASE-B-15, L-BASE-B-12, M-CANC-B-17, L-CANC-B-09
#[test]
fn notifications_and_answers_to_nothing_get_no_answer() {
    for odd in [
        r#"{"jsonrpc":"2.0","method":"tests/none"}"#,
        r#"{"jsonrpc":"2.0","method":"echo"}"#,
        r#"{"jsonrpc":"2.0","method":"echo","params":5}"#,
        r#"{"method":"echo"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#,
    ] {
        check(odd, &[]);
    }
}

// Seen in other SDKs: one odd message ends the server.
// L-BATCH-B-09, M-BASE-B-21
#[test]
fn a_batch_is_one_invalid_request_where_there_are_none() {
    let batch =
        r#"[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":2,"method":"echo"}]"#;
    check(batch, &[(-32600, none())]);
}

// Must not happen: the caller of a broken message waits for its time-out.
// M-BASE-S-12
#[test]
fn a_broken_message_is_answered_under_the_id_it_shows() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":"d","method":"echo","params":{}"#,
        "[".repeat(200)
    );
    for (odd, code, id) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"echo","params":{"a":"#,
            -32700,
            json!(7),
        ),
        (
            r#"{"params":{"id":1},"id":"seven","method":tru"#,
            -32700,
            json!("seven"),
        ),
        (&deep, -32600, json!("d")),
    ] {
        check(odd, &[(code, id)]);
    }
    let (_connection, mut script, _gate) = serve();
    script.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\xfe\"}".to_vec());
    let answer = script.receive();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(7), &json!(-32700))
    );
    script.expect_service(8);
}

// M-BASE-S-06, L-BASE-B-06
#[test]
fn ids_come_back_as_they_were_sent() {
    let (_connection, mut script, _gate) = serve();
    for id in [
        json!(1),
        json!("1"),
        json!(9_007_199_254_740_993_i64),
        json!(""),
        json!(-1),
        json!(u64::MAX),
    ] {
        script.expect_service(id);
    }
}

/// A server that speaks the revision that has batches.
fn batching(limits: Limits) -> (Connection, Script) {
    let (ours, theirs) = mcplink::transport::memory::pair();
    let server = Server::builder("test", "1")
        .limits(limits)
        .method("echo", |_, responder| {
            _ = responder.respond(&json!({}));
        });
    let connection = server.build().unwrap().open(ours).unwrap();
    let mut script = Script::open(theirs);
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": info});
    script.request_with("open", "initialize", &params);
    assert_eq!(script.receive()["result"]["protocolVersion"], "2025-03-26");
    script.notify("notifications/initialized", &json!({}));
    (connection, script)
}

// L-BATCH-B-01, L-BATCH-B-10, L-BATCH-C-02
#[test]
fn a_batch_is_answered_with_one_array_whatever_is_in_it() {
    let request = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "echo"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/none"});
    let broken_response = json!({"jsonrpc": "2.0", "id": 9, "result": {}, "error": {}});
    let (connection, mut script) = batching(Limits::default());
    for (batch, ids) in [
        (
            json!([request(1), note, request(2)]),
            vec![json!(1), json!(2)],
        ),
        (json!([note, note]), vec![]),
        (json!([1, request(1)]), vec![Value::Null, json!(1)]),
        (json!([broken_response]), vec![json!(9)]),
        (
            json!([broken_response, request(1)]),
            vec![json!(1), json!(9)],
        ),
        (
            json!([{"jsonrpc": "2.0", "id": 3, "result": {}}, request(1)]),
            vec![json!(1)],
        ),
        (json!([{"method": "broken"}, request(1)]), vec![json!(1)]),
        (json!([request(1), request(1)]), vec![json!(1), json!(1)]),
        (json!([[]]), vec![Value::Null]),
    ] {
        script.send(&batch);
        let mut answers = if ids.is_empty() {
            vec![]
        } else {
            script.receive().as_array().unwrap().clone()
        };
        answers.sort_by_key(|answer| answer["id"].to_string().replace("null", ""));
        let answered: Vec<Value> = answers.iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(answered, ids, "{batch}");
        script.expect_silence();
    }
    script.send(&json!([]));
    assert_eq!(script.receive()["error"]["code"], -32600);
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    script.send(&json!([initialize]));
    assert_eq!(script.receive()[0]["error"]["code"], -32600);
    assert!(!connection.peer().is_closed());
}

fn small() -> Limits {
    let mut limits = Limits::default();
    limits.max_message_bytes = 1000;
    limits
}

// AMB-32, M-STDIO-B-01
#[test]
fn no_answer_waits_for_what_follows_blank_lines() {
    let (ours, mut theirs) = socket_pair();
    theirs.set_read_timeout(Some(LONG)).unwrap();
    let connection = Connection::server().handlers(handlers(&Gate::default()));
    let _connection = connection.open(over(ours)).unwrap();
    let mut answers = BufReader::new(theirs.try_clone().unwrap());
    for (id, ends) in ["\n\n", "\r\n\r\n  \r\n", "\n\u{feff}\n"]
        .iter()
        .enumerate()
    {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "echo", "params": {}});
        theirs
            .write_all(format!("{request}{ends}").as_bytes())
            .unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], id, "{ends:?}");
    }
}

// Seen in other SDKs: a long line costs quadratic time, or ends the connection.
// Must not happen: the caller of a broken message waits for its time-out.
#[test]
fn a_message_that_is_too_long_is_answered_and_the_next_one_served() {
    let (ours, theirs) = socket_pair();
    let gate = Gate::default();
    let connection = Connection::server()
        .limits(small())
        .handlers(handlers(&gate));
    let connection = connection.open(over(ours)).unwrap();
    let mut script = Script::open(over(theirs));
    script.request_with("long", "echo", &json!({"text": "x".repeat(5000)}));
    let answer = script.receive();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("long"), &json!(-32600))
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("exceeds the maximum of 1000 bytes"),
        "{message}"
    );
    script.send_bytes(vec![b'x'; 5000]);
    assert_eq!(script.receive().get("id"), None);
    script.expect_service("next");
    assert_eq!(connection.peer().stats().too_long, 2);
}

// Seen in other SDKs: a long line costs quadratic time, or ends the connection.
#[test]
fn an_answer_that_is_too_long_fails_its_call_and_no_other() {
    let (connection, mut script) = play(Connection::client().limits(small()));
    let calls = ["long", "short"].map(|method| call_aside(&connection, method, LONG));
    for _ in 0..2 {
        let request = script.receive();
        let long = request["method"] == "long";
        script.answer(
            &request,
            &json!({"text": "x".repeat(if long { 5000 } else { 5 })}),
        );
    }
    let [long, short] = calls.map(|call| call.join().unwrap());
    short.unwrap();
    let error = long.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(
        error.was_sent() && error.to_string().contains("max_message_bytes"),
        "{error}"
    );
    assert_eq!(connection.peer().stats().too_long, 1);
}

/// Writes a message of so many bytes one byte at a time, and returns how long it took until it was answered.
fn bytewise(bytes: usize) -> Duration {
    let (ours, mut theirs) = socket_pair();
    let handlers = Handlers::new().request("length", |request, responder| {
        responder.respond(&json!(request.params().len())).unwrap();
    });
    let mut limits = Limits::default();
    limits.max_message_bytes = 32 << 20;
    let connection = Connection::server().limits(limits).handlers(handlers);
    let _connection = connection.open(over(ours)).unwrap();
    let params = json!({"text": "x".repeat(bytes)});
    let text = json!({"jsonrpc": "2.0", "id": 1, "method": "length", "params": params}).to_string();
    let started = Instant::now();
    for byte in text.as_bytes() {
        theirs.write_all(std::slice::from_ref(byte)).unwrap();
    }
    theirs.write_all(b"\n").unwrap();
    let mut script = Script::open(over(theirs));
    assert_eq!(script.receive()["result"], params.to_string().len());
    started.elapsed()
}

// Seen in other SDKs: a long line costs quadratic time, or ends the connection.
#[test]
fn a_long_line_in_single_bytes_takes_linear_time() {
    let bytes = usize::try_from(rounds("MCPLINK_LONG_LINE", 256 << 10)).unwrap();
    // Quadratic would be sixteen times. Other processes may slow one attempt down, but not each.
    let attempts: Vec<(Duration, Duration)> = (0..5)
        .map(|_| (bytewise(bytes / 4), bytewise(bytes)))
        .take_while(|(quarter, whole)| *whole >= *quarter * 10 + Duration::from_millis(500))
        .collect();
    assert!(attempts.len() < 5, "{attempts:?}");
}
