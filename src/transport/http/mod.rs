//! Streamable HTTP, as far as it is HTTP.
//!
//! [`Service`] and [`ResponseWriter`] are the seam between what is served and who owns the sockets: a host with a web server of its own
//! implements the writer, and hands over the requests that it read. Others have an [`HttpListener`] do both.
//!
//! Spec: Transports, "Streamable HTTP" (2025-03-26 and later).

#[cfg(feature = "http-server")]
pub(crate) mod event;
#[cfg(feature = "http-server")]
mod exchange;
#[allow(dead_code, reason = "client and server use it next")]
pub(crate) mod field;
#[cfg(feature = "http-server")]
mod listener;

#[cfg(feature = "http-server")]
pub use exchange::{HttpRequest, ResponseHead, ResponseWriter, Service};
#[cfg(feature = "http-server")]
pub use listener::{HttpLimits, HttpListener, HttpStats};
