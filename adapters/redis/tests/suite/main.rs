//! Tests of the crate from outside, against real Redis servers. They need the program
//! `redis-server`, and fail without it.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]

mod bus;
mod event_log;
mod pool;
mod processes;
mod rates;
mod records;
mod secrets;
mod sentinels;
mod server;
mod states;
#[cfg(feature = "tls")]
mod tls;

use std::time::{Duration, Instant};

use mcplink_redis::Redis;

/// How long a test waits for what has to happen.
const DEADLINE: Duration = Duration::from_secs(60);

/// A timeout that is longer than the deadline of a test: a call that would wait for Redis fails the
/// test.
const NEVER: Duration = Duration::from_secs(600);

/// Returns the first value that `attempt` has.
fn eventually<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        if Instant::now() > end {
            panic!("nothing happened within {DEADLINE:?}");
        }
        std::thread::yield_now();
    }
}

/// Returns a Redis whose calls wait long, so that a slow machine changes nothing.
fn patient(url: &str) -> Redis {
    Redis::new(url).unwrap().timeout(DEADLINE)
}
