//! Prompts.

use mcplink::schema::{
    CompletionReference, ContentBlock, Prompt, PromptArgument, PromptMessage, ResourceContents,
    Role,
};
use mcplink::server::{CompletionRequest, Context, HandlerError, ServerBuilder};
use serde::Deserialize;

use crate::asking::ask_text;
use crate::tools::PIXEL;

#[derive(Deserialize)]
struct Greeting {
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

#[derive(Deserialize)]
struct Two {
    arg1: String,
    arg2: String,
}

fn with_arguments(args: Two, _: &Context) -> String {
    let Two { arg1, arg2 } = args;
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Embedding {
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

fn required(name: &str, description: &str) -> PromptArgument {
    PromptArgument::new(name)
        .description(description)
        .required(true)
}

/// Adds the prompts.
pub(crate) fn add(server: ServerBuilder) -> ServerBuilder {
    let prompt = |name: &str, description: &str| Prompt::new(name).description(description);
    server
        .prompt(prompt("hello", "Says hello"), |(): (), _| "Say hello.")
        .prompt(
            prompt("greet", "Greets someone").argument(required("name", "Who is greeted")),
            greet,
        )
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
            prompt("test_prompt_with_arguments", "Has two arguments")
                .argument(required("arg1", "The first one"))
                .argument(required("arg2", "The second one")),
            with_arguments,
        )
        .prompt(
            prompt("test_prompt_with_embedded_resource", "Holds a resource")
                .argument(required("resourceUri", "Its address")),
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
