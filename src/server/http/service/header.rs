//! The header fields that say how a request is served: revision and session.

use crate::schema::ProtocolVersion;
use crate::server::http::refusal::token;
use crate::transport::http::HttpRequest;

/// The revision in the header field `MCP-Protocol-Version`.
pub(super) enum Version {
    None,
    Legacy(ProtocolVersion),
    /// A modern or unknown revision.
    Other,
}

pub(super) fn header_version(request: &HttpRequest<'_>) -> Version {
    let Some(value) = token(request, "MCP-Protocol-Version") else {
        return Version::None;
    };
    let mut legacy = ProtocolVersion::LEGACY.iter();
    match legacy.find(|revision| revision.as_str().as_bytes() == value) {
        Some(revision) => Version::Legacy(*revision),
        None => Version::Other,
    }
}

/// Returns whether the field `MCP-Protocol-Version` names a modern or unknown revision. Such a
/// revision has no sessions.
pub(super) fn names_no_revision(request: &HttpRequest<'_>) -> bool {
    matches!(header_version(request), Version::Other)
}

/// Returns the session id of a request. Returns `None` for modern requests, where a session id is
/// ignored.
pub(super) fn session_id<'a>(request: &HttpRequest<'a>) -> Option<&'a [u8]> {
    let modern = Some(ProtocolVersion::LATEST.as_str().as_bytes());
    let id = token(request, "Mcp-Session-Id");
    id.filter(|_| token(request, "MCP-Protocol-Version") != modern)
}
