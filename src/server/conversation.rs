//! The conversation that a call belongs to, and the services of the server that calls use.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use super::call_task::BeginTask;
use super::guard::Guards;
use super::memory_budget::{self, MemoryBudget};
use super::pages::Pages;
use super::session_state::{ClientContext, SessionState};
use super::session_stream::SessionStream;
use super::state::KeyRing;
use super::store::StateStore;
use crate::protocol::Responder;
use crate::protocol::principal::Principal;
use crate::schema::{Implementation, ProtocolVersion, ResultMetaObject};
use crate::shares::Client;
use crate::transport::Limits;

/// The part of a server's state that calls use. The handlers are not part of it, because their
/// types contain the types of calls.
pub(super) struct CallServices {
    pub(super) info: Implementation,
    /// The `_meta` of modern results as text. It is made at the first use.
    pub(super) meta_text: OnceLock<Box<str>>,
    pub(super) send_server_info: bool,
    pub(super) guards: Guards,
    pub(super) logging: bool,
    pub(super) limits: Limits,
    /// The memory budget of pending calls, for all connections together.
    pub(super) held: MemoryBudget,
    /// The keys that seal the state of a call while the client answers input requests.
    pub(super) keys: KeyRing,
    pub(super) state_lifetime: Duration,
    /// The store that remembers which sealed states were used, so that each state is usable only
    /// once. `None` if states may be used repeatedly.
    pub(super) state_store: Option<Arc<dyn StateStore>>,
    pub(super) pages: Pages,
    /// The function that turns a call into a task. `Some` when the host has enabled tasks.
    pub(super) begin_task: Option<BeginTask>,
    /// Whether results may embed resources without a warning to the host: the server declares
    /// resources, or the host was warned.
    pub(super) may_embed: AtomicBool,
}

impl CallServices {
    pub(super) fn new(info: Implementation, keys: KeyRing) -> Self {
        Self {
            info,
            meta_text: OnceLock::new(),
            send_server_info: true,
            guards: Vec::new(),
            logging: false,
            limits: Limits::default(),
            held: MemoryBudget::default(),
            keys,
            state_lifetime: Duration::from_secs(600),
            state_store: None,
            pages: Pages::new(&Limits::default()),
            begin_task: None,
            may_embed: AtomicBool::new(false),
        }
    }

    pub(super) fn sends_server_info_to(&self, revision: ProtocolVersion) -> bool {
        revision.is_modern() && self.send_server_info
    }

    /// Returns the `_meta` that the server adds to each result.
    pub(super) fn result_meta(&self, revision: ProtocolVersion) -> Option<ResultMetaObject> {
        let named = self.sends_server_info_to(revision);
        named.then(|| ResultMetaObject::default().server_info(self.info.clone()))
    }

    /// Returns the `_meta` that the server adds to each result, as JSON text. The text is cached.
    pub(super) fn written_meta(&self, revision: ProtocolVersion) -> Option<&str> {
        if !self.sends_server_info_to(revision) {
            return None;
        }
        let written = self.meta_text.get_or_init(|| {
            let meta = self.result_meta(revision);
            serde_json::to_string(&meta).expect("texts are JSON").into()
        });
        Some(written)
    }

    /// Adds the server's name and version to the `_meta` of a modern result. Adds nothing if the
    /// host has switched off [`send_server_info`](super::ServerBuilder::send_server_info).
    pub(super) fn finish(&self, meta: &mut Option<ResultMetaObject>, terms: &ClientContext) {
        if self.sends_server_info_to(terms.revision) {
            meta.get_or_insert_default().server_info = Some(self.info.clone());
        }
    }

    /// Returns the size of the memory budget for pending calls, in bytes: `max_workers` times
    /// `max_message_bytes`, but at least [`LEAST`](memory_budget::LEAST). The results of tasks have
    /// another budget of this size.
    pub(super) fn max_held(&self) -> usize {
        let limits = &self.limits;
        let worked_on = limits.max_workers.saturating_mul(limits.max_message_bytes);
        worked_on.max(memory_budget::LEAST)
    }
}

/// A conversation of a server with one client. The exception is HTTP without a session: all modern
/// clients share one conversation, and so do all legacy clients of a revision.
pub(super) struct Conversation {
    pub(super) services: Arc<CallServices>,
    /// The principal of the client, if all requests of the conversation have the same principal.
    pub(super) principal: Option<Principal>,
    /// Whether the client is connected over HTTP. Over HTTP, unknown scopes count as no scopes.
    pub(super) is_over_http: bool,
    /// The unique number of the conversation.
    pub(super) number: u64,
    pub(super) state: SessionState,
    /// The stream for messages that belong to no request. Unset if the connection itself sends
    /// these messages.
    #[cfg(feature = "http-server")]
    pub(super) session_stream: OnceLock<Weak<dyn SessionStream>>,
    /// The number of calls that wait for input of the client.
    pub(super) waiting: AtomicUsize,
}

impl Conversation {
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
}

/// A permit for a call that waits for input. Dropping the permit releases it.
pub(super) struct InputPermit(Arc<Conversation>);

impl InputPermit {
    /// Returns a permit, or `None` when `max` calls of the conversation have one.
    pub(super) fn take(conversation: &Arc<Conversation>, max: usize) -> Option<Self> {
        let permit = Self(Arc::clone(conversation));
        // The count orders no other memory accesses.
        let is_free = conversation.waiting.fetch_add(1, Ordering::Relaxed) < max;
        is_free.then_some(permit)
    }
}

impl Drop for InputPermit {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
