//! What changes on the server, told in one way in both eras.
//!
//! ```text
//!           modern                                          legacy
//!  open     subscriptions/listen, until it is acknowledged  resources/subscribe for each resource
//!  events   those that carry the id of that request         list_changed and updated, sorted out here
//!  end      its result, or notifications/cancelled          –
//!  drop     notifications/cancelled                         resources/unsubscribe
//! ```
//!
//! Answers and the acknowledgement are looked at where they are read, so that a subscription can be opened from any callback. Events and
//! the end go through the connection's ordered notification thread.
//!
//! **Locks:** `uris` before the table, the table before a subscription's state; none is held while user code runs.
//!
//! Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28); Server Features, Resources, "Subscriptions" (up to 2025-11-25).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::Client;
use super::envelope::params_text;
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::Notification;
use crate::protocol::{CallOptions, CancelToken, Handlers, Peer, StartedCall};
use crate::schema::{
    JsonObject, NotificationMetaObject, ServerCapabilities, SubscribeRequestParams,
    SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams, method,
};
use crate::sync::{Condvar, Mutex};

/// Something that a [`Subscription`] is about has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The list of tools is another one.
    ToolsChanged,
    /// The list of prompts is another one.
    PromptsChanged,
    /// The list of resources is another one.
    ResourcesChanged,
    /// What this resource holds is something else. It may be a part of the resource that was asked for.
    ResourceUpdated(String),
    /// Nothing more will be told. The last event.
    #[non_exhaustive]
    Ended {
        /// Whether the server ended the subscription in order. If not, the connection was lost or closed, or the server failed: changes may
        /// have been missed.
        clean: bool,
    },
}

/// Changes on the server are told as long as this is kept; dropping it ends that.
///
/// It does not keep the connection open.
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    told: Arc<Told>,
    all: Arc<Subscriptions>,
    peer: Peer,
    granted: SubscriptionFilter,
    /// The request that is kept open, or those that opened it.
    calls: Vec<StartedCall>,
    /// The resources to be unsubscribed, in the legacy era.
    uris: Vec<String>,
}

impl Subscription {
    /// Which changes will be told: what was asked for, less what the server can't. Compare it with what was asked for.
    pub fn granted(&self) -> &SubscriptionFilter {
        &self.granted
    }

    /// Whether nothing more will be told.
    pub fn has_ended(&self) -> bool {
        self.told.state.lock().phase == Phase::Over
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.told.state.lock().phase = Phase::Over;
        self.all.remove(&self.told);
        for call in &self.calls {
            call.cancel("the subscription is no longer wanted");
        }
        if !self.uris.is_empty() {
            self.all.unsubscribe(&self.peer, &self.uris);
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("granted", &self.granted)
            .field("has_ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Has changes on the server told to `on_event`, until the handle is dropped or [`Event::Ended`] comes.
    ///
    /// Blocks until the server has agreed, at most 60 s. It agrees to what it can: see [`Subscription::granted`]. `on_event` runs on a thread
    /// of the connection, one event at a time, in order, maybe before this returns; it may call the server, and drop the handle.
    ///
    /// In the legacy era changes of lists are told by servers on their own accord; this sorts them out, and subscribes to resources.
    ///
    /// Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28); Server Features, Resources, "Subscriptions" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Peer`] when the server refuses, [`ErrorKind::Timeout`] (the server is told), [`ErrorKind::Closed`] when it has gone.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
    /// use mcplink::client::Event;
    /// use mcplink::schema::SubscriptionFilter;
    ///
    /// let filter = SubscriptionFilter::default().tools_list_changed(true);
    /// let subscription = client.subscribe(filter, |event| match event {
    ///     Event::ToolsChanged => println!("there are other tools now"),
    ///     Event::Ended { clean: false, .. } => println!("connect again, and look what has changed"),
    ///     _ => {}
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe(
        &self,
        filter: SubscriptionFilter,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Subscription> {
        self.subscribe_with(filter, CallOptions::new(), on_event)
    }

    /// The same with a timeout for the opening, a cancel token for it, or members of `_meta`.
    ///
    /// # Errors
    ///
    /// As [`subscribe`](Self::subscribe); [`ErrorKind::Cancelled`] when the token was triggered before the server agreed.
    pub fn subscribe_with(
        &self,
        filter: SubscriptionFilter,
        options: CallOptions<'_>,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Subscription> {
        let modern = self.revision().is_modern();
        let granted = if modern {
            SubscriptionFilter::default()
        } else {
            possible(&filter, self.capabilities())
        };
        let uris = granted.resource_subscriptions.clone().unwrap_or_default();
        let awaited = if modern { 1 } else { uris.len() };
        let (timeout, cancel) = options.patience();
        let started = Instant::now();
        let wait = Wait {
            started,
            timeout,
            deadline: timeout.and_then(|timeout| started.checked_add(timeout)),
            cancel,
        };
        let mut subscription = Subscription {
            told: Arc::new(Told::new(filter, modern, awaited, Box::new(on_event))),
            all: Arc::clone(&self.0.subscriptions),
            peer: self.0.connection.peer(),
            granted,
            calls: Vec::new(),
            uris: Vec::new(),
        };
        if modern {
            self.listen(&mut subscription, &options)?;
        } else {
            self.subscribe_resources(&mut subscription, uris)?;
        }
        let agreed = subscription.told.wait(&wait, &self.server_name())?;
        if let Some(granted) = agreed {
            subscription.granted = granted;
        }
        Ok(subscription)
    }

    fn listen(&self, subscription: &mut Subscription, options: &CallOptions<'_>) -> Result<()> {
        let filter = subscription.told.filter.clone();
        let params = SubscriptionsListenRequestParams::new(filter);
        let params = params_text(method::SUBSCRIPTIONS_LISTEN, &params)?;
        let meta = self.own_meta(options);
        let (all, told) = (
            Arc::clone(&subscription.all),
            Arc::clone(&subscription.told),
        );
        let peer = subscription.peer.clone();
        let call = subscription.peer.start_quick_request(
            method::SUBSCRIPTIONS_LISTEN,
            |id, text| {
                // The acknowledgement may come before the sending returns.
                subscription.all.add(id, &subscription.told);
                self.0.envelope.write(id, &params, &meta, text)
            },
            move |outcome| told.end(&all, &peer, outcome.map(drop)),
        )?;
        subscription.calls.push(call);
        Ok(())
    }

    fn subscribe_resources(
        &self,
        subscription: &mut Subscription,
        uris: Vec<String>,
    ) -> Result<()> {
        let all = Arc::clone(&subscription.all);
        all.add(0, &subscription.told);
        if subscription.peer.is_closed() {
            let text = format!("the connection to '{}' is closed", self.server_name());
            return Err(Error::new(ErrorKind::Closed, text));
        }
        let own = JsonObject::new();
        let mut counts = all.uris.lock();
        for uri in uris {
            let params = SubscribeRequestParams::new(&*uri);
            let params = params_text(method::RESOURCES_SUBSCRIBE, &params)?;
            *counts.entry(uri.clone()).or_default() += 1;
            subscription.uris.push(uri);
            let told = Arc::clone(&subscription.told);
            let call = subscription.peer.start_quick_request(
                method::RESOURCES_SUBSCRIBE,
                |id, text| self.0.envelope.write(id, &params, &own, text),
                move |outcome| told.agree(None, outcome.err()),
            )?;
            subscription.calls.push(call);
        }
        Ok(())
    }
}

/// The part of a filter that a server of the legacy era can fulfil.
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
        extra: Default::default(),
    }
}

/// All subscriptions of a client.
#[derive(Default)]
pub(super) struct Subscriptions {
    /// With the id of the request that each was opened with.
    table: Mutex<Vec<(i64, Arc<Told>)>>,
    /// How many subscriptions each resource has in the legacy era. Held while a request about it is sent, so that they leave in order.
    uris: Mutex<HashMap<String, usize>>,
}

impl Subscriptions {
    /// Adds what subscriptions need to the handlers of a connection.
    pub(super) fn listen_in(self: &Arc<Self>, handlers: Handlers) -> Handlers {
        let this = Arc::clone(self);
        let handlers = handlers.quick_notification(
            method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
            move |_, notification| this.acknowledged(notification),
        );
        let this = Arc::clone(self);
        let handlers = handlers.farewell(move |peer| this.connection_ended(peer));
        [
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
            method::NOTIFICATIONS_RESOURCES_UPDATED,
        ]
        .into_iter()
        .fold(handlers, |handlers, method| {
            let this = Arc::clone(self);
            handlers.notification_too(method, move |notification| this.notified(notification))
        })
    }

    /// The connection has ended.
    fn connection_ended(self: &Arc<Self>, peer: &Peer) {
        let all = self.table.lock().clone();
        for (_, told) in all {
            let text = format!("the connection to '{}' has ended", peer.name());
            let error = Error::new(ErrorKind::Closed, text).sent(true);
            told.end(self, peer, Err(error));
        }
    }

    fn add(&self, id: i64, told: &Arc<Told>) {
        self.table.lock().push((id, Arc::clone(told)));
    }

    fn remove(&self, told: &Arc<Told>) {
        self.table
            .lock()
            .retain(|(_, other)| !Arc::ptr_eq(told, other));
    }

    /// Runs on the reading thread.
    fn acknowledged(&self, notification: &Notification) {
        let params: SubscriptionsAcknowledgedNotificationParams =
            match serde_json::from_str(notification.params()) {
                Ok(params) => params,
                Err(_) => return,
            };
        let id = id_of(params.meta.as_ref());
        let table = self.table.lock();
        let told = table.iter().find(|(own, _)| Some(*own) == id);
        let told = told.map(|(_, told)| Arc::clone(told));
        drop(table);
        if let Some(told) = told {
            told.agree(Some(params.notifications), None);
        }
    }

    fn notified(&self, notification: &Notification) {
        #[derive(Default, Deserialize)]
        struct Params {
            #[serde(default)]
            uri: Option<String>,
            #[serde(rename = "_meta", default)]
            meta: Option<NotificationMetaObject>,
        }
        let params: Params = serde_json::from_str(notification.params()).unwrap_or_default();
        let event = match (notification.method(), params.uri) {
            (method::NOTIFICATIONS_TOOLS_LIST_CHANGED, _) => Event::ToolsChanged,
            (method::NOTIFICATIONS_PROMPTS_LIST_CHANGED, _) => Event::PromptsChanged,
            (method::NOTIFICATIONS_RESOURCES_LIST_CHANGED, _) => Event::ResourcesChanged,
            (_, Some(uri)) => Event::ResourceUpdated(uri),
            (_, None) => return,
        };
        let id = id_of(params.meta.as_ref());
        let table = self.table.lock();
        let concerned = table
            .iter()
            .filter(|(own, told)| told.concerns(&event, Some(*own) == id))
            .map(|(_, told)| Arc::clone(told));
        let concerned: Vec<Arc<Told>> = concerned.collect();
        drop(table);
        for told in concerned {
            told.tell(event.clone());
        }
    }

    /// Ends subscriptions to resources that nobody else has.
    fn unsubscribe(&self, peer: &Peer, uris: &[String]) {
        let mut counts = self.uris.lock();
        for uri in uris {
            if let Some(count) = counts.get_mut(uri) {
                *count -= 1;
                if *count > 0 {
                    continue;
                }
                counts.remove(uri);
            }
            let params = SubscribeRequestParams::new(&**uri);
            let call = peer.start_quick_request(
                method::RESOURCES_UNSUBSCRIBE,
                |_, text| serde_json::to_writer(text, &params),
                drop,
            );
            // If it can't be sent, the server has gone.
            if let Ok(call) = call {
                call.forget();
            }
        }
    }
}

fn id_of(meta: Option<&NotificationMetaObject>) -> Option<i64> {
    meta?.subscription_id.as_ref()?.as_i64()
}

/// Who is told of changes.
struct Told {
    filter: SubscriptionFilter,
    /// Whether it has a request that is kept open, whose id all its events carry.
    listens: bool,
    on_event: Box<dyn Fn(Event) + Send + Sync>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    phase: Phase,
    /// How many answers are still to come before it is open.
    awaited: usize,
    granted: Option<SubscriptionFilter>,
    fault: Option<Error>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Opening,
    Open,
    Over,
}

/// How long the opening may take.
struct Wait {
    started: Instant,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
    cancel: Option<CancelToken>,
}

impl Told {
    fn new(
        filter: SubscriptionFilter,
        listens: bool,
        awaited: usize,
        on_event: Box<dyn Fn(Event) + Send + Sync>,
    ) -> Self {
        let phase = if awaited == 0 {
            Phase::Open
        } else {
            Phase::Opening
        };
        let state = State {
            phase,
            awaited,
            granted: None,
            fault: None,
        };
        Self {
            filter,
            listens,
            on_event,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Whether an event is one that was asked for. `named` says that it carries the id of this subscription.
    fn concerns(&self, event: &Event, named: bool) -> bool {
        let filter = &self.filter;
        let uris = filter.resource_subscriptions.as_deref();
        let asked = match event {
            Event::ToolsChanged => filter.tools_list_changed == Some(true),
            Event::PromptsChanged => filter.prompts_list_changed == Some(true),
            Event::ResourcesChanged => filter.resources_list_changed == Some(true),
            // Which resource is part of which one only the server knows.
            Event::ResourceUpdated(_) if self.listens => uris.is_some_and(|uris| !uris.is_empty()),
            Event::ResourceUpdated(uri) => {
                uris.is_some_and(|uris| uris.iter().any(|whole| is_part(uri, whole)))
            }
            Event::Ended { .. } => true,
        };
        asked && (named || !self.listens)
    }

    fn tell(&self, event: Event) {
        if self.state.lock().phase != Phase::Over {
            (self.on_event)(event);
        }
    }

    /// The server agreed, or not. Runs where it was read.
    fn agree(&self, granted: Option<SubscriptionFilter>, fault: Option<Error>) {
        let mut state = self.state.lock();
        state.awaited = state.awaited.saturating_sub(1);
        if let Some(granted) = granted {
            state.granted.get_or_insert(granted);
        }
        if let Some(fault) = fault {
            state.fault.get_or_insert(fault);
        } else if state.awaited == 0 && state.phase == Phase::Opening && state.fault.is_none() {
            state.phase = Phase::Open;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Nothing more comes. Runs where that was found out.
    fn end(self: &Arc<Self>, all: &Arc<Subscriptions>, peer: &Peer, outcome: Result<()>) {
        let mut state = self.state.lock();
        match state.phase {
            Phase::Opening => {
                // Ended in order or taken back: either way it has not agreed, which it has to before.
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
                self.changed.notify_all();
            }
            Phase::Open => {
                drop(state);
                // On stdio a server may take its request back instead of answering it.
                let clean =
                    outcome.map_or_else(|error| error.kind() == ErrorKind::Cancelled, |()| true);
                // Events that came before are still to be told: it is in the table until then.
                let (told, all) = (Arc::clone(self), Arc::clone(all));
                peer.run_in_order(move || {
                    all.remove(&told);
                    let mut state = told.state.lock();
                    let was_open = state.phase == Phase::Open;
                    state.phase = Phase::Over;
                    drop(state);
                    if was_open {
                        (told.on_event)(Event::Ended { clean });
                    }
                });
            }
            Phase::Over => {}
        }
    }

    /// Waits until the server has agreed.
    fn wait(self: &Arc<Self>, wait: &Wait, server: &str) -> Result<Option<SubscriptionFilter>> {
        let told = Arc::clone(self);
        let _nudge = wait.cancel.as_ref().map(|token| {
            token.on_trigger(move || {
                // With the lock, so that it does not fall between the look and the wait.
                let _state = told.state.lock();
                told.changed.notify_all();
            })
        });
        let mut state = self.state.lock();
        loop {
            if let Some(fault) = state.fault.take() {
                return Err(fault);
            }
            if state.phase != Phase::Opening {
                return Ok(state.granted.take());
            }
            let is_triggered = wait.cancel.as_ref().is_some_and(CancelToken::is_triggered);
            if is_triggered {
                let text = format!("the subscription to changes of '{server}' was cancelled");
                return Err(Error::new(ErrorKind::Cancelled, text).sent(true));
            }
            if wait.deadline.is_some_and(|at| Instant::now() >= at) {
                let text = format!(
                    "'{server}' did not agree to a subscription after {} (timeout is {})",
                    Span(wait.started.elapsed()),
                    Span(wait.timeout.unwrap_or_default())
                );
                return Err(Error::new(ErrorKind::Timeout, text).sent(true));
            }
            state = self.changed.wait_until(state, wait.deadline);
        }
    }
}

/// Whether a resource is another one, or lies below it.
pub(super) fn is_part(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '#', '?'])
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_resource_are_told_from_its_neighbours() {
        fn check(uri: &str, expected: bool) {
            assert_eq!(is_part(uri, "file:///a/b"), expected, "{uri}");
        }
        check("file:///a/b", true);
        check("file:///a/b/c.txt", true);
        check("file:///a/b#l3", true);
        check("file:///a/bc", false);
        check("file:///a", false);
        assert!(is_part("file:///a/b", "file:///a/"));
    }

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
