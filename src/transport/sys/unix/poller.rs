//! Descriptors that are registered in a poller.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::sync::Arc;

use polling::Event;
pub(crate) use polling::Poller;

/// A descriptor that is registered in a poller. The poller reports no event for the descriptor
/// until the descriptor is armed. After each event, the descriptor has to be armed again
/// (one-shot).
#[derive(Debug)]
pub(crate) struct Registered<S: AsFd> {
    source: S,
    poller: Arc<Poller>,
    key: usize,
}

impl<S: AsFd> Registered<S> {
    /// Registers `source` in the poller with `key`.
    pub(crate) fn new(source: S, poller: Arc<Poller>, key: usize) -> io::Result<Self> {
        let this = Self {
            source,
            poller,
            key,
        };
        let raw = this.source.as_fd().as_raw_fd();
        // SAFETY: the descriptor stays open until `this` is dropped, which deletes it from the
        // poller first.
        unsafe { this.poller.add(raw, Event::none(key)) }?;
        Ok(this)
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn get(&self) -> &S {
        &self.source
    }

    pub(crate) fn key(&self) -> usize {
        self.key
    }

    /// Arms the descriptor for one event: readable, writable, or a lost connection if the system
    /// can detect it.
    pub(crate) fn arm(&self, readable: bool, writable: bool) -> io::Result<()> {
        let event = Event::new(self.key, readable, writable).with_interrupt();
        self.poller.modify(self.source.as_fd(), event)
    }
}

impl<S: AsFd> Drop for Registered<S> {
    fn drop(&mut self) {
        // The call fails only if the descriptor was never added.
        _ = self.poller.delete(self.source.as_fd());
    }
}
