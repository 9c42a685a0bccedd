//! Asking for tokens: the request to the token endpoint, what comes back, and what is kept of it.
//!
//! Spec: OAuth 2.1, sections 3.2 and 4.3; RFC 8707; RFC 9449, section 5.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::challenge::Demand;
use super::client::Identity;
use super::discovery::Discovered;
use super::dpop::{Dpop, now_seconds};
use super::errand::Errand;
use super::fetch::{Answer, Patience};
use super::secret::{Secret, revealed, revealed_option};
use super::tolerant;
use super::url::{Url, form};
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// A token is renewed so long before it expires, in seconds, and not before half of its life: clocks differ, and requests take time.
const MARGIN: u64 = 30;

/// Tokens for one server, and what has to be known to use and renew them.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Tokens {
    /// Who issued them.
    pub(super) issuer: String,
    /// Whom they are for.
    pub(super) resource: String,
    pub(super) client_id: String,
    /// Where the server said that its metadata is.
    #[serde(default)]
    pub(super) resource_metadata: Option<String>,
    #[serde(with = "revealed")]
    pub(super) access: Secret,
    #[serde(with = "revealed_option", default)]
    pub(super) refresh: Option<Secret>,
    /// They are bound to a key.
    #[serde(default)]
    pub(super) is_bound: bool,
    /// The key, if it is ours to keep.
    #[serde(with = "revealed_option", default)]
    pub(super) key: Option<Secret>,
    /// In seconds since 1970.
    #[serde(default)]
    pub(super) expires_at: Option<u64>,
    #[serde(default)]
    pub(super) renews_at: Option<u64>,
    /// What was asked for, and what was granted.
    #[serde(default)]
    pub(super) scopes: BTreeSet<String>,
    /// What was granted, if the authorization server said so. Otherwise it is what was asked for
    /// (RFC 6749, section 5.1).
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

    /// It expires soon, or has.
    pub(super) fn is_stale(&self) -> bool {
        let renews_at = self
            .renews_at
            .or_else(|| self.expires_at.map(|at| at.saturating_sub(MARGIN)));
        renews_at.is_some_and(|at| at <= now_seconds())
    }

    /// Whether the scopes that the server wants were asked for, as far as it says which.
    pub(super) fn may_allow(&self, demand: &Demand) -> bool {
        let wanted = demand.scopes.as_ref();
        wanted.is_none_or(|wanted| wanted.is_subset(&self.scopes))
    }

    /// Whether a server that wants more says which scopes, and all of them were granted: another
    /// login would give the same.
    pub(super) fn has_all_of(&self, demand: &Demand) -> bool {
        let granted = self.granted.as_ref().unwrap_or(&self.scopes);
        let wanted = demand.scopes.as_ref();
        wanted.is_some_and(|wanted| !wanted.is_empty() && wanted.is_subset(granted))
    }

    pub(super) fn has_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now_seconds())
    }
}

/// What a token endpoint gives.
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

/// A refusal of an authorization server (OAuth 2.1, section 3.2.4).
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: String,
    status: u16,
    pub(super) error: Error,
}

impl Refusal {
    /// Whether it is a word about what was asked. Else it is about the server that was, which has no time, is broken or has moved, or comes
    /// from another one on the way there. Many have a code of their own for that.
    fn is_about_the_request(&self) -> bool {
        is_about_a_request(&self.code) || matches!(self.status, 200..=299 | 400 | 401)
    }
}

/// Whether a code says what is wrong with a request for a token (OAuth 2.1, section 3.2.4; RFC 8707, section 2; RFC 9449, sections 5 and 8).
fn is_about_a_request(code: &str) -> bool {
    let others = [
        "access_denied",
        "unauthorized_client",
        "unsupported_grant_type",
        "use_dpop_nonce",
    ];
    code.starts_with("invalid_") || others.contains(&code)
}

/// Why there is no token.
pub(super) enum Failure {
    /// The authorization server says no.
    Refused(Refusal),
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

/// Header fields of a request, with secrets in them.
pub(super) type Fields = Vec<(&'static str, Zeroizing<String>)>;

/// A form for a token endpoint.
#[derive(Default)]
pub(super) struct Form {
    pairs: Vec<(&'static str, Secret)>,
    /// Names whose values are no secrets.
    open: Vec<&'static str>,
}

impl Form {
    /// A form for one of the grants.
    pub(super) fn of_grant(grant: &str) -> Self {
        let mut form = Self::default();
        form.add("grant_type", grant);
        form
    }

    /// Adds what everybody may know.
    pub(super) fn add(&mut self, name: &'static str, value: &str) {
        self.open.push(name);
        self.add_secret(name, Secret::new(value));
    }

    pub(super) fn add_secret(&mut self, name: &'static str, value: Secret) {
        self.pairs.push((name, value));
    }

    /// What the tokens are for, and what they allow.
    pub(super) fn add_target(&mut self, resource: &str, scopes: &BTreeSet<String>) {
        self.add("resource", resource);
        if !scopes.is_empty() {
            self.add("scope", &joined(scopes));
        }
    }

    fn text(&self) -> Zeroizing<String> {
        let lens = self.pairs.iter();
        let room = lens.map(|(name, value)| name.len() + value.reveal().len() * 3 + 2);
        let mut text = Zeroizing::new(String::with_capacity(room.sum()));
        for (name, value) in &self.pairs {
            form::push(&mut text, name, value.reveal());
        }
        text
    }

    /// Foreign text, without the secrets that were sent.
    fn redact(&self, text: &str, more: &[&str]) -> String {
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

/// Scopes as they are sent.
pub(super) fn joined(scopes: &BTreeSet<String>) -> String {
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    scopes.join(" ")
}

impl Errand<'_> {
    /// Asks a token endpoint, once more if it wants a nonce in the proof of the key. What kind of token comes is for the caller to look at.
    pub(super) fn ask_for_token(
        &self,
        endpoint: &Url,
        authenticate: &dyn Fn(&mut Form, &mut Fields) -> Result<()>,
        make: &dyn Fn() -> Result<Form>,
        dpop: Option<&Dpop>,
    ) -> Result<TokenResponse, Failure> {
        let what = "the token";
        let nonces = &self.settings.nonces;
        let mut nonce = nonces.of(endpoint.text());
        let mut tries_left = 2;
        loop {
            tries_left -= 1;
            let mut form = make()?;
            let mut fields = Vec::new();
            authenticate(&mut form, &mut fields)?;
            if let Some(dpop) = dpop {
                let proof = dpop.proof("POST", endpoint, None, nonce.as_deref())?;
                fields.push(("dpop", Zeroizing::new(proof.reveal().to_owned())));
            }
            let text = form.text();
            let media_type = "application/x-www-form-urlencoded";
            let answer = self.fetcher.post(
                what,
                endpoint,
                media_type,
                &fields,
                text.as_bytes(),
                Patience::ToTheEnd,
            )?;
            let next = answer.field("dpop-nonce").map(str::to_owned);
            if let Some(next) = &next {
                nonces.note(endpoint.text().to_owned(), next);
            }
            let basic: Vec<&str> = fields.iter().map(|(_, value)| value.as_str()).collect();
            let refusal = refusal(&answer, "gives no token", endpoint, |text| {
                form.redact(text, &basic)
            });
            if answer.is_success() {
                match answer.json("the answer to the token request", endpoint) {
                    // Some say no with a status that means yes.
                    Err(_) if !refusal.code.is_empty() => {}
                    read => return Ok(read?),
                }
            }
            if !refusal.is_about_the_request() {
                return Err(Failure::Other(refusal.error));
            }
            if refusal.code != "use_dpop_nonce" {
                return Err(Failure::Refused(self.look_at_client(refusal)));
            }
            // That says nothing of what was asked.
            let has_new = next.is_some() && next != nonce;
            if !(has_new && dpop.is_some() && tries_left > 0) {
                return Err(Failure::Other(refusal.error));
            }
            nonce = next;
        }
    }

    /// Asks a token endpoint for an access token.
    pub(super) fn ask_for_access(
        &self,
        endpoint: &Url,
        authenticate: &dyn Fn(&mut Form, &mut Fields) -> Result<()>,
        make: &dyn Fn() -> Result<Form>,
        dpop: Option<&Dpop>,
    ) -> Result<TokenResponse, Failure> {
        let response = self.ask_for_token(endpoint, authenticate, make, dpop)?;
        let token = response.access_token.reveal();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let text = format!("'{}' gave a token that can't be sent", endpoint.shown());
            return Err(Error::new(ErrorKind::Auth, text).into());
        }
        let wanted = if dpop.is_some() { "DPoP" } else { "Bearer" };
        if response.token_type.eq_ignore_ascii_case(wanted) {
            return Ok(response);
        }
        let got = Excerpt(&response.token_type);
        let text = format!(
            "'{}' gave a token of type '{got}': expected {wanted}",
            endpoint.shown()
        );
        Err(Error::new(ErrorKind::Auth, text).into())
    }

    /// Asks for a token in the name of a client.
    pub(super) fn token(
        &self,
        found: &Discovered,
        identity: &Identity,
        make: &dyn Fn() -> Result<Form>,
        dpop: Option<&Dpop>,
    ) -> Result<TokenResponse, Failure> {
        let endpoint = found.metadata.token_url()?;
        self.ask_for_access(
            &endpoint,
            &|form, fields| identity.authenticate(&found.metadata, form, fields),
            make,
            dpop,
        )
    }

    /// Notes when a client is refused that was registered beforehand.
    fn look_at_client(&self, refusal: Refusal) -> Refusal {
        if !self.is_for_the_host(&refusal) {
            return refusal;
        }
        self.is_refused.set(true);
        let text = "this client's credentials are refused there: look at its id and its secret or key (RegisteredClient)";
        Refusal {
            error: refusal.error.remark(text),
            ..refusal
        }
    }

    /// Whether a client was refused that was registered beforehand: only the host can do something about its credentials. The refusal says nothing
    /// of what else was sent.
    pub(super) fn is_for_the_host(&self, refusal: &Refusal) -> bool {
        refusal.code == "invalid_client" && self.registered().next().is_some()
    }

    /// Gets the next token for a refresh token, and the next refresh token if there is one.
    pub(super) fn refresh(
        &self,
        found: &Discovered,
        identity: &Identity,
        tokens: &Tokens,
        refresh: &Secret,
        dpop: Option<&Dpop>,
    ) -> Result<Tokens, Failure> {
        let make = || {
            let mut form = Form::of_grant("refresh_token");
            form.add_secret("refresh_token", refresh.clone());
            form.add("resource", &tokens.resource);
            Ok(form)
        };
        let response = self.token(found, identity, &make, dpop)?;
        let mut next = response.into_tokens(found, &identity.client_id, &tokens.scopes, dpop);
        next.resource.clone_from(&tokens.resource);
        // It can't allow more than was granted before (RFC 6749, section 6): what is kept does not grow with what is said each time.
        next.scopes.clone_from(&tokens.scopes);
        if next.granted.is_none() {
            next.granted.clone_from(&tokens.granted);
        }
        if next.refresh.is_none() {
            next.refresh = Some(refresh.clone());
        }
        Ok(next)
    }
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

/// What an authorization server says when it says no.
pub(super) fn refusal(
    answer: &Answer,
    what: &str,
    endpoint: &Url,
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
    Refusal {
        error: Error::new(ErrorKind::Auth, text).with_oauth_code(&redact(&said.error)),
        code: said.error,
        status: answer.status,
    }
}
