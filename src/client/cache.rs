//! Responses that need not be asked for again: lists and resources, for as long as the server says with `ttlMs`.
//!
//! ```text
//!  look up ──▶ found and fresh ──▶ given, nothing is sent
//!         ╰──▶ missing ──▶ fetch noted ──▶ request ──▶ response ──▶ kept, if the fetch is still noted
//!                                   ╰── a change is told meanwhile: struck out
//! ```
//!
//! **Key.** A response belongs to a server, a request (method and params, a page's cursor too) and, unless it is public, to one principal.
//! A server is the same when it is reached at the same address, speaks the same revision and says the same of itself: what was kept of one
//! is not given for its successor.
//!
//! **Invariant:** a fetch is noted from before its request is sent until its response is kept or given up. Whatever a change drops, it
//! strikes out, under the same lock, among the fetches too. Changes are looked at where they are read, before what came behind them. So no
//! response that was made before a change is kept after the change was told.
//!
//! **Locks:** the store's, and a client's `place`, never both. Nothing is sent and no user code runs under either.
//!
//! Spec: Server Features, Utilities, "Caching" (2026-07-28).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::ServerDescription;
use super::envelope::Envelope;
use super::subscription::is_part;
use crate::protocol::{Handlers, Stats};
use crate::schema::{CacheHint, JsonObject, ResourceUpdatedNotificationParams, meta_key, method};
use crate::sync::Mutex;
use crate::transport::Limits;

/// No response is kept longer, whatever its server says.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// Keeps the responses that servers let be kept, for one client or for several.
///
/// Every client has one of its own. To share one, give it to several with [`ClientBuilder::cache`](super::ClientBuilder::cache): what a
/// server calls public is then given to all clients that reach the same server, at the same address; what is private only to those with
/// the same [principal](Self::for_principal) and the same capabilities. Clones share what is kept.
///
/// A response is dropped when its time is over, when the server tells of a change, when the connection to the server is lost, and, the
/// longest unused first, above [`max_cached_responses`](Limits::max_cached_responses) or [`max_cached_bytes`](Limits::max_cached_bytes).
///
/// Spec: Server Features, Utilities, "Caching" (2026-07-28).
///
/// # Examples
///
/// ```
/// use mcplink::client::{Client, ResponseCache};
/// use mcplink::transport::Limits;
///
/// let cache = ResponseCache::new(&Limits::default());
/// let for_alice = Client::builder("host", "1.0").cache(&cache.for_principal("alice"));
/// let for_bob = Client::builder("host", "1.0").cache(&cache.for_principal("bob"));
/// ```
#[derive(Clone)]
pub struct ResponseCache {
    store: Arc<Mutex<Store>>,
    principal: Option<Arc<str>>,
}

impl ResponseCache {
    /// Keeps nothing yet, and never more than these limits allow.
    pub fn new(limits: &Limits) -> Self {
        Self {
            store: Arc::new(Mutex::new(Store::new(limits))),
            principal: None,
        }
    }

    /// The same cache on behalf of a user. Clients of one principal share what is private, those of different ones never do. Without a
    /// principal each client has its private responses for itself.
    ///
    /// Any name will do that tells users apart. Of a token use a digest, not the token itself.
    pub fn for_principal(&self, principal: impl Into<String>) -> Self {
        Self {
            store: Arc::clone(&self.store),
            principal: Some(principal.into().into()),
        }
    }

    /// Drops everything, of all servers and principals.
    pub fn clear(&self) {
        self.store.lock().drop_all(None, None);
    }
}

impl fmt::Debug for ResponseCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = self.store.lock();
        f.debug_struct("ResponseCache")
            .field("principal", &self.principal)
            .field("responses", &store.entries.len())
            .field("bytes", &store.bytes)
            .finish_non_exhaustive()
    }
}

/// What a response tells about, and what a change is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Tools,
    Prompts,
    /// Resources and templates that there are.
    Resources,
    /// What one resource holds.
    Resource(String),
}

impl Topic {
    /// What a method that lists tells about.
    pub(super) fn of_list(method: &str) -> Self {
        match method {
            method::TOOLS_LIST => Self::Tools,
            method::PROMPTS_LIST => Self::Prompts,
            _ => Self::Resources,
        }
    }

    /// Whether a response about `self` is old after this change. Of a resource, that of a part or of the whole is one too.
    fn is_changed_by(&self, change: &Self) -> bool {
        match (self, change) {
            (Self::Resource(kept), Self::Resource(changed)) => {
                is_part(kept, changed) || is_part(changed, kept)
            }
            _ => self == change,
        }
    }
}

/// The cache as one client sees it.
pub(super) struct ClientCache {
    cache: ResponseCache,
    /// Tells the client from all others that share the cache.
    number: u64,
    /// Known from the opening of the connection on.
    place: Mutex<Option<Place>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Who answers, and on whose behalf it was asked.
#[derive(Clone)]
struct Place {
    server: Arc<str>,
    realm: Arc<str>,
}

/// What was found for a request.
pub(super) enum Looked {
    /// The result, as JSON text.
    Found(Arc<str>),
    /// It has to be asked for.
    Missing(Fetch),
}

impl ClientCache {
    pub(super) fn new(cache: ResponseCache) -> Self {
        let number = cache.store.lock().next();
        Self {
            cache,
            number,
            place: Mutex::new(None),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Looks at the notifications that tell of changes, where they are read.
    pub(super) fn listen_in(self: &Arc<Self>, handlers: Handlers) -> Handlers {
        let this = Arc::clone(self);
        let handlers = handlers.farewell(move |peer| {
            if !peer.core().is_closing() {
                this.empty();
            }
        });
        let lists = [
            (method::NOTIFICATIONS_TOOLS_LIST_CHANGED, Topic::Tools),
            (method::NOTIFICATIONS_PROMPTS_LIST_CHANGED, Topic::Prompts),
            (
                method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
                Topic::Resources,
            ),
        ];
        let handlers = lists.into_iter().fold(handlers, |handlers, (name, topic)| {
            let this = Arc::clone(self);
            handlers.quick_notification(name, move |_, _| this.changed(Some(&topic)))
        });
        let this = Arc::clone(self);
        handlers.quick_notification(
            method::NOTIFICATIONS_RESOURCES_UPDATED,
            move |_, notification| {
                // One that names no resource says nothing.
                if let Ok(params) =
                    serde_json::from_str::<ResourceUpdatedNotificationParams>(notification.params())
                {
                    this.changed(Some(&Topic::Resource(params.uri)));
                }
            },
        )
    }

    /// Says who answers from now on, and what all requests carry.
    pub(super) fn settle(
        &self,
        address: Option<&str>,
        server: &ServerDescription,
        envelope: &Envelope,
    ) {
        let who = serde_json::to_string(&server.info).unwrap_or_default();
        let server = match address {
            Some(address) => format!("at {address}\n{}\n{who}", server.revision),
            // Nobody else can reach the same one.
            None => format!("of {}", self.number),
        };
        // What a server gives may depend on what the client can do, but then it is private.
        let realm = match &self.cache.principal {
            Some(principal) => format!("as {principal}\n{}", envelope.members()),
            None => format!("of {}", self.number),
        };
        *self.place.lock() = Some(Place {
            server: server.into(),
            realm: realm.into(),
        });
    }

    /// Everything may have changed: drops all responses of the server, also those that are on their way.
    pub(super) fn empty(&self) {
        self.changed(None);
    }

    /// Drops what is kept about this, as if the server had told of a change.
    pub(super) fn forget(&self, topic: &Topic) {
        self.changed(Some(topic));
    }

    fn changed(&self, change: Option<&Topic>) {
        let place = self.place.lock().clone();
        if let Some(place) = place {
            let mut store = self.cache.store.lock();
            store.drop_all(Some(&place.server), change);
        }
    }

    /// Looks for the response to a request, or notes that it is fetched.
    pub(super) fn look_up(&self, request: String, topic: Topic, bypass: bool) -> Looked {
        let place = self.place.lock().clone();
        let store = Arc::clone(&self.cache.store);
        let mut open = store.lock();
        let (Some(Place { server, realm }), false) = (place, open.is_off()) else {
            drop(open);
            return Looked::Missing(Fetch { store, noted: None });
        };
        if !bypass && let Some(text) = open.find(&server, &realm, &request, Instant::now()) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Looked::Found(text);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let number = open.note(Arc::clone(&server), topic);
        drop(open);
        let key = Key {
            server,
            realm: Some(realm),
            request,
        };
        Looked::Missing(Fetch {
            store,
            noted: Some((number, key)),
        })
    }

    /// Adds the cache's numbers to those of the connection.
    pub(super) fn count_in(&self, stats: &mut Stats) {
        stats.cache_hits = self.hits.load(Ordering::Relaxed);
        stats.cache_misses = self.misses.load(Ordering::Relaxed);
        let store = self.cache.store.lock();
        (stats.cached_responses, stats.cached_bytes) = (store.entries.len(), store.bytes);
    }
}

/// What tells a request from others: its method, its params, and those members of its `_meta` that may make a difference.
pub(super) fn request_text(method: &str, params: &str, own_meta: &JsonObject) -> String {
    let indifferent = [
        meta_key::LOG_LEVEL,
        meta_key::PROGRESS_TOKEN,
        meta_key::TRACEPARENT,
        meta_key::TRACESTATE,
        meta_key::BAGGAGE,
    ];
    let mut text = format!("{method}\n{params}");
    for (key, value) in own_meta {
        if !indifferent.contains(&key.as_str()) {
            text += &format!("\n{key:?}: {value}");
        }
    }
    text
}

/// A request on its way, whose response may be kept. Dropped, it is given up.
pub(super) struct Fetch {
    store: Arc<Mutex<Store>>,
    /// Its number, and the key under which a private response is kept.
    noted: Option<(u64, Key)>,
}

impl Fetch {
    /// Keeps the response if the server lets that be, and told of no change meanwhile.
    pub(super) fn keep(mut self, response: &str) {
        let Some((number, key)) = self.noted.take() else {
            return;
        };
        let hint = serde_json::from_str::<CacheHint>(response).unwrap_or_default();
        self.store
            .lock()
            .keep(number, key, &hint, response, Instant::now());
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        if let Some((number, _)) = self.noted.take() {
            self.store.lock().fetches.remove(&number);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    server: Arc<str>,
    /// `None` for everybody.
    realm: Option<Arc<str>>,
    request: String,
}

struct Entry {
    topic: Topic,
    text: Arc<str>,
    until: Instant,
    /// Where it stands in the order of use.
    used: u64,
}

/// What is kept and what is being fetched. The clock is an argument.
struct Store {
    max_entries: usize,
    max_bytes: usize,
    entries: HashMap<Key, Entry>,
    /// The keys of all entries, the longest unused first.
    order: BTreeMap<u64, Key>,
    /// Of requests and responses.
    bytes: usize,
    /// Requests on their way, but for those that a change has struck out.
    fetches: HashMap<u64, (Arc<str>, Topic)>,
    last_number: u64,
}

impl Store {
    fn new(limits: &Limits) -> Self {
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

    fn is_off(&self) -> bool {
        self.max_entries == 0 || self.max_bytes == 0
    }

    fn next(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn find(
        &mut self,
        server: &Arc<str>,
        realm: &Arc<str>,
        request: &str,
        now: Instant,
    ) -> Option<Arc<str>> {
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

    fn note(&mut self, server: Arc<str>, topic: Topic) -> u64 {
        let number = self.next();
        self.fetches.insert(number, (server, topic));
        number
    }

    fn keep(&mut self, fetch: u64, mut key: Key, hint: &CacheHint, response: &str, now: Instant) {
        let Some((_, topic)) = self.fetches.remove(&fetch) else {
            return;
        };
        // Whatever was kept before is older, be it for one or for all.
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
        if hint.is_public() {
            key = everybody;
        }
        let used = self.next();
        self.order.insert(used, key.clone());
        let text = response.into();
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

    /// Drops what is old after a change on a server: `None` means all of them, and every change.
    fn drop_all(&mut self, server: Option<&str>, change: Option<&Topic>) {
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

        fn find(&mut self, realm: &str, request: &str) -> Option<Arc<str>> {
            let found = self
                .store
                .find(&"server".into(), &realm.into(), request, self.now);
            assert_eq!(self.store.order.len(), self.store.entries.len());
            found
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

    // Lesson 17.5
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

    // Lesson 15.1
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

    // Lesson 17.5, M-CACHE-C-22
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

    // M-CACHE-C-03
    #[test]
    fn requests_differ_by_what_may_make_a_difference() {
        let meta = |text: &str| serde_json::from_str::<JsonObject>(text).expect("an object");
        let plain = request_text("m", "{}", &JsonObject::new());
        let traced =
            meta(r#"{"traceparent":"00-a-b-01","io.modelcontextprotocol/logLevel":"info"}"#);
        assert_eq!(request_text("m", "{}", &traced), plain);
        for other in [
            request_text("n", "{}", &JsonObject::new()),
            request_text("m", r#"{"cursor":""}"#, &JsonObject::new()),
            request_text("m", "{}", &meta(r#"{"com.example/tenant":"a"}"#)),
        ] {
            assert_ne!(other, plain);
        }
    }
}
