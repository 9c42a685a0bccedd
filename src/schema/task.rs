//! Tasks of the core protocol: requests whose result is fetched later.
//!
//! The tasks extension of 2026-07-28 has types with equal names but other members: see
//! [`DetailedTask`](super::DetailedTask).
//!
//! Spec: Base Protocol, Utilities, "Tasks" (2025-11-25 only).

use super::json::{Count, CountOrNull, NotNegative};
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

object! {
    /// The member `task` of a request's params. It asks the receiver to execute the request as a
    /// task. 2025-11-25 only.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CallToolRequestParams, TaskMetadata};
    /// use serde_json::json;
    ///
    /// // By hand. `Client::call_tool_as_task` requests a task in every revision.
    /// let task = TaskMetadata::default().ttl(60_000);
    /// let params = CallToolRequestParams::new("render").task(task);
    /// assert_eq!(json!(params)["task"], json!({ "ttl": 60_000 }));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct TaskMetadata {
        /// The time for which the task has to be kept after its creation, in milliseconds. A
        /// received negative number is an error.
        pub ttl?: u64 as NotNegative,
        ..extra
    }
}

object! {
    /// A reference to the task that a message belongs to, in the message's `_meta`. 2025-11-25
    /// only.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{RelatedTaskMetadata, RequestMetaObject, meta_key};
    /// use serde_json::json;
    ///
    /// let mut meta = RequestMetaObject::default();
    /// let task = RelatedTaskMetadata::new("task-1");
    /// meta.extra.insert(meta_key::RELATED_TASK.to_owned(), json!(task));
    /// assert_eq!(meta.related_task(), Some(task));
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct RelatedTaskMetadata {
        /// The id of the task.
        pub task_id: String = "taskId",
    }

    /// Makes a reference to the task with this id.
    pub fn new(task_id: impl Into<String>);
}

object! {
    /// The state of a task. 2025-11-25 only.
    ///
    /// This type is also the result of `tasks/get` and `tasks/cancel`, and the params of
    /// `notifications/tasks/status`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Task, TaskStatus};
    ///
    /// let mut task = Task::new("task-1", "2025-11-25T10:30:00Z").poll_interval(500);
    /// assert_eq!(task.status, TaskStatus::Working);
    ///
    /// task.status = TaskStatus::Completed;
    /// task.last_updated_at = "2025-11-25T10:30:09Z".to_owned();
    /// assert!(task.status.is_terminal());
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct Task {
        /// The id of the task.
        pub task_id: String = "taskId",
        /// The status of the task.
        pub status: TaskStatus,
        /// Details of the task's status, for users.
        pub status_message?: String = "statusMessage",
        /// The time at which the task was created, in ISO 8601.
        pub created_at: String = "createdAt",
        /// The time of the task's last change, in ISO 8601.
        pub last_updated_at: String = "lastUpdatedAt",
        /// The time for which the task is kept after its creation, in milliseconds. `None` means
        /// that the task is kept without a time limit, and is written as `null`.
        pub ttl?: u64 as CountOrNull,
        /// The recommended interval between two polls of the task, in milliseconds.
        pub poll_interval?: u64 = "pollInterval" as Count,
        /// Metadata of the message (`_meta`), if the task is sent as a result or as params.
        pub meta: Option<NotificationMetaObject> = "_meta",
        ..extra
    }

    fn of_fields(
        task_id: impl Into<String>,
        status: TaskStatus,
        created_at: String,
        last_updated_at: String,
    );
}

impl Task {
    /// Makes a task with the status `working`. `created_at` is a time in ISO 8601.
    pub fn new(task_id: impl Into<String>, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self::of_fields(task_id, TaskStatus::Working, created_at.clone(), created_at)
    }
}

/// The result of `tasks/get`. 2025-11-25 only.
pub type GetTaskResult = Task;

/// The result of `tasks/cancel`. 2025-11-25 only.
pub type CancelTaskResult = Task;

/// The params of `notifications/tasks/status`. 2025-11-25 only.
pub type TaskStatusNotificationParams = Task;

object! {
    /// The params of `tasks/get`, `tasks/result` and `tasks/cancel`. 2025-11-25 only.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::{Peer, RequestOptions};
    /// use mcplink::schema::{Task, TaskRequestParams, read_json};
    ///
    /// // By hand. `Client::task` does this in every revision.
    /// fn state(peer: &Peer, id: &str) -> mcplink::Result<Task> {
    ///     let params = TaskRequestParams::new(id);
    ///     read_json(&peer.request("tasks/get", &params, RequestOptions::new())?)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct TaskRequestParams {
        /// The id of the task.
        pub task_id: String = "taskId",
        /// Metadata of the request (`_meta`).
        pub meta: Option<RequestMetaObject> = "_meta",
    }

    /// Makes params for the task with this id.
    pub fn new(task_id: impl Into<String>);
}

object! {
    /// The result of a request that became a task. 2025-11-25 only.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Handlers;
    /// use mcplink::schema::{CreateTaskResult, Task};
    ///
    /// // By hand. `ServerBuilder::tasks` manages the tasks of a `Server`.
    /// let handlers = Handlers::new().request("tools/call", |_, responder| {
    ///     let task = Task::new("task-1", "2025-11-25T10:30:00Z").ttl(60_000);
    ///     _ = responder.respond(&CreateTaskResult::new(task));
    /// });
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct CreateTaskResult {
        /// The task that the request became.
        pub task: Task,
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta",
        ..extra
    }

    /// Makes a result from the task that the request became.
    pub fn new(task: Task);
}

object! {
    /// A page of the list of tasks: the result of `tasks/list`. 2025-11-25 only.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ListTasksResult, Task};
    ///
    /// let mut page = ListTasksResult::default();
    /// page.tasks.push(Task::new("task-1", "2025-11-25T10:30:00Z"));
    /// page.next_cursor = Some("2".to_owned());
    /// assert_eq!(serde_json::json!(page)["tasks"][0]["status"], "working");
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ListTasksResult {
        /// The entries of this page.
        pub tasks: Vec<Task> as OrNull,
        /// The cursor of the next page; absent on the last page.
        pub next_cursor: Option<String> = "nextCursor",
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta",
        ..extra
    }
}

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
