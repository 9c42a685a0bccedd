//! Turns a call into a task.

use std::sync::Arc;

use super::super::call_task::{CallTask, Start};
use super::super::context::Context;
use super::super::inner::connection_of;
use super::state::Outcome;
use super::store::NewTask;
use super::task::Task;
use crate::error::RpcError;
use crate::schema::CreateTaskResult;

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
    let connection = connection_of(&context.peer());
    let server = &connection.server;
    let Some(tasks) = server.tasks.as_ref() else {
        return Detached::Over;
    };
    let Ok(id) = server.new_id() else {
        return Detached::NoSlot(context, RpcError::internal("internal error"));
    };
    let new = NewTask {
        id,
        client: context.accounted_client(),
        principal: context.principal().map(Arc::from),
        revision: context.client().revision,
        ttl_ms,
    };
    let task = match tasks.create(&server.subscriptions, &server.threads, new) {
        Ok(task) => task,
        Err(error) => return Detached::NoSlot(context, error),
    };
    if let Err(error) = context.hold() {
        tasks.forget(&task);
        // This fails when the client no longer waits. Then nothing is left to do.
        _ = context.refuse(error);
        return Detached::Over;
    }
    let Some(original) = context.turn_into(Arc::<Task>::clone(&task)) else {
        tasks.forget(&task);
        return Detached::Over;
    };
    let meta = server.services.result_meta(context.client().revision);
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

/// Makes a call a task, and runs the rest of the call on a thread of its connection. Without room
/// for a task, runs the call at once or refuses it, as `start` says.
pub(in crate::server) fn begin(
    context: Context,
    start: Start,
    run: Box<dyn FnOnce(Context) + Send>,
) {
    match detach(context, start.ttl_ms) {
        Detached::Task(context) => context.run_later(run),
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
