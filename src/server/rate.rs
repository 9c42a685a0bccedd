//! How often one caller may ask.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use serde_json::json;

use super::failure::HandlerError;
use super::guard::{Access, Guard};
use crate::error::{ErrorCode, RpcError, Span};
use crate::schema::json::millis;
use crate::schema::method;
use crate::sync::Mutex;
use crate::transport::clock::CENTURY;

/// So many callers are remembered before the idle ones are looked for.
const FEW: usize = 1024;

/// A [`Guard`] that bounds how often one caller may ask.
///
/// Each caller has a bucket of `requests` tokens, which fills up again evenly within `per`; a request that finds it empty is refused, and
/// told when to come again. A caller is a principal, on however many connections, or else a connection; over HTTP,
/// all clients of the modern era without a principal are one. What is forgotten is only what has
/// no effect any more, so memory is bounded by the callers within one span.
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
/// let server = Server::builder("busy", "1.0")
///     .guard(RateLimit::new(ten, Duration::from_secs(1)).on(&[method::TOOLS_CALL, method::COMPLETION_COMPLETE]))
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct RateLimit {
    requests: NonZeroU32,
    per: Duration,
    /// Which methods count; empty for all of them.
    methods: Vec<String>,
    callers: Mutex<Callers>,
}

impl RateLimit {
    /// Lets each caller send so many requests within a span of time, for whatever the guards of a server are asked about.
    pub fn new(requests: NonZeroU32, per: Duration) -> Self {
        Self {
            requests,
            per: per.min(CENTURY),
            methods: Vec::new(),
            callers: Mutex::default(),
        }
    }

    /// Counts these methods only, together.
    pub fn on(mut self, methods: &[&str]) -> Self {
        self.methods = methods.iter().map(|method| (*method).to_owned()).collect();
        self
    }
}

impl Guard for RateLimit {
    fn admit(&self, access: &Access<'_>) -> Result<(), HandlerError> {
        let counts =
            self.methods.is_empty() || self.methods.iter().any(|method| method == access.method());
        // A request for a stream counts once, whatever it subscribes to.
        let is_part =
            access.method() == method::SUBSCRIPTIONS_LISTEN && access.primitive().is_some();
        if !counts || is_part {
            return Ok(());
        }
        let caller = match access.principal() {
            Some(principal) => Caller::Principal(principal.into()),
            None => Caller::Connection(access.connection()),
        };
        let taken = self
            .callers
            .lock()
            .take(caller, self.requests, self.per, Instant::now());
        taken.map_err(|wait| {
            let text = format!(
                "too many requests: {} within {} are allowed; try again in {}",
                self.requests,
                Span(self.per),
                Span(wait)
            );
            let error = RpcError::new(ErrorCode::INTERNAL_ERROR, text);
            // Rounded up: who comes a moment too early is refused again.
            let millis = millis(wait) + 1;
            error
                .clone()
                .with_data(&json!({ "busy": true, "retryAfterMs": millis }))
                .unwrap_or(error)
                .into()
        })
    }

    fn shows(&self, _: &Access<'_>) -> bool {
        true
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit")
            .field("requests", &self.requests)
            .field("per", &self.per)
            .field("methods", &self.methods)
            .finish_non_exhaustive()
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Caller {
    Principal(Box<str>),
    Connection(u64),
}

/// When the bucket of each caller is full again: all that has to be known of it. A caller whose time has passed is like a new one. The
/// clock is an argument.
#[derive(Default)]
struct Callers {
    full_at: HashMap<Caller, Instant>,
    /// At this many the idle ones are forgotten.
    crowd: usize,
}

impl Callers {
    /// Takes a token; if there is none, says how long it takes until there is.
    fn take(
        &mut self,
        caller: Caller,
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
        callers.take(Caller::Connection(caller), four, SECOND, now)
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
