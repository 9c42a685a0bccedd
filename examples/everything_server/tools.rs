//! Tools that ask no questions.

use std::time::Duration;

use mcplink::schema::{
    CallToolResult, ContentBlock, JsonSchema as Schema, LoggingLevel, ResourceContents, Tool,
};
use mcplink::server::{Context, HandlerError, Json, ServerBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const PIXEL: &[u8] = include_bytes!("pixel.png");
const SILENCE: &[u8] = include_bytes!("silence.wav");

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What is said back.
    message: String,
}

fn echo(args: Echo, _: &Context) -> String {
    args.message
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Who is greeted.
    name: String,
}

fn greet(args: Greeting, _: &Context) -> String {
    format!("Hello, {}!", args.name)
}

#[derive(Deserialize, JsonSchema)]
struct Summands {
    a: f64,
    b: f64,
}

fn add_numbers(args: Summands, _: &Context) -> String {
    (args.a + args.b).to_string()
}

fn fail(_: Nothing, _: &Context) -> Result<(), HandlerError> {
    Err(HandlerError::new("it failed on purpose"))
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    /// How many steps to take.
    #[serde(default = "five")]
    steps: u32,
    /// How long each of them takes, in milliseconds.
    #[serde(default = "hundred")]
    delay_ms: u64,
}

fn five() -> u32 {
    5
}

fn hundred() -> u64 {
    100
}

fn slow(args: Steps, context: &Context) -> Result<String, HandlerError> {
    let (steps, delay) = (args.steps, Duration::from_millis(args.delay_ms));
    for step in 1..=steps {
        if context.cancel_token().wait(delay) {
            return Err(HandlerError::new("cancelled"));
        }
        let message = format!("step {step} of {steps}");
        context.progress(step.into(), Some(steps.into()), Some(&message));
    }
    Ok(format!("done {steps}"))
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    temperature: f64,
    ok: bool,
}

fn structured(_: Nothing, _: &Context) -> Json<Weather> {
    Json(Weather {
        temperature: 22.5,
        ok: true,
    })
}

fn image(_: Nothing, _: &Context) -> ContentBlock {
    ContentBlock::image(PIXEL, "image/png")
}

fn audio(_: Nothing, _: &Context) -> ContentBlock {
    ContentBlock::audio(SILENCE, "audio/wav")
}

fn embedded(_: Nothing, _: &Context) -> ContentBlock {
    let uri = "test://embedded-resource";
    let contents = ResourceContents::text(uri, "This is an embedded resource content.");
    ContentBlock::embedded(contents.mime_type("text/plain"))
}

fn mixed(_: Nothing, _: &Context) -> CallToolResult {
    let uri = "test://mixed-content-resource";
    let contents = ResourceContents::text(uri, r#"{"test":"data","value":123}"#);
    CallToolResult::text("Multiple content types test:")
        .with(ContentBlock::image(PIXEL, "image/png"))
        .with(ContentBlock::embedded(
            contents.mime_type("application/json"),
        ))
}

const PAUSE: Duration = Duration::from_millis(50);

fn logs(_: Nothing, context: &Context) -> &'static str {
    for text in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        context.log(LoggingLevel::Info, Some("everything"), text);
        context.cancel_token().wait(PAUSE);
    }
    "Logged three messages."
}

fn logs_once(_: Nothing, context: &Context) -> &'static str {
    context.log(LoggingLevel::Info, Some("everything"), "One message");
    "Logged one message, if you want to know."
}

fn reconnects(_: Nothing, context: &Context) -> mcplink::Result<&'static str, HandlerError> {
    context.close_stream_and_retry(Duration::from_millis(500))?;
    context.cancel_token().wait(PAUSE);
    Ok("You came back.")
}

fn progresses(_: Nothing, context: &Context) -> &'static str {
    for step in [0.0, 50.0, 100.0] {
        context.progress(step, Some(100.0), None);
        context.cancel_token().wait(PAUSE);
    }
    "Three steps of progress."
}

/// A schema that no Rust type produces: a tool may also have a schema as JSON text.
const PERSON: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
        }
    },
    "properties": {
        "name": { "type": "string" },
        "address": { "$ref": "#/$defs/address" },
        "contactMethod": { "type": "string", "enum": ["phone", "email"] },
        "phone": { "type": "string" },
        "email": { "type": "string" }
    },
    "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
    "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
    "then": { "required": ["phone"] },
    "else": { "required": ["email"] },
    "additionalProperties": false
}"##;

/// Over HTTP, clients repeat the argument in the header field `Mcp-Param-Value`.
const MIRRORED: &str = r#"{
    "type": "object",
    "properties": { "value": { "type": "string", "x-mcp-header": "Value" } },
    "required": ["value"]
}"#;

#[derive(Deserialize)]
struct Mirrored {
    value: String,
}

/// Adds the tools. The first one must be callable without arguments.
pub(crate) fn add(server: ServerBuilder) -> mcplink::Result<ServerBuilder> {
    let person = Tool::new("json_schema_2020_12_tool")
        .description("Has an input schema with many keywords")
        .input_schema(Schema::parse(PERSON)?);
    let mirrored = Tool::new("test_custom_header")
        .description("Says back its argument, which travels as a header too")
        .input_schema(Schema::parse(MIRRORED)?);
    let simple = "This is a simple text response for testing.";
    Ok(server
        .tool("test_simple_text", "Gives a text", move |_: Nothing, _| {
            simple
        })
        .tool("echo", "Says back what you say", echo)
        .tool("greet", "Greets someone by name", greet)
        .tool("add", "Adds two numbers", add_numbers)
        .tool("fail", "Fails on purpose", fail)
        .tool("slow", "Takes its time and tells how far it is", slow)
        .tool("image", "Gives an image", image)
        .tool("structured", "Gives a value with a schema", structured)
        .tool("test_image_content", "Gives an image", image)
        .tool("test_audio_content", "Gives a sound", audio)
        .tool("test_embedded_resource", "Gives a resource", embedded)
        .tool("test_multiple_content_types", "Gives some of each", mixed)
        .tool("test_tool_with_logging", "Logs while it works", logs)
        .tool("test_logging_tool", "Logs one message", logs_once)
        .tool("test_tool_with_progress", "Tells how far it is", progresses)
        .tool(
            "test_reconnection",
            "Has the client come back for the answer",
            reconnects,
        )
        .tool("test_error_handling", "Fails on purpose", fail)
        .tool_with(person, |_: Value, _| "A person.")
        .tool_with_schema(mirrored, |args: Mirrored, _| args.value))
}
