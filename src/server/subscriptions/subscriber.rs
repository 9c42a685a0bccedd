//! A subscriber and its pending notifications.
//!
//! The pending notifications are a set, in the order of arrival: one notification for each topic,
//! even if the topic changed several times. A notification is written as text only when it is sent,
//! so it has the newest state. The set is no larger than the subscription.
//!
//! ```text
//!         acknowledged           marked                   nothing is pending any more
//!  NotYet ─────────────▶ Idle ──────────▶ Due ────────────────────────────────────────▶ Idle
//!                                          │        ▲
//!                                no reader ▼        │ reader comes
//!                                          ╰ Parked ╯
//! ```
//!
//! **Invariant:** a subscriber in `Due` has exactly one owner: the fan-out or the connection. The
//! fan-out owns the subscribers in its inbox and in its current pass. The connection owns the
//! subscribers in its queue. Only the owner writes to the subscriber, so the notifications of a
//! topic stay in order.
//!
//! **Locks:** the state's lock is held for moments, and may be taken inside a topic's lock. Nothing
//! is written, sent or dropped while this lock is held.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::connection_subscribers::ConnectionSubscribers;
use super::fanout::Fanout;
use super::subject::{Followed, notification};
use super::topics::{Memberships, PendingChange, Topic};
use crate::error::ErrorKind;
use crate::protocol::{Asking, Peer, Responder, Watcher};
use crate::schema::{
    CancelledNotificationParams, LoggingLevel, NotificationMetaObject, ProtocolVersion,
    SubscriptionsListenResult, method,
};
use crate::server::conversation::CallServices;
use crate::server::session_stream::{Offered, SessionStream};
use crate::shares::Client;
use crate::sync::Mutex;

/// The pause after a subscriber had no room for a notification, before the first retry, in
/// milliseconds. Each further pause is twice as long, up to `LAST_PAUSE`.
const FIRST_PAUSE: u16 = 10;
const LAST_PAUSE: u16 = 1000;

/// The size, in bytes, at which no more notifications are added to a write. A write has at least
/// one notification, and may exceed this size by its last notification.
const ONE_WRITE: usize = 16 << 10;

thread_local! {
    /// Whether this thread is writing to a subscriber. A write may call code of the host, which may
    /// call the server. While the flag is set, the server must not wait for the write to end.
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the current thread is writing to a subscriber, in a function that is on its call
/// stack.
pub(super) fn writes_here() -> bool {
    WRITES.get()
}

/// A subscriber: a stream of `subscriptions/listen`, or a legacy client.
pub(super) struct Subscriber {
    pub(super) number: u64,
    /// The subscribers of the same connection. They exist as long as the connection.
    home: Weak<ConnectionSubscribers>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// The channel on which notifications reach the subscriber. `None` once the subscriber has
    /// ended.
    way: Option<Way>,
    /// The topics that the subscriber is a member of.
    topics: Memberships,
    /// The weight of the subscriber in the subscription limit.
    weight: usize,
    /// The pending notifications. `None` if nothing is pending.
    #[expect(
        clippy::box_collection,
        reason = "one pointer for the many that wait for nothing"
    )]
    waiting: Option<Box<VecDeque<Item>>>,
    /// The number of pending log messages.
    logs: u32,
    /// The pause before the latest retry, in milliseconds.
    pause: u16,
    /// The number of threads that write to the subscriber. There may be two for a moment, when a
    /// thread has already passed the subscriber on to another thread.
    writers: u8,
    /// Whether a thread waits until no thread writes to the subscriber.
    is_awaited: bool,
    /// Whether the subscriber is ending. Then no more notifications are added.
    is_ending: bool,
    /// Whether the stream of the client has got a reader since a thread last took a notification to
    /// write.
    has_reader_come: bool,
}

/// The state of a subscriber: whether it has pending notifications, and an owner that sends them.
#[derive(Clone, Copy, Default, PartialEq)]
enum Phase {
    /// The subscription is not acknowledged yet, so no thread owns the subscriber and sends
    /// notifications.
    #[default]
    NotYet,
    /// The subscriber has no owner, because no notification is pending.
    Idle,
    /// The subscriber has an owner, which has to send the pending notifications.
    Due,
    /// The stream of the client has no reader. No thread owns the subscriber until the stream has a
    /// reader again.
    Parked,
}

/// The channel on which notifications reach a subscriber.
pub(super) enum Way {
    /// Notifications are sent on the stream of the subscriber's request.
    Stream {
        responder: Responder,
        revision: ProtocolVersion,
    },
    /// Notifications are sent on the client's connection, or on the client's [`SessionStream`]
    /// instead if there is one.
    Client {
        peer: Peer,
        session_stream: Option<Weak<dyn SessionStream>>,
    },
}

/// A pending notification.
enum Item {
    Log(Arc<[u8]>),
    Change(PendingChange),
}

/// A handle for sending one notification to a subscriber. The handle is used without the
/// subscriber's lock.
enum Voice {
    Stream(Asking),
    Client(Peer),
    SessionStream(Arc<dyn SessionStream>),
}

impl Subscriber {
    /// Creates a subscriber with this weight in the subscription limit, and with space for this
    /// number of topics.
    pub(super) fn new(
        home: &Arc<ConnectionSubscribers>,
        number: u64,
        weight: usize,
        topics: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            number,
            home: Arc::downgrade(home),
            state: Mutex::new(State {
                weight,
                topics: Memberships::of(topics),
                ..State::default()
            }),
        })
    }

    /// Sets the channel on which notifications reach the subscriber. No notification is sent before
    /// [`open`](Self::open).
    pub(super) fn begin(&self, way: Way) {
        self.state.lock().way = Some(way);
    }

    /// Returns whether the subscriber was ended or cancelled.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.way.is_none() || state.is_ending
    }

    /// Records that the subscriber is about to join a topic.
    pub(super) fn add_topic(&self, topic: &Arc<Topic>) {
        self.state.lock().topics.add(topic);
    }

    /// Returns the topics of the subscriber for one resource, one for each spelling of the URI.
    /// `topic` is the topic of the resource in the index.
    pub(super) fn topics_of(&self, topic: &Topic) -> Vec<Arc<Topic>> {
        let mut state = self.state.lock();
        let all = state
            .topics
            .all()
            .iter()
            .map(|membership| &membership.topic);
        let alike = all.filter(|it| it.in_index == topic.number);
        alike.map(Arc::clone).collect()
    }

    /// Records that the subscriber leaves a topic.
    pub(super) fn remove_topic(&self, topic: &Topic) {
        let mut state = self.state.lock();
        let removed = state.topics.remove(topic);
        let is_of =
            |item: &Item| matches!(item, Item::Change(due) if due.topic.number == topic.number);
        let forgotten = state.waiting.as_mut().and_then(|waiting| {
            let at = waiting.iter().position(is_of)?;
            waiting.remove(at)
        });
        state.waiting.take_if(|waiting| waiting.is_empty());
        drop(state);
        drop((removed, forgotten));
    }

    /// Removes and returns the topics of the subscriber and its weight in the subscription limit.
    /// Also returns the subscriber's client, if many clients share the connection.
    ///
    /// Call this before [`drop_way`](Self::drop_way), which drops the client of a stream.
    pub(super) fn take_topics(&self) -> (Vec<Arc<Topic>>, Option<Client>, usize) {
        let mut state = self.state.lock();
        let topics = std::mem::take(&mut state.topics);
        let weight = std::mem::take(&mut state.weight);
        let client = match &state.way {
            Some(Way::Stream { responder, .. }) => responder.client().cloned(),
            _ => None,
        };
        drop(state);
        (topics.into_topics(), client, weight)
    }

    /// Adds the notification of a changed topic. Returns whether the caller is now the owner of the
    /// subscriber. An owner has to call [`dispatch`](Self::dispatch).
    #[must_use]
    pub(super) fn mark(&self, topic: &Arc<Topic>, task: Option<&Arc<dyn Followed>>) -> bool {
        let mut state = self.state.lock();
        let is_notified = state.way.is_some() && !state.is_ending;
        let Some(membership) = state.topics.find(topic).filter(|_| is_notified) else {
            return false;
        };
        if std::mem::replace(&mut membership.waits, true) {
            return false;
        }
        let due = PendingChange {
            topic: Arc::clone(topic),
            task: task.cloned(),
        };
        state.queue(Item::Change(due))
    }

    /// Adds a log message, or drops it when `max` messages are pending. Returns whether the caller
    /// is now the owner of the subscriber. An owner has to call [`dispatch`](Self::dispatch).
    #[must_use]
    pub(super) fn mark_log(&self, level: &LoggingLevel, text: &Arc<[u8]>, max: usize) -> bool {
        let mut state = self.state.lock();
        let (Some(Way::Client { .. }), Some(home)) = (&state.way, self.home.upgrade()) else {
            return false;
        };
        let wants = state.phase != Phase::NotYet && home.conversation.state.wants_log(level);
        if !wants || state.logs as usize >= max {
            return false;
        }
        state.logs += 1;
        state.queue(Item::Log(Arc::clone(text)))
    }

    /// Allows notifications from now on, because the acknowledgement was sent. Returns whether
    /// notifications are already pending. If so, the caller is now the owner of the subscriber, and
    /// has to call [`dispatch`](Self::dispatch).
    #[must_use]
    pub(super) fn open(&self) -> bool {
        let mut state = self.state.lock();
        if state.phase != Phase::NotYet {
            return false;
        }
        state.phase = Phase::Idle;
        state.waiting.is_some() && state.becomes_due()
    }

    /// Records that the stream of the client has a reader again. Returns whether the caller is now
    /// the owner of the subscriber. An owner has to call [`dispatch`](Self::dispatch).
    #[must_use]
    #[cfg(feature = "http-server")]
    pub(super) fn reader_came(&self) -> bool {
        let mut state = self.state.lock();
        state.has_reader_come = true;
        if state.phase != Phase::Parked {
            return false;
        }
        state.phase = Phase::Idle;
        state.waiting.is_some() && state.becomes_due()
    }

    /// Writes the pending notifications if writing can't block. Otherwise lets a thread of the
    /// connection write them. The caller must be the owner of the subscriber.
    pub(super) fn dispatch(self: &Arc<Self>, fanout: &Arc<Fanout>) {
        let state = self.state.lock();
        let (peer, session_stream) = match &state.way {
            None => return,
            Some(Way::Stream { responder, .. }) if responder.has_outlet() => {
                drop(state);
                return self.write(fanout);
            }
            Some(Way::Stream { responder, .. }) => (responder.peer(), None),
            Some(Way::Client {
                peer,
                session_stream,
            }) => (peer.clone(), session_stream.clone()),
        };
        drop(state);
        let Some(session_stream) = session_stream else {
            return self.have_pulled(&peer, fanout);
        };
        let is_quick = session_stream
            .upgrade()
            .is_none_or(|stream| stream.is_quick());
        if is_quick {
            return self.write(fanout);
        }
        // A host's event store may be slow.
        let (this, fanout) = (Arc::clone(self), Arc::clone(fanout));
        peer.core().run_own(move || this.write(&fanout));
    }

    fn have_pulled(self: &Arc<Self>, peer: &Peer, fanout: &Arc<Fanout>) {
        if let Some(home) = self.home.upgrade() {
            home.have_pulled(Arc::clone(self), peer, fanout);
        }
    }

    /// Writes the pending notifications until the subscriber has no more room.
    fn write(self: &Arc<Self>, fanout: &Arc<Fanout>) {
        let outer = WRITES.replace(true);
        self.begin_writing();
        let (mut retry, mut is_over) = (None, false);
        while let Some((voice, first)) = self.next() {
            let mut items = vec![first];
            let (offered, sent) = voice.offer(&mut items, || self.next_change());
            drop(voice);
            is_over = offered == Offered::Over;
            if self.settle(items, offered, sent, &mut retry) {
                break;
            }
        }
        self.end_writing(fanout);
        WRITES.set(outer);
        if is_over {
            self.give_up();
        }
        if let Some(pause) = retry {
            fanout.try_again(Arc::clone(self), Instant::now() + pause);
        }
    }

    /// Ends the subscriber's stream, because no notifications can be sent on it any more.
    fn give_up(&self) {
        let is_stream = matches!(self.state.lock().way, Some(Way::Stream { .. }));
        if let Some(home) = self.home.upgrade().filter(|_| is_stream) {
            home.end_stream(self.number);
        }
    }

    /// Records the result of offering notifications. `unsent` are the notifications that were not
    /// sent, and `sent` is the number of those that were. Returns whether the caller has to stop
    /// writing.
    fn settle(
        &self,
        unsent: Vec<Item>,
        offered: Offered,
        sent: usize,
        retry: &mut Option<Duration>,
    ) -> bool {
        let mut state = self.state.lock();
        if sent > 0 {
            state.pause = 0;
        }
        let forgotten = match offered {
            Offered::Accepted => {
                drop(state);
                drop(unsent);
                return false;
            }
            Offered::Full => {
                state.pause = (state.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
                *retry = Some(Duration::from_millis(state.pause.into()));
                state.put_back(unsent)
            }
            Offered::Unread => {
                let forgotten = state.put_back(unsent);
                if !std::mem::take(&mut state.has_reader_come) {
                    state.phase = Phase::Parked;
                }
                let goes_on = state.phase == Phase::Due;
                drop(state);
                drop(forgotten);
                return !goes_on;
            }
            Offered::Over => {
                state.phase = Phase::Idle;
                state.is_ending = true;
                let waiting = state.take_all();
                drop(state);
                drop((unsent, waiting));
                return true;
            }
        };
        drop(state);
        drop(forgotten);
        true
    }

    /// Queues pending notifications on the connection, until the subscriber has no room or `bytes`
    /// reaches `enough`. Returns `false` if notifications are left that must be queued later.
    pub(super) fn queue(&self, fanout: &Fanout, bytes: &mut usize, enough: usize) -> bool {
        self.begin_writing();
        let is_done = loop {
            if *bytes >= enough {
                break self.is_done();
            }
            let Some((voice, item)) = self.next() else {
                break true;
            };
            let text = voice.text(&item);
            *bytes += text.len();
            let posted = voice.post(vec![text]);
            drop(voice);
            let offered = posted.map_or_else(|failed| failed, |sent| Offered::of(sent == 1));
            let unsent = match offered {
                Offered::Accepted => Vec::new(),
                _ => vec![item],
            };
            let (sent, mut retry) = (usize::from(offered == Offered::Accepted), None);
            if self.settle(unsent, offered, sent, &mut retry) {
                break retry.is_none();
            }
        };
        self.end_writing(fanout);
        is_done
    }

    /// Returns whether no notification is pending. If so, the caller is no longer the owner of the
    /// subscriber.
    fn is_done(&self) -> bool {
        let mut state = self.state.lock();
        if state.way.is_some() && !state.is_ending && state.waiting.is_some() {
            return false;
        }
        if state.phase == Phase::Due {
            state.phase = Phase::Idle;
        }
        true
    }

    fn next(&self) -> Option<(Voice, Item)> {
        let mut state = self.state.lock();
        if state.is_ending {
            return None;
        }
        state.has_reader_come = false;
        let voice = state.way.as_ref().and_then(Voice::of);
        let item = voice.is_some().then(|| state.take_item()).flatten();
        if item.is_none() {
            state.phase = Phase::Idle;
        }
        drop(state);
        voice.zip(item)
    }

    /// Returns the next pending notification if it is a change. The caller stays the owner of the
    /// subscriber in any case, so it can send further notifications in order.
    fn next_change(&self) -> Option<Item> {
        let mut state = self.state.lock();
        let next = state.waiting.as_ref()?.front();
        let is_change = matches!(next, Some(Item::Change(_)));
        (is_change && !state.is_ending)
            .then(|| state.take_item())
            .flatten()
    }

    fn begin_writing(&self) {
        self.state.lock().writers += 1;
    }

    fn end_writing(&self, fanout: &Fanout) {
        let mut state = self.state.lock();
        state.writers -= 1;
        let is_awaited = state.writers == 0 && std::mem::take(&mut state.is_awaited);
        drop(state);
        if is_awaited {
            fanout.writing_ended();
        }
    }

    /// Returns whether a thread is writing to the subscriber. If so, also requests a wakeup at the
    /// end of the write.
    pub(super) fn is_written(&self) -> bool {
        let mut state = self.state.lock();
        let is_written = state.writers > 0;
        state.is_awaited |= is_written;
        is_written
    }

    /// Ends the subscriber without sending a message.
    pub(super) fn drop_way(&self) {
        let mut state = self.state.lock();
        let (way, waiting) = (state.way.take(), state.take_all());
        drop(state);
        drop((way, waiting));
    }

    /// Sends the pending notifications, and ends a stream with the result of its request. Blocks
    /// only while another thread writes to this subscriber, and only for a limited time.
    pub(super) fn end(self: &Arc<Self>, fanout: &Arc<Fanout>) {
        let mut state = self.state.lock();
        let may_send = !std::mem::replace(&mut state.is_ending, true);
        let peer = state.way.as_ref().map(Way::peer);
        let is_written = state.writers > 0;
        drop(state);
        let Some(peer) = peer else { return };
        if !writes_here() {
            fanout.wait_until_written(self);
        } else if is_written {
            // The host ends the subscriber from inside its transport, which is in use. So another
            // thread continues.
            let (this, fanout) = (Arc::clone(self), Arc::clone(fanout));
            return peer.core().run_own(move || this.end(&fanout));
        }
        let mut state = self.state.lock();
        let (way, waiting) = (state.way.take(), state.take_all());
        let may_send = may_send && state.phase != Phase::NotYet;
        drop(state);
        let Some(way) = way else { return };
        if let Some(voice) = Voice::of(&way).filter(|_| may_send) {
            let mut waiting = waiting.into_iter().peekable();
            while let Some(first) = waiting.next() {
                let next = || waiting.next_if(|item| matches!(item, Item::Change(_)));
                if voice.offer(&mut vec![first], next).0 != Offered::Accepted {
                    break;
                }
            }
        }
        if let Way::Stream {
            responder,
            revision,
        } = way
        {
            // A host's transport may panic here too.
            if let Some(home) = self.home.upgrade() {
                let services = &home.conversation.services;
                let end = AssertUnwindSafe(|| end_of_stream(responder, revision, services));
                _ = catch_unwind(end);
            }
        }
    }
}

/// Ends a subscription stream with the result of its `subscriptions/listen` request.
fn end_of_stream(responder: Responder, revision: ProtocolVersion, services: &CallServices) {
    let id = responder.id().clone();
    let mut params =
        CancelledNotificationParams::new(id.clone()).reason("the server ends the subscription");
    params.meta = Some(NotificationMetaObject::of_subscription(id));
    let farewell = notification(method::NOTIFICATIONS_CANCELLED, &params);
    let mut result = SubscriptionsListenResult::new(responder.id().clone());
    if let Some(meta) = services.result_meta(revision) {
        result.meta.get_or_insert_default().server_info = meta.server_info;
    }
    // Sending fails when the client has cancelled the request or has gone, and ends the connection
    // when there is no room.
    _ = responder.conclude(farewell, &result);
}

impl Watcher for Subscriber {
    /// Removes this subscriber, because the client has cancelled the request of its stream.
    fn cancelled(&self) {
        let is_over = self.state.lock().way.is_none();
        if let Some(home) = self.home.upgrade().filter(|_| !is_over) {
            home.forget_stream(self.number);
        }
    }
}

impl State {
    /// Queues an item. Returns whether the subscriber becomes due.
    fn queue(&mut self, item: Item) -> bool {
        self.waiting.get_or_insert_default().push_back(item);
        self.becomes_due()
    }

    fn becomes_due(&mut self) -> bool {
        let is_idle = self.phase == Phase::Idle;
        if is_idle {
            self.phase = Phase::Due;
        }
        is_idle
    }

    fn take_item(&mut self) -> Option<Item> {
        let item = self.waiting.as_mut()?.pop_front();
        self.waiting.take_if(|waiting| waiting.is_empty());
        match item.as_ref()? {
            Item::Log(_) => self.logs -= 1,
            // A later change makes another notification.
            Item::Change(due) => {
                if let Some(membership) = self.topics.find(&due.topic) {
                    membership.waits = false;
                }
            }
        }
        item
    }

    fn take_all(&mut self) -> VecDeque<Item> {
        self.logs = 0;
        for membership in self.topics.all() {
            membership.waits = false;
        }
        self.waiting.take().map(|all| *all).unwrap_or_default()
    }

    /// Puts unsent notifications back into the set, before all others. Returns the notifications
    /// whose topic has changed again, or was left by the subscriber. The caller must drop the
    /// returned notifications after releasing the lock.
    #[must_use]
    fn put_back(&mut self, unsent: Vec<Item>) -> Vec<Item> {
        let mut forgotten = Vec::new();
        for item in unsent.into_iter().rev() {
            match &item {
                Item::Log(_) => self.logs += 1,
                Item::Change(due) => match self.topics.find(&due.topic) {
                    Some(membership) if !membership.waits => membership.waits = true,
                    // The topic is pending already, or was unsubscribed.
                    _ => {
                        forgotten.push(item);
                        continue;
                    }
                },
            }
            self.waiting.get_or_insert_default().push_front(item);
        }
        forgotten
    }
}

impl Way {
    fn peer(&self) -> Peer {
        match self {
            Self::Stream { responder, .. } => responder.peer(),
            Self::Client { peer, .. } => peer.clone(),
        }
    }
}

impl Voice {
    fn of(way: &Way) -> Option<Self> {
        Some(match way {
            Way::Stream { responder, .. } => Self::Stream(responder.asking()),
            Way::Client {
                session_stream: Some(session_stream),
                ..
            } => Self::SessionStream(session_stream.upgrade()?),
            Way::Client { peer, .. } => Self::Client(peer.clone()),
        })
    }

    fn text(&self, item: &Item) -> Vec<u8> {
        let subscription = match self {
            Self::Stream(asking) => Some(asking.id()),
            _ => None,
        };
        match item {
            Item::Log(text) => text.to_vec(),
            Item::Change(due) => due.text(subscription),
        }
    }

    /// Sends the notification in `items`, and the changes that `next` returns, in one write.
    /// Afterwards `items` contains the notifications that were not sent. Also returns the number of
    /// notifications that were sent. Does not block.
    fn offer(&self, items: &mut Vec<Item>, next: impl FnMut() -> Option<Item>) -> (Offered, usize) {
        let offer = || match (self, &**items) {
            (Self::SessionStream(stream), [Item::Log(text)]) => {
                stream.announce(text);
                items.clear();
                (Offered::Accepted, 1)
            }
            _ => {
                let texts = self.texts(items, next);
                let (all, sent) = (texts.len(), self.post(texts));
                items.drain(..sent.map_or(0, |sent| sent));
                sent.map_or_else(
                    |failed| (failed, 0),
                    |sent| (Offered::of(sent == all), sent),
                )
            }
        };
        // A host's transport may panic, which counts as its failure.
        catch_unwind(AssertUnwindSafe(offer)).unwrap_or((Offered::Over, 0))
    }

    /// Returns the texts of the notifications in `items`, and of the changes that `next` returns,
    /// up to [`ONE_WRITE`]. Adds these changes to `items`.
    fn texts(&self, items: &mut Vec<Item>, mut next: impl FnMut() -> Option<Item>) -> Vec<Vec<u8>> {
        let mut texts: Vec<_> = items.iter().map(|item| self.text(item)).collect();
        let mut bytes: usize = texts.iter().map(Vec::len).sum();
        while bytes < ONE_WRITE
            && let Some(item) = next()
        {
            let text = self.text(&item);
            bytes += text.len();
            texts.push(text);
            items.push(item);
        }
        texts
    }

    /// Sends or queues notifications without blocking. Returns the number of notifications for
    /// which there was room.
    fn post(&self, texts: Vec<Vec<u8>>) -> Result<usize, Offered> {
        let posted = match self {
            Self::Stream(asking) => asking.post(texts),
            Self::Client(peer) => peer.core().post(None, texts),
            Self::SessionStream(stream) => {
                return match stream.offer(&texts) {
                    Offered::Accepted => Ok(texts.len()),
                    other => Err(other),
                };
            }
        };
        posted.map_err(|error| match error.kind() {
            ErrorKind::Timeout => Offered::Full,
            _ => Offered::Over,
        })
    }
}

#[cfg(all(test, not(loom), target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::*;

    // Each idle event stream has a subscriber. See "Memory" in docs/performance.md.
    #[test]
    fn a_subscriber_is_small() {
        let size = size_of::<Subscriber>();
        assert!(size <= 120, "{size} bytes");
    }
}
