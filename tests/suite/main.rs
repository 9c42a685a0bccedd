//! Tests of the library from outside, in one binary.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]

mod layout;
mod raw;
mod schema_examples;
mod schema_revisions;
mod server_completion;
mod server_logging;
mod server_paging;
mod server_prompts;
mod server_resources;
mod server_subscriptions;
mod transport;
