//! For tests of MCP clients and servers: recorded connections and injected faults.
//!
//! [`trace`] records the messages of a connection, and replays them without the real peer.
//! [`Faults`] delays, cuts and loses messages, and ends connections. Both wrap any transport of
//! [`mcplink::transport`].

mod faults;
mod sync;
pub mod trace;

pub use self::faults::{Fault, Faults};
