//! A host for a model: two servers form one set of tools, and the model chooses calls in a loop.
//!
//! ```text
//! cargo run --example agent_host                     # two servers of this program
//! cargo run --example agent_host -- servers.json     # the servers of a configuration file
//! ```
//!
//! The model is a script here: [`Model::next`] is where a real model gets the conversation. The
//! host shows the model all tools, makes the calls of the model at the same time, and asks the user
//! the questions of the servers. A server that fails does not end the conversation.
#![allow(clippy::print_stdout, reason = "an example for a terminal")]

use std::env;
use std::error::Error;
use std::time::Duration;

use mcplink::client::{CallOptions, Client, ClientBuilder, Config, Group, Restart};
use mcplink::schema::{ElicitRequestFormParams, ElicitResult, Tool};
use mcplink::server::{Context, HandlerError, Server};
use mcplink::transport::Child;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1).as_deref() {
        Some("serve-weather") => Ok(weather().serve_stdio()?),
        Some("serve-travel") => Ok(travel().serve_stdio()?),
        config => converse(&connect(config)?),
    }
}

// The host.

/// The settings that all servers have in common.
fn client() -> ClientBuilder {
    Client::builder("agent-host", "1.0")
        .call_timeout(Duration::from_secs(30))
        .restart(Restart::new().max_attempts(3))
        .on_elicit(|question, _| ask_user(question))
}

fn connect(config: Option<&str>) -> Result<Group, Box<dyn Error>> {
    let group = Group::new();
    if let Some(path) = config {
        for failure in group.connect(&Config::read(path)?, |_| client()) {
            println!("host: {failure}");
        }
        return Ok(group);
    }
    for name in ["weather", "travel"] {
        let server = Child::new(env::current_exe()?).arg(format!("serve-{name}"));
        group.add(name, client().connect(server)?)?;
    }
    Ok(group)
}

fn converse(group: &Group) -> Result<(), Box<dyn Error>> {
    let tools = group.list_tools();
    for failure in &tools.failures {
        println!("host: {failure}");
    }
    for tool in &tools.items {
        let text = tool.item.description.as_deref().unwrap_or("no description");
        println!("host: the model may use {}: {text}", tool.name);
    }
    let mut model = Model::new("Where should I go at the weekend?");
    while let Some(calls) = model.next() {
        // All calls of one turn are in flight before the first result is waited for.
        let start = |(name, arguments): &(&str, Value)| {
            group.start_tool(name, arguments, CallOptions::new())
        };
        let started: Vec<_> = calls.iter().map(start).collect();
        for ((name, _), call) in calls.iter().zip(started) {
            // A model can correct a call that failed, so it gets the error as the result.
            let result = match call.and_then(|call| call.wait()) {
                Ok(result) => {
                    let texts = result.content.iter().filter_map(|block| block.as_text());
                    texts.collect::<Vec<_>>().join("\n")
                }
                Err(error) => format!("error: {error}"),
            };
            model.hear(name, &result);
        }
    }
    group.close();
    Ok(())
}

/// Asks the user on behalf of a server. A real host shows the form; this user says yes.
fn ask_user(question: &ElicitRequestFormParams) -> ElicitResult {
    println!("user: {} Yes.", question.message);
    ElicitResult::confirm()
}

// The model.

/// A model that follows a script.
struct Model {
    turns: Vec<Vec<(&'static str, Value)>>,
}

impl Model {
    fn new(question: &str) -> Self {
        println!("user: {question}");
        let forecast = |city: &str| ("weather__forecast", json!({ "city": city }));
        let turns = vec![
            vec![
                forecast("Oslo"),
                forecast("Rome"),
                ("hotels__find", json!({})),
            ],
            vec![("travel__book", json!({ "city": "Rome" }))],
        ];
        let turns = turns.into_iter().rev().collect();
        Self { turns }
    }

    /// Returns the calls of the next turn, or `None` when the model has answered.
    fn next(&mut self) -> Option<Vec<(&'static str, Value)>> {
        self.turns.pop()
    }

    fn hear(&mut self, name: &str, result: &str) {
        println!("model: {name} says: {result}");
    }
}

// The servers.

fn weather() -> Server {
    let forecast = |arguments: Value, _: &Context| match arguments["city"].as_str() {
        Some("Rome") => "sunny, 24 °C".to_owned(),
        city => format!("rain in {}", city.unwrap_or("no city")),
    };
    let tool = Tool::new("forecast").description("The weather at the weekend");
    let server = Server::builder("weather", "1.0").tool_with(tool.read_only(), forecast);
    server.build().expect("the tool has a name")
}

fn travel() -> Server {
    let book = |arguments: Value, context: &Context| {
        let city = arguments["city"].as_str().unwrap_or("nowhere");
        if !context.confirm("sure", format!("Book a train to {city}?"))? {
            return Err(HandlerError::from("the user did not agree"));
        }
        Ok(format!("a seat to {city} is booked"))
    };
    let tool = Tool::new("book").description("Books a train");
    let server = Server::builder("travel", "1.0").tool_with(tool.destructive(), book);
    server.build().expect("the tool has a name")
}
