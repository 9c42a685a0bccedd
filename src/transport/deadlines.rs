//! The deadline thread of an HTTP client transport or of a connection. The thread ends exchanges
//! and watched calls whose deadline has passed, and exchanges whose stream has stalled.
//!
//! **Threads.** The thread is started when the first exchange has a deadline. [`Deadlines::stop`]
//! ends and joins the thread. The thread sleeps until the earliest deadline. So an exchange that
//! ends in time costs an entry in a table, and no thread switch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::schema::json::millis;
use crate::sync::{Condvar, Mutex};
use crate::transport::exchange_transport::{CancelHandle, NextCheck};
use crate::transport::{Stack, Threads};

/// The handle to the deadline thread.
#[derive(Debug)]
pub(crate) struct Deadlines(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Guards all entries and the time of the thread's next wakeup. The lock is never held while a
    /// cancel handle is called, because the handle may run code that uses this table (deadlock).
    table: Mutex<Table>,
    changed: Condvar,
    started: Instant,
    /// The maximum silence of a stream whose server sends keep-alives. After a longer silence, the
    /// stream has stalled.
    stall_after: Duration,
    threads: Threads,
}

#[derive(Debug, Default)]
struct Table {
    entries: Vec<Option<Arc<Entry>>>,
    free: Vec<usize>,
    /// The time of the thread's next wakeup. `None` while the thread sleeps without limit, or scans
    /// the entries.
    ///
    /// Invariant: the thread sets this to `None` before it copies the entries, and stores the next
    /// deadline after its scan. An exchange that is added meanwhile stores its own deadline, and
    /// the earlier of the two is kept. So no deadline is missed.
    wakes_at: Option<Instant>,
    thread: Option<JoinHandle<()>>,
    stopped: bool,
}

/// An exchange that the deadline thread watches.
#[derive(Debug)]
struct Entry {
    cancel_handle: Arc<CancelHandle>,
    /// Whether [`Deadlines::end_calls`] ends the exchange.
    is_call: bool,
    /// The time when the exchange's stream stalls, in milliseconds since `started`. The value is 0
    /// while no keep-alive has arrived. Setting a later time wakes no thread: the thread wakes at
    /// the earlier time and reads the new value.
    stalls_at: AtomicU64,
    /// Whether the exchange's stream has stalled. The flag is set before the exchange is
    /// interrupted, so that the thread that reads the stream finds the reason.
    has_stalled: AtomicBool,
}

/// The registration of an exchange with the deadline thread. Dropping the registration removes the
/// exchange.
#[derive(Debug)]
pub(crate) struct Watched {
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    at: usize,
}

impl Deadlines {
    pub(crate) fn new(stall_after: Duration, threads: &Threads) -> Self {
        Self(Arc::new(Shared {
            table: Mutex::default(),
            changed: Condvar::new(),
            started: Instant::now(),
            stall_after,
            threads: threads.clone(),
        }))
    }

    /// Registers an exchange with the deadline thread. The thread ends the exchange when its
    /// deadline has passed.
    ///
    /// # Errors
    ///
    /// Fails when the deadline thread can't be started.
    pub(crate) fn add(&self, cancel_handle: &Arc<CancelHandle>, is_call: bool) -> Result<Watched> {
        let entry = Arc::new(Entry {
            cancel_handle: Arc::clone(cancel_handle),
            is_call,
            stalls_at: AtomicU64::new(0),
            has_stalled: AtomicBool::new(false),
        });
        let look = cancel_handle.look(Instant::now());
        let mut table = self.0.table.lock();
        let at = match table.free.pop() {
            Some(at) => at,
            None => {
                table.entries.push(None);
                table.entries.len() - 1
            }
        };
        table.entries[at] = Some(Arc::clone(&entry));
        let stopped = table.stopped;
        drop(table);
        let watched = Watched {
            shared: Arc::clone(&self.0),
            entry,
            at,
        };
        if stopped {
            cancel_handle.end();
        } else if let NextCheck::At(at) = look {
            self.0.wake_at(at)?;
        }
        Ok(watched)
    }

    /// Ends all registered exchanges that are calls.
    pub(crate) fn end_calls(&self) {
        let entries = self.0.table.lock().entries.clone();
        for entry in entries.into_iter().flatten().filter(|entry| entry.is_call) {
            entry.cancel_handle.end();
        }
    }

    /// Ends all exchanges and the deadline thread, and joins the thread. An exchange that is
    /// registered later is ended at once.
    pub(crate) fn stop(&self) {
        let mut table = self.0.table.lock();
        table.stopped = true;
        let (entries, thread) = (table.entries.clone(), table.thread.take());
        drop(table);
        for entry in entries.into_iter().flatten() {
            entry.cancel_handle.end();
        }
        self.0.changed.notify_all();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // The thread runs nothing that panics.
            _ = thread.join();
        }
    }
}

impl Watched {
    /// Records that a keep-alive has arrived on the stream, or any input after the first
    /// keep-alive. From now on the stream stalls if no input arrives for too long. Fails when the
    /// deadline thread can't be started.
    pub(crate) fn is_alive(&self) -> Result<()> {
        let at = self.shared.started.elapsed();
        let millis = millis(at.saturating_add(self.shared.stall_after)).max(1);
        match self.entry.stalls_at.swap(millis, Ordering::AcqRel) {
            0 => self
                .shared
                .wake_at(self.shared.started + Duration::from_millis(millis)),
            _ => Ok(()),
        }
    }

    /// Resets the state for a new stream that replaces an ended stream.
    pub(crate) fn begin_anew(&self) {
        self.entry.stalls_at.store(0, Ordering::Release);
        self.entry.has_stalled.store(false, Ordering::Release);
    }

    /// Whether keep-alives have arrived on the stream.
    pub(crate) fn expects_life(&self) -> bool {
        self.entry.stalls_at.load(Ordering::Acquire) > 0
    }

    /// Whether the exchange was interrupted because its stream had stalled.
    pub(crate) fn has_stalled(&self) -> bool {
        self.entry.has_stalled.load(Ordering::Acquire)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut table = self.shared.table.lock();
        table.entries[self.at] = None;
        table.free.push(self.at);
    }
}

impl Shared {
    /// Makes sure that the deadline thread wakes at the time `at` or earlier.
    fn wake_at(self: &Arc<Self>, at: Instant) -> Result<()> {
        let mut table = self.table.lock();
        if table.stopped || table.wakes_at.is_some_and(|wakes_at| wakes_at <= at) {
            return Ok(());
        }
        table.wakes_at = Some(at);
        if table.thread.is_none() {
            let weak = Arc::downgrade(self);
            let threads = &self.threads;
            table.thread = Some(threads.start("watch", Stack::Small, move || run(&weak))?);
        }
        drop(table);
        self.changed.notify_all();
        Ok(())
    }

    /// Checks the deadline and the stream of an entry. Interrupts the exchange if its stream has
    /// stalled. Returns the time of the next check.
    fn look(&self, entry: &Entry, now: Instant) -> Option<Instant> {
        let stalls_at = match entry.stalls_at.load(Ordering::Acquire) {
            0 => None,
            millis => Some(self.started + Duration::from_millis(millis)),
        };
        if stalls_at.is_some_and(|at| at <= now) && !entry.has_stalled.swap(true, Ordering::AcqRel)
        {
            entry.cancel_handle.pull();
        }
        let stalls_at = stalls_at.filter(|at| *at > now);
        match entry.cancel_handle.look(now) {
            NextCheck::At(at) => Some(stalls_at.map_or(at, |stalls_at| stalls_at.min(at))),
            NextCheck::Never => stalls_at,
            NextCheck::Over => None,
        }
    }
}

fn run(weak: &Weak<Shared>) {
    while let Some(shared) = weak.upgrade() {
        let mut table = shared.table.lock();
        if table.stopped {
            return;
        }
        let now = Instant::now();
        match table.wakes_at {
            wakes_at if wakes_at.is_none_or(|at| at > now) => {
                drop(shared.changed.wait_until(table, wakes_at));
            }
            _ => {
                // An exchange that is added during the scan finds no wakeup, and sets its own.
                table.wakes_at = None;
                let entries = table.entries.clone();
                drop(table);
                let looks = entries
                    .iter()
                    .flatten()
                    .filter_map(|entry| shared.look(entry, now));
                if let Some(next) = looks.min() {
                    let mut table = shared.table.lock();
                    table.wakes_at = Some(table.wakes_at.map_or(next, |at| at.min(next)));
                }
            }
        }
    }
}
