//! The queue of handlers that wait for a worker permit.
//!
//! On the connection of a single client, the queue is a FIFO queue and the pool only counts
//! permits. On a connection that clients share, each permit belongs to a client. A free permit goes
//! to the client that holds the fewest permits. Beyond `max_workers` there is a reserve of permits
//! for clients that hold few. So a client with many long handlers does not delay other clients.

use std::collections::VecDeque;

use crate::fair_queue::FairQueue;
use crate::shares::{Admission, Client, Shares};

/// The client that stands for all unknown clients. Jobs of unknown clients count for this client.
static UNKNOWN: Client = Client::Connection(0);

/// The queue of handlers that wait for a worker permit.
pub(super) enum WorkQueue<J> {
    /// The queue of a single client.
    Single(VecDeque<J>),
    /// The queue of a connection that clients share.
    Shared(Box<SharedQueue<J>>),
}

pub(super) struct SharedQueue<J> {
    waiting: FairQueue<Client, J>,
    /// The worker permits in use.
    permits: Shares<()>,
}

impl<J> SharedQueue<J> {
    fn may_take(&self, client: &Client) -> bool {
        self.permits.admit(client, 1) == Admission::Granted
    }

    /// Returns the client that gets the next permit. Of the clients that may take a permit, this is
    /// the client that holds the fewest. Clients with equally many permits take turns.
    fn next(&self) -> Option<&Client> {
        let clients = self.waiting.clients().map(|(client, _)| client);
        let clients = clients.filter(|client| self.may_take(client));
        clients.min_by_key(|client| self.permits.of(client))
    }
}

impl<J> WorkQueue<J> {
    /// Creates the queue of a connection that clients share.
    ///
    /// Beyond `max_workers` there are `reserve` permits for clients that hold few permits. A client
    /// that uses the reserve may hold at most `part` permits.
    pub(super) fn shared(max_workers: usize, part: usize, reserve: usize) -> Self {
        Self::Shared(Box::new(SharedQueue {
            waiting: FairQueue::new(),
            permits: Shares::new(max_workers.saturating_add(reserve), part, reserve),
        }))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Single(queue) => queue.len(),
            Self::Shared(shared) => shared.waiting.len(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues a handler of a client.
    pub(super) fn push(&mut self, client: Option<&Client>, job: J) {
        match self {
            Self::Single(queue) => queue.push_back(job),
            Self::Shared(shared) => shared.waiting.push(client.unwrap_or(&UNKNOWN), job),
        }
    }

    /// Whether a waiting handler may get a permit, while `running` of `max_workers` permits are in
    /// use.
    pub(super) fn can_run(&self, running: usize, max_workers: usize) -> bool {
        match self {
            Self::Single(queue) => !queue.is_empty() && running < max_workers,
            Self::Shared(shared) => {
                let mut clients = shared.waiting.clients();
                clients.any(|(client, _)| shared.may_take(client))
            }
        }
    }

    /// Removes the next handler that may get a permit, takes a permit for it, and returns the
    /// handler.
    pub(super) fn pop(&mut self, running: usize, max_workers: usize) -> Option<J> {
        match self {
            Self::Single(_) if running >= max_workers => None,
            Self::Single(queue) => queue.pop_front(),
            Self::Shared(shared) => {
                let client = shared.next()?.clone();
                let job = shared.waiting.pop_of(&client)?;
                shared.permits.take(&client, 1);
                Some(job)
            }
        }
    }

    /// Takes a permit for a handler that had released its permit while it waited for the peer. The
    /// number of permits in use may then exceed the limit.
    pub(super) fn take_back(&mut self, client: Option<&Client>) {
        if let Self::Shared(shared) = self {
            shared.permits.take(client.unwrap_or(&UNKNOWN), 1);
        }
    }

    /// Releases a permit of this client.
    pub(super) fn release(&mut self, client: Option<&Client>) {
        if let Self::Shared(shared) = self {
            shared.permits.give_back(client.unwrap_or(&UNKNOWN), 1);
        }
    }

    /// Removes all waiting handlers from the queue and returns them.
    pub(super) fn drain(&mut self) -> Vec<J> {
        match self {
            Self::Single(queue) => std::mem::take(queue).into(),
            Self::Shared(shared) => shared.waiting.drain().collect(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A greedy client has queued all its handlers first. A second client begins while they run.
    /// The second client then gets each free permit until it holds as many as the greedy client.
    #[test]
    fn the_client_with_fewest_permits_is_next() {
        let [greedy, other] = [1, 2].map(Client::Connection);
        let mut queue = WorkQueue::shared(4, 2, 2);
        (0..10).for_each(|_| queue.push(Some(&greedy), "greedy"));
        let taken: Vec<_> = std::iter::from_fn(|| queue.pop(0, 4)).collect();
        assert_eq!(taken, ["greedy"; 4], "one client leaves the reserve");
        assert!(!queue.can_run(4, 4));
        (0..3).for_each(|_| queue.push(Some(&other), "other"));
        assert_eq!(queue.pop(4, 4), Some("other"));
        assert_eq!(queue.pop(5, 4), None, "half of the reserve is left");
        queue.push(None, "unknown");
        assert_eq!(queue.pop(5, 4), Some("unknown"));
        assert!(!queue.can_run(6, 4));
        queue.release(None);
        queue.release(Some(&greedy));
        assert_eq!(queue.pop(4, 4), Some("other"));
        assert_eq!(queue.pop(5, 4), None, "a third one is beyond its part");
        queue.release(Some(&greedy));
        queue.release(Some(&greedy));
        assert_eq!(queue.pop(3, 4), Some("greedy"));
        assert_eq!((queue.pop(4, 4), queue.len()), (None, 6));
        assert_eq!(queue.drain().len(), 6);
        assert!(queue.is_empty());
    }

    #[test]
    fn the_handlers_of_a_single_client_run_in_their_order() {
        let mut queue = WorkQueue::Single(VecDeque::new());
        (0..3).for_each(|job| queue.push(None, job));
        assert!(queue.can_run(1, 2) && !queue.can_run(2, 2));
        assert_eq!([queue.pop(1, 2), queue.pop(2, 2)], [Some(0), None]);
        assert_eq!(queue.drain(), [1, 2]);
    }
}
