//! Exchanges for which no thread waits. A thread sends the request, and parks the exchange until
//! the server answers.
//!
//! ```text
//!          start                 sent                      input
//!  caller ──────▶ queued ──────────────────▶ parked ──────────────────▶ ended
//!                    ▲   a thread of the pool    │  the reader thread
//!                    └───────────────────────────┘
//!            has to block: connects again, logs in, is refused
//! ```
//!
//! **Threads.** The reader thread reads the answers of all parked exchanges and delivers their
//! messages, as the reading thread of a stream does. It blocks only in its wait for events. At most
//! [`SENDERS`] threads send requests. If all of them are blocked, more threads start.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use polling::Events;
use rustc_hash::FxHashMap;

use super::ask::{Context, Mode, Step, Wait};
use super::carry::Carrying;
use super::pool::PoolSlot;
use super::transport::ClientTransport;
use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::transport::deadlines::Watched;
use crate::transport::exchange_transport::{ExchangeOutcome, StartedExchange};
use crate::transport::sys::poller::Poller;
use crate::transport::{Stack, ThreadPool, Threads};

/// The maximum number of threads that send requests, unless all of them are blocked.
const SENDERS: usize = 16;
/// The time after which the sending threads count as blocked, if none of them takes work.
const BLOCKED: Duration = Duration::from_millis(100);
/// How long a close waits for the sending threads.
const CLOSING: Duration = Duration::from_secs(1);

/// An HTTP client transport, and its exchanges for which no thread waits.
pub(super) struct HttpTransport {
    pub(super) transport: ClientTransport,
    parking: Parking,
}

/// The exchanges of a client for which no thread waits.
struct Parking {
    shared: Arc<Shared>,
    /// The threads that send requests.
    senders: ThreadPool,
}

#[derive(Default)]
struct Shared {
    /// Invariant: a connection is armed, its shutdown handle is stored, and its exchange is entered
    /// in `parked`, under one lock. So the reader thread, which takes the lock after an event or a
    /// cancellation, finds the exchange. The lock is not held while an exchange continues or ends.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Work>,
    /// The number of threads that take work from the queue.
    senders: usize,
    /// The time when work was last taken from the queue, or when the queue stopped being empty.
    taken_at: Option<Instant>,
    parked: FxHashMap<usize, Box<Exchange>>,
    /// The times at which parked exchanges continue, with their keys.
    timed: BTreeSet<(Instant, usize)>,
    /// The keys of parked exchanges that have to continue now.
    woken: Vec<usize>,
    last_key: usize,
    /// `None` before the first exchange was started.
    poller: Option<Arc<Poller>>,
    thread: Option<JoinHandle<()>>,
    is_stopped: bool,
}

/// A piece of work for a sending thread.
enum Work {
    Continue(Box<Exchange>),
    /// Read the rest of the body after a response.
    Finish(Box<PoolSlot>),
}

/// An exchange for which no thread waits.
struct Exchange {
    started: StartedExchange,
    watched: Watched,
    carrying: Carrying,
}

/// An exchange that can't go on.
struct Ended {
    exchange: Box<Exchange>,
    error: Error,
}

impl Exchange {
    fn step(&mut self, transport: &ClientTransport, mode: Mode) -> Result<Step<ExchangeOutcome>> {
        let started = &mut self.started;
        let context = Context {
            cancel_handle: &started.cancel_handle,
            watched: &self.watched,
            mode,
        };
        let deliver = &mut *started.deliver;
        transport.step_of_exchange(&started.request, &mut self.carrying, context, deliver)
    }

    fn end(self, transport: &ClientTransport, result: Result<ExchangeOutcome>) {
        let StartedExchange {
            cancel_handle,
            on_end,
            ..
        } = self.started;
        cancel_handle.release();
        transport.count_user_time(&cancel_handle);
        drop((self.watched, self.carrying));
        on_end(result);
    }
}

impl State {
    fn next_key(&mut self) -> usize {
        self.last_key += 1;
        self.last_key
    }

    /// Returns the time of the poller's next work without an event.
    fn next_time(&self) -> Option<Instant> {
        let timed = self.timed.first().map(|(at, _)| *at);
        let taken_at = self.taken_at.filter(|_| !self.queue.is_empty());
        timed
            .into_iter()
            .chain(taken_at.map(|at| at + BLOCKED))
            .min()
    }

    /// Removes the exchanges that have to continue now.
    #[expect(clippy::vec_box, reason = "an exchange is large, and stays in its box")]
    fn take_due(&mut self, events: &Events) -> Vec<Box<Exchange>> {
        let mut keys = std::mem::take(&mut self.woken);
        if !keys.is_empty() {
            self.timed.retain(|(_, key)| !keys.contains(key));
        }
        keys.extend(events.iter().map(|event| event.key));
        let now = Instant::now();
        while self.timed.first().is_some_and(|(at, _)| *at <= now) {
            keys.extend(self.timed.pop_first().map(|(_, key)| key));
        }
        let parked = keys.into_iter();
        parked.filter_map(|key| self.parked.remove(&key)).collect()
    }

    fn notify(&self) {
        if let Some(poller) = &self.poller {
            // Fails only if the system has no memory. The poller then notices with its next event.
            _ = poller.notify();
        }
    }
}

impl Parking {
    fn new(threads: &Threads) -> Self {
        Self {
            shared: Arc::default(),
            senders: ThreadPool::new("send", None, threads.clone()),
        }
    }

    /// Ends all exchanges, and the threads. An exchange that is started later ends at once.
    fn stop(&self, transport: &ClientTransport) {
        let mut state = self.shared.state.lock();
        state.is_stopped = true;
        let queue = std::mem::take(&mut state.queue);
        let parked = std::mem::take(&mut state.parked);
        let thread = state.thread.take();
        state.notify();
        drop(state);
        let queued = queue.into_iter().filter_map(|work| match work {
            Work::Continue(exchange) => Some(exchange),
            Work::Finish(_) => None,
        });
        for exchange in queued.chain(parked.into_values()) {
            exchange.end(transport, Err(transport.nobody_waits()));
        }
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // The thread catches panics.
            _ = thread.join();
        }
        self.senders.close(Some(Instant::now() + CLOSING));
    }
}

impl Drop for Parking {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.is_stopped = true;
        state.notify();
    }
}

impl Shared {
    fn wake(&self, key: usize) {
        let mut state = self.state.lock();
        state.woken.push(key);
        state.notify();
    }

    /// Runs the reader thread.
    fn poll(&self, poller: &Poller, transport: &Weak<HttpTransport>) {
        let mut events = Events::new();
        loop {
            let state = self.state.lock();
            if state.is_stopped {
                return;
            }
            let next = state.next_time();
            drop(state);
            let timeout = next.map(|at| at.saturating_duration_since(Instant::now()));
            events.clear();
            // The wait can't fail for a valid poller. If it does, the sleep prevents a busy loop.
            if poller.wait(&mut events, timeout).is_err() {
                thread::sleep(Duration::from_millis(5));
            }
            let due = self.state.lock().take_due(&events);
            let Some(transport) = transport.upgrade() else {
                return;
            };
            for exchange in due {
                let go_on = || transport.continue_exchange(exchange, Mode::NonBlocking);
                // A fault in one exchange must not end the others. The panic was reported.
                _ = catch_unwind(AssertUnwindSafe(go_on));
            }
            transport.relieve_senders();
        }
    }
}

impl HttpTransport {
    pub(super) fn new(transport: ClientTransport) -> Self {
        Self {
            parking: Parking::new(&transport.threads),
            transport,
        }
    }

    /// Ends all exchanges for which no thread waits, and their threads.
    pub(super) fn stop_parking(&self) {
        self.parking.stop(&self.transport);
    }

    /// Starts an exchange for which no thread waits.
    pub(super) fn start_exchange(self: &Arc<Self>, started: StartedExchange) -> Result<()> {
        self.start_poller()?;
        let watched = self.transport.watch.add(&started.cancel_handle, true)?;
        let mut exchange = Box::new(Exchange {
            started,
            watched,
            carrying: self.transport.begin_exchange(),
        });
        let step = match self.transport.lanes.is_pollable() {
            true => exchange.step(&self.transport, Mode::NonBlocking)?,
            false => Step::Waits(Wait::Thread),
        };
        match step {
            Step::Waits(wait) => self.place(exchange, wait).map_err(|ended| ended.error),
            Step::Done(_) => unreachable!("the answer is awaited after the request"),
        }
    }

    fn start_poller(self: &Arc<Self>) -> Result<()> {
        let shared = &self.parking.shared;
        let mut state = shared.state.lock();
        if state.is_stopped {
            return Err(self.transport.nobody_waits());
        }
        if state.poller.is_some() {
            return Ok(());
        }
        let failed = |error| Error::io("a poller can't be made", error);
        let poller = Arc::new(Poller::new().map_err(failed)?);
        let (shared, transport) = (Arc::clone(shared), Arc::downgrade(self));
        let own = Arc::clone(&poller);
        let poll = move || shared.poll(&own, &transport);
        state.thread = Some(self.transport.threads.start("reader", Stack::Large, poll)?);
        state.poller = Some(poller);
        Ok(())
    }

    /// Passes work to the sending threads. Returns the work if the client is being closed.
    fn queue(self: &Arc<Self>, work: Work) -> Result<(), Work> {
        let mut state = self.parking.shared.state.lock();
        if state.is_stopped {
            return Err(work);
        }
        if state.queue.is_empty() {
            state.taken_at = Some(Instant::now());
        }
        state.queue.push_back(work);
        // An exchange that can't be parked has a thread of its own.
        if state.senders >= SENDERS && self.transport.lanes.is_pollable() {
            state.notify();
            return Ok(());
        }
        state.senders += 1;
        drop(state);
        self.start_sender();
        Ok(())
    }

    /// Starts a sending thread, which is already counted. If the system can't start a thread and no
    /// other thread is left, ends the queued exchanges.
    fn start_sender(self: &Arc<Self>) {
        let transport = Arc::clone(self);
        let run = move || transport.send_queued();
        let Err((error, _run)) = self.parking.senders.start(Box::new(run)) else {
            return;
        };
        let mut state = self.parking.shared.state.lock();
        state.senders -= 1;
        if state.senders > 0 {
            return;
        }
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        for work in queue {
            if let Work::Continue(exchange) = work {
                exchange.end(&self.transport, Err(error.clone()));
            }
        }
    }

    /// Runs a sending thread until the queue is empty.
    fn send_queued(self: &Arc<Self>) {
        let mode = match self.transport.lanes.is_pollable() {
            true => Mode::Parking,
            false => Mode::Blocking,
        };
        loop {
            let mut state = self.parking.shared.state.lock();
            let Some(work) = state.queue.pop_front() else {
                state.senders -= 1;
                return;
            };
            state.taken_at = Some(Instant::now());
            drop(state);
            match work {
                Work::Continue(exchange) => self.continue_exchange(exchange, mode),
                Work::Finish(lane) => self.transport.finish_now(lane),
            }
        }
    }

    /// Starts one more sending thread if all of them are blocked.
    fn relieve_senders(self: &Arc<Self>) {
        let mut state = self.parking.shared.state.lock();
        let is_blocked = state.taken_at.is_some_and(|at| at.elapsed() >= BLOCKED);
        if state.queue.is_empty() || !is_blocked || state.is_stopped {
            return;
        }
        state.taken_at = Some(Instant::now());
        state.senders += 1;
        drop(state);
        self.start_sender();
    }

    fn continue_exchange(self: &Arc<Self>, mut exchange: Box<Exchange>, mode: Mode) {
        match exchange.step(&self.transport, mode) {
            Ok(Step::Waits(wait)) => {
                if let Err(ended) = self.place(exchange, wait) {
                    ended.exchange.end(&self.transport, Err(ended.error));
                }
            }
            Ok(Step::Done(outcome)) => {
                let rest = exchange.carrying.take_rest();
                exchange.end(&self.transport, Ok(outcome));
                if let Some(lane) = rest {
                    // A client that is being closed does not need the connection any more.
                    _ = self.queue(Work::Finish(lane));
                }
            }
            Err(error) => exchange.end(&self.transport, Err(error)),
        }
    }

    /// Places an exchange where it waits.
    fn place(self: &Arc<Self>, exchange: Box<Exchange>, wait: Wait) -> Result<(), Box<Ended>> {
        let stopped = |exchange| {
            let error = self.transport.nobody_waits();
            Box::new(Ended { exchange, error })
        };
        match wait {
            Wait::Thread => match self.queue(Work::Continue(exchange)) {
                Err(Work::Continue(exchange)) => Err(stopped(exchange)),
                _ => Ok(()),
            },
            Wait::Input => self.park(exchange),
            Wait::Turn => self.park_for_a_turn(exchange).map_err(stopped),
            Wait::Until(until) => self.park_until(exchange, until).map_err(stopped),
        }
    }

    /// Parks an exchange until its connection has input, or is shut down.
    fn park(&self, mut exchange: Box<Exchange>) -> Result<(), Box<Ended>> {
        let mut state = self.parking.shared.state.lock();
        let next_key = state.next_key();
        let registered = match (&state.poller, exchange.carrying.lane()) {
            (Some(poller), Some(lane)) if !state.is_stopped => {
                let key = lane.line.register(poller, next_key);
                key.map(|key| (key, lane))
            }
            _ => Err(io::ErrorKind::NotConnected.into()),
        };
        // The poller of Windows reports no event for a socket that was shut down on this side.
        let armed = registered.and_then(|(key, lane)| {
            let (brake, waking) = (lane.brake(), Arc::clone(&self.parking.shared));
            let is_awaited = exchange.started.cancel_handle.engage(move || {
                brake();
                waking.wake(key);
            });
            match is_awaited {
                true => lane.line.arm().map(|()| key),
                false => Err(io::ErrorKind::NotConnected.into()),
            }
        });
        match armed {
            Ok(key) => {
                state.parked.insert(key, exchange);
                Ok(())
            }
            Err(error) => {
                drop(state);
                let (cancel_handle, watched) = (&exchange.started.cancel_handle, &exchange.watched);
                let error = self.transport.broken_off(error, cancel_handle, watched);
                Err(Box::new(Ended { exchange, error }))
            }
        }
    }

    /// Parks an exchange until the reader thread has served others. Returns the exchange if the
    /// client is being closed.
    fn park_for_a_turn(&self, exchange: Box<Exchange>) -> Result<(), Box<Exchange>> {
        let mut state = self.parking.shared.state.lock();
        if state.is_stopped {
            return Err(exchange);
        }
        let key = state.next_key();
        state.parked.insert(key, exchange);
        state.woken.push(key);
        state.notify();
        Ok(())
    }

    /// Parks an exchange until a time, or until it is cancelled. Returns the exchange if the client
    /// is being closed.
    fn park_until(&self, exchange: Box<Exchange>, until: Instant) -> Result<(), Box<Exchange>> {
        let shared = &self.parking.shared;
        let cancel_handle = Arc::clone(&exchange.started.cancel_handle);
        let mut state = shared.state.lock();
        if state.is_stopped {
            return Err(exchange);
        }
        let key = state.next_key();
        state.timed.insert((until, key));
        state.parked.insert(key, exchange);
        state.notify();
        drop(state);
        let waking = Arc::clone(shared);
        if !cancel_handle.engage(move || waking.wake(key)) {
            shared.wake(key);
        }
        Ok(())
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.parking.shared.state.lock();
        f.debug_struct("HttpTransport")
            .field("transport", &self.transport)
            .field("queued", &state.queue.len())
            .field("parked", &state.parked.len())
            .finish()
    }
}
