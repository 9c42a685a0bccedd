//! The operations of a response on its connection. Any thread may call them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Connection, Owner, PROBES, Quiet, State, WhenSilent, rest_of};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::MutexGuard;
use crate::transport::http::listener::moment::Moment;
use crate::transport::http::listener::shared::{self, Callback};
use crate::transport::http::listener::table::Rank;
use crate::transport::sys::tcp;

/// The maximum time that sending a whole response waits while the client reads nothing. `MOMENTS`
/// limits the sum of these waits. After that the poller sends the rest.
const MOMENT: Duration = Duration::from_millis(20);
const MOMENTS: Duration = Duration::from_millis(200);
impl Connection {
    /// Locks the connection's state for a response. Fails when the response can't be sent any more.
    fn for_response(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        match (state.owner, &state.exchange) {
            (Owner::Nobody, _) | (_, None) => Err(self.gone_error()),
            _ => Ok(state),
        }
    }

    /// Sends a whole response. If `closes` is true, the connection is closed after the response.
    /// Blocks for at most [`MOMENTS`]; after that the poller sends the rest.
    pub(in super::super) fn respond(self: &Arc<Self>, parts: &[&[u8]], closes: bool) -> Result<()> {
        let (mut sent, mut patient_until) = (0, None);
        loop {
            let mut state = self.for_response()?;
            // The client may make a new connection as soon as it has read the response.
            if state.rank.is_none() {
                self.set_rank(&mut state, Some(Rank::Idle));
            }
            sent += match tcp::send(self.socket.get(), &rest_of(parts, sent)) {
                Ok(count) => count,
                Err(_) => return self.fail(state),
            };
            let whole = sent == parts.iter().map(|part| part.len()).sum::<usize>();
            let now = (!whole).then(Instant::now);
            if let Some(now) = now {
                // No probe may be sent in the middle of the response.
                if let Some(exchange) = &mut state.exchange {
                    exchange.probes = PROBES;
                }
                let until = *patient_until.get_or_insert(now + MOMENTS);
                drop(state);
                if now < until
                    && tcp::wait_for_room(self.socket.get(), now + MOMENT).unwrap_or(false)
                {
                    continue;
                }
                state = self.for_response()?;
                if self.keep(&mut state, &rest_of(parts, sent)).is_err() {
                    return self.fail(state);
                }
            }
            let later = self.end(&mut state, closes);
            drop(state);
            later.settle(&self.shared);
            self.shared.tidy();
            return Ok(());
        }
    }

    /// Sends the head of a streamed response, and the first part of its body.
    pub(in super::super) fn begin(
        &self,
        parts: &[&[u8]],
        quiet: Option<(Duration, &'static [u8])>,
        is_chunked: bool,
    ) -> Result<()> {
        let when_silent = quiet.map_or(WhenSilent::Nothing, |(period, bytes)| {
            WhenSilent::Fill(Quiet {
                period_ms: u32::try_from(period.as_millis()).unwrap_or(u32::MAX).max(1),
                bytes,
                is_chunked,
            })
        });
        let mut state = self.for_response()?;
        let replaced = state.exchange.as_mut().map(|exchange| {
            exchange.begun = true;
            exchange.pushed = Some(Moment::now());
            std::mem::replace(&mut exchange.when_silent, when_silent)
        });
        if self.push(&mut state, parts).is_err() {
            return self.fail(state);
        }
        self.look_for_deadline(&mut state);
        drop(state);
        drop(replaced);
        self.shared.tidy();
        Ok(())
    }

    /// Sends a piece of the body. Blocks until there is space for the piece: see
    /// [`ResponseWriter::write`](crate::transport::http::ResponseWriter::write).
    pub(in super::super) fn write(
        self: &Arc<Self>,
        parts: &[&[u8]],
        deadline: Option<Instant>,
    ) -> Result<bool> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let mut state = self.for_response()?;
        if self.hold(&mut state, parts, Instant::now()) {
            return Ok(true);
        }
        let fits = |state: &State| {
            let kept = state.outbox.unsent().len();
            kept == 0 || kept.saturating_add(len) <= self.shared.limits.max_stream_bytes
        };
        loop {
            let sent = match state.outbox.together_until() {
                None => self.flush(&mut state),
                Some(_) if fits(&state) => Ok(()),
                // A delayed piece does not mean that the client reads slowly.
                Some(_) => self.send_together(&mut state),
            };
            if sent.is_err() {
                return self.fail(state).map(|()| false);
            }
            if fits(&state) {
                break;
            }
            let Some(deadline) = deadline else {
                return Ok(false);
            };
            if Instant::now() >= deadline {
                let (remote, kept) = (self.remote, state.outbox.unsent().len());
                let text =
                    format!("the HTTP client {remote} does not read: {kept} bytes wait for it");
                return Err(Error::new(ErrorKind::Timeout, text));
            }
            drop(self.room.wait_until(state, Some(deadline)));
            state = self.for_response()?;
        }
        if self.push(&mut state, parts).is_err() {
            return self.fail(state).map(|()| false);
        }
        if let Some(exchange) = &mut state.exchange {
            exchange.pushed = Some(Moment::now());
        }
        self.look_for_deadline(&mut state);
        drop(state);
        self.shared.tidy();
        Ok(true)
    }

    /// Ends a streamed response with the bytes `last`. If `closes` is true, the connection is
    /// closed after the response.
    pub(in super::super) fn finish(self: &Arc<Self>, last: &[u8], closes: bool) -> Result<()> {
        let mut state = self.for_response()?;
        if self.push(&mut state, &[last]).is_err() {
            return self.fail(state);
        }
        let later = self.end(&mut state, closes);
        drop(state);
        later.settle(&self.shared);
        Ok(())
    }

    /// Resets the connection, so that the client sees that the response is incomplete.
    pub(in super::super) fn break_off(&self) {
        let mut state = self.state.lock();
        if state.owner == Owner::Nobody || state.exchange.is_none() {
            return;
        }
        tcp::reset(self.socket.get());
        let over = self.over(&mut state);
        drop(state);
        drop(over);
    }

    pub(in super::super) fn on_gone(&self, callback: Callback) {
        let mut state = self.state.lock();
        let has_gone = state.owner == Owner::Nobody;
        match &mut state.exchange {
            Some(exchange) if !has_gone => {
                let replaced = exchange.gone.replace(callback);
                drop(state);
                drop(replaced);
            }
            _ => {
                drop(state);
                if has_gone {
                    shared::call(callback);
                }
            }
        }
    }

    /// Registers `callback`, which has to begin the response. The poller calls it after the time
    /// `after`, unless the response has begun before.
    pub(in super::super) fn on_silence(&self, after: Duration, callback: Callback) {
        let Some(at) = Moment::now().checked_add(after) else {
            return;
        };
        let mut state = self.state.lock();
        let Some(exchange) = &mut state.exchange else {
            return;
        };
        let mut dropped = WhenSilent::Begin(at, callback);
        if !exchange.begun {
            std::mem::swap(&mut exchange.when_silent, &mut dropped);
        }
        self.look_for_deadline(&mut state);
        drop(state);
        drop(dropped);
    }

    /// Closes a connection whose client has disconnected, and returns the error for the caller. The
    /// poller runs the service's callback for the end of the connection. This thread does not run
    /// it, because it may hold locks of the service.
    fn fail<T>(&self, mut state: MutexGuard<'_, State>) -> Result<T> {
        let gone = self.over(&mut state).and_then(|exchange| exchange.gone);
        drop(state);
        if let Some(gone) = gone {
            self.shared.tell(gone);
        }
        Err(self.gone_error())
    }
}
