//! How the worker that owns a connection uses it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{AfterUnlock, Connection, Exchange, NO_PLACE, NextOwner, Owner, PROBES, State};
use crate::transport::http::ClientKey;
use crate::transport::http::listener::head::Refusal;
use crate::transport::http::listener::request_parser::RequestParser;
use crate::transport::sys::tcp;

impl Connection {
    /// Takes the connection out of the queue. The part of a request that has arrived is moved to
    /// `intake`. Returns false if the connection was closed meanwhile.
    pub(in super::super) fn take(&self, intake: &mut RequestParser) -> bool {
        let mut state = self.state.lock();
        if state.owner != Owner::Queue {
            return false;
        }
        state.owner = Owner::Worker;
        self.has_bytes
            .store(state.intake.is_some(), Ordering::Relaxed);
        match state.intake.take() {
            Some(kept) => *intake = *kept,
            None => intake.clear(),
        }
        true
    }

    /// Records that the worker has read bytes of a request.
    pub(in super::super) fn note_bytes(&self) {
        self.has_bytes.store(true, Ordering::Relaxed);
    }

    /// Begins a request. Returns whether this request is the last one of the connection. Returns
    /// `None` if the connection was closed meanwhile.
    pub(in super::super) fn open(&self, is_http10: bool) -> Option<bool> {
        let mut state = self.state.lock();
        state.exchanges = state.exchanges.wrapping_add(1).max(1);
        self.has_bytes.store(false, Ordering::Relaxed);
        if std::mem::take(&mut state.gave_way) {
            self.shared.table.count_again(self.socket.key());
        }
        // A half-close is detected again when the client of this request is watched.
        state.half_closed = false;
        state.exchange = Some(Exchange {
            probes: if is_http10 { PROBES } else { 0 },
            ..Exchange::default()
        });
        (state.owner == Owner::Worker).then_some(state.closes)
    }

    /// Ends the worker's part of a request after the service has returned. If the response is not
    /// complete, the thread that ends it continues with the connection, and with the input that is
    /// left in `intake`.
    pub(in super::super) fn served(&self, intake: &mut RequestParser) -> NextOwner {
        let mut state = self.state.lock();
        if state.owner != Owner::Worker {
            return NextOwner::Over;
        }
        if state.exchange.is_some() {
            state.owner = Owner::Exchange;
            self.set_rank(&mut state, None);
            state.intake = (!intake.is_empty()).then(|| Box::new(intake.take()));
            return NextOwner::Over;
        }
        if state.closes || self.shared.is_closing() {
            self.part(&mut state);
            return NextOwner::Over;
        }
        self.has_bytes.store(!intake.is_empty(), Ordering::Relaxed);
        NextOwner::Mine
    }

    /// Passes the connection to the poller, together with the part of a request that has arrived.
    pub(in super::super) fn rest(&self, intake: &mut RequestParser) {
        let mut state = self.state.lock();
        if state.owner != Owner::Worker {
            return;
        }
        if state.gave_way {
            self.end_after_giving_way(&mut state, intake);
            return;
        }
        if self.shared.is_closing() {
            drop(self.over(&mut state));
            return;
        }
        // Until its first byte a new connection keeps its age: the first-byte timeout goes on.
        if !intake.is_empty() || state.exchanges > 0 {
            state.since = Instant::now();
        }
        if !intake.is_empty() {
            intake.deadline(state.since, &self.shared.limits);
            state.intake = Some(Box::new(intake.take()));
        }
        state.owner = Owner::Poller;
        self.rank(&mut state);
        self.arm(&state);
        self.attend(&mut state);
    }

    /// Closes a displaced connection. If a request has begun to arrive, answers it with an error
    /// first.
    fn end_after_giving_way(&self, state: &mut State, intake: &RequestParser) {
        match intake.is_empty() {
            true => drop(self.over(state)),
            false => self.say_no(state, &Refusal::new(503, NO_PLACE)),
        }
    }

    /// Passes an idle connection to the poller.
    pub(in super::super) fn let_go(&self) {
        self.rest(&mut RequestParser::default());
    }

    /// If the next request has arrived already, moves the connection to the end of the queue.
    /// Otherwise passes it to the poller.
    pub(in super::super) fn stand_behind(self: &Arc<Self>, intake: &mut RequestParser) {
        if intake.is_empty() {
            self.rest(intake);
            return;
        }
        let mut later = AfterUnlock::default();
        let mut state = self.state.lock();
        if state.owner == Owner::Worker {
            state.intake = Some(Box::new(intake.take()));
            self.enqueue(&mut state, &mut later);
        }
        drop(state);
        later.settle(&self.shared);
    }

    /// Queues a request until its client can have a permit. If the queue is full, answers the
    /// request with 503. A request that needs a handler or has a large body needs a permit.
    pub(in super::super) fn wait_for_permit(
        self: &Arc<Self>,
        intake: &mut RequestParser,
        key: ClientKey,
    ) {
        let mut state = self.state.lock();
        let is_here = state.owner == Owner::Worker;
        if is_here {
            state.intake = Some(Box::new(intake.take()));
            state.owner = Owner::Queue;
        }
        drop(state);
        intake.clear();
        if !is_here {
            return;
        }
        match self.shared.wait(Arc::clone(self), key) {
            Ok(hands) => self.shared.start(hands),
            Err(_) => {
                self.turn_away("too many requests wait already (max_waiting): try again later")
            }
        }
    }

    /// Sends the interim response 100 to a client that waits for it.
    pub(in super::super) fn say_continue(&self) -> bool {
        let text = b"HTTP/1.1 100 Continue\r\n\r\n";
        matches!(tcp::send(self.socket.get(), &[text]), Ok(sent) if sent == text.len())
    }

    /// Answers a request with an error instead of serving it, and begins a lingering close.
    pub(in super::super) fn refuse(&self, refusal: &Refusal) {
        let mut state = self.state.lock();
        if state.owner == Owner::Worker && state.exchange.is_none() {
            self.say_no(&mut state, refusal);
        }
    }

    /// Closes the connection. Either the client has closed it, between requests or in the middle of
    /// a request, or the connection was displaced.
    pub(in super::super) fn close(&self, intake: &RequestParser) {
        let mut state = self.state.lock();
        if state.gave_way && state.owner == Owner::Worker {
            return self.end_after_giving_way(&mut state, intake);
        }
        let over = self.over(&mut state);
        drop(state);
        drop(over);
    }
}
