//! Objects that many threads use at once, and how they end.
//!
//! **Invariant:** a thread is counted from entering a handle to leaving it. Freeing closes the handle, which wakes whoever is inside, and
//! goes on when nobody is: what C may take for gone is then gone.

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

/// What a handle begins with when it lives, and after it was freed.
const ALIVE: u32 = 0x6d63_706c;
const FREED: u32 = 0x6672_6565;
/// The bit of "somebody waits for those inside to leave".
const FREEING: usize = 1 << (usize::BITS - 1);

/// An object behind a pointer that any thread may use at any time.
pub(super) trait Handled: Send + Sync + 'static {
    fn gate(&self) -> &Gate;

    /// What its threads are like.
    fn threads(&self) -> Threads {
        Threads::default()
    }

    /// Whether this thread runs something that the end of the handle waits for.
    fn is_inside(&self) -> bool {
        is_inside(self.gate().number)
    }

    /// The part of closing that waits for nothing: what is freed within a callback of its own has ended for who comes out of that callback.
    fn begin_close(&self) {}

    /// Ends the handle, so that whoever is inside returns soon and no callback of it runs any more. Bounded in time.
    fn close(&self);
}

/// The process that something belongs to. In a fork of it, what it would need is not there: threads above all.
#[derive(Debug)]
pub(super) struct Process(Origin);

impl Process {
    pub(super) fn this() -> Self {
        Self(Origin::here())
    }

    /// Whether this process is a fork of the one that something belongs to. A signal handler may ask.
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

/// Who is inside a handle.
#[derive(Debug)]
pub(super) struct Gate {
    state: AtomicU32,
    number: u64,
    process: Process,
    /// How many are inside, and [`FREEING`] as soon as somebody waits for them to leave: one number, so that neither misses the other.
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

    /// A number that no handle has, for what has callbacks too.
    pub(super) fn next_number() -> u64 {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        NUMBERS.fetch_add(1, Ordering::Relaxed)
    }

    /// Tells the handle from all others of the process.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the handle belongs to the process of which this one is a fork. A signal handler may ask.
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

/// A handle that this thread is inside of.
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

/// Gives a handle to C.
pub(super) fn hand_out<T: Handled>(handle: T) -> *mut T {
    Arc::into_raw(Arc::new(handle)).cast_mut()
}

/// Enters a handle that C passes.
///
/// # Safety
///
/// `handle` is NULL or came from [`hand_out`] and was not freed.
pub(super) unsafe fn enter<T: Handled>(handle: *const T, what: &str) -> Outcome<Entered<T>> {
    // SAFETY: the caller says that it lives.
    let Some(body) = (unsafe { handle.as_ref() }) else {
        return Err(missing(what).into());
    };
    body.gate().check()?;
    body.gate().come_in();
    // SAFETY: it came from `Arc::into_raw`, and lives; this makes a second owner of it.
    let shared = unsafe {
        Arc::increment_strong_count(handle);
        Arc::from_raw(handle)
    };
    Ok(Entered {
        _inside: Inside::of(body.gate().number),
        handle: shared,
    })
}

/// Frees a handle: closes it, waits for whoever is inside, and lets go of it. Within a callback of the handle, or of another one that a function
/// of this handle has led to, that is left to a thread of its own, so that nobody waits for himself.
///
/// In a fork of the process that made it nothing is done. Memory: the threads of the handle, which are not here, have shares in nearly all
/// of it that nobody gives back; what the last share is given back of runs destructors that take locks which such a thread may have held,
/// wait for it, tell peers that are the other process's, and call the host. Descriptors: many are owned by the stack of such a thread, or
/// behind its locks, and for none is it known whether the number still means the same, since hosts close all that they did not open
/// after a fork. All are close-on-exec.
///
/// # Safety
///
/// `handle` is NULL, or came from [`hand_out`] and is not used again.
pub(super) unsafe fn free_handle<T: Handled>(handle: *mut T) {
    // SAFETY: the caller says that it lives.
    let Some(body) = (unsafe { handle.as_ref() }) else {
        return;
    };
    if body.gate().check().is_err() {
        return;
    }
    body.gate().state.store(FREED, Ordering::Relaxed);
    // SAFETY: it came from `Arc::into_raw`, and C gives its share of it up.
    let shared = unsafe { Arc::from_raw(handle) };
    let end = |shared: Arc<T>| {
        shared.close();
        shared.gate().wait_until_empty();
    };
    value((), || {
        if shared.is_inside() {
            shared.begin_close();
            let elsewhere = Arc::clone(&shared);
            // Without a thread to be had, it ends with the last of those who are inside.
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

    /// Whoever is inside has left when freeing goes on.
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
