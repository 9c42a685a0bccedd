//! The index of topics. When a subject changes, the index finds the subscribers that are notified.
//!
//! **Locks:** a publisher takes the index's lock only for one lookup. A topic's lock is never taken
//! while the index's lock is held. So marking ten thousand members blocks no publisher.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Subject;
use super::subscriber::Subscriber;
use crate::schema::url::normalized;
use crate::sync::{AtomicBool, Mutex};

/// A topic: a subject that can change, and its subscribers.
pub(super) struct Topic {
    /// The unique number of the topic. Later topics have larger numbers.
    pub(super) number: u64,
    pub(super) subject: Subject,
    /// Whether the topic is in the inbox of the fan-out. All changes while the topic is in the
    /// inbox are merged into one.
    is_queued: AtomicBool,
    /// The number of members, including subscribers that are about to join. For a named topic, the
    /// number changes only under the index's lock. So the index keeps a topic that a subscriber is
    /// about to join.
    count: AtomicUsize,
    members: Mutex<BTreeMap<u64, Arc<Subscriber>>>,
}

impl Topic {
    fn new(number: u64, subject: Subject) -> Arc<Self> {
        Arc::new(Self {
            number,
            subject,
            is_queued: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            members: Mutex::default(),
        })
    }

    pub(super) fn has_members(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Records a change of the topic. Returns whether the caller must put the topic into the inbox
    /// of the fan-out.
    pub(super) fn change(&self) -> bool {
        !self.is_queued.swap(true, Ordering::SeqCst)
    }

    /// Records that the topic was taken out of the inbox of the fan-out. The next change puts the
    /// topic into the inbox again.
    pub(super) fn take_out(&self) {
        self.is_queued.swap(false, Ordering::SeqCst);
    }

    pub(super) fn for_each_member(&self, mut tell: impl FnMut(&Arc<Subscriber>)) {
        self.members.lock().values().for_each(&mut tell);
    }

    pub(super) fn has(&self, subscriber: &Subscriber) -> bool {
        self.members.lock().contains_key(&subscriber.number)
    }

    /// Adds a member. The subscriber records the topic first, because the topic may change as soon
    /// as the subscriber is a member.
    fn enter(self: &Arc<Self>, subscriber: &Arc<Subscriber>) {
        subscriber.add_topic(self);
        let mut members = self.members.lock();
        members.insert(subscriber.number, Arc::clone(subscriber));
    }

    fn remove(&self, subscriber: &Subscriber) {
        let removed = self.members.lock().remove(&subscriber.number);
        drop(removed);
    }
}

/// The topics of one subscriber, in the order of their numbers. A single topic is stored without an
/// allocation, because many subscribers have only one topic.
#[derive(Default)]
pub(super) enum Memberships {
    #[default]
    None,
    One([Membership; 1]),
    Many(Vec<Membership>),
}

/// The membership of a subscriber in a topic.
pub(super) struct Membership {
    pub(super) topic: Arc<Topic>,
    /// Whether a notification of a change of the topic is pending.
    pub(super) waits: bool,
}

impl Memberships {
    pub(super) fn of(count: usize) -> Self {
        match count {
            0 | 1 => Self::None,
            _ => Self::Many(Vec::with_capacity(count)),
        }
    }

    pub(super) fn all(&mut self) -> &mut [Membership] {
        match self {
            Self::None => &mut [],
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }

    pub(super) fn find(&mut self, topic: &Topic) -> Option<&mut Membership> {
        let all = self.all();
        let position = all.binary_search_by_key(&topic.number, |it| it.topic.number);
        position.ok().map(|at| &mut all[at])
    }

    pub(super) fn add(&mut self, topic: &Arc<Topic>) {
        let added = Membership {
            topic: Arc::clone(topic),
            waits: false,
        };
        *self = match std::mem::take(self) {
            Self::None => Self::One([added]),
            Self::One(one) => Self::Many(one.into()).with(added),
            many => many.with(added),
        };
    }

    fn with(mut self, added: Membership) -> Self {
        if let Self::Many(many) = &mut self {
            let at = many.partition_point(|it| it.topic.number < added.topic.number);
            many.insert(at, added);
        }
        self
    }

    pub(super) fn remove(&mut self, topic: &Topic) -> Option<Membership> {
        let number = topic.number;
        match self {
            Self::None => None,
            Self::One([one]) if one.topic.number != number => None,
            Self::One(_) => match std::mem::take(self) {
                Self::One([one]) => Some(one),
                _ => None,
            },
            Self::Many(many) => {
                let position = many.binary_search_by_key(&number, |it| it.topic.number);
                position.ok().map(|at| many.remove(at))
            }
        }
    }

    pub(super) fn into_topics(self) -> Vec<Arc<Topic>> {
        let all = match self {
            Self::None => Vec::new(),
            Self::One(one) => one.into(),
            Self::Many(many) => many,
        };
        all.into_iter().map(|it| it.topic).collect()
    }
}

/// All topics of a server.
pub(super) struct Topics {
    pub(super) tools: Arc<Topic>,
    pub(super) prompts: Arc<Topic>,
    pub(super) resources: Arc<Topic>,
    /// The topic of log messages. Its members are the legacy clients that may get log messages.
    pub(super) logs: Arc<Topic>,
    next: AtomicU64,
    named: Mutex<Named>,
}

/// The topics of resources and tasks. A topic is in this table while it has members.
#[derive(Default)]
struct Named {
    /// The topics of resources by normalized URI. The subject of a topic has the URI in the
    /// spelling of the first subscriber.
    uris: HashMap<Arc<str>, Arc<Topic>>,
    tasks: HashMap<Arc<str>, Arc<Topic>>,
}

impl Default for Topics {
    fn default() -> Self {
        Self {
            tools: Topic::new(0, Subject::Tools),
            prompts: Topic::new(1, Subject::Prompts),
            resources: Topic::new(2, Subject::Resources),
            logs: Topic::new(3, Subject::Logs),
            next: AtomicU64::new(4),
            named: Mutex::default(),
        }
    }
}

impl Topics {
    /// Returns the topic of a resource, if it has subscribers.
    pub(super) fn uri(&self, uri: &str) -> Option<Arc<Topic>> {
        let named = self.named.lock();
        if named.uris.is_empty() {
            return None;
        }
        let topic = named.uris.get(uri);
        let topic = topic.or_else(|| named.uris.get(&*normalized(uri)));
        topic.cloned()
    }

    /// Returns the topic of a task, if it has subscribers.
    pub(super) fn task(&self, id: &str) -> Option<Arc<Topic>> {
        self.named.lock().tasks.get(id).cloned()
    }

    /// Adds a subscriber to a permanent topic. The subscriber must not be a member yet.
    pub(super) fn join(&self, topic: &Arc<Topic>, subscriber: &Arc<Subscriber>) {
        topic.count.fetch_add(1, Ordering::SeqCst);
        topic.enter(subscriber);
    }

    /// Adds a subscriber to the topic of a resource. The subscriber must not be a member yet.
    pub(super) fn join_uri(&self, uri: &str, subscriber: &Arc<Subscriber>) {
        let key = normalized(uri);
        let subject = || Subject::Resource(uri.into());
        self.join_named(&key, subscriber, |named| &mut named.uris, subject);
    }

    /// Adds a subscriber to the topic of a task. The subscriber must not be a member yet.
    pub(super) fn join_task(&self, id: &str, subscriber: &Arc<Subscriber>) {
        let subject = || Subject::Task(id.into());
        self.join_named(id, subscriber, |named| &mut named.tasks, subject);
    }

    fn join_named(
        &self,
        key: &str,
        subscriber: &Arc<Subscriber>,
        table: fn(&mut Named) -> &mut HashMap<Arc<str>, Arc<Topic>>,
        subject: impl FnOnce() -> Subject,
    ) {
        let mut named = self.named.lock();
        let table = table(&mut named);
        let topic = match table.get(key) {
            Some(topic) => Arc::clone(topic),
            None => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                let topic = Topic::new(number, subject());
                table.insert(key.into(), Arc::clone(&topic));
                topic
            }
        };
        topic.count.fetch_add(1, Ordering::SeqCst);
        drop(named);
        topic.enter(subscriber);
    }

    /// Removes a member from a topic. A named topic without members is removed from the index.
    pub(super) fn leave(&self, topic: &Arc<Topic>, subscriber: &Subscriber) {
        topic.remove(subscriber);
        let mut named = self.named.lock();
        let is_last = topic.count.fetch_sub(1, Ordering::SeqCst) == 1;
        let forgotten = match &topic.subject {
            Subject::Resource(uri) if is_last => named.uris.remove_entry(&*normalized(uri)),
            Subject::Task(id) if is_last => named.tasks.remove_entry(id),
            _ => None,
        };
        drop(named);
        drop(forgotten);
    }
}
