//! The URL of a server on a Unix socket: `http+unix://`, the percent-encoded path of the socket,
//! and the path of the endpoint, as in `http+unix://%2Frun%2Fshop.sock/mcp`.

use std::path::Path;
#[cfg(feature = "http-client")]
use std::path::PathBuf;

#[cfg(feature = "http-client")]
use crate::schema::url::percent_decoded;
use crate::schema::url::percent_encoded;

const SCHEME: &str = "http+unix://";

/// Returns the URL of the endpoint at `rest` (a path, perhaps with a query) on a socket.
pub(crate) fn written(socket: &Path, rest: &str) -> String {
    format!(
        "{SCHEME}{}{rest}",
        percent_encoded(&socket.to_string_lossy())
    )
}

/// Returns the path of the socket and the rest of a URL. Returns `None` if the URL has another
/// scheme, and an empty path if it names no socket.
#[cfg(feature = "http-client")]
pub(crate) fn parsed(url: &str) -> Option<(PathBuf, &str)> {
    let scheme = url.get(..SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let url = &url[SCHEME.len()..];
    let (socket, rest) = url.split_at(url.find(['/', '?', '#']).unwrap_or(url.len()));
    Some((percent_decoded(socket).unwrap_or_default().into(), rest))
}
