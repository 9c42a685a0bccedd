//! The thread that carries changes from publishers to subscribers.
//!
//! ```text
//!  publisher ──▶ inbox ──▶ a round: each member of what has changed is marked ──▶ each one marked is written to, once
//! ```
//!
//! A publisher puts a topic into the inbox, unless it is there already. A round takes all out. Rounds for changes are [`TOGETHER`] apart
//! at least: a change that comes alone goes out at once, and of many in a row few notifications are made.
//!
//! **Threads.** There is one at most, `fanout`. The first change that has somebody to be told of starts it; it ends when the last connection
//! with a subscriber has, and who closes that one joins it. If the system has no thread to give, the publisher does the round.
//!
//! **Locks:** that of a round is held while members are marked, so that who ends a stream finds marked what was published before. Inside it
//! are taken those of a topic and then of a subscriber, and that of the inbox. Nothing is written under any of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::subscriber::{Subscriber, writes_here};
use super::topics::{Topic, Topics};
use super::{Due, Followed};
use crate::protocol::{LogHook, LogLevel, tell};
use crate::schema::LoggingLevel;
use crate::sync::{Condvar, Mutex};
use crate::transport::{Limits, Stack, Started, Threads};

/// Changes within this time after a round are told together.
const TOGETHER: Duration = Duration::from_millis(10);

/// How long somebody who closes waits for a round that writes.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Fanout {
    pub(super) topics: Topics,
    inbox: Inbox<Work>,
    /// Held while members are marked.
    round: Mutex<()>,
    /// For who waits until nobody writes to a subscriber; guards nothing else.
    awaited: Mutex<()>,
    written: Condvar,
    settings: Settings,
    threads: Started,
}

/// What the server says.
#[derive(Default)]
struct Settings {
    threads: Threads,
    log: Option<LogHook>,
    max_logs: usize,
}

/// What waits for a round.
#[derive(Default)]
struct Work {
    changes: Vec<Due>,
    logs: Vec<(LoggingLevel, Arc<[u8]>)>,
    /// Subscribers to be written to, marked already.
    ready: Vec<Arc<Subscriber>>,
    /// Subscribers that had no room, by when they are tried again.
    later: BTreeMap<(Instant, u64), Arc<Subscriber>>,
}

impl Fanout {
    pub(super) fn new(limits: &Limits, threads: &Threads, log: Option<LogHook>) -> Self {
        let settings = Settings {
            threads: threads.clone(),
            log,
            max_logs: limits.max_backlog,
        };
        Self {
            topics: Topics::default(),
            inbox: Inbox::default(),
            round: Mutex::default(),
            awaited: Mutex::default(),
            written: Condvar::new(),
            settings,
            threads: Started::default(),
        }
    }

    /// Has a change told to the members of its topic. A task comes with its topic, since it may be forgotten before it is told of.
    pub(super) fn change(self: &Arc<Self>, topic: &Arc<Topic>, task: Option<Arc<dyn Followed>>) {
        if topic.has_members() && topic.change() {
            let call = self.inbox.put(Urgency::Together, |work| {
                let topic = Arc::clone(topic);
                work.changes.push(Due { topic, task });
            });
            if call == Call::Closed {
                topic.take_out();
            }
            self.answer(call);
        }
    }

    /// Has a log message told to those who want it. It is dropped when too many wait.
    pub(super) fn log(self: &Arc<Self>, level: LoggingLevel, text: Arc<[u8]>) {
        let max = self.settings.max_logs;
        let call = self.inbox.put(Urgency::AtOnce, |work| {
            if work.logs.len() < max {
                work.logs.push((level, text));
            }
        });
        self.answer(call);
    }

    /// Has a subscriber written to.
    pub(super) fn write_to(self: &Arc<Self>, subscribers: Vec<Arc<Subscriber>>) {
        if !subscribers.is_empty() {
            let call = self
                .inbox
                .put(Urgency::AtOnce, |work| work.ready.extend(subscribers));
            self.answer(call);
        }
    }

    /// Has a subscriber written to at some time.
    pub(super) fn try_again(self: &Arc<Self>, subscriber: Arc<Subscriber>, at: Instant) {
        let call = self.inbox.put(Urgency::Later, |work| {
            work.later.insert((at, subscriber.number), subscriber);
        });
        self.answer(call);
    }

    /// Starts the thread if it is missing.
    fn answer(self: &Arc<Self>, call: Call) {
        if call != Call::StartOne {
            return;
        }
        let this = Arc::clone(self);
        let serve = move || this.serve();
        let kind = &self.settings.threads;
        if let Err(error) = self.threads.start(kind, "fanout", Stack::Large, serve) {
            tell(
                self.settings.log.as_ref(),
                LogLevel::Error,
                "server",
                || format!("subscribers are told by who changes something: {error}"),
            );
            self.inbox.thread_ended();
            // A transport of the host's may publish in turn.
            if !writes_here() {
                self.do_round(true);
            }
        }
    }

    fn serve(self: &Arc<Self>) {
        let mut next = Instant::now();
        while self.inbox.wait(next) {
            let now = Instant::now();
            let with_changes = now >= next || !self.inbox.is_open();
            if self.do_round(with_changes) {
                next = now + TOGETHER;
            }
        }
    }

    /// Gives whether there was a change.
    fn do_round(self: &Arc<Self>, with_changes: bool) -> bool {
        let (marked, has_changes) = self.mark_all(with_changes);
        for subscriber in marked {
            subscriber.dispatch(self);
        }
        has_changes
    }

    /// Marks who is to be told of what waits. Gives those who are to be written to.
    fn mark_all(&self, with_changes: bool) -> (Vec<Arc<Subscriber>>, bool) {
        let round = self.round.lock();
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
            self.topics.logs.for_each_member(|member| {
                if member.mark_log(level, text, self.settings.max_logs) {
                    marked.push(Arc::clone(member));
                }
            });
        }
        for Due { topic, task } in &changes {
            topic.take_out();
            topic.for_each_member(|member| {
                if member.mark(topic, task.as_ref()) {
                    marked.push(Arc::clone(member));
                }
            });
        }
        drop(round);
        (marked, !changes.is_empty())
    }

    /// Marks who is to be told of what was published before, for who ends a stream next.
    pub(super) fn catch_up(self: &Arc<Self>) {
        let (marked, _) = self.mark_all(true);
        self.write_to(marked);
    }

    /// Somebody who was asked for has ended writing.
    pub(super) fn writing_ended(&self) {
        drop(self.awaited.lock());
        self.written.notify_all();
    }

    /// Waits until nobody writes to a subscriber.
    pub(super) fn wait_until_written(&self, subscriber: &Subscriber) {
        let until = Instant::now() + PATIENCE;
        let mut awaited = self.awaited.lock();
        while subscriber.is_written() && Instant::now() < until {
            awaited = self.written.wait_until(awaited, Some(until));
        }
    }

    /// Somebody has come who may be told of something.
    pub(super) fn go_on(&self) {
        self.inbox.open();
    }

    /// Has the thread end, since there is nobody to be told of anything.
    pub(super) fn stop(&self) {
        self.inbox.close();
    }

    /// Waits until the thread has ended that was told to. The time is bounded: it may write to a transport of the host's that does not return.
    pub(super) fn join(&self) {
        // The host closes from inside its transport: this may be the thread.
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

/// What publishers put in and one thread takes out.
///
/// **Invariant:** what was put in is taken out by a thread that runs, or who put it in was told to start one.
#[derive(Default)]
struct Inbox<W> {
    state: Mutex<Inner<W>>,
    /// There is something for the thread, or it is to end.
    filled: Condvar,
    /// The thread has ended.
    ended: Condvar,
}

#[derive(Default)]
struct Inner<W> {
    work: W,
    /// There is a thread, or one on its way.
    runs: bool,
    /// There may be somebody to be told of something. If not, the thread ends when all is taken out, and nothing is put in.
    is_open: bool,
    /// The thread waits for the first change.
    waits: bool,
    has_urgent: bool,
}

/// When something is to be taken out.
#[derive(Clone, Copy, PartialEq)]
enum Urgency {
    /// With what else has changed.
    Together,
    AtOnce,
    /// The work says when.
    Later,
}

/// What came of putting something in.
#[must_use = "a thread that is counted has to be started"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Heard,
    /// The caller has to start the thread, which is counted already.
    StartOne,
    /// Nothing was put in, since there is nobody to be told.
    Closed,
}

impl<W: Later> Inbox<W> {
    fn put(&self, urgency: Urgency, add: impl FnOnce(&mut W)) -> Call {
        let mut state = self.state.lock();
        if !state.runs && !state.is_open {
            return Call::Closed;
        }
        add(&mut state.work);
        let wakes = match urgency {
            Urgency::AtOnce => !std::mem::replace(&mut state.has_urgent, true),
            Urgency::Together => std::mem::take(&mut state.waits),
            Urgency::Later => true,
        };
        if !std::mem::replace(&mut state.runs, true) {
            return Call::StartOne;
        }
        drop(state);
        if wakes {
            self.filled.notify_all();
        }
        Call::Heard
    }

    /// Waits until something is to be taken out; changes not before a time. `false` when the thread has to end.
    fn wait(&self, not_before: Instant) -> bool {
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
            let until = has_changes.then_some(not_before);
            state.waits = !has_changes;
            let until = [until, later].into_iter().flatten().min();
            state = self.filled.wait_until(state, until);
            state.waits = false;
        }
    }

    /// Takes something out: all that is urgent, and what it wants of the rest.
    fn take(&self, take: impl FnOnce(&mut W) -> W) -> W {
        let mut state = self.state.lock();
        let taken = take(&mut state.work);
        state.has_urgent = false;
        taken
    }

    fn is_open(&self) -> bool {
        self.state.lock().is_open
    }

    /// There is no thread, and none comes.
    fn thread_ended(&self) {
        self.state.lock().runs = false;
        self.ended.notify_all();
    }

    fn open(&self) {
        self.state.lock().is_open = true;
    }

    /// Has the thread end when nothing is left to be taken out.
    fn close(&self) {
        self.state.lock().is_open = false;
        self.filled.notify_all();
    }

    /// Waits until the thread has ended that was told to; whether it has.
    fn wait_for_end(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while state.runs && !state.is_open && Instant::now() < until {
            state = self.ended.wait_until(state, Some(until));
        }
        !state.runs
    }
}

/// What a thread has to see to at a time.
trait Later: Default {
    fn first_later(&self) -> Option<Instant>;
    fn has_changes(&self) -> bool;
}

impl Later for Work {
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

    impl Later for Count {
        fn first_later(&self) -> Option<Instant> {
            None
        }

        fn has_changes(&self) -> bool {
            self.0 > 0
        }
    }

    /// A publisher and a connection that is the last one to close: what was put in is taken out, by the thread that closing waits for.
    #[test]
    fn loom_nothing_is_left_in_the_inbox() {
        loom::model(|| {
            let inbox = Arc::new(Inbox::<Count>::default());
            let taken = Arc::new(AtomicUsize::new(0));
            let past = Instant::now();
            inbox.open();
            let serve = |inbox: &Arc<Inbox<Count>>| {
                let (inbox, taken) = (Arc::clone(inbox), Arc::clone(&taken));
                loom::thread::spawn(move || {
                    while inbox.wait(past) {
                        let count = inbox.take(std::mem::take).0;
                        taken.fetch_add(count, Ordering::SeqCst);
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
            let put = 1 + usize::from(second == Call::Heard);
            assert_eq!(taken.load(Ordering::SeqCst), put);
        });
    }
}
