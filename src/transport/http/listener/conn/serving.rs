//! What the worker that has a connection does with it.

use std::sync::Arc;
use std::time::Instant;

use super::{Conn, Exchange, Later, Owner, Turn};
use crate::transport::http::listener::crew::Hands;
use crate::transport::http::listener::head::Refusal;
use crate::transport::http::listener::intake::Intake;
use crate::transport::sys::tcp;

impl Conn {
    /// Takes it off the queue, with what has come of a request.
    pub(in super::super) fn take(&self, intake: &mut Intake) -> bool {
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
    pub(in super::super) fn open(&self) -> bool {
        let mut state = self.state.lock();
        state.exchanges = state.exchanges.wrapping_add(1);
        state.exchange = Some(Exchange::default());
        state.owner == Owner::Worker
    }

    /// The service has returned. If the response is not out yet, whoever ends it goes on with what is left in `intake`.
    pub(in super::super) fn served(&self, intake: &mut Intake) -> Turn {
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
    pub(in super::super) fn rest(&self, intake: &mut Intake) {
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

    /// The same between requests.
    pub(in super::super) fn let_go(&self) {
        self.rest(&mut Intake::default());
    }

    /// Others wait: it stands behind them if there is something to be served already.
    pub(in super::super) fn stand_behind(self: &Arc<Self>, intake: &mut Intake) {
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

    /// Its request takes a handler, or is large: it waits for one of those who run handlers. This is the reserve.
    pub(in super::super) fn wait_for_worker(self: &Arc<Self>, intake: &mut Intake) {
        let mut hands = Hands::Enough;
        let mut state = self.state.lock();
        if state.owner == Owner::Worker {
            state.intake = Some(Box::new(intake.take()));
            state.owner = Owner::Queue;
            match self.shared.crew.push_long(Arc::clone(self)) {
                Ok(called) => hands = called,
                Err(_) => self.say_no(&mut state, &Refusal::busy()),
            }
        }
        drop(state);
        intake.clear();
        self.shared.start(hands);
    }

    /// Tells a client that waits for it to go on with the body.
    pub(in super::super) fn say_continue(&self) -> bool {
        let text = b"HTTP/1.1 100 Continue\r\n\r\n";
        matches!(tcp::send(self.socket.get(), &[text]), Ok(sent) if sent == text.len())
    }

    /// Answers a request that is not served, and parts.
    pub(in super::super) fn refuse(&self, refusal: &Refusal) {
        let mut state = self.state.lock();
        if state.owner == Owner::Worker && state.exchange.is_none() {
            self.say_no(&mut state, refusal);
        }
    }

    /// The client has closed, between requests or in the middle of one.
    pub(in super::super) fn close(&self) {
        let mut state = self.state.lock();
        let over = self.over(&mut state);
        drop(state);
        drop(over);
    }
}
