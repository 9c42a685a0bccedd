//! The errors of handlers: which errors `?` converts, and which texts clients get.
#![expect(
    clippy::needless_question_mark,
    reason = "the types of the closures are inferred from it"
)]

use std::error::Error as StdError;
use std::io;

use mcplink::schema::{
    Completion, CompletionReference, JsonSchema, Prompt, PromptArgument, ResourceTemplate, Tool,
};
use mcplink::server::{CompletionRequest, Context, HandlerError, ResourceRead, Server};
use mcplink::{Error, ErrorKind, RpcError};
use serde_json::{Value, json};

use crate::scripted::ScriptedClient;

/// Fails with an error of each type that handlers meet.
fn fail(kind: &str) -> Result<String, HandlerError> {
    fn boxed() -> Result<String, Box<dyn StdError + Send + Sync>> {
        Ok("x".parse::<i32>()?.to_string())
    }
    fn any() -> anyhow::Result<String> {
        anyhow::bail!("an error of anyhow")
    }
    match kind {
        "text" => Err("a text")?,
        "string" => Err("a string".to_owned())?,
        "box" => Ok(boxed()?),
        "anyhow" => Ok(any()?),
        "io" => Err(io::Error::other("an error of io"))?,
        "rpc" => Err(RpcError::invalid_params("an error of the protocol"))?,
        "library" => Err(Error::new(ErrorKind::State, "an error of the library"))?,
        "message" => Err(HandlerError::new("a message")),
        "missing" => Err(HandlerError::not_found()),
        _ => Ok("fine".to_owned()),
    }
}

// The closures have no types but those of their arguments: `?` alone must be enough.
fn server() -> Server {
    let template = ResourceTemplate::new("fail:{kind}", "fail");
    Server::builder("s", "1")
        .tool_with(Tool::new("fail"), |arguments: Value, _: &Context| {
            Ok(fail(arguments["kind"].as_str().unwrap())?)
        })
        .template(template, |read: &ResourceRead, _: &Context| {
            Ok(fail(read.variable("kind").unwrap())?)
        })
        .prompt(
            Prompt::new("fail").argument(PromptArgument::new("kind")),
            |arguments: Value, _: &Context| Ok(fail(arguments["kind"].as_str().unwrap())?),
        )
        .completer(
            &CompletionReference::prompt("fail"),
            "kind",
            |asked: &CompletionRequest, _: &Context| Ok(Completion::new([fail(asked.value())?])),
        )
        .build()
        .unwrap()
}

// M-TOOL-S-24, L-TOOL-S-17
#[test]
fn a_tool_tells_the_model_what_failed() {
    let server = server();
    let mut client = ScriptedClient::of(&server);
    let mut call = |kind: &str| {
        client.ask_modern(
            "tools/call",
            json!({"name": "fail", "arguments": {"kind": kind}}),
        )
    };
    for (kind, text) in [
        ("text", "a text"),
        ("string", "a string"),
        ("box", "invalid digit found in string"),
        ("anyhow", "an error of anyhow"),
        ("io", "an error of io"),
        ("message", "a message"),
    ] {
        let result = call(kind)["result"].take();
        assert_eq!(result["isError"], true, "{kind}: {result}");
        assert_eq!(result["content"][0]["text"], text, "{kind}");
    }
    for (kind, code, text) in [
        ("rpc", -32602, "an error of the protocol"),
        ("library", -32603, "internal error"),
        ("missing", -32602, "tool not found"),
    ] {
        let error = call(kind)["error"].take();
        assert_eq!(error["code"], code, "{kind}: {error}");
        assert_eq!(error["message"], text, "{kind}");
    }
    let result = call("none")["result"].take();
    assert_eq!(result["content"][0]["text"], "fine");
    assert_eq!(result.get("isError"), None);
}

#[test]
fn other_handlers_keep_foreign_texts_to_the_host() {
    let server = server();
    let mut client = ScriptedClient::of(&server);
    let reference = json!({"type": "ref/prompt", "name": "fail"});
    let mut ask = |way: &str, kind: &str| match way {
        "resources/read" => client.ask_modern(way, json!({"uri": format!("fail:{kind}")})),
        "prompts/get" => {
            client.ask_modern(way, json!({"name": "fail", "arguments": {"kind": kind}}))
        }
        _ => client.ask_modern(
            way,
            json!({"ref": &reference, "argument": {"name": "kind", "value": kind}}),
        ),
    };
    for way in ["resources/read", "prompts/get", "completion/complete"] {
        for kind in ["text", "string", "box", "anyhow", "io", "library"] {
            let error = ask(way, kind)["error"].take();
            assert_eq!(error["code"], -32603, "{way} {kind}: {error}");
            assert_eq!(error["message"], "internal error", "{way} {kind}");
        }
        let error = ask(way, "message")["error"].take();
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32603), &json!("a message"))
        );
        let error = ask(way, "rpc")["error"].take();
        assert_eq!(error["message"], "an error of the protocol", "{way}");
        assert_eq!(ask(way, "missing")["error"]["code"], -32602, "{way}");
        assert!(
            ask(way, "none")["result"].to_string().contains("fine"),
            "{way}"
        );
    }
}

#[test]
fn numbers_and_optional_values_are_results_of_tools() {
    let tool = Tool::new;
    let sum = tool("sum").input_schema(JsonSchema::any_object());
    let server = Server::builder("s", "1")
        .tool_with(sum, |numbers: Vec<i64>, _: &Context| {
            numbers.iter().sum::<i64>()
        })
        .tool_with(tool("half"), |(): (), _: &Context| 0.5)
        .tool_with(tool("is"), |(): (), _: &Context| {
            Ok(Some("true".parse::<bool>()?))
        })
        .tool_with(tool("none"), |(): (), _: &Context| None::<String>)
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    for (name, content) in [
        ("half", json!([{"type": "text", "text": "0.5"}])),
        ("is", json!([{"type": "text", "text": "true"}])),
        ("none", json!([])),
    ] {
        let answer = client.ask_modern("tools/call", json!({ "name": name }));
        assert_eq!(answer["result"]["content"], content, "{answer}");
    }
    let answer = client.ask_modern("tools/call", json!({"name": "sum", "arguments": {"a": 1}}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn an_error_of_the_operating_system_is_an_error_of_the_library() {
    fn read() -> mcplink::Result<String> {
        Ok(std::fs::read_to_string("does-not-exist")?)
    }
    let error = read().unwrap_err();
    assert_eq!((error.kind(), error.os_code()), (ErrorKind::Io, Some(2)));
    assert!(error.to_string().contains("os error 2"), "{error}");
}
