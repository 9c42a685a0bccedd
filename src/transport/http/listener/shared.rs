//! What the threads of a listener share.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use polling::Poller;

use super::conn::{Conn, Doing, Gone};
use super::crew::Crew;
use super::{HttpLimits, HttpStats, worker};
use crate::sync::Mutex;
use crate::transport::Stack;
use crate::transport::http::Service;

/// The key of the listening socket among those of the connections.
pub(super) const LISTENER: usize = 0;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) service: Arc<dyn Service>,
    pub(super) limits: HttpLimits,
    pub(super) poller: Arc<Poller>,
    pub(super) crew: Crew<Arc<Conn>>,
    /// All connections that are not over. No other lock is taken inside.
    table: Mutex<HashMap<usize, Arc<Conn>>>,
    /// What other threads have for the poller. No other lock is taken inside.
    errands: Mutex<Errands>,
    closing: AtomicBool,
    /// Until when requests in hand may take, once it closes. No other lock is taken inside.
    deadline: Mutex<Option<Instant>>,
    pub(super) accepted: AtomicU64,
    refused: AtomicU64,
    /// The workers. No other lock is taken inside.
    workers: Mutex<Vec<JoinHandle<()>>>,
}

/// What the poller is asked to do.
#[derive(Default)]
pub(super) struct Errands {
    /// Connections to look at.
    pub(super) looks: Vec<usize>,
    /// Whom to tell that their client has gone.
    pub(super) calls: Vec<Gone>,
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
    pub(super) fn new(service: Arc<dyn Service>, limits: HttpLimits, poller: Arc<Poller>) -> Self {
        Self {
            service,
            crew: Crew::new(limits.max_workers, limits.max_waiting),
            limits,
            poller,
            table: Mutex::default(),
            errands: Mutex::default(),
            closing: AtomicBool::new(false),
            deadline: Mutex::default(),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            workers: Mutex::default(),
        }
    }

    /// Starts a worker, which the crew has counted.
    pub(super) fn start_worker(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        // Held while it starts, so that whoever joins them all finds it.
        let mut workers = self.workers.lock();
        let threads = &self.limits.threads;
        match threads.start("http", Stack::Large, move || worker::work(&shared)) {
            Ok(worker) => {
                workers.retain(|worker| !worker.is_finished());
                workers.push(worker);
            }
            Err(_) => {
                drop(workers);
                for conn in self.crew.failed() {
                    conn.turn_away(
                        "no thread can be started to serve the request: try again later",
                    );
                }
            }
        }
    }

    /// Waits for the workers that were told to leave, all but `own`, which is the thread that asks. Those that have not left at the deadline
    /// are left behind.
    pub(super) fn finish_workers(&self, own: usize, deadline: Instant) {
        if !self.crew.wait_for_threads(own, deadline) {
            return;
        }
        let here = thread::current().id();
        let mut workers = self.workers.lock();
        let all = std::mem::take(&mut *workers).into_iter();
        let (mine, others): (Vec<_>, Vec<_>) = all.partition(|worker| worker.thread().id() == here);
        *workers = mine;
        drop(workers);
        for worker in others {
            // The panics of the service were caught; it has nothing else to say.
            _ = worker.join();
        }
    }

    pub(super) fn insert(&self, key: usize, conn: Arc<Conn>) {
        self.table.lock().insert(key, conn);
    }

    pub(super) fn find(&self, key: usize) -> Option<Arc<Conn>> {
        self.table.lock().get(&key).cloned()
    }

    pub(super) fn forget(&self, key: usize) {
        // Dropped by whoever calls, who has it too.
        let _conn = self.table.lock().remove(&key);
    }

    pub(super) fn all(&self) -> Vec<Arc<Conn>> {
        self.table.lock().values().cloned().collect()
    }

    pub(super) fn connections(&self) -> usize {
        self.table.lock().len()
    }

    /// Has the poller look at a connection.
    pub(super) fn attend(&self, key: usize) {
        self.errands.lock().looks.push(key);
        self.wake();
    }

    /// Has the poller tell somebody that the client has gone.
    pub(super) fn tell(&self, gone: Gone) {
        self.errands.lock().calls.push(gone);
        self.wake();
    }

    /// Tells somebody that the client has gone.
    pub(super) fn call(gone: Gone) {
        // It must not take the thread along that happened to notice.
        _ = catch_unwind(AssertUnwindSafe(gone));
    }

    pub(super) fn errands(&self) -> Errands {
        std::mem::take(&mut *self.errands.lock())
    }

    fn wake(&self) {
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

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        *self.deadline.lock()
    }

    pub(super) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> HttpStats {
        let mut stats = HttpStats {
            waiting: self.crew.waiting(),
            workers: self.crew.threads(),
            accepted: self.accepted.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            ..HttpStats::default()
        };
        for conn in self.all() {
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
