//! The store of records.

use std::fmt;
use std::time::Duration;

use mcplink::server::{Record, RecordStore};
use mcplink::{Error, ErrorKind, Result};
use redis::Script;

use crate::CENTURY;
use crate::redis::Redis;

/// Stores a version of a record, if the store has the version before (compare and set). A lifetime
/// of zero removes the record. Returns whether the version was stored.
const WRITE: &str = r"
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'bytes', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
";

/// A [`RecordStore`] in Redis: a client finds its tasks in whichever process gets its request.
///
/// A record is a key that expires with the record. The server encrypts and authenticates the
/// content of records, so Redis learns nothing from them.
///
/// # Examples
///
/// ```
/// use mcplink::server::{Server, StateKey, TaskOptions};
/// use mcplink_redis::{Redis, RedisRecordStore};
///
/// # fn f(key: StateKey) -> mcplink::Result<()> {
/// let redis = Redis::new("redis://10.0.0.7:6379")?;
/// let server = Server::builder("shop", "1.0")
///     .state_keys(&[key])
///     .record_store(RedisRecordStore::new(&redis))
///     .tasks(TaskOptions::default())
///     .build()?;
/// # Ok(())
/// # }
/// ```
pub struct RedisRecordStore {
    redis: Redis,
    write: Script,
}

impl RedisRecordStore {
    /// Creates a store. Does not connect yet.
    pub fn new(redis: &Redis) -> Self {
        Self {
            redis: redis.clone(),
            write: Script::new(WRITE),
        }
    }

    fn key(&self, key: &str) -> String {
        self.redis.key(format_args!("record:{key}"))
    }
}

impl RecordStore for RedisRecordStore {
    fn read(&self, key: &str) -> Result<Option<Record>> {
        let mut command = redis::cmd("HMGET");
        command.arg((self.key(key), "version", "bytes"));
        let stored = self.redis.run(|connection| command.query(connection))?;
        let (version, bytes): (Option<u64>, Option<Vec<u8>>) = stored;
        let record = version.zip(bytes);
        Ok(record.map(|(version, bytes)| Record { version, bytes }))
    }

    fn write(&self, key: &str, version: u64, bytes: &[u8], lifetime: Duration) -> Result<bool> {
        let Some(before) = version.checked_sub(1) else {
            return Ok(false);
        };
        let mut write = self.write.key(self.key(key));
        write
            .arg(before)
            .arg(version)
            .arg(bytes)
            .arg(lifetime.min(CENTURY).as_millis().to_string());
        let mut runs = 0;
        let is_written: bool = self.redis.run(|connection| {
            runs += 1;
            write.invoke(connection)
        })?;
        if !is_written && runs > 1 {
            // The first run may have stored it, before the connection was lost.
            let text = "Redis failed: it is not known whether the record was stored";
            return Err(Error::new(ErrorKind::Io, text));
        }
        Ok(is_written)
    }

    fn remove(&self, key: &str) -> Result<()> {
        let mut command = redis::cmd("UNLINK");
        command.arg(self.key(key));
        self.redis.run(|connection| command.exec(connection))
    }
}

impl fmt::Debug for RedisRecordStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisRecordStore")
            .field("redis", &self.redis)
            .finish_non_exhaustive()
    }
}
