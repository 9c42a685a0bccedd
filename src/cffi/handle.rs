//! Thread-safe handles, and how they are freed.
//!
//! **Invariant:** a thread is counted in `Gate::inside` from the moment it enters a handle until it
//! leaves. Freeing first closes the handle, which wakes the threads inside, and then waits until
//! the count is zero. So no thread still uses the handle when the free function returns.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[cfg(loom)]
use loom::sync::atomic::AtomicUsize;
#[cfg(not(loom))]
use std::sync::atomic::AtomicUsize;

use super::entry::{Outcome, value};
use super::error::Failure;
use super::status::mcplink_status;
use super::text::missing;
use super::user::{Inside, is_inside};
use crate::error::{Error, ErrorKind};
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::origin::Origin;
use crate::transport::{Stack, Threads};

/// Values of `Gate::state`: a live handle, and a freed one. They detect misuse on a best effort
/// basis.
const ALIVE: u32 = 0x6d63_706c;
const FREED: u32 = 0x6672_6565;
/// The bit of `Gate::inside` that means: a thread waits for the others to leave.
const FREEING: usize = 1 << (usize::BITS - 1);

/// An object behind a pointer that any thread may use at any time.
pub(super) trait Handled: Send + Sync + 'static {
    fn gate(&self) -> &Gate;

    /// Returns the thread settings of the handle.
    fn threads(&self) -> Threads {
        Threads::default()
    }

    /// Returns whether this thread runs code that closing the handle would wait for.
    fn is_inside(&self) -> bool {
        is_inside(self.gate().number)
    }

    /// Runs the part of closing that waits for nothing. A handle that is freed in one of its own
    /// callbacks has thus ended when that callback returns.
    fn begin_close(&self) {}

    /// Closes the handle: threads inside return soon, and none of its callbacks runs after this.
    /// Bounded in time.
    fn close(&self);
}

/// The process that an object belongs to. After a fork the object is unusable in the child: its
/// threads do not exist there.
#[derive(Debug)]
pub(super) struct Process(Origin);

impl Process {
    pub(super) fn this() -> Self {
        Self(Origin::here())
    }

    /// Returns whether this process is a fork of the owner. Async-signal-safe.
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

/// Counts the threads inside a handle, and detects freed and forked handles.
#[derive(Debug)]
pub(super) struct Gate {
    state: AtomicU32,
    number: u64,
    process: Process,
    /// The number of threads inside, plus the bit [`FREEING`] once a thread waits for them to
    /// leave.
    ///
    /// Both are in one atomic to prevent a lost wakeup. The waiter sets the bit first, then takes
    /// `lock` and checks the count. A leaving thread decrements; if it was the last and sees the
    /// bit, it takes `lock` and notifies. Either the waiter sees zero, or the leaver sees the bit.
    inside: AtomicUsize,
    lock: Mutex<()>,
    left: Condvar,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU32::new(ALIVE),
            number: Self::next_number(),
            process: Process::this(),
            inside: AtomicUsize::new(0),
            lock: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    /// Returns a number that no handle of this process has. Other owners of callbacks use one too.
    pub(super) fn next_number() -> u64 {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        NUMBERS.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that identifies the handle in this process.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether the handle belongs to the process that forked this one. Async-signal-safe.
    pub(super) fn is_foreign(&self) -> bool {
        self.process.is_foreign()
    }

    fn check(&self) -> Outcome<()> {
        if self.state.load(Ordering::Relaxed) != ALIVE {
            let text = "this is no handle of mcplink, or one that was freed";
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
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

/// A handle that this thread has entered; dropping it leaves the handle.
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

/// Converts a handle into the pointer that C owns.
pub(super) fn into_raw<T: Handled>(handle: T) -> *mut T {
    Arc::into_raw(Arc::new(handle)).cast_mut()
}

/// Enters a handle that C passes. Fails for NULL, for a handle that is known to be freed, and in a
/// forked process.
///
/// # Safety
///
/// `handle` is NULL or came from [`into_raw`] and was not freed.
pub(super) unsafe fn enter<T: Handled>(handle: *const T, what: &str) -> Outcome<Entered<T>> {
    // SAFETY: the caller guarantees that it lives.
    let Some(body) = (unsafe { handle.as_ref() }) else {
        return Err(missing(what).into());
    };
    body.gate().check()?;
    body.gate().come_in();
    // SAFETY: it came from `Arc::into_raw`, and is live; this adds a reference.
    let shared = unsafe {
        Arc::increment_strong_count(handle);
        Arc::from_raw(handle)
    };
    Ok(Entered {
        _inside: Inside::of(body.gate().number),
        handle: shared,
    })
}

/// Frees a handle: closes it, waits until no thread is inside, and drops the reference of C.
///
/// Inside a callback of the handle, a separate thread does the closing and the waiting; otherwise
/// the thread would wait for itself. Callbacks of other handles that a function of this handle has
/// led to count as well.
///
/// In a forked child it does nothing:
///
/// - Memory: the handle's threads do not exist here, but they still hold references to most of it.
///   Destructors of the rest take locks that such a thread may have held, wait for it, notify peers
///   of the other process, and call the host.
/// - Descriptors: many are owned by the stack of such a thread, or behind its locks. A number may
///   also mean another file by now, because hosts close descriptors after a fork. All are
///   close-on-exec.
///
/// # Safety
///
/// `handle` is NULL, or came from [`into_raw`] and is not used again.
pub(super) unsafe fn free_handle<T: Handled>(handle: *mut T) {
    // SAFETY: the caller guarantees that it lives.
    let Some(body) = (unsafe { handle.as_ref() }) else {
        return;
    };
    if body.gate().check().is_err() {
        return;
    }
    body.gate().state.store(FREED, Ordering::Relaxed);
    // SAFETY: it came from `Arc::into_raw`, and C gives up its reference.
    let shared = unsafe { Arc::from_raw(handle) };
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

    /// Freeing continues only when every thread inside has left.
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
