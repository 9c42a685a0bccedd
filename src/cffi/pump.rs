//! The pump: callbacks on the host's own loop.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::entry::{giving, plain, value};
use super::error::mcplink_error_t;
use super::handle::{Gate, Handled, enter, free_handle, hand_out};
use super::queue::{Notify, Queue};
use super::status::{mcplink_status, mcplink_status_t};
use super::user::{UserData, mcplink_destroy_fn};

/// Brings callbacks to a thread of the host's choice. One pump serves any number of clients and servers.
///
/// Reading and writing stay on the threads of the library; only callbacks of the host wait in the pump, until the host dispatches it.
pub struct mcplink_pump_t {
    gate: Gate,
    queue: Arc<Queue>,
}

impl mcplink_pump_t {
    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}

impl Handled for mcplink_pump_t {
    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn begin_close(&self) {
        self.queue.set_notify(None);
    }

    /// What waits belongs to other handles, which bring it to its end.
    fn close(&self) {
        self.begin_close();
        if let Some(bell) = self.queue.bell() {
            bell.fire();
        }
    }
}

/// Makes a pump.
///
/// out: receives the pump, NULL after a failure. The caller's to free, after the handles that use it.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, or MCPLINK_E_IO when the system has no descriptor to spare. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_new(
    out: *mut *mut mcplink_pump_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says that both are NULL or can be written to.
    unsafe {
        giving(out, err, || {
            Ok(hand_out(mcplink_pump_t {
                gate: Gate::new(),
                queue: Queue::with_bell()?,
            }))
        })
    }
}

/// Frees a pump. Free the clients and servers that use it before: a callback that waits in it is run when its handle is freed. Called within
/// a callback that it runs it returns at once, and mcplink_pump_dispatch goes on to its end.
///
/// pump: NULL is fine. Threads: any; not while another thread uses it. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_free(pump: *mut mcplink_pump_t) {
    // SAFETY: the header says that it is a pump of ours, freed once.
    unsafe { free_handle(pump) }
}

/// What to poll: readable while a callback waits.
///
/// pump: the pump.
/// Returns: a descriptor that stays the pump's: poll it for reading, never read or close it. It is readable for as long as anything waits, so
/// that a program may dispatch some of it and come back; now and then it is readable for nothing. -1 for NULL. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_fd(pump: *const mcplink_pump_t) -> isize {
    value(-1, || {
        // SAFETY: the header says that it is a pump of ours.
        let pump = unsafe { enter(pump, "pump") };
        let bell = pump.ok().and_then(|pump| Some(pump.queue.bell()?.raw()));
        bell.map_or(-1, |fd| fd as isize)
    })
}

/// Runs the callbacks that wait, in order, on this thread.
///
/// pump: the pump.
/// max_events: how many at most, at least 1.
/// Returns: how many ran, or a negative status: MCPLINK_E_STATE when the pump is being dispatched already, by another thread or by one of its
/// own callbacks. Threads: any, one at a time; best always the same one. Blocks: as long as the callbacks do. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_dispatch(pump: *mut mcplink_pump_t, max_events: i32) -> i32 {
    let mut count = 0;
    let status = plain(|| {
        // SAFETY: the header says that it is a pump of ours.
        let pump = unsafe { enter(pump, "pump") }?;
        let most = usize::try_from(max_events).unwrap_or_default().max(1);
        count = pump.queue.dispatch(most)?;
        Ok(mcplink_status::MCPLINK_OK)
    });
    counted(status, count)
}

/// Waits until a callback waits to be dispatched, which mcplink_pump_dispatch does then: for programs without a loop of their own.
///
/// pump: the pump.
/// timeout_ms: for how long at most, in milliseconds.
/// Returns: how many callbacks wait; 0 when the time is over, and after mcplink_pump_wakeup; or a negative status. Threads: any. Blocks: yes,
/// for that long. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_wait(pump: *mut mcplink_pump_t, timeout_ms: u32) -> i32 {
    let mut count = 0;
    let status = plain(|| {
        // SAFETY: the header says that it is a pump of ours.
        let pump = unsafe { enter(pump, "pump") }?;
        let deadline = Instant::now() + Duration::from_millis(timeout_ms.into());
        count = pump.queue.wait(Some(deadline))?;
        Ok(mcplink_status::MCPLINK_OK)
    });
    counted(status, count)
}

/// Has the descriptor become readable, and mcplink_pump_wait return, though nothing waits.
///
/// pump: the pump.
/// Returns: MCPLINK_OK; MCPLINK_E_FORKED in a fork, where it does nothing. Threads: any, and signal handlers too. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_wakeup(pump: *mut mcplink_pump_t) -> mcplink_status_t {
    // In a signal handler nothing may be allocated or locked, so this looks at the pump without entering it.
    // SAFETY: the header says that it is NULL or a pump of ours, which lives.
    match unsafe { pump.as_ref() } {
        // Its descriptor may be another file's by now.
        Some(pump) if pump.gate.is_foreign() => mcplink_status::MCPLINK_E_FORKED.code(),
        Some(pump) => {
            if let Some(bell) = pump.queue.bell() {
                bell.fire();
            }
            mcplink_status::MCPLINK_OK.code()
        }
        None => mcplink_status::MCPLINK_E_INVALID.code(),
    }
}

/// Has a function called whenever the pump is to be dispatched: for loops that take messages instead of descriptors.
///
/// pump: the pump.
/// callback: called once for each change from nothing waiting to something waiting, and by each dispatch that has left something; it has to be
/// quick, and to have the loop call mcplink_pump_dispatch. It is called on any thread: one of the library's, or one of the host's that is in a
/// function which has a callback wait, such as this one, mcplink_pump_dispatch or mcplink_http_serve. NULL for none.
/// user, destroy: passed to callback, and ended when another function is set or the pump is freed.
/// Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_pump_set_notify(
    pump: *mut mcplink_pump_t,
    callback: Option<unsafe extern "C-unwind" fn(user: *mut c_void)>,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    plain(|| {
        // SAFETY: the header says that it is a pump of ours.
        let pump = unsafe { enter(pump, "pump") }?;
        pump.queue
            .set_notify(callback.map(|_| Notify::new(callback, user)));
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
