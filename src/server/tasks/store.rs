//! All tasks of a server: creates them, and finds them for their principals.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use super::super::call_task::{CallTask, Start};
use super::super::paging::{Cursor, Paged};
use super::super::session_state::ClientContext;
use super::super::subscriptions::{Followed, Subscriptions};
use super::TaskOptions;
use super::records::Records;
use super::share::Share;
use super::sharing::{Sharing, busy};
use super::start::{Decide, decide};
use super::table::{Entry, Expire, Table, TaskStore};
use super::task::{State, Task};
use crate::error::{Result, RpcError};
use crate::schema::json::millis;
use crate::schema::{ProtocolVersion, TaskMetadata, Tool};
use crate::shares::Client;
use crate::sync::{Condvar, Mutex};
use crate::transport::clock::after;
use crate::transport::{Limits, Stack, Started, Threads};

/// The number of tasks on a page of the list.
const PAGE: usize = 50;

/// All tasks of a server.
pub(in crate::server) struct Tasks {
    decide: Decide,
    follow: Follow,
    options: TaskOptions,
    store: Arc<TaskStore<Task>>,
    /// The tasks of other processes. Set when the server is built, if they are shared.
    sharing: OnceLock<Arc<Sharing>>,
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
            sharing: OnceLock::new(),
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
        subscriptions: &Arc<Subscriptions>,
        threads: &Threads,
        new: NewTask,
    ) -> Result<Arc<Task>, RpcError> {
        let lifetime = new.ttl_ms.map_or(self.options.lifetime, |asked| {
            Duration::from_millis(asked).min(self.options.max_lifetime)
        });
        let until = after(lifetime);
        let sharing = self.sharing.get().filter(|_| new.revision.is_modern());
        let share = sharing.map(|sharing| Share::new(sharing, &new.id));
        let created = SystemTime::now();
        self.expire();
        let mut displaced = Vec::new();
        let mut table = self.store.table.lock();
        if !table.take_slot(&new.client, &mut displaced) {
            drop(table);
            displaced.iter().for_each(|task| task.forget());
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
            subscriptions: Arc::clone(subscriptions),
            is_followed: AtomicBool::new(false),
            share,
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
        displaced.iter().for_each(|task| task.forget());
        if !is_watched {
            let text = "busy: no thread can be started to end the task at its time";
            return Err(RpcError::internal(text));
        }
        if task.create_record().is_err() {
            self.forget(&task);
            return Err(busy());
        }
        Ok(task)
    }

    /// Starts the thread that ends tasks at their deadline, unless it runs already. Returns `false`
    /// when the system can't start a thread.
    fn watch(&self, table: &mut Table<Task>, threads: &Threads) -> bool {
        if !table.has_thread {
            // The reference is weak, so a thread that has not begun yet does not keep the table
            // alive.
            let store: Weak<TaskStore<Task>> = Arc::downgrade(&self.store);
            let work = move || {
                if let Some(store) = store.upgrade() {
                    store.end_in_time();
                }
            };
            let thread = &self.store.thread;
            let started = thread.start(threads, "tasks", Stack::Large, work);
            table.has_thread = started.is_ok();
        }
        table.has_thread
    }

    fn no_slot(&self) -> RpcError {
        let max = self.options.max_tasks;
        let text = format!(
            "busy: {max} tasks are kept already, and those that could give way still work; \
             try again later"
        );
        let data = serde_json::json!({ "busy": true, "maxTasks": max });
        RpcError::internal(text).with_json(&data)
    }

    /// Shares the tasks with other processes of the server.
    pub(in crate::server) fn share(
        &self,
        records: Records,
        lease: Duration,
        subscriptions: &Arc<Subscriptions>,
        threads: Threads,
    ) -> Result<()> {
        let sharing = Sharing::new(records, lease, Arc::clone(subscriptions), threads)?;
        let sharing = Arc::new(sharing);
        let weak = Arc::downgrade(&sharing);
        subscriptions.on_task_record(Box::new(move |key| {
            if let Some(sharing) = weak.upgrade() {
                sharing.deliver(key);
            }
        }));
        // A builder calls this once.
        _ = self.sharing.set(sharing);
        Ok(())
    }

    /// Whether processes share the tasks. Requests about tasks may then wait for the store.
    pub(in crate::server) fn are_shared(&self) -> bool {
        self.sharing.get().is_some()
    }

    /// Asks the other processes about a task that this process does not have.
    ///
    /// # Errors
    ///
    /// An error when there is no such task, or the store fails.
    pub(super) fn elsewhere<T>(
        &self,
        modern: bool,
        ask: impl FnOnce(&Sharing) -> Result<Option<T>, RpcError>,
    ) -> Result<T, RpcError> {
        let sharing = self.sharing.get().filter(|_| modern);
        let found = sharing.map_or(Ok(None), |sharing| ask(sharing))?;
        found.ok_or_else(no_such_task)
    }

    /// Returns the task of this process with this id, if it belongs to this principal and era.
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
        task.cloned().ok_or_else(no_such_task)
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
        task.forget();
    }

    /// Removes the tasks whose deadline has passed. Tasks that are still working are ended.
    fn expire(&self) {
        let expired = self.store.table.lock().take_expired(Instant::now());
        expired.into_iter().for_each(|task| task.expire());
    }
}

/// The error for a request about a task that its client can't find.
pub(super) fn no_such_task() -> RpcError {
    RpcError::invalid_params("taskId: there is no such task (any more), or it is somebody else's")
}

/// The type of [`follow`], which subscribes to tasks. The function removes ids from its second
/// argument that are not tasks of the principal.
type Follow = fn(&Tasks, &mut Vec<String>, Option<&str>) -> Vec<Arc<dyn Followed>>;

fn follow(tasks: &Tasks, ids: &mut Vec<String>, principal: Option<&str>) -> Vec<Arc<dyn Followed>> {
    ids.sort_unstable();
    ids.dedup();
    let mut followed: Vec<Arc<dyn Followed>> = Vec::new();
    ids.retain(|id| {
        let task: Option<Arc<dyn Followed>> = match tasks.find(id, principal, true) {
            Ok(task) => {
                task.is_followed.store(true, Ordering::SeqCst);
                Some(task)
            }
            Err(_) => (tasks.sharing.get()).and_then(|sharing| sharing.follow(id, principal)),
        };
        let is_found = task.is_some();
        followed.extend(task);
        is_found
    });
    followed
}

/// Implements `Drop`: joins the thread that ends tasks at their deadline. When the server is
/// dropped, its connections and the work of its tasks have already ended.
impl Drop for Tasks {
    fn drop(&mut self) {
        self.store.table.lock().closed = true;
        self.store.changed.notify_all();
        self.store.thread.join();
        if let Some(sharing) = self.sharing.get() {
            sharing.close();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::num::NonZeroUsize;

    use super::super::super::inner::new_id;
    use super::*;
    use crate::error::ErrorCode;

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
        assert!(
            error.message.contains("2 tasks are kept already"),
            "{error}"
        );
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
