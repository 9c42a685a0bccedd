//! The state that the processes of an MCP server share, stored in Redis.
//!
//! A server of the crate `mcplink` can run as several processes behind one address. This crate has
//! implementations of the traits with which the processes share state:
//!
//! - [`RedisEventBus`], an [`EventBus`](mcplink::server::EventBus): changes of resources and lists.
//! - [`RedisStateStore`], a [`StateStore`](mcplink::server::StateStore): the sealed states that
//!   were used.
//! - [`RedisRecordStore`], a [`RecordStore`](mcplink::server::RecordStore): tasks.
//! - [`RedisRateStore`], a [`RateStore`](mcplink::server::RateStore): the token buckets of rate
//!   limits.
//! - [`RedisEventStore`], an [`EventStore`](mcplink::server::http::EventStore): the events of
//!   legacy streams. Processes do not share them, but they need no memory of the process.
//!
//! **Failures.** No call waits longer than [`Redis::timeout`] for Redis. After a failure, commands
//! fail at once for a second ([circuit breaker](Redis)). When Redis can be reached again,
//! everything goes on by itself.
//!
//! **Threads.** Commands run on the calling threads. Each connection is opened on a thread of its
//! own, which ends then. A bus has one thread that sends and one that receives.
//!
//! **Secrets.** URLs, passwords and answers of Redis are never part of an error text or `Debug`
//! output.
//!
//! Redis 6.2 or newer is required.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `tls` | no | `rediss://` URLs |
#![forbid(unsafe_code)]

mod connecting;
mod error;
mod event_bus;
mod event_store;
mod pool;
mod random;
mod rate_store;
mod receiver;
mod record_store;
mod redis;
mod state_store;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use self::event_bus::RedisEventBus;
pub use self::event_store::RedisEventStore;
pub use self::rate_store::RedisRateStore;
pub use self::record_store::RedisRecordStore;
pub use self::redis::Redis;
pub use self::state_store::RedisStateStore;

/// Locks a mutex. A panic of another thread does not make its value unusable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest time that Redis is asked to count.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Returns a time in milliseconds for Redis: at least 1, at most 100 years.
fn millis(time: Duration) -> u64 {
    let millis = time.min(CENTURY).as_millis().max(1);
    u64::try_from(millis).expect("a century has fewer milliseconds")
}

/// Runs the examples of the README as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
