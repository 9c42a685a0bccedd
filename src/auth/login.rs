//! The grant for a user who logs in: the authorization code flow with PKCE.
//!
//! ```text
//!  client ── URL to open ──▶ user's browser ────▶ authorization server
//!    ▲                                                 │ code, state, iss
//!    ╰──────────────── redirect URI ◀──────────────────╯
//! ```
//!
//! Spec: Authorization, "Authorization Flow Steps"; OAuth 2.1, section 4.1; RFC 7636; RFC 8707; RFC
//! 9207.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

use super::client::{Identity, check_redirect};
use super::discovered::OFFLINE;
use super::fetch::nobody_waits;
use super::flow_context::{FlowContext, Grant, TokenRequest};
use super::form;
use super::http_url::HttpUrl;
use super::random::{self, Verifier};
use super::secret::Secret;
use super::token::{Failure, Form, Tokens, joined};
use crate::error::{Error, ErrorKind, Excerpt, Result, Span};
use crate::transport::http::CredentialWait;

/// A user agent for logins. The user agent opens the login page for the user, and returns the URL
/// to which the browser was redirected.
///
/// [`Browser`](super::Browser) is a ready-made implementation.
/// [`CallbackUserAgent`](super::CallbackUserAgent) makes a user agent from a function. The methods
/// run on a thread of their own.
pub trait UserAgent: Send + Sync {
    /// Prepares one login. `last` is the redirect URI of the last login, if that is known. If the
    /// redirect URI is unchanged, no new registration is needed.
    ///
    /// # Errors
    ///
    /// When this method fails, the calls that need the login fail with the same error.
    fn prepare(&self, last: Option<&str>) -> Result<Box<dyn LoginAttempt>>;
}

/// One login that a [`UserAgent`] has prepared.
pub trait LoginAttempt: Send {
    /// Returns the redirect URI of the login. The URI is on this machine, or `https`.
    fn redirect_uri(&self) -> &str;

    /// Makes the user open [`Login::url`]. Returns the whole URL, with its query, to which the
    /// authorization server redirects the browser afterwards. Has to return when [`Login::waiting`]
    /// is over.
    ///
    /// # Errors
    ///
    /// When this method fails, the calls that need the login fail with the same error.
    fn visit(self: Box<Self>, login: &Login<'_>) -> Result<Secret>;
}

/// The description of a login, for the user agent.
pub struct Login<'a> {
    url: &'a HttpUrl,
    redirect: &'a HttpUrl,
    state: &'a str,
    server: &'a str,
    scopes: &'a BTreeSet<String>,
    waiting: &'a CredentialWait,
}

impl Login<'_> {
    /// Returns the URL that the user has to open: `https`, or on this machine. Pass the URL to a
    /// browser unchanged, never through a shell.
    pub fn url(&self) -> &str {
        self.url.text()
    }

    /// Returns the URL of the MCP server that requires the login, without its query.
    pub fn server(&self) -> &str {
        self.server
    }

    /// Returns the origin of the authorization server. Show the origin to the user before you open
    /// a browser.
    pub fn authorization_server(&self) -> String {
        self.url.origin()
    }

    /// Returns the scopes that the user is asked to grant.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(String::as_str)
    }

    /// Returns the wait of the calls that need this login. The wait is over when no call needs the
    /// login any more. Then remove the login from the screen.
    pub fn waiting(&self) -> &CredentialWait {
        self.waiting
    }

    /// Whether `url` is the redirect of this login. Ignore other URLs, because any web page can
    /// produce them.
    pub fn is_answer(&self, url: &str) -> bool {
        is_answer(url, self.redirect, self.state)
    }

    /// Returns [`is_answer`](Self::is_answer) as a function that other threads can call, even after
    /// the login.
    pub fn answer_check(&self) -> impl Fn(&str) -> bool + Send + Sync + use<> {
        let (redirect, state) = (self.redirect.clone(), self.state.to_owned());
        move |url| is_answer(url, &redirect, &state)
    }
}

impl fmt::Debug for Login<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("server", &self.server)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// The parameters of the authorization request that the host application can't set: those of this
/// library, and those that could replace them or change the form of the redirect (RFC 9101; OAuth
/// 2.0 Multiple Response Type Encoding Practices).
pub(super) const OWN_PARAMS: [&str; 11] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "scope",
    "response_mode",
    "request",
    "request_uri",
];

/// The authorization code grant.
pub(super) struct ByLogin<U>(pub(super) U);

impl<U: UserAgent> Grant for ByLogin<U> {
    fn obtain(&self, errand: &FlowContext<'_>, wish: &TokenRequest<'_>) -> Result<Tokens> {
        wish.found.check_pkce()?;
        let mut is_reused = false;
        match self.log_in(errand, wish, &mut is_reused) {
            // The authorization server no longer knows the registration. It is in doubt or deleted
            // now, so the second login registers the client.
            Err(error) if is_reused && is_about_client(&error) => {
                errand.log(&format!("the client registers anew: {error}"));
                self.log_in(errand, wish, &mut is_reused)
            }
            outcome => outcome,
        }
    }

    fn is_for_a_person(&self) -> bool {
        true
    }
}

impl<U: UserAgent> ByLogin<U> {
    /// Runs one login. Sets `is_reused` to whether the login uses the registration of an earlier
    /// login.
    fn log_in(
        &self,
        errand: &FlowContext<'_>,
        wish: &TokenRequest<'_>,
        is_reused: &mut bool,
    ) -> Result<Tokens> {
        let last = errand.last_redirect(wish.found)?;
        let visit = self.0.prepare(last.as_deref())?;
        let redirect = check_redirect(visit.redirect_uri())?;
        let identity = errand.identity(wish.found, &redirect)?;
        *is_reused = identity.is_reused;
        // The values stay together until the code is redeemed: the redirect has to come from the
        // authorization server that was asked (mix-up attack).
        let attempt = Attempt {
            verifier: Verifier::new()?,
            state: random::text()?,
            redirect: &redirect,
            identity: &identity,
            wish,
        };
        let url = attempt.url(&errand.settings.authorization_params)?;
        errand.fetcher.check_reach("the login", &url)?;
        let answer = attempt.visit(errand, visit, &url)?;
        let code = attempt.read(errand, &answer)?;
        attempt.redeem(errand, &code)
    }
}

/// Whether an authorization server refused a login because of the client.
fn is_about_client(error: &Error) -> bool {
    let code = error.oauth_code();
    matches!(code, Some("invalid_client" | "unauthorized_client"))
}

/// One authorization request, with its PKCE verifier.
struct Attempt<'a> {
    verifier: Verifier,
    state: String,
    redirect: &'a HttpUrl,
    identity: &'a Identity,
    wish: &'a TokenRequest<'a>,
}

impl Attempt<'_> {
    /// Returns the URL of the authorization request. `params` are the parameters of the host
    /// application.
    fn url(&self, params: &BTreeMap<String, String>) -> Result<HttpUrl> {
        let found = self.wish.found;
        let endpoint = found.metadata.endpoint(
            "authorization_endpoint",
            found.metadata.authorization_endpoint.as_ref(),
        )?;
        let mut query = endpoint.query().unwrap_or_default().to_owned();
        let scope = joined(self.wish.scopes);
        // The scope `offline_access` is ignored without `prompt=consent` (OpenID Connect Core 1.0,
        // section 11).
        let prompt = match self.wish.scopes.contains(OFFLINE) {
            true => "consent",
            false => "",
        };
        let challenge = self.verifier.challenge();
        let pairs = [
            ("response_type", "code"),
            ("client_id", &*self.identity.client_id),
            ("redirect_uri", self.redirect.text()),
            ("state", &self.state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &found.resource),
            ("scope", &scope),
            ("prompt", prompt),
        ];
        let pairs = pairs
            .into_iter()
            .filter(|(name, _)| !params.contains_key(*name));
        let params = params.iter().map(|(name, value)| (&**name, &**value));
        let pairs = pairs.chain(params);
        for (name, value) in pairs.filter(|(_, value)| !value.is_empty()) {
            form::push(&mut query, name, value);
        }
        let base = endpoint.text().split('?').next().unwrap_or_default();
        HttpUrl::read_secure("the authorization URL", &format!("{base}?{query}"))
    }

    fn visit(
        &self,
        errand: &FlowContext<'_>,
        visit: Box<dyn LoginAttempt>,
        url: &HttpUrl,
    ) -> Result<Secret> {
        let server = errand.server.shown();
        let login = Login {
            url,
            redirect: self.redirect,
            state: &self.state,
            server: &server,
            scopes: self.wish.scopes,
            waiting: errand.fetcher.waiting(),
        };
        (errand.on_person)(true);
        let answer = visit.visit(&login);
        (errand.on_person)(false);
        if Instant::now() >= errand.ends_at {
            let span = Span(errand.settings.login_timeout);
            let text = format!(
                "nobody logged in at '{}' within {span} (OAuthBuilder::login_timeout)",
                url.shown()
            );
            return Err(Error::new(ErrorKind::Timeout, text));
        }
        if login.waiting.is_over() {
            return Err(nobody_waits());
        }
        answer
    }

    /// Returns the authorization code of a redirect. Invariant: `state` and `iss` are checked
    /// before any other part of the redirect is used or shown.
    fn read(&self, errand: &FlowContext<'_>, answer: &Secret) -> Result<Secret> {
        let refuse =
            |why: &str| Error::new(ErrorKind::Auth, format!("the answer to the login {why}"));
        let url = read_answer(answer.reveal()).map_err(|_| refuse("is no URL"))?;
        let query = url.query().unwrap_or_default();
        if one(query, "state").as_deref() != Some(&*self.state) {
            return Err(refuse(
                "is not the one to this login: 'state' is another one, missing, or there twice",
            ));
        }
        self.check_issuer(query)?;
        if let Some(error) = one(query, "error") {
            // Refusals for other reasons, such as `access_denied`, show that the server knows the
            // client.
            let may_blame = ["unauthorized_client", "invalid_client", "invalid_request"];
            if !may_blame.contains(&&*error) {
                let issuer = self.wish.found.issuer();
                errand.doubt_registration(issuer, &self.identity.client_id, false);
            }
            let mut text = format!("the login was refused: {}", Excerpt(&error));
            if let Some(more) = one(query, "error_description") {
                text = format!("{text}: {}", Excerpt(&more));
            }
            return Err(Error::new(ErrorKind::Auth, text).with_oauth_code(&error));
        }
        match one(query, "code") {
            Some(code) if !code.is_empty() => Ok(Secret::new(code)),
            _ => Err(refuse("has neither a code nor an error")),
        }
    }

    /// Checks that the redirect comes from the authorization server of this login (RFC 9207,
    /// section 2.4). Issuers are compared as text.
    fn check_issuer(&self, query: &str) -> Result<()> {
        let metadata = &self.wish.found.metadata;
        let advertised = metadata.authorization_response_iss_parameter_supported == Some(true);
        let is_there = form::pairs(query).any(|(name, _)| name == "iss");
        let text = match (is_there, one(query, "iss")) {
            (false, _) if !advertised => return Ok(()),
            (true, Some(issuer)) if issuer == metadata.issuer => return Ok(()),
            (false, _) => format!(
                "the answer to the login does not say whom it is from, though '{}' announces that it does (iss)",
                Excerpt(&metadata.issuer)
            ),
            (true, _) => format!(
                "the answer to the login is from another authorization server than '{}', which was asked (iss)",
                Excerpt(&metadata.issuer)
            ),
        };
        Err(Error::new(ErrorKind::Auth, text))
    }

    fn redeem(&self, errand: &FlowContext<'_>, code: &Secret) -> Result<Tokens> {
        let make = || {
            let mut form = Form::of_grant("authorization_code");
            form.add_secret("code", code.clone());
            form.add("redirect_uri", self.redirect.text());
            form.add_secret("code_verifier", self.verifier.secret().clone());
            form.add("resource", &self.wish.found.resource);
            Ok(form)
        };
        let (found, dpop) = (self.wish.found, self.wish.dpop);
        match errand.token(found, self.identity, &make, dpop) {
            Ok(response) => {
                let id = &self.identity.client_id;
                errand.doubt_registration(found.issuer(), id, false);
                Ok(response.into_tokens(found, id, self.wish.scopes, dpop))
            }
            Err(Failure::Refused(refusal)) => {
                if refusal.code == "invalid_client" {
                    // The stored registration is invalid; the next login registers the client
                    // again.
                    errand.forget_registration(found.issuer(), &self.identity.client_id)?;
                }
                Err(refusal.error)
            }
            Err(Failure::Other(error)) => Err(error),
        }
    }
}

fn is_answer(url: &str, redirect: &HttpUrl, state: &str) -> bool {
    let Ok(url) = read_answer(url) else {
        return false;
    };
    let is_there = url.is_same_origin(redirect) && url.path() == redirect.path();
    is_there && one(url.query().unwrap_or_default(), "state").as_deref() == Some(state)
}

/// Parses a redirect URL. Drops the fragment, because some authorization servers add one ("#",
/// "#_=_"), which is meant for the browser.
fn read_answer(url: &str) -> Result<HttpUrl> {
    let url = url.split('#').next().unwrap_or_default();
    HttpUrl::read("the redirect", url)
}

/// Returns the value of a query parameter, if the parameter occurs exactly once.
fn one(query: &str, name: &str) -> Option<String> {
    let mut found = form::pairs(query).filter(|(other, _)| other == name);
    let (_, value) = found.next()?;
    found.next().is_none().then_some(value)
}
