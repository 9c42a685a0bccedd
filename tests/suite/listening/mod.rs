//! What tests of the HTTP listener share: services, and a client that writes bytes and reads responses.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mcplink::transport::http::{
    HttpLimits, HttpListener, HttpRequest, ResponseHead, ResponseWriter, Service,
};

use crate::common::{Gate, LONG};

pub(crate) type Writer = Box<dyn ResponseWriter>;

struct Function<F>(F);

impl<F> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

impl<F: Fn(HttpRequest<'_>, Writer) + Send + Sync> Service for Function<F> {
    fn serve(&self, request: HttpRequest<'_>, response: Writer) {
        (self.0)(request, response);
    }
}

pub(crate) fn service(
    function: impl Fn(HttpRequest<'_>, Writer) + Send + Sync + 'static,
) -> Arc<dyn Service> {
    Arc::new(Function(function))
}

pub(crate) fn listen_with(limits: HttpLimits, service: Arc<dyn Service>) -> HttpListener {
    HttpListener::bind("127.0.0.1:0", service, limits).unwrap()
}

pub(crate) fn limits(change: impl FnOnce(&mut HttpLimits)) -> HttpLimits {
    let mut limits = HttpLimits::default();
    change(&mut limits);
    limits
}

/// Says what it was asked: method, target, `Host`, body.
pub(crate) fn say(request: &HttpRequest<'_>, mut response: Writer) {
    let host = request.value("host").unwrap_or_default();
    let mut text = format!(
        "{} {} {} ",
        request.method,
        request.target,
        host.escape_ascii()
    );
    text.push_str(&String::from_utf8_lossy(&request.body));
    // The client may have gone.
    _ = response.respond(&ResponseHead::new(200), text.as_bytes());
}

pub(crate) fn listen() -> HttpListener {
    listen_with(
        HttpLimits::default(),
        service(|request, response| say(&request, response)),
    )
}

/// `/block` waits for the gate, `/keep` keeps the response for the test, `/panic` panics, everything else is told what it asked.
pub(crate) fn listen_to_all(limits: HttpLimits) -> (HttpListener, Gate, mpsc::Receiver<Writer>) {
    let (keep, kept) = mpsc::channel();
    let gate = Gate::default();
    let at_gate = gate.clone();
    let service = service(move |request, response| match request.target {
        "/keep" => keep.send(response).unwrap(),
        "/panic" => panic!("as the test wants it"),
        "/block" => {
            at_gate.pass();
            say(&request, response);
        }
        _ => say(&request, response),
    });
    (listen_with(limits, service), gate, kept)
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    bytes: Vec<u8>,
}

/// A connection to a port of this machine from the address 127.0.0.`last`.
#[cfg(target_os = "linux")]
fn connect_from(last: u8, address: SocketAddr) -> TcpStream {
    use std::os::fd::FromRawFd as _;
    let there = |last: u8, port: u16| libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes([127, 0, 0, last]),
        },
        sin_zero: [0; 8],
    };
    let len = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let (own, other) = (there(last, 0), there(1, address.port()));
    // SAFETY: it takes and gives numbers only.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    assert!(raw >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the descriptor was made just now, and nobody else has it.
    let stream = unsafe { TcpStream::from_raw_fd(raw) };
    // SAFETY: the descriptor is open, and the addresses are as long as said.
    let failed = unsafe {
        libc::bind(raw, (&raw const own).cast(), len)
            | libc::connect(raw, (&raw const other).cast(), len)
    };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
    stream
}

/// A connection to a port of this machine from the address 127.0.0.`last`.
#[cfg(windows)]
fn connect_from(last: u8, address: SocketAddr) -> TcpStream {
    use std::os::windows::io::FromRawSocket as _;
    use std::ptr::null;
    use windows_sys::Win32::Networking::WinSock::*;
    let there = |last: u8, port: u16| SOCKADDR_IN {
        sin_family: AF_INET,
        sin_port: port.to_be(),
        sin_addr: IN_ADDR {
            S_un: IN_ADDR_0 {
                S_addr: u32::from_ne_bytes([127, 0, 0, last]),
            },
        },
        sin_zero: [0; 8],
    };
    let len = size_of::<SOCKADDR_IN>() as i32;
    let (own, other) = (there(last, 0), there(1, address.port()));
    let flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
    // SAFETY: takes and gives numbers only.
    let raw = unsafe { WSASocketW(AF_INET.into(), SOCK_STREAM, 0, null(), 0, flags) };
    assert_ne!(raw, INVALID_SOCKET, "{}", std::io::Error::last_os_error());
    // SAFETY: the socket was made just now, and nobody else has it.
    let stream = unsafe { TcpStream::from_raw_socket(raw as u64) };
    // SAFETY: the socket is open, and the addresses are as long as said.
    let failed = unsafe {
        bind(raw, (&raw const own).cast(), len) | connect(raw, (&raw const other).cast(), len)
    };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
    stream
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Lines, without the date.
    pub(crate) fields: Vec<String>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn has(&self, line: &str) -> bool {
        self.fields.iter().any(|field| field == line)
    }
}

impl Client {
    pub(crate) fn to(listener: &HttpListener) -> Self {
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self {
            stream,
            bytes: Vec::new(),
        }
    }

    /// From another address of this machine: 127.0.0.`last`.
    #[cfg(any(target_os = "linux", windows))]
    pub(crate) fn from(last: u8, address: SocketAddr) -> Self {
        let stream = connect_from(last, address);
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self {
            stream,
            bytes: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn get(&mut self, target: &str) {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: here\r\n\r\n"));
    }

    /// Gets what it was asked.
    pub(crate) fn expect_service(&mut self) {
        self.get("/fine");
        assert_eq!(self.receive().body, "GET /fine here ");
    }

    fn more(&mut self) -> bool {
        let mut room = [0; 16 << 10];
        match self.stream.read(&mut room) {
            Ok(count) => {
                self.bytes.extend_from_slice(&room[..count]);
                count > 0
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}, after {}", self.bytes.escape_ascii()),
        }
    }

    pub(crate) fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|two| two == b"\r\n") {
                let line = self.bytes.drain(..end + 2).take(end).collect();
                return String::from_utf8(line).unwrap();
            }
            assert!(self.more(), "ended after {}", self.bytes.escape_ascii());
        }
    }

    pub(crate) fn exactly(&mut self, count: usize) -> String {
        while self.bytes.len() < count {
            assert!(self.more(), "ended after {} bytes", self.bytes.len());
        }
        String::from_utf8(self.bytes.drain(..count).collect()).unwrap()
    }

    pub(crate) fn head(&mut self) -> Response {
        let first = self.line();
        let status = first
            .strip_prefix("HTTP/1.1 ")
            .unwrap_or_else(|| panic!("{first}"));
        let status = status.split(' ').next().unwrap().parse().unwrap();
        let mut fields: Vec<String> = Vec::new();
        loop {
            match self.line() {
                line if line.is_empty() => break,
                line => fields.push(line),
            }
        }
        if status != 100 {
            let before = fields.len();
            fields.retain(|line| !line.starts_with("Date: ") || line.len() != 35);
            assert_eq!(fields.len(), before - 1, "one date: {fields:?}");
        }
        Response {
            status,
            fields,
            body: String::new(),
        }
    }

    /// A response whose length is known.
    pub(crate) fn receive(&mut self) -> Response {
        let mut response = self.head();
        let length = response
            .fields
            .iter()
            .find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.unwrap_or("0").parse().unwrap();
        response.body = self.exactly(length);
        response
    }

    /// The next chunk; empty for the last.
    pub(crate) fn chunk(&mut self) -> String {
        let size = usize::from_str_radix(&self.line(), 16).unwrap();
        let chunk = self.exactly(size);
        assert_eq!(self.exactly(2), "\r\n");
        chunk
    }

    /// Everything until the end of the connection.
    pub(crate) fn rest(&mut self) -> String {
        while self.more() {}
        String::from_utf8(std::mem::take(&mut self.bytes)).unwrap()
    }

    /// Checks that nothing comes any more.
    pub(crate) fn expect_end(&mut self) {
        assert_eq!(self.rest(), "");
    }

    /// Checks that nothing comes for a while.
    pub(crate) fn expect_silence(&mut self) {
        self.stream
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let mut byte = [0];
        let read = self.stream.read(&mut byte);
        assert!(self.bytes.is_empty() && read.is_err(), "{read:?}");
        self.stream.set_read_timeout(Some(LONG)).unwrap();
    }

    pub(crate) fn end_own_side(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }
}
