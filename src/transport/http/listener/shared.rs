//! What the threads of a listener share.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use polling::Poller;

use super::conn::{Callback, Conn, Doing};
use super::crew::{Crew, Hands, Sizes};
use super::intake::{Unfinished, unfinished};
use super::round::Rounds;
use super::table::Table;
use super::{HttpLimits, HttpStats, worker};
use crate::sync::{Condvar, Mutex};
use crate::transport::http::forwarded::client_address;
use crate::transport::http::{ClientKey, HttpRequest, Service};
use crate::transport::{Stack, Started};

/// The key of the listening socket among those of the connections.
pub(super) const LISTENER: usize = 0;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) service: Arc<dyn Service>,
    pub(super) limits: HttpLimits,
    /// The listener's address.
    pub(super) local: SocketAddr,
    pub(super) poller: Arc<Poller>,
    pub(super) crew: Crew<Arc<Conn>>,
    pub(super) workers: Started,
    pub(super) rounds: Rounds,
    /// How many workers wait for one connection alone, in its read. It costs least, but they can't be woken for anything else.
    alone: AtomicUsize,
    pub(super) unfinished: Arc<Unfinished>,
    /// How many bytes are in the outboxes of all connections. A connection counts its own there before its lock is given back.
    pub(super) unsent: AtomicUsize,
    /// All connections that are not over.
    pub(super) table: Table,
    /// What other threads have for the poller. No other lock is taken inside.
    errands: Mutex<Errands>,
    closing: AtomicBool,
    /// Until when requests in hand may take, once it closes. No other lock is taken inside.
    deadline: Mutex<Option<Instant>>,
    /// Whether the poller has ended. No other lock is taken inside.
    ended: Mutex<bool>,
    has_ended: Condvar,
    pub(super) accepted: AtomicU64,
    refused: AtomicU64,
    pub(super) displaced_connections: AtomicU64,
    displaced_requests: AtomicU64,
}

/// What the poller is asked to do.
#[derive(Default)]
pub(super) struct Errands {
    /// Connections to look at.
    pub(super) looks: Vec<usize>,
    /// What the service wants to have run.
    pub(super) calls: Vec<Callback>,
}

impl std::fmt::Debug for Errands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Errands")
            .field("looks", &self.looks.len())
            .field("calls", &self.calls.len())
            .finish()
    }
}

impl Shared {
    pub(super) fn new(
        service: Arc<dyn Service>,
        limits: HttpLimits,
        local: SocketAddr,
        poller: Arc<Poller>,
    ) -> Self {
        let reserve = match limits.reserve_percent {
            0 => 0,
            _ => limits.reserve_of(limits.max_workers).max(2),
        };
        let sizes = Sizes {
            max_workers: limits.max_workers,
            reserve,
            part: limits.part_of(limits.max_workers),
            max_waiting: limits.max_waiting,
        };
        let max = limits.max_connections;
        Self {
            service,
            local,
            crew: Crew::new(sizes),
            workers: Started::default(),
            rounds: Rounds::new(thread::available_parallelism().map_or(1, usize::from)),
            alone: AtomicUsize::new(0),
            unfinished: Arc::new(unfinished(&limits)),
            unsent: AtomicUsize::new(0),
            poller,
            table: Table::new(max, limits.part_of(max), limits.reserve_of(max)),
            limits,
            errands: Mutex::default(),
            closing: AtomicBool::new(false),
            deadline: Mutex::default(),
            ended: Mutex::new(false),
            has_ended: Condvar::new(),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            displaced_connections: AtomicU64::new(0),
            displaced_requests: AtomicU64::new(0),
        }
    }

    /// Starts the worker that the crew has called, if it has.
    pub(super) fn start(self: &Arc<Self>, hands: Hands) {
        if hands == Hands::Enough {
            return;
        }
        let shared = Arc::clone(self);
        let work = move || worker::work(&shared);
        let threads = &self.limits.threads;
        if self
            .workers
            .start(threads, "http", Stack::Large, work)
            .is_ok()
        {
            return;
        }
        for conn in self.crew.failed() {
            conn.turn_away("no thread can be started to serve the request: try again later");
        }
    }

    /// Whether one more worker may wait for one connection alone. To be ended with [`no_longer_alone`](Self::no_longer_alone).
    pub(super) fn may_be_alone(&self) -> bool {
        let alone = self.alone.fetch_add(1, Ordering::Relaxed);
        let may = self.rounds.may_be_beside(alone);
        if !may {
            self.no_longer_alone();
        }
        may
    }

    /// Whether that is likely.
    pub(super) fn has_place_alone(&self) -> bool {
        self.rounds
            .may_be_beside(self.alone.load(Ordering::Relaxed))
    }

    pub(super) fn no_longer_alone(&self) {
        self.alone.fetch_sub(1, Ordering::Relaxed);
    }

    /// Which client sends a request.
    pub(super) fn client(&self, request: &HttpRequest<'_>) -> ClientKey {
        let proxies = &self.limits.trusted_proxies;
        let address = request
            .remote
            .map(|remote| client_address(request, remote.ip(), proxies));
        let address = ClientKey::address(address);
        let told = || self.service.client(request, address.clone());
        catch_unwind(AssertUnwindSafe(told)).unwrap_or_else(|_| address.clone())
    }

    /// Has a request wait for a permit.
    pub(super) fn wait(&self, conn: Arc<Conn>, key: ClientKey) -> Result<Hands, Arc<Conn>> {
        let (hands, displaced) = self.crew.wait(conn, key)?;
        if let Some(displaced) = displaced {
            self.displaced_requests.fetch_add(1, Ordering::Relaxed);
            displaced.turn_away(
                "too many requests wait (max_waiting), and most of this client's: try again later",
            );
        }
        Ok(hands)
    }

    /// Has the poller look at a connection.
    pub(super) fn attend(&self, key: usize) {
        self.errands.lock().looks.push(key);
        self.wake();
    }

    /// Has the poller run what the service wants to have run.
    pub(super) fn tell(&self, callback: Callback) {
        self.errands.lock().calls.push(callback);
        self.wake();
    }

    /// Runs what the service wants to have run.
    pub(super) fn call(callback: Callback) {
        // It must not take the thread along that happened to notice.
        _ = catch_unwind(AssertUnwindSafe(callback));
    }

    pub(super) fn errands(&self) -> Errands {
        std::mem::take(&mut *self.errands.lock())
    }

    pub(super) fn wake(&self) {
        // It can't fail while the poller exists.
        _ = self.poller.notify();
    }

    /// Begins to close. Of several deadlines the first counts.
    pub(super) fn close_until(&self, deadline: Instant) {
        let mut until = self.deadline.lock();
        *until = Some(until.map_or(deadline, |until| until.min(deadline)));
        drop(until);
        self.closing.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn has_too_much(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) > self.limits.max_unsent_bytes
    }

    /// Breaks connections off while too much waits for all of them. No connection's lock is held. It looks at all of them only when the bound
    /// is exceeded, and makes more room than that takes, so that it is not each response that looks.
    pub(super) fn tidy(self: &Arc<Self>) {
        if !self.has_too_much() {
            return;
        }
        let now = Instant::now();
        let mut burdens: Vec<_> = self
            .table
            .all()
            .into_iter()
            .map(|conn| (conn.burden(now), conn))
            .filter(|(burden, _)| *burden > 0)
            .collect();
        burdens.sort_unstable_by_key(|(burden, _)| Reverse(*burden));
        let enough = self.limits.max_unsent_bytes / 8 * 7;
        for (_, conn) in burdens {
            if self.unsent.load(Ordering::Relaxed) <= enough {
                break;
            }
            conn.give_up().settle(self);
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// The poller has ended.
    pub(super) fn end(&self) {
        *self.ended.lock() = true;
        self.has_ended.notify_all();
    }

    /// Waits for the poller's end, at most until then.
    pub(super) fn wait_for_end(&self, until: Instant) {
        let mut ended = self.ended.lock();
        while !*ended && Instant::now() < until {
            ended = self.has_ended.wait_until(ended, Some(until));
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        *self.deadline.lock()
    }

    pub(super) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> HttpStats {
        let mut stats = HttpStats {
            unsent: self.unsent.load(Ordering::Relaxed),
            waiting: self.crew.waiting(),
            workers: self.crew.threads(),
            accepted: self.accepted.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            displaced_connections: self.displaced_connections.load(Ordering::Relaxed),
            displaced_requests: self.displaced_requests.load(Ordering::Relaxed),
            ..HttpStats::default()
        };
        for conn in self.table.all() {
            stats.connections += 1;
            match conn.doing() {
                Doing::Nothing => stats.idle += 1,
                Doing::Request => stats.in_hand += 1,
                Doing::Stream => {
                    stats.in_hand += 1;
                    stats.streams += 1;
                }
                Doing::Parting => {}
            }
        }
        stats
    }
}
