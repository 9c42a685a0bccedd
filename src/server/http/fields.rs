//! Header fields of requests.

use crate::transport::http::HttpRequest;

/// Returns the value of a field as text.
pub(super) fn text(request: &HttpRequest<'_>, name: &str) -> Option<String> {
    request
        .value(name)
        .map(|value| String::from_utf8_lossy(value).into_owned())
}
