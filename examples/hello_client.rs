//! The smallest client: starts a server from its command line, and calls the tool `greet`.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use mcplink::client::Client;
use mcplink::transport::Child;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut command = std::env::args().skip(1);
    let program = command
        .next()
        .ok_or("usage: hello_client COMMAND [ARGUMENT ...]")?;
    let client = Client::connect(Child::new(program).args(command))?;
    let result = client.call_tool("greet", &serde_json::json!({ "name": "world" }))?;
    println!("{}", result.content[0].as_text().unwrap_or("(no text)"));
    Ok(())
}
