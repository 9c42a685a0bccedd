//! The operations of the table of sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::events::Recent;
use super::super::history::Store;
use super::super::options::HttpOptions;
use super::{Entry, Session, Sessions, Slot, TableState};
use crate::error::{Error, ErrorKind, Span};
use crate::shares::{Admission, Client, Shares};
use crate::sync::Mutex;
use crate::transport::http::ClientKey;

/// The memory budget for `initialize` params, in bytes for each session that the table can hold.
/// The budget is at least [`LEAST_BYTES`]. So even if the table can hold only a few sessions, a
/// session can store long params.
const BYTES_OF_ONE: usize = 2 << 10;
const LEAST_BYTES: usize = 1 << 20;

/// The minimum time between two searches for busy sessions that have become idle.
const SEARCH_INTERVAL: Duration = Duration::from_millis(100);

impl TableState {
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
    pub(in super::super) fn new(options: &HttpOptions) -> Self {
        let max = options.max_sessions;
        let max_bytes = max.saturating_mul(BYTES_OF_ONE).max(LEAST_BYTES);
        let part_of = |bound| options.limits.part_of(bound);
        let state = TableState {
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

    pub(super) fn next_order(&self) -> u64 {
        self.next_order.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number of sessions that were ended to make room for other sessions.
    pub(in super::super) fn displaced(&self) -> u64 {
        self.displaced.load(Ordering::Relaxed)
    }

    /// Reserves a slot for a new session of a client, with `bytes` of client info, if there is
    /// room. Also ends sessions that were idle too long.
    pub(in super::super) fn reserve_slot(
        self: &Arc<Self>,
        owner: Client,
        bytes: usize,
    ) -> Option<Slot> {
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
    pub(in super::super) fn keep(&self, session: &Session, bytes: usize) -> bool {
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
    pub(super) fn look_again(&self, session: &Session) {
        let mut state = self.state.lock();
        let found = state.open.get(&session.id);
        if let Some(session) = found.map(|entry| Arc::clone(&entry.session)) {
            state.look_at(&session);
        }
    }

    /// Removes and returns sessions that were idle too long. Requests trigger this check at
    /// intervals, so the check needs no thread of its own.
    fn sweep(&self, state: &mut TableState) -> Vec<Arc<Session>> {
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
                    "nobody used the session for {} (HttpOptions::session_idle)",
                    Span(self.idle)
                ),
                false => {
                    self.displaced.fetch_add(1, Ordering::Relaxed);
                    "the session was idle, and made room for another one (HttpOptions::max_sessions)".to_owned()
                }
            };
            session.end(&Error::new(ErrorKind::Closed, text));
        }
    }

    pub(super) fn enter(&self, session: &Arc<Session>, mut slot: Slot) -> bool {
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
    pub(in super::super) fn find(
        &self,
        id: &[u8],
        principal: Option<&str>,
    ) -> Option<Arc<Session>> {
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
    pub(in super::super) fn client_of(&self, id: &[u8], address: &ClientKey) -> Option<ClientKey> {
        let id = std::str::from_utf8(id).ok()?;
        let state = self.state.lock();
        let session = &state.open.get(id)?.session;
        Some(match &session.owner {
            Client::Principal(name) => ClientKey::principal(Arc::clone(name)),
            _ => address.clone().session(Arc::clone(&session.id)),
        })
    }

    /// Returns whether a session with this id exists, regardless of its principal.
    pub(in super::super) fn has(&self, id: &[u8]) -> bool {
        let id = std::str::from_utf8(id);
        id.is_ok_and(|id| self.state.lock().open.contains_key(id))
    }

    pub(in super::super) fn remove(&self, session: &Session) {
        let removed = self.state.lock().remove(&session.id);
        drop(removed);
    }

    pub(in super::super) fn len(&self) -> usize {
        self.state.lock().open.len()
    }

    /// Ends the GET streams of all sessions.
    pub(in super::super) fn end_streams(&self) {
        let state = self.state.lock();
        let all = state.open.values().map(|entry| Arc::clone(&entry.session));
        let all: Vec<_> = all.collect();
        drop(state);
        all.iter()
            .for_each(|session| session.get_stream.close_now(None));
    }

    /// Ends all sessions with the reason `why`, refuses new sessions, and waits for the threads of
    /// the sessions.
    pub(in super::super) fn close(&self, why: &str) {
        let mut state = self.state.lock();
        state.closed = true;
        let ids: Vec<_> = state.open.keys().cloned().collect();
        let all: Vec<_> = ids.iter().filter_map(|id| state.remove(id)).collect();
        drop(state);
        all.iter().for_each(|session| session.close(why));
        all.iter().for_each(|session| session.connection().close());
    }
}
