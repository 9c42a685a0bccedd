//! Checks of behavior as a process, and under load.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::transport::Child;
use serde_json::{Value, json};

use super::wire::result_of;
use super::{Check, Conn, Seen, Server, Verdict, passed, skip};
use crate::args::Level;

/// How long a server may take to end after the end of its input.
pub(super) const EXIT: Duration = Duration::from_secs(2);
/// How long a server may take to start. Hosts give up after 10 s or more.
const START: Duration = Duration::from_secs(10);
/// How long nothing is said.
const SILENCE: Duration = Duration::from_secs(1);
/// How many calls are made at once.
const MANY: u64 = 64;
/// The size of a large message, in bytes.
const LARGE: usize = 4 << 20;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "manners/start",
        level: Level::Should,
        requirements: &["L-INIT-B-18"],
        remedy: "answer first, load later: hosts give up on a server that needs long to start",
        run: start,
    },
    Check {
        name: "manners/stdout",
        level: Level::Must,
        requirements: &["M-STDIO-S-04", "L-STDIO-S-05"],
        remedy: "write only messages to standard output; logs and prints belong to standard error",
        run: stdout,
    },
    Check {
        name: "manners/exit",
        level: Level::Should,
        requirements: &["M-STDIO-S-09"],
        remedy: "end when standard input ends",
        run: exit,
    },
    Check {
        name: "manners/silence",
        level: Level::Must,
        requirements: &["L-INIT-B-01", "M-BASE-B-01"],
        remedy: "wait for requests without a limit, and without messages that nobody asked for",
        run: silence,
    },
    Check {
        name: "manners/many",
        level: Level::Must,
        requirements: &["M-BASE-S-06", "L-BASE-B-06"],
        remedy: "answer each request, however many come at once; the order does not matter",
        run: many,
    },
    Check {
        name: "manners/large",
        level: Level::Must,
        requirements: &["M-BASE-S-12", "L-BASE-B-09"],
        remedy: "answer a large request, if only with an error, and go on",
        run: large,
    },
    Check {
        name: "manners/cancel",
        level: Level::Should,
        requirements: &["M-CANC-B-17", "L-CANC-B-09"],
        remedy: "ignore the cancellation of a request that is unknown or over",
        run: cancel,
    },
    Check {
        name: "manners/cancel-call",
        level: Level::Should,
        requirements: &["M-CANC-S-11", "L-CANC-B-04"],
        remedy: "stop a call that is cancelled, and send no response",
        run: cancel_call,
    },
];

fn start(server: &Server) -> Seen {
    server.needs_child()?;
    let took = server.start;
    match took <= START {
        true => Ok(format!("the first answer came after {took:.1?}")),
        false => Err(format!("the first answer came after {took:.1?}").into()),
    }
}

fn stdout(server: &Server) -> Seen {
    server.needs_child()?;
    server.each_anew(|conn| {
        let capabilities = conn.capabilities();
        for name in ["tools", "prompts", "resources"] {
            if capabilities.contains_key(name) {
                // A check of its own reports a list that fails.
                _ = conn.list(name);
            }
        }
        if let Some((name, arguments)) = &server.call {
            conn.request(
                "tools/call",
                json!({ "name": name, "arguments": arguments }),
            )?;
        }
        let method = harmless(conn.revision.is_modern());
        conn.request(method, json!({}))?;
        match &conn.noise[..] {
            [] => passed(),
            [first, ..] => {
                let count = conn.noise.len();
                Err(format!("{count} lines are no messages; the first one: {first:?}").into())
            }
        }
    })
}

fn exit(server: &Server) -> Seen {
    server.needs_child()?;
    let mut slowest = Duration::ZERO;
    for revision in &server.revisions {
        let conn = server.open(*revision)?;
        let start = Instant::now();
        // Closing ends the input, waits, and then sends signals.
        conn.close();
        slowest = slowest.max(start.elapsed());
    }
    match slowest < EXIT {
        true => Ok(format!("it ended after {slowest:.1?}")),
        false => {
            let seconds = EXIT.as_secs();
            Err(format!("it did not end within {seconds} s and had to be killed").into())
        }
    }
}

fn silence(server: &Server) -> Seen {
    server.needs_child()?;
    server.each_anew(|conn| {
        let until = Instant::now() + SILENCE;
        while let Some(message) = conn.receive(until)? {
            let method = message["method"].as_str().unwrap_or("a response");
            if !may_come(conn, method) {
                return Err(format!("the server sends {method} without a reason").into());
            }
        }
        let method = harmless(conn.revision.is_modern());
        let response = conn.request(method, json!({}))?;
        result_of(method, &response)?;
        passed()
    })
}

/// Whether a server may send a message of this method at any time.
fn may_come(conn: &Conn, method: &str) -> bool {
    let list = method
        .strip_prefix("notifications/")
        .and_then(|method| method.strip_suffix("/list_changed"));
    let reports = |list: &str| {
        let declared = conn.capabilities().remove(list);
        declared.is_some_and(|list| list["listChanged"] == true)
    };
    // A modern server needs a subscription for each message.
    conn.revision.is_legacy()
        && (["ping", "notifications/message"].contains(&method) || list.is_some_and(reports))
}

fn harmless(is_modern: bool) -> &'static str {
    match is_modern {
        true => "server/discover",
        false => "ping",
    }
}

fn many(server: &Server) -> Seen {
    server.each(|conn| {
        let (method, params) = match &server.call {
            Some((name, arguments)) => (
                "tools/call",
                json!({ "name": name, "arguments": arguments }),
            ),
            None => (harmless(conn.revision.is_modern()), json!({})),
        };
        let start = Instant::now();
        let answered = match conn.is_web() {
            true => many_over_http(conn, method, &params, server.patience)?,
            false => many_over_stdio(conn, method, &params, server.patience)?,
        };
        match answered {
            MANY => Ok(format!("{MANY} times {method} in {:.1?}", start.elapsed())),
            answered => Err(format!("only {answered} of {MANY} requests are answered").into()),
        }
    })
}

fn many_over_stdio(
    conn: &mut Conn,
    method: &str,
    params: &Value,
    patience: Duration,
) -> Result<u64, Verdict> {
    let mut open = BTreeSet::new();
    for number in 0..MANY {
        let id = format!("many-{number}");
        conn.send_request(&json!(id), method, params.clone())?;
        open.insert(id);
    }
    let deadline = Instant::now() + patience;
    while !open.is_empty() {
        let Some(message) = conn.receive(deadline)? else {
            break;
        };
        if message.get("method").is_some() {
            continue;
        }
        let id = message["id"].as_str().unwrap_or_default();
        if !open.remove(id) {
            let id = &message["id"];
            return Err(format!("a response has the id {id}, which is not waited for").into());
        }
    }
    Ok(MANY - open.len() as u64)
}

fn many_over_http(
    conn: &Conn,
    method: &str,
    params: &Value,
    patience: Duration,
) -> Result<u64, Verdict> {
    let web = conn.as_web().ok_or("the server is not reached over HTTP")?;
    let revision = conn.revision;
    let answered = thread::scope(|scope| {
        let threads: Vec<_> = (0..MANY)
            .map(|number| {
                let id = json!(format!("many-{number}"));
                let message = conn.message(&id, method, params.clone());
                scope.spawn(move || {
                    let answer = web.post(revision, &message, &[], patience);
                    answer.is_ok_and(|answer| {
                        answer.messages.iter().any(|message| message["id"] == id)
                    })
                })
            })
            .collect();
        let answers = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(false));
        answers.filter(|is_answered| *is_answered).count()
    });
    Ok(answered as u64)
}

fn large(server: &Server) -> Seen {
    server.each(|conn| {
        let params = json!({ "name": "no-such-tool-of-this-server", "arguments": {
            "text": "x".repeat(LARGE),
        } });
        let remark = match conn.is_web() {
            true => {
                let id = conn.next_id();
                let answer = conn.post(&conn.message(&id, "tools/call", params), &[])?;
                format!("status {}", answer.status)
            }
            false => {
                let response = conn.request("tools/call", params)?;
                match response.get("error") {
                    Some(error) => format!("refused with {}", error["code"]),
                    None => "answered".to_owned(),
                }
            }
        };
        let method = harmless(conn.revision.is_modern());
        let response = conn.request(method, json!({}))?;
        result_of(method, &response)?;
        Ok(format!("a message of {} MiB: {remark}", LARGE >> 20))
    })
}

fn cancel(server: &Server) -> Seen {
    server.each(|conn| {
        if conn.is_web() && conn.revision.is_modern() {
            return skip("over HTTP, a client cancels by closing the response");
        }
        for id in [json!("no-such-request"), json!(123_456)] {
            conn.notify("notifications/cancelled", json!({ "requestId": id }))?;
        }
        let method = harmless(conn.revision.is_modern());
        let response = conn.request(method, json!({}))?;
        result_of(method, &response)?;
        let mut others = conn.others.iter();
        match others.any(|message| message.get("method").is_none()) {
            true => Err("a cancellation is answered".into()),
            false => passed(),
        }
    })
}

fn cancel_call(server: &Server) -> Seen {
    let Some((name, arguments)) = &server.call else {
        return skip("no tool may be called: --call TOOL, with one that takes a few seconds");
    };
    let _: &Child = server.needs_child()?;
    server.each_anew(|conn| {
        let id = json!("to-be-cancelled");
        let params = json!({ "name": name, "arguments": arguments });
        conn.send_request(&id, "tools/call", params)?;
        conn.notify("notifications/cancelled", json!({ "requestId": id }))?;
        let method = harmless(conn.revision.is_modern());
        let response = conn.request(method, json!({}))?;
        result_of(method, &response)?;
        // The call may have ended before its cancellation arrived, which is no fault.
        let mut others = conn.others.iter();
        let was_over = others.any(|message| message["id"] == id);
        if was_over {
            return Ok("the call was over before it was cancelled".to_owned());
        }
        match conn.receive(Instant::now() + SILENCE)? {
            Some(message) if message["id"] == id => Err("a cancelled call is answered".into()),
            _ => passed(),
        }
    })
}
