//! The store of sealed states.

use std::time::Duration;

use mcplink::Result;
use mcplink::server::StateStore;

use crate::millis;
use crate::redis::Redis;

/// A [`StateStore`] in Redis: each sealed state is usable once, whichever process gets it.
///
/// A state is a key that expires with the state. While Redis can't be reached, states are refused.
///
/// # Examples
///
/// ```
/// use mcplink::server::{Server, StateKey};
/// use mcplink_redis::{Redis, RedisStateStore};
///
/// # fn f(key: StateKey) -> mcplink::Result<()> {
/// let redis = Redis::new("redis://10.0.0.7:6379")?;
/// let server = Server::builder("shop", "1.0")
///     .state_keys(&[key])
///     .state_store(RedisStateStore::new(&redis))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RedisStateStore {
    redis: Redis,
}

impl RedisStateStore {
    /// Creates a store. Does not connect yet.
    pub fn new(redis: &Redis) -> Self {
        let redis = redis.clone();
        Self { redis }
    }
}

impl StateStore for RedisStateStore {
    fn claim(&self, id: &str, lifetime: Duration) -> Result<bool> {
        let key = self.redis.key(format_args!("state:{id}"));
        let mut command = redis::cmd("SET");
        command.arg(key).arg(("", "NX", "PX", millis(lifetime)));
        let set: Option<()> = self.redis.run(|connection| command.query(connection))?;
        Ok(set.is_some())
    }
}
