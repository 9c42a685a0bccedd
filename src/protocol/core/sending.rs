//! Sending: queueing messages, and choosing the thread that writes them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;

use super::super::call::SendTime;
use super::super::cancel::CancelToken;
use super::super::incoming::Exchange;
use super::super::log::LogLevel;
use super::super::outbox::{Flush, Source};
use super::super::responder::response_of;
use super::super::response_sink::{Answer, Origin};
use super::{CALL_TURN, CANCELLED, Core, Ending, THREAD_ROLE, ThreadRole, WRITE_TURN};
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::{self, RequestId};
use crate::transport::clock::about_now;
use crate::transport::exchange_transport::CancelHandle;
use crate::transport::{Limits, SessionMessage};

impl Core {
    /// Queues the answer of an exchange, or passes the answer to the response sink of the exchange.
    /// The caller must call [`begin_answer`](Exchange::begin_answer) before this function, and
    /// [`write_answers`](Self::write_answers) after it.
    pub(in crate::protocol) fn queue_response(
        self: &Arc<Self>,
        exchange: &Exchange,
        text: Vec<u8>,
        answer: Answer,
    ) -> Result<()> {
        let Some(text) = exchange.origin.completed_by(Some(text)) else {
            return Ok(());
        };
        match &exchange.origin.sink {
            Some(sink) => {
                // The answer of a batch combines several answers, so it counts as a result.
                let answer = match exchange.origin.batch {
                    None => answer,
                    Some(_) => Answer::Result,
                };
                sink.respond(text, answer, self.write_deadline())
            }
            None => self.queue(response_of(exchange, text)),
        }
    }

    /// Ends a batch member that gets no answer. If this was the last member without an outcome,
    /// sends the answers of the other members.
    pub(super) fn end_batch_member(self: &Arc<Self>, origin: &Origin) {
        let Some(text) = origin.completed_by(None) else {
            return;
        };
        let sent = match &origin.sink {
            Some(sink) => sink.respond(text, Answer::Result, self.write_deadline()),
            None => self.queue(SessionMessage::new(text)),
        };
        match sent {
            Ok(()) => self.write_answers(),
            Err(error) => self.log(LogLevel::Warning, || {
                format!("the answer of a batch could not be sent: {error}")
            }),
        }
    }

    /// Sends a notification that belongs to an exchange. Fails if the exchange was answered or
    /// cancelled.
    pub(in crate::protocol) fn send_while_open(
        self: &Arc<Self>,
        exchange: &Exchange,
        text: Vec<u8>,
    ) -> Result<()> {
        if let Some(sink) = &exchange.origin.sink {
            exchange.while_open(|| Ok(()))?;
            return sink.send(&text, self.write_deadline()).map(drop);
        }
        let deadline = || self.write_deadline();
        // Waiting for room happens outside of the exchange's lock: a cancellation must not wait for
        // a peer that does not read.
        self.push(response_of(exchange, text), deadline, None, |message| {
            exchange.while_open(|| self.engine().outbox.try_push(message))
        })?;
        if !self.is_written_later() {
            self.flush_until(deadline());
        }
        Ok(())
    }

    /// Whether the messages that a handler on this thread has queued may be written later.
    ///
    /// If so, the next thread that takes the receiver writes the messages. That is this thread when
    /// the handler returns, or the watchdog thread after a tick.
    pub(super) fn is_written_later(self: &Arc<Self>) -> bool {
        match THREAD_ROLE.get() {
            ThreadRole::Inline(address, park) if address == self.address() => {
                self.engine().outbox.is_short() && self.engine().pool.is_parked(park)
            }
            _ => false,
        }
    }

    /// Queues a request whose outcome goes to a callback, and makes a thread write the request.
    /// `during` is the exchange of the peer's request to which the new request belongs, if any.
    pub(in crate::protocol) fn send_started(
        self: &Arc<Self>,
        message: SessionMessage,
        during: Option<&Exchange>,
    ) -> Result<()> {
        if let Some(exchange) = during
            && let Some(sink) = &exchange.origin.sink
        {
            exchange.while_open(|| Ok(()))?;
            return sink.ask(&message.text, self.write_deadline());
        }
        self.engine().outbox.push_over(message)?;
        let spawn = self.engine().pool.want_flush();
        self.spawn_if_needed(spawn);
        Ok(())
    }

    /// Queues a message with `try_push`. Blocks while the queue has no room, at most until the
    /// deadline or until the token is cancelled.
    ///
    /// `deadline` is called only if there is no room.
    pub(super) fn push(
        self: &Arc<Self>,
        message: SessionMessage,
        deadline: impl FnOnce() -> Option<Instant>,
        cancel: Option<&CancelToken>,
        try_push: impl Fn(&mut Option<SessionMessage>) -> Result<()>,
    ) -> Result<()> {
        let mut message = Some(message);
        try_push(&mut message)?;
        let Some(len) = message.as_ref().map(|message| message.text.len()) else {
            return Ok(());
        };
        let deadline = deadline();
        while message.is_some() {
            if cancel.is_some_and(CancelToken::is_triggered) {
                return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
            }
            let turn = if cancel.is_some() {
                turn_of_call(deadline)
            } else {
                deadline
            };
            // The queue may be full because the thread that has to write runs a handler first. So
            // this thread writes the queued messages.
            self.flush_until(turn);
            match self.engine().outbox.wait_for_room(len, turn) {
                Err(error) if error.kind() == ErrorKind::Timeout && turn != deadline => {}
                waited => waited?,
            }
            try_push(&mut message)?;
        }
        Ok(())
    }

    /// Queues a request. With [`SendTime::Now`] also writes it. With [`SendTime::Soon`] the request
    /// may be written together with later requests: by the next thread that waits for a call, or by
    /// a thread of the connection after a tick. Blocks for room in the queue until the deadline or
    /// until the token is cancelled.
    pub(in crate::protocol) fn send_request(
        self: &Arc<Self>,
        message: SessionMessage,
        deadline: Option<Instant>,
        cancel: Option<&CancelToken>,
        when: SendTime,
    ) -> Result<()> {
        let outbox = &self.engine().outbox;
        self.push(
            message,
            || deadline,
            cancel,
            |message| match when {
                SendTime::Now => outbox.try_push(message),
                SendTime::Soon => outbox.try_push_soon(message),
            },
        )?;
        if when == SendTime::Soon && outbox.is_short() {
            if !outbox.is_seen_to() {
                let spawn = self.engine().pool.want_flush_soon();
                self.spawn_if_needed(spawn);
            }
        } else if when == SendTime::Soon || !outbox.is_seen_to() {
            self.flush_until(turn_of_call(deadline));
        }
        Ok(())
    }

    /// Writes the requests that were queued to be written soon. Called by a thread that is about to
    /// block.
    pub(in crate::protocol) fn flush_requests(self: &Arc<Self>, deadline: Option<Instant>) {
        if self.has_requests_to_flush() {
            self.flush_until(turn_of_call(deadline));
        }
    }

    /// Whether messages are queued that no other thread is about to write.
    pub(in crate::protocol) fn has_requests_to_flush(&self) -> bool {
        let outbox = &self.engine().outbox;
        !outbox.is_seen_to() && outbox.has_soon()
    }

    fn push_in_time(
        self: &Arc<Self>,
        message: SessionMessage,
        deadline: impl FnOnce() -> Option<Instant>,
    ) -> Result<()> {
        self.push(message, deadline, None, |message| {
            self.engine().outbox.try_push(message)
        })
    }

    pub(crate) fn send_notification(self: &Arc<Self>, text: Vec<u8>) -> Result<()> {
        self.send_notification_until(text, None, None)
    }

    /// Sends a notification. Blocks at most until `until`, and at most for the write timeout. On an
    /// exchange transport, `cancel` ends the wait too.
    pub(in crate::protocol) fn send_notification_until(
        self: &Arc<Self>,
        text: Vec<u8>,
        until: Option<Instant>,
        cancel: Option<&CancelToken>,
    ) -> Result<()> {
        // A server may still send to a peer that has only closed its own sending direction.
        if !self.settings.serving
            && let Some(error) = self.ended()
        {
            return Err(error);
        }
        let deadline = self.write_deadline().into_iter().chain(until).min();
        if let Some(exchange_transport) = self.exchange_transport() {
            let cancel_handle = CancelHandle::until(deadline);
            let _on_cancel = cancel.map(|token| {
                let cancel_handle = Arc::clone(&cancel_handle);
                token.on_trigger(move || cancel_handle.end())
            });
            let posted = exchange_transport.post(&SessionMessage::new(text), &cancel_handle);
            return posted.map_err(|error| match cancel {
                Some(token) if token.is_triggered() && error.kind() == ErrorKind::Timeout => {
                    error.with_kind(ErrorKind::Cancelled)
                }
                _ => error,
            });
        }
        self.push_in_time(SessionMessage::new(text), || deadline)?;
        self.flush_until(deadline);
        Ok(())
    }

    /// Sends or queues notifications in their order, without blocking. Stops at the first
    /// notification for which there is no room. Returns the number of notifications that were sent
    /// or queued.
    pub(crate) fn post_all(
        &self,
        exchange: Option<&Exchange>,
        texts: Vec<Vec<u8>>,
    ) -> Result<usize> {
        if let Some(exchange) = exchange
            && let Some(sink) = &exchange.origin.sink
        {
            exchange.while_open(|| Ok(()))?;
            return sink.send_all(&texts);
        }
        let mut sent = 0;
        for text in texts {
            match self.post(exchange, text) {
                Ok(true) => sent += 1,
                // The next attempt finds the error again. The count must not get lost.
                Err(error) if sent == 0 => return Err(error),
                Ok(false) | Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Sends or queues a notification without blocking. Returns `false` when there is no room. A
    /// queued message is written by [`write_soon`](Self::write_soon).
    pub(crate) fn post(&self, exchange: Option<&Exchange>, text: Vec<u8>) -> Result<bool> {
        if let Some(exchange) = exchange
            && let Some(sink) = &exchange.origin.sink
        {
            exchange.while_open(|| Ok(()))?;
            return sink.send(&text, None);
        }
        let mut message = SessionMessage::new(text);
        message.related = exchange.map(|exchange| exchange.id.clone());
        let mut message = Some(message);
        match exchange {
            Some(exchange) => {
                exchange.while_open(|| self.engine().outbox.try_push(&mut message))?
            }
            None => self.engine().outbox.try_push(&mut message)?,
        }
        Ok(message.is_none())
    }

    /// Makes a thread of the connection write the messages of the connection's [`Source`]. If the
    /// connection has no source yet, `make` creates it.
    pub(crate) fn pull_soon(self: &Arc<Self>, make: impl FnOnce() -> Box<dyn Source>) {
        self.engine().outbox.want_pull(make);
        self.write_soon();
    }

    /// Runs a job on a thread of the connection. Starts a thread if no thread is idle.
    pub(crate) fn run_own(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) {
        let spawn = self.engine().pool.push_own(Box::new(job));
        self.spawn_if_needed(spawn);
    }

    /// Queues the final notification and the answer of a request, without blocking.
    ///
    /// A response sink gets no final notification, because the client sees the end of the sink.
    // AMB-04
    pub(in crate::protocol) fn post_last(
        &self,
        exchange: &Exchange,
        farewell: Vec<u8>,
        text: Vec<u8>,
    ) -> Result<()> {
        if let Some(sink) = &exchange.origin.sink {
            return sink.respond(text, Answer::Result, None);
        }
        self.engine()
            .outbox
            .push_over(response_of(exchange, farewell))?;
        self.engine().outbox.push_over(response_of(exchange, text))
    }

    /// Ensures that the posted messages are written. If this thread will not write them later
    /// itself, makes a thread of the pool write them.
    pub(crate) fn write_soon(self: &Arc<Self>) {
        let reads = THREAD_ROLE.get() == ThreadRole::Reading(self.address());
        if !reads && !self.has_written_all() && !self.is_written_later() {
            let spawn = self.engine().pool.want_flush();
            self.spawn_if_needed(spawn);
        }
    }

    /// Ends the connection with the error `text`, and closes it on a thread of the connection.
    pub(super) fn give_up(self: &Arc<Self>, text: String) {
        self.log(LogLevel::Warning, || text.clone());
        self.end(&Error::new(ErrorKind::Closed, text));
        let core = Arc::clone(self);
        self.run_own(move || core.close(Ending::InOrder));
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Notifies the peer that the caller of a request no longer waits. Only queues the
    /// notification, and does not block.
    ///
    /// On an exchange transport of the modern era no message is sent, because ending the exchange
    /// cancels the request.
    // M-CANC-C-06
    pub(in crate::protocol) fn send_cancelled(self: &Arc<Self>, id: i64, reason: &str) {
        if self.exchange_transport().is_some() && !self.answers.load(Ordering::Acquire) {
            return;
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            request_id: i64,
            reason: &'a str,
        }
        let text = jsonrpc::write_notification(
            CANCELLED,
            &Params {
                request_id: id,
                reason,
            },
        )
        .expect("a number and a string");
        let message = SessionMessage::new(text).related_to(RequestId::from(id));
        match self.engine().outbox.push_over(message) {
            Ok(()) => {
                let spawn = self.engine().pool.want_flush();
                self.spawn_if_needed(spawn);
            }
            Err(error) => self.log(LogLevel::Warning, || {
                format!(
                    "'{}' could not be told that request {id} is cancelled: {error}",
                    self.peer()
                )
            }),
        }
    }

    /// Queues an answer. The answer is written by [`write_answers`](Self::write_answers).
    pub(super) fn queue(self: &Arc<Self>, message: SessionMessage) -> Result<()> {
        let pushed = match THREAD_ROLE.get() {
            ThreadRole::Reading(address) if address == self.address() => {
                self.engine().outbox.push_over(message)
            }
            _ => self.push_in_time(message, || self.write_deadline()),
        };
        if let Err(error) = &pushed
            && matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Limit)
        {
            // An answer must not get lost while the connection lives.
            self.end(&error.clone().with_kind(ErrorKind::Closed));
        }
        pushed
    }

    /// Writes the queued messages, unless this thread reads for the connection or runs an inline
    /// handler. In these two cases the messages are written soon afterwards.
    pub(in crate::protocol) fn write_answers(self: &Arc<Self>) {
        let here = self.address();
        if !matches!(THREAD_ROLE.get(), ThreadRole::Reading(address) | ThreadRole::Inline(address, _) if address == here)
        {
            self.flush_until(self.write_deadline());
        }
    }

    pub(in crate::protocol) fn write_deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.settings.write_timeout)
    }

    /// Writes the queued messages until the deadline. After the deadline a thread of the worker
    /// pool writes the rest.
    pub(in crate::protocol) fn flush_until(self: &Arc<Self>, deadline: Option<Instant>) {
        // Answers of an HTTP session have their own streams, so often no message was ever queued.
        let Some(engine) = self.engine.get() else {
            return;
        };
        let patience = self.settings.write_timeout;
        let turn = about_now() + WRITE_TURN.min(patience);
        let turn = deadline.map_or(turn, |deadline| deadline.min(turn));
        match engine.outbox.flush(turn) {
            Flush::Done => {}
            // A subscriber that reads nothing is ended here, because its merged notifications fill
            // no queue.
            Flush::Unfinished if engine.outbox.is_unread_for(patience) => self.give_up(format!(
                "'{}' has read nothing for {} (the write timeout)",
                self.peer(),
                Span(patience)
            )),
            Flush::Unfinished => {
                let spawn = engine.pool.want_flush();
                self.spawn_if_needed(spawn);
            }
            Flush::Failed(error) => self.end_by_writing(error.context("writing failed")),
        }
    }
}

fn turn_of_call(deadline: Option<Instant>) -> Option<Instant> {
    let turn = about_now() + CALL_TURN;
    Some(deadline.map_or(turn, |deadline| deadline.min(turn)))
}
