//! Servers in child processes, and minimal clients that write and read the bytes themselves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::compare::{IN_FLIGHT, Measured, Workload};
use crate::{Maker, TOOLS};

/// A server process; it is killed when this value is dropped.
pub struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(maker: Maker, transport: &str) -> Result<Child> {
        Command::new(std::env::current_exe()?)
            .args(["serve", maker.name(), transport])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("the server of {}", maker.name()))
    }

    /// Starts an HTTP server, and reads its address from its output.
    pub fn listening(maker: Maker) -> Result<Self> {
        let mut process = Self::start(maker, "http")?;
        let mut address = String::new();
        let output = process.stdout.take().context("its output is a pipe")?;
        BufReader::new(output).read_line(&mut address)?;
        let address = address.trim().to_owned();
        Ok(Self { process, address })
    }

    /// Returns host and port.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the process has already ended.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Returns a request as one line.
fn request(id: usize, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n"
}

fn initialize() -> String {
    let client = json!({ "name": "wire", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    request(0, "initialize", &params)
}

const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// Returns the request of a workload, and the number of messages that answer it.
fn line_of(workload: Workload, id: usize, text: &str) -> (String, usize) {
    match workload {
        Workload::Echo(_) | Workload::InFlight | Workload::Started => {
            let params = json!({ "name": "echo", "arguments": { "message": text } });
            (request(id, "tools/call", &params), 1)
        }
        Workload::List => (request(id, "tools/list", &json!({})), 1),
        Workload::Progress => {
            let meta = json!({ "progressToken": id });
            let params =
                json!({ "name": "progress", "arguments": { "count": 100 }, "_meta": meta });
            (request(id, "tools/call", &params), 101)
        }
    }
}

/// Checks an answer cheaply: by its length, and by the absence of an error in its first bytes.
fn check(workload: Workload, answer: &[u8], text: &str) -> Result<()> {
    let least = match workload {
        Workload::Echo(_) => text.len(),
        Workload::InFlight | Workload::Started => text.len() * IN_FLIGHT,
        Workload::List => TOOLS * 100,
        Workload::Progress => 100 * 80,
    };
    let head = String::from_utf8_lossy(&answer[..answer.len().min(400)]).into_owned();
    ensure!(
        answer.len() >= least && !head.contains("\"error\""),
        "an answer is wrong: {head}"
    );
    Ok(())
}

/// A server and the connection to it.
pub enum Peer {
    Stdio(Pipes),
    Http(Http),
}

impl Peer {
    pub fn start(maker: Maker, over_http: bool) -> Result<Box<dyn Measured>> {
        Ok(Box::new(match over_http {
            true => Self::Http(Http::open(maker)?),
            false => Self::Stdio(Pipes::open(maker)?),
        }))
    }
}

impl Measured for Peer {
    fn play(&mut self, workload: Workload, text: &str) -> Result<usize> {
        match self {
            Self::Stdio(pipes) => pipes.play(workload, text),
            Self::Http(http) => http.play(workload, text),
        }
    }
}

/// A server over stdio. It ends when its input is closed.
pub struct Pipes {
    process: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// The bytes of the answers.
    came: Vec<u8>,
    next_id: usize,
}

impl Pipes {
    fn open(maker: Maker) -> Result<Self> {
        let mut process = Server::start(maker, "stdio")?;
        let input = process.stdin.take();
        let output = process.stdout.take().context("its output is a pipe")?;
        let mut pipes = Self {
            process,
            input,
            output,
            came: Vec::new(),
            next_id: 1,
        };
        pipes.exchange(&initialize(), 1)?;
        pipes.exchange(INITIALIZED, 0)?;
        Ok(pipes)
    }

    /// Sends `text`, and waits for `lines` lines.
    fn exchange(&mut self, text: &str, mut lines: usize) -> Result<()> {
        let input = self.input.as_mut().context("it is open")?;
        input.write_all(text.as_bytes())?;
        self.came.clear();
        let mut room = [0; 64 << 10];
        while lines > 0 {
            let count = self.output.read(&mut room)?;
            ensure!(count > 0, "the server has gone");
            lines -= room[..count].iter().filter(|byte| **byte == b'\n').count();
            self.came.extend_from_slice(&room[..count]);
        }
        Ok(())
    }

    fn play(&mut self, workload: Workload, text: &str) -> Result<usize> {
        let calls = if workload == Workload::InFlight {
            IN_FLIGHT
        } else {
            1
        };
        let (mut lines, mut answers) = (String::new(), 0);
        for _ in 0..calls {
            let (line, count) = line_of(workload, self.next_id, text);
            self.next_id += 1;
            lines += &line;
            answers += count;
        }
        self.exchange(&lines, answers)?;
        check(workload, &self.came, text)?;
        Ok(calls)
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        drop(self.input.take());
        // Wait for its end, so that it does not disturb the next measurements.
        _ = self.process.wait();
    }
}

/// A server over HTTP, and a connection for each call in flight.
pub struct Http {
    server: Server,
    session: Option<String>,
    connections: Vec<Connection>,
    next_id: usize,
}

impl Http {
    fn open(maker: Maker) -> Result<Self> {
        let server = Server::listening(maker)?;
        let mut connections = vec![Connection::open(server.address())?];
        let first = &mut connections[0];
        first.send(server.address(), None, &initialize())?;
        let head = first.receive()?;
        let session = field(&head, "mcp-session-id").map(str::to_owned);
        first.send(server.address(), session.as_deref(), INITIALIZED)?;
        first.receive()?;
        Ok(Self {
            server,
            session,
            connections,
            next_id: 1,
        })
    }

    fn play(&mut self, workload: Workload, text: &str) -> Result<usize> {
        let calls = if workload == Workload::InFlight {
            IN_FLIGHT
        } else {
            1
        };
        // Servers close connections that are not used for long, so these are opened when they are needed.
        while self.connections.len() < calls {
            let connection = Connection::open(self.server.address())?;
            self.connections.push(connection);
        }
        for connection in &mut self.connections[..calls] {
            let (line, _) = line_of(workload, self.next_id, text);
            self.next_id += 1;
            connection.send(self.server.address(), self.session.as_deref(), &line)?;
        }
        for connection in &mut self.connections[..calls] {
            connection.receive()?;
            let one = if calls > 1 {
                Workload::Echo(0)
            } else {
                workload
            };
            check(one, &connection.body, text)?;
        }
        Ok(calls)
    }
}

/// A persistent HTTP connection.
struct Connection {
    stream: TcpStream,
    /// Bytes that were read and not used yet.
    came: Vec<u8>,
    body: Vec<u8>,
}

/// Returns the value of a header field.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (other, value) = line.split_once(':')?;
        other.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

impl Connection {
    fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            came: Vec::new(),
            body: Vec::new(),
        })
    }

    fn send(&mut self, address: &str, session: Option<&str>, text: &str) -> Result<()> {
        let session = session.map_or_else(String::new, |id| format!("Mcp-Session-Id: {id}\r\n"));
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2025-11-25\r\n{session}Content-Length: {}\r\n\r\n{text}",
            text.len()
        );
        Ok(self.stream.write_all(head.as_bytes())?)
    }

    fn read_more(&mut self) -> Result<()> {
        let mut room = [0; 64 << 10];
        let count = self.stream.read(&mut room)?;
        ensure!(count > 0, "the server has closed a connection");
        self.came.extend_from_slice(&room[..count]);
        Ok(())
    }

    fn take_line(&mut self, end: &[u8]) -> Result<String> {
        let mut from = 0;
        loop {
            let found = self.came[from..]
                .windows(end.len())
                .position(|part| part == end);
            if let Some(at) = found {
                let line = self.came.drain(..from + at + end.len()).collect();
                return Ok(String::from_utf8(line)?);
            }
            from = self.came.len().saturating_sub(end.len());
            self.read_more()?;
        }
    }

    /// Moves `count` bytes to the body.
    fn take_body(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            if self.came.is_empty() {
                self.read_more()?;
            }
            let part = count.min(self.came.len());
            self.body.extend(self.came.drain(..part));
            count -= part;
        }
        Ok(())
    }

    /// Waits for a response, and returns its head.
    fn receive(&mut self) -> Result<String> {
        self.body.clear();
        let head = self.take_line(b"\r\n\r\n")?;
        if !head.starts_with("HTTP/1.1 20") {
            bail!("a request was refused: {head}");
        }
        if field(&head, "transfer-encoding").is_none() {
            self.take_body(field(&head, "content-length").unwrap_or("0").parse()?)?;
            return Ok(head);
        }
        loop {
            let size = usize::from_str_radix(self.take_line(b"\r\n")?.trim(), 16)?;
            self.take_body(size)?;
            self.take_line(b"\r\n")?;
            if size == 0 {
                return Ok(head);
            }
        }
    }
}
