//! Calls for which no thread waits: many in flight from one thread, and their events in `select!`.

use std::collections::HashMap;
use std::time::Duration;

use crossbeam_channel::{Receiver, Select};
use mcplink::client::CallOptions;
use mcplink::client::{CallEvent, Client, ClientBuilder, Event, PendingCall};
use mcplink::protocol::CancelToken;
use mcplink::schema::{CallToolResult, ElicitResult, ProtocolVersion, SubscriptionFilter};
use mcplink::transport::Limits;
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::{Gate, LONG, wait_until, within};
use crate::rawserver::{RawServer, connect_with};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

fn open(builder: ClientBuilder, revision: ProtocolVersion) -> (Client, RawServer) {
    let capabilities = json!({ "tools": { "listChanged": true }, "prompts": {}, "resources": {} });
    connect_with(builder, revision, &capabilities)
}

fn pair(revision: ProtocolVersion) -> (Client, RawServer) {
    open(Client::builder("test", "1"), revision)
}

fn text(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

fn start(client: &Client, name: &str) -> PendingCall<CallToolResult> {
    client
        .start_tool(name, &json!({}), CallOptions::new().timeout(LONG))
        .unwrap()
}

fn text_of(result: Result<CallToolResult>) -> String {
    result.unwrap().content[0].as_text().unwrap().to_owned()
}

fn next(events: &Receiver<CallEvent>) -> CallEvent {
    events.recv_timeout(LONG).expect("an event in time")
}

fn progress(server: &mut RawServer, request: &Value, value: u32) {
    let token = &request["params"]["_meta"]["progressToken"];
    server.notify(
        "notifications/progress",
        json!({ "progressToken": token, "progress": value }),
    );
}

#[test]
fn one_thread_has_many_calls_in_flight_and_takes_them_in_any_order() {
    for revision in [LEGACY, MODERN] {
        let (client, mut server) = pair(revision);
        let mut calls: Vec<_> = (0..100).map(|i| start(&client, &format!("t{i}"))).collect();
        let mut asked = Vec::new();
        let taken = server.serve(
            || {
                // The first wait writes the requests.
                let last = text_of(calls.pop().unwrap().wait());
                let mut taken: Vec<String> = Vec::new();
                for mut call in calls {
                    taken.push(text_of(call.wait_timeout(LONG).unwrap()));
                    assert!(call.try_take().is_none() && call.id().is_none());
                    assert_eq!(call.wait().unwrap_err().kind(), ErrorKind::State);
                }
                taken.push(last);
                taken
            },
            |server| {
                asked.extend((0..100).map(|_| server.asked("tools/call")));
                for request in asked.iter().rev() {
                    let name = request["params"]["name"].as_str().unwrap();
                    server.answer(request, text(name));
                }
            },
        );
        let expected: Vec<String> = (0..100).map(|i| format!("t{i}")).collect();
        assert_eq!(taken, expected);
        assert_eq!(client.stats().calls_in_flight, 0);
    }
}

/// A thread that starts a call and then does other work relies on the connection to send it.
#[test]
fn a_request_is_sent_although_no_thread_waits() {
    let (client, mut server) = pair(MODERN);
    let call = start(&client, "t");
    let request = server.asked("tools/call");
    assert_eq!(Some(request["id"].as_i64().unwrap()), call.id());
    server.answer(&request, text("done"));
    assert_eq!(text_of(call.wait()), "done");
}

#[test]
fn progress_and_the_end_are_events_in_order() {
    for watched_late in [false, true] {
        let (client, mut server) = pair(MODERN);
        let mut call = start(&client, "t");
        let early = if watched_late {
            None
        } else {
            Some(call.events().clone())
        };
        let request = server.asked("tools/call");
        progress(&mut server, &request, 1);
        progress(&mut server, &request, 2);
        let other = start(&client, "other");
        let second = server.asked("tools/call");
        server.answer(&second, text("other"));
        // Its answer comes after the progress, so the progress is there.
        assert_eq!(text_of(other.wait()), "other");
        let events = early.unwrap_or_else(|| call.events().clone());
        for value in [1.0, 2.0] {
            assert!(
                matches!(next(&events), CallEvent::Progress(progress) if progress.progress == value)
            );
        }
        assert!(call.try_take().is_none());
        server.answer(&request, text("done"));
        assert_eq!(next(&events), CallEvent::Done);
        assert_eq!(text_of(call.try_take().unwrap()), "done");
        assert!(call.events().try_recv().is_err());
    }
}

#[test]
fn one_select_waits_for_calls_of_several_clients_and_for_changes() {
    let mut pairs: Vec<_> = [LEGACY, MODERN, MODERN].map(pair).into_iter().collect();
    let (subscription, changes) = {
        let (client, server) = &mut pairs[0];
        server.serve(
            || {
                let filter = SubscriptionFilter::default().tools_list_changed(true);
                client
                    .subscribe_channel(filter, CallOptions::new())
                    .unwrap()
            },
            |_| {},
        )
    };
    let mut calls: Vec<_> = (0..6)
        .map(|i| start(&pairs[i % 3].0, &format!("t{i}")))
        .collect();
    let events: Vec<_> = calls.iter_mut().map(|call| call.events().clone()).collect();
    for (_, server) in &mut pairs {
        for request in [server.asked("tools/call"), server.asked("tools/call")] {
            progress(server, &request, 1);
            let name = request["params"]["name"].as_str().unwrap().to_owned();
            server.answer(&request, text(&name));
        }
    }
    pairs[0]
        .1
        .notify("notifications/tools/list_changed", json!({}));
    let mut select = Select::new();
    for events in &events {
        select.recv(events);
    }
    let change = select.recv(&changes);
    let (mut seen, mut has_changed): (HashMap<usize, u32>, bool) = (HashMap::new(), false);
    let mut results = Vec::new();
    while results.len() < 6 || !has_changed {
        let ready = select.select_timeout(LONG).expect("an event in time");
        match ready.index() {
            index if index == change => {
                assert_eq!(ready.recv(&changes), Ok(Event::ToolsChanged));
                has_changed = true;
            }
            index => match ready.recv(&events[index]).unwrap() {
                CallEvent::Progress(_) => *seen.entry(index).or_default() += 1,
                _ => results.push(text_of(calls[index].try_take().unwrap())),
            },
        }
    }
    results.sort();
    assert_eq!(results, ["t0", "t1", "t2", "t3", "t4", "t5"]);
    assert!(seen.len() == 6 && seen.values().all(|count| *count == 1));
    drop(subscription);
}

/// The server asks in the middle of a call whose events are watched: a thread of the client goes
/// on, and the caller sees only the end.
#[test]
fn a_call_in_several_round_trips_ends_like_any_other() {
    for watched in [false, true] {
        let builder = Client::builder("test", "1").on_elicit(|params, _| {
            ElicitResult::accept(&json!({ "answer": params.message })).unwrap()
        });
        let (client, mut server) = open(builder, MODERN);
        let mut call = start(&client, "t");
        let events = watched.then(|| call.events().clone());
        let schema = json!({ "type": "object", "properties": {} });
        let question = json!({ "method": "elicitation/create", "params": { "message": "A?", "requestedSchema": schema } });
        let asks = json!({ "resultType": "input_required", "inputRequests": { "a": question } });
        let result = server.serve(
            || match events {
                Some(events) => {
                    assert_eq!(next(&events), CallEvent::Done);
                    call.try_take().unwrap()
                }
                None => call.wait(),
            },
            |server| {
                let first = server.asked("tools/call");
                server.answer(&first, asks);
                let second = server.asked("tools/call");
                assert!(second["params"]["inputResponses"]["a"].is_object());
                server.answer(&second, text("done"));
            },
        );
        assert_eq!(text_of(result), "done");
    }
}

// M-CANC-C-01
#[test]
fn cancelling_and_dropping_notify_the_server_once() {
    for (watched, way) in [false, true]
        .into_iter()
        .flat_map(|watched| (0..3).map(move |way| (watched, way)))
    {
        let (client, mut server) = pair(MODERN);
        let token = CancelToken::new();
        let options = CallOptions::new().timeout(LONG).cancel_with(&token);
        let mut call = client.start_tool("t", &json!({}), options).unwrap();
        if watched {
            call.events();
        }
        let request = server.asked("tools/call");
        match way {
            0 => {
                call.cancel();
                call.cancel();
                let error = call.wait().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            }
            1 => {
                token.trigger_because("enough");
                let error = call.wait().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            }
            _ => drop(call),
        }
        let cancelled = server.asked("notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
        if way == 1 {
            assert_eq!(cancelled["params"]["reason"], "enough");
        }
        // A late answer harms nothing.
        server.answer(&request, text("late"));
        server.has_heard_nothing(&client);
        assert_eq!(client.stats().calls_in_flight, 0);
    }
}

#[test]
fn a_watched_call_ends_at_its_timeout_although_no_thread_waits() {
    let (client, mut server) = pair(MODERN);
    let options = CallOptions::new().timeout(Duration::from_millis(50));
    let mut call = client.start_tool("t", &json!({}), options).unwrap();
    let events = call.events().clone();
    let request = server.asked("tools/call");
    assert_eq!(next(&events), CallEvent::Done);
    let error = call.try_take().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains("timeout is 50 ms"), "{error}");
    let cancelled = server.asked("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert_eq!(cancelled["params"]["reason"], "timed out");
}

#[test]
fn a_timeout_counts_from_the_start_whichever_method_looks() {
    let (client, _server) = pair(MODERN);
    let options = CallOptions::new().timeout(Duration::from_millis(50));
    let mut call = client.start_tool("t", &json!({}), options).unwrap();
    assert!(call.wait_timeout(Duration::from_millis(1)).is_none());
    let error = call.wait_timeout(LONG).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

#[test]
fn a_lost_connection_and_a_refusal_end_the_calls() {
    for watched in [false, true] {
        let (client, mut server) = pair(LEGACY);
        let mut refused = client
            .start_request("test/refused", &json!({}), CallOptions::new())
            .unwrap();
        let mut lost = start(&client, "t");
        if watched {
            refused.events();
            lost.events();
        }
        let request = server.asked("test/refused");
        server.asked("tools/call");
        server.refuse(&request, -32000, "no");
        assert_eq!(refused.wait().unwrap_err().kind(), ErrorKind::Peer);
        drop(server);
        let error = lost.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        assert!(error.was_sent());
        let error = client.start_tool("t", &json!({}), CallOptions::new());
        let error = error.map_or_else(|error| error, |call| call.wait().unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }
}

#[test]
fn resources_prompts_and_requests_can_be_started() {
    let (client, mut server) = pair(LEGACY);
    let resource = client
        .start_resource("file:///a", CallOptions::new())
        .unwrap();
    let prompt = client
        .start_prompt("p", &[("a", "b")], CallOptions::new())
        .unwrap();
    let any = client
        .start_request("test/any", &json!({ "x": 1 }), CallOptions::new())
        .unwrap();
    let request = server.asked("resources/read");
    server.answer(
        &request,
        json!({ "contents": [{ "uri": "file:///a", "text": "t" }] }),
    );
    let request = server.asked("prompts/get");
    assert_eq!(request["params"]["arguments"]["a"], "b");
    server.answer(&request, json!({ "messages": [] }));
    let request = server.asked("test/any");
    assert_eq!(request["params"]["x"], 1);
    server.answer(&request, json!({ "y": 2 }));
    assert_eq!(resource.wait().unwrap().contents.len(), 1);
    assert!(prompt.wait().unwrap().messages.is_empty());
    assert!(any.wait().unwrap().as_str().contains("\"y\":2"));
}

#[test]
fn what_cannot_be_started_says_why() {
    let (client, server) = pair(LEGACY);
    let options = CallOptions::new().on_progress(|_| {});
    let error = client.start_tool("t", &json!({}), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("PendingCall::events"), "{error}");
    let error = client
        .start_tool("t", &json!([1]), CallOptions::new())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    drop(server);
    let mut few = Limits::default();
    few.max_calls = 2;
    let (client, _server) = open(Client::builder("test", "1").limits(few), LEGACY);
    let _calls = [start(&client, "a"), start(&client, "b")];
    let error = client
        .start_tool("c", &json!({}), CallOptions::new())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
}

/// Progress that no one takes must not make memory grow, and the end always has room.
#[test]
fn older_progress_gives_way_when_events_are_not_taken() {
    let mut limits = Limits::default();
    limits.max_call_events = 3;
    let (client, mut server) = open(Client::builder("test", "1").limits(limits), MODERN);
    let mut call = start(&client, "t");
    let events = call.events().clone();
    let request = server.asked("tools/call");
    for value in 0..10 {
        progress(&mut server, &request, value);
    }
    server.answer(&request, text("done"));
    wait_until("the call has ended", || {
        client.stats().calls_in_flight == 0 && events.len() == 4
    });
    for value in [7.0, 8.0, 9.0] {
        assert!(
            matches!(next(&events), CallEvent::Progress(progress) if progress.progress == value)
        );
    }
    assert_eq!(next(&events), CallEvent::Done);
    assert!(client.stats().merged_progress >= 7);
}

#[test]
fn closing_the_client_ends_its_calls_and_their_threads() {
    let builder = Client::builder("test", "1").on_elicit(|_, requester| {
        // The handler waits until its call is cancelled.
        while !requester.cancel_token().wait(LONG) {}
        ElicitResult::cancel()
    });
    let (client, mut server) = open(builder, MODERN);
    let mut call = start(&client, "t");
    let events = call.events().clone();
    let request = server.asked("tools/call");
    let schema = json!({ "type": "object", "properties": {} });
    let question = json!({ "method": "elicitation/create", "params": { "message": "A?", "requestedSchema": schema } });
    server.answer(
        &request,
        json!({ "resultType": "input_required", "inputRequests": { "a": question } }),
    );
    let cancelling = within(LONG, move || {
        call.cancel();
        assert_eq!(next(&events), CallEvent::Done);
        call.wait().unwrap_err()
    });
    assert_eq!(cancelling.kind(), ErrorKind::Cancelled, "{cancelling}");
    within(LONG, move || client.close());
}

/// A tool of revision 2025-11-25 that has to be called as a task is called as one, and polled.
#[test]
fn a_tool_that_requires_a_task_is_started_as_one() {
    let capabilities = json!({
        "tools": {},
        "tasks": { "requests": { "tools": { "call": {} } } },
    });
    let builder = Client::builder("test", "1");
    let (client, mut server) = connect_with(builder, LEGACY, &capabilities);
    let tool = json!({
        "name": "t", "inputSchema": { "type": "object" }, "execution": { "taskSupport": "required" },
    });
    server.serve(
        || client.list_tools().unwrap(),
        |server| {
            let request = server.asked("tools/list");
            server.answer(&request, json!({ "tools": [tool] }));
        },
    );
    let call = start(&client, "t");
    let task = |status: &str| {
        json!({
            "taskId": "1", "status": status, "ttl": null, "pollInterval": 1,
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
        })
    };
    let result = server.serve(
        || call.wait(),
        |server| {
            let request = server.asked("tools/call");
            assert!(request["params"]["task"].is_object(), "{request}");
            server.answer(&request, json!({ "task": task("working") }));
            let request = server.asked("tasks/get");
            server.answer(&request, task("completed"));
            let request = server.asked("tasks/result");
            server.answer(&request, text("done"));
        },
    );
    assert_eq!(text_of(result), "done");
}

/// A host whose handler does not return must be able to close the client.
#[test]
fn closing_is_bounded_although_a_handler_of_a_started_call_never_returns() {
    let gate = Gate::default();
    let held = gate.clone();
    let builder = Client::builder("test", "1").on_elicit(move |_, _| {
        held.pass();
        ElicitResult::cancel()
    });
    let (client, mut server) = open(builder, MODERN);
    let mut call = start(&client, "t");
    call.events();
    let request = server.asked("tools/call");
    let schema = json!({ "type": "object", "properties": {} });
    let question = json!({ "method": "elicitation/create", "params": { "message": "A?", "requestedSchema": schema } });
    server.answer(
        &request,
        json!({ "resultType": "input_required", "inputRequests": { "a": question } }),
    );
    gate.wait_for(1);
    let closing = client.clone();
    within(LONG, move || closing.close());
    gate.open();
    assert!(call.wait().is_err());
}

#[cfg(all(feature = "http-client", feature = "http-server", feature = "schemars"))]
#[test]
fn calls_over_http_have_the_same_events() {
    use mcplink::server::http::HttpOptions;
    use mcplink::server::{Context, Server};
    use mcplink::transport::http::Http;

    let server = Server::builder("test", "1")
        .tool_with(
            mcplink::schema::Tool::new("t"),
            |_: Value, context: &Context| {
                context.progress(1.0, None, None);
                "done"
            },
        )
        .build()
        .unwrap();
    let http = server
        .listen_http("127.0.0.1:0", HttpOptions::new())
        .unwrap();
    let client = Client::connect(Http::new(&http.url()).unwrap()).unwrap();
    let mut calls: Vec<_> = (0..5).map(|_| start(&client, "t")).collect();
    for call in &mut calls {
        let events = call.events().clone();
        assert!(matches!(next(&events), CallEvent::Progress(_)));
        assert_eq!(next(&events), CallEvent::Done);
        assert_eq!(text_of(call.try_take().unwrap()), "done");
    }
    assert_eq!(text_of(start(&client, "t").wait()), "done");
    drop(start(&client, "t"));
    within(LONG, move || client.close());
}
