//! Peers that send much before they read: late readers are no overload.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::thread;

use mcplink::protocol::Connection;
use mcplink::schema::TaskSupport;
use mcplink::server::{Server, TaskOptions};
use mcplink::transport::Limits;
use serde_json::{Value, json};

use crate::common::{Gate, LONG, Socket, handlers, over, socket_pair, wait_until, within};
use crate::tasks_server::tool;

/// A serving connection over a socket, and its peer's end.
fn serve(limits: Limits) -> (Connection, Socket) {
    let (ours, theirs) = socket_pair();
    let connection = Connection::server()
        .handlers(handlers(&Gate::default()))
        .limits(limits)
        .open(over(ours))
        .unwrap();
    theirs.set_read_timeout(Some(LONG)).unwrap();
    theirs.set_write_timeout(Some(LONG)).unwrap();
    (connection, theirs)
}

fn echo(id: usize) -> String {
    let params = json!({ "pad": "x".repeat(1024) });
    json!({ "jsonrpc": "2.0", "id": id, "method": "echo", "params": params }).to_string() + "\n"
}

fn limits(queued: usize) -> Limits {
    let mut limits = Limits::default();
    (limits.max_queued_bytes, limits.max_requests) = (queued, 64);
    limits
}

fn answers(theirs: &Socket, count: usize) -> Vec<Value> {
    let lines = BufReader::new(theirs.try_clone().unwrap()).lines();
    lines
        .take(count)
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

// Promises 3 and 4
#[test]
fn calls_whose_answers_find_no_room_are_served_later_not_refused() {
    within(LONG * 2, || {
        const MARK: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"mark\",\"params\":1}\n";
        const AT_ONCE: usize = 16;
        // As many as there are workers, as many as may be active besides, and some to be deferred.
        const MORE: usize = 64 + 64 + 80;
        // More than can be queued and deferred: the server stops reading, and goes on later.
        const REST: usize = 3000;
        let (connection, mut theirs) = serve(limits(256 << 10));
        let reader = theirs.try_clone().unwrap();
        let peer = connection.peer();
        let (mut sent, mut marks) = (0, 0);
        // Few calls at once, so that none is refused while a worker waits for a processor. The mark,
        // a malformed notification, is counted when the calls before it have been read.
        let mut send = |count: usize, is_done: &dyn Fn() -> bool| {
            for id in sent..sent + count {
                theirs.write_all(echo(id).as_bytes()).unwrap();
            }
            theirs.write_all(MARK).unwrap();
            (sent, marks) = (sent + count, marks + 1);
            wait_until("the calls are read", || {
                peer.stats().malformed == marks && is_done()
            });
            sent
        };
        let is_full = || connection.activity().waiting_to_write > 0;
        let is_idle = || peer.stats().requests_in_flight == 0;
        while !is_full() {
            send(AT_ONCE, &|| is_full() || is_idle());
        }
        // Nothing is read, so the writer stays full.
        let sent = send(MORE, &|| true);
        let stats = peer.stats();
        assert_eq!(stats.refused_busy, 0);
        assert!(stats.requests_in_flight >= 64, "{stats:?}");
        let writer = thread::spawn(move || {
            for id in sent..sent + REST {
                theirs.write_all(echo(id).as_bytes()).unwrap();
            }
            theirs
        });
        let answers = answers(&reader, sent + REST);
        drop(writer.join().unwrap());
        // While the peer reads, it may send calls faster than a busy machine runs the workers. Then
        // "busy" is right, but only for the rest.
        let (busy, served): (Vec<&Value>, Vec<&Value>) = answers
            .iter()
            .partition(|answer| answer["error"].is_object());
        for answer in &busy {
            assert_eq!(answer["error"]["data"]["busy"], true, "{answer}");
            assert!(answer["id"].as_u64() >= Some(sent as u64), "{answer}");
        }
        let ids = busy.iter().chain(&served);
        let ids: BTreeSet<u64> = ids.map(|answer| answer["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), sent + REST);
        wait_until("the last request has ended", is_idle);
        assert_eq!(peer.stats().refused_busy, busy.len() as u64);
    });
}

// L-CANC-B-04
#[test]
fn calls_that_are_held_back_can_be_cancelled() {
    within(LONG * 2, || {
        const CALLS: usize = 1500;
        let (connection, mut theirs) = serve(limits(1 << 20));
        for id in 0..CALLS {
            theirs.write_all(echo(id).as_bytes()).unwrap();
        }
        let cancelled = json!({ "requestId": CALLS - 1 });
        let cancel = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled,
        });
        writeln!(theirs, "{cancel}").unwrap();
        let unknown = json!({ "jsonrpc": "2.0", "id": "seen", "method": "tests/unknown" });
        writeln!(theirs, "{unknown}").unwrap();
        let answers = answers(&theirs, CALLS);
        let last = json!(CALLS - 1);
        assert!(answers.iter().all(|answer| answer["id"] != last));
        let seen = answers.iter().find(|answer| answer["id"] == "seen");
        assert_eq!(seen.unwrap()["error"]["code"], -32601);
        drop(connection);
    });
}

#[test]
fn closing_waits_for_no_call_that_is_held_back() {
    within(LONG, || {
        let (connection, theirs) = serve(limits(64 << 10));
        let mut writing = theirs.try_clone().unwrap();
        let writer = thread::spawn(move || {
            // It fails when the connection is closed.
            let calls = (0..10_000).map(echo);
            calls
                .map(|call| writing.write_all(call.as_bytes()))
                .take_while(Result::is_ok)
                .count()
        });
        wait_until("the outbox is full", || {
            connection.peer().stats().queued_bytes > 60 << 10
        });
        connection.close();
        // It is read on, or told that nobody reads: it does not wait.
        writer.join().unwrap();
        drop(theirs);
    });
}

// Promise 3: the answers to requests that wait for a task are larger than the queue, and wait for
// room one after another.
#[test]
fn results_of_a_task_find_room_when_many_wait_for_them() {
    within(LONG * 2, || {
        const WAITERS: usize = 16;
        let (gate, result) = (Gate::default(), "x".repeat(200 << 10));
        let handlers_gate = gate.clone();
        let server = Server::builder("late", "1")
            .limits(limits(64 << 10))
            .tasks(TaskOptions::default())
            .tool_with(tool("work", TaskSupport::Required), move |_: Value, _| {
                handlers_gate.pass();
                result.clone()
            })
            .build()
            .unwrap();
        let (ours, mut theirs) = socket_pair();
        let connection = server.open(over(ours)).unwrap();
        theirs.set_read_timeout(Some(LONG)).unwrap();
        let mut reader = BufReader::new(theirs.try_clone().unwrap());
        let mut ask = |id: usize, method: &str, params: Value| {
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            writeln!(theirs, "{request}").unwrap();
        };
        let mut answer = || {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            serde_json::from_str::<Value>(&line).unwrap()
        };
        let client = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "late", "version": "1" },
        });
        ask(1000, "initialize", client);
        answer();
        let call = json!({ "name": "work", "arguments": {}, "task": {} });
        ask(1001, "tools/call", call);
        let task = answer()["result"]["task"]["taskId"].clone();
        for id in 0..WAITERS {
            ask(id, "tasks/result", json!({ "taskId": task }));
        }
        // Behind the others, so all of them wait by now.
        ask(1002, "ping", json!({}));
        assert_eq!(answer()["id"], 1002);
        gate.open();
        let mut ids = Vec::new();
        while ids.len() < WAITERS {
            let answer = answer();
            if let Some(id) = answer["id"].as_u64() {
                assert!(answer["result"]["content"].is_array(), "no result");
                ids.push(id);
            }
        }
        ids.sort_unstable();
        assert_eq!(ids, (0..WAITERS as u64).collect::<Vec<_>>());
        connection.close();
    });
}
