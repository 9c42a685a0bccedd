//! Access of the fuzz targets to the parsers of HTTP.
#![cfg(fuzzing)]

use std::ops::ControlFlow;
use std::time::Duration;

use super::event_reader::{EventReader, Item};
pub use super::listener::fuzzing::{HttpInput, requests};

/// The content of an event stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// The type and the data of each event. `None` for an event that was dropped.
    pub events: Vec<Option<(String, Vec<u8>)>>,
    /// The id of the last event that had one.
    pub last_id: String,
    /// The time before a client reconnects.
    pub retry: Option<Duration>,
    /// The number of comments.
    pub comments: u64,
}

/// Reads an event stream that arrives in pieces.
pub fn events<'a>(pieces: impl Iterator<Item = &'a [u8]>, max_bytes: usize) -> Events {
    let mut reader = EventReader::new(max_bytes);
    let mut found = Events::default();
    for piece in pieces {
        let flow = reader.push(piece, &mut |item| {
            found.events.push(match item {
                Item::Event { name, data } => Some((name.into_owned(), data)),
                Item::Dropped { .. } => None,
            });
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
    }
    found.last_id = reader.last_id().to_owned();
    (found.retry, found.comments) = (reader.retry(), reader.comments());
    found
}

/// Writes an event.
pub fn write_event(out: &mut Vec<u8>, id: Option<&str>, message: &[u8]) {
    super::event::write_event(out, id, message);
}
