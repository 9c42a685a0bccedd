//! The time, for those who ask for each message and need it roughly, and times to come.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::sys::clock::{Tick, tick};

thread_local! {
    /// The last time that this thread asked for, and the tick in which it did.
    static LAST: Cell<Option<(Tick, Instant)>> = const { Cell::new(None) };
}

/// The time, or up to a tick of the system's clock before it, which is 1 to 10 ms. It costs a quarter of the exact one.
pub(crate) fn about_now() -> Instant {
    // In this order: the time is never from before the tick.
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

/// What the longest spans are taken for: they end where no clock counts to.
pub(crate) const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The time when `span` is over, a century from now at the latest.
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
