//! Decides whether a call becomes a task.

use std::sync::Arc;

use super::super::call_task::Start;
use super::super::context::{Context, missing_extension};
use super::super::mrtr::Rerun;
use super::super::session_state::ClientContext;
use crate::error::{ErrorCode, RpcError};
use crate::schema::{TASKS_EXTENSION, TaskMetadata, TaskSupport, Tool, method};

/// Returns whether a client supports tasks as an extension.
fn takes_tasks(terms: &ClientContext) -> bool {
    terms.revision.is_modern() && terms.capabilities.extension(TASKS_EXTENSION).is_some()
}

/// Refuses a modern request that does not declare the tasks extension.
pub(in crate::server) fn need_tasks(terms: &ClientContext) -> Result<(), RpcError> {
    if takes_tasks(terms) {
        return Ok(());
    }
    Err(missing_extension(TASKS_EXTENSION, terms))
}

/// A function that decides whether a call becomes a task, or must be refused.
pub(super) type Decide =
    fn(&Tool, &ClientContext, Option<&TaskMetadata>) -> Result<Option<Start>, RpcError>;

pub(super) fn decide(
    tool: &Tool,
    terms: &ClientContext,
    asked: Option<&TaskMetadata>,
) -> Result<Option<Start>, RpcError> {
    let support = tool
        .execution
        .as_ref()
        .and_then(|execution| execution.task_support.as_ref());
    let required = matches!(support, Some(TaskSupport::Required));
    let allowed = required || matches!(support, Some(TaskSupport::Optional));
    if terms.revision.is_modern() {
        // In the modern era the server decides. A client's request for a task has no effect.
        if required {
            need_tasks(terms)?;
        }
        return Ok((allowed && takes_tasks(terms)).then_some(Start::decided_here(!required)));
    }
    if !terms.revision.has_core_tasks() {
        return Ok(None);
    }
    let refuse = |what: &str| {
        let text = format!("tool '{}' {what}", tool.name);
        Err(RpcError::new(ErrorCode::METHOD_NOT_FOUND, text))
    };
    match asked {
        Some(_) if !allowed => refuse("can't be called as a task"),
        None if required => refuse("can be called as a task only: params.task is missing"),
        Some(task) => Ok(Some(Start::asked_for(task.ttl))),
        None => Ok(None),
    }
}

impl Context {
    /// Returns whether the call can still become a task while its handler runs.
    pub(in crate::server) fn can_become_task(&self) -> bool {
        self.task().is_none()
            && self.may_become_task()
            && self.method() == method::TOOLS_CALL
            && self.services().begin_task.is_some()
            && takes_tasks(self.client())
    }

    /// Continues the call as a task, with the answers that the client has given so far.
    pub(in crate::server) fn go_on_as_task(self) {
        let again: Option<Arc<dyn Rerun>> = self.asker().map(|asker| Arc::clone(&asker.again));
        if let Some(again) = again {
            Start::decided_here(true).begin(self, move |context| again.run(context));
        }
    }
}
