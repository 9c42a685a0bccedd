//! The operations of a worker on the connection that it owns.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{AfterUnlock, Connection, Exchange, NO_PLACE, NextOwner, Owner, PROBES, State};
use crate::transport::http::ClientKey;
use crate::transport::http::listener::head::Refusal;
use crate::transport::http::listener::moment::Moment;
use crate::transport::http::listener::permits::Permit;
use crate::transport::http::listener::request_parser::RequestParser;
use crate::transport::sys::tcp;

impl Connection {
    /// Takes the connection out of the queue for a worker. If a part of a request has arrived,
    /// moves that part to `intake`. Returns false if the connection was closed meanwhile.
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

    /// Records that the worker has read bytes of a request that is not yet in flight.
    pub(in super::super) fn note_bytes(&self) {
        self.has_bytes.store(true, Ordering::Relaxed);
    }

    /// Begins a request. Returns whether the connection closes after this request. Returns `None`
    /// if the connection was closed meanwhile.
    pub(in super::super) fn open(
        &self,
        is_http10: bool,
        permit: Option<&Arc<Permit>>,
    ) -> Option<bool> {
        let mut state = self.state.lock();
        state.exchanges = state.exchanges.wrapping_add(1).max(1);
        self.has_bytes.store(false, Ordering::Relaxed);
        if std::mem::take(&mut state.gave_way) {
            self.shared
                .table
                .count_again(self.socket.key(), &self.client());
        }
        // A half-close is detected again when the client of this request is watched.
        state.half_closed = false;
        state.exchange = Some(Exchange {
            permit: permit.cloned(),
            probes: if is_http10 { PROBES } else { 0 },
            ..Exchange::default()
        });
        (state.owner == Owner::Worker).then_some(state.closes)
    }

    /// Ends the worker's part of a request, after the service has returned. If the response is not
    /// complete, the thread that completes it continues with the connection. In that case the rest
    /// of `intake` is stored for that thread.
    pub(in super::super) fn served(&self, intake: &mut RequestParser) -> NextOwner {
        let mut state = self.state.lock();
        if state.owner != Owner::Worker {
            return NextOwner::Over;
        }
        if let Some(exchange) = &mut state.exchange {
            // The worker gives its permit back now. An open stream does not keep the memory.
            exchange.permit = None;
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

    /// Passes the connection from the worker to the poller, together with the part of a request
    /// that has arrived.
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
        // Until its first byte, a new connection keeps its start time, so that the first-byte
        // timeout still applies.
        if !intake.is_empty() || state.exchanges > 0 {
            state.since = Moment::now();
        }
        if !intake.is_empty() {
            intake.deadline(state.since.into(), &self.shared.limits);
            state.intake = Some(Box::new(intake.take()));
        }
        state.owner = Owner::Poller;
        self.rank(&mut state);
        self.arm(&state);
        self.attend(&mut state);
    }

    /// Closes a connection that has to make room for another connection. If a part of a request has
    /// arrived, first answers the request with an error.
    fn end_after_giving_way(&self, state: &mut State, intake: &RequestParser) {
        match intake.is_empty() {
            true => drop(self.over(state)),
            false => self.say_no(state, &Refusal::new(503, NO_PLACE), intake.is_head()),
        }
    }

    /// Passes an idle connection from the worker to the poller.
    pub(in super::super) fn let_go(&self) {
        self.rest(&mut RequestParser::default());
    }

    /// Moves the connection to the end of the queue if input of the next request has arrived.
    /// Otherwise passes the connection to the poller.
    pub(in super::super) fn requeue(self: &Arc<Self>, intake: &mut RequestParser) {
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

    /// Queues a request until its client can have a permit. If another request is displaced for it,
    /// answers that request with 503. If the queue is full and no request can be displaced, answers
    /// this request with 503. A worker needs a permit to run a handler or to read a large body.
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
        let Ok((spawn, displaced)) = self.shared.workers.wait(Arc::clone(self), key) else {
            self.turn_away("too many requests wait already: try again later");
            return;
        };
        if let Some(displaced) = displaced {
            let count = &self.shared.displaced_requests;
            count.fetch_add(1, Ordering::Relaxed);
            displaced
                .turn_away("too many requests wait, and most of this client's: try again later");
        }
        self.shared.start(spawn);
    }

    /// Sends the interim response 100 to a client that waits for it. Returns false if the response
    /// can't be sent.
    pub(in super::super) fn say_continue(&self) -> bool {
        let text = b"HTTP/1.1 100 Continue\r\n\r\n";
        matches!(tcp::send(self.socket.get(), &[text]), Ok(sent) if sent == text.len())
    }

    /// Answers a request with an error instead of serving the request, and begins a lingering
    /// close.
    pub(in super::super) fn refuse(&self, refusal: &Refusal, is_head: bool) {
        let mut state = self.state.lock();
        if state.owner == Owner::Worker && state.exchange.is_none() {
            self.say_no(&mut state, refusal, is_head);
        }
    }

    /// Closes the connection after the end of its input. Either the client has closed the
    /// connection, or the connection was displaced.
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
