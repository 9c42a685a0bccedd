//! Prompts.

use mcplink::schema::{
    CompletionReference, ContentBlock, Prompt, PromptMessage, ResourceContents, Role,
};
use mcplink::server::{CompletionRequest, Context, HandlerError, ServerBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::asking::ask_text;
use crate::tools::PIXEL;

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// The person to greet
    name: String,
}

fn greet(args: Greeting, _: &Context) -> String {
    format!("Please greet {}.", args.name)
}

fn complete_name(typed: &CompletionRequest, _: &Context) -> Vec<&'static str> {
    let known = ["alice", "albert", "bob"].into_iter();
    known
        .filter(|name| name.starts_with(typed.value()))
        .collect()
}

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// The first one
    arg1: String,
    /// The second one
    arg2: String,
}

fn with_arguments(args: Two, _: &Context) -> String {
    let Two { arg1, arg2 } = args;
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedding {
    /// Its address
    resource_uri: String,
}

fn with_resource(args: Embedding, _: &Context) -> Vec<PromptMessage> {
    let contents = ResourceContents::text(args.resource_uri, "Embedded resource content.");
    vec![
        PromptMessage::new(
            Role::User,
            ContentBlock::embedded(contents.mime_type("text/plain")),
        ),
        PromptMessage::new(Role::User, "Please process the resource above."),
    ]
}

fn with_image(_: (), _: &Context) -> Vec<PromptMessage> {
    vec![
        PromptMessage::new(Role::User, ContentBlock::image(PIXEL, "image/png")),
        PromptMessage::new(Role::User, "Please look at the image above."),
    ]
}

fn with_question(_: (), context: &Context) -> Result<String, HandlerError> {
    let topic = ask_text(context, "user_context", "What is it about?", "context")?;
    Ok(format!("Write about {topic}."))
}

/// Adds the prompts.
pub(crate) fn add(server: ServerBuilder) -> ServerBuilder {
    let prompt = |name: &str, description: &str| Prompt::new(name).description(description);
    server
        .prompt(prompt("hello", "Says hello"), |(): (), _| "Say hello.")
        .prompt(prompt("greet", "Greets someone"), greet)
        .completer(&CompletionReference::prompt("greet"), "name", complete_name)
        .prompt(
            prompt("third", "The third one"),
            |(): (), _| "This is the third prompt.",
        )
        .prompt(
            prompt("test_simple_prompt", "Has no arguments"),
            |(): (), _| "This is a simple prompt for testing.",
        )
        .prompt(
            prompt("test_prompt_with_arguments", "Has two arguments"),
            with_arguments,
        )
        .prompt(
            prompt("test_prompt_with_embedded_resource", "Holds a resource"),
            with_resource,
        )
        .prompt(
            prompt("test_prompt_with_image", "Holds an image"),
            with_image,
        )
        .prompt(
            prompt("test_input_required_result_prompt", "Asks the user"),
            with_question,
        )
}
