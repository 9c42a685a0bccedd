//! URL mode elicitations that are not completed yet, with the clients that got them. Only
//! 2025-11-25 has completion notifications.
//!
//! Spec: Client Features, "Elicitation", "Completion Notifications for URL Mode Elicitation"
//! (2025-11-25).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::protocol::Peer;
use crate::sync::Mutex;

/// The maximum number of remembered elicitations. At the limit the oldest elicitation is forgotten,
/// and the client is not notified of its completion. Clients must not rely on the notification
/// anyway.
const MAX_PAGES: usize = 10_000;

/// The connections to which URL mode elicitations were sent, by the id of the elicitation.
#[derive(Default)]
pub(super) struct Pages(Mutex<Table>);

#[derive(Default)]
struct Table {
    shown: HashMap<String, Peer>,
    /// The ids of the elicitations, the oldest first. Some of them may already be removed from
    /// `shown`.
    order: VecDeque<String>,
}

impl Pages {
    pub(super) fn add(&self, id: &str, peer: &Peer) {
        let mut table = self.0.lock();
        if table.shown.insert(id.to_owned(), peer.clone()).is_none() {
            table.order.push_back(id.to_owned());
        }
        let Table { shown, order } = &mut *table;
        while shown.len() > MAX_PAGES {
            let Some(oldest) = order.pop_front() else {
                break;
            };
            shown.remove(&oldest);
        }
        if order.len() > 2 * MAX_PAGES {
            order.retain(|id| shown.contains_key(id));
        }
        drop(table);
        // The connection may have closed before the page was added. `forget` would then have missed
        // the page.
        if peer.is_closed() {
            self.remove(id);
        }
    }

    pub(super) fn remove(&self, id: &str) -> Option<Peer> {
        self.0.lock().shown.remove(id)
    }

    /// Removes the elicitations that were sent on a connection which has ended.
    pub(super) fn forget(&self, gone: &Peer) {
        let mut table = self.0.lock();
        table
            .shown
            .retain(|_, peer| !Arc::ptr_eq(peer.core(), gone.core()));
    }
}
