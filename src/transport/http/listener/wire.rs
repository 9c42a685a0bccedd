//! Serializes the head of a response.

use std::cell::Cell;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use memchr::memchr3;

use crate::error::{Error, ErrorKind, Result};
use crate::schema::date::{HttpDate, http_date};
use crate::transport::http::ResponseHead;

/// The framing of a response body: how the end of the body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Known(usize),
    Chunked,
    UntilTheEnd,
}

/// Whether the connection stays open after a response. The `Connection` field of the response
/// states this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The connection stays open. No field is needed, because this is the default of HTTP/1.1.
    Stays,
    /// The connection stays open, and the response has `Connection: keep-alive`. A client of
    /// HTTP/1.0 needs this field.
    StaysAsAsked,
    Closes,
}

/// Whether responses with this status never have a body (RFC 9110, section 6.4.1).
pub(super) fn has_no_body(status: u16) -> bool {
    matches!(status, 204 | 304)
}

/// Returns the chunk-size line, which precedes the data of a chunk.
pub(super) fn chunk_start(len: usize) -> String {
    format!("{len:x}\r\n")
}

/// Serializes the head of a response.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] for a status outside 200 to 599, and for a value with a line break or
/// NUL.
pub(super) fn head(head: &ResponseHead, length: Length, after: After) -> Result<Vec<u8>> {
    let ResponseHead {
        status,
        headers,
        while_quiet: _,
    } = head;
    if !(200..=599).contains(status) {
        let text = format!("status {status} is not the status of a response: use 200 to 599");
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    let mut text = Vec::with_capacity(256);
    // Writing to memory never fails.
    _ = write!(text, "HTTP/1.1 {status} {}\r\nDate: ", reason(*status));
    text.extend_from_slice(&date());
    for (name, value) in headers {
        if memchr3(b'\r', b'\n', 0, value.as_bytes()).is_some() {
            let text = format!("the value of header field {name} has a line break in it");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        for part in ["\r\n", name, ": ", value] {
            text.extend_from_slice(part.as_bytes());
        }
    }
    _ = match length {
        _ if has_no_body(*status) => Ok(()),
        Length::Known(length) => write!(text, "\r\nContent-Length: {length}"),
        Length::Chunked => write!(text, "\r\nTransfer-Encoding: chunked"),
        Length::UntilTheEnd => Ok(()),
    };
    text.extend_from_slice(match after {
        After::Stays => b"\r\n\r\n",
        After::StaysAsAsked => b"\r\nConnection: keep-alive\r\n\r\n",
        After::Closes => b"\r\nConnection: close\r\n\r\n",
    });
    Ok(text)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        // The reason phrase may be empty (RFC 9112, section 4).
        _ => "",
    }
}

thread_local! {
    /// The time that was formatted last, in seconds since 1970, and its text.
    static LAST: Cell<(u64, HttpDate)> = const { Cell::new((0, *b"Thu, 01 Jan 1970 00:00:00 GMT")) };
}

fn date() -> HttpDate {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let second = now.map_or(0, |since| since.as_secs());
    let (last, date) = LAST.get();
    if last == second {
        return date;
    }
    let date = http_date(second);
    LAST.set((second, date));
    date
}
