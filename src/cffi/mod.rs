//! The C interface: the implementation of `include/mcplink.h`.
//!
//! This layer has no protocol logic. Each function checks its arguments, calls the Rust API, and
//! wraps the result in C objects. The doc comments of exported items are written for C readers,
//! because cbindgen copies them into the header.
//!
//! `#[unsafe(no_mangle)]` is sound everywhere here: each exported name begins with `mcplink_`, so
//! no other symbol has it.
//!
//! ```text
//!  entry              entry points: catch panics, write errors, check NULL
//!  actions, fallible, getters    functions that act on an object or read it, written as tables
//!  handle             kinds of objects, the slot table, thread-safe handles and how they are freed
//!  user               callbacks of the host and their user data
//!  queue              the callback queue
//!  callback_executor  runs the callbacks of a handle;  pump  the host's queue
//!  callers            threads for started calls;  threads  thread settings and hooks
//!  pending_request    a request without an answer
//!  request, reader, responder, task_helpers, extensions, answer, content    C functions of
//!                     pending requests
//!  tap                the callback that sees the messages of a connection
//!  auth               OAuth for clients
//!  validator          validators of the host
//!  fetch              the HTTP client of the host
//!  text, json, writer, output, status, error   values that C and Rust exchange
//! ```
#![allow(unsafe_code, reason = "exported symbols, and what C passes")]
#![allow(unreachable_pub, reason = "what is exported is reached from C")]
#![allow(
    non_camel_case_types,
    missing_debug_implementations,
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    clippy::missing_safety_doc,
    reason = "what is exported is named, documented and used as in C"
)]
#![deny(improper_ctypes_definitions)]

// The macros of these modules are in scope in all modules below.
#[macro_use]
mod actions;
#[macro_use]
mod arg;
#[macro_use]
mod fallible;
#[macro_use]
mod getters;
#[macro_use]
mod handle;

mod answer;
#[cfg_attr(
    not(feature = "auth"),
    allow(dead_code, reason = "nobody looks at what is set")
)]
mod auth;
mod callback_executor;
mod callers;
mod cancel;
mod client;
mod content;
mod dump;
mod entry;
mod error;
mod event;
mod extensions;
mod failure;
#[cfg_attr(
    not(feature = "http-client"),
    allow(dead_code, reason = "nothing is sent over HTTP")
)]
mod fetch;
mod json;
mod limit;
mod log;
mod output;
mod pending_request;
mod pump;
mod queue;
mod reader;
mod refusal;
mod request;
mod responder;
mod result;
mod server;
mod set_log;
mod status;
mod tap;
mod task_helpers;
mod text;
mod threads;
mod transport;
mod user;
mod validator;
mod version;
mod wording;
mod writer;

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_header_is_the_generated_one() {
        let generated = include_str!(concat!(env!("OUT_DIR"), "/mcplink.h"));
        let committed = include_str!("../../include/mcplink.h");
        assert_eq!(
            generated, committed,
            "write it anew: MCPLINK_WRITE_HEADER=1 cargo build --features cffi"
        );
    }
}
