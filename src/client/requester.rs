//! The requester of an input, which handlers get together with the input request.

use crate::protocol::CancelToken;
use crate::schema::Implementation;

/// The server that requests input, and whether the answer is still wanted.
#[derive(Clone, Debug)]
pub struct Requester {
    name: String,
    info: Option<Implementation>,
    cancel: CancelToken,
}

impl Requester {
    pub(super) fn new(name: String, info: Option<Implementation>, cancel: CancelToken) -> Self {
        Self { name, info, cancel }
    }

    /// The server's name for display: its title, else its name, else the name of the connection.
    ///
    /// The server chooses title and name itself. A host with its own names for its servers should
    /// show those.
    pub fn server_name(&self) -> &str {
        let info = self.info.as_ref();
        info.map_or(&self.name, |info| info.title.as_ref().unwrap_or(&info.name))
    }

    /// The server's description of itself. Since 2026-07-28 a server may omit it.
    pub fn server_info(&self) -> Option<&Implementation> {
        self.info.as_ref()
    }

    /// Whether the answer is no longer wanted: the call was cancelled or, in the legacy era, the
    /// server withdrew its request or has gone. Any dialog can then be closed; the answer is not
    /// sent.
    pub fn is_withdrawn(&self) -> bool {
        self.cancel.is_triggered()
    }

    /// The token that is cancelled when the answer is no longer wanted.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}
