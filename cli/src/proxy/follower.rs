//! Follows the changes of a server: reads its lists again, and renews subscriptions.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::inputs::Inputs;
use super::readings::Readings;
use super::upstream::{Change, Followed, Upstream};
use super::{PAUSES, Proxy, refresh};

/// What is known of the changes of one server, on the thread that follows it.
pub(super) struct Follower {
    /// The subscription to changes of the lists. `None` if the server reports none.
    lists: mcplink::Result<Option<Followed>>,
    /// The pause before what has failed is tried again.
    pause: Duration,
    /// When to try again what has failed.
    again: Option<Instant>,
    readings: Readings,
}

/// Waits for changes, at most until `wake`. Several changes are returned at once. Returns `None`
/// when no further change can come.
pub(super) fn next(changes: &mpsc::Receiver<Change>, wake: Option<Instant>) -> Option<Vec<Change>> {
    let change = match wake {
        Some(at) => changes.recv_timeout(at.saturating_duration_since(Instant::now())),
        None => changes.recv().map_err(mpsc::RecvTimeoutError::from),
    };
    let mut noted = match change {
        Ok(change) => vec![change],
        Err(mpsc::RecvTimeoutError::Timeout) => Vec::new(),
        Err(mpsc::RecvTimeoutError::Disconnected) => return None,
    };
    noted.extend(changes.try_iter());
    Some(noted)
}

impl Follower {
    /// Subscribes to the changes of a server whose lists were read just now. `are_read` tells
    /// whether all of them could be read.
    pub(super) fn new(upstream: &Upstream, are_read: bool) -> Self {
        let lists = upstream.subscribe();
        let pause = PAUSES.0;
        let again = (lists.is_err() || !are_read).then(|| Instant::now() + pause);
        Self {
            lists,
            pause,
            again,
            readings: Readings::new(Instant::now()),
        }
    }

    /// Returns when [`handle`](Self::handle) has to be called, even without a change.
    pub(super) fn wake(&self) -> Option<Instant> {
        [self.again, self.readings.due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Tries again after a pause what has failed.
    pub(super) fn try_later(&mut self) {
        let pause = self.pause;
        self.again.get_or_insert_with(|| Instant::now() + pause);
    }

    /// Acts on changes of the server.
    pub(super) fn handle(
        &mut self,
        proxy: &Arc<Proxy>,
        upstream: &Arc<Upstream>,
        noted: &[Change],
    ) {
        let is_retry = self.again.is_some_and(|at| at <= Instant::now());
        let has = |change| noted.contains(&change);
        if has(Change::Roots)
            && let Some(connection) = upstream.connection()
            && connection.inputs.has(Inputs::ROOT_CHANGES)
        {
            // A server that has gone asks for the roots when it needs them.
            _ = connection.client.roots_changed();
        }
        if has(Change::Opened) {
            self.lists = upstream.subscribe();
            follow_again(proxy, upstream, upstream.all_followed());
        }
        if has(Change::Lists) {
            self.pause = PAUSES.0;
        }
        if is_retry {
            (self.again, self.pause) = (None, (self.pause * 2).min(PAUSES.1));
            let has_ended = |lists: &Option<_>| lists.as_ref().is_some_and(Followed::has_ended);
            if self.lists.as_ref().map_or(true, has_ended) {
                self.lists = upstream.subscribe();
            }
            follow_again(proxy, upstream, upstream.all_ended());
        }
        if has(Change::Ended) {
            self.try_later();
        }
        let is_new = is_retry || has(Change::Lists) || has(Change::Opened);
        if !self.readings.are_due(Instant::now(), is_new) {
            return;
        }
        let are_read = refresh(proxy, upstream);
        // A list that can never be read is given up.
        if self.lists.is_err() || !are_read && self.pause < PAUSES.1 {
            self.try_later();
        }
    }
}

/// Follows resources of a server anew.
pub(super) fn follow_again(proxy: &Arc<Proxy>, upstream: &Upstream, uris: Vec<String>) {
    for uri in uris {
        upstream.unfollow(&uri);
        proxy.follow(&uri);
    }
}
