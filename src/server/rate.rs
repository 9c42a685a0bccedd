//! A rate limit for the requests of each caller, and the stores of its token buckets.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::debug_fields::debug_fields;
use super::error_map::HandlerError;
use super::guard::{Guard, GuardedRequest};
use crate::error::{Result, RpcError, Span};
use crate::protocol::LogLevel;
use crate::schema::json::millis;
use crate::schema::method;
use crate::sync::Mutex;
use crate::transport::clock::CENTURY;

/// The minimum number of callers at which idle callers are removed.
const FEW: usize = 1024;

/// A [`Guard`] that limits the request rate of each caller.
///
/// Each caller has a token bucket of `requests` tokens, which is refilled evenly within `per`. A
/// request that finds the bucket empty is refused, with the time after which it can be retried.
///
/// Requests with a principal count for the principal, on all its connections together. Requests
/// without a principal count for their connection. Over HTTP, requests without a principal count
/// for their session, or for their network address if they have no session.
///
/// Each limit counts the requests of its own process, unless processes share a store: see
/// [`store`](Self::store). A caller whose bucket is full again is forgotten. So memory is used only
/// for callers that were active in the last period.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// use mcplink::schema::method;
/// use mcplink::server::{RateLimit, Server};
///
/// let ten = NonZeroU32::new(10).expect("not zero");
/// let limit = RateLimit::new(ten, Duration::from_secs(1));
/// let server = Server::builder("busy", "1.0")
///     .guard(limit.on(&[method::TOOLS_CALL, method::COMPLETION_COMPLETE]))
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct RateLimit {
    requests: NonZeroU32,
    per: Duration,
    /// The methods whose requests count. Empty if the requests of all methods count.
    methods: Vec<String>,
    store: Option<Box<dyn RateStore>>,
    /// Whether the store failed at the last request. So a store that is gone is logged once.
    has_failed: AtomicBool,
    /// The buckets of callers that are not in the store, and of all callers while the store fails.
    memory: MemoryRateStore,
}

impl RateLimit {
    /// Creates a limit of `requests` requests within `per` for each caller. Every request that is
    /// passed to the guards counts.
    pub fn new(requests: NonZeroU32, per: Duration) -> Self {
        Self {
            requests,
            per: per.min(CENTURY),
            methods: Vec::new(),
            store: None,
            has_failed: AtomicBool::new(false),
            memory: MemoryRateStore::default(),
        }
    }

    /// Sets that only the requests of these methods are limited. All these methods share one token
    /// bucket for each caller.
    pub fn on(mut self, methods: &[&str]) -> Self {
        self.methods = methods.iter().map(|method| (*method).to_owned()).collect();
        self
    }

    /// Sets the store of the token buckets, which the processes of a server can share. Defaults to
    /// buckets in the memory of this limit.
    ///
    /// The store has the buckets of principals and network addresses. A session or connection
    /// belongs to one process, so its bucket is always in the memory of this limit. While the store
    /// fails, all buckets are in memory: each process then limits its own requests.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use std::time::Duration;
    ///
    /// use mcplink::server::{MemoryRateStore, RateLimit, Server};
    ///
    /// // Both servers together admit ten requests of a user within a second.
    /// let store = MemoryRateStore::default();
    /// let ten = NonZeroU32::new(10).expect("not zero");
    /// let limit = || RateLimit::new(ten, Duration::from_secs(1)).store(store.clone());
    /// let public = Server::builder("shop", "1.0").guard(limit()).build()?;
    /// let internal = Server::builder("shop", "1.0").guard(limit()).build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn store(mut self, store: impl RateStore + 'static) -> Self {
        self.store = Some(Box::new(store));
        self
    }

    /// Takes a token from the caller's bucket, which is in the store or in memory.
    fn take(&self, access: &GuardedRequest<'_>) -> Option<Duration> {
        let client = access.accounted_client();
        let caller = client.to_string();
        let in_memory = || {
            let now = Instant::now();
            self.memory.take_at(&caller, self.requests, self.per, now)
        };
        let Some(store) = self.store.as_ref().filter(|_| !client.is_local()) else {
            return in_memory();
        };
        let taken = store.take(&caller, self.requests, self.per);
        let had_failed = self.has_failed.swap(taken.is_err(), Ordering::Relaxed);
        taken.unwrap_or_else(|error| {
            if !had_failed {
                access.responder.log(LogLevel::Warning, || {
                    format!("each process limits its own requests: the rate store failed: {error}")
                });
            }
            in_memory()
        })
    }
}

impl Guard for RateLimit {
    fn admit(&self, access: &GuardedRequest<'_>) -> Result<(), HandlerError> {
        let counts =
            self.methods.is_empty() || self.methods.iter().any(|method| method == access.method());
        // A `subscriptions/listen` request counts once, not once for each resource.
        let is_part =
            access.method() == method::SUBSCRIPTIONS_LISTEN && access.primitive().is_some();
        if !counts || is_part {
            return Ok(());
        }
        let Some(wait) = self.take(access) else {
            return Ok(());
        };
        let text = format!(
            "too many requests: {} within {} are allowed; try again in {}",
            self.requests,
            Span(self.per),
            Span(wait)
        );
        // The time is rounded up, since a client that retries too early would be refused again.
        let millis = millis(wait) + 1;
        let data = json!({ "busy": true, "retryAfterMs": millis });
        Err(RpcError::internal(text).with_json(&data).into())
    }

    fn shows(&self, _: &GuardedRequest<'_>) -> bool {
        true
    }
}

debug_fields!(RateLimit, requests, per, methods);

/// A store of token buckets, which the processes of a server can share. See [`RateLimit::store`].
///
/// # Examples
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// use mcplink::Result;
/// use mcplink::server::{MemoryRateStore, RateLimit, RateStore, Server};
///
/// /// Users with a name that begins with "robot-" have buckets of a tenth.
/// struct Robots(MemoryRateStore);
///
/// impl RateStore for Robots {
///     fn take(
///         &self,
///         caller: &str,
///         requests: NonZeroU32,
///         per: Duration,
///     ) -> Result<Option<Duration>> {
///         let is_robot = caller.starts_with("principal robot-");
///         self.0.take(caller, requests, if is_robot { per * 10 } else { per })
///     }
/// }
///
/// let hundred = NonZeroU32::new(100).expect("not zero");
/// let limit = RateLimit::new(hundred, Duration::from_secs(60));
/// let server = Server::builder("busy", "1.0")
///     .guard(limit.store(Robots(MemoryRateStore::default())))
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
pub trait RateStore: Send + Sync {
    /// Takes a token from the bucket of a caller, which has at most `requests` tokens and is
    /// refilled evenly within `per`. Returns `None` if there was a token. Otherwise returns the
    /// time until there is one, and the bucket is not changed.
    ///
    /// `caller` is the text of a principal or network address. A bucket that nobody has used for
    /// `per` is full, so it can be forgotten. Concurrent calls must not take the same token. The
    /// function runs on the thread of the request, which it may block.
    ///
    /// # Errors
    ///
    /// An error when the store can't be reached. The [`RateLimit`] then uses buckets in its memory.
    fn take(&self, caller: &str, requests: NonZeroU32, per: Duration) -> Result<Option<Duration>>;
}

/// A [`RateStore`] in the memory of this process. Clones share their buckets.
///
/// All limits with one store should have the same settings: each caller has one bucket.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// use mcplink::server::{MemoryRateStore, RateStore};
///
/// let (store, two) = (MemoryRateStore::default(), NonZeroU32::new(2).expect("not zero"));
/// let hour = Duration::from_secs(3600);
/// assert_eq!(store.take("principal ann", two, hour)?, None);
/// assert_eq!(store.take("principal ann", two, hour)?, None);
/// assert!(store.take("principal ann", two, hour)?.is_some());
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryRateStore(Arc<Mutex<Callers>>);

debug_fields!(MemoryRateStore);

impl MemoryRateStore {
    fn take_at(
        &self,
        caller: &str,
        requests: NonZeroU32,
        per: Duration,
        now: Instant,
    ) -> Option<Duration> {
        self.0.lock().take(caller, requests, per.min(CENTURY), now)
    }
}

impl RateStore for MemoryRateStore {
    fn take(&self, caller: &str, requests: NonZeroU32, per: Duration) -> Result<Option<Duration>> {
        Ok(self.take_at(caller, requests, per, Instant::now()))
    }
}

/// The token buckets of all callers. A bucket is stored as the time at which it is full again. A
/// caller whose bucket is full is treated like a new caller. The present time is an argument of the
/// functions.
#[derive(Default)]
struct Callers {
    full_at: HashMap<Box<str>, Instant>,
    /// The number of callers at which idle callers are removed next. Values below `FEW` count as
    /// `FEW`.
    crowd: usize,
}

impl Callers {
    /// Takes a token from the bucket of a caller. If the bucket is empty, returns the time until it
    /// has a token.
    fn take(
        &mut self,
        caller: &str,
        requests: NonZeroU32,
        per: Duration,
        now: Instant,
    ) -> Option<Duration> {
        if self.full_at.len() >= self.crowd.max(FEW) {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.crowd = self.full_at.len() * 2;
        }
        let full_at = self.full_at.get(caller).copied().unwrap_or(now);
        let after = full_at.max(now) + per / requests.get();
        let missing = after.saturating_duration_since(now).saturating_sub(per);
        if !missing.is_zero() {
            return Some(missing);
        }
        match self.full_at.get_mut(caller) {
            Some(full_at) => *full_at = after,
            None => _ = self.full_at.insert(caller.into(), after),
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn take(callers: &mut Callers, caller: u64, now: Instant) -> Option<Duration> {
        let four = NonZeroU32::new(4).expect("not zero");
        callers.take(&format!("connection {caller}"), four, SECOND, now)
    }

    #[test]
    fn a_bucket_is_emptied_at_once_and_filled_evenly() {
        let mut callers = Callers::default();
        let start = Instant::now();
        for _ in 0..4 {
            assert_eq!(take(&mut callers, 1, start), None);
        }
        assert_eq!(take(&mut callers, 1, start), Some(SECOND / 4));
        assert_eq!(take(&mut callers, 2, start), None, "another caller");
        assert_eq!(take(&mut callers, 1, start + SECOND / 8), Some(SECOND / 8));
        assert_eq!(take(&mut callers, 1, start + SECOND / 4), None);
        assert_eq!(take(&mut callers, 1, start + SECOND / 4), Some(SECOND / 4));
        let later = start + 100 * SECOND;
        let full = (0..10).filter(|_| take(&mut callers, 1, later).is_none());
        assert_eq!(full.count(), 4);
    }

    // Seen in other SDKs: memory grows with every use.
    #[test]
    fn who_no_longer_asks_is_forgotten() {
        let mut callers = Callers::default();
        let start = Instant::now();
        for caller in 0..100_000_u32 {
            let now = start + SECOND * caller / 100;
            _ = take(&mut callers, caller.into(), now);
            assert!(callers.full_at.len() <= FEW);
        }
    }
}
