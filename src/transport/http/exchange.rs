//! One HTTP request and its response. This interface does not depend on the owner of the socket.
//!
//! A [`Service`] answers requests. A listener, or the web server of a host, reads requests and
//! implements the [`ResponseWriter`] for each response. So the protocol code does not depend on the
//! web server.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::ClientKey;
use crate::error::Result;

/// A request with its complete body. The `Debug` output contains no credentials.
#[non_exhaustive]
pub struct HttpRequest<'a> {
    /// The method, as it was sent: upper and lower case are kept.
    pub method: &'a str,
    /// The path and the query, as they were sent.
    pub target: &'a str,
    /// The header fields, in order. Names may have any case. Values have no white space around
    /// them.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body after the transfer coding was removed.
    pub body: Vec<u8>,
    /// The local address of the connection, if known. This address decides which `Host` is
    /// expected.
    pub local: Option<SocketAddr>,
    /// The remote address of the connection, if known.
    pub remote: Option<SocketAddr>,
}

impl<'a> HttpRequest<'a> {
    /// Creates a request without fields and body.
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

    /// Sets the header fields.
    pub fn headers(mut self, headers: &'a [(&'a str, &'a [u8])]) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Sets the local and the remote address of the connection.
    pub fn addresses(mut self, local: Option<SocketAddr>, remote: Option<SocketAddr>) -> Self {
        (self.local, self.remote) = (local, remote);
        self
    }

    /// Returns all values of a field. The name is compared case-insensitively (RFC 9110, section
    /// 5.1).
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }

    /// Returns the first value of a field.
    pub fn value(&self, name: &str) -> Option<&'a [u8]> {
        self.values(name).next()
    }
}

impl fmt::Debug for HttpRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            // Queries often hold secrets.
            .field("target", &self.target.split('?').next())
            .field("headers", &names)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("local", &self.local)
            .field("remote", &self.remote)
            .finish()
    }
}

/// The status and the header fields of a response. The writer adds the length, connection and date
/// fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// The header fields, in order.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The keep-alive bytes of a stream. They are sent when nothing was written for the given time.
    /// They prevent intermediaries from closing the connection as idle.
    pub while_quiet: Option<(Duration, &'static [u8])>,
}

impl ResponseHead {
    /// Creates a head without header fields.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            while_quiet: None,
        }
    }

    /// Adds a header field.
    pub fn header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The writer of the response to one request. Call either [`respond`](Self::respond) once, or
/// [`begin`](Self::begin), any number of [`write`](Self::write)s and [`finish`](Self::finish).
///
/// Only one thread at a time uses the writer, but different threads may use it in turn. The writer
/// may be kept long after [`Service::serve`] returned. If the writer is dropped before the end of
/// the response, it resets the connection. So the client sees that the response is incomplete.
pub trait ResponseWriter: Send + fmt::Debug {
    /// Sends a whole response, with its length. If the client does not read, blocks until a
    /// deadline that the writer sets.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has gone,
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the client did not read.
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()>;

    /// Sends the head of a streamed response, together with the first piece of its body.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()>;

    /// Sends a piece of the body at once. A piece that directly follows another one may be delayed
    /// by up to a millisecond.
    ///
    /// Bytes that the client does not read are kept, up to a limit. At the limit, the call blocks
    /// until `deadline`. Without a deadline the call sends nothing and returns `false` at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has gone,
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the client did not read until the
    /// deadline.
    fn write(&mut self, piece: &[u8], deadline: Option<Instant>) -> Result<bool>;

    /// Ends the body. Does not block. Bytes that the client has not read yet are still sent later.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has gone.
    fn finish(&mut self) -> Result<()>;

    /// Registers a callback that runs once when the client goes away before the response has ended.
    /// If the client has gone already, the callback runs at once.
    ///
    /// The callback must neither block nor run code of the host. A callback that never runs is
    /// dropped with the writer or at the end of the response. Does nothing if the writer can't
    /// detect a lost client.
    fn on_gone(&mut self, callback: Box<dyn FnOnce() + Send>);

    /// Registers a callback that runs once if the response has not begun after this time. The
    /// callback begins the response on the thread that runs it, so that intermediaries do not close
    /// the connection as idle.
    ///
    /// The callback must neither block nor run code of the host. A callback that never runs is
    /// dropped with the writer or at the end of the response. Does nothing if the writer has no
    /// timers, which is the default.
    fn on_silence(&mut self, after: Duration, callback: Box<dyn FnOnce() + Send>) {
        _ = (after, callback);
    }
}

/// A handler of HTTP requests.
pub trait Service: Send + Sync + fmt::Debug {
    /// Answers one request, on the thread that read the request. The service may keep `response`
    /// and end it later, from any thread.
    ///
    /// The method may block while it handles the request. A panic resets only the connection of the
    /// request.
    fn serve(&self, request: HttpRequest<'_>, response: Box<dyn ResponseWriter>);

    /// Whether a request is answered without blocking. A quick request is served even when as many
    /// requests as allowed are being served.
    ///
    /// The method is called only at that limit, on a thread that all quick requests share. It must
    /// neither block nor answer. Defaults to false.
    fn is_quick(&self, request: &HttpRequest<'_>) -> bool {
        _ = request;
        false
    }

    /// Returns the client that a request is accounted to. Shared resources, such as threads, are
    /// divided by client.
    ///
    /// The method is called before each request is served, on the thread that read the request. The
    /// body may be missing. The method must neither block nor answer. It must not trust data that
    /// was not verified before. `address` is the client at its network address, as trusted proxies
    /// report it. By default, `address` is returned.
    fn client(&self, request: &HttpRequest<'_>, address: ClientKey) -> ClientKey {
        _ = request;
        address
    }
}
