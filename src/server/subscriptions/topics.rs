//! The index of topics. When a subject changes, the index finds the subscribers that are notified.
//!
//! **Spellings:** a resource has one topic in the index, under its normalized URI. The topic's
//! members have subscribed to the normalized spelling. Each other spelling is a topic of its own
//! within that topic ([`Topic::others`]). So a change is published once, and each subscriber gets
//! the URI in its own spelling.
//!
//! **Locks:** a publisher takes the index's lock only for one lookup. The lock of a topic's members
//! is never taken while the index's lock is held. So marking ten thousand members blocks no
//! publisher. The lock of `others` may be taken inside the index's lock, but is held only briefly.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::subject::{Followed, Subject, notification};
use super::subscriber::Subscriber;
use crate::jsonrpc::RequestId;
use crate::schema::url::normalized;
use crate::schema::{
    NotificationMetaObject, NotificationParams, ResourceUpdatedNotificationParams, method,
};
use crate::sync::{AtomicBool, Mutex};

/// A topic: a subject that can change, and its subscribers.
pub(super) struct Topic {
    /// The unique number of the topic. Later topics have larger numbers.
    pub(super) number: u64,
    /// The number of the topic in the index. For another spelling of a resource's URI, this is the
    /// number of the topic of the normalized spelling. Otherwise it is `number`.
    pub(super) in_index: u64,
    pub(super) subject: Subject,
    /// Whether the topic is in the inbox of the fan-out. All changes while the topic is in the
    /// inbox are merged into one.
    is_queued: AtomicBool,
    /// The number of members, including subscribers that are about to join, and the members of
    /// `others`. For a named topic, the number changes only under the index's lock. So the index
    /// keeps a topic that a subscriber is about to join.
    count: AtomicUsize,
    members: Mutex<BTreeMap<u64, Arc<Subscriber>>>,
    /// The topics of the other spellings of a resource's URI, by spelling. A topic is in this table
    /// while it has members. `None` if there is no other spelling.
    others: Mutex<Option<Box<Spellings>>>,
}

/// The topics of the spellings of one URI.
type Spellings = HashMap<Arc<str>, Arc<Topic>>;

impl Topic {
    fn new(number: u64, subject: Subject) -> Arc<Self> {
        Self::within(number, number, subject)
    }

    fn within(in_index: u64, number: u64, subject: Subject) -> Arc<Self> {
        Arc::new(Self {
            number,
            in_index,
            subject,
            is_queued: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            members: Mutex::default(),
            others: Mutex::default(),
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

    /// Calls `tell` with each member and its topic: this topic, or the topic of another spelling.
    pub(super) fn for_each_member(
        self: &Arc<Self>,
        mut tell: impl FnMut(&Arc<Self>, &Arc<Subscriber>),
    ) {
        let mut tell_members = |topic: &Arc<Self>| {
            let members = topic.members.lock();
            members.values().for_each(|member| tell(topic, member));
        };
        tell_members(self);
        // The table is copied, so that threads that add or remove members do not wait.
        let table = self.others.lock();
        let others: Vec<_> = table.iter().flat_map(|all| all.values().cloned()).collect();
        drop(table);
        others.iter().for_each(tell_members);
    }

    /// Returns the topic of another spelling of the URI, if it has members.
    fn other(&self, spelling: &str) -> Option<Arc<Self>> {
        let others = self.others.lock();
        others.as_ref()?.get(spelling).cloned()
    }

    /// Counts a member for the topic of another spelling, and creates the topic if needed. The
    /// caller holds the index's lock.
    fn join_other(&self, spelling: &str, next: &AtomicU64) -> Arc<Self> {
        let mut others = self.others.lock();
        let others = others.get_or_insert_default();
        let topic = match others.get(spelling) {
            Some(topic) => Arc::clone(topic),
            None => {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let name: Arc<str> = spelling.into();
                let subject = Subject::Resource(Arc::clone(&name));
                let topic = Self::within(self.number, number, subject);
                others.insert(name, Arc::clone(&topic));
                topic
            }
        };
        topic.count.fetch_add(1, Ordering::SeqCst);
        topic
    }

    /// Reduces the number of members by one. Returns whether no member is left.
    fn lose_member(&self) -> bool {
        self.count.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Reduces the number of members of another spelling's topic by one. Returns the topic if no
    /// member is left. The caller holds the index's lock.
    fn leave_other(&self, topic: &Self) -> Option<Arc<Self>> {
        if !topic.lose_member() {
            return None;
        }
        let Subject::Resource(spelling) = &topic.subject else {
            return None;
        };
        let mut others = self.others.lock();
        let left = others.as_mut()?.remove(spelling);
        others.take_if(|others| others.is_empty());
        left
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
    /// The topics of resources, by normalized URI.
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
    /// Returns the topic of a resource in the index, if the resource has subscribers.
    pub(super) fn uri(&self, uri: &str) -> Option<Arc<Topic>> {
        let named = self.named.lock();
        if named.uris.is_empty() {
            return None;
        }
        let topic = named.uris.get(uri);
        let topic = topic.or_else(|| named.uris.get(&*normalized(uri)));
        topic.cloned()
    }

    /// Returns the topics of all resources that have subscribers.
    pub(super) fn uris(&self) -> Vec<Arc<Topic>> {
        self.named.lock().uris.values().cloned().collect()
    }

    /// Returns the topic of a resource for this spelling of its URI, if it has subscribers.
    pub(super) fn spelling(&self, uri: &str) -> Option<Arc<Topic>> {
        let topic = self.uri(uri)?;
        match &topic.subject {
            Subject::Resource(own) if **own == *uri => Some(topic),
            _ => topic.other(uri),
        }
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

    /// Adds a subscriber to the topic of a resource, for this spelling of its URI. The subscriber
    /// must not be a member yet.
    pub(super) fn join_uri(&self, uri: &str, subscriber: &Arc<Subscriber>) {
        let key = normalized(uri);
        let mut named = self.named.lock();
        let mut topic = self.count_in(&mut named.uris, &key, Subject::Resource);
        if key != uri {
            topic = topic.join_other(uri, &self.next);
        }
        drop(named);
        topic.enter(subscriber);
    }

    /// Adds a subscriber to the topic of a task. The subscriber must not be a member yet.
    pub(super) fn join_task(&self, id: &str, subscriber: &Arc<Subscriber>) {
        let mut named = self.named.lock();
        let topic = self.count_in(&mut named.tasks, id, Subject::Task);
        drop(named);
        topic.enter(subscriber);
    }

    /// Counts a member for a topic of the index, and creates the topic if needed.
    fn count_in(
        &self,
        table: &mut HashMap<Arc<str>, Arc<Topic>>,
        key: &str,
        subject: fn(Arc<str>) -> Subject,
    ) -> Arc<Topic> {
        let topic = match table.get(key) {
            Some(topic) => Arc::clone(topic),
            None => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                let key: Arc<str> = key.into();
                let topic = Topic::new(number, subject(Arc::clone(&key)));
                table.insert(key, Arc::clone(&topic));
                topic
            }
        };
        topic.count.fetch_add(1, Ordering::SeqCst);
        topic
    }

    /// Removes a member from a topic. A named topic without members is removed from the index.
    pub(super) fn leave(&self, topic: &Arc<Topic>, subscriber: &Subscriber) {
        topic.remove(subscriber);
        match &topic.subject {
            Subject::Resource(uri) => self.leave_uri(&normalized(uri), topic),
            Subject::Task(id) => {
                let mut named = self.named.lock();
                let forgotten = topic.lose_member().then(|| named.tasks.remove_entry(id));
                drop(named);
                drop(forgotten);
            }
            _ => _ = topic.lose_member(),
        }
    }

    fn leave_uri(&self, key: &str, topic: &Arc<Topic>) {
        let mut named = self.named.lock();
        let Some(in_index) = named.uris.get(key).cloned() else {
            return;
        };
        let other = match in_index.number == topic.number {
            true => None,
            false => in_index.leave_other(topic),
        };
        let forgotten = in_index.lose_member().then(|| named.uris.remove_entry(key));
        drop(named);
        drop((other, forgotten));
    }
}

/// A pending notification of a subscriber.
pub(super) struct PendingChange {
    pub(super) topic: Arc<Topic>,
    /// The task whose state the notification contains. `None` if the topic is not a task.
    pub(super) task: Option<Arc<dyn Followed>>,
}

impl PendingChange {
    /// Returns the text of the notification, with the current state of its subject. `subscription`
    /// is the id of the subscriber's stream, if the subscriber is a stream.
    pub(super) fn text(&self, subscription: Option<&RequestId>) -> Vec<u8> {
        let meta = subscription.map(|id| NotificationMetaObject::of_subscription(id.clone()));
        let list = |method| notification(method, &NotificationParams { meta: meta.clone() });
        match (&self.topic.subject, &self.task) {
            (Subject::Tools, _) => list(method::NOTIFICATIONS_TOOLS_LIST_CHANGED),
            (Subject::Prompts, _) => list(method::NOTIFICATIONS_PROMPTS_LIST_CHANGED),
            (Subject::Resources, _) => list(method::NOTIFICATIONS_RESOURCES_LIST_CHANGED),
            (Subject::Resource(uri), _) => {
                let mut params = ResourceUpdatedNotificationParams::new(&**uri);
                params.meta = meta;
                notification(method::NOTIFICATIONS_RESOURCES_UPDATED, &params)
            }
            (_, Some(task)) => task.text(subscription),
            (Subject::Task(_) | Subject::Logs, None) => unreachable!("it comes with its text"),
        }
    }
}
