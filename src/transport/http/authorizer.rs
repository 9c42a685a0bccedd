//! The interface that provides the credentials of requests, and decides about requests that the
//! server refused.
//!
//! ```text
//!  authorize ──▶ sent ──▶ success: accepted
//!      ▲            ╲──▶ 401, 403: refused ──▶ give up: the call fails with the server's answer
//!      ╰────────────────────────── again ╯
//! ```
//!
//! Spec: Base Protocol, "Authorization" (2025-03-26 and later); RFC 9110, section 11.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::sync::Mutex;
use crate::transport::Threads;
use crate::transport::exchange_transport::{CancelHandle, NextCheck};

/// Provides the credentials of requests, and new credentials when the server refuses the old ones.
///
/// All methods run on the thread that sends the request, possibly on several threads at once. A
/// method that blocks must return when [`CredentialWait`] is over. `auth::OAuth` (feature `auth`)
/// implements this trait; [`Http::bearer_with`](super::Http::bearer_with) makes an authorizer from
/// a function.
pub trait Authorizer: Send + Sync {
    /// Returns the credentials for one request. The method is called each time the request is sent,
    /// also when the request is sent again.
    ///
    /// # Errors
    ///
    /// When the method fails, the request is not sent, and fails with the same error.
    fn authorize(
        &self,
        request: &OutgoingRequest<'_>,
        waiting: &CredentialWait,
    ) -> Result<Credentials>;

    /// Decides about a request that the server refused with 401 or 403. To send the request again,
    /// return [`AuthorizerDecision::Again`]; [`authorize`](Self::authorize) then provides new
    /// credentials. A request is sent at most [`MAX_ATTEMPTS`] times. By default the request fails.
    ///
    /// # Errors
    ///
    /// When the method fails, the request fails with the returned error instead of the server's
    /// answer.
    fn refused(
        &self,
        request: &OutgoingRequest<'_>,
        response: &ResponseFields<'_>,
        waiting: &CredentialWait,
    ) -> Result<AuthorizerDecision> {
        _ = (request, response, waiting);
        Ok(AuthorizerDecision::GiveUp)
    }

    /// Returns a number that identifies the credentials for the server. The number must change when
    /// the identity or scope of the credentials may have changed. A change invalidates the client's
    /// cache. Returns 0 by default. Must not block.
    fn generation(&self, server: &str) -> u64 {
        _ = server;
        0
    }

    /// Notifies the authorizer that the server accepted the credentials of a request. Does nothing
    /// by default. Must not block.
    fn accepted(&self, request: &OutgoingRequest<'_>, response: &ResponseFields<'_>) {
        _ = (request, response);
    }
}

impl<A: Authorizer + ?Sized> Authorizer for Arc<A> {
    fn authorize(
        &self,
        request: &OutgoingRequest<'_>,
        waiting: &CredentialWait,
    ) -> Result<Credentials> {
        (**self).authorize(request, waiting)
    }

    fn refused(
        &self,
        request: &OutgoingRequest<'_>,
        response: &ResponseFields<'_>,
        waiting: &CredentialWait,
    ) -> Result<AuthorizerDecision> {
        (**self).refused(request, response, waiting)
    }

    fn generation(&self, server: &str) -> u64 {
        (**self).generation(server)
    }

    fn accepted(&self, request: &OutgoingRequest<'_>, response: &ResponseFields<'_>) {
        (**self).accepted(request, response);
    }
}

/// The maximum number of times that a request is sent. At the limit, the decision
/// [`AuthorizerDecision::Again`] has no effect, and the request fails.
pub const MAX_ATTEMPTS: u32 = 6;

/// The decision about a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorizerDecision {
    /// The refused request is sent again.
    Again,
    /// The refused request fails.
    GiveUp,
}

/// The parts of an HTTP request that an [`Authorizer`] needs. They describe a request to send, or a
/// request that was sent.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct OutgoingRequest<'a> {
    /// The HTTP method of the request: `POST`, `GET` or `DELETE`.
    pub method: &'a str,
    /// The URL of the request: the server's URL, or another URL of the same origin that the server
    /// has sent.
    pub url: &'a str,
    /// The URL of the server with which the transport was created.
    pub server: &'a str,
    /// The JSON-RPC message in the body of a `POST`. Empty for other methods.
    pub body: &'a [u8],
    /// The number of times that the server has already refused this request.
    pub attempt: u32,
    /// Whether the client's connection is being closed. If so, return existing credentials, and
    /// don't request new ones.
    pub is_last: bool,
}

impl fmt::Debug for OutgoingRequest<'_> {
    /// Formats the request without its URL and its body, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingRequest")
            .field("method", &self.method)
            .field("attempt", &self.attempt)
            .field("is_last", &self.is_last)
            .finish_non_exhaustive()
    }
}

/// The header fields with the credentials of one request. Debug output and errors do not show the
/// values.
///
/// # Examples
///
/// ```
/// use mcplink::Result;
/// use mcplink::transport::http::{Authorizer, CredentialWait, Credentials, OutgoingRequest};
///
/// struct Tenant(String);
///
/// impl Authorizer for Tenant {
///     fn authorize(&self, _: &OutgoingRequest<'_>, _: &CredentialWait) -> Result<Credentials> {
///         Credentials::bearer(&self.0)?.field("x-tenant", "acme")
///     }
/// }
/// ```
#[derive(Clone, Default)]
pub struct Credentials {
    pub(super) fields: Vec<(HeaderName, HeaderValue)>,
    mark: u64,
}

impl Credentials {
    /// Creates empty credentials.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates credentials with the field `Authorization: Bearer …` (RFC 6750).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the token has characters that HTTP does not allow. The error
    /// does not show the token.
    pub fn bearer(token: &str) -> Result<Self> {
        Self::none().field("authorization", &format!("Bearer {token}"))
    }

    /// Adds a header field to the credentials.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the name or the value has characters that HTTP does not allow.
    /// The error does not show the value.
    pub fn field(mut self, name: &str, value: &str) -> Result<Self> {
        let Ok(parsed) = HeaderName::from_bytes(name.as_bytes()) else {
            let text = format!("'{}' can't be the name of a header field", Excerpt(name));
            return Err(Error::new(ErrorKind::Invalid, text));
        };
        let Ok(mut value) = HeaderValue::from_str(value) else {
            let text =
                format!("the token in '{name}' has characters that a header field can't have");
            return Err(Error::new(ErrorKind::Invalid, text));
        };
        value.set_sensitive(true);
        self.fields.push((parsed, value));
        Ok(self)
    }

    /// Marks the credentials with a number that the authorizer chooses. [`ResponseFields::mark`] of
    /// the response returns the same number.
    pub fn marked(mut self, mark: u64) -> Self {
        self.mark = mark;
        self
    }

    pub(super) fn mark(&self) -> u64 {
        self.mark
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.fields.iter().map(|(name, _)| name.as_str());
        f.debug_struct("Credentials")
            .field("fields", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// The status and the header fields of a server's response.
#[derive(Clone, Copy)]
pub struct ResponseFields<'a> {
    pub(super) status: u16,
    pub(super) fields: &'a HeaderMap,
    pub(super) mark: u64,
}

impl<'a> ResponseFields<'a> {
    /// Returns the status code of the response.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns all values of a header field that are valid UTF-8. Values may contain characters
    /// beyond ASCII, because some servers give reasons in the language of their users.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let values = self.fields.get_all(name).into_iter();
        values.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
    }

    /// Returns the number that the request's credentials were [marked](Credentials::marked) with.
    pub fn mark(&self) -> u64 {
        self.mark
    }
}

impl fmt::Debug for ResponseFields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFields")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// The wait of a call for credentials. The wait ends when the call is cancelled, its connection is
/// closed, or its timeout has passed.
#[derive(Clone, Debug)]
pub struct CredentialWait {
    cancel_handle: Arc<CancelHandle>,
    #[cfg_attr(
        not(feature = "auth"),
        allow(dead_code, reason = "logins start threads")
    )]
    threads: Threads,
}

impl CredentialWait {
    pub(crate) fn new(cancel_handle: Arc<CancelHandle>, threads: Threads) -> Self {
        Self {
            cancel_handle,
            threads,
        }
    }

    /// Returns the settings for threads that are started on behalf of the waiting call.
    #[cfg(feature = "auth")]
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Whether the wait is over.
    pub fn is_over(&self) -> bool {
        self.cancel_handle.look(Instant::now()) == NextCheck::Over
    }

    /// Returns the deadline of the wait. Returns `None` if the wait has no time limit.
    pub fn deadline(&self) -> Option<Instant> {
        match self.cancel_handle.look(Instant::now()) {
            NextCheck::Never => None,
            NextCheck::At(at) => Some(at),
            NextCheck::Over => Some(Instant::now()),
        }
    }

    /// Blocks until the time `until`. Returns false if the wait ended before that time.
    pub fn pause(&self, until: Instant) -> bool {
        self.cancel_handle.pause(until)
    }

    /// Registers `wake`, which runs once when the wait is over, on any thread. If the wait is over
    /// already, `wake` runs at once. Dropping the returned guard removes `wake`. Only one callback
    /// can be registered at a time. `wake` must not block.
    pub fn on_over(&self, wake: impl FnOnce() + Send + 'static) -> CredentialWaitGuard<'_> {
        let wake = Arc::new(wake_once(wake));
        let brake = Arc::clone(&wake);
        if !self.cancel_handle.engage(move || brake()) {
            wake();
        }
        CredentialWaitGuard(&self.cancel_handle)
    }

    /// Sets whether a user is being asked, for example to log in. While a user is asked, the
    /// timeout of the call does not run. The call's `max_timeout` still applies.
    pub fn while_person_is_asked(&self, is_asked: bool) {
        self.cancel_handle.hold(is_asked, Instant::now());
    }
}

/// Makes a function that runs `wake` when it is called for the first time. Later calls do nothing.
fn wake_once(wake: impl FnOnce() + Send + 'static) -> impl Fn() + Send + Sync + 'static {
    let wake = Mutex::new(Some(wake));
    move || {
        if let Some(wake) = wake.lock().take() {
            wake();
        }
    }
}

/// The registration of a callback for the end of a [`CredentialWait`]. Dropping the registration
/// removes the callback.
#[derive(Debug)]
pub struct CredentialWaitGuard<'a>(&'a CancelHandle);

impl Drop for CredentialWaitGuard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// An authorizer that gets bearer tokens from a function of the host application.
pub(super) struct Bearer<F>(pub(super) F);

impl<F: Fn() -> Result<String> + Send + Sync> Authorizer for Bearer<F> {
    fn authorize(&self, _: &OutgoingRequest<'_>, _: &CredentialWait) -> Result<Credentials> {
        let token = (self.0)().map_err(|error| error.context("no token for the request"))?;
        Credentials::bearer(&token)
    }
}
