//! A cheap, approximate clock for code that runs for each message. Also computes deadlines that
//! can't overflow.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::sys::clock::{Tick, tick};

thread_local! {
    /// The last time that this thread read from the clock, and the tick of the coarse clock at that
    /// moment.
    static LAST: Cell<Option<(Tick, Instant)>> = const { Cell::new(None) };
}

/// Returns the current time, or a time up to one tick of the system's clock (1 to 10 ms) earlier. A
/// call costs a quarter of `Instant::now`.
pub(crate) fn about_now() -> Instant {
    // Invariant: the tick is read before the time. So a cached time is never older than its tick.
    let tick = tick();
    if let Some((last, time)) = LAST.get()
        && tick == Some(last)
    {
        return time;
    }
    let now = Instant::now();
    LAST.set(tick.map(|tick| (tick, now)));
    now
}

/// The maximum time span until a deadline. [`after`] shortens a longer span, so that no deadline
/// overflows.
pub(crate) const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Returns the time at which `span` has passed, counted from now. The time is at most a century
/// from now.
pub(crate) fn after(span: Duration) -> Instant {
    Instant::now() + span.min(CENTURY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_goes_on_and_never_ahead() {
        let until = Instant::now() + Duration::from_secs(10);
        let mut last = about_now();
        for _ in 0..3 {
            let now = loop {
                let now = about_now();
                assert!(now >= last && now <= Instant::now() && now < until);
                if now > last {
                    break now;
                }
            };
            last = now;
        }
    }
}
