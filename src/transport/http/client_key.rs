//! The key of the client that a request is accounted to. Limits are divided among clients.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::shares::Client;

/// The key of the client that a request is accounted to. Limits are divided among clients.
///
/// An authenticated principal is one client. Without a principal, each network address is one
/// client, and each session at an address is one too. Sessions at one address share the limits of
/// the address. Therefore opening sessions does not turn one address into many clients.
///
/// # Examples
///
/// ```
/// use std::net::IpAddr;
///
/// use mcplink::transport::http::ClientKey;
///
/// // For `Service::client`: the requests of a user count together, from all addresses.
/// fn client(user: Option<&str>, address: ClientKey) -> ClientKey {
///     user.map_or(address, ClientKey::principal)
/// }
/// let address = ClientKey::address(Some(IpAddr::from([192, 0, 2, 7])));
/// assert_eq!(client(None, address.clone()), address);
/// assert_eq!(client(Some("ada"), address), ClientKey::principal("ada"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    group: Client,
    own: Client,
}

impl ClientKey {
    /// Returns the key of the client at a network address. Only the first 64 bits of an IPv6
    /// address count. All requests without an address belong to one client.
    pub fn address(address: Option<IpAddr>) -> Self {
        Self::of(address.map_or(Client::Connection(0), Client::at))
    }

    /// Returns the key of the client for an authenticated principal. `name` identifies the
    /// principal.
    pub fn principal(name: impl Into<Arc<str>>) -> Self {
        Self::of(Client::Principal(name.into()))
    }

    /// Returns the key of one session of this client. `id` is the id of the session.
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

    /// Returns the principal of the client, or its address if there is no principal.
    pub(crate) fn group(&self) -> &Client {
        &self.group
    }

    /// Returns the principal of the client. Without a principal, returns the session. Without a
    /// session, returns the address.
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
