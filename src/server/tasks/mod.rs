//! Tasks: calls whose results are fetched later. Revision 2025-11-25 has tasks. Since 2026-07-28
//! tasks are the extension `io.modelcontextprotocol/tasks`.
//!
//! A task stores the answer of its call. The client's request is answered with the task. The
//! handler then runs in another exchange, whose response sink stores the handler's answer in the
//! task. The handler does not notice the difference.
//!
//! ```text
//!  tools/call ──▶ Context ──▶ start ──▶ the created task is the answer
//!                               ╰─▶ Context, TaskResponseSink ──▶ handler ──▶ answer ──▶ Task
//!                                          tasks/get, tasks/result ───────────────────────▲
//! ```
//!
//! **Bounds:** a server keeps a limited number of tasks, each for a limited time after its
//! creation. Finished tasks are evicted for new ones; only working tasks can use up the limit. A
//! task that is not finished at its deadline is ended: its work is cancelled, and waiting or
//! subscribed clients are notified. One thread ends such tasks. The thread runs while there are
//! working tasks.
//!
//! **Optional code:** [`Tasks`] is created when the host enables tasks, and all code for them is
//! reached through it. A program that never enables tasks is linked without this code.
//!
//! A task ends with the connection on which its call came. All modern clients of an HTTP server
//! share one connection that lives as long as the server. A legacy HTTP client has one connection
//! for each session.

mod begin;
mod followed;
mod methods;
mod notifications;
mod record;
mod records;
mod remote;
mod share;
mod shared_task;
mod sharing;
mod start;
mod state;
mod store;
mod table;
mod task;

use std::num::NonZeroUsize;
use std::time::Duration;

pub(super) use self::begin::begin;
pub(super) use self::methods::METHODS;
pub(super) use self::records::Records;
pub(super) use self::sharing::Sharing;
pub(super) use self::start::need_tasks;
pub(super) use self::store::Tasks;

/// The options of tasks. See [`ServerBuilder::tasks`](super::ServerBuilder::tasks).
///
/// # Examples
///
/// ```
/// use std::num::NonZeroUsize;
/// use std::time::Duration;
///
/// use mcplink::server::{Server, TaskOptions};
///
/// let options = TaskOptions::default()
///     .max_tasks(NonZeroUsize::new(100).expect("not zero"))
///     .lifetime(Duration::from_secs(600))
///     .poll_interval(Duration::from_secs(2));
/// let server = Server::builder("studio", "1.0").tasks(options).build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
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
    /// At the limit, a finished task of the client with most tasks is evicted. Tasks whose result
    /// was fetched are evicted first, beginning with the task that finished first. A part of the
    /// slots is reserved for clients with few tasks
    /// ([`Limits::reserve_percent`](crate::transport::Limits::reserve_percent)), so that no client
    /// can use up all slots.
    ///
    /// A call fails with a "busy" error if there is no slot for its task. But since 2026-07-28, a
    /// call of a tool that does not require tasks runs without a task instead.
    pub fn max_tasks(mut self, max_tasks: NonZeroUsize) -> Self {
        self.max_tasks = max_tasks.get();
        self
    }

    /// Sets how long a task is kept after its creation, if the client requests no lifetime. After
    /// this time the task is removed, and its work is cancelled if it still runs. Defaults to an
    /// hour.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets the maximum lifetime that a client may request (2025-11-25). A longer requested
    /// lifetime is reduced to the maximum. Defaults to a day.
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
