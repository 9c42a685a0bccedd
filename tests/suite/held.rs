//! What clients have a server keep, over all their connections: large requests, calls that wait, results of tasks, subscriptions.

use std::sync::{Arc, Mutex};

use mcplink::protocol::Connection;
use mcplink::schema::{
    ElicitRequestParams, ElicitSchema, JsonSchema, ProtocolVersion, Resource, TaskSupport, Tool,
    ToolExecution,
};
use mcplink::server::{Context, HandlerError, Server, ServerBuilder, TaskOptions, ToolCall};
use mcplink::transport::{Limits, memory};
use serde_json::{Value, json};

use crate::common::{LONG, Script, wait_until, within};
use crate::raw::Raw;

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// So much may be kept where the limits say nothing more.
const LEAST: usize = 16 << 20;

fn ask(_: Value, context: &Context) -> Result<String, HandlerError> {
    let form = ElicitRequestParams::form("name?", ElicitSchema::default().to_schema()?);
    Ok(format!("{:?}", context.elicit("name", form)?.action))
}

/// A server that may keep no more than it has to.
fn small() -> ServerBuilder {
    let mut limits = Limits::default();
    limits.max_workers = 1;
    Server::builder("small", "1.0").limits(limits)
}

/// A legacy client that can be asked.
fn play(server: &Server) -> (Connection, Script) {
    let (ours, theirs) = memory::pair();
    let serving = server.open(ours).unwrap();
    let mut script = Script::open(theirs);
    let opening = json!({
        "protocolVersion": LEGACY.as_str(),
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "c", "version": "1" },
    });
    script.request_with(1, "initialize", &opening);
    script.receive();
    script.notify("notifications/initialized", &json!({}));
    (serving, script)
}

fn is_busy(error: &Value) -> bool {
    let text = error["message"].as_str().unwrap_or_default();
    error["data"]["busy"] == true && text.contains("as much memory as they may")
}

/// Has calls wait until one is refused; gives how many do, and how it was refused.
fn fill(scripts: [&mut Script; 2], params: &Value) -> (usize, Value) {
    for (count, id) in (2..100).enumerate() {
        let script = &mut *scripts[count % 2];
        script.request_with(id, "tools/call", params);
        let message = script.receive();
        if message["method"] != "elicitation/create" {
            assert_eq!(message["id"], id);
            return (count, message);
        }
    }
    panic!("there is no end of them");
}

// Promise 6
#[test]
fn large_calls_that_wait_for_answers_are_bounded_over_all_connections() {
    within(LONG, || {
        let server = small().tool_with(Tool::new("ask"), ask).build().unwrap();
        let ((serving, mut first), (_other, mut second)) = (play(&server), play(&server));
        let piece = LEAST / 4 - (256 << 10);
        let params = json!({ "name": "ask", "arguments": { "pad": "x".repeat(piece) } });
        let (count, refusal) = fill([&mut first, &mut second], &params);
        // A part of the rest is for clients that hold little.
        assert_eq!(count, 3);
        assert!(is_busy(&refusal["error"]), "{refusal}");

        // Small ones find room beside them, and what has gone has made some.
        second.request_with(200, "tools/call", &json!({ "name": "ask" }));
        second.receive_request("elicitation/create");
        drop(serving);
        second.request_with(201, "tools/call", &params);
        second.receive_request("elicitation/create");
    });
}

// Promise 6: a tree takes a hundred times its text.
#[test]
fn what_calls_keep_of_their_meta_counts_as_what_it_takes() {
    within(LONG, || {
        let server = small().tool_with(Tool::new("ask"), ask).build().unwrap();
        let ((_one, mut first), (_other, mut second)) = (play(&server), play(&server));
        let objects = vec![json!({"": 0}); 40_000 / 7];
        let params = json!({ "name": "ask", "_meta": { "test/objects": objects } });
        let (count, refusal) = fill([&mut first, &mut second], &params);
        // A part of the rest is for clients that hold little.
        assert_eq!(count, LEAST / 100 / 40_000 - 1);
        assert!(is_busy(&refusal["error"]), "{refusal}");
    });
}

// Promise 6
#[test]
fn answers_count_for_the_calls_that_wait_for_others_still() {
    within(LONG, || {
        let both = |_: Value, context: &Context| -> Result<String, HandlerError> {
            let answers = ["a", "b"].map(|key| {
                let form = ElicitSchema::default().to_schema()?;
                context.elicit(key, ElicitRequestParams::form(key, form))
            });
            let failed = |answer: &Result<_, mcplink::server::AskError>| {
                let error = answer.as_ref().err().filter(|error| !error.is_pending());
                error.map(ToString::to_string)
            };
            let told = answers.iter().find_map(failed);
            let [first, second] = answers;
            if let Some(told) = told {
                return Err(HandlerError::new(told));
            }
            first?;
            second?;
            Ok("both".to_owned())
        };
        let server = small().tool_with(Tool::new("both"), both).build().unwrap();
        let (_serving, mut script) = play(&server);
        let half = "x".repeat(LEAST / 2);
        let content = json!({ "action": "accept", "content": { "pad": half } });
        let mut begin = |id: i64| {
            script.request_with(id, "tools/call", &json!({ "name": "both" }));
            [(); 2].map(|()| script.receive_request("elicitation/create"))
        };
        let (first, second) = (begin(2), begin(3));
        script.answer(&first[0], &content);
        script.answer(&second[0], &content);
        script.answer(&second[1], &json!({ "action": "decline" }));
        let answer = script.receive();
        assert_eq!(answer["id"], 3);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("as much memory as they may"), "{text}");
        script.answer(&first[1], &json!({ "action": "decline" }));
        assert_eq!(script.receive()["result"]["content"][0]["text"], "both");
    });
}

// Promise 6
#[test]
fn large_calls_that_handlers_keep_are_bounded() {
    within(LONG, || {
        let kept: Arc<Mutex<Vec<ToolCall>>> = Arc::default();
        let server = small().build().unwrap();
        let keep = Arc::clone(&kept);
        server
            .add_deferred_tool(
                Tool::new("keep").input_schema(JsonSchema::any_object()),
                move |call: ToolCall| {
                    keep.lock().unwrap().push(call);
                },
            )
            .unwrap();
        let mut raw = Raw::open(&server, MODERN);
        let params = json!({ "name": "keep", "arguments": { "pad": "x".repeat(LEAST / 3) } });
        for id in ["a", "b"] {
            raw.request(json!(id), "tools/call", params.clone());
        }
        assert!(is_busy(&raw.error("tools/call", params.clone())));
        kept.lock().unwrap().pop().unwrap().respond("done").unwrap();
        raw.request(json!("c"), "tools/call", params);
        raw.settle();
        wait_until("the call has a handler", || kept.lock().unwrap().len() == 2);
        kept.lock().unwrap().clear();
    });
}

// Promise 6
#[test]
fn large_results_of_tasks_are_bounded() {
    within(LONG, || {
        let tool = Tool::new("large");
        let may = ToolExecution::default().task_support(TaskSupport::Optional);
        let server = small()
            .tasks(TaskOptions::default())
            .tool_with(tool.execution(may), |args: Value, _| {
                "x".repeat(usize::try_from(args["bytes"].as_u64().unwrap()).unwrap())
            })
            .build()
            .unwrap();
        let mut raw = Raw::open(&server, LEGACY);
        raw.check_messages(false);
        let mut run = |bytes: usize| {
            let params = json!({ "name": "large", "arguments": { "bytes": bytes }, "task": {} });
            let task = raw.result("tools/call", params)["task"]["taskId"].clone();
            raw.request(task.clone(), "tasks/result", json!({ "taskId": task }));
            assert!(raw.answer_to(&task, None).get("error").is_none());
            task
        };
        let tasks = [(); 4].map(|()| run(LEAST / 5));
        // Results that were fetched give way, the oldest first.
        run(LEAST / 4);
        run(60_000);
        let gone = raw.error("tasks/get", json!({ "taskId": tasks[0] }));
        assert_eq!(gone["code"], -32602);
        for task in &tasks[1..] {
            raw.result("tasks/get", json!({ "taskId": task }));
        }
    });
}

// Promise 6
#[test]
fn what_legacy_clients_subscribe_to_is_bounded_over_all_of_them() {
    within(LONG * 6, || {
        let mut limits = Limits::default();
        limits.max_subscriptions = 64;
        let server = Server::builder("small", "1.0")
            .limits(limits)
            .resource(Resource::new("test://a", "a"), |_, _| "a")
            .resource_updates(true)
            .build()
            .unwrap();
        let uri = json!({ "uri": format!("test://{}", "x".repeat(63 * 1024)) });
        let mut clients = Vec::new();
        let refusal = loop {
            assert!(clients.len() < 300, "there is no end of them");
            let mut client = Raw::open(&server, LEGACY);
            client.request(json!("s"), "resources/subscribe", uri.clone());
            let answer = client.answer_to(&json!("s"), None);
            clients.push(client);
            if answer.get("error").is_some() {
                break answer["error"]["message"].as_str().unwrap().to_owned();
            }
        };
        assert!(
            refusal.contains("as many resources as they may (16777216 bytes)"),
            "{refusal}"
        );
        assert!(clients.len() > 256, "{}", clients.len());

        let mut last = clients.pop().unwrap();
        let mut first = clients.remove(0);
        first.result("resources/unsubscribe", uri.clone());
        last.result("resources/subscribe", uri.clone());
        first.error("resources/subscribe", uri.clone());
        drop(last);
        first.result("resources/subscribe", uri);
    });
}

// L-BASE-B-06
#[test]
fn ids_have_a_length_that_can_be_kept() {
    within(LONG, || {
        let server = small().build().unwrap();
        let mut raw = Raw::open(&server, LEGACY);
        let longest = json!("x".repeat(1022));
        raw.request(longest.clone(), "ping", json!({}));
        raw.answer_to(&longest, Some("ping"));
        raw.request(json!("x".repeat(1023)), "ping", json!({}));
        let refusal = raw.answer_to(&Value::Null, None);
        assert_eq!(refusal["error"]["code"], -32600);
        assert_eq!(
            refusal["error"]["message"],
            "id has 1025 bytes, more than 1024"
        );
        raw.settle();
    });
}
