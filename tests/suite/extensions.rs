//! Extensions of the protocol that one side has, or both.

use mcplink::client::Client;
use mcplink::protocol::CallOptions;
use mcplink::schema::{JsonObject, ProtocolVersion, Tool};
use mcplink::server::{Context, Server, ToolError};
use mcplink::transport::memory;
use mcplink::{ErrorCode, ErrorKind};
use serde_json::{Value, json};

const ID: &str = "com.example/drawing";

fn settings() -> JsonObject {
    json!({ "colours": 16 }).as_object().unwrap().clone()
}

fn server(knows: bool) -> Server {
    let builder = Server::builder("s", "1")
        .tool_with(
            Tool::new("plain"),
            |_: Value, context: &Context| match context.terms().capabilities.extension(ID) {
                Some(settings) => format!("in {} colours", settings["colours"]),
                None => "as text".to_owned(),
            },
        )
        .tool_with(
            Tool::new("drawing"),
            |_: Value, context: &Context| -> Result<&str, ToolError> {
                context.need_extension(ID)?;
                Ok("drawn")
            },
        );
    let builder = if knows {
        builder.extension(ID, settings())
    } else {
        builder
    };
    builder.build().unwrap()
}

fn connect(server: &Server, knows: bool, revision: ProtocolVersion) -> Client {
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    // It lasts as long as the client.
    std::thread::spawn(move || serving.wait());
    let builder = Client::builder("c", "1").revisions(&[revision]);
    let builder = if knows {
        builder.extension(ID, settings())
    } else {
        builder
    };
    builder.connect(here).unwrap()
}

fn call(client: &Client, name: &str) -> mcplink::Result<String> {
    let result = client.call_tool(name, &json!({}))?;
    Ok(result.content[0].as_text().unwrap().to_owned())
}

// M-VER-B-06
#[test]
fn what_one_side_lacks_is_done_without_or_refused() {
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
        let both = connect(&server(true), true, revision);
        assert_eq!(both.capabilities().extension(ID).unwrap()["colours"], 16);
        both.need_extension(ID).unwrap();
        assert_eq!(call(&both, "plain").unwrap(), "in 16 colours");
        assert_eq!(call(&both, "drawing").unwrap(), "drawn");

        let only_the_server = connect(&server(true), false, revision);
        assert_eq!(call(&only_the_server, "plain").unwrap(), "as text");
        let error = call(&only_the_server, "drawing").unwrap_err();
        let refusal = error.rpc().unwrap();
        assert!(refusal.message.contains(ID), "{refusal}");
        if revision.is_modern() {
            assert_eq!(refusal.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY);
            let missing = refusal.data.as_ref().unwrap().get();
            assert_eq!(
                missing,
                r#"{"requiredCapabilities":{"extensions":{"com.example/drawing":{}}}}"#
            );
        } else {
            assert_eq!(refusal.code, ErrorCode::INVALID_REQUEST);
        }

        let only_the_client = connect(&server(false), true, revision);
        assert!(only_the_client.capabilities().extensions.is_none());
        let error = only_the_client.need_extension(ID).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            !error.was_sent() && error.to_string().contains(ID),
            "{error}"
        );
        let unknown = only_the_client.request("com.example/draw", &(), CallOptions::new());
        assert_eq!(
            unknown.unwrap_err().rpc().unwrap().code,
            ErrorCode::METHOD_NOT_FOUND
        );
    }
}

// M-VER-B-05
#[test]
fn an_extension_without_a_valid_id_is_not_declared() {
    for id in ["tasks", "1x/y", "", "a b/c"] {
        let server = Server::builder("s", "1").extension(id, JsonObject::new());
        assert_eq!(server.build().unwrap_err().kind(), ErrorKind::Invalid);
        let client = Client::builder("c", "1").extension(id, JsonObject::new());
        let error = client.connect(memory::pair().0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{id}: {error}");
    }
}
