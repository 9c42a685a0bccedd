//! Rate limits whose buckets several servers share.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcplink::client::Client;
use mcplink::schema::Tool;
use mcplink::server::{Context, MemoryRateStore, RateLimit, RateStore, Server};
use mcplink::transport::memory;
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

/// A store that fails while it is told to, and records its callers.
#[derive(Clone, Default)]
struct Store {
    buckets: MemoryRateStore,
    fails: Arc<AtomicBool>,
    callers: Arc<Mutex<Vec<String>>>,
}

impl RateStore for Store {
    fn take(&self, caller: &str, requests: NonZeroU32, per: Duration) -> Result<Option<Duration>> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Io, "the store is gone"));
        }
        self.callers.lock().unwrap().push(caller.to_owned());
        self.buckets.take(caller, requests, per)
    }
}

/// A server that admits three calls of each caller. Returns its log, too.
fn server(store: &Store) -> (Server, Arc<Mutex<Vec<String>>>) {
    let three = NonZeroU32::new(3).unwrap();
    // No token comes back while the test runs.
    let day = Duration::from_secs(24 * 60 * 60);
    let log = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&log);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "done")
        .guard(
            RateLimit::new(three, day)
                .on(&["tools/call"])
                .store(store.clone()),
        )
        .on_log(move |record| noted.lock().unwrap().push(record.text.to_owned()))
        .build()
        .unwrap();
    (server, log)
}

/// The number of calls that a server admits, of those that are made on one connection.
fn admitted(server: &Server, principal: Option<&str>, calls: usize) -> usize {
    let (here, there) = memory::pair();
    let _serving = match principal {
        Some(name) => server.open_for(name, there).unwrap(),
        None => server.open(there).unwrap(),
    };
    let client = Client::connect(here).unwrap();
    let calls = (0..calls).filter(|_| client.call_tool("t", &json!({})).is_ok());
    calls.count()
}

// M-TOOL-S-29
#[test]
fn servers_with_one_store_limit_the_requests_of_a_principal_together() {
    let store = Store::default();
    let servers = [(); 3].map(|()| server(&store).0);
    let ada = servers
        .each_ref()
        .map(|server| admitted(server, Some("ada"), 2));
    assert_eq!(ada, [2, 1, 0]);
    assert_eq!(admitted(&servers[2], Some("bob"), 5), 3);
    assert_eq!(store.callers.lock().unwrap()[0], "principal ada");
}

// Must not happen: connections of two processes have the same number, and so count as one caller.
#[test]
fn connections_without_a_principal_are_limited_where_they_are() {
    let store = Store::default();
    let servers = [(); 2].map(|()| server(&store).0);
    let all = servers.each_ref().map(|server| admitted(server, None, 5));
    assert_eq!(all, [3, 3]);
    assert_eq!(*store.callers.lock().unwrap(), [""; 0]);
}

// Must not happen: a store that is gone refuses all requests, or admits them all.
#[test]
fn while_the_store_fails_each_server_limits_its_own_requests() {
    let store = Store::default();
    store.fails.store(true, Ordering::SeqCst);
    let (server, log) = server(&store);
    assert_eq!(admitted(&server, Some("ada"), 5), 3);
    let about = |text: &String| text.contains("the store is gone");
    assert_eq!(
        log.lock()
            .unwrap()
            .iter()
            .filter(|text| about(text))
            .count(),
        1
    );
    store.fails.store(false, Ordering::SeqCst);
    assert_eq!(admitted(&server, Some("ada"), 5), 3);
}
