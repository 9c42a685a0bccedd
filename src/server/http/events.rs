//! Event stores, which store the events of legacy streams, so that clients can resume the streams.
//!
//! Spec: Transports, "Streamable HTTP", "Resumability and Redelivery" (2025-03-26 to 2025-11-25).

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::Result;
use crate::sync::Mutex;

/// A store for the events of legacy sessions' streams. A client that lost a stream gets the missed
/// events from the store (`Last-Event-ID`). See
/// [`HttpOptions::event_store`](super::HttpOptions::event_store).
///
/// Implement this trait to store more events than fit into memory, or to store events elsewhere. An
/// event store can't move sessions to another process: a session lives in the process that opened
/// it, and all its requests must reach that process.
///
/// The library makes the event ids. A store only sees the session, the stream and the number of the
/// event.
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
///     fn replay_after(
///         &mut self,
///         number: u64,
///         send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
///     ) -> Result<()> {
///         for next in number + 1.. {
///             match fs::read(self.0.join(next.to_string())) {
///                 Ok(event) if send(next, &event).is_continue() => {}
///                 Err(error) if error.kind() != io::ErrorKind::NotFound => {
///                     return Err(failed(error));
///                 }
///                 _ => break,
///             }
///         }
///         Ok(())
///     }
/// }
///
/// impl Drop for FilesOfStream {
///     fn drop(&mut self) {
///         // Files that can't be removed now are removed at the next start.
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
/// # log.replay_after(1, &mut |number, event| {
/// #     seen.push((number, event.to_vec()));
/// #     ControlFlow::Continue(())
/// # })?;
/// # assert_eq!(seen, [(2, b"b".to_vec())]);
/// # drop(log);
/// # assert!(!folder.join("s-1").exists());
/// # fs::remove_dir(folder).unwrap();
/// # Ok::<_, Error>(())
/// ```
pub trait EventStore: Send + Sync {
    /// Opens the log of a stream. The library calls `open` for the first event of a stream, so
    /// never for a stream without events.
    ///
    /// `session` is a name that is unique among all sessions of all servers: 22 letters, digits,
    /// `-` and `_`. The name is not the secret session id, and gives no access to the session.
    /// `stream` is a number within the session; 0 is the stream for messages that belong to no
    /// request.
    ///
    /// `open` runs on the thread that sends the event, and blocks this thread.
    fn open(&self, session: &str, stream: u64) -> Box<dyn EventLog>;
}

/// A log that stores the events of one stream. The log is dropped when no client can resume the
/// stream any more. This happens when the session has ended, or when enough newer streams of the
/// session have ended.
///
/// One thread at a time uses a log, and each function of the log blocks this thread. The thread may
/// be that of a handler that sends a message, a thread of the session that sends a notification, or
/// the thread that reads a resume request. Other senders on the same stream wait too. The logs of
/// different streams are used concurrently.
///
/// If a log fails or panics, clients that read at the moment lose nothing: events are still sent in
/// order. But a stream can't be resumed from before an event that was not stored. The error goes to
/// [`ServerBuilder::on_log`](crate::server::ServerBuilder::on_log).
pub trait EventLog: Send {
    /// Stores an event: a message as JSON text, or an empty text for a mark. A mark is a position
    /// from which a client can resume. Numbers start at 1 and increase by 1. The library does not
    /// retry an event that could not be stored.
    ///
    /// # Errors
    ///
    /// An error when the event is not stored.
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()>;

    /// Passes the events after `number` to `send`, in order and with their numbers, until the end
    /// or until `send` breaks. Events that the store has dropped are left out. The client then gets
    /// an error that events are lost.
    ///
    /// # Errors
    ///
    /// An error when the events can't be read now. The client gets status 503 and can retry.
    fn replay_after(
        &mut self,
        number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()>;
}

/// The default event store: the latest events of each stream, in memory.
#[derive(Debug)]
pub(super) struct Recent {
    /// The maximum number of events that are stored for each stream. The last event is stored even
    /// if it exceeds `max_bytes`, as long as the memory budget allows.
    max_events: usize,
    max_bytes: usize,
    room: Arc<Room>,
}

impl Recent {
    /// Creates a store. `max_events` and `max_bytes` limit the events of each stream. `max_of_all`
    /// limits the bytes of all streams together.
    pub(super) fn new(max_events: usize, max_bytes: usize, max_of_all: usize) -> Self {
        Self {
            max_events: max_events.max(1),
            max_bytes,
            room: Arc::new(Room {
                max: max_of_all,
                used_bytes: AtomicUsize::new(0),
                next: AtomicU64::new(0),
                logs: Mutex::default(),
            }),
        }
    }
}

impl EventStore for Recent {
    fn open(&self, _session: &str, _stream: u64) -> Box<dyn EventLog> {
        Box::new(RecentOfStream {
            max_events: self.max_events,
            max_bytes: self.max_bytes,
            age: Reverse(self.room.next.fetch_add(1, Ordering::Relaxed)),
            room: Arc::clone(&self.room),
            stored: Arc::default(),
        })
    }
}

/// The memory that a stored event takes besides its text, in bytes.
const EACH: usize = 48;

/// The memory budget that the events of all streams share.
///
/// When the budget is used up, the oldest events of one of the largest streams are dropped. Streams
/// count as equally large if their sizes have the same number of bits. So a stream with few events
/// keeps its events, even if there are many other streams.
///
/// **Invariant:** while no log's lock is held, `used_bytes` is the total size of all logs, and
/// `logs` holds every non-empty log under its rank.
///
/// **Locks:** a thread that holds a log's lock may take the lock of `logs`, but only briefly. No
/// thread holds the locks of two logs: two such threads could deadlock.
#[derive(Debug)]
struct Room {
    max: usize,
    used_bytes: AtomicUsize,
    next: AtomicU64,
    /// All non-empty logs, by rank and age. The last log in this order is the oldest of the largest
    /// logs, and loses its events first. A log moves only when the number of bits of its size
    /// changes, so storing an event seldom takes this lock.
    logs: Mutex<Ranked>,
}

/// Event logs, ordered by rank and then by age.
type Ranked = BTreeMap<(u32, Reverse<u64>), Arc<Mutex<StoredEvents>>>;

/// The stored events of a stream.
#[derive(Debug, Default)]
struct StoredEvents {
    events: VecDeque<Box<[u8]>>,
    bytes: usize,
    /// The number of the last event of the stream, even if that event is not stored.
    last: u64,
    /// The rank of the log in `Room::logs`. Zero if the log is not in `Room::logs`.
    rank: u32,
}

impl StoredEvents {
    fn size(&self) -> usize {
        self.bytes + self.events.len() * EACH
    }

    /// Returns the rank that the log should have: the number of bits of its size.
    fn due_rank(&self) -> u32 {
        usize::BITS - self.size().leading_zeros()
    }

    fn push(&mut self, event: Box<[u8]>, room: &Room) {
        self.bytes += event.len();
        room.used_bytes
            .fetch_add(event.len() + EACH, Ordering::Relaxed);
        self.events.push_back(event);
    }

    /// Drops the oldest event. Returns whether there was an event.
    fn pop(&mut self, room: &Room) -> bool {
        let Some(event) = self.events.pop_front() else {
            return false;
        };
        self.bytes -= event.len();
        room.used_bytes
            .fetch_sub(event.len() + EACH, Ordering::Relaxed);
        if self.events.is_empty() {
            self.events = VecDeque::new();
        }
        true
    }
}

impl Room {
    fn is_too_full(&self) -> bool {
        self.used_bytes.load(Ordering::Relaxed) > self.max
    }

    /// Moves a log to the rank that belongs to its size. The caller holds the log's lock.
    fn rank(&self, age: Reverse<u64>, stored: &mut StoredEvents, log: &Arc<Mutex<StoredEvents>>) {
        let due = stored.due_rank();
        let rank = std::mem::replace(&mut stored.rank, due);
        if rank == due {
            return;
        }
        let mut logs = self.logs.lock();
        let removed = logs.remove(&(rank, age));
        if due > 0 {
            logs.insert((due, age), Arc::clone(log));
        }
        drop(logs);
        drop(removed);
    }

    /// Drops the oldest events of the largest streams, until the memory budget is met. The caller
    /// holds no log's lock.
    fn tidy(&self) {
        while self.is_too_full() {
            let most = self.logs.lock().last_key_value().map(|(key, log)| {
                let (_, age) = *key;
                (age, Arc::clone(log))
            });
            let Some((age, log)) = most else { return };
            let mut stored = log.lock();
            let rank = stored.rank;
            while self.is_too_full() && stored.due_rank() == rank && stored.pop(self) {}
            self.rank(age, &mut stored, &log);
        }
    }
}

struct RecentOfStream {
    max_events: usize,
    max_bytes: usize,
    age: Reverse<u64>,
    room: Arc<Room>,
    stored: Arc<Mutex<StoredEvents>>,
}

impl EventLog for RecentOfStream {
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()> {
        let most = self.max_bytes.max(event.len());
        let event = event.into();
        let mut stored = self.stored.lock();
        stored.last = number;
        stored.push(event, &self.room);
        while stored.events.len() > self.max_events || stored.bytes > most {
            stored.pop(&self.room);
        }
        self.room.rank(self.age, &mut stored, &self.stored);
        drop(stored);
        self.room.tidy();
        Ok(())
    }

    fn replay_after(
        &mut self,
        number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let stored = self.stored.lock();
        let first = stored.last + 1 - stored.events.len() as u64;
        let from = (number + 1).max(first);
        let skipped = usize::try_from(from - first).unwrap_or(usize::MAX);
        for (number, event) in (from..).zip(stored.events.iter().skip(skipped)) {
            if send(number, event).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for RecentOfStream {
    fn drop(&mut self) {
        let mut stored = self.stored.lock();
        while stored.pop(&self.room) {}
        self.room.rank(self.age, &mut stored, &self.stored);
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
            let store = Recent::new(max_events, max_bytes, 1 << 20);
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

    fn stored(log: &mut dyn EventLog) -> Vec<u64> {
        let mut seen = Vec::new();
        log.replay_after(0, &mut |number, _| {
            seen.push(number);
            ControlFlow::Continue(())
        })
        .expect("there");
        seen
    }

    #[test]
    fn the_oldest_events_of_who_has_most_go_when_all_have_too_many() {
        let store = Recent::new(1000, 1 << 20, 10_000);
        let append = |log: &mut dyn EventLog, number| {
            log.append(number, &[b'x'; 1000 - EACH]).expect("kept");
        };
        let mut small = store.open("small", 1);
        append(&mut *small, 1);
        let mut others: Vec<_> = (0..3).map(|n| store.open("other", n)).collect();
        for number in 1..=50 {
            for log in &mut others {
                append(&mut **log, number);
                assert!(store.room.used_bytes.load(Ordering::Relaxed) <= 10_000);
            }
        }
        assert_eq!(stored(&mut *small), [1]);
        let mut all = 0;
        for log in &mut others {
            let seen = stored(&mut **log);
            assert!(!seen.is_empty() && seen.iter().copied().eq(51 - seen.len() as u64..=50));
            all += seen.len();
        }
        assert_eq!(all, 9);

        // An event larger than the whole budget is not stored, and displaces others only briefly.
        others[0].append(51, &[b'x'; 20_000]).expect("taken");
        assert_eq!(stored(&mut *others[0]), [0; 0]);
        assert_eq!(stored(&mut *small), [1]);
        append(&mut *others[0], 52);
        assert_eq!(stored(&mut *others[0]), [52]);

        drop((small, others));
        assert_eq!(store.room.used_bytes.load(Ordering::Relaxed), 0);
        assert!(store.room.logs.lock().is_empty());
    }
}
