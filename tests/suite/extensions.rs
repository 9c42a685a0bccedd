//! Extensions of the protocol that one side has, or both.

use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::schema::{
    APP_MIME_TYPE, APPS_EXTENSION, JsonObject, ProtocolVersion, Resource, ResourceContents,
    ResourceTemplate, TextResourceContents, Tool,
};
use mcplink::server::{Context, HandlerError, ResourceRead, Server};
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
            |_: Value, context: &Context| match context.client().capabilities.extension(ID) {
                Some(settings) => format!("in {} colours", settings["colours"]),
                None => "as text".to_owned(),
            },
        )
        .tool_with(
            Tool::new("drawing"),
            |_: Value, context: &Context| -> Result<&str, HandlerError> {
                context.require_extension(ID)?;
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

// M-VER-B-06, E-EXT-S-06
#[test]
fn what_one_side_lacks_is_done_without_or_refused() {
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
        let both = connect(&server(true), true, revision);
        assert_eq!(both.capabilities().extension(ID).unwrap()["colours"], 16);
        both.require_extension(ID).unwrap();
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
        let error = only_the_client.require_extension(ID).unwrap_err();
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

#[test]
fn a_capability_of_a_draft_is_declared_to_every_revision() {
    for &revision in ProtocolVersion::ALL {
        let server = Server::builder("s", "1")
            .capability("events", object(&json!({ "topics": ["a"] })))
            .capability("experimental", object(&json!({ "x": {} })))
            .tool_with(Tool::new("plain"), |_: Value, _: &Context| "plain")
            .build()
            .unwrap();
        let client = connect(&server, false, revision);
        let declared = client.capabilities();
        assert_eq!(declared.extra["events"], json!({ "topics": ["a"] }));
        assert_eq!(declared.extra.len(), 1, "{revision}");
        let experimental = declared.experimental.as_ref().unwrap();
        assert_eq!(experimental["x"], json!({}), "{revision}");
        assert!(declared.tools.is_some() && declared.prompts.is_none());
    }
}

#[test]
fn a_capability_that_the_server_declares_itself_is_refused() {
    for name in [
        "completions",
        "extensions",
        "logging",
        "prompts",
        "resources",
        "tasks",
        "tools",
        "",
    ] {
        let server = Server::builder("s", "1").capability(name, JsonObject::new());
        let error = server.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
}

/// The extension of tools that have a page to show (MCP Apps).
const APPS: &str = APPS_EXTENSION;
const PAGE: &str = APP_MIME_TYPE;

fn object(value: &Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

/// A server with a tool that has a page, as this library has it: with what goes beside tools and resources.
fn server_with_a_page() -> Server {
    let shown_with =
        json!({ "ui": { "resourceUri": "ui://charts/view", "visibility": ["app", "model"] } });
    let rules = json!({ "ui": { "csp": { "connectDomains": ["https://charts.example"] }, "prefersBorder": true } });
    let chart = Tool::new("chart").meta(object(&shown_with));
    let page = move |read: &ResourceRead, _: &Context| {
        let html = TextResourceContents::new(read.uri(), "<!doctype html><title>Chart</title>");
        let html = html.mime_type(PAGE).meta(object(&rules));
        Ok::<_, HandlerError>(ResourceContents::from(html))
    };
    Server::builder("s", "1")
        .extension(APPS, JsonObject::new())
        .tool_with(chart, |_: Value, context: &Context| {
            let app = context.client().capabilities.extension(APPS);
            let kinds = app.and_then(|app| app["mimeTypes"].as_array());
            match kinds.is_some_and(|kinds| kinds.contains(&json!(PAGE))) {
                true => "three bars, see the chart",
                false => "three bars: 1, 2, 3",
            }
        })
        .resource(
            Resource::new("ui://charts/view", "view").mime_type(PAGE),
            page,
        )
        .template(
            ResourceTemplate::new("ui://charts/{id}", "part"),
            |read: &ResourceRead, _: &Context| {
                let bytes =
                    ResourceContents::blob(read.uri(), b"<!doctype html><title>Part</title>");
                Ok::<_, HandlerError>(bytes.mime_type(PAGE))
            },
        )
        .build()
        .unwrap()
}

// E-APP-C-01, E-APP-S-02, E-APP-S-03, E-APP-S-04, E-APP-S-05, E-APP-S-06, E-APP-S-07, E-APP-S-08, E-APP-S-10, E-APP-C-11, E-APP-B-12, E-APP-B-16,
// E-APP-B-25, E-APP-B-26, E-EXT-B-11
#[test]
fn what_apps_consist_of_goes_through_as_it_is() {
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
        let server = server_with_a_page();
        let connect = |settings: Option<Value>| {
            let (here, there) = memory::pair();
            let serving = server.open(there).unwrap();
            // It lasts as long as the client.
            std::thread::spawn(move || serving.wait());
            let builder = Client::builder("c", "1").revisions(&[revision]);
            let builder = match settings {
                Some(settings) => builder.extension(APPS, object(&settings)),
                None => builder,
            };
            builder.connect(here).unwrap()
        };
        let host = connect(Some(json!({ "mimeTypes": [PAGE] })));
        host.require_extension(APPS).unwrap();
        assert_eq!(call(&host, "chart").unwrap(), "three bars, see the chart");
        for settings in [None, Some(json!({ "mimeTypes": ["text/plain"] }))] {
            let other = connect(settings);
            assert_eq!(call(&other, "chart").unwrap(), "three bars: 1, 2, 3");
        }
        let tools = host.list_tools().unwrap();
        assert!(tools[0].is_for_model() && tools[0].is_for_app());
        let place = tools[0].app_uri().unwrap();
        let listed = host.list_resources().unwrap();
        assert_eq!(
            (&*listed[0].uri, listed[0].mime_type.as_deref()),
            (place, Some(PAGE))
        );
        let read = host.read_resource(place).unwrap();
        let ResourceContents::Text(page) = &read.contents[0] else {
            panic!("{read:?}");
        };
        assert_eq!((&*page.uri, page.mime_type.as_deref()), (place, Some(PAGE)));
        assert!(page.text.starts_with("<!doctype html>"));
        let ui = &page.meta.as_ref().unwrap()["ui"];
        assert_eq!(
            ui["csp"]["connectDomains"],
            json!(["https://charts.example"])
        );
        assert_eq!(ui["prefersBorder"], true);
        // What only the page asks for is in no list.
        let read = host.read_resource("ui://charts/legend").unwrap();
        let ResourceContents::Blob(part) = &read.contents[0] else {
            panic!("{read:?}");
        };
        assert_eq!(part.mime_type.as_deref(), Some(PAGE));
        assert!(part.bytes().unwrap().starts_with(b"<!doctype html>"));
        // What pages and hosts tell each other is no business of servers.
        let refused = host.request("ui/open-link", &(), CallOptions::new());
        assert_eq!(
            refused.unwrap_err().rpc().unwrap().code,
            ErrorCode::METHOD_NOT_FOUND
        );
    }
}
