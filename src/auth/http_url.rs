//! URLs of servers, authorization servers and clients: validated, with their spelling preserved.
//!
//! Identifiers are compared as text. Only origins are compared by their parts.
//!
//! Spec: Security Best Practices, "SSRF" and "Authorization URLs"; OAuth 2.1, section 1.5.

use ureq::http::Uri;

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::url::{is_loopback_host, is_scheme, without_dot_segments};

/// An absolute `http` or `https` URL without credentials and fragment.
#[derive(Clone, Debug)]
pub(super) struct HttpUrl {
    text: String,
    uri: Uri,
}

impl HttpUrl {
    /// Reads a URL. `what` names the URL in error texts.
    pub(super) fn read(what: &str, text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            // Query and credentials may hold secrets.
            let shown = text.split(['?', '#']).next().unwrap_or_default();
            let shown = shown.rsplit('@').next().unwrap_or_default();
            let text = format!("{what} '{}' {why}", Excerpt(shown));
            Err(Error::new(ErrorKind::Auth, text))
        };
        let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '\\' | '"' | '<');
        if text.contains(odd) || !text.is_ascii() {
            return refuse("has characters that no URL has");
        }
        if text.starts_with("http+unix:") {
            return refuse("is the URL of a Unix socket: logins need http or https");
        }
        let Ok(uri) = text.parse::<Uri>() else {
            return refuse("is no URL");
        };
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return refuse("begins neither with https:// nor with http://");
        }
        if text.contains('#') {
            return refuse("has a fragment ('#')");
        }
        if uri
            .authority()
            .is_none_or(|place| place.as_str().contains('@'))
        {
            return refuse("has credentials in it, or no host");
        }
        if uri.host().is_none_or(str::is_empty) {
            return refuse("names no host");
        }
        let text = text.to_owned();
        Ok(Self { text, uri })
    }

    /// Reads a URL that has to be `https`, or on this machine. `what` names the URL in error texts.
    pub(super) fn read_secure(what: &str, text: &str) -> Result<Self> {
        let url = Self::read(what, text)?;
        url.check_secure(what)?;
        Ok(url)
    }

    /// Resolves a reference relative to this URL (RFC 3986, section 5.2). `what` names the
    /// reference in error texts.
    pub(super) fn join(&self, what: &str, reference: &str) -> Result<Self> {
        if has_scheme(reference) {
            return Self::read(what, reference);
        }
        let scheme = self.uri.scheme_str().unwrap_or_default();
        if reference.starts_with("//") {
            return Self::read(what, &format!("{scheme}:{reference}"));
        }
        let (path, query) = match reference.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (reference, None),
        };
        let (path, query) = match path {
            "" => (self.path().to_owned(), query.or_else(|| self.query())),
            path if path.starts_with('/') => (without_dot_segments(path), query),
            path => {
                let folder = self.path().rfind('/').map_or("", |at| &self.path()[..at]);
                (without_dot_segments(&format!("{folder}/{path}")), query)
            }
        };
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        Self::read(what, &format!("{}{path}{query}", self.origin()))
    }

    /// Checks that the URL is `https`, or on this machine. `what` names the URL in error texts.
    pub(super) fn check_secure(&self, what: &str) -> Result<()> {
        if self.is_https() || self.is_loopback() {
            return Ok(());
        }
        let text = format!(
            "{what} '{}' is not https: others on the way could read along",
            Excerpt(&self.shown())
        );
        Err(Error::new(ErrorKind::Auth, text))
    }

    /// Returns the URL as it was spelled.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_https(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// Returns the host without brackets, in lower case.
    pub(super) fn host(&self) -> String {
        let host = self.uri.host().unwrap_or_default();
        host.trim_matches(['[', ']']).to_ascii_lowercase()
    }

    /// Returns the path, or an empty text if the URL has no path.
    pub(super) fn path(&self) -> &str {
        match self.uri.path() {
            // The parser adds a slash to a URL without a path.
            "/" if !self.has_path() => "",
            path => path,
        }
    }

    fn has_path(&self) -> bool {
        let rest = self.text.split_once("://").map_or("", |(_, rest)| rest);
        rest.split('?')
            .next()
            .is_some_and(|place| place.contains('/'))
    }

    pub(super) fn query(&self) -> Option<&str> {
        self.uri.query()
    }

    fn port(&self) -> u16 {
        let usual = if self.is_https() { 443 } else { 80 };
        self.uri.port_u16().unwrap_or(usual)
    }

    /// Returns the origin: scheme, host and port. A default port is omitted.
    pub(super) fn origin(&self) -> String {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let host = self.uri.host().unwrap_or_default().to_ascii_lowercase();
        match (self.port(), self.is_https()) {
            (443, true) | (80, false) => format!("{scheme}://{host}"),
            (port, _) => format!("{scheme}://{host}:{port}"),
        }
    }

    pub(super) fn is_same_origin(&self, other: &Self) -> bool {
        self.origin() == other.origin()
    }

    /// Whether the URL's host is this machine: `localhost` or a loopback address. Other names are
    /// not resolved.
    pub(super) fn is_loopback(&self) -> bool {
        is_loopback_host(self.uri.host().unwrap_or_default())
    }

    /// Whether this URL is equal to the URL `server`, or is a parent path of that URL (RFC 9728,
    /// section 3.3, and RFC 8707).
    pub(super) fn covers(&self, server: &Self) -> bool {
        let (own, other) = (self.path().trim_end_matches('/'), server.path());
        let rest = other.strip_prefix(own);
        let is_above = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let same_query = self.query().is_none() || self.query() == server.query();
        self.is_same_origin(server) && is_above && same_query
    }

    /// Returns the canonical form of a server's URL: scheme and host in lower case, without
    /// fragment and query. A path that is only a slash is removed.
    pub(super) fn canonical(&self) -> String {
        let path = match self.path() {
            "/" => "",
            path => path,
        };
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let place = self.uri.authority().map_or("", |place| place.as_str());
        let place = place.to_ascii_lowercase();
        format!("{scheme}://{place}{path}")
    }

    /// Returns the URL for error texts. The query is removed because it may contain secrets.
    pub(super) fn shown(&self) -> String {
        format!("{}{}", self.origin(), self.path())
    }
}

/// Whether a reference is absolute, which means that it begins with a scheme.
fn has_scheme(reference: &str) -> bool {
    reference
        .split_once(':')
        .is_some_and(|(scheme, _)| is_scheme(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> HttpUrl {
        HttpUrl::read("it", text).expect("a URL")
    }

    // M-SEC-C-22, M-SEC-C-24, M-SEC-C-25, M-SEC-C-30, M-ASEC-C-07
    #[test]
    fn only_addresses_of_the_web_are_taken() {
        for bad in [
            "",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "vbscript:x",
            "ftp://host/x",
            "odd://host/x",
            "https://user:secret@host/",
            "https://host/#part",
            "https://host/a b",
            "https://host\\@evil/",
            "https:///path",
            "https://host/\n",
            "//host/path",
        ] {
            let error = HttpUrl::read_secure("it", bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Auth, "{bad}");
        }
        for plain in [
            "http://host.example/",
            "http://127.0.0.1.example/x",
            "http://127./x",
            "http://0x7f.1/x",
            "http://2130706433/x",
            "http://a..localhost/x",
        ] {
            assert!(HttpUrl::read_secure("it", plain).is_err(), "{plain}");
        }
        for good in [
            "https://host.example",
            "http://127.0.0.1:1/x",
            "http://[::1]:9/",
            "http://localhost/",
        ] {
            assert!(HttpUrl::read_secure("it", good).is_ok(), "{good}");
        }
    }

    // M-AUTH-C-28, M-AUTH-C-29, M-AUTH-B-30, M-AUTH-B-31, L-AUTH-C-39, L-AUTH-C-40, L-AUTH-B-41,
    // L-AUTH-B-42
    #[test]
    fn resources_cover_servers_and_have_one_canonical_form() {
        fn check(resource: &str, server: &str, expected: bool) {
            let covers = url(resource).covers(&url(server));
            assert_eq!(covers, expected, "{resource} {server}");
        }
        check("https://h/mcp", "https://h/mcp", true);
        check("HTTPS://H.example/mcp", "https://h.example:443/mcp", true);
        check("https://h", "https://h/mcp", true);
        check("https://h/", "https://h/mcp", true);
        check("https://h/a", "https://h/a/mcp", true);
        check("https://h/a", "https://h/ab", false);
        check("https://h/mcp/more", "https://h/mcp", false);
        check("http://h/mcp", "https://h/mcp", false);
        check("https://evil/mcp", "https://h/mcp", false);
        check("https://h:8443/mcp", "https://h/mcp", false);
        check("https://h/mcp?tenant=1", "https://h/mcp", false);
        let canonical = |text| url(text).canonical();
        assert_eq!(canonical("https://H.example/"), "https://h.example");
        assert_eq!(
            canonical("HTTPS://h.example/Server/mcp"),
            "https://h.example/Server/mcp"
        );
        assert_eq!(canonical("https://h:8443/a/"), "https://h:8443/a/");
    }

    #[test]
    fn references_are_read_beside_the_url_that_they_came_from() {
        fn check(base: &str, reference: &str, expected: &str) {
            let read = url(base).join("it", reference).expect(reference);
            assert_eq!(read.text(), expected, "{base} {reference}");
        }
        let base = "https://H.example:8443/a/mcp?x=y";
        for (reference, expected) in [
            ("https://as.example/x?y", "https://as.example/x?y"),
            ("//as.example/x", "https://as.example/x"),
            ("/.well-known/x", "https://h.example:8443/.well-known/x"),
            ("/b?c=d", "https://h.example:8443/b?c=d"),
            ("meta.json", "https://h.example:8443/a/meta.json"),
            ("./meta.json", "https://h.example:8443/a/meta.json"),
            ("../meta.json", "https://h.example:8443/meta.json"),
            ("../../../meta", "https://h.example:8443/meta"),
            ("/a/./b/../c", "https://h.example:8443/a/c"),
            ("/a/..", "https://h.example:8443/"),
            ("b/.", "https://h.example:8443/a/b/"),
            ("?z", "https://h.example:8443/a/mcp?z"),
        ] {
            check(base, reference, expected);
        }
        check("https://h", "meta", "https://h/meta");
        check("https://h?q", "/meta", "https://h/meta");
        for bad in [
            "javascript:alert(1)",
            "b:c/d",
            "//user:x@h/",
            "///x",
            "/a b",
            "/x#y",
        ] {
            assert!(url(base).join("it", bad).is_err(), "{bad}");
        }
    }
}
