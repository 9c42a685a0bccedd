//! Tasks as a client sees them: against servers of this library, and against one that is played by hand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder, Event, ToolAnswer};
use mcplink::protocol::{CancelToken, Connection};
use mcplink::schema::{
    BooleanSchema, CallToolResult, DetailedTask, ElicitRequestParams, ElicitResult, ElicitSchema,
    ProtocolVersion, SubscriptionFilter, TaskStatus, TaskSupport, Tool, ToolExecution,
};
use mcplink::server::{Context, HandlerError, Server, TaskOptions};
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::rawserver::{LONG, RawServer, connect_with};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const BOTH: [ProtocolVersion; 2] = [LEGACY, MODERN];
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

fn tool(name: &str, support: TaskSupport) -> Tool {
    Tool::new(name).execution(ToolExecution::default().task_support(support))
}

fn server() -> (Server, mpsc::Receiver<()>) {
    let (cancelled, cancellations) = mpsc::channel();
    let options = TaskOptions::default().poll_interval(Duration::from_millis(10));
    let server = Server::builder("tasks", "1.0")
        .tasks(options)
        .tool_with(tool("plain", TaskSupport::Forbidden), |_: Value, _| "plain")
        .tool_with(tool("must", TaskSupport::Required), |_: Value, _| "done")
        .tool_with(tool("fail", TaskSupport::Optional), |_: Value, _| {
            Err::<(), _>(HandlerError::new("it can't be done"))
        })
        .tool_with(
            tool("long", TaskSupport::Required),
            move |_: Value, context: &Context| {
                if context.cancel_token().wait(LONG) {
                    cancelled.send(()).unwrap();
                }
            },
        )
        .tool_with(
            tool("ask", TaskSupport::Optional),
            |_: Value, context: &Context| {
                let form = ElicitSchema::default().required("ok", BooleanSchema::new());
                let form = ElicitRequestParams::form("sure?", form.to_schema()?);
                let answer = context.elicit("sure", form)?.read::<Value>()?;
                Ok::<_, HandlerError>(answer.unwrap_or_default()["ok"].to_string())
            },
        );
    (server.build().unwrap(), cancellations)
}

/// The task of an event, if it tells of one.
fn told(event: &Event) -> Option<DetailedTask> {
    match event {
        Event::TaskChanged { json, .. } => Some(serde_json::from_str(json).unwrap()),
        _ => None,
    }
}

// E-TASK-S-46, E-TASK-C-14
#[test]
fn a_task_can_be_followed_without_asking() {
    let (server, _) = server();
    let asked = Arc::default();
    let (client, _serving) = connect(&server, answering(&asked), MODERN);
    let task = started(&client, "ask");
    let (tell, events) = mpsc::channel();
    let filter = SubscriptionFilter::default().task_ids(vec![task.id().to_owned()]);
    let subscription = client.subscribe(filter.clone(), move |event| _ = tell.send(event));
    let subscription = subscription.unwrap();
    assert_eq!(subscription.granted(), filter);
    let waiting = task.clone();
    let waited = std::thread::spawn(move || waiting.wait().unwrap());
    let deadline = Instant::now() + LONG;
    let ended = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let task = told(&events.recv_timeout(left).unwrap()).unwrap();
        if task.status.is_terminal() {
            break task;
        }
    };
    assert_eq!(
        (ended.task_id.as_str(), ended.status),
        (task.id(), TaskStatus::Completed)
    );
    let result: CallToolResult = serde_json::from_str(ended.result.unwrap().get()).unwrap();
    let waited = waited.join().unwrap();
    assert_eq!(result.content[0].as_text(), Some("true"));
    assert_eq!(waited.content[0].as_text(), Some("true"));
}

/// Answers each question with yes, and counts them.
fn answering(asked: &Arc<AtomicUsize>) -> ClientBuilder {
    let asked = Arc::clone(asked);
    Client::builder("c", "1").tasks().on_elicit(move |_, _| {
        asked.fetch_add(1, Ordering::SeqCst);
        ElicitResult::accept(&json!({"ok": true})).unwrap()
    })
}

fn connect(
    server: &Server,
    builder: ClientBuilder,
    revision: ProtocolVersion,
) -> (Client, Connection) {
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    (
        builder.revisions(&[revision]).connect(here).unwrap(),
        serving,
    )
}

fn started(client: &Client, tool: &str) -> mcplink::client::TaskHandle {
    match client
        .call_tool_as_task(tool, &json!({}), Some(LONG))
        .unwrap()
    {
        ToolAnswer::Task(task) => task,
        ToolAnswer::Result(result) => panic!("{result:?}"),
    }
}

#[test]
fn a_task_is_waited_for_and_its_questions_are_answered_in_both_eras() {
    for revision in BOTH {
        let (server, _cancellations) = server();
        let asked = Arc::default();
        let (client, _serving) = connect(&server, answering(&asked), revision);
        // E-TASK-C-14, E-TASK-C-25, E-TASK-C-26, E-TASK-C-27, E-TASK-C-28, L-TASK-B-12
        let result = started(&client, "ask").wait().unwrap();
        assert_eq!(result.content[0].as_text(), Some("true"), "{revision}");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{revision}");
        let raw = started(&client, "ask").wait_raw(CallOptions::new());
        assert!(raw.unwrap().as_str().contains("content"), "{revision}");
        let failed = started(&client, "fail").wait().unwrap();
        assert!(failed.is_error());
    }
}

#[test]
fn a_plain_call_is_followed_up_to_its_result() {
    for revision in BOTH {
        let (server, _cancellations) = server();
        let (client, _serving) = connect(&server, answering(&Arc::default()), revision);
        // L-TASK-B-04: what the list says of a tool is heeded
        client.list_tools().unwrap();
        // E-TASK-C-02
        for (tool, text) in [("must", "done"), ("plain", "plain")] {
            let result = client.call_tool(tool, &json!({})).unwrap();
            assert_eq!(result.content[0].as_text(), Some(text), "{revision}");
        }
    }
}

#[test]
fn a_task_is_found_again_by_its_id_and_cancelled() {
    for revision in BOTH {
        let (server, cancellations) = server();
        let (client, _serving) = connect(&server, answering(&Arc::default()), revision);
        let id = started(&client, "long").id().to_owned();
        // E-TASK-C-15
        let (other, _serving_too) = connect(&server, answering(&Arc::default()), revision);
        let task = other.task(id);
        assert_eq!(task.status().unwrap(), TaskStatus::Working);
        let short = CallOptions::new().max_timeout(Duration::from_millis(30));
        assert_eq!(
            task.wait_with(short).unwrap_err().kind(),
            ErrorKind::Timeout
        );
        assert_eq!(
            task.status().unwrap(),
            TaskStatus::Working,
            "waiting ends nothing"
        );
        task.cancel().unwrap();
        cancellations.recv_timeout(LONG).unwrap();
        assert_eq!(task.status().unwrap(), TaskStatus::Cancelled);
        assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

// E-TASK-C-40, L-CANC-B-03
#[test]
fn giving_up_a_call_that_became_a_task_cancels_the_task() {
    for revision in BOTH {
        let (server, cancellations) = server();
        let (client, _serving) = connect(&server, answering(&Arc::default()), revision);
        client.list_tools().unwrap();
        let short = CallOptions::new().max_timeout(Duration::from_millis(50));
        let error = client
            .call_tool_with("long", &json!({}), short)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        cancellations.recv_timeout(LONG).unwrap();
    }
}

#[test]
fn nothing_is_asked_for_that_the_server_does_not_do() {
    let (server, _cancellations) = server();
    let (client, _serving) = connect(&server, Client::builder("c", "1"), LEGACY);
    // L-TASK-C-03
    let error = client
        .call_tool_as_task("plain", &json!({}), None)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    // L-TASK-B-02, E-EXT-B-07
    let without = Server::builder("s", "1").build().unwrap();
    without.add_tool(Tool::new("t"), |_: Value, _| "").unwrap();
    for revision in BOTH {
        let (client, _serving) = connect(&without, answering(&Arc::default()), revision);
        let error = client.call_tool_as_task("t", &json!({}), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}

fn task(status: &str, more: Value) -> Value {
    let mut task = json!({"resultType": "complete", "taskId": "t/1", "status": status, "createdAt": "2026-07-28T00:00:00Z",
        "lastUpdatedAt": "2026-07-28T00:00:00Z", "ttlMs": null, "pollIntervalMs": 10});
    task.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    task
}

fn played(builder: ClientBuilder) -> (Client, RawServer) {
    connect_with(
        builder,
        MODERN,
        &json!({"tools": {}, "prompts": {}, "extensions": {EXTENSION: {}}}),
    )
}

// E-TASK-C-30, E-TASK-C-34, E-TASK-C-13
#[test]
fn a_question_that_is_still_listed_is_answered_once() {
    let asked = Arc::default();
    let (client, mut server) = played(answering(&asked));
    let question = json!({"method": "elicitation/create", "params": {"message": "sure?", "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}});
    let result = server.serve(
        || client.call_tool("t", &json!({})).unwrap(),
        |server| {
            let call = server.asked("tools/call");
            let declared = &call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            assert_eq!(declared["extensions"], json!({EXTENSION: {}}));
            server.answer(&call, task("working", json!({"resultType": "task"})));
            let asking = |keys: &[&str]| {
                let questions: serde_json::Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), question.clone())).collect();
                task("input_required", json!({"inputRequests": questions}))
            };
            let get = server.asked("tasks/get");
            assert_eq!(get["params"]["taskId"], "t/1");
            server.answer(&get, asking(&["a"]));
            let update = server.asked("tasks/update");
            assert_eq!(update["params"]["inputResponses"].as_object().unwrap().len(), 1);
            server.answer(&update, json!({"resultType": "complete"}));
            let get = server.asked("tasks/get");
            server.answer(&get, asking(&["a", "b"]));
            let update = server.asked("tasks/update");
            let keys: Vec<_> = update["params"]["inputResponses"].as_object().unwrap().keys().cloned().collect();
            assert_eq!(keys, ["b"]);
            server.answer(&update, json!({"resultType": "complete"}));
            let get = server.asked("tasks/get");
            // AMB-80
            let done = json!({"resultType": "task", "result": {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}});
            server.answer(&get, task("completed", done));
        },
    );
    assert_eq!(result.content[0].as_text(), Some("done"));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_task_where_none_belongs_is_no_answer() {
    // E-TASK-C-03
    let (client, mut server) = played(Client::builder("c", "1").tasks());
    let error = server.serve(
        || client.get_prompt("p", &[]).unwrap_err(),
        |server| {
            let get = server.asked("prompts/get");
            server.answer(&get, task("working", json!({"resultType": "task"})));
        },
    );
    assert_eq!(error.kind(), ErrorKind::Protocol);
    // Nor is it one for a client that takes none.
    let (client, mut server) = played(Client::builder("c", "1"));
    let error = server.serve(
        || client.call_tool("t", &json!({})).unwrap_err(),
        |server| {
            let call = server.asked("tools/call");
            server.answer(&call, task("working", json!({"resultType": "task"})));
        },
    );
    assert_eq!(error.kind(), ErrorKind::Protocol);
}

#[test]
fn a_task_that_fails_or_outlives_its_time_is_an_error() {
    let ends = |last: Value| {
        let (client, mut server) = played(Client::builder("c", "1").tasks());
        let task = client.task("t/1");
        let error = server.serve(
            || task.wait().unwrap_err(),
            |server| {
                let get = server.asked("tasks/get");
                server.answer(&get, last);
            },
        );
        (error.kind(), error.to_string())
    };
    let failed = task(
        "failed",
        json!({"error": {"code": 7, "message": "not today"}}),
    );
    let (kind, text) = ends(failed);
    assert_eq!(kind, ErrorKind::Peer);
    assert!(text.contains("not today"), "{text}");
    // E-TASK-C-64
    let (kind, text) = ends(task("working", json!({"ttlMs": 0})));
    assert_eq!(kind, ErrorKind::Timeout);
    assert!(text.contains("keeps it for"), "{text}");
    assert_eq!(ends(task("completed", json!({}))).0, ErrorKind::Protocol);
}

#[test]
fn a_token_ends_the_waiting() {
    let (client, _server) = played(Client::builder("c", "1").tasks());
    let token = CancelToken::new();
    token.cancel();
    let error = client
        .task("t/1")
        .wait_with(CallOptions::new().cancel_with(&token));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
}

// E-TASK-C-47: the server refuses requests about tasks whose header does not repeat the id (E-TASK-S-65).
#[cfg(all(feature = "http-client", feature = "http-server"))]
#[test]
fn tasks_are_followed_up_over_http_in_both_eras() {
    use mcplink::server::http::HttpOptions;
    use mcplink::transport::http::Http;

    for revision in BOTH {
        let (server, cancellations) = server();
        let http = server
            .listen_http("127.0.0.1:0", HttpOptions::new())
            .unwrap();
        let asked = Arc::default();
        let client = answering(&asked).revisions(&[revision]);
        let client = client.connect(Http::new(&http.url()).unwrap()).unwrap();
        let result = started(&client, "ask").wait().unwrap();
        assert_eq!(result.content[0].as_text(), Some("true"), "{revision}");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{revision}");
        let task = started(&client, "long");
        let followed = SubscriptionFilter::default().task_ids(vec![task.id().to_owned()]);
        let (tell, events) = mpsc::channel();
        let subscription = client.subscribe(followed.clone(), move |event| _ = tell.send(event));
        let subscription = subscription.unwrap();
        let next = || {
            let event = events.recv_timeout(LONG).unwrap();
            told(&event).unwrap().status
        };
        if revision == MODERN {
            assert_eq!(subscription.granted(), followed);
            // A state that another has followed may not be told.
            assert_eq!(next(), TaskStatus::Working);
        } else {
            assert!(subscription.granted().is_empty());
        }
        task.cancel().unwrap();
        cancellations.recv_timeout(LONG).unwrap();
        if revision == MODERN {
            assert_eq!(next(), TaskStatus::Cancelled);
        }
    }
}
