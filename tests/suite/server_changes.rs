//! Many changes: they merge, whoever is told reads slowly or not at all, and publishing costs the publisher nothing of that.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use mcplink::protocol::{LogLevel, LogRecord};
use mcplink::schema::*;
use mcplink::server::{Context, GuardedRequest, List, Server, ServerBuilder};
#[cfg(unix)]
use mcplink::transport::Limits;
use mcplink::transport::Threads;
use serde_json::{Value, json};

use crate::common::LONG;
#[cfg(unix)]
use crate::common::{over, socket_pair};
use crate::raw::Raw;

const ID: &str = "io.modelcontextprotocol/subscriptionId";
const UPDATED: &str = "notifications/resources/updated";
const TOOLS: &str = "notifications/tools/list_changed";
const LAST: &str = "last:of-all";

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

/// A client whose messages are not held against the schema: there are many.
fn open(server: &Server, revision: ProtocolVersion) -> Raw {
    let mut client = Raw::silent(server, revision);
    client.check_messages(false);
    client.begin();
    client
}

/// Has a client told of everything in question, in the way of its era.
fn follow_all(client: &mut Raw) {
    if client.revision.is_legacy() {
        for uri in ["a:1", "a:2", LAST] {
            client.result("resources/subscribe", json!({ "uri": uri }));
        }
        return client.settle();
    }
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["a:1", "a:2", LAST],
    });
    let params = json!({ "notifications": filter });
    client.request(json!("all"), "subscriptions/listen", params);
    assert_eq!(client.next()["params"]["_meta"][ID], "all");
}

/// Publishes something behind all else, and takes what comes up to that.
fn told_up_to_the_last(server: &Server, client: &mut Raw) -> Vec<Value> {
    server.resource_updated(LAST);
    let mut told = Vec::new();
    loop {
        let message = client.next();
        if message["params"]["uri"] == LAST {
            return told;
        }
        told.push(message);
    }
}

fn count(told: &[Value], method: &str) -> usize {
    told.iter()
        .filter(|message| message["method"] == method)
        .count()
}

/// How many notifications of one kind there may be after so long: one at once, and one for every ten milliseconds.
fn few(since: Instant) -> usize {
    2 + usize::try_from(since.elapsed().as_millis() / 10).unwrap()
}

/// All tools, from as many pages as there are.
fn tools(client: &mut Raw) -> BTreeSet<String> {
    let (mut names, mut params) = (BTreeSet::new(), json!({}));
    loop {
        let page = client.result("tools/list", params);
        let tools = page["tools"].as_array().unwrap().iter();
        names.extend(tools.map(|tool| tool["name"].as_str().unwrap().to_owned()));
        match &page["nextCursor"] {
            Value::Null => return names,
            cursor => params = json!({ "cursor": cursor }),
        }
    }
}

// Must not happen: a subscriber that does not read makes memory grow and delays others.
#[test]
fn changes_in_a_row_merge_and_the_last_one_is_told() {
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_LEGACY] {
        let server = builder().build().unwrap();
        let mut client = open(&server, revision);
        follow_all(&mut client);
        let started = Instant::now();
        for n in 0..50 {
            add_tool(&server, &format!("new{n}"));
        }
        for _ in 0..2500 {
            server.resource_updated("a:1");
        }
        let told = told_up_to_the_last(&server, &mut client);
        let few = few(started);
        for method in [TOOLS, UPDATED] {
            let count = count(&told, method);
            assert!((1..=few).contains(&count), "{count} of {few} {method}");
        }
        // Whoever lists upon the last notification sees the last change.
        assert_eq!(tools(&mut client).len(), 51);
        assert!(!client.connection.peer().is_closed());
    }
}

#[test]
fn a_change_after_a_notification_is_told_again_and_alone_it_is_told_at_once() {
    let server = builder().build().unwrap();
    let mut client = open(&server, ProtocolVersion::LATEST);
    follow_all(&mut client);
    for n in 0..20 {
        add_tool(&server, &format!("new{n}"));
        assert_eq!(client.next()["method"], TOOLS);
        assert_eq!(tools(&mut client).len(), n + 2);
    }
}

/// Over a transport that takes little while the client does not read.
#[cfg(unix)]
fn over_a_socket(server: &Server, revision: ProtocolVersion) -> Raw {
    let (ours, theirs) = socket_pair();
    let connection = server.open(over(theirs)).unwrap();
    Raw::over(revision, over(ours), connection)
}

// Must not happen: a subscriber that does not read makes memory grow and delays others.
#[cfg(unix)]
#[test]
fn who_reads_late_is_told_once_of_each_and_delays_nobody() {
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_LEGACY] {
        let mut limits = Limits::default();
        limits.max_backlog = 1;
        let (running, runs) = mpsc::channel();
        // More than the socket holds, so that what comes behind it has to wait.
        let server = builder()
            .tool_with(Tool::new("long"), move |_: Value, _: &Context| {
                running.send(()).unwrap();
                "x".repeat(4 << 20)
            })
            .limits(limits)
            .build()
            .unwrap();
        let mut quick = open(&server, revision);
        let mut late = over_a_socket(&server, revision);
        late.check_messages(false);
        follow_all(&mut quick);
        follow_all(&mut late);
        late.request(json!("long"), "tools/call", json!({ "name": "long" }));
        runs.recv_timeout(LONG).unwrap();
        for n in 0..30 {
            add_tool(&server, &format!("new{n}"));
            server.resource_updated("a:1");
            server.resource_updated("a:2");
            let told = told_up_to_the_last(&server, &mut quick);
            assert_eq!((count(&told, TOOLS), count(&told, UPDATED)), (1, 2));
        }
        let told = told_up_to_the_last(&server, &mut late);
        assert!(count(&told, TOOLS) >= 1);
        assert!(told.len() < 30, "{} for {revision}", told.len());
        assert_eq!(tools(&mut late).len(), 32);
    }
}

// Promise 4: a call that changes much is answered, and its connection lives.
#[test]
fn a_call_may_change_thousands_of_times() {
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_LEGACY] {
        let server = builder().build().unwrap();
        let changing = server.clone();
        server
            .add_tool(Tool::new("grow"), move |_: Value, _: &Context| {
                (0..5000).for_each(|n| add_tool(&changing, &format!("new{n}")));
                "grown"
            })
            .unwrap();
        let mut client = open(&server, revision);
        follow_all(&mut client);
        let started = Instant::now();
        let result = client.result("tools/call", json!({ "name": "grow" }));
        assert_eq!(result["content"][0]["text"], "grown");
        let told = told_up_to_the_last(&server, &mut client);
        assert!((1..=few(started)).contains(&count(&told, TOOLS)));
        assert_eq!(tools(&mut client).len(), 5002);
    }
}

// Must not happen: changes between subscribing and its acknowledgement are lost.
#[test]
fn what_changes_while_a_stream_opens_is_told_behind_its_acknowledgement() {
    let server = builder().build().unwrap();
    let mut client = open(&server, ProtocolVersion::LATEST);
    for round in 0..200 {
        let (id, uri) = (json!(format!("s{round}")), format!("a:{round}"));
        let params = json!({ "notifications": { "resourceSubscriptions": [uri] } });
        client.request(id.clone(), "subscriptions/listen", params);
        // Published before, while or after it is acknowledged: only one before may be for nobody.
        let mut acknowledged = false;
        while !acknowledged {
            server.resource_updated(&uri);
            let Some(message) = client.receive(Duration::from_millis(1)) else {
                continue;
            };
            assert_eq!(message["params"]["_meta"][ID], id);
            assert_eq!(
                message["method"],
                "notifications/subscriptions/acknowledged"
            );
            acknowledged = true;
        }
        server.resource_updated(&uri);
        assert_eq!(client.next()["params"]["uri"], uri);
        client.notify("notifications/cancelled", json!({ "requestId": id }));
        client.settle();
        // One that was on its way when the stream was cancelled.
        while client.heard() > 0 {
            assert_eq!(client.next()["params"]["uri"], uri);
        }
    }
}

#[test]
fn the_end_comes_behind_what_was_published_before() {
    for round in 0..50 {
        let server = builder().build().unwrap();
        let mut client = open(&server, ProtocolVersion::LATEST);
        follow_all(&mut client);
        server.resource_updated("a:1");
        add_tool(&server, "new");
        match round % 2 {
            0 => server.end_subscriptions(),
            _ => client.connection.close(),
        }
        assert_eq!(client.next()["params"]["uri"], "a:1");
        assert_eq!(client.next()["method"], TOOLS);
        assert_eq!(client.next()["method"], "notifications/cancelled");
        assert_eq!(client.next()["id"], "all");
    }
}

// Promise 5
#[test]
fn the_thread_that_tells_ends_with_the_last_connection() {
    let threads: Arc<Mutex<Vec<String>>> = Arc::default();
    let (started, stopped) = (Arc::clone(&threads), Arc::clone(&threads));
    let kind = Threads::new()
        .on_start(move |name| started.lock().unwrap().push(name.to_owned()))
        .on_stop(move |name| {
            let mut threads = stopped.lock().unwrap();
            let at = threads.iter().position(|other| other == name).unwrap();
            threads.remove(at);
        });
    let server = builder().threads(&kind).build().unwrap();
    let is_there = || {
        let threads = threads.lock().unwrap();
        threads.iter().any(|name| name.ends_with("fanout"))
    };
    // A change that nobody wants to be told of needs no thread.
    add_tool(&server, "unheard");
    assert!(!is_there());
    for _ in 0..3 {
        let mut first = open(&server, ProtocolVersion::LATEST);
        let mut second = open(&server, ProtocolVersion::LATEST_LEGACY);
        for client in [&mut first, &mut second] {
            follow_all(client);
            told_up_to_the_last(&server, client);
        }
        assert!(is_there());
        first.connection.close();
        assert!(is_there());
        told_up_to_the_last(&server, &mut second);
        second.connection.close();
        assert!(!is_there());
    }
    assert!(threads.lock().unwrap().is_empty());
}

/// Everything that the host has a say in may publish.
#[test]
fn hooks_may_publish() {
    let server: Arc<Mutex<Option<Server>>> = Arc::default();
    let publish = {
        let server = Arc::clone(&server);
        move || {
            let server = server.lock().unwrap().clone();
            if let Some(server) = server {
                server.resource_updated("a:1");
                _ = server.log(LoggingLevel::Warning, None, "published");
            }
        }
    };
    let [on_log, on_session, on_guard, on_cancel] = [(); 4].map(|()| publish.clone());
    let built = builder()
        .logging(true)
        .on_log(move |record: &LogRecord<'_>| {
            if record.level >= LogLevel::Warning {
                on_log();
            }
        })
        .on_session(move |_| on_session())
        .guard(move |_: &GuardedRequest<'_>| {
            on_guard();
            Ok(())
        })
        .tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            let on_cancel = on_cancel.clone();
            let _guard = context.cancel_token().on_trigger(on_cancel);
            context.cancel_token().wait(LONG);
        })
        .tool_with(
            Tool::new("panic"),
            |_: Value, _: &Context| -> &'static str { panic!("a test panics") },
        )
        .build()
        .unwrap();
    *server.lock().unwrap() = Some(built.clone());
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_LEGACY] {
        let mut client = open(&built, revision);
        follow_all(&mut client);
        client.request(json!("w"), "tools/call", json!({ "name": "wait" }));
        client.notify("notifications/cancelled", json!({ "requestId": "w" }));
        client.error("tools/call", json!({ "name": "panic" }));
        client.result("tools/call", json!({ "name": "t" }));
        told_up_to_the_last(&built, &mut client);
        client.connection.close();
    }
    *server.lock().unwrap() = None;
}

#[cfg(unix)]
#[test]
fn log_messages_beyond_the_backlog_are_dropped_for_who_does_not_read() {
    let mut limits = Limits::default();
    limits.max_backlog = 16;
    let server = builder().logging(true).limits(limits).build().unwrap();
    let mut late = over_a_socket(&server, ProtocolVersion::LATEST_LEGACY);
    let mut quick = open(&server, ProtocolVersion::LATEST_LEGACY);
    late.check_messages(false);
    follow_all(&mut late);
    follow_all(&mut quick);
    let text = "x".repeat(100 << 10);
    let number = |message: &Value| message["params"]["logger"].as_str().unwrap().to_owned();
    for n in 0..100 {
        let name = n.to_string();
        server.log(LoggingLevel::Error, Some(&name), &text).unwrap();
        assert_eq!(number(&quick.next()), name);
    }
    server.resource_updated("a:1");
    let told = told_up_to_the_last(&server, &mut late);
    let logs = count(&told, "notifications/message");
    assert!((16..60).contains(&logs), "{logs}");
    // A change is not lost behind them.
    assert_eq!(count(&told, UPDATED), 1);
    assert!(!late.connection.peer().is_closed());
}

#[cfg(feature = "http-server")]
mod http {
    use std::ops::ControlFlow;
    use std::thread::{self, ThreadId};

    use mcplink::Result;
    use mcplink::server::http::{EventLog, EventStore, HttpOptions};
    use mcplink::transport::http::{HttpRequest, ResponseHead, ResponseWriter, Service};

    use super::*;
    use crate::web::{Answer, Web, modern};

    fn listen(web: &Web, uris: &[&str]) -> Answer {
        let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
        let stream = web.modern("subscriptions/listen", json!({ "notifications": filter }));
        let ack = stream.event().unwrap().message();
        assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
        stream
    }

    fn next(stream: &Answer) -> Value {
        loop {
            let event = stream.event().expect("an event");
            if !event.data.is_empty() {
                return event.message();
            }
        }
    }

    // The backlog of a stream is bounded by the number of its subscriptions.
    #[test]
    fn a_stream_that_is_read_late_is_told_once_of_each() {
        let server = builder().build().unwrap();
        let web = Web::new(&server);
        let (late, quick) = (listen(&web, &["a:1", "a:2"]), listen(&web, &["a:1"]));
        late.stall();
        for n in 0..30 {
            add_tool(&server, &format!("new{n}"));
            server.resource_updated("a:1");
            server.resource_updated("a:2");
            let told = [next(&quick), next(&quick)];
            assert_eq!((count(&told, TOOLS), count(&told, UPDATED)), (1, 1));
        }
        late.go_on();
        let told = [next(&late), next(&late), next(&late)];
        assert_eq!(told[0]["method"], TOOLS);
        assert_eq!(told[1]["params"]["uri"], "a:1");
        assert_eq!(told[2]["params"]["uri"], "a:2");
        add_tool(&server, "last");
        assert_eq!(next(&late)["method"], TOOLS);
    }

    // E-TASK-S-46: of several states that a task went through, the newest one is told.
    #[test]
    fn who_follows_a_task_and_reads_late_is_told_its_newest_state_once() {
        let (server, _gate) = crate::tasks_server::described();
        let server = server.build().unwrap();
        let web = Web::new(&server);
        let ask = |method: &str, params: Value| {
            let able =
                json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
            web.modern_as(method, params, able, &[])
        };
        let created = ask("tools/call", json!({ "name": "two" })).result();
        let id = created["taskId"].clone();
        let follow = || {
            let filter = json!({ "toolsListChanged": true, "taskIds": [id] });
            let stream = ask("subscriptions/listen", json!({ "notifications": filter }));
            let ack = stream.event().unwrap().message();
            assert_eq!(ack["params"]["notifications"]["taskIds"], json!([id]));
            stream
        };
        let (late, quick) = (follow(), follow());
        let until = |stream: &Answer, status: &str| {
            loop {
                let told = next(stream);
                if told["params"]["status"] == status {
                    return told["params"].clone();
                }
            }
        };
        until(&late, "input_required");
        // Nothing more of that is on its way.
        add_tool(&server, "first");
        while next(&late)["method"] != TOOLS {}
        late.stall();
        until(&quick, "input_required");
        let accept = json!({ "action": "accept", "content": { "confirm": true } });
        for key in ["first", "second"] {
            let answers = json!({ key: accept });
            let update = json!({ "taskId": id, "inputResponses": answers });
            ask("tasks/update", update).result();
        }
        let done = until(&quick, "completed");
        late.go_on();
        // The first thing that comes is the last state, and the next thing is something else.
        let told = next(&late);
        assert_eq!(told["params"]["status"], "completed", "{told}");
        assert_eq!(told["params"]["result"], done["result"]);
        add_tool(&server, "last");
        assert_eq!(next(&late)["method"], TOOLS);
    }

    // The backlog of a session is bounded as well, unread or read late, however many changes there were.
    #[test]
    fn a_session_is_told_once_of_each_change_when_it_is_read_again() {
        let server = builder().build().unwrap();
        let web = Web::with(&server, HttpOptions::new().kept_events(4, 1 << 20));
        let quick = listen(&web, &["a:1"]);
        for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2025_03_26] {
            let session = web.session(revision);
            session
                .request("resources/subscribe", json!({ "uri": "a:1" }))
                .result();
            let change = |n: usize| {
                add_tool(&server, &format!("new{revision}{n}"));
                server.resource_updated("a:1");
                let told = [next(&quick), next(&quick)];
                assert_eq!((count(&told, TOOLS), count(&told, UPDATED)), (1, 1));
            };
            let both = |reader: &Answer| {
                let events = [(); 2].map(|()| reader.event().expect("an event"));
                let messages = events.each_ref().map(|event| event.message());
                assert_eq!((count(&messages, TOOLS), count(&messages, UPDATED)), (1, 1));
                events[1].id.clone().unwrap()
            };
            (0..10).for_each(change);
            let reader = session.get(None);
            let last = both(&reader);
            reader.stall();
            (10..20).for_each(change);
            reader.go_on();
            let seen = both(&reader);
            assert_ne!(last, seen);
            reader.leave();
            (20..30).for_each(change);
            // It comes back for what it missed, and for what changed since.
            let reader = session.get(Some(&last));
            both(&reader);
            both(&reader);
            (30..31).for_each(change);
            both(&reader);
            session.delete().status();
        }
    }

    // Must not happen: a subscriber that does not read makes memory grow and delays others.
    #[test]
    fn a_flood_for_one_client_ends_no_other_one() {
        let server = builder().build().unwrap();
        let web = Web::new(&server);
        let stream = listen(&web, &["a:1", LAST]);
        let session = web.session(ProtocolVersion::V2025_11_25);
        for uri in ["a:1", LAST] {
            session
                .request("resources/subscribe", json!({ "uri": uri }))
                .result();
        }
        let reader = session.get(None);
        reader.head();
        let started = Instant::now();
        (0..2500).for_each(|_| server.resource_updated("a:1"));
        server.resource_updated(LAST);
        for reader in [&stream, &reader] {
            let mut updates = 0;
            while next(reader)["params"]["uri"] != LAST {
                updates += 1;
            }
            assert!((1..=few(started)).contains(&updates), "{updates}");
        }
    }

    /// Writes where it is told to, and says on which thread.
    struct Watched {
        written: mpsc::Sender<ThreadId>,
        run: Arc<dyn Fn() + Send + Sync>,
    }

    impl std::fmt::Debug for Watched {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Watched")
        }
    }

    impl ResponseWriter for Watched {
        fn respond(&mut self, _: &ResponseHead, _: &[u8]) -> Result<()> {
            Ok(())
        }

        fn begin(&mut self, _: &ResponseHead, _: &[u8]) -> Result<()> {
            Ok(())
        }

        fn write(&mut self, _: &[u8], _: Option<Instant>) -> Result<bool> {
            _ = self.written.send(thread::current().id());
            (self.run)();
            Ok(true)
        }

        fn finish(&mut self) -> Result<()> {
            Ok(())
        }

        fn on_gone(&mut self, _: Box<dyn FnOnce() + Send>) {}
    }

    fn watch(web: &Web, run: Arc<dyn Fn() + Send + Sync>) -> mpsc::Receiver<ThreadId> {
        let (written, writes) = mpsc::channel();
        let filter = json!({ "resourceSubscriptions": ["a:1"] });
        let params = json!({ "notifications": filter });
        let (message, fields) = modern(web.id(), "subscriptions/listen", params, json!({}));
        let usual = [
            ("Host", "localhost"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<(&str, &[u8])> = usual
            .into_iter()
            .chain(fields)
            .map(|(name, value)| (name, value.as_bytes()))
            .collect();
        let request = HttpRequest::new("POST", "/mcp")
            .headers(&headers)
            .body(message.to_string().into_bytes());
        web.service
            .serve(request, Box::new(Watched { written, run }));
        writes
    }

    // Nothing is written by who publishes, whatever a writer of the host's does there: publishing, panicking, or ending the service.
    #[test]
    fn streams_are_written_elsewhere_than_where_it_is_published() {
        let server = builder().build().unwrap();
        let web = Web::new(&server);
        let published = Arc::new(AtomicUsize::new(0));
        let publishing = {
            let (server, published) = (server.clone(), Arc::clone(&published));
            move || {
                if published.fetch_add(1, Ordering::SeqCst) < 3 {
                    server.resource_updated("a:1");
                }
            }
        };
        let writes = watch(&web, Arc::new(publishing));
        let broken = watch(&web, Arc::new(|| panic!("a writer panics")));
        server.resource_updated("a:1");
        broken.recv_timeout(LONG).unwrap();
        for _ in 0..4 {
            let writer = writes.recv_timeout(LONG).unwrap();
            assert_ne!(writer, thread::current().id());
        }
        server.resource_updated("a:1");
        writes.recv_timeout(LONG).unwrap();
        let service = web.service.clone();
        let closing = watch(&web, Arc::new(move || service.close()));
        server.resource_updated("a:1");
        closing.recv_timeout(LONG).unwrap();
        web.service.close();
    }

    /// A store that publishes and takes its time.
    struct Slow {
        gate: Arc<Mutex<mpsc::Receiver<()>>>,
        server: Arc<Mutex<Option<Server>>>,
    }

    struct SlowLog(Arc<Mutex<mpsc::Receiver<()>>>, Option<Server>);

    impl EventStore for Slow {
        fn open(&self, _: &str, _: u64) -> Box<dyn EventLog> {
            let server = self.server.lock().unwrap().clone();
            Box::new(SlowLog(Arc::clone(&self.gate), server))
        }
    }

    impl EventLog for SlowLog {
        fn append(&mut self, _: u64, _: &[u8]) -> Result<()> {
            if let Some(server) = &self.1 {
                server.resource_updated("a:2");
            }
            _ = self.0.lock().unwrap().recv_timeout(LONG);
            Ok(())
        }

        fn replay_after(
            &mut self,
            _: u64,
            _: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
        ) -> Result<()> {
            Ok(())
        }
    }

    // Promise 11: a store that takes its time for one session delays no other client.
    #[test]
    fn a_slow_store_delays_its_own_session_only() {
        let (open, gate) = mpsc::channel();
        let server = builder().build().unwrap();
        let held = Arc::new(Mutex::new(Some(server.clone())));
        let store = Slow {
            gate: Arc::new(Mutex::new(gate)),
            server: Arc::clone(&held),
        };
        let web = Web::with(&server, HttpOptions::new().event_store(store));
        let quick = listen(&web, &["a:1"]);
        let session = web.session(ProtocolVersion::V2025_06_18);
        session
            .request("resources/subscribe", json!({ "uri": "a:1" }))
            .result();
        let reader = session.get(None);
        reader.head();
        for _ in 0..5 {
            server.resource_updated("a:1");
            assert_eq!(next(&quick)["params"]["uri"], "a:1");
        }
        assert_eq!(next(&reader)["params"]["uri"], "a:1");
        drop(open);
        *held.lock().unwrap() = None;
    }
}
