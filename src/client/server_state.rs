//! The state of a client that outlives a connection: the cached data of the server, and the
//! subscriptions and the log level that the host requested.

use std::sync::Arc;

use super::cache::{ClientCache, ResponseCache, Topic};
use super::idempotency::HarmlessTools;
use super::misfits::ReportedMisfits;
use super::output_schemas::Outputs;
use super::subscriptions::Subscriptions;
use crate::protocol::{Handlers, Peer};
use crate::schema::tree;
use crate::schema::{LoggingLevel, ResourceUpdatedNotificationParams, method};
use crate::sync::Mutex;

/// The cached responses, the known tools, the subscriptions and the log level of a client.
pub(super) struct ServerState {
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) harmless_tools: HarmlessTools,
    pub(super) outputs: Outputs,
    pub(super) cache: ClientCache,
    pub(super) reported_misfits: ReportedMisfits,
    /// The log level that the host set last; `None` if the host set no level.
    pub(super) log_level: Mutex<Option<LoggingLevel>>,
}

impl ServerState {
    /// Creates the state of a client that is not connected yet. `lasting` is true if the client
    /// reconnects after its connection was lost.
    pub(super) fn new(cache: ResponseCache, outputs: Outputs, lasting: bool) -> Self {
        Self {
            subscriptions: Arc::new(Subscriptions::new(lasting)),
            harmless_tools: HarmlessTools::default(),
            outputs,
            cache: ClientCache::new(cache),
            reported_misfits: ReportedMisfits::default(),
            log_level: Mutex::default(),
        }
    }

    /// Adds the handlers of change notifications to the handlers of a connection. They run on the
    /// reading thread, before the host's handlers. A handler of the host may list the tools at
    /// once.
    pub(super) fn listen_in(self: &Arc<Self>, handlers: Handlers, number: u64) -> Handlers {
        let lists = [
            (method::NOTIFICATIONS_TOOLS_LIST_CHANGED, Topic::Tools),
            (method::NOTIFICATIONS_PROMPTS_LIST_CHANGED, Topic::Prompts),
            (
                method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
                Topic::Resources,
            ),
        ];
        let handlers = lists.into_iter().fold(handlers, |handlers, (name, topic)| {
            let this = Arc::clone(self);
            handlers.quick_notification(name, move |_, _| {
                this.cache.forget(&topic);
                if topic == Topic::Tools {
                    this.forget_tools();
                }
            })
        });
        let this = Arc::clone(self);
        let updated = method::NOTIFICATIONS_RESOURCES_UPDATED;
        let handlers = handlers.quick_notification(updated, move |_, notification| {
            // A notification without a resource has no effect.
            let params = tree::read::<ResourceUpdatedNotificationParams>(notification.params());
            if let Ok(params) = params {
                this.cache.forget(&Topic::resource(&params.uri));
            }
        });
        self.subscriptions.listen_in(handlers, number)
    }

    /// Handles an interruption in which notifications may have been missed. Clears the cached data
    /// of the server, and notifies the subscriptions.
    pub(super) fn missed_changes(&self, peer: &Peer, number: u64) {
        self.cache.empty();
        self.forget_tools();
        self.subscriptions.everything_changed(peer, number);
    }

    fn forget_tools(&self) {
        self.harmless_tools.forget();
        self.outputs.forget();
    }
}
