//! For tests of MCP clients and servers: recorded connections and injected faults.
//!
//! [`trace`] records the messages of any transport of [`mcplink::transport`], and replays them
//! without the real peer. [`Faults`] wraps a transport with one stream in each direction, so any but
//! HTTP. It delays, cuts and loses messages, and ends connections.

mod faults;
mod sync;
pub mod trace;

pub use self::faults::{Fault, Faults};
