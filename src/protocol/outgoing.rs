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
//! **Invariant:** a call is in the table exactly while it is *waiting*. The thread that removes it
//! from the table, under the table's lock, decides its outcome. So there is one outcome, and
//! nothing is delivered for a call after it returned.
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::thread::Thread;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::activity::{OpenCall, thread_name};
use super::call_channel::{CallChannel, CallMessage, Outcome, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::RequestId;
use crate::sync::Mutex;

/// The number of ended calls that the table remembers. An answer to a remembered call is late; an
/// answer to any other id is unknown.
const RETIRED: usize = 256;

/// The state of a caller that waits for the outcome of its call. While the caller has the reading
/// role, the caller stores the progress of that call here.
///
/// No other thread reads during that time. So progress in the waiter is older than any progress
/// that is sent to the channel later.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) id: i64,
    pub(crate) channel: Arc<CallChannel>,
    kept: VecDeque<Progress>,
    /// Whether no outcome can arrive in the channel any more, so that another call may use it.
    is_over: bool,
    /// Whether a wakeup was taken from the channel since the caller last tried to take the reading
    /// role.
    pub(crate) is_woken: bool,
}

impl Waiter {
    /// Stores a progress message of the caller's own call in this waiter.
    pub(crate) fn keep(&mut self, progress: Progress) {
        self.kept.push_back(progress);
        self.channel.set_kept(self.kept.len());
    }

    /// Returns the number of progress messages that are stored in this waiter.
    pub(crate) fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Takes the next progress or the outcome, in the order of arrival. Wakeups are skipped: the
    /// caller is awake.
    pub(crate) fn take(&mut self) -> Option<CallEvent> {
        if let Some(progress) = self.kept.pop_front() {
            self.channel.set_kept(self.kept.len());
            return Some(CallEvent::Progress(progress));
        }
        loop {
            let message = self.channel.try_receive()?;
            if let Some(event) = self.event(message) {
                return Some(event);
            }
        }
    }

    /// Blocks until a message arrives or `deadline` passes. Returns `None` at the deadline, and for
    /// a wakeup.
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> Option<CallEvent> {
        let message = self.channel.receive(deadline)?;
        self.event(message)
    }

    fn event(&mut self, message: CallMessage) -> Option<CallEvent> {
        match message {
            CallMessage::Progress(progress) => Some(CallEvent::Progress(progress)),
            CallMessage::Outcome(outcome) => {
                self.is_over = true;
                Some(CallEvent::Outcome(outcome))
            }
            CallMessage::Wake => {
                self.is_woken = true;
                None
            }
        }
    }

    /// Records that the table of calls has no entry for this call any more, and will send no
    /// outcome.
    pub(crate) fn gave_up(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if self.is_over {
            self.channel.keep();
        }
    }
}

/// The progress or the outcome that a caller takes from its channel.
#[derive(Debug)]
pub(crate) enum CallEvent {
    Progress(Progress),
    Outcome(Outcome),
}

/// The callback that gets the outcome of a call without a waiting caller.
pub(crate) enum OnEnd {
    /// A callback that runs in order with notification handlers.
    InOrder(Box<dyn FnOnce(Outcome) + Send>),
    /// An internal callback that never blocks. It runs on the thread that receives the outcome.
    Quick(Box<dyn FnOnce(Outcome) + Send>),
}

/// The callback that gets the progress of a call without a waiting caller. It runs under the lock
/// of the table of calls, so it must not block. It returns whether older progress was discarded.
pub(crate) type OnProgress = Box<dyn Fn(Progress) -> bool + Send>;

/// The recipient of the outcome of a call: a caller or a callback.
enum Completion {
    Caller(Arc<CallChannel>),
    Callback(OnEnd),
    /// Callbacks for the outcome and for the progress of a call.
    Watched(OnEnd, OnProgress),
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caller(_) => "Caller",
            Self::Callback(_) => "Callback",
            Self::Watched(..) => "Watched",
        })
    }
}

/// A sent request without an outcome, and the recipient of the outcome.
#[derive(Debug)]
struct Asked {
    about: CallInfo,
    owed: Completion,
}

/// The description of a call, as [`Activity`](super::Activity) shows it.
#[derive(Debug)]
pub(crate) struct CallInfo {
    pub(crate) method: Arc<str>,
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
    /// The callback of a watched call gets the outcome.
    Watched,
    /// The answer was late: the caller of the request had already given up.
    Late,
    /// No request of this side had the id of the answer.
    Unknown,
}

/// The table of all calls in flight.
#[derive(Debug)]
pub(crate) struct Calls {
    // Progress is sent to a call's channel under this lock, so none arrives after the call has left
    // the table. Callbacks and their captures are dropped outside of it, because they may use the
    // connection.
    table: Mutex<Table>,
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
    /// The outcomes to send when the reading thread has read all available input; `Some` while an
    /// [`OutcomeBatch`] exists.
    gathered: Option<Vec<(Arc<CallChannel>, Outcome)>>,
    closed: Option<Error>,
}

/// A guard that defers outcomes. Dropping the guard sends all of them, so that the callers wake
/// together.
// `complete` removes a call from the table and records its outcome, both under the table's lock.
// Only the guard's drop sends that outcome: a thread that blocked before dropping it would leave
// the callers asleep.
#[derive(Debug)]
pub(crate) struct OutcomeBatch<'a>(&'a Calls);

impl Drop for OutcomeBatch<'_> {
    fn drop(&mut self) {
        let gathered = self.0.table.lock().gathered.take();
        for (channel, outcome) in gathered.into_iter().flatten() {
            channel.send(CallMessage::Outcome(outcome));
        }
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
        let channel = CallChannel::take();
        let own = Arc::clone(&channel);
        let id = self.enter(about, Completion::Caller(own))?;
        Ok(Waiter {
            id,
            channel,
            kept: VecDeque::new(),
            is_over: false,
            is_woken: false,
        })
    }

    /// Starts to defer outcomes. Only one thread at a time may defer outcomes. The thread must not
    /// block until it drops the guard.
    pub(crate) fn gather(&self) -> OutcomeBatch<'_> {
        self.table.lock().gathered.get_or_insert_default();
        OutcomeBatch(self)
    }

    /// Registers a callback for the outcome of a request.
    pub(crate) fn register_callback(&self, about: CallInfo, on_end: OnEnd) -> Result<i64> {
        self.enter(about, Completion::Callback(on_end))
    }

    fn enter(&self, about: CallInfo, owed: Completion) -> Result<i64> {
        let mut table = self.table.lock();
        if let Some(error) = &table.closed {
            return Err(error.clone().sent(false));
        }
        if table.owed.len() >= self.max_calls {
            let max = self.max_calls;
            let text = format!("{max} calls are in flight already (Limits::max_calls)");
            return Err(Error::new(ErrorKind::Busy, text));
        }
        table.last_id += 1;
        let id = table.last_id;
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
        let channel = match owed.owed {
            Completion::Caller(channel) => channel,
            Completion::Callback(on_end) => return (Delivery::Delivered, Some((on_end, outcome))),
            Completion::Watched(on_end, _) => return (Delivery::Watched, Some((on_end, outcome))),
        };
        match &mut table.gathered {
            Some(gathered) => gathered.push((channel, outcome)),
            None => {
                drop(table);
                channel.send(CallMessage::Outcome(outcome));
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
        let Some(number) = token.as_own_number() else {
            return (Delivery::Unknown, false);
        };
        let table = self.table.lock();
        match table.owed.get(&number).map(|asked| &asked.owed) {
            Some(Completion::Caller(channel)) => {
                let merged = channel.send_progress(progress, self.max_events);
                (Delivery::Delivered, merged)
            }
            Some(Completion::Watched(_, on_progress)) => {
                (Delivery::Delivered, on_progress(progress))
            }
            Some(Completion::Callback(_)) => (Delivery::Delivered, false),
            None if table.retired.contains(&number) => (Delivery::Late, false),
            None => (Delivery::Unknown, false),
        }
    }

    /// Passes the progress and the outcome of a call to callbacks, instead of to the waiting
    /// caller. Progress that has already arrived is delivered first.
    ///
    /// Returns the callbacks if the outcome is already decided. The outcome is then in the waiter's
    /// channel, or about to arrive there.
    pub(crate) fn watch(
        &self,
        waiter: &mut Waiter,
        on_end: OnEnd,
        on_progress: OnProgress,
    ) -> Option<(OnEnd, OnProgress)> {
        let mut table = self.table.lock();
        let Some(asked) = table.owed.get_mut(&waiter.id) else {
            return Some((on_end, on_progress));
        };
        // Progress is sent under this lock, so no message can overtake these.
        while let Some(CallEvent::Progress(progress)) = waiter.take() {
            on_progress(progress);
        }
        asked.about.thread = None;
        asked.owed = Completion::Watched(on_end, on_progress);
        waiter.gave_up();
        None
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
        // The peer may still answer them, for example with the end of a subscription.
        owed.keys().for_each(|id| table.retire(*id));
        drop(table);
        let mut due = Vec::new();
        for owed in owed.into_values() {
            let outcome = Outcome::Failed(error.clone().sent(true));
            match owed.owed {
                Completion::Caller(channel) => channel.send(CallMessage::Outcome(outcome)),
                Completion::Callback(on_end) | Completion::Watched(on_end, _) => {
                    due.push((on_end, outcome));
                }
            }
        }
        due
    }

    /// Lists the pending calls, oldest first.
    pub(crate) fn show(&self, now: Instant) -> Vec<OpenCall> {
        let table = self.table.lock();
        let calls = table.owed.iter().map(|(id, Asked { about, .. })| OpenCall {
            id: *id,
            method: about.method.to_string(),
            age: now.saturating_duration_since(about.since),
            thread: about.thread.as_ref().map(thread_name),
        });
        let mut calls: Vec<OpenCall> = calls.collect();
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

    #[test]
    fn an_answer_that_comes_after_the_end_of_the_connection_is_late() {
        let calls = Calls::new(10, 10);
        let waiter = calls.register(about()).expect("open");
        calls.close(&Error::new(ErrorKind::Closed, "closed"));
        let (delivery, _) = calls.complete(&RequestId::from(waiter.id), response(waiter.id));
        assert_eq!(delivery, Delivery::Late);
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
        let Some(CallEvent::Outcome(Outcome::Failed(error))) = waiter.take() else {
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
        for value in [2, 3, 4] {
            assert!(
                matches!(waiter.take(), Some(CallEvent::Progress(found)) if found == progress(value))
            );
        }
        assert!(matches!(waiter.take(), Some(CallEvent::Outcome(_))));
        assert_eq!(
            calls.report(&RequestId::from(id), progress(9)).0,
            Delivery::Late
        );
    }

    #[test]
    fn progress_that_the_caller_reads_itself_counts_towards_the_limit() {
        let calls = Calls::new(10, 3);
        let mut waiter = calls.register(about()).expect("open");
        let token = RequestId::from(waiter.id);
        waiter.keep(progress(0));
        waiter.keep(progress(1));
        assert!(waiter.kept() == 2 && waiter.channel.is_empty());
        let merged = [2, 3].map(|value| calls.report(&token, progress(value)).1);
        assert_eq!(merged, [false, true]);
        for value in [0, 1, 3] {
            assert!(
                matches!(waiter.take(), Some(CallEvent::Progress(found)) if found == progress(value))
            );
        }
        assert!(waiter.take().is_none() && waiter.kept() == 0);
    }

    /// The reading thread reads on after the answer of a watched call. After other answers it
    /// stops, because they may change the meaning of the next message.
    #[test]
    fn only_the_answer_of_a_watched_call_lets_the_reader_read_on() {
        let calls = Calls::new(10, 10);
        let on_end = || OnEnd::Quick(Box::new(|_| {}));
        let mut waiter = calls.register(about()).expect("open");
        let id = waiter.id;
        let decided = calls.watch(&mut waiter, on_end(), Box::new(|_| false));
        assert!(decided.is_none());
        let delivery = calls.complete(&RequestId::from(id), response(id)).0;
        assert_eq!(delivery, Delivery::Watched);
        let id = calls.register_callback(about(), on_end()).expect("open");
        let delivery = calls.complete(&RequestId::from(id), response(id)).0;
        assert_eq!(delivery, Delivery::Delivered);
    }

    /// A channel is used again only when no message of its last call can still arrive.
    #[test]
    fn a_channel_is_used_again_when_its_call_is_over() {
        let calls = Calls::new(10, 3);
        let mut waiter = calls.register(about()).expect("open");
        let first = Arc::clone(&waiter.channel);
        let token = RequestId::from(waiter.id);
        calls.report(&token, progress(1));
        assert!(calls.give_up(waiter.id));
        waiter.gave_up();
        drop(waiter);
        let waiter = calls.register(about()).expect("open");
        assert!(Arc::ptr_eq(&first, &waiter.channel) && first.is_empty());
        calls.complete(&RequestId::from(waiter.id), response(waiter.id));
        assert!(!calls.give_up(waiter.id));
        drop(waiter);
        let waiter = calls.register(about()).expect("open");
        assert!(!Arc::ptr_eq(&first, &waiter.channel));
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
            let mut waiter = calls.register(about()).expect("open");
            let id = waiter.id;
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
            assert!(matches!(waiter.wait(None), Some(CallEvent::Outcome(_))));
            answering.join().expect("answered");
            closing.join().expect("closed");
            assert!(waiter.take().is_none(), "a second outcome");
            assert!(!calls.give_up(id));
        });
    }

    /// The answer arrives while wakeups are deferred. The guard's drop wakes the caller, or the
    /// caller has already found the answer.
    #[test]
    fn loom_who_is_gathered_is_woken() {
        loom::model(|| {
            let calls = Arc::new(Calls::new(10, 10));
            let mut waiter = calls.register(about()).expect("open");
            let id = waiter.id;
            let reading = {
                let calls = Arc::clone(&calls);
                loom::thread::spawn(move || {
                    let gathering = calls.gather();
                    let (delivery, _) = calls.complete(&RequestId::from(id), response(id));
                    drop(gathering);
                    delivery
                })
            };
            assert!(matches!(waiter.wait(None), Some(CallEvent::Outcome(_))));
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
            let mut waiter = calls.register(about()).expect("open");
            let id = waiter.id;
            let answering = {
                let calls = Arc::clone(&calls);
                loom::thread::spawn(move || calls.complete(&RequestId::from(id), response(id)))
            };
            let tell_peer = calls.give_up(id);
            let (delivery, _) = answering.join().expect("answered");
            assert_eq!(tell_peer, delivery == Delivery::Late);
            assert_eq!(waiter.take().is_some(), !tell_peer);
        });
    }
}
