//! One connection, whoever has it at the moment.
//!
//! A client that ends its side (`shutdown(SHUT_WR)`) while its request is in hand says that it
//! sends nothing more. One that closes its socket looks the same, until something is sent to it:
//! then its system answers with a reset. So after a moment the listener sends something that means
//! nothing: on a stream what is written there while it is quiet, and before a response the interim
//! response 100, which clients ignore unless they wait for it (RFC 9110, section 15.2.1). HTTP/1.0
//! knows no interim responses: there the end shows when the response is sent.

mod responding;
mod serving;
mod watching;

pub(super) use self::watching::GivesWay;

use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::crew::Hands;
use super::head::Refusal;
use super::intake::Intake;
use super::shared::Shared;
use super::table::Rank;
use super::wire::{self, After, Length};
use crate::error::{Error, ErrorKind};
use crate::shares::Client;
use crate::spare;
use crate::sync::{Condvar, Mutex};
use crate::transport::http::ResponseHead;
use crate::transport::sys::tcp::{self, Registered};

/// Pieces that follow each other within this time go out together, at its end or when there are many bytes of them: a system call for each
/// would cost more than all the rest.
const TOGETHER: Duration = Duration::from_micros(500);
const TOGETHER_BYTES: usize = 16 << 10;

/// How soon after the end of the client's side it is found out whether the client has gone, and how
/// often again after that.
const FIRST_PROBE: Duration = Duration::from_millis(500);
const NEXT_PROBE: Duration = Duration::from_secs(15);
const PROBES: u8 = 4;

/// How much is read, and thrown away, of a client that goes on sending then.
const PARTING_BYTES: u32 = 1 << 20;

/// What a request is told that had begun on a connection that gives way.
const NO_PLACE: &str = "too many connections (max_connections): try again later";

/// What the service wants to have run.
pub(super) type Callback = Box<dyn FnOnce() + Send>;

pub(super) struct Conn {
    pub(super) socket: Registered<TcpStream>,
    /// Its own address, if that is not the listener's.
    elsewhere: Option<Box<SocketAddr>>,
    pub(super) remote: SocketAddr,
    /// The client at that address.
    pub(super) client: Client,
    shared: Arc<Shared>,
    /// Held for moments, and for sends that don't wait; never while code of the service runs. The locks of [`Shared`] are taken inside.
    ///
    /// **Invariant:** a connection without a request in hand may give way, and no request that a
    /// worker has read is dropped. Only its owner reads, so [`give_way`](Self::give_way) ends a
    /// connection of the poller itself, under this lock. One of a worker is between requests while
    /// `exchange` is `None` and `has_bytes` is not set; it is only told that nothing more is read
    /// from its socket. The worker reads without this lock, and may have read a request just before:
    /// then it serves that request, counts the connection again, and closes behind the response.
    /// If it has read nothing, its read returns the end, and it closes the connection.
    state: Mutex<State>,
    /// The worker has read bytes of a request that is not in hand yet. The worker sets it behind
    /// its read; all other changes are made under the lock.
    has_bytes: AtomicBool,
    /// There is room for more again, or the connection is over.
    room: Condvar,
}

/// Who has a connection: see the picture in the module above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Poller,
    Queue,
    Worker,
    Exchange,
    Parting,
    Nobody,
}

struct State {
    owner: Owner,
    /// The request in hand, until its response is out.
    exchange: Option<Exchange>,
    /// Counts the requests, and what it was when the poller last looked: if it is the same, the request is older than a tick.
    exchanges: u32,
    seen: u32,
    /// What came of the next request, unless a worker has it.
    intake: Option<Box<Intake>>,
    /// What the client did not read yet, from `sent` on.
    outbox: Vec<u8>,
    sent: usize,
    /// How much of it is counted in [`Shared::unsent`]: all, when the lock is given back.
    counted: usize,
    /// What is in the outbox was not sent yet because more may follow, and is to be at this time.
    together_until: Option<Instant>,
    /// Since when the client reads nothing of it; or since when the connection is idle, or parting.
    since: Instant,
    /// The client has ended its side: it sends nothing more.
    half_closed: bool,
    /// How readily it gives way, as the table knows. It may be out of date while a worker has the
    /// connection: [`Conn::give_way`] finds out.
    rank: Option<Rank>,
    /// What `exchanges` was when the table was told.
    ranked: u32,
    /// A worker has it, and was told to close it unless it has read a request.
    gave_way: bool,
    /// No further request is read.
    closes: bool,
    /// How much may still be thrown away.
    parting_bytes: u32,
    /// Whether the poller looks at each tick.
    listed: bool,
    /// When it looks otherwise.
    timed: Option<Instant>,
}

#[derive(Default)]
struct Exchange {
    gone: Option<Callback>,
    /// Whether the poller would notice that the client goes away.
    watched: bool,
    /// The client has sent more already, so that only asking tells whether it has gone.
    pipelined: bool,
    /// What begins the response, and when, unless it has begun by then.
    silence: Option<(Instant, Callback)>,
    /// Its body comes in pieces.
    begun: bool,
    /// Nothing more comes of it, only what is kept has to go out.
    ended: bool,
    quiet: Option<Quiet>,
    /// When something of its body was last sent.
    pushed: Option<Instant>,
    /// When something is sent to a client that has ended its side, to see whether it has gone, and
    /// how often that was done.
    probe: Option<Instant>,
    probes: u8,
}

/// What to write when nothing was written for so long.
struct Quiet {
    period_ms: u32,
    bytes: &'static [u8],
    is_chunked: bool,
}

/// What has to be done once the lock is given back.
#[must_use]
#[derive(Default)]
pub(super) struct Later {
    hands: Hands,
    /// To be told that the client has gone.
    gone: Option<Callback>,
    /// To begin the response.
    silence: Option<Callback>,
    /// To be dropped only: what it holds may come from the service.
    _over: Option<Exchange>,
}

impl Later {
    /// On a thread that may hold locks of the service: the poller tells it.
    pub(super) fn settle(self, shared: &Arc<Shared>) {
        shared.start(self.hands);
        for callback in self.gone.into_iter().chain(self.silence) {
            shared.tell(callback);
        }
    }

    /// On the poller's thread.
    pub(super) fn settle_here(self, shared: &Arc<Shared>) {
        shared.start(self.hands);
        for callback in self.gone.into_iter().chain(self.silence) {
            Shared::call(callback);
        }
    }
}

/// Who goes on when the service has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The worker that served.
    Mine,
    /// Somebody else, or nobody.
    Over,
}

/// What a connection is doing, for [`HttpStats`](super::HttpStats).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Nothing,
    Request,
    Stream,
    Parting,
}

impl fmt::Debug for Conn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conn")
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

impl Conn {
    /// A new connection, which the poller has and looks at.
    pub(super) fn new(
        socket: Registered<TcpStream>,
        remote: SocketAddr,
        shared: Arc<Shared>,
    ) -> Self {
        let state = State {
            owner: Owner::Poller,
            exchange: None,
            exchanges: 0,
            seen: 0,
            intake: None,
            outbox: Vec::new(),
            sent: 0,
            counted: 0,
            together_until: None,
            since: Instant::now(),
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
        let elsewhere = local.filter(|local| *local != shared.local);
        Self {
            elsewhere: elsewhere.map(Box::new),
            socket,
            remote,
            client: Client::at(remote.ip()),
            shared,
            state: Mutex::new(state),
            has_bytes: AtomicBool::new(false),
            room: Condvar::new(),
        }
    }

    /// The address that the client reached.
    pub(super) fn local(&self) -> SocketAddr {
        self.elsewhere
            .as_deref()
            .copied()
            .unwrap_or(self.shared.local)
    }

    pub(super) fn is_closing(&self) -> bool {
        self.shared.is_closing()
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

    /// Whether a drain waits for it.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.exchange.is_some() || matches!(state.owner, Owner::Queue | Owner::Worker)
    }
}

/// What all of them are made of; under the lock.
impl Conn {
    fn enqueue(self: &Arc<Self>, state: &mut State, later: &mut Later) {
        state.owner = Owner::Queue;
        match self.shared.crew.push(Arc::clone(self), &self.client) {
            Ok(hands) => later.hands = hands,
            // The listener has closed.
            Err(_) => drop(self.over(state)),
        }
    }

    /// Tells the table how readily the connection gives way, if that has changed.
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
            self.shared.table.set_rank(self.socket.key(), rank);
        }
    }

    /// Sends as much as there is room for, behind what waits already, and keeps the rest.
    fn push(&self, state: &mut State, parts: &[&[u8]]) -> io::Result<()> {
        if state.together_until.is_none() && parts.iter().all(|part| part.is_empty()) {
            return Ok(());
        }
        if state.together_until.is_some() {
            state.append(parts)?;
            self.count(state);
            return self.send_together(state);
        }
        let sent = match state.outbox.is_empty() {
            true => tcp::send(self.socket.get(), parts)?,
            false => 0,
        };
        self.keep(state, &rest_of(parts, sent))
    }

    /// Keeps a piece for a moment if one was sent just now, so that it goes out with those that follow. Returns whether it did.
    fn hold(&self, state: &mut State, parts: &[&[u8]], now: Instant) -> bool {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let Some(exchange) = &state.exchange else {
            return false;
        };
        let until = match state.together_until {
            Some(until) => until,
            None if !state.outbox.is_empty() => return false,
            None => match exchange.pushed {
                Some(pushed) => pushed + TOGETHER,
                None => return false,
            },
        };
        if now >= until || state.outbox.len() + len > TOGETHER_BYTES {
            return false;
        }
        if state.append(parts).is_err() {
            return false;
        }
        self.count(state);
        if state.together_until.replace(until).is_none() {
            self.shared.attend(self.socket.key());
        }
        true
    }

    /// Sends what was held back.
    fn send_together(&self, state: &mut State) -> io::Result<()> {
        state.together_until = None;
        state.since = Instant::now();
        self.flush(state)?;
        if !state.outbox.is_empty() {
            self.arm(state);
        }
        Ok(())
    }

    fn keep(&self, state: &mut State, parts: &[&[u8]]) -> io::Result<()> {
        let was_empty = state.outbox.is_empty();
        state.append(parts)?;
        self.count(state);
        if was_empty && !state.outbox.is_empty() {
            state.since = Instant::now();
            self.arm(state);
        }
        Ok(())
    }

    /// Counts what has become of the outbox.
    fn count(&self, state: &mut State) {
        let before = std::mem::replace(&mut state.counted, state.outbox.len());
        let unsent = &self.shared.unsent;
        if state.counted > before {
            unsent.fetch_add(state.counted - before, Ordering::Relaxed);
        } else {
            unsent.fetch_sub(before - state.counted, Ordering::Relaxed);
        }
    }

    /// Sends what waits, as far as there is room.
    fn flush(&self, state: &mut State) -> io::Result<()> {
        if state.outbox.is_empty() {
            return Ok(());
        }
        let count = tcp::send(self.socket.get(), &[&state.outbox[state.sent..]])?;
        if count == 0 {
            return Ok(());
        }
        state.sent += count;
        state.since = Instant::now();
        if state.sent == state.outbox.len() {
            state.outbox = Vec::new();
            state.sent = 0;
        } else if state.sent > state.outbox.len() / 2 {
            state.outbox.drain(..state.sent);
            spare::shrink(&mut state.outbox);
            state.sent = 0;
        }
        self.count(state);
        self.room.notify_all();
        Ok(())
    }

    /// The response is complete; what is kept of it has still to go out.
    fn end(self: &Arc<Self>, state: &mut State, closes: bool) -> Later {
        let mut later = Later::default();
        state.closes |= closes;
        if let Some(exchange) = &mut state.exchange {
            exchange.ended = true;
            exchange.quiet = None;
        }
        if state.is_out() {
            self.conclude(state, &mut later);
        } else {
            self.look_for_deadline(state);
        }
        later
    }

    /// The response is out. A worker that is still in the service goes on when it comes back; otherwise the next request is looked for.
    fn conclude(self: &Arc<Self>, state: &mut State, later: &mut Later) {
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
            // What is here already raises no event.
            self.enqueue(state, later);
            self.attend(state);
        } else if state.half_closed && !is_pipelined {
            drop(self.over(state));
        } else {
            // Behind the end of its side nothing more comes, but what has come is served.
            state.half_closed = false;
            state.owner = Owner::Poller;
            state.since = Instant::now();
            self.rank(state);
            self.arm(state);
            self.attend(state);
        }
    }

    fn say_no(&self, state: &mut State, refusal: &Refusal) {
        self.shared.count_refused();
        // What does not go out at once is not worth waiting for.
        _ = tcp::send(self.socket.get(), &[&refusal_text(refusal)]);
        self.part(state);
    }

    /// Nothing more is said: the client has a while to read and to close.
    fn part(&self, state: &mut State) {
        if state.half_closed {
            drop(self.over(state));
            return;
        }
        tcp::shut(self.socket.get().as_fd(), Shutdown::Write);
        state.owner = Owner::Parting;
        state.intake = None;
        state.since = Instant::now();
        self.rank(state);
        self.arm(state);
        self.attend(state);
    }

    /// The connection has ended. Its descriptor is closed when the last one who has it lets go.
    #[must_use = "what it holds is dropped without the lock"]
    fn over(&self, state: &mut State) -> Option<Exchange> {
        if state.owner != Owner::Nobody {
            state.owner = Owner::Nobody;
            tcp::shut(self.socket.get().as_fd(), Shutdown::Both);
            self.shared.table.forget(self.socket.key());
        }
        state.outbox = Vec::new();
        state.sent = 0;
        self.count(state);
        state.together_until = None;
        state.intake = None;
        self.room.notify_all();
        state.exchange.take()
    }

    fn arm(&self, state: &State) {
        let readable = match &state.exchange {
            Some(exchange) => exchange.watched && !exchange.pipelined && !state.half_closed,
            None => matches!(state.owner, Owner::Poller | Owner::Parting),
        };
        let waits = !state.outbox.is_empty() && state.together_until.is_none();
        let writable = state.exchange.is_some() && waits;
        if self.socket.arm(readable, writable).is_err() {
            // Without events only reads and writes tell of the end, so let it come.
            tcp::shut(self.socket.get().as_fd(), Shutdown::Both);
        }
    }

    /// Has the poller look, unless it does anyway.
    fn attend(&self, state: &mut State) {
        if !state.listed {
            state.listed = true;
            self.shared.attend(self.socket.key());
        }
    }

    /// The same, if it would come too late otherwise.
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
    /// Appends to the outbox; nothing, if there is no memory for all of it.
    fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let len = parts.iter().map(|part| part.len()).sum();
        self.outbox
            .try_reserve(len)
            .map_err(|_| io::ErrorKind::OutOfMemory)?;
        for part in parts {
            self.outbox.extend_from_slice(part);
        }
        Ok(())
    }

    /// How many bytes wait to be sent.
    fn kept(&self) -> usize {
        self.outbox.len() - self.sent
    }

    /// Whether the whole response has gone out.
    fn is_out(&self) -> bool {
        self.outbox.is_empty()
            && self
                .exchange
                .as_ref()
                .is_some_and(|exchange| exchange.ended)
    }
}

/// What is left of the parts when so many bytes were sent.
fn rest_of<'a>(parts: &[&'a [u8]], mut sent: usize) -> [&'a [u8]; tcp::MAX_PARTS] {
    let mut rest = [&[][..]; tcp::MAX_PARTS];
    for (left, part) in rest.iter_mut().zip(parts) {
        let skipped = sent.min(part.len());
        *left = &part[skipped..];
        sent -= skipped;
    }
    rest
}

fn refusal_text(refusal: &Refusal) -> Vec<u8> {
    let body = format!("{}\n", refusal.text);
    let mut head = ResponseHead::new(refusal.status).header("Content-Type", "text/plain");
    if refusal.status == 503 {
        head = head.header("Retry-After", "1");
    }
    let text = wire::head(&head, Length::Known(body.len()), After::Closes);
    let mut text = text.unwrap_or_default();
    text.extend_from_slice(body.as_bytes());
    text
}
