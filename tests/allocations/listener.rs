//! The HTTP listener.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use mcplink::transport::http::{
    HttpLimits, HttpListener, HttpRequest, ResponseHead, ResponseWriter, Service,
};

use crate::{Alone, LONG};

const LITTLE: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// Answers with more than a socket takes at once.
#[derive(Debug)]
struct Much(&'static [u8], mpsc::Sender<usize>);

impl Service for Much {
    fn serve(&self, request: HttpRequest<'_>, mut response: Box<dyn ResponseWriter>) {
        self.1.send(request.body.len()).unwrap();
        let body = match request.target {
            "/much" => self.0,
            _ => b"little",
        };
        // The client may have been given up.
        _ = response.respond(&ResponseHead::new(200), body);
    }
}

fn ask(listener: &HttpListener, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // A server that refuses may not read on.
    _ = stream.write_all(request);
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    if request.starts_with(b"GET /much")
        && let Ok(1) = stream.read(&mut piece[..1])
    {
        answer.push(piece[0]);
        // It does not read on until something waits for it, or its connection is broken off.
        let deadline = Instant::now() + LONG;
        let mut stats = listener.stats();
        while stats.unsent == 0 && stats.connections > 0 {
            assert!(Instant::now() < deadline, "{stats:?}");
            stats = listener.stats();
            std::thread::yield_now();
        }
    }
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..count]);
    }
    answer
}

/// Whichever allocation fails, the request is served, refused, or its connection closed; and the
/// next one is served.
#[test]
fn a_listener_without_memory_refuses_or_closes() {
    let alone = Alone::begin(12 << 10);
    // More than the buffers of both sockets take.
    let much: &'static [u8] = vec![b'x'; 64 << 20].leak();
    let (tell, _told) = mpsc::channel();
    let service = Arc::new(Much(much, tell));
    let body = "x".repeat(1 << 20);
    let head =
        |rest: &str| format!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{rest}\r\n");
    let chunks: String = body.as_bytes()[..200 << 10]
        .chunks(5000)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), "x".repeat(chunk.len())))
        .collect();
    let requests = [
        head(&format!("Content-Length: {}\r\n", body.len())) + &body,
        head("Transfer-Encoding: chunked\r\n") + &chunks + "0\r\n\r\n",
        head(&format!("A: {}\r\n", "a".repeat(30_000))),
        "GET /much HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(),
    ];
    for request in &requests {
        // A worker keeps a buffer for its next connection. So each request gets a new listener.
        let (service, limits) = (Arc::clone(&service), HttpLimits::default());
        let listener = HttpListener::bind("127.0.0.1:0", service, limits).unwrap();
        // What the listener needs for itself is there from now on.
        let served = ask(&listener, LITTLE);
        assert!(served.starts_with(b"HTTP/1.1 200 "));
        alone.fail_each(
            &request[..20],
            || (),
            |()| ask(&listener, request.as_bytes()),
            |(), answer, has_failed| {
                let status = answer.get(9..12).unwrap_or_default();
                assert!(
                    [&b"200"[..], b"503", b""].contains(&status),
                    "{}",
                    answer[..answer.len().min(200)].escape_ascii()
                );
                if has_failed {
                    let served = ask(&listener, LITTLE);
                    assert!(served.starts_with(b"HTTP/1.1 200 "));
                }
            },
        );
    }
}
