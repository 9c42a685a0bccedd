//! The parts of an exchange transport, which has no stream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::exchange_transport::ExchangeTransport;
use super::{Control, Received, Receiver, Sender, SessionMessage, TransportParts};
use crate::error::{Error, ErrorKind, Result};

impl TransportParts {
    /// Creates the parts of an exchange transport. The receiver and the sender are placeholders.
    pub(crate) fn over_exchanges(
        exchange_transport: Arc<dyn ExchangeTransport>,
        control: Arc<dyn Control>,
    ) -> Self {
        Self {
            receiver: Box::new(NoStream),
            sender: Box::new(NoStream),
            control,
            exchange_transport: Some(exchange_transport),
        }
    }
}

/// A placeholder for the receiver and the sender of an exchange transport.
#[derive(Debug)]
struct NoStream;

impl NoStream {
    fn refuse() -> Error {
        let text = "this transport has no stream: each request has a way of its own";
        Error::new(ErrorKind::Unsupported, text)
    }
}

impl Receiver for NoStream {
    fn receive(&mut self, _: Option<Duration>) -> Result<Received> {
        Err(Self::refuse())
    }
}

impl Sender for NoStream {
    fn send(&mut self, _: &mut VecDeque<SessionMessage>, _: Instant) -> Result<()> {
        Err(Self::refuse())
    }
}
