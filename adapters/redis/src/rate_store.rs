//! The store of token buckets.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use mcplink::Result;
use mcplink::server::RateStore;
use redis::Script;

use crate::CENTURY;
use crate::redis::Redis;

/// Takes a token by the generic cell rate algorithm (GCRA): the key has the time at which the
/// bucket is full again, in microseconds of Redis's clock. The arguments are the time in which a
/// token comes, and the time in which the bucket fills. Returns the microseconds until there is a
/// token, and 0 if there was one.
const TAKE: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full_at = tonumber(redis.call('GET', KEYS[1]) or 0)
local after = math.max(full_at, now) + ARGV[1]
local missing = after - now - ARGV[2]
if missing > 0 then
  return missing
end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
return 0
";

/// A [`RateStore`] in Redis: all processes together admit as many requests of a caller as the limit
/// says.
///
/// Redis's clock counts, so the clocks of the processes may differ. A bucket that is full again
/// takes no memory. Rates of up to 10,000 requests a second of one caller are exact within 1 %, and
/// rates of more than a million are not limited.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// use mcplink::server::{RateLimit, Server};
/// use mcplink_redis::{Redis, RedisRateStore};
///
/// # fn f() -> mcplink::Result<()> {
/// let redis = Redis::new("redis://10.0.0.7:6379")?;
/// let ten = NonZeroU32::new(10).expect("not zero");
/// let limit = RateLimit::new(ten, Duration::from_secs(1));
/// let server = Server::builder("shop", "1.0")
///     .guard(limit.store(RedisRateStore::new(&redis, "all")))
///     .build()?;
/// # Ok(())
/// # }
/// ```
pub struct RedisRateStore {
    redis: Redis,
    name: String,
    take: Script,
}

impl RedisRateStore {
    /// Creates the store of one limit. `name` tells the limits of a server apart, and is the same
    /// in all processes. Does not connect yet.
    pub fn new(redis: &Redis, name: &str) -> Self {
        Self {
            redis: redis.clone(),
            name: name.to_owned(),
            take: Script::new(TAKE),
        }
    }
}

impl RateStore for RedisRateStore {
    fn take(&self, caller: &str, requests: NonZeroU32, per: Duration) -> Result<Option<Duration>> {
        let per = per.min(CENTURY);
        let token = (per / requests.get()).as_micros();
        if token == 0 {
            return Ok(None);
        }
        let mut take = self.take.prepare_invoke();
        take.key(self.redis.key(format_args!("rate:{}:{caller}", self.name)))
            .arg(token.to_string())
            .arg(per.as_micros().to_string());
        let missing: u64 = self.redis.run(|connection| take.invoke(connection))?;
        Ok((missing > 0).then(|| Duration::from_micros(missing)))
    }
}

impl fmt::Debug for RedisRateStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisRateStore")
            .field("redis", &self.redis)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
