//! The store of the response cache: the cached responses, and the pending fetches. A fetch is a
//! request in flight whose response may be cached. The store does no I/O.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::sub_resource::is_part_exactly;
use crate::fallible;
use crate::schema::url::normalized;
use crate::schema::{CacheHint, method};
use crate::transport::Limits;

/// The maximum lifetime of a cached response, even if the server gives a longer lifetime.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The topic of a response or of a change: the list or the resource concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::client) enum Topic {
    Tools,
    Prompts,
    /// The list of resources and the list of resource templates.
    Resources,
    /// One resource, by its normalized URI.
    Resource(String),
}

impl Topic {
    /// Returns the topic of the responses to a list method.
    pub(in crate::client) fn of_list(method: &str) -> Self {
        match method {
            method::TOOLS_LIST => Self::Tools,
            method::PROMPTS_LIST => Self::Prompts,
            _ => Self::Resources,
        }
    }

    /// Returns the topic of a resource. Normalizes the URI.
    pub(in crate::client) fn resource(uri: &str) -> Self {
        Self::Resource(normalized(uri))
    }

    /// Whether a change of the topic `change` outdates responses about this topic. A change of a
    /// resource also outdates the parts and the parents of the resource.
    fn is_changed_by(&self, change: &Self) -> bool {
        match (self, change) {
            (Self::Resource(kept), Self::Resource(changed)) => {
                is_part_exactly(kept, changed) || is_part_exactly(changed, kept)
            }
            _ => self == change,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) server: Arc<str>,
    /// The principal that the response belongs to; `None` for a public response.
    pub(super) realm: Option<Arc<str>>,
    pub(super) request: String,
}

struct Entry {
    topic: Topic,
    text: Arc<String>,
    until: Instant,
    /// The number of the last use of this entry. The least recently used entry has the lowest
    /// number.
    used: u64,
}

/// The cached responses, and the pending fetches: the requests in flight whose responses may be
/// cached. The current time is an argument of the methods.
pub(super) struct Store {
    max_entries: usize,
    max_bytes: usize,
    entries: HashMap<Key, Entry>,
    /// The keys of all entries, in the order of their last use.
    order: BTreeMap<u64, Key>,
    /// The total bytes of the cached requests and responses.
    bytes: usize,
    /// The pending fetches by number, with their servers and topics. A fetch is removed when the
    /// server reports a change of its topic.
    fetches: HashMap<u64, (Arc<str>, Topic)>,
    last_number: u64,
}

impl Store {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            max_entries: limits.max_cached_responses,
            max_bytes: limits.max_cached_bytes,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            bytes: 0,
            fetches: HashMap::new(),
            last_number: 0,
        }
    }

    pub(super) fn is_off(&self) -> bool {
        self.max_entries == 0 || self.max_bytes == 0
    }

    /// Returns the number of cached responses, and the number of their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }

    /// Removes a pending fetch, because its response will not be cached.
    pub(super) fn give_up(&mut self, fetch: u64) {
        self.fetches.remove(&fetch);
    }

    pub(super) fn next(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn find(
        &mut self,
        server: &Arc<str>,
        realm: &Arc<str>,
        request: &str,
        now: Instant,
    ) -> Option<Arc<String>> {
        let mut key = Key {
            server: Arc::clone(server),
            realm: Some(Arc::clone(realm)),
            request: request.to_owned(),
        };
        if !self.entries.contains_key(&key) {
            key.realm = None;
        }
        let number = self.next();
        let entry = self.entries.get_mut(&key)?;
        if now >= entry.until {
            self.remove(&key);
            return None;
        }
        let text = Arc::clone(&entry.text);
        self.order.remove(&entry.used);
        entry.used = number;
        self.order.insert(number, key);
        Some(text)
    }

    pub(super) fn note(&mut self, server: Arc<str>, topic: Topic) -> u64 {
        let number = self.next();
        self.fetches.insert(number, (server, topic));
        number
    }

    pub(super) fn keep(
        &mut self,
        fetch: u64,
        mut key: Key,
        hint: &CacheHint,
        response: &str,
        now: Instant,
    ) {
        let Some((_, topic)) = self.fetches.remove(&fetch) else {
            return;
        };
        // Any earlier entry of the request is older, whether private or public.
        let everybody = Key {
            realm: None,
            ..key.clone()
        };
        self.remove(&key);
        self.remove(&everybody);
        let until = now + hint.ttl().min(MAX_TTL);
        let weight = key.request.len() + response.len();
        if until <= now || weight > self.max_bytes {
            return;
        }
        // If there is no memory for a response, the response is not cached.
        let Ok(text) = fallible::copy_text(response) else {
            return;
        };
        if hint.is_public() {
            key = everybody;
        }
        let used = self.next();
        self.order.insert(used, key.clone());
        let text = Arc::new(text);
        self.entries.insert(
            key,
            Entry {
                topic,
                text,
                until,
                used,
            },
        );
        self.bytes += weight;
        while self.entries.len() > self.max_entries || self.bytes > self.max_bytes {
            let Some((_, oldest)) = self.order.pop_first() else {
                break;
            };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes -= key.request.len() + entry.text.len();
        }
    }

    /// Removes the entries and fetches that a change on a server outdates. Without `server` the
    /// change applies to all servers. Without `change` all entries and fetches are removed.
    pub(super) fn drop_all(&mut self, server: Option<&str>, change: Option<&Topic>) {
        let is_old = |of: &str, topic: &Topic| {
            server.is_none_or(|server| server == of)
                && change.is_none_or(|change| topic.is_changed_by(change))
        };
        self.fetches.retain(|_, (of, topic)| !is_old(of, topic));
        let old: Vec<Key> = self
            .entries
            .iter()
            .filter(|(key, entry)| is_old(&key.server, &entry.topic))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &old {
            self.remove(key);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::schema::CacheScope;

    const SECOND: Duration = Duration::from_secs(1);

    struct Desk {
        store: Store,
        now: Instant,
    }

    impl Desk {
        fn new(max_entries: usize, max_bytes: usize) -> Self {
            let limits = Limits {
                max_cached_responses: max_entries,
                max_cached_bytes: max_bytes,
                ..Limits::default()
            };
            Self {
                store: Store::new(&limits),
                now: Instant::now(),
            }
        }

        fn fetch(&mut self, request: &str, topic: Topic, hint: &CacheHint, text: &str) {
            let number = self.store.note("server".into(), topic);
            self.keep(number, request, hint, text);
        }

        fn keep(&mut self, number: u64, request: &str, hint: &CacheHint, text: &str) {
            let key = Key {
                server: "server".into(),
                realm: Some("me".into()),
                request: request.to_owned(),
            };
            self.store.keep(number, key, hint, text, self.now);
        }

        fn list(&mut self, request: &str, ttl: Duration) {
            self.fetch(request, Topic::Tools, &private(ttl), "{}");
        }

        fn find(&mut self, realm: &str, request: &str) -> Option<String> {
            let found = self
                .store
                .find(&"server".into(), &realm.into(), request, self.now);
            assert_eq!(self.store.order.len(), self.store.entries.len());
            found.map(|text| text.to_string())
        }

        fn has(&mut self, request: &str) -> bool {
            self.find("me", request).is_some()
        }
    }

    fn private(ttl: Duration) -> CacheHint {
        CacheHint::new(ttl, CacheScope::Private)
    }

    // M-CACHE-C-05, M-CACHE-C-06, M-CACHE-C-07, M-CACHE-C-10, M-CACHE-C-15
    #[test]
    fn a_response_is_fresh_for_its_time_and_no_longer() {
        let mut desk = Desk::new(10, 1000);
        desk.fetch("zero", Topic::Tools, &private(Duration::ZERO), "{}");
        desk.fetch("none", Topic::Tools, &CacheHint::default(), "{}");
        desk.list("page 1", SECOND);
        desk.list("page 2", 2 * SECOND);
        let start = desk.now;
        assert!(!desk.has("zero") && !desk.has("none"));
        desk.now = start + SECOND - Duration::from_nanos(1);
        assert!(desk.has("page 1"));
        desk.now = start + SECOND;
        assert!(!desk.has("page 1") && desk.has("page 2"));
        assert_eq!(desk.store.bytes, "page 2{}".len());
    }

    // Must not happen: the cache serves stale lists, or those of another user or server.
    #[test]
    fn no_response_is_kept_longer_than_a_day() {
        let mut desk = Desk::new(10, 1000);
        desk.list("a", Duration::MAX);
        let start = desk.now;
        desk.now = start + MAX_TTL - SECOND;
        assert!(desk.has("a"));
        desk.now = start + MAX_TTL;
        assert!(!desk.has("a"));
    }

    // Seen in other SDKs: memory grows with every use.
    #[test]
    fn the_longest_unused_give_way() {
        let mut desk = Desk::new(3, 40);
        for request in ["a", "b", "c"] {
            desk.list(request, SECOND);
        }
        assert!(desk.has("a"));
        desk.list("d", SECOND);
        assert!(desk.has("a") && !desk.has("b") && desk.has("c") && desk.has("d"));
        let text = "x".repeat(34);
        desk.fetch("e", Topic::Tools, &private(SECOND), &text);
        assert!(desk.has("e") && desk.has("d") && !desk.has("a") && !desk.has("c"));
        desk.fetch("f", Topic::Tools, &private(SECOND), &"x".repeat(40));
        assert!(!desk.has("f") && desk.has("e"), "one that never fits");
        for number in 0..100_000 {
            desk.list(&number.to_string(), SECOND);
        }
        assert_eq!(
            (desk.store.entries.len(), desk.store.order.len()),
            (3, 3),
            "{}",
            desk.store.bytes
        );
        assert!(desk.store.fetches.is_empty() && desk.store.bytes <= 40);
    }

    // Must not happen: the cache serves stale lists, or those of another user or server.
    // M-CACHE-C-22
    #[test]
    fn what_was_fetched_before_a_change_is_not_kept_after_it() {
        let mut desk = Desk::new(10, 1000);
        let topics = [
            Topic::Tools,
            Topic::Prompts,
            Topic::Resources,
            Topic::Resource("file:///a/b".to_owned()),
            Topic::Resource("file:///other".to_owned()),
        ];
        let changes = [
            (Topic::Tools, vec![0]),
            (Topic::Prompts, vec![1]),
            (Topic::Resources, vec![2]),
            (Topic::Resource("file:///a/b".to_owned()), vec![3]),
            (Topic::Resource("file:///a/b/c".to_owned()), vec![3]),
            (Topic::Resource("file:///a".to_owned()), vec![3]),
            (Topic::Resource("file:///a/bc".to_owned()), vec![]),
        ];
        for (change, old) in changes {
            for (index, topic) in topics.iter().enumerate() {
                desk.fetch(
                    &format!("kept {index}"),
                    topic.clone(),
                    &private(SECOND),
                    "{}",
                );
            }
            let flying = topics
                .clone()
                .map(|topic| desk.store.note("server".into(), topic));
            desk.store.drop_all(Some("another"), Some(&change));
            assert!((0..5).all(|index| desk.has(&format!("kept {index}"))));
            desk.store.drop_all(Some("server"), Some(&change));
            for (index, number) in flying.into_iter().enumerate() {
                desk.keep(number, &format!("flying {index}"), &private(SECOND), "{}");
                let expected = !old.contains(&index);
                assert_eq!(desk.has(&format!("kept {index}")), expected, "{change:?}");
                assert_eq!(desk.has(&format!("flying {index}")), expected, "{change:?}");
            }
            desk.store.drop_all(None, None);
            assert_eq!((desk.store.bytes, desk.store.order.len()), (0, 0));
        }
    }

    // M-CACHE-C-13, M-CACHE-C-14
    #[test]
    fn what_is_private_stays_with_its_principal_and_what_is_public_does_not() {
        let mut desk = Desk::new(10, 1000);
        let public = CacheHint::new(SECOND, CacheScope::Public);
        desk.fetch("a", Topic::Tools, &private(SECOND), "mine");
        desk.fetch("b", Topic::Tools, &public, "all");
        assert_eq!(desk.find("me", "a").as_deref(), Some("mine"));
        assert_eq!(desk.find("you", "a"), None);
        assert_eq!(desk.find("you", "b").as_deref(), Some("all"));
        desk.fetch("a", Topic::Tools, &public, "all");
        assert_eq!(
            desk.find("me", "a").as_deref(),
            Some("all"),
            "the newer one"
        );
        desk.fetch("b", Topic::Tools, &private(SECOND), "mine");
        assert_eq!(desk.find("you", "b"), None, "no longer public");
    }
}
