//! The ready set of a worker: connections that the worker keeps for a moment after their requests.
//!
//! A worker waits for the next request on all connections of its set with one system call. It then
//! serves the ready connections one after the other. Under load, many requests cost only one thread
//! switch.
//!
//! While a worker runs a handler, the poller may take the worker's other connections: the set is
//! *stealable*.
//!
//! - If the handler takes longer than one tick, the poller moves all connections of the set to
//!   other workers.
//! - If the worker has served some requests in a tick, but fewer than [`QUICK`], the poller moves
//!   half of the ready connections. It does so only if several are ready and a CPU is idle.
//!
//! While requests are quick, the workers leave one CPU free, if the machine has more than one. The
//! clients, the poller, and the system's network code use that CPU. Otherwise a worker would share
//! its CPU with them. While such a worker waited for its time slice, all its connections would wait
//! too.
//!
//! **Invariant:** a worker owns each connection in a ready set
//! ([`Owner::Worker`](super::connection)). A connection is removed under the set's lock. The worker
//! removes a connection to serve or release it. The poller removes a connection only while the set
//! is stealable. So no connection is served by two threads.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::sync::Mutex;
use crate::transport::sys::fd::SocketWake;
use crate::transport::sys::tcp;

/// The maximum time that a worker waits for input on its ready set. After that the worker releases
/// the connections to the poller.
pub(super) const LINGER: Duration = Duration::from_millis(5);
/// The maximum size of a ready set. A larger set would make each wait expensive. A connection
/// beyond the maximum goes to the poller.
const LARGEST: usize = 64;
/// The maximum size of a ready set if only one thread runs at a time. On such a machine, each
/// answer wakes a client that preempts the worker. With two workers, only a part of the connections
/// waits for the preempted worker.
const LARGEST_OF_ONE: usize = 32;
/// The period after which connections that sent no input are released to the poller.
const SWEEP: Duration = Duration::from_millis(50);
/// The period of the poller's checks of ready sets. If a worker is busy with one request for one to
/// two periods, the poller takes the other connections of its set.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// The minimum number of requests that a worker serves in a tick while requests count as quick.
const QUICK: u32 = 8;
/// The number of consecutive ticks without a stealable set after which the poller stops its checks.
/// Until then, a worker that makes its set stealable does not have to wake the poller.
const ALERT: u32 = 100;

/// The ready set of a worker.
#[derive(Debug)]
pub(super) struct ReadySet<C> {
    largest: usize,
    state: Mutex<State<C>>,
    /// The wakeup that ends the worker's wait on the set, for example when the worker has a new
    /// job.
    pub(super) wake: Arc<SocketWake>,
}

/// The state of a ready set, guarded by [`ReadySet::state`]. The lock is held briefly only.
#[derive(Debug)]
struct State<C> {
    quiet: Vec<Member<C>>,
    /// The connections that have input, in the order in which they are served.
    ready: VecDeque<Arc<C>>,
    /// Whether the poller may take connections of this set. The worker sets the flag before it
    /// serves a request or waits for the rest of a request, and clears it afterwards. Both threads
    /// hold the lock when they take a connection, so they never take the same one.
    is_stealable: bool,
    /// The number of times that the worker has made this set stealable.
    turn: u32,
    /// The value of the counter `turn` at the poller's last check.
    seen: u32,
    /// The time of the last sweep, which released connections that sent no input.
    swept: Instant,
}

/// A connection in a ready set that has no input.
#[derive(Debug)]
struct Member<C> {
    conn: Arc<C>,
    /// Whether the connection has served a request since the last sweep. If it has not, the next
    /// sweep releases it.
    was_ready: bool,
}

impl<C> State<C> {
    fn len(&self) -> usize {
        self.quiet.len() + self.ready.len()
    }
}

impl<C> ReadySet<C> {
    fn new(largest: usize) -> std::io::Result<Self> {
        Ok(Self {
            largest,
            state: Mutex::new(State {
                quiet: Vec::new(),
                ready: VecDeque::new(),
                is_stealable: false,
                turn: 0,
                seen: 0,
                swept: Instant::now(),
            }),
            wake: Arc::new(SocketWake::new()?),
        })
    }

    /// Adds a connection to the set. Returns false if the set is full.
    pub(super) fn join(&self, conn: &Arc<C>) -> bool {
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

    /// Makes the set no longer stealable, because the worker has finished its request. Returns the
    /// next connection that has input, if there is one.
    pub(super) fn come_back(&self) -> Option<Arc<C>> {
        let mut state = self.state.lock();
        state.is_stealable = false;
        state.ready.pop_front()
    }

    /// Allows the poller to take connections of this set, until the worker calls
    /// [`come_back`](Self::come_back). Returns whether the set has a connection to take.
    fn make_stealable(&self) -> bool {
        let mut state = self.state.lock();
        state.turn = state.turn.wrapping_add(1);
        state.is_stealable = state.len() > 0;
        state.is_stealable
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().len() == 0
    }

    /// Blocks until a connection has input, the wakeup is fired, or [`LINGER`] has passed. `socket`
    /// returns the socket of a connection.
    ///
    /// Returns the connections that the worker has to release to the poller. After an event, these
    /// are the connections that sent no input since the last sweep. If no event came in time, these
    /// are all connections.
    pub(super) fn wait(&self, socket: impl Fn(&C) -> &TcpStream) -> Vec<Arc<C>> {
        let mut state = self.state.lock();
        let conns = state.quiet.iter().map(|member| Arc::clone(&member.conn));
        let conns: Vec<_> = conns.collect();
        drop(state);
        let found = tcp::wait_for_any(
            conns.iter().map(|conn| socket(conn)),
            &self.wake,
            Instant::now() + LINGER,
        );
        drop(conns);
        state = self.state.lock();
        let Ok(Some(found)) = found else {
            return state.quiet.drain(..).map(|member| member.conn).collect();
        };
        // The order is reversed, so that `swap_remove` does not move a connection that is still to
        // be taken.
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

    /// Checks the set for the poller in each tick. If the worker has served the same request for a
    /// whole tick, moves all connections of the set to `taken`.
    fn watch(&self, taken: &mut Vec<Arc<C>>) -> Seen {
        let mut state = self.state.lock();
        let served = state.turn.wrapping_sub(state.seen);
        let is_slow = state.is_stealable && served < QUICK && state.ready.len() > 1;
        if state.is_stealable && served == 0 {
            state.is_stealable = false;
            let ready = std::mem::take(&mut state.ready);
            taken.extend(ready);
            taken.extend(state.quiet.drain(..).map(|member| member.conn));
        }
        state.seen = state.turn;
        Seen {
            is_stealable: state.is_stealable,
            is_slow,
        }
    }

    /// Removes and returns the last half of the ready connections, if the set is still stealable.
    fn share(&self) -> VecDeque<Arc<C>> {
        let mut state = self.state.lock();
        if !state.is_stealable {
            return VecDeque::new();
        }
        let kept = state.ready.len().div_ceil(2);
        state.ready.split_off(kept)
    }
}

/// The result of the poller's check of one ready set.
struct Seen {
    is_stealable: bool,
    /// Whether several connections of the set are ready, but its worker is slow.
    is_slow: bool,
}

/// The ready sets of all workers.
#[derive(Debug)]
pub(super) struct ReadySets<C> {
    /// All ready sets. Lock order: this lock is taken before the lock of any set.
    all: Mutex<Vec<Arc<ReadySet<C>>>>,
    /// The number of threads that can run at the same time.
    parallel: usize,
    /// The number of ticks until requests count as quick again. Only the poller writes the number.
    slow_for: AtomicU32,
    /// Whether the poller checks the ready sets in each tick.
    ///
    /// Invariant: a worker first makes its set stealable and then sets this flag. If the flag was
    /// not set before, the worker wakes the poller. The poller first clears the flag and then
    /// checks all sets once more. So while a set is stealable, the poller checks it, and its
    /// connections never wait for a slow handler.
    is_watched: AtomicBool,
}

impl<C> ReadySets<C> {
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

    /// Whether one more worker may block in a read of a single connection. `alone` is the number of
    /// workers that already do so. While requests are quick, returns false if a ready set of any
    /// worker contains connections, because the connection can join that set.
    pub(super) fn may_be_beside(&self, alone: usize) -> bool {
        let is_busy = |round: &Arc<ReadySet<C>>| !round.is_empty();
        alone < self.parallel && (self.is_slow() || !self.all.lock().iter().any(is_busy))
    }

    /// Creates the ready set of a worker. Returns `None` if the system has no descriptor left.
    pub(super) fn open(&self) -> Option<Arc<ReadySet<C>>> {
        let largest = match self.parallel {
            1 => LARGEST_OF_ONE,
            _ => LARGEST,
        };
        let round = Arc::new(ReadySet::new(largest).ok()?);
        self.all.lock().push(Arc::clone(&round));
        Some(round)
    }

    /// Whether a worker with an empty ready set may add a connection. The number of sets with
    /// connections is limited, because with more sets fewer connections would share one wait.
    pub(super) fn may_begin(&self) -> bool {
        let places = match self.is_slow() {
            true => self.parallel,
            false => self.parallel.saturating_sub(1).max(1),
        };
        let all = self.all.lock();
        let with_room = |round: &&Arc<ReadySet<C>>| {
            let count = round.state.lock().len();
            count > 0 && count < round.largest
        };
        all.iter().filter(with_room).count() < places
    }

    /// Removes the set of a worker that ends. The set must be empty.
    pub(super) fn close(&self, round: &Arc<ReadySet<C>>) {
        self.all.lock().retain(|other| !Arc::ptr_eq(other, round));
    }

    /// Makes a ready set stealable while its worker is busy with a request. The set stays stealable
    /// until the worker calls [`ReadySet::come_back`]. Returns whether the caller has to wake the
    /// poller.
    pub(super) fn make_stealable(&self, round: &ReadySet<C>) -> bool {
        round.make_stealable() && !self.is_watched.swap(true, Ordering::SeqCst)
    }

    pub(super) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::SeqCst)
    }

    /// Checks all sets after a tick. Returns the connections that the poller took from their
    /// workers. `calm` counts the consecutive ticks without a stealable set.
    pub(super) fn watch(&self, calm: &mut u32) -> Vec<Arc<C>> {
        let rounds = self.all.lock().clone();
        let (mut taken, mut slow) = (Vec::new(), None);
        let mut look = || {
            rounds.iter().fold(false, |open, round| {
                let seen = round.watch(&mut taken);
                slow = slow.or_else(|| seen.is_slow.then_some(round));
                seen.is_stealable | open
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
