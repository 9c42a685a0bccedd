//! Active requests: requests of the peer that this side is serving.
//!
//! ```text
//!            accept                 answer (result, error, dropped, panic)
//!  (none) ───────────▶ open ───────────────────────────────────────────▶ answered
//!                        │  ╲ the peer cancels  ───▶ cancelled: nothing more is sent for it
//!                        ╰─── the connection ends ─▶ closed
//! ```
//!
//! A request leaves the table when its responder is gone and its handler has returned. Handlers of
//! notifications are in the table too, so that [`Activity`](super::Activity) shows them. The
//! reading thread checks the table periodically for slow handlers, so no timer thread is needed. A
//! slow handler is also reported when it returns.
//!
//! **Invariant:** a request leaves *open* once, under its own lock. Only the thread that changes
//! the phase to *answered* or *closed* queues the answer. Any other message of the request is
//! queued under that lock while the request is *open*. So there is one response, no response after
//! a cancel, and no progress after the response or a cancel.
//!
//! **Lock order:** the table's lock before a request's lock, and a request's lock before the
//! writer's lock. No thread holds all three.
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::activity::{OpenRequest, Running, thread_name};
use super::cancel::{Callback, CancelToken};
use super::response_sink::{Origin, ResponseSink};
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::jsonrpc::{self, RequestId};
use crate::sync::{AtomicUsize, Mutex};
use crate::transport::SessionMessage;

/// The maximum time until the next check for slow handlers.
const FAR: Duration = Duration::from_secs(3600);

/// The maximum number of slots whose memory an empty table keeps. A larger table is freed when it
/// becomes empty.
const KEPT: usize = 64;

/// A request of the peer with its answer, or the handler of a notification.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    /// The id of the request; `None` for a notification.
    id: Option<RequestId>,
    pub(crate) method: Arc<str>,
    pub(crate) origin: Origin,
    /// The token that is cancelled when the peer no longer waits for the answer. Created on first
    /// use, because most requests end before any code needs the token.
    cancel: OnceLock<CancelToken>,
    quick: bool,
    /// The index of the request's slot in the table.
    slot: usize,
    since: Instant,
    // Guards the step out of *open*. Messages of the request are queued under this lock, so that no
    // message is queued after the step. No thread waits for room under this lock, because a cancel
    // must not wait for a peer that does not read.
    state: Mutex<State>,
}

// Each idle modern stream has one: see "Memory" in docs/performance.md.
#[cfg(all(test, not(loom), target_os = "linux", target_pointer_width = "64"))]
const _: () = assert!(size_of::<ActiveRequest>() <= 224);
#[derive(Debug)]
struct State {
    phase: Phase,
    /// Whether the request has a responder, or the notification's handler has not returned.
    is_held: bool,
    /// The running handler; `None` while no thread runs the handler.
    run: Option<Run>,
    /// An object that is notified when the peer no longer waits for the answer.
    watcher: Option<Weak<dyn Watcher>>,
}

#[derive(Debug)]
struct Run {
    since: Instant,
    thread: Thread,
    /// Whether a log record has already reported this handler as slow.
    told: bool,
}

/// The part of a message's handling that is known before the message becomes active.
pub(crate) struct Opening<'a> {
    /// The id of the request; `None` for a notification.
    pub(crate) id: Option<&'a RequestId>,
    pub(crate) method: &'a Arc<str>,
    pub(crate) origin: &'a Origin,
    /// Whether the request ends at once, or needs no thread. Such a request is not listed.
    pub(crate) quick: bool,
    /// Whether the handler runs on this thread.
    pub(crate) runs: bool,
}

impl Opening<'_> {
    /// Whether the answer is found by its id only. An answer with a response sink goes to the HTTP
    /// request that asked. Some clients give each of their requests the same id.
    fn needs_own_id(&self) -> bool {
        self.origin.sink.is_none() || self.origin.batch.is_some()
    }
}

/// A slow handler and its run time, for a log record.
#[derive(Debug)]
pub(crate) struct SlowHandler {
    pub(crate) what: String,
    pub(crate) took: Duration,
}

/// An observer that is notified when a long-lived request is cancelled. A watcher costs less memory
/// than a cancel token.
pub(crate) trait Watcher: Send + Sync {
    /// Notifies the watcher that the peer has cancelled the request, or that the connection is
    /// closed. The call happens in order with notification handlers.
    fn cancelled(&self);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Open,
    Answered,
    Cancelled,
    Closed,
}

impl Phase {
    /// Returns an error if messages must not be sent in this phase.
    fn refuse(self) -> Result<()> {
        match self {
            Self::Open => Ok(()),
            Self::Answered => Err(Error::new(
                ErrorKind::State,
                "the request is answered already",
            )),
            Self::Cancelled => Err(Error::new(
                ErrorKind::Cancelled,
                "the peer cancelled the request",
            )),
            Self::Closed => Err(Error::new(ErrorKind::Closed, "the connection is closed")),
        }
    }
}

impl ActiveRequest {
    /// Returns the id of the request.
    pub(crate) fn id(&self) -> &RequestId {
        self.id.as_ref().expect("a notification has no answer")
    }

    /// Registers a watcher for the cancellation of the request. Returns `false` if the request is
    /// no longer open.
    pub(crate) fn watch(&self, watcher: Weak<dyn Watcher>) -> bool {
        let mut state = self.state.lock();
        let is_open = state.phase == Phase::Open;
        if is_open {
            state.watcher = Some(watcher);
        }
        is_open
    }

    /// Returns the token that is cancelled when the peer no longer waits for the answer.
    pub(crate) fn cancel(&self) -> &CancelToken {
        self.cancel.get_or_init(CancelToken::new)
    }

    /// Changes the phase from *open* to *answered*. Only a caller that gets `Ok` may queue the
    /// response.
    pub(crate) fn begin_answer(&self) -> Result<()> {
        self.step(Phase::Answered).map(drop)
    }

    /// If the request is open, runs `queue` under the lock of the request. So the messages that
    /// `queue` queues precede the response and a cancellation.
    pub(crate) fn while_open(&self, queue: impl FnOnce() -> Result<()>) -> Result<()> {
        let state = self.state.lock();
        state.phase.refuse()?;
        queue()
    }

    /// Returns the response sink of the request, if it has one. Fails if the request has a sink and
    /// is no longer open.
    pub(crate) fn open_sink(&self) -> Result<Option<&dyn ResponseSink>> {
        let Some(sink) = &self.origin.sink else {
            return Ok(None);
        };
        self.state.lock().phase.refuse()?;
        Ok(Some(&**sink))
    }

    /// Creates a message of the request for the connection's stream.
    pub(crate) fn message(&self, text: Vec<u8>) -> SessionMessage {
        SessionMessage::new(text).related_to(self.id().clone())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().phase == Phase::Open
    }

    /// Answers the request with `error` when the connection ends, if the request has a response
    /// sink.
    fn cut_off(&self, error: &RpcError) {
        let Some(sink) = &self.origin.sink else {
            return;
        };
        let text = jsonrpc::write_error(self.id.as_ref(), error);
        if let Some(text) = self.origin.completed_by(Some(text)) {
            sink.cut_off(text);
        }
    }

    /// Closes the response sink, because no more messages are sent for the request. The sink of a
    /// batch is not closed, because it also serves the other members of the batch.
    fn close_outlet(&self) {
        if let Origin {
            batch: None,
            sink: Some(sink),
            ..
        } = &self.origin
        {
            sink.close();
        }
    }

    /// Changes the phase from *open* to `to`. Returns the watcher. A caller that answers the
    /// request ignores the watcher.
    fn step(&self, to: Phase) -> Result<Option<Weak<dyn Watcher>>> {
        let mut state = self.state.lock();
        state.phase.refuse()?;
        state.phase = to;
        Ok(state.watcher.take())
    }

    /// Cancels the token, so that handlers see that the peer no longer waits for the answer.
    /// Returns the callbacks that the caller has to run.
    fn fire(&self, watcher: Option<Weak<dyn Watcher>>, reason: Option<String>) -> Vec<Callback> {
        self.close_outlet();
        let mut callbacks = self.cancel().fire(reason);
        if let Some(watcher) = watcher {
            callbacks.push(Box::new(move || {
                if let Some(watcher) = watcher.upgrade() {
                    watcher.cancelled();
                }
            }));
        }
        callbacks
    }

    /// Returns a description of the request for log records.
    fn describe(&self) -> String {
        match &self.id {
            Some(id) => format!("request {id} ({})", self.method),
            None => format!("notification {}", self.method),
        }
    }

    fn show(&self, now: Instant) -> OpenRequest {
        let span = |since| now.saturating_duration_since(since);
        let state = self.state.lock();
        OpenRequest {
            id: self.id.clone(),
            method: self.method.to_string(),
            age: span(self.since),
            running: state.run.as_ref().map(|run| Running {
                span: span(run.since),
                thread: thread_name(&run.thread),
            }),
        }
    }
}

impl Run {
    fn here(now: Instant) -> Self {
        Self {
            since: now,
            thread: std::thread::current(),
            told: false,
        }
    }
}

/// The table of active requests of a connection.
#[derive(Debug)]
pub(crate) struct ActiveRequests {
    table: Mutex<Table>,
    /// The number of requests in the table that [`show`](Self::show) lists.
    // Stored under the lock with `Release`, so that `is_empty` needs no lock. A stale value only
    // delays a check.
    listed: AtomicUsize,
    /// The number of requests that count towards `max_requests`.
    // `counted`, `answering` and `detached` are read together without a lock, by `has_room`. See
    // `has_room` for the order.
    counted: AtomicUsize,
    /// The number of counted requests whose answers are being queued. `has_room` leaves them out,
    /// because a peer that has read the answer may already send its next request.
    answering: AtomicUsize,
    /// The number of counted requests that continue after their answer, for example as tasks.
    /// `has_room` leaves them out, because another limit applies to them.
    detached: AtomicUsize,
    max_requests: usize,
    /// The run time after which a handler counts as slow.
    slow: Duration,
}

// Callbacks are returned and run after the lock is released.
#[derive(Debug, Default)]
struct Table {
    /// The slots of the table. A request never changes its slot, so no search is needed.
    slots: Vec<Option<Arc<ActiveRequest>>>,
    /// The indexes of the free slots. The slot that was freed last is reused first.
    free: Vec<usize>,
    /// The number of requests that are not quick.
    listed: usize,
    /// One of the open requests that can be cancelled by their ids. Often only one request is open
    /// at a time, and then the tree below needs no node. Of several requests with one id, the
    /// newest can be cancelled.
    one: Option<Arc<ActiveRequest>>,
    /// The other open requests that can be cancelled by their ids.
    by_id: BTreeMap<RequestId, Arc<ActiveRequest>>,
    /// The time of the next check for slow handlers.
    look_at: Option<Instant>,
    closed: bool,
}

impl Table {
    fn enter(&mut self, opening: &Opening<'_>, now: Instant) -> Arc<ActiveRequest> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let request = Arc::new(ActiveRequest {
            id: opening.id.cloned(),
            method: Arc::clone(opening.method),
            origin: opening.origin.clone(),
            cancel: OnceLock::new(),
            quick: opening.quick,
            slot,
            since: now,
            state: Mutex::new(State {
                phase: Phase::Open,
                is_held: true,
                run: opening.runs.then(|| Run::here(now)),
                watcher: None,
            }),
        });
        self.slots[slot] = Some(Arc::clone(&request));
        self.listed += usize::from(!opening.quick);
        request
    }

    /// Enters a request under its id. An earlier request with this id loses the id.
    fn take_id(&mut self, id: &RequestId, request: &Arc<ActiveRequest>) {
        let held = Arc::clone(request);
        let is_one = match &self.one {
            Some(one) => one.id() == id,
            None => !self.by_id.contains_key(id),
        };
        if is_one {
            self.one = Some(held);
        } else {
            self.by_id.insert(id.clone(), held);
        }
    }

    fn is_in_use(&self, id: &RequestId) -> bool {
        let is_one = self.one.as_ref().is_some_and(|one| one.id() == id);
        is_one || self.by_id.contains_key(id)
    }

    /// Makes the id of a request free, unless another request has taken the id.
    fn free_id(&mut self, request: &Arc<ActiveRequest>) {
        let is_it = |held: &Arc<ActiveRequest>| Arc::ptr_eq(held, request);
        if self.one.take_if(|one| is_it(one)).is_none()
            && self.by_id.get(request.id()).is_some_and(is_it)
        {
            self.by_id.remove(request.id());
        }
        // A `BTreeMap` keeps a node when it becomes empty. A new map has no allocation.
        if self.by_id.is_empty() {
            self.by_id = BTreeMap::new();
        }
    }

    fn requests(&self) -> impl Iterator<Item = &Arc<ActiveRequest>> {
        self.slots.iter().flatten()
    }
}

/// The reason why a request was not added to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another active request uses the id of the request, whose answer is found by its id only.
    InUse,
    /// The connection is closed, so no peer waits for an answer.
    Closed,
}

impl ActiveRequests {
    pub(crate) fn new(max_requests: usize, slow: Duration) -> Self {
        Self {
            table: Mutex::default(),
            listed: AtomicUsize::new(0),
            counted: AtomicUsize::new(0),
            answering: AtomicUsize::new(0),
            detached: AtomicUsize::new(0),
            max_requests,
            slow,
        }
    }

    /// Adds a request or a notification to the table. A request is counted with
    /// [`count`](Self::count).
    ///
    /// # Errors
    ///
    /// The reason why the request was not added. A notification is always added.
    pub(crate) fn open(
        &self,
        opening: &Opening<'_>,
        now: Instant,
    ) -> Result<Arc<ActiveRequest>, Refusal> {
        let mut table = self.table.lock();
        let unique = opening.id.filter(|_| !opening.origin.apart);
        if opening.id.is_some() && table.closed {
            return Err(Refusal::Closed);
        }
        if opening.needs_own_id() && unique.is_some_and(|id| table.is_in_use(id)) {
            return Err(Refusal::InUse);
        }
        if table.listed == 0 {
            table.look_at = now.checked_add(self.slow.min(FAR));
        }
        let request = table.enter(opening, now);
        if let Some(id) = unique {
            table.take_id(id, &request);
        }
        self.listed.store(table.listed, Ordering::Release);
        Ok(request)
    }

    /// Frees the id of a request before its response is sent. From then on the peer may reuse the
    /// id.
    pub(crate) fn free_id(&self, request: &Arc<ActiveRequest>) {
        if !request.origin.apart {
            self.table.lock().free_id(request);
        }
    }

    /// Records that the responder of the request is gone, or that the notification was handled or
    /// discarded.
    pub(crate) fn leave(&self, request: &Arc<ActiveRequest>) {
        self.change(request, |state| state.is_held = false);
    }

    /// Records that no thread runs the handler of the request, because another thread has to.
    pub(crate) fn wait(&self, request: &Arc<ActiveRequest>) {
        self.change(request, |state| state.run = None);
    }

    /// Records that the handler of the request begins to run on this thread.
    pub(crate) fn begin_run(&self, request: &Arc<ActiveRequest>, now: Instant) {
        let run = Run::here(now);
        self.change(request, |state| state.run = Some(run));
    }

    /// Records that the handler of the request has returned. If the handler was slow, returns a
    /// description of the handler.
    pub(crate) fn end_run(
        &self,
        request: &Arc<ActiveRequest>,
        now: Instant,
    ) -> Option<SlowHandler> {
        let run = self.change(request, |state| state.run.take())?;
        let took = now.saturating_duration_since(run.since);
        (took >= self.slow).then(|| SlowHandler {
            what: request.describe(),
            took,
        })
    }

    /// Changes the state of a request. Removes the request from the table when it is over.
    fn change<T>(&self, request: &Arc<ActiveRequest>, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = request.state.lock();
        let changed = change(&mut state);
        let is_over = !state.is_held && state.run.is_none();
        drop(state);
        if is_over {
            self.remove(request);
        }
        changed
    }

    fn remove(&self, request: &Arc<ActiveRequest>) {
        let mut table = self.table.lock();
        let held = table.slots.get_mut(request.slot);
        let is_it = |held: &mut Arc<ActiveRequest>| Arc::ptr_eq(held, request);
        let Some(gone) = held.and_then(|held| held.take_if(is_it)) else {
            return;
        };
        table.free.push(request.slot);
        table.listed -= usize::from(!request.quick);
        if table.free.len() == table.slots.len() && table.slots.len() > KEPT {
            (table.slots, table.free) = (Vec::new(), Vec::new());
        }
        self.listed.store(table.listed, Ordering::Release);
        drop(table);
        drop(gone);
    }

    /// Counts a request towards `max_requests`, even if the limit is then exceeded.
    pub(crate) fn count(&self, is_detached: bool) {
        self.counted.fetch_add(1, Ordering::SeqCst);
        if is_detached {
            self.detached.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Stops counting a request.
    pub(crate) fn uncount(&self, is_detached: bool) {
        // `detached` is decremented first. In between, the request counts once too often instead of
        // too rarely, so that no request is admitted above the limit.
        if is_detached {
            self.detached.fetch_sub(1, Ordering::SeqCst);
        }
        self.counted.fetch_sub(1, Ordering::SeqCst);
    }

    /// Leaves a request out of `has_room` while its answer is being queued.
    pub(crate) fn begin_answering(&self) {
        self.answering.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn end_answering(&self) {
        self.answering.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether there is room for one more active request.
    pub(crate) fn has_room(&self) -> bool {
        // `counted` is read last. So a request that ends in between is subtracted twice, and one
        // request too many may be admitted. But no request is refused because of a request that has
        // ended.
        let answering = self.answering.load(Ordering::SeqCst);
        let detached = self.detached.load(Ordering::SeqCst);
        self.counted().saturating_sub(answering + detached) < self.max_requests
    }

    /// Returns the number of counted requests.
    pub(crate) fn counted(&self) -> usize {
        self.counted.load(Ordering::SeqCst)
    }

    /// Processes the peer's cancellation of a request. Returns the request and the callbacks that
    /// the caller has to run. Returns `None` if the request is not active.
    pub(crate) fn cancel(
        &self,
        id: &RequestId,
        reason: Option<String>,
    ) -> Option<(Arc<ActiveRequest>, Vec<Callback>)> {
        let mut table = self.table.lock();
        let request = table.one.take_if(|one| one.id() == id);
        let request = request.or_else(|| table.by_id.remove(id));
        drop(table);
        let request = request?;
        let watcher = request.step(Phase::Cancelled).ok()?;
        let callbacks = request.fire(watcher, reason);
        Some((request, callbacks))
    }

    /// Cancels a request whose client has disconnected. Returns the callbacks that the caller has
    /// to run. Returns `None` if the request had already ended.
    pub(crate) fn abandon(
        &self,
        request: &Arc<ActiveRequest>,
        reason: &str,
    ) -> Option<Vec<Callback>> {
        self.free_id(request);
        let watcher = request.step(Phase::Cancelled).ok()?;
        Some(request.fire(watcher, Some(reason.to_owned())))
    }

    /// Closes every request when the connection ends, and refuses new requests. Never blocks.
    ///
    /// A request with a response sink is answered with `error`. Returns the other requests, which
    /// the caller may answer, and the handlers' callbacks, which the caller has to run.
    pub(crate) fn close(&self, error: &RpcError) -> (Vec<Arc<ActiveRequest>>, Vec<Callback>) {
        let mut table = self.table.lock();
        table.closed = true;
        let open: Vec<Arc<ActiveRequest>> = table.requests().cloned().collect();
        let ids = (table.one.take(), std::mem::take(&mut table.by_id));
        drop(table);
        drop(ids);
        let (mut unanswered, mut callbacks) = (Vec::new(), Vec::new());
        for request in open.into_iter().filter(|request| request.id.is_some()) {
            if let Ok(watcher) = request.step(Phase::Closed) {
                request.cut_off(error);
                callbacks
                    .extend(request.fire(watcher, Some("the connection is closed".to_owned())));
                if request.origin.sink.is_none() {
                    unanswered.push(request);
                }
            }
        }
        (unanswered, callbacks)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.load(Ordering::Acquire) == 0
    }

    /// Returns the handlers that became slow since the last check, and the time until the next
    /// check. Returns `None` if the table is empty.
    pub(crate) fn look(&self, now: Instant) -> Option<(Vec<SlowHandler>, Duration)> {
        if self.is_empty() {
            return None;
        }
        let mut table = self.table.lock();
        if let Some(wait) = table.look_at.and_then(|at| at.checked_duration_since(now))
            && !wait.is_zero()
        {
            return Some((Vec::new(), wait));
        }
        let mut next = self.slow;
        let mut late = Vec::new();
        for request in table.requests() {
            let mut state = request.state.lock();
            let Some(run) = state.run.as_mut().filter(|run| !run.told) else {
                continue;
            };
            let took = now.saturating_duration_since(run.since);
            if took >= self.slow {
                run.told = true;
                let what = request.describe();
                late.push(SlowHandler { what, took });
            } else {
                next = next.min(self.slow - took);
            }
        }
        // A `slow_handler` setting of zero must not keep the reading thread busy.
        next = next.clamp(Duration::from_millis(1), FAR);
        table.look_at = now.checked_add(next);
        Some((late, next))
    }

    /// Lists the requests, oldest first.
    pub(crate) fn show(&self, now: Instant) -> Vec<OpenRequest> {
        let table = self.table.lock();
        let listed = table.requests().filter(|request| !request.quick);
        let mut shown: Vec<OpenRequest> = listed.map(|request| request.show(now)).collect();
        drop(table);
        shown.sort_unstable_by_key(|request| std::cmp::Reverse(request.age));
        shown
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn open_at(
        requests: &ActiveRequests,
        id: Option<&RequestId>,
        now: Instant,
    ) -> Result<Arc<ActiveRequest>, Refusal> {
        let opening = Opening {
            id,
            method: &"m".into(),
            origin: &Origin::default(),
            quick: false,
            runs: false,
        };
        requests.open(&opening, now)
    }

    fn open(requests: &ActiveRequests, id: &RequestId) -> Result<Arc<ActiveRequest>, Refusal> {
        open_at(requests, Some(id), Instant::now())
    }

    #[test]
    fn a_request_is_answered_once() {
        let requests = ActiveRequests::new(10, Duration::MAX);
        let id = RequestId::from(1);
        let request = open(&requests, &id).expect("free");
        assert_eq!(open(&requests, &id).expect_err("in use"), Refusal::InUse);
        request.begin_answer().expect("first");
        requests.free_id(&request);
        assert_eq!(
            request.begin_answer().expect_err("second").kind(),
            ErrorKind::State
        );
        assert!(requests.cancel(&id, None).is_none(), "nothing to cancel");
        open(&requests, &id).expect("free again");
        requests.close(&RpcError::internal("over"));
        assert_eq!(
            open(&requests, &RequestId::from(2)).expect_err("over"),
            Refusal::Closed
        );
    }

    #[test]
    fn several_requests_are_told_apart_in_whatever_order_they_end() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let requests = ActiveRequests::new(10, Duration::MAX);
            let ids = [RequestId::from(1), RequestId::from("1"), RequestId::from(2)];
            let open = |id| open(&requests, id);
            let opened = ids.each_ref().map(|id| open(id).expect("free"));
            for ended in order {
                let in_use = ids.iter().all(|id| open(id).err() == Some(Refusal::InUse));
                assert!(in_use, "{order:?}");
                requests.free_id(&opened[ended]);
                requests.free_id(&opened[ended]);
                let again = open(&ids[ended]).expect("free again");
                assert!(!Arc::ptr_eq(&again, &opened[ended]));
                // A request that ends late does not end the request that has reused its id.
                requests.free_id(&opened[ended]);
            }
            for id in &ids {
                assert!(requests.cancel(id, None).is_some(), "{order:?}");
                assert!(requests.cancel(id, None).is_none());
            }
            let left = open(&ids[0]).expect("free");
            let other = open(&ids[1]).expect("free");
            requests.close(&RpcError::internal("over"));
            assert!(!left.is_open() && !other.is_open());
        }
    }

    #[test]
    fn nothing_is_sent_after_a_cancel() {
        let requests = ActiveRequests::new(10, Duration::MAX);
        let id = RequestId::from("x");
        let request = open(&requests, &id).expect("free");
        let (_, callbacks) = requests.cancel(&id, Some("why".to_owned())).expect("open");
        assert!(callbacks.is_empty());
        assert!(request.cancel().is_triggered());
        assert_eq!(request.cancel().reason().as_deref(), Some("why"));
        assert_eq!(
            request.begin_answer().expect_err("cancelled").kind(),
            ErrorKind::Cancelled
        );
        assert!(request.while_open(|| panic!("not run")).is_err());
    }

    // Must not happen: nobody can see which call or handler a hung program waits for.
    #[test]
    fn a_handler_that_runs_long_is_told_once_and_when_it_ends() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let requests = ActiveRequests::new(10, Duration::from_secs(30));
        assert!(requests.look(after(1)).is_none());
        let id = RequestId::from(7);
        let waiting = open_at(&requests, Some(&id), after(10)).expect("free");
        requests.begin_run(&waiting, after(10));
        assert!(requests.show(after(10))[0].running.is_some());
        requests.wait(&waiting);
        assert!(requests.show(after(10))[0].running.is_none());
        let look = |seconds| {
            let (late, next) = requests.look(after(seconds)).expect("something is there");
            let late: Vec<String> = late.into_iter().map(|late| late.what).collect();
            (late, next.as_secs())
        };
        // The request waits for a thread, and does not count as running.
        assert_eq!(look(10), (vec![], 30));
        assert_eq!(look(50), (vec![], 30));
        requests.begin_run(&waiting, after(60));
        assert_eq!(look(80), (vec![], 10));
        assert_eq!(look(90), (vec!["request 7 (m)".to_owned()], 30));
        assert_eq!(look(120), (vec![], 30));
        requests.leave(&waiting);
        assert!(requests.look(after(121)).is_some(), "answered, but running");
        let late = requests
            .end_run(&waiting, after(125))
            .expect("it took long");
        assert_eq!(late.took, Duration::from_secs(65));
        assert!(requests.look(after(126)).is_none());
        let quick = open_at(&requests, None, after(130)).expect("a notification");
        requests.begin_run(&quick, after(130));
        assert!(requests.end_run(&quick, after(131)).is_none());
        requests.leave(&quick);
        assert!(requests.show(after(132)).is_empty());
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
