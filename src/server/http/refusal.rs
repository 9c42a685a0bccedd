//! Responses that are not one to a message: what is wrong with a request before it is served, and what to do about it.

use std::borrow::Cow;

use super::guard;
use super::reply::json_head;
use crate::error::{Excerpt, RpcError};
use crate::jsonrpc::{self, Malformed, Request};
use crate::transport::http::{HttpRequest, ResponseHead};

/// A response that is not one to a message.
pub(super) struct Refusal {
    pub(super) head: ResponseHead,
    pub(super) body: Vec<u8>,
}

impl Refusal {
    pub(super) fn new(status: u16, error: &RpcError) -> Self {
        Self {
            head: json_head(status),
            body: jsonrpc::write_error(None, error),
        }
    }

    pub(super) fn text(status: u16, text: impl Into<String>) -> Self {
        Self::new(status, &RpcError::invalid_request(text))
    }

    pub(super) fn header(
        mut self,
        name: &'static str,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.head = self.head.header(name, value);
        self
    }
}

pub(super) fn unknown_version(request: &HttpRequest<'_>) -> Refusal {
    let version = guard::text(request, "MCP-Protocol-Version").unwrap_or_default();
    Refusal::text(
        400,
        format!(
            "MCP-Protocol-Version '{}' knows no sessions here",
            Excerpt(&version)
        ),
    )
}

pub(super) fn no_session() -> Refusal {
    Refusal::text(
        400,
        "Mcp-Session-Id is missing: send initialize first, then the id that comes with its answer",
    )
}

pub(super) fn refuse_request(request: &Request, error: &RpcError) -> Refusal {
    Refusal {
        head: json_head(400),
        body: jsonrpc::write_error(Some(request.id()), error),
    }
}

pub(super) fn refuse_malformed(malformed: &Malformed) -> Refusal {
    Refusal {
        head: json_head(400),
        body: jsonrpc::write_error(malformed.id.as_ref(), &malformed.error),
    }
}

/// Spec: AMB-07.
pub(super) fn check_media(request: &HttpRequest<'_>) -> Result<(), Refusal> {
    let media = request.value("Content-Type").unwrap_or_default();
    let media = media.split(|byte| *byte == b';').next().unwrap_or_default();
    if !media.trim_ascii().eq_ignore_ascii_case(b"application/json") {
        return Err(Refusal::text(
            415,
            "Content-Type has to be application/json",
        ));
    }
    if !accepts(request, "application/json") && !accepts(request, "text/event-stream") {
        let text = "Accept has to name application/json and text/event-stream";
        return Err(Refusal::text(406, text));
    }
    Ok(())
}

/// Whether a client takes a media type. One that does not say takes all.
pub(super) fn accepts(request: &HttpRequest<'_>, media: &str) -> bool {
    let (main, _) = media.split_once('/').unwrap_or((media, ""));
    let mut said = false;
    for value in request.values("Accept") {
        for range in value.split(|byte| *byte == b',') {
            said = true;
            let range = range.split(|byte| *byte == b';').next().unwrap_or_default();
            let range = String::from_utf8_lossy(range.trim_ascii()).to_ascii_lowercase();
            if range == media || range == "*/*" || range == format!("{main}/*") {
                return true;
            }
        }
    }
    !said
}
