//! States of calls that were presented, for servers that take each one once.
//!
//! A sealed state is good for its time, so that a client whose connection broke can repeat a round: what is sealed in it may then happen
//! again. Where it must not, somebody has to remember which states came. That is a [`StateStore`].
//!
//! Spec: Base Protocol, Patterns, "Multi Round-Trip Requests", "Replay" (2026-07-28).

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::shares::{Admission, Client, Shares};
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

    /// The same, with the client that presents the state: a text that is another one for each
    /// principal, or for each session or address of clients without one. A store with a bound can
    /// keep one client from filling it for all. Defaults to [`claim`](Self::claim).
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    fn claim_for(&self, client: &str, id: &str, lifetime: Duration) -> Result<bool> {
        _ = client;
        self.claim(id, lifetime)
    }
}

/// A [`StateStore`] in the memory of this process.
#[derive(Debug)]
pub struct MemoryStateStore {
    capacity: usize,
    seen: Mutex<Seen>,
}

struct Seen {
    /// Each state, and the client that presented it.
    ids: HashMap<String, Client>,
    /// The soonest to be forgotten first.
    expiry: BTreeSet<(Instant, String)>,
    /// None gives way: a state that was forgotten could be presented again.
    shares: Shares<()>,
}

impl MemoryStateStore {
    /// Remembers at most `capacity` states. While it is full of states that could still be
    /// presented, others are refused; an eighth of it is for clients that presented few.
    pub fn new(capacity: NonZeroUsize) -> Self {
        let capacity = capacity.get();
        Self {
            capacity,
            seen: Mutex::new(Seen {
                ids: HashMap::new(),
                expiry: BTreeSet::new(),
                shares: Shares::new(capacity, capacity / 2, capacity / 8),
            }),
        }
    }

    fn claim_at(&self, client: Client, id: &str, lifetime: Duration, now: Instant) -> Result<bool> {
        let mut seen = self.seen.lock();
        seen.forget(now);
        if seen.ids.contains_key(id) {
            return Ok(false);
        }
        if seen.shares.admit(&client, 1) != Admission::Granted {
            let text = format!(
                "{} states were presented that have not expired, {} of them by this client (the \
                 capacity of the MemoryStateStore is {})",
                seen.ids.len(),
                seen.shares.of(&client),
                self.capacity
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        seen.shares.take(&client, 1);
        let until = now + lifetime.min(CENTURY);
        seen.ids.insert(id.to_owned(), client);
        seen.expiry.insert((until, id.to_owned()));
        Ok(true)
    }
}

impl Seen {
    fn forget(&mut self, now: Instant) {
        while self.expiry.first().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, id)) = self.expiry.pop_first()
                && let Some(client) = self.ids.remove(&id)
            {
                self.shares.give_back(&client, 1);
            }
        }
    }
}

/// Ten thousand states.
impl Default for MemoryStateStore {
    fn default() -> Self {
        Self::new(NonZeroUsize::new(10_000).expect("not zero"))
    }
}

impl StateStore for MemoryStateStore {
    fn claim(&self, id: &str, lifetime: Duration) -> Result<bool> {
        self.claim_for("", id, lifetime)
    }

    fn claim_for(&self, client: &str, id: &str, lifetime: Duration) -> Result<bool> {
        let client = Client::Principal(client.into());
        self.claim_at(client, id, lifetime, Instant::now())
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

    fn client(name: &str) -> Client {
        Client::Principal(name.into())
    }

    #[test]
    fn one_client_does_not_fill_the_store_for_others() {
        let store = MemoryStateStore::new(NonZeroUsize::new(16).expect("not zero"));
        let life = Duration::from_secs(10);
        let claim = |by: &str, id: usize| store.claim_for(by, &id.to_string(), life);
        let taken = (0..20).filter(|id| claim("greedy", *id).is_ok()).count();
        assert_eq!(taken, 14);
        assert!(claim("other", 100).expect("a place"));
        assert!(!claim("greedy", 100).expect("known"));
    }

    // Must not happen: a state is presented twice, and its effects happen twice.
    // M-MRTR-S-14
    #[test]
    fn a_state_is_claimed_once_in_its_life_and_a_full_store_says_so() {
        let store = MemoryStateStore::new(NonZeroUsize::new(2).expect("two"));
        let start = Instant::now();
        let claim = |id, after| {
            let now = start + Duration::from_secs(after);
            store.claim_at(client("ann"), id, Duration::from_secs(10), now)
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
            store.claim_at(client("ann"), "d", Duration::MAX, now)
        };
        assert!(for_good(20).expect("room"));
        assert!(!for_good(1_000_000_000).expect("known"));
    }
}
