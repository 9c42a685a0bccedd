//! Routing of the peer's messages, on the reading thread. Routing neither blocks nor runs user
//! code.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::super::active_requests::{ActiveRequest, Opening, Refusal};
use super::super::call_channel::{Outcome, Progress};
use super::super::cancel::Callback;
use super::super::handlers::{RequestHandler, Run, Work};
use super::super::incident::ServerEventKind;
use super::super::log::{LogLevel, panic_text};
use super::super::outgoing::{Delivery, OnEnd, PendingCallback, Waiter};
use super::super::peer::Peer;
use super::super::responder::Responder;
use super::super::response_sink::{Answer, Batch, CancelRequest, ExchangeHandle, Origin};
use super::super::stats::count;
use super::super::worker_pool::Job;
use super::super::writer::{SendDeadline, When};
use super::progress::ProgressParams;
use super::{CANCELLED, Core, PROGRESS, Share};
use crate::error::{Error, ErrorCode, ErrorKind, Result, RpcError};
use crate::jsonrpc::{
    self, Form, Malformed, Message, Notification, Parsed, Request, RequestId, TooLong,
};
use crate::shares::Client;
use crate::transport::clock::about_now;
use crate::transport::{Received, Receiver, SessionMessage};

/// The outcome of routing a message.
#[must_use = "an unfinished message has to be dispatched"]
pub(in crate::protocol) enum Routed {
    /// The message is processed, and nothing is left to do.
    Done,
    /// The message was an answer, which was delivered to its caller.
    Delivered,
    /// The message is progress for the call with this token. The progress still has to be
    /// delivered, and the buffer of the message can be reused.
    Progress(RequestId, Progress, Vec<u8>),
    /// A handler has to run. The table of active requests already records the handler as running on
    /// this thread.
    Work(Work),
}

impl Core {
    /// Receives and routes one message. Returns `None` when no message arrived in time.
    pub(super) fn receive_one(
        self: &Arc<Self>,
        receiver: &mut dyn Receiver,
        patience: Option<Duration>,
    ) -> Result<Option<Routed>> {
        let received = self.receive(receiver, patience)?;
        Ok(self.take(received))
    }

    /// Receives the next message. Returns [`Received::Nothing`] when no message arrived in time.
    pub(super) fn receive(
        &self,
        receiver: &mut dyn Receiver,
        patience: Option<Duration>,
    ) -> Result<Received> {
        // The transport may belong to the host. A panic in it ends the connection like any other
        // failure.
        let received = catch_unwind(AssertUnwindSafe(|| receiver.receive(patience)))
            .unwrap_or_else(|panic| {
                let text = format!("the transport panicked: {}", panic_text(&*panic));
                Err(Error::new(ErrorKind::Io, text))
            })?;
        if !matches!(received, Received::Nothing)
            && let Some(pulse) = &self.pulse
        {
            pulse.seen(Instant::now());
        }
        self.has_more_input
            .store(receiver.has_message(), Ordering::Relaxed);
        Ok(received)
    }

    /// Routes a received message. Returns `None` when no message was received.
    pub(super) fn take(self: &Arc<Self>, received: Received) -> Option<Routed> {
        match received {
            Received::Message(message) => Some(self.take_in(message)),
            Received::TooLong(long) => Some(self.refuse_too_long(&long)),
            Received::Nothing => None,
        }
    }

    pub(super) fn take_in(self: &Arc<Self>, message: SessionMessage) -> Routed {
        let max_depth = self.settings.limits.max_depth;
        if let Some((token, progress)) = ProgressParams::of_message(&message.text, max_depth) {
            return Routed::Progress(token, progress, message.text);
        }
        let read = match self.settings.strict {
            true => Parsed::read_strictly,
            false => Parsed::read,
        };
        match read(message.text, max_depth) {
            Parsed::Single(Ok(message)) => self.route(message, &Origin::default()),
            Parsed::Single(Err(malformed)) => {
                self.refuse_malformed(malformed, &Origin::default());
                Routed::Done
            }
            Parsed::Batch(_) if !self.batches.load(Ordering::Acquire) => {
                let error = RpcError::invalid_request(
                    "an array of messages is known to revision 2025-03-26 only",
                );
                self.refuse_malformed(
                    Malformed {
                        error,
                        id: None,
                        form: Form::Request,
                        excerpt: None,
                    },
                    &Origin::default(),
                );
                Routed::Done
            }
            Parsed::Batch(members) => {
                self.take_batch(members, &Origin::default());
                Routed::Done
            }
        }
    }

    pub(in crate::protocol) fn take_batch(
        self: &Arc<Self>,
        members: Vec<Result<Message, Malformed>>,
        origin: &Origin,
    ) {
        let is_answered = |member: &Result<Message, Malformed>| match member {
            Ok(message) => matches!(message, Message::Request(_)),
            Err(malformed) => malformed.form != Form::Notification,
        };
        let batch = Arc::new(Batch::new(
            members.iter().filter(|member| is_answered(member)).count(),
        ));
        let origin = &origin.of_batch(batch);
        for member in members {
            match member {
                Ok(message) => {
                    let taken = self.route(message, origin);
                    self.dispatch(taken, None);
                }
                Err(malformed) => self.refuse_malformed(malformed, origin),
            }
        }
    }

    /// Does the work that is left after routing. If a handler has to run, queues the handler for
    /// another thread. If the message is progress for the call of `reader`, stores the progress in
    /// `reader`.
    pub(in crate::protocol) fn dispatch(
        self: &Arc<Self>,
        taken: Routed,
        reader: Option<&mut Waiter>,
    ) {
        match taken {
            Routed::Done | Routed::Delivered => {}
            Routed::Work(work) => self.run_elsewhere(work),
            Routed::Progress(token, progress, _) => {
                if let Some(reader) = reader
                    && token.as_own_number() == Some(reader.id)
                {
                    return reader.keep(progress);
                }
                let (_, merged) = self.engine().calls.report(&token, progress);
                if merged {
                    count(&self.engine().counters.merged_progress);
                }
            }
        }
    }

    pub(in crate::protocol) fn route(
        self: &Arc<Self>,
        message: Message,
        origin: &Origin,
    ) -> Routed {
        match message {
            Message::Request(request) => self.accept(request, origin),
            Message::Notification(notification) if notification.method() == PROGRESS => {
                match ProgressParams::of_params(notification.members()) {
                    Some((token, progress)) => Routed::Progress(token, progress, Vec::new()),
                    None => {
                        count(&self.engine().counters.malformed);
                        Routed::Done
                    }
                }
            }
            Message::Notification(notification) => {
                self.notified(notification);
                Routed::Done
            }
            Message::Response(response) => match response.id().cloned() {
                Some(id) => {
                    let own = id.as_own_number().filter(|_| !self.settings.strict);
                    let id = own.map_or(id, RequestId::from);
                    self.deliver(&id, Outcome::Response(response))
                }
                None => {
                    let error = response
                        .outcome()
                        .expect_err("only errors may lack an id")
                        .clone();
                    self.log(LogLevel::Warning, || {
                        format!("'{}' could not read a message: {error}", self.peer())
                    });
                    Routed::Done
                }
            },
        }
    }

    pub(super) fn deliver(self: &Arc<Self>, id: &RequestId, outcome: Outcome) -> Routed {
        match self.complete(id, outcome) {
            Delivery::Delivered => return Routed::Delivered,
            // The outcome of a watched call does not change how the next message is read.
            Delivery::Watched => {}
            Delivery::Late => count(&self.engine().counters.late_responses),
            Delivery::Unknown => {
                count(&self.engine().counters.unknown_responses);
                self.log(LogLevel::Warning, || {
                    format!(
                        "'{}' answered request {id}, which was never sent",
                        self.peer()
                    )
                });
            }
        }
        Routed::Done
    }

    pub(in crate::protocol) fn complete(
        self: &Arc<Self>,
        id: &RequestId,
        outcome: Outcome,
    ) -> Delivery {
        // The note costs a system call, so only the last of several answers is noted.
        let is_last = !self.has_more_input.load(Ordering::Relaxed);
        if is_last && matches!(outcome, Outcome::Response(_)) {
            self.control.note_answer();
        }
        let (delivery, due) = self.engine().calls.complete(id, outcome);
        self.settle(due);
        delivery
    }

    /// Runs the callbacks of completed calls. Each callback gets the outcome of its call, even if
    /// the pool has stopped.
    pub(in crate::protocol) fn settle(
        self: &Arc<Self>,
        due: impl IntoIterator<Item = PendingCallback>,
    ) {
        for (callback, outcome) in due {
            match callback {
                OnEnd::Quick(on_end) => self.run_guarded(|| on_end(outcome)),
                OnEnd::InOrder(on_end) => self.push_owed(Box::new(move || on_end(outcome))),
            }
        }
    }

    fn accept(self: &Arc<Self>, request: Request, origin: &Origin) -> Routed {
        if !self.answers.load(Ordering::Acquire) {
            count(&self.engine().counters.malformed);
            self.log(LogLevel::Warning, || {
                format!(
                    "'{}' sent a request ({}), which its revision forbids",
                    self.peer(),
                    request.method()
                )
            });
            self.end_batch_member(origin);
            return Routed::Done;
        }
        let Some(found) = self.handlers.for_request(request.method()) else {
            let error = RpcError::method_not_found(request.method());
            self.reply(Some(request.id()), &error, origin);
            return Routed::Done;
        };
        // A quick request is answered at once and needs no room.
        if found.1.quick {
            return self.admit(request, origin, found, None);
        }
        let share = origin.sharer().map(|client| self.take_share(client));
        if !matches!(share, Some(None)) && self.requests.has_room() {
            return self.admit(request, origin, found, share.flatten());
        }
        if let Err(request) = self.hold_back(request, origin) {
            count(&self.engine().counters.refused_busy);
            let error = busy(self.settings.limits.max_requests);
            self.trouble(ServerEventKind::Busy, Some(request.method()), || {
                error.message.clone()
            });
            self.reply(Some(request.id()), &error, origin);
        }
        Routed::Done
    }

    /// Makes a request active. Before the call, the caller must check that there is room for one
    /// more request.
    fn admit(
        self: &Arc<Self>,
        request: Request,
        origin: &Origin,
        (method, handler): (&Arc<str>, &RequestHandler),
        share: Option<Share>,
    ) -> Routed {
        let opening = Opening {
            id: Some(request.id()),
            method,
            origin,
            quick: handler.quick,
            // A quick request ends at once and is not listed in the activity.
            runs: !handler.quick,
        };
        let active = match self.requests.open(&opening, about_now()) {
            Ok(active) => active,
            // The peer of a client has gone, or is about to be stopped.
            Err(Refusal::Closed) if !self.settings.serving => return Routed::Done,
            Err(refusal) => {
                let error = match refusal {
                    Refusal::Closed => RpcError::internal("the connection is closed"),
                    Refusal::InUse => RpcError::invalid_request(format!(
                        "id {} is in use by a request that is not answered yet",
                        request.id()
                    )),
                };
                self.reply(Some(request.id()), &error, origin);
                return Routed::Done;
            }
        };
        if let Some(sink) = &origin.sink {
            sink.attach(self.exchange_handle(&active));
        }
        let listed = (!handler.quick).then(|| Arc::clone(&active));
        let responder = Responder::new(Arc::clone(self), active, handler.quick, share);
        if handler.quick {
            self.run_guarded(|| (handler.call)(request, responder));
            return Routed::Done;
        }
        Routed::Work(Work {
            run: Run::Serve(Arc::clone(&handler.call), request, responder),
            request: listed,
            // On a connection that clients share, the handler runs on the thread that fed the
            // request.
            client: None,
        })
    }

    /// Defers a request if the writer is full, because the peer reads its answers too slowly. If
    /// the request cannot be deferred, returns the request, which the caller must refuse.
    fn hold_back(self: &Arc<Self>, request: Request, origin: &Origin) -> Result<(), Request> {
        let is_of_stream = origin.sink.is_none() && origin.batch.is_none();
        if !is_of_stream || !self.engine().writer.is_full() {
            return Err(request);
        }
        // A caller that reads must not block until there is room, so it may exceed the limit.
        let max = self.settings.limits.max_queued_bytes.saturating_mul(2);
        self.held_back.push(request, max)?;
        self.serve_held_back();
        Ok(())
    }

    /// Makes deferred requests active while there is room.
    pub(in crate::protocol) fn serve_held_back(self: &Arc<Self>) {
        while !self.held_back.is_empty() && self.requests.has_room() {
            let Some(request) = self.held_back.pop() else {
                return;
            };
            if let Some(found) = self.handlers.for_request(request.method()) {
                let taken = self.admit(request, &Origin::default(), found, None);
                self.dispatch(taken, None);
            }
            self.held_back.taken();
            // The last active request may have ended while this request still counted as deferred.
            self.request_ended();
        }
    }

    pub(super) fn notified(self: &Arc<Self>, notification: Notification) {
        match notification.method() {
            CANCELLED => self.cancelled(&notification),
            method => {
                let peer = Peer::new(Arc::clone(self));
                if let Some(quick) = self.handlers.for_quick_notification(method) {
                    quick(&peer, &notification);
                }
                if let Some((method, handler)) = self.handlers.for_notification(method) {
                    let handler = Arc::clone(handler);
                    let opening = Opening {
                        id: None,
                        method,
                        origin: &Origin::default(),
                        quick: false,
                        runs: false,
                    };
                    let opened = self.requests.open(&opening, about_now());
                    let active = opened.expect("a notification is never refused");
                    let leaving = Leaving(Arc::clone(self), active);
                    self.push_serial(Box::new(move || {
                        let Leaving(core, active) = &leaving;
                        core.requests.begin_run(active, about_now());
                        let _run = core.running(active);
                        handler(&peer, &notification);
                    }));
                }
            }
        }
    }

    pub(super) fn cancelled(self: &Arc<Self>, notification: &Notification) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: RequestId,
            #[serde(default)]
            reason: Option<String>,
        }
        let Ok(Params { request_id, reason }) = serde_json::from_str(notification.params()) else {
            count(&self.engine().counters.malformed);
            return;
        };
        let why = reason.clone();
        let Some((active, callbacks)) = self.requests.cancel(&request_id, reason) else {
            if self.held_back.cancel(&request_id) {
                return;
            }
            // A peer that sends no requests can only cancel a request of this side.
            if !self.answers.load(Ordering::Acquire) {
                self.settle(self.engine().calls.withdraw(&request_id));
            }
            return;
        };
        self.log(LogLevel::Debug, || {
            format!(
                "'{}' cancelled request {request_id}: {}",
                self.peer(),
                why.as_deref().unwrap_or("no reason given")
            )
        });
        self.push_callbacks(callbacks);
        self.end_batch_member(&active.origin);
    }

    /// Cancels a request because its client has disconnected.
    fn abandon(self: &Arc<Self>, active: &Arc<ActiveRequest>, reason: &str) {
        let Some(callbacks) = self.requests.abandon(active, reason) else {
            return;
        };
        self.log(LogLevel::Debug, || {
            format!(
                "request {} of '{}' is cancelled: {reason}",
                active.id(),
                self.peer()
            )
        });
        self.push_callbacks(callbacks);
        self.end_batch_member(&active.origin);
    }

    pub(in crate::protocol) fn exchange_handle(
        self: &Arc<Self>,
        active: &Arc<ActiveRequest>,
    ) -> ExchangeHandle {
        ExchangeHandle(Arc::new(Served {
            core: Arc::clone(self),
            request: Arc::downgrade(active),
        }))
    }

    /// Runs the handler of a request again, on a thread of the connection. Clients that share the
    /// connection get the free threads in turn.
    pub(crate) fn run_later(
        self: &Arc<Self>,
        client: Option<Client>,
        request: Option<Arc<ActiveRequest>>,
        run: Job,
    ) {
        let work = Work {
            run: Run::Job(run),
            request,
            client: client.clone(),
        };
        let spawn = self.engine().pool.push_work(client.as_ref(), work);
        self.spawn_if_needed(spawn);
    }

    /// Queues the callbacks of cancelled requests. The callbacks run in order with notifications,
    /// even if the connection ends first.
    pub(super) fn push_callbacks(self: &Arc<Self>, callbacks: Vec<Callback>) {
        for callback in callbacks {
            self.push_owed(callback);
        }
    }

    pub(super) fn push_serial(self: &Arc<Self>, job: Job) {
        match self
            .engine()
            .pool
            .push_serial(job, self.settings.limits.max_notifications)
        {
            Ok(spawn) => self.spawn_if_needed(spawn),
            Err(_) => count(&self.engine().counters.dropped_notifications),
        }
    }

    /// Queues a job that must run, even if the connection ends first. A call queues at most one of
    /// these jobs, so the number of jobs needs no limit.
    pub(in crate::protocol) fn push_owed(self: &Arc<Self>, job: Job) {
        match self.engine().pool.push_owed(job) {
            Ok(spawn) => self.spawn_if_needed(spawn),
            // The pool has no thread left for the job, so the job runs here. The job has to report
            // that the connection has ended.
            Err(job) => self.run_guarded(job),
        }
    }

    pub(super) fn refuse_malformed(self: &Arc<Self>, malformed: Malformed, origin: &Origin) {
        let Malformed { form, .. } = malformed;
        let is_no_memory = malformed.is_no_memory();
        let counters = &self.engine().counters;
        count(match form {
            _ if is_no_memory => &counters.too_long,
            Form::NotJson => &counters.noise,
            _ => &counters.malformed,
        });
        if let Some(excerpt) = &malformed.excerpt {
            _ = self.noise.set(excerpt.clone());
        }
        let text = || {
            let (peer, why) = (self.peer(), &malformed.error.message);
            match is_no_memory {
                true => format!("from '{peer}': {why}"),
                false => format!("'{peer}' sent a message that is none: {why}"),
            }
        };
        self.log(LogLevel::Warning, text);
        let kind = match is_no_memory {
            true => ServerEventKind::TooLong,
            false => ServerEventKind::Malformed,
        };
        self.trouble(kind, None, text);
        let answerable = match form {
            Form::Notification => return,
            Form::Request => {
                self.settings.serving
                    || (malformed.id.is_some() && self.answers.load(Ordering::Acquire))
            }
            Form::NotJson => self.settings.serving,
            Form::Response => {
                let delivered = malformed.id.clone().is_some_and(|id| {
                    let delivery = self.complete(&id, Outcome::Malformed(malformed.clone()));
                    matches!(delivery, Delivery::Delivered | Delivery::Watched)
                });
                !delivered && self.settings.serving
            }
        };
        if answerable {
            self.reply(malformed.id.as_ref(), &malformed.error, origin);
        } else {
            self.end_batch_member(origin);
        }
    }

    pub(super) fn refuse_too_long(self: &Arc<Self>, long: &TooLong) -> Routed {
        count(&self.engine().counters.too_long);
        let max = self.settings.limits.max_message_bytes;
        let bytes = long.bytes;
        let text = match long.no_memory {
            true => format!("the system has no memory for a message of {bytes} bytes"),
            false => format!("message of {bytes} bytes exceeds Limits::max_message_bytes ({max})"),
        };
        let told = || format!("from '{}': {text}", self.peer());
        self.log(LogLevel::Warning, told);
        self.trouble(ServerEventKind::TooLong, None, told);
        match (&long.id, long.is_response) {
            (Some(id), true) => {
                let text = match long.no_memory {
                    true => format!("the answer of '{}' was dropped: {text}", self.peer()),
                    false => format!("the answer of '{}' is too long: {text}", self.peer()),
                };
                let error = Error::new(ErrorKind::Limit, text).sent(true);
                return self.deliver(id, Outcome::Failed(error));
            }
            (None, true) => {}
            (id, false) if self.settings.serving || id.is_some() => {
                let error = match long.no_memory {
                    true => RpcError::no_memory(text),
                    // A peer does not know the settings of this side.
                    false => RpcError::invalid_request(format!(
                        "message of {bytes} bytes exceeds the maximum of {max} bytes"
                    )),
                };
                self.reply(id.as_ref(), &error, &Origin::default());
            }
            (_, false) => {}
        }
        Routed::Done
    }

    /// Sends an error response to a message that is not in the table of active requests. Does not
    /// block, except for a response sink.
    pub(super) fn reply(
        self: &Arc<Self>,
        id: Option<&RequestId>,
        error: &RpcError,
        origin: &Origin,
    ) {
        let response = Some(jsonrpc::write_error(id, error));
        self.end_unhandled(id, (response, Answer::Refused(error.code)), origin);
    }

    /// Ends a batch member that gets no answer. If this was the last member without an outcome,
    /// sends the answers of the other members.
    pub(super) fn end_batch_member(self: &Arc<Self>, origin: &Origin) {
        self.end_unhandled(None, (None, Answer::Result), origin);
    }

    fn end_unhandled(
        self: &Arc<Self>,
        id: Option<&RequestId>,
        response: (Option<Vec<u8>>, Answer),
        origin: &Origin,
    ) {
        match self.respond(origin, id, response, When::Elsewhere) {
            Ok(()) => self.write(When::Elsewhere, SendDeadline::WriteTimeout),
            Err(error) => self.log(LogLevel::Warning, || {
                format!("an error answer could not be sent: {error}")
            }),
        }
    }
}

/// A request and the connection that serves it, for the request's response sink.
struct Served {
    core: Arc<Core>,
    request: Weak<ActiveRequest>,
}

impl CancelRequest for Served {
    fn cancel(&self, reason: &str) {
        if let Some(request) = self.request.upgrade() {
            self.core.abandon(&request, reason);
        }
    }
}

/// A guard for a queued notification. When the handler of the notification has run or is discarded,
/// the guard is dropped. This removes the notification from the table of active requests.
struct Leaving(Arc<Core>, Arc<ActiveRequest>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.requests.leave(&self.1);
    }
}

fn busy(max: usize) -> RpcError {
    let text = format!("busy: {max} requests are in hand already; try again later");
    let error = RpcError::new(ErrorCode::INTERNAL_ERROR, text);
    error
        .clone()
        .with_data(&serde_json::json!({ "busy": true, "maxRequests": max }))
        .unwrap_or(error)
}
