//! The smallest server: one tool, over standard input and output.

use mcplink::server::Server;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// The name to greet.
    name: String,
}

fn main() -> mcplink::Result<()> {
    Server::builder("hello", "1.0")
        .tool("greet", "Greets someone by name", |args: Greeting, _| {
            format!("Hello, {}!", args.name)
        })
        .serve_stdio()
}
