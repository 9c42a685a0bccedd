//! Decides whether a call becomes a task, and turns the call into a task.

use std::sync::Arc;

use super::super::asking::Rerun;
use super::super::context::{Context, missing_extension};
use super::super::session_state::ClientContext;
use super::state::Outcome;
use super::store::NewTask;
use crate::error::{ErrorCode, RpcError};
use crate::schema::{CreateTaskResult, TASKS_EXTENSION, TaskMetadata, TaskSupport, Tool, method};

/// The decision that a call becomes a task. It is made before the handler runs, or by the handler
/// ([`Context::become_task`]).
#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct Start {
    /// The lifetime that the client requests for the task, in milliseconds.
    ttl_ms: Option<u64>,
    /// Whether the call may run without a task when there is no slot for a task. True if the client
    /// did not request a task, and the tool does not require a task.
    may_run_at_once: bool,
    begin: Begin,
}

/// A function that runs the rest of a call as a task.
type Begin = fn(Context, Start, Box<dyn FnOnce(Context) + Send>);

impl Start {
    /// Creates the decision whether a call runs as a task, for a call whose client requests a task.
    fn asked_for(ttl_ms: Option<u64>) -> Self {
        Self {
            ttl_ms,
            may_run_at_once: false,
            begin,
        }
    }

    /// Creates the decision for a call that the server makes a task on its own.
    fn decided_here(may_run_at_once: bool) -> Self {
        Self {
            ttl_ms: None,
            may_run_at_once,
            begin,
        }
    }

    /// Makes the call a task, and runs `run` with its context on a thread of the connection.
    pub(in crate::server) fn begin(
        self,
        context: Context,
        run: impl FnOnce(Context) + Send + 'static,
    ) {
        (self.begin)(context, self, Box::new(run));
    }
}

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

/// The result of making a call a task.
enum Detached {
    /// The call continues as a task. The server has answered the call's request with the task.
    Task(Context),
    /// The call is over. A client that was still waiting has got an answer.
    Over,
    /// The task could not be created, for example because there is no slot. The error describes the
    /// reason.
    NoSlot(Context, RpcError),
}

/// Makes a call a task, and answers the request of the call with the task.
fn detach(mut context: Context, ttl_ms: Option<u64>) -> Detached {
    let server = Arc::clone(context.server());
    let Some(tasks) = server.tasks.as_ref() else {
        return Detached::Over;
    };
    let Ok(id) = server.new_id() else {
        return Detached::NoSlot(context, RpcError::internal("internal error"));
    };
    let new = NewTask {
        id,
        client: context.client(),
        principal: context.principal().map(Arc::from),
        revision: context.terms().revision,
        ttl_ms,
    };
    let task = match tasks.create(&server.hub, &server.threads, new) {
        Ok(task) => task,
        Err(error) => return Detached::NoSlot(context, error),
    };
    if let Err(error) = context.hold() {
        tasks.forget(&task);
        // This fails when the client no longer waits. Then nothing is left to do.
        _ = context.refuse(error);
        return Detached::Over;
    }
    let Some(original) = context.turn_into(&task) else {
        tasks.forget(&task);
        return Detached::Over;
    };
    let meta = server.result_meta(context.terms().revision);
    let sent = if task.is_modern() {
        let mut created = task.created();
        created.meta = meta;
        original.respond(&created)
    } else {
        original.respond(&CreateTaskResult::new(task.legacy()))
    };
    if sent.is_err() {
        // The client never gets the id, so no client can fetch the result.
        tasks.forget(&task);
        task.end(Outcome::Cancelled);
        return Detached::Over;
    }
    Detached::Task(context)
}

fn begin(context: Context, start: Start, run: Box<dyn FnOnce(Context) + Send>) {
    match detach(context, start.ttl_ms) {
        Detached::Task(context) => {
            let (core, key) = (Arc::clone(context.peer().core()), context.key());
            core.run_later(context.sharer(), key, Box::new(move || run(context)));
        }
        Detached::Over => {}
        Detached::NoSlot(mut context, _) if start.may_run_at_once => {
            context.never_become_task();
            run(context);
        }
        Detached::NoSlot(context, error) => {
            // This fails when the client no longer waits. Then nothing is left to do.
            _ = context.refuse(error);
        }
    }
}

impl Context {
    /// Returns whether the call can still become a task while its handler runs.
    pub(in crate::server) fn can_become_task(&self) -> bool {
        self.task().is_none()
            && self.may_become_task()
            && self.method() == method::TOOLS_CALL
            && self.server().tasks.is_some()
            && takes_tasks(self.terms())
    }

    /// Continues the call as a task, with the answers that the client has given so far.
    pub(in crate::server) fn go_on_as_task(self) {
        let again: Option<Arc<dyn Rerun>> = self.asker().map(|asker| Arc::clone(&asker.again));
        if let Some(again) = again {
            Start::decided_here(true).begin(self, move |context| again.run(context));
        }
    }
}
