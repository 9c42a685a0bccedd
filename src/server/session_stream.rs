//! The stream of a legacy HTTP session, as subscriptions and calls see it.

#[cfg(feature = "http-server")]
use crate::shares::Client;

/// The stream on which a legacy HTTP client gets messages that belong to no request.
pub(super) trait SessionStream: Send + Sync {
    /// Writes notifications to the stream in one write, if the stream has a reader with room.
    /// Writes all notifications or none. Does not block.
    fn offer(&self, texts: &[Vec<u8>]) -> Offered;

    /// Writes a notification to the stream, or stores the notification for a client that
    /// reconnects.
    fn announce(&self, text: &[u8]);

    /// Returns whether `offer` and `announce` run no code of the host.
    fn is_quick(&self) -> bool;

    /// Returns the client that opened the session: its principal, or without a principal its
    /// address.
    #[cfg(feature = "http-server")]
    fn client(&self) -> &Client;
}

/// The result of offering a notification to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offered {
    Accepted,
    /// The stream has no room for the notification at the moment.
    Full,
    /// The stream has no reader.
    #[cfg_attr(
        not(feature = "http-server"),
        expect(dead_code, reason = "only sessions over HTTP are read or not")
    )]
    Unread,
    /// The stream has ended: nothing is sent on it any more.
    Over,
}

impl Offered {
    pub(super) fn of(is_accepted: bool) -> Self {
        match is_accepted {
            true => Self::Accepted,
            false => Self::Full,
        }
    }
}
