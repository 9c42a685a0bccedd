//! A server and a client that do only the minimum for a call, without the services of a library.
//!
//! They search a message for a few words, trust it, and copy bytes. They work only with the peers
//! of this comparison.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::compare::{IN_FLIGHT, Measured, Workload};
use crate::{Maker, TOOLS};

fn find(text: &[u8], wanted: &str) -> Option<usize> {
    let (first, rest) = wanted.as_bytes().split_first()?;
    let mut from = 0;
    loop {
        let at = from + text[from..].iter().position(|byte| byte == first)?;
        if text[at + 1..].starts_with(rest) {
            return Some(at + wanted.len());
        }
        from = at + 1;
    }
}

/// Returns the number after a key.
fn number<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let rest = &text[find(text, key)?..];
    let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    (end > 0).then(|| &rest[..end])
}

/// Returns the string after a key, with its quotes and escapes.
fn string<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let rest = &text[find(text, key)?..];
    let mut at = 1;
    loop {
        at += rest[at..]
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\'))?;
        if rest[at] == b'"' {
            return Some(&rest[..=at]);
        }
        at += 2;
    }
}

/// Returns the result of `tools/list`; it is written once.
fn list() -> String {
    let tools: Vec<String> = (0..TOOLS)
        .map(|number| {
            let tool = crate::ours::filler(number);
            serde_json::to_string(&tool).expect("a tool is JSON")
        })
        .collect();
    format!("{{\"tools\":[{}]}}", tools.join(","))
}

/// Writes the answers to a message, each between the two texts of `around`. A notification has
/// none.
fn answer(message: &[u8], list: &str, around: (&str, &str), out: &mut Vec<u8>) {
    let Some(id) = number(message, "\"id\":") else {
        return;
    };
    let (before, after) = around;
    let open = |out: &mut Vec<u8>| {
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(id);
    };
    let text = |out: &mut Vec<u8>, text: &[u8]| {
        open(out);
        out.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
        out.extend_from_slice(text);
        out.extend_from_slice(b"}]}}");
    };
    let method = string(message, "\"method\":").unwrap_or_default();
    if method == b"\"tools/call\"" {
        if let Some(message) = string(message, "\"message\":") {
            text(out, message);
        } else {
            for step in 1..=100 {
                let token = number(message, "\"progressToken\":").unwrap_or(b"0");
                let token = String::from_utf8_lossy(token);
                let params =
                    format!("{{\"progressToken\":{token},\"progress\":{step},\"total\":100}}");
                let note = format!(
                    "{before}{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{params}}}{after}"
                );
                out.extend_from_slice(note.as_bytes());
            }
            text(out, b"\"done\"");
        }
    } else if method == b"\"tools/list\"" {
        open(out);
        out.extend_from_slice(b",\"result\":");
        out.extend_from_slice(list.as_bytes());
        out.push(b'}');
    } else if method == b"\"initialize\"" {
        open(out);
        out.extend_from_slice(b",\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"bare\",\"version\":\"1\"}}}");
    } else {
        open(out);
        out.extend_from_slice(b",\"error\":{\"code\":-32601,\"message\":\"unknown\"}}");
    }
    out.extend_from_slice(after.as_bytes());
}

pub fn serve_stdio() -> Result<()> {
    let (mut input, mut output) = (
        BufReader::with_capacity(256 << 10, io::stdin()),
        io::stdout(),
    );
    let (mut line, mut out, list) = (Vec::new(), Vec::new(), list());
    while input.read_until(b'\n', &mut line)? > 0 {
        answer(&line, &list, ("", "\n"), &mut out);
        line.clear();
        // Answers to requests that arrived together are written together.
        if !input.buffer().contains(&b'\n') {
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }
    Ok(())
}

pub fn serve_http() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let list: &str = list().leak();
    for connection in listener.incoming() {
        let connection = connection?;
        connection.set_nodelay(true)?;
        // The thread ends when its client closes the connection.
        std::thread::spawn(move || converse(connection, list));
    }
    Ok(())
}

fn converse(connection: TcpStream, list: &str) -> Result<()> {
    let mut output = connection.try_clone()?;
    let mut input = BufReader::with_capacity(256 << 10, connection);
    let (mut head, mut body, mut out) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        read_head(&mut input, &mut head)?;
        let length = number_of(&head, "content-length: ").unwrap_or(0);
        body.resize(length, 0);
        input.read_exact(&mut body)?;
        out.clear();
        if head.starts_with(b"POST") {
            let streams = find(&body, "\"progressToken\":").is_some();
            answer(
                &body,
                list,
                if streams {
                    ("data: ", "\n\n")
                } else {
                    ("", "")
                },
                &mut out,
            );
            let (status, media) = match (out.is_empty(), streams) {
                (true, _) => ("202 Accepted", "text/plain"),
                (_, true) => ("200 OK", "text/event-stream"),
                _ => ("200 OK", "application/json"),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n",
                out.len()
            );
            out.splice(..0, head.bytes());
        } else {
            out.extend_from_slice(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n");
        }
        output.write_all(&out)?;
    }
}

/// Reads a head, and converts it to lower case.
fn read_head(input: &mut impl BufRead, head: &mut Vec<u8>) -> Result<()> {
    head.clear();
    while !head.ends_with(b"\r\n\r\n") {
        let from = head.len();
        ensure!(input.read_until(b'\n', head)? > 0, "the peer has gone");
        if from > 0 {
            head[from..].make_ascii_lowercase();
        }
    }
    Ok(())
}

fn number_of(head: &[u8], field: &str) -> Option<usize> {
    std::str::from_utf8(number(head, field)?).ok()?.parse().ok()
}

/// A client of a bare server.
pub enum Client {
    Stdio {
        process: Child,
        input: Option<ChildStdin>,
        output: BufReader<ChildStdout>,
    },
    Http {
        address: String,
        connections: Vec<BufReader<TcpStream>>,
    },
}

impl Client {
    pub fn connect(address: Option<&str>) -> Result<Self> {
        let Some(address) = address else {
            let mut process = Command::new(std::env::current_exe()?)
                .args(["serve", Maker::Bare.name(), "stdio"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let input = process.stdin.take();
            let output = process.stdout.take().context("its output is a pipe")?;
            let output = BufReader::with_capacity(256 << 10, output);
            return Ok(Self::Stdio {
                process,
                input,
                output,
            });
        };
        let open = || {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Ok(BufReader::with_capacity(64 << 10, stream))
        };
        let connections = (0..IN_FLIGHT).map(|_| open()).collect::<Result<_>>()?;
        Ok(Self::Http {
            address: address.to_owned(),
            connections,
        })
    }

    fn send(&mut self, way: usize, line: &str) -> Result<()> {
        match self {
            Self::Stdio { input, .. } => {
                let input = input.as_mut().context("it is open")?;
                input.write_all(format!("{line}\n").as_bytes())?;
            }
            Self::Http {
                address,
                connections,
            } => {
                let head = format!(
                    "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{line}",
                    line.len()
                );
                connections[way].get_mut().write_all(head.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Waits for `count` messages.
    fn receive(&mut self, way: usize, count: usize, into: &mut Vec<u8>) -> Result<()> {
        into.clear();
        match self {
            Self::Stdio { output, .. } => {
                for _ in 0..count {
                    ensure!(output.read_until(b'\n', into)? > 0, "the server has gone");
                }
            }
            Self::Http { connections, .. } => {
                let (input, mut head) = (&mut connections[way], Vec::new());
                read_head(input, &mut head)?;
                into.resize(number_of(&head, "content-length: ").unwrap_or(0), 0);
                input.read_exact(into)?;
            }
        }
        Ok(())
    }
}

impl Measured for Client {
    fn play(&mut self, workload: Workload, text: &str) -> Result<usize> {
        let text = serde_json::to_string(text)?;
        let echo = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"message\":{text}}}}}}}"
        );
        let mut came = Vec::new();
        match workload {
            Workload::Echo(_) => {
                self.send(0, &echo)?;
                self.receive(0, 1, &mut came)?;
            }
            Workload::InFlight | Workload::Started => {
                (0..IN_FLIGHT).try_for_each(|way| self.send(way, &echo))?;
                (0..IN_FLIGHT).try_for_each(|way| self.receive(way, 1, &mut came))?;
            }
            Workload::List => {
                self.send(
                    0,
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}",
                )?;
                self.receive(0, 1, &mut came)?;
            }
            Workload::Progress => {
                self.send(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"progress\",\"arguments\":{\"count\":100},\"_meta\":{\"progressToken\":1}}}")?;
                self.receive(0, 101, &mut came)?;
            }
        }
        match workload {
            Workload::Echo(_) | Workload::InFlight | Workload::Started
                if string(&came, "\"text\":") != Some(text.as_bytes()) =>
            {
                bail!("the echo is another text")
            }
            Workload::List | Workload::Progress if came.len() < 8000 => {
                bail!("the answer is short")
            }
            Workload::InFlight | Workload::Started => Ok(IN_FLIGHT),
            _ => Ok(1),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Self::Stdio { process, input, .. } = self {
            drop(input.take());
            // Wait for its end, so that it does not disturb the next measurements.
            _ = process.wait();
        }
    }
}
