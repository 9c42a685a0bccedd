//! The Model Context Protocol for programs without an async runtime.
#![deny(unsafe_code)]

#[cfg(feature = "cffi")]
mod cffi;
pub mod client;
mod error;
pub mod jsonrpc;
pub mod protocol;
pub mod schema;
pub mod server;
mod sync;
pub mod transport;

pub use error::{Error, ErrorCode, ErrorKind, Result, RpcError};
