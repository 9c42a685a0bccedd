//! The keys of an issuer, fetched when they are needed and kept for a while.
//!
//! **Threads.** One thread fetches at a time, without a lock. Whoever knows the key that it needs goes on meanwhile; others wait until the fetch
//! has taken [`PATIENCE`], and are told to come again from then on: whatever tokens name, and however long the issuer takes, there are threads
//! for those that can be served.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::discovery::Way;
use super::jwk::{Key, read_keys};
use crate::error::Result;
use crate::sync::{Condvar, Mutex};

/// So long after a fetch has begun requests wait for the keys that another one fetches.
const PATIENCE: Duration = Duration::from_secs(1);
/// So long keys are used when no newer ones can be had: their issuer may have taken one back since.
const TOO_OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// Gives the text of a key set, which may be fetched.
pub(super) type Source = Box<dyn Fn(&Way) -> Result<String> + Send + Sync>;

pub(super) struct Keys {
    source: Source,
    pub(super) way: Way,
    pub(super) max_age: Duration,
    /// So often keys are fetched at most, whatever tokens name.
    pub(super) min_interval: Duration,
    state: Mutex<State>,
    fetched: Condvar,
}

#[derive(Default)]
struct State {
    keys: Arc<Vec<Key>>,
    /// When these keys came.
    since: Option<Instant>,
    /// When the last try ended, and what came of it.
    tried: Option<Instant>,
    failure: Option<String>,
    /// When the fetch that is on its way has begun.
    fetching: Option<Instant>,
}

/// What there is to check a signature with.
pub(super) enum Found {
    Keys(Arc<Vec<Key>>),
    /// The issuer has no such key.
    Unknown,
    /// Its keys can't be had.
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

    /// The keys among which the one of this id is, or among which all have to be tried.
    pub(super) fn find(&self, id: Option<&str>) -> Found {
        self.find_but(None, id)
    }

    /// Newer keys than these, none of which is the one of a token that names none: fetched, if it is time for that.
    pub(super) fn find_newer(&self, than: &Arc<Vec<Key>>) -> Option<Arc<Vec<Key>>> {
        match self.find_but(Some(than), None) {
            Found::Keys(keys) if !Arc::ptr_eq(&keys, than) => Some(keys),
            _ => None,
        }
    }

    /// Keys, but not these if there are newer ones.
    fn find_but(&self, old: Option<&Arc<Vec<Key>>>, id: Option<&str>) -> Found {
        let mut may_fetch = true;
        loop {
            let mut state = self.state.lock();
            let is_old = old.is_some_and(|old| Arc::ptr_eq(old, &state.keys));
            let is_known = state.knows(id) && !is_old;
            let age = state.since.map(|since| since.elapsed());
            let is_fresh = age.is_some_and(|age| age < self.max_age);
            let rests = state
                .tried
                .is_some_and(|tried| tried.elapsed() < self.min_interval);
            let may_try = may_fetch && !rests;
            if is_known && (is_fresh || state.fetching.is_some() || !may_try) {
                return Found::Keys(Arc::clone(&state.keys));
            }
            let ends = state.fetching.map(|began| began + PATIENCE);
            if ends.is_some_and(|end| Instant::now() < end) {
                // What comes is as new as what this thread would fetch.
                may_fetch = false;
                drop(self.fetched.wait_until(state, ends));
                continue;
            }
            if state.fetching.is_some() || !may_try {
                return match &state.failure {
                    _ if state.may_know() => Found::Keys(Arc::clone(&state.keys)),
                    Some(why) => Found::Unavailable(why.clone()),
                    None => Found::Unknown,
                };
            }
            state.fetching = Some(Instant::now());
            // Until they are there, or when the source panics.
            state.failure = Some("the issuer's keys have not come yet".to_owned());
            drop(state);
            self.fetch();
            may_fetch = false;
        }
    }

    fn fetch(&self) {
        // The source may be the host's, and panic.
        let over = Over(self);
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

    /// Whether one of the keys has no id: it may be the one that is meant.
    fn may_know(&self) -> bool {
        !self.is_too_old() && self.keys.iter().any(|key| key.id.is_none())
    }

    fn is_too_old(&self) -> bool {
        self.since.is_none_or(|since| since.elapsed() >= TOO_OLD)
    }
}

/// Whatever became of it, the fetching is over.
struct Over<'a>(&'a Keys);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.fetching = None;
        state.tried = Some(Instant::now());
        drop(state);
        self.0.fetched.notify_all();
    }
}
