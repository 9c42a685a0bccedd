//! The server for tests against clients of other implementations: see `tests/interop`.

use std::time::Duration;

use mcplink::server::{Context, HandlerError, Json, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// The name to greet.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Summands {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    /// The number of steps.
    steps: u32,
    /// The duration of each step, in milliseconds.
    delay_ms: u64,
}

fn greet(args: Greeting, _: &Context) -> String {
    format!("Hello, {}!", args.name)
}

fn add(args: Summands, _: &Context) -> Json<Sum> {
    Json(Sum {
        sum: args.a + args.b,
    })
}

fn fail((): (), _: &Context) -> Result<(), HandlerError> {
    Err(HandlerError::new("it failed on purpose"))
}

fn slow(args: Steps, context: &Context) -> String {
    for step in 1..=args.steps {
        if context
            .cancel_token()
            .wait(Duration::from_millis(args.delay_ms))
        {
            break;
        }
        context.progress(step.into(), Some(args.steps.into()), None);
    }
    format!("done {}", args.steps)
}

fn main() -> mcplink::Result<()> {
    Server::builder("interop", "1.0")
        .tool("greet", "Greets someone by name", greet)
        .tool("add", "Adds two numbers", add)
        .tool("fail", "Fails on purpose", fail)
        .tool("slow", "Takes its time and tells how far it is", slow)
        .serve_stdio()
}
