//! The state that the poller and the workers of a listener share.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use polling::Poller;

use super::connection::{Callback, Connection, Doing};
use super::ready_set::ReadySets;
use super::request_parser::{Unfinished, unfinished};
use super::table::Table;
use super::workers::{Sizes, Spawn, Workers};
use super::{HttpLimits, HttpStats, worker};
use crate::shares::Shares;
use crate::sync::{Condvar, Mutex};
use crate::transport::http::forwarded::client_address;
use crate::transport::http::{ClientKey, HttpRequest, Service};
use crate::transport::{Stack, Started};

/// The poller key of the listening socket. The keys of client connections are higher.
pub(super) const LISTENER: usize = 0;

/// The shared state of a listener.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) service: Arc<dyn Service>,
    pub(super) limits: HttpLimits,
    /// The address of the listening socket.
    pub(super) local: SocketAddr,
    pub(super) poller: Arc<Poller>,
    /// The worker pool.
    pub(super) workers: Workers<Arc<Connection>>,
    pub(super) worker_threads: Started,
    pub(super) rounds: ReadySets,
    /// The number of workers that block in a read of a single connection. Such a read costs least,
    /// but the worker can't be woken for other work. A worker first increments the number and then
    /// checks whether blocking is allowed. It decrements the number when blocking is not allowed,
    /// or after the read.
    alone: AtomicUsize,
    pub(super) unfinished: Arc<Unfinished>,
    /// The number of bytes in the outboxes of all connections. Each connection updates its part of
    /// the number before it releases its own lock.
    pub(super) unsent: AtomicUsize,
    /// All connections that are not closed.
    pub(super) table: Table,
    /// The work that other threads have queued for the poller.
    ///
    /// Invariant: a thread adds work first and wakes the poller after that. The poller takes all
    /// work after each wait. So added work never waits while the poller sleeps (no lost wakeup).
    /// While this lock is held, no other lock is taken.
    errands: Mutex<Errands>,
    /// Whether the listener is closing. `deadline` is set before the flag, so a thread that reads
    /// `true` finds a deadline in that field.
    closing: AtomicBool,
    /// The end of the drain time, once the listener is closing. While this lock is held, no other
    /// lock is taken.
    deadline: Mutex<Option<Instant>>,
    /// Whether the poller has ended. The value is set under the lock before `has_ended` is
    /// notified, and a waiter checks the value under the lock. So no wakeup is lost. While this
    /// lock is held, no other lock is taken.
    ended: Mutex<bool>,
    has_ended: Condvar,
    /// The number of connections that were accepted so far. The fields `accepted`, `refused` and
    /// `displaced_…` are independent statistics, which order no other memory accesses.
    pub(super) accepted: AtomicU64,
    refused: AtomicU64,
    pub(super) displaced_connections: AtomicU64,
    displaced_requests: AtomicU64,
}

/// The work that other threads have queued for the poller.
#[derive(Default)]
pub(super) struct Errands {
    /// The keys of the connections to check.
    pub(super) looks: Vec<usize>,
    /// The callbacks of the service that the poller has to run.
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
            workers: Workers::new(sizes),
            worker_threads: Started::default(),
            rounds: ReadySets::new(thread::available_parallelism().map_or(1, usize::from)),
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

    /// Starts a worker thread if `spawn` requests it. If no thread can be started and no worker is
    /// left, answers the queued requests with 503.
    pub(super) fn start(self: &Arc<Self>, spawn: Spawn) {
        if spawn == Spawn::No {
            return;
        }
        let shared = Arc::clone(self);
        let work = move || worker::work(&shared);
        let threads = &self.limits.threads;
        if self
            .worker_threads
            .start(threads, "http", Stack::Large, work)
            .is_ok()
        {
            return;
        }
        for conn in self.workers.failed() {
            conn.turn_away("no thread can be started to serve the request: try again later");
        }
    }

    /// Tries to reserve the right to block in a read of a single connection. Returns true if the
    /// caller has got the right. The caller must then release the right with
    /// [`no_longer_alone`](Self::no_longer_alone).
    pub(super) fn may_be_alone(&self) -> bool {
        let alone = self.alone.fetch_add(1, Ordering::Relaxed);
        let may = self.rounds.may_be_beside(alone);
        if !may {
            self.no_longer_alone();
        }
        may
    }

    /// Whether [`may_be_alone`](Self::may_be_alone) would probably return true. Reserves nothing.
    pub(super) fn has_place_alone(&self) -> bool {
        self.rounds
            .may_be_beside(self.alone.load(Ordering::Relaxed))
    }

    pub(super) fn no_longer_alone(&self) {
        self.alone.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the client that a request is accounted to. The service chooses the client. Its
    /// default is the client at the address of the request.
    pub(super) fn client(&self, request: &HttpRequest<'_>) -> ClientKey {
        let proxies = &self.limits.trusted_proxies;
        let address = request
            .remote
            .map(|remote| client_address(request, remote.ip(), proxies));
        let address = ClientKey::address(address);
        let told = || self.service.client(request, address.clone());
        catch_unwind(AssertUnwindSafe(told)).unwrap_or_else(|_| address.clone())
    }

    /// Queues a request until its client can have a permit. If another request is displaced for it,
    /// answers that request with 503. If the queue is full and no request can be displaced, returns
    /// the connection as the error.
    pub(super) fn wait(
        &self,
        conn: Arc<Connection>,
        key: ClientKey,
    ) -> Result<Spawn, Arc<Connection>> {
        let (spawn, displaced) = self.workers.wait(conn, key)?;
        if let Some(displaced) = displaced {
            self.displaced_requests.fetch_add(1, Ordering::Relaxed);
            displaced.turn_away(
                "too many requests wait (max_waiting), and most of this client's: try again later",
            );
        }
        Ok(spawn)
    }

    /// Asks the poller to check a connection soon.
    pub(super) fn attend(&self, key: usize) {
        // The work is added before the wakeup, because the poller takes the work after its wait.
        self.errands.lock().looks.push(key);
        self.wake();
    }

    /// Passes a callback of the service to the poller, which runs it on its own thread.
    pub(super) fn tell(&self, callback: Callback) {
        self.errands.lock().calls.push(callback);
        self.wake();
    }

    /// Runs a callback of the service on the current thread. A panic of the callback is caught.
    pub(super) fn call(callback: Callback) {
        // A panic in the callback must not end the thread that runs it.
        _ = catch_unwind(AssertUnwindSafe(callback));
    }

    pub(super) fn errands(&self) -> Errands {
        std::mem::take(&mut *self.errands.lock())
    }

    pub(super) fn wake(&self) {
        // The notification can't fail while the poller exists.
        _ = self.poller.notify();
    }

    /// Begins to close the listener. Requests in flight may take until `deadline`. If the method is
    /// called several times, the earliest deadline applies.
    pub(super) fn close_until(&self, deadline: Instant) {
        let mut until = self.deadline.lock();
        *until = Some(until.map_or(deadline, |until| until.min(deadline)));
        drop(until);
        // The flag is set after the deadline: a thread that sees the flag reads the deadline.
        self.closing.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn has_too_much(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) > self.limits.max_unsent_bytes
    }

    /// Resets connections if too many bytes wait in all outboxes together. The client whose
    /// connections have the highest total cost (`Connection::burden`) loses connections first, the
    /// connection with the highest cost first. So a client with very many slow connections
    /// displaces its own connections before a slow connection of another client.
    ///
    /// The caller must not hold a connection's lock, because this method takes the lock of each
    /// connection in turn. It scans the connections only when the limit is exceeded. It then frees
    /// an eighth of the limit, so that not every response causes a scan.
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
        let mut clients = Shares::new(usize::MAX, usize::MAX, 0);
        let all: Vec<u128> = burdens.iter().map(|(burden, _)| *burden).collect();
        let scale = scale_of(&all);
        for (order, (burden, conn)) in (0..).zip(burdens) {
            let client = conn.client();
            let burden = usize::try_from(burden / scale).unwrap_or(usize::MAX);
            clients.take(&client, burden);
            clients.set_idle(&client, 0, order, (order, burden, conn));
        }
        let enough = self.limits.max_unsent_bytes / 8 * 7;
        while self.unsent.load(Ordering::Relaxed) > enough
            && let Some((order, burden, conn)) = clients.first_to_give_way()
        {
            clients.set_busy(&conn.client(), 0, order);
            clients.give_back(&conn.client(), burden);
            conn.give_up().settle(self);
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Marks the poller as ended and wakes all threads that wait for its end.
    pub(super) fn end(&self) {
        *self.ended.lock() = true;
        self.has_ended.notify_all();
    }

    /// Blocks until the poller has ended, or until the time `until`.
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
            waiting: self.workers.waiting(),
            workers: self.workers.threads(),
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

/// Returns the number by which all costs are divided, so that their sum fits into a `usize`. A
/// small cost may become zero.
fn scale_of(costs: &[u128]) -> u128 {
    let sum = costs
        .iter()
        .fold(0, |sum: u128, cost| sum.saturating_add(*cost));
    sum / usize::MAX as u128 + 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // On a system of 32 bits, costs of some megabytes that waited some seconds are large.
    #[test]
    fn large_costs_keep_their_proportions() {
        let largest = usize::MAX as u128;
        assert_eq!(scale_of(&[1000, 20]), 1);
        let costs = [largest * 30, largest * 10, largest];
        let scale = scale_of(&costs);
        let scaled = costs.map(|cost| cost / scale);
        assert!(scaled.iter().sum::<u128>() <= largest);
        assert_eq!(scaled[0] / scaled[1], 3);
        assert!(scaled[2] > 0);
    }
}
