//! The writer of server-sent events.
//!
//! Spec: HTML, "Server-sent events".

use std::io::Write as _;
use std::time::Duration;

use crate::schema::json::millis;

/// The media type of a stream of events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// A comment, which the parsers of event streams skip. Sending the comment keeps a quiet stream
/// open.
pub(crate) const QUIET: &[u8] = b": keep-alive\n\n";

/// Appends an event that contains a JSON message. White space between the tokens of the message may
/// contain line breaks. A line break would end the field, so line breaks are replaced by spaces.
pub(crate) fn write_event(out: &mut Vec<u8>, id: Option<&str>, message: &[u8]) {
    write_id(out, id);
    out.extend_from_slice(b"data: ");
    let mut start = out.len();
    out.extend_from_slice(message);
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &out[start..]) {
        start += at;
        out[start] = b' ';
    }
    out.extend_from_slice(b"\n\n");
}

/// Appends an event that has an id but no data. A client can resume the stream from the event's id.
/// `retry` is the time that the client should wait before it resumes the stream.
pub(crate) fn write_mark(out: &mut Vec<u8>, id: &str, retry: Option<Duration>) {
    write_id(out, Some(id));
    if let Some(retry) = retry {
        _ = writeln!(out, "retry: {}", millis(retry));
    }
    out.extend_from_slice(b"data: \n\n");
}

/// Appends an event with a type and one line of text.
pub(crate) fn write_typed(out: &mut Vec<u8>, event: &str, text: &str) {
    _ = write!(out, "event: {event}\ndata: {text}\n\n");
}

fn write_id(out: &mut Vec<u8>, id: Option<&str>) {
    if let Some(id) = id {
        _ = writeln!(out, "id: {id}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_of_data() {
        let mut out = Vec::new();
        write_event(&mut out, Some("3-1"), b"{\"a\":\r\n 1}");
        write_mark(&mut out, "3-2", Some(Duration::from_millis(500)));
        write_typed(&mut out, "endpoint", "/messages?id=x");
        let expected = "id: 3-1\ndata: {\"a\":   1}\n\nid: 3-2\nretry: 500\ndata: \n\n\
                        event: endpoint\ndata: /messages?id=x\n\n";
        assert_eq!(String::from_utf8(out).expect("text"), expected);
    }
}
