//! A conversation of a server with a client: who the client is, and what its session has agreed on.

use std::collections::BTreeSet;
#[cfg(feature = "http-server")]
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::events::Attendance;
use super::inner::Inner;
use super::input_requests::PendingInputs;
use super::session_state::{ClientContext, SessionState};
use super::subscriptions::{ConnectionSubscribers, SessionStream};
use crate::protocol::principal::Principal;
use crate::protocol::{Peer, Responder};
#[cfg(feature = "http-server")]
use crate::schema::ProtocolVersion;
use crate::schema::ResultMetaObject;
use crate::shares::Client;

/// Returns the conversation of a server's connection.
pub(super) fn conversation_of(peer: &Peer) -> Arc<Conversation> {
    peer.core().local().expect(OPENED_WITH_ONE)
}

/// Returns the conversation that a request belongs to.
pub(super) fn conversation_for(responder: &Responder) -> Arc<Conversation> {
    responder.core().local().expect(OPENED_WITH_ONE)
}

const OPENED_WITH_ONE: &str = "a server's connections are opened with one";

/// Returns the connection number and principal of a request whose method the host handles itself.
#[cfg(feature = "cffi")]
pub(crate) fn origin_of(responder: &Responder) -> (u64, Option<Principal>) {
    let conversation = conversation_for(responder);
    (
        conversation.number,
        conversation.identity_of(responder).cloned(),
    )
}

/// A conversation of a server with one client. The exception is HTTP without a session: all modern
/// clients share one conversation, and so do all legacy clients of a revision.
pub(super) struct Conversation {
    pub(super) server: Arc<Inner>,
    /// The principal of the client, if all requests of the conversation have the same principal.
    pub(super) principal: Option<Principal>,
    /// Whether the client is connected over HTTP. Over HTTP, unknown scopes count as no scopes.
    pub(super) is_over_http: bool,
    /// The unique number of the conversation.
    pub(super) number: u64,
    pub(super) state: SessionState,
    pub(super) audience: Arc<ConnectionSubscribers>,
    /// The stream for messages that belong to no request. Unset if the connection itself sends
    /// these messages.
    #[cfg(feature = "http-server")]
    session_stream: OnceLock<Weak<dyn SessionStream>>,
    pub(super) waiting: PendingInputs,
    /// The tracker of the session, which reports to the host. `None` without a session hook.
    pub(super) attendance: Option<Arc<Attendance>>,
}

impl Conversation {
    /// Creates the conversation of a new connection.
    pub(super) fn new(server: &Arc<Inner>, principal: Option<Principal>) -> Arc<Self> {
        let attendance = server.on_session.clone().map(Attendance::new);
        Self::with(
            server,
            principal,
            false,
            SessionState::default(),
            attendance,
        )
    }

    /// Creates the conversation of an HTTP session. The principal comes with each request.
    #[cfg(feature = "http-server")]
    pub(super) fn of_session(server: &Arc<Inner>) -> Arc<Self> {
        let attendance = server.on_session.clone().map(Attendance::new);
        Self::with(server, None, true, SessionState::default(), attendance)
    }

    /// Creates a conversation with all HTTP clients that have no session.
    #[cfg(feature = "http-server")]
    pub(super) fn over_http(server: &Arc<Inner>) -> Arc<Self> {
        Self::with(server, None, true, SessionState::default(), None)
    }

    /// Creates the conversation with legacy clients that have no session. Only their revision is
    /// known.
    #[cfg(feature = "http-server")]
    pub(super) fn agreed(server: &Arc<Inner>, revision: ProtocolVersion) -> Arc<Self> {
        Self::with(server, None, true, SessionState::agreed_on(revision), None)
    }

    fn with(
        server: &Arc<Inner>,
        principal: Option<Principal>,
        is_over_http: bool,
        state: SessionState,
        attendance: Option<Arc<Attendance>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: Arc::clone(server),
            principal,
            is_over_http,
            number: server.connections.fetch_add(1, Ordering::Relaxed),
            state,
            audience: Arc::default(),
            #[cfg(feature = "http-server")]
            session_stream: OnceLock::new(),
            waiting: PendingInputs::default(),
            attendance,
        })
    }

    /// Sets the stream for messages that belong to no request.
    #[cfg(feature = "http-server")]
    pub(super) fn tell_on(&self, session_stream: Weak<dyn SessionStream>) {
        // The stream is set once, when the session is opened.
        _ = self.session_stream.set(session_stream);
    }

    /// Returns the stream for messages that belong to no request, or `None` if the connection
    /// itself sends these messages.
    pub(super) fn session_stream(&self) -> Option<Weak<dyn SessionStream>> {
        #[cfg(feature = "http-server")]
        return self.session_stream.get().cloned();
        #[cfg(not(feature = "http-server"))]
        return None;
    }

    /// Returns the name of the principal of a request, if known.
    pub(super) fn principal_of<'a>(&'a self, responder: &'a Responder) -> Option<&'a str> {
        self.identity_of(responder).map(Principal::name)
    }

    /// Returns the client that a request counts for in shared limits: the principal if known,
    /// otherwise the session or address of the request, otherwise the connection.
    pub(super) fn client_of(&self, responder: &Responder) -> Client {
        let principal = self.identity_of(responder).map(Principal::client);
        if let Some(client) = principal.or_else(|| responder.client().cloned()) {
            return client;
        }
        #[cfg(feature = "http-server")]
        if let Some(session) = self.session_stream.get().and_then(Weak::upgrade) {
            return session.client().session(self.number);
        }
        Client::Connection(self.number)
    }

    /// Returns the principal of a request with its granted scopes, if known.
    pub(super) fn identity_of<'a>(&'a self, responder: &'a Responder) -> Option<&'a Principal> {
        responder.identity().or(self.principal.as_ref())
    }

    /// Returns whether the client of a request has all these scopes.
    pub(super) fn grants(&self, responder: &Responder, needed: &BTreeSet<String>) -> bool {
        let granted = self.identity_of(responder).and_then(Principal::granted);
        match granted {
            Some(granted) => needed.is_subset(granted),
            None => needed.is_empty() || !self.is_over_http,
        }
    }

    /// Adds the server's name and version to the `_meta` of a modern result. Adds nothing if the
    /// host has switched off [`send_server_info`](super::ServerBuilder::send_server_info).
    pub(super) fn finish(&self, meta: &mut Option<ResultMetaObject>, terms: &ClientContext) {
        if self.server.sends_server_info_to(terms.revision) {
            meta.get_or_insert_default().server_info = Some(self.server.info.clone());
        }
    }
}
