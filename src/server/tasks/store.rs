//! The tasks that a server keeps.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::conversation::Terms;
use super::super::dispatch::Row;
use super::super::hub::{Followed, Hub};
use super::super::paging::Cursor;
use super::TaskOptions;
use super::methods::METHODS;
use super::stage::Outcome;
use super::start::{Decide, Start, decide};
use super::task::{State, Task};
use super::told::{Follow, follow};
use crate::error::{ErrorCode, RpcError};
use crate::schema::json::millis;
use crate::schema::{ProtocolVersion, TaskMetadata, Tool};
use crate::sync::Mutex;
use crate::transport::clock::after;
use crate::transport::sys::random;

/// So many tasks are on one page of a list.
const PAGE: usize = 50;

/// All tasks of a server.
pub(in crate::server) struct Tasks {
    decide: Decide,
    methods: [Row; 5],
    follow: Follow,
    options: TaskOptions,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    numbers: HashMap<String, u64>,
    tasks: BTreeMap<u64, Arc<Task>>,
    /// The soonest to be forgotten first.
    expiry: BTreeSet<(Instant, u64)>,
    next: u64,
}

impl Table {
    fn take_expired(&mut self, now: Instant) -> Vec<Arc<Task>> {
        let mut expired = Vec::new();
        while self.expiry.first().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, number)) = self.expiry.pop_first()
                && let Some(task) = self.tasks.remove(&number)
            {
                self.numbers.remove(task.id());
                expired.push(task);
            }
        }
        expired
    }
}

impl Tasks {
    pub(in crate::server) fn new(options: TaskOptions) -> Self {
        Self {
            decide,
            methods: METHODS,
            follow,
            options,
            table: Mutex::default(),
        }
    }

    /// What answers requests about tasks.
    pub(in crate::server) fn methods(&self) -> [Row; 5] {
        self.methods
    }

    /// Whether a call of a tool becomes a task, or can't be made at all.
    pub(in crate::server) fn decide(
        &self,
        tool: &Tool,
        terms: &Terms,
        asked: Option<&TaskMetadata>,
    ) -> Result<Option<Start>, RpcError> {
        (self.decide)(tool, terms, asked)
    }

    /// Has tasks told to a subscriber from now on. Leaves out of `ids` what is no task of this principal's.
    pub(in crate::server) fn follow(
        &self,
        ids: &mut Vec<String>,
        principal: Option<&str>,
    ) -> Vec<Arc<dyn Followed>> {
        (self.follow)(self, ids, principal)
    }

    /// Makes a task, whose id nobody can guess. `ttl_ms` is for how long the client wants it kept.
    pub(super) fn create(
        &self,
        hub: &Arc<Hub>,
        principal: Option<Arc<str>>,
        revision: ProtocolVersion,
        ttl_ms: Option<u64>,
    ) -> Result<Arc<Task>, RpcError> {
        self.expire();
        let mut bytes = [0; 24];
        random::fill(&mut bytes).map_err(|_| RpcError::internal("internal error"))?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let kept = ttl_ms.map_or(self.options.lifetime, |asked| {
            Duration::from_millis(asked).min(self.options.max_lifetime)
        });
        let until = after(kept);
        let created = SystemTime::now();
        let task = Arc::new_cyclic(|this| Task {
            id,
            principal,
            revision,
            created,
            until,
            ttl_ms: millis(kept).max(1),
            poll_interval_ms: millis(self.options.poll_interval).max(1),
            hub: Arc::clone(hub),
            is_followed: AtomicBool::new(false),
            this: this.clone(),
            state: Mutex::new(State::new(created)),
        });
        let mut table = self.table.lock();
        let max = self.options.max_tasks;
        if table.tasks.len() >= max {
            let text = format!("busy: {max} tasks are kept already (max_tasks); try again later");
            let error = RpcError::new(ErrorCode::INTERNAL_ERROR, text);
            let data = serde_json::json!({ "busy": true, "maxTasks": max });
            return Err(error.clone().with_data(&data).unwrap_or(error));
        }
        table.next += 1;
        let number = table.next;
        table.numbers.insert(task.id.clone(), number);
        table.tasks.insert(number, Arc::clone(&task));
        table.expiry.insert((until, number));
        Ok(task)
    }

    /// The task of this id, if it is one of this principal's, and of this era.
    pub(super) fn find(
        &self,
        id: &str,
        principal: Option<&str>,
        modern: bool,
    ) -> Result<Arc<Task>, RpcError> {
        self.expire();
        let table = self.table.lock();
        let task = table
            .numbers
            .get(id)
            .and_then(|number| table.tasks.get(number))
            .filter(|task| task.principal.as_deref() == principal && task.is_modern() == modern);
        task.cloned().ok_or_else(|| {
            RpcError::invalid_params(
                "taskId: there is no such task (any more), or it is somebody else's",
            )
        })
    }

    /// A page of the legacy tasks of a principal, and where the list goes on.
    pub(super) fn page(
        &self,
        principal: &str,
        cursor: Option<&str>,
    ) -> Result<(Vec<Arc<Task>>, Option<String>), RpcError> {
        self.expire();
        let after = cursor.map(Cursor::read).transpose()?;
        let after = after.map_or(0, |cursor| cursor.last_shown);
        let table = self.table.lock();
        if after > table.next {
            return Err(Cursor::invalid());
        }
        let mut own = table
            .tasks
            .range(after + 1..)
            .filter(|(_, task)| task.principal.as_deref() == Some(principal) && !task.is_modern());
        let page: Vec<_> = own.by_ref().take(PAGE).collect();
        let goes_on = own.next().is_some();
        let next = page.last().filter(|_| goes_on);
        let next = next.map(|(number, _)| Cursor::after(**number).to_string());
        let page = page.into_iter().map(|(_, task)| Arc::clone(task));
        Ok((page.collect(), next))
    }

    /// Forgets a task that nobody was told of.
    pub(super) fn forget(&self, task: &Task) {
        let mut table = self.table.lock();
        if let Some(number) = table.numbers.remove(task.id()) {
            table.tasks.remove(&number);
            table.expiry.remove(&(task.until, number));
        }
    }

    /// Forgets the tasks that have had their time. What still runs is cancelled.
    fn expire(&self) {
        let expired = self.table.lock().take_expired(Instant::now());
        for task in expired {
            let error = RpcError::internal("the task was not over within its time to live");
            task.end(Outcome::Error(error));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;
    use std::num::NonZeroUsize;

    use super::*;

    fn hub() -> Arc<Hub> {
        Arc::default()
    }

    const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
    const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

    fn tasks(max: usize) -> Tasks {
        let max = NonZeroUsize::new(max).expect("not zero");
        Tasks::new(TaskOptions::default().max_tasks(max))
    }

    // E-TASK-S-54, L-TASK-B-24, L-TASK-B-09
    #[test]
    fn ids_are_long_and_random() {
        let tasks = tasks(1000);
        let ids: HashSet<String> = (0..1000)
            .map(|_| {
                tasks
                    .create(&hub(), None, MODERN, None)
                    .expect("room")
                    .id
                    .clone()
            })
            .collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            let bytes = URL_SAFE_NO_PAD.decode(&id).expect("base64");
            assert!(bytes.len() * 8 >= 128, "{id}");
        }
    }

    // E-TASK-S-55, L-TASK-B-23
    #[test]
    fn a_task_is_found_by_its_principal_in_its_era() {
        let tasks = tasks(10);
        let task = tasks
            .create(&hub(), Some("a".into()), MODERN, None)
            .expect("room");
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
        let long = tasks
            .create(&hub(), None, LEGACY, Some(u64::MAX))
            .expect("room");
        assert_eq!(long.ttl_ms, 24 * 3600 * 1000);
        let short = tasks.create(&hub(), None, LEGACY, Some(0)).expect("room");
        let third = tasks
            .create(&hub(), None, LEGACY, None)
            .expect("room again");
        assert!(short.is_terminal(), "its work is cancelled");
        assert!(tasks.find(&short.id, None, false).is_err());
        let error = tasks.create(&hub(), None, LEGACY, None).expect_err("full");
        assert!(error.message.contains("max_tasks"), "{error}");
        tasks.forget(&third);
        tasks
            .create(&hub(), None, LEGACY, None)
            .expect("room once more");
        assert!(tasks.find(&long.id, None, false).is_ok());
    }

    // L-TASK-B-18, L-TASK-B-23
    #[test]
    fn a_list_has_pages_of_ones_own_tasks() {
        let tasks = tasks(1000);
        for number in 0..230 {
            let owner = if number % 2 == 0 { "a" } else { "b" };
            let task = tasks.create(&hub(), Some(owner.into()), LEGACY, None);
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
