//! The requester of an input: the description of the server that handlers get together with an
//! input request.

use crate::protocol::CancelToken;
use crate::schema::Implementation;

/// The server that requests input. Also shows whether the server still waits for the answer.
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

    /// Returns the server's name for display: the title that the server gave, otherwise its name.
    /// If the server gave no description of itself, returns the name of the connection.
    ///
    /// The server chooses title and name itself. If a host has its own names for its servers, it
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

    /// Whether the answer is no longer wanted: the call was cancelled. In the legacy era the answer
    /// is also unwanted when the server withdrew its request or has gone. An open dialog can then
    /// be closed. The answer is not sent.
    pub fn is_withdrawn(&self) -> bool {
        self.cancel.is_triggered()
    }

    /// Returns the token that is cancelled when the answer is no longer wanted.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}
