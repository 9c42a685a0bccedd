//! The sessions of legacy clients over HTTP, and the table of all these sessions.
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

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::Server;
use super::super::inner::Inner;
use super::super::inner::ServerConnection;
use super::super::session_stream::{Offered, SessionStream};
use super::events::Recent;
use super::history::{Keeper, Store};
use super::options::HttpOptions;
use super::stream::{self, Stream};
use crate::error::{Error, ErrorKind, Result, RpcError, Span};
use crate::jsonrpc::Request;
use crate::protocol::principal::Principal;
use crate::protocol::{Answer, Connection};
use crate::schema::ProtocolVersion;
use crate::schema::json::millis;
use crate::shares::{Admission, Client, Shares};
use crate::sync::Mutex;
use crate::transport::http::{ClientKey, ResponseHead, ResponseWriter};
use crate::transport::sys::random;
use crate::transport::{Control, Sender, SessionMessage};

/// The maximum number of ended streams that a session stores. Clients that missed the end of a
/// stream can still resume it.
const REMEMBERED: usize = 16;

/// The maximum size of the params of an `initialize` that opens a session, in bytes. The session
/// stores the client info in these params. The size is limited because parsed JSON may take a
/// hundred times the memory of its text.
const MAX_OPENING: usize = 256 << 10;

/// The memory budget for `initialize` params, in bytes for each session that the table can hold.
/// The budget is at least [`LEAST_BYTES`]. So even if the table can hold only a few sessions, a
/// session can store long params.
const BYTES_OF_ONE: usize = 2 << 10;
const LEAST_BYTES: usize = 1 << 20;

/// The minimum time between two searches for busy sessions that have become idle.
const SEARCH_INTERVAL: Duration = Duration::from_millis(100);

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
    pub(super) keeper: Option<Keeper>,
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
    /// The number of bytes of client info that [`State::bytes`] counts for the session. Changed
    /// only while the table's lock is held.
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
            get_stream: Arc::new(Stream::for_get(session.clone(), options.keep_alive)),
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
        served.conversation.tell_on(reader);
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
        self.served.conversation.state.revision()
    }

    pub(super) fn marks_beginnings(&self) -> bool {
        self.revision().is_some_and(stream::marks_beginnings)
    }

    pub(super) fn belongs_to(&self, principal: Option<&str>) -> bool {
        self.principal.as_ref().map(Principal::name) == principal
    }

    /// Creates the stream of a request.
    pub(super) fn stream_for(self: &Arc<Self>, writer: Box<dyn ResponseWriter>) -> Arc<Stream> {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        Arc::new(Stream::of_request(
            number,
            Arc::downgrade(self),
            self.keep_alive,
            writer,
        ))
    }

    /// Registers a stream, so that the client can resume the stream.
    pub(super) fn remember(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams.lock();
        streams.insert(stream.number, Arc::clone(stream));
    }

    /// Drops the ended streams of the session, except the latest ones.
    pub(super) fn forget_done(&self) {
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
    pub(super) fn head_of_answer(
        self: &Arc<Self>,
        head: ResponseHead,
        answer: Answer,
    ) -> ResponseHead {
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
    pub(super) fn lost_its_stream(self: &Arc<Self>) {
        if self.on_one_stream {
            let session = Arc::clone(self);
            let why = Error::new(ErrorKind::Closed, "the client has lost its stream");
            self.connection()
                .peer()
                .run_in_order(move || session.end(&why));
        }
    }

    pub(super) fn touch(&self) {
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
    pub(super) fn has_its_stream(&self) {
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

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The id is a secret.
        f.debug_struct("Session")
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

/// The table of all sessions that clients can use.
#[derive(Debug)]
pub(super) struct Sessions {
    state: Mutex<State>,
    store: Store,
    idle: Duration,
    /// The sequence number of the next use of a session, counted over all sessions.
    next_order: AtomicU64,
    displaced: AtomicU64,
}

#[derive(Debug)]
struct State {
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

impl State {
    /// Sets or removes the eviction rank of a session.
    fn set_rank(&mut self, id: &Arc<str>, new: Option<(u8, u64)>) {
        let Some(entry) = self.open.get_mut(id) else {
            return;
        };
        let owner = &entry.session.owner;
        let shares = [&mut self.slots, &mut self.bytes];
        let replaced = std::mem::replace(&mut entry.rank, new);
        for shares in shares {
            if let Some((rank, order)) = replaced {
                shares.set_busy(owner, rank, order);
            }
            if let Some((rank, order)) = new {
                shares.set_idle(owner, rank, order, Arc::clone(id));
            }
        }
    }

    /// Updates the eviction rank of a session: removes the rank if the session is in use, and
    /// otherwise sets it.
    fn look_at(&mut self, session: &Arc<Session>) {
        // `was_busy` is set before the check. A use that ends after the check then sees `was_busy`,
        // and calls `look_again`. In the other order an idle session could stay without a rank.
        session.was_busy.store(true, Ordering::SeqCst);
        if session.is_busy() {
            self.set_rank(&session.id, None);
        } else {
            session.was_busy.store(false, Ordering::SeqCst);
            self.set_rank(&session.id, Some(session.rank()));
        }
    }

    fn remove(&mut self, id: &Arc<str>) -> Option<Arc<Session>> {
        self.set_rank(id, None);
        let session = self.open.remove(id)?.session;
        let bytes = session.bytes.load(Ordering::Relaxed);
        self.slots.give_back(&session.owner, 1);
        self.bytes.give_back(&session.owner, bytes);
        Some(session)
    }

    /// Makes room for `sessions` more sessions of a client, and for `bytes` of client info. Evicted
    /// sessions are added to `ended`. Returns whether there is room.
    fn make_room(
        &mut self,
        owner: &Client,
        sessions: usize,
        bytes: usize,
        ended: &mut Vec<Arc<Session>>,
    ) -> bool {
        loop {
            let id = match self.admit(owner, sessions, bytes) {
                Admission::Granted => return true,
                Admission::After(id) => id,
                Admission::Refused if self.search() => continue,
                Admission::Refused => return false,
            };
            let Some(entry) = self.open.get(&id) else {
                return false;
            };
            let (session, rank) = (Arc::clone(&entry.session), entry.rank);
            // The session may have been used since it got its rank.
            self.look_at(&session);
            if self.open.get(&id).is_some_and(|entry| entry.rank == rank) {
                ended.extend(self.remove(&id));
            }
        }
    }

    fn admit(&self, owner: &Client, sessions: usize, bytes: usize) -> Admission<Arc<str>> {
        if sessions > 0 {
            let admission = self.slots.admit(owner, sessions);
            if !matches!(admission, Admission::Granted) {
                return admission;
            }
        }
        match bytes {
            0 => Admission::Granted,
            _ => self.bytes.admit(owner, bytes),
        }
    }

    /// Checks all busy sessions again, to find those that have become idle. Takes time linear in
    /// the number of busy sessions. Returns whether any session was checked.
    fn search(&mut self) -> bool {
        let now = Instant::now();
        if self.searched.is_some_and(|at| now < at + SEARCH_INTERVAL) {
            return false;
        }
        self.searched = Some(now);
        let busy = self.open.values().filter(|entry| entry.rank.is_none());
        let busy: Vec<_> = busy.map(|entry| Arc::clone(&entry.session)).collect();
        busy.iter().for_each(|session| self.look_at(session));
        !busy.is_empty()
    }
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

impl Drop for Slot {
    fn drop(&mut self) {
        if self.is_reserved {
            let mut state = self.sessions.state.lock();
            state.slots.give_back(&self.owner, 1);
            state.bytes.give_back(&self.owner, self.bytes);
        }
    }
}

impl Sessions {
    pub(super) fn new(options: &HttpOptions) -> Self {
        let max = options.max_sessions;
        let max_bytes = max.saturating_mul(BYTES_OF_ONE).max(LEAST_BYTES);
        let part_of = |bound| options.limits.part_of(bound);
        let state = State {
            open: HashMap::new(),
            slots: Shares::new(max, part_of(max), 0),
            bytes: Shares::new(max_bytes, part_of(max_bytes), 0),
            swept: Instant::now(),
            searched: None,
            closed: false,
        };
        let hosts = options.event_store.clone().map(Store::Hosts);
        let store = hosts.unwrap_or_else(|| {
            Store::Memory(Arc::new(Recent::new(
                options.max_events,
                options.max_event_bytes,
                options.max_kept_bytes,
            )))
        });
        Self {
            state: Mutex::new(state),
            store,
            idle: options.session_idle,
            next_order: AtomicU64::new(0),
            displaced: AtomicU64::new(0),
        }
    }

    fn next_order(&self) -> u64 {
        self.next_order.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number of sessions that were ended to make room for other sessions.
    pub(super) fn displaced(&self) -> u64 {
        self.displaced.load(Ordering::Relaxed)
    }

    /// Reserves a slot for a new session of a client, with `bytes` of client info, if there is
    /// room. Also ends sessions that were idle too long.
    pub(super) fn reserve_slot(self: &Arc<Self>, owner: Client, bytes: usize) -> Option<Slot> {
        let mut state = self.state.lock();
        let mut ended = self.sweep(&mut state);
        let has_room = !state.closed && state.make_room(&owner, 1, bytes, &mut ended);
        if has_room {
            state.slots.take(&owner, 1);
            state.bytes.take(&owner, bytes);
        }
        drop(state);
        self.end_all(&ended);
        has_room.then(|| Slot {
            sessions: Arc::clone(self),
            owner,
            bytes,
            is_reserved: true,
        })
    }

    /// Makes room for the client info of a session that was opened before its `initialize` request
    /// came. Returns whether there is room.
    pub(super) fn keep(&self, session: &Session, bytes: usize) -> bool {
        let mut state = self.state.lock();
        // An earlier `initialize` that could not be read may have counted already.
        let more = bytes.saturating_sub(session.bytes.load(Ordering::Relaxed));
        let mut ended = Vec::new();
        let may_keep = state.make_room(&session.owner, 0, more, &mut ended);
        // A session that was removed meanwhile is not counted.
        if may_keep && state.open.contains_key(&session.id) {
            state.bytes.take(&session.owner, more);
            session.bytes.fetch_add(more, Ordering::Relaxed);
        }
        drop(state);
        self.end_all(&ended);
        may_keep
    }

    /// Updates the eviction rank of a session after a use of the session has ended.
    fn look_again(&self, session: &Session) {
        let mut state = self.state.lock();
        let found = state.open.get(&session.id);
        if let Some(session) = found.map(|entry| Arc::clone(&entry.session)) {
            state.look_at(&session);
        }
    }

    /// Removes and returns sessions that were idle too long. Requests trigger this check at
    /// intervals, so the check needs no thread of its own.
    fn sweep(&self, state: &mut State) -> Vec<Arc<Session>> {
        let interval = (self.idle / 8).min(Duration::from_secs(60));
        if state.swept.elapsed() < interval {
            return Vec::new();
        }
        state.swept = Instant::now();
        let is_over = |session: &Session| session.is_unused_for(self.idle) && !session.is_busy();
        let over = state.open.values().filter(|entry| is_over(&entry.session));
        let over: Vec<_> = over.map(|entry| Arc::clone(&entry.session.id)).collect();
        over.iter().filter_map(|id| state.remove(id)).collect()
    }

    /// Ends sessions that were removed from the table, because they were idle too long or to make
    /// room.
    fn end_all(&self, ended: &[Arc<Session>]) {
        for session in ended {
            let text = match session.is_unused_for(self.idle) {
                true => format!(
                    "nobody used the session for {} (session_idle)",
                    Span(self.idle)
                ),
                false => {
                    self.displaced.fetch_add(1, Ordering::Relaxed);
                    "the session was idle, and made room for another one (max_sessions)".to_owned()
                }
            };
            session.end(&Error::new(ErrorKind::Closed, text));
        }
    }

    fn enter(&self, session: &Arc<Session>, mut slot: Slot) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return false;
        }
        // From now on the session in the table holds the slot. The slot changes its holder under
        // one lock, so it is counted exactly once.
        slot.is_reserved = false;
        let entry = Entry {
            session: Arc::clone(session),
            rank: None,
        };
        state.open.insert(Arc::clone(&session.id), entry);
        state.set_rank(&session.id, Some(session.rank()));
        true
    }

    /// Finds a session by its secret id. Only the principal that opened the session can find it.
    pub(super) fn find(&self, id: &[u8], principal: Option<&str>) -> Option<Arc<Session>> {
        let id = std::str::from_utf8(id).ok()?;
        let mut state = self.state.lock();
        let over = self.sweep(&mut state);
        let session = state.open.get(id).map(|entry| Arc::clone(&entry.session));
        drop(state);
        self.end_all(&over);
        let session = session.filter(|session| {
            session.belongs_to(principal) && !session.connection().peer().is_closed()
        })?;
        session.is_used.store(true, Ordering::Relaxed);
        session.touch();
        Some(session)
    }

    /// Returns the client whose share of threads a session's requests use. The client is the
    /// principal of the session if there is one, otherwise the session at this address.
    pub(super) fn client_of(&self, id: &[u8], address: &ClientKey) -> Option<ClientKey> {
        let id = std::str::from_utf8(id).ok()?;
        let state = self.state.lock();
        let session = &state.open.get(id)?.session;
        Some(match &session.owner {
            Client::Principal(name) => ClientKey::principal(Arc::clone(name)),
            _ => address.clone().session(Arc::clone(&session.id)),
        })
    }

    /// Returns whether a session with this id exists, regardless of its principal.
    pub(super) fn has(&self, id: &[u8]) -> bool {
        let id = std::str::from_utf8(id);
        id.is_ok_and(|id| self.state.lock().open.contains_key(id))
    }

    pub(super) fn remove(&self, session: &Session) {
        let removed = self.state.lock().remove(&session.id);
        drop(removed);
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().open.len()
    }

    /// Ends the GET streams of all sessions.
    pub(super) fn end_streams(&self) {
        let state = self.state.lock();
        let all = state.open.values().map(|entry| Arc::clone(&entry.session));
        let all: Vec<_> = all.collect();
        drop(state);
        all.iter()
            .for_each(|session| session.get_stream.close_now(None));
    }

    /// Ends all sessions with the reason `why`, refuses new sessions, and waits for the threads of
    /// the sessions.
    pub(super) fn close(&self, why: &str) {
        let mut state = self.state.lock();
        state.closed = true;
        let ids: Vec<_> = state.open.keys().cloned().collect();
        let all: Vec<_> = ids.iter().filter_map(|id| state.remove(id)).collect();
        drop(state);
        all.iter().for_each(|session| session.close(why));
        all.iter().for_each(|session| session.connection().close());
    }
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
