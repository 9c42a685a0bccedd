//! The cancel token: a thread-safe flag that stops work.
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

/// A token that cancels work; thread-safe.
///
/// A token that is passed to calls
/// ([`RequestOptions::cancel_with`](super::RequestOptions::cancel_with)) can end the calls from any
/// thread, for example when the user presses Escape. One token may serve many calls. The token of a
/// [`Responder`](super::Responder) shows whether the peer cancelled the request. Clones share one
/// flag. A cancelled token stays cancelled.
///
/// # Examples
///
/// ```
/// use std::thread;
/// use std::time::Duration;
///
/// use mcplink::client::{CallOptions, CancelToken};
///
/// let cancel = CancelToken::new();
/// let options = CallOptions::new().cancel_with(&cancel); // for a call
///
/// let escape = cancel.clone();
/// thread::spawn(move || escape.cancel());
/// assert!(cancel.wait(Duration::from_secs(60)));
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    // Guards the flag together with the callbacks. A callback that is registered before the flag is
    // set is returned by `fire`. A later callback runs in `on_trigger`. So each callback runs
    // exactly once. Callbacks run and are dropped outside of the lock.
    state: Mutex<State>,
    triggered: Condvar,
}

#[derive(Default)]
struct State {
    triggered: bool,
    reason: Option<Box<str>>,
    /// The key of the callback that was registered last. Keys start at 1.
    last_key: u64,
    /// The first registered callback. Most tokens have only one callback, so they need no list.
    first: Option<Callback>,
    first_key: u64,
    #[expect(
        clippy::box_collection,
        reason = "one pointer for the many that have none"
    )]
    others: Option<Box<Vec<(u64, Callback)>>>,
}

/// A callback that runs once when a token is cancelled.
pub(crate) type Callback = Box<dyn FnOnce() + Send>;

impl State {
    fn add(&mut self, callback: Callback) -> u64 {
        self.last_key += 1;
        let key = self.last_key;
        if self.first.is_none() {
            (self.first, self.first_key) = (Some(callback), key);
        } else {
            self.others.get_or_insert_default().push((key, callback));
        }
        key
    }

    fn take(&mut self, key: u64) -> Option<Callback> {
        if self.first_key == key && self.first.is_some() {
            return self.first.take();
        }
        let others = self.others.as_mut()?;
        let at = others.iter().position(|(other, _)| *other == key)?;
        Some(others.swap_remove(at).1)
    }
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the token; idempotent. Runs the callbacks of [`on_trigger`](Self::on_trigger) on
    /// this thread.
    pub fn cancel(&self) {
        call_all(self.fire(None));
    }

    /// Cancels the token with a reason. The reason is sent to the server of each cancelled call.
    pub fn trigger_because(&self, reason: impl Into<String>) {
        call_all(self.fire(Some(reason.into())));
    }

    /// Whether the token is cancelled. The check is cheap enough for polling.
    pub fn is_triggered(&self) -> bool {
        self.0.state.lock().triggered
    }

    /// Returns the reason of the cancellation, if a reason was given.
    pub fn reason(&self) -> Option<String> {
        self.0.state.lock().reason.as_deref().map(str::to_owned)
    }

    /// Blocks until the token is cancelled or `timeout` has passed. Returns whether the token is
    /// cancelled.
    pub fn wait(&self, timeout: Duration) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.0.state.lock();
        while !state.triggered && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            state = self.0.triggered.wait_until(state, deadline);
        }
        state.triggered
    }

    /// Registers a callback that runs once when the token is cancelled. If the token is already
    /// cancelled, the callback runs at once on this thread.
    ///
    /// Otherwise the callback runs on the thread that cancels the token. When the peer cancels a
    /// request, the callbacks of the request's token run on the connection's thread for
    /// notifications. Dropping the guard unregisters the callback. The drop does not wait for a
    /// callback that is already running.
    pub fn on_trigger(&self, callback: impl FnOnce() + Send + 'static) -> OnCancel {
        let mut state = self.0.state.lock();
        let key = if state.triggered {
            drop(state);
            callback();
            0
        } else {
            state.add(Box::new(callback))
        };
        OnCancel {
            token: self.clone(),
            key,
        }
    }

    /// Marks the token as cancelled, and wakes the threads that wait for the token. Returns the
    /// callbacks instead of running them, because the caller knows on which thread the callbacks
    /// may run.
    pub(crate) fn fire(&self, reason: Option<String>) -> Vec<Callback> {
        let mut state = self.0.state.lock();
        if state.triggered {
            return Vec::new();
        }
        state.triggered = true;
        state.reason = reason.map(String::into_boxed_str);
        let (first, others) = (state.first.take(), state.others.take());
        drop(state);
        self.0.triggered.notify_all();
        let others = others.into_iter().flat_map(|others| *others);
        let others = others.map(|(_, callback)| callback);
        first.into_iter().chain(others).collect()
    }
}

/// Runs all callbacks, even if a callback panics. Afterwards the first panic is resumed.
fn call_all(callbacks: Vec<Callback>) {
    let mut panicked = None;
    for callback in callbacks {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
            panicked.get_or_insert(panic);
        }
    }
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("triggered", &self.is_triggered())
            .finish()
    }
}

/// A guard for a callback of [`CancelToken::on_trigger`]. Dropping the guard unregisters the
/// callback.
#[derive(Debug)]
#[must_use = "dropping it forgets the callback"]
pub struct OnCancel {
    token: CancelToken,
    /// The key of the callback; 0 if the callback has already run.
    key: u64,
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        let mut state = self.token.0.state.lock();
        let callback = state.take(self.key);
        drop(state);
        drop(callback);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn each_callback_runs_once_unless_it_is_forgotten() {
        let (token, ran) = (CancelToken::new(), Arc::new(AtomicU32::new(0)));
        let add = |weight: u32| {
            let ran = Arc::clone(&ran);
            token.on_trigger(move || _ = ran.fetch_add(weight, Ordering::Relaxed))
        };
        let (first, second, third) = (add(1), add(2), add(100));
        drop(first);
        // The fourth callback gets the slot of the first, and is removed neither with the first nor
        // with the second.
        let fourth = add(10_000);
        drop(second);
        token.cancel();
        token.cancel();
        assert_eq!(ran.load(Ordering::Relaxed), 10_100);
        let late = add(100);
        assert_eq!(ran.load(Ordering::Relaxed), 10_200, "it has fired already");
        drop((third, fourth, late));
        assert_eq!(ran.load(Ordering::Relaxed), 10_200);
    }
}
