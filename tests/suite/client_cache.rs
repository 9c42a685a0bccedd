//! Which responses a client asks for again, and which it keeps.

use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder, ResponseCache};
use mcplink::protocol::CancelToken;
use mcplink::schema::{
    ClientCapabilities, ElicitResult, ProtocolVersion, RootsCapability, SubscriptionFilter,
};
use mcplink::transport::{Limits, Transport, TransportParts, memory};
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

use crate::rawserver::{LONG, RawServer, connect, connect_over, connect_with};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
/// A time in which a test is over, and one in which none is.
const HOUR: u64 = 3_600_000;
const MOMENT: u64 = 1;

fn everything() -> Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
    })
}

fn hinted(mut result: Value, ttl: u64, scope: &str) -> Value {
    result["resultType"] = json!("complete");
    result["ttlMs"] = json!(ttl);
    result["cacheScope"] = json!(scope);
    result
}

fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    json!({ "tools": names.iter().map(tool).collect::<Vec<_>>() })
}

fn text(uri: &str, text: &str) -> Value {
    json!({ "contents": [{ "uri": uri, "text": text }] })
}

/// What is asked for in these tests, by the method that asks.
fn ask(client: &Client, method: &str) -> Result<()> {
    match method {
        "tools/list" => client.list_tools().map(drop),
        "prompts/list" => client.list_prompts().map(drop),
        "resources/list" => client.list_resources().map(drop),
        "resources/templates/list" => client.list_resource_templates().map(drop),
        _ => client.read_resource("a:b").map(drop),
    }
}

const ALL: [(&str, &str); 5] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("resources/read", "contents"),
];

/// Asks, and has the server answer.
fn fetch(client: &Client, server: &mut RawServer, method: &str, result: &Value) {
    server.serve(
        || ask(client, method).unwrap(),
        |server| {
            let request = server.asked(method);
            server.answer(&request, result.clone());
        },
    );
}

/// Asks for what is kept: nothing is sent.
fn recall(client: &Client, server: &mut RawServer, method: &str) {
    ask(client, method).unwrap();
    server.has_heard_nothing(client);
}

fn let_time_pass() {
    // Not to synchronise: what was to be kept for a moment is old then.
    CancelToken::new().wait(Duration::from_millis(2 * MOMENT));
}

// M-CACHE-C-06
#[test]
fn what_the_server_lets_be_kept_is_not_asked_for_again() {
    let (client, mut server) = connect(MODERN, &everything());
    for (method, member) in ALL {
        let result = hinted(json!({ member: [] }), HOUR, "private");
        fetch(&client, &mut server, method, &result);
    }
    for (method, _) in ALL {
        recall(&client, &mut server, method);
    }
    let stats = client.stats();
    assert_eq!((stats.cache_misses, stats.cache_hits), (5, 5));
    assert_eq!(stats.cached_responses, 5);
    assert!(stats.cached_bytes > 100, "{stats:?}");
}

// M-CACHE-C-05, M-CACHE-C-07, M-CACHE-C-08
#[test]
fn what_has_no_time_to_live_is_asked_for_each_time() {
    for ttl in [json!(0), json!(-5), Value::Null] {
        for revision in [LEGACY, MODERN] {
            let (client, mut server) = connect(revision, &everything());
            let mut result = hinted(tools(&["a"]), 0, "private");
            result["ttlMs"] = ttl.clone();
            for _ in 0..3 {
                fetch(&client, &mut server, "tools/list", &result);
            }
            assert_eq!(client.stats().cached_responses, 0);
        }
    }
    let (client, mut server) = connect(LEGACY, &everything());
    for _ in 0..3 {
        fetch(&client, &mut server, "tools/list", &tools(&["a"]));
    }
}

// M-CACHE-C-10, M-CACHE-C-11, M-CACHE-C-12: an old response is asked for when it is wanted, and nothing is polled.
#[test]
fn what_is_old_is_asked_for_when_it_is_wanted() {
    let (client, mut server) = connect(MODERN, &everything());
    let result = hinted(tools(&["a"]), MOMENT, "private");
    fetch(&client, &mut server, "tools/list", &result);
    let_time_pass();
    server.has_heard_nothing(&client);
    fetch(&client, &mut server, "tools/list", &result);
}

// M-CACHE-C-03
#[test]
fn a_response_answers_no_other_request() {
    let (client, mut server) = connect(MODERN, &everything());
    let read = |client: &Client, server: &mut RawServer, uri: &str| {
        server.serve(
            || client.read_resource(uri).unwrap(),
            |server| {
                let request = server.asked("resources/read");
                assert_eq!(request["params"]["uri"], uri);
                server.answer(&request, hinted(text(uri, uri), HOUR, "public"));
            },
        )
    };
    read(&client, &mut server, "a:b");
    read(&client, &mut server, "a:c");
    let result = hinted(json!({ "resources": [] }), HOUR, "public");
    fetch(&client, &mut server, "resources/list", &result);
    let result = hinted(json!({ "resourceTemplates": [] }), HOUR, "public");
    fetch(&client, &mut server, "resources/templates/list", &result);
    // Whatever an application sends along may make a difference; a trace makes none.
    let tenant = || CallOptions::new().meta("com.example/tenant", "x");
    server.serve(
        || client.read_resource_with("a:b", tenant()).unwrap(),
        |server| {
            let request = server.asked("resources/read");
            server.answer(&request, hinted(text("a:b", "x's"), HOUR, "public"));
        },
    );
    let kept = client.read_resource_with("a:b", tenant()).unwrap();
    assert_eq!(kept.contents[0].as_text(), Some("x's"));
    let traced = CallOptions::new().meta("tracestate", "a=b");
    let kept = client.read_resource_with("a:b", traced).unwrap();
    assert_eq!(kept.contents[0].as_text(), Some("a:b"));
    server.has_heard_nothing(&client);
}

/// Reads a list of two pages; `asked` says which of them the server is asked for, and how long it lets them be kept.
fn read_pages(client: &Client, server: &mut RawServer, asked: &[(Option<&str>, u64)]) {
    let list = server.serve(
        || client.list_tools().unwrap(),
        |server| {
            for (cursor, ttl) in asked {
                let request = server.asked("tools/list");
                let params = &request["params"];
                assert_eq!(params.get("cursor").and_then(Value::as_str), *cursor);
                let mut page = tools(&[cursor.unwrap_or("1")]);
                if cursor.is_none() {
                    page["nextCursor"] = json!("2");
                }
                server.answer(&request, hinted(page, *ttl, "private"));
            }
        },
    );
    assert_eq!(list.len(), 2);
    server.has_heard_nothing(client);
}

// M-CACHE-C-15
#[test]
fn each_page_has_its_own_time() {
    let (client, mut server) = connect(MODERN, &everything());
    read_pages(&client, &mut server, &[(None, HOUR), (Some("2"), MOMENT)]);
    let_time_pass();
    read_pages(&client, &mut server, &[(Some("2"), HOUR)]);
    read_pages(&client, &mut server, &[]);
}

// M-CACHE-C-16
#[test]
fn a_call_can_insist_on_asking() {
    let (client, mut server) = connect(MODERN, &everything());
    read_pages(&client, &mut server, &[(None, HOUR), (Some("2"), HOUR)]);
    let list = server.serve(
        || {
            let fresh = CallOptions::new().bypass_cache();
            client.list_tools_with(fresh).unwrap()
        },
        |server| {
            for (names, next) in [(["a", "b"], json!("3")), (["c", "d"], Value::Null)] {
                let request = server.asked("tools/list");
                let mut page = tools(&names);
                page["nextCursor"] = next;
                server.answer(&request, hinted(page, HOUR, "private"));
            }
        },
    );
    assert_eq!(list.len(), 4);
    // The new pages have taken the place of the old ones.
    assert_eq!(client.list_tools().unwrap(), list);
    server.has_heard_nothing(&client);
    client.clear_cache();
    read_pages(&client, &mut server, &[(None, HOUR), (Some("2"), HOUR)]);
}

// M-CACHE-C-17
#[test]
fn a_cursor_that_is_no_longer_known_ends_what_is_kept_of_the_list() {
    let (client, mut server) = connect(MODERN, &everything());
    read_pages(&client, &mut server, &[(None, HOUR), (Some("2"), MOMENT)]);
    let_time_pass();
    let list = server.serve(
        || client.list_tools().unwrap(),
        |server| {
            let request = server.asked("tools/list");
            assert_eq!(request["params"]["cursor"], "2");
            server.refuse(&request, -32602, "unknown cursor");
            let request = server.asked("tools/list");
            assert_eq!(request["params"].get("cursor"), None);
            server.answer(&request, hinted(tools(&["new"]), HOUR, "private"));
        },
    );
    assert_eq!(list.len(), 1);
    recall(&client, &mut server, "tools/list");
    // A server that never knows its own cursors is not asked for ever.
    client.clear_cache();
    let error = server.serve(
        || client.list_tools().unwrap_err(),
        |server| {
            for _ in 0..2 {
                let request = server.asked("tools/list");
                let mut page = tools(&["a"]);
                page["nextCursor"] = json!("2");
                server.answer(&request, hinted(page, HOUR, "private"));
                let request = server.asked("tools/list");
                server.refuse(&request, -32602, "unknown cursor");
            }
        },
    );
    assert_eq!(error.kind(), ErrorKind::Peer);
    assert_eq!(client.stats().cached_responses, 0);
}

fn notification(topic: &str) -> (String, Value) {
    match topic {
        "resource" => (
            "notifications/resources/updated".to_owned(),
            json!({ "uri": "a:b" }),
        ),
        list => (format!("notifications/{list}/list_changed"), json!({})),
    }
}

const CHANGES: [(&str, &[&str]); 4] = [
    ("tools", &["tools/list"]),
    ("prompts", &["prompts/list"]),
    ("resources", &["resources/list", "resources/templates/list"]),
    ("resource", &["resources/read"]),
];

/// A client, and the `_meta` of notifications that reach it: of a stream in the modern era.
fn subscribed(revision: ProtocolVersion) -> (Client, RawServer, Value) {
    let (client, mut server) = connect(revision, &everything());
    if revision.is_legacy() {
        return (client, server, json!({}));
    }
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let id = std::sync::OnceLock::new();
    let subscription = server.serve(
        || client.subscribe(filter, |_| {}).unwrap(),
        |server| {
            let request = server.asked("subscriptions/listen");
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": request["id"] });
            let params = json!({ "notifications": {}, "_meta": meta });
            server.notify("notifications/subscriptions/acknowledged", params);
            id.set(meta).unwrap();
        },
    );
    // It lasts as long as the connection.
    std::mem::forget(subscription);
    (client, server, id.into_inner().unwrap())
}

// M-CACHE-C-22
#[test]
fn what_has_changed_is_asked_for_again_and_nothing_else() {
    for revision in [LEGACY, MODERN] {
        let (client, mut server, meta) = subscribed(revision);
        let result = |member: &str| hinted(json!({ member: [], "contents": [] }), HOUR, "private");
        for (method, member) in ALL {
            fetch(&client, &mut server, method, &result(member));
        }
        for (topic, methods) in CHANGES {
            let (name, mut params) = notification(topic);
            params["_meta"] = meta.clone();
            server.notify(&name, params);
            server.has_heard_nothing(&client);
            for (method, member) in ALL {
                if methods.contains(&method) {
                    fetch(&client, &mut server, method, &result(member));
                } else {
                    recall(&client, &mut server, method);
                }
            }
        }
    }
}

// A list that was fetched before a change notification arrived is not stored.
#[test]
fn a_change_that_is_told_during_a_fetch_is_not_missed() {
    for revision in [LEGACY, MODERN] {
        let (client, mut server, meta) = subscribed(revision);
        for (topic, methods) in CHANGES {
            for method in methods {
                let member = ALL.iter().find(|(name, _)| name == method).unwrap().1;
                let result = hinted(json!({ member: [] }), HOUR, "private");
                server.serve(
                    || ask(&client, method).unwrap(),
                    |server| {
                        let request = server.asked(method);
                        let (name, mut params) = notification(topic);
                        params["_meta"] = meta.clone();
                        server.notify(&name, params);
                        server.answer(&request, result.clone());
                    },
                );
                fetch(&client, &mut server, method, &result);
                recall(&client, &mut server, method);
            }
        }
        // The same for an order of the host's own.
        client.clear_cache();
        let result = hinted(tools(&[]), HOUR, "private");
        server.serve(
            || ask(&client, "tools/list").unwrap(),
            |server| {
                let request = server.asked("tools/list");
                client.clear_cache();
                server.answer(&request, result.clone());
            },
        );
        fetch(&client, &mut server, "tools/list", &result);
    }
}

// M-CACHE-C-04
#[test]
fn what_a_person_was_asked_for_is_not_kept() {
    let builder = Client::builder("test", "1")
        .on_elicit(|_, _| ElicitResult::accept(&json!({ "pin": "1234" })).unwrap());
    let (client, mut server) = connect_with(builder, MODERN, &everything());
    for with_question in [true, false, true] {
        server.serve(
            || client.read_resource("a:b").unwrap(),
            |server| {
                let request = server.asked("resources/read");
                let params = json!({ "message": "Pin?", "requestedSchema": { "type": "object", "properties": {} } });
                let question = json!({ "method": "elicitation/create", "params": params });
                let mut asks = json!({ "resultType": "input_required", "requestState": "s" });
                if with_question {
                    asks["inputRequests"] = json!({ "k": question });
                }
                server.answer(&request, asks);
                let retry = server.asked("resources/read");
                assert_eq!(retry["params"]["requestState"], "s");
                server.answer(&retry, hinted(text("a:b", "secret"), HOUR, "public"));
            },
        );
    }
    let result = hinted(text("a:b", "open"), HOUR, "private");
    fetch(&client, &mut server, "resources/read", &result);
    recall(&client, &mut server, "resources/read");
}

/// A transport with an address, so that two clients are known to reach the same server.
#[derive(Debug)]
struct At(&'static str, Box<dyn Transport>);

impl Transport for At {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        self.1.open(limits)
    }

    fn address(&self) -> Option<String> {
        Some(self.0.to_owned())
    }
}

/// Connects to a server of this address and version.
fn reach(
    builder: ClientBuilder,
    address: &'static str,
    version: &'static str,
) -> (Client, RawServer) {
    let (here, there) = memory::pair();
    let here = At(address, Box::new(here));
    let info = json!({ "name": "shared", "version": version });
    connect_over(here, there, builder, MODERN, &everything(), &info)
}

fn sharing(cache: &ResponseCache) -> ClientBuilder {
    Client::builder("test", "1").cache(cache)
}

// Must not happen: the cache serves stale lists, or those of another user or server.
// M-CACHE-C-13, M-CACHE-C-14
#[test]
fn clients_share_what_is_public_and_with_their_principal_what_is_private() {
    let cache = ResponseCache::new(&Limits::default());
    let (alice, mut for_alice) = reach(sharing(&cache.for_principal("alice")), "x", "1");
    let (bob, mut for_bob) = reach(sharing(&cache.for_principal("bob")), "x", "1");
    let (nobody, mut for_nobody) = reach(sharing(&cache), "x", "1");
    let (another, mut for_another) = reach(sharing(&cache), "x", "1");
    let public = hinted(tools(&[]), HOUR, "public");
    fetch(&alice, &mut for_alice, "tools/list", &public);
    recall(&bob, &mut for_bob, "tools/list");
    recall(&nobody, &mut for_nobody, "tools/list");
    for scope in ["private", "unknown"] {
        let private = hinted(json!({ "prompts": [] }), HOUR, scope);
        for (client, server) in [
            (&alice, &mut for_alice),
            (&bob, &mut for_bob),
            (&nobody, &mut for_nobody),
            (&another, &mut for_another),
        ] {
            fetch(client, server, "prompts/list", &private);
            recall(client, server, "prompts/list");
        }
        let (again, mut for_again) = reach(sharing(&cache.for_principal("alice")), "x", "1");
        recall(&again, &mut for_again, "prompts/list");
        // What the server gives may depend on what the client can do.
        let capabilities = ClientCapabilities::default().roots(RootsCapability::default());
        let able = sharing(&cache.for_principal("alice")).capabilities(capabilities);
        let (able, mut for_able) = reach(able, "x", "1");
        fetch(&able, &mut for_able, "prompts/list", &private);
        alice.clear_cache();
        fetch(&alice, &mut for_alice, "tools/list", &public);
    }
    cache.clear();
    assert_eq!(alice.stats().cached_responses, 0);
}

// The cache never answers for another server, nor for the next version of the same one.
// M-CACHE-C-13
#[test]
fn servers_do_not_answer_for_each_other() {
    let cache = ResponseCache::new(&Limits::default()).for_principal("me");
    let (first, mut for_first) = reach(sharing(&cache), "x", "1");
    let public = hinted(tools(&[]), HOUR, "public");
    fetch(&first, &mut for_first, "tools/list", &public);
    first.close();
    let (same, mut for_same) = reach(sharing(&cache), "x", "1");
    recall(&same, &mut for_same, "tools/list");
    for (address, version) in [("y", "1"), ("x", "2")] {
        let (other, mut for_other) = reach(sharing(&cache), address, version);
        fetch(&other, &mut for_other, "tools/list", &public);
    }
    let (nameless, mut for_nameless) = connect_with(sharing(&cache), MODERN, &everything());
    fetch(&nameless, &mut for_nameless, "tools/list", &public);
    let (nameless, mut for_nameless) = connect_with(sharing(&cache), MODERN, &everything());
    fetch(&nameless, &mut for_nameless, "tools/list", &public);
}

#[test]
fn a_lost_connection_empties_what_is_kept_of_its_server() {
    let cache = ResponseCache::new(&Limits::default());
    let (lost, mut leaving) = reach(sharing(&cache), "x", "1");
    let (other, mut elsewhere) = reach(sharing(&cache), "y", "1");
    let public = hinted(tools(&[]), HOUR, "public");
    fetch(&lost, &mut leaving, "tools/list", &public);
    fetch(&other, &mut elsewhere, "tools/list", &public);
    drop(leaving);
    crate::common::wait_until("the end was noticed", || lost.is_closed());
    crate::common::wait_until("it is empty", || other.stats().cached_responses == 1);
    assert_eq!(lost.list_tools().unwrap_err().kind(), ErrorKind::Closed);
    recall(&other, &mut elsewhere, "tools/list");
}

#[test]
fn a_closed_client_answers_nothing() {
    let (client, mut server) = connect(MODERN, &everything());
    let result = hinted(tools(&[]), HOUR, "private");
    fetch(&client, &mut server, "tools/list", &result);
    client.close();
    assert_eq!(client.list_tools().unwrap_err().kind(), ErrorKind::Closed);
}

// The memory of a cache stays flat over any number of responses.
#[test]
fn what_is_kept_is_bounded_and_can_be_switched_off() {
    fn limited(responses: usize, bytes: usize) -> ClientBuilder {
        let mut limits = Limits::default();
        limits.max_cached_responses = responses;
        limits.max_cached_bytes = bytes;
        Client::builder("test", "1").limits(limits)
    }
    for (responses, bytes) in [(3, 1 << 20), (1 << 20, 1000)] {
        let (client, mut server) = connect_with(limited(responses, bytes), MODERN, &everything());
        for number in 0..20 {
            let uri = format!("a:{number:02}");
            server.serve(
                || client.read_resource(&uri).unwrap(),
                |server| {
                    let request = server.asked("resources/read");
                    server.answer(&request, hinted(text(&uri, "0123456789"), HOUR, "private"));
                },
            );
        }
        let stats = client.stats();
        assert!(stats.cached_responses <= responses && stats.cached_bytes <= bytes);
        assert!(stats.cached_responses >= 3, "{stats:?}");
    }
    for (responses, bytes) in [(0, 1000), (1000, 0)] {
        let (client, mut server) = connect_with(limited(responses, bytes), MODERN, &everything());
        let result = hinted(tools(&[]), HOUR, "private");
        for _ in 0..2 {
            fetch(&client, &mut server, "tools/list", &result);
        }
        assert_eq!(client.stats().cache_misses, 0);
    }
}

/// A fetch that fails is forgotten, and nothing of it is left.
#[test]
fn a_refusal_is_not_kept() {
    let (client, mut server) = connect(MODERN, &everything());
    for _ in 0..2 {
        let error = server.serve(
            || client.read_resource("a:b").unwrap_err(),
            |server| {
                let request = server.asked("resources/read");
                server.refuse(&request, -32602, "resource not found");
            },
        );
        assert_eq!(error.kind(), ErrorKind::Peer);
    }
    let silent = CallOptions::new().timeout(Duration::from_millis(10));
    let error = client.read_resource_with("a:b", silent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let late = server.asked("resources/read");
    server.answer(&late, hinted(text("a:b", "late"), HOUR, "private"));
    assert!(server.receive_within(LONG).unwrap()["method"] == "notifications/cancelled");
    let result = hinted(text("a:b", "new"), HOUR, "private");
    fetch(&client, &mut server, "resources/read", &result);
}

// M-CACHE-C-22; RFC 3986, section 6.2.2
#[test]
fn a_change_outdates_what_is_kept_in_every_spelling_of_the_address() {
    for revision in [LEGACY, MODERN] {
        for (kept, changed) in [
            ("docs://café/menu", "DOCS://caf%c3%a9/%6Denu"),
            ("docs://caf%c3%a9/menu", "docs://café/menu"),
            ("https://example.com", "https://EXAMPLE.com:443/"),
            (
                "https://example.com/%7Eann/../bob",
                "HTTPS://example.com/bob",
            ),
        ] {
            let (client, mut server, meta) = subscribed(revision);
            let fetch = |server: &mut RawServer, uri: &str| {
                let result = hinted(text(uri, "menu"), HOUR, "private");
                server.serve(
                    || client.read_resource(uri).unwrap(),
                    |server| {
                        let request = server.asked("resources/read");
                        server.answer(&request, result);
                    },
                );
            };
            let other = "docs://else";
            fetch(&mut server, kept);
            fetch(&mut server, other);
            client.read_resource(kept).unwrap();
            server.has_heard_nothing(&client);
            let params = json!({ "uri": changed, "_meta": meta });
            server.notify("notifications/resources/updated", params);
            server.has_heard_nothing(&client);
            fetch(&mut server, kept);
            client.read_resource(other).unwrap();
            server.has_heard_nothing(&client);
        }
    }
}
