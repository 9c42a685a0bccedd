//! One HTTP request and the response to it, whoever owns the socket.
//!
//! A [`Service`] answers requests; a listener, or the web server of a host, reads them and writes what the service says through a
//! [`ResponseWriter`]. So the protocol is served in the same way wherever the bytes come from.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::ClientKey;
use crate::error::Result;

/// A request whose body was read. Its `Debug` form shows no credentials.
#[non_exhaustive]
pub struct HttpRequest<'a> {
    /// The method, in capitals as it was sent.
    pub method: &'a str,
    /// Path and query, as they were sent.
    pub target: &'a str,
    /// The header fields, in order. Names in any case; values without the white space around them.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body, without a transfer coding.
    pub body: Vec<u8>,
    /// Where the request came in, if that is known: decides which `Host` is expected.
    pub local: Option<SocketAddr>,
    /// Where it came from, if that is known.
    pub remote: Option<SocketAddr>,
}

impl<'a> HttpRequest<'a> {
    /// A request without fields and body.
    pub fn new(method: &'a str, target: &'a str) -> Self {
        Self {
            method,
            target,
            headers: &[],
            body: Vec::new(),
            local: None,
            remote: None,
        }
    }

    /// Gives it header fields.
    pub fn headers(mut self, headers: &'a [(&'a str, &'a [u8])]) -> Self {
        self.headers = headers;
        self
    }

    /// Gives it a body.
    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Says on which address it came in, and from which.
    pub fn addresses(mut self, local: Option<SocketAddr>, remote: Option<SocketAddr>) -> Self {
        (self.local, self.remote) = (local, remote);
        self
    }

    /// All values of a field, whose name is compared in any case (RFC 9110, section 5.1).
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }

    /// The first value of a field.
    pub fn value(&self, name: &str) -> Option<&'a [u8]> {
        self.values(name).next()
    }
}

impl fmt::Debug for HttpRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            // Queries hold secrets too often.
            .field("target", &self.target.split('?').next())
            .field("headers", &names)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("local", &self.local)
            .field("remote", &self.remote)
            .finish()
    }
}

/// Status and header fields of a response. Length, connection and date are the writer's business.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// Header fields.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// What to write whenever a body that comes in pieces was quiet for so long, so that nobody on the way takes the connection for dead.
    pub while_quiet: Option<(Duration, &'static [u8])>,
}

impl ResponseHead {
    /// A head without fields.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            while_quiet: None,
        }
    }

    /// Adds a field.
    pub fn header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Takes the response to one request: whole with [`respond`](Self::respond), or with [`begin`](Self::begin), any number of
/// [`write`](Self::write)s and [`finish`](Self::finish).
///
/// It is used from one thread at a time, but not always the same one, and may be kept long after [`Service::serve`] returned. Dropped
/// before its end, it breaks the connection off, so that the client sees that something is missing.
pub trait ResponseWriter: Send + fmt::Debug {
    /// Sends a whole response, with its length. Waits for a client that does not read only until a deadline of the writer's own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has gone, [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when
    /// it did not read.
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()>;

    /// Sends the head of a response whose body comes in pieces, and the first piece with it.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()>;

    /// Sends a piece of the body at once, or, when it comes right behind another one, within a millisecond. What a client that does not read leaves behind is kept, up to a bound; when that is reached the
    /// call waits until `deadline`, or, without one, returns `false` and has taken nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has gone, [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when
    /// it did not read until the deadline.
    fn write(&mut self, piece: &[u8], deadline: Option<Instant>) -> Result<bool>;

    /// Ends the body. Does not wait: what is kept still goes out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has gone.
    fn finish(&mut self) -> Result<()>;

    /// Has `callback` run, once, when the client goes away before the response has ended; at once if it has gone already. It neither
    /// blocks nor runs code of the host's. One that never runs is dropped with the writer or when the response ends. Does nothing where
    /// that can't be found out.
    fn on_gone(&mut self, callback: Box<dyn FnOnce() + Send>);

    /// Has `callback` run, once, when the response has not begun after this time. It begins the
    /// response then, on the thread that runs it, so that nobody on the way takes the connection
    /// for dead. It neither blocks nor runs code of the host's. One that never runs is dropped with
    /// the writer or when the response ends. Does nothing where nobody keeps the time, which is the
    /// default.
    fn on_silence(&mut self, after: Duration, callback: Box<dyn FnOnce() + Send>) {
        _ = (after, callback);
    }
}

/// Answers HTTP requests.
pub trait Service: Send + Sync + fmt::Debug {
    /// Answers one request, on the thread that read it; it may keep `response` and end it later, from any thread.
    ///
    /// It may block while the request is handled. A panic breaks the connection off, and nothing else.
    fn serve(&self, request: HttpRequest<'_>, response: Box<dyn ResponseWriter>);

    /// Whether a request is answered without waiting for anybody: it is served then though as many others as may are being served. Asked
    /// only while that is so, on a thread that all such requests share. It neither blocks nor answers. Defaults to no.
    fn is_quick(&self, request: &HttpRequest<'_>) -> bool {
        _ = request;
        false
    }

    /// Which client sends a request: what clients share, such as threads, is divided by it.
    ///
    /// Asked before each request is served, on the thread that read it; the body may be missing.
    /// It neither blocks nor answers, and believes nothing that was not verified before. `address`
    /// is the client at its address, as trusted proxies tell it; this is the default.
    fn client(&self, request: &HttpRequest<'_>, address: ClientKey) -> ClientKey {
        _ = request;
        address
    }
}
