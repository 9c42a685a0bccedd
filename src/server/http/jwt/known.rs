//! A cache of verified access tokens.
//!
//! A client sends its token with every request, and verifying the signature takes several times as
//! long as serving a simple request. The cache stores the digest and the claims of a token, not the
//! token itself.

use std::collections::HashMap;
use std::sync::Arc;

use ring::digest::{SHA256, digest};

use super::claims::Claims;
use super::jwk::Key;
use crate::sync::Mutex;

/// The maximum number of tokens in each of the two halves of the cache.
const FEW: usize = 512;
/// The maximum length of cached claims, in bytes. Longer claims are not cached.
const LONG: usize = 4 << 10;

/// The digest of an access token.
pub(super) type Mark = [u8; 32];

/// An access token whose signature was verified.
pub(super) struct Good {
    /// The id of the key that the token names. `None` if the token names no key.
    pub(super) key: Option<String>,
    /// The issuer's key set that contains the signing key. When the issuer has another key set, the
    /// token must be verified again.
    pub(super) keys: Arc<Vec<Key>>,
    pub(super) claims: Claims,
    /// The claims of the token, as JSON text.
    pub(super) text: Vec<u8>,
}

/// The cache of verified access tokens.
#[derive(Default)]
pub(super) struct Known(Mutex<Generations>);

/// The two halves of the cache. When the newer half is full, it replaces the older half. A token
/// that is used again moves to the newer half.
#[derive(Default)]
struct Generations {
    newer: HashMap<Mark, Arc<Good>>,
    older: HashMap<Mark, Arc<Good>>,
}

pub(super) fn mark(token: &str) -> Mark {
    let mut mark = Mark::default();
    mark.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    mark
}

impl Known {
    pub(super) fn find(&self, mark: &Mark) -> Option<Arc<Good>> {
        let mut halves = self.0.lock();
        if let Some(good) = halves.newer.get(mark) {
            return Some(Arc::clone(good));
        }
        let good = halves.older.remove(mark)?;
        halves.keep(*mark, Arc::clone(&good));
        Some(good)
    }

    pub(super) fn note(&self, mark: Mark, good: &Arc<Good>) {
        if good.text.len() <= LONG {
            self.0.lock().keep(mark, Arc::clone(good));
        }
    }
}

impl Generations {
    fn keep(&mut self, mark: Mark, good: Arc<Good>) {
        if self.newer.len() >= FEW {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(mark, good);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn good() -> Arc<Good> {
        let claims = serde_json::from_str("{}").expect("claims");
        let (key, keys, text) = (None, Arc::default(), Vec::new());
        Arc::new(Good {
            key,
            keys,
            claims,
            text,
        })
    }

    #[test]
    fn the_last_ones_are_known_and_no_more_than_a_bound() {
        let known = Known::default();
        let name = |n: usize| mark(&n.to_string());
        for n in 0..FEW * 5 {
            known.note(name(n), &good());
            // A token that is used again and again stays cached.
            assert!(known.find(&name(0)).is_some(), "{n}");
            let halves = known.0.lock();
            assert!(halves.newer.len() <= FEW && halves.older.len() <= FEW);
        }
        assert!((FEW * 4 + 2..FEW * 5).all(|n| known.find(&name(n)).is_some()));
        assert!((1..FEW * 3).all(|n| known.find(&name(n)).is_none()));
        let mut long = good();
        Arc::get_mut(&mut long).expect("one").text = vec![0; LONG + 1];
        known.note(mark("long"), &long);
        assert!(known.find(&mark("long")).is_none());
    }
}
