//! Limits of progress notifications: values must grow, and the rate is bounded. The same kind of
//! rate limit applies to log messages.

use std::time::{Duration, Instant};

use crate::protocol::Progress;

/// The burst size of the token bucket, in messages.
const BURST: u32 = 16_384;
/// The refill interval of the token bucket. After each interval the bucket gets one token, which
/// stands for one message.
const INTERVAL: Duration = Duration::from_millis(1);

/// A token bucket that limits the rate of messages. The present time is an argument of its
/// functions.
#[derive(Debug)]
pub(super) struct Budget {
    credit: u32,
    /// The time at which the bucket was last refilled. `None` before the first message.
    since: Option<Instant>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            credit: BURST,
            since: None,
        }
    }

    /// Takes a token from the bucket. Returns whether there was a token. If so, the caller may send
    /// a message.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let since = *self.since.get_or_insert(now);
        let earned = now.saturating_duration_since(since).as_millis() / INTERVAL.as_millis();
        if earned > 0 {
            self.credit = BURST.min(
                self.credit
                    .saturating_add(u32::try_from(earned).unwrap_or(BURST)),
            );
            self.since = Some(now);
        }
        let granted = self.credit > 0;
        self.credit = self.credit.saturating_sub(1);
        granted
    }
}

/// A filter for the progress notifications of a call. The filter drops values that do not grow, and
/// limits the rate. The present time is an argument of its functions.
#[derive(Debug)]
pub(super) struct Pace {
    last: f64,
    budget: Budget,
    /// The newest progress notification, if the rate limit held it back.
    held: Option<Progress>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            last: f64::NEG_INFINITY,
            budget: Budget::new(),
            held: None,
        }
    }

    /// Returns the progress notification if it may be sent now. Drops a notification whose value
    /// does not grow. Holds back a notification that exceeds the rate limit.
    pub(super) fn admit(&mut self, progress: Progress, now: Instant) -> Option<Progress> {
        let grows = progress.progress.is_finite() && progress.progress > self.last;
        if !grows {
            return None;
        }
        self.last = progress.progress;
        if !self.budget.take(now) {
            self.held = Some(progress);
            return None;
        }
        self.held = None;
        Some(progress)
    }

    /// Returns the newest progress notification, if the rate limit held it back. The caller sends
    /// it before the answer to the call.
    pub(super) fn finish(&mut self) -> Option<Progress> {
        self.held.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-PROG-S-03, L-PROG-B-03, AMB-20
    #[test]
    fn progress_only_grows() {
        let now = Instant::now();
        let mut pace = Pace::new();
        let passed: Vec<f64> = [0.0, 1.0, 1.0, 0.5, f64::NAN, f64::INFINITY, 2.5]
            .into_iter()
            .filter_map(|value| pace.admit(Progress::new(value), now))
            .map(|progress| progress.progress)
            .collect();
        assert_eq!(passed, [0.0, 1.0, 2.5]);
    }

    // M-PROG-B-07, L-PROG-B-10
    #[test]
    fn a_flood_is_bounded_and_its_last_value_goes_out() {
        let now = Instant::now();
        let mut pace = Pace::new();
        let flood = (0..100_000).map(|value| Progress::new(value.into()));
        let passed = flood
            .filter_map(|progress| pace.admit(progress, now))
            .count();
        assert_eq!(passed, BURST as usize);
        assert_eq!(pace.finish(), Some(Progress::new(99_999.0)));
        assert_eq!(pace.finish(), None);
        assert!(
            pace.admit(Progress::new(100_000.0), now + 2 * INTERVAL)
                .is_some()
        );
        assert_eq!(pace.finish(), None);
    }
}
