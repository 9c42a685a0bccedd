//! The request parser, which collects and parses the input of a connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::HttpLimits;
use super::chunks::{self, Chunks};
use super::head::{self, Framing, Head, Refusal};
use crate::buffer_cache;
use crate::fallible;
use crate::shares::{Admission, Client, Shares};
use crate::sync::Mutex;

/// The maximum number of bytes that are read at once.
const ROOM: usize = 16 << 10;

/// The maximum size of an unfinished body that needs no reservation of memory, in bytes. So small
/// requests are served even if large requests use up the memory budget.
const SMALL: usize = 64 << 10;

/// The maximum number of empty lines before a request line.
const EMPTY_LINES: u8 = 8;

/// Collects the bytes of a connection until a request is complete. The parser keeps the bytes after
/// the request, because they belong to the next request.
///
/// A worker has one parser for all connections that it serves. When the worker passes a connection
/// on, the arrived part of an unfinished request is stored with the connection.
#[derive(Debug, Default)]
pub(super) struct RequestParser {
    /// The input that was not removed yet. It begins with the first byte of the request.
    bytes: Vec<u8>,
    /// The number of empty lines before the request line that were skipped.
    skipped: u8,
    /// The number of input bytes that were searched for the end of the head.
    scanned: usize,
    head: Option<Head>,
    /// The offset of the first input byte that was not parsed yet.
    used: usize,
    chunks: Chunks,
    body: Vec<u8>,
    /// The deadline for the rest of the head or the body. The deadline is set when the parser first
    /// finds that input is missing.
    until: Option<Instant>,
    /// The number of body bytes that have already extended the deadline.
    counted: usize,
    held: Option<Held>,
    /// Whether the request is complete and was not yet served.
    is_whole: bool,
}

/// The memory budget for the unfinished bodies of all clients. While its lock is held, no other
/// lock is taken.
pub(super) type Unfinished = Mutex<Shares<()>>;

/// Creates the memory budget for unfinished bodies. It has space for a body of the maximum size for
/// each worker, and a reserve for clients that hold little. A client that uses the reserve may hold
/// at most its share (`part_percent`), or one body of the maximum size if that is more.
pub(super) fn unfinished(limits: &HttpLimits) -> Unfinished {
    let body = limits.max_body_bytes;
    let max = limits.max_workers.saturating_mul(body);
    let reserve = match limits.reserve_percent {
        0 => 0,
        _ => limits.reserve_of(max).max(body.saturating_mul(2)),
    };
    let part = limits.part_of(max).max(body);
    Mutex::new(Shares::new(max.saturating_add(reserve), part, reserve))
}

/// A reservation of memory for an unfinished body. Dropping the reservation returns its memory to
/// the budget.
#[derive(Debug)]
struct Held {
    bytes: usize,
    client: Client,
    all: Arc<Unfinished>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.lock().give_back(&self.client, self.bytes);
    }
}

/// A request body, with the reservation of its memory.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    held: Option<Held>,
}

/// The result of a parsing step: whether the request is complete, or what the parser waits for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParseStep {
    /// The request is complete and can be served.
    Request,
    /// The parser needs more input.
    More,
    /// The parser needs more input, and the client waits for the interim response 100 before it
    /// sends more.
    Continue,
}

impl RequestParser {
    /// Whether no input of a request has arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the method of the request is HEAD, whose response has no body.
    pub(super) fn is_head(&self) -> bool {
        self.bytes.starts_with(b"HEAD ")
    }

    /// Whether the request is complete.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Parses the input that has arrived. Returns whether the request is complete, or the refusal
    /// of an invalid request.
    pub(super) fn next(&mut self, limits: &HttpLimits) -> Result<ParseStep, Refusal> {
        if self.is_whole {
            return Ok(ParseStep::Request);
        }
        let next = self.look(limits)?;
        self.is_whole = next == ParseStep::Request;
        Ok(next)
    }

    fn look(&mut self, limits: &HttpLimits) -> Result<ParseStep, Refusal> {
        if self.head.is_none() {
            if !self.take_head(limits)? {
                return Ok(ParseStep::More);
            }
            if self.take_body(limits)? {
                return Ok(ParseStep::Request);
            }
            self.until = None;
            // A client that has sent a part of the body does not wait for the interim response (RFC
            // 9110, section 10.1.1).
            let waits = self.body.is_empty() && self.used == self.bytes.len();
            let asks = self.head.as_ref().is_some_and(|head| head.expects_continue);
            return Ok(if asks && waits {
                ParseStep::Continue
            } else {
                ParseStep::More
            });
        }
        Ok(if self.take_body(limits)? {
            ParseStep::Request
        } else {
            ParseStep::More
        })
    }

    /// Skips up to [`EMPTY_LINES`] empty lines before the request line (RFC 9112, section 2.2).
    /// Some clients send empty lines after the previous body. A connection whose only input is
    /// empty lines is idle.
    fn skip_empty_lines(&mut self) -> Result<(), Refusal> {
        while self.bytes.starts_with(b"\r\n") {
            if self.skipped == EMPTY_LINES {
                return Err(Refusal::bad("the request has no request line"));
            }
            self.skipped += 1;
            self.bytes.drain(..2);
            self.scanned = 0;
        }
        Ok(())
    }

    fn take_head(&mut self, limits: &HttpLimits) -> Result<bool, Refusal> {
        self.skip_empty_lines()?;
        let end = head::end(&self.bytes, &mut self.scanned)?;
        if end.unwrap_or(self.bytes.len()) > limits.max_head_bytes {
            return Err(head::too_long(&self.bytes, limits));
        }
        let Some(end) = end else { return Ok(false) };
        let head = Head::parse(&self.bytes[..end], limits)?;
        if let Framing::Length(length) = head.framing
            && length > limits.max_body_bytes as u64
        {
            return Err(chunks::too_long(limits.max_body_bytes));
        }
        self.head = Some(head);
        self.used = end;
        Ok(true)
    }

    /// Moves the bytes of the body from the input to the body buffer. Returns whether the body is
    /// complete.
    fn take_body(&mut self, limits: &HttpLimits) -> Result<bool, Refusal> {
        let input = &self.bytes[self.used..];
        match self.head.as_ref().map(|head| head.framing) {
            Some(Framing::Chunked) => {
                let (used, ended) =
                    self.chunks
                        .push(input, &mut self.body, limits.max_body_bytes)?;
                if ended {
                    self.used += used;
                } else {
                    self.bytes.drain(self.used..self.used + used);
                }
                Ok(ended)
            }
            Some(Framing::Length(_)) => {
                let count = self.missing().min(input.len());
                if self.body.is_empty() {
                    self.body = buffer_cache::take(self.missing());
                    let room = self.missing().min(4 * ROOM);
                    self.body
                        .try_reserve_exact(room)
                        .map_err(|_| Refusal::no_memory())?;
                }
                let came = &self.bytes[self.used..self.used + count];
                let appended = fallible::append(&mut self.body, came);
                appended.map_err(|_| Refusal::no_memory())?;
                self.used += count;
                Ok(self.missing() == 0)
            }
            None => Ok(false),
        }
    }

    /// Returns the number of bytes that are missing from a body of known length.
    fn missing(&self) -> usize {
        match self.head.as_ref().map(|head| head.framing) {
            Some(Framing::Length(length)) => {
                usize::try_from(length).unwrap_or(usize::MAX) - self.body.len()
            }
            _ => 0,
        }
    }

    /// Returns the buffer for the next read, and the maximum number of bytes to read.
    pub(super) fn room(&mut self) -> (&mut Vec<u8>, usize) {
        match self.missing() {
            0 => (&mut self.bytes, ROOM),
            // The buffer grows as the body arrives, so that a length that is only claimed costs no
            // memory.
            missing => {
                let spare = self.body.capacity() - self.body.len();
                let room = missing.min(self.body.len().max(spare).max(4 * ROOM));
                (&mut self.body, room)
            }
        }
    }

    /// Whether the body is so large that a worker needs a permit to read it. While all permits are
    /// in use, large bodies stay in the system's socket buffers.
    pub(super) fn is_large(&self) -> bool {
        self.body.len().saturating_add(self.missing()) > SMALL
    }

    /// Returns the deadline for the rest of the request. Returns `None` if there is no time limit.
    /// `now` is the time when input last arrived.
    pub(super) fn deadline(&mut self, now: Instant, limits: &HttpLimits) -> Option<Instant> {
        if self.head.is_none() {
            self.until = self.until.or_else(|| now.checked_add(limits.head_timeout));
            return self.until;
        }
        // The time that a fast client earns is capped. Otherwise such a client could be silent for
        // hours.
        let most = now.checked_add(limits.body_timeout)?;
        let came = self.body.len() - std::mem::replace(&mut self.counted, self.body.len());
        let earned = Duration::from_secs_f64(came as f64 / limits.min_body_rate.max(1) as f64);
        let until = self.until.and_then(|until| until.checked_add(earned));
        self.until = Some(until.map_or(most, |until| until.min(most)));
        self.until
    }

    /// Reserves memory for the part of the body that has arrived. Refuses the request if the budget
    /// has no memory left for the client. Without a budget, unfinished bodies could take any amount
    /// of memory, because there may be many more connections than workers.
    pub(super) fn hold(&mut self, all: &Arc<Unfinished>, client: &Client) -> Result<(), Refusal> {
        if self.body.len() <= SMALL {
            return Ok(());
        }
        let held = self.held.get_or_insert_with(|| Held {
            bytes: 0,
            client: client.clone(),
            all: Arc::clone(all),
        });
        let more = self.body.len() - held.bytes;
        let mut all = all.lock();
        let is_granted = matches!(all.admit(client, more), Admission::Granted);
        all.take(client, more);
        held.bytes += more;
        if !is_granted {
            let text = "too many large requests come at once: try again later";
            return Err(Refusal::new(503, text));
        }
        Ok(())
    }

    /// Returns the refusal for a request that took too long to arrive.
    pub(super) fn lateness(&self) -> Refusal {
        let what = if self.head.is_some() { "body" } else { "head" };
        Refusal::new(
            408,
            format!("the {what} of the request did not come in time"),
        )
    }

    /// Returns the head, the bytes that the head refers to, and the body. The body is moved out of
    /// the parser.
    pub(super) fn request(&mut self) -> Option<(&Head, &[u8], Body)> {
        let body = Body {
            bytes: std::mem::take(&mut self.body),
            held: self.held.take(),
        };
        self.head
            .as_ref()
            .map(|head| (head, self.bytes.as_slice(), body))
    }

    /// Puts the body of a request back into the parser, after the request was only inspected.
    pub(super) fn give_back(&mut self, body: Body) {
        (self.body, self.held) = (body.bytes, body.held);
    }

    /// Removes the request that was served. Keeps the input after the request.
    pub(super) fn forget(&mut self) {
        self.bytes.drain(..self.used);
        (self.scanned, self.used, self.counted) = (0, 0, 0);
        self.skipped = 0;
        (self.head, self.until, self.held) = (None, None, None);
        self.is_whole = false;
        self.chunks = Chunks::default();
    }

    /// Removes all input.
    pub(super) fn clear(&mut self) {
        self.used = self.bytes.len();
        self.body = Vec::new();
        self.forget();
    }

    /// Moves the parser's content out, so that it can be stored with the connection.
    pub(super) fn take(&mut self) -> Self {
        let mut taken = std::mem::take(self);
        buffer_cache::shrink(&mut taken.bytes);
        taken
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_large_by_what_was_said_or_by_what_has_come() {
        fn check(head: &str, come: usize, expected: bool) {
            let limits = HttpLimits::default();
            let mut intake = RequestParser::default();
            let text = format!("POST / HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n");
            intake.room().0.extend_from_slice(text.as_bytes());
            assert_eq!(intake.next(&limits), Ok(ParseStep::More), "{head}");
            let chunk = format!("{come:x}\r\n{}", "x".repeat(come));
            intake.room().0.extend_from_slice(chunk.as_bytes());
            assert_eq!(intake.next(&limits), Ok(ParseStep::More), "{head}");
            assert_eq!(intake.is_large(), expected, "{head}, {come}");
        }
        check("Content-Length: 65536", 0, false);
        check("Content-Length: 65537", 0, true);
        check("Transfer-Encoding: chunked", SMALL, false);
        check("Transfer-Encoding: chunked", SMALL + 1, true);
        assert!(!RequestParser::default().is_large());
    }
}
