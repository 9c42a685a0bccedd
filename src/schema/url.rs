//! URLs: the part of their syntax that is needed to reject invalid URLs and to display host names.
//!
//! Spec: RFC 3986; Client Features, "Elicitation", "Safe URL Handling" (since 2025-11-25).

use core::net::{IpAddr, Ipv6Addr};
use std::fmt::Write as _;

/// An absolute URL split into scheme, user information, host name and path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    pub(crate) scheme: &'a str,
    /// The user information, before an `@`. An attacker can make this text look like the host name.
    pub(crate) user: Option<&'a str>,
    /// The host name or address in the URL, without the port. Empty if the URL has neither.
    pub(crate) host: &'a str,
    /// The part of the URL after host name and port: path, query and fragment.
    pub(crate) path: &'a str,
}

impl<'a> Url<'a> {
    /// Splits a URL. Returns `None` if the text has no scheme, has forbidden characters such as
    /// white space, or has an incomplete `%` escape. An `http:` or `https:` URL also needs a host
    /// name.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once(':')?;
        let is_allowed = rest.chars().all(is_allowed) && has_whole_escapes(rest);
        if !is_scheme(scheme) || rest.is_empty() || !is_allowed {
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
        let (user, host_port) = match authority.rsplit_once('@') {
            Some((user, host_port)) => (Some(user), host_port),
            None => (None, authority),
        };
        let url = Self {
            scheme,
            user,
            host: without_port(host_port)?,
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

    /// Whether the host of the URL is `localhost`, a name that ends in `.localhost`, or a loopback
    /// address.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback_host(self.host)
    }
}

/// Whether a host name is `localhost`, ends in `.localhost`, or is a loopback address. The function
/// does not resolve names. An IPv6 address may be in brackets. For unusual spellings of an address
/// (`127.1`, `0x7f.1`) the function returns false, since programs read them differently.
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

/// Whether a character is allowed in a URL. Letters outside of ASCII are allowed, since many peers
/// send them unencoded.
fn is_allowed(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => is_uri_byte(byte),
        _ => !c.is_control() && !c.is_whitespace(),
    }
}

/// Whether a text is the scheme of a URI, without its colon (RFC 3986, section 3.1).
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// Whether a URI can contain this byte: it is reserved, unreserved, or a `%` (RFC 3986, section 2).
pub(crate) fn is_uri_byte(byte: u8) -> bool {
    is_unreserved(byte) || b":/?#[]@!$&'()*+,;=%".contains(&byte)
}

/// Whether a byte is never percent-encoded (RFC 3986, section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Whether two hexadecimal digits follow each `%` of a text.
pub(crate) fn has_whole_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes();
        digits.len() >= 2 && digits[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

fn without_port(host_port: &str) -> Option<&str> {
    let (host, port) = match host_port.rfind(']') {
        Some(end) => (&host_port[..=end], host_port[end + 1..].strip_prefix(':')),
        None => match host_port.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (host_port, None),
        },
    };
    let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok();
    let whole = host.len() + port.map_or(0, |port| port.len() + 1) == host_port.len();
    (whole && port.is_none_or(is_port)).then_some(host)
}

/// Percent-encodes a text: all bytes but unreserved characters (RFC 3986, section 2.1).
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_percent_encoded(&mut out, text);
    out
}

/// Percent-encodes a text and appends it to `out`. No other copy is made, since the text may be a
/// secret.
pub(crate) fn push_percent_encoded(out: &mut String, text: &str) {
    text.bytes().for_each(|byte| push_encoded(out, byte));
}

/// Appends a byte, percent-encoded unless it is unreserved.
pub(crate) fn push_encoded(out: &mut String, byte: u8) {
    if is_unreserved(byte) {
        out.push(char::from(byte));
    } else {
        // Writing to memory can't fail.
        _ = write!(out, "%{byte:02X}");
    }
}

/// Decodes percent-encoding. Returns `None` if an escape is incomplete, or the bytes are not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    if !has_whole_escapes(text) {
        return None;
    }
    String::from_utf8(percent_decoded_bytes(text)).ok()
}

/// Decodes percent-encoding. Incomplete escapes remain as they are.
pub(crate) fn percent_decoded_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, _, after)) = first_byte(rest) {
        bytes.push(byte);
        rest = after;
    }
    bytes
}

/// Splits the first byte, or the first complete escape, from a text. Returns the decoded byte,
/// whether it was an escape, and the rest of the text.
fn first_byte(text: &[u8]) -> Option<(u8, bool, &[u8])> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    if let [b'%', high, low, rest @ ..] = text
        && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        && let Ok(byte) = u8::try_from(high * 16 + low)
    {
        return Some((byte, true, rest));
    }
    let (&byte, rest) = text.split_first()?;
    Some((byte, false, rest))
}

/// Normalizes a URL, so that different spellings of one URL become equal texts.
///
/// Scheme and host name become lower case. Escapes get capital digits (`%2F`), and remain only
/// where they are needed; characters outside of ASCII are escaped. Dot segments are resolved, an
/// empty or default port is removed, and an empty path after a host name becomes `/`. See RFC 3986,
/// sections 6.2.2 and 6.2.3, and RFC 3987, section 3.1.
pub(crate) fn normalized(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once(':') else {
        return normalized_escapes(uri);
    };
    let scheme = scheme.to_ascii_lowercase();
    let rest = normalized_escapes(rest);
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (before_query, query) = rest.split_at(end);
    let Some(before_query) = before_query.strip_prefix("//") else {
        let path = without_dot_segments(before_query);
        // A path that begins with `//` would become a host name.
        let dot = if path.starts_with("//") { "/." } else { "" };
        return format!("{scheme}:{dot}{path}{query}");
    };
    let (authority, path) =
        before_query.split_at(before_query.find('/').unwrap_or(before_query.len()));
    let authority = normalized_authority(&scheme, authority);
    let path = match path {
        "" if !authority.is_empty() => "/".to_owned(),
        path => without_dot_segments(path),
    };
    format!("{scheme}://{authority}{path}{query}")
}

/// Normalizes only the escapes in a text (RFC 3986, sections 6.2.2.1 and 6.2.2.2).
pub(crate) fn normalized_escapes(text: &str) -> String {
    if text.is_ascii() && !text.contains('%') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, was_escaped, after)) = first_byte(rest) {
        if byte.is_ascii() && !was_escaped {
            out.push(char::from(byte));
        } else {
            push_encoded(&mut out, byte);
        }
        rest = after;
    }
    out
}

/// Normalizes the authority of a URL: writes the host name in lower case, and removes an empty or
/// default port. The user information does not change.
fn normalized_authority(scheme: &str, authority: &str) -> String {
    let (user, host_port) = match authority.rsplit_once('@') {
        Some((user, host_port)) => (Some(user), host_port),
        None => (None, authority),
    };
    let usual = match scheme {
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        _ => ":",
    };
    let host_port = host_port.strip_suffix(usual).unwrap_or(host_port);
    let host_port = host_port.strip_suffix(':').unwrap_or(host_port);
    let host = normalized_escapes(&host_port.to_ascii_lowercase());
    match user {
        Some(user) => format!("{user}@{host}"),
        None => host,
    }
}

/// Resolves `.` and `..` in a path that begins with `/` (RFC 3986, section 5.2.4).
pub(crate) fn without_dot_segments(path: &str) -> String {
    if !path.starts_with('/') || !path.contains("/.") {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path[1..].split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
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

    // RFC 3986, sections 5.2.4, 6.2.2 and 6.2.3
    #[test]
    fn spellings_of_one_address_are_normalized_to_one_text() {
        fn check(spellings: &[&str]) {
            for one in spellings {
                assert_eq!(normalized(one), spellings[0], "{one}");
                assert_eq!(normalized(&normalized(one)), normalized(one), "{one}");
            }
        }
        check(&[
            "https://example.com/",
            "https://example.com",
            "HTTPS://EXAMPLE.com:443/",
            "https://example.com:",
            "https://example.com/.",
            "https://example.com/a/..",
            "https://ex%61mple.com/",
        ]);
        check(&[
            "docs://caf%C3%A9/menu",
            "docs://café/menu",
            "docs://caf%c3%a9/menu",
        ]);
        check(&[
            "example://a/b/c/%7Bfoo%7D",
            "eXAMPLE://a/./b/../b/%63/%7bfoo%7d",
        ]);
        check(&[
            "http://[::1]:8080/~a?q=%2F#f",
            "http://[::1]:8080/%7ea?q=%2f#f",
        ]);
        check(&["http://a:b@host/", "http://a:b@HOST:80"]);
        check(&["http://a.b/?x", "http://A.b?x"]);
        check(&["file:///a/b", "FILE:///a/./b", "file:///%61/b"]);
        check(&["urn:isbn:1", "URN:isbn:1"]);
        check(&["mem:a/../b", "MEM:a/../b"]);
        check(&["x:%2F%25", "x:%2f%25"]);
        // Found by the fuzz target url: a path became a host name.
        check(&["x:/.//a", "x:/b/..//a"]);
        for (one, other) in [
            ("https://example.com/a", "https://example.com/A"),
            ("https:/.//example.com/a", "https://example.com/a"),
            ("https://example.com/a", "https://example.com/a/"),
            ("https://example.com/a%2Fb", "https://example.com/a/b"),
            ("https://example.com/?a", "https://example.com/"),
            ("https://example.com:80/", "https://example.com/"),
            ("http://a:B@host/", "http://a:b@host/"),
            ("urn:isbn:1", "urn:ISBN:1"),
            ("file:///a//b", "file:///a/b"),
        ] {
            assert_ne!(normalized(one), normalized(other), "{one} and {other}");
        }
        for odd in [
            "", "x", "%", "a:%", "a:%4", "a:%zz", "a:%é", "http://", "//",
        ] {
            _ = normalized(odd);
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
    fn escapes_are_read_and_written() {
        assert_eq!(percent_decoded("a%20%c3%bc").as_deref(), Some("a ü"));
        assert_eq!(percent_decoded("é%41").as_deref(), Some("éA"));
        for bad in ["%ff", "%+1", "%", "%4", "%%41", "a%é", "%4%31"] {
            assert_eq!(percent_decoded(bad), None, "{bad}");
        }
        assert_eq!(percent_decoded_bytes("%%41%zz%4"), b"%A%zz%4");
        assert_eq!(percent_encoded("/a b%ü~"), "%2Fa%20b%25%C3%BC~");
    }
}
