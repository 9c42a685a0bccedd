//! How a call becomes a task.

use std::sync::Arc;

use super::super::asking::Again;
use super::super::context::{Context, missing_extension};
use super::super::conversation::Terms;
use super::stage::Outcome;
use super::store::NewTask;
use crate::error::{ErrorCode, RpcError};
use crate::schema::{CreateTaskResult, TASKS_EXTENSION, TaskMetadata, TaskSupport, Tool, method};

/// That a call is to become a task from its beginning.
#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct Start {
    /// For how long the client wants it kept.
    ttl_ms: Option<u64>,
    /// Without a place for a task the call runs at once: the client neither asked for a task nor
    /// does the tool need one.
    may_run_at_once: bool,
    begin: Begin,
}

/// Runs the rest of a call as a task.
type Begin = fn(Context, Start, Box<dyn FnOnce(Context) + Send>);

impl Start {
    /// Of a call for which the client wants a task.
    fn asked_for(ttl_ms: Option<u64>) -> Self {
        Self {
            ttl_ms,
            may_run_at_once: false,
            begin,
        }
    }

    /// Of a call that the server makes a task.
    fn decided_here(may_run_at_once: bool) -> Self {
        Self {
            ttl_ms: None,
            may_run_at_once,
            begin,
        }
    }

    /// Makes a task of a call, and runs its handler on a thread of the connection.
    pub(in crate::server) fn begin(
        self,
        context: Context,
        run: impl FnOnce(Context) + Send + 'static,
    ) {
        (self.begin)(context, self, Box::new(run));
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

/// What came of making a task of a call.
enum Detached {
    /// The call is answered with the task, and goes on.
    Task(Context),
    /// The call is over, answered if anybody waits for that.
    Over,
    /// There is no place for the task, for this reason.
    NoPlace(Context, RpcError),
}

/// Answers a call with the task that it becomes.
fn detach(mut context: Context, ttl_ms: Option<u64>) -> Detached {
    let server = Arc::clone(context.server());
    let Some(tasks) = server.tasks.as_ref() else {
        return Detached::Over;
    };
    let new = NewTask {
        client: context.client(),
        principal: context.principal().map(Arc::from),
        revision: context.terms().revision,
        ttl_ms,
    };
    let task = match tasks.create(&server.hub, &server.threads, new) {
        Ok(task) => task,
        Err(error) => return Detached::NoPlace(context, error),
    };
    if let Err(error) = context.hold() {
        tasks.forget(&task);
        // It fails when nobody waits any more, and then there is nothing left to do.
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
        // Nobody will ever ask for it.
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
            core.run_later(key, Box::new(move || run(context)));
        }
        Detached::Over => {}
        Detached::NoPlace(mut context, _) if start.may_run_at_once => {
            context.never_become_task();
            run(context);
        }
        Detached::NoPlace(context, error) => {
            // It fails when nobody waits any more, and then there is nothing left to do.
            _ = context.refuse(error);
        }
    }
}

impl Context {
    /// Whether the call may become a task when the handler wants it to.
    pub(in crate::server) fn can_become_task(&self) -> bool {
        self.task().is_none()
            && self.may_become_task()
            && self.method() == method::TOOLS_CALL
            && self.server().tasks.is_some()
            && takes_tasks(self.terms())
    }

    /// Goes on as a task, with the answers so far.
    pub(in crate::server) fn go_on_as_task(self) {
        let again: Option<Arc<dyn Again>> = self.asker().map(|asker| Arc::clone(&asker.again));
        if let Some(again) = again {
            Start::decided_here(true).begin(self, move |context| again.run(context));
        }
    }
}
