//! The table of active items. An item is an unanswered request of the peer or a running handler.
//!
//! [`Activity`](super::Activity) shows the items. The reading thread checks the table periodically
//! for slow handlers, so no timer thread is needed. A slow handler is also reported when it
//! returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::activity::{OpenRequest, Running, thread_name};
use super::handlers::{self, Handlers};
use crate::jsonrpc::RequestId;
use crate::sync::Mutex;

/// The maximum time until the next check for slow handlers.
const FAR: Duration = Duration::from_secs(3600);

/// The maximum number of slots whose memory an empty table keeps. A larger table is freed when it
/// becomes empty.
const KEPT: usize = 64;

/// The table of active items of a connection.
#[derive(Debug)]
pub(crate) struct ActiveRequests {
    state: Mutex<State>,
    /// The number of items in the table.
    // Stored under the lock with `Release`, so that `is_empty` needs no lock. A stale value only
    // delays a check.
    count: AtomicUsize,
    /// The run time after which a handler counts as slow.
    long: Duration,
    handlers: Arc<Handlers>,
}

#[derive(Debug)]
struct State {
    last_turn: u32,
    /// The slots of the table. An item never changes its slot, and its key contains the index of
    /// the slot. So no search is needed.
    places: Vec<Place>,
    /// The indexes of the free slots. The slot that was freed last is reused first.
    free: Vec<u32>,
    /// The time of the next check for slow handlers.
    look_at: Instant,
}

#[derive(Debug, Default)]
struct Place {
    /// The generation of the slot, which distinguishes the current item from earlier items in the
    /// slot.
    turn: u32,
    item: Option<Item>,
}

#[derive(Debug)]
struct Item {
    what: What,
    since: Instant,
    /// Whether a request is still unanswered, or a notification's handler has not returned yet.
    open: bool,
    run: Option<Run>,
}

/// The kind of an active item, with the index of its handler.
#[derive(Debug)]
pub(crate) enum What {
    Request(handlers::Place, RequestId),
    Notification(handlers::Place),
}

#[derive(Debug)]
struct Run {
    since: Instant,
    thread: Thread,
    /// Whether a log record has already reported this handler as slow.
    told: bool,
}

/// A slow handler and its run time, for a log record.
pub(crate) struct SlowHandler {
    pub(crate) what: String,
    pub(crate) took: Duration,
}

impl ActiveRequests {
    pub(crate) fn new(long: Duration, handlers: Arc<Handlers>, now: Instant) -> Self {
        let state = State {
            last_turn: 0,
            places: Vec::new(),
            free: Vec::new(),
            look_at: now,
        };
        Self {
            state: Mutex::new(state),
            count: AtomicUsize::new(0),
            long,
            handlers,
        }
    }

    /// Adds an item to the table. Returns the key of the item, which must be passed to
    /// [`leave`](Self::leave).
    pub(crate) fn enter(&self, what: What, now: Instant) -> u64 {
        self.enter_as(what, now, None)
    }

    /// Adds an item, and records that its handler runs on this thread. If another thread has to run
    /// the handler, the caller must call [`wait`](Self::wait) next.
    pub(crate) fn enter_running(&self, what: What, now: Instant) -> u64 {
        self.enter_as(what, now, Some(Run::here(now)))
    }

    fn enter_as(&self, what: What, now: Instant, run: Option<Run>) -> u64 {
        let item = Item {
            what,
            since: now,
            open: true,
            run,
        };
        let mut state = self.state.lock();
        if state.count() == 0 {
            state.look_at = now + self.long.min(FAR);
        }
        let number = state.free.pop().unwrap_or_else(|| {
            state.places.push(Place::default());
            u32::try_from(state.places.len() - 1).expect("requests in hand are limited")
        });
        // Not zero, so no key is zero.
        let turn = state.last_turn.wrapping_add(1).max(1);
        state.last_turn = turn;
        state.places[number as usize] = Place {
            turn,
            item: Some(item),
        };
        let key = u64::from(turn) << 32 | u64::from(number);
        self.count.store(state.count(), Ordering::Release);
        key
    }

    /// Records that the request with this key was answered, or that the notification with this key
    /// was handled or discarded.
    pub(crate) fn leave(&self, key: u64) {
        self.change(key, |item| item.open = false);
    }

    /// Records that the handler of the item with this key is not running, because another thread
    /// has to run it.
    pub(crate) fn wait(&self, key: u64) {
        self.change(key, |item| item.run = None);
    }

    /// Records that the handler of the item with this key begins to run on this thread.
    pub(crate) fn begin_run(&self, key: u64, now: Instant) {
        let run = Run::here(now);
        self.change(key, |item| item.run = Some(run));
    }

    /// Records that the handler of the item with this key has returned. If the handler was slow,
    /// returns a description of the handler.
    pub(crate) fn end_run(&self, key: u64, now: Instant) -> Option<SlowHandler> {
        let mut late = None;
        self.change(key, |item| {
            let run = item.run.take();
            let took = run.map(|run| now.saturating_duration_since(run.since));
            late = took
                .filter(|took| *took >= self.long)
                .map(|took| SlowHandler {
                    what: self.tell(&item.what),
                    took,
                });
        });
        late
    }

    fn change(&self, key: u64, change: impl FnOnce(&mut Item)) {
        let mut state = self.state.lock();
        let number = key as u32;
        let Some(place) = state.places.get_mut(number as usize) else {
            return;
        };
        let is_its = u64::from(place.turn) == key >> 32;
        let Some(item) = place.item.as_mut().filter(|_| is_its) else {
            return;
        };
        change(item);
        if !item.open && item.run.is_none() {
            let gone = place.item.take();
            state.free.push(number);
            if state.count() == 0 && state.places.len() > KEPT {
                (state.places, state.free) = (Vec::new(), Vec::new());
            }
            self.count.store(state.count(), Ordering::Release);
            drop(state);
            drop(gone);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Returns the handlers that became slow since the last check, and the time until the next
    /// check. Returns `None` if the table is empty.
    pub(crate) fn look(&self, now: Instant) -> Option<(Vec<SlowHandler>, Duration)> {
        if self.is_empty() {
            return None;
        }
        let mut state = self.state.lock();
        if now < state.look_at {
            return Some((Vec::new(), state.look_at - now));
        }
        let mut next = self.long;
        let mut late = Vec::new();
        for item in state
            .places
            .iter_mut()
            .filter_map(|place| place.item.as_mut())
        {
            let Some(run) = item.run.as_mut().filter(|run| !run.told) else {
                continue;
            };
            let took = now.saturating_duration_since(run.since);
            if took >= self.long {
                run.told = true;
                let what = self.tell(&item.what);
                late.push(SlowHandler { what, took });
            } else {
                next = next.min(self.long - took);
            }
        }
        // A `slow_handler` setting of zero must not keep the reading thread busy.
        next = next.clamp(Duration::from_millis(1), FAR);
        state.look_at = now + next;
        Some((late, next))
    }

    pub(crate) fn show(&self, now: Instant) -> Vec<OpenRequest> {
        let span = |since| now.saturating_duration_since(since);
        let state = self.state.lock();
        let items = state.places.iter().filter_map(|place| place.item.as_ref());
        let shown = items.map(|item| OpenRequest {
            id: item.what.id().cloned(),
            method: self.method(&item.what).to_owned(),
            age: span(item.since),
            running: item.run.as_ref().map(|run| Running {
                span: span(run.since),
                thread: thread_name(&run.thread),
            }),
        });
        let mut shown: Vec<OpenRequest> = shown.collect();
        drop(state);
        shown.sort_unstable_by_key(|request| std::cmp::Reverse(request.age));
        shown
    }

    fn method(&self, what: &What) -> &str {
        match what {
            What::Request(place, _) => self.handlers.name_of_request(*place),
            What::Notification(place) => self.handlers.name_of_notification(*place),
        }
    }

    fn tell(&self, what: &What) -> String {
        let method = self.method(what);
        match what.id() {
            Some(id) => format!("request {id} ({method})"),
            None => format!("notification {method}"),
        }
    }
}

impl State {
    fn count(&self) -> usize {
        self.places.len() - self.free.len()
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

impl What {
    fn id(&self) -> Option<&RequestId> {
        match self {
            Self::Request(_, id) => Some(id),
            Self::Notification(_) => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // Must not happen: nobody can see which call or handler a hung program waits for.
    #[test]
    fn a_handler_that_runs_long_is_told_once_and_when_it_ends() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let handlers = Handlers::new().request("tools/call", |_, _| {});
        let handlers = Arc::new(handlers.notification("n", |_, _| {}));
        let (call, _) = handlers.for_request("tools/call").expect("there");
        let (note, _) = handlers.for_notification("n").expect("there");
        let in_hand = ActiveRequests::new(Duration::from_secs(30), handlers.clone(), start);
        assert!(in_hand.look(after(1)).is_none());
        let request = What::Request(call, RequestId::from(7));
        let waiting = in_hand.enter_running(request, after(10));
        assert!(in_hand.show(after(10))[0].running.is_some());
        in_hand.wait(waiting);
        assert!(in_hand.show(after(10))[0].running.is_none());
        let look = |seconds| {
            let (late, next) = in_hand.look(after(seconds)).expect("something is there");
            let late: Vec<String> = late.into_iter().map(|late| late.what).collect();
            (late, next.as_secs())
        };
        // The request waits for a thread, and does not count as running.
        assert_eq!(look(10), (vec![], 30));
        assert_eq!(look(50), (vec![], 30));
        in_hand.begin_run(waiting, after(60));
        assert_eq!(look(80), (vec![], 10));
        assert_eq!(look(90), (vec!["request 7 (tools/call)".to_owned()], 30));
        assert_eq!(look(120), (vec![], 30));
        in_hand.leave(waiting);
        assert!(in_hand.look(after(121)).is_some(), "answered, but running");
        let late = in_hand.end_run(waiting, after(125)).expect("it took long");
        assert_eq!(late.took, Duration::from_secs(65));
        assert!(in_hand.look(after(126)).is_none());
        let quick = in_hand.enter(What::Notification(note), after(130));
        in_hand.begin_run(quick, after(130));
        assert!(in_hand.end_run(quick, after(131)).is_none());
        in_hand.leave(quick);
        assert!(in_hand.show(after(132)).is_empty());
    }
}
