//! Tasks, as calls see them.

use std::sync::Arc;

use super::context::Context;
use crate::protocol::{ExchangeHandle, Peer, ResponseSink};
use crate::schema::InputRequests;

/// The decision that a call becomes a task. It is made before the handler runs, or by the handler
/// ([`Context::become_task`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// The lifetime that the client requests for the task, in milliseconds.
    pub(super) ttl_ms: Option<u64>,
    /// Whether the call may run without a task when there is no slot for a task. True if the client
    /// did not request a task, and the tool does not require a task.
    pub(super) may_run_at_once: bool,
}

/// A function that makes a call a task, and runs the rest of the call on a thread of its
/// connection.
pub(super) type BeginTask = fn(Context, Start, Box<dyn FnOnce(Context) + Send>);

impl Start {
    /// Creates the decision whether a call runs as a task, for a call whose client requests a task.
    pub(super) fn asked_for(ttl_ms: Option<u64>) -> Self {
        Self {
            ttl_ms,
            may_run_at_once: false,
        }
    }

    /// Creates the decision for a call that the server makes a task on its own.
    pub(super) fn decided_here(may_run_at_once: bool) -> Self {
        Self {
            ttl_ms: None,
            may_run_at_once,
        }
    }

    /// Makes the call a task, and runs `run` with its context on a thread of the connection.
    /// Without tasks, runs `run` at once.
    pub(super) fn begin(self, context: Context, run: impl FnOnce(Context) + Send + 'static) {
        match context.services().begin_task {
            Some(begin) => begin(context, self, Box::new(run)),
            None => run(context),
        }
    }
}

/// A task, as its call sees it.
pub(super) trait CallTask: Send + Sync {
    fn id(&self) -> &str;

    /// Whether the task belongs to the modern era.
    fn is_modern(&self) -> bool;

    /// Creates the response sink that stores the answer of the call in this task. `peer` is the
    /// client that made the call, and `max_held` limits the memory of the results of all tasks.
    fn sink(self: Arc<Self>, peer: Peer, max_held: usize) -> Arc<dyn ResponseSink>;

    /// Keeps the handle that cancels the call when the task ends.
    fn hold(&self, work: ExchangeHandle);

    /// Keeps a call of the modern era until the client has answered these input requests.
    fn ask(&self, context: Context, asked: InputRequests);

    /// Records that the call waits for input, in the legacy era.
    fn needs_input(&self);

    /// Records that the call goes on.
    fn goes_on(&self);
}
