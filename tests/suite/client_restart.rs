//! A server that is lost and started again.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::{
    Client, ClientBuilder, ConnectionEvent, Era, EraMemory, Event, ResponseCache, Restart,
};
use mcplink::protocol::CancelToken;
use mcplink::schema::{LoggingLevel, ProtocolVersion, SubscriptionFilter};
#[cfg(unix)]
use mcplink::transport::Child;
use mcplink::transport::{Limits, Transport, TransportParts, memory};
use mcplink::validation::Validator;
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::{Gate, at_once, run_alone, system, wait_until};
use crate::rawserver::{LONG, RawServer};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Reaches a fresh server each time that it is opened; the test gets its other end.
#[derive(Clone, Debug)]
pub(crate) struct Spawner(pub(crate) Sender<memory::Memory>);

impl Transport for Spawner {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let (here, there) = memory::pair();
        self.0
            .send(there)
            .map_err(|_| Error::new(ErrorKind::Spawn, "no more servers"))?;
        Box::new(here).open(limits)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }

    fn address(&self) -> Option<String> {
        Some("spawner".to_owned())
    }
}

/// The servers that a client starts.
struct Servers(Receiver<memory::Memory>);

impl Servers {
    fn next(&self) -> RawServer {
        RawServer::open(self.0.recv_timeout(LONG).expect("another server"))
    }

    fn none_more(&self) {
        assert!(self.0.try_recv().is_err(), "one server too many");
    }
}

fn quick() -> Restart {
    Restart::new().first_delay(Duration::from_millis(1))
}

fn everything() -> Value {
    json!({
        "tools": { "listChanged": true },
        "resources": { "subscribe": true },
        "logging": {},
    })
}

struct Bench {
    client: Client,
    server: RawServer,
    servers: Servers,
    events: Receiver<ConnectionEvent>,
}

fn bench(restart: Restart, revision: ProtocolVersion) -> Bench {
    bench_with(Client::builder("test", "1"), restart, &[revision])
}

/// The first revision is the one of the first server.
fn bench_with(client: ClientBuilder, restart: Restart, revisions: &[ProtocolVersion]) -> Bench {
    let (spawned, servers) = mpsc::channel();
    let (tell, events) = mpsc::channel();
    let builder = client
        .revisions(revisions)
        .restart(restart)
        .on_connection_event(move |event| _ = tell.send(event));
    let connecting = thread::spawn(move || builder.connect(Spawner(spawned)).unwrap());
    let servers = Servers(servers);
    let mut server = servers.next();
    server.open_as(revisions[0], &everything());
    Bench {
        client: connecting.join().unwrap(),
        server,
        servers,
        events,
    }
}

impl Bench {
    /// The server crashes; gives the number of the attempt that follows, and why.
    fn lose(&mut self) -> (u32, Error) {
        let (there, _) = memory::pair();
        self.server = RawServer::open(there);
        self.lost()
    }

    fn lost(&self) -> (u32, Error) {
        match self.events.recv_timeout(LONG).unwrap() {
            ConnectionEvent::Lost { attempt, error, .. } => (attempt, error),
            other => panic!("{other}"),
        }
    }

    /// A fresh server opens the conversation.
    fn comes_back(&mut self, revision: ProtocolVersion) {
        self.server = self.servers.next();
        self.server.open_as(revision, &everything());
    }

    fn restored(&self) -> u32 {
        match self.events.recv_timeout(LONG).unwrap() {
            ConnectionEvent::Restored { attempt, .. } => attempt,
            other => panic!("{other}"),
        }
    }

    fn given_up(&self) -> Error {
        match self.events.recv_timeout(LONG).unwrap() {
            ConnectionEvent::GivenUp { error, .. } => error,
            other => panic!("{other}"),
        }
    }

    /// Calls a tool from a thread of its own.
    fn call(&self, name: &'static str) -> thread::JoinHandle<Result<String>> {
        let client = self.client.clone();
        thread::spawn(move || {
            let result = client.call_tool_with(name, &json!({}), CallOptions::new().timeout(LONG));
            result.map(|result| result.content[0].as_text().unwrap().to_owned())
        })
    }

    fn answer_call(&mut self, text: &str) {
        let request = self.server.asked("tools/call");
        let content = json!([{ "type": "text", "text": text }]);
        let result = json!({ "resultType": "complete", "content": content });
        self.server.answer(&request, result);
    }
}

// Seen in other SDKs: a crashed server stays down, or is restarted in a tight loop.
// Must not happen: an error does not tell whether the call may have had an effect.
// M-STDIO-C-11, M-STDIO-C-12
#[cfg(unix)] // The child is a shell.
#[test]
fn a_child_that_crashes_is_started_again() {
    let (tell, events) = mpsc::channel();
    let script = r#"
        id() { printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
        while IFS= read -r line; do
            case "$line" in
                *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$(id)" ;;
                *crash*) echo 'out of cheese' >&2; exit 139 ;;
                *tools/call*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$(id)" "$$" ;;
            esac
        done"#;
    let client = Client::builder("test", "1")
        .era(Era::Legacy)
        .restart(quick())
        .on_connection_event(move |event| _ = tell.send(event))
        .connect(Child::new("sh").args(["-c", script]))
        .unwrap();
    let process = |client: &Client| {
        let result = client.call_tool("t", &json!({})).unwrap();
        result.content[0].as_text().unwrap().to_owned()
    };
    let mut before = process(&client);
    for _ in 0..2 {
        let error = client.call_tool("crash", &json!({})).unwrap_err();
        assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, true));
        let text = error.to_string();
        assert!(text.contains("status 139"), "{text}");
        assert_eq!(error.stderr_tail(), Some("out of cheese"));
        // Made while it is away: it waits.
        let after = process(&client);
        assert_ne!(before, after);
        assert!(!client.is_closed());
        before = after;
        let event = events.recv_timeout(LONG).unwrap();
        assert!(event.to_string().contains("status 139"), "{event}");
        assert!(matches!(event, ConnectionEvent::Lost { .. }), "{event}");
        let event = events.recv_timeout(LONG).unwrap();
        assert!(matches!(event, ConnectionEvent::Restored { .. }), "{event}");
    }
}

// Seen in other SDKs: an automatic retry runs a side effect twice.
// Must not happen: an error does not tell whether the call may have had an effect.
#[test]
fn what_was_sent_fails_and_what_was_not_waits_for_the_next_server() {
    for revision in [LEGACY, MODERN] {
        let restart = quick().first_delay(Duration::from_millis(300));
        let mut bench = bench(restart, revision);
        let sent = bench.call("first");
        bench.server.asked("tools/call");
        bench.lose();
        let error = sent.join().unwrap().unwrap_err();
        assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, true));
        let waiting = bench.call("second");
        // A deadline and a token hold while it waits, and the error tells that nothing was sent.
        let options = CallOptions::new().timeout(Duration::from_millis(20));
        let error = bench.client.request("test/late", &(), options).unwrap_err();
        assert_eq!(
            (error.kind(), error.was_sent()),
            (ErrorKind::Timeout, false)
        );
        assert!(error.to_string().contains("timeout is 20 ms"), "{error}");
        let token = CancelToken::new();
        let cancelled = {
            let (client, token) = (bench.client.clone(), token.clone());
            thread::spawn(move || {
                let options = CallOptions::new().cancel_with(&token);
                client.request("test/never", &(), options).unwrap_err()
            })
        };
        token.cancel();
        let error = cancelled.join().unwrap();
        assert_eq!(
            (error.kind(), error.was_sent()),
            (ErrorKind::Cancelled, false)
        );
        bench.comes_back(revision);
        bench.answer_call("done");
        assert_eq!(waiting.join().unwrap().unwrap(), "done");
        assert_eq!(bench.restored(), 1);
    }
}

/// The tools of a server, one of which only reads.
fn list_tools(bench: &mut Bench) {
    let tools = json!([
        { "name": "read", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } },
        { "name": "pay", "inputSchema": { "type": "object" } },
    ]);
    let page =
        json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" });
    assert_eq!(
        list(&bench.client, &mut bench.server, page),
        ["read", "pay"]
    );
}

/// Lists the tools, which the server is asked for.
fn list(client: &Client, server: &mut RawServer, page: Value) -> Vec<String> {
    let tools = server.serve(
        || client.list_tools().unwrap(),
        |server| {
            let request = server.asked("tools/list");
            server.answer(&request, page);
        },
    );
    tools.into_iter().map(|tool| tool.name).collect()
}

// Seen in other SDKs: an automatic retry runs a side effect twice.
#[test]
fn what_may_have_run_is_sent_again_only_if_it_is_harmless_and_the_host_agrees() {
    // The host has not agreed.
    let mut without = bench(quick(), MODERN);
    list_tools(&mut without);
    let call = without.call("read");
    without.server.asked("tools/call");
    without.lose();
    assert!(call.join().unwrap().unwrap_err().was_sent());

    let (heard, hearing) = mpsc::channel();
    let client = Client::builder("test", "1")
        .on_notification("notifications/tools/list_changed", move |_, _| {
            heard.send(()).unwrap()
        });
    let mut bench = bench_with(client, quick().retry_idempotent_calls(true), &[MODERN]);
    // Not known to be idempotent yet.
    let call = bench.call("read");
    bench.server.asked("tools/call");
    bench.lose();
    assert!(call.join().unwrap().unwrap_err().was_sent());
    bench.comes_back(MODERN);
    bench.restored();
    list_tools(&mut bench);
    let (reading, paying) = (bench.call("read"), bench.call("pay"));
    bench.server.asked("tools/call");
    bench.server.asked("tools/call");
    bench.lose();
    assert!(paying.join().unwrap().unwrap_err().was_sent());
    bench.comes_back(MODERN);
    let request = bench.server.asked("tools/call");
    assert_eq!(request["params"]["name"], "read");
    let result =
        json!({ "resultType": "complete", "content": [{ "type": "text", "text": "read twice" }] });
    bench.server.answer(&request, result);
    assert_eq!(reading.join().unwrap().unwrap(), "read twice");
    bench.restored();
    // The list is another one: what it said of its tools no longer counts.
    for _ in 0..2 {
        bench
            .server
            .notify("notifications/tools/list_changed", json!({}));
        // When the second one is heard the first one is done with.
        hearing.recv_timeout(LONG).unwrap();
    }
    let call = bench.call("read");
    bench.server.asked("tools/call");
    bench.lose();
    let error = call.join().unwrap().unwrap_err();
    assert!(error.was_sent(), "{error}");
}

// Seen in other SDKs: a crashed server stays down, or is restarted in a tight loop.
#[test]
fn a_server_that_is_lost_again_and_again_is_given_up() {
    let mut bench = bench(quick().max_attempts(2), MODERN);
    let (told, ended) = mpsc::channel();
    let _subscription = subscribe(&mut bench, MODERN, told);
    assert_eq!(bench.lose().0, 1);
    bench.comes_back(MODERN);
    acknowledge_next(&mut bench.server);
    assert_eq!(bench.restored(), 1);
    assert_eq!(ended.recv_timeout(LONG).unwrap(), Event::EverythingChanged);
    assert_eq!(bench.lose().0, 2);
    // This one does not even start to talk: each attempt counts.
    drop(bench.servers.next());
    let error = bench.given_up();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(
        error
            .to_string()
            .contains("after 2 restarts (Restart::max_attempts)"),
        "{error}"
    );
    bench.servers.none_more();
    let event = ended.recv_timeout(LONG).unwrap();
    assert!(
        matches!(event, Event::Ended { clean: false, .. }),
        "{event:?}"
    );
    let error = bench.call("t").join().unwrap().unwrap_err();
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, false));
    assert!(error.to_string().contains("max_attempts"), "{error}");
    assert!(bench.client.is_closed());
    assert!(bench.client.subscribe(tools(), |_| {}).is_err());
}

// Seen in other SDKs: a crashed server stays down, or is restarted in a tight loop.
#[test]
fn a_server_that_stayed_starts_a_new_row_of_attempts() {
    let mut bench = bench(quick().max_attempts(1).reset_after(Duration::ZERO), MODERN);
    for _ in 0..4 {
        assert_eq!(bench.lose().0, 1);
        bench.comes_back(MODERN);
        assert_eq!(bench.restored(), 1);
    }
}

// Seen in other SDKs: a crashed server stays down, or is restarted in a tight loop.
#[test]
fn closing_does_not_wait_for_a_restart() {
    let mut waiting = bench(
        quick()
            .first_delay(Duration::from_secs(3600))
            .max_delay(Duration::MAX),
        MODERN,
    );
    let (told, ended) = mpsc::channel();
    let subscription = subscribe(&mut waiting, MODERN, told);
    waiting.lose();
    let call = waiting.call("t");
    let client = waiting.client.clone();
    at_once(move || client.close());
    let error = call.join().unwrap().unwrap_err();
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, false));
    let event = ended.recv_timeout(LONG).unwrap();
    assert!(
        matches!(event, Event::Ended { clean: false, .. }),
        "{event:?}"
    );
    assert!(subscription.has_ended() && waiting.client.is_closed());
    waiting.servers.none_more();

    // The next server says nothing: closing does not wait for the end of its time either.
    let mut silent = bench(quick(), MODERN);
    silent.lose();
    let mut server = silent.servers.next();
    server.asked("server/discover");
    let client = silent.client.clone();
    at_once(move || client.close());
    // Dropping is closing.
    let mut dropped = bench(quick().first_delay(LONG), MODERN);
    dropped.lose();
    at_once(move || drop(dropped));
}

// Must not happen: a callback that calls or closes its own client deadlocks.
#[test]
fn a_callback_may_call_and_close_the_client() {
    let client: Arc<OnceLock<Client>> = Arc::default();
    let (told, outcomes) = mpsc::channel();
    let (spawned, servers) = mpsc::channel();
    let inside = Arc::clone(&client);
    let builder = Client::builder("test", "1")
        .revisions(&[MODERN])
        .restart(quick())
        .on_connection_event(move |event| {
            let client = inside.get().unwrap();
            match event {
                ConnectionEvent::Lost { .. } => {
                    told.send(client.call_tool("t", &json!({})).map(drop))
                        .unwrap();
                }
                _ => {
                    client.close();
                    told.send(Ok(())).unwrap();
                }
            }
        });
    let connecting = thread::spawn(move || builder.connect(Spawner(spawned)).unwrap());
    let servers = Servers(servers);
    let mut server = servers.next();
    server.open_as(MODERN, &everything());
    let connected = client.get_or_init(|| connecting.join().unwrap());
    drop(server);
    let error = outcomes.recv_timeout(LONG).unwrap().unwrap_err();
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, false));
    let mut server = servers.next();
    server.open_as(MODERN, &everything());
    outcomes.recv_timeout(LONG).unwrap().unwrap();
    assert!(connected.is_closed());
}

// Seen in other SDKs: a crashed server stays down, or is restarted in a tight loop.
// Must not happen: the verdict on a server outlives its upgrade.
// M-VER-C-09
#[test]
fn the_era_is_remembered_and_found_out_anew_when_it_proves_wrong() {
    let memory = EraMemory::new();
    let client = Client::builder("test", "1")
        .era(Era::Legacy)
        .era_memory(&memory);
    let mut bench = bench_with(client, quick(), &[LEGACY, MODERN]);
    assert_eq!(bench.client.revision(), LEGACY);
    let client = bench.client.clone();
    let capabilities = client.capabilities();
    bench.lose();
    // Known to be legacy, it is not probed.
    bench.comes_back(LEGACY);
    bench.restored();
    // It was upgraded, and no longer knows the legacy era.
    bench.lose();
    bench.server = bench.servers.next();
    let request = bench.server.asked("initialize");
    bench.server.refuse(&request, -32601, "method not found");
    let (_, error) = bench.lost();
    assert_eq!(error.kind(), ErrorKind::Peer);
    assert_eq!(memory.entries(), []);
    bench.comes_back(MODERN);
    bench.restored();
    assert_eq!(bench.client.revision(), MODERN);
    assert_eq!(memory.recall("spawner"), Some(Era::Modern));
    assert!(
        capabilities.tools.is_some(),
        "what was given out stays valid"
    );
}

// Seen in other SDKs: an automatic retry runs a side effect twice.
#[test]
fn a_call_is_not_carried_over_to_another_revision() {
    let client = Client::builder("test", "1").era(Era::Legacy);
    let mut bench = bench_with(
        client,
        quick().retry_idempotent_calls(true),
        &[LEGACY, MODERN],
    );
    list_tools(&mut bench);
    let call = bench.call("read");
    bench.server.asked("tools/call");
    bench.lose();
    bench.server = bench.servers.next();
    let request = bench.server.asked("initialize");
    bench.server.refuse(&request, -32601, "method not found");
    bench.comes_back(MODERN);
    let error = call.join().unwrap().unwrap_err();
    assert!(
        error.was_sent() && error.to_string().contains("call again"),
        "{error}"
    );
}

/// A list of one tool, which anybody may keep for an hour.
fn kept(name: &str) -> Value {
    let tool = json!({ "name": name, "inputSchema": { "type": "object" } });
    json!({ "resultType": "complete", "tools": [tool], "ttlMs": 3_600_000, "cacheScope": "public" })
}

// Seen in other SDKs: subscriptions end silently with a lost connection.
#[test]
fn what_was_kept_of_a_lost_server_is_asked_for_anew() {
    let mut bench = bench(quick(), MODERN);
    for name in ["first", "second", "third"] {
        assert_eq!(list(&bench.client, &mut bench.server, kept(name)), [name]);
        assert_eq!(bench.client.list_tools().unwrap()[0].name, name);
        bench.lose();
        assert_eq!(bench.client.stats().cached_responses, 0);
        bench.comes_back(MODERN);
        bench.restored();
    }
    assert_eq!(bench.client.stats().cache_hits, 3);
}

// The restarted server may be another version, so its cached results are void.
#[test]
fn what_is_asked_for_during_a_restart_does_not_speak_for_the_lost_server() {
    let cache = ResponseCache::new(&Limits::default());
    let sharing = || Client::builder("test", "1").cache(&cache);
    let mut bench = bench_with(sharing(), quick(), &[MODERN]);
    // Another client still reaches the former version.
    let mut former = bench_with(sharing(), quick(), &[MODERN]);
    bench.lose();
    let client = bench.client.clone();
    let listing = thread::spawn(move || client.list_tools().unwrap());
    bench.server = bench.servers.next();
    let info = json!({ "name": "raw", "version": "2" });
    bench.server.open_saying(MODERN, &everything(), &info);
    let request = bench.server.asked("tools/list");
    bench.server.answer(&request, kept("new"));
    assert_eq!(listing.join().unwrap()[0].name, "new");
    assert_eq!(
        list(&former.client, &mut former.server, kept("old")),
        ["old"]
    );
}

#[test]
fn a_server_that_was_started_again_has_promised_nothing() {
    let nothing_fits = Validator::custom(|_| {
        Ok(|_: &str| {
            Err(Error::new(
                ErrorKind::Invalid,
                "as nothing else, it does not fit",
            ))
        })
    });
    let builder = Client::builder("test", "1").validator(nothing_fits);
    let mut bench = bench_with(builder, quick().retry_idempotent_calls(true), &[MODERN]);
    let tool = json!({
        "name": "read", "annotations": { "readOnlyHint": true },
        "inputSchema": { "type": "object" }, "outputSchema": { "type": "object" },
    });
    let page =
        json!({ "resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private" });
    assert_eq!(list(&bench.client, &mut bench.server, page), ["read"]);
    let refused = bench.call("read");
    bench.answer_call("checked");
    assert_eq!(
        refused.join().unwrap().unwrap_err().kind(),
        ErrorKind::Protocol
    );
    // Begun with the old one, answered by the new one.
    let resent = bench.call("read");
    bench.server.asked("tools/call");
    bench.lose();
    bench.comes_back(MODERN);
    bench.answer_call("resent");
    assert_eq!(resent.join().unwrap().unwrap(), "resent");
    let later = bench.call("read");
    bench.answer_call("later");
    assert_eq!(later.join().unwrap().unwrap(), "later");
}

fn tools() -> SubscriptionFilter {
    SubscriptionFilter::default().tools_list_changed(true)
}

fn acknowledge_next(server: &mut RawServer) -> Value {
    let request = server.asked("subscriptions/listen");
    let granted = &request["params"]["notifications"];
    let id = request["id"].clone();
    server.notify(
        "notifications/subscriptions/acknowledged",
        json!({ "notifications": granted, "_meta": { ID: id } }),
    );
    id
}

/// Agrees to what a subscription to the tools and `a:b` asks for; gives the id that its events carry.
fn agree(server: &mut RawServer, revision: ProtocolVersion) -> Option<Value> {
    if revision.is_modern() {
        return Some(acknowledge_next(server));
    }
    let request = server.asked("resources/subscribe");
    assert_eq!(request["params"]["uri"], "a:b");
    server.answer(&request, json!({}));
    None
}

fn subscribe(
    bench: &mut Bench,
    revision: ProtocolVersion,
    told: Sender<Event>,
) -> mcplink::client::Subscription {
    let client = bench.client.clone();
    let filter = tools().resource_subscriptions(vec!["a:b".to_owned()]);
    bench.server.serve(
        || {
            client
                .subscribe(filter, move |event| _ = told.send(event))
                .unwrap()
        },
        |server| _ = agree(server, revision),
    )
}

// Seen in other SDKs: subscriptions end silently with a lost connection.
// M-SUB-C-12, M-STDIO-C-12
#[test]
fn subscriptions_come_back_and_tell_that_everything_changed() {
    for revision in [LEGACY, MODERN] {
        let mut bench = bench(quick(), revision);
        let (told, events) = mpsc::channel();
        let subscription = subscribe(&mut bench, revision, told);
        for _ in 0..2 {
            bench.lose();
            assert!(!subscription.has_ended());
            bench.comes_back(revision);
            // Not before the server has agreed: what changes from then on is told.
            let asked = agree(&mut bench.server, revision);
            assert_eq!(events.recv_timeout(LONG).unwrap(), Event::EverythingChanged);
            bench.restored();
            let meta = asked.map_or_else(|| json!({}), |id| json!({ "_meta": { ID: id } }));
            bench
                .server
                .notify("notifications/tools/list_changed", meta);
            assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
        }
        drop(subscription);
        let last = bench.server.receive();
        let expected = if revision.is_modern() {
            "notifications/cancelled"
        } else {
            "resources/unsubscribe"
        };
        assert_eq!(last["method"], expected);
    }
}

// Seen in other SDKs: subscriptions end silently with a lost connection.
// M-SUB-C-12
#[test]
fn subscriptions_follow_the_server_into_another_era() {
    let client = Client::builder("test", "1").era(Era::Legacy);
    let mut bench = bench_with(client, quick(), &[LEGACY, MODERN]);
    let (told, events) = mpsc::channel();
    let subscription = subscribe(&mut bench, LEGACY, told);
    bench.lose();
    bench.server = bench.servers.next();
    let request = bench.server.asked("initialize");
    bench.server.refuse(&request, -32601, "method not found");
    bench.comes_back(MODERN);
    let id = acknowledge_next(&mut bench.server);
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::EverythingChanged);
    let meta = json!({ ID: id });
    bench.server.notify(
        "notifications/resources/updated",
        json!({ "uri": "a:b/c", "_meta": meta }),
    );
    let event = events.recv_timeout(LONG).unwrap();
    assert_eq!(event, Event::ResourceUpdated("a:b/c".to_owned()));
    assert!(!subscription.has_ended());
}

// Seen in other SDKs: subscriptions end silently with a lost connection.
#[test]
fn a_subscription_that_the_next_server_refuses_ends_and_the_others_go_on() {
    let mut bench = bench(quick(), MODERN);
    let (told, events) = mpsc::channel();
    let refused = subscribe(&mut bench, MODERN, told);
    let (told, others) = mpsc::channel();
    let kept = subscribe(&mut bench, MODERN, told);
    let (told, unwanted) = mpsc::channel();
    drop(subscribe(&mut bench, MODERN, told));
    bench.server.asked("notifications/cancelled");
    bench.lose();
    bench.comes_back(MODERN);
    let request = bench.server.asked("subscriptions/listen");
    bench.server.refuse(&request, -32601, "not any more");
    acknowledge_next(&mut bench.server);
    bench.restored();
    let event = events.recv_timeout(LONG).unwrap();
    assert!(
        matches!(event, Event::Ended { clean: false, .. }),
        "{event:?}"
    );
    assert_eq!(others.recv_timeout(LONG).unwrap(), Event::EverythingChanged);
    assert!(refused.has_ended() && !kept.has_ended());
    assert!(
        unwanted.recv().is_err(),
        "nothing is told, and the callback is dropped"
    );
    bench.server.has_heard_nothing(&bench.client);
}

// Notifications of the old connection that wait behind a slow callback never come after those of the new one.
#[test]
fn messages_of_the_old_server_are_ignored() {
    let mut bench = bench(quick(), MODERN);
    let (told, events) = mpsc::channel();
    let gate = Gate::default();
    let held = gate.clone();
    let client = bench.client.clone();
    let slow = OnceLock::new();
    let id = OnceLock::new();
    let _subscription = bench.server.serve(
        || {
            let on_event = move |event: Event| {
                if event == Event::ToolsChanged && slow.set(()).is_ok() {
                    held.pass();
                }
                _ = told.send(event);
            };
            client.subscribe(tools(), on_event).unwrap()
        },
        |server| id.set(acknowledge_next(server)).unwrap(),
    );
    let id = id.into_inner().unwrap();
    for _ in 0..2 {
        let meta = json!({ "_meta": { ID: id } });
        bench
            .server
            .notify("notifications/tools/list_changed", meta);
    }
    gate.wait_for(1);
    bench.lose();
    bench.comes_back(MODERN);
    // The new request has the id of the old one.
    assert_eq!(acknowledge_next(&mut bench.server), id);
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::EverythingChanged);
    bench.restored();
    gate.open();
    assert_eq!(
        events.recv_timeout(LONG).unwrap(),
        Event::ToolsChanged,
        "the one that was held up"
    );
    bench.server.has_heard_nothing(&bench.client);
    let meta = json!({ "_meta": { ID: id } });
    bench
        .server
        .notify("notifications/tools/list_changed", meta);
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
    assert!(events.try_recv().is_err());
}

#[test]
fn the_log_level_of_the_legacy_era_is_set_again() {
    let mut bench = bench(quick(), LEGACY);
    let client = bench.client.clone();
    bench.server.serve(
        || client.set_log_level(LoggingLevel::Debug).unwrap(),
        |server| {
            let request = server.asked("logging/setLevel");
            server.answer(&request, json!({}));
        },
    );
    bench.lose();
    bench.comes_back(LEGACY);
    let request = bench.server.asked("logging/setLevel");
    assert_eq!(request["params"]["level"], "debug");
}

#[test]
fn a_transport_that_is_there_once_can_not_be_restarted() {
    let (here, _there) = memory::pair();
    let client = Client::builder("test", "1").restart(Restart::new());
    let error = client.connect(here).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("restart needs"), "{error}");
}

/// A transport that works once.
#[derive(Debug)]
struct Panicking(memory::Memory);

impl Transport for Panicking {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        Box::new(self.0).open(limits)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        #[derive(Debug)]
        struct Broken;
        impl Transport for Broken {
            fn open(self: Box<Self>, _: &Limits) -> Result<TransportParts> {
                panic!("on purpose")
            }

            fn again(&self) -> Option<Box<dyn Transport>> {
                Some(Box::new(Self))
            }
        }
        Some(Box::new(Broken))
    }
}

// Promise 7: a panic of the host's transport leaves nobody waiting.
#[test]
fn a_transport_that_panics_is_given_up() {
    let (here, there) = memory::pair();
    let (tell, events) = mpsc::channel();
    let builder = Client::builder("test", "1")
        .revisions(&[MODERN])
        .restart(quick())
        .on_connection_event(move |event| _ = tell.send(event));
    let connecting = thread::spawn(move || builder.connect(Panicking(here)).unwrap());
    let mut server = RawServer::open(there);
    server.open_as(MODERN, &everything());
    let client = connecting.join().unwrap();
    drop(server);
    let event = events.recv_timeout(LONG).unwrap();
    assert!(matches!(event, ConnectionEvent::Lost { .. }), "{event}");
    let event = events.recv_timeout(LONG).unwrap();
    assert!(matches!(event, ConnectionEvent::GivenUp { .. }), "{event}");
    let options = CallOptions::new().timeout(LONG);
    let error = client.request("test/any", &(), options).unwrap_err();
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Io, false));
    assert!(
        error.to_string().contains("the transport panicked"),
        "{error}"
    );
    at_once(move || client.close());
}

/// How many threads there are that restart a server.
fn restarting() -> usize {
    system::threads("mcplink-restart")
}

#[test]
#[ignore = "run in a process of its own by the test below"]
fn threads_that_restart_alone() {
    let mut bench = bench(quick().first_delay(Duration::from_millis(50)), MODERN);
    assert_eq!(restarting(), 0);
    bench.lose();
    assert_eq!(restarting(), 1);
    bench.comes_back(MODERN);
    bench.restored();
    wait_until("the thread is gone", || restarting() == 0);
}

// Seen in other SDKs: the library brings a runtime and threads before it is used.
#[test]
fn there_is_no_thread_for_restarting_while_nothing_is_restarted() {
    run_alone("client_restart::threads_that_restart_alone");
}

/// A client that does not restart its server, and is told of its end.
fn told_of_the_end(revision: ProtocolVersion) -> (Client, RawServer, Receiver<ConnectionEvent>) {
    let (tell, events) = mpsc::channel();
    let (here, there) = memory::pair();
    let builder = Client::builder("test", "1")
        .revisions(&[revision])
        .on_connection_event(move |event| _ = tell.send(event));
    let connecting = thread::spawn(move || builder.connect(here).unwrap());
    let mut server = RawServer::open(there);
    server.open_as(revision, &everything());
    (connecting.join().unwrap(), server, events)
}

#[test]
fn a_client_that_does_not_restart_is_told_once_that_its_server_was_lost() {
    for revision in [MODERN, LEGACY] {
        let (client, server, events) = told_of_the_end(revision);
        drop(server);
        let event = events.recv_timeout(LONG).unwrap();
        let ConnectionEvent::GivenUp { error, .. } = event else {
            panic!("{event}");
        };
        assert_eq!(error.kind(), ErrorKind::Closed);
        client.close();
        drop(client);
        // With the client its hook has gone.
        assert!(events.recv_timeout(LONG).is_err(), "told twice");
    }
}

#[test]
fn a_client_that_closes_its_connection_is_not_told_of_a_loss() {
    let (client, _server, events) = told_of_the_end(LEGACY);
    client.close();
    drop(client);
    assert!(events.recv_timeout(LONG).is_err(), "nothing was lost");
}

#[test]
fn a_loss_is_told_once() {
    for has_hook in [true, false] {
        let (logged, records) = mpsc::channel();
        let (tell, events) = mpsc::channel();
        let mut builder = Client::builder("test", "1").on_log(move |record| {
            _ = logged.send(record.text.to_owned());
        });
        if has_hook {
            builder = builder.on_connection_event(move |event| _ = tell.send(event.to_string()));
        } else {
            drop(tell);
        }
        let (client, server) = crate::rawserver::connect_with(builder, MODERN, &everything());
        drop(server);
        let told = if has_hook { &events } else { &records };
        let text = told.recv_timeout(LONG).unwrap();
        assert!(text.contains("connection"), "{text}");
        drop(client);
        assert_eq!(records.iter().count(), 0);
        assert_eq!(events.iter().count(), 0);
    }
}
