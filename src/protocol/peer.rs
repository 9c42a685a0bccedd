//! A handle to the peer of a connection, for sending messages to the peer.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::activity::Activity;
use super::cancel::CancelToken;
use super::core::Core;
use super::stats::Stats;
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc;

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

    /// Queues user code that runs after the handlers of all notifications received so far. The
    /// queue of these jobs has no limit.
    pub(crate) fn run_in_order(&self, job: impl FnOnce() + Send + 'static) {
        self.0.push_owed(Box::new(job));
    }

    /// Blocks until the handlers of all notifications received so far have returned, or until the
    /// deadline. Returns false if the deadline has passed.
    pub(crate) fn wait_for_notifications(&self, deadline: Instant) -> bool {
        self.0.engine().pool.wait_for_serial(deadline)
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
