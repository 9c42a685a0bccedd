//! Closing: the steps by which a connection stops, and how threads wait for the end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::super::log::LogLevel;
use super::super::peer::Peer;
use super::super::response_sink::{Answer, Origin};
use super::super::writer::When;
use super::{Core, Ending, FAREWELL, Life};
use crate::error::{Error, ErrorKind, RpcError};
use crate::jsonrpc::{self, RequestId};
use crate::sync::MutexGuard;
use crate::transport::clock::after;

/// The maximum time that a close waits for the threads of the connection to end. Before that,
/// handlers have already had time to return.
const LAST: Duration = Duration::from_secs(2);
/// The maximum time that another close waits for a handler that has closed its own connection.
const OWN_HANDLER: Duration = Duration::from_secs(5);

impl Core {
    /// Ends reading with this error; idempotent. Fails every pending call. A server lets active
    /// requests finish within the drain time. A client cancels active requests.
    pub(crate) fn end(self: &Arc<Self>, error: &Error) {
        self.ending.store(true, Ordering::SeqCst);
        let mut life = self.life.lock();
        if life.ended.is_some() {
            return;
        }
        life.ended = Some(error.clone());
        drop(life);
        self.fail_calls(error);
        self.engine().pool.end_reading();
        if self.settings.serving {
            self.cancel_requests_in_time();
        } else {
            self.cancel_requests();
        }
        self.life_changed.notify_all();
    }

    /// Makes a thread of the connection cancel the active requests when the drain time is over. So
    /// the requests are cancelled even if no thread waits for the connection to close.
    fn cancel_requests_in_time(self: &Arc<Self>) {
        if !self.has_requests() {
            return;
        }
        let core = Arc::clone(self);
        self.run_own(move || {
            drop(core.wait_for_requests(after(core.settings.drain)));
            core.cancel_requests();
        });
    }

    /// Whether any requests are active or deferred.
    fn has_requests(&self) -> bool {
        // Deferred requests are checked first. So a request that becomes active in between is seen
        // by at least one of the two checks.
        !self.held_back.is_empty() || self.requests.counted() > 0
    }

    /// Blocks until no request is active, another thread closes the connection, or the deadline
    /// passes.
    fn wait_for_requests(&self, until: Instant) -> MutexGuard<'_, Life> {
        let mut life = self.life.lock();
        while self.has_requests() && !life.closing && Instant::now() < until {
            life = self.life_changed.wait_until(life, Some(until));
        }
        life
    }

    pub(super) fn fail_calls(self: &Arc<Self>, error: &Error) {
        self.settle(self.engine().calls.close(error));
        if let Some(exchange_transport) = self.exchange_transport() {
            exchange_transport.stop();
        }
        self.handlers.say_farewell(&Peer::new(Arc::clone(self)));
    }

    /// Ends the connection after writing failed, and closes it on a thread of the connection.
    ///
    /// If this side is a client and the server has gone, the input is read for a moment before the
    /// connection ends. The server may have left an answer or a final message. A server lets active
    /// requests finish within the drain time, because their handlers may have other effects.
    pub(super) fn end_by_writing(self: &Arc<Self>, error: Error) {
        let has_gone = !self.settings.serving && error.kind() == ErrorKind::Closed;
        if !has_gone {
            self.end(&error);
        }
        let core = Arc::clone(self);
        self.run_own(move || {
            if has_gone {
                let until = Instant::now() + FAREWELL;
                let mut life = core.life.lock();
                while life.ended.is_none() && Instant::now() < until {
                    life = core.life_changed.wait_until(life, Some(until));
                }
                drop(life);
                core.end(&error);
            }
            core.wait_and_close();
        });
    }

    /// Ends the connection with the error `text`, and closes it on a thread of the connection.
    pub(super) fn give_up(self: &Arc<Self>, text: String) {
        self.log(LogLevel::Warning, || text.clone());
        self.end(&Error::new(ErrorKind::Closed, text));
        let core = Arc::clone(self);
        self.run_own(move || core.close(Ending::InOrder));
    }

    pub(super) fn cancel_requests(self: &Arc<Self>) {
        let why = self.ended();
        let why = why.map_or_else(
            || "the connection is closed".to_owned(),
            |why| why.to_string(),
        );
        self.cut_requests_off(&why);
    }

    /// Cancels the active and the deferred requests. A server answers them with an error that
    /// contains the reason `why`: a client that has only ended its input still reads.
    fn cut_requests_off(self: &Arc<Self>, why: &str) {
        let error = RpcError::internal(format!("the request was cut off: {why}"));
        let deferred = self.held_back.close();
        let (unanswered, callbacks) = self.requests.close(&error);
        if self.settings.serving {
            let answer = |id: &RequestId, origin: &Origin| {
                let answer = (Some(jsonrpc::write_error(Some(id), &error)), Answer::Result);
                // Fails if the client has gone.
                _ = self.respond(origin, Some(id), answer, When::Elsewhere);
            };
            for request in &unanswered {
                answer(request.id(), &request.origin);
            }
            for request in &deferred {
                answer(request.id(), &Origin::default());
            }
            self.write_soon();
        }
        self.push_callbacks(callbacks);
    }

    /// Ends the connection for the reason `why`, and then closes it with
    /// [`close_soon`](Self::close_soon). Does not block.
    #[cfg(feature = "http-server")]
    pub(crate) fn end_soon(self: &Arc<Self>, why: &Error) {
        self.end(why);
        self.close_soon(&why.to_string());
    }

    /// Closes the connection without blocking. Active requests are cancelled at once. If the
    /// connection has no active requests and no threads, this thread completes the close. Otherwise
    /// a thread of the connection does.
    #[cfg(feature = "http-server")]
    pub(crate) fn close_soon(self: &Arc<Self>, why: &str) {
        self.cut_requests_off(why);
        if self.life.lock().closing {
            return;
        }
        if self.requests.counted() == 0 && self.stats().threads == 0 {
            return self.close(Ending::InOrder);
        }
        let core = Arc::clone(self);
        self.run_own(move || core.close(Ending::InOrder));
    }

    /// Wakes threads that wait for the last active request to end. Called after the number of
    /// active requests was decremented.
    ///
    /// A waiter sets `ending` before it reads the count, and reads the count while it holds `life`.
    /// This thread decrements the count before it reads `ending`. So the waiter sees the new count,
    /// or this thread sees `ending`, takes `life` and wakes the waiter. No wakeup is lost.
    pub(in crate::protocol) fn request_ended(&self) {
        if self.ending.load(Ordering::SeqCst) {
            drop(self.life.lock());
            self.life_changed.notify_all();
        }
    }

    pub(in crate::protocol) fn has_ended(&self) -> bool {
        self.life.lock().ended.is_some()
    }

    /// Returns the reason why the connection ended; `None` while the connection is open.
    pub(crate) fn ended(&self) -> Option<Error> {
        self.life.lock().ended.clone()
    }

    /// Blocks until the peer has gone or the connection is closed. Then lets active requests
    /// finish, and closes the connection.
    pub(in crate::protocol) fn wait_and_close(self: &Arc<Self>) -> Error {
        let mut life = self.life.lock();
        while life.ended.is_none() {
            if life.is_closed_here() {
                return Error::new(ErrorKind::Closed, "this thread closes the connection");
            }
            life = self.life_changed.wait(life);
        }
        drop(life);
        let drained = after(self.settings.drain);
        let life = self.wait_for_requests(drained);
        let error = life.ended.clone().expect("the wait ended with it");
        let closing = life.closing;
        drop(life);
        if !closing {
            self.engine().writer.drain(drained);
        }
        self.close(Ending::InOrder);
        error
    }

    /// Closes the connection and everything that belongs to it, in order; idempotent and bounded in
    /// time. See the [module](crate::protocol).
    pub(in crate::protocol) fn close(self: &Arc<Self>, how: Ending) {
        let own_thread = usize::from(self.is_own_thread());
        let patience = self.settings.drain.saturating_add(Duration::from_secs(8));
        let mut life = self.life.lock();
        if life.is_closed_here() {
            // The transport's close has called back into this function on the same thread.
            return;
        }
        if life.closing {
            // Another thread is closing. A thread of the connection must not wait for it, because
            // that thread waits for this one.
            let until = after(patience);
            while !life.closed && own_thread == 0 && Instant::now() < until {
                life = self.life_changed.wait_until(life, Some(until));
            }
            let is_left = life.closed && life.closed_by_own_thread && own_thread == 0;
            drop(life);
            // The closing thread belonged to the connection and could not join itself.
            if is_left
                && self
                    .engine()
                    .pool
                    .wait_for_threads(0, Instant::now() + OWN_HANDLER)
            {
                self.engine().threads.join();
            }
            return;
        }
        life.closing = true;
        life.closer = Some(thread::current().id());
        life.closed_by_own_thread = own_thread > 0;
        drop(life);
        self.life_changed.notify_all();
        let reason = Error::new(
            ErrorKind::Closed,
            format!("the connection to '{}' was closed", self.peer()),
        );
        self.fail_calls(&reason);
        self.cancel_requests();
        self.engine().pool.wait_for_handlers(
            own_thread,
            Instant::now() + self.settings.drain.min(Duration::from_secs(1)),
        );
        self.engine()
            .writer
            .drain(Instant::now() + Duration::from_millis(500));
        match how {
            Ending::InOrder => self.control.close(),
            Ending::AtOnce => self.control.close_at_once(),
        }
        self.end(&reason);
        self.engine().release(&reason);
        for owed in self.engine().pool.stop() {
            self.run_guarded(owed);
        }
        if self
            .engine()
            .pool
            .wait_for_threads(own_thread, Instant::now() + LAST)
        {
            self.engine().threads.join();
        } else {
            self.log(LogLevel::Warning, || {
                format!(
                    "a handler for '{}' still runs although the connection is closed",
                    self.peer()
                )
            });
        }
        self.life.lock().closed = true;
        self.life_changed.notify_all();
    }
}

impl Life {
    /// Whether this thread is already closing the connection. If so, waiting for the close would be
    /// a deadlock.
    fn is_closed_here(&self) -> bool {
        !self.closed && self.closer == Some(thread::current().id())
    }
}
