//! Who gives requests their credentials, and what happens when the server wants others.
//!
//! ```text
//!  authorize ──▶ sent ──▶ success: accepted
//!      ▲            ╲──▶ 401, 403: refused ──▶ give up: the call fails with what the server said
//!      ╰────────────────────────── again ╯
//! ```
//!
//! Spec: Base Protocol, "Authorization" (2025-03-26 and later); RFC 9110, section 11.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::transport::carrier::{Look, Ticket};
use crate::transport::{Threads, lock};

/// Gives requests their credentials, and finds others when the server refuses them.
///
/// All methods run on the thread that sends the request, possibly on several at once. Whoever blocks in them ends when [`Waiting`] is over.
/// `auth::OAuth` (feature `auth`) is one; [`Http::bearer_with`](super::Http::bearer_with) makes one of a function.
pub trait Authorizer: Send + Sync {
    /// The credentials for one request; asked each time it is sent.
    ///
    /// # Errors
    ///
    /// The request is not sent, and fails with this error.
    fn authorize(&self, request: &Outgoing<'_>, waiting: &Waiting) -> Result<Credentials>;

    /// The server answered 401 or 403. Says whether to send the request again, with credentials that are asked for anew; at most
    /// [`MAX_ATTEMPTS`] times. Does nothing and gives up unless implemented.
    ///
    /// # Errors
    ///
    /// The request fails with this error, instead of with what the server said.
    fn refused(
        &self,
        request: &Outgoing<'_>,
        response: &ResponseFields<'_>,
        waiting: &Waiting,
    ) -> Result<Next> {
        _ = (request, response, waiting);
        Ok(Next::GiveUp)
    }

    /// Another number whenever requests to this server may be let in as somebody else, or to something else, than before: what was kept of
    /// earlier answers is not used then. Always 0 unless implemented. Must not block.
    fn generation(&self, server: &str) -> u64 {
        _ = server;
        0
    }

    /// The server took the credentials. Does nothing unless implemented. Must not block.
    fn accepted(&self, request: &Outgoing<'_>, response: &ResponseFields<'_>) {
        _ = (request, response);
    }
}

impl<A: Authorizer + ?Sized> Authorizer for Arc<A> {
    fn authorize(&self, request: &Outgoing<'_>, waiting: &Waiting) -> Result<Credentials> {
        (**self).authorize(request, waiting)
    }

    fn refused(
        &self,
        request: &Outgoing<'_>,
        response: &ResponseFields<'_>,
        waiting: &Waiting,
    ) -> Result<Next> {
        (**self).refused(request, response, waiting)
    }

    fn generation(&self, server: &str) -> u64 {
        (**self).generation(server)
    }

    fn accepted(&self, request: &Outgoing<'_>, response: &ResponseFields<'_>) {
        (**self).accepted(request, response);
    }
}

/// So often a request is sent at most, however often an [`Authorizer`] says "again".
pub const MAX_ATTEMPTS: u32 = 6;

/// What to do about a request that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// It is sent again.
    Again,
    /// It fails.
    GiveUp,
}

/// A request that is about to be sent, or was, as far as credentials depend on it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Outgoing<'a> {
    /// `POST`, `GET` or `DELETE`.
    pub method: &'a str,
    /// Where it goes: the server's URL, or one of the same origin that the server named.
    pub url: &'a str,
    /// The URL that the server is known by.
    pub server: &'a str,
    /// The JSON-RPC message of a `POST`, else nothing.
    pub body: &'a [u8],
    /// How often it was sent before, and refused.
    pub attempt: u32,
    /// Whether the connection is being closed: what is at hand has to do.
    pub is_last: bool,
}

impl fmt::Debug for Outgoing<'_> {
    /// URL and body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("attempt", &self.attempt)
            .field("is_last", &self.is_last)
            .finish_non_exhaustive()
    }
}

/// Header fields that go with one request. Their values are shown nowhere.
#[derive(Clone, Default)]
pub struct Credentials {
    pub(super) fields: Vec<(HeaderName, HeaderValue)>,
    mark: u64,
}

impl Credentials {
    /// None at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// `Authorization: Bearer …` (RFC 6750).
    ///
    /// # Errors
    ///
    /// As [`field`](Self::field).
    pub fn bearer(token: &str) -> Result<Self> {
        Self::none().field("authorization", &format!("Bearer {token}"))
    }

    /// Adds a field.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when name or value has characters that HTTP does not allow; the value is not told.
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

    /// A number of the authorizer's own, which comes back as [`ResponseFields::mark`].
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

/// Status and header fields of a response.
#[derive(Clone, Copy)]
pub struct ResponseFields<'a> {
    pub(super) status: u16,
    pub(super) fields: &'a HeaderMap,
    pub(super) mark: u64,
}

impl<'a> ResponseFields<'a> {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The values of a field, those of them that are text: UTF-8, since some servers give their reasons in the language of their users.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let values = self.fields.get_all(name).into_iter();
        values.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
    }

    /// What the credentials of the request were [marked](Credentials::marked) with.
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

/// The wait of whoever needs credentials. It ends when its call is cancelled, its connection is closed, or its time is up.
#[derive(Clone, Debug)]
pub struct Waiting {
    ticket: Arc<Ticket>,
    #[cfg_attr(
        not(feature = "auth"),
        allow(dead_code, reason = "logins start threads")
    )]
    threads: Threads,
}

impl Waiting {
    pub(crate) fn new(ticket: Arc<Ticket>, threads: Threads) -> Self {
        Self { ticket, threads }
    }

    /// What threads are like that are started for the one who waits.
    #[cfg(feature = "auth")]
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Whether nobody waits any more.
    pub fn is_over(&self) -> bool {
        self.ticket.look(Instant::now()) == Look::Over
    }

    /// Until when there is time, if that is bounded.
    pub fn deadline(&self) -> Option<Instant> {
        match self.ticket.look(Instant::now()) {
            Look::Never => None,
            Look::At(at) => Some(at),
            Look::Over => Some(Instant::now()),
        }
    }

    /// Waits until a point in time; false when the wait ended before.
    pub fn pause(&self, until: Instant) -> bool {
        self.ticket.pause(until)
    }

    /// Has `wake` run, on any thread, when the wait is over, at once if it is already; until what this returns is dropped. There is one at
    /// a time. It must not block.
    pub fn on_over(&self, wake: impl FnOnce() + Send + 'static) -> OnOver<'_> {
        let wake = Arc::new(wake_once(wake));
        let brake = Arc::clone(&wake);
        if !self.ticket.engage(move || brake()) {
            wake();
        }
        OnOver(&self.ticket)
    }

    /// Says whether a person is being asked at the moment: the time of the call does not run then, up to its `max_timeout`.
    pub fn while_person_is_asked(&self, is_asked: bool) {
        self.ticket.hold(is_asked, Instant::now());
    }
}

/// What may be called twice, and runs once.
fn wake_once(wake: impl FnOnce() + Send + 'static) -> impl Fn() + Send + Sync + 'static {
    let wake = Mutex::new(Some(wake));
    move || {
        if let Some(wake) = lock(&wake).take() {
            wake();
        }
    }
}

/// A callback waits for the end of a [`Waiting`], until this is dropped.
#[derive(Debug)]
pub struct OnOver<'a>(&'a Ticket);

impl Drop for OnOver<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A token that a function of the host's gives.
pub(super) struct Bearer<F>(pub(super) F);

impl<F: Fn() -> Result<String> + Send + Sync> Authorizer for Bearer<F> {
    fn authorize(&self, _: &Outgoing<'_>, _: &Waiting) -> Result<Credentials> {
        let token = (self.0)().map_err(|error| error.context("no token for the request"))?;
        Credentials::bearer(&token)
    }
}
