//! Events for the host: sessions that begin and end, and incidents with clients.
//!
//! ```text
//!  connection or HTTP session ─▶ initialize or first modern request ─▶ began ─▶ closed ─▶ ended
//!                             └─▶ no valid request: no event
//! ```
//!
//! **Threads.** Session hooks run on a thread of the connection, in one sequence with the handlers
//! of the client's notifications. An event hook runs on the thread that notices the incident.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::session_state::ClientContext;
use crate::error::Error;
use crate::protocol::Peer;
use crate::protocol::incident::Incident;
pub use crate::protocol::incident::ServerEventKind;
use crate::protocol::principal::Principal;
use crate::schema::{Implementation, ProtocolVersion};
use crate::sync::Mutex;

/// The host's hook that is called when a session begins or ends.
pub(super) type SessionHook = Arc<dyn Fn(SessionEvent) + Send + Sync>;
/// The host's hook that is called for each incident with a client.
pub(super) type EventHook = Arc<dyn Fn(&ServerEvent) + Send + Sync>;

/// A session of a client: see [`ServerBuilder::on_session`](super::ServerBuilder::on_session).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Session {
    /// The number of the connection: see [`Context::connection`](super::Context::connection).
    pub connection: u64,
    /// The kind of connection that the client uses.
    pub transport: SessionTransport,
    /// The client's name in the log, such as `HTTP client at 192.0.2.1:50000`.
    pub peer: String,
    /// The negotiated revision. In the modern era, this is the revision of the first request. Later
    /// requests may have another revision.
    pub revision: ProtocolVersion,
    /// The name and version that the client gave. Use it for display and logs, not for decisions.
    pub client: Option<Implementation>,
    /// The principal on whose behalf the client acts, if known.
    pub principal: Option<Principal>,
}

/// The kind of connection that the client of a [`Session`] uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionTransport {
    /// A connection for this client alone: standard streams, a socket, a transport in memory, or a
    /// transport of the host.
    Stream,
    /// HTTP requests that contain the session id.
    Http,
}

/// An event of a [`Session`]: its begin or its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEvent {
    /// The session has begun: the server has received the first valid request.
    #[non_exhaustive]
    Began {
        /// The session that has begun.
        session: Arc<Session>,
    },
    /// The session has ended. This event is reported once for each session that began.
    #[non_exhaustive]
    Ended {
        /// The session that has ended.
        session: Arc<Session>,
        /// The reason why the session has ended, or `None` if the server has closed the session.
        /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) means that the client has gone or ended
        /// the session. Any other error means that the connection has failed.
        error: Option<Error>,
    },
}

/// An incident with a client: see [`ServerBuilder::on_event`](super::ServerBuilder::on_event).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerEvent {
    /// The kind of incident.
    pub kind: ServerEventKind,
    /// The number of the connection ([`Context::connection`](super::Context::connection)). `None`
    /// for an HTTP request that reached no connection.
    pub connection: Option<u64>,
    /// The client's name in the log. Clients that share a connection, such as modern HTTP clients,
    /// share a name.
    pub peer: String,
    /// The method of the request that the incident is about. `None` if there is no request, or if
    /// the request could not be parsed.
    pub method: Option<String>,
    /// A human-readable description of the incident. The description is one line, unless it quotes
    /// a longer text from the client or from a handler.
    pub text: String,
}

impl ServerEvent {
    pub(super) fn new(trouble: Incident<'_>, connection: Option<u64>) -> Self {
        Self {
            kind: trouble.kind,
            connection,
            peer: trouble.peer,
            method: trouble.method.map(str::to_owned),
            text: trouble.text,
        }
    }

    /// Calls the hook with this incident.
    pub(super) fn tell(&self, hook: &EventHook) {
        // A panic of the hook must not end the reading thread. While another panic unwinds, a panic
        // of the hook would abort the process.
        _ = catch_unwind(AssertUnwindSafe(|| hook(self)));
    }
}

/// The tracker of a connection's session. It reports the begin and the end of the session to the
/// host.
pub(super) struct Attendance {
    hook: SessionHook,
    state: Mutex<State>,
}

/// The state of an [`Attendance`], behind the lock [`Attendance::state`]. No other lock is taken
/// while this lock is held.
#[derive(Default)]
struct State {
    phase: Phase,
    /// Events that are not delivered yet. Invariant: each event is queued before its delivery is
    /// scheduled, and each delivery takes the oldest event. So the host gets the begin of the
    /// session first, even if the delivery for its end is scheduled first.
    undelivered: VecDeque<SessionEvent>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Before,
    Begun(Arc<Session>),
    Over,
}

impl Attendance {
    pub(super) fn new(hook: SessionHook) -> Arc<Self> {
        Arc::new(Self {
            hook,
            state: Mutex::default(),
        })
    }

    /// Begins the session, unless it has begun already. This function is called for every valid
    /// request.
    pub(super) fn begin(
        self: &Arc<Self>,
        peer: &Peer,
        terms: &ClientContext,
        describe: impl FnOnce(&ClientContext) -> Session,
    ) {
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Before) {
            return;
        }
        let session = Arc::new(describe(terms));
        state.phase = Phase::Begun(Arc::clone(&session));
        state.undelivered.push_back(SessionEvent::Began { session });
        drop(state);
        self.schedule_delivery(peer);
    }

    /// Ends the session after its connection has ended. Does not block.
    pub(super) fn end(self: &Arc<Self>, peer: &Peer) {
        let mut state = self.state.lock();
        let Phase::Begun(session) = std::mem::replace(&mut state.phase, Phase::Over) else {
            return;
        };
        let error = peer.core().ended();
        state
            .undelivered
            .push_back(SessionEvent::Ended { session, error });
        drop(state);
        self.schedule_delivery(peer);
    }

    fn schedule_delivery(self: &Arc<Self>, peer: &Peer) {
        let this = Arc::clone(self);
        peer.run_in_order(move || {
            let event = this.state.lock().undelivered.pop_front();
            if let Some(event) = event {
                (this.hook)(event);
            }
        });
    }
}
