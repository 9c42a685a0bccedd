//! The settings of a client, which its builder collects and its supervisor keeps.

use std::sync::Arc;
use std::time::Duration;

use super::cache::ResponseCache;
use super::call_options::DefaultTimeouts;
use super::era::{Era, EraMemory};
use super::input::InputHandlers;
use super::restart::{ConnectionEvent, Restart};
use crate::protocol::{Handlers, KeepAlive, LogHook};
use crate::schema::{ClientCapabilities, Implementation, ProtocolVersion, TraceContext};
use crate::transport::{Limits, Threads};
use crate::validation::Validator;

/// A hook that receives the connection events of a client.
type EventHook = Arc<dyn Fn(ConnectionEvent) + Send + Sync>;

/// A hook that returns the trace context of a request: see
/// [`ClientBuilder::trace_context`](super::ClientBuilder::trace_context).
type TraceHook = Arc<dyn Fn() -> TraceContext + Send + Sync>;

/// The settings of a client. [`ClientBuilder`](super::ClientBuilder) describes each of them.
#[derive(Clone)]
pub(super) struct ClientSettings {
    pub(super) info: Implementation,
    pub(super) send_client_info: bool,
    pub(super) capabilities: ClientCapabilities,
    pub(super) revisions: Vec<ProtocolVersion>,
    pub(super) era: Option<Era>,
    pub(super) memory: Option<EraMemory>,
    pub(super) probe_timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) handlers: Handlers,
    pub(super) inputs: InputHandlers,
    pub(super) limits: Limits,
    pub(super) threads: Threads,
    pub(super) log: Option<LogHook>,
    pub(super) list_bounds: ListBounds,
    pub(super) timeouts: DefaultTimeouts,
    pub(super) restart: Option<Restart>,
    pub(super) on_connection_event: Option<EventHook>,
    /// Whether connection events are logged. They are not if a hook of the host gets them.
    pub(super) logs_connection_events: bool,
    pub(super) keep_alive: Option<KeepAlive>,
    pub(super) slow_handler: Duration,
    pub(super) trace_context: Option<TraceHook>,
    pub(super) validator: Option<Validator>,
    pub(super) cache: Option<ResponseCache>,
    pub(super) strict: bool,
    pub(super) assumes_capabilities: bool,
    pub(super) declares_handlers: bool,
}

impl ClientSettings {
    pub(super) fn new(info: Implementation) -> Self {
        Self {
            info,
            send_client_info: true,
            capabilities: ClientCapabilities::default(),
            revisions: ProtocolVersion::ALL.to_vec(),
            era: None,
            memory: None,
            probe_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(60),
            handlers: Handlers::new(),
            inputs: InputHandlers::default(),
            limits: Limits::default(),
            threads: Threads::default(),
            log: None,
            list_bounds: ListBounds::default(),
            timeouts: DefaultTimeouts::default(),
            restart: None,
            on_connection_event: None,
            logs_connection_events: true,
            keep_alive: None,
            slow_handler: Duration::from_secs(30),
            trace_context: None,
            validator: Validator::for_schemas_of_peers(),
            cache: None,
            strict: false,
            assumes_capabilities: false,
            declares_handlers: true,
        }
    }
}

/// The maximum numbers of pages and items of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListBounds {
    pub(super) max_list_pages: usize,
    pub(super) max_list_items: usize,
}

impl Default for ListBounds {
    fn default() -> Self {
        Self {
            max_list_pages: 10_000,
            max_list_items: 100_000,
        }
    }
}
