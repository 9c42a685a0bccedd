//! The C interface: what is behind `include/mcplink.h`.
//!
//! It has no protocol logic of its own: each function looks at what C passes, calls what a Rust program would call, and makes C objects of
//! what comes back. The doc comments of what is exported are for C readers: they land in the header.
//!
//! ```text
//!  entry    the door: panics, errors, NULL
//!  handle   objects that many threads use, and how they end
//!  user     callbacks of the host, and what belongs to them
//!  queue    callbacks that wait for their thread;  stage  whose queue that is;  pump  the host's
//!  callers  threads for calls that nobody waits for;  threads  what all of them are like
//!  served   the right to answer, of each kind;  request, responder, long, answer  how C sees it
//!  auth     OAuth for clients
//!  text, json, writer, status, error    what goes over the border
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

mod answer;
#[cfg_attr(
    not(feature = "auth"),
    allow(dead_code, reason = "nobody looks at what is set")
)]
mod auth;
mod callers;
mod cancel;
mod client;
mod dump;
mod entry;
mod error;
mod handle;
mod json;
mod limit;
mod log;
mod long;
mod pump;
mod queue;
mod refusal;
mod request;
mod responder;
mod result;
mod served;
mod server;
mod stage;
mod status;
mod text;
mod threads;
mod transport;
mod user;
mod version;
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
