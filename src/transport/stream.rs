//! A transport over any pair of byte streams: TCP, Unix sockets, descriptors, or any reader and
//! writer.
//!
//! The host makes the connection. A message is a line of UTF-8 JSON. A request is cancelled by the
//! ordinary notification.
//!
//! **Threads.** Reading and writing happen on the thread that receives or sends. On Unix, this
//! transport starts no thread. On Windows, each handle of the host gets a thread `mcplink-stream`,
//! which makes the calls that may block. Closing joins the threads, except for a thread in a call
//! that the system can't cancel.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::framing::{Input, LineReceiver, LineSender, Output, Piece, closed_here, failure};
use super::sys::origin::Origin;
use super::sys::{fd, local, read, write};
use super::{Control, Limits, Stack, Transport, TransportParts};
use crate::error::{Error, ErrorKind, Result};

/// The pause before the retry of a read or write that timed out or would block.
const RETRY: Duration = Duration::from_millis(1);

/// A transport over existing byte streams. Messages are framed as lines.
///
/// The constructor decides whether timeouts are exact, and whether closing ends a blocked read or
/// write:
///
/// | made by | timeouts, deadlines | closing ends a wait |
/// |---|---|---|
/// | [`tcp`](Self::tcp), [`unix`](Self::unix), [`fds`](Self::fds) | yes | yes |
/// | [`with_closer`](Self::with_closer) | by the streams' own timeouts | if the closer does |
/// | [`new`](Self::new) | by the streams' own timeouts | no |
///
/// Spec: Transports, "Custom Transports" (every revision).
///
/// # Examples
///
/// ```
/// use std::net::{TcpListener, TcpStream};
///
/// use mcplink::client::{CallOptions, Client};
/// use mcplink::transport::Stream;
/// # use mcplink::server::Server;
///
/// # let server = Server::builder("weather", "1.0").build()?;
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let here = TcpStream::connect(listener.local_addr()?)?;
/// let (there, _) = listener.accept()?;
///
/// let connection = server.open(Stream::tcp(there)?)?;
/// let client = Client::connect(Stream::tcp(here)?.named("weather"))?;
/// client.ping(CallOptions::new())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    kind: Kind,
    peer: String,
}

enum Kind {
    Any {
        reader: Box<dyn Read + Send>,
        writer: Box<dyn Write + Send>,
        closer: Option<Closer>,
    },
    Socket(fd::OwnedSocket),
    Local(local::Socket),
    Given(fd::Owned, fd::Owned),
}

type Closer = Box<dyn Fn() + Send + Sync>;

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any { .. } => "Any",
            Self::Socket(_) => "Socket",
            Self::Local(_) => "Local",
            Self::Given(..) => "Given",
        })
    }
}

impl Stream {
    /// Creates a transport from any reader and writer.
    ///
    /// A read or write that blocks can't be interrupted. Closing takes effect when that read or
    /// write returns, and a deadline is checked between writes. So a reader or writer should have a
    /// timeout of its own. A read or write that fails with `WouldBlock` or `TimedOut` is retried.
    /// On unix, writing to a pipe can raise SIGPIPE in a host that does not ignore this signal. For
    /// pipes, prefer [`fds`](Self::fds).
    pub fn new(reader: impl Read + Send + 'static, writer: impl Write + Send + 'static) -> Self {
        Self::any(Box::new(reader), Box::new(writer), None)
    }

    /// Creates a transport from any reader and writer, as [`new`](Self::new) does. Closing calls
    /// `closer` once; `closer` must make a blocked read or write return. It runs on the thread that
    /// closes the connection, or on the thread that drops the last part if the connection was not
    /// closed.
    pub fn with_closer(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        closer: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self::any(Box::new(reader), Box::new(writer), Some(Box::new(closer)))
    }

    /// Creates a transport from a connected TCP stream, and sets TCP_NODELAY on the stream.
    ///
    /// Closing shuts the socket down. The shutdown affects clones of the socket too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the socket is not connected.
    pub fn tcp(stream: TcpStream) -> Result<Self> {
        let named = stream.peer_addr().and_then(|peer| {
            stream.set_nodelay(true)?;
            Ok(peer.to_string())
        });
        let peer = named.map_err(|error| Error::io("preparing a TCP stream", error))?;
        Ok(Self {
            kind: Kind::Socket(stream.into()),
            peer,
        })
    }

    /// Creates a transport from a connected Unix stream socket.
    ///
    /// Closing shuts the socket down. The shutdown affects clones of the socket too.
    #[cfg(unix)]
    pub fn unix(stream: UnixStream) -> Self {
        let address = stream.peer_addr().ok();
        let path = address.as_ref().and_then(|address| address.as_pathname());
        let peer = path.map_or_else(
            || "unix socket".to_owned(),
            |path| path.display().to_string(),
        );
        Self {
            kind: Kind::Socket(stream.into()),
            peer,
        }
    }

    /// Creates a transport from the socket of a process of the same user.
    pub(crate) fn local(socket: local::Socket, peer: String) -> Self {
        Self {
            kind: Kind::Local(socket),
            peer,
        }
    }

    /// Creates a transport from two descriptors of the host: pipes, sockets, terminals or files.
    /// For a descriptor that is used in both directions, pass the descriptor and a duplicate of it.
    ///
    /// The flags of the descriptors are not changed, because other processes may share them.
    /// Closing closes the descriptors, but does not shut a socket down.
    #[cfg(unix)]
    pub fn fds(reader: std::os::fd::OwnedFd, writer: std::os::fd::OwnedFd) -> Self {
        Self::given(reader, writer)
    }

    /// Creates a transport from two handles of the host: pipes, consoles or files. For a handle
    /// that is used in both directions, pass the handle and a duplicate of it.
    ///
    /// Opening the transport starts two threads, `mcplink-stream`, because a handle of the host may
    /// block. Closing closes the handles.
    #[cfg(windows)]
    pub fn handles(
        reader: std::os::windows::io::OwnedHandle,
        writer: std::os::windows::io::OwnedHandle,
    ) -> Self {
        Self::given(reader, writer)
    }

    /// Creates a transport from two descriptors or handles of the host.
    pub(crate) fn given(reader: fd::Owned, writer: fd::Owned) -> Self {
        Self {
            kind: Kind::Given(reader, writer),
            peer: "stream".to_owned(),
        }
    }

    /// Sets the name of the peer for error messages. Defaults to the peer's address, or `stream`.
    pub fn named(mut self, peer: impl Into<String>) -> Self {
        self.peer = peer.into();
        self
    }

    fn any(
        reader: Box<dyn Read + Send>,
        writer: Box<dyn Write + Send>,
        closer: Option<Closer>,
    ) -> Self {
        Self {
            kind: Kind::Any {
                reader,
                writer,
                closer,
            },
            peer: "stream".to_owned(),
        }
    }
}

impl Transport for Stream {
    /// Opens the transport. Fails with [`ErrorKind::Io`] when the system has no descriptor left.
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let Self { kind, peer } = *self;
        match kind {
            Kind::Any {
                reader,
                writer,
                closer,
            } => {
                let closing = Arc::new(Closing {
                    peer,
                    closer,
                    closed: AtomicBool::new(false),
                });
                let input = AnyInput {
                    reader,
                    closing: Arc::clone(&closing),
                };
                let output = AnyOutput {
                    writer,
                    closing: Arc::clone(&closing),
                };
                Ok(halves(input, output, closing, limits))
            }
            Kind::Socket(socket) => {
                let ends = fd::duplicate_socket(&socket).and_then(|second| {
                    Ok((
                        read::ReadEnd::socket(socket)?,
                        write::WriteEnd::socket(second)?,
                    ))
                });
                descriptors(ends, peer, limits)
            }
            Kind::Local(socket) => descriptors(local::ends(socket), peer, limits),
            Kind::Given(reader, writer) => {
                let start = |work| limits.threads.start("stream", Stack::Small, work);
                let ends = read::ReadEnd::given(reader, &start)
                    .and_then(|reader| Ok((reader, write::WriteEnd::given(writer, &start)?)));
                descriptors(ends, peer, limits)
            }
        }
    }
}

fn halves(
    input: impl Input + 'static,
    output: impl Output + 'static,
    control: Arc<dyn Control>,
    limits: &Limits,
) -> TransportParts {
    TransportParts::new(
        Box::new(LineReceiver::new(input, limits)),
        Box::new(LineSender::new(output)),
        control,
    )
}

fn descriptors(
    ends: io::Result<(read::ReadEnd, write::WriteEnd)>,
    peer: String,
    limits: &Limits,
) -> Result<TransportParts> {
    let (reader, writer) =
        ends.map_err(|error| Error::io(format_args!("preparing the stream to '{peer}'"), error))?;
    let reader = Arc::new(reader);
    let ends = Arc::new(Ends {
        reader: Arc::downgrade(&reader),
        writer,
        peer,
        origin: Origin::here(),
    });
    let reading = Reading {
        reader,
        ends: Arc::clone(&ends),
    };
    Ok(halves(reading, Writing(Arc::clone(&ends)), ends, limits))
}

/// The two ends of a stream. Both descriptors may be the same socket.
///
/// The receiver owns the read end, and this value has a weak reference to it. So a handle to a
/// closed connection keeps no descriptor open, and the peer sees the end of the stream.
#[derive(Debug)]
struct Ends {
    reader: Weak<read::ReadEnd>,
    writer: write::WriteEnd,
    peer: String,
    origin: Origin,
}

impl Control for Ends {
    fn peer(&self) -> String {
        self.peer.clone()
    }

    fn close(&self) {
        self.writer.end();
        if let Some(reader) = self.reader.upgrade() {
            reader.end();
        }
    }

    fn has_unread(&self) -> Option<bool> {
        self.writer.has_unread()
    }
}

/// Closes the stream. The peer sees the end of the stream, even if a clone of the socket still
/// exists elsewhere. In a forked child, dropping closes nothing for the peer, because the parent
/// process still uses the stream.
impl Drop for Ends {
    fn drop(&mut self) {
        if self.origin.is_here() {
            self.close();
        }
    }
}

#[derive(Debug)]
struct Reading {
    reader: Arc<read::ReadEnd>,
    ends: Arc<Ends>,
}

#[derive(Debug)]
struct Writing(Arc<Ends>);

impl Input for Reading {
    fn read(&mut self, room: &mut [u8], patience: Option<Duration>) -> io::Result<Piece> {
        self.reader.read(room, patience, None).map(Piece::from)
    }

    fn is_patient(&self) -> bool {
        true
    }

    fn farewell(&mut self, failure: Option<io::Error>) -> Error {
        farewell(&self.ends.peer, self.reader.has_ended(), failure)
    }
}

impl Output for Writing {
    fn write(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<usize> {
        self.0.writer.write(bytes, deadline)
    }

    fn refusal(&self, error: io::Error) -> Error {
        refusal(&self.0.peer, self.0.writer.has_ended(), error)
    }

    fn peer(&self) -> String {
        self.0.peer.clone()
    }
}

impl From<read::Read> for Piece {
    fn from(read: read::Read) -> Self {
        match read {
            read::Read::Bytes(count) => Self::Bytes(count),
            read::Read::End => Self::End,
            read::Read::Nothing | read::Read::Watched => Self::Nothing,
        }
    }
}

fn farewell(peer: &str, closed: bool, error: Option<io::Error>) -> Error {
    match error {
        _ if closed => closed_here(peer),
        Some(error) => failure(peer, "receiving from", error),
        None => Error::new(
            ErrorKind::Closed,
            format!("'{peer}' has closed the connection"),
        ),
    }
}

fn refusal(peer: &str, closed: bool, error: io::Error) -> Error {
    if closed {
        closed_here(peer)
    } else {
        failure(peer, "sending to", error)
    }
}

/// The state that the parts of a transport over any reader and writer share.
struct Closing {
    peer: String,
    closer: Option<Closer>,
    /// Whether the connection was closed. The flag is set before `closer` is called. So `closer` is
    /// called once, and a read or write that `closer` interrupts sees the flag.
    closed: AtomicBool,
}

impl Closing {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closing")
            .field("peer", &self.peer)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

impl Control for Closing {
    fn peer(&self) -> String {
        self.peer.clone()
    }

    fn close(&self) {
        if !self.closed.swap(true, Ordering::SeqCst)
            && let Some(closer) = &self.closer
        {
            closer();
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.close();
    }
}

struct AnyInput {
    reader: Box<dyn Read + Send>,
    closing: Arc<Closing>,
}

impl fmt::Debug for AnyInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.closing.fmt(f)
    }
}

impl Input for AnyInput {
    fn read(&mut self, room: &mut [u8], patience: Option<Duration>) -> io::Result<Piece> {
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        loop {
            if self.closing.is_closed() {
                return Ok(Piece::End);
            }
            match self.reader.read(room) {
                Ok(0) => return Ok(Piece::End),
                Ok(count) => return Ok(Piece::Bytes(count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if has_timed_out(&error) => {
                    if deadline.is_some_and(|at| Instant::now() >= at) {
                        return Ok(Piece::Nothing);
                    }
                    thread::sleep(RETRY);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn is_patient(&self) -> bool {
        false
    }

    fn farewell(&mut self, failure: Option<io::Error>) -> Error {
        farewell(&self.closing.peer, self.closing.is_closed(), failure)
    }
}

struct AnyOutput {
    writer: Box<dyn Write + Send>,
    closing: Arc<Closing>,
}

impl fmt::Debug for AnyOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.closing.fmt(f)
    }
}

impl Output for AnyOutput {
    fn write(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            if self.closing.is_closed() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            match self.writer.write(&bytes[sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if has_timed_out(&error) => thread::sleep(RETRY),
                Err(error) => return Err(error),
            }
            if sent < bytes.len() && Instant::now() >= deadline {
                return Ok(sent);
            }
        }
        // Without a flush a buffering writer would hold the message back.
        loop {
            match self.writer.flush() {
                Ok(()) => return Ok(sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if has_timed_out(&error) && Instant::now() < deadline => {
                    if self.closing.is_closed() {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
                    thread::sleep(RETRY);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn refusal(&self, error: io::Error) -> Error {
        refusal(&self.closing.peer, self.closing.is_closed(), error)
    }

    fn peer(&self) -> String {
        self.closing.peer.clone()
    }
}

fn has_timed_out(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
