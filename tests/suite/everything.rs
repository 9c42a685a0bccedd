//! `examples/everything_server` over stdio, with our client, in both eras.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder, Event};
use mcplink::protocol::CancelToken;
use mcplink::schema::{
    CallToolResult, CompleteRequestParams, CompletionReference, ContentBlock, CreateMessageResult,
    ElicitResult, LoggingLevel, LoggingMessageNotificationParams, ProtocolVersion,
    ReadResourceResult, ResourceContents, Root, SubscriptionFilter,
};
use mcplink::transport::Child;
use mcplink::{ErrorCode, ErrorKind};
use serde_json::{Value, json};

use crate::common::LONG;

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

fn example() -> PathBuf {
    crate::common::example("everything_server")
}

fn connect(revision: ProtocolVersion) -> Client {
    connect_as(Client::builder("test", "1.0"), revision)
}

fn connect_as(client: ClientBuilder, revision: ProtocolVersion) -> Client {
    let server = Child::new(example()).arg("stdio");
    client.revisions(&[revision]).connect(server).unwrap()
}

/// What the user fills in.
fn fill(field: &Value) -> Value {
    if let Some(first) = field["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = field["oneOf"].get(0) {
        return first["const"].clone();
    }
    match field["type"].as_str() {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(36),
        Some("array") => json!([]),
        _ => json!("Ada"),
    }
}

/// A client with a user, a model and a place to work in.
fn connect_answering(revision: ProtocolVersion, shown: &Arc<Mutex<Vec<Value>>>) -> Client {
    let shown = Arc::clone(shown);
    let client = Client::builder("test", "1.0")
        .on_elicit(move |form, _| {
            let schema: Value = form.requested_schema.read().unwrap();
            let fields = schema["properties"].as_object().unwrap().iter();
            let filled: Value = fields
                .map(|(name, field)| (name.clone(), fill(field)))
                .collect();
            shown.lock().unwrap().push(schema);
            ElicitResult::accept(&filled).unwrap()
        })
        .on_sample(|_, _| Ok(CreateMessageResult::new("parrot", "Paris")))
        .on_list_roots(|_| Ok(vec![Root::new("file:///home/ada")]));
    connect_as(client, revision)
}

fn call(client: &Client, tool: &str, arguments: &Value) -> CallToolResult {
    client.call_tool(tool, arguments).unwrap()
}

fn text_of(client: &Client, tool: &str, arguments: &Value) -> String {
    let result = call(client, tool, arguments);
    let texts = result.content.iter().filter_map(ContentBlock::as_text);
    texts.collect()
}

fn read(client: &Client, uri: &str) -> ReadResourceResult {
    client.read_resource(uri).unwrap()
}

fn prompt(client: &Client, name: &str, arguments: &[(&str, &str)]) -> Vec<ContentBlock> {
    let result = client.get_prompt(name, arguments).unwrap();
    let contents = result.messages.into_iter().map(|message| message.content);
    contents.collect()
}

#[test]
fn anything_but_stdio_is_a_usage_error() {
    for words in [&[][..], &["http"], &["stdio", "more"]] {
        let ran = Command::new(example())
            .args(words)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2), "{words:?}");
        assert!(ran.stdout.is_empty(), "{words:?}");
        assert!(ran.stderr.starts_with(b"usage:"), "{words:?}");
    }
}

// M-TOOL-S-03, M-RES-S-01, M-COMP-S-01, M-LOG-S-01
#[test]
fn everything_is_advertised_and_described() {
    for era in ERAS {
        let client = connect(era);
        assert_eq!(client.revision(), era);
        assert_eq!(client.server_info().unwrap().name, "everything");
        assert!(client.instructions().is_some());
        let can = serde_json::to_value(client.capabilities()).unwrap();
        for (feature, said) in [
            ("tools", json!({ "listChanged": true })),
            ("prompts", json!({ "listChanged": true })),
            (
                "resources",
                json!({ "listChanged": true, "subscribe": true }),
            ),
            ("completions", json!({})),
            ("logging", json!({})),
        ] {
            assert_eq!(can[feature], said, "{era}: {feature}");
        }
        let tools = client.list_tools().unwrap();
        assert_eq!(tools[0].name, "test_simple_text");
        for tool in tools {
            assert!(tool.description.is_some_and(|it| !it.is_empty()));
        }
        let resources = client.list_resources().unwrap();
        assert_eq!(resources[0].uri, "test://static-text");
        assert!(resources.iter().all(|it| it.mime_type.is_some()));
        let prompts = client.list_prompts().unwrap();
        assert!(prompts.iter().all(|it| it.description.is_some()));
        let templates = client.list_resource_templates().unwrap();
        let templates = templates.iter().map(|it| &*it.uri_template);
        assert_eq!(
            templates.collect::<Vec<_>>(),
            ["test://template/{id}/data", "fixture://item/{id}"]
        );
    }
}

// M-TOOL-S-06
#[test]
fn lists_are_in_the_same_order_each_time() {
    let names = || {
        let tools = connect(ProtocolVersion::LATEST).list_tools().unwrap();
        tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    let first = names();
    assert!(first.len() > 30, "{first:?}");
    assert_eq!(names(), first);
}

// M-TOOL-S-09: all keywords of a schema travel
#[test]
fn a_schema_written_by_hand_travels_whole() {
    for era in ERAS {
        let tools = connect(era).list_tools().unwrap();
        let schema_of = |name: &str| -> Value {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            tool.input_schema.read().unwrap()
        };
        let schema = schema_of("json_schema_2020_12_tool");
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert_eq!(schema["$defs"]["address"]["$anchor"], "addressDef");
        assert_eq!(schema["additionalProperties"], false);
        assert!(schema["allOf"][0]["anyOf"].is_array());
        for keyword in ["if", "then", "else"] {
            assert!(schema[keyword].is_object(), "{keyword}");
        }
        let mirrored = schema_of("test_custom_header");
        assert_eq!(mirrored["properties"]["value"]["x-mcp-header"], "Value");
    }
}

#[test]
fn tools_answer_with_texts() {
    for era in ERAS {
        let client = connect(era);
        for (tool, arguments, text) in [
            (
                "test_simple_text",
                json!({}),
                "This is a simple text response for testing.",
            ),
            (
                "echo",
                json!({ "message": "hej \u{2028} 😀\n" }),
                "hej \u{2028} 😀\n",
            ),
            ("greet", json!({ "name": "Ada" }), "Hello, Ada!"),
            ("add", json!({ "a": 2, "b": 40 }), "42"),
            ("add", json!({ "a": 0.5, "b": 1 }), "1.5"),
            ("test_custom_header", json!({ "value": "x" }), "x"),
        ] {
            assert_eq!(text_of(&client, tool, &arguments), text, "{era}: {tool}");
        }
        // The suite's own driver leaves the arguments out.
        let params = json!({ "name": "test_simple_text" });
        let options = CallOptions::new();
        let result = client.request("tools/call", &params, options).unwrap();
        assert!(result.contains("simple text response"), "{result:?}");
    }
}

// M-TOOL-S-20, M-TOOL-S-21
#[test]
fn structured_content_comes_with_its_schema_and_as_text() {
    for era in ERAS {
        let client = connect(era);
        let expected = json!({ "temperature": 22.5, "ok": true });
        let result = call(&client, "structured", &json!({}));
        assert_eq!(
            result.read_structured::<Value>().unwrap().unwrap(),
            expected
        );
        let text = result.content[0].as_text().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
        let tools = client.list_tools().unwrap();
        let tool = tools.iter().find(|tool| tool.name == "structured").unwrap();
        let schema: Value = tool.output_schema.as_ref().unwrap().read().unwrap();
        assert!(jsonschema::is_valid(&schema, &expected), "{schema}");
    }
}

#[test]
fn tools_answer_with_other_content() {
    for era in ERAS {
        let client = connect(era);
        for tool in ["image", "test_image_content"] {
            let result = call(&client, tool, &json!({}));
            let ContentBlock::Image(image) = &result.content[0] else {
                panic!("{result:?}");
            };
            assert_eq!(image.mime_type, "image/png");
            assert!(image.bytes().unwrap().starts_with(b"\x89PNG"));
        }
        let result = call(&client, "test_audio_content", &json!({}));
        let ContentBlock::Audio(audio) = &result.content[0] else {
            panic!("{result:?}");
        };
        assert_eq!(audio.mime_type, "audio/wav");
        assert!(audio.bytes().unwrap().starts_with(b"RIFF"));
        let result = call(&client, "test_embedded_resource", &json!({}));
        let ContentBlock::Resource(embedded) = &result.content[0] else {
            panic!("{result:?}");
        };
        assert_eq!(embedded.resource.uri(), "test://embedded-resource");
        let result = call(&client, "test_multiple_content_types", &json!({}));
        let kinds = result.content.iter().map(ContentBlock::kind);
        assert_eq!(kinds.collect::<Vec<_>>(), ["text", "image", "resource"]);
    }
}

// M-TOOL-S-23, M-TOOL-S-24, M-TOOL-S-25
#[test]
fn a_failing_tool_is_no_failing_request() {
    for era in ERAS {
        let client = connect(era);
        for tool in ["fail", "test_error_handling"] {
            let result = call(&client, tool, &json!({}));
            assert!(result.is_error());
            assert_eq!(result.content[0].as_text(), Some("it failed on purpose"));
        }
        assert!(call(&client, "add", &json!({ "a": 1, "b": "two" })).is_error());
        let error = client.call_tool("nothing", &json!({})).unwrap_err();
        assert_eq!(error.rpc().unwrap().code, ErrorCode::INVALID_PARAMS);
    }
}

// M-PROG-S-03
#[test]
fn progress_comes_a_message_a_step() {
    for era in ERAS {
        let client = connect(era);
        let mut seen = Vec::new();
        let options = CallOptions::new().on_progress(|step| {
            seen.push((step.progress, step.total, step.message.clone()));
        });
        let arguments = json!({ "steps": 3, "delay_ms": 20 });
        let result = client.call_tool_with("slow", &arguments, options).unwrap();
        assert_eq!(result.content[0].as_text(), Some("done 3"));
        let step = |number: i32| {
            let message = Some(format!("step {number} of 3"));
            (f64::from(number), Some(3.0), message)
        };
        assert_eq!(seen, [step(1), step(2), step(3)]);

        let mut seen = Vec::new();
        let options = CallOptions::new().on_progress(|step| seen.push(step.progress));
        let tool = "test_tool_with_progress";
        client.call_tool_with(tool, &json!({}), options).unwrap();
        assert_eq!(seen, [0.0, 50.0, 100.0]);
    }
}

#[test]
fn a_call_is_cancelled_and_the_next_one_served() {
    for era in ERAS {
        let client = connect(era);
        let token = CancelToken::new();
        let trigger = token.clone();
        let options = CallOptions::new()
            .cancel_with(&token)
            .on_progress(move |_| trigger.cancel());
        let arguments = json!({ "steps": 1000, "delay_ms": 20 });
        let error = client
            .call_tool_with("slow", &arguments, options)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        assert_eq!(text_of(&client, "echo", &json!({ "message": "x" })), "x");
    }
}

// M-RES-S-13
#[test]
fn resources_are_read_as_they_are() {
    for era in ERAS {
        let client = connect(era);
        for (uri, mime_type, text) in [
            (
                "test://static-text",
                "text/plain",
                "This is the content of the static text resource.",
            ),
            ("fixture://hello", "text/plain", "hello, resource"),
            (
                "fixture://unicode",
                "text/plain",
                "Grüße, 世界 🌍\u{2028} end",
            ),
            ("fixture://item/7", "text/plain", "item 7"),
            ("fixture://item/a%20b", "text/plain", "item a b"),
            (
                "test://template/123/data",
                "application/json",
                r#"{"data":"Data for ID: 123","id":"123","templateTest":true}"#,
            ),
        ] {
            let contents = ResourceContents::text(uri, text).mime_type(mime_type);
            assert_eq!(read(&client, uri).contents, [contents], "{era}: {uri}");
        }
        let all: Vec<u8> = (0..=255).collect();
        let blob = ResourceContents::blob("fixture://blob", &all);
        let blob = blob.mime_type("application/octet-stream");
        assert_eq!(read(&client, "fixture://blob").contents, [blob]);
        let result = read(&client, "test://static-binary");
        assert!(matches!(&result.contents[0], ResourceContents::Blob(blob)
            if blob.bytes().unwrap().starts_with(b"\x89PNG")));
    }
}

// M-RES-S-08, M-RES-S-10; the legacy era has a code of its own
#[test]
fn a_resource_that_does_not_exist_is_an_error() {
    for (era, code) in [
        (ERAS[0], ErrorCode::RESOURCE_NOT_FOUND),
        (ERAS[1], ErrorCode::INVALID_PARAMS),
    ] {
        let uri = "test://nonexistent-resource-for-conformance-testing";
        let error = connect(era).read_resource(uri).unwrap_err();
        assert!(error.is_not_found());
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code, code, "{era}");
        let data: Value = serde_json::from_str(rpc.data.as_ref().unwrap().get()).unwrap();
        assert_eq!(data["uri"], uri);
    }
}

#[test]
fn prompts_become_messages() {
    for era in ERAS {
        let client = connect(era);
        for (name, arguments, text) in [
            ("hello", &[][..], "Say hello."),
            ("greet", &[("name", "Ada")], "Please greet Ada."),
            ("third", &[], "This is the third prompt."),
            (
                "test_simple_prompt",
                &[],
                "This is a simple prompt for testing.",
            ),
            (
                "test_prompt_with_arguments",
                &[("arg1", "one"), ("arg2", "two")],
                "Prompt with arguments: arg1='one', arg2='two'",
            ),
        ] {
            let contents = prompt(&client, name, arguments);
            assert_eq!(contents.len(), 1);
            assert_eq!(contents[0].as_text(), Some(text), "{era}: {name}");
        }
        let uri = "test://example-resource";
        let name = "test_prompt_with_embedded_resource";
        let contents = prompt(&client, name, &[("resourceUri", uri)]);
        let ContentBlock::Resource(embedded) = &contents[0] else {
            panic!("{contents:?}");
        };
        assert_eq!(embedded.resource.uri(), uri);
        assert_eq!(contents[1].kind(), "text");
        let contents = prompt(&client, "test_prompt_with_image", &[]);
        let kinds = contents.iter().map(ContentBlock::kind);
        assert_eq!(kinds.collect::<Vec<_>>(), ["image", "text"]);
        let error = client.get_prompt("greet", &[]).unwrap_err();
        assert_eq!(error.rpc().unwrap().code, ErrorCode::INVALID_PARAMS);
    }
}

#[test]
fn arguments_are_completed() {
    for era in ERAS {
        let client = connect(era);
        let complete = |reference, argument: &str, value: &str| {
            let params = CompleteRequestParams::new(reference, argument, value);
            client.complete(params).unwrap().completion.values
        };
        let greet = || CompletionReference::prompt("greet");
        assert_eq!(complete(greet(), "name", "al"), ["alice", "albert"]);
        assert_eq!(complete(greet(), "name", ""), ["alice", "albert", "bob"]);
        assert!(complete(greet(), "name", "x").is_empty());
        let item = CompletionReference::resource("fixture://item/{id}");
        assert_eq!(complete(item, "id", "7"), ["7", "700"]);
        // This one has no completer.
        let prompt = CompletionReference::prompt("test_prompt_with_arguments");
        assert!(complete(prompt, "arg1", "test").is_empty());
    }
}

/// A client that hands on the log messages that it gets.
fn connect_logging(
    revision: ProtocolVersion,
) -> (Client, mpsc::Receiver<LoggingMessageNotificationParams>) {
    let (sender, receiver) = mpsc::channel();
    let client = Client::builder("test", "1.0").on_log_message(move |message| {
        sender.send(message.clone()).unwrap();
    });
    (connect_as(client, revision), receiver)
}

const STARTED: &str = "Tool execution started";

#[test]
fn a_legacy_client_gets_log_messages_at_its_level() {
    let (client, messages) = connect_logging(ERAS[0]);
    client.set_log_level(LoggingLevel::Warning).unwrap();
    call(&client, "test_tool_with_logging", &json!({}));
    client.set_log_level(LoggingLevel::Debug).unwrap();
    call(&client, "test_tool_with_logging", &json!({}));
    call(&client, "test_logging_tool", &json!({}));
    let texts = [
        STARTED,
        "Tool processing data",
        "Tool execution completed",
        "One message",
    ];
    for text in texts {
        let message = messages.recv_timeout(LONG).unwrap();
        assert_eq!(message.level, LoggingLevel::Info);
        assert_eq!(message.data.get(), json!(text).to_string());
    }
}

// M-LOG-S-02, M-LOG-S-03
#[test]
fn a_modern_client_gets_log_messages_for_calls_that_want_them() {
    let (client, messages) = connect_logging(ERAS[1]);
    let call = |tool: &str, level: Option<LoggingLevel>| {
        let options = CallOptions::new();
        let options = match level {
            Some(level) => options.log_level(level),
            None => options,
        };
        client.call_tool_with(tool, &json!({}), options).unwrap();
    };
    call("test_logging_tool", None);
    call("test_logging_tool", Some(LoggingLevel::Warning));
    call("test_tool_with_logging", Some(LoggingLevel::Debug));
    let first = messages.recv_timeout(LONG).unwrap();
    assert_eq!(first.data.get(), json!(STARTED).to_string());
    assert_eq!(first.logger.as_deref(), Some("everything"));
}

#[test]
fn tools_ask_and_answer() {
    for era in ERAS {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let client = connect_answering(era, &shown);
        let rounds = |kind: &str| format!("test_input_required_result_{kind}");
        for (tool, arguments, text) in [
            (
                "test_sampling",
                json!({ "prompt": "?" }),
                "LLM response: Paris",
            ),
            (
                "test_elicitation",
                json!({ "message": "?" }),
                r#"User response: accept {"email":"Ada","username":"Ada"}"#,
            ),
            ("test_missing_capability", json!({}), "Paris"),
            ("test_streaming_elicitation", json!({}), "Hello, Ada!"),
            (&rounds("elicitation"), json!({}), "Hello, Ada!"),
            (&rounds("sampling"), json!({}), "The capital: Paris"),
            (&rounds("list_roots"), json!({}), "Roots: file:///home/ada"),
            (&rounds("request_state"), json!({}), "state-ok: accept"),
            (&rounds("tampered_state"), json!({}), "state-ok: accept"),
            (
                &rounds("multiple_inputs"),
                json!({}),
                "Ada: Paris (file:///home/ada)",
            ),
            (&rounds("multi_round"), json!({}), "Ada likes Ada."),
            (&rounds("capabilities"), json!({}), "Paris"),
        ] {
            assert_eq!(text_of(&client, tool, &arguments), text, "{era}: {tool}");
        }
        let contents = prompt(&client, "test_input_required_result_prompt", &[]);
        assert_eq!(contents[0].as_text(), Some("Write about Ada."), "{era}");
    }
}

#[test]
fn forms_have_all_kinds_of_fields() {
    for era in ERAS {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let client = connect_answering(era, &shown);
        text_of(&client, "test_elicitation_sep1034_defaults", &json!({}));
        text_of(&client, "test_elicitation_sep1330_enums", &json!({}));
        let shown = shown.lock().unwrap();
        let (defaults, choices) = (&shown[0]["properties"], &shown[1]["properties"]);
        for (name, kind, default) in [
            ("name", "string", json!("John Doe")),
            ("age", "integer", json!(30)),
            ("score", "number", json!(95.5)),
            ("status", "string", json!("active")),
            ("verified", "boolean", json!(true)),
        ] {
            assert_eq!(defaults[name]["type"], kind);
            assert_eq!(defaults[name]["default"], default);
        }
        assert_eq!(
            defaults["status"]["enum"],
            json!(["active", "inactive", "pending"])
        );
        assert!(choices["untitledSingle"]["enum"].is_array());
        assert!(choices["titledSingle"]["oneOf"][0]["title"].is_string());
        let legacy = &choices["legacyEnum"];
        assert_eq!(legacy["enum"].as_array().unwrap().len(), 3);
        assert_eq!(legacy["enumNames"].as_array().unwrap().len(), 3);
        assert!(choices["untitledMulti"]["items"]["enum"].is_array());
        assert!(choices["titledMulti"]["items"]["anyOf"][0]["const"].is_string());
    }
}

/// Sends a modern call as it is, and gives what came.
fn raw_call(client: &Client, params: &Value) -> mcplink::Result<Value> {
    let result = client.request("tools/call", params, CallOptions::new())?;
    Ok(serde_json::from_str(&result).unwrap())
}

// M-MRTR-S-06, M-MRTR-S-07, M-ROOT-S-13
#[test]
fn nobody_is_asked_who_can_not_answer() {
    let client = connect(ERAS[1]);
    for (tool, lacks) in [
        ("test_missing_capability", "sampling"),
        ("test_input_required_result_elicitation", "elicitation"),
        ("test_input_required_result_list_roots", "roots"),
    ] {
        let error = client.call_tool(tool, &json!({})).unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY);
        let data: Value = serde_json::from_str(rpc.data.as_ref().unwrap().get()).unwrap();
        assert_eq!(data, json!({ "requiredCapabilities": { lacks: {} } }));
    }
    let result = call(&connect(ERAS[0]), "test_missing_capability", &json!({}));
    assert!(result.is_error());
}

// M-MRTR-S-10, M-MRTR-S-25, M-MRTR-S-27, M-MRTR-S-28
#[test]
fn what_comes_back_from_a_client_is_looked_at() {
    let client = connect_answering(ERAS[1], &Arc::default());
    let tool = "test_input_required_result_elicitation";
    let first = raw_call(&client, &json!({ "name": tool })).unwrap();
    assert_eq!(first["resultType"], "input_required");
    let question = &first["inputRequests"]["user_name"];
    assert_eq!(question["method"], "elicitation/create");
    let state = first["requestState"].as_str().unwrap();
    let again = |state: &str, responses: &Value| {
        let params = json!({ "name": tool, "requestState": state, "inputResponses": responses });
        raw_call(&client, &params)
    };
    let answer = json!({ "action": "accept", "content": { "name": "Alice" } });

    let extra = json!({ "user_name": answer, "unasked": { "roots": [] } });
    let done = again(state, &extra).unwrap();
    assert_eq!(done["resultType"], "complete");
    assert_eq!(done["content"][0]["text"], "Hello, Alice!");
    for missing in [json!({ "wrong_key": answer }), json!({}), Value::Null] {
        let asked = again(state, &missing).unwrap();
        assert_eq!(asked["resultType"], "input_required", "{missing}");
        assert!(asked["inputRequests"]["user_name"].is_object());
    }
    let odd = again(state, &json!({ "user_name": 12345 }));
    assert!(odd.is_err() || odd.unwrap()["isError"] == true);
    let forged = again(&format!("{state}-TAMPERED"), &extra).unwrap_err();
    assert_eq!(forged.rpc().unwrap().code, ErrorCode::INVALID_PARAMS);
}

// M-MRTR-S-03, M-MRTR-S-30
#[test]
fn several_questions_go_out_in_one_round_and_dependent_ones_in_two() {
    let client = connect_answering(ERAS[1], &Arc::default());
    let tool = "test_input_required_result_multiple_inputs";
    let asked = raw_call(&client, &json!({ "name": tool })).unwrap();
    let questions = asked["inputRequests"].as_object().unwrap().values();
    let mut methods: Vec<_> = questions.map(|it| it["method"].as_str().unwrap()).collect();
    methods.sort_unstable();
    assert_eq!(
        methods,
        ["elicitation/create", "roots/list", "sampling/createMessage"]
    );

    let tool = "test_input_required_result_multi_round";
    let one = raw_call(&client, &json!({ "name": tool })).unwrap();
    assert!(one["inputRequests"]["step1"].is_object());
    let two = json!({
        "name": tool,
        "requestState": one["requestState"],
        "inputResponses": { "step1": { "action": "accept", "content": { "name": "Alice" } } },
    });
    let two = raw_call(&client, &two).unwrap();
    assert!(two["inputRequests"]["step2"].is_object());
    assert_ne!(two["requestState"], one["requestState"]);
    let three = json!({
        "name": tool,
        "requestState": two["requestState"],
        "inputResponses": { "step2": { "action": "accept", "content": { "color": "blue" } } },
    });
    let three = raw_call(&client, &three).unwrap();
    assert_eq!(three["content"][0]["text"], "Alice likes blue.");
}

// M-TOOL-S-07, M-SUB-S-01, M-SUB-S-05
#[test]
fn changes_are_told_to_who_subscribed() {
    for era in ERAS {
        let client = connect(era);
        let filter = SubscriptionFilter::default()
            .tools_list_changed(true)
            .resource_subscriptions(vec!["test://watched-resource".to_owned()]);
        let (sender, events) = mpsc::channel();
        let subscription = client
            .subscribe(filter.clone(), move |event| sender.send(event).unwrap())
            .unwrap();
        assert_eq!(subscription.granted(), filter);
        text_of(&client, "test_trigger_prompt_change", &json!({}));
        text_of(&client, "touch", &json!({ "uri": "fixture://hello" }));
        let uri = "test://watched-resource";
        text_of(&client, "touch", &json!({ "uri": uri }));
        text_of(&client, "test_trigger_tool_change", &json!({}));
        let next = || events.recv_timeout(LONG).unwrap();
        assert_eq!(next(), Event::ResourceUpdated(uri.to_owned()));
        assert_eq!(next(), Event::ToolsChanged);
        let names = client.list_tools().unwrap();
        assert!(names.iter().all(|tool| tool.name != "fleeting"));
    }
}
