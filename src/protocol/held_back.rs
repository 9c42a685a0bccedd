//! Deferred requests: requests that are queued while the peer reads its answers too slowly.
//!
//! They are queued when `max_requests` requests are active and their answers find no room in the
//! outbox, because the peer reads late. That is not an overload, so new requests are not refused.
//! They are served when active requests have ended. Other messages are still processed, so that a
//! cancellation is seen. When the deferred requests would fill the outbox again, the reading thread
//! takes no more input until there are fewer.
//!
//! **Invariant:** a thread that defers a request checks *afterwards* whether another one may become
//! active. A thread that ends a request checks *afterwards* whether any is deferred. One of the two
//! sees the other, so no request stays deferred while there is room.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::jsonrpc::{Request, RequestId};
use crate::sync::{AtomicUsize, Condvar, Mutex};

/// The queue of deferred requests.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    state: Mutex<State>,
    /// The number of requests that are queued, or were taken out and are not active yet. Every
    /// request that ends reads it.
    // Incremented under the lock. All accesses are `SeqCst`, as the module's invariant needs a
    // total order with the counters of active requests.
    count: AtomicUsize,
    /// Signals that fewer bytes are queued.
    fewer: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Request>,
    /// The bytes of all queued requests.
    bytes: usize,
    closed: bool,
}

impl HeldBack {
    /// Queues a request. Returns it if more than `max` bytes would be queued; one request of any
    /// size is accepted.
    pub(super) fn push(&self, request: Request, max: usize) -> Result<(), Request> {
        let mut state = self.state.lock();
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

    /// Takes out the oldest request. It counts as deferred until [`taken`](Self::taken) is called,
    /// so that it is never counted nowhere.
    pub(super) fn pop(&self) -> Option<Request> {
        let mut state = self.state.lock();
        let request = state.queue.pop_front()?;
        self.has_less(state, &request);
        Some(request)
    }

    /// Records that a request that was taken out is active or answered.
    pub(super) fn taken(&self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }

    /// Removes a request that the peer cancels. Returns whether it was here.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut state = self.state.lock();
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
        self.fewer.notify_all();
    }

    /// Whether at least `max` bytes are queued, so that no more input is taken.
    pub(super) fn is_full(&self, max: usize) -> bool {
        !self.is_empty() && self.state.lock().bytes >= max
    }

    /// Blocks until fewer than `max` bytes are queued, or until the deadline.
    pub(super) fn wait_until_less(&self, max: usize, deadline: Instant) {
        let mut state = self.state.lock();
        while state.bytes >= max && !state.closed && Instant::now() < deadline {
            state = self.fewer.wait_until(state, Some(deadline));
        }
    }

    /// Discards the queue because the connection ends, and refuses new requests.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.bytes = 0;
        let forgotten = std::mem::take(&mut state.queue);
        self.count.fetch_sub(forgotten.len(), Ordering::SeqCst);
        drop(state);
        self.fewer.notify_all();
        drop(forgotten);
    }
}
