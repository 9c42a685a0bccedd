//! Callbacks of the host, and what belongs to them.

use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::json::mcplink_json_t;

/// Ends what a callback was given: runs exactly once, when the callback is replaced, when its owner is freed, and when it can't be
/// registered.
pub type mcplink_destroy_fn = Option<unsafe extern "C-unwind" fn(user: *mut c_void)>;

/// Takes something that happened: one of enum mcplink_event, and what is known of it. params is valid until the callback returns; NULL when
/// there is nothing to know. Ignore events that you don't know.
pub type mcplink_event_fn = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, event: i32, params: *const mcplink_json_t),
>;

/// What the host wants to see in its callback again. Every function that registers a callback makes one first, so that `destroy` runs
/// whatever comes of the registration.
#[derive(Debug)]
pub(super) struct UserData {
    ptr: *mut c_void,
    destroy: mcplink_destroy_fn,
}

// SAFETY: it is only passed through; the header says that it has to be usable from the threads that callbacks run on.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    pub(super) fn new(ptr: *mut c_void, destroy: mcplink_destroy_fn) -> Self {
        Self { ptr, destroy }
    }

    pub(super) fn ptr(&self) -> *mut c_void {
        self.ptr
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            let ptr = self.ptr;
            // SAFETY: the header says what `destroy` is given: the pointer that it was registered with, once.
            let run = || unsafe { destroy(ptr) };
            // Whatever comes out of it, there is nobody to tell.
            _ = catch_unwind(AssertUnwindSafe(run));
        }
    }
}

/// A callback of the host, with what belongs to it.
pub(super) struct Hook<F> {
    pub(super) callback: F,
    pub(super) user: UserData,
}

impl<F> Hook<F> {
    /// `None` without a callback; what belongs to it is ended then.
    pub(super) fn new(callback: Option<F>, user: UserData) -> Option<Arc<Self>> {
        callback.map(|callback| Arc::new(Self { callback, user }))
    }
}

thread_local! {
    /// The handles that this thread is inside of: it runs callbacks of theirs, or is in functions of theirs.
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, this thread is inside of a handle.
pub(super) struct Inside {
    handle: u64,
    /// It ends on the thread on which it began.
    here: PhantomData<*const ()>,
}

impl Inside {
    pub(super) fn of(handle: u64) -> Self {
        // While thread-locals are being torn down, nobody is told.
        _ = INSIDE.try_with(|inside| inside.borrow_mut().push(handle));
        Self {
            handle,
            here: PhantomData,
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        _ = INSIDE.try_with(|inside| {
            let mut inside = inside.borrow_mut();
            if let Some(at) = inside.iter().rposition(|known| *known == self.handle) {
                inside.remove(at);
            }
        });
    }
}

/// Runs a callback of the host that belongs to a handle. No lock of ours is held meanwhile. `None` when it panicked, which only a callback
/// written in Rust can.
///
/// An exception of another language ends the process with a message, here, at the border: it must not leave a callback.
pub(super) fn call_back<R>(handle: u64, callback: impl FnOnce() -> R) -> Option<R> {
    let _inside = Inside::of(handle);
    catch_unwind(AssertUnwindSafe(callback)).ok()
}

/// Whether this thread runs a callback of the handle, or is in a function of it, further up, which has called the host back.
pub(super) fn is_inside(handle: u64) -> bool {
    INSIDE
        .try_with(|inside| inside.borrow().contains(&handle))
        .unwrap_or(false)
}
