//! Measures what the ways of waiting for calls cost: one thread with one call, one thread with many
//! started calls, many threads, and a bare channel.
//!
//! `cargo bench --bench calls` prints microseconds per call, in the fastest of several rounds. The
//! server is a bare one: a thread of this process that answers each line over a socket pair. So the
//! figures contain the client, the thread switches to the server, and little else.
#![allow(clippy::print_stdout, reason = "a program of its own")]
#![allow(missing_docs, reason = "a program of its own")]

use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::Select;
use mcplink::client::CallOptions;
use mcplink::client::{CallEvent, Client, Era, PendingCall};
use mcplink::schema::CallToolResult;
use mcplink::transport::Stream;
use serde_json::{Value, json};

/// The number of rounds for each measurement.
const ROUNDS: usize = 7;
/// The number of calls in a round.
const CALLS: usize = 20_000;
/// The number of calls in flight, where there are many.
const MANY: usize = 64;

type Measured = fn(&Client) -> Result<(), Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let (here, there) = UnixStream::pair()?;
    thread::spawn(move || serve(there));
    let transport = Stream::unix(here);
    let client = Client::builder("calls", "1.0")
        .era(Era::Legacy)
        .connect(transport)?;
    let ways: [(&str, Measured); 4] = [
        ("one call at a time", one_at_a_time),
        (
            "64 started calls, one thread waits for each in turn",
            in_turn,
        ),
        (
            "64 started calls, one thread selects their events",
            selecting,
        ),
        ("64 threads, one call each at a time", threads),
    ];
    for (name, way) in ways {
        println!("{:8.2} µs a call   {name}", fastest(|| way(&client))?);
    }
    println!(
        "{:8.2} µs a message   a crossbeam channel that is kept, between two threads that wait",
        fastest(channel)?
    );
    Ok(())
}

/// Returns the time of a call in the fastest round, in microseconds.
fn fastest(mut round: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        round()?;
        best = best.min(began.elapsed());
    }
    Ok(best.as_secs_f64() * 1e6 / CALLS as f64)
}

fn start(client: &Client) -> mcplink::Result<PendingCall<CallToolResult>> {
    client.start_tool("t", &json!({ "message": "x" }), CallOptions::new())
}

fn one_at_a_time(client: &Client) -> Result<(), Box<dyn Error>> {
    for _ in 0..CALLS {
        client.call_tool("t", &json!({ "message": "x" }))?;
    }
    Ok(())
}

fn in_turn(client: &Client) -> Result<(), Box<dyn Error>> {
    let mut calls = VecDeque::new();
    for _ in 0..CALLS {
        if calls.len() == MANY
            && let Some(call) = calls.pop_front()
        {
            PendingCall::wait(call)?;
        }
        calls.push_back(start(client)?);
    }
    for call in calls {
        call.wait()?;
    }
    Ok(())
}

fn selecting(client: &Client) -> Result<(), Box<dyn Error>> {
    let mut left = CALLS;
    let mut calls = Vec::new();
    while left > 0 || !calls.is_empty() {
        while left > 0 && calls.len() < MANY {
            let mut call = start(client)?;
            let events = call.events().clone();
            calls.push((call, events));
            left -= 1;
        }
        let mut select = Select::new();
        for (_, events) in &calls {
            select.recv(events);
        }
        let ready = select.select();
        let index = ready.index();
        if ready.recv(&calls[index].1)? == CallEvent::Done {
            let (mut call, _) = calls.swap_remove(index);
            call.try_take().ok_or("the call is done")??;
        }
    }
    Ok(())
}

fn threads(client: &Client) -> Result<(), Box<dyn Error>> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..MANY)
            .map(|_| {
                scope.spawn(|| {
                    (0..CALLS / MANY).try_for_each(|_| {
                        let result = client.call_tool("t", &json!({ "message": "x" }));
                        result.map(drop).map_err(|error| error.to_string())
                    })
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    Ok(())
}

fn channel() -> Result<(), Box<dyn Error>> {
    let (sender, receiver) = crossbeam_channel::unbounded::<usize>();
    let (back, answers) = crossbeam_channel::unbounded();
    thread::scope(|scope| {
        scope.spawn(move || {
            receiver
                .iter()
                .try_for_each(|number| back.send(number).map_err(drop))
        });
        for number in 0..CALLS / 2 {
            sender.send(number)?;
            answers.recv()?;
        }
        drop(sender);
        Ok(())
    })
}

/// Answers each request at once: first `initialize`, then calls. Only the id is read.
fn serve(stream: UnixStream) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
    let mut stream = stream;
    let (mut line, mut answers) = (String::new(), String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let id = line.split_once("\"id\":").map(|(_, rest)| {
            let end = rest.find([',', '}']).unwrap_or(rest.len());
            &rest[..end]
        });
        if line.contains("\"initialize\"") {
            let message: Value = serde_json::from_str(&line)?;
            let result = json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "bare", "version": "1" },
            });
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            answers += &format!("{answer}\n");
        } else if let Some(id) = id {
            answers += &format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"x\"}}]}}}}\n"
            );
        }
        if !reader.buffer().contains(&b'\n') {
            stream.write_all(answers.as_bytes())?;
            answers.clear();
        }
    }
}
