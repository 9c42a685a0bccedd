//! Pages that users were sent to, until what is to be done there is done. 2025-11-25 only: other revisions are not told.
//!
//! Spec: Client Features, "Elicitation", "Completion Notifications for URL Mode Elicitation" (2025-11-25).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Server;
use crate::error::Result;
use crate::protocol::Peer;
use crate::schema::{ElicitationCompleteNotificationParams, method};
use crate::sync::Mutex;

/// Of more pages the oldest is forgotten, and its completion not told: clients can't count on that anyway.
const MAX_PAGES: usize = 10_000;

/// Which connection a page was shown on, by the id of its elicitation.
#[derive(Default)]
pub(super) struct Pages(Mutex<Table>);

#[derive(Default)]
struct Table {
    shown: HashMap<String, Peer>,
    /// The ids, the oldest first. Some may be gone.
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
        // It may have left meanwhile.
        if peer.is_closed() {
            self.remove(id);
        }
    }

    fn remove(&self, id: &str) -> Option<Peer> {
        self.0.lock().shown.remove(id)
    }

    /// Forgets the pages of a connection that has ended.
    pub(super) fn forget(&self, gone: &Peer) {
        let mut table = self.0.lock();
        table
            .shown
            .retain(|_, peer| !Arc::ptr_eq(peer.core(), gone.core()));
    }
}

impl Server {
    /// Tells the client that what its user was to do on a page is done. Returns whether a client was told.
    ///
    /// `elicitation_id` is what the handler named the page with
    /// ([`ElicitRequestURLParams::elicitation_id`](crate::schema::ElicitRequestURLParams::elicitation_id)), a text that no other page has; only the client that was sent
    /// there is told, and only once. Only 2025-11-25 knows this; in other revisions nothing is sent, and a client asks again by itself. May be
    /// called from any thread, for example that of a web server.
    ///
    /// Spec: Client Features, "Elicitation", "Completion Notifications for URL Mode Elicitation" (2025-11-25).
    ///
    /// # Errors
    ///
    /// As [`Peer::notify`].
    pub fn elicitation_complete(&self, elicitation_id: &str) -> Result<bool> {
        let Some(peer) = self.0.pages.remove(elicitation_id) else {
            return Ok(false);
        };
        let params = ElicitationCompleteNotificationParams::new(elicitation_id);
        peer.notify(method::NOTIFICATIONS_ELICITATION_COMPLETE, &params)?;
        Ok(true)
    }
}
