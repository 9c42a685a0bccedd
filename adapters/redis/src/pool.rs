//! A pool of connections to Redis, with a circuit breaker.
//!
//! ```text
//!             a command fails                     a second passes
//!  closed ────────────────────▶ open: commands ───────────────────▶ one command tries ──▶ closed
//!    ▲                          fail at once  ◀── it fails ────────  (the others fail)      │
//!    ╰──────────────────────────────────────────────────────────────────────────────────────╯
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::{Error, ErrorKind, Result};
use redis::{Connection, RedisError};

use crate::connecting::Settings;
use crate::error::failed;
use crate::lock;

/// The time for which commands fail at once after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// The maximum number of connections that are being opened at the same time. It is reached only if
/// the system does not end attempts, for example while it resolves a name.
const MAX_CONNECTING: usize = 16;

pub(crate) struct Pool {
    settings: Arc<Settings>,
    state: Mutex<State>,
    /// Notified when a place becomes free.
    freed: Condvar,
    /// The number of threads that open a connection.
    connecting: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// The connections that no command uses.
    idle: Vec<Connection>,
    /// The number of commands that use a connection or wait until one is opened.
    places: usize,
    /// The time until which commands fail at once. `None` while the breaker is closed.
    open_until: Option<Instant>,
    /// Whether a command tries whether Redis can be reached again.
    is_trying: bool,
}

impl Pool {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            state: Mutex::default(),
            freed: Condvar::new(),
            connecting: AtomicUsize::new(0),
        }
    }

    /// Waits for a place for a command.
    pub(crate) fn place(self: &Arc<Self>, deadline: Instant) -> Result<Place> {
        let mut state = lock(&self.state);
        loop {
            let now = Instant::now();
            let is_trial = state.open_until.is_some();
            if state
                .open_until
                .is_some_and(|until| state.is_trying || until > now)
            {
                let text = "Redis failed less than a second ago, and was not tried again";
                return Err(Error::new(ErrorKind::Io, text));
            }
            if state.places < self.settings.max_connections {
                state.places += 1;
                state.is_trying = is_trial;
                return Ok(Place {
                    pool: Arc::clone(self),
                    is_trial,
                });
            }
            let wait = deadline.saturating_duration_since(now);
            if wait.is_zero() {
                let text = format!(
                    "all connections to Redis are in use (max_connections is {})",
                    self.settings.max_connections
                );
                return Err(Error::new(ErrorKind::Timeout, text));
            }
            let waited = self.freed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(crate) fn own_connection(self: &Arc<Self>) -> Result<Connection> {
        // One that was opened too late for the call that needed it.
        if let Some(connection) = lock(&self.state).idle.pop() {
            return Ok(connection);
        }
        self.open(Instant::now() + self.settings.timeout)
    }

    /// Opens a connection on a thread of its own, since not every part of it has a timeout. A
    /// connection that comes too late becomes an idle one.
    fn open(self: &Arc<Self>, deadline: Instant) -> Result<Connection> {
        if self.connecting.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTING {
            self.connecting.fetch_sub(1, Ordering::Relaxed);
            let text = format!("{MAX_CONNECTING} connections to Redis are being opened");
            return Err(Error::new(ErrorKind::Busy, text));
        }
        let (opened, receiver) = mpsc::sync_channel(0);
        let opening = Opening(Arc::clone(self));
        let run = move || {
            let connection = opening.0.settings.connect();
            if let Err(mpsc::SendError(Ok(connection))) = opened.send(connection) {
                opening.0.keep(connection);
            }
        };
        thread::Builder::new()
            .name("mcplink-redis-open".to_owned())
            .spawn(run)
            .map_err(|error| Error::new(ErrorKind::Spawn, error.to_string()))?;
        let wait = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(wait) {
            Ok(connection) => connection.map_err(|error| failed(&error)),
            Err(RecvTimeoutError::Timeout) => {
                let text = "Redis failed: it can't be reached in time";
                Err(Error::new(ErrorKind::Timeout, text))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let text = "Redis failed: opening a connection panicked";
                Err(Error::new(ErrorKind::Io, text))
            }
        }
    }

    /// Adds an idle connection, unless there are enough.
    fn keep(&self, connection: Connection) {
        let mut state = lock(&self.state);
        if state.places + state.idle.len() < self.settings.max_connections {
            state.idle.push(connection);
        }
    }
}

/// A thread that opens a connection. Dropping the value says that it has ended.
struct Opening(Arc<Pool>);

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.connecting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right of a command to use one connection. Dropping the value gives it back.
pub(crate) struct Place {
    pool: Arc<Pool>,
    /// Whether this command tries whether Redis can be reached again.
    is_trial: bool,
}

impl Place {
    /// Returns an idle or a new connection, and whether it is a new one.
    pub(crate) fn connection(&mut self, deadline: Instant) -> Result<(Connection, bool)> {
        if let Some(connection) = lock(&self.pool.state).idle.pop() {
            return Ok((connection, false));
        }
        let opened = self.pool.open(deadline);
        if opened.is_err() {
            self.open_breaker();
        }
        Ok((opened?, true))
    }

    /// Drops the idle connections: they are as old as one that turned out to be broken.
    pub(crate) fn forget_idle(&self) {
        lock(&self.pool.state).idle.clear();
    }

    /// Opens the circuit breaker after a failed command, and returns the error of the command.
    pub(crate) fn failed(&mut self, error: &RedisError) -> Error {
        self.forget_idle();
        self.open_breaker();
        failed(error)
    }

    fn open_breaker(&mut self) {
        lock(&self.pool.state).open_until = Some(Instant::now() + PAUSE);
    }

    /// Gives back a connection whose command got an answer, and closes the circuit breaker.
    pub(crate) fn give_back(&mut self, connection: Connection) {
        let mut state = lock(&self.pool.state);
        state.idle.push(connection);
        state.open_until = None;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = lock(&self.pool.state);
        state.places -= 1;
        state.is_trying &= !self.is_trial;
        drop(state);
        self.pool.freed.notify_one();
    }
}
