//! The connections that a worker stays with for a moment after their requests, all at once.
//!
//! A worker that has nothing else to do waits for the next request of any of them with one system call, and serves those that have come one
//! after the other: under load, many requests cost one change of threads. While it serves one, the others *lie open*: if it does not come back
//! within a tick, its handler being slow, the poller takes them away, and other workers serve them. Of a worker that comes back but serves few
//! in a tick, it takes half of those that wait, for as long as a processor may be free to serve them.
//!
//! While requests are quick, one processor is left to others, where there is more than one: to who sends them, to the poller, and to what the
//! system does for the network. A worker that has to share its processor waits for a slice of the scheduler's, and all its connections with it.
//!
//! **Invariant:** a connection in a round belongs to a worker ([`Owner::Worker`](super::conn)); it is taken out, under the lock, by that worker
//! to be served or left, or by the poller while the round lies open.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::conn::Conn;
use crate::sync::Mutex;
use crate::transport::sys::fd::Wake;
use crate::transport::sys::tcp;

/// How long a worker waits for its round before it lets go of it.
pub(super) const LINGER: Duration = Duration::from_millis(5);
/// A larger round would make each wait dear.
const LARGEST: usize = 64;
/// The same where only one thread runs at a time: each answer that wakes a client interrupts a worker that has all the work, but not one of two.
const LARGEST_OF_ONE: usize = 32;
/// How often those are let go of that said nothing.
const SWEEP: Duration = Duration::from_millis(50);
/// How soon a round that lies open is taken away: after one to two of these.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// Who serves fewer in a tick has handlers that are not quick.
const QUICK: u32 = 8;
/// So many ticks without any open round, the poller goes on looking: the next one need not wake it.
const ALERT: u32 = 100;

#[derive(Debug)]
pub(super) struct Round {
    largest: usize,
    state: Mutex<State>,
    /// For who has something else to do for the worker that waits.
    pub(super) wake: Wake,
}

#[derive(Debug)]
struct State {
    quiet: Vec<Member>,
    /// Those that have something to be read, to be served in this order.
    ready: VecDeque<Arc<Conn>>,
    /// The worker serves somebody, since it counted this.
    lies_open: bool,
    turn: u32,
    /// What the poller has seen of it.
    seen: u32,
    swept: Instant,
}

#[derive(Debug)]
struct Member {
    conn: Arc<Conn>,
    was_ready: bool,
}

impl State {
    fn len(&self) -> usize {
        self.quiet.len() + self.ready.len()
    }
}

impl Round {
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

    /// Takes a connection in, unless there are many already.
    pub(super) fn join(&self, conn: &Arc<Conn>) -> bool {
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

    /// The worker is back: nobody takes anything away. Gives the next one that has something to be read.
    pub(super) fn come_back(&self) -> Option<Arc<Conn>> {
        let mut state = self.state.lock();
        state.lies_open = false;
        state.ready.pop_front()
    }

    /// The worker serves somebody. Returns whether others lie open meanwhile.
    fn lay_open(&self) -> bool {
        let mut state = self.state.lock();
        state.turn = state.turn.wrapping_add(1);
        state.lies_open = state.len() > 0;
        state.lies_open
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().len() == 0
    }

    /// Waits until one of them has something to be read, or the wake is fired. Gives those to let go of: that said nothing for long, or all
    /// when none said anything in time.
    pub(super) fn wait(&self) -> Vec<Arc<Conn>> {
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
        // From behind, so that what is still to be taken keeps its place.
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

    /// What lay open for a whole tick is taken away, and half of those who wait for a worker that is slow.
    fn watch(&self, taken: &mut Vec<Arc<Conn>>) -> Seen {
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

    /// Gives half of those that wait to be served, the last ones, if it still lies open.
    fn share(&self) -> VecDeque<Arc<Conn>> {
        let mut state = self.state.lock();
        if !state.lies_open {
            return VecDeque::new();
        }
        let kept = state.ready.len().div_ceil(2);
        state.ready.split_off(kept)
    }
}

/// What the poller saw of a round.
struct Seen {
    lies_open: bool,
    /// Some wait for its worker, which is not quick.
    is_slow: bool,
}

/// The rounds of all workers.
#[derive(Debug)]
pub(super) struct Rounds {
    /// Locked before any of them.
    all: Mutex<Vec<Arc<Round>>>,
    /// How many threads run at the same time.
    parallel: usize,
    /// In so many ticks requests count as quick again, unless they are slow meanwhile. Written by the poller.
    slow_for: AtomicU32,
    /// The poller looks after them in each tick. Set before a worker serves, cleared before a last look.
    is_watched: AtomicBool,
}

impl Rounds {
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

    /// Whether a worker may wait for one connection alone beside so many that do: not while another one stays with many, who can take it
    /// along.
    pub(super) fn may_be_beside(&self, alone: usize) -> bool {
        let is_busy = |round: &Arc<Round>| !round.is_empty();
        alone < self.parallel && (self.is_slow() || !self.all.lock().iter().any(is_busy))
    }

    /// The round of a new worker; `None` when the system has no descriptor to spare.
    pub(super) fn open(&self) -> Option<Arc<Round>> {
        let largest = match self.parallel {
            1 => LARGEST_OF_ONE,
            _ => LARGEST,
        };
        let round = Arc::new(Round::new(largest).ok()?);
        self.all.lock().push(Arc::clone(&round));
        Some(round)
    }

    /// Whether a worker that stays with no connection may begin to: with more rounds connections would never come together.
    pub(super) fn may_begin(&self) -> bool {
        let places = match self.is_slow() {
            true => self.parallel,
            false => self.parallel.saturating_sub(1).max(1),
        };
        let all = self.all.lock();
        let with_room = |round: &&Arc<Round>| {
            let count = round.state.lock().len();
            count > 0 && count < round.largest
        };
        all.iter().filter(with_room).count() < places
    }

    /// The worker leaves. Its round is empty.
    pub(super) fn close(&self, round: &Arc<Round>) {
        self.all.lock().retain(|other| !Arc::ptr_eq(other, round));
    }

    /// The worker serves somebody. Returns whether the poller has to be woken.
    pub(super) fn lay_open(&self, round: &Round) -> bool {
        round.lay_open() && !self.is_watched.swap(true, Ordering::SeqCst)
    }

    pub(super) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::SeqCst)
    }

    /// A tick has passed: gives what is taken away. `calm` counts the ticks in which nothing lay open.
    pub(super) fn watch(&self, calm: &mut u32) -> Vec<Arc<Conn>> {
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
            // One that was laid open before that woke nobody.
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
