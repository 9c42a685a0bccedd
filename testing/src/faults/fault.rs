//! A fault, and the rule that chooses the fault of a message.

use std::time::Duration;

use mcplink::transport::Tapped;

/// The effect of fault injection on a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The message passes unchanged.
    #[default]
    Pass,
    /// The message is delayed for this long. Later messages in the same direction, and the end of
    /// the connection, are delayed too.
    Delay(Duration),
    /// The message is lost, and no error is reported.
    Drop,
    /// The message is cut to this many bytes.
    Truncate(usize),
    /// The message is lost together with the connection, as if the peer had gone.
    Close,
    /// The message passes, then the connection is lost.
    CloseAfter,
}

/// A function that chooses the fault of a message.
pub(super) type Rule = dyn Fn(&Tapped<'_>) -> Fault + Send + Sync;
