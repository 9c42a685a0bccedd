//! The Model Context Protocol for programs without an async runtime: client and server, every revision, with plain functions and threads.
//!
//! A server is a set of tools that serves any number of connections:
//!
//! ```no_run
//! # #[cfg(feature = "schemars")]
//! # fn main() -> mcplink::Result<()> {
//! use mcplink::server::Server;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greeting {
//!     /// Who is greeted.
//!     name: String,
//! }
//!
//! Server::builder("hello", "1.0")
//!     .tool("greet", "Greets someone by name", |args: Greeting, _| format!("Hello, {}!", args.name))
//!     .serve_stdio()
//! # }
//! # #[cfg(not(feature = "schemars"))]
//! # fn main() {}
//! ```
//!
//! A client starts or reaches a server, finds out what it speaks, and calls it:
//!
//! ```no_run
//! use mcplink::client::Client;
//! use mcplink::transport::Child;
//!
//! # fn main() -> mcplink::Result<()> {
//! let client = Client::connect(Child::new("hello_server"))?;
//! let result = client.call_tool("greet", &serde_json::json!({ "name": "world" }))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Map
//!
//! | module | what it is |
//! |---|---|
//! | [`server`], [`client`] | what applications use |
//! | [`transport`] | ways to reach a peer: HTTP, child process, own stdio, sockets, any streams, memory, one's own |
//! | `auth` | logging in to servers over HTTP, with the feature `auth` |
//! | [`validation`] | checking JSON against JSON Schemas, with the feature `validation` or an engine of one's own |
//! | [`schema`] | the data model of every revision, named as the specification names it |
//! | [`protocol`] | the engine below both sides, for methods and messages of one's own |
//! | [`jsonrpc`] | the message format, as functions of bytes |
//!
//! # Promises
//!
//! Every call has a deadline unless it is told to have none, and ends with one outcome; every request received is answered once, whatever
//! its handler does; a slow handler stops nobody; closing is bounded in time and leaves no thread, process or descriptor; memory is bounded
//! by [`Limits`](transport::Limits); nothing a peer sends can panic the library. An [`Error`] tells by its [`kind`](Error::kind) who failed.
#![deny(unsafe_code)]

#[cfg(feature = "auth")]
pub mod auth;
#[cfg(feature = "cffi")]
mod cffi;
pub mod client;
mod error;
mod fallible;
pub mod jsonrpc;
pub mod protocol;
pub mod schema;
pub mod server;
#[cfg_attr(
    not(feature = "http-server"),
    allow(dead_code, reason = "clients share what an HTTP server has")
)]
mod shares;
mod spare;
mod sync;
pub mod transport;
pub mod validation;

pub use error::{Error, ErrorCode, ErrorKind, Result, RpcError};

/// The examples of the README are tried too.
#[cfg(all(doctest, feature = "schemars"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// So are those of the guides to HTTP.
#[cfg(all(doctest, feature = "http-server"))]
#[doc = include_str!("../docs/http.md")]
struct GuideToHttp;

#[cfg(all(doctest, feature = "http-server"))]
#[doc = include_str!("../docs/limits.md")]
struct Limits;

#[cfg(all(doctest, feature = "jwt"))]
#[doc = include_str!("../docs/authorization.md")]
struct GuideToAuthorization;

#[cfg(all(doctest, feature = "tls"))]
#[doc = include_str!("../docs/http-client.md")]
struct GuideToHttpClients;
