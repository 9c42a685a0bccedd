//! A server over Streamable HTTP, both eras on one address.
//!
//! [`Server::listen_http`](super::Server::listen_http) does it all. [`HttpService`] answers the requests only: mount it in a web server of
//! your own, which hands it an [`HttpRequest`](crate::transport::http::HttpRequest) and a
//! [`ResponseWriter`](crate::transport::http::ResponseWriter).
//!
//! ```text
//!                 ╭─ modern: one connection for all clients, nothing is kept between requests
//!  POST ─ checks ─┤
//!                 ╰─ legacy: a session for each client, or none where they are switched off
//! ```
//!
//! **Threads.** A handler runs on the thread that brought the request. Open streams occupy none.
//!
//! **What a client that goes away means.** A modern one cancels its request; a legacy one does not: it may come back for the rest.
//!
//! Spec: Transports, "Streamable HTTP" (2025-03-26 and later).

mod clients;
mod cors;
mod denied;
mod events;
mod expiring;
mod guard;
mod history;
#[cfg(feature = "jwt")]
mod jwt;
mod listening;
mod modern;
mod options;
mod refusal;
mod reply;
mod resource_server;
mod service;
mod session;
mod stream;
mod verifier;

pub use self::denied::Denied;
pub use self::events::{EventLog, EventStore};
#[cfg(feature = "jwt")]
pub use self::jwt::{Dpop, JwtVerifier};
pub use self::listening::HttpServer;
pub use self::options::HttpOptions;
pub use self::resource_server::ResourceServer;
pub use self::service::HttpService;
pub use self::verifier::{Grant, TokenVerifier};
