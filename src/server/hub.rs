//! Who is told of changes, and what.
//!
//! One publish reaches both eras. A legacy client is told on its connection, from `notifications/initialized` on; a modern one on each
//! `subscriptions/listen` stream that asked for it.
//!
//! ```text
//!  publish ──▶ hub ──▶ audience of a connection ──▶ the connection, if it is legacy and initialized
//!                                              ╰──▶ each listen exchange ──▶ its queue, written by the connection's threads
//! ```
//!
//! **Nobody waits:** publishing only queues. A subscriber for whom [`max_backlog`](crate::transport::Limits::max_backlog) messages wait is
//! ended: a stream with its final result, a legacy client with its connection. An open stream is a table entry; it occupies no thread and
//! does not count as a request in hand.
//!
//! **Invariant:** an audience is in the hub while its connection lives and somebody on it can be told. Acknowledgement and entry happen
//! under the audience's lock, so that nothing is told before the one and nothing lost after the other.
//!
//! **Locks:** an audience's, then the hub's or those of the connection. Nothing is written, ended or dropped under an audience's lock.
//!
//! Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28); Server Features, "Resources", "Subscriptions" (up to 2025-11-25).

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use serde::Serialize;

use super::Inner;
use super::conversation::Terms;
use super::dispatch::{Link, link_for, link_of, read, send};
use super::failure::{Failure, HandlerError};
use super::guard::Primitive;
use super::held::{Hold, LEAST};
use super::paging::List;
use super::resources::check_uri;
use super::tasks::{TaskText, need_tasks};
use crate::error::{ErrorCode, RpcError};
use crate::jsonrpc::{self, Request, RequestId};
use crate::protocol::{OnTrigger, Peer, Responder};
use crate::schema::{
    CancelledNotificationParams, EmptyResult, LoggingMessageNotificationParams,
    NotificationMetaObject, NotificationParams, ProtocolVersion, ResourceUpdatedNotificationParams,
    ServerCapabilities, SubscribeRequestParams, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
    SubscriptionsListenResult, method,
};
use crate::sync::Mutex;

/// What happened.
#[derive(Clone, Copy)]
pub(super) enum Event<'a> {
    ToolsChanged,
    PromptsChanged,
    ResourcesChanged,
    Updated(&'a str),
    /// The task of this id is further.
    TaskChanged(&'a str, &'a TaskText<'a>),
    /// For clients of the legacy era that want to know.
    Log(&'a LoggingMessageNotificationParams),
}

impl Event<'_> {
    fn method(self) -> &'static str {
        match self {
            Self::ToolsChanged => method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
            Self::PromptsChanged => method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
            Self::ResourcesChanged => method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
            Self::Updated(_) => method::NOTIFICATIONS_RESOURCES_UPDATED,
            Self::TaskChanged(..) => method::NOTIFICATIONS_TASKS,
            Self::Log(_) => method::NOTIFICATIONS_MESSAGE,
        }
    }

    /// The message, on the stream of a subscription or on none.
    fn text(self, subscription: Option<&RequestId>) -> Vec<u8> {
        let meta = subscription.map(|id| NotificationMetaObject::of_subscription(id.clone()));
        match self {
            Self::Updated(uri) => {
                let mut params = ResourceUpdatedNotificationParams::new(uri);
                params.meta = meta;
                notification(self.method(), &params)
            }
            Self::TaskChanged(_, write) => write(subscription),
            Self::Log(params) => notification(self.method(), params),
            _ => notification(self.method(), &NotificationParams { meta }),
        }
    }
}

pub(super) fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    jsonrpc::write_notification(method, params).expect("texts and ids are JSON")
}

/// What a subscriber wants to be told.
#[derive(Debug, Default)]
struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
    /// None while there are none: most subscribers name nothing.
    uris: Option<Names>,
    tasks: Option<Names>,
}

/// Boxed: one pointer for the many that have none.
type Names = Box<BTreeSet<String>>;

impl Wanted {
    fn wants(&self, event: Event<'_>) -> bool {
        match event {
            Event::ToolsChanged => self.tools,
            Event::PromptsChanged => self.prompts,
            Event::ResourcesChanged => self.resources,
            Event::Updated(uri) => self.names(uri),
            Event::TaskChanged(id, _) => self.tasks.as_ref().is_some_and(|ids| ids.contains(id)),
            // What a client wants of these is known to its conversation.
            Event::Log(_) => false,
        }
    }

    fn names(&self, uri: &str) -> bool {
        self.uris.as_ref().is_some_and(|uris| uris.contains(uri))
    }

    /// What the resources and tasks that are named count.
    fn weight(&self) -> usize {
        let named = [&self.uris, &self.tasks].into_iter().flatten();
        let names = named.flat_map(|names| names.iter());
        names.map(|name| weight_of(name)).sum()
    }

    fn add(&mut self, uri: String) {
        self.uris.get_or_insert_default().insert(uri);
    }

    /// Whether it was there.
    fn remove(&mut self, uri: &str) -> bool {
        let uris = self.uris.as_mut();
        uris.is_some_and(|uris| uris.remove(uri))
    }

    fn of(filter: &SubscriptionFilter) -> Self {
        let mut wanted = Self {
            tools: filter.tools_list_changed == Some(true),
            prompts: filter.prompts_list_changed == Some(true),
            resources: filter.resources_list_changed == Some(true),
            uris: None,
            tasks: None,
        };
        for uri in filter.resource_subscriptions.iter().flatten() {
            wanted.add(uri.clone());
        }
        for id in filter.task_ids.iter().flatten() {
            wanted.tasks.get_or_insert_default().insert(id.clone());
        }
        wanted
    }
}

/// What a resource or a task counts against the limit: its name is kept, and may be as long as a message.
fn weight_of(name: &str) -> usize {
    1 + name.len() / 1024
}

/// What the set of the resources takes for each, beside its address.
const EACH_RESOURCE: usize = 128;

/// How many bytes that is at most of all legacy clients together: what so many of them may take that use up `max_subscriptions`.
const FULL_CLIENTS: usize = 256;

/// All connections on which somebody can be told.
#[derive(Default)]
pub(super) struct Hub(Mutex<Vec<Arc<Audience>>>);

impl Hub {
    pub(super) fn publish(&self, event: Event<'_>) {
        for audience in self.all() {
            audience.tell(event);
        }
    }

    /// Ends every stream in order.
    pub(super) fn end_streams(&self) {
        for audience in self.all() {
            audience.end_streams();
        }
    }

    fn all(&self) -> Vec<Arc<Audience>> {
        self.0.lock().clone()
    }

    fn join(&self, audience: &Arc<Audience>) {
        let mut all = self.0.lock();
        if !all.iter().any(|other| Arc::ptr_eq(other, audience)) {
            all.push(Arc::clone(audience));
        }
    }

    fn leave(&self, audience: &Arc<Audience>) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, audience));
    }
}

/// Who can be told on one connection.
#[derive(Default)]
pub(super) struct Audience(Mutex<State>);

#[derive(Default)]
struct State {
    /// The connection, from the first one who can be told until it ends.
    peer: Option<Peer>,
    /// The legacy client is initialized.
    initialized: bool,
    legacy: Wanted,
    /// What it counts for among those of all clients.
    legacy_hold: Option<Hold>,
    legacy_backlog: Option<Arc<()>>,
    streams: Vec<Stream>,
    /// Takes out the streams that clients have cancelled; made with the first stream, for all of them.
    forget: Option<Arc<dyn Fn() + Send + Sync>>,
    /// The connection has ended.
    gone: bool,
}

/// What a `subscriptions/listen` begins with.
struct Opening {
    granted: SubscriptionFilter,
    wanted: Wanted,
    /// How far each of its tasks is.
    tasks: Vec<Box<TaskText<'static>>>,
    revision: ProtocolVersion,
}

/// A `subscriptions/listen` that is not over.
struct Stream {
    responder: Responder,
    wanted: Wanted,
    backlog: Option<Arc<()>>,
    revision: ProtocolVersion,
    /// Takes the stream out when the client cancels it.
    _on_cancel: OnTrigger,
}

impl Stream {
    fn end(self) {
        let id = self.responder.id().clone();
        let mut params =
            CancelledNotificationParams::new(id.clone()).reason("the server ends the subscription");
        params.meta = Some(NotificationMetaObject::of_subscription(id));
        let farewell = notification(method::NOTIFICATIONS_CANCELLED, &params);
        let mut result = SubscriptionsListenResult::new(self.responder.id().clone());
        let server = &link_for(&self.responder).server;
        if let Some(meta) = server.result_meta(self.revision) {
            result.meta.get_or_insert_default().server_info = meta.server_info;
        }
        // It fails when the client has cancelled or gone meanwhile.
        _ = self.responder.conclude(farewell, &result);
    }
}

impl State {
    /// What counts against the limit.
    fn weight(&self) -> usize {
        let streams = self.streams.iter().map(|stream| 1 + stream.wanted.weight());
        streams.sum::<usize>() + self.legacy.weight()
    }

    /// The same with one stream more.
    fn weight_with(&self, wanted: &Wanted) -> usize {
        self.weight() + 1 + wanted.weight()
    }

    fn take_cancelled(&mut self) -> Vec<Stream> {
        let cancelled = |stream: &mut Stream| stream.responder.is_cancelled();
        self.streams.extract_if(.., cancelled).collect()
    }
}

impl Audience {
    /// What the answer to `initialize` declared, and may be told therefore.
    pub(super) fn declare(&self, capabilities: &ServerCapabilities) {
        let mut state = self.0.lock();
        let [tools, prompts, resources] = [
            capabilities.tools.as_ref().map(|it| it.list_changed),
            capabilities.prompts.as_ref().map(|it| it.list_changed),
            capabilities.resources.as_ref().map(|it| it.list_changed),
        ]
        .map(|changed| changed.flatten() == Some(true));
        state.legacy.tools = tools;
        state.legacy.prompts = prompts;
        state.legacy.resources = resources;
    }

    fn tell(&self, event: Event<'_>) {
        let mut state = self.0.lock();
        let Some(peer) = state.peer.clone() else {
            return;
        };
        let mut posted = false;
        let mut stuck = false;
        let wanted = match event {
            Event::Log(params) => link_of(&peer).conversation.wants_log(&params.level),
            _ => state.legacy.wants(event),
        };
        if state.initialized && wanted {
            let backlog = &mut state.legacy_backlog;
            let sent = peer.core().post(None, event.text(None), backlog);
            // Who misses a log message has not missed a change.
            let must_know = !matches!(event, Event::Log(_));
            (posted, stuck) = (true, must_know && matches!(sent, Ok(false)));
        }
        let full = state.streams.extract_if(.., |stream| {
            if !stream.wanted.wants(event) {
                return false;
            }
            posted = true;
            let text = event.text(Some(stream.responder.id()));
            matches!(stream.responder.post(text, &mut stream.backlog), Ok(false))
        });
        let full: Vec<Stream> = full.collect();
        let cancelled = state.take_cancelled();
        drop(state);
        drop(cancelled);
        full.into_iter().for_each(Stream::end);
        if stuck {
            peer.core().give_up_reading();
        } else if posted {
            peer.core().write_soon();
        }
    }

    pub(super) fn end_streams(&self) {
        let mut state = self.0.lock();
        let (streams, peer) = (std::mem::take(&mut state.streams), state.peer.clone());
        drop(state);
        let any = !streams.is_empty();
        streams.into_iter().for_each(Stream::end);
        if let Some(peer) = peer.filter(|_| any) {
            peer.core().write_soon();
        }
    }

    /// What takes out the streams that clients have cancelled.
    fn forgetting(self: &Arc<Self>) -> Arc<dyn Fn() + Send + Sync> {
        let mut state = self.0.lock();
        let forget = state.forget.get_or_insert_with(|| {
            let audience: Weak<Self> = Arc::downgrade(self);
            Arc::new(move || {
                if let Some(audience) = audience.upgrade() {
                    let cancelled = audience.0.lock().take_cancelled();
                    drop(cancelled);
                }
            })
        });
        Arc::clone(forget)
    }
}

fn too_many(max: usize) -> RpcError {
    let text = format!(
        "there are {max} subscriptions already (max_subscriptions; of modern HTTP clients together max_streams)"
    );
    RpcError::new(ErrorCode::INTERNAL_ERROR, text)
}

impl Link {
    /// The legacy client says that it is ready.
    pub(super) fn initialized(&self, peer: &Peer) {
        if !self.conversation.is_agreed() {
            return;
        }
        let mut state = self.audience.0.lock();
        if state.gone {
            return;
        }
        peer.core().start_pinging(
            method::PING,
            Arc::new(|_, text| {
                text.extend_from_slice(b"{}");
                Ok(())
            }),
        );
        state.initialized = true;
        state.peer.get_or_insert_with(|| peer.clone());
        self.server.hub.join(&self.audience);
    }

    /// The connection has ended, or will in a moment.
    pub(super) fn leave(&self) {
        self.server.hub.leave(&self.audience);
        self.audience.end_streams();
        let mut state = self.audience.0.lock();
        let left = State {
            gone: true,
            ..State::default()
        };
        let left = std::mem::replace(&mut *state, left);
        drop(state);
        // One that slipped in meanwhile.
        left.streams.into_iter().for_each(Stream::end);
        self.server.hub.leave(&self.audience);
    }

    pub(super) fn listen(&self, request: &Request, responder: Responder) {
        match self.open_stream(request, &responder) {
            Ok(opening) => self.start_stream(responder, opening),
            Err(error) => send::<()>(Err(error), responder),
        }
    }

    fn open_stream(&self, request: &Request, responder: &Responder) -> Result<Opening, RpcError> {
        if responder.is_batched() {
            return Err(RpcError::invalid_request(
                "subscriptions/listen must not be part of a batch",
            ));
        }
        let mut params: SubscriptionsListenRequestParams = read(request)?;
        let terms = self.terms(responder, params.meta.as_mut())?;
        self.need(request, terms.revision.is_modern())?;
        let tasks = self.server.tasks.as_ref();
        let followed = tasks.zip(params.notifications.task_ids.take());
        if followed.is_some() {
            need_tasks(&terms)?;
        }
        let meta = params.meta.as_ref();
        let access = self.access(request, responder, None, &terms, meta);
        self.admit(&access)?;
        let mut granted = self.server.grant(params.notifications);
        let mut tasks = Vec::new();
        if let Some((all, mut ids)) = followed {
            tasks = all.follow(&mut ids, self.principal_of(responder));
            granted.task_ids = Some(ids).filter(|ids| !ids.is_empty());
        }
        let mut wanted = Wanted::of(&granted);
        if let Some(uris) = &mut granted.resource_subscriptions
            && !(self.server.guards.is_empty() && self.server.requirements.is_empty())
        {
            // Guards are asked about no more than there is room for.
            let max = responder.core().limits().max_subscriptions;
            let mut state = self.audience.0.lock();
            let cancelled = state.take_cancelled();
            let has_room = state.weight_with(&wanted) <= max;
            drop(state);
            drop(cancelled);
            if !has_room {
                return Err(too_many(max));
            }
            uris.retain(|uri| {
                let resource = access.about(Primitive::Resource(uri));
                let Err(error) = self.ask_guards(&resource) else {
                    return true;
                };
                wanted.remove(uri);
                matches!(error.0, Failure::NotFound)
            });
        }
        Ok(Opening {
            granted,
            wanted,
            tasks,
            revision: terms.revision,
        })
    }

    fn start_stream(&self, mut responder: Responder, opening: Opening) {
        let Opening {
            granted,
            wanted,
            tasks,
            revision,
        } = opening;
        let peer = responder.peer();
        let max = peer.core().limits().max_subscriptions;
        let forget = self.audience.forgetting();
        let on_cancel = responder.cancel_token().on_trigger_shared(&forget);
        let id = responder.id().clone();
        let ack = SubscriptionsAcknowledgedNotificationParams::new(id.clone(), granted);
        let ack = notification(method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED, &ack);
        let mut backlog = None;
        let mut state = self.audience.0.lock();
        let cancelled = state.take_cancelled();
        if state.gone || state.weight_with(&wanted) > max {
            drop(state);
            drop(cancelled);
            return send::<()>(Err(too_many(max)), responder);
        }
        responder.stand_aside();
        // Over HTTP the acknowledgement leaves at once, and what happens from then on is to be told.
        self.server.hub.join(&self.audience);
        let mut acknowledged = responder.post(ack, &mut backlog);
        for text in tasks {
            if let Ok(true) = acknowledged {
                acknowledged = responder.post(text(Some(&id)), &mut backlog);
            }
        }
        let stream = Stream {
            responder,
            wanted,
            backlog,
            revision,
            _on_cancel: on_cancel,
        };
        let stream = match acknowledged {
            Ok(true) => {
                state.streams.push(stream);
                state.peer.get_or_insert_with(|| peer.clone());
                None
            }
            _ => Some(stream),
        };
        drop(state);
        drop(cancelled);
        // There was no room for what is told at once: it ends before it began.
        if let Some(stream) = stream {
            stream.end();
        }
        peer.core().write_soon();
    }

    pub(super) fn subscribe(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<EmptyResult, RpcError> {
        let (params, terms) = self.subscription(request, responder)?;
        let resource = Primitive::Resource(&params.uri);
        let meta = params.meta.as_ref();
        let access = self.access(request, responder, Some(resource), &terms, meta);
        match self.ask_guards(&access) {
            Ok(()) => {}
            // As an unknown address: accepted, and never heard of.
            Err(HandlerError(Failure::NotFound)) => return Ok(EmptyResult::default()),
            Err(error) => {
                let (peer, method) = (responder.peer(), request.method());
                return Err(self.reveal(&peer, method, error.0, "guard of", method));
            }
        }
        let max = responder.core().limits().max_subscriptions;
        let mut state = self.audience.0.lock();
        if state.legacy.names(&params.uri) {
            return Ok(EmptyResult::default());
        }
        if state.gone || state.weight() + weight_of(&params.uri) > max {
            return Err(too_many(max));
        }
        self.hold_subscription(&mut state, &params.uri)?;
        state.legacy.add(params.uri);
        Ok(EmptyResult::default())
    }

    pub(super) fn unsubscribe(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<EmptyResult, RpcError> {
        let (params, _) = self.subscription(request, responder)?;
        let mut state = self.audience.0.lock();
        if state.legacy.remove(&params.uri)
            && let Some(hold) = &mut state.legacy_hold
        {
            hold.shrink(EACH_RESOURCE + params.uri.len());
        }
        Ok(EmptyResult::default())
    }

    /// Counts a resource among those that all legacy clients have subscribed to.
    fn hold_subscription(&self, state: &mut State, uri: &str) -> Result<(), RpcError> {
        let server = &self.server;
        let full = FULL_CLIENTS.saturating_mul(server.limits.max_subscriptions);
        let max = full.saturating_mul(1024).max(LEAST);
        let bytes = EACH_RESOURCE + uri.len();
        let has_room = match &mut state.legacy_hold {
            Some(hold) => hold.grow(bytes, max),
            none => {
                *none = server.subscribed.take(self.client(), bytes, max);
                none.is_some()
            }
        };
        if has_room {
            return Ok(());
        }
        let text = format!(
            "busy: all clients together have subscribed to as many resources as they may ({max} bytes: {FULL_CLIENTS} KiB times \
             max_subscriptions, or 16 MiB); unsubscribe from some, or try again later"
        );
        Err(RpcError::new(ErrorCode::INTERNAL_ERROR, text))
    }

    /// The params of `resources/subscribe` and `resources/unsubscribe`.
    fn subscription(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<(SubscribeRequestParams, Arc<Terms>), RpcError> {
        self.refuse_modern(request)?;
        // Clients without a session are told of no changes, and share this connection.
        let tells = self.server.resource_updates && responder.peer().can_be_asked();
        self.need(request, tells)?;
        let mut params: SubscribeRequestParams = read(request)?;
        let terms = self.terms(responder, params.meta.as_mut())?;
        check_uri(&params.uri)?;
        Ok((params, terms))
    }
}

impl Inner {
    /// What of a filter the server can honour.
    fn grant(&self, asked: SubscriptionFilter) -> SubscriptionFilter {
        let mut granted = SubscriptionFilter::default();
        let both = |asked: Option<bool>, list| {
            (asked == Some(true) && self.list_changes && self.has(list)).then_some(true)
        };
        granted.tools_list_changed = both(asked.tools_list_changed, List::Tools);
        granted.prompts_list_changed = both(asked.prompts_list_changed, List::Prompts);
        granted.resources_list_changed = both(asked.resources_list_changed, List::Resources);
        if self.has(List::Resources) && self.resource_updates {
            granted.resource_subscriptions = asked.resource_subscriptions;
        }
        granted
    }
}
