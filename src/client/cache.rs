//! The response cache: lists and resources, for the lifetime that the server gives with `ttlMs`.
//!
//! ```text
//!  look up ──▶ found and fresh ──▶ returned, nothing is sent
//!         ╰──▶ missing ──▶ fetch noted ──▶ request ──▶ response ──▶ cached, if still noted
//!                                   ╰── a change is reported meanwhile: removed
//! ```
//!
//! **Key.** A response belongs to a server and a request: the method and params, including a page's
//! cursor. A private response also belongs to a principal with its current authorization. Two
//! connections have the same server if address, revision and description are equal. If a server is
//! replaced by another server, the responses of the replaced server are not used.
//!
//! A *fetch* is a request in flight whose response may be cached.
//!
//! **Invariant:** a fetch is noted in the store before its request is sent. The fetch stays noted
//! until its response is cached or the fetch is given up. A change removes the affected entries
//! *and* fetches under one lock. Changes are processed on the reading thread, before any later
//! message. So a response that was created before a change is never cached after the change was
//! reported.
//!
//! **Lock order:** the store's lock before a client's `scope`, so that no fetch is noted for a
//! server that was lost. No message is sent and no user code runs under either lock.
//!
//! Spec: Server Features, Utilities, "Caching" (2026-07-28).

mod store;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(super) use self::store::Topic;
use self::store::{Key, Store};
use super::connection::ServerDescription;
use super::request_meta::RequestMeta;
use crate::jsonrpc::RawResult;
use crate::protocol::Stats;
use crate::schema::{CacheHint, JsonObject, meta_key};
use crate::sync::Mutex;
use crate::transport::Limits;
use crate::transport::exchange_transport::ExchangeTransport;

/// A cache of responses, which one client or several clients use; thread-safe.
///
/// Every client has its own cache by default. To share a cache, pass the cache to several clients
/// with [`ClientBuilder::cache`](super::ClientBuilder::cache). A public response is then used by
/// all clients of one server at one address. A private response is used only by clients with the
/// same [principal](Self::for_principal) and capabilities. Clones share their content. Child
/// processes count as one server if their command lines and directories are equal. If their
/// environment variables make them different servers, give each server its own cache.
///
/// A response is removed when its lifetime is over, when the server reports a change, and when the
/// connection to the server is lost. Above [`max_cached_responses`](Limits::max_cached_responses)
/// or [`max_cached_bytes`](Limits::max_cached_bytes) the least recently used response is removed.
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
    /// Creates an empty cache. Of the limits, only
    /// [`max_cached_responses`](Limits::max_cached_responses) and
    /// [`max_cached_bytes`](Limits::max_cached_bytes) apply to the cache.
    pub fn new(limits: &Limits) -> Self {
        Self {
            store: Arc::new(Mutex::new(Store::new(limits))),
            principal: None,
        }
    }

    /// Returns a handle to this cache for the user `principal`.
    ///
    /// Clients of one principal share private responses. Clients of different principals never
    /// share them. Without a principal, only the client that received a private response uses it.
    ///
    /// The name may be any text that identifies the user. Instead of a token, use a digest of the
    /// token.
    pub fn for_principal(&self, principal: impl Into<String>) -> Self {
        Self {
            store: Arc::clone(&self.store),
            principal: Some(principal.into().into()),
        }
    }

    /// Removes all responses, of all servers and principals.
    pub fn clear(&self) {
        self.store.lock().drop_all(None, None);
    }
}

impl fmt::Debug for ResponseCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (responses, bytes) = self.store.lock().size();
        f.debug_struct("ResponseCache")
            .field("principal", &self.principal)
            .field("responses", &responses)
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}

/// A response cache as one client uses it: the cache, the client's current server, and the client's
/// counters.
pub(super) struct ClientCache {
    cache: ResponseCache,
    /// The number of this client among the clients that share the cache.
    number: u64,
    /// The server of the client's connection, and the client's principal. `None` if there is no
    /// connection; the cache is then unused.
    scope: Mutex<Option<KeyScope>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The server and the principal of a connection, as parts of cache keys.
#[derive(Clone)]
struct KeyScope {
    server: Arc<str>,
    realm: Arc<str>,
    /// The transport of the connection, if the authorization of requests can change during the
    /// connection.
    exchange_transport: Option<Arc<dyn ExchangeTransport>>,
}

impl KeyScope {
    /// Returns the key of the principal that private responses belong to.
    fn realm(&self) -> Arc<str> {
        let exchange_transport = self.exchange_transport.as_ref();
        match exchange_transport.map_or(0, |exchange_transport| exchange_transport.authorization())
        {
            0 => Arc::clone(&self.realm),
            number => format!("{}\nlet in {number}", self.realm).into(),
        }
    }
}

/// The result of a lookup in the cache.
pub(super) enum Looked {
    /// The response is cached. The value is the result as JSON text.
    Found(Arc<String>),
    /// The response is not cached, so the request has to be sent.
    Missing(Fetch),
}

impl ClientCache {
    pub(super) fn new(cache: ResponseCache) -> Self {
        let number = cache.store.lock().next();
        Self {
            cache,
            number,
            scope: Mutex::new(None),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Records which server a new connection has reached. The cache keys contain the server.
    ///
    /// `envelope` contains the client's capabilities, which are a part of the keys of private
    /// responses. So clients of one principal share private responses only if their capabilities
    /// are equal.
    pub(super) fn settle(
        &self,
        address: Option<&str>,
        server: &ServerDescription,
        envelope: &RequestMeta,
        exchange_transport: Option<Arc<dyn ExchangeTransport>>,
    ) {
        let who = serde_json::to_string(&server.info).unwrap_or_default();
        let server = match address {
            Some(address) => format!("at {address}\n{}\n{who}", server.revision),
            // No other client can reach this server.
            None => format!("of {}", self.number),
        };
        // Results may depend on the client's capabilities, but such results are private.
        let realm = match &self.cache.principal {
            Some(principal) => format!("as {principal}\n{}", envelope.capabilities()),
            None => format!("of {}", self.number),
        };
        *self.scope.lock() = Some(KeyScope {
            server: server.into(),
            realm: realm.into(),
            exchange_transport,
        });
    }

    /// Removes all cached responses of the client's server, because everything may have changed.
    /// Responses to requests in flight will not be cached either.
    pub(super) fn empty(&self) {
        self.changed(None);
    }

    /// Removes the cached responses of the client's server, because the connection ended. The cache
    /// is unused until the client knows the next server.
    pub(super) fn lose(&self) {
        let mut store = self.cache.store.lock();
        if let Some(scope) = self.scope.lock().take() {
            store.drop_all(Some(&scope.server), None);
        }
    }

    /// Removes the cached responses about a topic, as if the server had reported a change.
    pub(super) fn forget(&self, topic: &Topic) {
        self.changed(Some(topic));
    }

    fn changed(&self, change: Option<&Topic>) {
        let mut store = self.cache.store.lock();
        if let Some(scope) = &*self.scope.lock() {
            store.drop_all(Some(&scope.server), change);
        }
    }

    /// Looks up the cached response to a request. If there is no fresh response, records in the
    /// store that the request is about to be sent, so that its response may be cached.
    pub(super) fn look_up(&self, request: String, topic: Topic, bypass: bool) -> Looked {
        let store = Arc::clone(&self.cache.store);
        // The authorizer may be host code, so it runs before any lock is taken.
        let before = self.scope.lock().clone();
        let realm = before.as_ref().map(KeyScope::realm);
        let mut open = store.lock();
        let scope = self.scope.lock().clone();
        let is_same = |scope: &KeyScope| {
            let before = before.as_ref();
            before.is_some_and(|before| Arc::ptr_eq(&before.server, &scope.server))
        };
        let (Some(KeyScope { server, .. }), Some(realm), false) =
            (scope.filter(is_same), realm, open.is_off())
        else {
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

    /// Adds the cache counters to the counters of the connection.
    pub(super) fn count_in(&self, stats: &mut Stats) {
        stats.cache_hits = self.hits.load(Ordering::Relaxed);
        stats.cache_misses = self.misses.load(Ordering::Relaxed);
        let store = self.cache.store.lock();
        (stats.cached_responses, stats.cached_bytes) = store.size();
    }
}

/// Returns the cache key of a request: the method, the params, and the `_meta` members that may
/// change the result.
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

/// A fetch: a request in flight whose response may be cached. If the fetch is dropped, its response
/// will not be cached.
pub(super) struct Fetch {
    store: Arc<Mutex<Store>>,
    /// The number of this request in the store, and the key under which its response is cached if
    /// the response is private. `None` if the response must not be cached.
    noted: Option<(u64, Key)>,
}

impl Fetch {
    /// Removes the older response to the request from the cache. The new response is only for this
    /// call, and is not cached.
    pub(super) fn replace_by_nothing(self) {
        self.keep("{}");
    }

    /// Caches the response if the server allows caching and has reported no change since the fetch
    /// began.
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

/// A response, either from the cache or from the server.
pub(super) enum Fetched {
    /// The response is from the cache.
    Cached(Arc<String>),
    /// The response is from the server. The fetch is `None` if the response must not be cached.
    New(RawResult, Option<Fetch>),
}

impl Fetched {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Cached(text) => text,
            Self::New(result, _) => result,
        }
    }

    /// Whether the response is from the cache.
    pub(super) fn is_cached(&self) -> bool {
        matches!(self, Self::Cached(_))
    }

    /// Caches the response if it is new and may be cached.
    pub(super) fn keep(self) {
        if let Self::New(result, Some(fetch)) = self {
            fetch.keep(&result);
        }
    }

    /// Caches the response if it is new and may be cached. Returns the response as text.
    pub(super) fn into_raw(self) -> RawResult {
        match self {
            Self::Cached(text) => RawResult::alone(text.as_str()),
            Self::New(result, fetch) => {
                if let Some(fetch) = fetch {
                    fetch.keep(&result);
                }
                result
            }
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        if let Some((number, _)) = self.noted.take() {
            self.store.lock().give_up(number);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

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
