//! The keys of an issuer, fetched on demand and cached.
//!
//! **Threads.** One thread at a time fetches keys, without holding the lock. A request whose key is
//! known continues during the fetch. Other requests wait for the end of the fetch. When the fetch
//! has taken [`PATIENCE`], these requests are refused with "try again later". So neither made-up
//! tokens nor a slow issuer can block all threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::discovery::Way;
use super::jwk::{Key, read_keys};
use crate::error::Result;
use crate::sync::{Condvar, Mutex};

/// The maximum time that a request waits for a key fetch of another thread, counted from the start
/// of the fetch.
const PATIENCE: Duration = Duration::from_secs(1);
/// The maximum age of keys when no newer keys can be fetched. Older keys are not used, because the
/// issuer may have revoked a key since the last fetch.
const TOO_OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// A function that returns the text of a key set. It may do network I/O.
pub(super) type Source = Box<dyn Fn(&Way) -> Result<String> + Send + Sync>;

pub(super) struct Keys {
    source: Source,
    pub(super) way: Way,
    pub(super) max_age: Duration,
    /// The minimum time between two fetches of the issuer's keys.
    pub(super) min_interval: Duration,
    state: Mutex<State>,
    fetched: Condvar,
}

#[derive(Default)]
struct State {
    keys: Arc<Vec<Key>>,
    /// When the issuer's keys in `keys` were fetched.
    since: Option<Instant>,
    /// When the last fetch ended. `failure` is the error of that fetch, if it failed.
    tried: Option<Instant>,
    failure: Option<String>,
    /// When the current fetch began; `None` when there is no fetch.
    fetching: Option<Instant>,
}

/// The result of a search for the keys that may verify a signature.
pub(super) enum KeyLookup {
    Keys(Arc<Vec<Key>>),
    /// The issuer has no key with this id.
    Unknown,
    /// The issuer's keys can't be fetched.
    Unavailable(String),
}

impl Keys {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            way: Way::default(),
            max_age: Duration::from_secs(60 * 60),
            min_interval: Duration::from_secs(10),
            state: Mutex::default(),
            fetched: Condvar::new(),
        }
    }

    /// Finds the keys that may have signed a token. `id` is the key id in the token, if any.
    /// Fetches the issuer's keys if the cached keys are old or lack the id.
    ///
    /// A key may have signed the token if the ids are equal, or if the key or the token has no id.
    /// If the issuer has such a key, returns all keys of the issuer. The caller tries each key that
    /// may have signed the token.
    pub(super) fn find(&self, id: Option<&str>) -> KeyLookup {
        self.find_but(None, id)
    }

    /// Returns keys that are newer than the keys `than`, if there are any. Fetches the issuer's
    /// keys if `min_interval` allows a fetch.
    pub(super) fn find_newer(&self, than: &Arc<Vec<Key>>) -> Option<Arc<Vec<Key>>> {
        match self.find_but(Some(than), None) {
            KeyLookup::Keys(keys) if !Arc::ptr_eq(&keys, than) => Some(keys),
            _ => None,
        }
    }

    /// Finds keys as [`find`](Self::find) does. If the cached keys are `old`, first tries to fetch
    /// newer keys.
    fn find_but(&self, old: Option<&Arc<Vec<Key>>>, id: Option<&str>) -> KeyLookup {
        let mut may_fetch = true;
        loop {
            let mut state = self.state.lock();
            let is_old = old.is_some_and(|old| Arc::ptr_eq(old, &state.keys));
            let is_known = state.knows(id) && !is_old;
            let age = state.since.map(|since| since.elapsed());
            let is_fresh = age.is_some_and(|age| age < self.max_age);
            let pause = state.tried.map(|tried| tried.elapsed());
            let rests = pause.is_some_and(|pause| pause < self.min_interval);
            let may_try = may_fetch && !rests;
            if is_known && (is_fresh || state.fetching.is_some() || !may_try) {
                return KeyLookup::Keys(Arc::clone(&state.keys));
            }
            let ends = state.fetching.map(|began| began + PATIENCE);
            if ends.is_some_and(|end| Instant::now() < end) {
                // The keys of the other fetch will be new enough, so this thread does not fetch
                // again.
                may_fetch = false;
                drop(self.fetched.wait_until(state, ends));
                continue;
            }
            if state.fetching.is_some() || !may_try {
                return match &state.failure {
                    _ if state.may_know() => KeyLookup::Keys(Arc::clone(&state.keys)),
                    Some(why) => KeyLookup::Unavailable(why.clone()),
                    None => KeyLookup::Unknown,
                };
            }
            state.fetching = Some(Instant::now());
            // This text is used until the fetch ends, and if the source panics.
            state.failure = Some("the issuer's keys have not come yet".to_owned());
            drop(state);
            self.fetch();
            may_fetch = false;
        }
    }

    fn fetch(&self) {
        // The source may be the host's code, and may panic.
        let over = FetchGuard(self);
        let came = (self.source)(&self.way).and_then(|text| read_keys(&text));
        let mut state = self.state.lock();
        match came {
            Ok(keys) => {
                state.keys = Arc::new(keys);
                state.since = Some(Instant::now());
                state.failure = None;
            }
            Err(error) => state.failure = Some(error.to_string()),
        }
        drop(state);
        drop(over);
    }
}

impl State {
    fn knows(&self, id: Option<&str>) -> bool {
        !self.is_too_old()
            && match id {
                Some(id) => self.keys.iter().any(|key| key.id.as_deref() == Some(id)),
                None => !self.keys.is_empty(),
            }
    }

    /// Returns whether a key of the cached key set has no id, so that it may be the key of any
    /// token. Returns `false` if the key set is too old.
    fn may_know(&self) -> bool {
        !self.is_too_old() && self.keys.iter().any(|key| key.id.is_none())
    }

    fn is_too_old(&self) -> bool {
        self.since.is_none_or(|since| since.elapsed() >= TOO_OLD)
    }
}

/// A guard that ends the current key fetch when the guard is dropped, even after a panic. The end
/// of the fetch wakes the waiting requests.
struct FetchGuard<'a>(&'a Keys);

impl Drop for FetchGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.fetching = None;
        state.tried = Some(Instant::now());
        drop(state);
        self.0.fetched.notify_all();
    }
}
