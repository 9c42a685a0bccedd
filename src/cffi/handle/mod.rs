//! Handles: the pointers by which C refers to objects of this library, and how thread-safe handles
//! are freed.
//!
//! Each object has a [`Kind`]. Every function checks the kind of each object that C passes.
//! Thread-safe objects and objects that are lent to callbacks are in the slot table ([`slots`]), so
//! that a stale handle is detected. All other objects have a tag in front ([`Tagged`]).
//!
//! **Invariant:** a thread is counted in `Gate::inside` from the moment it enters a handle until it
//! leaves. Freeing first closes the handle, which wakes the threads inside, and then waits until
//! the count is zero. So no thread still uses the handle when the free function returns.

#[macro_use]
mod kind;
pub(super) mod slots;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
use loom::sync::atomic::AtomicUsize;
#[cfg(not(loom))]
use std::sync::atomic::AtomicUsize;

pub(super) use self::kind::{Fault, Kind, Object, Tagged};
pub(super) use self::slots::{Lent, tagged};
use super::entry::{Outcome, told, value};
use super::failure::Failure;
use super::log;
use super::status::{mcplink_status, mcplink_status_t};
use super::user::{Inside, is_inside};
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::origin::Origin;
use crate::transport::{Stack, Threads};

/// The bit of `Gate::inside` that is set while a thread waits for the threads inside the handle to
/// leave.
const FREEING: usize = 1 << (usize::BITS - 1);

/// An object with a gate. [`handle`](kind) implements this trait.
pub(super) trait Gated: Object {
    fn gate(&self) -> &Gate;
}

/// An object that any thread may use at any time. C owns a pointer to the object.
pub(super) trait Handled: Gated + Send + Sync + 'static {
    /// Returns the thread settings of the handle.
    fn threads(&self) -> Threads {
        Threads::default()
    }

    /// Returns whether the current thread runs code for which closing the handle would wait.
    fn is_inside(&self) -> bool {
        is_inside(self.gate().number)
    }

    /// Begins closing the handle with the steps that do not block. If a handle is freed in one of
    /// its own callbacks, the free function performs these steps before it returns.
    fn begin_close(&self) {}

    /// Closes the handle: threads inside the handle return soon, and none of its callbacks runs
    /// afterwards. Takes a bounded time.
    fn close(&self);
}

/// The process that created an object. In a forked child the object is unusable, because the
/// threads of the object do not exist in the child.
#[derive(Debug)]
pub(super) struct Process(Origin);

impl Process {
    pub(super) fn this() -> Self {
        Self(Origin::here())
    }

    /// Returns whether this process is a fork of the process that created the object.
    /// Async-signal-safe.
    pub(super) fn is_foreign(&self) -> bool {
        !self.0.is_here()
    }

    pub(super) fn check(&self) -> Outcome<()> {
        if self.is_foreign() {
            return Err(Failure::new(
                mcplink_status::MCPLINK_E_FORKED,
                "the handle belongs to the process that forked this one: make another one here, or fork before",
            ));
        }
        Ok(())
    }
}

/// The counter of the threads inside a handle. Also detects that this process is a fork of the
/// process that created the handle.
#[derive(Debug)]
pub(super) struct Gate {
    number: u64,
    process: Process,
    /// The number of threads inside the handle, plus the bit [`FREEING`] while a thread waits for
    /// these threads to leave.
    ///
    /// The number and the bit are in one atomic to prevent a lost wakeup. The waiter sets the bit
    /// first, then takes `lock` and checks the number. A leaving thread decrements the number. If
    /// the leaving thread was the last and sees the bit, it takes `lock` and notifies. So either
    /// the waiter sees zero, or the leaving thread sees the bit.
    inside: AtomicUsize,
    lock: Mutex<()>,
    left: Condvar,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            number: Self::next_number(),
            process: Process::this(),
            inside: AtomicUsize::new(0),
            lock: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    /// Returns a new number that identifies a handle, or another object with callbacks, in this
    /// process.
    pub(super) fn next_number() -> u64 {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        NUMBERS.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number that identifies the handle in this process.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether this process is a fork of the process that created the handle.
    /// Async-signal-safe.
    pub(super) fn is_foreign(&self) -> bool {
        self.process.is_foreign()
    }

    fn check(&self) -> Outcome<()> {
        self.process.check()
    }

    fn come_in(&self) {
        self.inside.fetch_add(1, Ordering::SeqCst);
    }

    fn leave(&self) {
        if self.inside.fetch_sub(1, Ordering::SeqCst) == FREEING + 1 {
            let _lock = self.lock.lock();
            self.left.notify_all();
        }
    }

    fn wait_until_empty(&self) {
        self.inside.fetch_or(FREEING, Ordering::SeqCst);
        let mut lock = self.lock.lock();
        while self.inside.load(Ordering::SeqCst) > FREEING {
            lock = self.left.wait(lock);
        }
    }
}

/// A handle that the current thread has entered. Dropping this value leaves the handle.
pub(super) struct Entered<T: Handled> {
    handle: Arc<T>,
    _inside: Inside,
}

impl<T: Handled> Deref for Entered<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.handle
    }
}

impl<T: Handled> Drop for Entered<T> {
    fn drop(&mut self) {
        self.handle.gate().leave();
    }
}

/// Converts a handle into the slot handle that C owns.
pub(super) fn into_raw<T: Handled>(handle: T) -> *mut T {
    slots::insert(Arc::new(handle))
}

/// Enters a handle that C passes. Fails for NULL, for an object of another kind, for a freed
/// handle, and in a forked process.
///
/// # Safety
///
/// `handle` is NULL or an object of this library, of any kind.
pub(super) unsafe fn enter<T: Handled>(handle: *const T, what: &str) -> Outcome<Entered<T>> {
    // SAFETY: the safety contract of this function.
    let shared = unsafe { slots::find(handle) };
    come_in(shared.map_err(|fault| Failure::object::<T>(fault, what))?)
}

/// Enters a handle that C passes, and runs the body of an action on it. `what` is the name of its
/// parameter, and `function` the name of the C function.
///
/// # Safety
///
/// The requirements of [`enter`] apply.
pub(super) unsafe fn entering<T: Handled>(
    handle: *mut T,
    what: &str,
    function: &str,
    body: impl FnOnce(&T) -> Outcome<()>,
) -> mcplink_status_t {
    told(function, || {
        // SAFETY: the safety contract of this function.
        body(&*unsafe { enter(handle, what) }?)?;
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Enters a handle that C passes, for a getter. Returns `None` where [`enter`] fails. An object of
/// another kind and a freed handle are logged, with the name of the C function, because a getter
/// returns no error.
///
/// # Safety
///
/// `handle` is NULL or an object of this library, of any kind.
pub(super) unsafe fn visit<T: Handled>(handle: *const T, function: &str) -> Option<Entered<T>> {
    // SAFETY: the safety contract of this function.
    let shared = unsafe { slots::find(handle) };
    let shared = shared
        .inspect_err(|fault| log::fault::<T>(*fault, function))
        .ok()?;
    come_in(shared).ok()
}

fn come_in<T: Handled>(handle: Arc<T>) -> Outcome<Entered<T>> {
    handle.gate().check()?;
    handle.gate().come_in();
    Ok(Entered {
        _inside: Inside::of(handle.gate().number),
        handle,
    })
}

/// Frees a handle: closes it, waits until no thread is inside, and drops the reference of C.
///
/// If the current thread is inside a callback of the handle, a separate thread closes the handle
/// and waits. Otherwise the thread would wait for itself. The same happens if the current thread is
/// inside a function of this handle that runs a callback of another handle.
///
/// In a forked child the function does nothing, for two reasons:
///
/// - Memory: the handle's threads do not exist in the child, but their stacks still hold references
///   to most of the memory. This memory can't be freed. Destructors of the other memory would take
///   locks that one of these threads may have held, wait for the threads, notify peers of the
///   parent process, and call the host.
/// - Descriptors: many are on the stack of one of these threads, or protected by a lock that such a
///   thread may have held. A descriptor number may also refer to another file now, because hosts
///   close descriptors after a fork. All descriptors are close-on-exec.
///
/// # Safety
///
/// `handle` is NULL or an object of this library, of any kind.
pub(super) unsafe fn free_handle<T: Handled>(handle: *mut T) {
    // SAFETY: the safety contract of this function.
    let shared = match unsafe { slots::peek(handle, |body| body.gate().check().is_ok()) } {
        // SAFETY: the safety contract of this function.
        Ok(true) => unsafe { slots::release(handle) },
        // In a forked process.
        Ok(false) => return,
        Err(fault) => Err(fault),
    };
    let shared = match shared {
        Ok(Some(shared)) => shared,
        Ok(None) => return,
        Err(fault) => return log::free_fault::<T>(fault),
    };
    let end = |shared: Arc<T>| {
        shared.close();
        shared.gate().wait_until_empty();
    };
    value((), || {
        if shared.is_inside() {
            shared.begin_close();
            let elsewhere = Arc::clone(&shared);
            // If no thread can be started, the last thread that leaves drops the handle.
            _ = shared
                .threads()
                .start("free", Stack::Large, move || end(elsewhere));
        } else {
            end(shared);
        }
    });
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    /// Freeing a handle continues only when every thread inside the handle has left.
    #[test]
    fn loom_freeing_waits_for_whoever_is_inside() {
        loom::model(|| {
            let gate = Arc::new(Gate::new());
            gate.come_in();
            gate.come_in();
            let others = [(); 2].map(|()| {
                let gate = Arc::clone(&gate);
                loom::thread::spawn(move || gate.leave())
            });
            gate.wait_until_empty();
            assert_eq!(gate.inside.load(Ordering::SeqCst), FREEING);
            others
                .into_iter()
                .for_each(|other| other.join().expect("no panic"));
        });
    }
}
