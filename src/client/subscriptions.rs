//! All subscriptions of a client: how they are opened, which subscribers get an event, and how they
//! survive a lost connection.
//!
//! ```text
//!            agreed            the connection is lost          the next connection is open
//!  opening ─────────▶ open ───────────────────────────▶ waiting ──────────────────▶ opening again,
//!     ╲                 ╲ ended by the server,             ╲ no next connection     then open:
//!      ╲ refused         ╲ or lost for good                 ╲                        everything
//!       ╰──▶ over         ╰──▶ ending ──▶ over               ╰──▶ over               changed
//! ```
//!
//! Answers and the acknowledgement are processed on the reading thread. So any callback can open a
//! subscription. Events and the end go through the connection's ordered notification thread. Each
//! subscription accepts messages only from the connection on which it was last opened.
//!
//! **Lock order:** `uris` before the table, then a subscription's state. No lock is held while user
//! code runs.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;

use super::connection::ClientConnection;
use super::event::Event;
use super::request_meta::params_text;
use super::subscriber::{Phase, Subscriber, Wait};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::Notification;
use crate::protocol::{Handlers, Peer};
use crate::schema::tree;
use crate::schema::{
    JsonObject, NotificationMetaObject, ServerCapabilities, SubscribeRequestParams,
    SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams, TaskStatus, method,
};
use crate::sync::Mutex;
use crate::transport::message::RequestKind;

/// The table of all subscriptions of a client.
pub(super) struct Subscriptions {
    // The lock is held only for lookups and changes of the list. Subscribers are copied, and called
    // after the lock is released.
    table: Mutex<Vec<Entry>>,
    /// In the legacy era: the number of a connection, and, for each resource URI, how many
    /// subscriptions of this connection use the URI.
    // The lock is held while a request about a resource is sent. So the requests are sent in the
    // order in which the counts changed. Otherwise a late unsubscribe could end a newer
    // subscription.
    uris: Mutex<(u64, HashMap<String, usize>)>,
    /// Whether the client will reconnect after the connection has ended unexpectedly.
    lasting: AtomicBool,
}

struct Entry {
    /// The number of the connection and the id of the request that opened the subscription. The id
    /// is 0 in the legacy era.
    opened: (u64, i64),
    subscriber: Arc<Subscriber>,
}

impl Subscriptions {
    pub(super) fn new(lasting: bool) -> Self {
        Self {
            table: Mutex::default(),
            uris: Mutex::default(),
            lasting: AtomicBool::new(lasting),
        }
    }

    /// Adds the handlers of subscription messages to the handlers of a connection.
    pub(super) fn listen_in(self: &Arc<Self>, handlers: Handlers, number: u64) -> Handlers {
        let this = Arc::clone(self);
        let handlers = handlers.quick_notification(
            method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
            move |_, notification| this.acknowledged(notification, number),
        );
        [
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
            method::NOTIFICATIONS_RESOURCES_UPDATED,
            method::NOTIFICATIONS_TASKS,
        ]
        .into_iter()
        .fold(handlers, |handlers, method| {
            let this = Arc::clone(self);
            handlers.notification_too(method, move |notification| {
                this.notified(notification, number);
            })
        })
    }

    /// Sends the requests that open a subscription. The caller has to [wait](Subscriber::wait) for
    /// the server's agreement.
    pub(super) fn open(
        self: &Arc<Self>,
        subscriber: &Arc<Subscriber>,
        connection: &ClientConnection,
        capabilities: &ServerCapabilities,
    ) -> Result<()> {
        let modern = connection.revision.is_modern();
        let granted = if modern {
            SubscriptionFilter::default()
        } else {
            possible(&subscriber.filter, capabilities)
        };
        let uris = granted.resource_subscriptions.clone().unwrap_or_default();
        let awaited = if modern { 1 } else { uris.len() };
        if !subscriber.begin(connection, granted, awaited) {
            return Ok(());
        }
        let opened = if modern {
            self.listen(subscriber, connection)
        } else {
            self.subscribe(subscriber, connection, uris)
        };
        if subscriber.has_ended() {
            // The subscription was dropped in the meantime.
            self.remove(subscriber);
        }
        opened
    }

    fn listen(
        self: &Arc<Self>,
        subscriber: &Arc<Subscriber>,
        connection: &ClientConnection,
    ) -> Result<()> {
        let params = SubscriptionsListenRequestParams::new(subscriber.filter.clone());
        let params = params_text(method::SUBSCRIPTIONS_LISTEN, &params)?;
        let (all, ending) = (Arc::clone(self), Arc::clone(subscriber));
        let (peer, number) = (connection.peer.clone(), connection.number);
        let request_kind = connection.request_kind(method::SUBSCRIPTIONS_LISTEN, &params)?;
        let call = connection.peer.start_quick_request(
            method::SUBSCRIPTIONS_LISTEN,
            request_kind,
            |id, text| {
                // The entry is added before the request is sent. The acknowledgement may arrive
                // before the send returns.
                self.add((number, id), subscriber);
                connection
                    .envelope
                    .write(id, &params, &subscriber.meta, text)
            },
            move |outcome| all.end(&ending, &peer, number, outcome.map(drop)),
        )?;
        subscriber.keep(call, None);
        Ok(())
    }

    fn subscribe(
        self: &Arc<Self>,
        subscriber: &Arc<Subscriber>,
        connection: &ClientConnection,
        uris: Vec<String>,
    ) -> Result<()> {
        let (peer, number) = (&connection.peer, connection.number);
        self.add((number, 0), subscriber);
        if peer.is_closed() {
            let text = format!("the connection to '{}' is closed", peer.name());
            return Err(Error::new(ErrorKind::Closed, text));
        }
        let own = JsonObject::new();
        let mut counts = self.uris.lock();
        if counts.0 != number {
            *counts = (number, HashMap::new());
        }
        let mut unwanted = Vec::new();
        for uri in uris {
            let params = SubscribeRequestParams::new(&*uri);
            let params = params_text(method::RESOURCES_SUBSCRIBE, &params)?;
            *counts.1.entry(uri.clone()).or_default() += 1;
            let agreeing = Arc::clone(subscriber);
            let call = peer.start_quick_request(
                method::RESOURCES_SUBSCRIBE,
                RequestKind::default(),
                |id, text| connection.envelope.write(id, &params, &own, text),
                move |outcome| agreeing.agree(number, None, outcome.err()),
            );
            let call = match call {
                Ok(call) => call,
                Err(error) => {
                    unwanted.push(uri);
                    drop(counts);
                    self.unsubscribe(peer, number, &unwanted);
                    return Err(error);
                }
            };
            if !subscriber.keep(call, Some(&uri)) {
                unwanted.push(uri);
            }
        }
        drop(counts);
        self.unsubscribe(peer, number, &unwanted);
        Ok(())
    }

    /// Handles the end of a connection for all of its subscriptions. Runs on the thread that
    /// detected the end.
    pub(super) fn connection_ended(self: &Arc<Self>, peer: &Peer, number: u64) {
        let table = self.table.lock();
        let concerned = table.iter().filter(|entry| entry.opened.0 == number);
        let concerned: Vec<Arc<Subscriber>> = concerned
            .map(|entry| Arc::clone(&entry.subscriber))
            .collect();
        drop(table);
        for subscriber in concerned {
            let text = format!("the connection to '{}' has ended", peer.name());
            let error = Error::new(ErrorKind::Closed, text).sent(true);
            self.end(&subscriber, peer, number, Err(error));
        }
    }

    /// Handles the end of the request that keeps the subscription open, or the end of the
    /// connection. Runs on the thread that detected the end.
    fn end(
        self: &Arc<Self>,
        subscriber: &Arc<Subscriber>,
        peer: &Peer,
        number: u64,
        outcome: Result<()>,
    ) {
        let mut state = subscriber.state.lock();
        if !state.is_on(number) {
            return;
        }
        match state.phase {
            Phase::Opening => {
                // The server must agree before it ends the request. This also holds if the server
                // withdraws the request.
                let fault = match outcome {
                    Err(error) if error.kind() != ErrorKind::Cancelled => error,
                    _ => {
                        let text = format!(
                            "'{}' ended {} before it agreed to it",
                            peer.name(),
                            method::SUBSCRIPTIONS_LISTEN
                        );
                        Error::new(ErrorKind::Protocol, text).sent(true)
                    }
                };
                state.fault.get_or_insert(fault);
                drop(state);
                subscriber.changed.notify_all();
            }
            Phase::Open => {
                // On stdio a server may cancel the request instead of answering it.
                let clean = match &outcome {
                    Ok(()) => true,
                    Err(error) => error.kind() == ErrorKind::Cancelled,
                };
                let is_refused = outcome.is_err_and(|error| error.rpc().is_some());
                if !clean && !is_refused && peer.is_closed() && self.lasts() {
                    state.phase = Phase::Waiting;
                    return;
                }
                state.phase = Phase::Ending;
                drop(state);
                // Earlier events are still queued. So the subscription stays in the table until
                // these events were reported.
                let (subscriber, all) = (Arc::clone(subscriber), Arc::clone(self));
                peer.run_in_order(move || {
                    if all.drop_one(&subscriber) {
                        (subscriber.on_event)(Event::Ended { clean });
                    }
                });
            }
            Phase::Waiting | Phase::Ending | Phase::Over => {}
        }
    }

    /// Renews all waiting subscriptions on this connection, and reports to their callbacks that
    /// everything has changed. Blocks until the server has answered.
    pub(super) fn restore(
        self: &Arc<Self>,
        connection: &ClientConnection,
        capabilities: &ServerCapabilities,
        patience: Duration,
    ) {
        let waiting = self.waiting();
        let wait = Wait::new(Some(patience), None);
        let opened: Vec<(Arc<Subscriber>, Result<()>)> = waiting
            .into_iter()
            .map(|subscriber| {
                self.remove(&subscriber);
                let opened = self.open(&subscriber, connection, capabilities);
                (subscriber, opened)
            })
            .collect();
        for (subscriber, opened) in opened {
            let server = connection.peer.name();
            match opened.and_then(|()| subscriber.wait(&wait, &server)) {
                // The event is reported after the server has agreed. From then on the server
                // reports changes, so no change in between is missed.
                Ok(()) => {
                    let subscriber = Arc::clone(&subscriber);
                    connection
                        .peer
                        .run_in_order(move || subscriber.tell(Event::EverythingChanged));
                }
                Err(_) if connection.peer.is_closed() && self.lasts() => {
                    self.wait_for_next(&subscriber)
                }
                Err(_) => {
                    let all = Arc::clone(self);
                    connection
                        .peer
                        .run_in_order(move || all.end_one(&subscriber));
                }
            }
        }
    }

    /// Records that the client will not reconnect when the connection ends.
    pub(super) fn stop_lasting(&self) {
        self.lasting.store(false, Ordering::SeqCst);
    }

    /// Ends the subscriptions that wait for the next connection. Their callbacks run on this
    /// thread.
    pub(super) fn end_waiting(&self) {
        for subscriber in self.waiting() {
            self.end_one(&subscriber);
        }
    }

    pub(super) fn lasts(&self) -> bool {
        self.lasting.load(Ordering::SeqCst)
    }

    fn waiting(&self) -> Vec<Arc<Subscriber>> {
        let table = self.table.lock();
        let waiting = table
            .iter()
            .filter(|entry| entry.subscriber.state.lock().phase == Phase::Waiting);
        waiting.map(|entry| Arc::clone(&entry.subscriber)).collect()
    }

    fn wait_for_next(&self, subscriber: &Arc<Subscriber>) {
        let mut state = subscriber.state.lock();
        if state.phase != Phase::Over {
            state.phase = Phase::Waiting;
            state.fault = None;
            drop(state);
            self.remove(subscriber);
            self.add((0, 0), subscriber);
        }
    }

    /// Ends a subscription that failed. Notifies the host. Also notifies the server if the
    /// connection is open.
    fn end_one(&self, subscriber: &Arc<Subscriber>) {
        if self.drop_one(subscriber) {
            // A panic of this callback must not prevent other callbacks from running.
            _ = catch_unwind(AssertUnwindSafe(|| {
                (subscriber.on_event)(Event::Ended { clean: false });
            }));
        }
    }

    /// Ends a subscription because its handle was dropped or the subscription failed. Returns false
    /// if the subscription had already ended.
    pub(super) fn drop_one(&self, subscriber: &Arc<Subscriber>) -> bool {
        let mut state = subscriber.state.lock();
        let was_wanted = std::mem::replace(&mut state.phase, Phase::Over) != Phase::Over;
        let opened = state.opened.take();
        drop(state);
        self.remove(subscriber);
        if let Some(opened) = opened {
            for call in &opened.calls {
                call.cancel("the subscription is no longer wanted");
            }
            self.unsubscribe(&opened.peer, opened.number, &opened.uris);
        }
        was_wanted
    }

    fn add(&self, opened: (u64, i64), subscriber: &Arc<Subscriber>) {
        let subscriber = Arc::clone(subscriber);
        self.table.lock().push(Entry { opened, subscriber });
    }

    fn remove(&self, subscriber: &Arc<Subscriber>) {
        self.table
            .lock()
            .retain(|entry| !Arc::ptr_eq(subscriber, &entry.subscriber));
    }

    /// Handles the server's acknowledgement of a subscription. Runs on the reading thread.
    fn acknowledged(&self, notification: &Notification, number: u64) {
        let params: SubscriptionsAcknowledgedNotificationParams =
            match tree::read(notification.params()) {
                Ok(params) => params,
                Err(_) => return,
            };
        let Some(id) = id_of(params.meta.as_ref()) else {
            return;
        };
        let table = self.table.lock();
        let subscriber = table.iter().find(|entry| entry.opened == (number, id));
        let subscriber = subscriber.map(|entry| Arc::clone(&entry.subscriber));
        drop(table);
        if let Some(subscriber) = subscriber {
            subscriber.agree(number, Some(params.notifications), None);
        }
    }

    fn notified(&self, notification: &Notification, number: u64) {
        #[derive(Default, Deserialize)]
        struct Params {
            #[serde(default)]
            uri: Option<String>,
            #[serde(rename = "taskId", default)]
            task_id: Option<String>,
            #[serde(default)]
            status: Option<TaskStatus>,
            #[serde(rename = "_meta", default, deserialize_with = "tree::optional")]
            meta: Option<NotificationMetaObject>,
        }
        let params: Params = tree::read(notification.params()).unwrap_or_default();
        let event = match notification.method() {
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED => Event::ToolsChanged,
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED => Event::PromptsChanged,
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => Event::ResourcesChanged,
            method::NOTIFICATIONS_TASKS => match (params.task_id, params.status) {
                (Some(id), Some(status)) => Event::TaskChanged {
                    id,
                    status,
                    json: notification.params().to_owned(),
                },
                _ => return,
            },
            _ => match params.uri {
                Some(uri) => Event::ResourceUpdated(uri),
                None => return,
            },
        };
        let id = id_of(params.meta.as_ref());
        let table = self.table.lock();
        let concerned = table.iter().filter(|entry| {
            let (own_number, own_id) = entry.opened;
            own_number == number
                && entry
                    .subscriber
                    .concerns(&event, own_id != 0, Some(own_id) == id)
        });
        let concerned: Vec<Arc<Subscriber>> = concerned
            .map(|entry| Arc::clone(&entry.subscriber))
            .collect();
        drop(table);
        for subscriber in concerned {
            subscriber.tell(event.clone());
        }
    }

    /// Subscribes again to the resources of all subscriptions, because the server has opened a new
    /// session on this connection.
    pub(super) fn subscribe_again(&self, peer: &Peer, number: u64) {
        let counts = self.uris.lock();
        for uri in counts.1.keys().filter(|_| counts.0 == number) {
            let params = SubscribeRequestParams::new(&**uri);
            let call = peer.start_quick_request(
                method::RESOURCES_SUBSCRIBE,
                RequestKind::default(),
                |_, text| serde_json::to_writer(text, &params),
                drop,
            );
            // Sending fails only if the server has gone.
            if let Ok(call) = call {
                call.forget();
            }
        }
    }

    /// Reports to the legacy subscriptions of a connection that events may have been missed.
    pub(super) fn everything_changed(&self, peer: &Peer, number: u64) {
        let table = self.table.lock();
        let concerned = table.iter().filter(|entry| {
            entry.opened == (number, 0) && entry.subscriber.state.lock().phase == Phase::Open
        });
        let concerned: Vec<Arc<Subscriber>> = concerned
            .map(|entry| Arc::clone(&entry.subscriber))
            .collect();
        drop(table);
        for subscriber in concerned {
            peer.run_in_order(move || subscriber.tell(Event::EverythingChanged));
        }
    }

    /// Unsubscribes from the resources in `uris`, except those that another subscription of the
    /// connection uses.
    fn unsubscribe(&self, peer: &Peer, number: u64, uris: &[String]) {
        let mut counts = self.uris.lock();
        for uri in uris {
            if counts.0 != number {
                // The connection has gone, and its subscriptions have gone with it.
                return;
            }
            if let Some(count) = counts.1.get_mut(uri) {
                *count -= 1;
                if *count > 0 {
                    continue;
                }
                counts.1.remove(uri);
            }
            let params = SubscribeRequestParams::new(&**uri);
            let call = peer.start_quick_request(
                method::RESOURCES_UNSUBSCRIBE,
                RequestKind::default(),
                |_, text| serde_json::to_writer(text, &params),
                drop,
            );
            // Sending fails only if the server has gone.
            if let Ok(call) = call {
                call.forget();
            }
        }
    }
}

fn id_of(meta: Option<&NotificationMetaObject>) -> Option<i64> {
    meta?.subscription_id.as_ref()?.as_i64()
}

/// Returns the part of a filter that a legacy server with these capabilities supports.
fn possible(filter: &SubscriptionFilter, capabilities: &ServerCapabilities) -> SubscriptionFilter {
    let tools = capabilities.tools.as_ref();
    let prompts = capabilities.prompts.as_ref();
    let resources = capabilities.resources.as_ref();
    let both = |asked: Option<bool>, can: Option<Option<bool>>| {
        (asked == Some(true) && can.flatten() == Some(true)).then_some(true)
    };
    let can_subscribe = resources.and_then(|resources| resources.subscribe) == Some(true);
    SubscriptionFilter {
        tools_list_changed: both(
            filter.tools_list_changed,
            tools.map(|tools| tools.list_changed),
        ),
        prompts_list_changed: both(
            filter.prompts_list_changed,
            prompts.map(|prompts| prompts.list_changed),
        ),
        resources_list_changed: both(
            filter.resources_list_changed,
            resources.map(|resources| resources.list_changed),
        ),
        resource_subscriptions: filter
            .resource_subscriptions
            .clone()
            .filter(|_| can_subscribe),
        task_ids: None,
        extra: Default::default(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_cut_to_what_a_server_can() {
        fn check(capabilities: &str, expected: &str) {
            let capabilities = serde_json::from_str(capabilities).expect("JSON");
            let filter = SubscriptionFilter::default()
                .tools_list_changed(true)
                .prompts_list_changed(false)
                .resource_subscriptions(vec!["a:b".to_owned()]);
            let cut = possible(&filter, &capabilities);
            assert_eq!(serde_json::to_string(&cut).expect("JSON"), expected);
        }
        check("{}", "{}");
        check(r#"{"tools":{},"resources":{}}"#, "{}");
        check(
            r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true}}"#,
            r#"{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}"#,
        );
    }
}
