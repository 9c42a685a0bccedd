//! The authorization server of an MCP server, with its metadata.
//!
//! Spec: Authorization, "Scope Selection Strategy", "Authorization Code Protection" (2025-03-26 and
//! later).

use std::collections::BTreeSet;

use super::metadata::ServerMetadata;
use crate::error::{Error, Result};
use crate::transport::http::challenge::Demand;

/// The protocol revision in which an MCP server is its own authorization server.
pub(super) const OLD: &str = "2025-03-26";

/// The result of a discovery: the authorization server and its metadata.
#[derive(Clone, Debug)]
pub(super) struct Discovered {
    /// The resource identifier of the MCP server, as sent in token requests.
    pub(super) resource: String,
    /// The URL of the MCP server's metadata, if a challenge of the server names this URL.
    pub(super) resource_metadata: Option<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
    pub(super) wants_dpop: bool,
    pub(super) metadata: ServerMetadata,
    /// Whether the MCP server is its own authorization server, as in 2025-03-26.
    pub(super) is_old: bool,
}

impl Discovered {
    pub(super) fn issuer(&self) -> &str {
        &self.metadata.issuer
    }

    /// Adds a remark to an error if the MCP server was assumed to be its own authorization server,
    /// as in 2025-03-26. Returns other errors unchanged.
    pub(super) fn explain(&self, error: Error) -> Error {
        if !self.is_old {
            return error;
        }
        let text = format!(
            "the server has no metadata (oauth-protected-resource), so it was taken for its own authorization server, as in {OLD}"
        );
        error.remark(text)
    }

    /// Returns the scopes to request from the authorization server.
    ///
    /// If the MCP server demands scopes, returns these and the scopes that the host application set
    /// (`wanted`). If the server demands none, returns `wanted`. The scopes that were requested
    /// `before` are always added. If the server demands none, `wanted` is `None`, and the scopes of
    /// `before` are empty or did not suffice, returns all scopes that the MCP server supports.
    /// `offline` adds the scope `offline_access`, if the authorization server supports that scope.
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

    /// Checks that the authorization server protects authorization codes (PKCE).
    pub(super) fn check_pkce(&self) -> Result<()> {
        let says_nothing = self.metadata.code_challenge_methods_supported.is_none();
        // 2025-03-26 requires PKCE of every server, but no server had to announce it.
        if self.is_old && says_nothing {
            return Ok(());
        }
        self.metadata.check_pkce()
    }
}

/// The scope for access while the user is away. Some authorization servers issue refresh tokens
/// only with this scope.
pub(super) const OFFLINE: &str = "offline_access";
