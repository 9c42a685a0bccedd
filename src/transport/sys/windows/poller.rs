//! Sockets that are registered in a poller.

use std::io;
use std::ops::Deref;
use std::os::windows::io::AsSocket;
use std::sync::Arc;
use std::time::Duration;

use polling::{Event, Events};

/// A poller. When it is dropped, it first takes the reports of the operations that the dropped
/// registrations have cancelled. Otherwise `polling` would leak these operations, and with them a
/// handle of the system.
#[derive(Debug)]
pub(crate) struct Poller(polling::Poller);

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        polling::Poller::new().map(Self)
    }
}

impl Deref for Poller {
    type Target = polling::Poller;

    fn deref(&self) -> &polling::Poller {
        &self.0
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        _ = self.0.wait(&mut Events::new(), Some(Duration::ZERO));
    }
}

/// A socket that is registered in a poller. The poller reports no event for the socket until the
/// socket is armed. After each event, the socket has to be armed again (one-shot).
#[derive(Debug)]
pub(crate) struct Registered<S: AsSocket> {
    source: S,
    poller: Arc<Poller>,
    key: usize,
}

impl<S: AsSocket> Registered<S> {
    /// Registers `source` in the poller with `key`.
    pub(crate) fn new(source: S, poller: Arc<Poller>, key: usize) -> io::Result<Self> {
        let this = Self {
            source,
            poller,
            key,
        };
        // SAFETY: the socket stays open until `this` is dropped, which deletes it from the poller
        // first.
        unsafe { this.poller.add(&this.source.as_socket(), Event::none(key)) }?;
        Ok(this)
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn get(&self) -> &S {
        &self.source
    }

    pub(crate) fn key(&self) -> usize {
        self.key
    }

    /// Arms the socket for one event: readable, writable, or a lost connection if the system can
    /// detect it.
    pub(crate) fn arm(&self, readable: bool, writable: bool) -> io::Result<()> {
        let event = Event::new(self.key, readable, writable).with_interrupt();
        self.poller.modify(self.source.as_socket(), event)
    }
}

impl<S: AsSocket> Drop for Registered<S> {
    fn drop(&mut self) {
        // The call fails only if the socket was never added.
        _ = self.poller.delete(self.source.as_socket());
    }
}
