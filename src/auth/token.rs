//! The contents of token requests, their responses, and the tokens that are stored.
//!
//! Spec: OAuth 2.1, sections 3.2 and 4.3; RFC 8707.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::discovered::Discovered;
use super::dpop::{Dpop, now_seconds};
use super::fetch::Answer;
use super::http_url::HttpUrl;
use super::secret::{Secret, revealed, revealed_option};
use super::{form, tolerant};
use crate::error::{Error, ErrorKind, Excerpt};
use crate::transport::http::challenge::Demand;
use crate::transport::http::tell_wait;

/// How long before its expiry a token is renewed, in seconds. Clocks differ, and requests take
/// time. A token is never renewed before half of its lifetime has passed.
const MARGIN: u64 = 30;

/// The tokens for one MCP server, with the data that is needed to use and renew them.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Tokens {
    /// The issuer identifier of the authorization server that issued the tokens.
    pub(super) issuer: String,
    /// The resource identifier of the MCP server for which the tokens were issued.
    pub(super) resource: String,
    pub(super) client_id: String,
    /// The URL of the MCP server's metadata, if a challenge of the server named this URL.
    #[serde(default)]
    pub(super) resource_metadata: Option<String>,
    #[serde(with = "revealed")]
    pub(super) access: Secret,
    #[serde(with = "revealed_option", default)]
    pub(super) refresh: Option<Secret>,
    /// Whether the tokens are bound to a key.
    #[serde(default)]
    pub(super) is_bound: bool,
    /// The private key that the tokens are bound to, if this library generated it.
    #[serde(with = "revealed_option", default)]
    pub(super) key: Option<Secret>,
    /// The time at which the access token expires, in seconds since 1970.
    #[serde(default)]
    pub(super) expires_at: Option<u64>,
    #[serde(default)]
    pub(super) renews_at: Option<u64>,
    /// The scopes that were requested, and the scopes that were granted.
    #[serde(default)]
    pub(super) scopes: BTreeSet<String>,
    /// The granted scopes, if the authorization server named them. Otherwise the granted scopes
    /// equal the requested ones (RFC 6749, section 5.1).
    #[serde(default)]
    pub(super) granted: Option<BTreeSet<String>>,
}

impl Tokens {
    pub(super) fn read(kept: &Secret) -> Option<Self> {
        serde_json::from_str(kept.reveal()).ok()
    }

    pub(super) fn write(&self) -> Secret {
        Secret::of_json(self)
    }

    /// Whether the access token expires soon, or has expired.
    pub(super) fn is_stale(&self) -> bool {
        let renews_at = self
            .renews_at
            .or_else(|| self.expires_at.map(|at| at.saturating_sub(MARGIN)));
        renews_at.is_some_and(|at| at <= now_seconds())
    }

    /// Whether all scopes that the server demands were requested. True if the server names no
    /// scopes.
    pub(super) fn may_allow(&self, demand: &Demand) -> bool {
        let wanted = demand.scopes.as_ref();
        wanted.is_none_or(|wanted| wanted.is_subset(&self.scopes))
    }

    /// Whether the server names scopes and all of them were granted. In this case another login
    /// would return the same scopes.
    pub(super) fn has_all_of(&self, demand: &Demand) -> bool {
        let granted = self.granted.as_ref().unwrap_or(&self.scopes);
        let wanted = demand.scopes.as_ref();
        wanted.is_some_and(|wanted| !wanted.is_empty() && wanted.is_subset(granted))
    }

    pub(super) fn has_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now_seconds())
    }
}

/// The response of a token endpoint.
#[derive(Deserialize)]
pub(super) struct TokenResponse {
    #[serde(with = "revealed")]
    pub(super) access_token: Secret,
    pub(super) token_type: String,
    #[serde(default, deserialize_with = "tolerant::seconds")]
    expires_in: Option<u64>,
    #[serde(default, with = "revealed_option")]
    refresh_token: Option<Secret>,
    #[serde(default, deserialize_with = "tolerant::words")]
    scope: Option<Vec<String>>,
    #[serde(default)]
    pub(super) issued_token_type: Option<String>,
}

/// A refusal of a request by an authorization server (OAuth 2.1, section 3.2.4).
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) status: u16,
    pub(super) error: Error,
}

impl Refusal {
    /// Whether the refusal is permanent: the same request will be refused again. Other refusals are
    /// about the authorization server (overloaded, broken or moved). Many servers have their own
    /// codes for such refusals, and some use codes of OAuth for a rate limit.
    pub(super) fn is_permanent(&self) -> bool {
        match self.status {
            408 | 425 | 429 => false,
            200..=299 | 400..=499 => true,
            _ => is_about_a_request(&self.code),
        }
    }
}

/// Whether an error code is about a token request (OAuth 2.1, section 3.2.4; RFC 8707, section 2;
/// RFC 9449, sections 5 and 8).
fn is_about_a_request(code: &str) -> bool {
    let others = [
        "access_denied",
        "unauthorized_client",
        "unsupported_grant_type",
        "use_dpop_nonce",
    ];
    code.starts_with("invalid_") || others.contains(&code)
}

/// The reason why a token request failed.
pub(super) enum Failure {
    /// The authorization server refused the token request for good.
    Refused(Refusal),
    /// The request failed for another reason, which may be temporary.
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.error,
            Failure::Other(error) => error,
        }
    }
}

/// Header fields of a request, with values that contain secrets.
pub(super) type Fields = Vec<(&'static str, Zeroizing<String>)>;

/// A form for a token endpoint.
#[derive(Default)]
pub(super) struct Form {
    pairs: Vec<(&'static str, Secret)>,
    /// The names of those values of the form that are not secret.
    open: Vec<&'static str>,
}

impl Form {
    /// Makes a form for a grant type.
    pub(super) fn of_grant(grant: &str) -> Self {
        let mut form = Self::default();
        form.add("grant_type", grant);
        form
    }

    /// Adds a value that is not secret to the form.
    pub(super) fn add(&mut self, name: &'static str, value: &str) {
        self.open.push(name);
        self.add_secret(name, Secret::new(value));
    }

    pub(super) fn add_secret(&mut self, name: &'static str, value: Secret) {
        self.pairs.push((name, value));
    }

    /// Adds the resource and the scopes to the form.
    pub(super) fn add_target(&mut self, resource: &str, scopes: &BTreeSet<String>) {
        self.add("resource", resource);
        if !scopes.is_empty() {
            self.add("scope", &joined(scopes));
        }
    }

    pub(super) fn text(&self) -> Zeroizing<String> {
        let lens = self.pairs.iter();
        let room = lens.map(|(name, value)| name.len() + value.reveal().len() * 3 + 2);
        let mut text = Zeroizing::new(String::with_capacity(room.sum()));
        for (name, value) in &self.pairs {
            form::push(&mut text, name, value.reveal());
        }
        text
    }

    /// Returns a text of the server with secrets replaced by `[…]`. The secrets are the values of
    /// the form that are not in `open`, and the texts in `more`. Texts of at most three bytes are
    /// not replaced.
    pub(super) fn redact(&self, text: &str, more: &[&str]) -> String {
        let pairs = self.pairs.iter();
        let secrets = pairs.filter(|(name, _)| !self.open.contains(name));
        let secrets = secrets.map(|(_, secret)| secret.reveal());
        let mut text = text.to_owned();
        for secret in secrets.chain(more.iter().copied()) {
            if secret.len() > 3 {
                text = text.replace(secret, "[…]");
            }
        }
        text
    }
}

/// Joins scopes with spaces, the format of the parameter `scope`.
pub(super) fn joined(scopes: &BTreeSet<String>) -> String {
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    scopes.join(" ")
}

impl TokenResponse {
    pub(super) fn into_tokens(
        self,
        found: &Discovered,
        client_id: &str,
        requested: &BTreeSet<String>,
        dpop: Option<&Dpop>,
    ) -> Tokens {
        let lifetime = self.expires_in;
        let now = now_seconds();
        let refresh = self.refresh_token;
        let mut all = requested.clone();
        all.extend(self.scope.iter().flatten().cloned());
        Tokens {
            issuer: found.metadata.issuer.clone(),
            resource: found.resource.clone(),
            client_id: client_id.to_owned(),
            resource_metadata: found.resource_metadata.clone(),
            access: self.access_token,
            refresh: refresh.filter(|token| !token.reveal().is_empty()),
            is_bound: dpop.is_some(),
            key: dpop.and_then(Dpop::kept).cloned(),
            expires_at: lifetime.map(|span| now.saturating_add(span)),
            renews_at: lifetime.map(|span| now.saturating_add(span - MARGIN.min(span / 2))),
            scopes: all,
            granted: self.scope.map(|granted| granted.into_iter().collect()),
        }
    }
}

/// Makes the error for a response in which an authorization server refuses a request.
pub(super) fn refusal(
    answer: &Answer,
    what: &str,
    endpoint: &HttpUrl,
    redact: impl Fn(&str) -> String,
) -> Refusal {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Said {
        error: String,
        error_description: Option<String>,
    }
    let said: Said = answer.json("the refusal", endpoint).unwrap_or_default();
    let mut text = format!(
        "the authorization server {what}: '{}' answered {}",
        endpoint.shown(),
        answer.status
    );
    if (300..400).contains(&answer.status) {
        text.push_str(", a redirect, which is not followed");
    }
    for part in [Some(&said.error), said.error_description.as_ref()] {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            text = format!("{text}: {}", Excerpt(&redact(part)));
        }
    }
    let error = Error::new(ErrorKind::Auth, text).with_oauth_code(&redact(&said.error));
    Refusal {
        error: tell_wait(error, &answer.fields),
        code: said.error,
        status: answer.status,
    }
}
