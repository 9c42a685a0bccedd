//! An OAuth resource server, which accepts access tokens and publishes where clients get tokens.
//!
//! Spec: Base Protocol, "Authorization" (2025-06-18 and later); RFC 9728; RFC 6750.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::cors;
use super::denied::{BEARER, DPOP, Denied, Why};
use super::refusal::{Refusal, without_slash};
use super::verifier::{Grant, ProofCheck, TokenVerifier, has_passed};
use crate::error::{Error, Excerpt, Result};
use crate::protocol::principal::{Principal, scope_set};
use crate::schema::url::Url;
use crate::server::debug_fields::debug_fields;
use crate::transport::http::{HttpRequest, ResponseHead};

/// The path prefix of protected resource metadata.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// An OAuth 2.1 resource server, to which clients authorize with access tokens of an authorization
/// server.
///
/// A request needs a token in its `Authorization` field. The verifier must accept the token. The
/// token must be issued for this server, and must not have expired. Otherwise the answer is status
/// 401, with a challenge that says where to get tokens. If a scope is missing, the answer is status
/// 403 with the required scopes. The metadata that the challenge refers to is public, at the paths
/// of RFC 9728.
///
/// # Examples
///
/// ```
/// use mcplink::server::Principal;
/// use mcplink::server::http::{Denied, Grant, HttpOptions, ResourceServer};
///
/// // The feature `jwt` has a ready-made verifier for signed tokens.
/// let verifier = |token: &str| match token {
///     "k7Zq" => {
///         let ada = Principal::new("ada").scopes(["files:read"]);
///         Ok(Grant::new(ada, ["https://files.example/mcp"]))
///     }
///     _ => Err(Denied::invalid_token("it is unknown")),
/// };
/// let issuers = ["https://login.example"];
/// let server = ResourceServer::new("https://files.example/mcp", issuers, verifier)?
///     .required_scopes(["files:read"])
///     .scopes_supported(["files:read", "files:write"])
///     .implies("files:write", ["files:read"]);
/// let options = HttpOptions::new().authorization(server);
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct ResourceServer {
    /// The URL of this server, in canonical form.
    resource: String,
    authorization_servers: Vec<String>,
    verifier: Arc<dyn TokenVerifier>,
    /// The accepted audiences of tokens, in canonical form.
    audiences: Vec<String>,
    required: BTreeSet<String>,
    supported: BTreeSet<String>,
    implied: Vec<(String, BTreeSet<String>)>,
    name: Option<String>,
    documentation: Option<String>,
    metadata_url: String,
    proofs: Option<Arc<dyn ProofCheck>>,
}

/// The protected resource metadata of the server (RFC 9728, section 2).
#[derive(Serialize)]
struct Metadata<'a> {
    resource: &'a str,
    authorization_servers: &'a [String],
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    scopes_supported: &'a BTreeSet<String>,
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_documentation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dpop_signing_alg_values_supported: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dpop_bound_access_tokens_required: Option<bool>,
}

impl ResourceServer {
    /// Creates a resource server.
    ///
    /// `resource` is the URL of the server, exactly as clients write it. The authorization servers
    /// are given by their issuer names.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when there is no authorization server or a
    /// URL is invalid. A URL must be `https` (except on this machine), without a query, a fragment
    /// or credentials.
    pub fn new<S: Into<String>>(
        resource: &str,
        authorization_servers: impl IntoIterator<Item = S>,
        verifier: impl TokenVerifier + 'static,
    ) -> Result<Self> {
        let resource = canonical(check("the address of the server", resource)?);
        let authorization_servers: Vec<String> =
            authorization_servers.into_iter().map(Into::into).collect();
        if authorization_servers.is_empty() {
            let text =
                format!("clients of '{resource}' need an authorization server to get tokens from");
            return Err(Error::invalid(text));
        }
        for issuer in &authorization_servers {
            check("the issuer", issuer)?;
        }
        Ok(Self {
            metadata_url: metadata_of(&resource),
            audiences: vec![resource.clone()],
            resource,
            authorization_servers,
            verifier: Arc::new(verifier),
            required: BTreeSet::new(),
            supported: BTreeSet::new(),
            implied: Vec::new(),
            name: None,
            documentation: None,
            proofs: None,
        })
    }

    /// Sets the scopes that every request needs. Each challenge lists these scopes. Defaults to no
    /// scopes. To require more scopes for single items, see
    /// [`ServerBuilder::require_scopes`](crate::server::ServerBuilder::require_scopes).
    pub fn required_scopes<S: AsRef<str>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.required = scope_set(scopes);
        self
    }

    /// Sets the scopes that the metadata lists.
    ///
    /// List only the scopes of usual operations, since some clients request all of them at once.
    /// `offline_access` is left out of the metadata, since only the authorization server uses it.
    /// Defaults to [`required_scopes`](Self::required_scopes).
    // M-AUTH-S-48
    pub fn scopes_supported<S: AsRef<str>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.supported = scope_set(scopes);
        self
    }

    /// Declares that the scope `broad` includes the narrower scopes `narrow`, and all scopes that
    /// these include. By default no scope includes another one.
    // M-AUTH-S-60
    pub fn implies<S: AsRef<str>>(
        mut self,
        broad: impl Into<String>,
        narrow: impl IntoIterator<Item = S>,
    ) -> Self {
        self.implied.push((broad.into(), scope_set(narrow)));
        self
    }

    /// Adds a name that stands for this server in the audience of tokens. Some authorization
    /// servers use such a name instead of the server's URL. By default only the URL is accepted.
    pub fn audience(mut self, audience: impl AsRef<str>) -> Self {
        self.audiences.push(canonical(audience.as_ref()));
        self
    }

    /// Sets the display name of the server, for pages where users give their consent. By default
    /// the server has no display name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the URL of a documentation page for developers, which the metadata names. By default
    /// the metadata names no such page.
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Sets the URL of the metadata, for servers behind proxies that forward only some paths. The
    /// metadata is also served at this URL.
    ///
    /// The default follows from the server's URL:
    /// `https://host/.well-known/oauth-protected-resource/mcp` for `https://host/mcp`.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new).
    pub fn metadata_at(mut self, url: &str) -> Result<Self> {
        check("the address of the metadata", url)?.clone_into(&mut self.metadata_url);
        Ok(self)
    }

    /// Sets that tokens that are bound to a key of the client are accepted, together with a proof
    /// of the key (`Authorization: DPoP`). Challenges and metadata tell clients that these tokens
    /// are accepted. By default tokens that are bound to a key are refused.
    ///
    /// Spec: RFC 9449, section 7; DPoP profile of MCP (draft, SEP-1932).
    #[cfg(feature = "jwt")]
    pub fn dpop(mut self, dpop: super::Dpop) -> Self {
        self.proofs = Some(Arc::new(dpop));
        self
    }

    pub(super) fn proofs(&self) -> Option<&dyn ProofCheck> {
        self.proofs.as_deref()
    }

    pub(super) fn required(&self) -> &BTreeSet<String> {
        &self.required
    }

    pub(super) fn metadata_url(&self) -> &str {
        &self.metadata_url
    }

    /// Checks whether a request may be served, and returns its principal. `endpoint` is the path of
    /// the endpoint.
    pub(super) fn admit(
        &self,
        endpoint: &str,
        request: &HttpRequest<'_>,
    ) -> Result<Principal, Denied> {
        let (way, token) = self.token_of(request)?;
        let grant = self.verifier.verify(token)?;
        let mut audience = grant.audience.iter().map(|name| canonical(name));
        if !audience.any(|name| self.audiences.contains(&name)) {
            return Err(Denied::invalid_token("it was not issued for this server"));
        }
        let expiry = grant.principal.expiry();
        if expiry.is_some_and(has_passed) {
            return Err(Denied::invalid_token("it has expired"));
        }
        self.check_key(endpoint, request, way, token, &grant)?;
        let principal = grant.principal;
        let principal = self.with_implied(principal);
        let lacks = |scope: &String| !principal.has_scope(scope);
        if self.required.iter().any(lacks) {
            return Err(Denied::insufficient_scope(&self.required));
        }
        Ok(principal)
    }

    /// Returns the token of a request, and the authentication scheme with which the token was sent.
    /// Only the `Authorization` field is read.
    fn token_of<'a>(&self, request: &HttpRequest<'a>) -> Result<(Way, &'a str), Denied> {
        let mut fields = request.values("Authorization");
        let Some(field) = fields.next() else {
            return Err(Denied(Why::NoToken));
        };
        let malformed = |why: String| Err(Denied(Why::Malformed(why)));
        if fields.any(|other| other != field) {
            return malformed("there is more than one Authorization field".to_owned());
        }
        let field = std::str::from_utf8(field).unwrap_or_default();
        let (scheme, token) = field.split_once(' ').unwrap_or((field, ""));
        let (way, name) = if scheme.eq_ignore_ascii_case(BEARER) {
            (Way::Bearer, BEARER)
        } else if scheme.eq_ignore_ascii_case(DPOP) && self.proofs.is_some() {
            (Way::Proved, DPOP)
        } else {
            return Err(Denied(Why::NoToken));
        };
        let token = token.trim_ascii();
        // Some tokens have other characters than RFC 6750 allows. Commas and blanks are separators.
        let may_stand = |byte: u8| byte.is_ascii_graphic() && byte != b',';
        if token.trim_end_matches('=').is_empty() || !token.bytes().all(may_stand) {
            return malformed(format!(
                "what follows {name} in the Authorization field is no token"
            ));
        }
        Ok((way, token))
    }

    /// Checks the proof of the key that a token is bound to. Refuses a bound token that is sent
    /// without a proof. Refuses an unbound token that is sent with a proof, and every unbound token
    /// if proofs are required.
    fn check_key(
        &self,
        endpoint: &str,
        request: &HttpRequest<'_>,
        way: Way,
        token: &str,
        grant: &Grant,
    ) -> Result<(), Denied> {
        let why = match (way, &grant.key, self.proofs()) {
            (Way::Proved, Some(key), Some(proofs)) => {
                let target = self.target_of(endpoint, request);
                let client = grant.principal.client();
                return proofs.check(request, &target, token, key, &client);
            }
            (Way::Bearer, None, Some(proofs)) if proofs.is_required() => "it is bound to no key",
            (Way::Bearer, None, _) => return Ok(()),
            (Way::Bearer, Some(_), Some(_)) => {
                "it is bound to a key, and comes without a proof of that: send it as Authorization: DPoP"
            }
            (_, Some(_), None) => "it is bound to a key",
            (Way::Proved, None, _) => "it is bound to no key: send it as Authorization: Bearer",
        };
        Err(Denied::invalid_token(why))
    }

    /// Returns the URL that a client sent a request to. Scheme and host are those of the server's
    /// configured URL, since a proxy may have changed the `Host` field.
    fn target_of(&self, endpoint: &str, request: &HttpRequest<'_>) -> String {
        let path = request.target.split('?').next().unwrap_or_default();
        match path.strip_prefix(endpoint) {
            Some("") => self.resource.clone(),
            Some("/") => format!("{}/", without_slash(&self.resource)),
            _ => format!("{}{path}", origin_of(&self.resource)),
        }
    }

    fn with_implied(&self, principal: Principal) -> Principal {
        let Some(granted) = principal.granted().filter(|_| !self.implied.is_empty()) else {
            return principal;
        };
        let mut all = granted.clone();
        loop {
            let before = all.len();
            for (broad, narrow) in &self.implied {
                if all.contains(broad) {
                    all.extend(narrow.iter().cloned());
                }
            }
            if all.len() == before {
                return principal.scopes(all);
            }
        }
    }

    /// Whether the metadata is served at a path.
    pub(super) fn serves_metadata_at(&self, endpoint: &str, path: &str) -> bool {
        let inserted = path.strip_prefix(WELL_KNOWN);
        let is_known = inserted.is_some_and(|rest| {
            [path_of(&self.resource), endpoint, ""]
                .map(without_slash)
                .contains(&without_slash(rest))
        });
        is_known || path == path_of(&self.metadata_url)
    }

    /// Returns the response if a request is for the metadata, or `None` for any other request.
    ///
    /// Spec: RFC 9728, section 3.
    pub(super) fn serve_metadata(
        &self,
        endpoint: &str,
        request: &HttpRequest<'_>,
    ) -> Option<Refusal> {
        let path = request.target.split('?').next().unwrap_or_default();
        if !self.serves_metadata_at(endpoint, path) {
            return None;
        }
        // The metadata is public, also for pages of other sites.
        let answer = match request.method {
            "GET" | "HEAD" => Refusal {
                head: ResponseHead::new(200)
                    .header("Content-Type", "application/json")
                    .header("Cache-Control", "max-age=300"),
                body: self.metadata(),
            },
            "OPTIONS" => Refusal::empty(cors::preflight(request, "GET")),
            _ => Refusal::text(405, "allowed here: GET").header("Allow", "GET, HEAD, OPTIONS"),
        };
        Some(answer.header("Access-Control-Allow-Origin", "*"))
    }

    fn metadata(&self) -> Vec<u8> {
        let shown = if self.supported.is_empty() {
            &self.required
        } else {
            &self.supported
        };
        let mut scopes_supported = shown.clone();
        scopes_supported.remove("offline_access");
        let metadata = Metadata {
            resource: &self.resource,
            authorization_servers: &self.authorization_servers,
            scopes_supported: &scopes_supported,
            bearer_methods_supported: ["header"],
            resource_name: self.name.as_deref(),
            resource_documentation: self.documentation.as_deref(),
            dpop_signing_alg_values_supported: self.proofs().map(|proofs| proofs.algorithms()),
            dpop_bound_access_tokens_required: self.proofs().map(|proofs| proofs.is_required()),
        };
        serde_json::to_vec(&metadata).expect("strings are JSON")
    }
}

debug_fields!(
    ResourceServer,
    resource,
    authorization_servers,
    required_scopes = |it| &it.required
);

/// The authentication scheme with which a client sends a token.
#[derive(Clone, Copy)]
enum Way {
    /// The client sends the token alone (`Authorization: Bearer`).
    Bearer,
    /// The client sends the token with a proof of its key (`Authorization: DPoP`).
    Proved,
}

fn check<'a>(what: &str, address: &'a str) -> Result<&'a str> {
    let refuse = |why: &str| {
        let text = format!("{what} '{}' {why}", Excerpt(address));
        Err(Error::invalid(text))
    };
    let Some(url) = Url::read(address) else {
        return refuse("is no URL");
    };
    if !(url.is("https") || url.is("http") && url.is_loopback()) {
        return refuse("is not https, which only an address of this machine need not be");
    }
    if url.user.is_some() || url.path.contains(['?', '#']) {
        return refuse("has credentials, a query or a fragment in it, which has no meaning here");
    }
    Ok(address)
}

/// Returns the canonical form of a URL: scheme and host in lower case, and no slash at the end if
/// the path is only a slash. Names that are not URLs are returned unchanged.
///
/// Spec: Base Protocol, Authorization, "Canonical Server URI" (2025-06-18 and later).
fn canonical(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = if path == "/" { "" } else { path };
    format!(
        "{}://{}{path}",
        scheme.to_ascii_lowercase(),
        authority.to_ascii_lowercase()
    )
}

/// Returns the path of a URL.
fn path_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    rest.find('/').map_or("", |at| &rest[at..])
}

/// Returns the part of a URL before the path.
fn origin_of(address: &str) -> &str {
    &address[..address.len() - path_of(address).len()]
}

fn metadata_of(resource: &str) -> String {
    format!("{}{WELL_KNOWN}{}", origin_of(resource), path_of(resource))
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-AUTH-B-30, M-AUTH-B-31, L-AUTH-B-41, L-AUTH-B-42
    #[test]
    fn addresses_have_a_canonical_form() {
        for (address, expected) in [
            (
                "HTTPS://MCP.Example.com/Server",
                "https://mcp.example.com/Server",
            ),
            ("https://h/", "https://h"),
            ("https://h:8443", "https://h:8443"),
            ("https://h/mcp/", "https://h/mcp/"),
            ("api://Files", "api://files"),
            ("My-Client", "My-Client"),
        ] {
            assert_eq!(canonical(address), expected);
        }
    }

    // M-ASD-S-04
    #[test]
    fn the_path_of_a_server_follows_the_well_known_one() {
        for (resource, expected) in [
            (
                "https://h",
                "https://h/.well-known/oauth-protected-resource",
            ),
            (
                "https://h:1/a/mcp",
                "https://h:1/.well-known/oauth-protected-resource/a/mcp",
            ),
        ] {
            assert_eq!(metadata_of(resource), expected);
        }
    }
}
