//! The state that the poller and the workers of a listener share.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::HttpLimits;
use super::ready_set::ReadySets;
use super::request_parser::{Unfinished, unfinished};
use super::table::Table;
use super::workers::{Sizes, Workers};
use crate::sync::{Condvar, Mutex};
use crate::transport::Started;
use crate::transport::http::forwarded::client_address;
use crate::transport::http::{ClientKey, HttpRequest, Service};
use crate::transport::sys::poller::Poller;

/// The poller key of the listening socket. The keys of client connections are higher.
pub(super) const LISTENER: usize = 0;

/// The shared state of a listener. `C` is the type of its connections, which use this state.
#[derive(Debug)]
pub(super) struct Shared<C> {
    pub(super) service: Arc<dyn Service>,
    pub(super) limits: HttpLimits,
    /// The address of the listening socket.
    pub(super) local: Option<SocketAddr>,
    pub(super) poller: Arc<Poller>,
    /// The worker pool.
    pub(super) workers: Workers<Arc<C>>,
    pub(super) worker_threads: Started,
    pub(super) rounds: ReadySets<C>,
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
    pub(super) table: Table<C>,
    /// The work that other threads have queued for the poller.
    ///
    /// Invariant: a thread adds work first and wakes the poller after that. The poller takes all
    /// work after each wait. So added work never waits while the poller sleeps (no lost wakeup).
    /// While this lock is held, no other lock is taken.
    errands: Mutex<Errands>,
    /// Whether connections may serve a further request. Set to false some time before the listener
    /// closes. Then each response has `Connection: close`. It orders no other memory accesses.
    pub(super) keeps_alive: AtomicBool,
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
    pub(super) refused: AtomicU64,
    pub(super) displaced_connections: AtomicU64,
    pub(super) displaced_requests: AtomicU64,
}

/// A callback that the service has registered on a response.
pub(super) type Callback = Box<dyn FnOnce() + Send>;

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

impl<C> Shared<C> {
    pub(super) fn new(
        service: Arc<dyn Service>,
        limits: HttpLimits,
        local: Option<SocketAddr>,
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
            keeps_alive: AtomicBool::new(true),
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
}

/// Runs a callback of the service on the current thread. A panic of the callback is caught.
pub(super) fn call(callback: Callback) {
    // A panic in the callback must not end the thread that runs it.
    _ = catch_unwind(AssertUnwindSafe(callback));
}
