//! The choice of the proxy for a request: no proxy, the proxy that the host application has set, or
//! the proxy that the environment variables name.
//!
//! The environment variables are those of curl. `http_proxy` and `https_proxy` are for their
//! scheme, `all_proxy` is for both, and `no_proxy` lists exceptions. Each variable may be written
//! in lower or upper case; lower case takes precedence.

use std::fmt;
use std::net::IpAddr;

use ureq::Proxy;
use ureq::http::Uri;

/// The setting that decides which proxy the requests use.
#[derive(Clone, Default)]
pub(crate) enum Proxies {
    /// Requests go directly to the server.
    #[default]
    None,
    One(Proxy),
    /// Requests use the proxy that the environment names when the transport is opened.
    Environment,
}

impl Proxies {
    /// Returns the proxy for requests to a URL.
    ///
    /// # Errors
    ///
    /// A text for an error: the name of the environment variable whose URL is invalid.
    pub(crate) fn of(&self, uri: &Uri) -> Result<Option<Proxy>, String> {
        match self {
            Self::None => Ok(None),
            Self::One(proxy) => Ok(Some(proxy.clone())),
            Self::Environment => from_environment(uri, &variable),
        }
    }
}

/// Formats only the kind of the setting, because a proxy's URL may contain a password.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::One(_) => "One",
            Self::Environment => "Environment",
        })
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn from_environment(
    uri: &Uri,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, String> {
    let own = match uri.scheme_str() {
        Some("https") => ["https_proxy", "HTTPS_PROXY"],
        _ => ["http_proxy", "HTTP_PROXY"],
    };
    // In a CGI program, `HTTP_PROXY` is the header field `Proxy` of its client, which can't be
    // trusted (httpoxy).
    let is_trusted = |name: &str| name != "HTTP_PROXY" || variable("REQUEST_METHOD").is_none();
    let mut names = own.into_iter().chain(["all_proxy", "ALL_PROXY"]);
    let found = names.find_map(|name| {
        let value = variable(name).filter(|_| is_trusted(name))?;
        Some((name, value))
    });
    let Some((name, value)) = found else {
        return Ok(None);
    };
    let value = value.trim();
    let exceptions = ["no_proxy", "NO_PROXY"].into_iter().find_map(variable);
    // An empty value means no proxy.
    if value.is_empty() || is_excepted(uri, &exceptions.unwrap_or_default()) {
        return Ok(None);
    }
    let proxy = Proxy::new(value);
    proxy.map(Some).map_err(|_| {
        format!("the URL of the proxy that the environment names ({name}) can't be read")
    })
}

/// Whether `exceptions` contains the host of a URL, so that the host is reached without a proxy.
fn is_excepted(uri: &Uri, exceptions: &str) -> bool {
    let host = uri.host().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    let host = host.to_ascii_lowercase();
    let usual = if uri.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    let port = uri.port_u16().unwrap_or(usual);
    let mut entries = exceptions
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|entry| !entry.is_empty());
    entries.any(|entry| {
        let (place, only) = split_port(entry);
        only.is_none_or(|only| only == port) && matches(&place.to_ascii_lowercase(), &host)
    })
}

/// Splits an entry of `no_proxy` into its host and its port. The port is `None` if the entry has no
/// port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    let (place, port) = match entry.rsplit_once(':') {
        // An IPv6 address has several colons, and needs brackets to have a port.
        Some((place, port)) if !place.contains(':') || place.ends_with(']') => {
            (place, port.parse().ok())
        }
        _ => (entry, None),
    };
    match port {
        Some(_) => (place.trim_matches(['[', ']']), port),
        None => (entry.trim_matches(['[', ']']), None),
    }
}

/// Whether a host is equal to the host of an entry, or belongs to the entry's domain or network.
fn matches(entry: &str, host: &str) -> bool {
    if entry == "*" {
        return true;
    }
    let address = host.parse::<IpAddr>();
    if let Some((network, bits)) = entry.split_once('/') {
        return match (network.parse(), bits.parse(), address) {
            (Ok(network), Ok(bits), Ok(address)) => is_in(address, network, bits),
            _ => false,
        };
    }
    if let Ok(address) = address {
        return entry.parse() == Ok(address);
    }
    let domain = entry.strip_prefix('*').unwrap_or(entry);
    let domain = domain.trim_matches('.');
    let rest = host.strip_suffix(domain);
    !domain.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether an address belongs to a network: whether the first `bits` bits of `address` and
/// `network` are equal.
fn is_in(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let (one, other, len) = match (address, network) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            (u128::from(one.to_bits()), u128::from(other.to_bits()), 32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    let rest = |value: u128| value.checked_shr(len - bits).unwrap_or(0);
    bits <= len && rest(one) == rest(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(url: &str, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let uri = url.parse().expect("a URL");
        let proxy = from_environment(&uri, &|name| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| (*value).to_owned())
        })?;
        Ok(proxy.map(|proxy| format!("{}:{}", proxy.host(), proxy.port())))
    }

    #[test]
    fn the_scheme_of_the_address_says_which_proxy() {
        fn check(url: &str, variables: &[(&str, &str)], expected: Option<&str>) {
            let found = found(url, variables).expect("readable");
            assert_eq!(found.as_deref(), expected, "{url} {variables:?}");
        }
        let both = [("HTTP_PROXY", "http://h:1"), ("HTTPS_PROXY", "http://s:2")];
        check("http://a.test/", &both, Some("h:1"));
        check("https://a.test/", &both, Some("s:2"));
        check("https://a.test/", &both[..1], None);
        check("http://a.test/", &both[1..], None);
        let all = [("ALL_PROXY", "socks5://x:3"), both[0]];
        check("http://a.test/", &all, Some("h:1"));
        check("https://a.test/", &all, Some("x:3"));
        check("https://a.test/", &[("all_proxy", "p:4")], Some("p:4"));
        let lower = [("http_proxy", "http://l:5"), both[0]];
        check("http://a.test/", &lower, Some("l:5"));
        check("http://a.test/", &[("http_proxy", ""), both[0]], None);
        check("http://a.test/", &[], None);
        // In a CGI program, the variable contains the header field `Proxy` of a client.
        let cgi = [both[0], ("REQUEST_METHOD", "GET")];
        check("http://a.test/", &cgi, None);
    }

    #[test]
    fn a_proxy_that_can_not_be_read_is_an_error_without_its_password() {
        let odd = [("https_proxy", "http://user:s3cret@[")];
        let error = found("https://a.test/", &odd).expect_err("refused");
        assert!(error.contains("https_proxy") && !error.contains("s3cret"));
        // An invalid variable does no harm if no request uses it.
        let odd = [odd[0], ("no_proxy", "a.test")];
        assert_eq!(found("https://a.test/", &odd), Ok(None));
        assert_eq!(found("http://a.test/", &odd), Ok(None));
    }

    #[test]
    fn exceptions_are_hosts_domains_and_networks() {
        fn check(url: &str, exceptions: &str, expected: bool) {
            let uri = url.parse().expect("a URL");
            assert_eq!(
                is_excepted(&uri, exceptions),
                expected,
                "{url} {exceptions}"
            );
        }
        check("http://a.test/", "", false);
        check("http://a.test/", "*", true);
        check("http://A.test/", "b.test, a.TEST", true);
        check("http://x.a.test/", "a.test", true);
        check("http://x.a.test/", ".a.test", true);
        check("http://x.a.test/", "*.a.test", true);
        check("http://a.test./", "a.test", true);
        check("http://xa.test/", "a.test", false);
        check("http://a.test/", "x.a.test", false);
        check("http://a.test/", "., ,,", false);
        check("http://a.test/", "b.test a.test", true);
        check("http://a.test:8080/", "a.test:8080", true);
        check("http://a.test/", "a.test:8080", false);
        check("https://a.test/", "a.test:443", true);
        check("http://127.0.0.1:9/", "localhost,127.0.0.1", true);
        check("http://127.0.0.1/", "0.0.1", false);
        check("http://10.1.2.3/", "10.0.0.0/8", true);
        check("http://11.1.2.3/", "10.0.0.0/8", false);
        check("http://10.1.2.3/", "0.0.0.0/0", true);
        check("http://10.1.2.3/", "10.0.0.0/99", false);
        check("http://a.test/", "10.0.0.0/8", false);
        check("http://[::1]:80/", "::1", true);
        check("http://[::1]:80/", "[::1]:80", true);
        check("http://[::1]:81/", "[::1]:80", false);
        check("http://[fd00::7]/", "fd00::/8", true);
        check("http://[fd00::7]/", "10.0.0.0/8", false);
    }
}
