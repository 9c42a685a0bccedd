//! The responder: the right to answer one request of the peer.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Weak};
#[cfg(feature = "http-server")]
use std::time::Duration;
use std::time::Instant;

use serde::Serialize;

use super::active_requests::{ActiveRequest, Opening, Watcher};
use super::cancel::CancelToken;
use super::core::{Core, Share};
use super::incident::ServerEventKind;
use super::log::LogLevel;
use super::peer::Peer;
use super::principal::Principal;
use super::response_sink::{Answer, ExchangeHandle, Origin, ResponseSink};
use super::writer::{SendDeadline, When};
use crate::error::{Error, ErrorCode, ErrorKind, Result, RpcError};
use crate::jsonrpc::{self, RawResult, RequestId};
use crate::shares::Client;

/// The right to answer one request of the peer, once, from any thread.
///
/// A handler may store the responder and return: the request can then be answered later. A stored
/// responder occupies no thread. If the responder is dropped without an answer, for example by a
/// panic, the request is answered with an internal error. After the peer cancelled the request, or
/// the connection closed, nothing is sent and the methods return an error.
pub struct Responder {
    core: Arc<Core>,
    request: Arc<ActiveRequest>,
    answered: bool,
    /// Whether the request counts as active.
    admitted: bool,
    /// Whether this responder was created with [`detach`](Self::detach). If so, another responder
    /// answers the peer's request.
    detached: bool,
    /// The time at which the answer is written.
    when: When,
    /// Whether the request counts towards its client's share of `max_requests`.
    has_share: bool,
}

impl Responder {
    /// Creates the responder of a request, and counts the request as active.
    pub(super) fn new(
        core: Arc<Core>,
        request: Arc<ActiveRequest>,
        quick: bool,
        share: Option<Share>,
    ) -> Self {
        core.requests.count(false);
        let has_share = share.map(Share::keep).is_some();
        Self {
            core,
            request,
            answered: false,
            admitted: true,
            detached: false,
            // A quick handler answers on the reading thread, which must not block.
            when: if quick { When::Elsewhere } else { When::Now },
            has_share,
        }
    }

    fn method(&self) -> &str {
        &self.request.method
    }

    /// Returns the id of the request.
    pub fn id(&self) -> &RequestId {
        self.request.id()
    }

    /// Whether the peer cancelled the request, or the connection closed. The check is cheap enough
    /// for polling.
    pub fn is_cancelled(&self) -> bool {
        self.request.cancel().is_triggered()
    }

    /// Returns the token that is cancelled when the peer cancels the request, or the connection
    /// closes.
    pub fn cancel_token(&self) -> &CancelToken {
        self.request.cancel()
    }

    /// Returns an error if no message can be sent for the request any more.
    #[cfg(feature = "cffi")]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.request.while_open(|| Ok(()))
    }

    /// Returns the request in the table of active requests.
    pub(crate) fn active(&self) -> Arc<ActiveRequest> {
        Arc::clone(&self.request)
    }

    /// Whether the request arrived in a batch (2025-03-26 only).
    pub fn is_batched(&self) -> bool {
        self.request.origin.batch.is_some()
    }

    /// Returns the name of the principal that sent the request, if the principal is known.
    pub fn principal(&self) -> Option<&str> {
        self.identity().map(Principal::name)
    }

    /// Returns the principal that sent the request, if the principal is known.
    pub fn identity(&self) -> Option<&Principal> {
        self.request.origin.principal.as_ref()
    }

    /// Logs a record about the connection for the host.
    pub(crate) fn log(&self, level: LogLevel, text: impl FnOnce() -> String) {
        self.core.log(level, text);
    }

    /// Returns the client that sent the request, if clients share the connection and the client has
    /// no principal.
    pub(crate) fn client(&self) -> Option<&Client> {
        self.request.origin.client.as_ref()
    }

    /// Returns the client that the request counts for, if clients share the connection.
    pub(crate) fn sharer(&self) -> Option<Client> {
        self.request.origin.sharer()
    }

    /// Returns a reason to refuse the request, if there is a reason. The reason is disclosed only
    /// to a client that may see the target of the request.
    pub(crate) fn objection(&self) -> Option<&RpcError> {
        self.request.origin.objection.as_deref()
    }

    /// Announces that the answer refuses the request because these scopes are missing.
    pub(crate) fn demand(&self, scopes: &BTreeSet<String>) {
        if let Some(sink) = &self.request.origin.sink {
            sink.demand(scopes);
        }
    }

    /// Announces that the host's permission hook refused the request. The next error answer is then
    /// reported as an answer of the hook.
    pub(crate) fn refused_by_guard(&self) {
        if let Some(sink) = &self.request.origin.sink {
            sink.refused_by_guard();
        }
    }

    #[cfg(feature = "http-server")]
    /// Makes the peer disconnect, and reconnect after the time `retry` to get the answer. Only some
    /// transports support this.
    pub(crate) fn close_stream_and_retry(&self, retry: Duration) -> Result<()> {
        match &self.request.origin.sink {
            Some(sink) => self
                .request
                .while_open(|| sink.close_stream_and_retry(retry)),
            None => Ok(()),
        }
    }

    /// Returns a handle that can send requests and notifications to the peer. The messages belong
    /// to this request.
    pub(crate) fn asking(&self) -> Asking {
        Asking {
            core: Arc::clone(&self.core),
            request: Arc::clone(&self.request),
        }
    }

    /// Creates a second responder for the same work, so that the work outlives the peer's request.
    /// The answer of the second responder is sent to `sink`. Returns `None` when the connection
    /// is closing.
    ///
    /// The peer's request can then be answered separately. Cancelling the peer's request no longer
    /// cancels the work.
    pub(crate) fn detach(&self, sink: Arc<dyn ResponseSink>) -> Option<(Self, ExchangeHandle)> {
        let origin = Origin {
            sink: Some(sink),
            apart: true,
            principal: self.request.origin.principal.clone(),
            client: self.request.origin.client.clone(),
            ..Origin::default()
        };
        let opening = Opening {
            id: Some(self.id()),
            method: &self.request.method,
            origin: &origin,
            quick: false,
            runs: false,
        };
        let request = self.core.requests.open(&opening, Instant::now()).ok()?;
        self.core.requests.count(true);
        let handle = self.core.exchange_handle(&request);
        let detached = Self {
            core: Arc::clone(&self.core),
            request,
            answered: false,
            admitted: true,
            detached: true,
            when: When::Now,
            has_share: false,
        };
        Some((detached, handle))
    }

    /// Returns the connection on which the request arrived.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Returns the peer that sent the request.
    pub fn peer(&self) -> Peer {
        Peer::new(Arc::clone(&self.core))
    }

    /// Answers the request with a result.
    ///
    /// Queues the message. Also writes the message unless another thread is writing. Blocks only if
    /// the peer does not read while
    /// [`max_queued_bytes`](crate::transport::Limits::max_queued_bytes) are already queued.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `result` cannot be serialized as JSON (the peer gets an internal
    /// error). [`ErrorKind::Cancelled`] or [`ErrorKind::Closed`] when the peer no longer waits.
    pub fn respond(self, result: &impl Serialize) -> Result<()> {
        let memory = Vec::with_capacity(256);
        self.respond_with(memory, |buffer| serde_json::to_writer(buffer, result))
    }

    /// Answers the request with a result that `append` serializes. `memory` is a buffer to reuse
    /// for the message.
    pub(crate) fn respond_with(
        mut self,
        memory: Vec<u8>,
        append: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<()> {
        match jsonrpc::write_result_with(memory, self.id(), append) {
            Ok(text) => self.answer(text, Answer::Result),
            Err(error) => {
                let why = format!(
                    "the result of {} can't be written as JSON: {error}",
                    self.method()
                );
                self.fail(&why)?;
                Err(Error::new(ErrorKind::Invalid, why))
            }
        }
    }

    /// Answers the request with a result that another peer gave. `beginning` replaces the first
    /// `replaced` bytes of the result.
    pub(crate) fn respond_raw(
        mut self,
        result: RawResult,
        beginning: &str,
        replaced: usize,
    ) -> Result<()> {
        let text = result.into_response(self.id(), beginning, replaced);
        self.answer(text, Answer::Result)
    }

    /// Answers the request with an error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`] or [`ErrorKind::Closed`] when the peer no longer waits.
    pub fn refuse(mut self, error: &RpcError) -> Result<()> {
        let text = jsonrpc::write_error(Some(self.id()), error);
        self.answer(text, Answer::Failed(error.code))
    }

    /// Answers the request with an error of the library, because no handler received the request.
    pub(crate) fn reject(mut self, error: &RpcError) -> Result<()> {
        let text = jsonrpc::write_error(Some(self.id()), error);
        self.answer(text, Answer::Refused(error.code))
    }

    /// Sends a notification that belongs to the request, before its answer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`] or [`ErrorKind::Closed`] when nothing may be sent for the request
    /// any more. [`ErrorKind::Timeout`] when the peer does not read. [`ErrorKind::Invalid`] when
    /// `params` cannot be serialized as JSON.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<()> {
        let text = jsonrpc::write_notification(method, params).map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("params of {method} are not JSON: {error}"),
            )
        })?;
        self.core.send_during(&self.request, text)
    }

    /// Whether the peer takes messages before the response.
    pub(crate) fn takes_messages(&self) -> bool {
        let sink = self.request.origin.sink.as_ref();
        sink.is_none_or(|sink| sink.takes_messages())
    }

    /// Records that a worker will answer the request later, and not the reading thread. The worker
    /// may wait for room in the outgoing queue.
    pub(crate) fn answer_from_worker(&mut self) {
        self.when = When::Now;
    }

    /// Stops counting the request as active, because the request only waits for events. Afterwards
    /// the request takes no room from other requests, and a close does not wait for the request.
    pub(crate) fn stand_aside(&mut self) {
        if std::mem::take(&mut self.admitted) {
            self.give_back_share();
            self.core.requests.uncount(self.detached);
            self.core.request_ended();
            self.core.serve_held_back();
        }
    }

    /// Stops counting the request towards its client's share.
    fn give_back_share(&mut self) {
        if std::mem::take(&mut self.has_share)
            && let Some(client) = self.sharer()
        {
            self.core.give_back_share(&client);
        }
    }

    /// Counts the request as active again, even if the limit is then exceeded.
    pub(crate) fn come_back(&mut self) {
        if !std::mem::replace(&mut self.admitted, true) {
            self.core.requests.count(self.detached);
        }
    }

    /// Whether messages of the request are sent to a response sink.
    pub(crate) fn has_outlet(&self) -> bool {
        self.request.origin.sink.is_some()
    }

    /// Ends the request with a final notification and the result, without blocking. A thread of the
    /// connection writes both messages.
    pub(crate) fn conclude(mut self, farewell: Vec<u8>, result: &impl Serialize) -> Result<()> {
        let text = jsonrpc::write_result(self.id(), result).map_err(|error| {
            let text = format!("the result of {} is not JSON: {error}", self.method());
            Error::new(ErrorKind::Invalid, text)
        })?;
        self.answered = true;
        self.request.begin_answer()?;
        self.core.requests.free_id(&self.request);
        self.core.conclude(&self.request, farewell, text)
    }

    /// Answers the request with an internal error. The details are logged, and not disclosed to the
    /// peer.
    pub(crate) fn fail(&mut self, why: &str) -> Result<()> {
        let text = || {
            format!(
                "request {} ({}) of '{}': {why}",
                self.request.id(),
                self.method(),
                self.core.peer()
            )
        };
        self.core.log(LogLevel::Error, text);
        let kind = ServerEventKind::HandlerFailed;
        self.core.trouble(kind, Some(self.method()), text);
        let text = jsonrpc::write_error(
            Some(self.request.id()),
            &RpcError::internal("internal error"),
        );
        self.answer(text, Answer::Failed(ErrorCode::INTERNAL_ERROR))
    }

    fn answer(&mut self, text: Vec<u8>, answer: Answer) -> Result<()> {
        self.answered = true;
        self.request.begin_answer()?;
        self.core.requests.free_id(&self.request);
        let is_counted = self.admitted && !self.detached;
        if is_counted {
            self.core.requests.begin_answering();
        }
        // The share is released before the answer is queued. The client may send its next request
        // as soon as it has read the answer.
        self.give_back_share();
        let (origin, id) = (&self.request.origin, Some(self.id()));
        let queued = self
            .core
            .respond(origin, id, (Some(text), answer), self.when);
        self.stand_aside();
        if is_counted {
            self.core.requests.end_answering();
        }
        queued?;
        self.core.write(self.when, SendDeadline::WriteTimeout);
        Ok(())
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if !self.answered && self.request.is_open() {
            let why = if std::thread::panicking() {
                "its handler panicked"
            } else {
                "its handler gave no answer"
            };
            if let Err(error) = self.fail(why) {
                self.core.log(LogLevel::Warning, || {
                    format!("the error answer could not be sent: {error}")
                });
            }
        }
        self.stand_aside();
        self.core.requests.leave(&self.request);
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder")
            .field("id", self.request.id())
            .field("method", &self.method())
            .finish_non_exhaustive()
    }
}

/// A handle for sending messages that belong to a request of the peer, before its answer.
pub(crate) struct Asking {
    pub(super) core: Arc<Core>,
    pub(super) request: Arc<ActiveRequest>,
}

impl Asking {
    /// Returns the id of the request.
    pub(crate) fn id(&self) -> &RequestId {
        self.request.id()
    }

    /// Registers a watcher for the cancellation of the request. Returns `false` if the request is
    /// no longer open.
    pub(crate) fn watch(&self, watcher: Weak<dyn Watcher>) -> bool {
        self.request.watch(watcher)
    }

    /// Sends or queues notifications that belong to the request, as [`Core::post`] does.
    pub(crate) fn post(&self, texts: Vec<Vec<u8>>) -> Result<usize> {
        self.core.post(Some(&self.request), texts)
    }

    /// Sends a serialized message that belongs to the request, before the answer of the request.
    pub(crate) fn forward(&self, text: Vec<u8>) -> Result<()> {
        self.core.send_during(&self.request, text)
    }
}
