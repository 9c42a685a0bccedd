//! A time in half the memory of an [`Instant`], for values of which each connection has several.

use std::num::NonZeroU64;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The time before all moments of the process.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A time in nanoseconds since a fixed time of the process. It lasts for 584 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(NonZeroU64);

impl Moment {
    pub(super) fn now() -> Self {
        Instant::now().into()
    }

    /// Returns the time `span` later. Returns `None` if there is no such time.
    pub(super) fn checked_add(self, span: Duration) -> Option<Self> {
        let nanos = u64::try_from(span.as_nanos()).ok()?;
        self.0.checked_add(nanos).map(Self)
    }

    /// Returns the time since `earlier`, or zero if that time is later.
    pub(super) fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

impl From<Instant> for Moment {
    fn from(instant: Instant) -> Self {
        let nanos = instant.saturating_duration_since(*ORIGIN).as_nanos();
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }
}

impl From<Moment> for Instant {
    fn from(moment: Moment) -> Self {
        let span = Duration::from_nanos(moment.0.get() - 1);
        let origin = *ORIGIN;
        origin.checked_add(span).unwrap_or(origin)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_time_that_it_was_made_of() {
        let first = Moment::now();
        let now = Instant::now();
        let moment = Moment::from(now);
        assert_eq!(Instant::from(moment), now);
        assert!(first <= moment);
        let later = moment.checked_add(Duration::from_millis(3));
        assert_eq!(
            later.map(Instant::from),
            Some(now + Duration::from_millis(3))
        );
        assert_eq!(moment.checked_add(Duration::MAX), None);
        let next = Moment::from(now + Duration::from_secs(1));
        assert_eq!(
            next.saturating_duration_since(moment),
            Duration::from_secs(1)
        );
        assert_eq!(moment.saturating_duration_since(next), Duration::ZERO);
    }
}
