//! Locks and conditions that don't know about poisoning, and that `loom` can take over.
//!
//! A poisoned lock is not a second panic: every critical section of this crate leaves its data valid at each step, so the value is taken
//! and work goes on.

use std::sync::atomic::Ordering;
use std::time::Instant;

#[cfg(loom)]
use loom::sync as imp;
#[cfg(not(loom))]
use std::sync as imp;

pub(crate) use imp::MutexGuard;
use imp::atomic::AtomicU32;
pub(crate) use imp::atomic::{AtomicBool, AtomicUsize};

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The value, for who has the lock for itself alone.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A condition that costs nothing to announce while nobody waits for it: the standard one asks the system each time.
///
/// **Invariant:** who waits is counted before it lets go of the lock. Whoever announces a change has held that lock since it made the change,
/// so it sees the count, or the waiter has seen the change.
#[derive(Debug, Default)]
pub(crate) struct Condvar {
    condition: imp::Condvar,
    waiting: AtomicU32,
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self {
            condition: imp::Condvar::new(),
            waiting: AtomicU32::new(0),
        }
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let guard = self
            .condition
            .wait(guard)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    /// Waits until notified, or until `deadline` when there is one. Like every wait on a condition it may end early.
    pub(crate) fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        let Some(deadline) = deadline else {
            return self.wait(guard);
        };
        let span = deadline.saturating_duration_since(Instant::now());
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let guard = self
            .condition
            .wait_timeout(guard, span)
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .0;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    pub(crate) fn notify_one(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.condition.notify_one();
        }
    }

    pub(crate) fn notify_all(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.condition.notify_all();
        }
    }
}
