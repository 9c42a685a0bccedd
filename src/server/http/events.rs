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
use crate::server::debug_fields::debug_fields;
use crate::shares::{Client, Shares};
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
///
/// All sessions share a memory budget. When it is used up, the client whose sessions store most
/// loses events first: the oldest events of the largest stream of its largest session. So a client
/// with many small streams displaces its own events before those of a larger stream of another
/// client. A single client may use the whole budget. See [`Shares`].
///
/// Sizes are compared by the number of their bits: a stream or session counts as the next power of
/// two. So storing an event seldom takes the lock of the shares.
///
/// **Invariant:** while no session's lock is held, `used_bytes` is the total size of all sessions,
/// and `shares` has each session with events as one entry under the rank of its size.
///
/// **Locks:** a thread that holds a session's lock may take the lock of `shares`, but only briefly.
/// No thread holds the locks of two sessions: two such threads could deadlock.
#[derive(Debug)]
pub(super) struct Recent {
    /// The maximum number of events that are stored for each stream. The last event is stored even
    /// if it exceeds `max_bytes`, as long as the memory budget allows.
    max_events: usize,
    max_bytes: usize,
    /// The memory budget of all streams together, in bytes.
    max_of_all: usize,
    used_bytes: AtomicUsize,
    /// The number of the next session. Among equal sessions of a client, the session with the
    /// lowest number loses events first.
    next: AtomicU64,
    /// The shares of the clients in the memory budget. Each session with events is an idle entry.
    shares: Mutex<Shares<Arc<SessionEvents>>>,
}

impl Recent {
    /// Creates a store. `max_events` and `max_bytes` limit the events of each stream. `max_of_all`
    /// limits the bytes of all streams together.
    pub(super) fn new(max_events: usize, max_bytes: usize, max_of_all: usize) -> Self {
        Self {
            max_events: max_events.max(1),
            max_bytes,
            max_of_all,
            used_bytes: AtomicUsize::new(0),
            next: AtomicU64::new(0),
            shares: Mutex::new(Shares::new(max_of_all, max_of_all, 0)),
        }
    }

    /// Creates the store for the events of a session. `client` is the principal or address whose
    /// share of the memory budget the session uses.
    pub(super) fn session(self: &Arc<Self>, client: Client) -> Arc<SessionEvents> {
        Arc::new(SessionEvents {
            store: Arc::clone(self),
            client,
            number: self.next.fetch_add(1, Ordering::Relaxed),
            state: Mutex::default(),
        })
    }

    fn is_too_full(&self) -> bool {
        self.used_bytes.load(Ordering::Relaxed) > self.max_of_all
    }

    /// Drops events until the memory budget is met. The caller holds no session's lock.
    fn tidy(&self) {
        while self.is_too_full() {
            let first = self.shares.lock().first_to_give_way();
            let Some(session) = first else { return };
            let mut state = session.state.lock();
            state.shrink(self);
            session.rank(&mut state);
        }
    }
}

/// The memory that a stored event takes besides its text, in bytes.
const EACH: usize = 48;

/// Returns the number of bits of a size. Larger sizes have at least as many bits.
fn bits(size: usize) -> u32 {
    usize::BITS - size.leading_zeros()
}

/// The stored events of one session.
pub(super) struct SessionEvents {
    store: Arc<Recent>,
    client: Client,
    number: u64,
    state: Mutex<SessionState>,
}

#[derive(Default)]
struct SessionState {
    /// The streams with a log, by stream number.
    streams: BTreeMap<u64, StoredEvents>,
    /// The size of all streams, in bytes.
    size: usize,
    /// The number of bits of the size that the session has in `Recent::shares`. Zero if the session
    /// is not in `Recent::shares`.
    bits: u32,
}

/// The stored events of a stream.
#[derive(Default)]
struct StoredEvents {
    events: VecDeque<Box<[u8]>>,
    bytes: usize,
    /// The number of the last event of the stream, even if that event is not stored.
    last: u64,
}

impl SessionEvents {
    pub(super) fn open(self: &Arc<Self>, stream: u64) -> Box<dyn EventLog> {
        Box::new(RecentOfStream {
            session: Arc::clone(self),
            stream,
        })
    }

    /// Moves the session to the rank that belongs to its size. `state` is this session's state,
    /// whose lock the caller holds.
    fn rank(self: &Arc<Self>, state: &mut SessionState) {
        let new = bits(state.size);
        let old = std::mem::replace(&mut state.bits, new);
        if old == new {
            return;
        }
        let rank = |bits| u8::try_from(usize::BITS - bits).expect("at most 64");
        let weight = |bits| 1_usize.checked_shl(bits).unwrap_or(usize::MAX);
        let mut shares = self.store.shares.lock();
        if old > 0 {
            shares.set_busy(&self.client, rank(old), self.number);
            shares.give_back(&self.client, weight(old));
        }
        if new > 0 {
            shares.take(&self.client, weight(new));
            shares.set_idle(&self.client, rank(new), self.number, Arc::clone(self));
        }
    }
}

impl SessionState {
    /// Drops the oldest event of a stream. Returns whether there was an event.
    fn pop(&mut self, stream: u64, store: &Recent) -> bool {
        let stored = self.streams.get_mut(&stream);
        let Some(size) = stored.and_then(StoredEvents::pop) else {
            return false;
        };
        self.size -= size;
        store.used_bytes.fetch_sub(size, Ordering::Relaxed);
        true
    }

    /// Drops the oldest events of the largest stream, until the memory budget is met, the stream is
    /// smaller, or the session is smaller. Of equal streams, the first one is the largest.
    fn shrink(&mut self, store: &Recent) {
        let of_stream = |state: &Self, stream: u64| {
            let stored = state.streams.get(&stream);
            bits(stored.map_or(0, StoredEvents::size))
        };
        let streams = self.streams.iter();
        let largest =
            streams.max_by_key(|(number, stored)| (bits(stored.size()), Reverse(**number)));
        let Some((&stream, stored)) = largest else {
            return;
        };
        let (before, before_of_stream) = (bits(self.size), bits(stored.size()));
        while store.is_too_full()
            && bits(self.size) == before
            && of_stream(self, stream) == before_of_stream
            && self.pop(stream, store)
        {}
    }
}

impl StoredEvents {
    fn size(&self) -> usize {
        self.bytes + self.events.len() * EACH
    }

    /// Drops the oldest event. Returns the size of this event.
    fn pop(&mut self) -> Option<usize> {
        let event = self.events.pop_front()?;
        self.bytes -= event.len();
        if self.events.is_empty() {
            self.events = VecDeque::new();
        }
        Some(event.len() + EACH)
    }
}

struct RecentOfStream {
    session: Arc<SessionEvents>,
    stream: u64,
}

impl EventLog for RecentOfStream {
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()> {
        let store = &self.session.store;
        let most = store.max_bytes.max(event.len());
        let event: Box<[u8]> = event.into();
        let size = event.len() + EACH;
        let mut state = self.session.state.lock();
        let stored = state.streams.entry(self.stream).or_default();
        stored.last = number;
        stored.bytes += event.len();
        stored.events.push_back(event);
        state.size += size;
        store.used_bytes.fetch_add(size, Ordering::Relaxed);
        while let Some(stored) = state.streams.get(&self.stream)
            && (stored.events.len() > store.max_events || stored.bytes > most)
        {
            state.pop(self.stream, store);
        }
        self.session.rank(&mut state);
        drop(state);
        store.tidy();
        Ok(())
    }

    fn replay_after(
        &mut self,
        number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let state = self.session.state.lock();
        let Some(stored) = state.streams.get(&self.stream) else {
            return Ok(());
        };
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
        let mut state = self.session.state.lock();
        let Some(stored) = state.streams.remove(&self.stream) else {
            return;
        };
        let size = stored.size();
        state.size -= size;
        self.session
            .store
            .used_bytes
            .fetch_sub(size, Ordering::Relaxed);
        self.session.rank(&mut state);
        drop(state);
    }
}

debug_fields!(SessionEvents, number);

impl fmt::Debug for dyn EventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStore")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u64) -> Client {
        Client::Connection(number)
    }

    #[test]
    fn the_last_events_are_kept_within_both_bounds() {
        let check = |max_events, max_bytes, after, expected: &[u64]| {
            let store = Arc::new(Recent::new(max_events, max_bytes, 1 << 20));
            let mut log = store.session(client(1)).open(1);
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
        let store = Arc::new(Recent::new(1000, 1 << 20, 10_000));
        let append = |log: &mut dyn EventLog, number| {
            log.append(number, &[b'x'; 1000 - EACH]).expect("kept");
        };
        let mut small = store.session(client(0)).open(1);
        append(&mut *small, 1);
        let session = |number| store.session(client(number));
        let mut others: Vec<_> = (1..4).map(|n| session(n).open(n)).collect();
        for number in 1..=50 {
            for log in &mut others {
                append(&mut **log, number);
                assert!(store.used_bytes.load(Ordering::Relaxed) <= 10_000);
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
        is_empty(&store);
    }

    fn is_empty(store: &Recent) {
        assert_eq!(store.used_bytes.load(Ordering::Relaxed), 0);
        let shares = store.shares.lock();
        assert_eq!(shares.total(), 0);
        assert!(shares.first_to_give_way().is_none());
    }

    // Must not happen: a client with very many small streams makes the larger stream of another
    // client lose its events.
    #[test]
    fn many_small_streams_of_one_client_displace_no_larger_one_of_another() {
        let store = Arc::new(Recent::new(1000, 1 << 20, 64 << 10));
        let mut ordinary = store.session(client(1)).open(0);
        for number in 1..=8 {
            ordinary.append(number, &[b'x'; 1000]).expect("kept");
        }
        let mut greedy = Vec::new();
        for _ in 0..100 {
            let session = store.session(client(2));
            for stream in 0..16 {
                let mut log = session.open(stream);
                log.append(1, &[b'x'; 100]).expect("kept");
                greedy.push(log);
            }
        }
        assert_eq!(stored(&mut *ordinary), [1, 2, 3, 4, 5, 6, 7, 8]);
        let kept = |log: &mut Box<dyn EventLog>| !stored(&mut **log).is_empty();
        let kept = greedy
            .iter_mut()
            .filter_map(|log| kept(log).then_some(()))
            .count();
        assert!((350..400).contains(&kept), "{kept}: it uses what is left");
        drop((ordinary, greedy));
        is_empty(&store);
    }

    // Must not happen: a client opens many sessions, and so counts as many clients.
    #[test]
    fn of_one_client_the_largest_stream_of_the_largest_session_goes_first() {
        let store = Arc::new(Recent::new(1000, 1 << 20, 10_000));
        let sessions = [(); 2].map(|()| store.session(client(1)));
        let mut small = sessions[0].open(1);
        let mut streams = [2, 3].map(|stream| sessions[1].open(stream));
        small.append(1, &[b'x'; 900]).expect("kept");
        streams[0].append(1, &[b'x'; 100]).expect("kept");
        for number in 1..=20 {
            streams[1].append(number, &[b'x'; 900]).expect("kept");
        }
        assert_eq!(stored(&mut *small), [1]);
        assert_eq!(stored(&mut *streams[0]), [1]);
        assert_eq!(stored(&mut *streams[1]), (12..=20).collect::<Vec<_>>());
    }
}
