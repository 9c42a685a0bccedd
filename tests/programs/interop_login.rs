//! A client that logs in by methods that `mcplink` does not offer, and calls tools: see
//! `tests/interop`.
//!
//! ```text
//! interop_login [OPTION]... URL TOOL...
//!
//! --person PROGRAM       the program that opens the pages of a login
//! --tokens FOLDER        the folder for tokens
//! --client ISSUER ID     the client's id at this authorization server
//! --secret TEXT          authenticate the client with this secret
//! --key FILE             authenticate the client with the private key in this PEM file
//! --machine              act in the client's own name, without a person
//! --dpop                 require tokens that are bound to a key
//! ```
//!
//! Prints the text of each tool's result, one per line.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own"
)]

use std::error::Error;
use std::process::ExitCode;

use mcplink::auth::{
    Browser, DpopUse, FileStore, OAuth, OAuthBuilder, RegisteredClient, Secret, SigningKey,
};
use mcplink::client::Client;
use mcplink::schema::ContentBlock;
use mcplink::transport::http::Http;
use serde_json::json;

#[derive(Default)]
struct Options {
    person: Option<String>,
    tokens: Option<String>,
    client: Option<(String, String)>,
    secret: Option<String>,
    key: Option<String>,
    is_machine: bool,
    dpop: bool,
    words: Vec<String>,
}

fn read(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match &*word {
            "--person" => options.person = Some(value()?),
            "--tokens" => options.tokens = Some(value()?),
            "--client" => options.client = Some((value()?, value()?)),
            "--secret" => options.secret = Some(value()?),
            "--key" => options.key = Some(value()?),
            "--machine" => options.is_machine = true,
            "--dpop" => options.dpop = true,
            _ => options.words.push(word),
        }
    }
    Ok(options)
}

fn registered(options: &Options) -> Result<Option<RegisteredClient>, Box<dyn Error>> {
    let Some((issuer, id)) = &options.client else {
        return Ok(None);
    };
    let client = RegisteredClient::new(issuer, id);
    Ok(Some(match (&options.secret, &options.key) {
        (Some(secret), _) => client.secret(Secret::new(&**secret)),
        (None, Some(file)) => {
            let pem = Secret::new(std::fs::read_to_string(file)?);
            client.key(SigningKey::from_pem(&pem)?)
        }
        (None, None) => client,
    }))
}

fn builder(options: &Options) -> Result<OAuthBuilder, Box<dyn Error>> {
    let client = registered(options)?;
    if options.is_machine {
        let client = client.ok_or("--machine needs --client")?;
        return Ok(OAuth::client_credentials(client));
    }
    let browser = match &options.person {
        Some(program) => Browser::new().program(program),
        None => Browser::new(),
    };
    let login = OAuth::login(browser);
    Ok(match client {
        Some(client) => login.registered(client),
        None => login,
    })
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let (url, tools) = options.words.split_first().ok_or("the URL is missing")?;
    let mut builder = builder(options)?.on_log(|line| eprintln!("{line}"));
    if let Some(folder) = &options.tokens {
        builder = builder.store(FileStore::new(folder)?);
    }
    if options.dpop {
        builder = builder.dpop(DpopUse::Always);
    }
    let client = Client::connect(Http::new(url)?.authorizer(builder.build()?))?;
    for tool in tools {
        for block in client.call_tool(tool, &json!({}))?.content {
            if let ContentBlock::Text(block) = block {
                println!("{}", block.text);
            }
        }
    }
    client.close();
    Ok(())
}

fn main() -> ExitCode {
    let done = read(std::env::args().skip(1))
        .map_err(Into::into)
        .and_then(|options| run(&options));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interop_login: {error}");
            ExitCode::from(4)
        }
    }
}
