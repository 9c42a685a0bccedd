//! Parses the metadata of MCP servers and authorization servers, checks it, and computes its URLs.
//!
//! Spec: Base Protocol, Authorization, "Authorization Server Discovery" (2025-06-18 and later); RFC
//! 9728; RFC 8414; OpenID Connect Discovery 1.0; "Server Metadata Discovery" and "Fallbacks"
//! (2025-03-26).

use serde::Deserialize;

use super::http_url::HttpUrl;
use super::tolerant;
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// A protected resource's metadata (RFC 9728).
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ResourceMetadata {
    pub(super) resource: String,
    #[serde(default, deserialize_with = "tolerant::words")]
    pub(super) authorization_servers: Option<Vec<String>>,
    #[serde(default, deserialize_with = "tolerant::words")]
    pub(super) scopes_supported: Option<Vec<String>>,
    #[serde(default, deserialize_with = "tolerant::flag")]
    pub(super) dpop_bound_access_tokens_required: Option<bool>,
}

impl ResourceMetadata {
    /// Checks that this metadata belongs to `server`. Returns the authorization servers that the
    /// metadata names. The list is never empty.
    pub(super) fn check(&self, server: &HttpUrl) -> Result<&[String]> {
        let resource = HttpUrl::read("the resource of the metadata", &self.resource)?;
        if !resource.covers(server) {
            let text = format!(
                "the metadata of '{}' is about another resource: '{}'; nothing of it is used",
                server.shown(),
                Excerpt(&resource.shown())
            );
            return Err(Error::new(ErrorKind::Auth, text));
        }
        let issuers = self.authorization_servers.as_deref().unwrap_or_default();
        if issuers.is_empty() {
            let text = format!(
                "the metadata of '{}' names no authorization server (authorization_servers)",
                server.shown()
            );
            return Err(Error::new(ErrorKind::Auth, text));
        }
        Ok(issuers)
    }
}

/// Whether two texts name one issuer. Issuers are compared as text, except that an empty path
/// equals `/` (RFC 3986, section 6.2.3). Nothing else is normalized, because any other difference
/// may distinguish two issuers.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    without_root(one) == without_root(other)
}

/// Removes the slash of `https://host/`. Returns other texts unchanged.
fn without_root(issuer: &str) -> &str {
    let is_origin = |text: &&str| {
        let place = text.split_once("://").map_or("", |(_, place)| place);
        !place.is_empty() && !place.contains(['/', '?', '#'])
    };
    let bare = issuer.strip_suffix('/').filter(is_origin);
    bare.unwrap_or(issuer)
}

/// An authorization server's metadata (RFC 8414, OpenID Connect Discovery).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServerMetadata {
    pub(super) issuer: String,
    #[serde(deserialize_with = "tolerant::text")]
    pub(super) authorization_endpoint: Option<String>,
    #[serde(deserialize_with = "tolerant::text")]
    pub(super) token_endpoint: Option<String>,
    #[serde(deserialize_with = "tolerant::text")]
    pub(super) registration_endpoint: Option<String>,
    #[serde(deserialize_with = "tolerant::words")]
    pub(super) scopes_supported: Option<Vec<String>>,
    #[serde(deserialize_with = "tolerant::words")]
    pub(super) grant_types_supported: Option<Vec<String>>,
    #[serde(deserialize_with = "tolerant::words")]
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(deserialize_with = "tolerant::words")]
    pub(super) token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    #[serde(deserialize_with = "tolerant::words")]
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(deserialize_with = "tolerant::flag")]
    pub(super) authorization_response_iss_parameter_supported: Option<bool>,
    #[serde(deserialize_with = "tolerant::flag")]
    pub(super) client_id_metadata_document_supported: Option<bool>,
    #[serde(deserialize_with = "tolerant::words")]
    pub(super) dpop_signing_alg_values_supported: Option<Vec<String>>,
    #[serde(deserialize_with = "tolerant::words")]
    pub(super) authorization_grant_profiles_supported: Option<Vec<String>>,
}

impl ServerMetadata {
    /// Returns the default endpoints of an authorization server that has no metadata, as in
    /// 2025-03-26.
    pub(super) fn by_default(base: &str) -> Self {
        Self {
            issuer: base.to_owned(),
            authorization_endpoint: Some(format!("{base}/authorize")),
            token_endpoint: Some(format!("{base}/token")),
            registration_endpoint: Some(format!("{base}/register")),
            ..Self::default()
        }
    }

    /// Checks that the metadata belongs to the requested issuer.
    pub(super) fn check_issuer(&self, issuer: &str) -> Result<()> {
        if is_same_issuer(&self.issuer, issuer) {
            return Ok(());
        }
        let text = format!(
            "the metadata found for the authorization server '{}' is that of another issuer, '{}'; nothing of it is used",
            Excerpt(issuer),
            Excerpt(&self.issuer)
        );
        Err(Error::new(ErrorKind::Auth, text))
    }

    /// Checks that the authorization server supports PKCE, according to its metadata alone.
    pub(super) fn check_pkce(&self) -> Result<()> {
        let methods = self.code_challenge_methods_supported.as_deref();
        if methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
            return Ok(());
        }
        let text = format!(
            "the authorization server '{}' does not say that it supports PKCE with S256 (code_challenge_methods_supported): \
             codes would not be safe with it",
            Excerpt(&self.issuer)
        );
        Err(Error::new(ErrorKind::Auth, text))
    }

    /// Returns the URL `value` of an endpoint. Fails if the metadata does not contain the endpoint,
    /// or if the URL is not secure.
    pub(super) fn endpoint(&self, name: &str, value: Option<&String>) -> Result<HttpUrl> {
        match value {
            Some(value) => HttpUrl::read_secure(&format!("the {name}"), value),
            None => {
                let issuer = Excerpt(&self.issuer);
                let text = format!("the authorization server '{issuer}' names no {name}");
                Err(Error::new(ErrorKind::Auth, text))
            }
        }
    }

    pub(super) fn token_url(&self) -> Result<HttpUrl> {
        self.endpoint("token_endpoint", self.token_endpoint.as_ref())
    }

    /// Whether `list` contains `item`. Returns `otherwise` if the metadata does not contain the
    /// list.
    pub(super) fn lists(list: Option<&Vec<String>>, item: &str, otherwise: bool) -> bool {
        list.map_or(otherwise, |list| list.iter().any(|other| other == item))
    }
}

/// Returns the possible URLs of the metadata of an MCP server, in the order in which they are
/// tried.
pub(super) fn resource_places(server: &HttpUrl) -> Vec<String> {
    let origin = server.origin();
    let at_root = format!("{origin}/.well-known/oauth-protected-resource");
    let path = server.path().trim_end_matches('/');
    match path {
        "" => vec![at_root],
        path => vec![format!("{at_root}{path}"), at_root],
    }
}

/// Returns the possible URLs of the metadata of an authorization server, in the order in which they
/// are tried.
pub(super) fn server_places(issuer: &HttpUrl) -> Vec<String> {
    let origin = issuer.origin();
    let oauth = format!("{origin}/.well-known/oauth-authorization-server");
    let openid = format!("{origin}/.well-known/openid-configuration");
    match issuer.path().trim_end_matches('/') {
        "" => vec![oauth, openid],
        path => vec![
            format!("{oauth}{path}"),
            format!("{openid}{path}"),
            format!("{origin}{path}/.well-known/openid-configuration"),
        ],
    }
}

/// Returns the issuer of an MCP server that is its own authorization server, as in 2025-03-26. The
/// issuer is the origin of the server.
pub(super) fn base_of_old(server: &HttpUrl) -> String {
    server.origin()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> HttpUrl {
        HttpUrl::read("it", text).expect("a URL")
    }

    // M-ASD-C-06, M-ASD-C-09, M-ASD-C-10, L-AUTH-C-13, L-AUTH-C-21, L-AUTH-C-22, L-AUTH3-C-09
    #[test]
    fn metadata_is_looked_for_in_order() {
        assert_eq!(
            resource_places(&url("https://h:8443/a/mcp?x=y")),
            [
                "https://h:8443/.well-known/oauth-protected-resource/a/mcp",
                "https://h:8443/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            resource_places(&url("https://h/")),
            ["https://h/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            server_places(&url("https://as")),
            [
                "https://as/.well-known/oauth-authorization-server",
                "https://as/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            server_places(&url("https://as/p/q")),
            [
                "https://as/.well-known/oauth-authorization-server/p/q",
                "https://as/.well-known/openid-configuration/p/q",
                "https://as/p/q/.well-known/openid-configuration",
            ]
        );
        assert_eq!(base_of_old(&url("https://h:444/v1/mcp")), "https://h:444");
    }

    // M-ASD-C-13, M-ASD-C-14
    #[test]
    fn issuers_are_compared_as_text_but_for_an_empty_path() {
        let check = |issuer: &str, wanted: &str| {
            let metadata = ServerMetadata {
                issuer: issuer.to_owned(),
                ..ServerMetadata::default()
            };
            metadata.check_issuer(wanted).is_ok()
        };
        assert!(check("https://as/x", "https://as/x"));
        for other in [
            "https://AS/x",
            "https://as/x/",
            "https://as:443/x",
            "https://as/%78",
            "",
        ] {
            assert!(!check(other, "https://as/x"), "{other}");
        }
        assert!(check("https://as", "https://as/") && check("https://as/", "https://as"));
        assert!(check("https://as:8443", "https://as:8443/"));
        for other in [
            "https://AS/",
            "HTTPS://as",
            "https://as:443/",
            "https://as//",
            "https://as/.",
            "https://as/?",
            "https://as?/",
            "https://as#/",
            "https://as./",
            "http://as/",
            "https:///",
            "as/",
            "/",
        ] {
            assert!(!check(other, "https://as"), "{other}");
            assert!(!check("https://as/", other), "{other}");
        }
        assert!(!check("/", "") && !check("as/", "as") && !check("https:///", "https://"));
    }

    // M-ASEC-C-13, M-ASEC-C-14, M-ASEC-C-15, L-AUTH-C-69, L-AUTH-C-71
    #[test]
    fn pkce_has_to_be_there() {
        let check = |text: &str| {
            let metadata: ServerMetadata = serde_json::from_str(text).expect("metadata");
            metadata.check_pkce().is_ok()
        };
        assert!(check(
            r#"{"code_challenge_methods_supported":["plain","S256"]}"#
        ));
        assert!(!check(r#"{"code_challenge_methods_supported":["plain"]}"#));
        assert!(!check(r#"{"code_challenge_methods_supported":[]}"#));
        assert!(!check("{}"));
    }
}
