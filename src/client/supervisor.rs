//! The supervisor of a client's connections, which holds the current connection and restarts a lost
//! server.
//!
//! ```text
//!            the connection ends              after the delay, an attempt succeeds
//!    up ─────────────────────────▶ down ──────────────────────────────────────────▶ up
//!     │                             │  ╲ the attempt fails: down, with a longer delay ──▶ …
//!     │ close                       │ close, or no attempt is left
//!     ╰───────────────▶ over ◀──────╯
//! ```
//!
//! Without restarts, only a close leads from *up* to *over*. The connection itself stores the
//! reason of its end.
//!
//! **Numbers.** Each connection has a number. A connection is closed before the next connection
//! is opened. Late events of an old connection, such as the outcome of a request, have the old
//! number, and are ignored.
//!
//! **Threads.** One thread, `mcplink-restart`, runs from the loss of a server until the server is
//! connected again or given up. The thread waits, opens the next connection and renews the
//! subscriptions. A close ends the wait and joins the thread, unless the thread runs a callback of
//! the host that does not return.
//!
//! **Lock order:** the state's lock before the locks of the attempts, the cache and the output
//! schemas. No lock is held while a connection is opened or closed, or while user code runs.

mod call_threads;
mod restarting;

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::cache::ResponseCache;
use super::call_options::CallOptions;
use super::connect::{Opened, Opening};
use super::connection::{ClientConnection, ServerDescription};
use super::era::{self, Era};
use super::header_params::Mirrors;
use super::output_schemas::Outputs;
use super::restart::{Attempts, ConnectionEvent};
use super::server_state::ServerState;
use super::settings::ClientSettings;
use crate::error::{Error, ErrorKind, Result, Span};
use crate::protocol::{CancelToken, Connection, Handlers, LogLevel, OnCancel, tell};
use crate::schema::{JsonObject, ProtocolVersion, Tool, TraceContext, meta_key, method};
use crate::sync::{Condvar, Mutex};
use crate::transport::{Allowance, Stack, ThreadPool, Transport};

/// The maximum number of different descriptions that the servers of one client may give. All
/// descriptions stay in memory, because references to them must stay valid.
const MAX_DESCRIPTIONS: usize = 64;

thread_local! {
    /// On a restarting thread, the address of its supervisor; on other threads, 0. A restarting
    /// thread must not wait for the restart that it performs itself.
    static RESTARTS: Cell<usize> = const { Cell::new(0) };
}

/// The supervisor of a client, which manages the client's connections.
pub(super) struct Supervisor {
    settings: ClientSettings,
    /// The transport and the policy for restarting the server; `None` without restarts.
    again: Option<RestartPlan>,
    /// The known era of the server for the next connect: first the host's setting, later the era
    /// that the server proved last. `None` after a failed connect, or after a connect that proved
    /// no era.
    verdict: Mutex<Option<Era>>,
    address: Option<String>,
    me: Weak<Self>,
    descriptions: Descriptions,
    pub(super) server: Arc<ServerState>,
    /// The number of the newest connection.
    numbers: AtomicUsize,
    /// The threads of started calls.
    call_threads: ThreadPool,
    // The phase, the current connection and the restarting thread change together under this lock.
    // A waiter checks the phase under this lock. Every change that a waiter waits for is made under
    // this lock and notifies `changed` afterwards. So no wakeup is lost.
    state: Mutex<State>,
    /// Wakes all waiters of this supervisor: when the phase changes, when the restarting thread
    /// ends, and when a waiting call is cancelled.
    changed: Condvar,
}

struct RestartPlan {
    transport: Mutex<Box<dyn Transport>>,
    attempts: Mutex<Attempts>,
    resends: bool,
}

struct State {
    phase: Phase,
    /// The current connection; while the server is not connected, the last connection.
    current: Option<Arc<ClientConnection>>,
    connection: Option<Connection>,
    since: Instant,
    /// Whether the host was notified that the connection ended. Used only without restarts.
    is_end_reported: bool,
    /// The connection that is being opened. A close of the client ends this connection.
    opening: Option<Connection>,
    // Set when the thread is started. Cleared under the lock under which the thread sees that it
    // has nothing to do. So each loss has exactly one thread.
    restarting: bool,
    restarter: Option<JoinHandle<()>>,
}

enum Phase {
    Up,
    /// The connection to the server ended with this error. Another attempt to connect will follow.
    Down(Error),
    /// The client is over, for this reason. Calls fail with this reason unless their connection
    /// stores a more precise reason.
    Over(Error),
}

impl Supervisor {
    /// Opens the first connection, unless `cancel` is cancelled first.
    pub(super) fn open(
        mut settings: ClientSettings,
        transport: Box<dyn Transport>,
        cancel: Option<CancelToken>,
    ) -> Result<Arc<Self>> {
        settings.inputs.pages = settings.inputs.pages.for_one_client();
        if settings.declares_handlers {
            settings.inputs.declare(&mut settings.capabilities);
        }
        settings.limits.allowance = Allowance::default();
        let again = match settings.restart.clone() {
            None => None,
            Some(restart) => {
                let Some(spare) = transport.again() else {
                    let text = "restart needs a transport that can be made again, such as a child process: see Transport::again";
                    return Err(Error::new(ErrorKind::Invalid, text));
                };
                Some(RestartPlan {
                    transport: Mutex::new(spare),
                    resends: restart.resends(),
                    attempts: Mutex::new(Attempts::new(restart)),
                })
            }
        };
        let cache = settings.cache.take();
        let cache = cache.unwrap_or_else(|| ResponseCache::new(&settings.limits));
        let outputs = Outputs::new(settings.validator.clone(), settings.strict);
        let state = State {
            phase: Phase::Down(Error::new(ErrorKind::Closed, "not connected yet")),
            current: None,
            connection: None,
            since: Instant::now(),
            is_end_reported: false,
            opening: None,
            restarting: false,
            restarter: None,
        };
        let supervisor = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            verdict: Mutex::new(settings.era),
            address: transport.address(),
            server: Arc::new(ServerState::new(cache, outputs, again.is_some())),
            call_threads: ThreadPool::new(
                "call",
                Some((settings.limits.max_calls, "Limits::max_calls")),
                settings.threads.clone(),
            ),
            settings,
            again,
            descriptions: Descriptions::new(),
            numbers: AtomicUsize::new(0),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        supervisor.connect(transport, cancel)?;
        Ok(supervisor)
    }

    pub(super) fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    pub(super) fn description(&self) -> &ServerDescription {
        self.descriptions.current()
    }

    /// Returns the current connection. While the server is not connected, returns the last
    /// connection.
    pub(super) fn connection(&self) -> Arc<ClientConnection> {
        let state = self.state.lock();
        Arc::clone(state.last())
    }

    /// Returns this supervisor and the current connection, if that connection has this number.
    fn current(self: Arc<Self>, number: u64) -> Option<(Arc<Self>, Arc<ClientConnection>)> {
        let connection = self.state.lock().current.clone();
        let connection = connection.filter(|connection| connection.number == number)?;
        Some((self, connection))
    }

    /// Whether the client is over, so that all further calls fail.
    pub(super) fn is_over(&self) -> bool {
        self.ends_calls(&self.state.lock())
    }

    fn ends_calls(&self, state: &State) -> bool {
        match state.phase {
            Phase::Up => self.again.is_none() && state.last().peer.is_closed(),
            Phase::Down(_) => false,
            Phase::Over(_) => true,
        }
    }

    /// Whether idempotent calls are retried after a restart, although the server may have executed
    /// the calls before.
    pub(super) fn resends(&self) -> bool {
        self.again.as_ref().is_some_and(|again| again.resends)
    }

    /// Returns those `_meta` members of a call that the revision supports.
    ///
    /// # Errors
    ///
    /// `Invalid` when the trace context is malformed.
    pub(super) fn own_meta(
        &self,
        revision: ProtocolVersion,
        options: &CallOptions<'_>,
    ) -> Result<JsonObject> {
        let mut meta = options.meta.clone();
        if revision.is_legacy() {
            meta.remove(meta_key::LOG_LEVEL);
        }
        TraceContext::check(&meta)?;
        if let Some(hook) = &self.settings.trace_context {
            for (key, value) in hook().members() {
                meta.entry(key).or_insert_with(|| value.into());
            }
        }
        Ok(meta)
    }

    /// Records the output schemas of listed tools. If calls are retried, also records which tools
    /// are idempotent. `age` is the [generation](Outputs::age) of the known tools, which was read
    /// before the tools were listed.
    pub(super) fn note_tools(&self, tools: &[Tool], age: u64) {
        if !self.server.outputs.learn(tools, age) {
            let peer = &self.connection().peer;
            peer.core().log_as("client", LogLevel::Warning, || {
                format!(
                    "the output schemas of '{}' are too many to remember: not all results are checked",
                    peer.name()
                )
            });
        }
        if self.resends() {
            let max = self.settings.list_bounds.max_list_items;
            self.server
                .harmless_tools
                .note(tools, max, self.connection().number);
        }
    }

    /// Returns the connection for a request. Blocks while the server is being restarted.
    pub(super) fn ready(&self, options: &CallOptions<'_>) -> Result<Arc<ClientConnection>> {
        let (_, cancel) = options.request.patience();
        self.await_newer(None, options.request.shorter_bound(), cancel)
    }

    /// Whether a failed call may be sent again on the next connection.
    pub(super) fn may_retry(&self, error: &Error) -> bool {
        self.again.is_some() && matches!(error.kind(), ErrorKind::Closed | ErrorKind::Io)
    }

    /// Returns the current connection if requests can be sent on it at once.
    pub(super) fn ready_now(&self) -> Option<Arc<ClientConnection>> {
        let state = self.state.lock();
        let connection = matches!(state.phase, Phase::Up).then(|| Arc::clone(state.last()));
        connection.filter(|connection| !connection.peer.is_closed())
    }

    /// Whether a call failed because its connection ended, and a new connection may follow.
    pub(super) fn is_loss(&self, error: &Error, connection: &ClientConnection) -> bool {
        self.may_retry(error) && connection.peer.is_closed()
    }

    /// Blocks until there is a newer connection than the connection with the number `than`.
    pub(super) fn await_newer(
        &self,
        than: Option<u64>,
        timeout: Option<Duration>,
        cancel: Option<CancelToken>,
    ) -> Result<Arc<ClientConnection>> {
        let is_new =
            |connection: &Arc<ClientConnection>| than.is_none_or(|than| connection.number > than);
        let mut state = self.state.lock();
        if let (Phase::Up, Some(connection)) = (&state.phase, &state.current)
            && is_new(connection)
        {
            return Ok(Arc::clone(connection));
        }
        drop(state);
        let started = Instant::now();
        let deadline = timeout.and_then(|timeout| started.checked_add(timeout));
        let _nudge = cancel.as_ref().map(|token| self.nudge_on(token));
        state = self.state.lock();
        loop {
            let why = match &state.phase {
                Phase::Up if is_new(state.last()) => return Ok(Arc::clone(state.last())),
                Phase::Over(error) => return Err(error.clone().sent(false)),
                Phase::Up => None,
                Phase::Down(error) => Some(error),
            };
            // A wait on the restarting thread would never end.
            if RESTARTS.get() == self.id() {
                let error = why.cloned().unwrap_or_else(|| gone(state.last()));
                return Err(error.sent(false));
            }
            if cancel.as_ref().is_some_and(CancelToken::is_triggered) {
                let text = "cancelled while the server was being restarted";
                return Err(Error::new(ErrorKind::Cancelled, text));
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let text = format!(
                    "'{}' was not back after {} (timeout is {})",
                    state.last().peer.name(),
                    Span::measured(started.elapsed()),
                    Span(timeout.unwrap_or_default())
                );
                let error = Error::new(ErrorKind::Timeout, text);
                return Err(match why {
                    Some(why) => error.remark(format_args!("it was lost: {why}")),
                    None => error,
                });
            }
            state = self.changed.wait_until(state, deadline);
        }
    }

    /// Waits for the duration `span`. Returns earlier if the token is cancelled or the client is
    /// over.
    pub(super) fn pause(&self, span: Duration, cancel: &CancelToken) {
        let deadline = Instant::now().checked_add(span);
        let _nudge = self.nudge_on(cancel);
        let mut state = self.state.lock();
        while !cancel.is_triggered()
            && !self.ends_calls(&state)
            && deadline.is_none_or(|deadline| Instant::now() < deadline)
        {
            state = self.changed.wait_until(state, deadline);
        }
    }

    /// Registers a callback that wakes the waiters of this supervisor when a token is cancelled.
    fn nudge_on(&self, token: &CancelToken) -> OnCancel {
        let me = self.me.clone();
        token.on_trigger(move || {
            if let Some(supervisor) = me.upgrade() {
                // The lock is taken so that the wakeup cannot fall between a waiter's check and its
                // wait.
                let _state = supervisor.state.lock();
                supervisor.changed.notify_all();
            }
        })
    }

    fn id(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Opens a connection with these handlers of the host. Returns the connection with its number.
    /// A close of the client ends the connection, although it is not the current one yet.
    fn open_connection(
        self: &Arc<Self>,
        handlers: Handlers,
        transport: Box<dyn Transport>,
    ) -> Result<(Connection, u64)> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        let settings = &self.settings;
        let mut connection = Connection::client()
            .handlers(self.follow(handlers, number))
            .limits(settings.limits.clone())
            .threads(&settings.threads)
            .slow_handler(settings.slow_handler)
            .strict(settings.strict)
            .keep_alive(settings.keep_alive);
        if let Some(log) = &settings.log {
            connection = connection.log(log.clone());
        }
        let connection = connection.open_boxed(transport)?;
        let mut state = self.state.lock();
        if let Phase::Over(error) = &state.phase {
            let error = error.clone();
            drop(state);
            connection.close_at_once();
            return Err(error);
        }
        let former = state.opening.replace(connection.clone());
        drop(state);
        drop(former);
        Ok((connection, number))
    }

    /// Opens a connection and makes it the current connection.
    fn connect(
        self: &Arc<Self>,
        transport: Box<dyn Transport>,
        cancel: Option<CancelToken>,
    ) -> Result<()> {
        let of_era = self.address.as_deref().map(era::holder);
        let memory = self.settings.memory.as_ref().zip(of_era);
        let remembered = memory.and_then(|(memory, address)| memory.recall(address));
        let known = self.verdict.lock().or(remembered);
        let open = |handlers, transport| self.open_connection(handlers, transport);
        let opened = Opening::new(&self.settings, &open, &*transport, known, cancel).run(transport);
        let proved = opened.as_ref().ok().filter(|opened| opened.is_proved);
        let era = proved.map(|opened| Era::of(opened.server.revision));
        *self.verdict.lock() = era;
        match (memory, era) {
            (Some((memory, address)), Some(era)) => memory.remember(address, era),
            // The remembered era may be the cause of the failure, so the next connect detects the
            // era again.
            (Some((memory, address)), None) if opened.is_err() => memory.forget(address),
            _ => {}
        }
        let outcome = opened.and_then(|opened| self.publish(opened));
        let left = self.state.lock().opening.take();
        drop(left);
        outcome
    }

    fn publish(self: &Arc<Self>, opened: Opened) -> Result<()> {
        let Opened {
            connection,
            number,
            envelope,
            inputs,
            server,
            reopening,
            is_proved: _,
        } = opened;
        let peer = connection.peer();
        let (revision, pinging) = (server.revision, envelope.clone());
        if let Err(error) = self.descriptions.set(server) {
            connection.close();
            return Err(error);
        }
        let mut state = self.state.lock();
        if let Phase::Over(error) = &state.phase {
            let error = error.clone();
            drop(state);
            connection.close();
            return Err(error);
        }
        let (address, exchange_transport) =
            (self.address.as_deref(), peer.core().exchange_transport());
        self.server.cache.settle(
            address,
            self.description(),
            &envelope,
            exchange_transport.cloned(),
        );
        state.phase = Phase::Up;
        state.since = Instant::now();
        state.current = Some(Arc::new(ClientConnection {
            number,
            peer: peer.clone(),
            envelope,
            inputs,
            revision,
            mirrors: Mirrors::default(),
            reopening,
        }));
        let former = state.connection.replace(connection);
        drop(state);
        drop(former);
        self.changed.notify_all();
        peer.core().start_pinging(
            ping_method(revision),
            Arc::new(move |id, text| pinging.write(id, "{}", &JsonObject::new(), text)),
        );
        // The connection is published first, then checked. The connection may have ended before it
        // was the current connection, and then `lost` ignored its end.
        if peer.is_closed() {
            self.lost(number);
        }
        Ok(())
    }

    /// Handles the end of the connection with this number. Runs on the thread that detected the
    /// end, and does not block.
    pub(super) fn lost(self: &Arc<Self>, number: u64) {
        let mut state = self.state.lock();
        let is_current = state
            .current
            .as_ref()
            .is_some_and(|connection| connection.number == number);
        if !is_current || !matches!(state.phase, Phase::Up) {
            return;
        }
        // The next server may have other data than the lost server. Only the idempotency of the
        // tools is preserved, for calls that were in flight.
        self.server.cache.lose();
        self.server.outputs.forget();
        let Some(again) = &self.again else {
            self.changed.notify_all();
            let settings = &self.settings;
            let is_heard = settings.on_connection_event.is_some()
                || settings.log.is_some()
                || cfg!(feature = "log");
            if is_heard && !state.is_end_reported {
                state.is_end_reported = true;
                let error = gone(state.last());
                let (peer, supervisor) = (state.last().peer.clone(), Arc::clone(self));
                drop(state);
                peer.run_in_order(move || supervisor.tell(ConnectionEvent::GivenUp { error }));
            }
            return;
        };
        let uptime = state.since.elapsed();
        state.phase = Phase::Down(gone(state.last()));
        again.attempts.lock().was_up(uptime);
        if state.restarting {
            drop(state);
            return self.changed.notify_all();
        }
        state.restarting = true;
        let supervisor = Arc::clone(self);
        let threads = &self.settings.threads;
        match threads.start("restart", Stack::Large, move || supervisor.restart()) {
            Ok(thread) => state.restarter = Some(thread),
            Err(error) => {
                state.restarting = false;
                state.phase = Phase::Over(error);
                let peer = state.last().peer.clone();
                drop(state);
                self.changed.notify_all();
                let subscriptions = Arc::clone(&self.server.subscriptions);
                subscriptions.stop_lasting();
                return peer.run_in_order(move || subscriptions.end_waiting());
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Adds the handlers for change notifications and for the end of the connection.
    fn follow(self: &Arc<Self>, handlers: Handlers, number: u64) -> Handlers {
        let handlers = self.server.listen_in(handlers, number);
        let me = self.me.clone();
        let handlers = handlers.unheard(move |error| {
            let supervisor = me.upgrade();
            if let Some((supervisor, connection)) =
                supervisor.and_then(|supervisor| supervisor.current(number))
            {
                connection.look_after_session(error, &supervisor.server);
            }
        });
        let server = Arc::clone(&self.server);
        let handlers = handlers.heard_again(move |peer| server.missed_changes(peer, number));
        let (me, server) = (self.me.clone(), Arc::clone(&self.server));
        handlers.farewell(move |peer| {
            server.subscriptions.connection_ended(peer, number);
            if let Some(supervisor) = me.upgrade() {
                supervisor.lost(number);
            }
        })
    }

    /// Reports a connection event to the host. Called only by the restarting thread or, without
    /// restarts, by the connection's notification thread.
    fn tell(&self, event: ConnectionEvent) {
        let settings = &self.settings;
        if settings.logs_connection_events {
            let level = match &event {
                ConnectionEvent::Restored { .. } => LogLevel::Info,
                ConnectionEvent::GivenUp { .. } => LogLevel::Error,
                _ => LogLevel::Warning,
            };
            tell(settings.log.as_ref(), level, "client", || event.to_string());
        }
        if let Some(hook) = &settings.on_connection_event {
            // A panic of the host's hook must not end the restarting thread.
            _ = catch_unwind(AssertUnwindSafe(|| hook(event)));
        }
    }

    /// Closes the connection and ends all restarts; idempotent and bounded in time.
    pub(super) fn close(&self) {
        self.close_with(Connection::close);
    }

    /// Closes the connection fast, because no client uses the connection yet.
    pub(super) fn close_at_once(&self) {
        self.close_with(Connection::close_at_once);
    }

    fn close_with(&self, close: fn(&Connection)) {
        self.server.subscriptions.stop_lasting();
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Over(_)) {
            state.phase = Phase::Over(match &state.current {
                Some(connection) => gone(connection),
                None => Error::new(ErrorKind::Closed, "the client was closed"),
            });
        }
        let connections = [state.opening.clone(), state.connection.clone()];
        drop(state);
        self.changed.notify_all();
        let [opening, current] = connections;
        if let Some(opening) = opening {
            opening.close_at_once();
        }
        if let Some(current) = current {
            close(&current);
        }
        self.join_restarter();
        self.join_calls();
    }
}

impl State {
    fn last(&self) -> &Arc<ClientConnection> {
        self.current
            .as_ref()
            .expect("a client is made when its first connection is open")
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor")
            .field("peer", &self.connection().peer)
            .finish_non_exhaustive()
    }
}

/// Returns the method that checks whether the server responds.
pub(super) fn ping_method(revision: ProtocolVersion) -> &'static str {
    if revision.is_modern() {
        method::SERVER_DISCOVER
    } else {
        method::PING
    }
}

/// Returns the error with the reason why a connection is unusable.
fn gone(connection: &ClientConnection) -> Error {
    let ended = connection.peer.core().ended();
    ended.unwrap_or_else(|| {
        let text = format!("the connection to '{}' was closed", connection.peer.name());
        Error::new(ErrorKind::Closed, text)
    })
}

/// The different descriptions that the servers of one client have given.
// `current` is stored with `Release` after its entry was set, and loaded with `Acquire`. Entries
// never change, so references to entries stay valid.
struct Descriptions {
    all: Box<[OnceLock<ServerDescription>]>,
    current: AtomicUsize,
}

impl Descriptions {
    fn new() -> Self {
        Self {
            all: (0..MAX_DESCRIPTIONS).map(|_| OnceLock::new()).collect(),
            current: AtomicUsize::new(0),
        }
    }

    fn current(&self) -> &ServerDescription {
        self.all[self.current.load(Ordering::Acquire)]
            .get()
            .expect("a client is made when its server has described itself")
    }

    /// Sets the current description of the server. Called by one thread at a time.
    fn set(&self, description: ServerDescription) -> Result<()> {
        for (index, slot) in self.all.iter().enumerate() {
            if *slot.get_or_init(|| description.clone()) == description {
                self.current.store(index, Ordering::Release);
                return Ok(());
            }
        }
        let text = format!("the server described itself in more than {MAX_DESCRIPTIONS} ways");
        Err(Error::new(ErrorKind::Limit, text).sent(true))
    }
}
