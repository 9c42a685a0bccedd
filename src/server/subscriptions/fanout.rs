//! The fan-out thread, which delivers changes from publishers to subscribers.
//!
//! ```text
//!  publisher ──▶ inbox ──▶ a pass: members of changed topics are marked ──▶ each is written once
//! ```
//!
//! A publisher puts a topic into the inbox, unless the topic is in the inbox already. A fan-out
//! pass takes all topics out of the inbox. A pass begins [`LEAD`] after the first change, so that
//! the response of the call that publishes is sent before the notifications of other clients.
//! Passes with changes are at least [`TOGETHER`] apart, so many quick changes are merged into few
//! notifications.
//!
//! **Wakeups:** waking a thread is a system call, and a publisher should not make one for each
//! change. So after each pass with changes, the thread polls the inbox [`POLLS`] times, every
//! [`TOGETHER`]. A change in this time wakes no thread, and the next poll takes the change out. If
//! the polls find no change, the thread sleeps, and the next change wakes it. In all cases a change
//! is taken out within [`TOGETHER`].
//!
//! **Threads.** There is at most one thread, `fanout`. The first change with a subscriber starts
//! the thread. The thread ends with the last connection that has a subscriber, and closing that
//! connection joins the thread. If the system can't start a thread, the publisher's thread does the
//! pass.
//!
//! **Locks:** the pass lock is held while members are marked. A thread that ends a stream takes the
//! pass lock first, so all earlier changes are marked. The order is: pass lock, lock of a topic,
//! lock of a subscriber. The lock of the inbox is also taken under the pass lock. Nothing is
//! written under any of these locks.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::subject::Followed;
use super::subscriber::{Subscriber, writes_here};
use super::topics::{PendingChange, Topic, Topics};
use crate::protocol::{LogHook, LogLevel, tell};
use crate::schema::LoggingLevel;
use crate::server::event_bus::Change;
use crate::sync::{Condvar, Mutex};
use crate::transport::{Limits, Stack, Started, Threads};

/// The minimum time between two fan-out passes with changes. Changes within this time are merged.
const TOGETHER: Duration = Duration::from_millis(10);

/// How long the first change waits for the response of the call that publishes. With hundreds of
/// subscribers, a pass occupies a processor for milliseconds.
const LEAD: Duration = match cfg!(loom) {
    true => Duration::ZERO,
    false => Duration::from_micros(500),
};

/// The number of times that the fan-out thread polls the inbox after a pass with changes. The
/// number is small, because all polls after a single change are wasted.
const POLLS: u32 = 3;

/// The maximum time for which closing a connection or stream waits for the fan-out thread, or for a
/// thread that writes.
const PATIENCE: Duration = Duration::from_secs(2);

/// Takes the key of a task's record that another process has changed. `None` means that any record
/// may have changed.
pub(in crate::server) type OnTaskRecord = Box<dyn Fn(Option<&str>) + Send + Sync>;

pub(super) struct Fanout {
    pub(super) topics: Topics,
    /// Set when the server is built, if tasks are shared with other processes.
    pub(super) on_task_record: OnceLock<OnTaskRecord>,
    inbox: Inbox<Work>,
    /// The pass lock, which is held while members are marked.
    pass_lock: Mutex<()>,
    /// The lock that prevents a lost wakeup in `wait_until_written`. The lock guards no data.
    awaited: Mutex<()>,
    written: Condvar,
    log: Option<LogHook>,
    max_logs: usize,
    thread_settings: Threads,
    threads: Started,
}

/// The entries of the inbox.
#[derive(Default)]
struct Work {
    changes: Vec<PendingChange>,
    logs: Vec<(LoggingLevel, Arc<[u8]>)>,
    /// Marked subscribers, to which notifications must be written.
    ready: Vec<Arc<Subscriber>>,
    /// The subscribers that had no room for a notification. The key contains the time of the next
    /// attempt.
    later: BTreeMap<(Instant, u64), Arc<Subscriber>>,
}

impl Fanout {
    pub(super) fn new(limits: &Limits, threads: &Threads, log: Option<LogHook>) -> Self {
        Self {
            topics: Topics::default(),
            on_task_record: OnceLock::new(),
            inbox: Inbox::default(),
            pass_lock: Mutex::default(),
            awaited: Mutex::default(),
            written: Condvar::new(),
            log,
            max_logs: limits.max_backlog,
            thread_settings: threads.clone(),
            threads: Started::default(),
        }
    }

    /// Queues the notifications of a change.
    pub(super) fn publish(self: &Arc<Self>, change: &Change<'_>) {
        match change {
            Change::Tools => self.change(&self.topics.tools, None),
            Change::Prompts => self.change(&self.topics.prompts, None),
            Change::Resources => self.change(&self.topics.resources, None),
            Change::Resource(uri) => {
                if let Some(topic) = self.topics.uri(uri) {
                    self.change(&topic, None);
                }
            }
            Change::Task(key) => self.task_record(Some(key)),
        }
    }

    fn task_record(&self, key: Option<&str>) {
        if let Some(take) = self.on_task_record.get() {
            take(key);
        }
    }

    /// Queues the notifications of a change in another process. `None` means that events may have
    /// been lost: then everything may have changed.
    pub(super) fn deliver(self: &Arc<Self>, event: Option<&str>) {
        if let Some(change) = event.and_then(Change::of_event) {
            return self.publish(&change);
        }
        for change in [Change::Tools, Change::Prompts, Change::Resources] {
            self.publish(&change);
        }
        for topic in self.topics.uris() {
            self.change(&topic, None);
        }
        self.task_record(None);
    }

    /// Queues the change of a topic for its members. If the topic is a task, `task` is that task,
    /// because it may be removed from the table of tasks before the fan-out pass.
    pub(super) fn change(self: &Arc<Self>, topic: &Arc<Topic>, task: Option<Arc<dyn Followed>>) {
        if topic.has_members() && topic.change() {
            let call = self.inbox.put(Urgency::Together, |work| {
                let topic = Arc::clone(topic);
                work.changes.push(PendingChange { topic, task });
            });
            if call == Call::Closed {
                topic.take_out();
            }
            self.answer(call);
        }
    }

    /// Queues a log message for its subscribers. The message is dropped when `max_backlog` messages
    /// are queued.
    pub(super) fn log(self: &Arc<Self>, level: LoggingLevel, text: Arc<[u8]>) {
        let max = self.max_logs;
        let call = self.inbox.put(Urgency::AtOnce, |work| {
            if work.logs.len() < max {
                work.logs.push((level, text));
            }
        });
        self.answer(call);
    }

    /// Queues subscribers whose notifications must be written.
    pub(super) fn write_to(self: &Arc<Self>, subscribers: Vec<Arc<Subscriber>>) {
        if !subscribers.is_empty() {
            let call = self
                .inbox
                .put(Urgency::AtOnce, |work| work.ready.extend(subscribers));
            self.answer(call);
        }
    }

    /// Queues a subscriber whose notifications must be written at the time `at`.
    pub(super) fn try_again(self: &Arc<Self>, subscriber: Arc<Subscriber>, at: Instant) {
        let call = self.inbox.put(Urgency::Schedule, |work| {
            work.later.insert((at, subscriber.number), subscriber);
        });
        self.answer(call);
    }

    /// Starts the fan-out thread if `call` is [`Call::StartOne`]. If the system can't start the
    /// thread, does a fan-out pass on the current thread.
    fn answer(self: &Arc<Self>, call: Call) {
        if call != Call::StartOne {
            return;
        }
        let this = Arc::clone(self);
        let serve = move || this.serve();
        let kind = &self.thread_settings;
        if let Err(error) = self.threads.start(kind, "fanout", Stack::Large, serve) {
            tell(self.log.as_ref(), LogLevel::Error, "server", || {
                format!("the calling threads notify the subscribers: {error}")
            });
            self.inbox.thread_ended();
            // A host's transport may publish while it is called. Then the pass must not write to
            // that transport again.
            if !writes_here() {
                self.do_pass(true);
            }
        }
    }

    fn serve(self: &Arc<Self>) {
        let mut polls_until = Instant::now();
        let mut next = polls_until + LEAD;
        while self.inbox.wait(next, polls_until) {
            let now = Instant::now();
            let with_changes = now >= next || !self.inbox.is_open();
            if self.do_pass(with_changes) {
                next = now + TOGETHER;
                polls_until = now + TOGETHER * POLLS;
            }
        }
    }

    /// Does a fan-out pass: marks subscribers and dispatches their notifications. Returns whether a
    /// topic had changed.
    fn do_pass(self: &Arc<Self>, with_changes: bool) -> bool {
        let (marked, has_changes) = self.mark_all(with_changes);
        for subscriber in marked {
            subscriber.dispatch(self);
        }
        has_changes
    }

    /// Marks the subscribers of queued log messages. If `with_changes`, also marks the members of
    /// changed topics. Returns all subscribers to dispatch, and whether a topic had changed.
    fn mark_all(&self, with_changes: bool) -> (Vec<Arc<Subscriber>>, bool) {
        let pass = self.pass_lock.lock();
        let work = self.inbox.take(|work| {
            let now = Instant::now();
            let later = work.later.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut work.later, later);
            Work {
                changes: match with_changes {
                    true => std::mem::take(&mut work.changes),
                    false => Vec::new(),
                },
                logs: std::mem::take(&mut work.logs),
                ready: std::mem::take(&mut work.ready),
                later: due,
            }
        });
        let Work {
            changes,
            logs,
            ready: mut marked,
            later,
        } = work;
        marked.extend(later.into_values());
        for (level, text) in &logs {
            self.topics.logs.for_each_member(|_, member| {
                if member.mark_log(level, text, self.max_logs) {
                    marked.push(Arc::clone(member));
                }
            });
        }
        for PendingChange { topic, task } in &changes {
            topic.take_out();
            topic.for_each_member(|topic, member| {
                if member.mark(topic, task.as_ref()) {
                    marked.push(Arc::clone(member));
                }
            });
        }
        drop(pass);
        (marked, !changes.is_empty())
    }

    /// Marks the members of all topics that have changed so far. A thread calls this method before
    /// it ends a stream, so that the stream gets these changes.
    pub(super) fn catch_up(self: &Arc<Self>) {
        let (marked, _) = self.mark_all(true);
        self.write_to(marked);
    }

    /// Wakes the threads that wait for the end of a write. The lock `awaited` is taken first. So
    /// the wakeup can't come between a waiter's check and its wait.
    pub(super) fn writing_ended(&self) {
        drop(self.awaited.lock());
        self.written.notify_all();
    }

    /// Blocks until no thread writes to the subscriber, but at most for [`PATIENCE`].
    ///
    /// **Invariant:** the lock of `awaited` is held from the check to the wait. The check,
    /// `is_written`, sets the subscriber's flag `is_awaited`. A writer that finishes sees the flag,
    /// and takes the lock before it wakes the waiter. So no wakeup is lost.
    pub(super) fn wait_until_written(&self, subscriber: &Subscriber) {
        let until = Instant::now() + PATIENCE;
        let mut awaited = self.awaited.lock();
        while subscriber.is_written() && Instant::now() < until {
            awaited = self.written.wait_until(awaited, Some(until));
        }
    }

    /// Allows the fan-out thread to run, since there is a subscriber.
    pub(super) fn go_on(&self) {
        self.inbox.open();
    }

    /// Lets the fan-out thread end, since there is no subscriber any more.
    pub(super) fn stop(&self) {
        self.inbox.close();
    }

    /// Waits until the fan-out thread has ended after [`stop`](Self::stop), but at most for
    /// [`PATIENCE`]. The time is limited because the thread may be blocked in a transport of the
    /// host.
    pub(super) fn join(&self) {
        // The host may close from inside its transport, so this may be the fan-out thread itself.
        if !writes_here() && self.inbox.wait_for_end(Instant::now() + PATIENCE) {
            self.threads.join();
        }
    }
}

impl Default for Fanout {
    fn default() -> Self {
        Self::new(&Limits::default(), &Threads::default(), None)
    }
}

/// An inbox that publishers fill and one thread empties.
///
/// **Invariant:** while the inbox has entries, a thread runs or is being started. If `put` finds
/// `runs` unset, then it sets `runs` under the lock and returns `Call::StartOne`. The caller must
/// then start the thread. So no entry is left without a thread.
#[derive(Default)]
struct Inbox<W> {
    state: Mutex<Inner<W>>,
    /// The condition variable that is notified when the inbox has entries, or when the thread has
    /// to end.
    filled: Condvar,
    /// The condition variable that is notified when the thread has ended.
    ended: Condvar,
}

#[derive(Default)]
struct Inner<W> {
    work: W,
    /// Whether the thread that empties the inbox runs or is being started.
    runs: bool,
    /// Whether there may be subscribers. If false, the thread ends when the inbox is empty, and an
    /// inbox without a thread accepts no entry.
    is_open: bool,
    /// Whether the thread that empties the inbox is waiting without polling, and the inbox has no
    /// change. If so, the next change must wake the thread.
    waits: bool,
    has_urgent: bool,
}

/// The time at which an entry has to be taken out of the inbox.
#[derive(Clone, Copy, PartialEq)]
enum Urgency {
    /// The entry is taken out in the next fan-out pass for changes, together with other changes.
    Together,
    AtOnce,
    /// The entry is taken out at the time that is stored with the entry.
    Schedule,
}

/// The result of [`Inbox::put`]: whether the entry was queued, and whether the caller must start
/// the thread that empties the inbox.
#[must_use = "a thread that is counted has to be started"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Queued,
    /// The caller must start the thread. The inbox already counts the thread as running.
    StartOne,
    /// The inbox is closed, and the entry was dropped.
    Closed,
}

impl<W: Schedule> Inbox<W> {
    fn put(&self, urgency: Urgency, add: impl FnOnce(&mut W)) -> Call {
        let mut state = self.state.lock();
        if !state.runs && !state.is_open {
            return Call::Closed;
        }
        add(&mut state.work);
        let wakes = match urgency {
            Urgency::AtOnce => !std::mem::replace(&mut state.has_urgent, true),
            Urgency::Together => std::mem::take(&mut state.waits),
            Urgency::Schedule => true,
        };
        if !std::mem::replace(&mut state.runs, true) {
            return Call::StartOne;
        }
        drop(state);
        if wakes {
            self.filled.notify_all();
        }
        Call::Queued
    }

    /// Blocks until entries have to be taken out of the inbox. Changes are taken out at
    /// `not_before` or later, and [`LEAD`] after a change has woken the thread, unless the inbox is
    /// closed. Until `polls_until` the function polls for changes, so that changes wake no thread.
    /// Returns `false` when the thread must end.
    fn wait(&self, mut not_before: Instant, polls_until: Instant) -> bool {
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            let is_time = now >= not_before || !state.is_open;
            let (has_changes, later) = (state.work.has_changes(), state.work.first_later());
            let is_late = later.is_some_and(|at| at <= now);
            if state.has_urgent || (has_changes && is_time) || is_late {
                return true;
            }
            if !state.is_open {
                state.runs = false;
                let left = std::mem::take(&mut state.work);
                drop(state);
                drop(left);
                self.ended.notify_all();
                return false;
            }
            // While the thread polls, a change waits until the next poll and wakes nothing. So this
            // wait must have a deadline.
            let polls = now < polls_until;
            let poll = polls.then(|| now + TOGETHER);
            let until = if has_changes { Some(not_before) } else { poll };
            state.waits = !has_changes && !polls;
            let until = [until, later].into_iter().flatten().min();
            let slept = state.waits;
            state = self.filled.wait_until(state, until);
            state.waits = false;
            if slept && state.work.has_changes() {
                not_before = Instant::now() + LEAD;
            }
        }
    }

    /// Removes and returns the entries that `take` chooses. `take` must choose all urgent entries.
    fn take(&self, take: impl FnOnce(&mut W) -> W) -> W {
        let mut state = self.state.lock();
        let entries = take(&mut state.work);
        state.has_urgent = false;
        entries
    }

    fn is_open(&self) -> bool {
        self.state.lock().is_open
    }

    /// Records that the thread which empties the inbox has ended or could not be started.
    fn thread_ended(&self) {
        self.state.lock().runs = false;
        self.ended.notify_all();
    }

    fn open(&self) {
        self.state.lock().is_open = true;
    }

    /// Closes the inbox: the thread ends when the inbox is empty.
    fn close(&self) {
        self.state.lock().is_open = false;
        self.filled.notify_all();
    }

    /// Waits until the thread has ended after [`close`](Self::close), but not longer than `until`.
    /// Returns whether the thread has ended.
    fn wait_for_end(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while state.runs && !state.is_open && Instant::now() < until {
            state = self.ended.wait_until(state, Some(until));
        }
        !state.runs
    }
}

/// The entries of an inbox. Some entries may be scheduled for a later time.
trait Schedule: Default {
    fn first_later(&self) -> Option<Instant>;
    fn has_changes(&self) -> bool;
}

impl Schedule for Work {
    fn first_later(&self) -> Option<Instant> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }

    fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::AtomicUsize;
    use std::sync::atomic::Ordering;

    #[derive(Default)]
    struct Count(usize);

    impl Schedule for Count {
        fn first_later(&self) -> Option<Instant> {
            None
        }

        fn has_changes(&self) -> bool {
            self.0 > 0
        }
    }

    /// Tests a publisher that races with the end of the last connection. The fan-out thread must
    /// take out every entry that was put into the inbox.
    #[test]
    fn loom_nothing_is_left_in_the_inbox() {
        loom::model(|| {
            let inbox = Arc::new(Inbox::<Count>::default());
            let removed = Arc::new(AtomicUsize::new(0));
            let past = Instant::now();
            inbox.open();
            let serve = |inbox: &Arc<Inbox<Count>>| {
                let (inbox, removed) = (Arc::clone(inbox), Arc::clone(&removed));
                loom::thread::spawn(move || {
                    while inbox.wait(past, past) {
                        let count = inbox.take(std::mem::take).0;
                        removed.fetch_add(count, Ordering::SeqCst);
                    }
                })
            };
            let first = inbox.put(Urgency::Together, |count| count.0 += 1);
            assert_eq!(first, Call::StartOne);
            let thread = serve(&inbox);
            let publisher = {
                let inbox = Arc::clone(&inbox);
                loom::thread::spawn(move || inbox.put(Urgency::Together, |count| count.0 += 1))
            };
            inbox.close();
            let second = publisher.join().expect("no panic");
            thread.join().expect("no panic");
            assert_ne!(second, Call::StartOne, "it is closed");
            let put = 1 + usize::from(second == Call::Queued);
            assert_eq!(removed.load(Ordering::SeqCst), put);
        });
    }
}
