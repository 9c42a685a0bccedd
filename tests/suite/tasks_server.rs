//! Tasks of a server: one set of handlers, asked by clients of both eras that are played by hand.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use mcplink::schema::{
    BooleanSchema, ElicitRequestParams, ElicitSchema, JsonSchema, ProtocolVersion, TaskSupport,
    Tool, ToolExecution,
};
use mcplink::server::{Context, HandlerError, Server, ServerBuilder, TaskOptions};
use mcplink::{ErrorCode, RpcError};
use serde_json::{Value, json};

use crate::common::LONG;
use crate::raw::Raw;
use crate::schema_examples::{problems, validator};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const RELATED: &str = "io.modelcontextprotocol/related-task";
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Lets the calls of the tool "gate" go on, and hears what became of them.
pub(crate) struct Gate {
    pub(crate) open: mpsc::Sender<()>,
    pub(crate) ended: mpsc::Receiver<bool>,
}

pub(crate) fn tool(name: &str, support: TaskSupport) -> Tool {
    Tool::new(name).execution(ToolExecution::default().task_support(support))
}

pub(crate) fn confirmed(context: &Context, key: &str) -> Result<bool, mcplink::server::AskError> {
    let form = ElicitSchema::default().required("confirm", BooleanSchema::new());
    let form = ElicitRequestParams::form(key, form.to_schema()?);
    let answer = context.elicit(key, form)?;
    let content: Value = answer.read()?.unwrap_or_default();
    Ok(content["confirm"] == true)
}

fn two_questions(_: Value, context: &Context) -> Result<String, HandlerError> {
    let (first, second) = (confirmed(context, "first"), confirmed(context, "second"));
    let once = context.once("effect", || "once".to_owned())?;
    Ok(format!("{} {} {once}", first?, second?))
}

pub(crate) fn described() -> (ServerBuilder, Gate) {
    let (open, opened) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let opened = Arc::new(Mutex::new(opened));
    let may = || TaskSupport::Optional;
    let server = Server::builder("tasks", "1.0")
        .tasks(TaskOptions::default())
        .tool_with(Tool::new("plain"), |_: Value, _| "plain")
        .tool_with(tool("must", TaskSupport::Required), |_: Value, _| "done")
        .tool_with(tool("gate", may()), move |_: Value, context: &Context| {
            context.progress(1.0, Some(2.0), None);
            let deadline = Instant::now() + LONG;
            while opened.lock().unwrap().try_recv().is_err() && Instant::now() < deadline {
                if context
                    .cancel_token()
                    .wait(std::time::Duration::from_millis(1))
                {
                    context.progress(1.5, Some(2.0), None);
                    end.send(true).unwrap();
                    return "cancelled";
                }
            }
            context.progress(2.0, Some(2.0), None);
            end.send(false).unwrap();
            "through"
        })
        .tool_with(tool("fail", may()), |_: Value, _| {
            Err::<(), _>(HandlerError::new("it can't be done"))
        })
        .tool_with(tool("refuse", may()), |_: Value, _| {
            let error = RpcError::new(ErrorCode::application(7).unwrap(), "not today")
                .with_data(&json!({"why": 1}));
            Err::<(), HandlerError>(error.unwrap().into())
        })
        .tool_with(tool("panic", may()), |_: Value, _| -> String {
            panic!("on purpose")
        })
        .tool_with(tool("ask", may()), |_: Value, context: &Context| {
            confirmed(context, "sure")
                .map(|sure| sure.to_string())
                .map_err(HandlerError::from)
        })
        .tool_with(tool("two", may()), two_questions)
        .tool_with(Tool::new("later"), |_: Value, context: &Context| {
            let sure = confirmed(context, "sure")?;
            context.become_task()?;
            Ok::<_, HandlerError>(format!("{sure} in a task"))
        });
    (server, Gate { open, ended })
}

fn server() -> (Server, Gate) {
    let (server, gate) = described();
    (server.build().unwrap(), gate)
}

/// A client that says with each request what it can do.
pub(crate) struct Player {
    pub(crate) raw: Raw,
    sent: i64,
    capabilities: Value,
}

impl Player {
    pub(crate) fn legacy(server: &Server) -> Self {
        Self::initialized(Raw::silent(server, LEGACY))
    }

    pub(crate) fn initialized(mut raw: Raw) -> Self {
        let revision = raw.revision.as_str();
        raw.greeting = raw.result(
            "initialize",
            json!({"protocolVersion": revision, "capabilities": {"elicitation": {}, "extensions": {EXTENSION: {}}}, "clientInfo": {"name": "p", "version": "1"}}),
        );
        raw.notify("notifications/initialized", json!({}));
        Self {
            raw,
            sent: 1000,
            capabilities: json!({}),
        }
    }

    pub(crate) fn modern(server: &Server) -> Self {
        Self::declaring(Raw::silent(server, MODERN))
    }

    /// A modern client that declares the extension with each request.
    pub(crate) fn declaring(raw: Raw) -> Self {
        Self {
            raw,
            sent: 1000,
            capabilities: json!({"elicitation": {}, "extensions": {EXTENSION: {}}}),
        }
    }

    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> Value {
        self.sent += 1;
        if self.raw.revision.is_modern() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN.as_str());
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                self.capabilities.clone();
        }
        let id = json!(self.sent);
        self.raw
            .send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.raw.answer_to(&id, None)
    }

    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(crate) fn error(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|text| text.len() > 8),
            "{method}: {answer}"
        );
        answer["error"].clone()
    }

    fn code(&mut self, method: &str, params: Value) -> i64 {
        self.error(method, params)["code"].as_i64().unwrap()
    }

    /// Calls a tool that becomes a task, and gives its id.
    pub(crate) fn start(&mut self, name: &str) -> String {
        let params = json!({"name": name, "arguments": {}, "task": {"ttl": 60_000}});
        let created = self.result("tools/call", params);
        let task = if self.raw.revision.is_modern() {
            &created
        } else {
            &created["task"]
        };
        task["taskId"]
            .as_str()
            .unwrap_or_else(|| panic!("{created}"))
            .to_owned()
    }

    pub(crate) fn get(&mut self, id: &str) -> Value {
        self.result("tasks/get", json!({"taskId": id}))
    }

    /// Polls until the task has this status.
    pub(crate) fn until(&mut self, id: &str, status: &str) -> Value {
        let deadline = Instant::now() + LONG;
        loop {
            let task = self.get(id);
            if task["status"] == status {
                return task;
            }
            assert!(Instant::now() < deadline, "{task}");
        }
    }

    fn holds(&self, name: &str, value: &Value) {
        let problems = problems(&validator(self.raw.revision, name), value);
        assert!(problems.is_empty(), "{name}: {problems:?}\n{value}");
    }
}

fn accept() -> Value {
    json!({"action": "accept", "content": {"confirm": true}})
}

#[test]
fn tasks_are_advertised_in_each_eras_own_way() {
    let (server, _gate) = server();
    let legacy = Player::legacy(&server);
    // L-TASK-B-01, L-TASK-B-24: no list without somebody whose list it would be; E-TASK-S-61
    assert_eq!(
        legacy.raw.greeting["capabilities"]["tasks"],
        json!({"cancel": {}, "requests": {"tools": {"call": {}}}})
    );
    assert!(
        legacy.raw.greeting["capabilities"]
            .get("extensions")
            .is_none()
    );
    // E-TASK-S-59, E-TASK-S-60
    let discovered = Player::modern(&server).result("server/discover", json!({}));
    assert_eq!(
        discovered["capabilities"]["extensions"],
        json!({EXTENSION: {}})
    );
    assert!(discovered["capabilities"].get("tasks").is_none());
    let older = Player::initialized(Raw::silent(&server, ProtocolVersion::V2025_06_18));
    assert!(older.raw.greeting["capabilities"].get("tasks").is_none());
    // E-EXT-B-01
    let plain = Server::builder("plain", "1.0").build().unwrap();
    let discovered = Player::modern(&plain).result("server/discover", json!({}));
    assert!(discovered["capabilities"].get("extensions").is_none());
}

#[test]
fn a_tool_that_is_to_be_a_task_needs_a_server_with_tasks() {
    let error = Server::builder("s", "1")
        .tool_with(tool("must", TaskSupport::Required), |_: Value, _| "")
        .build()
        .unwrap_err();
    assert!(
        error.to_string().contains("ServerBuilder::tasks"),
        "{error}"
    );
}

#[test]
fn a_legacy_call_is_answered_with_its_task_and_its_result_fetched_later() {
    let (server, gate) = server();
    let mut client = Player::legacy(&server);
    let params = json!({"name": "gate", "arguments": {}, "task": {"ttl": 60_000}, "_meta": {"progressToken": "tok"}});
    // L-TASK-B-16: answered though the handler still runs
    let created = client.result("tools/call", params);
    client.holds("CreateTaskResult", &created);
    // L-TASK-B-10, L-TASK-B-15
    assert_eq!(created["task"]["status"], "working");
    assert_eq!(created["task"]["ttl"], 60_000);
    assert!(created["task"]["pollInterval"].as_u64().unwrap() > 0);
    let id = created["task"]["taskId"].as_str().unwrap().to_owned();
    // L-TASK-B-14: the id of the params decides
    let other = json!({"taskId": id, "_meta": {RELATED: {"taskId": "another"}}});
    let task = client.result("tasks/get", other);
    client.holds("GetTaskResult", &task);
    assert_eq!(
        (&task["taskId"], &task["status"]),
        (&json!(id), &json!("working"))
    );
    assert!(task.get("_meta").is_none());
    // L-PROG-B-06, L-PROG-B-07, L-TASK-B-13
    let progress = client.raw.next();
    assert_eq!(progress["params"]["progressToken"], "tok");
    assert_eq!(progress["params"]["_meta"][RELATED]["taskId"], json!(id));
    // L-TASK-B-17: it blocks
    let waiting = client.send("tasks/result", json!({"taskId": id}));
    assert_eq!(client.get(&id)["status"], "working");
    gate.open.send(()).unwrap();
    let result = client.raw.answer_to(&waiting, Some("tools/call"))["result"].clone();
    assert_eq!(result["content"][0]["text"], "through");
    assert_eq!(result["_meta"][RELATED]["taskId"], json!(id));
    assert_eq!(client.raw.next()["params"]["progress"], 2);
    // L-TASK-B-07: nobody has to be told
    assert_eq!(client.get(&id)["status"], "completed");
    assert_eq!(client.result("tasks/result", json!({"taskId": id})), result);
    // L-PROG-B-08
    client.raw.expect_silence();
}

#[test]
fn a_legacy_task_that_fails_says_why() {
    let (server, _gate) = server();
    let mut client = Player::legacy(&server);
    let failed = client.start("fail");
    let result = client.result("tasks/result", json!({"taskId": failed}));
    assert_eq!(result["isError"], true);
    // L-TASK-B-22, AMB-70
    let task = client.get(&failed);
    assert_eq!(task["status"], "failed");
    assert!(task["statusMessage"].is_string());
    // L-TASK-B-17: the underlying error
    let refused = client.start("refuse");
    let error = client.error("tasks/result", json!({"taskId": refused}));
    assert_eq!(
        error,
        json!({"code": 7, "message": "not today", "data": {"why": 1}})
    );
    assert_eq!(client.get(&refused)["statusMessage"], "not today");
    // L-TASK-B-21
    let panicked = client.start("panic");
    assert_eq!(
        client.code("tasks/result", json!({"taskId": panicked})),
        -32603
    );
}

#[test]
fn legacy_calls_become_tasks_only_where_both_sides_want_it() {
    let (server, _gate) = server();
    let mut client = Player::legacy(&server);
    let call = |name: &str, task: bool| {
        let mut params = json!({"name": name, "arguments": {}});
        if task {
            params["task"] = json!({});
        }
        params
    };
    // L-TASK-C-03, L-TASK-B-04
    assert_eq!(client.code("tools/call", call("plain", true)), -32601);
    assert_eq!(client.code("tools/call", call("must", false)), -32601);
    assert!(
        client
            .result("tools/call", call("must", true))
            .get("task")
            .is_some()
    );
    // E-TASK-S-61: what the client declares of the extension makes no task here
    let plain = client.result("tools/call", call("fail", false));
    assert_eq!(plain["isError"], true);
    // Revisions without tasks run it as ever.
    let mut older = Player::initialized(Raw::silent(&server, ProtocolVersion::V2025_06_18));
    let done = older.result("tools/call", call("must", true));
    assert_eq!(done["content"][0]["text"], "done");
    assert_eq!(older.code("tasks/get", json!({"taskId": "x"})), -32601);
    // L-TASK-B-08
    let without = Server::builder("s", "1").tool_with(Tool::new("t"), |_: Value, _| "as ever");
    let mut client = Player::legacy(&without.build().unwrap());
    let result = client.result("tools/call", call("t", true));
    assert_eq!(result["content"][0]["text"], "as ever");
    assert_eq!(client.code("tasks/get", json!({"taskId": "x"})), -32601);
}

#[test]
fn a_legacy_task_is_cancelled_by_its_own_method_only() {
    let (server, gate) = server();
    let mut client = Player::legacy(&server);
    let id = client.start("gate");
    // L-CANC-B-03: neither the answered request nor anything of the task is cancelled by the notification
    let call = client.sent;
    client
        .raw
        .notify("notifications/cancelled", json!({"requestId": call}));
    client.raw.settle();
    assert_eq!(client.get(&id)["status"], "working");
    let waiting = client.send("tasks/result", json!({"taskId": id}));
    // L-TASK-B-19: the status is there with the answer, and stays
    let cancelled = client.result("tasks/cancel", json!({"taskId": id}));
    client.holds("CancelTaskResult", &cancelled);
    assert_eq!(cancelled["status"], "cancelled");
    assert!(
        gate.ended.recv_timeout(LONG).unwrap(),
        "the handler notices"
    );
    assert!(
        client.raw.answer_to(&waiting, None)["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cancelled")
    );
    assert_eq!(client.get(&id)["status"], "cancelled");
    // L-TASK-B-19, L-TASK-B-21
    assert_eq!(client.code("tasks/cancel", json!({"taskId": id})), -32602);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(client.code(method, json!({"taskId": "unknown"})), -32602);
        assert_eq!(client.code(method, json!({})), -32602);
    }
    // L-TASK-B-24
    assert_eq!(client.code("tasks/list", json!({})), -32601);
}

#[test]
fn questions_of_a_legacy_task_come_while_its_result_is_waited_for() {
    let (server, _gate) = server();
    let mut client = Player::legacy(&server);
    let id = client.start("two");
    // L-TASK-B-12
    client.until(&id, "input_required");
    client.raw.expect_silence();
    let waiting = client.send("tasks/result", json!({"taskId": id}));
    let questions = [client.raw.next(), client.raw.next()];
    for question in &questions {
        assert_eq!(question["method"], "elicitation/create");
        // L-TASK-B-13
        assert_eq!(question["params"]["_meta"][RELATED]["taskId"], json!(id));
    }
    let answer =
        |question: &Value| json!({"jsonrpc": "2.0", "id": question["id"], "result": accept()});
    client.raw.send(answer(&questions[0]));
    client.raw.settle();
    assert_eq!(client.get(&id)["status"], "input_required");
    client.raw.send(answer(&questions[1]));
    let result = client.raw.answer_to(&waiting, Some("tools/call"))["result"].clone();
    assert_eq!(result["content"][0]["text"], "true true once");
    assert_eq!(client.get(&id)["status"], "completed");
}

#[test]
fn each_principal_has_its_own_tasks() {
    let (server, _gate) = server();
    let connect = |who: &str| {
        let open = |theirs| server.open_for(who, theirs).unwrap();
        Player::initialized(Raw::silent_on(LEGACY, open))
    };
    let (mut ann, mut bob) = (connect("ann"), connect("bob"));
    assert_eq!(ann.raw.greeting["capabilities"]["tasks"]["list"], json!({}));
    let id = ann.start("must");
    ann.until(&id, "completed");
    // L-TASK-B-23
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(bob.code(method, json!({"taskId": id})), -32602);
    }
    assert_eq!(bob.result("tasks/list", json!({}))["tasks"], json!([]));
    // L-TASK-B-18, E-TASK-S-62
    let list = ann.result("tasks/list", json!({}));
    ann.holds("ListTasksResult", &list);
    assert_eq!(list["tasks"], json!([ann.get(&id)]));
    // L-TASK-B-21
    assert_eq!(
        ann.code("tasks/list", json!({"cursor": "nonsense"})),
        -32602
    );
    // E-TASK-S-55
    let open = |theirs| server.open_for("ann", theirs).unwrap();
    let mut modern = Player::declaring(Raw::silent_on(MODERN, open));
    let id = modern.start("must");
    let mut stranger = Player::modern(&server);
    for method in ["tasks/get", "tasks/cancel"] {
        assert_eq!(stranger.code(method, json!({"taskId": id})), -32602);
    }
    assert_eq!(
        stranger.code("tasks/update", json!({"taskId": id, "inputResponses": {}})),
        -32602
    );
}

#[test]
fn a_modern_call_becomes_a_task_for_who_declares_the_extension() {
    let (server, gate) = server();
    let mut client = Player::modern(&server);
    let params = json!({"name": "gate", "arguments": {}, "_meta": {"progressToken": 7}});
    let created = client.result("tools/call", params);
    // E-TASK-S-06
    assert_eq!(created["resultType"], "task");
    assert_eq!(created["status"], "working");
    assert!(created["ttlMs"].as_u64().unwrap() > 0);
    let id = created["taskId"].as_str().unwrap().to_owned();
    // E-TASK-S-10, E-TASK-S-11: it is there once the answer is, on another connection too
    let mut other = Player::modern(&server);
    let task = other.get(&id);
    // E-TASK-S-16, E-TASK-S-17, E-TASK-S-24, E-TASK-S-07
    assert_eq!(
        (&task["status"], &task["resultType"]),
        (&json!("working"), &json!("complete"))
    );
    assert!(task.get("result").is_none());
    gate.open.send(()).unwrap();
    // E-TASK-S-20, E-TASK-S-53
    let task = client.until(&id, "completed");
    assert_eq!(task["result"]["content"][0]["text"], "through");
    assert_eq!(task["result"]["resultType"], "complete");
    assert!(task["result"]["_meta"].get(RELATED).is_none());
    // E-TASK-S-45: progress belongs to no task
    client.raw.expect_silence();
    // E-TASK-S-57, E-TASK-S-01, E-TASK-S-58: neither the params of old nor the capability of old make one
    client.capabilities = json!({"tasks": {"requests": {"tools": {"call": {}}}}});
    let params = json!({"name": "fail", "arguments": {}, "task": {"ttl": 1}});
    let result = client.result("tools/call", params.clone());
    assert_eq!(
        (&result["resultType"], &result["isError"]),
        (&json!("complete"), &json!(true))
    );
    // E-TASK-S-04, E-EXT-B-07
    let error = client.error("tools/call", json!({"name": "must"}));
    assert_eq!(error["code"], -32021);
    assert_eq!(
        error["data"]["requiredCapabilities"]["extensions"],
        json!({EXTENSION: {}})
    );
    // E-TASK-S-50
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        assert_eq!(
            client.code(method, json!({"taskId": id, "inputResponses": {}})),
            -32021
        );
    }
    // E-TASK-S-44
    let listen = json!({"notifications": {"taskIds": [id]}});
    assert_eq!(client.code("subscriptions/listen", listen), -32021);
}

impl Player {
    /// Opens a stream on which tasks are told, and gives its id and the ids that were granted.
    pub(crate) fn follow(&mut self, ids: Value) -> (Value, Value) {
        let stream = self.send(
            "subscriptions/listen",
            json!({"notifications": {"taskIds": ids}}),
        );
        let ack = self.raw.next();
        assert_eq!(
            ack["method"], "notifications/subscriptions/acknowledged",
            "{ack}"
        );
        assert_eq!(ack["params"]["_meta"][SUBSCRIPTION], stream);
        (stream, ack["params"]["notifications"].clone())
    }

    /// What is told next of a task: how far it is, as `tasks/get` would tell it.
    pub(crate) fn told(&mut self, stream: &Value) -> Value {
        let mut told = self.raw.next();
        assert_eq!(told["method"], "notifications/tasks", "{told}");
        let mut task = told["params"].take();
        let meta = task.as_object_mut().unwrap().remove("_meta").unwrap();
        assert_eq!(meta, json!({SUBSCRIPTION: stream}));
        assert!(task.get("resultType").is_none(), "{task}");
        task
    }

    /// The same as `tasks/get` tells it.
    fn state(&mut self, id: &str) -> Value {
        let mut task = self.get(id);
        task.as_object_mut()
            .unwrap()
            .retain(|name, _| name != "_meta" && name != "resultType");
        task
    }
}

// E-TASK-S-46
#[test]
fn who_follows_a_task_is_told_how_far_it_is() {
    let (server, gate) = server();
    let (mut client, mut other) = (Player::modern(&server), Player::modern(&server));
    let (id, unfollowed) = (client.start("gate"), client.start("two"));
    client.until(&unfollowed, "input_required");
    let (stream, granted) = client.follow(json!([id, "no such task", id]));
    assert_eq!(granted, json!({"taskIds": [id]}));
    // At once: what happened before is not lost.
    assert_eq!(client.told(&stream)["status"], "working");
    let (others, _) = other.follow(json!([id]));
    assert_eq!(other.told(&others)["status"], "working");
    gate.open.send(()).unwrap();
    let task = client.told(&stream);
    assert_eq!(task["status"], "completed");
    assert_eq!(task["result"]["content"][0]["text"], "through");
    assert_eq!(task, client.state(&id));
    assert_eq!(task, other.told(&others));
    // E-TASK-S-45: neither its progress nor another task is told
    client.result("tasks/cancel", json!({"taskId": unfollowed}));
    client.raw.expect_silence();
    // One that is over is told too, and no more of a stream that was ended.
    client
        .raw
        .notify("notifications/cancelled", json!({"requestId": stream}));
    let (stream, _) = client.follow(json!([id, unfollowed]));
    let mut told = [client.told(&stream), client.told(&stream)].map(|task| task["status"].clone());
    told.sort_by_key(Value::to_string);
    assert_eq!(told, ["cancelled", "completed"]);
    client.raw.expect_silence();
}

// E-TASK-S-46, E-TASK-S-18
#[test]
fn what_a_task_asks_is_told_to_who_follows_it() {
    let (server, _gate) = server();
    let mut client = Player::modern(&server);
    let id = client.start("ask");
    client.until(&id, "input_required");
    let (stream, _) = client.follow(json!([id]));
    let task = client.told(&stream);
    assert_eq!(task, client.state(&id));
    assert_eq!(
        task["inputRequests"]["sure"]["method"],
        "elicitation/create"
    );
    let update = json!({"taskId": id, "inputResponses": {"sure": accept()}});
    client.result("tasks/update", update);
    // Of steps that follow each other quickly the last one is told.
    let mut task = client.told(&stream);
    if task["status"] == "working" {
        task = client.told(&stream);
    }
    assert_eq!(task["result"]["content"][0]["text"], "true");
    // A fault is told like a result.
    let mut client = Player::modern(&server);
    let id = client.start("gate");
    let (stream, _) = client.follow(json!([id]));
    assert_eq!(client.told(&stream)["status"], "working");
    client.result("tasks/cancel", json!({"taskId": id}));
    assert_eq!(client.told(&stream)["status"], "cancelled");
}

#[test]
fn tasks_of_others_are_not_told() {
    let (server, _gate) = server();
    let connect = |who: &str| Player {
        raw: Raw::silent_on(MODERN, |theirs| server.open_for(who, theirs).unwrap()),
        ..Player::modern(&server)
    };
    let (mut ann, mut bob) = (connect("ann"), connect("bob"));
    let id = ann.start("gate");
    assert_eq!(bob.follow(json!([id])).1, json!({}));
    ann.result("tasks/cancel", json!({"taskId": id}));
    bob.raw.expect_silence();
}

// E-EXT-B-09
#[test]
fn malformed_ids_are_refused_and_others_ignored_where_there_are_no_tasks() {
    let (server, _gate) = server();
    let mut client = Player::modern(&server);
    for ids in [json!(7), json!("a"), json!([1]), json!({})] {
        let listen = json!({"notifications": {"taskIds": ids}});
        assert_eq!(client.code("subscriptions/listen", listen), -32602);
    }
    let plain = Server::builder("plain", "1").build().unwrap();
    let mut client = Player::modern(&plain);
    assert_eq!(client.follow(json!(["a"])).1, json!({}));
}

#[test]
fn a_modern_task_ends_with_what_its_call_ended_with() {
    let (server, _gate) = server();
    let mut client = Player::modern(&server);
    // E-TASK-S-08, E-TASK-S-09
    let id = client.start("fail");
    let task = client.until(&id, "completed");
    assert_eq!(task["result"]["isError"], true);
    // E-TASK-S-22, E-TASK-S-23, E-TASK-S-52
    let id = client.start("refuse");
    let task = client.until(&id, "failed");
    assert_eq!(
        task["error"],
        json!({"code": 7, "message": "not today", "data": {"why": 1}})
    );
    assert_eq!(task["statusMessage"], "not today");
    assert!(task.get("result").is_none());
    let id = client.start("panic");
    assert_eq!(client.until(&id, "failed")["error"]["code"], -32603);
}

#[test]
fn a_modern_task_is_cancelled_once_and_acknowledged_always() {
    let (server, gate) = server();
    let mut client = Player::modern(&server);
    let id = client.start("gate");
    for _ in 0..2 {
        // E-TASK-S-41, E-TASK-S-43
        let done = client.result("tasks/cancel", json!({"taskId": id}));
        assert_eq!(done["resultType"], "complete");
        assert!(done.get("taskId").is_none() && done.get("status").is_none());
        // E-TASK-S-21
        assert_eq!(client.get(&id)["status"], "cancelled");
    }
    assert!(gate.ended.recv_timeout(LONG).unwrap());
    // E-TASK-S-42, E-TASK-S-36, E-TASK-S-48, E-TASK-S-49, E-TASK-S-51
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        assert_eq!(
            client.code(method, json!({"taskId": "unknown", "inputResponses": {}})),
            -32602
        );
        assert_eq!(client.code(method, json!({"taskId": 7})), -32602);
    }
    // E-TASK-S-56
    for method in ["tasks/result", "tasks/list"] {
        assert_eq!(client.code(method, json!({"taskId": id})), -32601);
    }
}

#[test]
fn questions_of_a_modern_task_are_fetched_and_answered_by_key() {
    let (server, _gate) = server();
    let mut client = Player::modern(&server);
    let id = client.start("two");
    let task = client.until(&id, "input_required");
    // E-TASK-S-18, E-TASK-S-19
    let keys = |task: &Value| -> Vec<String> {
        task["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(keys(&task), ["first", "second"]);
    assert_eq!(
        task["inputRequests"]["first"]["method"],
        "elicitation/create"
    );
    assert_eq!(keys(&client.get(&id)), ["first", "second"]);
    let update = |responses: Value| json!({"taskId": id, "inputResponses": responses});
    // An answer that is none is refused, and nothing of its request is taken.
    assert_eq!(
        client.code(
            "tasks/update",
            update(json!({"second": accept(), "first": 7}))
        ),
        -32602
    );
    // E-TASK-S-35, E-TASK-S-37, E-TASK-S-39
    let done = client.result(
        "tasks/update",
        update(json!({"first": accept(), "unasked": 7})),
    );
    assert_eq!(done["resultType"], "complete");
    assert!(done.get("taskId").is_none());
    // E-TASK-S-38
    let task = client.get(&id);
    assert_eq!(
        (&task["status"], keys(&task)),
        (&json!("input_required"), vec!["second".to_owned()])
    );
    client.result(
        "tasks/update",
        update(json!({"first": {"action": "decline"}, "second": accept()})),
    );
    let task = client.until(&id, "completed");
    assert_eq!(task["result"]["content"][0]["text"], "true true once");
    // AMB-83
    client.result("tasks/update", update(json!({"first": accept()})));
}

// E-TASK-S-31, E-TASK-S-32, E-TASK-S-33
#[test]
fn a_question_that_is_asked_again_gets_a_key_of_its_own() {
    let (server, _gate) = server();
    let mut client = Player::modern(&server);
    let id = client.start("ask");
    let mut seen = Vec::new();
    // What was filled in does not fit the form: it is asked for once more.
    for _ in 0..3 {
        let task = client.until(&id, "input_required");
        let key = task["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .next()
            .unwrap()
            .clone();
        assert!(!seen.contains(&key), "{key} after {seen:?}");
        let odd = json!({"action": "accept", "content": {"confirm": "perhaps"}});
        client.result(
            "tasks/update",
            json!({"taskId": id, "inputResponses": {&key: odd}}),
        );
        seen.push(key);
        let deadline = Instant::now() + LONG;
        while client.get(&id)["inputRequests"]
            .get(seen.last().unwrap())
            .is_some()
            || client.get(&id)["status"] == "working"
        {
            assert!(Instant::now() < deadline);
        }
    }
    client.result("tasks/cancel", json!({"taskId": id}));
    assert_eq!(client.get(&id)["status"], "cancelled");
    assert!(client.get(&id).get("inputRequests").is_none());
}

// E-TASK-S-12
#[test]
fn a_call_that_asks_first_becomes_a_task_then() {
    let (server, _gate) = server();
    let mut client = Player::modern(&server);
    let asked = client.result("tools/call", json!({"name": "later"}));
    assert_eq!(asked["resultType"], "input_required");
    assert!(asked.get("taskId").is_none());
    let again = json!({"name": "later", "requestState": asked["requestState"], "inputResponses": {"sure": accept()}});
    let created = client.result("tools/call", again.clone());
    assert_eq!(created["resultType"], "task");
    assert!(created.get("requestState").is_none() && created.get("inputRequests").is_none());
    let id = created["taskId"].as_str().unwrap().to_owned();
    let task = client.until(&id, "completed");
    assert_eq!(task["result"]["content"][0]["text"], "true in a task");
    // Who takes no tasks has the answer at once.
    client.capabilities = json!({"elicitation": {}});
    let result = client.result("tools/call", again);
    assert_eq!(result["content"][0]["text"], "true in a task");
}

#[test]
fn bad_arguments_are_told_in_the_way_that_the_client_expects() {
    let add = |args: (i64, i64), _: &Context| (args.0 + args.1).to_string();
    let any = JsonSchema::any_object();
    let described = Server::builder("s", "1").tasks(TaskOptions::default());
    let server = described
        .tool_with_schema(tool("add", TaskSupport::Optional).input_schema(any), add)
        .build()
        .unwrap();
    let mut legacy = Player::legacy(&server);
    let id = legacy.start("add");
    assert_eq!(
        legacy.result("tasks/result", json!({"taskId": id}))["isError"],
        true
    );
    assert_eq!(legacy.get(&id)["status"], "failed");
}

// L-TASK-B-09, E-TASK-S-54, M-SEC-S-15: texts of at least 128 random bits, none like another.
#[test]
fn ids_of_tasks_can_not_be_guessed() {
    let (server, _gate) = server();
    let mut clients = [Player::legacy(&server), Player::modern(&server)];
    let started = clients.iter_mut().flat_map(|client| {
        (0..20)
            .map(|_| client.start("must"))
            .collect::<Vec<String>>()
    });
    let ids: Vec<String> = started.collect();
    assert!(ids.iter().all(|id| id.len() >= 22), "{ids:?}");
    let heads: HashSet<&str> = ids.iter().map(|id| &id[..8]).collect();
    assert_eq!(heads.len(), ids.len(), "{ids:?}");
}
