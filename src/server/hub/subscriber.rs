//! One subscriber, and the set of changes that wait for it.
//!
//! What waits is a set, in the order in which it came: one notification for each topic, however often that changed. A notification becomes
//! text when it leaves, so that it tells the newest state. The set is no larger than what was subscribed to.
//!
//! ```text
//!            acknowledged              marked                   nothing waits any more
//!  NotYet ─────────────────▶ Idle ─────────────▶ Due ────────────────────────────────▶ Idle
//!                                                ╰── nobody reads ──▶ Parked ── a reader comes ──▶ Due
//! ```
//!
//! **Invariant:** while a subscriber is *due*, one party has it: the fan-out with those to be written or to be tried again, or the
//! connection's list. That party alone writes, so that notifications of one topic stay in order.
//!
//! **Locks:** the state's is held for moments, inside of that of a topic. Nothing is written, sent or dropped under it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::fanout::Fanout;
use super::topics::{Memberships, Topic};
use super::{Due, Followed, end_of_stream};
use crate::error::{ErrorKind, Result};
use crate::protocol::{Asking, Peer, Responder, Watcher};
use crate::schema::{LoggingLevel, ProtocolVersion};
use crate::server::dispatch::link_of;
use crate::shares::Client;
use crate::sync::Mutex;

/// After so many milliseconds a subscriber without room is tried again, first and at most.
const FIRST_PAUSE: u16 = 10;
const LAST_PAUSE: u16 = 1000;

thread_local! {
    /// Whether this thread writes to a subscriber: what it calls may be code of the host.
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread writes to a subscriber, further up.
pub(super) fn writes_here() -> bool {
    WRITES.get()
}

/// A stream of `subscriptions/listen`, or a legacy client.
pub(super) struct Subscriber {
    pub(super) number: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    turn: Turn,
    /// Until it is over.
    way: Option<Way>,
    /// What it is told of.
    topics: Memberships,
    /// What it counts against the limit.
    weight: usize,
    /// There while something waits.
    #[expect(
        clippy::box_collection,
        reason = "one pointer for the many that wait for nothing"
    )]
    waiting: Option<Box<VecDeque<Item>>>,
    /// How many log messages wait.
    logs: u32,
    /// For how many milliseconds it was left alone the last time that it had no room.
    pause: u16,
    /// How many threads write: the last one may be about to say that it is done.
    writers: u8,
    /// Somebody waits for the end of the writing.
    is_awaited: bool,
    /// Nothing more is told.
    is_ending: bool,
    /// A reader came while somebody was writing.
    has_reader_come: bool,
}

/// Who sees to what waits.
#[derive(Clone, Copy, Default, PartialEq)]
enum Turn {
    /// Nobody, before the acknowledgement.
    #[default]
    NotYet,
    /// Nobody has to.
    Idle,
    /// The one party that has it.
    Due,
    /// Nobody, until the client reads again.
    Parked,
}

/// How notifications reach it.
pub(super) enum Way {
    /// As those of a request.
    Stream {
        responder: Responder,
        revision: ProtocolVersion,
    },
    /// As those of no request: on the connection, unless there is a stream that stands in for it.
    Client {
        peer: Peer,
        standing: Option<Weak<dyn Standing>>,
    },
}

/// The stream on which a legacy client over HTTP is told what belongs to no request.
pub(in crate::server) trait Standing: Send + Sync {
    /// Writes a notification if somebody reads. Waits for nobody.
    fn offer(&self, text: &[u8]) -> Offered;

    /// Writes a notification, or keeps it for who comes back.
    fn announce(&self, text: &[u8]);

    /// Whether neither runs code of the host.
    fn is_quick(&self) -> bool;
}

/// What came of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Offered {
    Taken,
    /// There is no room for it now.
    Full,
    /// Nobody reads.
    #[cfg_attr(
        not(feature = "http-server"),
        expect(dead_code, reason = "only sessions over HTTP are read or not")
    )]
    Unread,
    /// Nothing is told any more.
    Over,
}

/// What is written next.
enum Item {
    Log(Arc<[u8]>),
    Change(Due),
}

/// A way, as who writes has it for one notification.
enum Voice {
    Stream(Asking),
    Client(Peer),
    Standing(Arc<dyn Standing>),
}

impl Subscriber {
    /// One that counts so much, and will be a member of so many topics.
    pub(super) fn new(number: u64, weight: usize, topics: usize) -> Arc<Self> {
        Arc::new(Self {
            number,
            state: Mutex::new(State {
                weight,
                topics: Memberships::of(topics),
                ..State::default()
            }),
        })
    }

    /// From now on it can be written to, once it is [opened](Self::open).
    pub(super) fn begin(&self, way: Way) {
        self.state.lock().way = Some(way);
    }

    /// Whether it was ended or cancelled.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.way.is_none() || state.is_ending
    }

    /// Notes that it will be a member of a topic.
    pub(super) fn add_topic(&self, topic: &Arc<Topic>) {
        self.state.lock().topics.add(topic);
    }

    /// Notes that it is no longer a member of a topic.
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

    /// What it is a member of, what it counts against the limit, and for which of many clients. A
    /// stream is taken out before its way is dropped: the way knows the client.
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

    /// A topic has changed. Gives whether the caller has to see to what waits now.
    #[must_use]
    pub(super) fn mark(&self, topic: &Arc<Topic>, task: Option<&Arc<dyn Followed>>) -> bool {
        let mut state = self.state.lock();
        let is_told = state.way.is_some() && !state.is_ending;
        let Some(membership) = state.topics.find(topic).filter(|_| is_told) else {
            return false;
        };
        if std::mem::replace(&mut membership.waits, true) {
            return false;
        }
        let due = Due {
            topic: Arc::clone(topic),
            task: task.cloned(),
        };
        state
            .waiting
            .get_or_insert_default()
            .push_back(Item::Change(due));
        state.becomes_due()
    }

    /// The same for a log message, which is dropped when `max` of them wait.
    #[must_use]
    pub(super) fn mark_log(&self, level: &LoggingLevel, text: &Arc<[u8]>, max: usize) -> bool {
        let mut state = self.state.lock();
        let Some(Way::Client { peer, .. }) = &state.way else {
            return false;
        };
        let wants = state.turn != Turn::NotYet && link_of(peer).conversation.wants_log(level);
        if !wants || state.logs as usize >= max {
            return false;
        }
        state.logs += 1;
        state
            .waiting
            .get_or_insert_default()
            .push_back(Item::Log(Arc::clone(text)));
        state.becomes_due()
    }

    /// It is acknowledged, and may be told of what has waited. Gives whether the caller has to see to that now.
    #[must_use]
    pub(super) fn open(&self) -> bool {
        let mut state = self.state.lock();
        if state.turn != Turn::NotYet {
            return false;
        }
        state.turn = Turn::Idle;
        state.waiting.is_some() && state.becomes_due()
    }

    /// A client reads that did not. Gives whether the caller has to see to what waits now.
    #[must_use]
    #[cfg(feature = "http-server")]
    pub(super) fn reader_came(&self) -> bool {
        let mut state = self.state.lock();
        state.has_reader_come = true;
        if state.turn != Turn::Parked {
            return false;
        }
        state.turn = Turn::Idle;
        state.waiting.is_some() && state.becomes_due()
    }

    /// Writes what waits where that takes no time, or has it written by a thread of the connection. For the party that has the subscriber.
    pub(super) fn dispatch(self: &Arc<Self>, fanout: &Arc<Fanout>) {
        let state = self.state.lock();
        let (peer, standing) = match &state.way {
            None => return,
            Some(Way::Stream { responder, .. }) if responder.has_outlet() => {
                drop(state);
                return self.write(fanout);
            }
            Some(Way::Stream { responder, .. }) => (responder.peer(), None),
            Some(Way::Client { peer, standing }) => (peer.clone(), standing.clone()),
        };
        drop(state);
        let Some(standing) = standing else {
            return self.have_pulled(&peer, fanout);
        };
        let is_quick = standing
            .upgrade()
            .is_none_or(|standing| standing.is_quick());
        if is_quick {
            return self.write(fanout);
        }
        // A store of the host's may take its time.
        let (this, fanout) = (Arc::clone(self), Arc::clone(fanout));
        peer.core().run_own(move || this.write(&fanout));
    }

    fn have_pulled(self: &Arc<Self>, peer: &Peer, fanout: &Arc<Fanout>) {
        let audience = &link_of(peer).audience;
        audience.have_pulled(Arc::clone(self), peer, fanout);
    }

    /// Writes what waits until there is no room.
    fn write(self: &Arc<Self>, fanout: &Arc<Fanout>) {
        let outer = WRITES.replace(true);
        self.begin_writing();
        let (mut retry, mut is_over) = (None, false);
        while let Some((voice, item)) = self.next() {
            let offered = voice.offer(&item);
            drop(voice);
            is_over = offered == Offered::Over;
            if self.settle(item, offered, &mut retry) {
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

    /// Ends a stream whose reader has gone, or may be told nothing more.
    fn give_up(&self) {
        let state = self.state.lock();
        let peer = match &state.way {
            Some(Way::Stream { responder, .. }) => responder.peer(),
            _ => return,
        };
        drop(state);
        link_of(&peer).end_stream(self.number);
    }

    /// Notes what came of a notification. Gives whether writing ends here.
    fn settle(&self, item: Item, offered: Offered, retry: &mut Option<Duration>) -> bool {
        let mut state = self.state.lock();
        let forgotten = match offered {
            Offered::Taken => {
                state.pause = 0;
                drop(state);
                drop(item);
                return false;
            }
            Offered::Full => {
                state.pause = (state.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
                *retry = Some(Duration::from_millis(state.pause.into()));
                state.put_back(item)
            }
            Offered::Unread => {
                let forgotten = state.put_back(item);
                if !std::mem::take(&mut state.has_reader_come) {
                    state.turn = Turn::Parked;
                }
                let goes_on = state.turn == Turn::Due;
                drop(state);
                drop(forgotten);
                return !goes_on;
            }
            Offered::Over => {
                state.turn = Turn::Idle;
                state.is_ending = true;
                let waiting = state.take_all();
                drop(state);
                drop((item, waiting));
                return true;
            }
        };
        drop(state);
        drop(forgotten);
        true
    }

    /// Queues what waits on its connection, until there is no room or `bytes` are no longer less than `enough`. Gives whether nothing is left.
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
            let offered = voice.post(text);
            drop(voice);
            let mut retry = None;
            if self.settle(item, offered, &mut retry) {
                break retry.is_none();
            }
        };
        self.end_writing(fanout);
        is_done
    }

    /// Whether nothing waits; the party that has the subscriber has it no longer then.
    fn is_done(&self) -> bool {
        let mut state = self.state.lock();
        if state.way.is_some() && !state.is_ending && state.waiting.is_some() {
            return false;
        }
        if state.turn == Turn::Due {
            state.turn = Turn::Idle;
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
            state.turn = Turn::Idle;
        }
        drop(state);
        voice.zip(item)
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

    /// Whether somebody writes at the moment, who will say when that ends.
    pub(super) fn is_written(&self) -> bool {
        let mut state = self.state.lock();
        let is_written = state.writers > 0;
        state.is_awaited |= is_written;
        is_written
    }

    /// Nothing more is told, and nothing said about that: the client has cancelled the request.
    pub(super) fn drop_way(&self) {
        let mut state = self.state.lock();
        let (way, waiting) = (state.way.take(), state.take_all());
        drop(state);
        drop((way, waiting));
    }

    /// Tells what still waits, and ends a stream with its result. Waits for nobody but who is writing to it.
    pub(super) fn end(self: &Arc<Self>, fanout: &Arc<Fanout>) {
        let mut state = self.state.lock();
        let is_told = !std::mem::replace(&mut state.is_ending, true);
        let peer = state.way.as_ref().map(Way::peer);
        let is_written = state.writers > 0;
        drop(state);
        let Some(peer) = peer else { return };
        if !writes_here() {
            fanout.wait_until_written(self);
        } else if is_written {
            // The host ends it from inside its own transport, which is in use.
            let (this, fanout) = (Arc::clone(self), Arc::clone(fanout));
            return peer.core().run_own(move || this.end(&fanout));
        }
        let mut state = self.state.lock();
        let (way, waiting) = (state.way.take(), state.take_all());
        let is_told = is_told && state.turn != Turn::NotYet;
        drop(state);
        let Some(way) = way else { return };
        if let Some(voice) = Voice::of(&way).filter(|_| is_told) {
            for item in waiting {
                if voice.offer(&item) != Offered::Taken {
                    break;
                }
            }
        }
        if let Way::Stream {
            responder,
            revision,
        } = way
        {
            // Of a transport of the host's, as above.
            let end = AssertUnwindSafe(|| end_of_stream(responder, revision));
            _ = catch_unwind(end);
        }
    }
}

impl Watcher for Subscriber {
    /// Takes a stream out whose request was cancelled.
    fn cancelled(&self) {
        let peer = self.state.lock().way.as_ref().map(Way::peer);
        if let Some(peer) = peer {
            link_of(&peer).forget_stream(self.number);
        }
    }
}

impl State {
    fn becomes_due(&mut self) -> bool {
        let is_idle = self.turn == Turn::Idle;
        if is_idle {
            self.turn = Turn::Due;
        }
        is_idle
    }

    fn take_item(&mut self) -> Option<Item> {
        let item = self.waiting.as_mut()?.pop_front();
        if self
            .waiting
            .as_ref()
            .is_some_and(|waiting| waiting.is_empty())
        {
            self.waiting = None;
        }
        match item.as_ref()? {
            Item::Log(_) => self.logs -= 1,
            // What changes from now on is told again.
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

    /// What changed again meanwhile stays as it is. Gives what is dropped outside of the lock.
    #[must_use]
    fn put_back(&mut self, item: Item) -> Option<Item> {
        match &item {
            Item::Log(_) => self.logs += 1,
            Item::Change(due) => match self.topics.find(&due.topic) {
                Some(membership) if !membership.waits => membership.waits = true,
                // It waits already, or was unsubscribed from.
                _ => return Some(item),
            },
        }
        self.waiting.get_or_insert_default().push_front(item);
        None
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
                standing: Some(standing),
                ..
            } => Self::Standing(standing.upgrade()?),
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

    fn offer(&self, item: &Item) -> Offered {
        let offer = || match (self, item) {
            (Self::Standing(standing), Item::Log(text)) => {
                standing.announce(text);
                Offered::Taken
            }
            (Self::Standing(standing), Item::Change(_)) => standing.offer(&self.text(item)),
            _ => self.post(self.text(item)),
        };
        // It may be a transport of the host's, whose panic is its failure.
        catch_unwind(AssertUnwindSafe(offer)).unwrap_or(Offered::Over)
    }

    /// Sends or queues a notification without waiting.
    fn post(&self, text: Vec<u8>) -> Offered {
        let posted: Result<bool> = match self {
            Self::Stream(asking) => asking.post(text),
            Self::Client(peer) => peer.core().post(None, text),
            Self::Standing(standing) => return standing.offer(&text),
        };
        match posted {
            Ok(true) => Offered::Taken,
            Ok(false) => Offered::Full,
            Err(error) if error.kind() == ErrorKind::Timeout => Offered::Full,
            Err(_) => Offered::Over,
        }
    }
}
