//! Running callbacks of the host that take part in an authorization.
//!
//! An authorizer, with its callbacks, is shared by all clients that use the same settings. The
//! authorizer ends when the last reference to the settings is released. References are held by the
//! settings object of the host, by options, and by clients.
//!
//! **Invariant:** releasing the last reference waits until no callback runs, and then destroys the
//! user data on the releasing thread. If the releasing thread is itself inside one of these
//! callbacks, the release does not wait. The user data is then destroyed when the last running
//! callback returns.

use std::sync::Arc;

use super::settings::Settings;
use crate::cffi::user::{call_back, is_inside};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};

/// The state shared by the authorizer and the references to the settings.
pub(super) struct Inside {
    number: u64,
    /// [`enter`](Self::enter) copies the reference to the settings and increments `running` in one
    /// critical section. [`end`](Self::end) first removes the reference, and then waits until
    /// `running` is 0. So `end` waits for every callback that uses the settings.
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// The OAuth settings; `None` after [`end`](Inside::end).
    settings: Option<Arc<Settings>>,
    running: usize,
}

/// A guard that keeps the OAuth settings alive while a callback of the host runs.
pub(super) struct Entered<'a> {
    inside: &'a Inside,
    settings: Option<Arc<Settings>>,
}

impl Inside {
    pub(super) fn new(number: u64, settings: &Arc<Settings>) -> Arc<Self> {
        Arc::new(Self {
            number,
            state: Mutex::new(State {
                settings: Some(Arc::clone(settings)),
                running: 0,
            }),
            left: Condvar::new(),
        })
    }

    /// Returns the number that identifies the callbacks of these settings in this process.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn enter(&self) -> Result<Entered<'_>> {
        let mut state = self.state.lock();
        let Some(settings) = state.settings.clone() else {
            let text = "what the authorization needs was freed";
            return Err(Error::new(ErrorKind::Closed, text));
        };
        state.running += 1;
        Ok(Entered {
            inside: self,
            settings: Some(settings),
        })
    }

    /// Ends the authorizer: blocks until no callback runs, unless the current thread is inside a
    /// callback. Called when the last reference to the settings is released.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        let settings = state.settings.take();
        if !is_inside(self.number) {
            while state.running > 0 {
                state = self.left.wait(state);
            }
        }
        drop(state);
        drop(settings);
    }
}

impl Entered<'_> {
    pub(super) fn settings(&self) -> &Settings {
        self.settings
            .as_ref()
            .expect("they are there until the drop")
    }

    /// Runs a callback of the host. Returns an error if the callback panicked.
    pub(super) fn call<R>(&self, callback: impl FnOnce() -> R) -> Result<R> {
        call_back(self.inside.number, callback).ok_or_else(|| {
            let text = "a function of the host's that takes part in the authorization panicked";
            Error::new(ErrorKind::Auth, text)
        })
    }

    /// Runs a callback that returns a status. Returns an error unless the status is 0.
    pub(super) fn ask(&self, what: &str, callback: impl FnOnce() -> i32) -> Result<()> {
        match self.call(callback)? {
            0 => Ok(()),
            status => {
                let text = format!("the function {what} returned {status}");
                Err(Error::new(ErrorKind::Auth, text))
            }
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // Drop the settings before decrementing `running`. So the thread that waits in
        // [`Inside::end`] drops the last reference, and `destroy` runs on that thread.
        drop(self.settings.take());
        let mut state = self.inside.state.lock();
        state.running -= 1;
        self.inside.left.notify_all();
    }
}
