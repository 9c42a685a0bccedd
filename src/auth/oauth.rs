//! The authorizer: chooses the token of each request, and reacts to refusals.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;

use super::dpop::Dpop;
use super::flow_context::Settings;
use super::http_url::HttpUrl;
use super::renew::{Job, Need};
use super::server_state::{DAY, ServerState, name_of};
use super::token::Tokens;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use crate::transport::http::challenge::Demand;
use crate::transport::http::{
    Authorizer, AuthorizerDecision, CredentialWait, Credentials, OutgoingRequest, ResponseFields,
};

/// The maximum number of servers whose state one [`OAuth`] keeps.
const MAX_SITES: usize = 1024;

/// An [`Authorizer`] with OAuth: obtains and renews tokens for MCP servers.
///
/// Discovery starts when a server refuses a request for the first time. It finds the authorization
/// server, its endpoints and the scopes. Concurrent calls that need the same tokens share one login
/// or refresh. Clones share their state. One `OAuth` serves any number of servers, each with its
/// own tokens.
///
/// Spec: Base Protocol, "Authorization" (2025-03-26 and later).
///
/// # Examples
///
/// ```no_run
/// use mcplink::auth::{Browser, OAuth};
/// use mcplink::client::Client;
/// use mcplink::transport::http::Http;
///
/// # fn main() -> mcplink::Result<()> {
/// let oauth = OAuth::login(Browser::new()).client_name("My editor").build()?;
/// let client = Client::connect(Http::new("https://example.com/mcp")?.authorizer(oauth))?;
/// println!("{:?}", client.list_tools()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OAuth(Arc<Shared>);

struct Shared {
    settings: Arc<Settings>,
    /// The state of each server. The key is the server's URL, in the spelling of the host
    /// application. If the map is full, it is cleared, and the state of each server is loaded from
    /// the store again.
    sites: Mutex<HashMap<String, Arc<ServerState>>>,
}

impl OAuth {
    pub(super) fn with(settings: Settings) -> Self {
        Self(Arc::new(Shared {
            settings: Arc::new(settings),
            sites: Mutex::default(),
        }))
    }

    /// Deletes the tokens for a server, in memory and in the store. Afterwards the next request has
    /// to be authorized again. A renewal in progress does not restore the tokens.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Auth`] when `server` is not the URL of a server. Errors of the store are
    /// returned unchanged.
    pub fn forget(&self, server: &str) -> Result<()> {
        let site = self.site(server)?;
        // Order: first the state, then the store. A renewal that ends in between sees the changed
        // state and removes the tokens that it saved.
        site.forget();
        self.0.settings.store.remove(&name_of(&site.url))
    }

    fn log(&self, line: &str) {
        if let Some(log) = &self.0.settings.log {
            log(line);
        }
    }

    fn site(&self, server: &str) -> Result<Arc<ServerState>> {
        let mut sites = self.0.sites.lock();
        if let Some(site) = sites.get(server) {
            return Ok(Arc::clone(site));
        }
        let url = HttpUrl::read("the server", server)?;
        if sites.len() >= MAX_SITES {
            sites.clear();
        }
        let site = Arc::new(ServerState::new(url));
        sites.insert(server.to_owned(), Arc::clone(&site));
        Ok(site)
    }

    /// Returns the tokens for a server, with their version number. The first call loads them from
    /// the store.
    fn tokens(&self, site: &ServerState) -> Result<(Option<Arc<Tokens>>, u64)> {
        let state = site.state();
        if state.was_loaded {
            return Ok((state.tokens.clone(), state.number));
        }
        // The store may block, so it is read without the lock. If another thread has set the tokens
        // meanwhile, those are kept.
        drop(state);
        let kept = self.0.settings.kept(&name_of(&site.url))?;
        let is_there = site.state().was_loaded;
        if let (Some(kept), false) = (kept, is_there) {
            site.adopt(kept, true);
        }
        let mut state = site.state();
        state.was_loaded = true;
        Ok((state.tokens.clone(), state.number))
    }

    fn run(
        &self,
        site: &Arc<ServerState>,
        number: u64,
        need: Need,
        waiting: &CredentialWait,
    ) -> Result<()> {
        site.url.check_secure("the server")?;
        let ends_at = Instant::now() + self.0.settings.login_timeout.min(DAY);
        let aim = need.aim();
        let job = Job {
            settings: Arc::clone(&self.0.settings),
            site: Arc::clone(site),
            need,
            ends_at,
        };
        site.run(
            number,
            &aim,
            waiting,
            ends_at,
            move |waiting, turn, on_person| job.run(waiting, turn, on_person),
        )
    }

    fn credentials(
        &self,
        site: &ServerState,
        request: &OutgoingRequest<'_>,
        tokens: &Tokens,
    ) -> Result<Credentials> {
        site.url.check_secure("the server")?;
        if !tokens.is_bound {
            return Credentials::bearer(tokens.access.reveal());
        }
        let url = HttpUrl::read("the server", request.url)?;
        let nonce = self.0.settings.nonces.of(&url.origin());
        let dpop = self.key_of(tokens)?;
        let proof = dpop.proof(request.method, &url, Some(&tokens.access), nonce.as_deref())?;
        Credentials::none()
            .field("authorization", &format!("DPoP {}", tokens.access.reveal()))?
            .field("dpop", proof.reveal())
    }

    fn key_of(&self, tokens: &Tokens) -> Result<Dpop> {
        match (&tokens.key, &self.0.settings.signer) {
            (Some(kept), _) => Dpop::from_kept(kept),
            (None, Some(signer)) => Ok(Dpop::with(Arc::clone(signer))),
            (None, None) => Err(Error::new(
                ErrorKind::Auth,
                "the tokens are bound to a key that is not there (OAuthBuilder::dpop_key)",
            )),
        }
    }

    /// Handles status 401: the server refused the token, or no token was sent.
    fn unauthorized(
        &self,
        site: &Arc<ServerState>,
        request: &OutgoingRequest<'_>,
        response: &ResponseFields<'_>,
        demand: Demand,
        waiting: &CredentialWait,
    ) -> Result<AuthorizerDecision> {
        let number = response.mark();
        let state = site.state();
        if state.number != number {
            return Ok(AuthorizerDecision::Again);
        }
        let is_untried = state.is_untried && state.tokens.is_some();
        drop(state);
        if is_untried && (request.attempt > 0 || !site.may_log_in()) {
            let text = format!(
                "'{}' refuses the token that was issued for it just now",
                site.url.shown()
            );
            return Err(Error::new(ErrorKind::Auth, text));
        }
        self.run(site, number, Need::Others(demand), waiting)?;
        Ok(AuthorizerDecision::Again)
    }

    /// Handles status 403: the token may lack scopes.
    fn forbidden(
        &self,
        site: &Arc<ServerState>,
        request: &OutgoingRequest<'_>,
        response: &ResponseFields<'_>,
        demand: Demand,
        waiting: &CredentialWait,
    ) -> Result<AuthorizerDecision> {
        let number = response.mark();
        // The server identified the sender, so the token itself is valid.
        site.recognize(number);
        if !demand.is_for_more() {
            return Ok(AuthorizerDecision::GiveUp);
        }
        let operation = operation(request.body);
        loop {
            let state = site.state();
            let (current, tokens) = (state.number, state.tokens.clone());
            drop(state);
            // Newer tokens of another call are tried only if they may have the scopes, because
            // attempts are limited.
            let tokens = tokens.as_deref();
            if current != number && tokens.is_none_or(|tokens| tokens.may_allow(&demand)) {
                return Ok(AuthorizerDecision::Again);
            }
            let has_all = tokens.is_some_and(|tokens| tokens.has_all_of(&demand));
            if has_all || !site.may_step_up(&operation) {
                return Ok(AuthorizerDecision::GiveUp);
            }
            let need = Need::More(demand.clone(), operation.clone());
            self.run(site, current, need, waiting)?;
            // Nothing has changed, because no further scopes could be requested.
            if site.state().number == current {
                return Ok(AuthorizerDecision::GiveUp);
            }
        }
    }
}

impl Authorizer for OAuth {
    fn authorize(
        &self,
        request: &OutgoingRequest<'_>,
        waiting: &CredentialWait,
    ) -> Result<Credentials> {
        let site = self.site(request.server)?;
        let (mut tokens, mut number) = self.tokens(&site)?;
        let is_due = tokens.as_ref().is_some_and(|tokens| {
            let can_wait = || !tokens.has_expired() && (site.rests() || site.asks_person());
            tokens.is_stale() && tokens.refresh.is_some() && !can_wait()
        });
        if is_due && !request.is_last {
            let renewed = self.run(&site, number, Need::Fresher, waiting);
            let is_usable = tokens.as_ref().is_some_and(|tokens| !tokens.has_expired());
            match renewed {
                // The server's response to the old tokens decides the next step.
                Err(error) if is_usable || error.kind() == ErrorKind::Auth => {
                    self.log(&format!("tokens that expire are still used: {error}"));
                    site.rest();
                }
                renewed => renewed?,
            }
            (tokens, number) = self.tokens(&site)?;
        }
        match tokens {
            Some(tokens) => Ok(self.credentials(&site, request, &tokens)?.marked(number)),
            None => Ok(Credentials::none().marked(number)),
        }
    }

    fn refused(
        &self,
        request: &OutgoingRequest<'_>,
        response: &ResponseFields<'_>,
        waiting: &CredentialWait,
    ) -> Result<AuthorizerDecision> {
        if request.is_last {
            return Ok(AuthorizerDecision::GiveUp);
        }
        let site = self.site(request.server)?;
        let demand = Demand::read(response.values("www-authenticate"));
        let asks_otherwise = response.values("www-authenticate").next().is_some();
        if asks_otherwise && !demand.is_oauth {
            return Ok(AuthorizerDecision::GiveUp);
        }
        // A demand for a nonce says nothing about the token. Another call may already have stored
        // the nonce, so it need not be new here.
        let wants_nonce = demand.error.as_deref() == Some("use_dpop_nonce");
        if self.note_nonce(request, response) && wants_nonce {
            return Ok(AuthorizerDecision::Again);
        }
        match response.status() {
            401 => self.unauthorized(&site, request, response, demand, waiting),
            _ => self.forbidden(&site, request, response, demand, waiting),
        }
    }

    /// Returns a number that increases when the tokens change in another way than by a refresh. If
    /// the number has changed, another user may be logged in.
    fn generation(&self, server: &str) -> u64 {
        self.site(server).map_or(0, |site| site.state().logins)
    }

    fn accepted(&self, request: &OutgoingRequest<'_>, response: &ResponseFields<'_>) {
        self.note_nonce(request, response);
        if let Ok(site) = self.site(request.server) {
            site.accept(response.mark(), || operation(request.body));
        }
    }
}

impl OAuth {
    /// Stores the DPoP nonce of a response for the next proof. Returns whether the response had a
    /// nonce.
    fn note_nonce(&self, request: &OutgoingRequest<'_>, response: &ResponseFields<'_>) -> bool {
        let nonce = response.values("dpop-nonce").next();
        let (Some(nonce), Ok(url)) = (nonce, HttpUrl::read("the server", request.url)) else {
            return false;
        };
        self.0.settings.nonces.note(url.origin(), nonce);
        true
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("servers", &self.0.sites.lock().len())
            .finish_non_exhaustive()
    }
}

/// Returns the method and target of a request, by which step-up attempts are counted.
fn operation(body: &[u8]) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Message {
        method: String,
        params: Params,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Params {
        name: Option<String>,
        uri: Option<String>,
    }
    let message: Message = serde_json::from_slice(body).unwrap_or_default();
    let target = message.params.name.or(message.params.uri);
    format!("{} {}", message.method, target.unwrap_or_default())
}
