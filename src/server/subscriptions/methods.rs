//! The requests and notifications with which clients subscribe.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use super::connection_subscribers::{Lists, Reserved, State};
use super::subject::{Followed, Subject, notification};
use super::subscriber::{Subscriber, Way};
use super::topics::Topic;
use crate::error::{ErrorCode, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::{Peer, Responder, Watcher};
use crate::schema::{
    EmptyResult, ProtocolVersion, ServerCapabilities, SubscribeRequestParams, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams, method,
};
use crate::server::dispatch::{read, send};
use crate::server::error_map::{Failure, HandlerError, reveal};
use crate::server::inner::{Inner, ServerConnection};
use crate::server::memory_budget::LEAST;
use crate::server::paging::List;
use crate::server::primitive::Primitive;
use crate::server::resources::check_uri;
use crate::server::session_state::ClientContext;
use crate::server::tasks::need_tasks;
use crate::shares::Client;
use crate::transport::Limits;

/// Whether the guards have to be asked about a request now, or have admitted the request before.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Now,
    Before,
}

/// The data of a checked `subscriptions/listen` request, from which its stream is started.
struct Opening {
    granted: SubscriptionFilter,
    wanted: Filter,
    reserved: Reserved,
    /// The tasks in the filter of the request. The client first gets the current state of each
    /// task.
    tasks: Vec<Arc<dyn Followed>>,
    revision: ProtocolVersion,
}

fn too_many(client: Option<&Client>, limits: &Limits) -> RpcError {
    let max = limits.max_subscriptions;
    let text = match client {
        None => format!("there are {max} subscriptions already"),
        Some(_) => format!(
            "busy: this client has as many subscriptions as it may have beside those of others (all \
             clients together: {max}); end some, or try again later"
        ),
    };
    RpcError::new(ErrorCode::INTERNAL_ERROR, text)
}

/// Returns the error for a subscription that arrives while its connection ends.
fn closing() -> RpcError {
    RpcError::new(ErrorCode::INTERNAL_ERROR, "the connection is closing")
}

/// The parsed filter of a stream.
struct Filter {
    lists: Lists,
    uris: BTreeSet<String>,
    tasks: BTreeSet<String>,
}

impl Filter {
    fn of(filter: &SubscriptionFilter) -> Self {
        let uris = filter.resource_subscriptions.iter().flatten();
        Self {
            lists: Lists {
                tools: filter.tools_list_changed == Some(true),
                prompts: filter.prompts_list_changed == Some(true),
                resources: filter.resources_list_changed == Some(true),
            },
            uris: uris.cloned().collect(),
            tasks: filter.task_ids.iter().flatten().cloned().collect(),
        }
    }

    /// Returns the number of topics that the filter selects.
    fn topics(&self) -> usize {
        self.lists.count() + self.uris.len() + self.tasks.len()
    }

    /// Returns the weight of the stream in the subscription limit.
    fn weight(&self) -> usize {
        let names = self.uris.iter().chain(&self.tasks);
        1 + names.map(|name| weight_of(name)).sum::<usize>()
    }
}

/// Returns the weight of a resource or task in the subscription limit. The name is stored and may
/// be as long as a message, so long names have more weight.
fn weight_of(name: &str) -> usize {
    1 + name.len() / 1024
}

/// The memory that a subscribed resource needs besides its URI, in bytes.
const EACH_RESOURCE: usize = 128;

/// The number of legacy clients that can each use `max_subscriptions` KiB of the memory budget for
/// subscribed URIs. The budget is at least [`LEAST`].
const FULL_CLIENTS: usize = 256;

impl ServerConnection {
    /// Records the lists for which the answer to `initialize` declares change notifications. From
    /// now on, changes wait for the legacy client.
    pub(in crate::server) fn declare(&self, capabilities: &ServerCapabilities, peer: &Peer) {
        let mut state = self.subscribers.state.lock();
        state.declared = Lists::declared_by(capabilities);
        // Clients without a session get no change notifications.
        if state.gone || !peer.can_be_asked() {
            return;
        }
        let client = self.legacy_subscriber(&mut state, peer);
        self.join_lists(&client, state.declared);
    }

    /// Handles `notifications/initialized` of a legacy client.
    pub(in crate::server) fn initialized(&self, peer: &Peer) {
        if !self.conversation().state.is_agreed() {
            return;
        }
        let mut state = self.subscribers.state.lock();
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
        if std::mem::replace(&mut state.is_initialized, true) || !peer.can_be_asked() {
            return;
        }
        let client = self.legacy_subscriber(&mut state, peer);
        if self.server.services.logging {
            let topics = &self.server.subscriptions.fanout.topics;
            topics.join(&topics.logs, &client);
        }
        drop(state);
        self.tell_if_due(&client, client.open());
    }

    /// Returns the subscriber that represents the legacy client of the connection. The first call
    /// creates the subscriber.
    fn legacy_subscriber(&self, state: &mut State, peer: &Peer) -> Arc<Subscriber> {
        if let Some(client) = &state.legacy {
            return Arc::clone(client);
        }
        let topics = state.declared.count() + usize::from(self.server.services.logging);
        let client = Subscriber::new(
            &self.subscribers,
            self.server.subscriptions.number(),
            0,
            topics,
        );
        client.begin(Way::Client {
            peer: peer.clone(),
            session_stream: self.conversation().session_stream(),
        });
        self.register(state);
        state.legacy = Some(Arc::clone(&client));
        client
    }

    /// Registers the connection as a connection with subscribers, unless it is registered already.
    fn register(&self, state: &mut State) {
        if state.number.is_none() {
            let subscriptions = &self.server.subscriptions;
            let number = subscriptions.number();
            state.number = Some(number);
            subscriptions.join(number, &self.subscribers);
        }
    }

    /// Adds a subscriber to the topics of these lists.
    fn join_lists(&self, subscriber: &Arc<Subscriber>, lists: Lists) {
        let topics = &self.server.subscriptions.fanout.topics;
        for (topic, is_notified) in [
            (&topics.tools, lists.tools),
            (&topics.prompts, lists.prompts),
            (&topics.resources, lists.resources),
        ] {
            if is_notified {
                topics.join(topic, subscriber);
            }
        }
    }

    fn tell_if_due(&self, subscriber: &Arc<Subscriber>, is_due: bool) {
        if is_due {
            subscriber.dispatch(&self.server.subscriptions.fanout);
        }
    }

    /// Continues to write pending notifications to the legacy client, because its stream has a
    /// reader again.
    #[cfg(feature = "http-server")]
    pub(in crate::server) fn reader_came(&self) {
        let client = self.subscribers.state.lock().legacy.clone();
        if let Some(client) = client
            && client.reader_came()
        {
            self.server.subscriptions.fanout.write_to(vec![client]);
        }
    }

    /// Ends the streams of the connection with the results of their requests.
    #[cfg(feature = "http-server")]
    pub(in crate::server) fn end_streams(&self) {
        self.subscribers.end_streams();
    }

    /// Ends all subscriptions of a connection that has ended or is about to end.
    pub(in crate::server) fn leave(&self) {
        let subscriptions = &self.server.subscriptions;
        let mut state = self.subscribers.state.lock();
        let Some(number) = state.number.filter(|_| !state.gone) else {
            state.gone = true;
            return;
        };
        state.gone = true;
        drop(state);
        subscriptions.fanout.catch_up();
        let mut state = self.subscribers.state.lock();
        let streams = state.streams.take();
        let (client, hold) = (state.legacy.take(), state.legacy_hold.take());
        drop(state);
        drop(hold);
        let streams = streams
            .into_iter()
            .flat_map(|streams| streams.into_values());
        let all = streams.chain(client);
        self.subscribers.end_all(all);
        self.subscribers.forget_due();
        subscriptions.leave(number);
    }

    pub(in crate::server) fn listen(self: Arc<Self>, request: Request, responder: Responder) {
        match self.open_stream(&request, &responder, Asked::Now) {
            Ok(Some(opening)) => self.start_stream(responder, opening),
            Err(error) => send::<()>(Err(error), responder),
            // The streams that the client has cancelled are removed in the order of received
            // notifications. After their removal there may be room.
            Ok(None) => responder
                .peer()
                .run_in_order(move || self.listen_at_last(&request, responder)),
        }
    }

    fn listen_at_last(&self, request: &Request, responder: Responder) {
        let opened = self.open_stream(request, &responder, Asked::Before);
        let refusal = || match self.subscribers.state.lock().gone {
            true => closing(),
            false => too_many(responder.client(), responder.core().limits()),
        };
        match opened.and_then(|opening| opening.ok_or_else(refusal)) {
            Ok(opening) => self.start_stream(responder, opening),
            Err(error) => send::<()>(Err(error), responder),
        }
    }

    /// Checks a `subscriptions/listen` request and prepares its stream. Returns `None` when the
    /// stream would exceed the client's limit of subscriptions.
    fn open_stream(
        &self,
        request: &Request,
        responder: &Responder,
        asked: Asked,
    ) -> Result<Option<Opening>, RpcError> {
        if responder.is_batched() {
            return Err(RpcError::invalid_request(
                "subscriptions/listen must not be part of a batch",
            ));
        }
        let mut params: SubscriptionsListenRequestParams = read(request)?;
        let terms = self.terms(responder, params.meta.as_mut())?;
        self.need(request, terms.revision.is_modern())?;
        let task_ids = params.notifications.task_ids.take();
        let has_tasks = self.server.tasks.as_ref().filter(|_| task_ids.is_some());
        if has_tasks.is_some() {
            need_tasks(&terms)?;
        }
        let meta = params.meta.as_ref();
        let access = self.access(request, responder, None, &terms, meta);
        if asked == Asked::Now {
            self.admit(&access)?;
        }
        let mut granted = self.server.grant(params.notifications);
        granted.task_ids = has_tasks.and(task_ids);
        let mut wanted = Filter::of(&granted);
        // The weight is reserved first, so that guards are called only for resources that fit the
        // limit, and only as many tasks are looked up.
        let (client, limits) = (responder.client(), responder.core().limits());
        let reserved = Reserved::take(&self.subscribers, client, wanted.weight(), limits);
        let Some(mut reserved) = reserved else {
            return Ok(None);
        };
        let mut tasks = Vec::new();
        if let Some((all, ids)) = has_tasks.zip(granted.task_ids.as_mut()) {
            tasks = all.follow(ids, self.conversation().principal_of(responder));
            wanted.tasks = ids.iter().cloned().collect();
            granted.task_ids = granted.task_ids.filter(|ids| !ids.is_empty());
        }
        if let Some(uris) = &mut granted.resource_subscriptions
            && !(self.server.services.guards.is_empty() && self.server.requirements.is_empty())
        {
            uris.retain(|uri| {
                let registered = self.server.find_resource(uri);
                let known = registered.as_ref().map_or(&**uri, |entry| &entry.item.uri);
                let resource = access.about(Primitive::Resource(known));
                let Err(error) = self.ask_guards(&resource) else {
                    return true;
                };
                wanted.uris.remove(uri);
                matches!(error.0, Failure::NotFound)
            });
        }
        reserved.shrink_to(wanted.weight());
        Ok(Some(Opening {
            granted,
            wanted,
            reserved,
            tasks,
            revision: terms.revision,
        }))
    }

    fn start_stream(&self, mut responder: Responder, opening: Opening) {
        let Opening {
            granted,
            wanted,
            reserved,
            tasks,
            revision,
        } = opening;
        let (peer, subscriptions) = (responder.peer(), &self.server.subscriptions);
        let (weight, topics) = (reserved.keep(), wanted.topics());
        let stream = Subscriber::new(&self.subscribers, subscriptions.number(), weight, topics);
        responder.stand_aside();
        let id = responder.id().clone();
        let asking = responder.asking();
        stream.begin(Way::Stream {
            responder,
            revision,
        });
        let mut state = self.subscribers.state.lock();
        if !state.gone {
            self.register(&mut state);
            let streams = state.streams.get_or_insert_default();
            streams.insert(stream.number, Arc::clone(&stream));
        }
        let is_gone = state.gone;
        drop(state);
        if is_gone {
            return self.subscribers.end_all(std::iter::once(stream));
        }
        self.join_topics(&stream, &wanted);
        let number = stream.number;
        let watcher: Weak<dyn Watcher> = Arc::downgrade(&stream) as Weak<Subscriber>;
        if !asking.watch(watcher) {
            self.subscribers.forget_stream(number);
        }
        if stream.is_over() {
            // The stream was ended or cancelled before it had joined all its topics.
            self.subscribers.take_out(&stream);
            return;
        }
        // Over HTTP the acknowledgement is written at once. Changes since the stream joined its
        // topics follow the acknowledgement.
        let ack = SubscriptionsAcknowledgedNotificationParams::new(id, granted);
        let ack = notification(method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED, &ack);
        if !matches!(asking.post(vec![ack]), Ok(1)) {
            // There was no room for the acknowledgement, so the stream ends at once.
            return self.subscribers.end_stream(number);
        }
        if !self.server.tells_changes() {
            return self.subscribers.end_stream(number);
        }
        for task in &tasks {
            if let Some(topic) = subscriptions.fanout.topics.task(task.id()) {
                // The stream is not open yet, so `mark` never makes this thread write.
                _ = stream.mark(&topic, Some(task));
            }
        }
        self.tell_if_due(&stream, stream.open());
        peer.core().write_soon();
    }

    /// Adds a stream to the topics of its filter.
    fn join_topics(&self, stream: &Arc<Subscriber>, wanted: &Filter) {
        let topics = &self.server.subscriptions.fanout.topics;
        self.join_lists(stream, wanted.lists);
        for uri in &wanted.uris {
            topics.join_uri(uri, stream);
        }
        for id in &wanted.tasks {
            topics.join_task(id, stream);
        }
    }

    pub(in crate::server) fn subscribe(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<EmptyResult, RpcError> {
        let (params, terms) = self.subscription(request, responder)?;
        let registered = self.server.find_resource(&params.uri);
        let known = registered
            .as_ref()
            .map_or(&params.uri, |entry| &entry.item.uri);
        let resource = Primitive::Resource(known);
        let meta = params.meta.as_ref();
        let access = self.access(request, responder, Some(resource), &terms, meta);
        match self.ask_guards(&access) {
            Ok(()) => {}
            // As for an unknown URI, the subscription is accepted, but there are no notifications.
            Err(HandlerError(Failure::NotFound)) => return Ok(EmptyResult::default()),
            Err(error) => {
                let (peer, method) = (responder.peer(), request.method());
                return Err(reveal(&peer, method, error.0, ("guard of", method)));
            }
        }
        let uri = &*params.uri;
        // A legacy client with subscriptions has a connection of its own. So no client is given
        // here.
        let limits = responder.core().limits();
        let mut state = self.subscribers.state.lock();
        if state.gone {
            return Err(closing());
        }
        let subscriber = self.legacy_subscriber(&mut state, &responder.peer());
        if self.subscribed(&subscriber, uri).is_some() {
            return Ok(EmptyResult::default());
        }
        if !state.reserve(None, weight_of(uri), limits) {
            return Err(too_many(None, limits));
        }
        let client = self.conversation().client_of(responder);
        if let Err(error) = self.hold_subscription(&mut state, client, uri) {
            state.give_back(None, weight_of(uri));
            return Err(error);
        }
        let topics = &self.server.subscriptions.fanout.topics;
        topics.join_uri(uri, &subscriber);
        Ok(EmptyResult::default())
    }

    /// Returns the topic of a resource if the legacy client has subscribed to the resource with
    /// this spelling of its URI.
    fn subscribed(&self, client: &Subscriber, uri: &str) -> Option<Arc<Topic>> {
        let topic = self.server.subscriptions.fanout.topics.spelling(uri);
        topic.filter(|topic| topic.has(client))
    }

    /// Handles `resources/unsubscribe`. If the client has not subscribed with this spelling of the
    /// URI, all spellings with which the client has subscribed to the resource are unsubscribed.
    pub(in crate::server) fn unsubscribe(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<EmptyResult, RpcError> {
        let (params, _) = self.subscription(request, responder)?;
        let mut state = self.subscribers.state.lock();
        let Some(client) = state.legacy.clone() else {
            return Ok(EmptyResult::default());
        };
        let topics = &self.server.subscriptions.fanout.topics;
        let left = match self.subscribed(&client, &params.uri) {
            Some(topic) => vec![topic],
            None => match topics.uri(&params.uri) {
                Some(topic) => client.topics_of(&topic),
                None => Vec::new(),
            },
        };
        for topic in left {
            client.remove_topic(&topic);
            topics.leave(&topic, &client);
            let Subject::Resource(uri) = &topic.subject else {
                continue;
            };
            state.give_back(None, weight_of(uri));
            if let Some(hold) = &mut state.legacy_hold {
                hold.shrink(EACH_RESOURCE + uri.len());
            }
        }
        Ok(EmptyResult::default())
    }

    /// Reserves memory for a subscribed URI in the memory budget that all legacy clients of the
    /// server share.
    fn hold_subscription(
        &self,
        state: &mut State,
        client: Client,
        uri: &str,
    ) -> Result<(), RpcError> {
        let server = &self.server;
        let full = FULL_CLIENTS.saturating_mul(server.services.limits.max_subscriptions);
        let max = full.saturating_mul(1024).max(LEAST);
        let bytes = EACH_RESOURCE + uri.len();
        let has_room = match &mut state.legacy_hold {
            Some(hold) => hold.grow(bytes, max, &server.services.limits),
            none => {
                let hold = server
                    .subscribed
                    .take(client, bytes, max, &server.services.limits);
                *none = hold.map(Box::new);
                none.is_some()
            }
        };
        if has_room {
            return Ok(());
        }
        let text = format!(
            "busy: all clients together have subscribed to as many resources as they may ({max} bytes); \
             unsubscribe from some, or try again later"
        );
        Err(RpcError::new(ErrorCode::INTERNAL_ERROR, text))
    }

    /// Reads the params of `resources/subscribe` and `resources/unsubscribe`.
    fn subscription(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<(SubscribeRequestParams, Arc<ClientContext>), RpcError> {
        self.refuse_modern(request)?;
        // Clients without a session share this connection, and get no change notifications.
        let is_supported = self.server.resource_updates && responder.peer().can_be_asked();
        self.need(request, is_supported)?;
        let mut params: SubscribeRequestParams = read(request)?;
        let terms = self.terms(responder, params.meta.as_mut())?;
        check_uri(&params.uri)?;
        Ok((params, terms))
    }
}

impl Inner {
    /// Whether there are changes that a client can subscribe to. A stream of a server without them
    /// would stay open for nothing.
    fn tells_changes(&self) -> bool {
        let lists = [List::Tools, List::Prompts, List::Resources];
        let has_lists = self.list_changes && lists.into_iter().any(|list| self.has(list));
        let has_resources = self.resource_updates && self.has(List::Resources);
        has_lists || has_resources || self.tasks.is_some()
    }

    /// Returns the part of a filter that the server supports.
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
