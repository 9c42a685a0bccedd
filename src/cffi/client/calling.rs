//! How a call runs: on the thread that makes it, or on one of the client's.
//!
//! A call of the thread that runs the client's callbacks is made by another thread when the server may ask something meanwhile: this one
//! answers, and waits.

use std::borrow::Cow;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::call_options::{ProgressFn, copied, mcplink_call_options_t, tell};
use super::{Shared, mcplink_client_t};
use crate::cffi::entry::{Outcome, ffi, panicked};
use crate::cffi::error::{Failure, mcplink_error_t};
use crate::cffi::handle::{Entered, enter};
use crate::cffi::queue::Kind;
use crate::cffi::result::mcplink_result_t;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::missing;
use crate::cffi::user::Hook;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{CallOptions, CancelToken, Progress};
use crate::sync::Mutex;

/// A call as it is to be made.
pub(super) struct Request {
    pub(super) method: Cow<'static, str>,
    pub(super) work: Work,
}

pub(super) type Work =
    Box<dyn FnOnce(&Client, CallOptions<'_>) -> Result<Arc<mcplink_result_t>> + Send>;

impl Request {
    pub(super) fn new(
        method: &'static str,
        work: impl FnOnce(&Client, CallOptions<'_>) -> Result<Arc<mcplink_result_t>> + Send + 'static,
    ) -> Self {
        Self {
            method: Cow::Borrowed(method),
            work: Box::new(work),
        }
    }
}

/// Where a result is wanted.
pub(super) enum Out {
    To(*mut *mut mcplink_result_t),
    /// There is nothing in it.
    Nowhere,
}

/// Makes a call and waits for its result: what all blocking functions do.
///
/// # Safety
///
/// The pointers are NULL, or what the header says of them.
pub(super) unsafe fn call(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    out: Out,
    err: *mut *mut mcplink_error_t,
    request: impl FnOnce() -> Outcome<Request>,
) -> mcplink_status_t {
    // SAFETY: the caller promises the same.
    unsafe {
        ffi(err, || {
            if let Out::To(out) = out {
                if out.is_null() {
                    return Err(missing("out").into());
                }
                out.write(std::ptr::null_mut());
            }
            let client = enter(client, "client")?;
            let result = run(&client, copied(options)?, request()?)?;
            let status = result.status();
            if let Out::To(out) = out {
                out.write(Arc::into_raw(result).cast_mut());
            }
            Ok(status)
        })
    }
}

/// Makes a call on behalf of this thread.
pub(super) fn run(
    entered: &Entered<mcplink_client_t>,
    options: mcplink_call_options_t,
    request: Request,
) -> Outcome<Arc<mcplink_result_t>> {
    let client = entered.client()?.clone();
    let shared = &entered.shared;
    let Request { method, work } = request;
    let outcome = if shared.hooks.has_questions() && shared.stage.is_home() {
        elsewhere(entered, client, options, work)
    } else {
        let _mark = Direct::enter(shared.number);
        let on_progress = options
            .progress
            .as_deref()
            .map(|hook| |progress| tell(shared.number, hook, progress));
        let cancel = options.cancel.as_ref();
        let settings = options.build(shared.timeouts, cancel, on_progress);
        judged(work(&client, settings), shared, cancel)
    };
    outcome.map_err(|failure| failure.of(&method))
}

/// Has another thread make the call, and answers what the server asks meanwhile, here.
fn elsewhere(
    entered: &Entered<mcplink_client_t>,
    client: Client,
    options: mcplink_call_options_t,
    work: Work,
) -> Outcome<Arc<mcplink_result_t>> {
    let slot = Arc::new(Mutex::new(None));
    let (filled, shared) = (Arc::clone(&slot), Arc::clone(&entered.shared));
    entered.callers.start(move || {
        let here = Arc::clone(&shared);
        // What belongs to the options is let go of before the outcome is there.
        let outcome = contained(move || {
            let on_progress = options.progress.clone().map(|hook| {
                let news = News::new(hook);
                let shared = Arc::clone(&here);
                // Like what a server asks, it is for the thread that waits.
                move |progress| news.post(&shared, Kind::Question, progress)
            });
            let cancel = options.cancel.as_ref();
            let settings = options.build(here.timeouts, cancel, on_progress);
            judged(work(&client, settings), &here, cancel)
        });
        *filled.lock() = Some(outcome);
        shared.stage.look_again();
    })?;
    let stage = &entered.shared.stage;
    stage.serve_questions(None, || slot.lock().is_some());
    let outcome = slot.lock().take();
    outcome.expect("it was waited for")
}

/// What a call comes to. One of a client that answers questions has ended with its client, whatever a question that nobody wanted to answer any
/// more has led to.
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

/// A panic of ours is a failure of the call alone.
pub(super) fn contained<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
}

/// Progress on its way to the thread of the callbacks: while one waits there, newer one takes its place.
pub(super) struct News {
    hook: Arc<Hook<ProgressFn>>,
    waiting: Arc<Mutex<Option<Progress>>>,
}

impl News {
    pub(super) fn new(hook: Arc<Hook<ProgressFn>>) -> Self {
        Self {
            hook,
            waiting: Arc::default(),
        }
    }

    pub(super) fn post(&self, shared: &Shared, kind: Kind, progress: Progress) {
        if self.waiting.lock().replace(progress).is_some() {
            return;
        }
        let (number, hook, waiting) = (
            shared.number,
            Arc::clone(&self.hook),
            Arc::clone(&self.waiting),
        );
        shared.stage.post(kind, move || {
            let newest = waiting.lock().take();
            if let Some(newest) = newest {
                tell(number, &hook, newest);
            }
        });
    }
}

thread_local! {
    /// The clients that this thread makes blocking calls of, innermost last.
    static DIRECT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, this thread makes a blocking call of a client: what its server asks for that call is asked here.
struct Direct;

impl Direct {
    fn enter(number: u64) -> Self {
        // While thread-locals are being torn down, questions go the other way.
        _ = DIRECT.try_with(|direct| direct.borrow_mut().push(number));
        Self
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        _ = DIRECT.try_with(|direct| direct.borrow_mut().pop());
    }
}

/// Whether this thread makes a blocking call of the client.
pub(super) fn is_direct(number: u64) -> bool {
    DIRECT
        .try_with(|direct| direct.borrow().last() == Some(&number))
        .unwrap_or(false)
}

/// A function that has nothing to give back, with its method.
///
/// # Safety
///
/// The pointers are NULL, or what the header says of them.
pub(super) unsafe fn act(
    client: *mut mcplink_client_t,
    err: *mut *mut mcplink_error_t,
    method: &str,
    act: impl FnOnce(&Entered<mcplink_client_t>, &Client) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the caller promises the same.
    unsafe {
        ffi(err, || {
            let client = enter(client, "client")?;
            let done = client.client().map_err(Failure::from);
            done.and_then(|connected| act(&client, connected))
                .map_err(|failure| failure.of(method))?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}
