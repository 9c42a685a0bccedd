//! Response sinks, and the information where the answer of a message is sent.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Weak};
#[cfg(feature = "http-server")]
use std::time::Duration;
use std::time::Instant;

use super::core::Core;
use super::incoming::{Batch, Exchange};
use super::principal::Principal;
use crate::error::{ErrorCode, Result, RpcError};
use crate::shares::Client;

/// The kind of an answer. Some response sinks report the kind outside of the message too, for
/// example as an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The answer is a result, or the responses of a batch.
    Result,
    /// The answer is an error of a handler or of the permission hook.
    Failed(ErrorCode),
    /// The answer is an error of the library, for a request that no handler received.
    Refused(ErrorCode),
}

/// A response sink: it receives the messages that answer one message of the peer, instead of the
/// connection's stream. An example is the response to an HTTP request.
///
/// The exchange ensures that there is one response and that no message follows the response. A sink
/// whose client has disconnected returns [`ErrorKind::Closed`](crate::ErrorKind::Closed).
pub(crate) trait ResponseSink: Send + Sync + fmt::Debug {
    /// Called when the message of the peer is a request. `exchange` is the exchange of the request.
    fn attach(&self, _exchange: ExchangeHandle) {}

    /// Sends a message before the response. Blocks for a slow client until the deadline.
    ///
    /// Without a deadline the call does not block, and returns `false` when there is no room.
    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool>;

    /// Sends a request of this side that belongs to the message, as [`send`](Self::send) sends a
    /// message.
    fn ask(&self, text: &[u8], deadline: Option<Instant>) -> Result<()> {
        self.send(text, deadline).map(drop)
    }

    /// Sends the response. Blocks as [`send`](Self::send) does. Without a deadline the response is
    /// lost if the client is too slow.
    fn respond(&self, text: Vec<u8>, answer: Answer, deadline: Option<Instant>) -> Result<()>;

    /// Announces that the next answer refuses the request because these scopes are missing. A sink
    /// can report the scopes in its own way.
    fn demand(&self, _scopes: &BTreeSet<String>) {}

    /// Announces that the host's permission hook refused the request. The next error answer is
    /// therefore an answer of the hook.
    fn refused_by_guard(&self) {}

    #[cfg(feature = "http-server")]
    /// Makes the client disconnect and reconnect after `retry`. Only some sinks support this.
    fn close_stream_and_retry(&self, _retry: Duration) -> Result<()> {
        Ok(())
    }

    /// Ends the sink without a response. Never blocks.
    fn close(&self);

    /// Sends this error instead of a response because the connection ends. Sends nothing if sending
    /// would block.
    fn cut_off(&self, _error: Vec<u8>) {
        self.close();
    }
}

/// A handle for cancelling the request of a response sink. A thread uses it when it notices that
/// the client has gone.
#[derive(Clone)]
pub(crate) struct ExchangeHandle {
    core: Arc<Core>,
    exchange: Weak<Exchange>,
}

impl ExchangeHandle {
    pub(super) fn new(core: Arc<Core>, exchange: &Arc<Exchange>) -> Self {
        let exchange = Arc::downgrade(exchange);
        Self { core, exchange }
    }

    /// Cancels the request, because the client no longer waits. Neither blocks nor runs user code.
    pub(crate) fn cancel(&self, reason: &str) {
        if let Some(exchange) = self.exchange.upgrade() {
            self.core.abandon(&exchange, reason);
        }
    }
}

impl fmt::Debug for ExchangeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeHandle").finish_non_exhaustive()
    }
}

/// The information where the answer of a message is sent. By default this is the connection's
/// stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The batch that contains the message.
    pub(crate) batch: Option<Arc<Batch>>,
    pub(crate) outlet: Option<Arc<dyn ResponseSink>>,
    /// Whether the id of the message is unique only for its sender, because several clients of the
    /// connection use the same ids.
    pub(crate) apart: bool,
    /// The principal that sent the message, if known.
    pub(crate) principal: Option<Principal>,
    /// The client whose share of the limits the message uses, if clients without a principal share
    /// the connection.
    pub(crate) client: Option<Client>,
    /// A reason to refuse the request in the message. It is disclosed only to a client that may see
    /// the target of the request.
    pub(crate) objection: Option<Box<RpcError>>,
}

impl Origin {
    /// Returns the client whose share of the connection the message uses, if clients share the
    /// connection.
    pub(super) fn sharer(&self) -> Option<Client> {
        if !self.apart {
            return None;
        }
        let principal = self.principal.as_ref().map(Principal::client);
        principal.or_else(|| self.client.clone())
    }

    pub(crate) fn of_batch(&self, batch: Arc<Batch>) -> Self {
        Self {
            batch: Some(batch),
            ..self.clone()
        }
    }

    /// Returns the text to send for the message. Without `response` the message gets no response.
    /// For a member of a batch, returns a text only when the batch is complete.
    pub(super) fn completed_by(&self, response: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match &self.batch {
            Some(batch) => batch.end_one(response),
            None => response,
        }
    }
}
