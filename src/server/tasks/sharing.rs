//! Sharing: the processes of a server know each other's tasks by records in a common store.
//!
//! A task runs in the process that created it. This process writes the record of the task at each
//! change. Another process that gets a request about the task reads the record, and answers from
//! it. To cancel the task or to answer its input requests, the other process changes the record.
//!
//! ```text
//!  process of the task                 store                         another process
//!  change ──▶ write_record ──────────▶ record ──▶ TaskRecord ──────▶ tasks/get
//!  Task::check ◀────── event, tick ─── record ◀── answers, cancel ── tasks/update, tasks/cancel
//! ```
//!
//! **Versions:** each write is a "compare and set", so no change of another process is overwritten.
//! The first process that writes the end of a task decides how the task ended. The process of the
//! task therefore writes the end before any client sees it.
//!
//! **Lease:** each process renews a record that ends after the lease. A task whose process has no
//! such record any more has failed. The process that notices it first writes so.
//!
//! **Threads.** One thread, `sharing`, renews the lease, and reads the records of the process's
//! working tasks and of tasks that its clients follow. It reads them when another process tells of
//! a change on the event bus, and every third of the lease.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::super::event_bus::Change;
use super::super::subscriptions::{Followed, Subscriptions};
use super::followed::FollowedTask;
use super::record::TaskRecord;
use super::records::{Records, Versioned};
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::skills::Digest;
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::random;
use crate::transport::{Stack, Started, Threads};

/// How often a change is tried again when other processes change the same record.
pub(super) const ATTEMPTS: u32 = 16;

/// A task of this process, whose record other processes may change.
pub(super) trait WatchedRecord: Send + Sync {
    /// Reads the record, and takes what other processes have written. Returns whether the task goes
    /// on.
    fn check(&self) -> bool;
}

/// The connection of a server to the tasks of its other processes.
pub(in crate::server) struct Sharing {
    pub(super) records: Records,
    lease: Duration,
    /// The key of the lease of this process.
    pub(super) process: String,
    renewed: Mutex<Renewed>,
    watched: Mutex<Watched>,
    /// Notified when a record is due, and when the server ends.
    woken: Condvar,
    thread: Started,
    threads: Threads,
    subscriptions: Arc<Subscriptions>,
}

#[derive(Default)]
struct Renewed {
    /// The version of the lease.
    version: u64,
    at: Option<Instant>,
}

/// The tasks whose records the thread reads, by the keys of the records.
#[derive(Default)]
struct Watched {
    tasks: HashMap<String, WatchedTask>,
    /// The keys of the records that have changed.
    due: BTreeSet<String>,
    has_thread: bool,
    is_closed: bool,
}

#[derive(Clone)]
enum WatchedTask {
    Own(Weak<dyn WatchedRecord>),
    Followed(Arc<FollowedTask>),
}

impl Sharing {
    pub(super) fn new(
        records: Records,
        lease: Duration,
        subscriptions: Arc<Subscriptions>,
        threads: Threads,
    ) -> Result<Self> {
        let mut id = [0; 32];
        random::fill(&mut id)?;
        Ok(Self {
            records,
            lease,
            process: format!("process.{}", URL_SAFE_NO_PAD.encode(id)),
            renewed: Mutex::default(),
            watched: Mutex::default(),
            woken: Condvar::new(),
            thread: Started::default(),
            threads,
            subscriptions,
        })
    }

    /// Changes the record of a task, unless `edit` returns false. Returns the record, or `None` if
    /// there is no such record.
    pub(super) fn change(
        &self,
        key: &str,
        mut edit: impl FnMut(&mut TaskRecord) -> Result<bool, RpcError>,
    ) -> Result<Option<Versioned<TaskRecord>>, RpcError> {
        for _ in 0..ATTEMPTS {
            let Some((version, mut record)) = self.records.read_task(key).map_err(|_| busy())?
            else {
                return Ok(None);
            };
            let is_gone = !record.is_over() && self.is_gone(&record.process)?;
            if is_gone {
                let text = "the process that ran the task has ended";
                record.end(Some(RpcError::internal(text)));
            }
            if !edit(&mut record)? && !is_gone {
                return Ok(Some((version, record)));
            }
            // The process of the task writes the exact rest of the lifetime. Other processes write
            // the whole lifetime, since their clocks may differ.
            let lifetime = Duration::from_millis(record.task.ttl_ms.unwrap_or(u64::MAX));
            let written = self.records.write_task(key, version + 1, &record, lifetime);
            if written.map_err(|_| busy())? {
                self.announce(key);
                // Clients of this process may follow the task.
                self.deliver(Some(key));
                return Ok(Some((version + 1, record)));
            }
        }
        Err(busy())
    }

    /// Whether the process with this lease has ended.
    fn is_gone(&self, process: &str) -> Result<bool, RpcError> {
        if process == self.process {
            return Ok(false);
        }
        let lease = self.records.read(process);
        Ok(lease.map_err(|_| busy())?.is_none())
    }

    /// Tells the other processes that a record has changed.
    pub(super) fn announce(&self, key: &str) {
        self.subscriptions.tell_others(&Change::Task(key.into()));
    }

    /// Watches a new task of this process. From now on the process has a lease.
    pub(super) fn watch_own(
        self: &Arc<Self>,
        key: &str,
        task: Weak<dyn WatchedRecord>,
    ) -> Result<()> {
        let is_due = {
            let renewed = self.renewed.lock();
            renewed.at.is_none_or(|at| at.elapsed() > self.period())
        };
        if is_due {
            self.renew()?;
        }
        self.watch(key, |_| WatchedTask::Own(task))
    }

    /// Watches a task of another process, which clients follow.
    pub(super) fn watch_followed(
        self: &Arc<Self>,
        key: &str,
        id: &str,
        read: Versioned<TaskRecord>,
    ) -> Result<Arc<FollowedTask>> {
        let mut followed = None;
        self.watch(key, |before| {
            let task = match before {
                Some(WatchedTask::Followed(task)) => Arc::clone(task),
                _ => Arc::new(FollowedTask::new(id)),
            };
            followed = Some(Arc::clone(&task));
            WatchedTask::Followed(task)
        })?;
        let task = followed.ok_or_else(|| Error::new(ErrorKind::State, "no task is watched"))?;
        task.follow();
        task.take(read);
        Ok(task)
    }

    fn watch(
        self: &Arc<Self>,
        key: &str,
        with: impl FnOnce(Option<&WatchedTask>) -> WatchedTask,
    ) -> Result<()> {
        let mut watched = self.watched.lock();
        if !watched.has_thread {
            // The thread owns the object. It ends when the server is dropped.
            let this = Arc::clone(self);
            let serve = move || this.serve();
            self.thread
                .start(&self.threads, "sharing", Stack::Large, serve)?;
            watched.has_thread = true;
        }
        let task = with(watched.tasks.get(key));
        let replaced = watched.tasks.insert(key.to_owned(), task);
        drop(watched);
        drop(replaced);
        Ok(())
    }

    pub(super) fn unwatch(&self, key: &str) {
        let removed = self.watched.lock().tasks.remove(key);
        drop(removed);
    }

    /// Takes an event of another process: a record has changed. `None` means that any record may
    /// have changed.
    pub(super) fn deliver(&self, key: Option<&str>) {
        let mut watched = self.watched.lock();
        match key {
            Some(key) if watched.tasks.contains_key(key) => _ = watched.due.insert(key.to_owned()),
            Some(_) => return,
            None => watched.due = watched.tasks.keys().cloned().collect(),
        }
        drop(watched);
        self.woken.notify_all();
    }

    fn period(&self) -> Duration {
        self.lease / 3
    }

    /// Renews the lease of this process.
    fn renew(&self) -> Result<()> {
        let mut renewed = self.renewed.lock();
        for _ in 0..ATTEMPTS {
            let at = Instant::now();
            if self
                .records
                .write(&self.process, renewed.version + 1, b"", self.lease)?
            {
                renewed.version += 1;
                renewed.at = Some(at);
                return Ok(());
            }
            // The lease had ended, or the answer of an earlier write was lost.
            let stored = self.records.read(&self.process)?;
            renewed.version = stored.map_or(0, |(version, _)| version);
        }
        Err(Error::new(ErrorKind::State, "the lease can't be renewed"))
    }

    fn serve(&self) {
        let mut next = Instant::now() + self.period();
        while let Some(due) = self.wait(next) {
            if Instant::now() >= next {
                // A failure was logged. The next attempt follows in a third of the lease.
                _ = self.renew();
                next = Instant::now() + self.period();
                self.deliver(None);
            }
            due.iter().for_each(|key| self.check(key));
        }
    }

    /// Waits until a record is due, but at most until `until`. Returns `None` when the server ends.
    fn wait(&self, until: Instant) -> Option<BTreeSet<String>> {
        let mut watched = self.watched.lock();
        while !watched.is_closed && watched.due.is_empty() && Instant::now() < until {
            watched = self.woken.wait_until(watched, Some(until));
        }
        (!watched.is_closed).then(|| std::mem::take(&mut watched.due))
    }

    /// Reads the record of a watched task.
    fn check(&self, key: &str) {
        let watched = self.watched.lock().tasks.get(key).cloned();
        let goes_on = match watched {
            None => return,
            Some(WatchedTask::Own(task)) => task.upgrade().is_some_and(|task| task.check()),
            Some(WatchedTask::Followed(task)) => self.refresh(key, &task),
        };
        if !goes_on {
            self.unwatch(key);
        }
    }

    /// Notifies the followers of a task of another process if the task has changed. Returns whether
    /// the task can still change and has followers.
    fn refresh(&self, key: &str, task: &Arc<FollowedTask>) -> bool {
        let goes_on = match self.change(key, |_| Ok(false)) {
            // The store can't be reached at the moment.
            Err(_) => true,
            Ok(None) => false,
            Ok(Some(read)) => {
                let is_over = read.1.is_over();
                if task.take(read) {
                    self.subscriptions.task_changed(Arc::clone(task) as _);
                }
                !is_over
            }
        };
        // A stream that is being opened has no topic yet.
        goes_on && (self.subscriptions.follows_task(task.id()) || task.is_recent(self.lease))
    }

    /// Ends the thread and the lease. The tasks of this process have ended.
    pub(super) fn close(&self) {
        let mut watched = self.watched.lock();
        watched.is_closed = true;
        let has_thread = watched.has_thread;
        drop(watched);
        self.woken.notify_all();
        self.thread.join();
        if has_thread {
            self.records.remove(&self.process);
        }
    }
}

/// Returns the key of the record of a task. The store does not learn the id, which gives access to
/// the task.
pub(super) fn key_of(id: &str) -> String {
    let digest = Digest::of(id.as_bytes());
    format!("task.{}", URL_SAFE_NO_PAD.encode(digest.as_bytes()))
}

/// The error for a request that needs the store while the store fails.
pub(super) fn busy() -> RpcError {
    let text = "busy: tasks can't be shared by the server's processes at the moment; try again \
                later";
    RpcError::internal(text).with_json(&json!({ "busy": true }))
}
