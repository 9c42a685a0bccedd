//! Clients for C.
//!
//! ```text
//!  options  what a client is described with;  endpoint  what it connects to
//!  opening  connecting, closing, freeing;     info      what is known of the server
//!  events   what happens beside all calls;    questions what a server asks
//!  calling  how a call runs;  call_options  how one waits;  call  one that was started
//!  calls, lists, notices  the calls themselves
//! ```
//!
//! **Threads.** Those of the client that a Rust program would have too; a dispatcher, unless there is a pump; one for each started call that
//! goes on; one that closes. Freeing joins them all.

mod call;
mod call_options;
mod calling;
mod calls;
mod endpoint;
mod events;
mod hooks;
mod info;
mod lists;
mod notices;
mod opening;
mod options;
mod questions;
mod reach;
mod tuning;

pub(super) use self::options::mcplink_token_t;
pub(super) use self::reach::mcplink_bearer_fn;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::hooks::Hooks;
use crate::cffi::callers::Callers;
use crate::cffi::entry::Outcome;
use crate::cffi::handle::{Gate, Handled};
use crate::cffi::stage::Stage;
use crate::cffi::user::Inside;
use crate::client::{Client, Subscription};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::CancelToken;
use crate::sync::{Condvar, Mutex};
use crate::transport::{Stack, StderrTail, Threads};

/// A client: a connection to one server.
///
/// Any thread may use it at any time. Its callbacks run on a thread of its own, one at a time and in order, or, with a pump, where that is
/// dispatched. They may call any function of this library, on this client too.
pub struct mcplink_client_t {
    gate: Gate,
    shared: Arc<Shared>,
    callers: Callers,
}

/// How it stands with a client.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_connection_state {
    /// There is no client: NULL was passed.
    MCPLINK_CLIENT_NONE = 0,
    /// It is being connected: see mcplink_client_start.
    MCPLINK_CLIENT_CONNECTING = 1,
    /// It is connected.
    MCPLINK_CLIENT_READY = 2,
    /// Its server was lost and will be started again: see mcplink_client_options_set_restart.
    MCPLINK_CLIENT_LOST = 3,
    /// It was closed, or its server has gone for good.
    MCPLINK_CLIENT_CLOSED = 4,
    /// It could not be connected.
    MCPLINK_CLIENT_FAILED = 5,
}

/// How long calls wait by default; `None` for what Rust programs have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timeouts {
    timeout: Option<Duration>,
    max_timeout: Option<Duration>,
}

/// What the handle and its callbacks share. The connection knows it only weakly, so that freeing the handle ends it.
pub(super) struct Shared {
    number: u64,
    stage: Arc<Stage>,
    hooks: Hooks,
    timeouts: Timeouts,
    threads: Threads,
    /// Of a child process.
    tail: OnceLock<StderrTail>,
    /// Nobody wants the connection any more.
    connecting: CancelToken,
    /// The client is being closed: what a server asks is not waited for any more.
    closing: CancelToken,
    client: OnceLock<Client>,
    phase: Mutex<Phase>,
    subscriptions: Mutex<Subscriptions>,
    closer: Mutex<Closer>,
    /// Closing is over.
    closed: Condvar,
}

enum Phase {
    /// If the connection has ended before it was known to be there: why.
    Connecting(Option<Error>),
    Ready,
    Lost,
    Closed,
    Failed(Error),
}

/// What is told of changes.
#[derive(Default)]
struct Subscriptions {
    standing: Option<Subscription>,
    resources: HashMap<String, Subscription>,
}

/// Who closes.
#[derive(Default)]
struct Closer {
    thread: Option<JoinHandle<()>>,
    is_done: bool,
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
        self.shared.closing.trigger();
    }

    fn close(&self) {
        self.shared.close();
        let thread = self.shared.closer.lock().thread.take();
        if let Some(thread) = thread {
            // It ends without a panic: closing has none.
            _ = thread.join();
        }
        self.callers.finish();
        self.shared.stage.finish();
        let told = std::mem::take(&mut *self.shared.subscriptions.lock());
        drop(told);
    }
}

impl Shared {
    fn new(number: u64, stage: Stage, hooks: Hooks, timeouts: Timeouts, threads: Threads) -> Self {
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

    /// The client, when it is connected, or was.
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

    /// Ends the connection, or the connecting. Idempotent, and bounded in time by the settings of the connection.
    fn close(&self) {
        self.connecting.trigger();
        self.closing.trigger();
        if let Some(client) = self.client.get() {
            client.close();
        }
        self.gone(None);
    }

    /// The same on a thread of its own, for which this waits until the deadline.
    fn close_until(self: &Arc<Self>, deadline: Option<Instant>) -> Outcome<()> {
        let mut closer = self.closer.lock();
        if closer.thread.is_none() && !closer.is_done {
            let me = Arc::clone(self);
            let thread = self.threads.start("close", Stack::Large, move || {
                // The end of the handle waits for this thread: whatever is called back here must not wait for that end.
                let _inside = Inside::of(me.number);
                me.close();
                me.closer.lock().is_done = true;
                me.closed.notify_all();
            });
            closer.thread = Some(thread?);
        }
        let is_here = closer.thread.as_ref().is_some_and(is_this);
        while !closer.is_done {
            // Called back by the transport, which is told to close, it would wait for itself.
            if is_here || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let text = "the client is still being closed: it goes on, wait with another call of mcplink_client_close";
                return Err(Error::new(ErrorKind::Timeout, text).into());
            }
            closer = self.closed.wait_until(closer, deadline);
        }
        Ok(())
    }
}

fn is_this(thread: &JoinHandle<()>) -> bool {
    thread.thread().id() == std::thread::current().id()
}
