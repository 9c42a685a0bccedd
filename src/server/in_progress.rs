//! The effects of a call that are running at the moment ([`Context::once`](super::Context::once)).
//! Only one thread at a time can run the effect of a key.

use std::collections::HashMap;
use std::thread::{self, ThreadId};

use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};

/// The effects that run at the moment, by key. An effect is code of a handler that runs only once
/// in a call, although the handler is run several times. A thread that needs the value of a running
/// effect waits until the effect has ended.
#[derive(Debug, Default)]
pub(super) struct InProgress {
    running: Mutex<HashMap<String, ThreadId>>,
    ended: Condvar,
}

impl InProgress {
    /// Blocks until no other thread runs the effect of `key`. Then claims the key for this thread.
    /// Fails if this thread runs the effect already.
    pub(super) fn take(&self, key: &str) -> Result<InProgressGuard<'_>> {
        let me = thread::current().id();
        let mut running = self.running.lock();
        while let Some(other) = running.get(key) {
            if *other == me {
                let text = format!("the effect '{key}' asks for its own outcome");
                return Err(Error::new(ErrorKind::State, text));
            }
            running = self.ended.wait(running);
        }
        running.insert(key.to_owned(), me);
        Ok(InProgressGuard {
            effects: self,
            key: key.to_owned(),
        })
    }
}

/// The right to run an effect. Dropping the right releases the key, also when the effect panics.
pub(super) struct InProgressGuard<'a> {
    effects: &'a InProgress,
    key: String,
}

impl Drop for InProgressGuard<'_> {
    fn drop(&mut self) {
        self.effects.running.lock().remove(&self.key);
        self.effects.ended.notify_all();
    }
}
