//! Callbacks of the host and their user data.

use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Releases the user data of a callback. The function runs exactly once: when the callback is
/// replaced, when the object with which it was registered is freed, or at once when the callback
/// can't be registered.
pub type mcplink_destroy_fn = Option<unsafe extern "C-unwind" fn(user: *mut c_void)>;

/// Notifies the host, without further details. The comment of the function that takes it says of
/// what, and on which thread it runs.
pub type mcplink_notify_fn = Option<unsafe extern "C-unwind" fn(user: *mut c_void)>;

/// The function of a callback type of C, which is an `Option`.
pub(super) type Callback<T> = <T as IntoIterator>::Item;

/// The `user` pointer of a callback, with its destructor. Every function that registers a callback
/// first makes this object, so that `destroy` also runs if the registration fails.
#[derive(Debug)]
pub(super) struct UserData {
    ptr: *mut c_void,
    destroy: mcplink_destroy_fn,
}

// SAFETY: this library only passes the pointer on. The header requires that all threads that run
// callbacks may use it.
unsafe impl Send for UserData {}
// SAFETY: this library only passes the pointer on. The header requires that all threads that run
// callbacks may use it.
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
            // SAFETY: the header requires a `destroy` that accepts the pointer with which it was
            // registered, once.
            let run = || unsafe { destroy(ptr) };
            // A panic in `destroy` can't be reported to a caller.
            _ = catch_unwind(AssertUnwindSafe(run));
        }
    }
}

/// A callback of the host, with its user data.
pub(super) struct Hook<F> {
    pub(super) callback: F,
    pub(super) user: UserData,
}

impl<F> Hook<F> {
    /// Makes a hook. Without a callback, returns `None` and releases the user data.
    pub(super) fn new(callback: Option<F>, user: UserData) -> Option<Arc<Self>> {
        callback.map(|callback| Arc::new(Self { callback, user }))
    }
}

thread_local! {
    /// The numbers of the handles that this thread is inside: the thread runs a callback or a
    /// function of each of these handles.
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Marks the current thread as inside a handle. The mark is removed when the value is dropped.
pub(super) struct Inside {
    handle: u64,
    /// Makes the type `!Send`, because a mark must be dropped on the thread that made it.
    here: PhantomData<*const ()>,
}

impl Inside {
    pub(super) fn of(handle: u64) -> Self {
        // During the teardown of thread-locals the mark can't be set; `is_inside` returns false
        // then.
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

/// Runs a callback of the host that belongs to a handle. The caller must hold no lock of this
/// library. Returns `None` if the callback panicked. Only a callback written in Rust can panic.
///
/// A foreign exception must not leave a callback: the exception ends the process here, with a
/// message.
pub(super) fn call_back<R>(handle: u64, callback: impl FnOnce() -> R) -> Option<R> {
    let _inside = Inside::of(handle);
    catch_unwind(AssertUnwindSafe(callback)).ok()
}

/// Returns whether the current thread is inside the handle: the thread runs a function of the
/// handle, or a callback that belongs to the handle.
pub(super) fn is_inside(handle: u64) -> bool {
    marks(handle) > 0
}

/// Returns how many functions and callbacks of the handle the current thread is in.
pub(super) fn marks(handle: u64) -> usize {
    let count = |inside: &RefCell<Vec<u64>>| {
        let inside = inside.borrow();
        inside.iter().filter(|known| **known == handle).count()
    };
    INSIDE.try_with(count).unwrap_or(0)
}
