//! The sessions of legacy clients over HTTP, their streams, and the table of all these sessions.
//!
//! The three refer to each other, so their data is defined here. The operations of a stream and of
//! the table are in files of their own.
//!
//! When the table is full, an idle session is ended to make room for a new session: see [`Shares`].
//!
//! **Invariant:** a session is in the table from the successful answer to `initialize` until its
//! end. A session ends by DELETE, by its idle timeout, by eviction, or with the service. The code
//! that removes a session from the table closes its connection.
//!
//! **Invariant:** a session without an eviction rank was in use at the last check, and has
//! `was_busy` set. When the use ends, the session gets a rank again, because a session without a
//! rank is never evicted.
//!
//! **Locks:** while the table's lock is held, sessions are only inspected. Sessions are closed and
//! dropped after the lock is released, because closing and dropping may run other code.

mod stream;
mod table;

pub(super) use self::stream::RequestStream;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::Server;
use super::super::inner::{Inner, ServerConnection};
use super::super::session_stream::{Offered, SessionStream};
use super::history::{History, Keeper, Store};
use super::options::HttpOptions;
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::principal::Principal;
use crate::protocol::{Answer, Connection};
use crate::schema::ProtocolVersion;
use crate::schema::json::millis;
use crate::server::debug_fields::debug_fields;
use crate::shares::{Client, Shares};
use crate::sync::Mutex;
use crate::transport::http::{ResponseHead, ResponseWriter};
use crate::transport::sys::random;
use crate::transport::{Control, Sender, SessionMessage};

/// The maximum number of ended streams that a session stores. Clients that missed the end of a
/// stream can still resume it.
const REMEMBERED: usize = 16;

/// The maximum size of the params of an `initialize` that opens a session, in bytes. The session
/// stores the client info in these params. The size is limited because parsed JSON may take a
/// hundred times the memory of its text.
const MAX_OPENING: usize = 256 << 10;

/// Checks that the params of an `initialize` request are not too large.
pub(super) fn check_opening(request: &Request) -> std::result::Result<(), RpcError> {
    let bytes = request.params().len();
    if bytes <= MAX_OPENING {
        return Ok(());
    }
    let text = format!("params of initialize have {bytes} bytes, more than {MAX_OPENING}");
    Err(RpcError::invalid_params(text))
}

/// Returns the name of a client for messages and logs.
pub(super) fn peer_name(remote: Option<SocketAddr>) -> String {
    match remote {
        Some(remote) => format!("HTTP client at {remote}"),
        None => "HTTP client".to_owned(),
    }
}

/// The session of one legacy client.
pub(super) struct Session {
    pub(super) id: Arc<str>,
    /// The principal that opened the session. Requests of other principals can't use the session.
    principal: Option<Principal>,
    served: Arc<ServerConnection>,
    connection: OnceLock<Connection>,
    pub(super) get_stream: Arc<Stream>,
    /// The streams of the session that a client can resume, by stream number.
    streams: Mutex<BTreeMap<u64, Arc<Stream>>>,
    next_stream: AtomicU64,
    keep_alive: Duration,
    /// The event store of the session's streams. `None` if streams can't be resumed.
    keeper: Option<Keeper>,
    born: Instant,
    /// The time of the session's last use, in milliseconds since `born`. A use is a request of the
    /// client, an answer of the server, or the end of a reader's connection.
    used: AtomicU64,
    /// The sequence number of the session's last use, counted over the uses of all sessions.
    order: AtomicU64,
    /// Whether the session was used after it was opened.
    is_used: AtomicBool,
    /// Whether the session was in use at the table's last check.
    was_busy: AtomicBool,
    /// The client whose share of the table the session uses.
    owner: Client,
    table: Weak<Sessions>,
    /// Whether all messages of the session are sent on the GET stream, as in 2024-11-05. If so, the
    /// session ends with this stream.
    on_one_stream: bool,
    entered: AtomicBool,
    ended: AtomicBool,
    /// The slot that is reserved for the session in the table. `None` once the session is in the
    /// table.
    slot: Mutex<Option<Box<Slot>>>,
    /// The number of bytes of client info that [`TableState::bytes`] counts for the session.
    /// Changed only while the table's lock is held.
    bytes: AtomicUsize,
}

impl Session {
    /// Opens a session. Clients can't use the session until [`enter`](Self::enter) has put it into
    /// the table.
    pub(super) fn open(
        server: &Arc<Inner>,
        options: &HttpOptions,
        table: &Arc<Sessions>,
        principal: Option<Principal>,
        remote: Option<SocketAddr>,
        on_one_stream: bool,
        slot: Slot,
    ) -> Result<Arc<Self>> {
        let id = server.new_id()?;
        let mut name = [0; 16];
        random::fill(&mut name)?;
        // If a client of 2024-11-05 loses its stream, its session ends. So nothing is stored.
        let keeper = (!on_one_stream).then(|| {
            let (store, owner) = (table.store.clone(), slot.owner.clone());
            let name = URL_SAFE_NO_PAD.encode(name);
            Keeper::new(store, owner, &name, server.log.clone())
        });
        let served = ServerConnection::of_session(server);
        let session = Arc::new_cyclic(|session: &Weak<Self>| Self {
            id: id.into(),
            principal,
            served: Arc::clone(&served),
            connection: OnceLock::new(),
            get_stream: Arc::new(Stream::new(0, session.clone(), options.keep_alive, None)),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            keep_alive: options.keep_alive,
            keeper,
            born: Instant::now(),
            used: AtomicU64::new(0),
            order: AtomicU64::new(table.next_order()),
            is_used: AtomicBool::new(false),
            was_busy: AtomicBool::new(false),
            owner: slot.owner.clone(),
            table: Arc::downgrade(table),
            on_one_stream,
            entered: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            bytes: AtomicUsize::new(slot.bytes),
            slot: Mutex::new(Some(Box::new(slot))),
        });
        let reader: Weak<dyn SessionStream> = Arc::downgrade(&session) as Weak<Self>;
        served.conversation().tell_on(reader);
        let connection = Server::connection(&served).open_fed(
            Box::new(GetStreamSender(Arc::downgrade(&session))),
            Arc::new(SessionControl {
                session: Arc::downgrade(&session),
                remote,
            }),
        );
        _ = session.connection.set(connection);
        Ok(session)
    }

    pub(super) fn connection(&self) -> &Connection {
        self.connection
            .get()
            .expect("set before the session is shared")
    }

    /// Returns the negotiated revision.
    pub(super) fn revision(&self) -> Option<ProtocolVersion> {
        self.served.conversation().state.revision()
    }

    /// Returns whether the streams of the session begin with a mark: an event without a message,
    /// from which a client can resume.
    fn marks_beginnings(&self) -> bool {
        let revision = self.revision();
        revision.is_some_and(|revision| revision >= ProtocolVersion::V2025_11_25)
    }

    fn belongs_to(&self, principal: Option<&str>) -> bool {
        self.principal.as_ref().map(Principal::name) == principal
    }

    /// Creates the stream of a request.
    pub(super) fn stream_for(self: &Arc<Self>, writer: Box<dyn ResponseWriter>) -> Arc<Stream> {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let (session, keep_alive) = (Arc::downgrade(self), self.keep_alive);
        Arc::new(Stream::new(number, session, keep_alive, Some(writer)))
    }

    /// Registers a stream, so that the client can resume the stream.
    fn remember(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams.lock();
        streams.insert(stream.number, Arc::clone(stream));
    }

    /// Drops the ended streams of the session, except the latest ones.
    fn forget_done(&self) {
        let mut streams = self.streams.lock();
        let done = streams.values().filter(|stream| stream.is_done());
        let done: VecDeque<u64> = done.map(|stream| stream.number).collect();
        let too_many = done.len().saturating_sub(REMEMBERED);
        let forgotten = done.into_iter().take(too_many);
        let forgotten: Vec<_> = forgotten.map(|number| streams.remove(&number)).collect();
        drop(streams);
        drop(forgotten);
    }

    pub(super) fn find_stream(&self, number: u64) -> Option<Arc<Stream>> {
        if number == 0 {
            return Some(Arc::clone(&self.get_stream));
        }
        self.streams.lock().get(&number).cloned()
    }

    /// Adds the session id to the response head of the answer to `initialize`. Other heads are
    /// unchanged.
    fn head_of_answer(self: &Arc<Self>, head: ResponseHead, answer: Answer) -> ResponseHead {
        if answer == Answer::Result && self.revision().is_some() && self.enter() {
            head.header("Mcp-Session-Id", self.id.to_string())
        } else {
            head
        }
    }

    /// Adds the session to the table. Returns `false` if an earlier call has added the session, or
    /// if the table is closed.
    pub(super) fn enter(self: &Arc<Self>) -> bool {
        if self.entered.swap(true, Ordering::SeqCst) {
            return false;
        }
        let slot = self.slot.lock().take();
        let table = self.table.upgrade();
        slot.is_some_and(|slot| table.is_some_and(|table| table.enter(self, *slot)))
    }

    /// Ends the session if all its messages are sent on the GET stream, as in 2024-11-05. This
    /// function is called when the last reader of the GET stream has disconnected. It neither
    /// blocks nor runs code of the host.
    fn lost_its_stream(self: &Arc<Self>) {
        if self.on_one_stream {
            let session = Arc::clone(self);
            let why = Error::new(ErrorKind::Closed, "the client has lost its stream");
            self.connection()
                .peer()
                .run_in_order(move || session.end(&why));
        }
    }

    fn touch(&self) {
        self.used
            .store(millis(self.born.elapsed()), Ordering::Relaxed);
        if let Some(table) = self.table.upgrade() {
            self.order.store(table.next_order(), Ordering::Relaxed);
            if self.was_busy.load(Ordering::SeqCst) {
                table.look_again(self);
            }
        }
    }

    /// Returns whether more time than `limit` has passed since the session's last use.
    fn is_unused_for(&self, limit: Duration) -> bool {
        let used = Duration::from_millis(self.used.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(used) > limit
    }

    /// Returns whether the session has an active request, or a stream with a reader.
    fn is_busy(&self) -> bool {
        self.connection().peer().stats().requests_in_flight > 0
            || self.get_stream.is_read()
            || self.streams.lock().values().any(|stream| stream.is_read())
    }

    /// Returns the eviction rank of the session. The session with the lowest rank is evicted first.
    fn rank(&self) -> (u8, u64) {
        let rank = u8::from(self.is_used.load(Ordering::Relaxed));
        (rank, self.order.load(Ordering::Relaxed))
    }

    /// Ends the session with the reason `why`; idempotent. Active requests are answered with an
    /// error. Does not block: a thread of the session closes the connection.
    pub(super) fn end(&self, why: &Error) {
        if !self.ended.swap(true, Ordering::SeqCst) {
            self.connection().peer().core().end_soon(why);
            self.close_streams();
        }
    }

    /// Ends the session with the reason `why`, because the server closes it; idempotent. Does not
    /// block.
    fn close(&self, why: &str) {
        if !self.ended.swap(true, Ordering::SeqCst) {
            self.connection().peer().core().close_soon(why);
            self.close_streams();
        }
    }

    fn close_streams(&self) {
        self.get_stream.close_now(None);
        let streams = std::mem::take(&mut *self.streams.lock());
        streams.values().for_each(|stream| stream.close_now(None));
    }

    /// Records that the GET stream has a reader again. Neither blocks nor runs code of the host.
    fn has_its_stream(&self) {
        self.served.reader_came();
    }
}

impl SessionStream for Session {
    fn offer(&self, texts: &[Vec<u8>]) -> Offered {
        self.get_stream.offer(texts)
    }

    fn announce(&self, text: &[u8]) {
        self.get_stream.announce(text);
    }

    fn is_quick(&self) -> bool {
        self.keeper.as_ref().is_none_or(Keeper::is_quick)
    }

    fn client(&self) -> &Client {
        &self.owner
    }
}

// The id is a secret.
debug_fields!(Session, revision = |it| it.revision());

/// An event stream of a legacy session.
pub(super) struct Stream {
    number: u64,
    session: Weak<Session>,
    keep_alive: Duration,
    /// Invariant: an event is numbered, stored and written under this lock. Otherwise a reader
    /// could miss an event or get an event twice.
    state: Mutex<StreamState>,
    /// Whether the stream has ended. Set while the lock of `state` is held.
    done: AtomicBool,
    /// Whether a client reads the stream, or is about to read it. Set while the lock of `state` is
    /// held.
    is_read: AtomicBool,
    /// The actions that other threads have left to the holder of the lock of `state`. No thread
    /// takes another lock while it holds the lock of `actions`.
    actions: Mutex<Option<Box<Actions>>>,
    /// Whether `actions` has entries. Set after an entry was added, and cleared before the entries
    /// are removed. So a holder of the stream's lock that sees `false` has missed no action.
    has_actions: AtomicBool,
}

/// The actions that threads have left to the next holder of a stream's lock.
#[derive(Default)]
struct Actions {
    /// Whether the stream has to end. If `last` has an error, the stream ends with this error.
    closed: bool,
    last: Option<Vec<u8>>,
    /// The numbers of the readers that have disconnected.
    gone: Vec<u64>,
    /// Whether nothing was sent for the keep-alive interval. If so, the response has to begin as an
    /// event stream.
    silent: bool,
}

/// A client that reads a stream.
struct Reader {
    /// The number of the reader, which is unique within the stream.
    number: u64,
    writer: Box<dyn ResponseWriter>,
}

/// The state of a stream, guarded by [`Stream::state`].
struct StreamState {
    /// The newest reader, which gets the new events.
    reader: Option<Reader>,
    /// The older readers, from the oldest to the newest.
    older: Vec<Reader>,
    /// The number of readers that the stream has had so far.
    readers: u64,
    /// Whether the response has begun as an event stream.
    begun: bool,
    /// The number of the last event that was written to a reader.
    last_written: u64,
    history: History,
}

/// The table of all sessions that clients can use.
#[derive(Debug)]
pub(super) struct Sessions {
    state: Mutex<TableState>,
    store: Store,
    idle: Duration,
    /// The sequence number of the next use of a session, counted over all sessions.
    next_order: AtomicU64,
    displaced: AtomicU64,
}

#[derive(Debug)]
struct TableState {
    open: HashMap<Arc<str>, Entry>,
    /// The slots of the table, by the clients that use them. A session uses a slot as soon as its
    /// opening begins.
    slots: Shares<Arc<str>>,
    /// The memory that each client uses for the client info of its sessions.
    bytes: Shares<Arc<str>>,
    swept: Instant,
    /// When all busy sessions were last checked. The check runs when there is no idle session to
    /// evict.
    searched: Option<Instant>,
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    /// The eviction rank of the session. `None` while the session is in use.
    rank: Option<(u8, u64)>,
}

/// The reserved slot in the table for a session that is being opened. The slot is released if the
/// session is not opened.
#[derive(Debug)]
pub(super) struct Slot {
    sessions: Arc<Sessions>,
    owner: Client,
    bytes: usize,
    is_reserved: bool,
}

/// A sender that writes messages to the GET stream of a session. These messages belong to no
/// request.
#[derive(Debug)]
struct GetStreamSender(Weak<Session>);

impl Sender for GetStreamSender {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, _deadline: Instant) -> Result<()> {
        let Some(session) = self.0.upgrade() else {
            queue.clear();
            return Ok(());
        };
        while let Some(message) = queue.pop_front() {
            session.get_stream.announce(&message.text);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct SessionControl {
    session: Weak<Session>,
    remote: Option<SocketAddr>,
}

impl Control for SessionControl {
    fn peer(&self) -> String {
        peer_name(self.remote)
    }

    fn close(&self) {
        let Some(session) = self.session.upgrade() else {
            return;
        };
        if let Some(table) = session.table.upgrade() {
            table.remove(&session);
        }
        session.close_streams();
    }
}

#[cfg(all(test, not(loom), target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::*;

    // There may be thousands of sessions. See "Memory" in docs/performance.md.
    #[test]
    fn a_session_is_small() {
        let size = size_of::<Session>();
        assert!(size <= 304, "{size} bytes");
    }
}
