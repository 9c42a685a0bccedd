//! A client connection of a listener, with the operations of all threads that use it.
//!
//! **Probes.** A client that half-closes (`shutdown(SHUT_WR)`) while its request is in flight sends
//! no more data, but may still read. A client that closes its socket looks the same until the
//! listener sends data. Then the client's system answers with a reset. So after a short time the
//! listener sends bytes without meaning, called a probe. On a stream, a probe is the keep-alive
//! bytes of the stream. Before a response, a probe is the interim response 100. Clients ignore this
//! response unless they wait for it (RFC 9110, section 15.2.1). HTTP/1.0 has no interim responses.
//! With HTTP/1.0, only sending the response shows whether the client has gone.

mod outbox;
mod responding;
mod serving;
mod watching;

pub(super) use self::watching::GivesWay;

use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use self::outbox::Outbox;
use super::head::Refusal;
use super::moment::Moment;
use super::permits::Permit;
use super::request_parser::RequestParser;
use super::shared::{self, Callback, Shared};
use super::table::Rank;
use super::wire::{self, After, Length};
use super::workers::Spawn;
use crate::error::{Error, ErrorKind};
use crate::shares::Client;
use crate::sync::{Condvar, Mutex};
use crate::transport::http::ResponseHead;
use crate::transport::sys::poller::Registered;
use crate::transport::sys::tcp;

/// The maximum delay of a piece of a stream that follows another piece, as with Nagle's algorithm.
/// The pieces are sent together when this time has passed, or when many bytes have gathered. A
/// system call for each piece would cost more than all other work.
const TOGETHER: Duration = Duration::from_micros(500);
const TOGETHER_BYTES: usize = 16 << 10;

/// The time from a client's half-close to the first probe. `NEXT_PROBE` is the time between later
/// probes. `PROBES` is the maximum number of interim responses that are sent as probes.
const FIRST_PROBE: Duration = Duration::from_millis(500);
const NEXT_PROBE: Duration = Duration::from_secs(15);
const PROBES: u8 = 4;

/// The maximum number of bytes that are read and discarded during a lingering close.
const PARTING_BYTES: u32 = 1 << 20;

/// The error text for a client whose connection is displaced while its request is incomplete.
const NO_PLACE: &str = "too many connections: try again later";

/// A connection between a client and a listener.
pub(super) struct Connection {
    pub(super) socket: Registered<TcpStream>,
    /// The local address of the connection. `None` if it is equal to the listener's address.
    elsewhere: Option<Box<SocketAddr>>,
    pub(super) remote: SocketAddr,
    shared: Arc<Shared<Self>>,
    /// Guards the state of the connection. The lock is held briefly, also during sends that don't
    /// block. It is never held while code of the service runs, because that code could lock the
    /// connection again (deadlock). Lock order: this lock is taken before the locks of [`Shared`].
    ///
    /// Invariant: the worker that returns from the service and the thread that ends the response
    /// each take this lock as they finish. The thread that finishes first leaves a mark: the worker
    /// sets [`Owner::Exchange`], the other thread removes `exchange`. The thread that finishes
    /// second finds the mark and continues with the connection. So exactly one thread continues.
    ///
    /// Invariant: a connection without a request in flight can be displaced, and no request that a
    /// worker has read is dropped. Only the owner reads, so [`give_way`](Self::give_way) closes a
    /// connection of the poller itself, under this lock. A connection of a worker is between
    /// requests while `exchange` is `None` and `has_bytes` is false. In that case `give_way` only
    /// shuts down the read side of its socket. The worker reads without this lock, so it may have
    /// read a request just before. If so, the worker serves the request, counts the connection
    /// again, and closes the connection after the response. If the worker has read nothing, its
    /// read returns the end of input, and the worker closes the connection.
    state: Mutex<State>,
    /// Whether the worker has read bytes of a request that is not yet in flight. The worker sets
    /// the flag after its read, without the lock. The flag is cleared while the lock is held.
    has_bytes: AtomicBool,
    /// The condition variable that is notified when the outbox has space again, or when the
    /// connection is closed.
    room: Condvar,
}

/// The thread or queue that owns a connection. The module [`listener`](super) has a diagram of the
/// owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// The poller waits for input of the connection.
    Poller,
    /// The connection is in a queue of the worker pool.
    Queue,
    /// A worker reads from the connection, or runs the service for it.
    Worker,
    /// The service has returned, but the response is not complete. The thread that ends the
    /// response continues with the connection.
    Exchange,
    /// The connection is in lingering close: the poller discards input until the client closes.
    Parting,
    /// The connection is closed, so it has no owner.
    Nobody,
}

/// The state of a connection, guarded by [`Connection::state`].
struct State {
    owner: Owner,
    /// The request in flight. `None` once its response is sent.
    exchange: Option<Exchange>,
    /// The number of requests of the connection so far. `seen` is that number at the poller's last
    /// check. If both are equal, the request in flight is older than a tick.
    exchanges: u32,
    seen: u32,
    /// The part of the next request that has arrived. `None` while a worker reads that request.
    intake: Option<Box<RequestParser>>,
    /// Invariant: [`Shared::unsent`] contains the length of the outbox whenever the lock is
    /// released.
    outbox: Outbox,
    /// The start of the current wait. The connection waits for the client to read, for the next
    /// request, or for the end of a lingering close.
    since: Moment,
    /// Whether the client has half-closed the connection. If so, the client sends no more data.
    half_closed: bool,
    /// The displacement rank of this connection in the table. The rank may be outdated while a
    /// worker owns the connection. [`Connection::give_way`] detects an outdated rank.
    rank: Option<Rank>,
    /// The number of requests of the connection when its rank in the table was last updated.
    ranked: u32,
    /// Whether the worker that owns this connection was requested to close it. The worker does not
    /// close the connection if it has read a request.
    gave_way: bool,
    /// Whether the connection closes after the current response. If so, no further request is read.
    closes: bool,
    /// The number of bytes that may still be discarded in a lingering close.
    parting_bytes: u32,
    /// Whether the poller checks the connection in each tick.
    listed: bool,
    /// The time of the poller's next check of the connection, if a check is scheduled.
    timed: Option<Moment>,
}

/// A request in flight and its response.
#[derive(Default)]
struct Exchange {
    gone: Option<Callback>,
    /// The permit of the worker that runs the service for the request.
    permit: Option<Arc<Permit>>,
    /// Whether the poller waits for events that show that the client has gone.
    watched: bool,
    /// Whether the client has pipelined more input. Unread input hides the event of a disconnected
    /// client, so the poller must check the client itself.
    pipelined: bool,
    when_silent: WhenSilent,
    /// Whether the response is a stream that has begun.
    begun: bool,
    /// Whether the response is complete, so that only the outbox has to be sent.
    ended: bool,
    /// The time when a part of the body was last sent.
    pushed: Option<Moment>,
    /// The time when the next probe is sent to a client that has half-closed. `probes` is the
    /// number of probes that were sent.
    probe: Option<Moment>,
    probes: u8,
}

/// The action after a period without output.
#[derive(Default)]
enum WhenSilent {
    #[default]
    Nothing,
    /// At this time the callback begins the response, which has not begun before.
    Begin(Moment, Callback),
    /// The keep-alive bytes of the stream are sent.
    Fill(Quiet),
}

impl WhenSilent {
    /// Removes and returns the callback that begins the response.
    fn take_callback(&mut self) -> Option<Callback> {
        match std::mem::take(self) {
            Self::Begin(_, callback) => Some(callback),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// The keep-alive bytes of a stream, which are sent after a period without other output.
#[derive(Clone, Copy)]
struct Quiet {
    period_ms: u32,
    bytes: &'static [u8],
    is_chunked: bool,
}

/// Actions that run after the connection's lock was released, because they run code of the service
/// or start threads.
#[must_use]
#[derive(Default)]
pub(super) struct AfterUnlock {
    spawn: Spawn,
    /// The permit of a request whose client has gone.
    orphan: Option<Arc<Permit>>,
    /// The callback that reports a disconnected client to the service.
    gone: Option<Callback>,
    /// The callback that begins the response.
    silence: Option<Callback>,
    /// An ended exchange that only has to be dropped. Its callbacks may own values of the service,
    /// so the exchange is dropped without the lock.
    _over: Option<Exchange>,
}

impl AfterUnlock {
    /// Runs the actions on a thread that may hold locks of the service. Therefore this method does
    /// not call the callbacks itself, but passes them to the poller.
    pub(super) fn settle(self, shared: &Arc<Shared<Connection>>) {
        self.start(shared);
        for callback in self.gone.into_iter().chain(self.silence) {
            shared.tell(callback);
        }
    }

    /// Runs the actions on the poller's own thread.
    pub(super) fn settle_here(self, shared: &Arc<Shared<Connection>>) {
        self.start(shared);
        for callback in self.gone.into_iter().chain(self.silence) {
            shared::call(callback);
        }
    }

    fn start(&self, shared: &Arc<Shared<Connection>>) {
        shared.start(self.spawn);
        if let Some(permit) = &self.orphan {
            shared.start(shared.workers.orphan(permit));
        }
    }
}

/// Whether the worker continues with the connection after the service has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextOwner {
    /// The worker that ran the service continues with the connection.
    Mine,
    /// The worker does not continue: another thread does, or the connection is closed.
    Over,
}

/// The activity of a connection, which [`HttpStats`](super::HttpStats) counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Nothing,
    Request,
    Stream,
    Parting,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Creates a new connection. The poller owns the connection and checks it in each tick.
    pub(super) fn new(
        socket: Registered<TcpStream>,
        remote: SocketAddr,
        shared: Arc<Shared<Self>>,
    ) -> Self {
        let state = State {
            owner: Owner::Poller,
            exchange: None,
            exchanges: 0,
            seen: 0,
            intake: None,
            outbox: Outbox::default(),
            since: Moment::now(),
            half_closed: false,
            rank: None,
            ranked: 0,
            gave_way: false,
            closes: false,
            parting_bytes: PARTING_BYTES,
            listed: true,
            timed: None,
        };
        let local = socket.get().local_addr().ok();
        let elsewhere = local.filter(|local| Some(*local) != shared.local);
        Self {
            elsewhere: elsewhere.map(Box::new),
            socket,
            remote,
            shared,
            state: Mutex::new(state),
            has_bytes: AtomicBool::new(false),
            room: Condvar::new(),
        }
    }

    /// Returns the client that the remote address of the connection belongs to.
    pub(super) fn client(&self) -> Client {
        Client::at(self.remote.ip())
    }

    /// Returns the local address of the connection. Returns `None` for a Unix socket.
    pub(super) fn local(&self) -> Option<SocketAddr> {
        self.elsewhere.as_deref().copied().or(self.shared.local)
    }

    /// Whether the listener allows a further request after this one.
    pub(super) fn keeps_alive(&self) -> bool {
        !self.shared.is_closing() && self.shared.keeps_alive.load(Ordering::Relaxed)
    }

    fn gone_error(&self) -> Error {
        let text = format!("the HTTP client {} has gone", self.remote);
        Error::new(ErrorKind::Closed, text)
    }

    pub(super) fn doing(&self) -> Doing {
        let state = self.state.lock();
        match (&state.exchange, state.owner) {
            (Some(exchange), _) if exchange.begun => Doing::Stream,
            (Some(_), _) => Doing::Request,
            (None, Owner::Parting | Owner::Nobody) => Doing::Parting,
            (None, _) => Doing::Nothing,
        }
    }

    /// Whether the connection has a request in flight, so that a drain of the listener has to wait
    /// for it.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.exchange.is_some() || matches!(state.owner, Owner::Queue | Owner::Worker)
    }
}

/// The internal steps of the operations on a connection. The caller of each step holds the
/// connection's lock.
impl Connection {
    fn enqueue(self: &Arc<Self>, state: &mut State, later: &mut AfterUnlock) {
        state.owner = Owner::Queue;
        match self.shared.workers.push(Arc::clone(self), &self.client()) {
            Ok(spawn) => later.spawn = spawn,
            // The pool was stopped, because the listener has closed.
            Err(_) => drop(self.over(state)),
        }
    }

    /// Updates the displacement rank of the connection in the table, if the rank has changed.
    fn rank(&self, state: &mut State) {
        let rank = match (state.owner, &state.intake) {
            (Owner::Parting, _) => Some(Rank::Parting),
            (Owner::Poller, Some(_)) => Some(Rank::Unfinished),
            (Owner::Poller | Owner::Worker, _) if state.exchanges == 0 => Some(Rank::Fresh),
            (Owner::Poller | Owner::Worker, _) => Some(Rank::Idle),
            _ => None,
        };
        self.set_rank(state, rank);
    }

    fn set_rank(&self, state: &mut State, rank: Option<Rank>) {
        if rank != state.rank || (rank.is_some() && state.ranked != state.exchanges) {
            state.rank = rank;
            state.ranked = state.exchanges;
            self.shared
                .table
                .set_rank(self.socket.key(), &self.client(), rank);
        }
    }

    /// Sends the outbox and then `parts`: as many bytes as the socket accepts without blocking.
    /// Keeps the rest in the outbox.
    fn push(&self, state: &mut State, parts: &[&[u8]]) -> io::Result<()> {
        let is_delayed = state.outbox.together_until().is_some();
        if !is_delayed && parts.iter().all(|part| part.is_empty()) {
            return Ok(());
        }
        if is_delayed {
            let before = state.outbox.len();
            state.outbox.append(parts)?;
            self.count(state, before);
            return self.send_together(state);
        }
        let sent = match state.outbox.is_empty() {
            true => tcp::send(self.socket.get(), parts)?,
            false => 0,
        };
        self.keep(state, &rest_of(parts, sent))
    }

    /// Delays a piece of a stream that closely follows another piece, so that later pieces are sent
    /// together with it. Returns whether the piece was delayed.
    fn hold(&self, state: &mut State, parts: &[&[u8]], now: Instant) -> bool {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let Some(exchange) = &state.exchange else {
            return false;
        };
        let until = match state.outbox.together_until() {
            Some(until) => until,
            None if !state.outbox.is_empty() => return false,
            None => match exchange.pushed {
                Some(pushed) => Instant::from(pushed) + TOGETHER,
                None => return false,
            },
        };
        if now >= until || state.outbox.len() + len > TOGETHER_BYTES {
            return false;
        }
        let before = state.outbox.len();
        if state.outbox.append(parts).is_err() {
            return false;
        }
        self.count(state, before);
        if state.outbox.delay(until) {
            self.shared.attend(self.socket.key());
        }
        true
    }

    /// Sends the delayed pieces of the stream.
    fn send_together(&self, state: &mut State) -> io::Result<()> {
        state.outbox.end_delay();
        state.since = Moment::now();
        self.flush(state)?;
        if !state.outbox.is_empty() {
            self.arm(state);
        }
        Ok(())
    }

    fn keep(&self, state: &mut State, parts: &[&[u8]]) -> io::Result<()> {
        let before = state.outbox.len();
        state.outbox.append(parts)?;
        self.count(state, before);
        if before == 0 && !state.outbox.is_empty() {
            state.since = Moment::now();
            self.arm(state);
        }
        Ok(())
    }

    /// Updates the listener's total of unsent bytes. `before` is the length of the outbox that the
    /// total contains.
    fn count(&self, state: &State, before: usize) {
        let (now, unsent) = (state.outbox.len(), &self.shared.unsent);
        if now > before {
            unsent.fetch_add(now - before, Ordering::Relaxed);
        } else {
            unsent.fetch_sub(before - now, Ordering::Relaxed);
        }
    }

    /// Sends as many bytes of the outbox as the socket accepts without blocking.
    fn flush(&self, state: &mut State) -> io::Result<()> {
        if state.outbox.is_empty() {
            return Ok(());
        }
        let count = tcp::send(self.socket.get(), &[state.outbox.unsent()])?;
        if count == 0 {
            return Ok(());
        }
        state.since = Moment::now();
        let before = state.outbox.len();
        state.outbox.remove(count);
        self.count(state, before);
        self.room.notify_all();
        Ok(())
    }

    /// Completes the response. Its unsent part stays in the outbox.
    fn end(self: &Arc<Self>, state: &mut State, closes: bool) -> AfterUnlock {
        let mut later = AfterUnlock::default();
        state.closes |= closes;
        if let Some(exchange) = &mut state.exchange {
            exchange.ended = true;
            // A callback is dropped later, without the lock.
            if matches!(exchange.when_silent, WhenSilent::Fill(_)) {
                exchange.when_silent = WhenSilent::Nothing;
            }
        }
        if state.is_out() {
            self.conclude(state, &mut later);
        } else {
            self.look_for_deadline(state);
        }
        later
    }

    /// Continues with the connection after the response is sent. If a worker is still in the
    /// service, does nothing: that worker continues when the service returns. Otherwise passes the
    /// connection to the queue or the poller, or closes it.
    fn conclude(self: &Arc<Self>, state: &mut State, later: &mut AfterUnlock) {
        let is_pipelined = state.exchange.as_ref().is_some_and(|it| it.pipelined);
        later._over = state.exchange.take();
        if state.owner != Owner::Exchange {
            if state.rank.is_none() {
                self.rank(state);
            }
            return;
        }
        if state.closes || self.shared.is_closing() {
            self.part(state);
        } else if state.intake.is_some() {
            // Input that is already in memory raises no event of the socket.
            self.enqueue(state, later);
            self.attend(state);
        } else if state.half_closed && !is_pipelined {
            drop(self.over(state));
        } else {
            // After a half-close nothing more arrives, but requests that have arrived are served.
            state.half_closed = false;
            state.owner = Owner::Poller;
            state.since = Moment::now();
            self.rank(state);
            self.arm(state);
            self.attend(state);
        }
    }

    fn say_no(&self, state: &mut State, refusal: &Refusal, is_head: bool) {
        self.shared.count_refused();
        // The connection is closed in any case. The listener does not wait until the refusal is
        // sent.
        _ = tcp::send(self.socket.get(), &[&refusal_text(refusal, is_head)]);
        self.part(state);
    }

    /// Begins a lingering close: shuts the sending side down, and gives the client time to read the
    /// response and to close.
    fn part(&self, state: &mut State) {
        if state.half_closed {
            drop(self.over(state));
            return;
        }
        tcp::shut(self.socket.get(), Shutdown::Write);
        state.owner = Owner::Parting;
        state.intake = None;
        state.since = Moment::now();
        self.rank(state);
        self.arm(state);
        self.attend(state);
    }

    /// Closes the connection. Its descriptor is closed when the last reference is dropped.
    #[must_use = "the exchange has to be dropped without the lock"]
    fn over(&self, state: &mut State) -> Option<Exchange> {
        if state.owner != Owner::Nobody {
            state.owner = Owner::Nobody;
            tcp::shut(self.socket.get(), Shutdown::Both);
            self.shared.table.forget(self.socket.key(), &self.client());
        }
        let before = state.outbox.len();
        state.outbox.clear();
        self.count(state, before);
        state.intake = None;
        self.room.notify_all();
        state.exchange.take()
    }

    fn arm(&self, state: &State) {
        let readable = match &state.exchange {
            Some(exchange) => exchange.watched && !exchange.pipelined && !state.half_closed,
            None => matches!(state.owner, Owner::Poller | Owner::Parting),
        };
        let waits = !state.outbox.is_empty() && state.outbox.together_until().is_none();
        let writable = state.exchange.is_some() && waits;
        if self.socket.arm(readable, writable).is_err() {
            // Without socket events, only a read or a write would notice the end, so the connection
            // is shut down.
            tcp::shut(self.socket.get(), Shutdown::Both);
        }
    }

    /// Asks the poller to check the connection, unless the poller checks it in each tick.
    fn attend(&self, state: &mut State) {
        if !state.listed {
            state.listed = true;
            self.shared.attend(self.socket.key());
        }
    }

    /// Asks the poller to check the connection, unless a check is scheduled before the deadline.
    fn look_for_deadline(&self, state: &mut State) {
        if state.listed {
            return;
        }
        let deadline = self.deadline(state);
        if deadline.is_some_and(|at| state.timed.is_none_or(|timed| at < timed)) {
            self.attend(state);
        }
    }
}

impl State {
    /// Whether the whole response has been sent to the client.
    fn is_out(&self) -> bool {
        self.outbox.is_empty()
            && self
                .exchange
                .as_ref()
                .is_some_and(|exchange| exchange.ended)
    }
}

/// Returns `parts` without their first `sent` bytes.
fn rest_of<'a>(parts: &[&'a [u8]], mut sent: usize) -> [&'a [u8]; tcp::MAX_PARTS] {
    let mut rest = [&[][..]; tcp::MAX_PARTS];
    for (left, part) in rest.iter_mut().zip(parts) {
        let skipped = sent.min(part.len());
        *left = &part[skipped..];
        sent -= skipped;
    }
    rest
}

/// Returns the response that refuses a request. The response to HEAD has no body (RFC 9110, section
/// 9.3.2).
fn refusal_text(refusal: &Refusal, is_head: bool) -> Vec<u8> {
    let body = format!("{}\n", refusal.text);
    let mut head = ResponseHead::new(refusal.status).header("Content-Type", "text/plain");
    if refusal.status == 503 {
        head = head.header("Retry-After", "1");
    }
    let text = wire::head(&head, Length::Known(body.len()), After::Closes);
    let mut text = text.unwrap_or_default();
    if !is_head {
        text.extend_from_slice(body.as_bytes());
    }
    text
}

#[cfg(all(test, not(loom), target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::*;

    // Each idle event stream has a connection. See "Memory" in docs/performance.md.
    #[test]
    fn a_connection_is_small() {
        let size = size_of::<Connection>();
        assert!(size <= 232, "{size} bytes");
    }
}
