//! Host and Origin checks against DNS rebinding: web pages of other sites must not reach the
//! server.
//!
//! Spec: Transports, "Streamable HTTP", "Security Warning" (every revision).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::fields::text;
use super::options::HttpOptions;
use crate::error::{Error, Excerpt};
use crate::schema::url::Url;
use crate::transport::http::HttpRequest;

/// The names by which clients on this machine reach the server.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Checks the `Host` and `Origin` fields of a request. If the request is refused, returns the
/// reason.
pub(super) fn check(options: &HttpOptions, request: &HttpRequest<'_>) -> Result<(), String> {
    check_host(options, request)?;
    check_origin(options, request)
}

/// Checks the `Host` field of a request for the health page. An IP address is allowed too, and so
/// is a request without the field (HTTP/1.0): probes send such requests, and no attacker can let a
/// name of their own stand for an address.
pub(super) fn check_probe(options: &HttpOptions, request: &HttpRequest<'_>) -> Result<(), String> {
    let host = text(request, "Host");
    match host.is_none_or(|host| names_a_machine(without_port(&host))) {
        true => Ok(()),
        false => check_host(options, request),
    }
}

/// Checks the `Host` field of a request.
pub(super) fn check_host(options: &HttpOptions, request: &HttpRequest<'_>) -> Result<(), String> {
    let local = request.local.is_some_and(|local| is_loopback(&local));
    let host = text(request, "Host");
    let name = host.as_deref().map(without_port);
    let known = match (&options.allowed_hosts, name) {
        (Some(allowed), Some(name)) => allowed.iter().any(|host| host.eq_ignore_ascii_case(name)),
        (None, Some(name)) => !local || is_loopback_name(name),
        (allowed, None) => allowed.is_none(),
    };
    if known {
        return Ok(());
    }
    let host = host.unwrap_or_default();
    Err(format!(
        "Host '{}' is not an allowed host name of this server",
        Excerpt(&host)
    ))
}

/// Checks the `Origin` field of a request whose `Host` is allowed.
fn check_origin(options: &HttpOptions, request: &HttpRequest<'_>) -> Result<(), String> {
    let local = request.local.is_some_and(|local| is_loopback(&local));
    let host = text(request, "Host");
    let Some(origin) = text(request, "Origin") else {
        return Ok(());
    };
    let own = origin_host(&origin).is_some_and(|from| {
        let is_host = host
            .as_deref()
            .is_some_and(|host| host.eq_ignore_ascii_case(from));
        let is_sure = options.allowed_hosts.is_some() || names_a_machine(without_port(from));
        (is_host && is_sure) || (local && is_loopback_name(without_port(from)))
    });
    if own || is_listed(options, &origin) {
        return Ok(());
    }
    Err(format!(
        "Origin '{}' is not an allowed origin of this server",
        Excerpt(&origin)
    ))
}

/// Returns the origin of a request if web pages of this origin may read the response.
pub(super) fn reader(options: &HttpOptions, request: &HttpRequest<'_>) -> Option<String> {
    let origin = text(request, "Origin")?;
    is_listed(options, &origin).then_some(origin)
}

/// Returns whether an origin is in `HttpOptions::allowed_origins`. Web pages of such an origin may
/// read responses.
pub(super) fn is_listed(options: &HttpOptions, origin: &str) -> bool {
    let mut allowed = options.allowed_origins.iter();
    allowed.any(|allowed| allowed.eq_ignore_ascii_case(origin))
}

fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Returns whether a host name is in [`LOOPBACK`], the documented names of this machine.
///
/// [`is_loopback_host`](crate::schema::url::is_loopback_host) accepts more, such as `app.localhost`
/// and `127.0.0.2`. This list decides which requests are served, so it stays as short as
/// documented. `HttpOptions::allowed_hosts` replaces it.
fn is_loopback_name(name: &str) -> bool {
    LOOPBACK.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Returns whether a host name is an IP address or a name of this machine. No attacker can own such
/// a name.
///
/// The owner of any other name can let the name resolve to this server's address for a moment. A
/// page that was loaded from this name before can then call the server as its own host (DNS
/// rebinding).
fn names_a_machine(name: &str) -> bool {
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let is_address = match bare {
        Some(bare) => bare.parse::<Ipv6Addr>().is_ok(),
        None => name.parse::<Ipv4Addr>().is_ok(),
    };
    is_address || is_loopback_name(name)
}

/// Returns the `host` in a text `host:port`. The brackets of an IPv6 address stay.
///
/// Unlike [`Url::read`], this function accepts a malformed `host:port`: the caller compares the
/// result with the allowed names.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() =>
        {
            name
        }
        _ => host,
    }
}

/// Checks the names and origins of [`HttpOptions`]. A name or origin that no request can have
/// would allow nothing.
pub(super) fn check_allowed(options: &HttpOptions) -> Result<(), Error> {
    let refuse = |what: &str, text: &str, expected: &str| {
        let text = format!("'{}' is no {what}: {expected}", Excerpt(text));
        Err(Error::invalid(text))
    };
    for host in options.allowed_hosts.iter().flatten() {
        if !is_host_name(host) {
            let expected = "expected a host name or address such as 'mcp.example.com' or '[::1]', without scheme, port and wildcard";
            return refuse("host name", host, expected);
        }
    }
    for origin in &options.allowed_origins {
        if !is_origin(origin) {
            let expected = "expected a scheme and a host name such as 'https://example.com', with a port only if it is not the default, without path and wildcard";
            return refuse("origin", origin, expected);
        }
    }
    Ok(())
}

fn is_host_name(host: &str) -> bool {
    let url = format!("http://{host}");
    let url = Url::read(&url);
    url.is_some_and(|url| url.host == host && url.user.is_none() && !host.contains('*'))
}

/// Whether a text can be the `Origin` field of a browser (RFC 6454, section 6.1). Browsers leave
/// out the default port. Pages without an origin of their own send `null`.
fn is_origin(origin: &str) -> bool {
    let is_whole = |url: Url<'_>| {
        let has_default_port = (url.is("http") && origin.ends_with(":80"))
            || (url.is("https") && origin.ends_with(":443"));
        let has_host = !url.host.is_empty() && !url.host.contains('*');
        has_host && url.user.is_none() && url.path.is_empty() && !has_default_port
    };
    origin == "null" || Url::read(origin).is_some_and(is_whole)
}

/// Returns the `host:port` in the origin `http://host:port` or `https://host:port`. Returns `None`
/// for an origin with another scheme, such as that of a browser extension: it is never an origin of
/// this server.
fn origin_host(origin: &str) -> Option<&str> {
    let url = Url::read(origin)?;
    let is_origin = (url.is("http") || url.is("https")) && url.user.is_none();
    let (_, authority) = origin.split_once("://")?;
    (is_origin && url.path.is_empty()).then_some(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(options: &HttpOptions, host: &str, origin: Option<&str>, local: &str) -> bool {
        let mut headers = vec![("host", host.as_bytes())];
        if let Some(origin) = origin {
            headers.push(("origin", origin.as_bytes()));
        }
        let request = HttpRequest::new("POST", "/mcp")
            .headers(&headers)
            .addresses(Some(local.parse().expect("an address")), None);
        check(options, &request).is_ok()
    }

    // M-HTTP-S-36, M-HTTP-S-02, L-HTTP-S-02
    #[test]
    fn on_loopback_only_names_of_this_machine_are_let_in() {
        let options = HttpOptions::new();
        for local in ["127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            for host in [
                "localhost",
                "localhost:1",
                "127.0.0.1:8080",
                "[::1]:1",
                "[::1]",
                "LOCALHOST",
            ] {
                assert!(asked(&options, host, None, local), "{host}");
                for scheme in ["http", "https", "HTTP", "Https"] {
                    let origin = format!("{scheme}://{host}");
                    assert!(asked(&options, host, Some(&origin), local), "{origin}");
                }
            }
            for host in [
                "localhost.",
                "127.",
                "127.1",
                "0x7f.1",
                "user@localhost",
                "evil.example",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "::1",
                "",
            ] {
                assert!(!asked(&options, host, None, local), "{host}");
            }
            let evil = [
                "http://evil.example",
                "null",
                "http://localhost@evil.example",
                "http://user@localhost",
                "localhost",
                "chrome-extension://localhost",
                "moz-extension://127.0.0.1",
                "app://localhost",
                "file://localhost",
                "ws://localhost",
                "httpx://localhost",
                "http:localhost",
                "http:///localhost",
                "://localhost",
                "http://localhost/",
                "http://localhost?",
                "http://localhost#",
                "http://localhost.",
                "http://127.",
                "http://127.1",
                "http://127.0.0.1.",
                "http://0x7f.1",
                "http://2130706433",
                "http://0.0.0.0",
                "http://localhost:port",
                "http://localhost:99999",
                "http://localhost:80:80",
                " http://localhost",
                "http://local host",
            ];
            for origin in evil {
                assert!(
                    !asked(&options, "localhost", Some(origin), local),
                    "{origin}"
                );
            }
        }
    }

    // M-HTTP-S-02, L-HTTP-S-02, AMB-38: the owner of a name can point it to a server in the network
    // of a page's visitor.
    #[test]
    fn a_page_is_of_the_own_host_only_if_nobody_else_can_have_the_name() {
        let anyone = HttpOptions::new();
        let listed = HttpOptions::new().allowed_hosts(["mcp.example"]);
        let unknown = |options: &HttpOptions, host: &str| {
            let origin = format!("http://{host}");
            let headers = [("host", host.as_bytes()), ("origin", origin.as_bytes())];
            check(options, &HttpRequest::new("POST", "/mcp").headers(&headers)).is_ok()
        };
        for (name, by_anyone, by_listed) in [
            ("mcp.example", false, true),
            ("evil.example", false, false),
            ("1.2.3.4.evil.example", false, false),
            ("192.0.2.1", true, false),
            ("[2001:db8::1]", true, false),
            ("localhost", true, false),
        ] {
            for host in [name.to_owned(), format!("{name}:8080")] {
                let origin = format!("http://{host}");
                let asked = |options| asked(options, &host, Some(&origin), "192.0.2.1:8080");
                assert_eq!(asked(&anyone), by_anyone, "{host}");
                assert_eq!(asked(&listed), by_listed, "{host}");
                assert_eq!(unknown(&anyone, &host), by_anyone, "{host}");
            }
        }
    }

    #[test]
    fn elsewhere_a_page_may_call_its_own_host_and_what_is_listed() {
        let public = "192.0.2.1:80";
        let options = HttpOptions::new()
            .allowed_hosts(["mcp.example"])
            .allowed_origins(["https://app.example"]);
        assert!(asked(
            &options,
            "mcp.example",
            Some("https://mcp.example"),
            public
        ));
        let options = HttpOptions::new().allowed_origins(["https://app.example"]);
        assert!(asked(&options, "mcp.example", None, public));
        assert!(asked(
            &options,
            "mcp.example",
            Some("https://app.example"),
            public
        ));
        assert!(!asked(
            &options,
            "mcp.example",
            Some("https://app.example:444"),
            public
        ));
        assert!(!asked(
            &options,
            "mcp.example",
            Some("http://localhost"),
            public
        ));
        let options = HttpOptions::new().allowed_hosts(["mcp.example"]);
        assert!(asked(&options, "MCP.example:8443", None, public));
        assert!(!asked(&options, "other.example", None, public));
        assert!(
            asked(&options, "mcp.example", None, "127.0.0.1:80"),
            "behind a proxy"
        );
    }
}
