//! Tests of the library from outside, in one binary.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]

mod client_calls;
mod client_paging;
mod client_subscriptions;
mod layout;
#[cfg(feature = "schemars")]
mod mcp_cli;
mod rawserver;
mod schema_examples;
mod schema_revisions;
mod transport;
