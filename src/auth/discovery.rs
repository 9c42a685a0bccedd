//! Discovery of an MCP server's authorization server, and of the metadata of the authorization
//! server.
//!
//! ```text
//!  challenge's resource_metadata,
//!  or /.well-known/oauth-protected-resource{/path},
//!  or /.well-known/oauth-protected-resource                 ──▶ issuer
//!        none found ──▶ as in 2025-03-26: the server itself, or default endpoints
//!  issuer ──▶ /.well-known/oauth-authorization-server, or openid-configuration  ──▶ its metadata
//! ```
//!
//! Spec: Authorization, "Authorization Server Discovery" (2025-06-18 and later), "Server Metadata
//! Discovery" (2025-03-26).

use serde::de::DeserializeOwned;

use super::discovered::{Discovered, OLD};
use super::flow_context::FlowContext;
use super::http_url::HttpUrl;
use super::metadata::{
    ResourceMetadata, ServerMetadata, base_of_old, is_same_issuer, resource_places, server_places,
};
use super::token::Tokens;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::http::challenge::Demand;
use crate::transport::http::tell_wait;

/// The result of fetching a document.
enum Fetched<T> {
    Document(T),
    /// The server does not have the document. The error contains the reason: an error status, or an
    /// HTML page.
    Nothing(Error),
    /// The server returned a JSON object that is not the expected document. The document may be at
    /// another URL.
    Other(Error),
}

impl FlowContext<'_> {
    /// Discovers the authorization server of the MCP server. `held` are the tokens that will be
    /// renewed or replaced.
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

    /// Selects the authorization servers to try from the `issuers` that the MCP server names.
    /// Returns a list with the preferred server first. The list is never empty.
    fn candidates<'b>(&self, issuers: &'b [String], held: Option<&Tokens>) -> Result<Vec<&'b str>> {
        let is_own = |issuer: &str| held.is_some_and(|held| is_same_issuer(&held.issuer, issuer));
        let own = issuers.iter().find(|issuer| is_own(issuer));
        // Tokens with a refresh token are renewed by their issuer only. So a temporary failure of
        // the issuer does not lead to a login elsewhere.
        if let (Some(own), true) = (own, held.is_some_and(|held| held.refresh.is_some())) {
            return Ok(vec![own]);
        }
        let mut usable = Vec::new();
        for issuer in issuers {
            if self.may_be_asked(issuer)? {
                usable.push(&**issuer);
            }
        }
        // The sort is stable: apart from these preferences, the order of the server is preserved.
        usable.sort_by_key(|issuer| (!is_own(issuer), !self.is_registered_with(issuer)));
        if usable.is_empty() {
            // The client is registered elsewhere; a later step reports that.
            usable.push(&issuers[0]);
        }
        Ok(usable)
    }

    /// Returns the metadata of the first authorization server whose metadata can be fetched.
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

    /// Fetches the resource metadata of the MCP server. Returns `None` if the server has no
    /// metadata.
    fn resource_metadata(&self, demand: &Demand) -> Result<Option<ResourceMetadata>> {
        const WHAT: &str = "the metadata of the server";
        let place = demand.resource_metadata.as_deref();
        if let Some(place) = place.filter(|place| !place.is_empty()) {
            let what = "the resource_metadata of the challenge";
            let url = self.server.join(what, place)?;
            url.check_secure(what)?;
            return match self.look(WHAT, &url, &[])? {
                Fetched::Document(found) => Ok(Some(found)),
                Fetched::Nothing(error) | Fetched::Other(error) => Err(error),
            };
        }
        let mut other = None;
        for place in resource_places(self.server) {
            let url = HttpUrl::read_secure(WHAT, &place)?;
            match self.look(WHAT, &url, &[])? {
                Fetched::Document(found) => return Ok(Some(found)),
                Fetched::Nothing(_) => {}
                Fetched::Other(error) => _ = other.get_or_insert(error),
            }
        }
        other.map_or(Ok(None), Err)
    }

    /// Fetches the metadata of an authorization server.
    pub(super) fn server_metadata(&self, issuer: &str) -> Result<ServerMetadata> {
        const WHAT: &str = "the metadata of the authorization server";
        let own = HttpUrl::read_secure("the authorization server", issuer)?;
        if own.query().is_some() {
            let text = format!("the authorization server '{}' has a query", own.shown());
            return Err(Error::new(ErrorKind::Auth, text));
        }
        let places = server_places(&own);
        // Some servers return the metadata of one issuer at the metadata URLs of all issuers.
        let mut foreign = None;
        for place in &places {
            let url = HttpUrl::read_secure(WHAT, place)?;
            let error = match self.look::<ServerMetadata>(WHAT, &url, &[])? {
                Fetched::Document(found) => match found.check_issuer(issuer) {
                    Ok(()) => return Ok(found),
                    Err(error) => error,
                },
                Fetched::Nothing(_) => continue,
                Fetched::Other(error) => error,
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

    /// Discovers the authorization server as in 2025-03-26: an MCP server without resource metadata
    /// may be its own authorization server.
    fn discover_old(&self) -> Result<Discovered> {
        const WHAT: &str = "the metadata of the server as an authorization server";
        let base = base_of_old(self.server);
        let place = format!("{base}/.well-known/oauth-authorization-server");
        let url = HttpUrl::read_secure(WHAT, &place)?;
        let fields = [("mcp-protocol-version", OLD)];
        let metadata = match self.look::<ServerMetadata>(WHAT, &url, &fields)? {
            Fetched::Document(found) => {
                found.check_issuer(&base)?;
                found
            }
            Fetched::Nothing(_) => ServerMetadata::by_default(&base),
            Fetched::Other(error) => return Err(error),
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

    /// Fetches a document. HTML pages and most error statuses mean that the document does not
    /// exist. Statuses such as 429 and 503, and failed connections, are errors.
    fn look<T: DeserializeOwned>(
        &self,
        what: &str,
        url: &HttpUrl,
        fields: &[(&str, &str)],
    ) -> Result<Fetched<T>> {
        let answer = self.fetcher.get(what, url, fields)?;
        match answer.status {
            200..=299 => {}
            // The failure is temporary: the document may exist.
            status @ (408 | 425 | 429 | 500..) => {
                return Err(tell_wait(not_there(what, url, status), &answer.fields));
            }
            status => return Ok(Fetched::Nothing(not_there(what, url, status))),
        }
        let kind = answer.field("content-type").unwrap_or_default();
        let is_page = kind.to_ascii_lowercase().contains("html");
        Ok(match (answer.has_object(), answer.json(what, url)) {
            (true, Ok(document)) => Fetched::Document(document),
            (true, Err(error)) => Fetched::Other(error),
            (false, Err(error)) if !is_page => Fetched::Nothing(error),
            (false, _) => Fetched::Nothing(not_there(what, url, answer.status)),
        })
    }
}

fn not_there(what: &str, url: &HttpUrl, status: u16) -> Error {
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
