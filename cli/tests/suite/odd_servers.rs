//! Servers that write beside the letter: what does not fit costs nothing but itself, and the user is
//! told of it once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcplink::client::CallOptions;
use serde_json::{Value, json};

use crate::actions::{run_to, with_tools};
use crate::failures::Folder;
use crate::proxy::{builder, proxy};
use crate::runs::{Terminal, example, mcp_against, program, shown_at_a_terminal};
use crate::stub::{Stub, discovered, initialized};

fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result["ttlMs"] = json!(0);
    result["cacheScope"] = json!("private");
    result
}

/// A modern server that answers each method with this result.
fn answering(results: Value) -> Stub {
    Stub::modern(move |seen, out| out.result(seen, complete(results[&*seen.asks()].clone())))
}

/// The one line on standard error has all of these.
fn said_once(said: &str, parts: &[&str]) {
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("mcplink: "), "{said}");
    for part in parts {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
}

#[test]
fn the_user_is_told_of_entries_that_were_left_out() {
    let schema = json!({ "type": "object" });
    let stub = answering(json!({
        "tools/list": { "tools": [
            { "name": "good", "inputSchema": schema },
            { "name": "bare" },
            { "name": "hinted", "inputSchema": schema, "annotations": { "readOnlyHint": "yes" } },
            "text",
        ] },
        "resources/list": { "resources": [{ "uri": "a:good", "name": "g" }, { "name": "nowhere" }] },
        "resources/templates/list": { "resourceTemplates": [{ "name": "t" }, {
            "uriTemplate": "a:{good}", "name": "g",
        }] },
        "prompts/list": { "prompts": [{ "title": "nameless" }, { "name": "good" }] },
    }));
    for (words, shown, parts) in [
        (
            vec!["tools"],
            vec!["good", "hinted"],
            vec![
                "tools/list",
                "/tools/1 of 'bare'",
                "/tools/2/annotations/readOnlyHint",
                "/tools/3",
            ],
        ),
        (
            vec!["tools", "--json"],
            vec!["good", "hinted"],
            vec!["/tools/1"],
        ),
        (vec!["tool", "good"], vec!["good"], vec!["/tools/1"]),
        (
            vec!["resources"],
            vec!["a:good"],
            vec!["/resources/1 of 'nowhere'"],
        ),
        (
            vec!["templates"],
            vec!["a:{good}"],
            vec!["/resourceTemplates/0"],
        ),
        (vec!["prompts"], vec!["good"], vec!["/prompts/0"]),
    ] {
        let (code, out, said) = run_to(&stub.url(), &words);
        assert_eq!(code, 0, "{words:?}: {said}");
        for name in shown {
            assert!(out.contains(name), "{words:?}: {out}");
        }
        said_once(&said, &parts);
    }
    // A tool that can't be called over HTTP is left out too.
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "object", "x-mcp-header": "A" } },
    });
    let stub = with_tools(
        json!([{ "name": "odd", "inputSchema": schema }]),
        Value::Null,
    );
    let (code, _, said) = run_to(&stub.url(), &["tools"]);
    assert_eq!(code, 0, "{said}");
    said_once(&said, &["tool 'odd'", "left out"]);
}

#[test]
fn a_block_that_does_not_fit_costs_no_other() {
    let content = json!([
        { "type": "text", "text": "one" }, { "type": "text", "text": null },
        { "type": "text", "text": "two" },
    ]);
    let said = |block: Value| json!({ "role": "user", "content": block });
    let stub = answering(json!({
        "tools/list": { "tools": [] },
        "tools/call": { "content": content },
        "prompts/get": { "messages": [said(content[0].clone()), said(content[1].clone())] },
        "resources/read": { "contents": [{ "uri": "a:b", "text": "one" }, { "uri": "a:c" }] },
    }));
    let url = stub.url();
    for (words, expected, part) in [
        (["call", "x"].as_slice(), "one\ntwo\n", "/content/1"),
        (&["read", "a:b"], "one", "/contents/1"),
    ] {
        let (code, out, said) = run_to(&url, words);
        assert_eq!((code, &*out), (0, expected), "{said}");
        said_once(&said, &[part]);
    }
    let (code, out, said) = run_to(&url, &["prompt", "x"]);
    assert!(code == 0 && out.contains("one"), "{out}{said}");
    said_once(&said, &["/messages/1"]);
    let (_, out, _) = run_to(&url, &["call", "x", "--json"]);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["content"], json!([content[0], content[2]]));
    // The raw result is whole.
    for words in [
        ["call", "x", "--raw"],
        ["read", "a:b", "--raw"],
        ["prompt", "x", "--raw"],
    ] {
        let (code, out, said) = run_to(&url, &words);
        assert_eq!((code, &*said), (0, ""));
        assert!(out.contains("null") || out.contains("a:c"), "{out}");
    }
}

/// Half of a surrogate pair is text that got lost; what is shown with `--raw` still has it.
#[test]
fn half_of_a_surrogate_pair_hides_nothing_else() {
    let half = "before \u{fffe}";
    let schema = json!({
        "type": "object", "required": ["n"],
        "properties": { "n": { "type": "integer", "description": half } },
    });
    let tool = json!({ "name": "t", "description": half, "inputSchema": schema });
    let server = json!({
        "tools/list": { "tools": [tool] },
        "tools/call": {
            "content": [{ "type": "text", "text": half }], "isError": true,
            "structuredContent": { "text": half },
        },
    });
    let (program, server) = (example("bad_server"), server.to_string());
    let run = |words: &[&str]| mcp_against(words, &[program.to_str().unwrap(), &server], "");
    let raw = run(&["call", "t", "n=1", "--raw"]);
    assert_eq!(raw.code, 1, "{}", raw.err);
    assert!(raw.out.contains(r#""text":"before \ud83d""#), "{}", raw.out);
    let called = run(&["call", "t", "n=1"]);
    assert_eq!(called.code, 1, "{}", called.err);
    assert!(called.err.contains("before \u{fffd}"), "{}", called.err);
    let help = run(&["tool", "t"]);
    assert!(help.out.contains("n: integer, required"), "{}", help.out);
}

#[test]
fn the_proxy_passes_results_as_they_came() {
    let message = json!({ "role": "user", "content": { "type": "text", "text": null } });
    let stub = answering(json!({
        "tools/list": { "tools": [{ "name": "x", "inputSchema": { "type": "object" } }] },
        "prompts/list": { "prompts": [{ "name": "x" }] },
        "tools/call": { "content": [message["content"]], "later": 1 },
        "prompts/get": { "messages": [message], "later": 1 },
    }));
    let front = proxy(&[&format!("a={}", stub.url())]);
    let client = builder("modern").connect(front).unwrap();
    let called = client.call_tool_raw("x", &json!({}), CallOptions::new());
    let given = client.get_prompt_raw("x", &[], CallOptions::new());
    for result in [called, given] {
        let result = result.unwrap();
        let text = result.as_str();
        assert!(text.contains(r#""text":null"#), "{text}");
        assert!(text.contains(r#""later":1"#), "{text}");
    }
}

/// A legacy server with one finished task, whose result has a block that does not fit.
fn with_tasks(page: Value) -> Stub {
    let result = json!({
        "content": [{ "type": "text", "text": null }, { "type": "text", "text": "done" }],
        "structuredContent": [],
    });
    Stub::start(move |seen, out| match &*seen.asks() {
        "initialize" => {
            let mut opening = initialized("2025-11-25");
            opening["capabilities"]["tasks"] = json!({ "list": {}, "cancel": {} });
            out.result(seen, opening);
        }
        "tasks/list" => out.result(seen, page.clone()),
        "tasks/get" => out.result(
            seen,
            json!({
                "taskId": "1", "status": "completed", "createdAt": "2025-11-25T10:00:00Z",
                "lastUpdatedAt": "2025-11-25T10:00:00Z", "ttl": null, "statusMessage": 7,
            }),
        ),
        "tasks/result" | "tools/call" => out.result(seen, result.clone()),
        _ if seen.method != "POST" => out.respond("405 Method Not Allowed", &[], ""),
        _ if seen.id().is_null() => out.accept(),
        asked => panic!("{asked}"),
    })
}

#[test]
fn structured_content_of_php_is_an_object() {
    let stub = with_tasks(json!({ "tasks": [] }));
    let (code, out, said) = run_to(&stub.url(), &["--era=legacy", "--json", "call", "x"]);
    assert_eq!(code, 0, "{said}");
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["structuredContent"], json!({}));
    said_once(&said, &["/content/0"]);
}

#[test]
fn tasks_are_listed_and_awaited_as_far_as_they_can_be_read() {
    let stub = with_tasks(json!({
        "tasks": [
            { "taskId": "1", "status": "completed", "statusMessage": 7 },
            { "status": "working" },
            { "taskId": "2", "status": "working", "createdAt": "2025-11-25T10:00:00Z" },
        ],
        "nextCursor": null,
    }));
    let url = stub.url();
    let (code, out, said) = run_to(&url, &["--era=legacy", "tasks", "list"]);
    assert_eq!(code, 0, "{said}");
    let rows: Vec<Vec<&str>> = out
        .lines()
        .map(|row| row.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows[1..],
        [
            vec!["1", "completed"],
            vec!["2", "working", "2025-11-25T10:00:00Z"]
        ],
        "{out}"
    );
    said_once(&said, &["1 tasks have no id"]);
    let (_, out, _) = run_to(&url, &["--era=legacy", "--json", "tasks"]);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["tasks"].as_array().unwrap().len(), 3);
    let (code, out, said) = run_to(&url, &["--era=legacy", "tasks", "show", "1"]);
    assert_eq!((code, &*out), (0, "completed\n"), "{said}");
    let (code, out, said) = run_to(&url, &["--era=legacy", "tasks", "wait", "1"]);
    assert_eq!((code, &*out), (0, "done\n"), "{said}");
    assert!(said.contains("/content/0"), "{said}");
    // No tasks, in two ways; and a result that is none.
    for (page, code) in [
        (json!({ "tasks": null }), 0),
        (json!({ "tasks": [] }), 0),
        (json!({}), 4),
    ] {
        let stub = with_tasks(page);
        assert_eq!(run_to(&stub.url(), &["--era=legacy", "tasks"]).0, code);
    }
}

#[test]
fn a_modern_task_is_awaited_as_far_as_its_result_can_be_read() {
    let stub = Stub::start(|seen, out| {
        let mut result = match &*seen.asks() {
            "server/discover" => {
                let mut discovered = discovered();
                let extensions = json!({ "io.modelcontextprotocol/tasks": {} });
                discovered["capabilities"]["extensions"] = extensions;
                discovered
            }
            _ => json!({ "taskId": "1", "status": "completed", "createdAt": 5, "result": {
                "resultType": "complete",
                "content": [{ "type": "text", "text": null }, { "type": "text", "text": "done" }],
            } }),
        };
        result["resultType"] = json!("complete");
        out.result(seen, result);
    });
    let (code, out, said) = run_to(&stub.url(), &["tasks", "wait", "1"]);
    assert_eq!((code, &*out), (0, "done\n"), "{said}");
    said_once(&said, &["/content/0"]);
}

/// A legacy server with tools, prompts and resources, which declares none of them.
fn declaring_nothing() -> Stub {
    Stub::start(|seen, out| {
        let result = match &*seen.asks() {
            "initialize" => {
                let mut opening = initialized("2025-11-25");
                opening["capabilities"] = json!({});
                opening
            }
            "tools/list" => json!({ "tools": [{ "name": "hidden", "inputSchema": {
                "type": "object",
            } }] }),
            "prompts/list" => json!({ "prompts": [{ "name": "asked" }] }),
            "resources/list" => json!({ "resources": [{ "uri": "a:b", "name": "b" }] }),
            "resources/templates/list" => json!({ "resourceTemplates": [] }),
            _ if seen.method != "POST" => {
                return out.respond("405 Method Not Allowed", &[], "");
            }
            "server/discover" => return out.respond("400 Bad Request", &[], ""),
            _ => return out.accept(),
        };
        out.result(seen, result);
    })
}

#[test]
fn what_a_server_does_not_declare_is_asked_for() {
    let stub = declaring_nothing();
    for (action, name) in [
        ("tools", "hidden"),
        ("prompts", "asked"),
        ("resources", "a:b"),
    ] {
        let (code, out, said) = run_to(&stub.url(), &[action]);
        assert!(code == 0 && out.contains(name), "{out}{said}");
    }
    let folder = Folder::new("hidden");
    let mut command = program();
    command.args(["--url", &stub.url(), "shell"]);
    command
        .env("XDG_STATE_HOME", &folder.0)
        .env("TERM", "xterm");
    let mut terminal = Terminal::start(command);
    terminal.wait_for("'quit' ends.");
    terminal.write("call h\t");
    terminal.wait_for("hidden");
    terminal.write("\u{15}read a\t");
    terminal.wait_for("a:b");
    terminal.write("\u{15}quit\r");
    assert_eq!(terminal.code(), 0);
}

/// Characters that steer a terminal, and how they are shown.
const ODD: &str = "a\u{1b}[2J\u{7f}\u{9b}31m\u{85}\u{202e}cod\u{2066}x";
const SHOWN: &str = "a\\u{1b}[2J\\u{7f}\\u{9b}31m\\u{85}\\u{202e}cod\\u{2066}x";

#[test]
fn nothing_that_a_server_says_beside_results_steers_a_terminal() {
    let stub = Stub::modern(|seen, out| {
        let token = &seen.body()["params"]["_meta"]["progressToken"];
        let notify = |name: &str, params: Value| json!({ "jsonrpc": "2.0", "method": format!("notifications/{name}"), "params": params });
        out.stream();
        out.event(&notify(
            "message",
            json!({ "level": "info", "logger": ODD, "data": ODD }),
        ));
        out.event(&notify(
            "message",
            json!({ "level": "info", "data": { "a": ODD } }),
        ));
        out.event(&notify(
            "progress",
            json!({ "progressToken": token, "progress": 1, "message": ODD }),
        ));
        out.event_result(seen, crate::stub::text("done"));
        out.end();
    });
    let script = format!(
        "printf '%s\\n' '{ODD}' >&2; exec {}",
        example("interop_server").display()
    );
    for (words, count) in [
        (vec!["--log", "info", "--url", &stub.url(), "call", "x"], 3),
        (
            vec!["call", "greet", "name=a", "--", "sh", "-c", &script],
            1,
        ),
    ] {
        let shown = shown_at_a_terminal(&words);
        assert!(shown.matches(SHOWN).count() >= count, "{shown:?}");
        steers_nothing(&shown);
    }
}

fn steers_nothing(shown: &str) {
    let shown = shown.replace("\r\u{1b}[K", "");
    let steers = |c: char| c.is_control() && !matches!(c, '\r' | '\n' | '\t');
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert_eq!(shown.find(|c| steers(c) || turns(c)), None, "{shown:?}");
}

#[test]
fn questions_and_events_do_not_steer_a_terminal() {
    let stub = Stub::modern(|seen, out| {
        if seen.asks() == "subscriptions/listen" {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.id() });
            let notify = |name: &str, mut params: Value| {
                params["_meta"] = meta.clone();
                let method = format!("notifications/{name}");
                json!({ "jsonrpc": "2.0", "method": method, "params": params })
            };
            let filter = seen.body()["params"]["notifications"].clone();
            out.stream();
            out.event(&notify(
                "subscriptions/acknowledged",
                json!({ "notifications": filter }),
            ));
            out.event(&notify(
                "resources/updated",
                json!({ "uri": format!("a:{ODD}") }),
            ));
            return out.expect_close();
        }
        let question = json!({ "method": "elicitation/create", "params": {
            "message": ODD, "requestedSchema": { "type": "object", "properties": {
                "name": { "type": "string", "title": ODD, "description": ODD },
            } } } });
        let asked = json!({
            "resultType": "input_required", "inputRequests": { "k": question },
        });
        out.result(seen, asked);
    });
    let start = |words: &[&str]| {
        let mut command = program();
        command.args(["--url", &stub.url()]).args(words);
        Terminal::start(command)
    };
    let mut asked = start(&["call", "x"]);
    asked.wait_for(SHOWN);
    asked.wait_for(SHOWN);
    asked.signal("INT");
    assert_eq!(asked.code(), 130);
    let mut listening = start(&["listen", &format!("a:{ODD}")]);
    listening.wait_for(&format!("a:{SHOWN} has changed"));
    listening.signal("INT");
    assert_eq!(listening.code(), 130);
}

#[test]
fn a_report_for_programs_escapes_what_steers_a_terminal() {
    let stub = Stub::legacy("2025-11-25", |seen, out| match &*seen.method {
        "POST" => out.respond("500 Internal Server Error", &[], ODD),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    });
    let words = [
        "check",
        "--era",
        "legacy",
        "--only",
        "protocol/ping",
        "--format",
    ];
    for (format, shown) in [
        ("junit", SHOWN),
        ("json", "a\\u001b[2J\\u007f\\u009b31m\\u0085\\u202ecod"),
    ] {
        let (code, out, said) = run_to(&stub.url(), &[&words[..], &[format]].concat());
        assert_eq!(code, 1, "{said}");
        assert!(out.contains(shown), "{out}");
        steers_nothing(&out);
    }
}

#[test]
fn listening_goes_on_however_a_subscription_ends() {
    let count = AtomicUsize::new(0);
    let stub = Stub::modern(move |seen, out| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        if number == 2 {
            return out.respond("503 Service Unavailable", &[], "not now");
        }
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.id() });
        let notify = |name: &str, mut params: Value| {
            params["_meta"] = meta.clone();
            let method = format!("notifications/{name}");
            json!({ "jsonrpc": "2.0", "method": method, "params": params })
        };
        let filter = seen.body()["params"]["notifications"].clone();
        out.stream();
        out.event(&notify(
            "subscriptions/acknowledged",
            json!({ "notifications": filter }),
        ));
        out.event(&notify(
            "resources/updated",
            json!({ "uri": format!("a:{number}") }),
        ));
        match number {
            0 => {
                out.event_result(seen, json!({ "resultType": "complete", "_meta": meta }));
                out.end();
            }
            1 => out.end(),
            3 => out.cut(),
            4 => {
                let error = json!({ "code": -32603, "message": "over" });
                out.event(&json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error }));
                out.end();
            }
            _ => out.expect_close(),
        }
    });
    let mut command = program();
    command.args(["--url", &stub.url(), "listen", "a:x"]);
    let mut listening = Terminal::start(command);
    for number in [0, 1, 3, 4, 5] {
        if number > 0 {
            listening.wait_for("everything may have changed");
        }
        listening.wait_for(&format!("a:{number} has changed"));
    }
    listening.signal("INT");
    assert_eq!(listening.code(), 130);
    assert_eq!(stub.seen_asking("subscriptions/listen").len(), 6);
}

#[test]
fn listening_ends_when_the_server_refuses_to_go_on() {
    let has_begun = AtomicBool::new(false);
    let stub = Stub::modern(move |seen, out| {
        if has_begun.swap(true, Ordering::SeqCst) {
            let error = json!({ "code": -32601, "message": "no more" });
            return out.json(&json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error }));
        }
        let filter = seen.body()["params"]["notifications"].clone();
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.id() });
        out.stream();
        out.event(&json!({
            "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": { "notifications": filter, "_meta": meta },
        }));
        out.end();
    });
    let mut command = program();
    command.args(["--url", &stub.url(), "listen"]);
    let mut listening = Terminal::start(command);
    listening.wait_for("no more");
    assert_eq!(listening.code(), 3);
}

// The call has happened, so its result is not thrown away.
#[test]
fn a_result_that_cant_be_read_is_shown_after_the_reason() {
    let stub = Stub::modern(|seen, out| match &*seen.asks() {
        "tools/call" => out.result(seen, json!(["it is done", 42])),
        _ => out.result(
            seen,
            complete(json!({ "tools": [{ "name": "x", "inputSchema": { "type": "object" } }] })),
        ),
    });
    let (code, _, said) = run_to(&stub.url(), &["call", "x"]);
    assert_eq!(code, 4, "{said}");
    let (reason, result) = said.split_once(": result is not an object: ").expect(&said);
    assert!(reason.contains("tools/call"), "{said}");
    assert!(result.contains(r#"["it is done",42]"#), "{said}");
}

// A server that serves files refuses calls before it knows the roots.
#[test]
fn the_first_call_waits_until_the_server_has_asked_for_the_roots() {
    let server = example("bad_server");
    let server = [server.to_str().unwrap(), "awaits roots"];
    for (words, expected) in [
        (
            &["--root", "file:///work", "call", "good"][..],
            "roots: true\n",
        ),
        (&["call", "good"], "roots: false\n"),
    ] {
        let ran = mcp_against(words, &server, "");
        assert_eq!(ran.out, expected, "{}", ran.err);
    }
}
