//! The shutdown handle of an HTTP exchange.

use crate::sync::Mutex;

/// A function that ends a blocked exchange, for example by closing its socket.
pub(crate) type ShutdownHook = Box<dyn FnOnce() + Send>;

/// The handle with which another thread ends an exchange.
///
/// Invariant: [`hold`](Self::hold) checks `was_pulled` and stores the hook under one lock.
/// [`pull`](Self::pull) sets the flag and takes the hook under the same lock. So after a shutdown
/// no new connection is made for the exchange, and a shutdown during connecting is not lost. The
/// lock is not held while a hook runs or is dropped, because a hook may be code of the host.
#[derive(Default)]
pub(crate) struct Shutdown(Mutex<Held>);

#[derive(Default)]
struct Held {
    was_pulled: bool,
    hook: Option<ShutdownHook>,
}

impl Shutdown {
    /// Stores the hook that ends the exchange, in place of an earlier hook. Returns the hook
    /// instead if the exchange was shut down already.
    pub(crate) fn hold(&self, hook: ShutdownHook) -> Result<(), ShutdownHook> {
        let mut held = self.0.lock();
        if held.was_pulled {
            return Err(hook);
        }
        let earlier = held.hook.replace(hook);
        drop(held);
        drop(earlier);
        Ok(())
    }

    /// Ends the exchange: runs the hook, if there is one.
    pub(crate) fn pull(&self) {
        let mut held = self.0.lock();
        held.was_pulled = true;
        let hook = held.hook.take();
        drop(held);
        if let Some(hook) = hook {
            hook();
        }
    }

    /// Whether the exchange was shut down.
    pub(crate) fn was_pulled(&self) -> bool {
        self.0.lock().was_pulled
    }
}
