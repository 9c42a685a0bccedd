//! Responses that need not be asked for again: lists and resources, for as long as the server says with `ttlMs`.
//!
//! ```text
//!  look up ──▶ found and fresh ──▶ given, nothing is sent
//!         ╰──▶ missing ──▶ fetch noted ──▶ request ──▶ response ──▶ kept, if the fetch is still noted
//!                                   ╰── a change is told meanwhile: struck out
//! ```
//!
//! **Key.** A response belongs to a server, a request (method and params, a page's cursor too) and, unless it is public, to one principal,
//! as the server lets it in at the time.
//! A server is the same when it is reached at the same address, speaks the same revision and says the same of itself: what was kept of one
//! is not given for its successor.
//!
//! **Invariant:** a fetch is noted from before its request is sent until its response is kept or given up. Whatever a change drops, it
//! strikes out, under the same lock, among the fetches too. Changes are looked at where they are read, before what came behind them. So no
//! response that was made before a change is kept after the change was told.
//!
//! **Locks:** the store's before a client's `place`, so that nothing is noted for a server that was lost. Nothing is sent and no user code
//! runs under either.
//!
//! Spec: Server Features, Utilities, "Caching" (2026-07-28).

mod store;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(super) use self::store::Topic;
use self::store::{Key, Store};
use super::ServerDescription;
use super::envelope::Envelope;
use crate::jsonrpc::RawResult;
use crate::protocol::{Handlers, Stats};
use crate::schema::tree;
use crate::schema::{CacheHint, JsonObject, ResourceUpdatedNotificationParams, meta_key, method};
use crate::sync::Mutex;
use crate::transport::Limits;
use crate::transport::carrier::Carrier;

/// Keeps the responses that servers let be kept, for one client or for several.
///
/// Every client has one of its own. To share one, give it to several with [`ClientBuilder::cache`](super::ClientBuilder::cache): what a
/// server calls public is then given to all clients that reach the same server, at the same address; what is private only to those with
/// the same [principal](Self::for_principal) and the same capabilities. Clones share what is kept. Child processes are the same server when
/// their command lines and directories are: those that other environment variables make another server get a cache of their own.
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
        let (responses, bytes) = self.store.lock().size();
        f.debug_struct("ResponseCache")
            .field("principal", &self.principal)
            .field("responses", &responses)
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}

/// The cache as one client sees it.
pub(super) struct ClientCache {
    cache: ResponseCache,
    /// Tells the client from all others that share the cache.
    number: u64,
    /// Known while there is a connection. Without it nothing is found and nothing kept.
    place: Mutex<Option<Place>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Who answers, and on whose behalf it was asked.
#[derive(Clone)]
struct Place {
    server: Arc<str>,
    realm: Arc<str>,
    /// Who knows as whom requests are let in, where that can change.
    carrier: Option<Arc<dyn Carrier>>,
}

impl Place {
    /// Whom private responses are for.
    fn realm(&self) -> Arc<str> {
        let carrier = self.carrier.as_ref();
        match carrier.map_or(0, |carrier| carrier.authorization()) {
            0 => Arc::clone(&self.realm),
            number => format!("{}\nlet in {number}", self.realm).into(),
        }
    }
}

/// What was found for a request.
pub(super) enum Looked {
    /// The result, as JSON text.
    Found(Arc<String>),
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
    pub(super) fn listen_in(
        self: &Arc<Self>,
        handlers: Handlers,
        on_tools_changed: impl Fn() + Send + Sync + 'static,
    ) -> Handlers {
        let this = Arc::clone(self);
        let tools = method::NOTIFICATIONS_TOOLS_LIST_CHANGED;
        let handlers = handlers.quick_notification(tools, move |_, _| {
            this.changed(Some(&Topic::Tools));
            on_tools_changed();
        });
        let lists = [
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
                    tree::read::<ResourceUpdatedNotificationParams>(notification.params())
                {
                    this.changed(Some(&Topic::resource(&params.uri)));
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
        carrier: Option<Arc<dyn Carrier>>,
    ) {
        let who = serde_json::to_string(&server.info).unwrap_or_default();
        let server = match address {
            Some(address) => format!("at {address}\n{}\n{who}", server.revision),
            // Nobody else can reach the same one.
            None => format!("of {}", self.number),
        };
        // What a server gives may depend on what the client can do, but then it is private.
        let realm = match &self.cache.principal {
            Some(principal) => format!("as {principal}\n{}", envelope.capabilities()),
            None => format!("of {}", self.number),
        };
        *self.place.lock() = Some(Place {
            server: server.into(),
            realm: realm.into(),
            carrier,
        });
    }

    /// Everything may have changed: drops all responses of the server, also those that are on their way.
    pub(super) fn empty(&self) {
        self.changed(None);
    }

    /// The server is lost, and with it what it said. Nothing is kept until it is known who answers next.
    pub(super) fn lose(&self) {
        let mut store = self.cache.store.lock();
        if let Some(place) = self.place.lock().take() {
            store.drop_all(Some(&place.server), None);
        }
    }

    /// Drops what is kept about this, as if the server had told of a change.
    pub(super) fn forget(&self, topic: &Topic) {
        self.changed(Some(topic));
    }

    fn changed(&self, change: Option<&Topic>) {
        let mut store = self.cache.store.lock();
        if let Some(place) = &*self.place.lock() {
            store.drop_all(Some(&place.server), change);
        }
    }

    /// Looks for the response to a request, or notes that it is fetched.
    pub(super) fn look_up(&self, request: String, topic: Topic, bypass: bool) -> Looked {
        let store = Arc::clone(&self.cache.store);
        // Who lets requests in is code of the host's, maybe: it is asked before anything is locked.
        let before = self.place.lock().clone();
        let realm = before.as_ref().map(Place::realm);
        let mut open = store.lock();
        let place = self.place.lock().clone();
        let is_same = |place: &Place| {
            let before = before.as_ref();
            before.is_some_and(|before| Arc::ptr_eq(&before.server, &place.server))
        };
        let (Some(Place { server, .. }), Some(realm), false) =
            (place.filter(is_same), realm, open.is_off())
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

    /// Adds the cache's numbers to those of the connection.
    pub(super) fn count_in(&self, stats: &mut Stats) {
        stats.cache_hits = self.hits.load(Ordering::Relaxed);
        stats.cache_misses = self.misses.load(Ordering::Relaxed);
        let store = self.cache.store.lock();
        (stats.cached_responses, stats.cached_bytes) = store.size();
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
    /// The response is for nobody else, but newer than one that is kept.
    pub(super) fn replace_by_nothing(self) {
        self.keep("{}");
    }

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

/// The response to a request that may have been kept.
pub(super) enum Fetched {
    /// It was.
    Kept(Arc<String>),
    /// It has just come, and may be kept from now on.
    New(RawResult, Option<Fetch>),
}

impl Fetched {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Kept(text) => text,
            Self::New(result, _) => result,
        }
    }

    /// Keeps what has just come, as far as it may be.
    pub(super) fn keep(self) {
        if let Self::New(result, Some(fetch)) = self {
            fetch.keep(&result);
        }
    }

    /// The same, and gives it.
    pub(super) fn into_raw(self) -> RawResult {
        match self {
            Self::Kept(text) => RawResult::alone(text.as_str()),
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
