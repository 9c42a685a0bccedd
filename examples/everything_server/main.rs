//! A server with every feature, to try clients on: `everything_server stdio`, or
//! `everything_server http 127.0.0.1:PORT [REPLICA]`. The name of a replica is for several of these
//! processes behind one proxy.
//!
//! The protocol's conformance suite requires the tools, resources and prompts whose names begin
//! with `test`.
#![allow(clippy::print_stderr, reason = "a program of its own")]

mod asking;
mod changes;
mod jobs;
mod prompts;
mod resources;
mod skills;
mod tools;

use std::process::ExitCode;

use mcplink::server::Server;
use mcplink::server::http::HttpOptions;

fn server(replica: Option<&str>) -> mcplink::Result<Server> {
    let mut server = Server::builder("everything", "1.0")
        .instructions("Everything here is for trying out clients.")
        .logging(true);
    if let Some(replica) = replica {
        server = server.replica(replica);
    }
    let server = prompts::add(resources::add(asking::add(tools::add(server)?)));
    let server = skills::add(jobs::add(server)?);
    let server = server.build()?;
    changes::add(&server)?;
    Ok(server)
}

/// Serves until the process ends.
fn serve_http(server: &Server, address: &str) -> mcplink::Result<()> {
    let listening = server.listen_http(address, HttpOptions::new())?;
    eprintln!("everything_server: {}", listening.url());
    listening.wait();
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let served = match words[..] {
        ["stdio"] => server(None).and_then(|server| server.serve_stdio()),
        ["http", address] => server(None).and_then(|server| serve_http(&server, address)),
        ["http", address, replica] => {
            server(Some(replica)).and_then(|server| serve_http(&server, address))
        }
        _ => {
            eprintln!("usage: everything_server stdio | http ADDRESS:PORT [REPLICA]");
            return ExitCode::from(2);
        }
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everything_server: {error}");
            ExitCode::FAILURE
        }
    }
}
