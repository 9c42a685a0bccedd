//! Functions of the host that take part in an authorization.
//!
//! An authorizer belongs to all clients that were given the same settings, and so do the functions in it. They end with the last of those
//! who have the settings: the object of the host, options, clients.
//!
//! **Invariant:** what the last one frees has ended for it: no function runs any more, and what belonged to them is destroyed, on its thread.
//! Within one of these functions that is left to the function's own thread.

use std::sync::Arc;

use super::settings::Settings;
use crate::cffi::user::{call_back, is_inside};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};

/// What the authorizer and those who have the settings share.
pub(super) struct Inside {
    number: u64,
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// Gone with the last one who has the settings.
    settings: Option<Arc<Settings>>,
    running: usize,
}

/// Something of the host's is going on: the settings stay until this is dropped.
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

    /// Tells these functions from all others of the process.
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

    /// Nobody has the settings any more. Waits for what is going on, unless that is who calls.
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

    /// Runs a function of the host's; says what became of it.
    pub(super) fn call<R>(&self, callback: impl FnOnce() -> R) -> Result<R> {
        call_back(self.inside.number, callback).ok_or_else(|| {
            let text = "a function of the host's that takes part in the authorization panicked";
            Error::new(ErrorKind::Auth, text)
        })
    }

    /// The same for functions that return a status.
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
        // Before anybody is told: who waits for this is the one to destroy what it needs.
        drop(self.settings.take());
        let mut state = self.inside.state.lock();
        state.running -= 1;
        self.inside.left.notify_all();
    }
}
