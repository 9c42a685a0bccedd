//! The subscribers of one connection, and their weight in the subscription limit of the connection.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
#[cfg(feature = "http-server")]
use std::time::{Duration, Instant};

use super::fanout::Fanout;
use super::subscriber::Subscriber;
#[cfg(feature = "http-server")]
use crate::protocol::CancelToken;
use crate::protocol::{Peer, Source};
use crate::schema::ServerCapabilities;
use crate::server::conversation::Conversation;
use crate::server::memory_budget::Reservation;
use crate::shares::{Admission, Client, Shares};
use crate::sync::Mutex;
use crate::transport::Limits;

/// The subscribers of one connection.
pub(in crate::server) struct ConnectionSubscribers {
    pub(in crate::server) conversation: Arc<Conversation>,
    fanout: Arc<Fanout>,
    pub(super) state: Mutex<State>,
    /// The subscribers with pending notifications that the threads of the connection must write.
    due: Mutex<Queue>,
}

type Queue = Option<Box<VecDeque<Arc<Subscriber>>>>;

#[derive(Default)]
pub(super) struct State {
    /// The number under which the connection is registered. `Some` from the first subscriber of the
    /// connection to the end of the connection.
    pub(super) number: Option<u64>,
    /// The lists for which this server's answer to `initialize` declared change notifications.
    pub(super) declared: Lists,
    /// Whether the legacy client has sent `notifications/initialized`.
    pub(super) is_initialized: bool,
    pub(super) legacy: Option<Arc<Subscriber>>,
    /// The connection's reservation in the memory budget for the URIs of all legacy clients.
    pub(super) legacy_hold: Option<Box<Reservation>>,
    /// The open streams of `subscriptions/listen`, by number. `None` before the first stream.
    #[expect(
        clippy::box_collection,
        reason = "one pointer for the many connections without a stream"
    )]
    pub(super) streams: Option<Box<BTreeMap<u64, Arc<Subscriber>>>>,
    /// The weight of all subscriptions of a connection with a single client.
    weight: usize,
    /// The weight of each client's subscriptions on a connection that many clients share.
    shares: Option<Box<Shares<()>>>,
    /// Whether the connection has ended.
    pub(super) gone: bool,
}

/// A selection of lists. A subscriber is notified when a selected list changes.
#[derive(Clone, Copy, Default)]
pub(super) struct Lists {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl Lists {
    /// Returns the lists for which these capabilities declare change notifications.
    pub(super) fn declared_by(capabilities: &ServerCapabilities) -> Self {
        let tools = capabilities.tools.as_ref().map(|it| it.list_changed);
        let prompts = capabilities.prompts.as_ref().map(|it| it.list_changed);
        let resources = capabilities.resources.as_ref().map(|it| it.list_changed);
        let is_notified = |changed: Option<Option<bool>>| changed.flatten() == Some(true);
        Self {
            tools: is_notified(tools),
            prompts: is_notified(prompts),
            resources: is_notified(resources),
        }
    }

    pub(super) fn count(self) -> usize {
        let lists = [self.tools, self.prompts, self.resources];
        lists.into_iter().filter(|is_notified| *is_notified).count()
    }
}

impl State {
    /// Adds the weight of new subscriptions, unless the sum would exceed the limit. Returns whether
    /// the weight was added. `client` is set on a connection that many clients share.
    pub(super) fn reserve(
        &mut self,
        client: Option<&Client>,
        weight: usize,
        limits: &Limits,
    ) -> bool {
        let max = limits.max_subscriptions;
        if self.gone {
            return false;
        }
        let Some(client) = client else {
            let sum = self.weight.saturating_add(weight);
            let has_room = sum <= max;
            if has_room {
                self.weight = sum;
            }
            return has_room;
        };
        let shares = self.shares.get_or_insert_with(|| {
            let shares = Shares::new(max, limits.part_of(max), limits.reserve_of(max));
            Box::new(shares)
        });
        let has_room = shares.admit(client, weight) == Admission::Granted;
        if has_room {
            shares.take(client, weight);
        }
        has_room
    }

    fn remove_stream(&mut self, number: u64) -> Option<Arc<Subscriber>> {
        self.streams.as_mut()?.remove(&number)
    }

    /// Subtracts the weight of subscriptions that have ended.
    pub(super) fn give_back(&mut self, client: Option<&Client>, weight: usize) {
        match (client, &mut self.shares) {
            (Some(client), Some(shares)) => shares.give_back(client, weight),
            _ => self.weight -= weight,
        }
    }
}

/// The reserved weight of a stream that is being opened. Dropping this value releases the weight,
/// unless [`keep`](Self::keep) was called.
pub(super) struct Reserved {
    subscribers: Arc<ConnectionSubscribers>,
    /// The client of the stream. `Some` on a connection that many clients share.
    client: Option<Client>,
    weight: usize,
}

impl Reserved {
    pub(super) fn take(
        subscribers: &Arc<ConnectionSubscribers>,
        client: Option<&Client>,
        weight: usize,
        limits: &Limits,
    ) -> Option<Self> {
        let has_room = subscribers.state.lock().reserve(client, weight, limits);
        has_room.then(|| Self {
            subscribers: Arc::clone(subscribers),
            client: client.cloned(),
            weight,
        })
    }

    pub(super) fn shrink_to(&mut self, weight: usize) {
        let more = std::mem::replace(&mut self.weight, weight) - weight;
        self.give_back(more);
    }

    /// Returns the weight, which the opened stream now owns. The stream releases the weight at its
    /// end.
    pub(super) fn keep(mut self) -> usize {
        std::mem::take(&mut self.weight)
    }

    fn give_back(&self, weight: usize) {
        let mut state = self.subscribers.state.lock();
        state.give_back(self.client.as_ref(), weight);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.weight > 0 {
            self.give_back(self.weight);
        }
    }
}

impl ConnectionSubscribers {
    pub(super) fn new(conversation: Conversation, fanout: &Arc<Fanout>) -> Self {
        Self {
            conversation: Arc::new(conversation),
            fanout: Arc::clone(fanout),
            state: Mutex::default(),
            due: Mutex::default(),
        }
    }

    /// Ends every stream of the connection with the result of its request. The changes that were
    /// published before are sent first.
    pub(super) fn end_streams(&self) {
        self.fanout.catch_up();
        let streams = self.state.lock().streams.take();
        self.end_all(
            streams
                .into_iter()
                .flat_map(|streams| streams.into_values()),
        );
    }

    /// Ends the streams that are open at present one after the other over `span`, the oldest first,
    /// each with the result of its request. Blocks for `span`, or until `stop` is cancelled.
    #[cfg(feature = "http-server")]
    pub(in crate::server) fn end_streams_over(&self, span: Duration, stop: &CancelToken) {
        let begin = Instant::now();
        let state = self.state.lock();
        let streams = state.streams.iter().flat_map(|streams| streams.keys());
        let streams: Vec<u64> = streams.copied().collect();
        drop(state);
        let step = span / u32::try_from(streams.len().max(1)).unwrap_or(u32::MAX);
        for (index, number) in (0..).zip(streams) {
            if stop.wait(step.saturating_mul(index).saturating_sub(begin.elapsed())) {
                return;
            }
            self.fanout.catch_up();
            self.end_stream(number);
        }
        stop.wait(span.saturating_sub(begin.elapsed()));
    }

    pub(super) fn end_all(&self, subscribers: impl Iterator<Item = Arc<Subscriber>>) {
        for subscriber in subscribers {
            // The weight is released first. So a client that has read the end can open another
            // stream.
            self.take_out(&subscriber);
            subscriber.end(&self.fanout);
        }
    }

    /// Ends a stream with the result of its request, if the stream is still open.
    pub(super) fn end_stream(&self, number: u64) {
        let stream = self.state.lock().remove_stream(number);
        self.end_all(stream.into_iter());
    }

    /// Removes a stream that the client has cancelled.
    pub(super) fn forget_stream(&self, number: u64) {
        let stream = self.state.lock().remove_stream(number);
        if let Some(stream) = stream {
            self.take_out(&stream);
            stream.drop_way();
        }
    }

    /// Removes a subscriber from its topics, and releases its weight in the subscription limit.
    pub(super) fn take_out(&self, subscriber: &Subscriber) {
        let (topics, client, weight) = subscriber.take_topics();
        for topic in topics {
            self.fanout.topics.leave(&topic, subscriber);
        }
        self.state.lock().give_back(client.as_ref(), weight);
    }

    /// Drops the queue of subscribers with pending notifications, because the connection writes
    /// nothing any more.
    pub(super) fn forget_due(&self) {
        let due = self.due.lock().take();
        drop(due);
    }

    /// Queues a subscriber. The threads of the connection then write its pending notifications.
    pub(super) fn have_pulled(
        self: &Arc<Self>,
        subscriber: Arc<Subscriber>,
        peer: &Peer,
        fanout: &Arc<Fanout>,
    ) {
        let mut due = self.due.lock();
        due.get_or_insert_default().push_back(subscriber);
        drop(due);
        peer.core().pull_soon(|| {
            Box::new(Pulled {
                subscribers: Arc::downgrade(self),
                fanout: Arc::clone(fanout),
            })
        });
    }
}

/// A source from which the connection's threads get the pending notifications of its subscribers.
struct Pulled {
    subscribers: Weak<ConnectionSubscribers>,
    fanout: Arc<Fanout>,
}

impl Source for Pulled {
    fn pull(&self, enough: usize) -> bool {
        let Some(subscribers) = self.subscribers.upgrade() else {
            return false;
        };
        let mut bytes = 0;
        loop {
            let mut due = subscribers.due.lock();
            let first = due.as_mut().and_then(|due| due.pop_front());
            drop(due);
            let Some(subscriber) = first else {
                return false;
            };
            if !subscriber.queue(&self.fanout, &mut bytes, enough) {
                let mut due = subscribers.due.lock();
                due.get_or_insert_default().push_front(subscriber);
                return true;
            }
        }
    }
}
