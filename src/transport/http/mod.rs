//! The HTTP part of the transport Streamable HTTP.
//!
//! `Http` (feature `http-client`) is the transport of a client: see `docs/http-client.md`.
//!
//! An `Authorizer` provides the credentials of a client's requests. An `HttpClient` of the host can
//! send the requests.
//!
//! `Service` and `ResponseWriter` separate the protocol from the sockets. A host with its own web
//! server implements the writer and passes on the requests that it has read. Other hosts use an
//! `HttpListener` for both.
//!
//! Spec: Transports, "Streamable HTTP" (2025-03-26 and later).

#[cfg(feature = "http-client")]
mod authorizer;
#[cfg(feature = "http-client")]
mod client;
#[cfg(feature = "http-server")]
mod client_key;
#[cfg(feature = "http-server")]
pub(crate) mod event;
#[cfg(feature = "http-client")]
mod event_reader;
#[cfg(feature = "http-server")]
mod exchange;
#[cfg_attr(
    not(feature = "http-server"),
    allow(dead_code, reason = "only a server reads fields")
)]
pub(crate) mod field;
#[cfg(feature = "http-server")]
pub(crate) mod forwarded;
#[cfg(fuzzing)]
pub mod fuzzing;
#[cfg(feature = "http-client")]
pub(crate) mod http_client;
#[cfg(feature = "http-server")]
mod listener;
#[cfg(feature = "http-client")]
pub(crate) mod shutdown;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) mod unix_url;

#[cfg(feature = "http-client")]
pub use authorizer::{
    Authorizer, AuthorizerDecision, CredentialWait, CredentialWaitGuard, Credentials, MAX_ATTEMPTS,
    OutgoingRequest, ResponseFields,
};
#[cfg(feature = "http-client")]
pub use client::Http;
#[cfg(feature = "auth")]
pub(crate) use client::{challenge, foreign_encoding, location, tell_wait};
#[cfg(any(feature = "auth", feature = "jwt"))]
pub(crate) use client::{proxies, tls};
#[cfg(feature = "http-server")]
pub use client_key::ClientKey;
#[cfg(feature = "http-server")]
pub use exchange::{HttpRequest, ResponseHead, ResponseWriter, Service};
#[cfg(feature = "http-server")]
pub use forwarded::Network;
#[cfg(feature = "http-client")]
pub use http_client::{HttpClient, HttpClientRequest, HttpClientResponse};
#[cfg(feature = "http-server")]
pub use listener::{HttpLimits, HttpListener, HttpStats};
