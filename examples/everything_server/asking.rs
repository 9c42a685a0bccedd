//! Tools that ask the user, the client's model or the client itself before they answer.
//!
//! Each handler is written as if the answers were there at once. If an answer is missing, `?`
//! returns from the handler, and the library runs it again when the answers have come.

use mcplink::schema::{
    BooleanSchema, CreateMessageRequestParams, ElicitAction, ElicitRequestParams, ElicitSchema,
    EnumOption, LegacyTitledEnumSchema, NumberSchema, SamplingMessage, StringSchema,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};
use mcplink::server::{AskError, Context, HandlerError, ServerBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::tools::Nothing;

type Answer = Result<String, HandlerError>;

/// Shows the user a form, and returns the user's action and the entered values.
fn fill_in(
    context: &Context,
    key: &str,
    message: &str,
    form: &ElicitSchema,
) -> Result<(&'static str, Value), AskError> {
    let form = ElicitRequestParams::form(message, form.to_schema()?);
    let answer = context.elicit(key, form)?;
    let content = answer.read()?.unwrap_or_default();
    let action = match answer.action {
        ElicitAction::Accept => "accept",
        ElicitAction::Decline => "decline",
        _ => "cancel",
    };
    Ok((action, content))
}

/// Asks the user for one string.
pub(crate) fn ask_text(
    context: &Context,
    key: &str,
    message: &str,
    field: &str,
) -> Result<String, AskError> {
    let form = ElicitSchema::default().required(field, StringSchema::new());
    let (action, content) = fill_in(context, key, message, &form)?;
    Ok(content[field].as_str().unwrap_or(action).to_owned())
}

/// Asks the client's model.
fn ask_model(context: &Context, key: &str, question: &str) -> Result<String, AskError> {
    let question = CreateMessageRequestParams::new([SamplingMessage::user(question)], 100);
    let answer = context.sample(key, question)?;
    let blocks = answer.content.blocks().iter();
    Ok(blocks.filter_map(|block| block.as_text()).collect())
}

fn ask_roots(context: &Context, key: &str) -> Result<String, AskError> {
    let roots = context.list_roots(key)?.roots.into_iter();
    Ok(roots.map(|root| root.uri).collect::<Vec<_>>().join(", "))
}

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    /// What the model is asked.
    prompt: String,
}

fn sampling(args: Prompt, context: &Context) -> Answer {
    let answer = ask_model(context, "answer", &args.prompt)?;
    Ok(format!("LLM response: {answer}"))
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// What the user is told.
    message: String,
}

fn elicitation(args: Message, context: &Context) -> Answer {
    let form = ElicitSchema::default()
        .required(
            "username",
            StringSchema::new().description("Your user name"),
        )
        .required("email", StringSchema::new().description("Your address"));
    let (action, content) = fill_in(context, "user", &args.message, &form)?;
    Ok(format!("User response: {action} {content}"))
}

fn elicitation_defaults(_: Nothing, context: &Context) -> Answer {
    let states = UntitledSingleSelectEnumSchema::new(["active", "inactive", "pending"]);
    let form = ElicitSchema::default()
        .optional("name", StringSchema::new().default("John Doe"))
        .optional("age", NumberSchema::integer().default(30.0))
        .optional("score", NumberSchema::number().default(95.5))
        .optional("status", states.default("active"))
        .optional("verified", BooleanSchema::new().default(true));
    let (action, content) = fill_in(context, "user", "Is this right?", &form)?;
    Ok(format!("Elicitation completed: {action} {content}"))
}

fn elicitation_enums(_: Nothing, context: &Context) -> Answer {
    let values = ["option1", "option2", "option3"];
    let titled = || values.map(|value| EnumOption::new(value, format!("The {value}")));
    let form = ElicitSchema::default()
        .optional(
            "untitledSingle",
            UntitledSingleSelectEnumSchema::new(values),
        )
        .optional("titledSingle", TitledSingleSelectEnumSchema::new(titled()))
        .optional("legacyEnum", LegacyTitledEnumSchema::new(titled()))
        .optional("untitledMulti", UntitledMultiSelectEnumSchema::new(values))
        .optional("titledMulti", TitledMultiSelectEnumSchema::new(titled()));
    let (action, content) = fill_in(context, "choice", "Which ones?", &form)?;
    Ok(format!("Elicitation completed: {action} {content}"))
}

/// If the client did not declare sampling, the library's error names the missing capability.
fn needs_sampling(_: Nothing, context: &Context) -> Answer {
    Ok(ask_model(context, "answer", "Are you there?")?)
}

fn asks_name(_: Nothing, context: &Context) -> Answer {
    let name = ask_text(context, "user_name", "What is your name?", "name")?;
    Ok(format!("Hello, {name}!"))
}

fn asks_model(_: Nothing, context: &Context) -> Answer {
    let capital = ask_model(
        context,
        "capital_question",
        "What is the capital of France?",
    )?;
    Ok(format!("The capital: {capital}"))
}

fn asks_roots(_: Nothing, context: &Context) -> Answer {
    Ok(format!("Roots: {}", ask_roots(context, "client_roots")?))
}

fn confirms(_: Nothing, context: &Context) -> Answer {
    let form = ElicitSchema::default().required("ok", BooleanSchema::new());
    let (action, _) = fill_in(context, "confirm", "Go on?", &form)?;
    Ok(format!("state-ok: {action}"))
}

/// Asks three questions before the first `?`, so they go out together.
fn asks_everything(_: Nothing, context: &Context) -> Answer {
    let name = ask_text(context, "user_name", "What is your name?", "name");
    let greeting = ask_model(context, "greeting", "Write a greeting.");
    let roots = ask_roots(context, "client_roots");
    Ok(format!("{}: {} ({})", name?, greeting?, roots?))
}

fn asks_twice(_: Nothing, context: &Context) -> Answer {
    let name = ask_text(context, "step1", "What is your name?", "name")?;
    let question = format!("{name}, what is your favourite colour?");
    let colour = ask_text(context, "step2", &question, "color")?;
    Ok(format!("{name} likes {colour}."))
}

/// Asks only questions for which the client has declared a capability.
fn asks_what_it_can(_: Nothing, context: &Context) -> Answer {
    let can = &context.client().capabilities;
    if can.sampling.is_some() {
        Ok(ask_model(context, "greeting", "Write a greeting.")?)
    } else if can.roots.is_some() {
        Ok(ask_roots(context, "client_roots")?)
    } else {
        asks_name(Nothing {}, context)
    }
}

/// Adds the tools of this module.
pub(crate) fn add(server: ServerBuilder) -> ServerBuilder {
    let rounds = |kind: &str| format!("test_input_required_result_{kind}");
    server
        .tool("test_sampling", "Asks the model", sampling)
        .tool("test_elicitation", "Asks the user", elicitation)
        .tool(
            "test_elicitation_sep1034_defaults",
            "Asks the user with a form that is filled in",
            elicitation_defaults,
        )
        .tool(
            "test_elicitation_sep1330_enums",
            "Has the user choose",
            elicitation_enums,
        )
        .tool("test_missing_capability", "Needs a model", needs_sampling)
        .tool("test_streaming_elicitation", "Asks the user", asks_name)
        .tool(&rounds("elicitation"), "Asks the user", asks_name)
        .tool(&rounds("sampling"), "Asks the model", asks_model)
        .tool(&rounds("list_roots"), "Asks for the roots", asks_roots)
        .tool(&rounds("request_state"), "Asks whether to go on", confirms)
        .tool(&rounds("tampered_state"), "Asks whether to go on", confirms)
        .tool(&rounds("multiple_inputs"), "Asks it all", asks_everything)
        .tool(&rounds("multi_round"), "Asks twice", asks_twice)
        .tool(
            &rounds("capabilities"),
            "Asks whoever can be asked",
            asks_what_it_can,
        )
}
