//! The loopback HTTP server that receives the redirect at the end of a login.
//!
//! The server serves a bounded number of connections at once. Browsers open idle connections in
//! advance; an idle connection does not block the others.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::place::Place;
use crate::auth::login::Login;
use crate::auth::secret::Secret;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::sys::fd::{self, SocketWake};

/// The maximum number of open connections. At the limit, a new connection replaces the oldest one.
const MAX_CONNECTIONS: usize = 16;
/// The maximum length of a request's head, in bytes.
const MAX_HEAD: usize = 32 << 10;
/// The maximum time for sending a page.
const SENDING: Duration = Duration::from_secs(1);
/// The interval at which a wait without a deadline checks whether the login is over.
const LOOK: Duration = Duration::from_secs(3600);
/// The pause before the listener accepts connections again, after the system had no free file
/// descriptor.
const PAUSE: Duration = Duration::from_millis(100);

const DONE: &str = "<!doctype html><meta charset=utf-8><title>Done</title>\
    <body style=\"font:1.2em sans-serif;margin:4em auto;max-width:30em\">\
    <h1>Done</h1><p>You can close this page and go back to the application.</p>";
const REFUSED: &str = "<!doctype html><meta charset=utf-8><title>Not allowed</title>\
    <body style=\"font:1.2em sans-serif;margin:4em auto;max-width:30em\">\
    <h1>Not allowed</h1><p>The application was not given access. You can close this page.</p>";
const NOTHING: &str =
    "<!doctype html><meta charset=utf-8><title>Nothing here</title><p>There is nothing here.</p>";
const STRAY: &str = "<!doctype html><meta charset=utf-8><title>Not this login</title>\
    <p>This is not the answer to the login that is waited for.</p>";

/// The maximum number of attempts to find a port that is free for both IPv4 and IPv6.
const MAX_TRIES: u32 = 16;

pub(super) struct Listener {
    /// The listening sockets: one for each address that the host name of the redirect URI resolves
    /// to.
    sockets: Vec<TcpListener>,
    place: Place,
    port: u16,
}

/// A connection of a browser, with the bytes received so far.
struct Connection {
    stream: TcpStream,
    head: Zeroizing<Vec<u8>>,
}

impl Listener {
    /// Makes a listener at the port of `place`. If that port is 0, tries the port of the redirect
    /// URI `last` first, and then any free port.
    pub(super) fn bind(place: &Place, last: Option<&str>) -> Result<Self> {
        let port = place.port;
        let last = last.and_then(|last| place.port_of(last));
        let last = last.filter(|last| port == 0 && *last != 0);
        let bind = |port| sockets(port, place.has_name());
        let bound = match last.map(bind) {
            Some(Ok(bound)) => Ok(bound),
            _ => bind(port),
        };
        let (sockets, port) = bound.map_err(|error| {
            let uri = place.uri(port);
            Error::io(
                format_args!("listening at {uri} for the end of the login"),
                error,
            )
        })?;
        let place = place.clone();
        Ok(Self {
            sockets,
            place,
            port,
        })
    }

    pub(super) fn redirect_uri(&self) -> String {
        self.place.uri(self.port)
    }

    /// Blocks until the redirect of this login arrives. Returns the URL of the redirect. Fails when
    /// `login.waiting()` is over.
    pub(super) fn wait(&self, login: &Login<'_>, page: Option<&str>) -> Result<Secret> {
        let failed = |error| Error::io("waiting for the end of the login", error);
        let wake = Arc::new(SocketWake::new().map_err(failed)?);
        let waker = Arc::clone(&wake);
        let _woken = login.waiting().on_over(move || waker.fire());
        let mut connections: Vec<Connection> = Vec::new();
        let mut paused_until = None;
        while !login.waiting().is_over() {
            let deadline = login.waiting().deadline();
            let now = Instant::now();
            let until = deadline.unwrap_or_else(|| now + LOOK);
            paused_until = paused_until.filter(|at| *at > now);
            let until = paused_until.map_or(until, |at| until.min(at));
            let streams = connections.iter().map(|one| fd::socket(&one.stream));
            let open = if paused_until.is_none() {
                &*self.sockets
            } else {
                &[]
            };
            let fds: Vec<_> = streams.chain(open.iter().map(fd::socket)).collect();
            let ready = fd::wait_readable(&fds, &wake, until).map_err(failed)?;
            let called = open.iter().zip(&ready[connections.len()..]);
            let called = called.filter(|(_, is_called)| **is_called);
            let mut at = 0;
            let mut answer = None;
            // `at` counts the connections, to find the readiness of each.
            connections.retain_mut(|connection| {
                at += 1;
                let goes_on = !ready[at - 1] || connection.read();
                if let Some(target) = connection.target() {
                    let own = self.answer(connection, &target, login, page);
                    answer = answer.take().or(own);
                    return false;
                }
                goes_on
            });
            if let Some(answer) = answer {
                return Ok(answer);
            }
            for (socket, _) in called {
                match socket.accept() {
                    Ok((stream, _)) => {
                        if connections.len() >= MAX_CONNECTIONS {
                            connections.remove(0);
                        }
                        connections.extend(Connection::new(stream));
                    }
                    Err(error) if has_passed(&error) => {}
                    // The system has no free descriptor, so the oldest connection is closed to free
                    // one. Otherwise the next attempt to accept would fail too.
                    Err(_) if !connections.is_empty() => _ = connections.remove(0),
                    Err(_) => paused_until = Some(Instant::now() + PAUSE),
                }
            }
        }
        let text = "nobody came back from the login";
        Err(Error::new(ErrorKind::Timeout, text))
    }

    /// Responds to a request. If the request is the redirect of this login, returns the URL of the
    /// request.
    fn answer(
        &self,
        connection: &mut Connection,
        target: &Secret,
        login: &Login<'_>,
        page: Option<&str>,
    ) -> Option<Secret> {
        let target = target.reveal();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if !self.place.is_asked(path) {
            connection.respond("404 Not Found", NOTHING);
            return None;
        }
        let url = Secret::new(format!("{}?{query}", self.redirect_uri()));
        if !login.is_answer(url.reveal()) {
            connection.respond("400 Bad Request", STRAY);
            return None;
        }
        let is_error = query.split('&').any(|pair| pair.starts_with("error="));
        let done = page.unwrap_or(DONE);
        connection.respond("200 OK", if is_error { REFUSED } else { done });
        Some(url)
    }
}

impl Connection {
    fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        let head = Zeroizing::new(Vec::with_capacity(MAX_HEAD));
        Some(Self { stream, head })
    }

    /// Reads the bytes that have arrived from the browser. Returns false at the end of input, or if
    /// the head is too long.
    fn read(&mut self) -> bool {
        let mut piece = Zeroizing::new([0; 4096]);
        match self.stream.read(&mut *piece) {
            Ok(0) => false,
            Ok(len) if self.head.len() + len > MAX_HEAD => false,
            Ok(len) => {
                self.head.extend_from_slice(&piece[..len]);
                true
            }
            Err(error) => matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ),
        }
    }

    /// Returns the request target, or `None` while the head is incomplete. If the method is not
    /// `GET`, returns `/`, which gets an error page.
    fn target(&self) -> Option<Secret> {
        if !self.head.windows(4).any(|four| four == b"\r\n\r\n") {
            return None;
        }
        // The header fields need not be valid UTF-8; only the request line is decoded.
        let line = self.head.split(|byte| *byte == b'\r').next();
        let line = std::str::from_utf8(line.unwrap_or_default()).unwrap_or_default();
        let mut words = line.split(' ');
        match (words.next(), words.next()) {
            (Some("GET"), Some(target)) => Some(target.into()),
            _ => Some("/".into()),
        }
    }

    fn respond(&mut self, status: &str, page: &str) {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
             cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\
             content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n",
            page.len()
        );
        // A failure to send the page does not affect the login.
        let sent = self
            .stream
            .set_nonblocking(false)
            .and_then(|()| self.stream.set_write_timeout(Some(SENDING)))
            .and_then(|()| self.stream.write_all(format!("{head}{page}").as_bytes()));
        _ = sent;
    }
}

/// Opens sockets that listen at a port of this machine. Port 0 means any free port. If `is_both` is
/// true, the sockets listen on IPv4 and IPv6 with the same port, because browsers may use either
/// for `localhost`. Otherwise another program could listen at the other address and get the
/// redirect.
fn sockets(port: u16, is_both: bool) -> io::Result<(Vec<TcpListener>, u16)> {
    let listen = |address: IpAddr, port| {
        let socket = fd::bind((address, port))?;
        socket.set_nonblocking(true)?;
        Ok::<_, io::Error>(socket)
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let first = listen(Ipv4Addr::LOCALHOST.into(), port)?;
        let bound = first.local_addr()?.port();
        if !is_both {
            return Ok((vec![first], bound));
        }
        match listen(Ipv6Addr::LOCALHOST.into(), bound) {
            Ok(second) => return Ok((vec![first, second], bound)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if port != 0 || tries == MAX_TRIES {
                    return Err(error);
                }
            }
            // The system has no IPv6.
            Err(_) => return Ok((vec![first], bound)),
        }
    }
}

/// Whether accepting a connection failed for a transient reason, for example because the peer has
/// closed the connection.
fn has_passed(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(
        error.kind(),
        WouldBlock | Interrupted | ConnectionAborted | ConnectionReset
    )
}
