//! The state of the HTTP client transport: settings, connections, the session.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ureq::http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::Http;
use super::cookies::Cookies;
use super::pool::{Pool, Route};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use crate::transport::deadlines::Deadlines;
use crate::transport::exchange_transport::CancelHandle;
use crate::transport::{Allowance, Limits, Threads};

pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The HTTP client transport to one server.
pub(super) struct ClientTransport {
    pub(super) http: Http,
    pub(super) lanes: Pool,
    pub(super) watch: Deadlines,
    /// The state of the session. The lock is held briefly only, never during I/O.
    pub(super) state: Mutex<State>,
    pub(super) cookies: Cookies,
    max_message_bytes: usize,
    allowance: Allowance,
    pub(super) threads: Threads,
    /// Whether the server keeps its streams open after the response. If so, the client does not
    /// wait for the end of a stream. The flag is a hint: an outdated value costs only time.
    pub(super) ends_late: AtomicBool,
    /// The total time during which requests waited for a login of the user, in milliseconds.
    pub(super) user_time: AtomicU64,
    /// Whether the transport was stopped. The flag is set before the calls are ended, so that a
    /// call that fails because of the stop finds the flag set.
    pub(super) stopped: AtomicBool,
}

/// The state of the session that later requests refer to, such as the session id.
#[derive(Default)]
pub(super) struct State {
    pub(super) session: Option<HeaderValue>,
    /// The number of sessions that were opened so far.
    sessions: u64,
    /// The agreed protocol revision, if requests have to contain it in a header field.
    pub(super) version: Option<HeaderValue>,
    /// The URL to which the client posts its messages, if the server uses the oldest HTTP
    /// transport.
    pub(super) endpoint: Option<Uri>,
    /// The cancel handle of the stream for messages that belong to no call, in the current session.
    pub(super) listening: Option<Arc<CancelHandle>>,
    pub(super) closed: bool,
}

impl ClientTransport {
    pub(super) fn new(http: Http, route: Route, limits: &Limits) -> Self {
        Self {
            lanes: Pool::new(route, http.client.clone()),
            watch: Deadlines::new(http.stall_timeout, &limits.threads),
            state: Mutex::default(),
            cookies: Cookies::default(),
            max_message_bytes: limits.max_message_bytes,
            allowance: limits.allowance.clone(),
            threads: limits.threads.clone(),
            ends_late: AtomicBool::new(false),
            user_time: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            http,
        }
    }

    /// Returns the server's URL, as texts show it.
    pub(super) fn peer(&self) -> String {
        self.http.shown()
    }

    /// Returns the number of the current session, or `None` without a session.
    pub(super) fn session(&self) -> Option<u64> {
        let state = self.state.lock();
        state.session.as_ref().map(|_| state.sessions)
    }

    /// Counts the time for which an exchange waited for a user.
    pub(super) fn count_user_time(&self, cancel_handle: &CancelHandle) {
        let millis = u64::try_from(cancel_handle.held_for().as_millis()).unwrap_or(u64::MAX);
        self.user_time.fetch_add(millis, Ordering::Relaxed);
    }

    /// Returns the maximum length of a message that is accepted at the moment, in bytes.
    pub(super) fn longest_message(&self) -> usize {
        self.allowance.above(self.max_message_bytes)
    }

    /// Stores the session that the server opened with its answer.
    pub(super) fn enter_session(&self, headers: &HeaderMap) -> Result<()> {
        // Servers without sessions may send an empty field.
        let session = headers.get(&SESSION).filter(|session| !session.is_empty());
        let session = session.cloned();
        if let Some(session) = &session
            && !session.as_bytes().iter().all(u8::is_ascii_graphic)
        {
            let text = format!(
                "'{}' gave a session id with other characters than visible ASCII",
                self.peer()
            );
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        }
        let mut state = self.state.lock();
        state.session = session.map(|mut session| {
            session.set_sensitive(true);
            session
        });
        state.sessions += 1;
        let listening = state.listening.take();
        drop(state);
        if let Some(cancel_handle) = listening {
            cancel_handle.end();
        }
        Ok(())
    }
}

/// A guard that removes the shutdown handle from a cancel handle when the guard is dropped.
pub(super) struct Released<'a>(pub(super) &'a CancelHandle);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl fmt::Debug for ClientTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("ClientTransport")
            .field("peer", &self.peer())
            .field("lanes", &self.lanes)
            .field("has_session", &state.session.is_some())
            .finish_non_exhaustive()
    }
}
