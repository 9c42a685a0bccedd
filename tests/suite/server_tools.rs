//! Tools: how they are listed and called.

use std::sync::mpsc;
use std::thread;

use mcplink::schema::{
    ContentBlock, EmbeddedResource, JsonSchema, ProtocolVersion, ResourceContents, Tool,
};
use mcplink::server::{Context, List, Server};
use mcplink::{ErrorKind, RpcError};
use serde_json::{Value, json};

use crate::scripted::{LONG, ScriptedClient, greeter, modern, take};

// M-TOOL-S-04, M-TOOL-S-05, M-TOOL-S-06, M-STATE-S-03, M-CACHE-S-01
#[test]
fn the_list_is_the_same_for_everyone_at_any_time() {
    let mut builder = Server::builder("s", "1");
    let names = ["zebra", "ant", "Mule", "mule", "a.b-c_d"];
    for name in names {
        builder = builder.tool_with(Tool::new(name), |_: Value, _: &Context| ());
    }
    let server = builder.build().unwrap();
    let mut first = ScriptedClient::of(&server);
    let mut second = ScriptedClient::legacy(&server, ProtocolVersion::V2025_11_25);
    let expected = first.ask_modern("tools/list", json!({}))["result"].clone();
    assert_eq!(
        (&expected["ttlMs"], &expected["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    let listed: Vec<&str> = expected["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed, names);
    for _ in 0..20 {
        first.call("ant", json!({}));
        assert_eq!(
            first.ask_modern("tools/list", json!({}))["result"],
            expected
        );
        let others = second.ask("tools/list", json!({}));
        assert_eq!(others["result"]["tools"], expected["tools"]);
        assert_eq!(
            second.ask_modern("tools/list", json!({}))["result"],
            expected
        );
    }
}

// M-PAGE-S-03, L-PAGE-S-05
#[test]
fn cursors_of_somebody_else_are_refused() {
    let server = greeter().build().unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server, revision);
        for cursor in [json!("x"), json!(" "), json!(7), json!({})] {
            let answer = client.ask_fitting("tools/list", json!({ "cursor": cursor }));
            assert_eq!(answer["error"]["code"], -32602, "{revision} {cursor}");
        }
        for cursor in [json!(null), json!("")] {
            let answer = client.ask_fitting("tools/list", json!({ "cursor": cursor }));
            assert!(answer.get("result").is_some(), "{answer}");
        }
    }
}

// M-TOOL-S-23, M-TOOL-B-13, L-TOOL-S-20, L-TOOL-B-08, M-ERR-B-02
#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let server = greeter().build().unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server, revision);
        for name in ["Greet", "greet ", "", "no\nsuch", &"x".repeat(5000)] {
            let answer = client.call(name, json!({ "name": "x" }));
            assert_eq!(answer["error"]["code"], -32602, "{revision} {name:?}");
        }
    }
}

// M-TOOL-S-25, L-TOOL-S-17, AMB-16
#[test]
fn bad_arguments_are_for_the_model_and_a_bad_shape_is_not() {
    let server = greeter().build().unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server, revision);
        for arguments in [json!({}), json!({ "name": 7 }), json!({ "name": null })] {
            let result = &client.call("greet", arguments)["result"];
            assert_eq!(result["isError"], true);
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("invalid arguments"), "{text}");
        }
        for params in [
            json!({}),
            json!({ "name": 7 }),
            json!({ "name": "greet", "arguments": [1] }),
            json!({ "name": "greet", "arguments": "x" }),
            json!({ "name": null }),
        ] {
            let answer = client.ask_fitting("tools/call", params.clone());
            assert_eq!(answer["error"]["code"], -32602, "{revision} {params}");
        }
    }
    let forgiving = Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "ran")
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&forgiving);
    for params in [
        json!({ "name": "t" }),
        json!({ "name": "t", "arguments": null }),
    ] {
        let answer = client.ask_modern("tools/call", params);
        assert_eq!(answer["result"]["content"][0]["text"], "ran");
    }
}

#[cfg(feature = "schemars")]
#[test]
fn a_tool_without_arguments_takes_nothing() {
    #[derive(serde::Deserialize)]
    struct Nothing;
    let any = Tool::new("any").input_schema(JsonSchema::any_object());
    let server = Server::builder("s", "1")
        .tool("derived", "Takes none", |(): (), _: &Context| "ran")
        .tool_with_schema(any, |Nothing: Nothing, _: &Context| "ran")
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let tools = client.ask_modern("tools/list", json!({}))["result"]["tools"].take();
    let tools = tools.as_array().unwrap();
    let derived = tools.iter().find(|tool| tool["name"] == "derived").unwrap();
    let none = json!({"type": "object", "additionalProperties": false, "properties": {}});
    assert_eq!(derived["inputSchema"], none);
    for name in ["derived", "any"] {
        for params in [
            json!({"name": name}),
            json!({"name": name, "arguments": {}}),
        ] {
            let answer = client.ask_modern("tools/call", params);
            assert_eq!(answer["result"]["content"][0]["text"], "ran", "{answer}");
        }
    }
}

// Seen in other SDKs: a handler that panics or gives no answer leaves its caller waiting.
// Must not happen: a late answer occupies a worker until it comes.
#[test]
fn deferred_calls_are_answered_from_any_thread_in_any_order() {
    let (keep, kept) = mpsc::channel();
    let server = Server::builder("s", "1")
        .deferred_tool(
            Tool::new("later").input_schema(JsonSchema::any_object()),
            move |call| drop(keep.send(call)),
        )
        .build()
        .unwrap();
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::V2024_11_05] {
        let mut client = ScriptedClient::speaking(&server, revision);
        let mut ids = Vec::new();
        for n in 0..100 {
            let mut params = json!({ "name": "later", "arguments": { "n": n } });
            if revision.is_modern() {
                params = modern(params);
            }
            ids.push(client.begin("tools/call", params));
        }
        let mut calls: Vec<_> = ids.iter().map(|_| take(&kept)).collect();
        calls.reverse();
        let threads = calls.into_iter().map(|call| {
            thread::spawn(move || {
                assert_eq!(call.context().client().revision, revision);
                let arguments: Value = call.arguments().unwrap();
                call.respond(format!("n is {}", arguments["n"])).unwrap();
            })
        });
        let threads: Vec<_> = threads.collect();
        let mut answered = std::collections::BTreeMap::new();
        for _ in &ids {
            let answer = client.receive();
            let text = answer["result"]["content"][0]["text"].clone();
            answered.insert(answer["id"].as_u64().unwrap(), text);
        }
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(answered[id], format!("n is {n}"));
        }
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());

        let id = client.begin("tools/call", modern(json!({ "name": "later" })));
        drop(take(&kept));
        let answer = client.receive();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(id), &json!(-32603))
        );
        client.begin("tools/call", modern(json!({ "name": "later" })));
        let call = take(&kept);
        call.refuse(&RpcError::invalid_params("not today")).unwrap();
        assert_eq!(client.receive()["error"]["message"], "not today");
        client.expect_silence();
    }
}

// M-TOOL-S-03, M-TOOL-S-04, M-DISC-S-03, M-DISC-S-07, M-TOOL-S-16
#[test]
fn tools_come_and_go_while_the_server_serves() {
    let server = greeter().build().unwrap();
    let mut modern = ScriptedClient::of(&server);
    let mut legacy = ScriptedClient::legacy(&server, ProtocolVersion::V2025_11_25);
    let names = |client: &mut ScriptedClient| -> Vec<String> {
        let answer = client.ask_fitting("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().expect("a list");
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    server
        .add_tool(Tool::new("new"), |_: Value, _: &Context| "new")
        .unwrap();
    let taken = server
        .add_tool(Tool::new("new"), |_: Value, _: &Context| "other")
        .unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Invalid);
    for client in [&mut modern, &mut legacy] {
        assert_eq!(names(client), ["greet", "new"]);
        assert_eq!(
            client.call("new", json!({}))["result"]["content"][0]["text"],
            "new"
        );
    }
    assert!(server.remove_tool("greet") && server.remove_tool("new"));
    for client in [&mut modern, &mut legacy] {
        assert!(
            names(client).is_empty(),
            "what was advertised is still served"
        );
        assert_eq!(client.call("new", json!({}))["error"]["code"], -32602);
    }
    let discovered = modern.ask_modern("server/discover", json!({}));
    assert_eq!(
        discovered["result"]["capabilities"],
        json!({ "tools": { "listChanged": true } })
    );
}

// M-TOOL-S-08, M-TOOL-S-12, M-TOOL-S-14, M-TOOL-S-15, L-TOOL-S-05, L-TOOL-S-07, L-TOOL-S-09, L-TOOL-S-10, L-TOOL-S-11
#[test]
fn tools_that_peers_could_not_use_are_refused_when_the_server_is_built() {
    let build = |tool: Tool| {
        Server::builder("s", "1")
            .tool_with(tool, |_: Value, _: &Context| ())
            .build()
            .map(drop)
    };
    for name in ["a", "A.b_c-9", &"x".repeat(128)] {
        build(Tool::new(name)).unwrap();
    }
    for name in ["", "a b", "a,b", "a/b", "ä", &"x".repeat(129)] {
        let error = build(Tool::new(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
        assert!(error.to_string().contains("not a tool name"), "{error}");
    }
    for schema in [r#"{"type":"array"}"#, "{}", "true"] {
        let schema = JsonSchema::parse(schema).unwrap();
        build(Tool::new("t").input_schema(schema)).unwrap_err();
    }
    for schema in ["null", "[]", "7"] {
        JsonSchema::parse(schema).unwrap_err();
    }
    let twice = greeter().tool_with(Tool::new("greet"), |_: Value, _: &Context| ());
    assert!(twice.build().unwrap_err().to_string().contains("greet"));
}

#[test]
fn methods_of_ones_own_are_served_and_do_not_replace_the_servers() {
    let server = greeter()
        .method("example/double", |request, responder| {
            let params: Value = serde_json::from_str(request.params()).unwrap();
            let doubled = params["n"].as_i64().map(|n| n * 2);
            let result = json!({ "resultType": "complete", "n": doubled });
            drop(responder.respond(&result));
        })
        .method("tools/list", |_, responder| {
            drop(responder.respond(&json!({ "resultType": "complete", "stolen": true })));
        })
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let answer = client.ask_modern("example/double", json!({ "n": 21 }));
    assert_eq!(answer["result"]["n"], 42);
    let listed = client.ask_modern("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "greet");
}

// M-VER-B-08
#[test]
fn handlers_see_who_asks_and_in_which_revision() {
    let (seen, sees) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), move |_: Value, context: &Context| {
            let terms = context.client().clone();
            let own = context.meta().extra.get("com.example/a").cloned();
            seen.send((terms, own)).unwrap();
        })
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server, revision);
        let mut params = json!({ "name": "t", "_meta": { "com.example/a": [1] } });
        if revision.is_modern() {
            let extensions = json!({ "com.example/e": { "deep": [1] } });
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                json!({ "extensions": extensions });
        }
        client.ask_fitting("tools/call", params);
        let (terms, own) = sees.recv_timeout(LONG).unwrap();
        assert_eq!(terms.revision, revision);
        assert_eq!(terms.client_info.unwrap().name, "scripted");
        assert!(terms.capabilities.sampling.is_none());
        let extension = terms.capabilities.extension("com.example/e");
        assert_eq!(
            extension,
            revision.is_modern().then_some(&json!({ "deep": [1] }))
        );
        assert_eq!(terms.capabilities.extension("com.example/f"), None);
        assert_eq!(
            own.map(|own| serde_json::to_value(own).unwrap()),
            Some(json!([1]))
        );
    }
}

// M-TOOL-S-19, L-TOOL-S-12
#[test]
fn the_host_is_told_of_embedded_resources_that_its_server_does_not_declare() {
    let embedding = || {
        let (log, logged) = mpsc::channel();
        let server = Server::builder("s", "1")
            .tool_with(Tool::new("t"), |_: Value, _: &Context| {
                ContentBlock::from(EmbeddedResource::new(ResourceContents::text("a:1", "text")))
            })
            .on_log(move |record| drop(log.send(record.text.to_owned())));
        (server, logged)
    };
    let (server, logged) = embedding();
    let server = server.build().unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server, revision);
        let result = &client.call("t", json!({}))["result"];
        assert_eq!(result["content"][0]["resource"]["uri"], "a:1");
    }
    let line = take(&logged);
    assert!(line.contains("'t' embeds a resource"), "{line}");
    // Once is enough.
    assert!(logged.try_recv().is_err());

    let (server, logged) = embedding();
    let server = server.declare_capability(List::Resources).build().unwrap();
    let mut client = ScriptedClient::of(&server);
    client.call("t", json!({}));
    assert!(logged.try_recv().is_err());
}

// M-JSCH-B-03, L-JSCH-B-03
#[cfg(feature = "schemars")]
#[test]
fn derived_schemas_are_of_the_latest_dialect() {
    #[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
    enum Shape {
        Point,
        Circle { radius: f64 },
        Polygon(Vec<(f64, f64)>),
    }
    #[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
    struct Drawing {
        title: Option<String>,
        shapes: Vec<Shape>,
        inner: Option<Box<Self>>,
    }
    let server = Server::builder("s", "1")
        .tool("draw", "Draws", |drawing: Drawing, _: &Context| {
            mcplink::server::Json(drawing)
        })
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let listed = client.ask_modern("tools/list", json!({}));
    let tool = &listed["result"]["tools"][0];
    for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
        // That dialect is the default, so that it need not be named.
        assert!(schema.get("$schema").is_none(), "{schema}");
        jsonschema::draft202012::meta::validate(schema).unwrap();
    }
}
