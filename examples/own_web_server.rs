//! MCP inside of a web server that the program has already: `/mcp` beside a page of its own.
//!
//! ```text
//! cargo run --example own_web_server -- 8080    # http://127.0.0.1:8080/ and /mcp
//! ```
//!
//! The web server is a few lines over `std::net`, with one request for each connection. `Response`
//! is the part to write for another web server. Left out are limits of connections and of the time
//! for reading, and keep-alives while a response is quiet (`ResponseHead::while_quiet`).
#![allow(clippy::print_stdout, reason = "an example for a terminal")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use mcplink::server::http::{HttpOptions, HttpService};
use mcplink::server::{Context, Server};
use mcplink::transport::http::{HttpRequest, ResponseHead, ResponseWriter, Service};

const MAX_HEAD: u64 = 16 * 1024;
const MAX_BODY: u64 = 4 * 1024 * 1024;
const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\nhello\n";

/// The writer of a response. When it is dropped, it closes the connection.
#[derive(Debug)]
struct Response {
    stream: TcpStream,
    has_ended: Arc<AtomicBool>,
}

impl Response {
    fn send(&mut self, head: &ResponseHead, length: &str, body: &[u8]) -> mcplink::Result<()> {
        let mut text = format!("HTTP/1.1 {} \r\nConnection: close\r\n", head.status);
        for (name, value) in &head.headers {
            text += &format!("{name}: {value}\r\n");
        }
        let head = format!("{text}{length}\r\n\r\n").into_bytes();
        Ok(self.stream.write_all(&[&head, body].concat())?)
    }
}

/// Makes a piece of a body whose length is unknown. An empty piece would end the body.
fn chunk(piece: &[u8]) -> Vec<u8> {
    if piece.is_empty() {
        return Vec::new();
    }
    let size = format!("{:x}\r\n", piece.len());
    [size.as_bytes(), piece, b"\r\n"].concat()
}

impl ResponseWriter for Response {
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> mcplink::Result<()> {
        self.has_ended.store(true, Ordering::SeqCst);
        self.send(head, &format!("Content-Length: {}", body.len()), body)
    }

    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> mcplink::Result<()> {
        self.send(head, "Transfer-Encoding: chunked", &chunk(first))
    }

    fn write(&mut self, piece: &[u8], _deadline: Option<Instant>) -> mcplink::Result<bool> {
        self.stream.write_all(&chunk(piece))?;
        Ok(true)
    }

    fn finish(&mut self) -> mcplink::Result<()> {
        self.has_ended.store(true, Ordering::SeqCst);
        Ok(self.stream.write_all(b"0\r\n\r\n")?)
    }

    /// Waits on a thread until the client disconnects: that cancels the call.
    fn on_gone(&mut self, callback: Box<dyn FnOnce() + Send>) {
        let has_ended = Arc::clone(&self.has_ended);
        let Ok(mut stream) = self.stream.try_clone() else {
            return callback();
        };
        thread::spawn(move || {
            _ = io::copy(&mut stream, &mut io::sink());
            if !has_ended.load(Ordering::SeqCst) {
                callback();
            }
        });
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn serve(mut stream: TcpStream, service: &HttpService) -> io::Result<()> {
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = Vec::new();
    for line in reader.by_ref().take(MAX_HEAD).lines() {
        match line?.as_str() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let mut words = head.first().map_or("", String::as_str).split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if target != "/mcp" {
        return stream.write_all(PAGE);
    }
    let fields = head.iter().filter_map(|line| line.split_once(':'));
    let fields: Vec<_> = fields
        .map(|(name, value)| (name, value.trim().as_bytes()))
        .collect();
    let request = HttpRequest::new(method, target)
        .headers(&fields)
        .addresses(stream.local_addr().ok(), stream.peer_addr().ok());
    let length = request.value("Content-Length").map(String::from_utf8_lossy);
    let length = length.and_then(|text| text.parse().ok()).unwrap_or(0_u64);
    let mut body = Vec::new();
    reader.take(length.min(MAX_BODY)).read_to_end(&mut body)?;
    let response = Response {
        stream,
        has_ended: Arc::default(),
    };
    service.serve(request.body(body), Box::new(response));
    Ok(())
}

/// Counts for 20 seconds, unless the call is cancelled.
fn count(_: (), context: &Context) {
    for number in 1..=1000 {
        context.progress(f64::from(number), None, None);
        if context.cancel_token().wait(Duration::from_millis(20)) {
            println!("cancelled");
            break;
        }
    }
}

fn main() -> mcplink::Result<()> {
    let port = env::args().nth(1).and_then(|text| text.parse().ok());
    let server = Server::builder("counter", "1.0")
        .tool("hello", "Says hello", |(): (), _| "hello")
        .tool("count", "Counts for 20 seconds", count)
        .build()?;
    let service = server.http_service(HttpOptions::new());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(8080)))?;
    println!("http://{}/mcp", listener.local_addr()?);
    for stream in listener.incoming() {
        let (stream, service) = (stream?, service.clone());
        thread::spawn(move || serve(stream, &service));
    }
    Ok(())
}
