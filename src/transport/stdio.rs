//! A transport over this process's own standard streams, for a server that its client has started.
//!
//! A stray `printf` of the host, a library or a child would corrupt the protocol if it reached
//! standard output. So the transport *claims* the streams. The protocol gets private duplicates of
//! the descriptors. Descriptor 1 is redirected to standard error, and descriptor 0 to the null
//! device. Closing restores the descriptors. Only one claim can exist at a time.
//!
//! **Threads.** This transport starts no thread. Reading and writing happen on the thread that
//! receives or sends. On Windows it starts two threads `mcplink-stream`, which make the calls that
//! may block; closing joins them. There, input that one of them has read when the connection is
//! closed is lost to the host.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::framing::{Input, LineReceiver, LineSender, Output, Piece, closed_here, failure};
use super::sys::read::ReadEnd;
use super::sys::standard::{self, Claim};
use super::sys::write::WriteEnd;
use super::{Control, Limits, Stack, Transport, TransportParts};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// Whether a connection uses the standard streams of this process. At most one connection can use
/// them.
static IN_USE: AtomicBool = AtomicBool::new(false);

const PEER: &str = "client on standard input";

/// The transport of a server that its client has started. Messages are lines on standard input and
/// standard output.
///
/// Spec: Transports, "stdio" (every revision). Only messages go to standard output; standard error
/// may be used for logging.
///
/// # Examples
///
/// ```no_run
/// use mcplink::server::Server;
/// use mcplink::transport::Stdio;
///
/// // The program prints nothing itself, so standard output need not be redirected.
/// let server = Server::builder("clock", "1.0").build()?;
/// server.serve(Stdio::new().claim(false))?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Debug)]
pub struct Stdio {
    redirects: bool,
}

impl Default for Stdio {
    fn default() -> Self {
        Self::new()
    }
}

impl Stdio {
    /// Creates a transport that claims the standard streams when the connection is opened.
    pub fn new() -> Self {
        Self { redirects: true }
    }

    /// Sets whether standard output is redirected to standard error, and standard input to the null
    /// device, while the connection is open. Defaults to true.
    ///
    /// With `false`, any other output of this process or its children to standard output corrupts
    /// the protocol.
    pub fn claim(mut self, claim: bool) -> Self {
        self.redirects = claim;
        self
    }
}

impl Transport for Stdio {
    /// Claims the standard streams. Input that the host has read before is lost to the protocol.
    ///
    /// Fails with [`ErrorKind::State`] when another connection uses the streams, or when standard
    /// input or output is closed.
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let exclusive = ExclusiveUse::take()?;
        let (input, output, claim) = standard::claim(self.redirects)?;
        let start = |work| limits.threads.start("stream", Stack::Small, work);
        let ends = ReadEnd::given(input, &start)
            .and_then(|reader| Ok((reader, WriteEnd::given(output, &start)?)));
        let (reader, writer) =
            ends.map_err(|error| Error::io("preparing the standard streams", error))?;
        let shared = Arc::new(Shared {
            reader,
            writer,
            held: Mutex::new(Some((claim, exclusive))),
        });
        Ok(TransportParts::new(
            Box::new(LineReceiver::new(Half(Arc::clone(&shared)), limits)),
            Box::new(LineSender::new(Half(Arc::clone(&shared)))),
            shared,
        ))
    }
}

/// The exclusive right to the standard streams of this process.
#[derive(Debug)]
struct ExclusiveUse;

impl ExclusiveUse {
    fn take() -> Result<Self> {
        if IN_USE.swap(true, Ordering::SeqCst) {
            let text = "the standard streams of this process serve another connection; close that one first";
            return Err(Error::new(ErrorKind::State, text));
        }
        Ok(Self)
    }
}

impl Drop for ExclusiveUse {
    fn drop(&mut self) {
        IN_USE.store(false, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct Shared {
    reader: ReadEnd,
    writer: WriteEnd,
    /// The claim, and the exclusive right to the streams. Dropping the pair first restores the
    /// streams, and then allows another connection to claim them.
    held: Mutex<Option<(Claim, ExclusiveUse)>>,
}

impl Control for Shared {
    fn peer(&self) -> String {
        PEER.to_owned()
    }

    fn close(&self) {
        self.writer.end();
        self.reader.end();
        let mut held = self.held.lock();
        drop(held.take());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

#[derive(Debug)]
struct Half(Arc<Shared>);

impl Input for Half {
    fn read(&mut self, room: &mut [u8], patience: Option<Duration>) -> io::Result<Piece> {
        self.0.reader.read(room, patience, None).map(Piece::from)
    }

    fn is_patient(&self) -> bool {
        true
    }

    fn farewell(&mut self, error: Option<io::Error>) -> Error {
        match error {
            _ if self.0.reader.has_ended() => closed_here(PEER),
            Some(error) => failure(PEER, "receiving from", error),
            None => Error::new(
                ErrorKind::Closed,
                "standard input has ended: the client has gone",
            ),
        }
    }
}

impl Output for Half {
    fn write(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<usize> {
        self.0.writer.write(bytes, deadline)
    }

    fn refusal(&self, error: io::Error) -> Error {
        if self.0.writer.has_ended() {
            closed_here(PEER)
        } else {
            failure(PEER, "sending to", error)
        }
    }

    fn peer(&self) -> String {
        PEER.to_owned()
    }
}
