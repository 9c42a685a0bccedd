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
//! The library exports the crate `schemars` that it uses, as [`mcplink::schemars`](schemars).
//!
//! # A server
//!
//! A server is a set of tools, resources and prompts. It serves any number of connections:
//!
//! ```no_run
//! use mcplink::server::Server;
//! # #[cfg(feature = "schemars")]
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! # #[cfg(feature = "schemars")]
//! #[derive(Deserialize, JsonSchema)]
//! struct Greeting {
//!     /// The name of the person to greet.
//!     name: String,
//! }
//!
//! # #[cfg(feature = "schemars")]
//! fn main() -> mcplink::Result<()> {
//!     Server::builder("hello", "1.0")
//!         .tool("greet", "Greets someone by name", |args: Greeting, _| {
//!             format!("Hello, {}!", args.name)
//!         })
//!         .serve_stdio()
//! }
//! # #[cfg(not(feature = "schemars"))]
//! # fn main() {}
//! ```
//!
//! # State of a server
//!
//! Handlers are closures: a handler owns what it captures. Handlers that share a database or a
//! cache get a clone of an `Arc` each:
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use mcplink::server::Server;
//!
//! # #[cfg(feature = "schemars")]
//! fn main() -> mcplink::Result<()> {
//!     let count = Arc::new(AtomicU64::new(0));
//!     let shared = count.clone();
//!     Server::builder("counter", "1.0")
//!         .tool("add", "Adds one", move |(), _| count.fetch_add(1, Ordering::Relaxed) + 1)
//!         .tool("show", "Shows the count", move |(), _| shared.load(Ordering::Relaxed))
//!         .serve_stdio()
//! }
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
//! fn main() -> mcplink::Result<()> {
//!     let client = Client::connect(Child::new("hello_server"))?;
//!     let result = client.call_tool("greet", &serde_json::json!({ "name": "world" }))?;
//!     println!("{:?}", result.content);
//!     Ok(())
//! }
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
//! fn main() -> mcplink::Result<()> {
//!     let (group, config) = (Group::new(), Config::read(".mcp.json")?);
//!     for failure in group.connect(&config, |_| Client::builder("host", "1.0")) {
//!         eprintln!("{failure}");
//!     }
//!     let result = group.call_tool("clock__now", &serde_json::json!({}))?;
//!     println!("{:?}", result.content);
//!     Ok(())
//! }
//! ```
//!
//! # HTTP with API keys
//!
//! Without options a server over HTTP accepts each client that reaches it. With
//! `StaticTokens` it accepts clients that send one of your keys; `ResourceServer` checks the access
//! tokens of an authorization server:
//!
//! ```no_run
//! use mcplink::server::Server;
//! # #[cfg(feature = "http-server")]
//! use mcplink::server::http::{HttpOptions, StaticTokens};
//!
//! # #[cfg(feature = "http-server")]
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let server = Server::builder("hello", "1.0").build()?;
//!     let keys = StaticTokens::new().token(&std::env::var("API_KEY")?, "ada");
//!     let options = HttpOptions::new().authenticate(move |request| keys.check(request));
//!     let listener = server.listen_http("127.0.0.1:8080", options)?;
//!     listener.wait();
//!     Ok(())
//! }
//! # #[cfg(not(feature = "http-server"))]
//! # fn main() {}
//! ```
//!
//! # Tests
//!
//! A client and a server in one program are connected in memory, without a process or a port. In
//! your tests, the function has another name and `#[test]`:
//!
//! ```
//! use mcplink::client::Client;
//! use mcplink::server::Server;
//! use mcplink::transport::memory;
//!
//! # #[cfg(feature = "schemars")]
//! fn main() -> mcplink::Result<()> {
//!     let server = Server::builder("hello", "1.0")
//!         .tool("greet", "Greets", |_: serde_json::Value, _| "Hello")
//!         .build()?;
//!     let (for_the_client, for_the_server) = memory::pair();
//!     let _connection = server.open(for_the_server)?;
//!     let client = Client::connect(for_the_client)?;
//!     let result = client.call_tool("greet", &serde_json::json!({}))?;
//!     assert_eq!(result.content[0].as_text(), Some("Hello"));
//!     Ok(())
//! }
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
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut signals = Signals::new([SIGINT, SIGTERM])?;
//!     let server = Server::builder("hello", "1.0").build()?;
//!     let shutdown = server.shutdown_handle();
//!     std::thread::spawn(move || {
//!         if signals.forever().next().is_some() {
//!             shutdown.shutdown();
//!         }
//!     });
//!     server.serve_stdio()?;
//!     Ok(())
//! }
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
//! For `tracing`, turn the feature `log` on: `tracing_subscriber` collects the records of the crate
//! `log` too. Standard output has the messages of a server, so the log goes to standard error:
//!
//! ```sh
//! cargo add mcplink --features log
//! cargo add tracing-subscriber
//! ```
//!
//! ```no_run
//! tracing_subscriber::fmt().with_writer(std::io::stderr).init();
//! ```
//!
//! A hook gets the records of one server or client:
//!
//! ```
//! use mcplink::server::{LogLevel, Server};
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
//! The guide for C and C++ is `docs/c.md`. Programs to copy are in the folder `examples`:
//!
//! - servers: [the smallest][hello-server], [with tests][testing],
//!   [with access rules][guarded-server], [over HTTP with API keys][api-keys],
//!   [in a web server of your own][own-web-server], [with `tracing`][logging],
//!   [with a shutdown in order][shutdown], [of a database][sqlite-server]
//! - clients: [the smallest][hello-client], [many servers at once][many-servers],
//!   [an agent][agent-host], [with a login][oauth-client],
//!   [both sides in one program][quickstart]
//!
//! [hello-server]: https://docs.rs/crate/mcplink/latest/source/examples/hello_server.rs
//! [testing]: https://docs.rs/crate/mcplink/latest/source/examples/testing.rs
//! [guarded-server]: https://docs.rs/crate/mcplink/latest/source/examples/guarded_server.rs
//! [api-keys]: https://docs.rs/crate/mcplink/latest/source/examples/api_keys.rs
//! [own-web-server]: https://docs.rs/crate/mcplink/latest/source/examples/own_web_server.rs
//! [logging]: https://docs.rs/crate/mcplink/latest/source/examples/logging.rs
//! [shutdown]: https://docs.rs/crate/mcplink/latest/source/examples/shutdown.rs
//! [sqlite-server]: https://docs.rs/crate/mcplink/latest/source/examples/sqlite_server/src/main.rs
//! [hello-client]: https://docs.rs/crate/mcplink/latest/source/examples/hello_client.rs
//! [many-servers]: https://docs.rs/crate/mcplink/latest/source/examples/many_servers.rs
//! [agent-host]: https://docs.rs/crate/mcplink/latest/source/examples/agent_host.rs
//! [oauth-client]: https://docs.rs/crate/mcplink/latest/source/examples/oauth_client.rs
//! [quickstart]: https://docs.rs/crate/mcplink/latest/source/examples/quickstart.rs
//!
//! # From rmcp
//!
//! | rmcp | mcplink |
//! |---|---|
//! | `#[tool]` on a method, `#[tool_router]` | [`ServerBuilder::tool`] with a closure |
//! | `impl ServerHandler` | [`Server::builder`] |
//! | fields of the handler's struct | values that the closures capture |
//! | `Parameters<T>` | the first argument of the closure, of the type `T` |
//! | `RequestContext` | [`Context`], the second argument |
//! | `service.serve(stdio()).await` | [`serve_stdio`] |
//! | `StreamableHttpService` | `Server::listen_http`, `Server::http_service` |
//! | `().serve(TokioChildProcess::new(…)?).await` | [`Client::connect`], [`Child::new`] |
//! | many calls in one task | threads, or [`Client::start_tool`] |
//!
//! # From FastMCP
//!
//! | FastMCP | mcplink |
//! |---|---|
//! | `@mcp.tool`, with parameters | [`ServerBuilder::tool`], with a struct of the arguments |
//! | `@mcp.resource("x://a")` | [`ServerBuilder::resource`] |
//! | `@mcp.resource("x://{id}")` | [`ServerBuilder::template`] |
//! | `@mcp.prompt` | [`ServerBuilder::prompt`] |
//! | `ctx.report_progress`, `ctx.info` | [`Context::progress`], [`Context::log`] |
//! | `await ctx.elicit(…)` | [`Context::elicit_as`], [`Context::confirm`] |
//! | `raise ToolError(…)` | `return Err(HandlerError::new(…))` |
//! | `Client(mcp)` in a test | [`transport::memory::pair`] |
//! | `mcp.run()` | [`serve_stdio`] |
//! | `mcp.run(transport="http")` | `Server::listen_http` |
//! | `Client` with `mcpServers` | [`client::Group`] with [`client::Config`] |
//!
//! [`ServerBuilder::tool`]: server::ServerBuilder::tool
//! [`ServerBuilder::resource`]: server::ServerBuilder::resource
//! [`ServerBuilder::template`]: server::ServerBuilder::template
//! [`ServerBuilder::prompt`]: server::ServerBuilder::prompt
//! [`serve_stdio`]: server::ServerBuilder::serve_stdio
//! [`Server::builder`]: server::Server::builder
//! [`Context`]: server::Context
//! [`Context::progress`]: server::Context::progress
//! [`Context::log`]: server::Context::log
//! [`Context::elicit_as`]: server::Context::elicit_as
//! [`Context::confirm`]: server::Context::confirm
//! [`Client::connect`]: client::Client::connect
//! [`Client::start_tool`]: client::Client::start_tool
//! [`Child::new`]: transport::Child::new
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
