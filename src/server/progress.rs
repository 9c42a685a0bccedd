//! What progress of a call may go out: growing values, and not too many of them. Log messages are bounded in the same way.

use std::time::{Duration, Instant};

use crate::protocol::Progress;

/// So many messages may go out at once …
const BURST: u32 = 16_384;
/// … and one more every so often.
const INTERVAL: Duration = Duration::from_millis(1);

/// How many messages may go out. The clock is an argument.
#[derive(Debug)]
pub(super) struct Budget {
    credit: u32,
    /// When it was last filled up: not before the first message.
    since: Option<Instant>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            credit: BURST,
            since: None,
        }
    }

    /// Whether one more may go out now.
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

/// Decides over each progress message. The clock is an argument.
#[derive(Debug)]
pub(super) struct Pace {
    last: f64,
    budget: Budget,
    /// The newest message that was held back.
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

    /// Gives the message back if it may go out now. One that does not grow is dropped, one too many is held until the end.
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

    /// The newest message, if it was held back: it goes out before the answer.
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
