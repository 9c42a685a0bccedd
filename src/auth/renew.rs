//! One authorization flow: adopts tokens of other processes, refreshes tokens, or obtains new
//! tokens.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use super::discovered::Discovered;
use super::dpop::{Dpop, DpopUse};
use super::flow_context::{FlowContext, Settings, TokenRequest};
use super::metadata::{ServerMetadata, is_same_issuer};
use super::server_state::{DAY, LoginLock, ServerState, TokenNeed, name_of};
use super::token::{Failure, Tokens};
use crate::error::{Error, ErrorKind, Excerpt, Result, Span};
use crate::transport::exchange_transport::CancelHandle;
use crate::transport::http::CredentialWait;
use crate::transport::http::challenge::Demand;

/// The reason why a flow needs tokens.
pub(super) enum Need {
    /// The current tokens expire soon.
    Fresher,
    /// Other tokens are needed: the server refused the current tokens, or there are no tokens.
    Others(Demand),
    /// The server requires more scopes for an operation. The second field names the operation.
    More(Demand, String),
}

impl Need {
    pub(super) fn aim(&self) -> TokenNeed {
        match self {
            Self::Fresher | Self::Others(_) => TokenNeed::Others,
            Self::More(demand, _) => TokenNeed::More(demand.scopes.clone()),
        }
    }
}

/// One authorization flow of an MCP server.
pub(super) struct Job {
    pub(super) settings: Arc<Settings>,
    pub(super) site: Arc<ServerState>,
    pub(super) need: Need,
    pub(super) ends_at: Instant,
}

impl Job {
    /// Runs the flow. The caller is the flow's own thread (`mcplink-login`).
    pub(super) fn run(
        self,
        waiting: CredentialWait,
        turn: &LoginLock,
        on_person: &dyn Fn(bool),
    ) -> Result<()> {
        let name = name_of(&self.site.url);
        let server = self.site.url.shown();
        let errand = FlowContext::new(
            &self.settings,
            &self.site.url,
            waiting.clone(),
            self.ends_at,
            on_person,
        );
        let worked = self.work(&errand, &name, &waiting, turn);
        worked.map_err(|error| {
            let is_late = error.kind() == ErrorKind::Cancelled && Instant::now() >= self.ends_at;
            let error = if is_late {
                let span = Span(self.settings.login_timeout);
                let text = format!("it was not done within {span} (OAuthBuilder::login_timeout)");
                Error::new(ErrorKind::Timeout, text)
            } else {
                told(error)
            };
            if errand.is_refused.get() {
                self.site.note_refused(&error);
            }
            error.context(format_args!("authorization for '{server}' failed"))
        })
    }

    fn work(
        &self,
        errand: &FlowContext<'_>,
        name: &str,
        waiting: &CredentialWait,
        turn: &LoginLock,
    ) -> Result<()> {
        let locked = self.settings.store.lock(name, waiting)?;
        if self.adopts_others(name)? && self.has_enough() {
            return Ok(());
        }
        if let Some(error) = self.site.refused() {
            return Err(error);
        }
        let held = self.site.state().tokens.clone();
        let (found, demand) = match (&self.need, held.as_deref()) {
            (Need::Fresher, Some(held)) => return self.freshen(errand, name, held),
            (Need::Fresher, None) => return Ok(()),
            (Need::Others(demand), held) => {
                let found = errand.discover(demand, held)?;
                let was_refreshed = self.site.state().is_refreshed;
                let is_own = |held: &&Tokens| is_same_issuer(&held.issuer, found.issuer());
                if let Some(held) = held.filter(is_own)
                    && !was_refreshed
                    && self.refreshed(errand, name, &found, held)?
                {
                    return Ok(());
                }
                (found, demand)
            }
            (Need::More(demand, operation), held) => {
                self.site.note_step_up(operation);
                (errand.discover(demand, held)?, demand)
            }
        };
        // A login takes as long as the user needs. Meanwhile other processes have to be able to
        // refresh tokens, so the lock for renewal is released. A second lock serializes logins.
        drop(locked);
        let login = format!("login for {name}");
        let _held = turn.hold(self.settings.store.lock(&login, waiting)?);
        if self.adopts_others(name)? && self.has_enough() {
            return Ok(());
        }
        self.obtain(errand, name, &found, demand)
    }

    /// Adopts tokens that another process has stored in the meantime. The stored tokens replace the
    /// current tokens, even if the stored ones expire soon. Returns whether tokens were adopted.
    fn adopts_others(&self, name: &str) -> Result<bool> {
        let kept = self.settings.kept(name)?;
        let Some(kept) = kept.filter(|kept| self.site.is_from_other_process(kept)) else {
            return Ok(false);
        };
        self.site.adopt(kept, true);
        Ok(true)
    }

    /// Whether the current tokens suffice. Tokens that expire soon do not suffice. If more scopes
    /// were required, the tokens need these scopes.
    fn has_enough(&self) -> bool {
        let Some(held) = self.site.state().tokens.clone() else {
            return false;
        };
        let allows = match &self.need {
            Need::More(demand, _) => demand.scopes.is_some() && held.may_allow(demand),
            _ => true,
        };
        allows && !held.is_stale()
    }

    /// Refreshes tokens that expire soon. If the refresh is refused, the access token is still used
    /// until it expires. After that the server refuses a request, and the next flow starts.
    fn freshen(&self, errand: &FlowContext<'_>, name: &str, held: &Tokens) -> Result<()> {
        let place = Demand {
            resource_metadata: held.resource_metadata.clone(),
            ..Demand::default()
        };
        let found = errand.discover(&place, Some(held))?;
        // The MCP server names another authorization server now. Its next refusal starts a new
        // flow.
        if !is_same_issuer(found.issuer(), &held.issuer)
            || self.refreshed(errand, name, &found, held)?
        {
            return Ok(());
        }
        self.spend(errand, name)
    }

    /// Refreshes tokens. Returns whether new tokens were obtained. If the authorization server
    /// refuses the refresh token, deletes the refresh token, so that the next step is a login.
    fn refreshed(
        &self,
        errand: &FlowContext<'_>,
        name: &str,
        found: &Discovered,
        held: &Tokens,
    ) -> Result<bool> {
        let Some(refresh) = &held.refresh else {
            return Ok(false);
        };
        let Some(identity) = errand.identity_of(found, &held.client_id)? else {
            return Ok(false);
        };
        let dpop = self.key_of(held)?;
        match errand.refresh(found, &identity, held, refresh, dpop.as_ref()) {
            Ok(next) => {
                // A login in the meantime has at least these scopes, so its tokens are kept.
                if !self.adopts_others(name)? {
                    self.replace(errand, name, held, next, true)?;
                }
                Ok(true)
            }
            // The authorization server refused the client's credentials, not the refresh token. The
            // refresh token stays valid, and a login would fail with the credentials too.
            Err(Failure::Refused(refusal)) if errand.is_for_the_host(&refusal) => {
                Err(refusal.error)
            }
            Err(Failure::Refused(refusal)) => {
                if refusal.code == "invalid_client" {
                    errand.forget_registration(found.issuer(), &held.client_id)?;
                }
                errand.log(&format!("tokens can't be refreshed: {}", refusal.error));
                // If the store has no working lock, another process may just have used this refresh
                // token.
                if self.adopts_others(name)? {
                    return Ok(true);
                }
                self.spend(errand, name)?;
                Ok(false)
            }
            Err(Failure::Other(error)) => Err(error),
        }
    }

    /// Obtains new tokens with the grant.
    fn obtain(
        &self,
        errand: &FlowContext<'_>,
        name: &str,
        found: &Discovered,
        demand: &Demand,
    ) -> Result<()> {
        let held = self.site.state().tokens.clone();
        // Scopes that another authorization server granted do not count.
        let is_own = |held: &&Tokens| is_same_issuer(&held.issuer, found.issuer());
        let held = held.as_deref().filter(is_own);
        let before = held.map_or_else(BTreeSet::new, |held| held.scopes.clone());
        let grant = &self.settings.grant;
        let offline = self.settings.asks_offline && grant.is_for_a_person();
        let scopes = found.scopes(demand, self.settings.scopes.as_ref(), &before, offline);
        // The server does not name the missing scopes, and all known scopes were requested already.
        // Another login would request the same scopes.
        if let (Need::More(demand, _), Some(held)) = (&self.need, held)
            && demand.scopes.as_ref().is_none_or(BTreeSet::is_empty)
            && scopes.is_subset(&held.scopes)
        {
            return Ok(());
        }
        let dpop = self.new_key(found, held)?;
        let wish = TokenRequest {
            found,
            scopes: &scopes,
            dpop: dpop.as_ref(),
        };
        let tokens = grant
            .obtain(errand, &wish)
            .map_err(|error| found.explain(error))?;
        // Takes the lock for renewal again, so that a refresh in another process does not overwrite
        // these tokens. They are stored in any case, even if no call waits any more.
        let turn = CancelHandle::until(Some(Instant::now() + self.settings.step_timeout.min(DAY)));
        let turn = CredentialWait::new(turn, errand.fetcher.waiting().threads().clone());
        let locked = self.settings.store.lock(name, &turn);
        if let Err(error) = &locked {
            errand.log(&format!("tokens are kept out of turn: {error}"));
        }
        self.keep(errand, name, &tokens);
        self.site.adopt(tokens, false);
        Ok(())
    }

    /// Stores the tokens that replace `held`. If `held` was deleted in the meantime, the new tokens
    /// are removed again.
    fn replace(
        &self,
        errand: &FlowContext<'_>,
        name: &str,
        held: &Tokens,
        next: Tokens,
        is_from_refresh: bool,
    ) -> Result<()> {
        self.keep(errand, name, &next);
        if self.site.replace(held, next, is_from_refresh) {
            return Ok(());
        }
        self.settings.store.remove(name)
    }

    /// Deletes the refresh token, which is of no use any more. The access token is still used.
    fn spend(&self, errand: &FlowContext<'_>, name: &str) -> Result<()> {
        let held = self.site.state().tokens.clone();
        let Some(held) = held.filter(|held| held.refresh.is_some()) else {
            return Ok(());
        };
        let spent = Tokens {
            refresh: None,
            ..(*held).clone()
        };
        self.replace(errand, name, &held, spent, false)
    }

    fn keep(&self, errand: &FlowContext<'_>, name: &str, tokens: &Tokens) {
        match self.settings.store.save(name, &tokens.write()) {
            Ok(()) => self.site.note_stored(tokens),
            Err(error) => errand.log(&format!("tokens are kept in memory only: {error}")),
        }
    }

    /// Returns the key that the tokens `held` are bound to. Returns `None` if the tokens are not
    /// bound.
    fn key_of(&self, held: &Tokens) -> Result<Option<Dpop>> {
        match (held.is_bound, &held.key, &self.settings.signer) {
            (false, ..) => Ok(None),
            (true, Some(kept), _) => Dpop::from_kept(kept).map(Some),
            (true, None, signer) => Ok(signer.clone().map(Dpop::with)),
        }
    }

    /// Returns the key for new tokens. Returns `None` if new tokens need not be bound.
    fn new_key(&self, found: &Discovered, held: Option<&Tokens>) -> Result<Option<Dpop>> {
        let wants = match self.settings.dpop {
            DpopUse::Never => false,
            DpopUse::WhenAsked => found.wants_dpop,
            DpopUse::Always => true,
        };
        if !wants {
            return Ok(None);
        }
        let kept = held.map_or(Ok(None), |held| self.key_of(held))?;
        let dpop = match (kept, &self.settings.signer) {
            (_, Some(signer)) => Dpop::with(Arc::clone(signer)),
            (Some(kept), None) => kept,
            (None, None) => Dpop::generate()?,
        };
        let offered = found.metadata.dpop_signing_alg_values_supported.as_ref();
        if ServerMetadata::lists(offered, dpop.algorithm(), true) {
            return Ok(Some(dpop));
        }
        let text = format!(
            "the authorization server '{}' takes no proofs of {} (dpop_signing_alg_values_supported)",
            Excerpt(found.issuer()),
            dpop.algorithm()
        );
        Err(Error::new(ErrorKind::Auth, text))
    }
}

/// Changes the kind of an authorization server's error to `Auth`, if the original kind would blame
/// the MCP server.
fn told(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Protocol | ErrorKind::Http | ErrorKind::Closed | ErrorKind::Peer => {
            error.with_kind(ErrorKind::Auth)
        }
        _ => error,
    }
}
