//! The server of the benchmarks: `bench_server stdio`, or `bench_server http PORT`.
//!
//! With `BENCH_TOOLS=N` in the environment it has N tools, to measure long lists.

use std::time::Duration;

use mcplink::schema::{JsonSchema as Schema, Tool};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    count: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Sleep {
    ms: u64,
}

fn echo(args: Echo, _: &Context) -> String {
    args.message
}

fn progress(args: Count, context: &Context) -> String {
    for step in 1..=args.count {
        context.progress(step.into(), Some(args.count.into()), None);
    }
    format!("reported {} times", args.count)
}

fn sleep(args: Sleep, _: &Context) -> &'static str {
    std::thread::sleep(Duration::from_millis(args.ms));
    "slept"
}

/// Returns a tool whose only purpose is to lengthen the list, by about 350 bytes.
fn filler(number: usize) -> mcplink::Result<Tool> {
    let schema = Schema::new(&json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The path of the file to work on" },
            "limit": { "type": "integer", "minimum": 0, "maximum": 10_000 },
        },
        "required": ["path"],
    }))?;
    Ok(Tool::new(format!("tool_{number:03}"))
        .description(format!(
            "Does the work number {number} on a file and tells what came of it"
        ))
        .input_schema(schema))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools: usize = std::env::var("BENCH_TOOLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3);
    let server = Server::builder("bench", "1.0")
        .tool("echo", "Gives the message back", echo)
        .tool("progress", "Reports progress so many times", progress)
        .tool("sleep", "Sleeps so many milliseconds", sleep)
        .build()?;
    for number in 3..tools {
        server.add_tool(filler(number)?, |_: Value, _| "done")?;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["stdio"] => Ok(server.serve_stdio()?),
        ["http", port] => {
            let address = format!("127.0.0.1:{port}");
            server.listen_http(&address, HttpOptions::new())?.wait();
            Ok(())
        }
        _ => Err("usage: bench_server stdio | http PORT".into()),
    }
}
