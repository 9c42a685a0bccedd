//! The operations of the poller on a connection: after an event, and when a scheduled time has
//! come.
//!
//! The poller runs the returned [`AfterUnlock`] on its own thread.

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{
    AfterUnlock, Connection, FIRST_PROBE, NEXT_PROBE, NO_PLACE, Owner, PROBES, Quiet, State,
    WhenSilent, refusal_text,
};
use crate::transport::http::listener::head::Refusal;
use crate::transport::http::listener::moment::Moment;
use crate::transport::http::listener::wire;
use crate::transport::sys::tcp;

/// The maximum time that a lingering close waits for the client to close.
const PARTING: Duration = Duration::from_secs(2);

/// The result of an attempt to displace a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum GivesWay {
    /// The connection can't be displaced. It has a request in flight, or it is no longer the first
    /// candidate for displacement.
    No,
    /// The connection was displaced and is closed.
    Now,
    /// The worker that owns the connection will close it. The connection no longer counts against
    /// the limit.
    Soon,
}

/// The result of the poller's check of a connection.
#[must_use]
pub(in super::super) struct Watched {
    pub(in super::super) later: AfterUnlock,
    /// Whether the connection has to be checked again in the next tick.
    pub(in super::super) is_listed: bool,
    /// The time of the next scheduled check. `instead_of` is the time of an earlier scheduled
    /// check, which the new time replaces.
    pub(in super::super) schedule: Option<Moment>,
    pub(in super::super) instead_of: Option<Moment>,
}

impl Connection {
    /// Starts the wait for the first request of a new connection.
    pub(in super::super) fn welcome(&self) {
        let mut state = self.state.lock();
        self.rank(&mut state);
        self.arm(&state);
    }

    /// Displaces the connection, unless a request is in flight: closes it to make space for another
    /// connection. If a request is in flight, updates the connection's rank in the table, so that
    /// the next candidate is displaced instead.
    pub(in super::super) fn give_way(self: &Arc<Self>) -> (AfterUnlock, GivesWay) {
        let mut later = AfterUnlock::default();
        let mut state = self.state.lock();
        let is_between = match state.owner {
            Owner::Parting | Owner::Poller => true,
            Owner::Worker => state.exchange.is_none() && !self.has_bytes.load(Ordering::Relaxed),
            Owner::Queue | Owner::Exchange | Owner::Nobody => false,
        };
        let is_parting = state.owner == Owner::Parting;
        // Unread input is a request, whose event has not arrived yet.
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
            self.shared.table.uncount(self.socket.key(), &self.client());
            tcp::shut(self.socket.get(), Shutdown::Read);
            return (later, GivesWay::Soon);
        }
        if let Some(intake) = &state.intake {
            let is_head = intake.is_head();
            let refusal = Refusal::new(503, NO_PLACE);
            // The listener does not wait to send the refusal.
            _ = tcp::send(self.socket.get(), &[&refusal_text(&refusal, is_head)]);
        }
        drop(self.over(&mut state));
        (later, GivesWay::Now)
    }

    /// Handles a socket event. Returns whether the poller has to check the connection in each tick
    /// from now on.
    pub(in super::super) fn ready(
        self: &Arc<Self>,
        readable: bool,
        lost: bool,
    ) -> (AfterUnlock, bool) {
        let mut later = AfterUnlock::default();
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
                    self.check_client(&mut state, &mut later, Moment::now());
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

    /// Checks the connection. The poller calls this method in a tick or at a scheduled time.
    pub(in super::super) fn look(self: &Arc<Self>, now: Moment) -> Watched {
        let mut later = AfterUnlock::default();
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
        if state
            .outbox
            .together_until()
            .is_some_and(|until| Moment::from(until) <= now)
        {
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
        Watched {
            later,
            is_listed: state.listed,
            schedule,
            instead_of: timed.filter(|_| schedule.is_some()),
        }
    }

    /// Closes the connection if it is idle. The poller calls this method when the listener begins
    /// to close.
    pub(in super::super) fn close_if_idle(&self) {
        let mut state = self.state.lock();
        if state.owner == Owner::Poller {
            let over = self.over(&mut state);
            drop(state);
            drop(over);
        }
    }

    /// Closes the connection, even during a request. The poller calls this method when the listener
    /// has closed.
    pub(in super::super) fn cut(&self) -> AfterUnlock {
        let mut later = AfterUnlock::default();
        let mut state = self.state.lock();
        self.vanish(&mut state, &mut later);
        later
    }

    /// Answers a queued request with 503, because no worker will serve the request.
    pub(in super::super) fn turn_away(&self, why: &'static str) {
        let mut state = self.state.lock();
        if state.owner == Owner::Queue {
            let is_head = state.intake.as_ref().is_some_and(|intake| intake.is_head());
            self.say_no(&mut state, &Refusal::new(503, why), is_head);
        }
    }

    /// Answers a new connection with 503, because it exceeds the maximum number of connections.
    pub(in super::super) fn turn_away_at_once(&self, why: &'static str) {
        let mut state = self.state.lock();
        self.say_no(&mut state, &Refusal::new(503, why), false);
    }

    /// Returns the cost of a client that does not read its responses. The connection with the
    /// highest cost is reset first. The cost is the number of waiting bytes times the milliseconds
    /// since the client last read. Within the first second only the bytes count. Otherwise a small
    /// response that has waited a little longer would cost more than a large one that has just
    /// begun to wait.
    pub(in super::super) fn burden(&self, now: Instant) -> u128 {
        let state = self.state.lock();
        // Delayed pieces do not count, because the listener has not sent them yet.
        if state.outbox.together_until().is_some() {
            return 0;
        }
        let idle = Moment::from(now).saturating_duration_since(state.since);
        state.outbox.len() as u128 * idle.as_millis().max(1000)
    }

    /// Resets the connection. The listener calls this method for the connection with the highest
    /// cost, when too many bytes wait in all outboxes.
    pub(in super::super) fn give_up(&self) -> AfterUnlock {
        let mut later = AfterUnlock::default();
        let mut state = self.state.lock();
        if !state.outbox.is_empty() && state.outbox.together_until().is_none() {
            self.shared.count_refused();
            tcp::reset(self.socket.get());
            self.vanish(&mut state, &mut later);
        }
        later
    }

    pub(super) fn deadline(&self, state: &mut State) -> Option<Moment> {
        let limits = &self.shared.limits;
        let since = state.since;
        let span = match (state.owner, &mut state.intake, &state.exchange) {
            (Owner::Nobody, ..) => return None,
            (Owner::Poller, Some(intake), _) => {
                return intake.deadline(since.into(), limits).map(Moment::from);
            }
            (Owner::Poller, None, _) if state.exchanges == 0 => limits.until_first_byte(),
            (Owner::Poller, None, _) => limits.keep_alive,
            (Owner::Parting, ..) => PARTING,
            _ if state.outbox.together_until().is_some() => {
                return state.outbox.together_until().map(Moment::from);
            }
            _ if !state.outbox.is_empty() => limits.write_timeout,
            (.., Some(exchange)) if !exchange.begun && !exchange.ended => {
                let silent = match exchange.when_silent {
                    WhenSilent::Begin(at, _) => Some(at),
                    _ => None,
                };
                return [silent, exchange.probe].into_iter().flatten().min();
            }
            (.., Some(exchange)) => {
                let filled = match exchange.when_silent {
                    WhenSilent::Fill(Quiet { period_ms, .. }) => exchange
                        .pushed
                        .and_then(|at| at.checked_add(Duration::from_millis(period_ms.into()))),
                    _ => None,
                };
                return [filled, exchange.probe].into_iter().flatten().min();
            }
            _ => return None,
        };
        since.checked_add(span)
    }

    fn expire(&self, state: &mut State, later: &mut AfterUnlock, now: Moment) {
        match state.owner {
            Owner::Poller => match state.intake.take() {
                Some(intake) => self.say_no(state, &intake.lateness(), intake.is_head()),
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

    /// Sends a probe (bytes without meaning) to a client that has half-closed. If the client has
    /// closed its socket, its system answers with a reset.
    fn probe(&self, state: &mut State, later: &mut AfterUnlock, now: Moment) {
        let is_empty = state.outbox.is_empty();
        let Some(exchange) = &mut state.exchange else {
            return;
        };
        exchange.probe = None;
        if exchange.ended {
            return;
        }
        if exchange.begun {
            // From now on the keep-alive bytes of the stream serve as probes.
            if is_empty {
                self.fill_silence(state, later, now);
            }
            return;
        }
        // A stream that would begin later begins now. Its keep-alive bytes serve as probes.
        if let Some(callback) = exchange.when_silent.take_callback() {
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

    fn fill_silence(&self, state: &mut State, later: &mut AfterUnlock, now: Moment) {
        let Some(exchange) = &mut state.exchange else {
            return;
        };
        if !exchange.begun {
            later.silence = exchange.when_silent.take_callback();
            return;
        }
        let WhenSilent::Fill(quiet) = exchange.when_silent else {
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

    /// Checks whether the client has disconnected while a request is in flight. Called when the
    /// socket is readable or at the end of its input.
    fn check_client(&self, state: &mut State, later: &mut AfterUnlock, now: Moment) {
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

    /// Records that the client has half-closed, and schedules the first probe.
    fn client_ended_its_side(&self, state: &mut State, now: Moment) {
        state.half_closed = true;
        if let Some(exchange) = &mut state.exchange {
            exchange.probe = now.checked_add(FIRST_PROBE);
        }
        self.attend(state);
    }

    /// Closes a connection whose client has disconnected.
    fn vanish(&self, state: &mut State, later: &mut AfterUnlock) {
        if let Some(mut exchange) = self.over(state) {
            later.gone = exchange.gone.take().or_else(|| later.gone.take());
            later.orphan = exchange.permit.take().or_else(|| later.orphan.take());
        }
    }

    /// Reads and discards input during a lingering close. Unread input would make the system send a
    /// reset, and the client could lose the response.
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
