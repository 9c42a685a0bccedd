//! Runs one path of a message at a time, for instruction counts: `benches/instructions` runs it
//! under callgrind.
//!
//! `paths NAME COUNT` repeats the path COUNT times. The difference between two counts is the cost
//! of the additional messages, without the cost of the start. No path waits for another process, so
//! the numbers are equal from run to run.
#![allow(missing_docs, reason = "a program of its own")]

use std::error::Error;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::schema::{JsonSchema, Tool};
use mcplink::server::http::{HttpOptions, HttpService};
use mcplink::server::{Context, Server};
use mcplink::transport::http::{Http, HttpRequest, ResponseHead, ResponseWriter, Service as _};
use mcplink::transport::{Stream, memory};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Echo {
    message: String,
}

#[derive(Deserialize)]
struct Count {
    count: u32,
}

/// Makes a tool that accepts any object.
fn any(name: &str) -> Tool {
    Tool::new(name).input_schema(JsonSchema::any_object())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    // Without a count it was started by `cargo bench`: run each path once, to check that all work.
    let Some(count) = arguments.next().and_then(|count| count.parse().ok()) else {
        return NAMES.iter().try_for_each(|name| run(name, 3));
    };
    run(&name, count)
}

const NAMES: [&str; 10] = [
    "stdio_100B_legacy",
    "stdio_100B_modern",
    "stdio_10KB_modern",
    "stdio_list_200",
    "stdio_progress_100",
    "http_100B_modern",
    "http_10KB_modern",
    "client_and_server_100B",
    "client_http_100B",
    "client_http_progress_100",
];

fn run(name: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let small = "x".repeat(100);
    let large =
        "The quick brown fox jumps over the lazy dog and keeps running on.\nHe said \"stop\"; "
            .repeat(120);
    match name {
        "stdio_100B_legacy" => stream(count, false, "tools/call", echo(&small)),
        "stdio_100B_modern" => stream(count, true, "tools/call", echo(&small)),
        "stdio_10KB_modern" => stream(count, true, "tools/call", echo(&large)),
        "stdio_list_200" => stream(count, true, "tools/list", json!({})),
        "stdio_progress_100" => {
            let params = json!({ "name": "progress", "arguments": { "count": 100 }, "_meta": { "progressToken": 1 } });
            stream(count, true, "tools/call", params)
        }
        "http_100B_modern" => http(count, echo(&small)),
        "http_10KB_modern" => http(count, echo(&large)),
        "client_and_server_100B" => call(count, &small),
        "client_http_100B" => call_http(count, whole_answer(&small)),
        "client_http_progress_100" => call_http(count, streamed_answer()),
        other => Err(format!("no path is called '{other}'").into()),
    }
}

fn server() -> Result<Server, Box<dyn Error>> {
    let server = Server::builder("paths", "1.0")
        .tool_with_schema(any("echo"), |args: Echo, _: &Context| args.message)
        .tool_with_schema(any("progress"), |args: Count, context: &Context| {
            for step in 1..=args.count {
                context.progress(step.into(), None, None);
            }
            "done"
        })
        .build()?;
    for number in 2..200 {
        let tool = Tool::new(format!("tool_{number}"))
            .description("Makes the list longer than it would be without it");
        server.add_tool(tool, |_: Value, _: &Context| "nothing")?;
    }
    Ok(server)
}

fn echo(message: &str) -> Value {
    json!({ "name": "echo", "arguments": { "message": message } })
}

fn request(id: usize, is_modern: bool, method: &str, mut params: Value) -> Value {
    if is_modern {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        params["_meta"]["io.modelcontextprotocol/clientInfo"] =
            json!({ "name": "paths", "version": "1" });
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The input of a server: it returns the next request after the previous one was answered.
struct Feed {
    opening: Cursor<Vec<u8>>,
    line: Vec<u8>,
    left: usize,
    answered: Receiver<()>,
}

impl Read for Feed {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.opening.read(room)?;
        if count > 0 || self.left == 0 {
            return Ok(count);
        }
        self.left -= 1;
        // Fails if the server has ended.
        let waited = self.answered.recv_timeout(Duration::from_secs(60));
        waited.map_err(|_| io::ErrorKind::TimedOut)?;
        self.opening = Cursor::new(self.line.clone());
        self.opening.read(room)
    }
}

/// The output of a server: it reports each response that was written.
struct Sink(Sender<()>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let line = rest;
            // Faster than a loop over the bytes, which would be a large part of the count.
            rest.skip_until(b'\n')?;
            if find(line, b"\"result\":").is_some() {
                // Fails after the last request, when the receiver has been dropped.
                _ = self.0.send(());
            }
            assert!(
                find(line, b"\"error\":").is_none(),
                "{}",
                String::from_utf8_lossy(line)
            );
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Searches only the first 64 bytes, which contain all members that this program looks for.
fn find(line: &[u8], wanted: &[u8]) -> Option<usize> {
    let head = &line[..line.len().min(64)];
    head.windows(wanted.len()).position(|part| part == wanted)
}

/// Runs a server on a stream.
fn stream(
    count: usize,
    is_modern: bool,
    method: &str,
    params: Value,
) -> Result<(), Box<dyn Error>> {
    let mut opening = Vec::new();
    let (answer, answered) = mpsc::channel();
    if is_modern {
        answer.send(())?;
    } else {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "paths", "version": "1" } });
        writeln!(opening, "{}", request(0, false, "initialize", params))?;
        writeln!(
            opening,
            "{}",
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
        )?;
    }
    let line = request(1, is_modern, method, params).to_string() + "\n";
    let feed = Feed {
        opening: Cursor::new(opening),
        line: line.into_bytes(),
        left: count,
        answered,
    };
    Ok(server()?.serve(Stream::new(feed, Sink(answer)))?)
}

/// A response writer that counts answers.
#[derive(Debug)]
struct Answer;

impl ResponseWriter for Answer {
    fn respond(&mut self, head: &ResponseHead, _: &[u8]) -> mcplink::Result<()> {
        assert_eq!(head.status, 200);
        Ok(())
    }

    fn begin(&mut self, _: &ResponseHead, _: &[u8]) -> mcplink::Result<()> {
        unreachable!("the answer comes whole")
    }

    fn write(&mut self, _: &[u8], _: Option<Instant>) -> mcplink::Result<bool> {
        unreachable!("the answer comes whole")
    }

    fn finish(&mut self) -> mcplink::Result<()> {
        unreachable!("the answer comes whole")
    }

    fn on_gone(&mut self, _: Box<dyn FnOnce() + Send>) {}
}

/// Runs the HTTP service of a server on requests that a listener would have read.
fn http(count: usize, params: Value) -> Result<(), Box<dyn Error>> {
    let service: HttpService = server()?.http_service(HttpOptions::new());
    let body = request(1, true, "tools/call", params)
        .to_string()
        .into_bytes();
    let headers: [(&str, &[u8]); 6] = [
        ("Host", b"localhost"),
        ("Content-Type", b"application/json"),
        ("Accept", b"application/json, text/event-stream"),
        ("MCP-Protocol-Version", b"2026-07-28"),
        ("Mcp-Method", b"tools/call"),
        ("Mcp-Name", b"echo"),
    ];
    for _ in 0..count {
        let request = HttpRequest::new("POST", "/mcp")
            .headers(&headers)
            .body(body.clone());
        service.serve(request, Box::new(Answer));
    }
    Ok(())
}

/// Runs a client that calls a server in this process, through memory.
fn call(count: usize, message: &str) -> Result<(), Box<dyn Error>> {
    let (here, there) = memory::pair();
    let serving = server()?.open(there)?;
    let client = Client::connect(here)?;
    let arguments = json!({ "message": message });
    for _ in 0..count {
        client.call_tool_with("echo", &arguments, CallOptions::new())?;
    }
    client.close();
    serving.close();
    Ok(())
}

/// Runs a client that calls a minimal server over a socket.
fn call_http(count: usize, answer: Vec<u8>) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let url = format!("http://{address}/mcp");
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let serving = thread::spawn(move || -> io::Result<()> {
        let (mut next, usual) = (parts_of(&described()), parts_of(&answer));
        loop {
            let (client, _) = listener.accept()?;
            if ends.load(Ordering::SeqCst) {
                return Ok(());
            }
            // On a busy machine the client drops a connection whose stream does not end at once,
            // and opens another one. An error of the dropped connection is ignored here: if it
            // matters, the client's call fails.
            _ = play(client, &mut next, &usual);
        }
    });
    let client = Client::connect(Http::new(&url)?)?;
    let arguments = json!({ "message": "x".repeat(100) });
    let mut told = 0;
    for _ in 0..count {
        let options = CallOptions::new().on_progress(|_| told += 1);
        client.call_tool_with("echo", &arguments, options)?;
    }
    client.close();
    is_over.store(true, Ordering::SeqCst);
    drop(TcpStream::connect(address)?);
    assert!(
        told == 0 || told == 100 * count,
        "progress got lost: {told}"
    );
    Ok(serving.join().map_err(|_| "the server panicked")??)
}

/// Returns the result of `server/discover`.
fn described() -> Vec<u8> {
    whole(
        r#"{"jsonrpc":"2.0","id":#,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}}"#,
    )
}

/// Returns the parts of an answer between the places of the id.
fn parts_of(answer: &[u8]) -> Vec<Vec<u8>> {
    let parts = answer.split(|byte| *byte == b'#');
    parts.map(<[u8]>::to_vec).collect()
}

/// Sends `next` as the first answer and `usual` as all further ones, with the request's id
/// inserted.
fn play(client: TcpStream, next: &mut Vec<Vec<u8>>, usual: &Vec<Vec<u8>>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(client.try_clone()?), client);
    while let Some(id) = next_id(&mut reader)? {
        // Ids are padded to one length, so that all answers have one length.
        writer.write_all(&next.join(format!("{id:<ID$}").as_bytes()))?;
        next.clone_from(usual);
    }
    Ok(())
}

/// The length of an id in an answer, including trailing spaces.
const ID: usize = 8;

/// Reads a request and returns its id; `None` when the client has closed the connection.
fn next_id(reader: &mut impl BufRead) -> io::Result<Option<u64>> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).map_err(io::Error::other)?;
    let id = body.split_once("\"id\":").map(|(_, rest)| rest);
    let id = id.and_then(|rest| rest.split([',', '}']).next()?.parse().ok());
    id.map(Some)
        .ok_or_else(|| io::Error::other("a request without an id"))
}

/// Returns an HTTP response with a content length.
fn whole(body: &str) -> Vec<u8> {
    let length = body.len() + body.matches('#').count() * (ID - 1);
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

fn whole_answer(message: &str) -> Vec<u8> {
    whole(&result(message))
}

fn result(message: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":#,"result":{{"resultType":"complete","content":[{{"type":"text","text":"{message}"}}]}}}}"#
    )
}

/// Returns an event stream with each event in its own chunk.
fn streamed_answer() -> Vec<u8> {
    let mut answer =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_owned();
    let progress = (1..=100).map(|step| format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":#,"progress":{step},"total":100}}}}"#));
    for message in progress.chain([result("done")]) {
        let event = format!("event: message\ndata: {message}\n\n");
        let length = event.len() + ID - 1;
        answer += &format!("{length:x}\r\n{event}\r\n");
    }
    (answer + "0\r\n\r\n").into_bytes()
}
