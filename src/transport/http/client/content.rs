//! The header fields that describe the body of a response.

use ureq::http::{HeaderMap, header};

/// Returns the content encodings of a body, except `identity`. Returns `None` if there is no such
/// encoding.
pub(crate) fn foreign_encoding(fields: &HeaderMap) -> Option<String> {
    let values = fields.get_all(header::CONTENT_ENCODING).into_iter();
    let all: Vec<_> = values
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect();
    let is_identity = |word: &str| {
        let word = word.trim();
        word.is_empty() || word.eq_ignore_ascii_case("identity")
    };
    let is_plain = all.iter().all(|value| value.split(',').all(is_identity));
    (!is_plain).then(|| all.join(", "))
}

/// Returns the field `Content-Type`; empty if it is absent or not ASCII.
pub(super) fn content_type(fields: &HeaderMap) -> &str {
    let value = fields.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok());
    text.unwrap_or_default()
}

/// Whether the header fields state the given media type. Parameters of the type are ignored.
pub(super) fn is_of(fields: &HeaderMap, media_type: &str) -> bool {
    let own = content_type(fields).split(';').next().unwrap_or_default();
    own.trim().eq_ignore_ascii_case(media_type)
}
