//! The state of a client, and the callbacks that were set in its options.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use crate::cffi::answer::mcplink_handler_fn;
use crate::cffi::auth::Made;
use crate::cffi::auth::mcplink_bearer_fn;
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::callers::Callers;
use crate::cffi::entry::Outcome;
use crate::cffi::event::{EventFn, mcplink_line_fn};
use crate::cffi::fetch::{FetchFn, HostClient};
use crate::cffi::handle::{Gate, Handled};
use crate::cffi::log;
use crate::cffi::queue::Kind;
use crate::cffi::user::{Callback, Hook, Inside, marks};
use crate::client::{Client, ClientBuilder, Subscription};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{CancelToken, RequestOptions};
use crate::sync::{Condvar, Mutex};
use crate::transport::{Stack, StderrTail, Threads};

/// A client: a connection to one server. Thread-safe.
///
/// The callbacks of a client run one at a time and in order. They run on a dispatcher thread of the
/// client or, with a pump, on the thread that dispatches the pump. They may call any function of
/// this library, also with this client.
pub struct mcplink_client_t {
    pub(super) gate: Gate,
    pub(super) shared: Arc<Shared>,
    pub(super) callers: Callers,
}

handle!(mcplink_client_t is Client);

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

/// The timeouts of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    pub(super) timeout: Duration,
    pub(super) max_timeout: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            timeout: RequestOptions::TIMEOUT,
            max_timeout: RequestOptions::MAX_TIMEOUT,
        }
    }
}

impl Timeouts {
    /// Returns the time that remains of the timeouts after `elapsed`.
    fn after(self, elapsed: Duration) -> Self {
        Self {
            timeout: self.timeout.saturating_sub(elapsed),
            max_timeout: self.max_timeout.saturating_sub(elapsed),
        }
    }
}

/// The state shared by the handle of a client and the client's callbacks. The connection holds only
/// a weak reference to this state, so that freeing the handle ends the connection.
pub(super) struct Shared {
    pub(super) number: u64,
    pub(super) stage: Arc<CallbackExecutor>,
    pub(super) hooks: Hooks,
    pub(super) timeouts: Timeouts,
    pub(super) threads: Threads,
    /// The last standard error output of a child process.
    pub(super) tail: OnceLock<StderrTail>,
    /// The token that cancels connecting.
    pub(super) connecting: CancelToken,
    /// The token that is triggered when closing the client begins. Threads then stop waiting for
    /// the answers of handlers to requests from the server.
    pub(super) closing: CancelToken,
    /// The HTTP client of the host, if the client uses one.
    pub(super) http_client: OnceLock<HostClient>,
    /// The number of the host's transport, if the client uses one.
    pub(super) transport: OnceLock<u64>,
    pub(super) client: OnceLock<Client>,
    pub(super) phase: Mutex<Phase>,
    /// Notified when the phase is no longer `Connecting`. The phase changes under its lock before
    /// the notification, so a waiter can't miss the notification.
    pub(super) settled: Condvar,
    pub(super) subscriptions: Mutex<Subscriptions>,
    closer: Mutex<Closer>,
    /// Notified when closing is complete. `Closer::is_done` is set under the lock before the
    /// notification, so a waiter can't miss the notification.
    closed: Condvar,
}

pub(super) enum Phase {
    /// The client is being connected. If the new connection has already ended, the value is the
    /// reason for the end.
    Connecting(Option<Error>),
    Ready,
    Lost,
    Closed,
    Failed(Error),
}

impl Phase {
    /// Returns why there is no connection, for a client that was never connected.
    fn why_not(&self) -> Error {
        match self {
            Self::Failed(error) => error.clone(),
            Self::Closed => Error::new(ErrorKind::Closed, "the client was closed"),
            _ => Error::new(ErrorKind::State, "the client is still being connected"),
        }
    }
}

/// The subscriptions of the client to changes.
#[derive(Default)]
pub(super) struct Subscriptions {
    pub(super) changes: Option<Subscription>,
    pub(super) resources: HashMap<String, Subscription>,
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
    pub(super) fn client(&self) -> Result<&Client> {
        self.shared.client()
    }
}

impl Handled for mcplink_client_t {
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
        self.shared.finish_fetching();
        self.shared.stage.finish();
        let subscriptions = std::mem::take(&mut *self.shared.subscriptions.lock());
        drop(subscriptions);
    }
}

impl Shared {
    pub(super) fn new(
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
            http_client: OnceLock::new(),
            transport: OnceLock::new(),
            client: OnceLock::new(),
            phase: Mutex::new(Phase::Connecting(None)),
            settled: Condvar::new(),
            subscriptions: Mutex::default(),
            closer: Mutex::default(),
            closed: Condvar::new(),
        }
    }

    /// Returns the connection, also after the connection has ended. Fails if the client was never
    /// connected.
    pub(super) fn client(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        Err(self.phase.lock().why_not())
    }

    /// Returns the connection for a call that begins now. While the client is being connected,
    /// blocks until the outcome is known, for at most the shorter of the timeouts of the call. Then
    /// also returns the time that remains of them; `None` without such a wait.
    ///
    /// # Errors
    ///
    /// The error of connecting; [`ErrorKind::Cancelled`] when `cancel` is triggered,
    /// [`ErrorKind::Timeout`] after the timeout; [`ErrorKind::State`] in a callback of the client
    /// or of its transport, for which connecting may wait.
    pub(super) fn await_client(
        self: &Arc<Self>,
        timeouts: Timeouts,
        cancel: Option<&CancelToken>,
    ) -> Result<(&Client, Option<Timeouts>)> {
        if let Some(client) = self.client.get() {
            return Ok((client, None));
        }
        let began = Instant::now();
        let is_cancelled = || cancel.is_some_and(CancelToken::is_triggered);
        let woken = cancel.map(|cancel| {
            let me = Arc::clone(self);
            cancel.on_trigger(move || {
                drop(me.phase.lock());
                me.settled.notify_all();
            })
        });
        let deadline = began.checked_add(timeouts.timeout.min(timeouts.max_timeout));
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        // The function that makes the call is the first mark.
        let is_here =
            marks(self.number) > 1 || self.transport.get().is_some_and(|it| marks(*it) > 0);
        let mut phase = self.phase.lock();
        while matches!(*phase, Phase::Connecting(_)) && !is_here && !is_cancelled() && !is_late() {
            phase = self.settled.wait_until(phase, deadline);
        }
        let error = phase.why_not();
        drop(phase);
        drop(woken);
        // `Phase::Ready` is set together with the client.
        match (self.client.get(), error.kind()) {
            (Some(client), _) => Ok((client, Some(timeouts.after(began.elapsed())))),
            (None, ErrorKind::State) if is_cancelled() => {
                let text = "the call was cancelled before the client was connected";
                Err(Error::new(ErrorKind::Cancelled, text))
            }
            (None, ErrorKind::State) if !is_here => Err(error.with_kind(ErrorKind::Timeout)),
            (None, _) => Err(error),
        }
    }

    /// Fails if the client can't be connected any more.
    pub(super) fn check_usable(&self) -> Result<()> {
        match self.client() {
            Err(error) if error.kind() != ErrorKind::State => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn state(&self) -> mcplink_connection_state {
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
    pub(super) fn close(&self) {
        // Calls that wait for the connection report that the client was closed, not that connecting
        // was cancelled, which follows.
        let mut phase = self.phase.lock();
        if let Phase::Connecting(_) = *phase {
            *phase = Phase::Closed;
        }
        drop(phase);
        self.settled.notify_all();
        self.connecting.cancel();
        self.closing.cancel();
        if let Some(client) = self.client.get() {
            client.close();
        }
        self.gone(None);
    }

    /// Blocks until the function of the host that sends requests over HTTP does not run any more.
    fn finish_fetching(&self) {
        if let Some(http_client) = self.http_client.get() {
            http_client.close();
        }
    }

    /// Closes the client on separate threads, and then posts `done`, after all other callbacks of
    /// the client. If no thread can be started, `done` is dropped under a lock. So `done` must not
    /// hold the last reference to a value of the host.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`] when another thread frees the client, [`ErrorKind::Io`] when the
    /// system can't start a thread.
    pub(super) fn start_close(
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
            me.finish_fetching();
            let subscriptions = std::mem::take(&mut *me.subscriptions.lock());
            drop(subscriptions);
            me.stage.post(Kind::Call, done);
        })?;
        closer.waiting.push(thread);
        Ok(())
    }

    /// Closes the client on a separate thread, and waits for that thread until the deadline.
    pub(super) fn close_until(self: &Arc<Self>, deadline: Option<Instant>) -> Outcome<()> {
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

pub(super) type LineFn = Callback<mcplink_line_fn>;
pub(super) type BearerFn = Callback<mcplink_bearer_fn>;

pub(super) type HandlerFn = Callback<mcplink_handler_fn>;

/// The callbacks of one client. Copies share the callbacks; the user data is released with the last
/// copy.
#[derive(Clone, Default)]
pub(super) struct Hooks {
    pub(super) event: Option<Arc<Hook<EventFn>>>,
    pub(super) log: Option<Arc<log::Hook>>,
    pub(super) stderr: Option<Arc<Hook<LineFn>>>,
    pub(super) bearer: Option<Arc<Hook<BearerFn>>>,
    pub(super) oauth: Option<Arc<Made>>,
    pub(super) fetch: Option<Arc<Hook<FetchFn>>>,
    /// The host's functions for notifications, each with its method.
    pub(super) notifications: Vec<(String, Arc<Hook<EventFn>>)>,
    pub(super) elicit: Option<Arc<Hook<HandlerFn>>>,
    pub(super) elicit_url: Option<Arc<Hook<HandlerFn>>>,
    pub(super) sample: Option<Arc<Hook<HandlerFn>>>,
    pub(super) roots: Option<Arc<Hook<HandlerFn>>>,
    /// The host's handlers for requests of custom methods, each with its method.
    pub(super) requests: Vec<(String, Arc<Hook<HandlerFn>>)>,
    /// The functions that register handlers with the builder of the client, each with the name of
    /// its setter. Each setter stores its function, so that a program without handlers is linked
    /// without these functions.
    pub(super) askers: Vec<(&'static str, Asker)>,
}

/// A function that registers a handler of the host with the builder of a client, if the handler is
/// set.
pub(super) type Asker = fn(ClientBuilder, &Arc<Shared>) -> ClientBuilder;

impl Hooks {
    pub(super) fn ask_by(&mut self, asker: (&'static str, Asker)) {
        self.askers.retain(|(known, _)| *known != asker.0);
        self.askers.push(asker);
    }

    /// Returns whether the client has handlers for requests from the server.
    pub(super) fn has_questions(&self) -> bool {
        let named = [&self.elicit, &self.elicit_url, &self.sample, &self.roots];
        !self.requests.is_empty() || named.into_iter().any(Option::is_some)
    }
}

/// Sets the hook of a method, or removes it if `hook` is `None`.
pub(super) fn set_by_method<F>(
    hooks: &mut Vec<(String, Arc<Hook<F>>)>,
    method: &str,
    hook: Option<Arc<Hook<F>>>,
) {
    hooks.retain(|(known, _)| known != method);
    hooks.extend(hook.map(|hook| (method.to_owned(), hook)));
}
