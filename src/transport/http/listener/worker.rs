//! A thread that serves requests, one connection at a time.
//!
//! It stays with a connection for a moment after a request, blocking in its read: the next one costs no change of threads then. While
//! others wait for a thread it does not stay.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::conn::{Conn, Turn};
use super::intake::{Intake, Next};
use super::reply::Reply;
use super::shared::Shared;
use crate::transport::http::HttpRequest;
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
    let mut intake = Intake::default();
    while let Some((conn, hands)) = shared.crew.next() {
        if hands == super::crew::Hands::StartOne {
            shared.start_worker();
        }
        converse(shared, &conn, &mut intake);
    }
}

fn converse(shared: &Arc<Shared>, conn: &Arc<Conn>, intake: &mut Intake) {
    if !conn.take(intake) {
        return;
    }
    loop {
        match intake.next(&shared.limits) {
            Ok(Next::Request) => {
                if serve(shared, conn, intake) == Turn::Over {
                    return;
                }
                if shared.crew.has_waiting() {
                    return conn.stand_behind(intake);
                }
            }
            Ok(Next::Continue) if !conn.say_continue() => return conn.close(),
            Ok(Next::Continue | Next::More) => {
                if !read(shared, conn, intake) {
                    return;
                }
            }
            Err(refusal) => return conn.refuse(&refusal),
        }
    }
}

/// Returns whether there is more to look at; otherwise the connection has been passed on.
fn read(shared: &Shared, conn: &Conn, intake: &mut Intake) -> bool {
    if !intake.is_empty() {
        let now = Instant::now();
        if intake.deadline(now, &shared.limits) <= now {
            conn.refuse(&intake.lateness());
            return false;
        }
    }
    let is_patient = !shared.crew.has_waiting() && !shared.is_closing();
    let (bytes, room) = intake.room();
    match tcp::receive(conn.socket.get(), bytes, room, is_patient) {
        Ok(Some(count)) if count > 0 => return true,
        Ok(None) => conn.rest(intake),
        Ok(Some(_)) | Err(_) => conn.close(),
    }
    false
}

fn serve(shared: &Shared, conn: &Arc<Conn>, intake: &mut Intake) -> Turn {
    let Some((head, bytes, body)) = intake.request() else {
        return Turn::Over;
    };
    if !conn.open() {
        return Turn::Over;
    }
    let fields = head.fields(bytes);
    let method = head.method(bytes);
    let request = HttpRequest::new(method, head.target(bytes))
        .headers(&fields)
        .body(body)
        .addresses(conn.local, conn.remote);
    let reply = Reply::new(Arc::clone(conn), method, head, shared.is_closing());
    // A panic drops the reply, and so breaks the connection off.
    let service = || shared.service.serve(request, Box::new(reply));
    _ = catch_unwind(AssertUnwindSafe(service));
    intake.forget();
    conn.served(intake)
}
