//! Tasks: calls whose results are fetched later. They exist in 2025-11-25, and since 2026-07-28 as
//! the extension `io.modelcontextprotocol/tasks`.
//!
//! A task stores the answer of its call. The client's request is answered with the task. The work
//! continues as another exchange, whose outlet stores the handler's answer. The handler does not
//! notice it.
//!
//! ```text
//!  tools/call ──▶ Context ──▶ start ──▶ the created task is the answer
//!                               ╰─▶ Context with a TaskOutlet ──▶ handler ──▶ answer ──▶ Task ◀── tasks/get, tasks/result
//! ```
//!
//! **Bounds:** a server keeps a limited number of tasks, each for a limited time after its
//! creation. Finished tasks are evicted for new ones; only working tasks can use up the limit. A
//! task that is not finished in time is ended: its work is cancelled, and waiting or subscribed
//! clients are notified. One thread does that. It runs while there are working tasks.
//!
//! **Optional code:** [`Tasks`] is created when the host enables tasks, and all code for them is
//! reached through it. A program that never does so is linked without this code.
//!
//! A task ends with the connection on which its call came. All modern clients of an HTTP server
//! share one that lives as long as the server. A legacy client has its session.

mod methods;
mod outlet;
mod stage;
mod start;
mod store;
mod task;
mod time;
mod told;

use std::num::NonZeroUsize;
use std::time::Duration;

pub(super) use self::start::{Start, need_tasks};
pub(super) use self::store::Tasks;
pub(super) use self::task::Task;

/// The options of tasks. See [`ServerBuilder::tasks`](super::ServerBuilder::tasks).
#[derive(Clone, Debug)]
pub struct TaskOptions {
    max_tasks: usize,
    lifetime: Duration,
    max_lifetime: Duration,
    poll_interval: Duration,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            max_tasks: 1024,
            lifetime: Duration::from_secs(3600),
            max_lifetime: Duration::from_secs(24 * 3600),
            poll_interval: Duration::from_millis(500),
        }
    }
}

impl TaskOptions {
    /// Sets the maximum number of tasks, working and finished. Defaults to 1,024.
    ///
    /// When there are so many, a task that is over gives way: of the client that has most of them,
    /// one whose result was fetched before others, the oldest first. Some of the places are for
    /// clients that have few tasks ([`Limits::reserve_percent`](crate::transport::Limits::reserve_percent)), so
    /// that no client keeps all others out. A call for whose task
    /// there is no place is refused as busy; that of a tool with optional task support is served
    /// without a task where the server decides (2026-07-28).
    pub fn max_tasks(mut self, max_tasks: NonZeroUsize) -> Self {
        self.max_tasks = max_tasks.get();
        self
    }

    /// Sets how long a task is kept after its creation, if the client does not request a time.
    /// Defaults to an hour.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets the longest lifetime that a client may request (2025-11-25). A longer request is cut to
    /// it. Defaults to a day.
    pub fn max_lifetime(mut self, max_lifetime: Duration) -> Self {
        self.max_lifetime = max_lifetime;
        self
    }

    /// Sets the interval at which clients should poll a task, at least a millisecond. Defaults to
    /// half a second.
    pub fn poll_interval(mut self, poll_interval: Duration) -> Self {
        self.poll_interval = poll_interval;
        self
    }
}
