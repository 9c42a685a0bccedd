//! Event buses, by which the processes of one server tell each other of changes.
//!
//! A change reaches the clients of the process in which it happened without the bus. The bus passes
//! the change to the other processes, which notify their own clients.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::debug_fields::debug_fields;
use crate::error::Result;
use crate::protocol::{LogHook, LogLevel, tell};
use crate::sync::Mutex;

/// Takes the events that other processes have published. `None` means that events may have been
/// lost. The call only queues, so it is quick, and it may be made from any thread.
pub type Deliver = Box<dyn Fn(Option<&str>) + Send + Sync>;

/// A connection to the other processes of a server, for change notifications. See
/// [`ServerBuilder::event_bus`](super::ServerBuilder::event_bus).
///
/// An event is a short text, which only servers of this library read. A message broker with
/// "publish and subscribe" passes it on unchanged.
pub trait EventBus: Send + Sync {
    /// Passes an event to the servers of all other processes.
    ///
    /// The function runs on the thread that makes the change, so it should only queue the event,
    /// and never wait for the network. Order does not matter. An event that arrives twice causes
    /// one needless notification.
    ///
    /// # Errors
    ///
    /// An error when the other processes will not get the event. The server logs it. The bus should
    /// deliver `None` in the other processes as soon as it can reach them.
    fn publish(&self, event: &str) -> Result<()>;

    /// Begins to deliver the events that other processes publish, but not those of this bus object.
    /// The server calls the function once. Dropping the returned value ends the delivery.
    ///
    /// When events may have been lost, for example because a connection was broken, the bus
    /// delivers `None`. Each client is then told that everything it has subscribed to has changed.
    ///
    /// # Errors
    ///
    /// An error when events can't be delivered at all. Then the server is not built. If the broker
    /// can't be reached at the moment, the function should return a value, and connect later.
    fn subscribe(&self, deliver: Deliver) -> Result<Box<dyn Send + Sync>>;
}

/// An [`EventBus`] between servers in one process. Each clone belongs to one server.
///
/// # Examples
///
/// ```
/// use mcplink::server::{MemoryEventBus, Server};
///
/// let bus = MemoryEventBus::default();
/// let public = Server::builder("shop", "1.0").event_bus(bus.clone()).build()?;
/// let internal = Server::builder("shop", "1.0").event_bus(bus).build()?;
/// // The clients of both servers that have subscribed to the resource are notified.
/// public.resource_updated("stock://apples");
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct MemoryEventBus {
    shared: Arc<Shared>,
    own: u64,
}

#[derive(Default)]
struct Shared {
    /// The number of bus objects so far.
    objects: AtomicU64,
    /// The subscriptions, with the numbers of their bus objects.
    subscriptions: Mutex<Vec<(u64, Arc<Deliver>)>>,
}

impl MemoryEventBus {
    fn on(shared: Arc<Shared>) -> Self {
        let own = shared.objects.fetch_add(1, Ordering::Relaxed);
        Self { shared, own }
    }
}

/// Implements `Default`: a new bus.
impl Default for MemoryEventBus {
    fn default() -> Self {
        Self::on(Arc::default())
    }
}

/// Implements `Clone`: the clone is on the same bus, for another server.
impl Clone for MemoryEventBus {
    fn clone(&self) -> Self {
        Self::on(Arc::clone(&self.shared))
    }
}

debug_fields!(MemoryEventBus);

impl EventBus for MemoryEventBus {
    fn publish(&self, event: &str) -> Result<()> {
        // Copied, so that the lock is not held while servers take the event.
        let all = self.shared.subscriptions.lock().clone();
        for (_, deliver) in all.iter().filter(|(of, _)| *of != self.own) {
            deliver(Some(event));
        }
        Ok(())
    }

    fn subscribe(&self, deliver: Deliver) -> Result<Box<dyn Send + Sync>> {
        let deliver = Arc::new(deliver);
        let mut all = self.shared.subscriptions.lock();
        all.push((self.own, Arc::clone(&deliver)));
        Ok(Box::new(Subscribed {
            shared: Arc::clone(&self.shared),
            deliver,
        }))
    }
}

/// A subscription of a [`MemoryEventBus`]. Dropping the value ends it.
struct Subscribed {
    shared: Arc<Shared>,
    deliver: Arc<Deliver>,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        let mut all = self.shared.subscriptions.lock();
        all.retain(|(_, deliver)| !Arc::ptr_eq(deliver, &self.deliver));
    }
}

/// A change, of which clients that have subscribed are notified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Change<'a> {
    /// The list of tools has changed.
    Tools,
    Prompts,
    Resources,
    /// The resource with this URI has changed.
    #[serde(borrow)]
    Resource(Cow<'a, str>),
    /// The record with this key has changed, which is that of a task.
    #[serde(borrow)]
    Task(Cow<'a, str>),
}

impl Change<'_> {
    pub(super) fn of_resource(uri: &str) -> Change<'_> {
        Change::Resource(uri.into())
    }

    /// Returns the text of the change for other processes.
    pub(super) fn event(&self) -> String {
        serde_json::to_string(self).expect("a change is text or an object with text")
    }

    /// Reads the text of a change. Returns `None` for a text of another version of this library:
    /// then everything may have changed.
    pub(super) fn of_event(event: &str) -> Option<Change<'_>> {
        serde_json::from_str(event).ok()
    }
}

/// The bus of a server, for the events that the server publishes.
pub(super) struct Publisher {
    bus: Arc<dyn EventBus>,
    log: Option<LogHook>,
    /// Whether the last event could not be published. So a broker that is gone is logged once.
    has_failed: AtomicBool,
}

impl Publisher {
    pub(super) fn new(bus: Arc<dyn EventBus>, log: Option<LogHook>) -> Self {
        let has_failed = AtomicBool::new(false);
        Self {
            bus,
            log,
            has_failed,
        }
    }

    pub(super) fn publish(&self, change: &Change<'_>) {
        let published = self.bus.publish(&change.event());
        let had_failed = self.has_failed.swap(published.is_err(), Ordering::Relaxed);
        match published {
            Err(error) if !had_failed => {
                tell(self.log.as_ref(), LogLevel::Warning, "server", || {
                    format!("other processes do not learn of changes: {error}")
                })
            }
            Ok(()) if had_failed => tell(self.log.as_ref(), LogLevel::Info, "server", || {
                "other processes learn of changes again".to_owned()
            }),
            _ => {}
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // Must not happen: a process that runs another version does not understand an event, and its
    // clients are not notified.
    #[test]
    fn events_are_short_texts_and_unknown_ones_are_noticed() {
        let resource = Change::of_resource("a:\"b\"");
        for (change, text) in [
            (Change::Tools, r#""tools""#),
            (Change::Prompts, r#""prompts""#),
            (Change::Resources, r#""resources""#),
            (resource, r#"{"resource":"a:\"b\""}"#),
            (Change::Task("task.a".into()), r#"{"task":"task.a"}"#),
        ] {
            assert_eq!(change.event(), text);
            assert_eq!(Change::of_event(text), Some(change));
        }
        for text in ["", "tools", r#""task""#, r#"{"resource":1}"#, "\u{0}"] {
            assert_eq!(Change::of_event(text), None, "{text}");
        }
    }
}
