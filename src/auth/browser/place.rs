//! The parts of a redirect URI on this machine.
//!
//! Spec: RFC 8252, sections 7.3 and 8.3.

use crate::auth::http_url::HttpUrl;
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The host name, port and path of a redirect URI on this machine.
#[derive(Clone, Debug)]
pub(super) struct Place {
    host: &'static str,
    /// The port of the redirect URI; 0 is any free port.
    pub(super) port: u16,
    path: String,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            host: HOSTS[0],
            port: 0,
            path: "/callback".to_owned(),
        }
    }
}

const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

impl Place {
    pub(super) fn set_host(&mut self, host: &str) -> Result<()> {
        let known = HOSTS.into_iter().find(|known| *known == host);
        self.host = known.ok_or_else(|| {
            let text = format!(
                "the host of the redirect URI '{}' is neither {} nor {}",
                Excerpt(host),
                HOSTS[0],
                HOSTS[1]
            );
            Error::new(ErrorKind::Invalid, text)
        })?;
        Ok(())
    }

    pub(super) fn set_path(&mut self, path: &str) -> Result<()> {
        let text = format!("http://{}{path}", HOSTS[0]);
        let is_path = path.is_empty() || path.starts_with('/');
        // The path has to be unchanged by parsing, since the browser requests it as it is spelled.
        let is_read =
            |url: HttpUrl| url.path() == path && url.query().is_none() && !text.ends_with('?');
        if is_path && HttpUrl::read("the redirect URI", &text).is_ok_and(is_read) {
            self.path = path.to_owned();
            return Ok(());
        }
        let text = format!(
            "the path of the redirect URI '{}' has to begin with a slash, and to have no query",
            Excerpt(path)
        );
        Err(Error::new(ErrorKind::Invalid, text))
    }

    /// Whether the redirect URI contains a host name instead of an address. Browsers may resolve a
    /// name to an IPv4 or IPv6 address.
    pub(super) fn has_name(&self) -> bool {
        self.host == HOSTS[1]
    }

    /// Returns the redirect URI with this port.
    pub(super) fn uri(&self, port: u16) -> String {
        format!("http://{}:{port}{}", self.host, self.path)
    }

    /// Returns the port of the redirect URI `redirect`. Returns `None` if the host name or the path
    /// of `redirect` differs from that of this value.
    pub(super) fn port_of(&self, redirect: &str) -> Option<u16> {
        let rest = redirect.strip_prefix("http://")?.strip_prefix(self.host)?;
        let port = rest.strip_prefix(':')?.strip_suffix(&*self.path)?;
        port.parse().ok()
    }

    /// Whether a request for `path` is a request to the redirect URI.
    pub(super) fn is_asked(&self, path: &str) -> bool {
        // Browsers send a slash for an empty path.
        path == self.path || (self.path.is_empty() && path == "/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_that_a_loopback_address_has() {
        let mut place = Place::default();
        assert_eq!(place.uri(1), "http://127.0.0.1:1/callback");
        for host in [
            "",
            "0.0.0.0",
            "127.0.0.2",
            "LOCALHOST",
            "localhost.",
            "[::1]",
            "localhost:80",
            "evil.example",
        ] {
            assert!(place.set_host(host).is_err(), "{host}");
        }
        for path in [
            "callback",
            "/a?b",
            "/a?",
            "/a#b",
            "/a b",
            "/é",
            "//\n",
            "?",
            ":81/x",
            "@evil.example/",
            ".evil.example/",
        ] {
            assert!(place.set_path(path).is_err(), "{path}");
        }
        place.set_host("localhost").expect("a host");
        for path in ["", "/", "/oauth/callback", "/a%20b", "//x"] {
            place.set_path(path).expect(path);
            let uri = place.uri(8080);
            assert_eq!(uri, format!("http://localhost:8080{path}"));
            assert_eq!(place.port_of(&uri), Some(8080), "{path}");
            assert!(place.is_asked(if path.is_empty() { "/" } else { path }));
        }
        assert_eq!(place.port_of("http://127.0.0.1:8080//x"), None);
    }
}
