//! Who sends a request, and what that one may do.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use crate::shares::Client;

/// Who sends requests, and what was found out about that one.
///
/// It is made by what checks requests over HTTP
/// ([`HttpOptions::authorization`](crate::server::http::HttpOptions::authorization),
/// [`HttpOptions::authenticate`](crate::server::http::HttpOptions::authenticate)), or by a host that serves a connection on somebody's behalf
/// ([`Server::open_for`](crate::server::Server::open_for)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal(Arc<Known>);

/// Every request that is in hand, every session and every connection has one: what is known stands there once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    name: Arc<str>,
    scopes: Option<BTreeSet<String>>,
    expires_at: Option<SystemTime>,
}

impl Principal {
    /// Somebody who is told from others by this name. Sessions, tasks and sealed states are good for the name that they were made for, so two
    /// users never have the same one.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(Known {
            name: name.into(),
            scopes: None,
            expires_at: None,
        }))
    }

    /// What was granted: names of scopes, or lists of them with blanks between, as tokens have them. Defaults to nothing being known of
    /// scopes.
    pub fn scopes<S: AsRef<str>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        Arc::make_mut(&mut self.0).scopes = Some(scope_set(scopes));
        self
    }

    /// When what was found out is good no longer: over HTTP, streams that stay open tell nothing after it, give or take a minute. Defaults to
    /// never. On other connections the host closes them.
    pub fn expires_at(mut self, when: SystemTime) -> Self {
        Arc::make_mut(&mut self.0).expires_at = Some(when);
        self
    }

    /// By which it is told from others.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The client that shares are counted for.
    pub(crate) fn client(&self) -> Client {
        Client::Principal(Arc::clone(&self.0.name))
    }

    /// What was granted, with what that implies; `None` when nothing is known of scopes.
    pub fn granted(&self) -> Option<&BTreeSet<String>> {
        self.0.scopes.as_ref()
    }

    /// Whether a scope was granted.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.granted().is_some_and(|scopes| scopes.contains(scope))
    }

    /// When it is good no longer, if that is known.
    pub fn expiry(&self) -> Option<SystemTime> {
        self.0.expires_at
    }
}

impl From<&str> for Principal {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for Principal {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

/// The scopes in lists of them, which have blanks between.
pub(crate) fn scope_set<S: AsRef<str>>(lists: impl IntoIterator<Item = S>) -> BTreeSet<String> {
    let mut scopes = BTreeSet::new();
    for list in lists {
        let names = list.as_ref().split_ascii_whitespace();
        scopes.extend(names.map(str::to_owned));
    }
    scopes
}
