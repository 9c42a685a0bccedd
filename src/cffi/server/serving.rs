//! What a server serves at the moment, and how all of it ends.
//!
//! **Threads.** While something is served, one thread waits until somebody wants it stopped: whoever does may be a signal handler, which can only
//! set a flag and ring a bell. The last thing that is served no more ends the thread; after a stop the end of the server joins it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cffi::user::Inside;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Connection;
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::fd::Wake;
use crate::transport::{Stack, Threads};

/// How long the end of the server waits for others who close what it has closed already.
const LAST: Duration = Duration::from_secs(5);
/// So many threads at most end what is served side by side.
const ENDING_AT_ONCE: usize = 64;

/// A connection until it is closed: closing lets go of it, so that what it holds, descriptors above all, is given back.
pub(super) struct Line(Mutex<Option<Connection>>);

impl Line {
    pub(super) fn new(connection: Connection) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(connection))))
    }

    /// While it is not closed.
    pub(super) fn connection(&self) -> Option<Connection> {
        self.0.lock().clone()
    }

    /// Waits until the peer has gone, or somebody closes it; says what ended it if it was not closed before.
    pub(super) fn wait(&self) -> Option<Error> {
        let error = self.connection()?.wait();
        self.close();
        Some(error)
    }

    pub(super) fn close(&self) {
        if let Some(connection) = self.connection() {
            connection.close();
        }
        let connection = self.0.lock().take();
        drop(connection);
    }
}

/// Something that is served.
#[derive(Clone)]
pub(super) enum Served {
    Session(Arc<Line>),
    #[cfg(feature = "http-server")]
    Listener(Arc<crate::server::http::HttpServer>),
    #[cfg(feature = "http-server")]
    Mounted(crate::server::http::HttpService),
}

impl Served {
    fn close(&self) {
        match self {
            Self::Session(line) => line.close(),
            #[cfg(feature = "http-server")]
            Self::Listener(listener) => listener.close(),
            #[cfg(feature = "http-server")]
            Self::Mounted(service) => service.close(),
        }
    }
}

/// All that a server serves.
pub(super) struct Serving {
    /// Of the server.
    number: u64,
    threads: Threads,
    /// Set once; nothing is served any more.
    stopped: AtomicBool,
    /// The server is being freed.
    ended: AtomicBool,
    /// Rung for the thread. Made with the first thing that is served.
    bell: OnceLock<Wake>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    served: HashMap<u64, Served>,
    next: u64,
    /// How many threads close something.
    closers: usize,
    watcher: Watcher,
}

/// A thread that closes something that is served.
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
    /// Of the server with this number.
    pub(super) fn new(number: u64, threads: Threads) -> Self {
        Self {
            number,
            threads,
            stopped: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            bell: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Notes that something is served; gives its number, to be given to [`leave`](Self::leave).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`] when nothing is served any more: what was to be is closed then. [`ErrorKind::Io`] without a thread or descriptor.
    pub(super) fn enter(self: &Arc<Self>, served: Served) -> Result<u64> {
        let entered = self.try_enter(&served);
        if entered.is_err() {
            self.close(&served);
        }
        entered
    }

    fn try_enter(self: &Arc<Self>, served: &Served) -> Result<u64> {
        if self.bell.get().is_none() {
            let bell = Wake::new().map_err(|error| Error::io("preparing to serve", error))?;
            // Another thread may have been faster.
            _ = self.bell.set(bell);
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
        state.served.insert(number, served.clone());
        Ok(number)
    }

    /// Notes that something is not served any more.
    pub(super) fn leave(&self, number: u64) {
        let mut state = self.state.lock();
        let gone = state.served.remove(&number);
        let is_last = gone.is_some() && state.served.is_empty();
        drop(state);
        // What it holds may end here, which takes its time.
        drop(gone);
        // After a stop the thread ends by itself, and may wait for this one.
        if is_last && !self.is_stopped() {
            self.dismiss(|state| state.served.is_empty());
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Ends all in a while, from a signal handler too: an atomic store and a write to a descriptor.
    pub(super) fn ask_to_stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(bell) = self.bell.get() {
            bell.fire();
        }
    }

    /// Ends all, here.
    pub(super) fn end(self: &Arc<Self>) {
        self.ended.store(true, Ordering::SeqCst);
        self.stopped.store(true, Ordering::SeqCst);
        self.close_all();
        self.wait_for_closers();
        self.dismiss(|_| true);
    }

    /// Whether the server is being freed.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    pub(super) fn all(&self) -> Vec<Served> {
        self.state.lock().served.values().cloned().collect()
    }

    /// Closes something that is served.
    fn close(&self, served: &Served) {
        let _inside = self.inside();
        served.close();
    }

    /// While it lives, the end of the server waits for this thread: whatever is called back here, such as the function that is told of the end of
    /// a transport, must not wait for that end.
    pub(super) fn inside(&self) -> Closer<'_> {
        self.state.lock().closers += 1;
        Closer {
            serving: self,
            _inside: Inside::of(self.number),
        }
    }

    /// Waits for those who close something beside the end of the server: what they have to tell is told before it.
    fn wait_for_closers(&self) {
        let until = Instant::now() + LAST;
        let mut state = self.state.lock();
        while state.closers > 0 && Instant::now() < until {
            state = self.changed.wait_until(state, Some(until));
        }
    }

    /// Whether this thread is in a callback of the server, or closes something that it serves.
    #[cfg(feature = "http-server")]
    pub(super) fn is_inside(&self) -> bool {
        crate::cffi::user::is_inside(self.number)
    }

    fn close_all(self: &Arc<Self>) {
        let all = self.all();
        for some in all.chunks(ENDING_AT_ONCE) {
            let threads = some.iter().skip(1).map(|served| {
                let (this, elsewhere) = (Arc::clone(self), served.clone());
                let threads = &self.threads;
                let thread = threads.start("close", Stack::Large, move || this.close(&elsewhere));
                // Without a thread to be had it is closed here.
                thread.map_err(|_| self.close(served))
            });
            let threads: Vec<_> = threads.collect();
            if let Some(first) = some.first() {
                self.close(first);
            }
            for thread in threads.into_iter().flatten() {
                // Closing contains the panics of those it ends.
                _ = thread.join();
            }
        }
    }

    /// Ends the thread that waits, if it is still not needed.
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
        let Some(bell) = self.bell.get() else {
            return;
        };
        bell.fire();
        // It contains the panics of those it ends.
        _ = watcher.join();
        let mut state = self.state.lock();
        state.watcher = Watcher::None;
        // Whoever serves next looks at the flag, so that no wish to stop gets lost with the bell.
        bell.clear();
        self.changed.notify_all();
    }

    /// The work of the thread.
    fn watch(self: &Arc<Self>) {
        let Some(bell) = self.bell.get() else {
            return;
        };
        loop {
            // A system that can't wait has nobody told: then freeing the server ends all.
            if bell.wait(None).is_err() {
                return;
            }
            // First, so that what is asked for from here on is heard.
            bell.clear();
            if matches!(self.state.lock().watcher, Watcher::Leaving) {
                return;
            }
            if self.is_stopped() {
                return self.close_all();
            }
        }
    }
}
