//! The ready set of a worker: the connections that it keeps for a moment after their requests.
//!
//! A worker waits for the next request on all of them with one system call, and serves the ready
//! ones one after the other. Under load, many requests then cost one thread switch.
//!
//! While a worker runs a handler, its other connections may be stolen (*stealable*):
//!
//! - If the handler takes longer than one tick, the poller moves all of them to other workers.
//! - If the worker is merely slow, the poller takes half of its ready connections while CPUs are
//!   idle.
//!
//! While requests are quick, one CPU is left free, where there is more than one: for the clients,
//! the poller, and the system's network code. A worker that shares its CPU waits for a time slice
//! of the scheduler, and all its connections wait with it.
//!
//! **Invariant:** a connection in a ready set is owned by a worker
//! ([`Owner::Worker`](super::connection)). It is removed under the set's lock: by that worker, to
//! be served or released; or by the poller, only while the set is stealable. So no connection is
//! served by two threads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::connection::Connection;
use crate::sync::Mutex;
use crate::transport::sys::fd::Wake;
use crate::transport::sys::tcp;

/// How long a worker waits on its ready set before it releases the connections to the poller.
pub(super) const LINGER: Duration = Duration::from_millis(5);
/// The largest ready set. A larger one would make each wait expensive.
const LARGEST: usize = 64;
/// The largest ready set where only one thread runs at a time. There, each answer that wakes a
/// client preempts a worker that holds all connections, but not one of two workers.
const LARGEST_OF_ONE: usize = 32;
/// How often connections that sent nothing are released to the poller.
const SWEEP: Duration = Duration::from_millis(50);
/// The period of the poller's checks. A stealable set is taken after one to two of these.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// A worker that serves fewer requests in a tick runs slow handlers.
const QUICK: u32 = 8;
/// After this many ticks without a stealable set the poller stops its checks. Until then, the next
/// stealable set need not wake it.
const ALERT: u32 = 100;

/// The ready set of a worker.
#[derive(Debug)]
pub(super) struct ReadySet {
    largest: usize,
    state: Mutex<State>,
    /// Ends the wait of the worker, when it has a job to do.
    pub(super) wake: Wake,
}

/// Guarded by [`ReadySet::state`], which is held briefly only.
#[derive(Debug)]
struct State {
    quiet: Vec<Member>,
    /// Connections with input, in the order in which they are served.
    ready: VecDeque<Arc<Connection>>,
    /// Whether the poller may take connections: the worker serves one, or waits for the rest of a
    /// request. The worker sets it before that and clears it when it is back. Both threads hold the
    /// lock, so the worker and the poller never take one connection both.
    lies_open: bool,
    /// How often the worker has made the set stealable.
    turn: u32,
    /// The value of `turn` at the poller's last check.
    seen: u32,
    /// When connections that sent nothing were last released.
    swept: Instant,
}

/// A connection of the set that has no input.
#[derive(Debug)]
struct Member {
    conn: Arc<Connection>,
    /// Whether it has served a request since the last sweep. Otherwise the sweep releases it.
    was_ready: bool,
}

impl State {
    fn len(&self) -> usize {
        self.quiet.len() + self.ready.len()
    }
}

impl ReadySet {
    fn new(largest: usize) -> std::io::Result<Self> {
        Ok(Self {
            largest,
            state: Mutex::new(State {
                quiet: Vec::new(),
                ready: VecDeque::new(),
                lies_open: false,
                turn: 0,
                seen: 0,
                swept: Instant::now(),
            }),
            wake: Wake::new()?,
        })
    }

    /// Adds a connection. Returns false if the set is full.
    pub(super) fn join(&self, conn: &Arc<Connection>) -> bool {
        let mut state = self.state.lock();
        if state.len() >= self.largest {
            return false;
        }
        state.quiet.push(Member {
            conn: Arc::clone(conn),
            was_ready: true,
        });
        true
    }

    /// Ends stealing: the worker is back. Takes the next connection that has input.
    pub(super) fn come_back(&self) -> Option<Arc<Connection>> {
        let mut state = self.state.lock();
        state.lies_open = false;
        state.ready.pop_front()
    }

    /// Allows stealing until the worker is back. Returns whether there is a connection to steal.
    fn lay_open(&self) -> bool {
        let mut state = self.state.lock();
        state.turn = state.turn.wrapping_add(1);
        state.lies_open = state.len() > 0;
        state.lies_open
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().len() == 0
    }

    /// Waits until a connection has input, or the wake handle is fired, or [`LINGER`] is over.
    ///
    /// Returns the connections to release to the poller: those that sent nothing since the last
    /// sweep, or all of them when no event came in time.
    pub(super) fn wait(&self) -> Vec<Arc<Connection>> {
        let mut state = self.state.lock();
        let conns = state.quiet.iter().map(|member| Arc::clone(&member.conn));
        let conns: Vec<_> = conns.collect();
        drop(state);
        let found = tcp::wait_for_any(
            conns.iter().map(|conn| conn.socket.get()),
            &self.wake,
            Instant::now() + LINGER,
        );
        drop(conns);
        state = self.state.lock();
        let Ok(Some(found)) = found else {
            return state.quiet.drain(..).map(|member| member.conn).collect();
        };
        // In reverse, so that `swap_remove` does not move a connection that is still to be taken.
        for place in found.into_iter().rev() {
            let member = state.quiet.swap_remove(place);
            state.ready.push_front(member.conn);
        }
        let now = Instant::now();
        if now < state.swept + SWEEP {
            return Vec::new();
        }
        state.swept = now;
        let gone = state
            .quiet
            .extract_if(.., |member| !std::mem::take(&mut member.was_ready));
        gone.map(|member| member.conn).collect()
    }

    /// Takes all connections if the worker has served the same request for a whole tick. The poller
    /// calls it in each tick.
    fn watch(&self, taken: &mut Vec<Arc<Connection>>) -> Seen {
        let mut state = self.state.lock();
        let served = state.turn.wrapping_sub(state.seen);
        let is_slow = state.lies_open && served < QUICK && state.ready.len() > 1;
        if state.lies_open && served == 0 {
            state.lies_open = false;
            let ready = std::mem::take(&mut state.ready);
            taken.extend(ready);
            taken.extend(state.quiet.drain(..).map(|member| member.conn));
        }
        state.seen = state.turn;
        Seen {
            lies_open: state.lies_open,
            is_slow,
        }
    }

    /// Takes the last half of the ready connections, if the set is still stealable.
    fn share(&self) -> VecDeque<Arc<Connection>> {
        let mut state = self.state.lock();
        if !state.lies_open {
            return VecDeque::new();
        }
        let kept = state.ready.len().div_ceil(2);
        state.ready.split_off(kept)
    }
}

/// The result of the poller's check of a ready set.
struct Seen {
    lies_open: bool,
    /// Some connections are ready, and the worker is slow.
    is_slow: bool,
}

/// The ready sets of all workers.
#[derive(Debug)]
pub(super) struct ReadySets {
    /// Lock order: this one before the lock of any set.
    all: Mutex<Vec<Arc<ReadySet>>>,
    /// The number of threads that can run at the same time.
    parallel: usize,
    /// The number of ticks until requests count as quick again. Written by the poller only.
    slow_for: AtomicU32,
    /// Whether the poller checks the sets in each tick.
    ///
    /// Invariant: a worker makes its set stealable first and sets this flag after it; it wakes the
    /// poller if the flag was clear. The poller clears the flag first and checks all sets once more
    /// after it. So a stealable set is never left without a poller that checks it, and its
    /// connections never wait behind a slow handler.
    is_watched: AtomicBool,
}

impl ReadySets {
    pub(super) fn new(parallel: usize) -> Self {
        Self {
            all: Mutex::default(),
            parallel,
            slow_for: AtomicU32::new(0),
            is_watched: AtomicBool::new(false),
        }
    }

    fn is_slow(&self) -> bool {
        self.slow_for.load(Ordering::Relaxed) > 0
    }

    /// Whether a worker may wait for one connection alone, beside `alone` workers that do so. It
    /// may not while another worker holds several connections, since that one can take it too.
    pub(super) fn may_be_beside(&self, alone: usize) -> bool {
        let is_busy = |round: &Arc<ReadySet>| !round.is_empty();
        alone < self.parallel && (self.is_slow() || !self.all.lock().iter().any(is_busy))
    }

    /// Creates the ready set of a worker. Returns `None` if the system has no descriptor left.
    pub(super) fn open(&self) -> Option<Arc<ReadySet>> {
        let largest = match self.parallel {
            1 => LARGEST_OF_ONE,
            _ => LARGEST,
        };
        let round = Arc::new(ReadySet::new(largest).ok()?);
        self.all.lock().push(Arc::clone(&round));
        Some(round)
    }

    /// Whether a worker without connections may begin to keep some. With more sets the connections
    /// would never gather.
    pub(super) fn may_begin(&self) -> bool {
        let places = match self.is_slow() {
            true => self.parallel,
            false => self.parallel.saturating_sub(1).max(1),
        };
        let all = self.all.lock();
        let with_room = |round: &&Arc<ReadySet>| {
            let count = round.state.lock().len();
            count > 0 && count < round.largest
        };
        all.iter().filter(with_room).count() < places
    }

    /// Removes the set of a worker that ends. The set is empty.
    pub(super) fn close(&self, round: &Arc<ReadySet>) {
        self.all.lock().retain(|other| !Arc::ptr_eq(other, round));
    }

    /// Makes a set stealable until its worker is back. Returns whether the caller has to wake the
    /// poller.
    pub(super) fn lay_open(&self, round: &ReadySet) -> bool {
        round.lay_open() && !self.is_watched.swap(true, Ordering::SeqCst)
    }

    pub(super) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::SeqCst)
    }

    /// Checks all sets after a tick. Returns the connections that are taken from their workers.
    /// `calm` counts the ticks without a stealable set.
    pub(super) fn watch(&self, calm: &mut u32) -> Vec<Arc<Connection>> {
        let rounds = self.all.lock().clone();
        let (mut taken, mut slow) = (Vec::new(), None);
        let mut look = || {
            rounds.iter().fold(false, |open, round| {
                let seen = round.watch(&mut taken);
                slow = slow.or_else(|| seen.is_slow.then_some(round));
                seen.lies_open | open
            })
        };
        *calm = if look() { 0 } else { *calm + 1 };
        if *calm > ALERT {
            *calm = 0;
            self.is_watched.store(false, Ordering::SeqCst);
            // A worker that made its set stealable before the store saw the flag set. It did not
            // wake the poller, so check again.
            if look() {
                self.is_watched.store(true, Ordering::SeqCst);
            }
        }
        match slow {
            Some(slow) => {
                self.slow_for.store(ALERT, Ordering::Relaxed);
                let busy = rounds.iter().filter(|round| !round.is_empty());
                if busy.count() < self.parallel {
                    taken.extend(slow.share());
                }
            }
            None => {
                let left = self.slow_for.load(Ordering::Relaxed);
                self.slow_for
                    .store(left.saturating_sub(1), Ordering::Relaxed);
            }
        }
        taken
    }
}
