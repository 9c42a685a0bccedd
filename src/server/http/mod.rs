//! An MCP server over Streamable HTTP. Legacy and modern clients use the same URL.
//!
//! [`Server::listen_http`](super::Server::listen_http) opens a complete HTTP listener.
//! [`HttpService`] only answers requests: mount the service in another web server. For each
//! request, that web server passes an [`HttpRequest`](crate::transport::http::HttpRequest) and a
//! [`ResponseWriter`](crate::transport::http::ResponseWriter) to the service.
//!
//! ```text
//!                 ╭─ modern: one connection for all clients, no state between requests
//!  POST ─ checks ─┤
//!                 ╰─ legacy: a session for each client, or no session if sessions are disabled
//! ```
//!
//! **Threads.** A handler runs on the thread that read the request. Open streams occupy no thread.
//!
//! **Disconnects.** If a modern client disconnects, its request is cancelled. If a legacy client
//! disconnects, its request continues: the client may reconnect and get the remaining messages.
//!
//! Spec: Transports, "Streamable HTTP" (2025-03-26 and later).

mod card;
mod card_input;
mod card_rules;
mod challenge;
mod cors;
mod denied;
mod events;
mod expiring;
mod fields;
mod guard;
mod history;
#[cfg(feature = "jwt")]
mod jwt;
mod listening;
mod modern;
mod options;
mod pages;
mod paths;
mod refusal;
mod reply;
mod resource_server;
mod service;
mod session;
mod static_tokens;
mod verified;
mod verifier;

pub use self::card::ServerCard;
pub use self::card_input::{CardFormat, CardInput, CardRemote};
pub use self::denied::Denied;
pub use self::events::{EventLog, EventStore};
#[cfg(fuzzing)]
pub use self::jwt::fuzzing;
#[cfg(feature = "jwt")]
pub use self::jwt::{Dpop, JwtVerifier};
pub use self::listening::HttpServer;
pub use self::options::HttpOptions;
pub use self::pages::HttpPage;
pub use self::resource_server::ResourceServer;
pub use self::service::HttpService;
pub use self::static_tokens::StaticTokens;
pub use self::verifier::{Grant, TokenVerifier};
