//! A fault and the rule that decides on it.

use std::time::Duration;

use crate::transport::Tapped;

/// The effect of a fault on a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It passes unchanged.
    #[default]
    Pass,
    /// It is delayed for this long. Later messages of its direction are delayed, too, and so is the
    /// end of the connection.
    Delay(Duration),
    /// It is lost silently.
    Drop,
    /// It is cut after this many bytes.
    Truncate(usize),
    /// It is lost together with the connection, as if the peer had gone.
    Close,
    /// It passes, then the connection is lost.
    CloseAfter,
}

/// Decides on the fault of a message.
pub(super) type Rule = dyn Fn(&Tapped<'_>) -> Fault + Send + Sync;
