//! The identity of the client at an authorization server, and the client's authentication.
//!
//! Spec: Authorization, "Client Registration" (2025-11-25 and later); OAuth 2.1, section 2; RFC
//! 7523, section 2.2.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use zeroize::Zeroizing;

use super::dpop::now_seconds;
use super::http_url::HttpUrl;
use super::key::{Signer, sign_jwt};
use super::metadata::ServerMetadata;
use super::random;
use super::secret::Secret;
use super::token::{Fields, Form};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::url::percent_encoded;

/// The lifetime of a client assertion, in seconds. The lifetime is short because an assertion is
/// sent at once.
const ASSERTION_LIFE: u64 = 60;

/// A client that was registered with an authorization server beforehand. Its credentials are sent
/// only to that authorization server.
///
/// # Examples
///
/// ```
/// use mcplink::auth::{OAuth, RegisteredClient, Secret};
///
/// # let from_vault = || Secret::new("s3cret");
/// let client = RegisteredClient::new("https://login.example", "report").secret(from_vault());
/// let oauth = OAuth::client_credentials(client).scopes(["reports:write"]).build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct RegisteredClient {
    /// The issuer identifier of the authorization server. `None` means the first issuer that the
    /// MCP server ever named.
    pub(super) issuer: Option<String>,
    pub(super) id: String,
    proof: Proof,
    audience: Option<String>,
}

#[derive(Clone)]
pub(super) enum Proof {
    None,
    Secret(Secret),
    Key(Arc<dyn Signer>),
}

impl RegisteredClient {
    /// Makes a registered client for the authorization server with this issuer identifier.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>) -> Self {
        Self {
            issuer: Some(issuer.into()),
            id: client_id.into(),
            proof: Proof::None,
            audience: None,
        }
    }

    /// Makes a registered client for the first authorization server that the MCP server ever names.
    /// That issuer is stored, and no other authorization server receives the credentials.
    ///
    /// So the MCP server decides which authorization server receives the credentials. If the issuer
    /// is known, prefer [`new`](Self::new).
    pub fn of_first_issuer(client_id: impl Into<String>) -> Self {
        Self {
            issuer: None,
            ..Self::new("", client_id)
        }
    }

    /// Sets the secret by which the client authenticates. The secret is sent with a method that the
    /// authorization server supports, preferably `client_secret_basic`.
    pub fn secret(mut self, secret: impl Into<Secret>) -> Self {
        self.proof = Proof::Secret(secret.into());
        self
    }

    /// Sets the private key by which the client authenticates (`private_key_jwt`). The key is never
    /// sent, so this is safer than a secret.
    pub fn key(mut self, key: impl Signer + 'static) -> Self {
        self.proof = Proof::Key(Arc::new(key));
        self
    }

    /// Sets the audience (`aud`) of the client's assertions. Defaults to the issuer. Some
    /// authorization servers require the URL of their token endpoint instead.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audience = Some(audience.into());
        self
    }

    pub(super) fn identity(&self) -> Identity {
        Identity {
            client_id: self.id.clone(),
            proof: self.proof.clone(),
            method: None,
            audience: self.audience.clone(),
            is_reused: false,
        }
    }

    pub(super) fn has_proof(&self) -> bool {
        !matches!(self.proof, Proof::None)
    }
}

impl fmt::Debug for RegisteredClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredClient")
            .field("issuer", &self.issuer)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The identity of the client at one authorization server.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) client_id: String,
    pub(super) proof: Proof,
    /// The authentication method that was agreed at registration, if there was an agreement.
    pub(super) method: Option<String>,
    pub(super) audience: Option<String>,
    /// Whether the identity is a dynamic registration of an earlier login. The authorization server
    /// may have deleted it.
    pub(super) is_reused: bool,
}

impl Identity {
    /// Makes the identity of a public client, which does not authenticate.
    pub(super) fn public(client_id: &str) -> Self {
        Self {
            client_id: client_id.to_owned(),
            proof: Proof::None,
            method: None,
            audience: None,
            is_reused: false,
        }
    }

    /// Chooses an authentication method that the authorization server supports.
    fn choose(&self, metadata: &ServerMetadata) -> Result<&'static str> {
        let offered = metadata.token_endpoint_auth_methods_supported.as_ref();
        let possible: &[&'static str] = match self.proof {
            Proof::None => return Ok("none"),
            // A server that issued a secret might not require the secret. With `none` the secret is
            // not sent.
            Proof::Secret(_) => &["client_secret_basic", "client_secret_post", "none"],
            Proof::Key(_) => &["private_key_jwt"],
        };
        let agreed = possible
            .iter()
            .find(|method| self.method.as_deref() == Some(**method));
        // A server without a list supports the first possible method (RFC 8414, section 2).
        let mut methods = agreed.into_iter().chain(possible);
        methods
            .find(|method| ServerMetadata::lists(offered, method, true))
            .copied()
            .ok_or_else(|| {
                let offered = offered.map(|list| list.join(", ")).unwrap_or_default();
                let text = format!(
                    "the authorization server '{}' offers no way in which this client can prove itself: it takes {}, not {}",
                    Excerpt(&metadata.issuer),
                    Excerpt(&offered),
                    possible[0]
                );
                Error::new(ErrorKind::Auth, text)
            })
    }

    /// Adds the client's authentication to a token request.
    pub(super) fn authenticate(
        &self,
        metadata: &ServerMetadata,
        request: &mut Form,
        fields: &mut Fields,
    ) -> Result<()> {
        match (self.choose(metadata)?, &self.proof) {
            ("client_secret_basic", Proof::Secret(secret)) => {
                let (id, secret) = (
                    percent_encoded(&self.client_id),
                    percent_encoded(secret.reveal()),
                );
                let pair = Zeroizing::new(format!("{id}:{secret}"));
                let value = format!("Basic {}", STANDARD.encode(&**pair));
                fields.push(("authorization", Zeroizing::new(value)));
            }
            ("client_secret_post", Proof::Secret(secret)) => {
                request.add("client_id", &self.client_id);
                request.add_secret("client_secret", secret.clone());
            }
            (_, Proof::Key(signer)) => {
                let offered = metadata
                    .token_endpoint_auth_signing_alg_values_supported
                    .as_ref();
                let algorithm = signer.algorithm();
                if !ServerMetadata::lists(offered, algorithm, true) {
                    let text = format!(
                        "the authorization server '{}' does not take signatures of {algorithm}",
                        Excerpt(&metadata.issuer)
                    );
                    return Err(Error::new(ErrorKind::Auth, text));
                }
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                request.add("client_assertion_type", kind);
                request.add_secret("client_assertion", self.assertion(&**signer, metadata)?);
            }
            _ => request.add("client_id", &self.client_id),
        }
        Ok(())
    }

    fn assertion(&self, signer: &dyn Signer, metadata: &ServerMetadata) -> Result<Secret> {
        let mut header = json!({ "typ": "JWT" });
        if let Some(id) = signer.key_id() {
            header["kid"] = id.into();
        }
        let now = now_seconds();
        let claims = json!({
            "iss": self.client_id, "sub": self.client_id, "jti": random::text()?,
            "aud": self.audience.as_deref().unwrap_or(&metadata.issuer),
            "iat": now, "exp": now + ASSERTION_LIFE,
        });
        sign_jwt(signer, header, &claims)
    }
}

/// A client ID metadata document. The URL of the document is the id of the client.
///
/// Serve the output of [`to_json`](Self::to_json) at the document's URL with the content type
/// `application/json`. Pass the URL to
/// [`OAuthBuilder::client_document`](super::OAuthBuilder::client_document).
///
/// # Examples
///
/// ```
/// use mcplink::auth::ClientDocument;
///
/// let url = "https://app.example/oauth/client.json";
/// let document = ClientDocument::new(url, "App", ["http://127.0.0.1/callback"])?;
/// assert!(document.to_json().contains("\"client_id\":\"https://app.example/oauth/client.json\""));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientDocument {
    members: serde_json::Map<String, serde_json::Value>,
}

impl ClientDocument {
    /// Makes a document with the required members: the document's URL, the name that users see, and
    /// the redirect URIs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the URL is not valid as an id, the name is empty, or there is no
    /// redirect URI. Returns the same error when a redirect URI is neither on this machine nor
    /// `https`.
    pub fn new<'a>(
        url: &str,
        client_name: &str,
        redirect_uris: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self> {
        check_document_url(url)?;
        let redirects: Vec<&str> = redirect_uris.into_iter().collect();
        if client_name.is_empty() || redirects.is_empty() {
            let text = "a client's document needs a name and at least one redirect URI";
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        for redirect in &redirects {
            check_redirect(redirect)?;
        }
        let members = json!({
            "client_id": url, "client_name": client_name, "redirect_uris": redirects,
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        match members {
            serde_json::Value::Object(members) => Ok(Self { members }),
            _ => unreachable!("an object was written"),
        }
    }

    /// Adds the URL of a web page about the client.
    pub fn client_uri(self, url: &str) -> Self {
        self.member("client_uri", url)
    }

    /// Adds the URL of the client's logo.
    pub fn logo_uri(self, url: &str) -> Self {
        self.member("logo_uri", url)
    }

    fn member(mut self, name: &str, value: &str) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the document as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::Value::Object(self.members.clone()).to_string()
    }
}

/// Checks that a URL is valid as a client's id: `https`, with a path, and without dot segments.
pub(super) fn check_document_url(text: &str) -> Result<()> {
    let invalid = |why: String| Error::new(ErrorKind::Invalid, why);
    let url =
        HttpUrl::read("the client's document", text).map_err(|error| invalid(error.to_string()))?;
    let has_dots = url.path().split('/').any(|part| matches!(part, "." | ".."));
    if url.is_https() && url.path().len() > 1 && !has_dots {
        return Ok(());
    }
    Err(invalid(format!(
        "the client's document '{}' has to be at an https URL with a path",
        Excerpt(&url.shown())
    )))
}

/// Checks that authorization codes may be sent to a redirect URI: the URI is on this machine, or
/// `https`.
pub(super) fn check_redirect(text: &str) -> Result<HttpUrl> {
    HttpUrl::read_secure("the redirect URI", text)
        .map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-REG-C-04, M-REG-C-05, M-REG-C-06, M-REG-C-07, M-ASEC-C-08, L-AUTH-C-25, L-AUTH-C-26,
    // L-AUTH-C-27, L-AUTH-C-28
    #[test]
    fn documents_have_what_they_need() {
        let local = "http://127.0.0.1/callback";
        for bad in [
            "http://app.example/client.json",
            "https://app.example",
            "https://app.example/",
            "https://app.example/a/../client.json",
            "https://user:x@app.example/client.json",
            "https://app.example/client.json#x",
        ] {
            assert!(ClientDocument::new(bad, "App", [local]).is_err(), "{bad}");
        }
        let good = "https://app.example/client.json";
        assert!(ClientDocument::new(good, "", [local]).is_err());
        assert!(ClientDocument::new(good, "App", []).is_err());
        for bad in [
            "http://app.example/callback",
            "app:callback",
            "javascript:x",
        ] {
            assert!(ClientDocument::new(good, "App", [bad]).is_err(), "{bad}");
        }
        let redirects = [local, "https://app.example/callback"];
        let document = ClientDocument::new(good, "App", redirects).expect("a document");
        let read: serde_json::Value =
            serde_json::from_str(&document.client_uri("https://app.example").to_json())
                .expect("JSON");
        assert_eq!(read["client_id"], good);
        assert_eq!(read["client_name"], "App");
        assert_eq!(read["redirect_uris"], json!(redirects));
    }

    // E-CC-X-04, AMB-86
    #[test]
    fn a_method_is_taken_that_the_server_offers() {
        let check = |proof: Proof, agreed: Option<&str>, offered: Option<&[&str]>| {
            let identity = Identity {
                proof,
                method: agreed.map(str::to_owned),
                ..Identity::public("id")
            };
            let offered = offered.map(|list| list.iter().map(|m| (*m).to_owned()).collect());
            let metadata = ServerMetadata {
                token_endpoint_auth_methods_supported: offered,
                ..ServerMetadata::default()
            };
            identity.choose(&metadata).ok()
        };
        let secret = || Proof::Secret(Secret::new("x"));
        let (basic, post) = ("client_secret_basic", "client_secret_post");
        assert_eq!(check(Proof::None, None, Some(&[basic])), Some("none"));
        assert_eq!(check(secret(), None, None), Some(basic));
        assert_eq!(check(secret(), None, Some(&[post])), Some(post));
        assert_eq!(check(secret(), None, Some(&[post, basic])), Some(basic));
        assert_eq!(
            check(secret(), Some(post), Some(&[post, basic])),
            Some(post)
        );
        assert_eq!(check(secret(), Some(post), Some(&[basic])), Some(basic));
        assert_eq!(check(secret(), None, Some(&["none"])), Some("none"));
        assert_eq!(check(secret(), None, Some(&["tls_client_auth"])), None);
    }
}
