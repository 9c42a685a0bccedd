//! Tools that change the server's lists, or report a change.

use mcplink::schema::{Prompt, Tool};
use mcplink::server::{Context, HandlerError, Server};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::Nothing;

#[derive(Deserialize, JsonSchema)]
struct Touched {
    /// The address of the resource.
    uri: String,
}

/// Adds and removes a tool. The library notifies the clients.
fn change_tools(server: &Server) -> Result<&'static str, HandlerError> {
    let tool = Tool::new("fleeting").description("Is gone in a moment");
    server.add_tool(tool, |_: Nothing, _: &Context| ())?;
    server.remove_tool("fleeting");
    Ok("The list of tools changed, and changed back.")
}

fn change_prompts(server: &Server) -> Result<&'static str, HandlerError> {
    let prompt = Prompt::new("fleeting").description("Is gone in a moment");
    server.add_prompt(prompt, |(): (), _: &Context| "Too late.")?;
    server.remove_prompt("fleeting");
    Ok("The list of prompts changed, and changed back.")
}

/// Adds the tools of this module. Their handlers need the built server.
pub(crate) fn add(server: &Server) -> mcplink::Result<()> {
    let changed = server.clone();
    server.add_tool(
        Tool::new("test_trigger_tool_change").description("Changes the list of tools"),
        move |_: Nothing, _: &Context| change_tools(&changed),
    )?;
    let changed = server.clone();
    server.add_tool(
        Tool::new("test_trigger_prompt_change").description("Changes the list of prompts"),
        move |_: Nothing, _: &Context| change_prompts(&changed),
    )?;
    let changed = server.clone();
    let schema = mcplink::schema::JsonSchema::new(&schemars::schema_for!(Touched))?;
    server.add_tool(
        Tool::new("touch")
            .description("Tells who subscribed to a resource that it changed")
            .input_schema(schema),
        move |args: Touched, _: &Context| {
            changed.resource_updated(&args.uri);
            format!("touched {}", args.uri)
        },
    )
}
