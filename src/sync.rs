//! Locks and condition variables that ignore poisoning. `loom` can replace them in tests.
//!
//! Every critical section of this crate leaves its data valid at each step. Therefore the data is
//! still used after a panic on another thread, instead of causing a second panic.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Instant;

#[cfg(loom)]
use loom::sync as imp;
#[cfg(not(loom))]
use std::sync as imp;

pub(crate) use imp::MutexGuard;
use imp::atomic::AtomicU32;
pub(crate) use imp::atomic::{AtomicBool, AtomicUsize, fence};

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the mutex if no thread holds it. Never blocks.
    #[cfg(feature = "http-server")]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        use std::sync::TryLockError;
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the value without locking, because `&mut self` proves exclusive access.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A mutex for a `static`. `loom` does not replace this type, since the constructor of `loom`'s
/// mutex is not `const`.
pub(crate) struct StaticMutex<T>(std::sync::Mutex<T>);

impl<T> StaticMutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> impl std::ops::DerefMut<Target = T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable whose notify methods make no system call while no thread waits. The
/// standard library's condition variable makes a system call at each notification.
///
/// **Invariant** (no lost wakeup): a waiter increments `waiting` while it holds the lock, before
/// the wait releases the lock. A notifier changes the state, holds the same lock at or after the
/// change, and only then reads `waiting`. Either the notifier sees the count, or the waiter gets
/// the lock later and sees the change. A notifier that never holds the lock could read 0 although a
/// waiter has seen the old state and is about to block.
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
            .unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    /// Waits until notified, or until `deadline` if a deadline is given. Spurious wakeups are
    /// possible.
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
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    /// Waits until `condition` is false, or until `deadline` if there is one.
    pub(crate) fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
        condition: impl Fn(&T) -> bool,
    ) -> MutexGuard<'a, T> {
        while condition(&guard) && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            guard = self.wait_until(guard, deadline);
        }
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
