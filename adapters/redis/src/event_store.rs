//! The store of the events of legacy streams.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use mcplink::server::http::{EventLog, EventStore};
use mcplink::{Error, ErrorKind, Result};
use redis::streams::StreamRangeReply;

use crate::millis;
use crate::redis::Redis;

/// The number of events that are read at once.
const PART: usize = 16;

/// An [`EventStore`] in Redis: the latest events of each legacy stream, outside of the memory of
/// the process.
///
/// A session still belongs to the process that opened it. What a process stored before it ended is
/// removed when its [`lifetime`](Self::lifetime) is over.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::HttpOptions;
/// use mcplink_redis::{Redis, RedisEventStore};
///
/// # fn f() -> mcplink::Result<()> {
/// let redis = Redis::new("redis://10.0.0.7:6379")?;
/// let events = RedisEventStore::new(&redis).max_events(1_000);
/// let options = HttpOptions::new().event_store(events);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisEventStore {
    redis: Redis,
    max_events: usize,
    max_bytes: usize,
    lifetime: Duration,
}

impl RedisEventStore {
    /// Creates a store. Does not connect yet.
    pub fn new(redis: &Redis) -> Self {
        Self {
            redis: redis.clone(),
            max_events: 256,
            max_bytes: 1 << 20,
            lifetime: Duration::from_secs(60 * 60),
        }
    }

    /// Sets the maximum number of events that are stored for a stream. Defaults to 256; at least 1.
    /// Then the oldest events are removed.
    pub fn max_events(mut self, events: usize) -> Self {
        self.max_events = events.max(1);
        self
    }

    /// Sets the maximum size of the events that are stored for a stream, in bytes. Defaults to
    /// 1 MiB. Then the oldest events are removed. The last event is stored whatever its size.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the time for which the events of a stream are stored after its last event. Defaults to
    /// 1 hour.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }
}

impl EventStore for RedisEventStore {
    fn open(&self, session: &str, stream: u64) -> Box<dyn EventLog> {
        Box::new(RedisEventLog {
            key: self.redis.key(format_args!("stream:{session}:{stream}")),
            store: self.clone(),
            sizes: VecDeque::new(),
            bytes: 0,
        })
    }
}

/// The events of one stream. An event is an entry of a stream of Redis, whose id is the number of
/// the event.
struct RedisEventLog {
    store: RedisEventStore,
    key: String,
    /// The sizes of the stored events, and their sum.
    sizes: VecDeque<usize>,
    bytes: usize,
}

impl EventLog for RedisEventLog {
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()> {
        self.sizes.push_back(event.len());
        self.bytes += event.len();
        while self.sizes.len() > self.store.max_events
            || (self.sizes.len() > 1 && self.bytes > self.store.max_bytes)
        {
            self.bytes -= self.sizes.pop_front().unwrap_or_default();
        }
        let first = number + 1 - self.sizes.len() as u64;
        let mut pipe = redis::pipe();
        pipe.cmd("XADD")
            .arg((&self.key, "MINID", "=", first, format!("{number}-0")))
            .arg(("event", event))
            .cmd("PEXPIRE")
            .arg((&self.key, millis(self.store.lifetime)));
        self.store.redis.run(|connection| pipe.exec(connection))
    }

    fn replay_after(
        &mut self,
        mut number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        loop {
            let mut command = redis::cmd("XRANGE");
            let after = number.saturating_add(1);
            command.arg((&self.key, after, "+", "COUNT", PART));
            let part = self.store.redis.run(|connection| command.query(connection));
            let part: StreamRangeReply = part?;
            let is_last = part.ids.len() < PART;
            for entry in part.ids {
                let id = entry.id.split('-').next().and_then(|id| id.parse().ok());
                let (Some(of), Some(event)) = (id, entry.get::<Vec<u8>>("event")) else {
                    let text = format!("Redis has an unknown entry in {}", self.key);
                    return Err(Error::new(ErrorKind::Io, text));
                };
                number = of;
                if send(number, &event).is_break() {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Removes the events. If Redis can't be reached, they expire.
impl Drop for RedisEventLog {
    fn drop(&mut self) {
        let mut command = redis::cmd("UNLINK");
        command.arg(&self.key);
        _ = self.store.redis.run(|connection| command.exec(connection));
    }
}
