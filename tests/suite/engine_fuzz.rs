//! Lines that went wrong in all ways, over a real stream.

use std::io::Write;
use std::thread;

use mcplink::protocol::Connection;
use mcplink::transport::Limits;
use serde_json::json;

use crate::common::{
    Gate, LONG, Random, Script, call_aside, handlers, over, rounds, socket_pair, wait_until,
};

/// Changes a good line a little, or a lot. It stays one line.
fn mutate(line: &mut Vec<u8>, random: &mut Random) {
    const PIECES: [&[u8]; 12] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b",",
        b":",
        b"null",
        b"\\u0000",
        b"\xff",
        b"\"id\":1,",
        b"1e999",
    ];
    for _ in 0..=random.below(4) {
        let at = random.below(line.len() + 1);
        match random.below(5) {
            0 => line.truncate(at),
            1 if at < line.len() => line[at] = u8::try_from(random.below(256)).unwrap(),
            2 if at < line.len() => drop(line.remove(at)),
            3 => {
                let end = line.len().min(at + random.below(20));
                let copy = line[at..end].to_vec();
                line.splice(at..at, copy);
            }
            _ => drop(line.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
        }
    }
    line.retain(|byte| *byte != b'\n');
    line.push(b'\n');
}

// Seen in other SDKs: a malformed line ends the connection.
// M-TRAN-B-01
#[test]
fn mutated_lines_leave_the_connection_alive() {
    const SEEDS: [&str; 8] = [
        r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":[1,2,{"b":null}]}}"#,
        r#"{"jsonrpc":"2.0","id":"x\"y","method":"note","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"note","params":{"text":"\u00e9\ud83d\ude00"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no","data":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#,
        r#"[{"jsonrpc":"2.0","id":3,"method":"echo"},{"jsonrpc":"2.0","method":"note"}]"#,
    ];
    let lines = rounds("MCPLINK_FUZZ_LINES", 20_000);
    let (ours, theirs) = socket_pair();
    let gate = Gate::default();
    let handlers = handlers(&gate).notification("note", |_, _| {});
    let mut limits = Limits::default();
    limits.max_message_bytes = 400;
    let connection = Connection::server().handlers(handlers).limits(limits);
    let connection = connection.open(over(ours)).unwrap();
    let mut writing = theirs.try_clone().unwrap();
    let writer = thread::spawn(move || {
        let mut random = Random::new(0x6d63_706c_696e_6b01);
        for _ in 0..lines {
            let mut line = SEEDS[random.below(SEEDS.len())].as_bytes().to_vec();
            mutate(&mut line, &mut random);
            writing.write_all(&line).unwrap();
        }
        writing
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"the last\",\"method\":\"echo\"}\n")
            .unwrap();
    });
    let mut script = Script::open(over(theirs));
    loop {
        let answer = script.receive();
        if answer["id"] == "the last" && answer.get("error").is_none() {
            assert_eq!(answer["result"], json!({}));
            break;
        }
    }
    writer.join().unwrap();
    let stats = connection.peer().stats();
    assert!(
        stats.malformed > 0 && stats.noise > 0 && stats.too_long == 0,
        "{stats:?}"
    );
    // Requests end after their answers.
    wait_until("all requests have ended", || {
        connection.peer().stats().requests_in_flight == 0
    });
    // It can still ask as well as answer.
    let call = call_aside(&connection, "question", LONG);
    // Threads answer at once, so other answers may come after the last one.
    let request = loop {
        let message = script.receive();
        if message["method"] == "question" {
            break message;
        }
    };
    script.answer(&request, &json!({}));
    call.join().unwrap().unwrap();
}
