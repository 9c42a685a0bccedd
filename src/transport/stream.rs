//! Any pair of byte streams: TCP, Unix sockets, descriptors of the host, or whatever reads and writes.
//!
//! A connection is made by whoever makes the streams; a message is a line of UTF-8 JSON; cancellation is the ordinary notification.
//!
//! **Threads.** None. Reading and writing happen on the thread that receives or sends.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::framing::{Input, LineReceiver, LineSender, Output, Piece, closed_here, failure};
use super::sys::origin::Origin;
use super::sys::{fd, read, write};
use super::{Control, Halves, Limits, Transport};
use crate::error::{Error, ErrorKind, Result};

/// How soon a stream that timed out, or that never waits, is asked again.
const RETRY: Duration = Duration::from_millis(1);

/// A transport over byte streams that exist already; messages are framed as lines.
///
/// What is known of waiting depends on where the streams came from:
///
/// | made by | patience, deadlines | closing ends a wait |
/// |---|---|---|
/// | [`tcp`](Self::tcp), [`unix`](Self::unix), [`fds`](Self::fds) | yes | yes |
/// | [`with_closer`](Self::with_closer) | as good as the streams' own time-outs | if the closer does |
/// | [`new`](Self::new) | as good as the streams' own time-outs | no |
///
/// Spec: Transports, "Custom Transports" (every revision).
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
    Socket(OwnedFd),
    Given(OwnedFd, OwnedFd),
}

type Closer = Box<dyn Fn() + Send + Sync>;

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any { .. } => "Any",
            Self::Socket(_) => "Socket",
            Self::Given(..) => "Given",
        })
    }
}

impl Stream {
    /// Takes any reader and writer.
    ///
    /// A read or write that blocks can't be interrupted: closing takes effect only when it returns, and a deadline is looked at between
    /// writes. A reader or writer with a time-out of its own (`WouldBlock` or `TimedOut`) is asked again, and is the better for it. On
    /// unix a writer that is a pipe can raise SIGPIPE in a host that does not ignore it: prefer [`fds`](Self::fds) there.
    pub fn new(reader: impl Read + Send + 'static, writer: impl Write + Send + 'static) -> Self {
        Self::any(Box::new(reader), Box::new(writer), None)
    }

    /// Like [`new`](Self::new), with a function that makes a blocked read and write return. It is called once, by the thread that
    /// closes; or, if nobody did, by the one that drops the last half.
    pub fn with_closer(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        closer: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self::any(Box::new(reader), Box::new(writer), Some(Box::new(closer)))
    }

    /// Takes a connected TCP stream, and switches the delay of small writes off.
    ///
    /// Closing shuts the socket down, also for clones of it.
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

    /// Takes a connected Unix stream socket.
    ///
    /// Closing shuts the socket down, also for clones of it.
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

    /// Takes two descriptors of the host: pipes, sockets, terminals or files. For one that does both, pass it and a duplicate.
    ///
    /// Their flags, which other processes may share, stay as they are; closing closes them and shuts nothing down.
    pub fn fds(reader: OwnedFd, writer: OwnedFd) -> Self {
        Self {
            kind: Kind::Given(reader, writer),
            peer: "stream".to_owned(),
        }
    }

    /// Names the peer in error messages. Defaults to its address, or `stream`.
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
    /// Fails with [`ErrorKind::Io`] when the system has no descriptor to spare.
    fn open(self: Box<Self>, limits: &Limits) -> Result<Halves> {
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
                let ends = fd::duplicate(socket.as_fd()).and_then(|second| {
                    Ok((
                        read::ReadEnd::socket(socket)?,
                        write::WriteEnd::socket(second)?,
                    ))
                });
                descriptors(ends, peer, limits)
            }
            Kind::Given(reader, writer) => {
                let ends = read::ReadEnd::given(reader)
                    .and_then(|reader| Ok((reader, write::WriteEnd::given(writer)?)));
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
) -> Halves {
    Halves::new(
        Box::new(LineReceiver::new(input, limits)),
        Box::new(LineSender::new(output)),
        control,
    )
}

fn descriptors(
    ends: io::Result<(read::ReadEnd, write::WriteEnd)>,
    peer: String,
    limits: &Limits,
) -> Result<Halves> {
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

/// Two descriptors, which may be the same socket twice. The one that is read belongs to who reads: a closed connection that somebody still has
/// a handle of keeps neither open, so that the peer finds the end.
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

/// The peer finds the end also when nobody closed: a clone of the socket may live on elsewhere. In a fork it goes on for the other.
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

/// What the halves over any reader and writer share.
struct Closing {
    peer: String,
    closer: Option<Closer>,
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
        // Without this a buffering writer would keep the message to itself.
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
