//! A server that requires access tokens: `guarded_server 127.0.0.1:PORT ISSUER [--dpop]`. See
//! `tests/interop`.
//!
//! Every request needs the scope `files:read`, and the tool `write` needs `files:write` too. With
//! `--dpop`, tokens must be bound to a key of the client, and proofs must have a nonce.
#![allow(clippy::print_stderr, reason = "a program of its own")]

use std::process::ExitCode;
use std::time::Duration;

use mcplink::schema::Tool;
use mcplink::server::http::{Dpop, HttpOptions, JwtVerifier, ResourceServer};
use mcplink::server::{Context, Primitive, Server, StateKey};

fn who(context: &Context) -> String {
    context.principal().unwrap_or_default().to_owned()
}

fn server() -> mcplink::Result<Server> {
    Server::builder("guarded", "1.0")
        .tool("whoami", "Says who asks", |(): (), context: &Context| {
            who(context)
        })
        .tool_with(
            Tool::new("write").description("Writes for the user, who has to allow it"),
            |_: serde_json::Value, context: &Context| format!("written for {}", who(context)),
        )
        .require_scopes(Primitive::Tool("write"), ["files:write"])
        .build()
}

/// Serves until the process ends.
fn serve(address: &str, issuer: &str, is_bound: bool) -> mcplink::Result<()> {
    let resource = format!("http://{address}/mcp");
    let mut tokens = ResourceServer::new(&resource, [issuer], JwtVerifier::new(issuer))?
        .name("Files")
        .required_scopes(["files:read"]);
    if is_bound {
        let dpop = Dpop::new().required();
        tokens = tokens.dpop(dpop.nonces(&[StateKey::random()?], Duration::from_secs(300))?);
    }
    let options = HttpOptions::new().authorization(tokens);
    let listening = server()?.listen_http(address, options)?;
    eprintln!("guarded_server: {}", listening.url());
    listening.wait();
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let served = match words[..] {
        [address, issuer] => serve(address, issuer, false),
        [address, issuer, "--dpop"] => serve(address, issuer, true),
        _ => {
            eprintln!("usage: guarded_server ADDRESS:PORT ISSUER [--dpop]");
            return ExitCode::from(2);
        }
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guarded_server: {error}");
            ExitCode::FAILURE
        }
    }
}
