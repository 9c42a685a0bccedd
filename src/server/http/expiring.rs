//! Ends a long-lived stream when the authorization of its reader expires.
//!
//! The response to an ordinary request is not ended, since the request was authorized when it
//! arrived.

use std::time::{Duration, Instant, SystemTime};

use super::verifier::has_passed;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::principal::Principal;
use crate::transport::http::{ResponseHead, ResponseWriter};

/// A response writer that fails the first write after the authorization has expired. Later writes
/// are allowed again, so that the stream can end with a last event.
#[derive(Debug)]
struct Expiring {
    inner: Box<dyn ResponseWriter>,
    expiry: SystemTime,
    has_refused: bool,
}

/// Wraps the response writer of a stream if the principal's authorization has an expiry. Otherwise
/// returns the writer unchanged.
pub(super) fn bounded(
    response: Box<dyn ResponseWriter>,
    principal: Option<&Principal>,
) -> Box<dyn ResponseWriter> {
    match principal.and_then(Principal::expiry) {
        Some(expiry) => Box::new(Expiring {
            inner: response,
            expiry,
            has_refused: false,
        }),
        None => response,
    }
}

impl ResponseWriter for Expiring {
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()> {
        self.inner.respond(head, body)
    }

    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()> {
        self.inner.begin(head, first)
    }

    fn write(&mut self, piece: &[u8], deadline: Option<Instant>) -> Result<bool> {
        if !self.has_refused && has_passed(self.expiry) {
            self.has_refused = true;
            let text = "the authorization of the stream's reader has expired";
            return Err(Error::new(ErrorKind::Auth, text));
        }
        self.inner.write(piece, deadline)
    }

    fn finish(&mut self) -> Result<()> {
        self.inner.finish()
    }

    fn on_gone(&mut self, callback: Box<dyn FnOnce() + Send>) {
        self.inner.on_gone(callback);
    }

    fn on_silence(&mut self, after: Duration, callback: Box<dyn FnOnce() + Send>) {
        self.inner.on_silence(after, callback);
    }
}
