//! Tools that run as tasks for clients that support tasks, and as plain calls for others.

use std::time::Duration;

use mcplink::schema::{
    BooleanSchema, ElicitRequestParams, ElicitSchema, JsonSchema as Schema, TaskSupport, Tool,
    ToolExecution,
};
use mcplink::server::{AskError, Context, HandlerError, ServerBuilder, TaskOptions, ToolOutput};
use mcplink::{Result, RpcError};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::asking::ask_text;
use crate::tools::Nothing;

#[derive(Deserialize, JsonSchema)]
struct Computation {
    /// How long it takes.
    seconds: f64,
    /// What is computed.
    label: String,
}

/// Stops when it is cancelled, as a task or as a call.
fn slow_compute(args: Computation, context: &Context) -> Result<String, HandlerError> {
    let time = Duration::try_from_secs_f64(args.seconds)?;
    if context.cancel_token().wait(time) {
        return Err(HandlerError::new("cancelled"));
    }
    Ok(format!("Computed {} in {} s.", args.label, args.seconds))
}

fn failing_job(_: Nothing, context: &Context) -> Result<String, HandlerError> {
    context.cancel_token().wait(Duration::from_secs(1));
    Err(HandlerError::new("The job failed."))
}

fn protocol_error_job(_: Nothing, _: &Context) -> Result<String, HandlerError> {
    Err(RpcError::internal("the job can't be done here").into())
}

#[derive(Deserialize, JsonSchema)]
struct File {
    /// What is deleted.
    filename: String,
}

fn confirmed(context: &Context, key: &str, message: &str) -> Result<bool, AskError> {
    let form = ElicitSchema::default().required("confirm", BooleanSchema::new());
    let answer = context.elicit(key, ElicitRequestParams::form(message, form.to_schema()?))?;
    let content: Value = answer.read()?.unwrap_or_default();
    Ok(content["confirm"] == true)
}

fn confirm_delete(args: File, context: &Context) -> Result<String, HandlerError> {
    let question = format!("Delete {}?", args.filename);
    Ok(if confirmed(context, "confirm", &question)? {
        format!("Deleted {}.", args.filename)
    } else {
        format!("Kept {}.", args.filename)
    })
}

/// Asks two questions before the first `?`, so they go out together.
fn multi_input(_: Nothing, context: &Context) -> Result<String, HandlerError> {
    let first = confirmed(context, "first", "Do the first thing?");
    let second = confirmed(context, "second", "Do the second thing?");
    Ok(format!("first: {}, second: {}", first?, second?))
}

/// Becomes a task after the question is answered.
fn with_task(_: Nothing, context: &Context) -> Result<String, HandlerError> {
    let name = ask_text(context, "user_name", "What is your name?", "name")?;
    context.become_task()?;
    Ok(format!("Hello from a task, {name}!"))
}

/// Adds a tool that may, or must, be run as a task.
fn job<A: DeserializeOwned + JsonSchema, R: ToolOutput>(
    server: ServerBuilder,
    name: &str,
    description: &str,
    support: TaskSupport,
    handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
) -> Result<ServerBuilder> {
    let tool = Tool::new(name)
        .description(description)
        .input_schema(Schema::new(&schema_for!(A))?)
        .execution(ToolExecution::default().task_support(support));
    Ok(server.tool_with(tool, handler))
}

/// Adds the tools of this module.
pub(crate) fn add(server: ServerBuilder) -> Result<ServerBuilder> {
    let server = server.tasks(TaskOptions::default()).tool(
        "test_tool_with_task",
        "Asks, and becomes a task then",
        with_task,
    );
    let (may, must) = (TaskSupport::Optional, TaskSupport::Required);
    let server = job(
        server,
        "slow_compute",
        "Takes its time",
        may.clone(),
        slow_compute,
    )?;
    let server = job(server, "failing_job", "Fails", must, failing_job)?;
    let server = job(
        server,
        "protocol_error_job",
        "Is answered with an error",
        may.clone(),
        protocol_error_job,
    )?;
    let server = job(
        server,
        "confirm_delete",
        "Asks whether to delete",
        may.clone(),
        confirm_delete,
    )?;
    job(
        server,
        "multi_input",
        "Asks twice at once",
        may,
        multi_input,
    )
}
