//! Compares servers and clients of mcplink with those of the crate rmcp and with bare ones.
//!
//! ```text
//! cargo run --release --manifest-path benches/peers/Cargo.toml             all workloads
//! cargo run --release --manifest-path benches/peers/Cargo.toml -- WORD ... those with one of these words in their title
//! ```
//!
//! All peers do equal work in turn, round by round, so that changes in the machine's speed affect
//! all of them. The program prints medians of the rounds: microseconds per call, and in brackets
//! the ratio to the bare peer of that round. A bare peer only finds the end of a message, its id
//! and its text, and copies them: it shows the cost without a library.

mod bare;
mod clients;
mod compare;
mod ours;
mod theirs;
mod wire;

use anyhow::{Result, bail};

use compare::{Table, Workload};

/// The implementations in this comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    Bare,
    Mcplink,
    Rmcp,
}

impl Maker {
    pub const ALL: [Self; 3] = [Self::Bare, Self::Mcplink, Self::Rmcp];

    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Mcplink => "mcplink",
            Self::Rmcp => "rmcp",
        }
    }
}

/// The number of tools of a server; listing them is one of the workloads.
pub const TOOLS: usize = 200;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", "bare", "stdio"] => bare::serve_stdio(),
        ["serve", "bare", "http"] => bare::serve_http(),
        ["serve", "mcplink", "stdio"] => ours::serve_stdio(),
        ["serve", "mcplink", "http"] => ours::serve_http(),
        ["serve", "rmcp", "stdio"] => theirs::serve_stdio(),
        ["serve", "rmcp", "http"] => theirs::serve_http(),
        ["serve", ..] => bail!("serve bare|mcplink|rmcp stdio|http"),
        _ => measure(&words),
    }
}

fn measure(words: &[&str]) -> Result<()> {
    let wanted = |title: &str| words.is_empty() || words.iter().any(|word| title.contains(word));
    for (title, over_http) in [("server, stdio", false), ("server, http", true)] {
        if wanted(title) {
            let table = Table::of(title, |maker| wire::Peer::start(maker, over_http))?;
            table.run(Workload::OF_SERVERS)?;
        }
    }
    for (title, over_http) in [("client, stdio", false), ("client, http", true)] {
        if wanted(title) {
            let server = over_http
                .then(|| wire::Server::listening(Maker::Bare))
                .transpose()?;
            let address = server.as_ref().map(wire::Server::address);
            let table = Table::of(title, |maker| clients::connect(maker, address))?;
            table.run(&Workload::OF_CLIENTS)?;
        }
    }
    Ok(())
}
