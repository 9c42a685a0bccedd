//! The record of a task, from which other processes answer requests about the task, and the state
//! of a task in a notification.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::super::input_rules::{Asked, check_answer};
use super::super::subscriptions::notification;
use super::state::{Outcome, Stage, iso_8601};
use crate::error::{Excerpt, RpcError};
use crate::jsonrpc::RequestId;
use crate::schema::{
    DetailedTask, InputRequest, InputResponse, InputResponses, ResultMetaObject, TaskStatus, method,
};

/// The record of a task.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskRecord {
    /// The key of the lease of the process in which the task runs.
    pub(super) process: String,
    /// The principal on whose behalf the task runs.
    pub(super) principal: Option<String>,
    pub(super) task: DetailedTask,
    /// The answers to input requests that the process of the task has not taken yet.
    pub(super) answers: InputResponses,
}

impl TaskRecord {
    pub(super) fn is_over(&self) -> bool {
        self.task.status.is_terminal()
    }

    /// Ends the task without a result: it has failed with this error, or was cancelled.
    pub(super) fn end(&mut self, error: Option<RpcError>) {
        let outcome = error.clone().map_or(Outcome::Cancelled, Outcome::Error);
        let stage = Stage::Ended(outcome);
        let task = &mut self.task;
        task.status = stage.status(true);
        task.status_message = stage.message(true);
        task.last_updated_at = iso_8601(SystemTime::now());
        task.error = error;
        task.input_requests = None;
        self.answers.clear();
    }

    /// Returns the outcome of a task that has ended.
    pub(super) fn outcome(self) -> Outcome {
        match (self.task.result, self.task.error) {
            (_, Some(error)) => Outcome::Error(error),
            (Some(text), _) => Outcome::Result {
                text,
                failed: false,
            },
            _ => Outcome::Cancelled,
        }
    }

    /// Returns the state of the task for clients. Answered input requests are not shown again.
    pub(super) fn shown(self) -> DetailedTask {
        let mut task = self.task;
        if let Some(requests) = &mut task.input_requests {
            requests.retain(|key, _| !self.answers.contains_key(key));
            if requests.is_empty() {
                task.input_requests = None;
                task.status = TaskStatus::Working;
            }
        }
        task
    }

    /// Accepts a client's answers to input requests. Answers to unknown input requests are ignored.
    /// If one answer does not fit its input request, all answers are refused. Returns whether there
    /// was an answer to an input request.
    pub(super) fn answer(&mut self, responses: &InputResponses) -> Result<bool, RpcError> {
        let Some(requests) = &self.task.input_requests else {
            return Ok(false);
        };
        let mut accepted = InputResponses::new();
        for (key, response) in responses {
            if let Some(request) = requests.get(key)
                && !self.answers.contains_key(key)
            {
                check_response(key, request, response)?;
                accepted.insert(key.clone(), response.clone());
            }
        }
        let has_some = !accepted.is_empty();
        self.answers.append(&mut accepted);
        Ok(has_some)
    }
}

/// Checks that an answer fits its input request.
pub(super) fn check_response(
    key: &str,
    request: &InputRequest,
    response: &InputResponse,
) -> Result<(), RpcError> {
    let kind =
        Asked::of(request).ok_or_else(|| RpcError::internal("nobody knows this question"))?;
    check_answer(kind, response).map_err(|error| {
        RpcError::invalid_params(format!(
            "inputResponses: '{}' is no answer to {kind}: {error}",
            Excerpt(key)
        ))
    })
}

/// Returns the text of the notification with this state of a task.
pub(super) fn status_notification(
    mut state: DetailedTask,
    subscription: Option<&RequestId>,
) -> Vec<u8> {
    state.result_type = None;
    state.meta = subscription.map(|id| ResultMetaObject::default().subscription_id(id.clone()));
    notification(method::NOTIFICATIONS_TASKS, &state)
}
