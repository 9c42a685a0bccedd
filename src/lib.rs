//! mcplink is a client and server library for the Model Context Protocol (MCP). It is synchronous:
//! it uses plain functions and threads, and needs no async runtime. It speaks every published
//! revision of the protocol.
//!
//! # Install
//!
//! ```sh
//! cargo add mcplink
//! cargo add serde --features derive   # arguments of tools are structs of yours
//! cargo add serde_json schemars       # JSON values, and the schemas of the structs
//! ```
//!
//! # A server
//!
//! A server is a set of tools, resources and prompts. It serves any number of connections:
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
//!     /// The name of the person to greet.
//!     name: String,
//! }
//!
//! Server::builder("hello", "1.0")
//!     .tool("greet", "Greets someone by name", |args: Greeting, _| {
//!         format!("Hello, {}!", args.name)
//!     })
//!     .serve_stdio()
//! # }
//! # #[cfg(not(feature = "schemars"))]
//! # fn main() {}
//! ```
//!
//! # State of a server
//!
//! Handlers are closures: a handler owns what it captures. Handlers that share a database or a
//! cache get a clone of an `Arc` each:
//!
//! ```
//! # #[cfg(feature = "schemars")]
//! # fn main() -> mcplink::Result<()> {
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use mcplink::server::Server;
//!
//! let count = Arc::new(AtomicU64::new(0));
//! let shared = count.clone();
//! let server = Server::builder("counter", "1.0")
//!     .tool("add", "Adds one", move |(), _| count.fetch_add(1, Ordering::Relaxed) + 1)
//!     .tool("show", "Shows the count", move |(), _| shared.load(Ordering::Relaxed))
//!     .build()?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "schemars"))]
//! # fn main() {}
//! ```
//!
//! # A client
//!
//! A client starts a server as a child process, or connects to one over HTTP or a stream. It finds
//! out which revision the server speaks, and then calls its tools:
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
//! To reach a server over HTTP, give `Client::connect` a `transport::http::Http` instead (feature
//! `http-client`). To serve over HTTP, call `Server::listen_http` (feature `http-server`).
//!
//! # Several servers
//!
//! A host reads the configuration file in which its user lists servers, and uses their tools as one
//! list. [`Group`](client::Group) connects them at once and names each tool after its server:
//!
//! ```no_run
//! use mcplink::client::{Client, Config, Group};
//!
//! # fn main() -> mcplink::Result<()> {
//! let group = Group::new();
//! for failure in group.connect(&Config::read(".mcp.json")?, |_| Client::builder("host", "1.0")) {
//!     eprintln!("{failure}");
//! }
//! let result = group.call_tool("clock__now", &serde_json::json!({}))?;
//! # Ok(())
//! # }
//! ```
//!
//! # HTTP with API keys
//!
//! Without options a server over HTTP accepts each client that reaches it. With
//! `StaticTokens` it accepts clients that send one of your keys; `ResourceServer` checks the access
//! tokens of an authorization server:
//!
//! ```no_run
//! # #[cfg(feature = "http-server")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use mcplink::server::Server;
//! use mcplink::server::http::{HttpOptions, StaticTokens};
//!
//! let server = Server::builder("hello", "1.0").build()?;
//! let keys = StaticTokens::new().token(&std::env::var("API_KEY")?, "ada");
//! let options = HttpOptions::new().authenticate(move |request| keys.check(request));
//! let listener = server.listen_http("127.0.0.1:8080", options)?;
//! listener.wait();
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "http-server"))]
//! # fn main() {}
//! ```
//!
//! # Tests
//!
//! A client and a server in one program are connected in memory, without a process or a port:
//!
//! ```
//! # #[cfg(feature = "schemars")]
//! # fn main() -> mcplink::Result<()> {
//! use mcplink::client::Client;
//! use mcplink::server::Server;
//! use mcplink::transport::memory;
//!
//! let server = Server::builder("hello", "1.0")
//!     .tool("greet", "Greets", |_: serde_json::Value, _| "Hello")
//!     .build()?;
//! let (for_the_client, for_the_server) = memory::pair();
//! let connection = server.open(for_the_server)?;
//! let client = Client::connect(for_the_client)?;
//! let result = client.call_tool("greet", &serde_json::json!({}))?;
//! assert!(!result.is_error());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "schemars"))]
//! # fn main() {}
//! ```
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`server`], [`client`] | the two sides of a connection: start here |
//! | [`transport`] | HTTP, child process, own stdio, sockets, memory, custom transports |
//! | `auth` | OAuth logins of a client over HTTP (feature `auth`) |
//! | [`validation`] | checks of JSON values against JSON Schemas |
//! | [`schema`] | the data types of every revision, with the names of the specification |
//! | [`protocol`] | the connection of both sides: call options, cancellation, raw requests |
//! | [`jsonrpc`] | the message format, as functions of bytes |
//! | [`private_files`] | files and folders that only the user of the process may use |
//!
//! # Threads
//!
//! A call of a [`Client`](client::Client) blocks the calling thread until its result arrives.
//! Clones of a client share one connection, and several threads may call at the same time. The
//! progress callback of a call runs on the thread that made the call. Handlers for requests and
//! notifications of the server run on threads of the connection.
//!
//! The handlers of a server run on worker threads of the connection, at most
//! [`max_workers`](transport::Limits::max_workers) at once (64 by default). A slow handler delays
//! neither other requests nor cancellation. The library starts no thread before a connection or a
//! listener is opened. [`Threads`](transport::Threads) sets the stack size and the names of the
//! library's threads, and runs hooks when a thread starts and stops.
//!
//! # Timeouts and cancelling
//!
//! Every call has a timeout. By default a call fails after 60 s without an answer or progress, and
//! after 10 min in any case. [`CallOptions`](client::CallOptions) changes both limits. A
//! [`CancelToken`](protocol::CancelToken) cancels a call from another thread; the peer is notified:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use mcplink::client::Client;
//! use mcplink::client::{CallOptions, CancelToken};
//!
//! # fn f(client: &Client) -> mcplink::Result<()> {
//! let cancel = CancelToken::new();
//! let from_elsewhere = cancel.clone();
//! std::thread::spawn(move || from_elsewhere.cancel());
//!
//! let options = CallOptions::new().timeout(Duration::from_secs(5)).cancel_with(&cancel);
//! let result = client.call_tool_with("report", &serde_json::json!({}), options)?;
//! # Ok(())
//! # }
//! ```
//!
//! A handler of a server sees the cancellation in
//! [`Context::cancel_token`](server::Context::cancel_token). The library does not stop a running
//! handler: a handler that takes long should check the token.
//!
//! # Shutting down on Ctrl-C
//!
//! The library installs no signal handler. Let a thread of yours wait for the signal, and shut the
//! server down: calls in flight may finish first, for a few seconds. This server uses the crate
//! `signal-hook`:
//!
//! ```no_run
//! use mcplink::server::Server;
//! use signal_hook::consts::{SIGINT, SIGTERM};
//! use signal_hook::iterator::Signals;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut signals = Signals::new([SIGINT, SIGTERM])?;
//! let server = Server::builder("hello", "1.0").build()?;
//! let shutdown = server.shutdown_handle();
//! std::thread::spawn(move || {
//!     if signals.forever().next().is_some() {
//!         shutdown.shutdown();
//!     }
//! });
//! server.serve_stdio()?;
//! # Ok(())
//! # }
//! ```
//!
//! A host calls [`Client::close`](client::Client::close), and a server over HTTP
//! `HttpServer::close`. Both may be called from any thread. Closing is idempotent and bounded in
//! time. Calls in flight fail with [`ErrorKind::Closed`], and a child process is ended and reaped.
//! A child has its own process group, so a Ctrl-C at the terminal does not reach it directly.
//! Dropping the last clone of a client or connection closes it.
//!
//! # Logging
//!
//! The library passes log records to the hook that you set with
//! [`ServerBuilder::on_log`](server::ServerBuilder::on_log) or
//! [`ClientBuilder::on_log`](client::ClientBuilder::on_log). Without a hook, the feature `log`
//! passes them to the logger of the program. Without both, an error is written to standard error,
//! each kind of error once.
//!
//! For `tracing`, turn the feature `log` on. `tracing_subscriber::fmt::init()` collects the records
//! of the crate `log` too.
//!
//! ```
//! use mcplink::protocol::LogLevel;
//! use mcplink::server::Server;
//!
//! let server = Server::builder("hello", "1.0")
//!     .on_log(|record| {
//!         if record.level >= LogLevel::Warning {
//!             eprintln!("{}: {record}", record.target);
//!         }
//!     })
//!     .build()?;
//! # Ok::<(), mcplink::Error>(())
//! ```
//!
//! MCP has log messages too, which a server sends to its client.
//! [`ClientBuilder::on_log_message`](client::ClientBuilder::on_log_message) receives these
//! messages.
//!
//! # Errors
//!
//! Functions that can fail return an [`Error`]. Its [`kind`](Error::kind) is the cause; its
//! text names the peer, the method and the setting concerned. [`Error::was_sent`] is true if the
//! request may have had an effect. [`Error::is_retryable`] is true if the same call may succeed
//! later. A tool that ran and failed is not an `Error`: its result has `is_error` set.
//!
//! ```no_run
//! use mcplink::ErrorKind;
//! use mcplink::client::Client;
//!
//! # fn f(client: &Client) {
//! match client.call_tool("greet", &serde_json::json!({ "name": "world" })) {
//!     Ok(result) if result.is_error() => eprintln!("the tool failed"),
//!     Ok(_) => {}
//!     Err(error) if error.is_retryable() => eprintln!("try again later: {error}"),
//!     Err(error) if error.kind() == ErrorKind::Closed => eprintln!("connect again: {error}"),
//!     Err(error) => eprintln!("{error}"),
//! }
//! # }
//! ```
//!
//! A handler of a server that fails returns a [`HandlerError`](server::HandlerError). The operator
//! `?` converts other errors into it. If a handler panics, its request is answered with an internal
//! error.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `schemars` | yes | JSON Schemas derived from Rust types |
//! | `http-client` | yes | clients over HTTP |
//! | `http-server` | yes | servers over HTTP |
//! | `tls` | yes | HTTPS for clients |
//! | `auth` | yes | OAuth logins for clients |
//! | `jwt` | yes | checks of signed access tokens in servers |
//! | `validation` | no | a JSON Schema validator for tool arguments and results |
//! | `skills` | no | a parser for the YAML front matter of skills |
//! | `log` | no | log records go to the crate `log` |
//! | `cffi` | no | the C interface of `include/mcplink.h` |
//!
//! # Guides and examples
//!
//! The module [`guide`] has the guides of the folder `docs`:
//!
//! - servers: [tools](guide::tools), [questions during a call](guide::asking),
//!   [publishing skills](guide::publishing_skills)
//! - hosts: [duties to the user, several servers, processes](guide::hosts),
//!   [malformed input](guide::compatibility)
//! - HTTP: [servers](guide::http), [clients](guide::http_client),
//!   [logins and access tokens](guide::authorization)
//! - in operation: [limits](guide::limits), [performance](guide::performance),
//!   [several processes](guide::scale)
//!
//! The guide for C and C++ is `docs/c.md`. Programs to copy are in `examples`: `hello_server.rs`,
//! `hello_client.rs`, `quickstart.rs`, `many_servers.rs`, `agent_host.rs`, `guarded_server.rs`,
//! `testing.rs`, `api_keys.rs`, `logging.rs`, `own_web_server.rs`, `oauth_client.rs`, `shutdown.rs`
//! and `sqlite_server`.
//!
//! # Guarantees
//!
//! - Every call ends with exactly one outcome: a result, an error of the peer, a timeout, a
//!   cancellation or a closed connection.
//! - Every request that was received gets exactly one response, whatever its handler does.
//! - Memory is bounded by [`Limits`](transport::Limits).
//! - No message of a peer makes the library panic.
#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "auth")]
pub mod auth;
mod buffer_cache;
#[cfg(feature = "cffi")]
mod cffi;
pub mod client;
mod error;
#[cfg_attr(
    not(feature = "http-server"),
    allow(dead_code, reason = "clients share what an HTTP server has")
)]
mod fair_queue;
mod fallible;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(doc)]
pub mod guide;
pub mod jsonrpc;
pub mod private_files;
pub mod protocol;
pub mod schema;
pub mod server;
#[cfg_attr(
    not(feature = "http-server"),
    allow(dead_code, reason = "clients share what an HTTP server has")
)]
mod shares;
pub mod skills;
mod sync;
pub mod transport;
pub mod validation;

pub use error::{Error, ErrorCode, ErrorKind, Result, RpcError, SkillFault};
/// The crate that derives JSON Schemas. Its version is the one that the functions of this crate
/// take: `#[schemars(crate = "mcplink::schemars")]` derives with it.
#[cfg(feature = "schemars")]
pub use schemars;

/// Runs the examples of the README as doc tests.
#[cfg(all(doctest, feature = "schemars"))]
#[doc = include_str!("../README.md")]
struct Readme;
