//! A message between a connection and its transport.

use std::borrow::Cow;

use crate::jsonrpc::{RequestId, TooLong};

/// A header field: name and value.
pub(crate) type Field = (Cow<'static, str>, Cow<'static, str>);

/// The relation of a request to the session, which is the state that a peer keeps between messages.
#[derive(Clone, Debug, Default)]
pub(crate) enum RequestKind {
    /// The request belongs to the session, if there is a session.
    #[default]
    InSession,
    /// The request opens a session.
    OpensSession,
    /// The request is independent of any session, and is sent with these header fields.
    Stateless(Vec<Field>),
}

/// A message between a connection and its transport, with the data that only the transport needs.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc;
///
/// use mcplink::transport::{Received, SessionMessage};
/// use mcplink::{Error, ErrorKind, Result};
///
/// // A custom transport (`Receiver::receive`) whose messages come from a queue.
/// fn receive(queue: &mpsc::Receiver<Vec<u8>>) -> Result<Received> {
///     let gone = |_| Error::new(ErrorKind::Closed, "the peer has gone");
///     let text = queue.recv().map_err(gone)?;
///     Ok(Received::Message(SessionMessage::new(text)))
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct SessionMessage {
    /// The JSON text: one message, or one batch.
    pub text: Vec<u8>,
    /// The id of the request that this message answers, or during which this message is sent. A
    /// transport with one stream per request chooses the stream by this id. Other transports ignore
    /// the id.
    pub related: Option<RequestId>,
    /// The message's relation to a session, and its header fields. Only exchange transports use
    /// this value.
    pub(crate) kind: RequestKind,
}

impl SessionMessage {
    /// Creates a message that belongs to no request.
    pub fn new(text: Vec<u8>) -> Self {
        Self {
            text,
            related: None,
            kind: RequestKind::default(),
        }
    }

    /// Sets the request that this message belongs to.
    pub fn related_to(mut self, id: RequestId) -> Self {
        self.related = Some(id);
        self
    }
}

/// A result of [`Receiver::receive`](super::Receiver::receive).
#[derive(Debug)]
#[non_exhaustive]
pub enum Received {
    /// A message that has arrived.
    Message(SessionMessage),
    /// A message that was dropped, because it exceeded
    /// [`Limits::max_message_bytes`](super::Limits::max_message_bytes), or the system had no memory
    /// for it.
    TooLong(TooLong),
    /// No message arrived in time.
    Nothing,
}
