//! Who asks: what the handler of a question knows beside the question.

use crate::protocol::CancelToken;
use crate::schema::Implementation;

/// Who asks, and whether the answer is still wanted.
#[derive(Clone, Debug)]
pub struct AskedBy {
    name: String,
    info: Option<Implementation>,
    cancel: CancelToken,
}

impl AskedBy {
    pub(super) fn new(name: String, info: Option<Implementation>, cancel: CancelToken) -> Self {
        Self { name, info, cancel }
    }

    /// What to show the user as the one who asks: the title of the server, else its name, else what the connection calls it.
    ///
    /// It is what the server says of itself. A host that knows its servers by names of its own shows those.
    pub fn server_name(&self) -> &str {
        let info = self.info.as_ref();
        info.map_or(&self.name, |info| info.title.as_ref().unwrap_or(&info.name))
    }

    /// Who the server says it is. Since 2026-07-28 it may keep that to itself.
    pub fn server_info(&self) -> Option<&Implementation> {
        self.info.as_ref()
    }

    /// Whether nobody wants the answer any more: the call that it is needed for was cancelled or, in the legacy era, the server took its
    /// question back or has gone. What is shown to the user can be taken away then; the answer is not sent.
    pub fn is_withdrawn(&self) -> bool {
        self.cancel.is_triggered()
    }

    /// The token that is triggered when nobody wants the answer any more.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}
