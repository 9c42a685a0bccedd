//! What a host is told of those whom its server serves: who comes and goes, and what goes wrong with them.
//!
//! ```text
//!  a connection, or a session over HTTP ──▶ initialize, or the first modern request ──▶ began ──▶ closed, or the client has gone ──▶ ended
//!                                       └─▶ it says nothing of use: nobody is told
//! ```
//!
//! **Threads.** Both run in the order of the connection's notifications, on a thread of the connection.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::conversation::Terms;
use crate::error::Error;
use crate::protocol::Peer;
use crate::protocol::principal::Principal;
pub use crate::protocol::trouble::ServerEventKind;
use crate::protocol::trouble::Trouble;
use crate::schema::{Implementation, ProtocolVersion};
use crate::sync::Mutex;

/// Takes what becomes of sessions.
pub(super) type SessionHook = Arc<dyn Fn(SessionEvent) + Send + Sync>;
/// Takes what goes wrong.
pub(super) type EventHook = Arc<dyn Fn(&ServerEvent) + Send + Sync>;

/// Who is served in a session: see [`ServerBuilder::on_session`](super::ServerBuilder::on_session).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Session {
    /// The number that calls of it have too: [`Context::connection`](super::Context::connection).
    pub connection: u64,
    /// How the client is reached.
    pub transport: SessionTransport,
    /// What the client is called in the log, such as `HTTP client at 192.0.2.1:50000`.
    pub peer: String,
    /// The revision that was agreed on, or that of the first request. A later request of the modern era brings its own.
    pub revision: ProtocolVersion,
    /// Who the client says it is: for showing and logging, not for decisions.
    pub client: Option<Implementation>,
    /// On whose behalf it acts, if that is known.
    pub principal: Option<Principal>,
}

/// How the client of a [`Session`] is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionTransport {
    /// By a connection of its own: standard streams, a socket, memory, or a transport of the host's.
    Stream,
    /// By HTTP requests that name the session.
    Http,
}

/// What became of a [`Session`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEvent {
    /// A client has said who it is.
    #[non_exhaustive]
    Began {
        /// Who is served.
        session: Arc<Session>,
    },
    /// Nothing is served in it any more. Told once for each that began.
    #[non_exhaustive]
    Ended {
        /// Who was served.
        session: Arc<Session>,
        /// Why, unless this side has closed it: the client has gone or ended the session ([`ErrorKind::Closed`](crate::ErrorKind::Closed)), or the
        /// connection has failed.
        error: Option<Error>,
    },
}

/// Trouble with a client: see [`ServerBuilder::on_event`](super::ServerBuilder::on_event).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerEvent {
    /// What it is about.
    pub kind: ServerEventKind,
    /// The number that calls of the connection have too ([`Context::connection`](super::Context::connection)); `None` for a request over
    /// HTTP that came to none.
    pub connection: Option<u64>,
    /// What the client is called in the log. Clients that share a connection, as those of the modern era do over HTTP, share a name.
    pub peer: String,
    /// The method of the request, where it is about one that could be read.
    pub method: Option<String>,
    /// What there is to say, for people: one line, unless a text of the client's or of a handler's has more.
    pub text: String,
}

impl ServerEvent {
    pub(super) fn new(trouble: Trouble<'_>, connection: Option<u64>) -> Self {
        Self {
            kind: trouble.kind,
            connection,
            peer: trouble.peer,
            method: trouble.method.map(str::to_owned),
            text: trouble.text,
        }
    }

    /// Tells it, if anybody wants to hear it.
    pub(super) fn tell(&self, hook: &EventHook) {
        // A panic of the host's must not end reading, nor the process when it comes while another one unwinds.
        _ = catch_unwind(AssertUnwindSafe(|| hook(self)));
    }
}

/// Notes when the session of a connection begins and ends, and has the host told.
pub(super) struct Attendance {
    hook: SessionHook,
    state: Mutex<State>,
}

/// Guarded by [`Attendance::state`], inside of which no other lock is taken.
#[derive(Default)]
struct State {
    phase: Phase,
    /// What the host is not told yet: whoever gets its turn takes the first.
    untold: VecDeque<SessionEvent>,
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

    /// A request was understood: the first one begins the session.
    pub(super) fn begin(
        self: &Arc<Self>,
        peer: &Peer,
        terms: &Terms,
        describe: impl FnOnce(&Terms) -> Session,
    ) {
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Before) {
            return;
        }
        let session = Arc::new(describe(terms));
        state.phase = Phase::Begun(Arc::clone(&session));
        state.untold.push_back(SessionEvent::Began { session });
        drop(state);
        self.have_told(peer);
    }

    /// The connection has ended. Does not block.
    pub(super) fn end(self: &Arc<Self>, peer: &Peer) {
        let mut state = self.state.lock();
        let Phase::Begun(session) = std::mem::replace(&mut state.phase, Phase::Over) else {
            return;
        };
        let error = peer.core().ended();
        state
            .untold
            .push_back(SessionEvent::Ended { session, error });
        drop(state);
        self.have_told(peer);
    }

    fn have_told(self: &Arc<Self>, peer: &Peer) {
        let this = Arc::clone(self);
        peer.run_in_order(move || {
            let event = this.state.lock().untold.pop_front();
            if let Some(event) = event {
                (this.hook)(event);
            }
        });
    }
}
