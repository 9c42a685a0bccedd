//! The address of a client behind reverse proxies, from `Forwarded` (RFC 7239) or
//! `X-Forwarded-For`. The fields are trusted only if a known proxy sent them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use super::HttpRequest;
use crate::error::{Error, ErrorKind, Excerpt};

/// A range of network addresses, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::HttpOptions;
/// use mcplink::transport::http::Network;
///
/// let proxies: Network = "10.0.0.0/8".parse()?;
/// assert!(proxies.contains([10, 1, 2, 3].into()));
/// let options = HttpOptions::new().trusted_proxies([proxies]);
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    /// Whether an IP address is in the network. An IPv4 address is equal to its IPv6 form
    /// (`::ffff:192.0.2.1`).
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        Self { address, prefix }
    }
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            let text = Excerpt(text);
            let text = format!("'{text}' is no network: write it as 10.0.0.0/8 or 192.0.2.1");
            Error::new(ErrorKind::Invalid, text)
        };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let Some(prefix) = prefix else {
            return Ok(address.into());
        };
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|_| is_number);
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u32 = prefix.filter(|prefix| *prefix <= most).ok_or_else(wrong)?;
        match (address, address.to_canonical()) {
            // The address is the IPv6 form of an IPv4 network.
            (IpAddr::V6(_), canonical @ IpAddr::V4(_)) => Ok(Self {
                address: canonical,
                prefix: prefix.checked_sub(96).ok_or_else(wrong)?,
            }),
            (address, _) => Ok(Self { address, prefix }),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Returns the client's address. Skips trusted proxies: the client is the last hop that is not a
/// trusted proxy.
///
/// If `remote` is not a trusted proxy, `remote` is the client's address. If a trusted proxy reports
/// no valid address, the proxy counts as the client. The proxy also counts as the client if
/// `Forwarded` and `X-Forwarded-For` contradict each other.
pub(crate) fn client_address(
    request: &HttpRequest<'_>,
    remote: IpAddr,
    proxies: &[Network],
) -> IpAddr {
    let is_proxy = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
    if !is_proxy(remote) {
        return remote;
    }
    let forwarded = hops(request, "Forwarded", forwarded_for);
    let x_forwarded = hops(request, "X-Forwarded-For", |text| {
        text.split(',').map(|hop| address_of(hop.trim())).collect()
    });
    let last = |hops: Vec<Option<IpAddr>>| {
        let mut last = remote;
        for hop in hops.into_iter().rev() {
            let Some(address) = hop else { break };
            last = address;
            if !is_proxy(address) {
                break;
            }
        }
        last
    };
    match (forwarded.map(last), x_forwarded.map(last)) {
        (Some(one), Some(other)) if one != other => remote,
        (Some(address), _) | (_, Some(address)) => address,
        (None, None) => remote,
    }
}

/// Returns the hops in all header fields of a name, the nearest hop last. An invalid hop is `None`.
/// Returns `None` as a whole if the request has no field of this name.
fn hops(
    request: &HttpRequest<'_>,
    name: &str,
    read: impl Fn(&str) -> Vec<Option<IpAddr>>,
) -> Option<Vec<Option<IpAddr>>> {
    let mut values = request.values(name).peekable();
    values.peek()?;
    let read_value = |value: &[u8]| match std::str::from_utf8(value) {
        Ok(text) => read(text),
        Err(_) => vec![None],
    };
    Some(values.flat_map(read_value).collect())
}

/// Returns the `for` parameters of a `Forwarded` field (RFC 7239, section 4), in order.
fn forwarded_for(text: &str) -> Vec<Option<IpAddr>> {
    let Some(elements) = split(text, ',') else {
        return vec![None];
    };
    let hop = |element: &str| {
        let mut found = None;
        for pair in split(element, ';')? {
            let (name, value) = pair.split_once('=')?;
            if name.trim().eq_ignore_ascii_case("for") {
                // A repeated parameter is ambiguous.
                if found
                    .replace(address_of(&unquoted(value.trim())?))
                    .is_some()
                {
                    return None;
                }
            }
        }
        found?
    };
    elements.into_iter().map(hop).collect()
}

/// Splits a text at the separators that are outside of quoted strings. Returns `None` if a quoted
/// string is not closed.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if c == separator && !is_quoted => {
                parts.push(text[start..at].trim());
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    (!is_quoted).then_some(parts)
}

/// Returns the text of a token or of a quoted string. Returns `None` if the value is malformed.
fn unquoted(value: &str) -> Option<String> {
    let Some(inside) = value.strip_prefix('"') else {
        return (!value.contains('"')).then(|| value.to_owned());
    };
    let inside = inside.strip_suffix('"')?;
    let (mut text, mut is_escaped) = (String::new(), false);
    for c in inside.chars() {
        match c {
            '\\' if !is_escaped => is_escaped = true,
            // Only the last quote may end the string.
            '"' if !is_escaped => return None,
            _ => {
                is_escaped = false;
                text.push(c);
            }
        }
    }
    (!is_escaped).then_some(text)
}

/// Returns the address of a node in a forwarding field. The node may have brackets and a port.
fn address_of(node: &str) -> Option<IpAddr> {
    let bare = node
        .strip_prefix('[')
        .and_then(|node| node.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse::<std::net::Ipv6Addr>().ok().map(IpAddr::V6),
        None => node.parse().ok(),
    };
    let address = address.or_else(|| node.parse::<SocketAddr>().ok().map(|node| node.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().expect(text)
    }

    #[test]
    fn networks() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.1.2.3/8", "::ffff:10.0.0.1", "::10.0.0.1"),
            ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("0.0.0.0/0", "203.0.113.1", "::1"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"),
            ("::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.1"),
            ("::1", "::1", "::2"),
        ] {
            let parse = |text: &str| text.parse::<IpAddr>().expect(text);
            assert!(network(text).contains(parse(inside)), "{text} {inside}");
            assert!(!network(text).contains(parse(outside)), "{text} {outside}");
        }
        for bad in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0/8",
            "::1/129",
            "a",
            "1.2.3.4:5",
            "::ffff:10.0.0.0/8",
        ] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    /// Checks the client's address for a request from 10.0.0.1. All addresses of 10.0.0.0/8 are
    /// trusted proxies.
    fn check(fields: &[(&str, &str)], expected: &str) {
        let headers: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_bytes()))
            .collect();
        let request = HttpRequest::new("POST", "/").headers(&headers);
        let proxies = [network("10.0.0.0/8"), network("2001:db8:1::/48")];
        let found = client_address(&request, "10.0.0.1".parse().expect("an address"), &proxies);
        assert_eq!(found.to_string(), expected, "{fields:?}");
    }

    #[test]
    fn the_last_address_that_is_no_proxy_is_the_clients() {
        let x = "X-Forwarded-For";
        check(&[], "10.0.0.1");
        check(&[(x, "192.0.2.1")], "192.0.2.1");
        check(&[(x, "203.0.113.9, 192.0.2.1")], "192.0.2.1");
        check(&[(x, "203.0.113.9,192.0.2.1 , 10.0.0.2")], "192.0.2.1");
        check(
            &[("x-forwarded-for", "9.9.9.9"), (x, "192.0.2.1:80")],
            "192.0.2.1",
        );
        check(&[(x, "[2001:db8::1]:80")], "2001:db8::1");
        check(&[(x, "2001:db8::1")], "2001:db8::1");
        check(&[(x, "10.0.0.3, 10.0.0.2")], "10.0.0.3");
        for bad in ["unknown", "", "_hidden", "192.0.2", "\u{e9}", "192.0.2.1,"] {
            check(&[(x, bad)], "10.0.0.1");
        }
        check(&[(x, "unknown, 10.0.0.2")], "10.0.0.2");
        let name = "Forwarded";
        check(&[(name, "for=192.0.2.1")], "192.0.2.1");
        check(
            &[(name, "by=10.0.0.1;FOR=192.0.2.1;proto=http, for=10.0.0.2")],
            "192.0.2.1",
        );
        check(
            &[(name, "for=9.9.9.9, for=\"[2001:db8::1]:4711\"")],
            "2001:db8::1",
        );
        check(
            &[(name, "for=\"192.0.2.1:80\";host=\"a,b;c\\\"\"")],
            "192.0.2.1",
        );
        check(
            &[(name, "for=192.0.2.1, for=\"[2001:db8:1::2]\"")],
            "192.0.2.1",
        );
        for bad in [
            "for=unknown",
            "for=\"_gazonk\"",
            "for=\"192.0.2.1",
            "for=192.0.2.1;for=192.0.2.2",
            "proto=http",
            "for",
            "",
            "for=192.0.2.1,",
            "for=\"a, for=192.0.2.1",
        ] {
            check(&[(name, bad)], "10.0.0.1");
        }
        check(&[(name, "for=192.0.2.1"), (x, "192.0.2.1")], "192.0.2.1");
        check(&[(name, "for=9.9.9.9"), (x, "192.0.2.1")], "10.0.0.1");
    }

    #[test]
    fn others_than_proxies_are_not_believed() {
        let headers = [("X-Forwarded-For", &b"192.0.2.1"[..])];
        let request = HttpRequest::new("POST", "/").headers(&headers);
        let remote: IpAddr = "203.0.113.1".parse().expect("an address");
        assert_eq!(client_address(&request, remote, &[]), remote);
        let proxies = [network("10.0.0.0/8")];
        assert_eq!(client_address(&request, remote, &proxies), remote);
    }
}
