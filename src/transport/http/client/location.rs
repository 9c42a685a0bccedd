//! URLs that a server sends: resolves them, and compares their origin with that of the server.
//!
//! Spec: RFC 3986, section 5.2, "Relative Resolution"; RFC 6454, section 4, "Origin of a URI".

use ureq::http::Uri;

use crate::schema::url::{is_scheme, without_dot_segments};

/// Resolves a reference against a base URL. Returns `None` when the result is invalid or contains
/// credentials.
pub(crate) fn resolve(base: &Uri, target: &str) -> Option<Uri> {
    // A fragment is never sent.
    let target = target.split('#').next().unwrap_or_default();
    let (scheme, place) = (base.scheme_str()?, base.authority()?);
    let text = if has_scheme(target) {
        target.to_owned()
    } else if target.starts_with("//") {
        format!("{scheme}:{target}")
    } else {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let old = base.path();
        let (path, query) = match path {
            "" => (old.to_owned(), query.or_else(|| base.query())),
            path if path.starts_with('/') => (without_dot_segments(path), query),
            path => {
                let folder = &old[..old.rfind('/').map_or(0, |at| at + 1)];
                (without_dot_segments(&format!("{folder}{path}")), query)
            }
        };
        let query = query.map_or_else(String::new, |query| format!("?{query}"));
        format!("{scheme}://{place}{path}{query}")
    };
    let uri: Uri = text.parse().ok()?;
    let place = uri.authority()?;
    (!place.as_str().contains('@')).then_some(uri)
}

/// Whether a reference begins with a scheme and `//`. Without `//`, a colon belongs to a relative
/// path or to a query.
fn has_scheme(target: &str) -> bool {
    target
        .split_once("://")
        .is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Whether two URLs have the same scheme, host and port.
pub(crate) fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| {
        let usual = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        uri.port_u16().unwrap_or(usual)
    };
    let host = |uri: &Uri| uri.host().unwrap_or_default().to_ascii_lowercase();
    one.scheme_str() == other.scheme_str() && host(one) == host(other) && port(one) == port(other)
}

pub(super) fn origin(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or_default();
    let host = url.host().unwrap_or_default().to_ascii_lowercase();
    match url.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}

/// Formats a URL for error messages. The query is omitted, because it may contain secrets.
pub(super) fn shown(url: &Uri) -> String {
    format!("{}{}", origin(url), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_seen_from_their_base() {
        fn check(target: &str, expected: &str) {
            let base: Uri = "http://a.test:81/b/c/d?q".parse().expect("a URL");
            let found = resolve(&base, target).map(|uri| uri.to_string());
            assert_eq!(found.as_deref().unwrap_or("none"), expected, "{target}");
        }
        check("g", "http://a.test:81/b/c/g");
        check("./g", "http://a.test:81/b/c/g");
        check("g/", "http://a.test:81/b/c/g/");
        check("/g", "http://a.test:81/g");
        check("//g.test/x", "http://g.test/x");
        check("?y", "http://a.test:81/b/c/d?y");
        check("g?y#s", "http://a.test:81/b/c/g?y");
        check("", "http://a.test:81/b/c/d?q");
        check(".", "http://a.test:81/b/c/");
        check("..", "http://a.test:81/b/");
        check("../g", "http://a.test:81/b/g");
        check("../../../g", "http://a.test:81/g");
        check("/a/./b/../c/", "http://a.test:81/a/c/");
        check(
            "/login?next=http://b.test/",
            "http://a.test:81/login?next=http://b.test/",
        );
        check("https://b.test:444/x", "https://b.test:444/x");
        check("http://user:word@a.test:81/", "none");
        check("http://", "none");
        check("/a b", "none");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        fn check(other: &str, expected: bool) {
            let one: Uri = "https://a.test/mcp".parse().expect("a URL");
            let other = other.parse().expect("a URL");
            assert_eq!(is_same_origin(&one, &other), expected, "{other}");
        }
        check("https://A.test:443/x", true);
        check("http://a.test/mcp", false);
        check("http://a.test:443/mcp", false);
        check("https://a.test:444/mcp", false);
        check("https://b.a.test/mcp", false);
    }
}
