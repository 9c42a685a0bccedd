//! Opening a conversation: which era, which revision.
//!
//! ```text
//!            modern result                       ┌──────────▶ connected
//!  probe ──────────────────────────────────────▶ │
//!    │ │ asked to speak another modern one ─▶ probe once more
//!    │ ├ anything else, silence ──▶ initialize ──▶ connected
//!    │ │                              │ refused as unsupported: back to the probe, once
//!    │ └ it left ──▶ start it again, once ──▶ initialize
//!    └── known to be legacy, or only legacy allowed ──▶ initialize
//! ```

use std::time::{Duration, Instant};

use super::envelope::Envelope;
use super::era::{self, Era, Verdict};
use super::{Client, ClientBuilder, Inner, ServerDescription};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::{CallOptions, Connection, Peer};
use crate::schema::{
    EmptyResult, FitTo, InitializeRequestParams, InitializeResult, NotificationParams, ProtocolVersion, method,
};
use crate::transport::Transport;

pub(super) fn connect(settings: ClientBuilder, transport: Box<dyn Transport>) -> Result<Client> {
    let address = transport.address();
    let remembered = settings.memory.as_ref().zip(address.as_deref()).and_then(|(memory, address)| memory.recall(address));
    let opening = Opening {
        deadline: Instant::now().checked_add(settings.connect_timeout),
        spare: transport.again(),
        known: settings.era.or(remembered),
        settings,
    };
    let memory = opening.settings.memory.clone();
    let client = opening.run(transport)?;
    if let (Some(memory), Some(address)) = (memory, address) {
        memory.remember(address, client.era());
    }
    Ok(client)
}

struct Opening {
    settings: ClientBuilder,
    deadline: Option<Instant>,
    /// To start the server again with.
    spare: Option<Box<dyn Transport>>,
    known: Option<Era>,
}

impl Opening {
    fn run(mut self, transport: Box<dyn Transport>) -> Result<Client> {
        let connection = self.open(transport)?;
        let probes = self.newest(Era::Modern).is_some() && self.known != Some(Era::Legacy);
        if !probes {
            return self.open_legacy(connection, true);
        }
        let allowed = self.newest(Era::Legacy);
        let revision = self.newest(Era::Modern).unwrap_or(ProtocolVersion::LATEST);
        match self.discover(&connection, revision) {
            Verdict::Modern(..) | Verdict::AskAgain(_) => unreachable!("discover ends both"),
            Verdict::Hopeless(error) => Err(error),
            Verdict::Legacy if allowed.is_some() => self.open_legacy(connection, false),
            Verdict::Left(error) => match self.spare.take().filter(|_| allowed.is_some()) {
                Some(spare) => {
                    connection.close();
                    let connection = self.open(spare)?;
                    self.open_legacy(connection, false)
                }
                None => Err(error),
            },
            Verdict::Legacy => Err(self.only_modern(&connection)),
        }
    }
}
