//! Response sinks and the reply-to information of a message.

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

/// The kind of an answer, for response sinks whose clients also get it outside of the message, such
/// as in an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A result, or the responses of a batch.
    Result,
    /// An error of a handler or of the permission hook.
    Failed(ErrorCode),
    /// An error of the library, for a request that no handler received.
    Refused(ErrorCode),
}

/// A response sink: takes the messages that answer one message of the peer, instead of the
/// connection's stream. An example is the response to an HTTP request.
///
/// The exchange ensures that there is one response and that nothing follows it. A sink whose client
/// has disconnected returns [`ErrorKind::Closed`](crate::ErrorKind::Closed).
pub(crate) trait ResponseSink: Send + Sync + fmt::Debug {
    /// Called when the message is a request, which this exchange answers.
    fn attach(&self, _exchange: ExchangeHandle) {}

    /// Sends a message before the response. Blocks for a slow client until the deadline.
    ///
    /// Without a deadline it does not block, and returns `false` when there is no room.
    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool>;

    /// Sends a request of ours that belongs to the message, as [`send`](Self::send) does.
    fn ask(&self, text: &[u8], deadline: Option<Instant>) -> Result<()> {
        self.send(text, deadline).map(drop)
    }

    /// Sends the response. Blocks as [`send`](Self::send) does; without a deadline a slow client
    /// loses the response.
    fn respond(&self, text: Vec<u8>, answer: Answer, deadline: Option<Instant>) -> Result<()>;

    /// Announces that the next answer refuses the request because these scopes are missing. The
    /// sink can report them in its own way.
    fn demand(&self, _scopes: &BTreeSet<String>) {}

    /// Announces that the host's permission hook refused the request: the next error answer is the
    /// hook's.
    fn refused_by_guard(&self) {}

    #[cfg(feature = "http-server")]
    /// Makes the client disconnect and come back after `retry`, where the sink supports it.
    fn close_stream_and_retry(&self, _retry: Duration) -> Result<()> {
        Ok(())
    }

    /// Ends the sink without a response. Never blocks.
    fn close(&self);

    /// Sends this error instead of a response because the connection ends, if that needs no
    /// waiting.
    fn cut_off(&self, _error: Vec<u8>) {
        self.close();
    }
}

/// A handle for cancelling the request of a response sink, for a thread that notices that the
/// client has gone.
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

/// The reply-to information of a message. The default is the connection's stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The batch that contains the message.
    pub(crate) batch: Option<Arc<Batch>>,
    pub(crate) outlet: Option<Arc<dyn ResponseSink>>,
    /// Whether its id is unique only within its sender: other clients of the connection use the
    /// same ids.
    pub(crate) apart: bool,
    /// The principal that sent it, if known.
    pub(crate) principal: Option<Principal>,
    /// The client whose share of the limits it uses, where clients without a principal share the
    /// connection.
    pub(crate) client: Option<Client>,
    /// A reason to refuse the request. It is disclosed only to a client that may see the target of
    /// the request.
    pub(crate) objection: Option<Box<RpcError>>,
}

impl Origin {
    /// The client whose share of the connection the message uses, if clients share the connection.
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

    /// Returns the text to send when the message got this response or will get none. A batch member
    /// yields text only when its batch is complete.
    pub(super) fn completed_by(&self, response: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match &self.batch {
            Some(batch) => batch.end_one(response),
            None => response,
        }
    }
}
