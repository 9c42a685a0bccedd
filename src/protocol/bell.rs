//! Where the callers of a connection wait, and how several are woken at once.
//!
//! A wake by itself is a question to the system, and the thread that it wakes often takes the place of the one that asked: with many callers that
//! is two changes of threads for each answer. Whoever reads for many rings once for all whose answers it has read.
//!
//! **Invariant:** who waits has looked at its count ([`Bell::count`]) before it made known that it waits, and whoever rings for a place has seen
//! that, and changes the count first. So the wait does not begin, or it is ended.

use std::time::Instant;

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
pub(crate) use self::futex::Bell;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(loom))))]
pub(crate) use self::portable::Bell;

/// How many places there are. Who shares one is woken together, and looks whether it was meant.
#[cfg(not(loom))]
pub(crate) const PLACES: usize = 128;
#[cfg(loom)]
pub(crate) const PLACES: usize = 2;

/// Places that are to be rung for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places(u128);

impl Places {
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

    use super::{Instant, PLACES, Places};
    use crate::transport::sys::futex;

    const PLACES_OF_A_WORD: usize = u32::BITS as usize;

    /// See the [module](super).
    #[derive(Debug, Default)]
    pub(crate) struct Bell {
        counts: [AtomicU32; PLACES / PLACES_OF_A_WORD],
    }

    impl Bell {
        fn word(&self, place: usize) -> &AtomicU32 {
            &self.counts[place % PLACES / PLACES_OF_A_WORD]
        }

        /// How often was rung.
        pub(crate) fn count(&self, place: usize) -> u32 {
            self.word(place).load(Ordering::SeqCst)
        }

        /// Waits until it is rung for this place, unless it was since the count, or until `deadline`. Returns false when that has passed. It may
        /// return early.
        pub(crate) fn wait(&self, place: usize, count: u32, deadline: Option<Instant>) -> bool {
            let bit = 1 << (place % PLACES_OF_A_WORD);
            futex::wait(self.word(place), count, bit, deadline)
        }

        /// Wakes who waits at these places.
        pub(crate) fn ring(&self, Places(places): Places) {
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
    use super::{Instant, PLACES, Places};
    use crate::sync::{Condvar, Mutex};

    /// See the [module](super): one condition for each place.
    #[derive(Debug)]
    pub(crate) struct Bell(Vec<(Mutex<u32>, Condvar)>);

    impl Default for Bell {
        fn default() -> Self {
            Self((0..PLACES).map(|_| Default::default()).collect())
        }
    }

    impl Bell {
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

        pub(crate) fn ring(&self, Places(places): Places) {
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

    /// Each implementation wakes those who are meant, whatever their places.
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
                let mut places = Places::default();
                for place in [0, 31, 32, 127] {
                    places.add(Places::one(place));
                }
                bell.ring(places);
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
        check!(Bell);
        check!(portable::Bell);
    }
}
