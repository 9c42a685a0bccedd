//! CORS: allows web pages of the listed origins to read responses.
//!
//! Spec: Fetch, "CORS protocol".

use std::borrow::Cow;
use std::time::{Duration, Instant};

use super::fields::text;
use crate::error::Result;
use crate::transport::http::{HttpRequest, ResponseHead, ResponseWriter};

/// Returns the response to a browser's preflight request.
pub(super) fn preflight(request: &HttpRequest<'_>, methods: &'static str) -> ResponseHead {
    let fields = text(request, "Access-Control-Request-Headers").unwrap_or_default();
    let fields: String = fields
        .chars()
        .filter(|char| char.is_ascii_alphanumeric() || "-_, ".contains(*char))
        .collect();
    ResponseHead::new(204)
        .header("Access-Control-Allow-Methods", methods)
        .header("Access-Control-Allow-Headers", fields)
        .header("Access-Control-Max-Age", "600")
}

/// A response writer that adds the CORS fields for an origin to each response head.
#[derive(Debug)]
pub(super) struct ForReader {
    pub(super) inner: Box<dyn ResponseWriter>,
    pub(super) origin: String,
}

impl ForReader {
    fn head(&self, head: &ResponseHead) -> ResponseHead {
        head.clone()
            .header(
                "Access-Control-Allow-Origin",
                Cow::Owned(self.origin.clone()),
            )
            .header(
                "Access-Control-Expose-Headers",
                "Mcp-Session-Id, WWW-Authenticate, DPoP-Nonce",
            )
            .header("Vary", "Origin")
    }
}

impl ResponseWriter for ForReader {
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()> {
        let head = self.head(head);
        self.inner.respond(&head, body)
    }

    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()> {
        let head = self.head(head);
        self.inner.begin(&head, first)
    }

    fn write(&mut self, piece: &[u8], deadline: Option<Instant>) -> Result<bool> {
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
