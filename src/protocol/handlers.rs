//! The handlers for the peer's messages: one handler for each method.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::active_requests::ActiveRequest;
use super::peer::Peer;
use super::responder::Responder;
use super::worker_pool::Job;
use crate::error::Error;
use crate::jsonrpc::{Notification, Request};
use crate::shares::Client;

pub(crate) type RequestFn = dyn Fn(Request, Responder) + Send + Sync;
type NotificationFn = dyn Fn(&Peer, &Notification) + Send + Sync;
type FarewellFn = dyn Fn(&Peer) + Send + Sync;
type UnheardFn = dyn Fn(&Error) + Send + Sync;

/// The handlers for the peer's messages, by method. A request with any other method is answered
/// with "method not found". A notification with any other method is dropped.
///
/// [`request`](Self::request) and [`notification`](Self::notification) take user code, which may
/// block. User code runs on threads that the connection starts on demand. Request handlers run in
/// parallel. Notification handlers run one at a time and in order.
///
/// # Examples
///
/// ```
/// use mcplink::protocol::{Connection, Handlers, RequestOptions};
/// use mcplink::transport::memory;
/// use serde_json::json;
///
/// let handlers = Handlers::new().request("echo", |request, responder| {
///     _ = responder.respond(&json!({ "you said": request.params() }));
/// });
/// let (here, there) = memory::pair();
/// let server = Connection::server().handlers(handlers).open(there)?;
/// let client = Connection::client().open(here)?;
/// let result = client.peer().request("echo", &json!({}), RequestOptions::new())?;
/// assert_eq!(result.as_str(), r#"{"you said":"{}"}"#);
/// # Ok::<(), mcplink::Error>(())
/// ```
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

// The keys are the host's own names, so a fast hash is safe. Method names of the peer are only
// looked up.
type Table<H> = FxHashMap<Arc<str>, H>;

/// A handler that waits for a thread to run it.
pub(crate) struct Work {
    pub(crate) run: Run,
    /// The request or notification of the handler, if the table of active requests lists it.
    pub(crate) request: Option<Arc<ActiveRequest>>,
    /// The client that sent the request. The handler needs a worker permit of this client to run.
    /// The field is used only on a connection that several clients share.
    pub(crate) client: Option<Client>,
}

/// The code of a queued handler.
pub(crate) enum Run {
    /// Calls the handler of a request.
    Serve(Arc<RequestFn>, Request, Responder),
    Job(Job),
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
        self.requests
            .insert(method.into(), RequestHandler { call, quick });
        self
    }

    /// Whether a request method has a handler.
    pub(crate) fn handles(&self, method: &str) -> bool {
        self.requests.contains_key(method)
    }

    /// Sets the handler of a notification method, and replaces an earlier handler of the method.
    pub fn notification(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(&Peer, &Notification) + Send + Sync + 'static,
    ) -> Self {
        self.notifications
            .insert(method.into().into(), Arc::new(handler));
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
        let first = self.notifications.get(method).cloned();
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

    pub(crate) fn for_request(&self, method: &str) -> Option<(&Arc<str>, &RequestHandler)> {
        self.requests.get_key_value(method)
    }

    pub(crate) fn for_notification(
        &self,
        method: &str,
    ) -> Option<(&Arc<str>, &Arc<NotificationFn>)> {
        self.notifications.get_key_value(method)
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("requests", &self.requests.keys())
            .field("notifications", &self.notifications.keys())
            .finish()
    }
}
