//! One connection, whoever has it at the moment.

use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::crew::Hands;
use super::head::Refusal;
use super::intake::Intake;
use super::shared::Shared;
use super::wire::{self, After, Length};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::transport::http::ResponseHead;
use crate::transport::sys::tcp::{self, Registered};

/// How long a whole response waits for a client that reads, without and with progress, before the poller goes on with it.
const MOMENT: Duration = Duration::from_millis(20);
const MOMENTS: Duration = Duration::from_millis(200);
/// How long a client may take to close, once nothing more is said to it.
const PARTING: Duration = Duration::from_secs(2);
/// How much is read, and thrown away, of a client that goes on sending then.
const PARTING_BYTES: usize = 1 << 20;

pub(super) type Gone = Box<dyn FnOnce() + Send>;

pub(super) struct Conn {
    pub(super) socket: Registered<TcpStream>,
    pub(super) local: Option<SocketAddr>,
    pub(super) remote: Option<SocketAddr>,
    shared: Arc<Shared>,
    /// Held for moments, and for sends that don't wait; never while code of the service runs. The locks of [`Shared`] are taken inside.
    state: Mutex<State>,
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
    /// Since when the client reads nothing of it; or since when the connection is idle, or parting.
    since: Instant,
    /// The client has ended its side.
    half_closed: bool,
    /// No further request is read.
    closes: bool,
    /// How much may still be thrown away.
    parting_bytes: usize,
    /// Whether the poller looks at each tick.
    listed: bool,
    /// When it looks otherwise.
    timed: Option<Instant>,
}

#[derive(Default)]
struct Exchange {
    gone: Option<Gone>,
    /// Whether the poller would notice that the client goes away.
    watched: bool,
    /// The client has sent more already, so that only asking tells whether it has gone.
    pipelined: bool,
    /// Its body comes in pieces.
    begun: bool,
    /// Nothing more comes of it, only what is kept has to go out.
    ended: bool,
    quiet: Option<Quiet>,
}

/// What to write when nothing was written for so long.
struct Quiet {
    period: Duration,
    bytes: &'static [u8],
    is_chunked: bool,
    last: Instant,
}

/// What has to be done once the lock is given back.
#[must_use]
#[derive(Default)]
pub(super) struct Later {
    start: bool,
    /// To be told that the client has gone.
    gone: Option<Gone>,
    /// To be dropped only: what it holds may come from the service.
    _over: Option<Exchange>,
}

impl Later {
    /// On a thread that may hold locks of the service: the poller tells it.
    pub(super) fn settle(self, shared: &Arc<Shared>) {
        if self.start {
            shared.start_worker();
        }
        if let Some(gone) = self.gone {
            shared.tell(gone);
        }
    }

    /// On the poller's thread.
    pub(super) fn settle_here(self, shared: &Arc<Shared>) {
        if self.start {
            shared.start_worker();
        }
        if let Some(gone) = self.gone {
            Shared::call(gone);
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
        remote: Option<SocketAddr>,
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
            since: Instant::now(),
            half_closed: false,
            closes: false,
            parting_bytes: PARTING_BYTES,
            listed: true,
            timed: None,
        };
        Self {
            local: socket.get().local_addr().ok(),
            socket,
            remote,
            shared,
            state: Mutex::new(state),
            room: Condvar::new(),
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.shared.is_closing()
    }

    fn gone_error(&self) -> Error {
        let text = match self.remote {
            Some(remote) => format!("the HTTP client {remote} has gone"),
            None => "the HTTP client has gone".to_owned(),
        };
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

/// For the worker that serves it.
impl Conn {
    /// Takes it off the queue, with what has come of a request.
    pub(super) fn take(&self, intake: &mut Intake) -> bool {
        let mut state = self.state.lock();
        if state.owner != Owner::Queue {
            return false;
        }
        state.owner = Owner::Worker;
        match state.intake.take() {
            Some(kept) => *intake = *kept,
            None => intake.clear(),
        }
        true
    }

    /// A request begins.
    pub(super) fn open(&self) -> bool {
        let mut state = self.state.lock();
        state.exchanges = state.exchanges.wrapping_add(1);
        state.exchange = Some(Exchange::default());
        state.owner == Owner::Worker
    }

    /// The service has returned. If the response is not out yet, whoever ends it goes on with what is left in `intake`.
    pub(super) fn served(&self, intake: &mut Intake) -> Turn {
        let mut state = self.state.lock();
        if state.owner != Owner::Worker {
            return Turn::Over;
        }
        if state.exchange.is_some() {
            state.owner = Owner::Exchange;
            state.intake = (!intake.is_empty()).then(|| Box::new(intake.take()));
            return Turn::Over;
        }
        if state.closes || self.shared.is_closing() {
            self.part(&mut state);
            return Turn::Over;
        }
        Turn::Mine
    }

    /// Nothing comes: the poller gets it, with what has come of a request.
    pub(super) fn rest(&self, intake: &mut Intake) {
        let mut state = self.state.lock();
        if state.owner != Owner::Worker {
            return;
        }
        if self.shared.is_closing() {
            drop(self.over(&mut state));
            return;
        }
        state.since = Instant::now();
        if !intake.is_empty() {
            intake.deadline(state.since, &self.shared.limits);
            state.intake = Some(Box::new(intake.take()));
        }
        state.owner = Owner::Poller;
        self.arm(&state);
        self.attend(&mut state);
    }

    /// Others wait: it stands behind them if there is something to be served already.
    pub(super) fn stand_behind(self: &Arc<Self>, intake: &mut Intake) {
        if intake.is_empty() {
            self.rest(intake);
            return;
        }
        let mut later = Later::default();
        let mut state = self.state.lock();
        if state.owner == Owner::Worker {
            state.intake = Some(Box::new(intake.take()));
            self.enqueue(&mut state, &mut later, true);
        }
        drop(state);
        later.settle(&self.shared);
    }

    /// Tells a client that waits for it to go on with the body.
    pub(super) fn say_continue(&self) -> bool {
        let text = b"HTTP/1.1 100 Continue\r\n\r\n";
        matches!(tcp::send(self.socket.get(), &[text]), Ok(sent) if sent == text.len())
    }

    /// Answers a request that is not served, and parts.
    pub(super) fn refuse(&self, refusal: &Refusal) {
        let mut state = self.state.lock();
        if state.owner == Owner::Worker && state.exchange.is_none() {
            self.say_no(&mut state, refusal);
        }
    }

    /// The client has closed, between requests or in the middle of one.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        let over = self.over(&mut state);
        drop(state);
        drop(over);
    }
}

/// For the response to the request in hand.
impl Conn {
    /// The state, if the response can still be sent.
    fn for_response(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        match (state.owner, &state.exchange) {
            (Owner::Nobody, _) | (_, None) => Err(self.gone_error()),
            _ => Ok(state),
        }
    }

    /// Sends a whole response; the connection is closed behind it if `closes`.
    pub(super) fn respond(self: &Arc<Self>, parts: &[&[u8]], closes: bool) -> Result<()> {
        let (mut sent, mut patient_until) = (0, None);
        loop {
            let mut state = self.for_response()?;
            sent += match tcp::send(self.socket.get(), &rest_of(parts, sent)) {
                Ok(count) => count,
                Err(_) => return self.fail(state),
            };
            let whole = sent == parts.iter().map(|part| part.len()).sum::<usize>();
            let now = (!whole).then(Instant::now);
            if let Some(now) = now {
                let until = *patient_until.get_or_insert(now + MOMENTS);
                drop(state);
                if now < until
                    && tcp::wait_for_room(self.socket.get(), now + MOMENT).unwrap_or(false)
                {
                    continue;
                }
                state = self.for_response()?;
                self.keep(&mut state, &rest_of(parts, sent));
            }
            let later = self.end(&mut state, closes);
            drop(state);
            later.settle(&self.shared);
            return Ok(());
        }
    }

    /// Sends the beginning of a response whose body comes in pieces.
    pub(super) fn begin(
        &self,
        parts: &[&[u8]],
        quiet: Option<(Duration, &'static [u8])>,
        is_chunked: bool,
    ) -> Result<()> {
        let mut state = self.for_response()?;
        if let Some(exchange) = &mut state.exchange {
            exchange.begun = true;
            exchange.quiet = quiet.map(|(period, bytes)| Quiet {
                period,
                bytes,
                is_chunked,
                last: Instant::now(),
            });
        }
        if self.push(&mut state, parts).is_err() {
            return self.fail(state);
        }
        self.look_for_deadline(&mut state);
        Ok(())
    }

    /// Sends a piece, or waits until there is room for it; see [`ResponseWriter::write`](crate::transport::http::ResponseWriter::write).
    pub(super) fn write(
        self: &Arc<Self>,
        parts: &[&[u8]],
        deadline: Option<Instant>,
    ) -> Result<bool> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let mut state = self.for_response()?;
        loop {
            if self.flush(&mut state).is_err() {
                return self.fail(state).map(|()| false);
            }
            let kept = state.outbox.len() - state.sent;
            if kept == 0 || kept.saturating_add(len) <= self.shared.limits.max_stream_bytes {
                break;
            }
            let Some(deadline) = deadline else {
                return Ok(false);
            };
            if Instant::now() >= deadline {
                let remote = self.remote.map_or_else(String::new, |at| format!(" {at}"));
                let text =
                    format!("the HTTP client{remote} does not read: {kept} bytes wait for it");
                return Err(Error::new(ErrorKind::Timeout, text));
            }
            drop(self.room.wait_until(state, Some(deadline)));
            state = self.for_response()?;
        }
        if self.push(&mut state, parts).is_err() {
            return self.fail(state).map(|()| false);
        }
        if let Some(quiet) = state
            .exchange
            .as_mut()
            .and_then(|exchange| exchange.quiet.as_mut())
        {
            quiet.last = Instant::now();
        }
        self.look_for_deadline(&mut state);
        Ok(true)
    }

    /// Ends a body that came in pieces.
    pub(super) fn finish(self: &Arc<Self>, last: &[u8], closes: bool) -> Result<()> {
        let mut state = self.for_response()?;
        if self.push(&mut state, &[last]).is_err() {
            return self.fail(state);
        }
        let later = self.end(&mut state, closes);
        drop(state);
        later.settle(&self.shared);
        Ok(())
    }

    /// Ends the connection so that the client sees that something is missing.
    pub(super) fn break_off(&self) {
        let mut state = self.state.lock();
        if state.owner == Owner::Nobody || state.exchange.is_none() {
            return;
        }
        tcp::reset(self.socket.get());
        let over = self.over(&mut state);
        drop(state);
        drop(over);
    }

    pub(super) fn on_gone(&self, callback: Gone) {
        let mut state = self.state.lock();
        let has_gone = state.half_closed || state.owner == Owner::Nobody;
        match &mut state.exchange {
            Some(exchange) if !has_gone => {
                let replaced = exchange.gone.replace(callback);
                drop(state);
                drop(replaced);
            }
            _ => {
                drop(state);
                if has_gone {
                    Shared::call(callback);
                }
            }
        }
    }

    /// The connection is lost: the poller tells so, because this thread may hold locks of the service.
    fn fail<T>(&self, mut state: MutexGuard<'_, State>) -> Result<T> {
        let gone = self.over(&mut state).and_then(|exchange| exchange.gone);
        drop(state);
        if let Some(gone) = gone {
            self.shared.tell(gone);
        }
        Err(self.gone_error())
    }
}

/// What the poller has to know after a look.
#[must_use]
pub(super) struct Look {
    pub(super) later: Later,
    /// Whether to look again at the next tick.
    pub(super) is_listed: bool,
    /// When to look otherwise, and which such time that replaces.
    pub(super) schedule: Option<Instant>,
    pub(super) instead_of: Option<Instant>,
}

/// For the poller. What is returned is to be settled on its thread.
impl Conn {
    /// It was accepted: the first request may come.
    pub(super) fn welcome(&self) {
        self.arm(&self.state.lock());
    }

    /// Something has happened to it. Returns whether it has to be looked at from now on.
    pub(super) fn ready(self: &Arc<Self>, readable: bool, lost: bool) -> (Later, bool) {
        let mut later = Later::default();
        let mut state = self.state.lock();
        match state.owner {
            Owner::Poller => self.enqueue(&mut state, &mut later, false),
            Owner::Parting => self.throw_away(&mut state),
            _ if state.exchange.is_some() => {
                if lost || self.flush(&mut state).is_err() {
                    self.vanish(&mut state, &mut later);
                } else if state.is_out() {
                    self.conclude(&mut state, &mut later);
                } else if readable {
                    self.check_client(&mut state, &mut later);
                }
                if state.exchange.is_some() {
                    self.arm(&state);
                }
            }
            _ => return (later, false),
        }
        let is_new = !state.listed && state.owner != Owner::Nobody;
        state.listed |= is_new;
        (later, is_new)
    }

    /// A tick, or a time that was asked for.
    pub(super) fn look(self: &Arc<Self>, now: Instant) -> Look {
        let mut later = Later::default();
        let mut state = self.state.lock();
        let is_old = state.seen == state.exchanges || state.owner == Owner::Exchange;
        state.seen = state.exchanges;
        if let Some(exchange) = &mut state.exchange {
            if is_old && !exchange.watched {
                exchange.watched = true;
                self.arm(&state);
            } else if exchange.pipelined && !state.half_closed && tcp::has_left(self.socket.get()) {
                self.client_left(&mut state, &mut later);
            }
        }
        if self.deadline(&mut state).is_some_and(|at| at <= now) {
            self.expire(&mut state, &mut later, now);
        }
        let is_with_worker = matches!(state.owner, Owner::Worker | Owner::Queue);
        let exchange = state.exchange.as_ref();
        state.listed = is_with_worker || exchange.is_some_and(|it| !it.watched || it.pipelined);
        if state.timed.is_some_and(|timed| timed <= now) {
            state.timed = None;
        }
        let timed = state.timed;
        let schedule = self
            .deadline(&mut state)
            .filter(|at| timed.is_none_or(|timed| *at < timed));
        if schedule.is_some() {
            state.timed = schedule;
        }
        Look {
            later,
            is_listed: state.listed,
            schedule,
            instead_of: timed.filter(|_| schedule.is_some()),
        }
    }

    /// The listener closes: what is idle is closed.
    pub(super) fn close_if_idle(&self) {
        let mut state = self.state.lock();
        if state.owner == Owner::Poller {
            let over = self.over(&mut state);
            drop(state);
            drop(over);
        }
    }

    /// The listener has closed.
    pub(super) fn cut(&self) -> Later {
        let mut later = Later::default();
        let mut state = self.state.lock();
        self.vanish(&mut state, &mut later);
        later
    }

    /// Nobody is there to serve what it waits for.
    pub(super) fn turn_away(&self, why: &'static str) {
        let mut state = self.state.lock();
        if state.owner == Owner::Queue {
            self.say_no(&mut state, &Refusal::new(503, why));
        }
    }

    /// What a new connection over the limit is told.
    pub(super) fn turn_away_at_once(&self, why: &'static str) {
        let mut state = self.state.lock();
        self.say_no(&mut state, &Refusal::new(503, why));
    }

    fn deadline(&self, state: &mut State) -> Option<Instant> {
        let limits = &self.shared.limits;
        let since = state.since;
        let span = match (state.owner, &mut state.intake, &state.exchange) {
            (Owner::Nobody, ..) => return None,
            (Owner::Poller, Some(intake), _) => return Some(intake.deadline(since, limits)),
            (Owner::Poller, None, _) => limits.keep_alive,
            (Owner::Parting, ..) => PARTING,
            _ if !state.outbox.is_empty() => limits.write_timeout,
            (.., Some(exchange)) => {
                let quiet = exchange.quiet.as_ref()?;
                return quiet.last.checked_add(quiet.period);
            }
            _ => return None,
        };
        since.checked_add(span)
    }

    fn expire(&self, state: &mut State, later: &mut Later, now: Instant) {
        match state.owner {
            Owner::Poller => match state.intake.take() {
                Some(intake) => self.say_no(state, &intake.lateness()),
                None => drop(self.over(state)),
            },
            Owner::Queue | Owner::Worker | Owner::Exchange if state.outbox.is_empty() => {
                self.fill_silence(state, later, now);
            }
            Owner::Queue | Owner::Worker | Owner::Exchange => {
                tcp::reset(self.socket.get());
                self.vanish(state, later);
            }
            Owner::Parting | Owner::Nobody => drop(self.over(state)),
        }
    }

    fn fill_silence(&self, state: &mut State, later: &mut Later, now: Instant) {
        let Some(quiet) = state
            .exchange
            .as_mut()
            .and_then(|exchange| exchange.quiet.as_mut())
        else {
            return;
        };
        quiet.last = now;
        let (bytes, is_chunked) = (quiet.bytes, quiet.is_chunked);
        let pushed = if bytes.is_empty() {
            Ok(())
        } else if is_chunked {
            self.push(
                state,
                &[wire::chunk_start(bytes.len()).as_bytes(), bytes, b"\r\n"],
            )
        } else {
            self.push(state, &[bytes])
        };
        if pushed.is_err() {
            self.vanish(state, later);
        }
    }

    /// Something can be read, or the end, while a request is in hand.
    fn check_client(&self, state: &mut State, later: &mut Later) {
        match tcp::peek(self.socket.get()) {
            Ok(Some(true)) => {
                if let Some(exchange) = &mut state.exchange {
                    exchange.pipelined = true;
                }
            }
            Ok(Some(false)) => self.client_left(state, later),
            Ok(None) => {}
            Err(_) => self.vanish(state, later),
        }
    }

    /// The client has ended its side. Before a response has begun, one that only said all it had to say can still read the response; who
    /// ends a stream of events does not read on.
    fn client_left(&self, state: &mut State, later: &mut Later) {
        match &mut state.exchange {
            Some(exchange) if exchange.begun && !exchange.ended => self.vanish(state, later),
            Some(exchange) => {
                later.gone = exchange.gone.take();
                state.half_closed = true;
            }
            None => {}
        }
    }

    /// The connection is lost.
    fn vanish(&self, state: &mut State, later: &mut Later) {
        if let Some(mut exchange) = self.over(state) {
            later.gone = exchange.gone.take().or_else(|| later.gone.take());
        }
    }

    /// What a client still sends that is not read any more must not make the system reset the connection before the client has read ours.
    fn throw_away(&self, state: &mut State) {
        let mut scratch = Vec::new();
        match tcp::receive(self.socket.get(), &mut scratch, 16 << 10, false) {
            Ok(Some(count)) if count > 0 && count <= state.parting_bytes => {
                state.parting_bytes -= count;
                self.arm(state);
            }
            Ok(None) => self.arm(state),
            _ => drop(self.over(state)),
        }
    }
}

/// What all of them are made of; under the lock.
impl Conn {
    fn enqueue(self: &Arc<Self>, state: &mut State, later: &mut Later, again: bool) {
        state.owner = Owner::Queue;
        let crew = &self.shared.crew;
        let pushed = match again {
            true => crew.push_again(Arc::clone(self)),
            false => crew.push(Arc::clone(self)),
        };
        match pushed {
            Ok(hands) => later.start = hands == Hands::StartOne,
            Err(_) => {
                let text = "too many requests wait already (max_waiting): try again later";
                self.say_no(state, &Refusal::new(503, text));
            }
        }
    }

    /// Sends as much as there is room for, behind what waits already, and keeps the rest.
    fn push(&self, state: &mut State, parts: &[&[u8]]) -> io::Result<()> {
        if parts.iter().all(|part| part.is_empty()) {
            return Ok(());
        }
        let sent = match state.outbox.is_empty() {
            true => tcp::send(self.socket.get(), parts)?,
            false => 0,
        };
        self.keep(state, &rest_of(parts, sent));
        Ok(())
    }

    fn keep(&self, state: &mut State, parts: &[&[u8]]) {
        let was_empty = state.outbox.is_empty();
        for part in parts {
            state.outbox.extend_from_slice(part);
        }
        if was_empty && !state.outbox.is_empty() {
            state.since = Instant::now();
            self.arm(state);
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
            state.sent = 0;
        }
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
        later._over = state.exchange.take();
        if state.owner != Owner::Exchange {
            return;
        }
        if state.closes || self.shared.is_closing() {
            self.part(state);
        } else if state.intake.is_some() {
            // What is here already raises no event.
            self.enqueue(state, later, true);
            self.attend(state);
        } else if state.half_closed {
            drop(self.over(state));
        } else {
            state.owner = Owner::Poller;
            state.since = Instant::now();
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
        self.arm(state);
        self.attend(state);
    }

    /// The connection has ended. Its descriptor is closed when the last one who has it lets go.
    #[must_use = "what it holds is dropped without the lock"]
    fn over(&self, state: &mut State) -> Option<Exchange> {
        if state.owner != Owner::Nobody {
            state.owner = Owner::Nobody;
            tcp::shut(self.socket.get().as_fd(), Shutdown::Both);
            self.shared.forget(self.socket.key());
        }
        state.outbox = Vec::new();
        state.sent = 0;
        state.intake = None;
        self.room.notify_all();
        state.exchange.take()
    }

    fn arm(&self, state: &State) {
        let readable = match &state.exchange {
            Some(exchange) => exchange.watched && !exchange.pipelined && !state.half_closed,
            None => matches!(state.owner, Owner::Poller | Owner::Parting),
        };
        let writable = state.exchange.is_some() && !state.outbox.is_empty();
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
