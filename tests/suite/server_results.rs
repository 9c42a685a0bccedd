//! What the handlers of tools give, and what becomes of it in each revision.

use std::sync::mpsc;

use mcplink::schema::{CallToolResult, ContentBlock, JsonSchema, ProtocolVersion, Tool};
use mcplink::server::{Context, HandlerError, Json, Server};
use mcplink::{ErrorCode, RpcError};
use serde_json::{Value, json};

use crate::scripted::ScriptedClient;

fn one_tool<R: mcplink::server::ToolOutput + 'static>(
    handler: impl Fn() -> R + Send + Sync + 'static,
) -> Server {
    Server::builder("s", "1")
        .tool_with(Tool::new("t"), move |_: Value, _: &Context| handler())
        .build()
        .unwrap()
}

/// Calls the only tool of a server in the newest revision.
fn call_once(server: &Server) -> Value {
    ScriptedClient::of(server).call("t", json!({}))
}

// M-TOOL-S-20, M-TOOL-B-36, L-TOOL-S-13, L-TOOL-S-21, L-TOOL-S-22, M-BASE-S-08
#[test]
fn structured_values_reach_each_revision_as_it_knows_them() {
    let values = [
        json!({ "a": [1, 2.5] }),
        json!([1, 2]),
        json!("x"),
        json!(null),
    ];
    for value in values {
        let server = one_tool({
            let value = value.clone();
            move || Json(value.clone())
        });
        for &revision in ProtocolVersion::ALL {
            let mut client = ScriptedClient::speaking(&server, revision);
            let result = client.call("t", json!({}))["result"].clone();
            let text = result["content"][0]["text"].as_str().unwrap();
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
            let known = revision.is_modern()
                || (revision >= ProtocolVersion::V2025_06_18 && value.is_object());
            let expected = known.then_some(&value);
            assert_eq!(result.get("structuredContent"), expected, "{revision}");
        }
    }
}

// L-TOOL-S-22, L-INIT-B-15, M-TOOL-S-10
#[test]
fn tools_and_content_are_fitted_to_older_revisions() {
    let tool = Tool::new("t")
        .title("T")
        .output_schema(JsonSchema::parse(r#"{"type":"array"}"#).unwrap())
        .icons([mcplink::schema::Icon::new("https://a.example/i.png")]);
    let server = Server::builder("s", "1")
        .tool_with(tool, |_: Value, _: &Context| {
            let content: [ContentBlock; 3] = [
                ContentBlock::text("a"),
                mcplink::schema::AudioContent::new(b"x", "audio/wav").into(),
                mcplink::schema::ResourceLink::new("file:///a", "a").into(),
            ];
            let result = CallToolResult::new(content);
            result.structured(&json!([])).unwrap()
        })
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = ScriptedClient::speaking(&server, revision);
        let listed = client.ask_fitting("tools/list", json!({}));
        let tool = &listed["result"]["tools"][0];
        for (member, since) in [
            ("title", ProtocolVersion::V2025_06_18),
            ("icons", ProtocolVersion::V2025_11_25),
            ("outputSchema", ProtocolVersion::V2026_07_28),
        ] {
            assert_eq!(
                tool.get(member).is_some(),
                revision >= since,
                "{revision} {member}"
            );
        }
        let called = client.call("t", json!({}));
        let kinds = called["result"]["content"].to_string();
        assert_eq!(
            kinds.contains("\"audio\""),
            revision >= ProtocolVersion::V2025_03_26
        );
        assert_eq!(
            kinds.contains("\"resource_link\""),
            revision >= ProtocolVersion::V2025_06_18
        );
    }
}

// Seen in other SDKs: a handler that panics or gives no answer leaves its caller waiting.
// Must not happen: panic messages and paths leak to the peer.
// M-TOOL-S-24, L-TOOL-S-17, M-BASE-S-18
#[test]
fn each_kind_of_failure_becomes_what_it_is() {
    fn from_std() -> Result<(), HandlerError> {
        "x".parse::<i32>()?;
        Ok(())
    }
    fn from_rpc() -> Result<(), HandlerError> {
        let code = ErrorCode::application(7).unwrap();
        Err(RpcError::new(code, "no such customer"))?
    }
    fn from_library() -> Result<(), HandlerError> {
        Server::builder("s", "1").revisions(&[]).build()?;
        Ok(())
    }
    let failed = |server: Server| {
        let result = call_once(&server)["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let said = failed(one_tool(|| {
        Err::<(), _>(HandlerError::new("the disk is full"))
    }));
    assert_eq!(said, "the disk is full");
    assert_eq!(failed(one_tool(from_std)), "invalid digit found in string");
    assert_eq!(
        failed(one_tool(|| CallToolResult::error("as a result"))),
        "as a result"
    );

    let refused = |server: Server| {
        let error = call_once(&server)["error"].clone();
        (
            error["code"].as_i64().unwrap(),
            error["message"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(
        refused(one_tool(from_rpc)),
        (7, "no such customer".to_owned())
    );
    let internal = (-32603, "internal error".to_owned());
    assert_eq!(refused(one_tool(from_library)), internal);
    let (log, logged) = mpsc::channel();
    let panicking = Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| -> String {
            panic!("the secret path /etc/x")
        })
        .on_log(move |record| drop(log.send(record.text.to_owned())))
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&panicking);
    for _ in 0..3 {
        let answer = client.call("t", json!({}));
        assert_eq!(answer["error"]["code"], -32603);
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    let lines: Vec<String> = logged.try_iter().collect();
    assert!(
        lines.iter().any(|line| line.contains("panicked")),
        "{lines:?}"
    );
    client.expect_silence();
}
