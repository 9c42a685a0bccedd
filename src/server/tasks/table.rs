//! The table of a server's tasks, and the thread that ends them at their deadline.
//!
//! **Invariant:** a working task is in [`Table::working`]. While this set is not empty, the thread
//! runs or is being started. The first working task starts the thread, under the table's lock. The
//! thread ends under that lock when it finds no working task. So each task ends at its deadline,
//! even if no client polls it.
//!
//! **Locks:** the table's lock and a task's lock are never held together, and no task is ended or
//! dropped under the table's lock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use crate::shares::{Admission, Client, GroupedShares};
use crate::sync::{Condvar, Mutex};
use crate::transport::{Limits, Started};

/// The eviction rank of a finished task whose result was fetched. Tasks with this rank are evicted
/// before tasks whose result was not fetched.
const FETCHED: u8 = 0;
const NOT_FETCHED: u8 = 1;

/// A task, as the table sees it: its id and its deadline.
pub(super) trait Expire {
    fn id(&self) -> &str;

    /// The deadline.
    fn until(&self) -> Instant;

    /// Ends the task at its deadline: cancels its work, and answers the requests that wait for it.
    fn expire(&self);

    /// Removes what other processes know of the task, because the task was evicted.
    fn forget(&self);
}

/// The table of tasks, and the thread that ends them at their deadline.
pub(super) struct TaskStore<T> {
    pub(super) table: Mutex<Table<T>>,
    /// The condition variable that is notified when a task with an earlier deadline is added, or
    /// when the server ends.
    pub(super) changed: Condvar,
    /// The thread that ends tasks at their deadline. The thread runs while there are working tasks,
    /// and is joined when the server is dropped.
    pub(super) thread: Started,
}

pub(super) struct Table<T> {
    /// The limits from which the clients' shares are calculated.
    limits: Limits,
    pub(super) numbers: HashMap<String, u64>,
    pub(super) tasks: BTreeMap<u64, Entry<T>>,
    /// All tasks by deadline, the earliest first.
    pub(super) expiry: BTreeSet<(Instant, u64)>,
    /// All tasks that are not finished yet, by deadline, the earliest first.
    pub(super) working: BTreeSet<(Instant, u64)>,
    /// Each client's share of the slots for tasks. Finished tasks can be evicted from their slots.
    slots: GroupedShares<u64>,
    /// Each client's share of the memory for large results. `None` before the first large result.
    results: Option<GroupedShares<u64>>,
    pub(super) next: u64,
    /// The number of tasks that have finished so far. When a task finishes, this number is
    /// increased and becomes the task's eviction order.
    over: u64,
    pub(super) has_thread: bool,
    pub(super) closed: bool,
}

pub(super) struct Entry<T> {
    pub(super) task: Arc<T>,
    pub(super) client: Client,
    /// The number of bytes that are reserved for the result of the task, if the result is large.
    pub(super) bytes: usize,
    /// The eviction rank and order of the task. `Some` once the task is finished.
    pub(super) idle: Option<(u8, u64)>,
}

impl<T: Expire> Table<T> {
    pub(super) fn new(max: usize, limits: Limits) -> Self {
        Self {
            slots: GroupedShares::new(max, limits.part_of(max), limits.reserve_of(max)),
            limits,
            numbers: HashMap::new(),
            tasks: BTreeMap::new(),
            expiry: BTreeSet::new(),
            working: BTreeSet::new(),
            results: None,
            next: 0,
            over: 0,
            has_thread: false,
            closed: false,
        }
    }

    /// Removes a task from the table. The caller must drop the returned task only after releasing
    /// the table's lock.
    pub(super) fn remove(&mut self, number: u64) -> Option<Arc<T>> {
        let entry = self.tasks.remove(&number)?;
        let Entry {
            task,
            client,
            bytes,
            idle,
        } = entry;
        self.numbers.remove(task.id());
        self.expiry.remove(&(task.until(), number));
        self.working.remove(&(task.until(), number));
        if let Some((rank, order)) = idle {
            self.slots.set_busy(&client, rank, order);
        }
        self.slots.give_back(&client, 1);
        if let Some(results) = &mut self.results
            && bytes > 0
        {
            if let Some((rank, order)) = idle {
                results.set_busy(&client, rank, order);
            }
            results.give_back(&client, bytes);
        }
        Some(task)
    }

    /// Removes and returns the tasks whose deadline has passed.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<Arc<T>> {
        let mut expired = Vec::new();
        while let Some((until, number)) = self.expiry.first().copied()
            && until <= now
        {
            expired.extend(self.remove(number));
        }
        expired
    }

    /// Sets the eviction rank of a finished task. From now on the task can be evicted.
    fn rank(&mut self, number: u64, rank: u8) {
        let Some(entry) = self.tasks.get_mut(&number) else {
            return;
        };
        let client = &entry.client;
        let order = match entry.idle {
            Some((before, order)) => {
                self.slots.set_busy(client, before, order);
                if let Some(results) = &mut self.results {
                    results.set_busy(client, before, order);
                }
                order
            }
            None => {
                self.over += 1;
                self.over
            }
        };
        entry.idle = Some((rank, order));
        self.slots.set_idle(client, rank, order, number);
        if let Some(results) = &mut self.results
            && entry.bytes > 0
        {
            results.set_idle(client, rank, order, number);
        }
    }

    /// Reserves a slot for a new task of a client. Returns whether a slot was available. Finished
    /// tasks that are evicted for the new task are added to `displaced`.
    pub(super) fn take_slot(&mut self, client: &Client, displaced: &mut Vec<Arc<T>>) -> bool {
        loop {
            match self.slots.admit(client, 1) {
                Admission::Granted => {
                    self.slots.take(client, 1);
                    return true;
                }
                Admission::After(number) => displaced.extend(self.remove(number)),
                Admission::Refused => return false,
            }
        }
    }

    /// Reserves memory for the result of a working task. Returns whether enough memory was
    /// available. Finished tasks that are evicted for the result are added to `displaced`.
    fn take_bytes(
        &mut self,
        number: u64,
        bytes: usize,
        max: usize,
        displaced: &mut Vec<Arc<T>>,
    ) -> bool {
        let Some(entry) = self.tasks.get(&number).filter(|entry| entry.idle.is_none()) else {
            // The task has ended already, so another outcome is stored.
            return true;
        };
        let client = entry.client.clone();
        self.results
            .get_or_insert_with(|| GroupedShares::new(max, self.limits.part_of(max), 0));
        while let Some(results) = &mut self.results {
            let admission = match results.total() {
                // One result is always accepted, whatever its size.
                0 => Admission::Granted,
                _ => results.admit(&client, bytes),
            };
            match admission {
                Admission::Granted => {
                    results.take(&client, bytes);
                    if let Some(entry) = self.tasks.get_mut(&number) {
                        entry.bytes = bytes;
                    }
                    return true;
                }
                Admission::After(number) => displaced.extend(self.remove(number)),
                Admission::Refused => return false,
            }
        }
        false
    }
}

impl<T: Expire> TaskStore<T> {
    /// Records that a task is finished. From now on the task can be evicted. Later calls have no
    /// effect.
    pub(super) fn is_over(&self, number: u64) {
        let mut table = self.table.lock();
        let entry = table.tasks.get(&number);
        let Some(entry) = entry.filter(|entry| entry.idle.is_none()) else {
            return;
        };
        let until = entry.task.until();
        table.working.remove(&(until, number));
        table.rank(number, NOT_FETCHED);
    }

    /// Records that a client has fetched the result of a finished task.
    pub(super) fn is_fetched(&self, number: u64) {
        let mut table = self.table.lock();
        let over = |entry: &Entry<T>| entry.idle.is_some_and(|(rank, _)| rank != FETCHED);
        if table.tasks.get(&number).is_some_and(over) {
            table.rank(number, FETCHED);
        }
    }

    /// Reserves memory for the result of a task. Finished tasks may be evicted to release memory.
    /// Returns `false` when there is not enough memory.
    pub(super) fn hold_result(&self, number: u64, bytes: usize, max: usize) -> bool {
        let mut displaced = Vec::new();
        let mut table = self.table.lock();
        let held = table.take_bytes(number, bytes, max, &mut displaced);
        drop(table);
        displaced.iter().for_each(|task| task.forget());
        held
    }

    /// Ends tasks at their deadline. Returns when there are no working tasks any more.
    pub(super) fn end_in_time(&self) {
        let mut table = self.table.lock();
        loop {
            let expired = table.take_expired(Instant::now());
            if !expired.is_empty() {
                drop(table);
                expired.into_iter().for_each(|task| task.expire());
                table = self.table.lock();
                continue;
            }
            let next = table.working.first().map(|(until, _)| *until);
            if next.is_none() || table.closed {
                table.has_thread = false;
                return;
            }
            table = self.changed.wait_until(table, next);
        }
    }
}
