//! Responders: each is the right to answer one request, exactly once. The module also has the
//! functions that a handler calls before it answers.
//!
//! **Invariant:** no lock is held while code of the host may run. Sending a message may run code of
//! the host: a transport or a log hook. So threads use the pending request through a reference,
//! without the lock. If an answer is given meanwhile, the thread that drops the last reference
//! sends the answer.

use std::ffi::c_char;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::arg;
use super::callback_executor::CallbackExecutor;
use super::entry::{Outcome, ffi, find, keep, need, plain, release, told};
use super::error::{Failure, mcplink_error_t};
use super::handle::{Lent, Process, slots};
use super::json::{Document, json_payload, mcplink_json_t, optional_json, shown};
use super::log::{self, level_of};
use super::pending_request::{Answer, Call};
use super::queue::Kind;
use super::request::mcplink_request_t;
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{filled, name, optional, payload};
use super::user::{call_back, mcplink_notify_fn};
use crate::cffi::entry::needing;
use crate::error::{Error, ErrorCode, ErrorKind, Result, RpcError};
use crate::protocol::{CancelToken, LogLevel, OnCancel};
use crate::schema::{ContentBlock, InputRequest};
use crate::server::{AskError, Context};
use crate::sync::Mutex;

/// A responder: the right to answer one request, exactly once, from any thread.
///
/// A handler borrows the responder until the handler returns. To answer later, the handler keeps
/// the responder with mcplink_responder_keep. If the handler returns without answering the request
/// or keeping the responder, the request is answered with an internal error. If the handler has
/// requested input from the client, the input requests are sent instead.
pub struct mcplink_responder_t {
    request: mcplink_request_t,
    /// The number of the handle to which the handler belongs.
    owner: u64,
    /// The callback executor, if the host dispatches a pump; otherwise `None`.
    pump: Option<Arc<CallbackExecutor>>,
    process: Process,
    cancel: CancelToken,
    slot: Mutex<Slot>,
    /// JSON values that were returned to the host, and that stay valid as long as the responder.
    shown: Mutex<Vec<Shown>>,
    on_cancel: Mutex<Option<OnCancel>>,
    /// The content blocks that the host has added to the answer.
    blocks: Mutex<Blocks>,
}

/// Content blocks for the answer of a tool call.
#[derive(Default)]
struct Blocks {
    all: Vec<ContentBlock>,
    /// The error of the first block that was refused. After a refusal no block is sent, because the
    /// answer would be incomplete.
    refusal: Option<Failure>,
}

object!(mcplink_responder_t is Responder);

struct Slot {
    /// The request to answer. `None` once the request is answered.
    call: Option<Arc<Call>>,
    /// Sends an answer that was given while other threads used the request.
    ///
    /// Invariant: every thread drops its reference to the request under the slot lock. So exactly
    /// one thread is the last, and that thread sends the answer. Otherwise the answer could be lost
    /// or sent twice.
    answer: Option<Box<dyn FnOnce(Call) + Send>>,
    /// The reason why the answer could not be delivered. A second attempt to answer returns this
    /// reason if it is `Closed` or `Cancelled`, and otherwise `State`.
    lost: Option<ErrorKind>,
    /// The reason why the client refused an input request of the handler.
    refused: Option<String>,
}

struct Shown {
    key: String,
    json: String,
    node: Box<Document>,
}

impl mcplink_responder_t {
    /// Makes the responder of a request. `owner` is the number of the handle to which the handler
    /// belongs.
    pub(super) fn new(
        request: mcplink_request_t,
        call: Call,
        owner: u64,
        pump: Option<Arc<CallbackExecutor>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            request,
            owner,
            pump,
            process: Process::this(),
            cancel: call.cancel_token().clone(),
            slot: Mutex::new(Slot {
                call: Some(Arc::new(call)),
                answer: None,
                lost: None,
                refused: None,
            }),
            shown: Mutex::default(),
            on_cancel: Mutex::default(),
            blocks: Mutex::default(),
        })
    }

    pub(super) fn request(&self) -> &mcplink_request_t {
        &self.request
    }

    /// Adds a content block to the answer of a tool call. A block that was refused is remembered.
    pub(super) fn add_block(&self, block: Outcome<ContentBlock>) -> Outcome<()> {
        if !self.look(|call| matches!(call, Call::Tool(..)))? {
            let text = "only calls of tools are answered with content blocks";
            return Err(Error::new(ErrorKind::Unsupported, text).into());
        }
        let mut blocks = self.blocks.lock();
        match block {
            Ok(block) => blocks.all.push(block),
            Err(failure) => {
                blocks.refusal.get_or_insert_with(|| failure.clone());
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Returns copies of the content blocks. Fails if a block was refused.
    pub(super) fn blocks(&self) -> Outcome<Vec<ContentBlock>> {
        let blocks = self.blocks.lock();
        match &blocks.refusal {
            Some(failure) => Err(failure.clone()),
            None => Ok(blocks.all.clone()),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_triggered()
    }

    /// Runs a handler of the host. If the handler neither answers nor keeps the request, the
    /// request is answered when the handler returns.
    pub(super) fn run(self: Arc<Self>, handler: impl FnOnce(*const mcplink_request_t, *mut Self)) {
        if let Some(fault) = self.request.fault() {
            // Answering fails if the peer no longer waits, which needs no handling.
            _ = self.answer(match self.request.is_of_tool() {
                true => Answer::ToolError(format!("invalid arguments: {fault}")),
                false => Answer::Error(RpcError::new(ErrorCode::INVALID_PARAMS, fault.to_string())),
            });
            return;
        }
        let owner = self.owner;
        let lent = Lent::with_part(self, |responder| &responder.request);
        let responder = lent.handle();
        // A foreign exception ends the process in `call_back`. A panic of a handler in Rust leaves
        // the request unanswered. Dropping the request then sends an internal error.
        _ = call_back(owner, || handler(slots::view_of(responder), responder));
    }

    /// Calls `look` with the pending request. Fails if the request was answered before. Another
    /// thread may answer the request while `look` runs. If this thread then drops the last
    /// reference, this function sends that answer.
    pub(super) fn look<R>(&self, look: impl FnOnce(&Call) -> R) -> Outcome<R> {
        self.process.check()?;
        let slot = self.slot.lock();
        let Some(call) = slot.call.clone() else {
            return Err(slot.why_not());
        };
        drop(slot);
        let seen = look(&call);
        let mut slot = self.slot.lock();
        if let Some(call) = Arc::into_inner(call) {
            let answer = slot.answer.take();
            drop(slot);
            if let Some(answer) = answer {
                answer(call);
            }
        }
        Ok(seen)
    }

    /// Makes an input request of the method `method`. Returns `None` while the answer is pending.
    pub(super) fn ask<T>(
        &self,
        method: &str,
        ask: impl FnOnce(&Context) -> Result<T, AskError>,
    ) -> Outcome<Option<T>> {
        let asked = self.look(|call| Some(ask(call.context()?)))?;
        match asked.ok_or_else(unsupported)? {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.is_pending() => Ok(None),
            Err(error) => {
                if error.refusal().is_some() {
                    self.slot.lock().refused = Some(error.to_string());
                }
                Err(refused(&error, method))
            }
        }
    }

    /// Sends the client a message about the request, unless the request is answered.
    fn tell(&self, tell: impl FnOnce(&Context)) -> Outcome<()> {
        let sent = self.look(|call| {
            let context = call.context()?;
            Some(context.check_open().map(|()| tell(context)))
        })?;
        Ok(sent.ok_or_else(unsupported)??)
    }

    /// Answers the request. If the answer is invalid, the request stays unanswered.
    pub(super) fn answer(&self, answer: Answer) -> Outcome<()> {
        let fitted = self.look(|call| call.fit(answer))??;
        let mut slot = self.slot.lock();
        let Some(call) = slot.call.take() else {
            return Err(slot.why_not());
        };
        match Arc::try_unwrap(call) {
            Ok(call) => {
                drop(slot);
                let given = call.give(fitted);
                if let Err(error) = &given {
                    self.slot.lock().lost = Some(error.kind());
                }
                given?;
            }
            Err(shared) => {
                // The answer is sent later, by the thread that drops the last reference; a failure
                // can't be returned there.
                slot.answer = Some(Box::new(move |call| _ = call.give(fitted)));
                drop(shared);
            }
        }
        Ok(())
    }

    /// Logs a mistake of the host, through the log hook of the server as long as the request is
    /// unanswered. `function` is the name of the C function.
    pub(super) fn report(&self, function: &str, failure: &Failure) {
        let Some(text) = failure.as_mistake(function) else {
            return;
        };
        let logged = self.look(|call| {
            let context = call.context()?;
            context.tell_host(LogLevel::Error, || text.clone());
            Some(())
        });
        if !matches!(logged, Ok(Some(()))) {
            log::tell_process(LogLevel::Warning, "handle", &text);
        }
    }

    /// Answers the request with an error, because the required scopes could not be checked. So the
    /// handler can't continue by mistake (fail closed). Returns the failure for the host.
    fn close_door(&self, failure: Failure) -> Failure {
        let failure = failure.context("mcplink_responder_require_scopes");
        // If the request is answered already, return the error about the earlier answer.
        let logged = self.look(|call| {
            if let Some(context) = call.context() {
                context.tell_host(LogLevel::Warning, || failure.to_string());
            }
        });
        let text = "the handler could not find out whether this is allowed";
        let closed = logged.and_then(|()| self.answer(Answer::Error(RpcError::internal(text))));
        closed.err().unwrap_or(failure)
    }

    /// Parses `json`, and returns its root node, which is valid as long as the responder.
    pub(super) fn show(&self, key: &str, json: &str) -> Result<*const mcplink_json_t> {
        let mut all = self.shown.lock();
        if let Some(known) = all.iter().find(|it| it.key == key && it.json == json) {
            return Ok(shown(Some(&known.node)));
        }
        let node = Box::new(Document::parse(json)?);
        let pointer = shown(Some(&node));
        all.push(Shown {
            key: key.to_owned(),
            json: json.to_owned(),
            node,
        });
        Ok(pointer)
    }
}

/// A handler of a tool that returns because the client refused its input request leaves the reason
/// to the model, as a handler in Rust does with the operator `?`.
impl Drop for mcplink_responder_t {
    fn drop(&mut self) {
        let slot = self.slot.get_mut();
        let is_of_tool = matches!(slot.call.as_deref(), Some(Call::Tool(..)));
        if let Some(why) = slot.refused.take()
            && is_of_tool
        {
            // Answering fails if the client no longer waits, which needs no handling.
            _ = self.answer(Answer::ToolError(why));
        }
    }
}

impl Slot {
    fn why_not(&self) -> Failure {
        let kind = self
            .lost
            .filter(|kind| matches!(kind, ErrorKind::Closed | ErrorKind::Cancelled));
        let text = "the request was answered already";
        Error::new(kind.unwrap_or(ErrorKind::State), text).into()
    }
}

pub(super) fn unsupported() -> Failure {
    let text = "only calls of tools, resources, prompts and completions on a server can do this";
    Error::new(ErrorKind::Unsupported, text).into()
}

/// Adds a reference to a responder, so that the request can be answered after its handler has
/// returned. So no thread of the host has to wait for the answer.
///
/// Returns: the same responder. The caller now owns a reference, and frees it with
/// mcplink_responder_free, once for each mcplink_responder_keep. The reference may outlive the
/// server or client.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_keep(
    responder: *mut mcplink_responder_t,
) -> *mut mcplink_responder_t {
    // SAFETY: the header requires a responder of this library.
    unsafe { keep(responder) }
}

/// Releases a reference to a responder. If the request is unanswered, releasing the last reference
/// sends an answer: the input requests if the handler has requested input, and otherwise an
/// internal error. In a forked process the function does nothing; see MCPLINK_E_FORKED.
///
/// responder: a responder that mcplink_responder_keep returned; may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_free(responder: *mut mcplink_responder_t) {
    // SAFETY: the header requires that the responder was kept, and is released once for each
    // mcplink_responder_keep.
    unsafe { release(responder, |responder| responder.process.is_foreign()) }
}

/// Returns the request that a responder answers.
///
/// Returns: a request that is valid as long as the responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_request(
    responder: *const mcplink_responder_t,
) -> *const mcplink_request_t {
    // SAFETY: the header requires a responder of this library.
    let responder =
        unsafe { find(responder, "mcplink_responder_request") }.map(|_| slots::view_of(responder));
    responder.unwrap_or(std::ptr::null())
}

getters! {
    find(responder: mcplink_responder_t);

    /// Checks whether the request was cancelled, or the peer has disconnected. The check is cheap,
    /// so a handler that works for long can poll it.
    ///
    /// Returns: true if the request was cancelled or the peer has disconnected; the handler should
    /// return then.
    fn mcplink_responder_is_cancelled() -> bool {
        responder.is_cancelled()
    }

    /// Returns a value that mcplink_responder_remember stored, in this run of the handler or in an
    /// earlier run.
    ///
    /// key: names the value.
    /// Returns: a node that is valid as long as the responder; NULL when no value is stored under
    /// this key, and after the answer.
    fn mcplink_responder_recall(key: *const c_char) -> *const mcplink_json_t {
        let key = name(key, "key").ok()?;
        let remembered = responder.look(|call| {
            let value = call.context()?.recall::<Box<RawValue>>(key);
            value.ok().flatten()
        });
        let value = remembered.ok().flatten()?;
        // Stored JSON can be parsed again, unless it is nested too deep.
        responder.show(key, value.get()).ok()?
    }
}

actions! {
    needing(responder: mcplink_responder_t);

    /// Sets a function that is called once when the peer cancels the request or disconnects.
    ///
    /// callback: called at once, on this thread, if the request is cancelled already. Otherwise the
    /// callback runs on the thread that dispatches the pump. Without a pump, the callback runs on a
    /// thread of the library, and should be quick. The callback may run while the request is being
    /// answered. NULL removes the function.
    /// user, destroy: passed to callback; destroy runs after the callback, when another function is
    /// set, or when the responder is freed.
    fn mcplink_responder_on_cancel(callback: mcplink_notify_fn; user) {
        responder.process.check()?;
        let before = responder.on_cancel.lock().take();
        drop(before);
        let Some(callback) = callback else {
            return Ok(());
        };
        let owner = responder.owner;
        let tell = move || {
            _ = call_back(owner, || callback(user.ptr()));
        };
        if responder.is_cancelled() {
            tell();
            return Ok(());
        }
        let guard = match responder.pump.clone() {
            Some(stage) => responder
                .cancel
                .on_trigger(move || stage.post(Kind::Call, tell)),
            None => responder.cancel.on_trigger(tell),
        };
        let before = responder.on_cancel.lock().replace(guard);
        drop(before);
    }

    /// Sends the client a progress notification, if the client requested progress.
    ///
    /// done: the progress so far; it must increase from call to call. If calls come too fast, some
    /// notifications are skipped, but never the last notification.
    /// total: the value of done when the work is complete; 0 when the total is unknown.
    /// message: a text for users; NULL for no text.
    /// Returns: MCPLINK_OK, also when the client did not request progress; MCPLINK_E_CANCELLED or
    /// MCPLINK_E_CLOSED when the client no longer waits for the answer; MCPLINK_E_STATE after the
    /// answer; MCPLINK_E_UNSUPPORTED for custom methods, and on a client.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_progress(done: f64, total: f64, message: *const c_char) {
        if !done.is_finite() || !total.is_finite() {
            let text = "progress is told in finite numbers";
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        let message = optional(message, "message")?;
        let total = (total != 0.0).then_some(total);
        responder.tell(|context| context.progress(done, total, message))?;
    }

    /// Sends the client a log message that belongs to the request. The message is sent if logging
    /// is enabled on the server and the client requested messages of this level.
    ///
    /// level: the severity of the message.
    /// text, len: the message; len may be MCPLINK_NUL for text that ends in NUL. It must not
    /// contain secrets that the client must not know.
    /// Returns: MCPLINK_OK, also when the client did not request the message; MCPLINK_E_CANCELLED
    /// or MCPLINK_E_CLOSED when the client no longer waits for the answer; MCPLINK_E_STATE after
    /// the answer; MCPLINK_E_UNSUPPORTED for custom methods, and on a client.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_log(level: arg::mcplink_log_level, text: *const c_char, len: usize) {
        let text = payload(text, len, "text")?;
        let level = level_of(level)?;
        responder.tell(|context| context.log(level, None, text))?;
    }

    /// Stores a value for later runs of the handler, so that a side effect happens only once: for
    /// example a payment, or the generation of an id.
    ///
    /// responder: the responder, of a call of a tool, resource or prompt.
    /// key: names the value.
    /// json, len: the value; len may be MCPLINK_NUL for text that ends in NUL. The value may be
    /// sent through the client, encrypted and authenticated.
    /// Returns: MCPLINK_OK, MCPLINK_E_INVALID when the value is not JSON, MCPLINK_E_STATE after the
    /// answer.
    fn mcplink_responder_remember(key: *const c_char, json: *const c_char, len: usize) {
        let (key, json) = (name(key, "key")?, json_payload(json, len, "json")?);
        let stored = responder.look(|call| Some(call.context()?.remember(key, &json)))?;
        let stored = stored.ok_or_else(unsupported)?;
        stored.map_err(|error| refused(&error, "tools/call"))?;
    }
}

/// Refuses the request unless these scopes were granted to the principal. This function is for a
/// handler that learns only at run time which scopes the request requires. Scopes that are known
/// beforehand are set with mcplink_server_require_scopes.
///
/// If the scopes of the principal are unknown, the request is not refused. Over HTTP, unknown
/// scopes count as no scopes, and the request is refused. Call this function before sending any
/// message: over HTTP the refusal is status 403, which is not possible once the response has begun.
///
/// scopes: all required scopes, separated by spaces.
/// Returns: MCPLINK_OK when all scopes were granted. MCPLINK_E_AUTH when a scope is missing: the
/// request was answered with the refusal, so return. MCPLINK_E_INVALID when scopes contains no
/// name, and MCPLINK_E_UNSUPPORTED for custom methods and on a client: the request was answered
/// with an internal error. MCPLINK_E_STATE after the answer.
/// Blocks: only while a client does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_require_scopes(
    responder: *mut mcplink_responder_t,
    scopes: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header requires a responder of this library.
    let responder = match unsafe { need(responder, "responder") } {
        Ok(responder) => responder,
        Err(failure) => return told("mcplink_responder_require_scopes", || Err(failure)),
    };
    plain(|| {
        // SAFETY: the header requires text that ends in NUL.
        let granted = unsafe { filled(scopes, "scopes") }
            .map_err(Failure::from)
            .and_then(|scopes| {
                let granted =
                    responder.look(|call| Some(call.context()?.require_scopes(&[scopes])))?;
                granted.ok_or_else(unsupported)
            });
        // The failure is logged there.
        let granted = granted.map_err(|failure| responder.close_door(failure))?;
        match granted {
            Ok(()) => Ok(mcplink_status::MCPLINK_OK),
            Err(refusal) => {
                let text = refusal.to_string();
                responder.answer(Answer::Error(refusal))?;
                Err(Error::new(ErrorKind::Auth, text).into())
            }
        }
    })
}

/// Requests input from the client: an answer of its user (elicitation/create), output of its model
/// (sampling/createMessage), or its roots (roots/list).
///
/// When the client's answers arrive, the handler is run again from its start, and this function
/// returns the answers. So the code before an input request runs again each time. To request
/// several inputs at once, call this function for each input before the handler returns.
///
/// responder: the responder, of a call of a tool, resource or prompt.
/// key: identifies this input request within the call.
/// method: the method, for example "elicitation/create".
/// params, len: the params of the method as JSON; len may be MCPLINK_NUL for text that ends in NUL.
/// NULL for no params.
/// out: receives the client's result, valid as long as the responder; NULL while the answer is
/// pending. May be NULL.
/// Returns: MCPLINK_OK with the answer; MCPLINK_PENDING when the answer has not arrived: return
/// without answering the request. MCPLINK_E_PEER when the client refused, MCPLINK_E_INVALID for an
/// invalid input request, MCPLINK_E_STATE after the request was answered. If the handler returns
/// without an answer after MCPLINK_E_PEER, the model of a tool call reads that the client refused.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_ask(
    responder: *mut mcplink_responder_t,
    key: *const c_char,
    method: *const c_char,
    params: *const c_char,
    len: usize,
    out: *mut *const mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments: text with its length, pointers that can be
    // written to, a responder of this library.
    unsafe {
        ffi(err, || {
            if !out.is_null() {
                out.write(std::ptr::null());
            }
            let responder = need(responder, "responder")?;
            let (key, method) = (name(key, "key")?, name(method, "method")?);
            let question = question(method, optional_json(params, len, "params")?)?;
            let Some(response) = responder.ask(method, |context| context.ask(key, question))?
            else {
                return Ok(mcplink_status::MCPLINK_PENDING);
            };
            let node = responder.show(key, response.as_str())?;
            if !out.is_null() {
                out.write(node);
            }
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

fn question(method: &str, params: Option<&RawValue>) -> Result<InputRequest> {
    #[derive(serde::Serialize)]
    struct Question<'a> {
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a RawValue>,
    }
    let text = serde_json::to_string(&Question { method, params });
    text.and_then(|text| serde_json::from_str(&text))
        .map_err(|error| {
            let text = format!("these are no params of {method}: {error}");
            Error::new(ErrorKind::Invalid, text)
        })
}

pub(super) fn refused(error: &AskError, method: &str) -> Failure {
    let failure = match (error.refusal(), error.failure()) {
        (Some(refusal), _) => Error::peer("client", method, refusal.clone()),
        (None, Some(failure)) => failure.clone(),
        (None, None) => Error::new(ErrorKind::State, error.to_string()),
    };
    Failure::from(failure).of(method)
}
