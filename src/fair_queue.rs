//! A fair queue: jobs are removed round robin over the clients that added them.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A round-robin queue with one FIFO queue for each client.
///
/// **Invariant:** a client that has jobs is in `order` exactly once. A client without jobs is not
/// in `order`.
#[derive(Debug)]
pub(crate) struct FairQueue<K, J> {
    queues: HashMap<K, VecDeque<J>>,
    /// The clients that have jobs, in round-robin order: the first client is served next.
    order: VecDeque<K>,
    len: usize,
}

impl<K: Clone + Eq + Hash, J> FairQueue<K, J> {
    pub(crate) fn new() -> Self {
        Self {
            queues: HashMap::new(),
            order: VecDeque::new(),
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, client: &K, job: J) {
        self.len += 1;
        match self.queues.get_mut(client) {
            Some(queue) => queue.push_back(job),
            None => {
                self.queues.insert(client.clone(), VecDeque::from([job]));
                self.order.push_back(client.clone());
            }
        }
    }

    /// Iterates over the clients that have jobs, in round-robin order, with the number of jobs of
    /// each.
    pub(crate) fn clients(&self) -> impl Iterator<Item = (&K, usize)> {
        let queued = |client| self.queues.get(client).map_or(0, VecDeque::len);
        self.order
            .iter()
            .map(move |client| (client, queued(client)))
    }

    /// Returns the number of queued jobs of a client.
    pub(crate) fn queued(&self, client: &K) -> usize {
        self.queues.get(client).map_or(0, VecDeque::len)
    }

    /// Removes the oldest job of the next client, and moves this client to the end of the
    /// round-robin order. Returns `None` if the queue is empty.
    pub(crate) fn pop(&mut self) -> Option<J> {
        let client = self.order.front()?.clone();
        self.pop_of(&client)
    }

    /// Removes the oldest job of a client, and moves the client to the end of the round-robin
    /// order.
    pub(crate) fn pop_of(&mut self, client: &K) -> Option<J> {
        let job = self.queues.get_mut(client)?.pop_front()?;
        self.took_from(client, true);
        Some(job)
    }

    /// Removes the newest job of a client. The client keeps its position in the round-robin order.
    pub(crate) fn pop_last_of(&mut self, client: &K) -> Option<J> {
        let job = self.queues.get_mut(client)?.pop_back()?;
        self.took_from(client, false);
        Some(job)
    }

    fn took_from(&mut self, client: &K, is_served: bool) {
        self.len -= 1;
        let is_empty = self.queues.get(client).is_none_or(VecDeque::is_empty);
        if is_empty {
            self.queues.remove(client);
        }
        if is_empty || is_served {
            let position = self.order.iter().position(|other| other == client);
            let removed = position.and_then(|position| self.order.remove(position));
            self.order.extend(removed.filter(|_| !is_empty));
        }
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = J> {
        self.order.clear();
        self.len = 0;
        std::mem::take(&mut self.queues).into_values().flatten()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn clients_have_their_turns() {
        let mut queue = FairQueue::new();
        for (client, job) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("b", 5), ("c", 6)] {
            queue.push(&client, job);
        }
        assert_eq!(queue.pop_last_of(&"a"), Some(3));
        assert_eq!(queue.pop_of(&"b"), Some(4));
        let clients: Vec<_> = queue.clients().collect();
        assert_eq!(clients, [(&"a", 2), (&"c", 1), (&"b", 1)]);
        assert_eq!([1, 6, 5, 2].map(Some), [(); 4].map(|()| queue.pop()));
        assert_eq!((queue.pop(), queue.len()), (None, 0));
        queue.push(&"a", 1);
        assert_eq!(queue.drain().collect::<Vec<_>>(), [1]);
        assert_eq!((queue.pop(), queue.queued(&"a")), (None, 0));
    }
}
