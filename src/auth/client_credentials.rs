//! The grants for machines: client credentials, and JWTs of a workload's platform.
//!
//! Spec: `io.modelcontextprotocol/oauth-client-credentials` (draft); workload identity federation
//! (draft, SEP-1933); OAuth 2.1, section 4.2; RFC 7523, section 2.1.

use super::client::RegisteredClient;
use super::flow_context::{FlowContext, Grant, TokenRequest};
use super::key::read_claims;
use super::metadata::ServerMetadata;
use super::secret::Secret;
use super::token::{Form, Tokens};
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The grant type of the JWT bearer grant.
pub(super) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The client credentials grant.
pub(super) struct ByCredentials(pub(super) [RegisteredClient; 1]);

impl Grant for ByCredentials {
    fn obtain(&self, errand: &FlowContext<'_>, wish: &TokenRequest<'_>) -> Result<Tokens> {
        let found = wish.found;
        let Some(client) = errand.registered_client(found.issuer())? else {
            unreachable!("there is this one");
        };
        let identity = client.identity();
        let make = || {
            let mut form = Form::of_grant("client_credentials");
            form.add_target(&found.resource, wish.scopes);
            Ok(form)
        };
        let response = errand.token(found, &identity, &make, wish.dpop)?;
        Ok(response.into_tokens(found, &identity.client_id, wish.scopes, wish.dpop))
    }

    fn registered(&self) -> &[RegisteredClient] {
        &self.0
    }
}

/// A function of the host application. The function returns the platform's JWT about the workload,
/// for an audience.
type StatementHook = Box<dyn Fn(&str) -> Result<Secret> + Send + Sync>;

/// The JWT bearer grant of a workload.
pub(super) struct ByWorkload {
    pub(super) statement: StatementHook,
    pub(super) client_id: Option<String>,
}

impl Grant for ByWorkload {
    fn obtain(&self, errand: &FlowContext<'_>, wish: &TokenRequest<'_>) -> Result<Tokens> {
        let found = wish.found;
        let endpoint = found.metadata.token_url()?;
        if !ServerMetadata::lists(
            found.metadata.grant_types_supported.as_ref(),
            JWT_BEARER,
            true,
        ) {
            let text = format!(
                "the authorization server '{}' takes no statements about workloads (grant_types_supported)",
                Excerpt(found.issuer())
            );
            return Err(Error::new(ErrorKind::Auth, text));
        }
        // Each request gets a new JWT, so that its lifetime can be short.
        let statement = (self.statement)(endpoint.text())?;
        let audiences = check_statement(&statement)?;
        let is_meant = |name: &str| audiences.iter().any(|audience| audience == name);
        if !is_meant(endpoint.text()) && !is_meant(found.issuer()) {
            errand.log(
                "the statement about this workload is meant for another authorization server (aud)",
            );
        }
        let make = || {
            let mut form = Form::of_grant(JWT_BEARER);
            form.add_secret("assertion", statement.clone());
            form.add_target(&found.resource, wish.scopes);
            if let Some(client_id) = &self.client_id {
                form.add("client_id", client_id);
            }
            Ok(form)
        };
        let response = errand.ask_for_access(&endpoint, &|_, _| Ok(()), &make, wish.dpop)?;
        let client_id = self.client_id.as_deref().unwrap_or_default();
        Ok(response.into_tokens(found, client_id, wish.scopes, wish.dpop))
    }
}

/// Checks that a JWT of the platform has the required claims. Returns the audiences of the JWT.
fn check_statement(statement: &Secret) -> Result<Vec<String>> {
    let invalid = |why: &str| {
        let text = format!("the statement about this workload {why}");
        Error::new(ErrorKind::Invalid, text)
    };
    let claims = read_claims(statement.reveal()).ok_or_else(|| invalid("is no signed JWT"))?;
    for name in ["iss", "sub", "aud", "exp", "iat", "jti"] {
        if claims.get(name).is_none() {
            return Err(invalid(&format!("lacks the claim '{name}'")));
        }
    }
    let audiences = match &claims["aud"] {
        serde_json::Value::Array(all) => all.iter().collect(),
        one => vec![one],
    };
    let audiences = audiences.into_iter().filter_map(|one| one.as_str());
    Ok(audiences.map(str::to_owned).collect())
}
