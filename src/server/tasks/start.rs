//! How a call becomes a task.

use std::sync::Arc;

use super::super::asking::Again;
use super::super::context::{Context, missing_extension};
use super::super::conversation::Terms;
use super::stage::Outcome;
use crate::error::{ErrorCode, RpcError};
use crate::schema::{CreateTaskResult, TASKS_EXTENSION, TaskMetadata, TaskSupport, Tool, method};

/// That a call is to become a task from its beginning.
#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct Start {
    /// For how long the client wants it kept.
    ttl_ms: Option<u64>,
    begin: Begin,
}

/// Runs the rest of a call as a task.
type Begin = fn(Context, Option<u64>, Box<dyn FnOnce(Context) + Send>);

impl Start {
    fn new(ttl_ms: Option<u64>) -> Self {
        Self { ttl_ms, begin }
    }

    /// Makes a task of a call, and runs its handler on a thread of the connection.
    pub(in crate::server) fn begin(
        self,
        context: Context,
        run: impl FnOnce(Context) + Send + 'static,
    ) {
        (self.begin)(context, self.ttl_ms, Box::new(run));
    }
}

/// Whether a client of the extension may be given tasks.
fn takes_tasks(terms: &Terms) -> bool {
    terms.revision.is_modern() && terms.capabilities.extension(TASKS_EXTENSION).is_some()
}

/// Refuses a modern client that did not declare the extension with this very request.
pub(in crate::server) fn need_tasks(terms: &Terms) -> Result<(), RpcError> {
    if takes_tasks(terms) {
        return Ok(());
    }
    Err(missing_extension(TASKS_EXTENSION, terms))
}

/// Says whether a call of a tool becomes a task, or can't be made at all.
pub(super) type Decide =
    fn(&Tool, &Terms, Option<&TaskMetadata>) -> Result<Option<Start>, RpcError>;

pub(super) fn decide(
    tool: &Tool,
    terms: &Terms,
    asked: Option<&TaskMetadata>,
) -> Result<Option<Start>, RpcError> {
    let support = tool
        .execution
        .as_ref()
        .and_then(|execution| execution.task_support.as_ref());
    let required = matches!(support, Some(TaskSupport::Required));
    let allowed = required || matches!(support, Some(TaskSupport::Optional));
    if terms.revision.is_modern() {
        // What the client asks for is a thing of the past here: the server decides.
        if required {
            need_tasks(terms)?;
        }
        return Ok((allowed && takes_tasks(terms)).then_some(Start::new(None)));
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
        Some(task) => Ok(Some(Start::new(task.ttl))),
        None => Ok(None),
    }
}

/// Answers a call with the task that it becomes, and gives what it goes on with; `None` when it can't or need not go on.
fn detach(mut context: Context, ttl_ms: Option<u64>) -> Option<Context> {
    let server = Arc::clone(context.server());
    let tasks = server.tasks.as_ref()?;
    if let Err(error) = context.hold() {
        // It fails when nobody waits any more, and then there is nothing left to do.
        _ = context.refuse(error);
        return None;
    }
    let principal = context.principal().map(Arc::from);
    let task = match tasks.create(&server.hub, principal, context.terms().revision, ttl_ms) {
        Ok(task) => task,
        Err(error) => {
            // It fails when nobody waits any more, and then there is nothing left to do.
            _ = context.refuse(error);
            return None;
        }
    };
    let Some(original) = context.turn_into(&task) else {
        tasks.forget(&task);
        return None;
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
        // Nobody will ever ask for it.
        tasks.forget(&task);
        task.end(Outcome::Cancelled);
        return None;
    }
    Some(context)
}

fn begin(context: Context, ttl_ms: Option<u64>, run: Box<dyn FnOnce(Context) + Send>) {
    if let Some(context) = detach(context, ttl_ms) {
        let (core, key) = (Arc::clone(context.peer().core()), context.key());
        core.run_later(key, Box::new(move || run(context)));
    }
}

impl Context {
    /// Whether the call may become a task when the handler wants it to.
    pub(in crate::server) fn can_become_task(&self) -> bool {
        self.task().is_none()
            && self.method() == method::TOOLS_CALL
            && self.server().tasks.is_some()
            && takes_tasks(self.terms())
    }

    /// Goes on as a task, with the answers so far.
    pub(in crate::server) fn go_on_as_task(self) {
        let again: Option<Arc<dyn Again>> = self.asker().map(|asker| Arc::clone(&asker.again));
        if let Some(again) = again {
            Start::new(None).begin(self, move |context| again.run(context));
        }
    }
}
