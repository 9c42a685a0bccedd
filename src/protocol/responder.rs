//! The right to answer one request.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
#[cfg(feature = "http-server")]
use std::time::Duration;
use std::time::Instant;

use serde::Serialize;

use super::call::{self, StartedCall, Turn};
use super::cancel::CancelToken;
use super::core::{Core, Share};
use super::handlers::Place;
use super::in_hand::What;
use super::incoming::{Exchange, Watcher};
use super::log::LogLevel;
use super::outlet::{Answer, ExchangeHandle, Origin, Outlet};
use super::peer::Peer;
use super::principal::Principal;
use super::trouble::ServerEventKind;
use crate::error::{Error, ErrorCode, ErrorKind, Result, RpcError};
use crate::jsonrpc::{self, RawResult, RequestId};
use crate::shares::Client;
use crate::transport::SessionMessage;

/// The right to answer one request of the peer, once, from any thread.
///
/// It may be kept after the handler returned, and answered later: it occupies no thread. Dropped without an answer, by a panic too, it
/// answers with an internal error. After the peer cancelled the request, or the connection closed, nothing is sent any more, and the
/// methods say so.
pub struct Responder {
    core: Arc<Core>,
    exchange: Arc<Exchange>,
    /// The place of the handler.
    place: Place,
    answered: bool,
    /// Whether the request is one of those in hand.
    admitted: bool,
    /// Whether the peer has its answer already, and this one goes elsewhere.
    detached: bool,
    /// Under which it is seen among what is in hand.
    key: Option<u64>,
    /// What it takes of its client's share, while it is in hand.
    share: Option<Share>,
}

impl Responder {
    /// The caller has counted the request as admitted.
    pub(super) fn new(
        core: Arc<Core>,
        exchange: Arc<Exchange>,
        place: Place,
        key: Option<u64>,
        share: Option<Share>,
    ) -> Self {
        Self {
            core,
            exchange,
            place,
            answered: false,
            admitted: true,
            detached: false,
            key,
            share,
        }
    }

    fn method(&self) -> &str {
        self.core.handlers.name_of_request(self.place)
    }

    /// The id of the request.
    pub fn id(&self) -> &RequestId {
        &self.exchange.id
    }

    /// Whether the peer cancelled the request, or the connection closed. Cheap: poll it.
    pub fn is_cancelled(&self) -> bool {
        self.exchange.cancel().is_triggered()
    }

    /// The token that is triggered when the peer cancels the request, or the connection closes.
    pub fn cancel_token(&self) -> &CancelToken {
        self.exchange.cancel()
    }

    /// Why nothing can be sent for the request any more, if it is so.
    #[cfg(feature = "cffi")]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.exchange.while_open(|| Ok(()))
    }

    /// Under which it is seen among what is in hand.
    pub(crate) fn key(&self) -> Option<u64> {
        self.key
    }

    /// Whether the request came in a batch (2025-03-26 only).
    pub fn is_batched(&self) -> bool {
        self.exchange.origin.batch.is_some()
    }

    /// Who sent the request, if that was found out.
    pub fn principal(&self) -> Option<&str> {
        self.identity().map(Principal::name)
    }

    /// Who sent the request and what that one may do, if that was found out.
    pub fn identity(&self) -> Option<&Principal> {
        self.exchange.origin.principal.as_ref()
    }

    /// The client that sent the request, where many clients without a principal use the connection.
    pub(crate) fn client(&self) -> Option<&Client> {
        self.exchange.origin.client.as_ref()
    }

    /// What is wrong with the request, to be told only to whom what it is about may be shown.
    pub(crate) fn objection(&self) -> Option<&RpcError> {
        self.exchange.origin.objection.as_deref()
    }

    /// What answers the request is a refusal for want of these scopes.
    pub(crate) fn demand(&self, scopes: &BTreeSet<String>) {
        if let Some(outlet) = &self.exchange.origin.outlet {
            outlet.demand(scopes);
        }
    }

    /// A guard of the host's has said no: what the request is refused with next is its error.
    pub(crate) fn refused_by_guard(&self) {
        if let Some(outlet) = &self.exchange.origin.outlet {
            outlet.refused_by_guard();
        }
    }

    #[cfg(feature = "http-server")]
    /// Has the peer come back for the answer later, where the transport can.
    pub(crate) fn send_away(&self, retry: Duration) -> Result<()> {
        match &self.exchange.origin.outlet {
            Some(outlet) => self.exchange.while_open(|| outlet.send_away(retry)),
            None => Ok(()),
        }
    }

    /// What sends the peer requests that belong to this one.
    pub(crate) fn asking(&self) -> Asking {
        Asking {
            core: Arc::clone(&self.core),
            exchange: Arc::clone(&self.exchange),
        }
    }

    /// The same work under another right to answer, whose answer goes to an outlet: the peer's request can be answered meanwhile, and
    /// what the peer cancels of it is not the work any more. `None` when the connection closes.
    pub(crate) fn detach(&self, outlet: Arc<dyn Outlet>) -> Option<(Self, ExchangeHandle)> {
        let origin = Origin {
            outlet: Some(outlet),
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

    /// The connection on which the request came.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The peer that asks, to ask it something in turn.
    pub fn peer(&self) -> Peer {
        Peer::new(Arc::clone(&self.core))
    }

    /// Answers with a result.
    ///
    /// Queues the message and writes it unless another thread is writing; waits for a peer that does not read only while
    /// [`max_queued_bytes`](crate::transport::Limits::max_queued_bytes) are queued already.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `result` can't be written as JSON (the peer gets an internal error), [`ErrorKind::Cancelled`] or
    /// [`ErrorKind::Closed`] when nobody waits any more.
    pub fn respond(self, result: &impl Serialize) -> Result<()> {
        let memory = Vec::with_capacity(256);
        self.respond_with(memory, |buffer| serde_json::to_writer(buffer, result))
    }

    /// The same with a result that is appended to the answer by a function, in memory that nobody needs any more.
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

    /// Answers with an error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`] or [`ErrorKind::Closed`] when nobody waits any more.
    pub fn refuse(mut self, error: &RpcError) -> Result<()> {
        let text = jsonrpc::write_error(Some(self.id()), error);
        self.answer(text, Answer::Failed(error.code))
    }

    /// Answers with an error of this library's, for a request that is not handed to a handler.
    pub(crate) fn reject(mut self, error: &RpcError) -> Result<()> {
        let text = jsonrpc::write_error(Some(self.id()), error);
        self.answer(text, Answer::Refused(error.code))
    }

    /// Sends a notification that belongs to the request, before its answer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`] or [`ErrorKind::Closed`] when nothing may be sent for the request any more, [`ErrorKind::Timeout`] when
    /// the peer does not read, [`ErrorKind::Invalid`] when `params` can't be written as JSON.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<()> {
        let text = jsonrpc::write_notification(method, params).map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("params of {method} are not JSON: {error}"),
            )
        })?;
        self.core.send_while_open(&self.exchange, text)
    }

    /// Counts the request no longer as one in hand: it waits for events, keeps nobody else out, and nobody waits for its end.
    pub(crate) fn stand_aside(&mut self) {
        if std::mem::take(&mut self.admitted) {
            // In this order: in between the request counts as one more, not as one less.
            if self.detached {
                self.core.detached.fetch_sub(1, Ordering::SeqCst);
            }
            self.share = None;
            self.core.admitted.fetch_sub(1, Ordering::SeqCst);
            self.core.request_ended();
            self.core.serve_held_back();
        }
    }

    /// Counts the request as one in hand again, if there are too many even.
    pub(crate) fn come_back(&mut self) {
        if !std::mem::replace(&mut self.admitted, true) {
            self.core.admitted.fetch_add(1, Ordering::SeqCst);
            if self.detached {
                self.core.detached.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Whether what belongs to the request has a way of its own.
    pub(crate) fn has_outlet(&self) -> bool {
        self.exchange.origin.outlet.is_some()
    }

    /// Ends the request with a notification and its result, queued without waiting; to be written by [`Core::write_soon`].
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

    /// Hides what happened from the peer and logs it here.
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
        // The client may send its next request as soon as it has read the answer.
        self.share = None;
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
        if let Some(key) = self.key {
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

/// Sends what belongs to a request of the peer's, before its answer.
pub(crate) struct Asking {
    core: Arc<Core>,
    exchange: Arc<Exchange>,
}

impl Asking {
    /// The id of the request.
    pub(crate) fn id(&self) -> &RequestId {
        &self.exchange.id
    }

    /// Has somebody told when nobody waits for the answer any more. `false` when it is so already.
    pub(crate) fn watch(&self, watcher: Weak<dyn Watcher>) -> bool {
        self.exchange.watch(watcher)
    }

    /// Sends or queues a notification without waiting: see [`Core::post`].
    pub(crate) fn post(&self, text: Vec<u8>) -> Result<bool> {
        self.core.post(Some(&self.exchange), text)
    }

    /// Sends a message that is written already, before the answer.
    pub(crate) fn forward(&self, text: Vec<u8>) -> Result<()> {
        self.core.send_while_open(&self.exchange, text)
    }

    /// Sends a request whose outcome goes to a callback, in order with notifications. See [`call::start_request`].
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
            Turn::InOrder,
            on_end,
            send,
        )
    }
}

/// A message that answers the exchange.
pub(super) fn response_of(exchange: &Exchange, text: Vec<u8>) -> SessionMessage {
    SessionMessage::new(text).related_to(exchange.id.clone())
}
