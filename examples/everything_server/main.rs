//! A server with every feature, to try clients on: `everything_server stdio`, or
//! `everything_server http 127.0.0.1:PORT [REPLICA]`. The name of a replica is for several of these
//! processes behind one proxy. A replica moves its clients to the others when it gets SIGTERM, and
//! then ends.
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
#[cfg(unix)]
use signal_hook::consts::SIGTERM;
#[cfg(unix)]
use signal_hook::iterator::Signals;

/// How long a replica drains. The proxies request the health page each second.
#[cfg(unix)]
const DRAIN: std::time::Duration = std::time::Duration::from_secs(4);

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

/// Serves until the process gets SIGTERM.
#[cfg(unix)]
fn serve_replica(server: &Server, address: &str) -> mcplink::Result<()> {
    // Before the server starts, so that no signal ends the process without the drain.
    let mut signals = Signals::new([SIGTERM])?;
    let options = HttpOptions::new().health("/healthz");
    let listening = server.listen_http(address, options)?;
    eprintln!("everything_server: {}", listening.url());
    signals.forever().next();
    listening.drain(DRAIN);
    listening.close();
    Ok(())
}

#[cfg(not(unix))]
use self::serve_http as serve_replica;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let served = match words[..] {
        ["stdio"] => server(None).and_then(|server| server.serve_stdio()),
        ["http", address] => server(None).and_then(|server| serve_http(&server, address)),
        ["http", address, replica] => {
            server(Some(replica)).and_then(|server| serve_replica(&server, address))
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
