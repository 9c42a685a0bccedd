//! The log records of the library go to `tracing`, together with those of the program.
//!
//! ```text
//! cargo run --example logging --features log
//! ```
//!
//! Three lines in Cargo.toml are enough, and one in `main`:
//!
//! ```toml
//! mcplink = { version = "0.1", features = ["log"] }
//! tracing = "0.1"
//! tracing-subscriber = "0.3"
//! ```
//!
//! The library passes its records to the crate `log`, and `tracing_subscriber` collects them there.
//! Their targets are `mcplink::server`, `mcplink::http` and so on.

use std::io;

use mcplink::schema::Resource;
use mcplink::server::{HandlerError, Server};

fn main() -> mcplink::Result<()> {
    // Standard output has the messages of the protocol, so the log goes to standard error.
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let server = Server::builder("clock", "1.0")
        .tool("now", "Returns the time", |(): (), _| {
            tracing::info!("somebody asks for the time");
            "noon"
        })
        // The client gets an internal error, and the log has the reason.
        .resource(Resource::new("clock://alarm", "alarm"), |_, _| {
            Err::<String, HandlerError>(io::Error::other("the alarm is broken").into())
        })
        .build()?;
    server.serve_stdio()
}
