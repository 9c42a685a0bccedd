//! Measures a call over stdio, as a ratio to a bare ping-pong between two processes.
//!
//! `cargo bench` runs each workload and its bare counterpart in turn, so that changes in the
//! machine's speed affect both. It prints the medians and the ratio of each pair. The bare
//! counterpart moves equal bytes over a socket pair without parsing them: no server can be faster.
#![allow(clippy::print_stdout, reason = "a program of its own")]
#![allow(missing_docs, reason = "a program of its own")]

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mcplink::client::Client;
use mcplink::schema::{JsonSchema, Tool};
use mcplink::server::Server;
use mcplink::transport::Child;
use serde::Deserialize;
use serde_json::json;

const ROUNDS: usize = 15;
const CALLS: usize = 2_000;
const IN_FLIGHT: usize = 64;
const MESSAGE: &str = "one hundred bytes of a message, give or take a few, as most calls of tools have them: 0123456789";

#[derive(Deserialize)]
struct Echo {
    message: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("bare") => Ok(bare_peer()?),
        Some("server") => {
            let echo = Tool::new("echo").input_schema(JsonSchema::any_object());
            Ok(Server::builder("bench", "1")
                .tool_with_schema(echo, |args: Echo, _| args.message)
                .serve_stdio()?)
        }
        _ => measure(),
    }
}

/// Echoes every byte.
fn bare_peer() -> std::io::Result<()> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
    let mut buffer = vec![0; 64 << 10];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            count => {
                output.write_all(&buffer[..count])?;
                output.flush()?;
            }
        }
    }
}

fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let program = std::env::current_exe()?;
    let mut bare = Wire::start("bare")?;
    let mut server = Wire::start("server")?;
    server.send(&open())?;
    server.receive(1)?;
    let client = Client::connect(Child::new(program).arg("server"))?;

    println!(
        "{ROUNDS} rounds of {CALLS} calls with 100 bytes each, in turn; medians, microseconds a call\n"
    );
    compare(
        "client and server, one call at a time",
        || bare.one_by_one(),
        || called(&client),
    );
    compare(
        "server alone, one call at a time",
        || bare.one_by_one(),
        || server.one_by_one(),
    );
    compare(
        "server alone, 64 calls in flight",
        || bare.in_flight(),
        || server.in_flight(),
    );
    compare(
        "client and server, 64 threads calling",
        || bare.in_flight(),
        || called_by_many(&client),
    );
    client.close();
    Ok(())
}

fn compare(what: &str, mut bare: impl FnMut() -> Duration, mut ours: impl FnMut() -> Duration) {
    let (mut bares, mut times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..=ROUNDS {
        let (one, other) = (bare().as_secs_f64(), ours().as_secs_f64());
        bares.push(one);
        times.push(other);
        ratios.push(other / one);
    }
    // The first round is a warm-up.
    let micros = |seconds: &mut [f64]| median(&mut seconds[1..]) * 1e6 / CALLS as f64;
    println!(
        "{what:<40} {:>7.2}   bare ping-pong {:>6.2}   ratio {:.2}",
        micros(&mut times),
        micros(&mut bares),
        median(&mut ratios[1..])
    );
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn call(client: &Client) {
    let result = client
        .call_tool("echo", &json!({ "message": MESSAGE }))
        .expect("the server answers");
    assert_eq!(result.content[0].as_text(), Some(MESSAGE));
}

fn called(client: &Client) -> Duration {
    let started = Instant::now();
    (0..CALLS).for_each(|_| call(client));
    started.elapsed()
}

fn called_by_many(client: &Client) -> Duration {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..IN_FLIGHT {
            scope.spawn(|| (0..CALLS / IN_FLIGHT).for_each(|_| call(client)));
        }
    });
    // The number of calls per thread was rounded down.
    started
        .elapsed()
        .mul_f64(CALLS as f64 / (CALLS / IN_FLIGHT * IN_FLIGHT) as f64)
}

/// A peer process and the connection to it.
struct Wire {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Wire {
    fn start(role: &str) -> std::io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let input = OwnedFd::from(theirs.try_clone()?);
        // The child ends when our end of the socket pair is closed, at the latest with this
        // process.
        Command::new(std::env::current_exe()?)
            .arg(role)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        Ok(Self {
            stream: ours,
            buffer: vec![0; 256 << 10],
        })
    }

    fn send(&mut self, text: &str) -> std::io::Result<()> {
        self.stream.write_all(text.as_bytes())
    }

    /// Waits for `lines` lines.
    fn receive(&mut self, mut lines: usize) -> std::io::Result<()> {
        while lines > 0 {
            let count = self.stream.read(&mut self.buffer)?;
            assert_ne!(count, 0, "the peer has gone");
            lines -= self.buffer[..count]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
        }
        Ok(())
    }

    fn one_by_one(&mut self) -> Duration {
        self.play(1)
    }

    fn in_flight(&mut self) -> Duration {
        self.play(IN_FLIGHT)
    }

    fn play(&mut self, at_once: usize) -> Duration {
        let requests: Vec<String> = (0..CALLS.div_ceil(at_once))
            .map(|batch| {
                (0..at_once)
                    .map(|at| request(batch * at_once + at))
                    .collect()
            })
            .collect();
        let started = Instant::now();
        for batch in &requests {
            self.send(batch).expect("the peer reads");
            self.receive(at_once).expect("the peer answers");
        }
        started.elapsed()
    }
}

fn open() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    });
    format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": -1, "method": "initialize", "params": params })
    )
}

fn request(number: usize) -> String {
    let params = json!({ "name": "echo", "arguments": { "message": MESSAGE } });
    format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params })
    )
}
