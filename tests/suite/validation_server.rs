//! Arguments and structured results of tools, held against their JSON Schemas by the default validator of each build.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use mcplink::ErrorKind;
use mcplink::schema::{CallToolResult, JsonSchema, ProtocolVersion, Tool};
use mcplink::server::{Context, Server, ServerBuilder};
use serde_json::{Value, json};

use crate::scripted::{ScriptedClient, take};

fn schema(value: Value) -> JsonSchema {
    JsonSchema::new(&value).unwrap()
}

fn numbers() -> Value {
    json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "minimum": 1, "maximum": 10 },
            "names": { "type": "array", "items": { "type": "string", "minLength": 2 } },
        },
        "required": ["n"],
        "additionalProperties": false,
    })
}

// M-TOOL-S-27, M-TOOL-S-25, L-TOOL-S-17, AMB-16
#[test]
fn arguments_that_do_not_fit_never_reach_the_handler() {
    let runs = Arc::new(AtomicUsize::new(0));
    let (counted, counted_too) = (Arc::clone(&runs), Arc::clone(&runs));
    let tool = |name| Tool::new(name).input_schema(schema(numbers()));
    let server = Server::builder("s", "1")
        .tool_with(tool("now"), move |_: Value, _: &Context| {
            counted.fetch_add(1, Ordering::Relaxed);
        })
        .deferred_tool(tool("later"), move |call| {
            counted_too.fetch_add(1, Ordering::Relaxed);
            drop(call.respond("done"));
        })
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server, revision);
        for name in ["now", "later"] {
            for (arguments, why) in [
                (json!({}), "property \"n\" is missing"),
                (json!({ "n": "1" }), "/n: expected integer, got \"1\""),
                (json!({ "n": 1.5 }), "/n: expected integer, got 1.5"),
                (json!({ "n": 11 }), "/n: expected at most 10, got 11"),
                (json!({ "n": 1, "m": 2 }), "property \"m\" is not expected"),
                (
                    json!({ "n": 1, "names": ["ab", "c"] }),
                    "/names/1: expected at least 2 characters, got \"c\"",
                ),
            ] {
                let result = &client.call(name, arguments)["result"];
                assert_eq!(result["isError"], true, "{revision} {why}");
                let text = result["content"][0]["text"].as_str().unwrap();
                assert_eq!(text, format!("invalid arguments: {why}"), "{revision}");
            }
        }
        assert_eq!(runs.load(Ordering::Relaxed), 0, "{revision}");
        let result = &client.call("now", json!({ "n": 10.0, "names": [] }))["result"];
        assert_ne!(result["isError"], true, "{result}");
        client.call("later", json!({ "n": 1 }));
        assert_eq!(runs.swap(0, Ordering::Relaxed), 2, "{revision}");
    }
}

/// A server with a tool that gives what it is given as `result`, with this output schema.
fn giving(output: Value) -> (ServerBuilder, mpsc::Receiver<String>) {
    let (log, logged) = mpsc::channel();
    let tool = Tool::new("give").output_schema(schema(output));
    let server = Server::builder("s", "1")
        .tool_with(tool, |arguments: Value, _: &Context| {
            serde_json::from_value::<CallToolResult>(arguments["result"].clone()).unwrap()
        })
        .on_log(move |record| drop(log.send(record.text.to_owned())));
    (server, logged)
}

// M-TOOL-S-21, L-TOOL-S-14, M-TOOL-S-10
#[test]
fn a_result_that_is_not_what_was_promised_is_not_sent() {
    let promised =
        json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
    let (server, logged) = giving(promised);
    let server = server.build().unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server, revision);
        for (result, why) in [
            (json!({ "content": [] }), "no structured content"),
            (
                json!({ "content": [], "structuredContent": {} }),
                "property \"n\" is missing",
            ),
            (
                json!({ "content": [], "structuredContent": { "n": "1" } }),
                "/n: expected number",
            ),
            (
                json!({ "content": [], "structuredContent": null }),
                "expected object",
            ),
        ] {
            let answer = client.call("give", json!({ "result": result }));
            assert_eq!(answer["error"]["code"], -32603, "{revision} {answer}");
            let told = answer["error"]["message"].as_str().unwrap();
            assert_eq!(told, "internal error");
            let line = take(&logged);
            assert!(line.starts_with("the result of tool 'give': "), "{line}");
            assert!(line.contains(why), "{line}");
        }
        for good in [
            json!({ "content": [], "structuredContent": { "n": 1 } }),
            json!({ "content": [], "isError": true }),
            json!({ "content": [], "isError": true, "structuredContent": { "code": 7 } }),
        ] {
            let answer = client.call("give", json!({ "result": good }));
            assert!(answer.get("result").is_some(), "{revision} {answer}");
        }
    }
    let (list, _) = giving(json!({ "type": "array", "items": { "type": "integer" } }));
    let list = list.build().unwrap();
    let mut client = ScriptedClient::of(&list);
    let good = json!({ "result": { "content": [], "structuredContent": [1, 2] } });
    let answer = client.call("give", good);
    assert_eq!(answer["result"]["structuredContent"], json!([1, 2]));
    let bad = json!({ "result": { "content": [], "structuredContent": [1, "2"] } });
    assert_eq!(client.call("give", bad)["error"]["code"], -32603);
}

// M-TOOL-S-21
#[test]
fn who_answers_later_learns_that_the_result_does_not_fit() {
    let (told, tells) = mpsc::channel();
    let tool = Tool::new("later")
        .input_schema(JsonSchema::any_object())
        .output_schema(schema(json!({ "type": "object" })));
    let server = Server::builder("s", "1")
        .deferred_tool(tool, move |call| {
            told.send(call.respond("a text")).unwrap();
        })
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    assert_eq!(client.call("later", json!({}))["error"]["code"], -32603);
    let error = take(&tells).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(
        error.to_string().contains("no structured content"),
        "{error}"
    );
}

#[test]
fn the_host_can_switch_checking_off() {
    let (server, _) = giving(json!({ "type": "object", "required": ["n"] }));
    let tool = Tool::new("t").input_schema(schema(
        json!({ "type": "object", "required": ["n"], "minimum": "one" }),
    ));
    let server = server
        .tool_with(tool, |_: Value, _: &Context| "ran")
        .validator(None)
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let answer = client.call("t", json!({}));
    assert_eq!(answer["result"]["content"][0]["text"], "ran");
    let given = json!({ "result": { "content": [], "structuredContent": {} } });
    assert!(client.call("give", given).get("result").is_some());
}

/// What a server with such a tool says to these arguments: the text of the result.
fn said(server: &Server, arguments: Value) -> (bool, String) {
    let answer = ScriptedClient::of(server).call("t", arguments);
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    (result["isError"] == true, text.unwrap().to_owned())
}

/// A server whose tool takes any object that fits this property.
fn taking(property: Value) -> mcplink::Result<Server> {
    let input = json!({ "type": "object", "properties": { "a": property } });
    let tool = Tool::new("t").input_schema(schema(input));
    let server = Server::builder("s", "1");
    server
        .tool_with_schema(tool, |_: Value, _: &Context| "it ran")
        .build()
}

// M-TOOL-S-27: the keywords that C declares with mcplink_tool_add_param_schema (tests/cffi/arguments.c has the texts too)
#[test]
fn every_build_checks_the_common_keywords() {
    for (property, fits, why) in [
        (
            json!({ "type": "string" }),
            json!("x"),
            "expected string, got 7",
        ),
        (
            json!({ "type": ["null", "string"] }),
            json!(null),
            "expected ",
        ),
        (
            json!({ "type": "integer", "maximum": 6 }),
            json!(6.0),
            "expected at most 6, got 7",
        ),
        (
            json!({ "minimum": 8 }),
            json!(8),
            "expected at least 8, got 7",
        ),
        (
            json!({ "exclusiveMinimum": 7 }),
            json!(7.5),
            "expected more than 7, got 7",
        ),
        (
            json!({ "exclusiveMaximum": 7 }),
            json!("x"),
            "expected less than 7, got 7",
        ),
        (
            json!({ "enum": ["a", 1] }),
            json!(1.0),
            "expected one of [\"a\",1], got 7",
        ),
        (json!({ "const": 1 }), json!(1), "expected 1, got 7"),
        (json!(false), Value::Null, "/a: expected nothing, got 7"),
    ] {
        let server = taking(property.clone()).unwrap();
        let (is_error, text) = said(&server, json!({ "a": 7 }));
        assert!(is_error && text.contains(why), "{property}: {text}");
        let arguments = if fits.is_null() && property == false {
            json!({})
        } else {
            json!({ "a": fits })
        };
        let answer = said(&server, arguments);
        assert_eq!(answer, (false, "it ran".to_owned()), "{property}");
    }
    for (property, wrong, why) in [
        (
            json!({ "minLength": 2 }),
            json!("é"),
            "at least 2 characters",
        ),
        (
            json!({ "maxLength": 1 }),
            json!("ab"),
            "at most 1 character",
        ),
        (json!({ "minItems": 1 }), json!([]), "at least 1 item"),
        (json!({ "maxItems": 1 }), json!([1, 2]), "at most 1 item"),
        (
            json!({ "items": { "type": "string" } }),
            json!(["a", 2]),
            "/a/1: expected string, got 2",
        ),
        (
            json!({ "required": ["b"] }),
            json!({}),
            "/a: property \"b\" is missing",
        ),
        (
            json!({ "properties": { "b": {} }, "additionalProperties": false }),
            json!({ "b": 1, "c": 1 }),
            "/a: property \"c\" is not expected",
        ),
    ] {
        let server = taking(property.clone()).unwrap();
        let (is_error, text) = said(&server, json!({ "a": wrong }));
        assert!(is_error && text.contains(why), "{property}: {text}");
    }
}

#[test]
fn a_keyword_whose_value_is_wrong_is_refused_when_the_tool_is_added() {
    for property in [
        json!({ "type": "text" }),
        json!({ "minimum": "1" }),
        json!({ "required": 1 }),
        json!([]),
    ] {
        let error = taking(property.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{property}");
        assert!(
            error.to_string().contains("tool 't': inputSchema"),
            "{error}"
        );
    }
}

// A type may read more than its schema says, such as a number in a string: models send both.
#[cfg(not(feature = "validation"))]
#[test]
fn a_type_decides_over_the_schema_that_was_derived_from_it() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Lenient {
        #[serde(alias = "n", deserialize_with = "number_or_text")]
        #[schemars(range(min = 5))]
        number: i64,
    }

    fn number_or_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let value: Value = serde::Deserialize::deserialize(deserializer)?;
        let text = value.as_str().map(|text| text.parse().ok());
        let number = text.unwrap_or(value.as_i64());
        number.ok_or_else(|| serde::de::Error::custom("expected a number"))
    }

    let server = Server::builder("s", "1")
        .tool("t", "Adds one", |arguments: Lenient, _| {
            (arguments.number + 1).to_string()
        })
        .build()
        .unwrap();
    assert_eq!(
        said(&server, json!({ "number": "1" })),
        (false, "2".to_owned())
    );
    assert_eq!(said(&server, json!({ "n": 2 })), (false, "3".to_owned()));
    assert!(said(&server, json!({})).0);
}
