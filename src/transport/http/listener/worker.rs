//! A worker thread, which serves one request at a time.
//!
//! A worker keeps a connection for a moment after a request, so that the next request costs no
//! thread switch. If the worker has a single connection and no other work, it blocks in a read of
//! that connection. With several connections, it waits on its [ready set](super::ready_set). If
//! jobs are ready in the queue, it does not wait, but takes the next job. The priority worker keeps
//! no connection.
//!
//! A worker needs a permit of the client to run a handler. While the client can't have a permit,
//! the worker serves the client's quick requests and queues its other requests.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::connection::{Connection, NextOwner};
use super::head::{Head, Refusal};
use super::permits::Permit;
use super::ready_set::ReadySet;
use super::reply::Reply;
use super::request_parser::{Body, ParseStep, RequestParser};
use super::shared::Shared;
use super::workers::{IdleSlot, Spawn};
use crate::buffer_cache;
use crate::transport::Stack;
use crate::transport::http::HttpRequest;
use crate::transport::sys::tcp;

thread_local! {
    /// The address of the listener that the current thread works for; 0 if the thread is not a
    /// worker. The address is only compared.
    static OF: Cell<usize> = const { Cell::new(0) };
}

/// Whether the current thread is a worker of the given listener.
pub(super) fn is_of(shared: &Arc<Shared<Connection>>) -> bool {
    OF.try_with(Cell::get).unwrap_or(0) == Arc::as_ptr(shared) as usize
}

impl Shared<Connection> {
    /// Starts a worker thread if `spawn` requests it. If no thread can be started and no worker is
    /// left, answers the queued requests with 503.
    pub(super) fn start(self: &Arc<Self>, spawn: Spawn) {
        if spawn == Spawn::No {
            return;
        }
        let shared = Arc::clone(self);
        let run = move || work(&shared);
        let threads = &self.limits.threads;
        if self
            .worker_threads
            .start(threads, "http", Stack::Large, run)
            .is_ok()
        {
            return;
        }
        for conn in self.workers.failed() {
            conn.turn_away("no thread can be started to serve the request: try again later");
        }
    }
}

/// Runs a worker thread until the pool ends it.
fn work(shared: &Arc<Shared<Connection>>) {
    OF.set(Arc::as_ptr(shared) as usize);
    shared.workers.arrived();
    let mut worker = Worker {
        shared,
        intake: RequestParser::default(),
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

/// The state of a worker thread.
struct Worker<'a> {
    shared: &'a Arc<Shared<Connection>>,
    intake: RequestParser,
    /// The permit that the worker holds. A worker needs a permit to read a large body, or to run a
    /// handler.
    permit: Option<Arc<Permit>>,
    /// The worker's ready set and idle slot. `None` until the worker has kept a connection.
    round: Option<(Arc<ReadySet<Connection>>, Arc<IdleSlot>)>,
}

impl Worker<'_> {
    /// Returns the next connection that has input. Blocks until there is such a connection. Returns
    /// `None` when the thread has to end.
    fn next(&mut self) -> Option<Arc<Connection>> {
        loop {
            if let Some((round, _)) = &self.round
                && let Some(conn) = round.come_back()
            {
                self.intake.clear();
                return Some(conn);
            }
            let job = match &self.round {
                Some((round, slot)) if !round.is_empty() => {
                    match self.shared.workers.take_or_idle(slot) {
                        Some(job) => Some(job),
                        None => {
                            let gone = round.wait(|conn| conn.socket.get());
                            let job = self.shared.workers.leave_idle(slot);
                            gone.iter().for_each(|conn| conn.let_go());
                            job
                        }
                    }
                }
                _ => {
                    buffer_cache::keep();
                    Some(self.shared.workers.next()?)
                }
            };
            let Some(taken) = job else { continue };
            self.shared.start(taken.spawn);
            self.permit = taken.permit;
            if taken.job.take(&mut self.intake) {
                return Some(taken.job);
            }
            self.give_back_permit();
        }
    }

    fn give_back_permit(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.shared.start(self.shared.workers.release(&permit));
        }
    }

    /// Whether this worker is the priority worker, which may be the only thread that reads. The
    /// priority worker does not wait for a connection's input.
    fn is_lookout(&self) -> bool {
        self.permit.is_none() && self.shared.workers.is_saturated()
    }

    /// Serves the requests of a connection until the connection is passed on or closed.
    fn converse(&mut self, conn: &Arc<Connection>) {
        // Input that arrived in time may have waited long for this thread.
        let mut is_fresh = true;
        loop {
            match self.intake.next(&self.shared.limits) {
                Ok(ParseStep::Request) => {
                    if !self.may_serve(conn) {
                        return;
                    }
                    self.make_stealable();
                    let turn = serve(self.shared, conn, &mut self.intake, self.permit.as_ref());
                    self.give_back_permit();
                    if turn == NextOwner::Over {
                        return;
                    }
                    if self.intake.is_empty() {
                        if self.stay(conn) {
                            return;
                        }
                    } else if self.has_others() {
                        return conn.requeue(&mut self.intake);
                    }
                }
                Ok(ParseStep::Continue) if !conn.say_continue() => return self.close(conn),
                Ok(ParseStep::Continue | ParseStep::More) => {
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

    /// Whether this worker can serve the request, or read the rest of the request. If not, queues
    /// the request until its client can have a permit.
    fn may_serve(&mut self, conn: &Arc<Connection>) -> bool {
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
        if let Some((permit, spawn)) = self.shared.workers.permit(&key) {
            self.intake.give_back(body);
            self.permit = Some(permit);
            self.shared.start(spawn);
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

    /// Allows the poller to take the other connections of this worker's ready set.
    fn make_stealable(&self) {
        if let Some((round, _)) = &self.round
            && self.shared.rounds.make_stealable(round)
        {
            self.shared.wake();
        }
    }

    /// Whether ready jobs or other connections wait for this worker.
    fn has_others(&self) -> bool {
        let round = self.round.as_ref();
        self.shared.workers.has_ready() || round.is_some_and(|(round, _)| !round.is_empty())
    }

    /// Decides about a connection after a request. Keeps the connection in the ready set or
    /// releases it to the poller, and returns true. Returns false, without a change, if the worker
    /// should block in a read of this connection alone.
    fn stay(&mut self, conn: &Arc<Connection>) -> bool {
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
                let slot = IdleSlot::Busy(Arc::clone(&round.wake));
                (round, Arc::new(slot))
            });
        }
        let round = self.round.as_ref();
        if !round.is_some_and(|(round, _)| round.join(conn)) {
            conn.let_go();
        }
        true
    }

    fn refuse(&mut self, conn: &Connection, refusal: &Refusal) {
        // The buffer may be large, and this thread may be idle for long.
        let is_head = self.intake.is_head();
        self.intake.clear();
        conn.refuse(refusal, is_head);
    }

    fn close(&mut self, conn: &Connection) {
        conn.close(&self.intake);
        self.intake.clear();
    }

    /// Reads from the connection once. Returns whether there is input to parse. If it returns
    /// false, the connection was passed on or closed.
    fn read(&mut self, conn: &Arc<Connection>, is_fresh: bool) -> bool {
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
        if let Err(refusal) = intake.hold(&shared.unfinished, &conn.client()) {
            self.refuse(conn, &refusal);
            return false;
        }
        let is_patient = !(is_lookout || shared.workers.has_ready() || shared.is_closing());
        let begins = self.intake.is_empty();
        if is_patient && !begins {
            self.make_stealable();
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

/// Whether the service can answer the request without blocking. Also returns the request's body.
fn is_quick(shared: &Shared<Connection>, request: HttpRequest<'_>, mut body: Body) -> (bool, Body) {
    let request = request.body(std::mem::take(&mut body.bytes));
    let look = || shared.service.is_quick(&request);
    let is_quick = catch_unwind(AssertUnwindSafe(look)).unwrap_or(false);
    body.bytes = request.body;
    (is_quick, body)
}

fn request<'a>(
    conn: &Connection,
    head: &Head,
    bytes: &'a [u8],
    fields: &'a [(&'a str, &'a [u8])],
) -> HttpRequest<'a> {
    HttpRequest::new(head.method(bytes), head.target(bytes))
        .headers(fields)
        .addresses(conn.local(), Some(conn.remote))
}

fn serve(
    shared: &Arc<Shared<Connection>>,
    conn: &Arc<Connection>,
    intake: &mut RequestParser,
    permit: Option<&Arc<Permit>>,
) -> NextOwner {
    let Some((head, bytes, body)) = intake.request() else {
        return NextOwner::Over;
    };
    let Some(is_last) = conn.open(head.is_http10, permit) else {
        return NextOwner::Over;
    };
    let fields = head.fields(bytes);
    let method = head.method(bytes);
    let deletes = method == "DELETE";
    let request = request(conn, head, bytes, &fields).body(body.bytes);
    let closes = is_last || shared.is_closing() || !shared.limits.keeps_connections();
    let reply = Reply::new(Arc::clone(conn), method, head, closes);
    // A panic drops the reply, which resets the connection.
    let service = || shared.service.serve(request, Box::new(reply));
    _ = catch_unwind(AssertUnwindSafe(service));
    if deletes {
        // The request may have ended a session. Waiting requests of that session can be refused at
        // once.
        shared.start(shared.workers.look_again());
    }
    intake.forget();
    conn.served(intake)
}
