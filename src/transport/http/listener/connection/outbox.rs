//! The output of a connection that its client has not taken yet.

use std::io;
use std::time::Instant;

use crate::buffer_cache;

/// The unsent bytes of a connection. Most connections have none, and then use no memory for them.
#[derive(Default)]
pub(super) struct Outbox(Option<Box<Unsent>>);

#[derive(Default)]
struct Unsent {
    /// The bytes from offset `sent` on were not yet sent to the client.
    bytes: Vec<u8>,
    sent: usize,
    /// The time when the bytes are sent. `None` unless sending is delayed because more pieces may
    /// follow.
    together_until: Option<Instant>,
}

impl Outbox {
    /// Returns the length of the memory in use, which includes some bytes that were sent.
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |unsent| unsent.bytes.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn unsent(&self) -> &[u8] {
        self.0
            .as_ref()
            .map_or(&[], |unsent| &unsent.bytes[unsent.sent..])
    }

    /// Returns the time when the bytes are sent, if sending is delayed.
    pub(super) fn together_until(&self) -> Option<Instant> {
        self.0.as_ref()?.together_until
    }

    /// Appends parts. Fails, and appends nothing, when there is not enough memory.
    pub(super) fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let len = parts.iter().map(|part| part.len()).sum();
        if len == 0 {
            return Ok(());
        }
        let bytes = &mut self.0.get_or_insert_default().bytes;
        if bytes.try_reserve(len).is_err() {
            self.drop_if_empty();
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        for part in parts {
            bytes.extend_from_slice(part);
        }
        Ok(())
    }

    /// Delays sending until the time `until`. Returns whether sending was not delayed before.
    pub(super) fn delay(&mut self, until: Instant) -> bool {
        let unsent = self.0.get_or_insert_default();
        unsent.together_until.replace(until).is_none()
    }

    pub(super) fn end_delay(&mut self) {
        if let Some(unsent) = &mut self.0 {
            unsent.together_until = None;
            self.drop_if_empty();
        }
    }

    /// Removes the first `count` unsent bytes.
    pub(super) fn remove(&mut self, count: usize) {
        let Some(unsent) = &mut self.0 else { return };
        unsent.sent += count;
        if unsent.sent == unsent.bytes.len() {
            self.clear();
        } else if unsent.sent > unsent.bytes.len() / 2 {
            unsent.bytes.drain(..unsent.sent);
            buffer_cache::shrink(&mut unsent.bytes);
            unsent.sent = 0;
        }
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    fn drop_if_empty(&mut self) {
        self.0.take_if(|unsent| unsent.bytes.is_empty());
    }
}
