//! Tests of the crate from outside, in one binary. The server is that of the tests of `mcplink`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]

mod cache;
mod host;
mod listing;
mod load;
#[path = "../../../../tests/suite/rawserver/mod.rs"]
mod rawserver;
#[path = "../../../../tests/suite/skillserver/mod.rs"]
mod skillserver;

use mcplink::client::Client;
use mcplink::skills::FrontMatterParser;
use mcplink::{Error, ErrorKind};
use mcplink_skills::Skills;

/// The skills of a client, with a parser that every build has.
fn skills(client: &Client, label: &str) -> Skills {
    let parser = FrontMatterParser::new(|yaml| {
        let parsed = serde_json::from_str(yaml);
        parsed.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))
    });
    Skills::new(client, label).front_matter_parser(&parser)
}
