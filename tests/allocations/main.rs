//! Memory whose size a peer decides is asked for in a way that may fail: what needs it is refused,
//! and the process lives on.
//!
//! A binary of its own, since its allocator fails when it is told to. Each test fails one large
//! allocation after the other, until all that it does passes without one that fails. An allocation
//! that may not fail ends the process, and so all tests.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]
#![cfg(all(feature = "http-server", feature = "auth"))]

mod authorization;
mod http_client;
mod idle_streams;
mod listener;
mod streams;
mod web;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// Fails the allocation of large memory that it is told to fail, on all threads but the tests' own.
struct Failing;

/// What is smaller is not what a peer decides.
static LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);
static COUNTDOWN: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The bytes that are in use. Wraps around below zero.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_TEST: Cell<bool> = const { Cell::new(false) };
}

impl Failing {
    fn fails(&self, size: usize) -> bool {
        if size < LARGE.load(Ordering::SeqCst) || IS_TEST.try_with(Cell::get).unwrap_or(true) {
            return false;
        }
        let count = |left: usize| left.checked_sub(1).filter(|_| left < usize::MAX);
        let before = COUNTDOWN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count);
        let fails = before == Ok(1);
        if fails {
            HAS_FAILED.store(true, Ordering::SeqCst);
        }
        fails
    }
}

// SAFETY: it hands on what it is asked to the system's allocator, or says that there is no memory.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.fails(layout.size()) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if self.fails(size) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_add(size.wrapping_sub(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// One test at a time: all of them share the allocator.
struct Alone(#[expect(dead_code, reason = "held until the test is over")] MutexGuard<'static, ()>);

impl Alone {
    /// From now on this thread is a test's own, and so many bytes are large.
    fn begin(large: usize) -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        IS_TEST.set(true);
        LARGE.store(large, Ordering::SeqCst);
        Self(one)
    }

    /// Runs a scenario again and again: each time another allocation fails, until none does. `prepare` runs with
    /// all allocations, `run` with the one that fails, and `check` with all again.
    fn fail_each<P, R>(
        &self,
        what: &str,
        mut prepare: impl FnMut() -> P,
        mut run: impl FnMut(&mut P) -> R,
        mut check: impl FnMut(P, R, bool),
    ) {
        let mut failed = 0;
        for nth in 1..200 {
            let mut prepared = prepare();
            HAS_FAILED.store(false, Ordering::SeqCst);
            COUNTDOWN.store(nth, Ordering::SeqCst);
            let outcome = run(&mut prepared);
            COUNTDOWN.store(usize::MAX, Ordering::SeqCst);
            let has_failed = HAS_FAILED.load(Ordering::SeqCst);
            check(prepared, outcome, has_failed);
            if !has_failed {
                break;
            }
            failed += 1;
        }
        assert!(failed > 0 && failed < 190, "{failed} of {what}");
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        COUNTDOWN.store(usize::MAX, Ordering::SeqCst);
        LARGE.store(usize::MAX, Ordering::SeqCst);
    }
}

/// Starts a thread of the test's own.
fn start_own<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> std::thread::JoinHandle<T> {
    std::thread::spawn(|| {
        IS_TEST.set(true);
        run()
    })
}

/// Runs something on a thread whose allocations fail, as those of a host do.
fn as_host<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}
