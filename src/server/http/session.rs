//! Sessions of legacy clients: what `initialize` agreed on, kept between requests.
//!
//! **Invariant:** a session is in the table from the moment its `initialize` is answered with a result until it ends: by DELETE, because
//! nobody used it for a while, or with the service. Whoever takes it out of the table closes its connection.
//!
//! **Locks:** the table's is never held together with another, and nothing is closed or dropped under it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::dispatch::Link;
use super::super::hub::{Offered, Standing};
use super::super::{Inner, Server};
use super::events::{EventStore, Recent};
use super::history::Keeper;
use super::options::HttpOptions;
use super::stream::{self, Stream};
use crate::error::{Error, ErrorCode, ErrorKind, Result, Span};
use crate::protocol::Connection;
use crate::protocol::principal::Principal;
use crate::schema::ProtocolVersion;
use crate::schema::json::millis;
use crate::sync::Mutex;
use crate::transport::http::{ResponseHead, ResponseWriter};
use crate::transport::sys::random;
use crate::transport::{Control, Sender, SessionMessage};

/// So many streams that have ended are remembered, for clients that missed the end.
const REMEMBERED: usize = 16;

/// The longest params of an `initialize` that opens a session. What a client says of itself in them is kept for as long as the session, and
/// read JSON takes up to a hundred times the memory of its text.
pub(super) const MAX_OPENING: usize = 256 << 10;

/// How many bytes the params of all sessions together may have, for each that there may be, and at least: few clients say as much.
const BYTES_OF_ONE: usize = 2 << 10;
const LEAST_BYTES: usize = 1 << 20;

/// One legacy client.
pub(super) struct Session {
    pub(super) id: Arc<str>,
    /// Who opened it; the only one who may use it.
    principal: Option<Principal>,
    link: Arc<Link>,
    connection: OnceLock<Connection>,
    pub(super) standing: Arc<Stream>,
    /// Streams that a client can come back to.
    streams: Mutex<BTreeMap<u64, Arc<Stream>>>,
    next_stream: AtomicU64,
    keep_alive: Duration,
    /// Keeps what is said on streams that a client can come back to, which is all of them or none.
    pub(super) keeper: Option<Keeper>,
    born: Instant,
    /// In milliseconds since it was born: the last request, answer, or reader that has gone.
    used: AtomicU64,
    table: Weak<Sessions>,
    /// It lives as long as its standing stream, on which everything goes out (2024-11-05).
    on_one_stream: bool,
    entered: AtomicBool,
    ended: AtomicBool,
    /// Until it is entered.
    place: Mutex<Option<Place>>,
    /// What it counts for in [`State::bytes`]; changed under the table's lock.
    bytes: AtomicUsize,
}

impl Session {
    /// Opens a session, which nobody finds before `initialize` is answered.
    pub(super) fn open(
        server: &Arc<Inner>,
        options: &HttpOptions,
        table: &Arc<Sessions>,
        principal: Option<Principal>,
        peer: String,
        on_one_stream: bool,
        place: Place,
    ) -> Result<Arc<Self>> {
        let mut bytes = [0; 24 + 16];
        random::fill(&mut bytes)?;
        let (secret, name) = bytes.split_at(24);
        // Whoever lost the one stream has lost the session.
        let keeper = (!on_one_stream).then(|| Keeper {
            store: Arc::clone(&table.store),
            is_hosts: table.has_hosts_store,
            name: URL_SAFE_NO_PAD.encode(name),
            log: server.log.clone(),
        });
        let link = Link::of_session(server);
        let session = Arc::new_cyclic(|session: &Weak<Self>| Self {
            id: URL_SAFE_NO_PAD.encode(secret).into(),
            principal,
            link: Arc::clone(&link),
            connection: OnceLock::new(),
            standing: Arc::new(Stream::standing(session.clone(), options.keep_alive)),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            keep_alive: options.keep_alive,
            keeper,
            born: Instant::now(),
            used: AtomicU64::new(0),
            table: Arc::downgrade(table),
            on_one_stream,
            entered: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            bytes: AtomicUsize::new(place.bytes),
            place: Mutex::new(Some(place)),
        });
        let standing: Weak<dyn Standing> = Arc::downgrade(&session) as Weak<Self>;
        link.tell_on(standing);
        let connection = Server::connection(&link).open_fed(
            Box::new(StandingSender(Arc::downgrade(&session))),
            Arc::new(SessionControl {
                session: Arc::downgrade(&session),
                peer,
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

    /// The revision that `initialize` agreed on.
    pub(super) fn revision(&self) -> Option<ProtocolVersion> {
        self.link.conversation.revision()
    }

    pub(super) fn marks_beginnings(&self) -> bool {
        self.revision().is_some_and(stream::marks_beginnings)
    }

    pub(super) fn belongs_to(&self, principal: Option<&str>) -> bool {
        self.principal.as_ref().map(Principal::name) == principal
    }

    /// The stream for a request that came in.
    pub(super) fn stream_for(self: &Arc<Self>, writer: Box<dyn ResponseWriter>) -> Arc<Stream> {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        Arc::new(Stream::of_request(
            number,
            Arc::downgrade(self),
            self.keep_alive,
            writer,
        ))
    }

    /// Keeps a stream for a client that comes back to it.
    pub(super) fn remember(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams.lock();
        streams.insert(stream.number, Arc::clone(stream));
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
            return Some(Arc::clone(&self.standing));
        }
        self.streams.lock().get(&number).cloned()
    }

    /// Adds to the answer of `initialize` under which name the session is found from now on; other answers stay as they are.
    pub(super) fn head_of_answer(
        self: &Arc<Self>,
        head: ResponseHead,
        error: Option<ErrorCode>,
    ) -> ResponseHead {
        if error.is_none() && self.revision().is_some() && self.enter() {
            head.header("Mcp-Session-Id", self.id.to_string())
        } else {
            head
        }
    }

    /// From now on the session can be used. `true` the first time.
    pub(super) fn enter(self: &Arc<Self>) -> bool {
        if self.entered.swap(true, Ordering::SeqCst) {
            return false;
        }
        let place = self.place.lock().take();
        let table = self.table.upgrade();
        place.is_some_and(|place| table.is_some_and(|table| table.enter(self, place)))
    }

    /// Nobody reads the standing stream any more. Neither blocks nor runs user code.
    pub(super) fn lost_its_stream(self: &Arc<Self>) {
        if self.on_one_stream {
            let session = Arc::clone(self);
            let why = Error::new(ErrorKind::Closed, "the client has lost its stream");
            self.connection()
                .peer()
                .run_in_order(move || session.end(Some(&why)));
        }
    }

    pub(super) fn touch(&self) {
        self.used
            .store(millis(self.born.elapsed()), Ordering::Relaxed);
    }

    fn is_idle(&self, limit: Duration) -> bool {
        let used = Duration::from_millis(self.used.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(used) > limit
            && self.connection().peer().stats().requests_in_hand == 0
            && !self.standing.is_read()
            && !self.streams.lock().values().any(|stream| stream.is_read())
    }

    /// Ends the session and everything on it, for this reason if it is not this side's wish; idempotent.
    pub(super) fn end(&self, why: Option<&Error>) {
        if !self.ended.swap(true, Ordering::SeqCst) {
            if let Some(why) = why {
                self.connection().peer().core().end(why);
            }
            self.connection().close();
        }
    }

    /// Somebody reads the standing stream that nobody read. Neither blocks nor runs user code.
    pub(super) fn has_its_stream(&self) {
        self.link.reader_came();
    }
}

impl Standing for Session {
    fn offer(&self, text: &[u8]) -> Offered {
        self.standing.offer(text)
    }

    fn announce(&self, text: &[u8]) {
        self.standing.announce(text);
    }

    fn is_quick(&self) -> bool {
        !self.keeper.as_ref().is_some_and(|keeper| keeper.is_hosts)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its id is a secret.
        f.debug_struct("Session")
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

/// All sessions that a client can use.
#[derive(Debug)]
pub(super) struct Sessions {
    state: Mutex<State>,
    store: Arc<dyn EventStore>,
    /// The store is code of the host's.
    has_hosts_store: bool,
    idle: Duration,
    max: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct State {
    open: HashMap<Arc<str>, Arc<Session>>,
    swept: Instant,
    closed: bool,
    /// How many are being opened: their places are taken.
    opening: usize,
    /// How much the clients of those that are open or being opened have said of themselves.
    bytes: usize,
}

impl State {
    /// Counts no longer for what was taken out.
    fn release(&mut self, session: &Session) {
        self.bytes -= session.bytes.load(Ordering::Relaxed);
    }
}

/// The place of a session that is being opened.
#[derive(Debug)]
pub(super) struct Place {
    sessions: Arc<Sessions>,
    bytes: usize,
    is_taken: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_taken {
            let mut state = self.sessions.state.lock();
            state.opening -= 1;
            state.bytes -= self.bytes;
        }
    }
}

impl Sessions {
    pub(super) fn new(options: &HttpOptions) -> Self {
        let state = State {
            open: HashMap::new(),
            swept: Instant::now(),
            closed: false,
            opening: 0,
            bytes: 0,
        };
        let store = options.event_store.clone();
        Self {
            state: Mutex::new(state),
            has_hosts_store: store.is_some(),
            store: store.unwrap_or_else(|| {
                Arc::new(Recent::new(
                    options.max_events,
                    options.max_event_bytes,
                    options.max_kept_bytes,
                ))
            }),
            idle: options.session_idle,
            max: options.max_sessions,
            max_bytes: options
                .max_sessions
                .saturating_mul(BYTES_OF_ONE)
                .max(LEAST_BYTES),
        }
    }

    /// A place for another one, whose client says so much of itself, if there is room. Looks for sessions that nobody uses any more.
    pub(super) fn take_place(self: &Arc<Self>, bytes: usize) -> Option<Place> {
        let mut state = self.state.lock();
        let full = !self.has_room(&state, bytes);
        let idle = self.sweep(&mut state, full);
        let has_room = self.has_room(&state, bytes) && !state.closed;
        if has_room {
            state.opening += 1;
            state.bytes += bytes;
        }
        drop(state);
        self.end_idle(&idle);
        has_room.then(|| Place {
            sessions: Arc::clone(self),
            bytes,
            is_taken: true,
        })
    }

    fn has_room(&self, state: &State, bytes: usize) -> bool {
        state.open.len() + state.opening < self.max && self.may_keep(state, bytes)
    }

    fn may_keep(&self, state: &State, bytes: usize) -> bool {
        state.bytes.saturating_add(bytes) <= self.max_bytes
    }

    /// Makes room for what the client of a session says of itself that was opened before it said anything.
    pub(super) fn keep(&self, session: &Session, bytes: usize) -> bool {
        let mut state = self.state.lock();
        // One that could not be read may have come before.
        let more = bytes.saturating_sub(session.bytes.load(Ordering::Relaxed));
        let may_keep = self.may_keep(&state, more);
        // One that was taken out meanwhile counts for nothing.
        if may_keep && state.open.contains_key(&session.id) {
            state.bytes += more;
            session.bytes.fetch_add(more, Ordering::Relaxed);
        }
        may_keep
    }

    /// Looks through the sessions once in a while, so that there is no thread for it.
    fn sweep(&self, state: &mut State, at_once: bool) -> Vec<Arc<Session>> {
        let interval = (self.idle / 8).min(Duration::from_secs(60));
        if !at_once && state.swept.elapsed() < interval {
            return Vec::new();
        }
        state.swept = Instant::now();
        let idle = state
            .open
            .extract_if(|_, session| session.is_idle(self.idle));
        let idle: Vec<_> = idle.map(|(_, session)| session).collect();
        idle.iter().for_each(|session| state.release(session));
        idle
    }

    fn end_idle(&self, idle: &[Arc<Session>]) {
        if idle.is_empty() {
            return;
        }
        let text = format!(
            "nobody used the session for {} (session_idle)",
            Span(self.idle)
        );
        let why = Error::new(ErrorKind::Closed, text);
        idle.iter().for_each(|session| session.end(Some(&why)));
    }

    fn enter(&self, session: &Arc<Session>, mut place: Place) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return false;
        }
        // It is counted as one of those that are open from now on, and never twice or not at all.
        place.is_taken = false;
        state.opening -= 1;
        state
            .open
            .insert(Arc::clone(&session.id), Arc::clone(session));
        true
    }

    /// Finds a session by the name that only its owner knows.
    pub(super) fn find(&self, id: &[u8], principal: Option<&str>) -> Option<Arc<Session>> {
        let id = std::str::from_utf8(id).ok()?;
        let mut state = self.state.lock();
        let idle = self.sweep(&mut state, false);
        let session = state.open.get(id).cloned();
        drop(state);
        self.end_idle(&idle);
        let session = session.filter(|session| {
            session.belongs_to(principal) && !session.connection().peer().is_closed()
        })?;
        session.touch();
        Some(session)
    }

    pub(super) fn remove(&self, session: &Session) {
        let mut state = self.state.lock();
        let removed = state.open.remove(&session.id);
        if let Some(session) = &removed {
            state.release(session);
        }
        drop(state);
        drop(removed);
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().open.len()
    }

    /// Ends the standing streams in order.
    pub(super) fn end_streams(&self) {
        let all: Vec<_> = self.state.lock().open.values().cloned().collect();
        all.iter().for_each(|session| session.standing.close_now());
    }

    /// Ends all of them, and lets no other one in.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let all = std::mem::take(&mut state.open);
        all.values().for_each(|session| state.release(session));
        drop(state);
        all.values().for_each(|session| session.end(None));
    }
}

/// Says on the standing stream what belongs to no request.
#[derive(Debug)]
struct StandingSender(Weak<Session>);

impl Sender for StandingSender {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, _deadline: Instant) -> Result<()> {
        let Some(session) = self.0.upgrade() else {
            queue.clear();
            return Ok(());
        };
        while let Some(message) = queue.pop_front() {
            session.standing.announce(&message.text);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct SessionControl {
    session: Weak<Session>,
    peer: String,
}

impl Control for SessionControl {
    fn peer(&self) -> String {
        self.peer.clone()
    }

    fn close(&self) {
        let Some(session) = self.session.upgrade() else {
            return;
        };
        if let Some(table) = session.table.upgrade() {
            table.remove(&session);
        }
        session.standing.close_now();
        let streams = std::mem::take(&mut *session.streams.lock());
        streams.values().for_each(|stream| stream.close_now());
    }
}
