//! Which client sends a request: the one whose share of a limit the request takes.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::shares::Client;

/// The client whose share of a limit a request takes.
///
/// A client is an authenticated principal, or else a network address, or else a session at an
/// address. Sessions at one address share what their address may have: an address does not become
/// many clients by opening sessions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    group: Client,
    own: Client,
}

impl ClientKey {
    /// The client at an address. Of an IPv6 address only the first 64 bits count. Without an
    /// address it is one client with all others without one.
    pub fn address(address: Option<IpAddr>) -> Self {
        Self::of(address.map_or(Client::Connection(0), Client::at))
    }

    /// A client that was authenticated, by its unique name.
    pub fn principal(name: impl Into<Arc<str>>) -> Self {
        Self::of(Client::Principal(name.into()))
    }

    /// The session of this client that has this id.
    pub fn session(self, id: impl Into<Arc<str>>) -> Self {
        Self {
            own: Client::Session(id.into()),
            ..self
        }
    }

    pub(crate) fn of(client: Client) -> Self {
        Self {
            group: client.clone(),
            own: client,
        }
    }

    /// The principal or address.
    pub(crate) fn group(&self) -> &Client {
        &self.group
    }

    /// The principal, session or address.
    pub(crate) fn own(&self) -> &Client {
        &self.own
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The id of a session is a secret.
        f.debug_struct("ClientKey")
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}
