//! The client that a request is accounted to when limits are shared.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::shares::Client;

/// The client that a request is accounted to when limits are shared.
///
/// An authenticated principal is one client. Without a principal, a network address is one client,
/// or a session at an address is. Sessions at one address share the limits of the address. So
/// opening sessions does not turn one address into many clients.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    group: Client,
    own: Client,
}

impl ClientKey {
    /// Returns the client at an address. Only the first 64 bits of an IPv6 address count. All
    /// requests without an address belong to one client.
    pub fn address(address: Option<IpAddr>) -> Self {
        Self::of(address.map_or(Client::Connection(0), Client::at))
    }

    /// Returns the client for an authenticated principal, by its unique name.
    pub fn principal(name: impl Into<Arc<str>>) -> Self {
        Self::of(Client::Principal(name.into()))
    }

    /// Returns the key of a session of this client, by the session's id.
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

    /// Returns the principal or address of the client.
    pub(crate) fn group(&self) -> &Client {
        &self.group
    }

    /// Returns the principal, session or address of the client.
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
