//! The deadline of a call: a timeout that progress restarts, and a cap that progress does not
//! extend.

use std::time::{Duration, Instant};

/// The deadline of a call, which follows from a timeout and a cap. The current time is always an
/// argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    started: Instant,
    timeout: Option<Duration>,
    cap: Option<Duration>,
    /// When the peer last gave a sign of life, such as progress.
    seen: Instant,
    /// The total time that does not count towards the cap.
    held: Duration,
}

/// The bound that ended the wait of a call: the timeout or the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Timeout,
    Cap,
}

impl Deadline {
    pub(crate) fn new(now: Instant, timeout: Option<Duration>, cap: Option<Duration>) -> Self {
        Self {
            started: now,
            timeout,
            cap,
            seen: now,
            held: Duration::ZERO,
        }
    }

    /// Sets the total time that does not count towards the cap.
    pub(crate) fn hold(&mut self, held: Duration) {
        self.held = held;
    }

    /// Restarts the timeout, because the peer gave a sign of life at the time `seen`.
    pub(crate) fn extend(&mut self, seen: Instant) {
        self.seen = self.seen.max(seen);
    }

    /// Returns the time at which the timeout or the cap ends the wait of the call; `None` if
    /// neither is set. A limit too large for an `Instant` is ignored.
    pub(crate) fn at(&self) -> Option<Instant> {
        let timeout = self
            .timeout
            .and_then(|timeout| self.seen.checked_add(timeout));
        let cap = self.cap.and_then(|cap| cap.checked_add(self.held));
        let cap = cap.and_then(|cap| self.started.checked_add(cap));
        match (timeout, cap) {
            (Some(timeout), Some(cap)) => Some(timeout.min(cap)),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn passed(&self, now: Instant) -> Option<Bound> {
        let past = |start: Instant, span: Option<Duration>| {
            let end = span.and_then(|span| start.checked_add(span));
            end.is_some_and(|end| now >= end)
        };
        let cap = self.cap.map(|cap| cap.saturating_add(self.held));
        if past(self.started, cap) {
            Some(Bound::Cap)
        } else {
            past(self.seen, self.timeout).then_some(Bound::Timeout)
        }
    }

    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-CANC-B-21, L-INIT-B-21
    #[test]
    fn progress_moves_the_timeout_but_not_the_cap() {
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let mut deadline = Deadline::new(
            start,
            Some(Duration::from_millis(100)),
            Some(Duration::from_millis(250)),
        );
        assert_eq!(
            (deadline.at(), deadline.passed(after(99))),
            (Some(after(100)), None)
        );
        assert_eq!(deadline.passed(after(100)), Some(Bound::Timeout));
        deadline.extend(after(90));
        assert_eq!(
            (deadline.at(), deadline.passed(after(150))),
            (Some(after(190)), None)
        );
        deadline.extend(after(200));
        assert_eq!(deadline.at(), Some(after(250)));
        assert_eq!(deadline.passed(after(250)), Some(Bound::Cap));
    }

    #[test]
    fn no_bound_and_an_endless_one_never_pass() {
        let start = Instant::now();
        assert_eq!(Deadline::new(start, None, None).at(), None);
        let endless = Deadline::new(start, Some(Duration::MAX), None);
        assert_eq!(
            (
                endless.at(),
                endless.passed(start + Duration::from_secs(1 << 30))
            ),
            (None, None)
        );
    }
}
