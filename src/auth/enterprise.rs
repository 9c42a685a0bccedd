//! Enterprise-managed authorization: the organization's identity provider issues a statement about
//! the user, without a browser.
//!
//! ```text
//!  user's subject token ──▶ identity provider: token exchange ──▶ ID-JAG
//!  ID-JAG ──▶ authorization server of the MCP server ──▶ token
//! ```
//!
//! Spec: `io.modelcontextprotocol/enterprise-managed-authorization` (stable); RFC 8693; RFC 7523.

use std::fmt;

use super::client::RegisteredClient;
use super::client_credentials::JWT_BEARER;
use super::discovered::Discovered;
use super::flow_context::{FlowContext, Grant, TokenRequest};
use super::http_url::HttpUrl;
use super::metadata::ServerMetadata;
use super::secret::Secret;
use super::token::{Form, Tokens};
use crate::error::{Error, ErrorKind, Excerpt, Result};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const PROFILE: &str = "urn:ietf:params:oauth:grant-profile:id-jag";

/// The token that the user got from the identity provider at sign-on.
///
/// # Examples
///
/// ```
/// use mcplink::auth::{IdentityProvider, RegisteredClient, Secret, SubjectToken};
///
/// # let id_token = "eyJ…".to_owned();
/// let client = RegisteredClient::new("https://idp.example", "editor").secret("s3cret");
/// let provider = IdentityProvider::new("https://idp.example/token", client, move || {
///     Ok(SubjectToken::IdToken(Secret::new(id_token.clone())))
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SubjectToken {
    /// An ID token of OpenID Connect.
    IdToken(Secret),
    /// A refresh token of the identity provider.
    RefreshToken(Secret),
    /// A SAML 2.0 assertion.
    Saml2(Secret),
}

impl SubjectToken {
    fn parts(&self) -> (&Secret, &'static str) {
        match self {
            Self::IdToken(token) => (token, "urn:ietf:params:oauth:token-type:id_token"),
            Self::RefreshToken(token) => (token, "urn:ietf:params:oauth:token-type:refresh_token"),
            Self::Saml2(token) => (token, "urn:ietf:params:oauth:token-type:saml2"),
        }
    }
}

/// A function of the host application that returns the user's subject token. The function is called
/// for each login.
type SubjectHook = Box<dyn Fn() -> Result<SubjectToken> + Send + Sync>;

/// The identity provider of an organization, and the registration of this client with it.
///
/// # Examples
///
/// ```
/// use mcplink::auth::{IdentityProvider, OAuth, RegisteredClient, Secret, SubjectToken};
///
/// # fn id_token_of_user() -> mcplink::Result<String> { Ok(String::new()) }
/// let at_provider = RegisteredClient::new("https://idp.example", "editor").secret("s3cret");
/// let provider = IdentityProvider::new("https://idp.example/token", at_provider, || {
///     Ok(SubjectToken::IdToken(Secret::new(id_token_of_user()?)))
/// });
/// let at_server = RegisteredClient::new("https://login.example", "editor-7").secret("t0ken");
/// let oauth = OAuth::enterprise(provider, at_server).build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct IdentityProvider {
    token_endpoint: String,
    client: RegisteredClient,
    subject: SubjectHook,
}

impl IdentityProvider {
    /// Makes a provider from its token endpoint and this client's registration. `subject` returns
    /// the user's token. The host application signs the user on, and is responsible for `state`,
    /// nonce and PKCE in the sign-on.
    pub fn new(
        token_endpoint: impl Into<String>,
        client: RegisteredClient,
        subject: impl Fn() -> Result<SubjectToken> + Send + Sync + 'static,
    ) -> Self {
        Self {
            token_endpoint: token_endpoint.into(),
            client,
            subject: Box::new(subject),
        }
    }

    fn endpoint(&self) -> Result<HttpUrl> {
        HttpUrl::read_secure(
            "the identity provider's token endpoint",
            &self.token_endpoint,
        )
    }
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProvider")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// The enterprise grant.
pub(super) struct ByEnterprise {
    pub(super) provider: IdentityProvider,
    pub(super) client: [RegisteredClient; 1],
}

impl ByEnterprise {
    /// Requests a statement of the identity provider about the user (ID-JAG). The statement is for
    /// one authorization server and one resource.
    fn statement(&self, errand: &FlowContext<'_>, wish: &TokenRequest<'_>) -> Result<Secret> {
        let endpoint = self.provider.endpoint()?;
        let subject = (self.provider.subject)()?;
        let identity = self.provider.client.identity();
        let provider = ServerMetadata {
            issuer: self.provider.client.issuer.clone().unwrap_or_default(),
            ..ServerMetadata::default()
        };
        let make = || {
            let (token, kind) = subject.parts();
            let mut form = Form::of_grant(EXCHANGE);
            form.add("requested_token_type", ID_JAG);
            form.add("audience", wish.found.issuer());
            form.add_target(&wish.found.resource, wish.scopes);
            form.add_secret("subject_token", token.clone());
            form.add("subject_token_type", kind);
            Ok(form)
        };
        let authenticate =
            |form: &mut Form, fields: &mut Vec<_>| identity.authenticate(&provider, form, fields);
        let response = errand.ask_for_token(&endpoint, &authenticate, &make, None)?;
        let kind = response.issued_token_type.as_deref().unwrap_or_default();
        if kind == ID_JAG && response.token_type.eq_ignore_ascii_case("N_A") {
            return Ok(response.access_token);
        }
        let text = format!(
            "the identity provider gave another thing than was asked for: '{}' instead of '{ID_JAG}'",
            Excerpt(kind)
        );
        Err(Error::new(ErrorKind::Auth, text))
    }
}

/// Checks that the authorization server supports ID-JAG statements. Metadata without this
/// information is accepted.
fn check_support(found: &Discovered) -> Result<()> {
    let profiles = found
        .metadata
        .authorization_grant_profiles_supported
        .as_ref();
    if ServerMetadata::lists(profiles, PROFILE, true) {
        return Ok(());
    }
    let text = format!(
        "the authorization server '{}' does not let an organisation decide (authorization_grant_profiles_supported lacks {PROFILE})",
        Excerpt(found.issuer())
    );
    Err(Error::new(ErrorKind::Auth, text))
}

impl Grant for ByEnterprise {
    fn obtain(&self, errand: &FlowContext<'_>, wish: &TokenRequest<'_>) -> Result<Tokens> {
        let found = wish.found;
        check_support(found)?;
        let Some(client) = errand.registered_client(found.issuer())? else {
            unreachable!("there is this one");
        };
        let identity = client.identity();
        let statement = self.statement(errand, wish)?;
        let make = || {
            let mut form = Form::of_grant(JWT_BEARER);
            form.add_secret("assertion", statement.clone());
            Ok(form)
        };
        let response = errand.token(found, &identity, &make, wish.dpop)?;
        Ok(response.into_tokens(found, &identity.client_id, wish.scopes, wish.dpop))
    }

    fn registered(&self) -> &[RegisteredClient] {
        &self.client
    }

    fn trusted_host(&self) -> Option<String> {
        self.provider.endpoint().ok().map(|url| url.host())
    }
}
