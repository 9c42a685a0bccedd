//! Finds the client whose share of threads or sessions a request uses.
//!
//! A share belongs to the principal if the principal is known, otherwise to the network address.
//! For threads, each session at one address has a share of its own. Credentials count only if the
//! server accepted them recently, and a session id counts only if the session exists. So made-up
//! credentials give a client neither another client's share nor a new one.

use std::net::IpAddr;

use super::super::options::Access;
use super::super::refusal::token;
use super::Served;
use crate::protocol::principal::Principal;
use crate::shares::Client;
use crate::transport::http::forwarded::client_address;
use crate::transport::http::{ClientKey, HttpRequest};

impl Served {
    /// Returns the client whose share of threads a request uses. The request is not authenticated
    /// yet, so only credentials that were accepted recently count.
    pub(super) fn client(&self, request: &HttpRequest<'_>, address: ClientKey) -> ClientKey {
        if !matches!(self.options.access, Access::Open)
            && let Some(name) = self.verified.find(request)
        {
            return ClientKey::principal(name);
        }
        let of_session = |id: &[u8]| self.sessions.client_of(id, &address);
        let session = match self.old_session_id(request) {
            Some(id) => of_session(id.as_bytes()),
            None => token(request, "Mcp-Session-Id").and_then(of_session),
        };
        session.unwrap_or(address)
    }

    /// Returns the client whose share a request or its session uses. The client is the principal if
    /// there is one, otherwise the network address.
    pub(super) fn owner(&self, request: &HttpRequest<'_>, principal: Option<&Principal>) -> Client {
        if let Some(principal) = principal {
            return principal.client();
        }
        let proxies = self.options.proxies();
        let address = |address: IpAddr| client_address(request, address, proxies);
        let remote = request.remote.map(|remote| address(remote.ip()));
        ClientKey::address(remote).own().clone()
    }
}
