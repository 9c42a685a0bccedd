//! Addresses of pages and places: just enough of them to refuse what is none, and to show people where they would go.
//!
//! Spec: RFC 3986; Client Features, "Elicitation", "Safe URL Handling" (since 2025-11-25).

use core::net::{IpAddr, Ipv6Addr};

/// An absolute address, cut where people and servers have to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    pub(crate) scheme: &'a str,
    /// What stands before an `@`: it names nobody, but can look as if it did.
    pub(crate) user: Option<&'a str>,
    /// Without its port. Empty when the address names none.
    pub(crate) host: &'a str,
    /// What stands behind the host and its port.
    pub(crate) path: &'a str,
}

impl<'a> Url<'a> {
    /// `None` when it is not one: no scheme, white space or other characters that no address holds, a bad `%`, or an address of the web
    /// without a host.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once(':')?;
        let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        if !named || rest.is_empty() || !rest.chars().all(is_allowed) || !has_whole_escapes(rest) {
            return None;
        }
        let Some(rest) = rest.strip_prefix("//") else {
            let url = Self {
                scheme,
                user: None,
                host: "",
                path: rest,
            };
            return (!url.is_of_the_web()).then_some(url);
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let url = Self {
            scheme,
            user,
            host: without_port(place)?,
            path,
        };
        (!url.host.is_empty() || !url.is_of_the_web()).then_some(url)
    }

    fn is_of_the_web(&self) -> bool {
        self.is("https") || self.is("http")
    }

    pub(crate) fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Whether the host is this machine, as in development.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback_host(self.host)
    }
}

/// Whether a host is this machine by its very spelling: a name that is reserved for it, or a
/// loopback address in its usual form. An IPv6 address may have its brackets. Other spellings of
/// numbers (`127.1`, `0x7f.1`) are no addresses to all programs.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if let Some(address) = bare {
        return address.parse::<Ipv6Addr>().is_ok_and(|it| it.is_loopback());
    }
    let mut labels = host.rsplit('.');
    let is_name = labels.next() == Some("localhost") && labels.all(|label| !label.is_empty());
    let address = host.parse::<IpAddr>();
    is_name || address.is_ok_and(|it| it.is_loopback())
}

/// Letters beyond ASCII are let through, since many peers send them unencoded.
fn is_allowed(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c)
    } else {
        !c.is_control() && !c.is_whitespace()
    }
}

fn has_whole_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes();
        digits.len() >= 2 && digits[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

fn without_port(place: &str) -> Option<&str> {
    let (host, port) = match place.rfind(']') {
        Some(end) => (&place[..=end], place[end + 1..].strip_prefix(':')),
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok();
    let whole = host.len() + port.map_or(0, |port| port.len() + 1) == place.len();
    (whole && port.is_none_or(is_port)).then_some(host)
}

/// The text with its escapes read; `None` when one is not whole, or the bytes are not UTF-8.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    if !has_whole_escapes(text) {
        return None;
    }
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_cut_where_browsers_cut_them() {
        fn check(text: &str, expected: Option<(&str, &str)>) {
            let read = Url::read(text).map(|url| (url.host, url.path));
            assert_eq!(read, expected, "{text}");
        }
        check("https://example.com", Some(("example.com", "")));
        check(
            "https://example.com:8443/a?b#c",
            Some(("example.com", "/a?b#c")),
        );
        check(
            "https://bank.example@evil.example/",
            Some(("evil.example", "/")),
        );
        check("http://[::1]:80/x", Some(("[::1]", "/x")));
        check("file:///a%20b", Some(("", "/a%20b")));
        check("myapp:open", Some(("", "open")));
        for none in [
            "",
            "not a url",
            "example.com/a",
            "//example.com",
            "https:",
            "https://",
            "https:///path",
            "https:example.com",
            "https://exa mple.com",
            "https://example.com/\\evil",
            "https://example.com:port/",
            "https://example.com:99999/",
            "https://[::1/",
            "https://example.com/%zz",
            "https://example.com/%a",
            "https://example.com/\n",
            "https://example.com/\u{2028}",
            "1https://example.com",
        ] {
            check(none, None);
        }
    }

    #[test]
    fn this_machine_has_few_spellings() {
        for own in [
            "localhost",
            "LOCALHOST",
            "app.localhost",
            "127.0.0.1",
            "127.255.255.254",
            "[::1]",
            "::1",
            "[0:0:0:0:0:0:0:1]",
        ] {
            assert!(is_loopback_host(own), "{own}");
        }
        for other in [
            "",
            "127.",
            "127..",
            "127.1",
            "127.0.0.1.",
            "127.0.0.256",
            "127.0.0.0.1",
            "127.0.0.01",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "017700000001",
            "localhost.",
            ".localhost",
            "a..localhost",
            "localhost.example",
            "notlocalhost",
            "[127.0.0.1]",
            "[::1",
            "[]",
            "0.0.0.0",
            "128.0.0.1",
        ] {
            assert!(!is_loopback_host(other), "{other}");
        }
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(unescaped("a%20%c3%bc").as_deref(), Some("a ü"));
        assert_eq!(unescaped("%ff"), None);
        assert_eq!(unescaped("%+1"), None);
    }
}
