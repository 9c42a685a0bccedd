//! The parser of server-sent events. Its input is bytes, and its output is events.
//!
//! Lines end with LF, CR or CRLF. Unknown fields, comments and events without data are skipped. If
//! no empty line follows the last event of a stream, the event is dropped. The input may be cut
//! into pieces of any size, and the parser looks at each byte once. A line or event beyond the
//! limit is dropped while it arrives.
//!
//! Spec: HTML Living Standard, section 9.2.6, "Interpreting an event stream".

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::fallible;

/// An item that the parser found in its input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// An event with data.
    Event {
        /// The event type. Defaults to `message` if the stream gives no type.
        name: Cow<'static, str>,
        data: Vec<u8>,
    },
    /// An event whose data the parser dropped. The event was too long, or there was no memory for
    /// it.
    Dropped {
        /// The number of data bytes of the dropped event that the parser has counted. The actual
        /// number may be higher.
        bytes: usize,
        /// Whether the event was within the limit, but there was no memory for it.
        no_memory: bool,
    },
}

/// The parser of one event stream.
#[derive(Debug)]
pub(crate) struct EventReader {
    max_bytes: usize,
    /// The beginning of the incomplete line. A line that arrives in one piece is parsed in place.
    line: Vec<u8>,
    /// The full length of the incomplete line. If the length exceeds `line.len()`, a part of the
    /// line was dropped.
    line_len: usize,
    /// Whether the last piece of input ended with CR. If so, an LF at the start of the next piece
    /// belongs to that CR.
    after_cr: bool,
    at_start: bool,
    name: Cow<'static, str>,
    data: Vec<u8>,
    data_len: usize,
    has_data: bool,
    /// Whether data of the incomplete event was dropped because the event is too long.
    is_cut: bool,
    /// Whether there was no memory for the incomplete event or its line.
    no_memory: bool,
    /// The id of the incomplete event, if a line of the event has set one.
    id: Option<String>,
    last_id: String,
    retry: Option<Duration>,
    comments: u64,
}

/// The default type of an event.
const MESSAGE: Cow<'static, str> = Cow::Borrowed("message");

/// The maximum length of an event type or id, in bytes. A longer type or id is ignored.
const MAX_WORD: usize = 4096;

impl EventReader {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            line: Vec::new(),
            line_len: 0,
            after_cr: false,
            at_start: true,
            name: MESSAGE,
            data: Vec::new(),
            data_len: 0,
            has_data: false,
            is_cut: false,
            no_memory: false,
            id: None,
            last_id: String::new(),
            retry: None,
            comments: 0,
        }
    }

    /// Sets the maximum length of the data of an event. The new maximum also applies to the event
    /// that is being read.
    pub(crate) fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    /// Returns the id of the last complete event that had an id. A client can resume the stream
    /// from this id. Returns an empty text if no event had an id.
    pub(crate) fn last_id(&self) -> &str {
        &self.last_id
    }

    /// Returns the time that a client waits before it reconnects. Returns `None` if the server has
    /// not set a time.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Returns the number of comments in the stream so far. Servers send comments as keep-alives.
    pub(crate) fn comments(&self) -> u64 {
        self.comments
    }

    /// Prepares for a new stream that continues the current one. Drops the incomplete event.
    pub(crate) fn start_anew(&mut self) {
        self.line.clear();
        self.line_len = 0;
        (self.after_cr, self.at_start) = (false, true);
        self.clear_event();
    }

    /// Parses a piece of input, and passes each item to `take`. When `take` returns `Break`, the
    /// rest of the piece is dropped.
    pub(crate) fn push(
        &mut self,
        mut piece: &[u8],
        take: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while !piece.is_empty() {
            if std::mem::take(&mut self.after_cr) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            // About half of all lines are empty: check the first byte before the search.
            let end = match piece[0] {
                b'\r' | b'\n' => Some(0),
                _ => memchr::memchr2(b'\r', b'\n', piece),
            };
            let Some(end) = end else {
                self.keep(piece);
                break;
            };
            let line = &piece[..end];
            self.after_cr = piece[end] == b'\r';
            piece = &piece[end + 1..];
            let item = if self.line_len == 0 {
                self.take_line(line, 0)
            } else {
                self.keep(line);
                self.end_line()
            };
            if let Some(item) = item {
                take(item)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn keep(&mut self, part: &[u8]) {
        // No data after a missing part is kept.
        let is_whole = self.line.len() == self.line_len;
        self.line_len += part.len();
        if is_whole {
            // The name of the field needs some room, too.
            let room = (self.max_bytes.saturating_add(16)).saturating_sub(self.line.len());
            // If there is no memory, the part is missing; the length of the line shows that.
            _ = fallible::append(&mut self.line, &part[..part.len().min(room)]);
        }
    }

    fn end_line(&mut self) -> Option<Item> {
        let mut line = std::mem::take(&mut self.line);
        let missing = std::mem::take(&mut self.line_len) - line.len();
        let item = self.take_line(&line, missing);
        line.clear();
        self.line = line;
        item
    }

    /// Processes a complete line. `missing` is the number of bytes that were dropped from the
    /// line's end.
    fn take_line(&mut self, line: &[u8], missing: usize) -> Option<Item> {
        let text = match line.strip_prefix("\u{feff}".as_bytes()) {
            Some(rest) if self.at_start => rest,
            _ => line,
        };
        self.at_start = false;
        if text.is_empty() && missing == 0 {
            return self.end_event();
        }
        // Nearly all lines are data.
        let (field, value) = match text.strip_prefix(b"data:") {
            Some(value) => (&b"data"[..], value),
            None => match memchr::memchr(b':', text) {
                Some(at) => (&text[..at], &text[at + 1..]),
                // So few bytes of the line were kept that it may have been data.
                None if missing > 0 && b"data".starts_with(text) => (&b"data"[..], &[][..]),
                None => (text, &[][..]),
            },
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        self.field(field, value, missing);
        None
    }

    fn field(&mut self, field: &[u8], value: &[u8], missing: usize) {
        let word = || {
            let fits = missing == 0 && value.len() <= MAX_WORD && !value.contains(&0);
            fits.then(|| String::from_utf8(value.to_vec()).ok())?
        };
        match field {
            b"" => self.comments += 1,
            b"data" => {
                let added = value.len() + usize::from(self.has_data);
                self.data_len += added + missing;
                self.no_memory |= missing > 0;
                // The limit may rise during an event, but data that was dropped stays missing.
                self.is_cut |= self.data_len > self.max_bytes;
                if !self.is_cut && !self.no_memory {
                    self.add_data(value, added);
                }
                self.has_data = true;
            }
            b"event" if value == MESSAGE.as_bytes() => self.name = MESSAGE,
            b"event" => {
                self.name = word()
                    .filter(|name| !name.is_empty())
                    .map_or(MESSAGE, Cow::Owned)
            }
            b"id" => {
                if let Some(id) = word() {
                    self.id = Some(id);
                }
            }
            b"retry" => {
                let digits = word().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                if let Some(millis) = digits.and_then(|text| text.parse().ok()) {
                    self.retry = Some(Duration::from_millis(millis));
                }
            }
            _ => {}
        }
    }

    fn add_data(&mut self, value: &[u8], added: usize) {
        if self.data.try_reserve(added).is_err() {
            self.no_memory = true;
            self.data = Vec::new();
            return;
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    fn end_event(&mut self) -> Option<Item> {
        if let Some(id) = self.id.take() {
            self.last_id = id;
        }
        let item = match (self.has_data, self.is_cut) {
            (true, is_too_long) if is_too_long || self.no_memory => Some(Item::Dropped {
                bytes: self.data_len,
                no_memory: !is_too_long,
            }),
            // Priming events have an id and no data.
            (true, _) if !self.data.is_empty() => Some(Item::Event {
                name: std::mem::replace(&mut self.name, MESSAGE),
                data: std::mem::take(&mut self.data),
            }),
            _ => None,
        };
        self.clear_event();
        item
    }

    fn clear_event(&mut self) {
        self.id = None;
        self.name = MESSAGE;
        self.data.clear();
        (self.data_len, self.has_data) = (0, false);
        (self.is_cut, self.no_memory) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]], max_bytes: usize) -> (Vec<String>, EventReader) {
        let mut reader = EventReader::new(max_bytes);
        let mut items = Vec::new();
        for piece in pieces {
            let flow = reader.push(piece, &mut |item| {
                items.push(match item {
                    Item::Event { name, data } => {
                        format!("{name}={}", String::from_utf8_lossy(&data))
                    }
                    Item::Dropped { bytes, no_memory } => {
                        assert!(!no_memory);
                        format!("too long: {bytes}")
                    }
                });
                ControlFlow::Continue(())
            });
            assert!(flow.is_continue());
        }
        (items, reader)
    }

    /// Parses a stream as a whole, cut in two at every offset, and in single bytes.
    fn check(stream: &str, expected: &[&str]) -> EventReader {
        let bytes = stream.as_bytes();
        for cut in 0..=bytes.len() {
            let (items, _) = read(&[&bytes[..cut], &bytes[cut..]], 100);
            assert_eq!(items, expected, "{stream:?} cut at {cut}");
        }
        let singles: Vec<&[u8]> = bytes.chunks(1).collect();
        let (items, reader) = read(&singles, 100);
        assert_eq!(items, expected, "{stream:?} in single bytes");
        reader
    }

    // L-SSE-B-07, M-HTTP-C-19
    #[test]
    fn streams_are_read_as_the_standard_says() {
        check("data: a\n\n", &["message=a"]);
        check(
            "data:a\r\n\r\ndata: b\r\rdata:  c\n\n",
            &["message=a", "message=b", "message= c"],
        );
        check("\u{feff}data: a\n\n", &["message=a"]);
        check("data: a\n\u{feff}data: b\n\n", &["message=a"]);
        check(
            "data: {\ndata:  \"x\": 1\ndata\ndata: }\n\n",
            &["message={\n \"x\": 1\n\n}"],
        );
        check(
            "event: endpoint\ndata: /m\n\ndata: x\n\n",
            &["endpoint=/m", "message=x"],
        );
        check(
            "unknown: x\nwithout a colon\n:\r\n: ping\n\ndata: a\n\n",
            &["message=a"],
        );
        check("data\n\ndata:\n\nid: 1\n\nevent: x\n\n", &[]);
        check("data: never ended", &[]);
        check("data: never ended\n", &[]);
        let reader = check(
            "id: 7\nretry: 500\ndata:\n\nretry: 1x\nid: a\0b\ndata: {}\n: c\n\n",
            &["message={}"],
        );
        assert_eq!(reader.last_id(), "7");
        assert_eq!(reader.retry(), Some(Duration::from_millis(500)));
        assert_eq!(reader.comments(), 1);
        assert_eq!(
            check(
                "id: 7\ndata: a\n\nid\ndata: b\n\n",
                &["message=a", "message=b"]
            )
            .last_id(),
            ""
        );
    }

    #[test]
    fn what_is_too_long_is_dropped_and_the_stream_goes_on() {
        let long = "x".repeat(60);
        let stream = format!("data: {long}\ndata: {long}\n\ndata: a\n\n");
        check(&stream, &["too long: 121", "message=a"]);
        let line = "y".repeat(5000);
        let stream = format!(": {line}\ndata: {line}\nid: {line}\n\ndata: a\n\n");
        let (items, reader) = read(&[stream.as_bytes()], 100);
        assert_eq!(items.len(), 2);
        assert!(items[0].starts_with("too long"));
        assert_eq!(items[1], "message=a");
        assert_eq!(reader.last_id(), "");
        assert!(reader.line.capacity() < 1000);
    }

    // A reader that resumed from its id would never get this event.
    #[test]
    fn an_event_that_did_not_come_whole_is_not_where_to_go_on_from() {
        let mut reader = check("id: 7\ndata: a\n\nid: 8\ndata: b\n", &["message=a"]);
        assert_eq!(reader.last_id(), "7");
        reader.start_anew();
        let flow = reader.push(b"data: c\n\n", &mut |_| ControlFlow::Continue(()));
        assert!(flow.is_continue());
        assert_eq!(reader.last_id(), "7");
    }

    #[test]
    fn a_limit_that_rises_brings_no_half_of_an_event() {
        let mut reader = EventReader::new(4);
        let mut seen = Vec::new();
        let mut push = |reader: &mut EventReader, piece: &[u8]| {
            let flow = reader.push(piece, &mut |item| {
                seen.push(match item {
                    Item::Event { data, .. } => String::from_utf8_lossy(&data).into_owned(),
                    Item::Dropped { bytes, .. } => format!("too long: {bytes}"),
                });
                ControlFlow::Continue(())
            });
            assert!(flow.is_continue());
        };
        push(&mut reader, b"data: abcdef\n");
        reader.set_max_bytes(100);
        push(&mut reader, b"data: ghi\n\ndata: abcdef\n\n");
        assert_eq!(seen, ["too long: 10", "abcdef"]);
    }

    #[test]
    fn who_has_enough_gets_no_more() {
        let mut reader = EventReader::new(100);
        let mut seen = 0;
        let flow = reader.push(b"data: a\n\ndata: b\n\n", &mut |_| {
            seen += 1;
            ControlFlow::Break(())
        });
        assert!(flow.is_break());
        assert_eq!(seen, 1);
        reader.start_anew();
        assert!(read(&[b"data: a\n\n"], 100).0.len() == 1);
    }
}
