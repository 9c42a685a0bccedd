//! How a call runs: on the calling thread, or on a thread of the client.
//!
//! If the client has handlers for requests of the server, the thread that runs the client's
//! callbacks makes no blocking call itself. That thread passes the call to another thread, and runs
//! the handlers while it waits. Otherwise the call would wait for the server, and the server for a
//! handler.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use super::call_options::{ProgressFn, copied, mcplink_call_options_t, tell};
use super::shared::{Shared, Timeouts, mcplink_client_t};
use crate::cffi::entry::{Outcome, caught, ffi};
use crate::cffi::error::{Failure, mcplink_error_t};
use crate::cffi::handle::{Entered, enter};
use crate::cffi::queue::Kind;
use crate::cffi::result::{self, SharedResult, mcplink_result_t};
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::missing;
use crate::cffi::user::Hook;
use crate::client::{CallOptions, Client, PreparedCall};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{CancelToken, Progress};
use crate::sync::Mutex;

/// A call that C makes.
pub(super) struct Request {
    pub(super) method: Cow<'static, str>,
    pub(super) work: Work,
    /// Whether the call, if it is started, waits for the ordered calls that were started before it.
    pub(super) is_ordered: bool,
    /// The tool that is called.
    tool: Option<String>,
}

/// How a call is made.
pub(super) enum Work {
    /// The call begins with a request. No thread has to wait for the response.
    Request(Prepare),
    /// The call waits for other events. It blocks its thread.
    Blocking(Block),
}

type Block = Box<dyn FnOnce(&Client, CallOptions<'_>) -> Result<SharedResult> + Send>;

pub(super) type Prepare =
    Box<dyn FnOnce(&Client, &mut CallOptions<'_>) -> Result<PreparedCall<SharedResult>> + Send>;

impl Work {
    /// Makes the call, and waits for its result.
    pub(super) fn make(
        self,
        client: &Client,
        mut options: CallOptions<'_>,
    ) -> Result<SharedResult> {
        match self {
            Self::Request(prepare) => prepare(client, &mut options)?.make(client, options),
            Self::Blocking(work) => work(client, options),
        }
    }
}

impl Request {
    fn of(method: Cow<'static, str>, work: Work) -> Self {
        Self {
            method,
            work,
            is_ordered: false,
            tool: None,
        }
    }

    /// Makes a call that begins with a request. `prepare` does not block, unless the call is one
    /// [of a tool](Self::of_tool).
    pub(super) fn new(
        method: impl Into<Cow<'static, str>>,
        prepare: impl FnOnce(&Client, &mut CallOptions<'_>) -> Result<PreparedCall<SharedResult>>
        + Send
        + 'static,
    ) -> Self {
        Self::of(method.into(), Work::Request(Box::new(prepare)))
    }

    /// Makes a call that blocks its thread.
    pub(super) fn blocking(
        method: &'static str,
        work: impl FnOnce(&Client, CallOptions<'_>) -> Result<SharedResult> + Send + 'static,
    ) -> Self {
        Self::of(method.into(), Work::Blocking(Box::new(work)))
    }

    /// Makes a call that changes the state of the connection. Started calls of this kind run one
    /// after the other, so that the server receives them in the order in which they were started.
    pub(super) fn in_order(
        method: &'static str,
        work: impl FnOnce(&Client, CallOptions<'_>) -> Result<SharedResult> + Send + 'static,
    ) -> Self {
        Self {
            is_ordered: true,
            ..Self::blocking(method, work)
        }
    }

    /// Sets the tool that is called.
    pub(super) fn of_tool(self, tool: String) -> Self {
        Self {
            tool: Some(tool),
            ..self
        }
    }

    /// Whether preparing the call may block.
    pub(super) fn needs_thread(&self, client: &Client) -> bool {
        let tool = self.tool.as_deref();
        tool.is_some_and(|tool| client.needs_compiling(tool))
    }
}

/// Makes a call and waits for its result. All blocking functions call this function. `out` receives
/// the result; `None` for a function that returns only a status.
///
/// # Safety
///
/// Each pointer is NULL, or meets the requirements of the C header.
pub(super) unsafe fn call(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    out: Option<*mut *mut mcplink_result_t>,
    err: *mut *mut mcplink_error_t,
    request: impl FnOnce(&mcplink_client_t) -> Outcome<Request>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    unsafe {
        ffi(err, || {
            if let Some(out) = out {
                if out.is_null() {
                    return Err(missing("out").into());
                }
                out.write(std::ptr::null_mut());
            }
            let client = enter(client, "client")?;
            let result = run(&client, copied(options)?, request(&client)?)?;
            let status = result.status();
            if let Some(out) = out {
                out.write(result::owned(result));
            }
            Ok(status)
        })
    }
}

/// Makes a blocking call, on this thread or on another thread.
pub(super) fn run(
    entered: &Entered<mcplink_client_t>,
    options: mcplink_call_options_t,
    request: Request,
) -> Outcome<SharedResult> {
    let shared = &entered.shared;
    let Request { method, work, .. } = request;
    let timeouts = options.timeouts(shared.timeouts);
    let (client, rest) = shared
        .await_client(timeouts, options.cancel.as_ref())
        .map_err(|error| Failure::from(error).of(&method))?;
    let outcome = if shared.hooks.has_questions() && shared.stage.is_home() {
        elsewhere(entered, client.clone(), options, rest, work)
    } else {
        let _mark = Direct::enter(shared.number);
        let on_progress = options
            .progress
            .as_deref()
            .map(|hook| |progress| tell(shared.number, hook, progress));
        let cancel = options.cancel.as_ref();
        let settings = options.build(rest, cancel, on_progress);
        judged(work.make(client, settings), shared, cancel)
    };
    outcome.map_err(|failure| failure.of(&method))
}

/// Makes the call on another thread, and meanwhile handles requests of the server on this thread.
fn elsewhere(
    entered: &Entered<mcplink_client_t>,
    client: Client,
    options: mcplink_call_options_t,
    rest: Option<Timeouts>,
    work: Work,
) -> Outcome<SharedResult> {
    let slot = Arc::new(Mutex::new(None));
    let latest = options.progress.clone().map(LatestProgress::new);
    let (filled, shared) = (Arc::clone(&slot), Arc::clone(&entered.shared));
    let reported = latest.clone();
    entered.callers.start(move || {
        let here = Arc::clone(&shared);
        // The closure drops the options before the outcome is stored, so that the host's `destroy`
        // has run by then.
        let outcome = caught(move || {
            let on_progress = reported.map(|latest| {
                let shared = Arc::clone(&here);
                move |progress| {
                    latest.put(progress);
                    shared.stage.look_again();
                }
            });
            let cancel = options.cancel.as_ref();
            let settings = options.build(rest, cancel, on_progress);
            judged(work.make(&client, settings), &here, cancel)
        });
        *filled.lock() = Some(outcome);
        shared.stage.look_again();
    })?;
    let has_progress = || latest.as_ref().is_some_and(LatestProgress::is_waiting);
    loop {
        let shared = &entered.shared;
        shared
            .stage
            .serve_questions(None, || slot.lock().is_some() || has_progress());
        // All progress was reported before the outcome, so it has to be read after the outcome.
        let outcome = slot.lock().take();
        if let Some(latest) = &latest {
            latest.tell(shared.number);
        }
        if let Some(outcome) = outcome {
            return outcome;
        }
    }
}

/// Returns the outcome of a call. If the client is being closed and has handlers for server
/// requests, the outcome becomes the error `Closed`, because the server may have made the result
/// without the answer of a handler. Without such handlers, only the error `Cancelled` becomes
/// `Closed`. If the token `cancel` was triggered, the outcome stays unchanged.
pub(super) fn judged<T>(
    outcome: Result<T>,
    shared: &Shared,
    cancel: Option<&CancelToken>,
) -> Outcome<T> {
    let is_ours = cancel.is_some_and(CancelToken::is_triggered);
    if is_ours || !shared.closing.is_triggered() {
        return outcome.map_err(Failure::from);
    }
    let closed = "the client was closed during the call";
    match outcome {
        Ok(_) if shared.hooks.has_questions() => Err(Error::new(ErrorKind::Closed, closed).into()),
        Err(error) if error.kind() == ErrorKind::Cancelled || shared.hooks.has_questions() => {
            Err(error.with_kind(ErrorKind::Closed).into())
        }
        outcome => outcome.map_err(Failure::from),
    }
}

/// The latest progress of a call, until a thread passes it to the host's progress function. Newer
/// progress replaces progress that still waits.
#[derive(Clone)]
pub(super) struct LatestProgress {
    hook: Arc<Hook<ProgressFn>>,
    waiting: Arc<Mutex<Option<Progress>>>,
}

impl LatestProgress {
    pub(super) fn new(hook: Arc<Hook<ProgressFn>>) -> Self {
        Self {
            hook,
            waiting: Arc::default(),
        }
    }

    /// Replaces the waiting progress. Returns whether no progress was waiting.
    fn put(&self, progress: Progress) -> bool {
        self.waiting.lock().replace(progress).is_none()
    }

    fn is_waiting(&self) -> bool {
        self.waiting.lock().is_some()
    }

    /// Runs the host's progress function, if progress waits.
    fn tell(&self, number: u64) {
        let newest = self.waiting.lock().take();
        if let Some(newest) = newest {
            tell(number, &self.hook, newest);
        }
    }

    /// Replaces the waiting progress, and posts the host's progress function unless it is posted
    /// already. Returns whether progress was replaced.
    pub(super) fn post(&self, shared: &Shared, progress: Progress) -> bool {
        let is_first = self.put(progress);
        if is_first {
            let (me, number) = (self.clone(), shared.number);
            shared.stage.post(Kind::Call, move || me.tell(number));
        }
        !is_first
    }
}

thread_local! {
    /// The numbers of the clients on which this thread makes blocking calls. The last entry belongs
    /// to the innermost call.
    static DIRECT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Marks this thread as making a blocking call of a client, until the value is dropped. If a modern
/// server requests input for the call, this thread handles the request, unless the client has a
/// pump.
struct Direct;

impl Direct {
    fn enter(number: u64) -> Self {
        // During the teardown of thread-locals the mark can't be set; requests are posted to the
        // callback executor then.
        _ = DIRECT.try_with(|direct| direct.borrow_mut().push(number));
        Self
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        _ = DIRECT.try_with(|direct| direct.borrow_mut().pop());
    }
}

/// Returns whether the innermost blocking call of this thread is a call of the client with this
/// number.
pub(super) fn is_direct(number: u64) -> bool {
    DIRECT
        .try_with(|direct| direct.borrow().last() == Some(&number))
        .unwrap_or(false)
}

/// Runs `act` with the connected client. Adds the name of the method to an error that `act`
/// returns.
///
/// # Safety
///
/// Each pointer is NULL, or meets the requirements of the C header.
pub(super) unsafe fn act(
    client: *mut mcplink_client_t,
    err: *mut *mut mcplink_error_t,
    method: &str,
    act: impl FnOnce(&Entered<mcplink_client_t>, &Client) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    unsafe {
        ffi(err, || {
            let client = enter(client, "client")?;
            let shared = &client.shared;
            let done = shared.await_client(shared.timeouts, None);
            done.map_err(Failure::from)
                .and_then(|(connected, _)| act(&client, connected))
                .map_err(|failure| failure.of(method))?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}
