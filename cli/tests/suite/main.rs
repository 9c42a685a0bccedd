//! Tests of the tool `mcplink`: the program itself, against servers of every kind.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]

mod actions;
mod attach;
mod attach_passing;
#[path = "../../../tests/suite/authworld/mod.rs"]
#[allow(dead_code, reason = "only some of it is used")]
mod authworld;
mod check_results;
mod checks;
mod common;
mod failures;
#[path = "../../../tests/suite/front/mod.rs"]
#[allow(dead_code, reason = "only some of it is used")]
mod front;
mod installs;
mod interrupts;
mod logins;
mod odd_servers;
#[path = "../../../tests/suite/proxied/mod.rs"]
#[allow(dead_code, reason = "only some of it is used")]
mod proxied;
mod proxy;
mod proxy_clients;
mod proxy_lists;
mod proxy_order;
mod recorded;
mod runs;
mod skills;
#[path = "../../../tests/suite/stub/mod.rs"]
#[allow(dead_code, reason = "only some of it is used")]
mod stub;
mod transcripts;
#[path = "../../../tests/suite/common/witness.rs"]
mod witness;
