//! URLs, against the crate `url`, which reads them as browsers do.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::{auth, server, url as ours};
use url::{Host, Url};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (text, reference) = text.split_once('\n').unwrap_or((text, ""));
    check_shown(text);
    check_normalized(text);
    server::is_uri(text);
    let base = auth::http_url(text);
    let browsers = Url::parse(text).ok();
    if let (Some(parts), Some(url)) = (base, &browsers) {
        check_http(&parts, url);
        let joined = auth::join(text, reference);
        if let (Some((parts, _)), Ok(url)) = (joined, url.join(reference)) {
            check_http(&parts, &url);
        }
    }
});

/// Whether a host is a name or an address that is written in its usual form.
fn is_usual(host: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let last = host
        .trim_end_matches('.')
        .rsplit('.')
        .next()
        .unwrap_or_default();
    host.parse::<IpAddr>().is_ok()
        || host.chars().all(is_name)
            && last.starts_with(|c: char| c.is_ascii_alphabetic())
            && !host.to_ascii_lowercase().contains("xn--")
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// The host that a user is shown is the host that a browser goes to.
fn check_shown(text: &str) {
    let Some((scheme, user, host, _)) = ours::read(text) else {
        return;
    };
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    // Without slashes, a browser looks for the host behind the colon.
    if !is_web
        || !text[scheme.len()..].starts_with("://")
        || text[scheme.len() + 3..].starts_with('/')
    {
        return;
    }
    let Ok(url) = Url::parse(text) else {
        return;
    };
    let theirs = url.host().expect("an http URL has a host");
    let bare = host.trim_matches(['[', ']']);
    if is_usual(bare) {
        let theirs = theirs.to_string();
        let same = bare.parse::<IpAddr>().ok() == theirs.trim_matches(['[', ']']).parse().ok();
        assert!(
            theirs.eq_ignore_ascii_case(host) || same && bare.contains(':'),
            "{theirs} {host}"
        );
    }
    if ours::is_loopback_host(host) {
        assert!(is_loopback(&theirs));
    }
    if user.is_none() {
        assert_eq!((url.username(), url.password()), ("", None));
    }
}

/// The origin that requests are sent to is that of a browser.
fn check_http(parts: &auth::UrlParts, url: &Url) {
    let (origin, host, is_loopback_url) = parts;
    let theirs = url.host().expect("an http URL has a host");
    if is_usual(host) && !host.contains(':') {
        assert_eq!(*origin, url.origin().ascii_serialization());
    }
    if *is_loopback_url {
        assert!(is_loopback(&theirs));
    }
}

/// Normalizing is idempotent, and leaves neither dot segments nor another meaning.
fn check_normalized(text: &str) {
    let normalized = ours::normalized(text);
    // Texts like `http://a:80:80` are no URLs.
    if ours::read(text).is_some() {
        assert_eq!(ours::normalized(&normalized), normalized);
    }
    let escapes = ours::normalized_escapes(text);
    assert_eq!(ours::normalized_escapes(&escapes), escapes);
    assert_eq!(
        ours::percent_decoded_bytes(&escapes),
        ours::percent_decoded_bytes(text)
    );
    let path = format!("/{text}");
    let resolved = ours::without_dot_segments(&path);
    assert!(resolved.starts_with('/'));
    assert!(
        resolved
            .split('/')
            .all(|segment| segment != "." && segment != "..")
    );
}
