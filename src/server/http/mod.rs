//! A server over Streamable HTTP, both eras on one address.
//!
//! [`HttpService`] answers HTTP requests: mount it in a web server of your own through
//! [`Service`] and [`ResponseWriter`], or let [`Server::listen_http`](super::Server::listen_http) do the rest.
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

mod cors;
mod guard;
mod listening;
mod modern;
mod options;
mod reply;
mod service;
mod session;
mod stream;

pub use self::listening::HttpServer;
pub use self::options::{Denied, HttpOptions, Principal};
pub use self::service::HttpService;
