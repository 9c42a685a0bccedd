//! Deferred requests: requests that are queued while the peer reads its answers too slowly.
//!
//! A request is deferred when `max_requests` requests are active and the writer has no room for
//! their answers, because the peer reads too slowly. This side is not overloaded, so new requests
//! are not refused. Deferred requests are served when active requests have ended. Other messages
//! are still processed, so that cancellations take effect. When the deferred requests would fill
//! the writer again, the reading thread reads no more input until fewer requests are deferred.
//!
//! **Invariant:** a thread that defers a request checks *afterwards* whether a request may become
//! active. A thread that ends a request checks *afterwards* whether requests are deferred. At least
//! one of the two threads sees the change of the other thread. So no request stays deferred while
//! there is room.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::jsonrpc::{Request, RequestId};
use crate::sync::{AtomicUsize, Condvar, Mutex};

/// The queue of deferred requests.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    /// The number of deferred requests. A request that was removed from the queue counts until it
    /// is active. The number is atomic, because it is read without the lock whenever a request
    /// ends.
    // Incremented under the lock. All accesses are `SeqCst`, as the module's invariant needs a
    // total order with the counters of active requests.
    count: AtomicUsize,
    /// Created with the first request, or at the end of the connection. Most connections never
    /// defer a request.
    queue: OnceLock<Box<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    /// The condition variable that is notified when the queued requests have fewer bytes than
    /// before.
    fewer: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Request>,
    /// The total bytes of the queued requests.
    bytes: usize,
    closed: bool,
}

impl HeldBack {
    fn queue(&self) -> &Queue {
        self.queue.get_or_init(Box::default)
    }

    /// Queues a request. Returns the request if the queue would have more than `max` bytes. An
    /// empty queue accepts one request of any size.
    pub(super) fn push(&self, request: Request, max: usize) -> Result<(), Request> {
        let mut state = self.queue().state.lock();
        let bytes = state.bytes.saturating_add(request.text_len());
        if state.closed || (bytes > max && !state.queue.is_empty()) {
            return Err(request);
        }
        state.bytes = bytes;
        state.queue.push_back(request);
        self.count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Removes the oldest request from the queue and returns it. The request still counts as
    /// deferred until [`taken`](Self::taken) is called. So every request counts as deferred or as
    /// active at any time.
    pub(super) fn pop(&self) -> Option<Request> {
        let mut state = self.queue().state.lock();
        let request = state.queue.pop_front()?;
        self.has_less(state, &request);
        Some(request)
    }

    /// Records that a request from the queue is now active or answered, and no longer deferred.
    pub(super) fn taken(&self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }

    /// Removes a deferred request because the peer cancels it. Returns whether the request was in
    /// the queue.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut state = self.queue().state.lock();
        let place = state.queue.iter().position(|request| request.id() == id);
        let Some(request) = place.and_then(|place| state.queue.remove(place)) else {
            return false;
        };
        self.has_less(state, &request);
        self.taken();
        true
    }

    fn has_less(&self, mut state: crate::sync::MutexGuard<'_, State>, request: &Request) {
        state.bytes -= request.text_len();
        drop(state);
        self.queue().fewer.notify_all();
    }

    /// Whether the queued requests have at least `max` bytes. Then no more input is read.
    pub(super) fn is_full(&self, max: usize) -> bool {
        !self.is_empty() && self.queue().state.lock().bytes >= max
    }

    /// Blocks until the queued requests have fewer than `max` bytes, or until the deadline.
    pub(super) fn wait_until_less(&self, max: usize, deadline: Instant) {
        let mut state = self.queue().state.lock();
        while state.bytes >= max && !state.closed && Instant::now() < deadline {
            state = self.queue().fewer.wait_until(state, Some(deadline));
        }
    }

    /// Removes the queued requests because the connection ends, and returns them. Later requests
    /// are refused.
    pub(super) fn close(&self) -> VecDeque<Request> {
        let mut state = self.queue().state.lock();
        state.closed = true;
        state.bytes = 0;
        let requests = std::mem::take(&mut state.queue);
        self.count.fetch_sub(requests.len(), Ordering::SeqCst);
        drop(state);
        self.queue().fewer.notify_all();
        requests
    }
}
