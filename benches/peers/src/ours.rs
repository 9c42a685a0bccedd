//! A server and a client on mcplink.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Result, ensure};
use mcplink::client::CallOptions;
use mcplink::client::Client as Connected;
use mcplink::schema::{CallToolResult, JsonSchema as Schema, Tool};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, Server};
use mcplink::transport::Child;
use mcplink::transport::http::Http;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::compare::{IN_FLIGHT, Measured, Workload};
use crate::{Maker, TOOLS};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    count: u32,
}

/// Returns a tool whose only purpose is to lengthen the list.
pub fn filler(number: usize) -> Tool {
    let path = json!({ "type": "string", "description": "The path of the file to work on" });
    let limit = json!({ "type": "integer", "minimum": 0, "maximum": 10_000 });
    let schema = json!({ "type": "object", "properties": { "path": path, "limit": limit }, "required": ["path"] });
    Tool::new(format!("tool_{number:03}"))
        .description(format!(
            "Does the work number {number} on a file and tells what came of it"
        ))
        .input_schema(Schema::new(&schema).expect("it is a schema"))
}

fn server() -> Result<Server> {
    let server = Server::builder("bench", "1.0")
        .tool(
            "echo",
            "Gives the message back",
            |args: Echo, _: &Context| args.message,
        )
        .tool(
            "progress",
            "Reports progress so many times",
            |args: Count, context: &Context| {
                for step in 1..=args.count {
                    context.progress(step.into(), Some(args.count.into()), None);
                }
                "done"
            },
        )
        .build()?;
    for number in 2..TOOLS {
        server.add_tool(filler(number), |_: Value, _: &Context| "done")?;
    }
    Ok(server)
}

pub fn serve_stdio() -> Result<()> {
    Ok(server()?.serve_stdio()?)
}

pub fn serve_http() -> Result<()> {
    let listening = server()?.listen_http("127.0.0.1:0", HttpOptions::new())?;
    println!("{}", listening.local_addr().expect("it is a TCP socket"));
    listening.wait();
    Ok(())
}

/// A client of a bare server.
pub struct Client(Connected);

impl Client {
    pub fn connect(address: Option<&str>) -> Result<Self> {
        Ok(Self(match address {
            Some(address) => Connected::connect(Http::new(&format!("http://{address}/mcp"))?)?,
            None => {
                let program = Child::new(std::env::current_exe()?);
                Connected::connect(program.args(["serve", Maker::Bare.name(), "stdio"]))?
            }
        }))
    }

    fn echo(&self, text: &str) -> Result<()> {
        let result = self.0.call_tool("echo", &json!({ "message": text }))?;
        check(&result, text)
    }
}

fn check(result: &CallToolResult, text: &str) -> Result<()> {
    let came = result.content.first().and_then(|block| block.as_text());
    ensure!(came == Some(text), "the echo is another text");
    Ok(())
}

impl Measured for Client {
    fn play(&mut self, workload: Workload, text: &str) -> Result<usize> {
        match workload {
            Workload::Echo(_) => self.echo(text)?,
            Workload::InFlight => {
                let client = &*self;
                // Each thread makes several calls, so that starting the threads hardly counts.
                std::thread::scope(|scope| {
                    let threads = (0..IN_FLIGHT)
                        .map(|_| scope.spawn(|| (0..20).try_for_each(|_| client.echo(text))));
                    let threads: Vec<_> = threads.collect();
                    threads
                        .into_iter()
                        .try_for_each(|thread| thread.join().expect("no thread panics"))
                })?;
                return Ok(20 * IN_FLIGHT);
            }
            Workload::Started => {
                let arguments = json!({ "message": text });
                let start = || self.0.start_tool("echo", &arguments, CallOptions::new());
                let mut calls = (0..IN_FLIGHT)
                    .map(|_| start())
                    .collect::<mcplink::Result<VecDeque<_>>>()?;
                let mut to_start = 19 * IN_FLIGHT;
                while let Some(call) = calls.pop_front() {
                    check(&call.wait()?, text)?;
                    if to_start > 0 {
                        to_start -= 1;
                        calls.push_back(start()?);
                    }
                }
                return Ok(20 * IN_FLIGHT);
            }
            Workload::List => {
                let options = CallOptions::new().bypass_cache();
                ensure!(
                    self.0.list_tools_with(options)?.len() == TOOLS,
                    "tools are missing"
                );
            }
            Workload::Progress => {
                let mut told = 0;
                let options = CallOptions::new()
                    .timeout(Duration::from_secs(10))
                    .on_progress(|_| told += 1);
                self.0
                    .call_tool_with("progress", &json!({ "count": 100 }), options)?;
                ensure!(told > 0, "no progress was reported");
            }
        }
        Ok(1)
    }
}
