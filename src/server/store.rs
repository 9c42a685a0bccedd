//! Stores that make sealed states usable only once.
//!
//! A sealed state is valid until it expires, so that a client whose connection broke can send its
//! answers again. The effects of the handler may then happen twice. A [`StateStore`] remembers
//! which states clients have presented, and so prevents a replay.
//!
//! Spec: Base Protocol, Patterns, "Multi Round-Trip Requests", "Replay" (2026-07-28).

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use super::debug_fields::debug_fields;
use crate::error::{Error, ErrorKind, Result};
use crate::shares::{Admission, Client, Shares};
use crate::sync::Mutex;
use crate::transport::Limits;
use crate::transport::clock::CENTURY;

/// A store that remembers which sealed states clients have presented. See
/// [`ServerBuilder::state_store`](super::ServerBuilder::state_store).
///
/// Replicas that serve the same clients need one shared store, such as a database with "set if
/// absent, with a time to live".
pub trait StateStore: Send + Sync {
    /// Records that a client presents the sealed state with this id. Returns whether the state is
    /// presented for the first time.
    ///
    /// `id` consists of 32 letters, digits, `-` and `_`. The id must be remembered for `lifetime`;
    /// after this time the state has expired. Of two concurrent calls for one id, only one call may
    /// return `true`. The function runs on the thread of the client's call, which it may block.
    ///
    /// # Errors
    ///
    /// An error when the store can't tell whether the state was presented before. The state is then
    /// refused.
    fn claim(&self, id: &str, lifetime: Duration) -> Result<bool>;

    /// Records that `client` presents the sealed state with this id. Returns whether the state is
    /// presented for the first time.
    ///
    /// `client` is a text that identifies the principal. Without a principal, the text identifies
    /// the session, address or connection. A store with a capacity can use `client` to keep one
    /// client from filling the store. The default implementation calls [`claim`](Self::claim).
    ///
    /// # Errors
    ///
    /// The errors of [`claim`](Self::claim).
    fn claim_for(&self, client: &str, id: &str, lifetime: Duration) -> Result<bool> {
        _ = client;
        self.claim(id, lifetime)
    }
}

/// A [`StateStore`] in the memory of this process. The default capacity is 10,000 states.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use mcplink::server::{MemoryStateStore, Server};
///
/// // Each state takes a place until it expires (`ServerBuilder::state_lifetime`).
/// let states = NonZeroUsize::new(100_000).expect("not zero");
/// let server = Server::builder("shop", "1.0")
///     .state_store(MemoryStateStore::new(states).part_percent(10))
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Debug)]
pub struct MemoryStateStore {
    capacity: usize,
    /// The settings for the clients' shares of the capacity.
    limits: Limits,
    seen: Mutex<Seen>,
}

struct Seen {
    /// The clients that presented states, by the ids of the states.
    ids: HashMap<String, Client>,
    /// The expiry times and ids of the presented states, the earliest first.
    expiry: BTreeSet<(Instant, String)>,
    /// Each client's share of the capacity. No state is evicted to make room: an evicted state
    /// could be presented again.
    shares: Shares<()>,
}

impl MemoryStateStore {
    /// Creates a store for at most `capacity` states.
    ///
    /// While the store is full of states that have not expired, further states are refused. A part
    /// of the capacity is reserved for clients that have presented few states.
    pub fn new(capacity: NonZeroUsize) -> Self {
        Self::with(capacity.get(), Limits::default())
    }

    fn with(capacity: usize, limits: Limits) -> Self {
        let (part, reserve) = (limits.part_of(capacity), limits.reserve_of(capacity));
        Self {
            capacity,
            limits,
            seen: Mutex::new(Seen {
                ids: HashMap::new(),
                expiry: BTreeSet::new(),
                shares: Shares::new(capacity, part, reserve),
            }),
        }
    }

    /// Sets the maximum share of the capacity with which a client may still use the reserve, in
    /// percent. Defaults to 50. See [`reserve_percent`](Self::reserve_percent). This function
    /// forgets all states, so call it before the store is used.
    pub fn part_percent(mut self, percent: usize) -> Self {
        self.limits.part_percent = percent;
        Self::with(self.capacity, self.limits)
    }

    /// Sets the part of the capacity that is reserved for clients that have presented few states,
    /// in percent. Defaults to 12; with 0 nothing is reserved. This function forgets all states, so
    /// call it before the store is used.
    pub fn reserve_percent(mut self, percent: usize) -> Self {
        self.limits.reserve_percent = percent;
        Self::with(self.capacity, self.limits)
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

/// Implements `Default`: the default capacity is 10,000 states.
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

debug_fields!(Seen, ids = |it| it.ids.len());

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

    #[test]
    fn the_part_and_the_reserve_are_settings() {
        let store = MemoryStateStore::new(NonZeroUsize::new(20).expect("not zero"));
        let store = store.part_percent(10).reserve_percent(50);
        let life = Duration::from_secs(10);
        let claims = |by: &str| {
            let ids = (0..20).map(|id| format!("{by}{id}"));
            ids.filter(|id| store.claim_for(by, id, life).is_ok())
                .count()
        };
        assert_eq!((claims("first"), claims("second")), (10, 2));
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
