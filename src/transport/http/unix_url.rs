//! The URL of a server on a Unix socket: `http+unix://`, the percent-encoded path of the socket,
//! and the path of the endpoint, as in `http+unix://%2Frun%2Fshop.sock/mcp`.

use std::path::Path;
#[cfg(feature = "http-client")]
use std::path::PathBuf;

use crate::schema::url::push_encoded;

const SCHEME: &str = "http+unix://";

/// Returns the URL of the endpoint at `rest` (a path, perhaps with a query) on a socket.
pub(crate) fn written(socket: &Path, rest: &str) -> String {
    let mut url = SCHEME.to_owned();
    for byte in socket.as_os_str().as_encoded_bytes() {
        push_encoded(&mut url, *byte);
    }
    url + rest
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
    Some((decoded(socket).unwrap_or_default(), rest))
}

#[cfg(all(unix, feature = "http-client"))]
fn decoded(socket: &str) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    use crate::schema::url::{has_whole_escapes, percent_decoded_bytes};

    has_whole_escapes(socket).then(|| OsString::from_vec(percent_decoded_bytes(socket)).into())
}

#[cfg(all(not(unix), feature = "http-client"))]
fn decoded(socket: &str) -> Option<PathBuf> {
    crate::schema::url::percent_decoded(socket).map(PathBuf::from)
}
