//! A host ends its serving functions from another thread.

use std::sync::mpsc;
use std::thread;

use mcplink::client::Client;
use mcplink::schema::{JsonSchema, Tool};
use mcplink::server::{Context, Server, ToolCall};
use mcplink::transport::memory;
use serde_json::json;

use crate::common::LONG;

// Must not happen: a host that gets a signal has to kill its own process, and its calls are lost.
#[test]
fn active_calls_finish_before_a_server_is_shut_down() {
    let (begun, begins) = mpsc::channel();
    let (go, goes) = mpsc::channel::<ToolCall>();
    let tool = Tool::new("wait").input_schema(JsonSchema::any_object());
    let server = Server::builder("s", "1")
        .deferred_tool(tool, move |call| {
            go.send(call).unwrap();
            begun.send(()).unwrap();
        })
        .build()
        .unwrap();
    let shutdown = server.shutdown_handle();
    let (ours, theirs) = memory::pair();
    let (ended, ends) = mpsc::channel();
    let serving = {
        let server = server.clone();
        thread::spawn(move || ended.send(server.serve(ours)).unwrap())
    };
    let client = Client::connect(theirs).unwrap();
    let calling = {
        let client = client.clone();
        thread::spawn(move || client.call_tool("wait", &json!({})))
    };
    begins.recv_timeout(LONG).unwrap();
    shutdown.shutdown();
    shutdown.clone().shutdown();
    // The server still waits for the call.
    assert!(ends.try_recv().is_err());
    let call = goes.recv_timeout(LONG).unwrap();
    call.respond("finished").unwrap();
    let result = calling.join().unwrap().unwrap();
    assert_eq!(result.content[0].as_text(), Some("finished"));
    ends.recv_timeout(LONG).unwrap().unwrap();
    serving.join().unwrap();
    assert!(client.call_tool("wait", &json!({})).is_err());

    // A server that was shut down serves no more.
    let (ours, _theirs) = memory::pair();
    let (ended, ends) = mpsc::channel();
    thread::spawn(move || ended.send(server.serve(ours)).unwrap());
    ends.recv_timeout(LONG).unwrap().unwrap();
}

#[test]
fn a_handler_can_shut_its_server_down() {
    let (give, given) = mpsc::channel::<mcplink::server::ShutdownHandle>();
    let given = std::sync::Mutex::new(given);
    let server =
        Server::builder("s", "1").tool("stop", "Stops the server", move |_: (), _: &Context| {
            given.lock().unwrap().recv_timeout(LONG).unwrap().shutdown();
            "stopped"
        });
    let server = server.build().unwrap();
    give.send(server.shutdown_handle()).unwrap();
    let (ours, theirs) = memory::pair();
    let (ended, ends) = mpsc::channel();
    thread::spawn(move || ended.send(server.serve(ours)).unwrap());
    let client = Client::connect(theirs).unwrap();
    let result = client.call_tool("stop", &json!({})).unwrap();
    assert_eq!(result.content[0].as_text(), Some("stopped"));
    ends.recv_timeout(LONG).unwrap().unwrap();
}

#[test]
fn other_connections_of_the_server_go_on() {
    let server = Server::builder("s", "1").tool("echo", "Says done", |_: (), _: &Context| "done");
    let server = server.build().unwrap();
    let (ours, theirs) = memory::pair();
    let opened = server.open(ours).unwrap();
    let other = Client::connect(theirs).unwrap();
    let (told, events) = mpsc::channel();
    let filter = mcplink::schema::SubscriptionFilter::default().tools_list_changed(true);
    let _subscription = other
        .subscribe(filter, move |event| _ = told.send(event))
        .unwrap();
    let (ours, theirs) = memory::pair();
    let (ended, ends) = mpsc::channel();
    let serving = server.clone();
    thread::spawn(move || ended.send(serving.serve(ours)).unwrap());
    let client = Client::connect(theirs).unwrap();
    server.shutdown_handle().shutdown();
    ends.recv_timeout(LONG).unwrap().unwrap();
    assert!(client.call_tool("echo", &json!({})).is_err());
    // The subscription of the other client is still there, too.
    server.remove_tool("echo");
    let event = events.recv_timeout(LONG).unwrap();
    assert!(
        matches!(event, mcplink::client::Event::ToolsChanged),
        "{event:?}"
    );
    drop(opened);
}
