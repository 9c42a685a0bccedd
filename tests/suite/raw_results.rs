//! What a proxy uses: raw results of other servers, resources that are not listed, and the call
//! that an input request belongs to.

use std::sync::{Arc, Mutex};

use mcplink::client::{CallOptions, Client};
use mcplink::jsonrpc::RawResult;
use mcplink::schema::{
    ElicitRequestParams, ElicitResult, JsonSchema, Prompt, ProtocolVersion, Resource, Tool,
};
use mcplink::server::{
    Context, Guard, GuardedRequest, GuardedResult, List, PromptCall, ResourceCall, Server,
    ServerBuilder, ToolCall,
};
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::common::Script;

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

fn connect(server: &Server, revision: ProtocolVersion) -> Client {
    let (here, there) = memory::pair();
    // The connection ends with the client.
    std::mem::forget(server.open(there).unwrap());
    Client::builder("test", "1.0")
        .revisions(&[revision])
        .connect(here)
        .unwrap()
}

/// A server whose only tool and resource have odd but allowed white space and an unknown member.
fn behind() -> Server {
    Server::builder("behind", "1.0")
        .tool_with(Tool::new("one"), |_: Value, _: &Context| {
            serde_json::from_value::<mcplink::schema::CallToolResult>(
                json!({ "content": [{ "type": "text", "text": "1", "later": 2 }], "new": true }),
            )
            .map_err(mcplink::server::HandlerError::from)
        })
        .resource(Resource::new("x:1", "one"), |_: &_, _: &_| "text of x:1")
        .prompt(Prompt::new("one"), |(): (), _: &Context| {
            serde_json::from_value::<mcplink::schema::GetPromptResult>(
                json!({ "messages": [], "new": true }),
            )
            .map_err(mcplink::server::HandlerError::from)
        })
        .build()
        .unwrap()
}

/// A server that answers with the raw results of another one.
fn in_front(behind: Client, builder: ServerBuilder) -> Server {
    let (tools, resources, prompts) = (behind.clone(), behind.clone(), behind);
    builder
        .deferred_prompt(Prompt::new("one"), move |call: PromptCall| {
            let result = prompts.get_prompt_raw("one", &[], CallOptions::new());
            call.respond_raw(result.unwrap(), prompts.revision())
                .unwrap();
        })
        .deferred_tool(
            Tool::new("one").input_schema(JsonSchema::any_object()),
            move |call: ToolCall| {
                let result = tools.call_tool_raw("one", &json!({}), CallOptions::new());
                call.respond_raw(result.unwrap(), tools.revision()).unwrap();
            },
        )
        .declare_capability(List::Resources)
        .deferred_unlisted_resources(move |call: ResourceCall| {
            let uri = call.read().uri().to_owned();
            match resources.read_resource_raw(&uri, CallOptions::new()) {
                Ok(result) => call.respond_raw(result, resources.revision()).unwrap(),
                Err(_) => call.not_found().unwrap(),
            }
        })
        .build()
        .unwrap()
}

fn value(result: &RawResult) -> Value {
    serde_json::from_str(result).unwrap()
}

#[test]
fn a_raw_result_reaches_a_client_of_either_era() {
    for theirs in ERAS {
        for ours in ERAS {
            let server = in_front(connect(&behind(), theirs), Server::builder("front", "1.0"));
            let client = connect(&server, ours);
            let result = client
                .call_tool_raw("one", &json!({}), CallOptions::new())
                .unwrap();
            let result = value(&result);
            assert_eq!(result["content"][0]["later"], 2, "{theirs} {ours}");
            assert_eq!(result["new"], true, "{theirs} {ours}");
            let wanted = ours.is_modern().then_some("complete");
            assert_eq!(result["resultType"].as_str(), wanted, "{theirs} {ours}");

            let result = client.get_prompt_raw("one", &[], CallOptions::new());
            let result = value(&result.unwrap());
            assert_eq!(result["new"], true, "{theirs} {ours}");
            assert_eq!(result["resultType"].as_str(), wanted, "{theirs} {ours}");

            // The resource is in no list of the server in front.
            assert!(client.list_resources().unwrap().is_empty());
            let read = client.read_resource("x:1").unwrap();
            assert_eq!(read.contents[0].as_text(), Some("text of x:1"));
            let missing = client.read_resource("x:2").unwrap_err();
            assert!(missing.is_not_found(), "{theirs} {ours}: {missing}");

            // M-CACHE-S-01: the result of either server has a cache hint for a modern client, and
            // none for a legacy client.
            let read = client.read_resource_raw("x:1", CallOptions::new()).unwrap();
            let read = value(&read);
            let hint = (&read["ttlMs"], &read["cacheScope"]);
            let wanted = match ours.is_modern() {
                true => (json!(0), json!("private")),
                false => (Value::Null, Value::Null),
            };
            assert_eq!(hint, (&wanted.0, &wanted.1), "{theirs} {ours}");
            assert_eq!(read["resultType"].as_str().is_some(), ours.is_modern());
        }
    }
}

/// A legacy server can't put the members of 2026-07-28 into the mouth of the proxy.
#[test]
fn members_of_a_later_era_do_not_pass() {
    let (here, there) = memory::pair();
    let peer = std::thread::spawn(move || {
        let mut script = Script::open(there);
        let opening = script.receive_request("initialize");
        script.answer(
            &opening,
            &json!({
                "protocolVersion": "2025-11-25",
                "serverInfo": { "name": "behind", "version": "1.0" },
                "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
            }),
        );
        script.receive();
        let forged = json!({ "resultType": "input_required", "content": [], "contents": [],
            "messages": [], "ttlMs": 9, "cacheScope": "public", "new": true });
        for method in ["tools/call", "resources/read", "prompts/get"] {
            let request = script.receive_request(method);
            script.answer(&request, &forged);
        }
    });
    let behind = Client::builder("test", "1.0")
        .revisions(&[ERAS[0]])
        .connect(here)
        .unwrap();
    let server = in_front(behind, Server::builder("front", "1.0"));
    let client = connect(&server, ERAS[1]);
    let result = client.call_tool_raw("one", &json!({}), CallOptions::new());
    let result = value(&result.unwrap());
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["new"], true);
    let read = client.read_resource_raw("x:1", CallOptions::new()).unwrap();
    let read = value(&read);
    assert_eq!(read["resultType"], "complete");
    assert_eq!(
        (&read["ttlMs"], &read["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    let result = client.get_prompt_raw("one", &[], CallOptions::new());
    assert_eq!(value(&result.unwrap())["resultType"], "complete");
    peer.join().unwrap();
}

/// A guard that hides texts from clients.
struct Censor;

impl Guard for Censor {
    fn release(&self, outgoing: &mut GuardedResult<'_>, _: &Context) {
        match outgoing {
            GuardedResult::Tool(result) => result.content.clear(),
            GuardedResult::Prompt(result) => result.description = Some("censored".to_owned()),
            _ => {}
        }
    }
}

#[test]
fn a_guard_that_changes_results_sees_raw_ones_too() {
    for revision in ERAS {
        let builder = || Server::builder("front", "1.0");
        let censored = builder().guard(Censor);
        // A closure only admits, so the result stays raw.
        let admitted = builder().guard(|_: &GuardedRequest<'_>| Ok(()));
        for (builder, blocks) in [(censored, 0), (admitted, 1)] {
            let server = in_front(connect(&behind(), revision), builder);
            let client = connect(&server, revision);
            let result = client.call_tool("one", &json!({})).unwrap();
            assert_eq!(result.content.len(), blocks, "{revision}");
            let result = client.get_prompt("one", &[]).unwrap();
            assert_eq!(result.description.is_some(), blocks == 0, "{revision}");
        }
    }
}

#[test]
fn an_input_request_has_the_tag_of_its_call() {
    let schema = r#"{"type":"object","properties":{}}"#;
    let server = Server::builder("asks", "1.0")
        .tool_with(Tool::new("ask"), move |_: Value, context: &Context| {
            let form = ElicitRequestParams::form("?", JsonSchema::parse(schema).unwrap());
            context.elicit("key", form)?;
            Ok::<_, mcplink::server::HandlerError>("asked")
        })
        .build()
        .unwrap();
    for revision in ERAS {
        let (here, there) = memory::pair();
        let _connection = server.open(there).unwrap();
        let tags = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&tags);
        let client = Client::builder("test", "1.0")
            .revisions(&[revision])
            .on_elicit(move |_, by| {
                seen.lock().unwrap().push(by.tag());
                ElicitResult::decline()
            })
            .connect(here)
            .unwrap();
        let started = client.start_tool("ask", &json!({}), CallOptions::new().tag(7));
        started.unwrap().wait().unwrap();
        client
            .call_tool_with("ask", &json!({}), CallOptions::new().tag(8))
            .unwrap();
        client.call_tool("ask", &json!({})).unwrap();
        // A legacy server does not say which call needs the input.
        let wanted = match revision.is_modern() {
            true => vec![Some(7), Some(8), None],
            false => vec![None; 3],
        };
        assert_eq!(*tags.lock().unwrap(), wanted, "{revision}");
    }
}
