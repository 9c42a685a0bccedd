//! One client that takes what it can get, and another one beside it.

use std::sync::{Arc, Mutex};

use mcplink::schema::{JsonSchema, TaskSupport, Tool};
use mcplink::server::http::{Denied, HttpOptions};
use mcplink::server::{Context, HandlerError, Principal, Server, TaskOptions, ToolCall};
use mcplink::transport::Limits;
use serde_json::{Value, json};

use crate::common::{Gate, LONG, wait_until, within};
use crate::tasks_server::{confirmed, tool};
use crate::web::Web;

/// Whoever sends the field is this principal.
fn by_name() -> HttpOptions {
    HttpOptions::new().authenticate(|request| match request.value("X-Name") {
        Some(name) => Ok(Principal::new(String::from_utf8_lossy(name).into_owned())),
        None => Err(Denied::invalid_token("say who you are")),
    })
}

// Promise 11: all modern clients over HTTP share one connection of the server.
#[test]
fn calls_that_a_handler_keeps_leave_places_to_other_principals() {
    within(LONG, || {
        let kept: Arc<Mutex<Vec<ToolCall>>> = Arc::default();
        let server = Server::builder("s", "1")
            .tool_with(Tool::new("echo"), |_: Value, _| "echo")
            .build()
            .unwrap();
        let keep = Arc::clone(&kept);
        server
            .add_deferred_tool(
                Tool::new("keep").input_schema(JsonSchema::any_object()),
                move |call: ToolCall| {
                    keep.lock().unwrap().push(call);
                },
            )
            .unwrap();
        let web = Web::with(&server, by_name().max_requests(16));
        let call = |who: &str, tool: &str| {
            let params = json!({ "name": tool, "arguments": {} });
            web.modern_as("tools/call", params, json!({}), &[("X-Name", who)])
        };
        let mut waiting = Vec::new();
        for _ in 0..14 {
            let begun = kept.lock().unwrap().len();
            waiting.push(call("greedy", "keep"));
            wait_until("the call is kept", || kept.lock().unwrap().len() > begun);
        }
        let refused = call("greedy", "keep").message();
        assert_eq!(refused["error"]["data"]["busy"], true, "{refused}");
        for _ in 0..20 {
            let answer = call("other", "echo").message();
            assert_eq!(answer["result"]["content"][0]["text"], "echo", "{answer}");
        }
        for call in kept.lock().unwrap().drain(..) {
            call.respond("done").unwrap();
        }
        for answer in &waiting {
            assert_eq!(answer.message()["result"]["content"][0]["text"], "done");
        }
        let again = call("greedy", "echo").message();
        assert_eq!(again["result"]["content"][0]["text"], "echo", "{again}");
    });
}

// Promise 11: all modern clients over HTTP share one connection of the server, and its threads. The
// run of a task after an answer of its client waits for no other principal either.
#[test]
fn tasks_of_one_principal_delay_none_of_another() {
    within(LONG, || {
        let gate = Gate::default();
        let at_gate = gate.clone();
        let mut limits = Limits::default();
        limits.max_workers = 4;
        let server = Server::builder("s", "1")
            .limits(limits)
            .tasks(TaskOptions::default())
            .tool_with(
                tool("ask", TaskSupport::Required),
                |_: Value, context: &Context| {
                    let sure = confirmed(context, "sure")?;
                    Ok::<_, HandlerError>(sure.to_string())
                },
            )
            .tool_with(
                tool("block", TaskSupport::Required),
                move |_: Value, _: &Context| {
                    at_gate.pass();
                    "block"
                },
            );
        let web = Web::with(&server.build().unwrap(), by_name());
        let ask = |who: &str, method: &str, params: Value| {
            let able =
                json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
            let answer = web.modern_as(method, params, able, &[("X-Name", who)]);
            answer.result()
        };
        let start = |who: &str, tool: &str| {
            let created = ask(who, "tools/call", json!({"name": tool, "arguments": {}}));
            created["taskId"].clone()
        };
        let is_in = |who: &str, task: &Value, status: &str| {
            ask(who, "tasks/get", json!({"taskId": task}))["status"] == status
        };
        let greedy: Vec<Value> = (0..80).map(|_| start("greedy", "block")).collect();
        gate.wait_for(4);
        let task = start("other", "ask");
        wait_until("it asks", || is_in("other", &task, "input_required"));
        let answer = json!({"sure": {"action": "accept", "content": {"confirm": true}}});
        let update = json!({"taskId": task, "inputResponses": answer});
        ask("other", "tasks/update", update);
        wait_until("it has run", || is_in("other", &task, "completed"));
        gate.open();
        for task in &greedy {
            wait_until("it has run as well", || is_in("greedy", task, "completed"));
        }
    });
}
