//! This process's own standard streams: how a server is run by its client.
//!
//! A stray `printf` of the host, of a library, or of a child it starts would break the protocol if it reached standard output. So the
//! streams are *claimed*: the protocol gets private duplicates, descriptor 1 is pointed at standard error and descriptor 0 at the null
//! device, and closing puts everything back. One claim at a time.
//!
//! **Threads.** None. Reading and writing happen on the thread that receives or sends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::framing::{Input, LineReceiver, LineSender, Output, Piece, closed_here, failure};
use super::sys::read::ReadEnd;
use super::sys::standard::{self, Claim};
use super::sys::write::WriteEnd;
use super::{Control, Halves, Limits, Transport, lock};
use crate::error::{Error, ErrorKind, Result};

/// Set while the standard streams of this process are taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

const PEER: &str = "client on standard input";

/// The transport of a server that its client has started: messages on standard input and output, one a line.
///
/// Spec: Transports, "stdio" (every revision): nothing but messages goes to standard output; standard error is free for logging.
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
    /// Will claim the standard streams when the connection is opened.
    pub fn new() -> Self {
        Self { redirects: true }
    }

    /// Whether standard output is pointed at standard error, and standard input at the null device, while the connection is open.
    /// Defaults to true. Without it, whatever else this process or its children print to standard output corrupts the protocol.
    pub fn claim(mut self, claim: bool) -> Self {
        self.redirects = claim;
        self
    }
}

impl Transport for Stdio {
    /// Takes the standard streams; input that the host has read ahead is lost to the protocol, so do this first.
    ///
    /// Fails with [`ErrorKind::State`] when they are taken already or one of them is closed.
    fn open(self: Box<Self>, limits: &Limits) -> Result<Halves> {
        let taken = Taken::take()?;
        let (input, output, claim) = standard::claim(self.redirects)?;
        let ends = ReadEnd::given(input).and_then(|reader| Ok((reader, WriteEnd::given(output)?)));
        let (reader, writer) =
            ends.map_err(|error| Error::io("preparing the standard streams", error))?;
        let shared = Arc::new(Shared {
            reader,
            writer,
            held: Mutex::new(Some((claim, taken))),
        });
        Ok(Halves::new(
            Box::new(LineReceiver::new(Half(Arc::clone(&shared)), limits)),
            Box::new(LineSender::new(Half(Arc::clone(&shared)))),
            shared,
        ))
    }
}

/// The right to the standard streams of this process.
#[derive(Debug)]
struct Taken;

impl Taken {
    fn take() -> Result<Self> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            let text = "the standard streams of this process serve another connection; close that one first";
            return Err(Error::new(ErrorKind::State, text));
        }
        Ok(Self)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct Shared {
    reader: ReadEnd,
    writer: WriteEnd,
    /// Dropped in this order at the end: the streams are put back, then others may take them.
    held: Mutex<Option<(Claim, Taken)>>,
}

impl Control for Shared {
    fn peer(&self) -> String {
        PEER.to_owned()
    }

    fn close(&self) {
        self.writer.end();
        self.reader.end();
        let mut held = lock(&self.held);
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
