//! What a client does with the schemas that a server lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcplink::client::Client;
use mcplink::schema::{CallToolResult, JsonSchema, ProtocolVersion, Tool, ToolAnnotations};
use mcplink::server::{Context, Server};
use mcplink::transport::{Direction, Tap, memory};
use mcplink::validation::Validator;
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::scripted::{Scripted, ScriptedClient, ScriptedServer, asker, connect, in_time, script};

/// Takes only texts with a certain word, which the schema says as its title.
fn picky() -> Validator {
    Validator::custom(|schema: &JsonSchema| {
        let schema: Value = schema.read()?;
        let Some(word) = schema["title"].as_str().map(str::to_owned) else {
            return Err(Error::new(ErrorKind::Invalid, "a schema needs a title"));
        };
        Ok(move |json: &str| match json.contains(&word) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Invalid, format!("expected '{word}'"))),
        })
    })
}

fn open(server: &mut ScriptedServer, revision: ProtocolVersion) {
    match revision.is_modern() {
        true => drop(server.open_modern()),
        false => server.open_legacy(revision),
    }
}

fn listed(tools: Value) -> Value {
    json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" })
}

fn tool(output: Value) -> Value {
    json!([{ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": output }])
}

fn called(structured: Value) -> Value {
    json!({ "resultType": "complete", "content": [], "structuredContent": structured, "x": 1.50 })
}

fn call(client: &Client) -> Result<CallToolResult> {
    let client = client.clone();
    in_time(move || client.call_tool("t", &json!({})))
}

const REVISIONS: [ProtocolVersion; 3] = [
    ProtocolVersion::LATEST,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2025_06_18,
];

// M-TOOL-C-22, M-TOOL-C-32, L-TOOL-C-15, L-TOOL-C-19
#[test]
fn a_result_that_breaks_its_promise_is_an_error_that_keeps_the_result() {
    for revision in REVISIONS {
        let (transport, server) = script(move |server| {
            open(server, revision);
            let request = server.expect("tools/call");
            server.answer(&request, called(json!({ "bad": 0 })));
            let request = server.expect("tools/list");
            server.answer(
                &request,
                listed(tool(json!({ "type": "object", "title": "good" }))),
            );
            let failed = json!({ "resultType": "complete", "content": [], "isError": true });
            let bare = json!({ "resultType": "complete", "content": [] });
            for result in [
                called(json!({ "good": 1 })),
                called(json!({ "bad": 1 })),
                bare,
                failed,
            ] {
                let request = server.expect("tools/call");
                server.answer(&request, result);
            }
            server.expect_end();
        });
        let client = connect(asker().validator(picky()), transport).unwrap();
        // Nothing is known of the tool yet.
        call(&client).unwrap();
        client.list_tools().unwrap();
        call(&client).unwrap();
        let error = call(&client).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        assert!(error.was_sent());
        let text = error.to_string();
        assert_eq!(
            text,
            "the structured content of tool 't' of 'scripted' does not fit its output schema: expected 'good'"
        );
        let kept: CallToolResult = serde_json::from_str(error.result().unwrap()).unwrap();
        assert_eq!(kept.structured_content.unwrap().get(), r#"{"bad":1}"#);
        assert_eq!(kept.extra["x"], 1.5);
        let error = call(&client).unwrap_err();
        assert!(
            error.to_string().ends_with("output schema: there is none"),
            "{error}"
        );
        assert!(error.result().is_some());
        // M-TOOL-C-26, L-TOOL-C-16: the tool's own failure is for the model.
        assert!(call(&client).unwrap().is_error());
        drop(client);
        server.end();
    }
}

// M-JSCH-B-10
#[test]
fn a_tool_whose_output_schema_can_not_be_used_is_not_called() {
    let (transport, server) = script(|server| {
        server.open_modern();
        let request = server.expect("tools/list");
        server.answer(&request, listed(tool(json!({ "type": "object" }))));
        server.expect_end();
    });
    let client = connect(asker().validator(picky()), transport).unwrap();
    client.list_tools().unwrap();
    for _ in 0..2 {
        let error = call(&client).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(!error.was_sent());
        assert_eq!(
            error.to_string(),
            "the output schema of tool 't' of 'scripted' can't be used: a schema needs a title; ClientBuilder::validator can switch the check off"
        );
    }
    drop(client);
    server.end();
}

#[test]
fn a_change_of_the_tools_makes_their_schemas_unknown() {
    let (transport, server) = script(|server| {
        server.open_legacy(ProtocolVersion::V2025_11_25);
        let request = server.expect("tools/list");
        server.answer(
            &request,
            listed(tool(json!({ "type": "object", "title": "good" }))),
        );
        let request = server.expect("tools/call");
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
        server.answer(&request, called(json!({ "good": 1 })));
        let mut asked = 0;
        // It is looked at by another thread than the one that calls.
        while let Some(request) = server.next() {
            server.answer(&request, called(json!({ "bad": 1 })));
            asked += 1;
        }
        asked
    });
    let client = connect(asker().validator(picky()), transport).unwrap();
    client.list_tools().unwrap();
    call(&client).unwrap();
    crate::common::wait_until("the change is noticed", || call(&client).is_ok());
    call(&client).unwrap();
    drop(client);
    assert!(server.end() >= 2);
}

#[test]
fn checking_can_be_switched_off() {
    let (transport, server) = script(|server| {
        server.open_modern();
        let request = server.expect("tools/list");
        server.answer(&request, listed(tool(json!({ "type": 5 }))));
        let request = server.expect("tools/call");
        server.answer(&request, called(json!(7)));
        server.expect_end();
    });
    let client = connect(asker().validator(None), transport).unwrap();
    client.list_tools().unwrap();
    assert!(call(&client).is_ok());
    drop(client);
    server.end();
}

/// A host's own engine serves a server too.
#[test]
fn a_validator_of_ones_own_checks_arguments_and_results() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let titled =
        |title: &str| JsonSchema::new(&json!({ "type": "object", "title": title })).unwrap();
    let tool = Tool::new("t")
        .input_schema(titled("in"))
        .output_schema(titled("out"));
    let add = move |server: mcplink::server::ServerBuilder, tool: Tool| {
        let counted = Arc::clone(&counted);
        server.tool_with(tool, move |arguments: Value, _: &Context| {
            counted.fetch_add(1, Ordering::Relaxed);
            CallToolResult::default()
                .structured(&arguments["give"])
                .unwrap()
        })
    };
    // The order does not matter: the tool is compiled when the server is built.
    let builder = add(Server::builder("s", "1"), tool.clone()).validator(picky());
    let server = builder.build().unwrap();
    let mut client = ScriptedClient::of(&server);
    let answer = client.call("t", json!({ "give": { "out": 1 } }));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "invalid arguments: expected 'in'");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    let answer = client.call("t", json!({ "in": 1, "give": { "out": 1 } }));
    assert_eq!(answer["result"]["structuredContent"], json!({ "out": 1 }));
    let answer = client.call("t", json!({ "in": 1, "give": { "other": 1 } }));
    assert_eq!(answer["error"]["code"], -32603);
    let untitled = tool.input_schema(JsonSchema::any_object());
    let error = add(Server::builder("s", "1"), untitled)
        .validator(picky())
        .build();
    let text = error.unwrap_err().to_string();
    assert_eq!(text, "tool 't': inputSchema: a schema needs a title");
}

/// Without any engine a server still gives what its tools promise to give.
#[test]
fn a_promised_structure_is_there_without_a_validator_too() {
    let tool = Tool::new("t").output_schema(JsonSchema::any_object());
    let server = Server::builder("s", "1").tool_with(tool, |_: Value, _: &Context| "a text");
    let server = server.validator(None).build().unwrap();
    let mut client = ScriptedClient::of(&server);
    assert_eq!(client.call("t", json!({}))["error"]["code"], -32603);
}

/// What a client sends in a session in which a tool is annotated like this.
fn session(annotations: ToolAnnotations) -> Vec<String> {
    let (transport, server): (_, Scripted<Vec<String>>) = script(move |server| {
        let mut sent = vec![server.open_modern().to_string()];
        let request = server.expect("tools/list");
        sent.push(request.to_string());
        let annotated = json!([{ "name": "t", "inputSchema": { "type": "object" }, "annotations": annotations }]);
        server.answer(&request, listed(annotated));
        let request = server.expect("tools/call");
        sent.push(request.to_string());
        server.refuse(&request, json!({ "code": -32603, "message": "try again?" }));
        // And the next one is never answered: the server leaves.
        sent.push(server.expect("tools/call").to_string());
        sent
    });
    let client = connect(asker(), transport).unwrap();
    client.list_tools().unwrap();
    assert_eq!(call(&client).unwrap_err().kind(), ErrorKind::Peer);
    assert_eq!(call(&client).unwrap_err().kind(), ErrorKind::Closed);
    server.end()
}

// M-TOOL-C-11, L-TOOL-C-06
#[test]
fn nothing_is_decided_by_what_a_server_says_of_its_tools() {
    let expected = session(ToolAnnotations::default());
    for (read_only, destructive) in [(true, false), (false, true)] {
        let hints = ToolAnnotations::default()
            .read_only_hint(read_only)
            .destructive_hint(destructive)
            .idempotent_hint(read_only)
            .open_world_hint(destructive);
        // A call that failed is not repeated, nor is one held back.
        assert_eq!(session(hints), expected, "{read_only} {destructive}");
    }
}

// M-TOOL-C-17, M-TOOL-C-18
#[test]
fn tools_of_two_servers_with_one_name_stay_apart() {
    let server = |says: &'static str| {
        let tool = Tool::new("who").description(says);
        let server = Server::builder("the same", "1");
        let server = server.tool_with(tool, move |_: Value, _: &Context| says);
        let server = server.build().unwrap();
        let (here, there) = memory::pair();
        let serving = server.open(there).unwrap();
        (connect(asker(), here).unwrap(), serving)
    };
    let clients = [("one", server("one")), ("two", server("two"))];
    for (says, (client, _serving)) in &clients {
        assert_eq!(client.server_info().unwrap().name, "the same");
        let tools = client.list_tools().unwrap();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].description.as_deref(), Some(*says));
        let result = client.call_tool("who", &json!({})).unwrap();
        assert_eq!(result.content[0].as_text(), Some(*says));
    }
}

// M-TOOL-C-35, L-TOOL-C-19
#[test]
fn every_call_and_its_result_can_be_recorded() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "given")
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    let _serving = server.open(there).unwrap();
    let (seen, sees) = std::sync::mpsc::channel();
    let tap = Tap::new(here, move |message| {
        let outgoing = message.direction == Direction::Outgoing;
        drop(seen.send((outgoing, message.text_lossy().into_owned())));
    });
    let client = connect(asker(), tap).unwrap();
    client.call_tool("t", &json!({ "secret": 7 })).unwrap();
    let record: Vec<(bool, String)> = sees.try_iter().collect();
    let found = |out: bool, words: &[&str]| {
        let of = |(way, text): &&(bool, String)| {
            *way == out && words.iter().all(|word| text.contains(word))
        };
        record.iter().filter(of).count()
    };
    assert_eq!(
        found(true, &["\"tools/call\"", "\"t\"", "{\"secret\":7}"]),
        1,
        "{record:?}"
    );
    assert_eq!(found(false, &["\"given\""]), 1, "{record:?}");
}
