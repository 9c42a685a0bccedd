//! Tasks of the core protocol: requests whose result is fetched later.
//!
//! The tasks extension of 2026-07-28 has types with equal names but other members: see
//! [`DetailedTask`](super::DetailedTask).
//!
//! Spec: Base Protocol, Utilities, "Tasks" (2025-11-25 only).

use super::json::{Count, CountOrNull, Extra, NotNegative};
use super::meta::{NotificationMetaObject, RequestMetaObject, ResultMetaObject};
use super::object::OrNull;

open_enum! {
    /// The status of a task. Exists in 2025-11-25 and in the tasks extension.
    pub enum TaskStatus {
        /// The task is running.
        Working = "working",
        /// The task waits for input.
        InputRequired = "input_required",
        /// The task has a result.
        Completed = "completed",
        /// The task failed.
        Failed = "failed",
        /// The task was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Whether the status is final: completed, failed or cancelled.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The member `task` of a request's params. It asks the receiver to execute the request as a task.
/// 2025-11-25 only.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TaskMetadata {
    /// The time for which the task has to be kept after its creation, in milliseconds. A received
    /// negative number is an error.
    pub ttl: Option<u64>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(TaskMetadata { ttl as NotNegative, ..extra });

impl TaskMetadata {
    setters! {
        /// Sets the time for which the task has to be kept, in milliseconds.
        ttl: u64,
    }
}

/// A reference to the task that a message belongs to, in the message's `_meta`. 2025-11-25 only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RelatedTaskMetadata {
    /// The id of the task.
    pub task_id: String,
}

members!(RelatedTaskMetadata { task_id = "taskId" });

impl RelatedTaskMetadata {
    /// Makes a reference to the task with this id.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
        }
    }
}

/// The state of a task. 2025-11-25 only.
///
/// This type is also the result of `tasks/get` and `tasks/cancel`, and the params of
/// `notifications/tasks/status`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Task {
    /// The id of the task.
    pub task_id: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// Details of the task's status, for users.
    pub status_message: Option<String>,
    /// The time at which the task was created, in ISO 8601.
    pub created_at: String,
    /// The time of the task's last change, in ISO 8601.
    pub last_updated_at: String,
    /// The time for which the task is kept after its creation, in milliseconds. `None` means that
    /// the task is kept without a time limit, and is written as `null`.
    pub ttl: Option<u64>,
    /// The recommended interval between two polls of the task, in milliseconds.
    pub poll_interval: Option<u64>,
    /// Metadata of the message (`_meta`), if the task is sent as a result or as params.
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
    /// Makes a task with the status `working`. `created_at` is a time in ISO 8601.
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
        /// Sets details of the task's status, for users.
        status_message: String,
        /// Sets the time for which the task is kept after its creation, in milliseconds.
        ttl: u64,
        /// Sets the recommended interval between two polls of the task, in milliseconds.
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
    /// The id of the task.
    pub task_id: String,
    /// Metadata of the request (`_meta`).
    pub meta: Option<RequestMetaObject>,
}

members!(TaskRequestParams { task_id = "taskId", meta = "_meta" });

impl TaskRequestParams {
    /// Makes params for the task with this id.
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
    /// The task that the request became.
    pub task: Task,
    /// Metadata of the result (`_meta`).
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(CreateTaskResult { task, meta = "_meta", ..extra });

impl CreateTaskResult {
    /// Makes a result from the task that the request became.
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
    /// The entries of this page.
    pub tasks: Vec<Task>,
    /// The cursor of the next page; absent on the last page.
    pub next_cursor: Option<String>,
    /// Metadata of the result (`_meta`).
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
