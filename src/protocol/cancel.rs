//! One flag that says "nobody wants this any more", seen from many threads.
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

/// Tells that work is no longer wanted.
///
/// Given to calls ([`CallOptions::cancel_with`](super::CallOptions::cancel_with)), it ends them from any thread, "the user pressed
/// Escape"; one token may serve many calls. Got from a [`Responder`](super::Responder), it says that the peer cancelled its request.
/// Clones share one flag; once triggered it stays so.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    triggered: Condvar,
}

#[derive(Default)]
struct State {
    triggered: bool,
    reason: Option<String>,
    next_key: u64,
    callbacks: Vec<(u64, Callback)>,
}

pub(crate) type Callback = Box<dyn FnOnce() + Send>;

impl CancelToken {
    /// Makes a token that is not triggered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Triggers the token, once and for all, and runs what was registered with [`on_trigger`](Self::on_trigger) on this thread.
    pub fn trigger(&self) {
        self.fire(None).into_iter().for_each(|callback| callback());
    }

    /// The same, with the reason: servers are told it, where a call was cancelled that had been sent.
    pub fn trigger_because(&self, reason: impl Into<String>) {
        let callbacks = self.fire(Some(reason.into()));
        callbacks.into_iter().for_each(|callback| callback());
    }

    /// Whether it was triggered. Cheap: poll it.
    pub fn is_triggered(&self) -> bool {
        self.0.state.lock().triggered
    }

    /// Why, if the one who triggered it said so.
    pub fn reason(&self) -> Option<String> {
        self.0.state.lock().reason.clone()
    }

    /// Waits until the token is triggered or `timeout` has passed; returns whether it is triggered.
    pub fn wait(&self, timeout: Duration) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.0.state.lock();
        while !state.triggered && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            state = self.0.triggered.wait_until(state, deadline);
        }
        state.triggered
    }

    /// Runs `callback` once when the token is triggered: at once, on this thread, if it is already. Otherwise it runs on the thread that
    /// triggers; when the peer cancels a request, that is the connection's thread for notifications.
    ///
    /// Dropping the guard before that forgets the callback.
    pub fn on_trigger(&self, callback: impl FnOnce() + Send + 'static) -> OnTrigger {
        let mut state = self.0.state.lock();
        let key = state.next_key;
        if state.triggered {
            drop(state);
            callback();
        } else {
            state.next_key += 1;
            // Mostly there is one.
            state.callbacks.reserve_exact(1);
            state.callbacks.push((key, Box::new(callback)));
        }
        OnTrigger {
            token: self.clone(),
            key,
        }
    }

    /// Sets the flag and wakes waiters; the callbacks are handed to the caller, who knows on which thread they may run.
    pub(crate) fn fire(&self, reason: Option<String>) -> Vec<Callback> {
        let mut state = self.0.state.lock();
        if state.triggered {
            return Vec::new();
        }
        state.triggered = true;
        state.reason = reason;
        let callbacks = std::mem::take(&mut state.callbacks);
        drop(state);
        self.0.triggered.notify_all();
        callbacks
            .into_iter()
            .map(|(_, callback)| callback)
            .collect()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("triggered", &self.is_triggered())
            .finish()
    }
}

/// Keeps a callback of [`CancelToken::on_trigger`] registered.
#[derive(Debug)]
#[must_use = "dropping it forgets the callback"]
pub struct OnTrigger {
    token: CancelToken,
    key: u64,
}

impl Drop for OnTrigger {
    fn drop(&mut self) {
        let mut state = self.token.0.state.lock();
        let found = state.callbacks.iter().position(|(key, _)| *key == self.key);
        let callback = found.map(|at| state.callbacks.swap_remove(at));
        drop(state);
        drop(callback);
    }
}
