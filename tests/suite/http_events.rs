//! Stores of a host's own for the events of legacy streams: what clients that come back get, and what a store that fails costs.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use mcplink::schema::{ProtocolVersion, Tool};
use mcplink::server::http::{EventLog, EventStore, HttpOptions};
use mcplink::server::{Context, Server, ServerBuilder};
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::LONG;
use crate::web::{Answer, LegacySession, Web, field};

/// What to do before an operation on an event.
type Hook = Arc<dyn Fn(&'static str, u64) -> Result<()> + Send + Sync>;

/// Session, stream and number.
type Key = (String, u64, u64);

/// Events in a map.
#[derive(Clone)]
struct Map {
    events: Arc<Mutex<BTreeMap<Key, Vec<u8>>>>,
    hook: Hook,
}

struct LogInMap {
    map: Map,
    session: String,
    stream: u64,
}

impl Map {
    fn new() -> Self {
        Self::with(|_, _| Ok(()))
    }

    fn with(hook: impl Fn(&'static str, u64) -> Result<()> + Send + Sync + 'static) -> Self {
        Self {
            events: Arc::default(),
            hook: Arc::new(hook),
        }
    }

    fn keys(&self) -> Vec<Key> {
        self.events.lock().unwrap().keys().cloned().collect()
    }

    fn wait_until_empty(&self) {
        let until = Instant::now() + LONG;
        while !self.keys().is_empty() {
            assert!(Instant::now() < until, "left: {:?}", self.keys());
            std::thread::yield_now();
        }
    }
}

impl EventStore for Map {
    fn open(&self, session: &str, stream: u64) -> Box<dyn EventLog> {
        Box::new(LogInMap {
            map: self.clone(),
            session: session.to_owned(),
            stream,
        })
    }
}

impl LogInMap {
    fn key(&self, number: u64) -> Key {
        (self.session.clone(), self.stream, number)
    }
}

impl EventLog for LogInMap {
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()> {
        (self.map.hook)("append", number)?;
        let mut events = self.map.events.lock().unwrap();
        assert!(events.insert(self.key(number), event.to_vec()).is_none());
        Ok(())
    }

    fn replay_after(
        &mut self,
        number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        (self.map.hook)("replay", number)?;
        let events = self.map.events.lock().unwrap();
        for ((_, _, number), event) in events.range(self.key(number + 1)..=self.key(u64::MAX)) {
            if send(*number, event).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for LogInMap {
    fn drop(&mut self) {
        let (session, stream) = (&self.session, self.stream);
        let mut events = self.map.events.lock().unwrap();
        events.retain(|(other, number, _), _| other != session || *number != stream);
    }
}

/// A server with a tool that tells so many steps, each with so many bytes.
fn builder() -> ServerBuilder {
    Server::builder("s", "1").tool_with(Tool::new("steps"), |args: Value, context: &Context| {
        let pad = "x".repeat(usize::try_from(args["bytes"].as_u64().unwrap()).unwrap());
        for step in 1..=args["steps"].as_u64().unwrap() {
            context.progress(step as f64, None, Some(&pad));
        }
        "done"
    })
}

fn steps(session: &LegacySession<'_>, steps: u64, bytes: u64) -> Answer {
    session.request(
        "tools/call",
        json!({"name": "steps", "arguments": {"steps": steps, "bytes": bytes}, "_meta": {"progressToken": 5}}),
    )
}

fn with_store(builder: ServerBuilder, store: Map) -> Web {
    // The bounds of the default store are none of another's.
    let options = HttpOptions::new().kept_events(1, 1).event_store(store);
    Web::with(&builder.build().unwrap(), options)
}

/// The ids and messages of a stream that has ended; a mark has none.
fn all_of(answer: &Answer) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    while let Some(event) = answer.event() {
        let message = match event.data.is_empty() {
            true => Value::Null,
            false => event.message(),
        };
        all.push((event.id.expect("an id"), message));
    }
    all
}

fn failed() -> Error {
    Error::new(ErrorKind::Io, "the disk is full")
}

// L-SSE-S-01, L-SSE-S-02, L-SSE-S-04, L-SSE-S-05
#[test]
fn a_client_goes_on_from_any_event_that_the_hosts_store_has() {
    let map = Map::new();
    let web = with_store(builder(), map.clone());
    let session = web.session(ProtocolVersion::V2025_11_25);
    let other = web.session(ProtocolVersion::V2025_06_18);
    let first = all_of(&steps(&session, 3, 0));
    let second = all_of(&steps(&session, 2, 0));
    let foreign = all_of(&steps(&other, 1, 0));
    assert_eq!((first.len(), second.len(), foreign.len()), (5, 4, 2));
    for stream in [&first, &second] {
        for (at, (id, _)) in stream.iter().enumerate() {
            assert_eq!(all_of(&session.get(Some(id))), stream[at + 1..], "{id}");
        }
    }
    let keys = map.keys();
    assert_eq!(keys.len(), 11, "{keys:?}");
    let mut names: Vec<_> = keys.iter().map(|(session, _, _)| session).collect();
    names.dedup();
    assert_eq!(names.len(), 2);
    for name in names {
        // What the store is told opens nothing.
        assert!(name.len() == 22 && *name != session.id && *name != other.id);
        let fields = [("Mcp-Session-Id", name.as_str())];
        assert_eq!(web.post(&fields, &json!({})).status(), 404);
    }
    assert_eq!(session.delete().status(), 200);
    assert_eq!(other.delete().status(), 200);
    map.wait_until_empty();
}

#[test]
fn a_short_answer_asks_nothing_of_the_store() {
    let map = Map::with(|_, _| panic!("nothing is to be kept"));
    let web = with_store(builder(), map.clone());
    let session = web.session(ProtocolVersion::V2025_11_25);
    assert_eq!(steps(&session, 0, 0).message()["id"].as_i64(), Some(2));
    assert!(map.keys().is_empty());
}

// L-HTTP-S-26, L-SSE-S-05
#[test]
fn the_standing_stream_is_kept_too() {
    let map = Map::new();
    let server = builder().build().unwrap();
    let web = Web::with(&server, HttpOptions::new().event_store(map.clone()));
    let session = web.session(ProtocolVersion::V2025_11_25);
    let add = |name: &str| {
        let tool = Tool::new(name);
        server.add_tool(tool, |_: Value, _: &Context| "").unwrap();
    };
    let stream = session.get(None);
    stream.head();
    add("a");
    let first = stream.event().unwrap();
    stream.leave();
    add("b");
    let again = session.get(None);
    let second = again.event().unwrap();
    assert_ne!(first.id, second.id);
    let resumed = session.get(first.id.as_deref());
    assert_eq!(resumed.event(), Some(second));
    assert!(map.keys().iter().all(|(_, stream, _)| *stream == 0));
    assert_eq!(map.keys().len(), 2);
}

/// A server that notes what it tells its host.
fn told(builder: ServerBuilder) -> (ServerBuilder, Receiver<String>) {
    let (log, logged) = mpsc::channel();
    let log = Mutex::new(log);
    let builder = builder.on_log(move |record| {
        // It fails when the test is over.
        _ = log.lock().unwrap().send(record.to_string());
    });
    (builder, logged)
}

// L-SSE-S-05, L-SSE-S-06
#[test]
fn a_store_that_fails_costs_resuming_and_nothing_else() {
    let (builder, logged) = told(builder());
    let map = Map::with(|what, number| match (what, number) {
        ("append", 2 | 3) => Err(failed()),
        _ => Ok(()),
    });
    let web = with_store(builder, map);
    let session = web.session(ProtocolVersion::V2025_06_18);
    let all = all_of(&steps(&session, 4, 0));
    assert_eq!(all.len(), 5, "everything was told live");
    assert_eq!(all[4].1["result"]["content"][0]["text"], "done");
    let said = logged.recv_timeout(LONG).unwrap();
    assert!(said.contains("not kept") && said.contains("disk"), "{said}");
    // From before the gap nobody can go on, from behind it everybody.
    for (at, (id, _)) in all.iter().enumerate() {
        let answer = session.get(Some(id));
        match at {
            0 | 1 => assert_eq!(answer.status(), 400, "{id}"),
            _ => assert_eq!(all_of(&answer), all[at + 1..], "{id}"),
        }
    }
    assert!(
        logged.try_recv().is_err(),
        "failures in a row are told once"
    );
}

#[test]
fn a_store_that_panics_has_failed() {
    let (builder, logged) = told(builder());
    let map = Map::with(|what, number| {
        assert!(what != "append" || number != 2, "on purpose");
        Ok(())
    });
    let web = with_store(builder, map);
    let session = web.session(ProtocolVersion::V2025_06_18);
    let all = all_of(&steps(&session, 2, 0));
    assert_eq!(all.len(), 3);
    assert!(logged.recv_timeout(LONG).unwrap().contains("panicked"));
    assert_eq!(session.get(Some(&all[0].0)).status(), 400);
    assert_eq!(all_of(&session.get(Some(&all[1].0))), all[2..]);
}

// L-SSE-S-06
#[test]
fn a_store_that_can_not_be_read_is_asked_again_later() {
    let (builder, logged) = told(builder());
    let fails = Arc::new(Mutex::new(true));
    let still = Arc::clone(&fails);
    let map = Map::with(
        move |what, _| match what == "replay" && *still.lock().unwrap() {
            true => Err(failed()),
            false => Ok(()),
        },
    );
    let web = with_store(builder, map);
    let session = web.session(ProtocolVersion::V2025_06_18);
    let all = all_of(&steps(&session, 2, 0));
    let answer = session.get(Some(&all[0].0));
    assert_eq!(answer.status(), 503);
    assert!(field(&answer.head(), "Retry-After").is_some());
    assert!(logged.recv_timeout(LONG).unwrap().contains("can't be read"));
    *fails.lock().unwrap() = false;
    assert_eq!(all_of(&session.get(Some(&all[0].0))), all[1..]);
}

// L-SSE-S-06
#[test]
fn events_that_a_store_dropped_are_not_skipped() {
    let map = Map::new();
    let web = with_store(builder(), map.clone());
    let session = web.session(ProtocolVersion::V2025_06_18);
    let all = all_of(&steps(&session, 3, 0));
    map.events
        .lock()
        .unwrap()
        .retain(|(_, _, number), _| *number != 2);
    assert_eq!(session.get(Some(&all[0].0)).status(), 400);
    assert_eq!(all_of(&session.get(Some(&all[1].0))), all[2..]);
    map.events.lock().unwrap().clear();
    assert_eq!(session.get(Some(&all[1].0)).status(), 400);
    assert_eq!(all_of(&session.get(Some(&all[3].0))), []);
}

// L-SSE-S-05
#[test]
fn much_is_told_again_in_pieces() {
    let web = with_store(builder(), Map::new());
    let session = web.session(ProtocolVersion::V2025_11_25);
    let all = all_of(&steps(&session, 40, 10_000));
    assert_eq!(all.len(), 42);
    assert_eq!(all_of(&session.get(Some(&all[0].0))), all[1..]);
}

/// Waits where it is told to, the first time that it comes there, until somebody lets it go on.
fn gate(at: u64) -> (Map, Receiver<()>, Sender<()>) {
    let (arrived, arrivals) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    let waits = Mutex::new(Some((arrived, gone)));
    let map = Map::with(move |what, number| {
        let is_there = (what, number) == ("append", at);
        let first = is_there.then(|| waits.lock().unwrap().take()).flatten();
        if let Some((arrived, gone)) = first {
            arrived.send(()).unwrap();
            gone.recv_timeout(LONG).unwrap();
        }
        Ok(())
    });
    (map, arrivals, go)
}

#[test]
fn a_slow_store_holds_up_its_stream_alone() {
    let (map, arrivals, go) = gate(2);
    let web = with_store(builder(), map);
    let session = web.session(ProtocolVersion::V2025_06_18);
    let slow = steps(&session, 2, 0);
    arrivals.recv_timeout(LONG).unwrap();
    assert_eq!(steps(&session, 0, 0).status(), 200);
    let other = web.session(ProtocolVersion::V2025_06_18);
    assert_eq!(all_of(&steps(&other, 1, 0)).len(), 2);
    go.send(()).unwrap();
    assert_eq!(all_of(&slow).len(), 3);
}

// Seen in other SDKs: memory grows with every use.
#[test]
fn a_session_can_end_while_its_store_takes_its_time() {
    let (map, arrivals, go) = gate(1);
    let web = with_store(builder(), map.clone());
    let session = web.session(ProtocolVersion::V2025_06_18);
    let slow = steps(&session, 1, 0);
    arrivals.recv_timeout(LONG).unwrap();
    assert_eq!(session.delete().status(), 200);
    assert_eq!(web.service.sessions(), 0);
    go.send(()).unwrap();
    // What was being said still goes out, and behind it that there is no answer.
    let told = all_of(&slow);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1].1["error"]["code"], -32603);
    map.wait_until_empty();
}
