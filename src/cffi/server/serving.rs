//! The sessions, listeners and endpoints that a server serves, and how all of them end.
//!
//! **Threads.** While the server serves a session, listener or endpoint, one watcher thread waits
//! for a request to stop. A signal handler may make that request, so the request only sets a flag
//! and writes to a wakeup descriptor. The watcher ends when the last session, listener or endpoint
//! has ended. After a stop, freeing the server joins the watcher.
//!
//! **Invariant:** `ask_to_stop` sets `stopped` before it reads `wake`. `enter` sets `wake` before
//! it reads `stopped`, under the lock. So `ask_to_stop` sees the descriptor, or `enter` sees the
//! flag, and no request to stop is lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cffi::user::Inside;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Connection;
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::fd::Wake;
use crate::transport::{Stack, Threads};

/// The maximum time that freeing a server waits for threads that close a connection, listener or
/// endpoint of the server.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of threads that close connections, listeners and endpoints of a server in
/// parallel.
const MAX_CLOSING_THREADS: usize = 64;

/// The connection to the client of a session. Closing also drops the connection, which releases the
/// descriptors, unless a handler still runs.
pub(super) struct Line(Mutex<Option<Connection>>);

impl Line {
    pub(super) fn new(connection: Connection) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(connection))))
    }

    /// Returns the connection; `None` if the connection is closed.
    pub(super) fn connection(&self) -> Option<Connection> {
        self.0.lock().clone()
    }

    /// Blocks until the client has disconnected or the connection is closed, and then closes the
    /// connection. Returns the error that ended the connection. If the connection was closed before
    /// the call, returns `None`.
    pub(super) fn wait(&self) -> Option<Error> {
        let error = self.connection()?.wait();
        self.close();
        Some(error)
    }

    pub(super) fn close(&self) {
        if let Some(connection) = self.connection() {
            connection.close();
        }
        if !self.is_running() {
            let connection = self.0.lock().take();
            drop(connection);
        }
    }

    /// Whether threads of the connection run, also after a close: a handler closed its own session,
    /// or did not return in time. Another close waits for these threads.
    pub(super) fn is_running(&self) -> bool {
        let connection = self.connection();
        connection.is_some_and(|connection| connection.peer().stats().threads > 0)
    }
}

/// A connection, listener or endpoint that a server serves. A trait, so that a program without
/// listeners does not carry their code.
pub(super) trait Served: Send + Sync {
    /// Closes it. Idempotent.
    fn close(&self);

    /// Whether handlers still run although it was closed. Another close waits for them.
    fn is_running(&self) -> bool {
        false
    }

    /// Returns its counters; the member `kind` says what it is.
    fn stats(&self) -> Value;

    /// Returns what it does at present, as lines of text; empty for nothing.
    fn activity(&self) -> String {
        format!("{}\n", self.stats())
    }
}

/// The set of all connections, listeners and endpoints that a server serves.
pub(super) struct Serving {
    /// The number of the server's handle.
    number: u64,
    threads: Threads,
    /// Whether the server was stopped. The flag is never reset.
    stopped: AtomicBool,
    /// Whether freeing the server has begun.
    ended: AtomicBool,
    /// The wakeup descriptor of the watcher thread. The first [`enter`](Self::enter) creates the
    /// descriptor.
    wake: OnceLock<Wake>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    served: HashMap<u64, Arc<dyn Served>>,
    /// The sessions that ended while a handler was running. Freeing the server waits for these
    /// handlers.
    leaving: Vec<Arc<dyn Served>>,
    next: u64,
    /// The number of threads that are closing a connection, listener or endpoint of the server.
    closers: usize,
    watcher: Watcher,
}

/// Marks the current thread as closing a connection, listener or endpoint of a server. Dropping the
/// value removes the mark.
pub(super) struct Closer<'a> {
    serving: &'a Serving,
    _inside: Inside,
}

impl Drop for Closer<'_> {
    fn drop(&mut self) {
        let mut state = self.serving.state.lock();
        state.closers -= 1;
        self.serving.changed.notify_all();
    }
}

#[derive(Default)]
enum Watcher {
    #[default]
    None,
    Watching(JoinHandle<()>),
    Leaving,
}

impl Serving {
    /// Makes an empty set for a server. `number` is the number of the server's handle.
    pub(super) fn new(number: u64, threads: Threads) -> Self {
        Self {
            number,
            threads,
            stopped: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            wake: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Adds a connection, listener or endpoint to the set. The returned number identifies this
    /// entry for [`leave`](Self::leave). On failure, closes the connection, listener or endpoint.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`] when the server was stopped, [`ErrorKind::Io`] when the system can't
    /// provide a thread or descriptor.
    pub(super) fn enter(self: &Arc<Self>, served: Arc<dyn Served>) -> Result<u64> {
        let entered = self.try_enter(&served);
        if entered.is_err() {
            self.close(&*served);
        }
        entered
    }

    fn try_enter(self: &Arc<Self>, served: &Arc<dyn Served>) -> Result<u64> {
        if self.wake.get().is_none() {
            let wake = Wake::new().map_err(|error| Error::io("preparing to serve", error))?;
            // Another thread may have set the descriptor first.
            _ = self.wake.set(wake);
        }
        let mut state = self.state.lock();
        while matches!(state.watcher, Watcher::Leaving) {
            state = self.changed.wait(state);
        }
        if self.is_stopped() {
            let text = "the server was stopped: make another one to serve again";
            return Err(Error::new(ErrorKind::Closed, text));
        }
        if matches!(state.watcher, Watcher::None) {
            let this = Arc::clone(self);
            let threads = &self.threads;
            let watcher = threads.start("stop", Stack::Large, move || this.watch())?;
            state.watcher = Watcher::Watching(watcher);
        }
        state.next += 1;
        let number = state.next;
        state.served.insert(number, Arc::clone(served));
        Ok(number)
    }

    /// Removes a connection, listener or endpoint that is no longer served. `number` is the number
    /// that [`enter`](Self::enter) returned.
    pub(super) fn leave(&self, number: u64) {
        let _inside = self.inside();
        let mut state = self.state.lock();
        let gone = state.served.remove(&number);
        let is_last = gone.is_some() && state.served.is_empty();
        let mut leaving = std::mem::take(&mut state.leaving);
        drop(state);
        leaving.extend(gone);
        // Closing and dropping the values may take long, so the lock is released first.
        leaving.retain(|served| {
            let is_running = served.is_running();
            if !is_running {
                served.close();
            }
            is_running
        });
        self.state.lock().leaving.append(&mut leaving);
        // After a stop the watcher ends by itself. The watcher may wait for this thread, so joining
        // the watcher would deadlock.
        if is_last && !self.is_stopped() {
            self.dismiss(|state| state.served.is_empty());
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Requests that the server stops. The function is async-signal-safe: it only stores an atomic
    /// and writes to a descriptor.
    pub(super) fn ask_to_stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(wake) = self.wake.get() {
            wake.fire();
        }
    }

    /// Stops the server on this thread, and waits until the server has ended.
    pub(super) fn end(self: &Arc<Self>) {
        self.ended.store(true, Ordering::SeqCst);
        self.stopped.store(true, Ordering::SeqCst);
        self.close_all();
        self.wait_for_closers();
        let leaving = std::mem::take(&mut self.state.lock().leaving);
        for served in leaving {
            self.close(&*served);
        }
        self.dismiss(|_| true);
    }

    /// Returns whether the server is being freed.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    pub(super) fn all(&self) -> Vec<Arc<dyn Served>> {
        self.state.lock().served.values().cloned().collect()
    }

    /// Closes a connection, listener or endpoint that is served.
    fn close(&self, served: &dyn Served) {
        let _inside = self.inside();
        served.close();
    }

    /// Marks this thread as closing a connection, listener or endpoint, until the returned value is
    /// dropped. Freeing the server waits for marked threads. So if a callback on this thread frees
    /// the server, another thread waits for this thread. An example of such a callback is the close
    /// function of a transport.
    pub(super) fn inside(&self) -> Closer<'_> {
        self.state.lock().closers += 1;
        Closer {
            serving: self,
            _inside: Inside::of(self.number),
        }
    }

    /// Blocks until no thread is closing a connection, listener or endpoint, at most
    /// [`CLOSE_TIMEOUT`]. So the events of these threads are delivered before the server has ended.
    fn wait_for_closers(&self) {
        let until = Instant::now() + CLOSE_TIMEOUT;
        let mut state = self.state.lock();
        while state.closers > 0 && Instant::now() < until {
            state = self.changed.wait_until(state, Some(until));
        }
    }

    /// Returns whether this thread runs a callback of the server, or closes a connection, listener
    /// or endpoint of the server.
    pub(super) fn is_inside(&self) -> bool {
        crate::cffi::user::is_inside(self.number)
    }

    fn close_all(self: &Arc<Self>) {
        let all = self.all();
        for some in all.chunks(MAX_CLOSING_THREADS) {
            let threads = some.iter().skip(1).map(|served| {
                let (this, elsewhere) = (Arc::clone(self), Arc::clone(served));
                let threads = &self.threads;
                let thread = threads.start("close", Stack::Large, move || this.close(&*elsewhere));
                // If no thread can be started, this thread closes the entry.
                thread.map_err(|_| self.close(&**served))
            });
            let threads: Vec<_> = threads.collect();
            if let Some(first) = some.first() {
                self.close(&**first);
            }
            for thread in threads.into_iter().flatten() {
                // The thread does not panic: closing catches panics of callbacks.
                _ = thread.join();
            }
        }
    }

    /// Ends the watcher thread if `unneeded` returns true. `unneeded` is called under the lock.
    fn dismiss(&self, unneeded: impl Fn(&State) -> bool) {
        let mut state = self.state.lock();
        if !unneeded(&state) {
            return;
        }
        let watcher = match std::mem::replace(&mut state.watcher, Watcher::Leaving) {
            Watcher::Watching(watcher) => watcher,
            before => {
                state.watcher = before;
                return;
            }
        };
        drop(state);
        let Some(wake) = self.wake.get() else {
            return;
        };
        wake.fire();
        // The thread does not panic: closing catches panics of callbacks.
        _ = watcher.join();
        let mut state = self.state.lock();
        state.watcher = Watcher::None;
        // Clearing may remove the wakeup of a stop request. The request is not lost, because the
        // next `enter` checks the flag.
        wake.clear();
        self.changed.notify_all();
    }

    /// Runs the loop of the watcher thread: waits for a request to stop, and then closes all
    /// connections, listeners and endpoints.
    fn watch(self: &Arc<Self>) {
        let Some(wake) = self.wake.get() else {
            return;
        };
        loop {
            // If waiting fails, stop requests have no effect; freeing the server still closes all
            // connections, listeners and endpoints.
            if wake.wait(None).is_err() {
                return;
            }
            // Clear the descriptor before checking the flags, so that a later request wakes the
            // thread again.
            wake.clear();
            if matches!(self.state.lock().watcher, Watcher::Leaving) {
                return;
            }
            if self.is_stopped() {
                return self.close_all();
            }
        }
    }
}
