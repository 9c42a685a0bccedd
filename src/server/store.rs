//! States of calls that were presented, for servers that take each one once.
//!
//! A sealed state is good for its time, so that a client whose connection broke can repeat a round: what is sealed in it may then happen
//! again. Where it must not, somebody has to remember which states came. That is a [`StateStore`].
//!
//! Spec: Base Protocol, Patterns, "Multi Round-Trip Requests", "Replay" (2026-07-28).

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use crate::transport::clock::CENTURY;

/// Remembers which states of calls were presented. See [`ServerBuilder::state_store`](super::ServerBuilder::state_store).
///
/// Replicas that serve the same clients need one that they share, such as a database: "set if not there, with this time to live".
pub trait StateStore: Send + Sync {
    /// Notes that the state `id` is presented, and says whether that is the first time.
    ///
    /// `id` is 32 letters, digits, `-` and `_`. It has to be remembered for `lifetime`; the state is worth nothing after it. Of two calls at the
    /// same time one must get `false`. Runs on the thread of the call, which waits for it.
    ///
    /// # Errors
    ///
    /// When it can't be known. The state is refused then.
    fn claim(&self, id: &str, lifetime: Duration) -> Result<bool>;
}

/// A [`StateStore`] in the memory of this process.
#[derive(Debug)]
pub struct MemoryStateStore {
    capacity: usize,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    /// The soonest to be forgotten first.
    expiry: BTreeSet<(Instant, String)>,
}

impl MemoryStateStore {
    /// Remembers at most `capacity` states. While it is full of states that could still be presented, others are refused.
    pub fn new(capacity: NonZeroUsize) -> Self {
        Self {
            capacity: capacity.get(),
            seen: Mutex::default(),
        }
    }

    fn claim_at(&self, id: &str, lifetime: Duration, now: Instant) -> Result<bool> {
        let mut seen = self.seen.lock();
        seen.forget(now);
        if seen.ids.contains(id) {
            return Ok(false);
        }
        if seen.ids.len() >= self.capacity {
            let text = format!(
                "{} states were presented that have not expired (the capacity of the MemoryStateStore)",
                self.capacity
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let until = now + lifetime.min(CENTURY);
        seen.ids.insert(id.to_owned());
        seen.expiry.insert((until, id.to_owned()));
        Ok(true)
    }
}

impl Seen {
    fn forget(&mut self, now: Instant) {
        while self.expiry.first().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, id)) = self.expiry.pop_first() {
                self.ids.remove(&id);
            }
        }
    }
}

/// Ten thousand states.
impl Default for MemoryStateStore {
    fn default() -> Self {
        Self {
            capacity: 10_000,
            seen: Mutex::default(),
        }
    }
}

impl StateStore for MemoryStateStore {
    fn claim(&self, id: &str, lifetime: Duration) -> Result<bool> {
        self.claim_at(id, lifetime, Instant::now())
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen")
            .field("ids", &self.ids.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // Lesson 12.5, M-MRTR-S-14
    #[test]
    fn a_state_is_claimed_once_in_its_life_and_a_full_store_says_so() {
        let store = MemoryStateStore::new(NonZeroUsize::new(2).expect("two"));
        let start = Instant::now();
        let claim = |id, after| {
            let now = start + Duration::from_secs(after);
            store.claim_at(id, Duration::from_secs(10), now)
        };
        assert!(claim("a", 0).expect("room"));
        assert!(!claim("a", 9).expect("known"));
        assert!(claim("b", 9).expect("room"));
        let error = claim("c", 9).expect_err("full");
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(claim("c", 10).expect("room, since a has expired"));
        assert!(!claim("b", 18).expect("known"));
        assert!(claim("a", 20).expect("forgotten"));
        assert_eq!(store.seen.lock().ids.len(), 1);
        let for_good = |after| {
            let now = start + Duration::from_secs(after);
            store.claim_at("d", Duration::MAX, now)
        };
        assert!(for_good(20).expect("room"));
        assert!(!for_good(1_000_000_000).expect("known"));
    }
}
