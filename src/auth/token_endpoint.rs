//! Requests to the token endpoint of an authorization server.
//!
//! Spec: OAuth 2.1, sections 3.2 and 4.3; RFC 9449, section 5.

use zeroize::Zeroizing;

use super::client::Identity;
use super::discovered::Discovered;
use super::dpop::Dpop;
use super::fetch::Patience;
use super::flow_context::FlowContext;
use super::http_url::HttpUrl;
use super::secret::Secret;
use super::token::{Failure, Fields, Form, Refusal, TokenResponse, Tokens, refusal};
use crate::error::{Error, ErrorKind, Excerpt, Result};

impl FlowContext<'_> {
    /// Sends a token request, and returns the response. Repeats the request once if the server
    /// demands a DPoP nonce. The caller has to check the type of the returned token.
    pub(super) fn ask_for_token(
        &self,
        endpoint: &HttpUrl,
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
                    // Some servers send an error response with a success status.
                    Err(_) if !refusal.code.is_empty() => {}
                    read => return Ok(read?),
                }
            }
            if !refusal.is_permanent() {
                return Err(Failure::Other(refusal.error));
            }
            if refusal.code != "use_dpop_nonce" {
                return Err(Failure::Refused(self.look_at_client(refusal)));
            }
            // A demand for a nonce says nothing about the request.
            let has_new = next.is_some() && next != nonce;
            if !(has_new && dpop.is_some() && tries_left > 0) {
                return Err(Failure::Other(refusal.error));
            }
            nonce = next;
        }
    }

    /// Requests an access token.
    pub(super) fn ask_for_access(
        &self,
        endpoint: &HttpUrl,
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

    /// Requests an access token with the client's authentication.
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

    /// If the authorization server refused the credentials of a client that was registered
    /// beforehand, records this and adds a hint to the error. Returns the refusal.
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

    /// Whether the authorization server refused the credentials of a client that was registered
    /// beforehand. Only the host application can correct these credentials. The refusal says
    /// nothing about other parts of the request.
    pub(super) fn is_for_the_host(&self, refusal: &Refusal) -> bool {
        refusal.code == "invalid_client" && self.registered().next().is_some()
    }

    /// Refreshes tokens. Keeps the old refresh token if the response has no new one.
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
        // A refresh can't add scopes (RFC 6749, section 6), so the stored scopes stay as they are.
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
