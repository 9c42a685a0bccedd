//! A handle to the peer of a connection, for sending messages to the peer.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::activity::Activity;
use super::call::{self, Call, CallbackPlace, StartedCall};
use super::cancel::CancelToken;
use super::core::Core;
use super::request_options::RequestOptions;
use super::stats::Stats;
use super::writer::When;
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::{self, RawResult};
use crate::transport::SessionMessage;
use crate::transport::exchange_transport::CancelHandle;
use crate::transport::message::RequestKind;

/// A handle to the peer of a connection. A clone is cheap. The handle does not keep the connection
/// open.
#[derive(Clone)]
pub struct Peer(Arc<Core>);

impl Peer {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self(core)
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0
    }

    /// Returns the peer's name, as error texts show it.
    pub fn name(&self) -> String {
        self.0.peer()
    }

    /// Sends a request and blocks until its result arrives.
    ///
    /// The function also returns when the timeout passes, the call is cancelled or the connection
    /// closes. While the calling thread waits, it may read messages for the other callers of the
    /// connection.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Timeout`]: no answer in time; the peer is notified.
    /// - [`ErrorKind::Peer`]: the peer answered with an error.
    /// - [`ErrorKind::Protocol`]: the answer is invalid.
    /// - [`ErrorKind::Closed`]: the connection has ended.
    /// - [`ErrorKind::Cancelled`]: the call was cancelled.
    /// - [`ErrorKind::Busy`]: [`max_calls`](crate::transport::Limits::max_calls) calls are in
    ///   flight.
    /// - [`ErrorKind::Limit`]: the answer was too long.
    pub fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        mut options: RequestOptions<'_>,
    ) -> Result<RawResult> {
        self.request_with(
            method,
            RequestKind::default(),
            |_, text| serde_json::to_writer(text, params),
            &mut options,
        )
    }

    /// Sends a request as [`request`](Self::request) does. The function `write_params` gets the
    /// request id and serializes the params.
    pub(crate) fn request_with(
        &self,
        method: &str,
        kind: RequestKind,
        write_params: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        options: &mut RequestOptions<'_>,
    ) -> Result<RawResult> {
        call::start(&self.0, method, kind, write_params, options, When::Now)?.finish(options)
    }

    /// Starts a call. See [`call::start`]. The function `write_params` gets the request id and
    /// serializes the params.
    pub(crate) fn start(
        &self,
        method: &str,
        kind: RequestKind,
        write_params: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        options: &RequestOptions<'_>,
        when: When,
    ) -> Result<Call> {
        call::start(&self.0, method, kind, write_params, options, when)
    }

    /// Sends a request without waiting for its outcome. See [`call::start_request`].
    ///
    /// `on_end` runs on the thread that receives the outcome, often the reading thread. The
    /// callback must neither block nor run user code.
    pub(crate) fn start_quick_request(
        &self,
        method: &'static str,
        kind: RequestKind,
        write_params: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        on_end: impl FnOnce(Result<RawResult>) + Send + 'static,
    ) -> Result<StartedCall> {
        let cancel_handle = self
            .0
            .exchange_transport()
            .map(|_| CancelHandle::until(None));
        let send = |mut message: SessionMessage| {
            message.kind = kind;
            match &cancel_handle {
                Some(cancel_handle) => self.0.start_exchange(message, cancel_handle),
                None => self.0.send_started(message, None),
            }
        };
        call::start_request(
            &self.0,
            method,
            write_params,
            CallbackPlace::Quick,
            on_end,
            send,
        )
        .map(|started| started.carried_by(cancel_handle.clone()))
    }

    /// Queues user code that runs after the handlers of all notifications received so far. The
    /// queue of these jobs has no limit.
    pub(crate) fn run_in_order(&self, job: impl FnOnce() + Send + 'static) {
        self.0.push_owed(Box::new(job));
    }

    /// Sends a notification.
    ///
    /// Blocks only if the peer does not read while
    /// [`max_queued_bytes`](crate::transport::Limits::max_queued_bytes) are queued. The write
    /// timeout limits how long the function blocks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `params` cannot be serialized as JSON, [`ErrorKind::Closed`]
    /// when the peer has gone, [`ErrorKind::Timeout`] when the peer does not read.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<()> {
        self.notify_until(method, params, None, None)
    }

    /// Sends a notification as [`notify`](Self::notify) does, but blocks at most until `deadline`.
    /// Over HTTP, `cancel` ends the wait too.
    pub(crate) fn notify_until(
        &self,
        method: &str,
        params: &impl Serialize,
        deadline: Option<Instant>,
        cancel: Option<&CancelToken>,
    ) -> Result<()> {
        let text = jsonrpc::write_notification(method, params).map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("params of {method} are not JSON: {error}"),
            )
        })?;
        self.0.send_notification(text, deadline, cancel)
    }

    /// Whether this side can send requests that belong to no request of the peer. Over modern HTTP
    /// this is impossible, because each request of the client is independent.
    pub(crate) fn can_be_asked(&self) -> bool {
        self.0.settings.asks
    }

    /// Whether the connection has ended, because the peer has gone or the connection was closed.
    pub fn is_closed(&self) -> bool {
        self.0.has_ended()
    }

    /// Returns a snapshot of pending calls and active requests. The snapshot shows which thread
    /// waits for which request.
    pub fn activity(&self) -> Activity {
        self.0.activity()
    }

    /// Returns the counters of the connection.
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peer").field(&self.name()).finish()
    }
}
