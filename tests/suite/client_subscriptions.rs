//! What changes on the server, told in both eras.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, Event, Subscription};
use mcplink::protocol::CancelToken;
use mcplink::schema::{ProtocolVersion, SubscriptionFilter, TaskStatus};
use serde_json::{Value, json};

use crate::common::{Gate, within};
use crate::rawserver::{LONG, RawServer, connect, connect_with};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const ID: &str = "io.modelcontextprotocol/subscriptionId";

fn everything() -> Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
    })
}

fn tools() -> SubscriptionFilter {
    SubscriptionFilter::default().tools_list_changed(true)
}

fn resource(uri: &str) -> SubscriptionFilter {
    SubscriptionFilter::default().resource_subscriptions(vec![uri.to_owned()])
}

fn ended(event: &Event) -> Option<bool> {
    match event {
        Event::Ended { clean, .. } => Some(*clean),
        _ => None,
    }
}

/// Subscribes in the modern era; the server grants `granted`. Gives the id of the request too.
fn listen(
    client: &Client,
    server: &mut RawServer,
    filter: SubscriptionFilter,
    granted: Value,
) -> (Subscription, Receiver<Event>, Value) {
    let (told, events) = mpsc::channel();
    let asked = serde_json::to_value(&filter).unwrap();
    let id = OnceLock::new();
    let subscription = server.serve(
        || {
            let on_event = move |event| _ = told.send(event);
            client.subscribe(filter, on_event).unwrap()
        },
        |server| {
            let request = server.asked("subscriptions/listen");
            let params = &request["params"];
            assert_eq!(params["notifications"], asked);
            assert_eq!(
                params["_meta"]["io.modelcontextprotocol/protocolVersion"],
                "2026-07-28"
            );
            acknowledge(server, &request["id"], granted);
            id.set(request["id"].clone()).unwrap();
        },
    );
    (subscription, events, id.into_inner().unwrap())
}

fn acknowledge(server: &mut RawServer, id: &Value, granted: Value) {
    server.notify(
        "notifications/subscriptions/acknowledged",
        json!({ "notifications": granted, "_meta": { ID: id } }),
    );
}

fn tools_changed(server: &mut RawServer, id: &Value) {
    server.notify(
        "notifications/tools/list_changed",
        json!({ "_meta": { ID: id } }),
    );
}

// M-SUB-C-06, M-SUB-C-13
#[test]
fn what_was_granted_can_be_seen() {
    let (client, mut server) = connect(MODERN, &everything());
    let filter = tools().prompts_list_changed(true);
    let granted = json!({ "toolsListChanged": true });
    let (subscription, _events, _) = listen(&client, &mut server, filter, granted.clone());
    assert_eq!(
        serde_json::to_value(subscription.granted()).unwrap(),
        granted
    );
    let (subscription, events, _) = listen(
        &client,
        &mut server,
        SubscriptionFilter::default(),
        json!({}),
    );
    assert!(subscription.granted().is_empty() && !subscription.has_ended());
    assert!(events.try_recv().is_err());
}

// M-SUB-C-08
#[test]
fn events_reach_the_subscription_that_they_name() {
    let (client, mut server) = connect(MODERN, &everything());
    let granted = json!({ "toolsListChanged": true });
    let (_first, first_events, first) = listen(&client, &mut server, tools(), granted.clone());
    let (_second, second_events, second) = listen(&client, &mut server, tools(), granted);
    let uri = "a:b";
    let (_third, third_events, third) = listen(
        &client,
        &mut server,
        resource(uri),
        json!({ "resourceSubscriptions": [uri] }),
    );
    tools_changed(&mut server, &second);
    // Neither one without a name, nor one that was not asked for, nor one for nobody is told.
    server.notify("notifications/tools/list_changed", json!({}));
    tools_changed(&mut server, &third);
    tools_changed(&mut server, &json!(second.to_string()));
    server.notify(
        "notifications/resources/updated",
        json!({ "uri": "a:b/c", "_meta": { ID: third } }),
    );
    assert_eq!(
        third_events.recv_timeout(LONG).unwrap(),
        Event::ResourceUpdated("a:b/c".into())
    );
    assert_eq!(
        second_events.recv_timeout(LONG).unwrap(),
        Event::ToolsChanged
    );
    tools_changed(&mut server, &first);
    assert_eq!(
        first_events.recv_timeout(LONG).unwrap(),
        Event::ToolsChanged
    );
    assert!(first_events.try_recv().is_err() && second_events.try_recv().is_err());
}

// M-SUB-C-11, M-CANC-S-02
#[test]
fn an_end_in_order_is_told_from_a_loss() {
    fn check(end: impl FnOnce(&mut RawServer, &Value), expected: bool) {
        let (client, mut server) = connect(MODERN, &everything());
        let (subscription, events, id) = listen(
            &client,
            &mut server,
            tools(),
            json!({ "toolsListChanged": true }),
        );
        tools_changed(&mut server, &id);
        end(&mut server, &id);
        assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
        assert_eq!(ended(&events.recv_timeout(LONG).unwrap()), Some(expected));
        assert!(subscription.has_ended());
        tools_changed(&mut server, &id);
        drop(subscription);
        // It has ended, so nothing is cancelled, and nothing more is told.
        server.has_heard_nothing(&client);
        assert!(events.try_recv().is_err());
    }
    check(
        |server, id| {
            let request = json!({ "id": id });
            server.answer(
                &request,
                json!({ "resultType": "complete", "_meta": { ID: id } }),
            );
        },
        true,
    );
    check(
        |server, id| server.notify("notifications/cancelled", json!({ "requestId": id })),
        true,
    );
    check(
        |server, id| server.refuse(&json!({ "id": id }), -32603, "no more"),
        false,
    );
}

// M-SUB-C-11
#[test]
fn a_lost_connection_ends_subscriptions_of_both_eras() {
    let (client, mut server) = connect(MODERN, &everything());
    let (_subscription, events, _) = listen(&client, &mut server, tools(), json!({}));
    drop(server);
    assert_eq!(ended(&events.recv_timeout(LONG).unwrap()), Some(false));
    let (client, server) = connect(LEGACY, &everything());
    let (told, events) = mpsc::channel();
    let subscription = client
        .subscribe(tools(), move |event| told.send(event).unwrap())
        .unwrap();
    drop(server);
    assert_eq!(ended(&events.recv_timeout(LONG).unwrap()), Some(false));
    assert!(subscription.has_ended());
    let error = client.subscribe(tools(), |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn closing_the_client_ends_its_subscriptions() {
    for revision in [LEGACY, MODERN] {
        let (client, mut server) = connect(revision, &everything());
        let (told, events) = mpsc::channel();
        let on_event = move |event| _ = told.send(event);
        let _subscription = server.serve(
            || client.subscribe(tools(), on_event).unwrap(),
            |server| {
                if revision.is_modern() {
                    let request = server.asked("subscriptions/listen");
                    acknowledge(server, &request["id"], json!({}));
                }
            },
        );
        client.close();
        assert_eq!(ended(&events.recv_timeout(LONG).unwrap()), Some(false));
    }
}

// M-CANC-C-05, M-CANC-C-07
#[test]
fn dropping_the_handle_cancels_the_request() {
    let (client, mut server) = connect(MODERN, &everything());
    let (subscription, events, id) = listen(&client, &mut server, tools(), json!({}));
    drop(subscription);
    let cancelled = server.asked("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], id);
    server.answer(&json!({ "id": id }), json!({ "resultType": "complete" }));
    server.has_heard_nothing(&client);
    assert!(events.try_recv().is_err());
}

#[test]
fn a_refusal_a_silence_and_a_cancelled_wait_are_errors() {
    let (client, mut server) = connect(MODERN, &everything());
    let error = server.serve(
        || {
            client
                .subscribe(tools(), |_| panic!("nothing is told"))
                .unwrap_err()
        },
        |server| {
            let request = server.asked("subscriptions/listen");
            server.refuse(&request, -32601, "method not found");
        },
    );
    assert_eq!(error.kind(), ErrorKind::Peer);
    let error = server.serve(
        || {
            client
                .subscribe(tools(), |_| panic!("nothing is told"))
                .unwrap_err()
        },
        |server| {
            let request = server.asked("subscriptions/listen");
            server.answer(&request, json!({ "resultType": "complete" }));
        },
    );
    assert_eq!(error.kind(), ErrorKind::Protocol);
    let options = CallOptions::new().timeout(Duration::from_millis(20));
    let error = client.subscribe_with(tools(), options, |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let request = server.asked("subscriptions/listen");
    let cancelled = server.asked("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    let token = CancelToken::new();
    let options = CallOptions::new().cancel_with(&token);
    let error = server.serve(
        || client.subscribe_with(tools(), options, |_| {}).unwrap_err(),
        |server| {
            server.asked("subscriptions/listen");
            token.cancel();
            server.asked("notifications/cancelled");
        },
    );
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

// L-RES-S-11 (the client's side)
#[test]
fn legacy_servers_are_asked_for_resources_and_sorted_out_for_lists() {
    let (client, mut server) = connect(LEGACY, &everything());
    let (told, events) = mpsc::channel();
    let filter = resource("a:b").prompts_list_changed(true);
    let subscription = server.serve(
        || {
            client
                .subscribe(filter.clone(), move |event| told.send(event).unwrap())
                .unwrap()
        },
        |server| {
            let request = server.asked("resources/subscribe");
            assert_eq!(request["params"]["uri"], "a:b");
            server.answer(&request, json!({}));
        },
    );
    assert_eq!(subscription.granted(), filter);
    for method in ["tools", "resources", "prompts"] {
        server.notify(&format!("notifications/{method}/list_changed"), json!({}));
    }
    for uri in ["a:c", "a:b"] {
        server.notify("notifications/resources/updated", json!({ "uri": uri }));
    }
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::PromptsChanged);
    assert_eq!(
        events.recv_timeout(LONG).unwrap(),
        Event::ResourceUpdated("a:b".into())
    );
    // Somebody else wants the same resource: the server is told when the last one goes.
    let other = server.serve(
        || client.subscribe(resource("a:b"), |_| {}).unwrap(),
        |server| {
            let request = server.asked("resources/subscribe");
            server.answer(&request, json!({}));
        },
    );
    drop(subscription);
    server.has_heard_nothing(&client);
    drop(other);
    let request = server.asked("resources/unsubscribe");
    assert_eq!(request["params"]["uri"], "a:b");
    server.answer(&request, json!({}));
}

// L-RES-S-12 (the client's side)
#[test]
fn a_legacy_server_is_not_asked_for_what_it_can_not() {
    let (client, mut server) = connect(
        LEGACY,
        &json!({ "tools": { "listChanged": true }, "resources": {} }),
    );
    let filter = resource("a:b")
        .tools_list_changed(true)
        .resources_list_changed(true);
    let subscription = client.subscribe(filter, |_| {}).unwrap();
    assert_eq!(subscription.granted(), tools());
    drop(subscription);
    server.has_heard_nothing(&client);
    let (client, mut server) = connect(LEGACY, &everything());
    let error = server.serve(
        || client.subscribe(resource("a:b"), |_| {}).unwrap_err(),
        |server| {
            let request = server.asked("resources/subscribe");
            server.refuse(&request, -32002, "no such resource");
        },
    );
    assert!(error.is_not_found(), "{error}");
}

/// The acknowledgement must not wait behind the callback that waits for it.
#[test]
fn a_callback_may_subscribe() {
    let client: Arc<OnceLock<Client>> = Arc::default();
    let inside = Arc::clone(&client);
    let (told, outcomes) = mpsc::channel();
    let builder = Client::builder("test", "1").on_notification("test/now", move |_, _| {
        let subscription = inside.get().unwrap().subscribe(tools(), |_| {});
        told.send(subscription.map(drop)).unwrap();
    });
    let (connected, mut server) = connect_with(builder, MODERN, &everything());
    client.set(connected.clone()).unwrap();
    server.notify("test/now", json!({}));
    let request = server.asked("subscriptions/listen");
    acknowledge(&mut server, &request["id"], json!({}));
    outcomes.recv_timeout(LONG).unwrap().unwrap();
    connected.close();
}

#[test]
fn handlers_of_notifications_hear_of_changes_too() {
    let (told, heard) = mpsc::channel();
    let builder = Client::builder("test", "1")
        .on_notification("notifications/tools/list_changed", move |_, _| {
            told.send(()).unwrap()
        });
    let (client, mut server) = connect_with(builder, MODERN, &everything());
    let (_subscription, events, id) = listen(&client, &mut server, tools(), json!({}));
    tools_changed(&mut server, &id);
    heard.recv_timeout(LONG).unwrap();
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
}

// Promise 6: an answer that nobody waits for is not waited for.
#[test]
fn a_legacy_server_that_does_not_answer_unsubscribing_fills_no_table() {
    let (client, mut server) = connect(LEGACY, &everything());
    for number in 0..5 {
        let subscription = server.serve(
            || {
                client
                    .subscribe(resource(&format!("a:{number}")), |_| {})
                    .unwrap()
            },
            |server| {
                let request = server.asked("resources/subscribe");
                server.answer(&request, json!({}));
            },
        );
        drop(subscription);
        server.asked("resources/unsubscribe");
    }
    assert_eq!(client.stats().calls_in_flight, 0);
}

// Every subscription is told its end, whatever the callbacks before it do.
#[test]
fn the_end_is_told_behind_a_callback_that_outlasts_the_closing() {
    let (client, mut server) = connect(MODERN, &everything());
    let gate = Gate::default();
    let held = gate.clone();
    let (told, events) = mpsc::channel();
    let _subscription = server.serve(
        || {
            let on_event = move |event| {
                if event == Event::ToolsChanged {
                    held.pass();
                }
                _ = told.send(event);
            };
            client.subscribe(tools(), on_event).unwrap()
        },
        |server| {
            let request = server.asked("subscriptions/listen");
            acknowledge(server, &request["id"], json!({ "toolsListChanged": true }));
            tools_changed(server, &request["id"]);
        },
    );
    gate.wait_for(1);
    let closed = client.clone();
    within(Duration::from_secs(4), move || closed.close());
    assert!(events.try_recv().is_err());
    gate.open();
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
    assert_eq!(ended(&events.recv_timeout(LONG).unwrap()), Some(false));
}

#[test]
fn a_panic_of_a_handler_of_the_host_keeps_no_event_from_subscriptions() {
    let builder = Client::builder("test", "1")
        .on_notification("notifications/tools/list_changed", |_, _| {
            panic!("on purpose")
        });
    let (client, mut server) = connect_with(builder, MODERN, &everything());
    let (_subscription, events, id) = listen(&client, &mut server, tools(), json!({}));
    tools_changed(&mut server, &id);
    assert_eq!(events.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
}

// E-TASK-S-46
#[test]
fn how_far_tasks_are_reaches_who_follows_them() {
    let (client, mut server) = connect(MODERN, &everything());
    let filter = SubscriptionFilter::default().task_ids(vec!["a".to_owned(), "b".to_owned()]);
    let granted = json!({ "taskIds": ["a"] });
    let (subscription, events, id) = listen(&client, &mut server, filter, granted.clone());
    assert_eq!(
        serde_json::to_value(subscription.granted()).unwrap(),
        granted
    );
    let (_other, others, other) = listen(&client, &mut server, tools(), json!({}));
    let mut tell = |task: &str, status: Value, stream: &Value| {
        let params = json!({ "taskId": task, "status": status, "result": { "content": [] }, "_meta": { ID: stream } });
        server.notify("notifications/tasks", params);
    };
    // What nobody asked for, and what is none.
    tell("a", json!("completed"), &other);
    tell("c", json!("completed"), &id);
    tell("a", json!(7), &id);
    tell("a", json!("completed"), &id);
    let Ok(Event::TaskChanged {
        id, status, json, ..
    }) = events.recv_timeout(LONG)
    else {
        panic!("a task");
    };
    assert_eq!((&*id, status), ("a", TaskStatus::Completed));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["result"], json!({ "content": [] }));
    tools_changed(&mut server, &other);
    assert_eq!(others.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
    assert!(events.try_recv().is_err() && others.try_recv().is_err());
}
