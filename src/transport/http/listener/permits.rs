//! Permits: the number of handlers that each client may run at once.
//!
//! There are `max_workers` permits, and one client may hold all of them. In addition there is a
//! reserve for clients that hold few permits. Half of the reserve is for sessions that hold few
//! permits at an address that holds many. The other half is for addresses and principals that hold
//! few permits.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use crate::shares::{Admission, Client, Shares};
use crate::transport::http::ClientKey;

/// A permit that a worker holds.
#[derive(Debug)]
pub(super) struct Permit {
    pub(super) key: ClientKey,
    /// One of [`HELD`](Self::HELD), [`ORPHAN`](Self::ORPHAN) and [`OVER`](Self::OVER). Changed only
    /// under the lock of the pool.
    pub(super) state: AtomicU8,
}

impl Permit {
    pub(super) const HELD: u8 = 0;
    /// The client has gone.
    pub(super) const ORPHAN: u8 = 1;
    pub(super) const OVER: u8 = 2;

    pub(super) fn new(key: ClientKey) -> Arc<Self> {
        Arc::new(Self {
            key,
            state: AtomicU8::new(Self::HELD),
        })
    }
}

/// The permits in use.
#[derive(Debug)]
pub(super) struct Permits {
    /// The permits in use, counted by principal or address.
    groups: Shares<()>,
    /// The permits in use, counted by principal, address or session.
    own: Shares<()>,
}

impl Permits {
    pub(super) fn new(max_workers: usize, part: usize, reserve: usize) -> Self {
        let half = reserve.div_ceil(2);
        Self {
            groups: Shares::new(max_workers.saturating_add(reserve), part, reserve),
            own: Shares::new(max_workers.saturating_add(half), part, half),
        }
    }

    /// Returns the number of permits in use.
    pub(super) fn held(&self) -> usize {
        self.groups.total()
    }

    /// Takes a permit for a client. Returns false if the client can't have another permit.
    pub(super) fn take(&mut self, key: &ClientKey) -> bool {
        let may_take = self.may_take(key);
        if may_take {
            self.groups.take(key.group(), 1);
            self.own.take(key.own(), 1);
        }
        may_take
    }

    pub(super) fn may_take(&self, key: &ClientKey) -> bool {
        let granted = |shares: &Shares<()>, client: &Client| {
            matches!(shares.admit(client, 1), Admission::Granted)
        };
        granted(&self.groups, key.group()) || granted(&self.own, key.own())
    }

    pub(super) fn give_back(&mut self, key: &ClientKey) {
        self.groups.give_back(key.group(), 1);
        self.own.give_back(key.own(), 1);
    }

    /// Returns the number of permits of a client. The first number counts all permits of its
    /// principal or address. The second number counts those of its session. Clients are compared by
    /// these numbers.
    pub(super) fn held_by(&self, key: &ClientKey) -> (usize, usize) {
        (self.groups.of(key.group()), self.own.of(key.own()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_addresses_find_a_place_beside_a_greedy_address() {
        let at = |last: u8| ClientKey::address(Some([192, 0, 2, last].into()));
        let mut permits = Permits::new(8, 4, 4);
        for _ in 0..8 {
            assert!(permits.take(&at(1).session("greedy")));
        }
        assert!(!permits.take(&at(1).session("greedy")));
        assert!(permits.take(&at(1).session("1")));
        // However many sessions an address opens, the reserve for other addresses stays.
        assert!(permits.take(&at(1).session("2")));
        assert!(!permits.take(&at(1).session("3")));
        assert!(permits.take(&at(2)));
        assert!(permits.take(&ClientKey::principal("3")));
        assert!(!permits.take(&at(4)));
        assert_eq!(permits.held(), 12);
        for _ in 0..5 {
            permits.give_back(&at(1).session("greedy"));
        }
        assert_eq!(permits.held_by(&at(1).session("greedy")), (5, 3));
        assert!(permits.take(&at(1).session("3")));
    }
}
