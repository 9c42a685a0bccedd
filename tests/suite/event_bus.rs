//! The processes of one server tell each other of changes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use mcplink::protocol::{LogLevel, LogRecord};
use mcplink::schema::{Prompt, ProtocolVersion, Tool};
use mcplink::server::{Context, Deliver, EventBus, List, MemoryEventBus, Server, ServerBuilder};
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::raw::Raw;

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

fn builder() -> ServerBuilder {
    Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "done")
        .prompt(Prompt::new("p"), |(): (), _: &Context| "")
        .declare_capability(List::Resources)
}

fn add_tool(server: &Server, name: &str) {
    server
        .add_tool(Tool::new(name), |_: Value, _: &Context| "")
        .unwrap();
}

/// A client that is notified of changes of a server, in the way of its era.
struct Follower {
    server: Server,
    client: Raw,
    /// A resource of which only this client is notified.
    last: String,
}

impl Follower {
    /// Returns the next change of which the client is notified: the URI of a resource, or the
    /// method.
    fn change(&mut self) -> String {
        let message = self.client.next();
        let uri = message["params"]["uri"].as_str();
        uri.or_else(|| message["method"].as_str())
            .unwrap()
            .to_owned()
    }

    /// Returns the changes of which the client has been notified so far, sorted.
    fn changes(&mut self) -> Vec<String> {
        self.server.resource_updated(&self.last);
        let mut changes = Vec::new();
        loop {
            let change = self.change();
            if change == self.last {
                changes.sort();
                return changes;
            }
            changes.push(change);
        }
    }
}

/// Opens a client that is notified of changes.
fn follow(server: &Server, revision: ProtocolVersion) -> Follower {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let last = format!("last:{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let client = subscribed(server, revision, &last);
    Follower {
        server: server.clone(),
        client,
        last,
    }
}

fn subscribed(server: &Server, revision: ProtocolVersion, last: &str) -> Raw {
    let mut client = Raw::silent(server, revision);
    client.begin();
    if revision.is_legacy() {
        for uri in ["a:1", "a:2", last] {
            client.result("resources/subscribe", json!({ "uri": uri }));
        }
        client.settle();
        return client;
    }
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["a:1", "a:2", last],
    });
    let params = json!({ "notifications": filter });
    client.request(json!("all"), "subscriptions/listen", params);
    client.next();
    client
}

/// The end of a bus that a test holds.
#[derive(Clone, Default)]
struct TestBus {
    published: Arc<Mutex<Vec<String>>>,
    deliver: Arc<Mutex<Option<Deliver>>>,
    is_broken: Arc<AtomicBool>,
}

struct Subscribed(Arc<Mutex<Option<Deliver>>>);

impl Drop for Subscribed {
    fn drop(&mut self) {
        self.0.lock().unwrap().take();
    }
}

impl EventBus for TestBus {
    fn publish(&self, event: &str) -> Result<()> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Closed, "the broker is gone"));
        }
        self.published.lock().unwrap().push(event.to_owned());
        Ok(())
    }

    fn subscribe(&self, deliver: Deliver) -> Result<Box<dyn Send + Sync>> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Closed, "the broker is gone"));
        }
        *self.deliver.lock().unwrap() = Some(deliver);
        Ok(Box::new(Subscribed(Arc::clone(&self.deliver))))
    }
}

impl TestBus {
    fn deliver(&self, event: Option<&str>) {
        self.deliver.lock().unwrap().as_ref().unwrap()(event);
    }
}

#[test]
fn a_change_reaches_the_clients_of_all_servers_once() {
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let bus = MemoryEventBus::default();
        let mut servers: Vec<Server> = (0..3)
            .map(|_| builder().event_bus(bus.clone()).build().unwrap())
            .collect();
        let followers = servers.iter().map(|server| follow(server, revision));
        let mut followers: Vec<Follower> = followers.collect();
        servers[0].resource_updated("a:1");
        servers[0].resource_updated("b:1");
        add_tool(&servers[1], "new");
        for follower in &mut followers {
            assert_eq!(follower.changes(), ["a:1", TOOLS]);
        }
        // A server that is gone is no hindrance.
        drop((followers.remove(1), servers.remove(1)));
        assert!(servers[0].remove_tool("t"));
        for follower in &mut followers {
            assert_eq!(follower.changes(), [TOOLS]);
        }
    }
}

#[test]
fn lost_events_and_unknown_ones_mean_that_everything_may_have_changed() {
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let bus = TestBus::default();
        let server = builder().event_bus(bus.clone()).build().unwrap();
        let mut follower = follow(&server, revision);
        for event in [None, Some("of another version"), Some("")] {
            bus.deliver(event);
            let mut all: Vec<String> = (0..6).map(|_| follower.change()).collect();
            all.sort();
            let last = follower.last.clone();
            assert_eq!(all, ["a:1", "a:2", &*last, PROMPTS, RESOURCES, TOOLS]);
            assert!(follower.changes().is_empty());
        }
    }
}

#[test]
fn events_are_published_once_and_not_for_the_first_lists() {
    let bus = TestBus::default();
    let server = builder().event_bus(bus.clone()).build().unwrap();
    assert!(bus.published.lock().unwrap().is_empty());
    server.resource_updated("a:1");
    add_tool(&server, "new");
    let published = bus.published.lock().unwrap().clone();
    assert_eq!(published, [r#"{"resource":"a:1"}"#, r#""tools""#]);
    // A delivered event is not published again.
    for event in &published {
        bus.deliver(Some(event));
    }
    bus.deliver(None);
    assert_eq!(*bus.published.lock().unwrap(), published);
}

#[test]
fn a_broken_bus_is_logged_once_and_keeps_nobody_from_the_own_clients() {
    let bus = TestBus::default();
    let (log, logged) = mpsc::channel();
    let server = builder()
        .event_bus(bus.clone())
        .on_log(move |record: &LogRecord<'_>| {
            _ = log.send((record.level, record.text.to_owned()));
        })
        .build()
        .unwrap();
    let mut follower = follow(&server, ProtocolVersion::V2026_07_28);
    bus.is_broken.store(true, Ordering::SeqCst);
    server.resource_updated("a:1");
    server.resource_updated("a:2");
    assert_eq!(follower.changes(), ["a:1", "a:2"]);
    bus.is_broken.store(false, Ordering::SeqCst);
    server.resource_updated("a:1");
    let logged: Vec<_> = logged.try_iter().collect();
    let [(LogLevel::Warning, lost), (LogLevel::Info, _)] = &*logged else {
        panic!("{logged:?}");
    };
    assert!(lost.contains("the broker is gone"), "{lost}");
}

#[test]
fn a_server_that_can_not_subscribe_is_not_built_and_one_that_goes_ends_its_subscription() {
    let bus = TestBus::default();
    bus.is_broken.store(true, Ordering::SeqCst);
    let error = builder().event_bus(bus.clone()).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    bus.is_broken.store(false, Ordering::SeqCst);
    let server = builder().event_bus(bus.clone()).build().unwrap();
    assert!(bus.deliver.lock().unwrap().is_some());
    drop(server);
    assert!(bus.deliver.lock().unwrap().is_none());
}
