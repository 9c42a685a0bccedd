//! Started calls: the non-blocking form of a call.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use super::call_options::{copied, mcplink_call_options_t};
use super::calling::{LatestProgress, Prepare, Request, Work, judged};
use super::shared::{Shared, mcplink_client_t};
use crate::cffi::arg::span;
use crate::cffi::callers::Admission;
use crate::cffi::entry::{Outcome, caught, ffi};
use crate::cffi::error::{Failure, mcplink_error_t};
use crate::cffi::handle::{Gate, Handled, Lent, Tagged, enter, entering, free_handle, visit};
use crate::cffi::queue::Kind;
use crate::cffi::result::{self, SharedResult, mcplink_result_t};
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{missing, optional};
use crate::cffi::user::{Callback, Hook, Inside, UserData, call_back, mcplink_destroy_fn};
use crate::client::{CallListener, Client};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{CancelToken, OnCancel, Progress, WatchedCall};
use crate::sync::{Condvar, Mutex};

/// A started call. The handle may be freed at any time; the call continues.
pub struct mcplink_call_t {
    gate: Gate,
    started: Arc<Started>,
}

handle!(mcplink_call_t is Call);

/// Receives the outcome of a started call, exactly once.
///
/// call: the handle of the call; NULL when the handle was freed or not requested.
/// status: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; otherwise the status of err.
/// result, err: valid until the callback returns; one of them is NULL.
pub type mcplink_done_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        call: *mut mcplink_call_t,
        status: mcplink_status_t,
        result: *const mcplink_result_t,
        err: *const mcplink_error_t,
    ),
>;

type DoneFn = Callback<mcplink_done_fn>;

/// The state shared by the handle of a started call and the call itself.
struct Started {
    id: u64,
    /// The client. The reference is weak, so that a call does not keep a freed client alive.
    shared: Weak<Shared>,
    token: CancelToken,
    /// The slot handle of the call; NULL if the host requested no handle. After the host has freed
    /// the handle, the value is stale.
    handle: AtomicPtr<mcplink_call_t>,
    state: Mutex<State>,
    /// The registrations that cancel and time the call, for a call that has no thread.
    kept: OnceLock<(Option<OnCancel>, Option<WatchedCall>)>,
    /// Notified after the outcome was set or the handle was freed. Both happen under the lock of
    /// `state`, so a waiter can't miss the notification.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Arc<Outcome<SharedResult>>>,
    is_freed: bool,
    /// The threads that wait for one of several calls.
    watches: Vec<Arc<Watch>>,
}

/// Wakes a thread that waits for one of several calls.
#[derive(Default)]
struct Watch {
    /// Whether a call has changed since the thread last looked. A waiter checks this under the lock
    /// before it waits, so a notification can't be lost.
    fired: Mutex<bool>,
    changed: Condvar,
}

impl Handled for mcplink_call_t {
    fn begin_close(&self) {
        self.started.state.lock().is_freed = true;
        self.started.look_again();
    }

    /// Does not cancel the call: the call continues when its handle is freed.
    fn close(&self) {
        self.begin_close();
    }
}

impl Started {
    fn new(shared: &Arc<Shared>) -> Arc<Self> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            shared: Arc::downgrade(shared),
            token: CancelToken::new(),
            handle: AtomicPtr::default(),
            state: Mutex::default(),
            kept: OnceLock::new(),
            changed: Condvar::new(),
        })
    }

    /// Makes the handle of the call, which is passed to the host's callback too.
    fn lend(self: &Arc<Self>) -> Lent<mcplink_call_t> {
        let handle = Lent::new(Arc::new(mcplink_call_t {
            gate: Gate::new(),
            started: Arc::clone(self),
        }));
        self.handle.store(handle.handle(), Ordering::Release);
        handle
    }

    fn look_again(&self) {
        self.changed.notify_all();
        let watches = self.state.lock().watches.clone();
        for watch in watches {
            *watch.fired.lock() = true;
            watch.changed.notify_all();
        }
        if let Some(shared) = self.shared.upgrade() {
            shared.stage.look_again();
        }
    }

    /// Stores the outcome of the call, wakes waiting threads, and posts the done function.
    fn end(
        self: &Arc<Self>,
        shared: &Shared,
        outcome: Outcome<SharedResult>,
        done: Option<Arc<Hook<DoneFn>>>,
    ) {
        let outcome = Arc::new(outcome);
        self.state.lock().outcome = Some(Arc::clone(&outcome));
        self.look_again();
        let Some(done) = done else { return };
        let (me, number) = (Arc::clone(self), shared.number);
        shared.stage.post(Kind::Call, move || {
            let call = match me.state.lock().is_freed {
                true => ptr::null_mut(),
                false => me.handle.load(Ordering::Acquire),
            };
            tell(number, &done, call, &outcome);
        });
    }

    /// Blocks until the call has an outcome; returns `None` at the deadline. Fails if another
    /// thread frees the handle.
    fn wait(&self, deadline: Option<Instant>) -> Outcome<Option<Arc<Outcome<SharedResult>>>> {
        let over = |state: &State| state.outcome.is_some() || state.is_freed;
        // The thread that runs the client's callbacks must answer requests of the server meanwhile.
        // Otherwise the call would wait for the server, and the server for this thread.
        let home = self
            .shared
            .upgrade()
            .filter(|shared| shared.stage.is_home());
        if let Some(shared) = home {
            let stage = &shared.stage;
            stage.serve_questions(deadline, || over(&self.state.lock()));
        }
        let mut state = self.state.lock();
        while !over(&state) && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            state = self.changed.wait_until(state, deadline);
        }
        match &state.outcome {
            Some(outcome) => Ok(Some(Arc::clone(outcome))),
            None if state.is_freed => {
                let text = "the handle of the call was freed by another thread";
                Err(Error::new(ErrorKind::Closed, text).into())
            }
            None => Ok(None),
        }
    }
}

fn tell(
    number: u64,
    done: &Hook<DoneFn>,
    call: *mut mcplink_call_t,
    outcome: &Outcome<SharedResult>,
) {
    let user = done.user.ptr();
    match outcome {
        Ok(result) => {
            let status = result.status().code();
            // SAFETY: the header requires valid arguments.
            call_back(number, || unsafe {
                (done.callback)(user, call, status, result.as_ptr(), ptr::null());
            });
        }
        Err(failure) => {
            let status = failure.code();
            let error = Tagged::new(mcplink_error_t::from(failure.clone()));
            // SAFETY: the header requires valid arguments.
            call_back(number, || unsafe {
                (done.callback)(user, call, status, ptr::null(), error.as_ptr());
            });
        }
    }
}

/// Starts a call. All functions whose names end in `_start` call this function.
///
/// # Safety
///
/// Each pointer is NULL, or meets the requirements of the C header.
pub(super) unsafe fn start(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    done: (mcplink_done_fn, *mut c_void, mcplink_destroy_fn),
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
    request: impl FnOnce(&mcplink_client_t) -> Outcome<Request>,
) -> mcplink_status_t {
    let (callback, user, destroy) = done;
    let user = UserData::new(user, destroy);
    // SAFETY: the safety contract of this function.
    unsafe {
        ffi(err, || {
            if !out.is_null() {
                out.write(ptr::null_mut());
            }
            let client = enter(client, "client")?;
            let options = copied(options)?;
            let request = request(&client)?;
            let done = Hook::new(callback, user);
            let call = begin(&client, options, request, done, !out.is_null())?;
            if let Some(call) = call {
                out.write(call);
            }
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Starts to close the client. `done` gets an empty result.
pub(super) fn start_close(
    client: &mcplink_client_t,
    done: Option<Arc<Hook<DoneFn>>>,
) -> Outcome<()> {
    let number = client.shared.number;
    // `destroy` of the host must not run inside `Shared::start_close`.
    let _kept = done.clone();
    let tell_done = move || {
        if let Some(done) = done {
            tell(
                number,
                &done,
                ptr::null_mut(),
                &Ok(mcplink_result_t::empty()),
            );
        }
    };
    let callers = client.callers.clone();
    Ok(client.shared.start_close(callers, tell_done)?)
}

fn begin(
    client: &mcplink_client_t,
    mut options: mcplink_call_options_t,
    request: Request,
    done: Option<Arc<Hook<DoneFn>>>,
    is_wanted: bool,
) -> Outcome<Option<*mut mcplink_call_t>> {
    client.shared.check_usable()?;
    let started = Started::new(&client.shared);
    let handle = is_wanted.then(|| started.lend());
    let connected = client.shared.client.get();
    let connected = connected.filter(|connected| !request.needs_thread(connected));
    match (request, connected) {
        (
            Request {
                method,
                work: Work::Request(prepare),
                ..
            },
            Some(connected),
        ) => {
            let admission = client.callers.admit()?;
            let receiver = Receiver {
                progress: options.progress.take().map(LatestProgress::new),
                done,
                admission,
            };
            let listener = Arc::new(Listener {
                started,
                shared: Arc::clone(&client.shared),
                method,
                receiver: Mutex::new(Some(receiver)),
            });
            begin_without_thread(connected, &options, prepare, &listener);
        }
        (request, _) => begin_on_thread(client, options, request, done, started)?,
    }
    Ok(handle.map(Lent::into_owned))
}

/// Starts a call that has no thread while it is under way.
fn begin_without_thread(
    connected: &Client,
    options: &mcplink_call_options_t,
    prepare: Prepare,
    listener: &Arc<Listener>,
) {
    let started = &listener.started;
    let tied = options.cancel.as_ref().map(|token| {
        let own = started.token.clone();
        token.on_trigger(move || own.cancel())
    });
    let mut settings = options.build(None, Some(&started.token), None::<fn(Progress)>);
    let watched = caught(|| {
        let prepared = prepare(connected, &mut settings)?;
        let callbacks = Arc::clone(listener) as Arc<dyn CallListener<_>>;
        Ok(connected.start_listened(prepared, settings, callbacks)?)
    });
    match watched {
        // The value was not set before.
        Ok(watched) => _ = started.kept.set((tied, watched)),
        Err(failure) => listener.finish(Err(failure)),
    }
}

/// Starts a call that has a thread while it is under way.
fn begin_on_thread(
    client: &mcplink_client_t,
    options: mcplink_call_options_t,
    request: Request,
    done: Option<Arc<Hook<DoneFn>>>,
    started: Arc<Started>,
) -> Outcome<()> {
    let shared = Arc::clone(&client.shared);
    let (method, work) = (request.method, request.work);
    let withdraw = request.is_ordered.then(|| {
        let (started, shared, method) = (Arc::clone(&started), Arc::clone(&shared), method.clone());
        let (done, cancel) = (done.clone(), options.cancel.clone());
        (started.token.clone(), cancel, move || {
            let text = "the call was cancelled before its turn: nothing was sent";
            let failure = Failure::from(Error::new(ErrorKind::Cancelled, text));
            started.end(&shared, Err(failure.of(&method)), done);
        })
    });
    let run = move || {
        let (own, here) = (started.token.clone(), Arc::clone(&shared));
        // The closure drops the options before the outcome is reported, so that the host's
        // `destroy` has run by then.
        let outcome = caught(move || {
            let _tied = options.cancel.as_ref().map(|token| {
                let own = own.clone();
                token.on_trigger(move || own.cancel())
            });
            let on_progress = options.progress.clone().map(|hook| {
                let (latest, shared) = (LatestProgress::new(hook), Arc::clone(&here));
                move |progress| _ = latest.post(&shared, progress)
            });
            let timeouts = options.timeouts(here.timeouts);
            let (connected, rest) = here.await_client(timeouts, Some(&own))?;
            let options = options.build(rest, Some(&own), on_progress);
            judged(work.make(connected, options), &here, Some(&own))
        });
        started.end(
            &shared,
            outcome.map_err(|failure| failure.of(&method)),
            done,
        );
    };
    match withdraw {
        Some((token, cancel, withdraw)) => {
            start_in_order(client, run, withdraw, &token, cancel.as_ref())
        }
        None => Ok(client.callers.start(run)?),
    }
}

/// Receives the progress and the outcome of a started call that has no thread, and passes them to
/// the host.
struct Listener {
    started: Arc<Started>,
    shared: Arc<Shared>,
    method: Cow<'static, str>,
    /// The functions of the host; `None` after the call has ended.
    receiver: Mutex<Option<Receiver>>,
}

/// The functions of the host that receive the progress and the outcome of a call.
struct Receiver {
    progress: Option<LatestProgress>,
    done: Option<Arc<Hook<DoneFn>>>,
    /// Dropped after the outcome was posted. So a client that is being closed has posted all
    /// outcomes when no call is under way.
    admission: Admission,
}

impl Listener {
    fn finish(&self, outcome: Outcome<SharedResult>) {
        let Some(receiver) = self.receiver.lock().take() else {
            return;
        };
        let Receiver {
            progress,
            done,
            admission,
        } = receiver;
        // The host's `destroy` runs on the thread that runs callbacks, before `done`.
        if let Some(progress) = progress {
            let (stage, number) = (&self.shared.stage, self.shared.number);
            stage.post(Kind::Call, move || _ = call_back(number, || drop(progress)));
        }
        let outcome = outcome.map_err(|failure| failure.of(&self.method));
        self.started.end(&self.shared, outcome, done);
        drop(admission);
    }
}

impl CallListener<SharedResult> for Listener {
    fn report(&self, progress: Progress) -> bool {
        let receiver = self.receiver.lock();
        let latest = receiver.as_ref().and_then(|it| it.progress.clone());
        drop(receiver);
        let _inside = Inside::of(self.shared.number);
        latest.is_some_and(|latest| latest.post(&self.shared, progress))
    }

    fn end(&self, outcome: Result<SharedResult>) {
        // Posting runs the host's function that wakes its pump. It may free the client, which waits
        // for this call to end.
        let _inside = Inside::of(self.shared.number);
        self.finish(judged(outcome, &self.shared, Some(&self.started.token)));
    }

    fn enter(&self) -> Box<dyn Any> {
        Box::new(Inside::of(self.shared.number))
    }
}

/// Starts a call that may wait for its turn. If the call is cancelled meanwhile, `withdraw` ends
/// the call at once, on the thread that cancels, and its turn does nothing.
fn start_in_order(
    client: &mcplink_client_t,
    run: impl FnOnce() + Send + 'static,
    withdraw: impl FnOnce() + Send + 'static,
    token: &CancelToken,
    cancel: Option<&CancelToken>,
) -> Outcome<()> {
    // The call is ended by the turn, the cancellation or the failed start: by the first that takes
    // the pair.
    let waiting = Arc::new(Mutex::new(Some((run, withdraw))));
    let (turn, failed) = (Arc::clone(&waiting), Arc::clone(&waiting));
    let own = token.clone();
    let tied = cancel.map(|cancel| cancel.on_trigger(move || own.cancel()));
    let watch = token.on_trigger(move || {
        let taken = waiting.lock().take();
        if let Some((run, withdraw)) = taken {
            // The options of the host end before the call is over.
            drop(run);
            withdraw();
        }
    });
    let started = client.callers.start_in_order(move || {
        let taken = turn.lock().take();
        drop((tied, watch));
        if let Some((run, withdraw)) = taken {
            // The user data of the host ends with the last reference, behind the callback.
            drop(withdraw);
            run();
        }
    });
    match started {
        // A call that was cancelled before has its outcome already, so it counts as started.
        Err(error) if failed.lock().take().is_some() => Err(error.into()),
        _ => Ok(()),
    }
}

actions! {
    entering(call: mcplink_call_t);

    /// Cancels a call: the call fails with MCPLINK_E_CANCELLED, unless it has ended already. The
    /// server is notified.
    ///
    /// reason: one sentence for the server; NULL for no reason.
    fn mcplink_call_cancel(reason: *const c_char) {
        match optional(reason, "reason")? {
            Some(reason) => call.started.token.trigger_because(reason),
            None => call.started.token.cancel(),
        }
    }
}

/// Waits for the outcome of a call. The call's done function may run before or after this function
/// returns. The function may be called again, also by several threads.
///
/// timeout_ms: the maximum time to wait, in milliseconds; MCPLINK_FOREVER to wait until the call
/// ends.
/// out: receives the result, or NULL without a result; the caller frees it with
/// mcplink_result_free. May be NULL.
/// Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result, MCPLINK_PENDING after the timeout, or
/// the status of the call's failure. MCPLINK_E_CLOSED also when another thread frees the handle.
/// Threads: any; on the thread that runs the client's callbacks, this function handles requests
/// from the server while it waits. Blocks: until the outcome is known or the timeout is over.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_call_wait(
    call: *mut mcplink_call_t,
    timeout_ms: u32,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires a call of this library, and that `out` and `err` are NULL or can
    // be written to.
    unsafe {
        ffi(err, || {
            if !out.is_null() {
                out.write(ptr::null_mut());
            }
            let call = enter(call, "call")?;
            let deadline = Instant::now().checked_add(span(timeout_ms));
            let Some(outcome) = call.started.wait(deadline)? else {
                return Ok(mcplink_status::MCPLINK_PENDING);
            };
            match &*outcome {
                Err(failure) => Err(failure.clone()),
                Ok(result) => {
                    if !out.is_null() {
                        out.write(result::owned(Arc::clone(result)));
                    }
                    Ok(result.status())
                }
            }
        })
    }
}

/// Waits until one of several started calls has ended. The calls may be of several clients. Get the
/// outcome of the call with mcplink_call_wait, and leave the call out of the next wait.
///
/// calls, count: the calls, at least one.
/// timeout_ms: the maximum time to wait; 0 only checks, MCPLINK_FOREVER waits without limit.
/// index: receives the index of a call that has ended; count without one.
/// Returns: MCPLINK_OK; MCPLINK_PENDING when the time is over; MCPLINK_E_INVALID; MCPLINK_E_STATE
/// on a thread that runs the callbacks of one of the clients, which would wait for itself;
/// MCPLINK_E_CLOSED when another thread frees one of the calls.
/// Blocks: until a call has ended or the time is over.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_call_wait_any(
    calls: *const *mut mcplink_call_t,
    count: usize,
    timeout_ms: u32,
    index: *mut usize,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires an array of calls of this library, and that `index` and `err` are
    // NULL or can be written to.
    unsafe {
        ffi(err, || {
            if index.is_null() {
                return Err(missing("index").into());
            }
            index.write(count);
            if calls.is_null() {
                return Err(missing("calls").into());
            }
            if count == 0 || count > isize::MAX as usize / size_of::<*mut mcplink_call_t>() {
                return Err(Error::new(ErrorKind::Invalid, "there is no call to wait for").into());
            }
            let calls = std::slice::from_raw_parts(calls, count).iter();
            let calls: Vec<_> = calls
                .map(|call| enter(*call, "calls"))
                .collect::<Outcome<_>>()?;
            let deadline = Instant::now().checked_add(span(timeout_ms));
            let started: Vec<_> = calls.iter().map(|call| &*call.started).collect();
            let Some(found) = wait_any(&started, deadline)? else {
                return Ok(mcplink_status::MCPLINK_PENDING);
            };
            if started[found].state.lock().outcome.is_none() {
                let text = "the handle of a call was freed by another thread";
                return Err(Error::new(ErrorKind::Closed, text).into());
            }
            index.write(found);
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Waits until one of the calls has ended or was freed, and returns its index.
fn wait_any(calls: &[&Started], deadline: Option<Instant>) -> Outcome<Option<usize>> {
    let is_home = |call: &&Started| {
        let shared = call.shared.upgrade();
        shared.is_some_and(|shared| shared.stage.is_home())
    };
    if calls.iter().any(is_home) {
        let text =
            "this thread runs the callbacks of a client, which waiting would keep from running";
        return Err(Error::new(ErrorKind::State, text).into());
    }
    let watch = Arc::new(Watch::default());
    for call in calls {
        call.state.lock().watches.push(Arc::clone(&watch));
    }
    let is_over = |call: &&Started| {
        let state = call.state.lock();
        state.outcome.is_some() || state.is_freed
    };
    let found = loop {
        let found = calls.iter().position(is_over);
        if found.is_some() {
            break found;
        }
        let mut fired = watch.fired.lock();
        while !*fired && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            fired = watch.changed.wait_until(fired, deadline);
        }
        if !std::mem::take(&mut *fired) {
            break None;
        }
    };
    for call in calls {
        let mut state = call.state.lock();
        state.watches.retain(|known| !Arc::ptr_eq(known, &watch));
    }
    Ok(found)
}

getters! {
    visit(call: mcplink_call_t);

    /// Checks whether a call has ended.
    ///
    /// Returns: true if the call has ended; its done function may still have to run.
    fn mcplink_call_is_done() -> bool {
        call.started.state.lock().outcome.is_some()
    }

    /// Returns a number that identifies the call in this process.
    ///
    /// Returns: a number that the library assigned, from 1.
    fn mcplink_call_id() -> u64 {
        call.started.id
    }
}

/// Frees the handle of a call. The call continues, and its done function will still run. To stop
/// the call, cancel the call before freeing its handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_call_free(call: *mut mcplink_call_t) {
    // SAFETY: the header requires a call of this library, freed once.
    unsafe { free_handle(call) }
}
