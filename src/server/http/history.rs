//! Numbers, stores and replays the events of one stream.

use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::events::{EventLog, EventStore, Recent, SessionEvents};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{LogHook, LogLevel, tell};
use crate::server::debug_fields::debug_fields;
use crate::shares::Client;
use crate::transport::http::event::{write_event, write_mark};

/// The number of appended bytes after which [`History::read`] stops.
const PIECE: usize = 64 << 10;

/// The id of an event: the number of the stream, and the number of the event on that stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) sequence: u64,
}

impl EventId {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, sequence) = text.split_once('-')?;
        Some(Self {
            stream: stream.parse().ok()?,
            sequence: sequence.parse().ok()?,
        })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.sequence)
    }
}

/// The store for the events of all sessions of a server.
#[derive(Clone, Debug)]
pub(super) enum Store {
    Memory(Arc<Recent>),
    /// A store that the host implements. Such a store may be slow.
    Hosts(Arc<dyn EventStore>),
}

/// The event store of a session.
pub(super) struct Keeper {
    store: Store,
    /// The client whose share of the memory budget the session uses.
    client: Client,
    /// The session's events in memory. Set at the first event if the store is [`Store::Memory`].
    events: OnceLock<Arc<SessionEvents>>,
    /// The session's name in the host's store. Empty without such a store.
    name: Box<str>,
    log: Option<LogHook>,
}

/// The reason why a stream can't be resumed.
#[derive(Debug)]
pub(super) enum Missing {
    /// The next event for the client is not stored, or was dropped.
    Gone,
    /// The event store failed.
    Failed(Error),
}

/// The events of one stream, with their numbers.
pub(super) struct History {
    stream: u64,
    /// The number of the last event of the stream.
    sequence: u64,
    /// The number of the last event that could not be stored. Zero if all events were stored.
    lost: u64,
    is_failing: bool,
    /// Whether the last event is a mark (an event without a message) that is not stored yet.
    is_marked: bool,
    /// The stream's log in the event store. `None` until the first attempt to store an event.
    log: Option<Box<dyn EventLog>>,
}

impl History {
    pub(super) fn of(stream: u64) -> Self {
        Self {
            stream,
            sequence: 0,
            lost: 0,
            is_failing: false,
            is_marked: false,
            log: None,
        }
    }

    /// Returns the number of the last event.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the id of the last event.
    pub(super) fn last_id(&self) -> EventId {
        EventId {
            stream: self.stream,
            sequence: self.sequence,
        }
    }

    /// Numbers and stores an event. The number stays used even if the event can't be stored. So a
    /// client that received the event can resume after it.
    ///
    /// Returns the error for the host's log if the event can't be stored. If several events in a
    /// row fail, only the first failure returns an error.
    #[must_use]
    pub(super) fn keep(&mut self, keeper: &Keeper, text: &[u8]) -> Option<Error> {
        self.sequence += 1;
        let (log, sequence) = (&mut self.log, self.sequence);
        let is_marked = std::mem::take(&mut self.is_marked);
        let kept = guarded(|| {
            let log = log.get_or_insert_with(|| keeper.open(self.stream));
            if is_marked {
                log.append(sequence - 1, b"")?;
            }
            log.append(sequence, text)
        });
        let was_failing = std::mem::replace(&mut self.is_failing, kept.is_err());
        let error = kept.err()?;
        self.lost = self.sequence;
        (!was_failing).then(|| error.context("an event of a stream is not kept"))
    }

    /// Numbers a mark: an event without a message, which is only a position to resume from. The
    /// mark is stored together with the next event, so this function does not wait for the store.
    pub(super) fn mark(&mut self) {
        self.sequence += 1;
        self.is_marked = true;
    }

    /// Returns the id of an event that is not numbered yet. `place` is 1 for the next event, and 2
    /// for the event after it.
    pub(super) fn next_id(&self, place: u64) -> EventId {
        EventId {
            stream: self.stream,
            sequence: self.sequence + place,
        }
    }

    /// Appends `text` to `out` in the wire format of an event, with the id of the last event.
    pub(super) fn write_last(&self, text: &[u8], out: &mut Vec<u8>) {
        write(out, self.last_id(), text);
    }

    /// Appends the events whose numbers are greater than `after` to `out`, until [`PIECE`] bytes
    /// are appended. Returns the number of the event to continue after.
    ///
    /// With `may_skip`, events that are not stored are left out. Without `may_skip`, the function
    /// fails if the event after `after` is not stored.
    pub(super) fn read(
        &mut self,
        after: u64,
        may_skip: bool,
        out: &mut Vec<u8>,
    ) -> std::result::Result<u64, Missing> {
        if after == self.sequence {
            return Ok(after);
        }
        if after > self.sequence || (after < self.lost && !may_skip) {
            return Err(Missing::Gone);
        }
        let Some(log) = &mut self.log else {
            return if may_skip {
                Ok(self.sequence)
            } else {
                Err(Missing::Gone)
            };
        };
        let (stream, last, enough) = (self.stream, self.sequence, out.len() + PIECE);
        let mut reached = after;
        let mut send = |sequence, text: &[u8]| {
            if sequence > last || (sequence > reached + 1 && !may_skip) || out.len() >= enough {
                return ControlFlow::Break(());
            }
            if sequence > reached {
                write(out, EventId { stream, sequence }, text);
                reached = sequence;
            }
            ControlFlow::Continue(())
        };
        guarded(|| log.replay_after(after, &mut send)).map_err(Missing::Failed)?;
        match reached > after {
            true => Ok(reached),
            false if may_skip => Ok(last),
            false => Err(Missing::Gone),
        }
    }
}

impl Keeper {
    pub(super) fn new(store: Store, client: Client, name: &str, log: Option<LogHook>) -> Self {
        let name = match store {
            Store::Hosts(_) => name.into(),
            _ => Box::default(),
        };
        Self {
            store,
            client,
            events: OnceLock::new(),
            name,
            log,
        }
    }

    /// Returns whether the store runs no code of the host.
    pub(super) fn is_quick(&self) -> bool {
        matches!(self.store, Store::Memory(_))
    }

    /// Opens the log of a stream.
    fn open(&self, stream: u64) -> Box<dyn EventLog> {
        match &self.store {
            Store::Hosts(store) => store.open(&self.name, stream),
            Store::Memory(store) => {
                let events = || store.session(self.client.clone());
                self.events.get_or_init(events).open(stream)
            }
        }
    }

    pub(super) fn report(&self, error: &Error) {
        tell(self.log.as_ref(), LogLevel::Error, "http", || {
            error.to_string()
        });
    }
}

debug_fields!(Keeper, name);

/// Appends an event to `out`, in its wire format. An event with an empty text is a mark: a position
/// to resume from.
pub(super) fn write(out: &mut Vec<u8>, id: EventId, text: &[u8]) {
    let id = id.to_string();
    if text.is_empty() {
        write_mark(out, &id, None);
    } else {
        write_event(out, Some(&id), text);
    }
}

/// Runs the code of an event store, and turns a panic into an error.
fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let text = "the event store panicked";
        Err(Error::new(ErrorKind::State, text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_are_read_as_they_were_written() {
        let id = EventId {
            stream: 3,
            sequence: 17,
        };
        assert_eq!(id.to_string(), "3-17");
        assert_eq!(EventId::parse("3-17"), Some(id));
        for odd in [
            "",
            "3",
            "3-",
            "-1",
            "a-b",
            "3-17-1",
            "3--1",
            "99999999999999999999-1",
        ] {
            assert_eq!(EventId::parse(odd), None, "{odd}");
        }
    }
}
