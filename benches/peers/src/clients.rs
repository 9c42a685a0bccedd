//! Clients of a bare server.

use anyhow::Result;

use crate::compare::Measured;
use crate::{Maker, bare, ours, theirs};

/// Connects over HTTP to `address`, or without one over stdio to a server that the client starts.
pub fn connect(maker: Maker, address: Option<&str>) -> Result<Box<dyn Measured>> {
    Ok(match maker {
        Maker::Bare => Box::new(bare::Client::connect(address)?),
        Maker::Mcplink => Box::new(ours::Client::connect(address)?),
        Maker::Rmcp => Box::new(theirs::Client::connect(address)?),
    })
}
