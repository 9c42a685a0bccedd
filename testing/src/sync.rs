//! Locks and condition variables that ignore poisoning: each critical section of this crate leaves
//! its data valid at each step.

use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Waits until notified, or until `deadline` if a deadline is given. Spurious wakeups are
    /// possible.
    pub(crate) fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        let Some(deadline) = deadline else {
            let waited = self.0.wait(guard);
            return waited.unwrap_or_else(PoisonError::into_inner);
        };
        let span = deadline.saturating_duration_since(Instant::now());
        let waited = self.0.wait_timeout(guard, span);
        waited.unwrap_or_else(PoisonError::into_inner).0
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

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
