//! A message in transit.

use std::borrow::Cow;

use crate::jsonrpc::{RequestId, TooLong};

/// A header field.
pub(crate) type Field = (Cow<'static, str>, Cow<'static, str>);

/// How a request relates to the state that a peer keeps between messages.
#[derive(Clone, Debug, Default)]
pub(crate) enum RequestKind {
    /// It belongs to the session, if there is one.
    #[default]
    InSession,
    /// It opens a session.
    OpensSession,
    /// It is independent of a session, and carries these header fields.
    Stateless(Vec<Field>),
}

/// A message in transit, with the data that only the transport needs.
#[derive(Debug)]
#[non_exhaustive]
pub struct SessionMessage {
    /// The JSON text: one message, or one batch.
    pub text: Vec<u8>,
    /// The request that this message belongs to: the one that it answers, or during which it is
    /// sent. A transport with one stream per request chooses the stream by it; others ignore it.
    pub related: Option<RequestId>,
    /// The relation to a session and the header fields, for transports that have them.
    pub(crate) manner: RequestKind,
}

impl SessionMessage {
    /// Creates a message that belongs to no request.
    pub fn new(text: Vec<u8>) -> Self {
        Self {
            text,
            related: None,
            manner: RequestKind::default(),
        }
    }

    /// Sets the request that the message belongs to.
    pub fn related_to(mut self, id: RequestId) -> Self {
        self.related = Some(id);
        self
    }
}

/// A result of [`Receiver::receive`](super::Receiver::receive).
#[derive(Debug)]
#[non_exhaustive]
pub enum Received {
    /// A message.
    Message(SessionMessage),
    /// A message that was dropped: it exceeded
    /// [`Limits::max_message_bytes`](super::Limits::max_message_bytes), or the system had no memory
    /// for it.
    TooLong(TooLong),
    /// No message arrived in time.
    Nothing,
}
