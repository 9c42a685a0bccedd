//! The line framing that all byte streams share: each message is a line.
//!
//! [`LineReceiver`] and [`LineSender`] frame messages over an [`Input`] and an [`Output`]. An input
//! or output moves bytes, and knows why its stream ended.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::time::{Duration, Instant};

use super::clock::about_now;
use super::{Allowance, Limits, Received, Receiver, Sender, SessionMessage};
use crate::error::{Error, ErrorKind, Result};
use crate::fallible::no_memory;
use crate::jsonrpc::{Line, LineBuffer, append_line, end_line};

/// The maximum size of a write that joins several queued messages, in bytes. A longer message is
/// written alone, from its own buffer.
const JOINED_BYTES: usize = 64 << 10;

/// The source of a stream's bytes.
pub(super) trait Input: Send + Debug {
    /// Reads the bytes that are available. If no bytes are available, blocks for about `patience`,
    /// or without limit if `patience` is `None`.
    fn read(&mut self, room: &mut [u8], patience: Option<Duration>) -> io::Result<Piece>;

    /// Whether [`read`](Self::read) respects `patience`.
    fn is_patient(&self) -> bool;

    /// Returns the error that describes the end of the stream. `failure` is the I/O error that
    /// ended the stream, or `None` after an orderly end. The method is called once, and may block
    /// for a moment to find the reason.
    fn farewell(&mut self, failure: Option<io::Error>) -> Error;
}

/// A result of [`Input::read`].
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(usize),
    End,
    Nothing,
}

/// The destination of a stream's bytes.
pub(super) trait Output: Send + Debug {
    /// Writes until all bytes are written or the deadline passes. Returns the number of bytes that
    /// were written.
    fn write(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<usize>;

    /// Returns the error for a failed write.
    fn refusal(&self, failure: io::Error) -> Error;

    /// Returns the name of the peer.
    fn peer(&self) -> String;
}

/// The receiver of all byte stream transports. Each line is a message.
#[derive(Debug)]
pub(super) struct LineReceiver<I> {
    input: I,
    lines: LineBuffer,
    max_message_bytes: usize,
    allowance: Allowance,
    /// The reason why the stream ended. The receiver returns the rest of the buffer before this
    /// error.
    end: Option<Error>,
}

impl<I: Input> LineReceiver<I> {
    pub(super) fn new(input: I, limits: &Limits) -> Self {
        Self {
            input,
            lines: LineBuffer::new(limits.max_message_bytes),
            max_message_bytes: limits.max_message_bytes,
            allowance: limits.allowance.clone(),
            end: None,
        }
    }

    fn finish(&mut self, failure: Option<io::Error>) -> Option<Received> {
        let was_orderly = failure.is_none();
        self.end = Some(self.input.farewell(failure));
        // After an orderly end, a last line without a newline is a message. After a failure, that
        // line is incomplete.
        let rest = self.lines.take_rest().filter(|_| was_orderly)?;
        Some(Received::Message(SessionMessage::new(rest)))
    }
}

impl<I: Input> Receiver for LineReceiver<I> {
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received> {
        let mut deadline: Option<Instant> = None;
        loop {
            let longest = self.allowance.above(self.max_message_bytes);
            self.lines.set_max_bytes(longest);
            match self.lines.next_line() {
                Some(Line::Message(text)) => {
                    return Ok(Received::Message(SessionMessage::new(text)));
                }
                Some(Line::TooLong(long)) => return Ok(Received::TooLong(long)),
                None => {}
            }
            if let Some(end) = &self.end {
                return Err(end.clone());
            }
            // Read the clock only if the thread has to wait.
            let left = match deadline {
                Some(at) => Some(at.saturating_duration_since(Instant::now())),
                None => {
                    deadline = patience.and_then(|span| about_now().checked_add(span));
                    patience
                }
            };
            let read = match self.lines.room() {
                Ok(room) => self.input.read(room, left),
                Err(error) => Err(error.into()),
            };
            let finished = match read {
                Ok(Piece::Bytes(count)) => {
                    self.lines.filled(count);
                    None
                }
                Ok(Piece::Nothing) => return Ok(Received::Nothing),
                Ok(Piece::End) => self.finish(None),
                Err(failure) => self.finish(Some(failure)),
            };
            if let Some(rest) = finished {
                return Ok(rest);
            }
        }
    }

    fn has_message(&self) -> bool {
        self.lines.has_line()
    }

    fn is_patient(&self) -> bool {
        self.input.is_patient()
    }

    fn reclaim(&mut self, memory: Vec<u8>) {
        self.lines.reclaim(memory);
    }
}

/// The sender of all byte stream transports. Each message becomes a line.
#[derive(Debug)]
pub(super) struct LineSender<O> {
    output: O,
    /// The bytes that are being sent. The first `sent` bytes are already written.
    current: Vec<u8>,
    sent: usize,
    /// The number of bytes written since the start.
    total: u64,
}

impl<O: Output> LineSender<O> {
    pub(super) fn new(output: O) -> Self {
        Self {
            output,
            current: Vec::new(),
            sent: 0,
            total: 0,
        }
    }

    /// Takes the next message from the queue, and more messages as long as they fit into one joined
    /// write. Returns false when the queue is empty.
    fn take_next(&mut self, queue: &mut VecDeque<SessionMessage>) -> Result<bool> {
        let Some(first) = queue.pop_front() else {
            return Ok(false);
        };
        self.current = first.text;
        let mut bytes = self.current.len() + 1;
        let with_it = queue.iter().take_while(|next| {
            let joined = bytes + next.text.len() + 1;
            let fits = joined <= JOINED_BYTES;
            if fits {
                bytes = joined;
            }
            fits
        });
        let with_it = with_it.count();
        let alone = self.current.len() + 1;
        let is_joined = with_it > 0 && self.has_room_for(bytes);
        if !is_joined && !self.has_room_for(alone) {
            let (peer, bytes) = (self.output.peer(), self.current.len());
            self.current = Vec::new();
            return Err(no_memory(format_args!(
                "a message of {bytes} bytes to '{peer}'"
            )));
        }
        end_line(&mut self.current);
        for next in queue.drain(..if is_joined { with_it } else { 0 }) {
            append_line(&mut self.current, &next.text);
        }
        Ok(true)
    }

    /// Reserves memory so that the current message can grow to `bytes` bytes. Returns false when
    /// there is no memory.
    fn has_room_for(&mut self, bytes: usize) -> bool {
        let more = bytes - self.current.len();
        self.current.try_reserve_exact(more).is_ok()
    }
}

impl<O: Output> Sender for LineSender<O> {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()> {
        loop {
            if self.current.is_empty() && !self.take_next(queue)? {
                return Ok(());
            }
            let rest = &self.current[self.sent..];
            let written = self.output.write(rest, deadline);
            let count = written.map_err(|failure| self.output.refusal(failure))?;
            self.total += count as u64;
            self.sent += count;
            let unsent = self.current.len() - self.sent;
            if unsent > 0 {
                let peer = self.output.peer();
                let text =
                    format!("'{peer}' does not read: {unsent} bytes of a message are still unsent");
                return Err(Error::new(ErrorKind::Timeout, text));
            }
            (self.current, self.sent) = (Vec::new(), 0);
        }
    }

    fn sent_bytes(&self) -> u64 {
        self.total
    }
}

/// Returns the error for an I/O failure on an open stream, which mostly means that the peer has
/// gone.
pub(super) fn failure(peer: &str, doing: &str, error: io::Error) -> Error {
    use io::ErrorKind as Io;
    match error.kind() {
        Io::BrokenPipe | Io::ConnectionReset | Io::ConnectionAborted | Io::NotConnected => {
            let text = format!("{doing} '{peer}': it has gone ({error})");
            Error::new(ErrorKind::Closed, text).with_source(error)
        }
        Io::OutOfMemory => no_memory(format_args!("{doing} '{peer}'")).with_source(error),
        _ => Error::io(format_args!("{doing} '{peer}'"), error),
    }
}

/// Returns the error for a connection that this side has closed.
pub(super) fn closed_here(peer: &str) -> Error {
    let text = format!("the connection to '{peer}' was closed by this side");
    Error::new(ErrorKind::Closed, text)
}
