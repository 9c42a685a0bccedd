//! The handlers for the peer's messages: one handler for each method.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::peer::Peer;
use super::responder::Responder;
use crate::error::Error;
use crate::jsonrpc::{Notification, Request};

type RequestFn = dyn Fn(Request, Responder) + Send + Sync;
type NotificationFn = dyn Fn(&Peer, &Notification) + Send + Sync;
type FarewellFn = dyn Fn(&Peer) + Send + Sync;
type UnheardFn = dyn Fn(&Error) + Send + Sync;

/// The handlers for the peer's messages, by method. A request with any other method is answered
/// with "method not found". A notification with any other method is dropped.
///
/// [`request`](Self::request) and [`notification`](Self::notification) take user code, which may
/// block. User code runs on threads that the connection starts on demand. Request handlers run in
/// parallel. Notification handlers run one at a time and in order.
#[derive(Clone, Default)]
pub struct Handlers {
    requests: Table<RequestHandler>,
    notifications: Table<Arc<NotificationFn>>,
    /// Internal notification handlers that never block. They run on the reading thread, before the
    /// other handlers.
    quick_notifications: FxHashMap<String, Arc<NotificationFn>>,
    farewell: Option<Arc<FarewellFn>>,
    heard_again: Option<Arc<FarewellFn>>,
    unheard: Option<Arc<UnheardFn>>,
}

#[derive(Clone)]
pub(crate) struct RequestHandler {
    pub(crate) call: Arc<RequestFn>,
    /// Whether the handler is internal and never blocks. A quick handler runs on the reading
    /// thread.
    pub(crate) quick: bool,
}

/// The handlers of requests or of notifications. The index of a handler never changes, and
/// identifies the handler and the name of the method.
#[derive(Clone)]
struct Table<H> {
    rows: Vec<(Box<str>, H)>,
    // The keys are the host's own names, so a fast hash is safe. Method names of the peer are only
    // looked up.
    places: FxHashMap<Box<str>, usize>,
}

/// The index of a method's handler in the table of request handlers or of notification handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl<H> Default for Table<H> {
    fn default() -> Self {
        let (rows, places) = (Vec::new(), FxHashMap::default());
        Self { rows, places }
    }
}

impl<H> Table<H> {
    /// Sets the handler of a method, and replaces an earlier handler of the method.
    fn set(&mut self, method: &str, handler: H) {
        match self.places.get(method) {
            Some(place) => self.rows[*place].1 = handler,
            None => {
                self.places.insert(method.into(), self.rows.len());
                self.rows.push((method.into(), handler));
            }
        }
    }

    fn find(&self, method: &str) -> Option<(Place, &H)> {
        let place = *self.places.get(method)?;
        Some((Place(place), &self.rows[place].1))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|(method, _)| &**method)
    }
}

impl Handlers {
    /// Creates an empty set of handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the handler of a request method, and replaces an earlier handler of the method.
    pub fn request(
        self,
        method: impl Into<String>,
        handler: impl Fn(&Request, Responder) + Send + Sync + 'static,
    ) -> Self {
        self.owned_request(&method.into(), false, move |request, responder| {
            handler(&request, responder);
        })
    }

    /// Sets the handler of a request method. The handler takes ownership of the request. A `quick`
    /// handler runs on the reading thread, and answers even while every worker is busy.
    pub(crate) fn owned_request(
        mut self,
        method: &str,
        quick: bool,
        handler: impl Fn(Request, Responder) + Send + Sync + 'static,
    ) -> Self {
        let call = Arc::new(handler);
        self.requests.set(method, RequestHandler { call, quick });
        self
    }

    /// Whether a request method has a handler.
    pub(crate) fn handles(&self, method: &str) -> bool {
        self.requests.find(method).is_some()
    }

    /// Sets the handler of a notification method, and replaces an earlier handler of the method.
    pub fn notification(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Peer, &Notification) + Send + Sync + 'static,
    ) -> Self {
        self.notifications.set(&method.into(), Arc::new(handler));
        self
    }

    /// Sets a hook that runs when the peer has gone, and when the connection is closed. In both
    /// cases the hook runs before the last messages are written. The hook must not block.
    pub(crate) fn farewell(mut self, farewell: impl Fn(&Peer) + Send + Sync + 'static) -> Self {
        self.farewell = Some(Arc::new(farewell));
        self
    }

    /// Sets a hook that runs when the stream for messages outside of requests has failed. The hook
    /// gets the error. The hook may block, because its pool thread has no other work in the
    /// meantime.
    pub(crate) fn unheard(mut self, hook: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.unheard = Some(Arc::new(hook));
        self
    }

    pub(crate) fn say_unheard(&self, error: &Error) {
        if let Some(hook) = &self.unheard {
            hook(error);
        }
    }

    /// Sets a hook that runs when the stream for messages outside of requests is restored. Messages
    /// may have been lost in the meantime. The hook must not block.
    pub(crate) fn heard_again(mut self, hook: impl Fn(&Peer) + Send + Sync + 'static) -> Self {
        self.heard_again = Some(Arc::new(hook));
        self
    }

    pub(crate) fn say_heard_again(&self, peer: &Peer) {
        if let Some(hook) = &self.heard_again {
            hook(peer);
        }
    }

    pub(crate) fn say_farewell(&self, peer: &Peer) {
        if let Some(farewell) = &self.farewell {
            farewell(peer);
        }
    }

    /// Sets a handler for the notifications of a method. The handler runs on the reading thread,
    /// before the handler that was set with [`notification`](Self::notification).
    pub(crate) fn quick_notification(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Peer, &Notification) + Send + Sync + 'static,
    ) -> Self {
        self.quick_notifications
            .insert(method.into(), Arc::new(handler));
        self
    }

    /// Adds a second handler for a notification method. The second handler runs after the first
    /// handler, even if the first handler panics.
    pub(crate) fn notification_too(
        self,
        method: &str,
        handler: impl Fn(&Notification) + Send + Sync + 'static,
    ) -> Self {
        let first = self.notifications.find(method);
        let first = first.map(|(_, handler)| Arc::clone(handler));
        self.notification(method, move |peer, notification| {
            let first = first.as_ref();
            // The first handler may belong to the host. A panic of the first handler is resumed
            // after the second handler has run.
            let done = catch_unwind(AssertUnwindSafe(|| {
                if let Some(first) = first {
                    first(peer, notification);
                }
            }));
            handler(notification);
            if let Err(panic) = done {
                resume_unwind(panic);
            }
        })
    }

    pub(crate) fn for_quick_notification(&self, method: &str) -> Option<&Arc<NotificationFn>> {
        self.quick_notifications.get(method)
    }

    pub(crate) fn for_request(&self, method: &str) -> Option<(Place, &RequestHandler)> {
        self.requests.find(method)
    }

    pub(crate) fn for_notification(&self, method: &str) -> Option<(Place, &Arc<NotificationFn>)> {
        self.notifications.find(method)
    }

    /// Runs the request handler with this index.
    pub(crate) fn serve(&self, place: Place, request: Request, responder: Responder) {
        (self.requests.rows[place.0].1.call)(request, responder);
    }

    /// Returns the method name of the request handler with this index.
    pub(crate) fn name_of_request(&self, place: Place) -> &str {
        &self.requests.rows[place.0].0
    }

    /// Returns the method name of the notification handler with this index.
    pub(crate) fn name_of_notification(&self, place: Place) -> &str {
        &self.notifications.rows[place.0].0
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("requests", &self.requests.names().collect::<Vec<_>>())
            .field(
                "notifications",
                &self.notifications.names().collect::<Vec<_>>(),
            )
            .finish()
    }
}
