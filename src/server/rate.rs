//! A rate limit for the requests of each caller.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use serde_json::json;

use super::debug_fields::debug_fields;
use super::error_map::HandlerError;
use super::guard::{Guard, GuardedRequest};
use crate::error::{RpcError, Span};
use crate::schema::json::millis;
use crate::schema::method;
use crate::shares::Client;
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
/// A caller whose bucket is full again is forgotten. So memory is used only for callers that were
/// active in the last period.
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
    callers: Mutex<Callers>,
}

impl RateLimit {
    /// Creates a limit of `requests` requests within `per` for each caller. Every request that is
    /// passed to the guards counts.
    pub fn new(requests: NonZeroU32, per: Duration) -> Self {
        Self {
            requests,
            per: per.min(CENTURY),
            methods: Vec::new(),
            callers: Mutex::default(),
        }
    }

    /// Sets that only the requests of these methods are limited. All these methods share one token
    /// bucket for each caller.
    pub fn on(mut self, methods: &[&str]) -> Self {
        self.methods = methods.iter().map(|method| (*method).to_owned()).collect();
        self
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
        let caller = access.accounted_client();
        let mut callers = self.callers.lock();
        let admitted = callers.take(caller, self.requests, self.per, Instant::now());
        drop(callers);
        admitted.map_err(|wait| {
            let text = format!(
                "too many requests: {} within {} are allowed; try again in {}",
                self.requests,
                Span(self.per),
                Span(wait)
            );
            // The time is rounded up, since a client that retries too early would be refused again.
            let millis = millis(wait) + 1;
            let data = json!({ "busy": true, "retryAfterMs": millis });
            RpcError::internal(text).with_json(&data).into()
        })
    }

    fn shows(&self, _: &GuardedRequest<'_>) -> bool {
        true
    }
}

debug_fields!(RateLimit, requests, per, methods);

/// The token buckets of all callers. A bucket is stored as the time at which it is full again. A
/// caller whose bucket is full is treated like a new caller. The present time is an argument of the
/// functions.
#[derive(Default)]
struct Callers {
    full_at: HashMap<Client, Instant>,
    /// The number of callers at which idle callers are removed next. Values below `FEW` count as
    /// `FEW`.
    crowd: usize,
}

impl Callers {
    /// Takes a token from the bucket of a caller. If the bucket is empty, returns the time until it
    /// has a token.
    fn take(
        &mut self,
        caller: Client,
        requests: NonZeroU32,
        per: Duration,
        now: Instant,
    ) -> Result<(), Duration> {
        if self.full_at.len() >= self.crowd.max(FEW) {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.crowd = self.full_at.len() * 2;
        }
        let full_at = self.full_at.entry(caller).or_insert(now);
        let after = (*full_at).max(now) + per / requests.get();
        let missing = after.saturating_duration_since(now).saturating_sub(per);
        if missing.is_zero() {
            *full_at = after;
            Ok(())
        } else {
            Err(missing)
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn take(callers: &mut Callers, caller: u64, now: Instant) -> Result<(), Duration> {
        let four = NonZeroU32::new(4).expect("not zero");
        callers.take(Client::Connection(caller), four, SECOND, now)
    }

    #[test]
    fn a_bucket_is_emptied_at_once_and_filled_evenly() {
        let mut callers = Callers::default();
        let start = Instant::now();
        for _ in 0..4 {
            assert_eq!(take(&mut callers, 1, start), Ok(()));
        }
        assert_eq!(take(&mut callers, 1, start), Err(SECOND / 4));
        assert_eq!(take(&mut callers, 2, start), Ok(()), "another caller");
        assert_eq!(take(&mut callers, 1, start + SECOND / 8), Err(SECOND / 8));
        assert_eq!(take(&mut callers, 1, start + SECOND / 4), Ok(()));
        assert_eq!(take(&mut callers, 1, start + SECOND / 4), Err(SECOND / 4));
        let later = start + 100 * SECOND;
        let full = (0..10).filter(|_| take(&mut callers, 1, later).is_ok());
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
