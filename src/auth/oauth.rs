//! The authorizer: which request gets which token, and what a refusal leads to.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::challenge::Demand;
use super::dpop::Dpop;
use super::errand::Settings;
use super::renew::{Job, Need};
use super::site::Site;
use super::token::Tokens;
use super::url::Url;
use super::{lock, random};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::http::{Authorizer, Credentials, Next, Outgoing, ResponseFields, Waiting};

/// No login takes longer, whatever the setting says.
pub(super) const DAY: Duration = Duration::from_secs(86_400);
/// So many servers one value looks after.
const MAX_SITES: usize = 1024;

/// Gets tokens for servers and keeps them good: an [`Authorizer`] by OAuth.
///
/// What is to be found out it finds out from the first refusal: who authorizes the server, how, and for what. Calls of several threads that
/// need the same share one login or refresh. A clone is the same thing; one value can serve any number of servers, each with tokens of
/// its own.
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
    sites: Mutex<HashMap<String, Arc<Site>>>,
}

impl OAuth {
    pub(super) fn with(settings: Settings) -> Self {
        Self(Arc::new(Shared {
            settings: Arc::new(settings),
            sites: Mutex::default(),
        }))
    }

    /// Forgets the tokens for a server, here and in the store: the next request has to be authorized anew. What a renewal that is on its way
    /// gives is forgotten too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Auth`] when it is no URL of a server, and what the store says.
    pub fn forget(&self, server: &str) -> Result<()> {
        let site = self.site(server)?;
        // In this order: a renewal that ends now takes back what it has kept.
        site.forget();
        self.0.settings.store.remove(&name_of(&site.url))
    }

    fn log(&self, line: &str) {
        if let Some(log) = &self.0.settings.log {
            log(line);
        }
    }

    fn site(&self, server: &str) -> Result<Arc<Site>> {
        let mut sites = lock(&self.0.sites);
        if let Some(site) = sites.get(server) {
            return Ok(Arc::clone(site));
        }
        let url = Url::read("the server", server)?;
        if sites.len() >= MAX_SITES {
            sites.clear();
        }
        let site = Arc::new(Site::new(url));
        sites.insert(server.to_owned(), Arc::clone(&site));
        Ok(site)
    }

    /// The tokens for a server, and their number. The first time they come from the store.
    fn tokens(&self, site: &Site) -> Result<(Option<Arc<Tokens>>, u64)> {
        let state = site.state();
        if state.was_loaded {
            return Ok((state.tokens.clone(), state.number));
        }
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

    fn run(&self, site: &Arc<Site>, number: u64, need: Need, waiting: &Waiting) -> Result<()> {
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
        site: &Site,
        request: &Outgoing<'_>,
        tokens: &Tokens,
    ) -> Result<Credentials> {
        site.url.check_secure("the server")?;
        if !tokens.is_bound {
            return Credentials::bearer(tokens.access.reveal());
        }
        let url = Url::read("the server", request.url)?;
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

    /// The token was refused, or there was none.
    fn unauthorized(
        &self,
        site: &Arc<Site>,
        request: &Outgoing<'_>,
        response: &ResponseFields<'_>,
        demand: Demand,
        waiting: &Waiting,
    ) -> Result<Next> {
        let number = response.mark();
        let state = site.state();
        if state.number != number {
            return Ok(Next::Again);
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
        Ok(Next::Again)
    }

    /// The token allows too little.
    fn forbidden(
        &self,
        site: &Arc<Site>,
        request: &Outgoing<'_>,
        response: &ResponseFields<'_>,
        demand: Demand,
        waiting: &Waiting,
    ) -> Result<Next> {
        let number = response.mark();
        // It was known who asks: that much the token is good for.
        site.recognize(number);
        if !demand.is_for_more() {
            return Ok(Next::GiveUp);
        }
        let operation = operation(request.body);
        loop {
            let state = site.state();
            let (current, tokens) = (state.number, state.tokens.clone());
            drop(state);
            // What others have got meanwhile is tried only if it can be enough: attempts are few.
            let tokens = tokens.as_deref();
            if current != number && tokens.is_none_or(|tokens| tokens.may_allow(&demand)) {
                return Ok(Next::Again);
            }
            let has_all = tokens.is_some_and(|tokens| tokens.has_all_of(&demand));
            if has_all || !site.may_step_up(&operation) {
                return Ok(Next::GiveUp);
            }
            let need = Need::More(demand.clone(), operation.clone());
            self.run(site, current, need, waiting)?;
            // There was nothing more to ask for.
            if site.state().number == current {
                return Ok(Next::GiveUp);
            }
        }
    }
}

impl Authorizer for OAuth {
    fn authorize(&self, request: &Outgoing<'_>, waiting: &Waiting) -> Result<Credentials> {
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
                // What the server says to these tell how to go on.
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
        request: &Outgoing<'_>,
        response: &ResponseFields<'_>,
        waiting: &Waiting,
    ) -> Result<Next> {
        if request.is_last {
            return Ok(Next::GiveUp);
        }
        let site = self.site(request.server)?;
        let demand = Demand::read(response.values("www-authenticate"));
        let asks_otherwise = response.values("www-authenticate").next().is_some();
        if asks_otherwise && !demand.is_oauth {
            return Ok(Next::GiveUp);
        }
        // That says nothing of the token. Another call may have learnt the nonce first, so it need not be a new one here.
        let wants_nonce = demand.error.as_deref() == Some("use_dpop_nonce");
        if self.note_nonce(request, response) && wants_nonce {
            return Ok(Next::Again);
        }
        match response.status() {
            401 => self.unauthorized(&site, request, response, demand, waiting),
            _ => self.forbidden(&site, request, response, demand, waiting),
        }
    }

    /// Counts logins: with each of them another user may have come.
    fn generation(&self, server: &str) -> u64 {
        self.site(server).map_or(0, |site| site.state().logins)
    }

    fn accepted(&self, request: &Outgoing<'_>, response: &ResponseFields<'_>) {
        self.note_nonce(request, response);
        if let Ok(site) = self.site(request.server) {
            site.accept(response.mark(), || operation(request.body));
        }
    }
}

impl OAuth {
    /// Remembers the nonce that the next proof has to have, if there is one.
    fn note_nonce(&self, request: &Outgoing<'_>, response: &ResponseFields<'_>) -> bool {
        let nonce = response.values("dpop-nonce").next();
        let (Some(nonce), Ok(url)) = (nonce, Url::read("the server", request.url)) else {
            return false;
        };
        self.0.settings.nonces.note(url.origin(), nonce);
        true
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("servers", &lock(&self.0.sites).len())
            .finish_non_exhaustive()
    }
}

/// Under which name the tokens for a server are kept.
pub(super) fn name_of(server: &Url) -> String {
    // What is in a query may be a secret, but tells servers apart.
    let query = server.query().map(random::digest);
    let query = query.map(|digest| format!("?{digest}"));
    format!("tokens {}{}", server.canonical(), query.unwrap_or_default())
}

/// What a request asks for: attempts to be allowed more are counted for each.
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
