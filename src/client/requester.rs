//! The requester: the server that sent an input request, as the handler sees the server.

use crate::protocol::CancelToken;
use crate::schema::Implementation;

/// The server that requests input. The requester also shows whether the server still waits for the
/// answer.
#[derive(Clone, Debug)]
pub struct Requester {
    name: String,
    info: Option<Implementation>,
    cancel: CancelToken,
    tag: Option<u64>,
}

impl Requester {
    pub(super) fn new(name: String, info: Option<Implementation>, cancel: CancelToken) -> Self {
        Self {
            name,
            info,
            cancel,
            tag: None,
        }
    }

    pub(super) fn with_tag(mut self, tag: Option<u64>) -> Self {
        self.tag = tag;
        self
    }

    /// Returns the [tag](super::CallOptions::tag) of the call that needs the input. Returns `None`
    /// if the call has no tag, or in the legacy era, where an input request does not say to which
    /// call it belongs.
    pub fn tag(&self) -> Option<u64> {
        self.tag
    }

    /// Returns the server's name for display: its title, or its name if it has no title. If the
    /// server gave no description of itself, returns the name of the connection.
    ///
    /// The server chooses its title and name. If a host has its own names for its servers, the host
    /// should show its own names.
    pub fn server_name(&self) -> &str {
        let info = self.info.as_ref();
        info.map_or(&self.name, |info| info.title.as_ref().unwrap_or(&info.name))
    }

    /// Returns the server's description of itself. Since 2026-07-28 a server may omit the
    /// description.
    pub fn server_info(&self) -> Option<&Implementation> {
        self.info.as_ref()
    }

    /// Whether the answer is no longer wanted, because the call was cancelled. In the modern era
    /// there is one more reason: another input request of the same call failed. In the legacy era
    /// there are two more reasons: the server withdrew its request, or the server has gone. The
    /// host can then close an open dialog. The answer will not be sent.
    pub fn is_withdrawn(&self) -> bool {
        self.cancel.is_triggered()
    }

    /// Returns the token that is cancelled when the answer is no longer wanted.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}
