//! A server whose lists change, for tests of `mcplink proxy`: `cli_list_server NAME` serves
//! standard input and output. It lists the resource `x:shared`, whose text is the name. The tool
//! `may` returns the capabilities of the client. The tool `talk` sends log messages and progress
//! directly before its answer, which is its argument `word`. Further arguments are names of tools, which return
//! their names.
#![allow(
    clippy::unwrap_used,
    reason = "a program that can't go on fails its test"
)]

use std::env;
use std::sync::OnceLock;

use mcplink::schema::{LoggingLevel, Resource, Tool};
use mcplink::server::{Context, HandlerError, Server};
use serde_json::{Value, json};

static SERVER: OnceLock<Server> = OnceLock::new();

fn add(name: String) {
    let shared = Resource::new("x:shared", "shared");
    let server = SERVER.get().unwrap();
    server
        .add_resource(shared, move |_: &_, _: &_| name.clone())
        .unwrap();
}

fn main() {
    let name = env::args().nth(1).unwrap();
    let again = name.clone();
    let mut server = Server::builder(&*name, "1.0")
        .declare_capability(mcplink::server::List::Resources)
        .logging(true)
        .tool_with(Tool::new("drop"), |_: Value, _: &Context| {
            SERVER.get().unwrap().remove_resource("x:shared");
            Ok::<_, HandlerError>("dropped")
        })
        .tool_with(Tool::new("add"), move |_: Value, _: &Context| {
            add(again.clone());
            Ok::<_, HandlerError>("added")
        })
        .tool_with(Tool::new("touch"), |_: Value, _: &Context| {
            SERVER.get().unwrap().resource_updated("x:shared");
            Ok::<_, HandlerError>("touched")
        })
        .tool_with(Tool::new("may"), |_: Value, context: &Context| {
            let client = serde_json::to_string(&context.client().capabilities);
            Ok::<_, HandlerError>(client?)
        })
        .tool_with(Tool::new("talk"), |arguments: Value, context: &Context| {
            let word = arguments["word"].as_str().unwrap().to_owned();
            for number in 1..=arguments["count"].as_u64().unwrap() {
                let text = format!("{word} {number}");
                context.progress(number as f64, None, Some(&text));
                context.log(LoggingLevel::Info, None, json!(text));
            }
            Ok::<_, HandlerError>(word)
        })
        .tool_with(Tool::new("grow"), |_: Value, _: &Context| {
            let grown = Tool::new("grown");
            let server = SERVER.get().unwrap();
            server.add_tool(grown, |_: Value, _: &Context| "grown")?;
            Ok::<_, HandlerError>("grown")
        });
    for name in env::args().skip(2) {
        let own = name.clone();
        server = server.tool_with(Tool::new(name), move |_: Value, _: &Context| own.clone());
    }
    let server = server.build().unwrap();
    SERVER.set(server.clone()).ok().unwrap();
    add(name);
    server.serve_stdio().unwrap();
}
