//! Asking the client, when something else goes wrong or ends at the same time.

use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::protocol::{CancelToken, Connection, Peer};
use mcplink::schema::{
    CallToolResult, CompleteRequestParams, CompletionReference, ElicitRequestParams, ElicitResult,
    ElicitSchema, JsonSchema, Prompt, PromptArgument, ProtocolVersion, Tool,
};
use mcplink::server::{
    AskError, CompletionRequest, Context, HandlerError, Server, ServerBuilder, ToolCall,
};
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::common::{LONG, Script, within};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn ask(context: &Context) -> Result<ElicitResult, AskError> {
    let form = ElicitRequestParams::form("name?", ElicitSchema::default().to_schema().unwrap());
    context.elicit("name", form)
}

fn server() -> ServerBuilder {
    Server::builder("asking", "1.0")
}

/// A server with a tool that asks, and says how it was answered.
fn asking() -> Server {
    server()
        .tool_with(
            Tool::new("ask"),
            |_: Value, context: &Context| -> Result<String, HandlerError> {
                Ok(format!("{:?}", ask(context)?.action))
            },
        )
        .build()
        .unwrap()
}

fn client() -> ClientBuilder {
    Client::builder("asked", "1.0")
}

fn connect(
    server: &Server,
    client: ClientBuilder,
    revision: ProtocolVersion,
) -> (Connection, Client) {
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    let client = client.revisions(&[revision]).connect(here).unwrap();
    (serving, client)
}

fn call(client: &Client, tool: &str) -> mcplink::Result<CallToolResult> {
    client.call_tool_with(tool, &json!({}), CallOptions::new().timeout(LONG))
}

/// A legacy client played by hand, which can be asked.
fn play(server: &Server) -> (Connection, Script) {
    let (ours, theirs) = memory::pair();
    let serving = server.open(ours).unwrap();
    let mut script = Script::open(theirs);
    script.request_with(
        1,
        "initialize",
        &json!({
            "protocolVersion": LEGACY.as_str(),
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "c", "version": "1" },
        }),
    );
    script.receive();
    script.notify("notifications/initialized", &json!({}));
    (serving, script)
}

/// Uses its connection when it is dropped.
#[derive(Default)]
struct LastLook(OnceLock<Peer>);

impl Drop for LastLook {
    fn drop(&mut self) {
        if let Some(peer) = self.0.get() {
            // It fails when the connection has ended.
            _ = peer.notify(
                "tests/dropped",
                &json!({ "calls": peer.stats().calls_in_flight }),
            );
        }
    }
}

// The values that a handler owns are dropped with it, and their destructors may use the connection: no lock is held.
#[test]
fn the_last_of_a_handler_may_go_with_a_withdrawn_question() {
    within(LONG * 2, || {
        let server = server().build().unwrap();
        let owned = LastLook::default();
        let tool = move |_: Value, context: &Context| {
            owned.0.get_or_init(|| context.peer());
            ask(context).map_err(HandlerError::from).map(|_| "answered")
        };
        server.add_tool(Tool::new("ask"), tool).unwrap();
        let (_serving, mut script) = play(&server);
        script.request_with(2, "tools/call", &json!({ "name": "ask" }));
        let question = script.receive_request("elicitation/create");
        server.remove_tool("ask");
        assert_eq!(
            script.receive()["method"],
            "notifications/tools/list_changed"
        );
        script.cancel(2);
        let mut told = [script.receive(), script.receive()];
        told.sort_by_key(|message| message["method"].to_string());
        assert_eq!(told[0]["params"]["requestId"], question["id"]);
        assert_eq!(told[1]["method"], "tests/dropped");
        script.expect_silence();
    });
}

// Promise 10: only what the client says is a refusal of the client.
#[test]
fn a_question_that_got_lost_was_not_refused() {
    let (told, errors) = mpsc::channel();
    let server = server()
        .tool_with(Tool::new("ask"), move |_: Value, context: &Context| {
            let error = ask(context).unwrap_err();
            if !error.is_pending() {
                // The test may have ended.
                _ = told.send(error);
            }
            "done"
        })
        .build()
        .unwrap();
    for leaves in [true, false] {
        let (_serving, mut script) = play(&server);
        script.request_with(2, "tools/call", &json!({ "name": "ask" }));
        let question = script.receive_request("elicitation/create");
        if leaves {
            script.leave();
        } else {
            let error = json!({ "code": -1, "message": "no" });
            script.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }));
        }
        let error = errors.recv_timeout(LONG).unwrap();
        assert_eq!(error.refusal().is_none(), leaves, "{error}");
    }
}

#[test]
fn a_request_that_may_not_ask_shows_nobody_a_question() {
    let prompt = CompletionReference::prompt("p");
    let server = server()
        .prompt(
            Prompt::new("p").argument(PromptArgument::new("a")),
            |_: Value, _: &Context| "",
        )
        .completer(&prompt, "a", |_: &CompletionRequest, context: &Context| {
            ask(context).map_or_else(|_| vec!["none"], |_| vec!["one"])
        })
        .build()
        .unwrap();
    for revision in [LEGACY, MODERN] {
        let shown = Arc::new(Mutex::new(0));
        let showing = Arc::clone(&shown);
        let people = client().on_elicit(move |_, _| {
            *showing.lock().unwrap() += 1;
            ElicitResult::decline()
        });
        let (_serving, client) = connect(&server, people, revision);
        let params = CompleteRequestParams::new(prompt.clone(), "a", "x");
        let error = client.complete(params).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Peer, "{revision}: {error}");
        assert_eq!(*shown.lock().unwrap(), 0, "{revision}");
    }
}

// Seen in other SDKs: a handler that wraps the error of a question loses the question.
#[test]
fn a_deferred_call_that_is_dropped_still_asks() {
    let server = server()
        .deferred_tool(
            Tool::new("later").input_schema(JsonSchema::any_object()),
            |call: ToolCall| {
                if let Ok(answer) = ask(call.context()) {
                    _ = call.respond(format!("{:?}", answer.action));
                }
            },
        )
        .build()
        .unwrap();
    for revision in [LEGACY, MODERN] {
        let people = client().on_elicit(|_, _| ElicitResult::decline());
        let (_serving, client) = connect(&server, people, revision);
        let result = call(&client, "later").unwrap();
        assert_eq!(result.content[0].as_text(), Some("Decline"), "{revision}");
    }
}

// The first round was sent, and may have had an effect.
#[test]
fn a_call_that_ends_between_two_rounds_was_sent() {
    let cancel = CancelToken::new();
    let token = cancel.clone();
    let people = client().on_elicit(move |_, _| {
        token.cancel();
        ElicitResult::decline()
    });
    let (_serving, client) = connect(&asking(), people, MODERN);
    let options = CallOptions::new().timeout(LONG).cancel_with(&cancel);
    let error = client
        .call_tool_with("ask", &json!({}), options)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert!(error.was_sent(), "{error}");
}

#[test]
fn a_call_whose_server_goes_between_two_rounds_was_sent() {
    let serving: Arc<Mutex<Option<Connection>>> = Arc::default();
    let going = Arc::clone(&serving);
    let people = client().on_elicit(move |_, _| {
        drop(going.lock().unwrap().take());
        ElicitResult::decline()
    });
    let (connection, client) = connect(&asking(), people, MODERN);
    *serving.lock().unwrap() = Some(connection);
    let error = call(&client, "ask").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    assert!(error.was_sent(), "{error}");
}

// Seen in other SDKs: the time-out runs while a person answers.
#[test]
fn no_deadline_runs_while_a_person_answers() {
    for revision in [LEGACY, MODERN] {
        let people = client().on_elicit(|_, _| {
            CancelToken::new().wait(Duration::from_millis(700));
            ElicitResult::decline()
        });
        let (_serving, client) = connect(&asking(), people, revision);
        let options = CallOptions::new().timeout(Duration::from_millis(300));
        let result = client.call_tool_with("ask", &json!({}), options);
        let result = result.unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert_eq!(result.content[0].as_text(), Some("Decline"), "{revision}");
    }
}

#[test]
fn a_panic_in_the_second_run_is_answered_and_counted_out() {
    let server = server()
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| -> &str {
            match ask(context) {
                Err(_) => "pending",
                Ok(_) => panic!("in the second run (expected by a test)"),
            }
        })
        .build()
        .unwrap();
    for revision in [LEGACY, MODERN] {
        let people = client().on_elicit(|_, _| ElicitResult::decline());
        let (serving, client) = connect(&server, people, revision);
        for _ in 0..3 {
            let error = call(&client, "ask").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Peer, "{revision}: {error}");
        }
        crate::common::wait_until("nothing is in hand", || {
            let stats = serving.peer().stats();
            stats.requests_in_flight == 0 && stats.calls_in_flight == 0
        });
    }
}

/// Tells when it is dropped.
struct Farewell(mpsc::Sender<()>);

impl Drop for Farewell {
    fn drop(&mut self) {
        // The test may have ended.
        _ = self.0.send(());
    }
}

// A pending question owns the call, the connection and the handler: a reference cycle, which would leak if it were not broken.
#[test]
fn an_unanswered_question_keeps_nothing_alive_after_the_end() {
    for end in 0..3 {
        let (told, gone) = mpsc::channel();
        let owned = Farewell(told);
        let server = server()
            .tool_with(Tool::new("ask"), move |_: Value, context: &Context| {
                let _owned = &owned;
                ask(context).map_err(HandlerError::from).map(|_| "answered")
            })
            .build()
            .unwrap();
        let (serving, mut script) = play(&server);
        for id in 2..5 {
            script.request_with(id, "tools/call", &json!({ "name": "ask" }));
            script.receive_request("elicitation/create");
        }
        match end {
            0 => script.leave(),
            1 => serving.close(),
            _ => {
                script.cancel(2);
                script.cancel(3);
                script.receive();
                script.receive();
            }
        }
        drop((serving, server));
        gone.recv_timeout(LONG)
            .unwrap_or_else(|error| panic!("end {end}: {error}"));
    }
}

#[test]
fn a_cancelled_call_asks_nobody() {
    let gate = crate::common::Gate::default();
    let waiting = gate.clone();
    let server = server()
        .tool_with(Tool::new("ask"), move |_: Value, context: &Context| {
            waiting.pass();
            ask(context).map_err(HandlerError::from).map(|_| "answered")
        })
        .build()
        .unwrap();
    let (serving, mut script) = play(&server);
    script.request_with(2, "tools/call", &json!({ "name": "ask" }));
    gate.wait_for(1);
    script.cancel(2);
    // It is read behind the cancellation.
    script.expect_silence();
    gate.open();
    crate::common::wait_until("the handler has returned", || {
        serving.peer().stats().requests_in_flight == 0
    });
    script.expect_silence();
}
