//! The responder: the right to answer one request of the peer.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
#[cfg(feature = "http-server")]
use std::time::Duration;
use std::time::Instant;

use serde::Serialize;

use super::active::What;
use super::call::{self, CallbackPlace, StartedCall};
use super::cancel::CancelToken;
use super::core::{Core, Share};
use super::handlers::Place;
use super::incident::ServerEventKind;
use super::incoming::{Exchange, Watcher};
use super::log::LogLevel;
use super::peer::Peer;
use super::principal::Principal;
use super::response_sink::{Answer, ExchangeHandle, Origin, ResponseSink};
use crate::error::{Error, ErrorCode, ErrorKind, Result, RpcError};
use crate::jsonrpc::{self, RawResult, RequestId};
use crate::shares::Client;
use crate::transport::SessionMessage;

/// The right to answer one request of the peer, once, from any thread.
///
/// A handler may store the responder and return: the request can then be answered later. A stored
/// responder occupies no thread. If the responder is dropped without an answer, for example by a
/// panic, the request is answered with an internal error. After the peer cancelled the request, or
/// the connection closed, nothing is sent and the methods return an error.
pub struct Responder {
    core: Arc<Core>,
    exchange: Arc<Exchange>,
    /// The index of the request's handler.
    place: Place,
    answered: bool,
    /// Whether the request counts as active.
    admitted: bool,
    /// Whether this responder was created with [`detach`](Self::detach). If so, another responder
    /// answers the peer's request.
    detached: bool,
    /// The key of the request in the table of active requests.
    key: Option<NonZeroU64>,
    /// Whether the request counts towards its client's share of `max_requests`.
    has_share: bool,
}

impl Responder {
    /// Creates the responder of a request. Before the call, the caller must count the request as
    /// active.
    pub(super) fn new(
        core: Arc<Core>,
        exchange: Arc<Exchange>,
        place: Place,
        key: Option<u64>,
        share: Option<Share>,
    ) -> Self {
        let has_share = share.map(Share::keep).is_some();
        Self {
            core,
            exchange,
            place,
            answered: false,
            admitted: true,
            detached: false,
            key: key.and_then(NonZeroU64::new),
            has_share,
        }
    }

    fn method(&self) -> &str {
        self.core.handlers.name_of_request(self.place)
    }

    /// Returns the id of the request.
    pub fn id(&self) -> &RequestId {
        &self.exchange.id
    }

    /// Whether the peer cancelled the request, or the connection closed. The check is cheap enough
    /// for polling.
    pub fn is_cancelled(&self) -> bool {
        self.exchange.cancel().is_triggered()
    }

    /// Returns the token that is cancelled when the peer cancels the request, or the connection
    /// closes.
    pub fn cancel_token(&self) -> &CancelToken {
        self.exchange.cancel()
    }

    /// Returns an error if no message can be sent for the request any more.
    #[cfg(feature = "cffi")]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.exchange.while_open(|| Ok(()))
    }

    /// Returns the key of the request in the table of active requests.
    pub(crate) fn key(&self) -> Option<u64> {
        self.key.map(NonZeroU64::get)
    }

    /// Whether the request arrived in a batch (2025-03-26 only).
    pub fn is_batched(&self) -> bool {
        self.exchange.origin.batch.is_some()
    }

    /// Returns the name of the principal that sent the request, if the principal is known.
    pub fn principal(&self) -> Option<&str> {
        self.identity().map(Principal::name)
    }

    /// Returns the principal that sent the request, if the principal is known.
    pub fn identity(&self) -> Option<&Principal> {
        self.exchange.origin.principal.as_ref()
    }

    /// Returns the client that sent the request, if clients share the connection and the client has
    /// no principal.
    pub(crate) fn client(&self) -> Option<&Client> {
        self.exchange.origin.client.as_ref()
    }

    /// Returns the client that the request counts for, if clients share the connection.
    pub(crate) fn sharer(&self) -> Option<Client> {
        self.exchange.origin.sharer()
    }

    /// Returns a reason to refuse the request, if there is a reason. The reason is disclosed only
    /// to a client that may see the target of the request.
    pub(crate) fn objection(&self) -> Option<&RpcError> {
        self.exchange.origin.objection.as_deref()
    }

    /// Announces that the answer refuses the request because these scopes are missing.
    pub(crate) fn demand(&self, scopes: &BTreeSet<String>) {
        if let Some(sink) = &self.exchange.origin.sink {
            sink.demand(scopes);
        }
    }

    /// Announces that the host's permission hook refused the request. The next error answer is then
    /// reported as an answer of the hook.
    pub(crate) fn refused_by_guard(&self) {
        if let Some(sink) = &self.exchange.origin.sink {
            sink.refused_by_guard();
        }
    }

    #[cfg(feature = "http-server")]
    /// Makes the peer disconnect, and reconnect after the time `retry` to get the answer. Only some
    /// transports support this.
    pub(crate) fn close_stream_and_retry(&self, retry: Duration) -> Result<()> {
        match &self.exchange.origin.sink {
            Some(sink) => self
                .exchange
                .while_open(|| sink.close_stream_and_retry(retry)),
            None => Ok(()),
        }
    }

    /// Returns a handle that can send requests and notifications to the peer. The messages belong
    /// to this request.
    pub(crate) fn asking(&self) -> Asking {
        Asking {
            core: Arc::clone(&self.core),
            exchange: Arc::clone(&self.exchange),
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
            principal: self.exchange.origin.principal.clone(),
            client: self.exchange.origin.client.clone(),
            ..Origin::default()
        };
        let exchange = self.core.exchanges.open(self.id(), &origin).ok()?;
        self.core.admitted.fetch_add(1, Ordering::SeqCst);
        self.core.detached.fetch_add(1, Ordering::SeqCst);
        let handle = ExchangeHandle::new(Arc::clone(&self.core), &exchange);
        let (in_hand, now) = (&self.core.engine().in_hand, Instant::now());
        let key = in_hand.enter(What::Request(self.place, self.id().clone()), now);
        let mut detached = Self::new(
            Arc::clone(&self.core),
            exchange,
            self.place,
            Some(key),
            None,
        );
        detached.detached = true;
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
        self.core.send_while_open(&self.exchange, text)
    }

    /// Stops counting the request as active, because the request only waits for events. Afterwards
    /// the request takes no room from other requests, and a close does not wait for the request.
    pub(crate) fn stand_aside(&mut self) {
        if std::mem::take(&mut self.admitted) {
            // `detached` is decremented first. In between, the request counts once too often
            // instead of too rarely, so that no request is admitted above the limit.
            if self.detached {
                self.core.detached.fetch_sub(1, Ordering::SeqCst);
            }
            self.give_back_share();
            self.core.admitted.fetch_sub(1, Ordering::SeqCst);
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
            self.core.admitted.fetch_add(1, Ordering::SeqCst);
            if self.detached {
                self.core.detached.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Whether messages of the request are sent to a response sink.
    pub(crate) fn has_outlet(&self) -> bool {
        self.exchange.origin.sink.is_some()
    }

    /// Ends the request with a final notification and the result. Both messages are queued without
    /// blocking. [`Core::write_soon`] writes the messages.
    pub(crate) fn conclude(mut self, farewell: Vec<u8>, result: &impl Serialize) -> Result<()> {
        let text = jsonrpc::write_result(self.id(), result).map_err(|error| {
            let text = format!("the result of {} is not JSON: {error}", self.method());
            Error::new(ErrorKind::Invalid, text)
        })?;
        self.answered = true;
        self.exchange.begin_answer()?;
        self.core.exchanges.forget(&self.exchange);
        self.core.post_last(&self.exchange, farewell, text)
    }

    /// Answers the request with an internal error. The details are logged, and not disclosed to the
    /// peer.
    fn fail(&mut self, why: &str) -> Result<()> {
        let text = || {
            format!(
                "request {} ({}) of '{}': {why}",
                self.exchange.id,
                self.method(),
                self.core.peer()
            )
        };
        self.core.log(LogLevel::Error, text);
        let kind = ServerEventKind::HandlerFailed;
        self.core.trouble(kind, Some(self.method()), text);
        let text = jsonrpc::write_error(
            Some(&self.exchange.id),
            &RpcError::internal("internal error"),
        );
        self.answer(text, Answer::Failed(ErrorCode::INTERNAL_ERROR))
    }

    fn answer(&mut self, text: Vec<u8>, answer: Answer) -> Result<()> {
        self.answered = true;
        self.exchange.begin_answer()?;
        self.core.exchanges.forget(&self.exchange);
        let is_counted = self.admitted && !self.detached;
        if is_counted {
            self.core.answering.fetch_add(1, Ordering::SeqCst);
        }
        // The share is released before the answer is queued. The client may send its next request
        // as soon as it has read the answer.
        self.give_back_share();
        let queued = self.core.queue_response(&self.exchange, text, answer);
        self.stand_aside();
        if is_counted {
            self.core.answering.fetch_sub(1, Ordering::SeqCst);
        }
        queued?;
        self.core.write_answers();
        Ok(())
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if !self.answered && self.exchange.is_open() {
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
        if let Some(key) = self.key() {
            self.core.engine().in_hand.leave(key);
        }
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder")
            .field("id", &self.exchange.id)
            .field("method", &self.method())
            .finish_non_exhaustive()
    }
}

/// A handle for sending messages that belong to a request of the peer, before its answer.
pub(crate) struct Asking {
    core: Arc<Core>,
    exchange: Arc<Exchange>,
}

impl Asking {
    /// Returns the id of the request.
    pub(crate) fn id(&self) -> &RequestId {
        &self.exchange.id
    }

    /// Registers a watcher for the cancellation of the request. Returns `false` if the exchange is
    /// no longer open.
    pub(crate) fn watch(&self, watcher: Weak<dyn Watcher>) -> bool {
        self.exchange.watch(watcher)
    }

    /// Sends or queues a notification without blocking: see [`Core::post`].
    pub(crate) fn post(&self, text: Vec<u8>) -> Result<bool> {
        self.core.post(Some(&self.exchange), text)
    }

    /// Sends or queues notifications that belong to the request, as [`Core::post_all`] does.
    pub(crate) fn post_all(&self, texts: Vec<Vec<u8>>) -> Result<usize> {
        self.core.post_all(Some(&self.exchange), texts)
    }

    /// Sends a serialized message that belongs to the request, before the answer of the request.
    pub(crate) fn forward(&self, text: Vec<u8>) -> Result<()> {
        self.core.send_while_open(&self.exchange, text)
    }

    /// Sends a request whose outcome goes to a callback. The callback runs in order with
    /// notification handlers. See [`call::start_request`].
    pub(crate) fn start(
        &self,
        method: &'static str,
        write_params: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        on_end: impl FnOnce(Result<RawResult>) + Send + 'static,
    ) -> Result<StartedCall> {
        let send = |message| self.core.send_started(message, Some(&self.exchange));
        call::start_request(
            &self.core,
            method,
            write_params,
            CallbackPlace::InOrder,
            on_end,
            send,
        )
    }
}

/// Creates the message that answers an exchange.
pub(super) fn response_of(exchange: &Exchange, text: Vec<u8>) -> SessionMessage {
    SessionMessage::new(text).related_to(exchange.id.clone())
}
