//! What a side does with what its peer sends: one handler a method.

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

/// Handlers by method. A request for any other method is answered *method not found*, any other notification is dropped.
///
/// [`request`](Self::request) and [`notification`](Self::notification) take user code, which may block: it runs on threads that the
/// connection starts on demand, requests side by side, notifications one at a time and in order.
#[derive(Clone, Default)]
pub struct Handlers {
    requests: Table<RequestHandler>,
    notifications: Table<Arc<NotificationFn>>,
    /// Ours, which never block: run on the reading thread, before the others.
    quick_notifications: FxHashMap<String, Arc<NotificationFn>>,
    farewell: Option<Arc<FarewellFn>>,
    heard_again: Option<Arc<FarewellFn>>,
    unheard: Option<Arc<UnheardFn>>,
}

#[derive(Clone)]
pub(crate) struct RequestHandler {
    pub(crate) call: Arc<RequestFn>,
    /// It is ours and never blocks, so that it runs on the reading thread.
    pub(crate) quick: bool,
}

/// Handlers of one kind. Each has its place for good, by which whoever has to name a method or find its handler again keeps it.
#[derive(Clone)]
struct Table<H> {
    rows: Vec<(Box<str>, H)>,
    // The names are the host's own, so that a quick hash will do: what a peer asks for is only looked up.
    places: FxHashMap<Box<str>, usize>,
}

/// The place of a method's handler, among those of requests or those of notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl<H> Default for Table<H> {
    fn default() -> Self {
        let (rows, places) = (Vec::new(), FxHashMap::default());
        Self { rows, places }
    }
}

impl<H> Table<H> {
    /// Sets the handler of a method.
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
    /// No handlers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Handles requests of a method. A handler that was there before is replaced.
    pub fn request(
        self,
        method: impl Into<String>,
        handler: impl Fn(&Request, Responder) + Send + Sync + 'static,
    ) -> Self {
        self.owned_request(&method.into(), false, move |request, responder| {
            handler(&request, responder);
        })
    }

    /// The same with a handler that may keep the request. A quick one runs on the reading thread, so that it answers while every worker is
    /// busy.
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

    /// Handles notifications of a method. A handler that was there before is replaced.
    pub fn notification(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Peer, &Notification) + Send + Sync + 'static,
    ) -> Self {
        self.notifications.set(&method.into(), Arc::new(handler));
        self
    }

    /// Runs when the peer has gone and when the connection is closed, each time before what is left is written. It never blocks.
    pub(crate) fn farewell(mut self, farewell: impl Fn(&Peer) + Send + Sync + 'static) -> Self {
        self.farewell = Some(Arc::new(farewell));
        self
    }

    /// Runs when what belongs to no request can't be heard any more, for this reason, on a thread
    /// that has nothing else to do meanwhile.
    pub(crate) fn unheard(mut self, hook: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.unheard = Some(Arc::new(hook));
        self
    }

    pub(crate) fn say_unheard(&self, error: &Error) {
        if let Some(hook) = &self.unheard {
            hook(error);
        }
    }

    /// Runs when what belongs to no request can be heard again, and some of it may have been
    /// missed. It never blocks.
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

    /// Looks at notifications of a method on the reading thread, before they are handed to the handler.
    pub(crate) fn quick_notification(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Peer, &Notification) + Send + Sync + 'static,
    ) -> Self {
        self.quick_notifications
            .insert(method.into(), Arc::new(handler));
        self
    }

    /// Handles notifications of a method after the handler that is there already, even if that one panics.
    pub(crate) fn notification_too(
        self,
        method: &str,
        handler: impl Fn(&Notification) + Send + Sync + 'static,
    ) -> Self {
        let first = self.notifications.find(method);
        let first = first.map(|(_, handler)| Arc::clone(handler));
        self.notification(method, move |peer, notification| {
            let first = first.as_ref();
            // A panic of the first one, which may be the host's, is the first one's affair.
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

    /// Runs the handler of requests that stands there.
    pub(crate) fn serve(&self, place: Place, request: Request, responder: Responder) {
        (self.requests.rows[place.0].1.call)(request, responder);
    }

    /// The name of a method whose requests are handled.
    pub(crate) fn name_of_request(&self, place: Place) -> &str {
        &self.requests.rows[place.0].0
    }

    /// The same for notifications.
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
