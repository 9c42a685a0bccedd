//! The response sink of a call that has become a task.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::call_task::CallTask;
use super::super::memory_budget::LARGE;
use super::state::Outcome;
use super::task::Task;
use crate::error::{Error, ErrorCode, ErrorKind, Result, RpcError};
use crate::protocol::{Answer, Peer, ResponseSink};
use crate::schema::json::from_bytes;

/// The response sink of a call that is a task. Stores the answer of the call in the task, and
/// forwards the call's other messages.
pub(super) struct TaskResponseSink {
    task: Arc<Task>,
    /// The client that made the call.
    peer: Peer,
    /// The size of the memory budget for the results of all tasks, in bytes.
    max_held: usize,
}

impl TaskResponseSink {
    pub(super) fn new(task: Arc<Task>, peer: Peer, max_held: usize) -> Arc<Self> {
        Arc::new(Self {
            task,
            peer,
            max_held,
        })
    }

    /// Parses a response into an outcome of the task. If the memory budget has no space for a large
    /// response, the outcome is an error.
    fn keep(&self, response: &[u8]) -> Outcome {
        // The number of small responses is limited by the number of tasks.
        if response.len() <= LARGE {
            return outcome_of(response);
        }
        let max = self.max_held;
        if self.task.hold_result(response.len(), max) {
            return outcome_of(response);
        }
        let text = format!(
            "the result has {} bytes, and the results of tasks take as much memory as they may ({max} bytes: max_workers times \
             max_message_bytes, or 16 MiB); call again later",
            response.len()
        );
        Outcome::Error(RpcError::new(ErrorCode::INTERNAL_ERROR, text))
    }
}

impl ResponseSink for TaskResponseSink {
    /// Forwards a progress or log message of the call. In the modern era the message is dropped,
    /// because tasks have no such messages. In the legacy era, the message is sent on a request
    /// that waits for the task's result. If no request waits, the message is sent on the client's
    /// connection.
    fn send(&self, text: &[u8], _: Option<Instant>) -> Result<bool> {
        if self.task.is_modern() {
            return Ok(true);
        }
        match self.task.listener() {
            Some(listener) => listener.forward(text.to_vec())?,
            None => self
                .peer
                .core()
                .send_notification(text.to_vec(), None, None)?,
        }
        Ok(true)
    }

    fn ask(&self, text: &[u8], _: Option<Instant>) -> Result<()> {
        self.task.show(text);
        Ok(())
    }

    fn respond(&self, text: Vec<u8>, _: Answer, _: Option<Instant>) -> Result<()> {
        let outcome = self.keep(&text);
        drop(text);
        if self.task.conclude(&outcome) {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Closed, "the task is over"))
        }
    }

    fn close(&self) {
        let error = RpcError::internal("the connection on which the task ran is closed");
        self.task.end(Outcome::Error(error));
    }
}

impl fmt::Debug for TaskResponseSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskResponseSink").field(&self.task).finish()
    }
}

/// Parses a response, and returns it as the outcome of a task.
fn outcome_of(response: &[u8]) -> Outcome {
    #[derive(Deserialize)]
    struct Response {
        #[serde(default)]
        result: Option<Box<RawValue>>,
        #[serde(default)]
        error: Option<RpcError>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ToolOutcome {
        #[serde(default)]
        is_error: bool,
    }
    match from_bytes(response) {
        Ok(Response {
            result: Some(text), ..
        }) => {
            let outcome: ToolOutcome = serde_json::from_str(text.get()).unwrap_or_default();
            let failed = outcome.is_error;
            Outcome::Result { text, failed }
        }
        Ok(Response {
            error: Some(error), ..
        }) => Outcome::Error(error),
        _ => Outcome::Error(RpcError::internal("internal error")),
    }
}
