//! The client of a proxy over standard input and output. Its first message is received before the
//! servers are connected, because a legacy server sees the capabilities of its client only once.

use std::sync::Arc;
use std::time::Duration;

use mcplink::schema::{ClientCapabilities, meta_key, method};
use mcplink::transport::{Control, Limits, Received, Receiver, Stdio, Transport, TransportParts};
use serde_json::Value;

use super::inputs::Inputs;
use crate::interrupt;

/// The standard streams, and the message that was received first.
#[derive(Debug)]
pub(super) struct Host {
    parts: TransportParts,
    first: Option<Received>,
}

impl Host {
    /// Opens the standard streams and waits for the first message. Waits no longer when the input
    /// ends or a signal arrives: the connection then ends at once.
    pub(super) fn open() -> mcplink::Result<Self> {
        let mut parts = Box::new(Stdio::new()).open(&Limits::default())?;
        let control: Arc<dyn Control> = Arc::clone(&parts.control);
        let close = interrupt::token().on_trigger(move || control.close());
        let first = loop {
            match parts.receiver.receive(None) {
                Ok(Received::Nothing) => {}
                received => break received.ok(),
            }
        };
        drop(close);
        Ok(Self { parts, first })
    }

    /// Returns the inputs that the client declares in its first message: all if it declares nothing.
    pub(super) fn inputs(&self) -> Inputs {
        let Some(Received::Message(message)) = &self.first else {
            return Inputs::ALL;
        };
        declared(&message.text).map_or(Inputs::ALL, |client| Inputs::of(&client))
    }
}

/// Returns the client's capabilities in a message, if it has any.
fn declared(text: &[u8]) -> Option<ClientCapabilities> {
    let message: Value = serde_json::from_slice(text).ok()?;
    let params = message.get("params")?;
    let capabilities = match message.get("method")?.as_str()? {
        method::INITIALIZE => params.get("capabilities")?,
        _ => params.get("_meta")?.get(meta_key::CLIENT_CAPABILITIES)?,
    };
    serde_json::from_value(capabilities.clone()).ok()
}

impl Transport for Host {
    fn open(self: Box<Self>, _: &Limits) -> mcplink::Result<TransportParts> {
        let Self { parts, first } = *self;
        let receiver = FirstAgain {
            first,
            rest: parts.receiver,
        };
        Ok(TransportParts::new(
            Box::new(receiver),
            parts.sender,
            parts.control,
        ))
    }
}

/// A receiver that has received its first message already.
#[derive(Debug)]
struct FirstAgain {
    first: Option<Received>,
    rest: Box<dyn Receiver>,
}

impl Receiver for FirstAgain {
    fn receive(&mut self, patience: Option<Duration>) -> mcplink::Result<Received> {
        match self.first.take() {
            Some(first) => Ok(first),
            None => self.rest.receive(patience),
        }
    }

    fn has_message(&self) -> bool {
        self.first.is_some() || self.rest.has_message()
    }

    fn is_patient(&self) -> bool {
        self.rest.is_patient()
    }

    fn reclaim(&mut self, memory: Vec<u8>) {
        self.rest.reclaim(memory);
    }
}
