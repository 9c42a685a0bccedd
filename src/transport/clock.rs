//! A cheap, approximate clock for the path of each message, and overflow-safe deadlines.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::sys::clock::{Tick, tick};

thread_local! {
    /// The time that this thread has last read, and the tick in which it did.
    static LAST: Cell<Option<(Tick, Instant)>> = const { Cell::new(None) };
}

/// Returns the time, or one up to a tick of the system's clock (1 to 10 ms) before it. It costs a
/// quarter of `Instant::now`.
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

/// The longest time span. Longer ones are shortened to it, so that no deadline overflows.
pub(crate) const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Returns the time after `span`, at most a century from now.
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
