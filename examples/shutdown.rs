//! A server that ends on Ctrl-C or SIGTERM, after the calls in flight.
//!
//! ```text
//! cargo run --example shutdown            # over standard input and output
//! cargo run --example shutdown -- 8080    # http://127.0.0.1:8080/mcp
//! ```
//!
//! The library installs no signal handler: the crate `signal-hook` does that here. Calls in flight
//! get `ServerBuilder::drain` to finish, and are cancelled after that.
#![allow(clippy::print_stdout, reason = "an example for a terminal")]

use std::thread;
use std::time::Duration;

use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, Server};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Takes two seconds, unless the call is cancelled.
fn work(_: (), context: &Context) -> &'static str {
    for step in 1..=20 {
        context.progress(f64::from(step), Some(20.0), None);
        if context.cancel_token().wait(Duration::from_millis(100)) {
            return "cancelled";
        }
    }
    "finished"
}

fn main() -> mcplink::Result<()> {
    // Before the server starts, so that no signal ends the process without the drain.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let server = Server::builder("worker", "1.0")
        .tool("work", "Works for two seconds", work)
        .drain(Duration::from_secs(10))
        .build()?;
    match std::env::args().nth(1) {
        None => {
            let shutdown = server.shutdown_handle();
            thread::spawn(move || {
                if signals.forever().next().is_some() {
                    shutdown.shutdown();
                }
            });
            server.serve_stdio()
        }
        Some(address) => {
            let listening = server.listen_http(&address, HttpOptions::new())?;
            println!("{}", listening.url());
            signals.forever().next();
            listening.close();
            Ok(())
        }
    }
}
