//! A thread that serves requests, one at a time.
//!
//! It stays with a connection for a moment after a request: the next one costs no change of threads then. With one connection, and nothing
//! else to do, it blocks in its read; with several it waits for all of its [round](super::round). While others wait for a thread it does
//! not stay.
//!
//! It runs a handler with a permit of the client's. While there is none for a client, its requests
//! that take no time are served, and the others wait.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::conn::{Conn, Turn};
use super::crew::Seat;
use super::head::{Head, Refusal};
use super::intake::{Body, Intake, Next};
use super::reply::Reply;
use super::round::Round;
use super::shared::Shared;
use crate::spare;
use crate::transport::http::{ClientKey, HttpRequest};
use crate::transport::sys::tcp;

thread_local! {
    /// Whose worker the thread is, as an address that is only compared.
    static OF: Cell<usize> = const { Cell::new(0) };
}

/// Whether the current thread is a worker of this listener.
pub(super) fn is_of(shared: &Arc<Shared>) -> bool {
    OF.try_with(Cell::get).unwrap_or(0) == Arc::as_ptr(shared) as usize
}

pub(super) fn work(shared: &Arc<Shared>) {
    OF.set(Arc::as_ptr(shared) as usize);
    shared.crew.arrived();
    let mut worker = Worker {
        shared,
        intake: Intake::default(),
        permit: None,
        round: None,
    };
    while let Some(conn) = worker.next() {
        worker.converse(&conn);
        worker.give_back_permit();
    }
    if let Some((round, _)) = worker.round {
        shared.rounds.close(&round);
    }
}

struct Worker<'a> {
    shared: &'a Arc<Shared>,
    intake: Intake,
    /// The client whose permit it has: to read a large body of its, or to run its handler.
    permit: Option<ClientKey>,
    /// The connections that it stays with, and where it waits for them; from the first one on.
    round: Option<(Arc<Round>, Arc<Seat>)>,
}

impl Worker<'_> {
    /// Waits for a connection that has something to be read. `None` tells the thread to leave.
    fn next(&mut self) -> Option<Arc<Conn>> {
        loop {
            if let Some((round, _)) = &self.round
                && let Some(conn) = round.come_back()
            {
                self.intake.clear();
                return Some(conn);
            }
            let job = match &self.round {
                Some((round, seat)) if !round.is_empty() => match self.shared.crew.sit(seat) {
                    Some(job) => Some(job),
                    None => {
                        let gone = round.wait();
                        let job = self.shared.crew.rise(seat);
                        gone.iter().for_each(|conn| conn.let_go());
                        job
                    }
                },
                _ => {
                    spare::keep();
                    Some(self.shared.crew.next()?)
                }
            };
            let Some(taken) = job else { continue };
            self.shared.start(taken.hands);
            self.permit = taken.permit;
            if taken.job.take(&mut self.intake) {
                return Some(taken.job);
            }
            self.give_back_permit();
        }
    }

    fn give_back_permit(&mut self) {
        if let Some(key) = self.permit.take() {
            self.shared.start(self.shared.crew.release(&key));
        }
    }

    /// Whether it may be the only thread that reads: it waits for no connection then.
    fn is_lookout(&self) -> bool {
        self.permit.is_none() && self.shared.crew.is_saturated()
    }

    fn converse(&mut self, conn: &Arc<Conn>) {
        // What a client sent in time may have waited long for this thread.
        let mut is_fresh = true;
        loop {
            match self.intake.next(&self.shared.limits) {
                Ok(Next::Request) => {
                    if !self.may_serve(conn) {
                        return;
                    }
                    self.lay_open();
                    let turn = serve(self.shared, conn, &mut self.intake);
                    self.give_back_permit();
                    if turn == Turn::Over {
                        return;
                    }
                    if self.intake.is_empty() {
                        if self.stay(conn) {
                            return;
                        }
                    } else if self.has_others() {
                        return conn.stand_behind(&mut self.intake);
                    }
                }
                Ok(Next::Continue) if !conn.say_continue() => return self.close(conn),
                Ok(Next::Continue | Next::More) => {
                    if self.is_lookout() && self.intake.is_large() && !self.may_serve(conn) {
                        return;
                    }
                    if !self.read(conn, std::mem::take(&mut is_fresh)) {
                        return;
                    }
                }
                Err(refusal) => return self.refuse(conn, &refusal),
            }
        }
    }

    /// Whether the request may be served, or the rest of it read, on this thread. Otherwise it
    /// waits elsewhere.
    fn may_serve(&mut self, conn: &Arc<Conn>) -> bool {
        if self.permit.is_some() {
            return true;
        }
        let is_whole = self.intake.is_whole();
        let Some((head, bytes, body)) = self.intake.request() else {
            return true;
        };
        let fields = head.fields(bytes);
        let request = request(conn, head, bytes, &fields);
        let key = self.shared.client(&request);
        if let Some(hands) = self.shared.crew.permit(&key) {
            self.intake.give_back(body);
            self.permit = Some(key);
            self.shared.start(hands);
            return true;
        }
        let (is_quick, body) = match is_whole {
            true => is_quick(self.shared, request, body),
            false => (false, body),
        };
        self.intake.give_back(body);
        if !is_quick {
            conn.wait_for_permit(&mut self.intake, key);
        }
        is_quick
    }

    /// What else it stays with may be taken away from now on.
    fn lay_open(&self) {
        if let Some((round, _)) = &self.round
            && self.shared.rounds.lay_open(round)
        {
            self.shared.wake();
        }
    }

    /// Whether others wait for this worker.
    fn has_others(&self) -> bool {
        let round = self.round.as_ref();
        self.shared.crew.has_ready() || round.is_some_and(|(round, _)| !round.is_empty())
    }

    /// Takes the connection into the round, where it waits with others for its next request. `false` if the worker had better wait for it alone.
    fn stay(&mut self, conn: &Arc<Conn>) -> bool {
        if self.is_lookout() || self.shared.is_closing() {
            conn.let_go();
            return true;
        }
        if !self.has_others() && self.shared.has_place_alone() {
            return false;
        }
        let stays_with_some = self
            .round
            .as_ref()
            .is_some_and(|(round, _)| !round.is_empty());
        if !stays_with_some && !self.shared.rounds.may_begin() {
            conn.let_go();
            return true;
        }
        if self.round.is_none() {
            self.round = self.shared.rounds.open().map(|round| {
                let seat = Seat::Busy(Arc::clone(&round));
                (round, Arc::new(seat))
            });
        }
        let round = self.round.as_ref();
        if !round.is_some_and(|(round, _)| round.join(conn)) {
            conn.let_go();
        }
        true
    }

    fn refuse(&mut self, conn: &Conn, refusal: &Refusal) {
        // It may be large, and this thread may wait for long.
        self.intake.clear();
        conn.refuse(refusal);
    }

    fn close(&mut self, conn: &Conn) {
        conn.close(&self.intake);
        self.intake.clear();
    }

    /// Returns whether there is more to look at; otherwise the connection has been passed on.
    fn read(&mut self, conn: &Arc<Conn>, is_fresh: bool) -> bool {
        let is_lookout = self.is_lookout();
        let (shared, intake) = (self.shared, &mut self.intake);
        if !intake.is_empty() && !is_fresh {
            let now = Instant::now();
            let deadline = intake.deadline(now, &shared.limits);
            if deadline.is_some_and(|at| at <= now) {
                let lateness = intake.lateness();
                self.refuse(conn, &lateness);
                return false;
            }
        }
        if let Err(refusal) = intake.hold(&shared.unfinished, &conn.client) {
            self.refuse(conn, &refusal);
            return false;
        }
        let is_patient = !(is_lookout || shared.crew.has_ready() || shared.is_closing());
        let begins = self.intake.is_empty();
        if is_patient && !begins {
            self.lay_open();
        }
        let is_alone = is_patient && begins && !self.has_others() && shared.may_be_alone();
        let waits = is_alone || (is_patient && !begins);
        let (bytes, room) = self.intake.room();
        let received = tcp::receive(conn.socket.get(), bytes, room, waits);
        if is_alone {
            shared.no_longer_alone();
        }
        match received {
            Ok(Some(count)) if count > 0 => {
                conn.note_bytes();
                return true;
            }
            Ok(None) => conn.rest(&mut self.intake),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                self.refuse(conn, &Refusal::no_memory());
            }
            Ok(Some(_)) | Err(_) => self.close(conn),
        }
        false
    }
}

/// Whether the request is answered without waiting for anybody.
fn is_quick(shared: &Shared, request: HttpRequest<'_>, mut body: Body) -> (bool, Body) {
    let request = request.body(std::mem::take(&mut body.bytes));
    let look = || shared.service.is_quick(&request);
    let is_quick = catch_unwind(AssertUnwindSafe(look)).unwrap_or(false);
    body.bytes = request.body;
    (is_quick, body)
}

fn request<'a>(
    conn: &Conn,
    head: &Head,
    bytes: &'a [u8],
    fields: &'a [(&'a str, &'a [u8])],
) -> HttpRequest<'a> {
    HttpRequest::new(head.method(bytes), head.target(bytes))
        .headers(fields)
        .addresses(Some(conn.local()), Some(conn.remote))
}

fn serve(shared: &Arc<Shared>, conn: &Arc<Conn>, intake: &mut Intake) -> Turn {
    let Some((head, bytes, body)) = intake.request() else {
        return Turn::Over;
    };
    let Some(is_last) = conn.open(head.is_http10) else {
        return Turn::Over;
    };
    let fields = head.fields(bytes);
    let method = head.method(bytes);
    let deletes = method == "DELETE";
    let request = request(conn, head, bytes, &fields).body(body.bytes);
    let closes = is_last || shared.is_closing();
    let reply = Reply::new(Arc::clone(conn), method, head, closes);
    // A panic drops the reply, and so breaks the connection off.
    let service = || shared.service.serve(request, Box::new(reply));
    _ = catch_unwind(AssertUnwindSafe(service));
    if deletes {
        // What others wait to use may be no longer there, which they can be told at once.
        shared.start(shared.crew.look_again());
    }
    intake.forget();
    conn.served(intake)
}
