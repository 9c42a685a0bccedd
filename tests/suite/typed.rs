//! Rust types in place of JSON: derived schemas of decorated tools, and typed questions to users.

use mcplink::ErrorKind;
use mcplink::schema::{JsonSchema, ProtocolVersion, Tool};
use mcplink::server::{Context, Elicited, HandlerError, Json, Server, ServerBuilder, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::played::play_client;
use crate::scripted::{ScriptedClient, modern};

#[derive(Deserialize, schemars::JsonSchema)]
struct Query {
    /// The words to look for.
    words: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Found {
    count: usize,
}

fn search(query: Query, _: &Context) -> Json<Found> {
    let count = query.words.len();
    Json(Found { count })
}

fn listed(server: &Server, name: &str) -> Value {
    let mut client = ScriptedClient::of(server);
    let tools = client.ask_modern("tools/list", json!({}))["result"]["tools"].take();
    let mut tools = tools.as_array().unwrap().iter();
    tools.find(|tool| tool["name"] == name).unwrap().clone()
}

#[test]
fn decorated_tools_derive_the_schemas_that_they_lack() {
    let decorated = || {
        Tool::new("search")
            .title("Search")
            .read_only()
            .idempotent()
            .open_world(false)
    };
    let server = Server::builder("s", "1").tool_with(decorated(), search);
    let server = server.build().unwrap();
    server
        .add_tool(Tool::new("later").destructive(), search)
        .unwrap();
    for name in ["search", "later"] {
        let tool = listed(&server, name);
        let words = &tool["inputSchema"]["properties"]["words"];
        assert_eq!(words["description"], "The words to look for.", "{tool}");
        assert_eq!(tool["inputSchema"]["required"], json!(["words"]));
        let count = &tool["outputSchema"]["properties"]["count"];
        assert_eq!(count["type"], "integer", "{tool}");
    }
    let hints = json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false});
    assert_eq!(listed(&server, "search")["annotations"], hints);
    let hints = json!({"destructiveHint": true});
    assert_eq!(listed(&server, "later")["annotations"], hints);

    // A schema that the tool has is kept.
    let own = r#"{"type":"object","properties":{"words":{"type":"string","minLength":1}}}"#;
    let own = Tool::new("own").input_schema(JsonSchema::parse(own).unwrap());
    server.add_tool(own, search).unwrap();
    let tool = listed(&server, "own");
    assert_eq!(tool["inputSchema"]["properties"]["words"]["minLength"], 1);
    assert_eq!(
        tool["outputSchema"]["properties"]["count"]["type"],
        "integer"
    );

    // A type that accepts any JSON derives the schema of any object.
    let any = |_: Value, _: &Context| "any";
    server.add_tool(Tool::new("any"), any).unwrap();
    let accepts = json!({"type": "object", "properties": {}});
    assert_eq!(listed(&server, "any")["inputSchema"], accepts);
}

#[test]
fn a_schema_that_is_neither_given_nor_derived_is_an_error() {
    let refused = [
        Server::builder("s", "1").deferred_tool(Tool::new("t"), |_: ToolCall| {}),
        Server::builder("s", "1").tool_with_schema(Tool::new("t"), |_: Value, _: &Context| "t"),
        // A derived schema that is not that of an object.
        Server::builder("s", "1").tool_with(Tool::new("t"), |_: Vec<u8>, _: &Context| "t"),
    ];
    for builder in refused {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().starts_with("tool 't': "), "{error}");
    }
    let any = Tool::new("t").input_schema(JsonSchema::any_object());
    let server = Server::builder("s", "1").deferred_tool(any, |_: ToolCall| {});
    assert!(server.build().is_ok());
}

#[derive(Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Class {
    First,
    Second,
}

#[derive(Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Meal {
    /// With fish
    Fish,
    /// Without meat and fish
    Plants,
}

#[derive(Debug, PartialEq, Deserialize, schemars::JsonSchema)]
struct Booking {
    /// The number of seats.
    seats: u8,
    class: Class,
    meal: Option<Meal>,
    note: Option<String>,
    #[serde(default)]
    extras: Vec<Meal>,
    quiet: bool,
}

fn book(_: (), context: &Context) -> Result<String, HandlerError> {
    match context.elicit_as::<Booking>("booking", "Which seats?")? {
        Elicited::Accepted(booking) => Ok(format!("{booking:?}")),
        Elicited::Declined => Ok("declined".to_owned()),
        Elicited::Cancelled => Ok("cancelled".to_owned()),
    }
}

fn remove(_: (), context: &Context) -> Result<bool, HandlerError> {
    Ok(context.confirm("sure", "Delete everything?")?)
}

fn asking() -> ServerBuilder {
    Server::builder("s", "1")
        .form::<Booking>()
        .tool("book", "Books seats", book)
        .tool("remove", "Removes everything", remove)
}

/// Calls a tool, answers its one question, and returns the question and the text of the result.
fn answered(tool: &str, answer: &Value) -> (Value, String) {
    let server = asking().build().unwrap();
    let mut client = play_client(&server, ProtocolVersion::LATEST, json!({"elicitation": {}}));
    let asked = client.call(tool);
    let questions = asked["result"]["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    let result = client.retry(tool, &asked, json!({ key: answer }));
    let text = &result["result"]["content"][0]["text"];
    let text = text.as_str().unwrap_or_else(|| panic!("{result}"));
    (question["params"].clone(), text.to_owned())
}

// M-ELIC-S-01
#[test]
fn forms_are_derived_from_types() {
    let content = json!({"seats": 2, "class": "second", "quiet": true, "extras": ["fish"]});
    let answer = json!({"action": "accept", "content": content});
    let (question, text) = answered("book", &answer);
    let form = json!({
        "type": "object",
        "properties": {
            "seats": {"type": "integer", "description": "The number of seats.", "minimum": 0, "maximum": 255},
            "class": {"type": "string", "enum": ["first", "second"]},
            "meal": {"type": "string", "oneOf": [
                {"const": "fish", "title": "With fish"},
                {"const": "plants", "title": "Without meat and fish"},
            ]},
            "note": {"type": "string"},
            "extras": {"type": "array", "items": {"anyOf": [
                {"const": "fish", "title": "With fish"},
                {"const": "plants", "title": "Without meat and fish"},
            ]}},
            "quiet": {"type": "boolean"},
        },
        "required": ["seats", "class", "quiet"],
    });
    assert_eq!(question["requestedSchema"], form);
    assert_eq!(question["message"], "Which seats?");
    let booking = Booking {
        seats: 2,
        class: Class::Second,
        meal: None,
        note: None,
        extras: vec![Meal::Fish],
        quiet: true,
    };
    assert_eq!(text, format!("{booking:?}"));
    for (action, expected) in [("decline", "declined"), ("cancel", "cancelled")] {
        let (_, text) = answered("book", &json!({ "action": action }));
        assert_eq!(text, expected);
    }
}

#[test]
fn a_confirmation_is_a_form_without_fields() {
    for (action, expected) in [
        ("accept", "true"),
        ("decline", "false"),
        ("cancel", "false"),
    ] {
        let mut answer = json!({ "action": action });
        if action == "accept" {
            answer["content"] = json!({});
        }
        let (question, text) = answered("remove", &answer);
        assert_eq!(text, expected);
        let form = json!({"type": "object", "properties": {}});
        assert_eq!(question["requestedSchema"], form);
    }
    let (_, text) = answered("remove", &json!({"action": "accept"}));
    assert_eq!(text, "true");
}

#[test]
fn types_that_are_no_forms_are_refused_when_the_server_is_built() {
    #[derive(Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Nested {
        query: Query,
    }
    #[derive(Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Login {
        password: String,
    }
    #[derive(Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Texts {
        texts: Vec<String>,
    }
    let builder = || Server::builder("s", "1");
    let refused = [
        builder().form::<Nested>(),
        builder().form::<Login>(),
        builder().form::<Texts>(),
        builder().form::<String>(),
    ];
    for builder in refused {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

#[test]
fn content_that_does_not_fit_the_form_is_asked_for_again() {
    let content = json!({"seats": 2, "class": "third", "quiet": true});
    let server = asking().build().unwrap();
    let mut client = play_client(&server, ProtocolVersion::LATEST, json!({"elicitation": {}}));
    let asked = client.call("book");
    let answer = json!({"booking": {"action": "accept", "content": content}});
    let result = client.retry("book", &asked, answer);
    assert_eq!(
        result["result"]["inputRequests"], asked["result"]["inputRequests"],
        "{result}"
    );
}

// JSON of any kind is read by `serde_json`, which has integers of up to 64 bits.
#[test]
fn large_integers_are_exact_where_the_page_on_tools_says_so() {
    #[derive(Deserialize)]
    struct Numbers {
        wide: i128,
        raw: Box<serde_json::value::RawValue>,
        any: Value,
    }
    let schema = JsonSchema::parse(r#"{"type":"object"}"#).unwrap();
    let tool = Tool::new("numbers").input_schema(schema);
    let server = Server::builder("s", "1")
        .tool_with_schema(tool, |numbers: Numbers, _: &Context| {
            format!("{} {} {}", numbers.wide, numbers.raw, numbers.any)
        });
    let mut client = ScriptedClient::of(&server.build().unwrap());
    let number = "123456789012345678901";
    let arguments = json!({ "wide": "N", "raw": "N", "any": u64::MAX });
    let params = modern(json!({ "name": "numbers", "arguments": arguments }));
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    client.send_text(&request.to_string().replace("\"N\"", number));
    let answer = client.receive();
    let text = &answer["result"]["content"][0]["text"];
    assert_eq!(*text, format!("{number} {number} {}", u64::MAX));
}
