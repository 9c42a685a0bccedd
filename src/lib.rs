//! The Model Context Protocol for programs without an async runtime.
#![deny(unsafe_code)]

mod error;
pub mod jsonrpc;
pub mod schema;

pub use error::{Error, ErrorCode, ErrorKind, Result, RpcError};
pub mod transport;
