//! Clients for C.
//!
//! ```text
//!  options  the options of a client;      endpoint  the server to connect to
//!  opening  connect, close and free;      info      information about the server
//!  events   events outside of calls;      questions requests from the server
//!  calling  how a call runs;  call_options  options of a call;  call  started calls
//!  config   the configuration files of hosts
//!  calls, lists, tasks, notifications  the calls and notifications themselves
//!  memory   what clients share: caches and eras
//! ```
//!
//! **Threads.** A client has the threads that a client in Rust has. A client for C also has a
//! dispatcher thread, unless the client has a pump. Each started call in progress uses one more
//! thread, and so does closing the connection. Freeing the client joins all these threads.

mod call;
mod call_options;
mod call_table;
mod calling;
mod calls;
mod config;
mod endpoint;
mod endpoint_options;
mod events;
mod hooks;
mod info;
mod limits;
mod lists;
mod memory;
mod notifications;
mod opening;
mod options;
mod questions;
mod tasks;

pub(super) use self::endpoint_options::mcplink_bearer_fn;
pub(super) use self::options::mcplink_token_t;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use self::hooks::Hooks;
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::callers::Callers;
use crate::cffi::entry::Outcome;
use crate::cffi::handle::{Gate, Handled, Kind as ObjectKind, Object};
use crate::cffi::queue::Kind;
use crate::cffi::user::Inside;
use crate::client::{Client, Subscription};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::CancelToken;
use crate::sync::{Condvar, Mutex};
use crate::transport::{Stack, StderrTail, Threads};

/// A client: a connection to one server. Thread-safe.
///
/// The callbacks of a client run one at a time and in order. They run on a dispatcher thread of the
/// client or, with a pump, on the thread that dispatches the pump. They may call any function of
/// this library, also with this client.
pub struct mcplink_client_t {
    gate: Gate,
    shared: Arc<Shared>,
    callers: Callers,
}

impl Object for mcplink_client_t {
    const KIND: ObjectKind = ObjectKind::Client;
}

/// The state of a client.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_connection_state {
    /// No client: the pointer is NULL.
    #[allow(dead_code, reason = "getters return 0")]
    MCPLINK_CLIENT_NONE = 0,
    /// The client is being connected: see mcplink_client_start.
    MCPLINK_CLIENT_CONNECTING = 201,
    /// The client is connected.
    MCPLINK_CLIENT_READY = 202,
    /// The connection to the server was lost, and the server will be restarted: see
    /// mcplink_client_options_set_restart.
    MCPLINK_CLIENT_LOST = 203,
    /// The client was closed, or its connection has ended for good.
    MCPLINK_CLIENT_CLOSED = 204,
    /// The connection could not be made.
    MCPLINK_CLIENT_FAILED = 205,
}

/// The default timeouts of calls; `None` for the defaults of the library.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timeouts {
    timeout: Option<Duration>,
    max_timeout: Option<Duration>,
}

/// The state shared by the handle of a client and the client's callbacks. The connection holds only
/// a weak reference to this state, so that freeing the handle ends the connection.
pub(super) struct Shared {
    number: u64,
    stage: Arc<CallbackExecutor>,
    hooks: Hooks,
    timeouts: Timeouts,
    threads: Threads,
    /// The last standard error output of a child process.
    tail: OnceLock<StderrTail>,
    /// The token that cancels connecting.
    connecting: CancelToken,
    /// The token that is triggered when closing the client begins. Threads then stop waiting for
    /// the answers of handlers to requests from the server.
    closing: CancelToken,
    client: OnceLock<Client>,
    phase: Mutex<Phase>,
    subscriptions: Mutex<Subscriptions>,
    closer: Mutex<Closer>,
    /// Notified when closing is complete. `Closer::is_done` is set under the lock before the
    /// notification, so a waiter can't miss the notification.
    closed: Condvar,
}

enum Phase {
    /// The client is being connected. If the new connection has already ended, the value is the
    /// reason for the end.
    Connecting(Option<Error>),
    Ready,
    Lost,
    Closed,
    Failed(Error),
}

/// The subscriptions of the client to changes.
#[derive(Default)]
struct Subscriptions {
    changes: Option<Subscription>,
    resources: HashMap<String, Subscription>,
}

/// The threads that close the connection of a client.
///
/// **Invariant:** no thread is added after `is_freed` was set. Threads are added, and `is_freed` is
/// set, under the lock. So freeing the client joins every thread that posts a callback, before the
/// callback executor stops.
#[derive(Default)]
struct Closer {
    thread: Option<JoinHandle<()>>,
    /// The id of `thread`, also after `thread` was taken to be joined.
    thread_id: Option<ThreadId>,
    is_done: bool,
    /// Whether freeing the client has begun, and the client is closed.
    is_freed: bool,
    /// The threads that wait until the client is closed, and then post a callback.
    waiting: Vec<JoinHandle<()>>,
}

impl mcplink_client_t {
    fn client(&self) -> Result<&Client> {
        self.shared.client()
    }
}

impl Handled for mcplink_client_t {
    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn threads(&self) -> Threads {
        self.shared.threads.clone()
    }

    fn begin_close(&self) {
        self.shared.closing.cancel();
    }

    fn close(&self) {
        self.shared.close();
        let mut closer = self.shared.closer.lock();
        closer.is_freed = true;
        closer.is_done |= closer.thread.is_none();
        let waiting = std::mem::take(&mut closer.waiting);
        let threads = waiting.into_iter().chain(closer.thread.take());
        let threads: Vec<_> = threads.collect();
        drop(closer);
        self.shared.closed.notify_all();
        for thread in threads {
            // The threads do not panic, because closing does not panic.
            _ = thread.join();
        }
        self.callers.finish();
        self.shared.stage.finish();
        let subscriptions = std::mem::take(&mut *self.shared.subscriptions.lock());
        drop(subscriptions);
    }
}

impl Shared {
    fn new(
        number: u64,
        stage: CallbackExecutor,
        hooks: Hooks,
        timeouts: Timeouts,
        threads: Threads,
    ) -> Self {
        Self {
            number,
            stage: Arc::new(stage),
            hooks,
            timeouts,
            threads,
            tail: OnceLock::new(),
            connecting: CancelToken::new(),
            closing: CancelToken::new(),
            client: OnceLock::new(),
            phase: Mutex::new(Phase::Connecting(None)),
            subscriptions: Mutex::default(),
            closer: Mutex::default(),
            closed: Condvar::new(),
        }
    }

    /// Returns the connection, also after the connection has ended. Fails if the client was never
    /// connected.
    fn client(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        Err(match &*self.phase.lock() {
            Phase::Failed(error) => error.clone(),
            Phase::Closed => Error::new(ErrorKind::Closed, "the client was closed"),
            _ => Error::new(
                ErrorKind::State,
                "the client is still being connected: wait for MCPLINK_EVENT_CONNECTED",
            ),
        })
    }

    fn state(&self) -> mcplink_connection_state {
        use mcplink_connection_state as State;
        let is_closed = || self.client.get().is_some_and(Client::is_closed);
        match &*self.phase.lock() {
            Phase::Connecting(_) => State::MCPLINK_CLIENT_CONNECTING,
            Phase::Ready if is_closed() => State::MCPLINK_CLIENT_CLOSED,
            Phase::Ready => State::MCPLINK_CLIENT_READY,
            Phase::Lost => State::MCPLINK_CLIENT_LOST,
            Phase::Closed => State::MCPLINK_CLIENT_CLOSED,
            Phase::Failed(_) => State::MCPLINK_CLIENT_FAILED,
        }
    }

    /// Ends the connection, or the attempt to connect. Idempotent. The settings of the connection
    /// limit how long closing takes.
    fn close(&self) {
        self.connecting.cancel();
        self.closing.cancel();
        if let Some(client) = self.client.get() {
            client.close();
        }
        self.gone(None);
    }

    /// Closes the client on separate threads, and then posts `done`, after all other callbacks of
    /// the client. If no thread can be started, `done` is dropped under a lock. So `done` must not
    /// hold the last reference to a value of the host.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`] when another thread frees the client, [`ErrorKind::Io`] when the
    /// system can't start a thread.
    fn start_close(
        self: &Arc<Self>,
        callers: Callers,
        done: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let me = Arc::clone(self);
        let mut closer = self.closer.lock();
        if closer.is_freed {
            let text = "another thread frees the client";
            return Err(Error::new(ErrorKind::Closed, text));
        }
        let thread = self.threads.start("closing", Stack::Large, move || {
            let _inside = Inside::of(me.number);
            if me.close_until(None).is_err() {
                // No thread could be started for it.
                me.close();
            }
            callers.finish();
            let subscriptions = std::mem::take(&mut *me.subscriptions.lock());
            drop(subscriptions);
            me.stage.post(Kind::Call, done);
        })?;
        closer.waiting.push(thread);
        Ok(())
    }

    /// Closes the client on a separate thread, and waits for that thread until the deadline.
    fn close_until(self: &Arc<Self>, deadline: Option<Instant>) -> Outcome<()> {
        let mut closer = self.closer.lock();
        if closer.thread_id.is_none() && !closer.is_done && !closer.is_freed {
            let me = Arc::clone(self);
            let thread = self.threads.start("close", Stack::Large, move || {
                // Freeing the handle waits for this thread. So a callback that runs here must not
                // wait for the handle to close; this mark lets `free_handle` detect that.
                let _inside = Inside::of(me.number);
                me.close();
                me.closer.lock().is_done = true;
                me.closed.notify_all();
            });
            let thread = thread?;
            closer.thread_id = Some(thread.thread().id());
            closer.thread = Some(thread);
        }
        let is_here = closer.thread_id == Some(std::thread::current().id());
        while !closer.is_done {
            // A transport's close callback runs on the closing thread. If that callback closes the
            // client, the thread would wait for itself.
            if is_here || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let text = "the client is still being closed: it goes on, wait with another call of mcplink_client_close";
                return Err(Error::new(ErrorKind::Timeout, text).into());
            }
            closer = self.closed.wait_until(closer, deadline);
        }
        Ok(())
    }
}
