//! The client that other implementations' servers are tried with: see `tests/interop`.
//!
//! `interop_client [--era legacy|modern|auto] [--call NAME JSON]... -- COMMAND [ARGUMENT ...]`
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own"
)]

use std::process::ExitCode;

use mcplink::ErrorKind;
use mcplink::client::Client;
use mcplink::protocol::CallOptions;
use mcplink::schema::{ContentBlock, ProtocolVersion};
use mcplink::transport::Child;
use serde_json::{Value, json};

struct Arguments {
    revisions: Vec<ProtocolVersion>,
    calls: Vec<(String, Value)>,
    command: Vec<String>,
}

fn arguments() -> Result<Arguments, Box<dyn std::error::Error>> {
    let mut read = Arguments {
        revisions: ProtocolVersion::ALL.to_vec(),
        calls: Vec::new(),
        command: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match &*word {
            "--era" => match words.next().as_deref() {
                Some("legacy") => read.revisions = ProtocolVersion::LEGACY.to_vec(),
                Some("modern") => read.revisions = vec![ProtocolVersion::LATEST],
                Some("auto") => {}
                other => {
                    return Err(format!("--era takes legacy, modern or auto, not {other:?}").into());
                }
            },
            "--call" => {
                let name = words
                    .next()
                    .ok_or("--call takes a name and a JSON object")?;
                let json = words
                    .next()
                    .ok_or("--call takes a name and a JSON object")?;
                read.calls.push((name, serde_json::from_str(&json)?));
            }
            "--" => read.command = words.by_ref().collect(),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(read)
}

fn call(client: &Client, name: &str, arguments: &Value) -> mcplink::Result<Value> {
    let mut progress = Vec::new();
    let options = CallOptions::new().on_progress(|step| progress.push(step.progress));
    let result = match client.call_tool_with(name, arguments, options) {
        Ok(result) => result,
        Err(error) => match error.rpc() {
            Some(rpc) => {
                let error = json!({ "code": rpc.code.value(), "message": rpc.message });
                return Ok(json!({ "name": name, "error": error }));
            }
            None => return Err(error),
        },
    };
    let text: String = result
        .content
        .iter()
        .filter_map(ContentBlock::as_text)
        .collect();
    let structured: Option<Value> = result.read_structured()?;
    let mut seen = json!({ "name": name, "isError": result.is_error(), "text": text });
    if let Some(structured) = structured {
        seen["structured"] = structured;
    }
    if !progress.is_empty() {
        seen["progress"] = json!(progress);
    }
    Ok(seen)
}

fn run(arguments: &Arguments) -> mcplink::Result<Value> {
    let mut command = arguments.command.iter();
    let program = command.next().map_or("", String::as_str);
    let client = Client::builder("interop", "1.0")
        .revisions(&arguments.revisions)
        .connect(Child::new(program).args(command))?;
    let tools: Vec<String> = client
        .list_tools()?
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    let calls = arguments
        .calls
        .iter()
        .map(|(name, arguments)| call(&client, name, arguments));
    let calls: Vec<Value> = calls.collect::<mcplink::Result<_>>()?;
    let seen = json!({
        "revision": client.revision(),
        "server": client.server_info(),
        "capabilities": client.capabilities(),
        "tools": tools,
        "calls": calls,
    });
    client.ping(CallOptions::new()).or_else(|error| {
        if error.kind() == ErrorKind::Peer {
            Ok(())
        } else {
            Err(error)
        }
    })?;
    client.close();
    Ok(seen)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("interop_client: {error}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(seen) => {
            println!("{seen}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("interop_client: {error}");
            ExitCode::from(4)
        }
    }
}
