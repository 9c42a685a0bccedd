//! Requests from a server to its client, answered by handlers of the host.
//!
//! The thread that runs the client's callbacks runs the handlers, and the receiving thread waits.
//! The wait ends with the answer, with a cancellation by the server, or when the client is closed.
//! There is one exception: a modern server requests input by the answer to a call. If the call
//! blocks and the client has no pump, the calling thread runs the handler.

use std::ffi::c_char;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::calling::is_direct;
use super::options::mcplink_client_options_t;
use super::shared::{HandlerFn, Shared, set_by_method};
use crate::cffi::answer::mcplink_handler_fn;
use crate::cffi::log;
use crate::cffi::pending_request::{Call, Question};
use crate::cffi::queue::Kind;
use crate::cffi::refusal::set;
use crate::cffi::request::mcplink_request_t;
use crate::cffi::responder::mcplink_responder_t;
use crate::cffi::text::name;
use crate::cffi::user::Hook;
use crate::client::{ClientBuilder, Era, Requester};
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::protocol::{CancelToken, LogLevel, LogRecord};
use crate::schema::{
    CreateMessageResult, ElicitRequestParams, ElicitResult, ListRootsResult, Root, method,
};
use crate::sync::{Condvar, Mutex};

/// A slot for the answer to a request from the server. One thread waits for the answer.
#[derive(Default)]
struct Waiting {
    /// Invariant: `give` stores the answer under this lock unless `is_over` is set. `wait` sets
    /// `is_over` in the critical section in which it takes the answer. So an answer is either
    /// returned by `wait` or reported to the handler as too late.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    answer: Option<Result<Box<RawValue>, RpcError>>,
    /// Whether the thread has stopped waiting for the answer. `give` then returns an error, so that
    /// a later answer is not lost silently.
    is_over: bool,
}

impl Waiting {
    fn give(&self, answer: Result<Box<RawValue>, RpcError>, closing: &CancelToken) -> Result<()> {
        let mut state = self.state.lock();
        if state.is_over {
            let (kind, text) = if closing.is_triggered() {
                (ErrorKind::Closed, "the client was closed")
            } else {
                (ErrorKind::Cancelled, "nobody waits for the answer any more")
            };
            return Err(Error::new(kind, text));
        }
        state.answer = Some(answer);
        self.changed.notify_all();
        Ok(())
    }

    /// Blocks until the request is answered; returns `None` if the request is cancelled before.
    fn wait(&self, cancel: &CancelToken) -> Option<Result<Box<RawValue>, RpcError>> {
        let mut state = self.state.lock();
        while state.answer.is_none() && !cancel.is_triggered() {
            state = self.changed.wait(state);
        }
        state.is_over = true;
        state.answer.take()
    }
}

impl Shared {
    /// Runs the host's handler for a request of the server, and blocks until the handler has
    /// answered. Returns the JSON-RPC error for the server if the request is refused.
    fn ask<T: DeserializeOwned>(
        &self,
        hook: &Arc<Hook<HandlerFn>>,
        method: &str,
        params: &impl Serialize,
        by: &Requester,
    ) -> Result<T, RpcError> {
        let params = serde_json::to_string(params);
        let params = params.map_err(|error| RpcError::internal(error.to_string()))?;
        let (waiting, cancel) = (Arc::new(Waiting::default()), CancelToken::new());
        let ends = [by.cancel_token(), &self.closing].map(|token| {
            let cancel = cancel.clone();
            token.on_trigger(move || cancel.cancel())
        });
        let (woken, given, closing) = (
            Arc::clone(&waiting),
            Arc::clone(&waiting),
            self.closing.clone(),
        );
        let _nudge = cancel.on_trigger(move || {
            // The lock prevents a lost wakeup: without it the notification could fall between the
            // waiter's check of `cancel` and its wait.
            let _state = woken.state.lock();
            woken.changed.notify_all();
        });
        let question = Question::new(cancel.clone(), self.failure_log(method), move |answer| {
            given.give(answer, &closing)
        });
        let request = mcplink_request_t::new(method, &params).with_tag(by.tag());
        self.put(hook, request, question);
        let answer = waiting.wait(&cancel);
        drop(ends);
        let Some(answer) = answer else {
            return Err(RpcError::user_rejected("nobody wants the answer any more"));
        };
        serde_json::from_str(answer?.get()).map_err(|error| {
            RpcError::internal(format!("the answer to {method} can't be read: {error}"))
        })
    }

    /// Returns a function that logs the reason why the handler of a method failed.
    fn failure_log(&self, method: &str) -> Box<dyn Fn(&str) + Send + Sync> {
        let (hook, number, method) = (self.hooks.log.clone(), self.number, method.to_owned());
        Box::new(move |reason| {
            let record = LogRecord {
                level: LogLevel::Error,
                target: "client",
                text: &format!("{method}: its handler failed: {reason}"),
            };
            log::tell(hook.as_ref(), number, &record);
        })
    }

    /// Returns whether this thread runs the handler for a request that it received: it makes the
    /// call to which the request belongs. A legacy server does not say to which call its request
    /// belongs.
    fn is_answered_here(&self) -> bool {
        let is_modern = || {
            let client = self.client.get();
            client.is_some_and(|client| client.era() == Era::Modern)
        };
        !self.stage.is_pumped() && is_direct(self.number) && is_modern()
    }

    /// Runs the host's handler for a request of the server, on this thread or on the thread that
    /// runs the client's callbacks.
    fn put(&self, hook: &Arc<Hook<HandlerFn>>, request: mcplink_request_t, question: Question) {
        let pump = self.stage.is_pumped().then(|| Arc::clone(&self.stage));
        let responder =
            mcplink_responder_t::new(request, Call::Question(question), self.number, pump);
        let hook = Arc::clone(hook);
        let run = move || {
            // Skip a handler whose request was cancelled before it started.
            if !responder.is_cancelled() {
                responder.run(|request, responder| {
                    // SAFETY: the header requires valid arguments.
                    unsafe { (hook.callback)(hook.user.ptr(), request, responder) };
                });
            }
        };
        if self.is_answered_here() {
            run();
        } else {
            self.stage.post(Kind::Question, run);
        }
    }

    fn elicit(&self, params: ElicitRequestParams, by: &Requester) -> ElicitResult {
        let hook = match &params {
            ElicitRequestParams::Url(_) => &self.hooks.elicit_url,
            _ => &self.hooks.elicit,
        };
        let answer = hook
            .as_ref()
            .map(|hook| self.ask(hook, method::ELICITATION_CREATE, &params, by));
        // An elicitation has no error result, so a failure is reported as "cancel".
        answer
            .and_then(Result::ok)
            .unwrap_or_else(ElicitResult::cancel)
    }
}

/// Registers the host's handlers for requests of the server with the builder of the client.
pub(super) fn attach(builder: ClientBuilder, shared: &Arc<Shared>) -> ClientBuilder {
    let askers = shared.hooks.askers.iter();
    askers.fold(builder, |builder, (_, asker)| asker(builder, shared))
}

fn freed() -> RpcError {
    RpcError::internal("the client was freed")
}

fn ask_forms(builder: ClientBuilder, shared: &Arc<Shared>) -> ClientBuilder {
    if shared.hooks.elicit.is_none() {
        return builder;
    }
    let me = Arc::downgrade(shared);
    builder.on_elicit(move |params, by| {
        let Some(me) = me.upgrade() else {
            return ElicitResult::cancel();
        };
        me.elicit(ElicitRequestParams::Form(params.clone()), by)
    })
}

fn ask_pages(builder: ClientBuilder, shared: &Arc<Shared>) -> ClientBuilder {
    if shared.hooks.elicit_url.is_none() {
        return builder;
    }
    let me = Arc::downgrade(shared);
    builder.on_elicit_url(move |params, by| {
        let Some(me) = me.upgrade() else {
            return ElicitResult::cancel();
        };
        me.elicit(ElicitRequestParams::Url(params.clone()), by)
    })
}

fn ask_models(builder: ClientBuilder, shared: &Arc<Shared>) -> ClientBuilder {
    let Some(hook) = &shared.hooks.sample else {
        return builder;
    };
    let (me, hook) = (Arc::downgrade(shared), Arc::downgrade(hook));
    builder.on_sample(move |params, by| -> Result<CreateMessageResult, RpcError> {
        let (me, hook) = me.upgrade().zip(hook.upgrade()).ok_or_else(freed)?;
        me.ask(&hook, method::SAMPLING_CREATE_MESSAGE, params, by)
    })
}

fn ask_roots(builder: ClientBuilder, shared: &Arc<Shared>) -> ClientBuilder {
    let Some(hook) = &shared.hooks.roots else {
        return builder;
    };
    let (me, hook) = (Arc::downgrade(shared), Arc::downgrade(hook));
    builder.on_list_roots(move |by| -> Result<Vec<Root>, RpcError> {
        let (me, hook) = me.upgrade().zip(hook.upgrade()).ok_or_else(freed)?;
        let params = serde_json::Map::new();
        let roots = me.ask(&hook, method::ROOTS_LIST, &params, by);
        roots.map(|roots: ListRootsResult| roots.roots)
    })
}

fn ask_methods(builder: ClientBuilder, shared: &Arc<Shared>) -> ClientBuilder {
    let hooks = shared.hooks.requests.iter();
    hooks.fold(builder, |builder, (method, hook)| {
        let (me, hook) = (Arc::downgrade(shared), Arc::downgrade(hook));
        builder.on_request(method.clone(), move |request, responder| {
            // Dropping the responder without an answer sends an internal error.
            let Some((me, hook)) = me.upgrade().zip(hook.upgrade()) else {
                return;
            };
            let cancel = responder.cancel_token().clone();
            let log = me.failure_log(request.method());
            let question = Question::new(cancel, log, move |answer| match answer {
                Ok(result) => responder.respond(&result),
                Err(error) => responder.refuse(&error),
            });
            let request = mcplink_request_t::new(request.method(), request.params());
            me.put(&hook, request, question);
        })
    })
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets which optional features of sampling the client declares to servers. The handler that
    /// was set with mcplink_client_options_on_sample must support these features. Default: no
    /// optional features.
    ///
    /// tools: true if the model may use tools that the server names.
    /// context: true if the handler adds the context that a server requests (includeContext).
    fn mcplink_client_options_set_sampling(tools: bool, context: bool) {
        options.build(|builder| builder.sampling_tools(tools).sampling_context(context));
    }

    /// Sets the handler for requests of one custom method that a server of the legacy era sends,
    /// for extensions of the protocol.
    ///
    /// method: the method.
    /// callback, user, destroy: see mcplink_client_options_on_elicit. The handler answers with any
    /// JSON value, or with an error.
    fn mcplink_client_options_on_request(
        method: *const c_char,
        callback: mcplink_handler_fn; user
    ) {
        let method = name(method, "method")?;
        let hook = Hook::new(callback, user);
        set_by_method(&mut options.hooks.requests, method, hook);
        options.hooks.ask_by(("requests", ask_methods));
    }

    /// Sets the handler for form elicitation (elicitation/create): the server asks the user with a
    /// form. The client declares this capability to servers.
    ///
    /// The params of the request are {"message":"...","requestedSchema":{...}}. Answer with
    /// mcplink_responder_json: {"action":"accept","content":{...}}, {"action":"decline"} or
    /// {"action":"cancel"}. If the handler answers with an error, the server receives the action
    /// "cancel". The responder may be kept until the user has answered: meanwhile the timeouts of
    /// the call are paused.
    ///
    /// All handlers for requests of the server run on the thread that runs the client's callbacks,
    /// one handler at a time. If that thread makes a blocking call, it runs handlers while it
    /// waits. There is one exception: in a client without a pump, a request of a modern server that
    /// belongs to a blocking call is handled on the calling thread. When the server cancels a
    /// request or the client is closed, the answer is not needed any more: see
    /// mcplink_responder_on_cancel.
    ///
    /// callback: the handler; NULL for no handler.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// options and all clients that use callback are freed.
    fn mcplink_client_options_on_elicit(callback: mcplink_handler_fn; user) {
        options.hooks.elicit = Hook::new(callback, user);
        options.hooks.ask_by(("elicit", ask_forms));
    }

    /// Sets the handler for URL elicitation (elicitation/create with a URL): the server asks the
    /// user to open a web page. The client declares this capability to servers.
    ///
    /// The params of the request are
    /// {"mode":"url","message":"...","url":"...","elicitationId":"..."}. The library does not open
    /// the page: show the whole URL, ask the user, and open the URL in a browser. Answer as in
    /// mcplink_client_options_on_elicit, without content. The answer "accept" means that the user
    /// agreed to open the page.
    ///
    /// options, callback, user, destroy: see mcplink_client_options_on_elicit.
    fn mcplink_client_options_on_elicit_url(callback: mcplink_handler_fn; user) {
        options.hooks.elicit_url = Hook::new(callback, user);
        options.hooks.ask_by(("elicit_url", ask_pages));
    }

    /// Sets the handler for sampling (sampling/createMessage): the server uses the client's model.
    /// The client declares this capability to servers.
    ///
    /// The params of the request are {"messages":[...],"maxTokens":100,...}. Answer with
    /// mcplink_responder_json:
    /// {"role":"assistant","content":{"type":"text","text":"..."},"model":"..."}, or refuse with
    /// mcplink_responder_fail, for example with MCPLINK_RPC_USER_REJECTED.
    ///
    /// options, callback, user, destroy: see mcplink_client_options_on_elicit.
    fn mcplink_client_options_on_sample(callback: mcplink_handler_fn; user) {
        options.hooks.sample = Hook::new(callback, user);
        options.hooks.ask_by(("sample", ask_models));
    }

    /// Sets the handler for roots (roots/list): the server requests the locations in which it may
    /// work. The client declares this capability to servers.
    ///
    /// The request has no params. Answer with mcplink_responder_json:
    /// {"roots":[{"uri":"file:///home/ada/project","name":"..."}]}. When the roots change, call
    /// mcplink_client_roots_changed.
    ///
    /// options, callback, user, destroy: see mcplink_client_options_on_elicit.
    fn mcplink_client_options_on_list_roots(callback: mcplink_handler_fn; user) {
        options.hooks.roots = Hook::new(callback, user);
        options.hooks.ask_by(("roots", ask_roots));
    }
}
