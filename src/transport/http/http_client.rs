//! The interface for an HTTP client of the host, which sends requests in place of the library's own
//! connections.
//!
//! The library makes the requests and interprets the responses: redirects, cookies, credentials,
//! sessions, limits. The client moves one request and one response.

use std::fmt;
use std::io::{self, Read};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use ureq::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};

use super::shutdown::Shutdown;
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The maximum size of the header fields of a response, in bytes. The size is that of names and
/// values, and [`FIELD_OVERHEAD`] for each field.
const MAX_HEAD: usize = 64 << 10;
/// The size of a header field beyond its name and value, in bytes (RFC 9113, section 6.5.2).
const FIELD_OVERHEAD: usize = 32;

/// An HTTP client of the host: sends requests in place of the library's own connections. Set by
/// [`Http::http_client`](super::Http::http_client) for requests to the MCP server, and by
/// `OAuthBuilder::http_client` (feature `auth`) for logins.
///
/// A client sends each request as it is, and returns each response as it is:
///
/// - It follows no redirect.
/// - It adds no credentials and no cookies, and stores none.
/// - It decodes no content encoding. It may decode the transfer coding.
/// - It sends a request once.
/// - It asks [`HttpClientRequest::allows_address`] before it connects to an address.
/// - It ends [`send`](Self::send) and each read of a body when the request is cancelled.
///
/// The library does the rest, and applies its limits. So the host chooses proxies, certificates and
/// the versions of HTTP and TLS.
///
/// # Examples
///
/// `docs/http-client.md` has a client that uses the crate `ureq`.
pub trait HttpClient: Send + Sync {
    /// Sends a request, and blocks until the head of the response has arrived. A response of any
    /// status is `Ok`.
    ///
    /// Runs on the thread that makes the call, on a thread of the connection, or on the thread of a
    /// login. May run on several threads at once.
    ///
    /// When the request is cancelled or its deadline passes, the function of
    /// [`HttpClientRequest::on_cancel`] runs. `send` must return then, and so must a read of the
    /// body: the calling thread waits for them. Their results have no meaning then.
    ///
    /// # Errors
    ///
    /// The error is that of the call, with its kind and text. The library assumes that the server
    /// may have received the request, unless the error has [`sent(false)`](Error::sent): a request
    /// that was not sent can be sent again. An error that the body returns may contain an [`Error`]
    /// ([`io::Error::other`]).
    ///
    /// # Panics
    ///
    /// A panic of `send` or of the body is caught. The request fails with [`ErrorKind::Io`].
    fn send(&self, request: &HttpClientRequest<'_>) -> Result<HttpClientResponse>;
}

impl<C: HttpClient + ?Sized> HttpClient for Arc<C> {
    fn send(&self, request: &HttpClientRequest<'_>) -> Result<HttpClientResponse> {
        (**self).send(request)
    }
}

/// A function that decides whether a client may connect to an address.
pub(crate) type AddressFilter = dyn Fn(IpAddr) -> bool + Send + Sync;

/// A request that an [`HttpClient`] has to send.
pub struct HttpClientRequest<'a> {
    request: &'a Request<&'a [u8]>,
    url: &'a str,
    deadline: Option<Instant>,
    shutdown: &'a Arc<Shutdown>,
    /// `None` allows all addresses.
    filter: Option<Arc<AddressFilter>>,
}

impl<'a> HttpClientRequest<'a> {
    /// Returns the HTTP method: `POST`, `GET` or `DELETE`.
    pub fn method(&self) -> &'a str {
        self.request.method().as_str()
    }

    /// Returns the absolute URL, `http` or `https`, without credentials and fragment. Its query may
    /// contain secrets.
    pub fn url(&self) -> &'a str {
        self.url
    }

    /// Returns the names, in lower case, and the values of the header fields, which may contain
    /// secrets. A name may occur more than once.
    ///
    /// The client adds the fields that belong to a connection, such as `Host` and `Content-Length`.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let fields = self.request.headers().iter();
        // Invariant: the library makes every value from a `str`. So none is left out.
        fields.filter_map(|(name, value)| {
            let value = std::str::from_utf8(value.as_bytes()).ok()?;
            Some((name.as_str(), value))
        })
    }

    /// Returns the body. Only a `POST` has one; it may contain secrets.
    pub fn body(&self) -> &'a [u8] {
        self.request.body()
    }

    /// Returns the time until which the head of the response is awaited. `None` means no limit.
    ///
    /// The body may arrive later, because progress extends the deadline of a call. So the deadline
    /// is no limit for the body: see [`on_cancel`](Self::on_cancel).
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the request was cancelled: the call was cancelled, its deadline has passed, its
    /// stream has stalled or goes on after the response, or its connection is being closed.
    pub fn is_cancelled(&self) -> bool {
        self.shutdown.was_pulled()
    }

    /// Registers a function that ends the request when it is [cancelled](Self::is_cancelled), for
    /// example by closing the socket: [`HttpClient::send`] and reads of the body have to return
    /// then.
    ///
    /// The function runs at most once, on another thread. It can run until the body was read to its
    /// end or dropped; then it is dropped. If the request is cancelled already, the function runs
    /// at once, on this thread. A later call replaces the function. The function must not block. A
    /// panic of it is caught.
    pub fn on_cancel(&self, cancel: impl FnOnce() + Send + 'static) {
        let hook = move || _ = catch_unwind(AssertUnwindSafe(cancel));
        if let Err(hook) = self.shutdown.hold(Box::new(hook)) {
            hook();
        }
    }

    /// Whether the client may connect to an address. A client that resolves names must ask for each
    /// address before it connects, and fail if no address is left. The error of a request with a
    /// refused address names the setting.
    ///
    /// The function refuses addresses to which the MCP server must not lead a login: those of this
    /// machine and of private networks, as
    /// `OAuthBuilder::allow_private_addresses` (feature `auth`) describes. It allows every address
    /// for requests to the MCP server itself. The library has checked literal addresses and
    /// `localhost` in the URL. The address of a proxy needs no question; the proxy then has to
    /// enforce the rule.
    pub fn allows_address(&self, address: IpAddr) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter(address))
    }

    /// Returns [`allows_address`](Self::allows_address) as a function that can be kept, for
    /// resolvers that borrow nothing.
    pub fn address_filter(&self) -> impl Fn(IpAddr) -> bool + Clone + Send + Sync + use<> {
        let filter = self.filter.clone();
        move |address| filter.as_ref().is_none_or(|filter| filter(address))
    }
}

/// Formats the request without its URL, the values of its header fields and its body, which may
/// contain secrets.
impl fmt::Debug for HttpClientRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers().map(|(name, _)| name);
        f.debug_struct("HttpClientRequest")
            .field("method", &self.method())
            .field("headers", &names.collect::<Vec<_>>())
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// The response of a server to a request of an [`HttpClient`].
///
/// # Examples
///
/// ```
/// use mcplink::Result;
/// use mcplink::transport::http::{HttpClient, HttpClientRequest, HttpClientResponse};
///
/// /// A client for tests, which reaches no server.
/// struct Nowhere;
///
/// impl HttpClient for Nowhere {
///     fn send(&self, _: &HttpClientRequest<'_>) -> Result<HttpClientResponse> {
///         HttpClientResponse::new(404, &b"not here"[..]).header("content-type", "text/plain")
///     }
/// }
/// ```
pub struct HttpClientResponse {
    status: u16,
    headers: HeaderMap,
    size: usize,
    body: Box<dyn Read + Send>,
}

impl HttpClientResponse {
    /// Creates a response without header fields.
    ///
    /// `status` is the status code. `body` returns the body as it arrives: a read blocks until some
    /// bytes are there, because an event stream has to be delivered while it goes on. A read
    /// returns 0 at the end of the body, and fails if the connection ends before that. The library
    /// drops `body` when it needs no more of it. The body runs on the thread that makes the call,
    /// or on a thread of the connection.
    pub fn new(status: u16, body: impl Read + Send + 'static) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            size: 0,
            body: Box::new(body),
        }
    }

    /// Adds a header field. Fields with the same name stay separate.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`] when the name or the value has characters that HTTP does not allow.
    /// [`ErrorKind::Limit`] when all fields together exceed 64 KiB, with 32 bytes more for each.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Result<Self> {
        let value = value.as_ref();
        self.size += name.len() + value.len() + FIELD_OVERHEAD;
        if self.size > MAX_HEAD {
            let text = format!("the header fields of the response exceed {MAX_HEAD} bytes");
            return Err(Error::new(ErrorKind::Limit, text).sent(true));
        }
        let (Ok(parsed), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_bytes(value),
        ) else {
            let name = Excerpt(name);
            let text = format!("header field '{name}' of the response is not allowed in HTTP");
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        };
        self.headers.append(parsed, value);
        Ok(self)
    }
}

impl fmt::Debug for HttpClientResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.keys().map(HeaderName::as_str);
        f.debug_struct("HttpClientResponse")
            .field("status", &self.status)
            .field("headers", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// The body of a response that an [`HttpClient`] reads. A panic of its reader is an error. After a
/// shutdown, the reader is not called.
pub(crate) struct HostBody {
    reader: Box<dyn Read + Send>,
    shutdown: Arc<Shutdown>,
}

impl Read for HostBody {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.shutdown.was_pulled() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let read = catch_unwind(AssertUnwindSafe(|| self.reader.read(into)));
        let len = read.unwrap_or_else(|_| Err(io::Error::other(panicked())))?;
        // The caller relies on the length; a reader of the host may return a wrong one.
        Ok(len.min(into.len()))
    }
}

/// Sends a request with the HTTP client of the host, and blocks until the head of the response has
/// arrived. `shutdown` ends the exchange; `filter` decides about addresses.
pub(crate) fn send(
    client: &dyn HttpClient,
    mut request: Request<&[u8]>,
    deadline: Option<Instant>,
    shutdown: &Arc<Shutdown>,
    filter: Option<Arc<AddressFilter>>,
) -> Result<Response<HostBody>> {
    request.headers_mut().remove(header::CONTENT_LENGTH);
    let request = HttpClientRequest {
        request: &request,
        url: &request.uri().to_string(),
        deadline,
        shutdown,
        filter,
    };
    let sent = catch_unwind(AssertUnwindSafe(|| client.send(&request)));
    let response = sent.unwrap_or_else(|_| Err(panicked()))?;
    let Ok(status) = StatusCode::from_u16(response.status) else {
        let text = format!("the HTTP client returned status {}", response.status);
        return Err(Error::new(ErrorKind::Protocol, text).sent(true));
    };
    let mut head = Response::new(HostBody {
        reader: response.body,
        shutdown: Arc::clone(shutdown),
    });
    *head.status_mut() = status;
    *head.headers_mut() = response.headers;
    Ok(head)
}

/// Wraps an error, so that it passes through functions that return errors of `ureq`. The body of a
/// response wraps its errors in the same way.
pub(crate) fn wrapped(error: Error) -> ureq::Error {
    io::Error::other(error).into()
}

/// Returns the error inside of a [`wrapped`] one, or `Err` with an error that is not wrapped.
pub(crate) fn unwrapped(error: ureq::Error) -> Result<Error, ureq::Error> {
    match error {
        ureq::Error::Io(error) => error.downcast().map_err(ureq::Error::Io),
        error => Err(error),
    }
}

fn panicked() -> Error {
    Error::new(ErrorKind::Io, "the HTTP client panicked").sent(true)
}
