//! A server over HTTP whose clients have API keys: one key may read, the other one may also write.
//!
//! ```text
//! export READER_KEY=$(openssl rand -hex 16) WRITER_KEY=$(openssl rand -hex 16)
//! cargo run --example api_keys -- 8080
//! mcplink call --url http://127.0.0.1:8080/mcp --header "Authorization: Bearer $READER_KEY" read
//! ```
//!
//! A request without a key gets status 401, a call of `write` with the key of the reader gets 403.
#![allow(clippy::print_stdout, reason = "an example for a terminal")]

use std::sync::{Arc, Mutex, PoisonError};

use mcplink::server::http::{HttpOptions, StaticTokens};
use mcplink::server::{Context, Primitive, Principal, Server};
use mcplink::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Line {
    /// The line to add.
    text: String,
}

fn server() -> mcplink::Result<Server> {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&notes);
    Server::builder("notes", "1.0")
        .tool("read", "Returns all notes", move |(): (), _| {
            let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.join("\n")
        })
        .tool(
            "write",
            "Adds a note",
            move |line: Line, context: &Context| {
                let author = context.principal().unwrap_or("nobody");
                let note = format!("{author}: {}", line.text);
                let mut notes = written.lock().unwrap_or_else(PoisonError::into_inner);
                notes.push(note);
                "written"
            },
        )
        .require_scopes(Primitive::Tool("read"), ["notes:read"])
        .require_scopes(Primitive::Tool("write"), ["notes:write"])
        .build()
}

/// Reads a key from the environment: keys don't belong into the source.
fn key(variable: &str) -> mcplink::Result<String> {
    let text = format!("the environment variable {variable} has no key");
    std::env::var(variable).map_err(|_| Error::new(ErrorKind::Invalid, text))
}

fn main() -> mcplink::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "8080".to_owned());
    let reader = Principal::new("reader").scopes(["notes:read"]);
    let writer = Principal::new("writer").scopes(["notes:read", "notes:write"]);
    let keys = StaticTokens::new()
        .token(key("READER_KEY")?, reader)
        .token(key("WRITER_KEY")?, writer);
    let options = HttpOptions::new().authenticate(move |request| keys.check(request));
    let listening = server()?.listen_http(&address, options)?;
    println!("{}", listening.url());
    listening.wait();
    Ok(())
}
