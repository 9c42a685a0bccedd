//! The main use in one command: a client that starts a server, reads its capabilities, and calls
//! its tools.
//!
//! The program is both. Without arguments it is the client, which starts this program once more, as
//! a child process, as the server.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::protocol::Progress;
use mcplink::schema::{CallToolResult, ContentBlock};
use mcplink::server::{Context, HandlerError, Server};
use mcplink::transport::Child;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    match std::env::args().nth(1).as_deref() {
        None => client(),
        Some("server") => Ok(server()?),
        Some("server-without-tools") => Ok(Server::builder("bare", "1.0").serve_stdio()?),
        Some(other) => Err(format!("unknown argument {other}: run it without arguments").into()),
    }
}

// The server.

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// The name to greet.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    /// How far to count.
    to: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Division {
    dividend: f64,
    divisor: f64,
}

fn greet(args: Greeting, _: &Context) -> String {
    format!("Hello, {}!", args.name)
}

fn count(args: Count, context: &Context) -> String {
    for number in 1..=args.to {
        if context.cancel_token().wait(Duration::from_millis(40)) {
            break;
        }
        context.progress(number.into(), Some(args.to.into()), Some("counting"));
    }
    format!("counted to {}", args.to)
}

fn divide(args: Division, _: &Context) -> Result<String, HandlerError> {
    if args.divisor == 0.0 {
        return Err(HandlerError::new("can't divide by zero"));
    }
    Ok((args.dividend / args.divisor).to_string())
}

fn server() -> mcplink::Result<()> {
    Server::builder("quickstart", env!("CARGO_PKG_VERSION"))
        .instructions("Greet somebody first.")
        .tool("greet", "Greets someone by name", greet)
        .tool("count", "Counts, and tells how far it is", count)
        .tool("divide", "Divides two numbers", divide)
        .serve_stdio()
}

// The client.

fn client() -> Outcome {
    let this_program = std::env::current_exe()?;
    let started = Instant::now();
    let client = Client::connect(Child::new(&this_program).arg("server"))?;
    introduce(&client, started.elapsed());

    heading("Its tools");
    for tool in client.list_tools()? {
        println!(
            "  {:<8} {}",
            tool.name,
            tool.description.as_deref().unwrap_or_default()
        );
    }

    call(&client, "greet", &json!({ "name": "Ada" }))?;
    call(&client, "count", &json!({ "to": 25 }))?;
    // A tool that fails returns a result with `is_error`, for a model to read. It is not an `Err`.
    call(&client, "divide", &json!({ "dividend": 1, "divisor": 0 }))?;

    heading("A server without tools");
    let bare = Client::connect(Child::new(&this_program).arg("server-without-tools"))?;
    if let Err(error) = bare.call_tool("greet", &json!({})) {
        println!("  {:?}: {error}", error.kind());
        println!("  sent to the server: {}", error.was_sent());
    }

    heading("The end");
    for client in [client, bare] {
        let closing = Instant::now();
        client.close();
        println!(
            "  closed in {:.1} ms",
            closing.elapsed().as_secs_f64() * 1e3
        );
    }
    Ok(())
}

fn introduce(client: &Client, took: Duration) {
    let server = client
        .server_info()
        .map_or("a server", |info| info.display_name());
    let version = client.server_info().map_or("", |info| &info.version);
    println!(
        "Connected to {server} {version} in {:.1} ms",
        took.as_secs_f64() * 1e3
    );
    println!(
        "  revision      {} ({:?} era)",
        client.revision(),
        client.era()
    );
    println!("  capabilities  {}", json!(client.capabilities()));
    println!(
        "  instructions  {}",
        client.instructions().unwrap_or("none")
    );
}

fn call(client: &Client, tool: &str, arguments: &Value) -> Outcome {
    heading(&format!("{tool} {arguments}"));
    let mut bar = Bar::new();
    let options = CallOptions::new().on_progress(|progress| bar.show(&progress));
    let result = client.call_tool_with(tool, arguments, options)?;
    bar.finish();
    show(&result);
    Ok(())
}

fn show(result: &CallToolResult) {
    let mark = if result.is_error() {
        "the tool failed: "
    } else {
        ""
    };
    for text in result.content.iter().filter_map(ContentBlock::as_text) {
        println!("  {mark}{text}");
    }
}

fn heading(text: &str) {
    println!("\n{text}");
}

/// Shows progress: a bar on a terminal, plain lines elsewhere.
struct Bar {
    live: bool,
    shown: bool,
}

impl Bar {
    const WIDTH: usize = 30;

    fn new() -> Self {
        Self {
            live: stdout().is_terminal(),
            shown: false,
        }
    }

    fn show(&mut self, progress: &Progress) {
        let total = progress.total.unwrap_or(progress.progress).max(1.0);
        let message = progress.message.as_deref().unwrap_or_default();
        if self.live {
            let done = (progress.progress / total * Self::WIDTH as f64) as usize;
            let (done, left) = (
                "█".repeat(done.min(Self::WIDTH)),
                "░".repeat(Self::WIDTH.saturating_sub(done)),
            );
            print!("\r  {done}{left} {}/{total} {message}", progress.progress);
            // A failed write loses only this update of the bar.
            drop(stdout().flush());
        } else if progress.progress % 5.0 == 0.0 {
            println!("  {}/{total} {message}", progress.progress);
        }
        self.shown = true;
    }

    fn finish(&self) {
        if self.live && self.shown {
            print!("\r\x1b[2K");
        }
    }
}
