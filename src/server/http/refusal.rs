//! HTTP responses to requests that do not reach a handler, with the reason of the refusal.

use std::borrow::Cow;

use crate::error::{Excerpt, RpcError};
use crate::jsonrpc::{self, Malformed, Request, RequestId};
use crate::transport::http::{HttpRequest, ResponseHead};

/// Returns the head of a response that is a single message.
pub(super) fn json_head(status: u16) -> ResponseHead {
    ResponseHead::new(status).header("Content-Type", "application/json")
}

/// The HTTP response to a request that is answered without a handler, most often a refusal.
pub(super) struct Refusal {
    pub(super) head: ResponseHead,
    pub(super) body: Vec<u8>,
}

impl Refusal {
    pub(super) fn new(status: u16, error: &RpcError) -> Self {
        Self::of_message(None, status, error)
    }

    /// Refuses the message with this id.
    fn of_message(id: Option<&RequestId>, status: u16, error: &RpcError) -> Self {
        Self {
            head: json_head(status),
            body: jsonrpc::write_error(id, error),
        }
    }

    /// Makes a response without a body.
    pub(super) fn empty(head: ResponseHead) -> Self {
        let body = Vec::new();
        Self { head, body }
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

/// Returns the refusal of a message that names a session which is not there. The refusal of a
/// request has the request's id: the session may have ended while the request waited.
pub(super) fn unknown_session(id: Option<&RequestId>) -> Refusal {
    let text = "there is no such session (any more): send initialize without Mcp-Session-Id";
    Refusal::of_message(id, 404, &RpcError::invalid_request(text))
}

pub(super) fn unknown_version(request: &HttpRequest<'_>) -> Refusal {
    let version = token(request, "MCP-Protocol-Version").unwrap_or_default();
    let version = String::from_utf8_lossy(version);
    let version = Excerpt(&version);
    let text = format!("MCP-Protocol-Version '{version}' knows no sessions here");
    Refusal::text(400, text)
}

pub(super) fn no_session() -> Refusal {
    let text =
        "Mcp-Session-Id is missing: send initialize first, then the id that comes with its answer";
    Refusal::text(400, text)
}

pub(super) fn refuse_request(request: &Request, error: &RpcError) -> Refusal {
    Refusal::of_message(Some(request.id()), 400, error)
}

pub(super) fn refuse_malformed(malformed: &Malformed) -> Refusal {
    let status = if malformed.is_no_memory() { 503 } else { 400 };
    Refusal::of_message(malformed.id.as_ref(), status, &malformed.error)
}

/// The header fields that decide whether and how a request is served.
pub(super) const DECIDING: [&str; 7] = [
    "Accept",
    "Authorization",
    "Content-Type",
    "Host",
    "Last-Event-ID",
    "Mcp-Session-Id",
    "Origin",
];

/// The header fields of a modern request that repeat members of its body.
pub(super) const MIRRORING: [&str; 3] = ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"];

/// The header fields whose value has no comma. If such a value is a list, an intermediary has
/// joined several fields of this name (RFC 9110, section 5.3).
const TOKENS: [&str; 3] = ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Session-Id"];

/// Returns the value of a header field. If it is a list of equal values that an intermediary has
/// joined, returns one of them. Returns `None` if they are different.
pub(super) fn one_value<'v>(name: &str, value: &'v [u8]) -> Option<&'v [u8]> {
    let is_token = || TOKENS.iter().any(|token| token.eq_ignore_ascii_case(name));
    if !value.contains(&b',') || !is_token() {
        return Some(value);
    }
    let mut values = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// Returns the value of one of the [`TOKENS`] in a request.
pub(super) fn token<'a>(request: &HttpRequest<'a>, name: &str) -> Option<&'a [u8]> {
    request.value(name).and_then(|value| one_value(name, value))
}

/// Returns the name of a header field that occurs several times in a request, with different
/// values. Only the fields in `names` are checked. Two programs that forward or read such a request
/// could use different values.
pub(super) fn contradicted(
    request: &HttpRequest<'_>,
    names: &[&'static str],
) -> Option<&'static str> {
    let fields = request.headers;
    // Nearly all requests have each field once, so the names are compared with each other first.
    let contradicts = |&(at, (name, value)): &(usize, &(&str, &[u8]))| {
        let one = one_value(name, value);
        let is_other = |before: &[u8]| one_value(name, before) != one;
        let mut before = fields[..at].iter();
        one.is_none()
            || before.any(|(other, before)| other.eq_ignore_ascii_case(name) && is_other(before))
    };
    let contradicting = fields.iter().enumerate().filter(contradicts);
    let mut known = contradicting.filter_map(|(_, (name, _))| {
        let known = names.iter().find(|known| known.eq_ignore_ascii_case(name));
        known.copied()
    });
    known.next()
}

pub(super) fn contradiction(name: &str) -> String {
    format!("header field {name} is there more than once, with different values: send it once")
}

/// Returns whether a request goes to a path, with or without a slash at the end.
pub(super) fn is_at(request: &HttpRequest<'_>, path: &str) -> bool {
    let asked = request.target.split('?').next().unwrap_or_default();
    without_slash(asked) == without_slash(path)
}

pub(super) fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// Checks that a request declares a JSON body, and that the client accepts JSON or event streams.
///
/// Spec: RFC 9110, section 15.5.16.
// AMB-07
pub(super) fn check_media(request: &HttpRequest<'_>) -> Result<(), Refusal> {
    check_encoding(request)?;
    let media = request.value("Content-Type").unwrap_or_default();
    let media = media.split(|byte| *byte == b';').next().unwrap_or_default();
    if !media.trim_ascii().eq_ignore_ascii_case(b"application/json") {
        let text = "Content-Type has to be application/json";
        return Err(Refusal::text(415, text));
    }
    if !accepts(request, "application/json") && !accepts(request, "text/event-stream") {
        let text = "Accept has to name application/json and text/event-stream";
        return Err(Refusal::text(406, text));
    }
    Ok(())
}

/// Refuses a request whose body has a content coding, since the server decodes no content coding.
pub(super) fn check_encoding(request: &HttpRequest<'_>) -> Result<(), Refusal> {
    let codings = request
        .values("Content-Encoding")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii);
    let mut unknown =
        codings.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
    match unknown.next() {
        None => Ok(()),
        Some(coding) => {
            let coding = String::from_utf8_lossy(coding);
            let text = format!(
                "Content-Encoding '{}' is not understood: send the body as it is",
                Excerpt(&coding)
            );
            Err(Refusal::text(415, text).header("Accept-Encoding", "identity"))
        }
    }
}

/// Returns whether a client accepts a media type. A client without an `Accept` field accepts all
/// types. If several media ranges match, the most specific one counts.
///
/// Spec: RFC 9110, section 12.5.1.
pub(super) fn accepts(request: &HttpRequest<'_>, media: &str) -> bool {
    let main = media.find('/').map_or(media, |at| &media[..=at]);
    let (mut said, mut found) = (false, (0, false));
    let ranges = request
        .values("Accept")
        .flat_map(|value| value.split(|byte| *byte == b','));
    for range in ranges {
        // Most clients name a type without parameters. No other range is more specific.
        if range.trim_ascii().eq_ignore_ascii_case(media.as_bytes()) {
            return true;
        }
        let end = range.iter().position(|byte| *byte == b';');
        let (range, parameters) = range.split_at(end.unwrap_or(range.len()));
        let range = range.trim_ascii();
        said |= !range.is_empty();
        let narrowness = match range {
            _ if range.eq_ignore_ascii_case(media.as_bytes()) => 3,
            b"*/*" => 1,
            [range @ .., b'*'] if range.eq_ignore_ascii_case(main.as_bytes()) => 2,
            _ => continue,
        };
        let mut parameters = parameters.split(|byte| *byte == b';');
        let takes = !parameters.any(|parameter| is_no_weight(parameter.trim_ascii()));
        let (before, took) = found;
        if narrowness > before {
            found = (narrowness, takes);
        } else if narrowness == before {
            found = (narrowness, took || takes);
        }
    }
    match found {
        (0, _) => !said,
        (_, takes) => takes,
    }
}

/// Returns whether a parameter of a media range is the weight zero: `q=0`, with up to three
/// decimals.
fn is_no_weight(parameter: &[u8]) -> bool {
    let value = parameter
        .strip_prefix(b"q=")
        .or_else(|| parameter.strip_prefix(b"Q="));
    value.is_some_and(|value| {
        value.starts_with(b"0") && value.iter().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_range_says_what_a_client_takes() {
        for (accept, json, events) in [
            (None, true, true),
            (Some(""), true, true),
            (Some("*/*"), true, true),
            (Some("application/json, text/event-stream"), true, true),
            (Some("Application/JSON"), true, false),
            (Some("text/*"), false, true),
            (Some("text/html"), false, false),
            (
                Some("application/json;q=0.001, text/event-stream;q=0"),
                true,
                false,
            ),
            (Some("*/*, text/event-stream; q=0.000"), true, false),
            (Some("application/json;Q=0., */*;q=0.5"), false, true),
            (Some("*/*;q=0"), false, false),
            (Some("text/*;q=0, text/event-stream;q=1"), false, true),
            (Some("application/json;charset=utf-8;q=0"), false, false),
            (Some("application/*;q=0, */*"), false, true),
        ] {
            let fields: Vec<_> = accept
                .iter()
                .map(|accept| ("accept", accept.as_bytes()))
                .collect();
            let request = HttpRequest::new("POST", "/mcp").headers(&fields);
            assert_eq!(accepts(&request, "application/json"), json, "{accept:?}");
            assert_eq!(accepts(&request, "text/event-stream"), events, "{accept:?}");
        }
    }

    #[test]
    fn a_slash_behind_the_path_makes_no_difference() {
        for (target, path, expected) in [
            ("/mcp", "/mcp", true),
            ("/mcp/", "/mcp", true),
            ("/mcp/?a=/b", "/mcp", true),
            ("/mcp", "/mcp/", true),
            ("/", "/", true),
            ("/mcp//", "/mcp", false),
            ("/mcpx", "/mcp", false),
            ("/mcp/x", "/mcp", false),
        ] {
            let request = HttpRequest::new("POST", target);
            assert_eq!(is_at(&request, path), expected, "{target} {path}");
        }
    }
}
