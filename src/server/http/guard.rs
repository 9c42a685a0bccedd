//! Which requests are let in: those that a page of another web site can't make a browser send here.
//!
//! Spec: Transports, "Streamable HTTP", "Security Warning" (every revision).

use std::net::SocketAddr;

use super::options::HttpOptions;
use crate::error::Excerpt;
use crate::transport::http::HttpRequest;

/// The names of a server on this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Why a request is not let in, with the setting that would let it in.
pub(super) fn check(options: &HttpOptions, request: &HttpRequest<'_>) -> Result<(), String> {
    let local = request.local.is_some_and(|local| is_loopback(&local));
    let host = text(request, "Host");
    let name = host.as_deref().map(without_port);
    let known = match (&options.allowed_hosts, name) {
        (Some(allowed), Some(name)) => allowed.iter().any(|host| host.eq_ignore_ascii_case(name)),
        (None, Some(name)) => !local || is_loopback_name(name),
        (allowed, None) => allowed.is_none(),
    };
    if !known {
        let host = host.unwrap_or_default();
        return Err(format!(
            "Host '{}' is not one of this server's: name it with HttpOptions::allowed_hosts",
            Excerpt(&host)
        ));
    }
    let Some(origin) = text(request, "Origin") else {
        return Ok(());
    };
    let own = origin_host(&origin).is_some_and(|from| {
        host.as_deref()
            .is_some_and(|host| host.eq_ignore_ascii_case(from))
            || (local && is_loopback_name(without_port(from)))
    });
    if own || is_listed(options, &origin) {
        return Ok(());
    }
    Err(format!(
        "Origin '{}' may not call this server: allow it with HttpOptions::allowed_origins",
        Excerpt(&origin)
    ))
}

/// Whether pages of an origin may read the answers too.
pub(super) fn is_listed(options: &HttpOptions, origin: &str) -> bool {
    let mut allowed = options.allowed_origins.iter();
    allowed.any(|allowed| allowed.eq_ignore_ascii_case(origin))
}

pub(super) fn text(request: &HttpRequest<'_>, name: &str) -> Option<String> {
    request
        .value(name)
        .map(|value| String::from_utf8_lossy(value).into_owned())
}

fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

fn is_loopback_name(name: &str) -> bool {
    LOOPBACK.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// `host` of `host:port`; the brackets of an IPv6 address stay.
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

/// `host:port` of `scheme://host:port`.
fn origin_host(origin: &str) -> Option<&str> {
    let (_, host) = origin.split_once("://")?;
    (!host.is_empty() && !host.contains(['/', '@', '?', '#'])).then_some(host)
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
                let origin = format!("http://{host}");
                assert!(asked(&options, host, Some(&origin), local), "{origin}");
            }
            for host in [
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
                "localhost",
            ];
            for origin in evil {
                assert!(
                    !asked(&options, "localhost", Some(origin), local),
                    "{origin}"
                );
            }
        }
    }

    #[test]
    fn elsewhere_a_page_may_call_its_own_host_and_what_is_listed() {
        let options = HttpOptions::new().allowed_origins(["https://app.example"]);
        let public = "192.0.2.1:80";
        assert!(asked(&options, "mcp.example", None, public));
        assert!(asked(
            &options,
            "mcp.example",
            Some("https://mcp.example"),
            public
        ));
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
