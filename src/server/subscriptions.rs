//! Subscriptions, which deliver changes from publishers to the clients that have subscribed to
//! notifications.
//!
//! One publish reaches the clients of both eras. A legacy client gets notifications on its
//! connection, from `notifications/initialized` on. A modern client gets them on each
//! `subscriptions/listen` stream with a matching filter.
//!
//! ```text
//!  publish ─▶ topic ─▶ inbox ─▶ fan-out thread ─▶ each member's set ─▶ its HTTP stream
//!                                                                   ╰─▶ its connection's threads
//! ```
//!
//! **Merging:** the inbox and each subscriber hold a *set* of changed topics. A set is no larger
//! than the subscription. So a slow subscriber misses no change, and need not be ended. The write
//! timeout ends a client that reads nothing at all. Log messages can't be merged: if more than
//! [`max_backlog`](crate::transport::Limits::max_backlog) wait, further log messages are dropped.
//!
//! **Cost:** a publisher looks up a topic and queues it. An open stream is a table entry, occupies
//! no thread, and does not count as a request in flight. Opening and closing a stream accesses only
//! the topics of that stream.
//!
//! **Invariant:** a stream joins its topics before its acknowledgement is sent, and gets no
//! notification before the acknowledgement. So no notification precedes the acknowledgement, and no
//! change after it is lost. A legacy client joins its topics before the answer to `initialize` is
//! sent, and gets no notification before `notifications/initialized`.
//!
//! **Locks:** the lock of a connection's subscribers is taken before the locks of topics and
//! subscribers. Nothing is written, ended or dropped while the connection's lock is held.
//!
//! Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28); Server Features, "Resources",
//! "Subscriptions" (up to 2025-11-25).

mod connection_subscribers;
mod fanout;
mod methods;
mod subject;
mod subscriber;
mod topics;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

pub(super) use self::connection_subscribers::ConnectionSubscribers;
use self::fanout::Fanout;
pub(super) use self::fanout::OnTaskRecord;
pub(super) use self::subject::{Followed, notification};
use super::conversation::Conversation;
use super::event_bus::{Change, EventBus, Publisher};
use crate::error::Result;
use crate::protocol::LogHook;
use crate::schema::{LoggingMessageNotificationParams, method};
use crate::sync::Mutex;
use crate::transport::{Limits, Threads};

/// All subscriptions of a server.
#[derive(Default)]
pub(super) struct Subscriptions {
    fanout: Arc<Fanout>,
    /// The bus to the other processes. Set once, when the server is built.
    publisher: OnceLock<Publisher>,
    /// The connections with subscribers, by number. The fan-out thread may run only while there is
    /// a connection with subscribers.
    connections: Mutex<BTreeMap<u64, Arc<ConnectionSubscribers>>>,
    next: AtomicU64,
}

impl Subscriptions {
    pub(super) fn new(limits: &Limits, threads: &Threads, log: Option<LogHook>) -> Self {
        Self {
            fanout: Arc::new(Fanout::new(limits, threads, log)),
            ..Self::default()
        }
    }

    /// Creates the table of the subscribers of a new connection.
    pub(super) fn of_connection(&self, conversation: Conversation) -> Arc<ConnectionSubscribers> {
        Arc::new(ConnectionSubscribers::new(conversation, &self.fanout))
    }

    /// Connects the server with other processes. Dropping the returned value ends the delivery of
    /// their events.
    pub(super) fn connect(
        &self,
        bus: Arc<dyn EventBus>,
        log: Option<LogHook>,
    ) -> Result<Box<dyn Send + Sync>> {
        // The function that delivers does not own the server, so the bus does not either.
        let fanout = Arc::downgrade(&self.fanout);
        let delivery = bus.subscribe(Box::new(move |event| {
            if let Some(fanout) = fanout.upgrade() {
                fanout.deliver(event);
            }
        }))?;
        // A builder connects a server once.
        _ = self.publisher.set(Publisher::new(bus, log));
        Ok(delivery)
    }

    /// Takes an event of another process. `None` means that events may have been lost.
    #[cfg(feature = "cffi")]
    pub(super) fn deliver(&self, event: Option<&str>) {
        self.fanout.deliver(event);
    }

    /// Publishes a change: queues its notifications for the subscribers, and tells other processes.
    pub(super) fn publish(&self, change: Change<'_>) {
        self.fanout.publish(&change);
        self.tell_others(&change);
    }

    /// Tells other processes of a change that has no subscribers here.
    pub(super) fn tell_others(&self, change: &Change<'_>) {
        if let Some(publisher) = self.publisher.get() {
            publisher.publish(change);
        }
    }

    /// Sets the function that takes the keys of records which other processes have changed.
    pub(super) fn on_task_record(&self, take: OnTaskRecord) {
        // A builder calls this once.
        _ = self.fanout.on_task_record.set(take);
    }

    /// Whether the task has subscribers.
    pub(super) fn follows_task(&self, id: &str) -> bool {
        self.fanout.topics.task(id).is_some()
    }

    /// Queues the notifications of a task that has changed.
    pub(super) fn task_changed(&self, task: Arc<dyn Followed>) {
        if let Some(topic) = self.fanout.topics.task(task.id()) {
            self.fanout.change(&topic, Some(task));
        }
    }

    /// Queues a log message for clients of the legacy era.
    pub(super) fn log(&self, params: &LoggingMessageNotificationParams) {
        if self.fanout.topics.logs.has_members() {
            let text = notification(method::NOTIFICATIONS_MESSAGE, params);
            self.fanout.log(params.level.clone(), text.into());
        }
    }

    /// Ends every stream of the server with the result of its request.
    pub(super) fn end_streams(&self) {
        let all: Vec<_> = self.connections.lock().values().cloned().collect();
        for subscribers in all {
            subscribers.end_streams();
        }
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn join(&self, number: u64, subscribers: &Arc<ConnectionSubscribers>) {
        let mut connections = self.connections.lock();
        connections.insert(number, Arc::clone(subscribers));
        self.fanout.go_on();
    }

    fn leave(&self, number: u64) {
        let mut connections = self.connections.lock();
        let left = connections.remove(&number);
        let is_last = connections.is_empty();
        if is_last {
            self.fanout.stop();
        }
        drop(connections);
        drop(left);
        if is_last {
            self.fanout.join();
        }
    }
}
