//! Handlers of the host and their user data.
//!
//! **Invariant:** when the server has ended, no handler runs any more, and all user data is
//! destroyed. The invariant also holds if a responder of the host keeps the rest of the server
//! alive.

use std::sync::{Arc, Weak};

use crate::cffi::answer::mcplink_handler_fn;
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::entry::Outcome;
use crate::cffi::json::Document;
use crate::cffi::pending_request::Call;
use crate::cffi::queue::Kind;
use crate::cffi::request::mcplink_request_t;
use crate::cffi::responder::mcplink_responder_t;
use crate::cffi::text::missing;
use crate::cffi::user::{Callback, UserData};
use crate::jsonrpc::Request;
use crate::protocol::Responder;
use crate::server::origin_of;
use crate::sync::Mutex;

/// The type of a handler that C passes and that is not NULL.
pub(super) type HandlerFn = Callback<mcplink_handler_fn>;

/// A handler of the host.
pub(super) struct Handler {
    callback: HandlerFn,
    /// The user data of the handler; `None` after the server has ended.
    user: Mutex<Option<Arc<UserData>>>,
    /// The number of the server to which the handler belongs.
    owner: u64,
    stage: Arc<CallbackExecutor>,
}

/// All live handlers of a server.
///
/// Invariant: `ended` is set under the lock, before [`end`](Self::end) takes the list. If another
/// thread adds a handler at the same time, either the list contains the handler, or
/// [`adopt`](Self::adopt) sees `ended`. In both cases the user data of the handler is released.
#[derive(Default)]
pub(super) struct Handlers(Mutex<Known>);

#[derive(Default)]
struct Known {
    all: Vec<Weak<Handler>>,
    ended: bool,
}

impl Handlers {
    /// Makes a handler, adds the handler to the list, and returns it. If the server has ended,
    /// releases the user data, and the handler never runs.
    pub(super) fn adopt(
        &self,
        owner: u64,
        stage: &Arc<CallbackExecutor>,
        callback: HandlerFn,
        user: Arc<UserData>,
    ) -> Arc<Handler> {
        let mut known = self.0.lock();
        let handler = Arc::new(Handler {
            callback,
            user: Mutex::new(Some(user).filter(|_| !known.ended)),
            owner,
            stage: Arc::clone(stage),
        });
        if known.all.len() == known.all.capacity() {
            known.all.retain(|handler| handler.strong_count() > 0);
        }
        known.all.push(Arc::downgrade(&handler));
        handler
    }

    /// Releases the user data of all handlers. Afterwards no handler starts.
    pub(super) fn end(&self) {
        let mut known = self.0.lock();
        known.ended = true;
        let all = std::mem::take(&mut known.all);
        drop(known);
        for handler in all.iter().filter_map(Weak::upgrade) {
            let user = handler.user.lock().take();
            drop(user);
        }
    }
}

impl Handler {
    /// Runs the handler for a call. With a pump, the handler runs on the thread that dispatches the
    /// pump. Without a pump, it runs on this thread.
    pub(super) fn take(self: &Arc<Self>, call: Call) {
        if let Some(request) = mcplink_request_t::of(&call) {
            self.answer(request, call);
        }
    }

    /// Runs the handler for a call of a tool or prompt whose arguments this schema declares.
    pub(super) fn take_declared(self: &Arc<Self>, call: Call, schema: &Option<Arc<Document>>) {
        if let Some(request) = mcplink_request_t::of(&call) {
            self.answer(request.with_schema(schema.clone()), call);
        }
    }

    /// Runs the handler for a request of a custom method.
    pub(super) fn take_own(self: &Arc<Self>, request: &Request, responder: Responder) {
        let (connection, principal) = origin_of(&responder);
        let request = mcplink_request_t::new(request.method(), request.params());
        self.answer(request.from(connection, principal), Call::Method(responder));
    }

    fn answer(self: &Arc<Self>, request: mcplink_request_t, call: Call) {
        let stage = Arc::clone(&self.stage);
        let pump = stage.is_pumped().then_some(stage);
        let responder = mcplink_responder_t::new(request, call, self.owner, pump);
        if self.stage.is_pumped() {
            let handler = Arc::clone(self);
            self.stage.post(Kind::Call, move || handler.run(responder));
        } else {
            self.run(responder);
        }
    }

    fn run(&self, responder: Arc<mcplink_responder_t>) {
        let user = self.user.lock().clone();
        // A cancelled request needs no handler.
        if let Some(user) = user.filter(|_| !responder.is_cancelled()) {
            let callback = self.callback;
            responder.run(|request, responder| {
                // SAFETY: the header states the arguments of a handler: the user data of its
                // registration, and a live request with its responder.
                unsafe { callback(user.ptr(), request, responder) }
            });
        }
    }
}

/// Returns the function pointer of a handler that C passes. Fails for NULL.
pub(super) fn given(callback: mcplink_handler_fn) -> Outcome<HandlerFn> {
    callback.ok_or_else(|| missing("callback").into())
}
