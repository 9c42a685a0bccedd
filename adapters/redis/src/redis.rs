//! The settings of a Redis server, and the commands to it.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcplink::Result;
use redis::{Connection, ConnectionInfo, IntoConnectionInfo as _, RedisResult};

use crate::connecting::Settings;
use crate::error::{is_failure, unusable};
use crate::pool::Pool;

/// A Redis server, with a pool of connections. Clones share the pool.
///
/// A call that needs Redis waits for it at most for the [`timeout`](Self::timeout). After a
/// failure, commands fail at once for a second, so that a server that is gone does not slow calls
/// down (circuit breaker). Then one command tries again, while the others still fail at once.
///
/// Nothing is sent before the first command. URLs and passwords are never part of an error text or
/// `Debug` output.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink_redis::Redis;
///
/// let redis = Redis::new("redis://user:secret@10.0.0.7:6379/0")?
///     .prefix("shop:")
///     .timeout(Duration::from_millis(100));
/// # assert!(!format!("{redis:?}").contains("secret"));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct Redis {
    settings: Arc<Settings>,
    pool: Arc<Pool>,
}

impl Redis {
    /// Creates a Redis server from its URL: `redis://user:password@host:port/database`,
    /// `unix:///path?db=0&user=name&pass=password`, or, with the feature `tls`, `rediss://…`. Does
    /// not connect yet.
    ///
    /// A `rediss://` server is verified with the certificates of the system. A program whose crates
    /// turn on several cryptography providers of `rustls` has to choose one
    /// (`CryptoProvider::install_default`).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](mcplink::ErrorKind::Invalid) when the URL can't be used.
    pub fn new(url: &str) -> Result<Self> {
        Ok(Self::with(Settings {
            server: parsed(url)?,
            sentinels: Vec::new(),
            prefix: "mcplink:".to_owned(),
            timeout: Duration::from_millis(250),
            max_connections: 4,
        }))
    }

    fn with(settings: Settings) -> Self {
        let settings = Arc::new(settings);
        let pool = Arc::new(Pool::new(Arc::clone(&settings)));
        Self { settings, pool }
    }

    /// Returns this server with other settings, and a new pool.
    fn changed(&self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = (*self.settings).clone();
        change(&mut settings);
        Self::with(settings)
    }

    /// Sets the Redis Sentinels that know the address of the server, as URLs. Defaults to no
    /// sentinels.
    ///
    /// With sentinels, the host in the URL of the server is the name of the master, and its port is
    /// not used. The sentinels are asked for each new connection, one after the other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](mcplink::ErrorKind::Invalid) when a URL can't be used.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink_redis::Redis;
    ///
    /// let redis = Redis::new("redis://:secret@mymaster")?
    ///     .sentinels(&["redis://10.0.0.1:26379", "redis://10.0.0.2:26379"])?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn sentinels(self, urls: &[&str]) -> Result<Self> {
        let sentinels: Result<Vec<_>> = urls.iter().map(|url| parsed(url)).collect();
        let sentinels = sentinels?;
        Ok(self.changed(|settings| settings.sentinels = sentinels))
    }

    /// Sets the beginning of all keys. Defaults to `mcplink:`. Servers that do not belong together
    /// need different prefixes.
    pub fn prefix(self, prefix: &str) -> Self {
        self.changed(|settings| prefix.clone_into(&mut settings.prefix))
    }

    /// Sets the maximum time that a call waits for Redis: for a free connection, to connect, to
    /// send and to receive. Defaults to 250 ms; at least 1 ms. Then the call fails.
    pub fn timeout(self, timeout: Duration) -> Self {
        let timeout = timeout.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        self.changed(|settings| settings.timeout = timeout)
    }

    /// Sets the maximum number of connections for commands. Defaults to 4. When all are in use, a
    /// call waits for one. Each [`RedisEventBus`](crate::RedisEventBus) has one connection more.
    pub fn max_connections(self, connections: NonZeroUsize) -> Self {
        self.changed(|settings| settings.max_connections = connections.get())
    }

    /// Returns a key with the prefix.
    pub(crate) fn key(&self, rest: fmt::Arguments<'_>) -> String {
        format!("{}{rest}", self.settings.prefix)
    }

    /// Returns the maximum time of a wait.
    pub(crate) fn wait(&self) -> Duration {
        self.settings.timeout
    }

    /// Returns a connection that does not count as one of the pool.
    pub(crate) fn own_connection(&self) -> Result<Connection> {
        self.pool.own_connection()
    }

    /// Runs a command on a connection of the pool. If an idle connection turns out to be broken,
    /// the command is run once more on a new connection, so it may have its effect twice.
    pub(crate) fn run<T>(
        &self,
        mut command: impl FnMut(&mut Connection) -> RedisResult<T>,
    ) -> Result<T> {
        let deadline = Instant::now() + self.settings.timeout;
        let mut place = self.pool.place(deadline)?;
        loop {
            let (mut connection, is_new) = place.connection(deadline)?;
            let wait = deadline.saturating_duration_since(Instant::now());
            let wait = Some(wait.max(Duration::from_millis(1)));
            let result = connection
                .set_read_timeout(wait)
                .and_then(|()| connection.set_write_timeout(wait))
                .and_then(|()| command(&mut connection));
            return match result {
                Err(error) if is_failure(&error) => {
                    if error.is_connection_dropped() && !is_new {
                        place.forget_idle();
                        continue;
                    }
                    Err(place.failed(&error))
                }
                result => {
                    place.give_back(connection);
                    result.map_err(|error| crate::error::failed(&error))
                }
            };
        }
    }
}

fn parsed(url: &str) -> Result<ConnectionInfo> {
    url.into_connection_info().map_err(|error| unusable(&error))
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("prefix", &self.settings.prefix)
            .field("timeout", &self.settings.timeout)
            .field("max_connections", &self.settings.max_connections)
            .finish_non_exhaustive()
    }
}
