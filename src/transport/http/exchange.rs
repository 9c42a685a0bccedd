//! The interface between the MCP code and a web server: one HTTP request and its response.
//!
//! A [`Service`] answers requests. A listener, or the web server of a host application, reads
//! requests and implements the [`ResponseWriter`] for each response. So the protocol code does not
//! depend on the web server.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::ClientKey;
use crate::error::Result;

/// An HTTP request with its complete body. The `Debug` output contains no credentials.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::StaticTokens;
/// use mcplink::transport::http::HttpRequest;
///
/// let headers = [("Authorization", &b"Bearer f0f4a1b5"[..])];
/// let request = HttpRequest::new("POST", "/mcp").headers(&headers).body(b"{}".to_vec());
///
/// // For example in a test of the function for `HttpOptions::authenticate`.
/// let tokens = StaticTokens::new().token("f0f4a1b5", "ada");
/// let principal = tokens.check(&request).expect("the token is known");
/// assert_eq!(principal.name(), "ada");
/// ```
#[non_exhaustive]
pub struct HttpRequest<'a> {
    /// The HTTP method, as the client sent it. Methods are case-sensitive.
    pub method: &'a str,
    /// The path and the query of the request target, as the client sent them.
    pub target: &'a str,
    /// The header fields, in the order in which they were sent. Names may have any case. Values
    /// have no white space around them.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body, after its transfer coding was removed.
    pub body: Vec<u8>,
    /// The local address of the connection, if known. This address decides which `Host` values are
    /// accepted.
    pub local: Option<SocketAddr>,
    /// The address of the connection's peer, if known. The peer may be a proxy of the client.
    pub remote: Option<SocketAddr>,
}

impl<'a> HttpRequest<'a> {
    /// Creates a request without header fields and body.
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

    /// Sets the header fields of the request.
    pub fn headers(mut self, headers: &'a [(&'a str, &'a [u8])]) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the body of the request.
    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Sets the local and the remote address of the connection.
    pub fn addresses(mut self, local: Option<SocketAddr>, remote: Option<SocketAddr>) -> Self {
        (self.local, self.remote) = (local, remote);
        self
    }

    /// Returns all values of a header field. The name is compared case-insensitively (RFC 9110,
    /// section 5.1).
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }

    /// Returns the first value of a header field. The name is compared case-insensitively.
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
///
/// # Examples
///
/// ```
/// use mcplink::transport::http::{HttpRequest, ResponseHead, ResponseWriter, Service};
///
/// #[derive(Debug)]
/// struct Greeting;
///
/// impl Service for Greeting {
///     fn serve(&self, _: HttpRequest<'_>, mut response: Box<dyn ResponseWriter>) {
///         let head = ResponseHead::new(200).header("Content-Type", "text/plain");
///         _ = response.respond(&head, b"hello");
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The status code of the response.
    pub status: u16,
    /// The header fields of the response, in order.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The interval and the bytes of keep-alives, for a streamed response. The bytes are sent when
    /// nothing was written for the interval. They prevent intermediaries from closing the
    /// connection as idle.
    pub while_quiet: Option<(Duration, &'static [u8])>,
}

impl ResponseHead {
    /// Creates a response head without header fields.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            while_quiet: None,
        }
    }

    /// Adds a header field to the response head.
    pub fn header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The writer of the response to one request. Call either [`respond`](Self::respond) once, or
/// [`begin`](Self::begin), any number of [`write`](Self::write)s and [`finish`](Self::finish).
///
/// One thread at a time uses the writer. Different threads may use it one after the other, also
/// long after [`Service::serve`] returned. If the writer is dropped before the end of the response,
/// it resets the connection. So the client sees that the response is incomplete.
pub trait ResponseWriter: Send + fmt::Debug {
    /// Sends a whole response, with its length. If the client does not read, blocks until a
    /// deadline that the implementation chooses.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has disconnected,
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the client did not read.
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()>;

    /// Sends the head of a streamed response, together with the first piece of its body.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`write`](Self::write).
    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()>;

    /// Sends a piece of the body. A piece that directly follows another one may be delayed by up to
    /// a millisecond.
    ///
    /// Bytes that the client does not read are buffered, up to a limit. At the limit, the call
    /// blocks until `deadline`. Without a deadline, the call at the limit sends nothing and returns
    /// `false` at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has disconnected,
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the client did not read until the
    /// deadline.
    fn write(&mut self, piece: &[u8], deadline: Option<Instant>) -> Result<bool>;

    /// Ends the body. Does not block. Bytes that the client has not read yet are sent later.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client has disconnected.
    fn finish(&mut self) -> Result<()>;

    /// Registers a callback that runs once when the client disconnects before the end of the
    /// response. If the client has disconnected already, the callback runs at once.
    ///
    /// The callback must neither block nor run code of the host application. A callback that never
    /// runs is dropped with the writer or at the end of the response. Does nothing if the writer
    /// can't detect that a client disconnects.
    fn on_gone(&mut self, callback: Box<dyn FnOnce() + Send>);

    /// Registers a callback that runs once if the response has not begun after the time `after`.
    /// The callback has to begin the response, so that intermediaries do not close the connection
    /// as idle.
    ///
    /// The callback must neither block nor run code of the host application. A callback that never
    /// runs is dropped with the writer or at the end of the response. Does nothing if the writer
    /// has no timers, which is the default.
    fn on_silence(&mut self, after: Duration, callback: Box<dyn FnOnce() + Send>) {
        _ = (after, callback);
    }
}

/// A handler of HTTP requests.
pub trait Service: Send + Sync + fmt::Debug {
    /// Answers one request. The method runs on the thread that read the request. The service may
    /// keep `response` and complete it later, from any thread.
    ///
    /// The method may block while it handles the request. A panic resets only the connection of the
    /// request.
    fn serve(&self, request: HttpRequest<'_>, response: Box<dyn ResponseWriter>);

    /// Whether the service answers a request without blocking. A quick request is served even when
    /// the maximum number of requests is being served.
    ///
    /// The method is called only at that limit, on a thread that all quick requests share. The
    /// method must neither block nor answer the request. Returns false by default.
    fn is_quick(&self, request: &HttpRequest<'_>) -> bool {
        _ = request;
        false
    }

    /// Returns the client that a request is accounted to. Shared resources, such as threads, are
    /// divided among clients. By default, returns `address`: the client at its network address, as
    /// trusted proxies report it.
    ///
    /// The method is called before each request is served, on the thread that read the request. The
    /// body may be missing. The method must neither block nor answer. It must trust only data that
    /// it verifies itself, for example a token.
    fn client(&self, request: &HttpRequest<'_>, address: ClientKey) -> ClientKey {
        _ = request;
        address
    }
}
