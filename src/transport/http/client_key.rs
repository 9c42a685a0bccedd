//! The client that a request is accounted to, when limits are shared.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::shares::Client;

/// The client that a request is accounted to, when limits are shared.
///
/// A client is an authenticated principal, or else a network address, or else a session at an
/// address. Sessions at one address share the part of the address, so an address does not become
/// many clients by opening sessions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    group: Client,
    own: Client,
}

impl ClientKey {
    /// The client at an address. Only the first 64 bits of an IPv6 address count. All requests
    /// without an address belong to one client.
    pub fn address(address: Option<IpAddr>) -> Self {
        Self::of(address.map_or(Client::Connection(0), Client::at))
    }

    /// An authenticated client, by its unique name.
    pub fn principal(name: impl Into<Arc<str>>) -> Self {
        Self::of(Client::Principal(name.into()))
    }

    /// The session with this id, of this client.
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

    /// Returns the principal or address.
    pub(crate) fn group(&self) -> &Client {
        &self.group
    }

    /// Returns the principal, session or address.
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
