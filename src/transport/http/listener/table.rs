//! The table of open connections. At a limit, the table chooses the connections to close.
//!
//! Only a connection without a request in flight can be displaced. The client with the most
//! connections loses one first. Connections in lingering close are displaced first, then
//! connections that have sent no byte, then idle connections (longest idle first). Connections with
//! an unfinished request are displaced last.
//!
//! The rank of a connection that a worker owns may be outdated, because its requests don't update
//! the table. When the poller tries to displace such a connection, the connection updates its rank,
//! and the poller tries the next candidate.

use std::collections::HashMap;
use std::sync::Arc;

use crate::shares::{Admission, Client, Shares};
use crate::sync::Mutex;

/// The displacement rank of a connection. Connections with lower ranks are displaced first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// The connection is in lingering close.
    Parting,
    /// The connection is new: no byte of a request has arrived.
    Fresh,
    /// The connection is idle between two requests.
    Idle,
    /// A part of a request has arrived.
    Unfinished,
}

/// The table of open connections. Each connection has a key, and counts for its client, which is
/// always the same.
#[derive(Debug)]
pub(super) struct Table<C> {
    /// The entries of the table. While this lock is held, no other lock is taken.
    state: Mutex<State<C>>,
    max: usize,
    reserve: usize,
}

#[derive(Debug)]
struct State<C> {
    open: HashMap<usize, Entry<C>>,
    shares: Shares<usize>,
    next_order: u64,
}

/// The entry of an open connection in the table.
#[derive(Debug)]
struct Entry<C> {
    conn: Arc<C>,
    /// Whether the connection counts against the limit. A connection that was accepted only to be
    /// answered with 503 does not count.
    is_counted: bool,
    /// The displacement rank of the connection. `None` if the connection can't be displaced.
    rank: Option<Rank>,
    /// The order of the connection within its rank.
    order: u64,
}

impl<C> Table<C> {
    /// Creates a table for `max` connections, and for `reserve` more connections of clients that
    /// have few connections. `part` is the maximum number of connections of one client while other
    /// clients need connections.
    pub(super) fn new(max: usize, part: usize, reserve: usize) -> Self {
        Self {
            state: Mutex::new(State {
                open: HashMap::new(),
                shares: Shares::new(max.saturating_add(reserve), part, reserve),
                next_order: 0,
            }),
            max,
            reserve,
        }
    }

    /// Decides whether a client may have one more connection, and which connection has to be closed
    /// for it. `descriptors` is the process's limit of file descriptors.
    pub(super) fn admit(&self, client: &Client, descriptors: Option<usize>) -> Admission<usize> {
        let mut state = self.state.lock();
        let max = self.max.saturating_add(self.reserve);
        // The host application needs some descriptors, too.
        let most = descriptors.map_or(max, |all| all.saturating_sub((all / 8).max(16)));
        if most < max {
            state
                .shares
                .set_max(most.max(1), self.reserve.min(most / 8));
        } else {
            state.shares.set_max(max, self.reserve);
        }
        state.shares.admit(client, 1)
    }

    /// Returns the connection to displace when the system has no descriptor left.
    pub(super) fn first_to_give_way(&self) -> Option<Arc<C>> {
        let state = self.state.lock();
        let key = state.shares.first_to_give_way()?;
        state.open.get(&key).map(|entry| Arc::clone(&entry.conn))
    }

    pub(super) fn insert(&self, key: usize, client: &Client, conn: Arc<C>, is_counted: bool) {
        let mut state = self.state.lock();
        if is_counted {
            state.shares.take(client, 1);
        }
        let entry = Entry {
            conn,
            is_counted,
            rank: None,
            order: 0,
        };
        state.open.insert(key, entry);
    }

    /// Sets the displacement rank of a connection. `None` means that the connection can't be
    /// displaced.
    pub(super) fn set_rank(&self, key: usize, client: &Client, rank: Option<Rank>) {
        let mut state = self.state.lock();
        let State {
            open,
            shares,
            next_order,
        } = &mut *state;
        let Some(entry) = open.get_mut(&key).filter(|entry| entry.is_counted) else {
            return;
        };
        if let Some(rank) = entry.rank.take() {
            shares.set_busy(client, rank as u8, entry.order);
        }
        if let Some(rank) = rank {
            shares.set_idle(client, rank as u8, *next_order, key);
            (entry.rank, entry.order) = (Some(rank), *next_order);
            *next_order += 1;
        }
    }

    /// Stops counting a connection against the limit, because it is about to be closed.
    pub(super) fn uncount(&self, key: usize, client: &Client) {
        let mut state = self.state.lock();
        let State { open, shares, .. } = &mut *state;
        if let Some(entry) = open.get_mut(&key)
            && std::mem::take(&mut entry.is_counted)
        {
            shares.give_back(client, 1);
        }
    }

    /// Counts a connection against the limit again, even if the limit is exceeded then.
    pub(super) fn count_again(&self, key: usize, client: &Client) {
        let mut state = self.state.lock();
        let State { open, shares, .. } = &mut *state;
        if let Some(entry) = open.get_mut(&key)
            && !std::mem::replace(&mut entry.is_counted, true)
        {
            shares.take(client, 1);
        }
    }

    pub(super) fn find(&self, key: usize) -> Option<Arc<C>> {
        let state = self.state.lock();
        state.open.get(&key).map(|entry| Arc::clone(&entry.conn))
    }

    pub(super) fn forget(&self, key: usize, client: &Client) {
        let mut state = self.state.lock();
        let Some(entry) = state.open.remove(&key) else {
            return;
        };
        if let Some(rank) = entry.rank {
            state.shares.set_busy(client, rank as u8, entry.order);
        }
        if entry.is_counted {
            state.shares.give_back(client, 1);
        }
        drop(state);
    }

    pub(super) fn all(&self) -> Vec<Arc<C>> {
        let state = self.state.lock();
        let conns = state.open.values().map(|entry| Arc::clone(&entry.conn));
        conns.collect()
    }

    /// Returns the number of connections beyond the limit, which are only answered with 503.
    pub(super) fn turned_away(&self) -> usize {
        let state = self.state.lock();
        state.open.len().saturating_sub(state.shares.total())
    }
}
