//! Memory whose size a peer decides is asked for in a way that may fail: the request is refused
//! then, and the process lives on.
//!
//! A binary of its own, since its allocator fails when it is told to.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]
#![cfg(feature = "http-server")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use mcplink::transport::http::{
    HttpLimits, HttpListener, HttpRequest, HttpStats, ResponseHead, ResponseWriter, Service,
};

/// What is smaller is not what a peer decides.
const LARGE: usize = 12 << 10;
const LONG: Duration = Duration::from_secs(30);

const LITTLE: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// Fails the allocation of large memory that it is told to fail, on all threads but the test's own.
struct Failing;

static COUNTDOWN: AtomicUsize = AtomicUsize::new(usize::MAX);
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_TEST: Cell<bool> = const { Cell::new(false) };
}

impl Failing {
    fn fails(&self, size: usize) -> bool {
        if size < LARGE || IS_TEST.try_with(Cell::get).unwrap_or(true) {
            return false;
        }
        let count = |left: usize| left.checked_sub(1).filter(|_| left < usize::MAX);
        let before = COUNTDOWN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count);
        let fails = before == Ok(1);
        if fails {
            HAS_FAILED.store(true, Ordering::SeqCst);
        }
        fails
    }
}

// SAFETY: it hands on what it is asked to the system's allocator, or says that there is no memory.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.fails(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if self.fails(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

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
    let before = listener.stats().accepted;
    let mut stream = TcpStream::connect(listener.local_addr()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // A server that refuses may not read on.
    _ = stream.write_all(request);
    if request.starts_with(b"GET /much") {
        // It does not read until something waits for it, or its connection is broken off.
        let deadline = Instant::now() + LONG;
        let has_ended = |stats: &HttpStats| stats.accepted > before && stats.connections == 0;
        let mut stats = listener.stats();
        while stats.unsent == 0 && !has_ended(&stats) {
            assert!(Instant::now() < deadline, "{stats:?}");
            stats = listener.stats();
            std::thread::yield_now();
        }
    }
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..count]);
    }
    answer
}

/// Whichever allocation fails, the request is served, refused, or its connection closed; and the
/// next one is served.
#[test]
fn a_listener_without_memory_refuses_or_closes() {
    IS_TEST.set(true);
    let much: &'static [u8] = vec![b'x'; 8 << 20].leak();
    let (tell, _told) = mpsc::channel();
    let service = Arc::new(Much(much, tell));
    let listener = HttpListener::bind("127.0.0.1:0", service, HttpLimits::default()).unwrap();
    // What the listener needs for itself is there from now on.
    let served = ask(&listener, LITTLE);
    assert!(served.starts_with(b"HTTP/1.1 200 "));
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
        let mut failed = 0;
        for nth in 1..200 {
            HAS_FAILED.store(false, Ordering::SeqCst);
            COUNTDOWN.store(nth, Ordering::SeqCst);
            let answer = ask(&listener, request.as_bytes());
            COUNTDOWN.store(usize::MAX, Ordering::SeqCst);
            let status = answer.get(9..12).unwrap_or_default();
            assert!(
                [&b"200"[..], b"503", b""].contains(&status),
                "{}",
                answer[..answer.len().min(200)].escape_ascii()
            );
            if !HAS_FAILED.load(Ordering::SeqCst) {
                break;
            }
            failed += 1;
            let served = ask(&listener, LITTLE);
            assert!(served.starts_with(b"HTTP/1.1 200 "));
        }
        assert!(failed > 0 && failed < 190, "{failed} of {}", &request[..20]);
    }
}
