//! The wait set, in which the callers of a connection block. Several callers are woken at once.
//!
//! Each wakeup is a system call, and the woken thread often preempts the waker. With many callers,
//! a wakeup for each answer would cost two context switches for each answer. A thread that reads
//! for many callers therefore wakes all of them with one system call.
//!
//! **Invariant:** a waiter reads the counter ([`WaitSet::count`]) *before* it publishes that it is
//! waiting. A waker that sees the waiting flag increments the counter before the wakeup. So the
//! waiter's futex call either returns at once or is woken; no wakeup is lost.

use std::time::Instant;

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
pub(crate) use self::futex::WaitSet;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(loom))))]
pub(crate) use self::portable::WaitSet;

/// The number of places in a wait set. Waiters that share a place are woken together. Each woken
/// waiter then checks its own slot.
#[cfg(not(loom))]
pub(crate) const PLACES: usize = 128;
#[cfg(loom)]
pub(crate) const PLACES: usize = 2;

/// A wake mask: the set of places in a wait set that are woken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WakeMask(u128);

impl WakeMask {
    pub(crate) fn one(place: usize) -> Self {
        Self(1 << (place % PLACES))
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
mod futex {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::{Instant, PLACES, WakeMask};
    use crate::transport::sys::futex;

    const PLACES_OF_A_WORD: usize = u32::BITS as usize;

    /// The wait set for Linux, with futexes that are woken by a mask. See the [module](super).
    #[derive(Debug, Default)]
    pub(crate) struct WaitSet {
        // Each counter is the futex word of 32 places. The order is `fetch_add` first, then the
        // futex call. So a waiter that has not entered the kernel yet sees a changed word and does
        // not sleep.
        counts: [AtomicU32; PLACES / PLACES_OF_A_WORD],
    }

    impl WaitSet {
        fn word(&self, place: usize) -> &AtomicU32 {
            &self.counts[place % PLACES / PLACES_OF_A_WORD]
        }

        /// Returns the wakeup counter of a place.
        pub(crate) fn count(&self, place: usize) -> u32 {
            self.word(place).load(Ordering::SeqCst)
        }

        /// Blocks until this place is woken or `deadline` passes. Returns at once if the place was
        /// woken after `count` was read.
        ///
        /// Returns false if the deadline has passed. Spurious returns are possible, because 32
        /// places share a counter.
        pub(crate) fn wait(&self, place: usize, count: u32, deadline: Option<Instant>) -> bool {
            let bit = 1 << (place % PLACES_OF_A_WORD);
            futex::wait(self.word(place), count, bit, deadline)
        }

        /// Increments the counters and wakes the waiters at these places.
        pub(crate) fn wake(&self, WakeMask(places): WakeMask) {
            for (number, count) in self.counts.iter().enumerate() {
                let bits = (places >> (number * PLACES_OF_A_WORD)) as u32;
                if bits != 0 {
                    count.fetch_add(1, Ordering::SeqCst);
                    futex::wake(count, bits);
                }
            }
        }
    }
}

#[cfg_attr(
    all(target_os = "linux", target_pointer_width = "64", not(loom)),
    cfg(test)
)]
mod portable {
    use super::{Instant, PLACES, WakeMask};
    use crate::sync::{Condvar, Mutex};

    /// The portable wait set, with a counter and a condition variable for each place. See the
    /// [module](super).
    #[derive(Debug)]
    pub(crate) struct WaitSet(Vec<(Mutex<u32>, Condvar)>);

    impl Default for WaitSet {
        fn default() -> Self {
            Self((0..PLACES).map(|_| Default::default()).collect())
        }
    }

    impl WaitSet {
        pub(crate) fn count(&self, place: usize) -> u32 {
            *self.0[place % PLACES].0.lock()
        }

        pub(crate) fn wait(&self, place: usize, seen: u32, deadline: Option<Instant>) -> bool {
            let (count, rung) = &self.0[place % PLACES];
            let mut count = count.lock();
            while *count == seen {
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return false;
                }
                count = rung.wait_until(count, deadline);
            }
            true
        }

        pub(crate) fn wake(&self, WakeMask(places): WakeMask) {
            for (place, (count, rung)) in self.0.iter().enumerate() {
                if places >> place & 1 == 1 {
                    let mut count = count.lock();
                    *count = count.wrapping_add(1);
                    drop(count);
                    rung.notify_all();
                }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Each implementation wakes exactly the intended waiters, at any place.
    macro_rules! check {
        ($bell:ty) => {
            let bell = <$bell>::default();
            let counts = [0, 31, 32, 127].map(|place| bell.count(place));
            std::thread::scope(|scope| {
                let waiting = [0, 31, 32, 127].map(|place| {
                    let bell = &bell;
                    scope
                        .spawn(move || while bell.count(place) == 0 && bell.wait(place, 0, None) {})
                });
                let mut places = WakeMask::default();
                for place in [0, 31, 32, 127] {
                    places.add(WakeMask::one(place));
                }
                bell.wake(places);
                for thread in waiting {
                    thread.join().expect("woken");
                }
            });
            assert!(bell.wait(0, counts[0], None), "it was rung meanwhile");
            let soon = Instant::now() + Duration::from_millis(5);
            while bell.wait(64, bell.count(64), Some(soon)) {}
            assert!(Instant::now() >= soon);
        };
    }

    #[test]
    fn who_waits_is_woken_and_a_deadline_ends_the_wait() {
        check!(WaitSet);
        check!(portable::WaitSet);
    }
}
