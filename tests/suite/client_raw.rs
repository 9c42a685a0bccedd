//! Results that are given as they came.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::jsonrpc::RawResult;
use mcplink::protocol::{CancelToken, Connection};
use mcplink::schema::{
    BooleanSchema, CacheHint, CacheScope, CompleteRequestParams, CompletionReference,
    ElicitRequestParams, ElicitResult, ElicitSchema, JsonSchema, ProtocolVersion, Resource,
    TaskSupport, Tool, ToolExecution,
};
use mcplink::server::{Cached, Context, HandlerError, ResourceRead, Server, TaskOptions};
use mcplink::transport::memory;
use mcplink::validation::Validator;
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::scripted::{ScriptedServer, asker, connect, in_time, script};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const BOTH: [ProtocolVersion; 2] = [LEGACY, MODERN];

/// Spaces, a number and an order of members that reading and writing again would change.
const ODD: &str = r#"{ "zeta" : 1.50e0 , "resultType":"complete","a":"\u00e4" }"#;

fn open(server: &mut ScriptedServer, revision: ProtocolVersion) {
    let capabilities = json!({ "tools": {}, "resources": {}, "prompts": {}, "completions": {} });
    let probe = server.expect("server/discover");
    if revision.is_modern() {
        let mut result = crate::scripted::discovered(&["2026-07-28"]);
        result["capabilities"] = capabilities;
        return server.answer(&probe, result);
    }
    server.refuse(&probe, json!({ "code": -32601, "message": "no" }));
    let request = server.expect("initialize");
    let mut result = crate::scripted::initialized(revision.as_str());
    result["capabilities"] = capabilities;
    server.agreed_on(revision);
    server.answer(&request, result);
    server.expect("notifications/initialized");
}

fn answer(server: &mut ScriptedServer, method: &str, result: &str) {
    let request = server.expect(method);
    let id = &request["id"];
    server.send_text(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
    ));
}

/// What completes an argument of a prompt.
fn completing() -> CompleteRequestParams {
    CompleteRequestParams::new(CompletionReference::prompt("p"), "a", "x")
}

#[test]
fn results_of_all_kinds_come_as_they_were_sent() {
    for revision in BOTH {
        let (transport, server) = script(move |server| {
            open(server, revision);
            for method in [
                "tools/call",
                "resources/read",
                "prompts/get",
                "completion/complete",
            ] {
                answer(server, method, ODD);
            }
            server.expect_end();
        });
        let client = connect(asker(), transport).unwrap();
        in_time(move || {
            let options = CallOptions::new;
            for result in [
                client.call_tool_raw("t", &json!({ "a": 1 }), options()),
                client.read_resource_raw("a:b", options()),
                client.get_prompt_raw("p", &[("a", "b")], options()),
                client.complete_raw(completing(), options()),
            ] {
                assert_eq!(result.unwrap().as_str(), ODD, "{revision}");
            }
        });
        server.end();
    }
}

#[test]
fn what_the_server_has_not_is_not_asked_for() {
    for revision in BOTH {
        let server = Server::builder("bare", "1").build().unwrap();
        let (client, _serving) = serve(&server, asker(), revision);
        let options = CallOptions::new;
        for result in [
            client.call_tool_raw("t", &(), options()),
            client.read_resource_raw("a:b", options()),
            client.get_prompt_raw("p", &[], options()),
            client.complete_raw(completing(), options()),
        ] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }
}

fn serve(
    server: &Server,
    client: ClientBuilder,
    revision: ProtocolVersion,
) -> (Client, Connection) {
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    let client = connect(client.revisions(&[revision]), here).unwrap();
    (client, serving)
}

fn text_of(result: &RawResult) -> String {
    let result: Value = serde_json::from_str(result).unwrap();
    assert!(result.get("inputRequests").is_none(), "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

fn raw(client: &Client, tool: &str) -> Result<RawResult> {
    let (client, tool) = (client.clone(), tool.to_owned());
    in_time(move || client.call_tool_raw(&tool, &json!({}), CallOptions::new()))
}

#[test]
fn questions_are_answered_and_tasks_followed_up_before() {
    let ask = |_: Value, context: &Context| {
        let form = ElicitSchema::default().required("ok", BooleanSchema::new());
        let form = ElicitRequestParams::form("sure?", form.to_schema()?);
        let answer = context.elicit("sure", form)?;
        Ok::<_, HandlerError>(format!("{:?}", answer.action))
    };
    let task = ToolExecution::default().task_support(TaskSupport::Required);
    let server = Server::builder("s", "1")
        .tasks(TaskOptions::default().poll_interval(Duration::from_millis(10)))
        .tool_with(Tool::new("ask"), ask)
        .tool_with(Tool::new("task").execution(task), ask)
        .build()
        .unwrap();
    for revision in BOTH {
        let people = asker().tasks().on_elicit(|_, _| ElicitResult::decline());
        let (client, _serving) = serve(&server, people, revision);
        // What the list says of a tool is heeded.
        client.list_tools().unwrap();
        for tool in ["ask", "task"] {
            let result = raw(&client, tool).unwrap();
            assert_eq!(text_of(&result), "Decline", "{revision} {tool}");
        }
    }
}

#[test]
fn a_raw_call_is_cancelled_as_any_other() {
    let cancel = CancelToken::new();
    let escape = cancel.clone();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("long"), move |_: Value, context: &Context| {
            escape.cancel();
            context.cancel_token().wait(crate::common::LONG);
        })
        .build()
        .unwrap();
    let (client, _serving) = serve(&server, asker(), MODERN);
    let error = in_time(move || {
        let options = CallOptions::new().cancel_with(&cancel);
        client.call_tool_raw("long", &(), options).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

/// Takes only texts with the word that the schema has as its title.
fn picky() -> Validator {
    Validator::custom(|schema: &JsonSchema| {
        let schema: Value = schema.read()?;
        let word = schema["title"].as_str().unwrap_or_default().to_owned();
        Ok(move |json: &str| match json.contains(&word) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Invalid, format!("expected '{word}'"))),
        })
    })
}

// M-TOOL-C-22, L-TOOL-C-15
#[test]
fn what_was_promised_is_checked_and_still_comes_as_it_was_sent() {
    const GOOD: &str =
        r#"{ "resultType":"complete","content":[],"structuredContent":{ "good" : 1 } }"#;
    const BAD: &str =
        r#"{ "resultType":"complete","content":[],"structuredContent":{ "bad" : 1 } }"#;
    for revision in BOTH {
        let (transport, server) = script(move |server| {
            open(server, revision);
            let request = server.expect("tools/list");
            let tool = json!({
                "name": "t",
                "inputSchema": { "type": "object" },
                "outputSchema": { "type": "object", "title": "good" },
            });
            let list = json!({ "resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private" });
            server.answer(&request, list);
            answer(server, "tools/call", GOOD);
            answer(server, "tools/call", BAD);
            server.expect_end();
        });
        let client = connect(asker().validator(picky()), transport).unwrap();
        client.list_tools().unwrap();
        assert_eq!(raw(&client, "t").unwrap().as_str(), GOOD);
        let error = raw(&client, "t").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        assert_eq!(error.result(), Some(BAD));
        drop(client);
        server.end();
    }
}

#[test]
fn what_may_be_kept_is_kept_for_raw_and_typed_reads_alike() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let server = Server::builder("s", "1")
        .resource(
            Resource::new("a:b", "b"),
            move |_: &ResourceRead, _: &Context| {
                counted.fetch_add(1, Ordering::SeqCst);
                let hint = CacheHint::new(Duration::from_secs(600), CacheScope::Private);
                Cached("kept", hint)
            },
        )
        .build()
        .unwrap();
    let (client, _serving) = serve(&server, asker(), MODERN);
    let options = CallOptions::new;
    let first = client.read_resource_raw("a:b", options()).unwrap();
    let second = client.read_resource_raw("a:b", options()).unwrap();
    assert_eq!(first.as_str(), second.as_str());
    let typed = client.read_resource("a:b").unwrap();
    assert_eq!(typed.contents[0].as_text(), Some("kept"));
    assert_eq!(reads.load(Ordering::SeqCst), 1);
    let anew = options().bypass_cache();
    let third = client.read_resource_raw("a:b", anew).unwrap();
    assert_eq!(third.as_str(), first.as_str());
    assert_eq!(reads.load(Ordering::SeqCst), 2);
}

#[test]
fn what_can_not_be_read_is_not_kept_by_who_reads_it() {
    const STRANGE: &str =
        r#"{"resultType":"complete","contents":7,"ttlMs":600000,"cacheScope":"private"}"#;
    const FINE: &str =
        r#"{"resultType":"complete","contents":[],"ttlMs":600000,"cacheScope":"private"}"#;
    let (transport, server) = script(|server| {
        open(server, MODERN);
        answer(server, "resources/read", STRANGE);
        answer(server, "resources/read", FINE);
        server.expect_end();
    });
    let client = connect(asker(), transport).unwrap();
    in_time(move || {
        let error = client.read_resource("a:b").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        for _ in 0..2 {
            let options = CallOptions::new();
            let result = client.read_resource_raw("a:b", options).unwrap();
            assert_eq!(result.as_str(), FINE);
        }
    });
    server.end();
}

// Promise 6: what is kept of a message as a tree is bounded.
#[test]
fn results_with_too_many_parts_are_refused_but_come_raw() {
    for revision in BOTH {
        let (transport, server) = script(move |server| {
            open(server, revision);
            let many = vec!["{\"\":0}"; 150_000].join(",");
            let inside = format!("\"resultType\":\"complete\",\"_meta\":{{\"x\":[{many}]}}");
            let text = format!("{{\"content\":[],{inside}}}");
            for _ in 0..2 {
                answer(server, "tools/call", &text);
            }
            answer(server, "tools/list", &format!("{{\"tools\":[],{inside}}}"));
            server.expect_end();
        });
        let client = connect(asker(), transport).unwrap();
        in_time(move || {
            let error = client.call_tool("t", &json!({})).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
            let text = error.to_string();
            assert!(text.contains("too many parts: more than 64 MiB"), "{text}");
            let raw = client.call_tool_raw("t", &json!({}), CallOptions::new());
            assert!(raw.unwrap().len() > 1_000_000);
            let error = client.list_tools().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
            client.close();
        });
        server.end();
    }
}
