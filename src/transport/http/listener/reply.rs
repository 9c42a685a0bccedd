//! The response to a request that a listener has read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::head::Head;
use super::shared::Callback;
use super::wire::{self, After, Length};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::http::{ResponseHead, ResponseWriter};

/// The writer of a response to a client of the listener.
#[derive(Debug)]
pub(super) struct Reply {
    conn: Arc<Connection>,
    is_http10: bool,
    keeps_alive: bool,
    is_head: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    /// The response is a stream that has begun. The field determines how the end of its body is
    /// marked.
    Body(Delimiter),
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delimiter {
    Chunks,
    End,
    /// The response has no body. The pieces that are written to it are dropped.
    NoBody,
}

impl Reply {
    pub(super) fn new(conn: Arc<Connection>, method: &str, head: &Head, closes: bool) -> Self {
        Self {
            conn,
            is_http10: head.is_http10,
            keeps_alive: head.keeps_alive && !closes,
            is_head: method == "HEAD",
            phase: Phase::Waiting,
        }
    }

    fn after(&self) -> After {
        match (self.keeps_alive, self.is_http10) {
            (false, _) => After::Closes,
            (true, true) => After::StaysAsAsked,
            (true, false) => After::Stays,
        }
    }

    fn delimiter(&self, status: u16) -> Delimiter {
        if self.is_head || wire::has_no_body(status) {
            Delimiter::NoBody
        } else if self.is_http10 {
            Delimiter::End
        } else {
            Delimiter::Chunks
        }
    }

    fn expect_nothing_sent(&self) -> Result<()> {
        match self.phase {
            Phase::Waiting => Ok(()),
            _ => Err(Error::new(
                ErrorKind::State,
                "the response has begun already",
            )),
        }
    }

    fn body(&self) -> Result<Delimiter> {
        match self.phase {
            Phase::Body(delimiter) => Ok(delimiter),
            Phase::Waiting => Err(Error::new(
                ErrorKind::State,
                "the response has not begun: call begin first",
            )),
            Phase::Over => Err(Error::new(
                ErrorKind::State,
                "the response has ended already",
            )),
        }
    }
}

impl ResponseWriter for Reply {
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()> {
        self.expect_nothing_sent()?;
        self.keeps_alive &= self.conn.keeps_alive();
        let text = wire::head(head, Length::Known(body.len()), self.after())?;
        self.phase = Phase::Over;
        let body = match self.delimiter(head.status) {
            Delimiter::NoBody => &[],
            _ => body,
        };
        self.conn.respond(&[&text, body], !self.keeps_alive)
    }

    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()> {
        self.expect_nothing_sent()?;
        let delimiter = self.delimiter(head.status);
        self.keeps_alive &= self.conn.keeps_alive() && delimiter != Delimiter::End;
        let length = match self.is_http10 {
            true => Length::UntilTheEnd,
            false => Length::Chunked,
        };
        let text = wire::head(head, length, self.after())?;
        self.phase = Phase::Body(delimiter);
        let (start, end) = match delimiter {
            Delimiter::Chunks if !first.is_empty() => (wire::chunk_start(first.len()), "\r\n"),
            _ => (String::new(), ""),
        };
        let (first, quiet) = match delimiter {
            Delimiter::NoBody => (&[][..], None),
            _ => (first, head.while_quiet),
        };
        let parts = [&text, start.as_bytes(), first, end.as_bytes()];
        self.conn
            .begin(&parts, quiet, delimiter == Delimiter::Chunks)
    }

    fn write(&mut self, piece: &[u8], deadline: Option<Instant>) -> Result<bool> {
        match self.body()? {
            // An empty chunk would mark the end of the body.
            Delimiter::NoBody => self.conn.write(&[], deadline),
            _ if piece.is_empty() => self.conn.write(&[], deadline),
            Delimiter::End => self.conn.write(&[piece], deadline),
            Delimiter::Chunks => {
                let start = wire::chunk_start(piece.len());
                self.conn
                    .write(&[start.as_bytes(), piece, b"\r\n"], deadline)
            }
        }
    }

    fn finish(&mut self) -> Result<()> {
        let last: &[u8] = match self.body()? {
            Delimiter::Chunks => b"0\r\n\r\n",
            Delimiter::End | Delimiter::NoBody => b"",
        };
        self.phase = Phase::Over;
        self.conn.finish(last, !self.keeps_alive)
    }

    fn on_gone(&mut self, callback: Callback) {
        if self.phase != Phase::Over {
            self.conn.on_gone(callback);
        }
    }

    fn on_silence(&mut self, after: Duration, callback: Callback) {
        if self.phase == Phase::Waiting {
            self.conn.on_silence(after, callback);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.phase != Phase::Over {
            self.conn.break_off();
        }
    }
}
