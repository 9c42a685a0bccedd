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
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use super::super::call_task::{CallTask, Start};
use super::super::paging::{Cursor, Paged};
use super::super::session_state::ClientContext;
use super::super::subscriptions::{Followed, Subscriptions};
use super::TaskOptions;
use super::notifications::{Follow, follow};
use super::start::{Decide, decide};
use super::state::Outcome;
use super::task::{State, Task};
use crate::error::{ErrorCode, RpcError};
use crate::schema::json::millis;
use crate::schema::{ProtocolVersion, TaskMetadata, Tool};
use crate::shares::{Admission, Client, GroupedShares};
use crate::sync::{Condvar, Mutex};
use crate::transport::clock::after;
use crate::transport::{Limits, Stack, Started, Threads};

/// The number of tasks on a page of the list.
const PAGE: usize = 50;

/// The eviction rank of a finished task whose result was fetched. Tasks with this rank are evicted
/// before tasks whose result was not fetched.
const FETCHED: u8 = 0;
const NOT_FETCHED: u8 = 1;

/// All tasks of a server.
pub(in crate::server) struct Tasks {
    decide: Decide,
    follow: Follow,
    options: TaskOptions,
    store: Arc<TaskStore>,
}

/// The properties of a new task.
pub(super) struct NewTask {
    /// An id that can't be guessed.
    pub(super) id: String,
    /// The client whose shares of the server's limits the task uses.
    pub(super) client: Client,
    pub(super) principal: Option<Arc<str>>,
    pub(super) revision: ProtocolVersion,
    /// The lifetime that the client requests for the task, in milliseconds.
    pub(super) ttl_ms: Option<u64>,
}

/// The table of tasks, and the thread that ends them at their deadline.
pub(super) struct TaskStore {
    table: Mutex<Table>,
    /// The condition variable that is notified when a task with an earlier deadline is added, or
    /// when the server ends.
    changed: Condvar,
    /// The thread that ends tasks at their deadline. The thread runs while there are working tasks,
    /// and is joined when the server is dropped.
    thread: Started,
}

struct Table {
    /// The limits from which the clients' shares are calculated.
    limits: Limits,
    numbers: HashMap<String, u64>,
    tasks: BTreeMap<u64, Entry>,
    /// All tasks by deadline, the earliest first.
    expiry: BTreeSet<(Instant, u64)>,
    /// All tasks that are not finished yet, by deadline, the earliest first.
    working: BTreeSet<(Instant, u64)>,
    /// Each client's share of the slots for tasks. Finished tasks can be evicted from their slots.
    slots: GroupedShares<u64>,
    /// Each client's share of the memory for large results. `None` before the first large result.
    results: Option<GroupedShares<u64>>,
    next: u64,
    /// The number of tasks that have finished so far. When a task finishes, this number is
    /// increased and becomes the task's eviction order.
    over: u64,
    has_thread: bool,
    closed: bool,
}

struct Entry {
    task: Arc<Task>,
    client: Client,
    /// The number of bytes that are reserved for the result of the task, if the result is large.
    bytes: usize,
    /// The eviction rank and order of the task. `Some` once the task is finished.
    idle: Option<(u8, u64)>,
}

impl Table {
    fn new(max: usize, limits: Limits) -> Self {
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
    fn remove(&mut self, number: u64) -> Option<Arc<Task>> {
        let entry = self.tasks.remove(&number)?;
        let Entry {
            task,
            client,
            bytes,
            idle,
        } = entry;
        self.numbers.remove(&task.id);
        self.expiry.remove(&(task.until, number));
        self.working.remove(&(task.until, number));
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
    fn take_expired(&mut self, now: Instant) -> Vec<Arc<Task>> {
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
    fn take_slot(&mut self, client: &Client, displaced: &mut Vec<Arc<Task>>) -> bool {
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
        displaced: &mut Vec<Arc<Task>>,
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

impl TaskStore {
    /// Records that a task is finished. From now on the task can be evicted. Later calls have no
    /// effect.
    pub(super) fn is_over(&self, number: u64) {
        let mut table = self.table.lock();
        let entry = table.tasks.get(&number);
        let Some(entry) = entry.filter(|entry| entry.idle.is_none()) else {
            return;
        };
        let until = entry.task.until;
        table.working.remove(&(until, number));
        table.rank(number, NOT_FETCHED);
    }

    /// Records that a client has fetched the result of a finished task.
    pub(super) fn is_fetched(&self, number: u64) {
        let mut table = self.table.lock();
        let over = |entry: &Entry| entry.idle.is_some_and(|(rank, _)| rank != FETCHED);
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
        drop(displaced);
        held
    }

    /// Ends tasks at their deadline. Returns when there are no working tasks any more.
    fn end_in_time(&self) {
        let mut table = self.table.lock();
        loop {
            let expired = table.take_expired(Instant::now());
            if !expired.is_empty() {
                drop(table);
                expired.into_iter().for_each(|task| end(&task));
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

/// Ends a task at its deadline: cancels its work, and answers the requests that wait for it.
fn end(task: &Task) {
    let error = RpcError::internal("the task was not over within its time to live");
    task.end(Outcome::Error(error));
}

impl Tasks {
    pub(in crate::server) fn new(options: TaskOptions) -> Self {
        let table = Table::new(options.max_tasks, Limits::default());
        Self {
            decide,
            follow,
            options,
            store: Arc::new(TaskStore {
                table: Mutex::new(table),
                changed: Condvar::new(),
                thread: Started::default(),
            }),
        }
    }

    /// Sets the limits from which the clients' shares are calculated. Call this before any task is
    /// created.
    pub(in crate::server) fn share_by(&self, limits: &Limits) {
        *self.store.table.lock() = Table::new(self.options.max_tasks, limits.clone());
    }

    /// Decides whether a call of a tool becomes a task, or must be refused.
    pub(in crate::server) fn decide(
        &self,
        tool: &Tool,
        terms: &ClientContext,
        asked: Option<&TaskMetadata>,
    ) -> Result<Option<Start>, RpcError> {
        (self.decide)(tool, terms, asked)
    }

    /// Subscribes to tasks, and returns them. Removes ids from `ids` that are not tasks of this
    /// principal.
    pub(in crate::server) fn follow(
        &self,
        ids: &mut Vec<String>,
        principal: Option<&str>,
    ) -> Vec<Arc<dyn Followed>> {
        (self.follow)(self, ids, principal)
    }

    /// Creates a task.
    ///
    /// # Errors
    ///
    /// A "busy" error when there is no slot and no finished task can be evicted for this client. An
    /// error when the thread that ends tasks can't be started.
    pub(super) fn create(
        &self,
        hub: &Arc<Subscriptions>,
        threads: &Threads,
        new: NewTask,
    ) -> Result<Arc<Task>, RpcError> {
        let lifetime = new.ttl_ms.map_or(self.options.lifetime, |asked| {
            Duration::from_millis(asked).min(self.options.max_lifetime)
        });
        let until = after(lifetime);
        let created = SystemTime::now();
        self.expire();
        let mut displaced = Vec::new();
        let mut table = self.store.table.lock();
        if !table.take_slot(&new.client, &mut displaced) {
            drop(table);
            drop(displaced);
            return Err(self.no_slot());
        }
        table.next += 1;
        let number = table.next;
        let task = Arc::new_cyclic(|this| Task {
            id: new.id,
            number,
            store: Arc::downgrade(&self.store),
            principal: new.principal,
            revision: new.revision,
            created,
            until,
            ttl_ms: millis(lifetime).max(1),
            poll_interval_ms: millis(self.options.poll_interval).max(1),
            hub: Arc::clone(hub),
            is_followed: AtomicBool::new(false),
            this: this.clone(),
            state: Mutex::new(State::new(created)),
        });
        let entry = Entry {
            task: Arc::clone(&task),
            client: new.client,
            bytes: 0,
            idle: None,
        };
        table.numbers.insert(task.id.clone(), number);
        table.tasks.insert(number, entry);
        table.expiry.insert((until, number));
        table.working.insert((until, number));
        let is_watched = self.watch(&mut table, threads);
        if !is_watched {
            displaced.extend(table.remove(number));
        } else if table.working.first() == Some(&(until, number)) {
            self.store.changed.notify_all();
        }
        drop(table);
        drop(displaced);
        is_watched.then_some(task).ok_or_else(|| {
            RpcError::internal("busy: no thread can be started to end the task at its time")
        })
    }

    /// Starts the thread that ends tasks at their deadline, unless it runs already. Returns `false`
    /// when the system can't start a thread.
    fn watch(&self, table: &mut Table, threads: &Threads) -> bool {
        if !table.has_thread {
            // The reference is weak, so a thread that has not begun yet does not keep the table
            // alive.
            let store: Weak<TaskStore> = Arc::downgrade(&self.store);
            let work = move || {
                if let Some(store) = store.upgrade() {
                    store.end_in_time();
                }
            };
            let started = self
                .store
                .thread
                .start(threads, "tasks", Stack::Large, work);
            table.has_thread = started.is_ok();
        }
        table.has_thread
    }

    fn no_slot(&self) -> RpcError {
        let max = self.options.max_tasks;
        let text = format!(
            "busy: {max} tasks are kept already, and those that could give way still work \
             (max_tasks); try again later"
        );
        let error = RpcError::new(ErrorCode::INTERNAL_ERROR, text);
        let data = serde_json::json!({ "busy": true, "maxTasks": max });
        error.clone().with_data(&data).unwrap_or(error)
    }

    /// Returns the task with this id, if it belongs to this principal and era.
    pub(super) fn find(
        &self,
        id: &str,
        principal: Option<&str>,
        modern: bool,
    ) -> Result<Arc<Task>, RpcError> {
        self.expire();
        let table = self.store.table.lock();
        let task = table
            .numbers
            .get(id)
            .and_then(|number| table.tasks.get(number))
            .map(|entry| &entry.task)
            .filter(|task| task.principal.as_deref() == principal && task.is_modern() == modern);
        task.cloned().ok_or_else(|| {
            RpcError::invalid_params(
                "taskId: there is no such task (any more), or it is somebody else's",
            )
        })
    }

    /// Returns a page of a principal's legacy tasks, and the cursor of the next page.
    pub(super) fn page(
        &self,
        principal: &str,
        cursor: Option<&str>,
    ) -> Result<(Vec<Arc<Task>>, Option<String>), RpcError> {
        self.expire();
        let after = Cursor::read(Paged::Tasks, cursor)?;
        let after = after.map_or(0, |cursor| cursor.last_shown);
        let table = self.store.table.lock();
        if after > table.next {
            return Err(Cursor::invalid());
        }
        let mut own = table
            .tasks
            .range(after + 1..)
            .map(|(number, entry)| (number, &entry.task))
            .filter(|(_, task)| task.principal.as_deref() == Some(principal) && !task.is_modern());
        let page: Vec<_> = own.by_ref().take(PAGE).collect();
        let goes_on = own.next().is_some();
        let next = page.last().filter(|_| goes_on);
        let next = next.map(|(number, _)| Cursor::after(Paged::Tasks, **number).to_string());
        let page = page.into_iter().map(|(_, task)| Arc::clone(task));
        Ok((page.collect(), next))
    }

    /// Removes a task whose id was never sent to a client.
    pub(super) fn forget(&self, task: &Task) {
        let removed = self.store.table.lock().remove(task.number);
        drop(removed);
    }

    /// Removes the tasks whose deadline has passed. Tasks that are still working are ended.
    fn expire(&self) {
        let expired = self.store.table.lock().take_expired(Instant::now());
        expired.into_iter().for_each(|task| end(&task));
    }
}

/// Implements `Drop`: joins the thread that ends tasks at their deadline. When the server is
/// dropped, its connections and the work of its tasks have already ended.
impl Drop for Tasks {
    fn drop(&mut self) {
        self.store.table.lock().closed = true;
        self.store.changed.notify_all();
        self.store.thread.join();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::num::NonZeroUsize;

    use super::super::super::inner::new_id;
    use super::*;

    fn create(
        tasks: &Tasks,
        principal: Option<&str>,
        revision: ProtocolVersion,
        ttl_ms: Option<u64>,
    ) -> Result<Arc<Task>, RpcError> {
        let new = NewTask {
            id: new_id(None).expect("random bytes"),
            client: Client::Principal(principal.unwrap_or_default().into()),
            principal: principal.map(Arc::from),
            revision,
            ttl_ms,
        };
        tasks.create(&Arc::default(), &Threads::default(), new)
    }

    const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
    const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

    fn tasks(max: usize) -> Tasks {
        let max = NonZeroUsize::new(max).expect("not zero");
        Tasks::new(TaskOptions::default().max_tasks(max))
    }

    // E-TASK-S-55, L-TASK-B-23
    #[test]
    fn a_task_is_found_by_its_principal_in_its_era() {
        let tasks = tasks(10);
        let task = create(&tasks, Some("a"), MODERN, None).expect("room");
        assert!(tasks.find(&task.id, Some("a"), true).is_ok());
        for (principal, modern) in [(Some("b"), true), (None, true), (Some("a"), false)] {
            let error = tasks.find(&task.id, principal, modern).expect_err("hidden");
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        }
    }

    // L-TASK-B-25
    #[test]
    fn tasks_are_few_and_forgotten_in_time() {
        let tasks = tasks(2);
        let long = create(&tasks, None, LEGACY, Some(u64::MAX)).expect("room");
        assert_eq!(long.ttl_ms, 24 * 3600 * 1000);
        let short = create(&tasks, None, LEGACY, Some(0)).expect("room");
        let third = create(&tasks, None, LEGACY, None).expect("room again");
        assert!(short.is_terminal(), "its work is cancelled");
        assert!(tasks.find(&short.id, None, false).is_err());
        let error = create(&tasks, None, LEGACY, None).expect_err("full");
        assert!(error.message.contains("max_tasks"), "{error}");
        tasks.forget(&third);
        create(&tasks, None, LEGACY, None).expect("room once more");
        assert!(tasks.find(&long.id, None, false).is_ok());
    }

    // L-TASK-B-18, L-TASK-B-23
    #[test]
    fn a_list_has_pages_of_ones_own_tasks() {
        let tasks = tasks(1000);
        for number in 0..230 {
            let owner = if number % 2 == 0 { "a" } else { "b" };
            let task = create(&tasks, Some(owner), LEGACY, None);
            task.expect("room");
        }
        let mut cursor = None;
        let mut sizes = Vec::new();
        loop {
            let (page, next) = tasks.page("a", cursor.as_deref()).expect("a page");
            assert!(
                page.iter()
                    .all(|task| task.principal.as_deref() == Some("a"))
            );
            sizes.push(page.len());
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(sizes, [50, 50, 15]);
        assert!(tasks.page("a", Some("nonsense")).is_err());
        assert!(tasks.page("nobody", None).expect("empty").0.is_empty());
    }
}
