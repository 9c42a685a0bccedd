//! The state of a server, which all its connections share.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::catalogue::Entry;
use super::completion::Completers;
use super::conversation::Conversation;
use super::events::{EventHook, SessionHook};
use super::guard::Guards;
use super::memory_budget::{self, MemoryBudget};
use super::pages::Pages;
use super::paging::List;
use super::prompts::Prompts;
use super::resources::{ReadHandler, Resources, Templates};
use super::scopes::Requirements;
use super::session_state::LatestContext;
use super::skills::store::Skills;
use super::state::KeyRing;
use super::store::StateStore;
use super::subscriptions::Subscriptions;
use super::tasks::Tasks;
use super::tools::Tools;
use crate::error::Result;
use crate::jsonrpc::Request;
use crate::protocol::{CancelToken, ConnectionBuilder, Handlers, KeepAlive, LogHook, Responder};
use crate::schema::{
    CacheHint, Implementation, JsonObject, ProtocolVersion, Resource, ResultMetaObject,
    ServerCapabilities,
};
use crate::transport::sys::random;
use crate::transport::{Limits, Threads};
use crate::validation::Validator;

pub(super) struct Inner {
    pub(super) info: Implementation,
    /// The `_meta` of modern results as text. It is made at the first use.
    pub(super) meta_text: OnceLock<Box<str>>,
    pub(super) instructions: Option<String>,
    /// The revisions that the server serves, the newest first.
    pub(super) revisions: Vec<ProtocolVersion>,
    pub(super) send_server_info: bool,
    pub(super) tools: Tools,
    pub(super) prompts: Prompts,
    pub(super) resources: Resources,
    pub(super) templates: Templates,
    /// The handler of reads of resources that are neither listed nor match a template.
    pub(super) unlisted_resources: Option<ReadHandler>,
    pub(super) completers: Completers,
    /// The functions that serve the requests about tools, prompts, resources and completion.
    pub(super) declared: Declared,
    pub(super) requirements: Requirements,
    pub(super) guards: Guards,
    /// The capabilities that the host has declared by their names.
    pub(super) own_capabilities: ServerCapabilities,
    /// The settings of the declared extensions, by their ids.
    pub(super) extensions: JsonObject,
    pub(super) logging: bool,
    pub(super) resource_updates: bool,
    pub(super) list_changes: bool,
    pub(super) hub: Arc<Subscriptions>,
    /// The memory budget of pending calls, for all connections together.
    pub(super) held: MemoryBudget,
    /// The memory budget of the URIs that legacy clients have subscribed to.
    pub(super) subscribed: MemoryBudget,
    pub(super) page_size: Option<NonZeroUsize>,
    pub(super) hints: HashMap<List, CacheHint>,
    /// The handlers of custom methods, which the host has added.
    pub(super) methods: Handlers,
    /// The settings of every connection. They are made for the first connection and cloned for each
    /// further connection.
    pub(super) beginning: OnceLock<ConnectionBuilder>,
    pub(super) limits: Limits,
    pub(super) threads: Threads,
    pub(super) drain: Duration,
    pub(super) slow_handler: Duration,
    pub(super) keep_alive: Option<KeepAlive>,
    pub(super) log: Option<LogHook>,
    pub(super) on_session: Option<SessionHook>,
    pub(super) on_event: Option<EventHook>,
    /// The name of this replica, with which ids of sessions and tasks begin.
    pub(super) replica: Option<Box<str>>,
    /// The keys that seal the state of a call while the client answers input requests.
    pub(super) keys: KeyRing,
    pub(super) state_lifetime: Duration,
    /// The store that remembers which sealed states were used, so that each state is usable only
    /// once. `None` if states may be used repeatedly.
    pub(super) state_store: Option<Arc<dyn StateStore>>,
    pub(super) pages: Pages,
    /// The tasks of the server. `Some` when the host has enabled tasks.
    pub(super) tasks: Option<Tasks>,
    /// The published skills. `Some` when the host has enabled skills.
    pub(super) skills: Option<Skills<Arc<Entry<Resource, ReadHandler>>>>,
    /// The handlers of the methods of tasks and of skills, where the host enables them.
    pub(super) feature_methods: Vec<Row>,
    /// The validator that checks the arguments and structured results of tools.
    pub(super) validator: Option<Validator>,
    /// Whether the host was warned that a tool embeds resources but the server does not declare
    /// resources.
    pub(super) embeds_undeclared: AtomicBool,
    /// The number of connections that were opened. A new connection gets this value as its number.
    pub(super) connections: AtomicU64,
    /// Is cancelled when the host shuts the server down.
    pub(super) shutdown: CancelToken,
    pub(super) latest_terms: LatestContext,
}

/// A function that serves one request. The function may keep the request and answer later.
pub(super) type Serve = fn(Arc<Conversation>, Request, Responder);

/// A method and its handler.
pub(super) type Row = (&'static str, Serve);

/// The functions that serve the requests of each capability. A function is set when the capability
/// is declared: by the host, or with the first item. So a program contains only the functions of
/// the capabilities that it uses.
#[derive(Default)]
pub(super) struct Declared {
    pub(super) tools: OnceLock<Serve>,
    pub(super) prompts: OnceLock<Serve>,
    /// Serves single resources and templates, because one capability covers both.
    pub(super) resources: OnceLock<Serve>,
    pub(super) completions: OnceLock<Serve>,
}

impl Inner {
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

    pub(super) fn new_id(&self) -> Result<String> {
        new_id(self.replica.as_deref())
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

// E-TASK-S-54
pub(super) fn new_id(replica: Option<&str>) -> Result<String> {
    let mut bytes = [0; 24];
    random::fill(&mut bytes)?;
    let id = URL_SAFE_NO_PAD.encode(bytes);
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
        }
        let id = new_id(Some("r1")).expect("random bytes");
        let random = id.strip_prefix("r1.").expect("the name comes first");
        assert_eq!(URL_SAFE_NO_PAD.decode(random).expect("base64").len(), 24);
    }
}
