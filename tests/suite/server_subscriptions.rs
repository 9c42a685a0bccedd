//! Changes, told to clients of both eras.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mcplink::schema::*;
use mcplink::server::{Context, GuardedRequest, List, ResourceRead, Server, ServerBuilder};
use mcplink::transport::Limits;
use serde_json::{Value, json};

use crate::common::Witness;
use crate::raw::Raw;

const ID: &str = "io.modelcontextprotocol/subscriptionId";

fn builder() -> ServerBuilder {
    Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "done")
        .prompt(Prompt::new("p"), |(): (), _: &Context| "")
        .resource(
            Resource::new("a:1", "r"),
            |_: &ResourceRead, _: &Context| "",
        )
}

fn server() -> Server {
    builder().build().unwrap()
}

/// Makes one change of every kind.
fn change_everything(server: &Server) {
    server
        .add_tool(Tool::new("more"), |_: Value, _: &Context| "")
        .unwrap();
    server.remove_tool("more");
    server
        .add_prompt(Prompt::new("more"), |(): (), _: &Context| "")
        .unwrap();
    server.remove_prompt("more");
    server
        .add_resource(
            Resource::new("a:2", "r"),
            |_: &ResourceRead, _: &Context| "",
        )
        .unwrap();
    server.remove_resource("a:2");
    server.resource_updated("a:1");
    server.resource_updated("a:3");
}

/// Opens a stream and takes the acknowledgement, which comes first.
fn listen(client: &mut Raw, id: Value, filter: Value) -> Value {
    client.request(
        id.clone(),
        "subscriptions/listen",
        json!({ "notifications": filter }),
    );
    let ack = client.next();
    assert_eq!(
        ack["method"], "notifications/subscriptions/acknowledged",
        "{ack}"
    );
    assert_eq!(ack["params"]["_meta"][ID], id);
    ack["params"]["notifications"].clone()
}

/// What has come when everybody has been told of all changes so far: changes are told in the order in which they came.
fn messages(server: &Server, client: &mut Raw) -> Vec<Value> {
    tell_everybody(server);
    // What its connection has to write is written with the first answer, or before.
    client.settle();
    client.settle();
    (0..client.heard()).map(|_| client.next()).collect()
}

/// Returns when all changes so far were handed to the connections of their subscribers.
fn tell_everybody(server: &Server) {
    let mut witness = Raw::silent(server, ProtocolVersion::LATEST);
    witness.check_messages(false);
    listen(
        &mut witness,
        json!("witness"),
        json!({ "resourceSubscriptions": ["last:of-all"] }),
    );
    server.resource_updated("last:of-all");
    assert_eq!(witness.next()["params"]["uri"], "last:of-all");
}

fn expect_silence(server: &Server, client: &mut Raw) {
    assert_eq!(messages(server, client), [Value::Null; 0]);
}

/// The method of a message, without the beginning that all of them have.
fn short(message: &Value) -> String {
    let method = message["method"].as_str().unwrap_or("(answer)");
    method.trim_start_matches("notifications/").to_owned()
}

/// What has come: the methods, each once if they follow each other.
fn heard(server: &Server, client: &mut Raw) -> Vec<String> {
    let mut heard: Vec<String> = messages(server, client).iter().map(short).collect();
    heard.sort();
    heard.dedup();
    heard
}

const EACH_LIST: [&str; 3] = [
    "prompts/list_changed",
    "resources/list_changed",
    "tools/list_changed",
];

// M-TOOL-S-07, L-TOOL-S-04, L-RES-S-02, L-PROM-S-02, L-RES-S-11, L-INIT-S-06
#[test]
fn legacy_clients_are_told_when_they_are_initialized() {
    let server = server();
    for &revision in ProtocolVersion::LEGACY {
        let mut client = Raw::silent(&server, revision);
        client.initialize();
        assert_eq!(
            client.capabilities()["resources"],
            json!({ "subscribe": true, "listChanged": true })
        );
        assert_eq!(
            client.capabilities()["tools"],
            json!({ "listChanged": true })
        );
        assert_eq!(
            client.capabilities()["prompts"],
            json!({ "listChanged": true })
        );
        client.result("resources/subscribe", json!({ "uri": "a:1" }));
        change_everything(&server);
        expect_silence(&server, &mut client);
        client.notify("notifications/initialized", json!({}));
        client.settle();
        let mut expected = EACH_LIST.to_vec();
        expected.insert(2, "resources/updated");
        // What changed since the answer to `initialize` is not lost.
        assert_eq!(heard(&server, &mut client), expected, "{revision}");
        change_everything(&server);
        assert_eq!(heard(&server, &mut client), expected, "{revision}");
        client.result("resources/unsubscribe", json!({ "uri": "a:1" }));
        change_everything(&server);
        assert_eq!(heard(&server, &mut client), EACH_LIST);
    }
}

// L-RES-S-12, L-RES-S-07, L-INIT-B-16
#[test]
fn what_was_not_declared_is_not_told() {
    let server = builder().resource_updates(false).build().unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST_LEGACY);
    assert_eq!(
        client.capabilities()["resources"],
        json!({ "listChanged": true })
    );
    assert_eq!(
        client.code("resources/subscribe", json!({ "uri": "a:1" })),
        -32601
    );
    let mut modern = Raw::open(&server, ProtocolVersion::LATEST);
    let granted = listen(
        &mut modern,
        json!(100),
        json!({ "resourceSubscriptions": ["a:1"] }),
    );
    assert_eq!(granted, json!({}));
    assert_eq!(
        modern.code("resources/subscribe", json!({ "uri": "a:1" })),
        -32601
    );
    let bare = Server::builder("s", "1").build().unwrap();
    let mut client = Raw::open(&bare, ProtocolVersion::LATEST_LEGACY);
    assert_eq!(
        client.code("resources/subscribe", json!({ "uri": "a:1" })),
        -32601
    );
    change_everything(&bare);
    client.expect_silence();
    let mut late = Raw::open(&bare, ProtocolVersion::LATEST_LEGACY);
    assert_eq!(
        late.code("resources/subscribe", json!({ "uri": "no address" })),
        -32602
    );
    assert_eq!(
        late.code("subscriptions/listen", json!({ "notifications": {} })),
        -32601
    );
}

#[test]
fn what_is_offered_is_declared_before_it_is_there() {
    let server = Server::builder("s", "1")
        .declare_capability(List::Tools)
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST_LEGACY);
    assert_eq!(client.result("tools/list", json!({}))["tools"], json!([]));
    client.settle();
    server
        .add_tool(Tool::new("t"), |_: Value, _: &Context| "")
        .unwrap();
    assert_eq!(client.next()["method"], "notifications/tools/list_changed");
}

// M-META-S-18, M-SUB-S-01, M-SUB-S-05, M-SUB-C-13, M-TOOL-S-07, M-RES-S-04, M-PROM-S-04
#[test]
fn a_stream_carries_what_its_filter_asks_for() {
    for (filter, expected) in [
        (json!({}), vec![]),
        (
            json!({ "toolsListChanged": true }),
            vec!["tools/list_changed"],
        ),
        (
            json!({ "toolsListChanged": false, "promptsListChanged": true }),
            vec!["prompts/list_changed"],
        ),
        (
            json!({ "resourcesListChanged": true }),
            vec!["resources/list_changed"],
        ),
        (
            json!({ "resourceSubscriptions": ["a:1", "a:9"] }),
            vec!["resources/updated"],
        ),
    ] {
        let server = server();
        let mut client = Raw::open(&server, ProtocolVersion::LATEST);
        change_everything(&server);
        expect_silence(&server, &mut client);
        listen(&mut client, json!(100), filter);
        change_everything(&server);
        let told = messages(&server, &mut client);
        assert!(
            told.iter()
                .all(|message| message["params"]["_meta"][ID] == 100)
        );
        let mut told: Vec<String> = told.iter().map(short).collect();
        told.dedup();
        assert_eq!(told, expected);
    }
}

// M-SUB-S-04, M-SUB-S-16
#[test]
fn the_acknowledgement_lists_what_will_be_honoured() {
    let all = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["a:1"], "somethingLater": true,
    });
    let mut client = Raw::open(&server(), ProtocolVersion::LATEST);
    let granted = listen(&mut client, json!(100), all.clone());
    assert_eq!(
        granted,
        json!({
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["a:1"],
        })
    );
    let bare = Server::builder("s", "1").build().unwrap();
    let mut client = Raw::open(&bare, ProtocolVersion::LATEST);
    assert_eq!(listen(&mut client, json!(100), all), json!({}));
    assert_eq!(client.code("subscriptions/listen", json!({})), -32602);
}

// M-SUB-S-07, M-SUB-S-09, M-SUB-S-10, M-CANC-S-02, M-CANC-S-08, M-STATE-S-07
#[test]
fn streams_of_one_connection_are_told_apart_by_their_ids() {
    let server = server();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let ids = [json!("100"), json!(100)];
    listen(
        &mut client,
        ids[0].clone(),
        json!({ "toolsListChanged": true }),
    );
    listen(
        &mut client,
        ids[1].clone(),
        json!({ "toolsListChanged": true, "resourceSubscriptions": ["a:1"] }),
    );
    server.remove_tool("t");
    server.resource_updated("a:1");
    let told = [(); 3].map(|()| client.next());
    let on = |id: &Value| -> Vec<String> {
        let own = |message: &&Value| message["params"]["_meta"][ID] == *id;
        told.iter().filter(own).map(short).collect()
    };
    assert_eq!(on(&ids[0]), ["tools/list_changed"]);
    assert_eq!(on(&ids[1]), ["tools/list_changed", "resources/updated"]);
    server.end_subscriptions();
    for id in &ids {
        let farewell = client.next();
        assert_eq!(farewell["method"], "notifications/cancelled");
        assert_eq!(farewell["params"]["requestId"], *id);
        let answer = client.answer_to(id, Some("subscriptions/listen"));
        assert_eq!(answer["result"]["resultType"], "complete");
        assert_eq!(answer["result"]["_meta"][ID], *id);
    }
    server.resource_updated("a:1");
    expect_silence(&server, &mut client);
    listen(&mut client, ids[0].clone(), json!({}));
}

// M-SUB-S-14
#[test]
fn a_cancelled_stream_is_silent_and_its_id_free() {
    let server = server();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    listen(
        &mut client,
        json!("a"),
        json!({ "resourceSubscriptions": ["a:1"] }),
    );
    client.notify("notifications/cancelled", json!({ "requestId": "a" }));
    client.settle();
    server.resource_updated("a:1");
    expect_silence(&server, &mut client);
    listen(
        &mut client,
        json!("a"),
        json!({ "resourceSubscriptions": ["a:1"] }),
    );
    server.resource_updated("a:1");
    assert_eq!(heard(&server, &mut client), ["resources/updated"]);
}

// M-SUB-S-10, AMB-04
#[test]
fn closing_the_connection_ends_its_streams_in_order() {
    let server = server();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    listen(&mut client, json!(100), json!({ "toolsListChanged": true }));
    client.connection.close();
    assert_eq!(client.next()["method"], "notifications/cancelled");
    let answer = client.answer_to(&json!(100), Some("subscriptions/listen"));
    assert_eq!(answer["result"]["_meta"][ID], 100);
    server.remove_tool("t");
    assert_eq!(client.receive(Duration::from_millis(50)), None);
}

#[test]
fn a_stream_does_not_hold_up_the_end() {
    let mut client = Raw::open(&server(), ProtocolVersion::LATEST);
    listen(&mut client, json!(100), json!({ "toolsListChanged": true }));
    client.hang_up();
    let witness = Witness::start();
    client.connection.wait();
    witness.expect_at_once();
}

// M-SUB-S-02, M-SUB-S-03
#[test]
fn the_acknowledgement_comes_first_whatever_happens_meanwhile() {
    let server = server();
    let stop = Arc::new(AtomicBool::new(false));
    let publisher = {
        let (server, stop) = (server.clone(), Arc::clone(&stop));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                server.resource_updated("a:1");
                thread::yield_now();
            }
        })
    };
    for round in 0..50 {
        let mut client = Raw::open(&server, ProtocolVersion::LATEST);
        for id in [100, 101] {
            let params = json!({ "notifications": { "resourceSubscriptions": ["a:1"] } });
            client.request(json!(id), "subscriptions/listen", params);
        }
        let mut acknowledged = Vec::new();
        while acknowledged.len() < 2 {
            let message = client.next();
            // A stream ends with a result if this client, on a busy machine, falls too far behind.
            let place = match message.get("result") {
                Some(result) => result,
                None => &message["params"],
            };
            let id = place["_meta"][ID].clone();
            if message["method"] == "notifications/subscriptions/acknowledged" {
                acknowledged.push(id);
            } else {
                assert!(acknowledged.contains(&id), "round {round}: {message}");
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    publisher.join().unwrap();
}

fn limits(set: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    set(&mut limits);
    limits
}

#[test]
fn streams_take_no_place_of_calls_and_have_a_limit_of_their_own() {
    let limits = limits(|limits| {
        limits.max_requests = 1;
        limits.max_workers = 1;
        limits.max_subscriptions = 4;
    });
    let server = builder().limits(limits).build().unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    listen(&mut client, json!("a"), json!({ "toolsListChanged": true }));
    listen(
        &mut client,
        json!("b"),
        json!({ "resourceSubscriptions": ["a:1"] }),
    );
    client.result("tools/call", json!({ "name": "t" }));
    let more = json!({ "notifications": { "resourceSubscriptions": ["a:1"] } });
    let refusal = client.error("subscriptions/listen", more);
    assert!(
        refusal["message"]
            .as_str()
            .unwrap()
            .contains("subscriptions already"),
        "{refusal}"
    );
    listen(&mut client, json!("c"), json!({}));
    client.notify("notifications/cancelled", json!({ "requestId": "b" }));
    client.settle();
    listen(
        &mut client,
        json!("d"),
        json!({ "resourceSubscriptions": ["a:1"] }),
    );
    assert_eq!(client.connection.peer().stats().requests_in_flight, 0);
    let mut legacy = Raw::open(&server, ProtocolVersion::LATEST_LEGACY);
    for n in 0..4 {
        legacy.result("resources/subscribe", json!({ "uri": format!("a:{n}") }));
    }
    legacy.result("resources/subscribe", json!({ "uri": "a:0" }));
    legacy.error("resources/subscribe", json!({ "uri": "a:4" }));
}

// Promise 6: addresses are kept, and may be as long as a message.
#[test]
fn a_long_address_takes_the_place_of_several() {
    let limits = limits(|limits| limits.max_subscriptions = 6);
    let server = builder().limits(limits).build().unwrap();
    let [short, long, longer] = [1000, 2000, 8000].map(|len| format!("a:{}", "x".repeat(len)));
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let of = |uris: &[&str]| json!({ "resourceSubscriptions": uris });
    let refused = |client: &mut Raw, uris: &[&str]| {
        let refusal = client.error("subscriptions/listen", json!({ "notifications": of(uris) }));
        assert!(
            refusal["message"]
                .as_str()
                .unwrap()
                .contains("subscriptions already"),
            "{refusal}"
        );
    };
    refused(&mut client, &[&longer]);
    listen(&mut client, json!("a"), of(&[&short, &long]));
    refused(&mut client, &[&long]);
    listen(&mut client, json!("b"), of(&["a:1"]));
    let mut legacy = Raw::open(&server, ProtocolVersion::LATEST_LEGACY);
    legacy.error("resources/subscribe", json!({ "uri": longer }));
    for uri in [&long, &long, &short] {
        legacy.result("resources/subscribe", json!({ "uri": uri }));
    }
    legacy.result("resources/subscribe", json!({ "uri": format!("{long}y") }));
    legacy.error("resources/subscribe", json!({ "uri": format!("{long}z") }));
}

#[test]
fn guards_are_asked_about_no_more_addresses_than_there_is_room_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let server = builder()
        .limits(limits(|limits| limits.max_subscriptions = 4))
        .guard(move |access: &GuardedRequest<'_>| {
            count.fetch_add(usize::from(access.primitive().is_some()), Ordering::SeqCst);
            Ok(())
        })
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let of = |count: usize| {
        let uris: Vec<String> = (0..count).map(|n| format!("a:{n}")).collect();
        json!({ "resourceSubscriptions": uris })
    };
    client.error("subscriptions/listen", json!({ "notifications": of(1000) }));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    listen(&mut client, json!("a"), of(2));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    client.error("subscriptions/listen", json!({ "notifications": of(1) }));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // What was cancelled takes no room, also before anybody was told of it.
    let mut last = json!("a");
    for n in 0..200 {
        client.notify("notifications/cancelled", json!({ "requestId": last }));
        last = json!(n);
        listen(&mut client, last.clone(), of(2));
    }
}

// M-SUB-S-14
#[test]
fn nothing_is_kept_after_the_connection() {
    let witness = Arc::new(());
    let kept = Arc::clone(&witness);
    let server = builder()
        .tool_with(Tool::new("w"), move |_: Value, _: &Context| {
            let _kept = &kept;
        })
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        if revision.is_modern() {
            listen(
                &mut client,
                json!(100),
                json!({ "resourceSubscriptions": ["a:1"] }),
            );
        } else {
            client.result("resources/subscribe", json!({ "uri": "a:1" }));
        }
        client.settle();
        drop(client);
        server.resource_updated("a:1");
    }
    drop(server);
    assert_eq!(Arc::strong_count(&witness), 1, "the server lives on");
}

// One publish reaches both eras, from inside a handler too.
#[test]
fn a_handler_may_change_what_there_is() {
    let server = server();
    let changing = server.clone();
    server
        .add_tool(Tool::new("change"), move |_: Value, _: &Context| {
            changing.remove_prompt("p");
            changing.resource_updated("a:1");
        })
        .unwrap();
    let mut modern = Raw::open(&server, ProtocolVersion::LATEST);
    let filter = json!({ "promptsListChanged": true, "resourceSubscriptions": ["a:1"] });
    listen(&mut modern, json!(100), filter);
    let mut legacy = Raw::open(&server, ProtocolVersion::LATEST_LEGACY);
    legacy.result("resources/subscribe", json!({ "uri": "a:1" }));
    legacy.settle();
    modern.result("tools/call", json!({ "name": "change" }));
    for client in [&mut modern, &mut legacy] {
        let told = heard(&server, client);
        assert_eq!(told, ["prompts/list_changed", "resources/updated"]);
    }
}
