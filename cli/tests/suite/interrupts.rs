//! Signals and `--timeout` in actions other than plain calls: tasks and checks.

use serde_json::{Value, json};

use crate::actions::run_to;
use crate::runs::{Running, example};
use crate::stub::{Stub, discovered, initialized, text};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

fn with_member(mut object: Value, path: &str, value: Value) -> Value {
    object["capabilities"][path] = value;
    object
}

/// A server of either era with tasks, which never answers requests for `method`.
fn silent_at(method: &'static str, is_legacy: bool) -> Stub {
    Stub::start(move |seen, out| match (&*seen.method, &*seen.asks()) {
        ("POST", asked) if asked == method => out.expect_close(),
        ("POST", "server/discover") if !is_legacy => {
            let extensions = json!({ EXTENSION: {} });
            out.result(seen, with_member(discovered(), "extensions", extensions));
        }
        ("POST", "initialize") => {
            let tasks =
                json!({ "requests": { "tools": { "call": {} } }, "cancel": {}, "list": {} });
            out.result(seen, with_member(initialized("2025-11-25"), "tasks", tasks));
        }
        ("POST", "tools/list") => {
            let tool = json!({
                "name": "t", "inputSchema": { "type": "object" },
                "execution": { "taskSupport": "optional" },
            });
            let page = json!({
                "resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private",
            });
            out.result(seen, page);
        }
        ("POST", _) if seen.id().is_null() => out.accept(),
        ("POST", "tools/call") => out.result(seen, text("at once")),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    })
}

const TASKS: [(&str, &[&str]); 4] = [
    ("tasks/get", &["tasks", "show", "id"]),
    ("tasks/cancel", &["tasks", "cancel", "id"]),
    ("tasks/get", &["tasks", "wait", "id"]),
    ("tools/call", &["call", "t", "--task"]),
];

fn words<'a>(era: &'a str, first: &[&'a str], action: &[&'a str]) -> Vec<&'a str> {
    [first, &["--era", era], action].concat()
}

#[test]
fn a_signal_ends_what_asks_for_tasks() {
    for (is_legacy, era) in [(true, "legacy"), (false, "modern")] {
        for (method, action) in TASKS {
            let stub = silent_at(method, is_legacy);
            let mut running = Running::start_to(&stub.url(), &words(era, &["--trace"], action));
            running.wait_for(&[">", method]);
            running.signal("INT");
            assert_eq!(running.code(), 130, "{era} {action:?}");
        }
    }
    // The list of tools comes first.
    let stub = silent_at("tools/list", true);
    let action = ["--trace", "--era", "legacy", "call", "t", "--task"];
    let mut running = Running::start_to(&stub.url(), &action);
    running.wait_for(&[">", "tools/list"]);
    running.signal("TERM");
    assert_eq!(running.code(), 130);
}

#[test]
fn the_timeout_bounds_what_asks_for_tasks() {
    for (is_legacy, era) in [(true, "legacy"), (false, "modern")] {
        for (method, action) in TASKS {
            let stub = silent_at(method, is_legacy);
            let words = words(era, &["--timeout", "1"], action);
            let (code, out, said) = run_to(&stub.url(), &words);
            assert_eq!((code, &*out), (5, ""), "{era} {action:?}: {said}");
        }
    }
}

#[test]
fn a_signal_ends_a_check_while_it_waits() {
    // Over HTTP.
    let stub = silent_at("ping", true);
    let check = [
        "check",
        "--era",
        "legacy",
        "--timeout",
        "60",
        "--only",
        "ping",
    ];
    let mut running = Running::start_to(&stub.url(), &check);
    crate::common::wait_until("the check waits", || !stub.seen_asking("ping").is_empty());
    running.signal("INT");
    assert_eq!(running.code(), 130);
    let heard: Vec<String> = running.heard.by_ref().map(Result::unwrap).collect();
    assert!(
        !heard.iter().any(|line| line.contains("FAILED")),
        "{heard:?}"
    );
    // Over stdio: the server says on standard error that it has got the request.
    let server = example("interop_server").display().to_string();
    let script = format!(
        "while read -r line; do case $line in *'\"ping\"'*) echo got >&2;; *) echo \"$line\";; \
         esac; done | '{server}'"
    );
    let check = [
        "--stderr",
        "always",
        "check",
        "--era",
        "legacy",
        "--timeout",
        "60",
        "--only",
        "ping",
    ];
    let mut running = Running::start(&check, &["sh", "-c", &script]);
    running.wait_for(&["got"]);
    running.signal("TERM");
    assert_eq!(running.code(), 130);
}
