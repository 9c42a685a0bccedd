//! What the poller does with a connection: when something has happened to it, and when it is time.
//!
//! What is returned is to be settled on its thread.

use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{
    Conn, FIRST_PROBE, Later, NEXT_PROBE, NO_PLACE, Owner, PROBES, Quiet, State, refusal_text,
};
use crate::transport::http::listener::head::Refusal;
use crate::transport::http::listener::wire;
use crate::transport::sys::tcp;

/// How long a client may take to close, once nothing more is said to it.
const PARTING: Duration = Duration::from_secs(2);

/// What came of asking a connection to give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum GivesWay {
    /// It has a request in hand, or is not the first to give way any more.
    No,
    /// It is closed.
    Now,
    /// Its worker closes it, and it counts no more.
    Soon,
}

/// What the poller has to know after a look.
#[must_use]
pub(in super::super) struct Look {
    pub(in super::super) later: Later,
    /// Whether to look again at the next tick.
    pub(in super::super) is_listed: bool,
    /// When to look otherwise, and which such time that replaces.
    pub(in super::super) schedule: Option<Instant>,
    pub(in super::super) instead_of: Option<Instant>,
}

impl Conn {
    /// It was accepted: the first request may come.
    pub(in super::super) fn welcome(&self) {
        let mut state = self.state.lock();
        self.rank(&mut state);
        self.arm(&state);
    }

    /// It makes room for another connection, if no request of its is in hand. Otherwise the table
    /// is told, so that another one is asked next.
    pub(in super::super) fn give_way(self: &Arc<Self>) -> (Later, GivesWay) {
        let mut later = Later::default();
        let mut state = self.state.lock();
        let is_between = match state.owner {
            Owner::Parting | Owner::Poller => true,
            Owner::Worker => state.exchange.is_none() && !self.has_bytes.load(Ordering::Relaxed),
            Owner::Queue | Owner::Exchange | Owner::Nobody => false,
        };
        let is_parting = state.owner == Owner::Parting;
        // Bytes that nobody has read yet are a request, whose event is on the way.
        let has_request =
            is_between && !is_parting && matches!(tcp::peek(self.socket.get()), Ok(Some(true)));
        if !is_between || has_request {
            self.set_rank(&mut state, None);
            if state.owner == Owner::Poller {
                self.enqueue(&mut state, &mut later);
            }
            return (later, GivesWay::No);
        }
        if state.owner == Owner::Worker {
            let before = (state.rank, state.ranked);
            self.rank(&mut state);
            if before != (state.rank, state.ranked) {
                return (later, GivesWay::No);
            }
            self.set_rank(&mut state, None);
            state.gave_way = true;
            state.closes = true;
            self.shared.table.uncount(self.socket.key());
            tcp::shut(self.socket.get().as_fd(), Shutdown::Read);
            return (later, GivesWay::Soon);
        }
        if state.intake.is_some() {
            let refusal = Refusal::new(503, NO_PLACE);
            // What does not go out at once is not worth waiting for.
            _ = tcp::send(self.socket.get(), &[&refusal_text(&refusal)]);
        }
        drop(self.over(&mut state));
        (later, GivesWay::Now)
    }

    /// Something has happened to it. Returns whether it has to be looked at from now on.
    pub(in super::super) fn ready(self: &Arc<Self>, readable: bool, lost: bool) -> (Later, bool) {
        let mut later = Later::default();
        let mut state = self.state.lock();
        match state.owner {
            Owner::Poller => self.enqueue(&mut state, &mut later),
            Owner::Parting => self.throw_away(&mut state),
            _ if state.exchange.is_some() => {
                if lost || self.flush(&mut state).is_err() {
                    self.vanish(&mut state, &mut later);
                } else if state.is_out() {
                    self.conclude(&mut state, &mut later);
                } else if readable {
                    self.check_client(&mut state, &mut later, Instant::now());
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
    pub(in super::super) fn look(self: &Arc<Self>, now: Instant) -> Look {
        let mut later = Later::default();
        let mut state = self.state.lock();
        let is_old = state.seen == state.exchanges || state.owner == Owner::Exchange;
        state.seen = state.exchanges;
        if let Some(exchange) = &mut state.exchange {
            if is_old && !exchange.watched {
                exchange.watched = true;
                self.arm(&state);
            } else if exchange.pipelined && !state.half_closed && tcp::has_left(self.socket.get()) {
                self.client_ended_its_side(&mut state, now);
            }
        }
        if state.together_until.is_some_and(|until| until <= now) {
            if self.send_together(&mut state).is_err() {
                self.vanish(&mut state, &mut later);
            }
            if let Some(exchange) = &mut state.exchange {
                exchange.pushed = Some(now);
            }
        }
        let probe = state.exchange.as_ref().and_then(|exchange| exchange.probe);
        if probe.is_some_and(|at| at <= now) {
            self.probe(&mut state, &mut later, now);
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
    pub(in super::super) fn close_if_idle(&self) {
        let mut state = self.state.lock();
        if state.owner == Owner::Poller {
            let over = self.over(&mut state);
            drop(state);
            drop(over);
        }
    }

    /// The listener has closed.
    pub(in super::super) fn cut(&self) -> Later {
        let mut later = Later::default();
        let mut state = self.state.lock();
        self.vanish(&mut state, &mut later);
        later
    }

    /// Nobody is there to serve what it waits for.
    pub(in super::super) fn turn_away(&self, why: &'static str) {
        let mut state = self.state.lock();
        if state.owner == Owner::Queue {
            self.say_no(&mut state, &Refusal::new(503, why));
        }
    }

    /// What a new connection over the limit is told.
    pub(in super::super) fn turn_away_at_once(&self, why: &'static str) {
        let mut state = self.state.lock();
        self.say_no(&mut state, &Refusal::new(503, why));
    }

    /// What it costs that the client does not read: the bytes that wait, times the milliseconds since it last read of them. Who reads has
    /// little of the one or of the other, whatever its response is. Within the first second only the bytes count, so that a large response which
    /// has just begun to wait does not have the smaller ones go first.
    pub(in super::super) fn burden(&self, now: Instant) -> u128 {
        let state = self.state.lock();
        // What is held back for more to come was not refused by anybody.
        if state.together_until.is_some() {
            return 0;
        }
        let idle = now.saturating_duration_since(state.since);
        state.outbox.len() as u128 * idle.as_millis().max(1000)
    }

    /// Too much waits for all clients, and most for this one.
    pub(in super::super) fn give_up(&self) -> Later {
        let mut later = Later::default();
        let mut state = self.state.lock();
        if !state.outbox.is_empty() && state.together_until.is_none() {
            self.shared.count_refused();
            tcp::reset(self.socket.get());
            self.vanish(&mut state, &mut later);
        }
        later
    }

    pub(super) fn deadline(&self, state: &mut State) -> Option<Instant> {
        let limits = &self.shared.limits;
        let since = state.since;
        let span = match (state.owner, &mut state.intake, &state.exchange) {
            (Owner::Nobody, ..) => return None,
            (Owner::Poller, Some(intake), _) => return intake.deadline(since, limits),
            (Owner::Poller, None, _) if state.exchanges == 0 => {
                limits.first_byte_timeout.min(limits.keep_alive)
            }
            (Owner::Poller, None, _) => limits.keep_alive,
            (Owner::Parting, ..) => PARTING,
            _ if state.together_until.is_some() => return state.together_until,
            _ if !state.outbox.is_empty() => limits.write_timeout,
            (.., Some(exchange)) if !exchange.begun && !exchange.ended => {
                let silent = exchange.silence.as_ref().map(|(at, _)| *at);
                return [silent, exchange.probe].into_iter().flatten().min();
            }
            (.., Some(exchange)) => {
                let period = |quiet: &Quiet| Duration::from_millis(quiet.period_ms.into());
                let quiet = exchange.quiet.as_ref().map(period);
                let filled = quiet.and_then(|period| exchange.pushed?.checked_add(period));
                return [filled, exchange.probe].into_iter().flatten().min();
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

    /// Sends something that means nothing to a client that has ended its side: if it has gone, its
    /// system answers with a reset.
    fn probe(&self, state: &mut State, later: &mut Later, now: Instant) {
        let is_empty = state.outbox.is_empty();
        let Some(exchange) = &mut state.exchange else {
            return;
        };
        exchange.probe = None;
        if exchange.ended {
            return;
        }
        if exchange.begun {
            // What fills the silence from now on tells as well.
            if is_empty {
                self.fill_silence(state, later, now);
            }
            return;
        }
        // A stream that would begin later begins now: what is written on it tells as well.
        if let Some((_, callback)) = exchange.silence.take() {
            exchange.probe = now.checked_add(NEXT_PROBE);
            later.silence = Some(callback);
            return;
        }
        if exchange.probes >= PROBES {
            return;
        }
        exchange.probes += 1;
        exchange.probe = now.checked_add(NEXT_PROBE);
        if !self.say_continue() {
            self.vanish(state, later);
        }
    }

    fn fill_silence(&self, state: &mut State, later: &mut Later, now: Instant) {
        let Some(exchange) = &mut state.exchange else {
            return;
        };
        if !exchange.begun {
            later.silence = exchange.silence.take().map(|(_, callback)| callback);
            return;
        }
        let Some(quiet) = &exchange.quiet else {
            return;
        };
        exchange.pushed = Some(now);
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
    fn check_client(&self, state: &mut State, later: &mut Later, now: Instant) {
        match tcp::peek(self.socket.get()) {
            Ok(Some(true)) => {
                if let Some(exchange) = &mut state.exchange {
                    exchange.pipelined = true;
                }
            }
            Ok(Some(false)) => self.client_ended_its_side(state, now),
            Ok(None) => {}
            Err(_) => self.vanish(state, later),
        }
    }

    /// The client sends nothing more. Whether it has gone is found out a moment later.
    fn client_ended_its_side(&self, state: &mut State, now: Instant) {
        state.half_closed = true;
        if let Some(exchange) = &mut state.exchange {
            exchange.probe = now.checked_add(FIRST_PROBE);
        }
        self.attend(state);
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
            Ok(Some(count)) if count > 0 && count <= state.parting_bytes as usize => {
                state.parting_bytes -= count as u32;
                self.arm(state);
            }
            Ok(None) => self.arm(state),
            _ => drop(self.over(state)),
        }
    }
}
