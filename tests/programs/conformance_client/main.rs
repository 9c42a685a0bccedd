//! The client for the official conformance suite: see `tests/conformance`.
//!
//! ```text
//! conformance_client URL
//! ```
//!
//! The suite sets these environment variables: `MCP_CONFORMANCE_SCENARIO` is the name of the
//! scenario, `MCP_CONFORMANCE_PROTOCOL_VERSION` the revision, and `MCP_CONFORMANCE_CONTEXT` the
//! data of the scenario.
#![allow(clippy::print_stderr, reason = "a program of its own")]

mod auth;

use std::error::Error;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcplink::client::{Client, ClientBuilder};
use mcplink::schema::{ElicitRequestFormParams, ElicitResult, ProtocolVersion, Tool};
use mcplink::skills::FrontMatterParser;
use mcplink::transport::http::Http;
use mcplink_skills::Skills;
use serde_json::{Map, Value, json};

type Done = Result<(), Box<dyn Error>>;

/// The time after which the program ends itself, because the suite does not end a client that
/// hangs.
const PATIENCE: Duration = Duration::from_secs(25);

fn main() -> ExitCode {
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        eprintln!("gave up after {PATIENCE:?}");
        std::process::exit(2);
    });
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Done {
    let url = std::env::args()
        .nth(1)
        .ok_or("the URL of the server is missing")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")?;
    let connect = |builder: ClientBuilder| -> Result<Client, Box<dyn Error>> {
        Ok(builder.connect(Http::new(&url)?)?)
    };
    match &*scenario {
        "initialize" => connect(builder()?)?.close(),
        "json-schema-ref-no-deref" => {
            connect(builder()?)?.list_tools()?;
        }
        // The suite's server declares no capabilities, and answers `tools/list` all the same.
        "request-metadata" => {
            connect(builder()?.assume_capabilities(true))?.list_tools()?;
        }
        "tools_call" => {
            let client = connect(builder()?)?;
            client.list_tools()?;
            client.call_tool("add_numbers", &json!({ "a": 5, "b": 3 }))?;
        }
        "elicitation-sep1034-client-defaults" => {
            let client = connect(builder()?.on_elicit(|form, _| accept_defaults(form)))?;
            client.call_tool("test_client_elicitation_defaults", &json!({}))?;
        }
        "sse-retry" => {
            let client = connect(builder()?)?;
            client.list_tools()?;
            client.call_tool("test_reconnection", &json!({}))?;
        }
        "sep-2322-client-request-state" => request_state(connect)?,
        "http-standard-headers" => standard_headers(&connect(builder()?)?)?,
        "http-custom-headers" => custom_headers(&connect(builder()?)?)?,
        "http-invalid-tool-headers" => {
            let client = connect(builder()?)?;
            for tool in client.list_tools()? {
                client.call_tool(&tool.name, &sample(&tool)?)?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let client = connect(builder()?)?;
            let tools = client.list_tools()?;
            let tool = tools
                .iter()
                .find(|tool| tool.name == "json_schema_2020_12_tool")
                .ok_or("json_schema_2020_12_tool is not listed")?;
            let arguments = json!({ "schema": tool.input_schema.read::<Value>()? });
            client.call_tool("json_schema_echo", &arguments)?;
        }
        "sep-2640-client-no-prefetch" => {
            let client = connect(builder()?.skills())?;
            skills(&client).list()?;
        }
        "sep-2640-client-verify-digest"
        | "sep-2640-client-verify-size"
        | "sep-2640-client-verify-frontmatter" => {
            load_skill(&connect(builder()?.skills())?)?;
        }
        authorized if authorized.starts_with("auth/") => auth::run(authorized, &url)?,
        other => return Err(format!("scenario {other} is not known here").into()),
    }
    Ok(())
}

fn builder() -> Result<ClientBuilder, Box<dyn Error>> {
    let revision: ProtocolVersion = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")?
        .parse()
        .map_err(|_| "a revision that is not known here")?;
    Ok(
        Client::builder("mcplink-conformance", env!("CARGO_PKG_VERSION"))
            .revisions(&[revision])
            .on_log(|line| eprintln!("{line}")),
    )
}

/// The skills of the suite's server. Without the feature `skills` the front matter is read line by
/// line, which is enough for the skill of the suite.
fn skills(client: &Client) -> Skills {
    #[cfg(feature = "skills")]
    let parser = FrontMatterParser::yaml();
    #[cfg(not(feature = "skills"))]
    let parser = FrontMatterParser::new(|yaml| {
        let members = yaml.lines().filter_map(|line| line.split_once(": "));
        let members = members.map(|(name, value)| (name.to_owned(), json!(value)));
        Ok(members.collect())
    });
    Skills::new(client, "suite").front_matter_parser(&parser)
}

/// Loads the first skill, and prints why it is refused. Reads another file if it is not refused.
fn load_skill(client: &Client) -> Done {
    let skills = skills(client);
    let listing = skills.list()?;
    let skill = listing.skills.first().ok_or("no valid skill is listed")?;
    match skills.load(skill) {
        Ok(loaded) => {
            loaded.read("references/FORMS.md")?;
            Ok(())
        }
        Err(error) => {
            eprintln!("skill fault: {:?}", error.skill_fault());
            Err(error.into())
        }
    }
}

/// Accepts a form with its default values.
fn accept_defaults(form: &ElicitRequestFormParams) -> ElicitResult {
    let schema: Value = form.requested_schema.read().unwrap_or_default();
    let mut content = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(default) = field.get("default") {
            content.insert(name.clone(), default.clone());
        }
    }
    ElicitResult::accept(&content).unwrap_or_else(|_| ElicitResult::cancel())
}

/// Makes another call while the first one is between its rounds.
fn request_state(connect: impl Fn(ClientBuilder) -> Result<Client, Box<dyn Error>>) -> Done {
    let shared: Arc<OnceLock<Client>> = Arc::default();
    let inner = Arc::clone(&shared);
    let client = connect(builder()?.on_elicit(move |_, _| {
        let between = inner
            .get()
            .map(|client| client.call_tool("test_mrtr_unrelated", &json!({})));
        match between {
            Some(Ok(_)) => ElicitResult::accept(&json!({ "confirmed": true }))
                .unwrap_or_else(|_| ElicitResult::cancel()),
            _ => ElicitResult::cancel(),
        }
    }))?;
    let client = shared.get_or_init(|| client);
    client.list_tools()?;
    for tool in [
        "test_mrtr_echo_state",
        "test_mrtr_no_state",
        "test_mrtr_no_result_type",
    ] {
        client.call_tool(tool, &json!({}))?;
    }
    Ok(())
}

fn standard_headers(client: &Client) -> Done {
    for tool in client.list_tools()? {
        client.call_tool(&tool.name, &sample(&tool)?)?;
    }
    for resource in client.list_resources()? {
        client.read_resource(&resource.uri)?;
    }
    for prompt in client.list_prompts()? {
        client.get_prompt(&prompt.name, &[])?;
    }
    Ok(())
}

fn custom_headers(client: &Client) -> Done {
    let context: Value = serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    client.list_tools()?;
    for call in context["toolCalls"].as_array().into_iter().flatten() {
        let name = call["name"].as_str().ok_or("a call without a name")?;
        client.call_tool(name, &call["arguments"])?;
    }
    Ok(())
}

/// Returns a sample argument for each required parameter of a tool.
fn sample(tool: &Tool) -> Result<Value, Box<dyn Error>> {
    let schema: Value = tool.input_schema.read()?;
    let mut arguments = Map::new();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        let value = match schema["properties"][name]["type"].as_str() {
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("sample"),
        };
        arguments.insert(name.to_owned(), value);
    }
    Ok(Value::Object(arguments))
}
