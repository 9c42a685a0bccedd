//! The authenticated sender of requests, and its permissions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use crate::shares::Client;

/// The principal on whose behalf requests are sent, with its scopes and expiry.
///
/// A principal is created by the authorization of HTTP requests
/// ([`HttpOptions::authorization`](crate::server::http::HttpOptions::authorization),
/// [`HttpOptions::authenticate`](crate::server::http::HttpOptions::authenticate)), or by a host
/// that serves a connection for a user ([`Server::open_for`](crate::server::Server::open_for)).
///
/// # Examples
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use mcplink::server::{Principal, Server};
/// use mcplink::transport::memory;
///
/// let ada = Principal::new("ada")
///     .scopes(["files:read files:write"])
///     .expires_at(SystemTime::now() + Duration::from_secs(3600));
/// assert!(ada.has_scope("files:read"));
/// let (here, there) = memory::pair();
/// let connection = Server::builder("files", "1.0").build()?.open_for(ada, there)?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal(Arc<Known>);

/// The shared data of a principal. Every active request, session and connection has a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    name: Arc<str>,
    scopes: Option<BTreeSet<String>>,
    expires_at: Option<SystemTime>,
}

impl Principal {
    /// Creates a principal with this unique name. Sessions, tasks and sealed states are bound to
    /// the name, so two users must never share a name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(Known {
            name: name.into(),
            scopes: None,
            expires_at: None,
        }))
    }

    /// Sets the granted scopes. Each text has one scope or several scopes separated by blanks, as
    /// in tokens. By default the granted scopes are unknown.
    pub fn scopes<S: AsRef<str>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        Arc::make_mut(&mut self.0).scopes = Some(scope_set(scopes));
        self
    }

    /// Sets when the authentication expires. Defaults to never.
    ///
    /// Over HTTP, open streams send nothing after the expiry, with a delay of up to about a minute.
    /// On other transports the host must close the connection itself.
    pub fn expires_at(mut self, when: SystemTime) -> Self {
        Arc::make_mut(&mut self.0).expires_at = Some(when);
        self
    }

    /// Returns the unique name of the principal.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the client that requests of this principal count for, when limits are shared among
    /// clients.
    pub(crate) fn client(&self) -> Client {
        Client::Principal(Arc::clone(&self.0.name))
    }

    /// Returns the granted scopes, including implied scopes; `None` if they are unknown.
    pub fn granted(&self) -> Option<&BTreeSet<String>> {
        self.0.scopes.as_ref()
    }

    /// Whether a scope was granted.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.granted().is_some_and(|scopes| scopes.contains(scope))
    }

    /// Returns when the authentication expires; `None` if the authentication never expires.
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

/// Parses lists of scopes, in which blanks separate the scopes.
pub(crate) fn scope_set<S: AsRef<str>>(lists: impl IntoIterator<Item = S>) -> BTreeSet<String> {
    let mut scopes = BTreeSet::new();
    for list in lists {
        let names = list.as_ref().split_ascii_whitespace();
        scopes.extend(names.map(str::to_owned));
    }
    scopes
}
