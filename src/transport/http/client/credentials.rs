//! Calls the authorizer before and after a request of the client.

use std::sync::Arc;

use ureq::http::Uri;
use ureq::http::response::Parts;

use super::request::Ask;
use super::transport::ClientTransport;
use crate::error::{Error, Result};
use crate::transport::exchange_transport::CancelHandle;
use crate::transport::http::authorizer::{
    Authorizer, AuthorizerDecision, CredentialWait, Credentials, MAX_ATTEMPTS, OutgoingRequest,
    ResponseFields,
};

impl ClientTransport {
    /// Calls the function `with`, and passes the authorizer and a description of the request. If
    /// the client has no authorizer, returns `None` without a call.
    fn shown_to_authorizer<R>(
        &self,
        ask: &Ask<'_>,
        uri: &Uri,
        attempt: u32,
        with: impl FnOnce(&dyn Authorizer, &OutgoingRequest<'_>) -> R,
    ) -> Option<R> {
        let authorizer = self.http.authorizer.as_deref()?;
        let (url, server) = (self.http.url_text(uri), self.http.url_text(&self.http.url));
        let request = OutgoingRequest {
            method: ask.method.as_str(),
            url: &url,
            server: &server,
            body: ask.body,
            attempt,
            is_last: self.state.lock().closed,
        };
        Some(with(authorizer, &request))
    }

    /// Returns the credentials for one request. Blocks while the authorizer obtains credentials.
    pub(super) fn credentials(
        &self,
        ask: &Ask<'_>,
        uri: &Uri,
        attempt: u32,
        cancel_handle: &Arc<CancelHandle>,
    ) -> Result<Credentials> {
        let waiting = CredentialWait::new(Arc::clone(cancel_handle), self.threads.clone());
        let given = self.shown_to_authorizer(ask, uri, attempt, |authorizer, request| {
            authorizer.authorize(request, &waiting)
        });
        given.unwrap_or_else(|| Ok(Credentials::none()))
    }

    /// Tells the authorizer that the server accepted the credentials. Does nothing if the client
    /// has no authorizer.
    pub(super) fn was_accepted(
        &self,
        ask: &Ask<'_>,
        uri: &Uri,
        head: &Parts,
        credentials: &Credentials,
    ) {
        let response = ResponseFields {
            status: head.status.as_u16(),
            fields: &head.headers,
            mark: credentials.mark(),
        };
        self.shown_to_authorizer(ask, uri, 0, |authorizer, request| {
            authorizer.accepted(request, &response);
        });
    }

    /// Whether to send a refused request again. The authorizer decides, but the number of attempts
    /// is limited.
    pub(super) fn tries_again(
        &self,
        ask: &Ask<'_>,
        uri: &Uri,
        attempt: u32,
        response: &ResponseFields<'_>,
        error: &Error,
        cancel_handle: &Arc<CancelHandle>,
    ) -> Result<bool> {
        if !matches!(response.status, 401 | 403) || attempt + 1 >= MAX_ATTEMPTS {
            return Ok(false);
        }
        let waiting = CredentialWait::new(Arc::clone(cancel_handle), self.threads.clone());
        let next = self.shown_to_authorizer(ask, uri, attempt, |authorizer, request| {
            authorizer.refused(request, response, &waiting)
        });
        match next {
            None | Some(Ok(AuthorizerDecision::GiveUp)) => Ok(false),
            Some(Ok(AuthorizerDecision::Again)) => Ok(true),
            Some(Err(other)) => Err(other.sent(true).answered_like(error)),
        }
    }
}
