//! A call of the proxy's client that runs at a server, and the table of all of them.
//!
//! ```text
//!  call arrives ──▶ call is here ──▶ result ──▶ answered
//!                     │      ▲
//!      server needs   ▼      │ call arrives again, with the answers
//!      input        call is away
//! ```
//!
//! The library runs a handler again when the client has answered input requests. The request to the
//! server goes on meanwhile: its exchange waits, without the call, until the call arrives again. So
//! all four pairs of eras work in one way.
//!
//! Log messages and progress for a call that is away are kept, and passed on when the call is back.
//!
//! **Invariant:** a call is answered after everything that its server sent before its answer was
//! passed on. The library runs handlers of log messages on a thread of the connection, so the thread
//! of the call waits for them ([`Proxy::run`](super::Proxy)) before it ends the exchange.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcplink::client::Requester;
use mcplink::jsonrpc::RawResult;
use mcplink::protocol::{CancelToken, OnCancel, Progress};
use mcplink::schema::{ClientCapabilities, ProtocolVersion};
use mcplink::server::{AskError, Context, PromptCall, ResourceCall, ToolCall};
use mcplink::{Error, ErrorKind, RpcError};

/// How long a client may take to answer input requests. Longer than the 10 minutes for which the
/// library accepts the answers.
const PATIENCE: Duration = Duration::from_secs(11 * 60);
/// How long a server may be at work for a call that ended without its answer, for example because
/// the client cancelled it. An input request of a legacy server may belong to that call.
const LINGER: Duration = Duration::from_secs(60);
/// How often the table is looked through for exchanges that are over.
const SWEEP: Duration = Duration::from_secs(1);
/// How many messages are kept for a call that is away. Then the oldest one is dropped.
const MAX_KEPT: usize = 256;
/// The key under which a call remembers its exchange.
const KEY: &str = "exchange";

/// A call that is to be answered.
pub(super) enum Call {
    Tool(ToolCall),
    Prompt(PromptCall),
    Resource(ResourceCall),
}

/// The outcome of a call at its server.
pub(super) enum Outcome {
    /// The result as JSON, and the revision of the server.
    Done(RawResult, ProtocolVersion),
    Failed(RpcError),
}

impl Call {
    pub(super) fn context(&self) -> &Context {
        match self {
            Self::Tool(call) => call.context(),
            Self::Prompt(call) => call.context(),
            Self::Resource(call) => call.context(),
        }
    }

    /// Answers the call. Answering fails only when the client no longer waits.
    pub(super) fn answer(self, outcome: Outcome) {
        _ = match (self, outcome) {
            (Self::Tool(call), Outcome::Done(result, revision)) => {
                call.respond_raw(result, revision)
            }
            (Self::Prompt(call), Outcome::Done(result, revision)) => {
                call.respond_raw(result, revision)
            }
            (Self::Resource(call), Outcome::Done(result, revision)) => {
                call.respond_raw(result, revision)
            }
            (Self::Tool(call), Outcome::Failed(error)) => call.refuse(&error),
            (Self::Prompt(call), Outcome::Failed(error)) => call.refuse(&error),
            (Self::Resource(call), Outcome::Failed(error)) => call.refuse(&error),
        };
    }
}

/// Returns the error for the client: the server's own error, or a description of the failure.
pub(super) fn error_for_client(server: &str, error: &Error) -> RpcError {
    match error.rpc() {
        Some(rpc) if error.kind() == ErrorKind::Peer => rpc.clone(),
        _ => RpcError::internal(format!("server '{server}': {error}")),
    }
}

/// Passes a log message or progress on to the client of a call.
type Passing = Box<dyn FnOnce(&Context) + Send>;

/// A call that runs at a server.
pub(super) struct Exchange {
    pub(super) id: u64,
    pub(super) server: Arc<str>,
    /// The number of the client's connection. `None` if several clients share the connection.
    connection: Option<u64>,
    /// Cancels the request to the server.
    pub(super) cancel: CancelToken,
    state: Mutex<State>,
    /// Whether the outcome has come. It is set after [`Entry::ended_at`], and under the lock of
    /// `state`. It is also read without the lock, which a thread holds while it passes a message on.
    is_over: AtomicBool,
    /// Notified, under the lock of `state`, when the call arrives and when a wait has to end.
    changed: Condvar,
    /// The number of input requests so far. The lock is held while one of them waits for its
    /// answer, so they are asked one after the other.
    asked: Mutex<u32>,
}

struct State {
    /// The call, unless the client has to answer input requests first.
    call: Option<Call>,
    /// The outcome that came while the call was away.
    outcome: Option<Outcome>,
    /// The messages that came while the call was away.
    kept: VecDeque<Passing>,
    /// Passes a cancellation by the client on to `cancel`.
    on_cancel: Option<OnCancel>,
}

impl Exchange {
    fn new(id: u64, server: &Arc<str>, is_http: bool, call: Call) -> Arc<Self> {
        let context = call.context();
        let is_shared = is_http && context.client().revision.is_modern();
        let connection = (!is_shared).then(|| context.connection());
        let token = context.cancel_token().clone();
        let cancel = CancelToken::new();
        let exchange = Arc::new(Self {
            id,
            server: Arc::clone(server),
            connection,
            cancel: cancel.clone(),
            state: Mutex::new(State {
                call: Some(call),
                outcome: None,
                kept: VecDeque::new(),
                on_cancel: None,
            }),
            is_over: AtomicBool::new(false),
            changed: Condvar::new(),
            asked: Mutex::new(0),
        });
        // A token that is triggered already runs the callback at once, which takes no lock here.
        let on_cancel = token.on_trigger(move || cancel.cancel());
        exchange.state().on_cancel = Some(on_cancel);
        exchange
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the call back that has arrived again with answers.
    fn resume(&self, call: Call) {
        let (token, cancel) = (call.context().cancel_token().clone(), self.cancel.clone());
        let on_cancel = token.on_trigger(move || cancel.cancel());
        // The earlier callback is dropped without the lock.
        let earlier = self.state().on_cancel.replace(on_cancel);
        drop(earlier);
        self.put(call);
    }

    /// Puts the call back, or answers it if its outcome has come meanwhile.
    fn put(&self, call: Call) {
        let mut state = self.state();
        // Under the lock, so that no later message is passed on first.
        for pass_on in state.kept.drain(..) {
            pass_on(call.context());
        }
        match state.outcome.take() {
            Some(outcome) => {
                drop(state);
                call.answer(outcome);
            }
            None => {
                state.call = Some(call);
                self.changed.notify_all();
            }
        }
    }

    /// Answers the call, now or when it arrives again. Returns whether it was answered.
    fn finish(&self, outcome: Outcome) -> bool {
        let mut state = self.state();
        self.is_over.store(true, Ordering::Release);
        let call = state.call.take();
        let on_cancel = state.on_cancel.take();
        let left = match call {
            Some(call) => Some((call, outcome)),
            None => {
                state.outcome = Some(outcome);
                None
            }
        };
        self.changed.notify_all();
        drop(state);
        drop(on_cancel);
        let Some((call, outcome)) = left else {
            return false;
        };
        call.answer(outcome);
        true
    }

    /// Takes the call from an exchange whose server does not answer it. Returns `None` if the call
    /// is away, or has made input requests: then no other server can take it.
    fn withdraw(&self) -> Option<Call> {
        let asked = self.asked.try_lock().ok()?;
        if *asked > 0 {
            return None;
        }
        let mut state = self.state();
        let call = state.call.take()?;
        self.is_over.store(true, Ordering::Release);
        let on_cancel = state.on_cancel.take();
        self.changed.notify_all();
        drop(state);
        drop(on_cancel);
        Some(call)
    }

    fn is_answered(&self) -> bool {
        self.is_over() && self.state().outcome.is_none()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(super) fn progress(&self, progress: Progress) {
        self.pass_on(move |context| {
            let message = progress.message.as_deref();
            context.progress(progress.progress, progress.total, message);
        });
    }

    /// Runs `pass_on` with the context of the call: now, or when the call is back. Returns false if
    /// the exchange is over.
    pub(super) fn pass_on(&self, pass_on: impl FnOnce(&Context) + Send + 'static) -> bool {
        let mut state = self.state();
        if self.is_over() {
            return false;
        }
        match &state.call {
            Some(call) => pass_on(call.context()),
            None => {
                if state.kept.len() >= MAX_KEPT {
                    state.kept.pop_front();
                }
                state.kept.push_back(Box::new(pass_on));
            }
        }
        true
    }

    /// Makes an input request to the client, and waits for its answer. Returns `None` if no answer
    /// will come. `can_answer` tells whether a client with these capabilities can be asked.
    pub(super) fn ask<T>(
        self: &Arc<Self>,
        by: &Requester,
        can_answer: impl Fn(&ClientCapabilities) -> bool,
        ask: impl Fn(&Context, &str) -> Result<T, AskError>,
    ) -> Option<Result<T, AskError>> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked += 1;
        let key = asked.to_string();
        loop {
            let call = self.take_call(by.cancel_token())?;
            let context = call.context();
            if !can_answer(&context.client().capabilities) {
                self.put(call);
                return None;
            }
            let answer = context
                .remember(KEY, &self.id)
                .and_then(|()| ask(context, &key));
            match answer {
                // The client gets the input request when the call is dropped.
                Err(error) if error.is_pending() => drop(call),
                answer => {
                    self.put(call);
                    return Some(answer);
                }
            }
        }
    }

    /// Waits until the call is here, and takes it. Returns `None` if the wait has to end.
    fn take_call(self: &Arc<Self>, withdrawn: &CancelToken) -> Option<Call> {
        // No lost wakeup: a trigger sets the token's flag first, then notifies under the lock.
        let woken = [withdrawn, &self.cancel].map(|token| {
            let this = Arc::clone(self);
            token.on_trigger(move || {
                let _state = this.state();
                this.changed.notify_all();
            })
        });
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state();
        let call = loop {
            if self.is_over() || withdrawn.is_triggered() || self.cancel.is_triggered() {
                break None;
            }
            if let Some(call) = state.call.take() {
                break Some(call);
            }
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                break None;
            };
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(state);
        drop(woken);
        call
    }
}

/// The exchanges of a proxy, by their ids.
pub(super) struct Exchanges {
    /// Whether the clients use HTTP, where modern clients share a connection.
    is_http: bool,
    next: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<u64, Entry>,
    swept_at: Option<Instant>,
}

struct Entry {
    exchange: Arc<Exchange>,
    /// When the exchange got its outcome.
    ended_at: Option<Instant>,
    /// Whether the server may still be at work for the call.
    lingers: bool,
}

impl Entry {
    /// Whether the server is, or may be, at work for the call.
    fn is_at_server(&self, now: Instant) -> bool {
        self.ended_at
            .is_none_or(|at| self.lingers && now.saturating_duration_since(at) < LINGER)
    }

    /// Whether the client may still come for the outcome.
    fn is_awaited(&self, now: Instant) -> bool {
        let is_new = |at| now.saturating_duration_since(at) < PATIENCE;
        self.ended_at.is_none_or(is_new) && !self.exchange.is_answered()
    }
}

impl Table {
    /// Forgets the exchanges that are over, and the outcomes for clients that never came back.
    fn sweep(&mut self, now: Instant) {
        let is_new = |at| now.saturating_duration_since(at) < SWEEP;
        if self.swept_at.is_some_and(is_new) {
            return;
        }
        self.swept_at = Some(now);
        self.entries
            .retain(|_, entry| entry.is_at_server(now) || entry.is_awaited(now));
    }

    /// Returns the latest call at a server, if all calls at the server are of one client.
    fn latest(&self, server: &str) -> Option<Arc<Exchange>> {
        let now = Instant::now();
        let entries = self.entries.values();
        let at_server: Vec<&Entry> = entries
            .filter(|entry| *entry.exchange.server == *server && entry.is_at_server(now))
            .collect();
        let running = at_server.iter().filter(|entry| entry.ended_at.is_none());
        let latest = &running.max_by_key(|entry| entry.exchange.id)?.exchange;
        let is_same = |entry: &&Entry| {
            let exchange = &entry.exchange;
            exchange.id == latest.id
                || exchange.connection.is_some() && exchange.connection == latest.connection
        };
        at_server.iter().all(is_same).then(|| Arc::clone(latest))
    }
}

impl Exchanges {
    pub(super) fn new(is_http: bool) -> Self {
        Self {
            is_http,
            next: AtomicU64::new(0),
            table: Mutex::default(),
        }
    }

    /// Whether several clients may use the proxy.
    pub(super) fn is_http(&self) -> bool {
        self.is_http
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an exchange, or resumes the exchange of a call that has arrived again. Returns the
    /// exchange if its request has to be sent.
    pub(super) fn begin(&self, server: &Arc<str>, call: Call) -> Option<Arc<Exchange>> {
        match call.context().recall::<u64>(KEY) {
            Ok(None) => {}
            Ok(Some(id)) => {
                let table = self.table();
                let exchange = table.entries.get(&id);
                let exchange = exchange.map(|entry| Arc::clone(&entry.exchange));
                drop(table);
                match exchange.filter(|exchange| !exchange.is_answered()) {
                    Some(exchange) => exchange.resume(call),
                    None => call.answer(Outcome::Failed(RpcError::internal(
                        "the call is no longer in progress: start it anew",
                    ))),
                }
                return None;
            }
            Err(error) => {
                let error = RpcError::internal(error.to_string());
                call.answer(Outcome::Failed(error));
                return None;
            }
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let exchange = Exchange::new(id, server, self.is_http, call);
        let entry = Entry {
            exchange: Arc::clone(&exchange),
            ended_at: None,
            lingers: false,
        };
        let mut table = self.table();
        table.sweep(Instant::now());
        table.entries.insert(id, entry);
        drop(table);
        Some(exchange)
    }

    /// Ends an exchange with its outcome. `is_settled` tells whether the server answered.
    pub(super) fn end(&self, exchange: &Exchange, outcome: Outcome, is_settled: bool) {
        let lingers = self.note_end(exchange, is_settled);
        let is_answered = exchange.finish(outcome);
        if is_answered && !lingers {
            self.table().entries.remove(&exchange.id);
        }
    }

    /// Ends an exchange without an outcome, because its server has refused the call. Returns its
    /// call, unless no other server can take it.
    pub(super) fn withdraw(&self, exchange: &Exchange) -> Option<Call> {
        self.note_end(exchange, true);
        let call = exchange.withdraw()?;
        self.table().entries.remove(&exchange.id);
        Some(call)
    }

    /// Records that the server has no more to do with the call. Returns whether the server may
    /// still be at work for it.
    ///
    /// The record is made before the client gets its answer. The next call may arrive at once then,
    /// and it has to be the only one at the server.
    fn note_end(&self, exchange: &Exchange, is_settled: bool) -> bool {
        let now = Instant::now();
        // One client can only get the input requests of its own calls.
        let lingers = self.is_http && !is_settled;
        let mut table = self.table();
        if let Some(entry) = table.entries.get_mut(&exchange.id) {
            entry.ended_at = Some(now);
            entry.lingers = lingers;
        }
        table.sweep(now);
        lingers
    }

    /// Cancels the calls at a server.
    pub(super) fn cancel_all(&self, server: &str) {
        let table = self.table();
        let at_server = table
            .entries
            .values()
            .filter(|entry| *entry.exchange.server == *server && entry.ended_at.is_none());
        let tokens: Vec<_> = at_server
            .map(|entry| entry.exchange.cancel.clone())
            .collect();
        drop(table);
        tokens.iter().for_each(CancelToken::cancel);
    }

    /// Returns the exchange that an input request of a server belongs to.
    ///
    /// A legacy server does not say which call needs the input. Then it is the latest call at this
    /// server, if all calls at the server are of one client. If they are of several clients, no
    /// client gets the request, since it could be meant for another one.
    pub(super) fn of_request(&self, server: &str, by: &Requester) -> Option<Arc<Exchange>> {
        let table = self.table();
        if let Some(tag) = by.tag() {
            let entry = table.entries.get(&tag);
            return entry.map(|entry| Arc::clone(&entry.exchange));
        }
        table.latest(server)
    }

    /// Returns the latest call at a server, if all calls at the server are of one client.
    pub(super) fn latest(&self, server: &str) -> Option<Arc<Exchange>> {
        self.table().latest(server)
    }
}
