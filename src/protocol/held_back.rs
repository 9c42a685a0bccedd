//! Requests that are held back while the peer reads too little of what it is answered.
//!
//! As many requests are in flight as may be, and their answers find no room in the outbox: the peer
//! reads late. That is no overload, so what it sends next is not refused but kept here, and served
//! when requests in flight have ended. Everything else that comes is looked at as ever, so that a
//! cancellation is seen. Once so much is kept that it would fill the outbox again, the reading
//! thread takes no more input until there is less.
//!
//! **Invariant:** a thread that keeps a request looks afterwards whether there is room for one in
//! flight; a thread that has ended one looks afterwards whether any is kept. One of the two sees
//! the other, so no request stays here while there is room.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::jsonrpc::{Request, RequestId};
use crate::sync::{AtomicUsize, Condvar, Mutex};

#[derive(Debug, Default)]
pub(super) struct HeldBack {
    state: Mutex<State>,
    /// How many are kept, or were taken out and are not in flight yet. Each request that ends asks
    /// for it.
    count: AtomicUsize,
    /// There are fewer.
    fewer: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Request>,
    /// Of the texts of all.
    bytes: usize,
    closed: bool,
}

impl HeldBack {
    /// Keeps a request, unless more than `max` bytes of them would be kept.
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

    /// Takes out the request that has waited for longest. It counts as kept until
    /// [`taken`](Self::taken) says that it is in flight: at no time is it neither.
    pub(super) fn pop(&self) -> Option<Request> {
        let mut state = self.state.lock();
        let request = state.queue.pop_front()?;
        self.has_less(state, &request);
        Some(request)
    }

    /// A request that was taken out is in flight, or was answered.
    pub(super) fn taken(&self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }

    /// Takes out a request that the peer cancels. Returns whether it was here.
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

    /// Whether `max` bytes are kept, or more: then no more input is taken.
    pub(super) fn is_full(&self, max: usize) -> bool {
        !self.is_empty() && self.state.lock().bytes >= max
    }

    /// Waits until fewer than `max` bytes are kept, or until the deadline.
    pub(super) fn wait_until_less(&self, max: usize, deadline: Instant) {
        let mut state = self.state.lock();
        while state.bytes >= max && !state.closed && Instant::now() < deadline {
            state = self.fewer.wait_until(state, Some(deadline));
        }
    }

    /// The connection ends: nobody waits for answers to what is kept.
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
