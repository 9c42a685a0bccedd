//! Pending calls: requests of this side whose callers wait for an outcome.
//!
//! ```text
//!            register                 complete (response, its error, a malformed one)
//!  (none) ─────────────▶ waiting ─────────────────────────────────────▶ done ─▶ taken by caller
//!                           │  ╲ close (the connection ended)  ─────────▲
//!                           │
//!                           └─ give up (time-out, cancel, dropped) ──▶ retired: a late answer is
//!                                                                      dropped and counted
//! ```
//!
//! **Invariant:** a slot is in the table exactly while it is *waiting*. The thread that removes the
//! slot from the table, under the table's lock, decides the outcome of the call. So there is one
//! outcome, and no message is delivered for a call after it returned.
//!
//! **Lock order:** the table's lock before a slot's lock.
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Thread;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::activity::{PendingCall, thread_name};
use super::wait_set::{WaitSet, WakeMask};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::{Malformed, RequestId, Response};
use crate::sync::{AtomicUsize, Mutex};

/// The number of ended calls that the table remembers. An answer to a remembered call is late; an
/// answer to any other id is unknown.
const RETIRED: usize = 256;

/// The outcome of a call, as the caller or a callback gets it.
#[derive(Debug)]
pub(crate) enum Outcome {
    Response(Response),
    /// The peer sent a response that cannot be parsed.
    Malformed(Malformed),
    Failed(Error),
    /// The peer announced that it will not answer the request. Only callbacks get this outcome.
    Withdrawn,
}

/// A progress message of the peer about a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The progress so far. The value increases with each message, and may be a fraction.
    pub progress: f64,
    /// The value of `progress` at completion, if known.
    pub total: Option<f64>,
    /// A description of the current step for users (since 2025-03-26).
    pub message: Option<String>,
}

impl Progress {
    /// Creates progress without a total and without a message.
    pub fn new(progress: f64) -> Self {
        Self {
            progress,
            total: None,
            message: None,
        }
    }
}

/// The slot in which one caller waits for its outcome.
#[derive(Debug)]
pub(crate) struct Slot {
    // A waiter sets `waiting` and reads the wait set's counter under this lock. A waker changes the
    // state under this lock, then increments the counter. So no wakeup is lost.
    state: Mutex<SlotState>,
    bell: Arc<WaitSet>,
    /// The caller's place (index) in the wait set.
    place: usize,
    /// The [`SlotState::summary`] of the state. The reading thread reads it without the lock.
    // Stored under the lock with `Release`, loaded with `Acquire`. So a thread that learned of a
    // change by any synchronization also sees the change here.
    summary: AtomicUsize,
    /// The number of progress messages that the caller stores outside of the slot. They count
    /// towards the limit of progress messages.
    kept: AtomicUsize,
}

/// A caller that waits for its outcome. While the caller has the reading role, it stores progress
/// of its own call in the waiter.
///
/// No other thread reads during that time. So progress in the waiter is older than any progress put
/// in the slot later.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) id: i64,
    pub(crate) slot: Arc<Slot>,
    kept: VecDeque<Progress>,
}

impl Waiter {
    /// Stores a progress message of the caller's own call in this waiter.
    pub(crate) fn keep(&mut self, progress: Progress) {
        self.kept.push_back(progress);
        self.count_kept();
    }

    /// Returns the number of progress messages that are stored in this waiter.
    pub(crate) fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Removes and returns the next progress message or the outcome, in the order of arrival.
    pub(crate) fn take(&mut self) -> Option<SlotEvent> {
        if let Some(progress) = self.kept.pop_front() {
            self.count_kept();
            return Some(SlotEvent::Progress(progress));
        }
        match self.slot.look() {
            SlotContent::Nothing => None,
            _ => self.slot.take(),
        }
    }

    fn count_kept(&self) {
        self.slot.kept.store(self.kept.len(), Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct SlotState {
    outcome: Option<Outcome>,
    progress: VecDeque<Progress>,
    /// Whether the caller must return from its wait. The reason is a cancellation of the call, or
    /// that the caller should start to read.
    nudged: bool,
    /// Whether the caller is blocked on this slot and has to be woken.
    waiting: bool,
}

/// The progress or the outcome that a caller takes from its slot.
#[derive(Debug)]
pub(crate) enum SlotEvent {
    Progress(Progress),
    Outcome(Outcome),
}

/// The content of a slot, as [`Slot::look`] reports it without removing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotContent {
    Nothing,
    /// The slot contains progress, but no outcome.
    Progress,
    Outcome,
    Wake,
}

impl SlotState {
    const NUDGED: usize = 1 << (usize::BITS - 1);
    const OUTCOME: usize = 1 << (usize::BITS - 2);

    /// Returns two flag bits and the number of progress messages as one number.
    fn summary(&self) -> usize {
        let bit = |is_there, bit| if is_there { bit } else { 0 };
        bit(self.nudged, Self::NUDGED)
            | bit(self.outcome.is_some(), Self::OUTCOME)
            | self.progress.len()
    }
}

impl Slot {
    /// Creates an empty slot. All slots of a connection share the wait set `bell`.
    pub(crate) fn new(bell: &Arc<WaitSet>, place: usize) -> Self {
        Self {
            state: Mutex::default(),
            bell: Arc::clone(bell),
            place,
            summary: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut SlotState) -> T) -> T {
        let mut state = self.state.lock();
        let changed = change(&mut state);
        self.summary.store(state.summary(), Ordering::Release);
        changed
    }

    fn take(&self) -> Option<SlotEvent> {
        self.change(|state| match state.progress.pop_front() {
            Some(progress) => Some(SlotEvent::Progress(progress)),
            None => state.outcome.take().map(SlotEvent::Outcome),
        })
    }

    /// Clears the wakeup flag before the caller checks its slot. A later wakeup sets the flag
    /// again.
    pub(crate) fn look_up(&self) {
        if self.look() == SlotContent::Wake {
            self.change(|state| state.nudged = false);
        }
    }

    /// Returns what kind of content the slot has, without the lock. The result includes every
    /// change that happened before this call.
    pub(crate) fn look(&self) -> SlotContent {
        match self.summary.load(Ordering::Acquire) {
            0 => SlotContent::Nothing,
            nudged if nudged & SlotState::NUDGED != 0 => SlotContent::Wake,
            outcome if outcome & SlotState::OUTCOME != 0 => SlotContent::Outcome,
            _ => SlotContent::Progress,
        }
    }

    /// Blocks until the slot has content, until the slot's caller is woken, or until `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) {
        let mut has_time = true;
        loop {
            let mut state = self.state.lock();
            if state.summary() != 0 || !has_time {
                state.waiting = false;
                state.nudged = false;
                self.summary.store(state.summary(), Ordering::Release);
                return;
            }
            state.waiting = true;
            // The counter is read under the lock. A waker that sees `waiting` increments the
            // counter later, and so ends the wait.
            let count = self.bell.count(self.place);
            drop(state);
            has_time = self.bell.wait(self.place, count, deadline);
        }
    }

    /// Wakes the caller of this slot. Returns whether the caller was blocked.
    pub(crate) fn wake(&self) -> bool {
        let waiting = self.change(|state| {
            state.nudged = true;
            state.waiting
        });
        if waiting {
            self.bell.wake(WakeMask::one(self.place));
        }
        waiting
    }

    /// Queues progress in the slot. If the limit is reached, the progress replaces the newest
    /// queued progress. Returns whether this happened.
    fn report(&self, progress: Progress, max: usize) -> bool {
        let max = max.saturating_sub(self.kept.load(Ordering::Relaxed)).max(1);
        let (merged, waiting) = self.change(|state| {
            let merged = state.progress.len() >= max;
            if merged {
                state.progress.pop_back();
            }
            state.progress.push_back(progress);
            (merged, std::mem::take(&mut state.waiting))
        });
        if waiting {
            self.bell.wake(WakeMask::one(self.place));
        }
        merged
    }

    /// Sets the outcome of the call. If the caller has to be woken, returns the wake mask with the
    /// caller's place.
    #[must_use = "a caller that waits has to be woken"]
    fn complete(&self, outcome: Outcome) -> Option<WakeMask> {
        let waiting = self.change(|state| {
            debug_assert!(state.outcome.is_none(), "the table hands a slot out once");
            state.outcome = Some(outcome);
            std::mem::take(&mut state.waiting)
        });
        waiting.then(|| WakeMask::one(self.place))
    }
}

/// The callback that gets the outcome of a call without a waiting caller.
pub(crate) enum OnEnd {
    /// A callback that runs in order with notification handlers.
    InOrder(Box<dyn FnOnce(Outcome) + Send>),
    /// An internal callback that never blocks. It runs on the thread that receives the outcome.
    Quick(Box<dyn FnOnce(Outcome) + Send>),
}

/// The recipient of the outcome of a call: a caller or a callback.
enum Completion {
    Caller(Arc<Slot>),
    Callback(OnEnd),
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caller(_) => "Caller",
            Self::Callback(_) => "Callback",
        })
    }
}

/// A sent request without an outcome, and the recipient of the outcome.
#[derive(Debug)]
struct Asked {
    about: CallInfo,
    owed: Completion,
}

/// The description of a call, as the activity shows it.
#[derive(Debug)]
pub(crate) struct CallInfo {
    pub(crate) method: Box<str>,
    pub(crate) since: Instant,
    /// The thread that waits for the outcome; `None` if a callback gets the outcome.
    pub(crate) thread: Option<Thread>,
}

/// A callback and its outcome, for the thread that runs callbacks.
pub(crate) type PendingCallback = (OnEnd, Outcome);

/// The result of delivering an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Delivered,
    /// The answer was late: the caller of the request had already given up.
    Late,
    /// No request of this side had the id of the answer.
    Unknown,
}

/// The table of all calls in flight.
#[derive(Debug)]
pub(crate) struct Calls {
    // Lock order: this lock before a slot's lock. Callbacks and their captures are dropped outside
    // of this lock, because they may use the connection.
    table: Mutex<Table>,
    bell: Arc<WaitSet>,
    max_calls: usize,
    max_events: usize,
}

#[derive(Debug)]
struct Table {
    last_id: i64,
    // The keys are our own sequential ids, so a fast hash is safe. Ids of the peer are only looked
    // up.
    owed: FxHashMap<i64, Asked>,
    retired: VecDeque<i64>,
    /// The callers to wake when the reading thread has read all available input. The value is
    /// `Some` while a [`WakeBatch`] exists.
    gathered: Option<WakeMask>,
    closed: Option<Error>,
}

/// A guard that defers wakeups. Completed callers are recorded, and dropping the guard wakes all of
/// them together.
// `complete` clears a slot's `waiting` flag and records its place, both under the table's lock.
// Only the guard's drop wakes that place. A thread that blocked before the drop would leave the
// callers asleep.
#[derive(Debug)]
pub(crate) struct WakeBatch<'a>(&'a Calls);

impl Drop for WakeBatch<'_> {
    fn drop(&mut self) {
        let gathered = self.0.table.lock().gathered.take();
        self.0.bell.wake(gathered.unwrap_or_default());
    }
}

impl Calls {
    pub(crate) fn new(max_calls: usize, max_events: usize) -> Self {
        let table = Table {
            last_id: 0,
            owed: FxHashMap::default(),
            retired: VecDeque::new(),
            gathered: None,
            closed: None,
        };
        Self {
            table: Mutex::new(table),
            bell: Arc::default(),
            max_calls,
            max_events,
        }
    }

    /// Registers a call under an id that was never used on this connection.
    ///
    /// # Errors
    ///
    /// `Busy` if `max_calls` calls are in flight, or the reason why the connection is closed.
    pub(crate) fn register(&self, about: CallInfo) -> Result<Waiter> {
        let mut slot = None;
        let id = self.enter(about, |id| {
            let own = slot.insert(Arc::new(Slot::new(&self.bell, id as usize)));
            Completion::Caller(Arc::clone(own))
        })?;
        let kept = VecDeque::new();
        let slot = slot.expect("made when the call was entered");
        Ok(Waiter { id, slot, kept })
    }

    /// Starts to defer wakeups. Only one thread may defer wakeups at a time. The thread must not
    /// block until it drops the guard.
    pub(crate) fn gather(&self) -> WakeBatch<'_> {
        self.table.lock().gathered.get_or_insert_default();
        WakeBatch(self)
    }

    /// Registers a callback for the outcome of a request.
    pub(crate) fn register_callback(&self, about: CallInfo, on_end: OnEnd) -> Result<i64> {
        self.enter(about, |_| Completion::Callback(on_end))
    }

    fn enter(&self, about: CallInfo, owed: impl FnOnce(i64) -> Completion) -> Result<i64> {
        let mut table = self.table.lock();
        if let Some(error) = &table.closed {
            return Err(error.clone().sent(false));
        }
        if table.owed.len() >= self.max_calls {
            let max = self.max_calls;
            let text = format!("{max} calls are in flight already (max_calls)");
            return Err(Error::new(ErrorKind::Busy, text));
        }
        table.last_id += 1;
        let id = table.last_id;
        let owed = owed(id);
        table.owed.insert(id, Asked { about, owed });
        Ok(id)
    }

    /// Completes a call with the peer's answer. If the outcome goes to a callback, returns the
    /// callback.
    pub(crate) fn complete(
        &self,
        id: &RequestId,
        outcome: Outcome,
    ) -> (Delivery, Option<PendingCallback>) {
        let Some(number) = id.as_i64() else {
            return (Delivery::Unknown, None);
        };
        let mut table = self.table.lock();
        let Some(owed) = table.owed.remove(&number) else {
            let is_late = table.retired.contains(&number);
            let delivery = if is_late {
                Delivery::Late
            } else {
                Delivery::Unknown
            };
            return (delivery, None);
        };
        table.retire(number);
        let slot = match owed.owed {
            Completion::Caller(slot) => slot,
            Completion::Callback(on_end) => return (Delivery::Delivered, Some((on_end, outcome))),
        };
        if let Some(place) = slot.complete(outcome) {
            match &mut table.gathered {
                Some(gathered) => gathered.add(place),
                None => {
                    drop(table);
                    self.bell.wake(place);
                }
            }
        }
        (Delivery::Delivered, None)
    }

    /// Handles the peer's announcement that it will not answer a request. If the outcome goes to a
    /// callback, the call ends. A waiting caller continues to wait until its timeout.
    pub(crate) fn withdraw(&self, id: &RequestId) -> Option<PendingCallback> {
        let number = id.as_i64()?;
        let mut table = self.table.lock();
        match table.owed.remove(&number)? {
            Asked {
                owed: Completion::Callback(on_end),
                ..
            } => {
                table.retire(number);
                Some((on_end, Outcome::Withdrawn))
            }
            caller => {
                table.owed.insert(number, caller);
                None
            }
        }
    }

    /// Delivers progress to the call with this token. Returns the result of the delivery, and
    /// whether older progress was replaced.
    pub(crate) fn report(&self, token: &RequestId, progress: Progress) -> (Delivery, bool) {
        let Some(number) = token.as_i64() else {
            return (Delivery::Unknown, false);
        };
        let table = self.table.lock();
        match table.owed.get(&number).map(|asked| &asked.owed) {
            Some(Completion::Caller(slot)) => {
                (Delivery::Delivered, slot.report(progress, self.max_events))
            }
            Some(Completion::Callback(_)) => (Delivery::Delivered, false),
            None if table.retired.contains(&number) => (Delivery::Late, false),
            None => (Delivery::Unknown, false),
        }
    }

    /// Whether the request with this id has no outcome yet.
    pub(crate) fn is_owed(&self, id: i64) -> bool {
        self.table.lock().owed.contains_key(&id)
    }

    /// Ends a call whose caller stops waiting. Returns whether the peer has to be notified. The
    /// result is false if the outcome has already arrived.
    pub(crate) fn give_up(&self, id: i64) -> bool {
        let mut table = self.table.lock();
        let given_up = table.owed.remove(&id);
        if given_up.is_some() {
            table.retire(id);
        }
        // The captures of a callback may belong to the host and use the connection in their `drop`.
        drop(table);
        given_up.is_some()
    }

    /// Fails every pending and every later call with the reason why the connection ended. Only the
    /// first reason counts. Returns the callbacks, which the caller has to run.
    pub(crate) fn close(&self, error: &Error) -> Vec<PendingCallback> {
        let mut table = self.table.lock();
        if table.closed.is_none() {
            table.closed = Some(error.clone());
        }
        let owed = std::mem::take(&mut table.owed);
        drop(table);
        let (mut due, mut places) = (Vec::new(), WakeMask::default());
        for owed in owed.into_values() {
            let outcome = Outcome::Failed(error.clone().sent(true));
            match owed.owed {
                Completion::Caller(slot) => places.add(slot.complete(outcome).unwrap_or_default()),
                Completion::Callback(on_end) => due.push((on_end, outcome)),
            }
        }
        self.bell.wake(places);
        due
    }

    /// Lists the pending calls, oldest first.
    pub(crate) fn show(&self, now: Instant) -> Vec<PendingCall> {
        let table = self.table.lock();
        let calls = table
            .owed
            .iter()
            .map(|(id, Asked { about, .. })| PendingCall {
                id: *id,
                method: about.method.to_string(),
                age: now.saturating_duration_since(about.since),
                thread: about.thread.as_ref().map(thread_name),
            });
        let mut calls: Vec<PendingCall> = calls.collect();
        drop(table);
        calls.sort_unstable_by_key(|call| call.id);
        calls
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.table.lock().owed.len()
    }
}

impl Table {
    fn retire(&mut self, id: i64) {
        if self.retired.len() == RETIRED {
            self.retired.pop_front();
        }
        self.retired.push_back(id);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn about() -> CallInfo {
        CallInfo {
            method: "m".into(),
            since: Instant::now(),
            thread: None,
        }
    }
    use crate::jsonrpc::Message;

    fn response(id: i64) -> Outcome {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        match Message::read(text) {
            Ok(Message::Response(response)) => Outcome::Response(response),
            other => panic!("{other:?}"),
        }
    }

    fn progress(value: u32) -> Progress {
        Progress::new(value.into())
    }

    // Must not happen: late answers are errors, or end the connection.
    // M-CANC-C-13, L-CANC-B-05
    #[test]
    fn late_answers_are_told_from_unknown_ones() {
        let calls = Calls::new(10, 10);
        let id = calls.register(about()).expect("open").id;
        assert!(calls.give_up(id));
        assert_eq!(
            calls.complete(&RequestId::from(id), response(id)).0,
            Delivery::Late
        );
        assert_eq!(
            calls.complete(&RequestId::from(99), response(99)).0,
            Delivery::Unknown
        );
        assert_eq!(
            calls.complete(&RequestId::from("1"), response(1)).0,
            Delivery::Unknown
        );
        assert!(!calls.give_up(id));
    }

    // M-CANC-S-02 (the client's side)
    #[test]
    fn only_what_a_callback_waits_for_can_be_withdrawn() {
        let calls = Calls::new(10, 10);
        let on_end = OnEnd::Quick(Box::new(|_| {}));
        let id = calls.register_callback(about(), on_end).expect("open");
        let token = RequestId::from(id);
        let due = calls.withdraw(&token).expect("a callback");
        assert!(matches!(due, (OnEnd::Quick(_), Outcome::Withdrawn)));
        assert!(calls.withdraw(&token).is_none());
        assert_eq!(calls.complete(&token, response(id)).0, Delivery::Late);
        let mut waiter = calls.register(about()).expect("open");
        assert!(calls.withdraw(&RequestId::from(waiter.id)).is_none());
        assert!(waiter.take().is_none());
        assert_eq!(calls.in_flight(), 1);
    }

    // M-BASE-C-05, L-BASE-B-05
    #[test]
    fn ids_are_never_used_again() {
        let calls = Calls::new(10, 10);
        let first = calls.register(about()).expect("open").id;
        calls.complete(&RequestId::from(first), response(first));
        let second = calls.register(about()).expect("open").id;
        assert_ne!(first, second);
    }

    #[test]
    fn the_table_is_bounded_and_a_closed_one_says_why() {
        let calls = Calls::new(1, 10);
        let mut waiter = calls.register(about()).expect("open");
        assert_eq!(
            calls.register(about()).expect_err("full").kind(),
            ErrorKind::Busy
        );
        calls.close(&Error::new(ErrorKind::Closed, "gone"));
        let Some(SlotEvent::Outcome(Outcome::Failed(error))) = waiter.take() else {
            panic!("woken")
        };
        assert!(error.kind() == ErrorKind::Closed && error.was_sent());
        let error = calls.register(about()).expect_err("closed");
        assert!(error.kind() == ErrorKind::Closed && !error.was_sent());
    }

    // Must not happen: a slow progress callback makes memory grow.
    #[test]
    fn progress_comes_in_order_and_is_merged_past_the_limit() {
        let calls = Calls::new(10, 3);
        let mut waiter = calls.register(about()).expect("open");
        let id = waiter.id;
        let merged: Vec<bool> = (0..5)
            .map(|value| calls.report(&RequestId::from(id), progress(value)).1)
            .collect();
        assert_eq!(merged, [false, false, false, true, true]);
        calls.complete(&RequestId::from(id), response(id));
        for value in [0, 1, 4] {
            assert!(
                matches!(waiter.take(), Some(SlotEvent::Progress(found)) if found == progress(value))
            );
        }
        assert!(matches!(waiter.take(), Some(SlotEvent::Outcome(_))));
        assert_eq!(
            calls.report(&RequestId::from(id), progress(9)).0,
            Delivery::Late
        );
    }

    // Must not happen: a slow progress callback makes memory grow.
    #[test]
    fn what_a_caller_keeps_comes_first_and_has_a_part_in_the_limit() {
        let calls = Calls::new(10, 3);
        let mut waiter = calls.register(about()).expect("open");
        let token = RequestId::from(waiter.id);
        waiter.keep(progress(0));
        waiter.keep(progress(1));
        let merged = [2, 3].map(|value| calls.report(&token, progress(value)).1);
        assert_eq!(merged, [false, true]);
        assert_eq!(waiter.kept(), 2);
        for value in [0, 1, 3] {
            assert!(
                matches!(waiter.take(), Some(SlotEvent::Progress(found)) if found == progress(value))
            );
        }
        assert!(waiter.take().is_none());
        let merged = [4, 5, 6, 7].map(|value| calls.report(&token, progress(value)).1);
        assert_eq!(merged, [false, false, false, true]);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    fn about() -> CallInfo {
        CallInfo {
            method: "m".into(),
            since: Instant::now(),
            thread: None,
        }
    }
    use crate::jsonrpc::Message;

    fn response(id: i64) -> Outcome {
        match Message::read(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)) {
            Ok(Message::Response(response)) => Outcome::Response(response),
            other => panic!("{other:?}"),
        }
    }

    /// Response, close and give-up happen together: there is one outcome, and no caller hangs.
    #[test]
    fn loom_each_call_has_one_outcome() {
        loom::model(|| {
            let calls = Arc::new(Calls::new(10, 10));
            let Waiter { id, slot, .. } = calls.register(about()).expect("open");
            let answering = {
                let calls = Arc::clone(&calls);
                loom::thread::spawn(move || calls.complete(&RequestId::from(id), response(id)))
            };
            let closing = {
                let calls = Arc::clone(&calls);
                loom::thread::spawn(move || {
                    calls.close(&Error::new(ErrorKind::Closed, "gone")).len()
                })
            };
            slot.wait(None);
            assert!(matches!(slot.take(), Some(SlotEvent::Outcome(_))));
            assert!(slot.take().is_none());
            answering.join().expect("answered");
            closing.join().expect("closed");
            assert!(slot.take().is_none(), "a second outcome");
            assert!(!calls.give_up(id));
        });
    }

    /// The answer arrives while wakeups are deferred. The guard's drop wakes the caller, or the
    /// caller has already found the answer.
    #[test]
    fn loom_who_is_gathered_is_woken() {
        loom::model(|| {
            let calls = Arc::new(Calls::new(10, 10));
            let Waiter { id, slot, .. } = calls.register(about()).expect("open");
            let reading = {
                let calls = Arc::clone(&calls);
                loom::thread::spawn(move || {
                    let gathering = calls.gather();
                    let (delivery, _) = calls.complete(&RequestId::from(id), response(id));
                    drop(gathering);
                    delivery
                })
            };
            slot.wait(None);
            assert!(matches!(slot.take(), Some(SlotEvent::Outcome(_))));
            let delivery = reading.join().expect("read");
            assert_eq!(delivery, Delivery::Delivered);
        });
    }

    /// The caller gives up while the answer arrives. The caller either notifies the peer or finds
    /// the outcome.
    #[test]
    fn loom_giving_up_races_with_the_answer() {
        loom::model(|| {
            let calls = Arc::new(Calls::new(10, 10));
            let Waiter { id, slot, .. } = calls.register(about()).expect("open");
            let answering = {
                let calls = Arc::clone(&calls);
                loom::thread::spawn(move || calls.complete(&RequestId::from(id), response(id)))
            };
            let tell_peer = calls.give_up(id);
            let (delivery, _) = answering.join().expect("answered");
            assert_eq!(tell_peer, delivery == Delivery::Late);
            assert_eq!(slot.take().is_some(), !tell_peer);
        });
    }
}
