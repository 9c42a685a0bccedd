//! One thread, three servers, twenty calls in flight: progress, results and changes arrive in one
//! `select!`.
//!
//! ```text
//! cargo run --example many_servers
//! ```
//!
//! The program starts itself three times as a server. Ctrl-C cancels the calls that are still in
//! flight, and ends the servers in order.
#![allow(clippy::print_stdout, reason = "an example for a terminal")]

use std::error::Error;
use std::time::Duration;
use std::{env, thread};

use crossbeam_channel::{Receiver, Select};
use mcplink::client::CallOptions;
use mcplink::client::{CallEvent, Client, Event, PendingCall};
use mcplink::schema::{CallToolResult, SubscriptionFilter, Tool};
use mcplink::server::{Context, Server};
use mcplink::transport::Child;
use serde_json::{Value, json};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

const SERVERS: [&str; 3] = ["red", "green", "blue"];
const CALLS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1) {
        Some(name) => serve(&name),
        None => run(),
    }
}

/// A call in flight, and what to print about it.
struct Job {
    label: String,
    call: PendingCall<CallToolResult>,
    events: Receiver<CallEvent>,
}

fn run() -> Result<(), Box<dyn Error>> {
    let interrupts = interrupts()?;
    let program = env::current_exe()?;
    let clients = SERVERS
        .iter()
        .map(|name| Client::connect(Child::new(&program).arg(name)))
        .collect::<mcplink::Result<Vec<_>>>()?;
    let mut changes = Vec::new();
    for client in &clients {
        let filter = SubscriptionFilter::default().tools_list_changed(true);
        changes.push(client.subscribe_channel(filter, CallOptions::new())?);
    }
    let mut jobs = Vec::new();
    for number in 0..CALLS {
        let place = number % clients.len();
        let arguments = json!({ "steps": number % 4 + 1 });
        let mut call = clients[place].start_tool("work", &arguments, CallOptions::new())?;
        jobs.push(Job {
            label: format!("{} {number}", SERVERS[place]),
            events: call.events().clone(),
            call,
        });
    }
    while !jobs.is_empty() {
        let mut select = Select::new();
        for job in &jobs {
            select.recv(&job.events);
        }
        let first_change = jobs.len();
        for (_, events) in &changes {
            select.recv(events);
        }
        let interrupt = select.recv(&interrupts);
        let ready = select.select();
        match ready.index() {
            index if index == interrupt => {
                ready.recv(&interrupts)?;
                println!("interrupted: {} calls are cancelled", jobs.len());
                // Dropping a call cancels it, and the server is notified.
                jobs.clear();
            }
            index if index >= first_change => {
                let place = index - first_change;
                match ready.recv(&changes[place].1) {
                    Ok(Event::ToolsChanged) => println!("{}: other tools", SERVERS[place]),
                    Ok(event) => println!("{}: {event:?}", SERVERS[place]),
                    // The server has gone, and its subscription with it.
                    Err(_) => drop(changes.remove(place)),
                }
            }
            index => match ready.recv(&jobs[index].events)? {
                CallEvent::Progress(step) => {
                    println!("{}: step {}", jobs[index].label, step.progress)
                }
                _ => finish(jobs.swap_remove(index)),
            },
        }
    }
    drop(changes);
    clients.iter().for_each(Client::close);
    Ok(())
}

fn finish(mut job: Job) {
    match job.call.try_take() {
        Some(Ok(result)) => {
            let text = result.content.first().and_then(|block| block.as_text());
            println!("{}: {}", job.label, text.unwrap_or("no text"));
        }
        Some(Err(error)) => println!("{}: {error}", job.label),
        None => println!("{}: not done", job.label),
    }
}

/// Returns a channel that gets a message for each Ctrl-C.
fn interrupts() -> Result<Receiver<()>, Box<dyn Error>> {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let mut signals = Signals::new([SIGINT])?;
    thread::spawn(move || {
        for _ in signals.forever() {
            _ = sender.try_send(());
        }
    });
    Ok(receiver)
}

fn serve(name: &str) -> Result<(), Box<dyn Error>> {
    let work = |arguments: Value, context: &Context| {
        let steps = arguments["steps"].as_u64().unwrap_or(1);
        for step in 1..=steps {
            if context.cancel_token().wait(Duration::from_millis(20)) {
                return "cancelled".to_owned();
            }
            context.progress(step as f64, Some(steps as f64), None);
        }
        format!("{steps} steps done")
    };
    let server = Server::builder(name, "1.0")
        .tool_with(Tool::new("work"), work)
        .build()?;
    // Ctrl-C at a terminal goes to all programs: the servers end when their client closes.
    let _ignored = Signals::new([SIGINT])?;
    server.serve_stdio()?;
    Ok(())
}
