//! The pump: runs callbacks on the host's own event loop.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::entry::{giving, told, value};
use super::error::mcplink_error_t;
use super::handle::{Fault, Gate, Handled, enter, free_handle, into_raw, slots, visit};
use super::queue::Queue;
use super::status::{mcplink_status, mcplink_status_t};
use super::user::{Hook, UserData, mcplink_destroy_fn, mcplink_notify_fn};

/// A queue that runs callbacks on a thread of the host's choice. One pump serves any number of
/// clients and servers.
///
/// Reading and writing stay on the threads of the library. Only the host's callbacks wait in the
/// pump, until the host dispatches it.
///
/// The thread of a pump is the last thread that dispatched the pump. Before the first dispatch, it
/// is the thread that made the pump, called mcplink_pump_fd or called mcplink_pump_wait, whichever
/// was last. A blocking call of a client on this thread runs the handlers for requests of the
/// server while it waits. A blocking call on another thread waits until the pump is dispatched.
pub struct mcplink_pump_t {
    gate: Gate,
    queue: Arc<Queue>,
}

handle!(mcplink_pump_t is Pump);

impl mcplink_pump_t {
    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}

impl Handled for mcplink_pump_t {
    fn begin_close(&self) {
        self.queue.set_notify(None);
    }

    /// Removes the notify function, and wakes a thread that waits for the pump. The queued
    /// callbacks remain, because they belong to other handles. When such a handle is freed, its
    /// callbacks are run.
    fn close(&self) {
        self.begin_close();
        if let Some(wakeup) = self.queue.wakeup() {
            wakeup.fire();
        }
    }
}

/// Makes a pump.
///
/// out: receives the pump, NULL on failure. The caller owns it and frees it with mcplink_pump_free,
/// after the handles that use it.
/// Returns: MCPLINK_OK, or MCPLINK_E_IO when the system has no free descriptor.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_new(
    out: *mut *mut mcplink_pump_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires that `out` and `err` are NULL or can be written to.
    unsafe {
        giving(out, err, || {
            Ok(into_raw(mcplink_pump_t {
                gate: Gate::new(),
                queue: Queue::with_wakeup()?,
            }))
        })
    }
}

/// Frees a pump. Free the clients and servers that use the pump first: when a handle is freed, its
/// callbacks that wait in the pump are run. If this function is called inside a callback that the
/// pump runs, it returns at once, and mcplink_pump_dispatch continues to its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_free(pump: *mut mcplink_pump_t) {
    // SAFETY: the header requires a pump of this library, freed once.
    unsafe { free_handle(pump) }
}

/// Returns the file descriptor to poll. The descriptor is readable while a callback waits. If the
/// pump was never dispatched, this thread becomes the thread of the pump: see mcplink_pump_t.
///
/// Returns: a descriptor that the pump owns; -1 for NULL. Poll the descriptor for reading, but
/// never read or close it. The descriptor stays readable until the pump is empty, so a program may
/// dispatch a few callbacks at a time. Sometimes the descriptor is readable although the pump is
/// empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_fd(pump: *const mcplink_pump_t) -> isize {
    value(-1, || {
        // SAFETY: the header requires a pump of this library.
        let pump = unsafe { visit(pump, "mcplink_pump_fd") };
        let wakeup = pump.and_then(|pump| {
            pump.queue.claim();
            Some(pump.queue.wakeup()?.raw())
        });
        wakeup.map_or(-1, |fd| fd as isize)
    })
}

/// Runs the waiting callbacks, in order, on this thread.
///
/// max_events: the maximum number of callbacks to run; values below 1 count as 1.
/// Returns: the number of callbacks that ran, or a negative status: MCPLINK_E_STATE when the pump
/// is being dispatched already, by another thread or by one of its own callbacks.
/// Threads: any, one at a time; best always the same thread. Blocks: while the callbacks run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_dispatch(pump: *mut mcplink_pump_t, max_events: i32) -> i32 {
    let mut count = 0;
    let status = told("mcplink_pump_dispatch", || {
        // SAFETY: the header requires a pump of this library.
        let pump = unsafe { enter(pump, "pump") }?;
        let most = usize::try_from(max_events).unwrap_or_default().max(1);
        count = pump.queue.dispatch(most)?;
        Ok(mcplink_status::MCPLINK_OK)
    });
    counted(status, count)
}

/// Waits until a callback can be dispatched with mcplink_pump_dispatch. This function is for
/// programs without an event loop. If the pump was never dispatched, this thread becomes the thread
/// of the pump: see mcplink_pump_t.
///
/// timeout_ms: the maximum time to wait, in milliseconds.
/// Returns: the number of callbacks that wait; 0 after the timeout, and after mcplink_pump_wakeup;
/// or a negative status.
/// Blocks: yes, until a callback waits or the timeout is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_wait(pump: *mut mcplink_pump_t, timeout_ms: u32) -> i32 {
    let mut count = 0;
    let status = told("mcplink_pump_wait", || {
        // SAFETY: the header requires a pump of this library.
        let pump = unsafe { enter(pump, "pump") }?;
        let deadline = Instant::now() + Duration::from_millis(timeout_ms.into());
        count = pump.queue.wait(Some(deadline))?;
        Ok(mcplink_status::MCPLINK_OK)
    });
    counted(status, count)
}

/// Wakes the host's event loop although no callback waits: makes the descriptor readable, and makes
/// mcplink_pump_wait return.
///
/// Returns: MCPLINK_OK; MCPLINK_E_FORKED in a forked process, where the function does nothing.
/// Threads: any, also in signal handlers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_wakeup(pump: *mut mcplink_pump_t) -> mcplink_status_t {
    let wake = |pump: &mcplink_pump_t| {
        // In a forked process the descriptor number may refer to another file by now.
        if pump.gate.is_foreign() {
            return mcplink_status::MCPLINK_E_FORKED;
        }
        if let Some(wakeup) = pump.queue.wakeup() {
            wakeup.fire();
        }
        mcplink_status::MCPLINK_OK
    };
    // A signal handler must not allocate or lock, so this looks at the pump without entering it.
    // SAFETY: the header requires a pump of this library.
    let woken = unsafe { slots::peek(pump, wake) };
    woken.unwrap_or_else(Fault::status).code()
}

/// Sets a function that is called when the pump has to be dispatched. This setting is for event
/// loops that receive messages and can't poll descriptors.
///
/// callback: called when the pump becomes non-empty, and at the end of each dispatch that leaves
/// callbacks in the pump. The callback must be quick, and make the event loop call
/// mcplink_pump_dispatch. It runs on any thread: a thread of the library, or a host thread inside a
/// function that queues a callback, such as this function, mcplink_pump_dispatch or
/// mcplink_http_serve. NULL removes the function.
/// user, destroy: passed to callback; destroy runs when another function is set or the pump is
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_set_notify(
    pump: *mut mcplink_pump_t,
    callback: mcplink_notify_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    told("mcplink_pump_set_notify", || {
        // SAFETY: the header requires a pump of this library.
        let pump = unsafe { enter(pump, "pump") }?;
        pump.queue.set_notify(Hook::new(callback, user));
        Ok(mcplink_status::MCPLINK_OK)
    })
}

fn counted(status: mcplink_status_t, count: usize) -> i32 {
    if status < 0 {
        status
    } else {
        i32::try_from(count).unwrap_or(i32::MAX)
    }
}
