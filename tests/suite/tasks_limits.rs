//! How many tasks a server keeps, for how long, and who has a place when there are many.

use std::num::NonZeroUsize;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use mcplink::schema::{ProtocolVersion, TaskSupport, Tool};
use mcplink::server::{Context, HandlerError, Server, ServerBuilder, TaskOptions};
use mcplink::transport::Limits;
use serde_json::{Value, json};

use crate::common::{LONG, within};
use crate::raw::Raw;
use crate::tasks_server::{Player, tool};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn options(max: usize) -> TaskOptions {
    TaskOptions::default().max_tasks(NonZeroUsize::new(max).unwrap())
}

/// A server that keeps so many tasks, with tools that return at once or when they are cancelled.
fn described(options: TaskOptions) -> (ServerBuilder, mpsc::Receiver<()>) {
    let (cancelled, heard) = mpsc::channel();
    let wait = move |_: Value, context: &Context| {
        assert!(context.cancel_token().wait(LONG), "nobody cancels it");
        // Nobody may listen any more.
        _ = cancelled.send(());
        Err::<(), _>(HandlerError::new("cancelled"))
    };
    let server = Server::builder("limits", "1.0")
        .tasks(options)
        .tool_with(Tool::new("plain"), |_: Value, _| "plain")
        .tool_with(tool("quick", TaskSupport::Optional), |_: Value, _| "quick")
        .tool_with(tool("must", TaskSupport::Required), |_: Value, _| "must")
        .tool_with(tool("wait", TaskSupport::Required), wait);
    (server, heard)
}

fn server(options: TaskOptions) -> (Server, mpsc::Receiver<()>) {
    let (server, heard) = described(options);
    (server.build().unwrap(), heard)
}

/// A client with a principal.
fn client(server: &Server, revision: ProtocolVersion, who: &str) -> Player {
    let open = |theirs| server.open_for(who, theirs).unwrap();
    let raw = Raw::silent_on(revision, open);
    match revision {
        MODERN => Player::declaring(raw),
        _ => Player::initialized(raw),
    }
}

fn is_busy(error: &Value, max: usize) -> bool {
    let text = error["message"].as_str().unwrap_or_default();
    text.contains("tasks are kept already")
        && error["data"] == json!({"busy": true, "maxTasks": max})
}

/// Starts tasks that wait until one is refused; 16 are kept. Returns how many were started.
fn start_all(client: &mut Player) -> usize {
    let mut started = 0;
    loop {
        let call = json!({"name": "wait", "arguments": {}, "task": {}});
        let answer = client.answer("tools/call", call);
        if let Some(refusal) = answer.get("error") {
            assert!(is_busy(refusal, 16), "{refusal}");
            return started;
        }
        started += 1;
        assert!(started <= 16, "there is no end of them");
    }
}

// L-TASK-B-25
#[test]
fn tasks_that_are_over_give_way_to_new_ones() {
    within(LONG, || {
        let (server, _heard) = server(options(8));
        let mut modern = client(&server, MODERN, "ann");
        for _ in 0..50 {
            let id = modern.start("quick");
            modern.until(&id, "completed");
        }
        let mut legacy = client(&server, LEGACY, "bob");
        let day = json!({"name": "must", "task": {"ttl": 86_400_000}});
        for _ in 0..50 {
            let created = legacy.result("tools/call", day.clone());
            let id = created["task"]["taskId"].as_str().unwrap().to_owned();
            legacy.until(&id, "completed");
        }
        // The other one's are there still, up to an equal part.
        let id = modern.start("quick");
        modern.until(&id, "completed");
        assert_eq!(modern.get(&id)["status"], "completed");
    });
}

// Must not happen: the tasks of clients that have left keep new ones out.
#[test]
fn tasks_of_clients_that_have_left_give_way_to_new_ones() {
    within(LONG, || {
        let (server, _heard) = server(options(4));
        let day = json!({"name": "must", "task": {"ttl": 86_400_000}});
        for round in 0..4 {
            let mut client = client(&server, LEGACY, &format!("client {round}"));
            for _ in 0..4 {
                let created = client.result("tools/call", day.clone());
                let id = created["task"]["taskId"].as_str().unwrap().to_owned();
                client.until(&id, "completed");
            }
        }
    });
}

#[test]
fn results_that_were_fetched_give_way_before_others() {
    within(LONG, || {
        let (server, _heard) = server(options(4));
        let mut client = client(&server, LEGACY, "ann");
        // The one that ended first gives way first, so they end in their order.
        let mut start = || {
            let id = client.start("must");
            client.until(&id, "completed");
            id
        };
        let ids = [(); 4].map(|()| start());
        client.result("tasks/result", json!({"taskId": ids[2]}));
        client.start("must");
        client.error("tasks/get", json!({"taskId": ids[2]}));
        for id in [&ids[0], &ids[1], &ids[3]] {
            client.get(id);
        }
        client.start("must");
        client.error("tasks/get", json!({"taskId": ids[0]}));
    });
}

// E-TASK-S-01: whether an optional tool's call becomes a task is the server's choice.
#[test]
fn without_a_place_an_optional_tool_runs_at_once() {
    within(LONG, || {
        let (server, _heard) = server(options(1));
        let mut client = client(&server, MODERN, "ann");
        client.start("wait");
        let result = client.result("tools/call", json!({"name": "quick", "arguments": {}}));
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(result["content"][0]["text"], "quick");
        let refused = client.error("tools/call", json!({"name": "must", "arguments": {}}));
        assert!(is_busy(&refused, 1), "{refused}");
    });
}

#[test]
fn working_tasks_of_one_client_leave_places_to_others() {
    within(LONG, || {
        for revision in [LEGACY, MODERN] {
            let (server, _heard) = server(options(16));
            let mut greedy = client(&server, revision, "greedy");
            assert_eq!(start_all(&mut greedy), 14, "all but the reserve");
            let mut other = client(&server, revision, "other");
            let id = other.start("must");
            other.until(&id, "completed");
        }
    });
}

#[test]
fn the_part_and_the_reserve_are_settings() {
    within(LONG, || {
        let mut limits = Limits::default();
        (limits.part_percent, limits.reserve_percent) = (20, 50);
        let (server, _heard) = described(options(16));
        let server = server.limits(limits).build().unwrap();
        let [mut first, mut second] = ["first", "second"].map(|who| client(&server, MODERN, who));
        assert_eq!(start_all(&mut first), 8, "all but the reserve");
        assert_eq!(start_all(&mut second), 3, "its part");
    });
}

// Must not happen: an address opens a session for each place, and so takes all of them.
#[cfg(feature = "http-server")]
#[test]
fn many_sessions_of_one_address_leave_places_to_others() {
    within(LONG, || {
        let (server, _heard) = server(options(16));
        let web = crate::web::Web::new(&server);
        let call = json!({"name": "wait", "arguments": {}, "task": {}});
        web.come_from("192.0.2.1:7");
        let sessions: Vec<_> = (0..20).map(|_| web.session(LEGACY)).collect();
        let started = sessions.iter().filter(|session| {
            let answer = session.request("tools/call", call.clone()).message();
            assert!(
                answer["error"].is_null() || is_busy(&answer["error"], 16),
                "{answer}"
            );
            answer["error"].is_null()
        });
        assert_eq!(started.count(), 15);
        web.come_from("192.0.2.2:7");
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let call = json!({"name": "wait", "arguments": {}});
        let created = web
            .modern_as("tools/call", call, capabilities, &[])
            .result();
        assert_eq!(created["resultType"], "task", "{created}");
    });
}

// 7.2 holds for requests only: tasks have a bound of their own.
#[test]
fn working_tasks_take_no_place_from_requests() {
    within(LONG, || {
        let mut limits = Limits::default();
        limits.max_requests = 2;
        let (server, _heard) = described(options(64));
        let server = server.limits(limits).build().unwrap();
        for revision in [LEGACY, MODERN] {
            let mut client = client(&server, revision, "ann");
            for _ in 0..6 {
                client.start("wait");
            }
            let result = client.result("tools/call", json!({"name": "plain", "arguments": {}}));
            assert_eq!(result["content"][0]["text"], "plain");
        }
    });
}

// L-TASK-B-17, E-TASK-S-22, E-TASK-S-46
#[test]
fn a_task_ends_at_its_time_though_nobody_asks() {
    within(LONG, || {
        let (legacy, heard) = server(options(8));
        let mut waiting = client(&legacy, LEGACY, "ann");
        let begun = Instant::now();
        let call = json!({"name": "wait", "arguments": {}, "task": {"ttl": 300}});
        let created = waiting.result("tools/call", call);
        let task = json!({"taskId": created["task"]["taskId"]});
        let error = waiting.error("tasks/result", task.clone());
        let took = begun.elapsed();
        assert!(error["message"].as_str().unwrap().contains("time to live"));
        assert!(took >= Duration::from_millis(300), "{took:?}");
        heard.recv_timeout(LONG).unwrap();
        assert_eq!(waiting.error("tasks/get", task)["code"], -32602);

        let short = options(8).lifetime(Duration::from_millis(300));
        let (modern, heard) = server(short);
        let mut following = client(&modern, MODERN, "ann");
        let id = following.start("wait");
        let (stream, _) = following.follow(json!([id]));
        assert_eq!(following.told(&stream)["status"], "working");
        assert_eq!(following.told(&stream)["status"], "failed");
        heard.recv_timeout(LONG).unwrap();
    });
}

// L-TASK-B-21
#[test]
fn a_time_to_live_is_a_number_that_is_not_negative() {
    within(LONG, || {
        let (server, _heard) = server(options(8));
        let mut client = client(&server, LEGACY, "ann");
        for ttl in [
            json!(-1),
            json!(-0.5),
            json!("60"),
            json!([]),
            json!(-1e300),
        ] {
            let call = json!({"name": "must", "arguments": {}, "task": {"ttl": ttl}});
            let error = client.error("tools/call", call);
            assert_eq!(error["code"], -32602, "{ttl}: {error}");
        }
        let call = json!({"name": "must", "arguments": {}, "task": {"ttl": null}});
        client.result("tools/call", call);
    });
}

// L-TASK-B-15, L-TASK-B-25
#[test]
fn what_a_client_asks_for_is_cut_to_what_the_server_keeps() {
    within(LONG, || {
        let options = options(1)
            .max_lifetime(Duration::from_secs(5))
            .poll_interval(Duration::from_millis(20));
        let (server, _heard) = server(options);
        let mut client = client(&server, LEGACY, "ann");
        let call = json!({"name": "wait", "arguments": {}, "task": {"ttl": 60_000}});
        let created = client.result("tools/call", call.clone());
        assert_eq!(
            (&created["task"]["ttl"], &created["task"]["pollInterval"]),
            (&json!(5000), &json!(20))
        );
        let error = client.error("tools/call", call);
        assert_eq!(error["code"], -32603);
        assert!(is_busy(&error, 1), "{error}");
    });
}
