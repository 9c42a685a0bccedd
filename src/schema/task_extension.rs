//! Tasks of the extension `io.modelcontextprotocol/tasks`: the server decides which calls become
//! tasks.
//!
//! The core protocol of 2025-11-25 has types with the same names: see [`Task`](super::Task).
//!
//! Spec: Extensions, "Tasks" (2026-07-28).

use serde_json::value::RawValue;

use super::input::{InputRequests, InputResponses};
use super::json::{Count, CountOrNull};
use super::meta::{RequestMetaObject, ResultMetaObject};
use super::result::ResultType;
use super::task::TaskStatus;
use crate::error::RpcError;

/// The id of the tasks extension.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

object! {
    /// The state of a task, with its result, error or input requests. This type is the result of
    /// `tasks/get`. With [`ResultType::Task`] it is also the result of a call that became a task.
    /// Since 2026-07-28.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CallToolResult, DetailedTask, TaskStatus};
    /// use serde_json::{json, value::to_raw_value};
    ///
    /// // By hand. `ServerBuilder::tasks` manages the tasks of a `Server`.
    /// let mut task = DetailedTask::new("task-1", "2026-07-28T10:30:00Z");
    /// task.status = TaskStatus::Completed;
    /// task.result = Some(to_raw_value(&CallToolResult::text("done"))?);
    /// assert_eq!(json!(task)["result"]["content"][0]["text"], "done");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct DetailedTask {
        /// The kind of result.
        pub result_type: Option<ResultType> = "resultType",
        /// The id of the task.
        pub task_id: String = "taskId",
        /// The status of the task.
        pub status: TaskStatus,
        /// Details of the task's status, for users.
        pub status_message: Option<String> = "statusMessage",
        /// The time at which the task was created, in ISO 8601.
        pub created_at: String = "createdAt",
        /// The time of the task's last change, in ISO 8601.
        pub last_updated_at: String = "lastUpdatedAt",
        /// The time for which the task is kept after its creation, in milliseconds. `None` means
        /// that the task is kept without a time limit, and is written as `null`.
        pub ttl_ms: Option<u64> = "ttlMs" as CountOrNull,
        /// The recommended interval between two polls of the task, in milliseconds.
        pub poll_interval_ms: Option<u64> = "pollIntervalMs" as Count,
        /// The open input requests of the task, if the task waits for input.
        pub input_requests: Option<InputRequests> = "inputRequests",
        /// The result of the call as raw JSON, if the task is completed.
        pub result: Option<Box<RawValue>>,
        /// The error of the call, if the task failed.
        pub error: Option<RpcError>,
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta",
    }

    fn of_fields(
        task_id: impl Into<String>,
        status: TaskStatus,
        created_at: String,
        last_updated_at: String,
    );
}

required!(RpcError);

impl DetailedTask {
    /// Makes a task with the status `working`. `created_at` is a time in ISO 8601.
    pub fn new(task_id: impl Into<String>, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self {
            result_type: Some(ResultType::Complete),
            ..Self::of_fields(task_id, TaskStatus::Working, created_at.clone(), created_at)
        }
    }
}

object! {
    /// The params of `tasks/update`. Since 2026-07-28.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::{ElicitResult, InputResponse, InputResponses, UpdateTaskRequestParams};
    ///
    /// // By hand. `TaskHandle::wait` answers with the handlers of the client.
    /// fn confirm(client: &Client, id: &str) -> mcplink::Result<()> {
    ///     let answer = InputResponse::new(&ElicitResult::confirm())?;
    ///     let answers = InputResponses::from([("sure".to_owned(), answer)]);
    ///     let params = UpdateTaskRequestParams::new(id, answers);
    ///     client.request("tasks/update", &params, CallOptions::new()).map(drop)
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct UpdateTaskRequestParams {
        /// The id of the task.
        pub task_id: String = "taskId",
        /// The answers to the task's input requests, each under the key of its request.
        pub input_responses: InputResponses = "inputResponses",
        /// Metadata of the request (`_meta`). Required; a client of this library adds the metadata.
        pub meta: Option<RequestMetaObject> = "_meta",
    }

    /// Makes params that answer input requests of a task.
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_keeps_its_result_as_it_was_written() {
        let json = r#"{"resultType":"complete","taskId":"t","status":"completed","createdAt":"a","lastUpdatedAt":"b","ttlMs":null,"result":{"n":1.50, "content":[]}}"#;
        let task: DetailedTask = serde_json::from_str(json).expect("decodes");
        assert!(task.status.is_terminal());
        assert_eq!(serde_json::to_string(&task).expect("JSON"), json);
    }
}
