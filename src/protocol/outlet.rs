//! Where a message came from, and so where what answers it goes.

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

/// What a response says of its request, for outlets whose readers are also told that outside of the
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A result, or the responses to a batch.
    Result,
    /// The error of a handler, or of a guard.
    Failed(ErrorCode),
    /// The error of this library, for a request that it did not hand to a handler.
    Refused(ErrorCode),
}

/// Takes what belongs to one message of the peer when that is not for the stream of the connection: the response to an HTTP request.
///
/// That there is one response, and nothing behind it, is the exchange's business. An outlet that has no reader any more says so with
/// [`ErrorKind::Closed`](crate::ErrorKind::Closed).
pub(crate) trait Outlet: Send + Sync + fmt::Debug {
    /// The message is a request, to be answered with this exchange.
    fn attach(&self, _exchange: ExchangeHandle) {}

    /// Sends a message that stands before the response. Waits for a reader that is slow until the deadline; without one it waits for
    /// nothing, and says `false` when there is no room.
    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool>;

    /// Sends a request of ours that belongs to the message, as [`send`](Self::send) does.
    fn ask(&self, text: &[u8], deadline: Option<Instant>) -> Result<()> {
        self.send(text, deadline).map(drop)
    }

    /// Sends the response. Waits as [`send`](Self::send) does; without a deadline a reader that is
    /// slow loses it.
    fn respond(&self, text: Vec<u8>, answer: Answer, deadline: Option<Instant>) -> Result<()>;

    /// What is answered next is refused for want of these scopes, which the reader is told where it looks for that.
    fn demand(&self, _scopes: &BTreeSet<String>) {}

    /// A guard of the host's has said no: what is refused next is refused with its error.
    fn refused_by_guard(&self) {}

    #[cfg(feature = "http-server")]
    /// Has the reader leave, and come back after a while, where it can do that.
    fn send_away(&self, _retry: Duration) -> Result<()> {
        Ok(())
    }

    /// There will be no response. Never waits.
    fn close(&self);

    /// The connection ends before there is a response: sends this error in its place, if that takes
    /// no waiting.
    fn cut_off(&self, _error: Vec<u8>) {
        self.close();
    }
}

/// The request that an outlet serves, to be ended by who finds that nobody waits for it.
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

    /// Nobody waits for the request any more, which cancels it. Neither blocks nor runs user code.
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

/// Where a message came from. The default is the stream of the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The batch that it is part of.
    pub(crate) batch: Option<Arc<Batch>>,
    pub(crate) outlet: Option<Arc<dyn Outlet>>,
    /// Its id means something to who sent it only: others on the connection use the same ones.
    pub(crate) apart: bool,
    /// Who sent it, if that was found out.
    pub(crate) principal: Option<Principal>,
    /// The client that shares are counted for, where many use the connection and it has no
    /// principal.
    pub(crate) client: Option<Client>,
    /// What is wrong with it, to be told only to whom what it is about may be shown.
    pub(crate) objection: Option<Box<RpcError>>,
}

impl Origin {
    /// The client whose share of the connection the message takes, where many clients use it.
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

    /// What is left to be sent when a member of a batch, or what is none, has this response or gets none.
    pub(super) fn completed_by(&self, response: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match &self.batch {
            Some(batch) => batch.end_one(response),
            None => response,
        }
    }
}
