//! A client that logs in: the server requires an access token, and the user's browser opens.
//!
//! ```text
//! cargo run --example oauth_client -- https://example.com/mcp
//! ```
//!
//! The redirect of the login leads to a free port of 127.0.0.1, where only this machine can reach
//! it. The tokens stay in files of the user, so that the next run needs no login.
#![allow(clippy::print_stdout, reason = "an example for a terminal")]

use std::path::PathBuf;

use mcplink::auth::{Browser, FileStore, OAuth};
use mcplink::client::Client;
use mcplink::transport::http::Http;
use mcplink::{Error, ErrorKind};

/// The folder for tokens, which only the user may read.
fn folder() -> PathBuf {
    let home = std::env::home_dir().unwrap_or_default();
    home.join(".config").join("mcplink-oauth-client")
}

fn main() -> mcplink::Result<()> {
    let usage = || Error::new(ErrorKind::Invalid, "usage: oauth_client URL");
    let url = std::env::args().nth(1).ok_or_else(usage)?;
    // A server can send the user to any page: show which login this is before the page opens. The
    // URL is for users whose browser does not open.
    let browser = Browser::new().show(|login| {
        println!("{} requires a login", login.server());
        println!("at {}", login.authorization_server());
        for scope in login.scopes() {
            println!("with the scope {scope}");
        }
        println!("open {}", login.url());
    });
    let oauth = OAuth::login(browser)
        .client_name("mcplink example")
        .store(FileStore::new(folder())?)
        .build()?;
    let client = Client::connect(Http::new(&url)?.authorizer(oauth))?;
    for tool in client.list_tools()? {
        println!("tool {}", tool.name);
    }
    client.close();
    Ok(())
}
