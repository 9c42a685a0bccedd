//! One request and its response on an HTTP connection. The connection may be reused for later
//! exchanges.
//!
//! `ureq-proto` implements the protocol, and `ureq` moves the bytes. The head of a request is sent
//! together with its body. A packet with the head alone would wake the server before the server can
//! process the request.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use ureq::Error;
use ureq::http::{Request, Response};
use ureq::unversioned::transport::{NextTimeout, Transport};
use ureq_proto::BodyMode;
use ureq_proto::client::state::{RecvBody, RecvResponse, SendRequest};
use ureq_proto::client::{
    Await100Result, Call, RecvBodyResult, RecvResponseResult, SendRequestResult,
};

use super::dial::Dialed;
use super::tcp::Socket;
use crate::transport::http::http_client::HostBody;
use crate::transport::sys::poller::{Poller, Registered};

/// The size of each buffer of a connection, in bytes.
pub(super) const BUFFER: usize = 16 << 10;
/// The maximum length of a response head, in bytes. A head has to fit into one buffer.
const MAX_HEAD: usize = BUFFER;

/// An HTTP connection to the server, and the exchange on it. The connection may already be closed.
#[derive(Default)]
pub(super) struct HttpConnection {
    transport: Option<Box<dyn Transport>>,
    /// The socket, if a poller can wait for it.
    socket: Option<Socket>,
    /// The registration of the socket with a poller, after the connection was first armed.
    registered: Option<Registered<Arc<TcpStream>>>,
    /// The exchange whose response has not begun.
    awaited: Option<Call<RecvResponse>>,
    /// The exchange whose response body is unread.
    response: Option<Call<RecvBody>>,
    /// The response of the host's HTTP client, which has connections of its own: its head until
    /// that is taken, and its unread body.
    host_head: Option<Response<()>>,
    host_body: Option<HostBody>,
}

impl HttpConnection {
    /// Replaces the connection by a new connection.
    pub(super) fn lead_by(&mut self, dialed: Dialed) {
        self.transport = Some(dialed.transport);
        self.socket = dialed.socket;
        self.registered = None;
    }

    /// Replaces the connection by a response of the host's HTTP client.
    pub(super) fn read_from(&mut self, response: Response<HostBody>) {
        self.close();
        let (head, body) = response.into_parts();
        self.host_head = Some(Response::from_parts(head, ()));
        self.host_body = Some(body);
    }

    /// Closes the connection.
    pub(super) fn close(&mut self) {
        *self = Self::default();
    }

    /// Whether the connection is open on this side, and the server has not closed it.
    pub(super) fn is_open(&mut self) -> bool {
        let transport = self.transport.as_mut();
        transport.is_some_and(|transport| transport.is_open())
    }

    /// Sets whether reads fail with `WouldBlock` instead of blocking. Has no effect on a connection
    /// without a socket for a poller.
    pub(super) fn set_polled(&self, is_polled: bool) {
        if let Some(socket) = &self.socket {
            socket.set_polled(is_polled);
        }
    }

    /// Registers the connection with a poller. Returns the key of its events: `key`, or the key
    /// under which the connection is registered already.
    pub(super) fn register(&mut self, poller: &Arc<Poller>, key: usize) -> io::Result<usize> {
        if let Some(registered) = &self.registered {
            return Ok(registered.key());
        }
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let registered = Registered::new(Arc::clone(&socket.stream), Arc::clone(poller), key)?;
        self.registered = Some(registered);
        Ok(key)
    }

    /// Makes the poller report the next input, or the end of the connection.
    pub(super) fn arm(&self) -> io::Result<()> {
        let registered = self.registered.as_ref();
        let registered = registered.ok_or(io::ErrorKind::NotConnected)?;
        registered.arm(true, false)
    }

    /// Whether a read or the wait for a head failed only because the connection is polled and
    /// nothing has arrived.
    pub(super) fn has_to_wait(&self, error: &io::Error) -> bool {
        self.socket.is_some() && error.kind() == io::ErrorKind::WouldBlock
    }

    /// Sends a request whose body is `text`. If the request has a body, the header fields of
    /// `request` have to contain the length of the body. Sets `has_sent` when a part of the body
    /// has been sent.
    pub(super) fn send(
        &mut self,
        request: Request<()>,
        text: &[u8],
        has_sent: &mut bool,
    ) -> Result<(), Error> {
        let call = Call::new(request)?.proceed();
        let transport = self.transport.as_deref_mut();
        let transport = transport.ok_or(Error::ConnectionFailed)?;
        self.awaited = Some(send(transport, call, text, has_sent)?);
        Ok(())
    }

    /// Returns the head of the response to the request that was sent. Blocks until the head has
    /// arrived; fails with `WouldBlock` instead if the connection is polled.
    pub(super) fn head(&mut self) -> Result<Response<()>, Error> {
        if let Some(head) = self.host_head.take() {
            return Ok(head);
        }
        let (Some(call), Some(transport)) = (&mut self.awaited, &mut self.transport) else {
            return Err(Error::ConnectionFailed);
        };
        let response = await_head(&mut **transport, call)?;
        match self.awaited.take().and_then(Call::<RecvResponse>::proceed) {
            Some(RecvResponseResult::RecvBody(call)) => self.response = Some(call),
            Some(RecvResponseResult::Redirect(call)) => self.end(call.must_close_connection()),
            Some(RecvResponseResult::Cleanup(call)) => self.end(call.must_close_connection()),
            None => return Err(broken_off()),
        }
        Ok(response)
    }

    fn read_body(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        let (mut has_come, mut has_ended) = (false, false);
        loop {
            let (Some(call), Some(transport)) = (&mut self.response, &mut self.transport) else {
                return Ok(0);
            };
            let by_closing = call.body_mode() == BodyMode::CloseDelimited;
            if call.can_proceed() && (!by_closing || has_ended) {
                self.end_body(has_ended);
                return Ok(0);
            }
            let buffers = transport.buffers();
            if std::mem::take(&mut has_come) || buffers.can_use_input() {
                let (used, read) = call.read(buffers.input(), into)?;
                buffers.input_consume(used);
                match (used, read) {
                    (_, 1..) => return Ok(read),
                    (1.., 0) => continue,
                    (0, 0) => {}
                }
            }
            if has_ended {
                // Some servers omit the last line of a chunked body.
                if call.is_ended_chunked() {
                    self.close();
                    return Ok(0);
                }
                return Err(broken_off());
            }
            has_come = match transport.await_input(NextTimeout::default()) {
                Ok(came) => came,
                Err(Error::Io(error)) if is_end(&error) => false,
                Err(error) => return Err(error),
            };
            has_ended = !has_come;
        }
    }

    /// Ends the exchange after the body of the response was read. `has_ended` is true if the server
    /// has closed the connection.
    fn end_body(&mut self, has_ended: bool) {
        let must_close = match self.response.take().and_then(Call::<RecvBody>::proceed) {
            Some(RecvBodyResult::Redirect(call)) => call.must_close_connection(),
            Some(RecvBodyResult::Cleanup(call)) => call.must_close_connection(),
            None => true,
        };
        self.end(must_close || has_ended);
    }

    /// Ends the exchange. Closes the connection if `must_close` is true. Also closes the connection
    /// if bytes follow the response, because these bytes belong to no request.
    fn end(&mut self, must_close: bool) {
        let has_more = |transport: &mut Box<dyn Transport>| !transport.buffers().input().is_empty();
        if must_close || self.transport.as_mut().is_some_and(has_more) {
            self.close();
        }
    }
}

/// Implements [`io::Read`] for the body of the server's response.
impl io::Read for HttpConnection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(body) = &mut self.host_body {
            return body.read(into);
        }
        self.read_body(into).map_err(|error| match error {
            Error::Io(error) => error,
            error => io::Error::other(error),
        })
    }
}

fn send(
    transport: &mut dyn Transport,
    mut call: Call<SendRequest>,
    text: &[u8],
    has_sent: &mut bool,
) -> Result<Call<RecvResponse>, Error> {
    let mut filled = 0;
    loop {
        filled += call.write(&mut transport.buffers().output()[filled..])?;
        if call.can_proceed() {
            break;
        }
        transport.transmit_output(filled, NextTimeout::default())?;
        filled = 0;
    }
    let mut call = match call.proceed()?.ok_or(Error::ConnectionFailed)? {
        SendRequestResult::SendBody(call) => call,
        // A client that sends `Expect` need not wait for the answer (RFC 9110, section 10.1.1).
        SendRequestResult::Await100(call) => match call.proceed()? {
            Await100Result::SendBody(call) => call,
            // A response before the body can't have arrived, since nothing was read.
            Await100Result::RecvResponse(_) => return Err(Error::ConnectionFailed),
        },
        SendRequestResult::RecvResponse(call) => {
            transport.transmit_output(filled, NextTimeout::default())?;
            return Ok(call);
        }
    };
    let mut rest = text;
    loop {
        let output = &mut transport.buffers().output()[filled..];
        let (taken, written) = call.write(rest, output)?;
        rest = &rest[taken..];
        filled += written;
        transport.transmit_output(filled, NextTimeout::default())?;
        *has_sent |= taken > 0;
        filled = 0;
        if rest.is_empty() {
            return call.proceed().ok_or(Error::ConnectionFailed);
        }
    }
}

fn await_head(
    transport: &mut dyn Transport,
    call: &mut Call<RecvResponse>,
) -> Result<Response<()>, Error> {
    loop {
        let came = match transport.maybe_await_input(NextTimeout::default()) {
            // A signal of the host interrupted the wait.
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
            came => came?,
        };
        let buffers = transport.buffers();
        let (used, response) = call.try_response(buffers.input(), false)?;
        let read = buffers.input().len();
        buffers.input_consume(used);
        if let Some(response) = response {
            return Ok(response);
        }
        if !came {
            return Err(match read {
                // The buffer is full.
                MAX_HEAD.. => Error::LargeResponseHeader(read, MAX_HEAD),
                _ => broken_off(),
            });
        }
    }
}

/// Whether a read error means that the server has closed the connection.
pub(super) fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        UnexpectedEof | ConnectionAborted | ConnectionReset
    )
}

fn broken_off() -> Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "Peer disconnected").into()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::Read as _;

    use ureq::http::{HeaderValue, Method, header};
    use ureq::unversioned::transport::{Buffers, LazyBuffers};

    use super::*;

    /// A scripted connection for tests. It records the sent bytes, and returns the given input one
    /// piece at a time.
    #[derive(Debug)]
    struct Script {
        buffers: LazyBuffers,
        sent: std::sync::mpsc::Sender<Vec<u8>>,
        comes: VecDeque<&'static str>,
        may_send: usize,
    }

    impl Transport for Script {
        fn buffers(&mut self) -> &mut dyn Buffers {
            &mut self.buffers
        }

        fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
            self.may_send = self.may_send.checked_sub(1).ok_or(Error::BodyStalled)?;
            let sent = self.buffers.output()[..amount].to_vec();
            self.sent.send(sent).expect("somebody looks");
            Ok(())
        }

        fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
            let piece = self.comes.pop_front().unwrap_or_default();
            let room = self.buffers.input_append_buf();
            let len = piece.len().min(room.len());
            room[..len].copy_from_slice(&piece.as_bytes()[..len]);
            self.buffers.input_appended(len);
            Ok(len > 0)
        }

        fn is_open(&mut self) -> bool {
            true
        }
    }

    type Sent = std::sync::mpsc::Receiver<Vec<u8>>;

    fn ask(
        line: &mut HttpConnection,
        request: Request<()>,
        text: &[u8],
        has_sent: &mut bool,
    ) -> Result<Response<()>, Error> {
        line.send(request, text, has_sent)?;
        line.head()
    }

    fn line(comes: &[&'static str], may_send: usize) -> (HttpConnection, Sent) {
        let (sent, seen) = std::sync::mpsc::channel();
        let mut line = HttpConnection::default();
        line.lead_by(Dialed {
            transport: Box::new(Script {
                buffers: LazyBuffers::new(BUFFER, BUFFER),
                sent,
                comes: comes.iter().copied().collect(),
                may_send,
            }),
            socket: None,
        });
        (line, seen)
    }

    fn post(len: usize) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = "http://a.test/mcp".parse().expect("a URL");
        let fields = request.headers_mut();
        fields.insert(header::CONTENT_LENGTH, HeaderValue::from(len));
        request
    }

    fn get() -> Request<()> {
        let mut request = post(0);
        *request.method_mut() = Method::GET;
        request.headers_mut().clear();
        request
    }

    fn sent(seen: &Sent) -> Vec<String> {
        let pieces = seen.try_iter();
        pieces
            .map(|piece| String::from_utf8(piece).expect("text"))
            .collect()
    }

    fn body(line: &mut HttpConnection) -> io::Result<String> {
        let mut text = String::new();
        line.read_to_string(&mut text).map(|_| text)
    }

    const SHORT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

    #[test]
    fn a_head_leaves_with_its_body_and_a_line_serves_again() {
        let (mut line, seen) = line(&[SHORT, SHORT], usize::MAX);
        for _ in 0..2 {
            let mut has_sent = false;
            let response = ask(&mut line, post(4), b"body", &mut has_sent).expect("answered");
            assert_eq!((response.status().as_u16(), has_sent), (200, true));
            let [request] = &*sent(&seen) else {
                panic!("it left in pieces")
            };
            assert!(request.starts_with("POST /mcp HTTP/1.1\r\n"), "{request}");
            assert!(request.ends_with("\r\n\r\nbody"), "{request}");
            assert_eq!(body(&mut line).expect("read"), "ok");
            assert!(line.is_open());
        }
    }

    #[test]
    fn a_request_without_a_body_leaves_by_itself() {
        let (mut line, seen) = line(&[SHORT], usize::MAX);
        let mut has_sent = false;
        ask(&mut line, get(), b"", &mut has_sent).expect("answered");
        let [request] = &*sent(&seen) else {
            panic!("it left in pieces")
        };
        assert!(request.ends_with("\r\n\r\n"), "{request}");
        assert!(!has_sent);
    }

    #[test]
    fn leave_to_send_is_not_waited_for() {
        let leave = "HTTP/1.1 100 Continue\r\n\r\n";
        for comes in [&[SHORT][..], &[leave, SHORT]] {
            let (mut line, seen) = line(comes, usize::MAX);
            let mut request = post(4);
            let expect = HeaderValue::from_static("100-continue");
            request.headers_mut().insert(header::EXPECT, expect);
            let response = ask(&mut line, request, b"body", &mut false).expect("answered");
            assert_eq!(response.status().as_u16(), 200);
            assert!(sent(&seen).concat().ends_with("\r\n\r\nbody"));
            assert_eq!(body(&mut line).expect("read"), "ok");
        }
    }

    #[test]
    fn what_is_larger_than_the_buffer_leaves_in_order() {
        for len in [BUFFER - 200, BUFFER, 5 * BUFFER + 1] {
            let (mut line, seen) = line(&[SHORT], usize::MAX);
            let text: Vec<u8> = (0..len).map(|at| b'a' + (at % 26) as u8).collect();
            let mut request = post(len);
            let long = HeaderValue::from_str(&"h".repeat(BUFFER - 100)).expect("allowed");
            let fields = request.headers_mut();
            fields.insert("x-one", long.clone());
            fields.insert("x-other", long);
            let mut has_sent = false;
            ask(&mut line, request, &text, &mut has_sent).expect("answered");
            let all = sent(&seen).concat();
            let (_, sent) = all.split_once("\r\n\r\n").expect("a head");
            assert!(sent.as_bytes() == text, "{len}");
        }
    }

    #[test]
    fn a_request_has_been_sent_when_a_part_of_its_body_has_left() {
        let text = vec![b' '; 3 * BUFFER];
        for (may_send, expected) in [(0, false), (1, true), (2, true)] {
            let (mut line, _seen) = line(&[SHORT], may_send);
            let mut has_sent = false;
            let request = post(text.len());
            let refused = ask(&mut line, request, &text, &mut has_sent);
            assert!(matches!(refused, Err(Error::BodyStalled)));
            assert_eq!(has_sent, expected, "{may_send}");
        }
    }

    #[test]
    fn a_head_that_is_too_long_is_told() {
        let field: &'static str = format!("x: {}\r\n", "a".repeat(4000)).leak();
        for (fields, fits) in [(4, true), (5, false)] {
            let mut comes = vec!["HTTP/1.1 200 OK\r\n"];
            comes.extend([field].repeat(fields));
            comes.push("\r\n");
            let (mut line, _seen) = line(&comes, usize::MAX);
            let answer = ask(&mut line, get(), b"", &mut false);
            let is_too_long = matches!(answer, Err(Error::LargeResponseHeader(_, MAX_HEAD)));
            assert_eq!((answer.is_ok(), is_too_long), (fits, !fits));
        }
    }

    /// Checks the body of a response, its end, and whether the connection can be reused.
    fn check(comes: &[&'static str], expected: Result<&str, io::ErrorKind>, open: bool) {
        let (mut line, _seen) = line(comes, usize::MAX);
        let response = ask(&mut line, get(), b"", &mut false);
        let read = match response {
            Ok(_) => body(&mut line).map_err(|error| error.kind()),
            Err(Error::Io(error)) => Err(error.kind()),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(read.as_deref(), expected.as_ref().copied(), "{comes:?}");
        assert_eq!(read.is_ok() && line.is_open(), open, "{comes:?}");
    }

    #[test]
    fn bodies_end_where_they_say() {
        use io::ErrorKind::UnexpectedEof;
        check(&[SHORT], Ok("ok"), true);
        check(
            &[
                "HTTP/1.1 200 OK\r\nconte",
                "nt-length: 4\r\n\r\n",
                "a",
                "bcd",
            ],
            Ok("abcd"),
            true,
        );
        check(&["HTTP/1.1 204 No Content\r\n\r\n"], Ok(""), true);
        check(&["HTTP/1.1 100 Continue\r\n\r\n", SHORT], Ok("ok"), true);
        check(
            &["HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", SHORT],
            Ok("ok"),
            true,
        );
        check(
            &["HTTP/1.1 307 Away\r\nlocation: /x\r\ncontent-length: 1\r\n\r\nx"],
            Ok("x"),
            true,
        );
        const CHUNKS: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        check(
            &[CHUNKS, "2\r\nab\r", "\n", "1", "\r\nc\r\n0\r\n\r\n"],
            Ok("abc"),
            true,
        );
        // Not reusable.
        check(
            &["HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"],
            Ok("ok"),
            false,
        );
        check(
            &["HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"],
            Ok("ok"),
            false,
        );
        check(
            &["HTTP/1.1 200 OK\r\n\r\nall ", "of it"],
            Ok("all of it"),
            false,
        );
        check(
            &["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more"],
            Ok("ok"),
            false,
        );
        check(&[CHUNKS, "1\r\na\r\n0\r\n"], Ok("a"), false);
        // Incomplete.
        check(&[], Err(UnexpectedEof), false);
        check(&["HTTP/1.1 200 OK\r\nconte"], Err(UnexpectedEof), false);
        check(
            &["HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok"],
            Err(UnexpectedEof),
            false,
        );
        check(&[CHUNKS, "2\r\na"], Err(UnexpectedEof), false);
        check(&[CHUNKS, "2\r\nab\r\n"], Err(UnexpectedEof), false);
    }
}
