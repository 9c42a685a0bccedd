//! Notifications that a client sends.

use serde::Serialize;

use super::Client;
use super::call_options::CallOptions;
use super::request_meta::params_text;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{NotificationParams, method};

impl Client {
    /// Notifies the server that the [roots](super::ClientBuilder::on_list_roots) have changed.
    ///
    /// In the modern era no message is sent, because a modern server requests the roots again for
    /// each call that needs roots.
    ///
    /// Spec: Client Features, "Roots", "Root List Changes" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] when the client has no roots, and the errors of
    /// [`notify`](Self::notify).
    pub fn roots_changed(&self) -> Result<()> {
        if !self.0.supervisor.settings().inputs.has_roots() {
            let text = "the client did not declare roots (ClientBuilder::on_list_roots)";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if self.revision().is_modern() {
            return Ok(());
        }
        self.notify(
            method::NOTIFICATIONS_ROOTS_LIST_CHANGED,
            &NotificationParams::default(),
        )
    }

    /// Sends a notification of any method. `params` are as those of [`request`](Self::request).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`] when the server has gone, [`ErrorKind::Timeout`] when the server does
    /// not read, [`ErrorKind::Unsupported`] for a modern server over HTTP, which accepts only
    /// requests. [`ErrorKind::Invalid`] when the params are not an object, or in the modern era
    /// when their `_meta` is not.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<()> {
        let connection = self.0.supervisor.connection();
        if connection.is_stateless() {
            let text = format!("'{}' takes no notifications over HTTP", self.server_name());
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let params = params_text(method, params)?;
        let params = connection.envelope.write_notification(&params);
        let params = params.map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("the params of {method}: {error}"),
            )
        })?;
        let session = connection.session();
        let Err(refusal) = connection.peer.notify(method, &params) else {
            return Ok(());
        };
        let (options, server) = (CallOptions::new(), &self.0.supervisor.server);
        if connection.has_recovered(session, &refusal, &options, server)? {
            return connection.peer.notify(method, &params);
        }
        Err(refusal)
    }
}
