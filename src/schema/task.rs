//! Tasks of the core protocol: requests whose result is fetched later.
//!
//! The tasks extension of 2026-07-28 has types of the same names with other members: they are not these.
//!
//! Spec: Base Protocol, Utilities, "Tasks" (2025-11-25 only).

use super::json::{Count, CountOrNull, Extra, NotNegative};
use super::meta::{NotificationMetaObject, RequestMetaObject, ResultMetaObject};
use super::object::OrNull;

open_enum! {
    /// How far a task is. 2025-11-25, and the tasks extension.
    pub enum TaskStatus {
        /// It runs.
        Working = "working",
        /// It waits for input.
        InputRequired = "input_required",
        /// It has a result.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Whether it will not change any more.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Asks for a request to become a task. 2025-11-25 only.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TaskMetadata {
    /// For how many milliseconds the task is to be kept after its creation. A negative number is
    /// refused when it is read.
    pub ttl: Option<u64>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(TaskMetadata { ttl as NotNegative, ..extra });

impl TaskMetadata {
    setters! {
        /// Says for how many milliseconds the task is to be kept.
        ttl: u64,
    }
}

/// The task that a message belongs to, in its `_meta`. 2025-11-25 only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RelatedTaskMetadata {
    /// The task.
    pub task_id: String,
}

members!(RelatedTaskMetadata { task_id = "taskId" });

impl RelatedTaskMetadata {
    /// Names the task.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
        }
    }
}

/// The state of a task. 2025-11-25 only.
///
/// It is also the result of `tasks/get` and `tasks/cancel` and the params of `notifications/tasks/status`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Task {
    /// Its id.
    pub task_id: String,
    /// How far it is.
    pub status: TaskStatus,
    /// More about that, for a person.
    pub status_message: Option<String>,
    /// When it was created, in ISO 8601.
    pub created_at: String,
    /// When it last changed, in ISO 8601.
    pub last_updated_at: String,
    /// For how many milliseconds after its creation it is kept; for ever when `None`, which is written as `null`.
    pub ttl: Option<u64>,
    /// How many milliseconds to wait between two looks at it.
    pub poll_interval: Option<u64>,
    /// What travels beside it, when it is a result or the params of a notification.
    pub meta: Option<NotificationMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(Task {
    task_id = "taskId",
    status,
    status_message = "statusMessage",
    created_at = "createdAt",
    last_updated_at = "lastUpdatedAt",
    ttl as CountOrNull,
    poll_interval = "pollInterval" as Count,
    meta = "_meta",
    ..extra
});

impl Task {
    /// Makes a task that runs. `created_at` is a time in ISO 8601.
    pub fn new(task_id: impl Into<String>, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl: None,
            poll_interval: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Says more about how far it is.
        status_message: String,
        /// Says for how many milliseconds after its creation it is kept.
        ttl: u64,
        /// Says how many milliseconds to wait between two looks at it.
        poll_interval: u64,
    }
}

/// The result of `tasks/get`. 2025-11-25 only.
pub type GetTaskResult = Task;

/// The result of `tasks/cancel`. 2025-11-25 only.
pub type CancelTaskResult = Task;

/// The params of `notifications/tasks/status`. 2025-11-25 only.
pub type TaskStatusNotificationParams = Task;

/// The params of `tasks/get`, `tasks/result` and `tasks/cancel`. 2025-11-25 only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TaskRequestParams {
    /// The task.
    pub task_id: String,
    /// What travels beside the params.
    pub meta: Option<RequestMetaObject>,
}

members!(TaskRequestParams { task_id = "taskId", meta = "_meta" });

impl TaskRequestParams {
    /// Names the task.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
        }
    }
}

/// The result of a request that became a task. 2025-11-25 only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// What travels beside the result.
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(CreateTaskResult { task, meta = "_meta", ..extra });

impl CreateTaskResult {
    /// Answers with the task that the request became.
    pub fn new(task: Task) -> Self {
        Self {
            task,
            meta: None,
            extra: Extra::new(),
        }
    }
}

/// A page of the list of tasks: the result of `tasks/list`. 2025-11-25 only.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ListTasksResult {
    /// What is on this page.
    pub tasks: Vec<Task>,
    /// Where the list goes on; absent on the last page.
    pub next_cursor: Option<String>,
    /// What travels beside the result.
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ListTasksResult { tasks as OrNull, next_cursor = "nextCursor", meta = "_meta", ..extra });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_kept_for_ever_says_so() {
        let json =
            r#"{"taskId":"t","status":"pondering","createdAt":"a","lastUpdatedAt":"b","ttl":null}"#;
        let task: Task = serde_json::from_str(json).expect("decodes");
        assert!(!task.status.is_terminal());
        assert_eq!(serde_json::to_string(&task).expect("JSON"), json);
    }
}
