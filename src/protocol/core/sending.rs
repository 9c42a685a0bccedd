//! Sending: queueing messages, and choosing the thread that writes them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::active_requests::ActiveRequest;
use super::super::cancel::CancelToken;
use super::super::log::LogLevel;
use super::super::response_sink::{Answer, Origin};
use super::super::writer::{Flush, SendDeadline, Source, When};
use super::{CALL_TURN, CANCELLED, Core, Engine, WRITE_TURN};
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::{self, RequestId};
use crate::transport::SessionMessage;
use crate::transport::clock::about_now;
use crate::transport::exchange_transport::CancelHandle;

/// The params of `notifications/cancelled`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CancelledParams<'a> {
    request_id: i64,
    reason: &'a str,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
}

impl Core {
    /// Queues a message for the connection's stream. The message is written at the time `when`.
    ///
    /// # Errors
    ///
    /// `Timeout` or `Cancelled` when there was no room for the message, `Limit` when there is no
    /// room and the thread does not wait, or the reason why the connection is closed. On an error
    /// the message is not queued.
    pub(in crate::protocol) fn send(
        self: &Arc<Self>,
        message: SessionMessage,
        when: When,
        deadline: SendDeadline<'_>,
    ) -> Result<()> {
        self.queue(message, deadline, |message| {
            self.engine().writer.push(message, when)
        })?;
        if self.writes_here(when) {
            self.flush_until(turn_of(deadline));
        }
        Ok(())
    }

    /// Sends a message that belongs to a request, before its answer. Fails if the request was
    /// answered or cancelled.
    pub(in crate::protocol) fn send_during(
        self: &Arc<Self>,
        request: &ActiveRequest,
        text: Vec<u8>,
    ) -> Result<()> {
        if let Some(sink) = request.open_sink()? {
            return sink.send(&text, self.write_deadline()).map(drop);
        }
        let (message, when, deadline) =
            (request.message(text), When::Now, SendDeadline::WriteTimeout);
        // Waiting for room happens outside of the request's lock: a cancellation must not wait for
        // a peer that does not read.
        self.queue(message, deadline, |message| {
            request.while_open(|| self.engine().writer.push(message, when))
        })?;
        self.write(when, deadline);
        Ok(())
    }

    /// Queues a message with the function `push`. Waits while the queue has no room.
    fn queue(
        self: &Arc<Self>,
        message: SessionMessage,
        deadline: SendDeadline<'_>,
        push: impl Fn(&mut Option<SessionMessage>) -> Result<()>,
    ) -> Result<()> {
        let mut message = Some(message);
        push(&mut message)?;
        if let Some(len) = message.as_ref().map(|message| message.text.len()) {
            let (until, cancel) = match deadline {
                SendDeadline::WriteTimeout => (self.write_deadline(), None),
                SendDeadline::Until(until) => (until, None),
                SendDeadline::OfCall(until, cancel) => (until, cancel),
            };
            while message.is_some() {
                self.wait_for_room(len, until, cancel)?;
                push(&mut message)?;
            }
        }
        Ok(())
    }

    /// Writes the queued messages at the time `when`.
    pub(in crate::protocol) fn write(self: &Arc<Self>, when: When, deadline: SendDeadline<'_>) {
        if self.writes_here(when) {
            self.flush_until(turn_of(deadline));
        }
    }

    /// Returns whether this thread has to write the queued messages. If another thread has to, this
    /// function makes sure that it does.
    fn writes_here(self: &Arc<Self>, when: When) -> bool {
        // Answers of an HTTP session have their own streams, so often no message was ever queued.
        let Some(Engine { writer, pool, .. }) = self.engine.get().map(|engine| &**engine) else {
            return false;
        };
        match when {
            When::Soon if !writer.is_short() => return true,
            _ if writer.is_seen_to() => {}
            When::Now => return true,
            When::Soon => self.spawn_if_needed(pool.want_flush_soon()),
            // A response sink has no message in the queue, so no thread is needed.
            When::Elsewhere if !writer.is_due(false) => {}
            When::Elsewhere => self.spawn_if_needed(pool.want_flush()),
        }
        false
    }

    /// Blocks until the queue has room for `len` bytes or a moment has passed. Writes queued
    /// messages meanwhile.
    fn wait_for_room(
        self: &Arc<Self>,
        len: usize,
        until: Option<Instant>,
        cancel: Option<&CancelToken>,
    ) -> Result<()> {
        if cancel.is_some_and(CancelToken::is_triggered) {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
        }
        let turn = cancel.map_or(until, |_| turn_of_call(until));
        // The queue may be full because the thread that has to write runs a handler first. So this
        // thread writes the queued messages.
        self.flush_until(turn);
        match self.engine().writer.wait_for_room(len, turn) {
            Err(error) if error.kind() == ErrorKind::Timeout && turn != until => Ok(()),
            waited => waited,
        }
    }

    /// Queues the response of a message with this origin, or ends the message without a response. A
    /// member of a batch is queued when the batch is complete. Afterwards the caller must call
    /// [`write`](Self::write).
    pub(in crate::protocol) fn respond(
        self: &Arc<Self>,
        origin: &Origin,
        id: Option<&RequestId>,
        (response, answer): (Option<Vec<u8>>, Answer),
        when: When,
    ) -> Result<()> {
        let Some(text) = origin.completed_by(response) else {
            return Ok(());
        };
        if let Some(sink) = &origin.sink {
            // The answer of a batch combines several answers, so it counts as a result.
            let answer = match origin.batch {
                None => answer,
                Some(_) => Answer::Result,
            };
            return sink.respond(text, answer, self.write_deadline());
        }
        let mut message = SessionMessage::new(text);
        message.related = id.cloned();
        let queued = self.queue(message, SendDeadline::WriteTimeout, |message| {
            self.engine().writer.push(message, when)
        });
        queued.inspect_err(|error| self.end_without_answer(error))
    }

    /// Ends the connection if there was no room for an answer. An answer must not get lost while
    /// the connection lives.
    fn end_without_answer(self: &Arc<Self>, error: &Error) {
        if matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Limit) {
            self.end(&error.clone().with_kind(ErrorKind::Closed));
        }
    }

    /// Sends the final notification and the answer of a request, without blocking.
    ///
    /// A response sink gets no final notification, because the client sees the end of the sink.
    // AMB-04
    pub(in crate::protocol) fn conclude(
        self: &Arc<Self>,
        request: &ActiveRequest,
        farewell: Vec<u8>,
        text: Vec<u8>,
    ) -> Result<()> {
        if let Some(sink) = &request.origin.sink {
            return sink.respond(text, Answer::Result, None);
        }
        let deadline = SendDeadline::WriteTimeout;
        self.send(request.message(farewell), When::Elsewhere, deadline)
            .and_then(|()| self.send(request.message(text), When::Elsewhere, deadline))
            .inspect_err(|error| self.end_without_answer(error))
    }

    /// Sends a request whose outcome goes to a callback. Does not block, except for a response
    /// sink. `during` is the peer's request to which the new request belongs.
    pub(in crate::protocol) fn send_started(
        self: &Arc<Self>,
        message: SessionMessage,
        during: Option<&ActiveRequest>,
    ) -> Result<()> {
        if let Some(request) = during
            && let Some(sink) = request.open_sink()?
        {
            return sink.ask(&message.text, self.write_deadline());
        }
        self.send(message, When::Elsewhere, SendDeadline::WriteTimeout)
    }

    /// Sends a notification. Blocks at most until `until`, and at most for the write timeout. On an
    /// exchange transport, `cancel` ends the wait too.
    pub(crate) fn send_notification(
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
        let message = SessionMessage::new(text);
        let Some(exchange_transport) = self.exchange_transport() else {
            return self.send(message, When::Now, SendDeadline::Until(deadline));
        };
        let cancel_handle = CancelHandle::until(deadline);
        let _on_cancel = cancel.map(|token| {
            let cancel_handle = Arc::clone(&cancel_handle);
            token.on_trigger(move || cancel_handle.end())
        });
        let posted = exchange_transport.post(&message, &cancel_handle);
        posted.map_err(|error| match cancel {
            Some(token) if token.is_triggered() && error.kind() == ErrorKind::Timeout => {
                error.with_kind(ErrorKind::Cancelled)
            }
            _ => error,
        })
    }

    /// Sends or queues notifications in their order, without blocking. Stops at the first
    /// notification for which there is no room. Returns the number of notifications that were sent
    /// or queued. Queued messages are written by [`write_soon`](Self::write_soon).
    pub(crate) fn post(
        &self,
        request: Option<&ActiveRequest>,
        texts: Vec<Vec<u8>>,
    ) -> Result<usize> {
        if let Some(request) = request
            && let Some(sink) = request.open_sink()?
        {
            return sink.send_all(&texts);
        }
        let writer = &self.engine().writer;
        let mut sent = 0;
        for text in texts {
            let mut message = SessionMessage::new(text);
            message.related = request.map(|request| request.id().clone());
            let mut message = Some(message);
            let pushed = match request {
                Some(request) => request.while_open(|| writer.push(&mut message, When::Now)),
                None => writer.push(&mut message, When::Now),
            };
            match pushed {
                // The next attempt finds the error again. The count must not get lost.
                Err(error) if sent == 0 => return Err(error),
                Ok(()) if message.is_none() => sent += 1,
                Ok(()) | Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Ensures that the posted messages are written. If the reading thread will not write them,
    /// makes a thread of the pool write them.
    pub(crate) fn write_soon(self: &Arc<Self>) {
        self.write(When::Elsewhere, SendDeadline::WriteTimeout);
    }

    /// Makes a thread of the connection write the messages of the connection's [`Source`]. If the
    /// connection has no source yet, `make` creates it.
    pub(crate) fn pull_soon(self: &Arc<Self>, make: impl FnOnce() -> Box<dyn Source>) {
        self.engine().writer.want_pull(make);
        self.write_soon();
    }

    /// Writes the requests that were queued to be written soon. Called by a thread that is about to
    /// block.
    pub(in crate::protocol) fn flush_requests(self: &Arc<Self>, deadline: Option<Instant>) {
        let writer = &self.engine().writer;
        if writer.has_soon() && !writer.is_seen_to() {
            self.flush_of_call(deadline);
        }
    }

    /// Writes the queued messages for a moment, on the thread of a call with this deadline.
    pub(in crate::protocol) fn flush_of_call(self: &Arc<Self>, deadline: Option<Instant>) {
        self.flush_until(turn_of_call(deadline));
    }

    /// Notifies the peer that the caller of a request no longer waits. Does not block.
    ///
    /// On an exchange transport of the modern era no message is sent, because ending the exchange
    /// cancels the request.
    // M-CANC-C-06
    pub(in crate::protocol) fn send_cancelled(self: &Arc<Self>, id: i64, reason: &str) {
        if self.exchange_transport().is_some() && !self.answers.load(Ordering::Acquire) {
            return;
        }
        let params = CancelledParams {
            request_id: id,
            reason,
            meta: self.notification_meta.get().map(|meta| &**meta),
        };
        let text = jsonrpc::write_notification(CANCELLED, &params).expect("valid JSON");
        let message = SessionMessage::new(text).related_to(RequestId::from(id));
        let sent = self.send(message, When::Elsewhere, SendDeadline::WriteTimeout);
        if let Err(error) = sent {
            self.log(LogLevel::Warning, || {
                format!(
                    "'{}' could not be told that request {id} is cancelled: {error}",
                    self.peer()
                )
            });
        }
    }

    pub(super) fn write_deadline(&self) -> Option<Instant> {
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
        match engine.writer.flush(turn) {
            Flush::Done => {}
            // A subscriber that reads nothing is ended here, because its merged notifications fill
            // no queue.
            Flush::Unfinished if engine.writer.is_unread_for(patience) => self.give_up(format!(
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

/// Returns when the sending thread stops to write, if earlier than any other thread.
fn turn_of(deadline: SendDeadline<'_>) -> Option<Instant> {
    match deadline {
        SendDeadline::WriteTimeout => None,
        SendDeadline::Until(until) => until,
        SendDeadline::OfCall(until, _) => turn_of_call(until),
    }
}
