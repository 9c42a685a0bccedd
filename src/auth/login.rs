//! A person logs in: the authorization code flow, with PKCE.
//!
//! ```text
//!  client ── URL to open ──▶ person's browser ──▶ authorization server
//!    ▲                                                 │ code, state, iss
//!    ╰──────────────── redirect URI ◀──────────────────╯
//! ```
//!
//! Spec: Authorization, "Authorization Flow Steps"; OAuth 2.1, section 4.1; RFC 7636; RFC 8707; RFC 9207.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Instant;

use super::client::{Identity, check_redirect};
use super::discovery::OFFLINE;
use super::errand::{Errand, Grant, Wish};
use super::fetch::nobody_waits;
use super::random::{self, Verifier};
use super::secret::Secret;
use super::token::{Failure, Form, Tokens, joined};
use super::url::{Url, form};
use crate::error::{Error, ErrorKind, Excerpt, Result, Span};
use crate::transport::http::Waiting;

/// Shows a person where to log in, and finds out where that led.
///
/// [`Browser`](super::Browser) is a ready-made one, [`Visitor`](super::Visitor) makes one of a function. Runs on a thread of its own.
pub trait UserAgent: Send + Sync {
    /// Gets ready for one login. `last` is the redirect URI of the last one, if it is known: one that has not changed needs no new
    /// registration.
    ///
    /// # Errors
    ///
    /// The calls that need the login fail with it.
    fn prepare(&self, last: Option<&str>) -> Result<Box<dyn Visit>>;
}

/// One login.
pub trait Visit: Send {
    /// Where the authorization server sends the person back to: on this machine, or `https`.
    fn redirect_uri(&self) -> &str;

    /// Has the person open [`Login::url`], and gives the URL that the authorization server then sends the browser to, whole, with its
    /// query. Ends when [`Login::waiting`] is over.
    ///
    /// # Errors
    ///
    /// The calls that need the login fail with it.
    fn visit(self: Box<Self>, login: &Login<'_>) -> Result<Secret>;
}

/// What a person is asked.
pub struct Login<'a> {
    url: &'a Url,
    redirect: &'a Url,
    state: &'a str,
    server: &'a str,
    scopes: &'a BTreeSet<String>,
    waiting: &'a Waiting,
}

impl Login<'_> {
    /// The URL to open: `https`, or on this machine. It goes to a browser as it is, never through a shell.
    pub fn url(&self) -> &str {
        self.url.text()
    }

    /// The server that wants the login, without its query.
    pub fn server(&self) -> &str {
        self.server
    }

    /// Origin of the authorization server that asks the person: what to show before a browser is opened.
    pub fn authorization_server(&self) -> String {
        self.url.origin()
    }

    /// What the person is asked to allow.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(String::as_str)
    }

    /// Whether nobody waits any more: what is shown can be taken away then.
    pub fn waiting(&self) -> &Waiting {
        self.waiting
    }

    /// Whether a URL that a browser came to is the answer to this login; others, which anybody can make, are to be ignored.
    pub fn is_answer(&self, url: &str) -> bool {
        is_answer(url, self.redirect, self.state)
    }

    /// The same as [`is_answer`](Self::is_answer), for hosts that look at URLs on other threads: it may outlive the visit.
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

/// Tokens by the login of a person.
pub(super) struct ByLogin<U>(pub(super) U);

impl<U: UserAgent> Grant for ByLogin<U> {
    fn obtain(&self, errand: &Errand<'_>, wish: &Wish<'_>) -> Result<Tokens> {
        wish.found.check_pkce()?;
        let last = errand.last_redirect(wish.found)?;
        let visit = self.0.prepare(last.as_deref())?;
        let redirect = check_redirect(visit.redirect_uri())?;
        let identity = errand.identity(wish.found, &redirect)?;
        // Kept together from before the person leaves until the code is redeemed: whoever answers must be who was asked.
        let attempt = Attempt {
            verifier: Verifier::new()?,
            state: random::text()?,
            redirect: &redirect,
            identity: &identity,
            wish,
        };
        let url = attempt.url()?;
        errand.fetcher.check_reach("the login", &url)?;
        let answer = attempt.visit(errand, visit, &url)?;
        let code = attempt.read(errand, &answer)?;
        attempt.redeem(errand, &code)
    }

    fn is_for_a_person(&self) -> bool {
        true
    }
}

/// One attempt to get a code.
struct Attempt<'a> {
    verifier: Verifier,
    state: String,
    redirect: &'a Url,
    identity: &'a Identity,
    wish: &'a Wish<'a>,
}

impl Attempt<'_> {
    fn url(&self) -> Result<Url> {
        let found = self.wish.found;
        let endpoint = found.metadata.endpoint(
            "authorization_endpoint",
            found.metadata.authorization_endpoint.as_ref(),
        )?;
        let mut query = endpoint.query().unwrap_or_default().to_owned();
        let scope = joined(self.wish.scopes);
        // Leave to act while the user is away is ignored, unless the user is asked for it (OpenID Connect Core 1.0, section 11).
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
        for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            form::push(&mut query, name, value);
        }
        let base = endpoint.text().split('?').next().unwrap_or_default();
        Url::read_secure("the authorization URL", &format!("{base}?{query}"))
    }

    fn visit(&self, errand: &Errand<'_>, visit: Box<dyn Visit>, url: &Url) -> Result<Secret> {
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
                "nobody logged in at '{}' within {span} (login_timeout)",
                url.shown()
            );
            return Err(Error::new(ErrorKind::Timeout, text));
        }
        if login.waiting.is_over() {
            return Err(nobody_waits());
        }
        answer
    }

    /// The code in the answer. Nothing of it is acted on or shown before it is known to come from whom it was asked.
    fn read(&self, errand: &Errand<'_>, answer: &Secret) -> Result<Secret> {
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
            // A server that refuses for another reason, such as access_denied, knows the client.
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

    /// Whether the answer comes from the authorization server that was asked (RFC 9207, section 2.4), compared as text.
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

    fn redeem(&self, errand: &Errand<'_>, code: &Secret) -> Result<Tokens> {
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
                    // Whatever is kept of the client is no good; next time it is registered anew.
                    errand.forget_registration(found.issuer(), &self.identity.client_id)?;
                }
                Err(refusal.error)
            }
            Err(Failure::Other(error)) => Err(error),
        }
    }
}

fn is_answer(url: &str, redirect: &Url, state: &str) -> bool {
    let Ok(url) = read_answer(url) else {
        return false;
    };
    let is_there = url.is_same_origin(redirect) && url.path() == redirect.path();
    is_there && one(url.query().unwrap_or_default(), "state").as_deref() == Some(state)
}

/// Where a login led. A fragment is the browser's own affair, and some authorization servers leave one ("#", "#_=_").
fn read_answer(url: &str) -> Result<Url> {
    let url = url.split('#').next().unwrap_or_default();
    Url::read("the redirect", url)
}

/// The value of a parameter that is there once.
fn one(query: &str, name: &str) -> Option<String> {
    let mut found = form::pairs(query).filter(|(other, _)| other == name);
    let (_, value) = found.next()?;
    found.next().is_none().then_some(value)
}
