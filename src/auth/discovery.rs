//! Finding out who authorizes a server, and how.
//!
//! ```text
//!  challenge's resource_metadata, or /.well-known/oauth-protected-resource{/path}, or …{}   ──▶ who authorizes
//!        none of them there ──▶ as in 2025-03-26: the server itself, or default endpoints
//!  issuer ──▶ /.well-known/oauth-authorization-server, or openid-configuration              ──▶ how
//! ```
//!
//! Spec: Authorization, "Authorization Server Discovery" (2025-06-18 and later), "Server Metadata Discovery" (2025-03-26).

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use super::challenge::Demand;
use super::errand::Errand;
use super::metadata::{
    ResourceMetadata, ServerMetadata, base_of_old, is_same_issuer, resource_places, server_places,
};
use super::token::Tokens;
use super::url::Url;
use crate::error::{Error, ErrorKind, Result};

/// The revision whose servers authorize by themselves.
const OLD: &str = "2025-03-26";

/// Who authorizes a server, and how.
#[derive(Clone, Debug)]
pub(super) struct Discovered {
    /// The server, as tokens for it name it.
    pub(super) resource: String,
    /// Where the server says that its metadata is, if it does.
    pub(super) resource_metadata: Option<String>,
    scopes_supported: Option<Vec<String>>,
    pub(super) wants_dpop: bool,
    pub(super) metadata: ServerMetadata,
    /// It is its own authorization server, as in 2025-03-26.
    is_old: bool,
}

impl Discovered {
    pub(super) fn issuer(&self) -> &str {
        &self.metadata.issuer
    }

    /// What is worth knowing when authorization fails.
    pub(super) fn explain(&self, error: Error) -> Error {
        if !self.is_old {
            return error;
        }
        let text = format!(
            "the server has no metadata (oauth-protected-resource), so it was taken for its own authorization server, as in {OLD}"
        );
        error.remark(text)
    }

    /// Which scopes to ask for: what the server asks for now, or else what the host wants, or else all that the server has; and what was
    /// asked for before.
    pub(super) fn scopes(
        &self,
        demand: &Demand,
        wanted: Option<&BTreeSet<String>>,
        before: &BTreeSet<String>,
        offline: bool,
    ) -> BTreeSet<String> {
        let supported = self.scopes_supported.iter().flatten().cloned();
        let mut scopes = match (&demand.scopes, wanted) {
            (Some(demanded), wanted) => demanded
                .union(wanted.unwrap_or(&BTreeSet::new()))
                .cloned()
                .collect(),
            (None, Some(wanted)) => wanted.clone(),
            (None, None) if before.is_empty() || demand.is_for_more() => supported.collect(),
            (None, None) => BTreeSet::new(),
        };
        scopes.extend(before.iter().cloned());
        let has_offline =
            ServerMetadata::lists(self.metadata.scopes_supported.as_ref(), OFFLINE, false);
        if offline && has_offline {
            scopes.insert(OFFLINE.to_owned());
        }
        scopes
    }

    /// Checks that codes are protected on their way.
    pub(super) fn check_pkce(&self) -> Result<()> {
        let says_nothing = self.metadata.code_challenge_methods_supported.is_none();
        // The revision demands it of every server, and none had to say so.
        if self.is_old && says_nothing {
            return Ok(());
        }
        self.metadata.check_pkce()
    }
}

/// Leave to act while the user is away: what servers want to see before they hand out a refresh token.
pub(super) const OFFLINE: &str = "offline_access";

/// What may be at a place.
enum Found<T> {
    Document(T),
    /// It is not there, as the error says: a status or a page for people.
    Nothing(Error),
    /// An object that is not the document: another place may have that.
    Other(Error),
}

impl Errand<'_> {
    /// Finds out who authorizes the server. `held` are the tokens that are to be renewed or
    /// replaced.
    pub(super) fn discover(&self, demand: &Demand, held: Option<&Tokens>) -> Result<Discovered> {
        let Some(resource) = self.resource_metadata(demand)? else {
            return self.discover_old();
        };
        let issuers = resource.check(self.server)?;
        let metadata = self.first_metadata(&self.candidates(issuers, held)?)?;
        Ok(Discovered {
            metadata,
            wants_dpop: demand.wants_dpop
                || resource.dpop_bound_access_tokens_required == Some(true),
            resource: resource.resource,
            resource_metadata: demand.resource_metadata.clone(),
            scopes_supported: resource.scopes_supported,
            is_old: false,
        })
    }

    /// The authorization servers to try, in order: at least one of those that the server names.
    fn candidates<'b>(&self, issuers: &'b [String], held: Option<&Tokens>) -> Result<Vec<&'b str>> {
        let is_own = |issuer: &str| held.is_some_and(|held| is_same_issuer(&held.issuer, issuer));
        let own = issuers.iter().find(|issuer| is_own(issuer));
        // Tokens that can be renewed are renewed by their issuer only: while it is out of reach
        // nobody has to log in elsewhere.
        if let (Some(own), true) = (own, held.is_some_and(|held| held.refresh.is_some())) {
            return Ok(vec![own]);
        }
        let mut usable = Vec::new();
        for issuer in issuers {
            if self.may_be_asked(issuer)? {
                usable.push(&**issuer);
            }
        }
        // A stable sort: otherwise the order of the server stays.
        usable.sort_by_key(|issuer| (!is_own(issuer), !self.is_registered_with(issuer)));
        if usable.is_empty() {
            // The client is registered elsewhere, and the error says so.
            usable.push(&issuers[0]);
        }
        Ok(usable)
    }

    /// The metadata of the first authorization server that has some.
    fn first_metadata(&self, candidates: &[&str]) -> Result<ServerMetadata> {
        let mut failed: Option<Error> = None;
        for issuer in candidates {
            match self.server_metadata(issuer) {
                Err(error) if error.kind() != ErrorKind::Cancelled => {
                    failed = Some(match failed.take() {
                        Some(first) => first.remark(format_args!("the next one: {error}")),
                        None => error,
                    });
                }
                Ok(found) => {
                    if let Some(error) = failed {
                        self.log(&format!("'{issuer}' authorizes instead: {error}"));
                    }
                    return Ok(found);
                }
                Err(cancelled) => return Err(cancelled),
            }
        }
        Err(failed.expect("there is at least one candidate"))
    }

    /// What the server says of itself; nothing when it has nothing to say.
    fn resource_metadata(&self, demand: &Demand) -> Result<Option<ResourceMetadata>> {
        const WHAT: &str = "the metadata of the server";
        let place = demand.resource_metadata.as_deref();
        if let Some(place) = place.filter(|place| !place.is_empty()) {
            let what = "the resource_metadata of the challenge";
            let url = self.server.join(what, place)?;
            url.check_secure(what)?;
            return match self.look(WHAT, &url, &[])? {
                Found::Document(found) => Ok(Some(found)),
                Found::Nothing(error) | Found::Other(error) => Err(error),
            };
        }
        let mut other = None;
        for place in resource_places(self.server) {
            let url = Url::read_secure(WHAT, &place)?;
            match self.look(WHAT, &url, &[])? {
                Found::Document(found) => return Ok(Some(found)),
                Found::Nothing(_) => {}
                Found::Other(error) => _ = other.get_or_insert(error),
            }
        }
        other.map_or(Ok(None), Err)
    }

    /// What the authorization server says of itself.
    pub(super) fn server_metadata(&self, issuer: &str) -> Result<ServerMetadata> {
        const WHAT: &str = "the metadata of the authorization server";
        let own = Url::read_secure("the authorization server", issuer)?;
        if own.query().is_some() {
            let text = format!("the authorization server '{}' has a query", own.shown());
            return Err(Error::new(ErrorKind::Auth, text));
        }
        let places = server_places(&own);
        // Some hosts have the metadata of one issuer under the names of all.
        let mut foreign = None;
        for place in &places {
            let url = Url::read_secure(WHAT, place)?;
            let error = match self.look::<ServerMetadata>(WHAT, &url, &[])? {
                Found::Document(found) => match found.check_issuer(issuer) {
                    Ok(()) => return Ok(found),
                    Err(error) => error,
                },
                Found::Nothing(_) => continue,
                Found::Other(error) => error,
            };
            foreign.get_or_insert(error);
        }
        if let Some(error) = foreign {
            return Err(error);
        }
        let text = format!(
            "the authorization server '{}' has no metadata: there is none at {}",
            own.shown(),
            places.join(", ")
        );
        Err(Error::new(ErrorKind::Auth, text))
    }

    /// A server that says nothing of itself may be one of the first revision with authorization, which did it themselves.
    fn discover_old(&self) -> Result<Discovered> {
        const WHAT: &str = "the metadata of the server as an authorization server";
        let base = base_of_old(self.server);
        let place = format!("{base}/.well-known/oauth-authorization-server");
        let url = Url::read_secure(WHAT, &place)?;
        let fields = [("mcp-protocol-version", OLD)];
        let metadata = match self.look::<ServerMetadata>(WHAT, &url, &fields)? {
            Found::Document(found) => {
                found.check_issuer(&base)?;
                found
            }
            Found::Nothing(_) => ServerMetadata::by_default(&base),
            Found::Other(error) => return Err(error),
        };
        Ok(Discovered {
            resource: self.server.canonical(),
            resource_metadata: None,
            scopes_supported: None,
            wants_dpop: false,
            metadata,
            is_old: true,
        })
    }

    /// Looks whether there is a document. What says that there is none, and pages for people, are
    /// none; what has no time or can't be reached is an error.
    fn look<T: DeserializeOwned>(
        &self,
        what: &str,
        url: &Url,
        fields: &[(&str, &str)],
    ) -> Result<Found<T>> {
        let answer = self.fetcher.get(what, url, fields)?;
        match answer.status {
            200..=299 => {}
            // It had no time.
            status @ (408 | 429 | 500..) => return Err(not_there(what, url, status)),
            status => return Ok(Found::Nothing(not_there(what, url, status))),
        }
        let kind = answer.field("content-type").unwrap_or_default();
        let is_page = kind.to_ascii_lowercase().contains("html");
        Ok(match (answer.has_object(), answer.json(what, url)) {
            (true, Ok(document)) => Found::Document(document),
            (true, Err(error)) => Found::Other(error),
            (false, Err(error)) if !is_page => Found::Nothing(error),
            (false, _) => Found::Nothing(not_there(what, url, answer.status)),
        })
    }
}

fn not_there(what: &str, url: &Url, status: u16) -> Error {
    let why = match status {
        300..=399 => "a redirect, which is not followed",
        200..=299 => "a page, no document",
        _ => "no document",
    };
    let text = format!(
        "{what} is not at '{}': it answered {status}, {why}",
        url.shown()
    );
    Error::new(ErrorKind::Auth, text)
}
