//! Fetches an issuer's keys: first the issuer's metadata, then the key set that the metadata names.
//!
//! Spec: RFC 8414, section 3; OpenID Connect Discovery 1.0, section 4.

use std::time::Duration;

use serde::Deserialize;
use ureq::Agent;

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::fallible;
use crate::schema::url::Url;
use crate::transport::http::proxies::Proxies;
use crate::transport::http::tls::{Roots, untrusted};

/// The timeout for fetching one document.
const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 256 << 10;

/// The way in which documents are fetched: the proxy and the trusted certificate authorities.
#[derive(Default)]
pub(super) struct Way {
    pub(super) proxy: Proxies,
    pub(super) roots: Roots,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: Option<String>,
}

/// Fetches the key set of an issuer. The URL of the key set is in the issuer's metadata.
///
/// All possible metadata URLs are tried, because one of them may lead to a web page, or to metadata
/// without a key set (which RFC 8414 allows).
pub(super) fn discover(issuer: &str, way: &Way) -> Result<String> {
    // The error of a document that exists is more useful than that of a missing one.
    let (mut missing, mut useless) = (None, None);
    for url in metadata_urls(issuer) {
        match fetch(&url, way).map(|text| key_set_url(issuer, &url, &text)) {
            Ok(Ok(keys)) => return fetch(&keys, way),
            Ok(Err(error)) => useless = useless.or(Some(error)),
            // All URLs have the same host, which is too slow. A request waits for the keys, so
            // there is no further try.
            Err(error) if error.kind() == ErrorKind::Timeout => return Err(error),
            Err(error) => missing = Some(error),
        }
    }
    Err(useless
        .or(missing)
        .unwrap_or_else(|| Error::invalid(format!("the issuer '{}' is no URL", Excerpt(issuer)))))
}

fn key_set_url(issuer: &str, url: &str, text: &str) -> Result<String> {
    let bad = |why: &str| {
        let text = format!("the metadata at '{}' {why}", Excerpt(url));
        Error::new(ErrorKind::Auth, text)
    };
    let metadata: Metadata =
        serde_json::from_str(text).map_err(|error| bad(&format!("can't be read: {error}")))?;
    if metadata.issuer != issuer {
        let other = Excerpt(&metadata.issuer);
        return Err(bad(&format!("is that of another issuer, '{other}'")));
    }
    metadata
        .jwks_uri
        .ok_or_else(|| bad("names no keys (jwks_uri)"))
}

/// Returns the URLs at which an issuer's metadata may be.
fn metadata_urls(issuer: &str) -> Vec<String> {
    let Some((scheme, rest)) = issuer.split_once("://") else {
        return Vec::new();
    };
    let rest = rest.trim_end_matches('/');
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut urls = ["oauth-authorization-server", "openid-configuration"]
        .map(|name| format!("{scheme}://{host}/.well-known/{name}{path}"))
        .to_vec();
    if !path.is_empty() {
        urls.push(format!(
            "{scheme}://{host}{path}/.well-known/openid-configuration"
        ));
    }
    urls
}

/// Fetches a document. The URL must be `https`, or `http` on this machine. Redirects are not
/// followed.
pub(super) fn fetch(url: &str, way: &Way) -> Result<String> {
    let failed = |kind, why: &dyn std::fmt::Display| {
        Error::new(kind, format!("'{}' can't be had: {why}", Excerpt(url)))
    };
    let is_safe = Url::read(url).is_some_and(|url| {
        url.user.is_none() && (url.is("https") || url.is("http") && url.is_loopback())
    });
    if !is_safe {
        return Err(failed(ErrorKind::Auth, &"it is no https URL"));
    }
    let went_wrong = |error: ureq::Error| match &error {
        ureq::Error::Timeout(_) => failed(ErrorKind::Timeout, &error),
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::OutOfMemory => {
            fallible::no_memory(format_args!("'{}'", Excerpt(url)))
        }
        ureq::Error::Io(io) => match untrusted(io, "JwtVerifier::root_certificates") {
            Some(why) => failed(ErrorKind::Io, &why),
            None => failed(ErrorKind::Io, &error),
        },
        _ => failed(ErrorKind::Io, &error),
    };
    let proxy = url
        .parse()
        .map_err(|_| failed(ErrorKind::Auth, &"it is no URL"))
        .and_then(|uri| {
            let proxy = way.proxy.of(&uri);
            proxy.map_err(|why| failed(ErrorKind::Invalid, &why))
        })?;
    let config = Agent::config_builder()
        .max_redirects(0)
        .max_redirects_will_error(true)
        // The environment's proxies are used only if the host chose that.
        .proxy(proxy)
        .tls_config(way.roots.config())
        .timeout_global(Some(TIMEOUT))
        .user_agent(concat!(
            env!("CARGO_PKG_NAME"),
            "/",
            env!("CARGO_PKG_VERSION")
        ))
        .build();
    let answer = Agent::from(config)
        .get(url)
        .header("Accept", "application/json")
        .call()
        .map_err(went_wrong)?;
    let mut text = Vec::new();
    fallible::read_to_end(
        &mut answer.into_body().into_reader(),
        &mut text,
        MAX_BYTES + 1,
    )
    .map_err(|error| went_wrong(error.into()))?;
    if text.len() > MAX_BYTES {
        let why = format!("it exceeds {MAX_BYTES} bytes");
        return Err(failed(ErrorKind::Limit, &why));
    }
    String::from_utf8(text).map_err(|_| failed(ErrorKind::Io, &"it is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_issuers_have_it() {
        assert_eq!(
            metadata_urls("https://as/"),
            [
                "https://as/.well-known/oauth-authorization-server",
                "https://as/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            metadata_urls("https://as/t/1"),
            [
                "https://as/.well-known/oauth-authorization-server/t/1",
                "https://as/.well-known/openid-configuration/t/1",
                "https://as/t/1/.well-known/openid-configuration",
            ]
        );
    }
}
