//! The credentials that the server accepted recently.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use crate::protocol::principal::Principal;
use crate::sync::Mutex;
use crate::transport::http::HttpRequest;

/// The maximum number of entries in one generation of the credentials cache. The cache has two
/// generations.
const REMEMBERED: usize = 4096;

/// The header fields for credentials. If a request has several of them, only the first in this list
/// counts.
const CREDENTIALS: [&str; 3] = ["Authorization", "X-Api-Key", "Cookie"];

/// A cache of recently accepted credentials and their principals. Only a keyed hash of the
/// credentials is stored.
#[derive(Debug, Default)]
pub(super) struct Verified {
    keys: RandomState,
    generations: Mutex<Generations>,
}

/// The two generations of the credentials cache. When the recent generation is full, it replaces
/// the older generation, whose entries are dropped.
#[derive(Debug, Default)]
struct Generations {
    recent: HashMap<u64, Arc<str>>,
    older: HashMap<u64, Arc<str>>,
}

impl Verified {
    fn hash(&self, request: &HttpRequest<'_>) -> Option<u64> {
        let of_field = |name: &&str| {
            let mut values = request.values(name).peekable();
            values.peek()?;
            let mut hasher = self.keys.build_hasher();
            name.hash(&mut hasher);
            values.for_each(|value| value.hash(&mut hasher));
            Some(hasher.finish())
        };
        CREDENTIALS.iter().find_map(of_field)
    }

    /// Records that the credentials of a request were accepted.
    pub(super) fn remember(&self, request: &HttpRequest<'_>, principal: &Principal) {
        let Some(hash) = self.hash(request) else {
            return;
        };
        let mut generations = self.generations.lock();
        let known = generations.recent.get(&hash);
        if known.is_some_and(|name| **name == *principal.name()) {
            return;
        }
        if generations.recent.len() >= REMEMBERED {
            generations.older = std::mem::take(&mut generations.recent);
        }
        generations.recent.insert(hash, principal.name().into());
    }

    /// Returns the principal of a request's credentials, if the credentials were accepted recently.
    pub(super) fn find(&self, request: &HttpRequest<'_>) -> Option<Arc<str>> {
        let hash = self.hash(request)?;
        let generations = self.generations.lock();
        let Generations { recent, older } = &*generations;
        recent.get(&hash).or_else(|| older.get(&hash)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_once_they_were_verified_and_not_for_ever() {
        let verified = Verified::default();
        let with = |token: String, check: &dyn Fn(&HttpRequest<'_>)| {
            let headers = [("authorization", token.as_bytes()), ("cookie", &b"c"[..])];
            check(&HttpRequest::new("POST", "/").headers(&headers));
        };
        let remember = |token: String, name: &str| {
            with(token, &|request| {
                verified.remember(request, &Principal::new(name));
            });
        };
        let check = |token: &str, expected: Option<&str>| {
            with(token.to_owned(), &|request| {
                assert_eq!(verified.find(request).as_deref(), expected);
            });
        };
        check("a", None);
        remember("a".to_owned(), "ada");
        check("a", Some("ada"));
        check("b", None);
        remember("a".to_owned(), "bob");
        check("a", Some("bob"));
        assert_eq!(verified.find(&HttpRequest::new("POST", "/")), None);
        for number in 0..2 * REMEMBERED {
            remember(number.to_string(), "many");
        }
        check("a", None);
        let generations = verified.generations.lock();
        assert!(generations.recent.len() + generations.older.len() <= 2 * REMEMBERED);
    }
}
