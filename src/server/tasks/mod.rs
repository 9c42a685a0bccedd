//! Calls whose results are fetched later: the tasks of 2025-11-25, and the extension `io.modelcontextprotocol/tasks` since 2026-07-28.
//!
//! A task is a call whose answer is kept. The client's request is answered with the task; the work goes on as another exchange, with an
//! outlet that keeps what the handler answers, and the handler notices nothing of it.
//!
//! ```text
//!  tools/call ──▶ Context ──▶ start ──▶ the created task is the answer
//!                               ╰─▶ Context with a TaskOutlet ──▶ handler ──▶ answer ──▶ Task ◀── tasks/get, tasks/result
//! ```
//!
//! **Bounds:** a server keeps so many tasks, each for so long after its creation. Tasks that are over
//! give way to new ones; only those that work keep others out. At the end of its time a task is
//! ended: its work is cancelled, and those who wait for it or follow it are told. One thread does
//! that, which is there while tasks work.
//!
//! **What a server without tasks costs:** [`Tasks`] is made when the host switches tasks on, and all that serves them is reached through it. A
//! program that never does is linked without.
//!
//! A task ends with the connection on which its call came. All modern clients of an HTTP server share one that lives as long as the server;
//! a legacy client's is its session.

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

/// How a server keeps tasks. See [`ServerBuilder::tasks`](super::ServerBuilder::tasks).
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
    /// How many tasks are kept at once, over or not. Defaults to 1 024.
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

    /// For how long after its creation a task is kept when the client does not say. Defaults to an hour.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// The longest lifetime that a client may ask for (2025-11-25); what is longer becomes this. Defaults to a day.
    pub fn max_lifetime(mut self, max_lifetime: Duration) -> Self {
        self.max_lifetime = max_lifetime;
        self
    }

    /// How long clients are told to wait between two looks at a task, at least a millisecond. Defaults to half a second.
    pub fn poll_interval(mut self, poll_interval: Duration) -> Self {
        self.poll_interval = poll_interval;
        self
    }
}
