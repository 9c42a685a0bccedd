//! Newline framing: the caller adds bytes to a buffer, and removes messages of bounded length.
//!
//! Spec: Transports, stdio (every revision): a message is a line of UTF-8 without raw newlines. A
//! carriage return before the newline, blank lines and a byte-order mark are tolerated.

use std::collections::TryReserveError;
use std::ops::Range;

use super::id::RequestId;
use super::memchr::{find, find_either};
use super::partial::PartialScanner;
use crate::fallible;

/// The initial size of the buffer, and its size after a large message.
const INITIAL_BYTES: usize = 16 * 1024;
/// The size from which the buffer grows by a half instead of doubling, in bytes.
const LARGE_BYTES: usize = 1 << 20;
/// The minimum length of a line that is returned without a copy: the caller gets the buffer that
/// contains the line.
const TAKE_BYTES: usize = 32 * 1024;
/// The maximum size of a buffer that [`LineBuffer::reclaim`] keeps for the next line.
const SPARE_BYTES: usize = 4 * 1024;

/// A buffer that splits incoming bytes into lines.
///
/// Each byte is scanned once, however small the pieces of input are. At most `max_bytes` of a line
/// are stored.
///
/// # Examples
///
/// ```
/// use mcplink::jsonrpc::{Line, LineBuffer};
///
/// let mut lines = LineBuffer::new(16 << 20);
/// # let mut input = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"json"[..];
/// let count = std::io::Read::read(&mut input, lines.room()?)?;
/// lines.filled(count);
/// while let Some(Line::Message(text)) = lines.next_line() {
///     assert_eq!(text, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
/// }
/// assert!(!lines.has_line()); // the second line is incomplete
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LineBuffer {
    /// The memory of the buffer. `start..end` is input, the rest is free space. All bytes are
    /// initialized.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The end of the scanned input: `start..scanned` contains no newline.
    scanned: usize,
    /// The index of the first newline after `scanned`, if it is known. `next_line` searches for it
    /// in advance.
    line_end: Option<usize>,
    max_bytes: usize,
    /// The memory of an earlier line, given back by [`reclaim`](Self::reclaim).
    spare: Vec<u8>,
    /// The state of a line that is too long: set while the rest of the line is dropped.
    dropping: Option<Dropping>,
}

#[derive(Debug, Default)]
struct Dropping {
    scanner: PartialScanner,
    bytes: usize,
    /// Whether a line is dropped because the allocator had no memory for it.
    no_memory: bool,
}

/// A line that [`LineBuffer::next_line`] returns.
#[derive(Debug)]
#[non_exhaustive]
pub enum Line {
    /// A complete message, without its newline.
    Message(Vec<u8>),
    /// A line that was dropped: it is longer than the limit, or there was no memory for it.
    TooLong(TooLong),
}

/// A message that was dropped: it exceeded the limit, or there was no memory for it. The fields are
/// the parts of the message that are known.
#[derive(Clone, Debug)]
pub struct TooLong {
    /// The length of the dropped line, in bytes.
    pub bytes: usize,
    /// The id of the message, if the id could be read.
    pub id: Option<RequestId>,
    /// Whether the message looked like a response.
    pub is_response: bool,
    /// Whether the message was within the limit, but the system had no memory for it.
    pub no_memory: bool,
}

impl TooLong {
    /// Extracts the id and the kind of a message that exceeds the limit, in constant memory.
    pub(crate) fn of(text: &[u8]) -> Self {
        let scanner = PartialScanner::of(text);
        Self {
            bytes: text.len(),
            id: scanner.id(),
            is_response: scanner.looks_like_response(),
            no_memory: false,
        }
    }
}

impl LineBuffer {
    /// Makes a buffer for lines of at most `max_bytes`, newline excluded.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            scanned: 0,
            line_end: None,
            max_bytes,
            spare: Vec::new(),
            dropping: None,
        }
    }

    /// Sets the maximum length of a line, newline excluded. The new maximum applies to all lines
    /// that were not returned yet.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    /// Returns the free space of the buffer for input, at least one byte. The caller writes input
    /// to the free space, and passes the number of bytes to [`filled`](Self::filled).
    ///
    /// If there is no memory for the rest of a line, the line is dropped, as if it exceeded the
    /// limit.
    ///
    /// # Errors
    ///
    /// Fails when there is no memory for free space, and the buffer is empty or has a complete
    /// line. A complete line is not dropped: call [`next_line`](Self::next_line) to remove it.
    pub fn room(&mut self) -> Result<&mut [u8], TryReserveError> {
        if self.start == self.end {
            (self.start, self.end, self.scanned) = (0, 0, 0);
        }
        if self.end == self.buffer.len() {
            if self.start > self.buffer.len() / 2 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.scanned -= self.start;
                self.line_end = self.line_end.map(|at| at - self.start);
                self.start = 0;
            } else {
                self.grow()?;
            }
        }
        Ok(&mut self.buffer[self.end..])
    }

    /// Enlarges a full buffer. If there is no memory, drops the incomplete line and reuses its
    /// space.
    #[cold]
    fn grow(&mut self) -> Result<(), TryReserveError> {
        let len = self.buffer.len();
        // The unused rest of a large buffer is memory that every long message takes.
        let more = if len < LARGE_BYTES { len } else { len / 2 };
        let len = (len + more).max(INITIAL_BYTES);
        let grown = fallible::lengthen(&mut self.buffer, len);
        if grown.is_err() {
            if self.start == self.end || self.has_line() {
                return grown;
            }
            self.drop_for_memory(self.end);
            (self.start, self.end, self.scanned) = (0, 0, 0);
        }
        Ok(())
    }

    /// Marks the first `bytes` of the free space as input.
    pub fn filled(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Removes the next complete line and returns it. Returns `None` if more input is needed.
    pub fn next_line(&mut self) -> Option<Line> {
        let line = self.take_line();
        (self.start, self.line_end) = self.find_line();
        self.scanned = self.line_end.unwrap_or(self.end);
        line
    }

    /// Returns the start of the next line that is not blank, and the index of its newline if the
    /// newline has arrived. The function skips blank lines, since [`next_line`](Self::next_line)
    /// does not return them. Otherwise [`has_line`](Self::has_line) could be true for a blank line.
    fn find_line(&self) -> (usize, Option<usize>) {
        if self.scanned == self.end {
            return (self.start, None);
        }
        let (mut start, mut scanned) = (self.start, self.scanned);
        loop {
            let Some(at) = find(b'\n', &self.buffer[scanned..self.end]) else {
                return (start, None);
            };
            let end = scanned + at;
            let line = &self.buffer[start..end];
            // A blank line counts if it is too long, or if its start was dropped from the buffer.
            // The limit leaves one byte for a carriage return.
            let is_line = self.dropping.is_some()
                || line.len() > self.max_bytes.saturating_add(1)
                || !is_blank(line);
            if is_line {
                return (start, Some(end));
            }
            (start, scanned) = (end + 1, end + 1);
        }
    }

    fn find_newline(&self) -> Option<usize> {
        let at = find(b'\n', &self.buffer[self.scanned..self.end])?;
        Some(self.scanned + at)
    }

    fn take_line(&mut self) -> Option<Line> {
        loop {
            let found = self.line_end.take().or_else(|| self.find_newline());
            let line_end = found.unwrap_or(self.end);
            self.scanned = line_end;
            if self.dropping.is_some() || line_end - self.start > self.max_bytes.saturating_add(1) {
                self.drop_until(line_end);
            }
            found?;
            let next = line_end + 1;
            if let Some(dropped) = self.dropping.take() {
                (self.start, self.scanned) = (next, next);
                return Some(Line::TooLong(TooLong {
                    bytes: dropped.bytes,
                    id: dropped.scanner.id(),
                    is_response: dropped.scanner.looks_like_response(),
                    no_memory: dropped.no_memory && dropped.bytes <= self.max_bytes,
                }));
            }
            let content = self.content(line_end);
            if content.len() > self.max_bytes {
                // The line is one byte too long, and this byte is not a carriage return.
                self.drop_until(line_end);
                continue;
            }
            if content.is_empty() {
                (self.start, self.scanned) = (next, next);
                continue;
            }
            match self.take(content, next) {
                Ok(message) => return Some(Line::Message(message)),
                Err(_) => self.drop_for_memory(line_end),
            }
        }
    }

    /// Whether [`next_line`](Self::next_line) can return a line without more input.
    pub fn has_line(&self) -> bool {
        self.line_end.is_some() || self.find_line().1.is_some()
    }

    /// Removes the text after the last newline and returns it. Call this function when the stream
    /// has ended.
    pub fn take_rest(&mut self) -> Option<Vec<u8>> {
        let content = self.content(self.end);
        // Nothing more is read, so the buffer itself is returned.
        let mut rest = std::mem::take(&mut self.buffer);
        rest.truncate(content.end);
        rest.drain(..content.start);
        (self.start, self.end, self.scanned) = (0, 0, 0);
        self.line_end = None;
        (self.dropping.take().is_none() && !rest.is_empty() && rest.len() <= self.max_bytes)
            .then_some(rest)
    }

    /// Stores the memory of a line that is no longer needed. The next line that is copied reuses
    /// this memory.
    pub fn reclaim(&mut self, mut memory: Vec<u8>) {
        if memory.capacity() <= SPARE_BYTES {
            memory.clear();
            self.spare = memory;
        }
    }

    fn drop_until(&mut self, line_end: usize) {
        let dropping = self.dropping.get_or_insert_default();
        let piece = &self.buffer[self.start..line_end];
        dropping.scanner.push(piece);
        dropping.bytes += piece.len();
        self.start = line_end;
    }

    fn drop_for_memory(&mut self, line_end: usize) {
        self.drop_until(line_end);
        self.dropping.get_or_insert_default().no_memory = true;
    }

    /// Returns the range of the line that ends at `line_end`, without surrounding white space and
    /// byte-order mark.
    fn content(&self, line_end: usize) -> Range<usize> {
        let text = trim(&self.buffer[self.start..line_end]);
        let start = text.as_ptr() as usize - self.buffer.as_ptr() as usize;
        start..start + text.len()
    }

    /// Removes a line and returns its bytes. `content` is the range of the line, and `next` is the
    /// start of the next line.
    fn take(&mut self, content: Range<usize>, next: usize) -> Result<Vec<u8>, TryReserveError> {
        let rest = next..self.end;
        if content.len() < TAKE_BYTES || rest.len() > content.len() || self.start > 0 {
            let content = &self.buffer[content];
            let message = if content.len() <= self.spare.capacity() {
                let mut message = std::mem::take(&mut self.spare);
                message.extend_from_slice(content);
                message
            } else {
                fallible::copy(content)?
            };
            (self.start, self.scanned) = (next, next);
            return Ok(message);
        }
        // The line is returned in its buffer. The bytes after the line move to a new buffer.
        let mut fresh = Vec::new();
        fallible::lengthen(&mut fresh, INITIAL_BYTES.max(rest.len()))?;
        fresh[..rest.len()].copy_from_slice(&self.buffer[rest.clone()]);
        let mut message = std::mem::replace(&mut self.buffer, fresh);
        (self.start, self.scanned, self.end) = (0, 0, rest.len());
        message.truncate(content.end);
        message.drain(..content.start);
        Ok(message)
    }
}

/// Turns a message into one line: replaces its raw newlines and carriage returns by spaces, and
/// appends a newline.
///
/// JSON strings can't contain raw newlines. Therefore only white space between JSON tokens is
/// changed.
pub fn end_line(message: &mut Vec<u8>) {
    end_line_from(message, 0);
}

/// Appends a message to `lines` as one more line.
pub(crate) fn append_line(lines: &mut Vec<u8>, message: &[u8]) {
    let start = lines.len();
    lines.extend_from_slice(message);
    end_line_from(lines, start);
}

fn end_line_from(lines: &mut Vec<u8>, start: usize) {
    let message = &mut lines[start..];
    if find_either([b'\n', b'\r'], message).is_some() {
        message
            .iter_mut()
            .filter(|byte| matches!(**byte, b'\n' | b'\r'))
            .for_each(|byte| *byte = b' ');
    }
    lines.push(b'\n');
}

fn is_blank(line: &[u8]) -> bool {
    // Fast path: nearly every line begins with a printable character.
    !matches!(line.first(), Some(b'!'..=b'~')) && trim(line).is_empty()
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(buffer: &mut LineBuffer, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = buffer.room().expect("memory");
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            buffer.filled(count);
            bytes = &bytes[count..];
        }
    }

    fn drain(buffer: &mut LineBuffer) -> Vec<String> {
        std::iter::from_fn(|| buffer.next_line())
            .map(|line| match line {
                Line::Message(message) => String::from_utf8(message).expect("test input is UTF-8"),
                Line::TooLong(long) => format!(
                    "too long: {} {:?}",
                    long.bytes,
                    long.id.map(|id| id.to_string())
                ),
            })
            .collect()
    }

    /// Checks that a buffer splits `input` into the expected lines. Passes the input in two pieces,
    /// for each position of the cut, and byte by byte.
    fn check(max: usize, input: &str, expected: &[&str]) {
        let bytes = input.as_bytes();
        for cut in 0..=bytes.len() {
            let mut buffer = LineBuffer::new(max);
            push(&mut buffer, &bytes[..cut]);
            let mut lines = drain(&mut buffer);
            push(&mut buffer, &bytes[cut..]);
            lines.extend(drain(&mut buffer));
            assert_eq!(lines, expected, "{input:?} cut at {cut}");
        }
        let mut buffer = LineBuffer::new(max);
        let mut lines = Vec::new();
        for byte in bytes {
            push(&mut buffer, std::slice::from_ref(byte));
            lines.extend(drain(&mut buffer));
        }
        assert_eq!(lines, expected, "{input:?} byte by byte");
    }

    #[test]
    fn memory_of_a_line_is_used_again_if_it_is_small() {
        let mut buffer = LineBuffer::new(1 << 20);
        let long = "x".repeat(2 * SPARE_BYTES);
        push(
            &mut buffer,
            format!("first\n2\nthird\n{long}\n5\n").as_bytes(),
        );
        let next = |buffer: &mut LineBuffer| match buffer.next_line() {
            Some(Line::Message(text)) => text,
            other => panic!("{other:?}"),
        };
        let first = next(&mut buffer);
        let address = first.as_ptr();
        buffer.reclaim(first);
        let second = next(&mut buffer);
        assert_eq!((&*second, second.as_ptr()), (&b"2"[..], address));
        assert_eq!(next(&mut buffer), b"third");
        let fourth = next(&mut buffer);
        assert_eq!(fourth, long.as_bytes());
        buffer.reclaim(fourth);
        assert_eq!(buffer.spare.capacity(), 0);
        assert_eq!(next(&mut buffer), b"5");
    }

    // M-STDIO-B-01, AMB-32
    #[test]
    fn lines_end_at_newlines_and_blank_ones_are_skipped() {
        check(100, "a\nb\r\n\n  \n\u{feff}c\nrest", &["a", "b", "c"]);
        check(4, "a\n\n      \nb\n", &["a", "too long: 6 None", "b"]);
    }

    /// `has_line` is false if all complete lines are blank. If `has_line` were true, a caller would
    /// hold back its writes until `next_line` returns a line, which may never arrive.
    #[test]
    fn a_blank_line_is_none() {
        let mut buffer = LineBuffer::new(100);
        push(&mut buffer, b"\n\r\n");
        assert!(!buffer.has_line());
        push(&mut buffer, b"a\n\n \r\n\xef\xbb\xbf\n");
        assert!(buffer.has_line());
        assert!(buffer.next_line().is_some());
        assert!(!buffer.has_line());
        push(&mut buffer, b"\nb");
        assert!(!buffer.has_line());
        push(&mut buffer, b"\n\n");
        assert!(buffer.has_line());
        assert_eq!(drain(&mut buffer), ["b"]);
        assert!(!buffer.has_line() && buffer.take_rest().is_none());
    }

    // A caller that sees `has_line` and then gets no line blocks for input, and its deferred writes
    // are delayed with it.
    #[test]
    fn whoever_is_told_of_a_line_gets_one() {
        const LENGTH: u32 = 6;
        for (max, number) in (0..5).flat_map(|max| (0..4_usize.pow(LENGTH)).map(move |n| (max, n)))
        {
            let byte = |index| b"a \r\n"[number / 4_usize.pow(index) % 4];
            let input: Vec<u8> = (0..LENGTH).map(byte).collect();
            let mut buffer = LineBuffer::new(max);
            push(&mut buffer, &input);
            loop {
                let has_line = buffer.has_line();
                let line = buffer.next_line();
                assert_eq!(has_line, line.is_some(), "{max} {:?}", input.escape_ascii());
                if line.is_none() {
                    break;
                }
            }
        }
    }

    #[test]
    fn an_over_long_line_is_dropped_with_its_id_and_the_next_one_is_read() {
        check(
            10,
            "{\"id\":7,\"method\":\"x\"}\nnext\n",
            &["too long: 21 Some(\"7\")", "next"],
        );
        check(
            4,
            "abcd\r\nabcde\nabc\n",
            &["abcd", "too long: 5 None", "abc"],
        );
    }

    #[test]
    fn what_stands_before_the_end_of_the_stream_is_a_line_too() {
        let mut buffer = LineBuffer::new(10);
        push(&mut buffer, b"a\nlast");
        assert_eq!(drain(&mut buffer), ["a"]);
        assert_eq!(buffer.take_rest().as_deref(), Some(&b"last"[..]));
        assert_eq!(buffer.take_rest(), None);
    }

    // Reading is linear even in one-byte pieces. A large line leaves without a copy of the bytes
    // behind it.
    #[test]
    fn a_large_line_in_small_pieces_is_whole_and_the_buffer_shrinks_again() {
        let large = "x".repeat(3 << 20);
        let mut buffer = LineBuffer::new(4 << 20);
        for piece in large.as_bytes().chunks(7) {
            push(&mut buffer, piece);
            assert!(buffer.next_line().is_none());
        }
        push(&mut buffer, b"\nnext\n");
        assert!(buffer.has_line());
        let lines = drain(&mut buffer);
        assert!(lines[0] == large && lines[1] == "next" && lines.len() == 2);
        assert!(buffer.buffer.len() <= INITIAL_BYTES);
    }

    // M-STDIO-B-01, L-STDIO-B-03
    #[test]
    fn raw_newlines_of_pretty_printed_values_do_not_reach_the_wire() {
        let mut message = b"{\r\n  \"a\": \"\\n\"\n}".to_vec();
        end_line(&mut message);
        assert_eq!(message, b"{    \"a\": \"\\n\" }\n");
    }
}
