//! The state of a server, which all its connections share.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::catalogue::Entry;
use super::completion::Completers;
use super::conversation::{CallServices, Conversation};
use super::endpoints::Endpoints;
use super::events::{Attendance, EventHook, SessionHook};
use super::memory_budget::MemoryBudget;
use super::paging::List;
use super::prompts::Prompts;
use super::resources::{ReadHandler, Resources, Templates};
use super::scopes::Requirements;
use super::session_state::{LatestContext, SessionState};
use super::skills::store::Skills;
use super::subscriptions::{ConnectionSubscribers, Subscriptions};
use super::tasks::Tasks;
use super::tools::Tools;
use crate::error::Result;
use crate::jsonrpc::Request;
use crate::protocol::principal::Principal;
use crate::protocol::{
    CancelToken, ConnectionBuilder, Handlers, KeepAlive, LogHook, Peer, Responder,
};
use crate::schema::{CacheHint, JsonObject, ProtocolVersion, Resource, ServerCapabilities};
use crate::transport::Threads;
use crate::transport::sys::random;
use crate::validation::Validator;

/// The state of a server.
pub(super) struct Inner {
    pub(super) services: Arc<CallServices>,
    pub(super) instructions: Option<String>,
    /// The revisions that the server serves, the newest first.
    pub(super) revisions: Vec<ProtocolVersion>,
    pub(super) tools: Tools,
    pub(super) prompts: Prompts,
    pub(super) resources: Resources,
    pub(super) templates: Templates,
    /// The handler of reads of resources that are neither listed nor match a template.
    pub(super) unlisted_resources: Option<ReadHandler>,
    pub(super) completers: Completers,
    pub(super) declared: Declared,
    pub(super) requirements: Requirements,
    /// The capabilities that the host has declared by their names.
    pub(super) own_capabilities: ServerCapabilities,
    /// The settings of the declared extensions, by their ids.
    pub(super) extensions: JsonObject,
    pub(super) resource_updates: bool,
    pub(super) list_changes: bool,
    pub(super) subscriptions: Arc<Subscriptions>,
    /// Ends the delivery of other processes' events when it is dropped. `None` without a bus.
    pub(super) event_delivery: Option<Box<dyn Send + Sync>>,
    /// The memory budget of the URIs that legacy clients have subscribed to.
    pub(super) subscribed: MemoryBudget,
    pub(super) page_size: Option<NonZeroUsize>,
    pub(super) hints: HashMap<List, CacheHint>,
    /// The handlers of custom methods, which the host has added.
    pub(super) methods: Handlers,
    /// The settings of every connection. They are made for the first connection and cloned for each
    /// further connection.
    pub(super) beginning: OnceLock<ConnectionBuilder>,
    pub(super) threads: Threads,
    pub(super) drain: Duration,
    pub(super) slow_handler: Duration,
    pub(super) keep_alive: Option<KeepAlive>,
    pub(super) log: Option<LogHook>,
    pub(super) on_session: Option<SessionHook>,
    pub(super) on_event: Option<EventHook>,
    /// The name of this replica, with which ids of sessions and tasks begin.
    pub(super) replica: Option<Box<str>>,
    /// The tasks of the server. `Some` when the host has enabled tasks.
    pub(super) tasks: Option<Tasks>,
    /// The published skills. `Some` when the host has enabled skills.
    pub(super) skills: Option<Skills<Arc<Entry<Resource, ReadHandler>>>>,
    /// The handlers of the methods of tasks and of skills, where the host enables them.
    pub(super) feature_methods: Vec<Row>,
    /// The validator that checks the arguments and structured results of tools.
    pub(super) validator: Option<Validator>,
    /// The number of connections that were opened. A new connection gets this value as its number.
    pub(super) connections: AtomicU64,
    pub(super) endpoints: Endpoints,
    /// Is cancelled when the host shuts the server down.
    pub(super) shutdown: CancelToken,
    pub(super) latest_terms: LatestContext,
}

/// A connection of a server, or the requests of many HTTP clients that have no session.
pub(super) struct ServerConnection {
    pub(super) server: Arc<Inner>,
    pub(super) subscribers: Arc<ConnectionSubscribers>,
    /// The tracker of the session, which reports to the host. `None` without a session hook.
    pub(super) attendance: Option<Arc<Attendance>>,
}

impl ServerConnection {
    /// Creates a new connection.
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

    /// Creates the connection of an HTTP session. The principal comes with each request.
    #[cfg(feature = "http-server")]
    pub(super) fn of_session(server: &Arc<Inner>) -> Arc<Self> {
        let attendance = server.on_session.clone().map(Attendance::new);
        Self::with(server, None, true, SessionState::default(), attendance)
    }

    /// Creates a connection for all HTTP clients that have no session.
    #[cfg(feature = "http-server")]
    pub(super) fn over_http(server: &Arc<Inner>) -> Arc<Self> {
        Self::with(server, None, true, SessionState::default(), None)
    }

    /// Creates a connection for legacy clients that have no session. Only their revision is
    /// known.
    #[cfg(feature = "http-server")]
    pub(super) fn agreed(server: &Arc<Inner>, revision: ProtocolVersion) -> Arc<Self> {
        Self::with(server, None, true, SessionState::agreed_on(revision), None)
    }

    pub(super) fn conversation(&self) -> &Arc<Conversation> {
        &self.subscribers.conversation
    }

    fn with(
        server: &Arc<Inner>,
        principal: Option<Principal>,
        is_over_http: bool,
        state: SessionState,
        attendance: Option<Arc<Attendance>>,
    ) -> Arc<Self> {
        let conversation = Conversation {
            services: Arc::clone(&server.services),
            principal,
            is_over_http,
            number: server.connections.fetch_add(1, Ordering::Relaxed),
            state,
            #[cfg(feature = "http-server")]
            session_stream: OnceLock::new(),
            waiting: AtomicUsize::new(0),
        };
        Arc::new(Self {
            server: Arc::clone(server),
            subscribers: server.subscriptions.of_connection(conversation),
            attendance,
        })
    }
}

/// Returns the connection of a server that a peer belongs to.
pub(super) fn connection_of(peer: &Peer) -> Arc<ServerConnection> {
    peer.core().local().expect(OPENED_WITH_IT)
}

/// Returns the connection of a server that a request belongs to.
pub(super) fn connection_for(responder: &Responder) -> Arc<ServerConnection> {
    responder.core().local().expect(OPENED_WITH_IT)
}

const OPENED_WITH_IT: &str = "a server's connections are opened with theirs";

/// Returns the connection number and principal of a request whose method the host handles itself.
#[cfg(feature = "cffi")]
pub(crate) fn origin_of(responder: &Responder) -> (u64, Option<Principal>) {
    let connection = connection_for(responder);
    let conversation = connection.conversation();
    let principal = conversation.identity_of(responder).cloned();
    (conversation.number, principal)
}

/// A function that serves one request. The function may keep the request and answer later.
pub(super) type Serve = fn(Arc<ServerConnection>, Request, Responder);

/// A method and its handler.
pub(super) type Row = (&'static str, Serve);

/// The methods of a capability. They are set when the capability is declared: by the host, or with
/// the first item. So a program contains only the methods of the capabilities that it uses.
pub(super) type Methods = OnceLock<&'static [Row]>;

/// The methods of the capabilities that a server may declare after it is built.
#[derive(Default)]
pub(super) struct Declared {
    pub(super) tools: Methods,
    pub(super) prompts: Methods,
    /// The methods of single resources and of templates, because one capability covers both.
    pub(super) resources: Methods,
    pub(super) completions: Methods,
}

impl Inner {
    /// Whether the server serves a revision of this kind.
    pub(super) fn serves(&self, is_of_kind: impl Fn(ProtocolVersion) -> bool) -> bool {
        self.revisions.iter().any(|revision| is_of_kind(*revision))
    }

    /// Returns whether the server declares the capability of a list. The list may be empty at the
    /// moment.
    pub(super) fn has(&self, list: List) -> bool {
        match list {
            List::Tools => self.declared.tools.get().is_some(),
            List::Prompts => self.declared.prompts.get().is_some(),
            List::Resources | List::ResourceTemplates => self.declared.resources.get().is_some(),
            List::Skills => self.skills.is_some(),
        }
    }

    pub(super) fn new_id(&self) -> Result<String> {
        new_id(self.replica.as_deref())
    }
}

// E-TASK-S-54
pub(super) fn new_id(replica: Option<&str>) -> Result<String> {
    let mut bytes = [0; 24];
    let id = loop {
        random::fill(&mut bytes)?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        // On command lines, a word that begins with a dash is an option.
        if !id.starts_with('-') {
            break id;
        }
    };
    Ok(match replica {
        Some(replica) => format!("{replica}.{id}"),
        None => id,
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;

    use super::*;

    // E-TASK-S-54, L-TASK-B-24, L-TASK-B-09
    #[test]
    fn ids_are_long_and_random() {
        let ids: HashSet<String> = (0..1000)
            .map(|_| new_id(None).expect("random bytes"))
            .collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            let bytes = URL_SAFE_NO_PAD.decode(&id).expect("base64");
            assert!(bytes.len() * 8 >= 128, "{id}");
            assert!(!id.starts_with('-'), "{id}");
        }
        let id = new_id(Some("r1")).expect("random bytes");
        let random = id.strip_prefix("r1.").expect("the name comes first");
        assert_eq!(URL_SAFE_NO_PAD.decode(random).expect("base64").len(), 24);
    }
}
