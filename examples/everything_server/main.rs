//! A server with everything that a client may want to try: `everything_server stdio`.
//!
//! The tools, resources and prompts whose names begin with `test` are those that the conformance suite of the protocol looks for.
#![allow(clippy::print_stderr, reason = "a program of its own")]

mod asking;
mod changes;
mod prompts;
mod resources;
mod tools;

use std::process::ExitCode;

use mcplink::server::Server;

fn server() -> mcplink::Result<Server> {
    let server = Server::builder("everything", "1.0")
        .instructions("Everything here is for trying out clients.")
        .logging(true);
    let server = prompts::add(resources::add(asking::add(tools::add(server)?)));
    let server = server.build()?;
    changes::add(&server)?;
    Ok(server)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words != ["stdio"] {
        eprintln!("usage: everything_server stdio");
        return ExitCode::from(2);
    }
    match server().and_then(|server| server.serve_stdio()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everything_server: {error}");
            ExitCode::FAILURE
        }
    }
}
