//! Tasks of the extension `io.modelcontextprotocol/tasks`: the server decides which calls become one.
//!
//! What the core protocol of 2025-11-25 calls by the same names is in [`Task`](super::Task) and its neighbours.
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

/// How far a task is, with what there is at that point: the result of `tasks/get`, and, with [`ResultType::Task`], what answers a call that
/// became a task. Since 2026-07-28.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DetailedTask {
    /// Which kind of result it is.
    pub result_type: Option<ResultType>,
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
    pub ttl_ms: Option<u64>,
    /// How many milliseconds to wait between two looks at it.
    pub poll_interval_ms: Option<u64>,
    /// All that it needs to go on, when it needs input.
    pub input_requests: Option<InputRequests>,
    /// The result of the call, when it is completed, as raw JSON.
    pub result: Option<Box<RawValue>>,
    /// The error of the call, when it failed.
    pub error: Option<RpcError>,
    /// What travels beside the result.
    pub meta: Option<ResultMetaObject>,
}

required!(RpcError);

members!(DetailedTask {
    result_type = "resultType",
    task_id = "taskId",
    status,
    status_message = "statusMessage",
    created_at = "createdAt",
    last_updated_at = "lastUpdatedAt",
    ttl_ms = "ttlMs" as CountOrNull,
    poll_interval_ms = "pollIntervalMs" as Count,
    input_requests = "inputRequests",
    result,
    error,
    meta = "_meta",
});

impl DetailedTask {
    /// Makes a task that runs. `created_at` is a time in ISO 8601.
    pub fn new(task_id: impl Into<String>, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self {
            result_type: Some(ResultType::Complete),
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl_ms: None,
            poll_interval_ms: None,
            input_requests: None,
            result: None,
            error: None,
            meta: None,
        }
    }
}

/// The params of `tasks/update`. Since 2026-07-28.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpdateTaskRequestParams {
    /// The task.
    pub task_id: String,
    /// Answers to what it asks, each under the key of its question.
    pub input_responses: InputResponses,
    /// What travels beside the params. Required.
    pub meta: Option<RequestMetaObject>,
}

members!(UpdateTaskRequestParams {
    task_id = "taskId",
    input_responses = "inputResponses",
    meta = "_meta",
});

impl UpdateTaskRequestParams {
    /// Answers what a task asks.
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses) -> Self {
        Self {
            task_id: task_id.into(),
            input_responses,
            meta: None,
        }
    }
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
