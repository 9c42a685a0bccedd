//! Response sinks, and the origin of a message, which determines where the answer is sent.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
#[cfg(feature = "http-server")]
use std::time::Duration;
use std::time::Instant;

use super::principal::Principal;
use crate::error::{ErrorCode, Result, RpcError};
use crate::shares::Client;
use crate::sync::Mutex;

/// The kind of an answer. Some response sinks also report the kind outside of the message, for
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

/// The destination of the messages that answer one message of the peer. Without a sink these
/// messages are sent on the connection's stream. An example of a sink is the response to an HTTP
/// request.
///
/// The [active request](super::active_requests) ensures that there is one response and that no
/// message follows the response. If the client has disconnected, the functions of the sink return
/// [`ErrorKind::Closed`](crate::ErrorKind::Closed).
pub(crate) trait ResponseSink: Send + Sync + fmt::Debug {
    /// Passes a handle of the active request to the sink. Called only when the message of the peer
    /// is a request.
    fn attach(&self, _exchange: ExchangeHandle) {}

    /// Sends a message before the response. Blocks until the deadline if the client reads slowly.
    ///
    /// Without a deadline the function does not block, and returns `false` when there is no room.
    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool>;

    /// Sends several messages before the response, in their order and without blocking. Stops at
    /// the first message for which there is no room. Returns the number of messages sent. A sink
    /// may send all messages in one write.
    fn send_all(&self, texts: &[Vec<u8>]) -> Result<usize> {
        for (sent, text) in texts.iter().enumerate() {
            match self.send(text, None) {
                Ok(true) => {}
                // The next attempt finds the error again. The count must not get lost.
                Err(error) if sent == 0 => return Err(error),
                Ok(false) | Err(_) => return Ok(sent),
            }
        }
        Ok(texts.len())
    }

    /// Whether the client takes messages before the response. If not, notifications are dropped,
    /// and the client can't be asked.
    fn takes_messages(&self) -> bool {
        true
    }

    /// Sends a request to the client. The request belongs to the client's message. Blocks as
    /// [`send`](Self::send) does.
    fn ask(&self, text: &[u8], deadline: Option<Instant>) -> Result<()> {
        self.send(text, deadline).map(drop)
    }

    /// Sends the response. Blocks as [`send`](Self::send) does. If the client reads too slowly and
    /// there is no deadline, the response is lost.
    fn respond(&self, text: Vec<u8>, answer: Answer, deadline: Option<Instant>) -> Result<()>;

    /// Announces that the next answer refuses the request because these scopes are missing. A sink
    /// may report the scopes, for example in a header field.
    fn demand(&self, _scopes: &BTreeSet<String>) {}

    /// Announces that the host's permission hook refused the request. The next error answer is then
    /// reported as an answer of the hook.
    fn refused_by_guard(&self) {}

    #[cfg(feature = "http-server")]
    /// Makes the client disconnect, and reconnect after the time `retry`. Only some sinks support
    /// this.
    fn close_stream_and_retry(&self, _retry: Duration) -> Result<()> {
        Ok(())
    }

    /// Ends the sink without a response. Never blocks.
    fn close(&self);

    /// Sends this error instead of a response, because the connection ends. If sending would block,
    /// nothing is sent.
    fn cut_off(&self, _error: Vec<u8>) {
        self.close();
    }
}

/// A handle that cancels the request of a response sink. A thread uses the handle when the client
/// has disconnected.
#[derive(Clone)]
pub(crate) struct ExchangeHandle(pub(super) Arc<dyn CancelRequest>);

/// The cancellation of one request by the thread that notices the client's absence.
pub(super) trait CancelRequest: Send + Sync {
    fn cancel(&self, reason: &str);
}

impl ExchangeHandle {
    /// Cancels the request, because the client no longer waits. Neither blocks nor runs user code.
    pub(crate) fn cancel(&self, reason: &str) {
        self.0.cancel(reason);
    }
}

impl fmt::Debug for ExchangeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeHandle").finish_non_exhaustive()
    }
}

/// The origin of a message, which determines where the answer is sent. By default the answer is
/// sent on the connection's stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The batch that contains the message, if any.
    pub(crate) batch: Option<Arc<Batch>>,
    pub(crate) sink: Option<Arc<dyn ResponseSink>>,
    /// Whether the id of the message may be in use by another client of the connection at the same
    /// time.
    pub(crate) apart: bool,
    /// The principal that sent the message, if known.
    pub(crate) principal: Option<Principal>,
    /// The client that sent the message, if clients share the connection and the client has no
    /// principal.
    pub(crate) client: Option<Client>,
    /// A reason to refuse the request in the message, if any. The reason is disclosed only to a
    /// client that may see the target of the request.
    pub(crate) objection: Option<Box<RpcError>>,
}

impl Origin {
    /// Returns the client that the message counts for, if clients share the connection.
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

    /// Returns the text to send for the message. `response` is `None` if the message gets no
    /// response. For a member of a batch, the result is `Some` only when the batch is complete.
    pub(super) fn completed_by(&self, response: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match &self.batch {
            Some(batch) => batch.end_one(response),
            None => response,
        }
    }
}

/// A batch: collects the responses to its members. The responses are sent together.
///
/// Spec: Base Protocol, "Batching" (2025-03-26 only).
#[derive(Debug)]
pub(crate) struct Batch(Mutex<BatchState>);

#[derive(Debug)]
struct BatchState {
    /// The number of members without an outcome.
    open: usize,
    responses: Vec<Vec<u8>>,
}

impl Batch {
    /// Creates a batch of `open` members. Each member is ended with [`end_one`](Self::end_one).
    pub(crate) fn new(open: usize) -> Self {
        Self(Mutex::new(BatchState {
            open,
            responses: Vec::new(),
        }))
    }

    /// Ends one member, with or without a response. After the last member, returns the array of all
    /// responses; `None` if there are no responses.
    pub(crate) fn end_one(&self, response: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let mut state = self.0.lock();
        state.responses.extend(response);
        state.open -= 1;
        if state.open > 0 || state.responses.is_empty() {
            return None;
        }
        let mut array = state.responses.join(&b","[..]);
        array.insert(0, b'[');
        array.push(b']');
        Some(array)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // AMB-71, L-BATCH-B-10
    #[test]
    fn a_batch_is_answered_with_one_array_or_not_at_all() {
        let batch = Batch::new(3);
        assert_eq!(batch.end_one(Some(b"1".to_vec())), None);
        assert_eq!(batch.end_one(None), None);
        assert_eq!(
            batch.end_one(Some(b"2".to_vec())).as_deref(),
            Some(&b"[1,2]"[..])
        );
        assert_eq!(Batch::new(1).end_one(None), None);
    }
}
