//! Where the events of legacy streams are kept, for clients that come back for them.
//!
//! Spec: Transports, "Streamable HTTP", "Resumability and Redelivery" (2025-03-26 to 2025-11-25).

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;

use crate::error::Result;

/// Keeps what was said on the streams of legacy sessions, so that a client that lost one gets the rest (`Last-Event-ID`). See
/// [`HttpOptions::event_store`](super::HttpOptions::event_store).
///
/// One keeps more than memory should hold, or elsewhere; what has to live as long as the stream is up to it. It shares events, not
/// sessions: these live in the process that opened them, which all requests of a session have to reach.
///
/// The ids of events are the library's business: a store is asked by session, stream, and the number of the event.
///
/// Spec: Transports, "Streamable HTTP", "Resumability and Redelivery" (2025-03-26 to 2025-11-25).
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use std::path::PathBuf;
/// use std::{fs, io};
///
/// use mcplink::server::http::{EventLog, EventStore, HttpOptions};
/// use mcplink::{Error, ErrorKind, Result};
///
/// /// A directory for each stream, a file for each event.
/// struct Files(PathBuf);
///
/// struct FilesOfStream(PathBuf);
///
/// impl EventStore for Files {
///     fn open(&self, session: &str, stream: u64) -> Box<dyn EventLog> {
///         Box::new(FilesOfStream(self.0.join(format!("{session}-{stream}"))))
///     }
/// }
///
/// fn failed(error: io::Error) -> Error {
///     Error::new(ErrorKind::Io, format!("the directory of events: {error}"))
/// }
///
/// impl EventLog for FilesOfStream {
///     fn append(&mut self, number: u64, event: &[u8]) -> Result<()> {
///         fs::create_dir_all(&self.0).map_err(failed)?;
///         fs::write(self.0.join(number.to_string()), event).map_err(failed)
///     }
///
///     fn replay_after(&mut self, number: u64, send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<()> {
///         for next in number + 1.. {
///             match fs::read(self.0.join(next.to_string())) {
///                 Ok(event) if send(next, &event).is_continue() => {}
///                 Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
///                 _ => break,
///             }
///         }
///         Ok(())
///     }
/// }
///
/// impl Drop for FilesOfStream {
///     fn drop(&mut self) {
///         // What can't be removed now is swept up at the next start.
///         _ = fs::remove_dir_all(&self.0);
///     }
/// }
///
/// let options = HttpOptions::new().event_store(Files("/var/lib/hello/events".into()));
/// # let folder = std::env::temp_dir().join(format!("mcplink-events-{}", std::process::id()));
/// # let mut log = Files(folder.clone()).open("s", 1);
/// # log.append(1, b"a")?;
/// # log.append(2, b"b")?;
/// # let mut seen = Vec::new();
/// # log.replay_after(1, &mut |number, event| { seen.push((number, event.to_vec())); ControlFlow::Continue(()) })?;
/// # assert_eq!(seen, [(2, b"b".to_vec())]);
/// # drop(log);
/// # assert!(!folder.join("s-1").exists());
/// # fs::remove_dir(folder).unwrap();
/// # Ok::<_, Error>(())
/// ```
pub trait EventStore: Send + Sync {
    /// Begins to keep the events of a stream: called when its first one is there, so for streams only that have any.
    ///
    /// `session` is a name that no other session has, on any server: 22 letters, digits, `-` and `_`. It is not the id of the session, which
    /// is a secret, and is good for nothing but telling sessions apart. `stream` is counted within the session; 0 is the one for what
    /// belongs to no request.
    ///
    /// Runs on the thread that has something to say on the stream, which waits for it.
    fn open(&self, session: &str, stream: u64) -> Box<dyn EventLog>;
}

/// The events of one stream. Dropped when nobody can come back for them any more: the session has ended, or enough later streams of it have.
///
/// It is used by one thread at a time, which waits for it: the handler that says something, or who reads the request of a client that comes
/// back. So does whoever else has something to say on the same stream, and nobody else: logs of other streams are used at the same time.
///
/// A log that fails or panics costs no client what it reads at the moment: events still go out in order, but nobody can go on from before
/// those that were not kept. The host is told by [`ServerBuilder::on_log`](crate::server::ServerBuilder::on_log).
pub trait EventLog: Send {
    /// Keeps an event: a message as JSON text, or nothing, for one that only marks a place. Numbers rise from 1, one at a time; one that
    /// failed is not kept again.
    ///
    /// # Errors
    ///
    /// When the event isn't kept.
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()>;

    /// Sends the events behind this number, in order, with their own numbers, until there are none left or `send` says that it is enough.
    /// Events that were dropped in between are left out: the client is told then that the rest can't be had.
    ///
    /// # Errors
    ///
    /// When that can't be found out now. The client is asked to try again (status 503).
    fn replay_after(
        &mut self,
        number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()>;
}

/// The store of who sets none: some events of each stream, in memory.
#[derive(Debug)]
pub(super) struct Recent {
    /// Of each stream. The last event is kept in any case.
    pub(super) max_events: usize,
    pub(super) max_bytes: usize,
}

impl EventStore for Recent {
    fn open(&self, _session: &str, _stream: u64) -> Box<dyn EventLog> {
        Box::new(RecentOfStream {
            max_events: self.max_events.max(1),
            max_bytes: self.max_bytes,
            events: VecDeque::new(),
            bytes: 0,
            last: 0,
        })
    }
}

struct RecentOfStream {
    max_events: usize,
    max_bytes: usize,
    events: VecDeque<Box<[u8]>>,
    bytes: usize,
    /// The number of the last event.
    last: u64,
}

impl EventLog for RecentOfStream {
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()> {
        self.last = number;
        self.events.push_back(event.into());
        self.bytes += event.len();
        while self.events.len() > self.max_events || self.bytes > self.max_bytes.max(event.len()) {
            let dropped = self.events.pop_front();
            self.bytes -= dropped.map_or(0, |event| event.len());
        }
        Ok(())
    }

    fn replay_after(
        &mut self,
        number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let first = self.last + 1 - self.events.len() as u64;
        let from = (number + 1).max(first);
        let skipped = usize::try_from(from - first).unwrap_or(usize::MAX);
        for (number, event) in (from..).zip(self.events.iter().skip(skipped)) {
            if send(number, event).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for dyn EventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStore")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_within_both_bounds() {
        let check = |max_events, max_bytes, after, expected: &[u64]| {
            let store = Recent {
                max_events,
                max_bytes,
            };
            let mut log = store.open("s", 1);
            for number in 1..=6 {
                let event = vec![b'x'; usize::try_from(number).expect("small")];
                log.append(number, &event).expect("kept");
            }
            let mut seen = Vec::new();
            log.replay_after(after, &mut |number, event| {
                assert_eq!(event.len() as u64, number);
                seen.push(number);
                ControlFlow::Continue(())
            })
            .expect("there");
            assert_eq!(seen, expected, "{max_events} events, {max_bytes} bytes");
        };
        check(3, 1000, 0, &[4, 5, 6]);
        check(3, 1000, 4, &[5, 6]);
        check(3, 1000, 6, &[]);
        check(3, 1000, 60, &[]);
        check(100, 11, 0, &[5, 6]);
        check(100, 10, 0, &[6]);
        check(0, 0, 0, &[6]);
        check(100, 1000, 3, &[4, 5, 6]);
    }
}
