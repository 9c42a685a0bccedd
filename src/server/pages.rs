//! URL mode elicitations that are not completed yet, with the clients that got them. Only
//! 2025-11-25 has completion notifications.
//!
//! Spec: Client Features, "Elicitation", "Completion Notifications for URL Mode Elicitation"
//! (2025-11-25).

use std::collections::HashMap;
use std::sync::Arc;

use crate::protocol::Peer;
use crate::shares::{Admission, Client, GroupedShares};
use crate::sync::Mutex;
use crate::transport::Limits;

/// The maximum number of remembered elicitations. At the limit, the client with the most
/// elicitations loses its oldest one, and is not notified of the completion of that elicitation.
/// Clients must not rely on the notification anyway.
const MAX_PAGES: usize = 10_000;

/// The connections to which URL mode elicitations were sent, by the id of the elicitation.
pub(super) struct Pages<P = Peer>(Mutex<Table<P>>);

struct Table<P> {
    shown: HashMap<Arc<str>, Shown<P>>,
    /// Each client's share of `MAX_PAGES`.
    shares: GroupedShares<Arc<str>>,
    next: u64,
}

struct Shown<P> {
    peer: P,
    client: Client,
    order: u64,
}

impl<P> Table<P> {
    /// Adds an elicitation. Returns the peers that the table no longer needs. The caller drops them
    /// outside of the lock, because the last handle of a peer may run code of the host.
    #[must_use]
    fn add(&mut self, id: &str, peer: P, client: &Client) -> Vec<P> {
        let mut forgotten = Vec::from_iter(self.remove(id));
        loop {
            match self.shares.admit(client, 1) {
                Admission::Granted => break,
                Admission::After(oldest) => forgotten.extend(self.remove(&oldest)),
                Admission::Refused => {
                    forgotten.push(peer);
                    return forgotten;
                }
            }
        }
        let (id, order): (Arc<str>, _) = (id.into(), self.next);
        self.next += 1;
        self.shares.take(client, 1);
        self.shares.set_idle(client, 0, order, Arc::clone(&id));
        let client = client.clone();
        self.shown.insert(
            id,
            Shown {
                peer,
                client,
                order,
            },
        );
        forgotten
    }

    fn remove(&mut self, id: &str) -> Option<P> {
        let shown = self.shown.remove(id)?;
        self.shares.set_busy(&shown.client, 0, shown.order);
        self.shares.give_back(&shown.client, 1);
        Some(shown.peer)
    }
}

impl Pages {
    /// Remembers the connection on which an elicitation was sent. The elicitation counts for the
    /// share of `client`.
    pub(super) fn add(&self, id: &str, peer: &Peer, client: &Client) {
        let forgotten = self.0.lock().add(id, peer.clone(), client);
        drop(forgotten);
        // The connection may have closed before the page was added. `forget` would then have missed
        // the page.
        if peer.is_closed() {
            self.remove(id);
        }
    }

    /// Removes the elicitations that were sent on a connection which has ended.
    pub(super) fn forget(&self, gone: &Peer) {
        let mut table = self.0.lock();
        let is_gone = |shown: &Shown<Peer>| Arc::ptr_eq(shown.peer.core(), gone.core());
        let ids = table.shown.iter().filter(|(_, shown)| is_gone(shown));
        let ids: Vec<_> = ids.map(|(id, _)| Arc::clone(id)).collect();
        let removed: Vec<_> = ids.iter().map(|id| table.remove(id)).collect();
        drop(table);
        drop(removed);
    }
}

impl<P> Pages<P> {
    pub(super) fn new(limits: &Limits) -> Self {
        Self(Mutex::new(Table {
            shown: HashMap::new(),
            shares: GroupedShares::new(MAX_PAGES, limits.part_of(MAX_PAGES), 0),
            next: 0,
        }))
    }

    pub(super) fn remove(&self, id: &str) -> Option<P> {
        self.0.lock().remove(id)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // Must not happen: a client that is shown pages without end makes the server forget those of
    // others.
    #[test]
    fn a_client_with_very_many_pages_displaces_its_own() {
        let pages = Pages::new(&Limits::default());
        let add = |id: usize, client: u64| {
            let client = Client::Connection(client);
            drop(pages.0.lock().add(&id.to_string(), id, &client));
        };
        add(1, 1);
        for id in 2..3 * MAX_PAGES {
            add(id, 2);
        }
        assert_eq!(pages.remove("2"), None, "the oldest of the greedy client");
        let last = 3 * MAX_PAGES - 1;
        assert_eq!(pages.remove(&last.to_string()), Some(last));
        assert_eq!(pages.remove("1"), Some(1));
        assert_eq!(pages.remove("1"), None);
        let table = pages.0.lock();
        assert_eq!(table.shown.len(), MAX_PAGES - 2);
        assert_eq!(table.shares.total(), MAX_PAGES - 2);
    }
}
