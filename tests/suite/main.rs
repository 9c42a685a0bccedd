//! Tests of the library from outside, in one binary.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]

mod common;
mod engine_answers;
mod engine_calls;
mod engine_deadlocks;
mod engine_end;
mod engine_fuzz;
mod engine_odd_input;
mod engine_progress;
mod engine_threads;
mod engine_workers;
mod layout;
mod schema_examples;
mod schema_revisions;
mod transport;
